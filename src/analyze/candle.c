/* candle.c: the figures of an execution run (candle-trace.md 9, 10) */
#include "candle.h"
#include "health.h"

#include "tracespool/util.h"

int run_named(struct db *db, const char *name, struct ts_error *err)
{
	struct query *q CLEAN(query_closep) = NULL;

	return query_open(db, name, &q, err) < 0 || query_step(q, err) < 0 ? -1 : 0;
}

int analyze_execution_figures(struct db *db, size_t kept_bytes, struct execution_figures *ret,
			      struct ts_error *err)
{
	struct execution_figures f = {0};
	struct query *q CLEAN(query_closep) = NULL;

	if (query_open(db, "execution_counts", &q, err) < 0 || query_step(q, err) < 0)
		return -1;
	f.span_count = query_u64(q, 0);
	f.op_count = query_u64(q, 1);
	if (device_timing(db, err) < 0 || span_figures(db, &f, err) < 0 ||
	    op_groups(db, &f, err) < 0 || slow_ops(db, err) < 0 ||
	    memory_figures(db, kept_bytes, &f, err) < 0)
		return -1;
	*ret = f;
	return 0;
}

int analyze_execution(struct db *db, const struct trace_counts *counts, size_t kept_bytes,
		      struct run_record *record, struct arena *keep, struct buf *out,
		      struct ts_error *err)
{
	struct health health CLEAN(health_done) = {0};
	struct execution_figures f;

	if (analyze_execution_figures(db, kept_bytes, &f, err) < 0 ||
	    health_run(&health, db, &f, record->salvaged, counts, kept_bytes, err) < 0)
		return -1;
	return execution_summary(db, &f, &health.report, record, keep, out, err);
}
