/* test_http_lists.c: pages, cursors, forms and fields of the lists; replay rows */
#include <stdlib.h>
#include <string.h>

#include "test_http.h"

static struct reply r;

/* request_trace() makes requests "ID-0", "ID-1", ... that begin 10 ms apart, each with one hash. */
#define REQUESTS 10

static char run_path[700];

static void setup(void)
{
	serve();
	snprintf(run_path, sizeof(run_path), "/runs/%s", ingest_requests("night", REQUESTS));
}

static const char *below(const char *rest)
{
	static char target[900];

	snprintf(target, sizeof(target), "%s%s", run_path, rest);
	return target;
}

static unsigned number_in(const char *request_id)
{
	ck_assert_int_eq(strncmp(request_id, "night-", 6), 0);
	return (unsigned)atoi(request_id + 6);
}

START_TEST(a_walk_along_the_cursor_sees_each_row_once_in_order)
{
	char target[2048];
	unsigned seen = 0, pages = 0;

	snprintf(target, sizeof(target), "%s", below("/requests?limit=3"));
	for (;;) {
		json_t *page = get_json(target, 200), *item;
		const char *cursor = json_string_value(member(page, "next_cursor"));
		size_t i;

		pages++;
		ck_assert_str_eq(text_of(page, "schema"), "tracespool/request-list/1");
		ck_assert_int_eq(number_of(page, "limit"), 3);
		ck_assert_int_eq(number_of(page, "trace_block_size"), 4);
		json_array_foreach(member(page, "items"), i, item)
			ck_assert_uint_eq(number_in(text_of(item, "request_id")), seen++);
		if (cursor)
			snprintf(target, sizeof(target), "%s/requests?limit=3&cursor=%s", run_path,
				 cursor);
		json_decref(page);
		if (!cursor)
			break;
	}
	ck_assert_uint_eq(seen, REQUESTS);
	ck_assert_uint_eq(pages, 4);
}
END_TEST

START_TEST(the_link_header_leads_through_an_array)
{
	char target[4096];
	unsigned seen = 0;
	const char *link;

	snprintf(target, sizeof(target), "%s",
		 below("/requests?format=array&sort=-input_length&fields=request_id&limit=4"));
	do {
		json_t *rows;
		size_t n;

		get(target, 200, &r);
		rows = json_of(&r);
		ck_assert(json_is_array(rows));
		seen += (unsigned)json_array_size(rows);
		ck_assert_uint_eq(json_object_size(json_array_get(rows, 0)), 1);
		link = header_of(&r, "Link");
		if (link) {
			ck_assert_int_eq(link[0], '<');
			n = strcspn(link, ">");
			ck_assert_str_eq(link + n, ">; rel=\"next\"");
			snprintf(target, sizeof(target), "%.*s", (int)n - 1, link + 1);
		}
		json_decref(rows);
		reply_done(&r);
	} while (link);
	ck_assert_uint_eq(seen, REQUESTS);
}
END_TEST

START_TEST(a_cursor_fits_only_its_own_query)
{
	json_t *page = get_json(below("/requests?limit=3"), 200);
	char target[2048];

	snprintf(target, sizeof(target), "%s/requests?limit=3&sort=-latency_ms&cursor=%s", run_path,
		 text_of(page, "next_cursor"));
	ck_assert_str_eq(problem_of(target, 400), "bad_cursor");
	snprintf(target, sizeof(target), "%s/requests?model=x&cursor=%s", run_path,
		 text_of(page, "next_cursor"));
	ck_assert_str_eq(problem_of(target, 400), "bad_cursor");
	json_decref(page);
}
END_TEST

START_TEST(count_adds_the_total_of_the_filters)
{
	json_t *page = get_json(below("/requests?limit=2&count=true&from_ms=1030"), 200);

	ck_assert_uint_eq(json_array_size(member(page, "items")), 2);
	ck_assert_int_eq(number_of(page, "total"), REQUESTS - 3);
	json_decref(page);
	page = get_json(below("/requests?limit=2"), 200);
	ck_assert_ptr_null(json_object_get(page, "total"));
	json_decref(page);
}
END_TEST

