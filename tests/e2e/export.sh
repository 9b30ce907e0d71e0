#!/bin/sh
# export.sh: a run as lines again, its source with ranges and digests, trace events
# shellcheck source=tests/e2e/lib.sh
. "${srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
e2e_begin
command -v openssl >/dev/null || skip "needs openssl"
daemon_start
header() { # PATH NAME [CURL OPTION...]
  path=$1 name=$2
  shift 2
  curl -s -o /dev/null -D - "$@" "$B$path" | tr -d '\r' | sed -n "s/^$name: //Ip"
}
problem() { curl -s "$@" | jq -r '[.status,.code]|map(tostring)|join(" ")'; }
digest64() { printf 'sha-256=:%s:' "$(openssl dgst -sha256 -binary | base64)"; }

cp "$srcdir/tests/samples/train-0007.jsonl" "$DIR/a.jsonl"
drop "$DIR/a.jsonl"
run=/runs/$(urlencode "$(field a.jsonl .run.id)")
digest=$(field a.jsonl .digest)

say "export"
get "$run/export" >"$DIR/out.jsonl"
is "rows in the header" "$(header "$run/export" Tracespool-Row-Count)" "$(wc -l <"$DIR/out.jsonl")"
is "form" "$(header "$run/export" Content-Type)" application/x-ndjson
is "by format=json" "$(problem "$B$run/export?format=json")" "400 bad_parameter"
is "not as JSON" "$(problem -H 'Accept: application/json' "$B$run/export")" "406 not_acceptable"
etag=$(header "$run/export" ETag)
is "304" "$(curl -s -o /dev/null -w '%{http_code}' -H "If-None-Match: $etag" "$B$run/export")" 304
ok "by the tool" "$TRACESPOOL" --url "$B" export mnist/train-0007 -o "$DIR/tool.jsonl"
ok "the same bytes" cmp "$DIR/out.jsonl" "$DIR/tool.jsonl"
# shellcheck disable=SC2016 # the inner shell's
ok "to standard output" sh -c '"$1" --url "$2" export mnist/train-0007 | cmp - "$3"' - "$TRACESPOOL" "$B" "$DIR/out.jsonl"
ok "nothing left aside" test "$(find "$DIR" -name 'tool.jsonl*' | wc -l)" = 1
# shellcheck disable=SC2016
ok "an unknown run fails" sh -c '! "$1" --url "$2" export none -o "$3/none" 2>/dev/null && ! [ -e "$3/none" ]' - "$TRACESPOOL" "$B" "$DIR"
sed 's|"run_id":"mnist/train-0007"|"run_id":"again"|' "$DIR/out.jsonl" >"$DIR/again.jsonl"
drop "$DIR/again.jsonl"
is "ingested again" "$(field again.jsonl .state)" ingested
get "$run/summary" | jq 'del(.id,.run_id)' >"$DIR/s1"
get /runs/again/summary | jq 'del(.id,.run_id)' >"$DIR/s2"
ok "the same figures" cmp "$DIR/s1" "$DIR/s2"
get /runs/again/export | cmp - "$DIR/again.jsonl" && same=yes || same=no
is "the same export" "$same" yes

say "source"
get "$run/source" | cmp - "$DIR/a.jsonl" && same=yes || same=no
is "byte for byte" "$same" yes
is "length" "$(header "$run/source" Content-Length)" "$(wc -c <"$DIR/a.jsonl")"
is "Content-Digest" "$(header "$run/source" Content-Digest)" "$(digest64 <"$DIR/a.jsonl")"
is "Repr-Digest" "$(header "$run/source" Repr-Digest)" "$(digest64 <"$DIR/a.jsonl")"
is "a range" "$(curl -s -r 100-199 "$B$run/source" | cksum)" "$(tail -c +101 "$DIR/a.jsonl" | head -c 100 | cksum)"
is "206" "$(curl -s -o /dev/null -w '%{http_code}' -r 100-199 "$B$run/source")" 206
is "its digest" "$(header "$run/source" Content-Digest -r 100-199)" \
  "$(tail -c +101 "$DIR/a.jsonl" | head -c 100 | digest64)"
