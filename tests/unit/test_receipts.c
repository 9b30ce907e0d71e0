/* test_receipts.c: receipts are numbered, found by name and digest, updated, counted */
#include <string.h>

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

static void commit_receipt(struct bench_receipt *receipt)
{
	struct ts_error err = TS_ERROR_INIT;
	enum commit_result result;

	assert_fine(catalog_commit(b.st, NULL, false, bench_build, receipt, &result, NULL, &err),
		    &err);
	ck_assert_int_eq(result, COMMIT_DONE);
}

START_TEST(receipts_are_found_by_name_number_and_time)
{
	struct bench_receipt one = {.name = "a.jsonl", .state = "duplicate", .json = "{\"n\":1}"};
	struct bench_receipt two = {.name = "a.jsonl", .state = "ingested", .json = "{\"n\":2}"};
	struct bench_receipt other = {.name = "a.jsonl2", .state = "ingested"};
	struct ts_error err = TS_ERROR_INIT;
	struct receipt_record r = {0};
	struct db *db CLEAN(db_releasep) = catalog();

	commit_receipt(&one);
	commit_receipt(&two);
	commit_receipt(&other);
	ck_assert(one.no == 1 && two.no == 2 && other.no == 3);
	ck_assert_int_eq(catalog_receipt_by_name(db, TS_STR("a.jsonl"), 0, &r, &err), 1);
	ck_assert_uint_eq(r.no, 2);
	ck_assert(ts_str_is(r.json, "{\"n\":2}") && ts_str_is(r.state, "ingested"));
	ck_assert_int_eq(r.seen_ms, 1700000000002);
	ck_assert_int_eq(r.final_ms, 1700000000003);
	ck_assert_ptr_null(r.digest);
	receipt_record_done(&r);
	/* Seen at the moment asked for still counts; later ones do not exist. */
	ck_assert_int_eq(catalog_receipt_by_name(db, TS_STR("a.jsonl"), 1700000000002, &r, &err),
			 1);
	receipt_record_done(&r);
	ck_assert_int_eq(catalog_receipt_by_name(db, TS_STR("a.jsonl"), 1700000000003, &r, &err),
			 0);
	ck_assert_int_eq(catalog_receipt_by_no(db, 1, &r, &err), 1);
	ck_assert(ts_str_is(r.json, "{\"n\":1}"));
	receipt_record_done(&r);
	ck_assert_int_eq(catalog_receipt_by_no(db, 4, &r, &err), 0);
}
END_TEST

START_TEST(a_receipt_in_state_failed_goes_when_the_drop_has_a_newer_one)
{
	struct bench_receipt failed = {.name = "a.jsonl", .state = "failed"};
	struct bench_receipt bad = {.name = "a.jsonl", .state = "quarantined"};
	struct bench_receipt other = {.name = "b.jsonl", .state = "failed"};
	struct bench_receipt good = {.name = "a.jsonl", .state = "ingested"};
	struct bench_receipt *const all[] = {&failed, &bad, &other, &good};
	const bool stay[] = {false, true, true, true};
	struct ts_error err = TS_ERROR_INIT;
	struct db *db CLEAN(db_releasep) = catalog();

	for (unsigned i = 0; i < ARRAY_LEN(all); i++)
		commit_receipt(all[i]);
	for (unsigned i = 0; i < ARRAY_LEN(all); i++) {
		struct receipt_record r = {0};

		ck_assert_int_eq(catalog_receipt_by_no(db, all[i]->no, &r, &err), stay[i]);
		receipt_record_done(&r);
	}
}
END_TEST

