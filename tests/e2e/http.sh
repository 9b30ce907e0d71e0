#!/bin/sh
# http.sh: the API as curl sees it: forms, caching, pages, errors
# shellcheck source=tests/e2e/lib.sh
. "${srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
e2e_begin
daemon_start
header() { # PATH NAME [CURL OPTION...]
  path=$1 name=$2
  shift 2
  curl -s -o /dev/null -D - "$@" "$B$path" | tr -d '\r' | sed -n "s/^$name: //Ip"
}
problem() { curl -s "$B$1" | jq -r '[.status,.code]|map(tostring)|join(" ")'; }

odd=$(printf 'lab/mnist::train 7%%\303\251')
trace "$odd" >"$DIR/odd.jsonl"
drop "$DIR/odd.jsonl"
is "a run with an odd id" "$(field odd.jsonl .run.id)" "$odd"
path=/runs/$(urlencode "$odd")
{ request r1 1000 128 1,2; request r2 1500 64 1; } >"$DIR/req.jsonl"
drop "$DIR/req.jsonl"
req=/runs/$(field req.jsonl .run.id)

say "service"
is "healthz" "$(get /healthz | jq -r .status)" ok
wait_until test "$(code /readyz)" = 200
is "readyz" "$(get /readyz | jq -c .checks)" '{"store":"ok","spool":"ok","watch":"ok","disk":"ok"}'
is "version" "$(get /version | jq -r '.trace_schemas_read|length')" 3
is "an index" "$(get / | jq -r .schema)" tracespool/index/1
is "what a code means" "$(get /problems/bad_json | jq -r .code)" bad_json
is "an unknown code" "$(problem /problems/none)" "404 unknown_path"

say "runs"
is "by odd id" "$(get "$path" | jq -r .id)" "$odd"
is "its links work" "$(code "$(get "$path" | jq -r .links.summary)")" 200
digest=$(get "$path" | jq -r .digest)
is "by digest" "$(get "/runs/$digest" | jq -r .id)" "$odd"
is "by a prefix of it" "$(get "/runs/$(printf %.19s "$digest")" | jq -r .id)" "$odd"
is "kind" "$(get "$req" | jq -r .kind)" requests
is "wrong kind" "$(problem "$path/replay")" "404 wrong_kind"
is "unknown run" "$(problem /runs/none/summary)" "404 unknown_run"
is "figures" "$(get "$path/summary" | jq -c '[.total_ns,.span_count,.logical_peak_bytes]')" "[0,1,null]"

say "forms"
is "pretty" "$(get "$req/summary?pretty=true" | head -n 1)" "{"
is "numbers=string" "$(get "$req/summary?numbers=string" | jq -c .requests)" '"2"'
is "array" "$(get "/runs?format=array&fields=id,kind" | jq -c 'map(keys)|unique')" '[["id","kind"]]'
is "ndjson" "$(get "$req/replay?format=ndjson" | head -n 1)" \
  '{"input_length":128,"output_length":1,"hash_ids":[0,1],"timestamp":0.0}'
is "by Accept" "$(curl -s -H 'Accept: application/x-ndjson' "$B$req/replay" | wc -l)" 2
is "replay as one object" "$(get "$req/replay" | jq -c '[.schema,.mode,.trace_block_size,(.rows|length)]')" \
  '["tracespool/replay/1","standard",64,2]'
is "row count in the header" "$(header "$req/replay?format=ndjson" Tracespool-Row-Count)" 2
is "block size in the header" "$(header "$req/replay?format=ndjson" Tracespool-Trace-Block-Size)" 64
printf '%s\n' '{"timestamp":1,"event":{"payload":"secret","schema":"dynamo.request.trace.v1","event_type":"request_end","event_time_unix_ms":20,"new":[18446744073709551615],"agent_context":{"session_id":"p"},"request":{"request_id":"p1","request_received_ms":0,"output_tokens":1,"replay":{"trace_block_size":4,"input_length":4,"input_sequence_hashes":[1]}}}}' \
  '{"event":{"event_type":"request_payload","payload":"secret"}}' \
  '{"schema":"dynamo.request.trace.v1","event_type":"request_end","event_time_unix_ms":50,"agent_context":{"session_id":"k","parent_session_id":"p"},"request":{"request_id":"k1","request_received_ms":30,"output_tokens":1,"replay":{"trace_block_size":4,"input_length":0,"input_sequence_hashes":[]}}}' \
  >"$DIR/agents.jsonl"
