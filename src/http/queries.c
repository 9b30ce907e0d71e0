/* queries.c: query workers: run the handlers of suspended requests that take long
 */
#include <string.h>

#include "server.h"

static struct request *take_first(struct query_pool *pool)
{
	struct request *rq = pool->first;

	pool->first = rq->next;
	if (!pool->first)
		pool->last = NULL;
	rq->next = NULL;
	return rq;
}

static void answer_stopping(struct request *rq)
{
	struct ts_error err = TS_ERROR_INIT;

	ts_error_set(&err, TS_E_SHUTDOWN, "the service is stopping");
	problem_answer(rq, &err);
}

static void *worker_main(void *arg)
{
	struct query_pool *pool = arg;

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		struct request *rq;
		bool stop;

		while (!pool->first && !pool->stop)
			pthread_cond_wait(&pool->work, &pool->lock);
		if (!pool->first)
			break;
		rq = take_first(pool);
		stop = pool->stop;
		pthread_mutex_unlock(&pool->lock);

		rq->on_worker = true;
		if (stop) {
			answer_stopping(rq);
		} else {
			enum outcome outcome = request_run(rq);

			CHECK(outcome == ANSWERED || outcome == FAILED);
		}
		/* From here on the request belongs to its pool thread again. */
		rq->state = REQUEST_READY;
		MHD_resume_connection(rq->connection);
		pthread_mutex_lock(&pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

int queries_start(struct http *h, struct ts_error *err)
{
	struct query_pool *pool = &h->queries;

	for (; pool->thread_count < HTTP_QUERY_WORKERS; pool->thread_count++) {
		int failed =
			pthread_create(&pool->threads[pool->thread_count], NULL, worker_main, pool);

		if (failed)
			return ts_error_sys(err, TS_E_START, failed,
					    "a query worker cannot be started");
	}
	return 0;
}

bool queries_add(struct http *h, struct request *rq)
{
	struct query_pool *pool = &h->queries;
	bool added = false;

	pthread_mutex_lock(&pool->lock);
	if (!pool->stop) {
		rq->state = REQUEST_QUEUED;
		MHD_suspend_connection(rq->connection);
		if (pool->last)
			pool->last->next = rq;
		else
			pool->first = rq;
		pool->last = rq;
		pthread_cond_signal(&pool->work);
		added = true;
	}
	pthread_mutex_unlock(&pool->lock);
	return added;
}

void queries_stop(struct http *h)
{
	struct query_pool *pool = &h->queries;

	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	while (pool->thread_count > 0)
		pthread_join(pool->threads[--pool->thread_count], NULL);
}
