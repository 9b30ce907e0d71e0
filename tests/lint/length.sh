#!/bin/sh
# length.sh: no source file is longer than 500 lines, and each begins with the line of its room
set -eu
cd "${srcdir:-.}"

bad=$(find src include tests bench sql ui tools -type f \( -name '*.[ch]' -o -name '*.sh' -o -name '*.sql' \
  -o -name '*.js' \) ! -name sql_data.c 2>/dev/null | LC_ALL=C sort | while IFS= read -r file; do
  lines=$(wc -l <"$file")
  [ "$lines" -le 500 ] || echo "$file: $lines lines, more than 500"
  name=${file##*/}
  case $file in
  *.c | *.h)
    # A few words at least, so that the line says what the file does.
    head -n 1 "$file" | grep -Eq "^/\* $name: .{10,}" || echo "$file: no room line '/* $name: ...'"
    ;;
  esac
done)

if [ -n "$bad" ]; then
  printf '%s\n' "$bad"
  echo "length.sh: too long, or without a room line"
  exit 1
fi
echo "length.sh: ok"
