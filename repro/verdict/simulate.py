#!/usr/bin/env python3
"""How often the verdict errs, on made-up tasks run through the real command.

    simulate.py useless  FERRY [--tasks N] [--out FILE]   sources that tell nothing, all goals: false helps and harms; the guard
    simulate.py coverage FERRY [--tasks N] [--out FILE]   two learners on pools of a known population: does the interval hold the truth?
    simulate.py power    FERRY [--tasks N] [--out FILE]   ferry gen bridge with 6 and 10 repeats: is the gain found, and the guard's worth
    simulate.py size     FERRY [--tasks N] [--out FILE]   two equal learners in six designs: how often are they said to differ?
    simulate.py real     FERRY [--tasks N] [--out FILE]   digits with right, shuffled and renamed source labels: verdicts and the guard
    simulate.py cost     FERRY [--out FILE]               processor time of a run without and with the default controls, on three tasks

Every task depends on its number alone (and --seed), so a slice is a part of the whole. Only the standard library is used; results are JSON, which
page.py makes docs/trust.md of. Tasks have at most 500 rows; the whole takes a night on two cores.
"""
import argparse
import concurrent.futures
import functools
import json
import os
import random
import resource
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


def verdicts(d):
    """Of each transfer method the verdict, and the fits that its controls took."""
    judged = {r["name"]: r["verdict"] for r in d["results"] if r["verdict"]}
    return {"verdicts": {n: v["verdict"] for n, v in judged.items()},
            "fits": {n: sum(c["draws"] * c["repeats"] for c in v["controls"]) for n, v in judged.items()}}


def larger(d):
    return d["results"][0]["metric"] not in ("rmse", "mistake-rate", "ranking-loss")


def guard_of(d):
    """Of each repeat the hidden rows' score of what the guard took, of the best baseline and of the best transfer method by its own scores."""
    g = d.get("guard")
    if not g or not g.get("runs"):
        return None
    runs = {r["name"]: r["runs"] for r in d["results"]}
    return [[round(x, 5) if x is not None else None
             for x in (g["runs"][i], *(runs[n][i] if n in runs else None for n in (g["baseline"][i], g["transfer"][i])))] for i in range(len(g["runs"]))]


def useless(a, t):
    goal, related = GOALS[t % len(GOALS)], "unrelated" if t // len(GOALS) % 2 else "useless"
    if goal not in a.goals.split(","):
        return []
    g = random.Random(a.seed * 1000003 + t)
    with tempfile.TemporaryDirectory() as folder:
        guard = ["--guard"] if goal in ("classify", "regress", "multilabel", "rate") and a.guard else []
        task = write_task(folder, g, goal, related, METHODS[goal], "repeats: %d, seed: %d" % (a.repeats, t + 1))
        d = run(a.ferry, task, *guard)
    return [{"task": t, "goal": goal, "source": related, "larger": larger(d), **verdicts(d), "guard": guard_of(d)}]


# ---- coverage ----

COVERAGE = {"accuracy": ("classify", ["svm", "knn"]), "macro-f1": ("classify", ["svm", "knn"]), "auc": ("classify", ["logreg", "ridge"]),
            "nmi": ("classify", ["svm", "knn"]), "rmse": ("regress", ["ridge", "knn"]), "ranking-loss": ("multilabel", ["ridge", "knn"]),
            "mistake-rate": ("stream", ["mpa", "mpa: {C: 0.01}"]), "ratings rmse": ("rate", ["bias", "rating-mean"]),
            "ratings of 60 users rmse": ("rate", ["bias", "rating-mean"]),
            "embed nmi": ("embed", ["pca-joined: {d: 3}", "pca-joined: {d: 1}"])}


