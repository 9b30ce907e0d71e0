/* test_conf.c: the settings: order of sources, what a file may hold and where a message points,
 * printing that reads back, the table held against etc/tracespool.conf and tracespool.conf(5), and
 * what a reload changes. The values of each kind are in test_conf_values.c. Source files are found
 * through srcdir (default ".").
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test_conf.h"

#include "tracespool/buf.h"

static char folder[] = "/tmp/test_conf.XXXXXX";

void make_folder(void)
{
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

void remove_folder(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

/* Writes a file below the folder; returns its path (static, the newest only). */
static const char *file_of(const char *name, const char *text)
{
	static char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
	return path;
}

void load(struct conf *conf, const char *file, const char *const *options, unsigned count)
{
	struct ts_error err = TS_ERROR_INIT;

	if (conf_load(conf, file, options, count, &err) < 0)
		ck_abort_msg("refused: %s", err.message);
}

void refused_as(const char *text, const char *rest)
{
	struct ts_error err = TS_ERROR_INIT;
	const char *path = file_of("t.conf", text);
	struct conf conf;
	char want[512];

	ck_assert_int_eq(conf_load(&conf, path, NULL, 0, &err), -1);
	conf_done(&conf);
	snprintf(want, sizeof(want), "%s%s", path, rest);
	ck_assert_str_eq(err.message, want);
	ck_assert_str_eq(err.code->code, "bad_setting");
}

void option_refused(const char *option, const char *message)
{
	struct ts_error err = TS_ERROR_INIT;
	struct conf conf;

	ck_assert_int_eq(conf_load(&conf, "/dev/null", &option, 1, &err), -1);
	conf_done(&conf);
	ck_assert_str_eq(err.message, message);
}

START_TEST(an_empty_file_gives_the_defaults)
{
	struct conf conf;

	load(&conf, "/dev/null", NULL, 0);
	ck_assert_str_eq(conf.spool.path, "/var/spool/tracespool");
	ck_assert_uint_eq(conf.spool.settle_ms, 2000);
	ck_assert_uint_eq(conf.spool.scan_ms, 5000);
	ck_assert_uint_eq(conf.spool.idle_ms, 900000);
	ck_assert_int_eq(conf.spool.after, AFTER_ARCHIVE);
	ck_assert_str_eq(conf.spool.archive_path, ".archive");
	ck_assert_str_eq(conf.spool.quarantine_path, ".quarantine");
	ck_assert_str_eq(conf.store.path, "/var/lib/tracespool");
	ck_assert_uint_eq(conf.store.min_free_bytes, 268435456);
	ck_assert_uint_eq(conf.store.wal_limit_bytes, 67108864);
	ck_assert_uint_eq(conf.ingest.workers, 0);
	ck_assert_int_eq(conf.ingest.on_run_id_conflict, CONFLICT_QUARANTINE);
	ck_assert_int_eq(conf.ingest.salvage, SWITCH_OFF);
	ck_assert_str_eq(conf.http.listen[0], "127.0.0.1:7117");
	ck_assert_ptr_null(conf.http.listen[1]);
	ck_assert_str_eq(conf.http.socket, "");
	ck_assert_uint_eq(conf.http.threads, 4);
	ck_assert_str_eq(conf.http.base_path, "");
	ck_assert_ptr_null(conf.http.hosts[0]);
	ck_assert_uint_eq(conf.limits.line_bytes, 67108864);
	ck_assert_uint_eq(conf.limits.expansion_ratio, 250);
	ck_assert_uint_eq(conf.limits.shards, 10000);
	ck_assert_uint_eq(conf.limits.queue, 100000);
	ck_assert_uint_eq(conf.limits.connections, 256);
	ck_assert_uint_eq(conf.limits.streams, 64);
	ck_assert_uint_eq(conf.limits.page_ms, 10000);
	ck_assert_uint_eq(conf.limits.kept_bytes, 16777216);
	conf_done(&conf);
}
END_TEST

