/* test_json.c: the pull reader: strings, structure, depth, looking for a member. Its numbers, its
 * errors and its comparison with another reader are in test_json_*.c.
 */
#include "test_json.h"

static struct arena scratch;

static void done(void)
{
	arena_done(&scratch);
}

/* The verdict of skipping, which must be that of taking each value. */
static bool take(struct json *j)
{
	struct json_value v;
	struct ts_str key;
	enum json_type type = json_value(j, &v);

	if (type == JSON_ARRAY) {
		for (bool first = true; json_element(j, first); first = false)
			if (!take(j))
				return false;
	} else if (type == JSON_OBJECT) {
		for (bool first = true; json_key(j, first, &key); first = false)
			if (!take(j))
				return false;
	}
	return !j->error;
}

static bool accepts_bytes(const char *text, size_t n)
{
	struct exact e = exact_of(text, n);
	struct json a, b;
	bool taken, skipped;

	json_begin(&a, e.p, e.n, &scratch);
	taken = take(&a) && json_end(&a) == 0;
	json_begin(&b, e.p, e.n, NULL);
	skipped = json_skip(&b) != JSON_NONE && json_end(&b) == 0;
	free(e.p);
	ck_assert_msg(taken == skipped, "%s: taken %d, skipped %d", text, taken, skipped);
	return taken;
}

static bool accepts(const char *text)
{
	return accepts_bytes(text, strlen(text));
}

/* The string that the text is, or no value if it is refused. */
static struct ts_str string_of(const char *text)
{
	struct json_value v;
	struct json j;

	json_begin(&j, text, strlen(text), &scratch);
	if (json_value(&j, &v) != JSON_STRING || json_end(&j) < 0)
		return (struct ts_str){0};
	return v.str;
}

START_TEST(each_kind_of_value_has_its_type)
{
	static const struct {
		const char *text;
		enum json_type type;
	} cases[] = {
		{"null", JSON_NULL},     {"false", JSON_FALSE}, {"true", JSON_TRUE},
		{"0", JSON_U64},         {"-1", JSON_NEG},      {"1.0", JSON_NUMBER},
		{"\"a\"", JSON_STRING},  {"[1]", JSON_ARRAY},   {"{\"a\":1}", JSON_OBJECT},
		{" \t\r\n7 ", JSON_U64},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct json_value v;
		struct json j;

		json_begin(&j, cases[i].text, strlen(cases[i].text), &scratch);
		ck_assert_int_eq(json_value(&j, &v), cases[i].type);
		ck_assert_int_eq(v.type, cases[i].type);
		json_begin(&j, cases[i].text, strlen(cases[i].text), NULL);
		ck_assert_int_eq(json_skip(&j), cases[i].type);
		ck_assert_int_eq(json_end(&j), 0);
	}
}
END_TEST

