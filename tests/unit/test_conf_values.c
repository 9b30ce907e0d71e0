/* test_conf_values.c: what values each kind of setting takes, to the ends of the ranges, and the
 * rules that hold between settings.
 */
#include <stdio.h>
#include <unistd.h>

#include "test_conf.h"

START_TEST(numbers_keep_their_range_to_the_last_one)
{
	static const struct {
		const char *key;
		unsigned long long min, max;
	} rows[] = {
		{"spool.settle_ms", 1, 3600000},
		{"spool.scan_ms", 10, 3600000},
		{"spool.idle_ms", 1, 2592000000},
		{"store.min_free_bytes", 0, 1152921504606846976},
		{"store.wal_limit_bytes", 1048576, 1099511627776},
		{"ingest.workers", 0, 256},
		{"http.threads", 1, 64},
		{"limits.line_bytes", 67108864, 1073741824},
		{"limits.expansion_ratio", 1, 100000},
		{"limits.shards", 1, 1000000},
		{"limits.queue", 1, 10000000},
		{"limits.streams", 1, 65536},
		{"limits.page_ms", 1, 600000},
		{"limits.kept_bytes", 0, 1073741824},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char low[64], high[64], option[64], want[256];
		const char *options[2] = {low, high};
		struct conf conf;

		snprintf(low, sizeof(low), "%s=%llu", rows[i].key, rows[i].min);
		snprintf(high, sizeof(high), "%s=%llu", rows[i].key, rows[i].max);
		load(&conf, "/dev/null", options, 2);
		conf_done(&conf);
		for (int above = 0; above < 2; above++) {
			unsigned long long v = above ? rows[i].max + 1 : rows[i].min - 1;

			if (!above && rows[i].min == 0)
				continue;
			snprintf(option, sizeof(option), "%s=%llu", rows[i].key, v);
			snprintf(want, sizeof(want), "-o: %s = %llu is not within %llu to %llu",
				 rows[i].key, v, rows[i].min, rows[i].max);
			option_refused(option, want);
		}
	}
}
END_TEST

START_TEST(what_is_no_number_is_refused)
{
	static const char *const texts[] = {"-1",   "+1", "1.5", "64M",
					    "0x10", "",   "1 2", "18446744073709551616"};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		char option[64], want[128];

		snprintf(option, sizeof(option), "limits.queue=%s", texts[i]);
		snprintf(want, sizeof(want),
			 "-o: limits.queue = %s is not a whole number in digits", texts[i]);
		option_refused(option, want);
	}
}
END_TEST

START_TEST(words_are_those_of_the_table)
{
	static const char *const options[] = {"spool.after=keep",
					      "ingest.on_run_id_conflict=replace"};
	struct conf conf;

	load(&conf, "/dev/null", options, 2);
	ck_assert_int_eq(conf.spool.after, AFTER_KEEP);
	ck_assert_int_eq(conf.ingest.on_run_id_conflict, CONFLICT_REPLACE);
	conf_done(&conf);
	option_refused("spool.after=Keep",
		       "-o: spool.after = Keep is not one of: archive delete keep");
}
END_TEST

START_TEST(addresses_are_numeric_with_a_port_and_loopback)
{
	static const char *const bad[] = {
		"127.0.0.1", "localhost",     "127.0.0.1:65536", "127.0.0.1:http", "::1:7117",
		"[::1]7117", "[127.0.0.1]:1", "127.0.0.1:",      ":7117",          "[]:1"};
	const char *free_port = "http.listen=127.0.0.1:0 localhost:7";
	struct conf conf;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char option[64], want[128];

		snprintf(option, sizeof(option), "http.listen=%s", bad[i]);
		snprintf(want, sizeof(want),
			 "-o: http.listen = %s is not ADDRESS:PORT or [ADDRESS]:PORT", bad[i]);
		option_refused(option, want);
	}
	load(&conf, "/dev/null", &free_port, 1);
	ck_assert_str_eq(conf.http.listen[0], "127.0.0.1:0");
	ck_assert_str_eq(conf.http.listen[1], "localhost:7");
	conf_done(&conf);
	option_refused("http.listen=127.0.0.1:1 0.0.0.0:7117",
		       "http.listen = 0.0.0.0:7117 is not a loopback address: without tokens no "
		       "other is served");
}
END_TEST

START_TEST(a_relative_path_counts_only_in_an_option)
{
	const char *option = "spool.path=in//";
	char cwd[2048], want[2100];
	struct conf conf;

	ck_assert_ptr_nonnull(getcwd(cwd, sizeof(cwd)));
	load(&conf, "/dev/null", &option, 1);
	snprintf(want, sizeof(want), "%s/in", cwd);
	ck_assert_str_eq(conf.spool.path, want);
	conf_done(&conf);
	refused_as("spool.path = in\n", ":1: spool.path = in is not an absolute path");
}
END_TEST

