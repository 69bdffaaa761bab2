#!/usr/bin/env python3
"""How often the verdict errs, on made-up tasks run through the real command.

    simulate.py useless  FERRY [--tasks N] [--out FILE]   sources that tell nothing, all goals: false helps and harms, by table, primary and answer
    simulate.py coverage FERRY [--tasks N] [--out FILE]   two learners on pools of a known population: does the interval hold the truth?
    simulate.py promise  FERRY [--tasks N] [--out FILE]   all labels visible: what is expected of a model against fresh rows, four goals
    simulate.py worth    FERRY [--tasks N] [--out FILE]   the Source line's interval on pools of a known population
    simulate.py power    FERRY [--tasks N] [--out FILE]   ferry gen bridge with 6 and 10 repeats: is the gain found
    simulate.py size     FERRY [--tasks N] [--out FILE]   two equal learners in six designs: how often are they said to differ?
    simulate.py family   FERRY [--tasks N] [--out FILE]   four methods against six baselines, all equal: is any said to be better or worse?
    simulate.py real     FERRY [--tasks N] [--out FILE]   digits with right, shuffled and renamed source labels: verdicts and the answer
    simulate.py images   FERRY [--tasks N] [--out FILE]   NUS-WIDE, labels of texts for pictures, 23 pairs of classes: is hop's gain found?

Every task depends on its number alone (and --seed), so a slice is a part of the whole. Only the standard library is used; results are JSON, which
page.py makes docs/trust.md of. Tasks have at most 500 rows; the whole takes a night on two cores.
"""
import argparse
import concurrent.futures
import csv
import functools
import json
import os
import random
import subprocess
import sys
import tempfile

GOALS = ["classify", "regress", "multilabel", "rate", "stream", "embed"]
METHODS = {"classify": ["svm", "knn", "ridge", "semi-svm", "hop", "cdspp", "hemap", "hetomtl"],
           "regress": ["ridge", "knn", "mean", "hemap"],
           "multilabel": ["ridge", "knn", "logreg", "mmltl"],
           "rate": ["bias", "mf", "rating-mean", "cbt", "talmud", "mindtl"],
           "stream": ["mpa", "hetomtl", "omtlmc"],
           "embed": ["{pca-joined: {d: 3}}", "cdspp", "hemap"]}


# ---- data ----

def table(path, names, rows):
    with open(path, "w") as f:
        f.write(",".join(names) + "\n")
        for r in rows:
            f.write(",".join(x if isinstance(x, str) else "%.5g" % x for x in r) + "\n")


def points(g, n, d, k, apart, centres=None):
    """n points around k centres, with their classes."""
    c = centres or [[g.gauss(0, apart) for _ in range(d)] for _ in range(k)]
    y = [i % k for i in range(n)]
    g.shuffle(y)
    return [[c[t][j] + g.gauss(0, 1) for j in range(d)] for t in y], y, c


def classes(folder, g, goal, related):
    """A source in space a, a bridge, a target in space b. The source's classes say nothing of the target's: they are noise
    (useless), or those of another grouping of its own (unrelated)."""
    d, e, n, m = 8, 6, 120, 90
    xs, ys, _ = points(g, m, d, 3, 0.9)
    if related == "useless":
        ys = [g.randrange(3) for _ in ys]
    xb, yb, cb = points(g, n, e, 3, 0.55)
    ba, _, _ = points(g, 80, d, 3, 0.9)
    bb, _, _ = points(g, 80, e, 3, 0.55, cb)
    label = ["a", "b", "c"]
    table(folder + "/s.csv", ["id"] + ["a%d" % j for j in range(d)] + ["y"],
          [["s%d" % i] + x + [label[y]] for i, (x, y) in enumerate(zip(xs, ys))])
    table(folder + "/t.csv", ["id"] + ["b%d" % j for j in range(e)] + ["y"],
          [["t%d" % i] + x + [label[y]] for i, (x, y) in enumerate(zip(xb, yb))])
    table(folder + "/ba.csv", ["id"] + ["a%d" % j for j in range(d)], [["p%d" % i] + x for i, x in enumerate(ba)])
    table(folder + "/bb.csv", ["id"] + ["b%d" % j for j in range(e)], [["p%d" % i] + x for i, x in enumerate(bb)])
    return """
  - {name: s, role: source, id: id, label: y, views: [{name: a, x: s.csv}]}
  - {name: bridge, role: intermediate, id: id, views: [{name: a, x: ba.csv}, {name: b, x: bb.csv}]}
  - {name: t, role: target, id: id, label: y, labelled: {per_class: 4}, views: [{name: b, x: t.csv}]}"""


def numbers(folder, g, goal, related):
    d, n, m = 6, 120, 100
    w, v = ([g.gauss(0, 1) for _ in range(d)] for _ in range(2))
    def rows(k, w, noise):
        x = [[g.gauss(0, 1) for _ in range(d)] for _ in range(k)]
        return [r + [sum(a * b for a, b in zip(r, w)) + g.gauss(0, noise)] for r in x]
    s = rows(m, v, 1)
    if related == "useless":
        y = [r[-1] for r in s]
        g.shuffle(y)
        s = [r[:-1] + [t] for r, t in zip(s, y)]
    table(folder + "/s.csv", ["a%d" % j for j in range(d)] + ["y"], s)
    table(folder + "/t.csv", ["b%d" % j for j in range(d)] + ["y"], rows(n, w, 1.5))
    return """
  - {name: s, role: source, label: y, views: [{name: a, x: s.csv}]}
  - {name: t, role: target, label: y, labelled: 15, views: [{name: b, x: t.csv}]}"""


