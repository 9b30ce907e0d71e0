/* utf8.c: UTF-8 check, Unicode white space, names for people */
#include "tracespool/text.h"

#include <string.h>

/* Length of the character at p if it is well formed (Unicode table 3-7), else 0. */
static size_t utf8_char(const unsigned char *p, size_t n)
{
	unsigned char c = p[0], low = 0x80, high = 0xbf;
	size_t len;

	if (c < 0x80)
		return 1;
	if (c < 0xc2 || c > 0xf4)
		return 0;
	len = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	if (len > n)
		return 0;
	if (c == 0xe0)
		low = 0xa0;
	else if (c == 0xed)
		high = 0x9f;
	else if (c == 0xf0)
		low = 0x90;
	else if (c == 0xf4)
		high = 0x8f;
	if (p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

size_t text_utf8_prefix(const char *text, size_t n)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t i = 0;

	while (i < n) {
		uint64_t w[4];

		while (n - i >= sizeof(w)) {
			memcpy(w, p + i, sizeof(w));
			if ((w[0] | w[1] | w[2] | w[3]) & 0x8080808080808080u)
				break;
			i += sizeof(w);
		}
		while (n - i >= sizeof(w[0])) {
			memcpy(w, p + i, sizeof(w[0]));
			if (w[0] & 0x8080808080808080u)
				break;
			i += sizeof(w[0]);
		}
		while (i < n && p[i] < 0x80)
			i++;
		/* A run of characters beyond ASCII, such as a line of CJK text. */
		while (i < n && p[i] >= 0x80) {
			size_t step = utf8_char(p + i, n - i);

			if (!step)
				return i;
			i += step;
		}
	}
	return n;
}

bool text_is_utf8(const char *p, size_t n)
{
	return text_utf8_prefix(p, n) == n;
}

/* Length of the White_Space character that s begins with, or 0 (candle-trace.md 2.3). */
static size_t space_at(const unsigned char *p, size_t n)
{
	if (n >= 1 && ((p[0] >= 0x09 && p[0] <= 0x0d) || p[0] == 0x20))
		return 1;
	if (n >= 2 && p[0] == 0xc2 && (p[1] == 0x85 || p[1] == 0xa0))
		return 2;
	if (n < 3)
		return 0;
	unsigned c = (unsigned)p[0] << 16 | (unsigned)p[1] << 8 | p[2];

	switch (c) {
	case 0xe19a80: /* U+1680 */
	case 0xe280a8: /* U+2028 */
	case 0xe280a9: /* U+2029 */
	case 0xe280af: /* U+202F */
	case 0xe2819f: /* U+205F */
	case 0xe38080: /* U+3000 */
		return 3;
	default: /* U+2000 to U+200A */
		return c >= 0xe28080 && c <= 0xe2808a ? 3 : 0;
	}
}

/* Surely no byte of white space. */
static bool is_dark(unsigned char c)
{
	return c > ' ' && c < 0x80;
}

struct ts_str text_trim(struct ts_str s)
{
	const unsigned char *p = (const unsigned char *)s.p;
	size_t n = s.n, step;

	/* Most texts have nothing to trim, which two bytes tell: all white space is below '!' or
	 * beyond ASCII. */
	if (n && is_dark(p[0]) && is_dark(p[n - 1]))
		return s;
	while ((step = space_at(p, n)) != 0) {
		p += step;
		n -= step;
	}
	for (;;) {
		for (step = 1; step <= 3 && step <= n; step++)
			if (space_at(p + n - step, step) == step)
				break;
		if (step > 3 || step > n)
			break;
		n -= step;
	}
	return ts_str((const char *)p, n);
}

bool text_is_blank(struct ts_str s)
{
	if (s.n && is_dark((unsigned char)s.p[0]))
		return false;
	return text_trim(s).n == 0;
}

size_t text_percent_encode(struct ts_str s, char *out)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
			     (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';

		if (plain) {
			out[n++] = (char)c;
		} else {
			out[n++] = '%';
			out[n++] = hex[c >> 4];
			out[n++] = hex[c & 15];
		}
	}
	out[n] = 0;
	return n;
}

size_t text_name(struct ts_str name, char *out, size_t size)
{
	static const char hex[] = "0123456789ABCDEF";
	const unsigned char *p = (const unsigned char *)name.p;
	size_t n = 0;

	for (size_t i = 0; i < name.n;) {
		size_t step = utf8_char(p + i, name.n - i), room = step ? step : 3;

		if (n + room >= size)
			break;
		if (step) {
			memcpy(out + n, p + i, step);
		} else {
			out[n] = '%';
			out[n + 1] = hex[p[i] >> 4];
			out[n + 2] = hex[p[i] & 15];
			step = 1;
		}
		n += room;
		i += step;
	}
	out[n] = 0;
	return n;
}
