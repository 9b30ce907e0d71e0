/* test_list.c: lists of the catalog: filters, orders, nulls last, refused parameters
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/store/folder.h"
#include "list_bench.h"
#include "tracespool/util.h"

static void setup(void)
{
	list_bench_open();
}

static void teardown(void)
{
	list_bench_close();
}

START_TEST(runs_sort_by_each_key_with_null_last_both_ways)
{
	list_commit_five();
	assert_list(&list_runs, "", NULL, "id", "d c b a e");
	assert_list(&list_runs, "", "-captured_at", "id", "d c b a e");
	assert_list(&list_runs, "", "captured_at", "id", "a b c d e");
	assert_list(&list_runs, "", "-ingested_at", "id", "a b c d e");
	assert_list(&list_runs, "", "ingested_at", "id", "e d c b a");
	/* Ties by id, rising both ways; 2^63 above 2^63-1. */
	assert_list(&list_runs, "", "total_ns", "id", "b e d a c");
	assert_list(&list_runs, "", "-total_ns", "id", "a d b e c");
	assert_list(&list_runs, "", "entrypoint", "id", "a e b d c");
	assert_list(&list_runs, "", "-entrypoint", "id", "d b a e c");
	assert_list(&list_runs, "", "id", "id", "a b c d e");
	assert_list(&list_runs, "", "-id", "id", "e d c b a");
	assert_list(&list_runs, "", "requests", "id", "a b c d e");
	assert_refused(&list_runs, "", "name", "bad_parameter", "sort");
	assert_refused(&list_runs, "", "--id", "bad_parameter", "sort");
	assert_refused(&list_runs, "", "", "bad_parameter", "sort");
}
END_TEST

START_TEST(filters_of_one_name_mean_any_and_of_different_names_all)
{
	list_commit_five();
	assert_list(&list_runs, "kind=requests", "id", "id", "c");
	assert_list(&list_runs, "kind=requests&kind=execution", "id", "id", "a b c d e");
	assert_list(&list_runs, "tag.batch=128", "id", "id", "a e");
	assert_list(&list_runs, "tag.batch=128&tag.batch=64", "id", "id", "a b e");
	assert_list(&list_runs, "tag.batch=128&tag.git=x", "id", "id", "a");
	assert_list(&list_runs, "tag.batch=64&has_tag=git", "id", "id", "");
	assert_list(&list_runs, "has_tag=git&has_tag=batch", "id", "id", "a b d e");
	assert_list(&list_runs, "model=m2", "id", "id", "c");
	assert_list(&list_runs, "valid=true", "id", "id", "a");
	assert_list(&list_runs, "valid=0", "id", "id", "b");
	assert_list(&list_runs, "valid=0&valid=1", "id", "id", "a b");
	assert_list(&list_runs, "entrypoint=net", "id", "id", "a e");
	assert_list(&list_runs, "entrypoint_prefix=net", "id", "id", "a b e");
	assert_list(&list_runs, "entrypoint_prefix=ne", "id", "id", "a b d e");
	assert_list(&list_runs, "entrypoint_prefix=", "id", "id", "a b d e");
	assert_list(&list_runs, "entrypoint_prefix=net\xff", "id", "id", "b");
	assert_list(&list_runs, "id_prefix=b", "id", "id", "b");
	assert_list(&list_runs, "min_total_ns=5&max_total_ns=5", "id", "id", "b e");
	assert_list(&list_runs, "min_total_ns=9223372036854775808", "id", "id", "a");
	assert_list(&list_runs, "max_total_ns=9223372036854775807", "id", "id", "b d e");
	assert_list(&list_runs, "min_total_ns=18446744073709551615", "id", "id", "");
}
END_TEST

START_TEST(times_are_those_of_the_capture_unless_time_says_ingested)
{
	list_commit_five();
	assert_list(&list_runs, "from_ms=1000&to_ms=3000", "id", "id", "b c");
	assert_list(&list_runs, "from=1970-01-01T00:00:01Z", "id", "id", "b c d");
	assert_list(&list_runs, "to=1970-01-01T01:00:01+01:00", "id", "id", "a");
	assert_list(&list_runs, "from_ms=-1&time=captured", "id", "id", "a b c d");
	assert_list(&list_runs, "time=ingested&from_ms=99000", "id", "id", "a b");
	assert_list(&list_runs, "to_ms=97000&time=ingested", "id", "id", "e");
	assert_list(&list_runs, "time=ingested", "id", "id", "a b c d e");
}
END_TEST