def sets(folder, g, goal, related):
    d, k, n = 8, 5, 110
    def rows(w, shuffled):
        x = [[g.gauss(0, 1) for _ in range(d)] for _ in range(n)]
        on = [["%d" % (sum(a * b for a, b in zip(r, w[j])) + g.gauss(0, 1) > 0.3) for j in range(k)] for r in x]
        if shuffled:
            g.shuffle(on)
        return [r + o for r, o in zip(x, on)]
    def weights():
        return [[g.gauss(0, 0.7) for _ in range(d)] for _ in range(k)]
    names = ["f%d" % j for j in range(d)] + ["l%d" % j for j in range(k)]
    table(folder + "/s.csv", names, rows(weights(), related == "useless"))
    table(folder + "/t.csv", names, rows(weights(), False))
    label = "[" + ", ".join("l%d" % j for j in range(k)) + "]"
    return """
  - {name: s, role: source, label: %s, views: [{name: f, x: s.csv}]}
  - {name: t, role: target, label: %s, labelled: 20, views: [{name: f, x: t.csv}]}""" % (label, label)


def ratings(folder, g, goal, related):
    def write(path, users, items, count, structured):
        p, q = ([[g.gauss(0, 0.7) for _ in range(3)] for _ in range(n)] for n in (users, items))
        bu, bi = ([g.gauss(0, 0.4) for _ in range(n)] for n in (users, items))
        seen = set()
        while len(seen) < count:
            seen.add((g.randrange(users), g.randrange(items)))
        rows = []
        for u, i in sorted(seen):
            r = 3 + bu[u] + bi[i] + sum(a * b for a, b in zip(p[u], q[i])) + g.gauss(0, 0.6) if structured else g.gauss(3, 1.2)
            rows.append(["u%d" % u, "i%d" % i, "%d" % min(5, max(1, round(r)))])
        table(path, ["user", "item", "rating"], rows)
    write(folder + "/s.csv", 40, 40, 480, related != "useless")
    write(folder + "/t.csv", 30, 30, 400, True)
    return """
  - {name: s, role: source, ratings: s.csv}
  - {name: t, role: target, ratings: t.csv, labelled: 0.5}"""


MAKE = {"classify": classes, "stream": classes, "embed": classes, "regress": numbers, "multilabel": sets, "rate": ratings}


def write_task(folder, g, goal, related, methods, extra):
    domains = MAKE[goal](folder, g, goal, related)
    with open(folder + "/task.yaml", "w") as f:
        f.write("task: made-up\ngoal: %s\ndomains:%s\nmethods: [%s]\nevaluate: {%s}\n" % (goal, domains, ", ".join(methods), extra))
    return folder + "/task.yaml"


# ---- running ----

def run(ferry, task, *more):
    folder = [] if "-o" in more else ["-o", os.path.dirname(task) + "/out"]
    out = subprocess.run([ferry, "run", task, "--json", "-q", *folder, "--threads", "1", *more],
                         capture_output=True, text=True)
    if out.returncode != 0:
        raise SystemExit("%s: %s" % (" ".join(out.args), out.stderr))
    return json.loads(out.stdout)


def run_all(ferry, folder, names, out, *more):
    """Tasks FOLDER/NAME.yaml, called by these names, in one call: {name: results}. A call with one task makes no folder for it."""
    into = "%s/%s" % (folder, out) if len(names) > 1 else "%s/%s/%s" % (folder, out, names[0])
    call = subprocess.run([ferry, "run", *["%s/%s.yaml" % (folder, n) for n in names], "-q", "-o", into, "--threads", "1", *more],
                          capture_output=True, text=True)
    if call.returncode != 0:
        raise SystemExit("%s: %s" % (" ".join(call.args), call.stderr))
    found = {}
    for n in names:
        with open("%s/%s/%s/results.json" % (folder, out, n)) as f:
            found[n] = json.load(f)
    return found


def verdicts(d):
    """Of each transfer method the verdict, and the fits that its controls took."""
    judged = {r["name"]: r["verdict"] for r in d["results"] if r["verdict"]}
    return {"verdicts": {n: v["verdict"] for n, v in judged.items()},
            "fits": {n: sum(c["draws"] * c["repeats"] for c in v["controls"]) for n, v in judged.items()}}


def larger(d):
    return d["results"][0]["metric"] not in ("rmse", "mistake-rate", "ranking-loss")


def answer_of(d):
    """What the three lines and the primary comparison said."""
    a, p = d["answer"], (d["verdict"] or {}).get("primary")
    return {"answer": {k: rounded(a[k]) if k != "verdict" else a[k] for k in ("verdict", "worth", "worth_low", "worth_high", "value", "low", "high")} if a else None,
            "primary": {k: rounded(p[k]) if k not in ("name", "decided") else p[k] for k in ("name", "difference", "p", "decided")} if p else None}


