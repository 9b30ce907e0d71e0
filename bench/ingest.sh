#!/bin/sh
# ingest.sh: benchmarks T2 to T9 and T15: whole ingests by a daemon, against bounds and peers
# shellcheck source=bench/lib.sh
. "${srcdir:=$(dirname "$0")/..}/bench/lib.sh"
bench_begin
SMALL=${BENCH_SMALL:-500}
E=$(execution_file "$BENCH_EVENTS")
EZ=$(gzip_file "$E")
R=$(request_file "$BENCH_REQUESTS")
T=$(small_file)
mkdir "$WORK/bound" "$WORK/peer"
BENCH_PARTS=${BENCH_PARTS:-rows whole two small remove}
part() { case " $BENCH_PARTS " in *" $1 "*) return 0 ;; esac; return 1; }

# ours NAME FILE...: a drop on a fresh store; how long, and the peak. Leaves the daemon running.
ours() {
  name=$1
  shift
  daemon_fresh -o ingest.workers="${WORKERS:-1}"
  for f in "$@"; do
    cp "$f" "$WORK/in.part"
    mv "$WORK/in.part" "$WORK/$(basename "$f")"
  done
  # shellcheck disable=SC2046 # names without blanks
  note "$name" "$("$BIN/client" drop "$ADDRESS" "$SPOOL" $(for f in "$@"; do echo "$WORK/$(basename "$f")"; done))"
  note "$name-rss" "$(rss_peak "$PID")"
  refused=$(curl -s "http://$ADDRESS/ingest" | jq .quarantine_count)
  [ "$refused" = 0 ] || { say "a file was refused"; exit 1; }
}

# peer NAME COMMAND...: seconds of its own clock. A peer that fails is left out by name.
peer() {
  name=$1
  shift
  rm -rf "$WORK/peer"
  mkdir "$WORK/peer"
  if ! took=$(NODE_PATH=$PEERS/node_modules "$@" "$WORK/peer/db" 2>"$WORK/peer-error"); then
    [ -e "$TIMES/$name-failed" ] || { tail -n 1 "$WORK/peer-error"; touch "$TIMES/$name-failed"; }
    return 0
  fi
  note "$name" "$took"
}

peers_of() {
  kind=$1
  file=$2
  if [ -d "$PEERS/node_modules/@duckdb" ]; then
    peer "$kind-duckdb" node "$srcdir/bench/peers/duckdb.js" "$file"
  fi
  if have python3; then peer "$kind-python" python3 "$srcdir/bench/peers/load.py" "$file"; fi
  [ "$kind" = execution ] || return 0
  if [ -d "$PEERS/node_modules/better-sqlite3" ]; then
    peer "$kind-better-sqlite3" node "$srcdir/bench/peers/better_sqlite3.js" "$file"
  fi
  if have sqlite3; then peer "$kind-sqlite3" sh "$srcdir/bench/peers/sqlite3.sh" "$file"; fi
}

# against WHAT OURS PEER NAME LEAST
against() {
  if ! noted "$3"; then
    skipped "$1: ${3#*-}" "not installed here, or it failed"
    return 0
  fi
  row "$1" "$(fixed 3 "$(median "$2")") s" "$(fixed 3 "$(median "$3")") s ${3#*-}" \
    "$(calc "$(median "$3") / $(median "$2")")" - "$4" least "$5"
}

# Facts of the run that a daemon holds.
run_bytes() { find "$STORE/runs" -name '*.db' -printf '%s\n' | awk '{ s += $1 } END { print s }'; }
longest_line() { awk '{ if (length > m) m = length } END { print m }' "$1"; }

# memory WHAT NAME FILE OBJECTS: T9
memory() {
  most=$(calc "64 * 1024 + ($(longest_line "$3") + 100 * $4) / 1024")
  peak=$(median "$2-rss")
  row "$1" "$(fixed 1 "$peak / 1024") MiB" "$(fixed 1 "$most / 1024") MiB bound" "$(calc "$peak / $most")" \
    "$peak" T9 most 1
}

head_row "bench/ingest: $BENCH_EVENTS events, $BENCH_REQUESTS requests, $SMALL small files; medians of $BENCH_RUNS"

# T2
if part rows; then "$BIN/rows" insert "$WORK/bound" "$E" "$R"; fi

# T3 to T5, T9
whole() {
  i=0
  while [ $i -lt "$BENCH_RUNS" ]; do
    i=$((i + 1))
    note execution-bound "$("$BIN/rows" bound "$WORK/bound" "$E")"
    ours execution "$E"
    if [ $i = 1 ]; then
      events=$(wc -l <"$E")
      bytes=$(run_bytes)
      spans=$(curl -s "http://$ADDRESS/runs?limit=1" | jq '.items[0].span_count // .runs[0].span_count // 0')
    fi
    ours gzip "$EZ"
    peers_of execution "$E"
    ours requests "$R"
    note requests-bound "$("$BIN/rows" bound "$WORK/bound" "$R")"
    peers_of requests "$R"
  done
  row "bytes of the run file an event" "$(fixed 1 "$bytes / $events") B" "60 B" "$(calc "$bytes / $events")" - T2 most 60
  row "execution, whole ingest" "$(fixed 3 "$(median execution)") s" \
    "$(fixed 3 "$(median execution-bound)") s bound" "$(calc "$(median execution-bound) / $(median execution)")" \
    "$(median execution-rss)" T3 least 0.5
  against "execution, whole ingest" execution execution-duckdb T3 3
  against "execution, whole ingest" execution execution-better-sqlite3 T3 5
  against "execution, whole ingest" execution execution-sqlite3 T3 5
  against "execution, whole ingest" execution execution-python T3 10
  row "execution from gzip (zlib)" "$(fixed 3 "$(median gzip)") s" "$(fixed 3 "$(median execution)") s plain" \
    "$(calc "$(median gzip) / $(median execution)")" "$(median gzip-rss)" T4 most 1.9
  row "requests, whole ingest" "$(fixed 3 "$(median requests)") s" \
    "$(fixed 3 "$(median requests-bound)") s bound" "$(calc "$(median requests-bound) / $(median requests)")" \
    "$(median requests-rss)"
  against "requests, whole ingest" requests requests-duckdb T5 4
  against "requests, whole ingest" requests requests-python T5 4

  memory "peak RSS, execution ($spans spans)" execution "$E" "$spans"
  memory "peak RSS, execution from gzip" gzip "$E" "$spans"
  memory "peak RSS, requests" requests "$R" "$BENCH_REQUESTS"
}
if part whole; then whole; fi

