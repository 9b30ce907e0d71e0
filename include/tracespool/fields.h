/* fields.h: field tables drive the reader into a struct
 *
 * A record kind is an array of fields: name, type, flags, where the value goes. Reading happens
 * in two steps, since a later part of a line may change the verdict (bad_json anywhere wins over
 * a bad field; of repeated members of request traces the last one counts): fields_read() takes a
 * whole object and notes for each field what it met; fields_check() then walks the table in order,
 * depth first, applies defaults and reports the first rule broken (request-trace.md 4.3,
 * candle-trace.md 4.2).
 *
 * Every struct that a table fills begins with a struct field_marks. At most 32 fields a
 * table, with names of at most 255 bytes that need no escapes.
 */
#ifndef TRACESPOOL_FIELDS_H
#define TRACESPOOL_FIELDS_H

#include "tracespool/json.h"

/* Which members were met: bit i stands for field i of the table. */
struct field_marks {
	uint32_t seen; /* present, whatever the value */
	uint32_t has;  /* present with a usable value that is not null */
	uint32_t bad;  /* present with a wrong type or range */
	uint32_t twice;
};

/* What the member must be, and the type of the target at `offset`. */
enum field_type {
	FIELD_IGNORED,    /* any value, only noted (`kind`, `edge_kind`); no target */
	FIELD_STRING,     /* struct ts_str; no value: p is NULL */
	FIELD_BOOL,       /* bool */
	FIELD_U64,        /* uint64_t */
	FIELD_OPT_U64,    /* struct opt_u64 */
	FIELD_OPT_U32,    /* struct opt_u64, refused above 4294967295 */
	FIELD_DOUBLE,     /* double; integer literals are converted, ties to even */
	FIELD_OPT_DOUBLE, /* struct opt_double */
	FIELD_ENUM,    /* struct ts_str: the word itself, static; arg: NULL-ended list of words */
	FIELD_OBJECT,  /* arg: the table of the object, read in place at offset; marks say if there
			*/
	FIELD_OBJECTS, /* array of objects: struct field_list; arg: the table of an element, which
			  has no FIELD_U64S. Behind an element that breaks a rule none is kept. */
	FIELD_U64S,    /* array of u64 (integer literals): struct field_u64s */
	FIELD_SHAPE,   /* array of u64: struct ts_shape */
	FIELD_STRINGS, /* array of strings: struct ts_str, compact JSON text of it */
	FIELD_MAP,     /* object of strings: struct ts_str, compact JSON text, keys in bytewise
			  order, of repeated keys the last */
	FIELD_ARRAY_COUNT, /* array of anything: struct opt_u64, number of elements */
};

enum field_flags {
	FIELD_REQUIRED = 1, /* absent: missing_field */
	FIELD_NULLABLE = 2, /* null is no value; else null is bad_field */
	FIELD_INFO = 4,     /* informational: never an error, unusable counts as absent */
};

struct opt_u64 {
	uint64_t v;
	bool has;
};

struct opt_double {
	double v;
	bool has;
};

/* A shape: its compact JSON text and two products from left to right (candle-trace.md 5.7, 8). */
struct ts_shape {
	struct ts_str json;   /* "[8,4]" */
	uint64_t product_sat; /* saturating */
	uint64_t product;     /* exact, valid if !overflow */
	bool overflow;        /* the exact product overflowed at some factor */
};

struct field_u64s {
	uint64_t *v; /* owned by the struct field_space */
	size_t n;
};

/* Elements of an array of objects: n structs of `size` bytes in the scratch arena. */
struct field_list {
	void *v;
	size_t n, size;
};

struct field {
	const char *name;
	enum field_type type;
	unsigned flags;
	size_t offset;
	const void *arg;
	const char *fallback; /* default of an enum, JSON text of the default of a FIELD_STRINGS */
};

struct field_table {
	const struct field *fields;
	unsigned n;
	size_t size; /* of the struct */
	bool once;   /* a named member twice is duplicate_field; else the last one counts */
};

/* Memory that fields_read uses, kept from line to line. All values of a record live in it (or in
 * the line) until the next fields_begin. */
struct field_space {
	struct arena scratch;
	struct {
		uint64_t *v;
		size_t n, cap;
		const void *owner; /* the target; a repeated member reuses its pool */
	} pool[4];                 /* one for each FIELD_U64S target alive at a time */
	unsigned pools;
	struct {
		const struct field_table *table;
		uint8_t length[32];
	} names[32]; /* lengths of the members' names of tables met; a place by address */
};

void field_space_done(struct field_space *s);
void fields_begin(struct field_space *s);

/* Reads the object whose opening bracket was just taken into `record`. Values of members that had
 * none are undefined until fields_check. A nested struct whose object is absent is all zero then,
 * its defaults included. False: the reader failed
 * (bad_json), or memory ran out (j->error is set as well). Marks are reset first. */
bool fields_read(struct json *j, const struct field_table *t, void *record,
		 struct field_space *space);

/* Applies defaults (zero, false, no value; `fallback` of enums, FIELD_STRINGS and FIELD_MAP; the
 * empty shape) and reports the first broken rule as missing_field, bad_field or duplicate_field
 * with the member's path ("request.replay.input_length") in the message, `where` and a dot in
 * front of it if not NULL. Place is left to the caller. On failure the values are undefined. */
int fields_check(const struct field_table *t, void *record, const char *where,
		 struct ts_error *err);

/* Does field number i of the table's struct have a value? */
static inline bool fields_has(const struct field_marks *m, unsigned i)
{
	return m->has >> i & 1;
}

#endif