drop "$DIR/agents.jsonl"
agents=/runs/$(field agents.jsonl .run.id)
is "as recorded" "$(get "$agents/requests?format=dynamo" | head -n 1)" \
  '{"schema":"dynamo.request.trace.v1","event_type":"request_end","event_time_unix_ms":20,"new":[18446744073709551615],"agent_context":{"session_id":"p"},"request":{"request_id":"p1","request_received_ms":0,"output_tokens":1,"replay":{"trace_block_size":4,"input_length":4,"input_sequence_hashes":[1]}}}'
is "payload records are not in it" "$(get "$agents/requests?format=dynamo" | wc -l)" 2
is "their count" "$(header "$agents/requests?format=dynamo" Tracespool-Row-Count)" 2
is "nor can it be cut" "$(problem "$agents/requests?format=dynamo&limit=1")" "400 bad_parameter"
is "version 2" "$(get "$agents/replay?version=2&format=ndjson" | jq -c '[.schema,.play_id]')" \
  '["dynamo.agentic_mooncake",null]
[null,"p"]
[null,"p"]'
is "as independent arrivals" "$(get "$agents/replay?mode=standard&format=ndjson" | tail -n 1)" \
  '{"input_length":0,"output_length":1,"hash_ids":[],"timestamp":30.0}'
is "only what can be replayed" "$(get "$agents/replay?replayable=true&format=ndjson" | jq -r .request_id)" p1
is "and its count" "$(header "$agents/replay?replayable=true&format=ndjson" Tracespool-Row-Count)" 1
is "not agentic" "$(problem "$req/replay?mode=agentic")" "409 not_agentic"
is "not agentic, version 2" "$(problem "$req/replay?version=2")" "409 not_agentic"
is "no such mode" "$(problem "$req/replay?mode=fast")" "400 bad_parameter"
is "sessions" "$(get "$agents/sessions" | jq -c '[.items[]|[.session_id,.parent_session_id,.depth]]')" \
  '[["p",null,0],["k","p",1]]'
is "dag" "$(get "$agents/dag?session=p" | jq -c '[.total,.edges[0].relation,.edges[0].inferred]')" '[2,"spawn",true]'
is "dag of a standard run" "$(get "$req/dag" | jq -c '[.total,.edges]')" '[2,[]]'
is "arrivals" "$(get "$req/arrivals?bucket_ms=100" | jq -c '[.arrivals,.completed]')" '[[1,0,0,0,0,1],[1,0,0,0,0,1]]'
is "buckets too small" "$(problem "$req/arrivals?bucket_ms=0")" "400 bad_parameter"
is "intervals" "$(get "$req/arrivals?interval_s=1" | jq -c .intervals)" \
  '[{"interval_start":0,"request_count":2,"avg_isl":96,"avg_osl":1}]'
"$TRACESPOOL" replay -o "$DIR/rows" --version 2 "$DIR/agents.jsonl"
is "the same without the daemon" "$(cksum <"$DIR/rows")" "$(get "$agents/replay?version=2&format=ndjson" | cksum)"
is "nothing is left aside" "$(find "$DIR" -maxdepth 1 -name 'rows*' | wc -l)" 1
find "$SPOOL/.archive" -name agents.jsonl -delete
is "source not kept" "$(problem "$agents/requests?format=dynamo")" "404 source_not_kept"
is "nothing that fits Accept" \
  "$(curl -s -o /dev/null -w '%{http_code}' -H 'Accept: image/png' "$B/runs")" 406

say "caching and coding"
etag=$(header "$path/summary" ETag)
not_modified() { [ "$(curl -s -o /dev/null -w '%{http_code}' -H "If-None-Match: $1" "$B$path/summary")" = 304 ]; }
ok "304" not_modified "$etag"
ok "304 through a weakening proxy" not_modified "W/$etag"
ok "304 in a list" not_modified "\"x\", $etag"
is "a list's ETag changes with it" "$(header /runs ETag | wc -l)" 1
old=$(header /runs ETag)
trace another >"$DIR/another.jsonl"
drop "$DIR/another.jsonl"
field another.jsonl .state >/dev/null
ok "after a new run" test "$(header /runs ETag)" != "$old"
is "HEAD has no body" "$(curl -sI "$B$path/summary" | tr -d '\r' | sed -n '1p')" "HTTP/1.1 200 OK"
is "gzip" "$(header "/runs?pretty=true" Content-Encoding --compressed)" gzip
is "the same bytes inside" "$(curl -s --compressed "$B$req/summary" | cksum)" "$(get "$req/summary" | cksum)"
is "none when not asked" "$(header "/runs?pretty=true" Content-Encoding)" ""
is "no-store" "$(header /ingest Cache-Control)" no-store

