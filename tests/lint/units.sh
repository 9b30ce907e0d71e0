#!/bin/sh
# units.sh: systemd reads the units, sysusers.d and tmpfiles.d files, and rates the service's exposure
# (0 best, 10 worst) at 1.5 or below
set -eu
cd "${srcdir:-.}"
for tool in systemd-analyze systemd-sysusers systemd-tmpfiles; do
  if ! command -v "$tool" >/dev/null 2>&1; then
    echo "units.sh: skip, there is no $tool"
    exit 77
  fi
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# verify wants a program that is there.
sed 's|@sbindir@/tracespoold|/bin/true|' systemd/tracespool.service.in >"$tmp/tracespool.service"
cp systemd/tracespool.socket "$tmp/"
if grep -n '@' "$tmp/tracespool.service" | grep -v '@system-service\|~@privileged'; then
  echo "units.sh: a name is not filled in"
  exit 1
fi

said=$(systemd-analyze verify --man=no "$tmp/tracespool.service" "$tmp/tracespool.socket" 2>&1) || {
  printf '%s\nunits.sh: systemd-analyze verify\n' "$said"
  exit 1
}
# Of other units of this machine it may complain.
if printf '%s\n' "$said" | grep -F "tracespool."; then
  echo "units.sh: systemd-analyze verify complains"
  exit 1
fi
said=$(systemd-analyze security --offline=true --threshold=15 "$tmp/tracespool.service" 2>&1) || {
  printf '%s\nunits.sh: exposure is above 1.5\n' "$said"
  exit 1
}
printf '%s\n' "$said" | sed -n 's/.*Overall exposure level for [^:]*: \([0-9.]*\).*/units.sh: exposure \1/p'

said=$(systemd-sysusers --dry-run "$PWD/systemd/tracespool.sysusers" 2>&1) || {
  printf '%s\nunits.sh: systemd-sysusers\n' "$said"
  exit 1
}
mkdir -p "$tmp/root/etc" "$tmp/root/var/spool"
echo 'tracespool:x:989:989::/:/bin/false' >"$tmp/root/etc/passwd"
echo 'tracespool:x:989:' >"$tmp/root/etc/group"
if [ "$(id -u)" = 0 ]; then
  said=$(systemd-tmpfiles --create --root="$tmp/root" "$PWD/systemd/tracespool.tmpfiles" 2>&1) || {
    printf '%s\nunits.sh: systemd-tmpfiles\n' "$said"
    exit 1
  }
  modes=$(stat -c '%a %u %g' "$tmp/root/var/spool/tracespool" "$tmp/root/var/spool/tracespool/.receipts")
  if [ "$modes" != "$(printf '3730 989 989\n2750 989 989')" ]; then
    printf '%s\nunits.sh: the folders have other modes or owners\n' "$modes"
    exit 1
  fi
fi
echo "units.sh: ok"
