/* test_fields.c: scalars read by field tables: types, defaults, null, members in any order, once or
 * the last one. Arrays and maps are in test_fields_lists.c, refusals in test_fields_rules.c.
 */
#include "test_fields.h"

struct field_space space;
struct record rec;
struct ts_error err;

static char *line;

static const char *const phases[] = {"train", "infer", NULL};
static const char *const steps[] = {"forward", "backward", "optimizer", NULL};

#define AT(s, member) .offset = offsetof(struct s, member)

static const struct field inner_fields[] = {
	{.name = "name", .type = FIELD_STRING, .flags = FIELD_REQUIRED, AT(inner, name)},
	{.name = "count", .type = FIELD_OPT_U64, .flags = FIELD_NULLABLE, AT(inner, count)},
	{.name = "hashes", .type = FIELD_U64S, .flags = FIELD_NULLABLE, AT(inner, hashes)},
};

static const struct field entry_fields[] = {
	{.name = "key", .type = FIELD_STRING, .flags = FIELD_REQUIRED, AT(entry, key)},
	{.name = "min", .type = FIELD_U64, .flags = FIELD_REQUIRED, AT(entry, min)},
};

static const struct field worker_fields[] = {
	{.name = "id", .type = FIELD_OPT_U64, .flags = FIELD_INFO, AT(worker, id)},
	{.name = "rank", .type = FIELD_OPT_U32, .flags = FIELD_INFO, AT(worker, rank)},
	/* Not marked itself: in an informational object everything is. */
	{.name = "role", .type = FIELD_STRING, .flags = FIELD_REQUIRED, AT(worker, role)},
};

static const struct field_table once_inner = {inner_fields, 3, sizeof(struct inner), true};
static const struct field_table once_entry = {entry_fields, 2, sizeof(struct entry), true};
static const struct field_table last_inner = {inner_fields, 3, sizeof(struct inner), false};
static const struct field_table last_entry = {entry_fields, 2, sizeof(struct entry), false};
static const struct field_table info_worker = {worker_fields, 3, sizeof(struct worker), false};

#define NEED FIELD_REQUIRED
#define MAY FIELD_NULLABLE

