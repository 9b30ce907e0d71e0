/* test_spans.c: times of spans, groups of ops and device timing: the views of the corpus, lists and
 * their plans, the slowest rows of a summary
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/store/db.h"
#include "candle_load.h"
#include "list_bench.h"
#include "request_case.h"
#include "tracespool/util.h"

/* ---- corpus ---- */

static void write_view(struct analysis *a, struct ts_str name, struct buf *out)
{
	struct ts_error err = TS_ERROR_INIT;
	struct json_writer w;
	struct view *v = NULL;
	int more;

	jw_init(&w, out, JSON_NUMBERS_DEFAULT);
	assert_fine(view_open(runfile_db(a->rf), name, 50, &v, &err), &err);
	while ((more = view_step(v, &w, &err)) == 1)
		;
	assert_fine(more, &err);
	view_close(v);
}

/* The rows of a statement as an array of objects of the columns' names. */
static void write_rows(struct analysis *a, const char *sql, struct buf *out)
{
	struct ts_error err = TS_ERROR_INIT;
	struct query *q CLEAN(query_closep) = NULL;
	struct json_writer w;

	jw_init(&w, out, JSON_NUMBERS_DEFAULT);
	assert_fine(query_open_sql(runfile_db(a->rf), sql, strlen(sql), &q, &err), &err);
	jw_open_array(&w);
	while (query_step(q, &err) == 1) {
		jw_open_object(&w);
		for (int i = 0; i < sqlite3_column_count(q->stmt); i++) {
			jw_key(&w, sqlite3_column_name(q->stmt, i));
			if (query_is_null(q, i))
				jw_null(&w);
			else if (sqlite3_column_type(q->stmt, i) == SQLITE_TEXT)
				jw_str(&w, query_str(q, i));
			else
				jw_u64(&w, query_u64(q, i));
		}
		jw_close_object(&w);
	}
	ck_assert_msg(!err.code, "%s", err.message);
	jw_close_array(&w);
}

static unsigned assert_views(const struct node *file)
{
	static const char *const ops =
		"select key as op_name, op_count, total_ns, max_ns from op_group_rows "
		"where dimension = 'op_name' order by op_group_rows.total_ns desc, key";
	static const char *const times =
		"select s.id, f.depth, f.self_ns, f.child_count, f.op_count from span_rows s "
		"join span_figure_rows f on f.no = s.no order by s.id";
	static const char *const views[] = {"timing", "spans", "slowest-host", "slowest-device",
					    "slow-ops"};
	struct buf text CLEAN(buf_done) = BUF_INIT;
	struct ts_error err = TS_ERROR_INIT;
	struct analysis a;
	unsigned n = 0;

	corpus_text(file->key.p, file->key.n, &text);
	analysis_begin(&a);
	analysis_load(&a, ts_str(text.data, text.len));
	analysis_run(&a);
	assert_fine(runfile_index(a.rf, &err), &err);
	for (const struct node *want = file->child; want; want = want->next) {
		struct arena mine CLEAN(arena_done) = {0};
		struct buf have CLEAN(buf_done) = BUF_INIT;
		bool is_view = false;

		for (size_t i = 0; i < ARRAY_LEN(views); i++)
			is_view |= ts_str_is(want->key, views[i]);
		if (tree_get(want, "error")) {
			/* Gated by the caller; what is computed must do no harm all the same. */
			ck_assert(!is_view || view_needs_graph(want->key));
			continue;
		}
		if (is_view)
			write_view(&a, want->key, &have);
		else if (ts_str_is(want->key, "ops-by-name"))
			write_rows(&a, ops, &have);
		else if (ts_str_is(want->key, "span-times"))
			write_rows(&a, times, &have);
		else
			continue;
		/* The memory of spans is not worked out here. */
		char place[300];

		snprintf(place, sizeof(place), "%.*s %.*s", (int)file->key.n, file->key.p,
			 (int)want->key.n, want->key.p);
		const struct node *tree = tree_parse(have.data, have.len, &mine);

		if (ts_str_is(want->key, "spans")) {
			ck_assert_uint_eq(tree_count(want), tree_count(tree));
			const struct node *row = tree->child;

			for (const struct node *w = want->child; w; w = w->next, row = row->next)
				tree_within(row, w, place);
		} else {
			tree_same(want, tree, place);
		}
		n++;
	}
	analysis_end(&a);
	return n;
}