START_TEST(later_sources_win_over_earlier_ones)
{
	static const char *const options[] = {"ingest.workers=4", "ingest.workers = 5 "};
	char path[256];
	struct conf conf;

	snprintf(path, sizeof(path), "%s/conf.d", folder);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	file_of("conf.d/20-b.conf", "spool.settle_ms = 20\nspool.scan_ms = 200\n");
	file_of("conf.d/10-a.conf", "spool.settle_ms = 10\nspool.scan_ms = 100\n");
	file_of("conf.d/30-c.conf~", "spool.settle_ms = 30\n");
	file_of("conf.d/.40-d.conf", "spool.settle_ms = 40\n");
	file_of("t.conf", "spool.settle_ms = 1\nspool.idle_ms = 7\ningest.workers = 3\n");
	snprintf(path, sizeof(path), "%s/t.conf", folder);
	load(&conf, path, options, 2);
	ck_assert_uint_eq(conf.spool.idle_ms, 7);    /* file */
	ck_assert_uint_eq(conf.spool.settle_ms, 20); /* the last drop-in in name order */
	ck_assert_uint_eq(conf.spool.scan_ms, 200);
	ck_assert_uint_eq(conf.ingest.workers, 5); /* the last option */
	conf_done(&conf);
}
END_TEST

START_TEST(a_drop_in_is_named_in_the_message)
{
	struct ts_error err = TS_ERROR_INIT;
	char path[256], want[512];
	struct conf conf;

	snprintf(path, sizeof(path), "%s/conf.d", folder);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	file_of("conf.d/10-a.conf", "\nhttp.threads = none\n");
	file_of("t.conf", "");
	snprintf(path, sizeof(path), "%s/t.conf", folder);
	ck_assert_int_eq(conf_load(&conf, path, NULL, 0, &err), -1);
	conf_done(&conf);
	snprintf(want, sizeof(want),
		 "%s/conf.d/10-a.conf:2: http.threads = none is not a whole number in digits",
		 folder);
	ck_assert_str_eq(err.message, want);
}
END_TEST

START_TEST(comments_blanks_and_line_ends_are_left_out)
{
	struct conf conf;

	load(&conf,
	     file_of("t.conf", "# first\r\n"
			       "\r\n"
			       "   spool.path\t=\t/srv/a#b  # a comment\r\n"
			       "http.listen =  127.0.0.1:1   [::1]:65535\t\n"
			       "#spool.scan_ms = 1\n"
			       "http.hosts = traces.example  box"),
	     NULL, 0);
	ck_assert_str_eq(conf.spool.path, "/srv/a#b");
	ck_assert_str_eq(conf.http.listen[0], "127.0.0.1:1");
	ck_assert_str_eq(conf.http.listen[1], "[::1]:65535");
	ck_assert_ptr_null(conf.http.listen[2]);
	ck_assert_str_eq(conf.http.hosts[0], "traces.example");
	ck_assert_str_eq(conf.http.hosts[1], "box");
	ck_assert_ptr_null(conf.http.hosts[2]);
	conf_done(&conf);
}
END_TEST

START_TEST(a_list_and_a_socket_can_be_empty_and_a_path_cannot)
{
	struct conf conf;

	load(&conf, file_of("t.conf", "http.listen =\nhttp.socket =\n"), NULL, 0);
	ck_assert_ptr_null(conf.http.listen[0]);
	ck_assert_str_eq(conf.http.socket, "");
	conf_done(&conf);
	refused_as("store.path =\n", ":1: store.path =  is empty");
}
END_TEST

START_TEST(an_unknown_key_is_refused_with_its_line_and_a_near_one)
{
	struct ts_error err = TS_ERROR_INIT;
	const char *path = file_of("t.conf", "\nspool.pth = /x\n");
	struct conf conf;
	char want[512];

	ck_assert_int_eq(conf_load(&conf, path, NULL, 0, &err), -1);
	conf_done(&conf);
	snprintf(want, sizeof(want), "%s:2: unknown setting spool.pth", path);
	ck_assert_str_eq(err.message, want);
	ck_assert_str_eq(ts_error_get_hint(&err), "did you mean spool.path?");
}
END_TEST

