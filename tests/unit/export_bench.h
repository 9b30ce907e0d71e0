/* export_bench.h: execution traces loaded into run files, and a strict look at their trace events
 */
#ifndef TESTS_EXPORT_BENCH_H
#define TESTS_EXPORT_BENCH_H

#include "store_bench.h"
#include "tracespool/export.h"

struct loaded {
	struct runfile *rf;
	struct db *db;
	struct buf summary;
};

extern struct ts_error export_err;
extern const struct trace_options everything;

/* Text through format, analysis and indexes; without a terminal record as a salvage takes it. */
void load(struct loaded *l, const char *text, size_t n, const char *place);
void unload(struct loaded *l);

/* What the events of a run hold. */
struct seen {
	size_t events, spans, ops, device, flows, counters, tracks;
};

/* Appends the document. */
void events_text(struct loaded *l, enum run_kind kind, const struct trace_options *o,
		 struct buf *out);
/* Fails unless the document is strict JSON without empty events, slices of a track come in order
 * and nest, and the times of spans are those of the rows. */
struct seen check_events(struct loaded *l, const struct trace_options *o, const char *place);

#endif
