#!/usr/bin/env bash
# CDSPP's exact solver against scipy.linalg.eigh of the dense problem and against its own operations at the rate of a matrix
# product; the stream of hetomtl mode=paper against a numpy loop, and its memory over a million rows. One thread each.
# The dense problem takes minutes and 1.2 GB: FERRY_BENCH_DS, _DT, _NS, _NT, _K set another size, FERRY_BENCH_ROWS fewer
# rows. FERRY_PYTHON names a python3 with numpy and scipy.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/python numpy scipy
[ -n "$python" ] || { echo "no numpy and scipy (set FERRY_PYTHON)" >&2; exit 0; }
ds=${FERRY_BENCH_DS:-4096} dt=${FERRY_BENCH_DT:-2048} ns=${FERRY_BENCH_NS:-1300} nt=${FERRY_BENCH_NT:-195} k=${FERRY_BENCH_K:-65}
rows=${FERRY_BENCH_ROWS:-1000000}
data=$build/hetomtl.bin
trap 'rm -f "$data"' EXIT
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
"$python" bench/hetomtl_peer.py data "$data" "$ds" "$dt" "$ns" "$nt" "$k"
core=$("$build/ferry" doctor --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["blas"].get("wanted", ""))' 2>/dev/null || true)
run() { env ${core:+OPENBLAS_CORETYPE=$core} "$build/bench_hetomtl" "$@"; }
ours=$(run cdspp "$data" "$ds" "$dt" "$ns" "$nt" "$k")
peer=$("$python" bench/hetomtl_peer.py eigh "$data" "$ds" "$dt" "$ns" "$nt" "$k")
"$python" - "$ours" "$peer" "$ds + $dt features, $ns + $nt rows, $k classes" <<'PY'
import sys
a, b = ([float(x) for x in s.split()] for s in sys.argv[1:3])
off = max(abs(x - y) / y for x, y in zip(a[3:], b[1:]))
print("CDSPP, %s, one thread" % sys.argv[3])
print("  ferry               %9.3f s   (%.1f of its own %.2f Gflop at the product's rate)" % (a[0], a[0] / a[2], a[1] / 1e9))
print("  scipy.linalg.eigh   %9.3f s" % b[0])
print("  ratio               %9.0f     (eigenvalues agree to %.1g)" % (b[0] / a[0], off))
PY
peer=$("$python" bench/hetomtl_peer.py stream 10 4096 4 20000)
short=$(run stream hetomtl-paper 10 4096 4 20000)
again=$("$python" bench/hetomtl_peer.py stream 10 4096 4 20000)
long=$(run stream hetomtl-paper 10 4096 4 "$rows")
mixed=$(run stream hetomtl 10 4096 4 2000)
"$python" - "$peer $again" "$short" "$long" "$mixed" "$rows" <<'PY'
import sys
peer, short, long, mixed = ([float(x) for x in s.split()] for s in sys.argv[1:5])
numpy = min(peer[0], peer[2])
print("Stream, 10 classes, 4096 features, 4 sources: see and learn a row, one thread")
print("  hetomtl-paper       %9.1f us" % short[0])
print("  numpy loop          %9.1f us" % numpy)
print("  ratio               %9.1f     (numpy against exact products with W_T and the codes alone, %.1f us: %.1f)" % (numpy / short[0], short[3], numpy / short[3]))
print("row stream.numpy %.2f >= 10 stream, k = 10, d = 4096: times as fast as numpy" % (numpy / short[0]))
print("  hetomtl             %9.1f us" % mixed[0])
print("  memory              %9.0f KiB after %s rows, %.0f after a tenth" % (long[2], sys.argv[5], long[1]))
PY