START_TEST(the_views_of_times_are_those_of_the_corpus)
{
	struct buf text CLEAN(buf_done) = BUF_INIT;
	struct arena trees CLEAN(arena_done) = {0};
	unsigned n = 0;

	corpus_text("EXPECTED_QUERIES.json", 21, &text);
	const struct node *files = tree_parse(text.data, text.len, &trees);

	for (const struct node *file = files->child; file; file = file->next)
		n += assert_views(file);
	ck_assert_uint_gt(n, 40);
}
END_TEST

START_TEST(the_steps_of_all_accepted_files_are_those_of_the_corpus)
{
	struct buf text CLEAN(buf_done) = BUF_INIT;
	struct arena trees CLEAN(arena_done) = {0};
	unsigned n = 0;

	corpus_text("EXPECTED.json", 13, &text);
	const struct node *files = tree_get(tree_parse(text.data, text.len, &trees), "files");

	for (const struct node *file = files->child; file; file = file->next) {
		struct arena mine CLEAN(arena_done) = {0};
		struct buf trace CLEAN(buf_done) = BUF_INIT;
		struct analysis a;
		char place[300];

		if (!ts_str_starts(file->key, "valid/"))
			continue;
		corpus_text(file->key.p, file->key.n, &trace);
		analysis_begin(&a);
		analysis_load(&a, ts_str(trace.data, trace.len));
		analysis_run(&a);
		snprintf(place, sizeof(place), "%.*s", (int)file->key.n, file->key.p);
		tree_same(tree_get(tree_get(file, "figures"), "steps"),
			  tree_get(tree_parse(a.out.data, a.out.len, &mine), "steps"), place);
		analysis_end(&a);
		n++;
	}
	ck_assert_uint_gt(n, 20);
}
END_TEST

/* ---- lists ---- */

#define SPAN(id, parent, name, start, more)                                                        \
	"{\"kind\":\"span_start\",\"id\":\"" id "\"," parent "\"name\":\"" name                    \
	"\",\"start_ns\":" start "," more "\"span_kind\":\"function\"}\n"
#define PARENT(id) "\"parent_id\":\"" id "\","
#define END(id, ns) "{\"kind\":\"span_end\",\"id\":\"" id "\",\"duration_ns\":" ns "}\n"
#define OP(span, name, at, ns, shape)                                                              \
	"{\"kind\":\"op\",\"span_id\":\"" span "\",\"op_name\":\"" name "\",\"shape\":" shape      \
	",\"dtype\":\"f32\",\"device\":\"cpu\",\"duration_ns\":" ns ",\"timestamp_ns\":" at        \
	",\"input_dense_bytes\":0}\n"
#define BIG "18446744073709551615"

/* A tree r(a(b), c), a span d whose parent is missing, and a ring e, f with g below it.
 * Ids, starts, durations:  r 0 100, a 10 50, b 20 20, c 0 60, d 5 2^64-1, e 1 1, f 1 1, g 1 open
 * self: r 100 - [0,60) = 40; a 50 - [20,40) - [45,47) = 28; b 20 - [38,40) = 18 (the ops at 38 and
 * 39 end at 41 and 40); c 60; d 2^64-1 - 7, its op being cut at its end, 2^64-1; e 1 - f 1 = 0, f
 * 0. */
static const char *const trace =
	"{\"kind\":\"meta\",\"schema\":\"candle-graph/trace/10\",\"run_id\":\"r\","
	"\"correlation_id\":\"c\",\"entrypoint\":\"e\",\"phase\":\"infer\",\"timestamp\":\"t\","
	"\"capture_step\":1,\"warmup_steps\":0,\"device\":\"cpu\",\"timing_mode\":\"host\","
	"\"capture_contract\":{\"measurement_scope\":\"unknown\",\"operations\":\"none\","
	"\"logical_memory\":\"none\",\"physical_memory\":\"none\",\"device_timing\":\"none\"},"
	"\"tags\":{}}\n" SPAN("g", PARENT("e"), "ring", "1", "") SPAN(
		"f", PARENT("e"), "ring", "1",
		"") SPAN("e", PARENT("f"), "ring", "1",
			 "") SPAN("d", PARENT("ghost"), "lost", "5",
				  "") SPAN("b", PARENT("a"), "leaf", "20", "\"step\":\"forward\",")
		SPAN("a", PARENT("r"), "limb", "10", "\"step\":\"forward\",") SPAN(
			"c", PARENT("r"), "leaf", "0", "") SPAN("r", "", "root", "0",
								"\"measured\":true,")
			OP("b", "x", "38", "3", "[1]") OP("a", "y", "45", "2", "[2]") OP(
				"b", "x", "39", "1", "[1]") OP("d", "z", "18446744073709551608",
							       BIG, "[1]")
				OP("nowhere", "y", "1", "2", "[8]") END("e", "1") END("f", "1") END(
					"d", BIG) END("b", "20") END("a", "50") END("c", "60")
					END("r", "100") "{\"kind\":\"terminal\",\"outcome\":"
							"\"complete\",\"timestamp_ns\":" BIG "}\n";

