/* ingest_drops.c: what becomes of good, repeated and refused drops: receipts, reports, runs, files
 */
#include <stdlib.h>
#include <string.h>

#include "ingest_bench.h"

#include "tracespool/digest.h"
#include "tracespool/input.h"

static struct bench b;

static void setup(void)
{
	bench_open(&b);
	bench_start(&b);
}

static void teardown(void)
{
	bench_close(&b);
}

static void digest_of(const char *text, char out[static DIGEST_TEXT + 1])
{
	struct digest *d = digest_new();

	digest_add(d, text, strlen(text));
	digest_finish(d, out);
	digest_free(d);
}

START_TEST(an_execution_trace_becomes_a_run_and_is_archived)
{
	const char *trace = execution_trace("run-heron-17");
	char digest[DIGEST_TEXT + 1], path[200];
	char *kept;
	json_t *r;

	bench_drop(&b, "a.jsonl", trace);
	r = bench_receipt(&b, "a.jsonl", "ingested");
	bench_idle(&b);
	digest_of(trace, digest);
	ck_assert_str_eq(text_of(r, "schema"), "tracespool/receipt/1");
	ck_assert_str_eq(text_of(r, "name"), "a.jsonl");
	ck_assert_str_eq(text_of(r, "digest"), digest);
	ck_assert_int_eq(number_of(r, "size_bytes"), (json_int_t)strlen(trace));
	ck_assert(json_is_true(member(r, "final")));
	ck_assert_str_eq(text_of(r, "run.id"), "run-heron-17");
	ck_assert_str_eq(text_of(r, "run.kind"), "execution");
	ck_assert_str_eq(text_of(r, "run.summary"), "/runs/run-heron-17/summary");
	ck_assert_int_eq(number_of(r, "counts.lines"), 9);
	ck_assert_int_eq(number_of(r, "counts.records"), 9);
	ck_assert_int_eq(number_of(r, "counts.spans"), 2);
	ck_assert_int_eq(number_of(r, "counts.closed_spans"), 2);
	ck_assert_int_eq(number_of(r, "counts.ops"), 1);
	ck_assert_int_eq(number_of(r, "counts.memory"), 2);
	ck_assert_int_eq(number_of(r, "counts.tensors"), 0);
	ck_assert(is_null(r, "reason"));
	ck_assert(is_null(r, "retry_at"));
	ck_assert(json_is_array(member(r, "warnings")));
	ck_assert_str_eq(text_of(r, "source.action"), "archived");
	/* The bytes are still there (C07). */
	snprintf(path, sizeof(path), "spool/%s", text_of(r, "source.path"));
	ck_assert_ptr_eq(strstr(path, "spool/.archive/"), path);
	kept = bench_read(&b, path);
	ck_assert_str_eq(kept, trace);
	ck_assert(!bench_exists(&b, "spool/a.jsonl"));
	ck_assert_uint_eq(bench_count(&b, "spool/.active"), 0);
	ck_assert_uint_eq(bench_runs(&b), 1);
	ck_assert_uint_eq(bench_count(&b, "store/runs"), 1);
	free(kept);
	json_decref(r);
}
END_TEST

START_TEST(a_request_trace_is_named_by_stem_and_digest)
{
	const char *trace = request_trace("r", 3);
	char digest[DIGEST_TEXT + 1], id[64];
	json_t *r;

	bench_drop(&b, "night.000003.jsonl", trace);
	r = bench_receipt(&b, "night.000003.jsonl", "ingested");
	digest_of(trace, digest);
	snprintf(id, sizeof(id), "night.000003-%.12s", digest + 7);
	ck_assert_str_eq(text_of(r, "run.id"), id);
	ck_assert_str_eq(text_of(r, "run.kind"), "requests");
	ck_assert_int_eq(number_of(r, "counts.shards"), 1);
	ck_assert_int_eq(number_of(r, "counts.lines"), 3);
	ck_assert_int_eq(number_of(r, "counts.requests"), 3);
	ck_assert_int_eq(number_of(r, "counts.tools"), 0);
	json_decref(r);
}
END_TEST

