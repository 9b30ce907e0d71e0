/* http.h: the HTTP server over libmicrohttpd (http-api.md)
 */
#ifndef TRACESPOOL_HTTP_H
#define TRACESPOOL_HTTP_H

#include "tracespool/conf.h"
#include "tracespool/error.h"
#include "tracespool/ingest.h"
#include "tracespool/spool.h"
#include "tracespool/store.h"

struct http;

struct http_options {
	const struct conf *conf;
	struct store *store;
	struct spool *spool;
	struct ingest *ingest;
	struct watcher *watcher;
	int passed_fd_count; /* sockets from the service manager: descriptors 3, 4, ... */
};

/* Binds, checks addresses (loopback only in this part, unless http.insecure_read comes), starts
 * the pools. */
int http_start(const struct http_options *options, struct http **ret, struct ts_error *err);
/* Stops accepting, resumes all suspended connections, waits for answers until the deadline
 * (monotonic), then closes. Takes NULL. */
void http_stop(struct http *h, int64_t deadline_ms);
/* The first half of http_stop: nothing is accepted any more and what runs has ended, or the
 * deadline is over, or http_cut was called from another thread. h stays until http_stop. */
void http_quiesce(struct http *h, int64_t deadline_ms);
void http_cut(struct http *h);
/* A receipt changed: those who wait look again. Thread-safe. */
void http_wake(struct http *h);
/* The n-th address that is listened on, "127.0.0.1:40123", or NULL. */
const char *http_address(const struct http *h, unsigned n);

#endif