START_TEST(an_item_has_all_members_and_replay_only_when_asked)
{
	json_t *page = get_json(below("/requests?limit=1"), 200);
	json_t *item = json_array_get(member(page, "items"), 0);

	ck_assert_uint_eq(json_object_size(item), 30);
	ck_assert(is_null(item, "model"));
	ck_assert_int_eq(number_of(item, "arrival_offset_ms"), 0);
	ck_assert_int_eq(number_of(item, "latency_ms"), 100);
	ck_assert(is_null(item, "worker.decode_worker_id"));
	ck_assert_ptr_null(json_object_get(item, "replay"));
	json_decref(page);
	page = get_json(below("/requests?limit=2&include=replay"), 200);
	item = json_array_get(member(page, "items"), 1);
	ck_assert_str_eq(
		json_string_value(json_array_get(member(item, "replay.input_sequence_hashes"), 0)),
		"1");
	ck_assert_ptr_null(json_object_get(member(item, "replay"), "completion_sequence_hashes"));
	json_decref(page);
	page = get_json(below("/requests?limit=2&include=replay&numbers=exact"), 200);
	item = json_array_get(member(page, "items"), 1);
	ck_assert_int_eq(
		json_integer_value(json_array_get(member(item, "replay.input_sequence_hashes"), 0)),
		1);
	json_decref(page);
	ck_assert_str_eq(problem_of(below("/requests?include=all"), 400), "bad_parameter");
}
END_TEST

static unsigned lines_in(const struct reply *reply)
{
	unsigned n = 0;

	for (size_t i = 0; i < reply->body.len; i++)
		n += reply->body.data[i] == '\n';
	return n;
}

START_TEST(lines_come_all_or_up_to_the_limit_and_are_counted_first)
{
	json_t *page;
	char target[2048];

	get(below("/requests?format=ndjson"), 200, &r);
	ck_assert_str_eq(header_of(&r, "Content-Type"), "application/x-ndjson");
	ck_assert_str_eq(header_of(&r, "Tracespool-Row-Count"), "10");
	ck_assert_uint_eq(lines_in(&r), REQUESTS);
	ck_assert(r.whole);
	reply_done(&r);
	get(below("/requests?format=ndjson&limit=4&fields=request_id"), 200, &r);
	ck_assert_str_eq(header_of(&r, "Tracespool-Row-Count"), "4");
	ck_assert_str_eq(r.body.data,
			 "{\"request_id\":\"night-0\"}\n{\"request_id\":\"night-1\"}\n"
			 "{\"request_id\":\"night-2\"}\n{\"request_id\":\"night-3\"}\n");
	reply_done(&r);
	/* From a cursor on: what is behind it. */
	page = get_json(below("/requests?limit=7"), 200);
	snprintf(target, sizeof(target), "%s/requests?format=ndjson&cursor=%s", run_path,
		 text_of(page, "next_cursor"));
	get(target, 200, &r);
	ck_assert_str_eq(header_of(&r, "Tracespool-Row-Count"), "3");
	ck_assert_uint_eq(lines_in(&r), 3);
	reply_done(&r);
	json_decref(page);
}
END_TEST

START_TEST(runs_come_as_lines_page_by_page)
{
	char name[32], id[32];

	for (unsigned i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "r%u.jsonl", i);
		snprintf(id, sizeof(id), "run-%u", i);
		ingest_execution(name, id);
	}
	get("/runs?format=ndjson&sort=id&fields=id&kind=execution", 200, &r);
	ck_assert_str_eq(header_of(&r, "Tracespool-Row-Count"), "5");
	ck_assert_str_eq(r.body.data, "{\"id\":\"run-0\"}\n{\"id\":\"run-1\"}\n{\"id\":\"run-2\"}\n"
				      "{\"id\":\"run-3\"}\n{\"id\":\"run-4\"}\n");
	ck_assert(r.whole);
	reply_done(&r);
	get("/ingest/receipts?format=ndjson&fields=name,state", 200, &r);
	ck_assert_uint_eq(lines_in(&r), 6);
	ck_assert(ts_str_starts(ts_str(r.body.data, r.body.len),
				"{\"name\":\"r4.jsonl\",\"state\":\"ingested\"}\n"));
	reply_done(&r);
}
END_TEST

START_TEST(compressed_lines_are_the_same_lines)
{
	struct reply plain;

	get(below("/requests?format=ndjson&include=replay"), 200, &plain);
	ask(at, "GET", below("/requests?format=ndjson&include=replay"), "Accept-Encoding: gzip\r\n",
	    &r);
	ck_assert_str_eq(header_of(&r, "Content-Encoding"), "gzip");
	ck_assert_uint_lt(r.body.len, plain.body.len);
	gunzip_body(&r);
	ck_assert_str_eq(r.body.data, plain.body.data);
	reply_done(&r);
	reply_done(&plain);
}
END_TEST

