/* test_json_numbers.c: number tokens: grammar, exact 64-bit integers, what is infinite, doubles bit
 * by bit (hard cases by hand, random ones against strtod)
 */
#include <inttypes.h>
#include <math.h>

#include "test_json.h"

/* The value of a number that is alone, and inside an array with more text behind it, where it is
 * read by other code. */
static enum json_type number_of(const char *text, struct json_value *ret)
{
	char longer[1024];
	struct exact e = exact_of(text, strlen(text));
	struct json_value v, w;
	enum json_type type;
	struct json j;

	json_begin(&j, e.p, e.n, NULL);
	type = json_value(&j, &v);
	if (type != JSON_NONE && json_end(&j) < 0)
		type = JSON_NONE;
	snprintf(longer, sizeof(longer), "[%s,[],[],[],[]]", text);
	json_begin(&j, longer, strlen(longer), NULL);
	json_value(&j, &w);
	json_element(&j, true);
	if (json_value(&j, &w) != JSON_NONE && !json_element(&j, false))
		w.type = JSON_NONE;
	ck_assert_int_eq(w.type, type);
	if (type == JSON_U64)
		ck_assert_uint_eq(v.u64, w.u64);
	if (type != JSON_NONE)
		ck_assert(ts_str_is(w.raw, text) && ts_str_eq(v.raw, w.raw));
	free(e.p);
	w.type = type;
	w.raw = ts_str_c(text);
	*ret = w;
	return type;
}

START_TEST(integers_of_64_bits_are_exact)
{
	static const struct {
		const char *text;
		uint64_t value;
	} cases[] = {
		{"0", 0},
		{"9", 9},
		{"10", 10},
		{"9007199254740993", 9007199254740993u},
		{"9223372036854775807", 9223372036854775807u},
		{"9223372036854775808", 9223372036854775808u},
		{"9999999999999999999", 9999999999999999999u},
		{"10000000000000000000", 10000000000000000000u},
		{"18446744073709551609", 18446744073709551609u},
		{"18446744073709551615", 18446744073709551615u},
	};
	struct json_value v;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		ck_assert_int_eq(number_of(cases[i].text, &v), JSON_U64);
		ck_assert_uint_eq(v.u64, cases[i].value);
	}
}
END_TEST

START_TEST(integers_above_64_bits_are_doubles)
{
	static const char *const cases[] = {
		"18446744073709551616",  "18446744073709551620",  "20000000000000000000",
		"28446744073709551615",  "36893488147419103232",  "99999999999999999999",
		"100000000000000000000", "184467440737095516150", "118446744073709551615",
	};
	struct json_value v;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		ck_assert_msg(number_of(cases[i], &v) == JSON_NUMBER, "%s", cases[i]);
}
END_TEST

START_TEST(integers_of_each_length_are_read)
{
	uint64_t state = 20240607;
	struct json_value v;

	for (int i = 0; i < 4000; i++) {
		uint64_t value = next_random(&state) >> random_below(&state, 64);
		char text[32];

		snprintf(text, sizeof(text), "%" PRIu64, value);
		ck_assert_int_eq(number_of(text, &v), JSON_U64);
		ck_assert_uint_eq(v.u64, value);
	}
}
END_TEST

START_TEST(negative_integers_of_any_size_are_negative)
{
	static const char *const cases[] = {"-1", "-10", "-9223372036854775808",
					    "-18446744073709551616",
					    "-123123123123123123123123123123"};
	struct json_value v;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		ck_assert_msg(number_of(cases[i], &v) == JSON_NEG, "%s", cases[i]);
}
END_TEST

START_TEST(minus_zero_is_a_double)
{
	struct json_value v;

	ck_assert_int_eq(number_of("-0", &v), JSON_NUMBER);
	ck_assert(signbit(json_double(v.raw)) && json_double(v.raw) == 0);
	ck_assert_int_eq(number_of("-0.0", &v), JSON_NUMBER);
	ck_assert(signbit(json_double(v.raw)));
	ck_assert_int_eq(number_of("-0e99999999999999999999", &v), JSON_NUMBER);
	ck_assert(signbit(json_double(v.raw)) && json_double(v.raw) == 0);
}
END_TEST

