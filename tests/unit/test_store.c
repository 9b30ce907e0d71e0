/* test_store.c: opening and locking the store, migration, connections, run files
 * published and read, one worker at a time for a digest
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/store/folder.h"
#include "../../src/store/sql.h"
#include "store_bench.h"
#include "tracespool/util.h"

static int open_again(struct bench *b, struct store **ret, struct ts_error *err)
{
	struct store_options options = {.path = b->store};

	return store_open(&options, ret, err);
}

START_TEST(a_second_daemon_is_kept_out)
{
	struct bench b;
	struct store *second = NULL;
	struct ts_error err = TS_ERROR_INIT;

	bench_open(&b);
	assert_failed(open_again(&b, &second, &err), &err, "store_in_use");
	ck_assert_int_eq(err.code->fate, TS_FATE_STOP);
	bench_close(&b);
}
END_TEST

START_TEST(opening_makes_the_folders_and_empties_tmp)
{
	struct bench b;
	char path[200];
	struct stat s;

	bench_open(&b);
	snprintf(path, sizeof(path), "%s/tmp/run-7.db", b.store);
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	ck_assert_int_eq(stat(path, &s), 0);
	bench_reopen(&b);
	ck_assert_int_eq(stat(path, &s), -1);
	ck_assert_int_eq(stat(b.store, &s), 0);
	ck_assert_int_eq(s.st_mode & 0777, 0750);
	/* Who can read a file can lock it. */
	static const char *const locked[] = {"catalog.db", "catalog.db-wal", "catalog.db-shm",
					     "lock"};

	for (unsigned i = 0; i < ARRAY_LEN(locked); i++) {
		snprintf(path, sizeof(path), "%s/%s", b.store, locked[i]);
		ck_assert_int_eq(stat(path, &s), 0);
		ck_assert_int_eq(s.st_mode & 0777, 0600);
	}
	bench_close(&b);
}
END_TEST

START_TEST(a_store_below_a_missing_folder_is_not_made)
{
	struct store_options options = {.path = "/nowhere-at-all/store"};
	struct ts_error err = TS_ERROR_INIT;
	struct store *st = NULL;

	assert_failed(store_open(&options, &st, &err), &err, "start_failed");
}
END_TEST

START_TEST(network_file_systems_are_told_from_local_ones)
{
	ck_assert_str_eq(store_network_file_system(0x6969), "nfs");
	ck_assert_str_eq(store_network_file_system((long)0xff534d42), "cifs");
	ck_assert_str_eq(store_network_file_system((int)0xfe534d42), "smb2"); /* 32-bit f_type */
	ck_assert_ptr_null(store_network_file_system(0xef53));                /* ext4 */
	ck_assert_ptr_null(store_network_file_system(0x01021994));            /* tmpfs */
	ck_assert_ptr_null(store_network_file_system(0x9123683e));            /* btrfs */
}
END_TEST

