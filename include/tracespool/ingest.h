/* ingest.h: worker threads that take one drop at a time from claim to receipt; what is going on
 * now; the same verdict for a file that is not dropped
 */
#ifndef TRACESPOOL_INGEST_H
#define TRACESPOOL_INGEST_H

#include <stdbool.h>

#include "tracespool/buf.h"
#include "tracespool/conf.h"
#include "tracespool/error.h"
#include "tracespool/spool.h"
#include "tracespool/store.h"

struct ingest;

struct ingest_options {
	const struct conf *conf;
	struct spool *spool;
	struct store *store;
	/* A receipt became final or failed, or a state changed; called from workers. May be NULL.
	 */
	void (*changed)(void *arg);
	/* The store is damaged or newer: the daemon should end. Called from workers. May be NULL.
	 */
	void (*fatal)(void *arg, const struct ts_error *err);
	void *arg;
};

/* Removes orphans of the store, queues what .active/ holds in front of all else, starts the
 * workers: they finish a drop whose receipt is in the catalog already, and ingest the others. */
int ingest_start(const struct ingest_options *options, struct ingest **ret, struct ts_error *err);
/* Workers stop at the next record; their drops stay in .active/. It can still be asked (snapshot,
 * receipts) until ingest_stop. Takes NULL. */
void ingest_quiesce(struct ingest *in);
void ingest_stop(struct ingest *in); /* quiesces and frees; takes NULL */

/* A finished drop for the queue (the watcher's offer). False: the queue is full. A name that is
 * queued or being ingested is taken as offered. */
bool ingest_offer(struct ingest *in, const char *name, int64_t seen_ms);
/* To be told which watcher to hand failed drops back to; once, after both are started. */
void ingest_set_watcher(struct ingest *in, struct watcher *w);

/* For the watcher's known(): a drop in place that was taken before (spool.after = keep). */
bool ingest_is_known(struct ingest *in, const char *name, const struct stat *st);
/* For the watcher's content: does the content of a file made in place prove its end? */
const struct spool_content *ingest_content(void);

struct ingest_state { /* a snapshot */
	uint64_t queued, ingesting;
	const char *paused;   /* "disk_floor", "store_busy", "disk_full", ... or NULL */
	int64_t heartbeat_ms; /* oldest stamp of a busy worker, monotonic; 0: none busy */
	bool in_store;
};
void ingest_snapshot(struct ingest *in, struct ingest_state *ret);

/* What is known from memory of a name that has no final receipt: appends a receipt object in state
 * waiting, ingesting or failed (http-api.md 6.1) to out. False: nothing. */
bool ingest_live_receipt(struct ingest *in, struct ts_str name, struct buf *out);

/* Verdict on a file or folder that stays where it is; stores nothing. progress (may be NULL) is
 * called now and then with bytes read and the size. Appends the JSON of http-api.md 6.5 to out
 * (`would_be` is "ingested" or "quarantined": no store is asked). 1 accepted, 0 refused, -1 could
 * not be judged (err). */
struct check_options {
	const struct conf *conf;
	bool salvage; /* what would be taken of a file that is damaged at its end? */
	void (*progress)(void *arg, uint64_t done, uint64_t size);
	void *arg;
};
int ingest_check(const char *path, const struct check_options *options, struct buf *out,
		 struct ts_error *ret_reason, struct ts_error *err);

/* Reads a request trace as ingest would, several files as the shards of one run in this order, a
 * folder as its shards, into a run file that vanishes with runfile_free. With rows flushed; no
 * figures, no indexes. Errors: as for a drop; wrong_kind for an execution trace. */
int ingest_load_requests(const char *const *paths, size_t n, const struct check_options *options,
			 struct runfile **ret, struct ts_error *err);

/* The kept source of a run, line by line, all shards in load order. */
struct kept;
/* catalog is a connection to it, needed for this call only. source_not_kept: it is not there, or
 * not as long as it was. */
int kept_open(const struct conf *conf, struct spool *sp, struct db *catalog,
	      const struct run_record *run, struct kept **ret, struct ts_error *err);
void kept_close(struct kept *k); /* takes NULL */
/* Of a salvaged run what was taken of it. The next line that is not blank, borrowed until the next
 * call, text[n] readable as for json_begin: 1, or 0 at the end, -1 on error. What was read is not
 * the run's source by its digest: source_not_kept in place of the end. */
int kept_next(struct kept *k, struct ts_str *ret, struct ts_error *err);

#endif
