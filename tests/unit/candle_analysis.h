/* candle_analysis.h: rows of an execution run and what the analysis makes of them, for tests */
#ifndef TESTS_CANDLE_ANALYSIS_H
#define TESTS_CANDLE_ANALYSIS_H

#include "store_bench.h"
#include "tracespool/analyze.h"

struct analysis {
	struct runfile *rf;
	struct arena keep;
	struct buf out;
	struct run_record r;
	struct trace_counts counts;
	size_t kept_bytes; /* of the analysis; ANALYZE_KEPT_BYTES */
};

void analysis_begin(struct analysis *a);
/* As for a drop of many rows: indexes are made at the end, and kept_bytes is 0. */
void analysis_begin_large(struct analysis *a);
void analysis_put(struct analysis *a, enum row_kind kind, const void *row);
void analysis_run(struct analysis *a);
void analysis_end(struct analysis *a);

#endif
