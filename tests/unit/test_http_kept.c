/* test_http_kept.c: answers from memory are those of the store, and only as long as they are right
 */
#include "test_http.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracespool/util.h"

static struct reply r;

static void get_with(const char *target, const char *headers, int status, struct reply *ret)
{
	ask(at, "GET", target, headers, ret);
	ck_assert_msg(ret->status == status, "%s with %s: %d, not %d: %s", target, headers,
		      ret->status, status, ret->body.data ? ret->body.data : "");
}

/* Takes the rows of a run away: what is answered then was in memory. */
static void lose_rows(const char *id)
{
	struct ts_error err = TS_ERROR_INIT;
	char target[128];
	json_t *run;

	snprintf(target, sizeof(target), "/runs/%s", id);
	run = get_json(target, 200);
	ck_assert_int_eq(store_unlink_run(served.store, text_of(run, "digest"),
					  (unsigned)number_of(run, "store_revision"), &err),
			 0);
	json_decref(run);
}

static void serve_with(uint64_t kept_bytes)
{
	http_stop(take_server(), time_mono_ms() + 3000);
	served.conf.limits.kept_bytes = kept_bytes;
	start_server();
}

/* The head without its Date. */
static void head_of(const struct reply *from, char out[static 16384])
{
	char *date;

	strcpy(out, from->head);
	date = strstr(out, "Date: ");
	ck_assert_ptr_nonnull(date);
	memset(date, '-', strcspn(date, "\r"));
}

static void same_reply(const struct reply *a, const struct reply *b, const char *what)
{
	static char one[16384], two[16384];

	if (a->status >= 400) { /* problems have numbers of their own */
		ck_assert_int_eq(a->status, b->status);
		return;
	}
	head_of(a, one);
	head_of(b, two);
	ck_assert_str_eq(one, two);
	ck_assert_msg(
		a->body.len == b->body.len &&
			(a->body.len == 0 || memcmp(a->body.data, b->body.data, a->body.len) == 0),
		"%s: another body", what);
}

static const char *const forms[] = {
	"",
	"Accept-Encoding: gzip\r\n",
	"Accept: application/json\r\n",
	"Accept: application/x-ndjson, application/json;q=0.5\r\n",
	"If-None-Match: *\r\n",
	"If-None-Match: *\r\nAccept-Encoding: gzip\r\n",
	"If-None-Match: \"other\"\r\n",
};

START_TEST(what_is_asked_again_is_answered_alike)
{
	static const char *const targets[] = {
		"/runs/run-a/summary",
		"/runs/run-a/summary?pretty=true",
		"/runs/run-a/summary?top=1&numbers=string",
		"/runs/run-a/spans",
		"/runs/run-a/spans?limit=1",
		"/runs/run-a/spans?format=array&limit=1&sort=-duration_ns",
		"/runs/run-a/ops?fields=op_name",
		"/runs/run-a/ops?group_by=op_name",
		"/runs/run-a/memory",
		"/runs/run-a/views/health",
		"/runs/run-a/views/timing",
		"/runs/run-a/tensors?count=true",
	};

	ingest_execution("a.jsonl", "run-a");
	for (size_t t = 0; t < ARRAY_LEN(targets); t++) {
		for (size_t f = 0; f < ARRAY_LEN(forms); f++) {
			struct reply first, again;

			ask(at, "GET", targets[t], forms[f], &first);
			for (unsigned i = 0; i < 3; i++) {
				ask(at, "GET", targets[t], forms[f], &again);
				same_reply(&first, &again, targets[t]);
				reply_done(&again);
			}
			ask(at, "HEAD", targets[t], forms[f], &again);
			ck_assert_int_eq(again.status, first.status);
			if (header_of(&first, "ETag")) {
				char tag[128];

				snprintf(tag, sizeof(tag), "%s", header_of(&first, "ETag"));
				ck_assert_str_eq(header_of(&again, "ETag"), tag);
			}
			reply_done(&again);
			reply_done(&first);
		}
	}
}
END_TEST

