/* ingest_failures.c: drops that cannot be taken now: waiting, pausing, moves that fail, keep,
 * delete */
#include <errno.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ingest_bench.h"

static struct bench b;
static atomic_int writes_left; /* the writer that the service meets while it reads */

static void setup(void)
{
	bench_open(&b);
}

static void teardown(void)
{
	bench_close(&b);
}

/* Called between claim and first byte: another line is written then. */
static void write_meanwhile(void *arg)
{
	if (bench_exists(arg, "spool/.active/w.jsonl") && atomic_fetch_sub(&writes_left, 1) > 0)
		bench_append(arg, "spool/.active/w.jsonl", "\n");
}

static bool paused_for(const char *code)
{
	struct ingest_state state;

	ingest_snapshot(b.in, &state);
	return code ? state.paused && strcmp(state.paused, code) == 0 : state.paused == NULL;
}

static void wait_paused(const char *code)
{
	for (int i = 0; i < 4000 && !paused_for(code); i++)
		usleep(5000);
	ck_assert_msg(paused_for(code), "not paused for %s", code ? code : "(nothing)");
}

START_TEST(a_drop_that_changes_while_it_is_read_waits_for_the_watcher)
{
	json_t *r;

	b.changed = write_meanwhile;
	atomic_store(&writes_left, 1);
	bench_start(&b);
	bench_drop(&b, "w.jsonl", execution_trace("w"));
	r = bench_receipt(&b, "w.jsonl", "failed");
	bench_idle(&b);
	ck_assert_str_eq(text_of(r, "reason.code"), "changed_while_reading");
	ck_assert(json_is_false(member(r, "final")));
	ck_assert(is_null(r, "final_at"));
	ck_assert(is_null(r, "source"));
	ck_assert(is_null(r, "run"));
	ck_assert(!is_null(r, "retry_at"));
	json_decref(r);
	ck_assert(bench_exists(&b, "spool/w.jsonl"));
	ck_assert_uint_eq(bench_count(&b, "spool/.active"), 0);
	ck_assert_uint_eq(bench_runs(&b), 0);
	ck_assert_uint_eq(bench_receipts(&b, "failed"), 1);
	/* Nobody offers it: it is not touched, whatever its retry time says. */
	usleep(1300000);
	ck_assert(bench_exists(&b, "spool/w.jsonl"));
	ck_assert(ingest_offer(b.in, "w.jsonl", 1));
	json_decref(bench_receipt(&b, "w.jsonl", "ingested"));
	bench_idle(&b);
	ck_assert_uint_eq(bench_runs(&b), 1);
	ck_assert_uint_eq(bench_receipts(&b, NULL), 1);
}
END_TEST

START_TEST(with_the_watcher_a_changed_drop_is_taken_when_it_is_at_rest)
{
	b.changed = write_meanwhile;
	atomic_store(&writes_left, 1);
	bench_start(&b);
	bench_watch(&b);
	bench_write_text(&b, "spool/.w", execution_trace("w"));
	bench_rename(&b, "spool/.w", "spool/w.jsonl");
	json_decref(bench_receipt(&b, "w.jsonl", "ingested"));
	bench_idle(&b);
	ck_assert_int_le(atomic_load(&writes_left), 0);
	ck_assert_uint_eq(bench_runs(&b), 1);
	ck_assert_uint_eq(bench_receipts(&b, "failed"), 0);
}
END_TEST

START_TEST(a_trace_written_in_place_waits_for_its_terminal_record)
{
	const char *trace = execution_trace("c01");
	const char *last = strstr(trace, "{\"kind\":\"terminal\"");
	char *front = strndup(trace, (size_t)(last - trace));
	struct buf live = BUF_INIT;
	json_t *doc;

	bench_start(&b);
	bench_watch(&b);
	bench_write_text(&b, "spool/c.jsonl", front);
	usleep(400000); /* several times the settle time */
	ck_assert(ingest_live_receipt(b.in, TS_STR("c.jsonl"), &live));
	doc = json_loads(live.data, 0, NULL);
	ck_assert_str_eq(text_of(doc, "state"), "waiting");
	ck_assert(json_is_false(member(doc, "final")));
	ck_assert(is_null(doc, "digest"));
	ck_assert(is_null(doc, "reason"));
	ck_assert(!is_null(doc, "seen_at"));
	ck_assert(!ingest_live_receipt(b.in, TS_STR("nobody.jsonl"), &live));
	bench_append(&b, "spool/c.jsonl", last);
	json_decref(bench_receipt(&b, "c.jsonl", "ingested"));
	ck_assert_uint_eq(bench_receipts(&b, NULL), 1);
	json_decref(doc);
	buf_done(&live);
	free(front);
}
END_TEST