def useless(a, t):
    goal, related = GOALS[t % len(GOALS)], "unrelated" if t // len(GOALS) % 2 else "useless"
    if goal not in a.goals.split(","):
        return []
    g = random.Random(a.seed * 1000003 + t)
    with tempfile.TemporaryDirectory() as folder:
        task = write_task(folder, g, goal, related, METHODS[goal], "repeats: %d, seed: %d" % (a.repeats, t + 1))
        d = run(a.ferry, task)
    return [{"task": t, "goal": goal, "source": related, "larger": larger(d), **verdicts(d), **answer_of(d)}]


# ---- coverage ----

def elsewhere(learner):
    """What a verdict compares: what was learned from the labels at hand, and what was learned from a source."""
    return [learner + ": {train: target}", learner + ": {train: source}"]


# name: part of the page, goal, metric, two learners, rows (ratings: users and items), what is visible
COVERAGE = {
    "accuracy": ("source", "classify", "accuracy", elsewhere("svm"), 480, "{per_class: 40}"),
    "macro-f1": ("source", "classify", "macro-f1", elsewhere("svm"), 480, "{per_class: 40}"),
    "auc": ("source", "classify", "auc", elsewhere("logreg"), 480, "{per_class: 40}"),
    "nmi": ("source", "classify", "nmi", elsewhere("svm"), 480, "{per_class: 40}"),
    "rmse": ("source", "regress", "rmse", elsewhere("ridge"), 400, "100"),
    "ranking-loss": ("source", "multilabel", "ranking-loss", elsewhere("ridge"), 400, "100"),
    "mistake-rate": ("source", "stream", "mistake-rate", ["mpa", "mpa: {C: 0.01}"], 120, "{per_class: 5}"),
    "rmse of ratings, 60 users": ("source", "rate", "rmse", ["bias", "rating-mean"], 60, "0.4"),
    "accuracy, 25 rows in all, 9 labels": ("few", "classify", "accuracy", elsewhere("svm"), 25, "{per_class: 3}"),
    "accuracy, 120 rows, 15 labels": ("few", "classify", "accuracy", elsewhere("svm"), 120, "{per_class: 5}"),
    "accuracy, svm and knn": ("few", "classify", "accuracy", ["svm", "knn"], 120, "{per_class: 5}"),
    "macro-f1, svm and knn": ("few", "classify", "macro-f1", ["svm", "knn"], 120, "{per_class: 5}"),
    "auc, logreg and ridge": ("few", "classify", "auc", ["logreg", "ridge"], 120, "{per_class: 5}"),
    "nmi, svm and knn": ("few", "classify", "nmi", ["svm", "knn"], 120, "{per_class: 5}"),
    "rmse, ridge and knn": ("few", "regress", "rmse", ["ridge", "knn"], 100, "20"),
    "ranking-loss, ridge and knn": ("few", "multilabel", "ranking-loss", ["ridge", "knn"], 100, "25"),
    "rmse of ratings, 30 users": ("few", "rate", "rmse", ["bias", "rating-mean"], 30, "0.4"),
    "nmi of an embedding": ("few", "embed", "nmi", ["pca-joined: {d: 3}", "pca-joined: {d: 1}"], 120, "none")}


def near(w, x, by=0.3):
    """A source's law: the target's, moved."""
    return [[c + w.gauss(0, by) for c in row] for row in x]


def draw(g, goal, law, n):
    """n rows of numbers and what they are labelled with."""
    if goal in ("regress", "multilabel"):
        x = [[g.gauss(0, 1) for _ in law[0]] for _ in range(n)]
        given = [[sum(a * b for a, b in zip(r, v)) + g.gauss(0, 1.5 if goal == "regress" else 1) for v in law] for r in x]
        return [r + (y if goal == "regress" else ["%d" % (k > 0) for k in y]) for r, y in zip(x, given)]
    y = [g.randrange(3) for _ in range(n)]
    while min(map(y.count, range(3))) < 3:  # of 25 rows; three of each class are to be seen
        y = [g.randrange(3) for _ in range(n)]
    return [[c + g.gauss(0, 1) for c in law[k]] + ["abc"[k]] for k in y]


def pool(folder, at, g, goal, world, n, seen, source):
    """In the folder `at` of a folder: a pool drawn from the population that `world` seeds: a target, and a source that every pool of this population has."""
    w = random.Random(world)
    if goal == "rate":
        bu, bi = ([g.gauss(0, 0.5) for _ in range(n)] for _ in range(2))
        met = set()
        while len(met) < 200 + 5 * n:
            met.add((g.randrange(n), g.randrange(n)))
        table("%s/%s/t.csv" % (folder, at), ["user", "item", "rating"],
              [["u%d" % u, "i%d" % i, "%.3f" % (3 + bu[u] + bi[i] + g.gauss(0, 0.7))] for u, i in sorted(met)])
        return "\n  - {name: t, role: target, ratings: %s/t.csv, labelled: %s}" % (at, seen)
    spread, count = {"regress": (1, 1), "multilabel": (0.7, 4)}.get(goal, (0.55, 3))
    law = [[w.gauss(0, spread) for _ in range(6)] for _ in range(count)]
    labels = ["l%d" % k for k in range(count)] if goal == "multilabel" else ["y"]
    names, label = ["b%d" % j for j in range(6)] + labels, "[%s]" % ", ".join(labels) if goal == "multilabel" else "y"
    table("%s/%s/t.csv" % (folder, at), names, draw(g, goal, law, n))
    domains = "\n  - {name: t, role: target, label: %s, labelled: %s, views: [{name: b, x: %s/t.csv}]}" % (label, seen, at)
    if source:
        table("%s/%s/s.csv" % (folder, at), names, draw(w, goal, near(w, law), 100))
        domains += "\n  - {name: s, role: source, label: %s, views: [{name: b, x: %s/s.csv}]}" % (label, at)
    return domains


