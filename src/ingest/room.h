/* room.h: what the files of the ingest room share: the room itself and a drop on its way */
#ifndef TRACESPOOL_INGEST_ROOM_H
#define TRACESPOOL_INGEST_ROOM_H

#include <pthread.h>
#include <stdatomic.h>

#include "tracespool/ingest.h"

#include "documents.h"
#include "load.h"
#include "tasks.h"

struct group;

struct worker {
	struct ingest *in;
	pthread_t thread;
	struct group *group;
	_Atomic int64_t stamp_ms; /* monotonic; 0: idle */
	atomic_bool in_store;     /* since the stamp it may wait for the disk */
};

struct ingest {
	struct ingest_options options;
	const struct conf *conf;
	struct spool *spool;
	struct store *store;
	_Atomic(struct watcher *) watcher;
	struct tasks tasks;
	atomic_bool stop;
	struct worker *workers;
	size_t worker_count, worker_room, joined;
};

/* ---- pool.c ---- */

/* The worker is alive; in_store: what comes next may take as long as the disk does. */
void worker_stamp(struct worker *w, bool in_store);

/* ---- ingest.c ---- */

/* One drop, as long as a worker has it. */
struct drop {
	struct ingest *in;
	struct worker *w;
	struct task *task;
	struct claim claim;
	struct load load;
	char text[NAME_TEXT]; /* the name for the log */
	int64_t begun_ms;     /* monotonic */
	bool settled;         /* the source is where it belongs */
};

/* Takes the drop as far as it gets alone. It is over then, or waits in the worker's group. */
void ingest_drop(struct worker *w, struct task *task);
/* Gives the task back. */
void drop_over(struct worker *w, struct task *task, const struct task_result *result);
/* What the fate of an error makes of a drop that was claimed. */
struct task_result drop_judge(struct drop *d, bool adopted, const struct ts_error *reason);
/* The receipt is in the catalog, and settle_drop was tried. */
struct task_result drop_settled(const struct drop *d);
void ingest_changed(const struct ingest *in);
/* Stops with the room, stamps the worker. */
struct load_watch drop_watch(struct drop *d);
/* Size of the drop as far as it is known. */
struct opt_u64 drop_size(const struct drop *d);

int64_t claim_mtime_ns(const struct claim *c);

/* ---- refuse.c ---- */

/* A receipt on its way into the catalog, and what it is made of. */
struct pending {
	struct drop *d;
	struct receipt_doc doc;
	struct ts_error conflict; /* reason of a conflict that only the commit found */
	char *path;               /* owned: where the source goes, or NULL */
	bool kept;
	struct buf json;
	struct receipt_record record; /* as built last; borrows from here */
};
void pending_init(struct pending *p, struct drop *d, const char *state);
void pending_done(struct pending *p);
/* receipt_build_fn, over a struct pending. */
int pending_build(void *arg, uint64_t no, enum commit_result result, const struct run_record *other,
		  struct receipt_record *r, struct ts_error *err);
/* Chooses what becomes of a source that is not refused (spool.after). */
int pending_choose(struct pending *p, struct ts_error *err);

/* ---- commit.c ---- */

/* A drop that was read, on its way into the catalog. */
struct commit {
	struct drop *d;
	struct run_record run;
	struct run_record other; /* the run that the bytes are already */
	struct pending receipt;
	struct arena keep;
	struct buf source, summary, summary_gzip;
	struct sealed *sealed; /* NULL: of a duplicate */
	bool locked;
};
/* All that needs no disk: the run's file is finished, or the drop is a duplicate. -1: err;
 * commit_done is due either way. May finish the worker's group. */
int commit_prepare(struct commit *c, struct drop *d, struct ts_error *err);
/* The file of a commit that did not go through goes, unless the catalog names it after all. */
void commit_take_back(struct commit *c);
void commit_log(const struct commit *c, const struct catalog_item *item);
void commit_done(struct commit *c);

/* ---- group.c: drops that are made durable together ---- */

/* limit: of drops; at least 1. */
int group_new(size_t limit, struct group **ret, struct ts_error *err);
void group_free(struct group *g); /* empty; takes NULL */
/* The place of the next drop; nobody else's until group_join or the next call. */
void group_place(struct group *g, struct drop **ret_drop, struct commit **ret_commit);
/* What is in that place waits for group_finish. */
void group_join(struct group *g);
/* Is there room, and no reason to be done at once? */
bool group_is_open(const struct group *g);
/* Files synced and renamed, one transaction, receipts, moves; the tasks are given back. */
void group_finish(struct worker *w);

/* Quarantine with report and receipt. -1: that could not be stored (err). */
int refuse_drop(struct drop *d, const struct ts_error *reason, struct ts_error *err);
/* Receipt `failed`. retry_ms: wall clock, or 0. Failures to write it are only logged. */
void report_failure(struct drop *d, const struct ts_error *reason, int64_t retry_ms);

/* ---- settle.c ---- */

/* Writes the files of a receipt that the catalog holds and puts the source where it says. Sets
 * d->settled. May be done again at any time until it is settled. */
void settle_drop(struct drop *d, const struct receipt_record *r);
/* The same for new receipts of several drops, at most SPOOL_AT_ONCE. */
void settle_drops(struct drop *const *drops, const struct receipt_record *const *receipts,
		  size_t n);

/* ---- gone.c ---- */

/* Also true where that cannot be told. */
bool name_in_active(const struct ingest *in, const char *name);
/* If a drop that failed before is neither in the spool nor in .active/, its receipt goes. */
void forget_gone(struct drop *d);
/* For a task that is only to be looked for: the same, else it rests on. */
struct task_result look_for_drop(struct drop *d);
/* At start: the same for drops that went away while no daemon ran. */
int forget_gone_failures(struct ingest *in, struct ts_error *err);

/* ---- recover.c ---- */

/* A drop found in .active/: if its receipt is in the catalog already, only the rest is done.
 * reason: why it could not be adopted, or NULL. 1: that was so; 0: it is to be ingested; -1: err.
 */
int recover_drop(struct drop *d, const struct ts_error *reason, struct ts_error *err);

#endif