say "errors"
is "unknown parameter" "$(problem '/runs?limmit=3')" "400 unknown_parameter"
is "a cache breaker is none" "$(code '/runs?_=123')" 200
is "limit too large" "$(problem '/runs?limit=5000')" "400 limit_too_large"
is "bad limit" "$(problem '/runs?limit=0')" "400 bad_parameter"
is "bad sort" "$(problem '/runs?sort=colour')" "400 bad_parameter"
is "bad cursor" "$(problem '/runs?cursor=abc')" "400 bad_cursor"
is "bad encoding" "$(problem '/runs/%zz')" "400 bad_encoding"
is "unknown path" "$(problem /nothing)" "404 unknown_path"
is "method" "$(curl -s -X POST "$B/runs" | jq -r .code)" method_not_allowed
is "Allow" "$(header /runs Allow -X DELETE)" "GET, HEAD"
is "writing is not there" "$(curl -s -o /dev/null -w '%{http_code}' -T "$DIR/req.jsonl" "$B/spool/x.jsonl")" 404
is "host" "$(curl -s -H 'Host: evil.example' "$B/runs" | jq -r .code)" unknown_host
is "problem type" "$(header '/runs?limmit=3' Content-Type)" application/problem+json
many=$(printf 'entrypoint=%0100d&' $(seq 60))
is "C51: a query of 6 KiB" "$(code "/runs?${many}limit=1")" 200
many=$(printf 'entrypoint=%0140d&' $(seq 60))
is "C51: one above 8 KiB" "$(problem "/runs?${many}limit=1")" "414 uri_too_long"

say "waiting"
is "never seen" "$(curl -s "$B/ingest/receipts/none.jsonl?wait=1" | jq -r .code)" unknown_receipt
(sleep 1; trace late >"$SPOOL/.late.part"; mv "$SPOOL/.late.part" "$SPOOL/late.jsonl") &
is "a wait ends when the receipt is final" \
  "$(curl -s -m 20 "$B/ingest/receipts/late.jsonl?wait=30" | jq -r .state)" ingested
wait $! || :
is "by digest" "$(get "/ingest/receipts/$digest" | jq -r .name)" odd.jsonl
later=$(date -u -d '+1 hour' +%Y-%m-%dT%H:%M:%SZ)
is "after a time" "$(curl -s "$B/ingest/receipts/odd.jsonl?after=$later" | jq -r .code)" unknown_receipt

say "C44: runs in pages, while others arrive"
trace THE-RUN-ID >"$DIR/one"
mkdir "$DIR/made"
i=0
: "${COUNT:=1000}"
all=$((COUNT + COUNT / 2))
while [ $i -lt $all ]; do
  i=$((i + 1))
  sed "s/THE-RUN-ID/page-$i/" "$DIR/one" >"$DIR/made/p$i.jsonl"
done
# mv looks at what it has moved, and complains if the daemon was faster.
mv "$DIR"/made/p*.jsonl "$SPOOL" 2>/dev/null || :
paged() { [ "$(get '/runs?id_prefix=page-&limit=1&count=true' | jq -r .total)" = "$all" ]; }
wait_until paged
get "/runs?id_prefix=page-&limit=$COUNT&sort=id" >"$DIR/page1"
cursor=$(jq -r .next_cursor "$DIR/page1")
sed "s/THE-RUN-ID/page-0/" "$DIR/one" >"$DIR/late.jsonl"
drop "$DIR/late.jsonl" late0.jsonl
field late0.jsonl .state >/dev/null
get "/runs?id_prefix=page-&limit=$COUNT&sort=id&cursor=$cursor" >"$DIR/page2"
is "a full page and a half" "$(jq '.items|length' "$DIR/page1" "$DIR/page2" | tr '\n' ' ')" "$COUNT $((COUNT / 2)) "
is "no double" "$(jq -r '.items[].id' "$DIR/page1" "$DIR/page2" | sort | uniq -d | wc -l)" 0
is "the last page says so" "$(jq .next_cursor "$DIR/page2")" null
ok "the next URL is in a header" test -n "$(header '/runs?id_prefix=page-&limit=10' Link)"
is "a cursor with another sort" "$(problem "/runs?id_prefix=page-&limit=$COUNT&sort=-id&cursor=$cursor")" \
  "400 bad_cursor"
is "filters" "$(get '/runs?kind=requests&count=true' | jq .total)" 2
is "no file left over" "$(find "$SPOOL" -maxdepth 1 -name 'p*.jsonl' | wc -l)" 0
daemon_stop
e2e_done
