/* test_analyze_candle.c: figures of execution runs: the corpus, chains and rings, memory pairing
 * and saturation worked out by hand
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "candle_analysis.h"
#include "request_case.h"
#include "tracespool/format.h"
#include "tracespool/util.h"

#include "../../src/analyze/candle.h"
#include "../../src/store/db.h"

static struct execution_figures figures(struct analysis *a)
{
	struct ts_error err = TS_ERROR_INIT;
	struct execution_figures f;

	assert_fine(runfile_flush(a->rf, &err), &err);
	assert_fine(analyze_execution_figures(runfile_db(a->rf), a->kept_bytes, &f, &err), &err);
	return f;
}

static void put_span(struct analysis *a, uint64_t no, bool root, uint64_t parent_no)
{
	char id[24];

	snprintf(id, sizeof(id), "i%llu", (unsigned long long)no);
	analysis_put(a, ROW_SPAN,
		     &(struct row_span){.no = no,
					.id = ts_str_c(id),
					.parent_id = root ? ts_str(NULL, 0) : TS_STR("p"),
					.name = TS_STR("n"),
					.span_kind = TS_STR("op")});
	analysis_put(a, ROW_SPAN_TIME, &(struct row_span_time){.no = no, .parent_no = parent_no});
}

/* ---- depth ---- */

static void assert_depths(const uint32_t *parents, const uint32_t *want, uint32_t n)
{
	uint32_t depths[32] = {0};

	depths_fill(parents, depths, n);
	for (uint32_t i = 1; i <= n; i++)
		ck_assert_msg(depths[i] == want[i], "span %u of %u: %u", i, n, depths[i]);
}

#define LOST DEPTH_DANGLING

/* The rows of candle-trace.md 20.3, and cycles entered at each of their spans. */
START_TEST(depths_follow_parents_through_chains_gaps_and_rings)
{
	assert_depths((uint32_t[]){0, 0, 1, 2}, (uint32_t[]){0, 0, 1, 2}, 3);
	assert_depths((uint32_t[]){0, 2, 3, 0}, (uint32_t[]){0, 2, 1, 0}, 3);
	assert_depths((uint32_t[]){0, 0, LOST}, (uint32_t[]){0, 0, 1}, 2);
	assert_depths((uint32_t[]){0, LOST, 1, 2}, (uint32_t[]){0, 1, 2, 3}, 3);
	assert_depths((uint32_t[]){0, 1}, (uint32_t[]){0, 1}, 1);
	assert_depths((uint32_t[]){0, 1, 1, 2}, (uint32_t[]){0, 1, 1, 2}, 3);
	assert_depths((uint32_t[]){0, 2, 1, 1, 3}, (uint32_t[]){0, 2, 2, 2, 3}, 4);
	/* A ring of three (4, 5, 6) met first from outside: 1 -> 2 -> 3 -> 5. */
	assert_depths((uint32_t[]){0, 2, 3, 5, 5, 6, 4}, (uint32_t[]){0, 5, 4, 3, 3, 3, 3}, 6);
	/* Then by others, on and off the path that was numbered. */
	assert_depths((uint32_t[]){0, 2, 3, 1, 1, 4, 2}, (uint32_t[]){0, 3, 3, 3, 3, 4, 3}, 6);
}
END_TEST

/* Depth as section 9 words it, the slow way. */
static uint32_t walk(const uint32_t *parents, uint32_t n, uint32_t span)
{
	bool met[32] = {false};
	uint32_t count = 0;

	(void)n;
	for (uint32_t p = parents[span]; p != 0;) {
		if (p == LOST)
			return count + 1;
		if (met[p])
			break;
		met[p] = true;
		count++;
		p = parents[p];
	}
	return count;
}

START_TEST(depths_are_those_of_the_walk_that_the_format_describes)
{
	uint32_t seed = 7, parents[25] = {0}, depths[25];

	for (unsigned round = 0; round < 20000; round++) {
		uint32_t n = 1 + round % 24;

		for (uint32_t i = 1; i <= n; i++) {
			seed = seed * 1103515245 + 12345;
			parents[i] = (seed >> 16) % (n + 2);
			if (parents[i] == n + 1)
				parents[i] = LOST;
		}
		depths_fill(parents, depths, n);
		for (uint32_t i = 1; i <= n; i++)
			ck_assert_uint_eq(depths[i], walk(parents, n, i));
	}
}
END_TEST

