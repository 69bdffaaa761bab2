"""Tasks for gbc from the public sets: digits (UCI mfeat), papers (Citeseer).

usage: data.py DATA OUT SET [--noise] [--labelled SHARE] [--repeats N]

DATA has the folders mfeat and linqs. OUT gets task.yaml and its files. --noise adds a view of ten normal numbers that mean
nothing.
"""
import argparse
import csv
import os
import random
import tarfile

METHODS = """methods:
  - gbc
  - gbc: {mode: paper, as: gbc-thesis}
  - gbdt-average
  - gbdt
  - semi-gbdt: {rounds: 3}
  - svm: {C: 0.1}
  - semi-svm: {C: 0.1}
  - label-propagation
  - ica
"""


def write(path, header, rows):
    with open(path, "w", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        if header:
            w.writerow(header)
        w.writerows(rows)


def save(a, name, views, graphs, labels, methods):
    """views: name -> (header, {id: values}); graphs: name -> edges."""
    rng = random.Random(1)
    ids = sorted(labels)
    if a.noise:
        views["noise"] = (["n%d" % j for j in range(10)],
                          {i: ["%.4f" % rng.gauss(0, 1) for _ in range(10)] for i in ids})
    os.makedirs(a.out, exist_ok=True)
    for n, (header, rows) in views.items():
        write(os.path.join(a.out, n + ".csv"), ["id"] + header, [[i] + rows[i] for i in ids if i in rows])
    for n, edges in graphs.items():
        write(os.path.join(a.out, n + ".edges.csv"), None, edges)
    write(os.path.join(a.out, "labels.csv"), None, [[i, labels[i]] for i in ids])
    with open(os.path.join(a.out, "task.yaml"), "w") as f:
        f.write("task: %s\ngoal: classify\ndomains:\n  - name: %s\n    role: target\n    id: id\n    views:\n" % (name, name))
        for n in views:
            f.write("      - {name: %s, x: %s.csv}\n" % (n, n))
        if graphs:
            f.write("    graphs:\n")
        for n in graphs:
            f.write("      - {name: %s, edges: %s.edges.csv}\n" % (n, n))
        f.write("    y: labels.csv\n    labelled: %s\n%sevaluate:\n  repeats: %d\n  seed: %d\n  metrics: [error]\n"
                % (a.labelled, methods, a.repeats, a.seed))


# ---- digits ----

def nearest(points, k):
    """Edges from every point to its k nearest."""
    edges = []
    for i, p in enumerate(points):
        d = sorted((sum((u - v) * (u - v) for u, v in zip(p, q)), j) for j, q in enumerate(points) if j != i)[:k]
        edges += [(i, j) for _, j in d]
    return edges


def mfeat(a):
    def table(n):
        with open(os.path.join(a.data, "mfeat", "mfeat-%s.csv" % n), newline="") as f:
            return list(csv.reader(f))[1:]
    rng = random.Random(7)
    views, labels = {}, {}
    for n in ("fac", "fou", "kar", "pix", "zer"):
        rows = table(n)
        views[n] = (["%s%d" % (n, j) for j in range(len(rows[0]) - 1)], {"d%04d" % i: r[:-1] for i, r in enumerate(rows)})
        labels = {"d%04d" % i: "c" + str(int(float(r[-1]))) for i, r in enumerate(rows)}
    mor = [[float(v) for v in r[:-1]] for r in table("mor")]
    for j in range(len(mor[0])):
        col = [r[j] for r in mor]
        mean = sum(col) / len(col)
        sd = (sum((v - mean) ** 2 for v in col) / len(col)) ** 0.5 or 1
        for r in mor:
            r[j] = (r[j] - mean) / sd
    noisy = [[v + rng.gauss(0, 1) for v in r] for r in mor]
    graphs = {g: [("d%04d" % i, "d%04d" % j) for i, j in nearest(p, 10)] for g, p in (("morphology", mor), ("noisy", noisy))}
    save(a, "mfeat", views, graphs, labels, METHODS)


# ---- papers ----

def citeseer(a):
    with tarfile.open(os.path.join(a.data, "linqs", "citeseer.tgz")) as tar:
        content = tar.extractfile("citeseer/citeseer.content").read().decode().splitlines()
        cites = tar.extractfile("citeseer/citeseer.cites").read().decode().splitlines()
    rows = [line.split("\t") for line in content]
    labels = {r[0]: r[-1] for r in rows}
    order = list(range(len(rows[0]) - 2))
    random.Random(5).shuffle(order)
    views = {}
    for g in range(5):
        mine = sorted(order[g::5])
        views["words%d" % (g + 1)] = (["w%d" % j for j in mine], {r[0]: [r[1 + j] for j in mine] for r in rows})
    graphs = {"cites": [line.split("\t") for line in cites]}
    save(a, "citeseer", views, graphs, labels, METHODS.replace("{C: 0.1}", "{C: 1}"))


p = argparse.ArgumentParser()
p.add_argument("data")
p.add_argument("out")
p.add_argument("set", choices=["mfeat", "citeseer"])
p.add_argument("--noise", action="store_true")
p.add_argument("--labelled", default="0.1")
p.add_argument("--repeats", type=int, default=3)
p.add_argument("--seed", type=int, default=1)
args = p.parse_args()
{"mfeat": mfeat, "citeseer": citeseer}[args.set](args)
