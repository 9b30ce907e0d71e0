/* test_json_place.c: what json_fail says of a bad text: phrase, column, byte, excerpt, hint */
#include "test_json.h"

static struct arena scratch;

static void done(void)
{
	arena_done(&scratch);
}

/* The error of a text that stands at byte 1000 of the file, in line 7. */
static struct ts_error fail_at(const char *text, size_t n, uint64_t byte)
{
	struct ts_error err = TS_ERROR_INIT;
	struct json j;

	json_begin(&j, text, n, &scratch);
	json_skip(&j);
	ck_assert_int_eq(json_end(&j), -1);
	ck_assert_int_eq(json_fail(&j, 7, byte, &err), -1);
	return err;
}

static struct ts_error fail_text(const char *text)
{
	return fail_at(text, strlen(text), 1000);
}

START_TEST(the_offending_byte_is_named)
{
	static const struct {
		const char *text;
		uint32_t column;
		const char *message;
	} cases[] = {
		{"{\"op_name\":\"matmul\" \"inputs\":[]}", 21,
		 "expected ',' or '}' after object member"},
		{"[1 2]", 4, "expected ',' or ']' after array element"},
		{"{\"a\" 1}", 6, "expected ':' after member name"},
		{"{\"a\":1,}", 8, "expected a member name in double quotes"},
		{"{a:1}", 2, "expected a member name in double quotes"},
		{"[1,]", 4, "expected a value"},
		{"[NaN]", 2, "expected a value"},
		{"[nul]", 5, "expected a value"},
		{"[01]", 2, "a number begins with a needless zero"},
		{"[1.]", 4, "expected a digit"},
		{"[-]", 3, "expected a digit"},
		{"[1e]", 4, "expected a digit"},
		{"[5,1e999]", 4, "a number is too large for a double"},
		{"[\"a\\qb\"]", 4, "a backslash is followed by a character that is no escape"},
		{"[\"a\\u12x4\"]", 4, "\\u is not followed by four hexadecimal digits"},
		{"[\"a\\ud800\"]", 4, "a \\u escape names a surrogate that is not part of a pair"},
		{"[\"a\tb\"]", 4, "a string holds a control character that is not escaped"},
		{"{} {}", 4, "more text follows the value"},
		{"[\"abc", 6, "the text ends inside a string"},
		{"[\"abc\\", 7, "the text ends inside a string"},
		{"[1,", 4, "expected a value, but the text ends here"},
		{"[1", 3, "expected ',' or ']' after array element, but the text ends here"},
		{"{\"a\":1", 7, "expected ',' or '}' after object member, but the text ends here"},
		{"{\"a\"", 5, "expected ':' after member name, but the text ends here"},
		{"{", 2, "expected a member name in double quotes, but the text ends here"},
		{"12.", 4, "expected a digit, but the text ends here"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct ts_error err = fail_text(cases[i].text);

		ck_assert_str_eq(err.code->code, "bad_json");
		ck_assert_str_eq(err.message, cases[i].message);
		ck_assert_msg(err.column == cases[i].column, "%s: column %u", cases[i].text,
			      err.column);
		ck_assert_int_eq(err.byte, 1000 + (int64_t)cases[i].column - 1);
		ck_assert_uint_eq(err.line, 7);
		ck_assert_int_eq(err.event, -1);
	}
}
END_TEST

START_TEST(nesting_is_refused_at_the_bracket_that_is_too_deep)
{
	char text[200];
	struct ts_error err;

	memset(text, '[', sizeof(text));
	err = fail_at(text, sizeof(text), 0);
	ck_assert_str_eq(err.message, "arrays and objects are nested more than 127 deep");
	ck_assert_uint_eq(err.column, 128);
	ck_assert_int_eq(err.byte, 127);
}
END_TEST

START_TEST(the_excerpt_shows_what_is_around_the_place)
{
	struct ts_error err = fail_text("{\"op_name\":\"matmul\" \"inputs\":[]}");

	ck_assert_str_eq(err.excerpt, "{\"op_name\":\"matmul\" \"inputs\":[]}");
}
END_TEST

START_TEST(a_byte_order_mark_gets_a_hint_of_its_own)
{
	struct ts_error err = fail_at("\xef\xbb\xbf{}", 5, 0);

	ck_assert_str_eq(err.hint,
			 "the file begins with a byte order mark, which the formats do not allow");
	ck_assert_uint_eq(err.column, 1);
	err = fail_at("\xef\xbb\xbf{}", 5, 1000);
	ck_assert_str_eq(err.hint,
			 "the line begins with a byte order mark, which the formats do not allow");
	err = fail_at("{\xef\xbb\xbf}", 5, 0);
	ck_assert_str_eq(err.hint, "");
}
END_TEST

START_TEST(a_record_on_several_lines_gets_a_hint_of_its_own)
{
	static const char hint[] = "each record must stand on one line";
	static const char *const lines[] = {"{\n", "[\n", "{\"a\":1,\n", "{ \"a\":\n", "{ \r\n"};
	struct ts_error err;

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		err = fail_at(lines[i], strlen(lines[i]) - 1, 0);
		ck_assert_msg(!strcmp(err.hint, hint), "%s", lines[i]);
	}
	/* At the end of the file, or inside a token, the line was rather cut. */
	ck_assert_str_eq(fail_at("{", 1, 0).hint, "");
	ck_assert_str_eq(fail_at("{\"a\n", 3, 0).hint, "");
	ck_assert_str_eq(fail_at("{\"a\":1\n", 6, 0).hint, "");
	ck_assert_str_eq(ts_error_get_hint(&(struct ts_error){
				 .code = ts_code_get(TS_E_BAD_JSON),
			 }),
			 ts_code_get(TS_E_BAD_JSON)->hint);
}
END_TEST

