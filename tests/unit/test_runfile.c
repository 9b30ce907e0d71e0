/* test_runfile.c: rows of every kind go into a run file and come back with all digits, bytes and
 * their order; the views show them; the file is published whole or not at all
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../src/store/folder.h"
#include "store_bench.h"
#include "tracespool/util.h"

static const uint64_t borders[] = {0,
				   1,
				   9007199254740992,     /* 2^53 */
				   9223372036854775807,  /* 2^63 - 1 */
				   9223372036854775808u, /* 2^63 */
				   9223372036854775809u,
				   10000000000000000000u,
				   18446744073709551614u,
				   18446744073709551615u};

/* The same, as people read them. */
static const char *const border_texts[] = {"0",
					   "1",
					   "9007199254740992",
					   "9223372036854775807",
					   "9223372036854775808",
					   "9223372036854775809",
					   "10000000000000000000",
					   "18446744073709551614",
					   "18446744073709551615"};

static void put(struct runfile *rf, enum row_kind kind, const void *row)
{
	struct ts_error err = TS_ERROR_INIT;
	struct sink *sink = runfile_sink(rf);

	assert_fine(sink->row(sink, kind, row, &err), &err);
}

static void flush(struct runfile *rf)
{
	struct ts_error err = TS_ERROR_INIT;

	assert_fine(runfile_flush(rf, &err), &err);
}

static void index_it(struct runfile *rf)
{
	struct ts_error err = TS_ERROR_INIT;

	assert_fine(runfile_index(rf, &err), &err);
}

/* The rows of a statement: columns separated by |, a line each; NULL as "-", doubles with 17
 * digits, NUL bytes as "\0". */
static char *rows_of(struct runfile *rf, const char *sql)
{
	struct buf b = BUF_INIT;
	sqlite3 *h = runfile_db(rf)->h;
	sqlite3_stmt *s;

	ck_assert_msg(sqlite3_prepare_v2(h, sql, -1, &s, NULL) == SQLITE_OK, "%s: %s",
		      sqlite3_errmsg(h), sql);
	while (sqlite3_step(s) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(s); i++) {
			int type = sqlite3_column_type(s, i);

			buf_puts(&b, i ? "|" : "");
			if (type == SQLITE_NULL)
				buf_puts(&b, "-");
			else if (type == SQLITE_FLOAT)
				buf_printf(&b, "%.17g", sqlite3_column_double(s, i));
			else
				for (const unsigned char *p = sqlite3_column_text(s, i),
							 *end = p + sqlite3_column_bytes(s, i);
				     p < end; p++) {
					if (*p)
						buf_putc(&b, (char)*p);
					else
						buf_puts(&b, "\\0");
				}
		}
		buf_puts(&b, "\n");
	}
	sqlite3_finalize(s);
	buf_puts(&b, "");
	return buf_take(&b);
}

static void assert_rows(struct runfile *rf, const char *sql, const char *want)
{
	char *have CLEAN(free_ptr) = rows_of(rf, sql);

	ck_assert_str_eq(have, want);
}

static void put_span(struct runfile *rf, uint64_t no, const char *id, uint64_t start, uint64_t dur)
{
	put(rf, ROW_SPAN,
	    &(struct row_span){
		    .no = no,
		    .id = ts_str_c(id),
		    .name = TS_STR("n"),
		    .span_kind = TS_STR("op"),
		    .start_ns = start,
	    });
	put(rf, ROW_SPAN_TIME,
	    &(struct row_span_time){.no = no, .closed = true, .duration_ns = dur});
}

START_TEST(the_view_of_spans_shows_every_u64_in_decimal)
{
	struct runfile *rf = bench_runfile(NULL, RUN_EXECUTION);
	struct buf want CLEAN(buf_done) = BUF_INIT;

	for (unsigned i = 0; i < ARRAY_LEN(borders); i++) {
		put_span(rf, i + 1, "s", borders[i], borders[ARRAY_LEN(borders) - 1 - i]);
		buf_printf(&want, "%u|%s|%s\n", i + 1, border_texts[i],
			   border_texts[ARRAY_LEN(borders) - 1 - i]);
	}
	index_it(rf);
	assert_rows(rf, "select no, start_ns, duration_ns from spans order by no", want.data);
	assert_rows(rf, "select distinct typeof(start_ns) from spans order by 1",
		    "integer\ntext\n");
	runfile_free(rf);
}
END_TEST

