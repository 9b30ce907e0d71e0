/* test_writer.c: the JSON writer: escapes, integers in their three forms, doubles, times, indented
 * output, the reason of a receipt and the problem document
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracespool/json.h"
#include "tracespool/writer.h"

static struct buf out;
static struct json_writer w;

static void begin(enum json_numbers numbers)
{
	buf_done(&out);
	buf_init(&out, SIZE_MAX);
	jw_init(&w, &out, numbers);
}

static void setup(void)
{
	begin(JSON_NUMBERS_DEFAULT);
}

static void teardown(void)
{
	buf_done(&out);
}

static void ck_quoted(const char *bytes, size_t n, const char *expected)
{
	buf_clear(&out);
	json_quote(&out, ts_str(bytes, n));
	ck_assert_str_eq(out.data, expected);
	ck_assert_uint_eq(out.len, strlen(expected));
}

/* A byte that is special, or none, at each place of texts around the eight bytes looked at. */
START_TEST(a_text_is_quoted_alike_at_each_place)
{
	static const struct {
		const char *byte, *quoted;
	} cases[] = {
		{"x", "x"},       {"\"", "\\\""},           {"\\", "\\\\"},
		{"\n", "\\n"},    {"\x1f", "\\u001f"},      {" ", " "},
		{"\x7f", "\x7f"}, {"\xc3\xa9", "\xc3\xa9"}, {"\xff", "\xef\xbf\xbd"},
	};

	for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
		for (size_t n = 0; n < 20; n++) {
			for (size_t at = 0; at <= n; at++) {
				char text[64], expected[64];

				snprintf(text, sizeof(text), "%.*s%s%.*s", (int)at,
					 "abcdefghijklmnopqrst", cases[c].byte, (int)(n - at),
					 "ABCDEFGHIJKLMNOPQRST");
				snprintf(expected, sizeof(expected), "\"%.*s%s%.*s\"", (int)at,
					 "abcdefghijklmnopqrst", cases[c].quoted, (int)(n - at),
					 "ABCDEFGHIJKLMNOPQRST");
				buf_clear(&out);
				json_quote(&out, ts_str_c(text));
				ck_assert_str_eq(out.data, expected);
				ck_assert_uint_eq(out.len, strlen(expected));
			}
		}
	}
}
END_TEST

START_TEST(only_what_must_be_escaped_is)
{
	ck_quoted("", 0, "\"\"");
	ck_quoted("a\"b\\c/d", 7, "\"a\\\"b\\\\c/d\"");
	ck_quoted("\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\"");
	ck_quoted("\0\x01\x1f\x7f ", 5, "\"\\u0000\\u0001\\u001f\x7f \"");
	ck_quoted("\xc3\xa9\xe2\x80\xa8\xf0\x9d\x84\x9e", 9,
		  "\"\xc3\xa9\xe2\x80\xa8\xf0\x9d\x84\x9e\"");
	ck_quoted("<script>&'", 10, "\"<script>&'\"");
}
END_TEST

START_TEST(a_byte_that_is_no_utf8_becomes_the_replacement_character)
{
	ck_quoted("a\xff"
		  "b\xc3",
		  4,
		  "\"a\xef\xbf\xbd"
		  "b\xef\xbf\xbd\"");
	/* A surrogate: none of its three bytes can stand alone. */
	ck_quoted("\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	ck_quoted("\"\xff\n", 3, "\"\\\"\xef\xbf\xbd\\n\"");
}
END_TEST

