#!/usr/bin/env bash
# gbc: an iteration at three sizes against its raw XGBoost tree and one pass over the edges; trees against scikit-learn's.
# BENCH_GBC="people features graphs edges" sets the largest size (default: the thesis's, 500000 196 90 1000000).
# FERRY_PYTHON names a python3 that has numpy and scikit-learn; otherwise one is made under build/.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BENCH_BUILD:-build/bench}
"$build/bench_gbc" ${BENCH_GBC:-}
python=${FERRY_PYTHON:-$build/venv/bin/python}
if [ ! -x "$python" ]; then
    python3 -m venv "$build/venv" && "$python" -m pip install -q numpy scikit-learn || python=
fi
if [ -n "$python" ]; then
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "$python" bench/gbc_peer.py
else
    echo "no python with scikit-learn (set FERRY_PYTHON): not compared with it" >&2
fi
