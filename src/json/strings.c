/* strings.c: escapes of JSON strings: checked, decoded, written in the one canonical form */
#include "scan.h"

const char json_no_memory[] = "out of memory";

static const char in_string[] = "the text ends inside a string";

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four digits at p; -1: they are not there. */
static int hex4(const char *p)
{
	int value = 0;

	for (int i = 0; i < 4; i++) {
		int digit = hex_digit(p[i]);

		if (digit < 0)
			return -1;
		value = value * 16 + digit;
	}
	return value;
}

/* p is at the backslash; behind the escape, or NULL (failed). */
static const char *check_escape(struct json *j, const char *p)
{
	int unit, second;

	if (j->end - p < 2) {
		json_bad(j, j->end, in_string);
		return NULL;
	}
	if (p[1] != 'u') {
		if (p[1] != 0 && strchr("\"\\/bfnrt", p[1]))
			return p + 2;
		json_bad(j, p, "a backslash is followed by a character that is no escape");
		return NULL;
	}
	unit = j->end - p < 6 ? -1 : hex4(p + 2);
	if (unit < 0) {
		json_bad(j, p, "\\u is not followed by four hexadecimal digits");
		return NULL;
	}
	if (unit < 0xd800 || unit > 0xdfff)
		return p + 6;
	second = unit > 0xdbff || j->end - p < 12 || p[6] != '\\' || p[7] != 'u' ? -1 : hex4(p + 8);
	if (second < 0xdc00 || second > 0xdfff) {
		json_bad(j, p, "a \\u escape names a surrogate that is not part of a pair");
		return NULL;
	}
	return p + 12;
}

const char *json_string_rest(struct json *j, const char *p)
{
	for (;;) {
		if (p >= j->end) {
			json_bad(j, j->end, in_string);
			return NULL;
		}
		if (*p == '"')
			return p;
		if (*p != '\\') {
			json_bad(j, p, "a string holds a control character that is not escaped");
			return NULL;
		}
		p = check_escape(j, p);
		if (!p)
			return NULL;
		p = json_plain(p, j->end);
	}
}

/* The character of the checked escape at *p, which moves behind it. */
static uint32_t take_escape(const char **p)
{
	uint32_t c;

	*p += 2;
	switch ((*p)[-1]) {
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	case 'u':
		c = (uint32_t)hex4(*p);
		*p += 4;
		if (c < 0xd800 || c > 0xdfff)
			return c;
		c = 0x10000 + ((c - 0xd800) << 10) + ((uint32_t)hex4(*p + 2) - 0xdc00);
		*p += 6;
		return c;
	default:
		return (unsigned char)(*p)[-1];
	}
}

static size_t put_utf8(uint32_t c, char *out)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

size_t json_escape(unsigned char c, char out[static 6])
{
	static const char hex[] = "0123456789abcdef";
	static const char letter[0x20] = {
		['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};

	out[0] = '\\';
	if (c >= 0x20 || letter[c]) {
		out[1] = c >= 0x20 ? (char)c : letter[c];
		return 2;
	}
	memcpy(out + 1, "u00", 3);
	out[4] = hex[c >> 4];
	out[5] = hex[c & 15];
	return 6;
}

static size_t copy_decoded(const char *p, const char *end, char *out, bool recode)
{
	char *o = out;

	while (p < end) {
		const char *stop = memchr(p, '\\', (size_t)(end - p));
		size_t n = (size_t)((stop ? stop : end) - p);
		uint32_t c;

		memcpy(o, p, n);
		o += n;
		p += n;
		if (!stop)
			break;
		c = take_escape(&p);
		if (recode && (c < 0x20 || c == '"' || c == '\\')) {
			char escape[6];

			n = json_escape((unsigned char)c, escape);
			memcpy(o, escape, n);
		} else {
			n = put_utf8(c, o);
		}
		o += n;
	}
	return (size_t)(o - out);
}

size_t json_unescape(const char *p, const char *end, char *out)
{
	return copy_decoded(p, end, out, false);
}

size_t json_recode(const char *p, const char *end, char *out)
{
	return copy_decoded(p, end, out, true);
}
