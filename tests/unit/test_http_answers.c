/* test_http_answers.c: single answers over a real server: errors, ids, validators, compression */
#include <stdlib.h>
#include <string.h>

#include "test_http.h"

static struct reply r, r2;

START_TEST(a_head_has_the_headers_of_a_get_and_no_body)
{
	static const char *const paths[] = {
		"/",     "/healthz",    "/readyz",       "/problems/bad_json",   "/runs", "/ingest",
		"/nope", "/quarantine", "/runs?limit=0", "/ingest/receipts/none"};

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		char length[32];

		ask(at, "GET", paths[i], "", &r);
		ask(at, "HEAD", paths[i], "", &r2);
		ck_assert_int_eq(r.status, r2.status);
		ck_assert_uint_eq(r2.body.len, 0);
		ck_assert_uint_gt(r.body.len, 0);
		ck_assert_int_eq(r.body.data[r.body.len - 1], '\n');
		snprintf(length, sizeof(length), "%s", header_of(&r, "Content-Length"));
		/* The log_id of a problem differs, and its length does not. */
		if (strstr(paths[i], "ingest") == NULL)
			ck_assert_str_eq(header_of(&r2, "Content-Length"), length);
		ck_assert_str_eq(header_of(&r2, "Vary"),
				 "Accept, Accept-Encoding, Authorization, Origin");
		reply_done(&r);
		reply_done(&r2);
	}
}
END_TEST

START_TEST(the_index_names_the_paths_and_health_is_plain)
{
	json_t *index = get_json("/", 200), *health = get_json("/healthz", 200);
	json_t *version = get_json("/version", 200), *ready = get_json("/readyz", 200);
	bool found = false;
	json_t *path;
	size_t i;

	json_array_foreach(member(index, "paths"), i, path) found =
		found || strcmp(json_string_value(path), "/runs/{id}/summary") == 0;
	ck_assert(found);
	ck_assert_str_eq(text_of(health, "status"), "ok");
	ck_assert_uint_eq(json_object_size(health), 1);
	ck_assert_str_eq(text_of(version, "schema"), "tracespool/version/1");
	ck_assert_int_ge(number_of(version, "store_schema"), 2);
	ck_assert_uint_eq(json_array_size(member(version, "trace_schemas_read")), 3);
	ck_assert_str_eq(text_of(ready, "status"), "ready");
	ck_assert_str_eq(text_of(ready, "checks.store"), "ok");
	ck_assert_str_eq(text_of(ready, "checks.spool"), "ok");
	ck_assert_str_eq(text_of(ready, "checks.watch"), "ok");
	ck_assert_str_eq(text_of(ready, "checks.disk"), "ok");
	json_decref(index);
	json_decref(health);
	json_decref(version);
	json_decref(ready);
}
END_TEST

START_TEST(a_spool_that_was_moved_away_is_not_ready)
{
	json_t *ready;

	bench_rename(&served, "spool", "elsewhere");
	get("/readyz", 503, &r);
	ck_assert_ptr_nonnull(header_of(&r, "Retry-After"));
	ready = json_of(&r);
	ck_assert_str_eq(text_of(ready, "status"), "not_ready");
	ck_assert_str_ne(text_of(ready, "checks.spool"), "ok");
	ck_assert_str_eq(text_of(ready, "checks.store"), "ok");
	bench_rename(&served, "elsewhere", "spool");
	json_decref(ready);
	reply_done(&r);
}
END_TEST

START_TEST(a_problem_has_all_its_members)
{
	json_t *problem;

	get("/runs?limmit=3", 400, &r);
	ck_assert_str_eq(header_of(&r, "Content-Type"), "application/problem+json");
	ck_assert_str_eq(header_of(&r, "Cache-Control"), "no-store");
	problem = json_of(&r);
	ck_assert_str_eq(text_of(problem, "type"), "/problems/unknown_parameter");
	ck_assert_int_eq(number_of(problem, "status"), 400);
	ck_assert_str_eq(text_of(problem, "code"), "unknown_parameter");
	ck_assert_ptr_nonnull(strstr(text_of(problem, "detail"), "limit"));
	ck_assert_str_eq(text_of(problem, "instance"), "/runs?limmit=3");
	ck_assert_str_eq(text_of(problem, "parameter"), "limmit");
	ck_assert_uint_eq(strlen(text_of(problem, "log_id")), 8);
	ck_assert_uint_gt(strlen(text_of(problem, "title")), 0);
	json_decref(problem);
	problem = get_json("/problems/unknown_parameter", 200);
	ck_assert_int_eq(number_of(problem, "status"), 400);
	json_decref(problem);
	/* One that only receipts have answers no request. */
	problem = get_json("/problems/missing_terminal", 200);
	ck_assert(is_null(problem, "status"));
	ck_assert_ptr_nonnull(strstr(text_of(problem, "hint"), "died"));
	json_decref(problem);
	reply_done(&r);
}
END_TEST

