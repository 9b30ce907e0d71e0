/* batch.h: rows of one kind collected in memory and inserted by one statement */
#ifndef STORE_BATCH_H
#define STORE_BATCH_H

#include "db.h"

enum column_type {
	COLUMN_NUMBER, /* no source: NULL, for an integer primary key that counts by itself */
	COLUMN_TEXT,   /* struct ts_str */
	COLUMN_U64,
	COLUMN_OPT_U64,
	COLUMN_I64,
	COLUMN_BOOL,
	COLUMN_DOUBLE,
	COLUMN_OPT_DOUBLE,
	COLUMN_HASHES, /* a pointer to uint64_t at offset, its size_t count at `count` */
};

/* Where a column of the table lies in the row struct. */
struct column {
	const char *name;
	enum column_type type;
	size_t offset, count;
};

struct row_shape {
	const char *name;             /* "span": the batch is batch_span */
	const char *table;            /* "span_rows" */
	size_t size;                  /* of the row struct */
	const struct column *columns; /* in the order of the table; ended by name NULL */
	enum run_kind kind;
};

/* By enum row_kind. */
extern const struct row_shape row_shapes[ROW_KIND_COUNT];

struct batch;

/* A batch of rows of that shape, known to the connection as the table batch_NAME. */
int batch_new(struct db *db, const struct row_shape *shape, struct batch **ret,
	      struct ts_error *err);
void batch_free(struct batch *b); /* takes NULL; before the connection is closed */
/* Keeps a copy of the row, inserting what is there when it is full. A row with more than 64 KiB of
 * strings is inserted at once, after those before it. */
int batch_add(struct batch *b, const void *row, struct ts_error *err);
int batch_flush(struct batch *b, struct ts_error *err);
/* Forgets the rows that were not inserted, and what was seen of all. */
void batch_clear(struct batch *b);
/* Of all rows since batch_new or batch_clear. */
struct rows_seen batch_seen(const struct batch *b);

#endif