START_TEST(a_key_that_is_near_to_none_gets_no_suggestion)
{
	struct ts_error err = TS_ERROR_INIT;
	const char *option = "colour.of.the.sky=blue";
	struct conf conf;

	ck_assert_int_eq(conf_load(&conf, "/dev/null", &option, 1, &err), -1);
	conf_done(&conf);
	ck_assert_str_eq(err.message, "-o: unknown setting colour.of.the.sky");
	ck_assert_ptr_null(ts_error_get_hint(&err));
}
END_TEST

START_TEST(a_repeated_key_is_refused_with_both_lines)
{
	refused_as("spool.scan_ms = 50\n\nspool.scan_ms = 60\n",
		   ":3: spool.scan_ms is set twice, first on line 1");
}
END_TEST

START_TEST(lines_that_are_no_setting_are_refused)
{
	refused_as("spool.path\n", ":1: not a line of key = value");
	refused_as("ok\n", ":1: not a line of key = value");
	refused_as("= 3\n", ":1: not a line of key = value");
	option_refused("spool.path", "-o spool.path: not KEY=VALUE");
}
END_TEST

START_TEST(a_file_that_was_named_must_be_there)
{
	struct ts_error err = TS_ERROR_INIT;
	struct conf conf;

	ck_assert_int_eq(conf_load(&conf, "/nonexistent/t.conf", NULL, 0, &err), -1);
	conf_done(&conf);
	ck_assert_str_eq(err.message, "cannot open /nonexistent/t.conf: No such file or directory");
}
END_TEST

static char *print(const struct conf *conf, bool defaults)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	ck_assert_ptr_nonnull(out);
	conf_print(conf, out, defaults);
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

START_TEST(what_is_printed_reads_back_the_same)
{
	static const char *const options[] = {
		"spool.path=/srv/a#b c",
		"spool.after=delete",
		"http.listen=[::1]:0 127.0.0.1:8",
		"http.hosts=a b",
		"http.socket=/run/x y.sock",
		"limits.queue=17",
		"http.base_path=/t",
		"store.path=/srv/\303\266",
	};
	struct conf conf, again;
	char *first, *second;

	load(&conf, "/dev/null", options, ARRAY_LEN(options));
	first = print(&conf, false);
	load(&again, file_of("t.conf", first), NULL, 0);
	second = print(&again, false);
	ck_assert_str_eq(first, second);
	ck_assert_str_eq(again.spool.path, "/srv/a#b c");
	ck_assert_str_eq(again.store.path, "/srv/\303\266");
	ck_assert_int_eq(again.spool.after, AFTER_DELETE);
	ck_assert_str_eq(again.http.listen[1], "127.0.0.1:8");
	ck_assert_str_eq(again.http.hosts[1], "b");
	ck_assert_uint_eq(again.limits.queue, 17);
	free(first);
	free(second);
	conf_done(&conf);
	conf_done(&again);
}
END_TEST

static char *source_text(const char *name)
{
	const char *srcdir = getenv("srcdir");
	CLEAN(buf_done) struct buf text = BUF_INIT;
	char path[4096], part[4096];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", srcdir ? srcdir : ".", name);
	f = fopen(path, "r");
	if (!f)
		ck_abort_msg("cannot open %s", path);
	while ((n = fread(part, 1, sizeof(part), f)) > 0)
		buf_add(&text, part, n);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert(!text.failed);
	return buf_take(&text);
}

START_TEST(the_shipped_file_is_the_table_commented_out)
{
	char *shipped = source_text("etc/tracespool.conf");
	char *printed = print(NULL, true);

	ck_assert_str_eq(shipped, printed);
	free(shipped);
	free(printed);
}
END_TEST

START_TEST(the_shipped_file_without_its_comment_signs_is_the_defaults)
{
	char *shipped = source_text("etc/tracespool.conf");
	CLEAN(buf_done) struct buf text = BUF_INIT;
	struct conf conf, defaults;
	char *a, *b, *rest = shipped;

	for (char *line; (line = strsep(&rest, "\n"));) {
		bool setting = line[0] == '#' && line[1] >= 'a' && line[1] <= 'z';

		buf_printf(&text, "%s\n", line + setting);
	}
	load(&conf, file_of("t.conf", text.data), NULL, 0);
	load(&defaults, "/dev/null", NULL, 0);
	a = print(&conf, false);
	b = print(&defaults, false);
	ck_assert_str_eq(a, b);
	free(a);
	free(b);
	free(shipped);
	conf_done(&conf);
	conf_done(&defaults);
}
END_TEST

