#!/bin/sh
# ascii.sh: sources are plain ASCII, end with a newline and have no white space at the ends of lines
set -eu
cd "${srcdir:-.}"
LC_ALL=C
export LC_ALL

list=$(find src include sql systemd etc man tools tests/unit tests/lint tests/e2e tests/fault tests/long tests/fuzz \
  bench -type f ! -name '*.jsonl' ! -name '*.gz' ! -name '*.[oa]' ! -path '*/fuzz/corpus/*' 2>/dev/null | sort)
# Names of files have no blanks here; /dev/null makes grep name the file when there is one only.
bad=$(
  printf '%s\n' "$list" | xargs grep -nE "$(printf '[^\t -~]')" /dev/null | sed 's|^\([^:]*:[0-9]*\):.*|\1: not ASCII|'
  printf '%s\n' "$list" | xargs grep -nE "$(printf '[ \t]$')" /dev/null |
    sed 's|^\([^:]*:[0-9]*\):.*|\1: white space at the end|'
  # The last bytes of all files, of which only newlines are well.
  if [ -n "$(printf '%s\n' "$list" | xargs tail -qc 1 | tr -d '\n')" ]; then
    for file in $list; do
      [ -z "$(tail -c 1 "$file")" ] || echo "$file: no newline at the end"
    done
  fi
)

if [ -n "$bad" ]; then
  printf '%s\n' "$bad"
  echo "ascii.sh: not clean"
  exit 1
fi
echo "ascii.sh: ok"
