"""Tasks for gbc from the public sets: digits (UCI mfeat), films (IMDB 5000), papers (Citeseer).

usage: data.py DATA OUT SET [--incomplete] [--noise] [--labelled SHARE] [--repeats N]

DATA has the folders mfeat, imdb and linqs. OUT gets task.yaml and its files. --incomplete takes two views away from 30 % of
the instances; --noise adds a view of ten normal numbers that mean nothing.
"""
import argparse
import csv
import os
import random
import re
import tarfile

METHODS = """methods:
  - gbc
  - gbc: {mode: thesis, as: gbc-thesis}
  - gbdt-average
  - gbdt
  - gbdt: {missing: tree, as: gbdt-tree}
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


def drop_views(names, ids, rng):
    """For every view the ids that it keeps: 30 % of the instances lack two of the views."""
    keep = {n: set(ids) for n in names}
    for i in rng.sample(ids, int(0.3 * len(ids))):
        for n in rng.sample(names, 2):
            keep[n].discard(i)
    return keep


def save(a, name, goal, views, graphs, labels, methods):
    """views: name -> (header, {id: values}); graphs: name -> edges."""
    rng = random.Random(1)
    ids = sorted(labels)
    if a.noise:
        views["noise"] = (["n%d" % j for j in range(10)],
                          {i: ["%.4f" % rng.gauss(0, 1) for _ in range(10)] for i in ids})
    names = [n for n in views if n != "noise"]
    keep = drop_views(names, ids, rng) if a.incomplete else {n: set(ids) for n in names}
    keep["noise"] = set(ids)
    os.makedirs(a.out, exist_ok=True)
    for n, (header, rows) in views.items():
        write(os.path.join(a.out, n + ".csv"), ["id"] + header, [[i] + rows[i] for i in ids if i in keep[n] and i in rows])
    for n, edges in graphs.items():
        write(os.path.join(a.out, n + ".edges.csv"), None, edges)
    write(os.path.join(a.out, "labels.csv"), None, [[i, labels[i]] for i in ids])
    with open(os.path.join(a.out, "task.yaml"), "w") as f:
        f.write("task: %s\ngoal: %s\ndomains:\n  - name: %s\n    role: target\n    id: id\n    views:\n" % (name, goal, name))
        for n in views:
            f.write("      - {name: %s, x: %s.csv}\n" % (n, n))
        if graphs:
            f.write("    graphs:\n")
        for n in graphs:
            f.write("      - {name: %s, edges: %s.edges.csv}\n" % (n, n))
        f.write("    y: labels.csv\n    labelled: %s\n%sevaluate:\n  repeats: %d\n  seed: %d\n  metrics: [%s]\n"
                % (a.labelled, methods, a.repeats, a.seed, "rmse" if goal == "regress" else "error"))


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
    save(a, "mfeat", "classify", views, graphs, labels, METHODS)


# ---- films ----

def words(text):
    return sorted(set(re.findall(r"[a-z]+", text.lower())))


def binary(films, of, least):
    """0/1 columns for what occurs at least so often."""
    count = {}
    for f in films:
        for w in of(f):
            count[w] = count.get(w, 0) + 1
    names = sorted(w for w in count if count[w] >= least)
    place = {w: j for j, w in enumerate(names)}
    rows = {}
    for f in films:
        row = [0] * len(names)
        for w in of(f):
            if w in place:
                row[place[w]] = 1
        rows[f["key"]] = row
    return [re.sub(r"[^A-Za-z0-9]+", "_", w) + "_%d" % j for j, w in enumerate(names)], rows


def columns(films, names):
    return names, {f["key"]: [f[n].strip() for n in names] for f in films}


def together(films, of):
    """Edges between films that share something, when not too many do."""
    group = {}
    for f in films:
        for w in set(of(f)):
            if w.strip():
                group.setdefault(w.strip(), []).append(f["key"])
    return [(x, y) for g in group.values() if len(g) <= 40 for i, x in enumerate(g) for y in g[:i]]


def imdb(a):
    seen, films = set(), []
    with open(os.path.join(a.data, "imdb", "movie_metadata.csv"), newline="", encoding="utf-8") as f:
        for r in csv.DictReader(f):
            if r["movie_imdb_link"] not in seen and r["imdb_score"]:
                seen.add(r["movie_imdb_link"])
                films.append(r)
    random.Random(3).shuffle(films)
    films = films[:3000]
    for i, f in enumerate(films):
        f["key"] = "f%04d" % i
    actors = lambda f: [f["actor_%d_name" % k] for k in (1, 2, 3)]
    views = {
        "genres": binary(films, lambda f: f["genres"].split("|"), 3),
        "keywords": binary(films, lambda f: [w for w in f["plot_keywords"].split("|") if w], 5),
        "technical": columns(films, ["duration", "color", "aspect_ratio", "budget"]),
        "title": binary(films, lambda f: words(f["movie_title"]), 8),
        "release": columns(films, ["content_rating", "title_year", "language", "country"]),
        "cast": binary(films, lambda f: [n for n in actors(f) + [f["director_name"]] if n], 6),
    }
    graphs = {
        "director": together(films, lambda f: [f["director_name"]]),
        "lead": together(films, lambda f: [f["actor_1_name"]]),
        "cast-graph": together(films, actors),
    }
    save(a, "films", "regress", views, graphs, {f["key"]: f["imdb_score"] for f in films},
         METHODS.replace("  - semi-gbdt: {rounds: 3}\n", "").replace("  - semi-svm: {C: 0.1}\n", "").replace("svm: {C: 0.1}", "svm: {C: 0.01}").replace("  - ica\n", ""))


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
    save(a, "citeseer", "classify", views, graphs, labels, METHODS.replace("{C: 0.1}", "{C: 1}"))


p = argparse.ArgumentParser()
p.add_argument("data")
p.add_argument("out")
p.add_argument("set", choices=["mfeat", "imdb", "citeseer"])
p.add_argument("--incomplete", action="store_true")
p.add_argument("--noise", action="store_true")
p.add_argument("--labelled", default="0.1")
p.add_argument("--repeats", type=int, default=3)
p.add_argument("--seed", type=int, default=1)
args = p.parse_args()
{"mfeat": mfeat, "imdb": imdb, "citeseer": citeseer}[args.set](args)