/* By request-trace.md 11: hashes 0 to 9 in the order of arrival become ids 0 to 9, times count
 * from the first arrival. */
static void row_of(unsigned i, char out[static 200])
{
	snprintf(out, 200,
		 "{\"input_length\":4,\"output_length\":3,\"hash_ids\":[%u],\"timestamp\":%u.0}", i,
		 10 * i);
}

START_TEST(replay_rows_come_as_lines_and_as_one_object)
{
	struct buf lines = BUF_INIT;
	json_t *object, *rows;
	char row[200];

	for (unsigned i = 0; i < REQUESTS; i++) {
		row_of(i, row);
		buf_printf(&lines, "%s\n", row);
	}
	get(below("/replay?format=ndjson"), 200, &r);
	ck_assert_str_eq(r.body.data, lines.data);
	ck_assert_str_eq(header_of(&r, "Tracespool-Row-Count"), "10");
	ck_assert_str_eq(header_of(&r, "Tracespool-Trace-Block-Size"), "4");
	ck_assert_str_eq(header_of(&r, "Tracespool-Unreplayable-Rows"), "0");
	reply_done(&r);
	object = get_json(below("/replay"), 200);
	ck_assert_str_eq(text_of(object, "schema"), "tracespool/replay/1");
	ck_assert_str_eq(text_of(object, "id"), run_path + strlen("/runs/"));
	ck_assert_str_eq(text_of(object, "mode"), "standard");
	ck_assert_int_eq(number_of(object, "trace_block_size"), 4);
	rows = member(object, "rows");
	ck_assert_uint_eq(json_array_size(rows), REQUESTS);
	for (unsigned i = 0; i < REQUESTS; i++) {
		json_t *expected;

		row_of(i, row);
		expected = json_loads(row, 0, NULL);
		ck_assert(json_equal(json_array_get(rows, i), expected));
		json_decref(expected);
	}
	get(below("/replay?pretty=1"), 200, &r);
	rows = json_of(&r);
	ck_assert(json_equal(rows, object));
	ck_assert_ptr_nonnull(
		strstr(r.body.data, "\n  \"rows\": [\n    {\n      \"input_length\": 4"));
	reply_done(&r);
	json_decref(rows);
	json_decref(object);
	object = get_json(below("/replay?numbers=string"), 200);
	ck_assert_str_eq(text_of(object, "trace_block_size"), "4");
	ck_assert_str_eq(text_of(json_array_get(member(object, "rows"), 2), "input_length"), "4");
	json_decref(object);
	buf_done(&lines);
}
END_TEST

START_TEST(the_head_of_a_stream_says_how_many_rows_it_has)
{
	ask(at, "HEAD", below("/replay?format=ndjson"), "", &r);
	ck_assert_int_eq(r.status, 200);
	ck_assert_str_eq(header_of(&r, "Tracespool-Row-Count"), "10");
	ck_assert_ptr_null(header_of(&r, "Content-Length"));
	reply_done(&r);
}
END_TEST

START_TEST(rows_that_do_not_exist_are_a_conflict_with_their_class)
{
	json_t *problem;
	const char *id;
	char trace[2048], path[900];

	/* A second block size. */
	snprintf(trace, sizeof(trace), "%s", request_trace("mix", 2));
	memcpy(strstr(strchr(trace, '\n'), "\"trace_block_size\":4"), "\"trace_block_size\":8", 20);
	bench_drop(&served, "mix.jsonl", trace);
	problem = bench_receipt(&served, "mix.jsonl", "ingested");
	id = text_of(problem, "run.id");
	snprintf(path, sizeof(path), "/runs/%s/replay?format=ndjson", id);
	json_decref(problem);
	ck_assert_str_eq(problem_of(path, 409), "mixed_block_size");
}
END_TEST

START_TEST(lists_of_requests_are_not_there_for_executions)
{
	ingest_execution("a.jsonl", "run-a");
	ck_assert_str_eq(problem_of("/runs/run-a/requests", 404), "wrong_kind");
	ck_assert_str_eq(problem_of("/runs/run-a/replay", 404), "wrong_kind");
	ck_assert_str_eq(problem_of("/runs/run-a/tools", 404), "wrong_kind");
}
END_TEST

