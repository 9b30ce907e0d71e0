/* target.c: a request target: split raw at '/', '?', '&' and '=', each piece decoded after
 */
#include "target.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* "http://host:port/path" as proxies send it; the authority then stands in for Host. */
static struct ts_str take_authority(struct ts_str *sent)
{
	static const char scheme[] = "http://";
	size_t n = sizeof(scheme) - 1, end;
	struct ts_str authority;

	if (sent->n < n || strncasecmp(sent->p, scheme, n) != 0)
		return (struct ts_str){NULL, 0};
	for (end = n; end < sent->n && sent->p[end] != '/' && sent->p[end] != '?'; end++)
		;
	authority = ts_str(sent->p + n, end - n);
	*sent = end == sent->n ? TS_STR("/") : ts_str(sent->p + end, sent->n - end);
	return authority;
}

void target_split(struct target *t, struct ts_str sent, const char *base_path)
{
	size_t base = strlen(base_path);
	const char *mark;

	memset(t, 0, sizeof(*t));
	t->authority = take_authority(&sent);
	if (base > 0 && sent.n >= base && memcmp(sent.p, base_path, base) == 0) {
		struct ts_str rest = ts_str(sent.p + base, sent.n - base);

		if (rest.n == 0)
			sent = TS_STR("/");
		else if (rest.p[0] == '/' || rest.p[0] == '?')
			sent = rest;
	}
	t->raw = sent;
	mark = sent.n ? memchr(sent.p, '?', sent.n) : NULL;
	if (mark) {
		t->path = ts_str(sent.p, (size_t)(mark - sent.p));
		t->query = ts_str(mark + 1, sent.n - t->path.n - 1);
	} else {
		t->path = sent;
	}
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int target_unescape(struct ts_str s, bool form, struct arena *arena, struct ts_str *ret,
		    struct ts_error *err)
{
	char *out = arena_alloc(arena, s.n + 1);
	size_t n = 0;

	if (!out)
		return ts_error_nomem(err);
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (c == '+' && form) {
			c = ' ';
		} else if (c == '%') {
			int high = s.n - i > 2 ? hex_digit(s.p[i + 1]) : -1;
			int low = s.n - i > 2 ? hex_digit(s.p[i + 2]) : -1;

			if (high < 0 || low < 0)
				return ts_error_set(err, TS_E_BAD_ENCODING,
						    "a percent sign is not followed by two "
						    "hexadecimal digits");
			c = (char)(high * 16 + low);
			if (c == 0)
				return ts_error_set(err, TS_E_BAD_ENCODING,
						    "U+0000 cannot stand in a path or query");
			i += 2;
		}
		out[n++] = c;
	}
	out[n] = 0;
	*ret = ts_str(out, n);
	return 0;
}

int target_decode_path(struct target *t, struct arena *arena, struct ts_error *err)
{
	size_t at = 1;

	t->segment_count = 0;
	if (t->path.n == 0 || t->path.p[0] != '/') { /* "*", or no path at all */
		t->segment_count = TARGET_SEGMENTS_MAX + 1;
		return 0;
	}
	while (t->path.n > 1 && at <= t->path.n) {
		const char *from = t->path.p + at;
		const char *slash = memchr(from, '/', t->path.n - at);
		size_t n = slash ? (size_t)(slash - from) : t->path.n - at;
		struct ts_str decoded;

		if (target_unescape(ts_str(from, n), false, arena, &decoded, err) < 0)
			return -1;
		if (t->segment_count < TARGET_SEGMENTS_MAX)
			t->segment[t->segment_count] = decoded;
		t->segment_count++;
		at += n + 1;
	}
	return 0;
}

/* The next "name=value" of a raw query; false at the end. Empty pairs are passed over. */
static bool next_pair(struct ts_str *rest, struct ts_str *ret_name, struct ts_str *ret_value)
{
	while (rest->n > 0) {
		const char *amp = memchr(rest->p, '&', rest->n);
		size_t n = amp ? (size_t)(amp - rest->p) : rest->n;
		struct ts_str pair = ts_str(rest->p, n);
		const char *equals = n ? memchr(pair.p, '=', n) : NULL;

		*rest = ts_str(rest->p + n + (amp ? 1 : 0), rest->n - n - (amp ? 1 : 0));
		if (n == 0)
			continue;
		*ret_name = equals ? ts_str(pair.p, (size_t)(equals - pair.p)) : pair;
		*ret_value = equals ? ts_str(equals + 1, n - ret_name->n - 1) : ts_str("", 0);
		return true;
	}
	return false;
}

int target_decode_query(struct target *t, struct arena *arena, struct ts_error *err)
{
	struct ts_str rest = t->query, name, value;
	size_t count = 0;

	t->params = NULL;
	t->param_count = 0;
	while (next_pair(&rest, &name, &value))
		count++;
	if (count == 0)
		return 0;
	t->params = arena_alloc(arena, count * sizeof(*t->params));
	if (!t->params)
		return ts_error_nomem(err);
	rest = t->query;
	while (next_pair(&rest, &name, &value)) {
		struct list_param *param = &t->params[t->param_count];

		if (target_unescape(name, true, arena, &param->name, err) < 0 ||
		    target_unescape(value, true, arena, &param->value, err) < 0)
			return -1;
		t->param_count++;
	}
	return 0;
}

static bool is_encoded(unsigned char c)
{
	return c <= ' ' || c >= 0x7f || strchr("\"<>\\^`{|}", c);
}

size_t target_query_size(const struct target *t)
{
	size_t n = t->query.n;

	for (size_t i = 0; i < t->query.n; i++)
		if (is_encoded((unsigned char)t->query.p[i]))
			n += 2;
	return n;
}

/* Bytes that could break a header or the angle brackets of a Link are encoded. */
static void add_header_safe(struct buf *out, struct ts_str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (is_encoded(c))
			buf_printf(out, "%%%02X", c);
		else
			buf_putc(out, (char)c);
	}
}

void target_next_page(const struct target *t, const char *base_path, uint64_t limit,
		      struct ts_str cursor, struct buf *out)
{
	struct ts_str rest = t->query, name, value;
	char *encoded = malloc(3 * cursor.n + 1);
	char separator = '?';
	size_t i = 0;

	if (!encoded) {
		out->failed = true;
		return;
	}
	buf_puts(out, base_path);
	add_header_safe(out, t->path);
	while (i < t->param_count && next_pair(&rest, &name, &value)) {
		struct ts_str decoded = t->params[i++].name;

		if (ts_str_is(decoded, "cursor") || ts_str_is(decoded, "limit"))
			continue;
		buf_putc(out, separator);
		add_header_safe(out, name);
		buf_putc(out, '=');
		add_header_safe(out, value);
		separator = '&';
	}
	text_percent_encode(cursor, encoded);
	buf_printf(out, "%ccursor=%s&limit=%llu", separator, encoded, (unsigned long long)limit);
	free(encoded);
}

uint64_t target_hash(const struct target *t)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < t->raw.n; i++)
		hash = (hash ^ (unsigned char)t->raw.p[i]) * UINT64_C(0x100000001b3);
	return hash;
}
