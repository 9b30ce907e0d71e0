/* test_replay_stored.c: rows that the run file has: the same as those found, which forms come from
 * them, files without or with damaged ones, rows as bytes, and what is told of each row
 */
#include "request_text.h"

#include "../../src/replay/lower.h"
#include "../../src/store/db.h"

#define OWN (&(struct replay_options){0})
#define VERSION2 (&(struct replay_options){.version2 = true})
#define STANDARD (&(struct replay_options){.want = REPLAY_AS_STANDARD})
#define AGENTIC (&(struct replay_options){.want = REPLAY_AS_AGENTIC})
#define REPLAYABLE (&(struct replay_options){.replayable = true})
#define STANDARD_REPLAYABLE                                                                        \
	(&(struct replay_options){.want = REPLAY_AS_STANDARD, .replayable = true})

/* What was told of the rows, as text. */
static struct buf notes = BUF_INIT;

static int take_note(void *arg, const struct replay_note *note, struct ts_error *e)
{
	(void)arg;
	(void)e;
	buf_printf(&notes, "%.*s %g %llu %llu/%llu %llu\n", (int)note->session.n,
		   note->session.p ? note->session.p : "", note->tool_wait_ms,
		   (unsigned long long)note->input_length, (unsigned long long)note->known_blocks,
		   (unsigned long long)note->blocks, (unsigned long long)note->unique_blocks);
	return 0;
}

static void store(void)
{
	buf_clear(&notes);
	replay_close(TAKE(replay));
	ck_assert_msg(replay_open(runfile_db(file), &replay, &err) == 0, "%s", err.message);
	ck_assert_msg(replay_store(replay, take_note, NULL, &err) == 0, "%s", err.message);
	replay_close(TAKE(replay));
}

static int open_as(const struct replay_options *options)
{
	replay_close(TAKE(replay));
	ts_error_init(&err);
	return replay_open_as(runfile_db(file), options, &replay, &err);
}

static void read_as(const struct replay_options *options)
{
	ck_assert_msg(open_as(options) == 0, "%s", err.message);
	read_rows();
}

static void change(const char *sql)
{
	replay_close(TAKE(replay));
	ck_assert_msg(db_exec(runfile_db(file), sql, &err) == 0, "%s", err.message);
}

/* ---- the same rows ---- */

/* Rows and facts of a form before and after the rows are stored. */
struct form {
	const struct replay_options *options;
	struct buf rows;
	struct replay_facts facts;
	const char *code; /* of the error, or NULL */
};

static void read_form(struct form *f)
{
	buf_init(&f->rows, SIZE_MAX);
	f->code = NULL;
	if (open_as(f->options) < 0) {
		f->code = err.code->code;
		return;
	}
	f->facts = *replay_facts(replay);
	read_rows();
	buf_add(&f->rows, rows.data ? rows.data : "", rows.len);
}

static void assert_same_form(const struct form *a, const struct form *b, const char *place,
			     unsigned number)
{
	ck_assert_msg(!a->code == !b->code && (!a->code || strcmp(a->code, b->code) == 0),
		      "%s, form %u: %s, then %s", place, number, a->code, b->code);
	if (a->code)
		return;
	ck_assert_msg(strcmp(a->rows.data, b->rows.data) == 0, "%s, form %u: %s\n%s", place, number,
		      a->rows.data, b->rows.data);
	ck_assert_uint_eq(a->facts.mode, b->facts.mode);
	ck_assert_uint_eq(a->facts.version, b->facts.version);
	ck_assert_uint_eq(a->facts.trace_block_size, b->facts.trace_block_size);
	ck_assert_uint_eq(a->facts.rows, b->facts.rows);
	ck_assert_uint_eq(a->facts.unreplayable_rows, b->facts.unreplayable_rows);
}