START_TEST(order_and_comparisons_of_u64_columns_go_across_two_to_the_63)
{
	struct runfile *rf = bench_runfile(NULL, RUN_EXECUTION);
	struct ts_error err = TS_ERROR_INIT;
	struct query *q CLEAN(query_closep) = NULL;
	struct query *above CLEAN(query_closep) = NULL;
	unsigned n = 0;

	for (unsigned i = ARRAY_LEN(borders); i-- > 0;)
		put_span(rf, ARRAY_LEN(borders) - i, "s", borders[i], 0);
	flush(rf);
	const char *sql = "select start_ns from span_rows order by start_ns";

	assert_fine(query_open_sql(runfile_db(rf), sql, strlen(sql), &q, &err), &err);
	while (query_step(q, &err) == 1)
		ck_assert_uint_eq(query_u64(q, 0), borders[n++]);
	ck_assert_uint_eq(n, ARRAY_LEN(borders));
	sql = "select count(*) from span_rows where start_ns > ?";
	assert_fine(query_open_sql(runfile_db(rf), sql, strlen(sql), &above, &err), &err);
	for (unsigned i = 0; i < ARRAY_LEN(borders); i++) {
		query_bind_u64(above, 1, borders[i]);
		ck_assert_int_eq(query_step(above, &err), 1);
		ck_assert_uint_eq(query_u64(above, 0), ARRAY_LEN(borders) - 1 - i);
		query_reset(above);
	}
	query_close(TAKE(q));
	query_close(TAKE(above));
	runfile_free(rf);
}
END_TEST