START_TEST(an_answer_stays_in_memory_when_other_runs_come)
{
	struct reply first;

	ingest_execution("a.jsonl", "run-a");
	get("/runs/run-a/spans?limit=1", 200, &first);
	lose_rows("run-a");
	for (unsigned i = 0; i < 3; i++) {
		char file[32];

		get("/runs/run-a/spans?limit=1", 200, &r);
		same_reply(&first, &r, "spans");
		reply_done(&r);
		get_with("/runs/run-a/spans?limit=1", "If-None-Match: *\r\n", 304, &r);
		reply_done(&r);
		/* Another page needs the rows. */
		ck_assert_str_eq(problem_of("/runs/run-a/spans?limit=2", 404), "unknown_run");
		snprintf(file, sizeof(file), "b%u.jsonl", i);
		ingest_execution(file, file);
	}
	reply_done(&first);
}
END_TEST

START_TEST(each_form_is_an_answer_of_its_own)
{
	struct reply plain, packed;

	ingest_requests("many", 40);
	json_t *runs = get_json("/runs", 200);
	char target[160];
	json_t *list = member(runs, "items");

	snprintf(target, sizeof(target), "/runs/%s/requests",
		 text_of(json_array_get(list, 0), "id"));
	json_decref(runs);
	get(target, 200, &plain);
	ck_assert_ptr_null(header_of(&plain, "Content-Encoding"));
	for (unsigned i = 0; i < 2; i++) {
		get_with(target, "Accept-Encoding: gzip\r\n", 200, &packed);
		ck_assert_str_eq(header_of(&packed, "Content-Encoding"), "gzip");
		gunzip_body(&packed);
		ck_assert_uint_eq(packed.body.len, plain.body.len);
		ck_assert_mem_eq(packed.body.data, plain.body.data, plain.body.len);
		reply_done(&packed);
		get_with(target, "Accept: application/x-ndjson\r\n", 200, &r);
		ck_assert_str_eq(header_of(&r, "Tracespool-Row-Count"), "40");
		reply_done(&r);
		get_with(target, "Accept: text/csv\r\n", 406, &r);
		reply_done(&r);
		get_with(target, "Host: elsewhere.example\r\n", 421, &r);
		reply_done(&r);
		ask(at, "POST", target, "", &r);
		ck_assert_int_eq(r.status, 405);
		reply_done(&r);
	}
	reply_done(&plain);
}
END_TEST

START_TEST(a_tag_of_either_coding_is_known_again)
{
	char plain[128], gzip[160], headers[320];

	ingest_execution("a.jsonl", "run-a");
	get("/runs/run-a/summary", 200, &r);
	snprintf(plain, sizeof(plain), "%s", header_of(&r, "ETag"));
	reply_done(&r);
	snprintf(gzip, sizeof(gzip), "%.*s.gz\"", (int)strlen(plain) - 1, plain);
	for (unsigned i = 0; i < 3; i++) {
		snprintf(headers, sizeof(headers), "If-None-Match: %s\r\n", plain);
		get_with("/runs/run-a/summary", headers, 304, &r);
		ck_assert_str_eq(header_of(&r, "ETag"), plain);
		reply_done(&r);
		/* Without gzip its tag names another form. */
		snprintf(headers, sizeof(headers), "If-None-Match: %s\r\n", gzip);
		get_with("/runs/run-a/summary", headers, 200, &r);
		ck_assert_str_eq(header_of(&r, "ETag"), plain);
		reply_done(&r);
		snprintf(headers, sizeof(headers),
			 "If-None-Match: W/%s\r\nAccept-Encoding: gzip\r\n", gzip);
		get_with("/runs/run-a/summary", headers, 304, &r);
		ck_assert_str_eq(header_of(&r, "ETag"), gzip);
		reply_done(&r);
		snprintf(headers, sizeof(headers), "If-None-Match: %s\r\nAccept-Encoding: gzip\r\n",
			 plain);
		get_with("/runs/run-a/summary", headers, 304, &r);
		ck_assert_str_eq(header_of(&r, "ETag"), plain);
		reply_done(&r);
	}
}
END_TEST

