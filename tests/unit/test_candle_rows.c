/* test_candle_rows.c: execution traces: what stands in the rows: defaults, derived sizes, the JSON
 * texts of meta, spans and their parents; rules of meta; places of errors (candle-trace.md 4, 5, 8,
 * 15)
 */
#include "candle_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracespool/util.h"

static void assert_str(struct ts_str have, const char *want)
{
	ck_assert_ptr_nonnull(have.p);
	ck_assert_msg(ts_str_is(have, want), "%.*s and should be %s", (int)have.n, have.p, want);
}

static void accept_with(const char *text,
			void (*look)(struct candle_run *run, enum row_kind kind, const void *row))
{
	struct candle_run run = {.look = look};

	candle_run_text(&run, text);
	ck_assert_msg(run.ok, "%s", run.err.message);
}

static void look_at_example(struct candle_run *run, enum row_kind kind, const void *row)
{
	const struct row_meta *meta = row;
	const struct row_span *span = row;
	const struct row_span_time *time = row;
	const struct row_op *op = row;
	const struct row_memory *memory = row;

	if (kind == ROW_META) {
		assert_str(meta->correlation_id, "heron/5");
		assert_str(meta->entrypoint, "heron::infer");
		assert_str(meta->phase, "infer");
		assert_str(meta->timestamp, "2026-03-01T10:00:00Z");
		assert_str(meta->device, "cpu");
		assert_str(meta->timing_mode, "host");
		assert_str(meta->tags, "{}");
		ck_assert_uint_eq(meta->capture_step, 5);
		ck_assert_uint_eq(meta->warmup_steps, 4);
		ck_assert(!meta->measured_region_device_synchronized);
		ck_assert_ptr_null(meta->candle_version.p);
		ck_assert_ptr_null(meta->comparison_identity.p);
		assert_str(meta->capture_contract,
			   "{\"measurement_scope\":\"profiled_work\",\"operations\":\"partial\","
			   "\"tensors\":\"none\",\"gradients\":\"none\","
			   "\"logical_memory\":\"complete\",\"physical_memory\":\"none\","
			   "\"device_timing\":\"none\",\"required_semantic_labels\":[]}");
	} else if (kind == ROW_SPAN) {
		bool second = run->rows[ROW_SPAN] == 2;

		assert_str(span->id, second ? "s1" : "s0");
		assert_str(span->name, second ? "call" : "capture");
		assert_str(span->span_kind, "function");
		ck_assert_ptr_null(span->step.p);
		ck_assert_int_eq(span->measured, second);
		ck_assert_uint_eq(span->start_ns, second ? 10 : 0);
		if (second)
			assert_str(span->parent_id, "s0");
		else
			ck_assert_ptr_null(span->parent_id.p);
	} else if (kind == ROW_SPAN_TIME) {
		ck_assert(time->closed);
		ck_assert_uint_eq(time->duration_ns, time->no == 1 ? 80 : 60);
		ck_assert_uint_eq(time->parent_no, time->no == 1 ? 0 : 1);
	} else if (kind == ROW_OP) {
		assert_str(op->op_name, "matmul");
		assert_str(op->inputs, "[\"x\",\"w\"]");
		assert_str(op->output, "y");
		assert_str(op->shape.json, "[8,4]");
		assert_str(op->dtype, "F32");
		ck_assert_uint_eq(op->duration_ns, 30);
		ck_assert_uint_eq(op->timestamp_ns, 20);
		ck_assert_uint_eq(op->input_dense_bytes, 192);
		ck_assert(op->output_dense_bytes.has);
		ck_assert_uint_eq(op->output_dense_bytes.v, 128);
	} else if (kind == ROW_MEMORY) {
		assert_str(memory->storage_id, "m1");
		assert_str(memory->shape.json, "[]");
		assert_str(memory->category, "other");
		ck_assert_ptr_null(memory->op_name.p);
		ck_assert_uint_eq(memory->bytes, 128);
	}
}

