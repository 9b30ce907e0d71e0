/* request.h: what the files of the request trace format share: the record as its tables fill it,
 * and the rules of times and tool spans
 *
 * All strings and arrays are borrowed from the line or the field space until the next line.
 */
#ifndef FORMAT_REQUEST_H
#define FORMAT_REQUEST_H

#include "tracespool/fields.h"
#include "tracespool/rows.h"

#define REQUEST_SCHEMA "dynamo.request.trace.v1"

struct request_context { /* agent_context, 5.2 */
	struct field_marks marks;
	struct ts_str session_id, parent_session_id;
};

struct request_replay { /* request.replay, 5.4 */
	struct field_marks marks;
	uint64_t trace_block_size, input_length;
	struct field_u64s input, completion;
};

struct request_worker { /* request.worker, 5.3 */
	struct field_marks marks;
	struct opt_u64 prefill_worker_id, prefill_dp_rank, decode_worker_id, decode_dp_rank;
};

struct request_finish { /* request.finish_reason_metadata, 5.3 */
	struct field_marks marks;
	struct ts_str finish_reason;
	struct opt_u64 tool_calls; /* their number */
};

struct request_body { /* request, 5.3 */
	struct field_marks marks;
	struct ts_str request_id, x_request_id, model;
	struct opt_u64 output_tokens, request_received_ms, input_tokens, cached_tokens, queue_depth;
	struct opt_double total_time_ms, prefill_wait_time_ms, prefill_time_ms, ttft_ms, avg_itl_ms,
		kv_hit_rate, kv_transfer_estimated_latency_ms;
	struct request_replay replay;
	struct request_worker worker;
	struct request_finish finish;
};

struct request_claude { /* tool.claude, 5.6 */
	struct field_marks marks;
	struct ts_str source_request_id, consumer_request_id, child_session_id, execution_mode;
};

struct request_tool { /* tool, 5.5 */
	struct field_marks marks;
	struct ts_str tool_call_id, tool_class, status, error_type;
	struct opt_u64 started_at_unix_ms, ended_at_unix_ms, output_bytes, output_tokens;
	struct opt_double duration_ms;
	struct request_claude claude;
};

struct request_record { /* 5.1 */
	struct field_marks marks;
	struct ts_str schema, event_type;
	uint64_t event_time_unix_ms;
	struct request_context agent_context;
	struct request_body request;
	struct request_tool tool;
};

/* A line's object: the members of a bare record, and `event` (4.1). One pass fills both, since
 * which of them is the record shows only at the end of the line. */
struct request_line {
	struct request_record bare; /* its marks are those of the line's object */
	struct request_record event;
};

/* Field numbers in the tables that the rules ask for by name. */
enum {
	RECORD_SCHEMA,
	RECORD_EVENT_TYPE,
	RECORD_EVENT_TIME,
	RECORD_AGENT_CONTEXT,
	RECORD_REQUEST,
	RECORD_TOOL,
	RECORD_EVENT /* in request_line_table only */
};
enum {
	BODY_REQUEST_ID,
	BODY_OUTPUT_TOKENS,
	BODY_REQUEST_RECEIVED_MS,
	BODY_TOTAL_TIME_MS,
	BODY_REPLAY,
	BODY_WORKER,
	BODY_FINISH
};
enum { REPLAY_BLOCK_SIZE, REPLAY_INPUT_LENGTH, REPLAY_INPUT_HASHES, REPLAY_COMPLETION_HASHES };
enum { TOOL_CALL_ID, TOOL_CLASS, TOOL_CLAUDE };

extern const struct field_table request_record_table; /* of a struct request_record */
extern const struct field_table request_line_table;   /* of a struct request_line */

/* Number of blocks of n tokens; b is not 0. */
static inline uint64_t request_blocks(uint64_t n, uint64_t b)
{
	return n / b + (n % b > 0);
}

/* max(d, 0) rounded to the nearest whole number, halves away from zero, saturated (7.2). */
uint64_t request_round(double d);

/* start_ms and end_ms of a request whose request_received_ms has a value (7.2). */
void request_times(const struct request_record *rec, int64_t *ret_start, int64_t *ret_end);

/* Fills the span of a tool_end or tool_error record (section 8), without its place. False: the
 * record is dropped. */
bool request_tool_span(const struct request_record *rec, struct row_tool *ret);

#endif
