/* test_request.c: request traces: the corpus's verdicts, requests and tool spans; envelope, order
 * of conditions, derived times, duplicate ids, counts and places of errors
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "request_case.h"
#include "request_recorder.h"
#include "tracespool/format.h"

static void check_refusal(const struct request_case *c, int result, const struct ts_error *err)
{
	const struct node *file = tree_get(c->want, "file"), *line = tree_get(c->want, "line");
	char want[64];

	snprintf(want, sizeof(want), "%.*s", (int)tree_get(c->want, "error_class")->str.n,
		 tree_get(c->want, "error_class")->str.p);
	ck_assert_msg(result < 0, "%s: accepted, want %s", c->place, want);
	ck_assert_msg(strcmp(err->code->code, want) == 0, "%s: want %s, got %s (%s)", c->place,
		      want, err->code->code, err->message);
	ck_assert_msg(err->line == (tree_is_null(line) ? 0 : line->u64), "%s: line %llu", c->place,
		      (unsigned long long)err->line);
	if (!tree_is_null(file))
		ck_assert_msg(ts_str_ends(file->str, err->file), "%s: file %s", c->place,
			      err->file);
	if (err->line) {
		ck_assert_msg(err->byte >= 0, "%s: no byte", c->place);
		ck_assert_msg(err->excerpt[0], "%s: no excerpt", c->place);
	}
}

static void check_infos(const struct node *want, const struct node *got, const char *place)
{
	static const struct node none = {.type = JSON_OBJECT};
	const struct node *w = want->child, *g = got->child;

	for (; w && g; w = w->next, g = g->next) {
		const struct node *info = tree_get(w, "info");

		tree_within(w, g, place);
		tree_same(info ? info : &none, tree_get(g, "info"), place);
	}
	ck_assert_msg(!w && !g, "%s: number of requests differs", place);
}

static void run_case(const struct request_case *c)
{
	struct recorder rec;
	struct trace_counts counts;
	struct ts_error err = TS_ERROR_INIT;
	struct arena arena = {0};
	struct node *requests, *tools;
	int result;

	recorder_init(&rec);
	result = case_load(c, &rec.sink, &counts, &err);
	if (tree_get(c->want, "ok")->type == JSON_TRUE) {
		ck_assert_msg(result == 0, "%s: refused: %s: %s", c->place,
			      err.code ? err.code->code : "", err.message);
		recorder_finish(&rec, &arena, &requests, &tools);
		check_infos(tree_get(c->want, "requests"), requests, c->place);
		tree_same(tree_get(c->want, "tools"), tools, c->place);
	} else if (ts_str_is(tree_get(c->want, "stage")->str, "load")) {
		check_refusal(c, result, &err);
	} else {
		ck_assert_msg(result == 0, "%s: refused: %s", c->place, err.message);
	}
	recorder_done(&rec);
	arena_done(&arena);
}

START_TEST(corpus_gives_its_verdicts_requests_and_tools)
{
	unsigned n = corpus_each(run_case);

	if (!n)
		printf("test_request: corpus absent, its cases are skipped\n");
	else
		ck_assert_uint_gt(n, 100);
}
END_TEST

/* ---- single rules ---- */

#define HEAD "\"schema\":\"dynamo.request.trace.v1\",\"event_type\":\"request_end\","
#define REPLAY                                                                                     \
	"\"replay\":{\"trace_block_size\":4,\"input_length\":6,\"input_sequence_hashes\":[7,8]}"
#define REQUEST(id)                                                                                \
	"\"request\":{\"request_id\":\"" id                                                        \
	"\",\"request_received_ms\":100,\"output_tokens\":1," REPLAY "}"
#define GOOD(id) "{" HEAD "\"event_time_unix_ms\":130," REQUEST(id) "}"

static struct trace_counts counts;
static struct ts_error err;
static struct recorder rec;
static struct arena arena;
static struct node *requests, *tools;

static const struct node *tree_of(const char *text)
{
	return tree_parse(text, strlen(text), &arena);
}

static int load(const char *text)
{
	int result;

	recorder_done(&rec);
	arena_reset(&arena);
	recorder_init(&rec);
	ts_error_init(&err);
	result = text_load(text, &rec.sink, &counts, &err);
	if (result == 0)
		recorder_finish(&rec, &arena, &requests, &tools);
	return result;
}

static void refused(const char *text, const char *code, uint64_t line)
{
	ck_assert_msg(load(text) < 0, "accepted: %s", text);
	ck_assert_msg(strcmp(err.code->code, code) == 0, "want %s, got %s (%s) for %s", code,
		      err.code->code, err.message, text);
	ck_assert_uint_eq(err.line, line);
}

