/* test_list_pages.c: cursors: no gap and no double, only for their own query, safe when damaged */
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

static void assert_cursor_refused(struct list_request *req, const char *cursor, const char *word)
{
	struct ts_error err = TS_ERROR_INIT;
	struct page *p = NULL;

	req->cursor = ts_str_c(cursor);
	assert_failed(page_open(list_db, &list_runs, req, &p, &err), &err, "bad_cursor");
	ck_assert_msg(strstr(err.message, word) != NULL, "%s", err.message);
}

START_TEST(a_cursor_fits_only_the_query_it_came_from)
{
	struct list_param params[16];
	struct list_request req = list_request_of("kind=execution&valid=0&valid=1", params);
	struct buf cursor CLEAN(buf_done) = BUF_INIT;

	list_commit_five();
	req.limit = 1;
	free(list_page_text(&list_runs, &req, "id", &cursor));
	ck_assert_uint_gt(cursor.len, 0);
	ck_assert_uint_eq(strspn(cursor.data, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					      "0123456789-_"),
			  cursor.len);
	/* Filters in another order are the same filters, another limit is the same query. */
	req = list_request_of("valid=1&valid=0&kind=execution", params);
	req.cursor = ts_str(cursor.data, cursor.len);
	req.limit = 7;
	char *rest CLEAN(free_ptr) = list_page_text(&list_runs, &req, "id", NULL);

	ck_assert_str_eq(rest, "a");
	req = list_request_of("kind=execution&valid=0", params);
	assert_cursor_refused(&req, cursor.data, "filters");
	req = list_request_of("kind=execution&valid=0&valid=1", params);
	req.sort = TS_STR("total_ns");
	assert_cursor_refused(&req, cursor.data, "sort=total_ns");
	req.sort = ts_str(NULL, 0);
	assert_cursor_refused(&req, "", "not one");
	assert_cursor_refused(&req, "AAAA", "not one");
	assert_cursor_refused(&req, "b2s=", "not one");
	cursor.data[cursor.len - 4] = 0;
	assert_cursor_refused(&req, cursor.data, "not one");
}
END_TEST

/* Damaged cursors are refused or lead somewhere; they never break anything. */
START_TEST(no_change_of_a_byte_in_a_cursor_does_harm)
{
	struct list_param params[16];
	struct list_request req = list_request_of("", params);
	struct buf cursor CLEAN(buf_done) = BUF_INIT;

	list_commit_five();
	req.limit = 2;
	free(list_page_text(&list_runs, &req, "id", &cursor));
	for (size_t i = 0; i < cursor.len; i++)
		for (const char *c = "AQgx_-9"; *c; c++) {
			struct buf bent CLEAN(buf_done) = BUF_INIT;
			struct ts_error err = TS_ERROR_INIT;
			struct page *p CLEAN(page_closep) = NULL;

			buf_add(&bent, cursor.data, cursor.len);
			bent.data[i] = *c;
			req.cursor = ts_str(bent.data, bent.len);
			if (page_open(list_db, &list_runs, &req, &p, &err) < 0) {
				assert_failed(-1, &err, "bad_cursor");
				continue;
			}
			int n;

			while ((n = page_next(p, &err)) == 1)
				;
			ck_assert_int_eq(n, 0);
		}
}
END_TEST

/* 1500 runs by pages of 7 while others come in front, behind and between. */
static void walk(const char *sort)
{
	enum { RUNS = 1500 };
	static unsigned char seen[RUNS];
	struct list_param params[1];
	struct list_request req = list_request_of("", params);
	struct buf cursor CLEAN(buf_done) = BUF_INIT, given CLEAN(buf_done) = BUF_INIT;
	unsigned pages = 0;

	memset(seen, 0, sizeof(seen));
	req.sort = ts_str_c(sort);
	req.limit = 7;
	do {
		char *text CLEAN(free_ptr) = list_page_text(&list_runs, &req, "id", &cursor);

		for (char *at = strtok(text, " "); at; at = strtok(NULL, " "))
			if (strncmp(at, "run-0", 5) == 0) {
				unsigned n = (unsigned)strtoul(at + 4, NULL, 10);

				ck_assert_uint_lt(n, RUNS);
				ck_assert_msg(!seen[n]++, "%s twice", at);
			}
		buf_clear(&given);
		buf_add(&given, cursor.data, cursor.len);
		req.cursor = ts_str(given.data, given.len);
		if (pages++ % 20 == 0) {
			struct bench_run run;
			char id[80];

			bench_run(&run, 100000 + (unsigned)store_change_counter(list_store.st));
			snprintf(id, sizeof(id), "x%u-%s", pages, run.id);
			run.r.id = ts_str_c(id);
			run.r.captured_ms = 1600000000000 + pages % 3 * 700;
			run.r.total_ns = (struct opt_u64){.v = pages, .has = pages % 40 == 1};
			bench_commit(&list_store, &run.r, false);
		}
	} while (cursor.len);
	for (unsigned i = 0; i < RUNS; i++)
		ck_assert_msg(seen[i] == 1, "run %u is missing", i);
}

