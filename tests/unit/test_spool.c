/* test_spool.c: opening the spool, a spool folder that is replaced, receipts as files */
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

/* ---- opening ---- */

START_TEST(opening_makes_the_folders)
{
	struct stat st;

	ck_assert(exists(at("spool/.active")));
	ck_assert(exists(at("spool/.archive")));
	ck_assert(exists(at("spool/.quarantine")));
	ck_assert_int_eq(stat(at("spool/.receipts"), &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 02750);
	ck_assert_str_eq(spool_path(sp), at("spool"));
	ck_assert_int_eq(fstat(spool_fd(sp), &st), 0);
	ck_assert(S_ISDIR(st.st_mode));
}
END_TEST

START_TEST(a_spool_without_a_parent_cannot_be_opened)
{
	char path[600];
	struct spool *other = NULL;

	snprintf(path, sizeof(path), "%s", at("no/spool"));
	struct spool_options options = {
		.path = path, .archive_path = ".archive", .quarantine_path = ".quarantine"};
	ck_assert_int_eq(spool_open(&options, &other, &err), -1);
	assert_code(TS_E_START);
	ck_assert_int_eq(err.sys, ENOENT);
	ck_assert_ptr_null(other);
	ck_assert(!exists(at("no")));
}
END_TEST

START_TEST(a_link_is_not_taken_for_one_of_the_own_folders)
{
	struct spool_options options = {
		.path = at("other"), .archive_path = ".archive", .quarantine_path = ".quarantine"};
	struct spool *other = NULL;

	ck_assert_int_eq(mkdir(at("other"), 0755), 0);
	ck_assert_int_eq(mkdir(at("elsewhere"), 0755), 0);
	ck_assert_int_eq(symlink("../elsewhere", at("other/.active")), 0);
	ck_assert_int_eq(spool_open(&options, &other, &err), -1);
	assert_code(TS_E_START);
}
END_TEST

/* Whoever may drop files may also have made a folder of that name before the first start. */
START_TEST(a_folder_of_another_account_is_not_taken_for_one_of_the_own_folders)
{
	static const char *const own[] = {".active", ".receipts", ".archive", ".quarantine"};
	char path[600];
	struct spool_options options = {
		.path = path, .archive_path = ".archive", .quarantine_path = ".quarantine"};
	struct spool *other = NULL;

	if (geteuid() != 0)
		return; /* only root can give a folder away */
	for (size_t i = 0; i < ARRAY_LEN(own); i++) {
		snprintf(path, sizeof(path), "%s", at("spool%zu", i));
		ck_assert_int_eq(mkdir(path, 0755), 0);
		ck_assert_int_eq(mkdir(at("spool%zu/%s", i, own[i]), 0777), 0);
		ck_assert_int_eq(chown(at("spool%zu/%s", i, own[i]), 65534, 65534), 0);
		ck_assert_int_eq(spool_open(&options, &other, &err), -1);
		assert_code(TS_E_START);
		ck_assert_ptr_nonnull(strstr(err.message, own[i]));
		ts_error_init(&err);
	}
}
END_TEST

START_TEST(an_archive_cannot_lead_out_of_the_spool_by_dots)
{
	struct spool_options options = {
		.path = at("spool"), .archive_path = "a/../../b", .quarantine_path = ".quarantine"};
	struct spool *other = NULL;

	ck_assert_int_eq(spool_open(&options, &other, &err), -1);
	assert_code(TS_E_START);
}
END_TEST

START_TEST(a_folder_that_is_not_writable_is_a_clear_error)
{
	struct spool_options options = {
		.path = at("closed"), .archive_path = ".archive", .quarantine_path = ".quarantine"};
	struct spool *other = NULL;

	ck_assert_int_eq(chmod(folder_root, 0755), 0);
	ck_assert_int_eq(mkdir(at("closed"), 0755), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(seteuid(65534), 0);
	else
		ck_assert_int_eq(chmod(at("closed"), 0555), 0);
	ck_assert_int_eq(spool_open(&options, &other, &err), -1);
	assert_code(TS_E_START);
	ck_assert_int_eq(err.sys, EACCES);
	ck_assert_ptr_nonnull(strstr(err.message, "not writable"));
	if (getuid() == 0)
		ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

START_TEST(a_replaced_spool_folder_is_opened_anew)
{
	ck_assert_int_eq(spool_verify(sp, &err), 0);
	ck_assert_int_eq(rename(at("spool"), at("away")), 0);
	ck_assert_int_eq(spool_verify(sp, &err), -1);
	assert_code(TS_E_IO);
	ts_error_init(&err);
	ck_assert_int_eq(mkdir(at("spool"), 0755), 0);
	ck_assert_int_eq(spool_verify(sp, &err), 0);
	write_file(at("spool/a.jsonl"), "x");
	ck_assert_int_eq(claim("a.jsonl"), 1);
	ck_assert(exists(at("spool/.active/a.jsonl")));
	ck_assert_int_eq(spool_write_receipt(sp, "a.jsonl", TS_STR("{}"), &err), 0);
	ck_assert(exists(at("spool/.receipts/a.jsonl.json")));
}
END_TEST

/* ---- receipts ---- */

static const char *long_name(size_t n)
{
	static char name[300];

	memset(name, 'n', n);
	memcpy(name + n - 6, ".jsonl", 7);
	return name;
}

START_TEST(receipts_are_whole_private_and_replaced)
{
	struct stat st;

	ck_assert_int_eq(spool_write_receipt(sp, "a.jsonl", TS_STR("{\"a\":1}"), &err), 0);
	ck_assert_str_eq(text_of(at("spool/.receipts/a.jsonl.json")), "{\"a\":1}");
	ck_assert_int_eq(stat(at("spool/.receipts/a.jsonl.json"), &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0640);
	ck_assert_int_eq(spool_write_receipt(sp, "a.jsonl", TS_STR("{}"), &err), 0);
	ck_assert_str_eq(text_of(at("spool/.receipts/a.jsonl.json")), "{}");
	ck_assert_int_eq(spool_remove_receipt(sp, "a.jsonl", &err), 0);
	ck_assert(!exists(at("spool/.receipts/a.jsonl.json")));
	ck_assert_int_eq(spool_remove_receipt(sp, "a.jsonl", &err), 0);
}
END_TEST

START_TEST(nothing_written_aside_is_left)
{
	DIR *dir;
	struct dirent *d;
	int files = 0;

	write_file(at("spool/.receipts/.b.jsonl.json.1.tmp"), "half");
	write_file(at("spool/.receipts/mine.tmp"), "of somebody else");
	spool_close(sp);
	sp = open_spool();
	ck_assert(!exists(at("spool/.receipts/.b.jsonl.json.1.tmp")));
	ck_assert_int_eq(spool_write_receipt(sp, long_name(200), TS_STR("{}"), &err), 0);
	dir = opendir(at("spool/.receipts"));
	ck_assert_ptr_nonnull(dir);
	while ((d = readdir(dir)))
		files += strcmp(d->d_name, ".") && strcmp(d->d_name, "..");
	closedir(dir);
	ck_assert_int_eq(files, 2); /* the receipt, and what is not ours */
}
END_TEST

START_TEST(names_above_200_bytes_have_no_receipt_file)
{
	ck_assert_int_eq(spool_write_receipt(sp, long_name(201), TS_STR("{}"), &err), -1);
	assert_code(TS_E_BAD_NAME);
	ts_error_init(&err);
	ck_assert_int_eq(spool_remove_receipt(sp, long_name(201), &err), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("spool");
	TCase *t = tcase_create("spool");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, opening_makes_the_folders);
	tcase_add_test(t, a_spool_without_a_parent_cannot_be_opened);
	tcase_add_test(t, a_link_is_not_taken_for_one_of_the_own_folders);
	tcase_add_test(t, a_folder_of_another_account_is_not_taken_for_one_of_the_own_folders);
	tcase_add_test(t, an_archive_cannot_lead_out_of_the_spool_by_dots);
	tcase_add_test(t, a_folder_that_is_not_writable_is_a_clear_error);
	tcase_add_test(t, a_replaced_spool_folder_is_opened_anew);
	tcase_add_test(t, receipts_are_whole_private_and_replaced);
	tcase_add_test(t, nothing_written_aside_is_left);
	tcase_add_test(t, names_above_200_bytes_have_no_receipt_file);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
