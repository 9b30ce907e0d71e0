/* test_catalog.c: runs and receipts are committed together, found again by id, digest and prefix,
 * replaced, counted, and are all there after the store was opened anew
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../src/store/folder.h"
#include "store_bench.h"
#include "tracespool/util.h"

static struct bench b;

static void setup(void)
{
	bench_open(&b);
}

static void teardown(void)
{
	bench_close(&b);
}

static struct db *catalog(void)
{
	struct ts_error err = TS_ERROR_INIT;
	struct db *db = NULL;

	assert_fine(store_catalog_db(b.st, 0, &db, &err), &err);
	return db;
}

/* 1, 0, or -1 with *err. */
static int find(const char *id, struct run_record *ret, struct ts_error *err)
{
	struct db *db CLEAN(db_releasep) = catalog();

	return catalog_run(db, ts_str_c(id), ret, err);
}

static void assert_found(const char *id, const char *want_id)
{
	struct ts_error err = TS_ERROR_INIT;
	struct run_record r = {0};

	ck_assert_msg(find(id, &r, &err) == 1, "%s: %s", id, err.message);
	ck_assert(ts_str_is(r.id, want_id));
	run_record_done(&r);
}

static void assert_not_found(const char *id)
{
	struct ts_error err = TS_ERROR_INIT;
	struct run_record r = {0};

	ck_assert_int_eq(find(id, &r, &err), 0);
	ck_assert_ptr_null(err.code);
}

static void publish(const char *digest)
{
	struct ts_error err = TS_ERROR_INIT;
	struct runfile *rf;
	uint64_t bytes;

	assert_fine(runfile_create(b.st, RUN_EXECUTION, 0, &rf, &err), &err);
	assert_fine(runfile_index(rf, &err), &err);
	assert_fine(runfile_publish(rf, digest, STORE_RUN_REVISION, &bytes, &err), &err);
	runfile_free(rf);
}

static uint64_t runs_bytes(void)
{
	struct ts_error err = TS_ERROR_INIT;
	struct store_sizes sizes;

	assert_fine(store_sizes(b.st, &sizes, &err), &err);
	return sizes.runs_bytes;
}

static bool has_file(const char *digest)
{
	char path[1024];
	struct stat s;

	snprintf(path, sizeof(path), "%s/runs/%.2s/%s-%d.db", b.store, digest + 7, digest + 7,
		 STORE_RUN_REVISION);
	return stat(path, &s) == 0;
}

