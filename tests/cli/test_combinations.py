"""No method ends a run: tasks of every goal, shape and defect, made here, with all methods of the goal. A run ends with a table in
which every method has its numbers or the reason why it was skipped; where none could run, with exit code 2 and the reasons.

usage: [FERRY_COMBINATIONS=all] test_combinations.py FERRY [test...]     all: every combination and every choice of every option"""
import functools
import json
import os
import random
import shutil
import sys

from harness import built_with, ferry, main, parses, read, write
from mpi import finish, start

GOALS = ("classify", "regress", "multilabel", "embed", "stream", "rate")
# What the target has: views of the source's columns (a, b) or its own (c), a graph; bridge: b alone, which a bridge joins with a
SHAPES = {"one": "a", "two": "ab", "unshared": "ac", "negative": "ac-", "graph": "g", "view-graph": "ag", "bridge": "b", "negative-bridge": "b-"}
DEFECTS = ("none", "rows", "cells", "one-class", "no-labels", "one-row", "one-hidden", "constant", "unseen", "huge")
MISTAKES = {("hop", "gate", "yes"), ("hop", "learner", "svm"), ("triplex", "path", "it")}  # of options that do not go together: those end it
ONCE = {("classify", "negative", "none"), ("classify", "one", "constant"), ("classify", "two", "one-row"), ("regress", "bridge", "constant"),
        ("rate", "ratings", "huge")}
ROWS = {"s": 24, "b": 24, "t": 30}


def number(r, cls, j, shape, defect):
    x = abs(r.gauss(1 + 1.5 * ((cls + j) % 3), 0.7)) + 0.1
    if defect == "constant":
        return 2.5
    if "-" in shape and r.random() < 0.3:
        x = -x
    return x * 1e307 if defect == "huge" else x


def cell(x, r, defect):
    return "" if defect == "cells" and r.random() < 0.2 else f"{x:.4g}"


def label(goal, cls, r):
    if goal == "regress":
        return f"{cls + r.gauss(0, 0.2):.3f}"
    if goal == "multilabel":
        return f"{cls % 2},{(cls + 1) % 2},{int(r.random() < 0.5)}"
    return "uvw"[cls]


def write_domain(folder, d, views, goal, shape, defect):
    """The files of domain d; its lines of the task file."""
    r = random.Random(f"{d} {goal} {shape} {defect}")
    n = (2 if "g" in shape else 1) if defect.startswith("one-") and defect != "one-class" and d == "t" else ROWS[d]
    classes = 2 if d == "s" and defect == "unseen" else 3
    cls = [i % classes for i in range(n)]
    entry = {"name": d, "role": {"s": "source", "b": "intermediate", "t": "target"}[d]}
    for v in views:
        lines = ["id," + ",".join(f"{v}{j}" for j in range(5))]
        for i in range(n):
            if defect == "rows" and n > 1 and (i + "abc".index(v)) % 4 == 0:
                continue
            lines.append(f"{d}{i}," + ",".join(cell(number(r, cls[i], j, shape if v == "c" or "b" in shape else "", defect), r, defect) for j in range(5)))
        write(folder, f"{d}-{v}.csv", "\n".join(lines) + "\n")
    entry["views"] = [{"name": v, "x": f"{d}-{v}.csv", "id": "id"} for v in views] or None
    if "g" in shape and d == "t":
        write(folder, "t.tsv", "".join(f"t{i}\tt{(i + k) % n}\n" for i in range(n) for k in (3, 7)))
        entry["graphs"] = [{"name": "g", "edges": "t.tsv"}]
    if d != "b":
        head = "id," + ("l1,l2,l3" if goal == "multilabel" else "label")
        write(folder, d + "-y.csv", head + "\n" + "".join(f"{d}{i},{label(goal, c, r)}\n" for i, c in enumerate(cls)))
        entry["y"] = {"file": d + "-y.csv", "id": "id", "label": "l1,l2,l3" if goal == "multilabel" else "label"}
    if d == "t":
        entry["labelled"] = "none" if defect in ("no-labels", "one-hidden") else ("none" if goal == "stream" else "1.0") if defect == "one-row" else 9
        if defect in ("one-class", "unseen"):
            write(folder, "seen.txt", "".join(f"t{i}\n" for i in range(n) if cls[i] < (1 if defect == "one-class" else 2))[:24])
            entry["labelled"] = {"ids": "seen.txt"}
    return {k: v for k, v in entry.items() if v is not None}


