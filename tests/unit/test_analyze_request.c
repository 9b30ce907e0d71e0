/* test_analyze_request.c: figures of request runs: the corpus's summaries by value, the worked
 * example as text, edges of each figure, issues, cut maps, and what the run record gets
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "request_case.h"
#include "tracespool/analyze.h"

static struct ts_error err;
static struct runfile *file;
static struct arena keep, trees;
static struct buf out = BUF_INIT;
static struct run_record record;
static struct trace_counts counts;
static struct sink *sink;

static void begin(void)
{
	ts_error_init(&err);
	ck_assert_msg(runfile_create(NULL, RUN_REQUESTS, 0, &file, &err) == 0, "%s", err.message);
	sink = runfile_sink(file);
	record = (struct run_record){.id = TS_STR("night-0123456789ab"), .kind = RUN_REQUESTS};
	counts = (struct trace_counts){.shards = 1};
}

static void end(void)
{
	runfile_free(TAKE(file));
	buf_done(&out);
	arena_done(&keep);
	arena_done(&trees);
	keep = trees = (struct arena){0};
}

static const struct node *tree_of(const char *text)
{
	return tree_parse(text, strlen(text), &trees);
}

/* Figures of what was put into the sink. */
static const struct node *analyze(void)
{
	buf_clear(&out);
	ck_assert_msg(runfile_flush(file, &err) == 0, "%s", err.message);
	ck_assert_msg(analyze_requests(runfile_db(file), &counts, &record, &keep, &out, &err) == 0,
		      "%s", err.message);
	ck_assert_int_eq(out.data[out.len - 1], '\n');
	ck_assert_ptr_eq(memchr(out.data, '\n', out.len), out.data + out.len - 1);
	return tree_parse(out.data, out.len, &trees);
}

static void run_case(const struct request_case *c)
{
	const struct node *class = tree_get(c->want, "error_class");

	if (!tree_is_null(class) && !ts_str_is(tree_get(c->want, "stage")->str, "lower"))
		return;
	begin();
	ck_assert_int_eq(case_load(c, sink, &counts, &err), 0);
	const struct node *got = analyze();
	const struct node *rows = tree_get(tree_get(got, "replay"), "rows");
	const struct node *error = tree_get(tree_get(got, "replay"), "error");

	if (tree_is_null(class)) {
		tree_within(tree_get(c->want, "summary"), got, c->place);
		ck_assert(tree_is_null(error));
		tree_same(tree_get(got, "requests"), rows, c->place);
	} else {
		tree_same(class, error, c->place);
		ck_assert(tree_is_null(rows));
		ck_assert(ts_str_eq(record.replay_error, class->str));
	}
	end();
}

START_TEST(corpus_gives_its_summaries)
{
	unsigned n = corpus_each(run_case);

	if (!n)
		printf("test_analyze_request: corpus absent, its cases are skipped\n");
	else
		ck_assert_uint_gt(n, 100);
}
END_TEST

/* ---- runs made row by row ---- */

static struct row_request request(const char *id, int64_t start, int64_t finish)
{
	return (struct row_request){
		.no = ++counts.request_end,
		.line = ++counts.lines,
		.request_id = ts_str_c(id),
		.start_ms = start,
		.end_ms = finish,
		.event_time_unix_ms = 1,
		.request_received_ms = 1,
		.output_tokens = 1,
		.trace_block_size = 4,
	};
}

static void put(struct row_request row, size_t n, const uint64_t *hashes)
{
	struct row_request_hashes h = {.no = row.no, .input = hashes, .input_count = n};
	static const uint64_t none[1];

	row.hash_count = n;
	if (!n)
		h.input = none;
	else if (!row.input_length)
		row.input_length = n * row.trace_block_size;
	ck_assert_int_eq(sink->row(sink, ROW_REQUEST, &row, &err), 0);
	ck_assert_int_eq(sink->row(sink, ROW_REQUEST_HASHES, &h, &err), 0);
}

static void put_tool(struct ts_str status, double duration)
{
	struct row_tool row = {
		.line = ++counts.lines,
		.event_type = TS_STR("tool_end"),
		.session_id = TS_STR("s"),
		.tool_call_id = TS_STR("t"),
		.tool_class = TS_STR("c"),
		.status = status,
		.duration_ms = duration,
	};

	counts.tool_terminal++;
	counts.tools++;
	ck_assert_int_eq(sink->row(sink, ROW_TOOL, &row, &err), 0);
}

#define HASHES(...)                                                                                \
	sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), (const uint64_t[])                   \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

