/* test_health_random.c: health of random small runs against the rules written down plainly, and of
 * runs of nasty shape
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "candle_analysis.h"
#include "health_plain.h"
#include "sanitized.h"
#include "tracespool/util.h"

static uint64_t seed = 0x2545f4914f6cdd1d;

static unsigned roll(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % n;
}

static uint64_t roll_time(void)
{
	static const uint64_t large[] = {9223372036854775807u, 9223372036854775808u,
					 18446744073709551615u};

	return roll(12) ? roll(12) : large[roll(3)];
}

/* One of `n` names with the letter; now and then the empty text, if `blank`. */
static void roll_name(char out[4], char letter, unsigned n, bool blank)
{
	snprintf(out, 4, "%c%u", letter, roll(n) % 10);
	if (blank && !roll(10))
		out[0] = 0;
}

static void make_run(struct run *r)
{
	static const double norms[] = {0.0, -0.0, 1.5, -1.0};

	memset(r, 0, sizeof(*r));
	r->failed = !roll(3);
	r->spans = roll(SPANS + 1);
	for (unsigned i = 0; i < r->spans; i++) {
		/* Ids in an order that is not that of the file. */
		snprintf(r->span[i].id, 4, "s%u", (i * 5 + 2) % 7 % 10);
		if (roll(3))
			roll_name(r->span[i].parent, 's', 8, false);
		r->span[i].closed = roll(4) != 0;
		r->span[i].measured = !roll(4);
		r->span[i].start = roll_time();
		r->span[i].duration = r->span[i].closed ? roll_time() : 0;
	}
	r->ops = roll(RECORDS);
	for (unsigned i = 0; i < r->ops; i++) {
		roll_name(r->op[i].span, 's', 8, false);
		roll_name(r->op[i].in, 't', 9, false);
		roll_name(r->op[i].out, 't', 9, false);
		r->op[i].at = roll_time();
		r->op[i].duration = roll_time();
	}
	r->tensors = roll(RECORDS);
	for (unsigned i = 0; i < r->tensors; i++) {
		roll_name(r->tensor[i].span, 's', 8, false);
		roll_name(r->tensor[i].id, 't', 9, false);
	}
	r->memory = roll(2 * RECORDS);
	for (unsigned i = 0; i < r->memory; i++) {
		roll_name(r->mem[i].span, 's', 8, false);
		roll_name(r->mem[i].storage, 'm', 2, false);
		roll_name(r->mem[i].device, 'd', 2, false);
		roll_name(r->mem[i].tensor, 't', 2, false);
		r->mem[i].at = roll_time();
		r->mem[i].bytes = roll(8) ? 8 : roll_time();
		r->mem[i].alloc = roll(3) != 0;
	}
	r->intervals = roll(RECORDS);
	for (unsigned i = 0; i < r->intervals; i++) {
		roll_name(r->interval[i].span, 's', 8, false);
		r->interval[i].duration = roll(3);
	}
	r->samples = roll(3);
	for (unsigned i = 0; i < r->samples; i++)
		r->sample_has[i] = roll(2);
	r->edges = roll(RECORDS);
	for (unsigned i = 0; i < r->edges; i++) {
		r->edge[i].call = roll(2);
		roll_name(r->edge[i].from, r->edge[i].call ? 's' : 't', 9, !r->edge[i].call);
		roll_name(r->edge[i].to, r->edge[i].call ? 's' : 't', 9, !r->edge[i].call);
		r->edge[i].duration = roll_time();
	}
	r->gradients = roll(RECORDS);
	for (unsigned i = 0; i < r->gradients; i++) {
		roll_name(r->gradient[i].event, 'e', 4, true);
		roll_name(r->gradient[i].root, 'r', 2, true);
		roll_name(r->gradient[i].key, 'k', 3, true);
		r->gradient[i].state = roll(4);
		r->gradient[i].norm = (struct opt_double){.has = roll(3) != 0, .v = norms[roll(4)]};
	}
}

/* ---- the run as rows ---- */

