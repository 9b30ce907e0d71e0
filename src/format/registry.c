/* registry.c: the list of formats; picks one by the first line
 *
 * Of repeated members the last one counts here, as in request traces. For an execution trace it
 * makes no difference: a member that its tables name twice is refused by the format itself.
 */
#include "tracespool/format.h"

#include <stdlib.h>
#include <string.h>

#include "line_json.h"

struct marks {
	bool object;
	bool candle_schema; /* `schema` begins with candle-graph/ */
	bool schema, event, event_type, kind;
	bool kind_meta, kind_terminal;
};

static void mark(struct marks *m, struct ts_str key, const struct json_value *v)
{
	struct ts_str text = v->type == JSON_STRING ? v->str : ts_str_c(NULL);

	if (ts_str_is(key, "schema")) {
		m->schema = true;
		m->candle_schema = text.p && ts_str_starts(text, "candle-graph/");
	} else if (ts_str_is(key, "kind")) {
		m->kind = true;
		m->kind_meta = text.p && ts_str_is(text, "meta");
		m->kind_terminal = text.p && ts_str_is(text, "terminal");
	} else if (ts_str_is(key, "event")) {
		m->event = true;
	} else if (ts_str_is(key, "event_type")) {
		m->event_type = true;
	}
}

/* Takes the value of one of the members of struct marks; containers are taken whole. */
static void read_value(struct json *j, struct json_value *ret)
{
	struct json before = *j;

	if (json_value(j, ret) == JSON_ARRAY || ret->type == JSON_OBJECT) {
		*j = before;
		json_skip(j);
	}
}

/* Reads the whole text. False: it is not one JSON text, or memory ran out. */
static bool read_marks(struct json *j, struct ts_str text, struct arena *scratch, struct marks *m)
{
	struct json_value v;
	struct ts_str key;

	json_begin(j, text.p, text.n, scratch);
	m->object = json_value(j, &v) == JSON_OBJECT;
	if (m->object) {
		for (bool first = true; json_key(j, first, &key); first = false) {
			read_value(j, &v);
			mark(m, key, &v);
		}
	} else if (v.type == JSON_ARRAY) {
		json_begin(j, text.p, text.n, scratch);
		json_skip(j);
	}
	return !j->error && json_end(j) == 0;
}

static const struct ts_format *claim(const struct marks *m)
{
	if (!m->object)
		return &format_request;
	if (m->candle_schema || m->kind_meta)
		return &format_candle;
	if (m->event || m->schema || m->event_type)
		return &format_request;
	return m->kind ? &format_candle : NULL;
}

int format_pick(const struct line *first, const struct ts_format **ret, struct ts_error *err)
{
	CLEAN(arena_done) struct arena scratch = {0};
	struct line_json text = line_json_of(first);
	struct marks m = {0};
	const struct ts_format *format;
	struct json j;

	if (!read_marks(&j, text.text, &scratch, &m))
		return line_json_fail(&text, &j, err);
	format = claim(&m);
	if (!format) {
		ts_error_set(err, TS_E_UNKNOWN_FORMAT,
			     "the first record has none of schema, kind, event and event_type");
		err->line = first->number;
		err->byte = (int64_t)first->byte;
		ts_error_excerpt(err, first->text, first->len, 0);
		return -1;
	}
	*ret = format;
	return 0;
}

bool format_line_is_terminal(const char *text, size_t len)
{
	CLEAN(arena_done) struct arena scratch = {0};
	CLEAN(buf_done) struct buf copy = BUF_INIT;
	struct marks m = {0};
	struct ts_str line;
	struct json j;

	if (!text_is_utf8(text, len))
		return false;
	/* A copy, since text[len] need not be there or end a token. */
	line = text_trim(ts_str(text, len));
	buf_add(&copy, line.p, line.n);
	if (copy.failed)
		return false;
	return read_marks(&j, ts_str(copy.data, copy.len), &scratch, &m) && m.object &&
	       m.kind_terminal;
}
