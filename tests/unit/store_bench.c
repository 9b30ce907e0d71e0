/* store_bench.c: a store in a folder of its own for tests, commits, query plans */
#include "store_bench.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void assert_fine(int result, const struct ts_error *err)
{
	ck_assert_msg(result == 0, "%s: %s", err->code ? err->code->code : "no code", err->message);
	ck_assert_ptr_null(err->code);
}

void assert_failed(int result, const struct ts_error *err, const char *code)
{
	ck_assert_int_eq(result, -1);
	ck_assert_ptr_nonnull(err->code);
	ck_assert_msg(strcmp(err->code->code, code) == 0, "%s: %s", err->code->code, err->message);
}

void bench_reopen(struct bench *b)
{
	struct ts_error err = TS_ERROR_INIT;
	struct store_options options = {.path = b->store, .wal_limit_bytes = 1 << 20};

	store_close(b->st);
	b->st = NULL;
	assert_fine(store_open(&options, &b->st, &err), &err);
}

void bench_open(struct bench *b)
{
	const char *tmp = getenv("TMPDIR");

	b->st = NULL;
	snprintf(b->path, sizeof(b->path), "%.40s/store-XXXXXX", tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(b->path));
	snprintf(b->store, sizeof(b->store), "%s/store", b->path);
	bench_reopen(b);
}

static int remove_entry(const char *path, const struct stat *s, int type, struct FTW *ftw)
{
	(void)s, (void)type, (void)ftw;
	return remove(path);
}

void bench_close(struct bench *b)
{
	store_close(b->st);
	ck_assert_int_eq(nftw(b->path, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

void digest_of(unsigned n, char out[static DIGEST_TEXT + 1])
{
	snprintf(out, DIGEST_TEXT + 1, "sha256:%08x%056d", n, 0);
}

void bench_run(struct bench_run *run, unsigned n)
{
	*run = (struct bench_run){0};
	snprintf(run->id, sizeof(run->id), "run-%05u", n);
	digest_of(n, run->r.digest);
	run->r.id = ts_str_c(run->id);
	run->r.kind = RUN_EXECUTION;
	run->r.revision = STORE_RUN_REVISION;
	run->r.name = TS_STR("drop.jsonl");
	run->r.structurally_valid = -1;
	run->r.ingested_ms = 1700000000000 + n;
	run->r.has_captured = true;
	run->r.captured_ms = 1600000000000 + n;
	run->r.summary = TS_STR("{\"schema\":\"tracespool/run-summary/1\"}\n");
}

int bench_build(void *arg, uint64_t no, enum commit_result result, const struct run_record *other,
		struct receipt_record *r, struct ts_error *err)
{
	struct bench_receipt *b = arg;

	b->no = no;
	b->result = result;
	if (other)
		snprintf(b->run_id, sizeof(b->run_id), "%.*s", (int)other->id.n, other->id.p);
	if (b->fail)
		return ts_error_set(err, TS_E_INTERNAL, "told to fail");
	r->name = ts_str_c(b->name);
	r->state = ts_str_c(b->state);
	r->json = ts_str_c(b->json ? b->json : "{}");
	r->seen_ms = 1700000000000 + (int64_t)no;
	r->final_ms = r->seen_ms + 1;
	return 0;
}

enum commit_result bench_commit(struct bench *b, const struct run_record *r, bool replace)
{
	struct bench_receipt receipt = {.name = "drop.jsonl", .state = "ingested"};
	struct ts_error err = TS_ERROR_INIT;
	enum commit_result result;

	assert_fine(catalog_commit(b->st, r, replace, bench_build, &receipt, &result, NULL, &err),
		    &err);
	ck_assert_int_eq(result, receipt.result);
	return result;
}

struct runfile *bench_runfile_of(struct store *st, enum run_kind kind, uint64_t size_hint)
{
	struct ts_error err = TS_ERROR_INIT;
	struct runfile *rf = NULL;

	assert_fine(runfile_create(st, kind, size_hint, &rf, &err), &err);
	return rf;
}

struct runfile *bench_runfile(struct store *st, enum run_kind kind)
{
	return bench_runfile_of(st, kind, 0);
}

void plan_of(sqlite3 *h, const char *sql, char *out, size_t size)
{
	char *text = sqlite3_mprintf("explain query plan %s", sql);
	sqlite3_stmt *s;
	size_t at = 0;

	ck_assert_msg(sqlite3_prepare_v2(h, text, -1, &s, NULL) == SQLITE_OK, "%s: %s",
		      sqlite3_errmsg(h), sql);
	out[0] = 0;
	while (sqlite3_step(s) == SQLITE_ROW && at < size)
		at += (size_t)snprintf(out + at, size - at, "%s\n", sqlite3_column_text(s, 3));
	sqlite3_finalize(s);
	sqlite3_free(text);
}