static void change_catalog(struct bench *b, const char *sql)
{
	char path[200];
	sqlite3 *h;

	store_close(b->st);
	b->st = NULL;
	snprintf(path, sizeof(path), "%s/catalog.db", b->store);
	ck_assert_int_eq(sqlite3_open(path, &h), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(h, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(h);
}

START_TEST(a_newer_store_is_refused_and_left_as_it_is)
{
	struct bench b;
	struct ts_error err = TS_ERROR_INIT;
	char back[40];
	unsigned newest = 0;

	while (sql_catalog_steps[newest].name)
		newest++;
	snprintf(back, sizeof(back), "pragma user_version = %u", newest);
	bench_open(&b);
	change_catalog(&b, "pragma user_version = 99");
	assert_failed(open_again(&b, &b.st, &err), &err, "store_newer");
	ck_assert_ptr_nonnull(strstr(err.message, "99"));
	change_catalog(&b, back);
	ts_error_init(&err);
	assert_fine(open_again(&b, &b.st, &err), &err);
	bench_close(&b);
}
END_TEST

START_TEST(what_is_no_catalog_is_store_damaged)
{
	struct bench b;
	struct ts_error err = TS_ERROR_INIT;
	char path[200];

	bench_open(&b);
	change_catalog(&b, "pragma application_id = 5");
	assert_failed(open_again(&b, &b.st, &err), &err, "store_damaged");
	snprintf(path, sizeof(path), "%s/catalog.db", b.store);
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	for (int i = 0; i < 100; i++)
		fputs("this is not a database, it only lies where one should be\n", f);
	fclose(f);
	ts_error_init(&err);
	assert_failed(open_again(&b, &b.st, &err), &err, "store_damaged");
	ck_assert_int_eq(err.sql & 0xff, SQLITE_NOTADB);
	bench_close(&b);
}
END_TEST

static void count_call(void *arg)
{
	++*(int *)arg;
}

START_TEST(migration_goes_step_by_step_each_whole_or_not_at_all)
{
	static const struct sql_text one[] = {{"1", "create table a(x);"}, {NULL, NULL}};
	static const struct sql_text three[] = {
		{"1", "create table a(x);"},
		{"2", "insert into a values (7); create table b(x);"},
		{"3", "insert into a values (8); create table b(x);"}, /* fails: b is there */
		{NULL, NULL},
	};
	struct ts_error err = TS_ERROR_INIT;
	struct db *db = NULL;
	uint64_t n = 0;
	int calls = 0;

	assert_fine(db_open(":memory:", SQLITE_OPEN_READWRITE, &db, &err), &err);
	assert_fine(store_migrate_to(db, one, count_call, &calls, &err), &err);
	ck_assert_int_eq(calls, 1);
	assert_failed(store_migrate_to(db, three, count_call, &calls, &err), &err, "internal");
	ts_error_init(&err);
	assert_fine(db_number(db, "pragma user_version", &n, &err), &err);
	ck_assert_uint_eq(n, 2);
	assert_fine(db_number(db, "select sum(x) from a", &n, &err), &err);
	ck_assert_uint_eq(n, 7);
	assert_fine(db_close(db, &err), &err);
}
END_TEST

START_TEST(a_statement_that_was_closed_does_not_pin_the_log_and_is_used_again)
{
	struct bench b;
	struct ts_error err = TS_ERROR_INIT;
	struct bench_run run;
	struct db *db = NULL;
	struct query *q = NULL;
	struct store_sizes sizes;

	bench_open(&b);
	assert_fine(store_catalog_db(b.st, 0, &db, &err), &err);
	bench_run(&run, 1);
	bench_commit(&b, &run.r, false);
	assert_fine(query_open(db, "run_by_id", &q, &err), &err);
	query_bind_str(q, 1, run.r.id);
	ck_assert_int_eq(query_step(q, &err), 1);
	sqlite3_stmt *first = q->stmt;

	query_close(q);
	ck_assert_ptr_null(
		sqlite3_next_stmt(db->h, NULL) == first && sqlite3_stmt_busy(first) ? first : NULL);
	assert_fine(query_open(db, "run_by_id", &q, &err), &err);
	ck_assert_ptr_eq(q->stmt, first);
	/* Its old binding is gone. */
	ck_assert_int_eq(query_step(q, &err), 0);
	query_close(q);
	db_release(db);
	/* Commits go on at the start of the log once it was written back. */
	for (unsigned i = 2; i < 200; i++) {
		bench_run(&run, i);
		bench_commit(&b, &run.r, false);
		if (i % 20 == 0)
			assert_fine(store_checkpoint(b.st, &err), &err);
	}
	assert_fine(store_sizes(b.st, &sizes, &err), &err);
	ck_assert_uint_gt(sizes.wal_bytes, 0);
	ck_assert_uint_lt(sizes.wal_bytes, 2 * 1024 * 1024);
	ck_assert_uint_gt(sizes.catalog_bytes, 50000);
	ck_assert_uint_gt(sizes.free_bytes, 0);
	bench_close(&b);
}
END_TEST

START_TEST(readers_see_the_newest_commit_and_cannot_write)
{
	struct bench b;
	struct ts_error err = TS_ERROR_INIT;
	struct bench_run run;
	struct db *one = NULL, *two = NULL;
	uint64_t n = 9;

	bench_open(&b);
	assert_fine(store_catalog_db(b.st, 0, &one, &err), &err);
	assert_fine(store_catalog_db(b.st, 0, &two, &err), &err);
	ck_assert_ptr_ne(one, two);
	assert_fine(db_number(two, "select count(*) from runs", &n, &err), &err);
	ck_assert_uint_eq(n, 0);
	bench_run(&run, 1);
	bench_commit(&b, &run.r, false);
	assert_fine(db_number(two, "select count(*) from runs", &n, &err), &err);
	ck_assert_uint_eq(n, 1);
	ck_assert_int_eq(db_exec(one, "delete from runs", &err), -1);
	ck_assert_int_eq(err.sql & 0xff, SQLITE_READONLY);
	db_release(one);
	db_release(two);
	bench_close(&b);
}
END_TEST

START_TEST(more_run_files_are_open_at_once_than_are_kept)
{
	enum { RUNS = 40 };
	struct bench b;
	struct ts_error err = TS_ERROR_INIT;
	char digest[DIGEST_TEXT + 1];
	struct db *dbs[RUNS];
	uint64_t bytes, n = 0;

	bench_open(&b);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < RUNS; i++) {
			digest_of(i << 24, digest);
			if (round == 0) {
				struct runfile *rf = bench_runfile(b.st, RUN_EXECUTION);

				assert_fine(runfile_index(rf, &err), &err);
				assert_fine(runfile_publish(rf, digest, 1, &bytes, &err), &err);
				runfile_free(rf);
			}
			assert_fine(store_run_db(b.st, digest, 1, 0, &dbs[i], &err), &err);
			assert_fine(db_number(dbs[i], "select count(*) from spans", &n, &err),
				    &err);
		}
		for (unsigned i = 0; i < RUNS; i++)
			db_release(dbs[i]);
		ck_assert_uint_eq(b.st->run_pool.count, 16);
	}
	/* A run that is removed while it is kept open is gone. */
	digest_of((RUNS - 1) << 24, digest);
	assert_fine(store_unlink_run(b.st, digest, 1, &err), &err);
	assert_failed(store_run_db(b.st, digest, 1, 0, &dbs[0], &err), &err, "unknown_run");
	bench_close(&b);
}
END_TEST

