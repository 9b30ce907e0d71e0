#!/bin/sh
# settings.sh: the table of settings, etc/tracespool.conf and tracespool.conf(5) name the same keys
# with the same defaults, and no page names a key that the table does not have
set -eu
cd "${srcdir:-.}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# {"spool.path", SET_PATH, AT(spool.path), "/var/spool/tracespool",
awk '/^\t\{"[a-z]/ {
  n = split($0, q, "\"")
  print q[2] "|" q[4]
}' src/conf/table.c | LC_ALL=C sort >"$tmp/table"
sed -n 's/^#\([a-z]*\.[a-z_]*\) = *\(.*\)$/\1|\2/p; s/^#\([a-z]*\.[a-z_]*\) =$/\1|/p' etc/tracespool.conf |
  LC_ALL=C sort -u >"$tmp/etc"
sed -n 's/^\.It Va \([a-z]*\.[a-z_]*\) Pq Li \(.*\)$/\1|\2/p; s/^\.It Va \([a-z]*\.[a-z_]*\) Pq empty$/\1|/p' \
  man/tracespool.conf.5 | LC_ALL=C sort >"$tmp/man"

[ -s "$tmp/table" ] || { echo "settings.sh: no table found in src/conf/table.c"; exit 1; }
rc=0
for other in etc man; do
  diff "$tmp/table" "$tmp/$other" || { echo "settings.sh: the table and $other/ differ"; rc=1; }
done

# Keys in the text of any page, example or unit.
cut -d '|' -f 1 "$tmp/table" >"$tmp/keys"
for file in man/* README HACKING systemd/* tools/*; do
  [ -f "$file" ] || continue
  grep -oE '\b(spool|store|ingest|http|limits)\.[a-z_]+' "$file" | grep -vE '^http\.(sock|address)$' |
    LC_ALL=C sort -u | while IFS= read -r key; do
    grep -qxF "$key" "$tmp/keys" || echo "$file: $key is no setting"
  done
done >"$tmp/unknown"
if [ -s "$tmp/unknown" ]; then
  cat "$tmp/unknown"
  rc=1
fi
[ $rc = 0 ] && echo "settings.sh: ok"
exit $rc
