/* test_small_runs.c: run files made in memory: one after another by one connection, each as if it
 * were the first; beyond memory; published together
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../src/store/folder.h"
#include "store_bench.h"
#include "tracespool/sync.h"
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

static void put_op(struct runfile *rf, const char *name, struct ts_str inputs)
{
	struct ts_error err = TS_ERROR_INIT;
	struct sink *sink = runfile_sink(rf);

	assert_fine(sink->row(sink, ROW_OP,
			      &(struct row_op){.op_name = ts_str_c(name), .inputs = inputs}, &err),
		    &err);
}

static struct sealed *seal(struct runfile *rf, const char *digest)
{
	struct ts_error err = TS_ERROR_INIT;
	struct sealed *s = NULL;

	assert_fine(runfile_index(rf, &err), &err);
	assert_fine(runfile_seal(rf, digest, 1, &s, &err), &err);
	runfile_free(rf);
	return s;
}

/* A run of `ops` operations of that name, under its name in the store. */
static void make(unsigned n, const char *name, unsigned ops, struct ts_str inputs)
{
	struct ts_error err = TS_ERROR_INIT;
	char digest[DIGEST_TEXT + 1];
	struct runfile *rf = bench_runfile(b.st, RUN_EXECUTION);
	struct sealed *s;

	digest_of(n, digest);
	for (unsigned i = 0; i < ops; i++)
		put_op(rf, name, inputs);
	s = seal(rf, digest);
	sealed_publish(&s, &err, 1);
	assert_fine(err.code ? -1 : 0, &err);
	sealed_free(s);
}

static char *file_of(unsigned n)
{
	static char path[300];
	char digest[DIGEST_TEXT + 1];

	digest_of(n, digest);
	snprintf(path, sizeof(path), "%s/runs/%.2s/%s-1.db", b.store, digest + 7, digest + 7);
	return path;
}

static void assert_run(unsigned n, const char *name, uint64_t ops)
{
	struct ts_error err = TS_ERROR_INIT;
	char digest[DIGEST_TEXT + 1], sql[120];
	struct db *db CLEAN(db_releasep) = NULL;
	uint64_t count = 99;

	digest_of(n, digest);
	assert_fine(store_run_db(b.st, digest, 1, 0, &db, &err), &err);
	assert_fine(db_number(db, "select count(*) from ops", &count, &err), &err);
	ck_assert_uint_eq(count, ops);
	snprintf(sql, sizeof(sql), "select count(*) from ops where op_name = '%s'", name);
	assert_fine(db_number(db, sql, &count, &err), &err);
	ck_assert_uint_eq(count, ops);
	assert_fine(db_number(db,
			      "select count(*) = 1 from pragma_integrity_check "
			      "where integrity_check = 'ok'",
			      &count, &err),
		    &err);
	ck_assert_uint_eq(count, 1);
	assert_fine(db_number(db, "pragma user_version", &count, &err), &err);
	ck_assert_uint_eq(count, STORE_RUN_REVISION);
	assert_fine(db_number(db, "pragma application_id", &count, &err), &err);
	ck_assert_uint_eq(count, RUN_APPLICATION_ID);
}

static bool holds(unsigned n, const char *text)
{
	struct stat s;
	FILE *f = fopen(file_of(n), "r");
	char *bytes;
	bool found;

	ck_assert(f && fstat(fileno(f), &s) == 0);
	bytes = malloc((size_t)s.st_size);
	ck_assert(bytes && fread(bytes, 1, (size_t)s.st_size, f) == (size_t)s.st_size);
	found = memmem(bytes, (size_t)s.st_size, text, strlen(text)) != NULL;
	free(bytes);
	fclose(f);
	return found;
}

