/* test_heaviest.c: the heaviest operations and spans as candle-trace.md 14.5 orders them: ties by
 * id, ops of one name in one span left out, a place found late
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "candle_analysis.h"
#include "tracespool/memory.h"
#include "tracespool/util.h"

static void put_span(struct analysis *a, uint64_t no, const char *id, uint64_t parent_no,
		     const char *parent, const char *kind)
{
	analysis_put(a, ROW_SPAN,
		     &(struct row_span){.no = no,
					.id = ts_str_c(id),
					.parent_id = parent ? ts_str_c(parent) : ts_str(NULL, 0),
					.name = TS_STR("n"),
					.span_kind = ts_str_c(kind),
					.measured = no == 2});
	analysis_put(a, ROW_SPAN_TIME,
		     &(struct row_span_time){
			     .no = no, .parent_no = parent_no, .closed = true, .duration_ns = 100});
}

static void put_op(struct analysis *a, const char *span, const char *name)
{
	analysis_put(a, ROW_OP,
		     &(struct row_op){.span_id = ts_str_c(span),
				      .op_name = ts_str_c(name),
				      .output = TS_STR("o"),
				      .inputs = TS_STR("[]"),
				      .shape.json = TS_STR("[]"),
				      .dtype = TS_STR("u8"),
				      .device = TS_STR("cpu")});
}

static void put_storage(struct analysis *a, const char *span, const char *op, uint64_t bytes)
{
	static unsigned made;
	char storage[24];

	snprintf(storage, sizeof(storage), "m%u", made++);
	analysis_put(a, ROW_MEMORY,
		     &(struct row_memory){.bytes = bytes,
					  .storage_id = ts_str_c(storage),
					  .tensor_id = TS_STR("t"),
					  .span_id = ts_str_c(span),
					  .op_name = op ? ts_str_c(op) : ts_str(NULL, 0),
					  .device = TS_STR("cpu"),
					  .action = TS_STR("alloc"),
					  .category = TS_STR("activation"),
					  .shape.json = TS_STR("[]"),
					  .dtype = TS_STR("u8")});
}

static void put_rows(struct analysis *a)
{
	char name[16];

	put_span(a, 1, "root", 0, NULL, "function");
	put_span(a, 2, "s", 1, "root", "function");
	put_span(a, 3, "k", 2, "s", "op");
	put_span(a, 4, "u", 1, "root", "function");
	/* Op N of the span has the name that comes N-th from behind. */
	for (unsigned i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "o%02u", 59 - i);
		put_op(a, "s", name);
		put_storage(a, "s", name, 100);
	}
	put_op(a, "s", "dup");
	put_op(a, "s", "dup");
	put_storage(a, "s", "dup", 1000);
	put_op(a, "s", "two");
	put_storage(a, "s", "two", 70);
	put_storage(a, "s", "two", 70);
	put_storage(a, "s", "gone", 1000);
	put_op(a, "u", "x");
	put_storage(a, "u", "x", 100);
	put_storage(a, "k", NULL, 120);
	put_storage(a, "u", NULL, 5000);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void add_op(struct buf *want, const char *id, const char *name, unsigned bytes)
{
	buf_printf(want, "%s{\"id\":\"%s\",\"name\":\"%s\",\"allocated_bytes\":%u}",
		   want->data[want->len - 1] == '[' ? "" : ",", id, name, bytes);
}

START_TEST(equal_ones_stand_by_id_and_only_single_ops_count)
{
	struct buf want CLEAN(buf_done) = BUF_INIT, got CLEAN(buf_done) = BUF_INIT;
	struct ts_error err = TS_ERROR_INIT;
	struct memory_document *d = NULL;
	struct analysis a;
	char ids[60][16], name[16];
	int n;

	analysis_begin(&a);
	a.kept_bytes = _i ? ANALYZE_KEPT_BYTES : 0;
	put_rows(&a);
	ck_assert_int_eq(runfile_flush(a.rf, &err), 0);
	struct execution_figures f;

	ck_assert_int_eq(analyze_execution_figures(runfile_db(a.rf), a.kept_bytes, &f, &err), 0);
	ck_assert_int_eq(memory_document_open(runfile_db(a.rf),
					      &(struct memory_ask){.what = MEMORY_HEAVIEST,
								   .schema = "s",
								   .id = TS_STR("i"),
								   .entrypoint = TS_STR("e")},
					      JSON_NUMBERS_EXACT, &d, &err),
			 0);
	while ((n = memory_document_next(d, &got, &err)) == 1)
		continue;
	ck_assert_int_eq(n, 0);
	memory_document_close(d);

	/* s has 60 * 100 + 1000 + 140 + 1000; u lies beside the measured span, k is an op. */
	buf_printf(&want, "{\"entrypoint\":\"e\",\"heaviest_spans\":[{\"id\":\"s\",\"name\":\"n\","
			  "\"allocated_bytes\":8140,\"peak_live_bytes\":8260}],\"heaviest_ops\":[");
	add_op(&want, "s/op/62", "two", 140);
	add_op(&want, "k", "n", 120);
	for (unsigned i = 0; i < 60; i++)
		snprintf(ids[i], sizeof(ids[i]), "s/op/%u", i);
	qsort(ids, 60, sizeof(ids[0]), by_text);
	for (unsigned i = 0; i < 48; i++) {
		snprintf(name, sizeof(name), "o%02lu", 59 - strtoul(ids[i] + 5, NULL, 10));
		add_op(&want, ids[i], name, 100);
	}
	buf_printf(&want, "]}");
	const char *result = strstr(got.data, "\"result\":");

	ck_assert_ptr_nonnull(result);
	ck_assert_int_eq(strncmp(result + strlen("\"result\":"), want.data, want.len), 0);
	analysis_end(&a);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("heaviest");
	TCase *t = tcase_create("heaviest");

	tcase_add_loop_test(t, equal_ones_stand_by_id_and_only_single_ops_count, 0, 2);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
