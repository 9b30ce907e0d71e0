/* text.h: UTF-8, Unicode white space, strict decimals, shortest doubles, saturating u64, times */
#ifndef TRACESPOOL_TEXT_H
#define TRACESPOOL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes with a length: strings of the formats may hold U+0000. p is NULL for "no value"; a string
 * that is empty has a p that is not NULL. Borrowed unless a comment says otherwise. */
struct ts_str {
	const char *p;
	size_t n;
};

#define TS_STR(literal) ((struct ts_str){(literal), sizeof(literal) - 1})

static inline struct ts_str ts_str(const char *p, size_t n)
{
	return (struct ts_str){p, n};
}

struct ts_str ts_str_c(const char *text);            /* of a C string; NULL gives no value */
bool ts_str_eq(struct ts_str a, struct ts_str b);    /* no value equals only no value */
bool ts_str_same(struct ts_str s, const char *text); /* s has a value */
/* Words of lists are compared for every line, most of them in vain: the first byte decides. */
static inline bool ts_str_is(struct ts_str s, const char *text)
{
	return s.p && (s.n ? *s.p == *text && ts_str_same(s, text) : *text == 0);
}
int ts_str_cmp(struct ts_str a, struct ts_str b); /* bytewise, a proper prefix first */
bool ts_str_starts(struct ts_str s, const char *prefix);
bool ts_str_ends(struct ts_str s, const char *suffix);

/* Length of the longest prefix that is valid UTF-8: no surrogates, no overlong forms, nothing
 * above U+10FFFF (both specs, "Lines"). Equal to n when all of it is valid. */
size_t text_utf8_prefix(const char *p, size_t n);

/* The same check, fast for ASCII. */
bool text_is_utf8(const char *p, size_t n);

/* Removes characters with the Unicode White_Space property from both ends (candle-trace.md 2.3).
 * The input must be valid UTF-8. */
struct ts_str text_trim(struct ts_str s);
bool text_is_blank(struct ts_str s); /* empty or white space only */

/* Strict decimal: digits only, no sign, no white space, at most 2^64-1. False: not one. Leading
 * zeros are accepted (query parameters); *ret is untouched on failure. */
bool text_parse_u64(struct ts_str s, uint64_t *ret);

/* A JSON number that reads back to the same double, whole ones below 1e16 with one decimal
 * ("412.0"), others in a short round-trip form. The value must be finite. Returns the length. */
#define TEXT_DOUBLE_MAX 32
size_t text_format_double(double value, char out[static TEXT_DOUBLE_MAX]);

/* Decimal digits; out needs 21 bytes. Returns the length. */
size_t text_format_u64(uint64_t value, char out[static 21]);
/* The two digits of 0 to 99, one pair after another. */
extern const char text_pairs[201];
size_t text_format_i64(int64_t value, char out[static 22]);

/* RFC 3339 with offset or Z, to milliseconds since the Unix epoch (finer digits are cut towards
 * the past). False: not such a time, or outside years 0 to 9999. */
bool text_parse_time(struct ts_str s, int64_t *ret_ms);

/* "2025-11-03T09:14:12.480Z"; out of years 0 to 9999 gives false. */
#define TEXT_TIME_MAX 32
bool text_format_time(int64_t ms, char out[static TEXT_TIME_MAX]);

/* Milliseconds since the Unix epoch (wall clock), and of the monotonic clock. */
int64_t time_now_ms(void);
int64_t time_mono_ms(void);

/* Saturating arithmetic on u64 (candle-trace.md 1). */
static inline uint64_t u64_add_sat(uint64_t a, uint64_t b)
{
	uint64_t r;

	return __builtin_add_overflow(a, b, &r) ? UINT64_MAX : r;
}

static inline uint64_t u64_mul_sat(uint64_t a, uint64_t b)
{
	uint64_t r;

	return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

/* min(x, 2^63-1) (request-trace.md 1). */
static inline int64_t i64_from_u64_sat(uint64_t x)
{
	return x > INT64_MAX ? INT64_MAX : (int64_t)x;
}

/* Percent-encodes every byte outside A-Z a-z 0-9 - . _ ~ (http-api.md 2.2). Returns the length
 * written, at most 3 * s.n; out has room for 3 * s.n + 1. */
size_t text_percent_encode(struct ts_str s, char *out);

/* The bytes of a name for JSON and logs: a byte that is not part of valid UTF-8 becomes %XX
 * (http-api.md 6.1). Cut to size - 1 bytes at a character border. Returns the length. */
size_t text_name(struct ts_str name, char *out, size_t size);

#endif
