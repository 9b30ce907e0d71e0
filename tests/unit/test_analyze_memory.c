/* test_analyze_memory.c: memory of execution runs: random traces against the rules of
 * candle-trace.md 11 worked out the slow way, large and nasty shapes, thinning, plans
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "memory_naive.h"
#include "request_case.h"
#include "sanitized.h"
#include "tracespool/memory.h"
#include "tracespool/util.h"

#include "../../src/analyze/memory.h"
#include "../../src/store/db.h"
#include "../../src/store/sql.h"

#define ALL 31u

#define ROUNDS (SANITIZED ? 200 : 1000)
#define STORAGES (SANITIZED ? 200000 : 1000000)

/* ---- random traces ---- */

START_TEST(random_traces_give_what_the_rules_give_the_slow_way)
{
	for (uint32_t seed = 1; seed <= ROUNDS; seed++)
		naive_round(seed);
}
END_TEST

/* ---- large shapes ---- */

/* Each shape with the records sorted in the run file (way 0) and in memory (way 1). */
static void begin(struct analysis *a, int way)
{
	analysis_begin_large(a);
	a->kept_bytes = way ? SIZE_MAX : 0;
}

static void put_span(struct analysis *a, uint64_t no, uint64_t parent, uint64_t start, uint64_t ns)
{
	char id[24];

	snprintf(id, sizeof(id), "s%llu", (unsigned long long)no);
	analysis_put(a, ROW_SPAN,
		     &(struct row_span){.no = no,
					.id = ts_str_c(id),
					.parent_id = parent ? TS_STR("p") : ts_str(NULL, 0),
					.name = TS_STR("n"),
					.span_kind = TS_STR("function"),
					.start_ns = start});
	analysis_put(a, ROW_SPAN_TIME,
		     &(struct row_span_time){
			     .no = no, .parent_no = parent, .closed = true, .duration_ns = ns});
}

static void put_memory(struct analysis *a, uint64_t time, uint64_t storage, uint64_t span,
		       uint64_t bytes, bool alloc)
{
	char id[24], s[24];

	snprintf(id, sizeof(id), "s%llu", (unsigned long long)span);
	snprintf(s, sizeof(s), "m%llu", (unsigned long long)storage);
	analysis_put(a, ROW_MEMORY,
		     &(struct row_memory){.timestamp_ns = time,
					  .bytes = bytes,
					  .storage_id = ts_str_c(s),
					  .tensor_id = TS_STR("t"),
					  .span_id = ts_str_c(id),
					  .device = TS_STR("cpu"),
					  .action = alloc ? TS_STR("alloc") : TS_STR("free"),
					  .category = TS_STR("activation"),
					  .shape.json = TS_STR("[]"),
					  .dtype = TS_STR("u8")});
}

static struct execution_figures figures(struct analysis *a)
{
	struct ts_error err = TS_ERROR_INIT;
	struct execution_figures f;
	struct timespec from, to;

