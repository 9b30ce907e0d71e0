/* test_candle.c: execution traces: every rule about records, the stream and the document, with
 * class, line and event index (candle-trace.md 2 to 7, 18, 20.2)
 */
#include "candle_result.h"
#include "candle_run.h"

#include <stdlib.h>
#include <string.h>

#include "tracespool/util.h"

/* candle-trace.md 20.2, row by row, and the rules of sections 6 and 7. */
static const struct {
	const char *text, *code; /* NULL: accepted */
	uint64_t line;
	int64_t event;
} documents[] = {
	{TRACE, NULL, 0, 0},
	/* 20.2 */
	{META BODY END1 END0
	 "{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":79}\n",
	 "terminal_precedes_evidence", 9, 8},
	{META BODY "{\"kind\":\"span_end\",\"id\":\"s1\",\"duration_ns\":60.0}\n" END0 TERMINAL,
	 "bad_field", 7, -1},
	{META BODY END1 END1 END0 TERMINAL, "duplicate_span_end", 8, 7},
	{META BODY END1 END0 "{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":80,"
			     "\"reason\":\"\"}\n",
	 "complete_with_reason", 9, 8},
	{"\n" TRACE, NULL, 0, 0},
	{"\n" META BODY END1 "\n" END1, "duplicate_span_end", 10, 7},
	{META BODY END1 END0, "missing_terminal", 0, -1},
	{META_HEAD "}\n" BODY END1 END0 TERMINAL, "missing_field", 1, -1},
	{META BODY "{\"kind\":\"span_end\",\"id\":\"s1\",\"id\":\"s1\"}\n" END0 TERMINAL,
	 "duplicate_field", 7, -1},
	{META BODY
	 "{\"note\":1,\"kind\":\"span_end\",\"note\":2,\"id\":\"s1\",\"duration_ns\":60}\n" END0
		 TERMINAL,
	 NULL, 0, 0},
	/* 6: the first rule that applies */
	{META TERMINAL TERMINAL, "record_after_terminal", 3, 2},
	{META TERMINAL META, "record_after_terminal", 3, 2},
	{META TERMINAL START0, "record_after_terminal", 3, 2},
	{META "{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":0}\n\n \t\r\n",
	 NULL, 0, 0},
	{META TERMINAL "{\n", "bad_json", 3, -1},
	{META META TERMINAL, "meta_not_first", 2, 1},
	{START0 META TERMINAL, "meta_not_first", 2, 1},
	{META START0 START0, "duplicate_span_start", 3, 2},
	{META START0 END0 START0, "duplicate_span_start", 4, 3},
	{META END0, "span_end_unknown", 2, 1},
	/* named as a parent is not started */
	{META START1 END0, "span_end_unknown", 3, 2},
	{META START1 START0 END0 END1 TERMINAL, NULL, 0, 0},
	{META START0 END0 END0, "duplicate_span_end", 4, 3},
	{META START0 "{\"kind\":\"span_end\",\"id\":\"s0\"}\n" TERMINAL, NULL, 0, 0},
	/* the first in file order wins */
	{META END0 "{\n", "span_end_unknown", 2, 1},
	{META "{\n" END0, "bad_json", 2, -1},
	{META "\xff\n" END0, "bad_utf8", 2, -1},
	/* 7.1, in order */
	{"", "missing_meta", 0, -1},
	{"\n\n", "missing_meta", 0, -1},
	{TERMINAL, "missing_meta", 0, -1},
	{START0 END0 TERMINAL, "missing_meta", 0, -1},
	{META, "missing_terminal", 0, -1},
	{META START0 "{\"kind\":\"terminal\",\"outcome\":\"failed\",\"timestamp_ns\":0}\n",
	 "failed_without_reason", 3, 2},
	{META "{\"kind\":\"terminal\",\"outcome\":\"failed\",\"timestamp_ns\":0,\"reason\":null}\n",
	 "failed_without_reason", 2, 1},
	{META "{\"kind\":\"terminal\",\"outcome\":\"failed\",\"timestamp_ns\":0,"
	      "\"reason\":\" \\u3000\\t\"}\n",
	 "failed_without_reason", 2, 1},
	{META "{\"kind\":\"terminal\",\"outcome\":\"failed\",\"timestamp_ns\":0,"
	      "\"reason\":\"\\u200b\"}\n",
	 NULL, 0, 0},
	{META "{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":0,"
	      "\"reason\":null}\n",
	 NULL, 0, 0},
	/* reason comes before time */
	{META START1 "{\"kind\":\"terminal\",\"outcome\":\"failed\",\"timestamp_ns\":0}\n",
	 "failed_without_reason", 3, 2},
	/* 7.3 */
	{META START1 "{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":9}\n",
	 "terminal_precedes_evidence", 3, 2},
	{META START1 "{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":10}\n", NULL,
	 0, 0},
	{META OP "{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":49}\n",
	 "terminal_precedes_evidence", 3, 2},
	{META OP "{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":50}\n", NULL, 0,
	 0},
	{META MEMORY(
		 "51",
		 "free") "{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":50}\n",
	 "terminal_precedes_evidence", 3, 2},
	{META "{\"kind\":\"device_memory\",\"timestamp_ns\":81,\"device\":\"cpu\"}\n" TERMINAL,
	 "terminal_precedes_evidence", 3, 2},
	{META "{\"kind\":\"device_memory\",\"timestamp_ns\":80,\"device\":\"cpu\"}\n" TERMINAL,
	 NULL, 0, 0},
	/* device intervals, tensors and statistics have no host time */
	{META
	 "{\"kind\":\"device_interval\",\"span_id\":\"s\",\"device\":\"d\",\"stream_id\":\"0\","
	 "\"clock_id\":\"c\",\"backend\":\"b\",\"start_ns\":18446744073709551615,"
	 "\"duration_ns\":1}\n" TERMINAL,
	 NULL, 0, 0},
	/* ends saturate: 2^64-1 + 1 is 2^64-1 */
	{META "{\"kind\":\"span_start\",\"id\":\"a\",\"name\":\"\","
	      "\"start_ns\":18446744073709551615,\"span_kind\":\"op\"}\n"
	      "{\"kind\":\"span_end\",\"id\":\"a\",\"duration_ns\":18446744073709551615}\n"
	      "{\"kind\":\"terminal\",\"outcome\":\"complete\","
	      "\"timestamp_ns\":18446744073709551615}\n",
	 NULL, 0, 0},
	{META
	 "{\"kind\":\"span_start\",\"id\":\"a\",\"name\":\"\",\"start_ns\":2,"
	 "\"span_kind\":\"op\"}\n"
	 "{\"kind\":\"span_end\",\"id\":\"a\",\"duration_ns\":18446744073709551615}\n" TERMINAL,
	 "terminal_precedes_evidence", 4, 3},
	/* ids are byte sequences: U+0000 does not end one */
	{META "{\"kind\":\"span_start\",\"id\":\"a\\u0000b\",\"name\":\"\",\"start_ns\":0,"
	      "\"span_kind\":\"op\"}\n"
	      "{\"kind\":\"span_start\",\"id\":\"a\\u0000c\",\"name\":\"\",\"start_ns\":0,"
	      "\"span_kind\":\"op\"}\n"
	      "{\"kind\":\"span_end\",\"id\":\"a\\u0000c\"}\n"
	      "{\"kind\":\"span_end\",\"id\":\"a\"}\n",
	 "span_end_unknown", 5, 4},
	/* an empty id is an id, and escapes do not make another one */
	{META "{\"kind\":\"span_start\",\"id\":\"\",\"name\":\"\",\"start_ns\":0,"
	      "\"span_kind\":\"op\"}\n"
	      "{\"kind\":\"span_end\",\"id\":\"\"}\n{\"kind\":\"span_end\",\"id\":\"\"}\n",
	 "duplicate_span_end", 4, 3},
	{META START0 "{\"kind\":\"span_start\",\"id\":\"\\u00730\",\"name\":\"\",\"start_ns\":0,"
		     "\"span_kind\":\"op\"}\n",
	 "duplicate_span_start", 3, 2},
	/* statistics, 5.7 and 7.1 */
	{META STATS TERMINAL, NULL, 0, 0},
};

