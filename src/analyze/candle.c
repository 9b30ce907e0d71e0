/* candle.c: the figures of an execution run (candle-trace.md 9) */
#include "candle.h"
#include "salvage.h"

#include <stdlib.h>

#include "tracespool/util.h"

static int write_depths(struct db *db, const uint32_t *depths, uint32_t n,
			struct execution_figures *f, struct ts_error *err)
{
	struct query *insert CLEAN(query_closep) = NULL;

	if (query_open(db, "execution_depth_insert", &insert, err) < 0)
		return -1;
	for (uint32_t i = 1; i <= n; i++) {
		if (depths[i] > f->max_depth)
			f->max_depth = depths[i];
		query_bind_u64(insert, 1, i);
		query_bind_u64(insert, 2, depths[i]);
		if (query_step(insert, err) < 0)
			return -1;
		query_reset(insert);
	}
	return 0;
}

/* Goes over the spans once: total, roots, and who is whose parent. */
static int read_spans(struct db *db, uint32_t *parents, uint32_t count, struct execution_figures *f,
		      struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;
	uint32_t at = 0;
	int n;

	if (query_open(db, "execution_spans", &q, err) < 0)
		return -1;
	while ((n = query_step(q, err)) == 1) {
		bool root = query_u64(q, 1) != 0;
		uint64_t parent = query_u64(q, 3);

		if (++at > count || query_u64(q, 0) != at || parent > count)
			return ts_error_set(err, TS_E_INTERNAL, "spans are not numbered in order");
		f->root_span_count += root;
		if (query_u64(q, 2))
			f->total_ns = u64_add_sat(f->total_ns, query_u64(q, 4));
		parents[at] = root ? 0 : parent ? (uint32_t)parent : DEPTH_DANGLING;
	}
	if (n == 0 && at != count)
		return ts_error_set(err, TS_E_INTERNAL, "spans without times");
	return n;
}

static int span_figures(struct db *db, struct execution_figures *f, struct ts_error *err)
{
	uint32_t *parents CLEAN(free_ptr) = NULL, *depths CLEAN(free_ptr) = NULL;

	if (f->span_count > DEPTH_SPANS_MAX)
		return ts_error_set(err, TS_E_INTERNAL, "more than %u spans", DEPTH_SPANS_MAX);
	uint32_t n = (uint32_t)f->span_count;

	parents = malloc(((size_t)n + 1) * sizeof(*parents));
	depths = malloc(((size_t)n + 1) * sizeof(*depths));
	if (!parents || !depths)
		return ts_error_nomem(err);
	if (read_spans(db, parents, n, f, err) < 0)
		return -1;
	depths_fill(parents, depths, n);
	return write_depths(db, depths, n, f, err);
}

int analyze_execution_figures(struct db *db, struct execution_figures *ret, struct ts_error *err)
{
	struct execution_figures f = {0};
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(db, "execution_counts", &q, err) < 0 || query_step(q, err) < 0)
		return -1;
	f.span_count = query_u64(q, 0);
	f.op_count = query_u64(q, 1);
	if (span_figures(db, &f, err) < 0 || memory_figures(db, &f, err) < 0)
		return -1;
	*ret = f;
	return 0;
}

/* The issues of a run that was salvaged; one that is whole has none here. */
static int salvage_issues(struct run_record *record, struct arena *keep, struct ts_error *err)
{
	struct buf json CLEAN(buf_done) = BUF_INIT;
	struct json_writer w;
	const char *text;

	if (!record->salvaged.p)
		return 0;
	jw_init(&w, &json, JSON_NUMBERS_DEFAULT);
	jw_open_array(&w);
	salvage_issue_write(&w, record);
	jw_close_array(&w);
	text = json.failed ? NULL : arena_dup(keep, json.data, json.len);
	if (!text)
		return ts_error_nomem(err);
	record->issues = ts_str(text, json.len);
	return 0;
}

int analyze_execution(struct db *db, const struct trace_counts *counts, struct run_record *record,
		      struct arena *keep, struct buf *out, struct ts_error *err)
{
	struct execution_figures f;

	(void)counts; /* for the coverage of the health report */
	if (analyze_execution_figures(db, &f, err) < 0)
		return -1;
	if (salvage_issues(record, keep, err) < 0)
		return -1;
	return execution_summary(db, &f, record, keep, out, err);
}
