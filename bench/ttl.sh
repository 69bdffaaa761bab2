#!/usr/bin/env bash
# One iteration of ttl mode=paper against the passes over the data that it must make and against scipy, one thread. With
# BENCH_LARGE=1 also 50 iterations on a million documents x 200,000 words, 100 million non-zeros (3 GB, minutes).
# FERRY_PYTHON names a python3 that has numpy and scipy; otherwise one is made under build/.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/python numpy scipy
# Both sides on the kernels that fit this CPU.
export OPENBLAS_CORETYPE=${OPENBLAS_CORETYPE:-$(grep -qw avx512f /proc/cpuinfo && echo SkylakeX || echo Haswell)}
peer=$build/ttl_peer.txt
rm -f "$peer"
if [ -n "$python" ]; then
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "$python" bench/ttl_peer.py >"$peer"
else
    echo "no python with numpy and scipy (set FERRY_PYTHON): not compared with scipy" >&2
fi
"$build/bench_ttl" "$peer" 1
if [ -n "${BENCH_LARGE:-}" ]; then "$build/bench_ttl" "$peer" "${BENCH_THREADS:-1}" 1000000 200000; fi
