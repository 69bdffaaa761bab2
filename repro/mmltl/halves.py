#!/usr/bin/env python3
"""mmltl and what it is compared with on Mulan's emotions, yeast and Corel5k, cut into two random halves without any shift.

  repro/mmltl/halves.py [--data DIR] [--ferry PROGRAM] [--out DIR] [SET ...]

M-MLTL's own tables and figures are studies (`ferry reproduce mmltl-table2` ...); this is a check that no paper has: how the methods do
where the domains do not differ, and with Corel5k's 374 labels. Prints the ranking loss of both directions. Standard library only.
"""
import argparse, gzip, json, os, random, subprocess, sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import where

METHODS = "[mmltl, mmltl: {mmd: off}, ranksvm, lift, label-prior]"


def halves(data, name, out):
    """Two ARFF files with Mulan's XML beside them."""
    path = os.path.join(data, "multilabel", name + ".arff")
    with open(path) if os.path.exists(path) else gzip.open(path + ".gz", "rt") as f:
        lines = f.read().splitlines()
    at = next(i for i, line in enumerate(lines) if line.strip().lower() == "@data") + 1
    rows = [line for line in lines[at:] if line.strip() and line[0] != "%"]
    random.Random(name + " 0").shuffle(rows)
    with open(os.path.join(data, "multilabel", name + ".xml")) as f:
        xml = f.read()
    for side, part in (("a", rows[:len(rows) // 2]), ("b", rows[len(rows) // 2:])):
        with open(f"{out}/{name}-{side}.arff", "w") as f:
            f.write("\n".join(lines[:at] + part) + "\n")
        with open(f"{out}/{name}-{side}.xml", "w") as f:
            f.write(xml)


def run(ferry, name, source, target, out):
    task = f"{out}/{name}-{source}.yaml"
    with open(task, "w") as f:
        f.write(f"""task: {name}
goal: multilabel
domains:
  - {{name: source, role: source, x: {name}-{source}.arff}}
  - {{name: target, role: target, x: {name}-{target}.arff}}
methods: {METHODS}
evaluate: {{repeats: 1, seed: 1, ties: mean, controls: none, metrics: [ranking-loss]}}
""")
    subprocess.run([ferry, "run", task, "--out", task[:-5], "--threads", "1", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    with open(task[:-5] + "/results.json") as f:
        return {r["name"]: r["mean"] for r in json.load(f)["results"]}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", help="else FERRY_DATA, else data, else ../shared/data")
    p.add_argument("--ferry", default="build/release/ferry")
    p.add_argument("--out", default="build/repro/mmltl")
    p.add_argument("sets", nargs="*", metavar="SET", default=["emotions", "yeast", "corel5k"])
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    for name in a.sets:
        halves(a.data or where.data("corel5k" if name == "corel5k" else "multilabel"), name, a.out)
        there, back = run(a.ferry, name, "a", "b", a.out), run(a.ferry, name, "b", "a", a.out)
        print(name + ": " + ", ".join("%s %.3f" % (m, (there[m] + back[m]) / 2) for m in there))


main()
