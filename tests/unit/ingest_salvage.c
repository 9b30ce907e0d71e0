/* ingest_salvage.c: verdicts on drops that are damaged at their end: refused as ever, or, when
 * asked for, taken up to the damage
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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

/* ---- verdicts ---- */

/* Code of the reason, or "" where it is accepted; *ret_doc (may be NULL) is the verdict. */
static const char *verdict(const char *path, bool salvage, json_t **ret_doc)
{
	struct check_options options = {.conf = &b.conf, .salvage = salvage};
	struct ts_error reason = TS_ERROR_INIT, err = TS_ERROR_INIT;
	static struct buf out = BUF_INIT;
	char full[300];
	json_t *doc;
	int rc;

	buf_clear(&out);
	snprintf(full, sizeof(full), "%s/%s", b.dir, path);
	rc = ingest_check(full, &options, &out, &reason, &err);
	ck_assert_msg(rc >= 0, "%s", err.message);
	doc = json_loads(out.data, 0, NULL);
	ck_assert_msg(doc != NULL, "%s", out.data);
	ck_assert_int_eq(json_is_true(member(doc, "accepted")), rc);
	if (!salvage || rc == 0)
		ck_assert(json_is_false(member(doc, "salvaged")));
	if (ret_doc)
		*ret_doc = doc;
	else
		json_decref(doc);
	return rc ? "" : reason.code->code;
}

/* How many warnings there are of that code. */
static unsigned warnings_of(json_t *doc, const char *code)
{
	json_t *warnings = member(doc, "warnings");
	unsigned n = 0;

	for (size_t i = 0; i < json_array_size(warnings); i++)
		n += !strcmp(text_of(json_array_get(warnings, i), "code"), code);
	return n;
}

/* There is one, the last of all. */
static void check_warning(json_t *doc, const char *begins)
{
	json_t *warnings = member(doc, "warnings");
	json_t *w = json_array_get(warnings, json_array_size(warnings) - 1);

	ck_assert_uint_eq(warnings_of(doc, "salvaged"), 1);
	ck_assert_str_eq(text_of(w, "severity"), "warning");
	ck_assert_str_eq(text_of(w, "code"), "salvaged");
	ck_assert_msg(strncmp(text_of(w, "message"), begins, strlen(begins)) == 0, "%s",
		      text_of(w, "message"));
}

/* Strict: refused with strict. Salvaged: that many of `count`, and a message that begins so. */
static void saved(const char *path, const char *strict, const char *count, unsigned n,
		  const char *begins)
{
	json_t *doc;

	ck_assert_str_eq(verdict(path, false, NULL), strict);
	ck_assert_str_eq(verdict(path, true, &doc), "");
	ck_assert(json_is_true(member(doc, "salvaged")));
	ck_assert_int_eq(number_of(member(doc, "counts"), count), n);
	check_warning(doc, begins);
	json_decref(doc);
}

static void refused(const char *path, const char *strict)
{
	ck_assert_str_eq(verdict(path, false, NULL), strict);
	ck_assert_str_eq(verdict(path, true, NULL), strict);
}

static void whole(const char *path)
{
	json_t *doc;

	ck_assert_str_eq(verdict(path, false, NULL), "");
	ck_assert_str_eq(verdict(path, true, &doc), "");
	ck_assert(json_is_false(member(doc, "salvaged")));
	ck_assert_uint_eq(warnings_of(doc, "salvaged"), 0);
	json_decref(doc);
}

/* ---- bytes ---- */

static struct buf text_of_requests(const char *id, unsigned count)
{
	struct buf text = BUF_INIT;

	buf_puts(&text, request_trace(id, count));
	return text;
}

static void add_member(struct buf *gz, const char *text)
{
	ck_assert_int_eq(buf_gzip(ts_str_c(text), gz), 0);
}

static void put(const char *path, const struct buf *bytes)
{
	bench_write(&b, path, bytes->data ? bytes->data : "", bytes->len);
}

/* ---- plain files ---- */

START_TEST(a_request_trace_cut_anywhere_in_its_last_line_keeps_the_lines_before)
{
	struct buf text = text_of_requests("r", 4);
	size_t begin = text.len - 1;

	while (text.data[begin - 1] != '\n')
		begin--;
	for (size_t cut = begin + 1; cut < text.len - 1; cut++) {
		bench_write(&b, "r.jsonl", text.data, cut);
		saved("r.jsonl", "bad_json", "requests", 3, "bad_json, line 4, byte ");
	}
	bench_write(&b, "r.jsonl", text.data, text.len - 1);
	whole("r.jsonl"); /* the last line needs no LF */
	bench_write(&b, "r.jsonl", text.data, begin);
	whole("r.jsonl");
	buf_done(&text);
}
END_TEST

