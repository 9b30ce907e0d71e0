/* test_http_target.c: targets are split before they are decoded; routes and their parameters */
#include <string.h>

#include "test_http.h"

#include "router.h"
#include "target.h"

static struct arena arena;
static struct target t;

static void setup(void)
{
	arena = (struct arena){0};
}

static void teardown(void)
{
	arena_done(&arena);
}

static int decode(const char *sent, struct ts_error *err)
{
	target_split(&t, ts_str_c(sent), "");
	return target_decode_path(&t, &arena, err) < 0 ? -1 : target_decode_query(&t, &arena, err);
}

static void decode_well(const char *sent)
{
	struct ts_error err = TS_ERROR_INIT;

	ck_assert_msg(decode(sent, &err) == 0, "%s: %s", sent, err.message);
}

START_TEST(an_encoded_slash_does_not_split_a_segment)
{
	decode_well("/runs/lab%2Fmnist%3A%3Atrain-0007/summary");
	ck_assert_uint_eq(t.segment_count, 3);
	ck_assert(ts_str_is(t.segment[0], "runs"));
	ck_assert(ts_str_is(t.segment[1], "lab/mnist::train-0007"));
	ck_assert(ts_str_is(t.segment[2], "summary"));
}
END_TEST

START_TEST(a_plus_is_a_space_in_the_query_only)
{
	decode_well("/runs/a+b%2bc?tag.x=a+b%2Bc");
	ck_assert(ts_str_is(t.segment[1], "a+b+c"));
	ck_assert_uint_eq(t.param_count, 1);
	ck_assert(ts_str_is(t.params[0].name, "tag.x"));
	ck_assert(ts_str_is(t.params[0].value, "a b+c"));
}
END_TEST

START_TEST(bytes_that_are_not_ascii_stay_as_they_are)
{
	decode_well("/runs/m%C3%BCnchen%FF");
	ck_assert(ts_str_is(t.segment[1], "m\xc3\xbcnchen\xff"));
}
END_TEST

START_TEST(pairs_may_be_empty_or_without_a_value)
{
	decode_well("/runs?a=1&&b&c=&d=x=y&");
	ck_assert_uint_eq(t.param_count, 4);
	ck_assert(ts_str_is(t.params[1].name, "b"));
	ck_assert(ts_str_is(t.params[1].value, ""));
	ck_assert(ts_str_is(t.params[2].value, ""));
	ck_assert(ts_str_is(t.params[3].value, "x=y"));
}
END_TEST

START_TEST(bad_escapes_and_zero_bytes_are_refused)
{
	static const char *const bad[] = {
		"/runs/%",   "/runs/%4",   "/runs/a%zz",  "/runs/%4g", "/runs/%00",
		"/runs?a=%", "/runs?a=%0", "/runs?%00=1", "/%",        "/runs?a=1&b=%x1"};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct ts_error err = TS_ERROR_INIT;

		ck_assert_msg(decode(bad[i], &err) < 0, "%s", bad[i]);
		ck_assert_str_eq(err.code->code, "bad_encoding");
	}
	decode_well("/runs/%41?a=%41");
}
END_TEST

START_TEST(slashes_at_the_end_make_empty_segments)
{
	decode_well("/");
	ck_assert_uint_eq(t.segment_count, 0);
	decode_well("/runs/");
	ck_assert_uint_eq(t.segment_count, 2);
	ck_assert_uint_eq(t.segment[1].n, 0);
	decode_well("//");
	ck_assert_uint_eq(t.segment_count, 2);
}
END_TEST

START_TEST(an_absolute_target_names_its_host)
{
	target_split(&t, TS_STR("http://Host.example:81/runs?x=1"), "");
	ck_assert(ts_str_is(t.authority, "Host.example:81"));
	ck_assert(ts_str_is(t.path, "/runs"));
	ck_assert(ts_str_is(t.query, "x=1"));
	target_split(&t, TS_STR("http://host.example"), "");
	ck_assert(ts_str_is(t.path, "/"));
	target_split(&t, TS_STR("/http://host.example"), "");
	ck_assert_ptr_null(t.authority.p);
}
END_TEST

START_TEST(the_base_path_is_taken_off_as_a_whole_segment)
{
	target_split(&t, TS_STR("/ts/runs?x"), "/ts");
	ck_assert(ts_str_is(t.raw, "/runs?x"));
	target_split(&t, TS_STR("/ts"), "/ts");
	ck_assert(ts_str_is(t.path, "/"));
	target_split(&t, TS_STR("/tsx/runs"), "/ts");
	ck_assert(ts_str_is(t.path, "/tsx/runs"));
	target_split(&t, TS_STR("/runs"), "/ts");
	ck_assert(ts_str_is(t.path, "/runs"));
}
END_TEST

static void check_next(const char *sent, const char *expected)
{
	struct buf url = BUF_INIT;

	decode_well(sent);
	target_next_page(&t, "/ts", 7, TS_STR("a/b=="), &url);
	ck_assert_str_eq(url.data, expected);
	buf_done(&url);
}

