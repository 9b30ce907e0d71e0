/* test_spool_claims.c: claims, what they refuse and what they put back, on real folders */
#include "spool_folder.h"

static struct spool *sp;
static struct ts_error err;
static struct claim c;

static void setup(void)
{
	umask(022);
	folder_init();
	ts_error_init(&err);
	c = (struct claim){.fd = -1};
	sp = open_spool();
}

static void teardown(void)
{
	claim_done(&c);
	spool_close(sp);
	folder_done();
}

static int claim(const char *name)
{
	return spool_claim(sp, name, 3, &c, &err);
}

static void assert_code(enum ts_code_id id)
{
	ck_assert_msg(ts_error_is(&err, id), "code is %s: %s", err.code ? err.code->code : "none",
		      err.message);
}

START_TEST(a_claim_moves_the_file_and_opens_it)
{
	char text[8] = "";
	int fd = -1;

	write_file(at("spool/a b\x01\xff.jsonl"), "text");
	ck_assert_int_eq(claim("a b\x01\xff.jsonl"), 1);
	ck_assert(!exists(at("spool/a b\x01\xff.jsonl")));
	ck_assert(exists(at("spool/.active/a b\x01\xff.jsonl")));
	ck_assert_str_eq(c.name, "a b\x01\xff.jsonl");
	ck_assert(!c.folder);
	ck_assert_int_eq(c.st.st_size, 4);
	ck_assert_int_gt((long)strlen(c.owner), 0);
	if (geteuid() == 0)
		ck_assert_str_eq(c.owner, "root");
	for (int i = 0; i < 2; i++) { /* from the start each time */
		ck_assert_int_eq(spool_open_shard(&c, 0, &fd, &err), 0);
		ck_assert_int_eq(read(fd, text, sizeof(text)), 4);
		close(fd);
	}
	ck_assert_str_eq(text, "text");
	ck_assert(spool_unchanged(&c));
	append_file(at("spool/.active/a b\x01\xff.jsonl"), "!");
	ck_assert(!spool_unchanged(&c));
}
END_TEST

START_TEST(an_account_without_a_name_shows_its_number)
{
	if (geteuid() != 0)
		return; /* only root can give files away */
	write_file(at("spool/a.jsonl"), "x");
	ck_assert_int_eq(chown(at("spool/a.jsonl"), 3999999999u, (gid_t)-1), 0);
	ck_assert_int_eq(claim("a.jsonl"), 1);
	ck_assert_str_eq(c.owner, "uid:3999999999");
}
END_TEST

START_TEST(what_is_gone_or_no_drop_name_is_no_claim)
{
	write_file(at("outside.jsonl"), "x");
	ck_assert_int_eq(claim("a.jsonl"), 0);
	ck_assert_int_eq(claim(".archive"), 0);
	ck_assert_int_eq(claim("../outside.jsonl"), 0);
	ck_assert_int_eq(claim(""), 0);
	ck_assert_ptr_null(err.code);
	ck_assert(exists(at("outside.jsonl")));
}
END_TEST

START_TEST(a_name_that_is_being_ingested_is_not_claimed)
{
	write_file(at("spool/a.jsonl"), "new");
	write_file(at("spool/.active/a.jsonl"), "old");
	ck_assert_int_eq(claim("a.jsonl"), 0);
	ck_assert_str_eq(text_of(at("spool/a.jsonl")), "new");
	ck_assert_str_eq(text_of(at("spool/.active/a.jsonl")), "old");
}
END_TEST

/* A refused drop stays in .active/, from where it goes to quarantine. */
static void assert_refused(const char *name, enum ts_code_id id)
{
	ck_assert_int_eq(claim(name), -1);
	assert_code(id);
	ck_assert_int_eq(err.code->fate, TS_FATE_REFUSE);
	ck_assert_str_eq(c.name, name);
	ck_assert(!exists(at("spool/%s", name)));
	ck_assert(exists(at("spool/.active/%s", name)));
}