START_TEST(a_run_comes_back_with_every_member)
{
	struct bench_run run;
	struct ts_error err = TS_ERROR_INIT;
	struct run_record r = {0};

	bench_run(&run, 1);
	run.r.id = TS_STR("lab/mnist::train \xc3\xa9");
	run.r.name = ts_str("n\xff.jsonl", 8);
	run.r.owner = TS_STR("ada");
	run.r.entrypoint = TS_STR("e");
	run.r.phase = TS_STR("train");
	run.r.device = TS_STR("cuda:0");
	run.r.outcome = TS_STR("complete");
	run.r.correlation_id = TS_STR("");
	run.r.trace_schema = TS_STR("candle-graph/trace/10");
	run.r.model_one = TS_STR("m");
	run.r.capture = TS_STR("cap");
	run.r.segment = (struct opt_u64){.v = 3, .has = true};
	run.r.structurally_valid = 1;
	run.r.captured_ms = -62135596800000;
	run.r.ingested_ms = 5;
	run.r.tags = TS_STR("{\"a\":\"1\"}");
	run.r.models = TS_STR("{\"m\":18446744073709551615}");
	run.r.total_ns = (struct opt_u64){.v = UINT64_MAX, .has = true};
	run.r.span_count = (struct opt_u64){.v = 0, .has = true};
	run.r.op_count = (struct opt_u64){.v = 7, .has = true};
	run.r.first_start_ms = (struct opt_u64){.v = 8, .has = true};
	run.r.trace_block_size = (struct opt_u64){.v = 64, .has = true};
	run.r.mode = TS_STR("agentic");
	run.r.replay_error = TS_STR("mixed_block_size");
	run.r.source = TS_STR("{\"name\":\"x\"}");
	run.r.meta = TS_STR("{}");
	run.r.pinned = true;
	ck_assert_int_eq(bench_commit(&b, &run.r, false), COMMIT_DONE);

	ck_assert_int_eq(find("lab/mnist::train \xc3\xa9", &r, &err), 1);
	ck_assert_uint_eq(r.no, 1);
	ck_assert_int_eq(r.kind, RUN_EXECUTION);
	ck_assert_str_eq(r.digest, run.r.digest);
	ck_assert_uint_eq(r.revision, STORE_RUN_REVISION);
	ck_assert(ts_str_eq(r.name, run.r.name));
	ck_assert(ts_str_is(r.owner, "ada") && ts_str_is(r.entrypoint, "e"));
	ck_assert(ts_str_is(r.phase, "train") && ts_str_is(r.device, "cuda:0"));
	ck_assert(ts_str_is(r.outcome, "complete") && ts_str_is(r.correlation_id, ""));
	ck_assert(ts_str_is(r.trace_schema, "candle-graph/trace/10"));
	ck_assert(ts_str_is(r.model_one, "m") && ts_str_is(r.capture, "cap"));
	ck_assert(r.segment.has && r.segment.v == 3 && r.structurally_valid == 1);
	ck_assert(r.has_captured && r.captured_ms == -62135596800000 && r.ingested_ms == 5);
	ck_assert(ts_str_eq(r.tags, run.r.tags) && ts_str_eq(r.models, run.r.models));
	ck_assert(r.total_ns.has && r.total_ns.v == UINT64_MAX);
	ck_assert(r.span_count.has && r.span_count.v == 0 && r.op_count.v == 7);
	ck_assert(!r.logical_peak_bytes.has && !r.requests.has && !r.tools.has && !r.sessions.has);
	ck_assert(r.first_start_ms.v == 8 && r.trace_block_size.v == 64);
	ck_assert(!r.unreplayable_rows.has);
	ck_assert(ts_str_is(r.mode, "agentic") && ts_str_is(r.replay_error, "mixed_block_size"));
	ck_assert(ts_str_is(r.source, "{\"name\":\"x\"}") && ts_str_is(r.meta, "{}"));
	ck_assert(r.pinned);
	run_record_done(&r);
}
END_TEST

START_TEST(a_run_is_found_by_id_digest_and_prefix_of_twelve_digits)
{
	struct bench_run run;
	char prefix[40];

	for (unsigned i = 1; i <= 3; i++) {
		bench_run(&run, i);
		bench_commit(&b, &run.r, false);
	}
	assert_found("run-00002", "run-00002");
	assert_not_found("run-0000");
	assert_found(run.r.digest, "run-00003");
	snprintf(prefix, sizeof(prefix), "%.19s", run.r.digest);
	ck_assert_str_eq(prefix, "sha256:000000030000");
	assert_found(prefix, "run-00003");
	assert_not_found("sha256:00000003000");  /* 11 digits */
	assert_not_found("sha256:00000003000g"); /* no digit */
	assert_not_found("sha256:000000040000");
}
END_TEST

START_TEST(a_digest_prefix_of_two_runs_is_ambiguous)
{
	struct bench_run one, two;
	struct ts_error err = TS_ERROR_INIT;
	struct run_record r = {0};

	bench_run(&one, 0xabcdef01);
	bench_run(&two, 0xabcdef01);
	two.r.id = TS_STR("other");
	two.r.digest[DIGEST_TEXT - 1] = 'f';
	bench_commit(&b, &one.r, false);
	ck_assert_int_eq(bench_commit(&b, &two.r, false), COMMIT_DONE);
	assert_failed(find("sha256:ABCDEF010000", &r, &err), &err, "ambiguous_id");
	assert_found(one.r.digest, "run-2882400001");
	assert_found(two.r.digest, "other");
}
END_TEST

