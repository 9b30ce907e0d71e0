/* request.c: request traces: envelope, event types, conditions of a request, unique ids */
#include "request.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracespool/format.h"
#include "tracespool/map.h"

#define QUOTED(s) (int)((s).n < 200 ? (s).n : 200), (s).p

struct format_state {
	struct trace_counts *counts;
	struct field_space space;
	struct request_line line;
	struct strmap ids; /* request ids; their numbers are those of the requests less 1 */
	uint64_t *places;  /* of each request: shard and line, see place_pack */
	size_t places_cap;
};

/* Where a request was read, for the message about a second one of its id: 8 bytes each. */
#define PLACE_LINE_BITS 40
#define PLACE_LINE_MASK (((uint64_t)1 << PLACE_LINE_BITS) - 1)

static uint64_t place_pack(const struct line *line)
{
	return (uint64_t)line->shard << PLACE_LINE_BITS | (line->number & PLACE_LINE_MASK);
}

static int request_begin(struct format_state **ret, struct trace_counts *counts,
			 struct ts_error *err)
{
	struct format_state *st = calloc(1, sizeof(*st));

	if (!st)
		return ts_error_nomem(err);
	st->counts = counts;
	*ret = st;
	return 0;
}

static void request_end(struct format_state *st)
{
	if (!st)
		return;
	field_space_done(&st->space);
	strmap_done(&st->ids);
	free(st->places);
	free(st);
}

/* Conditions 3 to 9 of request-trace.md 7.1. */
static int check_request(const struct request_body *req, struct ts_error *err)
{
	const struct request_replay *replay = &req->replay;
	uint64_t size = replay->trace_block_size, length = replay->input_length, total, need;

	if (!size)
		return ts_error_set(err, TS_E_ZERO_BLOCK_SIZE,
				    "request.replay.trace_block_size is 0");
	need = request_blocks(length, size);
	if (replay->input.n != need)
		return ts_error_set(err, TS_E_HASH_COUNT_MISMATCH,
				    "%" PRIu64 " tokens at block size %" PRIu64 " need %" PRIu64
				    " hashes, got %zu",
				    length, size, need, replay->input.n);
	if (!req->request_received_ms.has)
		return ts_error_set(err, TS_E_MISSING_REQUEST_RECEIVED_MS,
				    "request.request_received_ms has no value");
	if (!req->output_tokens.has)
		return ts_error_set(err, TS_E_MISSING_OUTPUT_TOKENS,
				    "request.output_tokens has no value");
	if (!fields_has(&replay->marks, REPLAY_COMPLETION_HASHES))
		return 0;

	if (__builtin_add_overflow(length, req->output_tokens.v, &total))
		return ts_error_set(err, TS_E_COMPLETION_LENGTH_OVERFLOW,
				    "input_length %" PRIu64 " and output_tokens %" PRIu64
				    " exceed 64 bits together",
				    length, req->output_tokens.v);
	need = request_blocks(total, size);
	if (replay->completion.n != need)
		return ts_error_set(err, TS_E_COMPLETION_HASH_COUNT_MISMATCH,
				    "%" PRIu64 " tokens at block size %" PRIu64 " need %" PRIu64
				    " completion hashes, got %zu",
				    total, size, need, replay->completion.n);
	/* The counts are right, so both lists have the full blocks of the prompt. */
	for (uint64_t i = 0; i < length / size; i++)
		if (replay->completion.v[i] != replay->input.v[i])
			return ts_error_set(err, TS_E_COMPLETION_PREFIX_MISMATCH,
					    "completion_sequence_hashes[%" PRIu64 "] is %" PRIu64
					    ", input_sequence_hashes[%" PRIu64 "] is %" PRIu64,
					    i, replay->completion.v[i], i, replay->input.v[i]);
	return 0;
}

static int note_id(struct format_state *st, struct ts_str id, const struct line *line,
		   struct ts_error *err)
{
	uint32_t number;
	bool fresh;

