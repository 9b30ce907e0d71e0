-- health.sql: what the health report of an execution run asks (candle-trace.md 12), and its view

-- name: health_issue_insert
insert into issue_rows(severity, code, message) values (?1, ?2, ?3);

-- name: health_report_insert
insert into health_rows(structurally_valid, capture_complete, coverage) values (?1, ?2, ?3);

-- name: health_meta
select m.run_id, m.correlation_id, m.entrypoint, m.timestamp, m.device, m.capture_step,
	m.warmup_steps, m.phase, m.capture_contract, m.comparison_identity, t.outcome, t.reason
from meta_rows m left join terminal_rows t;

-- name: health_span_index
create index if not exists span_by_id on span_rows(id);

-- name: health_span_count
select coalesce(max(no), 0) from span_rows;

-- name: health_spans
select s.parent_id is null, s.measured, s.step, s.start_ns, t.closed, t.duration_ns, t.parent_no
from span_rows s cross join span_time_rows t on t.no = s.no
order by s.no;

-- name: health_spans_by_id
select no, id, parent_id from span_rows order by id;

-- name: health_span_names
select name from span_rows;

-- name: health_ops
select o.rowid, o.span_id, o.timestamp_ns, o.duration_ns, s.no, s.start_ns, t.closed, t.duration_ns
from op_rows o
left join span_rows s on s.id = o.span_id
left join span_time_rows t on t.no = s.no
order by o.rowid;

-- name: health_memory_places
select m.rowid, m.span_id, m.timestamp_ns, 0, s.no, s.start_ns, t.closed, t.duration_ns
from memory_rows m
left join span_rows s on s.id = m.span_id
left join span_time_rows t on t.no = s.no
order by m.rowid;

-- name: health_unknown_tensors
select r.rowid, r.span_id from tensor_rows r
where not exists (select 1 from span_rows s where s.id = r.span_id)
order by r.rowid;

-- name: health_unknown_tensor_stats
select r.rowid, r.span_id from tensor_stats_rows r
where not exists (select 1 from span_rows s where s.id = r.span_id)
order by r.rowid;

-- name: health_unknown_intervals
select r.rowid, r.span_id from device_interval_rows r
where not exists (select 1 from span_rows s where s.id = r.span_id)
order by r.rowid;

-- name: health_empty_intervals
select rowid, device from device_interval_rows where duration_ns = 0 order by rowid;

-- name: health_empty_samples
select rowid, device from device_memory_rows
where used_bytes is null and free_bytes is null and reserved_bytes is null and
	capacity_bytes is null
order by rowid;

-- name: health_data_edges
select from_tensor, to_tensor from edge_rows where edge_kind = 'data';

-- name: health_tensor_ids
select tensor_id from tensor_rows;

-- name: health_op_outputs
select output from op_rows;

-- name: health_asked_insert
insert into health_asked_rows(id) values (?1);

-- name: health_asked_from
insert or ignore into health_asked_rows(id)
select from_tensor from edge_rows where edge_kind = 'data';

-- name: health_asked_to
insert or ignore into health_asked_rows(id)
select to_tensor from edge_rows where edge_kind = 'data';

-- name: health_asked_take_tensors
delete from health_asked_rows where id in (
	select t.tensor_id from tensor_rows t
	where exists (select 1 from health_asked_rows a where a.id = t.tensor_id));

-- name: health_asked_take_outputs
delete from health_asked_rows where id in (
	select o.output from op_rows o
	where exists (select 1 from health_asked_rows a where a.id = o.output));

-- name: health_asked_any
select 1 from health_asked_rows limit 1;

-- name: health_op_inputs
select inputs from op_rows where inputs <> '[]';

-- name: health_asked_take
delete from health_asked_rows where id = ?1;

-- name: health_asked_clear
delete from health_asked_rows;