START_TEST(visible_folders_below_the_drop_folder_are_refused)
{
	option_refused("spool.archive_path=done",
		       "spool.archive_path = done lies in the drop folder and would be taken for a "
		       "drop: give it a name with a leading dot");
	option_refused("store.path=/var/spool/tracespool/db",
		       "store.path = /var/spool/tracespool/db lies in the drop folder and would be "
		       "taken for a drop: give it a name with a leading dot");
	option_refused("store.path=/var/spool/tracespool",
		       "store.path = /var/spool/tracespool lies in the drop folder and would be "
		       "taken for a drop: give it a name with a leading dot");
	option_refused("spool.quarantine_path=.active",
		       "spool.quarantine_path = .active is a folder that the daemon needs itself");
	option_refused("spool.quarantine_path=.archive",
		       "spool.archive_path and spool.quarantine_path are the same folder");
	option_refused("spool.archive_path=.a/../../x",
		       "-o: spool.archive_path = .a/../../x has \"..\" in it");
}
END_TEST

START_TEST(a_neighbour_of_the_drop_folder_is_no_part_of_it)
{
	static const char *const options[] = {"store.path=/var/spool/tracespool-db",
					      "spool.archive_path=/srv/a..b",
					      "spool.quarantine_path=.bad/files"};
	struct conf conf;

	load(&conf, "/dev/null", options, 3);
	ck_assert_str_eq(conf.spool.archive_path, "/srv/a..b");
	conf_done(&conf);
}
END_TEST

START_TEST(prefixes_hosts_and_sockets_are_checked)
{
	static const char *const good[] = {"http.base_path=/a/b-c", "http.hosts=Box-1 a.b_c",
					   "http.socket=/run/tracespool/http.sock"};
	struct conf conf;

	load(&conf, "/dev/null", good, 3);
	ck_assert_str_eq(conf.http.base_path, "/a/b-c");
	conf_done(&conf);
	option_refused("http.base_path=a", "-o: http.base_path = a is not a path such as /traces");
	option_refused("http.base_path=/", "-o: http.base_path = / is not a path such as /traces");
	option_refused("http.base_path=/a//b",
		       "-o: http.base_path = /a//b is not a path such as /traces");
	option_refused("http.base_path=/..",
		       "-o: http.base_path = /.. is not a path such as /traces");
	option_refused("http.hosts=a/b", "-o: http.hosts = a/b is not a host name");
	option_refused("http.socket=/"
		       "0123456789012345678901234567890123456789012345678901234567890123456789"
		       "01234567890123456789012345678901234567",
		       "-o: http.socket = /"
		       "0123456789012345678901234567890123456789012345678901234567890123456789"
		       "01234567890123456789012345678901234567 is too long for a socket");
}
END_TEST

START_TEST(each_pool_thread_gets_a_connection)
{
	option_refused("limits.connections=3",
		       "limits.connections = 3 is less than http.threads = 4: each thread needs "
		       "one");
}
END_TEST

START_TEST(an_option_cannot_say_what_a_file_could_not)
{
	option_refused("spool.path=/a #b", "-o: spool.path = /a #b has a # that begins a comment");
	option_refused("spool.path=/a\nx", "-o: spool.path = /a\\nx has control bytes");
}
END_TEST

START_TEST(settings_of_later_parts_are_unknown)
{
	static const char *const keys[] = {"retention.max_runs", "http.token_file",
					   "http.cors_origins", "limits.upload_bytes",
					   "limits.events"};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		char option[64], want[128];

		snprintf(option, sizeof(option), "%s=1", keys[i]);
		snprintf(want, sizeof(want), "-o: unknown setting %s", keys[i]);
		option_refused(option, want);
	}
}
END_TEST

TCase *conf_values_case(void)
{
	TCase *all = tcase_create("values");

	tcase_add_checked_fixture(all, make_folder, remove_folder);
	tcase_add_test(all, numbers_keep_their_range_to_the_last_one);
	tcase_add_test(all, what_is_no_number_is_refused);
	tcase_add_test(all, words_are_those_of_the_table);
	tcase_add_test(all, addresses_are_numeric_with_a_port_and_loopback);
	tcase_add_test(all, a_relative_path_counts_only_in_an_option);
	tcase_add_test(all, visible_folders_below_the_drop_folder_are_refused);
	tcase_add_test(all, a_neighbour_of_the_drop_folder_is_no_part_of_it);
	tcase_add_test(all, prefixes_hosts_and_sockets_are_checked);
	tcase_add_test(all, each_pool_thread_gets_a_connection);
	tcase_add_test(all, an_option_cannot_say_what_a_file_could_not);
	tcase_add_test(all, settings_of_later_parts_are_unknown);
	return all;
}
