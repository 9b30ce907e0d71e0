-- Figures of an execution run (candle-trace.md 9, 11.1), over the tables of its run file.

-- name: execution_counts
select (select coalesce(max(no), 0) from span_rows),
	(select coalesce(max(rowid), 0) from op_rows);

-- name: execution_memory
select rowid, device, storage_id, timestamp_ns, bytes, action = 'alloc'
from memory_rows
order by device, storage_id, timestamp_ns, rowid;

-- name: execution_lifetime_insert
insert into lifetime_rows(alloc, start_ns, end_ns, bytes) values (?1, ?2, ?3, ?4);

-- name: execution_lifetime_starts
select start_ns, bytes from lifetime_rows order by start_ns;

-- name: execution_lifetime_ends
select end_ns, bytes from lifetime_rows where end_ns is not null order by end_ns;

-- name: execution_meta
select schema, run_id, correlation_id, entrypoint, phase, timestamp, capture_step, warmup_steps,
	device, measured_region_device_synchronized, timing_mode, capture_contract,
	comparison_identity, tags, candle_version
from meta_rows;

-- name: execution_terminal
select outcome, reason from terminal_rows;
