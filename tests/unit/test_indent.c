/* test_indent.c: JSON indented in pieces is that indented at once
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/http/indent.h"
#include "tracespool/util.h"
#include "tracespool/writer.h"

static void assert_same(const char *json)
{
	struct buf want CLEAN(buf_done) = BUF_INIT;
	size_t n = strlen(json);

	json_reformat(&want, ts_str(json, n), true, JSON_NUMBERS_DEFAULT);
	for (size_t piece = 1; piece <= n; piece++) {
		struct buf have CLEAN(buf_done) = BUF_INIT;
		struct indent in = {0};

		for (size_t at = 0; at < n; at += piece)
			indent_add(&in, &have, json + at, n - at < piece ? n - at : piece);
		ck_assert_str_eq(have.data, want.data);
	}
}

START_TEST(pieces_of_any_length_give_the_same_text)
{
	assert_same("{}");
	assert_same("[]");
	assert_same("[1]");
	assert_same("{\"a\":[],\"b\":{},\"c\":[{},[[]],1.5,null,true]}");
	assert_same(
		"{\"schema\":\"x\",\"id\":\"a:b,c{d}[e]\",\"result\":[{\"a\":1},{\"b\":[2,3]}]}");
	assert_same("[\"\\\"\",\"\\\\\",\"\\\\\\\"{\",\"\"]");
}
END_TEST

START_TEST(the_text_is_indented_by_two_spaces)
{
	static const char json[] = "{\"a\":[1,{}],\"b\":[]}";
	struct buf out CLEAN(buf_done) = BUF_INIT;
	struct indent in = {0};

	indent_add(&in, &out, json, sizeof(json) - 1);
	ck_assert_str_eq(out.data, "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("indent");
	TCase *t = tcase_create("indent");

	tcase_add_test(t, pieces_of_any_length_give_the_same_text);
	tcase_add_test(t, the_text_is_indented_by_two_spaces);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
