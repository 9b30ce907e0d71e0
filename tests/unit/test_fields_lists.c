/* test_fields_lists.c: arrays and maps read by field tables: exact integers, the products of
 * shapes, canonical text, sorted keys, arrays of objects
 */
#include <inttypes.h>
#include <stdio.h>

#include "tracespool/writer.h"

#include "test_fields.h"

static struct buf text;

/* A record with one member more. */
static const char *with(const char *member)
{
	buf_clear(&text);
	buf_printf(&text, "{\"kind\":1,\"id\":\"x\",%s}", member);
	return text.data;
}

START_TEST(arrays_of_u64_hold_all_64_bits)
{
	static const uint64_t expected[] = {18446744073709551615u, 0, 9223372036854775808u, 7};

	ck_assert_int_eq(read_once(with("\"hashes\":[18446744073709551615,0,9223372036854775808"
					",7]")),
			 0);
	ck_assert_uint_eq(rec.hashes.n, 4);
	ck_assert(memcmp(rec.hashes.v, expected, sizeof(expected)) == 0);
	ck_assert_int_eq(read_once(with("\"hashes\" : [ 18446744073709551615 ,\t0\r, "
					"9223372036854775808 , 7 ]")),
			 0);
	ck_assert_uint_eq(rec.hashes.n, 4);
	ck_assert(memcmp(rec.hashes.v, expected, sizeof(expected)) == 0);
}
END_TEST

START_TEST(an_empty_array_is_not_the_same_as_no_value)
{
	ck_assert_int_eq(read_once(with("\"hashes\":[]")), 0);
	ck_assert_ptr_nonnull(rec.hashes.v);
	ck_assert_uint_eq(rec.hashes.n, 0);
	ck_assert(fields_has(&rec.marks, R_HASHES));
}
END_TEST

START_TEST(long_arrays_are_read_whole)
{
	enum { N = 100000 };

	buf_clear(&text);
	buf_puts(&text, "{\"kind\":1,\"id\":\"x\",\"hashes\":[0");
	for (uint64_t i = 1; i < N; i++)
		buf_printf(&text, ",%" PRIu64, i * 0x9e3779b97f4a7c15u);
	buf_puts(&text, "]}");
	ck_assert_int_eq(read_once(text.data), 0);
	ck_assert_uint_eq(rec.hashes.n, N);
	for (uint64_t i = 0; i < N; i++)
		ck_assert_uint_eq(rec.hashes.v[i], i * 0x9e3779b97f4a7c15u);
}
END_TEST

START_TEST(repeated_arrays_and_objects_use_no_more_memory)
{
	/* More repetitions than there are pools, at both levels; the last ones count. */
	ck_assert_int_eq(read_last(with("\"hashes\":[1],\"inner\":{\"name\":\"\",\"hashes\":[2]},"
					"\"hashes\":[3],\"inner\":{\"name\":\"\",\"hashes\":[4]},"
					"\"hashes\":[5],\"inner\":{\"name\":\"\",\"hashes\":[6]},"
					"\"hashes\":[7,8],\"inner\":{\"name\":\"\",\"hashes\":[9]},"
					"\"hashes\":[10,11,12],\"inner\":{\"name\":\"\","
					"\"hashes\":[13,\"x\"],\"hashes\":[14]}")),
			 0);
	ck_assert_uint_eq(rec.hashes.n, 3);
	ck_assert_uint_eq(rec.hashes.v[0], 10);
	ck_assert_uint_eq(rec.hashes.v[2], 12);
	ck_assert_uint_eq(rec.inner.hashes.n, 1);
	ck_assert_uint_eq(rec.inner.hashes.v[0], 14);
	ck_assert_uint_eq(space.pools, 2);
}
END_TEST

static void ck_shape(const char *json, const char *canonical, uint64_t product, bool overflow,
		     uint64_t product_sat)
{
	char member[200];

	snprintf(member, sizeof(member), "\"shape\":%s,\"duration_ns\":3", json);
	ck_assert_int_eq(read_once(with(member)), 0);
	ck_assert_msg(ts_str_is(rec.shape.json, canonical), "%s", json);
	ck_assert_msg(rec.shape.overflow == overflow, "%s", json);
	if (!overflow)
		ck_assert_uint_eq(rec.shape.product, product);
	ck_assert_uint_eq(rec.shape.product_sat, product_sat);
	ck_assert_uint_eq(rec.duration_ns, 3);
}

