"""Rows over ranks (--engine mpi) with transfer methods: models and predictions of several ranks are those of one process, with ranks
of different row counts and a rank without rows. Skipped where there is no mpirun or where Ferry was built without MPI."""
import os
import random
import re
import shutil
import sys

from harness import ferry, main, parses, read, write
from mpi import finish, largest, models_differ, start

MOST = 1e-9  # relative difference


def ranks(n, *args):
    return finish(start(n, *args, "-q", "--threads", "1", "--engine", "mpi"))


def predictions_differ(one, many):
    a, b = ([line.split(",") for line in read(path).splitlines()] for path in (one, many))
    assert [len(r) for r in a] == [len(r) for r in b] and len(a) > 1
    return largest(((float(x), float(y)) for r, q in zip(a, b) for x, y in zip(r, q) if x != y), 1e-3)


def check(folder, task, data, method, counts, *more):
    """A fit of several ranks against one of a process; both models answer in a process alone."""
    ferry("fit", task, "-m", method, "-o", folder + "/one.ferry", "-q", "--threads", 1, *more)
    data = [data] if isinstance(data, str) else data
    ferry("predict", folder + "/one.ferry", *data, "-o", folder + "/one.csv", "-q")
    for n in counts:
        r = ranks(n, "fit", task, "-m", method, "-o", f"{folder}/r{n}.ferry", *more)
        assert r.code == 0, r
        ferry("predict", f"{folder}/r{n}.ferry", *data, "-o", f"{folder}/r{n}.csv", "-q")
        p = predictions_differ(folder + "/one.csv", f"{folder}/r{n}.csv")
        m, where = models_differ(folder + "/one.ferry", f"{folder}/r{n}.ferry")
        print(f"    {method} {' '.join(more)} on {n} ranks: predictions {p:.1e}, model {m:.1e}")
        assert p < MOST and m < MOST, (method, n, p, m, where)


def gen(folder, name, **sets):
    ferry("gen", name, "--out", f"{folder}/{name}", *(w for k, v in sets.items() for w in ("--set", f"{k}={v}")))
    return f"{folder}/{name}/task.yaml", f"{folder}/{name}/target.csv"


