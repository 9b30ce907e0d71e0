#!/bin/sh
# lines.sh: JSON lines, gzip and numbers: section B and more of the public cases, by their numbers
# shellcheck source=tests/e2e/lib.sh
. "${srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
e2e_begin
daemon_start
mkdir "$DIR/f"

refused() { # NAME CODE [LINE]: of $DIR/f/NAME
  drop "$DIR/f/$1"
  is "$1 is refused" "$(field "$1" '[.state,.reason.code]|join(" ")')" "quarantined $2"
  [ -z "${3:-}" ] || is "$1 names the line" "$(field "$1" .reason.line)" "$3"
  check=$("$TRACESPOOL" check --json "$DIR/f/$1" | jq -c '.reason | [.code,.line,.byte_offset,.message]') || :
  is "$1: check says the same" "$check" "$(receipt "$1" | jq -c '.reason | [.code,.line,.byte_offset,.message]')"
}
taken() { # NAME
  drop "$DIR/f/$1"
  is "$1 is taken" "$(field "$1" .state)" ingested
  ok "$1: check says the same" "$TRACESPOOL" check "$DIR/f/$1" >/dev/null
}

say "C16: every gzip member is read"
{ { request a1 1; request a2 2; request a3 3; } | gzip -c; printf '' | gzip -c
  request a4 4 | gzip -c; { i=0; while [ $i -lt 5 ]; do i=$((i + 1)); request "b$i" 9; done; } | gzip -c
} >"$DIR/f/c16.jsonl.gz"
taken c16.jsonl.gz
is "9 requests" "$(field c16.jsonl.gz .counts.requests)" 9
request split 7 >"$DIR/line"
{ head -c 50 "$DIR/line" | gzip -c; tail -c +51 "$DIR/line" | gzip -c; } >"$DIR/f/c16b.jsonl.gz"
taken c16b.jsonl.gz
is "a member border in a line" "$(field c16b.jsonl.gz .counts.requests)" 1

say "C17: a truncated last member"
{ i=0; while [ $i -lt 100 ]; do i=$((i + 1)); request "t$i" $i; done; } | gzip -c >"$DIR/m"
size=$(stat -c %s "$DIR/m")
{ cat "$DIR/m"; head -c $((size * 6 / 10)) "$DIR/m"; } >"$DIR/f/c17.jsonl.gz"
refused c17.jsonl.gz duplicate_request_id 101
{ cat "$DIR/m"; i=0; { while [ $i -lt 100 ]; do i=$((i + 1)); request "u$i" $i; done; } | gzip -c |
  head -c $((size * 6 / 10)); } >"$DIR/f/c17b.jsonl.gz"
refused c17b.jsonl.gz gzip_truncated
is "the broken member's offset" "$(field c17b.jsonl.gz .reason.byte_offset)" "$size"

say "C18: a line cut in the middle"
{ i=0; while [ $i -lt 50 ]; do i=$((i + 1)); request "v$i" $i; done; } >"$DIR/f/c18.jsonl"
whole=$(stat -c %s "$DIR/f/c18.jsonl")
request v51 51 | head -c 120 >>"$DIR/f/c18.jsonl"
refused c18.jsonl bad_json 51
is "offset behind the last whole line" "$(field c18.jsonl ".reason.byte_offset >= $whole")" true
ok "hint says that it may have been cut" test -n "$(field c18.jsonl '.reason.hint // ""')"

say "C19: a file that grows in half lines is read when it is at rest"
: >"$SPOOL/c19.jsonl"
request w0 1 >"$DIR/line"
i=0
while [ $i -lt 10 ]; do
  i=$((i + 1))
  request "w$i" $i >"$DIR/line"
  head -c 90 "$DIR/line" >>"$SPOOL/c19.jsonl"
  sleep 0.05
  tail -c +91 "$DIR/line" >>"$SPOOL/c19.jsonl"
done
is "all records" "$(field c19.jsonl '[.state,.counts.requests]|join(" ")')" "ingested 10"

say "C20: byte order marks, CRLF, blank lines, no last newline"
{ printf '\357\273\277'; trace bom1; } >"$DIR/f/c20a.jsonl"
refused c20a.jsonl bad_json 1
ok "hint names the byte order mark" \
  sh -c "curl -s $B/ingest/receipts/c20a.jsonl | jq -r .reason.hint | grep -qi 'byte order mark'"
{ meta bom2; printf '\357\273\277'; terminal; } >"$DIR/f/c20b.jsonl"
refused c20b.jsonl bad_json 2
{ echo; trace crlf | sed 's/$/\r/'; echo '  '; } | head -c -1 >"$DIR/f/c20c.jsonl"
taken c20c.jsonl