struct holder {
	struct store *st;
	int *inside, most, rounds;
};

static void *hold(void *arg)
{
	struct holder *h = arg;
	struct ts_error err = TS_ERROR_INIT;

	for (int i = 0; i < h->rounds; i++) {
		if (store_digest_lock(h->st, "sha256:aa", &err) < 0)
			break;
		int now = __atomic_add_fetch(h->inside, 1, __ATOMIC_SEQ_CST);

		if (now > h->most)
			h->most = now;
		sched_yield();
		__atomic_sub_fetch(h->inside, 1, __ATOMIC_SEQ_CST);
		store_digest_unlock(h->st, "sha256:aa");
	}
	return NULL;
}

START_TEST(one_worker_at_a_time_has_a_digest)
{
	struct bench b;
	struct ts_error err = TS_ERROR_INIT;
	struct holder holders[4];
	pthread_t threads[4];
	int inside = 0;

	bench_open(&b);
	/* Another digest is free meanwhile. */
	assert_fine(store_digest_lock(b.st, "sha256:bb", &err), &err);
	for (unsigned i = 0; i < ARRAY_LEN(threads); i++) {
		holders[i] = (struct holder){.st = b.st, .inside = &inside, .rounds = 500};
		ck_assert_int_eq(pthread_create(&threads[i], NULL, hold, &holders[i]), 0);
	}
	for (unsigned i = 0; i < ARRAY_LEN(threads); i++) {
		pthread_join(threads[i], NULL);
		ck_assert_int_eq(holders[i].most, 1);
	}
	store_digest_unlock(b.st, "sha256:bb");
	bench_close(&b);
}
END_TEST

static void put_span(struct runfile *rf)
{
	struct sink *sink = runfile_sink(rf);
	struct ts_error err = TS_ERROR_INIT;
	const struct row_span span = {
		.no = 1, .id = TS_STR("s"), .name = TS_STR("n"), .span_kind = TS_STR("op")};

	assert_fine(sink->row(sink, ROW_SPAN, &span, &err), &err);
}

