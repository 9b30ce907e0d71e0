/* spans.c: trace events of spans and ops: one merged order of time, tracks on which they nest
 *
 * Ops lie below spans like these among each other. A child and an op first try the track of their
 * span, so that they come to lie below it where that can be.
 */
#include "events.h"

#include <stdio.h>
#include <stdlib.h>

#include "tracespool/util.h"

enum {
	S_NO,
	S_START,
	S_CLOSED,
	S_DURATION,
	S_ID,
	S_NAME,
	S_PARENT,
	S_KIND,
	S_MEASURED,
	S_STEP,
	S_PARENT_NO
};
enum { O_START, O_DURATION, O_NAME, O_SPAN, O_SHAPE, O_DTYPE, O_DEVICE, O_OUTPUT, O_INPUT, O_NO };
enum { E_NO, E_DURATION, E_FROM, E_FROM_START, E_TO, E_TO_START, E_TO_CLOSED, E_TO_DURATION };

/* The end of a run without terminal record is the last moment that it knows of. */
static int find_end(struct trace_events *t, struct ts_error *err)
{
	CLEAN(query_closep) struct query *q = NULL;
	int more;

	if (query_open(t->db, "trace_moments", &q, err) < 0)
		return -1;
	t->terminal_ns = 0;
	while ((more = query_step(q, err)) > 0) {
		uint64_t end = u64_add_sat(query_u64(q, 0), query_u64(q, 1));

		if (end > t->terminal_ns)
			t->terminal_ns = end;
	}
	return more;
}

static int open_spans(struct trace_events *t, struct ts_error *err)
{
	CLEAN(query_closep) struct query *q = NULL;

	if (query_open(t->db, "trace_span_count", &q, err) < 0 || query_step(q, err) < 0)
		return -1;
	t->span_count = query_u64(q, 0);
	t->terminal_ns = query_u64(q, 1);
	if (query_is_null(q, 1) && find_end(t, err) < 0)
		return -1;
	if (t->span_count >= UINT32_MAX)
		return ts_error_set(err, TS_E_INTERNAL, "more spans than tracks can be kept for");
	t->track_of = calloc(t->span_count + 1, sizeof(*t->track_of));
	if (!t->track_of)
		return ts_error_nomem(err);
	if ((t->options.parts & TRACE_SPANS) && cursor_open(t, "trace_spans", &t->spans, err) < 0)
		return -1;
	return t->options.parts & TRACE_OPS ? cursor_open(t, "trace_ops", &t->ops, err) : 0;
}

/* What never closed lasts to the end of the run, which no trace has before a start. */
static uint64_t end_of(const struct trace_events *t, uint64_t start, bool closed, uint64_t duration)
{
	if (closed)
		return u64_add_sat(start, duration);
	return t->terminal_ns > start ? t->terminal_ns : start;
}

static uint64_t span_end(const struct trace_events *t, struct query *q)
{
	return end_of(t, query_u64(q, S_START), query_u64(q, S_CLOSED) != 0,
		      query_u64(q, S_DURATION));
}

static uint64_t op_end(struct query *q)
{
	return u64_add_sat(query_u64(q, O_START), query_u64(q, O_DURATION));
}

static uint32_t track_of(const struct trace_events *t, uint64_t no)
{
	return no <= t->span_count ? t->track_of[no] : 0;
}

static void name_track(struct trace_events *t, struct buf *out, uint32_t track)
{
	char name[32];

	if (track <= t->named)
		return;
	t->named = track;
	snprintf(name, sizeof(name), track == 1 ? "spans" : "spans %u", track);
	event_name(t, out, "thread_name", PID_HOST, track, ts_str_c(name));
}

static void begin_slice(struct trace_events *t, struct json_writer *w, struct buf *out,
			const char *category, struct ts_str name, uint32_t pid, uint32_t tid,
			uint64_t start, uint64_t end)
{
	event_begin(t, w, out, "X", category);
	jw_kv_str(w, "name", name);
	jw_kv_u64(w, "pid", pid);
	jw_kv_u64(w, "tid", tid);
	event_time(w, "ts", start);
	event_time(w, "dur", end - start);
	jw_key(w, "args");
	jw_open_object(w);
}

static void end_slice(struct json_writer *w)
{
	jw_close_object(w);
	event_end(w);
}

static int place(struct trace_events *t, struct buf *out, uint64_t start, uint64_t end,
		 uint32_t prefer, uint32_t *ret, struct ts_error *err)
{
	if (nest_place(&t->nest, start, end, prefer, ret) < 0)
		return ts_error_nomem(err);
	name_track(t, out, *ret);
	return 0;
}