START_TEST(a_segment_knows_its_capture_and_its_members)
{
	struct run_record run = {0};
	struct ts_error err = TS_ERROR_INIT;
	struct db *db;
	json_t *r, *source;
	char *text;

	bench_drop_gzip(&b, "night.000003.jsonl.gz", request_trace("r", 2));
	r = bench_receipt(&b, "night.000003.jsonl.gz", "ingested");
	ck_assert_int_eq(store_catalog_db(b.store, 0, &db, &err), 0);
	ck_assert_int_eq(catalog_run(db, ts_str_c(text_of(r, "run.id")), &run, &err), 1);
	db_release(db);
	ck_assert(ts_str_is(run.capture, "night"));
	ck_assert(run.segment.has);
	ck_assert_uint_eq(run.segment.v, 3);
	ck_assert(ts_str_is(run.name, "night.000003.jsonl.gz"));
	text = strndup(run.source.p, run.source.n);
	source = json_loads(text, 0, NULL);
	ck_assert_ptr_nonnull(source);
	ck_assert_str_eq(text_of(source, "name"), "night.000003.jsonl.gz");
	ck_assert_str_eq(text_of(source, "encoding"), "gzip");
	ck_assert_int_eq(number_of(source, "members"), 1);
	ck_assert_int_eq(number_of(source, "line_count"), 2);
	ck_assert_int_eq(number_of(source, "uncompressed_bytes"),
			 (json_int_t)strlen(request_trace("r", 2)));
	ck_assert_int_eq(number_of(source, "size_bytes"), number_of(r, "size_bytes"));
	ck_assert_str_eq(text_of(source, "kept"), "archive");
	ck_assert_str_eq(text_of(source, "path"), text_of(r, "source.path"));
	free(text);
	json_decref(source);
	json_decref(r);
	run_record_done(&run);
}
END_TEST

START_TEST(the_same_bytes_are_a_duplicate_plain_or_compressed)
{
	const char *trace = execution_trace("same");
	json_t *first, *plain, *gz;

	bench_drop(&b, "e.jsonl", trace);
	first = bench_receipt(&b, "e.jsonl", "ingested");
	bench_drop(&b, "f.jsonl", trace);
	plain = bench_receipt(&b, "f.jsonl", "duplicate");
	bench_drop_gzip(&b, "e.jsonl.gz", trace);
	gz = bench_receipt(&b, "e.jsonl.gz", "duplicate");
	bench_idle(&b);
	ck_assert_str_eq(text_of(plain, "run.id"), "same");
	ck_assert_str_eq(text_of(gz, "run.id"), "same");
	ck_assert_str_eq(text_of(gz, "digest"), text_of(first, "digest"));
	ck_assert(is_null(gz, "counts"));
	ck_assert(is_null(gz, "reason"));
	ck_assert(json_is_true(member(gz, "final")));
	ck_assert_str_eq(text_of(gz, "source.action"), "archived");
	ck_assert_uint_eq(bench_runs(&b), 1);
	ck_assert_uint_eq(bench_count(&b, "store/runs"), 1);
	ck_assert_uint_eq(bench_count(&b, "spool/.archive"), 3);
	json_decref(first);
	json_decref(plain);
	json_decref(gz);
}
END_TEST

START_TEST(a_name_that_is_used_again_gets_a_place_of_its_own)
{
	json_t *first, *second;

	bench_drop(&b, "a.jsonl", execution_trace("one"));
	first = bench_receipt(&b, "a.jsonl", "ingested");
	bench_idle(&b);
	bench_drop(&b, "a.jsonl", execution_trace("two"));
	bench_idle(&b);
	second = bench_receipt(&b, "a.jsonl", "ingested");
	ck_assert_str_eq(text_of(second, "run.id"), "two");
	ck_assert_str_ne(text_of(first, "source.path"), text_of(second, "source.path"));
	ck_assert_uint_eq(bench_count(&b, "spool/.archive"), 2);
	json_decref(first);
	json_decref(second);
}
END_TEST

/* The report beside the quarantined drop says what the receipt says. */
static void check_report(json_t *receipt)
{
	char path[300];
	char *text;
	json_t *report;

	snprintf(path, sizeof(path), "spool/%s", text_of(receipt, "source.path"));
	ck_assert(bench_exists(&b, path));
	strcat(path, ".json");
	text = bench_read(&b, path);
	report = json_loads(text, 0, NULL);
	ck_assert(json_equal(report, receipt));
	ck_assert_int_eq(text[strlen(text) - 1], '\n');
	free(text);
	json_decref(report);
}

