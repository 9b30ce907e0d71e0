/* test_captures.c: segments get their recording once and for all, also with several workers and
 * after a restart; merged files hold every row of their segments, find ids that occur twice, and
 * leave nothing behind
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../src/store/folder.h"
#include "../../src/store/sql.h"
#include "store_bench.h"
#include "tracespool/capture.h"
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

/* ---- which recording ---- */

struct segment {
	struct bench_run run;
	char prefix[64], summary[200];
};

/* A segment whose bytes are number n. */
static void make_segment(struct segment *s, unsigned n, const char *prefix, uint64_t number)
{
	bench_run(&s->run, n);
	snprintf(s->prefix, sizeof(s->prefix), "%s", prefix);
	snprintf(s->summary, sizeof(s->summary),
		 "{\"id\":\"x\",\"capture\":\"%s\",\"segment\":%llu,\"mode\":\"standard\"}\n",
		 prefix, (unsigned long long)number);
	s->run.r.kind = RUN_REQUESTS;
	s->run.r.capture = ts_str_c(s->prefix);
	s->run.r.segment = (struct opt_u64){number, true};
	s->run.r.mode = TS_STR("standard");
	s->run.r.requests = (struct opt_u64){n + 1, true};
	s->run.r.trace_block_size = (struct opt_u64){64, true};
	s->run.r.first_start_ms = (struct opt_u64){1000 + n, true};
	s->run.r.last_end_ms = (struct opt_u64){2000 + n, true};
	s->run.r.summary = ts_str_c(s->summary);
	s->run.r.summary_gzip = TS_STR("gz");
}

static void assert_capture_of(const char *id, const char *want)
{
	struct db *db CLEAN(db_releasep) = NULL;
	struct buf summary CLEAN(buf_done) = BUF_INIT;
	struct ts_error err = TS_ERROR_INIT;
	struct run_record r = {0};
	char member[100];
	bool gzip = true;

	assert_fine(store_catalog_db(b.st, 0, &db, &err), &err);
	ck_assert_int_eq(catalog_run(db, ts_str_c(id), &r, &err), 1);
	ck_assert_msg(ts_str_is(r.capture, want), "%s is of %.*s", id, (int)r.capture.n,
		      r.capture.p);
	assert_fine(catalog_summary(db, r.no, false, &summary, &gzip, &err), &err);
	snprintf(member, sizeof(member), ",\"capture\":\"%s\",\"segment\":%llu,\"mode\":", want,
		 (unsigned long long)r.segment.v);
	ck_assert_msg(strstr(summary.data, member) != NULL, "%s", summary.data);
	run_record_done(&r);
}

/* Commits a segment and looks where it went. */
static void put(unsigned n, const char *prefix, uint64_t number, const char *want)
{
	struct segment s;

	make_segment(&s, n, prefix, number);
	ck_assert_int_eq(bench_commit(&b, &s.run.r, false), COMMIT_DONE);
	assert_capture_of(s.run.id, want);
}

START_TEST(a_number_that_is_there_opens_the_next_recording_and_later_ones_join_the_newest)
{
	put(0, "night", 2, "night");
	put(1, "night", 0, "night");
	put(2, "night", 4, "night");
	put(3, "night", 0, "night~2");
	put(4, "night", 1, "night~2");
	put(5, "night", 2, "night~2");
	bench_reopen(&b);
	put(6, "night", 1, "night"); /* the newest one that lacks it */
	put(7, "night", 3, "night~2");
	put(8, "night", 0, "night~3");
	put(9, "day", 0, "day");
	put(10, "night", 2, "night~3");
	put(11, "night", 9223372036854775807, "night~3");
	bench_reopen(&b);
	assert_capture_of("run-00003", "night~2");
	assert_capture_of("run-00000", "night");
}
END_TEST

START_TEST(a_name_that_another_prefix_has_is_passed_over)
{
	put(0, "night~2", 0, "night~2");
	put(1, "night", 0, "night");
	put(2, "night", 0, "night~3");
	put(3, "night", 0, "night~4");
	put(4, "day", 0, "day");
	put(5, "day", 0, "day~2");
	put(6, "day~2", 0, "day~2~2");
	put(7, "day", 1, "day~2");
	put(8, "night~2", 1, "night~2");
}
END_TEST

