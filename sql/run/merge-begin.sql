-- What merge-add.sql keeps between two segments.
create temp table place(shard integer, requests integer, tools integer);
insert into temp.place values (0, 0, 0);
