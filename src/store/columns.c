/* columns.c: where the columns of each table of a run file lie in the row structs */
#include <stddef.h>

#include "batch.h"

#define TEXT(s, m)                                                                                 \
	{                                                                                          \
#m, COLUMN_TEXT, offsetof(struct s, m), 0                                          \
	}
#define SHAPE(s, m)                                                                                \
	{                                                                                          \
#m, COLUMN_TEXT, offsetof(struct s, m.json), 0                                     \
	}
#define U64(s, m)                                                                                  \
	{                                                                                          \
#m, COLUMN_U64, offsetof(struct s, m), 0                                           \
	}
#define OPT_U64(s, m)                                                                              \
	{                                                                                          \
#m, COLUMN_OPT_U64, offsetof(struct s, m), 0                                       \
	}
#define I64(s, m)                                                                                  \
	{                                                                                          \
#m, COLUMN_I64, offsetof(struct s, m), 0                                           \
	}
#define BOOL(s, m)                                                                                 \
	{                                                                                          \
#m, COLUMN_BOOL, offsetof(struct s, m), 0                                          \
	}
#define DOUBLE(s, m)                                                                               \
	{                                                                                          \
#m, COLUMN_DOUBLE, offsetof(struct s, m), 0                                        \
	}
#define OPT_DOUBLE(s, m)                                                                           \
	{                                                                                          \
#m, COLUMN_OPT_DOUBLE, offsetof(struct s, m), 0                                    \
	}
#define HASHES(s, m)                                                                               \
	{                                                                                          \
#m, COLUMN_HASHES, offsetof(struct s, m), offsetof(struct s, m##_count)            \
	}
#define NUMBER                                                                                     \
	{                                                                                          \
		"no", COLUMN_NUMBER, 0, 0                                                          \
	}
#define END                                                                                        \
	{                                                                                          \
		NULL, COLUMN_NUMBER, 0, 0                                                          \
	}

static const struct column meta[] = {
	TEXT(row_meta, schema),
	TEXT(row_meta, run_id),
	TEXT(row_meta, correlation_id),
	TEXT(row_meta, entrypoint),
	TEXT(row_meta, phase),
	TEXT(row_meta, timestamp),
	U64(row_meta, capture_step),
	U64(row_meta, warmup_steps),
	TEXT(row_meta, device),
	BOOL(row_meta, measured_region_device_synchronized),
	TEXT(row_meta, timing_mode),
	TEXT(row_meta, capture_contract),
	TEXT(row_meta, comparison_identity),
	TEXT(row_meta, tags),
	TEXT(row_meta, candle_version),
	END,
};

static const struct column span[] = {
	U64(row_span, no),    TEXT(row_span, id),        TEXT(row_span, parent_id),
	TEXT(row_span, name), TEXT(row_span, span_kind), BOOL(row_span, measured),
	TEXT(row_span, step), U64(row_span, start_ns),   END,
};

static const struct column span_time[] = {
	U64(row_span_time, no),
	U64(row_span_time, parent_no),
	BOOL(row_span_time, closed),
	U64(row_span_time, duration_ns),
	END,
};

static const struct column op[] = {
	TEXT(row_op, span_id),          TEXT(row_op, op_name),
	TEXT(row_op, inputs),           TEXT(row_op, output),
	SHAPE(row_op, shape),           TEXT(row_op, dtype),
	TEXT(row_op, device),           U64(row_op, duration_ns),
	U64(row_op, timestamp_ns),      OPT_U64(row_op, output_dense_bytes),
	U64(row_op, input_dense_bytes), END,
};

static const struct column tensor[] = {
	TEXT(row_tensor, span_id),       TEXT(row_tensor, tensor_id),
	TEXT(row_tensor, label),         SHAPE(row_tensor, shape),
	TEXT(row_tensor, dtype),         TEXT(row_tensor, device),
	BOOL(row_tensor, requires_grad), OPT_U64(row_tensor, dense_bytes),
	TEXT(row_tensor, category),      END,
};

static const struct column tensor_stats[] = {
	TEXT(row_tensor_stats, span_id), TEXT(row_tensor_stats, label),
	SHAPE(row_tensor_stats, shape),  TEXT(row_tensor_stats, dtype),
	U64(row_tensor_stats, elements), U64(row_tensor_stats, non_finite),
	DOUBLE(row_tensor_stats, rms),   DOUBLE(row_tensor_stats, abs_max),
	DOUBLE(row_tensor_stats, mean),  END,
};

static const struct column memory[] = {
	U64(row_memory, timestamp_ns), TEXT(row_memory, storage_id), TEXT(row_memory, tensor_id),
	TEXT(row_memory, span_id),     TEXT(row_memory, op_name),    TEXT(row_memory, device),
	U64(row_memory, bytes),        TEXT(row_memory, action),     SHAPE(row_memory, shape),
	TEXT(row_memory, dtype),       TEXT(row_memory, category),   END,
};

static const struct column device_memory[] = {
	U64(row_device_memory, timestamp_ns),
	TEXT(row_device_memory, device),
	OPT_U64(row_device_memory, used_bytes),
	OPT_U64(row_device_memory, free_bytes),
	OPT_U64(row_device_memory, reserved_bytes),
	OPT_U64(row_device_memory, capacity_bytes),
	END,
};

