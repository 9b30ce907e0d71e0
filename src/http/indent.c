/* indent.c: indents compact JSON that comes in pieces
 */
#include "indent.h"

static void new_line(const struct indent *in, struct buf *out)
{
	buf_putc(out, '\n');
	for (unsigned i = 0; i < in->depth; i++)
		buf_add(out, "  ", 2);
}

static void add_quoted(struct indent *in, struct buf *out, char c)
{
	buf_putc(out, c);
	if (in->escaped)
		in->escaped = false;
	else if (c == '\\')
		in->escaped = true;
	else if (c == '"')
		in->quoted = false;
}

static void add_one(struct indent *in, struct buf *out, char c)
{
	bool closes = c == '}' || c == ']';

	if (closes)
		in->depth--;
	if (in->opened != closes)
		new_line(in, out); /* not within empty brackets */
	in->opened = c == '{' || c == '[';
	if (in->opened)
		in->depth++;
	in->quoted = c == '"';
	buf_putc(out, c);
	if (c == ',')
		new_line(in, out);
	else if (c == ':')
		buf_putc(out, ' ');
}

void indent_add(struct indent *in, struct buf *out, const char *piece, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (in->quoted)
			add_quoted(in, out, piece[i]);
		else
			add_one(in, out, piece[i]);
	}
}
