#!/bin/sh
# http.sh: benchmarks T10 to T13: answers against a bare epoll responder and nginx
# shellcheck source=bench/lib.sh
. "${srcdir:=$(dirname "$0")/..}/bench/lib.sh"
bench_begin
SECONDS_EACH=${BENCH_SECONDS:-1}
HEAVY=${BENCH_HEAVY:-$BENCH_EVENTS}
E=$(execution_file "$HEAVY")
R=$(request_file "$BENCH_REQUESTS")
NGINX=$(command -v nginx || find "$PEERS" -path '*/sbin/nginx' -type f 2>/dev/null | head -n 1)

daemon_fresh
cp "$E" "$WORK/e.part"
cp "$R" "$WORK/r.part"
mv "$WORK/e.part" "$WORK/e.jsonl"
mv "$WORK/r.part" "$WORK/r.jsonl"
"$BIN/client" drop "$ADDRESS" "$SPOOL" "$WORK/e.jsonl" "$WORK/r.jsonl" >/dev/null
EXECUTION=gen-1
REQUESTS=$(curl -s "http://$ADDRESS/ingest/receipts/r.jsonl" | jq -r .run.id)
case $REQUESTS in '' | null) say "no run of requests"; exit 1 ;; esac

# responder_start RAW: sets BARE (address) and BARE_PID.
responder_start() {
  rm -f "$WORK/bare-address"
  "$BIN/responder" "$WORK/bare-address" "$1" &
  BARE_PID=$!
  PIDS="$PIDS $BARE_PID"
  until [ -s "$WORK/bare-address" ]; do sleep 0.01; done
  BARE=$(cat "$WORK/bare-address")
}
responder_stop() {
  kill "$BARE_PID"
  wait "$BARE_PID" 2>/dev/null || :
}

# nginx_start: one worker on the files of $WORK/www; sets NG (address) and NG_PID (its worker).
nginx_start() {
  mkdir -p "$WORK/www" "$WORK/nginx"
  port=$((20000 + $$ % 20000))
  NG=127.0.0.1:$port
  cat >"$WORK/nginx.conf" <<END
worker_processes 1; pid $WORK/nginx/pid; error_log stderr crit; daemon off; user $(id -un) $(id -gn);
events { worker_connections 512; }
http {
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000; types { } default_type application/json;
  open_file_cache max=100;
  client_body_temp_path $WORK/nginx/a; proxy_temp_path $WORK/nginx/b; fastcgi_temp_path $WORK/nginx/c;
  uwsgi_temp_path $WORK/nginx/d; scgi_temp_path $WORK/nginx/e;
  server { listen $NG; root $WORK/www; }
}
END
  "$NGINX" -e stderr -p "$WORK/nginx" -c "$WORK/nginx.conf" &
  NG_MASTER=$!
  PIDS="$PIDS $NG_MASTER"
  n=0
  until curl -s -o /dev/null "http://$NG/"; do
    n=$((n + 1))
    if [ $n -gt 200 ] || ! kill -0 "$NG_MASTER"; then NGINX=; return 0; fi
    sleep 0.02
  done
}

# loaded NAME PID ADDRESS PATH [HEADER]: rate, p99 and processor time a request of one server.
loaded() {
  name=$1 pid=$2
  shift 2
  before=0
  [ "$pid" = - ] || before=$(ticks "$pid")
  address=$1 path=$2
  shift 2
  out=$("$BIN/client" load "$address" "$path" 64 "$SECONDS_EACH" "$@")
  # shellcheck disable=SC2086 # five numbers
  set -- $out
  [ "$5" = 0 ] || { say "$name: $5 answers were errors"; exit 1; }
  note "$name-rate" "$1"
  note "$name-p99" "$3"
  [ "$pid" = - ] || note "$name-cpu" "$(calc "($(ticks "$pid") - $before) * 10000 / ($1 * $SECONDS_EACH)")"
}

# endpoint NAME PATH [HEADER]: alternating runs of ours, the responder and nginx.
endpoint() {
  point=$1 at=$2
  shift 2
  got=$("$BIN/client" get "$ADDRESS" "$at" "$WORK/raw" "$@")
  case $got in 200* | 304*) ;; *) say "$at: $got"; exit 1 ;; esac
  responder_start "$WORK/raw"
  i=0
  while [ $i -lt "$BENCH_RUNS" ]; do
    i=$((i + 1))
    loaded "$point" "$PID" "$ADDRESS" "$at" "$@"
    loaded "$point-bare" "$BARE_PID" "$BARE" / "$@"
    if [ -n "$NGINX" ] && [ -n "${NG_PATH:-}" ]; then loaded "$point-nginx" - "$NG" "$NG_PATH" ${NG_HEADER:+"$NG_HEADER"}; fi
  done
  responder_stop
}

rate_row() {
  row "$1: requests a second" "$(fixed 0 "$(median "$2-rate")") /s" "$(fixed 0 "$(median "$2-bare-rate")") /s bare" \
    "$(calc "$(median "$2-rate") / $(median "$2-bare-rate")")" "$(rss_peak "$PID")" "$3" least "$4"
}

head_row "bench/http: 64 kept-alive connections, $SECONDS_EACH s a run, medians of $BENCH_RUNS"
[ -z "$NGINX" ] || nginx_start
[ -n "$NGINX" ] || skipped nginx "not installed here, or it does not start"