	assert_fine(runfile_flush(a->rf, &err), &err);
	clock_gettime(CLOCK_MONOTONIC, &from);
	assert_fine(analyze_execution_figures(runfile_db(a->rf), a->kept_bytes, &f, &err), &err);
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("  %.2f s\n",
	       (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9);
	return f;
}

static uint64_t number(struct analysis *a, const char *sql)
{
	struct ts_error err = TS_ERROR_INIT;
	uint64_t n = 0;

	assert_fine(db_number(runfile_db(a->rf), sql, &n, &err), &err);
	return n;
}

/* Span i of the chain is [i, 3 N - i); its own storage lives from i to 2 N - i, deeper ones inside
 * of that: the peak of span i is N - i + 1 storages. */
START_TEST(a_chain_of_a_hundred_thousand_spans_with_a_storage_each)
{
	enum { N = 100000 };
	struct analysis a;

	begin(&a, _i);
	for (uint64_t i = 1; i <= N; i++)
		put_span(&a, i, i - 1, i, 3 * N - 2 * i);
	for (uint64_t i = 1; i <= N; i++) {
		put_memory(&a, i, i, i, 2, true);
		put_memory(&a, 2 * N + 1 - i, i, i, 2, false);
	}
	ck_assert_uint_eq(figures(&a).logical_peak_bytes.v, 2 * N);
	ck_assert_uint_eq(number(&a, "select count(*) from span_memory_rows where "
				     "allocated_bytes = 2 and residual_bytes = 0 and "
				     "peak_live_bytes = 2 * (100000 - no + 1)"),
			  N);
	analysis_end(&a);
}
END_TEST

/* A ring: each span has the same subtree, all storages, and its own interval [i, i + 10). */
START_TEST(a_ring_of_a_hundred_thousand_spans_with_a_storage_each)
{
	enum { N = 100000 };
	struct analysis a;

	begin(&a, _i);
	for (uint64_t i = 1; i <= N; i++)
		put_span(&a, i, i % N + 1, i, 10);
	for (uint64_t i = 1; i <= N; i++)
		put_memory(&a, i, i, i, 1, true);
	figures(&a);
	/* Live within [i, i + 10): those up to i + 9. */
	ck_assert_uint_eq(number(&a,
				 "select count(*) from span_memory_rows where "
				 "allocated_bytes = 1 and peak_live_bytes = "
				 "min(100000, no + 9) and residual_bytes = min(100000, no + 9)"),
			  N);
	analysis_end(&a);
}
END_TEST

/* A caterpillar: a chain of which each span has a leaf that allocates, all at one time. */
START_TEST(a_caterpillar_where_all_happens_at_one_time)
{
	enum { N = 60000 };
	struct analysis a;

	begin(&a, _i);
	for (uint64_t i = 1; i <= N; i++) {
		put_span(&a, 2 * i - 1, i == 1 ? 0 : 2 * i - 3, 0, 100);
		put_span(&a, 2 * i, 2 * i - 1, 5, 10);
	}
	for (uint64_t i = 1; i <= N; i++) {
		put_memory(&a, 7, i, 2 * i, 1, true);
		put_memory(&a, 9, i, 2 * i, 1, false);
	}
	figures(&a);
	ck_assert_uint_eq(number(&a, "select count(*) from span_memory_rows where no % 2 = 1 and "
				     "allocated_bytes is null and "
				     "peak_live_bytes = 60000 - (no + 1) / 2 + 1"),
			  N);
	ck_assert_uint_eq(
		number(&a, "select count(*) from span_memory_rows where peak_live_bytes = 1"),
		N + 1);
	analysis_end(&a);
}
END_TEST

/* A million storages live at once, the peak rising to the end; a picture of 500 points. */
START_TEST(a_million_storages_live_at_once_with_the_peak_at_the_end)
{
	enum { N = STORAGES };
	struct buf out CLEAN(buf_done) = BUF_INIT;
	struct arena trees CLEAN(arena_done) = {0};
	struct analysis a;

	begin(&a, _i);
	put_span(&a, 1, 0, 0, 2 * N);
	put_span(&a, 2, 1, 0, N / 2);
	for (uint64_t i = 1; i <= N; i++)
		put_memory(&a, i, i, 2, i == 777 ? 5 : 1, true);
	struct execution_figures f = figures(&a);

	ck_assert_uint_eq(f.logical_peak_bytes.v, N + 4);
	ck_assert_uint_eq(f.retained_bytes.v, N + 4);
	ck_assert_uint_eq(number(&a, "select peak_live_bytes from span_memory_rows where no = 2"),
			  N / 2 - 1 + 4);
	memory_index(&a);
	struct memory_ask ask = {.what = MEMORY_PICTURE,
				 .categories = ALL,
				 .logical = true,
				 .physical = true,
				 .points = 500,
				 .top = 2};

	document(&a, &ask, &out);
	const struct node *logical = tree_get(tree_parse(out.data, out.len, &trees), "logical");
	const struct node *peak = tree_get(logical, "peak");

	ck_assert_uint_eq(tree_get(peak, "live_allocation_count")->u64, N);
	ck_assert_uint_eq(tree_count(tree_get(peak, "live_allocations")), 2);
	ck_assert_uint_eq(tree_get(tree_get(peak, "live_allocations")->child, "bytes")->u64, 5);
	const struct node *times = tree_get(tree_get(logical, "timeline"), "timestamp_ns");

	ck_assert_uint_le(tree_count(times), 500);
	ck_assert_uint_gt(tree_count(times), 400);
	ck_assert_uint_eq(times->child->u64, 1);
	const struct node *last = times->child;

	while (last->next)
		last = last->next;
	ck_assert_uint_eq(last->u64, N);
	ck_assert(tree_get(logical, "thinned")->type == JSON_TRUE);
	analysis_end(&a);
}
END_TEST

/* ---- thinning ---- */

static void thin_round(uint64_t points, uint64_t want, uint32_t seed)
{
	uint64_t *values CLEAN(free_ptr) = malloc(points * sizeof(*values)), peak = 0, at = 0;
	struct thin_row *rows CLEAN(free_ptr) = malloc(THIN_ROWS_MAX * sizeof(*rows));
	struct ts_error err = TS_ERROR_INIT;
	struct thinner t;
	bool found = false;

	assert_fine(thin_init(&t, points, &err), &err);
	for (uint64_t i = 0; i < points; i++) {
		seed = seed * 1103515245 + 12345;
		values[i] = 10 + seed % 1000;
		if (values[i] > peak) {
			peak = values[i];
			at = i;
		}
		thin_add(&t, (struct thin_point){.time = i, .value = values[i], .counts = true});
	}
	size_t n = thin_rows(&t, rows);

	ck_assert_uint_le(n, THIN_ROWS_MAX);
	n = thin_cut(rows, n, points, want, at);
	ck_assert_uint_le(n, points <= want ? points : want);
	if (points <= want)
		ck_assert_uint_eq(n, points);
	ck_assert_uint_eq(rows[0].time, 0);
	ck_assert_uint_eq(rows[n - 1].time, points - 1);
	for (size_t i = 0; i < n; i++) {
		ck_assert_uint_eq(rows[i].value, values[rows[i].time]);
		ck_assert(i == 0 || rows[i].time > rows[i - 1].time);
		found |= rows[i].time == at;
	}
	ck_assert_msg(found, "%u points to %u: no peak", (unsigned)points, (unsigned)want);
	/* No stretch of three intervals goes by without its lowest and its highest. */
	uint64_t stretch = points > want ? 3 * points / ((want - 2) / 2) + 2 * t.width : 1;

	for (uint64_t from = 0; points > want && from + stretch <= points; from += stretch) {
		uint64_t low = UINT64_MAX, high = 0;
		uint64_t inner_low = UINT64_MAX, inner_high = 0;

		for (size_t i = 0; i < n; i++) {
			if (rows[i].time < from || rows[i].time >= from + stretch)
				continue;
			low = rows[i].value < low ? rows[i].value : low;
			high = rows[i].value > high ? rows[i].value : high;
		}
		/* The interval in the middle is whole. */
		for (uint64_t i = from + stretch * 2 / 5; i < from + stretch * 3 / 5; i++) {
			inner_low = values[i] < inner_low ? values[i] : inner_low;
			inner_high = values[i] > inner_high ? values[i] : inner_high;
		}
		ck_assert_uint_le(low, inner_low);
		ck_assert_uint_ge(high, inner_high);
	}
	thin_done(&t);
}

START_TEST(thinning_keeps_the_peak_both_ends_and_the_extremes_of_each_interval)
{
	static const uint64_t points[] = {1,     2,     15,    16,    17,    500,    501,   9999,
					  10000, 10001, 19999, 20000, 20001, 123457, 500000};
	static const uint64_t wants[] = {16, 17, 500, 9999, 10000};

	for (unsigned i = 0; i < ARRAY_LEN(points); i++)
		for (unsigned k = 0; k < ARRAY_LEN(wants); k++)
			thin_round(points[i], wants[k], i * 7 + k);
}
END_TEST

/* ---- statements ---- */

static void assert_plan(struct analysis *a, const char *name, const char *want, const char *never)
{
	char plan[1000];

	plan_of(runfile_db(a->rf)->h, sql_find(sql_named, name), plan, sizeof(plan));
	ck_assert_msg(strstr(plan, want) != NULL, "%s: no \"%s\" in\n%s", name, want, plan);
	ck_assert_msg(!never || strstr(plan, never) == NULL, "%s: \"%s\" in\n%s", name, never,
		      plan);
}

START_TEST(statements_go_along_indexes_and_spans_are_found_without_a_scan_a_record)
{
	struct analysis a;

	analysis_begin_large(&a);
	assert_plan(&a, "execution_memory", "SEARCH s USING AUTOMATIC", "SCAN s");
	memory_index(&a);
	assert_plan(&a, "memory_times", "USING COVERING INDEX memory_time", "TEMP B-TREE");
	assert_plan(&a, "memory_starts", "USING INDEX lifetime_start", "TEMP B-TREE");
	assert_plan(&a, "memory_ends", "USING INDEX lifetime_end", "USE TEMP B-TREE FOR ORDER BY");
	assert_plan(&a, "view_lifetimes", "SCAN l USING INDEX lifetime_start", "TEMP B-TREE");
	assert_plan(&a, "view_lifetimes_at", "SEARCH l USING INDEX lifetime_start", "TEMP B-TREE");
	assert_plan(&a, "view_footprints", "SCAN l USING INDEX lifetime_bytes", "TEMP B-TREE");
	assert_plan(&a, "device_samples", "USING INDEX device_memory_time", "TEMP B-TREE");
	assert_plan(&a, "memory_device_no", "USING COVERING INDEX memory_device", "SCAN");
	assert_plan(&a, "device_figure_no", "USING INDEX device_figure", "SCAN");
	assert_plan(&a, "view_tensor_ids", "SEARCH memory_rows USING INTEGER PRIMARY KEY",
		    "SCAN memory_rows");
	analysis_end(&a);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("analyze-memory");
	TCase *t = tcase_create("analyze-memory");

	tcase_set_timeout(t, 240);
	tcase_add_test(t, random_traces_give_what_the_rules_give_the_slow_way);
	tcase_add_test(t, thinning_keeps_the_peak_both_ends_and_the_extremes_of_each_interval);
	tcase_add_loop_test(t, a_chain_of_a_hundred_thousand_spans_with_a_storage_each, 0, 2);
	tcase_add_loop_test(t, a_ring_of_a_hundred_thousand_spans_with_a_storage_each, 0, 2);
	tcase_add_loop_test(t, a_caterpillar_where_all_happens_at_one_time, 0, 2);
	tcase_add_loop_test(t, a_million_storages_live_at_once_with_the_peak_at_the_end, 0, 2);
	tcase_add_test(t, statements_go_along_indexes_and_spans_are_found_without_a_scan_a_record);
	add_memory_corpus_tests(t);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
