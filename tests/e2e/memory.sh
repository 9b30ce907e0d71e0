#!/bin/sh
# memory.sh: what a user sees of the memory of a run: picture, filters, records, views
# shellcheck source=tests/e2e/lib.sh
. "${srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
e2e_begin
daemon_start

memory() { # TIME STORAGE TENSOR DEVICE BYTES ACTION CATEGORY
  printf '{"kind":"memory","timestamp_ns":%s,"storage_id":"%s","tensor_id":"%s","span_id":"root","device":"%s","bytes":%s,"action":"%s","dtype":"u8","category":"%s"}\n' "$@"
}
sample() { # TIME DEVICE USED
  printf '{"kind":"device_memory","timestamp_ns":%s,"device":"%s"%s}\n' "$1" "$2" "${3:+,\"used_bytes\":$3}"
}
{
  meta mem
  span root '' 0 100
  memory 10 a x cpu 18446744073709551615 alloc parameter
  memory 20 a y cpu 1 alloc other
  memory 20 b z cuda:0 5 alloc gradient
  memory 30 a x cpu 0 free parameter
  sample 15 cuda:0 9007199254740993
  sample 16 cpu
  terminal 100
} >"$DIR/mem.jsonl"
drop "$DIR/mem.jsonl"
field mem.jsonl .state >/dev/null
trace none >"$DIR/none.jsonl"
drop "$DIR/none.jsonl"
field none.jsonl .state >/dev/null
M=/runs/mem/memory

say "the picture"
is "schema and id" "$(get "$M" | jq -c '[.schema,.id]')" '["tracespool/memory/1","mem"]'
is "all 64 bits of the peak" "$(get "$M" | grep -o '"peak":{"timestamp_ns":10,"live_bytes":18446744073709551615,')" \
  '"peak":{"timestamp_ns":10,"live_bytes":18446744073709551615,'
is "columns" "$(get "$M" | grep -o '"timeline":{"timestamp_ns":\[10,20,30\],"live_bytes":\[[0-9,]*\]},"thinned":false')" \
  '"timeline":{"timestamp_ns":[10,20,30],"live_bytes":[18446744073709551615,18446744073709551615,5]},"thinned":false'
is "numbers=string" "$(get "$M?numbers=string" | jq -c '.logical.peak.live_bytes')" '"18446744073709551615"'
is "aliases seen up to the peak" "$(get "$M" | jq -c '[.logical.peak.live_allocations[].tensor_ids]')" '[["x"]]'
is "top" "$(get "$M?top=0" | jq -c '[.logical.peak.live_allocation_count,.logical.peak.live_allocations]')" '[1,[]]'
is "a device" "$(get "$M?device=cuda:0" | jq -c '[.logical.storage_allocation_count,.logical.timeline,(.logical.by_device|map(.device)),.physical.by_device[0].device]')" \
  '[1,{"timestamp_ns":[20],"live_bytes":[5]},["cuda:0"],"cuda:0"]'
is "a category" "$(get "$M?category=gradient" | jq -c '.logical|[.matched_storage_free_count,.peak.live_bytes,.timeline.live_bytes]')" '[0,5,[0,5,5]]'
is "a device and a category" "$(get "$M?device=cpu&category=gradient" | jq -c '.logical|[.storage_allocation_count,.peak,.timeline]')" \
  '[0,null,{"timestamp_ns":[10,20,30],"live_bytes":[0,0,0]}]'
is "a device that is not there" "$(get "$M?device=none" | jq -c '[.logical,.physical]')" '[null,null]'
is "physical" "$(get "$M" | grep -o '"physical":{"timeline":{[^}]*}')" \
  '"physical":{"timeline":{"timestamp_ns":[15,16],"device":["cuda:0","cpu"],"used_bytes":[9007199254740993,null],"free_bytes":[null,null],"reserved_bytes":[null,null],"capacity_bytes":[null,null]}'
is "one plane" "$(get "$M?plane=physical" | jq -c '[.logical,(.physical|type)]')" '[null,"object"]'
is "a run without records" "$(get /runs/none/memory | jq -c '[.logical,.physical]')" '[null,null]'
is "pretty" "$(get "$M?pretty=true" | sed -n 2p)" '  "schema": "tracespool/memory/1",'
ok "ETag" test -n "$(curl -fsSI "$B$M" | grep -i '^etag')"

