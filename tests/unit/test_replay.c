/* test_replay.c: replay rows: the corpus's rows and lowering errors by value, the worked example as
 * text, order of errors, mixed runs, completion hashes, and that large runs take n log n time
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "request_case.h"
#include "tracespool/replay.h"
#include "tracespool/store.h"

static struct ts_error err;
static struct runfile *file;
static struct replay *replay;
static struct buf rows = BUF_INIT;

static void begin(void)
{
	ts_error_init(&err);
	ck_assert_msg(runfile_create(NULL, RUN_REQUESTS, 0, &file, &err) == 0, "%s", err.message);
}

static void end(void)
{
	replay_close(TAKE(replay));
	runfile_free(TAKE(file));
	buf_done(&rows);
}

/* All rows, one a line. */
static void read_rows(bool numbers_string)
{
	int more;

	buf_clear(&rows);
	while ((more = replay_next(replay, &rows, numbers_string, &err)) > 0)
		buf_putc(&rows, '\n');
	ck_assert_msg(more == 0, "%s", err.message);
}

/* Rows of the corpus. */
static void compare_rows(const struct request_case *c)
{
	const struct node *want = tree_get(c->want, "replay");
	struct arena arena = {0};
	const struct replay_facts *facts = replay_facts(replay);
	const char *at;

	read_rows(false);
	at = rows.data;
	ck_assert_uint_eq(facts->rows, tree_count(want));
	for (const struct node *w = want->child; w; w = w->next) {
		const char *newline = strchr(at, '\n');
		const struct node *got = tree_parse(at, (size_t)(newline - at), &arena);

		tree_same(w, got, c->place);
		/* Members come in the order of the format's tables. */
		for (const struct node *a = w->child, *b = got->child; a; a = a->next, b = b->next)
			ck_assert_msg(ts_str_eq(a->key, b->key), "%s: order of members: %.*s",
				      c->place, (int)b->key.n, b->key.p);
		at = newline + 1;
	}
	ck_assert_msg(!*at, "%s: more rows than expected", c->place);
	tree_same(tree_get(tree_get(c->want, "summary"), "trace_block_size"),
		  &(struct node){.type = JSON_U64, .u64 = facts->trace_block_size}, c->place);
	arena_done(&arena);
}

static void run_case(const struct request_case *c)
{
	bool good = tree_get(c->want, "ok")->type == JSON_TRUE;
	const struct node *class = tree_get(c->want, "error_class");
	struct trace_counts counts;

	if (!good && !ts_str_is(tree_get(c->want, "stage")->str, "lower"))
		return;
	/* Rows do not depend on the indexes, which come after the first lowering. */
	for (unsigned indexed = 0; indexed < 2; indexed++) {
		begin();
		ck_assert_int_eq(case_load(c, runfile_sink(file), &counts, &err), 0);
		ck_assert_int_eq(runfile_flush(file, &err), 0);
		if (indexed)
			ck_assert_msg(runfile_index(file, &err) == 0, "%s", err.message);
		int result = replay_open(runfile_db(file), &replay, &err);

		if (good) {
			ck_assert_msg(result == 0, "%s: %s", c->place, err.message);
			compare_rows(c);
		} else {
			ck_assert_msg(result < 0, "%s: lowered", c->place);
			ck_assert_msg(ts_str_is(class->str, err.code->code), "%s: got %s (%s)",
				      c->place, err.code->code, err.message);
			ck_assert_int_eq(err.code->fate, TS_FATE_NONE);
		}
		end();
	}
}

START_TEST(corpus_gives_its_rows_and_lowering_errors)
{
	unsigned n = corpus_each(run_case);

	if (!n)
		printf("test_replay: corpus absent, its cases are skipped\n");
	else
		ck_assert_uint_gt(n, 100);
}
END_TEST

/* ---- runs made from text ---- */