START_TEST(rules_of_stream_and_document)
{
	if (documents[_i].code)
		assert_refused(documents[_i].text, documents[_i].code, documents[_i].line,
			       documents[_i].event);
	else
		assert_accepted(documents[_i].text);
}
END_TEST

/* The text with the first `from` in it replaced. */
static char *changed(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	size_t head = (size_t)(at - text), size = strlen(text) + strlen(to) + 1;
	char *out = calloc(1, size);

	ck_assert_msg(at != NULL, "%s is not in %s", from, text);
	ck_assert_ptr_nonnull(out);
	memcpy(out, text, head);
	strcpy(out + head, to);
	strcat(out, at + strlen(from));
	return out;
}

/* Changes of one good record in a trace META, record, TERMINAL: class at line 2, or NULL. */
#define SPAN                                                                                       \
	"{\"kind\":\"span_start\",\"id\":\"a\",\"name\":\"n\",\"start_ns\":0,"                     \
	"\"span_kind\":\"module\",\"step\":null}\n"
#define TENSOR                                                                                     \
	"{\"kind\":\"tensor\",\"span_id\":\"s\",\"tensor_id\":\"t\",\"shape\":[2],"                \
	"\"dtype\":\"f32\",\"device\":\"cpu\",\"requires_grad\":false}\n"