START_TEST(what_is_no_json_text_is_refused)
{
	static const char *const bad[] = {
		"",
		" ",
		"nul",
		"nulL",
		"truex",
		"True",
		"NaN",
		"Infinity",
		"-Infinity",
		"'a'",
		"[",
		"]",
		"[1",
		"[1,",
		"[1,]",
		"[,1]",
		"[1 2]",
		"[1}",
		"{",
		"}",
		"{\"a\"",
		"{\"a\":",
		"{\"a\":1",
		"{\"a\":1,",
		"{\"a\":1,}",
		"{\"a\" 1}",
		"{\"a\":1]",
		"{1:2}",
		"{a:1}",
		"{,}",
		"{\"a\":}",
		"{\"a\",1}",
		"1 2",
		"{}{}",
		"[] x",
		"[1]//c",
		"[/**/1]",
		"\"a",
		"\"",
		"\"\\",
		"\"\\\"",
		"[\"a\",\"b]",
		"{\"a\":1 \"b\":2}",
		"[1\v]",
		"[1\f]",
		"\xc2\xa0[1]",
		"\xef\xbb\xbf{}",
		"{\"a\"::1}",
		"[[]",
		"{\"a\":{}",
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		ck_assert_msg(!accepts(bad[i]), "accepted: %s", bad[i]);
	ck_assert(!accepts_bytes("1\0", 2));
	ck_assert(!accepts_bytes("[1\0]", 4));
	ck_assert(!accepts_bytes("\"a\0b\"", 5));
}
END_TEST

START_TEST(white_space_may_stand_between_all_tokens)
{
	ck_assert(accepts(" \t\r\n{ \"a\" : [ 1 , true , { } , [ ] ] , \"b\" : null } \r"));
	ck_assert(accepts("{}"));
	ck_assert(accepts("[]"));
	ck_assert(accepts("[[],{},[{}]]"));
	ck_assert(accepts("{\"\":\"\",\"\":0}"));
}
END_TEST

START_TEST(escapes_are_decoded)
{
	struct ts_str s = string_of("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"");

	ck_assert(ts_str_is(s, "\"\\/\b\f\n\r\t"));
	/* U+00E9, U+20AC and the pair of U+1D11E, in upper and lower case. */
	ck_assert(ts_str_is(string_of("\"x\\u00e9\\u20AC\\uD834\\udd1ey\""),
			    "x\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9ey"));
	ck_assert(ts_str_is(string_of("\"\\uD800\\uDC00\\uDBFF\\uDFFF\""),
			    "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"));
	ck_assert(ts_str_is(string_of("\"\\ud7ff\\ue000\\uffff\""),
			    "\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"));
	ck_assert(ts_str_is(string_of("\"\\u005C\\u0022\""), "\\\""));
}
END_TEST

START_TEST(nul_is_a_legal_character_of_a_string)
{
	struct ts_str s = string_of("\"a\\u0000b\"");

	ck_assert_uint_eq(s.n, 3);
	ck_assert(memcmp(s.p, "a\0b", 3) == 0);
}
END_TEST

START_TEST(a_string_without_escapes_is_a_piece_of_the_text)
{
	const char *text = "\"caf\xc3\xa9 \x7f/\"";
	struct ts_str s = string_of(text);

	ck_assert_ptr_eq(s.p, text + 1);
	ck_assert_uint_eq(s.n, strlen(text) - 2);
	s = string_of("\"\"");
	ck_assert_ptr_nonnull(s.p);
	ck_assert_uint_eq(s.n, 0);
}
END_TEST

START_TEST(bad_strings_are_refused_as_value_and_as_key)
{
	static const char *const bad[] = {
		"\\a",
		"\\u",
		"\\u12",
		"\\u12g4",
		"\\u 123",
		"\\U0041",
		"\\x41",
		"\\'",
		"\\ud800",
		"\\udc00",
		"\\ud800x",
		"\\ud800\\n",
		"\\ud800\\u",
		"\\ud800\\u0041",
		"\\udc00\\ud800",
		"\\udc00\\udc00",
		"\\udfff\\udc00",
		"\\ud800\\ud800",
		"\\udbff\\ue000",
		"a\tb",
		"a\nb",
		"\x01",
		"\x1f",
		"\\ud834\\\\udd1e",
		"\\u-123",
		"\\u+123",
		"\\\n",
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char text[100];

		snprintf(text, sizeof(text), "\"%s\"", bad[i]);
		ck_assert_msg(!accepts(text), "accepted: %s", text);
		snprintf(text, sizeof(text), "{\"%s\":0}", bad[i]);
		ck_assert_msg(!accepts(text), "accepted: %s", text);
		snprintf(text, sizeof(text), "{\"padding of 16 bytes\":[\"%s\"]}", bad[i]);
		ck_assert_msg(!accepts(text), "accepted: %s", text);
	}
	ck_assert(accepts("\"\x7f\""));
}
END_TEST

/* Strings are scanned eight bytes at a time: each place in a word has to be seen. */
START_TEST(a_special_byte_is_found_at_each_place)
{
	static const char special[] = {'"', '\\', 0x01, 0x1f, '\n', 0};
	char text[64];

	for (size_t length = 0; length <= 40; length++) {
		memset(text, 'x', sizeof(text));
		text[0] = text[length + 1] = '"';
		ck_assert(accepts_bytes(text, length + 2));
		ck_assert(!accepts_bytes(text, length + 1));
		for (size_t at = 1; at <= length; at++) {
			for (size_t k = 0; k < sizeof(special); k++) {
				text[at] = special[k];
				ck_assert(!accepts_bytes(text, length + 2));
			}
			/* Bytes that look alike but for one bit, and bytes beyond ASCII. */
			text[at] = '#';
			ck_assert(accepts_bytes(text, length + 2));
			text[at] = ' ';
			ck_assert(accepts_bytes(text, length + 2));
			text[at] = (char)0xa2;
			ck_assert(accepts_bytes(text, length + 2));
			text[at] = (char)0x80;
			ck_assert(accepts_bytes(text, length + 2));
			text[at] = 'x';
		}
	}
}
END_TEST

/* The text with n opening brackets, a number, and what closes them. */
static bool accepts_nested(size_t n, bool objects)
{
	static const char open[] = "{\"a\":";
	char text[2000];
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		bool object = objects && i % 2 == 0;

		memcpy(text + at, object ? open : "[", object ? 5 : 1);
		at += object ? 5 : 1;
	}
	text[at++] = '1';
	for (size_t i = n; i-- > 0;)
		text[at++] = objects && i % 2 == 0 ? '}' : ']';
	return accepts_bytes(text, at);
}

START_TEST(containers_nest_127_deep_and_no_deeper)
{
	ck_assert(accepts_nested(127, false));
	ck_assert(!accepts_nested(128, false));
	ck_assert(accepts_nested(127, true));
	ck_assert(!accepts_nested(128, true));
	ck_assert(!accepts_nested(300, true));
}
END_TEST

START_TEST(depth_is_given_back_when_containers_close)
{
	char text[4000] = "[";
	size_t at = 1;

	for (int i = 0; i < 500; i++) {
		memcpy(text + at, i % 2 ? "{\"a\":[]}," : "[{}],", i % 2 ? 9 : 5);
		at += i % 2 ? 9 : 5;
	}
	text[at - 1] = ']';
	ck_assert(accepts_bytes(text, at));
}
END_TEST

/* The innermost brackets of a skipped value close in the order in which they opened. */
START_TEST(brackets_must_match_at_each_level)
{
	ck_assert(accepts("[{\"a\":[{\"b\":[[]]}]}]"));
	ck_assert(!accepts("[{\"a\":[{\"b\":[[]}]}]}]"));
	ck_assert(!accepts("[{\"a\":[{\"b\":[[]]]}]}]"));
	ck_assert(!accepts("{\"a\":[1,\"b\":2]}"));
	ck_assert(!accepts("[{\"a\":1,2}]"));
}
END_TEST

START_TEST(a_value_is_taken_by_calls_that_follow_the_text)
{
	static const char text[] = "{\"a\":[1,\"x\",{}],\"b\\u0063\":-5,\"d\":[]}";
	struct json_value v;
	struct ts_str key;
	struct json j;

	json_begin(&j, text, sizeof(text) - 1, &scratch);
	ck_assert_int_eq(json_value(&j, &v), JSON_OBJECT);
	ck_assert(json_key(&j, true, &key) && ts_str_is(key, "a"));
	ck_assert_int_eq(json_value(&j, &v), JSON_ARRAY);
	ck_assert(json_element(&j, true));
	ck_assert_int_eq(json_value(&j, &v), JSON_U64);
	ck_assert_uint_eq(v.u64, 1);
	ck_assert(json_element(&j, false));
	ck_assert_int_eq(json_value(&j, &v), JSON_STRING);
	ck_assert(ts_str_is(v.str, "x"));
	ck_assert(json_element(&j, false));
	ck_assert_int_eq(json_skip(&j), JSON_OBJECT);
	ck_assert(!json_element(&j, false));
	ck_assert(json_key(&j, false, &key) && ts_str_is(key, "bc"));
	ck_assert_int_eq(json_value(&j, &v), JSON_NEG);
	ck_assert(ts_str_is(v.raw, "-5"));
	ck_assert(json_key(&j, false, &key) && ts_str_is(key, "d"));
	ck_assert_int_eq(json_value(&j, &v), JSON_ARRAY);
	ck_assert(!json_element(&j, true));
	ck_assert(!json_key(&j, false, &key));
	ck_assert_ptr_null(j.error);
	ck_assert_uint_eq(j.depth, 0);
	ck_assert_int_eq(json_end(&j), 0);
}
END_TEST

START_TEST(after_an_error_nothing_more_is_read)
{
	static const char text[] = "[01,2]";
	struct json_value v;
	struct ts_str key;
	const char *error;
	struct json j;

	json_begin(&j, text, sizeof(text) - 1, &scratch);
	json_value(&j, &v);
	ck_assert(json_element(&j, true));
	ck_assert_int_eq(json_value(&j, &v), JSON_NONE);
	error = j.error;
	ck_assert_ptr_nonnull(error);
	ck_assert(!json_element(&j, false));
	ck_assert(!json_key(&j, true, &key));
	ck_assert_int_eq(json_value(&j, &v), JSON_NONE);
	ck_assert_int_eq(json_skip(&j), JSON_NONE);
	ck_assert_int_eq(json_end(&j), -1);
	ck_assert_ptr_eq(j.error, error);
	ck_assert_ptr_eq(j.at, text + 1);
}
END_TEST

START_TEST(a_text_may_end_in_the_middle_of_a_line)
{
	/* What stands behind the text belongs to white space that was cut off. */
	static const char line[] = "{\"a\":12\xc2\xa0";
	struct json j;

	json_begin(&j, line + 5, 2, &scratch);
	ck_assert_int_eq(json_skip(&j), JSON_U64);
	ck_assert_int_eq(json_end(&j), 0);
	json_begin(&j, "\"abcdefgh ", 9, &scratch);
	ck_assert_int_eq(json_skip(&j), JSON_NONE);
	json_begin(&j, "tru\xe3\x80\x80", 3, &scratch);
	ck_assert_int_eq(json_skip(&j), JSON_NONE);
}
END_TEST

static enum json_type find(const char *text, const char *name, struct json_value *v)
{
	return json_find(text, strlen(text), name, v, &scratch);
}

START_TEST(the_first_member_of_a_name_is_found)
{
	struct json_value v;

	ck_assert_int_eq(find("{\"kind\":\"op\",\"a\":1}", "kind", &v), JSON_STRING);
	ck_assert(ts_str_is(v.str, "op"));
	ck_assert_int_eq(find("{\"a\":{\"kind\":1},\"\\u006bind\":7,\"kind\":8}", "kind", &v),
			 JSON_U64);
	ck_assert_uint_eq(v.u64, 7);
	ck_assert_int_eq(find("{\"a\":[1,{\"b\":2}],\"kind\":null", "kind", &v), JSON_NULL);
	ck_assert_int_eq(find("{\"kind\":{\"broken", "kind", &v), JSON_OBJECT);
	ck_assert_int_eq(find("{\"kin\":1,\"kinds\":2,\"Kind\":3}", "kind", &v), JSON_NONE);
	ck_assert_int_eq(find("{\"a\":01,\"kind\":2}", "kind", &v), JSON_NONE);
	ck_assert_int_eq(find("[{\"kind\":1}]", "kind", &v), JSON_NONE);
	ck_assert_int_eq(find("\"kind\"", "kind", &v), JSON_NONE);
	ck_assert_int_eq(find("", "kind", &v), JSON_NONE);
	ck_assert_int_eq(find("{}", "kind", &v), JSON_NONE);
	ck_assert_int_eq(v.type, JSON_NONE);
}
END_TEST

static TCase *json_reader_cases(void)
{
	TCase *tc = tcase_create("reader");

	tcase_add_checked_fixture(tc, NULL, done);
	tcase_add_test(tc, each_kind_of_value_has_its_type);
	tcase_add_test(tc, what_is_no_json_text_is_refused);
	tcase_add_test(tc, white_space_may_stand_between_all_tokens);
	tcase_add_test(tc, escapes_are_decoded);
	tcase_add_test(tc, nul_is_a_legal_character_of_a_string);
	tcase_add_test(tc, a_string_without_escapes_is_a_piece_of_the_text);
	tcase_add_test(tc, bad_strings_are_refused_as_value_and_as_key);
	tcase_add_test(tc, a_special_byte_is_found_at_each_place);
	tcase_add_test(tc, containers_nest_127_deep_and_no_deeper);
	tcase_add_test(tc, depth_is_given_back_when_containers_close);
	tcase_add_test(tc, brackets_must_match_at_each_level);
	tcase_add_test(tc, a_value_is_taken_by_calls_that_follow_the_text);
	tcase_add_test(tc, after_an_error_nothing_more_is_read);
	tcase_add_test(tc, a_text_may_end_in_the_middle_of_a_line);
	tcase_add_test(tc, the_first_member_of_a_name_is_found);
	return tc;
}

int main(void)
{
	Suite *suite = suite_create("json");
	SRunner *runner;
	int failed;

	suite_add_tcase(suite, json_reader_cases());
	suite_add_tcase(suite, json_number_cases());
	suite_add_tcase(suite, json_place_cases());
	suite_add_tcase(suite, json_jansson_cases());
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