/* Each setting has an item `.It Va KEY Pq Li DEFAULT` (`Pq empty` where there is none), with
 * `reload` behind those that HUP reads; there are no other items of that form. */
START_TEST(the_manual_has_each_setting_with_its_default)
{
	char *manual = source_text("man/tracespool.conf.5");
	const char *key, *preset;
	unsigned items = 0, n;

	for (n = 0; (key = conf_key(n, &preset, NULL)); n++) {
		char want[256];

		snprintf(want, sizeof(want), "\n.It Va %s Pq %s%s", key, *preset ? "Li " : "empty",
			 preset);
		if (!strstr(manual, want))
			ck_abort_msg("no item%s", want);
	}
	for (const char *p = manual; (p = strstr(p, "\n.It Va ")); p++)
		items++;
	ck_assert_uint_eq(items, n);
	ck_assert_uint_eq(n, 26);
	free(manual);
}
END_TEST

START_TEST(a_reload_changes_five_settings_and_names_the_rest)
{
	static const char *const options[] = {
		"spool.idle_ms=5",       "spool.after=keep",   "store.min_free_bytes=6",
		"spool.settle_ms=7",     "http.hosts=a",       "ingest.on_run_id_conflict=replace",
		"spool.path=/elsewhere", "ingest.salvage=true"};
	const char *later[8];
	struct conf live, fresh;

	load(&live, "/dev/null", NULL, 0);
	load(&fresh, "/dev/null", options, ARRAY_LEN(options));
	ck_assert_uint_eq(conf_reload(&live, &fresh, later, 8), 3);
	ck_assert_str_eq(later[0], "spool.path");
	ck_assert_str_eq(later[1], "spool.settle_ms");
	ck_assert_str_eq(later[2], "http.hosts");
	ck_assert_uint_eq(live.spool.idle_ms, 5);
	ck_assert_int_eq(live.spool.after, AFTER_KEEP);
	ck_assert_uint_eq(live.store.min_free_bytes, 6);
	ck_assert_int_eq(live.ingest.on_run_id_conflict, CONFLICT_REPLACE);
	ck_assert_int_eq(live.ingest.salvage, SWITCH_ON);
	ck_assert_uint_eq(live.spool.settle_ms, 2000);
	ck_assert_str_eq(live.spool.path, "/var/spool/tracespool");
	ck_assert_uint_eq(conf_reload(&live, &fresh, later, 2), 2);
	conf_done(&live);
	conf_done(&fresh);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("conf");
	TCase *all = tcase_create("conf");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(all, make_folder, remove_folder);
	tcase_add_test(all, an_empty_file_gives_the_defaults);
	tcase_add_test(all, later_sources_win_over_earlier_ones);
	tcase_add_test(all, a_drop_in_is_named_in_the_message);
	tcase_add_test(all, comments_blanks_and_line_ends_are_left_out);
	tcase_add_test(all, a_list_and_a_socket_can_be_empty_and_a_path_cannot);
	tcase_add_test(all, an_unknown_key_is_refused_with_its_line_and_a_near_one);
	tcase_add_test(all, a_key_that_is_near_to_none_gets_no_suggestion);
	tcase_add_test(all, a_repeated_key_is_refused_with_both_lines);
	tcase_add_test(all, lines_that_are_no_setting_are_refused);
	tcase_add_test(all, a_file_that_was_named_must_be_there);
	tcase_add_test(all, what_is_printed_reads_back_the_same);
	tcase_add_test(all, the_shipped_file_is_the_table_commented_out);
	tcase_add_test(all, the_shipped_file_without_its_comment_signs_is_the_defaults);
	tcase_add_test(all, the_manual_has_each_setting_with_its_default);
	tcase_add_test(all, a_reload_changes_five_settings_and_names_the_rest);
	suite_add_tcase(suite, all);
	suite_add_tcase(suite, conf_values_case());
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
