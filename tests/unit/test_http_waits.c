/* test_http_waits.c: receipts that are waited for; keep-alive; limits of streams and waits */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test_http.h"

static struct reply r;

static void begin(struct client *c, const char *target)
{
	char request[600];

	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", target);
	client_open(c, at);
	client_send(c, request);
}

static json_t *finish(struct client *c, int status)
{
	json_t *json;

	ck_assert(client_read(c, &r, false));
	ck_assert_msg(r.status == status, "%d: %s", r.status, r.body.data);
	json = json_of(&r);
	reply_done(&r);
	client_close(c);
	return json;
}

START_TEST(a_wait_ends_when_the_drop_is_final)
{
	struct client by_name, by_digest;
	json_t *receipt;
	char target[200];

	/* The digest of the trace, as its first run tells. */
	ingest_execution("first.jsonl", "run-a");
	receipt = get_json("/ingest/receipts/first.jsonl", 200);
	ck_assert_str_eq(text_of(receipt, "state"), "ingested");
	snprintf(target, sizeof(target), "/ingest/receipts/%s?wait=30", text_of(receipt, "digest"));
	json_decref(receipt);
	begin(&by_digest, target);
	receipt = finish(&by_digest, 200); /* final already */
	ck_assert_str_eq(text_of(receipt, "name"), "first.jsonl");
	json_decref(receipt);

	begin(&by_name, "/ingest/receipts/job.jsonl?wait=30");
	ck_assert(client_is_silent(&by_name));
	bench_drop(&served, "job.jsonl", execution_trace("run-b"));
	receipt = finish(&by_name, 200);
	ck_assert_str_eq(text_of(receipt, "state"), "ingested");
	ck_assert(json_is_true(member(receipt, "final")));
	ck_assert_str_eq(text_of(receipt, "run.id"), "run-b");
	json_decref(receipt);
}
END_TEST

static int build_quiet(void *arg, uint64_t no, enum commit_result result,
		       const struct run_record *other, struct receipt_record *receipt,
		       struct ts_error *err)
{
	(void)arg, (void)no, (void)result, (void)other, (void)err;
	*receipt = (struct receipt_record){
		.name = TS_STR("quiet.jsonl"),
		.state = TS_STR("quarantined"),
		.seen_ms = time_now_ms(),
		.final_ms = time_now_ms(),
		.json = TS_STR("{\"name\":\"quiet.jsonl\",\"final\":true}"),
	};
	return 0;
}

START_TEST(a_wait_looks_again_though_nobody_wakes_it)
{
	struct ts_error err = TS_ERROR_INIT;
	enum commit_result result;
	struct client c;
	json_t *receipt;

	begin(&c, "/ingest/receipts/quiet.jsonl?wait=60");
	ck_assert(client_is_silent(&c));
	ck_assert_int_eq(
		catalog_commit(served.store, NULL, false, build_quiet, NULL, &result, NULL, &err),
		0);
	receipt = finish(&c, 200);
	ck_assert_str_eq(text_of(receipt, "name"), "quiet.jsonl");
	json_decref(receipt);
}
END_TEST

START_TEST(a_wait_for_nothing_ends_by_time_with_404)
{
	int64_t begun_ms = time_mono_ms(), took_ms;

	ck_assert_str_eq(problem_of("/ingest/receipts/never.jsonl?wait=1", 404), "unknown_receipt");
	took_ms = time_mono_ms() - begun_ms;
	ck_assert_int_ge(took_ms, 950);
	ck_assert_int_lt(took_ms, 5000);
}
END_TEST

START_TEST(a_wait_that_runs_out_answers_with_the_state_so_far)
{
	json_t *receipt;

	/* No terminal record: it waits for the rest until spool.idle_ms. */
	bench_write_text(&served, "spool/slow.jsonl", "{\"kind\":\"meta\"}\n");
	for (unsigned i = 0; i < 200; i++) {
		ask(at, "GET", "/ingest/receipts/slow.jsonl", "", &r);
		if (r.status == 200)
			break;
		reply_done(&r);
		usleep(10000);
	}
	reply_done(&r);
	receipt = get_json("/ingest/receipts/slow.jsonl?wait=1", 200);
	ck_assert_str_eq(text_of(receipt, "state"), "waiting");
	ck_assert(json_is_false(member(receipt, "final")));
	json_decref(receipt);
}
END_TEST

START_TEST(after_passes_over_what_was_seen_before)
{
	json_t *receipt;

	ingest_execution("job.jsonl", "run-a");
	receipt = get_json("/ingest/receipts/job.jsonl?after=2020-01-01T00:00:00Z", 200);
	ck_assert_str_eq(text_of(receipt, "run.id"), "run-a");
	json_decref(receipt);
	ck_assert_str_eq(problem_of("/ingest/receipts/job.jsonl?after=2999-01-01T00:00:00Z", 404),
			 "unknown_receipt");
}
END_TEST

START_TEST(many_waits_are_all_woken)
{
	struct client waits[3];

	for (unsigned i = 0; i < 3; i++)
		begin(&waits[i], "/ingest/receipts/job.jsonl?wait=30");
	ck_assert(client_is_silent(&waits[2]));
	bench_drop(&served, "job.jsonl", execution_trace("run-a"));
	for (unsigned i = 0; i < 3; i++) {
		json_t *receipt = finish(&waits[i], 200);

		ck_assert_str_eq(text_of(receipt, "state"), "ingested");
		json_decref(receipt);
	}
}
END_TEST

