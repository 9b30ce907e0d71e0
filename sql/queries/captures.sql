-- captures.sql: recordings in the catalog, and what is asked of their segments' rows
-- name: segment_again
select no, capture, generation from segments
where digest = ?1 and prefix = ?2 and number = ?3 and +run_no is null;
-- name: segment_last_generation
select max(generation) from segments where prefix = ?1;
-- name: segment_generations
select generation from segments where prefix = ?1 and number = ?2 order by generation desc;
-- name: segment_generation_name
select capture from segments where prefix = ?1 and generation = ?2 limit 1;
-- name: segment_name_taken
select 1 from segments where capture = ?1 limit 1;
-- name: segment_insert
insert into segments(capture, prefix, generation, number, digest, last_end_ms, run_no)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7);
-- name: segment_return
update segments set run_no = ?2, last_end_ms = ?3 where no = ?1;
-- name: capture_segments
select s.number, r.no, r.id, r.digest, r.revision, r.run_bytes, r.requests, r.tools, r.mode,
	r.trace_block_size, r.ingested_ms
from segments s cross join runs r on r.no = s.run_no
where s.capture = ?1 order by s.number;
-- name: merge_ids
select request_id, no, shard, line from request_rows order by request_id, no;
-- name: merge_first_line
select line from request_rows order by no limit 1;