START_TEST(every_row_kind_of_an_execution_run_keeps_every_member)
{
	struct runfile *rf = bench_runfile(NULL, RUN_EXECUTION);
	const struct ts_shape shape = {.json = TS_STR("[8,4]")};

	put(rf, ROW_META,
	    &(struct row_meta){.schema = TS_STR("candle-graph/trace/10"),
			       .run_id = TS_STR("r"),
			       .correlation_id = TS_STR("c"),
			       .entrypoint = TS_STR("e"),
			       .phase = TS_STR("train"),
			       .timestamp = TS_STR("t"),
			       .device = TS_STR("cpu"),
			       .timing_mode = TS_STR("host"),
			       .capture_step = UINT64_MAX,
			       .warmup_steps = 3,
			       .measured_region_device_synchronized = true,
			       .tags = TS_STR("{}"),
			       .capture_contract = TS_STR("{\"a\":1}")});
	put(rf, ROW_SPAN,
	    &(struct row_span){.no = 1,
			       .id = TS_STR("a"),
			       .parent_id = TS_STR("p"),
			       .name = TS_STR("n"),
			       .span_kind = TS_STR("module"),
			       .step = TS_STR("forward"),
			       .start_ns = 5,
			       .measured = true});
	put(rf, ROW_SPAN_TIME, &(struct row_span_time){.no = 1, .parent_no = 7, .duration_ns = 0});
	put(rf, ROW_OP,
	    &(struct row_op){.span_id = TS_STR("a"),
			     .op_name = TS_STR("mm"),
			     .output = TS_STR("y"),
			     .dtype = TS_STR("F32"),
			     .device = TS_STR("cpu"),
			     .inputs = TS_STR("[\"x\"]"),
			     .shape = shape,
			     .duration_ns = 1,
			     .timestamp_ns = 2,
			     .input_dense_bytes = 3,
			     .output_dense_bytes = {.v = 128, .has = true}});
	put(rf, ROW_TENSOR,
	    &(struct row_tensor){.span_id = TS_STR("a"),
				 .tensor_id = TS_STR("t"),
				 .dtype = TS_STR("x9"),
				 .device = TS_STR("cpu"),
				 .category = TS_STR("other"),
				 .shape = shape,
				 .requires_grad = true});
	put(rf, ROW_TENSOR_STATS,
	    &(struct row_tensor_stats){.span_id = TS_STR("a"),
				       .label = TS_STR("l"),
				       .dtype = TS_STR("f32"),
				       .shape = shape,
				       .elements = 32,
				       .non_finite = 1,
				       .rms = 0.1,
				       .abs_max = 5.0,
				       .mean = -2.5});
	put(rf, ROW_MEMORY,
	    &(struct row_memory){.timestamp_ns = 9,
				 .bytes = 10,
				 .storage_id = TS_STR("m"),
				 .tensor_id = TS_STR("t"),
				 .span_id = TS_STR("a"),
				 .device = TS_STR("cpu"),
				 .action = TS_STR("alloc"),
				 .dtype = TS_STR("f32"),
				 .category = TS_STR("gradient"),
				 .shape = shape});
	put(rf, ROW_DEVICE_MEMORY,
	    &(struct row_device_memory){.timestamp_ns = 4,
					.device = TS_STR("cuda:0"),
					.used_bytes = {.v = 0, .has = true},
					.capacity_bytes = {.v = UINT64_MAX, .has = true}});
	put(rf, ROW_DEVICE_INTERVAL,
	    &(struct row_device_interval){.span_id = TS_STR("a"),
					  .device = TS_STR("cuda:0"),
					  .stream_id = TS_STR("1"),
					  .clock_id = TS_STR("k"),
					  .backend = TS_STR("b"),
					  .start_ns = 6,
					  .duration_ns = 7});
	put(rf, ROW_GRADIENT,
	    &(struct row_gradient){.event_id = TS_STR("g"),
				   .root = TS_STR("r"),
				   .key = TS_STR("k"),
				   .state = TS_STR("present"),
				   .norm = {.v = 0.25, .has = true}});
	put(rf, ROW_EDGE,
	    &(struct row_edge){.edge_kind = TS_STR("call"),
			       .from_span = TS_STR("a"),
			       .to_span = TS_STR("b"),
			       .host_duration_ns = {.v = 8, .has = true}});
	put(rf, ROW_TERMINAL,
	    &(struct row_terminal){
		    .outcome = TS_STR("failed"), .reason = TS_STR("why"), .timestamp_ns = 99});
	index_it(rf);
	assert_rows(rf, "select * from meta",
		    "candle-graph/trace/10|r|c|e|train|t|18446744073709551615|3|cpu|1|host|"
		    "{\"a\":1}|-|{}|-\n");
	assert_rows(rf, "select * from spans", "1|a|p|n|module|1|forward|5|0|0|-|-|-|-|-|-\n");
	assert_rows(rf, "select parent_no from span_time_rows", "7\n");
	assert_rows(rf, "select * from ops", "1|a|mm|[\"x\"]|y|[8,4]|F32|cpu|1|2|128|3\n");
	assert_rows(rf, "select * from tensors", "1|a|t|-|[8,4]|x9|cpu|1|-|other\n");
	assert_rows(rf, "select * from tensor_stats",
		    "1|a|l|[8,4]|f32|32|1|0.10000000000000001|5|-2.5\n");
	assert_rows(rf, "select * from memory", "1|9|m|t|a|-|cpu|10|alloc|[8,4]|f32|gradient\n");
	assert_rows(rf, "select * from device_memory", "1|4|cuda:0|0|-|-|18446744073709551615\n");
	assert_rows(rf, "select * from device_intervals", "1|a|cuda:0|1|k|b|6|7\n");
	assert_rows(rf, "select * from gradients", "1|g|r|k|present|0.25\n");
	assert_rows(rf, "select * from edges", "1|call|a|b|8|-|-\n");
	assert_rows(rf, "select * from terminal", "failed|99|why\n");
	runfile_free(rf);
}
END_TEST

