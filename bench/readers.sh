#!/usr/bin/env bash
# Reading a 200 MB svmlight file and a 200 MB numeric CSV: ours against scikit-learn and pandas, in the same run on the
# same files. FERRY_PYTHON names a Python that has both; else a venv is made under build/. MEGABYTES changes the size.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${BENCH_BUILD:?run bench/run readers}"
program=$BENCH_BUILD/bench_readers
size=${MEGABYTES:-200}
python=${FERRY_PYTHON:-$BENCH_BUILD/venv/bin/python}
if ! "$python" -c 'import sklearn, pandas' 2>/dev/null; then
    python3 -m venv "$BENCH_BUILD/venv" && "$BENCH_BUILD/venv/bin/pip" install -q scikit-learn pandas
    python=$BENCH_BUILD/venv/bin/python
fi
svm=$BENCH_BUILD/readers.svm csv=$BENCH_BUILD/readers.csv
trap 'rm -f "$svm" "$csv"' EXIT
"$program" gen-svm "$svm" "$size"
"$program" gen-csv "$csv" "$size"
threads=$(nproc)
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f", a / b }'; }

echo "Reading $size MB, best of three, seconds ($threads cores, load $(cut -d' ' -f1 /proc/loadavg))"
printf '%-10s %-14s %8s %10s %12s %9s %12s\n' file peer peer "ferry x1" "ferry x$threads" "ratio x1" "ratio x$threads"
for kind in svm csv; do
    [ $kind = svm ] && { file=$svm; peer=scikit-learn; } || { file=$csv; peer=pandas; }
    one=$("$program" read "$file" 1 3)
    theirs=$("$python" bench/readers_peer.py $kind "$file")
    all=$("$program" read "$file" "$threads" 3)
    printf '%-10s %-14s %8s %10s %12s %9s %12s\n' "$kind" "$peer" "$theirs" "$one" "$all" \
        "$(ratio "$theirs" "$one")" "$(ratio "$theirs" "$all")"
done
