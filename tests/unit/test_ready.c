/* test_ready.c: names of drops and segments, looks, and each row of the table that says when a drop
 * is finished (http-api.md 6), on real folders but without a watcher or a clock */
#include "spool_folder.h"

#define SETTLE 2000
#define IDLE 900000

/* ---- names ---- */

static const struct {
	const char *name;
	enum spool_name kind;
} name_cases[] = {
	{"a.jsonl", NAME_DROP_FILE},
	{"a.jsonl.gz", NAME_DROP_FILE},
	{"a b\x01\xff.jsonl", NAME_DROP_FILE},
	{"a.000001.jsonl.gz", NAME_DROP_FILE},
	{".a.jsonl", NAME_IGNORED},
	{".jsonl", NAME_IGNORED},
	{"a.json", NAME_IGNORED},
	{"a.gz", NAME_IGNORED},
	{"a.JSONL", NAME_IGNORED},
	{"folder", NAME_IGNORED},
	{"a.jsonl.tmp", NAME_UNFINISHED},
	{"a.jsonl.part", NAME_UNFINISHED},
	{"a.jsonl.partial", NAME_UNFINISHED},
	{"a.000000.jsonl.lock", NAME_UNFINISHED},
	{"a.jsonl.swp", NAME_UNFINISHED},
	{"a.jsonl~", NAME_UNFINISHED},
	{".a.jsonl.tmp", NAME_UNFINISHED},
};

START_TEST(names_say_what_is_a_drop)
{
	ck_assert_int_eq(spool_classify_name(name_cases[_i].name), name_cases[_i].kind);
}
END_TEST

static const struct {
	const char *name, *prefix; /* prefix NULL: not a segment */
	uint64_t number;
} segment_cases[] = {
	{"trace.000000.jsonl.gz", "trace", 0},
	{"trace.000012.jsonl.gz", "trace", 12},
	{"trace.1000000.jsonl.gz", "trace", 1000000},
	{"a.b.123456.jsonl.gz", "a.b", 123456},
	{"x.9223372036854775807.jsonl.gz", "x", 9223372036854775807u},
	{"x.9223372036854775808.jsonl.gz", NULL, 0},
	{"x.99999999999999999999999.jsonl.gz", NULL, 0},
	{"trace.00001.jsonl.gz", NULL, 0},
	{"trace000001.jsonl.gz", NULL, 0},
	{"000001.jsonl.gz", NULL, 0},
	{"trace.00000a.jsonl.gz", NULL, 0},
	{"trace.000001.jsonl", NULL, 0},
	{"trace.jsonl.gz", NULL, 0},
};

START_TEST(segments_have_a_dot_and_six_digits_or_more)
{
	struct ts_str prefix = {0};
	uint64_t number = 77;
	bool is = spool_segment(segment_cases[_i].name, &prefix, &number);

	ck_assert_int_eq(is, segment_cases[_i].prefix != NULL);
	if (is) {
		ck_assert(ts_str_is(prefix, segment_cases[_i].prefix));
		ck_assert_uint_eq(number, segment_cases[_i].number);
	} else {
		ck_assert_uint_eq(number, 77);
	}
}
END_TEST

/* ---- the rules, on looks made by hand ---- */

static struct spool_look look_at(int64_t ms)
{
	return (struct spool_look){.dev = 1, .ino = 2, .size = 3, .mtime_ns = 4, .at_ms = ms};
}

static bool judged(const struct spool_look *first, const struct spool_look *now, bool proof)
{
	struct ready_view view = {
		.first = first, .now = now, .settle_ms = SETTLE, .idle_ms = IDLE, .proof = proof};

	return ready_judge(&view) == READY_YES;
}

START_TEST(what_was_renamed_in_is_finished_at_once)
{
	struct spool_look now = look_at(5);
	struct ready_view view = {.first = &now,
				  .now = &now,
				  .settle_ms = SETTLE,
				  .idle_ms = IDLE,
				  .renamed_in = true};

	ck_assert_int_eq(ready_judge(&view), READY_YES);
	now.size = 0;
	ck_assert_int_eq(ready_judge(&view), READY_YES);
	now.folder = true;
	ck_assert_int_eq(ready_judge(&view), READY_YES);
}
END_TEST

START_TEST(in_place_it_needs_rest_and_proof)
{
	struct spool_look first = look_at(1000), early = look_at(2999), late = look_at(3000);

	ck_assert(!judged(&first, &early, true));
	ck_assert(judged(&first, &late, true));
	ck_assert(!judged(&first, &late, false));
}
END_TEST