# T6: two files on two workers, and the same two on one.
two_files() {
  sed '1s/"run_id":"gen-1"/"run_id":"second"/' "$E" >"$WORK/second.jsonl.made"
  mv "$WORK/second.jsonl.made" "$BENCH_DIR/second.jsonl"
  i=0
  while [ $i -lt "$BENCH_RUNS" ]; do
    i=$((i + 1))
    WORKERS=2
    ours two "$E" "$BENCH_DIR/second.jsonl"
    WORKERS=1
    ours one "$E" "$BENCH_DIR/second.jsonl"
  done
  row "two files, two workers against one" "$(fixed 3 "$(median two)") s" "$(fixed 3 "$(median one)") s one worker" \
    "$(calc "$(median one) / $(median two)")" "$(median two-rss)" T6 least 1.7
}
if part two; then two_files; fi

# T7 and T8
small_files() {
  i=0
  while [ $i -lt "$BENCH_RUNS" ]; do
    i=$((i + 1))
    rm -rf "$WORK/bare"
    mkdir "$WORK/bare"
    # shellcheck disable=SC2046 # two numbers
    set -- $("$BIN/durable" "$WORK/bare" "$T" "$SMALL")
    note bare "$1"
    note bare-one "$2"
    daemon_stop
    rm -rf "$SPOOL" "$STORE"
    mkdir -p "$SPOOL"
    awk -v n="$SMALL" -v to="$SPOOL" '{ line[NR] = $0 } END {
      for (i = 1; i <= n; i++) {
        file = to "/s" i ".jsonl"; first = line[1]; sub(/THE-RUN-ID/, "small-" i, first)
        print first >file
        for (k = 2; k <= NR; k++) print line[k] >file
        close(file)
      } }' "$T"
    find "$SPOOL" -name "s*.jsonl" -exec touch -d "1 hour ago" {} + # at rest
    begin=$(date +%s.%N)
    daemon_start
    "$BIN/client" count "$SPOOL/.receipts" "$SMALL" >/dev/null
    note waiting "$(calc "$(date +%s.%N) - $begin")"
    note waiting-rss "$(rss_peak "$PID")"
    # shellcheck disable=SC2046
    set -- $("$BIN/client" lag "$ADDRESS" "$SPOOL" "$T" 20)
    note lag "$1"
  done
  row "$SMALL small files waiting" "$(fixed 0 "$SMALL / $(median waiting)") /s" "$(fixed 0 "$SMALL / $(median bare)") /s bare" \
    "$(calc "$(median bare) / $(median waiting)")" "$(median waiting-rss)" T7 least 0.5
  row "lag of a small file" "$(fixed 1 "$(median lag) * 1000") ms" "$(fixed 2 "$(median bare-one) * 1000") ms bare" \
    "$(calc "$(median lag) / $(median bare-one)")" - T8 most 20
}
if part small; then small_files; fi

# T15: each time a fresh run; DELETE in a database in WAL mode with synchronous=FULL.
if part remove && have sqlite3; then
  ours again "$E"
  cp "$(find "$STORE/runs" -name '*.db')" "$WORK/run.db"
  i=0
  sqlite3 "$WORK/run.db" "select 'delete from ' || name || ' where rowid > -1;' from sqlite_schema
    where type = 'table' and sql not like '%without rowid%' and name not like 'sqlite%'" >"$WORK/delete.sql"
  while [ $i -lt "$BENCH_RUNS" ]; do
    i=$((i + 1))
    cp "$WORK/run.db" "$WORK/rows.db"
    sqlite3 "$WORK/rows.db" 'pragma journal_mode = wal' >/dev/null
    begin=$(date +%s.%N)
    { echo 'pragma synchronous = full; begin;'; cat "$WORK/delete.sql"; echo 'commit;'; } | sqlite3 "$WORK/rows.db" >/dev/null
    note rows-delete "$(calc "$(date +%s.%N) - $begin")"
    ours again "$E"
    took=$(curl -s -X DELETE -o /dev/null -w '%{http_code} %{time_total}' "http://$ADDRESS/runs/gen-1")
    case $took in 204*) note removal "${took#* }" ;; esac
  done
  if noted removal; then
    row "removing a run" "$(fixed 2 "$(median removal) * 1000") ms" "$(fixed 1 "$(median rows-delete) * 1000") ms DELETE" \
      "$(calc "$(median rows-delete) / $(median removal)")" - T15 least 50
  else
    skipped "removing a run" "DELETE /runs/ID is not built; DELETE of the rows $(fixed 3 "$(median rows-delete)") s (T15)"
  fi
fi