START_TEST(a_symbolic_link_is_refused)
{
	write_file(at("target"), "x");
	ck_assert_int_eq(symlink("../target", at("spool/l.jsonl")), 0);
	assert_refused("l.jsonl", TS_E_NOT_A_REGULAR_FILE);
	ck_assert_int_eq(c.fd, -1);
}
END_TEST

START_TEST(a_pipe_is_refused_without_waiting_for_a_writer)
{
	ck_assert_int_eq(mkfifo(at("spool/p.jsonl"), 0644), 0);
	assert_refused("p.jsonl", TS_E_NOT_A_REGULAR_FILE);
}
END_TEST

START_TEST(a_file_with_a_second_link_is_refused)
{
	write_file(at("spool/h.jsonl"), "x");
	ck_assert_int_eq(link(at("spool/h.jsonl"), at("other")), 0);
	assert_refused("h.jsonl", TS_E_NOT_A_REGULAR_FILE);
	ck_assert_int_eq((long)c.st.st_nlink, 2);
}
END_TEST

static const char *long_name(size_t n)
{
	static char name[300];

	memset(name, 'n', n);
	memcpy(name + n - 6, ".jsonl", 7);
	return name;
}

START_TEST(names_up_to_200_bytes_are_taken)
{
	write_file(at("spool/%s", long_name(200)), "x");
	ck_assert_int_eq(claim(long_name(200)), 1);
}
END_TEST

START_TEST(longer_names_are_refused_and_fit_into_quarantine)
{
	char *path;

	write_file(at("spool/%s", long_name(255)), "x");
	assert_refused(long_name(255), TS_E_BAD_NAME);
	ts_error_init(&err);
	ck_assert_int_eq(spool_quarantine_path(sp, c.name, 7, &path, &err), 0);
	ck_assert_uint_eq(strlen(path), strlen(".quarantine/7-") + 200);
	ck_assert_int_eq(spool_write_report(sp, path, TS_STR("{}"), &err), 0);
	ck_assert_int_eq(spool_move(sp, c.name, path, &err), 0);
	ck_assert_str_eq(text_of(at("spool/%s", path)), "x");
	ck_assert_str_eq(text_of(at("spool/%s.json", path)), "{}");
	free(path);
}
END_TEST

static void make_folder(const char *name)
{
	ck_assert_int_eq(mkdir(at("spool/%s", name), 0755), 0);
}

START_TEST(shards_of_a_folder_come_in_the_order_of_their_numbers)
{
	make_folder("run");
	write_file(at("spool/run/p.1000000.jsonl.gz"), "3");
	write_file(at("spool/run/p.999999.jsonl.gz"), "2");
	write_file(at("spool/run/p.jsonl"), "last");
	write_file(at("spool/run/notes.txt"), "no shard");
	write_file(at("spool/run/p.000000.jsonl.lock"), "");
	ck_assert_int_eq(mkdir(at("spool/run/sub.jsonl"), 0755), 0);
	ck_assert_int_eq(claim("run"), 1);
	ck_assert(c.folder);
	ck_assert_uint_eq(c.shard_count, 3);
	/* "p" is before "p.jsonl"; within "p" the numbers count. */
	ck_assert_str_eq(c.shards[0], "p.999999.jsonl.gz");
	ck_assert_str_eq(c.shards[1], "p.1000000.jsonl.gz");
	ck_assert_str_eq(c.shards[2], "p.jsonl");
	ck_assert_ptr_null(c.shards[3]);

	char text[8] = "";
	int fd;

	ck_assert_int_eq(spool_open_shard(&c, 2, &fd, &err), 0);
	ck_assert_int_eq(read(fd, text, sizeof(text)), 4);
	ck_assert_str_eq(text, "last");
	close(fd);
	ck_assert(spool_unchanged(&c));
	append_file(at("spool/.active/run/p.jsonl"), "!");
	ck_assert(!spool_unchanged(&c));
}
END_TEST

START_TEST(a_new_entry_of_a_folder_is_a_change)
{
	make_folder("run");
	write_file(at("spool/run/a.jsonl"), "x");
	ck_assert_int_eq(claim("run"), 1);
	ck_assert(spool_unchanged(&c));
	write_file(at("spool/.active/run/b.jsonl"), "x");
	ck_assert(!spool_unchanged(&c));
	ck_assert_int_eq(unlink(at("spool/.active/run/b.jsonl")), 0);
	ck_assert(spool_unchanged(&c));
}
END_TEST

