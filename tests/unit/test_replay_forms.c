/* test_replay_forms.c: forms of a replay: version 2, other modes, rows left out, the request graph
 */
#include "request_text.h"

#define OWN (&(struct replay_options){0})
#define VERSION2 (&(struct replay_options){.version2 = true})
#define STANDARD (&(struct replay_options){.want = REPLAY_AS_STANDARD})
#define AGENTIC (&(struct replay_options){.want = REPLAY_AS_AGENTIC})
#define REPLAYABLE (&(struct replay_options){.replayable = true})

static void open_as(const struct replay_options *options)
{
	replay_close(TAKE(replay));
	ck_assert_msg(replay_open_as(runfile_db(file), options, &replay, &err) == 0, "%s",
		      err.message);
}

static void lowers_to(const struct replay_options *options, const char *want)
{
	replay_close(TAKE(replay));
	ck_assert_msg(replay_open_as(runfile_db(file), options, &replay, &err) == 0, "%s",
		      err.message);
	read_rows();
	ck_assert_str_eq(rows.data, want);
}

static void fails(const struct replay_options *options, const char *code)
{
	replay_close(TAKE(replay));
	ts_error_init(&err);
	ck_assert_int_lt(replay_open_as(runfile_db(file), options, &replay, &err), 0);
	ck_assert_msg(strcmp(err.code->code, code) == 0, "want %s, got %s (%s)", code,
		      err.code->code, err.message);
}

/* ---- version 2 ---- */

static const struct node *versioned; /* EXPECTED_V2.json */

static void compare_line(const struct node *want, const char **at, const char *place)
{
	const char *newline = strchr(*at, '\n');
	struct arena arena = {0};

	ck_assert_msg(newline != NULL, "%s: too few lines", place);
	const struct node *got = tree_parse(*at, (size_t)(newline - *at), &arena);

	tree_same(want, got, place);
	for (const struct node *a = want->child, *b = got->child; a; a = a->next, b = b->next)
		ck_assert_msg(ts_str_eq(a->key, b->key), "%s: order of members", place);
	arena_done(&arena);
	*at = newline + 1;
}

static unsigned versioned_found;

static void run_versioned(const struct request_case *c)
{
	const struct node *want = versioned->child;
	const char *at;

	while (want && !ts_str_eq(want->key, c->name))
		want = want->next;
	if (!want || strcmp(c->folder, "dynamo") != 0)
		return;
	versioned_found++;
	run_begin();
	ck_assert_int_eq(case_load(c, runfile_sink(file), &counts, &err), 0);
	ck_assert_int_eq(runfile_flush(file, &err), 0);
	ck_assert_msg(replay_open_as(runfile_db(file), VERSION2, &replay, &err) == 0, "%s: %s",
		      c->place, err.message);
	read_rows();
	at = rows.data;
	compare_line(tree_get(want, "header"), &at, c->place);
	for (const struct node *row = tree_get(want, "rows")->child; row; row = row->next)
		compare_line(row, &at, c->place);
	ck_assert_msg(!*at, "%s: more rows than expected", c->place);
}

START_TEST(corpus_gives_its_rows_of_version_2)
{
	CLEAN(buf_done) struct buf text = BUF_INIT;
	struct arena arena = {0};

	if (!corpus_path()) {
		printf("test_workload: corpus absent, its cases are skipped\n");
		return;
	}
	corpus_read("dynamo/EXPECTED_V2.json", &text);
	versioned = tree_parse(text.data, text.len, &arena);
	corpus_each(run_versioned);
	ck_assert_uint_eq(versioned_found, tree_count(versioned));
	arena_done(&arena);
}
END_TEST

