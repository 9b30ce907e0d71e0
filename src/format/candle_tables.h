/* candle_tables.h: short forms for the field tables of execution traces */
#ifndef FORMAT_CANDLE_TABLES_H
#define FORMAT_CANDLE_TABLES_H

#include <stddef.h>

#include "tracespool/fields.h"

/* Members of a table that are named twice are always an error (candle-trace.md 4.2). */
#define TABLE(name, row)                                                                           \
	const struct field_table name = {name##_fields, ARRAY_LEN(name##_fields), sizeof(row), true}

/* `kind` and `edge_kind` have chosen the table; they may still be there twice. */
#define CHOOSER(name_)                                                                             \
	{                                                                                          \
		.name = (name_), .type = FIELD_IGNORED, .flags = FIELD_REQUIRED                    \
	}

/* A member of the struct and of the record, under the same name. */
#define REQUIRED(type_, row, member)                                                               \
	{                                                                                          \
		.name = #member, .type = (type_), .flags = FIELD_REQUIRED,                         \
		.offset = offsetof(row, member)                                                    \
	}
#define OPTIONAL(type_, row, member)                                                               \
	{                                                                                          \
		.name = #member, .type = (type_), .offset = offsetof(row, member)                  \
	}
#define NULLABLE(type_, row, member)                                                               \
	{                                                                                          \
		.name = #member, .type = (type_), .flags = FIELD_NULLABLE,                         \
		.offset = offsetof(row, member)                                                    \
	}
#define STRINGS(row, member)                                                                       \
	{                                                                                          \
		.name = #member, .type = FIELD_STRINGS, .offset = offsetof(row, member),           \
		.fallback = "[]"                                                                   \
	}
#define WORD(row, member, words, flags_, fallback_)                                                \
	{                                                                                          \
		.name = #member, .type = FIELD_ENUM, .flags = (flags_),                            \
		.offset = offsetof(row, member), .arg = (words), .fallback = (fallback_)           \
	}
#define NESTED(type_, row, member, name_, table, flags_)                                           \
	{                                                                                          \
		.name = (name_), .type = (type_), .flags = (flags_),                               \
		.offset = offsetof(row, member), .arg = (table)                                    \
	}

#endif