START_TEST(each_mistake_has_its_code)
{
	static const struct {
		const char *target;
		int status;
		const char *code;
	} mistakes[] = {
		{"/nope", 404, "unknown_path"},
		{"/runs/", 404, "unknown_path"},
		{"/problems/nope", 404, "unknown_path"},
		{"/runs/%zz", 400, "bad_encoding"},
		{"/runs/a%00b", 400, "bad_encoding"},
		{"/runs?x=%", 400, "bad_encoding"},
		{"/healthz?limit=1", 400, "unknown_parameter"},
		{"/runs?limit=1001", 400, "limit_too_large"},
		{"/runs?limit=0", 400, "bad_parameter"},
		{"/runs?limit=-1", 400, "bad_parameter"},
		{"/runs?limit=1&limit=2", 400, "bad_parameter"},
		{"/runs?count=maybe", 400, "bad_parameter"},
		{"/runs?count=1&format=array", 400, "bad_parameter"},
		{"/runs?sort=nope", 400, "bad_parameter"},
		{"/runs?kind=nope", 400, "bad_parameter"},
		{"/runs?from=yesterday", 400, "bad_parameter"},
		{"/runs?fields=id,nope", 400, "bad_parameter"},
		{"/runs?fields=", 400, "bad_parameter"},
		{"/runs?numbers=roman", 400, "bad_parameter"},
		{"/runs?format=dynamo", 400, "bad_parameter"},
		{"/healthz?format=ndjson", 400, "bad_parameter"},
		{"/runs?cursor=nope", 400, "bad_cursor"},
		{"/runs/nope", 404, "unknown_run"},
		{"/runs/nope/summary", 404, "unknown_run"},
		{"/runs/nope/summary?top=51", 400, "bad_parameter"},
		{"/ingest/receipts/nope", 404, "unknown_receipt"},
		{"/ingest/receipts/nope?wait=61", 400, "bad_parameter"},
		{"/ingest/receipts/nope?after=now", 400, "bad_parameter"},
		{"/quarantine/nope", 404, "unknown_receipt"},
		{"/quarantine?state=failed", 400, "bad_parameter"},
	};

	for (size_t i = 0; i < ARRAY_LEN(mistakes); i++) {
		const char *code = problem_of(mistakes[i].target, mistakes[i].status);

		ck_assert_msg(strcmp(code, mistakes[i].code) == 0, "%s: %s", mistakes[i].target,
			      code);
	}
	get("/runs?_=1&_x=%41&limit=1000", 200, &r);
	reply_done(&r);
}
END_TEST

static void expect(const char *method, const char *target, const char *headers, int status,
		   const char *code)
{
	json_t *problem;

	ask(at, method, target, headers, &r);
	ck_assert_msg(r.status == status, "%s %s: %d", method, target, r.status);
	if (code) {
		problem = json_of(&r);
		ck_assert_str_eq(text_of(problem, "code"), code);
		json_decref(problem);
	}
}

START_TEST(other_methods_are_told_what_is_allowed)
{
	static const char *const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"};

	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		expect(methods[i], "/runs", "Content-Length: 0\r\n", 405, "method_not_allowed");
		ck_assert_str_eq(header_of(&r, "Allow"), "GET, HEAD");
		reply_done(&r);
	}
	expect("PUT", "/runs/x", "Content-Length: 99999999\r\nExpect: 100-continue\r\n", 405,
	       "method_not_allowed");
	reply_done(&r);
	expect("PUT", "/nope", "Content-Length: 0\r\n", 404, "unknown_path");
	reply_done(&r);
}
END_TEST