START_TEST(a_torn_line_may_end_within_a_character_or_be_filled_with_zeros)
{
	struct buf text = text_of_requests("r", 2);

	buf_puts(&text, "{\"schema\":\"\xc3");
	put("u.jsonl", &text);
	saved("u.jsonl", "bad_utf8", "requests", 2, "bad_utf8, line 3, byte ");
	text.len -= 1;
	buf_add(&text, "\0\0\0\0\0\0\0", 7);
	put("z.jsonl", &text);
	saved("z.jsonl", "bad_json", "requests", 2, "bad_json, line 3, byte ");
	buf_putc(&text, '\n'); /* the last line all the same */
	put("l.jsonl", &text);
	saved("l.jsonl", "bad_json", "lines", 2, "bad_json, line 3");
	buf_puts(&text, "\n");
	put("b.jsonl", &text);
	refused("b.jsonl", "bad_json");
	buf_done(&text);
}
END_TEST

START_TEST(a_long_torn_line_is_told_from_one_in_the_middle)
{
	struct buf text = text_of_requests("r", 2);

	buf_puts(&text, "{\"a\":\"\xff");
	for (int i = 0; i < 100000; i++) /* more than is read at a time */
		buf_puts(&text, "0123456789");
	put("t.jsonl", &text);
	saved("t.jsonl", "bad_utf8", "requests", 2, "bad_utf8, line 3");
	buf_puts(&text, "\n");
	buf_puts(&text, request_trace("s", 1));
	put("m.jsonl", &text);
	refused("m.jsonl", "bad_utf8");
	buf_done(&text);
}
END_TEST

START_TEST(damage_in_the_middle_and_broken_rules_are_refused_as_ever)
{
	struct buf text = text_of_requests("r", 2);

	buf_puts(&text, "{\"torn\n");
	buf_puts(&text, request_trace("s", 2));
	put("middle.jsonl", &text);
	refused("middle.jsonl", "bad_json");
	buf_puts(&text, "{\"torn");
	put("twice.jsonl", &text);
	refused("twice.jsonl", "bad_json");
	buf_clear(&text);
	buf_puts(&text, request_trace("r", 2));
	buf_puts(&text, "{\"schema\":\"dynamo.request.trace.v1\"}");
	put("rule.jsonl", &text);
	refused("rule.jsonl", "missing_field");
	buf_clear(&text);
	buf_puts(&text, request_trace("r", 1));
	buf_puts(&text, request_trace("r", 1));
	buf_puts(&text, "{");
	put("double.jsonl", &text);
	refused("double.jsonl", "duplicate_request_id");
	buf_done(&text);
}
END_TEST

START_TEST(with_nothing_before_the_damage_the_verdict_is_the_strict_one)
{
	struct buf text = BUF_INIT;

	bench_write_text(&b, "one.jsonl", "{\"schema\":\"dynamo.request");
	refused("one.jsonl", "bad_json");
	bench_write_text(&b, "blank.jsonl", "\n\n{\"schema\":");
	refused("blank.jsonl", "bad_json");
	bench_write_text(&b, "skipped.jsonl", "[]\n{\"schema\":");
	refused("skipped.jsonl", "bad_json");
	bench_write_text(&b, "meta.jsonl", "{\"kind\":\"meta\",\"schema\":\"candle-graph");
	refused("meta.jsonl", "bad_json");
	bench_write_text(&b, "empty.jsonl", "");
	refused("empty.jsonl", "empty_file");
	bench_write_text(&b, "zero.jsonl.gz", "");
	refused("zero.jsonl.gz", "gzip_truncated");
	add_member(&text, request_trace("r", 1));
	bench_write(&b, "head.jsonl.gz", text.data, 15);
	refused("head.jsonl.gz", "gzip_truncated");
	bench_write_text(&b, "text.jsonl.gz", "plain\n");
	refused("text.jsonl.gz", "gzip_corrupt");
	buf_done(&text);
}
END_TEST

/* ---- gzip ---- */

/* Whole lines that come out of the first n bytes of a member (case C17), by zlib alone. */
static unsigned lines_in(const char *bytes, size_t n)
{
	static char out[1 << 18];
	char name[128], command[200];
	unsigned lines = 0;
	size_t got;
	FILE *f;

	snprintf(name, sizeof(name), "%s/part.gz", b.dir);
	bench_write(&b, "part.gz", bytes, n);
	snprintf(command, sizeof(command), "gzip -dc '%s' 2>/dev/null", name);
	f = popen(command, "re");
	ck_assert_ptr_nonnull(f);
	got = fread(out, 1, sizeof(out), f);
	pclose(f);
	for (size_t i = 0; i < got; i++)
		lines += out[i] == '\n';
	return lines;
}

