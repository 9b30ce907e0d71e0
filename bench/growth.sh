#!/bin/sh
# growth.sh: time and memory against size: growth.csv and growth.svg in BENCH_DIR
#
# Events a run, runs in the store, files waiting, workers, and shapes that hurt. BENCH_GROWTH=full:
# up to 10^7 events and 100,000 runs, which takes an hour; else up to BENCH_EVENTS and 1,000 runs.
# shellcheck source=bench/lib.sh
. "${srcdir:=$(dirname "$0")/..}/bench/lib.sh"
bench_begin
CSV=$BENCH_DIR/growth.csv
say "what,size,seconds,rss_kib" >"$CSV"

if [ "${BENCH_GROWTH:-}" = full ]; then
  EVENTS="10000 100000 1000000 10000000" RUNS="1 100 10000 100000" FILES="1 4 16 64" SHRINK=1
else
  EVENTS="1000 10000 $BENCH_EVENTS" RUNS="1 100 1000" FILES="1 4 16" SHRINK=20
fi

# point WHAT SIZE SECONDS RSS
point() {
  say "$1,$2,$3,$4" >>"$CSV"
  each=
  case $1 in runs:*) ;; *) each="$(fixed 2 "$3 * 1e6 / $2") us each" ;; esac
  printf '%-30s %12s %12s ms %10s KiB %s\n' "$1" "$2" "$(fixed 3 "$3 * 1000")" "$4" "$each"
}

# took FILE...: seconds of the drop of copies of the files.
took() {
  for f in "$@"; do
    cp "$f" "$WORK/in.part"
    mv "$WORK/in.part" "$WORK/$(basename "$f")"
  done
  # shellcheck disable=SC2046 # names without blanks
  "$BIN/client" drop "$ADDRESS" "$SPOOL" $(for f in "$@"; do echo "$WORK/$(basename "$f")"; done)
}

say "growth: events a run, 1 worker"
for n in $EVENTS; do
  f=$(execution_file "$n")
  daemon_fresh -o ingest.workers=1
  t=$(took "$f")
  point events "$n" "$t" "$(rss_peak "$PID")"
done

say "growth: files waiting, 1 and 2 workers"
for workers in 1 2; do
  for n in $FILES; do
    daemon_fresh -o ingest.workers=$workers
    set --
    i=0
    while [ $i -lt "$n" ]; do
      i=$((i + 1))
      "$BIN/gen_candle" -n 5000 -r "w$i" >"$BENCH_DIR/w$i.jsonl"
      set -- "$@" "$BENCH_DIR/w$i.jsonl"
    done
    t=$(took "$@")
    rm -f "$@"
    point "files-$workers-workers" "$n" "$t" "$(rss_peak "$PID")"
  done
done

say "growth: shapes that hurt"
for shape in nested:100000 ring:1000 live:1000000 children:1000000 line:67108800 members:100000; do
  n=$((${shape#*:} / SHRINK))
  shape=${shape%:*}
  for size in $((n / 10)) $n; do
    end=.jsonl
    [ "$shape" != members ] || end=.jsonl.gz
    f=$(made "nasty-$shape-$size$end" "$BIN/gen_nasty" "$shape" "$size")
    daemon_fresh -o ingest.workers=1
    t=$(took "$f")
    point "$shape" "$size" "$t" "$(rss_peak "$PID")"
    [ "$(curl -s "http://$ADDRESS/ingest" | jq .quarantine_count)" = 0 ] || say "$shape: refused"
  done
done

# The store keeps growing; each time a small file more, its summary and the first page of runs.
say "growth: runs in the store"
daemon_fresh
have_runs=0
T=$(small_file)
for n in $RUNS; do
  # shellcheck disable=SC2016 # awk's
  awk -v from=$((have_runs + 1)) -v n="$n" -v to="$SPOOL" '{ line[NR] = $0 } END {
    for (i = from; i <= n; i++) {
      file = to "/.g" i ".part"; first = line[1]; sub(/THE-RUN-ID/, "grown-" i, first)
      print first >file
      for (k = 2; k <= NR; k++) print line[k] >file
      close(file)
    } }' "$T"
  find "$SPOOL" -maxdepth 1 -name '.g*.part' | while IFS= read -r f; do
    name=${f##*/.}
    echo "$f $SPOOL/${name%.part}.jsonl"
  done | xargs -r -n 2 mv
  "$BIN/client" count "$SPOOL/.receipts" "$n" >/dev/null
  have_runs=$n
  for what in "/runs/grown-1/summary" "/runs"; do
    out=$("$BIN/client" load "$ADDRESS" "$what" 1 1)
    # shellcheck disable=SC2086 # five numbers
    set -- $out
    point "runs:$what" "$n" "$(calc "$2 / 1e6")" "$(rss_peak "$PID")"
  done
  # shellcheck disable=SC2046
  set -- $("$BIN/client" lag "$ADDRESS" "$SPOOL" "$T" 5)
  have_runs=$((have_runs + 5))
  point "runs:lag" "$n" "$1" "$(rss_peak "$PID")"
done

# Both axes logarithmic; a line for each `what`.
awk -F, 'NR > 1 && $3 > 0 { n++; what[n] = $1; x[n] = log($2 + 1) / log(10); y[n] = log($3) / log(10)
  if (!($1 in seen)) { seen[$1] = ++kinds; name[kinds] = $1 } }
END {
  split("#1b6ca8 #c0392b #27ae60 #8e44ad #d68910 #16a085 #7f8c8d #2c3e50 #e84393 #6d4c41 #00897b #5e35b1", color, " ")
  print "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"560\" font-family=\"sans-serif\" font-size=\"12\">"
  print "<text x=\"60\" y=\"20\">seconds against size (both logarithmic)</text>"
  for (d = -5; d <= 3; d++) {
    at = 520 - (d + 5) * 60
    printf "<line x1=\"60\" x2=\"660\" y1=\"%d\" y2=\"%d\" stroke=\"#ddd\"/><text x=\"20\" y=\"%d\">1e%d</text>\n", at, at, at + 4, d
  }
  for (d = 0; d <= 8; d++) printf "<text x=\"%d\" y=\"545\">1e%d</text>\n", 52 + d * 75, d
  for (k = 1; k <= kinds; k++) {
    c = color[(k - 1) % 12 + 1]; points = ""
    for (i = 1; i <= n; i++) if (what[i] == name[k]) {
      px = 60 + x[i] * 75; py = 520 - (y[i] + 5) * 60
      points = points sprintf("%.1f,%.1f ", px, py)
      printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", px, py, c
    }
    printf "<polyline fill=\"none\" stroke=\"%s\" points=\"%s\"/><text x=\"680\" y=\"%d\" fill=\"%s\">%s</text>\n", c, points, 30 + k * 18, c, name[k]
  }
  print "</svg>"
}' "$CSV" >"$BENCH_DIR/growth.svg"
say "$CSV and ${CSV%.csv}.svg"