-- name: health_edges
select e.rowid, e.edge_kind, e.from_span, e.to_span,
	f.no is not null and t.no is not null,
	t.parent_id is e.from_span,
	c.closed, c.duration_ns, e.host_duration_ns,
	e.from_tensor, e.to_tensor,
	e.from_tensor in (select id from health_asked_rows),
	e.to_tensor in (select id from health_asked_rows)
from edge_rows e
left join span_rows f on f.id = e.from_span
left join span_rows t on t.id = e.to_span
left join span_time_rows c on c.no = t.no
order by e.rowid;

-- name: health_holders
select h.lifetime, m.tensor_id, m.timestamp_ns, m.rowid
from health_holder_rows h cross join memory_rows m on m.rowid = h.memory
order by h.lifetime, m.tensor_id, m.timestamp_ns, m.rowid;

-- name: health_found
select f.fault, f.bytes, f.memory, m.device, m.storage_id, m.tensor_id, m.bytes
from health_found_rows f cross join memory_rows m on m.rowid = f.memory
order by f.timestamp_ns, f.memory;

-- name: health_found_clear
delete from health_found_rows;

-- name: health_holder_clear
delete from health_holder_rows;

-- name: health_gradients_by_event
select rowid, event_id from gradient_rows order by event_id, rowid;

-- name: health_repeat_insert
insert into health_repeat_rows(no) values (?1);

-- name: health_gradients
select g.rowid, g.event_id, g.root, g.key, g.state, g.norm, r.no is not null
from gradient_rows g left join health_repeat_rows r on r.no = g.rowid
order by g.rowid;

-- name: health_repeat_clear
delete from health_repeat_rows;

-- name: health_gradient_keys
-- state is that of the row with the smallest number
select root, key, count(*), state, min(rowid)
from gradient_rows
group by root, key
order by root, key;

-- name: health_counts
select (select coalesce(max(rowid), 0) from op_rows),
	(select coalesce(max(rowid), 0) from tensor_rows),
	(select coalesce(max(rowid), 0) from tensor_stats_rows),
	(select coalesce(max(rowid), 0) from device_memory_rows),
	(select coalesce(max(rowid), 0) from device_interval_rows);

-- name: health_non_finite
select non_finite from tensor_stats_rows where non_finite <> 0;

-- name: health_large
select * from (
	select 'start_ns' as member, 'span' as record, no from span_rows where start_ns > ?1
	union all select 'duration_ns', 'span', no from span_time_rows where duration_ns > ?1
	union all select 'A number', 'operation', rowid from op_rows
	where duration_ns > ?1 or timestamp_ns > ?1 or output_dense_bytes > ?1 or
		input_dense_bytes > ?1
	union all select 'dense_bytes', 'tensor record', rowid from tensor_rows
	where dense_bytes > ?1
	union all select 'A number', 'tensor statistics record', rowid from tensor_stats_rows
	where elements > ?1 or non_finite > ?1
	union all select 'A number', 'memory record', rowid from memory_rows
	where timestamp_ns > ?1 or bytes > ?1
	union all select 'A number', 'device memory sample', rowid from device_memory_rows
	where timestamp_ns > ?1 or used_bytes > ?1 or free_bytes > ?1 or reserved_bytes > ?1 or
		capacity_bytes > ?1
	union all select 'A number', 'device interval', rowid from device_interval_rows
	where start_ns > ?1 or duration_ns > ?1
	union all select 'host_duration_ns', 'edge', rowid from edge_rows
	where host_duration_ns > ?1
	union all select 'timestamp_ns', 'terminal', 1 from terminal_rows where timestamp_ns > ?1
)
limit 1;

-- name: health_long_shapes
select 0, rowid, shape from op_rows where length(shape) > 17
union all select 1, rowid, shape from tensor_rows where length(shape) > 17
union all select 2, rowid, shape from tensor_stats_rows where length(shape) > 17
union all select 3, rowid, shape from memory_rows where length(shape) > 17;

-- name: health_report
select structurally_valid, capture_complete, coverage from health_rows;

-- name: health_issues
select severity, code, message from issue_rows order by rowid;
