-- Figures of an execution run (candle-trace.md 9, 11.1), over the tables of its run file.

-- name: execution_counts
select (select coalesce(max(no), 0) from span_rows),
	(select coalesce(max(rowid), 0) from op_rows);

-- name: execution_meta
select schema, run_id, correlation_id, entrypoint, phase, timestamp, capture_step, warmup_steps,
	device, measured_region_device_synchronized, timing_mode, capture_contract,
	comparison_identity, tags, candle_version
from meta_rows;

-- name: execution_terminal
select outcome, reason from terminal_rows;