START_TEST(a_busy_store_pauses_intake_and_nothing_is_lost)
{
	char path[200];
	struct buf live = BUF_INIT;
	sqlite3 *other;
	json_t *r;

	b.conf.ingest.workers = 1;
	bench_start(&b);
	snprintf(path, sizeof(path), "%s/catalog.db", b.store_path);
	ck_assert_int_eq(sqlite3_open(path, &other), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(other, "begin immediate", NULL, NULL, NULL), SQLITE_OK);
	bench_drop(&b, "one.jsonl", execution_trace("one"));
	bench_drop(&b, "two.jsonl", execution_trace("two"));
	wait_paused("store_busy");
	r = bench_receipt(&b, "one.jsonl", "failed");
	ck_assert_str_eq(text_of(r, "reason.code"), "store_busy");
	ck_assert(!is_null(r, "retry_at"));
	json_decref(r);
	ck_assert(bench_exists(&b, "spool/one.jsonl"));
	ck_assert(ingest_live_receipt(b.in, TS_STR("one.jsonl"), &live));
	ck_assert_ptr_nonnull(strstr(live.data, "store_busy"));
	ck_assert_int_eq(sqlite3_exec(other, "rollback", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(other);
	json_decref(bench_receipt(&b, "one.jsonl", "ingested"));
	json_decref(bench_receipt(&b, "two.jsonl", "ingested"));
	wait_paused(NULL);
	bench_idle(&b);
	ck_assert_uint_eq(bench_runs(&b), 2);
	ck_assert_uint_eq(bench_count(&b, "store/runs"), 2);
	ck_assert_uint_eq(bench_receipts(&b, "failed"), 0);
	buf_done(&live);
}
END_TEST

START_TEST(a_commit_that_fails_leaves_the_drop_and_no_run_file)
{
	char path[200];
	sqlite3 *other;
	json_t *r;

	bench_start(&b);
	snprintf(path, sizeof(path), "%s/catalog.db", b.store_path);
	ck_assert_int_eq(sqlite3_open(path, &other), SQLITE_OK);
	ck_assert_int_eq(sqlite3_exec(other,
				      "create trigger stop before insert on runs begin "
				      "select raise(abort, 'no'); end",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	bench_drop(&b, "a.jsonl", execution_trace("a"));
	r = bench_receipt(&b, "a.jsonl", "failed");
	ck_assert(!is_null(r, "retry_at"));
	json_decref(r);
	for (int i = 0; i < 1000 && !bench_exists(&b, "spool/a.jsonl"); i++)
		usleep(5000);
	ck_assert(bench_exists(&b, "spool/a.jsonl"));
	wait_paused("internal");
	ck_assert_uint_eq(bench_count(&b, "store/runs"), 0);
	ck_assert_uint_eq(bench_count(&b, "spool/.archive"), 0);
	ck_assert_int_eq(sqlite3_exec(other, "drop trigger stop", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(other);
	json_decref(bench_receipt(&b, "a.jsonl", "ingested"));
	bench_idle(&b);
	ck_assert_uint_eq(bench_runs(&b), 1);
	ck_assert_uint_eq(bench_receipts(&b, NULL), 1);
	ck_assert_uint_eq(bench_count(&b, "spool/.archive"), 1);
	wait_paused(NULL);
}
END_TEST

START_TEST(below_the_floor_nothing_is_claimed)
{
	b.conf.store.min_free_bytes = UINT64_MAX;
	bench_start(&b);
	bench_drop(&b, "a.jsonl", execution_trace("a"));
	wait_paused("disk_floor");
	ck_assert(bench_exists(&b, "spool/a.jsonl"));
	ck_assert(!bench_exists(&b, "spool/.receipts/a.jsonl.json"));
	bench_stop(&b);
	b.conf.store.min_free_bytes = 1;
	bench_start(&b);
	ck_assert(ingest_offer(b.in, "a.jsonl", 1));
	json_decref(bench_receipt(&b, "a.jsonl", "ingested"));
	ck_assert(paused_for(NULL));
}
END_TEST

START_TEST(a_source_that_cannot_be_archived_is_a_run_once_and_is_moved_later)
{
	time_t now = time(NULL);
	char year[40];
	struct tm tm;
	json_t *r;

	gmtime_r(&now, &tm);
	snprintf(year, sizeof(year), "spool/.archive/%04d", tm.tm_year + 1900);
	bench_write_text(&b, year, "in the way");
	bench_start(&b);
	bench_drop(&b, "a.jsonl", execution_trace("a"));
	r = bench_receipt_action(&b, "a.jsonl", "ingested", "failed");
	ck_assert_int_eq(number_of(r, "source.errno"), ENOTDIR);
	ck_assert_str_eq(text_of(r, "run.id"), "a");
	json_decref(r);
	ck_assert(bench_exists(&b, "spool/.active/a.jsonl"));
	ck_assert_uint_eq(bench_runs(&b), 1);
	bench_reopen(&b);
	bench_start(&b);
	usleep(100000);
	ck_assert_uint_eq(bench_runs(&b), 1);
	ck_assert_uint_eq(bench_receipts(&b, NULL), 1);
	bench_rename(&b, year, "out-of-the-way");
	r = bench_receipt_action(&b, "a.jsonl", "ingested", "archived");
	bench_idle(&b);
	ck_assert_uint_eq(bench_count(&b, "spool/.active"), 0);
	ck_assert_uint_eq(bench_count(&b, "spool/.archive"), 1);
	ck_assert_uint_eq(bench_receipts(&b, NULL), 1);
	ck_assert(!json_object_get(member(r, "source"), "errno"));
	json_decref(r);
}
END_TEST

START_TEST(after_delete_removes_the_source_of_good_drops_only)
{
	json_t *r;

	b.conf.spool.after = AFTER_DELETE;
	bench_start(&b);
	bench_drop(&b, "a.jsonl", execution_trace("a"));
	r = bench_receipt(&b, "a.jsonl", "ingested");
	ck_assert_str_eq(text_of(r, "source.action"), "deleted");
	ck_assert(is_null(r, "source.path"));
	json_decref(r);
	bench_drop(&b, "bad.jsonl", "{\n");
	r = bench_receipt(&b, "bad.jsonl", "quarantined");
	json_decref(r);
	bench_idle(&b);
	ck_assert(!bench_exists(&b, "spool/a.jsonl"));
	ck_assert_uint_eq(bench_count(&b, "spool/.active"), 0);
	ck_assert_uint_eq(bench_count(&b, "spool/.archive"), 0);
	ck_assert_uint_eq(bench_count(&b, "spool/.quarantine"), 2);
}
END_TEST

START_TEST(after_keep_leaves_the_source_and_knows_it_again)
{
	json_t *r;

	b.conf.spool.after = AFTER_KEEP;
	bench_start(&b);
	bench_watch(&b);
	bench_write_text(&b, "spool/.a", execution_trace("a"));
	bench_rename(&b, "spool/.a", "spool/a.jsonl");
	r = bench_receipt(&b, "a.jsonl", "ingested");
	ck_assert_str_eq(text_of(r, "source.action"), "kept");
	ck_assert_str_eq(text_of(r, "source.path"), "a.jsonl");
	json_decref(r);
	usleep(500000); /* several scans */
	bench_idle(&b);
	ck_assert(bench_exists(&b, "spool/a.jsonl"));
	ck_assert_uint_eq(bench_receipts(&b, NULL), 1);
	/* Other content under the name is another drop (C09). */
	bench_write_text(&b, "spool/.a", execution_trace("b"));
	bench_rename(&b, "spool/.a", "spool/a.jsonl");
	for (int i = 0; i < 2000 && bench_runs(&b) < 2; i++)
		usleep(5000);
	bench_idle(&b);
	ck_assert_uint_eq(bench_runs(&b), 2);
	ck_assert(bench_exists(&b, "spool/a.jsonl"));
	ck_assert_uint_eq(bench_count(&b, "spool/.archive"), 0);
}
END_TEST

START_TEST(links_and_long_names_are_refused_without_being_read)
{
	char name[256], path[400], quarantined[400];
	json_t *r;

	bench_start(&b);
	snprintf(path, sizeof(path), "%s/link.jsonl", b.spool_path);
	ck_assert_int_eq(symlink("/etc/passwd", path), 0);
	ck_assert(ingest_offer(b.in, "link.jsonl", 1));
	r = bench_receipt(&b, "link.jsonl", "quarantined");
	bench_idle(&b);
	ck_assert_str_eq(text_of(r, "reason.code"), "not_a_regular_file");
	ck_assert(is_null(r, "digest"));
	ck_assert(is_null(r, "size_bytes"));
	snprintf(quarantined, sizeof(quarantined), "spool/%s", text_of(r, "source.path"));
	ck_assert(bench_exists(&b, quarantined));
	json_decref(r);
	memset(name, 'n', 201);
	strcpy(name + 195, ".jsonl");
	bench_drop(&b, name, execution_trace("n"));
	bench_idle(&b);
	ck_assert_uint_eq(bench_receipts(&b, "quarantined"), 2);
	ck_assert_uint_eq(bench_count(&b, "spool/.receipts"), 1);
	ck_assert_uint_eq(bench_count(&b, "spool/.quarantine"), 4);
	ck_assert_uint_eq(bench_runs(&b), 0);
}
END_TEST

Suite *ingest_failures_suite(void)
{
	Suite *s = suite_create("ingest_failures");
	TCase *t = tcase_create("failures");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_drop_that_changes_while_it_is_read_waits_for_the_watcher);
	tcase_add_test(t, with_the_watcher_a_changed_drop_is_taken_when_it_is_at_rest);
	tcase_add_test(t, a_trace_written_in_place_waits_for_its_terminal_record);
	tcase_add_test(t, a_busy_store_pauses_intake_and_nothing_is_lost);
	tcase_add_test(t, a_commit_that_fails_leaves_the_drop_and_no_run_file);
	tcase_add_test(t, below_the_floor_nothing_is_claimed);
	tcase_add_test(t, a_source_that_cannot_be_archived_is_a_run_once_and_is_moved_later);
	tcase_add_test(t, after_delete_removes_the_source_of_good_drops_only);
	tcase_add_test(t, after_keep_leaves_the_source_and_knows_it_again);
	tcase_add_test(t, links_and_long_names_are_refused_without_being_read);
	suite_add_tcase(s, t);
	return s;
}
