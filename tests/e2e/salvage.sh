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
{ meta c53; span a '' 0 10; printf '%s\n' '{"kind":"span_start","id":"b","name":"n","start_ns":5,"parent_id":"a","span_kind":"function"}'
  printf '%s\n' '{"kind":"op","span_id":"b","op_name":"o","inputs":[],"output":"y","shape":[1],"dtype":"F32","device":"cpu","timestamp_ns":12,"duration_ns":8,"input_dense_bytes":0}'; } >"$DIR/c53.jsonl"

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
is "C17: as recorded: what was taken" "$(get "${run%/summary}/requests?format=dynamo" | jq -c .request.request_id | sort -u | wc -l)" \
  $((200 + inflated))
gzip -dc "$DIR/seg.000004.jsonl.gz" >"$DIR/decoded" 2>/dev/null || :
curl -fsS -D "$DIR/head" "$B${run%/summary}/source?decode=true" >"$DIR/got"
ok "C17: source decoded: all that can be" cmp "$DIR/decoded" "$DIR/got"
is "C17: its digest is not that of the file" "$(grep -ci '^[a-z]*-digest:' "$DIR/head" || :)" 0
get "${run%/summary}/source" >"$DIR/got"
ok "C17: source: the bytes as they are" cmp "$DIR/seg.000004.jsonl.gz" "$DIR/got"
is "C17: its capture is not complete" "$(get /captures/seg/summary | jq -r '.health.capture_complete')" false
drop "$DIR/c18.jsonl"
is "C18: requests" "$(field c18.jsonl '[.state,.counts.requests]|join(" ")')" "ingested 50"
is "C18: as recorded: no torn line" \
  "$(get "/runs/$(field c18.jsonl .run.id)/requests?format=dynamo" | jq -c .request.request_id | wc -l)" 50
cp "$DIR/c53.jsonl" "$SPOOL/c53.jsonl"
is "C53: ingested without outcome" "$(field c53.jsonl '[.state,.run.id]|join(" ")')" "ingested c53"
is "C53: outcome" "$(get /runs/c53/summary | jq -c '[.outcome,.outcome_reason,.span_count]')" '[null,null,2]'
is "C53: not complete" "$(get /runs/c53/summary | jq -r '.health.capture_complete // false')" false
is "C53: all issues" "$(get /runs/c53/views/health | jq -c '.result | [.capture_complete, (.issues | last | .code)]')" '[false,"salvaged"]'
is "C53: judged as a failed run, without saying that it failed" \
  "$(get /runs/c53/views/health | jq -c '[.result.issues[] | select(.code | IN("open_span", "capture_failed", "measurement_count")) | [.code, .severity]]')" \
  '[["open_span","warning"]]'
is "C53: no graph" "$(code /runs/c53/views/spans)" 409
is "C53: an open span lasts to the last moment" \
  "$(get /runs/c53/trace.json | jq -c '[.traceEvents[] | select(.cat == "span") | [.args.id, .ts, .dur, .args.closed]]')" \
  '[["a",0,0.01,null],["b",0.005,0.015,false]]'
ok "C53: in words" sh -c "'$TRACESPOOL' summary --url '$B' c53 | grep -q 'salvaged'"
ok "C53: in the table" sh -c "'$TRACESPOOL' runs --url '$B' | grep -q c53"
curl -fsS -D "$DIR/head" "$B/runs/c53/export" >"$DIR/export.jsonl"
is "C53: export without an end" "$(jq -r .kind "$DIR/export.jsonl" | tr '\n' ' ')" "meta span_start span_end span_start op "
is "C53: lines of it" "$(tr -d '\r' <"$DIR/head" | sed -n 's/^[Tt]racespool-[Rr]ow-[Cc]ount: //p')" 5
is "C53: which is read again by a salvage only" \
  "$(check "$DIR/export.jsonl" | jq -r .reason.code; check --salvage "$DIR/export.jsonl" | jq -c '[.accepted,.salvaged,.run_id,.counts.spans]')" \
  'missing_terminal
[true,true,"c53",2]'
sed 's/"c53"/"again"/' "$DIR/export.jsonl" >"$DIR/again.jsonl"
drop "$DIR/again.jsonl"
is "C53: and is the same run" "$(field again.jsonl .state) $(get /runs/again/summary | jq -c 'del(.id, .run_id)')" \
  "ingested $(get /runs/c53/summary | jq -c 'del(.id, .run_id)')"
{ trace behind; printf '{"kind":'; } >"$DIR/behind.jsonl"
drop "$DIR/behind.jsonl"
is "damage behind the end: the outcome stands, the run is not complete" \
  "$(field behind.jsonl .state) $(get /runs/behind/summary | jq -c '[.outcome,.health.capture_complete]') $(code /runs/behind/views/spans)" \
  'ingested ["complete",false] 409'
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
