/* test_fields_rules.c: what fields_check refuses: candle-trace.md 4.2 and 4.3 member by member, the
 * order of request-trace.md 4.3, and the words of the messages
 */
#include <stdio.h>

#include "test_fields.h"

/* Each type with the values that candle-trace.md 4.3 refuses, and more of them. */
static const struct {
	const char *member, *message;
} refused[] = {
	{"\"id\":7", "id is not a string (integer)"},
	{"\"id\":null", "id is not a string (null)"},
	{"\"id\":[\"a\"]", "id is not a string (array)"},
	{"\"id\":{}", "id is not a string (object)"},
	{"\"id\":true", "id is not a string (bool)"},
	{"\"id\":1.5", "id is not a string (double)"},
	{"\"note\":-7", "note is not a string (negative integer)"},
	{"\"measured\":1", "measured is not a bool (integer)"},
	{"\"measured\":\"true\"", "measured is not a bool (string)"},
	{"\"measured\":null", "measured is not a bool (null)"},
	{"\"duration_ns\":-1", "duration_ns is not a u64 (negative integer)"},
	{"\"duration_ns\":-0", "duration_ns is not a u64 (double)"},
	{"\"duration_ns\":5.0", "duration_ns is not a u64 (double)"},
	{"\"duration_ns\":60.0", "duration_ns is not a u64 (double)"},
	{"\"duration_ns\":1e3", "duration_ns is not a u64 (double)"},
	{"\"duration_ns\":18446744073709551616", "duration_ns is not a u64 (double)"},
	{"\"duration_ns\":\"5\"", "duration_ns is not a u64 (string)"},
	{"\"duration_ns\":null", "duration_ns is not a u64 (null)"},
	{"\"duration_ns\":[5]", "duration_ns is not a u64 (array)"},
	{"\"bytes\":5.0", "bytes is not a u64 (double)"},
	{"\"bytes\":\"5\"", "bytes is not a u64 (string)"},
	{"\"rank\":4294967296", "rank is above 4294967295"},
	{"\"rank\":-1", "rank is not a u32 (negative integer)"},
	{"\"rms\":\"1.5\"", "rms is not a double (string)"},
	{"\"rms\":null", "rms is not a double (null)"},
	{"\"norm\":[]", "norm is not a double (array)"},
	{"\"shape\":{\"0\":1}", "shape is not an array of u64 (object)"},
	{"\"shape\":[2,null]", "shape is not an array of u64 (holds: null)"},
	{"\"shape\":[2,-1]", "shape is not an array of u64 (holds: negative integer)"},
	{"\"shape\":[2.0]", "shape is not an array of u64 (holds: double)"},
	{"\"shape\":[18446744073709551616]", "shape is not an array of u64 (holds: double)"},
	{"\"shape\":[[2]]", "shape is not an array of u64 (holds: array)"},
	{"\"shape\":\"ab\"", "shape is not an array of u64 (string)"},
	{"\"shape\":null", "shape is not an array of u64 (null)"},
	{"\"hashes\":[1,\"2\",3]", "hashes is not an array of u64 (holds: string)"},
	{"\"hashes\":7", "hashes is not an array of u64 (integer)"},
	{"\"inputs\":[\"a\",1]", "inputs is not an array of strings (holds: integer)"},
	{"\"inputs\":[null]", "inputs is not an array of strings (holds: null)"},
	{"\"inputs\":\"a\"", "inputs is not an array of strings (string)"},
	{"\"inputs\":null", "inputs is not an array of strings (null)"},
	{"\"phase\":\"Train\"", "phase is not one of train, infer (\"Train\")"},
	{"\"phase\":{\"train\":null}", "phase is not one of train, infer (object)"},
	{"\"phase\":0", "phase is not one of train, infer (integer)"},
	{"\"phase\":null", "phase is not one of train, infer (null)"},
	{"\"phase\":\"\"", "phase is not one of train, infer (\"\")"},
	{"\"phase\":\"train\\u0000\"", "phase is not one of train, infer (\"train\")"},
	{"\"tags\":{\"batch\":8}", "tags is not an object of strings (holds: integer)"},
	{"\"tags\":{\"a\":1,\"a\":\"2\"}", "tags is not an object of strings (holds: integer)"},
	{"\"tags\":[]", "tags is not an object of strings (array)"},
	{"\"tags\":null", "tags is not an object of strings (null)"},
	{"\"calls\":{}", "calls is not an array (object)"},
	{"\"inner\":[]", "inner is not an object (array)"},
	{"\"inner\":\"x\"", "inner is not an object (string)"},
	{"\"inner\":{\"name\":1}", "inner.name is not a string (integer)"},
	{"\"inner\":{\"name\":\"\",\"count\":-1}", "inner.count is not a u64 (negative integer)"},
	{"\"entries\":{}", "entries is not an array of objects (object)"},
	{"\"entries\":[[]]", "entries is not an array of objects (holds: array)"},
	{"\"entries\":[{\"key\":\"a\",\"min\":1},{\"key\":\"b\",\"min\":1.0}]",
	 "entries[1].min is not a u64 (double)"},
};

static const char *with(const char *member)
{
	static char text[400];
	bool id = strncmp(member, "\"id\"", 4) != 0;

	snprintf(text, sizeof(text), "{\"kind\":1,%s%s}", id ? "\"id\":\"x\"," : "", member);
	return text;
}

static bool ends_with(const char *text, const char *end)
{
	return ts_str_ends(ts_str_c(text), end);
}

