/* capture.h: recordings in the catalog, and all segments of one as one file of several shards
 *
 * A run whose drop was one segment (PREFIX.NNNNNN.jsonl.gz) belongs to a recording. Which one is
 * decided once, within the transaction of its catalog commit (http-api.md 4.4): the newest one of
 * the prefix that never had the number, else a new one. The first is named PREFIX, further ones
 * PREFIX~2, PREFIX~3; a name that another prefix has already is passed over. A segment whose run
 * was removed keeps its number for the same bytes.
 */
#ifndef TRACESPOOL_CAPTURE_H
#define TRACESPOOL_CAPTURE_H

#include <stdatomic.h>

#include "tracespool/list.h"
#include "tracespool/store.h"

/* A segment that is there. */
struct capture_segment {
	uint64_t number, run_no;
	struct ts_str id; /* of its run */
	char digest[DIGEST_TEXT + 1];
	unsigned revision;
	uint64_t run_bytes, requests, tools;
	struct ts_str mode;
	struct opt_u64 trace_block_size; /* no value: it mixes sizes itself */
	int64_t ingested_ms;
};

struct capture {
	struct ts_str name;
	struct capture_segment *segments; /* by number; the index is the number of the shard */
	size_t count;
	char digest[DIGEST_TEXT + 1]; /* over name and segments: differs with each of them */
	uint64_t newest_no;           /* with name and count it says the same, to this catalog */
	struct arena *owned;
};

/* 1 found, 0 no recording of this name has segments. */
int catalog_capture(struct db *db, struct ts_str name, struct capture *ret, struct ts_error *err);
void capture_done(struct capture *c);

/* The list of recordings (catalog): the members of http-api.md 4.4 that need neither clock nor
 * rows, then hidden ones by the names below. */
extern const struct list list_captures;
#define CAPTURE_NUMBERS "numbers" /* of the segments, with commas between */
#define CAPTURE_NEWEST_MS "newest_ms"
#define CAPTURE_NEWEST_NO "newest_no"
#define CAPTURE_BREACH "breach" /* mixed_agent_context or mixed_block_size across segments */

/* ---- a merged file ----
 *
 * The rows of all segments copied into a file of the store's tmp/, numbered anew in load order, so
 * that everything that reads a run file reads it too. Costs memory for caches only. */
struct merge;

/* Set *stop (may be NULL) from elsewhere: work on the connection ends with shutting_down. */
int merge_open(struct store *st, uint64_t size_hint, const atomic_bool *stop, struct merge **ret,
	       struct ts_error *err);
/* Copies the rows of a run as the next shard. store_busy if its file went away. */
int merge_add(struct merge *m, const char *digest, unsigned revision, struct ts_error *err);
/* Where two requests have one id: the earliest in load order that repeats another. */
struct merge_clash {
	char request_id[256]; /* its beginning, for people */
	uint64_t shard[2], line[2];
};
/* 1: *ret is the first clash; 0: none; -1: err. */
int merge_check(struct merge *m, struct merge_clash *ret, struct ts_error *err);
struct db *merge_db(struct merge *m); /* for analysis, until merge_finish */
/* All that is written through merge_db from here to merge_finish is one transaction. */
int merge_begin(struct merge *m, struct ts_error *err);
/* Makes indexes and views; from then on it is only read. */
int merge_finish(struct merge *m, struct ts_error *err);
uint64_t merge_bytes(const struct merge *m);
/* A connection as of store_run_db, not kept: db_release closes it. It can outlive the merge. */
int merge_read(struct merge *m, int64_t deadline_ms, struct db **ret, struct ts_error *err);
/* Unlinks the file. Takes NULL. */
void merge_free(struct merge *m);
void merge_freep(struct merge **m);

#endif
