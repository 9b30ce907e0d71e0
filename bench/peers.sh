#!/bin/sh
# peers.sh: fetches the peers that can be had into a folder that is not the tree: peers.sh FOLDER
#
# npm: @duckdb/node-api, better-sqlite3. nginx, where it is not installed: Debian's package, unpacked.
# What cannot be had is named and left out of the tables.
set -u
mkdir -p "$1"
cd "$1" || exit 1
have() { command -v "$1" >/dev/null 2>&1; }
for package in @duckdb/node-api better-sqlite3; do
  [ -d "node_modules/$package" ] && continue
  if ! have node || ! have npm || ! npm install --prefix . --no-audit --no-fund "$package" >"npm.log" 2>&1; then
    echo "peers: $package cannot be had"
  elif ! node -e "require('$package')" 2>>npm.log; then
    # Its native part was not built: npm asks for leave first.
    npm rebuild "$package" >>npm.log 2>&1
    node -e "require('$package')" 2>>npm.log || echo "peers: $package does not load"
  fi
done
if ! have nginx && [ ! -x nginx/usr/sbin/nginx ]; then
  if ! have apt-get || ! apt-get download nginx >nginx.log 2>&1 || ! dpkg-deb -x nginx_*.deb nginx; then
    echo "peers: nginx cannot be had"
  fi
fi
for p in python3 sqlite3 valgrind; do have "$p" || echo "peers: no $p here"; done
exit 0
