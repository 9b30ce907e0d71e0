/* request_fields.c: field tables of request trace records, in the order of the format's tables */
#include "request.h"

#include <stddef.h>

#define NEEDED FIELD_REQUIRED
#define OPTION FIELD_NULLABLE
#define INFORM (FIELD_NULLABLE | FIELD_INFO)

#define F(s, member, text, kind, mode)                                                             \
	{                                                                                          \
		text, kind, mode, offsetof(struct s, member), NULL, NULL                           \
	}
#define T(s, member, text, mode, table)                                                            \
	{                                                                                          \
		text, FIELD_OBJECT, mode, offsetof(struct s, member), &(table), NULL               \
	}
#define TABLE(name, list, s, count)                                                                \
	const struct field_table name = {.fields = list, .n = count, .size = sizeof(struct s)}

static const struct field context_fields[] = {
	F(request_context, session_id, "session_id", FIELD_STRING, NEEDED),
	F(request_context, parent_session_id, "parent_session_id", FIELD_STRING, OPTION),
};
static TABLE(context_table, context_fields, request_context, ARRAY_LEN(context_fields));

static const struct field replay_fields[] = {
	[REPLAY_BLOCK_SIZE] =
		F(request_replay, trace_block_size, "trace_block_size", FIELD_U64, NEEDED),
	[REPLAY_INPUT_LENGTH] = F(request_replay, input_length, "input_length", FIELD_U64, NEEDED),
	[REPLAY_INPUT_HASHES] =
		F(request_replay, input, "input_sequence_hashes", FIELD_U64S, NEEDED),
	[REPLAY_COMPLETION_HASHES] =
		F(request_replay, completion, "completion_sequence_hashes", FIELD_U64S, OPTION),
};
static TABLE(replay_table, replay_fields, request_replay, ARRAY_LEN(replay_fields));

static const struct field worker_fields[] = {
	F(request_worker, prefill_worker_id, "prefill_worker_id", FIELD_OPT_U64, INFORM),
	F(request_worker, prefill_dp_rank, "prefill_dp_rank", FIELD_OPT_U32, INFORM),
	F(request_worker, decode_worker_id, "decode_worker_id", FIELD_OPT_U64, INFORM),
	F(request_worker, decode_dp_rank, "decode_dp_rank", FIELD_OPT_U32, INFORM),
};
static TABLE(worker_table, worker_fields, request_worker, ARRAY_LEN(worker_fields));

static const struct field finish_fields[] = {
	F(request_finish, finish_reason, "finish_reason", FIELD_STRING, INFORM),
	F(request_finish, tool_calls, "tool_calls", FIELD_ARRAY_COUNT, INFORM),
};
static TABLE(finish_table, finish_fields, request_finish, ARRAY_LEN(finish_fields));

static const struct field body_fields[] = {
	[BODY_REQUEST_ID] = F(request_body, request_id, "request_id", FIELD_STRING, NEEDED),
	[BODY_OUTPUT_TOKENS] =
		F(request_body, output_tokens, "output_tokens", FIELD_OPT_U64, OPTION),
	[BODY_REQUEST_RECEIVED_MS] =
		F(request_body, request_received_ms, "request_received_ms", FIELD_OPT_U64, OPTION),
	[BODY_TOTAL_TIME_MS] =
		F(request_body, total_time_ms, "total_time_ms", FIELD_OPT_DOUBLE, OPTION),
	[BODY_REPLAY] = T(request_body, replay, "replay", OPTION, replay_table),
	[BODY_WORKER] = T(request_body, worker, "worker", INFORM, worker_table),
	[BODY_FINISH] = T(request_body, finish, "finish_reason_metadata", INFORM, finish_table),
	F(request_body, x_request_id, "x_request_id", FIELD_STRING, INFORM),
	F(request_body, model, "model", FIELD_STRING, INFORM),
	F(request_body, input_tokens, "input_tokens", FIELD_OPT_U64, INFORM),
	F(request_body, cached_tokens, "cached_tokens", FIELD_OPT_U64, INFORM),
	F(request_body, prefill_wait_time_ms, "prefill_wait_time_ms", FIELD_OPT_DOUBLE, INFORM),
	F(request_body, prefill_time_ms, "prefill_time_ms", FIELD_OPT_DOUBLE, INFORM),
	F(request_body, ttft_ms, "ttft_ms", FIELD_OPT_DOUBLE, INFORM),
	F(request_body, avg_itl_ms, "avg_itl_ms", FIELD_OPT_DOUBLE, INFORM),
	F(request_body, kv_hit_rate, "kv_hit_rate", FIELD_OPT_DOUBLE, INFORM),
	F(request_body, kv_transfer_estimated_latency_ms, "kv_transfer_estimated_latency_ms",
	  FIELD_OPT_DOUBLE, INFORM),
	F(request_body, queue_depth, "queue_depth", FIELD_OPT_U64, INFORM),
};
static TABLE(body_table, body_fields, request_body, ARRAY_LEN(body_fields));

