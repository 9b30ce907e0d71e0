-- replay.sql: what the lowering of a request run reads of its file
-- name: replay_totals
SELECT count(*), count(session_id), min(trace_block_size), max(trace_block_size),
       coalesce(sum(input_length = 0), 0), coalesce(sum(hash_count), 0)
FROM request_rows
-- name: replay_completions
SELECT count(completion), coalesce(sum(length(completion) / 8), 0)
FROM request_hash_rows
-- name: replay_output_too_large
SELECT r.request_id, r.output_tokens
FROM request_hash_rows AS h CROSS JOIN request_rows AS r ON r.no = h.no
WHERE h.completion IS NOT NULL AND r.output_tokens > ?1
ORDER BY r.start_ms, r.end_ms, r.request_id
LIMIT 1
-- name: replay_times
SELECT no, start_ms, end_ms FROM request_rows
-- name: replay_order_only
SELECT no, start_ms FROM request_rows ORDER BY start_ms, end_ms, request_id
-- name: replay_order
SELECT no, request_id, session_id, parent_session_id, start_ms, end_ms, input_length = 0
FROM request_rows
ORDER BY start_ms, end_ms, request_id
-- name: replay_tools
SELECT no, session_id, start_ms, end_ms, has_claude, source_request_id, consumer_request_id,
       child_session_id, execution_mode
FROM tool_rows
ORDER BY no
-- name: replay_inputs
SELECT n.place, r.start_ms, r.output_tokens, r.input_length, h.input, h.completion
FROM numbers(?1) AS n CROSS JOIN request_rows AS r ON r.no = n.no
     CROSS JOIN request_hash_rows AS h ON h.no = n.no
-- name: replay_inputs_named
SELECT n.place, r.start_ms, r.output_tokens, r.input_length, h.input, h.completion,
       r.request_id, r.model
FROM numbers(?1) AS n CROSS JOIN request_rows AS r ON r.no = n.no
     CROSS JOIN request_hash_rows AS h ON h.no = n.no
-- name: replay_request_ids
SELECT n.place, r.request_id
FROM numbers(?1) AS n CROSS JOIN request_rows AS r ON r.no = n.no
-- name: replay_request_id
SELECT request_id, session_id FROM request_rows WHERE no = ?1
-- name: replay_node
SELECT request_id, session_id, model, start_ms, end_ms, input_length, output_tokens
FROM request_rows
WHERE no = ?1
-- name: replay_tool
SELECT tool_call_id, tool_class, start_ms, end_ms, duration_ms, status, output_bytes,
       output_tokens, error_type, execution_mode, source_request_id, consumer_request_id,
       child_session_id, session_id
FROM tool_rows
WHERE no = ?1
-- name: replay_tool_events
SELECT n.place, t.tool_call_id, t.tool_class, t.start_ms, t.end_ms, t.duration_ms, t.status,
       t.output_bytes, t.output_tokens, t.error_type
FROM numbers(?1) AS n CROSS JOIN tool_rows AS t ON t.no = n.no
-- name: replay_has_stored
SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('replay_facts', 'replay_rows')
-- name: replay_stored_facts
SELECT agentic, trace_block_size, rows, unreplayable_rows FROM replay_facts
-- name: replay_stored
SELECT no, row FROM replay_rows ORDER BY place
-- name: replay_store_facts
INSERT INTO replay_facts(agentic, trace_block_size, rows, unreplayable_rows)
VALUES (?1, ?2, ?3, ?4)
-- name: replay_store
INSERT INTO replay_rows(no, row) VALUES (?1, ?2)
