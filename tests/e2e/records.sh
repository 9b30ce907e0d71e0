#!/bin/sh
# records.sh: health, tensors, statistics, gradients, edges and device intervals of execution runs
# shellcheck source=tests/e2e/lib.sh
. "${srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
e2e_begin
daemon_start
mkdir "$DIR/f"

say "one run with all of it"
{
  meta all
  span root '' 0 100
  for i in 1 2 3 4 5 6 7; do
    printf '{"kind":"tensor","span_id":"root","tensor_id":"t%s",%s"shape":[2,%s],"dtype":"f32","device":"d%s"}\n' \
      $i "$([ $i -gt 4 ] || printf '"label":"l%s",' $i)" $i $((i % 2))
    printf '{"kind":"tensor_stats","span_id":"root","label":"s/%s","shape":[],"dtype":"f32","elements":1,"non_finite":%s,"rms":1.5,"abs_max":0,"mean":-0.25}\n' \
      $i $((i == 3))
    printf '{"kind":"gradient","event_id":"e%s","root":"vars","key":"k%s","state":"%s"}\n' \
      $i $i "$([ $i -gt 2 ] && echo missing || echo non_finite)"
    printf '{"kind":"device_interval","span_id":"root","device":"d%s","stream_id":"s%s","clock_id":"c","backend":"b","start_ns":9223372036854775808,"duration_ns":%s}\n' \
      $((i % 2)) $((i % 3)) $i
  done
  echo '{"kind":"edge","edge_kind":"call","from_span":"root","to_span":"root","host_duration_ns":18446744073709551615}'
  echo '{"kind":"edge","edge_kind":"data","from_tensor":"t1","to_tensor":"t2"}'
  terminal 100
} >"$DIR/f/all.jsonl"
drop "$DIR/f/all.jsonl"
is "taken" "$(field all.jsonl .state)" ingested
is "tensors are in file order, sizes filled in" \
  "$(get '/runs/all/tensors?limit=2' | jq -c '[.items[]|[.tensor_id,.label,.dense_bytes,.category]]')" \
  '[["t1","l1",8,"other"],["t2","l2",16,"other"]]'
cursor=$(get '/runs/all/tensors?limit=2' | jq -r .next_cursor)
is "the next page goes on" "$(get "/runs/all/tensors?limit=2&cursor=$cursor" | jq -c '[.items[].tensor_id]')" '["t3","t4"]'
is "by label" "$(get '/runs/all/tensors?label=l2' | jq -c '[.items[].tensor_id]')" '["t2"]'
is "by id where there is no label" "$(get '/runs/all/tensors?label=t7&label=t1' | jq -c '[.items[].tensor_id]')" '["t7"]'
is "by the beginning of a label" "$(get '/runs/all/tensors?label_prefix=t' | jq -c '[.items[].tensor_id]')" '["t5","t6","t7"]'
is "by device, counted" "$(get '/runs/all/tensors?device=d0&count=true&limit=1' | jq -c '[.total,.items[0].tensor_id]')" '[3,"t2"]'
is "what is not finite" "$(get '/runs/all/tensor-stats?non_finite=true' | jq -c '[.items[].label]')" '["s/3"]'
is "what is" "$(get '/runs/all/tensor-stats?non_finite=false&label_prefix=s/' | jq '.items|length')" 6
is "a label of statistics" "$(get '/runs/all/tensor-stats?label=s%2F2' | jq -c '.items[0]|[.rms,.mean]')" '[1.5,-0.25]'
is "gradients by state" "$(get '/runs/all/gradients?state=non_finite' | jq -c '[.items[].key]')" '["k1","k2"]'
is "gradients by key" "$(get '/runs/all/gradients?key_prefix=k7' | jq -c '[.items[].key]')" '["k7"]'
is "gradients by root and key" "$(get '/runs/all/gradients?key_prefix=vars%2Fk6&root=vars' | jq -c '[.items[].key]')" '["k6"]'
is "no gradient" "$(get '/runs/all/gradients?key_prefix=ars&root=vars' | jq -c .items)" '[]'
is "a state that is none" "$(code '/runs/all/gradients?state=lost')" 400
is "edges" "$(get '/runs/all/edges?edge_kind=data' | jq -c .items)" \
  '[{"edge_kind":"data","from_span":null,"to_span":null,"from_tensor":"t1","to_tensor":"t2","host_duration_ns":null}]'
