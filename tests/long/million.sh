#!/bin/sh
# million.sh: 1,000,000 requests in 8 gzip shards, and 100,000 agentic ones in 5,000 sessions: ingest,
# summary, replay stream, in bounded memory
#
# Bound: 64 MiB + longest line + 100 bytes a request to ingest, 200 to lower, 32 a distinct hash.
# REQUESTS sets another number; there are a tenth as many agentic ones, in a twentieth as many
# sessions as those.
# shellcheck source=tests/e2e/lib.sh
. "${srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
: "${REQUESTS:=1000000}"
: "${HASHES:=12}"
WAIT_SECONDS=900
e2e_begin
gen=$builddir/bench/gen_request

# play NAME: drops $DIR/NAME, asks for everything, prints times and the peak.
play() {
  daemon_start -o ingest.workers=1 -o limits.page_ms=600000
  start=$(date +%s)
  mv "$DIR/$1" "$SPOOL/$1"
  wait_until state_is "$1" ingested
  say "$1: ingested in $(($(date +%s) - start)) s, peak $(peak) KiB"
  run=/runs/$(field "$1" .run.id)
  n=$(get "$run/summary" | jq -r .requests)
  unique=$(get "$run/summary" | jq -r .blocks_unique)
  is "$1: summary" "$n" "$2"
  curl -fsS -o "$DIR/rows" -D "$DIR/head" -w "$1: first byte after %{time_starttransfer} s, all after %{time_total} s\n" \
    "$B$run/replay?format=ndjson"
  is "$1: rows" "$(wc -l <"$DIR/rows")" "$n"
  is "$1: row count in the header" \
    "$(tr -d '\r' <"$DIR/head" | sed -n 's/^Tracespool-Row-Count: //Ip')" "$n"
  is "$1: the last row is whole" "$(tail -n 1 "$DIR/rows" | jq 'has("hash_ids")')" true
  is "$1: arrivals" "$(get "$run/arrivals" | jq '.arrivals|add')" "$n"
  # A connection's cache of pages and the library's buffers are in the first part.
  bound=$(((64 * 1048576 + 300 * n + 32 * unique) / 1024))
  say "$1: peak RSS $(peak) KiB, bound $bound KiB ($n requests, $unique distinct hashes)"
  ok "$1: within the bound" test "$(peak)" -le "$bound"
  rm "$DIR/rows"
}
peak() { awk '/^VmHWM/ { print $2 }' "/proc/$PID/status"; }

mkdir "$DIR/night"
# shellcheck disable=SC2016 # split sets FILE
"$gen" -n "$REQUESTS" -k "$HASHES" |
  split -n r/8 -d -a 6 --additional-suffix=.jsonl.gz --filter='gzip -1 >"$FILE"' - "$DIR/night/trace."
is "shards" "$(find "$DIR/night" -name '*.jsonl.gz' | wc -l)" 8
play night "$REQUESTS"
daemon_stop
"$gen" -a -n $((REQUESTS / 10)) -k "$HASHES" --sessions $((REQUESTS / 200)) >"$DIR/agents.jsonl"
play agents.jsonl $((REQUESTS / 10))
is "sessions" "$(get "$run/sessions?limit=1&count=true" | jq .total)" $((REQUESTS / 200))
say "depths: $(get "$run/sessions?format=ndjson" | jq .depth | sort -n | uniq -c | awk '{print $2 ":" $1}' | tr '\n' ' ')"
is "version 2" "$(get "$run/replay?version=2&format=ndjson" | wc -l)" $((REQUESTS / 10 + 1))
say "peak RSS at the end $(peak) KiB"
daemon_stop
e2e_done
