/* test_candle_summary.c: summary, meta and record of an execution run; texts and tags that are cut
 */
#include <stdio.h>
#include <string.h>

#include "candle_analysis.h"
#include "request_case.h"
#include "tracespool/util.h"

static struct row_meta plain_meta(void)
{
	return (struct row_meta){
		.schema = TS_STR("candle-graph/trace/10"),
		.run_id = TS_STR("lab/r\"1"),
		.correlation_id = TS_STR("c"),
		.entrypoint = TS_STR("e::f"),
		.phase = TS_STR("train"),
		.timestamp = TS_STR("2025-11-03T10:14:07+01:00"),
		.device = TS_STR("cuda:0"),
		.timing_mode = TS_STR("host"),
		.capture_step = UINT64_MAX,
		.warmup_steps = 2,
		.tags = TS_STR("{\"a\":\"1\",\"b\":\"\\u0000\"}"),
		.capture_contract = TS_STR("{\"operations\":\"none\"}"),
	};
}

static void put_document(struct analysis *a, const struct row_meta *m)
{
	analysis_put(a, ROW_META, m);
	analysis_put(a, ROW_TERMINAL,
		     &(struct row_terminal){.outcome = TS_STR("failed"), .reason = TS_STR("why")});
}

#define ISSUE(severity, code, message)                                                             \
	"{\"severity\":\"" severity "\",\"code\":\"" code "\",\"message\":\"" message "\"}"
#define ABSENT(code, noun) "," ISSUE("warning", code "_absent", "The run has no " noun ".")
#define ISSUES                                                                                     \
	ISSUE("warning", "capture_failed", "why")                                                  \
	"," ISSUE("error", "root_count", "The run has 0 root spans instead of 1.") ABSENT(         \
		"operations", "operations") ABSENT("tensors", "tensor records")                    \
		ABSENT("logical_memory", "memory records") ABSENT(                                 \
			"physical_memory", "device memory samples") ABSENT("device_timing",        \
									   "device intervals")     \
			ABSENT("gradients", "gradient records") ABSENT(                            \
				"forward",                                                         \
				"span of the forward step") ABSENT("backward",                     \
								   "span of the backward step")    \
				ABSENT("optimizer", "span of the optimizer step") "," ISSUE(       \
					"warning", "integer_above_2_53",                           \
					"A number of the meta record is above 2^53-1, which many " \
					"JSON readers round.")

START_TEST(the_summary_has_its_members_in_order_and_null_for_what_is_not_known)
{
	struct analysis a;
	struct row_meta m = plain_meta();

	analysis_begin(&a);
	put_document(&a, &m);
	analysis_run(&a);
	ck_assert_str_eq(a.out.data,
			 "{\"schema\":\"tracespool/run-summary/1\",\"id\":\"lab/r\\\"1\","
			 "\"kind\":\"execution\",\"run_id\":\"lab/r\\\"1\","
			 "\"correlation_id\":\"c\",\"entrypoint\":\"e::f\",\"phase\":\"train\","
			 "\"device\":\"cuda:0\",\"timing_mode\":\"host\","
			 "\"capture_step\":18446744073709551615,\"warmup_steps\":2,"
			 "\"captured_at\":\"2025-11-03T09:14:07.000Z\",\"outcome\":\"failed\","
			 "\"outcome_reason\":\"why\",\"total_ns\":0,\"op_count\":0,"
			 "\"span_count\":0,\"root_span_count\":0,\"max_depth\":0,"
			 "\"alloc_count\":0,\"free_count\":0,\"logical_peak_bytes\":null,"
			 "\"retained_bytes\":null,\"device_peak_used_bytes\":null,"
			 "\"tensor_count\":0,\"tensor_stats_count\":0,\"non_finite_count\":0,"
			 "\"gradients\":{\"present\":0,\"missing\":0,\"zero\":0,"
			 "\"non_finite\":0},\"steps\":{\"forward_ns\":null,"
			 "\"backward_ns\":null,\"optimizer_ns\":null},"
			 "\"slowest_spans\":[],\"slowest_ops\":[],"
			 "\"health\":{\"structurally_valid\":false,"
			 "\"capture_complete\":false,\"issues\":[" ISSUES "],\"coverage\":{"
			 "\"spans\":0,\"closed_spans\":0,\"root_spans\":0,"
			 "\"measured_spans\":0,\"operations\":0,\"tensors\":0,"
			 "\"memory_events\":0,\"device_memory_samples\":0,"
			 "\"device_intervals\":0,\"gradients\":0,\"call_edges\":0,"
			 "\"data_edges\":0,\"forward_spans\":0,\"backward_spans\":0,"
			 "\"optimizer_spans\":0}},"
			 "\"tags\":{\"a\":\"1\",\"b\":\"\\u0000\"}}\n");
	ck_assert(ts_str_is(
		a.r.meta, "{\"schema\":\"candle-graph/trace/10\",\"run_id\":\"lab/r\\\"1\","
			  "\"correlation_id\":\"c\",\"entrypoint\":\"e::f\",\"phase\":\"train\","
			  "\"timestamp\":\"2025-11-03T10:14:07+01:00\","
			  "\"capture_step\":18446744073709551615,\"warmup_steps\":2,"
			  "\"device\":\"cuda:0\",\"measured_region_device_synchronized\":false,"
			  "\"timing_mode\":\"host\",\"capture_contract\":{\"operations\":\"none\"},"
			  "\"comparison_identity\":null,\"tags\":{\"a\":\"1\",\"b\":\"\\u0000\"},"
			  "\"candle_version\":null}"));
	ck_assert(ts_str_is(a.r.id, "lab/r\"1") && ts_str_is(a.r.entrypoint, "e::f"));
	ck_assert(ts_str_is(a.r.phase, "train") && ts_str_is(a.r.device, "cuda:0"));
	ck_assert(ts_str_is(a.r.outcome, "failed") && ts_str_is(a.r.correlation_id, "c"));
	ck_assert(ts_str_is(a.r.trace_schema, "candle-graph/trace/10"));
	ck_assert_int_eq(a.r.structurally_valid, 0);
	ck_assert(ts_str_is(a.r.issues, "[" ISSUES "]"));
	ck_assert(a.r.has_captured && a.r.captured_ms == 1762161247000);
	ck_assert(a.r.total_ns.has && a.r.span_count.has && !a.r.logical_peak_bytes.has);
	analysis_end(&a);
}
END_TEST