START_TEST(a_value_of_a_wrong_type_is_bad_field)
{
	ck_refused(read_once(with(refused[_i].member)), "bad_field", refused[_i].message);
	/* By the other table too, but for members that may be null there. */
	if (strncmp(refused[_i].member, "\"id\"", 4) && ends_with(refused[_i].member, ":null"))
		ck_assert_int_eq(read_last(with(refused[_i].member)), 0);
	else
		ck_refused(read_last(with(refused[_i].member)), "bad_field", refused[_i].message);
}
END_TEST

START_TEST(an_absent_required_member_is_missing_field)
{
	ck_refused(read_once("{}"), "missing_field", "kind is missing");
	ck_refused(read_once("{\"kind\":1}"), "missing_field", "id is missing");
	ck_refused(read_once("{\"kind\":1,\"ids\":2,\"id \":3}"), "missing_field", "id is missing");
	ck_refused(read_once(with("\"inner\":{}")), "missing_field", "inner.name is missing");
	ck_refused(read_once(with("\"entries\":[{\"key\":\"a\",\"min\":1},{\"key\":\"b\"}]")),
		   "missing_field", "entries[1].min is missing");
	ck_refused(read_last("{\"kind\":1}"), "missing_field", "id is missing");
}
END_TEST

START_TEST(a_named_member_twice_is_duplicate_field)
{
	ck_refused(read_once(with("\"note\":\"a\",\"note\":\"a\"")), "duplicate_field",
		   "note occurs twice");
	ck_refused(read_once("{\"kind\":1,\"id\":\"a\",\"\\u0069d\":\"a\"}"), "duplicate_field",
		   "id occurs twice");
	ck_refused(read_once("{\"kind\":1,\"id\":\"a\",\"kind\":1}"), "duplicate_field",
		   "kind occurs twice");
	ck_refused(read_once(with("\"note\":null,\"note\":null")), "duplicate_field",
		   "note occurs twice");
	ck_refused(read_once(with("\"inner\":{\"name\":\"a\",\"name\":\"b\"}")), "duplicate_field",
		   "inner.name occurs twice");
	ck_refused(read_once(with("\"inner\":{\"name\":\"a\"},\"inner\":{\"name\":\"a\"}")),
		   "duplicate_field", "inner occurs twice");
	ck_refused(read_once(with("\"entries\":[{\"key\":\"a\",\"min\":1,\"key\":\"a\"}]")),
		   "duplicate_field", "entries[0].key occurs twice");
	ck_refused(read_once(with("\"hashes\":[1],\"hashes\":[1]")), "duplicate_field",
		   "hashes occurs twice");
}
END_TEST

START_TEST(the_first_failure_in_table_order_is_reported)
{
	/* Whatever the order in the line. */
	ck_refused(read_last("{\"bytes\":\"x\",\"note\":1,\"kind\":1}"), "missing_field",
		   "id is missing");
	ck_refused(read_last("{\"bytes\":\"x\",\"note\":1,\"kind\":1,\"id\":\"\"}"), "bad_field",
		   "note is not a string (integer)");
	/* Depth first: the failure of a nested object stands where the object stands. */
	ck_refused(read_last(with("\"entries\":[{}],\"inner\":{}")), "missing_field",
		   "inner.name is missing");
	ck_refused(read_last(with("\"inner\":{},\"bytes\":\"x\"")), "bad_field",
		   "bytes is not a u64 (string)");
	ck_refused(read_last(with("\"entries\":7,\"inner\":{\"name\":\"\",\"count\":\"\"}")),
		   "bad_field", "inner.count is not a u64 (string)");
}
END_TEST

START_TEST(the_message_can_name_the_record)
{
	struct json_value v;
	struct json j;
	static const char text[] = "{\"kind\":1,\"id\":\"x\",\"inner\":{\"name\":7}}";

	ts_error_init(&err);
	fields_begin(&space);
	json_begin(&j, text, sizeof(text) - 1, &space.scratch);
	json_value(&j, &v);
	ck_assert(fields_read(&j, &once_table, &rec, &space));
	ck_refused(fields_check(&once_table, &rec, "op", &err), "bad_field",
		   "op.inner.name is not a string (integer)");
}
END_TEST

START_TEST(lack_of_memory_is_not_blamed_on_the_record)
{
	space.scratch.limit = 64;
	ck_refused(read_once(with("\"note\":\"a text of more than sixty-four bytes, with an escape "
				  "at its end, so that it needs memory\\n\"")),
		   "internal", "out of memory");
	ck_refused(read_once(with(
			   "\"tags\":{\"a\":\"\",\"b\":\"\",\"c\":\"\",\"d\":\"\",\"e\":\"\"}")),
		   "internal", "out of memory");
	ck_refused(read_once(with("\"entries\":[{\"key\":\"a\",\"min\":1}]")), "internal",
		   "out of memory");
	ck_refused(read_once(with("\"shape\":[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
				  "1, 1, 1, 1, 1, 1, "
				  "1, 1]")),
		   "internal", "out of memory");
	ck_refused(read_once(with(
			   "\"inputs\":[\"\\n\", \"an array that has to be written again and is "
			   "longer than that\"]")),
		   "internal", "out of memory");
	space.scratch.limit = 0;
	ck_assert_int_eq(read_once(with("\"tags\":{\"a\":\"\"}")), 0);
}
END_TEST

TCase *field_rule_cases(void)
{
	TCase *tc = tcase_create("rules");

	tcase_add_loop_test(tc, a_value_of_a_wrong_type_is_bad_field, 0, ARRAY_LEN(refused));
	tcase_add_test(tc, an_absent_required_member_is_missing_field);
	tcase_add_test(tc, a_named_member_twice_is_duplicate_field);
	tcase_add_test(tc, the_first_failure_in_table_order_is_reported);
	tcase_add_test(tc, the_message_can_name_the_record);
	tcase_add_test(tc, lack_of_memory_is_not_blamed_on_the_record);
	return tc;
}
