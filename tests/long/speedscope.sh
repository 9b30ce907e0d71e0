#!/bin/sh
# speedscope.sh: trace.json opens in speedscope in a headless browser and shows the spans by name
# Pictures: $TMPDIR/speedscope-*.png
# shellcheck source=tests/e2e/lib.sh
. "${srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
for p in npm node; do command -v "$p" >/dev/null || skip "needs $p"; done
CHROMIUM=$(command -v chromium) || skip "needs chromium"
export CHROMIUM
e2e_begin
mkdir "$DIR/npm"
(cd "$DIR/npm" && npm install --ignore-scripts --no-audit --no-fund speedscope playwright-core >npm.log 2>&1) ||
  skip "npm cannot install speedscope and playwright-core"
daemon_start
drop "$srcdir/tests/samples/train-0007.jsonl"
id=$(urlencode "$(field train-0007.jsonl .run.id)")
get "/runs/$id/trace.json" >"$DIR/trace.json"
ok "spans in speedscope" node "$srcdir/tests/long/speedscope.mjs" "$DIR/npm" "$DIR/trace.json" \
  "${TMPDIR:-/tmp}" capture update micro_batch forward backward
daemon_stop
e2e_done