START_TEST(version_2_dispatches_names_models_and_keeps_partial_blocks_apart)
{
	/* k starts while p1 runs, and is joined by p2. Two partial blocks of the same hash: U is 3,
	 * so rows 0 and 2 get 3 and 5. */
	run_load(REQUEST("p1", 0, 100, IN("p"), 1, 4, 6, "[5,6]") SHORT(
		"k1", 10, 20, BELOW("k", "p")) REQUEST("p2", 200, 300, IN("p"), 1, 4, 6, "[5,6]"));
	lowers_to(VERSION2,
		  "{\"schema\":\"dynamo.agentic_mooncake\",\"version\":2,\"block_size\":4,"
		  "\"hash_id_scope\":\"local\",\"source\":{\"format\":\"dynamo_request_trace\","
		  "\"digest\":\"requests:3\"}}\n"
		  "{\"request_id\":\"p1\",\"play_id\":\"p\",\"session_id\":\"p\","
		  "\"model\":\"unknown\",\"input_length\":6,\"output_length\":1,"
		  "\"hash_ids\":[0,3],\"not_before_ms\":0.0}\n"
		  "{\"request_id\":\"k1\",\"play_id\":\"p\",\"session_id\":\"k\","
		  "\"model\":\"unknown\",\"input_length\":4,\"output_length\":1,\"hash_ids\":[2],"
		  "\"not_before_ms\":10.0,\"dependencies\":[{\"request_id\":\"p1\","
		  "\"trigger\":\"dispatch\",\"delay_ms\":10.0,\"relation\":\"spawn\"}]}\n"
		  "{\"request_id\":\"p2\",\"play_id\":\"p\",\"session_id\":\"p\","
		  "\"model\":\"unknown\",\"input_length\":6,\"output_length\":1,"
		  "\"hash_ids\":[0,5],\"not_before_ms\":200.0,\"dependencies\":["
		  "{\"request_id\":\"k1\",\"trigger\":\"completion\",\"delay_ms\":180.0,"
		  "\"relation\":\"join\"},"
		  "{\"request_id\":\"p1\",\"trigger\":\"completion\",\"delay_ms\":100.0,"
		  "\"relation\":\"sequence\"}]}\n");
}
END_TEST

START_TEST(version_2_joins_what_blocks_and_judges_cycles_on_its_own_edges)
{
	static const char consumed[] = SHORT("p1", 0, 10, IN("p"))
		SHORT("k1", 12, 50, BELOW("k", "p")) SHORT("p2", 20, 30, IN("p"));
	char text[4000];

	/* In the background: no join, though version 1 waits for it. */
	snprintf(text, sizeof(text), "%s%s", consumed,
		 TOOL("t", 11, 15, IN("p"),
		      CLAUDE("p1", "background",
			     ",\"consumer_request_id\":\"p2\",\"child_session_id\":\"k\"")));
	run_load(text);
	replay_close(TAKE(replay));
	open_as(VERSION2);
	read_rows();
	ck_assert_ptr_null(strstr(rows.data, "\"join\""));
	open_as(OWN);
	read_rows();
	ck_assert_ptr_nonnull(strstr(rows.data, "\"wait_for\":[\"p1\",\"k1\"]"));
	/* k is started by p2 and consumed by p2: a cycle, but none without the join. */
	snprintf(text, sizeof(text), "%s%s", consumed,
		 TOOL("t", 11, 15, IN("p"),
		      CLAUDE("p2", "background",
			     ",\"consumer_request_id\":\"p2\",\"child_session_id\":\"k\"")));
	run_load(text);
	fails(&(struct replay_options){0}, "dependency_cycle");
	open_as(VERSION2);
	snprintf(text, sizeof(text), "%s%s", consumed,
		 TOOL("t", 11, 15, IN("p"),
		      CLAUDE("p2", "blocking",
			     ",\"consumer_request_id\":\"p2\",\"child_session_id\":\"k\"")));
	run_load(text);
	fails(VERSION2, "dependency_cycle");
}
END_TEST

START_TEST(sessions_that_are_each_others_parents_have_no_play)
{
	/* Version 1 has rows: a1 waits for b1 only. */
	run_load(SHORT("b1", 0, 10, BELOW("b", "a")) SHORT("a1", 10, 20, BELOW("a", "b")));
	fails(VERSION2, "parent_cycle");
	open_as(OWN);
	/* An unknown parent is no root; a session below a ring is told too. */
	run_load(SHORT("c1", 0, 10, BELOW("c", "b")) SHORT("b1", 20, 30, BELOW("b", "a"))
			 SHORT("a1", 40, 50, BELOW("a", "b")));
	fails(VERSION2, "parent_cycle");
	run_load(SHORT("c1", 0, 10, BELOW("c", "away")) SHORT("d1", 20, 30, BELOW("d", "c")));
	open_as(VERSION2);
	read_rows();
	ck_assert_ptr_nonnull(strstr(rows.data, "\"d1\",\"play_id\":\"c\",\"session_id\":\"d\""));
}
END_TEST