/* Number of entries in a folder of the store. */
static unsigned entries(const struct bench *b, const char *folder)
{
	char path[200];
	unsigned n = 0;
	struct dirent *entry;

	snprintf(path, sizeof(path), "%s/%s", b->store, folder);
	DIR *dir = opendir(path);

	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

START_TEST(a_published_run_is_read_back_and_an_abandoned_one_leaves_nothing)
{
	struct bench b;
	struct ts_error err = TS_ERROR_INIT;
	char digest[DIGEST_TEXT + 1], path[300];
	uint64_t bytes = 0;
	struct stat s;
	struct db *db = NULL;
	struct query *q = NULL;
	struct sealed *sealed = NULL;

	bench_open(&b);
	digest_of(0xab123456, digest);
	struct runfile *rf = bench_runfile_of(b.st, RUN_EXECUTION, 1 << 20);

	put_span(rf);
	ck_assert_uint_eq(entries(&b, "tmp"), 1);
	runfile_free(rf);
	ck_assert_uint_eq(entries(&b, "tmp"), 0);
	rf = bench_runfile(b.st, RUN_EXECUTION); /* in memory until it is sealed */
	put_span(rf);
	ck_assert_uint_eq(entries(&b, "tmp"), 0);
	assert_fine(runfile_index(rf, &err), &err);
	assert_fine(runfile_seal(rf, digest, 1, &sealed, &err), &err);
	ck_assert_uint_eq(entries(&b, "tmp"), 1);
	sealed_free(sealed);
	runfile_free(rf);
	ck_assert_uint_eq(entries(&b, "tmp"), 0);
	assert_failed(store_run_db(b.st, digest, 1, 0, &db, &err), &err, "unknown_run");
	ts_error_init(&err);

	rf = bench_runfile(b.st, RUN_EXECUTION);
	put_span(rf);
	assert_fine(runfile_index(rf, &err), &err);
	assert_fine(runfile_publish(rf, digest, 1, &bytes, &err), &err);
	runfile_free(rf);
	ck_assert_uint_eq(entries(&b, "tmp"), 0);
	snprintf(path, sizeof(path), "%s/runs/ab/%s-1.db", b.store, digest + 7);
	ck_assert_int_eq(stat(path, &s), 0);
	ck_assert_uint_eq((uint64_t)s.st_size, bytes);
	ck_assert_int_eq(s.st_mode & 0777, 0640);

	assert_fine(store_run_db(b.st, digest, 1, 0, &db, &err), &err);
	const char *sql = "select id from spans";

	assert_fine(query_open_sql(db, sql, strlen(sql), &q, &err), &err);
	ck_assert_int_eq(query_step(q, &err), 1);
	ck_assert(ts_str_is(query_str(q, 0), "s"));
	query_close(q);
	sql = "delete from span_rows";
	assert_fine(query_open_sql(db, sql, strlen(sql), &q, &err), &err);
	ck_assert_int_eq(query_step(q, &err), -1);
	query_close(q);
	db_release(db);
	bench_close(&b);
}
END_TEST

START_TEST(a_small_run_takes_few_pages_and_a_large_one_large_pages)
{
	struct runfile *rf;
	struct ts_error err = TS_ERROR_INIT;
	uint64_t size = 0;

	assert_fine(runfile_create(NULL, RUN_EXECUTION, 1024 * 1024 - 1, &rf, &err), &err);
	assert_fine(db_number(runfile_db(rf), "pragma page_size", &size, &err), &err);
	ck_assert_uint_eq(size, 4096);
	runfile_free(rf);
	assert_fine(runfile_create(NULL, RUN_EXECUTION, 1024 * 1024, &rf, &err), &err);
	assert_fine(db_number(runfile_db(rf), "pragma page_size", &size, &err), &err);
	ck_assert_uint_eq(size, 16384);
	runfile_free(rf);
}
END_TEST

START_TEST(a_run_file_that_cannot_grow_is_a_full_disk)
{
	struct bench b;
	struct ts_error err = TS_ERROR_INIT;
	char name[1000];
	int n = 0;

	bench_open(&b);
	struct runfile *rf = bench_runfile(b.st, RUN_EXECUTION);

	assert_fine(db_exec(runfile_db(rf), "pragma max_page_count = 60", &err), &err);
	memset(name, 'x', sizeof(name));
	for (int i = 0; i < 10000 && n == 0; i++)
		n = runfile_sink(rf)->row(
			runfile_sink(rf), ROW_SPAN,
			&(struct row_span){.no = (uint64_t)i + 1, .id = ts_str(name, sizeof(name))},
			&err);
	assert_failed(n, &err, "disk_full");
	ck_assert_int_eq(err.sql & 0xff, SQLITE_FULL);
	ck_assert_int_eq(err.code->fate, TS_FATE_RETRY);
	runfile_free(rf);
	ck_assert_uint_eq(entries(&b, "tmp"), 0);
	bench_close(&b);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("store");
	TCase *t = tcase_create("store");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, a_second_daemon_is_kept_out);
	tcase_add_test(t, opening_makes_the_folders_and_empties_tmp);
	tcase_add_test(t, a_store_below_a_missing_folder_is_not_made);
	tcase_add_test(t, network_file_systems_are_told_from_local_ones);
	tcase_add_test(t, a_newer_store_is_refused_and_left_as_it_is);
	tcase_add_test(t, what_is_no_catalog_is_store_damaged);
	tcase_add_test(t, migration_goes_step_by_step_each_whole_or_not_at_all);
	tcase_add_test(t, a_statement_that_was_closed_does_not_pin_the_log_and_is_used_again);
	tcase_add_test(t, readers_see_the_newest_commit_and_cannot_write);
	tcase_add_test(t, more_run_files_are_open_at_once_than_are_kept);
	tcase_add_test(t, one_worker_at_a_time_has_a_digest);
	tcase_add_test(t, a_published_run_is_read_back_and_an_abandoned_one_leaves_nothing);
	tcase_add_test(t, a_small_run_takes_few_pages_and_a_large_one_large_pages);
	tcase_add_test(t, a_run_file_that_cannot_grow_is_a_full_disk);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
