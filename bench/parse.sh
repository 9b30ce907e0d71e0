#!/bin/sh
# parse.sh: benchmark T1: bench/parse on generated files
# shellcheck source=bench/lib.sh
. "${srcdir:=$(dirname "$0")/..}/bench/lib.sh"
bench_begin
E=$(execution_file "$BENCH_EVENTS")
R=$(request_file "$BENCH_REQUESTS")
FEW=$(execution_file 20000)
"$BIN/parse" "$E" "$R" "$FEW"