START_TEST(fractions_and_exponents_never_make_integers)
{
	static const char *const cases[] = {"5.0", "1e3",    "1E3",  "1e+3",  "1e-3", "0.0",
					    "0e0", "1.5e10", "0E+0", "60.00", "1e0",  "12345678.0"};
	struct json_value v;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		ck_assert_msg(number_of(cases[i], &v) == JSON_NUMBER, "%s", cases[i]);
}
END_TEST

START_TEST(what_is_no_number_is_refused)
{
	static const char *const cases[] = {
		"-",
		"+1",
		"00",
		"01",
		"-01",
		"007",
		"1.",
		".5",
		"-.5",
		"1.e1",
		"1e",
		"1e+",
		"1e-",
		"1ee3",
		"1e3.5",
		"1.5.5",
		"0x10",
		"1_000",
		"1a",
		"12-",
		"--1",
		"-+1",
		"1e++1",
		"123456789.",
		"1E",
		"- 1",
		"-a",
		"00000000000000000001",
		"012345678901234567",
	};
	struct json_value v;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		ck_assert_msg(number_of(cases[i], &v) == JSON_NONE, "accepted: %s", cases[i]);
}
END_TEST

/* sign, n digits all the same, tail */
static enum json_type digits_of(const char *sign, char first, char digit, size_t n,
				const char *tail, struct json_value *v)
{
	static char text[700];
	int at = snprintf(text, sizeof(text), "%s", sign);

	memset(text + at, digit, n);
	text[at] = first;
	snprintf(text + at + (int)n, sizeof(text) - (size_t)at - n, "%s", tail);
	return number_of(text, v);
}

START_TEST(infinite_numbers_are_refused)
{
	static const char *const cases[] = {
		"1e309",
		"1e999",
		"-1e999",
		"1.8e308",
		"-1.8e308",
		"1E+400",
		"1e999999999999999999999999999",
		"0.1e310",
		"123456789e301",
	};
	struct json_value v;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		ck_assert_msg(number_of(cases[i], &v) == JSON_NONE, "accepted: %s", cases[i]);
	ck_assert_int_eq(digits_of("", '1', '1', 400, "", &v), JSON_NONE);
	ck_assert_int_eq(digits_of("-", '1', '1', 400, "", &v), JSON_NONE);
	ck_assert_int_eq(digits_of("", '9', '9', 309, "", &v), JSON_NONE);
	ck_assert_int_eq(digits_of("", '9', '9', 309, ".0", &v), JSON_NONE);
}
END_TEST

START_TEST(large_finite_numbers_are_accepted)
{
	struct json_value v;

	ck_assert_int_eq(number_of("1.7976931348623157e308", &v), JSON_NUMBER);
	ck_assert(json_double(v.raw) == 0x1.fffffffffffffp1023);
	ck_assert_int_eq(number_of("-1.7976931348623157e308", &v), JSON_NUMBER);
	ck_assert(json_double(v.raw) == -0x1.fffffffffffffp1023);
	ck_assert_int_eq(number_of("1e308", &v), JSON_NUMBER);
	ck_assert_int_eq(digits_of("", '9', '9', 308, "", &v), JSON_NUMBER);
	/* 10^308 has 309 digits. */
	ck_assert_int_eq(digits_of("", '1', '0', 309, "", &v), JSON_NUMBER);
	ck_assert(json_double(v.raw) == 1e308);
	ck_assert_int_eq(digits_of("-", '1', '0', 309, "", &v), JSON_NEG);
	/* 400 digits, then moved back; the quick estimate alone would refuse none of these. */
	ck_assert_int_eq(digits_of("", '1', '0', 400, "e-399", &v), JSON_NUMBER);
	ck_assert(json_double(v.raw) == 1.0);
	ck_assert_int_eq(digits_of("0.", '0', '0', 400, "1e400", &v), JSON_NUMBER);
	ck_assert(json_double(v.raw) == 0.1);
}
END_TEST

START_TEST(small_numbers_become_zero_and_zero_stays_zero)
{
	static const char *const cases[] = {
		"1e-400",
		"123.456e-789",
		"1e-99999999999999999999",
		"0e999",
		"0.000e+99999999999999999999",
	};
	struct json_value v;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		ck_assert_int_eq(number_of(cases[i], &v), JSON_NUMBER);
		ck_assert_msg(json_double(v.raw) == 0, "%s", cases[i]);
	}
}
END_TEST

/* Halfway cases and ends of the range, with the nearest double (ties to even) as a hexadecimal
 * constant, which needs no rounding. */
