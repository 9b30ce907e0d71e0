#!/bin/sh
# includes.sh: the walls between the rooms: which room may include which header, and which library
set -eu
cd "${srcdir:-.}"

# shellcheck disable=SC2016 # the dollars are awk's
bad=$(find src include -name '*.[ch]' | LC_ALL=C sort | xargs awk '
function room_of(header) { return header in room ? room[header] : "" }
BEGIN {
  n = split("util error codes buf text map log digest sd sync varint", h); for (i = 1; i <= n; i++) room[h[i]] = "base"
  n = split("json fields writer", h); for (i = 1; i <= n; i++) room[h[i]] = "json"
  n = split("store list capture", h); for (i = 1; i <= n; i++) room[h[i]] = "store"
  n = split("conf input spool format rows analyze replay export ingest http", h)
  for (i = 1; i <= n; i++) room[h[i]] = h[i]
  room["memory"] = "analyze"

  may["base"] = "base"
  may["json"] = "json base"
  may["conf"] = "conf base"
  may["input"] = "input base"
  may["spool"] = "spool base"
  may["rows"] = "rows json base"                  # structs only, between format and store
  may["format"] = "format rows input json base"
  may["store"] = "store rows json base"
  may["analyze"] = "analyze replay store rows json base" # replay: the verdict on the lowering
  may["replay"] = "replay store rows json base"
  may["export"] = "export store rows json base"
  may["ingest"] = "ingest spool input format analyze store rows json conf base"
  may["http"] = "http ingest replay export input analyze spool store rows json conf base"

  library["sqlite3.h"] = "^src/store/"
  library["microhttpd.h"] = "^src/http/"
  library["zlib.h"] = "^src/(input/|http/reply[.]c)"
  library["openssl"] = "^src/base/digest[.]c"
  library["jansson.h"] = "^src/(ingest/|spool/|tool)"
}
FNR == 1 {
  at = ""
  if (FILENAME ~ /^src\/[a-z]+\//) { split(FILENAME, part, "/"); at = part[2] }
  if (FILENAME ~ /^include\//) { at = FILENAME; sub(/.*\//, "", at); sub(/[.]h$/, "", at); at = room_of(at) }
  if (at == "" && FILENAME !~ /^src\/(daemon|tool)[a-z_]*[.][ch]$/) print FILENAME ": in no room"
}
/^#[ \t]*include[ \t]*"tracespool\// {
  name = $0; sub(/.*"tracespool\//, "", name); sub(/[.]h".*/, "", name)
  if (room_of(name) == "") print FILENAME ":" FNR ": header of no room: " name
  else if (at != "" && index(" " may[at] " ", " " room_of(name) " ") == 0)
    print FILENAME ":" FNR ": " at " may not include " name ".h"
  next
}
/^#[ \t]*include[ \t]*"/ {
  name = $0; sub(/^[^"]*"/, "", name); sub(/".*/, "", name)
  if (FILENAME ~ /^include\// && name != "tracespool/" name)
    print FILENAME ":" FNR ": a public header includes a private one: " name
  if (name ~ /\//) print FILENAME ":" FNR ": a private header of another folder: " name
}
/^#[ \t]*include[ \t]*</ {
  name = $0; sub(/^[^<]*</, "", name); sub(/>.*/, "", name); sub(/^openssl\/.*/, "openssl", name)
  if (name in library && FILENAME !~ library[name]) print FILENAME ":" FNR ": " name " is not for this file"
}')

if [ -n "$bad" ]; then
  printf '%s\n' "$bad"
  echo "includes.sh: walls are broken"
  exit 1
fi
echo "includes.sh: ok"
