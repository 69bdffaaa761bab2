#!/usr/bin/env python3
"""hetomtl beside the learners of streams that know no source: a table of docs/methods/hetomtl.md.

  repro/hetomtl/beside.py [--data DIR] [--ferry PROGRAM] [--seeds N] [--first N] [--set chosen|judged] [--methods LIST] [--rows N] [STREAM ...]

3 rows a class offline, the others (at most --rows) in a random order through `ferry stream`, where the order is not part of the stream. Mistakes in %,
means over the seeds. hetomtl's parts were chosen on the streams `chosen`; `judged` were read afterwards.
"""
import argparse, csv, gzip, math, os, random, statistics, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import drift
import where

ORDERED = ("turning rule", "two turns")  # whose rows come as they are


def text(rows):
    return [("c%s" % y, ["%.8g" % v for v in x]) for y, x in rows]


def numbers(path, delimiter=",", skip=0, last=1, open=open):
    with open(path, "rt", encoding="utf-8-sig") as f:
        lines = [line for line in f][skip:]
    cells = [[c for c in line.replace(delimiter, " ").split()] for line in lines if line.strip()]
    return [("%d" % float(row[-1]), [float(v) for v in row[:-last]]) for row in cells]


def normal(rng, d):
    return [rng.gauss(0, 1) for _ in range(d)]


def made_up(name, rng, n=1500):
    rows = []
    if name == "rings":  # one around the other
        for i in range(n):
            a, r = rng.random() * 2 * math.pi, (1 if i % 2 else 2) + rng.gauss(0, 0.25)
            rows.append((i % 2, [r * math.cos(a), r * math.sin(a)]))
    elif name == "spirals":
        for i in range(n):
            t = 0.5 + 2.5 * rng.random()
            a, turn = 2 * t, math.pi * (i % 2)
            rows.append((i % 2, [t * math.cos(a + turn) + rng.gauss(0, 0.15), t * math.sin(a + turn) + rng.gauss(0, 0.15)]))
    elif name == "turning rule":  # a plane that turns all the time
        for i in range(n):
            x, a = normal(rng, 10), 2 * math.pi * i / n
            f = x[0] * math.cos(a) + x[1] * math.sin(a) + 0.5 * x[2]
            rows.append((int(f + rng.gauss(0, 0.2) > 0), x))
    elif name == "two turns":  # rows like those before; the rule changes twice
        x = normal(rng, 6)
        for i in range(n):
            x = [0.9 * v + math.sqrt(1 - 0.81) * e for v, e in zip(x, normal(rng, 6))]
            w = ([1, 1, 0, 0, 0, 0], [0, 1, -1, 0, 0, 0], [0, 0, -1, 1, 0, 1])[3 * i // n]
            rows.append((int(sum(a * b for a, b in zip(w, x)) + rng.gauss(0, 0.3) > 0), x))
    return text(rows)


def load(o, work, name, rng):
    if name in ("rings", "spirals") + ORDERED:
        return made_up(name, rng)
    if name in ("german", "australian"):
        return text(numbers(o.data + "/statlog/" + {"german": "german.data-numeric", "australian": "australian.dat"}[name], " "))
    if name == "optdigits":
        with open(o.data + "/optdigits/optdigits.csv", encoding="utf-8") as f:
            return [("c" + row[-1], row[1:-1]) for row in list(csv.reader(f))[1:]]
    if name == "concrete":  # strength in four equal parts
        rows = [row for row in csv.reader(open(o.data + "/concrete/Concrete_Data.csv", encoding="utf-8-sig"))][1:]
        rows = [[float(c) for c in row] for row in rows if row and row[0].strip()]
        cuts = statistics.quantiles([row[-1] for row in rows], n=4)
        return text([(sum(row[-1] > c for c in cuts), row[:-1]) for row in rows])
    if name in ("scene", "emotions"):  # its commonest label
        labels = 6
        with gzip.open("%s/multilabel/%s.arff.gz" % (o.data, name), "rt") as f:
            rows = [[float(c) for c in line.split(",")] for line in f if line.strip() and line[0] not in "@%"]
        most = max(range(labels), key=lambda j: sum(row[-labels + j] for row in rows))
        return text([(int(row[-labels + most]), row[:-labels]) for row in rows])
    if name.startswith("Reuters"):
        path, view = o.data + "/reuters_1200_5view/Reuters.mat", name.split()[1]
        rows, labels = drift.table(o, work, path + "#fea{%s}" % view), drift.table(o, work, path + "#gt")
        return [("c%d" % float(y), x) for y, x in zip([c for line in labels for c in line], rows)]
    if name in ("SURF Webcam", "DeCAF DSLR"):
        what = {"SURF Webcam": "surf/webcam_SURF_L10.mat#fts", "DeCAF DSLR": "decaf6/dslr_decaf.mat#feas"}[name]
        path = o.data + "/office_caltech10/" + what
        rows, labels = drift.table(o, work, path), drift.table(o, work, path.split("#")[0] + "#labels")
        return [("c%d" % float(y), x) for y, x in zip([c for line in labels for c in line], rows)]
    return drift.load(o, work, name)


SETS = {
    "chosen": ["rings", "turning rule", "german", "mfeat mor", "mfeat fou", "mfeat fac", "Reuters 3", "DeCAF DSLR"],
    "judged": ["spirals", "two turns", "australian", "concrete", "mfeat zer", "mfeat kar", "optdigits", "scene", "emotions", "embeddings", "SURF Webcam",
               "SURF Amazon", "GoogLeNet Amazon", "Reuters 5"],
}


def draw(name, rows, rng, most):
    if name not in ORDERED:
        few, stream = drift.draw(rows, rng)
    else:
        few, stream = [], []
        for y, x in rows:
            (few if sum(c == y for c, _ in few) < 3 else stream).append((y, x))
    return few, stream[:most]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", help="else FERRY_DATA, else data, else ../shared/data")
    p.add_argument("--ferry", default="build/release/ferry")
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--first", type=int, default=1)
    p.add_argument("--set", choices=list(SETS), default="judged")
    p.add_argument("--methods", default="hetomtl,online-logreg,online-kernel,mpa")
    p.add_argument("--rows", type=int, default=1000)
    p.add_argument("streams", nargs="*", metavar="STREAM")
    o = p.parse_args()
    o.data = os.path.abspath(o.data or where.data("office_caltech10"))
    methods = o.methods.split(",")
    print("| stream | rows | " + " | ".join(methods) + " |\n" + "| --- " * (len(methods) + 2) + "|")
    for name in o.streams or SETS[o.set]:
        mean = {m: [] for m in methods}
        with tempfile.TemporaryDirectory() as work:
            for seed in range(o.first, o.first + o.seeds):
                rng = random.Random(seed)
                few, stream = draw(name, load(o, work, name, rng), rng, o.rows)
                for m in methods:
                    mode = m.split(":")[1] if ":" in m else ""
                    mean[m].append(drift.wrong(drift.play(o, work, mode, few, stream, method=m.split(":")[0])[0]))
        print("| %s | %d | " % (name, len(stream)) + " | ".join("%.1f" % statistics.mean(mean[m]) for m in methods) + " |", flush=True)


main()