START_TEST(a_cut_member_gives_the_whole_lines_that_can_be_inflated)
{
	struct buf gz = BUF_INIT;
	char begins[64];
	size_t second, third, part;
	unsigned lines;

	add_member(&gz, request_trace("a", 100));
	second = gz.len;
	add_member(&gz, request_trace("b", 100));
	third = gz.len;
	add_member(&gz, request_trace("c", 100));
	part = (gz.len - third) * 6 / 10;
	lines = lines_in(gz.data + third, part);
	ck_assert_uint_gt(lines, 0);
	bench_write(&b, "seg.000004.jsonl.gz", gz.data, third + part);
	snprintf(begins, sizeof(begins), "gzip_truncated, byte %zu: ", third);
	saved("seg.000004.jsonl.gz", "gzip_truncated", "requests", 200 + lines, begins);
	/* Cut in the trailer all of them are there; after one byte of the next member too. */
	bench_write(&b, "t.jsonl.gz", gz.data, gz.len - 3);
	saved("t.jsonl.gz", "gzip_truncated", "requests", 300, begins);
	bench_write(&b, "o.jsonl.gz", gz.data, second + 1);
	snprintf(begins, sizeof(begins), "gzip_truncated, byte %zu: ", second);
	saved("o.jsonl.gz", "gzip_truncated", "requests", 100, begins);
	bench_write(&b, "w.jsonl.gz", gz.data, third);
	whole("w.jsonl.gz");
	buf_done(&gz);
}
END_TEST

START_TEST(corrupt_data_at_the_end_of_a_gzip_file)
{
	struct buf gz = BUF_INIT;
	size_t second;

	add_member(&gz, request_trace("a", 10));
	second = gz.len;
	add_member(&gz, request_trace("b", 10));
	buf_puts(&gz, "garbage");
	put("g.jsonl.gz", &gz);
	saved("g.jsonl.gz", "gzip_corrupt", "requests", 20, "gzip_corrupt, byte ");
	gz.len -= 7;
	gz.data[gz.len - 8] ^= 1; /* CRC of the last member */
	put("c.jsonl.gz", &gz);
	saved("c.jsonl.gz", "gzip_corrupt", "requests", 20, "gzip_corrupt, byte ");
	gz.data[second + 2] = 7; /* compression method */
	put("h.jsonl.gz", &gz);
	saved("h.jsonl.gz", "gzip_corrupt", "requests", 10, "gzip_corrupt, byte ");
	buf_done(&gz);
}
END_TEST

START_TEST(a_torn_line_in_whole_gzip_members)
{
	struct buf gz = BUF_INIT;

	add_member(&gz, request_trace("a", 10));
	add_member(&gz, "{\"schema\":\"dyn");
	put("t.jsonl.gz", &gz);
	saved("t.jsonl.gz", "bad_json", "requests", 10, "bad_json, line 11");
	gz.len -= 3; /* cut as well: the piece in front of a failure is no line */
	put("c.jsonl.gz", &gz);
	saved("c.jsonl.gz", "gzip_truncated", "requests", 10, "gzip_truncated, byte ");
	buf_clear(&gz);
	add_member(&gz, request_trace("a", 10));
	add_member(&gz, "{\"schema\":\"dyn\n");
	gz.len -= 3; /* a bad whole line in front of the failure wins, and is not torn */
	put("b.jsonl.gz", &gz);
	refused("b.jsonl.gz", "bad_json");
	buf_done(&gz);
}
END_TEST

/* ---- folders ---- */

START_TEST(of_a_folder_only_the_last_shard_may_be_damaged)
{
	struct buf a = BUF_INIT, z = BUF_INIT, torn = text_of_requests("t", 3);

	add_member(&a, request_trace("a", 5));
	add_member(&z, request_trace("z", 7));
	add_member(&z, request_trace("y", 7));
	torn.len -= 20;
	bench_mkdir(&b, "last");
	bench_write(&b, "last/s.000000.jsonl.gz", a.data, a.len);
	bench_write(&b, "last/s.000001.jsonl.gz", z.data, z.len - 4);
	saved("last", "gzip_truncated", "requests", 19,
	      "gzip_truncated, shard s.000001.jsonl.gz, byte ");
	bench_write(&b, "last/s.000001.jsonl.gz", "", 0);
	saved("last", "gzip_truncated", "requests", 5,
	      "gzip_truncated, shard s.000001.jsonl.gz, byte 0");
	bench_mkdir(&b, "first");
	bench_write(&b, "first/s.000000.jsonl.gz", a.data, a.len - 4);
	bench_write(&b, "first/s.000001.jsonl.gz", z.data, z.len);
	refused("first", "gzip_truncated");
	bench_mkdir(&b, "both");
	bench_write(&b, "both/s.000000.jsonl.gz", a.data, a.len - 4);
	bench_write(&b, "both/s.000001.jsonl.gz", z.data, z.len - 4);
	refused("both", "gzip_truncated");
	bench_mkdir(&b, "plain");
	bench_write(&b, "plain/b.jsonl", torn.data, torn.len);
	saved("plain", "bad_json", "requests", 2, "bad_json, shard b.jsonl, line 3, byte ");
	bench_write_text(&b, "plain/c.jsonl", request_trace("c", 1));
	refused("plain", "bad_json");
	buf_done(&a);
	buf_done(&z);
	buf_done(&torn);
}
END_TEST

