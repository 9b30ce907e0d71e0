/* test_list_records.c: the lists of records of an execution run: file order, labels and their
 * prefixes, texts with U+0000, pages along the rows
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/store/folder.h"
#include "list_bench.h"
#include "tracespool/util.h"

static struct runfile *rf;
static struct db *catalog_db;

static void put(enum row_kind kind, const void *row)
{
	struct ts_error err = TS_ERROR_INIT;
	struct sink *sink = runfile_sink(rf);

	assert_fine(sink->row(sink, kind, row, &err), &err);
}

/* Tensors a (label "enc/x"), b (no label), enc/y (no label), c (label "enc0"). */
static void put_tensors(void)
{
	static const char *const ids[] = {"a", "b", "enc/y", "c"};
	static const char *const labels[] = {"enc/x", NULL, NULL, "enc0"};

	for (unsigned i = 0; i < 4; i++)
		put(ROW_TENSOR,
		    &(struct row_tensor){.span_id = i < 2 ? TS_STR("s") : TS_STR("r"),
					 .tensor_id = ts_str_c(ids[i]),
					 .label = ts_str_c(labels[i]),
					 .device = i % 2 ? TS_STR("cpu") : TS_STR("gpu"),
					 .shape = {.json = TS_STR("[]")},
					 .dense_bytes = {.v = UINT64_MAX - i, .has = i > 0}});
}

static void put_rest(void)
{
	static const struct ts_str roots[] = {TS_STR("vars"), TS_STR("vars"), TS_STR("va"),
					      TS_STR("k")};
	static const struct ts_str keys[] = {TS_STR("k1"), TS_STR("k\0b"), TS_STR("rs/k1"),
					     TS_STR("")};
	static const char *const states[] = {"present", "missing", "zero", "non_finite"};
	static const uint64_t bad[] = {0, UINT64_MAX, 1, 0};

	for (unsigned i = 0; i < 4; i++) {
		char id[2] = {(char)('1' + (int)i), 0};

		put(ROW_GRADIENT, &(struct row_gradient){.event_id = ts_str_c(id),
							 .root = roots[i],
							 .key = keys[i],
							 .state = ts_str_c(states[i])});
		put(ROW_TENSOR_STATS, &(struct row_tensor_stats){.label = ts_str_c(id),
								 .shape = {.json = TS_STR("[]")},
								 .non_finite = bad[i]});
		put(ROW_EDGE,
		    &(struct row_edge){.edge_kind = i % 2 ? TS_STR("call") : TS_STR("data"),
				       .from_span = i % 2 ? ts_str_c(id) : ts_str_c(NULL)});
		put(ROW_DEVICE_INTERVAL,
		    &(struct row_device_interval){.device = i % 2 ? TS_STR("d") : TS_STR("e"),
						  .stream_id = i < 3 ? TS_STR("s") : TS_STR("t"),
						  .start_ns = UINT64_MAX - i});
	}
}

static void setup(void)
{
	struct ts_error err = TS_ERROR_INIT;

	list_bench_open();
	catalog_db = list_db;
	rf = bench_runfile(NULL, RUN_EXECUTION);
	put_tensors();
	put_rest();
	assert_fine(runfile_index(rf, &err), &err);
	list_db = runfile_db(rf);
}

static void teardown(void)
{
	runfile_free(rf);
	list_db = catalog_db;
	list_bench_close();
}

START_TEST(tensors_are_filtered_by_label_or_else_by_id)
{
	assert_list(&list_tensors, "", NULL, "tensor_id", "a b enc/y c");
	assert_list(&list_tensors, "", NULL, "label", "enc/x - - enc0");
	assert_list(&list_tensors, "label=b&label=enc0", NULL, "tensor_id", "b c");
	/* The id of a tensor that has a label is no label. */
	assert_list(&list_tensors, "label=a", NULL, "tensor_id", "");
	assert_list(&list_tensors, "label_prefix=enc/", NULL, "tensor_id", "a enc/y");
	assert_list(&list_tensors, "label_prefix=enc", NULL, "tensor_id", "a enc/y c");
	assert_list(&list_tensors, "span_id=r&device=cpu", NULL, "tensor_id", "c");
	assert_refused(&list_tensors, "", "tensor_id", "bad_parameter", "sort");
	assert_refused(&list_tensors, "", "-file", "bad_parameter", "sort");
}
END_TEST

