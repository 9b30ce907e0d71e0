/* ingest_gone.c: drops that go away before they are taken leave no receipt that nothing would end
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ingest_bench.h"

#include "tracespool/text.h"

static struct bench b;

static void setup(void)
{
	bench_open(&b);
}

static void teardown(void)
{
	bench_close(&b);
}

static int writes_left;

/* Called between claim and first byte: another line is written then. */
static void write_meanwhile(void *arg)
{
	if (bench_exists(arg, "spool/.active/w.jsonl") &&
	    __atomic_fetch_sub(&writes_left, 1, __ATOMIC_RELAXED) > 0)
		bench_append(arg, "spool/.active/w.jsonl", "\n");
}

static void remove_drop(const char *name)
{
	char full[200];

	snprintf(full, sizeof(full), "%s/spool/%s", b.dir, name);
	ck_assert_int_eq(unlink(full), 0);
}

static void wait_no_receipt(void)
{
	for (int i = 0; i < 2000 && (bench_exists(&b, "spool/.receipts/w.jsonl.json") ||
				     bench_receipts(&b, NULL));
	     i++)
		usleep(5000);
	ck_assert(!bench_exists(&b, "spool/.receipts/w.jsonl.json"));
	ck_assert_uint_eq(bench_receipts(&b, NULL), 0);
}

static void fail_once(void)
{
	b.changed = write_meanwhile;
	writes_left = 1;
	bench_start(&b);
	bench_drop(&b, "w.jsonl", execution_trace("w"));
	json_decref(bench_receipt(&b, "w.jsonl", "failed"));
	bench_idle(&b);
	ck_assert_uint_eq(bench_receipts(&b, "failed"), 1);
	remove_drop("w.jsonl");
}

START_TEST(a_drop_that_goes_away_before_it_is_claimed_has_no_receipt)
{
	struct buf live = BUF_INIT;

	bench_start(&b);
	ck_assert(ingest_offer(b.in, "nothing.jsonl", 1));
	bench_idle(&b);
	ck_assert_uint_eq(bench_receipts(&b, NULL), 0);
	ck_assert_uint_eq(bench_count(&b, "spool/.receipts"), 0);
	ck_assert(!ingest_live_receipt(b.in, TS_STR("nothing.jsonl"), &live));
}
END_TEST

START_TEST(a_drop_that_failed_and_goes_away_leaves_no_receipt)
{
	fail_once();
	ck_assert(ingest_offer(b.in, "w.jsonl", 1));
	wait_no_receipt();
}
END_TEST

START_TEST(a_drop_that_failed_and_goes_away_while_no_daemon_runs_leaves_no_receipt)
{
	fail_once();
	bench_reopen(&b);
	bench_start(&b);
	wait_no_receipt();
}
END_TEST

Suite *ingest_gone_suite(void)
{
	Suite *s = suite_create("ingest gone");
	TCase *t = tcase_create("gone");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_drop_that_goes_away_before_it_is_claimed_has_no_receipt);
	tcase_add_test(t, a_drop_that_failed_and_goes_away_leaves_no_receipt);
	tcase_add_test(t, a_drop_that_failed_and_goes_away_while_no_daemon_runs_leaves_no_receipt);
	suite_add_tcase(s, t);
	return s;
}
