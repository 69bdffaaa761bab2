#!/usr/bin/env bash
# What ferryml costs beside C and scikit-learn, with Debian's Python or that of FERRY_PYTHON.
set -euo pipefail
cd "$(dirname "$0")/.."
FERRY_PYTHON=${FERRY_PYTHON:-/usr/bin/python3}
# shellcheck source=bench/python
. bench/python
FERRY_LIBRARY=$build/libferry.so exec "$python" -B python/bench.py