/* Opens the lowering of lines given as text. */
static int lower(const char *text)
{
	struct trace_counts counts;

	end();
	begin();
	ck_assert_msg(text_load(text, runfile_sink(file), &counts, &err) == 0, "%s", err.message);
	ck_assert_msg(runfile_flush(file, &err) == 0, "%s", err.message);
	return replay_open(runfile_db(file), &replay, &err);
}

static void lowers_to(const char *text, const char *want)
{
	ck_assert_msg(lower(text) == 0, "%s", err.message);
	read_rows(false);
	ck_assert_str_eq(rows.data, want);
}

static void fails(const char *text, const char *code)
{
	ck_assert_int_lt(lower(text), 0);
	ck_assert_msg(strcmp(err.code->code, code) == 0, "want %s, got %s (%s)", code,
		      err.code->code, err.message);
}

#define EVENT(type, time, context, rest)                                                           \
	"{\"schema\":\"dynamo.request.trace.v1\",\"event_type\":\"" type                           \
	"\",\"event_time_unix_ms\":" #time "," context rest "}\n"
#define IN(session) "\"agent_context\":{\"session_id\":\"" session "\"},"
#define BELOW(session, parent)                                                                     \
	"\"agent_context\":{\"session_id\":\"" session "\",\"parent_session_id\":\"" parent "\"},"
