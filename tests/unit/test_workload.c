/* test_workload.c: a request run as a workload: sessions, arrivals, intervals, rows of other tools
 * there and back, size
 */
#include <inttypes.h>
#include <time.h>

#include "request_text.h"
#include "tracespool/analyze.h"
#include "tracespool/list.h"

#define REPLAYABLE (&(struct replay_options){.replayable = true})

/* ---- sessions, arrivals ---- */

static void analyze(void)
{
	struct run_record record = {.id = TS_STR("x")};
	struct arena keep = {0};
	CLEAN(buf_done) struct buf out = BUF_INIT;

	ck_assert_msg(analyze_requests(runfile_db(file), &counts, &record, &keep, &out, &err) == 0,
		      "%s", err.message);
	arena_done(&keep);
	ck_assert_int_eq(runfile_index(file, &err), 0);
}

/* "name parent requests tools first last busy wait depth;" a session. */
static void sessions_are(const char *sort, const char *want)
{
	struct list_request req = {.sort = ts_str_c(sort)};
	struct page *p CLEAN(page_closep) = NULL;
	char got[2000] = "";
	int more;

	ck_assert_msg(page_open(runfile_db(file), &list_sessions, &req, &p, &err) == 0, "%s",
		      err.message);
	while ((more = page_next(p, &err)) > 0) {
		struct query *q = page_row(p);
		struct ts_str name = query_str(q, 0), parent = query_str(q, 1);
		char wait[40] = "-", depth[24] = "-";

		if (!query_is_null(q, 7))
			snprintf(wait, sizeof(wait), "%g", query_double(q, 7));
		if (!query_is_null(q, 8))
			text_format_u64(query_u64(q, 8), depth);
		snprintf(got + strlen(got), sizeof(got) - strlen(got),
			 "%.*s %.*s %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 " %" PRIu64
			 " %s %s;",
			 (int)name.n, name.p, (int)(parent.p ? parent.n : 1),
			 parent.p ? parent.p : "-", query_u64(q, 2), query_u64(q, 3),
			 query_i64(q, 4), query_i64(q, 5), query_u64(q, 6), wait, depth);
	}
	ck_assert_int_eq(more, 0);
	ck_assert_str_eq(got, want);
}

START_TEST(sessions_have_counts_times_busy_time_waits_and_depth)
{
	/* p is busy 0 to 10, 30 to 60 (two overlapping), and waits 5 ms for a tool. */
	run_load(SHORT("p1", 0, 10, IN("p")) SHORT("p2", 30, 50, IN("p"))
			 SHORT("p3", 40, 60, IN("p")) SHORT("k1", 12, 20, BELOW("k", "p"))
				 SHORT("m1", 14, 15, BELOW("m", "k")) SHORT("u1", 90, 95,
									    BELOW("u", "away"))
					 TOOL("t", 20, 25, IN("p"), ",\"ended_at_unix_ms\":25"));
	analyze();
	/* p2 waits for p1, k1 (ends 20) and so from 20 on; of 10 ms the tool took 5. */
	sessions_are(NULL, "p - 3 1 0 60 40 5 0;k p 1 0 12 20 8 0 1;m k 1 0 14 15 1 0 2;"
			   "u away 1 0 90 95 5 0 0;");
	sessions_are("-depth", "m k 1 0 14 15 1 0 2;k p 1 0 12 20 8 0 1;p - 3 1 0 60 40 5 0;"
			       "u away 1 0 90 95 5 0 0;");
	/* No rows, no waits; a ring has no depth, nor what hangs from it. */
	run_load(SHORT("s1", 0, 10, BELOW("s", "s")) SHORT("c1", 5, 9, BELOW("c", "s")));
	analyze();
	sessions_are(NULL, "s s 1 0 0 10 10 - -;c s 1 0 5 9 4 - -;");
	run_load(SHORT("a", 0, 10, ""));
	analyze();
	sessions_are(NULL, "");
}
END_TEST

