"""gbc with --engine mpi: rows of views that lack instances, and graphs whose edges cross ranks. Models and predictions of several ranks are those of
one process. Skipped where there is no mpirun or where Ferry was built without MPI."""
import json
import os
import random
import sys

from harness import ferry, main, read, write
from mpi import differ, finish, largest, model_of, models_differ, mpirun, start

MOST = 1e-9  # relative difference


def people(folder, n, goal="classify", classes=2, labelled=0.3, graphs=True, one=False, twice=False):
    """Groups of people: numbers with missing cells, and words, which every ninth lacks; every 17th has neither. Friends are of the same group more
    often than not, and are far apart in the file."""
    draw = random.Random(5)
    os.makedirs(folder + "/people", exist_ok=True)
    group = [draw.randrange(classes) for _ in range(n)]
    views = {"numbers": [[draw.gauss(g * (j < 4), 1) for j in range(7)] for g in group],
             "words": [[draw.randrange(1, 4) if draw.random() < (0.3 if j % classes == g else 0.1) else 0 for j in range(25)] for g in group]}
    if twice:  # what parts the rows alike stands in other columns, with other values, too
        views["numbers"] = [[*row, *(3 * v for v in reversed(row)), *(-v for v in row)] for row in views["numbers"]]
    if one:
        del views["words"]
    for name, rows in views.items():
        write(folder, f"people/{name}.csv", "id," + ",".join(f"{name}{j}" for j in range(len(rows[0]))) + "\n" + "".join(
            f"p{i}," + ",".join("" if name == "numbers" and (i + j) % 13 == 0 and not one else str(v) for j, v in enumerate(row)) + "\n"
            for i, row in enumerate(rows) if one or (i % 17 and (name != "words" or i % 9))))
    write(folder, "people/y.csv", "id,y\n" + "".join(
        f"p{i},{g + draw.gauss(0, 0.3) if goal == 'regress' else 'abcdef'[g]}\n" for i, g in enumerate(group)))
    for name, same in (("friends", 0.8), ("work", 0.5)):
        pairs = set()
        while len(pairs) < 2 * n:
            a, b = draw.randrange(n), draw.randrange(n)
            if a != b and (group[a] == group[b]) == (draw.random() < same):
                pairs.add((min(a, b), max(a, b)))
        write(folder, f"people/{name}.csv", "".join(f"p{a},p{b},{draw.choice((1, 2, 0.5))}\n" for a, b in sorted(pairs)))
    task = (f"task: people\ngoal: {goal}\nmethods: [gbc]\nevaluate: {{repeats: 1, controls: none, metrics: [{'rmse' if goal == 'regress' else 'log-loss, brier'}]}}\ndomains:\n  - name: people\n    role: target\n    id: id\n"
            f"    y: y.csv\n    labelled: {labelled}\n    views:\n" + "".join(f"      - {{name: {v}, x: {v}.csv}}\n" for v in views))
    if graphs:
        task += "    graphs:\n" + "".join(f"      - {{name: {g}, edges: {g}.csv}}\n" for g in ("friends", "work"))
    return write(folder, "people/task.yaml", task)


def score(folder):
    """The losses of an evaluation, which see every digit of the answers."""
    found = json.loads(read(folder, "results.json"))["results"][0]["metrics"]
    return [found[m]["mean"] for m in ("log-loss", "brier", "rmse") if m in found]