def names_of(methods):
    out = []
    for i, m in enumerate(methods):
        out.append("{%s, as: m%d}" % (m if ":" in m else m + ": {}", i))
    return out


def rounded(x):
    return None if x is None else float("%.5g" % x)


def difference(d):
    """Mean and interval of m0 - m1, whichever is the best baseline."""
    r = {x["name"]: x for x in d["results"]}
    one = r["m0"]["versus"] or r["m1"]["versus"]
    sign = 1 if r["m0"]["versus"] else -1
    low, high = sorted((sign * one["low"], sign * one["high"])) if one["low"] is not None else (None, None)
    return sign * one["difference"], low, high


def wanted(a, designs):
    return {"d%d" % i: (name, *designs[name]) for i, name in enumerate(designs) if not a.only or name in a.only.split("|")}


def coverage(a, t):
    designs, own = wanted(a, COVERAGE), {}
    with tempfile.TemporaryDirectory() as folder:
        for d, (_, _, goal, metric, methods, n, seen) in designs.items():
            os.mkdir(folder + "/" + d)
            domains = pool(folder, d, random.Random(a.seed * 7919 + t), goal, a.seed, n, seen, "train" in methods[0])
            with open("%s/%s.yaml" % (folder, d), "w") as f:
                f.write("task: %s\ngoal: %s\ndomains:%s\nmethods: [%s]\nevaluate: {repeats: %d, seed: %d, metrics: [%s], controls: none}\n"
                        % (d, goal, domains, ", ".join(names_of(methods)), a.repeats, t + 1, metric))
        # without the policies the comparison is with the other learner, not with what the labels choose
        found = run_all(a.ferry, folder, list(designs), "out", "--no-answer")
        # the pool's own truth: many more draws of the labels, of other seeds
        more = [d for d, (_, _, goal, *_) in designs.items() if goal in ("classify", "regress")] if a.own and t % a.own == 0 else []
        if more:
            own = run_all(a.ferry, folder, more, "own", "--no-answer", "--set", "evaluate.repeats=80", "--seed", str(100000 + t))
    return [{"metric": name, "part": part, "pool": t, **dict(zip(("mean", "low", "high"), map(rounded, difference(found[d])))),
             "own": rounded(difference(own[d])[0]) if d in own else None} for d, (name, part, *_) in designs.items()]


# ---- the answer ----

ANSWERS = {"classify": ["svm", "logreg", "knn", "semi-svm", "{svm: {train: both}}", "{logreg: {train: source}}", "cdspp"],
           "regress": ["svm", "ridge", "knn", "mean", "{ridge: {train: both}}", "{ridge: {train: source}}"],
           "multilabel": ["ridge", "knn", "{ridge: {train: both}}"], "rate": ["bias", "mf", "rating-mean", "cbt"]}
VISIBLE = {"classify": 30, "regress": 30, "multilabel": 40, "rate": 250}  # labels of your own
BLANK = 100


def fresh_pool(folder, g, goal, kind, n):
    """A target with n labels and BLANK rows without, a source that resembles it or tells nothing, and 1000 fresh rows: what they are, by id."""
    if goal == "rate":
        users, items = 25, 25
        p, q = ([[g.gauss(0, 0.6) for _ in range(2)] for _ in range(k)] for k in (users, items))
        bu, bi = ([g.gauss(0, 0.5) for _ in range(k)] for k in (users, items))
        pairs = [(u, i) for u in range(users) for i in range(items)]
        g.shuffle(pairs)

        def rows(some):
            return [["u%d" % u, "i%d" % i, "%.3f" % (3 + bu[u] + bi[i] + sum(a * b for a, b in zip(p[u], q[i])) + g.gauss(0, 0.6))] for u, i in some]
        source = rows(g.sample(pairs, 350))
        if kind == "useless":
            values = [r[2] for r in source]
            g.shuffle(values)
            source = [[*r[:2], v] for r, v in zip(source, values)]
        table(folder + "/s.csv", ["user", "item", "rating"], [["v" + r[0], "j" + r[1], r[2]] for r in source])
        table(folder + "/t.csv", ["user", "item", "rating"], rows(pairs[:n]))
        fresh = rows(pairs[n:])
        table(folder + "/fresh.csv", ["user", "item"], [r[:2] for r in fresh])
        return "\n  - {name: s, role: source, ratings: s.csv}\n  - {name: t, role: target, ratings: t.csv}", [float(r[2]) for r in fresh]
    spread, count = {"regress": (1, 1), "multilabel": (0.7, 4)}.get(goal, (0.55, 3))
    law = [[g.gauss(0, spread) for _ in range(6)] for _ in range(count)]
    labels = ["l%d" % k for k in range(count)] if goal == "multilabel" else ["y"]
    names, label = ["b%d" % j for j in range(6)] + labels, "[%s]" % ", ".join(labels) if goal == "multilabel" else "y"
    source = draw(g, goal, near(g, law), 100)
    if kind == "useless":
        said = [r[6:] for r in source]
        g.shuffle(said)
        source = [r[:6] + y for r, y in zip(source, said)]
    table(folder + "/s.csv", names, source)
    rows = draw(g, goal, law, n + BLANK)
    table(folder + "/t.csv", ["id"] + names, [["t%d" % i] + (r if i < n else r[:6] + [""] * len(labels)) for i, r in enumerate(rows)])
    fresh = draw(g, goal, law, 1000)
    table(folder + "/fresh.csv", ["id"] + names[:6], [["f%d" % i] + r[:6] for i, r in enumerate(fresh)])
    return ("\n  - {name: s, role: source, label: %s, views: [{name: b, x: s.csv}]}\n  - {name: t, role: target, id: id, label: %s, views: [{name: b, x: t.csv}]}"
            % (label, label)), [r[6:] if goal == "multilabel" else r[6] for r in fresh]