START_TEST(only_hosts_of_this_service_are_answered)
{
	static const char *const bad[] = {"Host: evil.example\r\n",
					  "Host: localhost\r\nHost: evil.example\r\n",
					  "Host: \r\n"};
	static const char *const good[] = {"Host: localhost:9\r\n", "Host: 127.0.0.1\r\n",
					   "Host: [::1]:80\r\n", "Host: traces.example\r\n"};
	struct client c;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		expect("GET", "/healthz", bad[i], 421, "unknown_host");
		reply_done(&r);
	}
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		expect("GET", "/healthz", good[i], 200, NULL);
		reply_done(&r);
	}
	expect("GET", "http://evil.example/healthz", "Host: localhost\r\n", 421, "unknown_host");
	reply_done(&r);
	expect("GET", "http://localhost/healthz", "Host: evil.example\r\n", 200, NULL);
	reply_done(&r);
	client_open(&c, at);
	client_send(&c, "GET /healthz HTTP/1.0\r\n\r\n");
	ck_assert(client_read(&c, &r, false));
	ck_assert_int_eq(r.status, 421);
	reply_done(&r);
	client_close(&c);
}
END_TEST

static void ask_long(char byte, size_t count, int status, const char *code)
{
	char target[8300] = "/runs?_=";

	memset(target + strlen(target), byte, count);
	expect("GET", target, "", status, code);
	reply_done(&r);
}

START_TEST(long_queries_and_heads_have_their_own_codes)
{
	char headers[17000];
	size_t n;

	ask_long('a', 8190, 200, NULL);
	ask_long('a', 8191, 414, "uri_too_long");
	ask_long('{', 2730, 200, NULL); /* what a URI has to encode counts three bytes */
	ask_long('{', 2731, 414, "uri_too_long");
	n = (size_t)snprintf(headers, sizeof(headers), "X-Long: ");
	memset(headers + n, 'a', 16500);
	strcpy(headers + n + 16500, "\r\n");
	expect("GET", "/healthz", headers, 431, "head_too_large");
	reply_done(&r);
	for (n = 0; n < 300; n++) /* one list of many parts, within the limit of a head */
		strcpy(headers + 23 * n, "Accept-Encoding: gzip\r\n");
	expect("GET", "/healthz", headers, 200, NULL);
	reply_done(&r);
}
END_TEST

START_TEST(accept_chooses_the_form_and_format_is_stronger)
{
	expect("GET", "/runs", "Accept: text/csv\r\n", 406, "not_acceptable");
	reply_done(&r);
	expect("GET", "/healthz", "Accept: application/x-ndjson\r\n", 406, "not_acceptable");
	reply_done(&r);
	expect("GET", "/runs?format=json", "Accept: text/csv\r\n", 200, NULL);
	ck_assert_str_eq(header_of(&r, "Content-Type"), "application/json");
	reply_done(&r);
	expect("GET", "/runs", "Accept: application/jsonl\r\n", 200, NULL);
	ck_assert_str_eq(header_of(&r, "Content-Type"), "application/jsonl");
	ck_assert_str_eq(header_of(&r, "Tracespool-Row-Count"), "0");
	ck_assert_uint_eq(r.body.len, 0);
	ck_assert(r.whole);
	reply_done(&r);
}
END_TEST

/* 'a', slash, percent, space, two letters that are not ASCII. */
#define ODD_ID "lab/100% m\xc3\xbcnchen::\xe2\x82\xac"
#define ODD_PATH "/runs/lab%2F100%25%20m%C3%BCnchen%3A%3A%E2%82%AC"

START_TEST(any_id_is_reached_by_its_encoded_path)
{
	json_t *run, *summary;

	ingest_execution("odd.jsonl", ODD_ID);
	run = get_json(ODD_PATH, 200);
	ck_assert_str_eq(text_of(run, "id"), ODD_ID);
	ck_assert_str_eq(text_of(run, "links.self"), ODD_PATH);
	ck_assert_str_eq(text_of(run, "links.summary"), ODD_PATH "/summary");
	ck_assert_str_eq(text_of(run, "trace_schema"), "candle-graph/trace/10");
	ck_assert_int_eq(number_of(run, "store_revision"), 1);
	ck_assert_str_eq(text_of(run, "source.name"), "odd.jsonl");
	ck_assert_str_eq(text_of(run, "meta.run_id"), ODD_ID);
	summary = get_json(ODD_PATH "/summary", 200);
	ck_assert_str_eq(text_of(summary, "id"), ODD_ID);
	ck_assert_int_eq(number_of(summary, "total_ns"), 60);
	/* A slash as it is splits. */
	ck_assert_str_eq(problem_of("/runs/lab/100%25%20m%C3%BCnchen%3A%3A%E2%82%AC", 404),
			 "unknown_path");
	json_decref(run);
	json_decref(summary);
}
END_TEST

