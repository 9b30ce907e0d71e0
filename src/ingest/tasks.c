/* tasks.c: bounded queue without duplicates, retry times, pause with single probes */
#include "tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tracespool/text.h"
#include "tracespool/util.h"

#define TABLE_MAX ((size_t)1 << 16)
#define PAUSE_FIRST_MS 1000
#define PAUSE_MAX_MS 30000
#define LOOK_EVERY_MS 50    /* at most so often the resting list is walked */
#define LOOK_AFTER_MS 30000 /* for a changed drop that is not offered again */

int tasks_init(struct tasks *t, uint64_t limit, struct ts_error *err)
{
	pthread_condattr_t attr;
	int rc;

	*t = (struct tasks){.limit = limit < SIZE_MAX ? (size_t)limit : SIZE_MAX};
	t->table_size = 64;
	while (t->table_size < t->limit && t->table_size < TABLE_MAX)
		t->table_size *= 2;
	t->table = calloc(t->table_size, sizeof(*t->table));
	if (!t->table)
		return ts_error_nomem(err);
	rc = pthread_condattr_init(&attr);
	if (rc == 0) {
		rc = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
		if (rc == 0)
			rc = pthread_cond_init(&t->wake, &attr);
		pthread_condattr_destroy(&attr);
	}
	if (rc == 0) {
		rc = pthread_mutex_init(&t->lock, NULL);
		if (rc != 0)
			pthread_cond_destroy(&t->wake);
	}
	if (rc != 0) {
		free(TAKE(t->table));
		return ts_error_sys(err, TS_E_START, rc, "the queue cannot be made");
	}
	return 0;
}

static void task_free(struct task *task)
{
	free(task->name);
	free(task->failed_json);
	free(task);
}

void tasks_done(struct tasks *t)
{
	if (!t->table)
		return;
	for (size_t i = 0; i < t->table_size; i++) {
		while (t->table[i]) {
			struct task *task = t->table[i];

			t->table[i] = task->chain;
			task_free(task);
		}
	}
	free(TAKE(t->table));
	pthread_cond_destroy(&t->wake);
	pthread_mutex_destroy(&t->lock);
}

void tasks_stop(struct tasks *t)
{
	pthread_mutex_lock(&t->lock);
	t->stop = true;
	pthread_cond_broadcast(&t->wake);
	pthread_mutex_unlock(&t->lock);
}

static void list_add(struct task_list *l, struct task *task, bool front)
{
	task->prev = front ? NULL : l->last;
	task->next = front ? l->first : NULL;
	*(task->prev ? &task->prev->next : &l->first) = task;
	*(task->next ? &task->next->prev : &l->last) = task;
	l->count++;
}

static void list_remove(struct task_list *l, struct task *task)
{
	*(task->prev ? &task->prev->next : &l->first) = task->next;
	*(task->next ? &task->next->prev : &l->last) = task->prev;
	task->prev = task->next = NULL;
	l->count--;
}

/* FNV-1a, 64 bits. Names come from whoever may write into the spool, and who floods it with names
 * of one chain slows down no more than by flooding it. */
static size_t slot_of(const struct tasks *t, struct ts_str name)
{
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < name.n; i++)
		h = (h ^ (unsigned char)name.p[i]) * 1099511628211u;
	return (size_t)(h ^ h >> 32) & (t->table_size - 1);
}

static struct task *table_find(const struct tasks *t, struct ts_str name)
{
	struct task *task = t->table[slot_of(t, name)];

	while (task && !ts_str_eq(ts_str_c(task->name), name))
		task = task->chain;
	return task;
}

static void table_remove(struct tasks *t, struct task *task)
{
	struct task **at = &t->table[slot_of(t, ts_str_c(task->name))];

	while (*at != task)
		at = &(*at)->chain;
	*at = task->chain;
}

static void enqueue(struct tasks *t, struct task *task, bool front)
{
	task->state = TASK_QUEUED;
	list_add(&t->queue, task, front);
	pthread_cond_signal(&t->wake);
}