/* A request with the given members in place of its times. */
static void times(const char *members, const char *event_time, int64_t start, int64_t end)
{
	char text[1000];

	snprintf(text, sizeof(text),
		 "{" HEAD "\"event_time_unix_ms\":%s,\"request\":{\"request_id\":\"a\",%s,"
		 "\"output_tokens\":1," REPLAY "}}",
		 event_time, members);
	ck_assert_msg(load(text) == 0, "%s: %s", members, err.message);
	char want[100];
	snprintf(want, sizeof(want), "[{\"start_ms\":%lld,\"end_ms\":%lld}]", (long long)start,
		 (long long)end);
	const struct node *w = tree_of(want);

	tree_within(w->child, requests->child, members);
}

START_TEST(total_time_rounds_half_away_from_zero_and_saturates)
{
	static const struct {
		const char *total;
		int64_t took;
	} cases[] = {
		{"0.5", 1},
		{"1.5", 2},
		{"2.5", 3},
		{"0.49999999999999994", 0},
		{"4503599627370497.5", 4503599627370498},
		{"-7.5", 0},
		{"-0", 0},
		{"30", 30},
		{"1e-400", 0},
	};
	char members[200];

	for (unsigned i = 0; i < ARRAY_LEN(cases); i++) {
		snprintf(members, sizeof(members),
			 "\"request_received_ms\":1000,\"total_time_ms\":%s", cases[i].total);
		times(members, "5", 1000, 1000 + cases[i].took);
	}
	times("\"request_received_ms\":1000,\"total_time_ms\":1e300", "5", 1000, INT64_MAX);
	times("\"request_received_ms\":18446744073709551615,\"total_time_ms\":1", "5", INT64_MAX,
	      INT64_MAX);
}
END_TEST

START_TEST(without_total_time_the_event_time_ends_a_request)
{
	times("\"request_received_ms\":1000", "1500", 1000, 1500);
	times("\"request_received_ms\":1000", "999", 1000, 1000);
	times("\"request_received_ms\":1000,\"total_time_ms\":null", "1001", 1000, 1001);
	times("\"request_received_ms\":0", "18446744073709551615", 0, INT64_MAX);
}
END_TEST

START_TEST(event_member_decides_what_the_record_is)
{
	/* A record with an event that is no object is skipped; only the last event counts. */
	ck_assert_int_eq(load("{\"event\":null," HEAD "\"event_time_unix_ms\":1," REQUEST(
				 "x") "}\n"
				      "{\"event\":" GOOD(
					      "x") ",\"event\":7}\n"
						   "{\"event\":7,\"timestamp\":[],\"schema\":9,"
						   "\"event\":" GOOD(
							   "a") "}\n"
								"[" GOOD("x") "]\n17\n\"t\"\ntrue\n"
									      "null\n" GOOD("b")),
			 0);
	ck_assert_uint_eq(counts.non_record, 7);
	ck_assert_uint_eq(counts.request_end, 2);
	ck_assert_uint_eq(counts.lines, 9);
	ck_assert_uint_eq(tree_count(requests), 2);
	ck_assert(ts_str_is(tree_get(requests->child, "request_id")->str, "a"));
	/* The event alone is read: a whole record around it changes nothing. */
	refused("{" HEAD "\"event_time_unix_ms\":1," REQUEST("x") ",\"event\":{}}", "missing_field",
		1);
}
END_TEST

START_TEST(payload_records_are_skipped_whatever_else_they_hold)
{
	ck_assert_int_eq(load("{\"event_type\":\"request_payload\",\"schema\":1,\"request\":[]}\n"
			      "{\"event\":{\"event_type\":\"tool_end\","
			      "\"event_type\":\"request\\u005fpayload\",\"payload\":{}}}\n"
			      "\n \n" GOOD("a")),
			 0);
	ck_assert_uint_eq(counts.request_payload, 2);
	ck_assert_uint_eq(counts.blank, 2);
	ck_assert_uint_eq(counts.records, 3);
	ck_assert_uint_eq(counts.lines, 5);
	refused("{\"event_type\":\"request_payload\",\"payload\":[1,]}", "bad_json", 1);
	refused("{\"event_type\":\"request_payload\",\"event_type\":null}", "missing_field", 1);
}
END_TEST

START_TEST(last_of_repeated_members_counts)
{
	ck_assert_int_eq(
		load("{" HEAD "\"event_time_unix_ms\":-1,\"event_time_unix_ms\":130,"
		     "\"request\":{\"request_id\":5},\"request\":{\"request_id\":[],"
		     "\"request_id\":\"a\",\"request_received_ms\":100,\"output_tokens\":1,"
		     "\"replay\":{\"trace_block_size\":4,\"input_length\":6,"
		     "\"input_sequence_hashes\":[1],\"input_sequence_hashes\":[1,2,3,4,5],"
		     "\"input_sequence_hashes\":[-1],\"input_sequence_hashes\":\"no\","
		     "\"input_sequence_hashes\":null,\"input_sequence_hashes\":[7,8]}}}"),
		0);
	tree_same(tree_of("[7,8]"), tree_get(requests->child, "input_sequence_hashes"), "hashes");
	/* The bare record's hashes and those of the event are apart. */
	ck_assert_int_eq(load("{\"request\":{\"replay\":{\"input_sequence_hashes\":[1,2],"
			      "\"completion_sequence_hashes\":[3]}},\"event\":" GOOD("a") "}"),
			 0);
	tree_same(tree_of("[7,8]"), tree_get(requests->child, "input_sequence_hashes"), "hashes");
}
END_TEST

