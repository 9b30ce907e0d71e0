/* rows.h: the row structs that formats hand to a sink, and the sink
 *
 * One struct a row kind. All pointers are borrowed until sink->row returns. The names are those
 * of the formats; the store's tables have a column for each member. Texts whose p is NULL and
 * opt_* without `has` are "no value" and become NULL.
 */
#ifndef TRACESPOOL_ROWS_H
#define TRACESPOOL_ROWS_H

#include "tracespool/error.h"
#include "tracespool/fields.h"
#include "tracespool/text.h"

enum run_kind { RUN_EXECUTION, RUN_REQUESTS };

enum row_kind {
	/* execution runs */
	ROW_META,
	ROW_SPAN,
	ROW_SPAN_TIME,
	ROW_OP,
	ROW_TENSOR,
	ROW_TENSOR_STATS,
	ROW_MEMORY,
	ROW_DEVICE_MEMORY,
	ROW_DEVICE_INTERVAL,
	ROW_GRADIENT,
	ROW_EDGE,
	ROW_TERMINAL,
	/* request runs */
	ROW_REQUEST,
	ROW_REQUEST_HASHES,
	ROW_TOOL,
	ROW_KIND_COUNT
};

/* Meta of an execution trace (candle-trace.md 5.1 to 5.3). One row. */
struct row_meta {
	struct field_marks marks;
	struct ts_str schema, run_id, correlation_id, entrypoint, phase, timestamp, device,
		timing_mode;
	uint64_t capture_step, warmup_steps;
	bool measured_region_device_synchronized;
	struct ts_str tags; /* compact JSON object, keys in bytewise order */
	struct ts_str candle_version;
	struct ts_str capture_contract;    /* compact JSON, export form of section 15 */
	struct ts_str comparison_identity; /* the same; or no value */
};

/* A span_start record. no counts from 1 in file order. */
struct row_span {
	struct field_marks marks;
	uint64_t no;
	struct ts_str id, parent_id, name, span_kind, step;
	uint64_t start_ns;
	bool measured;
};

/* What is known of a span at the end of the file: one for each span, in the order of no. */
struct row_span_time {
	uint64_t no;
	uint64_t parent_no; /* 0: no span of that id, or no parent_id */
	bool closed;
	uint64_t duration_ns; /* 0 while open */
};

struct row_op {
	struct field_marks marks;
	struct ts_str span_id, op_name, output, dtype, device;
	struct ts_str inputs; /* compact JSON array of strings */
	struct ts_shape shape;
	uint64_t duration_ns, timestamp_ns, input_dense_bytes;
	struct opt_u64 output_dense_bytes; /* derived ones filled in (candle-trace.md 8) */
};

struct row_tensor {
	struct field_marks marks;
	struct ts_str span_id, tensor_id, label, dtype, device, category;
	struct ts_shape shape;
	bool requires_grad;
	struct opt_u64 dense_bytes; /* derived ones filled in */
};

struct row_tensor_stats {
	struct field_marks marks;
	struct ts_str span_id, label, dtype;
	struct ts_shape shape;
	uint64_t elements, non_finite;
	double rms, abs_max, mean;
};

struct row_memory {
	struct field_marks marks;
	uint64_t timestamp_ns, bytes;
	struct ts_str storage_id, tensor_id, span_id, op_name, device, action, dtype, category;
	struct ts_shape shape;
};

struct row_device_memory {
	struct field_marks marks;
	uint64_t timestamp_ns;
	struct ts_str device;
	struct opt_u64 used_bytes, free_bytes, reserved_bytes, capacity_bytes;
};

struct row_device_interval {
	struct field_marks marks;
	struct ts_str span_id, device, stream_id, clock_id, backend;
	uint64_t start_ns, duration_ns;
};

struct row_gradient {
	struct field_marks marks;
	struct ts_str event_id, root, key, state;
	struct opt_double norm;
};

struct row_edge {
	struct field_marks marks;
	struct ts_str edge_kind, from_span, to_span, from_tensor, to_tensor;
	struct opt_u64 host_duration_ns;
};

struct row_terminal {
	struct field_marks marks;
	struct ts_str outcome, reason;
	uint64_t timestamp_ns;
};

/* A validated request_end record (request-trace.md 5, 7). no counts from 1 in load order. */
struct row_request {
	uint64_t no, shard, line;
	struct ts_str request_id, x_request_id, model, session_id, parent_session_id;
	uint64_t event_time_unix_ms, request_received_ms;
	int64_t start_ms, end_ms; /* 7.2 */
	uint64_t output_tokens, trace_block_size, input_length;
	uint64_t hash_count; /* of the input */
	struct opt_double total_time_ms;
	struct opt_u64 input_tokens, cached_tokens, queue_depth, tool_call_count;
	struct opt_double prefill_wait_time_ms, prefill_time_ms, ttft_ms, avg_itl_ms, kv_hit_rate,
		kv_transfer_estimated_latency_ms;
	struct opt_u64 prefill_worker_id, prefill_dp_rank, decode_worker_id, decode_dp_rank;
	struct ts_str finish_reason;
};

/* The hashes of the request of the same no. */
struct row_request_hashes {
	uint64_t no;
	const uint64_t *input;
	size_t input_count;
	const uint64_t *completion; /* NULL: no value; an empty array has a pointer */
	size_t completion_count;
};

/* A tool span (request-trace.md 8), in load order. */
struct row_tool {
	uint64_t shard, line;
	struct ts_str event_type, session_id, tool_call_id, tool_class, status, error_type;
	int64_t start_ms, end_ms; /* start_ms can be negative */
	double duration_ms;
	struct opt_u64 output_bytes, output_tokens;
	bool has_claude;
	struct ts_str source_request_id, consumer_request_id, child_session_id, execution_mode;
};

struct sink {
	/* Takes one row of the struct that kind names. */
	int (*row)(struct sink *sink, enum row_kind kind, const void *row, struct ts_error *err);
};

/* Counters of a drop, filled by the format (receipt `counts`, summary `lines`). */
/* What rows had on their way into the tables, so that nobody has to read them for it. */
struct rows_seen {
	uint64_t
		number_bits; /* all their u64 numbers or-ed: above 2^n - 1 only if one of them is */
	uint64_t shape_bytes; /* of the longest shape, as JSON */
};

struct trace_counts {
	uint64_t shards, lines, blank, records;
	/* execution */
	uint64_t spans, closed_spans, ops, tensors, tensor_stats, memory, device_memory,
		device_intervals, gradients, call_edges, data_edges;
	struct rows_seen seen; /* of the execution's rows */
	bool no_terminal; /* salvage only: the document has no terminal record and no such row */
	/* requests (request-trace.md 14, "lines") */
	uint64_t non_record, request_payload, request_end, tool_start, tool_terminal, tool_dropped,
		tools;
};

#endif