START_TEST(shapes_are_multiplied_from_left_to_right)
{
	ck_shape("[]", "[]", 1, false, 1);
	ck_shape("[8,4]", "[8,4]", 32, false, 32);
	ck_shape("[7]", "[7]", 7, false, 7);
	ck_shape("[0]", "[0]", 0, false, 0);
	ck_shape("[18446744073709551615]", "[18446744073709551615]", UINT64_MAX, false, UINT64_MAX);
	/* candle-trace.md 5.7: 0 comes first, so nothing overflows. */
	ck_shape("[0,9223372036854775808,4]", "[0,9223372036854775808,4]", 0, false, 0);
	/* The overflow stays, whatever follows; the saturating product becomes 0 (section 8). */
	ck_shape("[4294967296,4294967296,0]", "[4294967296,4294967296,0]", 0, true, 0);
	ck_shape("[1099511627776,1099511627776,0]", "[1099511627776,1099511627776,0]", 0, true, 0);
	ck_shape("[4294967296,4294967296]", "[4294967296,4294967296]", 0, true, UINT64_MAX);
	ck_shape("[4294967296,4294967296,2]", "[4294967296,4294967296,2]", 0, true, UINT64_MAX);
	ck_shape("[9223372036854775808,2]", "[9223372036854775808,2]", 0, true, UINT64_MAX);
	ck_shape("[4294967295,4294967297]", "[4294967295,4294967297]", UINT64_MAX, false,
		 UINT64_MAX);
}
END_TEST

START_TEST(the_text_of_a_shape_has_no_white_space)
{
	ck_shape(" [ 8 , 4 ] ", "[8,4]", 32, false, 32);
	ck_shape("[ ]", "[]", 1, false, 1);
	ck_shape("[8, 1024,\t18446744073709551615]", "[8,1024,18446744073709551615]", 0, true,
		 UINT64_MAX);
	ck_shape("[8,4\r]", "[8,4]", 32, false, 32);
}
END_TEST

static void ck_inputs(const char *json, const char *canonical)
{
	char member[300];

	snprintf(member, sizeof(member), "\"inputs\":%s,\"duration_ns\":3", json);
	ck_assert_int_eq(read_once(with(member)), 0);
	ck_assert_msg(ts_str_is(rec.inputs, canonical), "%s gives %.*s", json, (int)rec.inputs.n,
		      rec.inputs.p);
	ck_assert_uint_eq(rec.duration_ns, 3);
}

START_TEST(equal_arrays_of_strings_have_equal_text)
{
	ck_inputs("[]", "[]");
	ck_inputs("[ ]", "[]");
	ck_inputs("[\"x\",\"w\"]", "[\"x\",\"w\"]");
	ck_inputs("[ \"x\" , \"w\" ]", "[\"x\",\"w\"]");
	ck_inputs("[\"\\u0078\",\"\\u0077\"]", "[\"x\",\"w\"]");
	ck_inputs("[\"\"]", "[\"\"]");
	ck_inputs("[\"\",\"\"]", "[\"\",\"\"]");
	ck_inputs("[\"a\\/b\",\"a/b\"]", "[\"a/b\",\"a/b\"]");
	ck_inputs("[\"\\u00e9\",\"\xc3\xa9\"]", "[\"\xc3\xa9\",\"\xc3\xa9\"]");
	ck_inputs("[\"\\uD834\\uDD1E\"]", "[\"\xf0\x9d\x84\x9e\"]");
	ck_inputs("[\"\\u0022\\u005C\",\"\\\"\\\\\"]", "[\"\\\"\\\\\",\"\\\"\\\\\"]");
	ck_inputs("[\"\\u000a\\u0008\\u000C\\u000d\\u0009\"]", "[\"\\n\\b\\f\\r\\t\"]");
	ck_inputs("[\"\\u0000\\u001F\\u007f\"]", "[\"\\u0000\\u001f\x7f\"]");
	ck_inputs("[\"],[\",\" , \"]", "[\"],[\",\" , \"]");
	/* As long as the plain form would be, yet not the same. */
	ck_inputs("[\"\\/\" ]", "[\"/\"]");
}
END_TEST

