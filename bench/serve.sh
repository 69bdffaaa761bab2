#!/usr/bin/env bash
# ferry serve against a FastAPI + river service for the same task, by wrk over loopback; latency at half load; durable labels
# against ferry stream. Needs wrk; the peer needs a Python with fastapi, uvicorn and river.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=bench/python
. bench/python fastapi uvicorn river
python3 -B bench/serve.py "$build/ferry" "${python:--}"