/* `optional` are the flags of members that may be left out and have a default. */
#define RECORD_FIELDS(optional, inner_table, entry_table)                                          \
	{                                                                                          \
		[R_KIND] = {.name = "kind", .type = FIELD_IGNORED, .flags = NEED},                 \
		[R_ID] = {.name = "id", .type = FIELD_STRING, .flags = NEED, AT(record, id)},      \
		[R_NOTE] = {.name = "note", .type = FIELD_STRING, .flags = MAY, AT(record, note)}, \
		[R_PHASE] = {.name = "phase",                                                      \
			     .type = FIELD_ENUM,                                                   \
			     .flags = (optional),                                                  \
			     AT(record, phase),                                                    \
			     .arg = phases,                                                        \
			     .fallback = "infer"},                                                 \
		[R_STEP] = {.name = "step",                                                        \
			    .type = FIELD_ENUM,                                                    \
			    .flags = MAY,                                                          \
			    AT(record, step),                                                      \
			    .arg = steps},                                                         \
		[R_INPUTS] = {.name = "inputs",                                                    \
			      .type = FIELD_STRINGS,                                               \
			      .flags = (optional),                                                 \
			      AT(record, inputs),                                                  \
			      .fallback = "[]"},                                                   \
		[R_TAGS] = {.name = "tags",                                                        \
			    .type = FIELD_MAP,                                                     \
			    .flags = (optional),                                                   \
			    AT(record, tags)},                                                     \
		[R_MEASURED] = {.name = "measured",                                                \
				.type = FIELD_BOOL,                                                \
				.flags = (optional),                                               \
				AT(record, measured)},                                             \
		[R_DURATION] = {.name = "duration_ns",                                             \
				.type = FIELD_U64,                                                 \
				.flags = (optional),                                               \
				AT(record, duration_ns)},                                          \
		[R_BYTES] = {.name = "bytes",                                                      \
			     .type = FIELD_OPT_U64,                                                \
			     .flags = MAY,                                                         \
			     AT(record, bytes)},                                                   \
		[R_RANK] = {.name = "rank",                                                        \
			    .type = FIELD_OPT_U32,                                                 \
			    .flags = MAY,                                                          \
			    AT(record, rank)},                                                     \
		[R_CALLS] = {.name = "calls",                                                      \
			     .type = FIELD_ARRAY_COUNT,                                            \
			     .flags = MAY,                                                         \
			     AT(record, calls)},                                                   \
		[R_RMS] = {.name = "rms",                                                          \
			   .type = FIELD_DOUBLE,                                                   \
			   .flags = (optional),                                                    \
			   AT(record, rms)},                                                       \
		[R_NORM] = {.name = "norm",                                                        \
			    .type = FIELD_OPT_DOUBLE,                                              \
			    .flags = MAY,                                                          \
			    AT(record, norm)},                                                     \
		[R_SHAPE] = {.name = "shape",                                                      \
			     .type = FIELD_SHAPE,                                                  \
			     .flags = (optional),                                                  \
			     AT(record, shape)},                                                   \
		[R_HASHES] = {.name = "hashes",                                                    \
			      .type = FIELD_U64S,                                                  \
			      .flags = (optional),                                                 \
			      AT(record, hashes)},                                                 \
		[R_INNER] = {.name = "inner",                                                      \
			     .type = FIELD_OBJECT,                                                 \
			     .flags = MAY,                                                         \
			     AT(record, inner),                                                    \
			     .arg = &(inner_table)},                                               \
		[R_ENTRIES] = {.name = "entries",                                                  \
			       .type = FIELD_OBJECTS,                                              \
			       .flags = (optional),                                                \
			       AT(record, entries),                                                \
			       .arg = &(entry_table)},                                             \
		[R_WORKER] = {.name = "worker",                                                    \
			      .type = FIELD_OBJECT,                                                \
			      .flags = FIELD_INFO,                                                 \
			      AT(record, worker),                                                  \
			      .arg = &info_worker},                                                \
	}

static const struct field once_fields[R_COUNT] = RECORD_FIELDS(0, once_inner, once_entry);
static const struct field last_fields[R_COUNT] = RECORD_FIELDS(MAY, last_inner, last_entry);

const struct field_table once_table = {once_fields, R_COUNT, sizeof(struct record), true};
const struct field_table last_table = {last_fields, R_COUNT, sizeof(struct record), false};

static int read_by(const struct field_table *t, const char *text)
{
	size_t n = strlen(text);
	struct json_value v;
	struct json j;

	free(line);
	line = malloc(n + 1);
	ck_assert_ptr_nonnull(line);
	memcpy(line, text, n);
	line[n] = 0;
	/* What an earlier line left behind must not show through. */
	memset(&rec, 0xa5, sizeof(rec));
	ts_error_init(&err);
	fields_begin(&space);
	json_begin(&j, line, n, &space.scratch);
	ck_assert_int_eq(json_value(&j, &v), JSON_OBJECT);
	if (!fields_read(&j, t, &rec, &space) || json_end(&j) < 0)
		return json_fail(&j, 1, 0, &err);
	return fields_check(t, &rec, NULL, &err);
}

int read_once(const char *text)
{
	return read_by(&once_table, text);
}

int read_last(const char *text)
{
	return read_by(&last_table, text);
}

void ck_refused(int result, const char *code, const char *message)
{
	ck_assert_int_eq(result, -1);
	ck_assert_ptr_nonnull(err.code);
	ck_assert_str_eq(err.message, message);
	ck_assert_str_eq(err.code->code, code);
}

static void done(void)
{
	field_space_done(&space);
	free(line);
	line = NULL;
}