START_TEST(the_number_of_a_removed_run_is_kept_for_the_same_bytes)
{
	struct segment other;

	put(0, "night", 0, "night");
	put(1, "night", 1, "night");
	/* Another run of the id takes the place of run 0. */
	make_segment(&other, 7, "other", 0);
	other.run.r.id = TS_STR("run-00000");
	ck_assert_int_eq(bench_commit(&b, &other.run.r, true), COMMIT_DONE);
	put(2, "night", 0, "night~2");
	/* The bytes of run 0 again, and nobody has its place. */
	make_segment(&other, 0, "night", 0);
	other.run.r.id = TS_STR("again");
	ck_assert_int_eq(bench_commit(&b, &other.run.r, false), COMMIT_DONE);
	assert_capture_of("again", "night");
}
END_TEST

START_TEST(a_summary_keeps_its_gzip_form_unless_its_recording_is_a_later_one)
{
	struct db *db CLEAN(db_releasep) = NULL;
	struct ts_error err = TS_ERROR_INIT;
	struct buf summary CLEAN(buf_done) = BUF_INIT;
	bool gzip;

	put(0, "night", 0, "night");
	put(1, "night", 0, "night~2");
	assert_fine(store_catalog_db(b.st, 0, &db, &err), &err);
	assert_fine(catalog_summary(db, 1, true, &summary, &gzip, &err), &err);
	ck_assert(gzip);
	buf_clear(&summary);
	assert_fine(catalog_summary(db, 2, true, &summary, &gzip, &err), &err);
	ck_assert(!gzip);
	ck_assert_str_eq(summary.data,
			 "{\"id\":\"x\",\"capture\":\"night~2\",\"segment\":0,\"mode\":"
			 "\"standard\"}\n");
}
END_TEST

enum { WORKERS = 4, NUMBERS = 30 };

static void *commit_all(void *arg)
{
	unsigned worker = *(unsigned *)arg;

	for (unsigned n = 0; n < NUMBERS; n++) {
		struct bench_receipt receipt = {.name = "d", .state = "ingested"};
		struct ts_error err = TS_ERROR_INIT;
		enum commit_result result;
		struct segment s;

		make_segment(&s, worker * NUMBERS + n, "night", n);
		if (catalog_commit(b.st, &s.run.r, false, bench_build, &receipt, &result, NULL,
				   &err) < 0)
			return "failed";
	}
	return NULL;
}

START_TEST(workers_that_commit_the_same_numbers_at_once_fill_one_recording_each)
{
	unsigned numbers[WORKERS];
	pthread_t threads[WORKERS];
	struct db *db CLEAN(db_releasep) = NULL;
	struct ts_error err = TS_ERROR_INIT;
	void *failed;

	for (unsigned i = 0; i < WORKERS; i++) {
		numbers[i] = i;
		ck_assert_int_eq(pthread_create(&threads[i], NULL, commit_all, &numbers[i]), 0);
	}
	for (unsigned i = 0; i < WORKERS; i++) {
		pthread_join(threads[i], &failed);
		ck_assert_ptr_null(failed);
	}
	assert_fine(store_catalog_db(b.st, 0, &db, &err), &err);
	for (unsigned i = 1; i <= WORKERS; i++) {
		struct capture c;
		char name[16];

		snprintf(name, sizeof(name), i == 1 ? "night" : "night~%u", i);
		ck_assert_int_eq(catalog_capture(db, ts_str_c(name), &c, &err), 1);
		ck_assert_uint_eq(c.count, NUMBERS);
		for (unsigned n = 0; n < NUMBERS; n++) {
			char id[64];

			ck_assert_uint_eq(c.segments[n].number, n);
			snprintf(id, sizeof(id), "%.*s", (int)c.segments[n].id.n,
				 c.segments[n].id.p);
			assert_capture_of(id, name);
		}
		capture_done(&c);
	}
}
END_TEST

