#!/bin/sh
# length.sh: no source file is longer than 500 lines, and each begins with the line of its room
set -eu
cd "${srcdir:-.}"

# shellcheck disable=SC2016 # a program of awk
bad=$(find src include tests bench sql ui tools ! -path 'bench/installed/*' -type f \( -name '*.[ch]' -o -name '*.sh' -o -name '*.sql' \
  -o -name '*.js' \) ! -name sql_data.c 2>/dev/null | LC_ALL=C sort | xargs awk '
  function finish() { if (file != "" && count > 500) print file ": " count " lines, more than 500" }
  FNR == 1 {
    finish()
    file = FILENAME
    name = file
    sub(/.*\//, "", name)
    # A few words at least, so that the line says what the file does.
    begin = "/* " name ": "
    if (file ~ /\.[ch]$/ && (substr($0, 1, length(begin)) != begin || length($0) < length(begin) + 10))
      print file ": no room line \"/* " name ": ...\""
  }
  { count = FNR }
  END { finish() }')

if [ -n "$bad" ]; then
  printf '%s\n' "$bad"
  echo "length.sh: too long, or without a room line"
  exit 1
fi
echo "length.sh: ok"
