#!/usr/bin/env bash
# HeMap's eigenproblem against forming A and scipy.linalg.eigh of its top vectors, in one run with equal threads.
# Both get the same data and must agree in the eigenvalues. The peer takes minutes and 3 GB at the full size:
# FERRY_BENCH_N, _M, _D, _K and _THREADS set others. FERRY_PYTHON names a python3 with numpy and scipy.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/python numpy scipy
[ -n "$python" ] || { echo "no numpy and scipy (set FERRY_PYTHON)" >&2; exit 0; }
n=${FERRY_BENCH_N:-5000} m=${FERRY_BENCH_M:-1000} d=${FERRY_BENCH_D:-2000} k=${FERRY_BENCH_K:-10}
threads=${FERRY_BENCH_THREADS:-$(nproc)}
data=$build/hemap.bin
trap 'rm -f "$data"' EXIT
"$python" bench/hemap_peer.py data "$data" "$n" "$m" "$d"
core=$("$build/ferry" doctor --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["blas"].get("wanted", ""))' 2>/dev/null || true)
ours=$(env ${core:+OPENBLAS_CORETYPE=$core} "$build/bench_hemap" "$data" "$n" "$m" "$d" "$k" "$threads")
peer=$(OMP_NUM_THREADS=$threads OPENBLAS_NUM_THREADS=$threads "$python" bench/hemap_peer.py solve "$data" "$n" "$m" "$d" "$k")
"$python" - "$ours" "$peer" "$n $m $d $k $threads" <<'PY'
import sys
a, b = ([float(x) for x in s.split()] for s in sys.argv[1:3])
n, m, d, k, threads = sys.argv[3].split()
off = max(abs(x - y) / y for x, y in zip(a[1:], b[1:]))
print("HeMap, N = %s, m = %s, n = %s, k = %s, %s threads" % (n, m, d, k, threads))
print("  ferry           %8.2f s" % a[0])
print("  A + scipy eigh  %8.2f s" % b[0])
print("  ratio           %8.1f   (eigenvalues agree to %.1g)" % (b[0] / a[0], off))
PY
