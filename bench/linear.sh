#!/usr/bin/env bash
# Linear models (svm, logreg, svr) beside liblinear: processor time at the same tolerance, in one run. Asked: not slower.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${BENCH_BUILD:-build/bench}
[ -x "$build/bench_linear" ] || { echo "no liblinear to compare with (liblinear-dev)" >&2; exit 0; }
"$build/bench_linear" | awk '
    BEGIN { print "linear models, processor time; ratio: ours / liblinear, asked <= 1; above: value over the best known"
            printf "  %-6s %-6s %-18s %10s %10s %7s %10s %10s\n", "kind", "cost", "rows x columns", "ours ms", "liblin. ms", "ratio", "above", "liblin." }
    { printf "  %-6s %-6s %-18s %10.2f %10.2f %7.2f %10s %10s\n", $1, $2, $3, $4, $5, $4 / $5, $6, $7; sum += log($4 / $5) }
    END { printf "  geometric mean of the ratios %.2f\n", exp(sum / NR) }'
