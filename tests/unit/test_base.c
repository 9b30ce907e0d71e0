/* test_base.c: errors, buffers, text, times, maps, digest: values worked out by hand */
#include <check.h>
#include <endian.h>
#include <errno.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracespool/buf.h"
#include "tracespool/digest.h"
#include "tracespool/error.h"
#include "tracespool/map.h"
#include "tracespool/text.h"

START_TEST(the_first_error_stays)
{
	struct ts_error err = TS_ERROR_INIT;

	ck_assert_int_eq(ts_error_set(&err, TS_E_BAD_JSON, "line %d", 7), -1);
	ts_error_set(&err, TS_E_IO, "later");
	ck_assert_str_eq(err.code->code, "bad_json");
	ck_assert_str_eq(err.message, "line 7");
}
END_TEST

START_TEST(a_full_disk_is_named_so_whatever_was_tried)
{
	struct ts_error err = TS_ERROR_INIT;

	ts_error_sys(&err, TS_E_INTERNAL, ENOSPC, "write");
	ck_assert(ts_error_is(&err, TS_E_DISK_FULL));
	ck_assert_int_eq(err.sys, ENOSPC);
	ck_assert_int_eq(err.code->fate, TS_FATE_RETRY);
}
END_TEST

START_TEST(messages_and_excerpts_hold_no_control_bytes)
{
	struct ts_error err = TS_ERROR_INIT;
	char line[300];

	ts_error_set(&err, TS_E_BAD_FIELD, "a\x1b[31mb\xff\n\xc2\x85");
	ck_assert_str_eq(err.message, "a\\x1b[31mb\\xff\\n\\xc2\\x85");
	ts_error_excerpt(&err, "x\ty", 3, 0);
	ck_assert_str_eq(err.excerpt, "x\\ty");
	err.line = 3;
	err.byte = 0;
	ck_assert_str_eq(ts_error_line(&err, line, sizeof(line)),
			 "code=bad_field line=3 byte=0: a\\x1b[31mb\\xff\\n\\xc2\\x85");
}
END_TEST

START_TEST(excerpts_are_cut_around_the_place_at_whole_characters)
{
	struct ts_error err = TS_ERROR_INIT;
	char text[400];

	for (size_t i = 0; i < sizeof(text); i += 2)
		memcpy(text + i, "\xc3\xa9", 2);
	ts_error_excerpt(&err, text, sizeof(text), 201);
	ck_assert(text_is_utf8(err.excerpt, strlen(err.excerpt)));
	ck_assert(strncmp(err.excerpt, "...\xc3\xa9", 5) == 0);
	ck_assert_str_eq(err.excerpt + strlen(err.excerpt) - 5, "\xc3\xa9...");
}
END_TEST

START_TEST(every_code_is_found_by_its_text)
{
	for (int i = 0; i < TS_CODE_COUNT; i++) {
		const struct ts_code *c = ts_code_get((enum ts_code_id)i);

		ck_assert_ptr_nonnull(c->code);
		ck_assert_ptr_eq(ts_code_find(c->code), c);
		ck_assert_ptr_nonnull(c->title);
	}
	ck_assert_ptr_null(ts_code_find("no_such_code"));
}
END_TEST

START_TEST(buffers_stop_at_their_cap_and_stay_failed)
{
	struct buf b;

	buf_init(&b, 10);
	buf_puts(&b, "0123456789");
	ck_assert(!b.failed);
	buf_putc(&b, 'x');
	ck_assert(b.failed);
	ck_assert_str_eq(b.data, "0123456789");
	buf_clear(&b);
	buf_printf(&b, "%d-%s", 42, "a");
	ck_assert_str_eq(b.data, "42-a");
	char *text = buf_take(&b);
	ck_assert_str_eq(text, "42-a");
	free(text);
	ck_assert_uint_eq(b.len, 0);
	buf_done(&b);
}
END_TEST