/* The canonical text is that of json_quote, so that stored text and output agree. */
START_TEST(the_text_of_strings_is_what_the_writer_writes)
{
	struct buf quoted = BUF_INIT;

	for (unsigned c = 0; c < 0x110000; c += c < 0x100 ? 1 : 0x3b) {
		char member[64];
		struct json_value v;
		struct json j;

		if (c >= 0xd800 && c <= 0xdfff)
			continue;
		if (c < 0x10000)
			snprintf(member, sizeof(member), "\"inputs\":[\"a\\u%04x\"]", c);
		else
			snprintf(member, sizeof(member), "\"inputs\":[\"a\\u%04x\\u%04x\"]",
				 0xd800 + ((c - 0x10000) >> 10), 0xdc00 + (c & 0x3ff));
		ck_assert_int_eq(read_once(with(member)), 0);
		json_begin(&j, member + 10, strlen(member) - 11, &space.scratch);
		ck_assert_int_eq(json_value(&j, &v), JSON_STRING);
		buf_clear(&quoted);
		buf_putc(&quoted, '[');
		json_quote(&quoted, v.str);
		buf_putc(&quoted, ']');
		ck_assert_msg(ts_str_eq(rec.inputs, ts_str(quoted.data, quoted.len)), "U+%04x", c);
	}
	buf_done(&quoted);
}
END_TEST

static void ck_tags(const char *json, const char *canonical)
{
	char member[300];

	snprintf(member, sizeof(member), "\"tags\":%s,\"duration_ns\":3", json);
	ck_assert_int_eq(read_once(with(member)), 0);
	ck_assert_msg(ts_str_is(rec.tags, canonical), "%s gives %.*s", json, (int)rec.tags.n,
		      rec.tags.p);
	ck_assert_uint_eq(rec.duration_ns, 3);
}

START_TEST(maps_are_sorted_bytewise_and_the_last_of_a_key_counts)
{
	ck_tags("{}", "{}");
	ck_tags("{ }", "{}");
	ck_tags("{\"b\":\"1\",\"a\":\"2\"}", "{\"a\":\"2\",\"b\":\"1\"}");
	ck_tags("{ \"b\" : \"1\" , \"a\" : \"2\" }", "{\"a\":\"2\",\"b\":\"1\"}");
	ck_tags("{\"a\":\"1\",\"b\":\"2\",\"a\":\"3\",\"a\":\"4\"}", "{\"a\":\"4\",\"b\":\"2\"}");
	/* Escapes hide no repetition. */
	ck_tags("{\"\\u0061\":\"1\",\"a\":\"2\",\"\\u0061\":\"3\"}", "{\"a\":\"3\"}");
	/* A prefix comes first; upper case in front of lower; bytes, not code units of UTF-16. */
	ck_tags("{\"ab\":\"\",\"a\":\"\",\"\":\"\",\"B\":\"\"}",
		"{\"\":\"\",\"B\":\"\",\"a\":\"\",\"ab\":\"\"}");
	ck_tags("{\"\\ud800\\udc00\":\"2\",\"\\uffff\":\"1\"}",
		"{\"\xef\xbf\xbf\":\"1\",\"\xf0\x90\x80\x80\":\"2\"}");
	ck_tags("{\"\xf0\x90\x80\x80\":\"2\",\"\\uffff\":\"1\",\"\\ud800\\udc00\":\"3\"}",
		"{\"\xef\xbf\xbf\":\"1\",\"\xf0\x90\x80\x80\":\"3\"}");
	ck_tags("{\"a\\u0000\":\"2\",\"a\":\"1\"}", "{\"a\":\"1\",\"a\\u0000\":\"2\"}");
	ck_tags("{\"\\\"\":\"\\\"}\",\"!\":\"\\\\\"}", "{\"!\":\"\\\\\",\"\\\"\":\"\\\"}\"}");
	ck_tags("{\"\\n\":\"a\",\" \":\"\\u0041\"}", "{\"\\n\":\"a\",\" \":\"A\"}");
	ck_tags("{\"\\u00e9\\u20ac\":\"x\",\"\xc3\xa9\":\"y\"}",
		"{\"\xc3\xa9\":\"y\",\"\xc3\xa9\xe2\x82\xac\":\"x\"}");
}
END_TEST

