/* error.c: the error record, its message, excerpt and log line */
#include "tracespool/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tracespool/text.h"

void ts_error_init(struct ts_error *err)
{
	*err = (struct ts_error)TS_ERROR_INIT;
}

/* Copies text so that it is valid UTF-8 without control bytes, whatever it was: messages and
 * excerpts quote other people's files and end up in terminals, logs and JSON. */
static size_t clean_copy(char *out, size_t size, const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len;) {
		unsigned char c = (unsigned char)text[i];
		size_t step = 1;
		char piece[5];

		if (c < 0x20 || c == 0x7f) {
			const char *short_form = c == '\t'   ? "\\t"
						 : c == '\n' ? "\\n"
						 : c == '\r' ? "\\r"
							     : NULL;

			if (short_form)
				memcpy(piece, short_form, 3);
			else
				snprintf(piece, sizeof(piece), "\\x%02x", c);
		} else if (c < 0x80) {
			piece[0] = (char)c;
			piece[1] = 0;
		} else {
			step = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
			/* C1 controls (U+0080 to U+009F) move cursors in some terminals. */
			bool c1 = step == 2 && i + 1 < len && c == 0xc2 &&
				  (unsigned char)text[i + 1] < 0xa0;

			if (step == 1 || c1 || i + step > len || !text_is_utf8(text + i, step)) {
				step = 1;
				snprintf(piece, sizeof(piece), "\\x%02x", c);
			} else {
				memcpy(piece, text + i, step);
				piece[step] = 0;
			}
		}
		size_t add = strlen(piece);

		if (n + add >= size)
			break;
		memcpy(out + n, piece, add);
		n += add;
		i += step;
	}
	out[n] = 0;
	return n;
}

__attribute__((format(printf, 4, 0))) static void set_message(struct ts_error *err,
							      enum ts_code_id id, int sys,
							      const char *fmt, va_list ap)
{
	char raw[1024];
	int n;

	err->code = ts_code_get(id);
	err->sys = sys;
	n = vsnprintf(raw, sizeof(raw), fmt, ap);
	if (n < 0)
		n = 0;
	if ((size_t)n >= sizeof(raw))
		n = sizeof(raw) - 1;
	if (sys) {
		char why[128];
		int m = snprintf(raw + n, sizeof(raw) - (size_t)n, ": %s",
				 strerror_r(sys, why, sizeof(why)));

		if (m > 0)
			n = (size_t)(n + m) < sizeof(raw) ? n + m : (int)sizeof(raw) - 1;
	}
	clean_copy(err->message, sizeof(err->message), raw, (size_t)n);
}

int ts_error_set(struct ts_error *err, enum ts_code_id id, const char *fmt, ...)
{
	va_list ap;

	if (err->code)
		return -1;
	va_start(ap, fmt);
	set_message(err, id, 0, fmt, ap);
	va_end(ap);
	return -1;
}

int ts_error_sys(struct ts_error *err, enum ts_code_id id, int sys, const char *fmt, ...)
{
	va_list ap;

	if (err->code)
		return -1;
	/* A full disk or a lack of memory is that, whatever the caller was about to do. */
	if (sys == ENOSPC || sys == EDQUOT)
		id = TS_E_DISK_FULL;
	else if (sys == ENOMEM)
		id = TS_E_INTERNAL;
	va_start(ap, fmt);
	set_message(err, id, sys, fmt, ap);
	va_end(ap);
	return -1;
}

int ts_error_nomem(struct ts_error *err)
{
	return ts_error_set(err, TS_E_INTERNAL, "out of memory");
}

bool ts_error_is(const struct ts_error *err, enum ts_code_id id)
{
	return err->code == ts_code_get(id);
}

void ts_error_hint(struct ts_error *err, const char *fmt, ...)
{
	char raw[512];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	if (n > 0)
		clean_copy(err->hint, sizeof(err->hint), raw,
			   (size_t)n < sizeof(raw) ? (size_t)n : sizeof(raw) - 1);
}

void ts_error_excerpt(struct ts_error *err, const char *text, size_t len, size_t at)
{
	enum { BEFORE = 60, ALL = 110 };
	size_t from = at > BEFORE ? at - BEFORE : 0;
	size_t to = len - from > ALL ? from + ALL : len;
	char clean[sizeof(err->excerpt) - 6];

	/* Whole characters at both ends. */
	while (from > 0 && from < len && ((unsigned char)text[from] & 0xc0) == 0x80)
		from++;
	while (to < len && to > from && ((unsigned char)text[to] & 0xc0) == 0x80)
		to--;
	clean_copy(clean, sizeof(clean), text + from, to - from);
	snprintf(err->excerpt, sizeof(err->excerpt), "%s%s%s", from > 0 ? "..." : "", clean,
		 to < len ? "..." : "");
}

const char *ts_error_line(const struct ts_error *err, char *buf, size_t size)
{
	char file[300] = "", line[32] = "", byte[32] = "";

	if (err->file[0])
		snprintf(file, sizeof(file), " file=\"%s\"", err->file);
	if (err->line)
		snprintf(line, sizeof(line), " line=%llu", (unsigned long long)err->line);
	if (err->byte >= 0)
		snprintf(byte, sizeof(byte), " byte=%lld", (long long)err->byte);
	snprintf(buf, size, "code=%s%s%s%s: %s", err->code ? err->code->code : "none", file, line,
		 byte, err->message);
	return buf;
}

const char *ts_error_get_hint(const struct ts_error *err)
{
	if (err->hint[0])
		return err->hint;
	return err->code ? err->code->hint : NULL;
}
