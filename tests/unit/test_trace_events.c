/* test_trace_events.c: trace events: overlaps, windows, exact times, sessions of requests;
 * intervals on tracks
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "candle_run.h"
#include "export_bench.h"
#include "tracespool/util.h"

#include "../../src/export/nest.h"

#define err export_err

#define SPAN(id, parent, start, duration)                                                          \
	"{\"kind\":\"span_start\",\"id\":\"" id "\"," parent "\"name\":\"" id                      \
	"\",\"start_ns\":" #start ",\"span_kind\":\"function\"}\n"                                 \
	"{\"kind\":\"span_end\",\"id\":\"" id "\",\"duration_ns\":" #duration "}\n"
#define BELOW(parent) "\"parent_id\":\"" parent "\","
#define LAST                                                                                       \
	"{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":18446744073709551615}\n"

static struct seen seen_of(const char *text, const struct trace_options *o)
{
	struct loaded l;
	struct seen seen;

	load(&l, text, strlen(text), "text");
	seen = check_events(&l, o, "text");
	unload(&l);
	return seen;
}

START_TEST(c30_spans_that_overlap_partly_go_to_further_tracks)
{
	struct trace_options o = everything;
	struct seen seen;

	seen = seen_of(META SPAN("p", "", 0, 100) SPAN("a", BELOW("p"), 10, 50)
			       SPAN("b", BELOW("p"), 40, 50) SPAN("c", BELOW("b"), 65, 5) LAST,
		       &o);
	ck_assert_uint_eq(seen.spans, 4);
	ck_assert_uint_eq(seen.tracks, 2);
	/* One after another, and one within another at both borders: one track. */
	seen = seen_of(META SPAN("p", "", 0, 100) SPAN("a", BELOW("p"), 0, 50)
			       SPAN("b", BELOW("p"), 50, 50) SPAN("z", BELOW("b"), 100, 0) LAST,
		       &o);
	ck_assert_uint_eq(seen.tracks, 1);
}
END_TEST

START_TEST(c33_a_run_without_anything_has_no_empty_event)
{
	struct buf out CLEAN(buf_done) = BUF_INIT;
	struct loaded l;

	load(&l, META TERMINAL, strlen(META TERMINAL), "nothing");
	check_events(&l, &everything, "nothing");
	events_text(&l, RUN_EXECUTION, &everything, &out);
	ck_assert_ptr_null(strstr(out.data, "{}"));
	ck_assert_ptr_null(strstr(out.data, ",\n]"));
	unload(&l);
}
END_TEST

START_TEST(times_are_exact_to_the_last_of_64_bits_and_open_spans_end_with_the_run)
{
	struct buf out CLEAN(buf_done) = BUF_INIT;
	struct loaded l;
	static const char text[] =
		META START0 SPAN("x", "", 9223372036854775809, 18446744073709551615)
			SPAN("y", "", 7, 1234) LAST;

	load(&l, text, strlen(text), "exact");
	events_text(&l, RUN_EXECUTION, &everything, &out);
	ck_assert_ptr_nonnull(strstr(out.data,
				     "\"ts\":0.000,\"dur\":18446744073709551.615,\"args\":"
				     "{\"id\":\"s0\",\"span_kind\":\"function\","
				     "\"closed\":false}"));
	ck_assert_ptr_nonnull(
		strstr(out.data, "\"ts\":9223372036854775.809,\"dur\":9223372036854775.806,"));
	ck_assert_ptr_nonnull(strstr(out.data, "\"ts\":0.007,\"dur\":1.234,"));
	unload(&l);
}
END_TEST

