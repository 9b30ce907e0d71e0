/* test_http.h: what the tests of the HTTP room share: a client on raw sockets, a served bench */
#ifndef TESTS_TEST_HTTP_H
#define TESTS_TEST_HTTP_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

#include "ingest_bench.h"

#include "tracespool/buf.h"
#include "tracespool/http.h"

/* ---- client ---- */

struct client {
	int fd;
	struct buf in; /* bytes that came and are not taken yet */
};

struct reply {
	int status;
	char head[16384];
	struct buf body; /* as sent, without chunk lines */
	bool whole;      /* the body came to its end */
};

void client_open(struct client *c, const char *address); /* "127.0.0.1:PORT" or "unix:PATH" */
void client_close(struct client *c);
void client_send(struct client *c, const char *bytes);
/* One answer; no_body for HEAD. False: the connection ended before a head came. */
bool client_read(struct client *c, struct reply *r, bool no_body);
/* True if nothing comes for some 150 ms. */
bool client_is_silent(struct client *c);

/* A whole exchange on a connection of its own. headers: lines with CRLF, or "". Host is given
 * unless the headers have one. */
void ask(const char *address, const char *method, const char *target, const char *headers,
	 struct reply *r);
void reply_done(struct reply *r);

/* The value of a header, in static memory that the next call overwrites; NULL if absent. */
const char *header_of(const struct reply *r, const char *name);
json_t *json_of(const struct reply *r); /* fails if the body is none */
void gunzip_body(struct reply *r);      /* in place; fails if it is no gzip */

/* ---- a server over a bench ---- */

extern struct bench served;
extern char at[64]; /* its first address */

void serve(void);               /* bench, workers, watcher, server */
void stop_serving(void);        /* all of that, with the folder */
void start_server(void);        /* in place of one that was taken */
struct http *take_server(void); /* the caller stops it; workers no longer wake it */

/* GET with shortcuts: checks the status. The caller releases the result. */
void get(const char *target, int status, struct reply *r);
json_t *get_json(const char *target, int status);
/* The problem's code, in static memory. */
const char *problem_of(const char *target, int status);

/* Drops a trace and waits until it is ingested; the run's id in static memory. */
const char *ingest_requests(const char *stem, unsigned count);
const char *ingest_execution(const char *file, const char *run_id);

Suite *http_target_suite(void);
Suite *http_negotiate_suite(void);
Suite *http_answers_suite(void);
Suite *http_lists_suite(void);
Suite *http_kept_suite(void);
Suite *http_waits_suite(void);
Suite *http_streams_suite(void);
Suite *http_start_suite(void);

#endif
