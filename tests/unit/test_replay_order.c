/* test_replay_order.c: replay order where times are the same, and rows whose requests lie far from
 * one another in the file or have long texts, so that many windows are read
 */
#include "request_text.h"

/* output_tokens tells a request's row apart. */
static void put(uint64_t no, const char *id, const char *session, int64_t start, uint64_t tokens)
{
	uint64_t hash = no;
	struct row_request row = {
		.no = no,
		.line = no,
		.request_id = ts_str_c(id),
		.session_id = ts_str_c(session),
		.start_ms = start,
		.end_ms = start + 5,
		.output_tokens = tokens,
		.trace_block_size = 4,
		.input_length = 4,
		.hash_count = 1,
	};
	struct row_request_hashes hashes = {.no = no, .input = &hash, .input_count = 1};
	struct sink *sink = runfile_sink(file);

	ck_assert_int_eq(sink->row(sink, ROW_REQUEST, &row, &err), 0);
	ck_assert_int_eq(sink->row(sink, ROW_REQUEST_HASHES, &hashes, &err), 0);
}

static void open_run(void)
{
	ck_assert_int_eq(runfile_flush(file, &err), 0);
	ck_assert_msg(replay_open(runfile_db(file), &replay, &err) == 0, "%s", err.message);
	read_rows();
}

/* Request i of n is the i-th in replay order; in the file they stand in another one. All have the
 * same times and ids that count up, or with pairs two after two the same and ids that count down.
 */
static void order_of(uint64_t n, bool pairs)
{
	const char *p;
	uint64_t rows_seen = 0;

	run_begin();
	for (uint64_t k = 0; k < n; k++) {
		/* 7919 is a prime that divides no n used here. */
		uint64_t i = k * 7919 % n;
		char id[32];

		snprintf(id, sizeof(id), "r%08llu", (unsigned long long)(pairs ? n - i : i));
		put(k + 1, id, NULL, pairs ? (int64_t)(i / 2) : 7,
		    pairs ? (i / 2) * 2 + (i % 2 ? 0 : 1) : i);
	}
	open_run();
	for (p = rows.data; *p; p = strchr(p, '\n') + 1) {
		char want[64];

		snprintf(want, sizeof(want), "{\"input_length\":4,\"output_length\":%llu,",
			 (unsigned long long)rows_seen++);
		ck_assert_msg(strncmp(p, want, strlen(want)) == 0, "row %llu: %.80s",
			      (unsigned long long)rows_seen, p);
	}
	ck_assert_uint_eq(rows_seen, n);
	run_end();
}

START_TEST(ids_settle_what_times_leave_open)
{
	order_of(2, false);
	order_of(1000, false);
	order_of(1024, false);
	order_of(1025, false);
	order_of(5000, false);
	/* Pairs of the same times, whose ids run against the numbers. */
	order_of(600, true);
	order_of(6000, true);
}
END_TEST

/* Sessions run side by side, and lie one behind another in the file. */
START_TEST(rows_of_sessions_side_by_side_name_what_they_wait_for)
{
	enum { SESSIONS = 300, TURNS = 20, LONG = 700000, MIDDLE = 3000 };
	char *id = malloc(LONG + 64), *want = malloc(LONG + 128);
	uint64_t no = 0, seen = 0;

	ck_assert(id && want);
	run_begin();
	for (unsigned s = 0; s < SESSIONS; s++) {
		char session[16];

		snprintf(session, sizeof(session), "s%05u", s);
		for (unsigned t = 0; t < TURNS; t++) {
			int width = s == 150 && t == 10 ? LONG : s % 3 ? 8 : MIDDLE;

			snprintf(id, LONG + 64, "%s-%0*u", session, width, t);
			put(++no, id, session, 1000 * t + s, 1 + t);
		}
	}
	open_run();
	for (const char *p = rows.data; *p; p = strchr(p, '\n') + 1, seen++) {
		unsigned t = (unsigned)(seen / SESSIONS), s = (unsigned)(seen % SESSIONS);
		int width = s == 150 && t == 10 ? LONG : s % 3 ? 8 : MIDDLE;
		int width_before = s == 150 && t == 11 ? LONG : s % 3 ? 8 : MIDDLE;
		int n = snprintf(want, LONG + 128, "{\"request_id\":\"s%05u-%0*u\",", s, width, t);

		ck_assert_msg(strncmp(p, want, (size_t)n) == 0, "row %llu",
			      (unsigned long long)seen);
		n = snprintf(want, LONG + 128, "\"wait_for\":[\"s%05u-%0*u\"],", s, width_before,
			     t - 1);
		const char *waits = strstr(p, "\"wait_for\""), *end = strchr(p, '\n');

		if (!t)
			ck_assert(!waits || waits > end);
		else
			ck_assert_msg(waits && strncmp(waits, want, (size_t)n) == 0, "row %llu",
				      (unsigned long long)seen);
	}
	ck_assert_uint_eq(seen, SESSIONS * TURNS);
	free(id);
	free(want);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("replay-order");
	TCase *t = tcase_create("replay-order");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_set_timeout(t, 300);
	tcase_add_checked_fixture(t, NULL, run_end);
	tcase_add_test(t, ids_settle_what_times_leave_open);
	tcase_add_test(t, rows_of_sessions_side_by_side_name_what_they_wait_for);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