START_TEST(a_run_is_the_item_of_the_list_and_more)
{
	static const char *const more[] = {"schema",         "source", "trace_schema",
					   "store_revision", "meta",   "parser_version"};
	json_t *run, *list, *item;

	ingest_execution("a.jsonl", "run-a");
	run = get_json("/runs/run-a", 200);
	list = get_json("/runs", 200);
	item = json_array_get(member(list, "items"), 0);
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		ck_assert_int_eq(json_object_del(run, more[i]), 0);
	ck_assert(json_equal(run, item));
	json_decref(run);
	json_decref(list);
}
END_TEST

START_TEST(a_digest_names_a_run_from_twelve_digits_on)
{
	json_t *run;
	char digest[80], path[120];

	ingest_execution("a.jsonl", "run-a");
	run = get_json("/runs/run-a", 200);
	snprintf(digest, sizeof(digest), "%s", text_of(run, "digest"));
	json_decref(run);
	snprintf(path, sizeof(path), "/runs/%s", digest);
	get(path, 200, &r);
	reply_done(&r);
	path[6 + 7 + 12] = 0;
	run = get_json(path, 200);
	ck_assert_str_eq(text_of(run, "id"), "run-a");
	json_decref(run);
	path[6 + 7 + 11] = 0;
	ck_assert_str_eq(problem_of(path, 404), "unknown_run");
}
END_TEST

static void get_with(const char *target, const char *headers, int status)
{
	ask(at, "GET", target, headers, &r);
	ck_assert_msg(r.status == status, "%s with %s: %d", target, headers, r.status);
}

START_TEST(an_unchanged_run_is_not_sent_again)
{
	char tag[64], headers[200];

	ingest_execution("a.jsonl", "run-a");
	get_with("/runs/run-a/summary", "", 200);
	snprintf(tag, sizeof(tag), "%s", header_of(&r, "ETag"));
	ck_assert_uint_eq(strlen(tag), strlen("\"3f9c2a417be0.1.s1\""));
	ck_assert_str_eq(tag + 13, ".1.s1\"");
	ck_assert_str_eq(header_of(&r, "Cache-Control"), "private, no-cache");
	ck_assert_ptr_nonnull(header_of(&r, "Last-Modified"));
	reply_done(&r);
	snprintf(headers, sizeof(headers), "If-None-Match: \"x\", W/%s\r\n", tag);
	get_with("/runs/run-a/summary", headers, 304);
	ck_assert_str_eq(header_of(&r, "ETag"), tag);
	ck_assert_str_eq(header_of(&r, "Cache-Control"), "private, no-cache");
	reply_done(&r);
	get_with("/runs/run-a/summary", "If-None-Match: *\r\n", 304);
	reply_done(&r);
	get_with("/runs/nope/summary", "If-None-Match: *\r\n", 404);
	reply_done(&r);
	get_with("/runs/run-a/summary", "If-None-Match: \"other\"\r\n", 200);
	reply_done(&r);
	/* The compressed form is another one, and is found by its own tag. */
	get_with("/runs/run-a/summary", "Accept-Encoding: gzip\r\n", 200);
	snprintf(headers, sizeof(headers), "Accept-Encoding: gzip\r\nIf-None-Match: %s\r\n",
		 header_of(&r, "ETag"));
	ck_assert_str_eq(header_of(&r, "ETag") + 13, ".1.s1.gz\"");
	reply_done(&r);
	get_with("/runs/run-a/summary", headers, 304);
	ck_assert_str_eq(header_of(&r, "ETag") + 13, ".1.s1.gz\"");
	reply_done(&r);
	get_with("/runs/run-a/summary", strchr(headers, '\n') + 1, 200);
	reply_done(&r);
}
END_TEST

START_TEST(a_list_is_unchanged_until_something_is_committed)
{
	char headers[200];

	ingest_execution("a.jsonl", "run-a");
	bench_idle(&served);
	get_with("/runs", "", 200);
	snprintf(headers, sizeof(headers), "If-None-Match: %s\r\n", header_of(&r, "ETag"));
	reply_done(&r);
	get_with("/runs", headers, 304);
	reply_done(&r);
	get_with("/runs?limit=5", headers, 200); /* another query, another answer */
	reply_done(&r);
	ingest_execution("b.jsonl", "run-b");
	get_with("/runs", headers, 200);
	reply_done(&r);
}
END_TEST