START_TEST(without_proof_it_is_taken_when_idle_long_enough)
{
	struct spool_look first = look_at(1000), early = look_at(1000 + IDLE - 1),
			  late = look_at(1000 + IDLE);

	ck_assert(!judged(&first, &early, false));
	ck_assert(judged(&first, &late, false));
}
END_TEST

START_TEST(an_empty_file_is_not_at_rest_but_can_be_idle)
{
	struct spool_look first = look_at(0), rested = look_at(SETTLE), idle = look_at(IDLE);

	first.size = rested.size = idle.size = 0;
	ck_assert(!judged(&first, &rested, true));
	ck_assert(judged(&first, &idle, true));
}
END_TEST

START_TEST(any_change_between_the_looks_counts)
{
	for (int field = 0; field < 6; field++) {
		struct spool_look first = look_at(0), now = look_at(IDLE);

		ck_assert(ready_same(&first, &now));
		switch (field) {
		case 0:
			now.dev++;
			break;
		case 1:
			now.ino++;
			break;
		case 2:
			now.size++;
			break;
		case 3:
			now.mtime_ns++;
			break;
		case 4:
			now.entries++;
			break;
		default:
			now.folder = true;
		}
		ck_assert(!ready_same(&first, &now));
		ck_assert(!judged(&first, &now, true));
	}
}
END_TEST

/* ---- looks and proofs on real entries ---- */

static struct spool_look look(const char *name)
{
	struct spool_look now;

	ck_assert_int_eq(ready_look(AT_FDCWD, at("%s", name), &now, NULL), 0);
	return now;
}

