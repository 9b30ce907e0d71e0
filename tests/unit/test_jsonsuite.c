/* test_jsonsuite.c: all files of JSONTestSuite: what must be accepted is (y_), what must be refused
 * is (n_), and for what the RFC leaves open (i_) the verdict that follows from the formats' rules
 * is written down here one by one. Each file is read twice, by skipping and by taking every value.
 */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracespool/json.h"

static const struct {
	const char *name;
	bool accepted;
	const char *why;
} open_cases[] = {
	{"i_number_double_huge_neg_exp.json", true, "underflow is zero"},
	{"i_number_huge_exp.json", false, "its double is infinite"},
	{"i_number_neg_int_huge_exp.json", false, "its double is infinite"},
	{"i_number_pos_double_huge_exp.json", false, "its double is infinite"},
	{"i_number_real_neg_overflow.json", false, "its double is infinite"},
	{"i_number_real_pos_overflow.json", false, "its double is infinite"},
	{"i_number_real_underflow.json", true, "underflow is zero"},
	{"i_number_too_big_neg_int.json", true, "integers beyond 64 bits are doubles"},
	{"i_number_too_big_pos_int.json", true, "integers beyond 64 bits are doubles"},
	{"i_number_very_big_negative_int.json", true, "integers beyond 64 bits are doubles"},
	{"i_object_key_lone_2nd_surrogate.json", false, "lone surrogate, in a key"},
	{"i_string_1st_surrogate_but_2nd_missing.json", false, "lone surrogate"},
	{"i_string_1st_valid_surrogate_2nd_invalid.json", false,
	 "high surrogate without a low one"},
	{"i_string_UTF-16LE_with_BOM.json", false, "not UTF-8"},
	{"i_string_UTF-8_invalid_sequence.json", false, "not UTF-8"},
	{"i_string_UTF8_surrogate_U+D800.json", false, "UTF-8 encodes no surrogates"},
	{"i_string_incomplete_surrogate_and_escape_valid.json", false, "lone surrogate"},
	{"i_string_incomplete_surrogate_pair.json", false, "lone surrogate"},
	{"i_string_incomplete_surrogates_escape_valid.json", false, "lone surrogates"},
	{"i_string_invalid_lonely_surrogate.json", false, "lone surrogate"},
	{"i_string_invalid_surrogate.json", false, "lone surrogate"},
	{"i_string_invalid_utf-8.json", false, "not UTF-8"},
	{"i_string_inverted_surrogates_U+1D11E.json", false,
	 "low surrogate in front of a high one"},
	{"i_string_iso_latin_1.json", false, "not UTF-8"},
	{"i_string_lone_second_surrogate.json", false, "lone surrogate"},
	{"i_string_lone_utf8_continuation_byte.json", false, "not UTF-8"},
	{"i_string_not_in_unicode_range.json", false, "above U+10FFFF"},
	{"i_string_overlong_sequence_2_bytes.json", false, "overlong form"},
	{"i_string_overlong_sequence_6_bytes.json", false, "overlong form"},
	{"i_string_overlong_sequence_6_bytes_null.json", false, "overlong form"},
	{"i_string_truncated-utf-8.json", false, "not UTF-8"},
	{"i_string_utf16BE_no_BOM.json", false, "not UTF-8"},
	{"i_string_utf16LE_no_BOM.json", false, "not UTF-8"},
	{"i_structure_500_nested_arrays.json", false, "nested more than 127 deep"},
	{"i_structure_UTF-8_BOM_empty_object.json", false, "a byte order mark is no white space"},
};

static char folder[4096];

/* The file with a NUL behind it; the caller frees it. */
static char *read_file(const char *name, size_t *ret_len)
{
	char path[sizeof(folder) + 256];
	struct stat st;
	char *text;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_msg(fd >= 0 && fstat(fd, &st) == 0, "cannot open %s", path);
	text = calloc((size_t)st.st_size + 1, 1);
	ck_assert_ptr_nonnull(text);
	ck_assert_int_eq(read(fd, text, (size_t)st.st_size), st.st_size);
	close(fd);
	*ret_len = (size_t)st.st_size;
	return text;
}

