-- Adds the rows of one segment, attached as `segment`, to the tables of a merged file. temp.place
-- holds the segment's number in load order and how many rows of each table lie before its own.
insert into main.request_rows(no, shard, line, request_id, x_request_id, model, session_id,
	parent_session_id, event_time_unix_ms, request_received_ms, start_ms, end_ms,
	output_tokens, trace_block_size, input_length, hash_count, total_time_ms, input_tokens,
	cached_tokens, queue_depth, tool_call_count, prefill_wait_time_ms, prefill_time_ms,
	ttft_ms, avg_itl_ms, kv_hit_rate, kv_transfer_estimated_latency_ms, prefill_worker_id,
	prefill_dp_rank, decode_worker_id, decode_dp_rank, finish_reason)
select p.requests + s.no, p.shard, s.line, s.request_id, s.x_request_id, s.model, s.session_id,
	s.parent_session_id, s.event_time_unix_ms, s.request_received_ms, s.start_ms, s.end_ms,
	s.output_tokens, s.trace_block_size, s.input_length, s.hash_count, s.total_time_ms,
	s.input_tokens, s.cached_tokens, s.queue_depth, s.tool_call_count,
	s.prefill_wait_time_ms, s.prefill_time_ms, s.ttft_ms, s.avg_itl_ms, s.kv_hit_rate,
	s.kv_transfer_estimated_latency_ms, s.prefill_worker_id, s.prefill_dp_rank,
	s.decode_worker_id, s.decode_dp_rank, s.finish_reason
from temp.place p cross join segment.request_rows s order by s.no;
insert into main.request_hash_rows(no, input, completion)
select p.requests + s.no, s.input, s.completion
from temp.place p cross join segment.request_hash_rows s order by s.no;
insert into main.tool_rows(no, shard, line, event_type, session_id, tool_call_id, tool_class,
	status, error_type, start_ms, end_ms, duration_ms, output_bytes, output_tokens,
	has_claude, source_request_id, consumer_request_id, child_session_id, execution_mode)
select p.tools + s.no, p.shard, s.line, s.event_type, s.session_id, s.tool_call_id, s.tool_class,
	s.status, s.error_type, s.start_ms, s.end_ms, s.duration_ms, s.output_bytes,
	s.output_tokens, s.has_claude, s.source_request_id, s.consumer_request_id,
	s.child_session_id, s.execution_mode
from temp.place p cross join segment.tool_rows s order by s.no;
update temp.place set shard = shard + 1,
	requests = (select coalesce(max(no), 0) from main.request_rows),
	tools = (select coalesce(max(no), 0) from main.tool_rows);