START_TEST(a_shard_that_is_a_link_is_refused_by_name)
{
	make_folder("run");
	write_file(at("spool/run/a.jsonl"), "x");
	ck_assert_int_eq(symlink("a.jsonl", at("spool/run/b.jsonl")), 0);
	assert_refused("run", TS_E_NOT_A_REGULAR_FILE);
	ck_assert_str_eq(err.file, "b.jsonl");
}
END_TEST

START_TEST(a_shard_with_a_second_link_is_refused_by_name)
{
	make_folder("run");
	write_file(at("spool/run/a.jsonl"), "x");
	ck_assert_int_eq(link(at("spool/run/a.jsonl"), at("other")), 0);
	assert_refused("run", TS_E_NOT_A_REGULAR_FILE);
	ck_assert_str_eq(err.file, "a.jsonl");
}
END_TEST

START_TEST(a_link_that_is_no_shard_is_left_alone)
{
	make_folder("run");
	write_file(at("spool/run/a.jsonl"), "x");
	ck_assert_int_eq(symlink("a.jsonl", at("spool/run/latest")), 0);
	ck_assert_int_eq(claim("run"), 1);
	ck_assert_uint_eq(c.shard_count, 1);
}
END_TEST

START_TEST(a_folder_without_a_shard_is_empty)
{
	make_folder("run");
	write_file(at("spool/run/readme"), "x");
	assert_refused("run", TS_E_EMPTY_FILE);
}
END_TEST

START_TEST(more_shards_than_the_limit_are_refused)
{
	make_folder("run");
	for (int i = 0; i < 4; i++)
		write_file(at("spool/run/%d.jsonl", i), "x");
	assert_refused("run", TS_E_TOO_MANY_SHARDS);
}
END_TEST

START_TEST(a_shard_that_vanished_means_the_folder_changed)
{
	int fd;

	make_folder("run");
	write_file(at("spool/run/a.jsonl"), "x");
	ck_assert_int_eq(claim("run"), 1);
	ck_assert_int_eq(unlink(at("spool/.active/run/a.jsonl")), 0);
	ck_assert_int_eq(spool_open_shard(&c, 0, &fd, &err), -1);
	assert_code(TS_E_CHANGED_WHILE_READING);
	ck_assert_str_eq(err.file, "a.jsonl");
}
END_TEST

/* As an account that may move the file but not read it. */
static void close_to_the_service(const char *path)
{
	ck_assert_int_eq(chmod(path, 0000), 0);
	if (geteuid() == 0) {
		ck_assert_int_eq(chmod(folder_root, 0755), 0);
		ck_assert_int_eq(chown(at("spool"), 65534, (gid_t)-1), 0);
		ck_assert_int_eq(chown(at("spool/.active"), 65534, (gid_t)-1), 0);
		ck_assert_int_eq(seteuid(65534), 0);
	}
}

static void be_root_again(void)
{
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
}

START_TEST(an_unreadable_file_goes_back_with_the_remedy)
{
	write_file(at("spool/u.jsonl"), "x");
	close_to_the_service(at("spool/u.jsonl"));
	ck_assert_int_eq(claim("u.jsonl"), -1);
	be_root_again();
	assert_code(TS_E_UNREADABLE);
	ck_assert_int_eq(err.sys, EACCES);
	ck_assert_ptr_nonnull(strstr(ts_error_get_hint(&err), "chmod g+r"));
	ck_assert(exists(at("spool/u.jsonl")));
	ck_assert(!exists(at("spool/.active/u.jsonl")));
}
END_TEST

START_TEST(a_folder_of_another_account_needs_write_permission_to_be_moved)
{
	if (geteuid() != 0)
		return; /* only root can play two accounts */
	make_folder("run");
	write_file(at("spool/run/a.jsonl"), "x");
	close_to_the_service(at("spool/run"));
	ck_assert_int_eq(claim("run"), -1);
	be_root_again();
	assert_code(TS_E_UNREADABLE);
	ck_assert_ptr_nonnull(strstr(ts_error_get_hint(&err), "g+rwX"));
	ck_assert(exists(at("spool/run")));
}
END_TEST

