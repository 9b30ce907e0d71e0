/* request_recorder.c: a sink for tests that writes rows down as JSON: see request_recorder.h */
#include "request_recorder.h"

#include <check.h>

static void opt_u64_or_null(struct json_writer *w, const char *key, struct opt_u64 v)
{
	if (v.has)
		jw_kv_u64(w, key, v.v);
	else
		jw_kv_null(w, key);
}

static void opt_u64_if(struct json_writer *w, const char *key, struct opt_u64 v)
{
	if (v.has)
		jw_kv_u64(w, key, v.v);
}

static void opt_double_if(struct json_writer *w, const char *key, struct opt_double v)
{
	if (v.has)
		jw_kv_double(w, key, v.v);
}

static void record_info(struct json_writer *w, const struct row_request *r)
{
	bool worker = r->prefill_worker_id.has || r->prefill_dp_rank.has ||
		      r->decode_worker_id.has || r->decode_dp_rank.has;

	jw_key(w, "info");
	jw_open_object(w);
	if (r->x_request_id.p)
		jw_kv_str(w, "x_request_id", r->x_request_id);
	if (r->model.p)
		jw_kv_str(w, "model", r->model);
	opt_u64_if(w, "input_tokens", r->input_tokens);
	opt_u64_if(w, "cached_tokens", r->cached_tokens);
	opt_double_if(w, "prefill_wait_time_ms", r->prefill_wait_time_ms);
	opt_double_if(w, "prefill_time_ms", r->prefill_time_ms);
	opt_double_if(w, "ttft_ms", r->ttft_ms);
	opt_double_if(w, "avg_itl_ms", r->avg_itl_ms);
	opt_double_if(w, "kv_hit_rate", r->kv_hit_rate);
	opt_double_if(w, "kv_transfer_estimated_latency_ms", r->kv_transfer_estimated_latency_ms);
	opt_u64_if(w, "queue_depth", r->queue_depth);
	if (worker) {
		jw_key(w, "worker");
		jw_open_object(w);
		opt_u64_if(w, "prefill_worker_id", r->prefill_worker_id);
		opt_u64_if(w, "prefill_dp_rank", r->prefill_dp_rank);
		opt_u64_if(w, "decode_worker_id", r->decode_worker_id);
		opt_u64_if(w, "decode_dp_rank", r->decode_dp_rank);
		jw_close_object(w);
	}
	if (r->finish_reason.p)
		jw_kv_str(w, "finish_reason", r->finish_reason);
	jw_close_object(w);
}

static void record_request(struct json_writer *w, const struct row_request *r)
{
	jw_open_object(w);
	jw_kv_u64(w, "shard", r->shard);
	jw_kv_u64(w, "line", r->line);
	jw_kv_str(w, "request_id", r->request_id);
	jw_kv_i64(w, "start_ms", r->start_ms);
	jw_kv_i64(w, "end_ms", r->end_ms);
	jw_kv_str(w, "session_id", r->session_id);
	jw_kv_str(w, "parent_session_id", r->parent_session_id);
	jw_kv_u64(w, "trace_block_size", r->trace_block_size);
	jw_kv_u64(w, "input_length", r->input_length);
	jw_kv_u64(w, "output_tokens", r->output_tokens);
	if (r->total_time_ms.has)
		jw_kv_double(w, "total_time_ms", r->total_time_ms.v);
	else
		jw_kv_null(w, "total_time_ms");
	jw_kv_u64(w, "hash_count", r->hash_count);
	jw_kv_u64(w, "event_time_unix_ms", r->event_time_unix_ms);
	jw_kv_u64(w, "request_received_ms", r->request_received_ms);
	opt_u64_or_null(w, "tool_call_count", r->tool_call_count);
	record_info(w, r);
}

static void record_hash_list(struct json_writer *w, const char *key, const uint64_t *v, size_t n)
{
	jw_key(w, key);
	jw_open_array(w);
	for (size_t i = 0; i < n; i++)
		jw_u64(w, v[i]);
	jw_close_array(w);
}

static void record_tool(struct json_writer *w, const struct row_tool *t)
{
	jw_open_object(w);
	jw_kv_u64(w, "shard", t->shard);
	jw_kv_u64(w, "line", t->line);
	jw_kv_str(w, "session_id", t->session_id);
	jw_kv_i64(w, "start_ms", t->start_ms);
	jw_kv_i64(w, "end_ms", t->end_ms);
	jw_kv_str(w, "tool_call_id", t->tool_call_id);
	jw_kv_str(w, "tool_class", t->tool_class);
	jw_kv_str(w, "status", t->status);
	jw_kv_double(w, "duration_ms", t->duration_ms);
	opt_u64_or_null(w, "output_bytes", t->output_bytes);
	opt_u64_or_null(w, "output_tokens", t->output_tokens);
	jw_kv_str(w, "error_type", t->error_type);
	jw_key(w, "claude");
	if (t->has_claude) {
		jw_open_object(w);
		jw_kv_str(w, "source_request_id", t->source_request_id);
		jw_kv_str(w, "consumer_request_id", t->consumer_request_id);
		jw_kv_str(w, "child_session_id", t->child_session_id);
		jw_kv_str(w, "execution_mode", t->execution_mode);
		jw_close_object(w);
	} else {
		jw_null(w);
	}
	jw_close_object(w);
}

static int recorder_row(struct sink *sink, enum row_kind kind, const void *row,
			struct ts_error *err)
{
	struct recorder *rec = (struct recorder *)sink;
	const struct row_request *request = row;
	const struct row_request_hashes *hashes = row;

	(void)err;
	if (kind == ROW_REQUEST) {
		ck_assert_uint_eq(request->no, ++rec->last_no);
		record_request(&rec->to_requests, request);
	} else if (kind == ROW_REQUEST_HASHES) {
		ck_assert_uint_eq(hashes->no, rec->last_no);
		record_hash_list(&rec->to_requests, "input_sequence_hashes", hashes->input,
				 hashes->input_count);
		if (hashes->completion)
			record_hash_list(&rec->to_requests, "completion_sequence_hashes",
					 hashes->completion, hashes->completion_count);
		jw_close_object(&rec->to_requests);
	} else {
		ck_assert_int_eq(kind, ROW_TOOL);
		record_tool(&rec->to_tools, row);
	}
	return 0;
}

void recorder_init(struct recorder *rec)
{
	*rec = (struct recorder){.sink.row = recorder_row, .requests = BUF_INIT, .tools = BUF_INIT};
	jw_init(&rec->to_requests, &rec->requests, JSON_NUMBERS_EXACT);
	jw_init(&rec->to_tools, &rec->tools, JSON_NUMBERS_EXACT);
	jw_open_array(&rec->to_requests);
	jw_open_array(&rec->to_tools);
}

void recorder_finish(struct recorder *rec, struct arena *arena, struct node **ret_requests,
		     struct node **ret_tools)
{
	jw_close_array(&rec->to_requests);
	jw_close_array(&rec->to_tools);
	*ret_requests = tree_parse(rec->requests.data, rec->requests.len, arena);
	*ret_tools = tree_parse(rec->tools.data, rec->tools.len, arena);
}

void recorder_done(struct recorder *rec)
{
	buf_done(&rec->requests);
	buf_done(&rec->tools);
}
