/* reformat.c: compact JSON of this program written again: indented, integers as strings */
#include "scan.h"
#include "tracespool/writer.h"

struct form {
	struct buf *out;
	const char *at, *end;
	unsigned depth;
	bool pretty, quoted;
};

/* Unlike json_space this looks at no byte behind the end. */
static const char *skip_space(const char *p, const char *end)
{
	while (p < end && json_is_space(*p))
		p++;
	return p;
}

static void new_line(struct form *f)
{
	if (!f->pretty)
		return;
	buf_putc(f->out, '\n');
	for (unsigned i = 0; i < f->depth; i++)
		buf_add(f->out, "  ", 2);
}

static void copy_string(struct form *f)
{
	const char *p = f->at + 1;

	while (p < f->end && *p != '"')
		p += *p == '\\' && f->end - p > 1 ? 2 : 1;
	if (p < f->end)
		p++;
	buf_add(f->out, f->at, (size_t)(p - f->at));
	f->at = p;
}

static bool is_delimiter(char c)
{
	return json_is_space(c) || (c != 0 && strchr(",:[]{}\"", c));
}

/* A number, true, false or null. */
static void copy_token(struct form *f)
{
	const char *p = f->at;
	bool integer = *p == '-' || (*p >= '0' && *p <= '9');

	while (p < f->end && !is_delimiter(*p)) {
		integer &= *p != '.' && *p != 'e' && *p != 'E';
		p++;
	}
	if (integer && f->quoted)
		buf_putc(f->out, '"');
	buf_add(f->out, f->at, (size_t)(p - f->at));
	if (integer && f->quoted)
		buf_putc(f->out, '"');
	f->at = p;
}

static void open_container(struct form *f, char open)
{
	char close = open == '{' ? '}' : ']';

	buf_putc(f->out, open);
	f->at = skip_space(f->at + 1, f->end);
	if (f->at < f->end && *f->at == close) {
		buf_putc(f->out, close);
		f->at++;
		return;
	}
	f->depth++;
	new_line(f);
}

static void copy_one(struct form *f)
{
	char c = *f->at;

	switch (c) {
	case '"':
		copy_string(f);
		return;
	case '{':
	case '[':
		open_container(f, c);
		return;
	case '}':
	case ']':
		f->depth -= f->depth > 0;
		new_line(f);
		break;
	case ',':
		f->at++;
		buf_putc(f->out, ',');
		new_line(f);
		return;
	case ':':
		f->at++;
		buf_add(f->out, ": ", f->pretty ? 2 : 1);
		return;
	default:
		copy_token(f);
		return;
	}
	buf_putc(f->out, c);
	f->at++;
}

void json_reformat(struct buf *out, struct ts_str json, bool pretty, enum json_numbers numbers)
{
	struct form f = {
		.out = out,
		.at = json.p,
		.end = json.p + json.n,
		.pretty = pretty,
		.quoted = numbers == JSON_NUMBERS_STRING,
	};

	/* A failed buffer takes nothing more: the rest would be work for nothing. */
	while ((f.at = skip_space(f.at, f.end)) < f.end && !out->failed)
		copy_one(&f);
}