START_TEST(the_example_gives_its_rows)
{
	struct candle_run run = {.look = look_at_example};

	candle_run_text(&run, TRACE);
	ck_assert(run.ok);
	ck_assert_uint_eq(run.rows[ROW_META], 1);
	ck_assert_uint_eq(run.rows[ROW_SPAN], 2);
	ck_assert_uint_eq(run.rows[ROW_SPAN_TIME], 2);
	ck_assert_uint_eq(run.rows[ROW_OP], 1);
	ck_assert_uint_eq(run.rows[ROW_MEMORY], 2);
	ck_assert_uint_eq(run.rows[ROW_TERMINAL], 1);
	ck_assert_uint_eq(run.counts.lines, 9);
	ck_assert_uint_eq(run.counts.records, 9);
	ck_assert_uint_eq(run.counts.blank, 0);
	ck_assert_uint_eq(run.counts.closed_spans, 2);
}
END_TEST

static const struct {
	const char *shape, *dtype;
	bool has;
	uint64_t bytes;
} sizes[] = {
	{"[8,4]", "f32", true, 128},
	{"[]", "u8", true, 1},
	{"[3]", "I8", true, 3},
	{"[3]", "Bool", true, 3},
	{"[3]", "f8", true, 3},
	{"[3]", "u16", true, 6},
	{"[3]", "i16", true, 6},
	{"[3]", "F16", true, 6},
	{"[3]", "bF16", true, 6},
	{"[3]", "u32", true, 12},
	{"[3]", "i32", true, 12},
	{"[3]", "u64", true, 24},
	{"[3]", "i64", true, 24},
	{"[3]", " F64\\u00a0", true, 24},
	{"[3]", "f128", false, 0},
	{"[3]", "f8e4m3", false, 0},
	{"[3]", "", false, 0},
	{"[3]", "f32\\u0000", false, 0},
	{"[0,5]", "f32", true, 0},
	{"[1099511627776,1099511627776]", "u8", true, UINT64_MAX},
	{"[1099511627776,1099511627776,0]", "u8", true, 0},
	{"[4611686018427387904]", "f32", true, UINT64_MAX},
	{"[2305843009213693951]", "f64", true, 18446744073709551608u},
};

static int size_case;

static void look_at_size(struct candle_run *run, enum row_kind kind, const void *row)
{
	const struct row_tensor *tensor = row;
	const struct row_op *op = row;
	struct opt_u64 have = {0};

	(void)run;
	if (kind == ROW_TENSOR)
		have = tensor->dense_bytes;
	else if (kind == ROW_OP)
		have = op->output_dense_bytes;
	else
		return;
	ck_assert_msg(have.has == sizes[size_case].has, "%s", sizes[size_case].dtype);
	ck_assert_uint_eq(have.has ? have.v : 0, sizes[size_case].bytes);
}

START_TEST(sizes_are_derived_where_they_have_no_value)
{
	char text[4096];

	size_case = _i;
	snprintf(text, sizeof(text),
		 META "{\"kind\":\"tensor\",\"span_id\":\"s\",\"tensor_id\":\"t\",\"shape\":%s,"
		      "\"dtype\":\"%s\",\"device\":\"cpu\",\"dense_bytes\":null}\n"
		      "{\"kind\":\"op\",\"span_id\":\"s\",\"op_name\":\"o\",\"shape\":%s,"
		      "\"dtype\":\"%s\",\"device\":\"cpu\",\"duration_ns\":0,"
		      "\"input_dense_bytes\":0}\n" TERMINAL,
		 sizes[_i].shape, sizes[_i].dtype, sizes[_i].shape, sizes[_i].dtype);
	accept_with(text, look_at_size);
}
END_TEST

static void look_at_explicit(struct candle_run *run, enum row_kind kind, const void *row)
{
	const struct row_tensor *tensor = row;

	if (kind != ROW_TENSOR)
		return;
	ck_assert(tensor->dense_bytes.has);
	ck_assert_uint_eq(tensor->dense_bytes.v, run->rows[ROW_TENSOR] == 1 ? 0 : UINT64_MAX);
}

START_TEST(an_explicit_size_stays_as_it_is)
{
	accept_with(META "{\"kind\":\"tensor\",\"span_id\":\"s\",\"tensor_id\":\"t\",\"shape\":[4],"
			 "\"dtype\":\"f32\",\"device\":\"cpu\",\"dense_bytes\":0}\n"
			 "{\"kind\":\"tensor\",\"span_id\":\"s\",\"tensor_id\":\"t\",\"shape\":[4],"
			 "\"dtype\":\"f32\",\"device\":\"cpu\","
			 "\"dense_bytes\":18446744073709551615}\n" TERMINAL,
		    look_at_explicit);
}
END_TEST