START_TEST(worked_example_of_the_format_has_the_members_in_order)
{
	struct row_request row;

	begin();
	record.capture = TS_STR("night");
	record.segment = (struct opt_u64){.v = 3, .has = true};
	row = request("q1", 1000, 1100);
	row.session_id = TS_STR("main");
	row.input_length = 6;
	row.output_tokens = 3;
	put(row, HASHES(UINT64_MAX, 7));
	put_tool(TS_STR("succeeded"), 100);
	row = request("k1", 1120, 1300);
	row.session_id = TS_STR("kid");
	row.parent_session_id = TS_STR("main");
	put(row, HASHES(99));
	row = request("q2", 1400, 1500);
	row.session_id = TS_STR("main");
	row.output_tokens = 2;
	put(row, HASHES(UINT64_MAX, 8));
	analyze();
	ck_assert_str_eq(
		out.data,
		"{\"schema\":\"tracespool/run-summary/1\",\"id\":\"night-0123456789ab\","
		"\"kind\":\"requests\",\"capture\":\"night\",\"segment\":3,"
		"\"captured_at\":\"1970-01-01T00:00:01.000Z\",\"mode\":\"agentic\","
		"\"trace_block_size\":4,\"shards\":1,\"lines\":{\"total\":4,\"blank\":0,"
		"\"non_record\":0,\"request_payload\":0,\"request_end\":3,\"tool_start\":0,"
		"\"tool_terminal\":1,\"tool_dropped\":0},\"requests\":3,\"unreplayable_rows\":0,"
		"\"sessions\":2,\"root_sessions\":1,\"tools\":1,\"tool_status\":{\"succeeded\":1},"
		"\"tool_time_ms\":100.0,\"models\":{},\"input_tokens_total\":18,"
		"\"output_tokens_total\":6,\"input_tokens\":{\"min\":4,\"max\":8,\"mean\":6.0,"
		"\"p50\":6,\"p90\":8,\"p95\":8,\"p99\":8},\"output_tokens\":{\"min\":1,\"max\":3,"
		"\"mean\":2.0,\"p50\":2,\"p90\":3,\"p95\":3,\"p99\":3},\"latency_ms\":{\"min\":100,"
		"\"max\":180,\"mean\":126.66666666666667,\"p50\":100,\"p90\":180,\"p95\":180,"
		"\"p99\":180},\"ttft_ms\":null,\"first_start_ms\":1000,\"last_end_ms\":1500,"
		"\"duration_ms\":500,\"arrival_span_ms\":400,\"arrival_rate_rps\":5.0,"
		"\"concurrency_peak\":1,\"concurrency_mean\":0.76,\"blocks_total\":5,"
		"\"blocks_unique\":4,\"prefix_hit_blocks\":1,\"prefix_reuse_ratio\":0.2,"
		"\"prefix_hit_tokens\":4,\"prefix_reuse_token_ratio\":0.2222222222222222,"
		"\"finish_reasons\":{},\"replay\":{\"rows\":3,\"error\":null},"
		"\"health\":{\"structurally_valid\":true,\"capture_complete\":null,\"issues\":[]}}"
		"\n");
	ck_assert(ts_str_is(record.mode, "agentic"));
	ck_assert(ts_str_is(record.models, "{}"));
	ck_assert(ts_str_is(record.issues, "[]"));
	ck_assert(ts_str_is(record.trace_schema, "dynamo.request.trace.v1"));
	ck_assert_ptr_null(record.replay_error.p);
	ck_assert_uint_eq(record.requests.v, 3);
	ck_assert_uint_eq(record.tools.v, 1);
	ck_assert_uint_eq(record.sessions.v, 2);
	ck_assert_uint_eq(record.first_start_ms.v, 1000);
	ck_assert_uint_eq(record.trace_block_size.v, 4);
	ck_assert(record.trace_block_size.has);
	ck_assert(record.has_captured);
	ck_assert_int_eq(record.captured_ms, 1000);
	ck_assert_int_eq(record.structurally_valid, 1);
	end();
}
END_TEST

START_TEST(percentiles_are_those_of_the_nearest_rank)
{
	const struct node *got;
	char id[8];

	begin();
	/* 100, 99, ... 1 tokens: the k-th smallest is k. */
	for (unsigned i = 0; i < 100; i++) {
		struct row_request row;

		snprintf(id, sizeof(id), "r%u", i);
		row = request(id, 5, 5);
		row.output_tokens = 100 - i;
		row.ttft_ms = (struct opt_double){.v = i / 4.0, .has = i < 17};
		put(row, 0, NULL);
	}
	got = analyze();
	tree_same(tree_of("{\"min\":1,\"max\":100,\"mean\":50.5,\"p50\":50,\"p90\":90,\"p95\":95,"
			  "\"p99\":99}"),
		  tree_get(got, "output_tokens"), "output_tokens");
	/* 17 values: ranks 9, 16, 17 and 17. */
	tree_same(tree_of("{\"min\":0.0,\"max\":4.0,\"p50\":2.0,\"p90\":3.75,\"p95\":4.0,"
			  "\"p99\":4.0}"),
		  tree_get(got, "ttft_ms"), "ttft_ms");
	/* All at one time without length: all active at once, no rate, no mean, no reuse. */
	tree_within(tree_of("{\"concurrency_peak\":100,\"concurrency_mean\":null,"
			    "\"arrival_rate_rps\":null,\"prefix_reuse_ratio\":null,"
			    "\"prefix_reuse_token_ratio\":null,\"unreplayable_rows\":100,"
			    "\"sessions\":0,\"root_sessions\":0,\"mode\":\"standard\"}"),
		    got, "summary");
	ck_assert_uint_eq(record.unreplayable_rows.v, 100);
	end();
}
END_TEST