/* ---- execution traces ---- */

START_TEST(an_execution_trace_may_lack_its_end)
{
	const char *trace = execution_trace("x");
	size_t terminal = (size_t)(strstr(trace, "{\"kind\":\"terminal\"") - trace);
	size_t last_end = (size_t)(strstr(trace, "{\"kind\":\"span_end\",\"id\":\"s0\"") - trace);
	size_t meta = (size_t)(strchr(trace, '\n') - trace) + 1;
	struct buf gz = BUF_INIT;
	char *front;

	whole((bench_write_text(&b, "w.jsonl", trace), "w.jsonl"));
	bench_write(&b, "x.jsonl", trace, terminal);
	saved("x.jsonl", "missing_terminal", "records", 8, "missing_terminal: ");
	bench_write(&b, "x.jsonl", trace, terminal + 20);
	saved("x.jsonl", "bad_json", "records", 8, "bad_json, line 9, byte ");
	bench_write(&b, "x.jsonl", trace, last_end + 5);
	saved("x.jsonl", "bad_json", "closed_spans", 1, "bad_json, line 8, byte ");
	bench_write(&b, "x.jsonl", trace, meta);
	saved("x.jsonl", "missing_terminal", "spans", 0, "missing_terminal: ");
	bench_write_text(&b, "x.jsonl", trace);
	bench_append(&b, "x.jsonl", "{\"kind\":");
	saved("x.jsonl", "bad_json", "records", 9, "bad_json, line 10, byte ");
	front = strndup(trace, terminal);
	add_member(&gz, front);
	gz.len -= 2;
	put("x.jsonl.gz", &gz);
	saved("x.jsonl.gz", "gzip_truncated", "records", 8, "gzip_truncated, byte 0: ");
	free(front);
	buf_done(&gz);
}
END_TEST

START_TEST(an_execution_trace_without_end_keeps_all_other_rules)
{
	char *trace = strdup(execution_trace("x"));
	char *schema = strstr(trace, "trace/10");

	*strstr(trace, "{\"kind\":\"terminal\"") = 0;
	bench_write_text(&b, "m.jsonl", strchr(trace, '\n') + 1);
	refused("m.jsonl", "missing_meta");
	memcpy(schema, "trace/77", 8);
	bench_write_text(&b, "s.jsonl", trace);
	ck_assert_str_eq(verdict("s.jsonl", false, NULL), "missing_terminal");
	ck_assert_str_eq(verdict("s.jsonl", true, NULL), "unsupported_schema");
	free(trace);
}
END_TEST

Suite *ingest_salvage_suite(void)
{
	Suite *s = suite_create("ingest salvage");
	TCase *t = tcase_create("salvage");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, a_request_trace_cut_anywhere_in_its_last_line_keeps_the_lines_before);
	tcase_add_test(t, a_torn_line_may_end_within_a_character_or_be_filled_with_zeros);
	tcase_add_test(t, a_long_torn_line_is_told_from_one_in_the_middle);
	tcase_add_test(t, damage_in_the_middle_and_broken_rules_are_refused_as_ever);
	tcase_add_test(t, with_nothing_before_the_damage_the_verdict_is_the_strict_one);
	tcase_add_test(t, a_cut_member_gives_the_whole_lines_that_can_be_inflated);
	tcase_add_test(t, corrupt_data_at_the_end_of_a_gzip_file);
	tcase_add_test(t, a_torn_line_in_whole_gzip_members);
	tcase_add_test(t, of_a_folder_only_the_last_shard_may_be_damaged);
	tcase_add_test(t, an_execution_trace_may_lack_its_end);
	tcase_add_test(t, an_execution_trace_without_end_keeps_all_other_rules);
	suite_add_tcase(s, t);
	return s;
}
