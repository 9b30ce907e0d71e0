/* candle_run.c: an execution trace through lines and format, with a sink that looks at each row */
#include "candle_run.h"

#include <stdio.h>

#include "candle_result.h"
#include "memory_file.h"
#include "tracespool/util.h"

static void keep(char *to, size_t size, struct ts_str s)
{
	ck_assert_uint_lt(s.n, size);
	memcpy(to, s.p, s.n);
	to[s.n] = 0;
}

static void count_row(struct candle_run *run, enum row_kind kind, const void *row)
{
	const struct row_meta *meta = row;
	const struct row_span *span = row;
	const struct row_span_time *time = row;
	const struct row_memory *memory = row;
	const struct row_edge *edge = row;
	const struct row_terminal *terminal = row;

	run->rows[kind]++;
	if (kind == ROW_META) {
		keep(run->schema, sizeof(run->schema), meta->schema);
		keep(run->run_id, sizeof(run->run_id), meta->run_id);
	} else if (kind == ROW_SPAN) {
		ck_assert_uint_eq(span->no, run->rows[ROW_SPAN]);
		run->roots += span->parent_id.p == NULL;
	} else if (kind == ROW_SPAN_TIME) {
		ck_assert_uint_eq(time->no, run->rows[ROW_SPAN_TIME]);
		ck_assert_uint_le(time->parent_no, run->rows[ROW_SPAN]);
		ck_assert(time->closed || time->duration_ns == 0);
		run->closed += time->closed;
	} else if (kind == ROW_MEMORY) {
		run->allocs += ts_str_is(memory->action, "alloc");
		run->frees += ts_str_is(memory->action, "free");
	} else if (kind == ROW_EDGE) {
		run->call_edges += ts_str_is(edge->edge_kind, "call");
		run->data_edges += ts_str_is(edge->edge_kind, "data");
	} else if (kind == ROW_TERMINAL) {
		keep(run->outcome, sizeof(run->outcome), terminal->outcome);
	}
}

static int take_row(struct sink *sink, enum row_kind kind, const void *row, struct ts_error *err)
{
	struct candle_run *run = (struct candle_run *)sink;

	ck_assert_ptr_null(err->code);
	count_row(run, kind, row);
	if (run->look)
		run->look(run, kind, row);
	return 0;
}

static int run_lines(struct candle_run *run, struct lines *lines)
{
	struct format_state *st = NULL;
	struct line line;
	int result;

	ck_assert_int_eq(format_candle.begin(&st, &run->counts, &run->err), 0);
	while ((result = lines_next(lines, &line, &run->err)) > 0) {
		result = format_candle.record(st, &line, &run->sink, &run->err);
		if (result < 0)
			break;
	}
	if (result == 0)
		result = format_candle.finish(st, &run->sink, &run->err);
	format_candle.end(st);
	return result;
}

void candle_run_fd(struct candle_run *run, int fd)
{
	struct candle_run fresh = {.sink.row = take_row, .look = run->look};
	struct input *in = NULL;
	struct lines *lines = NULL;

	*run = fresh;
	ts_error_init(&run->err);
	ck_assert_int_eq(input_open(fd, false, &test_limits, &in, &run->err), 0);
	ck_assert_int_eq(lines_open(in, &test_limits, &lines, &run->err), 0);
	run->ok = run_lines(run, lines) == 0;
	ck_assert_int_eq(run->ok, !run->err.code);
	lines_close(lines);
	input_close(in);
}

void candle_run_bytes(struct candle_run *run, const void *bytes, size_t n)
{
	int fd = memory_file(bytes, n);

	candle_run_fd(run, fd);
	close(fd);
}

void candle_run_text(struct candle_run *run, const char *text)
{
	candle_run_bytes(run, text, strlen(text));
}

void assert_refused(const char *text, const char *code, uint64_t line, int64_t event)
{
	struct candle_run run = {0};

	candle_run_text(&run, text);
	ck_assert_msg(!run.ok, "accepted, and should be %s: %s", code, text);
	ck_assert_msg(strcmp(run.err.code->code, code) == 0 && run.err.line == line &&
			      run.err.event == event,
		      "%s at line %llu, event %lld (%s), and should be %s at %llu, %lld: %s",
		      run.err.code->code, (unsigned long long)run.err.line,
		      (long long)run.err.event, run.err.message, code, (unsigned long long)line,
		      (long long)event, text);
}

void assert_accepted(const char *text)
{
	struct candle_run run = {0};

	candle_run_text(&run, text);
	ck_assert_msg(run.ok, "%s (%s): %s", run.err.code ? run.err.code->code : "",
		      run.err.message, text);
}

void candle_result_of(int fd, struct candle_result *ret)
{
	struct candle_run run = {0};
	const struct trace_counts *c = &run.counts;
	const uint64_t *rows = run.rows;

	candle_run_fd(&run, fd);
	*ret = (struct candle_result){
		.ok = run.ok, .line = run.err.line, .event = run.err.event, .byte = run.err.byte};
	if (!run.ok) {
		snprintf(ret->code, sizeof(ret->code), "%s", run.err.code->code);
		snprintf(ret->message, sizeof(ret->message), "%s", run.err.message);
		return;
	}
	ck_assert_uint_eq(c->lines, c->records + c->blank);
	ck_assert_uint_eq(rows[ROW_META], 1);
	ck_assert_uint_eq(rows[ROW_TERMINAL], 1);
	memcpy(ret->schema, run.schema, sizeof(ret->schema));
	memcpy(ret->run_id, run.run_id, sizeof(ret->run_id));
	memcpy(ret->outcome, run.outcome, sizeof(ret->outcome));

	/* What the format counted, and what the sink saw. */
	const struct candle_figure figures[] = {
		{"counts", "records", c->records},
		{"counts", "spans", c->spans},
		{"counts", "spans", rows[ROW_SPAN]},
		{"counts", "spans", rows[ROW_SPAN_TIME]},
		{"counts", "closed_spans", c->closed_spans},
		{"counts", "closed_spans", run.closed},
		{"counts", "ops", c->ops},
		{"counts", "ops", rows[ROW_OP]},
		{"counts", "tensors", c->tensors},
		{"counts", "tensors", rows[ROW_TENSOR]},
		{"counts", "tensor_stats", c->tensor_stats},
		{"counts", "tensor_stats", rows[ROW_TENSOR_STATS]},
		{"counts", "memory", c->memory},
		{"counts", "memory", rows[ROW_MEMORY]},
		{"counts", "device_memory", c->device_memory},
		{"counts", "device_memory", rows[ROW_DEVICE_MEMORY]},
		{"counts", "device_intervals", c->device_intervals},
		{"counts", "device_intervals", rows[ROW_DEVICE_INTERVAL]},
		{"counts", "gradients", c->gradients},
		{"counts", "gradients", rows[ROW_GRADIENT]},
		{"counts", "call_edges", c->call_edges},
		{"counts", "call_edges", run.call_edges},
		{"counts", "data_edges", c->data_edges},
		{"counts", "data_edges", run.data_edges},
		{"summary", "root_span_count", run.roots},
		{"summary", "alloc_count", run.allocs},
		{"summary", "free_count", run.frees},
	};

	_Static_assert(ARRAY_LEN(figures) <= ARRAY_LEN(ret->figures), "room for the figures");
	memcpy(ret->figures, figures, sizeof(figures));
	ret->figure_count = ARRAY_LEN(figures);
}
