/* tasks.h: the names that ingest knows: queued, being worked on, resting until they are tried again
 *
 * A name is here at most once. Pausing holds all of them back but for one probe at a time. All
 * functions may be called from any thread; the members of a busy task belong to its worker.
 */
#ifndef TRACESPOOL_INGEST_TASKS_H
#define TRACESPOOL_INGEST_TASKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracespool/buf.h"
#include "tracespool/error.h"
#include "tracespool/text.h"

enum task_state { TASK_QUEUED, TASK_BUSY, TASK_RESTING };

struct task {
	char *name;      /* raw bytes */
	int64_t seen_ms; /* wall clock; 0: not known (found in .active/) */
	enum task_state state;
	bool claimed;       /* it lies in .active/ */
	bool committed;     /* its receipt is final, only the move of its source is due */
	bool found;         /* its receipt may be in the catalog already */
	bool again;         /* offered while busy or resting: a newer drop, or the same one back */
	bool wants_offer;   /* resting: nothing to do before the watcher offers it again */
	bool look_only;     /* of these, now and then: is it there at all any more? */
	bool probe;         /* taken while paused, to see whether that is over */
	unsigned tries;     /* that failed in a row */
	int64_t retry_ms;   /* resting: monotonic */
	uint64_t failed_no; /* its catalog receipt in state failed; 0: none */
	char *failed_json;  /* the newest one as text, or NULL */
	struct task *next, *prev; /* in the queue or the resting list */
	struct task *chain;       /* in the table */
};

struct task_list {
	struct task *first, *last;
	size_t count;
};

struct tasks {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct task **table;
	size_t table_size; /* a power of two */
	size_t limit;      /* of queued and resting names */
	struct task_list queue, resting;
	size_t busy;
	int64_t look_ms;    /* no resting task is due before */
	const char *paused; /* code, or NULL */
	int64_t pause_ms;   /* length of the present wait for a probe */
	int64_t probe_ms;   /* monotonic time of the next probe */
	bool probing;
	bool stop;
};

/* What a worker found. */
struct task_result {
	enum task_verdict {
		TASK_OVER,  /* forget it (or queue it once more if it was offered again) */
		TASK_LATER, /* rests for delay_ms */
		TASK_FIRST, /* was not begun: back to the front */
	} verdict;
	int64_t delay_ms;
	bool wants_offer;
	const char *pause; /* code: hold back all intake; NULL: this worked */
};

enum tasks_event { TASKS_SAME, TASKS_PAUSED, TASKS_RESUMED };

int tasks_init(struct tasks *t, uint64_t limit, struct ts_error *err);
void tasks_done(struct tasks *t); /* no worker may be there any more */
void tasks_stop(struct tasks *t); /* tasks_take gives NULL from now on */

/* False: no room. */
bool tasks_offer(struct tasks *t, const char *name, int64_t seen_ms);
/* A name in .active/, found at start; beyond the limit if need be. */
int tasks_add_claimed(struct tasks *t, const char *name, struct ts_error *err);

/* To be called before a busy task goes back into the spool: offers so far were not about it. */
void tasks_forget_offers(struct tasks *t, struct task *task);

/* Blocks for the next task; NULL: stop. */
struct task *tasks_take(struct tasks *t);
/* The next one if there is one now and nothing is paused, else NULL. */
struct task *tasks_take_waiting(struct tasks *t);
/* Gives a task back; it must not be touched afterwards. */
enum tasks_event tasks_finish(struct tasks *t, struct task *task, const struct task_result *result);

/* How long a task that failed for the n-th time (from 1) rests. */
int64_t tasks_backoff_ms(unsigned tries, int64_t max_ms);

/* A snapshot of one name; json is appended to out if the task has one. False: not here. */
struct task_view {
	enum task_state state;
	int64_t seen_ms;
	bool failed;    /* its receipt is the one in json */
	bool committed; /* its receipt is in the catalog */
};
bool tasks_find(struct tasks *t, struct ts_str name, struct task_view *ret, struct buf *out);

void tasks_counts(struct tasks *t, uint64_t *ret_queued, uint64_t *ret_busy,
		  const char **ret_paused);

#endif
