/* test_analyze_memory.c: memory of execution runs: the corpus, random traces against the rules of
 * candle-trace.md 11 worked out the slow way, large and nasty shapes, thinning
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "memory_naive.h"
#include "request_case.h"
#include "tracespool/format.h"
#include "tracespool/memory.h"
#include "tracespool/util.h"

#include "../../src/analyze/memory.h"
#include "../../src/store/db.h"

#define ALL 31u

/* ---- corpus ---- */

static void read_all(const char *path, struct buf *out)
{
	int fd CLEAN(close_fd) = open(path, O_RDONLY | O_CLOEXEC);
	char chunk[65536];
	ssize_t n;

	ck_assert_msg(fd >= 0, "%s", path);
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		buf_add(out, chunk, (size_t)n);
	ck_assert(n == 0 && !out->failed);
}

static void load(struct analysis *a, struct ts_str name)
{
	struct format_state *st = NULL;
	struct ts_error err = TS_ERROR_INIT;
	struct buf text CLEAN(buf_done) = BUF_INIT;
	char path[4096];
	uint64_t number = 0;

	snprintf(path, sizeof(path), "%s/candle/%.*s", corpus_path(), (int)name.n, name.p);
	read_all(path, &text);
	assert_fine(format_candle.begin(&st, &a->counts, &err), &err);
	for (size_t at = 0; at < text.len;) {
		const char *lf = memchr(text.data + at, '\n', text.len - at);
		size_t end = lf ? (size_t)(lf - text.data) : text.len;
		struct line line = {
			.text = text.data + at, .len = end - at, .number = ++number, .byte = at};

		line.blank = text_is_blank(ts_str(line.text, line.len));
		assert_fine(format_candle.record(st, &line, runfile_sink(a->rf), &err), &err);
		at = end + 1;
	}
	assert_fine(format_candle.finish(st, runfile_sink(a->rf), &err), &err);
	format_candle.end(st);
}

static const struct node *corpus_file(const char *name, struct buf *text, struct arena *trees)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/candle/%s", corpus_path(), name);
	read_all(path, text);
	return tree_parse(text->data, text->len, trees);
}

START_TEST(every_accepted_file_of_the_corpus_gives_its_memory_and_figures)
{
	struct buf text CLEAN(buf_done) = BUF_INIT;
	struct arena trees CLEAN(arena_done) = {0};
	const struct node *files = tree_get(corpus_file("EXPECTED.json", &text, &trees), "files");
	unsigned n = 0;

	for (const struct node *want = files->child; want; want = want->next) {
		struct buf out CLEAN(buf_done) = BUF_INIT;
		struct arena mine CLEAN(arena_done) = {0};
		struct analysis a;
		char place[300];

		if (!ts_str_starts(want->key, "valid/"))
			continue;
		snprintf(place, sizeof(place), "%.*s", (int)want->key.n, want->key.p);
		analysis_begin(&a);
		load(&a, want->key);
		analysis_run(&a);
		memory_index(&a);
		const struct node *have = tree_parse(a.out.data, a.out.len, &mine);
		const struct node *figures = tree_get(want, "figures");

		for (unsigned i = 0; i < 2; i++) {
			const char *name = i ? "device_peak_used_bytes" : "retained_bytes";

			tree_same(tree_get(figures, name), tree_get(have, name), place);
		}
		document(&a, &(struct memory_ask){.what = MEMORY_RESULT}, &out);
		have = tree_parse(out.data, out.len, &mine);
		tree_same(tree_get(want, "memory"), tree_get(have, "result"), place);
		analysis_end(&a);
		n++;
	}
	ck_assert_uint_gt(n, 20);
}
END_TEST

static void assert_spans(struct analysis *a, const struct node *want, const char *place)
{
	static const char *const members[] = {"allocated_bytes", "peak_live_bytes",
					      "residual_bytes"};
	struct ts_error err = TS_ERROR_INIT;
	struct query *q CLEAN(query_closep) = NULL;
	const char *sql = "select s.id, m.allocated_bytes, m.peak_live_bytes, m.residual_bytes "
			  "from span_memory_rows m join span_rows s on s.no = m.no order by s.id";

	assert_fine(query_open_sql(runfile_db(a->rf), sql, strlen(sql), &q, &err), &err);
	for (const struct node *w = want->child; w; w = w->next) {
		ck_assert_int_eq(query_step(q, &err), 1);
		ck_assert_msg(ts_str_eq(tree_get(w, "id")->str, query_str(q, 0)), "%s", place);
		for (int i = 0; i < 3; i++) {
			const struct node *v = tree_get(w, members[i]);

			ck_assert_msg(!v == query_is_null(q, 1 + i), "%s: %s", place, members[i]);
			ck_assert_msg(!v || v->u64 == query_u64(q, 1 + i), "%s: %s", place,
				      members[i]);
		}
	}
	ck_assert_int_eq(query_step(q, &err), 0);
}

