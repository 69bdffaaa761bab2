#!/usr/bin/env bash
# gbc: an iteration at three sizes against its raw XGBoost tree and one pass over the edges; trees against scikit-learn's.
# BENCH_GBC="people features graphs edges" sets the largest size (default: the thesis's, 500000 196 90 1000000).
# FERRY_PYTHON names a python3 that has numpy and scikit-learn; otherwise one is made under build/.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/python numpy scikit-learn
"$build/bench_gbc" ${BENCH_GBC:-}
if [ -n "$python" ]; then
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "$python" bench/gbc_peer.py
else
    echo "no python with scikit-learn (set FERRY_PYTHON): not compared with it" >&2
fi
