/* ingest_recovery.c: what a crash can leave behind, put there by hand, and what a start makes of it
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ingest_bench.h"

static struct bench b;

static void setup(void)
{
	bench_open(&b);
}

static void teardown(void)
{
	bench_close(&b);
}

/* Ingests one drop, stops, and moves its source back into .active/: the state of a crash between
 * commit and move. Returns where the source was. */
static void crash_before_move(const char *name, const char *text, const char *state,
			      char source[static 300])
{
	char active[300], receipt[300];
	json_t *r;

	bench_start(&b);
	bench_drop(&b, name, text);
	r = bench_receipt(&b, name, state);
	bench_idle(&b);
	bench_stop(&b);
	snprintf(source, 300, "spool/%s", text_of(r, "source.path"));
	snprintf(active, sizeof(active), "spool/.active/%s", name);
	snprintf(receipt, sizeof(receipt), "spool/.receipts/%s.json", name);
	bench_rename(&b, source, active);
	/* The receipt file comes before the move, so it may be missing as well. */
	bench_rename(&b, receipt, "old-receipt.json");
	json_decref(r);
}

static void restart(void)
{
	bench_reopen(&b);
	bench_start(&b);
	bench_idle(&b);
	ck_assert_uint_eq(bench_count(&b, "spool/.active"), 0);
}

START_TEST(a_claimed_drop_without_receipt_is_ingested)
{
	json_t *r;

	bench_write_text(&b, "spool/.active/a.jsonl", execution_trace("a"));
	bench_mkdir(&b, "spool/.active/f");
	bench_write_text(&b, "spool/.active/f/x.jsonl", request_trace("x", 2));
	restart();
	json_decref(bench_receipt(&b, "a.jsonl", "ingested"));
	r = bench_receipt(&b, "f", "ingested");
	ck_assert_int_eq(number_of(r, "counts.requests"), 2);
	ck_assert_uint_eq(bench_runs(&b), 2);
	ck_assert_uint_eq(bench_receipts(&b, NULL), 2);
	json_decref(r);
}
END_TEST

START_TEST(a_claimed_bad_drop_is_refused_once)
{
	bench_write_text(&b, "spool/.active/a.jsonl", "{\n");
	restart();
	json_decref(bench_receipt(&b, "a.jsonl", "quarantined"));
	restart();
	ck_assert_uint_eq(bench_receipts(&b, NULL), 1);
	ck_assert_uint_eq(bench_count(&b, "spool/.quarantine"), 2);
}
END_TEST

START_TEST(a_committed_drop_is_only_moved)
{
	char source[300];
	json_t *r, *was;

	crash_before_move("a.jsonl", execution_trace("a"), "ingested", source);
	restart();
	ck_assert(bench_exists(&b, source));
	r = bench_receipt(&b, "a.jsonl", "ingested");
	char *text = bench_read(&b, "old-receipt.json");

	was = json_loads(text, 0, NULL);
	ck_assert(json_equal(r, was));
	ck_assert_uint_eq(bench_runs(&b), 1);
	ck_assert_uint_eq(bench_receipts(&b, NULL), 1);
	free(text);
	json_decref(was);
	json_decref(r);
}
END_TEST

START_TEST(a_refused_drop_is_only_moved_and_has_its_report)
{
	char source[300], report[310];

	crash_before_move("bad.jsonl", "{\n", "quarantined", source);
	snprintf(report, sizeof(report), "%s.json", source);
	bench_rename(&b, report, "old-report.json");
	restart();
	ck_assert(bench_exists(&b, source));
	ck_assert(bench_exists(&b, report));
	json_decref(bench_receipt(&b, "bad.jsonl", "quarantined"));
	ck_assert_uint_eq(bench_receipts(&b, NULL), 1);
}
END_TEST

START_TEST(a_refused_drop_without_digest_is_only_moved)
{
	char path[200], source[300];
	json_t *r;

	snprintf(path, sizeof(path), "%s/l.jsonl", b.spool_path);
	bench_start(&b);
	ck_assert_int_eq(symlink("nowhere", path), 0);
	ck_assert(ingest_offer(b.in, "l.jsonl", 1));
	r = bench_receipt(&b, "l.jsonl", "quarantined");
	bench_idle(&b);
	bench_stop(&b);
	snprintf(source, sizeof(source), "spool/%s", text_of(r, "source.path"));
	bench_rename(&b, source, "spool/.active/l.jsonl");
	restart();
	ck_assert(bench_exists(&b, source));
	ck_assert_uint_eq(bench_receipts(&b, NULL), 1);
	json_decref(r);
}
END_TEST

START_TEST(a_new_drop_of_the_same_name_and_bytes_is_a_duplicate)
{
	bench_start(&b);
	bench_drop(&b, "a.jsonl", execution_trace("a"));
	json_decref(bench_receipt(&b, "a.jsonl", "ingested"));
	bench_idle(&b);
	bench_stop(&b);
	bench_write_text(&b, "spool/.active/a.jsonl", execution_trace("a"));
	restart();
	json_decref(bench_receipt(&b, "a.jsonl", "duplicate"));
	ck_assert_uint_eq(bench_runs(&b), 1);
	ck_assert_uint_eq(bench_receipts(&b, NULL), 2);
	ck_assert_uint_eq(bench_count(&b, "spool/.archive"), 2);
}
END_TEST