START_TEST(the_same_bytes_are_a_duplicate_and_name_the_run)
{
	struct bench_run run;
	struct bench_receipt receipt = {.name = "again.jsonl", .state = "duplicate"};
	struct ts_error err = TS_ERROR_INIT;
	struct run_record other = {0};
	enum commit_result result;

	bench_run(&run, 1);
	bench_commit(&b, &run.r, false);
	run.r.id = TS_STR("another name");
	assert_fine(
		catalog_commit(b.st, &run.r, true, bench_build, &receipt, &result, &other, &err),
		&err);
	ck_assert_int_eq(result, COMMIT_DUPLICATE);
	ck_assert_int_eq(receipt.result, COMMIT_DUPLICATE);
	ck_assert_str_eq(receipt.run_id, "run-00001");
	ck_assert(ts_str_is(other.id, "run-00001"));
	run_record_done(&other);
	assert_not_found("another name");
}
END_TEST

START_TEST(another_run_of_that_id_is_a_conflict_and_the_first_one_stays)
{
	struct bench_run run;
	struct bench_receipt receipt = {.name = "two.jsonl", .state = "quarantined"};
	struct ts_error err = TS_ERROR_INIT;
	struct run_record other = {0};
	enum commit_result result;

	bench_run(&run, 1);
	bench_commit(&b, &run.r, false);
	digest_of(2, run.r.digest);
	assert_fine(
		catalog_commit(b.st, &run.r, false, bench_build, &receipt, &result, &other, &err),
		&err);
	ck_assert_int_eq(result, COMMIT_CONFLICT);
	digest_of(1, run.r.digest);
	ck_assert_str_eq(other.digest, run.r.digest);
	run_record_done(&other);
	digest_of(2, run.r.digest);
	assert_not_found(run.r.digest);
	ck_assert_uint_eq(store_quarantine_count(b.st), 1);
}
END_TEST

START_TEST(replace_removes_the_older_run_its_file_and_leaves_a_tombstone)
{
	struct bench_run run;
	char old[DIGEST_TEXT + 1];
	struct ts_error err = TS_ERROR_INIT;
	struct run_record r = {0};

	bench_run(&run, 1);
	run.r.tags = TS_STR("{\"k\":\"old\"}");
	memcpy(old, run.r.digest, sizeof(old));
	publish(old);
	ck_assert_int_eq(bench_commit(&b, &run.r, false), COMMIT_DONE);
	uint64_t one = runs_bytes();

	ck_assert_uint_gt(one, 0);
	digest_of(2, run.r.digest);
	publish(run.r.digest);
	run.r.tags = TS_STR("{\"k\":\"new\"}");
	ck_assert_int_eq(bench_commit(&b, &run.r, true), COMMIT_DONE);
	ck_assert(!has_file(old) && has_file(run.r.digest));
	ck_assert_uint_eq(runs_bytes(), one);

	ck_assert_int_eq(find("run-00001", &r, &err), 1);
	ck_assert_str_eq(r.digest, run.r.digest);
	ck_assert(ts_str_is(r.tags, "{\"k\":\"new\"}"));
	run_record_done(&r);
	assert_failed(find(old, &r, &err), &err, "run_removed");
	ck_assert_ptr_nonnull(strstr(err.message, "replaced"));
	ck_assert_ptr_nonnull(strstr(err.message, "T"));

	struct db *db CLEAN(db_releasep) = catalog();
	uint64_t tags = 0;

	ts_error_init(&err);
	assert_fine(db_number(db, "select count(*) from run_tags", &tags, &err), &err);
	ck_assert_uint_eq(tags, 1);
}
END_TEST

START_TEST(a_commit_that_fails_changes_nothing)
{
	struct bench_run run;
	struct bench_receipt receipt = {.name = "x", .state = "ingested", .fail = true};
	struct ts_error err = TS_ERROR_INIT;
	enum commit_result result = COMMIT_CONFLICT;
	uint64_t before = store_change_counter(b.st);

	bench_run(&run, 1);
	assert_failed(
		catalog_commit(b.st, &run.r, false, bench_build, &receipt, &result, NULL, &err),
		&err, "internal");
	ck_assert_str_eq(err.message, "told to fail");
	ck_assert_int_eq(result, COMMIT_CONFLICT);
	ck_assert_uint_eq(store_change_counter(b.st), before);
	assert_not_found("run-00001");
	/* The number was not used up. */
	receipt.fail = false;
	ts_error_init(&err);
	assert_fine(catalog_commit(b.st, &run.r, false, bench_build, &receipt, &result, NULL, &err),
		    &err);
	ck_assert_uint_eq(receipt.no, 1);
	assert_found("run-00001", "run-00001");
}
END_TEST