/* ---- modes, rows left out ---- */

START_TEST(a_run_with_sessions_can_be_lowered_without_them)
{
	run_load(SHORT("a", 5, 9, IN("s")) SHORT("b", 7, 9, ""));
	fails(&(struct replay_options){0}, "mixed_agent_context");
	fails(AGENTIC, "mixed_agent_context");
	fails(VERSION2, "mixed_agent_context");
	lowers_to(STANDARD,
		  "{\"input_length\":4,\"output_length\":1,\"hash_ids\":[0],\"timestamp\":0.0}\n"
		  "{\"input_length\":4,\"output_length\":1,\"hash_ids\":[0],\"timestamp\":2.0}\n");
	run_load(SHORT("a", 5, 9, "") REQUEST("b", 7, 9, "", 1, 8, 8, "[1]"));
	fails(AGENTIC, "not_agentic");
	fails(VERSION2, "not_agentic");
	fails(STANDARD, "mixed_block_size");
	/* Wrong causality does not matter without sessions. */
	run_load(SHORT("s1", 10, 20, BELOW("s", "s")));
	fails(AGENTIC, "dependency_cycle");
	open_as(STANDARD);
	ck_assert_int_eq(replay_facts(replay)->mode, REPLAY_STANDARD);
}
END_TEST

START_TEST(rows_without_prompt_can_be_left_out_and_nothing_names_them)
{
	run_load(SHORT("a", 0, 1, "") EMPTY("b", 2, 3, "") SHORT("c", 5, 6, ""));
	lowers_to(REPLAYABLE,
		  "{\"input_length\":4,\"output_length\":1,\"hash_ids\":[0],\"timestamp\":0.0}\n"
		  "{\"input_length\":4,\"output_length\":1,\"hash_ids\":[0],\"timestamp\":5.0}\n");
	ck_assert_uint_eq(replay_facts(replay)->rows, 2);
	ck_assert_uint_eq(replay_facts(replay)->unreplayable_rows, 1);
	/* p2 is left out: p3 waits for p1 in its place; k, which p2 starts, for p1 too; and the
	 * first of k being left out, its second takes over what it waits for. */
	run_load(SHORT("p1", 0, 10, IN("p")) EMPTY("p2", 20, 30, IN("p"))
			 SHORT("p3", 100, 110, IN("p")) EMPTY("k1", 25, 35, BELOW("k", "p"))
				 SHORT("k2", 40, 50, BELOW("k", "p")));
	lowers_to(REPLAYABLE,
		  "{\"request_id\":\"p1\",\"session_id\":\"p\",\"input_length\":4,"
		  "\"output_length\":1,\"hash_ids\":[0],\"timestamp\":0.0,"
		  "\"request_kind\":\"foreground\",\"branches\":[\"k2\"],\"prefix_reset\":true}\n"
		  "{\"request_id\":\"k2\",\"session_id\":\"k\",\"input_length\":4,"
		  "\"output_length\":1,\"hash_ids\":[0],\"timestamp\":40.0,\"delay\":30.0,"
		  "\"request_kind\":\"agent\",\"wait_for\":[\"p1\"],\"prefix_reset\":true}\n"
		  "{\"request_id\":\"p3\",\"session_id\":\"p\",\"input_length\":4,"
		  "\"output_length\":1,\"hash_ids\":[0],\"timestamp\":100.0,\"delay\":50.0,"
		  "\"request_kind\":\"foreground\",\"wait_for\":[\"p1\",\"k2\"],"
		  "\"prefix_reset\":false}\n");
	replay_close(TAKE(replay));
	ck_assert_int_eq(
		replay_open_as(runfile_db(file),
			       &(struct replay_options){.version2 = true, .replayable = true},
			       &replay, &err),
		0);
	read_rows();
	ck_assert_ptr_nonnull(strstr(rows.data, "\"digest\":\"requests:3\""));
	ck_assert_ptr_null(strstr(rows.data, "\"p2\""));
	ck_assert_ptr_null(strstr(rows.data, "\"k1\""));
	ck_assert_ptr_nonnull(strstr(rows.data, "\"not_before_ms\":40.0,\"dependencies\":["
						"{\"request_id\":\"p1\",\"trigger\":"
						"\"completion\",\"delay_ms\":30.0,"
						"\"relation\":\"spawn\"}]"));
}
END_TEST