START_TEST(a_bad_line_refuses_the_file_with_place_and_report)
{
	char *trace = strdup(execution_trace("bad"));
	char digest[DIGEST_TEXT + 1];
	json_t *r;

	/* The third line loses the comma in front of "name". */
	memcpy(strstr(trace, ",\"name\":\"call\""), " ", 1);
	bench_drop(&b, "bad.jsonl", trace);
	r = bench_receipt(&b, "bad.jsonl", "quarantined");
	bench_idle(&b);
	digest_of(trace, digest);
	ck_assert_str_eq(text_of(r, "digest"), digest);
	ck_assert_str_eq(text_of(r, "reason.code"), "bad_json");
	ck_assert_int_eq(number_of(r, "reason.line"), 3);
	ck_assert_int_eq(number_of(r, "reason.byte_offset"),
			 strstr(trace, "\"name\":\"call\"") - trace);
	ck_assert(is_null(r, "reason.file"));
	ck_assert(is_null(r, "run"));
	ck_assert(is_null(r, "counts"));
	ck_assert(json_is_true(member(r, "final")));
	ck_assert_str_eq(text_of(r, "source.action"), "quarantined");
	ck_assert_ptr_nonnull(strstr(text_of(r, "source.path"), "-bad.jsonl"));
	check_report(r);
	ck_assert_uint_eq(bench_count(&b, "spool/.quarantine"), 2);
	ck_assert_uint_eq(bench_runs(&b), 0);
	ck_assert_uint_eq(bench_count(&b, "store/runs"), 0);
	ck_assert_uint_eq(bench_count(&b, "store/tmp"), 0);
	free(trace);
	json_decref(r);
}
END_TEST