START_TEST(a_chain_and_a_ring_of_a_hundred_thousand_spans_are_walked_once)
{
	enum { SPANS = 100000 };
	struct analysis a;
	struct execution_figures f;

	analysis_begin(&a);
	/* Each span's parent comes after it; the last is the root. */
	for (uint64_t i = 1; i <= SPANS; i++)
		put_span(&a, i, i == SPANS, i == SPANS ? 0 : i + 1);
	f = figures(&a);
	ck_assert_uint_eq(f.max_depth, SPANS - 1);
	ck_assert_uint_eq(f.root_span_count, 1);
	ck_assert_uint_eq(f.span_count, SPANS);
	analysis_end(&a);
	analysis_begin(&a);
	for (uint64_t i = 1; i <= SPANS; i++)
		put_span(&a, i, false, i % SPANS + 1);
	/* Three steps outside. */
	put_span(&a, SPANS + 1, false, 5);
	put_span(&a, SPANS + 2, false, SPANS + 1);
	put_span(&a, SPANS + 3, false, SPANS + 2);
	f = figures(&a);
	ck_assert_uint_eq(f.max_depth, SPANS + 2);
	ck_assert_uint_eq(f.root_span_count, 0);
	analysis_end(&a);
}
END_TEST

/* ---- memory ---- */

static void event(struct analysis *a, uint64_t time, const char *device, const char *storage,
		  const char *action, uint64_t bytes)
{
	analysis_put(a, ROW_MEMORY,
		     &(struct row_memory){.timestamp_ns = time,
					  .bytes = bytes,
					  .storage_id = ts_str_c(storage),
					  .device = ts_str_c(device),
					  .action = ts_str_c(action)});
}

static void assert_peak(struct analysis *a, bool has, uint64_t peak, uint64_t allocs,
			uint64_t frees)
{
	struct execution_figures f = figures(a);

	ck_assert_int_eq(f.logical_peak_bytes.has, has);
	if (has)
		ck_assert_uint_eq(f.logical_peak_bytes.v, peak);
	ck_assert_uint_eq(f.alloc_count, allocs);
	ck_assert_uint_eq(f.free_count, frees);
	analysis_end(a);
	analysis_begin(a);
}

START_TEST(depths_and_lifetimes_are_kept_in_the_run_file)
{
	struct analysis a;
	struct ts_error err = TS_ERROR_INIT;
	uint64_t n = 0;

	analysis_begin(&a);
	put_span(&a, 1, true, 0);
	put_span(&a, 2, false, 1);
	put_span(&a, 3, false, 0);
	event(&a, 4, "d", "m", "alloc", 10);
	event(&a, 9, "d", "m", "free", 10);
	event(&a, 5, "d", "n", "alloc", 11);
	figures(&a);
	assert_fine(runfile_index(a.rf, &err), &err);
	assert_fine(db_number(runfile_db(a.rf),
			      "select sum((no = 1) * (depth = 0) + (no = 2) * (depth = 1) + "
			      "(no = 3) * (depth = 1)) from spans",
			      &n, &err),
		    &err);
	ck_assert_uint_eq(n, 3);
	assert_fine(
		db_number(runfile_db(a.rf),
			  "select sum(alloc = 1 and start_ns = 4 and end_ns = 9 and bytes = 10) "
			  "+ sum(alloc = 3 and start_ns = 5 and end_ns is null and bytes = 11) "
			  "from lifetime_rows",
			  &n, &err),
		&err);
	ck_assert_uint_eq(n, 2);
	analysis_end(&a);
}
END_TEST