static const struct field claude_fields[] = {
	F(request_claude, source_request_id, "source_request_id", FIELD_STRING, NEEDED),
	F(request_claude, consumer_request_id, "consumer_request_id", FIELD_STRING, OPTION),
	F(request_claude, child_session_id, "child_session_id", FIELD_STRING, OPTION),
	F(request_claude, execution_mode, "execution_mode", FIELD_STRING, NEEDED),
};
static TABLE(claude_table, claude_fields, request_claude, ARRAY_LEN(claude_fields));

static const struct field tool_fields[] = {
	[TOOL_CALL_ID] = F(request_tool, tool_call_id, "tool_call_id", FIELD_STRING, NEEDED),
	[TOOL_CLASS] = F(request_tool, tool_class, "tool_class", FIELD_STRING, NEEDED),
	[TOOL_CLAUDE] = T(request_tool, claude, "claude", OPTION, claude_table),
	F(request_tool, started_at_unix_ms, "started_at_unix_ms", FIELD_OPT_U64, OPTION),
	F(request_tool, ended_at_unix_ms, "ended_at_unix_ms", FIELD_OPT_U64, OPTION),
	F(request_tool, duration_ms, "duration_ms", FIELD_OPT_DOUBLE, OPTION),
	F(request_tool, status, "status", FIELD_STRING, OPTION),
	F(request_tool, output_bytes, "output_bytes", FIELD_OPT_U64, OPTION),
	F(request_tool, output_tokens, "output_tokens", FIELD_OPT_U64, OPTION),
	F(request_tool, error_type, "error_type", FIELD_STRING, OPTION),
};
static TABLE(tool_table, tool_fields, request_tool, ARRAY_LEN(tool_fields));

/* `bare` stands at the start of a line, so its offsets serve for the record as such too. `event`
 * may be anything: what is no object is told by its marks and never an error. */
static const struct field record_fields[] = {
	[RECORD_SCHEMA] = F(request_record, schema, "schema", FIELD_STRING, NEEDED),
	[RECORD_EVENT_TYPE] = F(request_record, event_type, "event_type", FIELD_STRING, NEEDED),
	[RECORD_EVENT_TIME] =
		F(request_record, event_time_unix_ms, "event_time_unix_ms", FIELD_U64, NEEDED),
	[RECORD_AGENT_CONTEXT] =
		T(request_record, agent_context, "agent_context", OPTION, context_table),
	[RECORD_REQUEST] = T(request_record, request, "request", OPTION, body_table),
	[RECORD_TOOL] = T(request_record, tool, "tool", OPTION, tool_table),
	[RECORD_EVENT] = T(request_line, event, "event", INFORM, request_record_table),
};
_Static_assert(offsetof(struct request_line, bare) == 0, "bare record stands first");

TABLE(request_record_table, record_fields, request_record, RECORD_EVENT);
TABLE(request_line_table, record_fields, request_line, ARRAY_LEN(record_fields));