START_TEST(doubles_are_rounded_to_nearest)
{
	static const struct {
		const char *text;
		double value;
	} cases[] = {
		{"0.1", 0x1.999999999999ap-4},
		{"0.5", 0x1p-1},
		{"412.0", 0x1.9cp8},
		{"1e22", 0x1.0f0cf064dd592p73},
		{"1e23", 0x1.52d02c7e14af6p76},
		{"9007199254740992", 0x1p53},
		{"9007199254740993", 0x1p53},
		{"9007199254740994", 0x1.0000000000001p53},
		{"9007199254740995", 0x1.0000000000002p53},
		{"9007199254740993.00000000000000000000000000000001", 0x1.0000000000001p53},
		{"18446744073709551615", 0x1p64},
		{"18446744073709551616", 0x1p64},
		{"18446744073709553664", 0x1p64},
		{"18446744073709553665", 0x1.0000000000001p64},
		{"-18446744073709553665", -0x1.0000000000001p64},
		{"1000000000000000.5", 0x1.c6bf526340004p49},
		{"2.2250738585072011e-308", 0x0.fffffffffffffp-1022},
		{"2.2250738585072014e-308", 0x1p-1022},
		{"4.9406564584124654e-324", 0x0.0000000000001p-1022},
		{"2.4703282292062328e-324", 0x0.0000000000001p-1022},
		{"2.4703282292062327e-324", 0},
		{"-5", -0x1.4p2},
		{"1.50", 0x1.8p0},
		{"1e-22", 0x1.e392010175ee6p-74},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		ck_assert_msg(json_double(ts_str_c(cases[i].text)) == cases[i].value, "%s gives %a",
			      cases[i].text, json_double(ts_str_c(cases[i].text)));
}
END_TEST

static void random_double(uint64_t *state, char *out, size_t size)
{
	size_t at = 0;

	if (random_below(state, 4) == 0)
		out[at++] = '-';
	at += (size_t)snprintf(out + at, size - at, "%" PRIu64,
			       next_random(state) >> random_below(state, 64));
	if (random_below(state, 4) != 0)
		at += (size_t)snprintf(out + at, size - at, ".%0*" PRIu64,
				       (int)random_below(state, 25),
				       next_random(state) >> random_below(state, 64));
	if (random_below(state, 2) != 0)
		snprintf(out + at, size - at, "%c%s%zu", random_below(state, 2) ? 'e' : 'E',
			 random_below(state, 2) ? "-" : "",
			 random_below(state, random_below(state, 3) ? 30 : 310));
}

START_TEST(random_doubles_have_the_bits_of_strtod)
{
	uint64_t state = 88172645463325252u;
	unsigned finite = 0;

	for (int i = 0; i < 20000; i++) {
		struct json_value v;
		double ours, theirs;
		char text[128];

		random_double(&state, text, sizeof(text));
		theirs = strtod(text, NULL);
		if (!isfinite(theirs)) {
			ck_assert_msg(number_of(text, &v) == JSON_NONE, "accepted: %s", text);
			continue;
		}
		finite++;
		ck_assert_msg(number_of(text, &v) != JSON_NONE, "refused: %s", text);
		ours = json_double(ts_str_c(text));
		ck_assert_msg(memcmp(&ours, &theirs, sizeof(ours)) == 0, "%s: %a, not %a", text,
			      ours, theirs);
	}
	ck_assert_uint_gt(finite, 15000);
}
END_TEST

TCase *json_number_cases(void)
{
	TCase *tc = tcase_create("numbers");

	tcase_add_test(tc, integers_of_64_bits_are_exact);
	tcase_add_test(tc, integers_above_64_bits_are_doubles);
	tcase_add_test(tc, integers_of_each_length_are_read);
	tcase_add_test(tc, negative_integers_of_any_size_are_negative);
	tcase_add_test(tc, minus_zero_is_a_double);
	tcase_add_test(tc, fractions_and_exponents_never_make_integers);
	tcase_add_test(tc, what_is_no_number_is_refused);
	tcase_add_test(tc, infinite_numbers_are_refused);
	tcase_add_test(tc, large_finite_numbers_are_accepted);
	tcase_add_test(tc, small_numbers_become_zero_and_zero_stays_zero);
	tcase_add_test(tc, doubles_are_rounded_to_nearest);
	tcase_add_test(tc, random_doubles_have_the_bits_of_strtod);
	return tc;
}