START_TEST(nothing_of_one_line_shows_in_the_next)
{
	ck_assert_int_eq(load("{" HEAD "\"event_time_unix_ms\":130,\"agent_context\":{"
			      "\"session_id\":\"s\",\"parent_session_id\":\"p\"},"
			      "\"request\":{\"request_id\":\"a\",\"request_received_ms\":100,"
			      "\"output_tokens\":1,\"total_time_ms\":2.0,\"model\":\"m\","
			      "\"queue_depth\":3,\"worker\":{\"prefill_worker_id\":4},"
			      "\"finish_reason_metadata\":{\"finish_reason\":\"stop\","
			      "\"tool_calls\":[{},{}]},\"replay\":{\"trace_block_size\":4,"
			      "\"input_length\":4,\"input_sequence_hashes\":[7],"
			      "\"completion_sequence_hashes\":[7,9]}}}\n" GOOD("b")),
			 0);
	tree_within(tree_of("{\"tool_call_count\":2,\"session_id\":\"s\","
			    "\"parent_session_id\":\"p\"}"),
		    requests->child, "first");
	const struct node *second = requests->child->next;

	ck_assert(tree_is_null(tree_get(second, "session_id")));
	ck_assert(tree_is_null(tree_get(second, "parent_session_id")));
	ck_assert(tree_is_null(tree_get(second, "total_time_ms")));
	ck_assert(tree_is_null(tree_get(second, "tool_call_count")));
	ck_assert_ptr_null(tree_get(second, "completion_sequence_hashes"));
	ck_assert_uint_eq(tree_count(tree_get(second, "info")), 0);
}
END_TEST

START_TEST(conditions_of_a_request_come_in_their_order)
{
	static const struct {
		const char *request; /* what stands for the member */
		const char *code;
	} cases[] = {
		{"\"tool\":null", "missing_request"},
		{"\"request\":null", "missing_request"},
		{"\"request\":{\"request_id\":\"a\"}", "missing_replay"},
		{"\"request\":{\"request_id\":\"a\",\"replay\":{\"trace_block_size\":0,"
		 "\"input_length\":6,\"input_sequence_hashes\":[]}}",
		 "zero_block_size"},
		{"\"request\":{\"request_id\":\"a\",\"replay\":{\"trace_block_size\":4,"
		 "\"input_length\":6,\"input_sequence_hashes\":[]}}",
		 "hash_count_mismatch"},
		{"\"request\":{\"request_id\":\"a\"," REPLAY "}", "missing_request_received_ms"},
		{"\"request\":{\"request_id\":\"a\",\"request_received_ms\":1," REPLAY "}",
		 "missing_output_tokens"},
	};
	char text[1000];

	for (unsigned i = 0; i < ARRAY_LEN(cases); i++) {
		snprintf(text, sizeof(text), "{" HEAD "\"event_time_unix_ms\":130,%s}",
			 cases[i].request);
		refused(text, cases[i].code, 1);
	}
	/* The largest length at the smallest block size does not overflow the block count. */
	refused("{" HEAD "\"event_time_unix_ms\":1,\"request\":{\"request_id\":\"a\",\"replay\":{"
		"\"trace_block_size\":1,\"input_length\":18446744073709551615,"
		"\"input_sequence_hashes\":[]}}}",
		"hash_count_mismatch", 1);
	ck_assert_str_eq(err.message, "18446744073709551615 tokens at block size 1 need "
				      "18446744073709551615 hashes, got 0");
}
END_TEST

START_TEST(fields_are_checked_before_schema_of_none_and_event_type)
{
	refused("{\"schema\":\"other\",\"event_type\":5}", "unsupported_schema", 1);
	refused("{\"schema\":5,\"event_type\":5}", "bad_field", 1);
	refused("{" HEAD "\"event_type\":\"router_selection\",\"event_time_unix_ms\":1,"
		"\"tool\":{\"tool_call_id\":\"t\"}}",
		"missing_field", 1);
	ck_assert_ptr_nonnull(strstr(err.message, "tool.tool_class"));
	refused("{" HEAD "\"event_type\":\"Request_End\",\"event_time_unix_ms\":1}",
		"unsupported_event", 1);
	refused("{" HEAD "\"event_type\":\"\",\"event_time_unix_ms\":1}", "unsupported_event", 1);
}
END_TEST

