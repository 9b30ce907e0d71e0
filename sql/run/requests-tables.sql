-- Tables of the run file of a request trace. u64 columns and columns of doubles as in
-- execution-tables.sql.
create table request_rows(
	no integer primary key,    -- from 1, in load order
	shard integer, line integer, request_id text, x_request_id text, model text,
	session_id text, parent_session_id text,
	event_time_unix_ms integer, request_received_ms integer, start_ms integer, end_ms integer,
	output_tokens integer, trace_block_size integer, input_length integer, hash_count integer,
	total_time_ms, input_tokens integer, cached_tokens integer, queue_depth integer,
	tool_call_count integer, prefill_wait_time_ms, prefill_time_ms, ttft_ms, avg_itl_ms,
	kv_hit_rate, kv_transfer_estimated_latency_ms,
	prefill_worker_id integer, prefill_dp_rank integer,
	decode_worker_id integer, decode_dp_rank integer,
	finish_reason text
);
create table request_hash_rows(
	no integer primary key,    -- that of request_rows
	input blob,                -- little-endian u64, one after another
	completion blob            -- the same; null: not recorded
);
create table tool_rows(
	no integer primary key,    -- from 1, in load order
	shard integer, line integer, event_type text, session_id text, tool_call_id text,
	tool_class text, status text, error_type text, start_ms integer, end_ms integer,
	duration_ms, output_bytes integer, output_tokens integer,
	has_claude integer, source_request_id text, consumer_request_id text,
	child_session_id text, execution_mode text
);
create table session_rows(
	no integer primary key,    -- from 1, in the order of their first requests
	session_id text, parent_session_id text,
	requests integer, tools integer, first_start_ms integer, last_end_ms integer,
	busy_ms integer, tool_wait_ms, depth integer
);
-- The rows of the replay in the run's own mode, made once. Both are empty where no rows exist.
create table replay_facts(
	agentic integer,           -- 0, 1
	trace_block_size integer, rows integer, unreplayable_rows integer
);
create table replay_rows(
	place integer primary key, -- from 1, in replay order
	no integer,                -- that of request_rows
	row blob                   -- src/replay/packed.c
);