START_TEST(a_claim_makes_a_removed_active_folder_anew)
{
	write_file(at("spool/a.jsonl"), "x");
	ck_assert_int_eq(rmdir(at("spool/.active")), 0);
	ck_assert_int_eq(claim("a.jsonl"), 1);
	ck_assert(exists(at("spool/.active/a.jsonl")));
}
END_TEST

START_TEST(what_is_in_the_active_folder_is_listed_and_adopted)
{
	char **names;

	ck_assert_int_eq(spool_list_active(sp, &names, &err), 0);
	ck_assert_ptr_null(names[0]);
	free(names);
	write_file(at("spool/.active/a.jsonl"), "x");
	ck_assert_int_eq(spool_list_active(sp, &names, &err), 0);
	ck_assert_str_eq(names[0], "a.jsonl");
	ck_assert_ptr_null(names[1]);
	free(names[0]);
	free(names);
	ck_assert_int_eq(spool_adopt(sp, "a.jsonl", 3, &c, &err), 1);
	ck_assert_int_eq(c.st.st_size, 1);
	claim_done(&c);
	ck_assert_int_eq(spool_adopt(sp, "none.jsonl", 3, &c, &err), 0);
}
END_TEST

START_TEST(a_claim_goes_back_unless_its_name_is_taken_again)
{
	bool back = false;

	write_file(at("spool/a.jsonl"), "old");
	ck_assert_int_eq(claim("a.jsonl"), 1);
	ck_assert_int_eq(spool_unclaim(sp, &c, &back, &err), 0);
	ck_assert(back);
	ck_assert_str_eq(text_of(at("spool/a.jsonl")), "old");
	claim_done(&c);

	ck_assert_int_eq(claim("a.jsonl"), 1);
	write_file(at("spool/a.jsonl"), "new");
	ck_assert_int_eq(spool_unclaim(sp, &c, &back, &err), 0);
	ck_assert(!back);
	ck_assert_str_eq(text_of(at("spool/a.jsonl")), "new");
	ck_assert_str_eq(text_of(at("spool/.active/a.jsonl")), "old");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("spool claims");
	TCase *t = tcase_create("spool claims");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_claim_moves_the_file_and_opens_it);
	tcase_add_test(t, an_account_without_a_name_shows_its_number);
	tcase_add_test(t, what_is_gone_or_no_drop_name_is_no_claim);
	tcase_add_test(t, a_name_that_is_being_ingested_is_not_claimed);
	tcase_add_test(t, a_symbolic_link_is_refused);
	tcase_add_test(t, a_pipe_is_refused_without_waiting_for_a_writer);
	tcase_add_test(t, a_file_with_a_second_link_is_refused);
	tcase_add_test(t, names_up_to_200_bytes_are_taken);
	tcase_add_test(t, longer_names_are_refused_and_fit_into_quarantine);
	tcase_add_test(t, shards_of_a_folder_come_in_the_order_of_their_numbers);
	tcase_add_test(t, a_new_entry_of_a_folder_is_a_change);
	tcase_add_test(t, a_shard_that_is_a_link_is_refused_by_name);
	tcase_add_test(t, a_shard_with_a_second_link_is_refused_by_name);
	tcase_add_test(t, a_link_that_is_no_shard_is_left_alone);
	tcase_add_test(t, a_folder_without_a_shard_is_empty);
	tcase_add_test(t, more_shards_than_the_limit_are_refused);
	tcase_add_test(t, a_shard_that_vanished_means_the_folder_changed);
	tcase_add_test(t, an_unreadable_file_goes_back_with_the_remedy);
	tcase_add_test(t, a_folder_of_another_account_needs_write_permission_to_be_moved);
	tcase_add_test(t, a_claim_makes_a_removed_active_folder_anew);
	tcase_add_test(t, what_is_in_the_active_folder_is_listed_and_adopted);
	tcase_add_test(t, a_claim_goes_back_unless_its_name_is_taken_again);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