/* Whether each form of the run at hand is the same once the rows are stored. */
static void compare_forms(const char *place)
{
	struct form before[] = {{.options = OWN},      {.options = STANDARD},
				{.options = AGENTIC},  {.options = REPLAYABLE},
				{.options = VERSION2}, {.options = STANDARD_REPLAYABLE}};
	struct form after;

	for (unsigned k = 0; k < ARRAY_LEN(before); k++)
		read_form(&before[k]);
	store();
	for (unsigned k = 0; k < ARRAY_LEN(before); k++) {
		after = (struct form){.options = before[k].options};
		read_form(&after);
		assert_same_form(&before[k], &after, place, k);
		buf_done(&before[k].rows);
		buf_done(&after.rows);
	}
}

static void run_case(const struct request_case *c)
{
	if (tree_get(c->want, "ok")->type != JSON_TRUE)
		return;
	run_begin();
	ck_assert_int_eq(case_load(c, runfile_sink(file), &counts, &err), 0);
	ck_assert_int_eq(runfile_flush(file, &err), 0);
	compare_forms(c->place);
}

START_TEST(every_run_of_the_corpus_gives_the_same_rows_once_they_are_stored)
{
	if (!corpus_each(run_case))
		printf("test_replay_stored: corpus absent, its cases are skipped\n");
}
END_TEST

static const char two_sessions[] = REQUEST("q1", 1000, 1100, IN("main"), 3, 4, 6, "[9,7]")
	TOOL("t1", 1120, 1250, IN("main"), "")
		REQUEST("k1", 1120, 1300, BELOW("kid", "main"), 1, 4, 4, "[99]")
			EMPTY("e1", 1350, 1360, IN("main"))
				REQUEST("q2", 1400, 1500, IN("main"), 2, 4, 8, "[9,8]");

START_TEST(forms_with_sessions_tools_and_empty_prompts_are_the_same)
{
	run_load(two_sessions);
	compare_forms("two sessions");
	run_load(REQUEST("a", 5, 9, , 0, 18446744073709551615, 18446744073709551615, "[7]"));
	compare_forms("largest numbers");
	run_load(EMPTY("a", 0, 1, ) EMPTY("b", 0, 1, ));
	compare_forms("no prompts");
}
END_TEST

#define COMPLETED(id, start, output, length, hashes, completion)                                   \
	EVENT("request_end", start, ,                                                              \
	      "\"request\":{\"request_id\":\"" id "\",\"request_received_ms\":" #start             \
	      ",\"output_tokens\":" #output ",\"replay\":{\"trace_block_size\":4,"                 \
	      "\"input_length\":" #length ",\"input_sequence_hashes\":" hashes                     \
	      ",\"completion_sequence_hashes\":" completion "}}")

START_TEST(rows_with_completions_are_the_same)
{
	/* One that ends inside the prompt's last block, one that begins a block, one without
	 * output, one without prompt. */
	run_load(COMPLETED("a", 0, 6, 6, "[1,2]", "[1,3,4]") COMPLETED(
		"b", 1, 5, 4, "[1]", "[1,5,6]") COMPLETED("c", 2, 0, 6, "[1,2]", "[1,2]")
			 COMPLETED("d", 3, 2, 0, "[]", "[8]") COMPLETED("e", 4, 0, 0, "[]", "[]"));
	compare_forms("completions");
	read_as(OWN);
	/* By hand: inputs 1 and 2 are 0 and 1, then completions 3, 4, 5, 6, 8 are 2 to 6. */
	ck_assert_str_eq(
		rows.data,
		"{\"input_length\":6,\"output_length\":6,\"output_token_ids\":[2,2,3,3,3,3],"
		"\"hash_ids\":[0,2],\"timestamp\":0.0}\n"
		"{\"input_length\":4,\"output_length\":5,\"output_token_ids\":[4,4,4,4,5],"
		"\"hash_ids\":[0],\"timestamp\":1.0}\n"
		"{\"input_length\":6,\"output_length\":0,\"output_token_ids\":[],"
		"\"hash_ids\":[0,1],\"timestamp\":2.0}\n"
		"{\"input_length\":0,\"output_length\":2,\"output_token_ids\":[6,6],"
		"\"hash_ids\":[],\"timestamp\":3.0}\n"
		"{\"input_length\":0,\"output_length\":0,\"output_token_ids\":[],"
		"\"hash_ids\":[],\"timestamp\":4.0}\n");
}
END_TEST

