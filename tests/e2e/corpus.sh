#!/bin/sh
# corpus.sh: every file of the corpus through a daemon: verdict, code, line, figures, replay rows
#
# The unit tests hold the figures to all 64 bits; jq compares as doubles, which is enough to see
# that HTTP serves what they make. A new file in a folder is a new case here.
# shellcheck source=tests/e2e/lib.sh
. "${srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
: "${TRACESPOOL_CORPUS:=$srcdir/../shared/corpus}"
[ -d "$TRACESPOOL_CORPUS/candle" ] || skip "the corpus is not there"
e2e_begin
daemon_start
mkdir "$DIR/d"

# Many execution traces share one run id: each drop gets one of its own.
candle=$TRACESPOOL_CORPUS/candle
dynamo=$TRACESPOOL_CORPUS/dynamo
jq -r '.files | keys[]' "$candle/EXPECTED.json" >"$DIR/candle"
jq -r 'keys[]' "$dynamo/EXPECTED.json" >"$DIR/dynamo"
n=0
while read -r file; do
  n=$((n + 1))
  sed "s/run-otter-01/otter-$n/" "$candle/$file" >"$SPOOL/.c.part"
  mv "$SPOOL/.c.part" "$SPOOL/c$n.jsonl"
done <"$DIR/candle"
n=0
while read -r file; do
  n=$((n + 1))
  case $file in
    */) cp -r "$dynamo/$file" "$SPOOL/.d.part" && mv -T "$SPOOL/.d.part" "$SPOOL/d$n" ;;
    *.gz) cp "$dynamo/$file" "$SPOOL/.d.part" && mv "$SPOOL/.d.part" "$SPOOL/d$n.jsonl.gz" ;;
    *) cp "$dynamo/$file" "$SPOOL/.d.part" && mv "$SPOOL/.d.part" "$SPOOL/d$n.jsonl" ;;
  esac
done <"$DIR/dynamo"

# answers: to paths, one a line: all of them as one array, each an array of the values in it.
answers() {
  sed "s|.*|url = \"$B&\"|" >"$DIR/urls"
  curl -s -w '\n"end of an answer"\n' -K "$DIR/urls" | jq -cn '
    reduce inputs as $x ([[]]; if $x == "end of an answer" then . + [[]] else .[-1] += [$x] end) | .[:-1]'
}
# compare: rows of name, what was got, what was wanted.
compare() {
  while IFS=$(printf '\t') read -r name got want; do
    is "$name" "$got" "$want"
  done
}

# The class that the daemon gives: its own where it refuses before it knows the format.
# shellcheck disable=SC2016 # programs of jq
refused='def own: .reason.code == "empty_file" or .reason.code == "unknown_format";'
# shellcheck disable=SC2016
rows='def row($name; $got; $want): "\($name)\t\($got|tojson)\t\($want|tojson)";'

n=$(wc -l <"$DIR/candle")
seq "$n" | sed 's|.*|/ingest/receipts/c&.jsonl?wait=30|' | answers >"$DIR/c.receipts"
jq -r '.[][0].run.id // empty | "/runs/\(@uri)/summary"' "$DIR/c.receipts" | answers >"$DIR/c.summaries"
jq -rn --slurpfile got "$DIR/c.receipts" --slurpfile expected "$candle/EXPECTED.json" \
  --slurpfile summaries "$DIR/c.summaries" --rawfile names "$DIR/candle" "$refused $rows"'
  ($names | split("\n")[:-1]) as $files | $expected[0].files as $want |
  [range($files | length) | {file: $files[.], got: $got[0][.][0]} | . + {want: $want[.file]}] as $all |
  ($all[] | if .want.ok then row(.file; [.got.state, (.got.counts | del(.lines))]; ["ingested", .want.counts])
    elif .got | own then row(.file; .got.state; "quarantined")
    else row(.file; [.got.state, .got.reason.code, .got.reason.line, .got.reason.event_index];
      ["quarantined", .want.error_class, .want.line, .want.event_index]) end),
  ([$all[] | select(.want.ok)] as $ok | range($ok | length) |
    row($ok[.].file + ": figures"; $summaries[0][.][0] |
      {op_count, total_ns, span_count, root_span_count, max_depth, alloc_count, free_count, logical_peak_bytes};
      $ok[.].want.summary))' >"$DIR/rows"
compare <"$DIR/rows"

n=0
while read -r file; do
  n=$((n + 1))
  case $file in
    */) echo "/ingest/receipts/d$n?wait=30" ;;
    *.gz) echo "/ingest/receipts/d$n.jsonl.gz?wait=30" ;;
    *) echo "/ingest/receipts/d$n.jsonl?wait=30" ;;
  esac
done <"$DIR/dynamo" >"$DIR/paths"
answers <"$DIR/paths" >"$DIR/d.receipts"
# Of those that have a run.
runs='.[] | .[0].run.id // "none" | @uri'
jq -r "$runs | \"/runs/\\(.)/summary\"" "$DIR/d.receipts" | answers >"$DIR/d.summaries"
jq -r "$runs | \"/runs/\\(.)/replay?format=ndjson\"" "$DIR/d.receipts" | answers >"$DIR/d.rows"
jq -rnS --slurpfile got "$DIR/d.receipts" --slurpfile expected "$dynamo/EXPECTED.json" \
  --slurpfile summaries "$DIR/d.summaries" --slurpfile replays "$DIR/d.rows" \
  --rawfile names "$DIR/dynamo" "$refused $rows"'
  ($names | split("\n")[:-1]) as $files | range($files | length) as $i | $files[$i] as $file |
  $expected[0][$file] as $want | $got[0][$i][0] as $got | $summaries[0][$i][0] as $summary |
  if $want.stage == "load" then
    if $got | own then row($file; $got.state; "quarantined")
    else row($file; [$got.state, $got.reason.code, $got.reason.line]; ["quarantined", $want.error_class, $want.line]) end
  elif $got.state != "ingested" and $got.state != "duplicate" then row($file; [$got.state, $got.reason]; "ingested")
  elif $want.stage == "lower" then
    row($file; $replays[0][$i][0] | [.status, .code]; [409, $want.error_class]),
    row($file + ": summary"; $summary.replay; {rows: null, error: $want.error_class})
  else
    row($file + ": rows"; $replays[0][$i]; $want.replay),
    row($file + ": figures"; $summary | del(.schema, .id, .kind, .capture, .segment, .captured_at,
      .finish_reasons, .replay, .health); $want.summary)
  end' >"$DIR/rows"
compare <"$DIR/rows"
daemon_stop
e2e_done
