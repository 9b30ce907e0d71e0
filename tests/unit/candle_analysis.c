/* candle_analysis.c: rows of an execution run and what the analysis makes of them, for tests */
#include "candle_analysis.h"

void analysis_begin(struct analysis *a)
{
	*a = (struct analysis){.out = BUF_INIT, .kept_bytes = ANALYZE_KEPT_BYTES};
	a->rf = bench_runfile(NULL, RUN_EXECUTION);
}

void analysis_begin_large(struct analysis *a)
{
	*a = (struct analysis){.out = BUF_INIT};
	a->rf = bench_runfile_of(NULL, RUN_EXECUTION, UINT64_MAX);
}

void analysis_put(struct analysis *a, enum row_kind kind, const void *row)
{
	struct ts_error err = TS_ERROR_INIT;
	struct sink *sink = runfile_sink(a->rf);

	assert_fine(sink->row(sink, kind, row, &err), &err);
}

void analysis_run(struct analysis *a)
{
	struct ts_error err = TS_ERROR_INIT;

	assert_fine(runfile_flush(a->rf, &err), &err);
	a->counts.seen = runfile_seen(a->rf);
	assert_fine(analyze_execution(runfile_db(a->rf), &a->counts, a->kept_bytes, &a->r, &a->keep,
				      &a->out, &err),
		    &err);
}

void analysis_end(struct analysis *a)
{
	runfile_free(a->rf);
	arena_done(&a->keep);
	buf_done(&a->out);
}