START_TEST(arenas_give_aligned_memory_and_reuse_a_chunk)
{
	struct arena a = {0};
	char *first = arena_dup(&a, "abc", 3);
	void *big = arena_alloc(&a, 1 << 20);

	ck_assert_str_eq(first, "abc");
	ck_assert_ptr_nonnull(big);
	ck_assert_uint_eq((uintptr_t)big % 8, 0);
	arena_reset(&a);
	ck_assert_uint_eq(a.used, 0);
	a.limit = 100;
	ck_assert_ptr_nonnull(arena_alloc(&a, 90));
	ck_assert_ptr_null(arena_alloc(&a, 90));
	ck_assert(a.failed);
	arena_done(&a);
}
END_TEST

static const struct {
	const char *bytes;
	size_t n, valid;
} utf8_cases[] = {
	{"plain ascii that is longer than thirty-two bytes", 48, 48},
	{"\xc3\xa9", 2, 2},
	{"\xe2\x82\xac", 3, 3},
	{"\xf0\x9f\x98\x80", 4, 4},
	{"a\xc3", 2, 1},            /* cut */
	{"\xc0\xaf", 2, 0},         /* overlong */
	{"\xe0\x80\xaf", 3, 0},     /* overlong */
	{"\xed\xa0\x80", 3, 0},     /* surrogate */
	{"\xed\x9f\xbf", 3, 3},     /* U+D7FF */
	{"\xf4\x8f\xbf\xbf", 4, 4}, /* U+10FFFF */
	{"\xf4\x90\x80\x80", 4, 0}, /* U+110000 */
	{"\xf0\x8f\xbf\xbf", 4, 0}, /* overlong */
	{"ok\x80", 3, 2},           /* lone continuation */
	{"\xef\xbb\xbf{", 4, 4},    /* byte order mark is UTF-8 */
	{"0123456789012345678901234567890\xff", 32, 31},
};

START_TEST(utf8_is_checked_strictly)
{
	ck_assert_uint_eq(text_utf8_prefix(utf8_cases[_i].bytes, utf8_cases[_i].n),
			  utf8_cases[_i].valid);
}
END_TEST

START_TEST(unicode_white_space_is_trimmed_and_nothing_else)
{
	struct ts_str s = text_trim(TS_STR("\t \xc2\x85\xc2\xa0\xe1\x9a\x80 x \xe3\x80\x80\r\n"));

	ck_assert(ts_str_is(s, "x"));
	ck_assert(
		text_is_blank(TS_STR("\xe2\x80\x80\xe2\x80\x8a\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaf"
				     "\xe2\x81\x9f\x0b\x0c")));
	ck_assert(!text_is_blank(TS_STR("\xe2\x80\x8b"))); /* U+200B */
	ck_assert(!text_is_blank(TS_STR("\xef\xbb\xbf"))); /* U+FEFF */
	ck_assert(!text_is_blank(TS_STR("\x1c")));
	ck_assert(text_is_blank(TS_STR("")));
}
END_TEST

START_TEST(decimals_are_read_over_all_of_64_bits)
{
	uint64_t v = 5;

	ck_assert(text_parse_u64(TS_STR("18446744073709551615"), &v));
	ck_assert_uint_eq(v, UINT64_MAX);
	ck_assert(!text_parse_u64(TS_STR("18446744073709551616"), &v));
	ck_assert(!text_parse_u64(TS_STR("-1"), &v));
	ck_assert(!text_parse_u64(TS_STR("+1"), &v));
	ck_assert(!text_parse_u64(TS_STR(" 1"), &v));
	ck_assert(!text_parse_u64(TS_STR(""), &v));
	ck_assert_uint_eq(v, UINT64_MAX);
}
END_TEST

START_TEST(integers_are_written_with_all_digits)
{
	char out[32];

	text_format_u64(UINT64_MAX, out);
	ck_assert_str_eq(out, "18446744073709551615");
	text_format_u64(0, out);
	ck_assert_str_eq(out, "0");
	text_format_u64(1005, out);
	ck_assert_str_eq(out, "1005");
	text_format_i64(INT64_MIN, out);
	ck_assert_str_eq(out, "-9223372036854775808");
}
END_TEST