START_TEST(bodies_from_1024_bytes_on_are_compressed_for_those_who_ask)
{
	struct reply plain;

	ingest_execution("a.jsonl", "run-a");
	get_with("/healthz", "Accept-Encoding: gzip\r\n", 200);
	ck_assert_ptr_null(header_of(&r, "Content-Encoding"));
	reply_done(&r);
	get("/version", 200, &plain);
	ck_assert_uint_lt(plain.body.len, 1024);
	reply_done(&plain);
	get("/runs/run-a", 200, &plain);
	ck_assert_uint_ge(plain.body.len, 1024);
	get_with("/runs/run-a", "Accept-Encoding: gzip;q=0\r\n", 200);
	ck_assert_ptr_null(header_of(&r, "Content-Encoding"));
	reply_done(&r);
	get_with("/runs/run-a", "Accept-Encoding: br, gzip\r\n", 200);
	ck_assert_str_eq(header_of(&r, "Content-Encoding"), "gzip");
	ck_assert_uint_lt(r.body.len, plain.body.len);
	gunzip_body(&r);
	ck_assert_str_eq(r.body.data, plain.body.data);
	reply_done(&r);
	reply_done(&plain);
	get("/runs/run-a/summary", 200, &plain);
	get_with("/runs/run-a/summary", "Accept-Encoding: gzip\r\n", 200);
	gunzip_body(&r);
	ck_assert_str_eq(r.body.data, plain.body.data);
	reply_done(&r);
	reply_done(&plain);
}
END_TEST

START_TEST(pretty_and_numbers_change_the_form_and_not_the_facts)
{
	json_t *plain, *pretty, *strings;

	ingest_execution("a.jsonl", "run-a");
	plain = get_json("/runs/run-a/summary", 200);
	get("/runs/run-a/summary?pretty=1", 200, &r);
	ck_assert_ptr_nonnull(strstr(r.body.data, "{\n  \"schema\": \"tracespool/run-summary/1\""));
	pretty = json_of(&r);
	ck_assert(json_equal(plain, pretty));
	strings = get_json("/runs/run-a/summary?numbers=string", 200);
	ck_assert_str_eq(text_of(strings, "total_ns"), "60");
	json_decref(strings);
	strings = get_json("/runs?numbers=string", 200);
	ck_assert_str_eq(text_of(strings, "limit"), "100");
	ck_assert_str_eq(text_of(json_array_get(member(strings, "items"), 0), "span_count"), "2");
	json_decref(strings);
	json_decref(plain);
	json_decref(pretty);
	reply_done(&r);
}
END_TEST

Suite *http_answers_suite(void)
{
	Suite *s = suite_create("http: single answers");
	TCase *c = tcase_create("answers");

	tcase_add_checked_fixture(c, serve, stop_serving);
	tcase_set_timeout(c, 60);
	tcase_add_test(c, a_head_has_the_headers_of_a_get_and_no_body);
	tcase_add_test(c, the_index_names_the_paths_and_health_is_plain);
	tcase_add_test(c, a_spool_that_was_moved_away_is_not_ready);
	tcase_add_test(c, a_problem_has_all_its_members);
	tcase_add_test(c, each_mistake_has_its_code);
	tcase_add_test(c, other_methods_are_told_what_is_allowed);
	tcase_add_test(c, only_hosts_of_this_service_are_answered);
	tcase_add_test(c, long_queries_and_heads_have_their_own_codes);
	tcase_add_test(c, accept_chooses_the_form_and_format_is_stronger);
	tcase_add_test(c, any_id_is_reached_by_its_encoded_path);
	tcase_add_test(c, a_run_is_the_item_of_the_list_and_more);
	tcase_add_test(c, a_digest_names_a_run_from_twelve_digits_on);
	tcase_add_test(c, an_unchanged_run_is_not_sent_again);
	tcase_add_test(c, a_list_is_unchanged_until_something_is_committed);
	tcase_add_test(c, bodies_from_1024_bytes_on_are_compressed_for_those_who_ask);
	tcase_add_test(c, pretty_and_numbers_change_the_form_and_not_the_facts);
	suite_add_tcase(s, c);
	return s;
}
