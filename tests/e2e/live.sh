#!/bin/sh
# live.sh: recorders at work in the drop folder: growing segments, restarts, files that vanish
# shellcheck source=tests/e2e/lib.sh
. "${srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
e2e_begin
daemon_start -o spool.idle_ms=1500

# A recorder at work, as request-trace.md 2.4 describes it:
#
#   produce_gzip PREFIX ID FLUSHES ROLL      segments, a member a flush, ROLL members a segment
#   produce_plain FILE ID FLUSHES            one file in append mode, torn between flushes
#
# Each flush has two requests ID-N. A start takes the lowest index that is free. Ends in the middle
# of a flush, as if killed, if TORN is set.
flushed() { # ID N
  request "$1-$((2 * $2))" "$((1700000000000 + $2 * 20))"
  request "$1-$((2 * $2 + 1))" "$((1700000000010 + $2 * 20))"
}
produce_plain() {
  n=0 rest=
  while [ "$n" -lt "$3" ]; do
    text=$rest$(flushed "$2" "$n")
    n=$((n + 1))
    front=$text
    [ "$n" = "$3" ] || front=$(printf '%.300s' "$text") # the buffer ends where it ends
    rest=${text#"$front"}
    [ -z "$rest" ] || rest="$rest
"
    printf '%s' "$front" >>"$1"
    sleep 0.06
  done
  echo >>"$1"
}
free_segment() {
  while name=$(printf '%s.%06d.jsonl.gz' "$1" "$index") && [ -e "$name" ]; do index=$((index + 1)); done
}
produce_gzip() {
  index=0 in_segment=0 n=0
  : >"$1.000000.jsonl.lock"
  free_segment "$1"
  while [ "$n" -lt "$3" ]; do
    if [ "$in_segment" -ge "$4" ]; then
      index=$((index + 1)) in_segment=0
      free_segment "$1"
    fi
    flushed "$2" "$n" | gzip -c >"$DIR/member"
    n=$((n + 1)) in_segment=$((in_segment + 1))
    if [ -n "${TORN:-}" ] && [ "$n" = "$3" ]; then
      head -c 60 "$DIR/member" >>"$name"
    else
      cat "$DIR/member" >>"$name"
    fi
    sleep 0.06
  done
}
count() { get "/runs?kind=requests&format=ndjson" | jq -s "[.[] | select($1) | .requests] | add // 0"; }
count_is() { [ "$(count "$1")" = "$2" ]; }
nothing_waits() { [ "$(get /ingest | jq '.spools[0] | .waiting + .ingesting')" = 0 ]; }
quarantined() { get /quarantine | jq '.items | length'; }

say "segments are taken whole while their recorder goes on"
produce_gzip "$SPOOL/live" one 24 6
wait_until count_is '.capture == "live"' 48
is "four runs" "$(get '/runs?capture=live&count=true' | jq .total)" 4
ok "the lock file stays" test -f "$SPOOL/live.000000.jsonl.lock"
wait_until nothing_waits

say "after a restart the recorder begins at the first index again"
produce_gzip "$SPOOL/live" two 12 4
wait_until count_is '.capture == "live~2"' 24
is "the first recording stays as it was" "$(count '.capture == "live"')" 48
is "each of the two is whole" \
  "$(get '/captures?format=ndjson' | jq -sc '[.[] | [.name, .segments, .requests]] | sort')" \
  '[["live",4,48],["live~2",3,24]]'
is "names are used twice" \
  "$(get '/ingest/receipts?name=live.000000.jsonl.gz&format=ndjson' | jq -s 'length')" 2
is "nothing refused" "$(quarantined)" 0

say "a plain file is torn at every flush and read when it rests"
produce_plain "$SPOOL/plain.jsonl" pa 20
is "all of it" "$(field plain.jsonl '[.state,.counts.requests]|join(" ")')" "ingested 40"
is "nothing refused" "$(quarantined)" 0

say "files vanish while they wait, are queued or read"
i=0
while [ $i -lt 40 ]; do
  request "v$i" $((1000 + i)) | gzip -c >"$SPOOL/gone.$(printf %06d $i).jsonl.gz"
  [ $i -lt 5 ] || rm -f "$SPOOL/gone.$(printf %06d $((i - 5))).jsonl.gz"
  i=$((i + 1))
done
rm -f "$SPOOL"/gone.*.jsonl.gz
sleep 0.3
request drop 1 >"$DIR/r.jsonl"
i=0
while [ $i -lt 30 ]; do
  drop "$DIR/r.jsonl" "r$i.jsonl"
  rm -f "$SPOOL/r$i.jsonl"
  i=$((i + 1))
done
wait_until nothing_waits
is "no receipt that is not final" "$(get '/ingest/receipts?format=ndjson' | jq -s '[.[] | select(.final | not)] | length')" 0
is "nothing refused" "$(quarantined)" 0
is "none left behind" "$(find "$SPOOL/.active" -mindepth 1 | wc -l)" 0
is "what went away is unknown" "$(code /ingest/receipts/gone.000039.jsonl.gz)" 404

say "shards of a folder vanish while it waits"
mkdir "$SPOOL/night"
i=0
while [ $i -lt 8 ]; do
  request "f$i" $((1000 + i)) | gzip -c >"$SPOOL/night/s.$(printf %06d $i).jsonl.gz"
  [ $i -lt 3 ] || rm -f "$SPOOL/night/s.$(printf %06d $((i - 3))).jsonl.gz"
  sleep 0.05
  i=$((i + 1))
done
is "taken with what is there" "$(field night '[.state,.counts.shards,.counts.requests]|join(" ")')" "ingested 3 3"

say "a recorder that was killed"
TORN=1 produce_gzip "$SPOOL/torn" t 5 99
is "its last segment is refused after spool.idle_ms" "$(field torn.000000.jsonl.gz .reason.code)" gzip_truncated
is "no storm in the log" "$(grep -cE '^<[0-4]>' "$LOG" || :)" 0

say "a stop does not wait for the proof of a large file"
i=0
request big 1 >"$DIR/big"
{ while [ $i -lt 3000 ]; do i=$((i + 1)); echo '[1,2,3]'; done; head -c 8000000 /dev/urandom | base64 -w 76 |
  sed 's/.*/"&"/'; } | gzip -1c >"$DIR/big.gz"
for _ in 1 2 3 4 5 6 7 8 9 10; do cat "$DIR/big.gz"; done >"$SPOOL/big.jsonl.gz"
sleep 0.4
begun=$(date +%s)
daemon_stop
ok "within 5 s" test $(($(date +%s) - begun)) -lt 5
e2e_done
