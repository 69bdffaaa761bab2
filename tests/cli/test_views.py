"""coca and hemap through the command: results, notes, and input that does not fit."""
import os
import random
import sys

from harness import ferry, main, parses, read, refused, write


def table(folder, name, ids, cell, columns, label=None):
    lines = [",".join(["id"] + [f"{name}{j}" for j in range(columns)] + (["class"] if label else []))]
    for n, i in enumerate(ids):
        lines.append(",".join([i] + [f"{cell(n, j):.4f}" for j in range(columns)] + ([label(n)] if label else [])))
    return write(folder, name + ".csv", "\n".join(lines) + "\n")


def shifted(rng, constant=None):
    """Two kinds, told by the first two columns; one column may be constant."""
    return lambda n, j: 7 if j == constant else rng.gauss(3 * (n % 2) if j < 2 else 0, 1)


VIEWS = """task: views
goal: embed
domains:
  - name: things
    role: target
    views:
      - {name: a, x: a.csv, id: id}
      - {name: b, x: b.csv, id: id}
    graphs:
      - {name: g, edges: g.tsv}
    y: labels.csv
    labelled: 0.5
methods:
  - coca: {d: 2}
  - pca-joined: {d: 2}
evaluate: {repeats: 2}
"""


def views_task(folder, text=VIEWS):
    """40 things in two views, the first with a constant column; a graph that names two ids too many."""
    rng = random.Random(3)
    ids = [f"n{i}" for i in range(40)]
    table(folder, "a", ids, shifted(rng, constant=3), 5)
    table(folder, "b", ids, shifted(rng), 4)
    table(folder, "other", [f"m{i}" for i in range(40)], shifted(rng), 4)
    write(folder, "labels.csv", "id,class\n" + "".join(f"{i},{'xy'[n % 2]}\n" for n, i in enumerate(ids)))
    write(folder, "one.csv", "id,class\n" + "".join(f"{i},x\n" for i in ids))
    write(folder, "g.tsv", "".join(f"n{i}\tn{(i + 2) % 40}\n" for i in range(40)) + "n1\tstranger\nstranger\tother\n")
    return write(folder, "task.yaml", text)


def results(folder, *args):
    r = ferry("run", *args, "-o", folder + "/out", "--force")
    r.out += ferry("explain", folder + "/out").out
    return r, {m["name"]: m for m in parses(read(folder, "out/results.json"))["results"]}


def test_coca(folder):
    r, found = results(folder, views_task(folder))
    assert "2 of 42 edges name ids that are no instances (such as 'stranger')" in r.err, r
    for name in ("coca d=2", "pca-joined d=2"):
        assert found[name]["mean"] > 0.6, found[name]
        scatter = found[name]["diagnostics"]["scatter"]
        assert [len(scatter[k]) for k in ("id", "z1", "z2", "class")] == [40] * 4
        assert set(scatter["class"]) == {"x", "y", None}  # only what may be seen
    weights = found["coca d=2"]["diagnostics"]["weights"]
    assert set(weights) == {"a", "b"} and abs(sum(weights.values()) - 1) < 1e-9


def test_files_of_methods(folder):
    """Files that options name lie beside the task file, wherever the command runs; one that is missing is named with its line."""
    task = views_task(folder + "/task", VIEWS.replace("{d: 2}", "{d: 2, weights: qp, pairs: links.csv}", 1))
    missing = refused("run", task, "-o", folder + "/out", cwd=folder, says=f"{task}:14: methods[0].coca.pairs: links.csv: no such file")
    assert "out" not in os.listdir(folder), missing
    write(folder, "task/links.csv", "".join(f"n{i},n{i + 2},1\nn{i},n{i + 1},-1\n" for i in range(0, 30, 3)))
    r = ferry("run", task, "-o", folder + "/out", cwd=folder)
    found = parses(read(folder, "out/results.json"))
    assert {m["method"] for m in found["results"]} == {"coca", "pca-joined"} and not found["skipped"], r


def test_views_without_common_ids(folder):
    task = views_task(folder, VIEWS.replace("x: b.csv", "x: other.csv"))
    r = ferry("run", task, "-o", folder + "/out", code=2)
    assert r.out == "" and "needs views with common ids" in r.err and "view 'a'" in r.err, r
    assert not os.path.exists(folder + "/out")


def test_too_many_dimensions(folder):
    task = views_task(folder, VIEWS.replace("coca: {d: 2}", "coca: {d: 30}"))
    r, found = results(folder, task)
    assert "d = 30, but the views of target 'things' have only 9 dimensions" in " ".join(r.out.split()), r
    assert set(found) == {"pca-joined d=2"}
    # as many as there are columns, of which one is constant: the rank is smaller, and that is said
    r, found = results(folder, views_task(folder, VIEWS.replace("coca: {d: 2}", "coca: {d: 9}")))
    assert "of d = 9 eigenvalues are positive" in r.err, r
    assert found["coca d=9"]["runs"]
    refused("run", task, "--set", "methods.coca.d=-2", says="d", cwd=folder)