/* ---- where rows come from ---- */

START_TEST(stored_rows_are_read_from_their_table_alone)
{
	run_load(two_sessions);
	read_as(OWN);
	struct buf want = rows;

	rows = (struct buf)BUF_INIT;
	store();
	change("delete from request_hash_rows");
	read_as(OWN);
	ck_assert_str_eq(rows.data, want.data);
	buf_done(&want);
	/* Standard rows need no other table at all. */
	change("delete from request_rows; delete from tool_rows");
	read_as(STANDARD);
	ck_assert_str_eq(rows.data, "{\"input_length\":6,\"output_length\":3,\"hash_ids\":[0,1],"
				    "\"timestamp\":0.0}\n"
				    "{\"input_length\":4,\"output_length\":1,\"hash_ids\":[2],"
				    "\"timestamp\":120.0}\n"
				    "{\"input_length\":0,\"output_length\":1,\"hash_ids\":[],"
				    "\"timestamp\":350.0}\n"
				    "{\"input_length\":8,\"output_length\":2,\"hash_ids\":[0,3],"
				    "\"timestamp\":400.0}\n");
	read_as(STANDARD_REPLAYABLE);
	ck_assert_ptr_null(strstr(rows.data, "350.0"));
	ck_assert_uint_eq(replay_facts(replay)->rows, 3);
}
END_TEST

START_TEST(a_file_from_before_there_were_stored_rows_is_lowered)
{
	run_load(two_sessions);
	read_as(OWN);
	struct buf want = rows;

	rows = (struct buf)BUF_INIT;
	change("drop table replay_rows; drop table replay_facts");
	read_as(OWN);
	ck_assert_str_eq(rows.data, want.data);
	buf_done(&want);
}
END_TEST

START_TEST(damaged_rows_are_told_and_never_half_written)
{
	static const char *const damages[] = {
		"update replay_rows set row = substr(row, 1, length(row) - 1) where place = 1",
		"update replay_rows set row = row || x'00' where place = 1",
		"update replay_rows set row = x'' where place = 1",
		"update replay_rows set row = null where place = 1",
		/* the length of a run, a number of 11 bytes, unknown flags, a length of 2^63 */
		"update replay_rows set row = x'02000603017f000000' where place = 1",
		"update replay_rows set row = x'02ffffffffffffffffffff7f' where place = 1",
		"update replay_rows set row = x'4000000000' where place = 1",
		"update replay_rows set row = x'020080808080808080808001000000' where place = 1",
		"delete from replay_rows where place = 1; delete from replay_rows where place = 2",
	};

	for (unsigned k = 0; k < ARRAY_LEN(damages); k++) {
		int more;

		run_load(two_sessions);
		store();
		change(damages[k]);
		ck_assert_int_eq(open_as(OWN), 0);
		do
			more = replay_next(replay, &rows, false, &err);
		while (more > 0);
		ck_assert_msg(more < 0 && strcmp(err.code->code, "store_damaged") == 0, "%s",
			      damages[k]);
	}
}
END_TEST

/* ---- notes, bytes ---- */

START_TEST(each_row_is_told_with_its_wait_and_what_of_its_prompt_was_known)
{
	run_load(two_sessions);
	store();
	/* t1 ends at 1250; k1 ends at 1300, and e1 waits for both it and q1: gap 50, none busy.
	 * q2 waits for e1. Of q2's prompt the first block was known. */
	ck_assert_str_eq(notes.data, "main 0 6 0/2 2\n"
				     "kid 0 4 0/1 3\n"
				     "main 0 0 0/0 3\n"
				     "main 0 8 1/2 4\n");
	/* The call runs from 110 to 150 of the time from 100 to 180 that b waits. */
	run_load(SHORT("a", 0, 100, IN("s")) TOOL("t", 110, 150, IN("s"), "")
			 SHORT("b", 180, 190, IN("s")));
	store();
	ck_assert_str_eq(notes.data, "s 0 4 0/1 1\ns 40 4 1/1 1\n");
	/* Known blocks are those in front, whatever follows; a block twice in one prompt is new. */
	run_load(REQUEST("a", 0, 1, , 1, 4, 12, "[5,6,5]")
			 REQUEST("b", 1, 2, , 1, 4, 12, "[5,7,6]"));
	store();
	ck_assert_str_eq(notes.data, " 0 12 0/3 2\n 0 12 1/3 3\n");
}
END_TEST

