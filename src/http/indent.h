/* indent.h: indents compact JSON that comes in pieces
 */
#ifndef HTTP_INDENT_H
#define HTTP_INDENT_H

#include <stdbool.h>

#include "tracespool/buf.h"

/* All zero at the start. */
struct indent {
	unsigned depth;
	bool quoted, escaped; /* in a string; behind a backslash there */
	bool opened;          /* behind an opening bracket */
};

/* Appends the piece to out as json_reformat would write the whole. */
void indent_add(struct indent *in, struct buf *out, const char *piece, size_t n);

#endif