START_TEST(duplicate_ids_name_the_first_place)
{
	refused(GOOD("a") "\n\n" GOOD("b") "\n" GOOD("a") "\n", "duplicate_request_id", 4);
	ck_assert_str_eq(err.message, "request_id \"a\" again, first on line 1");
	ck_assert_int_eq(err.byte, (int64_t)strlen(GOOD("a") "\n\n" GOOD("b") "\n"));
	ck_assert_int_eq(strncmp(err.excerpt, "{\"schema\"", 9), 0);
	/* U+0000 is a character like others. */
	ck_assert_int_eq(load(GOOD("a\\u0000b") "\n" GOOD("a\\u0000c")), 0);
	refused(GOOD("a\\u0000b") "\n" GOOD("\\u0061\\u0000b"), "duplicate_request_id", 2);
}
END_TEST

START_TEST(tool_spans_are_dropped_without_context_tool_or_length)
{
	static const char head[] = "{\"schema\":\"dynamo.request.trace.v1\",\"event_type\":"
				   "\"tool_error\",\"event_time_unix_ms\":500,";
	static const char tool[] = "\"tool\":{\"tool_call_id\":\"t\",\"tool_class\":\"c\"";
	static const char context[] = "\"agent_context\":{\"session_id\":\"s\"},";
	char text[3000];

	snprintf(text, sizeof(text),
		 "%s%s}}\n%s%s\"tool\":null}\n%s%s%s,\"started_at_unix_ms\":501}}\n"
		 "%s%s%s,\"started_at_unix_ms\":500}}\n"
		 "%s%s%s,\"duration_ms\":2.5,\"status\":\"\"}}\n"
		 "%s%s%s,\"duration_ms\":1e30,\"ended_at_unix_ms\":18446744073709551615}}\n%s",
		 head, tool, head, context, head, context, tool, head, context, tool, head, context,
		 tool, head, context, tool, GOOD("a"));
	ck_assert_int_eq(load(text), 0);
	ck_assert_uint_eq(counts.tool_terminal, 6);
	ck_assert_uint_eq(counts.tool_dropped, 3);
	ck_assert_uint_eq(counts.tools, 3);
	static const char want[] =
		"[{\"line\":4,\"start_ms\":500,\"end_ms\":500,\"status\":\"error\","
		"\"duration_ms\":0},"
		"{\"line\":5,\"start_ms\":497,\"end_ms\":500,\"status\":\"\",\"duration_ms\":2.5},"
		"{\"line\":6,\"start_ms\":0,\"end_ms\":9223372036854775807,"
		"\"duration_ms\":1e30}]";
	const struct node *w = tree_of(want)->child, *g = tools->child;

	for (; w && g; w = w->next, g = g->next)
		tree_within(w, g, "tool");
	ck_assert(!w && !g);
}
END_TEST

START_TEST(a_run_needs_a_request)
{
	refused("", "no_requests", 0);
	refused("\n{\"event_type\":\"request_payload\"}\n", "no_requests", 0);
}
END_TEST

START_TEST(only_json_white_space_may_surround_a_text)
{
	ck_assert_int_eq(load(" \t" GOOD("a") " \t\r\n\r\t \n"), 0);
	ck_assert_uint_eq(counts.blank, 1);
	/* A line of no-break spaces is blank, one in front of a record is no JSON. */
	ck_assert_int_eq(load("\xc2\xa0\n" GOOD("a")), 0);
	refused("\xc2\xa0" GOOD("a"), "bad_json", 1);
	refused(GOOD("a") "\n\xef\xbb\xbf", "bad_json", 2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("request");
	TCase *t = tcase_create("request");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_set_timeout(t, 120);
	tcase_add_test(t, corpus_gives_its_verdicts_requests_and_tools);
	tcase_add_test(t, total_time_rounds_half_away_from_zero_and_saturates);
	tcase_add_test(t, without_total_time_the_event_time_ends_a_request);
	tcase_add_test(t, event_member_decides_what_the_record_is);
	tcase_add_test(t, payload_records_are_skipped_whatever_else_they_hold);
	tcase_add_test(t, last_of_repeated_members_counts);
	tcase_add_test(t, nothing_of_one_line_shows_in_the_next);
	tcase_add_test(t, conditions_of_a_request_come_in_their_order);
	tcase_add_test(t, fields_are_checked_before_schema_of_none_and_event_type);
	tcase_add_test(t, duplicate_ids_name_the_first_place);
	tcase_add_test(t, tool_spans_are_dropped_without_context_tool_or_length);
	tcase_add_test(t, a_run_needs_a_request);
	tcase_add_test(t, only_json_white_space_may_surround_a_text);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
