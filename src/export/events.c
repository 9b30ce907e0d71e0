/* events.c: a run as Chrome trace events: the document, its parts, members that all events have
 *
 * {"traceEvents":[ event, event ],"displayTimeUnit":"ns","otherData":{...}}, an event a line. Times
 * are integer nanoseconds until they are printed.
 */
#include "events.h"

#include <stdlib.h>

#include "tracespool/util.h"

static const struct {
	enum run_kind kind;
	unsigned needs; /* all of these parts of the options */
	const struct part *part;
} plan[] = {
	{RUN_EXECUTION, TRACE_SPANS, &part_spans},
	{RUN_EXECUTION, TRACE_SPANS | TRACE_EDGES, &part_edges},
	{RUN_EXECUTION, TRACE_MEMORY, &part_live},
	{RUN_EXECUTION, TRACE_MEMORY, &part_samples},
	{RUN_EXECUTION, TRACE_DEVICE, &part_device},
	{RUN_REQUESTS, 0, &part_requests},
};

int cursor_next(struct cursor *c, struct ts_error *err)
{
	int more = query_step(c->q, err);

	c->has = more > 0;
	return more < 0 ? -1 : 0;
}

int cursor_open(struct trace_events *t, const char *query, struct cursor *c, struct ts_error *err)
{
	return query_open(t->db, query, &c->q, err) < 0 ? -1 : cursor_next(c, err);
}

static void plan_parts(struct trace_events *t, enum run_kind kind)
{
	for (size_t i = 0; i < ARRAY_LEN(plan); i++) {
		unsigned needs = plan[i].needs;

		/* Ops without spans are the same part. */
		if (plan[i].part == &part_spans && (t->options.parts & TRACE_OPS))
			needs = 0;
		if (plan[i].kind == kind && (t->options.parts & needs) == needs)
			t->parts[t->part_count++] = plan[i].part;
	}
}

int trace_events_open(struct db *db, enum run_kind kind, const struct trace_options *options,
		      struct trace_events **ret, struct ts_error *err)
{
	struct trace_events *t = calloc(1, sizeof(*t));

	if (!t)
		return ts_error_nomem(err);
	t->db = db;
	t->options = *options;
	buf_init(&t->group, SIZE_MAX);
	buf_init(&t->session, SIZE_MAX);
	plan_parts(t, kind);
	for (size_t i = 0; i < t->part_count; i++) {
		if (t->parts[i]->open(t, err) < 0) {
			trace_events_close(t);
			return -1;
		}
	}
	*ret = t;
	return 0;
}

void trace_events_close(struct trace_events *t)
{
	if (!t)
		return;
	struct cursor *const cursors[] = {
		&t->spans, &t->ops,    &t->starts,   &t->ends,  &t->samples,
		&t->edges, &t->device, &t->requests, &t->tools,
	};

	for (size_t i = 0; i < ARRAY_LEN(cursors); i++)
		query_close(cursors[i]->q);
	nest_done(&t->nest);
	free(t->track_of);
	buf_done(&t->group);
	buf_done(&t->session);
	free(t);
}

static void write_end(struct trace_events *t, struct buf *out)
{
	const struct trace_options *o = &t->options;
	struct json_writer w;

	buf_puts(out, "\n],\"displayTimeUnit\":\"ns\",\"otherData\":");
	jw_init(&w, out, JSON_NUMBERS_DEFAULT);
	jw_open_object(&w);
	jw_kv_str(&w, "id", o->id);
	jw_kv_str(&w, "schema", o->schema);
	if (o->has_captured)
		jw_kv_time(&w, "captured_at", o->captured_ms);
	else
		jw_kv_null(&w, "captured_at");
	if (t->has_origin)
		jw_kv_i64(&w, "epoch_ms", t->origin_ms);
	if (t->edges_left_out)
		jw_kv_u64(&w, "edges_left_out", t->edges_left_out);
	jw_close_object(&w);
	buf_puts(out, "}\n");
}

int trace_events_next(struct trace_events *t, struct buf *out, struct ts_error *err)
{
	if (!t->begun) {
		buf_puts(out, "{\"traceEvents\":[");
		t->begun = true;
	}
	while (t->part < t->part_count) {
		size_t before = out->len;
		int more = t->parts[t->part]->next(t, out, err);

		if (more < 0)
			return -1;
		if (more == 0)
			t->part++;
		if (out->failed)
			return ts_error_nomem(err);
		if (out->len > before)
			return 1;
	}
	write_end(t, out);
	return out->failed ? ts_error_nomem(err) : 0;
}

/* ---- events ---- */

void event_begin(struct trace_events *t, struct json_writer *w, struct buf *out, const char *phase,
		 const char *category)
{
	buf_puts(out, t->any ? ",\n" : "\n");
	t->any = true;
	jw_init(w, out, JSON_NUMBERS_EXACT);
	jw_open_object(w);
	jw_kv_text(w, "ph", phase);
	if (category)
		jw_kv_text(w, "cat", category);
}

void event_end(struct json_writer *w)
{
	jw_close_object(w);
}

void event_time(struct json_writer *w, const char *key, __int128 ns)
{
	unsigned __int128 size = ns < 0 ? -(unsigned __int128)ns : (unsigned __int128)ns;
	char digits[48];
	size_t at = sizeof(digits);

	if (ns >= 0 && size <= UINT64_MAX) {
		uint64_t part = (uint64_t)size % 1000;

		at = text_format_u64((uint64_t)size / 1000, digits);
		digits[at++] = '.';
		digits[at++] = (char)('0' + part / 100);
		digits[at++] = (char)('0' + part / 10 % 10);
		digits[at++] = (char)('0' + part % 10);
		jw_key(w, key);
		jw_raw(w, ts_str(digits, at));
		return;
	}
	for (unsigned place = 0; place < 5 || size; place++) {
		if (place == 3) {
			digits[--at] = '.';
			continue;
		}
		digits[--at] = (char)('0' + (unsigned)(size % 10));
		size /= 10;
	}
	if (ns < 0)
		digits[--at] = '-';
	jw_key(w, key);
	jw_raw(w, ts_str(digits + at, sizeof(digits) - at));
}

void event_name(struct trace_events *t, struct buf *out, const char *what, uint32_t pid,
		uint32_t tid, struct ts_str name)
{
	struct json_writer w;

	event_begin(t, &w, out, "M", NULL);
	jw_kv_text(&w, "name", what);
	jw_kv_u64(&w, "pid", pid);
	jw_kv_u64(&w, "tid", tid);
	jw_key(&w, "args");
	jw_open_object(&w);
	jw_kv_str(&w, "name", name);
	jw_close_object(&w);
	event_end(&w);
}

/* ---- window ---- */

bool window_shows_point(const struct trace_options *o, uint64_t at)
{
	return at >= o->from_ns && (!o->has_to || at < o->to_ns);
}

bool window_shows(const struct trace_options *o, uint64_t start, uint64_t end)
{
	if (end - start < o->min_duration_ns || (o->has_to && start >= o->to_ns))
		return false;
	return end > o->from_ns || start >= o->from_ns;
}