def write_ratings(folder, d, defect):
    r = random.Random(f"{d} {defect}")
    n = 1 if defect in ("one-row", "one-hidden") and d == "t" else 15
    lines = []
    for u in range(n):
        for i in range(12 if n > 1 else 1):
            if defect == "rows" and u % 4 == 0 or defect == "cells" and r.random() < 0.7 or r.random() < 0.2 and n > 1:
                continue
            x = 3 if defect == "constant" else 1 + (u * i + i) % 5
            lines.append(f"{d}{u}\t{'x' if defect == 'unseen' and d == 't' else ''}i{i}\t{x * 1e200 if defect == 'huge' else x}")
    write(folder, d + ".tsv", "\n".join(lines) + "\n")
    entry = {"name": d, "role": {"s": "source", "t": "target"}[d], "ratings": d + ".tsv"}
    if d == "t":
        entry["labelled"] = "none" if defect == "no-labels" else 1 if defect == "one-class" else 0.5
    return entry


def write_task(folder, goal, shape, defect, methods):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    if goal == "rate":
        domains = [write_ratings(folder, d, defect) for d in "st"]
    else:
        of = SHAPES[shape]
        bridge = "b" in of and "a" not in of
        views = {"s": "a" if bridge or of != "ab" else "ab", "b": "ab" if bridge else "", "t": [v for v in "abc" if v in of]}
        domains = [write_domain(folder, d, views[d], goal, of, defect) for d in "sbt" if d != "b" or bridge]
    task = {"task": "t", "goal": goal, "domains": domains, "evaluate": {"repeats": 2}}
    if methods:
        task["methods"] = methods
    return write(folder, "task.yaml", json.dumps(task, indent=1))  # JSON is YAML


@functools.lru_cache(maxsize=None)
def methods_of(goal):
    return [m for m in parses(ferry("methods", "--json").out) if goal in m["goals"] and not m["asked"]]


def variants(goal):
    """Every method of the goal, and again with every other value of each option that has words for values, and the least of each number."""
    for m in methods_of(goal):
        yield m["name"]
        for o in m["options"]:
            values = o["range"].split(" | ") if " | " in o["range"] else [o["range"].split(" .. ")[0]] if " .. " in o["range"] else []
            for v in values:
                if v != o["default"] and not v.startswith("above") and (m["name"], o["name"], v) not in MISTAKES:
                    yield {m["name"]: {o["name"]: v}, "as": f"{m['name']} {o['name']}={v}"}


def combinations(*goals):
    for goal in goals:
        for shape in SHAPES if goal != "rate" else ("ratings",):
            for defect in DEFECTS:
                yield goal, shape, defect


def name_of(entry):
    return entry if isinstance(entry, str) else entry["as"]


def plain(names):
    """Without a label of the target a learner is there as the one that the source trains (svm-source)."""
    names = set(names)
    return names | {n.removesuffix("-source").removesuffix("+source") for n in names}


def check_results(task, out, names, where):
    """Every method has numbers or a reason; the report has the reasons too. Returns the reasons."""
    r = parses(read(out, "results.json"))
    reasons = {s["name"]: s["reason"] for s in r["skipped"]}
    ran = {s["name"] for s in r["results"]}
    assert not ran & set(reasons) and ran, (where, ran, reasons)
    missing = set(names) - plain(ran) - plain(reasons)
    assert not missing and all(reasons.values()), (where, missing, reasons)
    page = read(out, "report.html")
    assert all(json.dumps(s)[1:-1].replace("<", "\\u003C") in page or s in page for s in reasons.values()), (where, reasons)
    for s in r["results"]:  # a metric may have nothing to say (one class, one row), but has one value a repeat
        assert s["mean"] is None or all(len(m["runs"]) == r["repeats"] for m in s["metrics"].values()), (where, s)
    return reasons


def check_run(folder, where, methods, *more):
    """One run: a table, or exit code 2 with the reason of every method."""
    goal, shape, defect = where
    task, out = write_task(folder + "/task", *where, methods), folder + "/task/out"
    names = [name_of(m) for m in methods or [m["name"] for m in methods_of(goal)]]
    r = ferry("run", task, "-o", out, "--threads", "1", *more, code=None)
    assert r.code in (0, 2), (where, r)
    if r.code == 2:
        last = r.err.splitlines()[-1]
        assert last.startswith("ferry: task 't': no method could run: ") and r.out == "" and not os.path.exists(out), (where, r)
        assert all(n in last for n in names) or len(last) > 1000, (where, set(names), r)
        return {n: last for n in names}
    reasons = check_results(task, out, names, where)
    if methods:  # named: each says why in the table
        assert all(f"no result: {n}" in r.out.replace("\n", " ") for n in reasons), (where, reasons, r.out)
    return reasons


def check_goal(folder, *goals):
    """All methods, and advice, on every shape with every defect; where code is instrumented, on one in three and on those that differed once.
    Returns the reasons by combination."""
    found, part = {}, built_with(b"__asan_init", b"__gcov_exit")
    for i, where in enumerate(combinations(*goals)):
        if part and i % 3 and where not in ONCE:
            continue
        found[where] = check_run(folder, where, None)
        r = parses(ferry("advise", folder + "/task/task.yaml", "--json", "--threads", "1").out)
        assert plain(m["name"] for m in r["methods"]) >= {m["name"] for m in methods_of(where[0])}, (where, r)
        assert all(m["fits"] or m["reason"] for m in r["methods"]), (where, r)
    return found