def pool(folder, g, goal, world, users=30):
    """A pool drawn from the population that `world` seeds: only a target."""
    w = random.Random(world)
    if goal in ("classify", "stream", "embed"):
        c = [[w.gauss(0, 0.55) for _ in range(6)] for _ in range(3)]
        n = 120
        y = [g.randrange(3) for _ in range(n)]
        table(folder + "/t.csv", ["b%d" % j for j in range(6)] + ["y"],
              [[c[t][j] + g.gauss(0, 1) for j in range(6)] + ["abc"[t]] for t in y])
        seen = "none" if goal == "embed" else "{per_class: 5}"
        return "\n  - {name: t, role: target, label: y, labelled: %s, views: [{name: b, x: t.csv}]}" % seen
    if goal == "regress":
        v = [w.gauss(0, 1) for _ in range(6)]
        rows = [[g.gauss(0, 1) for _ in range(6)] for _ in range(100)]
        table(folder + "/t.csv", ["b%d" % j for j in range(6)] + ["y"], [r + [sum(a * b for a, b in zip(r, v)) + g.gauss(0, 1.5)] for r in rows])
        return "\n  - {name: t, role: target, label: y, labelled: 20, views: [{name: b, x: t.csv}]}"
    if goal == "multilabel":
        v = [[w.gauss(0, 0.7) for _ in range(6)] for _ in range(4)]
        rows = [[g.gauss(0, 1) for _ in range(6)] for _ in range(100)]
        table(folder + "/t.csv", ["f%d" % j for j in range(6)] + ["l%d" % j for j in range(4)],
              [r + ["%d" % (sum(a * b for a, b in zip(r, v[k])) + g.gauss(0, 1) > 0) for k in range(4)] for r in rows])
        return "\n  - {name: t, role: target, label: [l0, l1, l2, l3], labelled: 25, views: [{name: f, x: t.csv}]}"
    bu, bi = ([g.gauss(0, 0.5) for _ in range(users)] for _ in range(2))
    seen = set()
    while len(seen) < 200 + 5 * users:
        seen.add((g.randrange(users), g.randrange(users)))
    table(folder + "/t.csv", ["user", "item", "rating"],
          [["u%d" % u, "i%d" % i, "%.3f" % (3 + bu[u] + bi[i] + g.gauss(0, 0.7))] for u, i in sorted(seen)])
    return "\n  - {name: t, role: target, ratings: t.csv, labelled: 0.4}"


def names_of(methods):
    out = []
    for i, m in enumerate(methods):
        out.append("{%s, as: m%d}" % (m if ":" in m else m + ": {}", i))
    return out


def difference(d):
    """Mean and interval of m0 - m1, whichever is the best baseline."""
    r = {x["name"]: x for x in d["results"]}
    one = r["m0"]["versus"] or r["m1"]["versus"]
    sign = 1 if r["m0"]["versus"] else -1
    low, high = sorted((sign * one["low"], sign * one["high"])) if one["low"] is not None else (None, None)
    return sign * one["difference"], low, high


def coverage(a, t):
    out = []
    for name, (goal, methods) in COVERAGE.items():
        metric = name.split()[-1]
        g = random.Random(a.seed * 7919 + t)
        with tempfile.TemporaryDirectory() as folder:
            domains = pool(folder, g, goal, a.seed, 60 if "60" in name else 30)
            task = folder + "/task.yaml"
            with open(task, "w") as f:
                f.write("task: pool\ngoal: %s\ndomains:%s\nmethods: [%s]\nevaluate: {repeats: %d, seed: %d, metrics: [%s], controls: none}\n"
                        % (goal, domains, ", ".join(names_of(methods)), a.repeats, t + 1, metric))
            mean, low, high = difference(run(a.ferry, task))
            # the pool's own truth: many more draws of the labels, of other seeds
            own = None
            if t % 4 == 0 and goal in ("classify", "regress"):
                own = difference(run(a.ferry, task, "--set", "evaluate.repeats=80", "--seed", str(100000 + t)))[0]
        out.append({"metric": name, "pool": t, "mean": mean, "low": low, "high": high, "own": own})
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
            d = run(a.ferry, task, "--set", "evaluate.repeats=%d" % repeats, "--seed", str(t + 1), *(["--guard"] if a.guard and repeats == 10 else []))
            hop = next(r for r in d["results"] if r["name"] == "hop")
            out.append({"task": t, "repeats": repeats, "gain": hop["verdict"]["gain"], "larger": True, **verdicts(d), "guard": guard_of(d)})
    return out


# ---- two equal learners ----

SIZES = {"25 rows, 9 labels": (25, "{per_class: 3}", 10), "60 rows, 12 labels": (60, "{per_class: 4}", 10), "120 rows, 15 labels": (120, "{per_class: 5}", 10),
         "120 rows, 15 labels, 30 repeats": (120, "{per_class: 5}", 30), "300 rows, 30 labels": (300, "{per_class: 10}", 10),
         "120 rows, 15 labels, one split": (120, "ids", 10)}


