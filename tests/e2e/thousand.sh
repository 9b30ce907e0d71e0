#!/bin/sh
# thousand.sh: 1,000 small files (COUNT) moved in at once: a receipt and a run each, none left over
# shellcheck source=tests/e2e/lib.sh
. "${srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
: "${COUNT:=1000}"
e2e_begin
daemon_start
mkdir "$DIR/made"
trace THE-RUN-ID >"$DIR/one"
i=0
while [ $i -lt "$COUNT" ]; do
  i=$((i + 1))
  sed "s/THE-RUN-ID/thousand-$i/" "$DIR/one" >"$DIR/made/t$i.jsonl"
done
# mv looks at what it has moved, and complains if the daemon was faster.
mv "$DIR"/made/t*.jsonl "$SPOOL" 2>/dev/null || :
wait_until run_count_is "$COUNT"
nothing_left() { [ -z "$(find "$SPOOL" "$SPOOL/.active" -maxdepth 1 -name 't*')" ]; }
wait_until nothing_left
is "runs" "$(runs)" "$COUNT"
is "receipts" "$(get '/ingest/receipts?state=ingested&format=ndjson' | wc -l)" "$COUNT"
is "receipt files" "$(find "$SPOOL/.receipts" -type f | wc -l)" "$COUNT"
is "files in the archive" "$(find "$SPOOL/.archive" -name 't*.jsonl' | wc -l)" "$COUNT"
is "none refused" "$(get /ingest | jq .quarantine_count)" 0
daemon_stop
e2e_done
