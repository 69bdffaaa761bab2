"""W and T on the tasks of tasks.json, and what was expected of models against the rows that they did not see.

    python3 repro/answer/measure.py FERRY [OUT.json]

A task is run with hidden labels (W, T and every method on the same splits); then models are fitted by `ferry fit` without -m from
one draw of labels each, and their cross-fitted expectation is compared with their score on all rows whose labels they did not see.
"""
import csv
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from where import data  # noqa: E402


def rows_of(path, delimiter=",", head=True):
    with open(path, encoding="utf-8-sig") as f:
        rows = [r for r in csv.reader(f, delimiter=delimiter, skipinitialspace=True) if r]
    return rows[1:] if head else rows


def digits(view):
    """mfeat: the last column is the class."""
    return [(r[:-1], "d" + r[-1]) for r in rows_of(os.path.join(data("mfeat"), "mfeat", f"mfeat-{view}.csv"))]


def images():
    path = os.path.join(data("optdigits"), "optdigits", "optdigits.csv")
    with open(path, encoding="utf-8") as f:
        head = next(csv.reader(f))
    first = 1 if head[0] == "id" else 0
    return [(r[first:first + 64], "d" + r[-1]) for r in rows_of(path)]


def part(image, which):
    at = {"left": lambda i: i % 8 < 4, "right": lambda i: i % 8 >= 4, "top": lambda i: i < 32, "bottom": lambda i: i >= 32}[which]
    return [x for i, x in enumerate(image) if at(i)]


def domains(t, rng):
    """(source, bridge or None, target): lists of (features, label); of a bridge pairs of features."""
    if t["set"] == "mfeat":
        a, b = digits(t["source"]), digits(t["target"])
        order = rng.sample(range(len(a)), 1100)
        return [a[i] for i in order[:400]], [(a[i][0], b[i][0]) for i in order[400:700]], [b[i] for i in order[700:]]
    if t["set"] in ("halves", "writers"):
        all_ = images()
        if t["set"] == "writers":
            return all_[:300], None, all_[-400:]
        s, h = t["source"], t["target"]
        return ([(part(x, s), y) for x, y in all_[:500]], [(part(x, s), part(x, h)) for x, _ in all_[600:1000]],
                [(part(x, h), y) for x, y in all_[1200:1600]])
    if t["set"] == "australian":
        rows = rows_of(os.path.join(data("statlog"), "statlog", "australian.dat"), " ", False)
        split = {v: [(r[1:-1], "c" + r[-1]) for r in rows if r[0] == v] for v in ("0", "1")}
        return split["0"], None, split["1"]
    if t["set"] == "german":
        with open(os.path.join(data("statlog"), "statlog", "german.data-numeric"), encoding="utf-8") as f:
            rows = [line.split() for line in f if line.split()]
        return ([(r[:-1], "c" + r[-1]) for r in rows if float(r[9]) < 30], None, [(r[:-1], "c" + r[-1]) for r in rows if float(r[9]) >= 30][:450])
    rows = [[x.strip() for x in r] for r in rows_of(os.path.join(data("concrete"), "concrete", "Concrete_Data.csv"))]
    if t["source"] == "slump":
        lines = [r for r in rows_of(os.path.join(data("concrete"), "concrete", "slump_test.data")) if r]
        return [(r[1:8], r[10]) for r in lines], None, [(r[:7], r[8]) for r in rng.sample([r for r in rows if r[7] == "28"], 400)]
    early = [r for r in rows if float(r[7]) <= 14]
    late = [r for r in rows if float(r[7]) >= 56]
    return [(r[:7], r[8]) for r in early], None, [(r[:7], r[8]) for r in late]


def changed(source, kind, rng):
    labels = [y for _, y in source]
    if kind == "useless":
        rng.shuffle(labels)
    elif kind == "renamed":
        names = sorted(set(labels))
        labels = [names[(names.index(y) + 1) % len(names)] for y in labels]
    return [(x, y) for (x, _), y in zip(source, labels)]


def write_rows(path, prefix, rows, labels=True):
    with open(path, "w", encoding="utf-8") as f:
        f.write(",".join(["id"] + [f"{prefix}{j}" for j in range(len(rows[0][0]))] + (["label"] if labels else [])) + "\n")
        for i, (x, y) in enumerate(rows):
            f.write(",".join([f"{os.path.basename(path)[0]}{i}", *x] + ([y] if labels else [])) + "\n")