is "the end" "$(curl -s -r -5 "$B$run/source" | cksum)" "$(tail -c 5 "$DIR/a.jsonl" | cksum)"
is "behind the end" "$(problem -r 9999999- "$B$run/source")" "416 bad_range"
is "If-Range of another form" \
  "$(curl -s -o /dev/null -w '%{http_code}' -r 1-2 -H 'If-Range: "x"' "$B$run/source")" 200
etag=$(header "$run/source" ETag)
is "If-Range" "$(curl -s -o /dev/null -w '%{http_code}' -r 1-2 -H "If-Range: $etag" "$B$run/source")" 206
is "never packed" "$(header "$run/source" Content-Encoding --compressed)" ""
is "no such shard" "$(problem "$B$run/source?shard=1")" "400 bad_parameter"

cp "$srcdir/tests/samples/night-shift.jsonl.gz" "$DIR/n.jsonl.gz"
drop "$DIR/n.jsonl.gz"
night=/runs/$(field n.jsonl.gz .run.id)
get "$night/source" | cmp - "$DIR/n.jsonl.gz" && same=yes || same=no
is "still compressed" "$same" yes
is "type" "$(header "$night/source" Content-Type)" application/gzip
is "digest of what is sent" "$(header "$night/source" Content-Digest)" "$(digest64 <"$DIR/n.jsonl.gz")"
is "decoded" "$(get "$night/source?decode=true" | cksum)" "$(gzip -dc "$DIR/n.jsonl.gz" | cksum)"
is "its digest" "$(header "$night/source?decode=true" Repr-Digest)" "$(gzip -dc "$DIR/n.jsonl.gz" | digest64)"

mkdir "$DIR/folder"
request r1 1000 >"$DIR/folder/a.jsonl"
request r2 2000 | gzip >"$DIR/folder/b.jsonl.gz"
drop "$DIR/folder"
folder=/runs/$(field folder .run.id)
is "a folder needs a number" "$(problem "$B$folder/source")" "400 bad_parameter"
is "shard 0" "$(get "$folder/source?shard=0" | cksum)" "$(cksum <"$DIR/folder/a.jsonl")"
is "shard 1" "$(get "$folder/source?shard=1" | cksum)" "$(cksum <"$DIR/folder/b.jsonl.gz")"
is "its text" "$(get "$folder/source?shard=1&decode=1" | jq -r .request.request_id)" r2

{ request r1 1000; sed 's/"request_end"/"request_payload"/' "$DIR/folder/a.jsonl"; } >"$DIR/payload.jsonl"
drop "$DIR/payload.jsonl"
is "with payloads" "$(field payload.jsonl .state)" ingested
is "they need more rights" "$(problem "$B/runs/$(field payload.jsonl .run.id)/source")" "403 scope_missing"

kept=$(find "$SPOOL" -path '*archive*' -name a.jsonl -type f | head -n 1)
touch "$kept"
is "another file now" "$(problem "$B$run/source")" "404 source_not_kept"
rm "$kept"
ln -s /etc/passwd "$kept"
is "a link is not followed" "$(problem "$B$run/source")" "404 source_not_kept"
is "the rest is there" "$(code "$run/export")" 200

say "trace events"
is "events" "$(get "$run/trace.json" | jq '[.traceEvents[]|select(.cat=="span")]|length')" \
  "$(get "$run/summary" | jq .span_count)"
is "ops only" "$(get "$run/trace.json?include=ops" | jq -c '[.traceEvents[].cat]|unique')" '[null,"op"]'
is "bad part" "$(problem "$B$run/trace.json?include=ops,x")" "400 bad_parameter"
is "download" "$(header "$run/trace.json?download=true" Content-Disposition)" \
  'attachment; filename="mnist_train-0007.trace.json"'
is "packed" "$(header "$run/trace.json" Content-Encoding --compressed)" gzip
is "requests" "$(get "$night/trace.json" | jq '[.traceEvents[]|select(.ph=="b" and .name=="request")]|length')" \
  "$(get "$night/summary" | jq .requests)"
is "export of requests" "$(problem "$B$night/export")" "404 wrong_kind"
is "digest in place of an id" "$(code "/runs/$digest/trace.json")" 200
daemon_stop
e2e_done