static void look_at_parents(struct candle_run *run, enum row_kind kind, const void *row)
{
	/* c names b, which comes later; d names itself; e names what never comes. */
	static const uint64_t parents[] = {2, 0, 3, 0};
	static const uint64_t durations[] = {0, 5, 0, 0};
	const struct row_span_time *time = row;

	if (kind != ROW_SPAN_TIME)
		return;
	ck_assert_uint_eq(run->rows[ROW_SPAN], 4);
	ck_assert_uint_eq(time->parent_no, parents[time->no - 1]);
	ck_assert_int_eq(time->closed, time->no == 2);
	ck_assert_uint_eq(time->duration_ns, durations[time->no - 1]);
}

#define NESTED(id, parent)                                                                         \
	"{\"kind\":\"span_start\",\"id\":\"" id "\",\"parent_id\":" parent ",\"name\":\"n\","      \
	"\"start_ns\":0,\"span_kind\":\"op\"}\n"

START_TEST(parents_may_come_later_or_never)
{
	accept_with(META NESTED("c", "\"b\"") NESTED("b", "null") NESTED("d", "\"d\"")
			    NESTED("e", "\"ghost\"") "{\"kind\":\"span_end\",\"id\":\"b\","
						     "\"duration_ns\":5}\n" TERMINAL,
		    look_at_parents);
}
END_TEST

static void look_at_full_meta(struct candle_run *run, enum row_kind kind, const void *row)
{
	const struct row_meta *meta = row;

	(void)run;
	if (kind != ROW_META)
		return;
	assert_str(meta->tags, "{\"a\":\"last\",\"b\\u0000\":\"\",\"\xc3\xa4\":\"x\"}");
	assert_str(meta->capture_contract,
		   "{\"measurement_scope\":\"unknown\",\"operations\":\"none\","
		   "\"tensors\":\"complete\",\"gradients\":\"partial\","
		   "\"gradient_contract\":{\"manifest_sha256\":\"m\","
		   "\"expected\":[{\"root\":\"r\",\"key\":\"k\",\"family\":\"f\"}],"
		   "\"families\":[{\"family\":\"f\",\"expectation\":\"data_conditional\","
		   "\"min_present\":18446744073709551615}]},"
		   "\"logical_memory\":\"none\",\"physical_memory\":\"none\","
		   "\"device_timing\":\"none\",\"required_semantic_labels\":[\"x\",\"y\"],"
		   "\"cpu_only_semantic_labels\":[\"y\"]}");
	assert_str(meta->comparison_identity,
		   "{\"workload_id\":\"w\",\"model_id\":\"m\",\"config_id\":\"c\","
		   "\"data_id\":\"d\",\"seed_policy\":\"s\",\"precision\":\"p\","
		   "\"device_state\":\"e\",\"physical_batch\":9007199254740993,"
		   "\"accumulation_steps\":1,\"pair_id\":\"\"}");
	assert_str(meta->candle_version, "0.9");
	assert_str(meta->timing_mode, "device_synchronized");
	ck_assert(meta->measured_region_device_synchronized);
}

#define CONTRACT_REST                                                                              \
	"\"physical_memory\":\"none\",\"operations\":\"none\",\"measurement_scope\":\"unknown\","  \
	"\"logical_memory\":\"none\",\"device_timing\":\"none\""
#define GRADIENT_CONTRACT                                                                          \
	"{\"families\":[{\"min_present\":18446744073709551615,\"family\":\"f\","                   \
	"\"expectation\":\"data_conditional\",\"x\":1}],\"expected\":[{\"root\":\"r\","            \
	"\"key\":\"k\",\"family\":\"f\"}],\"manifest_sha256\":\"m\"}"
#define IDENTITY_REST                                                                              \
	"\"physical_batch\":9007199254740993,\"workload_id\":\"w\",\"model_id\":\"m\","            \
	"\"config_id\":\"c\",\"data_id\":\"d\",\"seed_policy\":\"s\",\"precision\":\"p\","         \
	"\"device_state\":\"e\",\"accumulation_steps\":1"