START_TEST(the_change_counter_grows_and_goes_on_after_a_restart)
{
	struct bench_run run;
	uint64_t start = store_change_counter(b.st);

	bench_run(&run, 1);
	bench_commit(&b, &run.r, false);
	ck_assert_uint_eq(store_change_counter(b.st), start + 1);
	bench_commit(&b, NULL, false);
	ck_assert_uint_eq(store_change_counter(b.st), start + 2);
	ck_assert_int_eq(store_last_ingested_ms(b.st), 1700000000001);
	bench_reopen(&b);
	ck_assert_uint_eq(store_change_counter(b.st), start + 2);
	ck_assert_int_eq(store_last_ingested_ms(b.st), 1700000000001);
	assert_found("run-00001", "run-00001");
}
END_TEST

START_TEST(a_summary_is_sent_as_it_was_stored_plain_or_gzip)
{
	struct bench_run run, plain;
	struct buf out CLEAN(buf_done) = BUF_INIT;
	struct ts_error err = TS_ERROR_INIT;
	struct db *db CLEAN(db_releasep) = catalog();
	bool gzip = false;

	bench_run(&run, 1);
	run.r.summary = TS_STR("{\"a\":1}\n");
	run.r.summary_gzip = ts_str("\x1f\x8b\0z", 4);
	bench_commit(&b, &run.r, false);
	bench_run(&plain, 2);
	bench_commit(&b, &plain.r, false);
	assert_fine(catalog_summary(db, 1, true, &out, &gzip, &err), &err);
	ck_assert(gzip && ts_str_eq(ts_str(out.data, out.len), run.r.summary_gzip));
	buf_clear(&out);
	assert_fine(catalog_summary(db, 1, false, &out, &gzip, &err), &err);
	ck_assert(!gzip);
	ck_assert_str_eq(out.data, "{\"a\":1}\n");
	buf_clear(&out);
	assert_fine(catalog_summary(db, 2, true, &out, &gzip, &err), &err);
	ck_assert(!gzip);
	buf_clear(&out);
	assert_failed(catalog_summary(db, 3, true, &out, &gzip, &err), &err, "unknown_run");
}
END_TEST

START_TEST(tags_and_models_become_rows_with_their_bytes)
{
	struct bench_run run;
	struct ts_error err = TS_ERROR_INIT;
	struct db *db CLEAN(db_releasep) = catalog();
	uint64_t n = 0;

	bench_run(&run, 1);
	run.r.tags = TS_STR("{\"\":\"\",\"a\\u0000b\":\"c\\u0000d\",\"q\\\"\":\"\\u00e9\"}");
	run.r.models = TS_STR("{\"m\":2,\"n\":1}");
	bench_commit(&b, &run.r, false);
	assert_fine(db_number(db, "select count(*) from run_tags", &n, &err), &err);
	ck_assert_uint_eq(n, 3);
	assert_fine(db_number(db,
			      "select count(*) from run_tags where hex(key) = '610062' and "
			      "hex(value) = '630064' or hex(key) = '7122' and hex(value) = 'C3A9'",
			      &n, &err),
		    &err);
	ck_assert_uint_eq(n, 2);
	assert_fine(db_number(db, "select requests from run_models where model = 'm'", &n, &err),
		    &err);
	ck_assert_uint_eq(n, 2);
}
END_TEST

/* The floor is reached by a cap on the catalog's pages; reading goes on, and so does writing when
 * there is room again. */