START_TEST(windows_and_parts_choose_what_is_shown)
{
	static const char text[] = META SPAN("p", "", 0, 100) SPAN("a", BELOW("p"), 10, 20)
		SPAN("b", BELOW("p"), 60, 0) MEMORY("20", "alloc")
			MEMORY("60", "free") "{\"kind\":\"edge\",\"edge_kind\":\"call\",\"from_"
					     "span\":\"p\",\"to_span\":"
					     "\"a\",\"host_duration_ns\":20}\n" LAST;
	struct trace_options o = everything;
	struct seen seen = seen_of(text, &o);

	ck_assert_uint_eq(seen.spans, 3);
	ck_assert_uint_eq(seen.counters, 2);
	ck_assert_uint_eq(seen.flows, 2);
	o.min_duration_ns = 1;
	ck_assert_uint_eq(seen_of(text, &o).spans, 2);
	o.min_duration_ns = 0;
	o.from_ns = 30;
	seen = seen_of(text, &o);
	ck_assert_uint_eq(seen.spans, 2); /* a ended at 30 */
	ck_assert_uint_eq(seen.flows, 0);
	ck_assert_uint_eq(seen.counters, 1);
	o.has_to = true;
	o.to_ns = 60;
	seen = seen_of(text, &o);
	ck_assert_uint_eq(seen.spans, 1);
	ck_assert_uint_eq(seen.counters, 0);
	o = everything;
	o.parts = TRACE_MEMORY | TRACE_EDGES;
	seen = seen_of(text, &o);
	ck_assert_uint_eq(seen.events, 2);
}
END_TEST

/* ---- request runs ---- */

START_TEST(requests_stand_in_their_session_with_the_phases_that_were_recorded)
{
	struct buf out CLEAN(buf_done) = BUF_INIT;
	struct loaded l = {.rf = bench_runfile(NULL, RUN_REQUESTS), .summary = BUF_INIT};
	struct sink *sink = runfile_sink(l.rf);
	struct row_request r = {.no = 1,
				.request_id = TS_STR("q\"1"),
				.model = TS_STR("m"),
				.session_id = TS_STR("s"),
				.start_ms = 1000,
				.end_ms = 1100,
				.prefill_wait_time_ms = {1.5, true},
				.prefill_time_ms = {10, true},
				.ttft_ms = {12.25, true}};
	struct row_tool tool = {.session_id = TS_STR("s"),
				.tool_call_id = TS_STR("t"),
				.tool_class = TS_STR("ls"),
				.status = TS_STR("succeeded"),
				.start_ms = 990,
				.end_ms = 1120};

	ts_error_init(&err);
	assert_fine(sink->row(sink, ROW_REQUEST, &r, &err), &err);
	r = (struct row_request){.no = 2,
				 .request_id = TS_STR("q2"),
				 .model = TS_STR("m"),
				 .session_id = TS_STR("a"),
				 .start_ms = 1200,
				 .end_ms = 1200,
				 .prefill_time_ms = {10, true}};
	assert_fine(sink->row(sink, ROW_REQUEST, &r, &err), &err);
	assert_fine(sink->row(sink, ROW_TOOL, &tool, &err), &err);
	assert_fine(runfile_flush(l.rf, &err), &err);
	l.db = runfile_db(l.rf);
	events_text(&l, RUN_REQUESTS, &everything, &out);
#define AT(ph, cat, name, id, pid, ts)                                                             \
	"{\"ph\":\"" ph "\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"id\":\"" id                \
	"\",\"pid\":" pid ",\"tid\":" pid ",\"ts\":" ts
#define NAMED(name, pid)                                                                           \
	"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" pid                                     \
	",\"tid\":0,\"args\":{\"name\":\"" name                                                    \
	"\"}},\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":" pid ",\"tid\":" pid               \
	",\"args\":{\"name\":\"" name "\"}},\n"
	ck_assert_str_eq(
		out.data, "{\"traceEvents\":[\n" NAMED("a", "1") AT("b", "request", "request", "r2", "1", "200000.000") ",\"args\":{\"request_id\":\"q2\",\"model\":\"m\",\"input_length\":0,"
															"\"output_tokens\":0}},\n" AT("e", "request", "request", "r2", "1", "200000.000") "},\n" NAMED("s", "2") AT("b",
																												    "request", "request", "r1", "2", "0.000") ",\"args\":{\"request_id\":\"q\\\"1\",\"model\":\"m\","
																																	      "\"input_length\":0,\"output_tokens\":0}},\n" AT("b",
																																							       "request", "wait", "r1", "2", "0.000") "},\n" AT("e",
																																														"request",
																																														"wait", "r1", "2", "1500.000") "},\n" AT("b", "request", "prefill", "r1", "2", "1500.000") "},\n" AT("e",
																																																										     "request", "prefill", "r1",
																																																										     "2",
																																																										     "11500.000") "},\n" AT("b", "request", "decode", "r1", "2", "12250.000") "},\n" AT("e",
																																																																					"request", "decode", "r1", "2",
																																																																					"100000.000") "},\n" AT("e",
																																																																								"request",
																																																																								"request", "r1", "2", "100000.000") "},\n" AT("b",
																																																																													      "tool",
																																																																													      "ls",
																																																																													      "t1",
																																																																													      "2",
																																																																													      "-10000.000") ",\"args\":{\"tool_call_id\":\"t\",\"status\":\"succeeded\"}},\n" AT("e",
																																																																																								 "tool",
																																																																																								 "ls",
																																																																																								 "t1",
																																																																																								 "2",
																																																																																								 "120000.000") "}\n"
																																																																																									       "],\"displayTimeUnit\":\"ns\",\"otherData\":{\"id\":\"r\",\"schema\":\"s\","
																																																																																									       "\"captured_at\":null,\"epoch_ms\":1000}}\n");
	unload(&l);
}
END_TEST

