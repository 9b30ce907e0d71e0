-- Memory of an execution run (candle-trace.md 11): what the analysis reads and writes, and what the
-- documents are made of.

-- name: execution_memory
select m.rowid, m.device, m.storage_id, m.timestamp_ns, m.bytes, m.action = 'alloc',
	case m.category when 'parameter' then 0 when 'activation' then 1 when 'gradient' then 2
		when 'optimizer' then 3 else 4 end,
	coalesce(s.no, 0), s.start_ns, t.closed, t.duration_ns
from memory_rows m
left join span_rows s on s.id = m.span_id
left join span_time_rows t on t.no = s.no
order by m.device, m.storage_id, m.timestamp_ns, m.rowid;

-- name: memory_span_ids
select id from span_rows order by no;

-- name: memory_records
select timestamp_ns, bytes, action, category, device, storage_id, span_id, op_name
from memory_rows order by rowid;

-- name: execution_lifetime_insert
insert into lifetime_rows(no, alloc, free, device_no, category, span_no, start_ns, end_ns, bytes)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);

-- name: lifetime_alias_insert
insert into lifetime_alias_rows(lifetime, event) values (?1, ?2);

-- name: pairing_fault_insert
insert into health_found_rows(timestamp_ns, memory, fault, bytes) values (?1, ?2, ?3, ?4);

-- name: pairing_holder_insert
insert into health_holder_rows(lifetime, memory) values (?1, ?2);

-- name: memory_device_insert
insert into memory_device_rows(no, device, storage_allocation_count, matched_storage_free_count,
	total_allocated_bytes)
values (?1, ?2, ?3, ?4, ?5);

-- name: memory_device_peak
update memory_device_rows set peak_live_bytes = ?2, peak_timestamp_ns = ?3 where no = ?1;

-- name: memory_index_time
-- What the figures read along is made before them.
create index if not exists memory_time on memory_rows(timestamp_ns);

-- name: memory_record_count
select coalesce(max(rowid), 0) from memory_rows;

-- name: device_sample_count
select coalesce(max(rowid), 0) from device_memory_rows;

-- name: memory_times
select timestamp_ns from memory_rows order by timestamp_ns;

-- name: memory_times_by_device
select timestamp_ns, device from memory_rows order by device, timestamp_ns;

-- name: memory_times_with_device
select m.timestamp_ns, (select d.no from memory_device_rows d where d.device = m.device)
from memory_rows m order by m.timestamp_ns;

-- name: memory_starts
select start_ns, bytes, category, device_no, span_no, 0 from lifetime_rows order by start_ns;

-- name: memory_ends
select end_ns, bytes, category, device_no, span_no, end_ns = start_ns
from lifetime_rows where end_ns is not null order by end_ns, end_ns = start_ns;

-- name: memory_starts_by_device
select start_ns, bytes, category, device_no, span_no, 0 from lifetime_rows
order by device_no, start_ns;

-- name: memory_ends_by_device
select end_ns, bytes, category, device_no, span_no, end_ns = start_ns
from lifetime_rows where end_ns is not null order by device_no, end_ns;

-- name: memory_lifetimes_by_no
select no, device_no, category, start_ns, end_ns, bytes from lifetime_rows order by no;

-- name: memory_point_insert
insert into memory_point_rows(series, points) values (?1, ?2);

-- name: memory_peak_insert
insert into memory_peak_rows(series, kind, no, bytes) values (?1, ?2, ?3, ?4);

-- name: memory_largest_insert
insert into memory_largest_rows(series, rank, lifetime) values (?1, ?2, ?3);

-- name: memory_series_insert
insert into memory_series_rows(series, point_count, storage_allocation_count,
	matched_storage_free_count, total_allocated_bytes, peak_live_bytes, peak_timestamp_ns,
	peak_live_count)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8);

-- name: memory_spans
select t.parent_no, s.start_ns, t.closed, t.duration_ns
from span_rows s join span_time_rows t on t.no = s.no
order by s.no;

-- name: memory_is_complete
select json_extract(capture_contract, '$.logical_memory') = 'complete' from meta_rows;

-- name: memory_bytes_of_spans
select span_no, bytes from lifetime_rows;

-- name: span_memory_insert
insert into span_memory_rows(no, allocated_bytes, peak_live_bytes, residual_bytes)
values (?1, ?2, ?3, ?4);

-- name: device_samples_by_device
select rowid, timestamp_ns, device, used_bytes, free_bytes, reserved_bytes, capacity_bytes
from device_memory_rows order by device, timestamp_ns, rowid;

-- name: device_samples
select rowid, timestamp_ns, device, used_bytes, free_bytes, reserved_bytes, capacity_bytes
from device_memory_rows order by timestamp_ns, device, rowid;

-- name: device_figure_insert
insert into device_figure_rows(no, device, sample_count, used_sample_count, free_sample_count,
	reserved_sample_count, capacity_sample_count, peak_used_bytes, peak_used_timestamp_ns,
	peak_reserved_bytes, peak_reserved_timestamp_ns, minimum_free_bytes,
	minimum_free_timestamp_ns, maximum_observed_capacity_bytes)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14);

-- name: device_point_insert
insert into device_point_rows(series, no, bucket, sample) values (?1, ?2, ?3, ?4);

-- name: memory_device_count
select coalesce(max(no), 0) from memory_device_rows;

-- name: memory_device_name
select device from memory_device_rows where no = ?1;

