/* ingest_marks.c: how a run that was salvaged is marked: receipt, summary, source, outcome */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ingest_bench.h"

#include "tracespool/input.h"
#include "tracespool/text.h"

static struct bench b;

static void setup(void)
{
	bench_open(&b);
}

static void teardown(void)
{
	bench_close(&b);
}

static void check_warning(json_t *doc, const char *begins)
{
	json_t *warnings = member(doc, "warnings");
	json_t *w = json_array_get(warnings, json_array_size(warnings) - 1);

	ck_assert_str_eq(text_of(w, "severity"), "warning");
	ck_assert_str_eq(text_of(w, "code"), "salvaged");
	ck_assert_msg(strncmp(text_of(w, "message"), begins, strlen(begins)) == 0, "%s",
		      text_of(w, "message"));
}

static json_t *summary_of(const char *id, json_t **ret_source)
{
	struct ts_error err = TS_ERROR_INIT;
	struct buf out = BUF_INIT;
	struct run_record run = {0};
	bool gzip = false;
	struct db *db;
	json_t *doc;

	ck_assert_int_eq(store_catalog_db(b.store, 0, &db, &err), 0);
	ck_assert_int_eq(catalog_run(db, ts_str_c(id), &run, &err), 1);
	ck_assert_int_ge(catalog_summary(db, run.no, false, &out, &gzip, &err), 0);
	db_release(db);
	*ret_source = json_loadb(run.source.p, run.source.n, 0, NULL);
	ck_assert_int_eq(run.outcome.p != NULL, 0);
	doc = json_loads(out.data, 0, NULL);
	ck_assert_ptr_nonnull(doc);
	run_record_done(&run);
	buf_done(&out);
	return doc;
}

START_TEST(a_salvaged_request_run_is_marked_everywhere)
{
	struct digest *d = digest_new();
	char digest[DIGEST_TEXT + 1];
	struct buf gz = BUF_INIT;
	json_t *r, *summary, *source;

	ck_assert_int_eq(buf_gzip(ts_str_c(request_trace("a", 10)), &gz), 0);
	ck_assert_int_eq(buf_gzip(ts_str_c(request_trace("b", 10)), &gz), 0);
	gz.len -= 5;
	digest_add(d, gz.data, gz.len);
	digest_finish(d, digest);
	digest_free(d);
	b.conf.ingest.salvage = SWITCH_ON;
	bench_start(&b);
	bench_write(&b, "spool/s.jsonl.gz", gz.data, gz.len);
	ck_assert(ingest_offer(b.in, "s.jsonl.gz", time_now_ms()));
	r = bench_receipt(&b, "s.jsonl.gz", "ingested");
	ck_assert_str_eq(text_of(r, "digest"), digest); /* of the bytes as they are */
	ck_assert_int_eq(number_of(r, "counts.requests"), 20);
	ck_assert_uint_eq(json_array_size(member(r, "warnings")), 1);
	check_warning(r, "gzip_truncated, byte ");
	summary = summary_of(text_of(r, "run.id"), &source);
	ck_assert(json_is_false(member(summary, "health.capture_complete")));
	ck_assert(json_equal(member(summary, "health.issues"), member(r, "warnings")));
	ck_assert_int_eq(number_of(summary, "requests"), 20);
	ck_assert(json_is_true(member(source, "salvaged")));
	ck_assert_int_eq(number_of(source, "line_count"), 20);
	ck_assert_int_eq(number_of(source, "members"), 1);
	json_decref(summary);
	json_decref(source);
	json_decref(r);
	bench_write(&b, "spool/again.jsonl.gz", gz.data, gz.len);
	ck_assert(ingest_offer(b.in, "again.jsonl.gz", time_now_ms()));
	json_decref(bench_receipt(&b, "again.jsonl.gz", "duplicate"));
	buf_done(&gz);
}
END_TEST

START_TEST(a_salvaged_execution_run_without_end_has_no_outcome)
{
	char *trace = strdup(execution_trace("killed"));
	json_t *r, *summary, *source;

	*strstr(trace, "{\"kind\":\"terminal\"") = 0;
	b.conf.ingest.salvage = SWITCH_ON;
	bench_start(&b);
	bench_drop(&b, "k.jsonl", trace);
	r = bench_receipt(&b, "k.jsonl", "ingested");
	ck_assert_str_eq(text_of(r, "run.id"), "killed");
	ck_assert_int_eq(number_of(r, "counts.spans"), 2);
	check_warning(r, "missing_terminal: ");
	summary = summary_of("killed", &source);
	ck_assert(json_is_false(member(summary, "health.capture_complete")));
	ck_assert(json_equal(member(summary, "health.issues"), member(r, "warnings")));
	ck_assert(is_null(summary, "outcome"));
	ck_assert(is_null(summary, "outcome_reason"));
	ck_assert_int_eq(number_of(summary, "total_ns"), 60);
	ck_assert(json_is_true(member(source, "salvaged")));
	json_decref(summary);
	json_decref(source);
	json_decref(r);
	bench_drop(&b, "good.jsonl", request_trace("g", 2));
	r = bench_receipt(&b, "good.jsonl", "ingested");
	ck_assert_uint_eq(json_array_size(member(r, "warnings")), 0);
	json_decref(r);
	free(trace);
}
END_TEST

Suite *ingest_marks_suite(void)
{
	Suite *s = suite_create("ingest marks");
	TCase *t = tcase_create("marks");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_salvaged_request_run_is_marked_everywhere);
	tcase_add_test(t, a_salvaged_execution_run_without_end_has_no_outcome);
	suite_add_tcase(s, t);
	return s;
}
