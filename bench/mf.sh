#!/usr/bin/env bash
# mf beside cmfrec, LIBMF and a numpy ALS, one thread: MovieLens-100k (where FERRY_DATA has it) and 10 million made-up ratings.
# FERRY_PYTHON names a python3 that has numpy and scipy, and cmfrec and libmf if these are to be measured; otherwise one is
# made under build/.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BENCH_BUILD:-build/bench}
python=${FERRY_PYTHON:-$build/venv/bin/python}
if [ ! -x "$python" ]; then
    if python3 -m venv "$build/venv" && "$python" -m pip install -q numpy scipy; then
        for peer in cmfrec libmf; do
            "$python" -m pip install -q "$peer" >"$build/pip-$peer.log" 2>&1 || echo "$peer cannot be installed here" >&2
        done
    else
        python=
    fi
fi
if [ -z "$python" ]; then
    echo "no python with numpy and scipy (set FERRY_PYTHON): mf is not compared" >&2
    exit 0
fi
"$python" bench/mf_peer.py "$build/bench_mf" --ratings "${BENCH_RATINGS:-10000000}" \
    --ml "$(python3 repro/where.py movielens || true)/movielens/ml-100k/u.data"