static struct analysis bench;

static void setup(void)
{
	struct ts_error err = TS_ERROR_INIT;

	analysis_begin(&bench);
	analysis_load(&bench, ts_str_c(trace));
	analysis_run(&bench);
	assert_fine(runfile_index(bench.rf, &err), &err);
	list_db = runfile_db(bench.rf);
}

static void teardown(void)
{
	analysis_end(&bench);
}

/* One column of all rows, numbers as decimal text. */
static void assert_column(const struct list *l, const char *query, const char *member,
			  const char *want)
{
	struct list_param params[8];
	struct list_request req = list_request_of(query, params);
	struct ts_error err = TS_ERROR_INIT;
	struct page *p CLEAN(page_closep) = NULL;
	struct buf text CLEAN(buf_done) = BUF_INIT;
	int i = 0;

	while (strcmp(l->columns[i].member, member) != 0)
		i++;
	assert_fine(page_open(list_db, l, &req, &p, &err), &err);
	buf_puts(&text, "");
	while (page_next(p, &err) == 1) {
		buf_puts(&text, text.len ? " " : "");
		if (query_is_null(page_row(p), i))
			buf_puts(&text, "-");
		else
			buf_printf(&text, "%llu", (unsigned long long)query_u64(page_row(p), i));
	}
	ck_assert_msg(strcmp(text.data, want) == 0, "%s of %s: %s", member, query, text.data);
}

START_TEST(spans_come_by_start_depth_and_id_and_in_the_orders_asked_for)
{
	/* depths: r 0, c 1, e 2, f 2, g 2, d 1, a 1, b 2 */
	assert_list(&list_spans, "", NULL, "id", "r c e f g d a b");
	assert_list(&list_spans, "", "-duration_ns", "id", "d r c a b e f g");
	assert_list(&list_spans, "", "-self_ns", "id", "d c r a b e f g");
	assert_list(&list_spans, "", "duration_ns", "id", "g e f b a c r d");
	assert_column(&list_spans, "", "self_ns", "40 60 0 0 - 18446744073709551608 28 18");
	assert_column(&list_spans, "", "child_count", "2 0 2 1 0 0 1 0");
	assert_column(&list_spans, "", "op_count", "0 0 0 0 0 1 1 2");
	assert_column(&list_spans, "", "depth", "0 1 2 2 2 1 1 2");
}
END_TEST

START_TEST(spans_are_filtered_by_subtree_depth_length_name_step_and_measure)
{
	assert_list(&list_spans, "root=r", NULL, "id", "r c a b");
	assert_list(&list_spans, "root=a", NULL, "id", "a b");
	assert_list(&list_spans, "root=d", NULL, "id", "d");
	assert_list(&list_spans, "root=e", NULL, "id", "e f g");
	assert_list(&list_spans, "root=f", NULL, "id", "e f g");
	assert_list(&list_spans, "root=g", NULL, "id", "g");
	assert_list(&list_spans, "root=ghost", NULL, "id", "");
	assert_list(&list_spans, "root=a&root=c", NULL, "id", "c a b");
	assert_list(&list_spans, "max_depth=1", NULL, "id", "r c d a");
	assert_list(&list_spans, "min_duration_ns=60", NULL, "id", "r c d");
	assert_list(&list_spans, "name=leaf", NULL, "id", "c b");
	assert_list(&list_spans, "name_prefix=l", NULL, "id", "c d a b");
	assert_list(&list_spans, "span_kind=op", NULL, "id", "");
	assert_list(&list_spans, "step=forward&root=a", NULL, "id", "a b");
	assert_list(&list_spans, "measured=true", NULL, "id", "r");
	assert_refused(&list_spans, "step=sideways", NULL, "bad_parameter", "step");
}
END_TEST