static const char *const states[] = {"present", "missing", "zero", "non_finite"};

#define S(text) ts_str_c(text)

static void put_meta(struct analysis *a, bool failed)
{
	analysis_put(a, ROW_META,
		     &(struct row_meta){.schema = S("candle-graph/trace/10"),
					.run_id = S("r"),
					.correlation_id = S("c"),
					.entrypoint = S("e"),
					.phase = S("infer"),
					.timestamp = S("t"),
					.device = S("d"),
					.timing_mode = S("host"),
					.capture_step = 1,
					.tags = S("{}"),
					.capture_contract = S("{}")});
	analysis_put(a, ROW_TERMINAL,
		     &(struct row_terminal){.outcome = S(failed ? "failed" : "complete"),
					    .reason = S(failed ? "why" : NULL)});
}

static void put_run(struct analysis *a, const struct run *r)
{
	for (unsigned i = 0; i < r->spans; i++)
		analysis_put(a, ROW_SPAN,
			     &(struct row_span){
				     .no = i + 1,
				     .id = S(r->span[i].id),
				     .parent_id = S(*r->span[i].parent ? r->span[i].parent : NULL),
				     .name = S("n"),
				     .span_kind = S("op"),
				     .start_ns = r->span[i].start,
				     .measured = r->span[i].measured});
	for (unsigned i = 0; i < r->spans; i++) {
		unsigned p = find_span(r, r->span[i].parent);

		analysis_put(a, ROW_SPAN_TIME,
			     &(struct row_span_time){
				     .no = i + 1,
				     .parent_no = *r->span[i].parent && p < r->spans ? p + 1 : 0,
				     .closed = r->span[i].closed,
				     .duration_ns = r->span[i].duration});
	}
	for (unsigned i = 0; i < r->ops; i++) {
		char inputs[16];

		snprintf(inputs, sizeof(inputs), "[\"%s\"]", r->op[i].in);
		analysis_put(a, ROW_OP,
			     &(struct row_op){.span_id = S(r->op[i].span),
					      .inputs = S(inputs),
					      .output = S(r->op[i].out),
					      .op_name = S("o"),
					      .shape = {.json = S("[]")},
					      .timestamp_ns = r->op[i].at,
					      .duration_ns = r->op[i].duration});
	}
	for (unsigned i = 0; i < r->tensors; i++)
		analysis_put(a, ROW_TENSOR,
			     &(struct row_tensor){.span_id = S(r->tensor[i].span),
						  .tensor_id = S(r->tensor[i].id),
						  .shape = {.json = S("[]")}});
	for (unsigned i = 0; i < r->memory; i++)
		analysis_put(a, ROW_MEMORY,
			     &(struct row_memory){.timestamp_ns = r->mem[i].at,
						  .bytes = r->mem[i].bytes,
						  .storage_id = S(r->mem[i].storage),
						  .tensor_id = S(r->mem[i].tensor),
						  .span_id = S(r->mem[i].span),
						  .device = S(r->mem[i].device),
						  .shape = {.json = S("[]")},
						  .action = S(r->mem[i].alloc ? "alloc" : "free")});
	for (unsigned i = 0; i < r->intervals; i++)
		analysis_put(a, ROW_DEVICE_INTERVAL,
			     &(struct row_device_interval){.span_id = S(r->interval[i].span),
							   .device = S("d"),
							   .stream_id = S("s"),
							   .clock_id = S("c"),
							   .backend = S("b"),
							   .duration_ns = r->interval[i].duration});
	for (unsigned i = 0; i < r->samples; i++)
		analysis_put(
			a, ROW_DEVICE_MEMORY,
			&(struct row_device_memory){.device = S("d"),
						    .reserved_bytes = {.has = r->sample_has[i]}});
	for (unsigned i = 0; i < r->edges; i++) {
		bool call = r->edge[i].call;
		struct ts_str from = S(r->edge[i].from), to = S(r->edge[i].to), none = S(NULL);

		analysis_put(a, ROW_EDGE,
			     &(struct row_edge){
				     .edge_kind = S(call ? "call" : "data"),
				     .from_span = call ? from : none,
				     .to_span = call ? to : none,
				     .from_tensor = call ? none : from,
				     .to_tensor = call ? none : to,
				     .host_duration_ns = {.has = call, .v = r->edge[i].duration}});
	}
	for (unsigned i = 0; i < r->gradients; i++)
		analysis_put(a, ROW_GRADIENT,
			     &(struct row_gradient){.event_id = S(r->gradient[i].event),
						    .root = S(r->gradient[i].root),
						    .key = S(r->gradient[i].key),
						    .state = S(states[r->gradient[i].state]),
						    .norm = r->gradient[i].norm});
	put_meta(a, r->failed);
}