START_TEST(the_peak_counts_live_storages_after_each_moment)
{
	struct analysis a;

	analysis_begin(&a);
	assert_peak(&a, false, 0, 0, 0);
	/* Frees alone are no allocation. */
	event(&a, 5, "d", "m", "free", 10);
	assert_peak(&a, false, 0, 0, 1);
	event(&a, 5, "d", "m", "alloc", 10);
	assert_peak(&a, true, 10, 1, 0);
	/* Released at its own moment: the point has nothing live. */
	event(&a, 5, "d", "m", "alloc", 10);
	event(&a, 5, "d", "m", "free", 10);
	assert_peak(&a, true, 0, 1, 1);
	/* A free in front of the alloc of the same moment does not match it. */
	event(&a, 5, "d", "m", "free", 10);
	event(&a, 5, "d", "m", "alloc", 10);
	assert_peak(&a, true, 10, 1, 1);
	/* Released and taken again at one moment. */
	event(&a, 1, "d", "m", "alloc", 10);
	event(&a, 5, "d", "m", "free", 0);
	event(&a, 5, "d", "m", "alloc", 7);
	assert_peak(&a, true, 10, 2, 1);
	/* An alias has no size of its own, and one free ends all. */
	event(&a, 1, "d", "m", "alloc", 10);
	event(&a, 2, "d", "m", "alloc", 99);
	event(&a, 3, "d", "m", "free", 10);
	event(&a, 4, "d", "m", "free", 10);
	event(&a, 4, "d", "n", "alloc", 9);
	assert_peak(&a, true, 10, 3, 2);
	/* The order of the file does not count, only time. */
	event(&a, 9, "d", "m", "free", 0);
	event(&a, 7, "d", "n", "alloc", 5);
	event(&a, 3, "d", "m", "alloc", 4);
	assert_peak(&a, true, 9, 2, 1);
	/* The same storage id on two devices, and ids that join to the same text, are two. */
	event(&a, 1, "d", "m", "alloc", 1);
	event(&a, 2, "e", "m", "alloc", 2);
	event(&a, 3, "", "dm", "alloc", 4);
	event(&a, 4, "dm", "", "alloc", 8);
	assert_peak(&a, true, 15, 4, 0);
	analysis_end(&a);
}
END_TEST

START_TEST(the_peak_saturates_in_a_point_and_comes_back_exactly)
{
	struct analysis a;

	analysis_begin(&a);
	event(&a, 0, "d", "a", "alloc", UINT64_MAX);
	event(&a, 0, "d", "b", "alloc", UINT64_MAX);
	event(&a, 1, "d", "a", "free", 0);
	event(&a, 1, "d", "b", "free", 0);
	assert_peak(&a, true, UINT64_MAX, 2, 2);
	/* Times above 2^63-1 come after those below. */
	event(&a, 9223372036854775808u, "d", "a", "free", 0);
	event(&a, 18446744073709551615u, "d", "b", "alloc", 3);
	event(&a, 9223372036854775807, "d", "a", "alloc", 9223372036854775808u);
	assert_peak(&a, true, 9223372036854775808u, 2, 1);
	analysis_end(&a);
}
END_TEST

START_TEST(total_ns_sums_measured_spans_and_saturates)
{
	struct analysis a;
	const uint64_t durations[] = {5, UINT64_MAX - 6, 100, 0};
	struct execution_figures f;

	analysis_begin(&a);
	for (unsigned i = 0; i < 4; i++) {
		analysis_put(
			&a, ROW_SPAN,
			&(struct row_span){.no = i + 1, .id = TS_STR("i"), .measured = i != 2});
		analysis_put(&a, ROW_SPAN_TIME,
			     &(struct row_span_time){
				     .no = i + 1, .closed = i != 3, .duration_ns = durations[i]});
	}
	f = figures(&a);
	ck_assert_uint_eq(f.total_ns, UINT64_MAX - 1);
	analysis_end(&a);
	analysis_begin(&a);
	for (unsigned i = 0; i < 4; i++) {
		analysis_put(&a, ROW_SPAN,
			     &(struct row_span){.no = i + 1, .id = TS_STR("i"), .measured = true});
		analysis_put(&a, ROW_SPAN_TIME,
			     &(struct row_span_time){
				     .no = i + 1, .closed = i != 3, .duration_ns = durations[i]});
	}
	f = figures(&a);
	ck_assert_uint_eq(f.total_ns, UINT64_MAX);
	analysis_end(&a);
}
END_TEST