START_TEST(each_type_reaches_its_target)
{
	ck_assert_int_eq(
		read_once("{\"kind\":\"op\",\"id\":\"s1\",\"note\":\"n\",\"phase\":\"train\","
			  "\"step\":\"backward\",\"measured\":true,\"duration_ns\":"
			  "18446744073709551615,\"bytes\":7,\"rank\":4294967295,\"rms\":1.5,"
			  "\"norm\":-2}"),
		0);
	ck_assert(ts_str_is(rec.id, "s1"));
	ck_assert(ts_str_is(rec.note, "n"));
	ck_assert(ts_str_is(rec.phase, "train"));
	ck_assert_ptr_eq(rec.phase.p, phases[0]);
	ck_assert(ts_str_is(rec.step, "backward"));
	ck_assert(rec.measured);
	ck_assert_uint_eq(rec.duration_ns, UINT64_MAX);
	ck_assert(rec.bytes.has && rec.bytes.v == 7);
	ck_assert(rec.rank.has && rec.rank.v == UINT32_MAX);
	ck_assert(rec.rms == 1.5);
	ck_assert(rec.norm.has && rec.norm.v == -2);
	ck_assert(fields_has(&rec.marks, R_ID));
	ck_assert(!fields_has(&rec.marks, R_INNER));
}
END_TEST

static void ck_all_defaults(void)
{
	ck_assert_ptr_null(rec.note.p);
	ck_assert(ts_str_is(rec.phase, "infer"));
	ck_assert_ptr_null(rec.step.p);
	ck_assert(ts_str_is(rec.inputs, "[]"));
	ck_assert_ptr_null(rec.tags.p);
	ck_assert(!rec.measured);
	ck_assert_uint_eq(rec.duration_ns, 0);
	ck_assert(!rec.bytes.has && !rec.rank.has && !rec.calls.has && !rec.norm.has);
	ck_assert(rec.rms == 0 && !signbit(rec.rms));
	ck_assert(ts_str_is(rec.shape.json, "[]"));
	ck_assert_uint_eq(rec.shape.product, 1);
	ck_assert_uint_eq(rec.shape.product_sat, 1);
	ck_assert(!rec.shape.overflow);
	ck_assert_ptr_null(rec.hashes.v);
	ck_assert_uint_eq(rec.hashes.n, 0);
	ck_assert_uint_eq(rec.entries.n, 0);
	ck_assert_uint_eq(rec.inner.marks.seen, 0);
	ck_assert_ptr_null(rec.inner.name.p);
	ck_assert(!rec.worker.id.has && !rec.worker.rank.has);
}

START_TEST(absent_members_have_their_defaults)
{
	ck_assert_int_eq(read_once("{\"kind\":0,\"id\":\"\"}"), 0);
	ck_assert_ptr_nonnull(rec.id.p);
	ck_assert_uint_eq(rec.id.n, 0);
	ck_all_defaults();
}
END_TEST

START_TEST(null_is_absence_where_it_is_allowed)
{
	ck_assert_int_eq(
		read_last("{\"kind\":null,\"id\":\"\",\"note\":null,\"phase\":null,\"step\":"
			  "null,\"inputs\":null,\"tags\":null,\"measured\":null,"
			  "\"duration_ns\":null,\"bytes\":null,\"rank\":null,\"calls\":null,"
			  "\"rms\":null,\"norm\":null,\"shape\":null,\"hashes\":null,"
			  "\"inner\":null,\"entries\":null,\"worker\":null}"),
		0);
	ck_all_defaults();
	ck_assert_uint_eq(rec.marks.has, 1u << R_ID);
	ck_assert_uint_eq(rec.marks.seen, (1u << R_COUNT) - 1);
}
END_TEST

