/* text.c: strings with a length, strict decimals, short doubles */
#include "tracespool/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracespool/util.h"

struct ts_str ts_str_c(const char *text)
{
	return ts_str(text, text ? strlen(text) : 0);
}

bool ts_str_eq(struct ts_str a, struct ts_str b)
{
	if (!a.p || !b.p)
		return !a.p && !b.p;
	return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

bool ts_str_same(struct ts_str s, const char *text)
{
	for (size_t i = 0; i < s.n; i++)
		if (text[i] != s.p[i] || text[i] == 0)
			return false;
	return text[s.n] == 0;
}

int ts_str_cmp(struct ts_str a, struct ts_str b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int c = n ? memcmp(a.p, b.p, n) : 0;

	return c ? c : (a.n > b.n) - (a.n < b.n);
}

bool ts_str_starts(struct ts_str s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s.p && s.n >= n && memcmp(s.p, prefix, n) == 0;
}

bool ts_str_ends(struct ts_str s, const char *suffix)
{
	size_t n = strlen(suffix);

	return s.p && s.n >= n && memcmp(s.p + s.n - n, suffix, n) == 0;
}

bool text_parse_u64(struct ts_str s, uint64_t *ret)
{
	uint64_t v = 0;

	if (!s.p || s.n == 0)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		unsigned digit = (unsigned)(unsigned char)s.p[i] - '0';

		if (digit > 9 || __builtin_mul_overflow(v, 10u, &v) ||
		    __builtin_add_overflow(v, digit, &v))
			return false;
	}
	*ret = v;
	return true;
}

const char text_pairs[201] = "00010203040506070809101112131415161718192021222324252627282930"
			     "31323334353637383940414243444546474849505152535455565758596061"
			     "62636465666768697071727374757677787980818283848586878889909192"
			     "93949596979899";

size_t text_format_u64(uint64_t value, char out[static 21])
{
	char digits[20];
	size_t at = sizeof(digits);

	while (value >= 100) {
		at -= 2;
		memcpy(digits + at, text_pairs + 2 * (value % 100), 2);
		value /= 100;
	}
	if (value >= 10) {
		at -= 2;
		memcpy(digits + at, text_pairs + 2 * value, 2);
	} else {
		digits[--at] = (char)('0' + value);
	}
	size_t n = sizeof(digits) - at;

	memcpy(out, digits + at, n);
	out[n] = 0;
	return n;
}

size_t text_format_i64(int64_t value, char out[static 22])
{
	if (value >= 0)
		return text_format_u64((uint64_t)value, out);
	out[0] = '-';
	return 1 + text_format_u64(0 - (uint64_t)value, out + 1);
}

/* A decimal of up to 15 digits, six of them behind the point, that reads back to `value`: both
 * m and 10^k are exact, so their quotient is what a reader makes of the digits, and 15 digits name
 * one double. 0: not such a value. */
static size_t format_short_decimal(double value, char out[static TEXT_DOUBLE_MAX])
{
	static const double powers[] = {10, 100, 1e3, 1e4, 1e5, 1e6};
	double size = fabs(value);

	if (size < 1e-4 || size >= 1e9)
		return 0;
	for (size_t k = 0; k < ARRAY_LEN(powers); k++) {
		double m = nearbyint(size * powers[k]);

		if (m / powers[k] != size)
			continue;
		char digits[21];
		size_t n = text_format_u64((uint64_t)m, digits), behind = k + 1, at = 0;

		if (signbit(value))
			out[at++] = '-';
		if (n > behind) {
			memcpy(out + at, digits, n - behind);
			at += n - behind;
		} else {
			out[at++] = '0';
		}
		out[at++] = '.';
		for (size_t zeros = n; zeros < behind; zeros++)
			out[at++] = '0';
		n = n < behind ? n : behind;
		memcpy(out + at, digits + strlen(digits) - n, n);
		out[at + n] = 0;
		return at + n;
	}
	return 0;
}

size_t text_format_double(double value, char out[static TEXT_DOUBLE_MAX])
{
	size_t short_one;
	int n;

	CHECK(isfinite(value));
	if (fabs(value) < 1e16 && value == trunc(value)) {
		size_t at = signbit(value) ? 1 : 0;

		out[0] = '-';
		at += text_format_u64((uint64_t)fabs(value), out + at);
		memcpy(out + at, ".0", 3);
		return at + 2;
	}
	short_one = format_short_decimal(value, out);
	if (short_one)
		return short_one;
	/* Most doubles of traces are short decimals; 17 digits always read back to the same bits.
	 */
	for (int digits = 15; digits <= 17; digits++) {
		n = snprintf(out, TEXT_DOUBLE_MAX, "%.*g", digits, value);
		if (digits == 17 || strtod(out, NULL) == value)
			break;
	}
	return (size_t)n;
}