START_TEST(bad_values_are_refused_with_the_name_of_the_parameter)
{
	char many[4096] = "";

	assert_refused(&list_runs, "kind=trace", NULL, "bad_parameter",
		       "kind is none of execution");
	assert_refused(&list_runs, "valid=yes", NULL, "bad_parameter", "valid");
	assert_refused(&list_runs, "min_total_ns=-1", NULL, "bad_parameter", "min_total_ns");
	assert_refused(&list_runs, "min_total_ns=18446744073709551616", NULL, "bad_parameter",
		       "min_total_ns");
	assert_refused(&list_runs, "from=yesterday", NULL, "bad_parameter", "from");
	assert_refused(&list_runs, "from_ms=9223372036854775808", NULL, "bad_parameter", "from_ms");
	assert_refused(&list_runs, "from_ms=1.5", NULL, "bad_parameter", "from_ms");
	assert_refused(&list_runs, "time=now", NULL, "bad_parameter", "time");
	assert_refused(&list_runs, "time=captured&time=ingested", NULL, "bad_parameter", "time");
	assert_refused(&list_runs, "colour=red", NULL, "unknown_parameter", "colour");
	assert_refused(&list_runs, "tag.=x", NULL, "unknown_parameter", "tag.");
	assert_refused(&list_requests, "min_total_time_ms=nan", NULL, "bad_parameter",
		       "min_total_time_ms");
	assert_refused(&list_requests, "min_total_time_ms=0x10", NULL, "bad_parameter",
		       "min_total_time_ms");
	for (unsigned i = 0; i < LIST_FILTERS_MAX + 1; i++)
		strcat(many, "owner=a&");
	assert_refused(&list_runs, many, NULL, "bad_parameter", "filters");
	ck_assert(list_knows(&list_runs, TS_STR("tag.x")));
	ck_assert(list_knows(&list_runs, TS_STR("time")));
	ck_assert(!list_knows(&list_runs, TS_STR("tag.")));
	ck_assert(!list_knows(&list_runs, TS_STR("limit")));
}
END_TEST

START_TEST(text_of_a_parameter_is_never_read_as_sql)
{
	list_commit_five();
	assert_list(&list_runs, "owner=' or 1 = 1 --", "id", "id", "");
	assert_list(&list_runs, "tag.x' or 1 --=y", "id", "id", "");
	assert_list(&list_runs, "id_prefix=%", "id", "id", "");
}
END_TEST

static int build_odd(void *arg, uint64_t no, enum commit_result result,
		     const struct run_record *other, struct receipt_record *r, struct ts_error *err)
{
	(void)result, (void)other, (void)err;
	r->name = no % 2 ? TS_STR("odd.jsonl") : ts_str("n\xff", 2);
	r->owner = TS_STR("ada");
	r->state = no == 3 ? TS_STR("quarantined") : TS_STR("ingested");
	r->seen_ms = 1000 * (int64_t)no;
	snprintf(arg, 32, "%llu", (unsigned long long)no);
	r->json = ts_str_c(arg);
	return 0;
}

START_TEST(receipts_come_newest_first_and_filter_by_raw_names)
{
	struct ts_error err = TS_ERROR_INIT;
	enum commit_result result;
	char json[32];

	for (unsigned i = 0; i < 4; i++)
		assert_fine(catalog_commit(list_store.st, NULL, false, build_odd, json, &result,
					   NULL, &err),
			    &err);
	assert_list(&list_receipts, "", NULL, "json", "4 3 2 1");
	assert_list(&list_receipts, "state=quarantined", NULL, "json", "3");
	assert_list(&list_receipts, "name=n\xff", NULL, "json", "4 2");
	assert_list(&list_receipts, "name=odd.jsonl&from=1970-01-01T00:00:02Z", NULL, "json", "3");
	assert_list(&list_receipts, "to_ms=3000&owner=ada&owner=eva", NULL, "json", "2 1");
	assert_refused(&list_receipts, "state=lost", NULL, "bad_parameter", "state");
	assert_refused(&list_receipts, "", "no", "bad_parameter", "sort");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("list");
	TCase *t = tcase_create("list");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, runs_sort_by_each_key_with_null_last_both_ways);
	tcase_add_test(t, filters_of_one_name_mean_any_and_of_different_names_all);
	tcase_add_test(t, times_are_those_of_the_capture_unless_time_says_ingested);
	tcase_add_test(t, bad_values_are_refused_with_the_name_of_the_parameter);
	tcase_add_test(t, text_of_a_parameter_is_never_read_as_sql);
	tcase_add_test(t, receipts_come_newest_first_and_filter_by_raw_names);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