START_TEST(the_next_page_keeps_all_but_cursor_and_limit)
{
	check_next("/runs", "/ts/runs?cursor=a%2Fb%3D%3D&limit=7");
	check_next("/runs?limit=3&kind=requests&cursor=old&sort=-id",
		   "/ts/runs?kind=requests&sort=-id&cursor=a%2Fb%3D%3D&limit=7");
	/* The same names in other spellings. */
	check_next("/runs?l%69mit=3&%63ursor=old", "/ts/runs?cursor=a%2Fb%3D%3D&limit=7");
	/* Nothing may end the header or the brackets around the link. */
	check_next("/runs?id_prefix=%0d%0aX:1>\"<\x7f",
		   "/ts/runs?id_prefix=%0d%0aX:1%3E%22%3C%7F&cursor=a%2Fb%3D%3D&limit=7");
}
END_TEST

static const char *pattern_of(const char *sent, struct ts_str *ret_var)
{
	const struct route *route;

	decode_well(sent);
	route = route_find(http_routes, &t, ret_var);
	return route ? route->pattern : "none";
}

START_TEST(paths_find_their_route)
{
	struct ts_str var = {NULL, 0};

	ck_assert_str_eq(pattern_of("/", &var), "/");
	ck_assert_str_eq(pattern_of("/runs?limit=1", &var), "/runs");
	ck_assert_str_eq(pattern_of("/runs/a%2Fsummary", &var), "/runs/{id}");
	ck_assert(ts_str_is(var, "a/summary"));
	ck_assert_str_eq(pattern_of("/runs/a/summary", &var), "/runs/{id}/summary");
	ck_assert(ts_str_is(var, "a"));
	ck_assert_str_eq(pattern_of("/runs/receipts/replay", &var), "/runs/{id}/replay");
	ck_assert_str_eq(pattern_of("/ingest/receipts", &var), "/ingest/receipts");
	ck_assert_str_eq(pattern_of("/ingest/receipts/x.jsonl", &var), "/ingest/receipts/{key}");
	ck_assert_str_eq(pattern_of("/problems/bad_json", &var), "/problems/{code}");
}
END_TEST

START_TEST(other_paths_find_none)
{
	static const char *const paths[] = {"/run",
					    "/runs/",
					    "//",
					    "/runs//summary",
					    "/runs/a/summary/",
					    "/Runs",
					    "/runs/a/nope",
					    "/a/b/c/d/e/f/g/h",
					    "/runs%2Fa",
					    "*",
					    "runs"};
	struct ts_str var;

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		ck_assert_msg(strcmp(pattern_of(paths[i], &var), "none") == 0, "%s", paths[i]);
}
END_TEST

START_TEST(a_route_knows_its_parameters_filters_and_the_common_ones)
{
	struct ts_str var;
	struct buf names = BUF_INIT;
	const struct route *runs, *health, *summary;

	decode_well("/runs");
	runs = route_find(http_routes, &t, &var);
	decode_well("/healthz");
	health = route_find(http_routes, &t, &var);
	decode_well("/runs/a/summary");
	summary = route_find(http_routes, &t, &var);
	ck_assert(route_knows(runs, TS_STR("limit")));
	ck_assert(route_knows(runs, TS_STR("entrypoint_prefix")));
	ck_assert(route_knows(runs, TS_STR("tag.git")));
	ck_assert(route_knows(runs, TS_STR("pretty")));
	ck_assert(!route_knows(runs, TS_STR("limmit")));
	ck_assert(!route_knows(runs, TS_STR("tag.")));
	ck_assert(!route_knows(runs, TS_STR("top")));
	ck_assert(route_knows(summary, TS_STR("top")));
	ck_assert(!route_knows(summary, TS_STR("limit")));
	ck_assert(route_knows(health, TS_STR("_")));
	ck_assert(route_knows(health, TS_STR("_cache")));
	ck_assert(!route_knows(health, TS_STR("")));
	route_list_params(summary, &names);
	ck_assert_str_eq(names.data, "top, format, pretty, numbers");
	buf_done(&names);
}
END_TEST

Suite *http_target_suite(void)
{
	Suite *s = suite_create("http: targets and routes");
	TCase *c = tcase_create("targets");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, an_encoded_slash_does_not_split_a_segment);
	tcase_add_test(c, a_plus_is_a_space_in_the_query_only);
	tcase_add_test(c, bytes_that_are_not_ascii_stay_as_they_are);
	tcase_add_test(c, pairs_may_be_empty_or_without_a_value);
	tcase_add_test(c, bad_escapes_and_zero_bytes_are_refused);
	tcase_add_test(c, slashes_at_the_end_make_empty_segments);
	tcase_add_test(c, an_absolute_target_names_its_host);
	tcase_add_test(c, the_base_path_is_taken_off_as_a_whole_segment);
	tcase_add_test(c, the_next_page_keeps_all_but_cursor_and_limit);
	tcase_add_test(c, paths_find_their_route);
	tcase_add_test(c, other_paths_find_none);
	tcase_add_test(c, a_route_knows_its_parameters_filters_and_the_common_ones);
	suite_add_tcase(s, c);
	return s;
}
