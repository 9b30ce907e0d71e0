/* ingest_group.c: many drops that wait at once become what each would have become alone */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ingest_bench.h"

#include "tracespool/buf.h"

static struct bench b;

static void setup(void)
{
	bench_open(&b);
}

static void teardown(void)
{
	bench_close(&b);
}

/* In front of all else when the workers start: so all of them wait. */
static void waits(const char *name, const char *text)
{
	char path[300];

	snprintf(path, sizeof(path), "spool/.active/%s", name);
	bench_write_text(&b, path, text);
}

static void run_waits(unsigned n)
{
	char name[40], id[40];

	snprintf(name, sizeof(name), "n%03u.jsonl", n);
	snprintf(id, sizeof(id), "run-%u", n);
	waits(name, execution_trace(id));
}

static void became(const char *name, const char *state)
{
	json_decref(bench_receipt(&b, name, state));
}

START_TEST(each_of_many_is_a_run_with_receipt_and_source)
{
	enum { MANY = 150 };
	char name[40], id[40], path[200];

	for (unsigned i = 0; i < MANY; i++)
		run_waits(i);
	bench_start(&b);
	for (unsigned i = 0; i < MANY; i++) {
		json_t *r;

		snprintf(name, sizeof(name), "n%03u.jsonl", i);
		snprintf(id, sizeof(id), "run-%u", i);
		r = bench_receipt_action(&b, name, "ingested", "archived");
		ck_assert_str_eq(text_of(r, "run.id"), id);
		ck_assert_int_eq(number_of(r, "counts.lines"), 9);
		json_decref(r);
	}
	bench_idle(&b);
	for (unsigned i = 0; i < MANY; i++) {
		json_t *r;
		char *kept;

		snprintf(name, sizeof(name), "n%03u.jsonl", i);
		snprintf(id, sizeof(id), "run-%u", i);
		r = bench_receipt(&b, name, "ingested");
		snprintf(path, sizeof(path), "spool/%s", text_of(r, "source.path"));
		kept = bench_read(&b, path);
		ck_assert_str_eq(kept, execution_trace(id));
		free(kept);
		json_decref(r);
	}
	ck_assert_uint_eq(bench_runs(&b), MANY);
	ck_assert_uint_eq(bench_receipts(&b, NULL), MANY);
	ck_assert_uint_eq(bench_count(&b, "spool/.active"), 0);
	ck_assert_uint_eq(bench_count(&b, "store/tmp"), 0);
}
END_TEST

/* Equal bytes and equal ids meet within one group, where no look-up can see the other yet. */
START_TEST(doubles_conflicts_and_bad_ones_among_them_are_told_apart)
{
	char text[5000];

	for (unsigned i = 0; i < 20; i++)
		run_waits(i);
	waits("same-1.jsonl", execution_trace("run-same"));
	waits("same-2.jsonl", execution_trace("run-same"));
	waits("same-3.jsonl", execution_trace("run-same"));
	snprintf(text, sizeof(text), "%s\n", execution_trace("run-7")); /* other bytes */
	waits("other-7.jsonl", text);
	waits("bad.jsonl", "{\"kind\":");
	waits("empty.jsonl", "\n");
	bench_start(&b);
	became("bad.jsonl", "quarantined");
	became("empty.jsonl", "quarantined");
	bench_idle(&b);
	ck_assert_uint_eq(bench_receipts(&b, NULL), 26);
	ck_assert_uint_eq(bench_receipts(&b, "duplicate"), 2);
	/* Whichever of n007 and other-7 came second. */
	ck_assert_uint_eq(bench_receipts(&b, "quarantined"), 3);
	ck_assert_uint_eq(bench_receipts(&b, "ingested"), 21);
	ck_assert_uint_eq(bench_runs(&b), 21);
	ck_assert_uint_eq(bench_count(&b, "store/runs"), 21);
	ck_assert_uint_eq(bench_count(&b, "spool/.active"), 0);
	ck_assert_uint_eq(bench_count(&b, "spool/.quarantine"), 6);
	ck_assert_uint_eq(bench_count(&b, "store/tmp"), 0);
}
END_TEST

