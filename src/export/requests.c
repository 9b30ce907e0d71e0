/* requests.c: trace events of a request run: a track for each session, with its requests and tools
 *
 * A track is a process of the session's name, so that viewers keep its asynchronous events
 * together. Sessions come in the order of their names, requests without a session first.
 */
#include "events.h"

#include <stdio.h>

#include "tracespool/util.h"

#define NS_A_MS 1000000

enum {
	R_NO,
	R_SESSION,
	R_START,
	R_END,
	R_ID,
	R_MODEL,
	R_WAIT,
	R_PREFILL,
	R_TTFT,
	R_INPUT,
	R_OUTPUT,
	R_FINISH
};
enum { T_NO, T_SESSION, T_START, T_END, T_ID, T_CLASS, T_STATUS, T_BYTES };

static int open_requests(struct trace_events *t, struct ts_error *err)
{
	CLEAN(query_closep) struct query *q = NULL;

	if (query_open(t->db, "trace_requests_begin", &q, err) < 0 || query_step(q, err) < 0)
		return -1;
	t->origin_ms = query_i64(q, 0);
	t->has_origin = true;
	if ((t->options.parts & TRACE_SPANS) &&
	    cursor_open(t, "trace_requests", &t->requests, err) < 0)
		return -1;
	return t->options.parts & TRACE_OPS ? cursor_open(t, "trace_tools", &t->tools, err) : 0;
}

/* No session comes before every session. */
static int compare_sessions(struct ts_str a, struct ts_str b)
{
	if (!a.p || !b.p)
		return (a.p != NULL) - (b.p != NULL);
	return ts_str_cmp(a, b);
}

static struct ts_str present_session(const struct trace_events *t)
{
	if (!t->session_has_name)
		return ts_str(NULL, 0);
	return ts_str(t->session.data ? t->session.data : "", t->session.len);
}

static int go_to_session(struct trace_events *t, struct buf *out, struct ts_str session,
			 struct ts_error *err)
{
	struct ts_str name = session.p ? session : TS_STR("requests");

	if (t->in_session && compare_sessions(present_session(t), session) == 0)
		return 0;
	t->in_session = true;
	t->session_has_name = session.p != NULL;
	buf_clear(&t->session);
	buf_add(&t->session, session.p ? session.p : "", session.n);
	if (t->session.failed)
		return ts_error_nomem(err);
	t->session_no++;
	event_name(t, out, "process_name", t->session_no, 0, name);
	event_name(t, out, "thread_name", t->session_no, t->session_no, name);
	return 0;
}

static __int128 since_origin(const struct trace_events *t, int64_t ms)
{
	return ((__int128)ms - t->origin_ms) * NS_A_MS;
}

/* The window lies behind the first arrival; times before it are cut to 0 for the comparison. */
static bool is_shown(const struct trace_events *t, __int128 start, __int128 end)
{
	const __int128 most = UINT64_MAX;
	__int128 length = end - start;

	if (length < (__int128)t->options.min_duration_ns)
		return false;
	struct trace_options window = t->options;

	window.min_duration_ns = 0;
	if (start < 0)
		start = 0;
	if (end < start)
		end = start;
	return window_shows(&window, (uint64_t)(start > most ? most : start),
			    (uint64_t)(end > most ? most : end));
}

/* An asynchronous event; with args if it is the first of its id. */
static void begin_async(struct trace_events *t, struct json_writer *w, struct buf *out,
			const char *phase, const char *category, uint64_t no, struct ts_str name,
			__int128 at)
{
	char id[24];

	snprintf(id, sizeof(id), "%c%llu", category[0], (unsigned long long)no);
	event_begin(t, w, out, phase, category);
	jw_kv_str(w, "name", name);
	jw_kv_text(w, "id", id);
	jw_kv_u64(w, "pid", t->session_no);
	jw_kv_u64(w, "tid", t->session_no);
	event_time(w, "ts", at);
}

static void mark(struct trace_events *t, struct buf *out, const char *phase, const char *category,
		 uint64_t no, struct ts_str name, __int128 at)
{
	struct json_writer w;

	begin_async(t, &w, out, phase, category, no, name, at);
	event_end(&w);
}

/* Nanoseconds of a recorded duration, at most `most`. False: not recorded, or no duration. */
static bool read_ms(struct query *q, int column, __int128 most, __int128 *ret)
{
	double ns = query_double(q, column) * NS_A_MS;

	if (query_is_null(q, column) || !(ns >= 0))
		return false;
	*ret = ns >= (double)most ? most : (__int128)(ns + 0.5);
	if (*ret > most)
		*ret = most;
	return true;
}

