#!/bin/sh
# captures.sh: segments of one recording read as one run: order, gaps, restarts, broken rules
# shellcheck source=tests/e2e/lib.sh
. "${srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
: "${TRACESPOOL_CORPUS:=$srcdir/../shared/corpus}"
e2e_begin
daemon_start -o ingest.workers=2

# segment NAME: drops what comes in as NAME, whole.
segment() {
  gzip -c >"$DIR/$1"
  drop "$DIR/$1"
  rm "$DIR/$1"
}
agentic() { # ID TIME SESSION
  request "$1" "$2" | sed "s/\"request\"/\"agent_context\":{\"session_id\":\"$3\"},\"request\"/"
}
capture() { get '/captures?limit=1000' | jq -c --arg n "$1" ".items[]|select(.name==\$n)|$2"; }
has_capture() { [ -n "$(capture "$1" .name)" ]; }
problem() { curl -s "$B$1" | jq -c '[.status,.code]'; }
etag() { curl -fsSI "$B$1" | tr -d '\r' | sed -n 's/^ETag: //Ip'; }

# ---- C40: segments come in any order, one is missing
{ request c 3000; request f 900; } | segment night.000002.jsonl.gz
field night.000002.jsonl.gz .state >"$DIR/x"
is 'a segment is ingested' "$(cat "$DIR/x")" ingested
first=$(etag /captures/night/summary)
is 'a lone segment lacks those before it' "$(capture night .missing_segments)" '[0,1]'
{ request a 1000; request b 2500; } | segment night.000000.jsonl.gz
{ request d 2000; request e 950; } | segment night.000001.jsonl.gz
{ request g 5000; } | segment night.000004.jsonl.gz
for n in 0 1 4; do
  is "segment $n is ingested" "$(field "night.00000$n.jsonl.gz" .state)" ingested
done
is 'the list tells of the capture' \
  "$(capture night '[.segments,.missing_segments,.missing_segment_count,.requests,.first_start_ms,.last_end_ms,.error,(.idle_ms>=0)]')" \
  '[4,[3],1,7,900,5005,null,true]'
is 'requests have one order' \
  "$(get '/captures/night/requests' | jq -c '[.items[]|[.request_id,.shard,.line]]')" \
  '[["f",2,2],["e",1,2],["a",0,1],["d",1,1],["b",0,2],["c",2,1],["g",3,1]]'
is 'lines have it too' "$(get '/captures/night/requests?format=ndjson' | jq -r .request_id | tr -d '\n')" feadbcg
is 'filters and pages work' \
  "$(get '/captures/night/requests?from_ms=1000&to_ms=3000&limit=2&count=true' |
    jq -c '[.total,[.items[].request_id],(.next_cursor|type)]')" '[3,["a","d"],"string"]'
is 'hash ids are numbered once' \
  "$(get '/captures/night/replay?format=ndjson' | jq -c '[.timestamp,.hash_ids]' | tr '\n' ' ')" \
  '[0,[0]] [50,[0]] [100,[0]] [1100,[0]] [1600,[0]] [2100,[0]] [4100,[0]] '
is 'the summary is that of four shards' \
  "$(get /captures/night/summary | jq -c '[.id,.capture,.segment,.shards,.requests,.lines.total,.mode]')" \
  '["night","night",null,4,7,7,"standard"]'
second=$(etag /captures/night/summary)
ok 'the validator changes with a segment' test "$first" != "$second"
is 'a poll of what did not change costs a 304' \
  "$(curl -so /dev/null -w '%{http_code}' -H "If-None-Match: $second" "$B/captures/night/summary")" 304
for path in 'replay?format=ndjson' 'replay?mode=standard' requests 'requests?format=ndjson' 'requests?format=dynamo'; do
  tag=$(etag "/captures/night/$path")
  is "$path: a 304" "$(curl -so /dev/null -w '%{http_code}' -H "If-None-Match: $tag" "$B/captures/night/$path")" 304
