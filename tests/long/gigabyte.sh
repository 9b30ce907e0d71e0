#!/bin/sh
# gigabyte.sh: a 1 GiB execution trace in bounded memory, while another run is served
#
# Bound: 64 MiB + longest line + 100 bytes a span. BYTES sets another size.
# shellcheck source=tests/e2e/lib.sh
. "${srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
: "${BYTES:=1073741824}"
WAIT_SECONDS=900
e2e_begin
daemon_start -o ingest.workers=1
trace small >"$DIR/small.jsonl"
drop "$DIR/small.jsonl"
is "the other run" "$(field small.jsonl .state)" ingested
"$builddir/bench/gen_candle" -s 1 -b "$BYTES" >"$SPOOL/.big.part"
spans=$(grep -c '"kind":"span_start"' "$SPOOL/.big.part")
longest=$(awk '{ if (length > n) n = length } END { print n }' "$SPOOL/.big.part")
mv "$SPOOL/.big.part" "$SPOOL/big.jsonl"
asked=0
slow=0
answered() {
  t=$(curl -s -o /dev/null -w '%{http_code} %{time_total}' "$B/runs/small/summary")
  asked=$((asked + 1))
  case $t in
    200\ 0.*) ;;
    *) slow=$((slow + 1)); say "answer: $t" ;;
  esac
  state_is big.jsonl ingested
}
start=$(date +%s)
wait_until answered
say "ingested in $(($(date +%s) - start)) s, $asked requests answered meanwhile"
is "each of them within a second" "$slow" 0
peak=$(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$PID/status")
bound=$(((64 * 1048576 + longest + 100 * spans) / 1024))
say "peak RSS $peak KiB, bound $bound KiB ($spans spans, longest line $longest)"
ok "within the bound" test "$peak" -le "$bound"
is "spans" "$(get /runs?sort=-span_count | jq '.items[0].span_count')" "$spans"
daemon_stop
e2e_done
