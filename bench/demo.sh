#!/usr/bin/env bash
# `ferry run` of the demo's task on two cores, by the wall: its own cells side by side against one after the other, and more
# threads than cores against as many. In turns, least of two; says nothing about a machine that is busy with other things.
set -euo pipefail
cd "$(dirname "$0")/.."
ferry=${BENCH_BUILD:-build/bench}/ferry
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$ferry" gen bridge -o "$dir" -q
seconds() { # of a run with these options
    local before=${EPOCHREALTIME/./}
    taskset -c 0,1 "$ferry" run "$dir/task.yaml" --out "$dir/out" --force -q "$@" >/dev/null
    echo $((${EPOCHREALTIME/./} - before))
}
one=1000000000 two=1000000000 many=1000000000
least() { [ "$1" -lt "$2" ] && echo "$1" || echo "$2"; }
for _ in 1 2; do
    one=$(least "$(seconds --threads 1 --jobs 1)" $one)
    two=$(least "$(seconds --threads 2)" $two)
    many=$(least "$(seconds --threads 16)" $many)
done
awk -v a=$one -v b=$two -v c=$many 'BEGIN {
    printf "The demo on two cores: %.1f s with --threads 1 --jobs 1, %.1f with --threads 2, %.1f with --threads 16\n", a / 1e6, b / 1e6, c / 1e6
    printf "row demo.two %.2f <= 0.6 demo on 2 cores: of the time with --threads 1 --jobs 1\n", b / a
    printf "row demo.many %.2f <= 1.15 demo on 2 cores: --threads 16 of the time of --threads 2\n", c / b }'
