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

/* The key, a comma in front of it if one is due. Room for `more` bytes is left behind it. False: no
 * memory. */
static bool put_key(struct json_writer *w, const char *key, size_t n, size_t more)
{
	struct buf *out = w->out;
	char *at;

	if (!buf_reserve(out, n + 4 + more))
		return false;
	at = out->data + out->len;
	if (w->comma)
		*at++ = ',';
	*at++ = '"';
	memcpy(at, key, n);
	at += n;
	*at++ = '"';
	*at++ = ':';
	*at = 0;
	out->len = (size_t)(at - out->data);
	w->comma = false;
	return true;
}

void jw_key_n(struct json_writer *w, const char *key, size_t n)
{
	put_key(w, key, n, 0);
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
	if (buf_reserve(w->out, n + w->comma + 2 * quoted)) {
		char *p = w->out->data + w->out->len;

		if (w->comma)
			*p++ = ',';
		if (quoted)
			*p++ = '"';
		memcpy(p, digits, n);
		p += n;
		if (quoted)
			*p++ = '"';
		buf_reach(w->out, p);
	}
	w->comma = true;
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

/* Writes v[0] and those behind it that are each by one above and have the same digits but the last
 * two; the place behind the last comma. *ret_n: how many. Writes up to 16 bytes a number. */
static char *put_run(char *p, const uint32_t *v, size_t n, size_t *ret_n)
{
	char digits[24] = {0};
	uint32_t first = v[0], low = first % 100;
	size_t len = text_format_u64(first, digits), alike = first < 10 ? 1 : 100 - low, run = 1;

	if (alike > n)
		alike = n;
	while (run < alike && v[run] == first + run)
		run++;
	for (size_t k = 0; k < run; k++) {
		memcpy(p, digits, 16);
		if (len > 1)
			memcpy(p + len - 2, text_pairs + 2 * (low + k), 2);
		p[len] = ',';
		p += len + 1;
	}
	*ret_n = run;
	return p;
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

		for (size_t run; i < behind; i += run)
			p = put_run(p, v + i, behind - i, &run);
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

void jw_kv_text(struct json_writer *w, const char *key, const char *text)
{
	jw_key(w, key);
	jw_text(w, text);
}

void jw_key_u64(struct json_writer *w, const char *key, size_t n, uint64_t v)
{
	if (!put_key(w, key, n, 24))
		return;
	if (w->numbers == JSON_NUMBERS_STRING)
		jw_u64(w, v);
	else
		w->out->len += text_format_u64(v, w->out->data + w->out->len);
	w->comma = true;
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

/* High bits where a byte is no ASCII character or does not stand for itself. */
static uint64_t special(uint64_t x)
{
	return json_zero_bytes(x ^ JSON_BYTES('"')) | json_zero_bytes(x ^ JSON_BYTES('\\')) |
	       (((x - JSON_BYTES(0x20)) | x) & JSON_BYTES(0x80));
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

/* ASCII that stands for itself between quotes, as nearly all texts do. */
static bool is_plain_ascii(struct ts_str s)
{
	uint64_t found = 0, x = JSON_BYTES(' ');
	size_t i = 0;

	for (; i + 8 <= s.n; i += 8)
		found |= special(json_load8(s.p + i));
	if (i < s.n)
		memcpy(&x, s.p + i, s.n - i);
	return !(found | special(x));
}

void json_quote(struct buf *out, struct ts_str s)
{
	if (!buf_reserve(out, s.n < SIZE_MAX - 2 ? s.n + 2 : s.n))
		return;
	if (is_plain_ascii(s)) {
		char *at = out->data + out->len;

		*at++ = '"';
		if (s.n)
			memcpy(at, s.p, s.n);
		at[s.n] = '"';
		at[s.n + 1] = 0;
		out->len += s.n + 2;
		return;
	}
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
