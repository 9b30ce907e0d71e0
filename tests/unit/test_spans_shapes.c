/* test_spans_shapes.c: shapes of a hundred thousand spans, ops or intervals that must be ordinary
 */
#include <stdio.h>
#include <string.h>

#include "../../src/store/db.h"
#include "candle_analysis.h"
#include "tracespool/util.h"

static uint64_t number(struct analysis *a, const char *sql)
{
	struct ts_error err = TS_ERROR_INIT;
	uint64_t n = 0;

	assert_fine(db_number(runfile_db(a->rf), sql, &n, &err), &err);
	return n;
}

enum { MANY = 100000 };

static void put_many(struct analysis *a, uint64_t no, uint64_t parent, uint64_t start, uint64_t ns)
{
	char id[16];

	snprintf(id, sizeof(id), "%llu", (unsigned long long)no);
	analysis_put(a, ROW_SPAN,
		     &(struct row_span){.no = no,
					.id = ts_str_c(id),
					.parent_id = parent ? TS_STR("p") : ts_str(NULL, 0),
					.name = TS_STR("n"),
					.span_kind = TS_STR("module"),
					.measured = no == 1,
					.start_ns = start});
	analysis_put(a, ROW_SPAN_TIME,
		     &(struct row_span_time){
			     .no = no, .parent_no = parent, .closed = true, .duration_ns = ns});
}

/* shape is its device and dtype as well. */
static void put_op(struct analysis *a, const char *span, uint64_t at, uint64_t ns,
		   const char *shape)
{
	analysis_put(a, ROW_OP,
		     &(struct row_op){.span_id = ts_str_c(span),
				      .op_name = TS_STR("o"),
				      .device = ts_str_c(shape),
				      .dtype = ts_str_c(shape),
				      .shape.json = ts_str_c(shape),
				      .timestamp_ns = at,
				      .duration_ns = ns});
}

static void work_out(struct analysis *a)
{
	struct ts_error err = TS_ERROR_INIT;
	struct execution_figures f;

	assert_fine(runfile_flush(a->rf, &err), &err);
	assert_fine(analyze_execution_figures(runfile_db(a->rf), a->kept_bytes, &f, &err), &err);
}

START_TEST(a_hundred_thousand_parents_in_a_chain_or_a_ring_are_ordinary)
{
	struct analysis a;

	/* No span has a length: the one op at the end is the total of all. */
	analysis_begin_large(&a);
	for (uint64_t i = 1; i <= MANY; i++)
		put_many(&a, i, i - 1, i, 0);
	put_op(&a, "100000", 5, 7, "[]");
	work_out(&a);
	ck_assert_uint_eq(number(&a,
				 "select count(*) from span_figure_rows where "
				 "host_total_ns = 7 and tree_first = no and tree_last = 100000"),
			  MANY);
	analysis_end(&a);
	analysis_begin_large(&a);
	for (uint64_t i = 1; i <= MANY; i++)
		put_many(&a, i, i % MANY + 1, i, 0);
	put_op(&a, "7", 5, 7, "[]");
	work_out(&a);
	ck_assert_uint_eq(number(&a, "select count(*) from span_figure_rows where "
				     "tree_first = 1 and tree_last = 100000"),
			  MANY);
	ck_assert_uint_eq(number(&a, "select sum(host_total_ns) from span_figure_rows"), 7);
	analysis_end(&a);
}
END_TEST

START_TEST(a_hundred_thousand_children_and_ops_of_one_span_are_ordinary)
{
	struct analysis a;
	char shape[16];

	analysis_begin_large(&a);
	put_many(&a, 1, 0, 0, 10 * MANY);
	/* Last first: children [10k, 10k + 3), ops [10k + 2, 10k + 6). Six of ten are covered. */
	for (uint64_t i = 2; i <= MANY; i++) {
		put_many(&a, i, 1, 10 * (MANY - i), 3);
		snprintf(shape, sizeof(shape), "[%llu]", (unsigned long long)i);
		put_op(&a, "1", 10 * (MANY - i) + 2, 4, shape);
	}
	work_out(&a);
	ck_assert_uint_eq(number(&a, "select self_ns from span_figure_rows where no = 1"),
			  10 * MANY - 6 * (MANY - 1));
	ck_assert_uint_eq(number(&a, "select child_count + op_count from span_figure_rows where "
				     "no = 1"),
			  2 * (MANY - 1));
	/* More keys than are counted in memory: those of one dimension are read in their order. */
	ck_assert_uint_eq(number(&a, "select count(*) from op_group_rows where dimension in "
				     "('shape', 'device', 'dtype') and op_count = 1 and "
				     "total_ns = 4 and mean_ns = 4.0"),
			  3 * (MANY - 1));
	ck_assert_uint_eq(number(&a, "select total_ns from op_group_rows where dimension = "
				     "'op_name'"),
			  4 * (MANY - 1));
	ck_assert_uint_eq(number(&a, "select count(*) from slow_op_rows where op_index = op - 1"),
			  VIEW_SLOW_OPS_MAX);
	analysis_end(&a);
}
END_TEST

/* Two groups of intervals with thousands of streams; busy times by hand. */
START_TEST(intervals_of_many_streams_are_busy_once)
{
	struct analysis a;
	char stream[16];

	analysis_begin_large(&a);
	put_many(&a, 1, 0, 0, 10);
	for (unsigned i = 0; i < 20000; i++) {
		snprintf(stream, sizeof(stream), "s%u", i % 5000);
		analysis_put(
			&a, ROW_DEVICE_INTERVAL,
			&(struct row_device_interval){.span_id = TS_STR("1"),
						      .device = TS_STR("gpu"),
						      .stream_id = ts_str_c(stream),
						      .clock_id = i % 2 ? TS_STR("x") : TS_STR(""),
						      .backend = TS_STR("b"),
						      .start_ns = i % 2 ? i : UINT64_MAX - 5,
						      .duration_ns = i % 2 ? 3 : UINT64_MAX});
	}
	work_out(&a);
	/* x: odd starts 1 to 19999, each 3 long: [1, 20002). "": the same to the end of time. */
	ck_assert_uint_eq(number(&a, "select busy_ns from device_span_rows where no = 2"), 20001);
	ck_assert_uint_eq(number(&a, "select busy_ns from device_clock_rows where no = 1"), 5);
	ck_assert_uint_eq(number(&a, "select count(*) from device_span_name_rows where no = 1"),
			  2501);
	ck_assert_uint_eq(number(&a, "select no from slowest_device_rows where place = 1"), 2);
	analysis_end(&a);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("spans-shapes");
	TCase *t = tcase_create("spans-shapes");

	tcase_set_timeout(t, 300);
	tcase_add_test(t, a_hundred_thousand_parents_in_a_chain_or_a_ring_are_ordinary);
	tcase_add_test(t, a_hundred_thousand_children_and_ops_of_one_span_are_ordinary);
	tcase_add_test(t, intervals_of_many_streams_are_busy_once);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