#define META_OF(contract, identity, tags)                                                          \
	"{\"tags\":" tags ",\"comparison_identity\":" identity ",\"capture_contract\":" contract   \
	",\"schema\":\"candle-graph/trace/9\",\"run_id\":\"r\",\"correlation_id\":\"\","           \
	"\"entrypoint\":\"\",\"phase\":\"train\",\"timestamp\":\"\",\"capture_step\":0,"           \
	"\"warmup_steps\":0,\"device\":\"\",\"measured_region_device_synchronized\":true,"         \
	"\"timing_mode\":\"device_synchronized\",\"candle_version\":\"0.9\",\"kind\":\"meta\"}\n"

START_TEST(meta_is_written_in_the_form_of_an_export)
{
	accept_with(META_OF("{" CONTRACT_REST ",\"tensors\":\"complete\",\"gradients\":\"partial\","
			    "\"gpu_expected_semantic_labels\":[],"
			    "\"cpu_only_semantic_labels\":[\"y\"],"
			    "\"required_semantic_labels\":[\"x\", \"\\u0079\"],"
			    "\"gradient_contract\":" GRADIENT_CONTRACT "}",
			    "{" IDENTITY_REST ",\"pair_id\":\"\",\"implementation_id\":null}",
			    "{\"\xc3\xa4\":\"x\",\"a\":\"first\",\"b\\u0000\":\"\",\"a\":\"last\"}")
			    TERMINAL,
		    look_at_full_meta);
}
END_TEST

/* What is wrong in a meta record: always line 1. */
static const struct {
	const char *meta, *code;
} metas[] = {
	{META_OF("{" CONTRACT_REST "}", "null", "{}"), NULL},
	{META_OF("null", "null", "{}"), "bad_field"},
	{META_OF("[]", "null", "{}"), "bad_field"},
	{META_OF("{}", "null", "{}"), "missing_field"},
	{META_OF("{" CONTRACT_REST ",\"tensors\":null}", "null", "{}"), "bad_field"},
	{META_OF("{" CONTRACT_REST ",\"tensors\":\"Partial\"}", "null", "{}"), "bad_field"},
	{META_OF("{" CONTRACT_REST ",\"operations\":\"none\"}", "null", "{}"), "duplicate_field"},
	{META_OF("{" CONTRACT_REST ",\"x\":1,\"x\":2}", "null", "{}"), NULL},
	{META_OF("{" CONTRACT_REST ",\"gradient_contract\":null}", "null", "{}"), NULL},
	{META_OF("{" CONTRACT_REST ",\"gradient_contract\":{}}", "null", "{}"), "missing_field"},
	{META_OF("{" CONTRACT_REST ",\"gradient_contract\":{\"manifest_sha256\":\"\","
		 "\"expected\":[],\"families\":[]}}",
		 "null", "{}"),
	 NULL},
	{META_OF("{" CONTRACT_REST ",\"gradient_contract\":{\"manifest_sha256\":\"\","
		 "\"expected\":[7],\"families\":[]}}",
		 "null", "{}"),
	 "bad_field"},
	{META_OF("{" CONTRACT_REST
		 ",\"gradient_contract\":{\"manifest_sha256\":\"\",\"expected\":[{\"root\":\"\","
		 "\"key\":\"\",\"key\":\"\",\"family\":\"\"}],\"families\":[]}}",
		 "null", "{}"),
	 "duplicate_field"},
	{META_OF("{" CONTRACT_REST
		 ",\"gradient_contract\":{\"manifest_sha256\":\"\",\"expected\":[],\"families\":["
		 "{\"family\":\"\",\"expectation\":\"active\"}]}}",
		 "null", "{}"),
	 "missing_field"},
	{META_OF("{" CONTRACT_REST ",\"required_semantic_labels\":[1]}", "null", "{}"),
	 "bad_field"},
	{META_OF("{" CONTRACT_REST "}", "{" IDENTITY_REST "}", "{}"), NULL},
	{META_OF("{" CONTRACT_REST "}", "{}", "{}"), "missing_field"},
	{META_OF("{" CONTRACT_REST "}", "{" IDENTITY_REST ",\"data_id\":\"d\"}", "{}"),
	 "duplicate_field"},
	{META_OF("{" CONTRACT_REST "}", "{" IDENTITY_REST ",\"pair_id\":1}", "{}"), "bad_field"},
	{META_OF("{" CONTRACT_REST "}", "null", "[]"), "bad_field"},
	{META_OF("{" CONTRACT_REST "}", "null", "{\"batch\":8}"), "bad_field"},
	{META_OF("{" CONTRACT_REST "}", "null", "null"), "bad_field"},
};

