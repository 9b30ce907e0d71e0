/* test_health.c: the health report: each code by a small trace, failed runs, the corpus, the first
 * issues of many, traces of nasty shape
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "candle_analysis.h"
#include "request_case.h"
#include "tracespool/format.h"
#include "tracespool/util.h"

/* Takes the lines of a text as a trace. */
static void load(struct analysis *a, const char *text, size_t len)
{
	struct format_state *st = NULL;
	struct ts_error err = TS_ERROR_INIT;
	uint64_t number = 0;

	assert_fine(format_candle.begin(&st, &a->counts, &err), &err);
	if (a->r.salvaged.p)
		format_candle.salvage(st);
	for (size_t at = 0; at < len;) {
		const char *lf = memchr(text + at, '\n', len - at);
		size_t end = lf ? (size_t)(lf - text) : len;
		struct line line = {
			.text = text + at, .len = end - at, .number = ++number, .byte = at};

		line.blank = text_is_blank(ts_str(line.text, line.len));
		if (format_candle.record(st, &line, runfile_sink(a->rf), &err) < 0)
			ck_abort_msg("line %d: %s: %.300s", (int)number, err.message, line.text);
		at = end + 1;
	}
	assert_fine(format_candle.finish(st, runfile_sink(a->rf), &err), &err);
	format_candle.end(st);
}

/* "code " of each issue, with a '?' if it is a warning; without those of absent evidence. */
static void issues_text(struct analysis *a, struct buf *out)
{
	struct ts_error err = TS_ERROR_INIT;
	struct query *q CLEAN(query_closep) = NULL;

	buf_puts(out, "");
	assert_fine(query_open(runfile_db(a->rf), "health_issues", &q, &err), &err);
	while (query_step(q, &err) == 1) {
		struct ts_str code = query_str(q, 1), message = query_str(q, 2);

		ck_assert_uint_gt(message.n, 0);
		if (ts_str_ends(code, "_absent"))
			continue;
		buf_printf(out, "%s%.*s%s", out->len ? " " : "", (int)code.n, code.p,
			   ts_str_is(query_str(q, 0), "warning") ? "?" : "");
	}
	ck_assert_ptr_null(err.code);
}

/* ---- each code ---- */

#define SPAN(id, parent, start, more)                                                              \
	"{\"kind\":\"span_start\",\"id\":\"" id "\"," parent "\"name\":\"n" id                     \
	"\",\"start_ns\":" start ",\"span_kind\":\"function\"" more "}\n"
#define END(id, duration) "{\"kind\":\"span_end\",\"id\":\"" id "\",\"duration_ns\":" duration "}\n"
#define PARENT(id) "\"parent_id\":\"" id "\","
#define R SPAN("r", "", "10", ",\"measured\":true") END("r", "90")
#define OP(span, at, duration)                                                                     \
	"{\"kind\":\"op\",\"span_id\":\"" span "\",\"op_name\":\"o\",\"inputs\":[\"x\","           \
	"\"\\u0001y\"],\"output\":\"z\",\"shape\":[],\"dtype\":\"f\",\"device\":\"d\","            \
	"\"timestamp_ns\":" at ",\"duration_ns\":" duration ",\"input_dense_bytes\":0}\n"
#define TENSOR(span, id)                                                                           \
	"{\"kind\":\"tensor\",\"span_id\":\"" span "\",\"tensor_id\":\"" id "\",\"shape\":[],"     \
	"\"dtype\":\"f\",\"device\":\"d\"}\n"
#define STATS(span)                                                                                \
	"{\"kind\":\"tensor_stats\",\"span_id\":\"" span "\",\"label\":\"l\",\"shape\":[],"        \
	"\"dtype\":\"f\",\"elements\":1,\"non_finite\":1,\"rms\":0,\"abs_max\":0,\"mean\":0}\n"
#define MEM(at, storage, tensor, span, bytes, action)                                              \
	"{\"kind\":\"memory\",\"timestamp_ns\":" at ",\"storage_id\":\"" storage                   \
	"\",\"tensor_id\":\"" tensor "\",\"span_id\":\"" span                                      \
	"\",\"device\":\"d\",\"bytes\":" bytes ",\"action\":\"" action "\",\"dtype\":\"f\"}\n"
