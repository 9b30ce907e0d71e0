/* test_candle_corpus.c: every file of the shared corpus of execution traces gives the verdict,
 * class, line, event index and counts of its EXPECTED.json; a new file there is a new case
 */
#include "candle_result.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *corpus(void)
{
	const char *path = getenv("TRACESPOOL_CORPUS");

	return path ? path : "../shared/corpus";
}

static json_t *load_expected(void)
{
	char path[4096];
	json_error_t error;

	snprintf(path, sizeof(path), "%s/candle/EXPECTED.json", corpus());
	/* Some figures need more than 63 bits; none of those is looked at here. */
	return json_load_file(path, JSON_DECODE_INT_AS_REAL, &error);
}

static void assert_refusal(const char *name, const struct candle_result *have, json_t *want)
{
	json_t *line = json_object_get(want, "line"), *event = json_object_get(want, "event_index");
	const char *code = json_string_value(json_object_get(want, "error_class"));

	ck_assert_msg(!have->ok, "%s: accepted", name);
	ck_assert_ptr_nonnull(code);
	ck_assert_msg(strcmp(have->code, code) == 0, "%s: %s", name, have->code);
	ck_assert_msg((double)have->line == json_number_value(line), "%s: line %llu", name,
		      (unsigned long long)have->line);
	ck_assert_msg(json_is_null(event) ? have->event == -1
					  : (double)have->event == json_number_value(event),
		      "%s: event %lld", name, (long long)have->event);
	ck_assert_msg((have->byte >= 0) == (have->line > 0), "%s: byte", name);
}

static void assert_text(const char *name, const char *what, const char *have, json_t *want)
{
	const char *text = json_string_value(json_object_get(want, what));

	ck_assert_msg(text && strcmp(text, have) == 0, "%s: %s is %s", name, what, have);
}

static void assert_result(const char *name, const struct candle_result *have, json_t *want)
{
	ck_assert_msg(have->ok, "%s: %s: %s", name, have->code, have->message);
	assert_text(name, "schema", have->schema, want);
	assert_text(name, "run_id", have->run_id, want);
	assert_text(name, "outcome", have->outcome, want);
	for (size_t i = 0; i < have->figure_count; i++) {
		const struct candle_figure *f = &have->figures[i];
		json_t *value = json_object_get(json_object_get(want, f->group), f->name);

		ck_assert_msg(json_is_number(value) && json_number_value(value) == (double)f->value,
			      "%s: %s.%s is %llu", name, f->group, f->name,
			      (unsigned long long)f->value);
	}
}

static void run_file(struct candle_result *ret, const char *name)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/candle/%s", corpus(), name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_msg(fd >= 0, "%s", path);
	candle_result_of(fd, ret);
	close(fd);
}

/* Every file of the folder; returns how many. */
static unsigned run_folder(const char *folder, bool accepted, json_t *files)
{
	char path[4096], name[300];
	unsigned n = 0;
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/candle/%s", corpus(), folder);
	dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir))) {
		struct candle_result have;
		json_t *want;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", folder, entry->d_name);
		want = json_object_get(files, name);
		ck_assert_msg(want != NULL, "%s is not in EXPECTED.json", name);
		ck_assert_int_eq(json_is_true(json_object_get(want, "ok")), accepted);
		run_file(&have, name);
		if (accepted)
			assert_result(name, &have, want);
		else
			assert_refusal(name, &have, want);
		n++;
	}
	closedir(dir);
	return n;
}

START_TEST(every_file_of_the_corpus_gives_its_verdict)
{
	json_t *expected = load_expected(), *files = json_object_get(expected, "files");
	unsigned n = run_folder("valid", true, files) + run_folder("invalid", false, files);

	ck_assert_uint_gt(n, 0);
	ck_assert_uint_eq(n, json_object_size(files));
	json_decref(expected);
}
END_TEST

START_TEST(every_file_of_the_cohorts_is_accepted)
{
	char path[4096];
	unsigned n = 0;
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/candle/compare", corpus());
	dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir))) {
		struct candle_result have;
		char name[300];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "compare/%s", entry->d_name);
		run_file(&have, name);
		ck_assert_msg(have.ok, "%s: %s", name, have.message);
		n++;
	}
	closedir(dir);
	ck_assert_uint_gt(n, 0);
}
END_TEST

void add_candle_corpus_tests(TCase *t)
{
	json_t *expected = load_expected();

	if (!expected) {
		printf("skipped: every_file_of_the_corpus_gives_its_verdict, "
		       "every_file_of_the_cohorts_is_accepted: no corpus in %s\n",
		       corpus());
		return;
	}
	json_decref(expected);
	tcase_add_test(t, every_file_of_the_corpus_gives_its_verdict);
	tcase_add_test(t, every_file_of_the_cohorts_is_accepted);
}