START_TEST(gradients_are_filtered_by_state_root_and_the_beginning_of_key_or_root_and_key)
{
	assert_list(&list_gradients, "", NULL, "event_id", "1 2 3 4");
	assert_list(&list_gradients, "state=zero&state=present", NULL, "event_id", "1 3");
	assert_refused(&list_gradients, "state=none", NULL, "bad_parameter", "state");
	assert_list(&list_gradients, "root=vars", NULL, "event_id", "1 2");
	/* "k/" begins with it too. */
	assert_list(&list_gradients, "key_prefix=k", NULL, "event_id", "1 2 4");
	assert_list(&list_gradients, "key_prefix=k1", NULL, "event_id", "1");
	assert_list(&list_gradients, "key_prefix=vars/k", NULL, "event_id", "1 2");
	assert_list(&list_gradients, "key_prefix=va/rs", NULL, "event_id", "3");
	assert_list(&list_gradients, "key_prefix=", NULL, "event_id", "1 2 3 4");
}
END_TEST

START_TEST(a_key_with_a_zero_byte_is_not_cut_there)
{
	struct list_param p = {TS_STR("key_prefix"), TS_STR("k\0b")};
	struct list_request req = {.params = &p, .param_count = 1};
	char *text = list_page_text(&list_gradients, &req, "event_id", NULL);

	ck_assert_str_eq(text, "2");
	free(text);
	p.value = TS_STR("k\0c");
	text = list_page_text(&list_gradients, &req, "event_id", NULL);
	ck_assert_str_eq(text, "");
	free(text);
}
END_TEST

START_TEST(statistics_edges_and_intervals_have_their_filters)
{
	assert_list(&list_tensor_stats, "", NULL, "label", "1 2 3 4");
	assert_list(&list_tensor_stats, "non_finite=true", NULL, "label", "2 3");
	assert_list(&list_tensor_stats, "non_finite=false", NULL, "label", "1 4");
	assert_list(&list_tensor_stats, "label=3&non_finite=1", NULL, "label", "3");
	assert_list(&list_edges, "edge_kind=call", NULL, "from_span", "2 4");
	assert_refused(&list_edges, "edge_kind=flow", NULL, "bad_parameter", "edge_kind");
	assert_list(&list_device_intervals, "device=d", NULL, "stream_id", "s t");
	assert_list(&list_device_intervals, "device=d&stream_id=s", NULL, "stream_id", "s");
}
END_TEST

START_TEST(a_page_goes_along_the_rows)
{
	char plan[1000];

	plan_of(list_db->h,
		"select t.span_id from tensor_rows t where 1 and (t.rowid) > (?) "
		"order by t.rowid limit 101",
		plan, sizeof(plan));
	ck_assert_msg(strstr(plan, "SEARCH t USING INTEGER PRIMARY KEY (rowid>?)") != NULL, "%s",
		      plan);
	ck_assert_ptr_null(strstr(plan, "TEMP B-TREE"));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("list-records");
	TCase *t = tcase_create("list-records");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, tensors_are_filtered_by_label_or_else_by_id);
	tcase_add_test(
		t, gradients_are_filtered_by_state_root_and_the_beginning_of_key_or_root_and_key);
	tcase_add_test(t, a_key_with_a_zero_byte_is_not_cut_there);
	tcase_add_test(t, statistics_edges_and_intervals_have_their_filters);
	tcase_add_test(t, a_page_goes_along_the_rows);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
