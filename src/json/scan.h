/* scan.h: the byte loops of the reader, inline for the reader and the field tables
 *
 * All of them may look at *end: it is readable and no part of a JSON text (json.h). Eight bytes
 * are loaded only where eight bytes are left.
 */
#ifndef JSON_SCAN_H
#define JSON_SCAN_H

#include <string.h>

#include "tracespool/json.h"

#define JSON_LIKELY(x) __builtin_expect(!!(x), 1)
#define JSON_UNLIKELY(x) __builtin_expect(!!(x), 0)

#define JSON_BYTES(byte) (0x0101010101010101ULL * (byte))

/* A phrase that is known by its address: json_fail does not blame the file for it. */
extern const char json_no_memory[];

/* The first failure stays. Where the text has ended, a phrase that begins with "expected" is
 * completed by json_fail. Returns JSON_NONE. */
enum json_type json_bad(struct json *j, const char *at, const char *what);

/* p is where a string leaves the plain characters: a backslash, or what ends or breaks it. The
 * closing quote, or NULL (failed). */
const char *json_string_rest(struct json *j, const char *p);

/* Decodes what stands between the quotes of a string that was checked; at most `end - p` bytes.
 * json_recode writes it as json_quote would, without quotes, in at most `end - p` bytes too. */
size_t json_unescape(const char *p, const char *end, char *out);
size_t json_recode(const char *p, const char *end, char *out);

/* The escape of a byte that json_quote does not write as it is; 2 or 6 bytes. */
size_t json_escape(unsigned char c, char out[static 6]);

/* The number at p, which begins with a digit or a minus sign. */
enum json_type json_number(struct json *j, const char *p, struct json_value *ret);

/* The decoded string between two quotes; false: no memory (failed). */
bool json_decode(struct json *j, const char *p, const char *quote, struct ts_str *ret);

static inline uint64_t json_load8(const char *p)
{
	uint64_t x;

	memcpy(&x, p, sizeof(x));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	x = __builtin_bswap64(x);
#endif
	return x;
}

/* High bit of each byte that is zero; exact up to the first one. */
static inline uint64_t json_zero_bytes(uint64_t x)
{
	return (x - JSON_BYTES(0x01)) & ~x & JSON_BYTES(0x80);
}

static inline bool json_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static inline const char *json_space(const char *p, const char *end)
{
	if (JSON_LIKELY((unsigned char)*p > ' '))
		return p;
	while (p < end && json_is_space(*p))
		p++;
	return p;
}

/* Characters of a string that stand for themselves end at a quote, a backslash, a control byte or
 * the end. */
static inline const char *json_plain(const char *p, const char *end)
{
	while (end - p >= 8) {
		uint64_t x = json_load8(p);
		uint64_t stop = json_zero_bytes(x ^ JSON_BYTES('"')) |
				json_zero_bytes(x ^ JSON_BYTES('\\')) |
				((x - JSON_BYTES(0x20)) & ~x & JSON_BYTES(0x80));

		if (stop)
			return p + (__builtin_ctzll(stop) >> 3);
		p += 8;
	}
	while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20)
		p++;
	return p;
}

/* p is behind the opening quote. The closing quote, or NULL (failed). */
static inline const char *json_string_end(struct json *j, const char *p, bool *ret_escaped)
{
	p = json_plain(p, j->end);
	*ret_escaped = false;
	if (JSON_LIKELY(*p == '"' && p < j->end))
		return p;
	*ret_escaped = true;
	return json_string_rest(j, p);
}

/* Eight digit values, the first one in the lowest byte, as a number. */
static inline uint64_t json_eight_digits(uint64_t x)
{
	x = (x * 10 + (x >> 8)) & 0x00ff00ff00ff00ffULL;
	x = (x * 100 + (x >> 16)) & 0x0000ffff0000ffffULL;
	return (x * 10000 + (x >> 32)) & 0xffffffffULL;
}