def size(a, t):
    """svm on one of two views that have the same law, against svm on the other (imported predictions, the same splits): the truth is 0."""
    out = []
    for name, (n, seen, repeats) in SIZES.items():
        g = random.Random("%d %s %d" % (a.seed, name, t))
        with tempfile.TemporaryDirectory() as folder:
            y = [i % 3 for i in range(n)]
            centres = [[g.gauss(0, 0.55) for _ in range(6)] for _ in range(3)]
            for v in range(2):
                table(folder + "/%d.csv" % v, ["id"] + ["b%d" % j for j in range(6)] + ["y"],
                      [["t%d" % i] + [centres[k][j] + g.gauss(0, 1) for j in range(6)] + ["abc"[k]] for i, k in enumerate(y)])
            with open(folder + "/seen.txt", "w") as f:
                f.write("".join("t%d\n" % i for i in range(15)))
            for v, methods in enumerate(("svm", "svm, {predictions: {file: 0/predictions/svm.csv}, as: other}")):
                with open(folder + "/%d.yaml" % v, "w") as f:
                    f.write("task: equal\ngoal: classify\ndomains:\n  - {name: t, role: target, id: id, label: y, labelled: %s, x: %d.csv}\n"
                            "methods: [%s]\nevaluate: {repeats: %d, seed: %d, metrics: [accuracy], controls: none}\n"
                            % ("{ids: seen.txt}" if seen == "ids" else seen, v, methods, repeats, t + 1))
                d = run(a.ferry, folder + "/%d.yaml" % v, "--save", "predictions", "-o", folder + "/%d" % v)
        one = next(r for r in d["results"] if r["name"] == "other")["versus"]
        out.append({"design": name, "pool": t, "mean": one["difference"], "low": one["low"], "high": one["high"]})
    return out


# ---- real data ----

@functools.cache
def digits(name):
    """{class: [row of numbers as texts]} of a view of mfeat, in the file's order, so that rows of views belong together."""
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    import where
    by = {}
    with open(os.path.join(where.data("mfeat"), "mfeat", "mfeat-%s.csv" % name)) as f:
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
        d = run(a.ferry, folder + "/task.yaml", *(["--guard"] if a.guard else []))
    return [{"task": t, "goal": "classify", "source": kind, "larger": True, "views": [one, two], **verdicts(d),
             "gains": {r["name"]: round(r["verdict"]["gain"], 4) for r in d["results"] if r["verdict"]}, "guard": guard_of(d)}]


# ---- cost ----

SMALL = ["source=150", "bridge=200", "target=150", "source_features=30", "target_features=20"]
COSTS = {"ferry demo": ([], ""), "a small bridge, hop helps": (SMALL, "methods: [svm, knn, semi-svm, hop, cdspp, hemap]\n"),
         "the same, source labels dealt out anew": (SMALL, "methods: [svm, knn, semi-svm, hop, cdspp, hemap]\n")}


def spent():
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime


def cost(a, t):
    """Seconds of the processor, and fits against the first version's 12 for every transfer method, each fit by what one took in the repeats."""
    name = list(COSTS)[t]
    sizes, methods = COSTS[name]
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([a.ferry, "gen", "bridge", "-q", "-o", folder + "/b", *[w for s in sizes for w in ("--set", s)]], check=True, capture_output=True)
        task = folder + "/b/task.yaml"
        with open(task, "a") as f:
            f.write(methods)
        if "dealt" in name:
            with open(folder + "/b/source.csv") as f:
                head, *rows = [line.rstrip("\n").split(",") for line in f]
            at = head.index("label")
            labels = random.Random(a.seed).sample([r[at] for r in rows], len(rows))
            table(folder + "/b/source.csv", head, [r[:at] + [c] + r[at + 1:] for r, c in zip(rows, labels)])
        for controls in ("none", "quick"):
            before = spent()
            d = run(a.ferry, task, "--controls", controls, "-o", folder + "/" + controls)
            seconds[controls] = round(spent() - before, 2)
    fits = verdicts(d)["fits"]
    one = {r["name"]: sum(r["fit_seconds"]) / len(r["fit_seconds"]) for r in d["results"] if r["name"] in fits}
    return [{"task": name, "cpu": seconds, "fits": fits, "of_first": round(sum(fits[n] * one[n] for n in one) / (12 * sum(one.values())), 3),
             "verdicts": verdicts(d)["verdicts"]}]


RUN = {"cost": (cost, len(COSTS)), "useless": (useless, 300), "coverage": (coverage, 200), "power": (power, 24), "size": (size, 200), "real": (real, 60)}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=list(RUN))
    p.add_argument("ferry")
    p.add_argument("--tasks", type=int, default=0)
    p.add_argument("--first", type=int, default=0, help="the first task of a slice")
    p.add_argument("--repeats", type=int, default=10)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--guard", action="store_true")
    p.add_argument("--goals", default=",".join(GOALS), help="of useless: tasks of other goals are passed over")
    p.add_argument("--quiet", action="store_true")
    p.add_argument("--jobs", type=int, default=1, help="tasks side by side")
    p.add_argument("--out")
    a = p.parse_args()
    make, tasks = RUN[a.what]
    a.tasks = a.tasks or tasks
    version = subprocess.run([a.ferry, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    rows = []

    def write(done):
        text = json.dumps({"what": a.what, "ferry": version, "tasks": done, "repeats": a.repeats, "seed": a.seed, "rows": rows}, separators=(",", ":"))
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
