/* ingest_bench.h: a spool, a store and workers in a folder of their own, for the tests of ingest */
#ifndef TESTS_INGEST_BENCH_H
#define TESTS_INGEST_BENCH_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

/* jansson has enumerators of the same names; these tests read JSON with jansson only. */
#define JSON_NULL OWN_JSON_NULL
#define JSON_FALSE OWN_JSON_FALSE
#define JSON_TRUE OWN_JSON_TRUE
#define JSON_STRING OWN_JSON_STRING
#define JSON_ARRAY OWN_JSON_ARRAY
#define JSON_OBJECT OWN_JSON_OBJECT
#include "tracespool/ingest.h"
#undef JSON_NULL
#undef JSON_FALSE
#undef JSON_TRUE
#undef JSON_STRING
#undef JSON_ARRAY
#undef JSON_OBJECT
#include <jansson.h>

struct bench {
	char dir[64], spool_path[80], store_path[80];
	struct conf conf;
	struct spool *spool;
	struct store *store;
	struct ingest *in;
	struct watcher *watcher;
	void (*changed)(void *arg); /* given to ingest; called right after a claim too */
};

/* Makes the folder and opens spool and store; no worker runs yet. */
void bench_open(struct bench *b);
void bench_start(struct bench *b); /* workers */
void bench_watch(struct bench *b); /* and a watcher, settle time 60 ms */
void bench_stop(struct bench *b);  /* what was started */
/* Stops, closes spool and store and opens them again. */
void bench_reopen(struct bench *b);
void bench_close(struct bench *b); /* with the folder */

/* Files in the bench's folder; path counts from it. */
void bench_write(const struct bench *b, const char *path, const void *bytes, size_t size);
void bench_write_text(const struct bench *b, const char *path, const char *text);
void bench_append(const struct bench *b, const char *path, const char *text);
void bench_mkdir(const struct bench *b, const char *path);
void bench_rename(const struct bench *b, const char *from, const char *to);
bool bench_exists(const struct bench *b, const char *path);
char *bench_read(const struct bench *b, const char *path);     /* malloc'd text; fails if absent */
unsigned bench_count(const struct bench *b, const char *path); /* entries of a folder, all depths */

/* Puts a file into the spool and offers it. */
void bench_drop(struct bench *b, const char *name, const char *text);
void bench_drop_gzip(struct bench *b, const char *name, const char *text);

/* Waits for the receipt file of a name to have that state; fails after some seconds. */
json_t *bench_receipt(const struct bench *b, const char *name, const char *state);
/* ... and that source.action. */
json_t *bench_receipt_action(const struct bench *b, const char *name, const char *state,
			     const char *action);
/* Waits until nothing is queued or being ingested. */
void bench_idle(const struct bench *b);

/* Member of an object by "a.b.c"; fails if one is missing. */
json_t *member(json_t *object, const char *path);
const char *text_of(json_t *object, const char *path);
json_int_t number_of(json_t *object, const char *path);
bool is_null(json_t *object, const char *path);

/* Of the catalog. */
unsigned bench_runs(const struct bench *b);
unsigned bench_receipts(const struct bench *b, const char *state); /* NULL: all */

/* A small execution trace (candle-trace.md 20.1) with another run id; 9 lines. Static memory. */
const char *execution_trace(const char *run_id);
/* Lines of requests "ID-0", "ID-1", ...; static memory. */
const char *request_trace(const char *id, unsigned count);

/* Suites, one a file. */
Suite *ingest_drops_suite(void);
Suite *ingest_failures_suite(void);
Suite *ingest_recovery_suite(void);
Suite *ingest_parts_suite(void);
Suite *ingest_salvage_suite(void);
Suite *ingest_marks_suite(void);
Suite *ingest_gone_suite(void);
Suite *ingest_group_suite(void);

#endif
