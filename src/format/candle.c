/* candle.c: execution traces: state machine over records and the checks at the end */
#include "tracespool/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "candle.h"
#include "line_json.h"

#define RUN_ID_MAX 512 /* bytes (http-api.md 2.2) */

/* A record that a rule about the whole document may have to name. */
struct place {
	uint64_t line; /* 0: no such record yet */
	int64_t byte, event;
	char excerpt[sizeof(((struct ts_error *)NULL)->excerpt)];
};

enum schema { SCHEMA_OTHER, SCHEMA_TRACE9, SCHEMA_TRACE10 };
enum run_id { RUN_ID_GOOD, RUN_ID_LONG, RUN_ID_LIKE_DIGEST, RUN_ID_NUL };

struct format_state {
	struct trace_counts *counts;
	struct field_space space;
	struct buf texts; /* of meta */
	struct candle_spans spans;
	uint64_t events; /* records so far: index of the next one */
	uint64_t latest_ns;
	struct place meta, terminal, stats; /* stats: the first one */
	bool may_end_early;
	/* of meta */
	enum schema schema;
	char schema_text[64];
	enum run_id run_id;
	/* of terminal */
	bool complete, has_reason, blank_reason;
	uint64_t terminal_ns;
};

static int candle_begin(struct format_state **ret, struct trace_counts *counts,
			struct ts_error *err)
{
	struct format_state *st = calloc(1, sizeof(*st));

	if (!st)
		return ts_error_nomem(err);
	st->counts = counts;
	buf_init(&st->texts, SIZE_MAX);
	*ret = st;
	return 0;
}

static void candle_end(struct format_state *st)
{
	if (!st)
		return;
	field_space_done(&st->space);
	buf_done(&st->texts);
	candle_spans_done(&st->spans);
	free(st);
}

static void keep_place(struct place *place, const struct format_state *st, const struct line *line)
{
	struct ts_error shown = TS_ERROR_INIT;

	ts_error_excerpt(&shown, line->text, line->len, 0);
	place->line = line->number;
	place->byte = (int64_t)line->byte;
	place->event = (int64_t)st->events;
	memcpy(place->excerpt, shown.excerpt, sizeof(place->excerpt));
}

static void latest(struct format_state *st, uint64_t start_ns, uint64_t duration_ns)
{
	uint64_t end = u64_add_sat(start_ns, duration_ns);

	if (end > st->latest_ns)
		st->latest_ns = end;
}

static void derive_bytes(struct opt_u64 *bytes, struct ts_str dtype, const struct ts_shape *shape)
{
	uint64_t element = bytes->has ? 0 : candle_dtype_bytes(dtype);

	if (element) {
		bytes->v = u64_mul_sat(element, shape->product_sat);
		bytes->has = true;
	}
}

static enum run_id judge_run_id(struct ts_str id)
{
	if (id.n > RUN_ID_MAX)
		return RUN_ID_LONG;
	if (ts_str_starts(id, "sha256:"))
		return RUN_ID_LIKE_DIGEST;
	return memchr(id.p, 0, id.n) ? RUN_ID_NUL : RUN_ID_GOOD;
}

static int take_meta(struct format_state *st, struct candle_meta_record *meta,
		     const struct line *line, struct sink *sink, struct ts_error *err)
{
	struct row_meta *row = &meta->row;

	if (st->events)
		return ts_error_set(err, TS_E_META_NOT_FIRST,
				    st->meta.line ? "a second meta record"
						  : "meta is not the first record");
	keep_place(&st->meta, st, line);
	st->schema = ts_str_is(row->schema, "candle-graph/trace/10")  ? SCHEMA_TRACE10
		     : ts_str_is(row->schema, "candle-graph/trace/9") ? SCHEMA_TRACE9
								      : SCHEMA_OTHER;
	text_name(row->schema, st->schema_text, sizeof(st->schema_text));
	st->run_id = judge_run_id(row->run_id);
	if (candle_meta_texts(meta, &st->texts, err) < 0)
		return -1;
	return sink->row(sink, ROW_META, row, err);
}

