-- analyze_request.sql: what the figures of a request run read of its file
-- name: analyze_requests_scan
SELECT input_length, output_tokens, start_ms, end_ms, ttft_ms, trace_block_size,
       session_id IS NOT NULL
FROM request_rows
-- name: analyze_requests_order
SELECT no, trace_block_size, input_length
FROM request_rows
ORDER BY start_ms, end_ms, request_id
-- name: analyze_requests_hashes
SELECT input FROM request_hash_rows WHERE no = ?1
-- name: analyze_requests_tool_times
SELECT duration_ms FROM tool_rows ORDER BY no
-- name: analyze_requests_tool_status
SELECT status, count(*) AS n FROM tool_rows GROUP BY status ORDER BY n DESC, status LIMIT ?1
-- name: analyze_requests_models
SELECT model, count(*) AS n
FROM request_rows
WHERE model IS NOT NULL
GROUP BY model
ORDER BY n DESC, model
LIMIT ?1
-- name: analyze_requests_finish_reasons
SELECT finish_reason, count(*) AS n
FROM request_rows
WHERE finish_reason IS NOT NULL
GROUP BY finish_reason
ORDER BY n DESC, finish_reason
LIMIT ?1
-- name: analyze_requests_large
SELECT CASE
         WHEN event_time_unix_ms > ?1 THEN 'event_time_unix_ms'
         WHEN request_received_ms > ?1 THEN 'request_received_ms'
         WHEN start_ms > ?1 THEN 'start_ms'
         WHEN end_ms > ?1 THEN 'end_ms'
         WHEN output_tokens > ?1 THEN 'output_tokens'
         WHEN trace_block_size > ?1 THEN 'trace_block_size'
         WHEN input_length > ?1 THEN 'input_length'
         WHEN input_tokens > ?1 THEN 'input_tokens'
         WHEN cached_tokens > ?1 THEN 'cached_tokens'
         WHEN queue_depth > ?1 THEN 'queue_depth'
       END AS member, shard, line
FROM request_rows
WHERE member IS NOT NULL
ORDER BY no
LIMIT 1
-- name: analyze_requests_large_tool
SELECT CASE
         WHEN start_ms > ?1 OR start_ms < -?1 THEN 'start_ms'
         WHEN end_ms > ?1 THEN 'end_ms'
         WHEN output_bytes > ?1 THEN 'output_bytes'
         WHEN output_tokens > ?1 THEN 'output_tokens'
       END AS member, shard, line
FROM tool_rows
WHERE member IS NOT NULL
ORDER BY no
LIMIT 1
-- name: analyze_sessions_scan
SELECT session_id, parent_session_id, start_ms, end_ms
FROM request_rows
WHERE session_id IS NOT NULL
ORDER BY start_ms, end_ms, request_id
-- name: analyze_sessions_tools
SELECT session_id, count(*) FROM tool_rows GROUP BY session_id
-- name: analyze_sessions_insert
INSERT INTO session_rows(no, session_id, parent_session_id, requests, tools, first_start_ms,
                         last_end_ms, busy_ms, tool_wait_ms, depth)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
-- name: analyze_arrivals_times
SELECT start_ms, end_ms FROM request_rows
-- name: analyze_arrivals_span
SELECT min(start_ms), max(start_ms), max(end_ms) FROM request_rows
-- name: analyze_arrivals_lengths
SELECT start_ms, input_length, output_tokens FROM request_rows
