/* server.h: the server's parts: listeners, query workers, those who wait
 */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include <pthread.h>
#include <stdatomic.h>

#include "tracespool/http.h"

#include "request.h"

#define HTTP_LISTENERS_MAX 16
#define HTTP_QUERY_WORKERS 2
#define HTTP_ADDRESS_MAX 128

struct listener {
	struct http *http;
	struct MHD_Daemon *daemon;
	int fd;         /* -1: none */
	bool local;     /* a Unix socket: no Host check */
	bool made_path; /* path is ours to unlink */
	char address[HTTP_ADDRESS_MAX];
	char path[HTTP_ADDRESS_MAX]; /* of a Unix socket */
};

struct query_pool {
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct request *first, *last;
	bool stop;
	pthread_t threads[HTTP_QUERY_WORKERS];
	unsigned thread_count;
};

struct wait_list {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct request *first;
	uint64_t change; /* grows with each http_wake */
	bool stop;
	pthread_t thread;
	bool started;
};

struct http {
	struct http_options options;
	const struct conf *conf;
	struct store *store;
	char start_tag[17]; /* random, so that change counters of two lives differ in validators */
	struct listener listeners[HTTP_LISTENERS_MAX];
	unsigned listener_count;

	bool quiesced;
	atomic_bool stopping; /* nothing new; waits end */
	atomic_bool cut;      /* streams end too */
	atomic_uint streams;  /* places taken */

	pthread_mutex_t lock; /* of idle */
	pthread_cond_t idle;
	atomic_uint running; /* requests */

	atomic_int_least64_t log_second; /* problems.c: lines of this second, lines left out */
	atomic_uint log_lines, log_left_out;

	struct query_pool queries;
	struct merged_cache *merged;
	struct known_runs *known;
	struct kept_cache *kept;
	struct wait_list waits;
};

/* listen.c: fills the listeners. On failure what was opened stays for listen_close. */
int listen_open(struct http *h, struct ts_error *err);
void listen_close(struct http *h);

/* queries.c: workers for requests whose connection is suspended. */
int queries_start(struct http *h, struct ts_error *err);
/* Suspends and queues; false: stopping. */
bool queries_add(struct http *h, struct request *rq);
/* What is queued is answered with shutting_down; joins. */
void queries_stop(struct http *h);

/* waits.c: suspended requests that wait for a change. */
int waits_start(struct http *h, struct ts_error *err);
/* The number of the latest change; to be read before one looks. */
uint64_t waits_change(struct http *h);
/* Suspends until something changes or rq->wait_until_ms. False: something changed since
 * rq->wait_seen, or stopping: look again. */
bool waits_add(struct http *h, struct request *rq);
void waits_wake(struct http *h);
/* Resumes all, lets none in. The thread goes with waits_join. */
void waits_stop(struct http *h);
void waits_join(struct http *h);

/* problems.c */
/* Makes the answer a problem document and logs it. */
void problem_answer(struct request *rq, const struct ts_error *err);
/* Logs an error that came too late for that. */
void problem_log(struct request *rq, const struct ts_error *err);

/* Monotonic condition variable. */
int cond_init_monotonic(pthread_cond_t *cond);

#endif
