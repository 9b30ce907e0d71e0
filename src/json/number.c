/* number.c: number tokens: exact u64, what is infinite is refused, correctly rounded doubles */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "scan.h"

/* Decimal exponents beyond this are as good as infinite: no line has as many digits. */
#define EXPONENT_CAP ((int64_t)1 << 48)

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_exponent(char c)
{
	return (c | 0x20) == 'e';
}

/* The value is below 10^(digits + exponent), and 10^308 is finite. Only a token that may reach
 * that far is computed. */
static bool is_finite(const char *token, size_t digits, int64_t exponent)
{
	return (int64_t)digits + exponent <= 308 || isfinite(strtod(token, NULL));
}

/* Digits at *p, at least one. *p moves behind them. */
static bool take_digits(struct json *j, const char **p)
{
	if (!is_digit(**p)) {
		json_bad(j, *p, "expected a digit");
		return false;
	}
	while (is_digit(**p))
		++*p;
	return true;
}

/* The signed digits at *p, capped. */
static int64_t take_exponent(const char **p)
{
	bool negative = **p == '-';
	int64_t value = 0;

	if (**p == '-' || **p == '+')
		++*p;
	for (; is_digit(**p); ++*p)
		if (value < EXPONENT_CAP)
			value = value * 10 + (**p - '0');
	return negative ? -value : value;
}

/* p is at the point or the exponent letter. */
static enum json_type take_real(struct json *j, const char *token, size_t digits, const char *p,
				struct json_value *ret)
{
	int64_t exponent = 0;

	if (*p == '.') {
		p++;
		if (!take_digits(j, &p))
			return JSON_NONE;
	}
	if (is_exponent(*p)) {
		const char *at = ++p;

		if (*p == '+' || *p == '-')
			p++;
		if (!take_digits(j, &p))
			return JSON_NONE;
		exponent = take_exponent(&at);
	}
	if (!is_finite(token, digits, exponent))
		return json_bad(j, token, "a number is too large for a double");
	ret->raw = ts_str(token, (size_t)(p - token));
	j->at = p;
	return JSON_NUMBER;
}

enum json_type json_number(struct json *j, const char *p, struct json_value *ret)
{
	const char *token = p, *digits;
	bool negative = *p == '-';
	uint64_t v = 0;
	size_t n;

	digits = negative ? ++p : p;
	p = json_digits(p, j->end, &v);
	n = (size_t)(p - digits);
	if (n == 0) {
		take_digits(j, &p);
		return JSON_NONE;
	}
	if (*digits == '0' && n > 1)
		return json_bad(j, digits, "a number begins with a needless zero");
	if (*p == '.' || is_exponent(*p))
		return take_real(j, token, n, p, ret);
	if (n > 308 && !is_finite(token, n, 0))
		return json_bad(j, token, "a number is too large for a double");
	ret->raw = ts_str(token, (size_t)(p - token));
	j->at = p;
	if (negative)
		return *digits == '0' ? JSON_NUMBER : JSON_NEG;
	if (!json_fits_u64(digits, n, v))
		return JSON_NUMBER;
	ret->u64 = v;
	return JSON_U64;
}

/* With a mantissa of at most 53 bits and a power of ten that is exact, one rounding gives the
 * nearest double (W. Clinger's fast path). The token is taken apart; false: not so small. */
static bool small_double(struct ts_str raw, double *ret)
{
	static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
				       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
				       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
	const char *p = raw.p, *end = raw.p + raw.n;
	bool negative = *p == '-', fraction = false;
	uint64_t mantissa = 0;
	int64_t exponent = 0;
	double value;

	for (p += negative; p < end && !is_exponent(*p); p++) {
		if (*p == '.') {
			fraction = true;
			continue;
		}
		mantissa = mantissa * 10 + (uint64_t)(*p - '0');
		if (mantissa > (uint64_t)1 << 53)
			return false;
		exponent -= fraction;
	}
	if (p < end) {
		p++;
		exponent += take_exponent(&p);
	}
	value = (double)mantissa;
	if (mantissa != 0 && exponent < 0) {
		if (exponent < -22)
			return false;
		value /= power[-exponent];
	} else if (mantissa != 0) {
		if (exponent > 22)
			return false;
		value *= power[exponent];
	}
	*ret = negative ? -value : value;
	return true;
}

double json_double(struct ts_str raw)
{
	double value;

	/* Where doubles are computed with more bits (x87) there would be two roundings. */
	if (FLT_EVAL_METHOD == 0 && small_double(raw, &value))
		return value;
	return strtod(raw.p, NULL);
}
