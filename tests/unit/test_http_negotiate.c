/* test_http_negotiate.c: Accept, Accept-Encoding, If-None-Match and Host are read as HTTP says */
#include "test_http.h"

#include "negotiate.h"

static const char *const types[] = {"application/json", "application/x-ndjson", "application/jsonl",
				    NULL};

static int type_of(const char *accept)
{
	return negotiate_type(ts_str_c(accept), types);
}

START_TEST(the_best_weight_wins_and_ties_go_to_the_first)
{
	ck_assert_int_eq(type_of(NULL), 0);
	ck_assert_int_eq(type_of(""), 0);
	ck_assert_int_eq(type_of("*/*"), 0);
	ck_assert_int_eq(type_of("application/*"), 0);
	ck_assert_int_eq(type_of("application/x-ndjson"), 1);
	ck_assert_int_eq(type_of("application/jsonl"), 2);
	ck_assert_int_eq(type_of("APPLICATION/JSONL"), 2);
	ck_assert_int_eq(type_of("application/x-ndjson, application/json"), 0);
	ck_assert_int_eq(type_of("application/x-ndjson, application/json;q=0.9"), 1);
	ck_assert_int_eq(type_of("application/x-ndjson, */*;q=0.1"), 1);
	ck_assert_int_eq(type_of("text/html,application/xhtml+xml,*/*;q=0.8"), 0);
	ck_assert_int_eq(type_of("application/json; q=0.5 , application/jsonl ;q=0.75"), 2);
}
END_TEST

START_TEST(the_closest_range_decides_also_when_it_says_no)
{
	ck_assert_int_eq(type_of("*/*, application/json;q=0"), 1);
	ck_assert_int_eq(type_of("application/*;q=0.2, application/jsonl;q=0.3"), 2);
	ck_assert_int_eq(type_of("application/*;q=0, */*"), -1);
}
END_TEST

START_TEST(what_nothing_fits_is_told)
{
	ck_assert_int_eq(type_of("text/csv"), -1);
	ck_assert_int_eq(type_of("application/json;q=0"), -1);
	ck_assert_int_eq(type_of("application/json-seq"), -1);
	ck_assert_int_eq(type_of("text/*"), -1);
}
END_TEST

static bool gzip_by(const char *accept)
{
	return negotiate_gzip(ts_str_c(accept));
}

START_TEST(gzip_is_sent_only_to_those_who_ask)
{
	ck_assert(!gzip_by(NULL));
	ck_assert(!gzip_by(""));
	ck_assert(!gzip_by("identity"));
	ck_assert(!gzip_by("br, deflate"));
	ck_assert(!gzip_by("gzip;q=0"));
	ck_assert(!gzip_by("gzip;q=0.000, *"));
	ck_assert(!gzip_by("*;q=0"));
	ck_assert(!gzip_by("notgzip"));
	ck_assert(gzip_by("gzip"));
	ck_assert(gzip_by("deflate, gzip;q=0.001, br"));
	ck_assert(gzip_by("GZip"));
	ck_assert(gzip_by("x-gzip"));
	ck_assert(gzip_by("*"));
	ck_assert(gzip_by("*;q=0, gzip"));
}
END_TEST

static bool same(const char *list, bool gzip, bool *ret)
{
	return negotiate_unchanged(ts_str_c(list), TS_STR("3f9c.1.s1"), gzip, ret);
}

START_TEST(a_validator_is_found_in_a_list_weak_or_strong)
{
	bool gz = true;

	ck_assert(same("\"3f9c.1.s1\"", false, &gz));
	ck_assert(!gz);
	ck_assert(same("W/\"3f9c.1.s1\"", false, &gz));
	ck_assert(same("\"a\", \"b,c\" ,W/\"3f9c.1.s1\"", true, &gz));
	ck_assert(!gz);
	ck_assert(same(" * ", true, &gz));
	ck_assert(gz);
	ck_assert(same("*", false, &gz));
	ck_assert(!gz);
}
END_TEST

START_TEST(the_compressed_form_counts_only_where_it_is_accepted)
{
	bool gz = false;

	ck_assert(same("\"3f9c.1.s1.gz\"", true, &gz));
	ck_assert(gz);
	ck_assert(!same("\"3f9c.1.s1.gz\"", false, &gz));
}
END_TEST

START_TEST(other_validators_and_rubbish_do_not_fit)
{
	static const char *const others[] = {"",
					     "\"3f9c.2.s1\"",
					     "3f9c.1.s1",
					     "\"3f9c.1.s1",
					     "\"3f9c.1.s1.gzz\"",
					     "\"\"",
					     "w/\"3f9c.1.s1\"",
					     "\"*\"",
					     "W/",
					     ",",
					     "\"3f9c.1.s\"",
					     NULL};
	bool gz;

	for (size_t i = 0; others[i]; i++)
		ck_assert_msg(!same(others[i], true, &gz), "%s", others[i]);
	ck_assert(!same(NULL, true, &gz));
}
END_TEST