START_TEST(a_client_that_stops_waiting_costs_nothing)
{
	struct client c;
	json_t *receipt;

	for (unsigned i = 0; i < 4; i++) {
		begin(&c, "/ingest/receipts/job.jsonl?wait=1");
		ck_assert(client_is_silent(&c));
		client_close(&c);
	}
	bench_drop(&served, "job.jsonl", execution_trace("run-a"));
	json_decref(bench_receipt(&served, "job.jsonl", "ingested"));
	/* All four places are free again once those waits were looked at. */
	for (unsigned i = 0; i < 300; i++) {
		ask(at, "GET", "/ingest/receipts/other.jsonl?wait=1", "", &r);
		if (r.status != 429)
			break;
		reply_done(&r);
		usleep(10000);
	}
	ck_assert_int_eq(r.status, 404);
	reply_done(&r);
	receipt = get_json("/ingest/receipts/job.jsonl", 200);
	json_decref(receipt);
}
END_TEST

START_TEST(more_waits_than_limits_streams_are_told_to_come_back)
{
	struct client waits[4];
	json_t *problem;

	for (unsigned i = 0; i < 4; i++)
		begin(&waits[i], "/ingest/receipts/job.jsonl?wait=30");
	ck_assert(client_is_silent(&waits[3]));
	ask(at, "GET", "/ingest/receipts/job.jsonl?wait=30", "", &r);
	ck_assert_int_eq(r.status, 429);
	ck_assert_ptr_nonnull(header_of(&r, "Retry-After"));
	problem = json_of(&r);
	ck_assert_str_eq(text_of(problem, "code"), "too_many_streams");
	json_decref(problem);
	reply_done(&r);
	/* Light requests are served all the same. */
	get("/healthz", 200, &r);
	reply_done(&r);
	bench_drop(&served, "job.jsonl", execution_trace("run-a"));
	for (unsigned i = 0; i < 4; i++)
		json_decref(finish(&waits[i], 200));
	problem = get_json("/ingest/receipts/job.jsonl?wait=30", 200);
	json_decref(problem);
}
END_TEST

START_TEST(stopping_ends_the_waits)
{
	struct client c;
	struct http *h;
	int64_t begun_ms;
	json_t *problem;

	begin(&c, "/ingest/receipts/job.jsonl?wait=30");
	ck_assert(client_is_silent(&c));
	begun_ms = time_mono_ms();
	h = take_server();
	http_stop(h, begun_ms + 5000);
	ck_assert_int_lt(time_mono_ms() - begun_ms, 3000);
	problem = finish(&c, 404);
	ck_assert_str_eq(text_of(problem, "code"), "unknown_receipt");
	json_decref(problem);
}
END_TEST

#define KEPT 64

START_TEST(many_connections_are_kept_alive)
{
	struct client c[KEPT];

	for (unsigned i = 0; i < KEPT; i++)
		client_open(&c[i], at);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < KEPT; i++)
			client_send(&c[i], "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
		for (unsigned i = 0; i < KEPT; i++) {
			ck_assert(client_read(&c[i], &r, false));
			ck_assert_int_eq(r.status, 200);
			reply_done(&r);
		}
	}
	for (unsigned i = 0; i < KEPT; i++)
		client_close(&c[i]);
}
END_TEST

START_TEST(requests_in_a_row_are_answered_in_a_row)
{
	struct client c;

	client_open(&c, at);
	client_send(&c, "GET /runs/x%2Fy HTTP/1.1\r\nHost: localhost\r\n\r\n"
			"HEAD /version HTTP/1.1\r\nHost: localhost\r\n\r\n"
			"GET /runs?format=ndjson HTTP/1.1\r\nHost: localhost\r\n\r\n"
			"GET /ingest HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
	ck_assert(client_read(&c, &r, false));
	ck_assert_int_eq(r.status, 404);
	reply_done(&r);
	ck_assert(client_read(&c, &r, true));
	ck_assert_int_eq(r.status, 200);
	reply_done(&r);
	ck_assert(client_read(&c, &r, false));
	ck_assert_str_eq(header_of(&r, "Tracespool-Row-Count"), "0");
	reply_done(&r);
	ck_assert(client_read(&c, &r, false));
	ck_assert_ptr_nonnull(strstr(r.body.data, "tracespool/ingest/1"));
	reply_done(&r);
	client_close(&c);
}
END_TEST

Suite *http_waits_suite(void)
{
	Suite *s = suite_create("http: waits and connections");
	TCase *c = tcase_create("waits");

	tcase_add_checked_fixture(c, serve, stop_serving);
	tcase_set_timeout(c, 60);
	tcase_add_test(c, a_wait_ends_when_the_drop_is_final);
	tcase_add_test(c, a_wait_looks_again_though_nobody_wakes_it);
	tcase_add_test(c, a_wait_for_nothing_ends_by_time_with_404);
	tcase_add_test(c, a_wait_that_runs_out_answers_with_the_state_so_far);
	tcase_add_test(c, after_passes_over_what_was_seen_before);
	tcase_add_test(c, many_waits_are_all_woken);
	tcase_add_test(c, a_client_that_stops_waiting_costs_nothing);
	tcase_add_test(c, more_waits_than_limits_streams_are_told_to_come_back);
	tcase_add_test(c, stopping_ends_the_waits);
	tcase_add_test(c, many_connections_are_kept_alive);
	tcase_add_test(c, requests_in_a_row_are_answered_in_a_row);
	suite_add_tcase(s, c);
	return s;
}
