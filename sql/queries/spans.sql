-- Spans, ops and device timing of an execution run (candle-trace.md 10, 14.1 to 14.4, 14.6): what the
-- analysis reads and writes, and what the views are read from.

-- name: span_index_id
create index if not exists span_by_id on span_rows(id);

-- name: span_index_ops
create index if not exists op_by_span on op_rows(span_id, timestamp_ns, duration_ns);

-- name: span_load
select s.no, s.parent_id is null, t.parent_no, s.start_ns, t.duration_ns, t.closed, s.measured,
	s.span_kind = 'op',
	case s.step when 'forward' then 1 when 'backward' then 2 when 'optimizer' then 4 else 0 end
from span_rows s join span_time_rows t on t.no = s.no
order by s.no;

-- name: span_op_sums
-- The ops of spans without length, span by span.
select s.no, o.duration_ns
from span_time_rows t
cross join span_rows s on s.no = t.no
cross join op_rows o on o.span_id = s.id
where t.duration_ns = 0;

-- name: span_ops
-- The spans by id, the ops of each in time order.
select s.no, o.timestamp_ns, o.duration_ns
from span_rows s left join op_rows o on o.span_id = s.id
order by s.id, s.no, o.timestamp_ns;

-- name: slow_op_index_made
create index if not exists op_by_duration on op_rows(duration_ns desc, span_id);

-- name: span_figure_insert
insert into span_figure_rows(no, id_order, start_ns, duration_ns, closed, depth, child_count,
	op_count, self_ns, host_total_ns, host_self_ns, tree_no, tree_first, tree_last)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14);

-- name: slowest_host_insert
insert into slowest_host_rows(place, no, scope, overlap_self_ns, overlap_duration_ns)
values (?1, ?2, ?3, ?4, ?5);

-- name: op_group_ops
select op_name, device, dtype, span_id, shape, duration_ns, output_dense_bytes from op_rows;

-- name: op_group_by_op_name
select op_name, duration_ns, output_dense_bytes from op_rows order by op_name;

-- name: op_group_by_device
select device, duration_ns, output_dense_bytes from op_rows order by device;

-- name: op_group_by_dtype
select dtype, duration_ns, output_dense_bytes from op_rows order by dtype;

-- name: op_group_by_span_id
select span_id, duration_ns, output_dense_bytes from op_rows order by +span_id;

-- name: op_group_by_shape
select shape, duration_ns, output_dense_bytes from op_rows order by shape;

-- name: op_group_insert
insert into op_group_rows(dimension, key, op_count, total_ns, mean_ns, max_ns, share_ratio,
	output_dense_bytes)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8);

-- name: slow_op_pick
insert into slow_op_rows(op)
select rowid from op_rows order by duration_ns desc, span_id, rowid limit ?1;

-- name: slow_op_picked
-- The ops picked, span by span, in file order within each.
select l.place, l.op, o.span_id
from slow_op_rows l cross join op_rows o on o.rowid = l.op
order by o.span_id, l.op;

-- name: slow_op_of_span
select rowid from op_rows where span_id = ?1;

-- name: slow_op_index
update slow_op_rows set op_index = ?2 where place = ?1;

-- name: device_intervals_by_span
select span_id, device, clock_id, start_ns, duration_ns
from device_interval_rows
order by span_id, device, clock_id, start_ns;

-- name: device_intervals_by_clock
select null, device, clock_id, start_ns, duration_ns
from device_interval_rows
order by device, clock_id, start_ns;

-- name: device_span_insert
insert into device_span_rows(span_id, device, clock_id, interval_count, busy_ns)
values (?1, ?2, ?3, ?4, ?5);

-- name: device_clock_insert
-- ?1 is the span in device_span_insert, and not used here.
insert into device_clock_rows(device, clock_id, interval_count, busy_ns)
values (?2, ?3, ?4, ?5);

-- name: device_backends
select span_id, device, clock_id, backend
from device_interval_rows
order by span_id, device, clock_id, backend;

-- name: device_streams
select span_id, device, clock_id, stream_id
from device_interval_rows
order by span_id, device, clock_id, stream_id;

-- name: device_name_insert
insert into device_span_name_rows(no, what, name) values (?1, ?2, ?3);

-- name: slowest_device_pick
insert into slowest_device_rows(no)
select d.no
from device_span_rows d
join span_rows s on s.id = d.span_id
join span_figure_rows f on f.no = s.no
where f.tree_no between ?1 and ?2
order by d.busy_ns desc, d.no limit 8;

-- name: slowest_spans
select s.id, s.name, s.span_kind, f.start_ns, f.duration_ns, f.self_ns
from span_figure_rows f join span_rows s on s.no = f.no
where f.closed
order by f.duration_ns desc, f.id_order limit ?1;

-- name: slowest_ops
select key, op_count, total_ns, max_ns, share_ratio
from op_group_rows
where dimension = 'op_name'
order by total_ns desc, key limit ?1;

-- name: span_known
select 1 from span_rows where id = ?1;

-- name: view_device_timing
select json_extract(capture_contract, '$.device_timing'),
	exists (select 1 from device_interval_rows)
from meta_rows;

-- name: view_device_spans
select d.no, d.span_id, d.device, d.clock_id, d.interval_count, d.busy_ns, n.what, n.name
from device_span_rows d left join device_span_name_rows n on n.no = d.no
order by d.no, n.what, n.name;

-- name: view_device_clocks
select device, clock_id, interval_count, busy_ns from device_clock_rows order by no;

-- name: view_spans
select s.id, s.parent_id, s.name, s.span_kind, s.measured, f.start_ns, f.closed, f.duration_ns,
	s.step, f.host_total_ns, f.host_self_ns, m.allocated_bytes, m.peak_live_bytes,
	m.residual_bytes
from span_figure_rows f
join span_rows s on s.no = f.no
left join span_memory_rows m on m.no = f.no
order by f.id_order;

-- name: view_measured
select entrypoint,
	(select f.host_total_ns from span_rows s join span_figure_rows f on f.no = s.no
	where s.measured limit 1)
from meta_rows;

-- name: view_slowest_host
select s.id, s.name, h.scope, f.host_self_ns, h.overlap_self_ns, f.host_total_ns,
	h.overlap_duration_ns
from slowest_host_rows h
join span_rows s on s.no = h.no
join span_figure_rows f on f.no = h.no
order by h.place;

-- name: view_slowest_device
select d.span_id, s.name, d.device, d.clock_id, d.busy_ns
from slowest_device_rows p
join device_span_rows d on d.no = p.no
join span_rows s on s.id = d.span_id
order by p.place;

-- name: view_slow_ops
select o.span_id, l.op_index, o.op_name, o.duration_ns
from slow_op_rows l join op_rows o on o.rowid = l.op
order by l.place limit ?1;
