#!/bin/sh
# spans.sh: spans, operations and their times as curl sees them
# shellcheck source=tests/e2e/lib.sh
. "${srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
e2e_begin
daemon_start
problem() { curl -s "$B$1" | jq -r '[.status,.code]|map(tostring)|join(" ")'; }
drop "$srcdir/tests/samples/train-0007.jsonl"
run=/runs/$(urlencode "$(field train-0007.jsonl .run.id)")
sample=$srcdir/tests/samples/train-0007.jsonl

say "summary"
is "ten spans by default" "$(get "$run/summary" | jq '.slowest_spans|length')" 10
is "the slowest first" \
  "$(get "$run/summary" | jq '[.slowest_spans[].duration_ns]|.==(sort|reverse)')" true
is "three" "$(get "$run/summary?top=3" | jq -c '[(.slowest_spans|length),(.slowest_ops|length)]')" "[3,3]"
is "none" "$(get "$run/summary?top=0" | jq -c '[.slowest_spans,.slowest_ops]')" "[[],[]]"
is "more than are stored" "$(get "$run/summary?top=50" | jq '.slowest_spans|length')" 26
get "$run/summary" | jq 'del(.slowest_spans,.slowest_ops)' >"$DIR/ten"
get "$run/summary?top=50" | jq 'del(.slowest_spans,.slowest_ops)' >"$DIR/fifty"
is "all else is the same" "$(cksum <"$DIR/fifty")" "$(cksum <"$DIR/ten")"
is "the first ten too" "$(get "$run/summary?top=50" | jq -c '.slowest_spans[:10]')" \
  "$(get "$run/summary" | jq -c .slowest_spans)"
is "too many" "$(problem "$run/summary?top=51")" "400 bad_parameter"

say "spans"
is "all" "$(get "$run/spans?count=true" | jq '[.total,(.items|length)]|tostring')" '"[26,26]"'
is "as in the file" "$(get "$run/spans" | jq -r '.items[].id' | sort | cksum)" \
  "$(jq -r 'select(.kind=="span_start").id' "$sample" | sort | cksum)"
is "parents first" "$(get "$run/spans" | jq '[.items[]|[.start_ns,.depth]]|.==sort')" true
is "members" "$(get "$run/spans?limit=1" | jq -c '.items[0]|keys_unsorted')" \
  '["id","parent_id","name","span_kind","measured","step","start_ns","duration_ns","closed","depth","child_count","op_count","self_ns","allocated_bytes","peak_live_bytes","residual_bytes"]'
root=$(get "$run/spans?max_depth=0" | jq -r '.items[0].id')
is "the tree of the root" "$(get "$run/spans?count=true&root=$(urlencode "$root")" | jq .total)" 26
is "an unknown root" "$(problem "$run/spans?root=none")" "404 unknown_span"
is "by length" "$(get "$run/spans?sort=-duration_ns" | jq '[.items[].duration_ns]|.==(sort|reverse)')" true
is "by self time" "$(get "$run/spans?sort=-self_ns" | jq '[.items[].self_ns]|.==(sort|reverse)')" true
is "page by page" \
  "$(get "$run/spans?limit=20&cursor=$(get "$run/spans?limit=20" | jq -r .next_cursor)" | jq '.items|length')" 6
is "lines" "$(get "$run/spans?format=ndjson" | wc -l)" 26
is "a bad kind" "$(problem "$run/spans?span_kind=none")" "400 bad_parameter"

say "operations"
is "all" "$(get "$run/ops?count=true" | jq .total)" 81
is "in time order" "$(get "$run/ops" | jq '[.items[].timestamp_ns]|.==sort')" true
is "groups count them all" "$(get "$run/ops?group_by=op_name" | jq '[.items[].op_count]|add')" 81
is "times too" "$(get "$run/ops?group_by=span_id" | jq '[.items[].total_ns]|add')" \
  "$(jq -s '[.[]|select(.kind=="op").duration_ns]|add' "$sample")"
for by in device dtype shape; do
  is "by $by" "$(get "$run/ops?group_by=$by" | jq '[.items[].op_count]|add')" 81
done
is "the largest first" "$(get "$run/ops?group_by=op_name" | jq '[.items[].total_ns]|.==(sort|reverse)')" true
is "members" "$(get "$run/ops?group_by=op_name&limit=1" | jq -c '.items[0]|keys_unsorted')" \
  '["key","op_count","total_ns","mean_ns","max_ns","share_ratio","output_dense_bytes"]'
is "an unknown group" "$(problem "$run/ops?group_by=colour")" "400 bad_parameter"
is "a filter of single ones" "$(problem "$run/ops?group_by=op_name&device=cpu")" "400 bad_parameter"

say "views"
is "slow ops" "$(get "$run/views/slow-ops" | jq -c '[.schema,.id,(.result|length)]')" \
  "$(get "$run" | jq -c '["tracespool/view/1",.id,50]')"
is "as many as asked for" "$(get "$run/views/slow-ops?limit=7" | jq '.result|length')" 7
is "the slowest" "$(get "$run/views/slow-ops?limit=1" | jq '.result[0].duration_ns')" \
  "$(get "$run/ops?sort=-duration_ns&limit=1" | jq '.items[0].duration_ns')"
is "timing" "$(get "$run/views/timing" | jq -c '.result|keys')" \
  '["device_clocks","device_coverage","device_spans"]'
is "indented" "$(get "$run/views/timing?pretty=true")" "$(get "$run/views/timing" | jq .)"
is "numbers as strings" \
  "$(get "$run/views/slow-ops?limit=1&numbers=string" | jq -r '.result[0].op_index|type')" string
# There is a graph where the run is known to be valid.
graph=$(get "$run" | jq 'if .structurally_valid then 200 else 409 end')
for view in spans slowest-host slowest-device; do
  is "$view" "$(code "$run/views/$view")" "$graph"
done
is "an unknown view" "$(problem "$run/views/none")" "404 unknown_path"
trace failed | sed 's/"complete","timestamp_ns"/"failed","reason":"out of memory","timestamp_ns"/' \
  >"$DIR/failed.jsonl"
drop "$DIR/failed.jsonl"
is "it failed" "$(field failed.jsonl .run.id && get /runs/failed | jq -r .outcome)" "failed
failed"
is "no graph of a failed run" "$(problem /runs/failed/views/spans)" "409 graph_unavailable"
is "but its spans" "$(get /runs/failed/spans | jq '.items|length')" 1
request r1 1000 >"$DIR/req.jsonl"
drop "$DIR/req.jsonl"
is "no spans of requests" "$(problem "/runs/$(field req.jsonl .run.id)/spans")" "404 wrong_kind"
daemon_stop
e2e_done
