/* tool_print.c: what people see: escaped text, cut ids, reasons, sizes and times */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "tool.h"

void tool_complain(const char *fmt, ...)
{
	va_list args;

	fputs("tracespool: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

void tool_error(const struct ts_error *err)
{
	const char *hint = err->hint[0] ? err->hint : NULL;

	tool_complain("%s%s%s%s", err->message, hint ? " (" : "", hint ? hint : "",
		      hint ? ")" : "");
}

/* The next character; its bytes in *ret_n. U+FFFFFFFF for a byte that is not UTF-8. */
static uint32_t next_char(const char *p, size_t n, size_t *ret_n)
{
	unsigned char first = (unsigned char)*p;
	size_t len = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	uint32_t c;

	*ret_n = 1;
	if (len == 1)
		return first;
	if (len > n || text_utf8_prefix(p, len) != len)
		return UINT32_MAX;
	*ret_n = len;
	c = first & (0x7fU >> len);
	for (size_t i = 1; i < len; i++)
		c = c << 6 | ((unsigned char)p[i] & 0x3f);
	return c;
}

/* What could steer a terminal or turn the line around. */
static bool is_unsafe(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

/* One character as it is printed, its columns in *ret_width. */
static size_t print_char(const char *p, size_t n, char out[static 16], unsigned *ret_width)
{
	size_t len;
	uint32_t c = next_char(p, n, &len);
	int w;

	if (c == UINT32_MAX || is_unsafe(c)) {
		int k = c == UINT32_MAX ? snprintf(out, 16, "\\x%02x", (unsigned char)*p)
			: c < 0x80      ? snprintf(out, 16, "\\x%02x", c)
					: snprintf(out, 16, "\\u%04x", c);

		*ret_width = (unsigned)k;
	} else {
		memcpy(out, p, len);
		out[len] = 0;
		w = wcwidth((wchar_t)c);
		*ret_width = w < 0 ? 1 : (unsigned)w;
	}
	return len;
}

void tool_put(FILE *out, struct ts_str s)
{
	char text[16];
	unsigned w;

	for (size_t i = 0; i < s.n;) {
		i += print_char(s.p + i, s.n - i, text, &w);
		fputs(text, out);
	}
}

unsigned tool_width(struct ts_str s)
{
	unsigned total = 0, w;
	char text[16];

	for (size_t i = 0; i < s.n; total += w)
		i += print_char(s.p + i, s.n - i, text, &w);
	return total;
}

void tool_put_cut(struct buf *out, struct ts_str s, unsigned max)
{
	unsigned width = tool_width(s), at = 0, w, head = width, tail = width;
	bool cut = width > max && max >= 4;
	char text[16];

	if (cut) {
		head = (max - 2 + 1) / 2;
		tail = width - (max - 2 - head);
	}
	for (size_t i = 0; i < s.n; at += w) {
		i += print_char(s.p + i, s.n - i, text, &w);
		if (!cut || at + w <= head) {
			buf_puts(out, text);
		} else if (head != 0) { /* the first one that is left out */
			buf_puts(out, "..");
			head = 0;
		}
		if (cut && head == 0 && at >= tail)
			buf_puts(out, text);
	}
}

void tool_bytes(uint64_t n, char out[static TOOL_UNIT_MAX])
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double v = (double)n / 1024;
	size_t u = 0;

	if (n < 1024) {
		snprintf(out, TOOL_UNIT_MAX, "%u B", (unsigned)n);
		return;
	}
	for (; v >= 1023.95 && u + 1 < ARRAY_LEN(units); u++)
		v /= 1024;
	snprintf(out, TOOL_UNIT_MAX, "%.1f %s", v, units[u]);
}

void tool_time(double ns, char out[static TOOL_UNIT_MAX])
{
	if (ns < 1e3)
		snprintf(out, TOOL_UNIT_MAX, "%.0f ns", ns);
	else if (ns < 999995)
		snprintf(out, TOOL_UNIT_MAX, "%.2f us", ns / 1e3);
	else if (ns < 999995e3)
		snprintf(out, TOOL_UNIT_MAX, "%.2f ms", ns / 1e6);
	else if (ns < 6e11)
		snprintf(out, TOOL_UNIT_MAX, "%.2f s", ns / 1e9);
	else
		snprintf(out, TOOL_UNIT_MAX, "%.1f min", ns / 6e10);
}
