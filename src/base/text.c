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

/* Values of at most three decimals, which most doubles of traces are: thousandths, if they are
 * fewer than 10^15 and dividing them gives the value again. Then these digits read back to it, and
 * no others of 15 do. 0: it is no such value. */
static size_t format_short(double value, char *out)
{
	double size = fabs(value);
	uint64_t thousandths;
	size_t n = 0;

	if (size >= 1e12)
		return 0;
	thousandths = (uint64_t)(size * 1000.0 + 0.5);
	if ((double)thousandths / 1000.0 != size)
		return 0;
	if (value < 0)
		out[n++] = '-';
	n += text_format_u64(thousandths / 1000, out + n);
	out[n++] = '.';
	out[n++] = (char)('0' + thousandths / 100 % 10);
	memcpy(out + n, text_pairs + 2 * (thousandths % 100), 2);
	n += 2;
	while (out[n - 1] == '0')
		n--;
	out[n] = 0;
	return n;
}

size_t text_format_double(double value, char out[static TEXT_DOUBLE_MAX])
{
	int n;

	CHECK(isfinite(value));
	if (fabs(value) < 1e16 && value == trunc(value)) {
		size_t digits = signbit(value) ? 1 : 0;

		out[0] = '-';
		digits += text_format_u64((uint64_t)fabs(value), out + digits);
		memcpy(out + digits, ".0", 3);
		return digits + 2;
	}
	if ((n = (int)format_short(value, out)) > 0)
		return (size_t)n;
	/* Most doubles of traces are short decimals; 17 digits always read back to the same bits.
	 */
	for (int digits = 15; digits <= 17; digits++) {
		n = snprintf(out, TEXT_DOUBLE_MAX, "%.*g", digits, value);
		if (digits == 17 || strtod(out, NULL) == value)
			break;
	}
	return (size_t)n;
}
