-- Starts: the order of trace events.
create index span_start on span_rows(start_ns);
-- Memory records in time order and of a span; lifetimes by start, by end and by size.
create index if not exists memory_time on memory_rows(timestamp_ns);
create index memory_span on memory_rows(span_id, timestamp_ns);
create index memory_device on memory_device_rows(device);
create index lifetime_start on lifetime_rows(start_ns, no);
create index lifetime_end on lifetime_rows(end_ns);
create index lifetime_bytes on lifetime_rows(bytes desc, start_ns, no);
create index device_memory_time on device_memory_rows(timestamp_ns, device);
create index device_figure on device_figure_rows(device);

create view meta as select
	-- What the producer says of the run: one row.
	schema, run_id, correlation_id, entrypoint, phase, timestamp,
	@U64(capture_step)@ as capture_step,
	@U64(warmup_steps)@ as warmup_steps,
	device, measured_region_device_synchronized, timing_mode, capture_contract,
	comparison_identity, tags, candle_version
from meta_rows;

create view terminal as select
	-- How the run ended: one row; none of a run that was salvaged without its end.
	outcome,
	@U64(timestamp_ns)@ as timestamp_ns,
	reason
from terminal_rows;

create view spans as select
	-- A span a row, in the order of their starts in the file. Times count from the start of the
	-- capture. depth: 0 for a span without parent_id. Numbers above 9223372036854775807 are TEXT.
	s.no, s.id, s.parent_id, s.name, s.span_kind, s.measured, s.step,
	@U64(s.start_ns)@ as start_ns,
	t.closed,
	@U64(t.duration_ns)@ as duration_ns,
	-- self_ns: what no op and no closed child span covers; null while open. The host times are
	-- those of the host view: a span without length counts what is below it.
	f.depth, f.child_count, f.op_count,
	@U64(f.self_ns)@ as self_ns,
	@U64(f.host_total_ns)@ as host_total_ns,
	@U64(f.host_self_ns)@ as host_self_ns
from span_rows s
left join span_time_rows t on t.no = s.no
left join span_figure_rows f on f.no = s.no;

create view ops as select
	-- An operation a row, in file order; inputs and shape are JSON.
	rowid as no, span_id, op_name, inputs, output, shape, dtype, device,
	@U64(duration_ns)@ as duration_ns,
	@U64(timestamp_ns)@ as timestamp_ns,
	@U64(output_dense_bytes)@ as output_dense_bytes,
	@U64(input_dense_bytes)@ as input_dense_bytes
from op_rows;

create view tensors as select
	rowid as no, span_id, tensor_id, label, shape, dtype, device, requires_grad,
	@U64(dense_bytes)@ as dense_bytes,
	category
from tensor_rows;

create view tensor_stats as select
	rowid as no, span_id, label, shape, dtype,
	@U64(elements)@ as elements,
	@U64(non_finite)@ as non_finite,
	rms, abs_max, mean
from tensor_stats_rows;

create view memory as select
	-- Allocations and releases of logical storages (device and storage_id), in file order.
	rowid as no,
	@U64(timestamp_ns)@ as timestamp_ns,
	storage_id, tensor_id, span_id, op_name, device,
	@U64(bytes)@ as bytes,
	action, shape, dtype, category
from memory_rows;

create view device_memory as select
	-- Samples of a device or allocator; the four sizes are independent observations.
	rowid as no,
	@U64(timestamp_ns)@ as timestamp_ns,
	device,
	@U64(used_bytes)@ as used_bytes,
	@U64(free_bytes)@ as free_bytes,
	@U64(reserved_bytes)@ as reserved_bytes,
	@U64(capacity_bytes)@ as capacity_bytes
from device_memory_rows;

create view device_intervals as select
	-- Work on a device clock (device and clock_id); not comparable with host times.
	rowid as no, span_id, device, stream_id, clock_id, backend,
	@U64(start_ns)@ as start_ns,
	@U64(duration_ns)@ as duration_ns
from device_interval_rows;

create view gradients as select
	rowid as no, event_id, root, key, state, norm
from gradient_rows;

create view edges as select
	-- Calls between spans and data flow between tensors.
	rowid as no, edge_kind, from_span, to_span,
	@U64(host_duration_ns)@ as host_duration_ns,
	from_tensor, to_tensor
from edge_rows;

create view health as select
	-- One row; coverage is a JSON object of counts.
	structurally_valid, capture_complete, coverage
from health_rows;

create view issues as select
	-- What health found, in its order; severity is error or warning.
	rowid as no, severity, code, message
from issue_rows;
create view op_groups as select
	-- Ops by one of their members (dimension): op_name, device, dtype, span_id, shape.
	dimension, key, op_count,
	@U64(total_ns)@ as total_ns,
	mean_ns,
	@U64(max_ns)@ as max_ns,
	share_ratio,
	@U64(output_dense_bytes)@ as output_dense_bytes
from op_group_rows;

create view device_spans as select
	-- Busy time of spans on device clocks: the length of the union of their intervals.
	span_id, device, clock_id, interval_count,
	@U64(busy_ns)@ as busy_ns
from device_span_rows;

create view device_clocks as select
	device, clock_id, interval_count,
	@U64(busy_ns)@ as busy_ns
from device_clock_rows;

-- Those that may exist are made before the analysis, which reads along them.
create index if not exists span_by_id on span_rows(id);
create index if not exists op_by_span on op_rows(span_id, timestamp_ns, duration_ns);
create index span_by_name on span_rows(name);
create index span_measured on span_rows(measured) where measured;
create index span_by_start on span_figure_rows(start_ns, depth, id_order);
create index span_by_duration on span_figure_rows(duration_ns desc, id_order);
create index span_by_self on span_figure_rows(self_ns desc, id_order);
create index span_by_tree on span_figure_rows(tree_no);
create index span_by_order on span_figure_rows(id_order);
create index op_by_time on op_rows(timestamp_ns);
create index if not exists op_by_duration on op_rows(duration_ns desc, span_id);
create index op_group_by_total on op_group_rows(dimension, total_ns desc, key);
create view lifetimes as select
	-- A storage from its allocation to its release, by device, storage id and start. end_ns is
	-- null if it was never released. tensor_id is the tensor it was made for; lifetime_tensors
	-- has all that used it.
	l.no, m.device, m.storage_id, m.tensor_id, m.span_id as allocation_span_id, m.op_name,
	@U64(l.bytes)@ as bytes,
	m.shape, m.dtype, m.category,
	@U64(l.start_ns)@ as start_ns,
	@U64(l.end_ns)@ as end_ns
from lifetime_rows l join memory_rows m on m.rowid = l.alloc;

create view lifetime_tensors as
	-- A tensor that used a storage a row: number of the lifetime, tensor.
	select l.no, m.tensor_id from lifetime_rows l join memory_rows m on m.rowid = l.alloc
	union
	select l.no, m.tensor_id from lifetime_rows l join memory_rows m on m.rowid = l.free
	union
	select a.lifetime, m.tensor_id from lifetime_alias_rows a
		join memory_rows m on m.rowid = a.event;

create view span_memory as select
	-- Bytes allocated in a span itself, highest and left over of the span with all below it; null:
	-- no value.
	s.id,
	@U64(m.allocated_bytes)@ as allocated_bytes,
	@U64(m.peak_live_bytes)@ as peak_live_bytes,
	@U64(m.residual_bytes)@ as residual_bytes
from span_rows s left join span_memory_rows m on m.no = s.no;
