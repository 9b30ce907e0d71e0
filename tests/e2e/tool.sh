#!/bin/sh
# tool.sh: the command line: words, JSON and exit codes
# shellcheck source=tests/e2e/lib.sh
. "${srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
e2e_begin
exit_of() { # COMMAND...: its exit code
  "$@" >"$DIR/out" 2>"$DIR/err" && echo 0 || echo $?
}
trace tool-1 >"$DIR/good.jsonl"
echo '{"kind":"meta"}' >"$DIR/bad.jsonl"

say "without a daemon"
is "check good" "$(exit_of "$TRACESPOOL" check "$DIR/good.jsonl")" 0
ok "in words" grep -q 'tool-1' "$DIR/out"
is "check bad" "$(exit_of "$TRACESPOOL" check "$DIR/good.jsonl" "$DIR/bad.jsonl")" 1
ok "names the code" grep -q missing_field "$DIR/out"
is "check --json" "$("$TRACESPOOL" check --json "$DIR/good.jsonl" | jq -c '[.accepted,.kind,.run_id]')" \
  '[true,"execution","tool-1"]'
is "usage" "$(exit_of "$TRACESPOOL" check)" 2
is "unknown command" "$(exit_of "$TRACESPOOL" nonsense)" 2
is "help" "$(exit_of "$TRACESPOOL" --help)" 0
is "version" "$(exit_of "$TRACESPOOL" --version)" 0
is "daemon: unknown option" "$(exit_of "$TRACESPOOLD" --nonsense)" 2
is "daemon: unknown setting" "$(exit_of "$TRACESPOOLD" -o spool.pth=/x --check-config)" 1
ok "is named" grep -q spool.pth "$DIR/err"
is "daemon: good settings" "$(exit_of "$TRACESPOOLD" -o spool.path=/x --check-config)" 0
"$TRACESPOOLD" -o spool.path="$DIR/s" --print-config >"$DIR/conf"
is "printed settings are read again" "$("$TRACESPOOLD" -c "$DIR/conf" --print-config | cksum)" "$(cksum <"$DIR/conf")"
is "no daemon: status" "$([ "$(exit_of "$TRACESPOOL" --url http://127.0.0.1:9 status)" != 0 ] && echo not 0)" "not 0"

say "with a daemon"
daemon_start
is "status" "$(exit_of "$TRACESPOOL" --url "$B" status)" 0
is "drop --wait" "$(exit_of "$TRACESPOOL" --url "$B" -o spool.path="$SPOOL" drop --wait "$DIR/good.jsonl")" 0
is "wait" "$(exit_of "$TRACESPOOL" --url "$B" wait good.jsonl)" 0
is "drop a bad one" "$(exit_of "$TRACESPOOL" --url "$B" -o spool.path="$SPOOL" drop --wait "$DIR/bad.jsonl")" 1
is "wait in vain" "$(exit_of "$TRACESPOOL" --url "$B" wait --timeout 1 none.jsonl)" 3
is "runs" "$(exit_of "$TRACESPOOL" --url "$B" runs)" 0
ok "lists the run" grep -q tool-1 "$DIR/out"
ok "fits 80 columns" awk 'length > 80 { exit 1 }' "$DIR/out"
is "summary" "$(exit_of "$TRACESPOOL" --url "$B" summary tool-1)" 0
ok "shows figures" grep -q span_count "$DIR/out"
is "summary --json" "$("$TRACESPOOL" --url "$B" summary --json tool-1 | cksum)" "$(get /runs/tool-1/summary | cksum)"
is "summary of none" "$(exit_of "$TRACESPOOL" --url "$B" summary none)" 1
daemon_stop
e2e_done