START_TEST(every_row_kind_of_a_request_run_keeps_every_member)
{
	struct runfile *rf = bench_runfile(NULL, RUN_REQUESTS);
	const uint64_t none[1] = {0}, done[] = {UINT64_MAX};

	put(rf, ROW_REQUEST,
	    &(struct row_request){.no = 1,
				  .shard = 2,
				  .line = 3,
				  .request_id = TS_STR("q"),
				  .model = TS_STR("m"),
				  .event_time_unix_ms = UINT64_MAX,
				  .request_received_ms = UINT64_MAX,
				  .start_ms = INT64_MAX,
				  .end_ms = INT64_MAX,
				  .output_tokens = 4,
				  .trace_block_size = 64,
				  .input_length = 5,
				  .hash_count = 9,
				  .total_time_ms = {.v = 0.5, .has = true},
				  .queue_depth = {.v = UINT64_MAX, .has = true},
				  .decode_worker_id = {.v = 9876543210987654321u, .has = true},
				  .finish_reason = TS_STR("stop")});
	put(rf, ROW_REQUEST_HASHES,
	    &(struct row_request_hashes){
		    .no = 1, .input = borders, .input_count = ARRAY_LEN(borders)});
	put(rf, ROW_REQUEST_HASHES,
	    &(struct row_request_hashes){
		    .no = 2, .input = none, .completion = done, .completion_count = 1});
	put(rf, ROW_TOOL,
	    &(struct row_tool){.shard = 0,
			       .line = 7,
			       .event_type = TS_STR("tool_end"),
			       .session_id = TS_STR("s"),
			       .tool_call_id = TS_STR("c"),
			       .tool_class = TS_STR("k"),
			       .status = TS_STR("succeeded"),
			       .start_ms = -5,
			       .end_ms = 6,
			       .duration_ms = 11,
			       .output_bytes = {.v = 12, .has = true},
			       .has_claude = true,
			       .execution_mode = TS_STR("x")});
	put(rf, ROW_TOOL, &(struct row_tool){.session_id = TS_STR("s"), .status = TS_STR("error")});
	index_it(rf);
	assert_rows(rf, "select * from requests",
		    "1|2|3|q|-|m|-|-|18446744073709551615|18446744073709551615|"
		    "9223372036854775807|9223372036854775807|4|64|5|9|0.5|-|-|"
		    "18446744073709551615|-|-|-|-|-|-|-|-|-|9876543210987654321|-|stop\n");
	assert_rows(rf, "select * from tools where no = 1",
		    "1|0|7|tool_end|s|c|k|succeeded|-|-5|6|11|12|-|1|-|-|-|x\n");
	assert_rows(rf, "select no, status from tools", "1|succeeded\n2|error\n");
	struct buf want CLEAN(buf_done) = BUF_INIT;

	for (unsigned i = 0; i < ARRAY_LEN(borders); i++)
		buf_printf(&want, "1|%u|%s\n", i, border_texts[i]);
	assert_rows(rf, "select * from request_hashes order by 1, 2", want.data);
	assert_rows(rf, "select * from completion_hashes", "2|0|18446744073709551615\n");
	/* Without a value, empty, and a value are three things. */
	assert_rows(rf,
		    "select no, hex(input) = '', typeof(completion) from request_hash_rows "
		    "order by no",
		    "1|0|null\n2|1|blob\n");
	assert_rows(rf, "select substr(hex(input), 17, 16) from request_hash_rows where no = 1",
		    "0100000000000000\n");
	runfile_free(rf);
}
END_TEST

START_TEST(a_negative_zero_stays_negative)
{
	struct runfile *rf = bench_runfile(NULL, RUN_EXECUTION);
	struct ts_error err = TS_ERROR_INIT;
	struct query *q CLEAN(query_closep) = NULL;
	const char *sql = "select g.norm, t.mean, t.rms from gradient_rows g, tensor_stats_rows t";

	put(rf, ROW_GRADIENT, &(struct row_gradient){.norm = {.v = -0.0, .has = true}});
	put(rf, ROW_TENSOR_STATS,
	    &(struct row_tensor_stats){.mean = -0.0, .rms = 5e-324, .abs_max = 3});
	flush(rf);
	assert_fine(query_open_sql(runfile_db(rf), sql, strlen(sql), &q, &err), &err);
	ck_assert_int_eq(query_step(q, &err), 1);
	ck_assert(signbit(query_double(q, 0)) && query_double(q, 0) == 0);
	ck_assert(signbit(query_double(q, 1)));
	ck_assert(query_double(q, 2) == 5e-324);
	query_close(TAKE(q));
	runfile_free(rf);
}
END_TEST

START_TEST(strings_keep_their_nul_bytes_and_empty_is_not_none)
{
	struct runfile *rf = bench_runfile(NULL, RUN_EXECUTION);
	struct ts_error err = TS_ERROR_INIT;
	struct query *q CLEAN(query_closep) = NULL;
	const char *sql = "select id, parent_id, name, step from span_rows";

	put(rf, ROW_SPAN,
	    &(struct row_span){.no = 1,
			       .id = ts_str("a\0b", 3),
			       .parent_id = TS_STR(""),
			       .name = ts_str("\0", 1),
			       .span_kind = TS_STR("op")});
	flush(rf);
	assert_fine(query_open_sql(runfile_db(rf), sql, strlen(sql), &q, &err), &err);
	ck_assert_int_eq(query_step(q, &err), 1);
	ck_assert(ts_str_eq(query_str(q, 0), ts_str("a\0b", 3)));
	ck_assert(ts_str_eq(query_str(q, 1), TS_STR("")));
	ck_assert(ts_str_eq(query_str(q, 2), ts_str("\0", 1)));
	ck_assert_ptr_null(query_str(q, 3).p);
	query_close(TAKE(q));
	runfile_free(rf);
}
END_TEST

