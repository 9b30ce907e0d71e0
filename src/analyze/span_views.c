/* span_views.c: the views of host and device times (candle-trace.md 14.1 to 14.4, 14.6), written in
 * small steps
 */
#include "candle.h"

#include <stdlib.h>
#include <string.h>

#include "tracespool/util.h"

enum { ROWS_A_STEP = 64 };

/* One array of a view. */
struct part {
	const char *key, *query; /* key NULL: the array is the result itself */
	void (*row)(struct view *v, struct json_writer *w, struct query *q);
	void (*end)(struct view *v, struct json_writer *w); /* behind the last row; or NULL */
};

struct view_kind {
	const char *name;
	bool graph, limited;
	int (*head)(struct view *v, struct json_writer *w, struct ts_error *err); /* or NULL */
	struct part parts[3];
};

struct view {
	struct db *db;
	const struct view_kind *kind;
	uint64_t limit;
	const struct part *part;
	struct query *q; /* of the part; NULL: not begun */
	bool begun;
	/* timing: the device span whose names are being written */
	uint64_t no, count, busy;
	bool streams; /* the backends are written */
};

static void put_opt(struct json_writer *w, const char *key, struct query *q, int i)
{
	if (!query_is_null(q, i))
		jw_kv_u64(w, key, query_u64(q, i));
}

/* ---- timing ---- */

static int timing_head(struct view *v, struct json_writer *w, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (query_open(v->db, "view_device_timing", &q, err) < 0)
		return -1;
	n = query_step(q, err);
	if (n < 0)
		return -1;
	struct ts_str declared = n ? query_str(q, 0) : ts_str(NULL, 0);
	bool raised = n && query_u64(q, 1) && ts_str_is(declared, "none");

	jw_kv_str(w, "device_coverage", raised ? TS_STR("partial") : declared);
	return 0;
}

static void device_span_close(struct view *v, struct json_writer *w)
{
	if (!v->no)
		return;
	jw_close_array(w);
	if (!v->streams) {
		jw_key(w, "streams");
		jw_open_array(w);
		jw_close_array(w);
	}
	jw_kv_u64(w, "interval_count", v->count);
	jw_kv_u64(w, "busy_ns", v->busy);
	jw_close_object(w);
	v->no = 0;
}

/* A row a name: the backends of a device span, then its streams. */
static void device_span_row(struct view *v, struct json_writer *w, struct query *q)
{
	bool stream = query_u64(q, 6) != 0;

	if (query_u64(q, 0) != v->no) {
		device_span_close(v, w);
		v->no = query_u64(q, 0);
		v->count = query_u64(q, 4);
		v->busy = query_u64(q, 5);
		v->streams = false;
		jw_open_object(w);
		jw_kv_str(w, "span_id", query_str(q, 1));
		jw_kv_str(w, "device", query_str(q, 2));
		jw_kv_str(w, "clock_id", query_str(q, 3));
		jw_key(w, "backends");
		jw_open_array(w);
	}
	if (stream && !v->streams) {
		jw_close_array(w);
		jw_key(w, "streams");
		jw_open_array(w);
		v->streams = true;
	}
	jw_str(w, query_str(q, 7));
}

static void device_clock_row(struct view *v, struct json_writer *w, struct query *q)
{
	(void)v;
	jw_open_object(w);
	jw_kv_str(w, "device", query_str(q, 0));
	jw_kv_str(w, "clock_id", query_str(q, 1));
	jw_kv_u64(w, "interval_count", query_u64(q, 2));
	jw_kv_u64(w, "busy_ns", query_u64(q, 3));
	jw_close_object(w);
}

/* ---- spans ---- */

static void span_row(struct view *v, struct json_writer *w, struct query *q)
{
	(void)v;
	jw_open_object(w);
	jw_kv_str(w, "id", query_str(q, 0));
	jw_kv_str(w, "parent_id", query_str(q, 1));
	jw_kv_str(w, "name", query_str(q, 2));
	jw_kv_str(w, "kind", query_str(q, 3));
	jw_kv_bool(w, "measured", query_u64(q, 4) != 0);
	jw_kv_u64(w, "start_ns", query_u64(q, 5));
	jw_kv_bool(w, "closed", query_u64(q, 6) != 0);
	jw_kv_u64(w, "duration_ns", query_u64(q, 7));
	jw_kv_str(w, "step", query_str(q, 8));
	jw_kv_u64(w, "host_total_time_ns", query_u64(q, 9));
	jw_kv_u64(w, "host_self_time_ns", query_u64(q, 10));
	put_opt(w, "allocated_bytes", q, 11);
	put_opt(w, "peak_live_bytes", q, 12);
	put_opt(w, "residual_bytes", q, 13);
	jw_close_object(w);
}

/* ---- slowest ---- */