START_TEST(with_replace_the_last_of_an_id_is_the_run)
{
	char text[5000];

	b.conf.ingest.on_run_id_conflict = CONFLICT_REPLACE;
	waits("a.jsonl", execution_trace("run-x"));
	snprintf(text, sizeof(text), "%s\n", execution_trace("run-x"));
	waits("b.jsonl", text);
	run_waits(1);
	bench_start(&b);
	became("a.jsonl", "ingested");
	became("b.jsonl", "ingested");
	became("n001.jsonl", "ingested");
	bench_idle(&b);
	ck_assert_uint_eq(bench_runs(&b), 2);
}
END_TEST

START_TEST(a_large_drop_and_a_folder_go_between_small_ones)
{
	struct buf large = BUF_INIT;

	for (unsigned i = 0; i < 3000; i++)
		buf_puts(&large, request_trace("r", 1));
	ck_assert(!large.failed && large.len > 300000);
	for (unsigned i = 0; i < 10; i++)
		run_waits(i);
	waits("large.jsonl", large.data); /* one request id many times */
	buf_done(&large);
	bench_mkdir(&b, "spool/.active/folder");
	bench_write_text(&b, "spool/.active/folder/p.000000.jsonl", request_trace("f", 3));
	for (unsigned i = 10; i < 20; i++)
		run_waits(i);
	bench_start(&b);
	became("large.jsonl", "quarantined");
	became("folder", "ingested");
	bench_idle(&b);
	ck_assert_uint_eq(bench_receipts(&b, "ingested"), 21);
	ck_assert_uint_eq(bench_runs(&b), 21);
	ck_assert_uint_eq(bench_count(&b, "spool/.active"), 0);
}
END_TEST

/* A folder in the place of one receipt file: that drop waits, the others are done. */
START_TEST(what_cannot_be_settled_holds_nobody_else_up)
{
	for (unsigned i = 0; i < 5; i++)
		run_waits(i);
	bench_mkdir(&b, "spool/.receipts/n002.jsonl.json");
	bench_mkdir(&b, "spool/.receipts/n002.jsonl.json/x");
	bench_start(&b);
	became("n000.jsonl", "ingested");
	became("n004.jsonl", "ingested");
	bench_idle(&b);
	ck_assert_uint_eq(bench_runs(&b), 5);
	ck_assert_uint_eq(bench_count(&b, "spool/.active"), 1);
	ck_assert(bench_exists(&b, "spool/.active/n002.jsonl"));
	ck_assert_uint_eq(bench_count(&b, "spool/.archive"), 4);
}
END_TEST

START_TEST(sources_are_deleted_or_kept_where_that_is_set)
{
	b.conf.spool.after = AFTER_DELETE;
	for (unsigned i = 0; i < 5; i++)
		run_waits(i);
	bench_start(&b);
	for (unsigned i = 0; i < 5; i++) {
		char name[40];

		snprintf(name, sizeof(name), "n%03u.jsonl", i);
		json_decref(bench_receipt_action(&b, name, "ingested", "deleted"));
	}
	bench_idle(&b);
	ck_assert_uint_eq(bench_count(&b, "spool/.active"), 0);
	bench_reopen(&b);
	b.conf.spool.after = AFTER_KEEP;
	for (unsigned i = 5; i < 10; i++)
		run_waits(i);
	bench_start(&b);
	for (unsigned i = 5; i < 10; i++) {
		char name[40];

		snprintf(name, sizeof(name), "n%03u.jsonl", i);
		json_decref(bench_receipt_action(&b, name, "ingested", "kept"));
	}
	bench_idle(&b);
	ck_assert_uint_eq(bench_count(&b, "spool/.active"), 0);
	ck_assert(bench_exists(&b, "spool/n007.jsonl"));
	ck_assert_uint_eq(bench_runs(&b), 10);
}
END_TEST

Suite *ingest_group_suite(void)
{
	Suite *s = suite_create("ingest group");
	TCase *t = tcase_create("ingest group");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, each_of_many_is_a_run_with_receipt_and_source);
	tcase_add_test(t, doubles_conflicts_and_bad_ones_among_them_are_told_apart);
	tcase_add_test(t, with_replace_the_last_of_an_id_is_the_run);
	tcase_add_test(t, a_large_drop_and_a_folder_go_between_small_ones);
	tcase_add_test(t, what_cannot_be_settled_holds_nobody_else_up);
	tcase_add_test(t, sources_are_deleted_or_kept_where_that_is_set);
	suite_add_tcase(s, t);
	return s;
}
