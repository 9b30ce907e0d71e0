#!/bin/sh
# real.sh: a real capture of a tool-using client, from drop to replay rows, through a daemon
# shellcheck source=tests/e2e/lib.sh
. "${srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
: "${TRACESPOOL_CORPUS:=$srcdir/../shared/corpus}"
[ -d "$TRACESPOOL_CORPUS/real" ] || skip "the corpus is not there"
e2e_begin
daemon_start
drop "$TRACESPOOL_CORPUS/real/dynamo/pi_request_trace.jsonl.gz"
is "receipt" "$(field pi_request_trace.jsonl.gz '[.state,.counts.requests,.counts.tools]|join(" ")')" \
  "ingested 17 22"
run=/runs/$(field pi_request_trace.jsonl.gz .run.id)
is "id is the stem and the digest" "$run" \
  "/runs/pi_request_trace-$(field pi_request_trace.jsonl.gz .digest | cut -c8-19)"
want() { jq -c ".\"dynamo/pi_request_trace.jsonl.gz\" | $1" "$TRACESPOOL_CORPUS/real/EXPECTED.json"; }
is "replay rows" "$(get "$run/replay" | jq -cS .rows)" "$(want .replay | jq -cS .)"
is "figures" "$(get "$run/summary" | jq -cS "del(.schema,.id,.kind,.capture,.segment,.captured_at,.finish_reasons,.replay,.health)")" \
  "$(want .summary | jq -cS .)"
# jq holds integers as doubles, so hashes are compared as text.
hashes() { grep -o '"input_sequence_hashes": *\[[^]]*\]' | tr -cd '0-9,[]\n' | sort; }
is "hashes above 2^63 with all digits" \
  "$(get "$run/requests?include=replay&numbers=exact" | hashes | cksum)" \
  "$(awk '/pi_request_trace/,0' "$TRACESPOOL_CORPUS/real/EXPECTED.json" | hashes | cksum)"
ok "there are some" test "$(get "$run/requests?include=replay" | grep -oc '"1[0-9]\{19\}"')" -gt 0
daemon_stop
e2e_done