done
# As recorded, segment by segment, each in file order.
curl -fsS -D "$DIR/head" "$B/captures/night/requests?format=dynamo" >"$DIR/recorded"
{
  request a 1000
  request b 2500
  request d 2000
  request e 950
  request c 3000
  request f 900
  request g 5000
} >"$DIR/want"
is 'the recorded objects' "$(cat "$DIR/recorded")" "$(cat "$DIR/want")"
is 'their number' "$(tr -d '\r' <"$DIR/head" | sed -n 's/^Tracespool-Row-Count: //Ip')" 7
is 'no part of them is chosen' "$(problem '/captures/night/requests?format=dynamo&limit=1')" '[400,"bad_parameter"]'
run=$(get '/runs?capture=night' | jq -r '.items[0].id|@uri')
for link in requests replay tools sessions dag arrivals; do
  is "a run links to its $link" "$(code "$(get "/runs/$run" | jq -r ".links.$link")")" 200
done
is 'runs are found by capture' "$(get '/runs?capture=night&sort=id' | jq -c '[.items[].requests]')" '[2,2,2,1]'
is 'a capture that is not there' "$(problem /captures/day/summary)" '[404,"unknown_capture"]'
is 'neither is its replay' "$(problem /captures/day/replay)" '[404,"unknown_capture"]'
is 'nor are its requests' "$(problem /captures/day/requests)" '[404,"unknown_capture"]'

# ---- the recorder starts again
{ request a 11000; } | segment night.000000.jsonl.gz
wait_until has_capture 'night~2'
{ request c 13000; } | segment night.000002.jsonl.gz
{ request b 12000; } | segment night.000001.jsonl.gz
wait_until run_count_is 7
is 'it is another recording' "$(capture 'night~2' '[.segments,.missing_segments,.requests]')" '[3,[],3]'
is 'the first one stays as it was' "$(etag /captures/night/summary)" "$second"
is 'its runs bear the name' "$(get '/runs?capture=night~2' | jq -c '[.items[].capture]|unique')" '["night~2"]'
run=$(get '/runs?capture=night~2&sort=first_start_ms' | jq -r '.items[0].id|@uri')
is 'so do their summaries' "$(get "/runs/$run/summary" | jq -c '[.capture,.segment]')" '["night~2",0]'
is 'also compressed' "$(curl -fsS --compressed "$B/runs/$run/summary" | jq -c '[.capture,.segment]')" '["night~2",0]'
daemon_stop
daemon_start -o ingest.workers=2
is 'a restart changes no name' "$(get /captures | jq -c '[.items[]|[.name,.segments]]')" '[["night",4],["night~2",3]]'
is 'nor a validator' "$(etag /captures/night/summary)" "$second"
{ request d 14000; } | segment night.000003.jsonl.gz
wait_until run_count_is 8
is 'the newest recording goes on' "$(capture 'night~2' .segments)" 4
{ request a 21000; } | segment night.000000.jsonl.gz
wait_until run_count_is 9
is 'a third one begins' "$(capture 'night~3' .segments)" 1

# ---- rules that only show across segments
{ request x 1000; request y 1100; } | segment twice.000000.jsonl.gz
{ request z 1200; request y 1300; } | segment twice.000001.jsonl.gz
{ request p 1000; } | segment mixed.000000.jsonl.gz
{ agentic q 1200 s; } | segment mixed.000001.jsonl.gz
{ request p 1001; } | segment sizes.000000.jsonl.gz
{ request q 1200 | sed 's/"trace_block_size":64/"trace_block_size":128/'; } | segment sizes.000001.jsonl.gz
wait_until run_count_is 15
for path in summary replay requests; do
  is "one id twice: $path" "$(problem "/captures/twice/$path")" '[409,"duplicate_request_id"]'
done
is 'what was recorded is there all the same' \
  "$(get '/captures/twice/requests?format=dynamo' | jq -r .request.request_id | tr -d '\n')" xyzy
is 'both places are named' "$(curl -s "$B/captures/twice/replay" | jq -c '[.places[]|[.segment,.line]]')" '[[0,2],[1,2]]'
is 'the list tells it' "$(capture twice .error)" '"duplicate_request_id"'
for pair in mixed:mixed_agent_context sizes:mixed_block_size; do
  name=${pair%:*}
  is "$name: summary" "$(problem "/captures/$name/summary")" "[409,\"${pair#*:}\"]"
  is "$name: replay" "$(problem "/captures/$name/replay?format=ndjson")" "[409,\"${pair#*:}\"]"
  is "$name: places" "$(curl -s "$B/captures/$name/replay" | jq -c '[.places[]|[.segment,.line]]')" '[[0,1],[1,1]]'
  is "$name: requests" "$(get "/captures/$name/requests" | jq -c '[.items[].request_id]')" '["p","q"]'
  is "$name: list" "$(capture "$name" .error)" "\"${pair#*:}\""
