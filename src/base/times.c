/* times.c: RFC 3339 times and the two clocks */
#include "tracespool/text.h"

#include <stdio.h>
#include <time.h>

/* Days since 1970-01-01 of a date of the proleptic Gregorian calendar, year 0 or later. */
static int64_t days_from_date(int64_t y, unsigned m, unsigned d)
{
	y -= m <= 2;
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t yoe = y - era * 400;
	int64_t doy = (153 * ((int64_t)m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;

	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static void date_from_days(int64_t days, int64_t *y, unsigned *m, unsigned *d)
{
	days += 719468;
	int64_t era = (days >= 0 ? days : days - 146096) / 146097;
	int64_t doe = days - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	int64_t mp = (5 * doy + 2) / 153;

	*d = (unsigned)(doy - (153 * mp + 2) / 5 + 1);
	*m = (unsigned)(mp < 10 ? mp + 3 : mp - 9);
	*y = yoe + era * 400 + (*m <= 2);
}

/* Reads exactly n digits at *p. */
static bool digits(const char **p, const char *end, unsigned n, unsigned *ret)
{
	unsigned v = 0;

	if ((size_t)(end - *p) < n)
		return false;
	for (unsigned i = 0; i < n; i++) {
		unsigned digit = (unsigned)(unsigned char)(*p)[i] - '0';

		if (digit > 9)
			return false;
		v = v * 10 + digit;
	}
	*p += n;
	*ret = v;
	return true;
}

static bool literal(const char **p, const char *end, char a, char b)
{
	if (*p == end || (**p != a && **p != b))
		return false;
	++*p;
	return true;
}

static unsigned days_in_month(unsigned y, unsigned m)
{
	static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;

	return m == 2 && leap ? 29 : days[m - 1];
}

bool text_parse_time(struct ts_str s, int64_t *ret_ms)
{
	const char *p = s.p, *end = s.p + s.n;
	unsigned y, mo, d, h, mi, sec, ms = 0, oh = 0, om = 0;
	bool east = true;

	if (!s.p)
		return false;
	if (!digits(&p, end, 4, &y) || !literal(&p, end, '-', '-') || !digits(&p, end, 2, &mo) ||
	    !literal(&p, end, '-', '-') || !digits(&p, end, 2, &d) ||
	    !(literal(&p, end, 'T', 't') || literal(&p, end, ' ', ' ')) ||
	    !digits(&p, end, 2, &h) || !literal(&p, end, ':', ':') || !digits(&p, end, 2, &mi) ||
	    !literal(&p, end, ':', ':') || !digits(&p, end, 2, &sec))
		return false;
	if (literal(&p, end, '.', '.')) {
		unsigned weight = 100, digit, count = 0;

		for (; p < end && digits(&p, end, 1, &digit); count++, weight /= 10)
			ms += digit * weight;
		if (count == 0)
			return false;
	}
	if (!literal(&p, end, 'Z', 'z')) {
		if (literal(&p, end, '-', '-'))
			east = false;
		else if (!literal(&p, end, '+', '+'))
			return false;
		if (!digits(&p, end, 2, &oh) || !literal(&p, end, ':', ':') ||
		    !digits(&p, end, 2, &om))
			return false;
	}
	/* A leap second (:60) is counted as the second after it. */
	if (p != end || mo < 1 || mo > 12 || d < 1 || d > days_in_month(y, mo) || h > 23 ||
	    mi > 59 || sec > 60 || oh > 23 || om > 59)
		return false;
	int64_t offset = ((int64_t)oh * 60 + om) * 60 * (east ? 1 : -1);

	*ret_ms = ((days_from_date(y, mo, d) * 86400 + h * 3600 + mi * 60 + sec) - offset) * 1000 +
		  ms;
	return true;
}

bool text_format_time(int64_t ms, char out[static TEXT_TIME_MAX])
{
	int64_t days = ms / 86400000, rest = ms % 86400000, y;
	unsigned m, d;

	if (rest < 0) {
		rest += 86400000;
		days--;
	}
	if (days < days_from_date(0, 1, 1) || days > days_from_date(9999, 12, 31))
		return false;
	date_from_days(days, &y, &m, &d);
	unsigned second = (unsigned)(rest / 1000);

	snprintf(out, TEXT_TIME_MAX, "%04d-%02u-%02uT%02u:%02u:%02u.%03uZ", (int)y, m, d,
		 second / 3600, second / 60 % 60, second % 60, (unsigned)(rest % 1000));
	return true;
}

static int64_t clock_ms(clockid_t clock)
{
	struct timespec t = {0};

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t time_now_ms(void)
{
	return clock_ms(CLOCK_REALTIME);
}

int64_t time_mono_ms(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}
