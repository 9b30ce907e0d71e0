#!/bin/sh
# store.sh: a store that fails or is locked: nothing lost, nothing twice, readiness says so
# shellcheck source=tests/e2e/lib.sh
. "${srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
command -v sqlite3 >/dev/null || skip "needs sqlite3"
e2e_begin
daemon_start
trace first >"$DIR/first.jsonl"
drop "$DIR/first.jsonl"
is "a first run" "$(field first.jsonl .state)" ingested
ready() { [ "$(code /readyz)" = "$1" ]; }
wait_until ready 200

say "C04: the commit fails: the file stays, and is ingested when it works again"
sqlite3 "$STORE/catalog.db" \
  "CREATE TRIGGER stop BEFORE INSERT ON runs BEGIN SELECT RAISE(ABORT, 'no commit today'); END"
trace c04 >"$DIR/c04.jsonl"
drop "$DIR/c04.jsonl"
wait_until state_is c04.jsonl failed
ok "retry_at is told" test "$(curl -s "$B/ingest/receipts/c04.jsonl" | jq -r .retry_at)" != null
wait_until ready 503
ok "not in the archive" test -z "$(find "$SPOOL/.archive" -name 'c04*')"
is "no run" "$(code /runs/c04)" 404
is "reading goes on" "$(code /runs/first/summary)" 200
sqlite3 -cmd '.timeout 5000' "$STORE/catalog.db" 'DROP TRIGGER stop'
is "ingested by itself" "$(field c04.jsonl .state)" ingested
wait_until ready 200
ok "archived only then" test -n "$(find "$SPOOL/.archive" -name 'c04*')"

say "C41: another process holds the catalog"
mkfifo "$DIR/fifo"
sqlite3 "$STORE/catalog.db" <"$DIR/fifo" >/dev/null 2>&1 &
holder=$!
exec 9>"$DIR/fifo"
echo 'BEGIN EXCLUSIVE; SELECT 1;' >&9
sleep 0.3
for i in 1 2 3; do
  trace "c41-$i" >"$DIR/c41-$i.jsonl"
  drop "$DIR/c41-$i.jsonl"
done
not_ready_and_failed() {
  ready 503 && case $(curl -s "$B/ingest/receipts/c41-1.jsonl" | jq -r .state) in
    failed | waiting | ingesting) true ;;
    *) false ;;
  esac
}
wait_until not_ready_and_failed
answer=$(code /runs/first/summary)
ok "reading answers 200 or 503" test "$answer" = 200 -o "$answer" = 503
daemon_kill
echo 'ROLLBACK;' >&9
exec 9>&-
wait "$holder" || :
daemon_start
for i in 1 2 3; do is "run $i after the restart" "$(field "c41-$i.jsonl" .state)" ingested; done
is "each once" "$(get '/runs?id_prefix=c41&count=true' | jq .total)" 3

say "a run's file reads well by itself"
file=$(find "$STORE/runs" -name '*.db' | head -n 1)
is "a view" "$(sqlite3 "file:$file?immutable=1" 'select id, duration_ns from spans')" "root|100"

say "one daemon a store"
if "$TRACESPOOLD" -o spool.path="$DIR/other" -o store.path="$STORE" -o http.listen=127.0.0.1:0 \
  2>"$DIR/second" </dev/null; then
  is "a second daemon" started refused
else
  ok "a second daemon is refused with a sentence" grep -q store_in_use "$DIR/second"
fi
daemon_stop
sqlite3 "$STORE/catalog.db" 'PRAGMA user_version = 9999'
if "$TRACESPOOLD" -o spool.path="$SPOOL" -o store.path="$STORE" -o http.listen=127.0.0.1:0 \
  2>"$DIR/newer" </dev/null; then
  is "a newer store" opened refused
else
  ok "a newer store is refused" grep -q store_newer "$DIR/newer"
fi
e2e_done
