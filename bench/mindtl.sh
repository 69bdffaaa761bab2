#!/usr/bin/env bash
# mindtl: masked sweep against the memory bandwidth, assignment at three sizes, one sweep of mf; one thread. Beside it
# a numpy sweep of the same alternating least squares on a tenth of the ratings.
# FERRY_PYTHON names a python3 that has numpy and scipy; otherwise one is made under build/.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BENCH_BUILD:-build/bench}
"$build/bench_mindtl"
python=${FERRY_PYTHON:-$build/venv/bin/python}
if [ ! -x "$python" ]; then
    python3 -m venv "$build/venv" && "$python" -m pip install -q numpy scipy || python=
fi
if [ -n "$python" ]; then
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "$python" bench/mindtl_peer.py
else
    echo "no python with numpy and scipy (set FERRY_PYTHON): not compared with numpy" >&2
fi