START_TEST(one_after_another_each_holds_its_own_rows_only)
{
	make(1, "first-of-all", 40, TS_STR("x"));
	ck_assert_uint_eq(b.st->spare_count, 1);
	make(2, "second", 3, TS_STR("x"));
	make(3, "third", 0, TS_STR("x"));
	make(4, "fourth", 700, TS_STR("x"));
	ck_assert_uint_eq(b.st->spare_count, 1);
	assert_run(1, "first-of-all", 40);
	assert_run(2, "second", 3);
	assert_run(3, "third", 0);
	assert_run(4, "fourth", 700);
	ck_assert(holds(1, "first-of-all") && !holds(2, "first-of-all"));
	ck_assert(!holds(4, "second") && holds(4, "fourth"));
}
END_TEST

START_TEST(what_does_not_fit_into_memory_is_whole_all_the_same)
{
	char *big = malloc(60000);

	ck_assert_ptr_nonnull(big);
	memset(big, 'i', 60000);
	make(1, "spilled", 200, ts_str(big, 60000)); /* 12 MB */
	make(2, "after it", 5, TS_STR("x"));
	make(3, "spilled again", 200, ts_str(big, 60000));
	assert_run(1, "spilled", 200);
	assert_run(2, "after it", 5);
	assert_run(3, "spilled again", 200);
	ck_assert(!holds(2, "iiiiiiii"));
	free(big);
}
END_TEST

/* Rows handed over, written, looked at, or left in the middle of a statement that was stopped. */
START_TEST(one_that_was_given_up_leaves_nothing)
{
	struct ts_error err = TS_ERROR_INIT;
	struct runfile *rf = bench_runfile(b.st, RUN_EXECUTION);
	atomic_bool stop = true;
	uint64_t n;

	put_op(rf, "given up", TS_STR("x"));
	runfile_free(rf);
	rf = bench_runfile(b.st, RUN_EXECUTION);
	put_op(rf, "given up", TS_STR("x"));
	assert_fine(runfile_flush(rf, &err), &err);
	assert_fine(db_number(runfile_db(rf), "select count(*) from ops", &n, &err), &err);
	ck_assert_uint_eq(n, 1);
	runfile_free(rf);
	rf = bench_runfile(b.st, RUN_EXECUTION);
	put_op(rf, "given up", TS_STR("x"));
	runfile_stop_on(rf, &stop);
	ck_assert_int_eq(
		db_number(runfile_db(rf),
			  "with recursive n(i) as (select 1 union all select i + 1 from n) "
			  "select count(*) from n",
			  &n, &err),
		-1);
	runfile_free(rf);
	make(1, "kept", 2, TS_STR("x"));
	assert_run(1, "kept", 2);
	ck_assert(!holds(1, "given up"));
}
END_TEST

START_TEST(both_kinds_keep_their_own)
{
	struct runfile *execution = bench_runfile(b.st, RUN_EXECUTION);
	struct runfile *requests = bench_runfile(b.st, RUN_REQUESTS);
	struct ts_error err = TS_ERROR_INIT;
	uint64_t n;

	runfile_free(execution);
	runfile_free(requests);
	requests = bench_runfile(b.st, RUN_REQUESTS);
	assert_fine(db_number(runfile_db(requests), "select count(*) from requests", &n, &err),
		    &err);
	ck_assert_uint_eq(n, 0);
	make(1, "op", 1, TS_STR("x"));
	assert_run(1, "op", 1);
	runfile_free(requests);
	ck_assert_uint_eq(b.st->spare_count, 2);
}
END_TEST

