/* analyze.h: figures of a run, computed over the rows just written
 *
 * Each function reads the tables of the run file under construction through its connection (named
 * statements, sql/queries/analyze.sql), may write tables of its own there, completes the run
 * record and appends the summary (http-api.md 3.3, compact JSON and a newline) to out. Texts put
 * into the record live in `keep`. Memory stays within 100 bytes a span or request and 32 bytes a
 * distinct hash; time is n log n.
 */
#ifndef TRACESPOOL_ANALYZE_H
#define TRACESPOOL_ANALYZE_H

#include "tracespool/buf.h"
#include "tracespool/rows.h"
#include "tracespool/store.h"

/* candle-trace.md 9 and 10. Public for tests; null figures have no value. */
struct execution_figures {
	uint64_t op_count, total_ns, span_count, root_span_count, max_depth, alloc_count,
		free_count;
	struct opt_u64 logical_peak_bytes;
	struct opt_u64 retained_bytes, device_peak_used_bytes;
};

/* In: record->id, digest and what the drop gives. Sets the members of an execution run. */
int analyze_execution(struct db *db, const struct trace_counts *counts, struct run_record *record,
		      struct arena *keep, struct buf *out, struct ts_error *err);
int analyze_execution_figures(struct db *db, struct execution_figures *ret, struct ts_error *err);

/* request-trace.md 14. In: record->id, capture, segment. Runs the lowering once for its verdict
 * (record->replay_error). */
int analyze_requests(struct db *db, const struct trace_counts *counts, struct run_record *record,
		     struct arena *keep, struct buf *out, struct ts_error *err);

#endif
