/* pool.c: the worker threads: start, heartbeat, pause and resume, orderly stop */
#include "room.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "tracespool/log.h"
#include "tracespool/util.h"

#define WORKERS_MAX 256
#define GROUPED_MAX 512 /* drops in the groups of all workers */

void worker_stamp(struct worker *w, bool in_store)
{
	atomic_store_explicit(&w->in_store, in_store, memory_order_relaxed);
	atomic_store_explicit(&w->stamp_ms, time_mono_ms(), memory_order_relaxed);
}

static void worker_rest(struct worker *w)
{
	atomic_store_explicit(&w->stamp_ms, 0, memory_order_relaxed);
	atomic_store_explicit(&w->in_store, false, memory_order_relaxed);
}

void drop_over(struct worker *w, struct task *task, const struct task_result *result)
{
	switch (tasks_finish(&w->in->tasks, task, result)) {
	case TASKS_PAUSED:
		log_line(LOG_L_WARN, "ingest", "paused code=%s", result->pause);
		break;
	case TASKS_RESUMED:
		log_line(LOG_L_NOTICE, "ingest", "resumed");
		break;
	case TASKS_SAME:
		break;
	}
}

/* Drops are grouped only while more of them wait: a single one is never held up. */
static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct tasks *tasks = &w->in->tasks;
	struct task *task;

	while ((task = tasks_take(tasks))) {
		do {
			worker_stamp(w, false);
			ingest_drop(w, task);
		} while (group_is_open(w->group) && (task = tasks_take_waiting(tasks)));
		group_finish(w);
		worker_rest(w);
		ingest_changed(w->in);
	}
	return NULL;
}

static size_t count_workers(const struct conf *conf)
{
	uint64_t n = conf->ingest.workers;
	cpu_set_t set;

	if (n == 0 && sched_getaffinity(0, sizeof(set), &set) == 0)
		n = (uint64_t)CPU_COUNT(&set);
	if (n == 0) {
		long cores = sysconf(_SC_NPROCESSORS_ONLN);

		n = cores > 0 ? (uint64_t)cores : 1;
	}
	return n < WORKERS_MAX ? (size_t)n : WORKERS_MAX;
}

static int start_workers(struct ingest *in, struct ts_error *err)
{
	size_t n = count_workers(in->conf);

	in->workers = calloc(n, sizeof(*in->workers));
	if (!in->workers)
		return ts_error_nomem(err);
	in->worker_room = n;
	while (in->worker_count < n) {
		struct worker *w = &in->workers[in->worker_count];
		int rc;

		w->in = in;
		if (group_new(GROUPED_MAX / n, &w->group, err) < 0)
			return -1;
		rc = pthread_create(&w->thread, NULL, worker_main, w);
		if (rc != 0)
			return ts_error_sys(err, TS_E_START, rc, "worker thread cannot be started");
		in->worker_count++;
	}
	return 0;
}

/* What an earlier life left in .active/ comes first. */
static int queue_active(struct ingest *in, struct ts_error *err)
{
	char **names = NULL;
	int rc = 0;

	if (spool_list_active(in->spool, &names, err) < 0)
		return -1;
	for (char **n = names; *n; n++) {
		if (rc == 0)
			rc = tasks_add_claimed(&in->tasks, *n, err);
		free(*n);
	}
	free(names);
	return rc;
}

int ingest_start(const struct ingest_options *options, struct ingest **ret, struct ts_error *err)
{
	struct ingest *in = calloc(1, sizeof(*in));
	unsigned removed = 0;

	if (!in)
		return ts_error_nomem(err);
	in->options = *options;
	in->conf = options->conf;
	in->spool = options->spool;
	in->store = options->store;
	if (store_remove_orphans(in->store, &removed, err) < 0 ||
	    tasks_init(&in->tasks, in->conf->limits.queue, err) < 0 || queue_active(in, err) < 0 ||
	    forget_gone_failures(in, err) < 0 || start_workers(in, err) < 0) {
		ingest_stop(in);
		return -1;
	}
	if (removed)
		log_line(LOG_L_NOTICE, "ingest", "removed %u run files without a catalog entry",
			 removed);
	*ret = in;
	return 0;
}

void ingest_quiesce(struct ingest *in)
{
	if (!in)
		return;
	atomic_store(&in->stop, true);
	if (in->tasks.table)
		tasks_stop(&in->tasks);
	for (; in->joined < in->worker_count; in->joined++)
		pthread_join(in->workers[in->joined].thread, NULL);
}

void ingest_stop(struct ingest *in)
{
	if (!in)
		return;
	ingest_quiesce(in);
	for (size_t i = 0; in->workers && i <= in->worker_count && i < in->worker_room; i++)
		group_free(in->workers[i].group);
	free(in->workers);
	tasks_done(&in->tasks);
	free(in);
}

bool ingest_offer(struct ingest *in, const char *name, int64_t seen_ms)
{
	return tasks_offer(&in->tasks, name, seen_ms);
}

void ingest_set_watcher(struct ingest *in, struct watcher *w)
{
	atomic_store(&in->watcher, w);
}
