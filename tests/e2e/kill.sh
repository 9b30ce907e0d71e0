#!/bin/sh
# kill.sh: kill -9 at random moments: each drop is exactly one run or one quarantined file
#
# ROUNDS (20 in `make check`, 200 in `make check-long`): in each, drops of every kind arrive while
# the daemon is killed; after the last one everything must be there once.
# shellcheck source=tests/e2e/lib.sh
. "${srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
: "${ROUNDS:=20}"
e2e_begin
mkdir -p "$DIR/made"
seed=${SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
say "seed $seed, $ROUNDS rounds"
random() { # BELOW: a small generator, so that SEED plays the same moments again
  seed=$(((seed * 1103515245 + 12345) & 0x7fffffff))
  echo $((seed / 65536 % $1))
}

good=0
bad=0
make_drops() { # ROUND
  { meta "run-$1-a"; i=0; while [ $i -lt 400 ]; do i=$((i + 1)); span "s$i" '' $i 1; done
    terminal 1000; } >"$DIR/made/a-$1.jsonl"
  { request "q-$1-1" 1000; request "q-$1-2" 2000; } | gzip -c >"$DIR/made/b-$1.jsonl.gz"
  mkdir "$DIR/made/c-$1"
  request "f-$1-1" 1000 >"$DIR/made/c-$1/p.000000.jsonl"
  request "f-$1-2" 1500 | gzip -c >"$DIR/made/c-$1/p.000001.jsonl.gz"
  { meta "run-$1-d"; echo '{"kind":"op"}'; terminal 5; } >"$DIR/made/d-$1.jsonl"
  { request "g-$1" 1000 | gzip -c; printf 'trailing %s' "$1"; } >"$DIR/made/e-$1.jsonl.gz"
  good=$((good + 3))
  bad=$((bad + 2))
}

round=0
while [ "$round" -lt "$ROUNDS" ]; do
  round=$((round + 1))
  make_drops "$round"
  daemon_start
  for f in "$DIR"/made/?-"$round"*; do
    mv -T "$f" "$SPOOL/.m.part" && mv -T "$SPOOL/.m.part" "$SPOOL/$(basename "$f")"
  done
  sleep "0.$(printf '%03d' "$(random 400)")"
  daemon_kill
done

# What no event was seen of is as if made in place: a gzip file with bytes behind its members does
# not prove its end, and is taken after idle_ms.
daemon_start -o spool.idle_ms=2000
all_taken() {
  [ -z "$(find "$SPOOL" -mindepth 1 -maxdepth 1 ! -name '.*')" ] &&
    [ -z "$(find "$SPOOL/.active" -mindepth 1 -maxdepth 1)" ]
}
wait_until all_taken
is "each good drop is one run" "$(runs)" "$good"
is "no receipt says duplicate" \
  "$(get '/ingest/receipts?state=duplicate&format=ndjson' | wc -l)" 0
is "each bad drop is one quarantined receipt" \
  "$(get '/ingest/receipts?state=quarantined&format=ndjson' | wc -l)" "$bad"
is "each bad drop is one quarantined file" \
  "$(find "$SPOOL/.quarantine" -mindepth 1 -maxdepth 1 ! -name '*.json' | wc -l)" "$bad"
is "each of them has its report" \
  "$(find "$SPOOL/.quarantine" -mindepth 1 -maxdepth 1 -name '*.json' | wc -l)" "$bad"
is "each good drop is archived" \
  "$(find "$SPOOL/.archive" -name '[abc]-*' | wc -l)" "$good"
is "each drop has its receipt file" \
  "$(find "$SPOOL/.receipts" -type f -name '*.json' | wc -l)" $((good + bad))
is "the store holds a file for each run and no other" \
  "$(find "$STORE/runs" -type f | wc -l)" "$good"
is "nothing is left of unfinished work" "$(find "$STORE/tmp" -type f | wc -l)" 0
daemon_stop
e2e_done