/* ---- comparison ---- */

static void issues_text(struct analysis *a, struct buf *out)
{
	struct ts_error err = TS_ERROR_INIT;
	struct query *q CLEAN(query_closep) = NULL;

	buf_puts(out, "");
	assert_fine(query_open(runfile_db(a->rf), "health_issues", &q, &err), &err);
	while (query_step(q, &err) == 1) {
		struct ts_str code = query_str(q, 1);

		if (!ts_str_ends(code, "_absent") && !ts_str_is(code, "integer_above_2_53"))
			buf_printf(out, "%.*s%s\n", (int)code.n, code.p,
				   ts_str_is(query_str(q, 0), "warning") ? "?" : "");
	}
	ck_assert_ptr_null(err.code);
}

START_TEST(random_runs_have_the_issues_that_the_plain_rules_give)
{
	for (unsigned i = 0; i < (SANITIZED ? 250 : 1500); i++) {
		struct buf want CLEAN(buf_done) = BUF_INIT, got CLEAN(buf_done) = BUF_INIT;
		struct analysis a;
		struct run r;

		make_run(&r);
		plain_issues(&r, &want);
		if (i % 8 == 0) /* both ways a run file is made */
			analysis_begin_large(&a);
		else
			analysis_begin(&a);
		if (i % 2) /* and both places where memory records are sorted */
			a.kept_bytes = 0;
		put_run(&a, &r);
		analysis_run(&a);
		issues_text(&a, &got);
		ck_assert_msg(strcmp(got.data, want.data) == 0, "run %u:\n%s\nand should be\n%s", i,
			      got.data, want.data);
		analysis_end(&a);
	}
}
END_TEST

/* ---- nasty shapes ---- */

/* How many issues of that code were written, and how many of all. */
static void assert_count(struct analysis *a, const char *code, uint64_t want)
{
	struct ts_error err = TS_ERROR_INIT;
	struct query *q CLEAN(query_closep) = NULL;
	uint64_t n = 0;

	assert_fine(query_open(runfile_db(a->rf), "health_issues", &q, &err), &err);
	while (query_step(q, &err) == 1)
		n += ts_str_is(query_str(q, 1), code);
	ck_assert_ptr_null(err.code);
	ck_assert_uint_eq(n, want);
}

enum { RING = 100000, MANY = 1000000 };

START_TEST(a_ring_of_parents_and_a_tail_behind_it_are_all_cycles)
{
	struct analysis a;
	char id[16], parent[16];

	analysis_begin(&a);
	for (unsigned i = 1; i <= RING + 2; i++) {
		snprintf(id, sizeof(id), "%06u", i);
		snprintf(parent, sizeof(parent), "%06u", i == RING ? 1 : i <= RING ? i + 1 : i - 1);
		analysis_put(&a, ROW_SPAN,
			     &(struct row_span){
				     .no = i, .id = S(id), .parent_id = S(parent), .name = S("n")});
	}
	for (unsigned i = 1; i <= RING + 2; i++)
		analysis_put(&a, ROW_SPAN_TIME,
			     &(struct row_span_time){.no = i,
						     .parent_no = i == RING   ? 1
								  : i <= RING ? i + 1
									      : i - 1,
						     .closed = true});
	put_meta(&a, false);
	analysis_run(&a);
	assert_count(&a, "span_cycle", RING + 2);
	ck_assert_int_eq(a.r.structurally_valid, 0);
	analysis_end(&a);
}
END_TEST

