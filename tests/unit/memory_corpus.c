/* memory_corpus.c: memory, figures and views of every accepted file of the corpus */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "memory_naive.h"
#include "request_case.h"
#include "tracespool/format.h"
#include "tracespool/util.h"

#include "../../src/store/db.h"

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
	const char *sql =
		"select s.id, m.allocated_bytes, m.peak_live_bytes, m.residual_bytes "
		"from span_rows s left join span_memory_rows m on m.no = s.no order by s.id";

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

void add_memory_corpus_tests(TCase *t)
{
	if (!corpus_path()) {
		printf("skipped: the corpus is not there\n");
		return;
	}
	tcase_add_test(t, every_accepted_file_of_the_corpus_gives_its_memory_and_figures);
	tcase_add_test(t, the_views_of_the_corpus_are_those_expected);
}
