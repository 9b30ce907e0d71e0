/* lists_run.c: the lists of the file of a request run: requests, tools, sessions (http-api.md 4.1,
 * 4.3)
 */
#include "tracespool/list.h"

static const struct list_column request_columns[] = {
	{"request_id", LIST_TEXT, "r.request_id", NULL, false},
	{"x_request_id", LIST_TEXT, "r.x_request_id", NULL, false},
	{"model", LIST_TEXT, "r.model", NULL, false},
	{"request_received_ms", LIST_U64, "r.request_received_ms", NULL, false},
	{"start_ms", LIST_I64, "r.start_ms", NULL, false},
	{"end_ms", LIST_I64, "r.end_ms", NULL, false},
	{"arrival_offset_ms", LIST_I64, "r.start_ms - (select min(start_ms) from request_rows)",
	 NULL, false},
	{"latency_ms", LIST_I64, "r.end_ms - r.start_ms", NULL, false},
	{"event_time_unix_ms", LIST_U64, "r.event_time_unix_ms", NULL, false},
	{"input_length", LIST_U64, "r.input_length", NULL, false},
	{"input_tokens", LIST_U64, "r.input_tokens", NULL, false},
	{"output_tokens", LIST_U64, "r.output_tokens", NULL, false},
	{"cached_tokens", LIST_U64, "r.cached_tokens", NULL, false},
	{"prefill_wait_time_ms", LIST_DOUBLE, "r.prefill_wait_time_ms", NULL, false},
	{"prefill_time_ms", LIST_DOUBLE, "r.prefill_time_ms", NULL, false},
	{"ttft_ms", LIST_DOUBLE, "r.ttft_ms", NULL, false},
	{"total_time_ms", LIST_DOUBLE, "r.total_time_ms", NULL, false},
	{"avg_itl_ms", LIST_DOUBLE, "r.avg_itl_ms", NULL, false},
	{"kv_hit_rate", LIST_DOUBLE, "r.kv_hit_rate", NULL, false},
	{"kv_transfer_estimated_latency_ms", LIST_DOUBLE, "r.kv_transfer_estimated_latency_ms",
	 NULL, false},
	{"queue_depth", LIST_U64, "r.queue_depth", NULL, false},
	{"session_id", LIST_TEXT, "r.session_id", NULL, false},
	{"parent_session_id", LIST_TEXT, "r.parent_session_id", NULL, false},
	{"finish_reason", LIST_TEXT, "r.finish_reason", NULL, false},
	{"tool_call_count", LIST_U64, "r.tool_call_count", NULL, false},
	{"worker.prefill_worker_id", LIST_ID64, "r.prefill_worker_id", NULL, false},
	{"worker.prefill_dp_rank", LIST_U64, "r.prefill_dp_rank", NULL, false},
	{"worker.decode_worker_id", LIST_ID64, "r.decode_worker_id", NULL, false},
	{"worker.decode_dp_rank", LIST_U64, "r.decode_dp_rank", NULL, false},
	{"trace_block_size", LIST_U64, "r.trace_block_size", NULL, false},
	{"hash_count", LIST_U64, "r.hash_count", NULL, false},
	{"shard", LIST_U64, "r.shard", NULL, false},
	{"line", LIST_U64, "r.line", NULL, false},
	{"replay.trace_block_size", LIST_U64, "r.trace_block_size", "replay", false},
	{"replay.input_length", LIST_U64, "r.input_length", "replay", false},
	{"replay.input_sequence_hashes", LIST_HASHES,
	 "(select h.input from request_hash_rows h where h.no = r.no)", "replay", false},
	{"replay.completion_sequence_hashes", LIST_HASHES,
	 "(select h.completion from request_hash_rows h where h.no = r.no)", "replay", true},
	{NULL, LIST_HIDDEN, NULL, NULL, false},
};

static const struct list_filter request_filters[] = {
	{"session_id", LIST_EQ, LIST_TEXT, "r.session_id", NULL, NULL},
	{"parent_session_id", LIST_EQ, LIST_TEXT, "r.parent_session_id", NULL, NULL},
	{"model", LIST_EQ, LIST_TEXT, "r.model", NULL, NULL},
	{"finish_reason", LIST_EQ, LIST_TEXT, "r.finish_reason", NULL, NULL},
	{"from_ms", LIST_MIN, LIST_I64, "r.start_ms", NULL, NULL},
	{"to_ms", LIST_BELOW, LIST_I64, "r.start_ms", NULL, NULL},
	{"min_total_time_ms", LIST_MIN, LIST_DOUBLE, "r.total_time_ms", NULL, NULL},
	{"min_input_length", LIST_MIN, LIST_U64, "r.input_length", NULL, NULL},
	{"has_tools", LIST_SQL, LIST_BOOL, "coalesce(r.tool_call_count, 0) > 0", NULL, NULL},
	{NULL, LIST_EQ, LIST_TEXT, NULL, NULL, NULL},
};