START_TEST(the_quarantine_count_follows_updates_and_restarts)
{
	struct bench_receipt bad = {.name = "b.jsonl", .state = "quarantined"};
	struct bench_receipt good = {.name = "g.jsonl", .state = "ingested"};
	struct ts_error err = TS_ERROR_INIT;

	commit_receipt(&bad);
	commit_receipt(&good);
	ck_assert_uint_eq(store_quarantine_count(b.st), 1);
	bench_reopen(&b);
	ck_assert_uint_eq(store_quarantine_count(b.st), 1);
	struct receipt_record r = {.no = bad.no,
				   .state = TS_STR("ingested"),
				   .json = TS_STR("{\"x\":0}"),
				   .source_path = ts_str("p\xff", 2),
				   .final_ms = 9};

	assert_fine(catalog_update_receipt(b.st, &r, &err), &err);
	ck_assert_uint_eq(store_quarantine_count(b.st), 0);
	r.state = TS_STR("quarantined");
	assert_fine(catalog_update_receipt(b.st, &r, &err), &err);
	assert_fine(catalog_update_receipt(b.st, &r, &err), &err);
	ck_assert_uint_eq(store_quarantine_count(b.st), 1);

	struct db *db CLEAN(db_releasep) = catalog();
	struct receipt_record have = {0};

	ck_assert_int_eq(catalog_receipt_by_no(db, bad.no, &have, &err), 1);
	ck_assert(ts_str_is(have.json, "{\"x\":0}") && ts_str_is(have.name, "b.jsonl"));
	ck_assert(ts_str_eq(have.source_path, ts_str("p\xff", 2)) && have.final_ms == 9);
	receipt_record_done(&have);
	r.no = 99;
	assert_failed(catalog_update_receipt(b.st, &r, &err), &err, "unknown_receipt");
}
END_TEST

static int build_kept(void *arg, uint64_t no, enum commit_result result,
		      const struct run_record *other, struct receipt_record *r,
		      struct ts_error *err)
{
	(void)arg, (void)no, (void)result, (void)other, (void)err;
	r->name = ts_str("k\xff", 2);
	r->state = TS_STR("ingested");
	r->json = TS_STR("{}");
	r->digest = "sha256:aa";
	r->ino = UINT64_MAX;
	r->size = 10;
	r->mtime_ns = -1;
	r->kept = true;
	return 0;
}

START_TEST(a_drop_that_was_kept_is_known_by_name_inode_size_and_time)
{
	struct ts_error err = TS_ERROR_INIT;
	struct db *db CLEAN(db_releasep) = catalog();
	struct ts_str name = ts_str("k\xff", 2);
	struct receipt_record r = {0};
	enum commit_result result;

	assert_fine(catalog_commit(b.st, NULL, false, build_kept, NULL, &result, NULL, &err), &err);
	ck_assert_int_eq(catalog_is_kept(db, name, UINT64_MAX, 10, -1, &err), 1);
	ck_assert_int_eq(catalog_is_kept(db, name, UINT64_MAX - 1, 10, -1, &err), 0);
	ck_assert_int_eq(catalog_is_kept(db, name, UINT64_MAX, 11, -1, &err), 0);
	ck_assert_int_eq(catalog_is_kept(db, name, UINT64_MAX, 10, 0, &err), 0);
	ck_assert_int_eq(catalog_is_kept(db, TS_STR("k"), UINT64_MAX, 10, -1, &err), 0);
	ck_assert_int_eq(catalog_receipt_by_digest(db, "sha256:aa", 0, &r, &err), 1);
	ck_assert_uint_eq(r.ino, UINT64_MAX);
	receipt_record_done(&r);
	ck_assert_int_eq(catalog_receipt_by_digest(db, "sha256:ab", 0, &r, &err), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("receipts");
	TCase *t = tcase_create("receipts");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, receipts_are_found_by_name_number_and_time);
	tcase_add_test(t, a_receipt_in_state_failed_goes_when_the_drop_has_a_newer_one);
	tcase_add_test(t, the_quarantine_count_follows_updates_and_restarts);
	tcase_add_test(t, a_drop_that_was_kept_is_known_by_name_inode_size_and_time);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