START_TEST(a_kept_drop_goes_back_and_stays_known)
{
	char source[300], path[200];
	struct stat st;

	b.conf.spool.after = AFTER_KEEP;
	crash_before_move("a.jsonl", execution_trace("a"), "ingested", source);
	ck_assert_str_eq(source, "spool/a.jsonl");
	restart();
	ck_assert(bench_exists(&b, source));
	ck_assert_uint_eq(bench_receipts(&b, NULL), 1);
	snprintf(path, sizeof(path), "%s/a.jsonl", b.spool_path);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert(ingest_is_known(b.in, "a.jsonl", &st));
	st.st_size++;
	ck_assert(!ingest_is_known(b.in, "a.jsonl", &st));
}
END_TEST

START_TEST(a_kept_drop_whose_name_is_taken_again_is_archived)
{
	char source[300];
	json_t *r;

	b.conf.spool.after = AFTER_KEEP;
	crash_before_move("a.jsonl", execution_trace("a"), "ingested", source);
	bench_write_text(&b, "spool/a.jsonl", "another file");
	bench_reopen(&b);
	bench_start(&b);
	r = bench_receipt_action(&b, "a.jsonl", "ingested", "archived");
	bench_idle(&b);
	ck_assert_uint_eq(bench_count(&b, "spool/.active"), 0);
	ck_assert_uint_eq(bench_count(&b, "spool/.archive"), 1);
	ck_assert(bench_exists(&b, "spool/a.jsonl"));
	json_decref(r);
}
END_TEST

START_TEST(a_place_that_is_taken_meanwhile_gives_way_to_another)
{
	char source[300], path[320];
	json_t *r;

	crash_before_move("a.jsonl", execution_trace("a"), "ingested", source);
	bench_write_text(&b, source, "somebody else's");
	restart();
	r = bench_receipt(&b, "a.jsonl", "ingested");
	snprintf(path, sizeof(path), "spool/%s", text_of(r, "source.path"));
	ck_assert_str_ne(path, source);
	ck_assert(bench_exists(&b, path));
	ck_assert_uint_eq(bench_count(&b, "spool/.archive"), 2);
	ck_assert_uint_eq(bench_receipts(&b, NULL), 1);
	json_decref(r);
}
END_TEST

START_TEST(a_run_file_that_the_catalog_does_not_name_is_removed)
{
	static const char orphan[] =
		"store/runs/ab/"
		"ab00000000000000000000000000000000000000000000000000000000000000"
		"-1.db";

	bench_mkdir(&b, "store/runs/ab");
	bench_write_text(&b, orphan, "left over");
	restart();
	ck_assert(!bench_exists(&b, orphan));
}
END_TEST

START_TEST(a_stop_in_the_middle_leaves_the_drop_for_the_next_start)
{
	struct buf big = BUF_INIT;
	struct ingest_state state;
	json_t *r;

	for (unsigned i = 0; i < 4000; i++) {
		char id[20];

		snprintf(id, sizeof(id), "r%u", i);
		buf_puts(&big, request_trace(id, 50));
	}
	b.conf.ingest.workers = 1;
	bench_start(&b);
	bench_drop(&b, "big.jsonl", big.data);
	do {
		ingest_snapshot(b.in, &state);
	} while (!state.ingesting || !bench_exists(&b, "spool/.active/big.jsonl"));
	ck_assert_int_gt(state.heartbeat_ms, 0);
	bench_stop(&b);
	ck_assert(bench_exists(&b, "spool/.active/big.jsonl"));
	ck_assert_uint_eq(bench_count(&b, "store/tmp"), 0);
	ck_assert_uint_eq(bench_count(&b, "store/runs"), 0);
	ck_assert_uint_eq(bench_receipts(&b, NULL), 0);
	restart();
	r = bench_receipt(&b, "big.jsonl", "ingested");
	ck_assert_int_eq(number_of(r, "counts.requests"), 200000);
	json_decref(r);
	buf_done(&big);
}
END_TEST

Suite *ingest_recovery_suite(void)
{
	Suite *s = suite_create("ingest_recovery");
	TCase *t = tcase_create("recovery");

	tcase_set_timeout(t, 90);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_claimed_drop_without_receipt_is_ingested);
	tcase_add_test(t, a_claimed_bad_drop_is_refused_once);
	tcase_add_test(t, a_committed_drop_is_only_moved);
	tcase_add_test(t, a_refused_drop_is_only_moved_and_has_its_report);
	tcase_add_test(t, a_refused_drop_without_digest_is_only_moved);
	tcase_add_test(t, a_new_drop_of_the_same_name_and_bytes_is_a_duplicate);
	tcase_add_test(t, a_kept_drop_goes_back_and_stays_known);
	tcase_add_test(t, a_kept_drop_whose_name_is_taken_again_is_archived);
	tcase_add_test(t, a_place_that_is_taken_meanwhile_gives_way_to_another);
	tcase_add_test(t, a_run_file_that_the_catalog_does_not_name_is_removed);
	tcase_add_test(t, a_stop_in_the_middle_leaves_the_drop_for_the_next_start);
	suite_add_tcase(s, t);
	return s;
}
