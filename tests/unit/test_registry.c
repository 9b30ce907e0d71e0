/* test_registry.c: which format a file has, by its first line (house rules 9), and whether a line
 * is a terminal record
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tracespool/format.h"
#include "tracespool/util.h"

static int pick(const char *text, const struct ts_format **ret, struct ts_error *err)
{
	struct line line = {.text = text, .len = strlen(text), .number = 3, .byte = 100};

	ts_error_init(err);
	return format_pick(&line, ret, err);
}

static const struct {
	const char *line, *want; /* the format's name, or the code of the error */
} picks[] = {
	/* execution traces */
	{"{\"schema\":\"candle-graph/trace/10\"}", "candle-graph"},
	{"{\"schema\":\"candle-graph/\"}", "candle-graph"},
	{"{\"schema\":\"candle-graph/trace/99\",\"event\":{}}", "candle-graph"},
	{"{\"kind\":\"meta\"}", "candle-graph"},
	{"{\"kind\":\"meta\",\"event\":1,\"schema\":\"other\"}", "candle-graph"},
	{"{\"kind\":\"span_start\",\"id\":\"a\"}", "candle-graph"},
	{"{\"kind\":null}", "candle-graph"},
	{"{\"kind\":[1,{\"a\":2}]}", "candle-graph"},
	{"{\"\\u006bind\":\"m\\u0065ta\",\"event\":1}", "candle-graph"},
	{" \t{\"kind\":\"meta\"}\r", "candle-graph"},
	{"\xc2\xa0\v{\"kind\":\"meta\"}\xe3\x80\x80", "candle-graph"},
	/* request traces */
	{"{\"event\":{\"kind\":\"meta\"}}", "dynamo-request"},
	{"{\"event\":null}", "dynamo-request"},
	{"{\"schema\":\"dynamo.request.trace.v1\"}", "dynamo-request"},
	{"{\"schema\":7,\"kind\":\"op\"}", "dynamo-request"},
	{"{\"schema\":\"candle-graph\"}", "dynamo-request"},
	{"{\"event_type\":\"request_payload\"}", "dynamo-request"},
	{"{\"event\":1,\"kind\":\"Meta\"}", "dynamo-request"},
	{"[{\"kind\":\"meta\"}]", "dynamo-request"},
	{"null", "dynamo-request"},
	{"17", "dynamo-request"},
	{"\"text\"", "dynamo-request"},
	/* of repeated members the last one counts */
	{"{\"kind\":\"op\",\"event\":1,\"kind\":\"meta\"}", "candle-graph"},
	{"{\"kind\":\"meta\",\"event\":1,\"kind\":\"op\"}", "dynamo-request"},
	{"{\"schema\":\"candle-graph/trace/9\",\"schema\":1}", "dynamo-request"},
	/* neither */
	{"{}", "unknown_format"},
	{"{\"Kind\":\"meta\",\"schemas\":1}", "unknown_format"},
	{"{\"a\":{\"kind\":\"meta\"}}", "unknown_format"},
	/* not one JSON text */
	{"{\"kind\":\"meta\"", "bad_json"},
	{"{\"kind\":\"meta\"}}", "bad_json"},
	{"{\"kind\":\"meta\"} {}", "bad_json"},
	{"{\"kind\":\"meta\",\"x\":1e999}", "bad_json"},
	{"{\"kind\":\"meta\",\"x\":\"\\ud800\"}", "bad_json"},
	{"[1,]", "bad_json"},
	{"kind", "bad_json"},
	{"\xef\xbb\xbf{\"kind\":\"meta\"}", "bad_json"},
	{"\xe2\x80\x8b{\"kind\":\"meta\"}", "bad_json"},
};

START_TEST(the_first_line_picks_the_format)
{
	const struct ts_format *format = NULL;
	struct ts_error err;

	if (pick(picks[_i].line, &format, &err) == 0)
		ck_assert_msg(strcmp(format->name, picks[_i].want) == 0, "%s", picks[_i].line);
	else
		ck_assert_msg(!format && strcmp(err.code->code, picks[_i].want) == 0, "%s: %s",
			      picks[_i].line, err.code->code);
	if (strstr(picks[_i].want, "_")) {
		ck_assert_ptr_null(format);
		ck_assert_uint_eq(err.line, 3);
	}
}
END_TEST

START_TEST(bad_json_is_placed_in_the_line_and_in_the_file)
{
	const struct ts_format *format;
	struct ts_error err;

	/* The comma behind the last member: byte 9 of the line, in which white space counts. */
	ck_assert_int_eq(pick("\xc2\xa0 {\"a\":1,}", &format, &err), -1);
	ck_assert(ts_error_is(&err, TS_E_BAD_JSON));
	ck_assert_int_eq(err.byte, 100 + 10);
	ck_assert_uint_eq(err.column, 11);
}
END_TEST

START_TEST(an_unknown_format_is_placed_at_its_line)
{
	const struct ts_format *format;
	struct ts_error err;

	ck_assert_int_eq(pick("  {\"a\":1}", &format, &err), -1);
	ck_assert_int_eq(err.byte, 100);
	ck_assert_uint_eq(err.column, 0);
	ck_assert_int_eq(err.event, -1);
	ck_assert_ptr_nonnull(strstr(err.excerpt, "{\"a\":1}"));
}
END_TEST

static const struct {
	const char *line;
	bool want;
} lines[] = {
	{"{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":80}", true},
	{"{\"timestamp_ns\":80,\"kind\":\"terminal\"}", true},
	{"{\"kind\":\"termin\\u0061l\"}\r", true},
	{" {\"kind\":\"terminal\"}\xc2\x85", true},
	{"{\"x\":[[{}]],\"kind\":\"terminal\"}", true},
	{"{\"kind\":\"terminal\"", false},
	{"{\"kind\":\"terminal\"}x", false},
	{"{\"kind\":\"terminal\",\"x\":\"\xff\"}", false},
	{"{\"kind\":\"Terminal\"}", false},
	{"{\"kind\":[\"terminal\"]}", false},
	{"{\"x\":{\"kind\":\"terminal\"}}", false},
	{"\"terminal\"", false},
	{"[\"kind\",\"terminal\"]", false},
	{"terminal", false},
	{"", false},
	{"  ", false},
};

START_TEST(a_terminal_record_is_known_by_its_kind)
{
	size_t n = strlen(lines[_i].line);
	char *text = malloc(n + 1);

	/* Exactly these bytes: nothing behind them may be read. */
	ck_assert_ptr_nonnull(text);
	memcpy(text, lines[_i].line, n);
	text = realloc(text, n ? n : 1);
	ck_assert_msg(format_line_is_terminal(text, n) == lines[_i].want, "%s", lines[_i].line);
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("registry");
	TCase *t = tcase_create("registry");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(t, the_first_line_picks_the_format, 0, ARRAY_LEN(picks));
	tcase_add_test(t, bad_json_is_placed_in_the_line_and_in_the_file);
	tcase_add_test(t, an_unknown_format_is_placed_at_its_line);
	tcase_add_loop_test(t, a_terminal_record_is_known_by_its_kind, 0, ARRAY_LEN(lines));
	suite_add_tcase(suite, t);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