/* Short rows fill several batches, long ones (over 64 KiB) go in between without a copy. */
START_TEST(rows_of_a_kind_stay_in_the_order_of_the_calls)
{
	struct runfile *rf = bench_runfile(NULL, RUN_EXECUTION);
	struct ts_error err = TS_ERROR_INIT;
	struct query *q CLEAN(query_closep) = NULL;
	const char *sql = "select op_name, length(inputs), inputs from op_rows order by rowid";
	enum { ROWS = 3000 };
	const size_t lengths[] = {0, 40, 65000, 65537, 1, 2000000, 300};
	char *inputs = malloc(2000000);
	char name[16];
	unsigned n = 0;

	ck_assert_ptr_nonnull(inputs);
	for (unsigned i = 0; i < ROWS; i++) {
		size_t len = lengths[i < 200 ? i % ARRAY_LEN(lengths) : 1];

		memset(inputs, 'a' + (int)(i % 26), len);
		snprintf(name, sizeof(name), "op%u", i);
		put(rf, ROW_OP,
		    &(struct row_op){.op_name = ts_str_c(name), .inputs = ts_str(inputs, len)});
		/* What was handed over is no longer looked at. */
		memset(inputs, '#', len);
		memset(name, '#', sizeof(name));
	}
	flush(rf);
	assert_fine(query_open_sql(runfile_db(rf), sql, strlen(sql), &q, &err), &err);
	while (query_step(q, &err) == 1) {
		size_t len = lengths[n < 200 ? n % ARRAY_LEN(lengths) : 1];
		struct ts_str s = query_str(q, 2);

		snprintf(name, sizeof(name), "op%u", n);
		ck_assert(ts_str_is(query_str(q, 0), name));
		ck_assert_uint_eq(query_u64(q, 1), len);
		for (size_t i = 0; i < len; i += 4099)
			ck_assert_int_eq(s.p[i], 'a' + (int)(n % 26));
		n++;
	}
	ck_assert_uint_eq(n, ROWS);
	query_close(TAKE(q));
	runfile_free(rf);
	free(inputs);
}
END_TEST

START_TEST(a_stop_ends_what_is_done_in_a_run_file)
{
	struct runfile *rf = bench_runfile(NULL, RUN_EXECUTION);
	struct ts_error err = TS_ERROR_INIT;
	atomic_bool stop = false;
	uint64_t n;

	runfile_stop_on(rf, &stop);
	assert_fine(db_number(runfile_db(rf), "select 7", &n, &err), &err);
	ck_assert_uint_eq(n, 7);
	stop = true;
	ck_assert_int_eq(
		db_number(runfile_db(rf),
			  "with recursive n(i) as (select 1 union all select i + 1 from n) "
			  "select count(*) from n",
			  &n, &err),
		-1);
	ck_assert_msg(ts_error_is(&err, TS_E_SHUTDOWN), "%s", err.message);
	runfile_free(rf);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("runfile");
	TCase *t = tcase_create("runfile");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, the_view_of_spans_shows_every_u64_in_decimal);
	tcase_add_test(t, order_and_comparisons_of_u64_columns_go_across_two_to_the_63);
	tcase_add_test(t, every_row_kind_of_an_execution_run_keeps_every_member);
	tcase_add_test(t, every_row_kind_of_a_request_run_keeps_every_member);
	tcase_add_test(t, a_negative_zero_stays_negative);
	tcase_add_test(t, strings_keep_their_nul_bytes_and_empty_is_not_none);
	tcase_add_test(t, rows_of_a_kind_stay_in_the_order_of_the_calls);
	tcase_add_test(t, a_stop_ends_what_is_done_in_a_run_file);
	suite_add_tcase(s, t);
	SRunner *r = srunner_create(s);

	srunner_run_all(r, CK_NORMAL);
	int failed = srunner_ntests_failed(r);

	srunner_free(r);
	return failed != 0;
}
