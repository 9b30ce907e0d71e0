-- What the exports of a run read of its file: trace lines in the member order of candle-trace.md 5,
-- and trace events in the order of time.

-- name: export_counts
select (select coalesce(max(no), 0) from span_rows),
	(select count(*) from span_time_rows where closed),
	(select coalesce(max(rowid), 0) from op_rows) +
	(select coalesce(max(rowid), 0) from tensor_rows) +
	(select coalesce(max(rowid), 0) from tensor_stats_rows) +
	(select coalesce(max(rowid), 0) from memory_rows) +
	(select coalesce(max(rowid), 0) from device_memory_rows) +
	(select coalesce(max(rowid), 0) from device_interval_rows) +
	(select coalesce(max(rowid), 0) from gradient_rows) +
	(select coalesce(max(rowid), 0) from edge_rows),
	(select count(*) from terminal_rows);

-- name: export_meta
select schema, run_id, correlation_id, entrypoint, phase, timestamp, capture_step, warmup_steps,
	device, measured_region_device_synchronized, timing_mode, capture_contract,
	comparison_identity, tags, candle_version
from meta_rows;

-- name: export_spans
select s.id, s.parent_id, s.name, s.start_ns, s.span_kind, s.measured, s.step, t.closed,
	t.duration_ns
from span_rows s cross join span_time_rows t on t.no = s.no
order by s.id;

-- name: export_ops
select span_id, op_name, inputs, output, shape, dtype, device, duration_ns, timestamp_ns,
	output_dense_bytes, input_dense_bytes
from op_rows order by rowid;

-- name: export_tensors
select span_id, tensor_id, label, shape, dtype, device, requires_grad, dense_bytes, category
from tensor_rows order by rowid;

-- name: export_tensor_stats
select span_id, label, shape, dtype, elements, non_finite, rms, abs_max, mean
from tensor_stats_rows order by rowid;

-- name: export_memory
select timestamp_ns, storage_id, tensor_id, span_id, op_name, device, bytes, action, shape, dtype,
	category
from memory_rows order by rowid;

-- name: export_device_memory
select timestamp_ns, device, used_bytes, free_bytes, reserved_bytes, capacity_bytes
from device_memory_rows order by rowid;

-- name: export_device_intervals
select span_id, device, stream_id, clock_id, backend, start_ns, duration_ns
from device_interval_rows order by rowid;

-- name: export_gradients
select event_id, root, key, state, norm from gradient_rows order by rowid;

-- name: export_edges
select edge_kind, from_span, to_span, host_duration_ns, from_tensor, to_tensor
from edge_rows order by rowid;

-- name: export_terminal
select outcome, timestamp_ns, reason from terminal_rows;

-- Longest first among those that start together: what never closed lasts to the end of the run.
-- name: trace_spans
select s.no, s.start_ns, t.closed, t.duration_ns, s.id, s.name, s.parent_id, s.span_kind,
	s.measured, s.step, t.parent_no
from span_rows s cross join span_time_rows t on t.no = s.no
	left join span_figure_rows d on d.no = s.no
order by s.start_ns, t.closed, t.duration_ns desc, d.depth, s.id;

-- name: trace_ops
select timestamp_ns, duration_ns, op_name, span_id, shape, dtype, device, output_dense_bytes,
	input_dense_bytes, (select s.no from span_rows s where s.id = o.span_id)
from op_rows o
order by timestamp_ns, duration_ns desc, o.rowid;

-- name: trace_live_starts
select start_ns, bytes from lifetime_rows order by start_ns;

-- name: trace_live_ends
select end_ns, bytes from lifetime_rows where end_ns is not null order by end_ns;

-- name: trace_samples
select timestamp_ns, device, used_bytes, free_bytes, reserved_bytes, capacity_bytes
from device_memory_rows order by timestamp_ns, rowid;

-- name: trace_edges
select e.rowid, e.host_duration_ns, f.no, f.start_ns, t.no, t.start_ns, tt.closed, tt.duration_ns
from edge_rows e
	left join span_rows f on f.id = e.from_span
	left join span_rows t on t.id = e.to_span
	left join span_time_rows tt on tt.no = t.no
where e.edge_kind = 'call'
order by e.rowid;

-- name: trace_device
select device, stream_id, clock_id, start_ns, duration_ns, span_id, backend,
	(select s.name from span_rows s where s.id = i.span_id)
from device_interval_rows i
order by device, stream_id, clock_id, start_ns, duration_ns desc, i.rowid;

-- name: trace_span_count
select coalesce(max(no), 0), (select timestamp_ns from terminal_rows) from span_rows;

-- What a run that was salvaged without its end has recorded: times and lengths.
-- name: trace_moments
select s.start_ns, t.duration_ns from span_rows s cross join span_time_rows t on t.no = s.no
union all select timestamp_ns, duration_ns from op_rows
union all select timestamp_ns, 0 from memory_rows
union all select timestamp_ns, 0 from device_memory_rows;

-- name: trace_requests_begin
select min(start_ms) from request_rows;

-- name: trace_requests
select no, session_id, start_ms, end_ms, request_id, model, prefill_wait_time_ms, prefill_time_ms,
	ttft_ms, input_length, output_tokens, finish_reason
from request_rows order by session_id, start_ms, end_ms, request_id;

-- name: trace_tools
select no, session_id, start_ms, end_ms, tool_call_id, tool_class, status, output_bytes
from tool_rows order by session_id, start_ms, end_ms, no;
