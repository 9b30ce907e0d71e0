/* indent.c: compact JSON indented while it streams by
 */
#include "indent.h"

static void new_line(const struct indent *in, struct buf *out)
{
	buf_putc(out, '\n');
	for (unsigned i = 0; i < in->depth; i++)
		buf_add(out, "  ", 2);
}

static void add_outside(struct indent *in, char c, struct buf *out)
{
	bool closes = c == '}' || c == ']';

	if (closes) {
		in->depth -= in->depth > 0;
		if (!in->opened)
			new_line(in, out);
	} else if (in->opened) {
		new_line(in, out);
	}
	in->opened = c == '{' || c == '[';
	in->in_string = c == '"';
	buf_putc(out, c);
	if (in->opened)
		in->depth++;
	else if (c == ',')
		new_line(in, out);
	else if (c == ':')
		buf_putc(out, ' ');
}

void indent_add(struct indent *in, struct ts_str piece, struct buf *out)
{
	for (size_t i = 0; i < piece.n; i++) {
		char c = piece.p[i];

		if (!in->in_string) {
			add_outside(in, c, out);
			continue;
		}
		buf_putc(out, c);
		if (in->escaped)
			in->escaped = false;
		else if (c == '\\')
			in->escaped = true;
		else if (c == '"')
			in->in_string = false;
	}
}
