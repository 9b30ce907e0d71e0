# lib.sh: helpers of the end-to-end scripts: a daemon on private folders, drops, conditions
# shellcheck shell=sh disable=SC2120
#
# A script sources this file, calls e2e_begin, then uses SPOOL, STORE, B (base URL). Conditions are
# waited for, never slept for. Whatever happens, the daemon is stopped and the folder removed.

set -eu
: "${srcdir:=$(dirname "$0")/../..}"
: "${builddir:=.}"
TRACESPOOLD=${TRACESPOOLD:-$builddir/tracespoold}
TRACESPOOL=${TRACESPOOL:-$builddir/tracespool}
WAIT_SECONDS=${WAIT_SECONDS:-180}
E2E_OPTIONS=
FAILED=0
CHECKS=0
PID=

say() { printf '%s\n' "$*"; }

# skip REASON: ends the script as skipped, by name.
skip() {
  say "skip: $(basename "$0" .sh): $*"
  exit 77
}

e2e_begin() {
  for p in curl jq gzip; do command -v "$p" >/dev/null || skip "needs $p"; done
  DIR=$(mktemp -d "${TMPDIR:-/tmp}/tracespool-test.XXXXXX")
  SPOOL=$DIR/spool
  STORE=$DIR/store
  LOG=$DIR/log
  trap 'e2e_end' EXIT
  trap 'exit 1' INT TERM HUP
}

e2e_end() {
  status=$?
  daemon_kill 2>/dev/null || :
  if [ "$status" != 0 ] && [ "$status" != 77 ] && [ -f "$LOG" ]; then
    say "--- last lines of the log"
    tail -n 40 "$LOG"
  fi
  chmod -R u+rwx "$DIR" 2>/dev/null || :
  rm -rf "$DIR"
  exit "$status"
}

# daemon_start [OPTION...]: returns when it is ready; sets PID and B.
daemon_start() {
  rm -f "$STORE/http.address"
  # shellcheck disable=SC2086 # a list of options
  "$TRACESPOOLD" -o spool.path="$SPOOL" -o store.path="$STORE" -o http.listen=127.0.0.1:0 \
    -o spool.settle_ms=200 -o spool.scan_ms=500 -o store.min_free_bytes=0 $E2E_OPTIONS "$@" \
    2>>"$LOG" </dev/null &
  PID=$!
  n=0
  until [ -s "$STORE/http.address" ] && B=http://$(cat "$STORE/http.address") &&
    curl -fs -o /dev/null "$B/healthz" 2>/dev/null; do
    kill -0 "$PID" 2>/dev/null || { say "the daemon ended at its start"; return 1; }
    n=$((n + 1))
    [ "$n" -lt $((WAIT_SECONDS * 50)) ] || { say "the daemon does not become ready"; return 1; }
    sleep 0.02
  done
}

daemon_stop() {
  [ -n "$PID" ] || return 0
  kill -TERM "$PID"
  wait "$PID"
  PID=
}

daemon_kill() {
  [ -n "$PID" ] || return 0
  kill -KILL "$PID"
  wait "$PID" 2>/dev/null || :
  PID=
}

# wait_until COMMAND...: until it succeeds; fails after WAIT_SECONDS.
wait_until() {
  end=$(($(date +%s) + WAIT_SECONDS))
  until "$@"; do
    if [ "$(date +%s)" -ge "$end" ]; then
      say "FAIL: waited in vain for: $*"
      return 1
    fi
    sleep 0.05
  done
}

# ok NAME COMMAND...: one check.
ok() {
  name=$1
  shift
  CHECKS=$((CHECKS + 1))
  if "$@"; then
    say "ok: $name"
  else
    say "FAIL: $name: $*"
    FAILED=$((FAILED + 1))
  fi
}

# is NAME GOT WANTED
is() {
  CHECKS=$((CHECKS + 1))
  if [ "$2" = "$3" ]; then
    say "ok: $1"
  else
    say "FAIL: $1: got '$2', wanted '$3'"
    FAILED=$((FAILED + 1))
  fi
}

# The last line of a script.
e2e_done() {
  say "$(basename "$0" .sh): $((CHECKS - FAILED)) ok, $FAILED failed"
  [ "$FAILED" = 0 ]
}

# drop FILE [NAME]: as a job should: written aside, then renamed.
drop() {
  to=${2:-$(basename "$1")}
  cp -r "$1" "$SPOOL/.drop.$$.part"
  mv -T "$SPOOL/.drop.$$.part" "$SPOOL/$to"
}

urlencode() { jq -rn --arg s "$1" '$s|@uri'; }

# receipt NAME [WAIT]: the receipt as JSON, waiting until it is final.
receipt() { curl -s "$B/ingest/receipts/$(urlencode "$1")?wait=${2:-30}"; }

# field NAME FILTER: of a final receipt.
field() { receipt "$1" | jq -r "$2"; }

get() { curl -fsS "$B$1"; }
code() { curl -s -o /dev/null -w '%{http_code}' "$B$1"; }
state_is() { [ "$(curl -s "$B/ingest/receipts/$(urlencode "$1")" | jq -r .state)" = "$2" ]; }
runs() { get '/runs?limit=1&count=true' | jq -r .total; }
run_count_is() { [ "$(runs)" = "$1" ]; }

# Lines of traces: meta RUN_ID, terminal TIME, request ID TIME INPUT_LENGTH HASHES.
meta() {
  printf '%s' '{"kind":"meta","schema":"candle-graph/trace/10","run_id":'
  jq -cn --arg s "$1" '$s' | tr -d '\n'
  printf '%s\n' ',"correlation_id":"c","entrypoint":"otter::step","phase":"infer","timestamp":"2026-03-01T10:00:00Z","capture_step":1,"warmup_steps":0,"device":"cpu","timing_mode":"host","capture_contract":{"measurement_scope":"profiled_work","operations":"none","logical_memory":"none","physical_memory":"none","device_timing":"none"},"tags":{}}'
}
span() { # ID PARENT START DURATION
  printf '{"kind":"span_start","id":"%s",%s"name":"n","start_ns":%s,"span_kind":"function"}\n' \
    "$1" "${2:+\"parent_id\":\"$2\",}" "$3"
  printf '{"kind":"span_end","id":"%s","duration_ns":%s}\n' "$1" "$4"
}
terminal() { printf '{"kind":"terminal","outcome":"complete","timestamp_ns":%s}\n' "${1:-0}"; }
trace() { # RUN_ID
  meta "$1"
  span root '' 0 100
  terminal 100
}
request() { # ID TIME [LENGTH HASHES]
  printf '{"schema":"dynamo.request.trace.v1","event_type":"request_end","event_time_unix_ms":%s,"request":{"request_id":"%s","request_received_ms":%s,"output_tokens":1,"replay":{"trace_block_size":64,"input_length":%s,"input_sequence_hashes":[%s]}}}\n' \
    "$(($2 + 5))" "$1" "$2" "${3:-64}" "${4-18446744073709551615}"
}