static struct task *add(struct tasks *t, const char *name, int64_t seen_ms)
{
	struct task *task = calloc(1, sizeof(*task));
	size_t slot = slot_of(t, ts_str_c(name));

	if (!task)
		return NULL;
	task->name = strdup(name);
	if (!task->name) {
		free(task);
		return NULL;
	}
	task->seen_ms = seen_ms;
	task->chain = t->table[slot];
	t->table[slot] = task;
	enqueue(t, task, false);
	return task;
}

/* Is there reason to work on this resting task now? */
static bool due(const struct task *task, int64_t now)
{
	return now >= task->retry_ms && (!task->wants_offer || task->again);
}

static void wake_resting(struct tasks *t, struct task *task)
{
	list_remove(&t->resting, task);
	if (!task->claimed)
		task->again = false; /* that offer is this task */
	task->wants_offer = task->look_only = false;
	enqueue(t, task, false);
}

bool tasks_offer(struct tasks *t, const char *name, int64_t seen_ms)
{
	bool taken = true;
	struct task *task;

	pthread_mutex_lock(&t->lock);
	task = table_find(t, ts_str_c(name));
	if (task && (task->state != TASK_QUEUED || task->claimed)) {
		task->again = true;
		if (task->state == TASK_RESTING && due(task, time_mono_ms()))
			wake_resting(t, task);
		else if (task->state == TASK_RESTING && task->retry_ms < t->look_ms)
			t->look_ms = task->retry_ms;
		pthread_cond_signal(&t->wake);
	} else if (!task) {
		taken = t->queue.count + t->resting.count < t->limit &&
			add(t, name, seen_ms) != NULL;
	} else {
		task->look_only = false; /* now there is more to do */
	}
	pthread_mutex_unlock(&t->lock);
	return taken;
}

int tasks_add_claimed(struct tasks *t, const char *name, struct ts_error *err)
{
	struct task *task;

	pthread_mutex_lock(&t->lock);
	task = add(t, name, 0);
	if (task)
		task->claimed = task->found = true;
	pthread_mutex_unlock(&t->lock);
	return task ? 0 : ts_error_nomem(err);
}

void tasks_forget_offers(struct tasks *t, struct task *task)
{
	pthread_mutex_lock(&t->lock);
	task->again = false;
	pthread_mutex_unlock(&t->lock);
}

static void forget(struct tasks *t, struct task *task)
{
	table_remove(t, task);
	task_free(task);
}

/* Queues what has rested long enough and notes when to look again. */
static void look_at_resting(struct tasks *t, int64_t now)
{
	struct task *next;

	if (now < t->look_ms)
		return;
	t->look_ms = INT64_MAX;
	for (struct task *task = t->resting.first; task; task = next) {
		int64_t at = task->retry_ms;

		next = task->next;
		if (due(task, now)) {
			wake_resting(t, task);
			continue;
		}
		if (task->wants_offer && !task->again) {
			at += LOOK_AFTER_MS;
			if (now >= at) {
				wake_resting(t, task);
				task->look_only = true;
				continue;
			}
		}
		if (at < t->look_ms)
			t->look_ms = at;
	}
	if (t->look_ms != INT64_MAX && t->look_ms < now + LOOK_EVERY_MS)
		t->look_ms = now + LOOK_EVERY_MS;
}

static void wait_until(struct tasks *t, int64_t mono_ms)
{
	struct timespec ts = {mono_ms / 1000, mono_ms % 1000 * 1000000};

	if (mono_ms == INT64_MAX)
		pthread_cond_wait(&t->wake, &t->lock);
	else
		pthread_cond_timedwait(&t->wake, &t->lock, &ts);
}

static void begin_work(struct tasks *t, struct task *task)
{
	list_remove(&t->queue, task);
	task->state = TASK_BUSY;
	task->probe = t->paused != NULL;
	t->probing = t->probing || task->probe;
	t->busy++;
}

struct task *tasks_take(struct tasks *t)
{
	struct task *task = NULL;

