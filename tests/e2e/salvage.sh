#!/bin/sh
# salvage.sh: files that were cut: refused unless asked for, then taken up to the damage and marked
# shellcheck source=tests/e2e/lib.sh
. "${srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
e2e_begin
member() { # ID COUNT
  i=0
  while [ $i -lt "$2" ]; do
    request "$1-$i" $((1000 + i))
    i=$((i + 1))
  done | gzip -c
}

member a 100 >"$DIR/whole.gz"
member b 100 >>"$DIR/whole.gz"
begin=$(stat -c %s "$DIR/whole.gz")
member c 100 >"$DIR/third.gz"
head -c $(($(stat -c %s "$DIR/third.gz") * 6 / 10)) "$DIR/third.gz" >"$DIR/part.gz"
inflated=$(gzip -dc "$DIR/part.gz" 2>/dev/null | wc -l)
cat "$DIR/whole.gz" "$DIR/part.gz" >"$DIR/seg.000004.jsonl.gz"
{ i=0; while [ $i -lt 50 ]; do request "p-$i" $((1000 + i)); i=$((i + 1)); done
  request p-50 1050 | head -c 120; } >"$DIR/c18.jsonl"
{ meta c53; span a '' 0 10; printf '%s\n' '{"kind":"span_start","id":"b","name":"n","start_ns":11,"span_kind":"function"}'; } >"$DIR/c53.jsonl"

say "tracespool check says what would be taken"
check() { "$TRACESPOOL" check --json "$@" 2>/dev/null; }
is "strict" "$(check "$DIR/seg.000004.jsonl.gz" | jq -r '[.accepted,.reason.code]|join(" ")')" "false gzip_truncated"
is "C17" "$(check --salvage "$DIR/seg.000004.jsonl.gz" | jq -r '[.accepted,.salvaged,.counts.requests,.warnings[0].code]|join(" ")')" \
  "true true $((200 + inflated)) salvaged"
is "C18" "$(check --salvage "$DIR/c18.jsonl" | jq -r '[.accepted,.counts.requests]|join(" ")')" "true 50"
is "C53" "$(check --salvage "$DIR/c53.jsonl" | jq -r '[.accepted,.counts.spans]|join(" ")')" "true 2"
ok "in words" sh -c "'$TRACESPOOL' check --salvage '$DIR/c18.jsonl' | grep -q 'warning salvaged: bad_json, line 51'"
"$TRACESPOOL" runs --salvage >/dev/null 2>&1 && usage=0 || usage=$?
is "no other command takes it" "$usage" 2

say "without it nothing is stored"
daemon_start -o spool.idle_ms=1000
drop "$DIR/seg.000004.jsonl.gz"
is "C17: state, code, place" "$(field seg.000004.jsonl.gz '[.state,.reason.code,.reason.byte_offset]|join(" ")')" \
  "quarantined gzip_truncated $begin"
drop "$DIR/c18.jsonl"
is "C18: code and line" "$(field c18.jsonl '[.reason.code,.reason.line]|join(" ")')" "bad_json 51"
cp "$DIR/c53.jsonl" "$SPOOL/c53.jsonl"
is "C53: code" "$(field c53.jsonl '[.state,.reason.code]|join(" ")')" "quarantined missing_terminal"
ok "C53: the hint offers salvage" sh -c "printf %s \"\$1\" | grep -q salvage" - "$(field c53.jsonl .reason.hint)"
is "no run" "$(runs)" 0
daemon_stop

say "with ingest.salvage the run is there and marked"
daemon_start -o spool.idle_ms=1000 -o ingest.salvage=true
drop "$DIR/seg.000004.jsonl.gz"
is "C17: requests" "$(field seg.000004.jsonl.gz '[.state,.counts.requests,.warnings[0].code]|join(" ")')" \
  "ingested $((200 + inflated)) salvaged"
is "C17: digest of the bytes as they are" "$(field seg.000004.jsonl.gz .digest)" \
  "sha256:$(sha256sum <"$DIR/seg.000004.jsonl.gz" | cut -d' ' -f1)"
run=$(field seg.000004.jsonl.gz .run.summary)
is "C17: not complete" "$(get "$run" | jq -r '.health.capture_complete')" false
is "C17: issue with the place" "$(get "$run" | jq -r '.health.issues[] | select(.code == "salvaged") | .severity')" warning
is "C17: source" "$(get "${run%/summary}" | jq -r .source.salvaged)" true
is "C17: replay has all of it" "$(get "${run%/summary}/replay?format=ndjson" | wc -l)" $((200 + inflated))
drop "$DIR/c18.jsonl"
is "C18: requests" "$(field c18.jsonl '[.state,.counts.requests]|join(" ")')" "ingested 50"
cp "$DIR/c53.jsonl" "$SPOOL/c53.jsonl"
is "C53: ingested without outcome" "$(field c53.jsonl '[.state,.run.id]|join(" ")')" "ingested c53"
is "C53: outcome" "$(get /runs/c53/summary | jq -c '[.outcome,.outcome_reason,.span_count]')" '[null,null,2]'
is "C53: not complete" "$(get /runs/c53/summary | jq -r '.health.capture_complete // false')" false
is "C53: no outcome in the list" "$(get /runs/c53 | jq -r .outcome)" null
trace good >"$DIR/good.jsonl"
drop "$DIR/good.jsonl"
is "a whole file has no mark" "$(field good.jsonl '[.state,(.warnings|map(select(.code == "salvaged"))|length)]|join(" ")')" "ingested 0"
is "nor its source" "$(get /runs/good | jq -r .source.salvaged)" false
printf '{"kind":' >"$DIR/bad.jsonl"
drop "$DIR/bad.jsonl"
is "nothing before the damage: refused as ever" "$(field bad.jsonl .reason.code)" bad_json
{ request m1 1; echo '{"torn'; request m2 2; } >"$DIR/middle.jsonl"
drop "$DIR/middle.jsonl"
is "damage in the middle: refused as ever" "$(field middle.jsonl '[.reason.code,.reason.line]|join(" ")')" "bad_json 2"
mkdir "$DIR/night"
member n0 5 >"$DIR/night/n.000000.jsonl.gz"
member n1 5 | head -c 100 >"$DIR/night/n.000001.jsonl.gz"
drop "$DIR/night"
is "a folder whose last shard is cut" "$(field night '[.state,.warnings[0].code]|join(" ")')" "ingested salvaged"
daemon_stop
e2e_done
