#!/bin/sh
# valgrind.sh: every trace of the corpus through `tracespool check` under valgrind: no error, no leak
# shellcheck source=tests/e2e/lib.sh
. "${srcdir:=$(dirname "$0")/../..}/tests/e2e/lib.sh"
: "${TRACESPOOL_CORPUS:=$srcdir/../shared/corpus}"
command -v valgrind >/dev/null || skip "needs valgrind"
[ -d "$TRACESPOOL_CORPUS/candle" ] || skip "the corpus is not there"
e2e_begin
if nm -D "$TRACESPOOL" 2>/dev/null | grep -q __asan_init; then
  skip "built with sanitizers, which valgrind cannot run"
fi

# Files by their endings; a folder that holds shards is one drop as well.
find "$TRACESPOOL_CORPUS/candle" "$TRACESPOOL_CORPUS/dynamo" "$TRACESPOOL_CORPUS/real" -type f \
  \( -name '*.jsonl' -o -name '*.jsonl.gz' \) | LC_ALL=C sort >"$DIR/files"
find "$TRACESPOOL_CORPUS/dynamo" -mindepth 2 -type d | LC_ALL=C sort >"$DIR/folders"
: "${MAX_BYTES:=4194304}" # a larger file shows nothing that a smaller one does not
files=0
bad=0
while IFS= read -r path; do
  [ -d "$path" ] || [ "$(wc -c <"$path")" -le "$MAX_BYTES" ] || continue
  files=$((files + 1))
  # 0 accepted, 1 refused; valgrind itself ends with 99.
  status=0
  valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect \
    --log-file="$DIR/valgrind" "$TRACESPOOL" check "$path" >"$DIR/out" 2>&1 || status=$?
  if [ "$status" -gt 1 ]; then
    bad=$((bad + 1))
    say "$path: exit $status"
    head -n 40 "$DIR/valgrind"
  fi
done <<END
$(cat "$DIR/files" "$DIR/folders")
END
ok "there are files" test "$files" -gt 0
is "files with an error, of $files" "$bad" 0
e2e_done