static const struct {
	double value;
	const char *text;
} double_cases[] = {
	{412, "412.0"},
	{0, "0.0"},
	{-0.0, "-0.0"},
	{0.1, "0.1"},
	{1.0 / 3, "0.3333333333333333"},
	{9007199254740993.0, "9007199254740992.0"},
	{1e16, "1e+16"},
	{DBL_MAX, "1.7976931348623157e+308"},
	{2.0821004375911647, "2.0821004375911647"},
	{1624.25, "1624.25"},
	{-0.5, "-0.5"},
	{0.05, "0.05"},
	{0.0001, "0.0001"},
	{0.00001, "1e-05"},
	{0.1 + 0.2, "0.30000000000000004"},
	{123456789.123456, "123456789.123456"},
	{999999999.999999, "999999999.999999"},
	{-1e15, "-1000000000000000.0"},
	{-0.0, "-0.0"},
	{0.5, "0.5"},
	{-12.25, "-12.25"},
	{0.001, "0.001"},
	{0.0005, "0.0005"},
	{1234567890.125, "1234567890.125"},
	{999999999999.999, "999999999999.999"},
	{1000000000000.5, "1000000000000.5"},
	{0.0009999999999999998, "0.0009999999999999998"},
	{9999999999999998.0, "9999999999999998.0"},
};

START_TEST(doubles_read_back_to_the_same_bits)
{
	char out[TEXT_DOUBLE_MAX];

	text_format_double(double_cases[_i].value, out);
	ck_assert_str_eq(out, double_cases[_i].text);
	double back = strtod(out, NULL);
	ck_assert(memcmp(&back, &double_cases[_i].value, sizeof(back)) == 0);
}
END_TEST

START_TEST(small_doubles_read_back_too)
{
	static const double hard[] = {DBL_MIN, DBL_TRUE_MIN, 5e-320, 1.2345678901234567e-200};

	for (size_t i = 0; i < ARRAY_LEN(hard); i++) {
		char out[TEXT_DOUBLE_MAX];

		text_format_double(hard[i], out);
		ck_assert(strtod(out, NULL) == hard[i]);
	}
}
END_TEST

static const struct {
	const char *text;
	int64_t ms; /* -1: not a time */
} time_cases[] = {
	{"1970-01-01T00:00:00Z", 0},
	{"2000-03-01T00:00:00Z", 951868800000},
	{"2025-11-03T09:14:12.480Z", 1762161252480},
	{"2025-11-03T10:14:12.4809+01:00", 1762161252480},
	{"2025-11-03T09:14:12-00:30", 1762163052000},
	{"2024-02-29T12:00:00z", 1709208000000},
	{"2023-02-29T12:00:00Z", -1},
	{"2025-11-03T09:14:12", -1},
	{"2025-11-03", -1},
	{"2025-13-03T09:14:12Z", -1},
	{"2025-11-03T24:14:12Z", -1},
	{"2025-11-03T09:14:12.Z", -1},
	{"2025-11-03T09:14:12Zx", -1},
	{"", -1},
};

START_TEST(times_are_rfc_3339_or_nothing)
{
	int64_t ms = -1;
	bool ok = text_parse_time(ts_str_c(time_cases[_i].text), &ms);

	ck_assert_int_eq(ok, time_cases[_i].ms >= 0);
	ck_assert_int_eq(ms, time_cases[_i].ms);
}
END_TEST

START_TEST(times_are_written_in_utc_with_milliseconds)
{
	char out[TEXT_TIME_MAX];

	ck_assert(text_format_time(1762161252480, out));
	ck_assert_str_eq(out, "2025-11-03T09:14:12.480Z");
	ck_assert(text_format_time(-1, out));
	ck_assert_str_eq(out, "1969-12-31T23:59:59.999Z");
	ck_assert(text_format_time(253402300799999, out));
	ck_assert_str_eq(out, "9999-12-31T23:59:59.999Z");
	ck_assert(!text_format_time(253402300800000, out));
	ck_assert(!text_format_time(INT64_MAX, out));
}
END_TEST

START_TEST(names_that_are_not_utf8_show_their_bytes)
{
	char out[64];

	text_name(TS_STR("a\xff"
			 "b\xc3\xa9.jsonl"),
		  out, sizeof(out));
	ck_assert_str_eq(out, "a%FFb\xc3\xa9.jsonl");
	ck_assert_uint_eq(text_percent_encode(TS_STR("lab/a b\xc3\xa9~"), out), 18);
	ck_assert_str_eq(out, "lab%2Fa%20b%C3%A9~");
}
END_TEST