START_TEST(large_maps_are_sorted_too)
{
	enum { N = 5000 };

	buf_clear(&text);
	buf_puts(&text, "{\"kind\":1,\"id\":\"x\",\"tags\":{");
	for (unsigned i = 0; i < N; i++)
		buf_printf(&text, "%s\"k%04u\":\"%u\"", i ? "," : "", i * 2999 % N, i);
	buf_puts(&text, "}}");
	ck_assert_int_eq(read_once(text.data), 0);
	ck_assert_uint_gt(rec.tags.n, (size_t)N * 11);
	ck_assert(ts_str_starts(rec.tags, "{\"k0000\":\"0\",\"k0001\":\""));
	for (size_t i = 1, k = 0; i < rec.tags.n; k++) {
		char key[16];
		struct ts_str rest = ts_str(rec.tags.p + i, rec.tags.n - i);
		const char *comma = memchr(rest.p, ',', rest.n);

		snprintf(key, sizeof(key), "\"k%04zu\":\"", k);
		ck_assert_msg(ts_str_starts(rest, key), "%s", key);
		i = comma ? (size_t)(comma - rec.tags.p) + 1 : rec.tags.n;
		ck_assert(comma || k == N - 1);
	}
}
END_TEST

START_TEST(elements_of_any_kind_are_counted)
{
	ck_assert_int_eq(read_once(with("\"calls\":[]")), 0);
	ck_assert(rec.calls.has && rec.calls.v == 0);
	ck_assert_int_eq(read_once(with("\"calls\":[{\"id\":1},[2,3],\"[,]\",null]")), 0);
	ck_assert_uint_eq(rec.calls.v, 4);
}
END_TEST

START_TEST(arrays_of_objects_become_structs)
{
	struct entry *e;

	ck_assert_int_eq(read_once(with("\"entries\":[]")), 0);
	ck_assert_uint_eq(rec.entries.n, 0);
	buf_clear(&text);
	buf_puts(&text, "{\"kind\":1,\"id\":\"x\",\"entries\":[");
	for (unsigned i = 0; i < 1000; i++)
		buf_printf(&text, "%s{\"key\":\"k%u\", \"other\":[], \"min\":%u}", i ? "," : "", i,
			   i * 3);
	buf_puts(&text, "]}");
	ck_assert_int_eq(read_once(text.data), 0);
	ck_assert_uint_eq(rec.entries.n, 1000);
	ck_assert_uint_eq(rec.entries.size, sizeof(struct entry));
	e = rec.entries.v;
	for (unsigned i = 0; i < 1000; i++) {
		char key[16];

		snprintf(key, sizeof(key), "k%u", i);
		ck_assert(ts_str_is(e[i].key, key));
		ck_assert_uint_eq(e[i].min, i * 3);
	}
}
END_TEST

START_TEST(behind_a_broken_element_no_structs_are_made)
{
	size_t used;

	buf_clear(&text);
	buf_puts(&text, "{\"kind\":1,\"id\":\"x\",\"entries\":[{}");
	for (unsigned i = 0; i < 20000; i++)
		buf_puts(&text, ",{}");
	buf_puts(&text, "]}");
	ck_refused(read_once(text.data), "missing_field", "entries[0].key is missing");
	used = space.scratch.used;
	ck_assert_uint_lt(used, 20000);
}
END_TEST

static void done_text(void)
{
	buf_done(&text);
}

TCase *field_list_cases(void)
{
	TCase *tc = tcase_create("lists");

	tcase_set_timeout(tc, 60);
	buf_init(&text, SIZE_MAX);
	tcase_add_checked_fixture(tc, NULL, done_text);
	tcase_add_test(tc, arrays_of_u64_hold_all_64_bits);
	tcase_add_test(tc, an_empty_array_is_not_the_same_as_no_value);
	tcase_add_test(tc, long_arrays_are_read_whole);
	tcase_add_test(tc, repeated_arrays_and_objects_use_no_more_memory);
	tcase_add_test(tc, shapes_are_multiplied_from_left_to_right);
	tcase_add_test(tc, the_text_of_a_shape_has_no_white_space);
	tcase_add_test(tc, equal_arrays_of_strings_have_equal_text);
	tcase_add_test(tc, the_text_of_strings_is_what_the_writer_writes);
	tcase_add_test(tc, maps_are_sorted_bytewise_and_the_last_of_a_key_counts);
	tcase_add_test(tc, large_maps_are_sorted_too);
	tcase_add_test(tc, elements_of_any_kind_are_counted);
	tcase_add_test(tc, arrays_of_objects_become_structs);
	tcase_add_test(tc, behind_a_broken_element_no_structs_are_made);
	return tc;
}