START_TEST(rules_of_meta)
{
	char text[8192];

	snprintf(text, sizeof(text), "%s" TERMINAL, metas[_i].meta);
	if (metas[_i].code)
		assert_refused(text, metas[_i].code, 1, -1);
	else
		assert_accepted(text);
}
END_TEST

#define META_WITH(schema, run_id)                                                                  \
	"{\"kind\":\"meta\",\"schema\":\"" schema "\",\"run_id\":\"" run_id "\","                  \
	"\"correlation_id\":\"\",\"entrypoint\":\"\",\"phase\":\"train\",\"timestamp\":\"\","      \
	"\"capture_step\":0,\"warmup_steps\":0,\"device\":\"\",\"timing_mode\":\"host\","          \
	"\"capture_contract\":{" CONTRACT_REST "},\"tags\":{}}\n"

START_TEST(the_schema_is_judged_at_the_end)
{
	assert_accepted(META_WITH("candle-graph/trace/9", "r") START0 TERMINAL);
	assert_refused("\n" META_WITH("candle-graph/trace/11", "r") TERMINAL, "unsupported_schema",
		       2, 0);
	assert_refused(META_WITH("candle-graph/trace/10 ", "r") TERMINAL, "unsupported_schema", 1,
		       0);
	assert_refused(META_WITH("", "r") TERMINAL, "unsupported_schema", 1, 0);
	/* A stream rule that is broken later in the file comes first. */
	assert_refused(META_WITH("candle-graph/trace/11", "r") END0 TERMINAL, "span_end_unknown", 2,
		       1);
	assert_refused(META_WITH("candle-graph/trace/11", "r"), "missing_terminal", 0, -1);
	/* The first tensor_stats record of a trace/9 file, before what is wrong with its end. */
	assert_refused(META_WITH("candle-graph/trace/9", "r") START0 STATS STATS
		       "{\"kind\":\"terminal\",\"outcome\":\"failed\",\"timestamp_ns\":0}\n",
		       "tensor_stats_in_trace9", 3, 2);
	assert_refused(META_WITH("candle-graph/trace/8", "r") STATS TERMINAL, "unsupported_schema",
		       1, 0);
}
END_TEST

START_TEST(a_run_id_that_cannot_be_served_is_refused_last)
{
	char id[600], text[8192];
	struct candle_run run = {0};

	memset(id, 'a', sizeof(id));
	for (size_t n = 512; n <= 513; n++) {
		snprintf(text, sizeof(text), META_WITH("candle-graph/trace/10", "%.*s") TERMINAL,
			 (int)n, id);
		candle_run_text(&run, text);
		ck_assert_int_eq(run.ok, n == 512);
	}
	ck_assert(ts_error_is(&run.err, TS_E_BAD_RUN_ID));
	ck_assert_uint_eq(run.err.line, 1);
	ck_assert_int_eq(run.err.byte, 0);

	candle_run_text(&run, META_WITH("candle-graph/trace/10", "sha256:12") TERMINAL);
	ck_assert(ts_error_is(&run.err, TS_E_BAD_RUN_ID));
	candle_run_text(&run, META_WITH("candle-graph/trace/10", "a\\u0000") TERMINAL);
	ck_assert(ts_error_is(&run.err, TS_E_BAD_RUN_ID));
	assert_accepted(META_WITH("candle-graph/trace/10", "SHA256:12") TERMINAL);
	assert_accepted(META_WITH("candle-graph/trace/10", "") TERMINAL);
	assert_accepted(META_WITH("candle-graph/trace/10", "../a/b c\xc3\xa4") TERMINAL);
	assert_refused(META_WITH("candle-graph/trace/10", "sha256:12"), "missing_terminal", 0, -1);
}
END_TEST