START_TEST(ops_come_by_time_or_length_and_in_groups)
{
	assert_list(&list_ops, "", NULL, "span_id", "nowhere b b a d");
	assert_list(&list_ops, "", "-duration_ns", "span_id", "d b a nowhere b");
	assert_list(&list_ops, "span_id=b&min_duration_ns=2", NULL, "op_name", "x");
	assert_list(&list_ops, "op_name=y", NULL, "span_id", "nowhere a");
	assert_list(&list_op_groups, "group_by=op_name", NULL, "key", "z x y");
	assert_list(&list_op_groups, "group_by=op_name", "key", "key", "x y z");
	assert_list(&list_op_groups, "group_by=shape", NULL, "key", "[1] [2] [8]");
	assert_list(&list_op_groups, "group_by=span_id", NULL, "key", "d b a nowhere");
	assert_column(&list_op_groups, "group_by=op_name", "total_ns", BIG " 4 4");
	assert_column(&list_op_groups, "group_by=op_name", "max_ns", BIG " 3 2");
	assert_column(&list_op_groups, "group_by=device", "total_ns", BIG);
	assert_column(&list_op_groups, "group_by=shape", "output_dense_bytes", "12 8 32");
	assert_refused(&list_op_groups, "group_by=colour", NULL, "bad_parameter", "group_by");
}
END_TEST

static void assert_plan(const char *sql, const char *want)
{
	char plan[2000];

	plan_of(list_db->h, sql, plan, sizeof(plan));
	ck_assert_msg(strstr(plan, want) != NULL && strstr(plan, "TEMP B-TREE") == NULL,
		      "no \"%s\", or a sort, in\n%s%s", want, plan, sql);
}

#define FROM                                                                                       \
	"select s.name, f.child_count from span_figure_rows f join span_rows s on s.no = f.no "    \
	"left join span_memory_rows m on m.no = f.no "

START_TEST(first_and_next_pages_go_along_an_index)
{
	assert_plan(FROM "order by f.start_ns, f.depth, f.id_order limit 101",
		    "SCAN f USING INDEX span_by_start");
	assert_plan(FROM "where 1 and (f.start_ns, f.depth, f.id_order) > (?, ?, ?) "
			 "order by f.start_ns, f.depth, f.id_order limit 101",
		    "SEARCH f USING INDEX span_by_start ((start_ns,depth,id_order)>(?,?,?))");
	assert_plan(FROM "order by f.duration_ns desc, f.id_order limit 101",
		    "SCAN f USING INDEX span_by_duration");
	assert_plan(FROM "where f.duration_ns <= ? and (f.duration_ns < ? or (f.id_order) > (?)) "
			 "order by f.duration_ns desc, f.id_order limit 101",
		    "SEARCH f USING INDEX span_by_duration");
	assert_plan(FROM "where f.self_ns is not null order by f.self_ns desc, f.id_order",
		    "SEARCH f USING INDEX span_by_self");
	assert_plan(FROM "where f.self_ns is null order by f.id_order limit 101",
		    "SEARCH f USING INDEX span_by_self (self_ns=?)");
	assert_plan("select o.shape from op_rows o order by o.timestamp_ns, o.rowid limit 101",
		    "SCAN o USING INDEX op_by_time");
	assert_plan("select o.shape from op_rows o where (o.timestamp_ns, o.rowid) > (?, ?) "
		    "order by o.timestamp_ns, o.rowid limit 101",
		    "SEARCH o USING INDEX op_by_time");
	assert_plan("select o.shape from op_rows o order by o.duration_ns desc, o.span_id, o.rowid",
		    "SCAN o USING INDEX op_by_duration");
	assert_plan("select g.op_count from op_group_rows g where (g.dimension = ?) "
		    "order by g.total_ns desc, g.key limit 101",
		    "SEARCH g USING INDEX op_group_by_total (dimension=?)");
}
END_TEST

START_TEST(a_subtree_is_one_range_and_the_analysis_sorts_no_ops)
{
	char plan[2000];

	plan_of(list_db->h,
		FROM "where f.tree_no between (select tree_first from span_figure_rows where no = "
		     "1) and (select tree_last from span_figure_rows where no = 1) "
		     "order by f.start_ns, f.depth, f.id_order limit 101",
		plan, sizeof(plan));
	ck_assert_msg(strstr(plan, "span_by_tree (tree_no>? AND tree_no<?)") != NULL, "%s", plan);
	assert_plan("select s.no, o.timestamp_ns, o.duration_ns from span_rows s "
		    "left join op_rows o on o.span_id = s.id order by s.id, s.no, o.timestamp_ns",
		    "SEARCH o USING COVERING INDEX op_by_span (span_id=?)");
}
END_TEST