static const struct list_sort request_sorts[] = {
	{"start_ms", {"r.start_ms", "r.end_ms", "r.request_id"}, false},
	{"-latency_ms", {"r.end_ms - r.start_ms", "r.request_id"}, false},
	{"-ttft_ms", {"r.ttft_ms", "r.request_id"}, true},
	{"-input_length", {"r.input_length", "r.request_id"}, false},
	{"-output_tokens", {"r.output_tokens", "r.request_id"}, false},
	{"line", {"r.no"}, false},
	{NULL, {NULL}, false},
};

const struct list list_requests = {
	.name = "requests",
	.schema = "tracespool/request-list/1",
	.from = "request_rows r",
	.columns = request_columns,
	.filters = request_filters,
	.sorts = request_sorts,
	.row_number = "r.no",
};

static const struct list_column tool_columns[] = {
	{"tool_call_id", LIST_TEXT, "t.tool_call_id", NULL, false},
	{"tool_class", LIST_TEXT, "t.tool_class", NULL, false},
	{"event_type", LIST_TEXT, "t.event_type", NULL, false},
	{"status", LIST_TEXT, "t.status", NULL, false},
	{"start_ms", LIST_I64, "t.start_ms", NULL, false},
	{"end_ms", LIST_I64, "t.end_ms", NULL, false},
	{"duration_ms", LIST_DOUBLE, "t.duration_ms", NULL, false},
	{"output_tokens", LIST_U64, "t.output_tokens", NULL, false},
	{"output_bytes", LIST_U64, "t.output_bytes", NULL, false},
	{"error_type", LIST_TEXT, "t.error_type", NULL, false},
	{"session_id", LIST_TEXT, "t.session_id", NULL, false},
	{"shard", LIST_U64, "t.shard", NULL, false},
	{"line", LIST_U64, "t.line", NULL, false},
	{NULL, LIST_HIDDEN, NULL, NULL, false},
};

static const struct list_filter tool_filters[] = {
	{"session_id", LIST_EQ, LIST_TEXT, "t.session_id", NULL, NULL},
	{"tool_class", LIST_EQ, LIST_TEXT, "t.tool_class", NULL, NULL},
	{"status", LIST_EQ, LIST_TEXT, "t.status", NULL, NULL},
	{NULL, LIST_EQ, LIST_TEXT, NULL, NULL, NULL},
};

static const struct list_sort tool_sorts[] = {
	{"line", {"t.no"}, false},
	{NULL, {NULL}, false},
};

const struct list list_tools = {
	.name = "tools",
	.schema = "tracespool/tool-list/1",
	.from = "tool_rows t",
	.columns = tool_columns,
	.filters = tool_filters,
	.sorts = tool_sorts,
	.row_number = "t.no",
	.one_way = true,
};

static const struct list_column session_columns[] = {
	{"session_id", LIST_TEXT, "s.session_id", NULL, false},
	{"parent_session_id", LIST_TEXT, "s.parent_session_id", NULL, false},
	{"requests", LIST_U64, "s.requests", NULL, false},
	{"tools", LIST_U64, "s.tools", NULL, false},
	{"first_start_ms", LIST_I64, "s.first_start_ms", NULL, false},
	{"last_end_ms", LIST_I64, "s.last_end_ms", NULL, false},
	{"busy_ms", LIST_U64, "s.busy_ms", NULL, false},
	{"tool_wait_ms", LIST_DOUBLE, "s.tool_wait_ms", NULL, false},
	{"depth", LIST_U64, "s.depth", NULL, false},
	{NULL, LIST_HIDDEN, NULL, NULL, false},
};

static const struct list_filter session_filters[] = {
	{"session_id", LIST_EQ, LIST_TEXT, "s.session_id", NULL, NULL},
	{"parent_session_id", LIST_EQ, LIST_TEXT, "s.parent_session_id", NULL, NULL},
	{NULL, LIST_EQ, LIST_TEXT, NULL, NULL, NULL},
};

static const struct list_sort session_sorts[] = {
	{"first_start_ms", {"s.first_start_ms", "s.no"}, false},
	{"session_id", {"s.session_id"}, false},
	{"-requests", {"s.requests", "s.no"}, false},
	{"-tools", {"s.tools", "s.no"}, false},
	{"-busy_ms", {"s.busy_ms", "s.no"}, false},
	{"-tool_wait_ms", {"s.tool_wait_ms", "s.no"}, true},
	{"-depth", {"s.depth", "s.no"}, true},
	{NULL, {NULL}, false},
};

const struct list list_sessions = {
	.name = "sessions",
	.schema = "tracespool/session-list/1",
	.from = "session_rows s",
	.columns = session_columns,
	.filters = session_filters,
	.sorts = session_sorts,
	.row_number = "s.no",
};