START_TEST(a_timestamp_that_is_no_time_gives_null)
{
	struct analysis a;
	struct row_meta m = plain_meta();

	analysis_begin(&a);
	m.timestamp = TS_STR("last tuesday");
	put_document(&a, &m);
	analysis_run(&a);
	ck_assert(!a.r.has_captured);
	ck_assert_ptr_nonnull(strstr(a.out.data, "\"captured_at\":null,"));
	analysis_end(&a);
}
END_TEST

static unsigned count(const char *text, const char *word)
{
	unsigned n = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		n++;
	return n;
}

START_TEST(long_texts_are_cut_at_a_character_and_named)
{
	struct analysis a;
	struct row_meta m = plain_meta();
	char device[1024], entrypoint[3000];

	analysis_begin(&a);
	memset(device, 'd', sizeof(device));
	memset(entrypoint, 'e', sizeof(entrypoint));
	memcpy(entrypoint + 1022, "\xe2\x82\xac", 3); /* would be cut behind its second byte */
	m.device = ts_str(device, sizeof(device));
	m.entrypoint = ts_str(entrypoint, sizeof(entrypoint));
	put_document(&a, &m);
	analysis_run(&a);
	ck_assert_ptr_nonnull(strstr(a.out.data, ",\"truncated\":[\"entrypoint\"]}\n"));
	struct arena trees CLEAN(arena_done) = {0};
	const struct node *tree = tree_parse(a.out.data, a.out.len, &trees);

	ck_assert_uint_eq(tree_get(tree, "entrypoint")->str.n, 1022);
	ck_assert_uint_eq(tree_get(tree, "device")->str.n, 1024);
	/* The record has all of it. */
	ck_assert_uint_eq(a.r.entrypoint.n, 3000);
	analysis_end(&a);
}
END_TEST

/* n tags k000 to k999 with values of that many bytes. */
static void assert_tags(unsigned n, size_t bytes, unsigned want)
{
	struct analysis a;
	struct row_meta m = plain_meta();
	struct buf tags CLEAN(buf_done) = BUF_INIT;

	for (unsigned i = 0; i < n; i++) {
		buf_printf(&tags, "%s\"k%03u\":\"", i ? "," : "{", i);
		for (size_t k = 0; k < bytes; k++)
			buf_putc(&tags, 'v');
		buf_puts(&tags, "\"");
	}
	buf_puts(&tags, "}");
	analysis_begin(&a);
	m.tags = ts_str(tags.data, tags.len);
	put_document(&a, &m);
	analysis_run(&a);
	ck_assert_uint_eq(count(a.out.data, "\"k"), want + 1); /* and "kind" */
	ck_assert_int_eq(strstr(a.out.data, "\"truncated\":[\"tags\"]") != NULL,
			 want < n || bytes > 1024);
	ck_assert_uint_lt(a.out.len, 64 * 1024);
	ck_assert_int_eq(a.out.data[a.out.len - 1], '\n');
	struct arena trees CLEAN(arena_done) = {0};
	const struct node *tree = tree_parse(a.out.data, a.out.len - 1, &trees);

	ck_assert_uint_eq(tree_count(tree_get(tree, "tags")), want);
	ck_assert(ts_str_eq(a.r.tags, m.tags));
	analysis_end(&a);
}

START_TEST(tags_are_cut_by_number_and_by_size)
{
	assert_tags(200, 10, 200);
	assert_tags(201, 10, 200);
	assert_tags(900, 10, 200);
	assert_tags(3, 5000, 3);
	/* A tag of 1000 takes 1000 + 10 bytes, the comma counted: 10 fit into 10 KiB. */
	assert_tags(199, 1000, 10);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("candle-summary");
	TCase *t = tcase_create("candle-summary");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, the_summary_has_its_members_in_order_and_null_for_what_is_not_known);
	tcase_add_test(t, a_timestamp_that_is_no_time_gives_null);
	tcase_add_test(t, long_texts_are_cut_at_a_character_and_named);
	tcase_add_test(t, tags_are_cut_by_number_and_by_size);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
