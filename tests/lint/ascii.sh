#!/bin/sh
# ascii.sh: sources are plain ASCII, end with a newline and have no white space at the ends of lines
set -eu
cd "${srcdir:-.}"
LC_ALL=C
export LC_ALL

list=$(find src include sql systemd etc man tools tests/unit tests/lint tests/e2e tests/fault tests/long tests/fuzz \
  bench -type f ! -name '*.jsonl' ! -name '*.gz' ! -name '*.[oa]' ! -path '*/fuzz/corpus/*' 2>/dev/null | sort)
bad=$(printf '%s\n' "$list" | while IFS= read -r file; do
  [ -s "$file" ] || continue
  grep -nE "$(printf '[^\t -~]')" "$file" | sed "s|^|$file:|; s|:.*|: not ASCII|" | head -n 1
  grep -nE "$(printf '[ \t]$')" "$file" | sed "s|^\([0-9]*\):.*|$file:\1: white space at the end|" | head -n 1
  [ -z "$(tail -c 1 "$file")" ] || echo "$file: no newline at the end"
done)

if [ -n "$bad" ]; then
  printf '%s\n' "$bad"
  echo "ascii.sh: not clean"
  exit 1
fi
echo "ascii.sh: ok"
