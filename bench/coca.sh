#!/usr/bin/env bash
# CoCA's eigenproblem (n = 50 000, D = 20 000 sparse features in six views, two graphs of 1M edges, d = 20) against
# scipy.sparse.linalg.eigsh on the same operator, and a product against the memory accesses it cannot do without. On a busy
# machine compare the CPU times.
# FERRY_PYTHON names a python3 that has numpy and scipy; otherwise one is made under build/.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/python numpy scipy
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
if [ -n "$python" ]; then
    "$build/bench_coca" write "$dir"
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "$python" bench/coca_peer.py "$dir" >"$dir/peer.txt"
else
    echo "no python with numpy and scipy (set FERRY_PYTHON): not compared with scipy" >&2
fi
"$build/bench_coca" run "$dir"