	if (st->ids.count == st->places_cap) {
		size_t cap = st->places_cap ? st->places_cap + st->places_cap / 2 : 256;
		uint64_t *bigger = reallocarray(st->places, cap, sizeof(*bigger));

		if (!bigger)
			return ts_error_nomem(err);
		st->places = bigger;
		st->places_cap = cap;
	}
	number = strmap_add(&st->ids, id, &fresh);
	if (number == STRMAP_NONE)
		return ts_error_nomem(err);
	if (!fresh) {
		uint64_t place = st->places[number];
		uint64_t at = place & PLACE_LINE_MASK;
		uint64_t shard = place >> PLACE_LINE_BITS;

		if (shard == line->shard)
			return ts_error_set(err, TS_E_DUPLICATE_REQUEST_ID,
					    "request_id \"%.*s\" again, first on line %" PRIu64,
					    QUOTED(id), at);
		return ts_error_set(err, TS_E_DUPLICATE_REQUEST_ID,
				    "request_id \"%.*s\" again, first on line %" PRIu64
				    " of shard %" PRIu64 " (from 0)",
				    QUOTED(id), at, shard);
	}
	st->places[number] = place_pack(line);
	return 0;
}

static int emit_request(const struct request_record *rec, const struct line *line, uint64_t no,
			struct sink *sink, struct ts_error *err)
{
	const struct request_body *req = &rec->request;
	const struct request_replay *replay = &req->replay;
	struct row_request row = {
		.no = no,
		.shard = line->shard,
		.line = line->number,
		.request_id = req->request_id,
		.x_request_id = req->x_request_id,
		.model = req->model,
		.event_time_unix_ms = rec->event_time_unix_ms,
		.request_received_ms = req->request_received_ms.v,
		.output_tokens = req->output_tokens.v,
		.trace_block_size = replay->trace_block_size,
		.input_length = replay->input_length,
		.hash_count = replay->input.n,
		.total_time_ms = req->total_time_ms,
		.input_tokens = req->input_tokens,
		.cached_tokens = req->cached_tokens,
		.queue_depth = req->queue_depth,
		.prefill_wait_time_ms = req->prefill_wait_time_ms,
		.prefill_time_ms = req->prefill_time_ms,
		.ttft_ms = req->ttft_ms,
		.avg_itl_ms = req->avg_itl_ms,
		.kv_hit_rate = req->kv_hit_rate,
		.kv_transfer_estimated_latency_ms = req->kv_transfer_estimated_latency_ms,
	};
	struct row_request_hashes hashes = {
		.no = no,
		.input = replay->input.v,
		.input_count = replay->input.n,
	};

	request_times(rec, &row.start_ms, &row.end_ms);
	if (fields_has(&rec->marks, RECORD_AGENT_CONTEXT)) {
		row.session_id = rec->agent_context.session_id;
		row.parent_session_id = rec->agent_context.parent_session_id;
	}
	if (fields_has(&req->marks, BODY_WORKER)) {
		row.prefill_worker_id = req->worker.prefill_worker_id;
		row.prefill_dp_rank = req->worker.prefill_dp_rank;
		row.decode_worker_id = req->worker.decode_worker_id;
		row.decode_dp_rank = req->worker.decode_dp_rank;
	}
	if (fields_has(&req->marks, BODY_FINISH)) {
		row.finish_reason = req->finish.finish_reason;
		row.tool_call_count = req->finish.tool_calls;
	}
	if (fields_has(&replay->marks, REPLAY_COMPLETION_HASHES)) {
		static const uint64_t none[1];

		hashes.completion = replay->completion.n ? replay->completion.v : none;
		hashes.completion_count = replay->completion.n;
	}
	if (sink->row(sink, ROW_REQUEST, &row, err) < 0)
		return -1;
	return sink->row(sink, ROW_REQUEST_HASHES, &hashes, err);
}

static int take_request(struct format_state *st, const struct request_record *rec,
			const struct line *line, struct sink *sink, struct ts_error *err)
{
	const struct request_body *req = &rec->request;

	st->counts->request_end++;
	if (!fields_has(&rec->marks, RECORD_REQUEST))
		return ts_error_set(err, TS_E_MISSING_REQUEST, "request has no value");
	if (!fields_has(&req->marks, BODY_REPLAY))
		return ts_error_set(err, TS_E_MISSING_REPLAY, "request.replay has no value");
	if (check_request(req, err) < 0 || note_id(st, req->request_id, line, err) < 0)
		return -1;
	return emit_request(rec, line, st->ids.count, sink, err);
}

