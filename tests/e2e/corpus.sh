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

# The class that the daemon gives: its own where it refuses before it knows the format.
n=0
while read -r file; do
  n=$((n + 1))
  got=$(receipt "c$n.jsonl")
  want=$(jq -c --arg f "$file" '.files[$f]' "$candle/EXPECTED.json")
  if [ "$(printf %s "$want" | jq .ok)" = true ]; then
    is "$file" "$(printf %s "$got" | jq -c '[.state,(.counts|del(.lines))]')" \
      "$(printf %s "$want" | jq -c '["ingested",.counts]')"
    run=$(printf %s "$got" | jq -r '.run.id|@uri')
    is "$file: figures" "$(get "/runs/$run/summary" | jq -c \
      '{op_count,total_ns,span_count,root_span_count,max_depth,alloc_count,free_count,logical_peak_bytes}')" \
      "$(printf %s "$want" | jq -c .summary)"
  else
    own=$(printf %s "$got" | jq -r .reason.code)
    case $own in
      empty_file | unknown_format) is "$file" "$(printf %s "$got" | jq -r .state)" quarantined ;;
      *) is "$file" "$(printf %s "$got" | jq -c '[.state,.reason.code,.reason.line,.reason.event_index]')" \
        "$(printf %s "$want" | jq -c '["quarantined",.error_class,.line,.event_index]')" ;;
    esac
  fi
done <"$DIR/candle"

n=0
while read -r file; do
  n=$((n + 1))
  name=d$n.jsonl
  case $file in */) name=d$n ;; *.gz) name=d$n.jsonl.gz ;; esac
  got=$(receipt "$name")
  want=$(jq -c --arg f "$file" '.[$f]' "$dynamo/EXPECTED.json")
  stage=$(printf %s "$want" | jq -r '.stage // ""')
  if [ "$stage" = load ]; then
    own=$(printf %s "$got" | jq -r .reason.code)
    case $own in
      empty_file | unknown_format) is "$file" "$(printf %s "$got" | jq -r .state)" quarantined ;;
      *) is "$file" "$(printf %s "$got" | jq -c '[.state,.reason.code,.reason.line]')" \
        "$(printf %s "$want" | jq -c '["quarantined",.error_class,.line]')" ;;
    esac
    continue
  fi
  case $(printf %s "$got" | jq -r .state) in
    ingested | duplicate) ;;
    *) is "$file" "$(printf %s "$got" | jq -c '[.state,.reason]')" ingested; continue ;;
  esac
  run=$(printf %s "$got" | jq -r '.run.id|@uri')
  if [ "$stage" = lower ]; then
    is "$file" "$(curl -s "$B/runs/$run/replay" | jq -c '[.status,.code]')" \
      "$(printf %s "$want" | jq -c '[409,.error_class]')"
    is "$file: summary" "$(get "/runs/$run/summary" | jq -c .replay)" \
      "$(printf %s "$want" | jq -c '{rows:null,error:.error_class}')"
  else
    is "$file: rows" "$(get "/runs/$run/replay?format=ndjson" | jq -cS .)" \
      "$(printf %s "$want" | jq -cS '.replay[]')"
    is "$file: figures" "$(get "/runs/$run/summary" | jq -cS \
      'del(.schema,.id,.kind,.capture,.segment,.captured_at,.finish_reasons,.replay,.health)')" \
      "$(printf %s "$want" | jq -cS .summary)"
  fi
done <"$DIR/dynamo"
daemon_stop
e2e_done
