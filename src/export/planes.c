/* planes.c: trace events of memory (counters) and of device clocks (tracks of their own) */
#include "events.h"

#include "tracespool/util.h"

/* ---- live bytes: the points of the logical timeline at which storages come or go ---- */

static int open_live(struct trace_events *t, struct ts_error *err)
{
	if (cursor_open(t, "trace_live_starts", &t->starts, err) < 0)
		return -1;
	return cursor_open(t, "trace_live_ends", &t->ends, err);
}

static void begin_counter(struct trace_events *t, struct json_writer *w, struct buf *out,
			  struct ts_str name, uint64_t at)
{
	event_begin(t, w, out, "C", "memory");
	jw_kv_str(w, "name", name);
	jw_kv_u64(w, "pid", PID_MEMORY);
	jw_kv_u64(w, "tid", 0);
	event_time(w, "ts", at);
	jw_key(w, "args");
	jw_open_object(w);
}

static void end_counter(struct json_writer *w)
{
	jw_close_object(w);
	event_end(w);
}

/* Adds or takes all that happens at this time. */
static int take_time(struct trace_events *t, struct cursor *c, uint64_t now, bool add,
		     struct ts_error *err)
{
	while (c->has && query_u64(c->q, 0) == now) {
		if (add)
			t->live += query_u64(c->q, 1);
		else
			t->live -= query_u64(c->q, 1);
		if (cursor_next(c, err) < 0)
			return -1;
	}
	return 0;
}

static int next_live(struct trace_events *t, struct buf *out, struct ts_error *err)
{
	struct json_writer w;
	uint64_t now;

	if (!t->starts.has && !t->ends.has)
		return 0;
	now = query_u64(t->starts.has ? t->starts.q : t->ends.q, 0);
	if (t->ends.has && query_u64(t->ends.q, 0) < now)
		now = query_u64(t->ends.q, 0);
	/* What began before is there before it ends, so the sum does not go below zero. */
	if (take_time(t, &t->starts, now, true, err) < 0 ||
	    take_time(t, &t->ends, now, false, err) < 0)
		return -1;
	if (!window_shows_point(&t->options, now))
		return 1;
	begin_counter(t, &w, out, TS_STR("live bytes"), now);
	jw_kv_u64(&w, "bytes", t->live > UINT64_MAX ? UINT64_MAX : (uint64_t)t->live);
	end_counter(&w);
	return 1;
}

const struct part part_live = {open_live, next_live};

/* ---- samples of devices ---- */

static int open_samples(struct trace_events *t, struct ts_error *err)
{
	return cursor_open(t, "trace_samples", &t->samples, err);
}

static int next_sample(struct trace_events *t, struct buf *out, struct ts_error *err)
{
	static const char *const members[] = {"used_bytes", "free_bytes", "reserved_bytes",
					      "capacity_bytes"};
	CLEAN(buf_done) struct buf name = BUF_INIT;
	struct query *q = t->samples.q;
	struct json_writer w;
	struct ts_str device;
	bool any = false;

	if (!t->samples.has)
		return 0;
	for (int i = 0; i < 4; i++)
		any = any || !query_is_null(q, 2 + i);
	/* A sample that observed nothing is no event. */
	if (any && window_shows_point(&t->options, query_u64(q, 0))) {
		device = query_str(q, 1);
		buf_puts(&name, "device memory ");
		buf_add(&name, device.p, device.n);
		if (name.failed)
			return ts_error_nomem(err);
		begin_counter(t, &w, out, ts_str(name.data, name.len), query_u64(q, 0));
		for (int i = 0; i < 4; i++)
			if (!query_is_null(q, 2 + i))
				jw_kv_u64(&w, members[i], query_u64(q, 2 + i));
		end_counter(&w);
	}
	return cursor_next(&t->samples, err) < 0 ? -1 : 1;
}

const struct part part_samples = {open_samples, next_sample};

/* ---- device intervals ---- */