/* Escapes at each place of a word, since plain characters are copied in runs. */
START_TEST(what_is_quoted_reads_back_to_the_same_bytes)
{
	struct arena scratch = {0};
	char text[48];

	for (size_t at = 0; at < sizeof(text); at++) {
		for (int c = 0; c < 0x80; c++) {
			struct json_value v;
			struct json j;

			memset(text, 'x', sizeof(text));
			text[at] = (char)c;
			buf_clear(&out);
			json_quote(&out, ts_str(text, sizeof(text)));
			json_begin(&j, out.data, out.len, &scratch);
			ck_assert_int_eq(json_value(&j, &v), JSON_STRING);
			ck_assert_int_eq(json_end(&j), 0);
			ck_assert(ts_str_eq(v.str, ts_str(text, sizeof(text))));
		}
		arena_reset(&scratch);
	}
	arena_done(&scratch);
}
END_TEST

START_TEST(commas_and_colons_are_put_where_they_belong)
{
	jw_open_object(&w);
	jw_kv_text(&w, "a", "x");
	jw_key(&w, "b");
	jw_open_array(&w);
	jw_u64(&w, 1);
	jw_open_array(&w);
	jw_close_array(&w);
	jw_open_object(&w);
	jw_close_object(&w);
	jw_bool(&w, true);
	jw_null(&w);
	jw_close_array(&w);
	jw_key_str(&w, TS_STR("k\"\n"));
	jw_open_object(&w);
	jw_kv_null(&w, "n");
	jw_kv_bool(&w, "f", false);
	jw_close_object(&w);
	jw_key(&w, "raw");
	jw_raw(&w, TS_STR("{\"t\":[1]}"));
	jw_kv_i64(&w, "last", -3);
	jw_close_object(&w);
	ck_assert_str_eq(out.data,
			 "{\"a\":\"x\",\"b\":[1,[],{},true,null],\"k\\\"\\n\":{\"n\":null,\"f\":"
			 "false},\"raw\":{\"t\":[1]},\"last\":-3}");
}
END_TEST

START_TEST(no_value_is_null)
{
	jw_open_array(&w);
	jw_str(&w, (struct ts_str){0});
	jw_text(&w, NULL);
	jw_str(&w, TS_STR(""));
	jw_double(&w, NAN);
	jw_double(&w, -INFINITY);
	jw_time(&w, INT64_MAX);
	jw_raw(&w, (struct ts_str){0});
	jw_close_array(&w);
	ck_assert_str_eq(out.data, "[null,null,\"\",null,null,null,null]");
}
END_TEST

static const char *numbers_as(enum json_numbers numbers)
{
	begin(numbers);
	jw_open_array(&w);
	jw_u64(&w, UINT64_MAX);
	jw_i64(&w, INT64_MIN);
	jw_id(&w, UINT64_MAX);
	jw_double(&w, 412);
	jw_double(&w, 0.1);
	jw_raw(&w, TS_STR("{\"7\":[7,-7,7.0,\"7\",null,1e3]}"));
	jw_close_array(&w);
	return out.data;
}

START_TEST(integers_have_three_forms)
{
	ck_assert_str_eq(numbers_as(JSON_NUMBERS_DEFAULT),
			 "[18446744073709551615,-9223372036854775808,\"18446744073709551615\","
			 "412.0,0.1,{\"7\":[7,-7,7.0,\"7\",null,1e3]}]");
	ck_assert_str_eq(numbers_as(JSON_NUMBERS_STRING),
			 "[\"18446744073709551615\",\"-9223372036854775808\","
			 "\"18446744073709551615\",412.0,0.1,"
			 "{\"7\":[\"7\",\"-7\",7.0,\"7\",null,1e3]}]");
	ck_assert_str_eq(numbers_as(JSON_NUMBERS_EXACT),
			 "[18446744073709551615,-9223372036854775808,18446744073709551615,"
			 "412.0,0.1,{\"7\":[7,-7,7.0,\"7\",null,1e3]}]");
}
END_TEST