START_TEST(an_earlier_error_stays)
{
	struct ts_error err = TS_ERROR_INIT;
	struct json j;

	ts_error_set(&err, TS_E_IO, "earlier");
	json_begin(&j, "[", 1, &scratch);
	json_skip(&j);
	json_fail(&j, 7, 0, &err);
	ck_assert(ts_error_is(&err, TS_E_IO));
	ck_assert_uint_eq(err.line, 0);
	ck_assert_uint_eq(err.column, 0);
}
END_TEST

START_TEST(lack_of_memory_is_not_blamed_on_the_text)
{
	struct arena small = {.limit = 16};
	struct ts_error err = TS_ERROR_INIT;
	struct json_value v;
	struct json j;

	static const char text[] = "\"a text with an escape\\n\"";

	json_begin(&j, text, sizeof(text) - 1, &small);
	ck_assert_int_eq(json_value(&j, &v), JSON_NONE);
	ck_assert_int_eq(json_fail(&j, 7, 0, &err), -1);
	ck_assert(ts_error_is(&err, TS_E_INTERNAL));
	ck_assert_int_eq(err.code->fate, TS_FATE_RETRY);
	arena_done(&small);
}
END_TEST

TCase *json_place_cases(void)
{
	TCase *tc = tcase_create("place");

	tcase_add_checked_fixture(tc, NULL, done);
	tcase_add_test(tc, the_offending_byte_is_named);
	tcase_add_test(tc, nesting_is_refused_at_the_bracket_that_is_too_deep);
	tcase_add_test(tc, the_excerpt_shows_what_is_around_the_place);
	tcase_add_test(tc, a_byte_order_mark_gets_a_hint_of_its_own);
	tcase_add_test(tc, a_record_on_several_lines_gets_a_hint_of_its_own);
	tcase_add_test(tc, an_earlier_error_stays);
	tcase_add_test(tc, lack_of_memory_is_not_blamed_on_the_text);
	return tc;
}