enum { D_DEVICE, D_STREAM, D_CLOCK, D_START, D_DURATION, D_SPAN, D_BACKEND, D_NAME };

static int open_device(struct trace_events *t, struct ts_error *err)
{
	return cursor_open(t, "trace_device", &t->device, err);
}

static void group_key(struct query *q, struct buf *key)
{
	buf_clear(key);
	for (int i = D_DEVICE; i <= D_CLOCK; i++) {
		struct ts_str s = query_str(q, i);

		buf_add(key, &s.n, sizeof(s.n));
		buf_add(key, s.p, s.n);
	}
}

/* Another device, stream or clock: further tracks. */
static int go_to_group(struct trace_events *t, struct buf *out, struct ts_error *err)
{
	CLEAN(buf_done) struct buf key = BUF_INIT;

	group_key(t->device.q, &key);
	if (key.failed)
		return ts_error_nomem(err);
	if (t->grouped && ts_str_eq(ts_str(key.data, key.len), ts_str(t->group.data, t->group.len)))
		return 0;
	if (!t->grouped) {
		event_name(t, out, "process_name", PID_DEVICE, 0,
			   TS_STR("device clocks (not aligned with the host)"));
		t->first_tid = 0;
	} else {
		t->first_tid += t->nest.track_count;
	}
	nest_reset(&t->nest);
	t->named = 0;
	t->grouped = true;
	buf_clear(&t->group);
	buf_add(&t->group, key.data, key.len);
	return t->group.failed ? ts_error_nomem(err) : 0;
}

static int name_track(struct trace_events *t, struct buf *out, uint32_t track, struct ts_error *err)
{
	static const char *const words[] = {"", ", stream ", ", clock "};
	CLEAN(buf_done) struct buf name = BUF_INIT;

	if (track <= t->named)
		return 0;
	t->named = track;
	for (int i = D_DEVICE; i <= D_CLOCK; i++) {
		struct ts_str s = query_str(t->device.q, i);

		buf_puts(&name, words[i]);
		buf_add(&name, s.p, s.n);
	}
	if (track > 1)
		buf_printf(&name, ", %u", track);
	if (name.failed)
		return ts_error_nomem(err);
	event_name(t, out, "thread_name", PID_DEVICE, t->first_tid + track,
		   ts_str(name.data, name.len));
	return 0;
}

static void write_interval(struct trace_events *t, struct buf *out, uint32_t track, uint64_t start,
			   uint64_t end)
{
	struct query *q = t->device.q;
	struct json_writer w;

	event_begin(t, &w, out, "X", "device");
	jw_kv_str(&w, "name", query_str(q, query_is_null(q, D_NAME) ? D_SPAN : D_NAME));
	jw_kv_u64(&w, "pid", PID_DEVICE);
	jw_kv_u64(&w, "tid", t->first_tid + track);
	event_time(&w, "ts", start);
	event_time(&w, "dur", end - start);
	jw_key(&w, "args");
	jw_open_object(&w);
	jw_kv_str(&w, "span_id", query_str(q, D_SPAN));
	jw_kv_str(&w, "backend", query_str(q, D_BACKEND));
	jw_kv_str(&w, "clock_id", query_str(q, D_CLOCK));
	jw_close_object(&w);
	event_end(&w);
}

static int next_device(struct trace_events *t, struct buf *out, struct ts_error *err)
{
	struct query *q = t->device.q;
	uint64_t start, end;
	uint32_t track;

	if (!t->device.has)
		return 0;
	start = query_u64(q, D_START);
	end = u64_add_sat(start, query_u64(q, D_DURATION));
	if (end - start >= t->options.min_duration_ns) {
		if (go_to_group(t, out, err) < 0)
			return -1;
		if (nest_place(&t->nest, start, end, 0, &track) < 0)
			return ts_error_nomem(err);
		if (name_track(t, out, track, err) < 0)
			return -1;
		write_interval(t, out, track, start, end);
	}
	return cursor_next(&t->device, err) < 0 ? -1 : 1;
}

const struct part part_device = {open_device, next_device};