static int take_tensor_stats(struct format_state *st, struct row_tensor_stats *row,
			     const struct line *line, struct sink *sink, struct ts_error *err)
{
	const char *broken = NULL;

	if (text_is_blank(row->label))
		broken = "label is blank";
	else if (row->shape.overflow)
		broken = "the product of shape exceeds 64 bits";
	else if (row->elements != row->shape.product)
		broken = "elements is not the product of shape";
	else if (row->non_finite > row->elements)
		broken = "non_finite exceeds elements";
	else if (row->rms < 0)
		broken = "rms is negative";
	else if (row->abs_max < 0)
		broken = "abs_max is negative";
	if (broken)
		return ts_error_set(err, TS_E_INVALID_TENSOR_STATS, "tensor_stats: %s", broken);
	if (!st->stats.line)
		keep_place(&st->stats, st, line);
	st->counts->tensor_stats++;
	return sink->row(sink, ROW_TENSOR_STATS, row, err);
}

static int take_terminal(struct format_state *st, struct row_terminal *row, const struct line *line,
			 struct sink *sink, struct ts_error *err)
{
	keep_place(&st->terminal, st, line);
	st->complete = ts_str_is(row->outcome, "complete");
	st->has_reason = row->reason.p != NULL;
	st->blank_reason = st->has_reason && text_is_blank(row->reason);
	st->terminal_ns = row->timestamp_ns;
	return sink->row(sink, ROW_TERMINAL, row, err);
}

/* A record that is good in itself: the rules about the stream (candle-trace.md 6), then its row. */
static int take_record(struct format_state *st, enum candle_kind kind, union candle_row *r,
		       const struct line *line, struct sink *sink, struct ts_error *err)
{
	struct trace_counts *counts = st->counts;

	if (st->terminal.line)
		return ts_error_set(err, TS_E_RECORD_AFTER_TERMINAL,
				    "a %s record follows the terminal record of line %llu",
				    candle_records[kind].kind,
				    (unsigned long long)st->terminal.line);
	switch (kind) {
	case CANDLE_META:
		return take_meta(st, &r->meta, line, sink, err);
	case CANDLE_SPAN_START:
		if (candle_spans_start(&st->spans, &r->span_start, err) < 0)
			return -1;
		counts->spans++;
		return sink->row(sink, ROW_SPAN, &r->span_start, err);
	case CANDLE_SPAN_END:
		if (candle_spans_end(&st->spans, &r->span_end, err) < 0)
			return -1;
		counts->closed_spans++;
		return 0;
	case CANDLE_OP:
		counts->ops++;
		latest(st, r->op.timestamp_ns, r->op.duration_ns);
		derive_bytes(&r->op.output_dense_bytes, r->op.dtype, &r->op.shape);
		return sink->row(sink, ROW_OP, &r->op, err);
	case CANDLE_TENSOR:
		counts->tensors++;
		derive_bytes(&r->tensor.dense_bytes, r->tensor.dtype, &r->tensor.shape);
		return sink->row(sink, ROW_TENSOR, &r->tensor, err);
	case CANDLE_TENSOR_STATS:
		return take_tensor_stats(st, &r->tensor_stats, line, sink, err);
	case CANDLE_MEMORY:
		counts->memory++;
		latest(st, r->memory.timestamp_ns, 0);
		return sink->row(sink, ROW_MEMORY, &r->memory, err);
	case CANDLE_DEVICE_MEMORY:
		counts->device_memory++;
		latest(st, r->device_memory.timestamp_ns, 0);
		return sink->row(sink, ROW_DEVICE_MEMORY, &r->device_memory, err);
	case CANDLE_DEVICE_INTERVAL:
		counts->device_intervals++;
		return sink->row(sink, ROW_DEVICE_INTERVAL, &r->device_interval, err);
	case CANDLE_GRADIENT:
		counts->gradients++;
		return sink->row(sink, ROW_GRADIENT, &r->gradient, err);
	case CANDLE_EDGE:
		if (r->edge.from_tensor.p)
			counts->data_edges++;
		else
			counts->call_edges++;
		return sink->row(sink, ROW_EDGE, &r->edge, err);
	case CANDLE_TERMINAL:
		return take_terminal(st, &r->terminal, line, sink, err);
	case CANDLE_KIND_COUNT:
		break;
	}
	CHECK(kind < CANDLE_KIND_COUNT);
	return -1;
}

/* Errors of a line get its place; bad_json has a better one. */
static int place_error(const struct line *line, struct ts_error *err)
{
	if (err->code->fate != TS_FATE_REFUSE || err->line)
		return -1;
	err->line = line->number;
	err->byte = (int64_t)line->byte;
	ts_error_excerpt(err, line->text, line->len, 0);
	return -1;
}

