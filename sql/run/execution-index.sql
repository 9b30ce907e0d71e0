-- Spans by id: the export, references by id, call edges. Starts: the order of trace events.
create index span_id on span_rows(id);
create index span_start on span_rows(start_ns);
create index op_time on op_rows(timestamp_ns);

create view meta as select
	-- What the producer says of the run: one row.
	schema, run_id, correlation_id, entrypoint, phase, timestamp,
	@U64(capture_step)@ as capture_step,
	@U64(warmup_steps)@ as warmup_steps,
	device, measured_region_device_synchronized, timing_mode, capture_contract,
	comparison_identity, tags, candle_version
from meta_rows;

create view terminal as select
	-- How the run ended: one row.
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
	d.depth
from span_rows s
left join span_time_rows t on t.no = s.no
left join span_depth_rows d on d.no = s.no;

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
