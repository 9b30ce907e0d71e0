/* test_list_run.c: the lists of a request run: requests in replay order and other orders, their
 * filters and columns, hashes on demand, tools in load order
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/store/folder.h"
#include "list_bench.h"
#include "tracespool/util.h"

static struct runfile *rf;

static void put(enum row_kind kind, const void *row)
{
	struct ts_error err = TS_ERROR_INIT;
	struct sink *sink = runfile_sink(rf);

	assert_fine(sink->row(sink, kind, row, &err), &err);
}

/* Four requests, in load order d, c, b, a:
 *   id  start  end   ttft  input_length          tool calls  model
 *   d   2000   2500  none  18446744073709551615  none        m1
 *   c   1000   4000  9.5   10                    0           m1
 *   b   1000   1000  1.5   9223372036854775807   2           m2
 *   a   1000   1000  none  10                    1           m2     */
static void put_requests(void)
{
	static const uint64_t hashes[] = {12297829382473034411u, 7};
	static const int64_t starts[] = {2000, 1000, 1000, 1000}, ends[] = {2500, 4000, 1000, 1000};
	static const double ttft[] = {-1, 9.5, 1.5, -1};
	static const uint64_t lengths[] = {UINT64_MAX, 10, INT64_MAX, 10};
	static const int calls[] = {-1, 0, 2, 1};

	for (unsigned i = 0; i < 4; i++) {
		char id[2] = {(char)('d' - (int)i), 0};
		struct row_request r = {
			.no = i + 1,
			.shard = i / 2,
			.line = 10 - i,
			.request_id = ts_str_c(id),
			.model = i < 2 ? TS_STR("m1") : TS_STR("m2"),
			.session_id = i == 1 ? TS_STR("s") : ts_str(NULL, 0),
			.start_ms = starts[i],
			.end_ms = ends[i],
			.output_tokens = i,
			.trace_block_size = 64,
			.input_length = lengths[i],
			.hash_count = 2,
			.ttft_ms = {.v = ttft[i], .has = ttft[i] >= 0},
			.total_time_ms = {.v = 0.5 * i, .has = i > 0},
			.tool_call_count = {.v = (uint64_t)calls[i], .has = calls[i] >= 0},
			.finish_reason = i == 3 ? TS_STR("stop") : ts_str(NULL, 0),
			.prefill_worker_id = {.v = 9876543210987654321u, .has = i == 3},
		};
		struct row_request_hashes h = {
			.no = i + 1,
			.input = hashes,
			.input_count = 2,
			.completion = i == 3 ? hashes : NULL,
			.completion_count = 0,
		};

		put(ROW_REQUEST, &r);
		put(ROW_REQUEST_HASHES, &h);
	}
	for (unsigned i = 0; i < 3; i++) {
		char id[2] = {(char)('z' - (int)i), 0};

		put(ROW_TOOL, &(struct row_tool){.tool_call_id = ts_str_c(id),
						 .tool_class = i ? TS_STR("k") : TS_STR("j"),
						 .status = TS_STR("error"),
						 .session_id = TS_STR("s"),
						 .start_ms = -1,
						 .line = i});
	}
}

static struct db *catalog_db;

static void setup(void)
{
	struct ts_error err = TS_ERROR_INIT;

	list_bench_open();
	catalog_db = list_db;
	rf = bench_runfile(NULL, RUN_REQUESTS);
	put_requests();
	assert_fine(runfile_index(rf, &err), &err);
	list_db = runfile_db(rf);
}

static void teardown(void)
{
	runfile_free(rf);
	list_db = catalog_db;
	list_bench_close();
}

START_TEST(requests_come_in_replay_order_and_in_the_orders_asked_for)
{
	assert_list(&list_requests, "", NULL, "request_id", "a b c d");
	assert_list(&list_requests, "", "start_ms", "request_id", "a b c d");
	assert_list(&list_requests, "", "-start_ms", "request_id", "d a b c");
	assert_list(&list_requests, "", "-latency_ms", "request_id", "c d a b");
	assert_list(&list_requests, "", "-ttft_ms", "request_id", "c b a d");
	assert_list(&list_requests, "", "ttft_ms", "request_id", "b c a d");
	assert_list(&list_requests, "", "-input_length", "request_id", "d b a c");
	assert_list(&list_requests, "", "-output_tokens", "request_id", "a b c d");
	assert_list(&list_requests, "", "line", "request_id", "d c b a");
	assert_refused(&list_requests, "", "model", "bad_parameter", "sort");
}
END_TEST