/* Appends the digits at p to *v, modulo 2^64. The first byte that is none. */
static inline const char *json_digits(const char *p, const char *end, uint64_t *v)
{
	static const uint32_t power[8] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
	uint64_t value = *v;
	unsigned digit;

	while (end - p >= 8) {
		uint64_t x = json_load8(p) ^ JSON_BYTES('0');
		uint64_t stop =
			(((x & JSON_BYTES(0x7f)) + JSON_BYTES(0x76)) | x) & JSON_BYTES(0x80);
		unsigned n;

		if (!stop) {
			value = value * 100000000 + json_eight_digits(x);
			p += 8;
			continue;
		}
		n = (unsigned)__builtin_ctzll(stop) >> 3;
		if (n)
			value = value * power[n] + json_eight_digits(x << (64 - 8 * n));
		*v = value;
		return p + n;
	}
	while ((digit = (unsigned char)*p - (unsigned)'0') <= 9) {
		value = value * 10 + digit;
		p++;
	}
	*v = value;
	return p;
}

/* Up to 19 digits cannot overflow; 20 digits fit if they begin with 1 and did not wrap. */
static inline bool json_fits_u64(const char *digits, size_t n, uint64_t v)
{
	return n <= 19 || (n == 20 && *digits == '1' && v >= 10000000000000000000ULL);
}

/* An integer literal of a u64 at p that a comma or a closing bracket follows: the byte behind it,
 * or NULL: it is something else, or it is to be looked at closely. */
static inline const char *json_plain_u64(const char *p, const char *end, uint64_t *ret)
{
	uint64_t v = 0;
	const char *q = json_digits(p, end, &v);
	size_t n = (size_t)(q - p);

	if (n == 0 || n > 19 || (*p == '0' && n > 1) || (*q != ',' && *q != '}' && *q != ']'))
		return NULL;
	*ret = v;
	return q;
}

/* Takes the opening bracket at p. */
static inline bool json_open(struct json *j, const char *p)
{
	if (JSON_UNLIKELY(j->depth >= JSON_DEPTH_MAX)) {
		json_bad(j, p, "arrays and objects are nested more than 127 deep");
		return false;
	}
	j->depth++;
	j->at = p + 1;
	return true;
}

/* Are the n bytes at a and b the same? Never looks at more than n bytes of either. */
static inline bool json_same(const char *a, const char *b, size_t n)
{
	uint32_t x, y;

	if (n >= 8) {
		for (size_t i = 0; i < n - 8; i += 8)
			if (json_load8(a + i) != json_load8(b + i))
				return false;
		return json_load8(a + n - 8) == json_load8(b + n - 8);
	}
	if (n >= 4) {
		memcpy(&x, a, 4);
		memcpy(&y, b, 4);
		if (x != y)
			return false;
		memcpy(&x, a + n - 4, 4);
		memcpy(&y, b + n - 4, 4);
		return x == y;
	}
	for (size_t i = 0; i < n; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

/* Moves to the next member or element of the innermost container and returns its first byte, or
 * NULL: the closing bracket was taken, or it failed. What is there is not checked. */
static inline const char *json_next(struct json *j, bool first, char close, const char *expected)
{
	const char *p;

	if (JSON_UNLIKELY(j->error != NULL))
		return NULL;
	p = json_space(j->at, j->end);
	if (!first && JSON_LIKELY(*p == ',')) {
		p = json_space(p + 1, j->end);
		j->at = p;
		return p;
	}
	if (*p == close) {
		j->depth--;
		j->at = p + 1;
		return NULL;
	}
	if (JSON_UNLIKELY(!first)) {
		json_bad(j, p, expected);
		return NULL;
	}
	j->at = p;
	return p;
}

static inline const char *json_next_element(struct json *j, bool first)
{
	return json_next(j, first, ']', "expected ',' or ']' after array element");
}

/* The same for a member: the byte behind the quote that opens its name. */
static inline const char *json_next_name(struct json *j, bool first)
{
	const char *p = json_next(j, first, '}', "expected ',' or '}' after object member");

	if (JSON_UNLIKELY(p && *p != '"')) {
		json_bad(j, p, "expected a member name in double quotes");
		return NULL;
	}
	return p ? p + 1 : NULL;
}

/* p is behind a member's name. Moves to its value; NULL: failed. */
static inline const char *json_colon(struct json *j, const char *p)
{
	p = json_space(p, j->end);
	if (JSON_UNLIKELY(*p != ':')) {
		json_bad(j, p, "expected ':' after member name");
		return NULL;
	}
	j->at = json_space(p + 1, j->end);
	return j->at;
}

#endif
