#!/usr/bin/env bash
# mindtl: masked sweep against the memory bandwidth, assignment at three sizes, one sweep of mf; with one thread and with two.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BENCH_BUILD:-build/bench}
"$build/bench_mindtl" 1
echo
"$build/bench_mindtl" 2
