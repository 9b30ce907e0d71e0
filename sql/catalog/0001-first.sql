-- The catalog: what is listed and polled. Times are milliseconds since the Unix epoch. Columns of
-- u64 hold values above 2^63-1 as 8-byte big-endian blobs. Names of drops are bytes.
create table runs(
	no integer primary key autoincrement,
	id text not null unique,
	kind text not null,          -- execution, requests
	digest text not null unique, -- "sha256:" and 64 digits
	revision integer not null,   -- of the run file
	run_bytes integer not null,  -- size of the run file
	name blob not null,
	owner text,
	entrypoint text,
	phase text,
	device text,
	outcome text,
	correlation_id text,
	trace_schema text,
	model_one text,
	capture text,
	segment integer,
	structurally_valid integer,  -- 1, 0, null: not known
	captured_ms integer,
	ingested_ms integer not null,
	total_ns integer,
	span_count integer,
	op_count integer,
	logical_peak_bytes integer,
	requests integer,
	tools integer,
	sessions integer,
	first_start_ms integer,
	trace_block_size integer,
	unreplayable_rows integer,
	mode text,
	replay_error text,
	pinned integer not null,
	tags text,                   -- JSON object of strings
	models text                  -- JSON object: number of requests by model
);
create index runs_captured on runs(captured_ms desc, id);
create index runs_ingested on runs(ingested_ms desc, id);
create index runs_capture on runs(capture, segment);

-- What is sent as it is; apart from runs so that lists stay narrow.
create table run_details(
	run_no integer primary key references runs(no) on delete cascade,
	source text,                 -- JSON object
	meta text,                   -- JSON object of an execution run
	summary text not null,
	summary_gzip blob            -- null: not kept
);

create table run_tags(
	run_no integer not null references runs(no) on delete cascade,
	key text not null,
	value text not null,
	primary key(run_no, key)
);
create index run_tags_value on run_tags(key, value, run_no);

create table run_models(
	run_no integer not null references runs(no) on delete cascade,
	model text not null,
	requests integer not null,
	primary key(run_no, model)
);
create index run_models_model on run_models(model, run_no);

create table receipts(
	no integer primary key,
	name blob not null,
	digest text,
	owner text,
	state text not null,         -- ingested, duplicate, quarantined, failed
	code text,                   -- of the reason
	seen_ms integer not null,
	final_ms integer,            -- null: not final
	run_id text,
	source_path blob,
	dev integer, ino integer, size integer, mtime_ns integer,
	kept integer not null,       -- 1: the source stays in place
	json text not null
);
create index receipts_name on receipts(name);
create index receipts_digest on receipts(digest);
create index receipts_state on receipts(state);
create index receipts_seen on receipts(seen_ms);

-- Runs that were here.
create table tombstones(
	no integer primary key autoincrement,
	id text not null,
	digest text not null,
	removed_ms integer not null,
	why text not null            -- replaced
);
create index tombstones_id on tombstones(id);
create index tombstones_digest on tombstones(digest);

-- change: grows with each commit that a list can show. receipt: the number given last.
create table counters(
	name text primary key,
	value integer not null
);
insert into counters(name, value) values ('change', 0), ('receipt', 0);