START_TEST(a_full_disk_is_told_and_does_not_stay)
{
	struct bench_run run;
	struct bench_receipt receipt = {.name = "x", .state = "ingested"};
	struct ts_error err = TS_ERROR_INIT;
	enum commit_result result;
	char *big = malloc(400000);

	ck_assert_ptr_nonnull(big);
	memset(big, ' ', 400000);
	bench_run(&run, 1);
	bench_commit(&b, &run.r, false);
	ck_assert_ptr_null(store_trouble(b.st));
	bench_run(&run, 2);
	run.r.summary = ts_str(big, 400000);
	assert_fine(db_exec(b.st->writer, "pragma max_page_count = 60", &err), &err);
	assert_failed(
		catalog_commit(b.st, &run.r, false, bench_build, &receipt, &result, NULL, &err),
		&err, "disk_full");
	ck_assert_str_eq(store_trouble(b.st), "disk_full");
	assert_found("run-00001", "run-00001");
	assert_not_found("run-00002");
	ts_error_init(&err);
	assert_fine(db_exec(b.st->writer, "pragma max_page_count = 100000", &err), &err);
	ck_assert_int_eq(bench_commit(&b, &run.r, false), COMMIT_DONE);
	ck_assert_ptr_null(store_trouble(b.st));
	free(big);
}
END_TEST

START_TEST(a_lock_of_another_process_makes_the_store_busy_and_reading_goes_on)
{
	struct bench_run run;
	struct bench_receipt receipt = {.name = "x", .state = "ingested"};
	struct ts_error err = TS_ERROR_INIT;
	enum commit_result result;
	char path[200];
	sqlite3 *other;

	bench_run(&run, 1);
	bench_commit(&b, &run.r, false);
	snprintf(path, sizeof(path), "%s/catalog.db", b.store);
	ck_assert_int_eq(sqlite3_open(path, &other), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(other, "begin exclusive", NULL, NULL, NULL), SQLITE_OK);
	bench_run(&run, 2);
	assert_failed(
		catalog_commit(b.st, &run.r, false, bench_build, &receipt, &result, NULL, &err),
		&err, "store_busy");
	ck_assert_str_eq(store_trouble(b.st), "store_busy");
	assert_found("run-00001", "run-00001");
	sqlite3_close(other);
	ck_assert_int_eq(bench_commit(&b, &run.r, false), COMMIT_DONE);
	ck_assert_ptr_null(store_trouble(b.st));
}
END_TEST

START_TEST(orphans_are_removed_and_everything_else_is_left_alone)
{
	struct bench_run run;
	struct ts_error err = TS_ERROR_INIT;
	char orphan[DIGEST_TEXT + 1], path[300];
	unsigned removed = 99;
	struct stat s;

	bench_run(&run, 0x11000001);
	publish(run.r.digest);
	bench_commit(&b, &run.r, false);
	digest_of(0x11000002, orphan);
	publish(orphan);
	snprintf(path, sizeof(path), "%s/runs/11/notes.db", b.store);
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fclose(f);
	assert_fine(store_remove_orphans(b.st, &removed, &err), &err);
	ck_assert_uint_eq(removed, 1);
	ck_assert(has_file(run.r.digest) && !has_file(orphan));
	ck_assert_int_eq(stat(path, &s), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("catalog");
	TCase *t = tcase_create("catalog");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_run_comes_back_with_every_member);
	tcase_add_test(t, a_run_is_found_by_id_digest_and_prefix_of_twelve_digits);
	tcase_add_test(t, a_digest_prefix_of_two_runs_is_ambiguous);
	tcase_add_test(t, the_same_bytes_are_a_duplicate_and_name_the_run);
	tcase_add_test(t, another_run_of_that_id_is_a_conflict_and_the_first_one_stays);
	tcase_add_test(t, replace_removes_the_older_run_its_file_and_leaves_a_tombstone);
	tcase_add_test(t, a_commit_that_fails_changes_nothing);
	tcase_add_test(t, the_change_counter_grows_and_goes_on_after_a_restart);
	tcase_add_test(t, a_summary_is_sent_as_it_was_stored_plain_or_gzip);
	tcase_add_test(t, tags_and_models_become_rows_with_their_bytes);
	tcase_add_test(t, a_full_disk_is_told_and_does_not_stay);
	tcase_add_test(t, a_lock_of_another_process_makes_the_store_busy_and_reading_goes_on);
	tcase_add_test(t, orphans_are_removed_and_everything_else_is_left_alone);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