START_TEST(members_may_stand_in_any_order)
{
	ck_assert_int_eq(read_once("{\"norm\":1,\"bytes\":2,\"id\":\"x\",\"measured\":false,"
				   "\"duration_ns\":3,\"note\":\"y\",\"kind\":[{\"a\":1}]}"),
			 0);
	ck_assert(ts_str_is(rec.id, "x"));
	ck_assert(ts_str_is(rec.note, "y"));
	ck_assert_uint_eq(rec.duration_ns, 3);
	ck_assert_uint_eq(rec.bytes.v, 2);
}
END_TEST

START_TEST(white_space_between_tokens_changes_nothing)
{
	ck_assert_int_eq(read_once(" { \"kind\" : 1 , \"id\" : \"x\" , \"duration_ns\" : 12 , "
				   "\"bytes\" : 13\t,\r\n\"rms\" : 1e1 } "),
			 0);
	ck_assert(ts_str_is(rec.id, "x"));
	ck_assert_uint_eq(rec.duration_ns, 12);
	ck_assert_uint_eq(rec.bytes.v, 13);
	ck_assert(rec.rms == 10);
}
END_TEST

START_TEST(names_and_values_with_escapes_are_decoded)
{
	ck_assert_int_eq(
		read_once("{\"kin\\u0064\":1,\"\\u0069d\":\"a\\u0000\\\"b\",\"ph\\u0061se\":"
			  "\"tr\\u0061in\",\"n\\/te\":7}"),
		0);
	ck_assert_uint_eq(rec.id.n, 4);
	ck_assert(memcmp(rec.id.p, "a\0\"b", 4) == 0);
	ck_assert(ts_str_is(rec.phase, "train"));
	ck_assert_ptr_null(rec.note.p);
}
END_TEST

START_TEST(unknown_members_pass_whatever_they_are)
{
	ck_assert_int_eq(read_once("{\"kind\":1,\"i\":1,\"idx\":2,\"id\":\"x\",\"ID\":3,\"\":[{}],"
				   "\"other\":{\"id\":7,\"a\":[[1e5,\"\\n\"]]},\"other\":1,"
				   "\"\\u006fther\":null}"),
			 0);
	ck_assert(ts_str_is(rec.id, "x"));
	ck_assert_uint_eq(rec.marks.twice, 0);
}
END_TEST

START_TEST(bad_json_inside_members_fails_the_reader)
{
	static const char *const bad[] = {
		"{\"kind\":1,\"id\":\"x\",\"other\":01}",
		"{\"kind\":1,\"id\":\"x\",\"other\":[1e999]}",
		"{\"kind\":1,\"id\":\"x\\ud800\"}",
		"{\"kind\":1,\"id\":\"x\",\"\\ud800\":1}",
		"{\"kind\":1,\"id\":\"x\"",
		"{\"kind\":1,\"id\":\"x\",}",
		"{\"kind\":1,\"id\" \"x\"}",
		"{\"kind\":1 \"id\":\"x\"}",
		"{\"kind\":1,\"id\":\"x\"]",
		"{\"kind\":1,\"id\":\"x\",\"duration_ns\":00}",
		"{\"kind\":1,\"id\":\"x\",\"duration_ns\":12x}",
		"{\"kind\":1,\"id\":\"x\",\"hashes\":[1,]}",
		"{\"kind\":1,\"id\":\"x\",\"hashes\":[1}",
		"{\"kind\":1,\"id\":\"x\",\"shape\":[1,]}",
		"{\"kind\":1,\"id\":\"x\",\"shape\":[1}",
		"{\"kind\":1,\"id\":\"x\",\"shape\":[01]}",
		"{\"kind\":1,\"id\":\"x\",\"inputs\":[\"a\",]}",
		"{\"kind\":1,\"id\":\"x\",\"inputs\":[\"a\"}",
		"{\"kind\":1,\"id\":\"x\",\"calls\":[1 2]}",
		"{\"kind\":1,\"id\":\"x\",\"tags\":{\"a\":\"b\",}}",
		"{\"kind\":1,\"id\":\"x\",\"tags\":{\"a\":\"b\"]}",
		"{\"kind\":1,\"id\":\"x\",\"entries\":[{\"key\":\"a\",}]}",
		"{\"kind\":1,\"id\":\"x\",\"inner\":{\"name\":\"a\"]}",
		/* bad_json wins over what stands in front of it, */
		"{\"kind\":1,\"id\":7,\"other\":nul}",
		/* also behind an element that is bad already. */
		"{\"kind\":1,\"id\":\"x\",\"hashes\":[\"a\",01]}",
		"{\"kind\":1,\"id\":\"x\",\"entries\":[{},{\"a\":01}]}",
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		ck_assert_msg(read_once(bad[i]) < 0 && ts_error_is(&err, TS_E_BAD_JSON), "%s",
			      bad[i]);
		ck_assert_msg(read_last(bad[i]) < 0 && ts_error_is(&err, TS_E_BAD_JSON), "%s",
			      bad[i]);
	}
}
END_TEST