/* The folder of one of them is a file: that one fails alone. */
START_TEST(published_together_each_has_its_own_result)
{
	struct sealed *all[3];
	struct ts_error errs[3];
	char digest[DIGEST_TEXT + 1], path[300];
	const unsigned numbers[] = {0x01000000, 0x02000000, 0x03000000};
	struct stat s;
	FILE *f;

	for (unsigned i = 0; i < 3; i++) {
		struct runfile *rf = bench_runfile(b.st, RUN_EXECUTION);

		put_op(rf, "op", TS_STR("x"));
		digest_of(numbers[i], digest);
		all[i] = seal(rf, digest);
		ck_assert_uint_gt(sealed_bytes(all[i]), 0);
	}
	snprintf(path, sizeof(path), "%s/runs/02", b.store);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fclose(f);
	sealed_publish(all, errs, 3);
	ck_assert(!errs[0].code && !errs[2].code);
	ck_assert_ptr_nonnull(errs[1].code);
	ck_assert_int_eq(errs[1].sys, ENOTDIR);
	for (unsigned i = 0; i < 3; i++)
		sealed_free(all[i]);
	assert_run(numbers[0], "op", 1);
	assert_run(numbers[2], "op", 1);
	ck_assert_int_eq(stat(file_of(numbers[0]), &s), 0);
	ck_assert_int_eq(s.st_mode & 0777, 0640);
	snprintf(path, sizeof(path), "%s/tmp", b.store);
	ck_assert_int_eq(stat(path, &s), 0);
	ck_assert_uint_eq(s.st_nlink, 2);
}
END_TEST

static struct rows_seen seen_of(struct store *st, const struct row_op *op)
{
	struct runfile *rf = bench_runfile(st, RUN_EXECUTION);

	struct sink *sink = runfile_sink(rf);
	struct ts_error err = TS_ERROR_INIT;

	assert_fine(sink->row(sink, ROW_OP, op, &err), &err);
	assert_fine(runfile_flush(rf, &err), &err);
	struct rows_seen seen = runfile_seen(rf);

	runfile_free(rf);
	return seen;
}

/* Small run files follow each other in one connection: each knows of its own rows only. */
START_TEST(what_was_seen_of_rows_is_that_of_the_file)
{
	struct rows_seen seen = seen_of(b.st, &(struct row_op){.duration_ns = 5,
							       .timestamp_ns = UINT64_C(1) << 53,
							       .output_dense_bytes = {2, true},
							       .shape.json = TS_STR("[12,7]")});

	ck_assert_uint_eq(seen.number_bits, (UINT64_C(1) << 53) + 7);
	ck_assert_uint_eq(seen.shape_bytes, 6);
	seen = seen_of(b.st, &(struct row_op){.duration_ns = 8,
					      .output_dense_bytes = {UINT64_MAX, false},
					      .op_name = TS_STR("[1,2,3,4,5]"),
					      .shape.json = TS_STR("[]")});
	ck_assert_uint_eq(seen.number_bits, 8);
	ck_assert_uint_eq(seen.shape_bytes, 2);
}
END_TEST

START_TEST(many_syncs_at_once_tell_each_its_own_result)
{
	struct sync_item items[40];
	FILE *files[40];

	for (unsigned i = 0; i < 40; i++) {
		files[i] = tmpfile();
		ck_assert_ptr_nonnull(files[i]);
		items[i] = (struct sync_item){.fd = fileno(files[i]), .sys = 77};
	}
	items[3].fd = -1; /* passed over */
	items[17].fd = 1 << 20;
	sync_all(items, 40);
	for (unsigned i = 0; i < 40; i++) {
		ck_assert_int_eq(items[i].sys, i == 17 ? EBADF : 0);
		fclose(files[i]);
	}
	sync_all(items, 0);
	ck_assert_int_eq(sync_one(1 << 20, true), EBADF);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("small runs");
	TCase *t = tcase_create("small runs");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, one_after_another_each_holds_its_own_rows_only);
	tcase_add_test(t, what_does_not_fit_into_memory_is_whole_all_the_same);
	tcase_add_test(t, one_that_was_given_up_leaves_nothing);
	tcase_add_test(t, both_kinds_keep_their_own);
	tcase_add_test(t, published_together_each_has_its_own_result);
	tcase_add_test(t, what_was_seen_of_rows_is_that_of_the_file);
	tcase_add_test(t, many_syncs_at_once_tell_each_its_own_result);
	suite_add_tcase(s, t);
	SRunner *runner = srunner_create(s);

	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
