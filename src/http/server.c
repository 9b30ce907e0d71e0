/* server.c: starts one libmicrohttpd daemon a listening socket; limits; the stop with a deadline
 */
#include "kept.h"
#include "known.h"
#include "merged.h"
#include "server.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "tracespool/log.h"

/* The library clears all of it for each request, so it is no larger than a head of 16 KiB, its
 * fields and a head of ours need (HACKING, ANSWERS). */
#define CONNECTION_MEMORY (32 * 1024)
#define IDLE_TIMEOUT_S 30

/* Escapes stay as they are: paths are decoded after they were split (http-api.md 11). */
static size_t keep_escapes(void *cls, struct MHD_Connection *connection, char *text)
{
	(void)cls;
	(void)connection;
	return strlen(text);
}

__attribute__((format(printf, 2, 0))) static void on_library_message(void *cls, const char *fmt,
								     va_list ap)
{
	char text[256];
	size_t n;

	(void)cls;
	vsnprintf(text, sizeof(text), fmt, ap);
	n = strlen(text);
	while (n > 0 && text[n - 1] == '\n')
		text[--n] = 0;
	log_line(LOG_L_DEBUG, "http", "library: %s", text);
}

static int start_daemon(struct http *h, struct listener *l, struct ts_error *err)
{
	uint64_t connections = h->conf->limits.connections / h->listener_count;
	uint64_t threads = h->conf->http.threads;
	/* The library divides its limit by the number of threads. */
	struct MHD_OptionItem pool[] = {
		{MHD_OPTION_THREAD_POOL_SIZE, 0, NULL},
		{MHD_OPTION_END, 0, NULL},
	};

	if (connections == 0)
		connections = 1;
	if (threads > connections)
		threads = connections;
	if (threads > 1)
		pool[0].value = (intptr_t)threads;
	else
		pool[0].option = MHD_OPTION_END;
	l->daemon = MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC |
			MHD_USE_ERROR_LOG,
		0, NULL, NULL, request_on_call, l, MHD_OPTION_EXTERNAL_LOGGER, on_library_message,
		NULL, MHD_OPTION_LISTEN_SOCKET, l->fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)CONNECTION_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_TIMEOUT_S,
		MHD_OPTION_URI_LOG_CALLBACK, request_on_target, l, MHD_OPTION_UNESCAPE_CALLBACK,
		keep_escapes, NULL, MHD_OPTION_NOTIFY_COMPLETED, request_on_completed, l,
		MHD_OPTION_ARRAY, pool, MHD_OPTION_END);
	if (!l->daemon)
		return ts_error_sys(err, TS_E_START, errno, "HTTP cannot be served on %s",
				    l->address);
	return 0;
}

static int init_locks(struct http *h, struct ts_error *err)
{
	int failed = pthread_mutex_init(&h->lock, NULL);

	if (!failed)
		failed = cond_init_monotonic(&h->idle);
	if (!failed)
		failed = pthread_mutex_init(&h->queries.lock, NULL);
	if (!failed)
		failed = pthread_cond_init(&h->queries.work, NULL);
	if (!failed)
		failed = pthread_mutex_init(&h->waits.lock, NULL);
	if (!failed)
		failed = cond_init_monotonic(&h->waits.changed);
	return failed ? ts_error_sys(err, TS_E_START, failed, "locks cannot be made") : 0;
}

static int start_all(struct http *h, struct ts_error *err)
{
	if (merged_start(h, err) < 0 || known_start(h, err) < 0 || kept_start(h, err) < 0 ||
	    listen_open(h, err) < 0 || queries_start(h, err) < 0 || waits_start(h, err) < 0)
		return -1;
	for (unsigned i = 0; i < h->listener_count; i++) {
		if (start_daemon(h, &h->listeners[i], err) < 0)
			return -1;
		log_line(LOG_L_INFO, "http", "listening on %s", h->listeners[i].address);
	}
	return 0;
}

int http_start(const struct http_options *options, struct http **ret, struct ts_error *err)
{
	struct http *h = calloc(1, sizeof(*h));
	uint64_t random = 0;

	if (!h)
		return ts_error_nomem(err);
	h->options = *options;
	h->conf = options->conf;
	h->store = options->store;
	if (getrandom(&random, sizeof(random), 0) < 0)
		random = (uint64_t)time_now_ms();
	snprintf(h->start_tag, sizeof(h->start_tag), "%016" PRIx64, random);
	if (init_locks(h, err) < 0) {
		free(h);
		return -1;
	}
	if (start_all(h, err) < 0) {
		http_stop(h, 0);
		return -1;
	}
	*ret = h;
	return 0;
}

/* Until nothing runs, the time is over, or http_cut. */
static void wait_idle(struct http *h, int64_t deadline_ms)
{
	struct timespec at = {.tv_sec = (time_t)(deadline_ms / 1000),
			      .tv_nsec = (long)(deadline_ms % 1000) * 1000000};

	pthread_mutex_lock(&h->lock);
	while (atomic_load(&h->running) > 0 && !atomic_load(&h->cut))
		if (pthread_cond_timedwait(&h->idle, &h->lock, &at) == ETIMEDOUT)
			break;
	pthread_mutex_unlock(&h->lock);
}

void http_quiesce(struct http *h, int64_t deadline_ms)
{
	/* The library gives the sockets back; they stay open until its threads are gone. */
	for (unsigned i = 0; !h->quiesced && i < h->listener_count; i++)
		if (h->listeners[i].daemon)
			(void)MHD_quiesce_daemon(h->listeners[i].daemon);
	h->quiesced = true;
	atomic_store(&h->stopping, true);
	waits_stop(h);
	wait_idle(h, deadline_ms);
}

void http_cut(struct http *h)
{
	pthread_mutex_lock(&h->lock);
	atomic_store(&h->cut, true);
	pthread_cond_broadcast(&h->idle);
	pthread_mutex_unlock(&h->lock);
}

void http_stop(struct http *h, int64_t deadline_ms)
{
	if (!h)
		return;
	http_quiesce(h, deadline_ms);
	http_cut(h);
	queries_stop(h);
	waits_join(h);
	for (unsigned i = 0; i < h->listener_count; i++)
		if (h->listeners[i].daemon)
			MHD_stop_daemon(h->listeners[i].daemon);
	listen_close(h);
	merged_stop(h);
	kept_stop(h);
	known_stop(h);
	pthread_cond_destroy(&h->waits.changed);
	pthread_mutex_destroy(&h->waits.lock);
	pthread_cond_destroy(&h->queries.work);
	pthread_mutex_destroy(&h->queries.lock);
	pthread_cond_destroy(&h->idle);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

void http_wake(struct http *h)
{
	waits_wake(h);
}

const char *http_address(const struct http *h, unsigned n)
{
	return n < h->listener_count ? h->listeners[n].address : NULL;
}
