-- Statements on the catalog.

-- name: writer_begin
begin immediate;

-- name: writer_commit
commit;

-- name: item_begin
savepoint item;

-- name: item_keep
release item;

-- name: item_undo
rollback to item;

-- name: counters_load
select (select value from counters where name = 'change'),
	(select count(*) from receipts where state = 'quarantined'),
	(select coalesce(sum(run_bytes), 0) from runs),
	(select max(ingested_ms) from runs);

-- name: counter_next
update counters set value = value + 1 where name = ?1 returning value;

-- name: run_insert
insert into runs(id, kind, digest, revision, run_bytes, name, owner, entrypoint, phase, device,
	outcome, correlation_id, trace_schema, model_one, capture, segment, structurally_valid,
	captured_ms, ingested_ms, total_ns, span_count, op_count, logical_peak_bytes, requests,
	tools, sessions, first_start_ms, trace_block_size, unreplayable_rows, mode, replay_error,
	pinned, tags, models)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
	?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34)
returning no;

-- name: run_details_insert
insert into run_details(run_no, source, meta, summary, summary_gzip) values (?1, ?2, ?3, ?4, ?5);

-- name: run_tag_insert
insert into run_tags(run_no, key, value) values (?1, ?2, ?3);

-- name: run_model_insert
insert into run_models(run_no, model, requests) values (?1, ?2, ?3);

-- name: run_delete
delete from runs where no = ?1;

-- name: tombstone_insert
insert into tombstones(id, digest, removed_ms, why) values (?1, ?2, ?3, ?4);

-- name: tombstone_by_id
select removed_ms, why from tombstones where id = ?1 order by no desc limit 1;

-- name: tombstone_by_digest
select removed_ms, why from tombstones where digest >= ?1 and digest < ?2
order by digest, no desc limit 1;

-- name: run_by_id
select r.no, r.id, r.kind, r.digest, r.revision, r.name, r.owner, r.entrypoint, r.phase, r.device,
	r.outcome, r.correlation_id, r.trace_schema, r.model_one, r.capture, r.segment,
	r.structurally_valid, r.captured_ms, r.ingested_ms, r.total_ns, r.span_count, r.op_count,
	r.logical_peak_bytes, r.requests, r.tools, r.sessions, r.first_start_ms,
	r.trace_block_size, r.unreplayable_rows, r.mode, r.replay_error, r.pinned, r.tags,
	r.models, d.source, d.meta
from runs r join run_details d on d.run_no = r.no
where r.id = ?1;

-- name: run_by_digest
select r.no, r.id, r.kind, r.digest, r.revision, r.name, r.owner, r.entrypoint, r.phase, r.device,
	r.outcome, r.correlation_id, r.trace_schema, r.model_one, r.capture, r.segment,
	r.structurally_valid, r.captured_ms, r.ingested_ms, r.total_ns, r.span_count, r.op_count,
	r.logical_peak_bytes, r.requests, r.tools, r.sessions, r.first_start_ms,
	r.trace_block_size, r.unreplayable_rows, r.mode, r.replay_error, r.pinned, r.tags,
	r.models, d.source, d.meta
from runs r join run_details d on d.run_no = r.no
where r.digest >= ?1 and r.digest < ?2
order by r.digest limit 2;

-- name: run_file_known
select 1 from runs where digest = ?1 and revision = ?2;

-- name: run_summary
select summary from run_details where run_no = ?1;

-- name: run_summary_gzip
select summary_gzip from run_details where run_no = ?1 and summary_gzip is not null;

-- name: receipt_insert
insert into receipts(no, name, digest, owner, state, code, seen_ms, final_ms, run_id, source_path,
	dev, ino, size, mtime_ns, kept, json)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16);

-- name: receipt_supersede
delete from receipts
where no in (select r.no from receipts r where r.name = ?1 and r.no < ?2) and state = 'failed';

-- name: receipt_forget_failed
delete from receipts where no = ?1 and state = 'failed';

-- name: receipt_next_failed
select no, name, digest, owner, state, code, seen_ms, final_ms, run_id, source_path, dev, ino, size,
	mtime_ns, kept, json
from receipts where state = 'failed' and no > ?1 order by no limit 1;

-- name: receipt_state
select state from receipts where no = ?1;

-- name: receipt_update
update receipts set state = ?2, code = ?3, final_ms = ?4, run_id = ?5, source_path = ?6, kept = ?7,
	json = ?8
where no = ?1;

-- name: receipt_by_no
select no, name, digest, owner, state, code, seen_ms, final_ms, run_id, source_path, dev, ino, size,
	mtime_ns, kept, json
from receipts where no = ?1;

-- name: receipt_by_name
select no, name, digest, owner, state, code, seen_ms, final_ms, run_id, source_path, dev, ino, size,
	mtime_ns, kept, json
from receipts where name = ?1 and seen_ms >= ?2 order by no desc limit 1;

-- name: receipt_by_digest
select no, name, digest, owner, state, code, seen_ms, final_ms, run_id, source_path, dev, ino, size,
	mtime_ns, kept, json
from receipts where digest = ?1 and seen_ms >= ?2 order by no desc limit 1;

-- name: receipt_of_run
select no, name, digest, owner, state, code, seen_ms, final_ms, run_id, source_path, dev, ino, size,
	mtime_ns, kept, json
from receipts where digest = ?1 and +state = 'ingested' order by no desc limit 1;

-- name: receipt_kept
select 1 from receipts where name = ?1 and ino = ?2 and size = ?3 and mtime_ns = ?4 and kept = 1
limit 1;