static void write_phase(struct trace_events *t, struct buf *out, uint64_t no, struct ts_str name,
			__int128 from, __int128 to)
{
	mark(t, out, "b", "request", no, name, from);
	mark(t, out, "e", "request", no, name, to);
}

/* wait, prefill behind it, decode from the first token on: each where it is recorded, none begins
 * before the one before it ends. Without a recorded wait the place of the prefill is not known. */
static void write_phases(struct trace_events *t, struct buf *out, __int128 start, __int128 end)
{
	struct query *q = t->requests.q;
	uint64_t no = query_u64(q, R_NO);
	__int128 whole = end - start, at = 0, length;

	if (read_ms(q, R_WAIT, whole, &at)) {
		write_phase(t, out, no, TS_STR("wait"), start, start + at);
		if (read_ms(q, R_PREFILL, whole - at, &length)) {
			write_phase(t, out, no, TS_STR("prefill"), start + at, start + at + length);
			at += length;
		}
	}
	if (read_ms(q, R_TTFT, whole, &length))
		write_phase(t, out, no, TS_STR("decode"), start + (length > at ? length : at), end);
}

static void write_request(struct trace_events *t, struct buf *out)
{
	struct query *q = t->requests.q;
	__int128 start = since_origin(t, query_i64(q, R_START));
	__int128 end = since_origin(t, query_i64(q, R_END));
	struct json_writer w;

	if (end < start)
		end = start;
	begin_async(t, &w, out, "b", "request", query_u64(q, R_NO), TS_STR("request"), start);
	jw_key(&w, "args");
	jw_open_object(&w);
	jw_kv_str(&w, "request_id", query_str(q, R_ID));
	jw_kv_str(&w, "model", query_str(q, R_MODEL));
	jw_kv_u64(&w, "input_length", query_u64(q, R_INPUT));
	jw_kv_u64(&w, "output_tokens", query_u64(q, R_OUTPUT));
	if (!query_is_null(q, R_FINISH))
		jw_kv_str(&w, "finish_reason", query_str(q, R_FINISH));
	jw_close_object(&w);
	event_end(&w);
	write_phases(t, out, start, end);
	mark(t, out, "e", "request", query_u64(q, R_NO), TS_STR("request"), end);
}

static void write_tool(struct trace_events *t, struct buf *out)
{
	struct query *q = t->tools.q;
	__int128 start = since_origin(t, query_i64(q, T_START));
	__int128 end = since_origin(t, query_i64(q, T_END));
	struct json_writer w;

	if (end < start)
		end = start;
	begin_async(t, &w, out, "b", "tool", query_u64(q, T_NO), query_str(q, T_CLASS), start);
	jw_key(&w, "args");
	jw_open_object(&w);
	jw_kv_str(&w, "tool_call_id", query_str(q, T_ID));
	jw_kv_str(&w, "status", query_str(q, T_STATUS));
	if (!query_is_null(q, T_BYTES))
		jw_kv_u64(&w, "output_bytes", query_u64(q, T_BYTES));
	jw_close_object(&w);
	event_end(&w);
	mark(t, out, "e", "tool", query_u64(q, T_NO), query_str(q, T_CLASS), end);
}

/* The requests of a session, then its tools. */
static int next_request(struct trace_events *t, struct buf *out, struct ts_error *err)
{
	struct cursor *c = &t->requests;
	int session = R_SESSION, start = R_START, end = R_END;

	if (!t->requests.has && !t->tools.has)
		return 0;
	if (!t->requests.has ||
	    (t->tools.has && compare_sessions(query_str(t->tools.q, T_SESSION),
					      query_str(t->requests.q, R_SESSION)) < 0)) {
		c = &t->tools;
		session = T_SESSION;
		start = T_START;
		end = T_END;
	}
	if (is_shown(t, since_origin(t, query_i64(c->q, start)),
		     since_origin(t, query_i64(c->q, end)))) {
		if (go_to_session(t, out, query_str(c->q, session), err) < 0)
			return -1;
		if (c == &t->tools)
			write_tool(t, out);
		else
			write_request(t, out);
	}
	return cursor_next(c, err) < 0 ? -1 : 1;
}

const struct part part_requests = {open_requests, next_request};