static char own_name[] = "Traces.Example";
static char *own_names[] = {own_name, NULL};

static bool host(const char *value)
{
	return negotiate_host(ts_str_c(value), "127.0.0.1:7117", own_names);
}

START_TEST(hosts_that_mean_this_machine_are_served_with_any_port)
{
	ck_assert(host("localhost"));
	ck_assert(host("LOCALHOST:80"));
	ck_assert(host("localhost."));
	ck_assert(host("127.0.0.1"));
	ck_assert(host("127.8.9.10:9000"));
	ck_assert(host("[::1]"));
	ck_assert(host("[::1]:7117"));
	ck_assert(host("traces.example:443"));
}
END_TEST

START_TEST(foreign_hosts_are_not_served)
{
	static const char *const foreign[] = {"",
					      ":80",
					      "evil.example",
					      "localhost.evil.example",
					      "127.0.0.1.evil.example",
					      "10.0.0.1",
					      "[::2]",
					      "[::1",
					      "[::1]x",
					      "traces.example.evil",
					      "xlocalhost"};

	for (size_t i = 0; i < ARRAY_LEN(foreign); i++)
		ck_assert_msg(!host(foreign[i]), "%s", foreign[i]);
	ck_assert(!host(NULL));
}
END_TEST

START_TEST(a_single_range_is_cut_to_what_there_is)
{
	static const struct {
		const char *header;
		uint64_t size;
		enum range want;
		uint64_t from, length;
	} rows[] = {
		{"bytes=0-0", 10, RANGE_PART, 0, 1},
		{"bytes=2-", 10, RANGE_PART, 2, 8},
		{"bytes=2-99", 10, RANGE_PART, 2, 8},
		{"bytes=-3", 10, RANGE_PART, 7, 3},
		{"bytes=-99", 10, RANGE_PART, 0, 10},
		{"BYTES = 1 - 2", 10, RANGE_PART, 1, 2},
		{"bytes=9-18446744073709551615", 10, RANGE_PART, 9, 1},
		{"bytes=10-", 10, RANGE_OUTSIDE, 0, 0},
		{"bytes=0-", 0, RANGE_OUTSIDE, 0, 0},
		{"bytes=-0", 10, RANGE_OUTSIDE, 0, 0},
		{"bytes=3-2", 10, RANGE_ALL, 0, 0},
		{"bytes=0-1,4-5", 10, RANGE_ALL, 0, 0},
		{"lines=0-1", 10, RANGE_ALL, 0, 0},
		{"bytes=a-b", 10, RANGE_ALL, 0, 0},
		{"bytes=-", 10, RANGE_ALL, 0, 0},
		{"bytes=", 10, RANGE_ALL, 0, 0},
		{"bytes", 10, RANGE_ALL, 0, 0},
		{"bytes=18446744073709551616-", 10, RANGE_ALL, 0, 0},
		{"", 10, RANGE_ALL, 0, 0},
		{NULL, 10, RANGE_ALL, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t from = 0, length = 0;

		ck_assert_msg(negotiate_range(ts_str_c(rows[i].header), rows[i].size, &from,
					      &length) == rows[i].want &&
				      from == rows[i].from && length == rows[i].length,
			      "%s of %llu", rows[i].header ? rows[i].header : "none",
			      (unsigned long long)rows[i].size);
	}
}
END_TEST

Suite *http_negotiate_suite(void)
{
	Suite *s = suite_create("http: what headers ask for");
	TCase *c = tcase_create("negotiate");

	tcase_add_test(c, a_single_range_is_cut_to_what_there_is);
	tcase_add_test(c, the_best_weight_wins_and_ties_go_to_the_first);
	tcase_add_test(c, the_closest_range_decides_also_when_it_says_no);
	tcase_add_test(c, what_nothing_fits_is_told);
	tcase_add_test(c, gzip_is_sent_only_to_those_who_ask);
	tcase_add_test(c, a_validator_is_found_in_a_list_weak_or_strong);
	tcase_add_test(c, the_compressed_form_counts_only_where_it_is_accepted);
	tcase_add_test(c, other_validators_and_rubbish_do_not_fit);
	tcase_add_test(c, hosts_that_mean_this_machine_are_served_with_any_port);
	tcase_add_test(c, foreign_hosts_are_not_served);
	suite_add_tcase(s, c);
	return s;
}