START_TEST(integers_are_taken_as_doubles)
{
	static const struct {
		const char *text;
		double value;
	} cases[] = {
		{"{\"kind\":1,\"id\":\"x\",\"rms\":0,\"norm\":-5}", 0},
		{"{\"kind\":1,\"id\":\"x\",\"rms\":9007199254740993}", 0x1p53},
		{"{\"kind\":1,\"id\":\"x\",\"rms\":9007199254740995}", 0x1.0000000000002p53},
		{"{\"kind\":1,\"id\":\"x\",\"rms\":18446744073709551615}", 0x1p64},
		{"{\"kind\":1,\"id\":\"x\",\"rms\":18446744073709553665}", 0x1.0000000000001p64},
		{"{\"kind\":1,\"id\":\"x\",\"rms\":-9007199254740993}", -0x1p53},
		{"{\"kind\":1,\"id\":\"x\",\"rms\":-1e-400}", -0.0},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		ck_assert_int_eq(read_once(cases[i].text), 0);
		ck_assert_msg(rec.rms == cases[i].value, "%s", cases[i].text);
	}
	ck_assert_int_eq(read_once("{\"kind\":1,\"id\":\"x\",\"rms\":-0,\"norm\":-0.0}"), 0);
	ck_assert(rec.rms == 0 && signbit(rec.rms));
	ck_assert(rec.norm.v == 0 && signbit(rec.norm.v));
}
END_TEST

START_TEST(the_last_of_repeated_members_counts)
{
	ck_assert_int_eq(read_last("{\"kind\":1,\"id\":5,\"duration_ns\":\"x\",\"id\":\"a\","
				   "\"duration_ns\":1,\"kind\":2,\"\\u0069d\":\"b\","
				   "\"duration_ns\":2}"),
			 0);
	ck_assert(ts_str_is(rec.id, "b"));
	ck_assert_uint_eq(rec.duration_ns, 2);
	/* null takes the earlier value back, a bad one makes the member bad. */
	ck_assert_int_eq(
		read_last("{\"kind\":1,\"id\":\"a\",\"note\":\"n\",\"note\":null,\"bytes\":1,"
			  "\"bytes\":null,\"shape\":[2],\"shape\":null}"),
		0);
	ck_assert_ptr_null(rec.note.p);
	ck_assert(!rec.bytes.has);
	ck_assert(ts_str_is(rec.shape.json, "[]"));
	ck_refused(read_last("{\"kind\":1,\"id\":\"a\",\"id\":7}"), "bad_field",
		   "id is not a string (integer)");
	ck_refused(read_last("{\"kind\":1,\"id\":\"a\",\"id\":null}"), "bad_field",
		   "id is not a string (null)");
}
END_TEST