static void arrivals_are(struct opt_u64 width, const char *want)
{
	struct json_writer w;

	buf_clear(&rows);
	jw_init(&w, &rows, JSON_NUMBERS_DEFAULT);
	jw_open_object(&w);
	ck_assert_msg(analyze_arrivals(runfile_db(file), width, &w, &err) == 0, "%s", err.message);
	jw_close_object(&w);
	ck_assert_str_eq(rows.data, want);
}

START_TEST(arrivals_are_counted_by_time_with_what_is_in_flight)
{
	struct json_writer w;

	run_load(SHORT("a", 1000, 1250, "") SHORT("b", 1100, 1100, "") SHORT("c", 1199, 1300, ""));
	arrivals_are((struct opt_u64){100, true},
		     "{\"bucket_width_ms\":100,\"first_start_ms\":1000,"
		     "\"bucket_ms\":[0,100,200,300],\"arrivals\":[1,2,0,0],"
		     "\"in_flight\":[1,2,1,0],\"completed\":[0,1,1,1]}");
	arrivals_are((struct opt_u64){0}, "{\"bucket_width_ms\":1000,\"first_start_ms\":1000,"
					  "\"bucket_ms\":[0],\"arrivals\":[3],\"in_flight\":[0],"
					  "\"completed\":[3]}");
	/* 20000 ms are 10000 buckets of 3, as 20000 / 2 is one too many. */
	run_load(SHORT("a", 0, 20000, ""));
	buf_clear(&rows);
	jw_init(&w, &rows, JSON_NUMBERS_DEFAULT);
	ck_assert_int_lt(analyze_arrivals(runfile_db(file), (struct opt_u64){2, true}, &w, &err),
			 0);
	ck_assert_str_eq(err.code->code, "bad_parameter");
	ck_assert_ptr_nonnull(strstr(err.message, "at least 3 "));
	ts_error_init(&err);
	ck_assert_int_eq(analyze_arrivals(runfile_db(file), (struct opt_u64){3, true}, &w, &err),
			 0);
	/* The widest times there are. */
	run_load(SHORT("a", 0, 18446744073709551615, ""));
	buf_clear(&rows);
	jw_init(&w, &rows, JSON_NUMBERS_DEFAULT);
	ck_assert_int_eq(analyze_arrivals(runfile_db(file), (struct opt_u64){0}, &w, &err), 0);
}
END_TEST

START_TEST(the_interval_series_has_means_and_empty_intervals)
{
	struct json_writer w;

	run_load(REQUEST("a", 500, 600, "", 3, 4, 4, "[1]") REQUEST(
		"b", 1499, 9000, "", 4, 4, 8, "[1,2]") REQUEST("c", 2500, 2600, "", 5, 4, 0, "[]"));
	buf_clear(&rows);
	jw_init(&w, &rows, JSON_NUMBERS_DEFAULT);
	jw_open_object(&w);
	ck_assert_int_eq(analyze_intervals(runfile_db(file), 1, &w, &err), 0);
	jw_close_object(&w);
	ck_assert_str_eq(
		rows.data,
		"{\"first_start_ms\":500,\"intervals\":["
		"{\"interval_start\":0,\"request_count\":2,\"avg_isl\":6.0,\"avg_osl\":3.5},"
		"{\"interval_start\":1,\"request_count\":0,\"avg_isl\":0.0,\"avg_osl\":0.0},"
		"{\"interval_start\":2,\"request_count\":1,\"avg_isl\":0.0,"
		"\"avg_osl\":5.0}]}");
}
END_TEST

/* ---- rows of other tools, there and back ---- */

