#!/usr/bin/env bash
# M-MLTL's U step against scipy, its subspace against one dgemm, RankSVM against numpy and over n.
# FERRY_PYTHON names a python3 that has numpy and scipy; otherwise one is made under build/.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/python numpy scipy
# Both sides on the kernels that fit this CPU.
export OPENBLAS_CORETYPE=${OPENBLAS_CORETYPE:-$(grep -qw avx512f /proc/cpuinfo && echo SkylakeX || echo Haswell)}
peer=$build/mmltl_peer.txt
rm -f "$peer"
if [ -n "$python" ]; then
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "$python" bench/mmltl_peer.py >"$peer"
else
    echo "no python with numpy and scipy (set FERRY_PYTHON): not compared with them" >&2
fi
"$build/bench_mmltl" "$peer"
