#!/bin/sh
# replay.sh: benchmark T14: lowering to replay rows, against plain Python of the same algorithm
# shellcheck source=bench/lib.sh
. "${srcdir:=$(dirname "$0")/..}/bench/lib.sh"
bench_begin

# lowering WHAT FILE
lowering() {
  what=$1
  if have python3; then
    python3 "$srcdir/bench/peers/lower.py" "$2" "$WORK/peer-rows" >/dev/null
    "$builddir/tracespool" replay "$2" >"$WORK/rows"
    cmp -s "$WORK/rows" "$WORK/peer-rows" || say "$what: the peer's rows are others"
  fi
  i=0
  while [ $i -lt "$BENCH_RUNS" ]; do
    i=$((i + 1))
    # shellcheck disable=SC2046 # numbers
    set -- "$1" "$2" $("$BIN/replay" "$2")
    note "$what-ours" "$5"
    note "$what-rss" "$6"
    rows=$3 bytes=$4
    if have python3; then note "$what-python" "$(python3 "$srcdir/bench/peers/lower.py" "$2" | cut -d ' ' -f 3)"; fi
  done
  if noted "$what-python"; then
    row "$what, $rows rows, $(fixed 0 "$bytes / 1e6") MB" "$(fixed 3 "$(median "$what-ours")") s" \
      "$(fixed 3 "$(median "$what-python")") s python" "$(calc "$(median "$what-python") / $(median "$what-ours")")" \
      "$(median "$what-rss")" T14 least 20
  else
    skipped "$what" "no python3"
  fi
}

head_row "bench/replay: lowering of $BENCH_REQUESTS requests, medians of $BENCH_RUNS"
lowering standard "$(request_file "$BENCH_REQUESTS")"
lowering agentic "$(made "agentic-$BENCH_REQUESTS.jsonl" "$BIN/gen_request" -a -n "$BENCH_REQUESTS")"