	pthread_mutex_lock(&t->lock);
	while (!t->stop) {
		int64_t now = time_mono_ms();
		int64_t until;

		look_at_resting(t, now);
		if (t->queue.first && (!t->paused || (!t->probing && now >= t->probe_ms))) {
			task = t->queue.first;
			break;
		}
		until = t->look_ms;
		if (t->queue.first && !t->probing && t->probe_ms < until)
			until = t->probe_ms;
		wait_until(t, until);
	}
	if (task)
		begin_work(t, task);
	pthread_mutex_unlock(&t->lock);
	return task;
}

struct task *tasks_take_waiting(struct tasks *t)
{
	struct task *task;

	pthread_mutex_lock(&t->lock);
	task = t->stop || t->paused ? NULL : t->queue.first;
	if (task)
		begin_work(t, task);
	pthread_mutex_unlock(&t->lock);
	return task;
}

static enum tasks_event judge_pause(struct tasks *t, const struct task *task, const char *pause)
{
	bool was = t->paused != NULL;

	if (task->probe)
		t->probing = false;
	if (pause) {
		if (!was)
			t->pause_ms = PAUSE_FIRST_MS;
		else if (task->probe)
			t->pause_ms =
				t->pause_ms * 2 < PAUSE_MAX_MS ? t->pause_ms * 2 : PAUSE_MAX_MS;
		if (!was || task->probe)
			t->probe_ms = time_mono_ms() + t->pause_ms;
		t->paused = pause;
		return was ? TASKS_SAME : TASKS_PAUSED;
	}
	/* Only the probe may end a pause: what was under way when it began proves nothing. */
	if (!was || !task->probe)
		return TASKS_SAME;
	t->paused = NULL;
	return TASKS_RESUMED;
}

enum tasks_event tasks_finish(struct tasks *t, struct task *task, const struct task_result *result)
{
	enum tasks_event event;

	pthread_mutex_lock(&t->lock);
	event = judge_pause(t, task, result->pause);
	task->probe = false;
	t->busy--;
	if (result->verdict == TASK_FIRST) {
		enqueue(t, task, true);
	} else if (result->verdict == TASK_LATER) {
		task->state = TASK_RESTING;
		task->look_only = false;
		task->wants_offer = result->wants_offer;
		task->retry_ms = time_mono_ms() + result->delay_ms;
		list_add(&t->resting, task, false);
		if (task->retry_ms < t->look_ms)
			t->look_ms = task->retry_ms;
	} else if (task->again) {
		free(TAKE(task->failed_json));
		task->failed_no = 0;
		task->tries = 0;
		task->again = task->claimed = task->found = task->committed = false;
		task->look_only = false;
		task->seen_ms = time_now_ms();
		enqueue(t, task, false);
	} else {
		forget(t, task);
	}
	pthread_cond_broadcast(&t->wake);
	pthread_mutex_unlock(&t->lock);
	return event;
}

int64_t tasks_backoff_ms(unsigned tries, int64_t max_ms)
{
	int64_t ms = 1000;

	while (tries > 1 && ms < max_ms) {
		ms *= 2;
		tries--;
	}
	return ms < max_ms ? ms : max_ms;
}

bool tasks_find(struct tasks *t, struct ts_str name, struct task_view *ret, struct buf *out)
{
	struct task *task;

	pthread_mutex_lock(&t->lock);
	task = table_find(t, name);
	if (task) {
		*ret = (struct task_view){.state = task->state, .seen_ms = task->seen_ms};
		/* A worker may be changing what follows. */
		ret->committed = task->state != TASK_BUSY && task->committed;
		if (task->state != TASK_BUSY && task->failed_json) {
			ret->failed = true;
			buf_puts(out, task->failed_json);
		}
	}
	pthread_mutex_unlock(&t->lock);
	return task != NULL;
}

void tasks_counts(struct tasks *t, uint64_t *ret_queued, uint64_t *ret_busy,
		  const char **ret_paused)
{
	pthread_mutex_lock(&t->lock);
	*ret_queued = t->queue.count;
	*ret_busy = t->busy;
	*ret_paused = t->paused;
	pthread_mutex_unlock(&t->lock);
}
