/* test_catalog_group.c: several commits in one transaction: each stands or falls alone, all of them
 * where SQLite gives up
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/store/folder.h"
#include "store_bench.h"
#include "tracespool/util.h"

enum { MANY = 8 };

static struct bench b;
static struct bench_run runs[MANY];
static struct bench_receipt receipts[MANY];
static struct catalog_item items[MANY];
static char names[MANY][24];

static void setup(void)
{
	bench_open(&b);
	for (unsigned i = 0; i < MANY; i++) {
		bench_run(&runs[i], i + 1);
		snprintf(names[i], sizeof(names[i]), "drop-%u.jsonl", i + 1);
		receipts[i] = (struct bench_receipt){.name = names[i], .state = "ingested"};
		items[i] = (struct catalog_item){
			.run = &runs[i].r, .build = bench_build, .arg = &receipts[i]};
	}
}

static void teardown(void)
{
	bench_close(&b);
}

static uint64_t count(const char *sql)
{
	struct ts_error err = TS_ERROR_INIT;
	struct db *db CLEAN(db_releasep) = NULL;
	uint64_t n = 99;

	assert_fine(store_catalog_db(b.st, 0, &db, &err), &err);
	assert_fine(db_number(db, sql, &n, &err), &err);
	return n;
}

static void assert_fine_but(unsigned one)
{
	for (unsigned i = 0; i < MANY; i++)
		if (i != one)
			ck_assert_msg(!items[i].err.code, "%u: %s", i, items[i].err.message);
}

START_TEST(all_of_them_are_one_change)
{
	uint64_t before = store_change_counter(b.st);

	catalog_commit_all(b.st, items, MANY, false);
	assert_fine_but(MANY);
	for (unsigned i = 0; i < MANY; i++) {
		ck_assert_int_eq(items[i].result, COMMIT_DONE);
		ck_assert_uint_eq(receipts[i].no, i + 1);
	}
	ck_assert_uint_eq(store_change_counter(b.st), before + 1);
	ck_assert_uint_eq(count("select count(*) from runs"), MANY);
	ck_assert_uint_eq(count("select count(*) from receipts"), MANY);
	ck_assert_int_eq(store_last_ingested_ms(b.st), 1700000000000 + MANY);
}
END_TEST

START_TEST(one_that_fails_is_undone_alone)
{
	receipts[2].fail = true;
	receipts[5].state = "quarantined";
	items[5].run = NULL;
	catalog_commit_all(b.st, items, MANY, false);
	assert_fine_but(2);
	ck_assert_str_eq(items[2].err.message, "told to fail");
	ck_assert_uint_eq(count("select count(*) from runs"), MANY - 2);
	ck_assert_uint_eq(count("select count(*) from receipts"), MANY - 1);
	ck_assert_uint_eq(count("select count(*) from runs where id = 'run-00003'"), 0);
	/* Its number is the next one's. */
	ck_assert_uint_eq(receipts[3].no, 3);
	ck_assert_uint_eq(store_quarantine_count(b.st), 1);
}
END_TEST

START_TEST(a_tag_that_is_no_json_takes_back_the_run_row_as_well)
{
	runs[1].r.tags = TS_STR("{\"a\":\"b\",");
	runs[4].r.tags = TS_STR("{\"a\":\"b\"}");
	catalog_commit_all(b.st, items, MANY, false);
	assert_fine_but(1);
	ck_assert_str_eq(items[1].err.code->code, "internal");
	ck_assert_uint_eq(count("select count(*) from runs"), MANY - 1);
	ck_assert_uint_eq(count("select count(*) from run_tags"), 1);
	ck_assert_uint_eq(count("select count(*) from run_details"), MANY - 1);
}
END_TEST

START_TEST(what_came_before_in_the_same_transaction_stands_in_the_way)
{
	runs[3].r.id = runs[0].r.id; /* a conflict */
	memcpy(runs[6].r.digest, runs[1].r.digest, sizeof(runs[6].r.digest));
	catalog_commit_all(b.st, items, MANY, false);
	assert_fine_but(MANY);
	ck_assert_int_eq(items[3].result, COMMIT_CONFLICT);
	ck_assert_str_eq(items[3].other.digest, runs[0].r.digest);
	ck_assert_int_eq(items[6].result, COMMIT_DUPLICATE);
	ck_assert_str_eq(receipts[6].run_id, "run-00002");
	run_record_done(&items[3].other);
	run_record_done(&items[6].other);
	ck_assert_uint_eq(count("select count(*) from runs"), MANY - 2);
	ck_assert_uint_eq(count("select count(*) from receipts"), MANY);
}
END_TEST

START_TEST(replace_takes_away_what_came_before_in_the_same_transaction)
{
	runs[3].r.id = runs[0].r.id;
	catalog_commit_all(b.st, items, MANY, true);
	assert_fine_but(MANY);
	ck_assert_int_eq(items[3].result, COMMIT_DONE);
	ck_assert_uint_eq(count("select count(*) from runs"), MANY - 1);
	ck_assert_uint_eq(count("select count(*) from tombstones"), 1);
	ck_assert_uint_eq(count("select count(*) from runs where id = 'run-00001' and "
				"digest like 'sha256:00000004%'"),
			  1);
}
END_TEST

/* SQLite undoes everything by itself then. */
START_TEST(a_full_disk_in_the_middle_leaves_nothing_of_any)
{
	struct ts_error err = TS_ERROR_INIT;
	char *big = malloc(400000);
	uint64_t before = store_change_counter(b.st);

	ck_assert_ptr_nonnull(big);
	memset(big, ' ', 400000);
	runs[4].r.summary = ts_str(big, 400000);
	assert_fine(db_exec(b.st->writer, "pragma max_page_count = 60", &err), &err);
	catalog_commit_all(b.st, items, MANY, false);
	for (unsigned i = 0; i < MANY; i++)
		assert_failed(-1, &items[i].err, "disk_full");
	ck_assert_str_eq(store_trouble(b.st), "disk_full");
	ck_assert_uint_eq(store_change_counter(b.st), before);
	ck_assert_uint_eq(count("select count(*) from runs"), 0);
	assert_fine(db_exec(b.st->writer, "pragma max_page_count = 100000", &err), &err);
	catalog_commit_all(b.st, items, MANY, false);
	assert_fine_but(MANY);
	ck_assert_ptr_null(store_trouble(b.st));
	ck_assert_uint_eq(count("select count(*) from runs"), MANY);
	free(big);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("catalog group");
	TCase *t = tcase_create("catalog group");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, all_of_them_are_one_change);
	tcase_add_test(t, one_that_fails_is_undone_alone);
	tcase_add_test(t, a_tag_that_is_no_json_takes_back_the_run_row_as_well);
	tcase_add_test(t, what_came_before_in_the_same_transaction_stands_in_the_way);
	tcase_add_test(t, replace_takes_away_what_came_before_in_the_same_transaction);
	tcase_add_test(t, a_full_disk_in_the_middle_leaves_nothing_of_any);
	suite_add_tcase(s, t);
	SRunner *runner = srunner_create(s);

	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
