/* request.h: figures of a request run (request-trace.md 14) between the files that compute and
 * write them
 */
#ifndef ANALYZE_REQUEST_H
#define ANALYZE_REQUEST_H

#include "tracespool/analyze.h"
#include "tracespool/replay.h"

enum { P50, P90, P95, P99, PERCENTILES };

struct distribution {
	bool any; /* false: nothing to distribute, written as null */
	uint64_t min, max, at[PERCENTILES];
	double mean;
};

struct double_distribution {
	bool any;
	double min, max, at[PERCENTILES];
};

struct request_figures {
	uint64_t requests, with_context, unreplayable, sessions, root_sessions;
	struct opt_u64 block_size; /* no value: sizes differ */
	uint64_t input_total, output_total;
	struct distribution input, output, latency;
	struct double_distribution ttft;
	uint64_t first_start, last_start, last_end;
	struct opt_double arrival_rate, concurrency_mean, tool_time;
	uint64_t concurrency_peak;
	uint64_t blocks_total, blocks_unique, hit_blocks, hit_tokens;
};

/* request_figures.c: what one pass over the requests in any order gives. */
int figures_of_requests(struct db *db, uint64_t requests, struct request_figures *f,
			struct ts_error *err);
/* request_reuse.c: what needs an order: prefix reuse of a run that does not lower; the tool time.
 */
int reuse_find(struct db *db, struct request_figures *f, struct ts_error *err);
int figures_of_tools(struct db *db, struct request_figures *f, struct ts_error *err);
/* Adds a request of which the first `known` of its blocks were in earlier ones, too. */
void reuse_add(struct request_figures *f, uint64_t blocks, uint64_t known, uint64_t block_size,
	       uint64_t input_length);

/* request_sessions.c: counts the sessions and writes a row of each; with `replay` also stores the
 * rows of the replay and adds up prefix reuse. It is NULL when no rows exist. */
int sessions_write(struct db *db, struct replay *replay, struct request_figures *f,
		   struct ts_error *err);

static inline struct opt_double ratio_of(uint64_t a, uint64_t b)
{
	if (!b)
		return (struct opt_double){0};
	return (struct opt_double){.v = (double)a / (double)b, .has = true};
}

/* request_maps.c: texts and how often they occur; at most MAP_KEYS_MAX keys of TEXT_BYTES_MAX
 * bytes, keys in bytewise order. */
#define MAP_KEYS_MAX 200
#define TEXT_BYTES_MAX 1024
struct count_map {
	struct count_entry {
		struct ts_str key;
		uint64_t count;
	} v[MAP_KEYS_MAX + 1];
	size_t n;
	bool cut; /* keys are missing, or a key is not whole */
};
/* The named statement gives (text, count), largest counts first, with a limit to bind. Keys are
 * kept in the arena. */
int count_map_read(struct db *db, const char *statement, struct count_map *map, struct arena *keep,
		   struct ts_error *err);

/* request_summary.c */
struct request_maps {
	struct count_map tool_status, models, finish_reasons;
};
void summary_write(const struct request_figures *f, const struct request_maps *maps,
		   const struct trace_counts *counts, const struct run_record *record,
		   struct buf *out);
void count_map_write(const struct count_map *map, struct buf *out);

#endif