START_TEST(errors_are_placed_at_their_line)
{
	struct candle_run run = {0};

	/* 3 bytes and a meta line stand before the record. */
	candle_run_text(&run, "\n \n" META " {\"kind\":\"span_end\",\"id\":7}\n");
	ck_assert(ts_error_is(&run.err, TS_E_BAD_FIELD));
	ck_assert_uint_eq(run.err.line, 4);
	ck_assert_int_eq(run.err.byte, 3 + (int64_t)strlen(META));
	ck_assert_uint_eq(run.err.column, 0);
	ck_assert_ptr_nonnull(strstr(run.err.excerpt, "\"id\":7"));
	ck_assert_ptr_nonnull(strstr(run.err.message, "span_end.id"));

	/* bad_json: at the byte, here the x. */
	candle_run_text(&run, META "\v{\"kind\":x}\n");
	ck_assert(ts_error_is(&run.err, TS_E_BAD_JSON));
	ck_assert_int_eq(run.err.byte, (int64_t)strlen(META) + 9);
	ck_assert_uint_eq(run.err.column, 10);

	/* A rule about the document: at the record that it names. */
	candle_run_text(&run, META START1 "{\"kind\":\"terminal\",\"outcome\":\"complete\","
					  "\"timestamp_ns\":0}\n\n");
	ck_assert(ts_error_is(&run.err, TS_E_TERMINAL_PRECEDES_EVIDENCE));
	ck_assert_int_eq(run.err.byte, (int64_t)(strlen(META) + strlen(START1)));
	ck_assert_ptr_nonnull(strstr(run.err.excerpt, "{\"kind\":\"terminal\""));
}
END_TEST

static void look_at_doubles(struct candle_run *run, enum row_kind kind, const void *row)
{
	const struct row_tensor_stats *stats = row;

	(void)run;
	if (kind != ROW_TENSOR_STATS)
		return;
	ck_assert(stats->rms == 0 && !signbit(stats->rms));
	ck_assert(stats->abs_max == 0 && signbit(stats->abs_max));
	ck_assert(stats->mean == -1.5);
}

START_TEST(a_negative_zero_stays_one)
{
	accept_with(META STATS TERMINAL, look_at_doubles);
}
END_TEST

START_TEST(a_line_of_64_mib_is_read)
{
	size_t n = ((size_t)64 << 20) - strlen(META) + 1, head = strlen(META) - 2;
	char *text = malloc(n + 2 * strlen(TRACE));
	struct candle_run run = {0};

	/* A meta line with a long unknown member, 67108864 bytes without its newline. */
	ck_assert_ptr_nonnull(text);
	memcpy(text, META, head);
	memcpy(text + head, ",\"x\":\"", 6);
	memset(text + head + 6, 'y', n - 7);
	memcpy(text + head + n - 1, "\"}\n" TERMINAL, strlen(TERMINAL) + 4);
	ck_assert_uint_eq((size_t)(strchr(text, '\n') - text), (size_t)64 << 20);
	candle_run_text(&run, text);
	ck_assert_msg(run.ok, "%s", run.err.message);
	ck_assert_uint_eq(run.counts.records, 2);
	free(text);
}
END_TEST

void add_candle_row_tests(TCase *t)
{
	tcase_add_test(t, the_example_gives_its_rows);
	tcase_add_loop_test(t, sizes_are_derived_where_they_have_no_value, 0, ARRAY_LEN(sizes));
	tcase_add_test(t, an_explicit_size_stays_as_it_is);
	tcase_add_test(t, parents_may_come_later_or_never);
	tcase_add_test(t, meta_is_written_in_the_form_of_an_export);
	tcase_add_loop_test(t, rules_of_meta, 0, ARRAY_LEN(metas));
	tcase_add_test(t, the_schema_is_judged_at_the_end);
	tcase_add_test(t, a_run_id_that_cannot_be_served_is_refused_last);
	tcase_add_test(t, errors_are_placed_at_their_line);
	tcase_add_test(t, a_negative_zero_stays_one);
	tcase_add_test(t, a_line_of_64_mib_is_read);
}
