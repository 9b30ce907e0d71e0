/* cursor.h: where a page ended, as an opaque text */
#ifndef STORE_CURSOR_H
#define STORE_CURSOR_H

#include "tracespool/buf.h"
#include "tracespool/list.h"

enum { CURSOR_KEYS_MAX = 4 };

enum key_type { KEY_NULL, KEY_INTEGER, KEY_DOUBLE, KEY_TEXT, KEY_BLOB };

/* A value that a row is ordered by. */
struct key_value {
	enum key_type type;
	int64_t integer;
	double real;
	struct ts_str str;
};

/* The place behind a row: its keys, or the number of the row whose keys they are. */
struct cursor {
	unsigned count; /* 0: row_no */
	struct key_value keys[CURSOR_KEYS_MAX];
	uint64_t row_no;
};

/* Appends the text of a cursor. `query` stands for the list and its filters, sort is the name. */
void cursor_write(struct buf *out, uint64_t query, const char *sort, const struct cursor *c);
/* Reads it back; texts lie in `space`. Errors: bad_cursor. */
int cursor_read(struct ts_str text, uint64_t query, const char *sort, struct cursor *ret,
		struct buf *space, struct ts_error *err);

#endif
