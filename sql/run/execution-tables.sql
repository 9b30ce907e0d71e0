-- Tables of the run file of an execution trace. The rowid is the order in the file. Columns that
-- hold u64 are INTEGER up to 2^63-1 and above that an 8-byte big-endian BLOB, which sorts behind
-- every integer; the views of execution-index.sql show them in decimal. Columns of doubles have no
-- type, since SQLite forgets the sign of -0.0 in a REAL column.
create table meta_rows(
	schema text, run_id text, correlation_id text, entrypoint text, phase text, timestamp text,
	capture_step integer, warmup_steps integer, device text,
	measured_region_device_synchronized integer, timing_mode text,
	capture_contract text,     -- JSON
	comparison_identity text,  -- JSON, or null
	tags text,                 -- JSON object of strings
	candle_version text
);
create table span_rows(
	no integer primary key,    -- from 1, in the order of the span_start records
	id text, parent_id text, name text, span_kind text, measured integer, step text,
	start_ns integer
);
create table span_time_rows(
	no integer primary key,    -- that of span_rows
	parent_no integer,         -- 0: no parent_id, or no span of that id
	closed integer, duration_ns integer
);
create table op_rows(
	span_id text, op_name text,
	inputs text,               -- JSON array of tensor ids
	output text,
	shape text,                -- JSON array
	dtype text, device text, duration_ns integer, timestamp_ns integer,
	output_dense_bytes integer, input_dense_bytes integer
);
create table tensor_rows(
	span_id text, tensor_id text, label text, shape text, dtype text, device text,
	requires_grad integer, dense_bytes integer, category text
);
create table tensor_stats_rows(
	span_id text, label text, shape text, dtype text, elements integer, non_finite integer,
	rms, abs_max, mean
);
create table memory_rows(
	timestamp_ns integer, storage_id text, tensor_id text, span_id text, op_name text,
	device text, bytes integer, action text, shape text, dtype text, category text
);
create table device_memory_rows(
	timestamp_ns integer, device text, used_bytes integer, free_bytes integer,
	reserved_bytes integer, capacity_bytes integer
);
create table device_interval_rows(
	span_id text, device text, stream_id text, clock_id text, backend text,
	start_ns integer, duration_ns integer
);
create table gradient_rows(
	event_id text, root text, key text, state text, norm
);
create table edge_rows(
	edge_kind text, from_span text, to_span text, host_duration_ns integer,
	from_tensor text, to_tensor text
);
create table terminal_rows(
	outcome text, timestamp_ns integer, reason text
);
-- Written by the analysis.
create table span_figure_rows(
	no integer primary key,    -- that of span_rows
	id_order integer,          -- from 1, in the bytewise order of the ids
	start_ns integer, duration_ns integer, closed integer,
	depth integer, child_count integer, op_count integer,
	self_ns integer,           -- null: open
	host_total_ns integer, host_self_ns integer,
	tree_no integer,           -- from 1, a span in front of what is below it
	tree_first integer, tree_last integer -- the numbers of its subtree
);
create table op_group_rows(
	no integer primary key,
	dimension text,            -- op_name, device, dtype, span_id or shape
	key text, op_count integer, total_ns integer, mean_ns, max_ns integer,
	share_ratio,               -- of total_ns of the run; null: that is 0
	output_dense_bytes integer -- null: no op has a size
);
create table slow_op_rows(
	place integer primary key, -- from 1, slowest first
	op integer,                -- rowid in op_rows
	op_index integer           -- from 0, among the ops of its span in file order
);
create table slowest_host_rows(
	place integer primary key, -- from 1
	no integer,                -- that of span_rows
	scope text, overlap_self_ns integer, overlap_duration_ns integer
);
create table device_span_rows(
	no integer primary key,    -- from 1, in the order of span_id, device, clock_id
	span_id text, device text, clock_id text, interval_count integer, busy_ns integer
);
create table device_span_name_rows(
	no integer,                -- that of device_span_rows
	what integer,              -- 0: a backend, 1: a stream
	name text,
	primary key (no, what, name)
) without rowid;
create table slowest_device_rows(
	place integer primary key, -- from 1
	no integer                 -- that of device_span_rows
);
create table device_clock_rows(
	no integer primary key,    -- from 1, in the order of device, clock_id
	device text, clock_id text, interval_count integer, busy_ns integer
);
create table lifetime_rows(
	no integer primary key,    -- by device, storage id, start
	alloc integer,             -- rowid of the alloc in memory_rows
	free integer,              -- rowid of the free; null: never released
	device_no integer,         -- of memory_device_rows
	category integer,          -- 0 parameter, 1 activation, 2 gradient, 3 optimizer, 4 other
	span_no integer,           -- of span_rows; 0: no such span
	start_ns integer,
	end_ns integer,            -- null: never released
	bytes integer
);
-- The health report; in the order of its issues.
create table issue_rows(
	severity text, code text, message text
);
create table health_rows(      -- one row
	structurally_valid integer, capture_complete integer,
	coverage text              -- JSON object of counts
);
-- Where the analysis sorts what does not fit into memory; empty afterwards.
create table health_asked_rows(id text primary key) without rowid;
create table health_repeat_rows(no integer primary key);
create table health_found_rows(timestamp_ns integer, memory integer, fault integer, bytes integer);
create table health_holder_rows(lifetime integer, memory integer);
create table lifetime_alias_rows(
	lifetime integer,          -- of lifetime_rows
	event integer,             -- rowid in memory_rows of an alloc while it was live
	primary key(lifetime, event)
) without rowid;
create table heavy_span_rows(
	place integer primary key, -- from 1, most allocated first
	no integer                 -- that of span_rows
);
create table heavy_op_rows(
	place integer primary key, -- from 1, most allocated first
	id text,                   -- SPAN/op/N, or that of a span
	name text, allocated_bytes integer
);
create table memory_device_rows(
	no integer primary key,    -- from 1, by device
	device text, storage_allocation_count integer, matched_storage_free_count integer,
	total_allocated_bytes integer, peak_live_bytes integer, peak_timestamp_ns integer
);
-- What a picture of the memory is made of. A series is 0 for all storages, 1 to 5 for those of a
-- category, 6 to 21 for those of the first 16 devices where there are several.
create table memory_series_rows(
	series integer primary key, point_count integer, storage_allocation_count integer,
	matched_storage_free_count integer, total_allocated_bytes integer,
	peak_live_bytes integer, peak_timestamp_ns integer,
	peak_live_count integer    -- number of lifetimes live then
);
create table memory_point_rows(
	series integer primary key,
	points blob                -- varints: interval, time and live bytes, from those before
);
create table memory_peak_rows(
	series integer,
	kind integer,              -- 0: no is a device, 1: a category
	no integer, bytes integer, -- live at the peak
	primary key(series, kind, no)
) without rowid;
create table memory_largest_rows(
	series integer, rank integer, lifetime integer, -- the largest live at the peak
	primary key(series, rank)
) without rowid;
create table span_memory_rows(
	no integer primary key,    -- that of span_rows; null: no value
	allocated_bytes integer, peak_live_bytes integer, residual_bytes integer
);
create table device_figure_rows(
	no integer primary key,    -- from 1, by device
	device text, sample_count integer, used_sample_count integer, free_sample_count integer,
	reserved_sample_count integer, capacity_sample_count integer,
	peak_used_bytes integer, peak_used_timestamp_ns integer,
	peak_reserved_bytes integer, peak_reserved_timestamp_ns integer,
	minimum_free_bytes integer, minimum_free_timestamp_ns integer,
	maximum_observed_capacity_bytes integer
);
create table device_point_rows(
	series integer,            -- 0: all devices; else that of device_figure_rows, up to 16
	no integer, bucket integer,
	sample integer,            -- rowid in device_memory_rows
	primary key(series, no)
) without rowid;