START_TEST(a_million_bad_records_give_a_million_issues_of_which_200_are_shown)
{
	struct analysis a;

	analysis_begin(&a);
	for (unsigned i = 0; i < MANY; i++)
		analysis_put(&a, ROW_GRADIENT,
			     &(struct row_gradient){.event_id = S("e"),
						    .root = S("r"),
						    .key = S("k"),
						    .state = S("missing")});
	put_meta(&a, false);
	analysis_run(&a);
	assert_count(&a, "duplicate_gradient_event_id", MANY - 1);
	ck_assert_ptr_nonnull(strstr(a.out.data, "\"truncated\":[\"health.issues\"]"));
	ck_assert_uint_lt(a.out.len, 64 * 1024);
	unsigned shown = 0;

	for (const char *p = a.out.data; (p = strstr(p, "\"severity\"")) != NULL; p++)
		shown++;
	ck_assert_uint_eq(shown, 200);
	analysis_end(&a);
}
END_TEST

START_TEST(the_mark_of_a_salvage_is_shown_behind_the_first_200_of_many_issues)
{
	const char *last = ",{\"severity\":\"warning\",\"code\":\"salvaged\",\"message\":\"cut\"}]";
	struct analysis a;

	analysis_begin(&a);
	for (unsigned i = 0; i < 300; i++)
		analysis_put(&a, ROW_GRADIENT,
			     &(struct row_gradient){.event_id = S("e"),
						    .root = S("r"),
						    .key = S("k"),
						    .state = S("missing")});
	put_meta(&a, false);
	a.r.salvaged = S("cut");
	analysis_run(&a);
	assert_count(&a, "duplicate_gradient_event_id", 299);
	assert_count(&a, "salvaged", 1);
	ck_assert_ptr_nonnull(strstr(a.out.data, "\"truncated\":[\"health.issues\"]"));
	unsigned shown = 0;

	for (const char *p = a.r.issues.p; (p = strstr(p, "\"severity\"")) != NULL; p++)
		shown++;
	ck_assert_uint_eq(shown, 201);
	ck_assert(ts_str_ends(a.r.issues, last));
	analysis_end(&a);
}
END_TEST

START_TEST(a_storage_with_many_aliases_is_paired_in_order)
{
	struct analysis a;
	char tensor[16];

	analysis_begin(&a);
	for (unsigned i = 0; i < 2 * RING; i++) {
		snprintf(tensor, sizeof(tensor), "t%u", i * 7 % RING);
		analysis_put(&a, ROW_MEMORY,
			     &(struct row_memory){.timestamp_ns = i,
						  .bytes = 1,
						  .storage_id = S("m"),
						  .tensor_id = S(tensor),
						  .device = S("d"),
						  .action = S("alloc")});
	}
	for (unsigned i = 0; i < RING; i++)
		analysis_put(&a, ROW_MEMORY,
			     &(struct row_memory){.timestamp_ns = RING,
						  .storage_id = S("n"),
						  .tensor_id = S("t"),
						  .device = S("c"),
						  .action = S("free")});
	put_meta(&a, false);
	analysis_run(&a);
	assert_count(&a, "duplicate_allocation", RING);
	assert_count(&a, "unpaired_free", RING);
	assert_count(&a, "retained_allocations", 1);
	analysis_end(&a);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("health-random");
	TCase *t = tcase_create("health-random");

	tcase_set_timeout(t, 240);
	tcase_add_test(t, random_runs_have_the_issues_that_the_plain_rules_give);
	tcase_add_test(t, a_ring_of_parents_and_a_tail_behind_it_are_all_cycles);
	tcase_add_test(t, a_million_bad_records_give_a_million_issues_of_which_200_are_shown);
	tcase_add_test(t, the_mark_of_a_salvage_is_shown_behind_the_first_200_of_many_issues);
	tcase_add_test(t, a_storage_with_many_aliases_is_paired_in_order);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