static int take_tool(struct format_state *st, const struct request_record *rec,
		     const struct line *line, struct sink *sink, struct ts_error *err)
{
	struct row_tool row;

	st->counts->tool_terminal++;
	if (!request_tool_span(rec, &row)) {
		st->counts->tool_dropped++;
		return 0;
	}
	row.shard = line->shard;
	row.line = line->number;
	st->counts->tools++;
	return sink->row(sink, ROW_TOOL, &row, err);
}

/* rec is the event of the line (4.1). */
static int take_record(struct format_state *st, struct request_record *rec, const struct line *line,
		       struct sink *sink, struct ts_error *err)
{
	if (fields_has(&rec->marks, RECORD_EVENT_TYPE) &&
	    ts_str_is(rec->event_type, "request_payload")) {
		st->counts->request_payload++;
		st->counts->records++;
		return 0;
	}
	/* schema is the first field of all, so its value is looked at before any other field. */
	if (fields_has(&rec->marks, RECORD_SCHEMA) && !ts_str_is(rec->schema, REQUEST_SCHEMA))
		return ts_error_set(err, TS_E_UNSUPPORTED_SCHEMA,
				    "schema is \"%.*s\", not " REQUEST_SCHEMA, QUOTED(rec->schema));
	if (fields_check(&request_record_table, rec, NULL, err) < 0)
		return -1;

	st->counts->records++;
	if (ts_str_is(rec->event_type, "request_end"))
		return take_request(st, rec, line, sink, err);
	if (ts_str_is(rec->event_type, "tool_end") || ts_str_is(rec->event_type, "tool_error"))
		return take_tool(st, rec, line, sink, err);
	if (ts_str_is(rec->event_type, "tool_start")) {
		st->counts->tool_start++;
		return 0;
	}
	return ts_error_set(err, TS_E_UNSUPPORTED_EVENT, "event_type is \"%.*s\"",
			    QUOTED(rec->event_type));
}

/* Reads the whole line. 1: *ret is its event; 0: it has none; -1: bad_json. */
static int read_line(struct format_state *st, const struct line *line, struct request_record **ret,
		     struct ts_error *err)
{
	struct json j;
	struct json_value value;
	enum json_type type;
	bool fine = true;

	fields_begin(&st->space);
	json_begin(&j, line->text, line->len, &st->space.scratch);
	type = json_value(&j, &value);
	if (type == JSON_OBJECT)
		fine = fields_read(&j, &request_line_table, &st->line, &st->space);
	else if (type == JSON_ARRAY)
		for (bool first = true; json_element(&j, first); first = false)
			json_skip(&j);
	if (!fine || type == JSON_NONE || json_end(&j) < 0) {
		if (st->space.scratch.failed)
			return ts_error_nomem(err);
		return json_fail(&j, line->number, line->byte, err);
	}
	if (type != JSON_OBJECT)
		return 0;
	if (!(st->line.bare.marks.seen >> RECORD_EVENT & 1)) {
		*ret = &st->line.bare;
		return 1;
	}
	if (!fields_has(&st->line.bare.marks, RECORD_EVENT))
		return 0;
	*ret = &st->line.event;
	return 1;
}

static int request_record(struct format_state *st, const struct line *line, struct sink *sink,
			  struct ts_error *err)
{
	struct request_record *rec = NULL;
	int event;

	st->counts->lines++;
	if (line->blank) {
		st->counts->blank++;
		return 0;
	}
	event = read_line(st, line, &rec, err);
	if (event == 0) {
		st->counts->non_record++;
		return 0;
	}
	if (event > 0 && take_record(st, rec, line, sink, err) == 0)
		return 0;
	/* What comes from the sink is not about this line. */
	if (err->code->fate == TS_FATE_REFUSE) {
		if (!err->line) {
			err->line = line->number;
			err->byte = (int64_t)line->byte;
		}
		if (!err->excerpt[0])
			ts_error_excerpt(err, line->text, line->len, 0);
	}
	return -1;
}

static int request_finish(struct format_state *st, struct sink *sink, struct ts_error *err)
{
	(void)sink;
	if (!st->counts->request_end)
		return ts_error_set(err, TS_E_NO_REQUESTS, "the run has no request_end record");
	return 0;
}

const struct ts_format format_request = {
	.name = "dynamo-request",
	.kind = RUN_REQUESTS,
	.begin = request_begin,
	.record = request_record,
	.finish = request_finish,
	.end = request_end,
};