START_TEST(targets_with_a_cache_breaker_are_not_kept)
{
	ingest_execution("a.jsonl", "run-a");
	get("/runs/run-a/spans?limit=1&_=7", 200, &r);
	reply_done(&r);
	get("/runs/run-a/spans?_x&limit=1", 200, &r);
	reply_done(&r);
	get("/runs/run-a/spans?limit=1&sort=start_ns", 200, &r);
	reply_done(&r);
	lose_rows("run-a");
	ck_assert_str_eq(problem_of("/runs/run-a/spans?limit=1&_=7", 404), "unknown_run");
	ck_assert_str_eq(problem_of("/runs/run-a/spans?_x&limit=1", 404), "unknown_run");
	get("/runs/run-a/spans?limit=1&sort=start_ns", 200, &r);
	reply_done(&r);
}
END_TEST

START_TEST(without_memory_nothing_is_kept)
{
	serve_with(0);
	ingest_execution("a.jsonl", "run-a");
	get("/runs/run-a/spans", 200, &r);
	reply_done(&r);
	get("/runs/run-a/spans", 200, &r);
	reply_done(&r);
	lose_rows("run-a");
	ck_assert_str_eq(problem_of("/runs/run-a/spans", 404), "unknown_run");
}
END_TEST

/* An entry has more than 2 KiB and, of one span, less than 4: of 64 KiB at least the last 16 stay
 * and never more than 32. */
START_TEST(what_was_used_longest_ago_goes_first)
{
	char target[96];

	serve_with(65536);
	ingest_execution("a.jsonl", "run-a");
	for (unsigned i = 1; i <= 60; i++) {
		snprintf(target, sizeof(target), "/runs/run-a/spans?limit=1&max_depth=%u", i);
		get(target, 200, &r);
		reply_done(&r);
		get("/runs/run-a/spans?limit=1&max_depth=1", 200, &r); /* is used all the time */
		reply_done(&r);
	}
	lose_rows("run-a");
	get("/runs/run-a/spans?limit=1&max_depth=1", 200, &r);
	reply_done(&r);
	for (unsigned i = 60; i > 46; i--) {
		snprintf(target, sizeof(target), "/runs/run-a/spans?limit=1&max_depth=%u", i);
		get(target, 200, &r);
		reply_done(&r);
	}
	for (unsigned i = 2; i <= 28; i++) {
		snprintf(target, sizeof(target), "/runs/run-a/spans?limit=1&max_depth=%u", i);
		ck_assert_str_eq(problem_of(target, 404), "unknown_run");
	}
}
END_TEST

START_TEST(an_answer_above_its_share_is_not_kept)
{
	char target[160];

	serve_with(65536); /* 8 KiB an answer */
	snprintf(target, sizeof(target), "/runs/%s/requests", ingest_requests("many", 40));
	get(target, 200, &r);
	ck_assert_uint_gt(r.body.len, 8192);
	reply_done(&r);
	ck_assert(strlen(target) > 15);
	target[strlen(target) - strlen("/requests")] = 0;
	lose_rows(target + strlen("/runs/"));
	strcat(target, "/requests");
	ck_assert_str_eq(problem_of(target, 404), "unknown_run");
}
END_TEST

/* ---- runs that are replaced ---- */