/* Runs of numbers that count up, across all changes of length, and others. */
START_TEST(lists_are_written_as_their_numbers_one_by_one)
{
	static const uint32_t starts[] = {0,
					  7,
					  95,
					  985,
					  9990,
					  99995,
					  999999,
					  9999999,
					  99999999,
					  999999999,
					  UINT32_MAX - 20,
					  5,
					  5,
					  3,
					  UINT32_MAX};
	static const enum json_numbers forms[] = {JSON_NUMBERS_DEFAULT, JSON_NUMBERS_STRING};
	uint32_t list[6000];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		for (uint32_t k = 0; k < 20 && starts[i] <= UINT32_MAX - k; k++)
			list[n++] = starts[i] + k;
	for (uint32_t k = 0; n < ARRAY_LEN(list); k++)
		list[n++] = 123 + k + k / 150 * 7;
	for (size_t f = 0; f < ARRAY_LEN(forms); f++) {
		for (size_t part = 0; part <= n; part += part < 400 ? 1 : 800) {
			struct buf plain = BUF_INIT;
			struct json_writer one;

			begin(forms[f]);
			jw_open_array(&w);
			jw_u32s(&w, list, part);
			jw_u64(&w, 1);
			jw_close_array(&w);
			jw_init(&one, &plain, forms[f]);
			jw_open_array(&one);
			for (size_t i = 0; i < part; i++)
				jw_u64(&one, list[i]);
			jw_u64(&one, 1);
			jw_close_array(&one);
			ck_assert_str_eq(out.data, plain.data);
			ck_assert_uint_eq(out.len, plain.len);
			buf_done(&plain);
		}
	}
}
END_TEST

START_TEST(a_list_fills_a_buffer_to_its_end)
{
	static const uint32_t list[] = {1, 2, 3, 40};

	buf_init(&out, 8);
	jw_init(&w, &out, JSON_NUMBERS_DEFAULT);
	jw_u32s(&w, list, 4);
	ck_assert(!out.failed);
	ck_assert_str_eq(out.data, "1,2,3,40");
	jw_u32s(&w, list, 1);
	ck_assert(out.failed);
}
END_TEST

START_TEST(times_are_written_in_utc)
{
	jw_open_object(&w);
	jw_kv_time(&w, "at", 0);
	jw_kv_u64(&w, "n", 1);
	jw_kv_double(&w, "d", -0.0);
	jw_kv_str(&w, "s", TS_STR("x"));
	jw_close_object(&w);
	ck_assert_str_eq(out.data,
			 "{\"at\":\"1970-01-01T00:00:00.000Z\",\"n\":1,\"d\":-0.0,\"s\":\"x\"}");
}
END_TEST

static const char *reformat(const char *json, bool pretty, enum json_numbers numbers)
{
	buf_clear(&out);
	json_reformat(&out, ts_str_c(json), pretty, numbers);
	return out.data;
}

START_TEST(pretty_output_is_indented_by_two_spaces)
{
	ck_assert_str_eq(reformat("{\"a\":[1,{\"b\":\"x,y\"}],\"c\":{},\"d\":[],\"e\":null}", true,
				  JSON_NUMBERS_DEFAULT),
			 "{\n"
			 "  \"a\": [\n"
			 "    1,\n"
			 "    {\n"
			 "      \"b\": \"x,y\"\n"
			 "    }\n"
			 "  ],\n"
			 "  \"c\": {},\n"
			 "  \"d\": [],\n"
			 "  \"e\": null\n"
			 "}");
	ck_assert_str_eq(reformat("[]", true, JSON_NUMBERS_DEFAULT), "[]");
	ck_assert_str_eq(reformat("\"{[,:]}\"", true, JSON_NUMBERS_DEFAULT), "\"{[,:]}\"");
	ck_assert_str_eq(reformat("7", true, JSON_NUMBERS_STRING), "\"7\"");
}
END_TEST