START_TEST(a_repeated_object_replaces_the_earlier_one_whole)
{
	ck_assert_int_eq(read_last("{\"kind\":1,\"id\":\"a\",\"inner\":{\"name\":\"n\",\"count\":1,"
				   "\"hashes\":[1,2]},\"inner\":{\"name\":\"m\"}}"),
			 0);
	ck_assert(ts_str_is(rec.inner.name, "m"));
	ck_assert(!rec.inner.count.has);
	ck_assert_ptr_null(rec.inner.hashes.v);
	ck_refused(read_last("{\"kind\":1,\"id\":\"a\",\"inner\":{\"name\":\"n\"},\"inner\":{}}"),
		   "missing_field", "inner.name is missing");
	ck_assert_int_eq(read_last("{\"kind\":1,\"id\":\"a\",\"inner\":{},\"inner\":null}"), 0);
	ck_assert_ptr_null(rec.inner.name.p);
	ck_assert_int_eq(
		read_last("{\"kind\":1,\"id\":\"a\",\"inner\":[],\"inner\":{\"name\":\"\"}}"), 0);
	ck_assert(!fields_has(&rec.marks, R_TAGS) && fields_has(&rec.marks, R_INNER));
}
END_TEST

START_TEST(an_informational_member_is_never_an_error)
{
	ck_assert_int_eq(read_last("{\"kind\":1,\"id\":\"a\",\"worker\":{\"id\":"
				   "18446744073709551615,\"rank\":4294967295,\"role\":\"r\"}}"),
			 0);
	ck_assert(rec.worker.id.has && rec.worker.id.v == UINT64_MAX);
	ck_assert(rec.worker.rank.has && rec.worker.rank.v == UINT32_MAX);
	ck_assert(ts_str_is(rec.worker.role, "r"));
	ck_assert_int_eq(read_last("{\"kind\":1,\"id\":\"a\",\"worker\":{\"id\":5.0,\"rank\":"
				   "4294967296,\"role\":{}}}"),
			 0);
	ck_assert(fields_has(&rec.marks, R_WORKER));
	ck_assert(!rec.worker.id.has && !rec.worker.rank.has);
	ck_assert_ptr_null(rec.worker.role.p);
	ck_assert_int_eq(read_last("{\"kind\":1,\"id\":\"a\",\"worker\":{}}"), 0);
	ck_assert_ptr_null(rec.worker.role.p);
	ck_assert_int_eq(read_last("{\"kind\":1,\"id\":\"a\",\"worker\":[1]}"), 0);
	ck_assert(!fields_has(&rec.marks, R_WORKER));
	ck_assert_ptr_null(rec.worker.role.p);
	ck_assert_int_eq(read_last("{\"kind\":1,\"id\":\"a\",\"worker\":{\"id\":1},\"worker\":7}"),
			 0);
	ck_assert(!rec.worker.id.has);
}
END_TEST

static TCase *field_scalar_cases(void)
{
	TCase *tc = tcase_create("scalars");

	tcase_add_checked_fixture(tc, NULL, done);
	tcase_add_test(tc, each_type_reaches_its_target);
	tcase_add_test(tc, absent_members_have_their_defaults);
	tcase_add_test(tc, null_is_absence_where_it_is_allowed);
	tcase_add_test(tc, members_may_stand_in_any_order);
	tcase_add_test(tc, white_space_between_tokens_changes_nothing);
	tcase_add_test(tc, names_and_values_with_escapes_are_decoded);
	tcase_add_test(tc, unknown_members_pass_whatever_they_are);
	tcase_add_test(tc, bad_json_inside_members_fails_the_reader);
	tcase_add_test(tc, integers_are_taken_as_doubles);
	tcase_add_test(tc, the_last_of_repeated_members_counts);
	tcase_add_test(tc, a_repeated_object_replaces_the_earlier_one_whole);
	tcase_add_test(tc, an_informational_member_is_never_an_error);
	return tc;
}

int main(void)
{
	Suite *suite = suite_create("fields");
	TCase *lists = field_list_cases(), *rules = field_rule_cases();
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(lists, NULL, done);
	tcase_add_checked_fixture(rules, NULL, done);
	suite_add_tcase(suite, field_scalar_cases());
	suite_add_tcase(suite, lists);
	suite_add_tcase(suite, rules);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