START_TEST(a_run_without_tools_has_an_empty_list)
{
	json_t *page = get_json(below("/tools"), 200);

	ck_assert_str_eq(text_of(page, "schema"), "tracespool/tool-list/1");
	ck_assert_uint_eq(json_array_size(member(page, "items")), 0);
	ck_assert(is_null(page, "next_cursor"));
	json_decref(page);
}
END_TEST

START_TEST(refused_drops_are_listed_and_found_by_name_and_digest)
{
	json_t *list, *one;
	char path[200];

	bench_drop(&served, "bad one.jsonl", "{\"kind\":\"meta\"\n");
	json_decref(bench_receipt(&served, "bad one.jsonl", "quarantined"));
	list = get_json("/quarantine?count=1", 200);
	ck_assert_int_eq(number_of(list, "total"), 1);
	one = json_array_get(member(list, "items"), 0);
	ck_assert_str_eq(text_of(one, "name"), "bad one.jsonl");
	ck_assert_str_eq(text_of(one, "reason.code"), "bad_json");
	snprintf(path, sizeof(path), "/quarantine/%s", text_of(one, "digest"));
	json_decref(list);
	one = get_json(path, 200);
	ck_assert_str_eq(text_of(one, "state"), "quarantined");
	json_decref(one);
	one = get_json("/quarantine/bad%20one.jsonl", 200);
	ck_assert_str_eq(text_of(one, "schema"), "tracespool/receipt/1");
	json_decref(one);
	ck_assert_str_eq(problem_of("/quarantine/night.jsonl", 404), "unknown_receipt");
	/* Still found when a later drop of that name was taken. */
	ingest_execution("bad one.jsonl", "run-good");
	one = get_json("/quarantine/bad%20one.jsonl", 200);
	ck_assert_str_eq(text_of(one, "state"), "quarantined");
	json_decref(one);
	one = get_json("/ingest", 200);
	ck_assert_int_eq(number_of(one, "quarantine_count"), 1);
	json_decref(one);
}
END_TEST

START_TEST(receipts_are_filtered_by_state_and_name)
{
	json_t *list;

	bench_drop(&served, "bad.jsonl", "{}\n");
	json_decref(bench_receipt(&served, "bad.jsonl", "quarantined"));
	list = get_json("/ingest/receipts?state=ingested", 200);
	ck_assert_uint_eq(json_array_size(member(list, "items")), 1);
	ck_assert_str_eq(text_of(json_array_get(member(list, "items"), 0), "name"), "night.jsonl");
	json_decref(list);
	list = get_json("/ingest/receipts?name=bad.jsonl&state=ingested&state=quarantined", 200);
	ck_assert_uint_eq(json_array_size(member(list, "items")), 1);
	json_decref(list);
}
END_TEST

Suite *http_lists_suite(void)
{
	Suite *s = suite_create("http: lists and rows");
	TCase *c = tcase_create("lists");

	tcase_add_checked_fixture(c, setup, stop_serving);
	tcase_set_timeout(c, 60);
	tcase_add_test(c, a_walk_along_the_cursor_sees_each_row_once_in_order);
	tcase_add_test(c, the_link_header_leads_through_an_array);
	tcase_add_test(c, a_cursor_fits_only_its_own_query);
	tcase_add_test(c, count_adds_the_total_of_the_filters);
	tcase_add_test(c, an_item_has_all_members_and_replay_only_when_asked);
	tcase_add_test(c, lines_come_all_or_up_to_the_limit_and_are_counted_first);
	tcase_add_test(c, runs_come_as_lines_page_by_page);
	tcase_add_test(c, compressed_lines_are_the_same_lines);
	tcase_add_test(c, replay_rows_come_as_lines_and_as_one_object);
	tcase_add_test(c, the_head_of_a_stream_says_how_many_rows_it_has);
	tcase_add_test(c, rows_that_do_not_exist_are_a_conflict_with_their_class);
	tcase_add_test(c, lists_of_requests_are_not_there_for_executions);
	tcase_add_test(c, a_run_without_tools_has_an_empty_list);
	tcase_add_test(c, refused_drops_are_listed_and_found_by_name_and_digest);
	tcase_add_test(c, receipts_are_filtered_by_state_and_name);
	suite_add_tcase(s, c);
	return s;
}