START_TEST(concurrency_counts_half_open_intervals)
{
	begin();
	/* b starts when a ends; c has no length but takes a millisecond beside b. */
	put(request("a", 0, 10), 0, NULL);
	put(request("b", 10, 30), 0, NULL);
	put(request("c", 29, 29), 0, NULL);
	put(request("d", 30, 40), 0, NULL);
	tree_within(tree_of("{\"concurrency_peak\":2,\"concurrency_mean\":1.0,"
			    "\"arrival_rate_rps\":100.0}"),
		    analyze(), "summary");
	end();
}
END_TEST

START_TEST(prefix_reuse_stops_at_the_first_unknown_block)
{
	struct row_request row;

	begin();
	/* In load order c comes first, in replay order last. */
	put(request("c", 30, 31), HASHES(1, 2, 9, 3));
	put(request("a", 10, 11), HASHES(1, 1, 2));
	row = request("b", 20, 21);
	row.input_length = 7;
	put(row, HASHES(2, 1));
	/* a: none is known, its own repetition does not count. b: both are, of 7 tokens. c: two. */
	tree_within(tree_of("{\"blocks_total\":9,\"blocks_unique\":4,\"prefix_hit_blocks\":4,"
			    "\"prefix_hit_tokens\":15,\"input_tokens_total\":35,"
			    "\"prefix_reuse_token_ratio\":0.42857142857142855}"),
		    analyze(), "summary");
	end();
}
END_TEST

START_TEST(sums_saturate_and_large_integers_are_an_issue)
{
	struct row_request row;
	const struct node *issue;

	begin();
	put(request("a", 0, 1), 0, NULL);
	row = request("b", 0, INT64_MAX);
	row.output_tokens = UINT64_MAX;
	row.trace_block_size = UINT64_MAX;
	row.input_length = UINT64_MAX;
	row.queue_depth = (struct opt_u64){.v = UINT64_MAX, .has = true};
	put(row, HASHES(5));
	row.request_id = TS_STR("c");
	row.no = ++counts.request_end;
	put(row, HASHES(5));
	const struct node *got = analyze();

	tree_within(tree_of("{\"input_tokens_total\":18446744073709551615,"
			    "\"output_tokens_total\":18446744073709551615,"
			    "\"prefix_hit_tokens\":18446744073709551615,"
			    "\"trace_block_size\":null,\"latency_ms\":{\"min\":1,"
			    "\"max\":9223372036854775807,\"mean\":6148914691236517205.0,"
			    "\"p50\":9223372036854775807,\"p90\":9223372036854775807,"
			    "\"p95\":9223372036854775807,\"p99\":9223372036854775807}}"),
		    got, "summary");
	issue = tree_get(tree_get(got, "health"), "issues")->child;
	ck_assert_ptr_nonnull(issue);
	ck_assert_ptr_null(issue->next);
	tree_within(tree_of("{\"severity\":\"warning\",\"code\":\"integer_above_2_53\"}"), issue,
		    "issue");
	ck_assert(ts_str_starts(tree_get(issue, "message")->str,
				"end_ms of the request on line 2 is"));
	tree_same(tree_get(tree_get(got, "health"), "issues"),
		  tree_parse(record.issues.p, record.issues.n, &trees), "record");
	ck_assert(!record.trace_block_size.has);
	ck_assert(ts_str_is(record.replay_error, "mixed_block_size"));
	end();
}
END_TEST

START_TEST(hashes_and_worker_ids_are_no_large_quantities)
{
	struct row_request row;

	begin();
	row = request("a", 0, 9007199254740991);
	row.prefill_worker_id = (struct opt_u64){.v = UINT64_MAX, .has = true};
	row.output_tokens = 9007199254740991;
	put(row, HASHES(UINT64_MAX));
	analyze();
	ck_assert(ts_str_is(record.issues, "[]"));
	end();
}
END_TEST