START_TEST(a_run_that_was_replaced_is_gone_with_time_and_reason)
{
	json_t *run, *problem;
	char path[120], trace[4096];
	char *place;

	served.conf.ingest.on_run_id_conflict = CONFLICT_REPLACE;
	ingest_execution("a.jsonl", "run-a");
	run = get_json("/runs/run-a", 200);
	snprintf(path, sizeof(path), "/runs/%s", text_of(run, "digest"));
	snprintf(trace, sizeof(trace), "%s", execution_trace("run-a"));
	place = strstr(trace, "heron/5");
	ck_assert_ptr_nonnull(place);
	memcpy(place, "heron/6", 7);
	bench_drop(&served, "b.jsonl", trace);
	json_decref(bench_receipt(&served, "b.jsonl", "ingested"));
	problem = get_json(path, 410);
	ck_assert_str_eq(text_of(problem, "code"), "run_removed");
	ck_assert_str_eq(text_of(problem, "why"), "replaced");
	ck_assert_uint_eq(strlen(text_of(problem, "removed_at")), 24);
	json_decref(run);
	json_decref(problem);
	get("/runs/run-a", 200, &r);
	reply_done(&r);
}
END_TEST

static atomic_bool over;

static void *ask_on(void *arg)
{
	(void)arg;
	while (!atomic_load(&over)) {
		struct reply own;

		ask(at, "GET", "/runs/run-a/summary", "", &own);
		ck_assert_int_eq(own.status, 200);
		reply_done(&own);
	}
	return NULL;
}

/* Whoever has seen the receipt gets the new run, whatever others ask at the same time. */
START_TEST(a_run_that_replaces_another_is_seen_at_once)
{
	pthread_t threads[3];
	char digest[120] = "", name[32];

	served.conf.ingest.on_run_id_conflict = CONFLICT_REPLACE;
	ingest_execution("a.jsonl", "run-a");
	atomic_store(&over, false);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_on, NULL), 0);
	for (unsigned i = 0; i < 10; i++) {
		char trace[4096], expected[16], path[160], *place;
		json_t *receipt, *summary;

		snprintf(trace, sizeof(trace), "%s", execution_trace("run-a"));
		place = strstr(trace, "heron/5");
		ck_assert_ptr_nonnull(place);
		snprintf(expected, sizeof(expected), "heron/%c", 'A' + (char)i);
		memcpy(place, expected, strlen(expected));
		snprintf(name, sizeof(name), "b%u.jsonl", i);
		bench_drop(&served, name, trace);
		receipt = bench_receipt(&served, name, "ingested");
		summary = get_json("/runs/run-a/summary", 200);
		ck_assert_str_eq(text_of(summary, "correlation_id"), expected);
		json_decref(summary);
		if (*digest) {
			snprintf(path, sizeof(path), "/runs/%s/summary", digest);
			ck_assert_str_eq(problem_of(path, 410), "run_removed");
		}
		snprintf(digest, sizeof(digest), "%s", text_of(receipt, "digest"));
		snprintf(path, sizeof(path), "/runs/%s/summary", digest);
		summary = get_json(path, 200);
		ck_assert_str_eq(text_of(summary, "correlation_id"), expected);
		json_decref(summary);
		json_decref(receipt);
	}
	atomic_store(&over, true);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++)
		pthread_join(threads[i], NULL);
}
END_TEST

Suite *http_kept_suite(void)
{
	Suite *s = suite_create("http-kept");
	TCase *c = tcase_create("kept");

	tcase_add_checked_fixture(c, serve, stop_serving);
	tcase_set_timeout(c, 60);
	tcase_add_test(c, what_is_asked_again_is_answered_alike);
	tcase_add_test(c, an_answer_stays_in_memory_when_other_runs_come);
	tcase_add_test(c, each_form_is_an_answer_of_its_own);
	tcase_add_test(c, a_tag_of_either_coding_is_known_again);
	tcase_add_test(c, targets_with_a_cache_breaker_are_not_kept);
	tcase_add_test(c, without_memory_nothing_is_kept);
	tcase_add_test(c, what_was_used_longest_ago_goes_first);
	tcase_add_test(c, an_answer_above_its_share_is_not_kept);
	tcase_add_test(c, a_run_that_was_replaced_is_gone_with_time_and_reason);
	tcase_add_test(c, a_run_that_replaces_another_is_seen_at_once);
	suite_add_tcase(s, c);
	return s;
}