static void assert_packed(const struct row *row, bool agentic, const char *hex)
{
	CLEAN(buf_done) struct buf bytes = BUF_INIT;
	CLEAN(buf_done) struct buf text = BUF_INIT;
	struct row back = {.no = row->no};

	row_pack(row, agentic, &bytes);
	for (size_t k = 0; k < bytes.len; k++)
		buf_printf(&text, "%02x", (unsigned char)bytes.data[k]);
	ck_assert_str_eq(text.data, hex);
	ts_error_init(&err);
	ck_assert_msg(row_unpack(ts_str(bytes.data, bytes.len), 4, agentic, &back, &err) == 0, "%s",
		      err.message);
	ck_assert_uint_eq(back.offset_ms, row->offset_ms);
	ck_assert_uint_eq(back.gap_ms, row->gap_ms);
	ck_assert_uint_eq(back.busy_ms, row->busy_ms);
	ck_assert_uint_eq(back.kind, row->kind);
	ck_assert_uint_eq(back.ids.n, row->ids.n);
	if (row->ids.n)
		ck_assert_mem_eq(back.ids.v, row->ids.v, row->ids.n * sizeof(*row->ids.v));
	ck_assert_uint_eq(back.waits.n, row->waits.n);
	ck_assert_uint_eq(back.tools.n, row->tools.n);
	row_done(&back);
}

#define NUMBERS(...)                                                                               \
	{                                                                                          \
		.v = (uint32_t[]){__VA_ARGS__}, .n = sizeof((uint32_t[]){__VA_ARGS__}) / 4         \
	}

START_TEST(a_row_is_packed_as_runs_of_ids_and_distances)
{
	/* ids 0 1 2 are a run of 3 from 0: (0 << 1) << 1 | 1, 3. 9 is 6 from 3: 6 << 2. 8 lies 2
	 * before 10: (2 * 2 - 1) << 1. */
	assert_packed(&(struct row){.no = 5,
				    .offset_ms = 300,
				    .input_length = 20,
				    .output_tokens = 1,
				    .ids = NUMBERS(0, 1, 2, 9, 8)},
		      false, "00ac02140101031806");
	/* The largest id, 4294967294: 8589934588 << 1 of 35 bits. */
	assert_packed(&(struct row){.no = 5, .input_length = 4, .ids = NUMBERS(4294967294)}, false,
		      "00000400f8ffffff3f");
	/* flags: background_agent, prefix_reset. waits 4 (1 before 5); gap 200, busy 1; tools 6
	 * and 7; no branches. */
	assert_packed(&(struct row){.no = 5,
				    .kind = KIND_BACKGROUND_AGENT,
				    .prefix_reset = true,
				    .gap_ms = 200,
				    .busy_ms = 1,
				    .waits = NUMBERS(4),
				    .tools = NUMBERS(6, 7)},
		      true, "0a0000000101c8010102020200");
}
END_TEST

static void end(void)
{
	run_end();
	buf_done(&notes);
}

int main(void)
{
	Suite *s = suite_create("replay-stored");
	TCase *t = tcase_create("replay-stored");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, NULL, end);
	tcase_add_test(t, every_run_of_the_corpus_gives_the_same_rows_once_they_are_stored);
	tcase_add_test(t, forms_with_sessions_tools_and_empty_prompts_are_the_same);
	tcase_add_test(t, rows_with_completions_are_the_same);
	tcase_add_test(t, stored_rows_are_read_from_their_table_alone);
	tcase_add_test(t, a_file_from_before_there_were_stored_rows_is_lowered);
	tcase_add_test(t, damaged_rows_are_told_and_never_half_written);
	tcase_add_test(t, each_row_is_told_with_its_wait_and_what_of_its_prompt_was_known);
	tcase_add_test(t, a_row_is_packed_as_runs_of_ids_and_distances);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