-- name: memory_device_no
select no from memory_device_rows where device = ?1;

-- name: memory_device_from
select no, device, storage_allocation_count, matched_storage_free_count, total_allocated_bytes,
	peak_live_bytes, peak_timestamp_ns
from memory_device_rows where no >= ?1 order by no;

-- name: memory_series
select point_count, storage_allocation_count, matched_storage_free_count, total_allocated_bytes,
	peak_live_bytes, peak_timestamp_ns, peak_live_count
from memory_series_rows where series = ?1;

-- name: memory_points
select points from memory_point_rows where series = ?1;

-- name: memory_peak_parts
select kind, no, bytes from memory_peak_rows where series = ?1 order by kind, no;

-- name: memory_largest
select lifetime from memory_largest_rows where series = ?1 and rank < ?2 order by rank;

-- name: view_tensor_ids
select distinct tensor_id from memory_rows
where rowid in (select ?1 union all select ?2 union all
	select event from lifetime_alias_rows where lifetime = ?3) and timestamp_ns <= ?4
order by tensor_id;

-- name: view_lifetimes
select l.alloc, l.free, l.no, l.start_ns, l.end_ns, l.bytes, m.device, m.storage_id, m.span_id,
	m.op_name, m.shape, m.dtype, m.category
from lifetime_rows l cross join memory_rows m on m.rowid = l.alloc
order by l.start_ns, l.no;

-- name: view_lifetimes_at
select l.alloc, l.free, l.no, l.start_ns, l.end_ns, l.bytes, m.device, m.storage_id, m.span_id,
	m.op_name, m.shape, m.dtype, m.category
from lifetime_rows l cross join memory_rows m on m.rowid = l.alloc
where l.start_ns <= ?1 and (l.end_ns is null or l.end_ns > ?1)
order by l.start_ns, l.no;

-- name: view_footprints
select l.alloc, l.free, l.no, l.start_ns, l.end_ns, l.bytes, m.device, m.storage_id, m.span_id,
	m.op_name, m.shape, m.dtype, m.category
from lifetime_rows l cross join memory_rows m on m.rowid = l.alloc
order by l.bytes desc, l.start_ns, l.no limit ?1;

-- name: view_lifetime
select l.alloc, l.free, l.no, l.start_ns, l.end_ns, l.bytes, m.device, m.storage_id, m.span_id,
	m.op_name, m.shape, m.dtype, m.category
from lifetime_rows l cross join memory_rows m on m.rowid = l.alloc
where l.no = ?1;

-- name: device_figures
select device, sample_count, used_sample_count, free_sample_count, reserved_sample_count,
	capacity_sample_count, peak_used_bytes, peak_used_timestamp_ns, peak_reserved_bytes,
	peak_reserved_timestamp_ns, minimum_free_bytes, minimum_free_timestamp_ns,
	maximum_observed_capacity_bytes, no
from device_figure_rows order by no;

-- name: device_figure_no
select no, sample_count from device_figure_rows where device = ?1;

-- name: device_figure_any
select 1 from device_figure_rows limit 1;

-- name: device_sample_count
select coalesce(max(rowid), 0) from device_memory_rows;

-- name: device_points
select p.bucket, p.sample, m.timestamp_ns, m.used_bytes
from device_point_rows p cross join device_memory_rows m on m.rowid = p.sample
where p.series = ?1 order by p.no;

-- name: device_sample
select timestamp_ns, device, used_bytes, free_bytes, reserved_bytes, capacity_bytes
from device_memory_rows where rowid = ?1;

-- name: heaviest_span_pick
-- Of the measured span and those below it, which the numbers of the tree tell.
insert into heavy_span_rows(no)
select f.no
from (select f.tree_first, f.tree_last
	from span_rows s join span_figure_rows f on f.no = s.no where s.measured limit 1) measured
cross join span_figure_rows f
	on f.tree_no between measured.tree_first and measured.tree_last
cross join span_rows s on s.no = f.no
cross join span_memory_rows m on m.no = f.no
where m.allocated_bytes is not null and not (s.parent_id is not null and s.span_kind = 'op')
order by m.allocated_bytes desc, f.id_order
limit 8;

-- name: heaviest_spans
select s.id, s.name, m.allocated_bytes, m.peak_live_bytes
from heavy_span_rows h
cross join span_rows s on s.no = h.no
cross join span_memory_rows m on m.no = h.no
order by h.place;

-- name: heaviest_op_spans
select s.id, s.name, m.allocated_bytes
from span_memory_rows m cross join span_rows s on s.no = m.no
where m.allocated_bytes is not null and s.parent_id is not null and s.span_kind = 'op'
order by m.allocated_bytes desc, s.id limit 50;

-- name: heaviest_lifetimes
select m.span_id, m.op_name, l.bytes
from lifetime_rows l cross join memory_rows m on m.rowid = l.alloc
where m.op_name is not null
order by m.span_id, m.op_name;

-- name: heaviest_ops_of
select rowid, op_name from op_rows where span_id = ?1;

-- name: heaviest_ops_of_span
select op_name, row_number() over (order by rowid) - 1
from op_rows
where span_id = ?1
order by op_name;

-- name: heaviest_op_insert
insert into heavy_op_rows(id, name, allocated_bytes) values (?1, ?2, ?3);

-- name: heaviest_ops
select id, name, allocated_bytes from heavy_op_rows order by place;
