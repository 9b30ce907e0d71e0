/* store_bench.h: a store in a folder of its own for tests, and run files with rows at the borders
 */
#ifndef TESTS_STORE_BENCH_H
#define TESTS_STORE_BENCH_H

#include <check.h>
#include <sqlite3.h>

#include "tracespool/list.h"
#include "tracespool/store.h"

struct bench {
	char path[64]; /* a new folder below the one for temporary files */
	char store[80];
	struct store *st;
};

/* Makes the folder and opens the store in it. */
void bench_open(struct bench *b);
void bench_reopen(struct bench *b);
/* Closes the store and removes the folder with all in it. */
void bench_close(struct bench *b);

/* Fails the test with the error's message unless result is 0. */
void assert_fine(int result, const struct ts_error *err);
/* Fails the test unless result is -1 and the error has that code. */
void assert_failed(int result, const struct ts_error *err, const char *code);

/* "sha256:" and the number as 64 hex digits, the first ones counting. */
void digest_of(unsigned n, char out[static DIGEST_TEXT + 1]);

/* A run of either kind that commits, number n; the strings are static or in the record. */
struct bench_run {
	struct run_record r;
	char id[64];
};
void bench_run(struct bench_run *run, unsigned n);

/* What the receipt of a commit says. */
struct bench_receipt {
	const char *name, *state, *json;
	uint64_t no;               /* out */
	enum commit_result result; /* out */
	char run_id[64];           /* out: of the run that was there */
	bool fail;                 /* building it fails */
};
int bench_build(void *arg, uint64_t no, enum commit_result result, const struct run_record *other,
		struct receipt_record *r, struct ts_error *err);
/* Commits the run (or NULL) with an `ingested` receipt for its name. */
enum commit_result bench_commit(struct bench *b, const struct run_record *r, bool replace);

/* A run file being built, small. */
struct runfile *bench_runfile(struct store *st, enum run_kind kind);
struct runfile *bench_runfile_of(struct store *st, enum run_kind kind, uint64_t size_hint);

/* The plan of a statement: the details of all its steps, one a line. */
void plan_of(sqlite3 *h, const char *sql, char *out, size_t size);

#endif