body=$(get '/runs/all/edges?edge_kind=call')
has() { case $body in *"$1"*) ;; *) return 1 ;; esac; }
ok "durations with all digits" has '"host_duration_ns":18446744073709551615'
body=$(get '/runs/all/device-intervals?device=d1&stream_id=s1&format=array')
ok "intervals by device and stream" has '"start_ns":9223372036854775808,"duration_ns":1}'
is "two of them" "$(printf '%s' "$body" | jq length)" 2
is "lines, counted" "$(curl -s -D "$DIR/head" "$B/runs/all/tensor-stats?format=ndjson" | wc -l) \
$(sed -n 's/\r$//; s/^Tracespool-Row-Count: //Ip' "$DIR/head")" "7 7"
E=$(curl -sI "$B/runs/all/tensors" | tr -d '\r' | sed -n 's/^ETag: //Ip')
is "unchanged" "$(curl -s -o /dev/null -w '%{http_code}' -H "If-None-Match: $E" "$B/runs/all/tensors")" 304
request r1 1 >"$DIR/f/req.jsonl"
drop "$DIR/f/req.jsonl"
run=$(field req.jsonl .run.id)
for path in tensors tensor-stats gradients edges device-intervals views/health; do
  is "$path of a request run" "$(curl -s "$B/runs/$run/$path" | jq -r .code)" wrong_kind
done

say "health: summary, receipt, list and view agree"
codes=$(get /runs/all/summary | jq -c '[.health.issues[].code]')
is "the codes" "$codes" \
  '["measurement_count","call_edge_hierarchy_mismatch","call_edge_duration_mismatch","operations_absent","logical_memory_absent","physical_memory_absent","integer_above_2_53"]'
is "the receipt warns" "$(field all.jsonl '.warnings|map(.code)|tojson')" "$codes"
is "check warns" "$("$TRACESPOOL" check --json "$DIR/f/all.jsonl" | jq -c '.warnings|map(.code)')" "$codes"
is "the view has them" "$(get /runs/all/views/health | jq -c '[.schema,.id,.result.structurally_valid,[.result.issues[].code]]')" \
  "[\"tracespool/view/1\",\"all\",false,$codes]"
is "indented it is the same" "$(get '/runs/all/views/health?pretty=true' | jq -c .)" "$(get /runs/all/views/health | jq -c .)"
get '/runs/all/views/health?pretty=true' >"$DIR/pretty"
ok "indented as jq does" sh -c "jq . '$DIR/pretty' | cmp -s - '$DIR/pretty'"
is "not valid" "$(get '/runs?valid=false' | jq -c '[.items[].id]')" '["all"]'
is "figures" "$(get /runs/all/summary | jq -c '[.tensor_count,.tensor_stats_count,.non_finite_count,.gradients.missing]')" '[7,7,1,5]'

say "many issues"
{ meta many; i=0; while [ $i -lt 300 ]; do i=$((i + 1)); span "s$i" '' 0 1; printf '{"kind":"tensor","span_id":"x","tensor_id":"t","shape":[],"dtype":"f","device":"d"}\n'; done
  terminal 100; } >"$DIR/f/many.jsonl"
drop "$DIR/f/many.jsonl"
is "the first 200" "$(field many.jsonl '.warnings|length')" 200
is "the summary says so" "$(get /runs/many/summary | jq -c '[(.health.issues|length),.truncated]')" '[200,["health.issues"]]'
is "the view has all" "$(get /runs/many/views/health | jq '.result.issues|length')" 306

corpus=${TRACESPOOL_CORPUS:-$srcdir/../shared/corpus}/candle
if [ -f "$corpus/EXPECTED_QUERIES.json" ]; then
  say "the corpus"
  # Several files are of one run id: each is looked at before the next one takes its place.
  daemon_stop
  daemon_start -o ingest.on_run_id_conflict=replace
  for file in $(jq -r '.files|to_entries[]|select(.value.ok).key' "$corpus/EXPECTED.json"); do
    name=$(basename "$file")
    drop "$corpus/$file"
    is "$name is taken" "$(field "$name" .state)" ingested
    digest=$(field "$name" .digest)
    is "$name: health" \
      "$(get "/runs/$digest/views/health" | jq -cS '.result|.issues|=[.[]|select(.code != "integer_above_2_53")|[.severity,.code]]')" \
      "$(jq -cS --arg f "$file" '.files[$f].health' "$corpus/EXPECTED.json")"
    jq -e --arg f "$file" 'has($f)' "$corpus/EXPECTED_QUERIES.json" >/dev/null || continue
    for list in tensors tensor-stats gradients; do
      is "$name: $list" "$(get "/runs/$digest/$list?limit=1000" | jq -cS .items)" \
        "$(jq -cS --arg f "$file" --arg l "$list" '.[$f][$l]' "$corpus/EXPECTED_QUERIES.json")"
    done
  done
else
  say "skipped: the corpus: none at $corpus"
fi
daemon_stop
e2e_done
