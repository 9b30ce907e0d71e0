/* test_spool_moves.c: archive and quarantine paths, moves within a mount and to another one (if the
 * machine has one to test with: /dev/shm), repair of half-done moves, removal */
#include "spool_folder.h"

#define DAY_MS INT64_C(1762161252480) /* 2025-11-03T09:14:12.480Z */
#define DAY ".archive/2025/11/03"

static struct spool *sp;
static struct ts_error err;
static char other_mount[64]; /* empty: none */

static void setup(void)
{
	struct stat here, there;

	umask(022);
	folder_init();
	ts_error_init(&err);
	snprintf(other_mount, sizeof(other_mount), "/dev/shm/tracespool-test-XXXXXX");
	if (stat(folder_root, &here) || stat("/dev/shm", &there) || here.st_dev == there.st_dev ||
	    !mkdtemp(other_mount))
		other_mount[0] = 0;
	sp = open_spool();
}

static void teardown(void)
{
	spool_close(sp);
	folder_done();
	if (other_mount[0])
		folder_remove(other_mount);
}

static void active(const char *name, const char *text)
{
	write_file(at("spool/.active/%s", name), text);
}

static char *archive_path(const char *name)
{
	char *path = NULL;

	ck_assert_int_eq(spool_archive_path(sp, name, DAY_MS, &path, &err), 0);
	return path;
}

static void assert_archive_path(const char *name, const char *expected)
{
	char *path = archive_path(name);

	ck_assert_str_eq(path, expected);
	free(path);
}

static void move(const char *name, const char *path)
{
	ck_assert_msg(!spool_move(sp, name, path, &err), "%s", err.message);
}

START_TEST(the_archive_has_a_folder_for_each_day_in_utc)
{
	assert_archive_path("a.jsonl", DAY "/a.jsonl");
	ck_assert(!exists(at("spool/.archive/2025")));
	active("a.jsonl", "x");
	move("a.jsonl", DAY "/a.jsonl");
	ck_assert_str_eq(text_of(at("spool/" DAY "/a.jsonl")), "x");
	ck_assert(!exists(at("spool/.active/a.jsonl")));
	ck_assert(spool_path_exists(sp, DAY "/a.jsonl"));
	ck_assert(!spool_path_exists(sp, DAY "/b.jsonl"));
}
END_TEST

START_TEST(a_name_that_comes_again_gets_the_first_free_number)
{
	for (int i = 1; i <= 12; i++) {
		char expected[64];
		char *path = archive_path("a.jsonl");

		if (i == 1)
			snprintf(expected, sizeof(expected), DAY "/a.jsonl");
		else
			snprintf(expected, sizeof(expected), DAY "/%d/a.jsonl", i);
		ck_assert_str_eq(path, expected);
		active("a.jsonl", "x");
		move("a.jsonl", path);
		free(path);
	}
}
END_TEST

START_TEST(a_folder_named_by_a_number_is_never_mixed_with_the_numbers)
{
	assert_archive_path("2", DAY "/1/2");
	ck_assert_int_eq(mkdir(at("spool/.active/2"), 0755), 0);
	write_file(at("spool/.active/2/a.jsonl"), "x");
	move("2", DAY "/1/2");
	assert_archive_path("2", DAY "/2/2");
	ck_assert_str_eq(text_of(at("spool/" DAY "/1/2/a.jsonl")), "x");
}
END_TEST

START_TEST(quarantine_names_begin_with_the_receipt)
{
	char *path;

	ck_assert_int_eq(spool_quarantine_path(sp, "b.jsonl", 41, &path, &err), 0);
	ck_assert_str_eq(path, ".quarantine/41-b.jsonl");
	ck_assert_int_eq(spool_write_report(sp, path, TS_STR("{}"), &err), 0);
	active("b.jsonl", "x");
	move("b.jsonl", path);
	free(path);
	ck_assert_str_eq(text_of(at("spool/.quarantine/41-b.jsonl")), "x");
	ck_assert_str_eq(text_of(at("spool/.quarantine/41-b.jsonl.json")), "{}");
	/* Numbers may begin anew with a new store. */
	ck_assert_int_eq(spool_quarantine_path(sp, "b.jsonl", 41, &path, &err), 0);
	ck_assert_str_eq(path, ".quarantine/2/41-b.jsonl");
	free(path);
}
END_TEST

START_TEST(a_long_name_is_cut_at_a_whole_character)
{
	char name[256], *path;

	memset(name, 'n', sizeof(name));
	memcpy(name + 199, "\xc3\xa9.jsonl", 9);
	ck_assert_int_eq(spool_quarantine_path(sp, name, 1, &path, &err), 0);
	ck_assert_uint_eq(strlen(path), strlen(".quarantine/1-") + 199);
	free(path);
}
END_TEST

