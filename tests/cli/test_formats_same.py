"""Values decide, storage never: the same task from files of any format, dense or sparse, gives every method the same
numbers, and the predictions are the same bits."""
import json
import os
import random
import sys

from harness import ferry, main, read, tree, write

# How a matrix is stored: its file name, what reads it with the same shape, and what it is made from. CSV comes first:
# the others are compared with it. NPY and CSV store every cell, svmlight and mtx only those that are not 0, MAT and
# NPZ either.
FORMATS = [("csv", "csv", None), ("svmlight", "svm", "csv"), ("npy", "npy", "csv"), ("dense MAT", "dense.mat", "csv"),
           ("sparse MAT", "sparse.mat", "svm"), ("mtx", "mtx", "svm"), ("sparse NPZ", "npz", "svm"),
           ("dense fdata", "dense.fdata", "csv"), ("sparse fdata", "sparse.fdata", "svm")]


def rows_of(rng, n, cols, kind, classes):
    """Rows that tell classes apart somewhat: dense numbers, mostly zeros below and above 0, or counts of words."""
    centre = [[rng.gauss(0, 1) for _ in range(cols)] for _ in range(3)]
    x = []
    for i in range(n):
        row = [centre[classes[i]][j] + rng.gauss(0, 1.5) for j in range(cols)]
        if kind == "gaps":
            row = [v if abs(v) > 3 else 0.0 for v in row]
        elif kind == "words":
            row = [float(int(v - 1)) if v > 2 else 0.0 for v in row]
        elif kind == "shares":
            row = [abs(v) if abs(v) > 1 else 0.0 for v in row]
        x.append(row)
    return x


def store(folder, name, x):
    """One matrix in all formats, with all digits."""
    n, cols = len(x), len(x[0])
    write(folder, f"{name}.csv", "".join(",".join(repr(v) for v in row) + "\n" for row in x))
    write(folder, f"{name}.svm", "".join(
        "0 " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row) if v != 0) + "\n" for row in x))
    for label, end, source in FORMATS:
        if source is None or end == "svm":
            continue
        sets = ["--set", f"features={cols}"] if source == "svm" else ["--set", "header=no"]
        ferry("convert", f"{name}.{source}", f"{name}.{end}", "-q", *sets, cwd=folder)
    return cols


def make(folder, kind, seed):
    """A source (view a), a bridge (a, b) and a target (b); and a target with two views and a graph."""
    rng = random.Random(seed)
    width = {"a": 30, "b": 26, "c": 24}
    for domain, views, n in (("source", "a", 60), ("bridge", "ab", 50), ("target", "bc", 48)):
        classes = [i % 3 for i in range(n)]
        rng.shuffle(classes)
        for view in views:
            store(folder, f"{domain}_{view}", rows_of(random.Random(f"{seed}{view}"), n, width[view], kind, classes))
        write(folder, f"{domain}.labels", "".join(f"c{k}\n" for k in classes))
    write(folder, "edges.tsv", "".join(f"{i + 1}\t{(i * 7 + 3) % 48 + 1}\n" for i in range(48)))
    return width


def task(folder, end, width, views, graph):
    """The task file for files that end so."""
    def view(domain, v):
        more = f", features: {width[v]}" if end == "svm" else ", header: no" if end == "csv" else ""
        more += ", label: none" if end in ("csv", "npy") else ""
        return f"      - {{name: {v}, x: {domain}_{v}.{end}{more}}}\n"
    text = "task: same\ngoal: classify\ndomains:\n"
    for domain, role, which in (("source", "source", "a"), ("bridge", "intermediate", "ab"),
                                ("target", "target", views)):
        text += f"  - name: {domain}\n    role: {role}\n    views:\n" + "".join(view(domain, v) for v in which)
        text += f"    y: {domain}.labels\n"  # svmlight has labels in any case, which y replaces
        if domain == "target":
            text += "    labelled: {per_class: 4}\n" + ("    graphs: [{name: g, edges: edges.tsv}]\n" if graph else "")
    return write(folder, f"task-{end}-{views}.yaml", text + "evaluate: {repeats: 1, seed: 3, controls: none}\n")


def run(folder, end, width, views, graph):
    out = os.path.join(folder, f"out-{end}-{views}")
    r = ferry("run", task(folder, end, width, views, graph), "--out", out, "-q")
    assert "warning" not in r.err, r
    results = json.loads(read(out, "results.json"))
    return tree(os.path.join(out, "predictions")), [m["name"] for m in results["results"]]


def same(folder, kind, views, graph, least):
    """All formats against CSV."""
    width = make(folder, kind, f"{kind}")
    want, methods = run(folder, "csv", width, views, graph)
    assert len(methods) >= least, methods
    assert len(want) >= least
    for label, end, _ in FORMATS[1:]:
        got, others = run(folder, end, width, views, graph)
        assert sorted(others) == sorted(methods), (label, set(methods) ^ set(others))
        differ = sorted(name for name in want if got.get(name) != want[name])
        assert not differ, f"{kind}: {label} and CSV differ in {differ}"


def scores(folder, end, views, method):
    """What a saved model says of the target, with its scores."""
    more = ["--set", "label=none"] if end in ("csv", "npy") else []
    ferry("fit", f"task-{end}-{views}.yaml", "-m", method, "-o", "m.ferry", "-q", cwd=folder)
    return ferry("predict", "m.ferry", f"target_b.{end}", "-q", *more, cwd=folder).out


def same_scores(folder, kind):
    """Every method's scores, from a model that was saved and loaded: dense, sparse, and read back from binary."""
    width = make(folder, kind, f"{kind}")
    _, methods = run(folder, "csv", width, "b", False)
    for end in ("svm", "sparse.mat"):
        task(folder, end, width, "b", False)
    for method in methods:
        want = scores(folder, "csv", "b", method)
        assert want.count("\n") == 49, want
        for end in ("svm", "sparse.mat"):
            got = scores(folder, end, "b", method)
            assert got == want, f"{kind}, {method}: scores from {end} and CSV differ"


def test_scores(d):
    for kind in ("gaps", "words"):
        folder = os.path.join(d, kind)
        os.makedirs(folder)
        same_scores(folder, kind)


def test_dense(d):
    same(d, "dense", "b", False, 18)


def test_gaps(d):
    same(d, "gaps", "b", False, 18)


def test_words(d):
    same(d, "words", "b", False, 18)


def test_shares(d):
    same(d, "shares", "b", False, 18)


def test_two_views_and_a_graph(d):
    for kind in ("dense", "words"):
        folder = os.path.join(d, kind)
        os.makedirs(folder)
        same(folder, kind, "bc", True, 14)


if __name__ == "__main__":
    main(sys.modules[__name__])