#define INTERVAL(span, duration)                                                                   \
	"{\"kind\":\"device_interval\",\"span_id\":\"" span "\",\"device\":\"d\","                 \
	"\"stream_id\":\"s\",\"clock_id\":\"c\",\"backend\":\"b\",\"start_ns\":0,"                 \
	"\"duration_ns\":" duration "}\n"
#define CALL(from, to, duration)                                                                   \
	"{\"kind\":\"edge\",\"edge_kind\":\"call\",\"from_span\":\"" from "\",\"to_span\":\"" to   \
	"\",\"host_duration_ns\":" duration "}\n"
#define DATA(from, to)                                                                             \
	"{\"kind\":\"edge\",\"edge_kind\":\"data\",\"from_tensor\":\"" from                        \
	"\",\"to_tensor\":\"" to "\"}\n"
#define GRAD(event, root, key, state, more)                                                        \
	"{\"kind\":\"gradient\",\"event_id\":\"" event "\",\"root\":\"" root "\",\"key\":\"" key   \
	"\",\"state\":\"" state "\"" more "}\n"
#define G(event, key, state, more) GRAD(event, "vars", key, state, more)
#define ONE ",\"norm\":1"

/* The entry of the check value of candle-trace.md 13. */
#define SHA_W "\"sha256:ecd2cfab9a24012de5663ae6c2c940fc5a6f963eb254c8518e6677df8098c612\""
#define ENTRY_W "{\"root\":\"vars\",\"key\":\"w\",\"family\":\"live\"}"
#define FAMILY(name, kind, min)                                                                    \
	"{\"family\":\"" name "\",\"expectation\":\"" kind "\",\"min_present\":" min "}"
#define CONTRACT(sha, entries, families)                                                           \
	",\"gradients\":\"complete\",\"gradient_contract\":{\"manifest_sha256\":" sha              \
	",\"expected\":[" entries "],\"families\":[" families "]}"
#define LIVE(kind, min) CONTRACT(SHA_W, ENTRY_W, FAMILY("live", kind, min))
#define REQUIRED(labels) ",\"required_semantic_labels\":[" labels "]"
#define GPU(labels) ",\"gpu_expected_semantic_labels\":[" labels "]"
#define CPU(labels) ",\"cpu_only_semantic_labels\":[" labels "]"

struct issue_case {
	const char *contract, *meta, *body; /* meta: members that replace capture_step and after */
	const char *complete, *failed;      /* the issues; NULL: not tried */
};

#define STEP "\"capture_step\":5,\"warmup_steps\":4"
#define IDENTITY(tail)                                                                             \
	STEP ",\"comparison_identity\":{\"workload_id\":\"w\",\"model_id\":\"m\","                 \
	     "\"config_id\":\"c\",\"data_id\":\"d\",\"seed_policy\":\"s\",\"precision\":\"p\","    \
	     "\"device_state\":\"v\"," tail "}"
#define COUNTS "\"physical_batch\":1,\"accumulation_steps\":1"

