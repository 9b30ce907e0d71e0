/* json.h: strict pull reader over one line: exact 64-bit integers, depth cap, no tree
 *
 * The text is one JSON text (RFC 8259) as both specs narrow it (candle-trace.md 3, request-trace.md
 * 3.2): white space is space, TAB, CR (LF is accepted too, it cannot occur in a line); containers
 * nest at most 127 deep; lone surrogates, raw control characters and numbers whose double value is
 * infinite are errors anywhere, also in values that are skipped. The caller has checked that the
 * text is valid UTF-8 and that text[len] is readable and is a LF, CR, space, TAB or NUL (any byte
 * that a White_Space character begins with will do, for lines that were trimmed).
 *
 * After the first error the reader stays failed: json_fail() places it.
 */
#ifndef TRACESPOOL_JSON_H
#define TRACESPOOL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracespool/buf.h"
#include "tracespool/error.h"
#include "tracespool/text.h"

#define JSON_DEPTH_MAX 127

enum json_type {
	JSON_NONE, /* failed */
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_U64,    /* integer literal 0 .. 2^64-1 (not -0) */
	JSON_NEG,    /* integer literal below 0 (not -0), of any size */
	JSON_NUMBER, /* -0, fraction, exponent, or an integer above 2^64-1 */
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

struct json {
	const char *text, *at, *end;
	unsigned depth;
	const char *error;     /* what is wrong, a phrase; NULL: nothing yet */
	struct arena *scratch; /* for strings with escapes; borrowed, reset by the owner */
};

struct json_value {
	enum json_type type;
	uint64_t u64;      /* JSON_U64 */
	struct ts_str raw; /* numbers: the token */
	struct ts_str str; /* JSON_STRING: unescaped; points into the text or the scratch arena */
};

void json_begin(struct json *j, const char *text, size_t len, struct arena *scratch);

/* Reads the next value. Scalars are taken whole. Of an array or object only the opening bracket
 * is taken: go on with json_element or json_key until it returns false. */
enum json_type json_value(struct json *j, struct json_value *ret);

/* Like json_value, but strings are checked and not decoded, and containers are taken whole. */
enum json_type json_skip(struct json *j);

/* Moves to the next element of the innermost array; false at its end (bracket taken) or when the
 * reader has failed. `first` must be true for the first call after the opening bracket. */
bool json_element(struct json *j, bool first);

/* The same for objects: also reads the key and the colon. The key is unescaped. */
bool json_key(struct json *j, bool first, struct ts_str *ret_key);

/* After the top value: nothing but white space is left. 0, or -1 (failed). */
int json_end(struct json *j);

/* Sets err to bad_json with message, column and excerpt of the place. line_byte is the offset of
 * text[0] in the file, line_number the number of the line. A byte order mark at the place, a
 * record spread over several lines and the like get a hint of their own. The column counts from
 * text[0]: who cut white space in front of it adds that. Returns -1. If memory ran out err becomes
 * that, without a place. */
int json_fail(const struct json *j, uint64_t line_number, uint64_t line_byte, struct ts_error *err);

/* The double of a number token of a text that was read, correctly rounded. */
double json_double(struct ts_str raw);

/* Looks for the first member `name` of the object that text is, without checking what follows
 * it. Returns its type and fills ret, JSON_NONE if there is none or the text is bad before it or
 * is no object. */
enum json_type json_find(const char *text, size_t len, const char *name, struct json_value *ret,
			 struct arena *scratch);

#endif