def test_one_class(folder):
    text = VIEWS.replace("labels.csv", "one.csv").replace("coca: {d: 2}", "coca: {d: 2, weights: qp}")
    r, _ = results(folder, views_task(folder, text))
    assert "needs links of both kinds; there are 190 within a class and 0 between" in " ".join(r.out.split()), r
    r, found = results(folder, views_task(folder, VIEWS.replace("labels.csv", "one.csv")))
    assert set(found["coca d=2"]["diagnostics"]["weights"].values()) == {0.5}  # nothing to learn them from


def test_many_views(folder):
    """More views than the supports of a quadratic program could be tried for."""
    rng = random.Random(4)
    ids = [f"n{i}" for i in range(40)]
    views = []
    for v in range(15):
        table(folder, f"v{v}", ids, shifted(rng) if v == 7 else lambda n, j: rng.gauss(0, 1), 4)
        views.append(f"      - {{name: v{v}, x: v{v}.csv, id: id}}\n")
    write(folder, "labels.csv", "id,class\n" + "".join(f"{i},{'xy'[n % 2]}\n" for n, i in enumerate(ids)))
    task = write(folder, "task.yaml", "task: many\ngoal: embed\ndomains:\n  - name: things\n    role: target\n    views:\n"
                 + "".join(views) + "    y: labels.csv\n    labelled: 0.5\nmethods:\n  - coca: {d: 2, weights: qp}\n"
                 "evaluate: {repeats: 1}\n")
    _, found = results(folder, task)
    weights = found["coca d=2 weights=qp"]["diagnostics"]["weights"]
    assert len(weights) == 15 and abs(sum(weights.values()) - 1) < 1e-9 and min(weights.values()) >= 0
    assert weights["v7"] == max(weights.values()) and weights["v7"] > 0.5, weights


STRANGERS = """task: strangers
goal: classify
domains:
  - {name: s, role: source, x: s.csv, id: id, label: class}
  - {name: t, role: target, x: t.csv, id: id, label: class, labelled: 10}
methods:
  - hemap
  - hemap: {mode: paper, risk: 0}
    as: picky
  - hemap-paper: {sampling: no}
    as: thesis
  - logreg
evaluate: {repeats: 2}
"""


def strangers_task(folder, source="pq", target="pq", text=STRANGERS):
    rng = random.Random(5)
    table(folder, "s", [f"s{i}" for i in range(60)], shifted(rng, constant=5), 6, lambda n: source[n % 2])
    table(folder, "t", [f"t{i}" for i in range(50)], shifted(rng, constant=3), 4, lambda n: target[n % 2])
    return write(folder, "task.yaml", text)


def test_too_risky_is_a_result(folder):
    """The refusal comes with its reason, in the table and in the file, and the exit code is 0."""
    r, found = results(folder, strangers_task(folder))
    assert "picky: too risky: source and target differ by" in " ".join(r.out.split()), r
    d = found["picky"]["diagnostics"]
    assert d["refused"].startswith("too risky: ") and d["refused"].endswith("not used") and d["gamma"] == 0
    assert d["selection"]["clusters"] >= 2 and d["selection"]["kl"] > 0
    assert len(found["picky"]["runs"]) == 2 and found["picky"]["mean"] > 0.7
    d = found["hemap"]["diagnostics"]
    assert "refused" not in d and len(d["scatter"]["target"]) == 50 and len(d["scatter"]["source"]) == 60
    # and what the thesis's modes rest on is said
    assert "row" in found["thesis"]["diagnostics"]["note"], found["thesis"]["diagnostics"]["note"]
    # the same for a single fit
    r = ferry("fit", folder + "/task.yaml", "-m", "hemap-paper", "--set", "risk=0", "-o", folder + "/m.ferry")
    assert r.code == 0 and os.path.exists(folder + "/m.ferry")


def test_one_class_ties_nothing(folder):
    for source, target in (("pp", "pq"), ("pq", "pp")):
        r, found = results(folder, strangers_task(folder, source, target))
        assert "nothing ties the source to the target" in " ".join(r.out.split()), r
        assert found["hemap"]["diagnostics"]["refused"] and found["hemap"]["diagnostics"]["gamma"] == 0


def test_more_dimensions_than_rank(folder):
    text = STRANGERS.replace("  - hemap\n", "  - hemap: {k: 50}\n  - hemap: {mode: paper, k: 50}\n    as: wide\n")
    _, found = results(folder, strangers_task(folder, text=text))
    assert found["hemap k=50"]["diagnostics"]["dimensions"] <= 4
    assert found["wide"]["diagnostics"]["dimensions"] <= 10


def test_pairs(folder):
    task = strangers_task(folder, text=STRANGERS.replace("labelled: 10}", "labelled: 10, pairs: pairs.csv}"))
    write(folder, "pairs.csv", "s,t\n" + "".join(f"s{i},t{i}\n" for i in range(40)))
    _, found = results(folder, task)
    d = found["hemap"]["diagnostics"]
    assert d["tied_by"].startswith("row pairs") or "pairs" in d["tied_by"], d["tied_by"]
    assert d["ties"] == 40
    write(folder, "pairs.csv", "s,t\ns1,nobody\n")
    r = ferry("run", task, "-o", folder + "/bad", code=None)
    assert "nobody" in r.err + r.out, r


main(sys.modules[__name__])