START_TEST(what_identifies_a_capture_changes_with_each_segment)
{
	struct db *db CLEAN(db_releasep) = NULL;
	struct ts_error err = TS_ERROR_INIT;
	struct capture one, two;

	put(0, "night", 3, "night");
	assert_fine(store_catalog_db(b.st, 0, &db, &err), &err);
	ck_assert_int_eq(catalog_capture(db, TS_STR("nigh"), &one, &err), 0);
	ck_assert_int_eq(catalog_capture(db, TS_STR("night"), &one, &err), 1);
	put(1, "night", 1, "night");
	ck_assert_int_eq(catalog_capture(db, TS_STR("night"), &two, &err), 1);
	ck_assert_str_ne(one.digest, two.digest);
	ck_assert_uint_ne(one.newest_no, two.newest_no);
	ck_assert_uint_eq(two.count, 2);
	ck_assert_uint_eq(two.segments[0].number, 1);
	ck_assert_uint_eq(two.segments[0].requests, 2);
	ck_assert_uint_eq(two.segments[1].number, 3);
	capture_done(&one);
	capture_done(&two);
}
END_TEST

START_TEST(runs_from_before_recordings_get_one)
{
	const struct sql_text first[] = {sql_catalog_steps[0], {0}};
	struct ts_error err = TS_ERROR_INIT;
	char path[120];
	struct db *db;
	struct query *q;

	snprintf(path, sizeof(path), "%s/old.db", b.path);
	assert_fine(db_open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &db, &err), &err);
	assert_fine(store_migrate_to(db, first, NULL, NULL, &err), &err);
	assert_fine(
		db_exec(db,
			"insert into runs(id, kind, digest, revision, run_bytes, name, capture, "
			"segment, ingested_ms, pinned) values ('a', 'requests', 'da', 1, 1, 'n', "
			"'ni\"ght', 0, 1, 0), ('b', 'requests', 'db', 1, 1, 'n', 'ni\"ght', 0, 1, "
			"0), ('c', 'execution', 'dc', 1, 1, 'n', null, null, 1, 0);"
			"insert into run_details(run_no, summary, summary_gzip) select no, "
			"'{\"id\":\"' || id || '\",\"capture\":\"ni\\\"ght\",\"segment\":0,"
			"\"last_end_ms\":9223372036854775807}', 'gz' from runs",
			&err),
		&err);
	assert_fine(store_migrate_to(db, sql_catalog_steps, NULL, NULL, &err), &err);
	const char sql[] = "select group_concat(r.id || ' ' || coalesce(r.capture, '-') || ' ' || "
			   "coalesce(s.last_end_ms, '-') || ' ' || d.summary || ' ' || "
			   "(d.summary_gzip is null), '; ') from runs r join run_details d on "
			   "d.run_no = r.no left join segments s on s.run_no = r.no";

	assert_fine(query_open_sql(db, sql, sizeof(sql) - 1, &q, &err), &err);
	ck_assert_int_eq(query_step(q, &err), 1);
	ck_assert_str_eq(
		query_str(q, 0).p,
		"a ni\"ght 9223372036854775807 {\"id\":\"a\",\"capture\":\"ni\\\"ght\","
		"\"segment\":0,\"last_end_ms\":9223372036854775807} 0; "
		"b ni\"ght~2 9223372036854775807 {\"id\":\"b\",\"capture\":\"ni\\\"ght~2\","
		"\"segment\":0,\"last_end_ms\":9223372036854775807} 1; "
		"c - - {\"id\":\"c\",\"capture\":\"ni\\\"ght\",\"segment\":0,"
		"\"last_end_ms\":9223372036854775807} 0");
	query_close(q);
	db_close(db, &err);
}
END_TEST

/* ---- merged files ---- */

/* Publishes a run file of two requests and a tool span whose columns are all different; its digest
 * is number n. */