def promise(a, t):
    goals = list(ANSWERS)
    goal, kind = goals[t % 4], "useless" if t // 4 % 2 else "related"
    if goal not in a.goals.split(","):
        return []
    g = random.Random("%d promise %d" % (a.seed, t))
    with tempfile.TemporaryDirectory() as folder:
        domains, truth = fresh_pool(folder, g, goal, kind, VISIBLE[goal])
        with open(folder + "/task.yaml", "w") as f:
            f.write("task: made-up\ngoal: %s\ndomains:%s\nmethods: [%s]\nevaluate: {seed: %d}\n" % (goal, domains, ", ".join(ANSWERS[goal]), t + 1))
        d = run(a.ferry, folder + "/task.yaml")["answer"]
        for words in (["fit", folder + "/task.yaml", "-o", folder + "/m.ferry", "--seed", str(t + 1)], ["predict", folder + "/m.ferry", folder + "/fresh.csv", "-o", folder + "/p.csv"]):
            subprocess.run([a.ferry, *words, "-q"], check=True, capture_output=True)
        with open(folder + "/p.csv") as f:
            got = list(csv.DictReader(f))
    if goal == "classify":
        true = sum(r["prediction"] == y for r, y in zip(got, truth)) / len(truth)
    elif goal == "multilabel":
        true = sum(r["l%d" % k] != y[k] for r, y in zip(got, truth) for k in range(4)) / 4 / len(truth)
    else:
        true = (sum((float(r["value" if goal == "rate" else "prediction"]) - float(y)) ** 2 for r, y in zip(got, truth)) / len(truth)) ** .5
    return [{"task": t, "goal": goal, "source": kind, "metric": d["metric"], "true": rounded(true), "calibrated": d["calibrated"], "answer": d["verdict"],
             **{k: rounded(d[k]) for k in ("value", "low", "high", "worth", "worth_low", "worth_high")}}]


WORTHS = {"classify": (150, "{per_class: 5}"), "regress": (120, "20"), "multilabel": (120, "25")}


def worth(a, t):
    """Pools of one population a goal: the Source line with hidden labels, whose truth is the mean over the pools."""
    out = []
    with tempfile.TemporaryDirectory() as folder:
        for goal, (n, seen) in WORTHS.items():
            if goal not in a.goals.split(","):
                continue
            os.mkdir(folder + "/" + goal)
            domains = pool(folder, goal, random.Random("%d worth %s %d" % (a.seed, goal, t)), goal, a.seed + 1, n, seen, True)
            with open("%s/%s.yaml" % (folder, goal), "w") as f:
                f.write("task: %s\ngoal: %s\ndomains:%s\nmethods: [%s]\nevaluate: {repeats: %d, seed: %d, controls: none}\n"
                        % (goal, goal, domains, ", ".join(ANSWERS[goal]), a.repeats, t + 1))
            d = run(a.ferry, "%s/%s.yaml" % (folder, goal), "-o", folder + "/out-" + goal)
            out.append({"goal": goal, "pool": t, "metric": d["answer"]["metric"], **answer_of(d)["answer"]})
    return out


# ---- power ----

def power(a, t):
    out = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([a.ferry, "gen", "bridge", "-q", "--seed", str(1000 + t), "-o", folder + "/b", "--set", "source=150", "--set", "bridge=200",
                        "--set", "target=150", "--set", "source_features=30", "--set", "target_features=20"], check=True, capture_output=True)
        task = folder + "/b/task.yaml"
        with open(task) as f:
            text = f.read()
        with open(task, "w") as f:
            f.write(text.replace("evaluate:", "methods: [svm, semi-svm, knn, hop, cdspp, hemap]\nevaluate:", 1))
        for repeats in (6, 10):
            d = run(a.ferry, task, "--set", "evaluate.repeats=%d" % repeats, "--seed", str(t + 1))
            hop = next(r for r in d["results"] if r["name"] == "hop")
            out.append({"task": t, "repeats": repeats, "gain": hop["verdict"]["gain"], "p": rounded(hop["verdict"]["p"]), "larger": True, **verdicts(d), **answer_of(d)})
    return out


