#!/bin/sh
# drops.sh: dropping and finishing files: section A of the public cases, each by its number
# shellcheck source=tests/e2e/lib.sh
. "${srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
e2e_begin
daemon_start

say "C01: a file that grows with pauses is taken once, after its terminal record"
meta c01 >"$SPOOL/c01.jsonl"
wait_until state_is c01.jsonl waiting
sleep 1
span a '' 0 10 >>"$SPOOL/c01.jsonl"
sleep 1
ok "still waiting without terminal" state_is c01.jsonl waiting
terminal 10 >>"$SPOOL/c01.jsonl"
is "ingested after terminal" "$(field c01.jsonl .state)" ingested
is "one receipt" "$(get '/ingest/receipts?name=c01.jsonl&format=ndjson' | wc -l)" 1

say "C02: many events on one file make one run"
trace c02 >"$SPOOL/.c02.tmp"
: >>"$SPOOL/.c02.tmp"
chmod 640 "$SPOOL/.c02.tmp"
touch "$SPOOL/.c02.tmp"
mv "$SPOOL/.c02.tmp" "$SPOOL/c02.jsonl"
is "ingested" "$(field c02.jsonl .state)" ingested
is "one receipt" "$(get '/ingest/receipts?name=c02.jsonl&format=ndjson' | wc -l)" 1

say "C05: a damaged gzip file is refused once and nothing of it is stored"
{ meta c05; i=0; while [ $i -lt 1000 ]; do i=$((i + 1)); span "s$i" '' 0 $i; done; terminal 2000; } |
  gzip -c >"$DIR/c05.jsonl.gz"
# In its CRC, so that no line in front of the damage is bad.
size=$(stat -c %s "$DIR/c05.jsonl.gz")
printf 'XXXX' | dd of="$DIR/c05.jsonl.gz" bs=1 seek=$((size - 8)) conv=notrunc 2>/dev/null
drop "$DIR/c05.jsonl.gz"
is "code" "$(field c05.jsonl.gz .reason.code)" gzip_corrupt
is "no run of it" "$(code /runs/c05)" 404
is "quarantined once" "$(get /quarantine | jq '[.items[] | select(.name == "c05.jsonl.gz")] | length')" 1
ok "the file is kept" test -f "$SPOOL/$(field c05.jsonl.gz .source.path)"
ok "its report lies beside it" test -f "$SPOOL/$(field c05.jsonl.gz .source.path).json"

say "C07: the bytes exist after ingest, where the receipt says"
trace c07 >"$DIR/c07.jsonl"
drop "$DIR/c07.jsonl"
is "action" "$(field c07.jsonl .source.action)" archived
ok "same bytes" cmp "$DIR/c07.jsonl" "$SPOOL/$(field c07.jsonl .source.path)"
is "digest" "$(field c07.jsonl .digest)" "sha256:$(sha256sum <"$DIR/c07.jsonl" | cut -d' ' -f1)"

say "C11: a compressed copy of a run that is there is a duplicate"
gzip -9c "$DIR/c07.jsonl" >"$DIR/c11a.jsonl.gz"
gzip -1c "$DIR/c07.jsonl" >"$DIR/c11b.jsonl.gz"
before=$(runs)
drop "$DIR/c11a.jsonl.gz"
drop "$DIR/c11b.jsonl.gz"
is "gzip -9" "$(field c11a.jsonl.gz '[.state,.run.id]|join(" ")')" "duplicate c07"
is "gzip -1" "$(field c11b.jsonl.gz '[.state,.run.id]|join(" ")')" "duplicate c07"
is "no run more" "$(runs)" "$before"

say "the same run id with other bytes is a conflict"
{ trace c07; echo; } >"$DIR/c07-again.jsonl"
drop "$DIR/c07-again.jsonl"
is "code" "$(field c07-again.jsonl .reason.code)" run_id_conflict

say "C53: a job that died leaves a final receipt after spool.idle_ms"
daemon_stop
daemon_start -o spool.idle_ms=1000
meta c53 >"$SPOOL/c53.jsonl"
is "code" "$(field c53.jsonl .reason.code)" missing_terminal
: >"$SPOOL/empty.jsonl"
is "an empty file too" "$(field empty.jsonl .reason.code)" empty_file

say "C54: a damaged file before ten good ones stops none of them"
printf '{"kind":' >"$DIR/bad.jsonl"
drop "$DIR/bad.jsonl" 0-bad.jsonl
for i in 0 1 2 3 4 5 6 7 8 9; do
  trace "c54-$i" >"$DIR/c54-$i.jsonl"
  drop "$DIR/c54-$i.jsonl"
done
for i in 0 1 2 3 4 5 6 7 8 9; do is "good $i" "$(field "c54-$i.jsonl" .state)" ingested; done
is "bad" "$(field 0-bad.jsonl .state)" quarantined

say "C06: a source that cannot be archived is tried again; the run is there once"
year=$(date -u +%Y)
mv "$SPOOL/.archive/$year" "$DIR/kept-year"
: >"$SPOOL/.archive/$year"
trace c06 >"$DIR/c06.jsonl"
drop "$DIR/c06.jsonl"
is "state" "$(field c06.jsonl .state)" ingested
action_is() { [ "$(field c06.jsonl .source.action)" = "$1" ]; }
wait_until action_is failed
ok "errno is told" test "$(field c06.jsonl .source.errno)" != null
daemon_stop
daemon_start
is "one run after a restart" "$(get '/runs?id_prefix=c06&count=true' | jq .total)" 1
rm "$SPOOL/.archive/$year"
daemon_stop
daemon_start
wait_until action_is archived
ok "archived when it can be" cmp "$DIR/c06.jsonl" "$SPOOL/$(field c06.jsonl .source.path)"
is "still one receipt" "$(get '/ingest/receipts?name=c06.jsonl&format=ndjson' | wc -l)" 1

