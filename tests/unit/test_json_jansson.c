/* test_json_jansson.c: the reader against jansson on generated texts, whole and damaged: the same
 * verdict, and the same values wherever jansson can hold them. By the formats' rules the two differ
 * in three things: integers outside the range of int64 (jansson refuses the text), U+0000 in a
 * member's name (jansson refuses it), and the depth of 127 (jansson goes on to 2048). Raw NUL bytes
 * are left to test_json.c: jansson loses one that follows a number.
 */
#include <errno.h>

#include "test_json.h"

/* Both readers have these names. */
#define JSON_OBJECT JANSSON_OBJECT
#define JSON_ARRAY JANSSON_ARRAY
#define JSON_STRING JANSSON_STRING
#define JSON_INTEGER JANSSON_INTEGER
#define JSON_REAL JANSSON_REAL
#define JSON_TRUE JANSSON_TRUE
#define JSON_FALSE JANSSON_FALSE
#define JSON_NULL JANSSON_NULL
#include <jansson.h>
#undef JSON_OBJECT
#undef JSON_ARRAY
#undef JSON_STRING
#undef JSON_INTEGER
#undef JSON_REAL
#undef JSON_TRUE
#undef JSON_FALSE
#undef JSON_NULL

enum { CASES = 6000, TEXT_MAX = 1 << 16 };

struct maker {
	uint64_t state;
	char text[TEXT_MAX];
	size_t n;
};

static void put(struct maker *m, const char *bytes, size_t n)
{
	if (m->n + n <= sizeof(m->text) / 2) {
		memcpy(m->text + m->n, bytes, n);
		m->n += n;
	}
}

static void puts_one(struct maker *m, const char *const *list, size_t n)
{
	const char *text = list[random_below(&m->state, n)];

	put(m, text, strlen(text));
}

static void put_space(struct maker *m)
{
	static const char *const spaces[] = {"", "", "", "", " ", "\t", "\r", "\n", "  \n "};

	puts_one(m, spaces, ARRAY_LEN(spaces));
}

static void put_string(struct maker *m)
{
	static const char *const pieces[] = {
		"a",
		"kind",
		"longer than eight bytes",
		"\\n",
		"\\\"",
		"\\\\",
		"\\/",
		"\\u0041",
		"/",
		"\xc3\xa9",
		"\\u00E9",
		"\\uD834\\uDD1E",
		"\xf0\x9d\x84\x9e",
		"\x7f",
		"\\b\\f\\r\\t",
		"\\u0000",
		"\\uFFFF",
		"{}[],:",
		" ",
		"0",
	};
	size_t n = random_below(&m->state, 5);

	put(m, "\"", 1);
	while (n-- > 0)
		puts_one(m, pieces, ARRAY_LEN(pieces));
	put(m, "\"", 1);
}

static void put_number(struct maker *m)
{
	static const char *const edges[] = {
		"0",
		"-0",
		"-1",
		"9223372036854775807",
		"-9223372036854775808",
		"1e308",
		"1.7976931348623157e308",
		"1e-400",
		"-0.0",
		"0e999",
		"2.2250738585072011e-308",
		"9007199254740993.0",
		"18446744073709551615",
		"9223372036854775808",
		"-9223372036854775809",
	};
	char text[64];

	switch (random_below(&m->state, 4)) {
	case 0:
		puts_one(m, edges, ARRAY_LEN(edges) - (random_below(&m->state, 8) ? 3 : 0));
		return;
	case 1:
		snprintf(text, sizeof(text), "%lld",
			 (long long)((int64_t)next_random(&m->state) >>
				     random_below(&m->state, 64)));
		break;
	case 2:
		snprintf(text, sizeof(text), "%llu.%llue%d",
			 (unsigned long long)(next_random(&m->state) >> 20),
			 (unsigned long long)(next_random(&m->state) >> 40),
			 (int)random_below(&m->state, 600) - 320);
		break;
	default:
		snprintf(text, sizeof(text), "%zu.%zu", random_below(&m->state, 1000),
			 random_below(&m->state, 100000));
		break;
	}
	put(m, text, strlen(text));
}

static void put_value(struct maker *m, unsigned depth)
{
	static const char *const words[] = {"true", "false", "null"};
	size_t what = random_below(&m->state, depth ? 9 : 5), n = random_below(&m->state, 6);
	bool object = what >= 7;

	if (what == 0) {
		puts_one(m, words, ARRAY_LEN(words));
	} else if (what <= 2) {
		put_string(m);
	} else if (what <= 4) {
		put_number(m);
	} else {
		put(m, object ? "{" : "[", 1);
		put_space(m);
		for (size_t i = 0; i < n; i++) {
			if (i > 0)
				put(m, ",", 1);
			put_space(m);
			if (object) {
				put_string(m);
				put_space(m);
				put(m, ":", 1);
				put_space(m);
			}
			put_value(m, depth - 1);
			put_space(m);
		}
		put(m, object ? "}" : "]", 1);
	}
}

static void damage(struct maker *m)
{
	static const char bytes[] = "\"\\{}[]:,0123456789-+.eEtrufalsn \n\t/\x01\x7f\x80\xc3\xff";
	size_t at = random_below(&m->state, m->n), n;

	switch (random_below(&m->state, 4)) {
	case 0: /* another byte */
		m->text[at] = bytes[random_below(&m->state, sizeof(bytes) - 1)];
		break;
	case 1: /* bytes missing */
		n = 1 + random_below(&m->state, 3);
		if (n > m->n - at)
			n = m->n - at;
		memmove(m->text + at, m->text + at + n, m->n - at - n);
		m->n -= n;
		break;
	case 2: /* a byte more */
		memmove(m->text + at + 1, m->text + at, m->n - at);
		m->text[at] = bytes[random_below(&m->state, sizeof(bytes) - 1)];
		m->n++;
		break;
	default: /* the end missing */
		m->n = at;
		break;
	}
}