def words(folder, rows, width=300, labelled=2):
    """Documents of two topics: the source in words a, the bridge in both, the target in words b; some of the bridge are the
    target's own. rows: of the source, the bridge, the target."""
    draw = random.Random(3)
    os.makedirs(folder + "/words")

    def document(topic):
        count = [0] * width
        for _ in range(25):
            count[draw.randrange(width // 2) + (topic if draw.random() < 0.7 else 1 - topic) * (width // 2)] += 1
        return count

    def table(name, letter, topics, labels, own=None):
        lines = [own[i] if own and i < len(own) else document(t) for i, t in enumerate(topics)]
        head = ["id"] + [f"{letter}{j}" for j in range(width)] + ["label"] * labels
        write(folder, f"words/{name}.csv", "\n".join(",".join(map(str, row)) for row in [head] + [
            [f"{name[0]}{i}", *line, *["xy"[t]] * labels] for i, (line, t) in enumerate(zip(lines, topics))]) + "\n")
        return lines
    topics = [[draw.randrange(2) for _ in range(n)] for n in rows]
    table("source", "a", topics[0], 1)
    own = table("target", "b", topics[2], 1)[:rows[2] // 4]
    table("bridge_a", "a", topics[1], 0)
    table("bridge_b", "b", topics[1], 0, own)
    return write(folder, "words/task.yaml", f"""task: words
goal: classify
domains:
  - {{name: source, role: source, id: id, label: label, views: [{{name: a, x: source.csv}}]}}
  - {{name: bridge, role: intermediate, id: id, views: [{{name: a, x: bridge_a.csv}}, {{name: b, x: bridge_b.csv}}]}}
  - {{name: target, role: target, id: id, label: label, labelled: {{per_class: {labelled}}}, views: [{{name: b, x: target.csv}}]}}
"""), folder + "/words/target.csv"


def test_ttl(folder):
    """Words that settle and other views that do; folds and costs that are chosen; leaks that are left out."""
    task, data = words(folder, (81, 130, 61))
    check(folder, task, data, "ttl", (2, 4))
    told = ferry("inspect", folder + "/r4.ferry").out
    assert re.search(r"refined +yes", told) and re.search(r"leaks +15", told), told
    task, data = gen(folder, "bridge", labelled=7, target=101)
    check(folder, task, data, "ttl", (3,), "--set", "refine=yes")


def test_ttl_rank_without_rows(folder):
    """The target's three rows are on three of four ranks."""
    task, data = words(folder, (41, 50, 3), labelled=1)
    check(folder, task, data, "ttl", (4,), "--set", "C=1")


def test_factorisations(folder):
    """Squares by tiles and the divergence; labels drawn by row. C=1: a regression that ends at a gradient of 1e-6 is as far from
    its minimum as that, and a large C lets rounding decide where it ends."""
    task, data = words(folder, (45, 70, 31), 120)
    check(folder, task, data, "ttl", (4,), "--set", "mode=paper", "--set", "start=random", "--set", "iterations=30")
    check(folder, task, data, "ttl", (2,), "--set", "mode=paper", "--set", "loss=kl", "--set", "weights=norm", "--set", "C=1")
    check(folder, task, data, "triplex", (4,), "--set", "iterations=30")


def test_hop(folder):
    task, data = words(folder, (45, 70, 31), 120)
    check(folder, task, data, "hop", (4,))
    check(folder, task, data, "hop", (2,), "--set", "learner=svm")
    r = ranks(2, "fit", task, "-m", "hop", "-o", folder + "/m.ferry", "--set", "learner=gp")
    assert r.code == 2 and r.err.count("ferry: ") == 1 and "hop: learner=gp compares all rows" in r.err, r


def views(folder, n, wide=0, noise=False, labelled=None):
    """People of two groups seen in three ways: numbers, words (which some lack) and more words, or as many as wide; with noise
    the second way shows nothing."""
    draw = random.Random(5)
    os.makedirs(folder + "/views")
    group = [draw.randrange(2) for _ in range(n)]
    seen = {"numbers": [[draw.gauss(g if j < 4 else 0, 1) for j in range(9)] for g in group],
            "words": [[int(draw.random() < (0.25 if (j % 2 == g) and not noise else 0.08)) for j in range(40)] for g in group],
            "more": [[draw.randrange(1, 4) if draw.random() < (0.2 if j % 2 == g else 0.05) else 0 for j in range(wide or 30)]
                     for g in group]}
    for name, rows in seen.items():
        write(folder, f"views/{name}.csv", "id," + ",".join(f"{name}{j}" for j in range(len(rows[0]))) + "\n" + "".join(
            f"p{i}," + ",".join(map(str, row)) + "\n" for i, row in enumerate(rows) if name != "words" or i % 9))
    write(folder, "views/groups.csv", "id,group\n" + "".join(f"p{i},{'xy'[g]}\n" for i, g in enumerate(group)))
    task = write(folder, "views/task.yaml", "task: views\ngoal: embed\ndomains:\n  - name: people\n    role: target\n    id: id\n" + (
        f"    y: groups.csv\n    labelled: {labelled}\n" if labelled else "") + "    views:\n" + "".join(
        f"      - {{name: {name}, x: {name}.csv}}\n" for name in seen))
    return task, [f"{name}={folder}/views/{name}.csv" for name in seen]


def test_coca(folder):
    """Views on one scale, one of them compressed since it has more features than rows; weights by agreement and by links."""
    task, data = views(folder, 121, noise=True)
    check(folder, task, data, "coca", (2, 4))
    check(folder, task, data, "coca", (3,), "--set", "balance=spectral")
    check(folder, task, data, "coca-paper", (3,), "--set", "d=3")
    check(folder, task, data, "pca-joined", (4,))
    shutil.rmtree(folder + "/views")
    task, data = views(folder, 61, wide=90, labelled=0.8)
    check(folder, task, data, "coca", (4,))
    check(folder, task, data, "coca", (2,), "--set", "weights=qp")
    assert "nearest" in ferry("inspect", "--json", folder + "/r4.ferry").out
    task = gen(folder, "embed", target=101)[0]  # a table and a graph
    check(folder, task, folder + "/embed/table.csv", "coca", (3,))
    check(folder, task, [f"table={folder}/embed/table.csv", f"friends={folder}/embed/friends.csv"], "coca", (2,), "--set", "smooth=1")
    alone = write(folder, "embed/alone.yaml", "task: alone\ngoal: embed\ndomains:\n  - {name: t, role: target, graphs: [{name: friends, edges: friends.csv}]}\n")
    ferry("fit", alone, "-m", "coca", "-o", folder + "/one.ferry", "-q", "--threads", 1)
    assert ranks(3, "fit", alone, "-m", "coca", "-o", folder + "/r3.ferry").code == 0
    assert models_differ(folder + "/one.ferry", folder + "/r3.ferry")[0] < MOST


def test_coca_rank_without_rows(folder):
    task, data = views(folder, 3)
    check(folder, task, data, "coca", (4,), "--set", "d=1")


def test_cdspp(folder):
    """By features and by samples; a target of as many labelled rows as classes."""
    task, data = gen(folder, "bridge", labelled=7, target=101)
    check(folder, task, data, "cdspp", (2, 4))
    check(folder, task, data, "cdspp", (3,), "--set", "learner=logreg", "--set", "scale=standard")
    shutil.rmtree(folder + "/bridge")
    task, data = gen(folder, "bridge", labelled=1, source=41)
    check(folder, task, data, "cdspp", (4,))
    r = ranks(2, "fit", task, "-m", "cdspp", "-o", folder + "/m.ferry", "--set", "learner=knn")
    assert r.code == 2 and r.err.count("ferry: ") == 1 and "cdspp: learner=knn compares all rows" in r.err, r


def test_hemap(folder):
    """Classes and quantiles that tie the sets, the gate's folds, axes of few rows; a rank without rows of the target."""
    task, data = gen(folder, "bridge", labelled=7, target=101)
    check(folder, task, data, "hemap", (2, 4))
    check(folder, task, data, "hemap", (3,), "--set", "gamma=1", "--set", "learner=logreg")
    check(folder, task, data, "hemap", (3,), "--set", "gamma=0.5", "--set", "learner=svm", "--set", "self_training=2")
    r = ranks(2, "fit", task, "-m", "hemap", "-o", folder + "/m.ferry", "--set", "mode=paper")
    assert r.code == 2 and r.err.count("ferry: ") == 1 and "hemap-paper" in r.err, r
    shutil.rmtree(folder + "/bridge")
    task, data = gen(folder, "bridge", labelled=1, source=41, target=4, classes=2)
    write(folder, "bridge/target.csv", "".join(read(data).splitlines(True)[:4]))
    check(folder, task, data, "hemap", (4,), "--set", "gamma=0.5")
    task, data = gen(folder, "regress", labelled=31)
    check(folder, task, data, "hemap", (3,), "--set", "gamma=0.5")


def test_mmltl(folder):
    """The subspace from all rows, the RankSVM on latent features that were brought together."""
    task, data = gen(folder, "multilabel", target=101)
    check(folder, task, data, "mmltl", (2, 4), "--set", "gate=no")
    check(folder, task, data, "mmltl", (3,), "--set", "mode=paper", "--set", "sweeps=5")
    r = ranks(2, "fit", task, "-m", "mmltl", "-o", folder + "/m.ferry")
    assert r.code == 2 and r.err.count("ferry: ") == 1 and "the domains' means do not differ" in r.err, r
    write(folder, "multilabel/target.csv", "".join(read(data).splitlines(True)[:4]))
    write(folder, "multilabel/task.yaml", read(task).replace("labelled: 20", "labelled: 1"))
    check(folder, task, data, "mmltl", (4,))
    r = ranks(2, "fit", task, "-m", "mmltl", "-o", folder + "/m.ferry", "--set", "kernel=rbf")
    assert r.code == 2 and r.err.count("ferry: ") == 1 and "mmltl: a kernel compares all rows" in r.err, r


main(sys.modules[__name__])