static const struct issue_case cases[] = {
	{"", STEP, R, "", "capture_failed?"},
	/* run and roots */
	{"", "\"capture_step\":0,\"warmup_steps\":0", R, "run_provenance_invalid",
	 "run_provenance_invalid capture_failed?"},
	{"", "\"capture_step\":5,\"warmup_steps\":5", R, "run_provenance_invalid", NULL},
	{"", IDENTITY(COUNTS), R, "", NULL},
	{"", IDENTITY("\"physical_batch\":0,\"accumulation_steps\":1"), R, "run_provenance_invalid",
	 NULL},
	{"", IDENTITY("\"physical_batch\":1,\"accumulation_steps\":0"), R, "run_provenance_invalid",
	 NULL},
	{"", IDENTITY(COUNTS ",\"pair_id\":\"\\u2003\""), R, "run_provenance_invalid", NULL},
	{"", IDENTITY(COUNTS ",\"implementation_id\":\"\""), R, "run_provenance_invalid", NULL},
	{"", STEP, "", "root_count measurement_count", "capture_failed? root_count"},
	{"", STEP, R SPAN("s", "", "0", ",\"measured\":true") END("s", "0"),
	 "root_count measurement_count", NULL},
	/* spans, by id; the file has them in another order */
	{"", STEP, R SPAN("c", PARENT("r"), "20", "") SPAN("b", PARENT("r"), "9", "") END("b", "1"),
	 "child_outside_parent open_span", "capture_failed? child_outside_parent open_span?"},
	{"", STEP, R SPAN("c", PARENT("r"), "20", "") END("c", "81"), "child_outside_parent", NULL},
	{"", STEP, R SPAN("c", PARENT("r"), "10", "") END("c", "90"), "", NULL},
	{"", STEP, R SPAN("c", PARENT("ghost"), "20", ""), "open_span unknown_parent", NULL},
	{"", STEP, R SPAN("c", PARENT("c"), "20", "") END("c", "1"), "span_cycle", NULL},
	{"", STEP,
	 R SPAN("a", PARENT("b"), "20", "") END("a", "1") SPAN("b", PARENT("a"), "20", "")
		 END("b", "1") SPAN("c", PARENT("a"), "20", "") END("c", "1"),
	 "span_cycle span_cycle span_cycle", NULL},
	/* A parent that comes later, in the order of the file; an end that saturates. */
	{"", STEP,
	 SPAN("c", PARENT("r"), "18446744073709551610", "") END("c", "9")
		 SPAN("r", "", "10", ",\"measured\":true") END("r", "18446744073709551615"),
	 "integer_above_2_53?", NULL},
	/* records */
	{"", STEP,
	 R INTERVAL("g", "0") MEM("20", "m", "t", "g", "1", "alloc") STATS("g") TENSOR("g", "t")
		 OP("g", "20", "1") MEM("20", "m", "t", "r", "1", "free"),
	 "unknown_span unknown_span unknown_span unknown_span unknown_span empty_device_interval",
	 NULL},
	{"", STEP, R OP("r", "10", "90") OP("r", "9", "1") OP("r", "100", "0") OP("r", "100", "1"),
	 "operation_outside_span operation_outside_span", NULL},
	{"", STEP, R SPAN("s", PARENT("r"), "50", "") OP("s", "0", "1"), "open_span", NULL},
	{"", STEP,
	 R MEM("100", "m", "t", "r", "1", "alloc") MEM("101", "m", "t", "r", "1", "free")
		 MEM("9", "n", "t", "r", "1", "alloc") MEM("10", "n", "t", "r", "1", "free"),
	 "memory_outside_span memory_outside_span", NULL},
	{"", STEP,
	 R "{\"kind\":\"device_memory\",\"timestamp_ns\":1,\"device\":\"d\"}\n"
	   "{\"kind\":\"device_memory\",\"timestamp_ns\":1,\"device\":\"d\",\"used_bytes\":0}\n",
	 "empty_device_memory_sample", NULL},
	/* edges */
	{"", STEP,
	 R SPAN("c", PARENT("r"), "20", "") END("c", "7") CALL("r", "c", "7") CALL("r", "c", "8")
		 CALL("c", "r", "90") CALL("g", "c", "7") CALL("c", "g", "7") CALL("c", "c", "6"),
	 "call_edge_duration_mismatch call_edge_hierarchy_mismatch unknown_call_edge_span "
	 "unknown_call_edge_span call_edge_hierarchy_mismatch call_edge_duration_mismatch",
	 NULL},
	{"", STEP,
	 R DATA("x", "z") DATA("z", "\\u0001y") DATA("t", "x") OP("r", "10", "0") TENSOR("r", "t"),
	 "", NULL},
	{"", STEP, R DATA("", "q") DATA("z", "") DATA("q", "z") DATA("z", "q") OP("r", "10", "0"),
	 "empty_data_edge_endpoint empty_data_edge_endpoint unknown_data_edge_tensor "
	 "unknown_data_edge_tensor",
	 NULL},
	/* memory pairing: in time order, whatever the storage */
	{"", STEP,
	 R MEM("50", "a", "t", "r", "1", "free") MEM("40", "z", "t", "r", "8", "alloc") MEM(
		 "41", "z", "t", "r", "8", "alloc") MEM("42", "z", "u", "r", "8", "alloc")
		 MEM("43", "z", "u", "r", "9", "alloc") MEM("44", "z", "u", "r", "8", "alloc") MEM(
			 "45", "z", "u", "r", "9", "free") MEM("46", "z", "t", "r", "8", "alloc"),
	 "duplicate_allocation allocation_size_mismatch duplicate_allocation "
	 "allocation_size_mismatch unpaired_free retained_allocations?",
	 NULL},
	/* A mismatch does not join: the tensor is new afterwards. Equal times keep file order. */
	{"", STEP,
	 R MEM("40", "z", "t", "r", "8", "alloc") MEM("40", "z", "u", "r", "9", "alloc")
		 MEM("40", "z", "u", "r", "8", "alloc") MEM("40", "z", "u", "r", "8", "free")
			 MEM("40", "z", "u", "r", "8", "free"),
	 "allocation_size_mismatch unpaired_free", NULL},
	/* gradients */
	{"", STEP,
	 R G("e", "w", "present", ONE) G("e", "b", "zero", ",\"norm\":0") G(" ", "c", "missing", "")
		 G("f", "\\u00a0", "non_finite", "") GRAD("h", "", "k", "missing", ""),
	 "duplicate_gradient_event_id empty_gradient_event_id empty_gradient_parameter_key "
	 "empty_gradient_parameter_key",
	 NULL},
	{"", STEP,
	 R G("1", "a", "present", ",\"norm\":0") G("2", "a", "present", "")
		 G("3", "a", "zero", ",\"norm\":-0.0") G("4", "a", "zero", ",\"norm\":-0")
			 G("5", "a", "zero", "") G("6", "a", "missing", ",\"norm\":0")
				 G("7", "a", "non_finite", ",\"norm\":1") G("8", "a", "zero",
									    ",\"norm\":0.0")
					 G("", "", "present", "") G("", "", "zero", ",\"norm\":1"),
	 "gradient_state_norm_inconsistent gradient_state_norm_inconsistent "
	 "gradient_state_norm_inconsistent gradient_state_norm_inconsistent "
	 "gradient_state_norm_inconsistent gradient_state_norm_inconsistent "
	 "gradient_state_norm_inconsistent empty_gradient_event_id empty_gradient_parameter_key "
	 "gradient_state_norm_inconsistent empty_gradient_event_id empty_gradient_parameter_key "
	 "duplicate_gradient_event_id gradient_state_norm_inconsistent",
	 NULL},
	/* contract */
	{",\"gradients\":\"complete\"", STEP, R, "gradient_contract_missing", NULL},
	{",\"gradient_contract\":{\"manifest_sha256\":\"\",\"expected\":[],\"families\":[]}", STEP,
	 R, "gradient_contract_without_complete_coverage", NULL},
	{CONTRACT(SHA_W, "", ""), STEP, R, "gradient_contract_invalid", NULL},
	{CONTRACT("\"sha256:00\"", ENTRY_W, FAMILY("live", "active", "1")), STEP, R,
	 "gradient_contract_invalid", NULL},
	{LIVE("active", "0"), STEP, R, "gradient_contract_invalid", NULL},
	{LIVE("active", "2"), STEP, R, "gradient_contract_invalid", NULL},
	{LIVE("inactive", "1"), STEP, R, "gradient_contract_invalid", NULL},
	{CONTRACT(SHA_W, ENTRY_W, FAMILY("dead", "inactive", "0")), STEP, R,
	 "gradient_contract_invalid", NULL},
	{CONTRACT(SHA_W, ENTRY_W,
		  FAMILY("live", "active", "1") "," FAMILY("none", "inactive", "0")),
	 STEP, R, "gradient_contract_invalid", NULL},
	{CONTRACT(SHA_W, ENTRY_W, FAMILY("live", "active", "1") "," FAMILY("live", "active", "1")),
	 STEP, R, "gradient_contract_invalid", NULL},
	{LIVE("active", "1"), STEP, R G("e", "w", "present", ONE), "", "capture_failed?"},
	{LIVE("active", "1"), STEP, R,
	 "gradient_manifest_missing_key gradient_active_family_below_minimum",
	 "capture_failed? gradient_manifest_missing_key?"},
	{LIVE("active", "1"), STEP, R G("e", "w", "zero", ",\"norm\":0"),
	 "gradient_active_family_below_minimum",
	 "capture_failed? gradient_active_family_below_minimum"},
	/* The first record of a key counts; undeclared ones come in order of (root, key). */
	{LIVE("data_conditional", "1"), STEP,
	 R G("1", "w", "non_finite", "") G("2", "w", "present", ONE) G("3", "b", "present", ONE)
		 GRAD("4", "v", "z", "missing", "") G("5", "b", "present", ONE),
	 "gradient_manifest_undeclared_key gradient_manifest_duplicate_key "
	 "gradient_manifest_undeclared_key gradient_manifest_duplicate_key "
	 "gradient_family_non_finite",
	 NULL},
	{LIVE("inactive", "0"), STEP, R G("1", "w", "missing", ""), "", NULL},
	{LIVE("inactive", "0"), STEP, R G("1", "w", "zero", ",\"norm\":0"),
	 "gradient_inactive_family_leakage", NULL},
	/* labels */
	{REQUIRED("\"nr\""), STEP, R, "", NULL},
	{REQUIRED("\"\",\"no\",\"nr\",\"nr\""), STEP, R,
	 "empty_required_semantic_label required_semantic_label_cardinality "
	 "required_semantic_label_cardinality duplicate_required_semantic_label",
	 "capture_failed? empty_required_semantic_label? required_semantic_label_cardinality? "
	 "required_semantic_label_cardinality? duplicate_required_semantic_label?"},
	{REQUIRED("\"nr\"") GPU("\"nr\""), STEP, R, "", NULL},
	{REQUIRED("\"nr\"") GPU("\"nr\",\"nr\"") CPU("\"q\",\"nr\",\" \""), STEP, R,
	 "duplicate_semantic_label_classification overlapping_semantic_label_classification "
	 "unrequired_semantic_label_classification overlapping_semantic_label_classification "
	 "empty_semantic_label_classification unrequired_semantic_label_classification "
	 "incomplete_semantic_label_partition",
	 NULL},
	{REQUIRED("\"nr\",\"ns\"") CPU("\"nr\""), STEP, R,
	 "required_semantic_label_cardinality incomplete_semantic_label_partition",
	 "capture_failed? required_semantic_label_cardinality? "
	 "incomplete_semantic_label_partition?"},
};