/* A bijection over all 64 bits, so that the hashes of a trace look as recorded ones do. */
static uint64_t hash_of(uint64_t id)
{
	return (id + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Requests whose rows these are. Ids count up with the rows, so that rows of one time keep their
 * order. */
static void rows_to_trace(const struct buf *text, unsigned block, struct buf *out)
{
	struct arena arena = {0};
	unsigned n = 0;

	for (const char *at = text->data; *at; n++) {
		const char *newline = strchrnul(at, '\n');
		const struct node *row = tree_parse(at, (size_t)(newline - at), &arena);
		uint64_t start = 1777312800000 + tree_get(row, "timestamp")->u64;
		bool first = true;

		buf_printf(out,
			   "{\"schema\":\"dynamo.request.trace.v1\",\"event_type\":\"request_end\","
			   "\"event_time_unix_ms\":%" PRIu64
			   ",\"request\":{\"request_id\":\"r%08u\","
			   "\"request_received_ms\":%" PRIu64 ",\"output_tokens\":%" PRIu64
			   ",\"replay\":{\"trace_block_size\":%u,\"input_length\":%" PRIu64
			   ",\"input_sequence_hashes\":[",
			   start, n, start, tree_get(row, "output_length")->u64, block,
			   tree_get(row, "input_length")->u64);
		for (const struct node *h = tree_get(row, "hash_ids")->child; h; h = h->next) {
			buf_printf(out, "%s%" PRIu64, first ? "" : ",", hash_of(h->u64));
			first = false;
		}
		buf_puts(out, "]}}}\n");
		at = *newline ? newline + 1 : newline;
	}
	ck_assert(!out->failed);
	arena_done(&arena);
}

/* Ids of the files are any numbers; those of rows count up by first appearance. So the files' ids
 * are renamed in that order, to each a name of its own. */
static uint64_t renamed(uint64_t id, uint64_t *ids, size_t *count)
{
	for (size_t i = *count; i-- > 0;)
		if (ids[i] == id)
			return i;
	ids[*count] = id;
	return (*count)++;
}

static void comes_back(const char *name, unsigned block, size_t want_rows)
{
	CLEAN(buf_done) struct buf text = BUF_INIT;
	CLEAN(buf_done) struct buf trace = BUF_INIT;
	CLEAN(free_ptr) uint64_t *ids = calloc(200000, sizeof(*ids));
	struct arena arena = {0};
	size_t count = 0, n = 0;
	const char *got;

	corpus_read(name, &text);
	rows_to_trace(&text, block, &trace);
	run_load(trace.data);
	replay_close(TAKE(replay));
	ck_assert_msg(replay_open(runfile_db(file), &replay, &err) == 0, "%s", err.message);
	ck_assert_uint_eq(replay_facts(replay)->trace_block_size, block);
	read_rows();
	got = rows.data;
	for (const char *at = text.data; *at; n++) {
		const char *newline = strchrnul(at, '\n'), *end = strchr(got, '\n');
		struct node *want = tree_parse(at, (size_t)(newline - at), &arena);

		ck_assert_ptr_nonnull(end);
		for (struct node *m = want->child; m; m = m->next)
			for (struct node *h = m->child; h; h = h->next)
				h->u64 = renamed(h->u64, ids, &count);
		tree_same(want, tree_parse(got, (size_t)(end - got), &arena), name);
		arena_reset(&arena);
		got = end + 1;
		at = *newline ? newline + 1 : newline;
	}
	ck_assert_str_eq(got, "");
	ck_assert_uint_eq(n, want_rows);
	arena_done(&arena);
}

START_TEST(mooncake_rows_come_back_value_by_value)
{
	if (!corpus_path())
		return;
	comes_back("real/mooncake/dynamo_mooncake_trace_tiny.jsonl", 8, 2);
	comes_back("real/mooncake/dynamo_mooncake_tiny.jsonl", 512, 16);
	comes_back("real/mooncake/dynamo_mooncake_trace_1000.jsonl.gz", 512, 1000);
	comes_back("real/mooncake/conversation_trace.first2000.jsonl.gz", 512, 2000);
	comes_back("real/mooncake/synthetic_trace.first500.jsonl.gz", 512, 500);
}
END_TEST

/* ---- size ---- */

START_TEST(a_hundred_thousand_requests_in_sessions_three_levels_deep_take_no_quadratic_time)
{
	enum { REQUESTS = 100000, SESSIONS = 5000 };
	struct timespec from, to;
	struct json_writer w;
	struct sink *sink;
	uint64_t total;
	size_t lines = 0;

	run_begin();
	counts.request_end = REQUESTS;
	sink = runfile_sink(file);
	for (uint64_t i = 0; i < REQUESTS; i++) {
		/* 50 roots, 450 below them, 4500 below those. */
		unsigned s = (unsigned)(i % SESSIONS);
		char id[32], session[32], parent[32];
		uint64_t hash = i;
		struct row_request row = {.no = i + 1,
					  .start_ms = (int64_t)(i * 10),
					  .end_ms = (int64_t)(i * 10) + 5,
					  .output_tokens = 1,
					  .trace_block_size = 4,
					  .input_length = i % 7 ? 3 : 0,
					  .hash_count = i % 7 ? 1 : 0};
		struct row_request_hashes hashes = {
			.no = i + 1, .input = &hash, .input_count = row.hash_count};

		snprintf(id, sizeof(id), "r%06" PRIu64, i);
		snprintf(session, sizeof(session), "s%u", s);
		snprintf(parent, sizeof(parent), "s%u", s < 500 ? s % 50 : 50 + s % 450);
		row.request_id = ts_str_c(id);
		row.session_id = ts_str_c(session);
		if (s >= 50)
			row.parent_session_id = ts_str_c(parent);
		ck_assert_int_eq(sink->row(sink, ROW_REQUEST, &row, &err), 0);
		ck_assert_int_eq(sink->row(sink, ROW_REQUEST_HASHES, &hashes, &err), 0);
	}
	ck_assert_int_eq(runfile_flush(file, &err), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	analyze();
	ck_assert_msg(replay_open_as(runfile_db(file),
				     &(struct replay_options){.version2 = true, .replayable = true},
				     &replay, &err) == 0,
		      "%s", err.message);
	read_rows();
	replay_close(TAKE(replay));
	ck_assert_int_eq(replay_open_as(runfile_db(file), &(struct replay_options){.graph = true},
					&replay, &err),
			 0);
	buf_clear(&rows);
	jw_init(&w, &rows, JSON_NUMBERS_DEFAULT);
	jw_open_object(&w);
	ck_assert_int_eq(replay_graph(replay, TS_STR("s7"), 2000, &w, &total, &err), 0);
	ck_assert_uint_eq(total, 20 * (1 + 9 + 90));
	replay_close(TAKE(replay));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	ck_assert_int_lt(to.tv_sec - from.tv_sec, 60);
	ck_assert_int_eq(replay_open_as(runfile_db(file), REPLAYABLE, &replay, &err), 0);
	read_rows();
	for (const char *p = rows.data; *p; p = strchr(p, '\n') + 1)
		lines++;
	ck_assert_uint_eq(lines, replay_facts(replay)->rows);
	ck_assert_uint_eq(lines, REQUESTS - (REQUESTS + 6) / 7);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("workload");
	TCase *t = tcase_create("workload");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_set_timeout(t, 300);
	tcase_add_checked_fixture(t, NULL, run_end);
	tcase_add_test(t, sessions_have_counts_times_busy_time_waits_and_depth);
	tcase_add_test(t, arrivals_are_counted_by_time_with_what_is_in_flight);
	tcase_add_test(t, the_interval_series_has_means_and_empty_intervals);
	tcase_add_test(t, mooncake_rows_come_back_value_by_value);
	tcase_add_test(
		t,
		a_hundred_thousand_requests_in_sessions_three_levels_deep_take_no_quadratic_time);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