def write_task(folder, t, kind, seed, plan):
    rng = random.Random(seed)
    source, bridge, target = domains(t, rng)
    source = changed(source, kind, rng)
    a, b = ("a", "b") if bridge else ("x", "x")
    write_rows(os.path.join(folder, "s.csv"), a, source)
    write_rows(os.path.join(folder, "t.csv"), b, target)
    if bridge:
        write_rows(os.path.join(folder, "b1.csv"), a, [(x, "") for x, _ in bridge], False)
        write_rows(os.path.join(folder, "b2.csv"), b, [(x, "") for _, x in bridge], False)
    numbers = t["set"] == "concrete"
    n = len({y for _, y in target})
    labels = plan["labels"]["numbers" if numbers else "two classes" if n == 2 else "ten classes"]
    methods = plan["methods"]["numbers" if numbers else "bridge" if bridge else "shared"]
    lines = [f"task: {t['set']}-{t['source']}-{t['target']}-{kind}", f"goal: {'regress' if numbers else 'classify'}", "domains:",
             f"  - {{name: s, role: source, id: id, label: label, views: [{{name: {a}, x: s.csv}}]}}"]
    if bridge:
        lines.append("  - {name: b, role: intermediate, id: id, views: [{name: a, x: b1.csv}, {name: b, x: b2.csv}]}")
    lines += [f"  - {{name: t, role: target, id: id, label: label, labelled: {labels if numbers else '{per_class: %d}' % labels}, views: [{{name: {b}, x: t.csv}}]}}",
              "methods: " + json.dumps(methods), f"evaluate: {{repeats: {plan['repeats']}, controls: none}}"]
    path = os.path.join(folder, "task.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    return path, {f"t{i}": y for i, (_, y) in enumerate(target)}


def ferry(*args):
    p = subprocess.run([FERRY, *map(str, args)], capture_output=True, text=True)
    if p.returncode != 0:
        sys.exit(f"{' '.join(map(str, args))}: {p.stderr}")
    return p.stdout


def r2(rmse, truth):
    y = [float(x) for x in truth.values()]
    mean = sum(y) / len(y)
    return 1 - rmse ** 2 / (sum((x - mean) ** 2 for x in y) / len(y))


def one_model(task, truth, seed, folder, numbers):
    """Expected and true score of a model, and the interval."""
    import struct
    model, seen = os.path.join(folder, "m.ferry"), os.path.join(folder, "run")
    ferry("fit", task, "--seed", seed, "-q", "-o", model)
    with open(model, "rb") as f:
        n = struct.unpack("<Q", f.read(8))[0]
        meta = json.loads(f.read(n))["__metadata__"]
    a = json.loads(meta["ferry.diagnostics"])["answer"]
    ferry("run", task, "--seed", seed, "-q", "--no-answer", "--set", "evaluate.repeats=1", "--set", "evaluate.splits=yes", "-o", seen, "--force")
    name = sorted(os.listdir(os.path.join(seen, "predictions")))[0]
    with open(os.path.join(seen, "predictions", name), encoding="utf-8") as f:
        hidden = {r["id"] for r in csv.DictReader(f) if r["scored"] == "1"}
    got = {r["id"]: r["prediction"] for r in csv.DictReader(ferry("predict", model, os.path.join(folder, "t.csv"), "-q").splitlines())}
    if numbers:
        x = (sum((float(got[i]) - float(truth[i])) ** 2 for i in hidden) / len(hidden)) ** .5
        return {"expected": a["value"], "true": x, "members": a["members"]}
    return {"expected": a["value"], "true": sum(got[i] == truth[i] for i in hidden) / len(hidden), "members": a["members"]}


def measure(t, kind, seed, plan):
    with tempfile.TemporaryDirectory() as folder:
        task, truth = write_task(folder, t, kind, seed, plan)
        numbers = t["set"] == "concrete"
        d = json.loads(ferry("run", task, "-q", "--json", "-o", os.path.join(folder, "out")))
        a = d["answer"]
        score = (lambda x: r2(x, truth)) if numbers else (lambda x: x)
        return {"task": d["task"], "kind": kind, "goal": d["goal"], "labels": d["visible"], "W": score(a["value"]), "T": score(a["value_without"]),
                "worth": [a["worth"], a["worth_low"], a["worth_high"], a["verdict"]],
                "methods": {r["name"]: score(r["mean"]) for r in d["results"] if r["kind"] != "control"},
                "models": [one_model(task, truth, 100 + k, folder, numbers) for k in range(plan["models"])]}


def main():
    with open(os.path.join(HERE, "tasks.json"), encoding="utf-8") as f:
        plan = json.load(f)
    out = sys.argv[2] if len(sys.argv) > 2 else os.path.join(HERE, "results.json")
    found = []
    for i, t in enumerate(plan["tasks"]):
        for kind in t["kinds"]:
            found.append(measure(t, kind, 10 + i, plan))
            r = found[-1]
            print(f"{r['task']:28s} W {r['W']:.3f} T {r['T']:.3f} {r['worth'][3]}", flush=True)
            with open(out, "w", encoding="utf-8") as f:
                json.dump(found, f, indent=1)


if __name__ == "__main__":
    FERRY = os.path.abspath(sys.argv[1])
    main()