/* How the trace ends: its outcome, or not at all, which only a salvage takes. */
enum end { COMPLETE, FAILED, CUT, CUT_BEHIND };

static void put_trace(struct buf *t, const struct issue_case *c, enum end end)
{
	buf_printf(t,
		   "{\"kind\":\"meta\",\"schema\":\"candle-graph/trace/10\",\"run_id\":\"r\","
		   "\"correlation_id\":\"c\",\"entrypoint\":\"e\",\"phase\":\"infer\","
		   "\"timestamp\":\"t\",%s,\"device\":\"d\",\"timing_mode\":\"host\","
		   "\"capture_contract\":{\"measurement_scope\":\"unknown\","
		   "\"operations\":\"none\",\"logical_memory\":\"none\","
		   "\"physical_memory\":\"none\",\"device_timing\":\"none\"%s},\"tags\":{}}\n",
		   c->meta, c->contract);
	buf_puts(t, c->body);
	if (end == CUT)
		return;
	buf_printf(t, "{\"kind\":\"terminal\",\"timestamp_ns\":18446744073709551615,%s}\n",
		   end == FAILED ? "\"outcome\":\"failed\",\"reason\":\"why\""
				 : "\"outcome\":\"complete\"");
}

/* A salvage without end is judged as a failed run, but is none; one with an end as that says. */
static void assert_case(unsigned i, const struct issue_case *c, enum end end)
{
	const char *want = end == FAILED || end == CUT ? c->failed : c->complete;
	const char *capture_failed = want ? strstr(want, "capture_failed?") : NULL;
	struct buf text CLEAN(buf_done) = BUF_INIT, got CLEAN(buf_done) = BUF_INIT;
	struct buf all CLEAN(buf_done) = BUF_INIT;
	struct analysis a;

	if (!want)
		return;
	put_trace(&text, c, end);
	analysis_begin(&a);
	if (end >= CUT)
		a.r.salvaged = TS_STR("bad_json, line 9: cut");
	load(&a, text.data, text.len);
	analysis_run(&a);
	issues_text(&a, &got);
	buf_puts(&all, "");
	if (end == CUT && capture_failed) {
		buf_add(&all, want, (size_t)(capture_failed - want));
		capture_failed += strlen("capture_failed?");
		buf_puts(&all, capture_failed + (*capture_failed == ' '));
		if (all.len && all.data[all.len - 1] == ' ')
			all.data[--all.len] = 0;
	} else {
		buf_puts(&all, want);
	}
	/* The terminal time is above 2^53 in all of them. */
	if (!strstr(want, "integer_above_2_53?") && end != CUT)
		buf_printf(&all, "%sinteger_above_2_53?", all.len ? " " : "");
	if (end >= CUT)
		buf_printf(&all, "%ssalvaged?", all.len ? " " : "");
	ck_assert_msg(strcmp(got.data, all.data) == 0, "case %u, end %d:\n%s\nand should be\n%s", i,
		      end, got.data, all.data);
	ck_assert_int_eq(strstr(a.out.data, "\"capture_complete\":true") != NULL, end == COMPLETE);
	ck_assert_int_eq(a.r.outcome.p != NULL, end != CUT);
	ck_assert_int_eq(a.counts.no_terminal, end == CUT);
	bool valid = true;

	for (const char *p = want; *p; p++)
		if ((p[1] == ' ' || !p[1]) && p[0] != '?')
			valid = false;
	ck_assert_int_eq(a.r.structurally_valid, valid);
	analysis_end(&a);
}