def test_classify(folder):
    found = check_goal(folder, "classify")
    # a view of the target alone, with numbers below 0, ended the run
    assert "triplex" not in found["classify", "negative", "none"]
    assert "all features of 's' are constant" in found["classify", "one", "constant"]["hemap"]
    assert "all the same" in found["classify", "two", "one-row"]["place"]


def test_regress(folder):
    found = check_goal(folder, "regress")
    assert "all features of 's' are constant" in found["regress", "bridge", "constant"]["hemap"]


def test_multilabel(folder):
    check_goal(folder, "multilabel")


def test_embed(folder):
    check_goal(folder, "embed")


def test_stream(folder):
    check_goal(folder, "stream")


def test_rate(folder):
    found = check_goal(folder, "rate")
    assert "too large to add up" in found["rate", "ratings", "huge"]["mf"]


def test_options(folder):
    """Named methods, with every value of their options: those that fail are skipped too. All combinations, or one in nine."""
    every = os.environ.get("FERRY_COMBINATIONS") == "all"
    methods = {g: list(variants(g)) for g in GOALS}
    for i, where in enumerate(combinations(*GOALS)):
        if every or i % 9 == 4:
            check_run(folder, where, methods[where[0]], "-q", "--set", "evaluate.controls=none", "--set", "evaluate.answer=no", "--set",
                      "evaluate.repeats=1")


def test_named_methods(folder):
    """All skipped: exit code 2, the reasons, and nothing written. One that runs: exit code 0, and the others say why."""
    where = ("classify", "one", "constant")
    reasons = check_run(folder, where, ["hemap"])
    assert "hemap: repeat 1 of 2: hemap: all features of 's' are constant" in reasons["hemap"]
    r = ferry("run", write_task(folder + "/task", *where, ["hemap", "sgc", "ica", "majority"]), "-o", folder + "/task/out")
    for line in ("no result: hemap: repeat 1 of 2: hemap: all features of 's' are constant", "no result: sgc needs a graph", "no result: ica needs a graph"):
        assert line in r.out, r
    write_task(folder + "/task", *where, ["majority", {"ridge": {"lambda": -2}}])  # a mistake in the task still ends everything
    r = ferry("run", folder + "/task/task.yaml", code=2)
    assert "methods[1].ridge.lambda" in r.err and r.out == "", r


def test_select(folder):
    """A candidate that breaks down is said to, and the others are ranked."""
    for defect in DEFECTS[:-1]:
        task = write_task(folder + "/task", "classify", "bridge", defect, None)
        bad = json.loads(read(task))
        bad["domains"].insert(1, {"name": "huge", "role": "intermediate", "views": [{"name": v, "x": f"huge-{v}.csv", "id": "id"} for v in "ab"]})
        for v in "ab":
            rows = read(folder, "task", f"b-{v}.csv").splitlines()
            write(folder, f"task/huge-{v}.csv", "\n".join([rows[0]] + [",".join([f[0]] + [x and x + "e307" for x in f[1:]]) for f in (r.split(",") for r in rows[1:])]) + "\n")
        ways = parses(ferry("select", write(folder, "task/task.yaml", json.dumps(bad)), "--json").out)["ways"]
        one = {w["via"][0]: w for w in ways if len(w["via"]) == 1}
        assert one["huge"]["reason"] and not one["huge"]["reached"], (defect, one)
        if defect == "none":
            assert "too large" in one["huge"]["reason"] and one["b"]["reached"] and one["b"]["reason"] is None, one


def test_ranks(folder):
    """Cells or rows over ranks: what fails there has the reason that it has in one process."""
    for where, more in ((("classify", "one", "constant"), []), (("classify", "two", "one-row"), []), (("rate", "ratings", "huge"), []),
                        (("classify", "one", "constant"), ["--engine", "mpi"]), (("rate", "ratings", "unseen"), ["--engine", "mpi"])):
        alone = check_run(folder, where, None)
        task, out = folder + "/task/task.yaml", folder + "/task/ranks"
        r = finish(start(2, "run", task, "-q", "-o", out, *more))
        assert r.code in (0, 2) and (r.code == 0) == os.path.exists(out), (where, r)
        if r.code == 0:
            reasons = check_results(task, out, alone, where)
            assert set(alone) <= set(reasons) if more else alone == reasons, (where, alone, reasons)
        else:
            assert "no method could run: " in r.err and not more, (where, r)


if __name__ == "__main__":
    main(sys.modules[__name__])