START_TEST(a_move_done_before_is_fine)
{
	active("a.jsonl", "x");
	move("a.jsonl", DAY "/a.jsonl");
	move("a.jsonl", DAY "/a.jsonl");
	ck_assert_str_eq(text_of(at("spool/" DAY "/a.jsonl")), "x");
}
END_TEST

START_TEST(a_move_of_nothing_to_nowhere_is_an_error)
{
	ck_assert_int_eq(spool_move(sp, "a.jsonl", DAY "/a.jsonl", &err), -1);
	ck_assert(ts_error_is(&err, TS_E_IO));
	ck_assert_int_eq(err.sys, ENOENT);
}
END_TEST

START_TEST(a_half_done_move_is_finished_only_if_the_target_is_complete)
{
	active("a.jsonl", "same");
	move("a.jsonl", DAY "/a.jsonl");
	active("a.jsonl", "same");
	move("a.jsonl", DAY "/a.jsonl");
	ck_assert(!exists(at("spool/.active/a.jsonl")));

	active("a.jsonl", "more");
	ck_assert_int_eq(spool_move(sp, "a.jsonl", DAY "/a.jsonl", &err), -1);
	ck_assert_int_eq(err.sys, EEXIST);
	ck_assert_str_eq(text_of(at("spool/.active/a.jsonl")), "more");
	ck_assert_str_eq(text_of(at("spool/" DAY "/a.jsonl")), "same");
	ts_error_init(&err);
	active("a.jsonl", "longer");
	ck_assert_int_eq(spool_move(sp, "a.jsonl", DAY "/a.jsonl", &err), -1);
	ck_assert_int_eq(err.sys, EEXIST);
}
END_TEST

START_TEST(a_half_removed_folder_is_within_its_copy)
{
	ck_assert_int_eq(mkdir(at("spool/.quarantine/1-run"), 0755), 0);
	write_file(at("spool/.quarantine/1-run/a.jsonl"), "a");
	write_file(at("spool/.quarantine/1-run/b.jsonl"), "b");
	ck_assert_int_eq(mkdir(at("spool/.active/run"), 0755), 0);
	write_file(at("spool/.active/run/b.jsonl"), "b");
	move("run", ".quarantine/1-run");
	ck_assert(!exists(at("spool/.active/run")));
	ck_assert(exists(at("spool/.quarantine/1-run/a.jsonl")));

	ck_assert_int_eq(mkdir(at("spool/.active/run"), 0755), 0);
	write_file(at("spool/.active/run/c.jsonl"), "c");
	ck_assert_int_eq(spool_move(sp, "run", ".quarantine/1-run", &err), -1);
	ck_assert_int_eq(err.sys, EEXIST);
	ck_assert(exists(at("spool/.active/run/c.jsonl")));
}
END_TEST

START_TEST(a_link_in_the_way_of_a_relative_path_is_not_followed)
{
	ck_assert_int_eq(mkdir(at("elsewhere"), 0755), 0);
	ck_assert_int_eq(symlink("../../elsewhere", at("spool/.archive/2025")), 0);
	active("a.jsonl", "x");
	ck_assert_int_eq(spool_move(sp, "a.jsonl", DAY "/a.jsonl", &err), -1);
	ck_assert(exists(at("spool/.active/a.jsonl")));
	ck_assert(!exists(at("elsewhere/11")));
}
END_TEST

START_TEST(an_archive_without_permission_is_an_error_with_its_errno)
{
	ck_assert_int_eq(chmod(folder_root, 0755), 0);
	active("a.jsonl", "x");
	ck_assert_int_eq(chmod(at("spool/.archive"), 0555), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(65534), 0);
	ck_assert_int_eq(spool_move(sp, "a.jsonl", DAY "/a.jsonl", &err), -1);
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(err.sys, EACCES);
	ck_assert(exists(at("spool/.active/a.jsonl")));
	ck_assert_int_eq(chmod(at("spool/.archive"), 0755), 0);
	ts_error_init(&err);
	move("a.jsonl", DAY "/a.jsonl");
}
END_TEST