START_TEST(strings_stay_as_they_are_when_integers_are_quoted)
{
	static const char json[] = "[\"1\\\"2\",\"\\\\\",3,-4,5.0,6e1,7E1,18446744073709551615,"
				   "true,{\"8\":9}]";

	ck_assert_str_eq(reformat(json, false, JSON_NUMBERS_DEFAULT), json);
	ck_assert_str_eq(reformat(json, false, JSON_NUMBERS_EXACT), json);
	ck_assert_str_eq(reformat(json, false, JSON_NUMBERS_STRING),
			 "[\"1\\\"2\",\"\\\\\",\"3\",\"-4\",5.0,6e1,7E1,"
			 "\"18446744073709551615\",true,{\"8\":\"9\"}]");
	ck_assert_str_eq(reformat("[1,{\"a\":2}]", true, JSON_NUMBERS_STRING),
			 "[\n  \"1\",\n  {\n    \"a\": \"2\"\n  }\n]");
}
END_TEST

START_TEST(a_full_buffer_fails_and_stays_failed)
{
	struct buf small;

	buf_init(&small, 10);
	jw_init(&w, &small, JSON_NUMBERS_DEFAULT);
	jw_open_object(&w);
	jw_kv_text(&w, "name", "longer than ten bytes");
	jw_close_object(&w);
	ck_assert(small.failed);
	ck_assert_uint_le(small.len, 10);
	buf_clear(&small);
	json_reformat(&small, TS_STR("[1,2,3,4,5,6,7,8,9]"), true, JSON_NUMBERS_DEFAULT);
	ck_assert(small.failed);
	buf_done(&small);
}
END_TEST

/* http-api.md 6.1. */
START_TEST(a_reason_names_the_place)
{
	struct ts_error err = TS_ERROR_INIT;

	ts_error_set(&err, TS_E_BAD_JSON, "expected ',' or '}' after object member");
	err.line = 2210;
	err.byte = 481920;
	err.column = 77;
	strcpy(err.excerpt, "...\"op_name\":\"matmul\" \"inputs\":[...");
	jw_reason(&w, &err);
	ck_assert_str_eq(out.data,
			 "{\"code\":\"bad_json\","
			 "\"message\":\"line 2210: expected ',' or '}' after object member\","
			 "\"file\":null,\"line\":2210,\"event_index\":null,"
			 "\"byte_offset\":481920,\"column\":77,"
			 "\"excerpt\":\"...\\\"op_name\\\":\\\"matmul\\\" \\\"inputs\\\":[...\","
			 "\"hint\":\"the file may have been cut while it was written: drop it by "
			 "rename when finished\"}");
}
END_TEST

START_TEST(what_a_reason_does_not_have_is_null)
{
	struct ts_error err = TS_ERROR_INIT;

	jw_reason(&w, &err);
	ck_assert_str_eq(out.data, "null");
	begin(JSON_NUMBERS_DEFAULT);
	ts_error_set(&err, TS_E_NO_REQUESTS, "the run has no request");
	jw_reason(&w, &err);
	ck_assert_str_eq(out.data,
			 "{\"code\":\"no_requests\",\"message\":\"the run has no request\","
			 "\"file\":null,\"line\":null,\"event_index\":null,\"byte_offset\":null,"
			 "\"column\":null,\"excerpt\":null,\"hint\":null}");
}
END_TEST

START_TEST(a_reason_names_the_shard_and_the_event)
{
	struct ts_error err = TS_ERROR_INIT;

	ts_error_set(&err, TS_E_BAD_FIELD, "id is not a string (null)");
	ts_error_hint(&err, "look at it");
	strcpy(err.file, "p.000001\xff.jsonl.gz");
	err.line = 1;
	err.byte = 0;
	err.event = 0;
	jw_reason(&w, &err);
	ck_assert_str_eq(out.data,
			 "{\"code\":\"bad_field\","
			 "\"message\":\"p.000001%FF.jsonl.gz, line 1: id is not a string (null)\","
			 "\"file\":\"p.000001%FF.jsonl.gz\",\"line\":1,\"event_index\":0,"
			 "\"byte_offset\":0,\"column\":null,\"excerpt\":null,"
			 "\"hint\":\"look at it\"}");
	begin(JSON_NUMBERS_DEFAULT);
	err.line = 0;
	err.byte = err.event = -1;
	jw_reason(&w, &err);
	ck_assert_ptr_nonnull(strstr(
		out.data, "\"message\":\"p.000001%FF.jsonl.gz: id is not a string (null)\""));
}
END_TEST