# ---- two equal learners ----

SIZES = {"25 rows, 9 labels": (25, "{per_class: 3}", 10), "60 rows, 12 labels": (60, "{per_class: 4}", 10), "120 rows, 15 labels": (120, "{per_class: 5}", 10),
         "120 rows, 15 labels, 30 repeats": (120, "{per_class: 5}", 30), "300 rows, 30 labels": (300, "{per_class: 10}", 10),
         "120 rows, 15 labels, one split": (120, "ids", 10)}


FRESH = 3000  # rows that say what two models of these labels are worth


def views(folder, name, g, y, centres, first=None):
    """A file for each of two views that follow one law; `first`: rows that they begin with."""
    rows = []
    for v in range(2):
        new = [[c + g.gauss(0, 1) for c in centres[k]] + ["abc"[k]] for k in y]
        rows.append((first[v] if first else []) + new)
        table(folder + "/%s%d.csv" % (name, v), ["id"] + ["b%d" % j for j in range(6)] + ["y"], [["t%d" % i] + r for i, r in enumerate(rows[-1])])
    return rows


def equal(folder, name, seen, repeats, seed):
    """Tasks NAME0 and NAME1: svm on one view, and svm on the other against the first's predictions for the same splits."""
    for v, methods in enumerate(("svm", "svm, {predictions: {file: first/%s0/predictions/svm.csv}, as: other}" % name)):
        with open("%s/%s%d.yaml" % (folder, name, v), "w") as f:
            f.write("task: %s%d\ngoal: classify\ndomains:\n  - {name: t, role: target, id: id, label: y, labelled: %s, x: %s%d.csv}\n"
                    "methods: [%s]\nevaluate: {repeats: %d, seed: %d, metrics: [accuracy], controls: none}\n"
                    % (name, v, "{ids: seen.txt}" if seen == "ids" else seen, name, v, methods, repeats, seed))


def size(a, t):
    """The truth is 0: over all draws of rows and labels neither view is better. With one split the interval is about the two models that these labels
    make, so the truth is their difference on fresh rows."""
    designs, tasks = wanted(a, SIZES), []
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/seen.txt", "w") as f:
            f.write("".join("t%d\n" % i for i in range(15)))
        for d, (name, n, seen, repeats) in designs.items():
            g = random.Random("%d %s %d" % (a.seed, name, t))
            centres = [[g.gauss(0, 0.55) for _ in range(6)] for _ in range(3)]
            rows = views(folder, d + "x", g, [i % 3 for i in range(n)], centres)
            equal(folder, d + "x", seen, repeats, t + 1)
            tasks.append(d + "x")
            if seen == "ids":
                views(folder, d + "f", g, [i % 3 for i in range(FRESH)], centres, [r[:15] for r in rows])
                equal(folder, d + "f", seen, 1, t + 1)
                tasks.append(d + "f")
        run_all(a.ferry, folder, [n + "0" for n in tasks], "first", "--save", "predictions")
        found = run_all(a.ferry, folder, [n + "1" for n in tasks], "second", "--no-answer")
    one = {n: next(r for r in found[n + "1"]["results"] if r["name"] == "other")["versus"] for n in tasks}
    return [{"design": name, "pool": t, "mean": rounded(one[d + "x"]["difference"]), **{k: rounded(one[d + "x"][k]) for k in ("low", "high", "p")},
             "truth": rounded(one[d + "f"]["difference"]) if d + "f" in one else 0} for d, (name, *_) in designs.items()]


# ---- many methods, many baselines ----

BASES, OTHERS = 6, 4
FAMILIES = {"120 rows, 15 labels": 10, "120 rows, 15 labels, one split": 1}


def centroids(x, y, seen):
    """Nearest mean of a class, as weights and a constant of each class."""
    out = []
    for k in range(3):
        own = [x[i] for i in seen if y[i] == k]
        mean = [sum(c) / len(own) for c in zip(*own)]
        out.append((mean, sum(c * c for c in mean) / 2))
    return out


def nearest(model, x):
    return [max(range(3), key=lambda k: sum(p * q for p, q in zip(model[k][0], r)) - model[k][1]) for r in x]


def holm(p):
    out, before = [0.0] * len(p), 0.0
    for k, i in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        out[i] = before = max(before, min(1, p[i] * (len(p) - k)))
    return out


def said(d):
    """Of each method (better, worse), corrected as the verdict is, and the baseline it is compared with."""
    versus = {r["name"]: r["versus"] for r in d["results"]}
    names = ["m%d" % j for j in range(OTHERS)]
    up = [(v["p"] or 1) / 2 if v["difference"] > 0 else 1 - (v["p"] or 1) / 2 for v in map(versus.get, names)]
    better, worse = holm(up), holm([min(1, BASES * (1 - p)) for p in up])
    return [(b < 0.05, w < 0.05, versus[n]["baseline"]) for n, b, w in zip(names, better, worse)]