START_TEST(requests_are_filtered_by_session_model_time_size_and_tools)
{
	assert_list(&list_requests, "model=m2", NULL, "request_id", "a b");
	assert_list(&list_requests, "session_id=s", NULL, "request_id", "c");
	assert_list(&list_requests, "parent_session_id=s", NULL, "request_id", "");
	assert_list(&list_requests, "finish_reason=stop", NULL, "request_id", "a");
	assert_list(&list_requests, "from_ms=1001", NULL, "request_id", "d");
	assert_list(&list_requests, "to_ms=2000", NULL, "request_id", "a b c");
	assert_list(&list_requests, "min_total_time_ms=1e0", NULL, "request_id", "a b");
	assert_list(&list_requests, "min_input_length=9223372036854775808", NULL, "request_id",
		    "d");
	assert_list(&list_requests, "min_input_length=11", NULL, "request_id", "b d");
	assert_list(&list_requests, "has_tools=true", NULL, "request_id", "a b");
	assert_list(&list_requests, "has_tools=0", NULL, "request_id", "c d");
}
END_TEST

START_TEST(columns_of_a_request_are_those_of_the_item_and_derived_ones_count_from_the_first)
{
	struct list_request req = {.sort = TS_STR("line")};
	struct ts_error err = TS_ERROR_INIT;
	struct page *p CLEAN(page_closep) = NULL;
	unsigned replay = 0, columns = 0;

	for (; list_requests.columns[columns].member; columns++)
		replay += list_requests.columns[columns].include != NULL;
	ck_assert_uint_eq(columns, 37);
	ck_assert_uint_eq(replay, 4);
	assert_fine(page_open(list_db, &list_requests, &req, &p, &err), &err);
	ck_assert(page_has(p, 0) && !page_has(p, columns - 1));
	ck_assert_int_eq(page_next(p, &err), 1);
	/* d: 1000 behind the first arrival, 500 long. */
	ck_assert_int_eq(query_i64(page_row(p), 6), 1000);
	ck_assert_str_eq(list_requests.columns[6].member, "arrival_offset_ms");
	ck_assert_int_eq(query_i64(page_row(p), 7), 500);
	ck_assert_str_eq(list_requests.columns[7].member, "latency_ms");
	ck_assert(query_is_null(page_row(p), (int)columns - 2));
	ck_assert_uint_eq(query_u64(page_row(p), 9), UINT64_MAX);
}
END_TEST

START_TEST(hashes_are_there_only_when_they_are_asked_for)
{
	struct list_request req = {.include = "replay"};
	struct ts_error err = TS_ERROR_INIT;
	struct page *p CLEAN(page_closep) = NULL;
	static const unsigned char want[16] = {0xab, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 7};
	int last = 36;

	assert_fine(page_open(list_db, &list_requests, &req, &p, &err), &err);
	ck_assert_str_eq(list_requests.columns[last].member, "replay.completion_sequence_hashes");
	ck_assert(page_has(p, (unsigned)last));
	ck_assert_int_eq(page_next(p, &err), 1);
	/* a: the completion is recorded and empty; 12297829382473034411 is 0xaa...aaab. */
	struct ts_str input = query_str(page_row(p), last - 1);

	ck_assert_uint_eq(input.n, sizeof(want));
	ck_assert_mem_eq(input.p, want, sizeof(want));
	ck_assert(!query_is_null(page_row(p), last));
	ck_assert_uint_eq(query_str(page_row(p), last).n, 0);
	ck_assert_int_eq(page_next(p, &err), 1);
	ck_assert(query_is_null(page_row(p), last));
}
END_TEST

START_TEST(tools_come_in_load_order)
{
	assert_list(&list_tools, "", NULL, "tool_call_id", "z y x");
	assert_list(&list_tools, "tool_class=k&status=error&session_id=s", NULL, "tool_call_id",
		    "y x");
	assert_list(&list_tools, "status=succeeded", NULL, "tool_call_id", "");
	assert_list(&list_tools, "tool_class=j", "line", "start_ms", "-1");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("list-run");
	TCase *t = tcase_create("list-run");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, requests_come_in_replay_order_and_in_the_orders_asked_for);
	tcase_add_test(t, requests_are_filtered_by_session_model_time_size_and_tools);
	tcase_add_test(
		t,
		columns_of_a_request_are_those_of_the_item_and_derived_ones_count_from_the_first);
	tcase_add_test(t, hashes_are_there_only_when_they_are_asked_for);
	tcase_add_test(t, tools_come_in_load_order);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
