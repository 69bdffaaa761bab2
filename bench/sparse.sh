#!/usr/bin/env bash
# Sparse products against the memory bandwidth of this machine, the bare accesses, and scipy at one thread, in turns.
# FERRY_PYTHON names a python3 that has numpy and scipy; otherwise one is made under build/.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/python numpy scipy
[ -n "$python" ] || { echo "no python with numpy and scipy (set FERRY_PYTHON): sparse products are not measured" >&2; exit 0; }
OMP_NUM_THREADS=$(nproc) OPENBLAS_NUM_THREADS=1 "$python" bench/sparse_peer.py "$build/bench_sparse"
