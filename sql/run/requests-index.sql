-- The order of the replay, of the list of requests and of arrival times.
create index request_order on request_rows(start_ms, end_ms, request_id);

create view requests as select
	-- A request a row, in load order. start_ms and end_ms are Unix milliseconds. Numbers above
	-- 9223372036854775807 are TEXT.
	no,
	@U64(shard)@ as shard,
	@U64(line)@ as line,
	request_id, x_request_id, model, session_id, parent_session_id,
	@U64(event_time_unix_ms)@ as event_time_unix_ms,
	@U64(request_received_ms)@ as request_received_ms,
	start_ms, end_ms,
	@U64(output_tokens)@ as output_tokens,
	@U64(trace_block_size)@ as trace_block_size,
	@U64(input_length)@ as input_length,
	@U64(hash_count)@ as hash_count,
	total_time_ms,
	@U64(input_tokens)@ as input_tokens,
	@U64(cached_tokens)@ as cached_tokens,
	@U64(queue_depth)@ as queue_depth,
	@U64(tool_call_count)@ as tool_call_count,
	prefill_wait_time_ms, prefill_time_ms, ttft_ms, avg_itl_ms, kv_hit_rate,
	kv_transfer_estimated_latency_ms,
	@U64(prefill_worker_id)@ as prefill_worker_id,
	prefill_dp_rank,
	@U64(decode_worker_id)@ as decode_worker_id,
	decode_dp_rank, finish_reason
from request_rows;

create view request_hashes as
	-- A block hash of an input a row: number of the request, place in its list, decimal digits.
	with recursive place(no, position, stop) as (
		select no, 0, length(input) / 8 from request_hash_rows where length(input) > 0
		union all
		select no, position + 1, stop from place where position + 1 < stop
	)
	select p.no, p.position, @HASH(substr(h.input, p.position * 8 + 1, 8))@ as hash
	from place p join request_hash_rows h on h.no = p.no;

create view completion_hashes as
	-- The same of the completions, where they were recorded.
	with recursive place(no, position, stop) as (
		select no, 0, length(completion) / 8 from request_hash_rows
		where length(completion) > 0
		union all
		select no, position + 1, stop from place where position + 1 < stop
	)
	select p.no, p.position, @HASH(substr(h.completion, p.position * 8 + 1, 8))@ as hash
	from place p join request_hash_rows h on h.no = p.no;

create view tools as select
	-- A tool span a row, in load order.
	no,
	@U64(shard)@ as shard,
	@U64(line)@ as line,
	event_type, session_id, tool_call_id, tool_class, status, error_type, start_ms, end_ms,
	duration_ms,
	@U64(output_bytes)@ as output_bytes,
	@U64(output_tokens)@ as output_tokens,
	has_claude, source_request_id, consumer_request_id, child_session_id, execution_mode
from tool_rows;

create view sessions as select
	-- A session of the requests a row. parent_session_id: the first one recorded, in the run or
	-- not. busy_ms: time during which at least one of its requests was active. tool_wait_ms: sum
	-- over its replay rows, null where no rows exist. depth: 0 without a parent in the run, null
	-- where parents form a ring.
	no, session_id, parent_session_id, requests, tools, first_start_ms, last_end_ms,
	@U64(busy_ms)@ as busy_ms,
	tool_wait_ms, depth
from session_rows;
