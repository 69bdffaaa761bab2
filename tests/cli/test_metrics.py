"""Metrics by the real command: numbers of a run against numbers worked out here from the predictions that it kept."""
import math
import random
import sys

from harness import csv_rows, ferry, main, parses, read, small_task, write


def results(folder, task, *args):
    d = parses(ferry("run", task, "--json", "-q", "-o", folder + "/out", *args).out)
    return {m["name"]: m for m in d["results"]}


def metric(result, name):
    """The first repeat's value of a metric."""
    return result["metrics"][name]["runs"][0]


def near(a, b, what):
    assert abs(a - b) < 1e-9, (what, a, b)


def test_classes(folder):
    task = small_task(folder)
    names = ["accuracy", "auc", "log-loss", "brier", "ari"]
    r = results(folder, task, "--set", f"evaluate.metrics={','.join(names)}", "--set", "evaluate.controls=none")
    assert r["logreg"]["metrics"]["log-loss"]["mean"] > 0
    assert 0 <= r["logreg"]["metrics"]["brier"]["mean"] <= 1 and 0.5 < r["logreg"]["metrics"]["auc"]["mean"] <= 1
    # svm orders, but its scores are no probabilities
    assert r["svm"]["metrics"]["log-loss"]["mean"] is None and r["svm"]["metrics"]["auc"]["mean"] > 0.5
    table = ferry("run", task, "-q", "-o", folder + "/t", "--set", "evaluate.metrics=accuracy,log-loss",
                  "--set", "evaluate.controls=none").out
    assert "n/a" in table and "log-loss" in table


def test_numbers(folder):
    rng = random.Random(3)
    rows = [[rng.gauss(0, 1) for _ in range(3)] for _ in range(60)]
    text = "id,a,b,c,y\n" + "".join(
        f"r{i},{','.join(f'{v:.6f}' for v in x)},{2 * x[0] - x[1] + rng.gauss(0, .2):.6f}\n" for i, x in enumerate(rows))
    write(folder, "t.csv", text)
    task = write(folder, "task.yaml", """task: numbers
goal: regress
domains:
  - {name: t, role: target, x: t.csv, id: id, label: y, labelled: 30}
methods: [ridge, mean]
evaluate: {repeats: 2, metrics: [r2, spearman, rmse, mae]}
""")
    r = results(folder, task)
    assert r["ridge"]["metrics"]["r2"]["mean"] > 0.95 and r["ridge"]["metrics"]["spearman"]["mean"] > 0.95
    assert r["mean"]["metrics"]["r2"]["mean"] <= 0 and r["mean"]["metrics"]["spearman"]["mean"] is None
    truth = {row[0]: float(row[4]) for row in csv_rows(text)[1:]}
    head, *given = csv_rows(read(folder, "out/predictions/ridge.csv"))
    pairs = [(truth[g[0]], float(g[head.index("prediction")])) for g in given if hidden(head, g)]
    assert len(pairs) == 30
    mean = sum(t for t, _ in pairs) / 30
    near(metric(r["ridge"], "r2"), 1 - sum((t - v) ** 2 for t, v in pairs) / sum((t - mean) ** 2 for t, _ in pairs), "r2")
    near(metric(r["ridge"], "mae"), sum(abs(t - v) for t, v in pairs) / 30, "mae")


def hidden(head, row):
    """Whether a row of kept predictions was scored."""
    return row[head.index("scored")] == "1"


def test_ratings(folder):
    rng = random.Random(5)
    users = {u: rng.gauss(0, 1) for u in range(20)}
    items = {i: rng.gauss(0, 1) for i in range(30)}
    pairs = [(u, i) for u in users for i in items if rng.random() < 0.7]
    value = {p: min(5, max(1, round(3 + users[p[0]] / 2 + items[p[1]] + rng.gauss(0, .3)))) for p in pairs}
    write(folder, "r.csv", "user,item,rating\n" + "".join(f"u{u},i{i},{value[u, i]}\n" for u, i in pairs))
    task = write(folder, "task.yaml", """task: films
goal: rate
domains:
  - {name: films, role: target, ratings: r.csv, labelled: 0.5}
methods: [bias, mf]
evaluate: {repeats: 2, metrics: [rmse, ndcg@5, recall@5, ndcg@20]}
""")
    r = results(folder, task)
    head, *rows = csv_rows(read(folder, "out/predictions/bias.csv"))
    got = {}
    for row in rows:
        if hidden(head, row):
            u, i = int(row[0][1:]), int(row[1][1:])
            got.setdefault(u, []).append((float(row[head.index("prediction")]), value[u, i]))
    every = [t for g in got.values() for _, t in g]
    mean = sum(every) / len(every)
    gain = lambda ts: sum(t / math.log2(k + 2) for k, t in enumerate(ts[:5]))
    ndcg, recall = [], []
    for g in got.values():
        order = [t for _, t in sorted(g, key=lambda p: -p[0])]  # predictions of bias are all different here
        assert len({v for v, _ in g}) == len(g)
        if len(g) > 1:
            ndcg.append(gain(order) / gain(sorted(order, reverse=True)))
        if any(t > mean for t in order):
            recall.append(sum(t > mean for t in order[:5]) / sum(t > mean for t in order))
    near(metric(r["bias"], "ndcg@5"), sum(ndcg) / len(ndcg), "ndcg")
    near(metric(r["bias"], "recall@5"), sum(recall) / len(recall), "recall")


def test_hidden_classes(folder):
    """Whole classes hidden: accuracy on the others and on them, from the predictions that the run kept."""
    ferry("gen", "classes", "-q", cwd=folder)
    r = results(folder, folder + "/classes/task.yaml", "--set", "evaluate.repeats=2", "--set", "evaluate.controls=none")
    assert list(r["svm"]["metrics"]) == ["accuracy", "seen-accuracy", "missing-accuracy"], r["svm"]["metrics"]
    head, *rows = csv_rows(read(folder, "classes/target.csv"))
    truth = {row[head.index("id")]: row[head.index("label")] for row in rows}
    for name in ("place", "svm"):
        head, *given = csv_rows(read(folder, f"out/predictions/{name}.csv"))
        shown = {truth[g[0]] for g in given if not hidden(head, g)}
        assert len(shown) == 7, shown
        right = {True: [], False: []}
        for g in given:
            if hidden(head, g):
                right[truth[g[0]] in shown].append(g[head.index("prediction")] == truth[g[0]])
        near(metric(r[name], "seen-accuracy"), sum(right[True]) / len(right[True]), name)
        near(metric(r[name], "missing-accuracy"), sum(right[False]) / len(right[False]), name)
    assert metric(r["svm"], "missing-accuracy") == 0 and metric(r["place"], "missing-accuracy") > 0.5
    text = ferry("explain", folder + "/out", "place").out
    assert "missing-accuracy" in text, text


if __name__ == "__main__":
    main(sys.modules[__name__])