/* ---- the summary ---- */

START_TEST(slowest_rows_are_cut_to_the_number_and_size_asked_for)
{
	struct buf out CLEAN(buf_done) = BUF_INIT;
	struct ts_error err = TS_ERROR_INIT;
	struct json_writer w;
	bool cut[2] = {true, true};

	jw_init(&w, &out, JSON_NUMBERS_DEFAULT);
	jw_open_object(&w);
	assert_fine(analyze_write_slowest(list_db, 100, 2, &w, cut, &err), &err);
	jw_close_object(&w);
	ck_assert_str_eq(
		out.data,
		"{\"slowest_spans\":[{\"id\":\"d\",\"name\":\"lost\",\"span_kind\":\"function\","
		"\"start_ns\":5,\"duration_ns\":" BIG ",\"self_ns\":18446744073709551608,"
		"\"share_ratio\":1.8446744073709552e+17},{\"id\":\"r\",\"name\":\"root\","
		"\"span_kind\":\"function\",\"start_ns\":0,\"duration_ns\":100,\"self_ns\":40,"
		"\"share_ratio\":1.0}],\"slowest_ops\":[{\"op_name\":\"z\",\"op_count\":1,"
		"\"total_ns\":" BIG ",\"max_ns\":" BIG ",\"share_ratio\":1.8446744073709552e+17},"
		"{\"op_name\":\"x\",\"op_count\":2,\"total_ns\":4,\"max_ns\":3,"
		"\"share_ratio\":0.04}]}");
	ck_assert(!cut[0] && !cut[1]);
	ck_assert_ptr_nonnull(strstr(bench.out.data, "\"slowest_spans\":[{\"id\":\"d\""));
	ck_assert_ptr_nonnull(strstr(bench.out.data, "\"steps\":{\"forward_ns\":50,"
						     "\"backward_ns\":null"));
}
END_TEST

START_TEST(long_names_leave_rows_out_of_the_slowest_and_the_summary_small)
{
	struct analysis a;
	char *name CLEAN(free_ptr) = malloc(5000);

	ck_assert_ptr_nonnull(name);
	memset(name, 1, 5000); /* each byte becomes six */
	analysis_begin(&a);
	analysis_put(&a, ROW_META,
		     &(struct row_meta){.run_id = TS_STR("r"), .capture_contract = TS_STR("{}")});
	analysis_put(&a, ROW_TERMINAL, &(struct row_terminal){.outcome = TS_STR("complete")});
	for (uint64_t i = 1; i <= 20; i++) {
		char id[8];

		snprintf(id, sizeof(id), "s%llu", (unsigned long long)i);
		analysis_put(&a, ROW_SPAN,
			     &(struct row_span){
				     .no = i, .id = ts_str_c(id), .name = ts_str(name, 5000)});
		analysis_put(&a, ROW_SPAN_TIME, &(struct row_span_time){.no = i, .closed = true});
	}
	analysis_run(&a);
	ck_assert_ptr_nonnull(strstr(a.out.data, "\"truncated\":[\"slowest_spans\"]"));
	ck_assert_ptr_nonnull(strstr(a.out.data, "\"id\":\"s1\""));
	ck_assert_uint_lt(a.out.len, 24 * 1024);
	analysis_end(&a);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("spans");
	TCase *t = tcase_create("lists"), *c = tcase_create("corpus");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, spans_come_by_start_depth_and_id_and_in_the_orders_asked_for);
	tcase_add_test(t, spans_are_filtered_by_subtree_depth_length_name_step_and_measure);
	tcase_add_test(t, ops_come_by_time_or_length_and_in_groups);
	tcase_add_test(t, first_and_next_pages_go_along_an_index);
	tcase_add_test(t, a_subtree_is_one_range_and_the_analysis_sorts_no_ops);
	tcase_add_test(t, slowest_rows_are_cut_to_the_number_and_size_asked_for);
	tcase_add_test(t, long_names_leave_rows_out_of_the_slowest_and_the_summary_small);
	suite_add_tcase(s, t);
	tcase_set_timeout(c, 120);
	if (corpus_path()) {
		tcase_add_test(c, the_views_of_times_are_those_of_the_corpus);
		tcase_add_test(c, the_steps_of_all_accepted_files_are_those_of_the_corpus);
	} else {
		printf("skipped: the_views_of_times_are_those_of_the_corpus: no corpus\n");
	}
	suite_add_tcase(s, c);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
