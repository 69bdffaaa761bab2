#!/usr/bin/env bash
# Sparse products against the memory bandwidth of this machine and against scipy at one thread.
# FERRY_PYTHON names a python3 that has numpy and scipy; otherwise one is made under build/.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/python numpy scipy
peer=$build/scipy.txt
rm -f "$peer"
if [ -n "$python" ]; then
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "$python" bench/sparse_peer.py >"$peer"
else
    echo "no python with numpy and scipy (set FERRY_PYTHON): not compared with scipy" >&2
fi
"$build/bench_sparse" "$peer"
