#!/bin/sh
# numbers.sh: values at 2^53, 2^63-1, 2^63 and 2^64-1 through file, store, sort, filter, sum, answer
#
# jq holds doubles only, so the bytes of the answers are looked at.
# shellcheck source=tests/e2e/lib.sh
. "${srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
e2e_begin
daemon_start
a=9007199254740992 a1=9007199254740993 b=9223372036854775807 c=9223372036854775808 d=18446744073709551615

op() { # NAME DURATION TIME
  printf '{"kind":"op","span_id":"root","op_name":"%s","inputs":[],"output":"o","shape":[2],"dtype":"f32","device":"cpu","duration_ns":%s,"timestamp_ns":%s,"output_dense_bytes":%s,"input_dense_bytes":0}\n' \
    "$1" "$2" "$3" "$2"
}
alloc() { # STORAGE BYTES TIME
  printf '{"kind":"memory","timestamp_ns":%s,"storage_id":"%s","tensor_id":"t","span_id":"root","op_name":"alone","device":"cpu","bytes":%s,"action":"alloc","shape":[],"dtype":"u8","category":"other"}\n' \
    "$3" "$1" "$2"
}
{
  meta big
  span root '' 0 $d | sed '1s/}$/,"measured":true}/'
  span s-a root 0 $a
  span s-c root 0 $c
  span s-a1 root 0 $a1
  span s-b root 0 $b
  op one $c 1
  op two $a1 $a
  op two 2 $a1
  op three $d $b
  op three 1 $c
  op four $b $d
  op four $b $d
  op alone $a $d
  alloc x $b 1
  alloc y $c $a1
  alloc z 1 $d
  terminal $d
} >"$DIR/big.jsonl"
drop "$DIR/big.jsonl"
is "taken" "$(field big.jsonl .state)" ingested

# digits PATH MEMBER: the values of a member in the order of the answer.
digits() { get "$1" | grep -o "\"$2\":[0-9]*" | sed 's/.*://' | tr '\n' ' '; }
is "ops in file order" "$(digits '/runs/big/ops' duration_ns)" "$c $a1 2 $d 1 $b $b $a "
is "slowest first" "$(digits '/runs/big/ops?sort=-duration_ns' duration_ns)" "$d $c $b $b $a1 $a 2 1 "
is "times" "$(digits '/runs/big/ops' timestamp_ns)" "1 $a $a1 $b $c $d $d $d "
is "sizes" "$(digits '/runs/big/ops?sort=-duration_ns&limit=2' output_dense_bytes)" "$d $c "
is "from 2^63" "$(digits "/runs/big/ops?min_duration_ns=$c" duration_ns)" "$c $d "
is "from 2^63-1" "$(digits "/runs/big/ops?min_duration_ns=$b" duration_ns)" "$c $d $b $b "
is "from 2^53+1" "$(digits "/runs/big/ops?min_duration_ns=$a1" duration_ns)" "$c $a1 $d $b $b "
is "from 2^64-1" "$(digits "/runs/big/ops?min_duration_ns=$d" duration_ns)" "$d "
is "2^64 is none" "$(code '/runs/big/ops?min_duration_ns=18446744073709551616')" 400
all='' cursor=''
while :; do
  get "/runs/big/ops?sort=-duration_ns&limit=1${cursor:+&cursor=$cursor}" >"$DIR/page"
  all="$all$(grep -o '"duration_ns":[0-9]*' "$DIR/page" | sed 's/.*://') "
  cursor=$(jq -r '.next_cursor // empty' "$DIR/page")
  [ -n "$cursor" ] || break
done
is "page by page" "$all" "$d $c $b $b $a1 $a 2 1 "
# 2^53+1 + 2, 2^64-1 + 1 at its bound, twice 2^63-1.
is "sums" "$(digits '/runs/big/ops?group_by=op_name' total_ns)" "$d 18446744073709551614 $c 9007199254740995 $a "
is "highest of a group" "$(digits '/runs/big/ops?group_by=op_name' max_ns)" "$d $b $c $a1 $a "
is "sums as strings" "$(get '/runs/big/ops?group_by=op_name&numbers=string' | grep -o '"total_ns":"[0-9]*"' | head -n 1)" \
  "\"total_ns\":\"$d\""
is "spans" "$(digits '/runs/big/spans?sort=-duration_ns' duration_ns)" "$d $c $b $a1 $a "
is "spans from 2^63" "$(digits "/runs/big/spans?min_duration_ns=$c" duration_ns)" "$d $c "
is "the whole time" "$(digits /runs/big/summary total_ns | cut -d' ' -f1)" $d
# 2^63-1 + 2^63 is 2^64-1, one more stays there.
is "bytes live" "$(digits /runs/big/summary logical_peak_bytes)" "$d "
is "bytes allocated" "$(digits /runs/big/views/memory total_allocated_bytes | cut -d' ' -f1)" $d
is "the record whose span allocated" "$(digits '/runs/big/spans?limit=1' allocated_bytes)" "$d "
is "heaviest" "$(get /runs/big/views/heaviest | grep -o '"heaviest_ops":.*' | grep -o '"allocated_bytes":[0-9]*')" \
  "\"allocated_bytes\":$d"
get /runs/big/export >"$DIR/again.jsonl"
is "the export has the same ops" "$(grep -o '"duration_ns":[0-9]*,"timestamp_ns":[0-9]*' "$DIR/again.jsonl" | cksum)" \
  "$(grep -o '"duration_ns":[0-9]*,"timestamp_ns":[0-9]*' "$DIR/big.jsonl" | cksum)"
is "and the same bytes" "$(grep -o '"bytes":[0-9]*' "$DIR/again.jsonl" | cksum)" "$(grep -o '"bytes":[0-9]*' "$DIR/big.jsonl" | cksum)"
# Microseconds with three places, from integers. What would end behind 2^64-1 ends there: that of
# 2^64-1 at 2^63-1 has 2^63 left, those at 2^64-1 nothing.
is "trace events" "$(get '/runs/big/trace.json?include=ops' | grep -o '"dur":[0-9.]*' | sort | uniq -c | tr -s ' \n' ' ')" \
  ' 3 "dur":0.000 1 "dur":0.001 1 "dur":0.002 1 "dur":9007199254740.993 2 "dur":9223372036854775.808 '
daemon_stop
e2e_done