done
for run in $(get '/runs?capture=twice&capture=mixed&capture=sizes' | jq -r '.items[].id'); do
  is "$run alone: summary" "$(code "/runs/$run/summary")" 200
  is "$run alone: replay" "$(code "/runs/$run/replay")" 200
done

# ---- sources that went away
find "$SPOOL/.archive" -name 'night.000003*' -exec rm {} +
is 'a segment without its source' "$(problem '/captures/night~2/requests?format=dynamo')" '[404,"source_not_kept"]'
is 'its rows are there' "$(get '/captures/night~2/replay?format=ndjson' | wc -l)" 4

# ---- the corpus as segments: its folders shard by shard, its files cut in two. Rows and figures are
# those of one run; an empty shard is no segment, so the number of shards is not compared.
bytes_of() { case $1 in *.gz) gzip -dc "$1" 2>/dev/null ;; *) cat "$1" ;; esac; }
# as_capture CASE CAPTURE: against what the corpus expects of the case.
as_capture() {
  want=$(jq -c --arg f "$1" '.[$f]' "$dynamo/EXPECTED.json")
  class=$(printf %s "$want" | jq -r '.error_class // ""')
  if [ -n "$class" ]; then
    is "$1" "$(problem "/captures/$2/replay")" "[409,\"$class\"]"
    return
  fi
  is "$1: rows" "$(get "/captures/$2/replay?format=ndjson" | jq -cS .)" \
    "$(printf %s "$want" | jq -cS '.replay[]')"
  is "$1: figures" "$(get "/captures/$2/summary" | jq -cS \
    'del(.schema,.id,.kind,.capture,.segment,.captured_at,.finish_reasons,.replay,.health,.shards)')" \
    "$(printf %s "$want" | jq -cS '.summary|del(.shards)')"
}
if [ -d "$TRACESPOOL_CORPUS/dynamo" ]; then
  dynamo=$TRACESPOOL_CORPUS/dynamo
  mkdir "$DIR/cut"
  jq -r 'to_entries[]|select(.value.ok or .value.stage == "lower" or (.key|endswith("/")))|.key' \
    "$dynamo/EXPECTED.json" >"$DIR/cases"
  n=0
  while read -r case; do
    n=$((n + 1))
    k=0
    rm -f "$DIR/cut/"*
    if [ -d "$dynamo/$case" ]; then
      for f in "$dynamo/$case"*.gz "$dynamo/$case"*.jsonl; do
        [ -s "$f" ] || continue
        bytes_of "$f" >"$DIR/cut/$k"
        k=$((k + 1))
      done
    else
      bytes_of "$dynamo/$case" >"$DIR/whole"
      # In front of its last request, if another stands before that.
      at=$(grep -an '"event_type": *"request_end"' "$DIR/whole" | tail -n 1 | cut -d: -f1)
      head -n $((${at:-1} - 1)) "$DIR/whole" >"$DIR/cut/0"
      grep -aq '"event_type": *"request_end"' "$DIR/cut/0" || continue
      tail -n "+$at" "$DIR/whole" >"$DIR/cut/1"
      k=2
    fi
    i=0
    while [ "$i" -lt "$k" ]; do
      segment "corpus$n.00000$i.jsonl.gz" <"$DIR/cut/$i"
      i=$((i + 1))
    done
    i=0
    states=
    while [ "$i" -lt "$k" ]; do
      states=$states$(field "corpus$n.00000$i.jsonl.gz" '"\(.state) \(.reason.code) "')
      i=$((i + 1))
    done
    case $states in
      *no_requests* | *duplicate\ null*) say "not as segments: $case: $states" ;;
      *quarantined*) is "$case: segments" "$states" ingested ;;
      *) as_capture "$case" "corpus$n" ;;
    esac
  done <"$DIR/cases"
fi
daemon_stop
ok 'nothing is left of merged files' test -z "$(ls "$STORE/tmp")"
e2e_done