START_TEST(a_look_shows_size_time_and_inode_of_a_file)
{
	struct timespec times[2] = {{7, 8}, {1700000000, 123456789}};
	struct spool_look now;
	struct stat st, ret_st;

	write_file(at("f.jsonl"), "hello");
	ck_assert_int_eq(utimensat(AT_FDCWD, at("f.jsonl"), times, 0), 0);
	ck_assert_int_eq(stat(at("f.jsonl"), &st), 0);
	ck_assert_int_eq(ready_look(AT_FDCWD, at("f.jsonl"), &now, &ret_st), 0);
	ck_assert_uint_eq(now.size, 5);
	ck_assert_int_eq(now.mtime_ns, 1700000000123456789);
	ck_assert_uint_eq(now.ino, st.st_ino);
	ck_assert_uint_eq(ret_st.st_ino, st.st_ino);
	ck_assert(!now.folder && !now.special);
	ck_assert_int_eq(ready_look(AT_FDCWD, at("none"), &now, NULL), -1);
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

START_TEST(a_look_at_a_folder_shows_any_change_in_it)
{
	struct spool_look before, after;

	ck_assert_int_eq(mkdir(at("d"), 0755), 0);
	ck_assert_uint_eq(look("d").size, 0);
	write_file(at("d/a.jsonl"), "12345");
	write_file(at("d/b.jsonl.gz"), "123");
	write_file(at("d/x.lock"), "");
	before = look("d");
	ck_assert(before.folder);
	ck_assert_uint_eq(before.size, 3); /* of the smallest shard; the lock is none */
	after = look("d");
	ck_assert(ready_same(&before, &after));

	append_file(at("d/a.jsonl"), "6");
	after = look("d");
	ck_assert(!ready_same(&before, &after));
	before = after;
	ck_assert_int_eq(rename(at("d/x.lock"), at("d/y.lock")), 0);
	after = look("d");
	ck_assert(!ready_same(&before, &after));
	write_file(at("d/c.jsonl"), "");
	ck_assert_uint_eq(look("d").size, 0);
}
END_TEST

struct answer {
	bool complete;
	int calls;
	char name[64], text[64];
};

static bool answer(void *arg, int fd, const char *name, const struct spool_pulse *pulse)
{
	struct answer *a = arg;
	(void)pulse;
	ssize_t n = read(fd, a->text, sizeof(a->text) - 1);

	a->calls++;
	a->text[n < 0 ? 0 : n] = 0;
	snprintf(a->name, sizeof(a->name), "%s", name);
	return a->complete;
}

static enum spool_proof proof_of(const char *name, bool folder, bool higher, struct answer *a)
{
	struct spool_content content = {.complete = answer, .arg = a};
	int fd = open(folder_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum spool_proof proof = ready_proof(fd, name, folder, higher, a ? &content : NULL, NULL);

	close(fd);
	return proof;
}

START_TEST(the_content_of_a_file_proves_its_end)
{
	struct answer a = {.complete = true};

	write_file(at("f.jsonl"), "text");
	ck_assert_int_eq(proof_of("f.jsonl", false, false, &a), PROOF_COMPLETE);
	ck_assert_str_eq(a.name, "f.jsonl");
	ck_assert_str_eq(a.text, "text");
	a.complete = false;
	ck_assert_int_eq(proof_of("f.jsonl", false, false, &a), PROOF_NONE);
	ck_assert_int_eq(proof_of("f.jsonl", false, true, &a), PROOF_NONE);
	ck_assert_int_eq(proof_of("f.jsonl", false, false, NULL), PROOF_NONE);
	ck_assert_int_eq(proof_of("gone.jsonl", false, false, &a), PROOF_UNREAD);
	ck_assert_int_eq(a.calls, 3);
}
END_TEST

START_TEST(a_segment_is_proved_by_a_higher_number_only)
{
	struct answer a = {.complete = true};

	write_file(at("p.000001.jsonl.gz"), "x");
	ck_assert_int_eq(proof_of("p.000001.jsonl.gz", false, false, &a), PROOF_NONE);
	ck_assert_int_eq(proof_of("p.000001.jsonl.gz", false, true, &a), PROOF_COMPLETE);
	ck_assert_int_eq(a.calls, 0);
}
END_TEST

START_TEST(a_folder_is_proved_by_a_shard_and_no_unfinished_name_but_lock)
{
	ck_assert_int_eq(mkdir(at("d"), 0755), 0);
	ck_assert_int_eq(proof_of("d", true, false, NULL), PROOF_NONE);
	write_file(at("d/notes.txt"), "x");
	ck_assert_int_eq(proof_of("d", true, false, NULL), PROOF_NONE);
	write_file(at("d/a.jsonl"), "x");
	ck_assert_int_eq(proof_of("d", true, false, NULL), PROOF_COMPLETE);
	write_file(at("d/a.000000.jsonl.lock"), "");
	ck_assert_int_eq(proof_of("d", true, false, NULL), PROOF_COMPLETE);
	write_file(at("d/b.jsonl.part"), "x");
	ck_assert_int_eq(proof_of("d", true, false, NULL), PROOF_NONE);
	ck_assert_int_eq(rename(at("d/b.jsonl.part"), at("d/b.jsonl")), 0);
	ck_assert_int_eq(proof_of("d", true, false, NULL), PROOF_COMPLETE);
	write_file(at("d/c.jsonl"), "");
	ck_assert_int_eq(proof_of("d", true, false, NULL), PROOF_NONE);
}
END_TEST

START_TEST(links_and_pipes_are_not_waited_for)
{
	struct answer a = {0};

	ck_assert_int_eq(symlink("/nowhere", at("l.jsonl")), 0);
	ck_assert_int_eq(mkfifo(at("p.jsonl"), 0644), 0);
	ck_assert_int_eq(proof_of("l.jsonl", false, false, &a), PROOF_COMPLETE);
	ck_assert_int_eq(proof_of("p.jsonl", false, false, &a), PROOF_COMPLETE);
	ck_assert_int_eq(a.calls, 0);
	ck_assert(look("p.jsonl").special);
	ck_assert_uint_eq(look("p.jsonl").size, 1);
	ck_assert(look("l.jsonl").special);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ready");
	TCase *t = tcase_create("ready");

	tcase_add_checked_fixture(t, folder_init, folder_done);
	tcase_add_loop_test(t, names_say_what_is_a_drop, 0, ARRAY_LEN(name_cases));
	tcase_add_loop_test(t, segments_have_a_dot_and_six_digits_or_more, 0,
			    ARRAY_LEN(segment_cases));
	tcase_add_test(t, what_was_renamed_in_is_finished_at_once);
	tcase_add_test(t, in_place_it_needs_rest_and_proof);
	tcase_add_test(t, without_proof_it_is_taken_when_idle_long_enough);
	tcase_add_test(t, an_empty_file_is_not_at_rest_but_can_be_idle);
	tcase_add_test(t, any_change_between_the_looks_counts);
	tcase_add_test(t, a_look_shows_size_time_and_inode_of_a_file);
	tcase_add_test(t, a_look_at_a_folder_shows_any_change_in_it);
	tcase_add_test(t, the_content_of_a_file_proves_its_end);
	tcase_add_test(t, a_segment_is_proved_by_a_higher_number_only);
	tcase_add_test(t, a_folder_is_proved_by_a_shard_and_no_unfinished_name_but_lock);
	tcase_add_test(t, links_and_pipes_are_not_waited_for);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
