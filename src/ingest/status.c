/* status.c: what is going on now: snapshot, receipts of drops that have no final one, kept names */
#include "room.h"

#include <stdlib.h>
#include <string.h>

#include "tracespool/util.h"

void ingest_snapshot(struct ingest *in, struct ingest_state *ret)
{
	struct ingest_state state = {0};

	tasks_counts(&in->tasks, &state.queued, &state.ingesting, &state.paused);
	for (size_t i = 0; i < in->worker_count; i++) {
		struct worker *w = &in->workers[i];
		int64_t stamp = atomic_load_explicit(&w->stamp_ms, memory_order_relaxed);

		if (stamp && (!state.heartbeat_ms || stamp < state.heartbeat_ms)) {
			state.heartbeat_ms = stamp;
			state.in_store = atomic_load_explicit(&w->in_store, memory_order_relaxed);
		}
	}
	*ret = state;
}

static void write_live(struct ts_str name, const char *state, int64_t seen_ms, struct buf *out)
{
	struct receipt_doc doc = {.state = state, .seen_ms = seen_ms};
	char *text = strndup(name.p, name.n);

	doc.name = text;
	if (text)
		receipt_doc_write(&doc, out);
	else
		out->failed = true;
	free(text);
}

bool ingest_live_receipt(struct ingest *in, struct ts_str name, struct buf *out)
{
	struct watcher *w = atomic_load(&in->watcher);
	struct task_view view;
	int64_t seen_ms;

	if (memchr(name.p, 0, name.n))
		return false;
	if (tasks_find(&in->tasks, name, &view, out)) {
		if (view.failed)
			return true;
		if (view.committed)
			return false;
		write_live(name, view.state == TASK_BUSY ? "ingesting" : "waiting", view.seen_ms,
			   out);
		return true;
	}
	if (!w || !watcher_is_waiting(w, name, &seen_ms))
		return false;
	write_live(name, "waiting", seen_ms, out);
	return true;
}

bool ingest_is_known(struct ingest *in, const char *name, const struct stat *st)
{
	CLEAN(db_releasep) struct db *db = NULL;
	struct claim claim = {.st = *st};
	struct ts_error err = TS_ERROR_INIT;

	if (CONF_LIVE(in->conf->spool.after) != AFTER_KEEP)
		return false;
	/* What cannot be looked up is taken, and its digest tells. */
	return store_catalog_db(in->store, 0, &db, &err) == 0 &&
	       catalog_is_kept(db, ts_str_c(name), (uint64_t)st->st_ino, (uint64_t)st->st_size,
			       claim_mtime_ns(&claim), &err) > 0;
}