START_TEST(each_code_is_given_where_and_as_the_format_says)
{
	for (unsigned i = 0; i < ARRAY_LEN(cases); i++) {
		assert_case(i, &cases[i], COMPLETE);
		assert_case(i, &cases[i], FAILED);
		assert_case(i, &cases[i], CUT);
		assert_case(i, &cases[i], CUT_BEHIND);
	}
}
END_TEST

/* ---- corpus ---- */

static void read_file(const char *path, struct buf *out)
{
	FILE *f = fopen(path, "r");
	char chunk[65536];
	size_t n;

	ck_assert_msg(f != NULL, "%s", path);
	while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		buf_add(out, chunk, n);
	fclose(f);
	ck_assert(!out->failed);
}

/* [[severity, code], ...] against [{severity, code, message}, ...]. */
static void assert_issues(const struct node *want, const struct node *have, const char *path)
{
	const struct node *got = have->child;

	for (const struct node *w = want->child; w; w = w->next, got = got->next) {
		ck_assert_msg(got != NULL, "%s: issues are missing", path);
		tree_same(w->child, tree_get(got, "severity"), path);
		tree_same(w->child->next, tree_get(got, "code"), path);
	}
	if (got && ts_str_is(tree_get(got, "code")->str, "integer_above_2_53"))
		got = got->next;
	ck_assert_msg(got == NULL, "%s: too many issues", path);
}