/* What stands in the way of a comparison of values. */
struct limits {
	bool beyond_int64, nul_in_name;
};

static json_t *build(struct json *j, struct limits *l);

static json_t *build_number(const struct json_value *v, struct limits *l)
{
	bool real = memchr(v->raw.p, '.', v->raw.n) || memchr(v->raw.p, 'e', v->raw.n) ||
		    memchr(v->raw.p, 'E', v->raw.n);
	long long value;
	char text[64];

	if (real)
		return json_real(json_double(v->raw));
	if (v->type == JSON_NUMBER && ts_str_is(v->raw, "-0"))
		return json_integer(0);
	if (v->type == JSON_U64 && v->u64 <= INT64_MAX)
		return json_integer((json_int_t)v->u64);
	if (v->type == JSON_NEG && v->raw.n < sizeof(text)) {
		memcpy(text, v->raw.p, v->raw.n);
		text[v->raw.n] = 0;
		errno = 0;
		value = strtoll(text, NULL, 10);
		if (errno == 0)
			return json_integer(value);
	}
	l->beyond_int64 = true;
	return json_null();
}

static json_t *build_object(struct json *j, struct limits *l)
{
	json_t *object = json_object();
	struct ts_str key;

	for (bool first = true; json_key(j, first, &key); first = false) {
		char *name = strndup(key.p, key.n);

		l->nul_in_name |= memchr(key.p, 0, key.n) != NULL;
		json_object_set_new_nocheck(object, name, build(j, l));
		free(name);
	}
	return object;
}

static json_t *build(struct json *j, struct limits *l)
{
	struct json_value v;
	json_t *array;

	switch (json_value(j, &v)) {
	case JSON_OBJECT:
		return build_object(j, l);
	case JSON_ARRAY:
		array = json_array();
		for (bool first = true; json_element(j, first); first = false)
			json_array_append_new(array, build(j, l));
		return array;
	case JSON_STRING:
		return json_stringn_nocheck(v.str.p, v.str.n);
	case JSON_TRUE:
		return json_true();
	case JSON_FALSE:
		return json_false();
	case JSON_U64:
	case JSON_NEG:
	case JSON_NUMBER:
		return build_number(&v, l);
	default:
		return json_null();
	}
}

/* Returns whether both accept the text. */
static bool compare(const char *text, size_t n)
{
	struct arena scratch = {0};
	struct limits limits = {0};
	struct exact e = exact_of(text, n);
	json_t *ours = NULL, *theirs;
	json_error_t error;
	struct json j;
	bool taken, skipped, utf8 = text_is_utf8(text, n);

	json_begin(&j, e.p, e.n, &scratch);
	if (utf8)
		ours = build(&j, &limits);
	taken = utf8 && json_end(&j) == 0;
	json_begin(&j, e.p, e.n, NULL);
	skipped = utf8 && json_skip(&j) != JSON_NONE && json_end(&j) == 0;
	ck_assert_msg(taken == skipped, "taken %d, skipped %d: %.*s", taken, skipped, (int)n, text);

	theirs = json_loadb(e.p, e.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
	if (taken && (limits.beyond_int64 || limits.nul_in_name))
		ck_assert_msg(!theirs, "jansson accepts: %.*s", (int)n, text);
	else
		ck_assert_msg(taken == (theirs != NULL), "ours: %s at %zu, jansson: %s: %.*s",
			      j.error ? j.error : "accepted", (size_t)(j.at - e.p),
			      theirs ? "accepted" : error.text, (int)n, text);
	if (taken && theirs)
		ck_assert_msg(json_equal(ours, theirs), "values differ: %.*s", (int)n, text);
	json_decref(ours);
	json_decref(theirs);
	arena_done(&scratch);
	free(e.p);
	return taken;
}

START_TEST(whole_texts_have_the_same_values)
{
	static struct maker m = {.state = 0x9e3779b97f4a7c15u};

	for (int i = 0; i < CASES; i++) {
		m.n = 0;
		put_space(&m);
		put_value(&m, 5);
		put_space(&m);
		/* The size of the text is bounded; a few hit that and are cut. */
		if (!compare(m.text, m.n))
			ck_assert_uint_ge(m.n, sizeof(m.text) / 2 - 64);
	}
}
END_TEST

START_TEST(damaged_texts_have_the_same_verdict)
{
	static struct maker m = {.state = 0xd1b54a32d192ed03u};
	unsigned accepted = 0, refused = 0;

	for (int i = 0; i < CASES; i++) {
		size_t times = 1 + random_below(&m.state, 3);

		m.n = 0;
		put_value(&m, 3);
		while (times-- > 0 && m.n > 0)
			damage(&m);
		if (compare(m.text, m.n))
			accepted++;
		else
			refused++;
	}
	/* Both verdicts are put to the test. */
	ck_assert_uint_gt(accepted, CASES / 20);
	ck_assert_uint_gt(refused, CASES / 4);
}
END_TEST

TCase *json_jansson_cases(void)
{
	TCase *tc = tcase_create("jansson");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, whole_texts_have_the_same_values);
	tcase_add_test(tc, damaged_texts_have_the_same_verdict);
	return tc;
}
