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
#include "tracespool/writer.h"

/* candle-trace.md 9 and 10. Public for tests; null figures have no value. */
struct execution_figures {
	uint64_t op_count, total_ns, span_count, root_span_count, max_depth, alloc_count,
		free_count;
	struct opt_u64 logical_peak_bytes;
	struct opt_u64 step_ns[3]; /* forward, backward, optimizer */
	struct opt_u64 retained_bytes, device_peak_used_bytes;
	/* What was seen on the way, for the health report: storages live at the end; does an op or
	 * a memory record name a span that is not there, or lie outside its span? */
	uint64_t retained_count;
	bool op_span_unknown, op_outside_span, memory_span_unknown, memory_outside_span;
};

/* Bytes for the memory records of a run: they are held in memory where that is enough; otherwise
 * they are sorted in the run file, several times slower. The figures are the same. */
#define ANALYZE_KEPT_BYTES ((size_t)44 << 20)

/* In: record->id, digest and what the drop gives. Sets the members of an execution run. */
int analyze_execution(struct db *db, const struct trace_counts *counts, size_t kept_bytes,
		      struct run_record *record, struct arena *keep, struct buf *out,
		      struct ts_error *err);
int analyze_execution_figures(struct db *db, size_t kept_bytes, struct execution_figures *ret,
			      struct ts_error *err);

/* The members slowest_spans and slowest_ops of a summary with `top` rows each, from a run file;
 * total_ns is the run's. ret_cut[0] and [1]: texts or rows of them were left out, since the summary
 * stays small. */
int analyze_write_slowest(struct db *db, uint64_t total_ns, uint64_t top, struct json_writer *w,
			  bool ret_cut[2], struct ts_error *err);

/* The views of times of an execution run, from its run file: timing, spans, slowest-host,
 * slowest-device, slow-ops (with limit, at most VIEW_SLOW_OPS_MAX). A view is written in steps, a
 * few rows each; w writes to the same text from step to step. Which of them exist only with a graph
 * (14) is for the caller to ask. */
#define VIEW_SLOW_OPS_MAX 1000
struct view;
bool view_needs_graph(struct ts_str name);
int view_open(struct db *db, struct ts_str name, uint64_t limit, struct view **ret,
	      struct ts_error *err);
/* Writes on with the result. 1: there is more, 0: that was the end, -1: error. */
int view_step(struct view *v, struct json_writer *w, struct ts_error *err);
void view_close(struct view *v); /* takes NULL */

/* request-trace.md 14. In: record->id, capture, segment. Runs the lowering once for its verdict
 * (record->replay_error), and writes the table of sessions. */
int analyze_requests(struct db *db, const struct trace_counts *counts, struct run_record *record,
		     struct arena *keep, struct buf *out, struct ts_error *err);

/* Columns of /arrivals (http-api.md 4.3) of the file of a request run: bucket_width_ms,
 * first_start_ms, bucket_ms (start of each bucket, from the first arrival), arrivals, in_flight
 * (arrived and not completed when the bucket ends), completed. Without a width: 1000, or the
 * smallest that fits. bad_parameter, naming that, if there would be more buckets than permitted. */
#define ARRIVALS_BUCKETS_MAX 10000
#define ARRIVALS_BUCKET_MS 1000
int analyze_arrivals(struct db *db, struct opt_u64 bucket_ms, struct json_writer *w,
		     struct ts_error *err);
/* The interval series of request-trace.md 14, with the same bound: first_start_ms, intervals. */
#define ARRIVALS_INTERVAL_MAX_S UINT64_C(1000000000000000)
int analyze_intervals(struct db *db, uint64_t interval_s, struct json_writer *w,
		      struct ts_error *err);

#endif