START_TEST(u64_maps_keep_every_key_of_the_range)
{
	struct u64map m = {0};
	uint32_t got;
	bool fresh;

	for (uint32_t i = 0; i < 5000; i++) {
		ck_assert_int_eq(u64map_put(&m, UINT64_MAX - (uint64_t)i * i, i, &got, &fresh), 0);
		ck_assert(fresh && got == i);
	}
	ck_assert_int_eq(u64map_put(&m, 0, 5000, &got, &fresh), 0);
	ck_assert(fresh);
	ck_assert_int_eq(u64map_put(&m, UINT64_MAX, 9, &got, &fresh), 0);
	ck_assert(!fresh && got == 0);
	ck_assert_uint_eq(u64map_get(&m, UINT64_MAX - 4999ull * 4999), 4999);
	ck_assert_uint_eq(u64map_get(&m, 7), UINT32_MAX);
	u64map_done(&m);
}
END_TEST

/* Keys of 8 little-endian bytes. */
static uint64_t key_bytes(uint64_t key)
{
	return htole64(key);
}

START_TEST(u64_ids_count_up_in_the_order_of_first_sight)
{
	struct u64ids m = {0};
	uint64_t keys[] = {key_bytes(7), key_bytes(UINT64_MAX), key_bytes(7), key_bytes(0)};
	uint32_t got[4];
	size_t first_new;

	ck_assert_int_eq(u64ids_add(&m, keys, 4, got, &first_new), 0);
	ck_assert(got[0] == 0 && got[1] == 1 && got[2] == 0 && got[3] == 2);
	ck_assert_uint_eq(first_new, 0);
	ck_assert_int_eq(u64ids_add(&m, keys + 1, 3, got, &first_new), 0);
	ck_assert(got[0] == 1 && got[1] == 0 && got[2] == 2);
	ck_assert_uint_eq(first_new, 3);
	keys[1] = key_bytes(8);
	ck_assert_int_eq(u64ids_add(&m, keys, 2, got, &first_new), 0);
	ck_assert(got[0] == 0 && got[1] == 3);
	ck_assert_uint_eq(first_new, 1);
	ck_assert_uint_eq(m.count, 4);
	u64ids_done(&m);
}
END_TEST

/* Lists as prompts have them: the first part of an earlier list, then keys of their own, some of
 * which another list has, too. Each key's number is worked out by counting. */
START_TEST(u64_ids_are_those_of_a_plain_count)
{
	enum { KEYS = 200000, LENGTH = 64 };
	uint32_t *number = malloc(KEYS * sizeof(*number)), got[LENGTH], count = 0;
	uint64_t list[LENGTH], state = 1;
	struct u64ids m = {0};

	ck_assert_ptr_nonnull(number);
	for (size_t i = 0; i < KEYS; i++)
		number[i] = UINT32_MAX;
	for (uint32_t round = 0; round < 8000; round++) {
		uint32_t at = 0, expected[LENGTH];
		size_t known = LENGTH, first_new;
		bool fresh = false;

		for (size_t i = 0; i < LENGTH; i++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			if (i == 0 || state >> 60 == 0)
				at = (uint32_t)(state >> 32) % KEYS;
			else
				at = (at + 1) % KEYS;
			list[i] = key_bytes((uint64_t)at * 0x9e3779b97f4a7c15u);
			if (number[at] == UINT32_MAX) {
				number[at] = count++;
				known = fresh ? known : i;
				fresh = true;
			}
			expected[i] = number[at];
		}
		ck_assert_int_eq(u64ids_add(&m, list, LENGTH, got, &first_new), 0);
		ck_assert_mem_eq(got, expected, sizeof(got));
		ck_assert_uint_eq(first_new, known);
	}
	ck_assert_uint_eq(m.count, count);
	ck_assert_uint_gt(count, 65536);
	u64ids_done(&m);
	free(number);
}
END_TEST