/* ---- graph ---- */

static uint64_t graph(const char *session, uint64_t max)
{
	struct json_writer w;
	uint64_t total;

	replay_close(TAKE(replay));
	ck_assert_msg(replay_open_as(runfile_db(file), &(struct replay_options){.graph = true},
				     &replay, &err) == 0,
		      "%s", err.message);
	buf_clear(&rows);
	jw_init(&w, &rows, JSON_NUMBERS_DEFAULT);
	jw_open_object(&w);
	ck_assert_int_eq(replay_graph(replay, ts_str_c(session), max, &w, &total, &err), 0);
	jw_close_object(&w);
	return total;
}

START_TEST(the_graph_tells_relations_and_what_is_only_inferred)
{
	const char *edges;

	run_load(SHORT("p1", 0, 10, IN("p")) SHORT("k1", 12, 20, BELOW("k", "p"))
			 SHORT("p2", 30, 40, IN("p")) SHORT("m1", 32, 35, BELOW("m", "k"))
				 TOOL("t", 11, 15, IN("p"),
				      CLAUDE("p1", "blocking",
					     ",\"consumer_request_id\":\"p2\","
					     "\"child_session_id\":\"k\"")));
	ck_assert_uint_eq(graph(NULL, 2000), 4);
	edges = strstr(rows.data, "\"edges\"");
	ck_assert_str_eq(
		edges, "\"edges\":["
		       "{\"from\":\"p1\",\"to\":\"k1\",\"relation\":\"spawn\",\"inferred\":false},"
		       "{\"from\":\"p1\",\"to\":\"p2\",\"relation\":\"sequence\","
		       "\"inferred\":false},"
		       "{\"from\":\"k1\",\"to\":\"p2\",\"relation\":\"join\",\"inferred\":false},"
		       "{\"from\":\"k1\",\"to\":\"m1\",\"relation\":\"spawn\",\"inferred\":true}],"
		       "\"truncated\":false,\"total\":4}");
	/* A session and what lies below it. */
	ck_assert_uint_eq(graph("k", 2000), 2);
	ck_assert_ptr_null(strstr(rows.data, "\"p1\""));
	ck_assert_ptr_nonnull(strstr(rows.data, "\"to\":\"m1\""));
	ck_assert_uint_eq(graph("none", 2000), 0);
	/* Edges have both their ends among the nodes. */
	ck_assert_uint_eq(graph(NULL, 2), 4);
	ck_assert_ptr_nonnull(strstr(rows.data, "\"truncated\":true,\"total\":4"));
	ck_assert_ptr_null(strstr(rows.data, "\"p2\""));
	run_load(SHORT("a", 0, 1, "") SHORT("b", 2, 3, ""));
	ck_assert_uint_eq(graph(NULL, 2000), 2);
	ck_assert_ptr_nonnull(strstr(rows.data, "\"edges\":[]"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("replay-forms");
	TCase *t = tcase_create("replay-forms");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_set_timeout(t, 300);
	tcase_add_checked_fixture(t, NULL, run_end);
	tcase_add_test(t, corpus_gives_its_rows_of_version_2);
	tcase_add_test(t, version_2_dispatches_names_models_and_keeps_partial_blocks_apart);
	tcase_add_test(t, version_2_joins_what_blocks_and_judges_cycles_on_its_own_edges);
	tcase_add_test(t, sessions_that_are_each_others_parents_have_no_play);
	tcase_add_test(t, a_run_with_sessions_can_be_lowered_without_them);
	tcase_add_test(t, rows_without_prompt_can_be_left_out_and_nothing_names_them);
	tcase_add_test(t, the_graph_tells_relations_and_what_is_only_inferred);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