START_TEST(what_holds_nothing_is_an_empty_file)
{
	static const struct {
		const char *name, *text, *code;
	} cases[] = {
		{"zero.jsonl", "", "empty_file"},
		{"blank.jsonl", "\n  \n\r\n\t", "empty_file"},
		{"other.jsonl", "\n{\"a\":1}\n", "unknown_format"},
		{"zero.jsonl.gz", "", "gzip_truncated"},
		{"text.jsonl.gz", "{}", "gzip_corrupt"},
		{"none.jsonl", "[]\n", "no_requests"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		json_t *r;

		bench_drop(&b, cases[i].name, cases[i].text);
		r = bench_receipt(&b, cases[i].name, "quarantined");
		ck_assert_str_eq(text_of(r, "reason.code"), cases[i].code);
		ck_assert(!is_null(r, "digest"));
		json_decref(r);
	}
}
END_TEST

START_TEST(another_file_with_the_id_of_a_run_is_refused)
{
	char *other = strdup(execution_trace("twin"));
	json_t *first, *r;

	memcpy(strstr(other, "matmul"), "matadd", 6);
	bench_drop(&b, "one.jsonl", execution_trace("twin"));
	first = bench_receipt(&b, "one.jsonl", "ingested");
	bench_drop(&b, "two.jsonl", other);
	r = bench_receipt(&b, "two.jsonl", "quarantined");
	bench_idle(&b);
	ck_assert_str_eq(text_of(r, "reason.code"), "run_id_conflict");
	ck_assert_ptr_nonnull(strstr(text_of(r, "reason.message"), text_of(first, "digest")));
	check_report(r);
	ck_assert_uint_eq(bench_runs(&b), 1);
	ck_assert_uint_eq(bench_count(&b, "store/runs"), 1);
	free(other);
	json_decref(first);
	json_decref(r);
}
END_TEST

START_TEST(with_replace_the_newer_file_takes_the_id)
{
	char *other = strdup(execution_trace("twin"));
	json_t *r;

	memcpy(strstr(other, "matmul"), "matadd", 6);
	bench_stop(&b);
	b.conf.ingest.on_run_id_conflict = CONFLICT_REPLACE;
	bench_start(&b);
	bench_drop(&b, "one.jsonl", execution_trace("twin"));
	json_decref(bench_receipt(&b, "one.jsonl", "ingested"));
	bench_drop(&b, "two.jsonl", other);
	r = bench_receipt(&b, "two.jsonl", "ingested");
	bench_idle(&b);
	ck_assert_uint_eq(bench_runs(&b), 1);
	ck_assert_uint_eq(bench_count(&b, "store/runs"), 1);
	free(other);
	json_decref(r);
}
END_TEST

START_TEST(ids_that_cannot_be_served_are_refused)
{
	char id[600];
	json_t *r;

	memset(id, 'x', 513);
	id[513] = 0;
	bench_drop(&b, "long.jsonl", execution_trace(id));
	r = bench_receipt(&b, "long.jsonl", "quarantined");
	ck_assert_str_eq(text_of(r, "reason.code"), "bad_run_id");
	ck_assert_int_eq(number_of(r, "reason.line"), 1);
	json_decref(r);
	bench_drop(&b, "nul.jsonl", execution_trace("a\\u0000b"));
	r = bench_receipt(&b, "nul.jsonl", "quarantined");
	ck_assert_str_eq(text_of(r, "reason.code"), "bad_run_id");
	json_decref(r);
	bench_drop(&b, "digest.jsonl", execution_trace("sha256:0123456789abcdef"));
	r = bench_receipt(&b, "digest.jsonl", "quarantined");
	ck_assert_str_eq(text_of(r, "reason.code"), "bad_run_id");
	json_decref(r);
	id[512] = 0;
	bench_drop(&b, "fits.jsonl", execution_trace(id));
	json_decref(bench_receipt(&b, "fits.jsonl", "ingested"));
}
END_TEST

START_TEST(an_id_that_cannot_stand_in_a_path_is_linked_by_digest)
{
	char want[200];
	json_t *r;

	bench_drop(&b, "dots.jsonl", execution_trace(".."));
	r = bench_receipt(&b, "dots.jsonl", "ingested");
	snprintf(want, sizeof(want), "/runs/sha256%%3A%s/summary", text_of(r, "digest") + 7);
	ck_assert_str_eq(text_of(r, "run.summary"), want);
	json_decref(r);
	bench_drop(&b, "odd.jsonl", execution_trace("lab/m::t 7"));
	r = bench_receipt(&b, "odd.jsonl", "ingested");
	ck_assert_str_eq(text_of(r, "run.summary"), "/runs/lab%2Fm%3A%3At%207/summary");
	json_decref(r);
}
END_TEST

START_TEST(a_name_that_is_no_utf8_is_written_with_percent_signs)
{
	json_t *r;

	bench_drop(&b, "a\xff.jsonl", execution_trace("odd-name"));
	r = bench_receipt(&b, "a\xff.jsonl", "ingested");
	ck_assert_str_eq(text_of(r, "name"), "a%FF.jsonl");
	json_decref(r);
}
END_TEST

START_TEST(a_folder_is_one_run_of_its_shards)
{
	char one[DIGEST_TEXT + 1], two[DIGEST_TEXT + 1], both[DIGEST_TEXT + 1];
	char lines[2 * (DIGEST_TEXT + 1) + 1];
	struct buf gz = BUF_INIT;
	json_t *r;

	bench_mkdir(&b, "spool/night");
	digest_of(request_trace("b", 3), two);
	bench_write_text(&b, "spool/night/x.000010.jsonl", request_trace("b", 3));
	digest_of(request_trace("a", 2), one);
	ck_assert_int_eq(buf_gzip(ts_str_c(request_trace("a", 2)), &gz), 0);
	bench_write(&b, "spool/night/w.000009.jsonl.gz", gz.data, gz.len);
	bench_write_text(&b, "spool/night/notes.txt", "no shard");
	ck_assert(ingest_offer(b.in, "night", 1));
	r = bench_receipt(&b, "night", "ingested");
	bench_idle(&b);
	snprintf(lines, sizeof(lines), "%s\n%s\n", one, two);
	digest_of(lines, both);
	ck_assert_str_eq(text_of(r, "digest"), both);
	ck_assert_int_eq(number_of(r, "counts.shards"), 2);
	ck_assert_int_eq(number_of(r, "counts.lines"), 5);
	ck_assert_int_eq(number_of(r, "counts.requests"), 5);
	ck_assert_ptr_eq(strstr(text_of(r, "run.id"), "night-"), text_of(r, "run.id"));
	ck_assert_uint_eq(bench_count(&b, "spool/.archive"), 3);
	buf_done(&gz);
	json_decref(r);
}
END_TEST

START_TEST(a_bad_line_in_a_shard_refuses_the_folder_and_names_the_shard)
{
	char one[DIGEST_TEXT + 1], two[DIGEST_TEXT + 1], three[DIGEST_TEXT + 1];
	char lines[3 * (DIGEST_TEXT + 1) + 1], all[DIGEST_TEXT + 1];
	json_t *r;

	bench_mkdir(&b, "spool/night");
	bench_write_text(&b, "spool/night/a.jsonl", request_trace("a", 2));
	bench_write_text(&b, "spool/night/b.jsonl", "\n{\"x\":1,}\n");
	bench_write_text(&b, "spool/night/c.jsonl", "");
	digest_of(request_trace("a", 2), one);
	digest_of("\n{\"x\":1,}\n", two);
	digest_of("", three);
	snprintf(lines, sizeof(lines), "%s\n%s\n%s\n", one, two, three);
	digest_of(lines, all);
	ck_assert(ingest_offer(b.in, "night", 1));
	r = bench_receipt(&b, "night", "quarantined");
	bench_idle(&b);
	ck_assert_str_eq(text_of(r, "reason.code"), "bad_json");
	ck_assert_str_eq(text_of(r, "reason.file"), "b.jsonl");
	ck_assert_int_eq(number_of(r, "reason.line"), 2);
	ck_assert_str_eq(text_of(r, "digest"), all);
	check_report(r);
	json_decref(r);
}
END_TEST

START_TEST(a_folder_without_content_or_with_an_execution_trace_is_refused)
{
	json_t *r;

	bench_mkdir(&b, "spool/blank");
	bench_write_text(&b, "spool/blank/a.jsonl", "\n \n");
	bench_write_text(&b, "spool/blank/b.jsonl", "");
	ck_assert(ingest_offer(b.in, "blank", 1));
	r = bench_receipt(&b, "blank", "quarantined");
	ck_assert_str_eq(text_of(r, "reason.code"), "empty_file");
	json_decref(r);
	bench_mkdir(&b, "spool/none");
	ck_assert(ingest_offer(b.in, "none", 1));
	r = bench_receipt(&b, "none", "quarantined");
	ck_assert_str_eq(text_of(r, "reason.code"), "empty_file");
	json_decref(r);
	bench_mkdir(&b, "spool/wrong");
	bench_write_text(&b, "spool/wrong/a.jsonl", execution_trace("x"));
	ck_assert(ingest_offer(b.in, "wrong", 1));
	r = bench_receipt(&b, "wrong", "quarantined");
	ck_assert_str_eq(text_of(r, "state"), "quarantined");
	json_decref(r);
	ck_assert_uint_eq(bench_runs(&b), 0);
}
END_TEST

START_TEST(many_drops_at_once_are_each_taken_once)
{
	char name[40], id[40];

	for (unsigned i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "m%03u.jsonl", i);
		snprintf(id, sizeof(id), "many-%u", i % 50);
		bench_drop(&b, name, execution_trace(id));
		ck_assert(ingest_offer(b.in, name, 1));
	}
	bench_idle(&b);
	ck_assert_uint_eq(bench_runs(&b), 50);
	ck_assert_uint_eq(bench_receipts(&b, "ingested"), 50);
	ck_assert_uint_eq(bench_receipts(&b, "duplicate"), 50);
	ck_assert_uint_eq(bench_receipts(&b, NULL), 100);
	ck_assert_uint_eq(bench_count(&b, "spool/.archive"), 100);
	ck_assert_uint_eq(bench_count(&b, "spool/.active"), 0);
	ck_assert_uint_eq(bench_count(&b, "spool/.receipts"), 100);
}
END_TEST

