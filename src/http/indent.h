/* indent.h: compact JSON indented while it streams by
 */
#ifndef HTTP_INDENT_H
#define HTTP_INDENT_H

#include <stdbool.h>

#include "tracespool/buf.h"
#include "tracespool/text.h"

/* All zero at the start of a document. */
struct indent {
	unsigned depth;
	bool in_string, escaped;
	bool opened; /* a bracket was opened and has nothing in it so far */
};

/* Appends the next piece of a document; it may end anywhere. The same form as json_reformat's. */
void indent_add(struct indent *in, struct ts_str piece, struct buf *out);

#endif