static void publish(unsigned n, const char *id)
{
	struct runfile *rf = bench_runfile(b.st, RUN_REQUESTS);
	struct ts_error err = TS_ERROR_INIT;
	char digest[DIGEST_TEXT + 1], sql[4096];
	uint64_t bytes;

	digest_of(n, digest);
	snprintf(sql, sizeof(sql),
		 "insert into request_rows select 1, 0, 7 + %u, '%s', 'x', 'm', 's', 'p', 1, 2, 3, "
		 "4, "
		 "x'ffffffffffffffff', 6, 7, 8, 1.5, 9, 10, 11, 12, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, "
		 "13, 14, x'8000000000000000', 16, 'stop';"
		 "insert into request_rows(no, shard, line, request_id) values (2, 0, 9, '%s-b');"
		 "insert into request_hash_rows values (1, x'0102030405060708', x''), "
		 "(2, x'', null);"
		 "insert into tool_rows select 1, 0, 8, 'tool_end', 's', 't', 'c', 'ok', 'e', 20, "
		 "21, "
		 "1.25, 22, 23, 1, 'src', 'con', 'child', 'blocking'",
		 n, id, id);
	assert_fine(db_exec(runfile_db(rf), sql, &err), &err);
	assert_fine(runfile_index(rf, &err), &err);
	assert_fine(runfile_publish(rf, digest, 1, &bytes, &err), &err);
	runfile_free(rf);
}

static struct merge *merge_of(unsigned from, unsigned count)
{
	struct ts_error err = TS_ERROR_INIT;
	struct merge *m = NULL;

	assert_fine(merge_open(b.st, 0, NULL, &m, &err), &err);
	for (unsigned n = from; n < from + count; n++) {
		char digest[DIGEST_TEXT + 1];

		digest_of(n, digest);
		assert_fine(merge_add(m, digest, 1, &err), &err);
	}
	return m;
}

/* All columns of a table but no and shard, as one SQL list. */
static void columns_but(struct db *db, const char *table, struct buf *out)
{
	struct ts_error err = TS_ERROR_INIT;
	struct query *q;
	char sql[200];

	snprintf(sql, sizeof(sql),
		 "select group_concat(name) from pragma_table_info('%s') where name not in "
		 "('no', 'shard')",
		 table);
	assert_fine(query_open_sql(db, sql, strlen(sql), &q, &err), &err);
	ck_assert_int_eq(query_step(q, &err), 1);
	buf_puts(out, query_str(q, 0).p);
	query_close(q);
}

/* Each row of the run is in the merged file, column by column. */
static void assert_holds(struct db *merged, unsigned n, const char *table, uint64_t shard)
{
	struct buf columns CLEAN(buf_done) = BUF_INIT;
	struct buf sql CLEAN(buf_done) = BUF_INIT;
	struct ts_error err = TS_ERROR_INIT;
	char digest[DIGEST_TEXT + 1], path[RUN_PATH_MAX];
	bool hashes = strstr(table, "hash") != NULL;
	uint64_t missing, rows;

	digest_of(n, digest);
	ck_assert(store_run_path(digest, 1, path));
	columns_but(merged, table, &columns);
	buf_printf(&sql, "attach database 'file:%s/runs/%s?immutable=1' as one", b.store, path);
	assert_fine(db_exec(merged, sql.data, &err), &err);
	buf_clear(&sql);
	buf_printf(
		&sql,
		"select count(*) from (select %s from one.%s except select %s from main.%s where "
		"%s = %llu)",
		columns.data, table, columns.data, table, hashes ? "(no - 1) / 2" : "shard",
		(unsigned long long)shard);
	assert_fine(db_number(merged, sql.data, &missing, &err), &err);
	ck_assert_msg(missing == 0, "%s: %s", table, sql.data);
	buf_clear(&sql);
	buf_printf(&sql, "select count(*) from one.%s", table);
	assert_fine(db_number(merged, sql.data, &rows, &err), &err);
	ck_assert_uint_gt(rows, 0);
	assert_fine(db_exec(merged, "detach database one", &err), &err);
}