START_TEST(string_maps_number_strings_in_order)
{
	struct strmap m = {0};
	bool fresh;
	char text[16];

	ck_assert_uint_eq(strmap_find(&m, TS_STR("x")), STRMAP_NONE);
	ck_assert_uint_eq(strmap_add(&m, ts_str(NULL, 0), &fresh), 0); /* empty, without a place */
	ck_assert_uint_eq(strmap_add(&m, TS_STR(""), &fresh), 0);
	ck_assert(!fresh);
	ck_assert_uint_eq(strmap_add(&m, ts_str("a\0b", 3), &fresh), 1);
	ck_assert_uint_eq(strmap_add(&m, TS_STR("a"), &fresh), 2);
	ck_assert(fresh);
	for (unsigned i = 0; i < 3000; i++) {
		snprintf(text, sizeof(text), "id-%u", i);
		ck_assert_uint_eq(strmap_add(&m, ts_str_c(text), NULL), i + 3);
	}
	ck_assert_uint_eq(strmap_add(&m, ts_str("a\0b", 3), &fresh), 1);
	ck_assert(!fresh);
	ck_assert(ts_str_is(strmap_get(&m, 3002), "id-2999"));
	ck_assert_uint_eq(strmap_find(&m, TS_STR("id-17")), 20);
	strmap_done(&m);
}
END_TEST

START_TEST(the_digest_is_sha_256)
{
	struct digest *d = digest_new();
	char out[DIGEST_TEXT + 1];

	/* FIPS 180-2, appendix B.1 and the empty message. */
	digest_add(d, "a", 1);
	digest_add(d, "bc", 2);
	digest_finish(d, out);
	ck_assert_str_eq(out, "sha256:"
			      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	digest_finish(d, out);
	ck_assert_str_eq(out, "sha256:"
			      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	digest_free(d);
}
END_TEST

START_TEST(sums_and_products_saturate)
{
	ck_assert_uint_eq(u64_add_sat(UINT64_MAX, 1), UINT64_MAX);
	ck_assert_uint_eq(u64_add_sat(1, 2), 3);
	ck_assert_uint_eq(u64_mul_sat(1ull << 40, 1ull << 40), UINT64_MAX);
	ck_assert_int_eq(i64_from_u64_sat(UINT64_MAX), INT64_MAX);
	ck_assert_int_eq(i64_from_u64_sat(5), 5);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("base");
	TCase *t = tcase_create("base");

	tcase_add_test(t, the_first_error_stays);
	tcase_add_test(t, a_full_disk_is_named_so_whatever_was_tried);
	tcase_add_test(t, messages_and_excerpts_hold_no_control_bytes);
	tcase_add_test(t, excerpts_are_cut_around_the_place_at_whole_characters);
	tcase_add_test(t, every_code_is_found_by_its_text);
	tcase_add_test(t, buffers_stop_at_their_cap_and_stay_failed);
	tcase_add_test(t, arenas_give_aligned_memory_and_reuse_a_chunk);
	tcase_add_loop_test(t, utf8_is_checked_strictly, 0, ARRAY_LEN(utf8_cases));
	tcase_add_test(t, unicode_white_space_is_trimmed_and_nothing_else);
	tcase_add_test(t, decimals_are_read_over_all_of_64_bits);
	tcase_add_test(t, integers_are_written_with_all_digits);
	tcase_add_loop_test(t, doubles_read_back_to_the_same_bits, 0, ARRAY_LEN(double_cases));
	tcase_add_test(t, small_doubles_read_back_too);
	tcase_add_loop_test(t, times_are_rfc_3339_or_nothing, 0, ARRAY_LEN(time_cases));
	tcase_add_test(t, times_are_written_in_utc_with_milliseconds);
	tcase_add_test(t, names_that_are_not_utf8_show_their_bytes);
	tcase_add_test(t, u64_maps_keep_every_key_of_the_range);
	tcase_add_test(t, u64_ids_count_up_in_the_order_of_first_sight);
	tcase_add_test(t, u64_ids_are_those_of_a_plain_count);
	tcase_add_test(t, string_maps_number_strings_in_order);
	tcase_add_test(t, the_digest_is_sha_256);
	tcase_add_test(t, sums_and_products_saturate);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	int failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