START_TEST(pages_have_no_gap_and_no_double_while_runs_are_added)
{
	struct bench_run run;
	struct ts_error err = TS_ERROR_INIT;

	assert_fine(db_exec(list_store.st->writer, "pragma synchronous = off", &err), &err);
	for (unsigned i = 0; i < 1500; i++) {
		bench_run(&run, i);
		/* Many ties, and many without a value. */
		run.r.has_captured = i % 5 != 0;
		run.r.captured_ms = 1600000000000 + i % 11 * 100;
		run.r.total_ns = (struct opt_u64){.v = UINT64_MAX - i % 7, .has = i % 3 != 0};
		bench_commit(&list_store, &run.r, false);
	}
	walk(NULL);
	walk("captured_at");
	walk("total_ns");
	walk("-total_ns");
	walk("id");
}
END_TEST

START_TEST(keys_too_long_for_a_cursor_are_found_again_by_their_row)
{
	struct bench_run run;
	char long_one[3000], other[3000];
	struct list_param params[1];
	struct list_request req = list_request_of("", params);
	struct buf cursor CLEAN(buf_done) = BUF_INIT;

	memset(long_one, 'e', sizeof(long_one));
	memcpy(other, long_one, sizeof(other));
	other[sizeof(other) - 1] = 'f';
	for (unsigned i = 0; i < 6; i++) {
		bench_run(&run, i);
		run.r.entrypoint = ts_str(i % 2 ? long_one : other, sizeof(other));
		bench_commit(&list_store, &run.r, false);
	}
	assert_list(&list_runs, "", "entrypoint", "id",
		    "run-00001 run-00003 run-00005 run-00000 run-00002 run-00004");
	assert_list(&list_runs, "", "-entrypoint", "id",
		    "run-00000 run-00002 run-00004 run-00001 run-00003 run-00005");
	req.sort = TS_STR("entrypoint");
	req.limit = 1;
	free(list_page_text(&list_runs, &req, "id", &cursor));
	ck_assert_uint_lt(cursor.len, 100);
}
END_TEST

/* A statement that comes to no end of its own is ended by the clock. */
START_TEST(a_page_that_takes_longer_than_its_deadline_is_store_busy)
{
	const struct list endless = {
		.name = "endless",
		.from = "(with recursive n(i) as (select 1 union all select i + 1 from n) "
			"select i from n where i < 0) n",
		.columns = (const struct list_column[]){{"i", LIST_I64, "n.i", NULL, false},
							{NULL, LIST_I64, NULL, NULL, false}},
		.filters =
			(const struct list_filter[]){{NULL, LIST_EQ, LIST_TEXT, NULL, NULL, NULL}},
		.sorts = (const struct list_sort[]){{"i", {"n.i"}, false}, {NULL, {NULL}, false}},
		.row_number = "n.i",
	};
	struct list_request req = {0};
	struct ts_error err = TS_ERROR_INIT;
	struct page *p = NULL;
	int64_t start = time_mono_ms();

	db_set_deadline(list_db, start + 50);
	assert_fine(page_open(list_db, &endless, &req, &p, &err), &err);
	assert_failed(page_next(p, &err), &err, "store_busy");
	ck_assert_int_ge(time_mono_ms() - start, 50);
	page_close(p);
	db_set_deadline(list_db, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("list-pages");
	TCase *t = tcase_create("list-pages");

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_cursor_fits_only_the_query_it_came_from);
	tcase_add_test(t, no_change_of_a_byte_in_a_cursor_does_harm);
	tcase_add_test(t, pages_have_no_gap_and_no_double_while_runs_are_added);
	tcase_add_test(t, keys_too_long_for_a_cursor_are_found_again_by_their_row);
	tcase_add_test(t, a_page_that_takes_longer_than_its_deadline_is_store_busy);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