say "C22: a pretty-printed file"
trace pretty | head -n 1 | jq . >"$DIR/f/c22.jsonl"
refused c22.jsonl bad_json 1
ok "hint says one record a line" \
  sh -c "curl -s $B/ingest/receipts/c22.jsonl | jq -r .reason.hint | grep -qi 'one line'"

say "C23: hostile names are text everywhere"
{ meta c23; printf '{"kind":"span_start","id":"x","name":"a\\u0001\\u0000\\"\\\\\\u2028<b>%s","start_ns":0,"span_kind":"op"}\n' \
  "$(printf '\360\237\230\200')"; terminal; } >"$DIR/f/c23.jsonl"
taken c23.jsonl
{ meta c23b; echo '{"kind":"span_start","id":"x","name":"\ud800","start_ns":0,"span_kind":"op"}'; terminal
} >"$DIR/f/c23b.jsonl"
refused c23b.jsonl bad_json 2

say "C24: zero durations give null, not infinity"
request z1 1000 0 '' | sed 's/"output_tokens":1/"output_tokens":0,"total_time_ms":0/' >"$DIR/f/c24.jsonl"
taken c24.jsonl
run=$(field c24.jsonl .run.id)
is "rates are null" "$(get "/runs/$run/summary" | jq -c '[.arrival_rate_rps,.concurrency_mean,.prefix_reuse_ratio]')" \
  "[null,null,null]"

say "C25: all 64 bits, and nothing that is no u64"
{ request h1 1000 129 '9223372036854775808,18446744073709551615,0' |
  sed 's/"output_tokens":1/"output_tokens":1,"queue_depth":18446744073709551615,"worker":{"prefill_worker_id":18446744073709551615}/'
} >"$DIR/f/c25.jsonl"
taken c25.jsonl
run=$(field c25.jsonl .run.id)
body=$(get "/runs/$run/requests?include=replay")
has() { case $body in *"$1"*) ;; *) return 1 ;; esac; }
ok "hashes as strings" has '"input_sequence_hashes":["9223372036854775808","18446744073709551615","0"]'
ok "queue_depth with all digits" has '"queue_depth":18446744073709551615'
ok "worker id as a string" has '"prefill_worker_id":"18446744073709551615"'
body=$(get "/runs/$run/requests?include=replay&numbers=exact")
ok "numbers=exact" has '"input_sequence_hashes":[9223372036854775808,18446744073709551615,0]'
is "health tells of it" "$(get "/runs/$run/summary" | jq -r '.health.issues[].code')" integer_above_2_53
n=0
for v in 18446744073709551616 1e3 1.0 -1 -0; do
  n=$((n + 1))
  request "bad$n" 1 | sed "s/\"output_tokens\":1/\"output_tokens\":$v/" >"$DIR/f/c25-$n.jsonl"
  refused "c25-$n.jsonl" bad_field 1
  ok "output_tokens $v names the member" \
    sh -c "curl -s $B/ingest/receipts/c25-$n.jsonl | jq -r .reason.message | grep -q output_tokens"
done

say "C26: deep nesting, also where it is skipped"
deep() { printf '[%.0s' $(seq "$1"); printf ']%.0s' $(seq "$1"); }
request d1 1 | sed "s/^{/{\"x\":$(deep 126),/" >"$DIR/f/c26a.jsonl"
taken c26a.jsonl
request d2 1 | sed "s/^{/{\"x\":$(deep 127),/" >"$DIR/f/c26b.jsonl"
refused c26b.jsonl bad_json 1
{ printf '{"x":'; head -c 100000 /dev/zero | tr '\0' '['; echo; } >"$DIR/f/c26c.jsonl"
refused c26c.jsonl bad_json 1

say "C27: a gzip file that inflates without end"
head -c 300000000 /dev/zero | tr '\0' ' ' | gzip -9c >"$DIR/f/c27.jsonl.gz"
refused c27.jsonl.gz expansion_ratio

