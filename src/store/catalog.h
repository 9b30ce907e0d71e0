/* catalog.h: what the files of the catalog share */
#ifndef STORE_CATALOG_H
#define STORE_CATALOG_H

#include "folder.h"

/* ---- catalog.c: the writer's transactions, under the writer's lock ---- */

/* What changes in memory when the transaction is through. */
struct catalog_change {
	int64_t quarantined;
	uint64_t bytes_added, bytes_removed;
	bool listed;
	int64_t ingested_ms;
	char old_digest[DIGEST_TEXT + 1]; /* of the run that was replaced; empty: none */
	unsigned old_revision;
};

int catalog_begin(struct store *st, struct ts_error *err);
/* Ends the transaction as `result` says and settles the counters by the n changes. The first error
 * stays. */
int catalog_end(struct store *st, int result, const struct catalog_change *c, size_t n,
		struct ts_error *err);

/* A run by exactly this id. 1 found, 0 none. Tombstones do not count. */
int catalog_find_run(struct db *db, struct ts_str id, struct run_record *ret, struct ts_error *err);

/* captures.c: the place of a segment among the recordings of its prefix. */
struct segment_place {
	uint64_t no;         /* its row, left by a removed run of the same bytes; 0: a new one */
	uint64_t generation; /* of a new row */
	struct buf name;     /* of the recording */
};
/* Finds the place for a run with capture (the prefix) and segment; within a transaction. */
int capture_assign(struct db *db, const struct run_record *run, struct segment_place *ret,
		   struct ts_error *err);
int capture_insert(struct db *db, const struct run_record *run, const struct segment_place *place,
		   uint64_t run_no, struct ts_error *err);
/* The summary with another value of `capture`. */
int capture_rename_summary(struct ts_str summary, struct ts_str from, struct ts_str to,
			   struct buf *out, struct ts_error *err);

/* The smallest text behind all that begin with prefix, into out (prefix.n bytes). No value if there
 * is none. */
struct ts_str store_prefix_end(struct ts_str prefix, char *out);

#endif
