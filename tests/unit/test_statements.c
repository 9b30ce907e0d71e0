/* test_statements.c: every named statement can be prepared, and goes along an index where one is
 * meant
 */
#include <stdio.h>
#include <string.h>

#include "../../src/store/folder.h"
#include "../../src/store/sql.h"
#include "store_bench.h"
#include "tracespool/util.h"

/* The catalog and a run file of each kind: where statements can be prepared. */
struct places {
	struct bench b;
	struct runfile *execution, *requests;
	struct db *catalog;
};

static void open_places(struct places *p)
{
	struct ts_error err = TS_ERROR_INIT;

	bench_open(&p->b);
	p->execution = bench_runfile(p->b.st, RUN_EXECUTION);
	p->requests = bench_runfile(p->b.st, RUN_REQUESTS);
	assert_fine(runfile_index(p->execution, &err), &err);
	assert_fine(runfile_index(p->requests, &err), &err);
	assert_fine(store_catalog_db(p->b.st, 0, &p->catalog, &err), &err);
}

static void close_places(struct places *p)
{
	db_release(p->catalog);
	runfile_free(p->execution);
	runfile_free(p->requests);
	bench_close(&p->b);
}

START_TEST(every_named_statement_can_be_prepared_and_names_are_unique)
{
	struct places p;

	open_places(&p);
	ck_assert_uint_gt(sql_named_count, 30);
	for (size_t i = 0; i < sql_named_count; i++) {
		sqlite3 *const places[] = {p.catalog->h, runfile_db(p.execution)->h,
					   runfile_db(p.requests)->h};
		unsigned fits = 0;

		for (size_t k = 0; k < ARRAY_LEN(places); k++) {
			sqlite3_stmt *s = NULL;

			fits += sqlite3_prepare_v2(places[k], sql_named[i].text, -1, &s, NULL) ==
				SQLITE_OK;
			sqlite3_finalize(s);
		}
		ck_assert_msg(fits > 0, "%s: %s", sql_named[i].name, sqlite3_errmsg(places[0]));
		ck_assert_ptr_eq(sql_find(sql_named, sql_named[i].name), sql_named[i].text);
	}
	close_places(&p);
}
END_TEST

static void assert_plan(sqlite3 *h, const char *what, const char *sql, const char *want)
{
	char plan[1000];

	plan_of(h, sql, plan, sizeof(plan));
	ck_assert_msg(strstr(plan, want) != NULL, "%s: no \"%s\" in\n%s", what, want, plan);
	ck_assert_msg(strstr(plan, "SCAN") == NULL || strstr(want, "SCAN") != NULL, "%s:\n%s", what,
		      plan);
}