static int candle_record(struct format_state *st, const struct line *line, struct sink *sink,
			 struct ts_error *err)
{
	enum candle_kind kind = CANDLE_KIND_COUNT;
	struct line_json text = line_json_of(line);
	union candle_row r;

	st->counts->lines++;
	if (line->blank) {
		st->counts->blank++;
		return 0;
	}
	if (candle_decode(&text, &st->space, &kind, &r, err) < 0)
		return place_error(line, err);
	if (take_record(st, kind, &r, line, sink, err) < 0) {
		if (err->code->fate == TS_FATE_REFUSE)
			err->event = (int64_t)st->events;
		return place_error(line, err);
	}
	st->events++;
	st->counts->records++;
	return 0;
}

static int document_error(const struct place *place, enum ts_code_id id, const char *what,
			  struct ts_error *err)
{
	if (err->code)
		return -1;
	ts_error_set(err, id, "%s", what);
	err->line = place->line;
	err->byte = place->byte;
	err->event = place->event;
	memcpy(err->excerpt, place->excerpt, sizeof(err->excerpt));
	return -1;
}

static int check_terminal(struct format_state *st, struct ts_error *err)
{
	uint64_t spans_ns = candle_spans_latest(&st->spans);
	char what[128];

	if (st->complete && st->has_reason)
		return document_error(&st->terminal, TS_E_COMPLETE_WITH_REASON,
				      "outcome is complete and there is a reason", err);
	if (!st->complete && (!st->has_reason || st->blank_reason))
		return document_error(&st->terminal, TS_E_FAILED_WITHOUT_REASON,
				      st->has_reason ? "outcome is failed and reason is blank"
						     : "outcome is failed and there is no reason",
				      err);
	latest(st, spans_ns, 0);
	if (st->terminal_ns >= st->latest_ns)
		return 0;
	snprintf(what, sizeof(what), "terminal.timestamp_ns is %llu, the latest host time %llu",
		 (unsigned long long)st->terminal_ns, (unsigned long long)st->latest_ns);
	return document_error(&st->terminal, TS_E_TERMINAL_PRECEDES_EVIDENCE, what, err);
}

/* The rules about the whole document, in their order (candle-trace.md 7.1), then whether the
 * service can serve a run of that id (http-api.md 2.2). */
static int check_document(struct format_state *st, struct ts_error *err)
{
	static const char *const bad_run_id[] = {
		[RUN_ID_LONG] = "run_id is longer than 512 bytes",
		[RUN_ID_LIKE_DIGEST] = "run_id begins with sha256:",
		[RUN_ID_NUL] = "run_id holds U+0000",
	};
	char what[sizeof(st->schema_text) + 64];

	if (!st->meta.line)
		return ts_error_set(err, TS_E_MISSING_META, "the trace has no meta record");
	if (!st->terminal.line && !st->may_end_early)
		return ts_error_set(err, TS_E_MISSING_TERMINAL, "the trace has no terminal record");
	if (st->schema == SCHEMA_OTHER) {
		snprintf(what, sizeof(what), "meta.schema is \"%s\"", st->schema_text);
		return document_error(&st->meta, TS_E_UNSUPPORTED_SCHEMA, what, err);
	}
	if (st->schema == SCHEMA_TRACE9 && st->stats.line)
		return document_error(&st->stats, TS_E_TENSOR_STATS_IN_TRACE9,
				      "a tensor_stats record in a candle-graph/trace/9 file", err);
	if (st->terminal.line && check_terminal(st, err) < 0)
		return -1;
	if (st->run_id != RUN_ID_GOOD) {
		document_error(&st->meta, TS_E_BAD_RUN_ID, bad_run_id[st->run_id], err);
		return -1;
	}
	return 0;
}

static void candle_salvage(struct format_state *st)
{
	st->may_end_early = true;
}

static int candle_finish(struct format_state *st, struct sink *sink, struct ts_error *err)
{
	if (check_document(st, err) < 0)
		return -1;
	st->counts->no_terminal = !st->terminal.line;
	return candle_spans_finish(&st->spans, sink, err);
}

const struct ts_format format_candle = {
	.name = "candle-graph",
	.kind = RUN_EXECUTION,
	.begin = candle_begin,
	.record = candle_record,
	.salvage = candle_salvage,
	.finish = candle_finish,
	.end = candle_end,
};