/* http-api.md 2.10. */
START_TEST(a_problem_has_the_members_of_rfc_9457)
{
	struct ts_error err = TS_ERROR_INIT;

	ts_error_set(&err, TS_E_BAD_CURSOR, "The cursor was made with sort=-captured_at.");
	jw_problem(&w, &err, "/runs?cursor=b2s", "cursor", "c1f4e7");
	ck_assert_str_eq(out.data, "{\"type\":\"/problems/bad_cursor\","
				   "\"title\":\"Cursor does not fit this query\",\"status\":400,"
				   "\"code\":\"bad_cursor\","
				   "\"detail\":\"The cursor was made with sort=-captured_at.\","
				   "\"instance\":\"/runs?cursor=b2s\",\"parameter\":\"cursor\","
				   "\"log_id\":\"c1f4e7\"}");
}
END_TEST

START_TEST(a_problem_without_more_to_say_is_whole_too)
{
	struct ts_error err = TS_ERROR_INIT;

	ts_error_set(&err, TS_E_UNKNOWN_RUN, "there is no run \"x\"");
	jw_problem(&w, &err, NULL, NULL, NULL);
	ck_assert_str_eq(out.data, "{\"type\":\"/problems/unknown_run\",\"title\":\"No such run\","
				   "\"status\":404,\"code\":\"unknown_run\","
				   "\"detail\":\"there is no run \\\"x\\\"\",\"instance\":null,"
				   "\"log_id\":null}");
	/* A code of a drop has no status of its own, and no code at all is a fault of ours. */
	begin(JSON_NUMBERS_DEFAULT);
	ts_error_init(&err);
	ts_error_set(&err, TS_E_DISK_FULL, "no room");
	jw_problem(&w, &err, NULL, NULL, NULL);
	ck_assert_ptr_nonnull(strstr(out.data, "\"status\":500,\"code\":\"disk_full\""));
	begin(JSON_NUMBERS_DEFAULT);
	ts_error_init(&err);
	jw_problem(&w, &err, NULL, NULL, NULL);
	ck_assert_ptr_nonnull(strstr(out.data, "\"status\":500,\"code\":\"internal\","
					       "\"detail\":\"Internal error\""));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("writer");
	TCase *tc = tcase_create("writer");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, a_text_is_quoted_alike_at_each_place);
	tcase_add_test(tc, only_what_must_be_escaped_is);
	tcase_add_test(tc, a_byte_that_is_no_utf8_becomes_the_replacement_character);
	tcase_add_test(tc, what_is_quoted_reads_back_to_the_same_bytes);
	tcase_add_test(tc, commas_and_colons_are_put_where_they_belong);
	tcase_add_test(tc, no_value_is_null);
	tcase_add_test(tc, integers_have_three_forms);
	tcase_add_test(tc, lists_are_written_as_their_numbers_one_by_one);
	tcase_add_test(tc, a_list_fills_a_buffer_to_its_end);
	tcase_add_test(tc, times_are_written_in_utc);
	tcase_add_test(tc, pretty_output_is_indented_by_two_spaces);
	tcase_add_test(tc, strings_stay_as_they_are_when_integers_are_quoted);
	tcase_add_test(tc, a_full_buffer_fails_and_stays_failed);
	tcase_add_test(tc, a_reason_names_the_place);
	tcase_add_test(tc, what_a_reason_does_not_have_is_null);
	tcase_add_test(tc, a_reason_names_the_shard_and_the_event);
	tcase_add_test(tc, a_problem_has_the_members_of_rfc_9457);
	tcase_add_test(tc, a_problem_without_more_to_say_is_whole_too);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