START_TEST(statements_on_the_catalog_go_along_its_indexes)
{
	static const struct {
		const char *name, *plan;
	} named[] = {
		{"run_by_id", "SEARCH r USING INDEX sqlite_autoindex_runs_1 (id=?)"},
		{"run_by_digest",
		 "SEARCH r USING INDEX sqlite_autoindex_runs_2 (digest>? AND digest<?)"},
		{"run_file_known", "SEARCH runs USING INDEX sqlite_autoindex_runs_2 (digest=?)"},
		{"run_delete", "SEARCH runs USING INTEGER PRIMARY KEY (rowid=?)"},
		{"run_summary", "SEARCH run_details USING INTEGER PRIMARY KEY (rowid=?)"},
		{"tombstone_by_id", "SEARCH tombstones USING INDEX tombstones_id (id=?)"},
		{"tombstone_by_digest",
		 "SEARCH tombstones USING INDEX tombstones_digest (digest>? AND digest<?)"},
		{"receipt_by_no", "SEARCH receipts USING INTEGER PRIMARY KEY (rowid=?)"},
		{"receipt_by_name", "SEARCH receipts USING INDEX receipts_name (name=?"},
		{"receipt_by_digest", "SEARCH receipts USING INDEX receipts_digest (digest=?"},
		{"receipt_supersede",
		 "SEARCH r USING COVERING INDEX receipts_name (name=? AND rowid<?)"},
		{"receipt_kept", "SEARCH receipts USING INDEX receipts_name (name=?"},
		{"segment_again",
		 "SEARCH segments USING INDEX sqlite_autoindex_segments_2 (prefix=? AND number=?)"},
		{"segment_generations",
		 "SEARCH segments USING COVERING INDEX sqlite_autoindex_segments_2 (prefix=? AND "
		 "number=?)"},
		{"segment_last_generation",
		 "SEARCH segments USING COVERING INDEX segments_generation (prefix=?)"},
		{"segment_generation_name",
		 "SEARCH segments USING INDEX segments_generation (prefix=? AND generation=?)"},
		{"segment_name_taken",
		 "SEARCH segments USING COVERING INDEX segments_capture (capture=?)"},
		{"capture_segments", "SEARCH s USING INDEX segments_capture (capture=?)"},
		{"receipt_update", "SEARCH receipts USING INTEGER PRIMARY KEY (rowid=?)"},
	};
	struct places p;

	open_places(&p);
	for (size_t i = 0; i < ARRAY_LEN(named); i++)
		assert_plan(p.catalog->h, named[i].name, sql_find(sql_named, named[i].name),
			    named[i].plan);
	/* What the pages of the default order, of ranges and of prefixes are made of. */
	assert_plan(p.catalog->h, "first page",
		    "select r.id from runs r where r.captured_ms is not null "
		    "order by r.captured_ms desc, r.id limit 101",
		    "SEARCH r USING COVERING INDEX runs_captured (captured_ms>?)");
	assert_plan(p.catalog->h, "next page",
		    "select r.id, r.kind from runs r where r.captured_ms is not null and "
		    "r.captured_ms <= ? and (r.captured_ms < ? or (r.id) > (?)) "
		    "order by r.captured_ms desc, r.id limit 101",
		    "SEARCH r USING INDEX runs_captured (captured_ms>? AND captured_ms<?)");
	assert_plan(p.catalog->h, "runs without a time",
		    "select r.id, r.kind from runs r where r.captured_ms is null and (r.id) > (?) "
		    "order by r.id limit 101",
		    "SEARCH r USING INDEX runs_captured (captured_ms=? AND id>?)");
	assert_plan(p.catalog->h, "tags",
		    "select r.id from runs r where "
		    "(r.no in (select t.run_no from run_tags t where t.key = ? and t.value = ?))",
		    "SEARCH t USING COVERING INDEX run_tags_value (key=? AND value=?)");
	assert_plan(p.catalog->h, "prefix",
		    "select r.id from runs r where ((r.id >= ? and r.id < ?)) order by r.id",
		    "SEARCH r USING COVERING INDEX sqlite_autoindex_runs_1 (id>? AND id<?)");
	close_places(&p);
}
END_TEST

START_TEST(requests_are_read_in_replay_order_along_their_index)
{
	struct places p;
	char plan[1000];
	sqlite3 *h;

	open_places(&p);
	h = runfile_db(p.requests)->h;
	plan_of(h, "select r.model from request_rows r order by r.start_ms, r.end_ms, r.request_id",
		plan, sizeof(plan));
	ck_assert_str_eq(plan, "SCAN r USING INDEX request_order\n");
	assert_plan(h, "next page",
		    "select r.model from request_rows r where 1 and "
		    "(r.start_ms, r.end_ms, r.request_id) > (?, ?, ?) "
		    "order by r.start_ms, r.end_ms, r.request_id limit 101",
		    "SEARCH r USING INDEX request_order ((start_ms,end_ms,request_id)>(?,?,?))");
	assert_plan(h, "first arrival", "select min(start_ms) from request_rows",
		    "SEARCH request_rows USING COVERING INDEX request_order");
	plan_of(h, sql_find(sql_named, "replay_stored"), plan, sizeof(plan));
	ck_assert_str_eq(plan, "SCAN replay_rows\n");
	close_places(&p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("statements");
	TCase *t = tcase_create("statements");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, every_named_statement_can_be_prepared_and_names_are_unique);
	tcase_add_test(t, statements_on_the_catalog_go_along_its_indexes);
	tcase_add_test(t, requests_are_read_in_replay_order_along_their_index);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