START_TEST(the_views_of_the_corpus_are_those_expected)
{
	struct buf text CLEAN(buf_done) = BUF_INIT;
	struct arena trees CLEAN(arena_done) = {0};
	const struct node *all = corpus_file("EXPECTED_QUERIES.json", &text, &trees);
	const struct node *files = tree_get(all, "files") ? tree_get(all, "files") : all;
	unsigned n = 0;

	for (const struct node *want = files->child; want; want = want->next) {
		static const struct {
			const char *name;
			enum memory_what what;
		} views[] = {{"memory", MEMORY_RESULT},
			     {"footprints", MEMORY_FOOTPRINTS},
			     {"heaviest", MEMORY_HEAVIEST}};
		struct arena mine CLEAN(arena_done) = {0};
		struct analysis a;
		char place[300];

		snprintf(place, sizeof(place), "%.*s", (int)want->key.n, want->key.p);
		analysis_begin(&a);
		load(&a, want->key);
		analysis_run(&a);
		memory_index(&a);
		for (unsigned i = 0; i < ARRAY_LEN(views); i++) {
			struct buf out CLEAN(buf_done) = BUF_INIT;
			const struct node *view = tree_get(want, views[i].name);

			ck_assert_ptr_nonnull(view);
			if (view->type == JSON_OBJECT && tree_get(view, "error"))
				continue;
			document(&a,
				 &(struct memory_ask){.what = views[i].what,
						      .limit = 50,
						      .entrypoint = a.r.entrypoint},
				 &out);
			tree_same(view, tree_get(tree_parse(out.data, out.len, &mine), "result"),
				  place);
			arena_reset(&mine);
			n++;
		}
		const struct node *spans = tree_get(want, "spans");

		if (spans->type == JSON_ARRAY)
			assert_spans(&a, spans, place);
		analysis_end(&a);
	}
	ck_assert_uint_gt(n, 15);
}
END_TEST

/* ---- random traces ---- */

START_TEST(random_traces_give_what_the_rules_give_the_slow_way)
{
	for (uint32_t seed = 1; seed <= 3000; seed++)
		naive_round(seed);
}
END_TEST

/* ---- large shapes ---- */

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
	assert_fine(analyze_execution_figures(runfile_db(a->rf), &f, &err), &err);
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

	analysis_begin(&a);
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

	analysis_begin(&a);
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

	analysis_begin(&a);
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
	enum { N = 1000000 };
	struct buf out CLEAN(buf_done) = BUF_INIT;
	struct arena trees CLEAN(arena_done) = {0};
	struct analysis a;

	analysis_begin(&a);
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

	assert_fine(thin_init(&t, &err), &err);
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

int main(void)
{
	Suite *s = suite_create("analyze-memory");
	TCase *t = tcase_create("analyze-memory");

	tcase_set_timeout(t, 240);
	tcase_add_test(t, random_traces_give_what_the_rules_give_the_slow_way);
	tcase_add_test(t, thinning_keeps_the_peak_both_ends_and_the_extremes_of_each_interval);
	tcase_add_test(t, a_chain_of_a_hundred_thousand_spans_with_a_storage_each);
	tcase_add_test(t, a_ring_of_a_hundred_thousand_spans_with_a_storage_each);
	tcase_add_test(t, a_caterpillar_where_all_happens_at_one_time);
	tcase_add_test(t, a_million_storages_live_at_once_with_the_peak_at_the_end);
	if (corpus_path()) {
		tcase_add_test(t, every_accepted_file_of_the_corpus_gives_its_memory_and_figures);
		tcase_add_test(t, the_views_of_the_corpus_are_those_expected);
	} else {
		printf("skipped: the corpus is not there\n");
	}
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
