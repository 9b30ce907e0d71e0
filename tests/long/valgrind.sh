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
: "${BATCH:=40}"
while IFS= read -r path; do
  [ -d "$path" ] || [ "$(wc -c <"$path")" -le "$MAX_BYTES" ] || continue
  printf '%s\n' "$path"
done >"$DIR/drops" <<END
$(cat "$DIR/files" "$DIR/folders")
END
files=$(wc -l <"$DIR/drops")

# Some at a time, since the start of valgrind costs more than a small file.
split -l "$BATCH" "$DIR/drops" "$DIR/batch."
bad=0
for batch in "$DIR"/batch.*; do
  # 0 accepted, 1 refused; valgrind itself ends with 99.
  status=0
  # shellcheck disable=SC2016 # expanded by the inner shell
  xargs -d '\n' -a "$batch" sh -c 'valgrind -q --error-exitcode=99 --leak-check=full \
    --errors-for-leak-kinds=definite,indirect --log-file="$0" "$@"
    s=$?; [ "$s" -le 1 ] || exit "$s"' "$DIR/valgrind" "$TRACESPOOL" check >"$DIR/out" 2>&1 || status=$?
  if [ "$status" != 0 ]; then
    bad=$((bad + 1))
    say "one of these, xargs $status:"
    cat "$batch"
    head -n 60 "$DIR/valgrind"
  fi
done
ok "there are files" test "$files" -gt 0
is "groups with an error, of $files files" "$bad" 0
e2e_done
