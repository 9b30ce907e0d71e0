/* waits.c: suspended requests that wait for a receipt: woken by a change or by time
 */
#include <errno.h>
#include <time.h>

#include "server.h"

/* What a wait looks at is partly the watcher's, which tells nobody when a name it thought to wait
 * is gone after all; so each wait looks again now and then by itself. */
#define LOOK_AGAIN_MS 1000

int cond_init_monotonic(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	int failed = pthread_condattr_init(&attr);

	if (failed)
		return failed;
	failed = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	if (!failed)
		failed = pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
	return failed;
}

/* Each suspension is resumed exactly once: what is in the list is suspended, and leaves it here. */
static void resume(struct wait_list *waits, struct request *rq)
{
	if (rq->wait_before)
		rq->wait_before->wait_next = rq->wait_next;
	else
		waits->first = rq->wait_next;
	if (rq->wait_next)
		rq->wait_next->wait_before = rq->wait_before;
	rq->wait_next = NULL;
	rq->wait_before = NULL;
	MHD_resume_connection(rq->connection);
}

static void resume_all(struct wait_list *waits)
{
	while (waits->first)
		resume(waits, waits->first);
}

/* Resumes those whose time is over or that look again; returns when the next one's is, or
 * INT64_MAX.
 */
static int64_t resume_late(struct wait_list *waits, int64_t now_ms)
{
	int64_t next_ms = INT64_MAX;

	for (struct request *rq = waits->first, *next; rq; rq = next) {
		next = rq->wait_next;
		if (rq->wait_look_ms <= now_ms)
			resume(waits, rq);
		else if (rq->wait_look_ms < next_ms)
			next_ms = rq->wait_look_ms;
	}
	return next_ms;
}

static void *timer_main(void *arg)
{
	struct wait_list *waits = arg;

	pthread_mutex_lock(&waits->lock);
	while (!waits->stop) {
		int64_t next_ms = resume_late(waits, time_mono_ms());
		struct timespec at = {.tv_sec = (time_t)(next_ms / 1000),
				      .tv_nsec = (long)(next_ms % 1000) * 1000000};

		if (next_ms == INT64_MAX)
			pthread_cond_wait(&waits->changed, &waits->lock);
		else
			pthread_cond_timedwait(&waits->changed, &waits->lock, &at);
	}
	pthread_mutex_unlock(&waits->lock);
	return NULL;
}

int waits_start(struct http *h, struct ts_error *err)
{
	int failed = pthread_create(&h->waits.thread, NULL, timer_main, &h->waits);

	if (failed)
		return ts_error_sys(err, TS_E_START, failed,
				    "the timer of waits cannot be started");
	h->waits.started = true;
	return 0;
}

uint64_t waits_change(struct http *h)
{
	uint64_t change;

	pthread_mutex_lock(&h->waits.lock);
	change = h->waits.change;
	pthread_mutex_unlock(&h->waits.lock);
	return change;
}

bool waits_add(struct http *h, struct request *rq)
{
	struct wait_list *waits = &h->waits;
	bool added = false;

	rq->wait_look_ms = time_mono_ms() + LOOK_AGAIN_MS;
	if (rq->wait_look_ms > rq->wait_until_ms)
		rq->wait_look_ms = rq->wait_until_ms;
	pthread_mutex_lock(&waits->lock);
	if (!waits->stop && waits->change == rq->wait_seen) {
		rq->state = REQUEST_WAITING;
		MHD_suspend_connection(rq->connection);
		rq->wait_before = NULL;
		rq->wait_next = waits->first;
		if (waits->first)
			waits->first->wait_before = rq;
		waits->first = rq;
		pthread_cond_signal(&waits->changed);
		added = true;
	}
	pthread_mutex_unlock(&waits->lock);
	return added;
}

void waits_wake(struct http *h)
{
	pthread_mutex_lock(&h->waits.lock);
	h->waits.change++;
	resume_all(&h->waits);
	pthread_mutex_unlock(&h->waits.lock);
}

void waits_stop(struct http *h)
{
	pthread_mutex_lock(&h->waits.lock);
	h->waits.stop = true;
	resume_all(&h->waits);
	pthread_cond_signal(&h->waits.changed);
	pthread_mutex_unlock(&h->waits.lock);
}

void waits_join(struct http *h)
{
	if (h->waits.started)
		pthread_join(h->waits.thread, NULL);
	h->waits.started = false;
}
