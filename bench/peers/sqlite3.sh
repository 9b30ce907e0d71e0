#!/bin/sh
# sqlite3.sh: the sqlite3 program: lines into a table, json_extract a kind: sqlite3.sh FILE DATABASE
set -eu
{
  echo 'pragma journal_mode = wal; pragma synchronous = normal; begin; create table raw(line);'
  printf '.mode ascii\n.separator "\\001" "\\n"\n.import "%s" raw\n' "$1"
  jq -r 'to_entries[] | .key as $k | "create table \($k) as select " +
    ([.value[] | "json_extract(line, \u0027$.\(.)\u0027) as \"\(.)\""] | join(", ")) +
    " from raw where json_extract(line, \u0027$.kind\u0027) = \u0027\($k)\u0027;"' \
    "$(dirname "$0")/fields.json"
  echo 'drop table raw; commit;'
} >"$2.sql"
begin=$(date +%s.%N)
sqlite3 "$2" <"$2.sql" >/dev/null
awk -v a="$begin" -v b="$(date +%s.%N)" 'BEGIN { printf "%.6f\n", b - a }'