say "C32, C35: order of times, missing members, provenance"
{ meta c32; span a '' 0 100; terminal 50; } >"$DIR/f/c32.jsonl"
refused c32.jsonl terminal_precedes_evidence 4
{ meta c32b; span a '' 18446744073709551610 100; terminal 18446744073709551615; } >"$DIR/f/c32b.jsonl"
taken c32b.jsonl
is "a sum that saturates is no fault of order" \
  "$(field c32b.jsonl '[.warnings[]|select(.severity == "error").code]|tojson')" '["measurement_count"]'
{ meta c32c; span a '' 10 90 | sed 's/"start_ns"/"measured":true,"start_ns"/'
  echo '{"kind":"op","span_id":"a","op_name":"o","shape":[],"dtype":"f32","device":"cpu","timestamp_ns":90,"duration_ns":11,"input_dense_bytes":0}'
  span b a 9 5; terminal 101; } >"$DIR/f/c32c.jsonl"
taken c32c.jsonl
is "the op and the child are told of" \
  "$(field c32c.jsonl '[.warnings[]|select(.severity == "error").code]|tojson')" \
  '["child_outside_parent","operation_outside_span"]'
is "not valid" "$(get /runs/c32c/summary | jq .health.structurally_valid)" false
is "check says the same" \
  "$("$TRACESPOOL" check --json "$DIR/f/c32c.jsonl" | jq -c .warnings)" "$(field c32c.jsonl '.warnings|tojson')"
trace c35 | sed 's/"capture_contract":{[^}]*},//' >"$DIR/f/c35a.jsonl"
refused c35a.jsonl missing_field 1
trace c35 | sed 's/"run_id":"c35",//' >"$DIR/f/c35b.jsonl"
refused c35b.jsonl missing_field 1
trace c35c | sed 's/"capture_step":1/"capture_step":0/' >"$DIR/f/c35c.jsonl"
taken c35c.jsonl
is "provenance" "$(get /runs/c35c/summary | jq -r '.health.issues[0]|[.severity,.code]|join(" ")')" \
  "error run_provenance_invalid"
is "not valid either" "$(get '/runs?valid=false&id_prefix=c35c' | jq -r '.items[].id')" c35c

say "C38, C39: order of completion; hash counts"
{ i=1000; while [ $i -gt 0 ]; do request "o$i" $((i * 10)); i=$((i - 1)); done; } >"$DIR/f/c38.jsonl"
taken c38.jsonl
run=$(field c38.jsonl .run.id)
is "default order is by start" "$(get "/runs/$run/requests?limit=2" | jq -c '[.items[].request_id]')" '["o1","o2"]'
is "line keeps the place" "$(get "/runs/$run/requests?limit=1" | jq '.items[0].line')" 1000
is "no warning" "$(field c38.jsonl '.warnings|length')" 0
request p1 1 128 1,2,3 >"$DIR/f/c39a.jsonl"
refused c39a.jsonl hash_count_mismatch 1
request p2 1 0 '' >"$DIR/f/c39b.jsonl"
taken c39b.jsonl
is "counted as unreplayable" "$(get "/runs/$(field c39b.jsonl .run.id)/summary" | jq .unreplayable_rows)" 1
request p3 1 129 1,2,3 >"$DIR/f/c39c.jsonl"
taken c39c.jsonl
request p4 1 | sed 's/"trace_block_size":64/"trace_block_size":0/' >"$DIR/f/c39d.jsonl"
refused c39d.jsonl zero_block_size 1

say "C43: numbers that JSON or the format does not have"
stats() { printf '{"kind":"tensor_stats","span_id":"s","label":"l","shape":[],"dtype":"f32","elements":1,"non_finite":0,"rms":%s,"abs_max":0,"mean":0}\n' "$1"; }
n=0
for v in NaN 1e999 null '"NaN"'; do
  n=$((n + 1))
  { meta "c43-$n"; stats "$v"; terminal; } >"$DIR/f/c43-$n.jsonl"
done
refused c43-1.jsonl bad_json 2
refused c43-2.jsonl bad_json 2
refused c43-3.jsonl bad_field 2
refused c43-4.jsonl bad_field 2

say "formats that are none"
echo '{"a":1}' >"$DIR/f/other.jsonl"
refused other.jsonl unknown_format 1
printf '\n \n' >"$DIR/f/blank.jsonl"
refused blank.jsonl empty_file
trace text >"$DIR/f/text.jsonl.gz"
refused text.jsonl.gz gzip_corrupt
trace packed | gzip -c >"$DIR/f/packed.jsonl"
refused packed.jsonl bad_utf8 1
is "the daemon lives" "$(code /healthz)" 200
daemon_stop
e2e_done
