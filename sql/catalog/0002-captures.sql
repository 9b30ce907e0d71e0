-- Recordings: which segment of which recording a run is. A row outlives its run: that number was
-- there, and the next file of that number belongs to another recording.
create table segments(
	no integer primary key,
	capture text not null,       -- name of the recording: PREFIX, PREFIX~2, ...
	prefix text not null,        -- of the segments' file names
	generation integer not null, -- recordings of a prefix count from 1 without gaps
	number integer not null,
	digest text not null,
	last_end_ms integer,         -- null: not known
	run_no integer unique references runs(no) on delete set null,
	unique(prefix, number, generation)
);
create index segments_capture on segments(capture, number);
create index segments_generation on segments(prefix, generation);

-- What came before recordings had names of their own: the n-th run of a number is of the n-th one.
insert into segments(capture, prefix, generation, number, digest, last_end_ms, run_no)
select case when n.generation = 1 then n.capture else n.capture || '~' || n.generation end,
	n.capture, n.generation, n.segment, n.digest, n.last_end_ms, n.no
from (select r.no, r.capture, r.segment, r.digest,
		json_extract(d.summary, '$.last_end_ms') as last_end_ms,
		row_number() over (partition by r.capture, r.segment order by r.no) as generation
	from runs r join run_details d on d.run_no = r.no
	where r.capture is not null and r.segment is not null) n
order by n.no;
update run_details set summary_gzip = null, summary = (
	select replace(run_details.summary,
		',"capture":' || json_quote(s.prefix) || ',"segment":',
		',"capture":' || json_quote(s.capture) || ',"segment":')
	from segments s where s.run_no = run_details.run_no)
where run_no in (select s.run_no from segments s where s.generation > 1);
update runs set capture = (select s.capture from segments s where s.run_no = runs.no)
where no in (select s.run_no from segments s where s.generation > 1);
