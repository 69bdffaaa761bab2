#!/usr/bin/env bash
# ferry stream through its pipes: what --sync batch and always cost against off (K = 10, 4096 features, as NDJSON and as
# numbers per line), and memory and folder after a million lines. Needs python3 alone.
set -euo pipefail
cd "$(dirname "$0")/.."
python3 bench/stream_sync.py "${BENCH_BUILD:-build/bench}/ferry" "$@"