START_TEST(mixed_runs_have_figures_and_no_rows)
{
	struct row_request row;

	begin();
	put(request("a", 0, 1), 0, NULL);
	row = request("b", 0, 1);
	row.session_id = TS_STR("s");
	row.parent_session_id = TS_STR("s");
	row.model = TS_STR("m");
	put(row, 0, NULL);
	row = request("c", 0, 1);
	row.session_id = TS_STR("t");
	row.parent_session_id = TS_STR("s");
	row.finish_reason = TS_STR("stop");
	put(row, 0, NULL);
	row = request("d", 0, 1);
	row.session_id = TS_STR("u");
	row.parent_session_id = TS_STR("elsewhere");
	put(row, 0, NULL);
	tree_within(tree_of("{\"mode\":\"mixed\",\"sessions\":3,\"root_sessions\":2,"
			    "\"models\":{\"m\":1},\"finish_reasons\":{\"stop\":1},"
			    "\"replay\":{\"rows\":null,\"error\":\"mixed_agent_context\"}}"),
		    analyze(), "summary");
	ck_assert(ts_str_is(record.models, "{\"m\":1}"));
	end();
}
END_TEST

START_TEST(tool_time_that_is_not_finite_is_unknown)
{
	begin();
	put(request("a", 0, 1), 0, NULL);
	put_tool(TS_STR("x"), 1e308);
	put_tool(TS_STR("w"), 1e308);
	put_tool(TS_STR("x"), -1e308);
	tree_within(
		tree_of("{\"tool_time_ms\":null,\"tools\":3,\"tool_status\":{\"w\":1,\"x\":2}}"),
		analyze(), "summary");
	end();
}
END_TEST

START_TEST(maps_keep_the_largest_keys_and_say_that_they_were_cut)
{
	const struct node *got, *status;
	char name[2000];

	begin();
	put(request("a", 0, 1), 0, NULL);
	/* k000 to k200 once, z twice: of those that are there once the bytewise first stay. */
	for (unsigned i = 0; i <= 200; i++) {
		snprintf(name, sizeof(name), "k%03u", i);
		put_tool(ts_str_c(name), 1);
	}
	put_tool(TS_STR("z"), 1);
	put_tool(TS_STR("z"), 1);
	got = analyze();
	status = tree_get(got, "tool_status");
	ck_assert_uint_eq(tree_count(status), 200);
	ck_assert_uint_eq(tree_get(status, "z")->u64, 2);
	ck_assert_ptr_nonnull(tree_get(status, "k198"));
	ck_assert_ptr_null(tree_get(status, "k199"));
	tree_same(tree_of("[\"tool_status\"]"), tree_get(got, "truncated"), "truncated");
	end();

	/* A text is cut between characters; those that become equal are counted together. */
	begin();
	memset(name, 'm', sizeof(name));
	memcpy(name + 1023, "\xc3\xa4", 2);
	struct row_request row = request("a", 0, 1);
	row.model = ts_str(name, 1025);
	put(row, 0, NULL);
	row = request("b", 0, 1);
	row.model = ts_str(name, 1026);
	put(row, 0, NULL);
	got = analyze();
	ck_assert_uint_eq(tree_count(tree_get(got, "models")), 1);
	ck_assert_uint_eq(tree_get(got, "models")->child->u64, 2);
	ck_assert_uint_eq(tree_get(got, "models")->child->key.n, 1023);
	tree_same(tree_of("[\"models\"]"), tree_get(got, "truncated"), "truncated");
	end();
}
END_TEST

START_TEST(times_beyond_year_9999_are_no_capture_times)
{
	begin();
	put(request("a", 253402300800000, 253402300800000), 0, NULL);
	const struct node *got = analyze();

	ck_assert(tree_is_null(tree_get(got, "captured_at")));
	ck_assert(!record.has_captured);
	tree_within(tree_of("{\"first_start_ms\":253402300800000,\"duration_ms\":0}"), got,
		    "summary");
	ck_assert_ptr_null(tree_get(got, "truncated"));
	end();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("analyze_request");
	TCase *t = tcase_create("analyze_request");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_set_timeout(t, 120);
	tcase_add_test(t, corpus_gives_its_summaries);
	tcase_add_test(t, worked_example_of_the_format_has_the_members_in_order);
	tcase_add_test(t, percentiles_are_those_of_the_nearest_rank);
	tcase_add_test(t, concurrency_counts_half_open_intervals);
	tcase_add_test(t, prefix_reuse_stops_at_the_first_unknown_block);
	tcase_add_test(t, sums_saturate_and_large_integers_are_an_issue);
	tcase_add_test(t, hashes_and_worker_ids_are_no_large_quantities);
	tcase_add_test(t, mixed_runs_have_figures_and_no_rows);
	tcase_add_test(t, tool_time_that_is_not_finite_is_unknown);
	tcase_add_test(t, maps_keep_the_largest_keys_and_say_that_they_were_cut);
	tcase_add_test(t, times_beyond_year_9999_are_no_capture_times);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