static int entrypoint_head(struct view *v, struct json_writer *w, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	int n;

	if (query_open(v->db, "view_measured", &q, err) < 0)
		return -1;
	n = query_step(q, err);
	if (n < 0)
		return -1;
	jw_kv_str(w, "entrypoint", n ? query_str(q, 0) : ts_str(NULL, 0));
	if (strcmp(v->kind->name, "slowest-host") == 0)
		jw_kv_u64(w, "outer_wall_time_ns", n ? query_u64(q, 1) : 0);
	return 0;
}

static void slow_host_row(struct view *v, struct json_writer *w, struct query *q)
{
	(void)v;
	jw_open_object(w);
	jw_kv_str(w, "id", query_str(q, 0));
	jw_kv_str(w, "name", query_str(q, 1));
	jw_kv_str(w, "scope", query_str(q, 2));
	jw_kv_u64(w, "host_self_time_ns", query_u64(q, 3));
	jw_kv_u64(w, "measured_overlap_self_time_ns", query_u64(q, 4));
	jw_kv_u64(w, "full_duration_ns", query_u64(q, 5));
	jw_kv_u64(w, "measured_overlap_duration_ns", query_u64(q, 6));
	jw_close_object(w);
}

static void slow_device_row(struct view *v, struct json_writer *w, struct query *q)
{
	(void)v;
	jw_open_object(w);
	jw_kv_str(w, "id", query_str(q, 0));
	jw_kv_str(w, "name", query_str(q, 1));
	jw_kv_str(w, "device", query_str(q, 2));
	jw_kv_str(w, "clock_id", query_str(q, 3));
	jw_kv_u64(w, "device_busy_ns", query_u64(q, 4));
	jw_close_object(w);
}

static void slow_op_row(struct view *v, struct json_writer *w, struct query *q)
{
	(void)v;
	jw_open_object(w);
	jw_kv_str(w, "span_id", query_str(q, 0));
	jw_kv_u64(w, "op_index", query_u64(q, 1));
	jw_kv_str(w, "op_name", query_str(q, 2));
	jw_kv_u64(w, "duration_ns", query_u64(q, 3));
	jw_close_object(w);
}

static const struct view_kind kinds[] = {
	{"timing",
	 false,
	 false,
	 timing_head,
	 {{"device_spans", "view_device_spans", device_span_row, device_span_close},
	  {"device_clocks", "view_device_clocks", device_clock_row, NULL}}},
	{"spans", true, false, NULL, {{NULL, "view_spans", span_row, NULL}}},
	{"slowest-host",
	 true,
	 false,
	 entrypoint_head,
	 {{"slowest_host_spans", "view_slowest_host", slow_host_row, NULL}}},
	{"slowest-device",
	 true,
	 false,
	 entrypoint_head,
	 {{"slowest_device_spans", "view_slowest_device", slow_device_row, NULL}}},
	{"slow-ops", false, true, NULL, {{NULL, "view_slow_ops", slow_op_row, NULL}}},
};

static const struct view_kind *find_kind(struct ts_str name)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (ts_str_is(name, kinds[i].name))
			return &kinds[i];
	return NULL;
}

bool view_needs_graph(struct ts_str name)
{
	const struct view_kind *kind = find_kind(name);

	return kind && kind->graph;
}

int view_open(struct db *db, struct ts_str name, uint64_t limit, struct view **ret,
	      struct ts_error *err)
{
	const struct view_kind *kind = find_kind(name);
	struct view *v = calloc(1, sizeof(*v));

	CHECK(kind);
	if (!v)
		return ts_error_nomem(err);
	v->db = db;
	v->kind = kind;
	v->limit = limit;
	v->part = kind->parts;
	*ret = v;
	return 0;
}

void view_close(struct view *v)
{
	if (!v)
		return;
	query_close(v->q);
	free(v);
}

static int begin_part(struct view *v, struct json_writer *w, struct ts_error *err)
{
	if (v->part->key)
		jw_key(w, v->part->key);
	jw_open_array(w);
	if (query_open(v->db, v->part->query, &v->q, err) < 0)
		return -1;
	if (v->kind->limited)
		query_bind_u64(v->q, 1, v->limit);
	return 0;
}

static void end_part(struct view *v, struct json_writer *w)
{
	query_close(TAKE(v->q));
	if (v->part->end)
		v->part->end(v, w);
	jw_close_array(w);
	v->part++;
}

int view_step(struct view *v, struct json_writer *w, struct ts_error *err)
{
	bool object = v->kind->parts[0].key != NULL;
	int n = 1;

	if (!v->begun) {
		v->begun = true;
		if (object)
			jw_open_object(w);
		if (v->kind->head && v->kind->head(v, w, err) < 0)
			return -1;
	}
	if (!v->q && begin_part(v, w, err) < 0)
		return -1;
	for (unsigned i = 0; i < ROWS_A_STEP && (n = query_step(v->q, err)) == 1; i++)
		v->part->row(v, w, v->q);
	if (n < 0)
		return -1;
	if (n == 0)
		end_part(v, w);
	if (v->part->query)
		return 1;
	if (object)
		jw_close_object(w);
	return 0;
}