/* ---- tracks ---- */

START_TEST(a_hundred_thousand_overlapping_intervals_take_n_log_n)
{
	enum { COUNT = 100000 };
	struct nest n = {0};
	clock_t begun = clock();
	uint32_t track;

	/* None lies in another: each has a track of its own. */
	for (uint64_t i = 0; i < COUNT; i++) {
		ck_assert_int_eq(nest_place(&n, i, COUNT + i, 0, &track), 0);
		ck_assert_uint_eq(track, i + 1);
	}
	/* All have ended: the lowest track again, the preferred one where it fits. */
	ck_assert_int_eq(nest_place(&n, 3 * COUNT, 3 * COUNT + 9, 0, &track), 0);
	ck_assert_uint_eq(track, 1);
	ck_assert_int_eq(nest_place(&n, 3 * COUNT + 1, 3 * COUNT + 2, 77, &track), 0);
	ck_assert_uint_eq(track, 77);
	ck_assert_int_eq(nest_place(&n, 3 * COUNT + 1, 3 * COUNT + 9, 1, &track), 0);
	ck_assert_uint_eq(track, 1);
	nest_reset(&n);
	ck_assert_int_eq(nest_place(&n, 0, 0, 5, &track), 0);
	ck_assert_uint_eq(track, 1);
	nest_done(&n);
	printf("test_trace_events: 100000 overlapping intervals: %.3f s\n",
	       (double)(clock() - begun) / CLOCKS_PER_SEC);
	ck_assert_int_lt(clock() - begun, 5 * CLOCKS_PER_SEC);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("trace-events");
	TCase *t = tcase_create("trace-events");

	tcase_set_timeout(t, 240);
	tcase_add_test(t, c30_spans_that_overlap_partly_go_to_further_tracks);
	tcase_add_test(t, c33_a_run_without_anything_has_no_empty_event);
	tcase_add_test(t, times_are_exact_to_the_last_of_64_bits_and_open_spans_end_with_the_run);
	tcase_add_test(t, windows_and_parts_choose_what_is_shown);
	tcase_add_test(t, requests_stand_in_their_session_with_the_phases_that_were_recorded);
	tcase_add_test(t, a_hundred_thousand_overlapping_intervals_take_n_log_n);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
