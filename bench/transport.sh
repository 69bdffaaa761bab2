#!/usr/bin/env bash
# coot and fgw against POT (`pip install POT`), in one run with equal threads: the same problems at 2000 x 2000 rows, each transport solved
# exactly by both. Objectives of coot agree; fgw's problem has many local minima, and nearly equal costs lead to others. FERRY_BENCH_N, _M, _D, _E and _THREADS set other sizes, FERRY_PYTHON names a python3 with POT.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/python POT numpy
[ -n "$python" ] || { echo "no POT (set FERRY_PYTHON)" >&2; exit 0; }
n=${FERRY_BENCH_N:-2000} m=${FERRY_BENCH_M:-2000} d=${FERRY_BENCH_D:-100} e=${FERRY_BENCH_E:-80}
threads=${FERRY_BENCH_THREADS:-$(nproc)}
data=$build/transport.bin
trap 'rm -f "$data"' EXIT
"$python" bench/transport_peer.py data "$data" "$n" "$m" "$d" "$e"
core=$("$build/ferry" doctor --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["blas"].get("wanted", ""))' 2>/dev/null || true)
for what in coot fgw; do
    ours=$(env ${core:+OPENBLAS_CORETYPE=$core} "$build/bench_transport" $what "$data" "$n" "$m" "$d" "$e" "$threads")
    peer=$(OMP_NUM_THREADS=$threads OPENBLAS_NUM_THREADS=$threads "$python" bench/transport_peer.py $what "$data" "$n" "$m" "$d" "$e")
    python3 - "$what" "$ours" "$peer" "$n x $m rows, $d and $e features, $threads threads" <<'PY'
import sys
a, b = ([float(x) for x in s.split()] for s in sys.argv[2:4])
print("%s, %s" % (sys.argv[1], sys.argv[4]))
print("  ferry  %8.2f s   objective %.9g" % (a[0], a[1]))
print("  POT    %8.2f s   objective %.9g" % (b[0], b[1]))
print("  ratio  %8.2f     (POT / ferry; objectives agree to %.1g)" % (b[0] / a[0], abs(a[1] - b[1]) / abs(b[1])))
PY
done