START_TEST(every_accepted_file_of_the_corpus_gives_its_health_and_counts)
{
	char path[4096];
	struct arena trees CLEAN(arena_done) = {0};
	struct buf expected CLEAN(buf_done) = BUF_INIT;
	unsigned n = 0;

	snprintf(path, sizeof(path), "%s/candle/EXPECTED.json", corpus_path());
	read_file(path, &expected);
	const struct node *files =
		tree_get(tree_parse(expected.data, expected.len, &trees), "files");

	for (const struct node *want = files->child; want; want = want->next) {
		static const char *const same[] = {"structurally_valid", "capture_complete",
						   "coverage"};
		static const char *const figures[] = {"tensor_count", "tensor_stats_count",
						      "non_finite_count", "gradients"};
		struct arena mine CLEAN(arena_done) = {0};
		struct buf text CLEAN(buf_done) = BUF_INIT;
		struct analysis a;

		if (!ts_str_starts(want->key, "valid/"))
			continue;
		snprintf(path, sizeof(path), "%s/candle/%.*s", corpus_path(), (int)want->key.n,
			 want->key.p);
		read_file(path, &text);
		analysis_begin(&a);
		load(&a, text.data, text.len);
		analysis_run(&a);
		const struct node *have = tree_parse(a.out.data, a.out.len, &mine);
		const struct node *health = tree_get(have, "health");

		for (unsigned i = 0; i < ARRAY_LEN(same); i++)
			tree_same(tree_get(tree_get(want, "health"), same[i]),
				  tree_get(health, same[i]), path);
		for (unsigned i = 0; i < ARRAY_LEN(figures); i++)
			tree_same(tree_get(tree_get(want, "figures"), figures[i]),
				  tree_get(have, figures[i]), path);
		assert_issues(tree_get(tree_get(want, "health"), "issues"),
			      tree_get(health, "issues"), path);
		tree_same(tree_parse(a.r.issues.p, a.r.issues.n, &mine), tree_get(health, "issues"),
			  path);
		analysis_end(&a);
		n++;
	}
	ck_assert_uint_gt(n, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("health");
	TCase *t = tcase_create("health");

	tcase_set_timeout(t, 240);
	tcase_add_test(t, each_code_is_given_where_and_as_the_format_says);
	if (corpus_path())
		tcase_add_test(t, every_accepted_file_of_the_corpus_gives_its_health_and_counts);
	else
		printf("skipped: every_accepted_file_of_the_corpus_gives_its_health_and_counts: no "
		       "corpus\n");
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
