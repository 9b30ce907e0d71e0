#!/bin/sh
# pages.sh: the first page of each list and view of an execution run, small against large trace
#
# Prints milliseconds (median of 9) for both and the ratio. Fails where an answer of the large run
# takes more than 5 times that of the small one and more than 50 ms. SMALL and LARGE are records.
# shellcheck source=tests/e2e/lib.sh
. "${srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
: "${SMALL:=50000}" "${LARGE:=5000000}"
WAIT_SECONDS=1500
e2e_begin
daemon_start
for n in "$SMALL" "$LARGE"; do
  "$builddir/bench/gen_candle" -n "$n" -s 1 -r "run-$n" >"$SPOOL/.big.part"
  start=$(date +%s)
  mv "$SPOOL/.big.part" "$SPOOL/t$n.jsonl"
  wait_until state_is "t$n.jsonl" ingested
  say "$n records: ingested in $(($(date +%s) - start)) s"
done
median() { # PATH
  i=0
  while [ $i -lt 9 ]; do
    i=$((i + 1))
    curl -fsS -o /dev/null -w '%{time_total}\n' "$B$1" || say "$1 failed"
  done | sort -n | sed -n 5p
}
printf '%-34s %10s %10s %7s\n' "first page" "$SMALL" "$LARGE" ratio
for path in summary spans 'spans?sort=-duration_ns' 'spans?sort=-self_ns' ops 'ops?sort=-duration_ns' \
  'ops?group_by=op_name' 'ops?group_by=span_id' memory memory/events tensors tensor-stats gradients \
  edges device-intervals views/slowest-host views/slowest-device views/heaviest views/slow-ops \
  views/footprints; do
  a=$(median "/runs/run-$SMALL/$path")
  b=$(median "/runs/run-$LARGE/$path")
  awk -v p="$path" -v a="$a" -v b="$b" 'BEGIN {
    printf "%-34s %9.2f  %9.2f  %6.2f\n", p, a * 1000, b * 1000, b / a
    exit b > 5 * a && b > 0.05 }' || { FAILED=$((FAILED + 1)); say "FAIL: $path grows with the trace"; }
  CHECKS=$((CHECKS + 1))
done
before=$(sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$PID/status")
curl -fsS -o /dev/null -w 'trace.json: first byte %{time_starttransfer} s, all %{time_total} s, %{size_download} bytes\n' \
  "$B/runs/run-$LARGE/trace.json"
curl -fsS -o /dev/null -w 'export: first byte %{time_starttransfer} s, all %{time_total} s, %{size_download} bytes\n' \
  "$B/runs/run-$LARGE/export"
say "RSS before the streams $before KiB, highest ever $(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$PID/status") KiB"
daemon_stop
e2e_done
