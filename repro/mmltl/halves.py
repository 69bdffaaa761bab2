#!/usr/bin/env python3
"""mmltl and the baselines for sets of labels on Mulan's emotions, scene and yeast, cut into two random halves without any shift.

  repro/mmltl/halves.py [--data DIR] [--ferry PROGRAM] [--out DIR] [--seeds N] [--first N] [--jobs N] [--json FILE] [SET ...]

M-MLTL's own tables and figures are studies (`ferry reproduce mmltl-table2` ...); this is a check that no paper has: how the methods do
where the domains do not differ. One half is the source, the other the target, cut anew for each seed; prints the mean ranking loss over seeds and
its standard error. `corel5k` is a SET, too (374 labels, a minute a seed). Standard library only.
"""
import argparse, concurrent.futures, gzip, json, os, random, statistics, subprocess, sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import where

METHODS = "[mmltl, mmltl: {gate: no}, mmltl: {mmd: off}, ranksvm, extra-trees, lift, chains, smltl, label-prior]"


def halves(data, name, seed, out):
    """Two ARFF files with Mulan's XML beside them."""
    path = os.path.join(data, "multilabel", name + ".arff")
    with open(path) if os.path.exists(path) else gzip.open(path + ".gz", "rt") as f:
        lines = f.read().splitlines()
    at = next(i for i, line in enumerate(lines) if line.strip().lower() == "@data") + 1
    rows = [line for line in lines[at:] if line.strip() and line[0] != "%"]
    random.Random("%s %d" % (name, seed)).shuffle(rows)
    with open(os.path.join(data, "multilabel", name + ".xml")) as f:
        xml = f.read()
    for side, part in (("a", rows[:len(rows) // 2]), ("b", rows[len(rows) // 2:])):
        with open(f"{out}/{name}-{seed}-{side}.arff", "w") as f:
            f.write("\n".join(lines[:at] + part) + "\n")
        with open(f"{out}/{name}-{seed}-{side}.xml", "w") as f:
            f.write(xml)


def run(ferry, data, name, seed, out):
    halves(data, name, seed, out)
    task = f"{out}/{name}-{seed}.yaml"
    with open(task, "w") as f:
        f.write(f"""task: {name}
goal: multilabel
domains:
  - {{name: source, role: source, x: {name}-{seed}-a.arff}}
  - {{name: target, role: target, labelled: none, x: {name}-{seed}-b.arff}}
methods: {METHODS}
evaluate: {{repeats: 1, seed: {seed}, ties: mean, controls: none, metrics: [ranking-loss]}}
""")
    subprocess.run([ferry, "run", task, "--out", task[:-5], "--threads", "1", "--jobs", "1", "--quiet", "--force"], check=True,
                   stdout=subprocess.DEVNULL)
    with open(task[:-5] + "/results.json") as f:
        return {r["name"]: r["mean"] for r in json.load(f)["results"]}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", help="else FERRY_DATA, else data, else ../shared/data")
    p.add_argument("--ferry", default="build/release/ferry")
    p.add_argument("--out", default="build/repro/mmltl")
    p.add_argument("--seeds", type=int, default=10)
    p.add_argument("--first", type=int, default=101, help="the first seed")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--json", help="write the losses of every seed there")
    p.add_argument("sets", nargs="*", metavar="SET", default=[])
    a = p.parse_args()
    sets, told = a.sets or ["emotions", "scene", "yeast"], {}
    os.makedirs(a.out, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        losses = {name: [pool.submit(run, a.ferry, a.data or where.data("multilabel"), name, seed, a.out) for seed in range(a.first, a.first + a.seeds)]
                  for name in sets}
    for name in sets:
        ran = [x.result() for x in losses[name]]
        told[name] = {m: [r[m] for r in ran] for m in ran[0]}
    print("| method | %s |\n|%s" % (" | ".join(sets), " --- |" * (len(sets) + 1)))
    for m in sorted(told[sets[0]], key=lambda m: statistics.mean(told[sets[0]][m])):
        print("| `%s` | %s |" % (m, " | ".join("%.4f ± %.4f" % (statistics.mean(v), statistics.stdev(v) / len(v) ** 0.5 if len(v) > 1 else 0)
                                              for v in (told[s][m] for s in sets))))
    if a.json:
        with open(a.json, "w") as f:
            json.dump({"first": a.first, "seeds": a.seeds, "ranking_loss": told}, f, indent=1)
            f.write("\n")


main()
