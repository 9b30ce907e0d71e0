# lib.sh: what the benchmark scripts share: files, a daemon on private folders, medians, table rows
# shellcheck shell=sh
#
# Variables: BENCH_EVENTS, BENCH_REQUESTS (sizes), BENCH_RUNS (5), BENCH_DIR (where files go), PEERS.

set -eu
: "${srcdir:=$(dirname "$0")/..}"
: "${builddir:=.}"
BENCH_EVENTS=${BENCH_EVENTS:-200000}
BENCH_REQUESTS=${BENCH_REQUESTS:-10000}
BENCH_RUNS=${BENCH_RUNS:-5}
[ "$BENCH_RUNS" -ge 5 ] || BENCH_RUNS=5
BENCH_DIR=${BENCH_DIR:-$builddir/bench/data}
PEERS=${PEERS:-$builddir/bench/installed}
BIN=$builddir/bench
export BENCH_RUNS
PID=
PIDS=
WORK=

say() { printf '%s\n' "$*"; }
have() { command -v "$1" >/dev/null 2>&1; }

bench_begin() {
  for p in curl jq gzip awk; do have "$p" || { say "skipped: needs $p"; exit 77; }; done
  mkdir -p "$BENCH_DIR"
  BENCH_DIR=$(cd "$BENCH_DIR" && pwd)
  WORK=$(mktemp -d "$BENCH_DIR/work.XXXXXX")
  SPOOL=$WORK/spool
  STORE=$WORK/store
  TIMES=$WORK/times
  mkdir "$TIMES"
  trap bench_end EXIT
  trap 'exit 1' INT TERM HUP
}

bench_end() {
  status=$?
  daemon_stop 2>/dev/null || :
  for p in $PIDS; do kill "$p" 2>/dev/null || :; done
  if [ "$status" != 0 ] && [ "$status" != 77 ] && [ -f "$WORK/log" ]; then
    tail -n 20 "$WORK/log"
  fi
  rm -rf "$WORK"
  exit "$status"
}

# daemon_start [OPTION...]: on the folders of before; sets PID and ADDRESS once it answers.
daemon_start() {
  rm -f "$STORE/http.address"
  "$builddir/tracespoold" -o spool.path="$SPOOL" -o store.path="$STORE" \
    -o http.listen=127.0.0.1:0 -o store.min_free_bytes=0 "$@" 2>>"$WORK/log" </dev/null &
  PID=$!
  until [ -s "$STORE/http.address" ] && ADDRESS=$(cat "$STORE/http.address") &&
    curl -fs -o /dev/null "http://$ADDRESS/healthz" 2>/dev/null; do
    kill -0 "$PID" 2>/dev/null || { say "the daemon ended at its start"; return 1; }
    sleep 0.02
  done
}

daemon_stop() {
  [ -n "$PID" ] || return 0
  kill -TERM "$PID"
  wait "$PID" || :
  PID=
}

# daemon_fresh [OPTION...]: the same on new folders.
daemon_fresh() {
  daemon_stop
  rm -rf "$SPOOL" "$STORE"
  daemon_start "$@"
}

# Peak and present memory in KiB, processor time in ticks of 10 ms, of a process.
rss_peak() { awk '/^VmHWM/ { print $2 }' "/proc/$1/status"; }
rss_now() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }

# note NAME VALUE: one measurement; median NAME: of all of that name.
note() { say "$2" >>"$TIMES/$1"; }
median() {
  sort -g "$TIMES/$1" | awk '{ v[NR] = $1 } END { if (NR) print v[int(NR / 2) + 1]; else print 0 }'
}
noted() { [ -s "$TIMES/$1" ]; }
calc() { awk "BEGIN { printf \"%.6g\", $* }"; }
fixed() { awk "BEGIN { printf \"%.$1f\", $2 }"; }

head_row() {
  printf '\n%s\n%-46s %14s %22s %7s %9s  %s\n' "$1" what ours "bound or peer" ratio "peak RSS" target
}

# row WHAT OURS PEER RATIO RSS_KIB [NAME least|most TARGET]
row() {
  verdict=-
  if [ $# -ge 8 ]; then
    verdict=$(awk -v r="$4" -v t="$8" -v how="$7" -v name="$6" 'BEGIN {
      met = how == "least" ? r >= t : r <= t
      printf "%s %s %s: %s", name, how == "least" ? ">=" : "<=", t, met ? "met" : "missed" }')
  fi
  rss=-
  [ "$5" = - ] || rss="$(fixed 1 "$5 / 1024") MiB"
  ratio=$4
  [ "$4" = - ] || ratio=$(fixed 2 "$4")
  printf '%-46s %14s %22s %7s %9s  %s\n' "$1" "$2" "$3" "$ratio" "$rss" "$verdict"
}

skipped() { printf '%-46s skipped: %s\n' "$1" "$2"; }

# made NAME COMMAND...: a file of BENCH_DIR, kept for the next time.
made() {
  name=$1
  shift
  if [ ! -s "$BENCH_DIR/$name" ]; then
    "$@" >"$BENCH_DIR/.$name.part"
    mv "$BENCH_DIR/.$name.part" "$BENCH_DIR/$name"
  fi
  say "$BENCH_DIR/$name"
}

execution_file() { made "execution-$1.jsonl" "$BIN/gen_candle" -n "$1"; }
request_file() { made "requests-$1.jsonl" "$BIN/gen_request" -n "$1"; }
gzip_file() { made "$(basename "$1").gz" gzip -6 -c "$1"; }
small_file() {
  # shellcheck disable=SC2016 # the inner shell's
  made small.jsonl sh -c '
    "$1" -n 1 -r THE-RUN-ID | sed -n "1,3p"
    echo "{\"kind\":\"span_end\",\"id\":\"s2\",\"duration_ns\":400}"
    echo "{\"kind\":\"span_end\",\"id\":\"s1\",\"duration_ns\":900}"
    echo "{\"kind\":\"terminal\",\"outcome\":\"complete\",\"timestamp_ns\":1000}"' sh "$BIN/gen_candle"
}