static const struct column device_interval[] = {
	TEXT(row_device_interval, span_id),    TEXT(row_device_interval, device),
	TEXT(row_device_interval, stream_id),  TEXT(row_device_interval, clock_id),
	TEXT(row_device_interval, backend),    U64(row_device_interval, start_ns),
	U64(row_device_interval, duration_ns), END,
};

static const struct column gradient[] = {
	TEXT(row_gradient, event_id), TEXT(row_gradient, root),       TEXT(row_gradient, key),
	TEXT(row_gradient, state),    OPT_DOUBLE(row_gradient, norm), END,
};

static const struct column edge[] = {
	TEXT(row_edge, edge_kind),
	TEXT(row_edge, from_span),
	TEXT(row_edge, to_span),
	OPT_U64(row_edge, host_duration_ns),
	TEXT(row_edge, from_tensor),
	TEXT(row_edge, to_tensor),
	END,
};

static const struct column terminal[] = {
	TEXT(row_terminal, outcome),
	U64(row_terminal, timestamp_ns),
	TEXT(row_terminal, reason),
	END,
};

static const struct column request[] = {
	U64(row_request, no),
	U64(row_request, shard),
	U64(row_request, line),
	TEXT(row_request, request_id),
	TEXT(row_request, x_request_id),
	TEXT(row_request, model),
	TEXT(row_request, session_id),
	TEXT(row_request, parent_session_id),
	U64(row_request, event_time_unix_ms),
	U64(row_request, request_received_ms),
	I64(row_request, start_ms),
	I64(row_request, end_ms),
	U64(row_request, output_tokens),
	U64(row_request, trace_block_size),
	U64(row_request, input_length),
	U64(row_request, hash_count),
	OPT_DOUBLE(row_request, total_time_ms),
	OPT_U64(row_request, input_tokens),
	OPT_U64(row_request, cached_tokens),
	OPT_U64(row_request, queue_depth),
	OPT_U64(row_request, tool_call_count),
	OPT_DOUBLE(row_request, prefill_wait_time_ms),
	OPT_DOUBLE(row_request, prefill_time_ms),
	OPT_DOUBLE(row_request, ttft_ms),
	OPT_DOUBLE(row_request, avg_itl_ms),
	OPT_DOUBLE(row_request, kv_hit_rate),
	OPT_DOUBLE(row_request, kv_transfer_estimated_latency_ms),
	OPT_U64(row_request, prefill_worker_id),
	OPT_U64(row_request, prefill_dp_rank),
	OPT_U64(row_request, decode_worker_id),
	OPT_U64(row_request, decode_dp_rank),
	TEXT(row_request, finish_reason),
	END,
};

static const struct column request_hashes[] = {
	U64(row_request_hashes, no),
	HASHES(row_request_hashes, input),
	HASHES(row_request_hashes, completion),
	END,
};

static const struct column tool[] = {
	NUMBER,
	U64(row_tool, shard),
	U64(row_tool, line),
	TEXT(row_tool, event_type),
	TEXT(row_tool, session_id),
	TEXT(row_tool, tool_call_id),
	TEXT(row_tool, tool_class),
	TEXT(row_tool, status),
	TEXT(row_tool, error_type),
	I64(row_tool, start_ms),
	I64(row_tool, end_ms),
	DOUBLE(row_tool, duration_ms),
	OPT_U64(row_tool, output_bytes),
	OPT_U64(row_tool, output_tokens),
	BOOL(row_tool, has_claude),
	TEXT(row_tool, source_request_id),
	TEXT(row_tool, consumer_request_id),
	TEXT(row_tool, child_session_id),
	TEXT(row_tool, execution_mode),
	END,
};

#define ROWS(name, kind)                                                                           \
	{                                                                                          \
#name, #name "_rows", sizeof(struct row_##name), name, kind                        \
	}

const struct row_shape row_shapes[ROW_KIND_COUNT] = {
	[ROW_META] = ROWS(meta, RUN_EXECUTION),
	[ROW_SPAN] = ROWS(span, RUN_EXECUTION),
	[ROW_SPAN_TIME] = ROWS(span_time, RUN_EXECUTION),
	[ROW_OP] = ROWS(op, RUN_EXECUTION),
	[ROW_TENSOR] = ROWS(tensor, RUN_EXECUTION),
	[ROW_TENSOR_STATS] = ROWS(tensor_stats, RUN_EXECUTION),
	[ROW_MEMORY] = ROWS(memory, RUN_EXECUTION),
	[ROW_DEVICE_MEMORY] = ROWS(device_memory, RUN_EXECUTION),
	[ROW_DEVICE_INTERVAL] = ROWS(device_interval, RUN_EXECUTION),
	[ROW_GRADIENT] = ROWS(gradient, RUN_EXECUTION),
	[ROW_EDGE] = ROWS(edge, RUN_EXECUTION),
	[ROW_TERMINAL] = ROWS(terminal, RUN_EXECUTION),
	[ROW_REQUEST] = ROWS(request, RUN_REQUESTS),
	[ROW_REQUEST_HASHES] = {"request_hashes", "request_hash_rows",
				sizeof(struct row_request_hashes), request_hashes, RUN_REQUESTS},
	[ROW_TOOL] = ROWS(tool, RUN_REQUESTS),
};