#define GRADIENT                                                                                   \
	"{\"kind\":\"gradient\",\"event_id\":\"e\",\"root\":\"r\",\"key\":\"k\","                  \
	"\"state\":\"zero\",\"norm\":1}\n"
#define CALL                                                                                       \
	"{\"kind\":\"edge\",\"edge_kind\":\"call\",\"from_span\":\"a\",\"to_span\":\"b\","         \
	"\"host_duration_ns\":1}\n"
#define DATA                                                                                       \
	"{\"kind\":\"edge\",\"edge_kind\":\"data\",\"from_tensor\":\"a\",\"to_tensor\":\"b\"}\n"

static const struct {
	const char *record, *from, *to, *code;
} records[] = {
	/* 4.1 and 4.2 */
	{SPAN, SPAN, "[1]\n", "not_an_object"},
	{SPAN, SPAN, "null\n", "not_an_object"},
	{SPAN, SPAN, "\"kind\"\n", "not_an_object"},
	{SPAN, SPAN, "{}\n", "missing_field"},
	{SPAN, "\"span_start\"", "null", "bad_field"},
	{SPAN, "\"span_start\"", "{\"a\":1}", "bad_field"},
	{SPAN, "span_start", "Span_start", "unknown_kind"},
	{SPAN, "span_start", "span", "unknown_kind"},
	{SPAN, "span_start", "span\\u005fstart", NULL},
	{SPAN, "\"kind\"", "\"\\u006bind\"", NULL},
	{SPAN, "\"id\"", "\"kind\":\"span_start\",\"id\"", "duplicate_field"},
	{SPAN, "\"id\"", "\"kind\":null,\"id\"", "duplicate_field"},
	{SPAN, "\"name\"", "\"i\\u0064\":\"a\",\"name\"", "duplicate_field"},
	{SPAN, "\"id\":\"a\",", "", "missing_field"},
	{SPAN, "\"a\"", "7", "bad_field"},
	{SPAN, "\"a\"", "null", "bad_field"},
	{SPAN, "\"module\"", "\"Module\"", "bad_field"},
	{SPAN, "\"module\"", "{\"module\":null}", "bad_field"},
	{SPAN, "\"module\"", "0", "bad_field"},
	{SPAN, "null", "\"optimizer\"", NULL},
	{SPAN, "null", "\"none\"", "bad_field"},
	{SPAN, "\"name\"", "\"measured\":null,\"name\"", "bad_field"},
	{SPAN, "\"name\"", "\"measured\":1,\"name\"", "bad_field"},
	{SPAN, "\"name\"", "\"parent_id\":null,\"name\"", NULL},
	/* unknown members: any value, also twice */
	{SPAN, "\"name\"", "\"x\":[{}],\"x\":null,\"edge_kind\":7,\"name\"", NULL},
	/* 3: bad JSON anywhere wins over a bad field */
	{SPAN, "\"a\"", "7,\"x\":01", "bad_json"},
	{SPAN, "\"id\":\"a\",", "\"x\":\"\\udc00\",", "bad_json"},
	{SPAN, "\"a\"", "\"\x01\"", "bad_json"},
	{SPAN, "}", "} x", "bad_json"},
	{SPAN, "}", "", "bad_json"},
	{SPAN, "\"kind\"", "'kind'", "bad_json"},
	{SPAN, "span_start\"", "nothing\",", "bad_json"},
	{SPAN, "{", "\xef\xbb\xbf{", "bad_json"},
	{SPAN, "{", "\x1c{", "bad_json"},
	{SPAN, "{", "\v\f\xc2\x85{", NULL},
	{SPAN, "}\n", "}\xe2\x80\xa8\v\r\n", NULL},
	{SPAN, ",\"name\"", ",\v\"name\"", "bad_json"},
	/* 4.3 */
	{SPAN, ":0", ":18446744073709551616", "bad_field"},
	{SPAN, ":0", ":-0", "bad_field"},
	{SPAN, ":0", ":-1", "bad_field"},
	{SPAN, ":0", ":0.0", "bad_field"},
	{SPAN, ":0", ":0e0", "bad_field"},
	{SPAN, ":0", ":\"0\"", "bad_field"},
	{SPAN, ":0", ":81", "terminal_precedes_evidence"},
	/* op */
	{OP, "[\"x\",\"w\"]", "null", "bad_field"},
	{OP, "[\"x\",\"w\"]", "[\"x\",null]", "bad_field"},
	{OP, "[\"x\",\"w\"]", "\"xw\"", "bad_field"},
	{OP, "\"inputs\":[\"x\",\"w\"],", "", NULL},
	{OP, "\"y\"", "null", NULL},
	{OP, "[8,4]", "{\"0\":8}", "bad_field"},
	{OP, "[8,4]", "[8,-4]", "bad_field"},
	{OP, "[8,4]", "[8,null]", "bad_field"},
	{OP, "[8,4]", "[ ]", NULL},
	{OP, "\"shape\":[8,4],", "", "missing_field"},
	{OP, "\"timestamp_ns\":20,", "", NULL},
	{OP, "20,", "null,", "bad_field"},
	{OP, "\"duration_ns\":30,", "", "missing_field"},
	{OP, ",\"input_dense_bytes\":192", "", "missing_field"},
	{OP, "192", "192,\"output_dense_bytes\":null", NULL},
	{OP, "192", "192,\"output_dense_bytes\":1.0", "bad_field"},
	/* tensor */
	{TENSOR, "false", "0", "bad_field"},
	{TENSOR, ",\"requires_grad\":false", "", NULL},
	{TENSOR, "false", "true,\"category\":null", "bad_field"},
	{TENSOR, "false", "true,\"category\":\"optimizer\"", NULL},
	{TENSOR, "false", "true,\"label\":null,\"dense_bytes\":0", NULL},
	{TENSOR, "\"tensor_id\":\"t\"", "\"label\":\"t\"", "missing_field"},
	/* tensor_stats */
	{STATS, "\"out\"", "\" \"", "invalid_tensor_stats"},
	{STATS, "\"out\"", "\"\"", "invalid_tensor_stats"},
	{STATS, "\"elements\":6", "\"elements\":5", "invalid_tensor_stats"},
	{STATS, "\"non_finite\":6", "\"non_finite\":7", "invalid_tensor_stats"},
	{STATS, "\"rms\":0", "\"rms\":-1e-300", "invalid_tensor_stats"},
	{STATS, "\"rms\":0", "\"rms\":-0", NULL},
	{STATS, "\"rms\":0", "\"rms\":null", "bad_field"},
	{STATS, "\"rms\":0", "\"rms\":\"1.5\"", "bad_field"},
	{STATS, "-0.0", "-1", "invalid_tensor_stats"},
	{STATS, ",\"mean\":-1.5", "", "missing_field"},
	{STATS, "[2,3],\"elements\":6,\"non_finite\":6", "[],\"elements\":1,\"non_finite\":0",
	 NULL},
	{STATS, "[2,3],\"elements\":6,\"non_finite\":6",
	 "[0,9223372036854775808,4],\"elements\":0,\"non_finite\":0", NULL},
	{STATS, "[2,3],\"elements\":6,\"non_finite\":6",
	 "[4294967296,4294967296,0],\"elements\":0,\"non_finite\":0", "invalid_tensor_stats"},
	{STATS, "[2,3],\"elements\":6", "[4294967295,4294967297],\"elements\":18446744073709551615",
	 NULL},
	/* memory */
	{MEMORY("1", "alloc"), "\"alloc\"", "\"realloc\"", "bad_field"},
	{MEMORY("1", "alloc"), ",\"dtype\":\"f32\"", "", "missing_field"},
	{MEMORY("1", "alloc"), "\"f32\"", "\"f32\",\"shape\":null", "bad_field"},
	{MEMORY("1", "alloc"), "\"f32\"", "\"f32\",\"op_name\":null", NULL},
	/* gradient */
	{GRADIENT, "\"key\"", "\"param_key\"", "missing_field"},
	{GRADIENT, "1}", "null}", NULL},
	{GRADIENT, "1}", "true}", "bad_field"},
	/* edge */
	{CALL, "call", "data", "missing_field"},
	{DATA, "data", "call", "missing_field"},
	{CALL, "\"edge_kind\":\"call\",", "", "missing_field"},
	{CALL, "\"call\"", "\"jump\"", "bad_field"},
	{CALL, "\"call\"", "0", "bad_field"},
	{CALL, "\"call\"", "null", "bad_field"},
	{CALL, "1}", "null}", "bad_field"},
	{CALL, "1}", "1,\"edge_kind\":\"call\"}", "duplicate_field"},
	/* what only the other edge kind has is an unknown member */
	{CALL, "1}", "1,\"from_tensor\":7,\"from_tensor\":8}", NULL},
	{DATA, "}", ",\"host_duration_ns\":-1}", NULL},
	/* terminal */
	{"", "", "{\"kind\":\"terminal\",\"outcome\":\"done\",\"timestamp_ns\":1}\n", "bad_field"},
	{"", "", "{\"kind\":\"terminal\",\"outcome\":\"failed\"}\n", "missing_field"},
};

START_TEST(rules_of_records)
{
	const char *code = records[_i].code;
	char *line = changed(records[_i].record, records[_i].from, records[_i].to);
	char *text = changed(META TERMINAL, TERMINAL, line);

	text = realloc(text, strlen(text) + sizeof(TERMINAL));
	ck_assert_ptr_nonnull(text);
	strcat(text, TERMINAL);
	if (!code)
		assert_accepted(text);
	else if (strcmp(code, "terminal_precedes_evidence") == 0)
		assert_refused(text, code, 3, 2);
	else
		assert_refused(text, code, 2, strcmp(code, "invalid_tensor_stats") ? -1 : 1);
	free(text);
	free(line);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("candle");
	TCase *t = tcase_create("candle");
	SRunner *runner;
	int failed;

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, rules_of_stream_and_document, 0, ARRAY_LEN(documents));
	tcase_add_loop_test(t, rules_of_records, 0, ARRAY_LEN(records));
	add_candle_row_tests(t);
	add_candle_corpus_tests(t);
	suite_add_tcase(suite, t);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