# T10
curl -s "http://$ADDRESS/runs/$EXECUTION/summary" >"$WORK/summary"
mkdir -p "$WORK/www"
cp "$WORK/summary" "$WORK/www/summary"
NG_PATH=/summary
endpoint summary "/runs/$EXECUTION/summary"
etag=$("$BIN/client" get "$ADDRESS" "/runs/$EXECUTION/summary" | cut -d ' ' -f 4-)
[ -z "$NGINX" ] || NG_HEADER="If-None-Match: $("$BIN/client" get "$NG" /summary | cut -d ' ' -f 4-)"
endpoint 304 "/runs/$EXECUTION/summary" "If-None-Match: $etag"
NG_PATH=
NG_HEADER=
for name in summary 304; do
  rate_row "$name" $name T10 0.85
  if noted $name-nginx-rate; then
    row "$name: against nginx, same file" "$(fixed 0 "$(median $name-rate)") /s" \
      "$(fixed 0 "$(median $name-nginx-rate)") /s nginx" \
      "$(calc "$(median $name-rate) / $(median $name-nginx-rate)")" - T10 least 1.2
  fi
  row "$name: CPU a request" "$(fixed 1 "$(median $name-cpu)") us" "$(fixed 1 "$(median $name-bare-cpu)") us bare" \
    "$(calc "$(median $name-cpu) / $(median $name-bare-cpu)")" - T10 most 1.4
done

# T11: made from the store for each request, which no other one has asked for, and the page that
# dashboards ask for again and again, which comes from memory.
endpoint spans "/runs/$EXECUTION/spans?_={}"
endpoint requests "/runs/$REQUESTS/requests?_={}"
endpoint spans-again "/runs/$EXECUTION/spans"
endpoint requests-again "/runs/$REQUESTS/requests"
page_rows() {
  rate_row "$1" "$2" T11 0.45
  row "$1: p99" "$(fixed 0 "$(median "$2-p99")") us" "$(fixed 0 "$(median "$2-bare-p99")") us bare" \
    "$(calc "$(median "$2-p99") / $(median "$2-bare-p99")")" - T11 most 5
}
for name in spans requests; do
  page_rows "/$name from the store" $name
  page_rows "/$name again" $name-again
done

# T12: light requests on 4 connections, alone and while exports run one after another.
i=0
while [ $i -lt "$BENCH_RUNS" ]; do
  i=$((i + 1))
  for how in idle busy; do
    if [ $how = busy ]; then
      # curl would take more of the processors than the daemon
      { while :; do "$BIN/client" get "$ADDRESS" "/runs/$EXECUTION/export" >/dev/null; done; } &
      heavy=$!
      sleep 0.1
    fi
    out=$("$BIN/client" load "$ADDRESS" "/runs/$EXECUTION/summary" 4 "$SECONDS_EACH")
    # shellcheck disable=SC2086
    set -- $out
    note "light-$how" "$3"
    if [ $how = busy ]; then kill "$heavy"; wait "$heavy" 2>/dev/null || :; fi
  done
done
row "p99 of /summary during an export" "$(fixed 0 "$(median light-busy)") us" "$(fixed 0 "$(median light-idle)") us idle" \
  "$(calc "$(median light-busy) / $(median light-idle)")" - T12 most 5

# T13: each stream on a daemon that has answered it once, so that its growth is that of streaming.
stream() {
  mkdir -p "$WORK/www"
  name=$1 path=$2 tag=$(say "$1" | tr " " -)
  "$BIN/client" get "$ADDRESS" "$path" "$WORK/raw" >/dev/null
  awk 'body { print } /^\r$/ { body = 1 }' "$WORK/raw" >"$WORK/www/$tag"
  first=$(rss_now "$PID")
  i=0
  while [ $i -lt "$BENCH_RUNS" ]; do
    i=$((i + 1))
    # shellcheck disable=SC2046
    set -- $("$BIN/client" get "$ADDRESS" "$path")
    [ "$1" = 200 ] || { say "$path: $1"; exit 1; }
    size=$(fixed 0 "$2 / 1e6")
    note "$tag-stream" "$(calc "$2 / $3 / 1e6")"
    if [ -n "$NGINX" ]; then
      # shellcheck disable=SC2046
      set -- $("$BIN/client" get "$NG" "/$tag")
      note "$tag-file" "$(calc "$2 / $3 / 1e6")"
    fi
    note "$tag-grown" "$(calc "($(rss_now "$PID") - $first) / 1024")"
  done
  bound=150
  ! noted "$tag-file" || bound=$(awk -v f="$(median "$tag-file")" 'BEGIN { f *= 0.3; print f < 150 ? f : 150 }')
  row "$name of $size MB" "$(fixed 1 "$(median "$tag-stream")") MB/s" "$(fixed 1 "$bound") MB/s bound" \
    "$(calc "$(median "$tag-stream") / $bound")" "$(rss_peak "$PID")" T13 least 1
  row "$name: RSS grown by" "$(fixed 1 "$(median "$tag-grown")") MiB" "8 MiB" "$(calc "$(median "$tag-grown")")" - T13 most 8
}
stream "requests NDJSON" "/runs/$REQUESTS/requests?format=ndjson"
stream "replay NDJSON" "/runs/$REQUESTS/replay?format=ndjson"
stream "spans NDJSON" "/runs/$EXECUTION/spans?format=ndjson"
stream "trace.json" "/runs/$EXECUTION/trace.json"