/* ---- corpus ---- */

static void load(struct analysis *a, int fd)
{
	struct format_state *st = NULL;
	struct ts_error err = TS_ERROR_INIT;
	struct buf text CLEAN(buf_done) = BUF_INIT;
	char chunk[65536];
	ssize_t n;

	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		buf_add(&text, chunk, (size_t)n);
	ck_assert(n == 0 && !text.failed);
	assert_fine(format_candle.begin(&st, &a->counts, &err), &err);
	size_t at = 0;
	uint64_t number = 0;

	while (at < text.len) {
		const char *lf = memchr(text.data + at, '\n', text.len - at);
		size_t end_at = lf ? (size_t)(lf - text.data) : text.len;
		struct line line = {
			.text = text.data + at, .len = end_at - at, .number = ++number, .byte = at};

		line.blank = text_is_blank(ts_str(line.text, line.len));
		if (format_candle.record(st, &line, runfile_sink(a->rf), &err) < 0)
			ck_abort_msg("line %d: %s: %.80s", (int)number, err.message, line.text);
		at = end_at + 1;
	}
	assert_fine(format_candle.finish(st, runfile_sink(a->rf), &err), &err);
	format_candle.end(st);
}

START_TEST(every_accepted_file_of_the_corpus_gives_its_summary)
{
	char path[4096];
	struct arena trees CLEAN(arena_done) = {0};
	struct buf text CLEAN(buf_done) = BUF_INIT;
	unsigned n = 0;

	snprintf(path, sizeof(path), "%s/candle/EXPECTED.json", corpus_path());
	FILE *f = fopen(path, "r");

	ck_assert_ptr_nonnull(f);
	for (int c; (c = fgetc(f)) != EOF;)
		buf_putc(&text, (char)c);
	fclose(f);
	const struct node *files = tree_get(tree_parse(text.data, text.len, &trees), "files");

	for (const struct node *want = files->child; want; want = want->next) {
		struct arena mine CLEAN(arena_done) = {0};
		struct analysis a;

		if (!ts_str_starts(want->key, "valid/"))
			continue;
		snprintf(path, sizeof(path), "%s/candle/%.*s", corpus_path(), (int)want->key.n,
			 want->key.p);
		int fd CLEAN(close_fd) = open(path, O_RDONLY | O_CLOEXEC);

		ck_assert_msg(fd >= 0, "%s", path);
		analysis_begin(&a);
		load(&a, fd);
		analysis_run(&a);
		const struct node *have = tree_parse(a.out.data, a.out.len, &mine);

		tree_within(tree_get(want, "summary"), have, path);
		tree_same(tree_get(want, "run_id"), tree_get(have, "run_id"), path);
		tree_same(tree_get(want, "outcome"), tree_get(have, "outcome"), path);
		ck_assert_uint_lt(a.out.len, 64 * 1024);
		analysis_end(&a);
		n++;
	}
	ck_assert_uint_gt(n, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("analyze-candle");
	TCase *t = tcase_create("analyze-candle");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, depths_follow_parents_through_chains_gaps_and_rings);
	tcase_add_test(t, depths_are_those_of_the_walk_that_the_format_describes);
	tcase_add_test(t, a_chain_and_a_ring_of_a_hundred_thousand_spans_are_walked_once);
	tcase_add_test(t, depths_and_lifetimes_are_kept_in_the_run_file);
	tcase_add_test(t, the_peak_counts_live_storages_after_each_moment);
	tcase_add_test(t, the_peak_saturates_in_a_point_and_comes_back_exactly);
	tcase_add_test(t, total_ns_sums_measured_spans_and_saturates);
	if (corpus_path())
		tcase_add_test(t, every_accepted_file_of_the_corpus_gives_its_summary);
	else
		printf("skipped: every_accepted_file_of_the_corpus_gives_its_summary: no corpus\n");
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