say "refused"
problem() { curl -s "$B$1" | jq -r '"\(.status) \(.code) \(.parameter)"'; }
is "points" "$(problem "$M?points=15")" "400 bad_parameter points"
is "top" "$(problem "$M?top=1001")" "400 bad_parameter top"
is "category" "$(problem "$M?category=toys")" "400 bad_parameter category"
is "plane" "$(problem "$M?plane=astral")" "400 bad_parameter plane"
is "unknown" "$(problem "$M?limit=3" | cut -d' ' -f1,2)" "400 unknown_parameter"
is "no run" "$(problem /runs/nobody/memory | cut -d' ' -f1,2)" "404 unknown_run"

say "records"
is "in time order" "$(get "$M/events" | jq -c '[.schema,(.items|map(.tensor_id))]')" '["tracespool/memory-event-list/1",["x","y","z","x"]]'
is "members" "$(get "$M/events?limit=1" | jq -c '.items[0]|keys_unsorted')" \
  '["timestamp_ns","storage_id","tensor_id","span_id","op_name","device","bytes","action","shape","dtype","category"]'
is "filters" "$(get "$M/events?device=cpu&action=alloc&category=other&span_id=root" | jq -c '.items|map(.tensor_id)')" '["y"]'
is "a word that is none" "$(problem "$M/events?action=grow" | cut -d' ' -f1,2)" "400 bad_parameter"
cursor=$(get "$M/events?limit=3" | jq -r .next_cursor)
is "pages" "$(get "$M/events?limit=3&cursor=$cursor" | jq -c '[(.items|map(.timestamp_ns)),.next_cursor]')" '[[30],null]'
is "lines" "$(get "$M/events?format=ndjson" | wc -l)" 4
is "falling" "$(get "$M/events?sort=-timestamp_ns" | jq -c '.items|map(.tensor_id)')" '["x","y","z","x"]'

say "views"
is "memory" "$(get /runs/mem/views/memory | jq -c '[.schema,.id,(.result.logical.lifetimes|map(.tensor_ids)),(.result.logical.timeline|length),(.result.physical.timeline[1]|keys)]')" \
  '["tracespool/view/1","mem",[["x","y"],["z"]],3,["device","timestamp_ns"]]'
is "memory of nothing" "$(get /runs/none/views/memory | jq -c .result)" '{}'
is "indented alike" "$(get '/runs/mem/views/memory?pretty=true' | cksum)" "$(get /runs/mem/views/memory | sed 's/18446744073709551615/"MAX"/g;s/9007199254740993/"BIG"/g' | jq . | sed 's/"MAX"/18446744073709551615/g;s/"BIG"/9007199254740993/g' | cksum)"
is "footprints" "$(get '/runs/mem/views/footprints?limit=1' | jq -c '.result|map(.storage_id)')" '["a"]'
is "footprints, limit" "$(problem '/runs/mem/views/footprints?limit=0')" "400 bad_parameter limit"
is "summary" "$(get /runs/mem/summary | jq -c '[.retained_bytes]')" '[5]'
is "summary of nothing" "$(get /runs/none/summary | jq -c '[.retained_bytes,.device_peak_used_bytes]')" '[null,null]'
{
  meta open | sed 's/"infer"/"train"/'
  printf '%s\n' '{"kind":"terminal","outcome":"failed","timestamp_ns":1,"reason":"r"}'
} >"$DIR/open.jsonl"
drop "$DIR/open.jsonl"
field open.jsonl .state >/dev/null
is "no graph" "$(problem /runs/open/views/heaviest | cut -d' ' -f1,2)" "409 graph_unavailable"

if command -v sqlite3 >/dev/null; then
  db=$(find "$STORE/runs" -name '*.db' -exec sh -c 'sqlite3 "$1" "select run_id from meta" | grep -qx mem && echo "$1"' sh {} \;)
  is "for other tools" "$(sqlite3 "$db" 'select storage_id, bytes, end_ns from lifetimes order by no')" \
    "$(printf 'a|18446744073709551615|30\nb|5|')"
  is "tensors of a storage" "$(sqlite3 "$db" 'select group_concat(tensor_id) from lifetime_tensors where no = 1')" "x,y"
fi
daemon_stop
e2e_done