static bool accepted_by_skipping(const char *text, size_t len)
{
	struct json j;

	json_begin(&j, text, len, NULL);
	return json_skip(&j) != JSON_NONE && json_end(&j) == 0;
}

static bool take_all(struct json *j)
{
	struct json_value v;
	struct ts_str key;

	switch (json_value(j, &v)) {
	case JSON_NONE:
		return false;
	case JSON_ARRAY:
		for (bool first = true; json_element(j, first); first = false)
			if (!take_all(j))
				return false;
		return !j->error;
	case JSON_OBJECT:
		for (bool first = true; json_key(j, first, &key); first = false)
			if (!take_all(j))
				return false;
		return !j->error;
	default:
		return true;
	}
}

static bool accepted_by_taking(const char *text, size_t len)
{
	struct arena scratch = {0};
	struct json j;
	bool ok;

	json_begin(&j, text, len, &scratch);
	ok = take_all(&j) && json_end(&j) == 0;
	ck_assert(!scratch.failed);
	arena_done(&scratch);
	return ok;
}

static bool is_accepted(const char *name)
{
	size_t len;
	char *text = read_file(name, &len);
	bool utf8 = text_is_utf8(text, len);
	bool skipped = utf8 && accepted_by_skipping(text, len);
	bool taken = utf8 && accepted_by_taking(text, len);

	free(text);
	ck_assert_msg(skipped == taken, "%s: skipping says %d, taking says %d", name, skipped,
		      taken);
	return skipped;
}

/* Runs over the files that begin with the prefix and returns how many there are. */
static int each_file(const char *prefix, bool accepted)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int n = 0;

	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir)) != NULL) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)))
			continue;
		n++;
		ck_assert_msg(is_accepted(entry->d_name) == accepted, "%s is %s", entry->d_name,
			      accepted ? "refused" : "accepted");
	}
	closedir(dir);
	return n;
}

START_TEST(every_y_file_is_accepted)
{
	ck_assert_int_ge(each_file("y_", true), 95);
}
END_TEST

START_TEST(every_n_file_is_refused)
{
	ck_assert_int_ge(each_file("n_", false), 188);
}
END_TEST

START_TEST(every_i_file_gets_the_verdict_of_the_formats)
{
	for (size_t i = 0; i < ARRAY_LEN(open_cases); i++)
		ck_assert_msg(is_accepted(open_cases[i].name) == open_cases[i].accepted,
			      "%s is not %s: %s", open_cases[i].name,
			      open_cases[i].accepted ? "accepted" : "refused", open_cases[i].why);
}
END_TEST

START_TEST(every_i_file_has_a_verdict_here)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir)) != NULL) {
		bool found = strncmp(entry->d_name, "i_", 2) != 0;

		for (size_t i = 0; i < ARRAY_LEN(open_cases); i++)
			found |= !strcmp(entry->d_name, open_cases[i].name);
		ck_assert_msg(found, "no verdict is written down for %s", entry->d_name);
	}
	closedir(dir);
}
END_TEST

int main(void)
{
	const char *corpus = getenv("TRACESPOOL_CORPUS");
	Suite *suite = suite_create("jsonsuite");
	TCase *files = tcase_create("files");
	SRunner *runner;
	int failed;

	snprintf(folder, sizeof(folder), "%s/jsontestsuite/test_parsing",
		 corpus ? corpus : "../shared/corpus");
	if (access(folder, R_OK) != 0) {
		printf("test_jsonsuite: skipped, there is no %s\n", folder);
		return 77;
	}
	tcase_add_test(files, every_y_file_is_accepted);
	tcase_add_test(files, every_n_file_is_refused);
	tcase_add_test(files, every_i_file_gets_the_verdict_of_the_formats);
	tcase_add_test(files, every_i_file_has_a_verdict_here);
	suite_add_tcase(suite, files);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
