/* candle.h: what the files of the execution figures share */
#ifndef ANALYZE_CANDLE_H
#define ANALYZE_CANDLE_H

#include "tracespool/analyze.h"

/* Depths of all spans from parents[1..n] (numbers of spans; 0: a root, DEPTH_DANGLING: a parent
 * that is not there) into depths[1..n]. Linear, without recursion. n is at most DEPTH_SPANS_MAX. */
#define DEPTH_DANGLING UINT32_MAX
#define DEPTH_SPANS_MAX 0x7ffffff0u
void depths_fill(const uint32_t *parents, uint32_t *depths, uint32_t n);

/* Runs a named statement that gives no rows. */
int run_named(struct db *db, const char *name, struct ts_error *err);

/* Counts, total, depth and steps of spans; writes span_figure_rows and slowest_host_rows. In:
 * span_count. */
int span_figures(struct db *db, struct execution_figures *f, struct ts_error *err);

/* Writes op_group_rows (in: total_ns), and slow_op_rows (after span_figures).
 */
int op_groups(struct db *db, const struct execution_figures *f, struct ts_error *err);
int slow_ops(struct db *db, struct ts_error *err);

/* Writes device_span_rows, their names, and device_clock_rows. */
int device_timing(struct db *db, struct ts_error *err);

/* alloc_count, free_count, logical_peak_bytes, retained_bytes, device_peak_used_bytes; writes all
 * tables of candle-trace.md 11, span_memory_rows among them. span_count is set. */
int memory_figures(struct db *db, size_t kept_bytes, struct execution_figures *f,
		   struct ts_error *err);

/* ---- order.c ---- */

/* Sorts order[n], numbers of keys, by key; of equal ones in the order in which they stand.
 * scratch[n] is overwritten. */
void order_by_keys(const uint64_t *keys, uint32_t *order, uint32_t *scratch, size_t n);
void order_by_numbers(const uint32_t *keys, uint32_t *order, uint32_t *scratch, size_t n);

struct health_report;

/* Meta, terminal, figures and health as the summary and the members of the record. */
int execution_summary(struct db *db, const struct execution_figures *f,
		      const struct health_report *health, struct run_record *record,
		      struct arena *keep, struct buf *out, struct ts_error *err);

#endif
