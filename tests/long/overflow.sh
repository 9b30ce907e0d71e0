#!/bin/sh
# overflow.sh: C12: more renames than the event queue holds, while the daemon stands still
# shellcheck source=tests/e2e/lib.sh
. "${srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
: "${FILES:=20000}"
WAIT_SECONDS=900
e2e_begin
daemon_start
trace THE-RUN-ID >"$DIR/one"
mkdir "$DIR/made"
i=0
while [ $i -lt "$FILES" ]; do
  i=$((i + 1))
  sed "s/THE-RUN-ID/over-$i/" "$DIR/one" >"$DIR/made/o$i.jsonl"
done
kill -STOP "$PID"
find "$DIR/made" -name '*.jsonl' -exec mv -t "$SPOOL" {} +
kill -CONT "$PID"
wait_until run_count_is "$FILES"
ok "the overflow was seen" test "$(get /ingest | jq '.spools[0].overflows')" -gt 0
is "all ingested" "$(runs)" "$FILES"
daemon_stop
e2e_done
