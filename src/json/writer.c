/* writer.c: the API's output: exact 64-bit integers, shortest doubles, one escaping function */
#include "tracespool/writer.h"

#include <math.h>

#include "scan.h"

void jw_init(struct json_writer *w, struct buf *out, enum json_numbers numbers)
{
	*w = (struct json_writer){.out = out, .numbers = numbers};
}

/* In front of each key and element. */
static void put_comma(struct json_writer *w)
{
	if (w->comma)
		buf_putc(w->out, ',');
	w->comma = true;
}

static void open_bracket(struct json_writer *w, char bracket)
{
	put_comma(w);
	buf_putc(w->out, bracket);
	w->comma = false;
}

static void close_bracket(struct json_writer *w, char bracket)
{
	buf_putc(w->out, bracket);
	w->comma = true;
}

void jw_open_object(struct json_writer *w)
{
	open_bracket(w, '{');
}

void jw_close_object(struct json_writer *w)
{
	close_bracket(w, '}');
}

void jw_open_array(struct json_writer *w)
{
	open_bracket(w, '[');
}

void jw_close_array(struct json_writer *w)
{
	close_bracket(w, ']');
}

void jw_key(struct json_writer *w, const char *key)
{
	size_t n = strlen(key);

	put_comma(w);
	if (buf_reserve(w->out, n + 3)) {
		buf_putc(w->out, '"');
		buf_add(w->out, key, n);
		buf_add(w->out, "\":", 2);
	}
	w->comma = false;
}

void jw_key_str(struct json_writer *w, struct ts_str key)
{
	put_comma(w);
	json_quote(w->out, key);
	buf_putc(w->out, ':');
	w->comma = false;
}

static void put_text(struct json_writer *w, const char *text, size_t n)
{
	put_comma(w);
	buf_add(w->out, text, n);
}

static void put_integer(struct json_writer *w, const char *digits, size_t n, bool quoted)
{
	put_comma(w);
	if (quoted)
		buf_putc(w->out, '"');
	buf_add(w->out, digits, n);
	if (quoted)
		buf_putc(w->out, '"');
}

void jw_str(struct json_writer *w, struct ts_str s)
{
	if (!s.p) {
		jw_null(w);
		return;
	}
	put_comma(w);
	json_quote(w->out, s);
}

void jw_text(struct json_writer *w, const char *text)
{
	jw_str(w, ts_str_c(text));
}

void jw_u64(struct json_writer *w, uint64_t v)
{
	char digits[21];

	put_integer(w, digits, text_format_u64(v, digits), w->numbers == JSON_NUMBERS_STRING);
}

/* Most numbers are by one above that in front, and then only the last two digits change. */
static char *put_run(char *p, const uint32_t *v, size_t n, size_t *at)
{
	char digits[24] = {0};
	uint64_t first = v[*at], low = first % 100;
	size_t len = text_format_u64(first, digits);

	for (uint64_t k = 0;; k++) {
		memcpy(p, digits, 16);
		if (k)
			memcpy(p + len - 2, text_pairs + 2 * (low + k), 2);
		p[len] = ',';
		p += len + 1;
		++*at;
		if (*at == n || v[*at] != first + k + 1 || low + k == 99 || len < 2)
			return p;
	}
}

void jw_u32s(struct json_writer *w, const uint32_t *v, size_t n)
{
	enum { AT_ONCE = 4096, LONGEST = 11 };
	size_t i = 0;

	while (i < n && w->numbers != JSON_NUMBERS_STRING) {
		size_t behind = n - i < AT_ONCE ? n : i + AT_ONCE;
		size_t most = (behind - i) * LONGEST + 16;

		/* Where the buffer's end is near, each number has to be measured. */
		if (most > w->out->max - w->out->len)
			break;
		put_comma(w);
		if (!buf_reserve(w->out, most))
			return;
		char *p = w->out->data + w->out->len;

		while (i < behind)
			p = put_run(p, v, behind, &i);
		p[-1] = 0; /* the last comma */
		w->out->len = (size_t)(p - 1 - w->out->data);
	}
	for (; i < n; i++)
		jw_u64(w, v[i]);
}

void jw_i64(struct json_writer *w, int64_t v)
{
	char digits[22];

	put_integer(w, digits, text_format_i64(v, digits), w->numbers == JSON_NUMBERS_STRING);
}

void jw_id(struct json_writer *w, uint64_t v)
{
	char digits[21];

	put_integer(w, digits, text_format_u64(v, digits), w->numbers != JSON_NUMBERS_EXACT);
}

void jw_double(struct json_writer *w, double v)
{
	char text[TEXT_DOUBLE_MAX];

	if (isfinite(v))
		put_text(w, text, text_format_double(v, text));
	else
		jw_null(w);
}

void jw_bool(struct json_writer *w, bool v)
{
	put_text(w, v ? "true" : "false", v ? 4 : 5);
}

void jw_null(struct json_writer *w)
{
	put_text(w, "null", 4);
}

void jw_time(struct json_writer *w, int64_t ms)
{
	char text[TEXT_TIME_MAX];

	jw_text(w, text_format_time(ms, text) ? text : NULL);
}

void jw_raw(struct json_writer *w, struct ts_str json)
{
	if (!json.p) {
		jw_null(w);
		return;
	}
	put_comma(w);
	if (w->numbers == JSON_NUMBERS_STRING)
		json_reformat(w->out, json, false, w->numbers);
	else
		buf_add(w->out, json.p, json.n);
}

void jw_kv_str(struct json_writer *w, const char *key, struct ts_str s)
{
	jw_key(w, key);
	jw_str(w, s);
}

void jw_kv_text(struct json_writer *w, const char *key, const char *text)
{
	jw_key(w, key);
	jw_text(w, text);
}

void jw_kv_u64(struct json_writer *w, const char *key, uint64_t v)
{
	jw_key(w, key);
	jw_u64(w, v);
}

void jw_kv_i64(struct json_writer *w, const char *key, int64_t v)
{
	jw_key(w, key);
	jw_i64(w, v);
}

void jw_kv_double(struct json_writer *w, const char *key, double v)
{
	jw_key(w, key);
	jw_double(w, v);
}

void jw_kv_bool(struct json_writer *w, const char *key, bool v)
{
	jw_key(w, key);
	jw_bool(w, v);
}

void jw_kv_null(struct json_writer *w, const char *key)
{
	jw_key(w, key);
	jw_null(w);
}

void jw_kv_time(struct json_writer *w, const char *key, int64_t ms)
{
	jw_key(w, key);
	jw_time(w, ms);
}

/* p[0..n) is valid UTF-8. */
static void quote_valid(struct buf *out, const char *p, size_t n)
{
	const char *end = p + n;

	while (p < end) {
		const char *stop = json_plain(p, end);
		char escape[6];

		buf_add(out, p, (size_t)(stop - p));
		if (stop == end)
			break;
		buf_add(out, escape, json_escape((unsigned char)*stop, escape));
		p = stop + 1;
	}
}

void json_quote(struct buf *out, struct ts_str s)
{
	if (!buf_reserve(out, s.n < SIZE_MAX - 2 ? s.n + 2 : s.n))
		return;
	buf_putc(out, '"');
	while (s.n > 0) {
		size_t good = text_utf8_prefix(s.p, s.n);

		quote_valid(out, s.p, good);
		s = ts_str(s.p + good, s.n - good);
		if (s.n > 0) {
			buf_add(out, "\xef\xbf\xbd", 3);
			s = ts_str(s.p + 1, s.n - 1);
		}
	}
	buf_putc(out, '"');
}