def family(a, t):
    """Four methods against six baselines, the same learner on ten views that follow one law: nothing is better or worse, except (one split) what these labels make."""
    out = []
    for name, repeats in FAMILIES.items():
        if a.only and name not in a.only.split("|"):
            continue
        g = random.Random("%d family %s %d" % (a.seed, name, t))
        n, seen, fixed = 120, 15, repeats == 1
        y = [i % 3 for i in range(n)]
        centres = [[g.gauss(0, 0.55) for _ in range(6)] for _ in range(3)]
        x = [[[c + g.gauss(0, 1) for c in centres[k]] for k in y] for _ in range(BASES + OTHERS)]
        names = ["b%d" % j for j in range(BASES)] + ["m%d" % j for j in range(OTHERS)]
        with tempfile.TemporaryDirectory() as folder:
            table(folder + "/t.csv", ["id", "b", "y"], [["t%d" % i, x[0][i][0], "abc"[k]] for i, k in enumerate(y)])
            with open(folder + "/seen.txt", "w") as f:
                f.write("".join("t%d\n" % i for i in range(seen)))
            text = ("task: family\ngoal: classify\ndomains:\n  - {name: t, role: target, id: id, label: y, labelled: %s, x: t.csv}\n"
                    "evaluate: {repeats: %d, seed: %d, metrics: [accuracy], controls: none}\nmethods: [%%s]\n" % ("{ids: seen.txt}" if fixed else "{per_class: 5}", repeats, t + 1))
            shown = [list(range(seen))] if fixed else [[] for _ in range(repeats)]
            if not fixed:
                with open(folder + "/splits.yaml", "w") as f:
                    f.write(text % "majority")
                run(a.ferry, folder + "/splits.yaml", "--save", "splits", "-o", folder + "/s")
                with open(folder + "/s/splits.csv") as f:
                    for r, i, role in (line.rstrip().split(",") for line in list(f)[1:]):
                        if role == "visible":
                            shown[int(r) - 1].append(int(i[1:]))
            for v, m in enumerate(names):
                rows = []
                for r in range(repeats):
                    rows += [["%d" % (r + 1), "t%d" % i, "abc"[k]] for i, k in enumerate(nearest(centroids(x[v], y, shown[r]), x[v]))]
                table(folder + "/%s.csv" % m, ["repeat", "id", "prediction"], rows)
            with open(folder + "/task.yaml", "w") as f:
                f.write(text % ", ".join("{predictions: {file: %s.csv%s}, as: %s}" % (m, ", baseline: yes" if m[0] == "b" else "", m) for m in names))
            found = said(run(a.ferry, folder + "/task.yaml", "--no-answer"))
        worth = dict.fromkeys(names, 0)
        if fixed:
            for v, m in enumerate(names):
                model, fresh = centroids(x[v], y, shown[0]), [[c + g.gauss(0, 1) for c in centres[i % 3]] for i in range(FRESH // 2)]
                worth[m] = sum(k == i % 3 for i, k in enumerate(nearest(model, fresh)))
        out.append({"design": name, "pool": t, "better": sum(b for b, _, _ in found), "worse": sum(w for _, w, _ in found),
                    "false_better": any(b and worth["m%d" % j] <= worth[base] for j, (b, _, base) in enumerate(found)),
                    "false_worse": any(w and worth["m%d" % j] >= worth[base] for j, (_, w, base) in enumerate(found))})
    return out


# ---- real data ----

def data(name):
    """Where the data set is."""
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    import where
    return where.data(name)


@functools.cache
def digits(name):
    """{class: [row of numbers as texts]} of a view of mfeat, in the file's order, so that rows of views belong together."""
    by = {}
    with open(os.path.join(data("mfeat"), "mfeat", "mfeat-%s.csv" % name)) as f:
        for line in list(f)[1:]:
            cells = line.strip().split(",")
            by.setdefault(cells[-1], []).append(cells[:-1])
    return by


def real(a, t):
    """Handwritten digits, 300 of them: a third is the source, in one view; a third the bridge, in both; a third the target, in the other. The source's
    labels are right (real), of another naming (unrelated) or shuffled (useless)."""
    views = {n: digits(n) for n in ("fac", "fou", "kar", "zer")}
    g = random.Random("%d real %d" % (a.seed, t))
    kind = ("real", "useless", "unrelated")[t % 3]
    one, two = g.sample(sorted(views), 2)
    classes = sorted(views[one])
    named = dict(zip(classes, g.sample(classes, len(classes)))) if kind == "unrelated" else {c: c for c in classes}
    s, b, x = [], [], []
    for c in classes:
        rows = g.sample(range(len(views[one][c])), 30)
        s += [(named[c], views[one][c][i]) for i in rows[:10]]
        b += [(views[one][c][i], views[two][c][i]) for i in rows[10:20]]
        x += [(c, views[two][c][i]) for i in rows[20:]]
    for part in (s, b, x):
        g.shuffle(part)
    if kind == "useless":
        labels = g.sample([c for c, _ in s], len(s))
        s = [(c, r) for c, (_, r) in zip(labels, s)]
    with tempfile.TemporaryDirectory() as folder:
        head = {n: ["%s%d" % (n, j) for j in range(len(views[n][classes[0]][0]))] for n in (one, two)}
        table(folder + "/s.csv", ["id"] + head[one] + ["y"], [["s%d" % i] + r + ["d" + c] for i, (c, r) in enumerate(s)])
        table(folder + "/t.csv", ["id"] + head[two] + ["y"], [["t%d" % i] + r + ["d" + c] for i, (c, r) in enumerate(x)])
        table(folder + "/ba.csv", ["id"] + head[one], [["p%d" % i] + r for i, (r, _) in enumerate(b)])
        table(folder + "/bb.csv", ["id"] + head[two], [["p%d" % i] + r for i, (_, r) in enumerate(b)])
        with open(folder + "/task.yaml", "w") as f:
            f.write("""task: digits
goal: classify
domains:
  - {name: s, role: source, id: id, label: y, views: [{name: a, x: s.csv}]}
  - {name: bridge, role: intermediate, id: id, views: [{name: a, x: ba.csv}, {name: b, x: bb.csv}]}
  - {name: t, role: target, id: id, label: y, labelled: {per_class: 2}, views: [{name: b, x: t.csv}]}
methods: [%s]
evaluate: {repeats: %d, seed: %d}
""" % (", ".join(METHODS["classify"] + ["clusters"]), a.repeats, t + 1))
        d = run(a.ferry, folder + "/task.yaml")
    return [{"task": t, "goal": "classify", "source": kind, "larger": True, "views": [one, two], **verdicts(d),
             "gains": {r["name"]: round(r["verdict"]["gain"], 4) for r in d["results"] if r["verdict"]}, **answer_of(d)}]


PAIRS = ("birds-food birds-tower boats-birds boats-sun boats-toy flowers-boats flowers-rocks flowers-tower flowers-tree food-tower rocks-boats rocks-sun "
         "rocks-toy rocks-vehicle sun-tower toy-food tree-birds tree-food tree-tower vehicle-birds vehicle-food vehicle-tower vehicle-tree").split()


def images(a, t):
    """Two classes: 1200 texts with labels, 1600 pairs of a text and a picture, 600 pictures, 25 of them with labels."""
    mat = os.path.join(data("nuswide_text_image"), "nuswide_text_image", "pairs", PAIRS[t] + ".mat")
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/task.yaml", "w") as f:
            f.write("""task: images
goal: classify
domains:
  - {name: texts, role: source, views: [{name: text, x: '%s#text_fea'}], y: '%s#text_gnd'}
  - {name: pairs, role: intermediate, views: [{name: text, x: '%s#co_text_fea'}, {name: image, x: '%s#co_image_fea'}]}
  - {name: images, role: target, views: [{name: image, x: '%s#image_fea'}], y: '%s#image_gnd', labelled: 25}
methods: [svm, knn, semi-svm, hop]
evaluate: {repeats: %d, seed: %d, metrics: [accuracy]}
""" % ((mat,) * 6 + (a.repeats, t + 1)))
        d = run(a.ferry, folder + "/task.yaml")
    hop = next(r for r in d["results"] if r["name"] == "hop")["verdict"]
    return [{"task": PAIRS[t], **{k: rounded(hop[k]) for k in ("gain", "low", "high")}, **verdicts(d)}]


RUN = {"useless": (useless, 300), "coverage": (coverage, 300), "promise": (promise, 200), "worth": (worth, 100),
       "power": (power, 48), "size": (size, 300), "family": (family, 300), "real": (real, 60), "images": (images, len(PAIRS))}


def processor():
    """The processor's name, as the system tells it, and its cores."""
    try:
        with open("/proc/cpuinfo") as f:
            names = [line.partition(":")[2].strip() for line in f if line.startswith("model name")]
    except OSError:
        names = []
    return "%s, %d cores" % (names[0] if names else "an unnamed processor", os.cpu_count())


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=list(RUN))
    p.add_argument("ferry")
    p.add_argument("--tasks", type=int, default=0)
    p.add_argument("--first", type=int, default=0, help="the first task of a slice")
    p.add_argument("--repeats", type=int, default=10)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--goals", default=",".join(GOALS), help="of useless: tasks of other goals are passed over")
    p.add_argument("--only", default="", help="of coverage, size and family: these designs (A|B)")
    p.add_argument("--own", type=int, default=4, help="of coverage: every so many pools also the pool's own truth, 0: none")
    p.add_argument("--quiet", action="store_true")
    p.add_argument("--jobs", type=int, default=1, help="tasks side by side")
    p.add_argument("--out")
    a = p.parse_args()
    make, tasks = RUN[a.what]
    a.tasks = a.tasks or tasks
    version = subprocess.run([a.ferry, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    rows = []

    def write(done):
        text = json.dumps({"what": a.what, "ferry": version, "cpu": processor(), "tasks": done, "repeats": a.repeats, "seed": a.seed, "rows": rows}, separators=(",", ":"))
        if not a.out:
            return print(text)
        with open(a.out + ".new", "w") as f:
            f.write(text + "\n")
        os.replace(a.out + ".new", a.out)

    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool_of:
        for t, some in enumerate(pool_of.map(lambda t: make(a, t), range(a.first, a.tasks)), a.first):
            rows += some
            if a.out:
                write(t + 1)  # a night that is stopped early leaves what it had
            if not a.quiet:
                print(t, file=sys.stderr, flush=True)
    if not a.out:
        write(a.tasks)


if __name__ == "__main__":
    main()