START_TEST(removal_takes_a_folder_with_all_in_it_and_nothing_it_links_to)
{
	write_file(at("kept"), "x");
	ck_assert_int_eq(mkdir(at("spool/.active/run"), 0755), 0);
	ck_assert_int_eq(mkdir(at("spool/.active/run/sub"), 0755), 0);
	write_file(at("spool/.active/run/sub/deep"), "x");
	for (int i = 0; i < 50; i++)
		write_file(at("spool/.active/run/%d.jsonl", i), "x");
	ck_assert_int_eq(symlink("../../../kept", at("spool/.active/run/link")), 0);
	active("a.jsonl", "x");
	ck_assert_int_eq(spool_delete(sp, "run", &err), 0);
	ck_assert_int_eq(spool_delete(sp, "a.jsonl", &err), 0);
	ck_assert_int_eq(spool_delete(sp, "a.jsonl", &err), 0);
	ck_assert(!exists(at("spool/.active/run")));
	ck_assert(!exists(at("spool/.active/a.jsonl")));
	ck_assert(exists(at("kept")));
}
END_TEST

/* ---- another mount ---- */

static bool with_other_mount(void)
{
	char archive[128];

	if (!other_mount[0])
		return false;
	spool_close(sp);
	snprintf(archive, sizeof(archive), "%s/archive", other_mount);
	sp = open_spool_with(archive, ".quarantine");
	ck_assert(exists(archive));
	return true;
}

START_TEST(a_file_is_copied_to_another_mount_with_mode_and_time)
{
	struct timespec times[2] = {{1600000000, 0}, {1700000000, 123456789}};
	char *path, expected[256];
	struct stat st;

	if (!with_other_mount())
		return;
	active("a.jsonl", "across");
	ck_assert_int_eq(chmod(at("spool/.active/a.jsonl"), 0604), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(chown(at("spool/.active/a.jsonl"), 65534, 65534), 0);
	ck_assert_int_eq(utimensat(AT_FDCWD, at("spool/.active/a.jsonl"), times, 0), 0);
	path = archive_path("a.jsonl");
	snprintf(expected, sizeof(expected), "%s/archive/2025/11/03/a.jsonl", other_mount);
	ck_assert_str_eq(path, expected);
	move("a.jsonl", path);
	ck_assert_str_eq(text_of(path), "across");
	ck_assert(!exists(at("spool/.active/a.jsonl")));
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0604);
	ck_assert_int_eq(st.st_mtim.tv_sec, 1700000000);
	ck_assert_int_eq(st.st_mtim.tv_nsec, 123456789);
	if (geteuid() == 0)
		ck_assert_uint_eq(st.st_uid, 65534);
	move("a.jsonl", path); /* done before */
	free(path);
}
END_TEST

/* The copy may belong to the service: a job's program must not run as that account. */
START_TEST(a_copy_to_another_mount_has_no_set_id_bits)
{
	struct stat st;
	char *path;

	if (!with_other_mount())
		return;
	ck_assert_int_eq(mkdir(at("spool/.active/d"), 0755), 0);
	active("d/a.jsonl", "a");
	ck_assert_int_eq(chmod(at("spool/.active/d/a.jsonl"), 06755), 0);
	ck_assert_int_eq(chmod(at("spool/.active/d"), 03775), 0);
	path = archive_path("d");
	move("d", path);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0775);
	char inside[300];

	snprintf(inside, sizeof(inside), "%s/a.jsonl", path);
	ck_assert_int_eq(stat(inside, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0755);
	free(path);
}
END_TEST

START_TEST(a_crash_between_copy_and_removal_on_another_mount_is_repaired)
{
	char *path, *left;

	if (!with_other_mount())
		return;
	active("a.jsonl", "across");
	path = archive_path("a.jsonl");
	move("a.jsonl", path);
	active("a.jsonl", "across");
	move("a.jsonl", path);
	ck_assert(!exists(at("spool/.active/a.jsonl")));
	active("a.jsonl", "ACROSS");
	ck_assert_int_eq(spool_move(sp, "a.jsonl", path, &err), -1);
	ck_assert_int_eq(err.sys, EEXIST);
	ck_assert_str_eq(text_of(path), "across");
	/* A copy that a crash cut short is made again. */
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_gt(asprintf(&left, "%s/archive/2025/11/03/.a.jsonl.moving", other_mount), 0);
	write_file(left, "ACR");
	ts_error_init(&err);
	move("a.jsonl", path);
	ck_assert_str_eq(text_of(path), "ACROSS");
	ck_assert(!exists(left));
	free(left);
	free(path);
}
END_TEST