START_TEST(a_merged_file_has_every_column_of_every_row_in_load_order)
{
	struct merge_clash clash;
	struct ts_error err = TS_ERROR_INIT;
	struct db *db = NULL;
	uint64_t number;

	publish(0, "a");
	publish(1, "b");
	publish(2, "c");
	struct merge *m = merge_of(0, 3);

	ck_assert_int_eq(merge_check(m, &clash, &err), 0);
	for (unsigned n = 0; n < 3; n++) {
		assert_holds(merge_db(m), n, "request_rows", n);
		assert_holds(merge_db(m), n, "request_hash_rows", n);
		assert_holds(merge_db(m), n, "tool_rows", n);
	}
	assert_fine(merge_finish(m, &err), &err);
	ck_assert_uint_gt(merge_bytes(m), 0);
	assert_fine(merge_read(m, 0, &db, &err), &err);
	/* It can be read on when the file has gone. */
	merge_free(m);
	assert_fine(db_number(db, "select count(*) from requests", &number, &err), &err);
	ck_assert_uint_eq(number, 6);
	assert_fine(
		db_number(db, "select max(no) from request_rows where shard = 1", &number, &err),
		&err);
	ck_assert_uint_eq(number, 4);
	db_release(db);
	char path[120];

	snprintf(path, sizeof(path), "%s/tmp", b.store);
	ck_assert_int_eq(rmdir(path), 0); /* it is empty */
}
END_TEST

START_TEST(the_earliest_request_that_repeats_an_id_is_found_with_both_places)
{
	struct merge_clash clash = {0};
	struct ts_error err = TS_ERROR_INIT;

	publish(0, "z");
	publish(1, "b");
	publish(2, "b");
	publish(3, "z");
	struct merge *m = merge_of(0, 4);

	ck_assert_int_eq(merge_check(m, &clash, &err), 1);
	ck_assert_str_eq(clash.request_id, "b");
	ck_assert_uint_eq(clash.shard[0], 1);
	ck_assert_uint_eq(clash.line[0], 8);
	ck_assert_uint_eq(clash.shard[1], 2);
	ck_assert_uint_eq(clash.line[1], 9);
	merge_free(m);
}
END_TEST

START_TEST(a_segment_that_went_away_makes_the_store_busy_and_a_stop_ends_the_work)
{
	char digest[DIGEST_TEXT + 1];
	struct ts_error err = TS_ERROR_INIT, stopped = TS_ERROR_INIT;
	atomic_bool stop = true;
	struct merge *m = merge_of(0, 0);

	digest_of(9, digest);
	assert_failed(merge_add(m, digest, 1, &err), &err, "store_busy");
	merge_free(m);
	m = NULL;
	publish(0, "a");
	digest_of(0, digest);
	/* Small steps are through before anyone looks at the flag; the copy of many is not. */
	if (merge_open(b.st, 0, &stop, &m, &stopped) == 0) {
		ck_assert_int_eq(db_exec(merge_db(m),
					 "with recursive n(i) as (select 1 union all select i + 1 "
					 "from n where i < 100000) select count(*) from n",
					 &stopped),
				 -1);
		merge_free(m);
	}
	ck_assert_ptr_nonnull(stopped.code);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("captures");
	TCase *t = tcase_create("captures");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(
		t, a_number_that_is_there_opens_the_next_recording_and_later_ones_join_the_newest);
	tcase_add_test(t, a_name_that_another_prefix_has_is_passed_over);
	tcase_add_test(t, the_number_of_a_removed_run_is_kept_for_the_same_bytes);
	tcase_add_test(t, a_summary_keeps_its_gzip_form_unless_its_recording_is_a_later_one);
	tcase_add_test(t, workers_that_commit_the_same_numbers_at_once_fill_one_recording_each);
	tcase_add_test(t, what_identifies_a_capture_changes_with_each_segment);
	tcase_add_test(t, runs_from_before_recordings_get_one);
	tcase_add_test(t, a_merged_file_has_every_column_of_every_row_in_load_order);
	tcase_add_test(t, the_earliest_request_that_repeats_an_id_is_found_with_both_places);
	tcase_add_test(t, a_segment_that_went_away_makes_the_store_busy_and_a_stop_ends_the_work);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
