#!/bin/sh
# query.sh: how long an answer takes on one connection, against the same rows by one statement
# shellcheck source=bench/lib.sh
. "${srcdir:=$(dirname "$0")/..}/bench/lib.sh"
bench_begin
E=$(execution_file "$BENCH_EVENTS")
R=$(made "agentic-$BENCH_REQUESTS.jsonl" "$BIN/gen_request" -a -n "$BENCH_REQUESTS")
daemon_fresh
cp "$E" "$WORK/e.part"
cp "$R" "$WORK/r.part"
mv "$WORK/e.part" "$WORK/e.jsonl"
mv "$WORK/r.part" "$WORK/r.jsonl"
"$BIN/client" drop "$ADDRESS" "$SPOOL" "$WORK/e.jsonl" "$WORK/r.jsonl" >/dev/null
file_of() {
  digest=$(curl -s "http://$ADDRESS/ingest/receipts/$1" | jq -r '.digest' | sed 's/^sha256://')
  find "$STORE/runs" -name "$digest-*.db"
}
X=gen-1
Q=$(curl -s "http://$ADDRESS/ingest/receipts/r.jsonl" | jq -r .run.id)
XF=$(file_of e.jsonl)
QF=$(file_of r.jsonl)

# answer PATH [FILE SQL]
answer() {
  i=0
  name=$(say "$1" | tr -c 'a-z0-9\n' -)
  while [ $i -lt "$BENCH_RUNS" ]; do
    i=$((i + 1))
    # shellcheck disable=SC2046 # numbers; $1 to $3 stay in front
    set -- "$1" "${2:-}" "${3:-}" $("$BIN/client" load "$ADDRESS" "$1" 1 1)
    [ "$8" = 0 ] || { skipped "$1" "answers with an error"; return 0; }
    note "$name" "$5"
    note "$name-p99" "$6"
    [ -z "$2" ] || note "$name-bound" "$("$BIN/query" "$2" "$3" 1 | cut -d ' ' -f 1)"
  done
  what=$(say "$1" | sed "s|$Q|REQUESTS|; s|$X|EXECUTION|")
  ours="$(fixed 0 "$(median "$name")") us"
  if [ -n "$2" ]; then
    row "$what" "$ours" "$(fixed 0 "$(median "$name-bound")") us statement" \
      "$(calc "$(median "$name") / $(median "$name-bound")")" -
  else
    row "$what" "$ours" "p99 $(fixed 0 "$(median "$name-p99")") us" - -
  fi
}

head_row "bench/query: $BENCH_EVENTS events, $BENCH_REQUESTS requests; p50 of one connection, medians of $BENCH_RUNS"
answer "/runs/$X/spans" "$XF" "select * from spans order by no limit 100"
answer "/runs/$X/ops" "$XF" "select * from ops order by no limit 100"
answer "/runs/$Q/requests" "$QF" "select * from request_rows order by start_ms, end_ms, request_id limit 100"
answer "/runs/$Q/tools" "$QF" "select * from tools order by no limit 100"
answer /runs
for path in summary "ops?group_by=op_name" memory memory/events views/timing views/slowest-host; do
  answer "/runs/$X/$path"
done
for path in summary sessions arrivals; do
  answer "/runs/$Q/$path"
done