say "names, links and folders"
ln -s "$DIR/c07.jsonl" "$SPOOL/link.jsonl"
is "a link is refused" "$(field link.jsonl .reason.code)" not_a_regular_file
mkfifo "$SPOOL/pipe.jsonl"
is "a pipe is refused" "$(field pipe.jsonl .reason.code)" not_a_regular_file
trace plain >"$SPOOL/note.txt"
trace hidden >"$SPOOL/x.jsonl.part"
mkdir "$DIR/night"
request n1 1000 >"$DIR/night/t.000001.jsonl"
request n0 500 | gzip -c >"$DIR/night/t.000000.jsonl.gz"
echo hello >"$DIR/night/README"
drop "$DIR/night"
is "a folder of shards is one run" "$(field night '[.state,.counts.shards,.counts.requests]|join(" ")')" \
  "ingested 2 2"
ok "other entries are archived with it" test -f "$SPOOL/$(field night .source.path)/README"
mkdir "$SPOOL/in-place"
request p1 1000 >"$SPOOL/in-place/a.jsonl"
is "a folder made in place" "$(field in-place .state)" ingested
ok "other endings are ignored" test -f "$SPOOL/note.txt"
ok "unfinished endings are ignored" test -f "$SPOOL/x.jsonl.part"
is "ignored is counted" "$(get /ingest | jq '.spools[0].ignored >= 2')" true
long=$(printf 'l%.0s' $(seq 210)).jsonl
trace long >"$SPOOL/$long"
is "a name above 200 bytes is refused" "$(field "$long" .reason.code)" bad_name
bytes=$(printf 'b\377d.jsonl')
trace not-utf8 >"$SPOOL/.n.part"
mv "$SPOOL/.n.part" "$SPOOL/$bytes"
is "a name that is not UTF-8 is served by its bytes" \
  "$(curl -s "$B/ingest/receipts/b%FFd.jsonl?wait=30" | jq -r '[.state,.name]|join(" ")')" \
  "ingested b%FFd.jsonl"

say "segments are held back until a higher number is seen"
request s0 1000 | gzip -c >"$SPOOL/live.000000.jsonl.gz"
sleep 1
ok "the highest segment waits" state_is live.000000.jsonl.gz waiting
request s1 2000 | gzip -c >"$SPOOL/live.000001.jsonl.gz"
is "the lower one is taken" "$(field live.000000.jsonl.gz .state)" ingested
is "and named" "$(get '/runs?capture=live' | jq -r '.items[0].capture')" live
ok "the new highest waits" state_is live.000001.jsonl.gz waiting
daemon_stop

say "what was dropped while the daemon was down is found at start"
trace down >"$SPOOL/down.jsonl"
daemon_start
is "found" "$(field down.jsonl .state)" ingested
daemon_stop

say "C15: an archive on another file system"
if [ -d /dev/shm ] && [ "$(stat -c %d /dev/shm)" != "$(stat -c %d "$DIR")" ]; then
  other=$(mktemp -d /dev/shm/tracespool-test.XXXXXX)
  daemon_start -o spool.archive_path="$other"
  trace c15 >"$DIR/c15.jsonl"
  chmod 604 "$DIR/c15.jsonl"
  drop "$DIR/c15.jsonl"
  is "archived" "$(field c15.jsonl .source.action)" archived
  ok "same bytes" cmp "$DIR/c15.jsonl" "$(field c15.jsonl .source.path)"
  is "same mode" "$(stat -c %a "$(field c15.jsonl .source.path)")" 604
  ok "gone from the spool" test ! -e "$SPOOL/.active/c15.jsonl"
  daemon_stop
  rm -rf "$other"
else
  say "skip: C15: no second file system"
fi

say "C09: spool.after = keep: a new file in an old inode is a run of its own"
daemon_start -o spool.after=keep
trace c09-first >"$SPOOL/c09.jsonl"
is "kept in place" "$(field c09.jsonl '[.state,.source.action]|join(" ")')" "ingested kept"
ok "still there" test -f "$SPOOL/c09.jsonl"
sleep 1
is "not taken again" "$(get '/ingest/receipts?name=c09.jsonl&format=ndjson' | wc -l)" 1
rm "$SPOOL/c09.jsonl"
trace c09-other >"$SPOOL/c09b.jsonl"
is "another content is another run" "$(field c09b.jsonl .run.id)" c09-other
daemon_stop
daemon_start -o spool.after=keep
sleep 1
is "known after a restart" "$(get '/ingest/receipts?name=c09b.jsonl&format=ndjson' | wc -l)" 1
daemon_stop
daemon_start -o spool.after=delete
trace gone >"$SPOOL/gone.jsonl"
is "deleted when asked" "$(field gone.jsonl .source.action)" deleted
ok "really" test ! -e "$SPOOL/gone.jsonl"
daemon_stop
e2e_done