#define REQUEST(id, start, end, context, output, block, length, hashes)                            \
	EVENT("request_end", end, context,                                                         \
	      "\"request\":{\"request_id\":\"" id "\",\"request_received_ms\":" #start             \
	      ",\"output_tokens\":" #output ",\"replay\":{\"trace_block_size\":" #block            \
	      ",\"input_length\":" #length ",\"input_sequence_hashes\":" hashes "}}")
#define SHORT(id, start, end, context) REQUEST(id, start, end, context, 1, 4, 4, "[1]")
#define TOOL(id, start, end, context, rest)                                                        \
	EVENT("tool_end", end, context,                                                            \
	      "\"tool\":{\"tool_call_id\":\"" id "\",\"tool_class\":\"ls\","                       \
	      "\"started_at_unix_ms\":" #start rest "}")
#define CLAUDE(source, mode, more)                                                                 \
	",\"claude\":{\"source_request_id\":\"" source "\",\"execution_mode\":\"" mode "\"" more "}"

START_TEST(worked_example_of_the_format_comes_out_letter_by_letter)
{
	lowers_to(REQUEST("q1", 1000, 1100, IN("main"), 3, 4, 6, "[18446744073709551615,7]")
			  TOOL("t1", 1150, 1250, IN("main"), "")
				  REQUEST("k1", 1120, 1300, BELOW("kid", "main"), 1, 4, 4, "[99]")
					  REQUEST("q2", 1400, 1500, IN("main"), 2, 4, 8,
						  "[18446744073709551615,8]"),
		  "{\"request_id\":\"q1\",\"session_id\":\"main\",\"input_length\":6,"
		  "\"output_length\":3,\"hash_ids\":[0,1],\"timestamp\":0.0,"
		  "\"request_kind\":\"foreground\",\"branches\":[\"k1\"],\"prefix_reset\":true}\n"
		  "{\"request_id\":\"k1\",\"session_id\":\"kid\",\"input_length\":4,"
		  "\"output_length\":1,\"hash_ids\":[2],\"timestamp\":120.0,\"delay\":20.0,"
		  "\"request_kind\":\"agent\",\"wait_for\":[\"q1\"],\"prefix_reset\":true}\n"
		  "{\"request_id\":\"q2\",\"session_id\":\"main\",\"input_length\":8,"
		  "\"output_length\":2,\"hash_ids\":[0,3],\"timestamp\":400.0,\"delay\":100.0,"
		  "\"request_kind\":\"foreground\",\"wait_for\":[\"q1\",\"k1\"],"
		  "\"prefix_reset\":false,\"tool_events\":[{\"tool_call_id\":\"t1\","
		  "\"tool_class\":\"ls\",\"started_at_unix_ms\":1150,\"ended_at_unix_ms\":1250,"
		  "\"duration_ms\":100.0,\"status\":\"succeeded\"}]}\n");
}
END_TEST

START_TEST(standard_rows_follow_start_end_and_id)
{
	lowers_to(REQUEST("b", 500, 600, "", 2, 8, 0, "[]")
			  REQUEST("z", 100, 300, "", 0, 8, 9, "[5,6]")
				  REQUEST("y", 100, 300, "", 1, 8, 8, "[6]")
					  REQUEST("x", 100, 200, "", 1, 8, 8, "[7]"),
		  "{\"input_length\":8,\"output_length\":1,\"hash_ids\":[0],\"timestamp\":0.0}\n"
		  "{\"input_length\":8,\"output_length\":1,\"hash_ids\":[1],\"timestamp\":0.0}\n"
		  "{\"input_length\":9,\"output_length\":0,\"hash_ids\":[2,1],\"timestamp\":0.0}\n"
		  "{\"input_length\":0,\"output_length\":2,\"hash_ids\":[],\"timestamp\":400.0}\n");
	ck_assert_int_eq(replay_facts(replay)->mode, REPLAY_STANDARD);
	ck_assert_uint_eq(replay_facts(replay)->trace_block_size, 8);
	ck_assert_uint_eq(replay_facts(replay)->unreplayable_rows, 1);
}
END_TEST

START_TEST(integers_can_be_strings)
{
	ck_assert_int_eq(lower(REQUEST("a", 1, 3, "", 18446744073709551615, 8, 9, "[5,6]")), 0);
	read_rows(true);
	ck_assert_str_eq(rows.data,
			 "{\"input_length\":\"9\",\"output_length\":\"18446744073709551615\","
			 "\"hash_ids\":[\"0\",\"1\"],\"timestamp\":0.0}\n");
}
END_TEST

#define WITH_COMPLETION(id, start, output, length, hashes, completion)                             \
	REQUEST(id, start, start, "", output, 4, length,                                           \
		hashes ",\"completion_sequence_hashes\":" completion)

START_TEST(completion_hashes_get_ids_after_all_inputs)
{
	/* b's prompt ends in the middle of its second block: that block becomes the completion's.
	 */
	lowers_to(WITH_COMPLETION("a", 1, 3, 4, "[10]", "[10,11]")
			  WITH_COMPLETION("b", 2, 4, 6, "[10,12]", "[10,13,14]")
				  WITH_COMPLETION("c", 3, 0, 5, "[10,11]", "[10,15]")
					  WITH_COMPLETION("d", 4, 0, 0, "[]", "[]")
						  REQUEST("e", 5, 5, "", 2, 4, 4, "[20]"),
		  /* inputs: 10 0, 12 1, 11 2, 20 3; completions: 13 4, 14 5, 15 6 */
		  "{\"input_length\":4,\"output_length\":3,\"output_token_ids\":[2,2,2],"
		  "\"hash_ids\":[0],\"timestamp\":0.0}\n"
		  "{\"input_length\":6,\"output_length\":4,\"output_token_ids\":[4,4,5,5],"
		  "\"hash_ids\":[0,4],\"timestamp\":1.0}\n"
		  "{\"input_length\":5,\"output_length\":0,\"output_token_ids\":[],"
		  "\"hash_ids\":[0,2],\"timestamp\":2.0}\n"
		  "{\"input_length\":0,\"output_length\":0,\"output_token_ids\":[],"
		  "\"hash_ids\":[],\"timestamp\":3.0}\n"
		  "{\"input_length\":4,\"output_length\":2,\"hash_ids\":[3],\"timestamp\":4.0}\n");
}
END_TEST

#define HUGE_BLOCKS(output)                                                                        \
	EVENT("request_end", 1, "",                                                                \
	      "\"request\":{\"request_id\":\"big\",\"request_received_ms\":1,"                     \
	      "\"output_tokens\":" #output ",\"replay\":{\"trace_block_size\":33554432,"           \
	      "\"input_length\":0,\"input_sequence_hashes\":[],"                                   \
	      "\"completion_sequence_hashes\":[9]}}")

START_TEST(more_output_tokens_than_a_row_lists_are_refused)
{
	fails(HUGE_BLOCKS(16777217), "output_too_large");
	ck_assert_int_eq(lower(HUGE_BLOCKS(16777216)), 0);
	read_rows(false);
	/* Each token and a comma, but for the last, between the brackets. */
	const char *list = strstr(rows.data, "\"output_token_ids\":[");

	ck_assert_ptr_nonnull(list);
	list += strlen("\"output_token_ids\":[");
	ck_assert_uint_eq((size_t)(strchr(list, ']') - list), 2 * 16777216 - 1);
}
END_TEST

START_TEST(mixed_runs_are_told_before_other_errors)
{
	/* Also two block sizes, a tool of an unknown mode and two parents. */
	static const char agentic[] = SHORT("a", 1, 2, BELOW("s", "p"))
		REQUEST("b", 3, 4, BELOW("s", "q"), 1, 8, 4, "[1]")
			TOOL("t", 1, 2, IN("s"), CLAUDE("a", "never", ""));
	char text[4000];

	snprintf(text, sizeof(text), "%s%s", agentic, SHORT("c", 9, 9, ""));
	fails(text, "mixed_agent_context");
	fails(agentic, "mixed_block_size");
}
END_TEST

START_TEST(agentic_errors_come_section_by_section)
{
#define TWO SHORT("p1", 10, 20, IN("p")) SHORT("k1", 12, 14, BELOW("k", "p"))
#define OTHER SHORT("o1", 11, 13, IN("o"))
#define CHILD(name) ",\"child_session_id\":\"" name "\""
	fails(TWO SHORT("k2", 50, 60, BELOW("k", "o"))
		      TOOL("t", 1, 2, IN("p"), CLAUDE("p1", "", "")),
	      "conflicting_parent");
	fails(TWO TOOL("t", 1, 2, IN("p"), CLAUDE("nobody", "Blocking", "")),
	      "unsupported_execution_mode");
	fails(TWO TOOL("t", 1, 2, IN("p"), CLAUDE("nobody", "blocking", "")),
	      "unknown_tool_request");
	fails(TWO TOOL("t", 1, 2, IN("p"), CLAUDE("k1", "blocking", "")), "tool_session_mismatch");
	fails(TWO TOOL("t", 1, 2, IN("p"),
		       CLAUDE("p1", "blocking", ",\"consumer_request_id\":\"x\"")),
	      "unknown_tool_request");
	fails(TWO TOOL("t", 1, 2, IN("p"), CLAUDE("p1", "background", CHILD("k")))
		      TOOL("u", 1, 2, IN("p"), CLAUDE("p1", "background", CHILD("k"))),
	      "duplicate_child_tool");
	fails(TWO OTHER TOOL("t", 1, 2, IN("o"), CLAUDE("o1", "blocking", CHILD("k"))),
	      "tool_source_not_in_parent");
	/* The same without parent: the source may lie anywhere. */
	ck_assert_int_eq(lower(SHORT("p1", 10, 20, IN("p")) OTHER TOOL(
				 "t", 1, 2, IN("o"), CLAUDE("o1", "background", CHILD("p")))),
			 0);
	read_rows(false);
	ck_assert_ptr_nonnull(strstr(rows.data, "\"request_kind\":\"background_agent\""));
	ck_assert_ptr_null(strstr(rows.data, "wait_for"));
	fails(SHORT("s1", 10, 20, BELOW("s", "s")), "dependency_cycle");
	ck_assert_ptr_nonnull(strstr(err.message, "\"s1\""));
}
END_TEST

START_TEST(a_request_found_twice_is_waited_for_once)
{
	/* Each session is the other's parent: a1 waits for b1 as its spawn point and as b's end. */
	ck_assert_int_eq(
		lower(SHORT("b1", 0, 10, BELOW("b", "a")) SHORT("a1", 10, 20, BELOW("a", "b"))), 0);
	read_rows(false);
	ck_assert_ptr_nonnull(strstr(rows.data, "\"wait_for\":[\"b1\"],\"prefix_reset\":true}"));
	/* A consumer that already follows its source in the chain. */
	ck_assert_int_eq(lower(SHORT("p1", 0, 10, IN("p")) SHORT("p2", 20, 30, IN("p")) TOOL(
				 "t", 12, 15, IN("p"),
				 CLAUDE("p1", "blocking", ",\"consumer_request_id\":\"p2\""))),
			 0);
	read_rows(false);
	ck_assert_ptr_nonnull(strstr(rows.data, "\"wait_for\":[\"p1\"],"));
	ck_assert_ptr_nonnull(strstr(rows.data, "\"delay\":7.0"));
	ck_assert_ptr_nonnull(strstr(rows.data, "\"tool_wait_ms\":3.0"));
}
END_TEST

/* Which calls the second row lists, one letter each. */
static void second_row_keeps(const char *tools, const char *want)
{
	char text[6000], got[20] = "";

	snprintf(text, sizeof(text), "%s%s%s", SHORT("p1", 100, 200, IN("p")),
		 SHORT("p2", 300, 400, IN("p")), tools);
	ck_assert_msg(lower(text) == 0, "%s", err.message);
	read_rows(false);
	for (const char *p = rows.data; (p = strstr(p, "\"tool_call_id\":\"")); p++)
		strncat(got, p + strlen("\"tool_call_id\":\""), 1);
	ck_assert_str_eq(got, want);
}

#define UNTIL(ms) ",\"ended_at_unix_ms\":" #ms
#define CONSUMER(id) ",\"consumer_request_id\":\"" id "\""

START_TEST(spans_that_end_after_the_previous_start_are_kept)
{
	/* Times in reverse order of the letters' ends; rows list them by start, then end. */
	second_row_keeps(TOOL("e", 50, 301, IN("p"), UNTIL(301))
				 TOOL("d", 50, 300, IN("p"), UNTIL(300))
					 TOOL("c", 90, 101, IN("p"), UNTIL(101))
						 TOOL("b", 60, 100, IN("p"), UNTIL(100))
							 TOOL("a", 110, 120, IN("q"), UNTIL(120)),
			 "dc");
	/* Without a consumer only a call that blocks counts; with one only that request's own. */
	second_row_keeps(
		TOOL("a", 210, 220, IN("p"), UNTIL(220) CLAUDE("p1", "background", ""))
			TOOL("b", 211, 220, IN("p"), UNTIL(220) CLAUDE("p1", "blocking", ""))
				TOOL("c", 900, 950, IN("p"),
				     UNTIL(950) CLAUDE("p1", "background", CONSUMER("p2")))
					TOOL("d", 212, 220, IN("p"),
					     UNTIL(220) CLAUDE("p1", "blocking", CONSUMER("p1"))),
		"bc");
}
END_TEST

/* ---- size ---- */

static void put_request(struct sink *sink, uint64_t no, const char *session, const char *parent,
			int64_t start, int64_t finish)
{
	char id[32];
	uint64_t hash = no % 1000;
	struct row_request row = {
		.no = no,
		.line = no,
		.session_id = ts_str_c(session),
		.parent_session_id = ts_str_c(parent),
		.start_ms = start,
		.end_ms = finish,
		.output_tokens = 1,
		.trace_block_size = 4,
		.input_length = 4,
		.hash_count = 1,
	};
	struct row_request_hashes hashes = {.no = no, .input = &hash, .input_count = 1};

	snprintf(id, sizeof(id), "r%07llu", (unsigned long long)no);
	row.request_id = ts_str_c(id);
	ck_assert_int_eq(sink->row(sink, ROW_REQUEST, &row, &err), 0);
	ck_assert_int_eq(sink->row(sink, ROW_REQUEST_HASHES, &hashes, &err), 0);
}

static void put_tool(struct sink *sink, uint64_t no, int64_t start, int64_t finish)
{
	struct row_tool row = {
		.line = no,
		.event_type = TS_STR("tool_end"),
		.session_id = TS_STR("main"),
		.tool_call_id = TS_STR("t"),
		.tool_class = TS_STR("c"),
		.status = TS_STR("s"),
		.start_ms = start,
		.end_ms = finish,
		.duration_ms = 1,
	};

	ck_assert_int_eq(sink->row(sink, ROW_TOOL, &row, &err), 0);
}

START_TEST(large_sessions_with_many_children_and_tools_take_no_quadratic_time)
{
	enum { CHAIN = 100000, CHILDREN = 5000, TOOLS = 100000 };
	struct sink *sink;
	struct timespec from, to;
	uint64_t no = 0;
	char name[32];

	begin();
	sink = runfile_sink(file);
	/* All children start during the first request of the chain and end before its second, so
	 * one request has 5000 branches and one waits for 5001 requests. */
	for (int i = 0; i < CHAIN; i++) {
		int64_t start = i ? 100000 + 10 * (int64_t)i : 0;

		put_request(sink, ++no, "main", NULL, start, start + 5);
	}
	for (int i = 0; i < CHILDREN; i++) {
		snprintf(name, sizeof(name), "child-%05d", i);
		put_request(sink, ++no, name, "main", 1, 2 + i);
	}
	for (int i = 0; i < TOOLS; i++)
		put_tool(sink, (uint64_t)i, 100000 + 10 * (int64_t)i + 6,
			 100000 + 10 * (int64_t)i + 8);
	ck_assert_int_eq(runfile_flush(file, &err), 0);

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	ck_assert_msg(replay_open(runfile_db(file), &replay, &err) == 0, "%s", err.message);
	read_rows(false);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	/* n log n takes about a second here, n squared minutes. */
	ck_assert_int_lt(to.tv_sec - from.tv_sec, 30);

	size_t lines = 0, waits = 0;
	const char *second = NULL;

	for (const char *p = rows.data; *p; p = strchr(p, '\n') + 1)
		if (++lines == CHILDREN + 2)
			second = p;
	ck_assert_uint_eq(lines, CHAIN + CHILDREN);
	for (const char *p = strstr(second, "\"wait_for\":["); *p != ']'; p++)
		waits += *p == ',';
	ck_assert_uint_eq(waits, CHILDREN);
	ck_assert_ptr_nonnull(strstr(second, "\"tool_wait_ms\":2.0,\"tool_events\":[{"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("replay");
	TCase *t = tcase_create("replay");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_set_timeout(t, 300);
	tcase_add_checked_fixture(t, NULL, end);
	tcase_add_test(t, corpus_gives_its_rows_and_lowering_errors);
	tcase_add_test(t, worked_example_of_the_format_comes_out_letter_by_letter);
	tcase_add_test(t, standard_rows_follow_start_end_and_id);
	tcase_add_test(t, integers_can_be_strings);
	tcase_add_test(t, completion_hashes_get_ids_after_all_inputs);
	tcase_add_test(t, more_output_tokens_than_a_row_lists_are_refused);
	tcase_add_test(t, mixed_runs_are_told_before_other_errors);
	tcase_add_test(t, agentic_errors_come_section_by_section);
	tcase_add_test(t, a_request_found_twice_is_waited_for_once);
	tcase_add_test(t, spans_that_end_after_the_previous_start_are_kept);
	tcase_add_test(t, large_sessions_with_many_children_and_tools_take_no_quadratic_time);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