START_TEST(a_folder_is_copied_to_another_mount_with_all_in_it)
{
	char *path, inside[512], target[32] = "";

	if (!with_other_mount())
		return;
	ck_assert_int_eq(mkdir(at("spool/.active/run"), 0755), 0);
	ck_assert_int_eq(mkdir(at("spool/.active/run/sub"), 0700), 0);
	write_file(at("spool/.active/run/a.jsonl"), "a");
	write_file(at("spool/.active/run/sub/b"), "b");
	ck_assert_int_eq(symlink("a.jsonl", at("spool/.active/run/latest")), 0);
	ck_assert_int_eq(mkfifo(at("spool/.active/run/pipe"), 0600), 0);
	path = archive_path("run");
	move("run", path);
	ck_assert(!exists(at("spool/.active/run")));
	snprintf(inside, sizeof(inside), "%s/a.jsonl", path);
	ck_assert_str_eq(text_of(inside), "a");
	snprintf(inside, sizeof(inside), "%s/sub/b", path);
	ck_assert_str_eq(text_of(inside), "b");
	snprintf(inside, sizeof(inside), "%s/latest", path);
	ck_assert_int_eq(readlink(inside, target, sizeof(target) - 1), 7);
	ck_assert_str_eq(target, "a.jsonl");
	snprintf(inside, sizeof(inside), "%s/pipe", path);
	ck_assert(exists(inside));
	free(path);
}
END_TEST

/* A target that is taken and a source that is not there are left to spool_move. */
START_TEST(several_go_at_once_and_what_is_not_simple_is_left)
{
	struct spool_settling all[] = {
		{.name = "a.jsonl", .receipt = TS_STR("{1}"), .path = DAY "/a.jsonl"},
		{.name = "taken.jsonl", .receipt = TS_STR("{2}"), .path = DAY "/taken.jsonl"},
		{.name = "gone.jsonl", .receipt = TS_STR("{3}"), .path = DAY "/gone.jsonl"},
		{.name = ".hidden", .receipt = TS_STR("{4}"), .path = DAY "/hidden"},
		{.name = "b.jsonl", .receipt = TS_STR("{5}"), .path = DAY "/2/b.jsonl"},
		{.name = "c.jsonl", .receipt = TS_STR("{6}"), .path = DAY "/c.jsonl"},
	};
	const bool done[] = {true, false, false, false, true, true};

	active("taken.jsonl", "first");
	move("taken.jsonl", DAY "/taken.jsonl");
	active("a.jsonl", "a");
	active("b.jsonl", "b");
	active("c.jsonl", "c");
	active("taken.jsonl", "second");
	spool_write_receipts(sp, all, ARRAY_LEN(all));
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		ck_assert(all[i].done == (i != 3));
	ck_assert_str_eq(text_of(at("spool/.receipts/taken.jsonl.json")), "{2}");
	ck_assert_str_eq(text_of(at("spool/.receipts/c.jsonl.json")), "{6}");
	spool_move_all(sp, all, ARRAY_LEN(all));
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		ck_assert_msg(all[i].done == done[i], "%s", all[i].name);
	ck_assert_str_eq(text_of(at("spool/" DAY "/a.jsonl")), "a");
	ck_assert_str_eq(text_of(at("spool/" DAY "/2/b.jsonl")), "b");
	ck_assert_str_eq(text_of(at("spool/" DAY "/c.jsonl")), "c");
	ck_assert_str_eq(text_of(at("spool/" DAY "/taken.jsonl")), "first");
	ck_assert_str_eq(text_of(at("spool/.active/taken.jsonl")), "second");
	ck_assert(!exists(at("spool/.active/a.jsonl")));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("spool moves");
	TCase *t = tcase_create("moves");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, the_archive_has_a_folder_for_each_day_in_utc);
	tcase_add_test(t, a_name_that_comes_again_gets_the_first_free_number);
	tcase_add_test(t, a_folder_named_by_a_number_is_never_mixed_with_the_numbers);
	tcase_add_test(t, quarantine_names_begin_with_the_receipt);
	tcase_add_test(t, a_long_name_is_cut_at_a_whole_character);
	tcase_add_test(t, a_move_done_before_is_fine);
	tcase_add_test(t, a_move_of_nothing_to_nowhere_is_an_error);
	tcase_add_test(t, a_half_done_move_is_finished_only_if_the_target_is_complete);
	tcase_add_test(t, a_half_removed_folder_is_within_its_copy);
	tcase_add_test(t, a_link_in_the_way_of_a_relative_path_is_not_followed);
	tcase_add_test(t, an_archive_without_permission_is_an_error_with_its_errno);
	tcase_add_test(t, removal_takes_a_folder_with_all_in_it_and_nothing_it_links_to);
	tcase_add_test(t, a_file_is_copied_to_another_mount_with_mode_and_time);
	tcase_add_test(t, a_copy_to_another_mount_has_no_set_id_bits);
	tcase_add_test(t, a_crash_between_copy_and_removal_on_another_mount_is_repaired);
	tcase_add_test(t, a_folder_is_copied_to_another_mount_with_all_in_it);
	tcase_add_test(t, several_go_at_once_and_what_is_not_simple_is_left);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
