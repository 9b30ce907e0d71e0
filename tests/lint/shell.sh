#!/bin/sh
# shell.sh: shellcheck over all scripts
set -eu
cd "${srcdir:-.}"
if ! command -v shellcheck >/dev/null 2>&1; then
  echo "shell.sh: skip, there is no shellcheck"
  exit 77
fi

scripts=$(mktemp)
trap 'rm -f "$scripts"' EXIT
find tools tests bench .ci -type f 2>/dev/null | LC_ALL=C sort | while IFS= read -r file; do
  case $file in
  *.sh) printf '%s\n' "$file" ;;
  *) head -n 1 "$file" | LC_ALL=C grep -aqE '^#!.*\b(sh|bash|dash)\b' && printf '%s\n' "$file" ;;
  esac
  true
done >"$scripts"
if ! xargs shellcheck -x <"$scripts"; then
  echo "shell.sh: not clean"
  exit 1
fi
echo "shell.sh: ok"