def check(folder, task, counts, *sets, method="gbc"):
    """The model of a fit and its predictions in one process; what an evaluation says, where the ranks answer together."""
    if method != "gbc":
        write(folder, task[len(folder) + 1:], read(task).replace("methods: [gbc]", f"methods: [{method}]"))
    fit = ["fit", task, "-m", method, *(w for s in sets for w in ("--set", s)), "-q", "--threads", 1]
    run = ["run", task, "-q", "--no-answer", "--threads", 1, *(w for s in sets for w in ("--set", f"methods.{method}." + s))]
    data = [f"{name[:-4]}={folder}/people/{name}" for name in sorted(os.listdir(folder + "/people")) if name[0] in "nwf" and name[:-4] in read(task)]
    ferry(*fit, "-o", folder + "/one.ferry")
    ferry(*run, "-o", folder + "/one")
    ferry("predict", folder + "/one.ferry", *data, "-o", folder + "/one.csv", "-q")
    for n in counts:
        for words, out in ((fit, f"/r{n}.ferry"), (run, f"/r{n}")):
            r = finish(start(n, *words, "-o", folder + out, "--engine", "mpi"))
            assert r.code == 0, r
        ferry("predict", f"{folder}/r{n}.ferry", *data, "-o", f"{folder}/r{n}.csv", "-q")
        p = differ(f"{folder}/one.csv", f"{folder}/r{n}.csv")
        m, where = models_differ(folder + "/one.ferry", f"{folder}/r{n}.ferry")
        one, many = score(folder + "/one"), score(f"{folder}/r{n}")
        e = largest(zip(one, many), 1e-3)
        print(f"    {method} {' '.join(sets)} on {n} ranks: predictions {p:.1e}, model {m:.1e}, evaluation {e:.1e}")
        assert one and max(p, m, e) < MOST, (n, p, m, where, one, many)


def test_default(folder):
    """A mixture of all parts."""
    mpirun()
    check(folder, people(folder, 203), (2, 4))


def test_more_classes(folder):
    mpirun()
    check(folder, people(folder, 151, classes=3), (3,))


def test_numbers(folder):
    mpirun()
    check(folder, people(folder, 151, goal="regress"), (3,))


def test_without_graphs(folder):
    mpirun()
    check(folder, people(folder, 151, graphs=False), (4,))


def test_nearest_rows(folder):
    """Sixteen places in turn of one class and the other: only who is near tells."""
    mpirun()
    draw = random.Random(7)
    os.makedirs(folder + "/people")
    place = [draw.randrange(16) for _ in range(160)]
    for name in ("numbers", "words"):
        write(folder, f"people/{name}.csv", "id,u,v\n" + "".join(
            f"p{i},{draw.gauss(p % 4, 0.1)},{draw.gauss(p // 4, 0.1)}\n" for i, p in enumerate(place)))
    write(folder, "people/y.csv", "id,y\n" + "".join(f"p{i},{'ab'[(p % 4 + p // 4) % 2]}\n" for i, p in enumerate(place)))
    task = write(folder, "people/task.yaml", """task: places
goal: classify
methods: [gbc]
evaluate: {repeats: 1, controls: none, metrics: [log-loss]}
domains:
  - {name: people, role: target, id: id, y: y.csv, labelled: 0.4, views: [{name: numbers, x: numbers.csv}, {name: words, x: words.csv}]}
""")
    check(folder, task, (3,))
    assert "near.x" in model_of(folder + "/r3.ferry")


def test_terms_of_neighbours(folder):
    """Instances without labels have terms of their views and of their neighbours, which may be other ranks'."""
    mpirun()
    task = people(folder, 151)
    check(folder, task, (3,), "combine=additive", "learner=tree", "trees=20")
    check(folder, task, (2, 4), "lambda0=0.3", "lambda1=0.5", "trees=10", method="gbc-paper")
    check(folder, people(folder, 151, one=True), (3,), "lambda1=0.5", "trees=10", method="gbc-paper")


def test_histograms(folder):
    """Rows stay on their ranks, histograms are added up; few bins, and views with equal columns, where gains are equal."""
    mpirun()
    check(folder, people(folder, 203), (2, 4), "learner=tree", "bins=64")
    check(folder, people(folder, 203, goal="regress"), (3,), "learner=tree", "bins=7", "depth=5")
    check(folder, people(folder, 151, classes=3), (3,), "bins=64", "lambda0=0.3", "trees=10", method="gbc-paper")
    check(folder, people(folder, 151, twice=True), (4,), "learner=tree", "bins=64", "trees=30")


def test_rank_without_rows(folder):
    mpirun()
    task = people(folder, 5, labelled=4)
    check(folder, task, (6,), "learner=tree", "min_leaf=1")
    check(folder, task, (6,), "learner=tree", "bins=64", "min_leaf=1")


main(sys.modules[__name__])