Suite *ingest_drops_suite(void)
{
	Suite *s = suite_create("ingest_drops");
	TCase *t = tcase_create("drops");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, an_execution_trace_becomes_a_run_and_is_archived);
	tcase_add_test(t, a_request_trace_is_named_by_stem_and_digest);
	tcase_add_test(t, a_segment_knows_its_capture_and_its_members);
	tcase_add_test(t, the_same_bytes_are_a_duplicate_plain_or_compressed);
	tcase_add_test(t, a_name_that_is_used_again_gets_a_place_of_its_own);
	tcase_add_test(t, a_bad_line_refuses_the_file_with_place_and_report);
	tcase_add_test(t, what_holds_nothing_is_an_empty_file);
	tcase_add_test(t, another_file_with_the_id_of_a_run_is_refused);
	tcase_add_test(t, with_replace_the_newer_file_takes_the_id);
	tcase_add_test(t, ids_that_cannot_be_served_are_refused);
	tcase_add_test(t, an_id_that_cannot_stand_in_a_path_is_linked_by_digest);
	tcase_add_test(t, a_name_that_is_no_utf8_is_written_with_percent_signs);
	tcase_add_test(t, a_folder_is_one_run_of_its_shards);
	tcase_add_test(t, a_bad_line_in_a_shard_refuses_the_folder_and_names_the_shard);
	tcase_add_test(t, a_folder_without_content_or_with_an_execution_trace_is_refused);
	tcase_add_test(t, many_drops_at_once_are_each_taken_once);
	suite_add_tcase(s, t);
	return s;
}