static int write_span(struct trace_events *t, struct buf *out, struct ts_error *err)
{
	struct query *q = t->spans.q;
	uint64_t start = query_u64(q, S_START), end = span_end(t, q);
	struct json_writer w;
	uint32_t track;

	if (!window_shows(&t->options, start, end))
		return 0;
	if (place(t, out, start, end, track_of(t, query_u64(q, S_PARENT_NO)), &track, err) < 0)
		return -1;
	t->track_of[query_u64(q, S_NO)] = track;
	begin_slice(t, &w, out, "span", query_str(q, S_NAME), PID_HOST, track, start, end);
	jw_kv_str(&w, "id", query_str(q, S_ID));
	if (!query_is_null(q, S_PARENT))
		jw_kv_str(&w, "parent_id", query_str(q, S_PARENT));
	jw_kv_str(&w, "span_kind", query_str(q, S_KIND));
	if (!query_is_null(q, S_STEP))
		jw_kv_str(&w, "step", query_str(q, S_STEP));
	if (query_u64(q, S_MEASURED))
		jw_kv_bool(&w, "measured", true);
	if (!query_u64(q, S_CLOSED))
		jw_kv_bool(&w, "closed", false);
	end_slice(&w);
	return 0;
}

static int write_op(struct trace_events *t, struct buf *out, struct ts_error *err)
{
	struct query *q = t->ops.q;
	uint64_t start = query_u64(q, O_START), end = op_end(q);
	struct json_writer w;
	uint32_t track;

	if (!window_shows(&t->options, start, end))
		return 0;
	if (place(t, out, start, end, track_of(t, query_u64(q, O_NO)), &track, err) < 0)
		return -1;
	begin_slice(t, &w, out, "op", query_str(q, O_NAME), PID_HOST, track, start, end);
	jw_kv_str(&w, "span_id", query_str(q, O_SPAN));
	jw_key(&w, "shape");
	jw_raw(&w, query_str(q, O_SHAPE));
	jw_kv_str(&w, "dtype", query_str(q, O_DTYPE));
	jw_kv_str(&w, "device", query_str(q, O_DEVICE));
	if (!query_is_null(q, O_OUTPUT))
		jw_kv_u64(&w, "output_dense_bytes", query_u64(q, O_OUTPUT));
	jw_kv_u64(&w, "input_dense_bytes", query_u64(q, O_INPUT));
	end_slice(&w);
	return 0;
}

/* Of a span and an op that begin together the longer one comes first, of equal ones the span. */
static bool span_is_next(struct trace_events *t)
{
	uint64_t span, op;

	if (!t->spans.has || !t->ops.has)
		return t->spans.has;
	span = query_u64(t->spans.q, S_START);
	op = query_u64(t->ops.q, O_START);
	if (span != op)
		return span < op;
	return span_end(t, t->spans.q) >= op_end(t->ops.q);
}

/* All later ones start behind the window as well. */
static bool is_past(const struct trace_events *t, const struct cursor *c, int column)
{
	return !c->has || (t->options.has_to && query_u64(c->q, column) >= t->options.to_ns);
}

static int next_slice(struct trace_events *t, struct buf *out, struct ts_error *err)
{
	if (!t->any)
		event_name(t, out, "process_name", PID_HOST, 0, TS_STR("host"));
	if (is_past(t, &t->spans, S_START) && is_past(t, &t->ops, O_START))
		return 0;
	if (span_is_next(t)) {
		if (write_span(t, out, err) < 0 || cursor_next(&t->spans, err) < 0)
			return -1;
	} else if (write_op(t, out, err) < 0 || cursor_next(&t->ops, err) < 0) {
		return -1;
	}
	return 1;
}

const struct part part_spans = {open_spans, next_slice};

/* ---- call edges ---- */

static int open_edges(struct trace_events *t, struct ts_error *err)
{
	return cursor_open(t, "trace_edges", &t->edges, err);
}

static void write_flow(struct trace_events *t, struct buf *out, const char *phase, uint32_t track,
		       uint64_t at)
{
	struct json_writer w;

	event_begin(t, &w, out, phase, "call");
	jw_kv_text(&w, "name", "call");
	jw_kv_u64(&w, "id", t->flows);
	if (phase[0] == 'f')
		jw_kv_text(&w, "bp", "e");
	jw_kv_u64(&w, "pid", PID_HOST);
	jw_kv_u64(&w, "tid", track);
	event_time(&w, "ts", at);
	event_end(&w);
}

/* A flow goes from the begin of the caller to that of the called one. Flows cannot go back in time:
 * a called span that began before its caller is met when that begins, if it still lasts then. */
static int next_flow(struct trace_events *t, struct buf *out, struct ts_error *err)
{
	struct query *q = t->edges.q;
	uint32_t from, to;
	uint64_t start, at, end;

	if (!t->edges.has)
		return 0;
	from = track_of(t, query_u64(q, E_FROM));
	to = track_of(t, query_u64(q, E_TO));
	start = query_u64(q, E_FROM_START);
	at = query_u64(q, E_TO_START);
	end = end_of(t, at, query_u64(q, E_TO_CLOSED) != 0, query_u64(q, E_TO_DURATION));
	if (at < start)
		at = start;
	if (from && to && at <= end) {
		t->flows++;
		write_flow(t, out, "s", from, start);
		write_flow(t, out, "f", to, at);
	} else {
		t->edges_left_out++;
	}
	return cursor_next(&t->edges, err) < 0 ? -1 : 1;
}

const struct part part_edges = {open_edges, next_flow};
