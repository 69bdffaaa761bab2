"""Multi-label transfer through the command: the methods, the controls, the formats, and labels that are odd."""
import gzip
import random
import sys

from harness import data_sets, ferry, main, parses, read, refused, write

METRICS = ["hamming", "ranking-loss", "one-error", "coverage", "average-precision"]
LABELS = ["sea", "sky", "sand", "never"]


def instances(seed, n, shift=0.0):
    """Features and label sets: label k goes with feature k, the last label never occurs."""
    rng = random.Random(seed)
    rows = []
    for i in range(n):
        x = [rng.random() + (shift if j == 5 else 0) for j in range(6)]
        y = [int(x[k] > 0.5) for k in range(3)] + [0]
        rows.append((x, y))
    return rows


def as_csv(rows, labels=LABELS):
    return ",".join([f"f{j}" for j in range(6)] + labels) + "\n" + "".join(
        ",".join([f"{v:.5f}" for v in x] + [str(v) for v in y[:len(labels)]]) + "\n" for x, y in rows)


def as_arff(rows):
    return ("@relation r\n" + "".join(f"@attribute f{j} numeric\n" for j in range(6)) +
            "".join(f"@attribute {name} {{0,1}}\n" for name in LABELS) + "@data\n" +
            "".join(",".join([f"{v:.5f}" for v in x] + [str(v) for v in y]) + "\n" for x, y in rows))


XML = ('<?xml version="1.0"?>\n<labels xmlns="http://mulan.sourceforge.net/labels">\n' +
       "".join(f'<label name="{name}"></label>\n' for name in LABELS) + "</labels>\n")


def as_svm(rows):
    return "".join(",".join(str(k) for k, v in enumerate(y) if v) + " " +
                   " ".join(f"{j + 1}:{v:.5f}" for j, v in enumerate(x)) + "\n" for x, y in rows)


def task_of(folder, source, target, methods, more="", evaluate="repeats: 1"):
    return write(folder, "task.yaml", f"""task: pictures
goal: multilabel
domains:
  - {{name: s, role: source, x: {source}{more}}}
  - {{name: t, role: target, labelled: none, x: {target}{more}}}
methods: [{', '.join(methods)}]
evaluate: {{{evaluate}, metrics: [{', '.join(METRICS)}]}}
""")


def results(folder, task, *args):
    r = ferry("run", task, "-o", folder + "/out", "--force", *args)
    r.out += ferry("explain", folder + "/out").out
    return r, {m["name"]: m for m in parses(read(folder, "out/results.json"))["results"]}


ALL = ["mmltl", "mmltl: {mmd: off}", "mmltl: {mode: paper}", "mmltl: {kernel: rbf}", "ranksvm",
       "ranksvm: {center: per-domain}", "lift", "smltl", "label-prior", "majority"]


def test_formats(folder):
    """The same data as CSV, ARFF with XML and svmlight (which cannot say that a label never occurs): every method, five
    metrics, the same numbers."""
    source, target = instances(1, 80), instances(2, 60)
    for name, rows in (("s", source), ("t", target)):
        write(folder, name + ".csv", as_csv(rows))
        write(folder, name + ".arff", as_arff(rows))
        write(folder, name + ".xml", XML)
        write(folder, name + ".svm", as_svm(rows))
    seen = {}
    for kind, more in (("csv", ", label: 'last:4'"), ("arff", ""), ("svm", "")):
        r, found = results(folder, task_of(folder, f"s.{kind}", f"t.{kind}", ALL, more, "repeats: 2"))
        for metric in METRICS:
            assert metric in r.out, r
        assert "±" in r.out and len(found) == len(ALL), r
        loss = {n: m["metrics"]["ranking-loss"]["mean"] for n, m in found.items()}
        assert loss["mmltl"] < 0.1 < loss["label-prior"], loss
        assert loss["label-prior"] == loss["majority"]
        seen[kind] = loss
    for name, value in seen["csv"].items():
        assert abs(value - seen["arff"][name]) < 1e-9, (name, seen)


def test_odd_labels(folder):
    """Instances with no or all labels, a label that never occurs, and one that only a domain has."""
    source, target = instances(1, 80), instances(2, 60)
    source[0] = (source[0][0], [0, 0, 0, 0])
    source[1] = (source[1][0], [1, 1, 1, 1])
    target[0] = (target[0][0], [0, 0, 0, 0])
    write(folder, "s.csv", as_csv(source))
    write(folder, "t.csv", as_csv(target))
    _, found = results(folder, task_of(folder, "s.csv", "t.csv", ["mmltl", "ranksvm", "lift", "smltl", "label-prior"],
                                       ", label: 'last:4'"))
    for m in found.values():
        for metric in METRICS:
            assert m["metrics"][metric]["mean"] == m["metrics"][metric]["mean"], (m["name"], metric)  # no NaN
    # the target's labels are other ones but for two: those are used, and it is said once
    write(folder, "t.csv", as_csv(target, ["sea", "sky", "snow"]))
    task = write(folder, "other.yaml", f"""task: other
goal: multilabel
domains:
  - {{name: s, role: source, x: s.csv, label: 'last:4'}}
  - {{name: t, role: target, labelled: none, x: t.csv, label: 'last:3'}}
methods: [mmltl, ranksvm, label-prior]
evaluate: {{repeats: 2, metrics: [ranking-loss]}}
""")
    r, found = results(folder, task)
    assert r.err.count("labels") == 1 and "2" in r.err, r
    assert found["mmltl"]["mean"] < 0.2, found["mmltl"]
    # nothing in common
    write(folder, "t.csv", as_csv(target, ["a", "b", "c"]))
    r = ferry("run", task, "-o", folder + "/none", code=2)
    assert r.out == "" and "label" in r.err, r


def test_missing_cells_and_large_means(folder):
    """Cells that are missing in either domain, or features far from 0, change little."""
    source, target = instances(1, 200), instances(2, 100)
    far = [[([v + 1e6 for v in x], y) for x, y in rows] for rows in (source, target)]
    loss = {}
    for name, s, t, gap in (("plain", source, target, ""), ("source", source, target, "s"), ("target", source, target, "t"),
                            ("far", far[0], far[1], "")):
        for domain, rows in (("s", s), ("t", t)):
            lines = as_csv(rows).splitlines()
            if domain == gap:
                lines[3] = "," + lines[3].split(",", 1)[1]
            write(folder, domain + ".csv", "\n".join(lines) + "\n")
        _, found = results(folder, task_of(folder, "s.csv", "t.csv", ["mmltl"], ", label: 'last:4'"))
        loss[name] = found["mmltl"]["metrics"]["ranking-loss"]["mean"]
    assert all(abs(v - loss["plain"]) < 0.01 for v in loss.values()), loss


def test_ties(folder):
    """Two labels as often as each other: what a tie costs is the user's choice."""
    rows = [([0.1 * i, 1], [i % 2, 1 - i % 2]) for i in range(20)]
    text = "u,v,a,b\n" + "".join(f"{x[0]:.3f},{x[1]},{y[0]},{y[1]}\n" for x, y in rows)
    write(folder, "s.csv", text)
    write(folder, "t.csv", text)
    losses = {}
    for ties in ("worst", "mean", "index"):
        task = task_of(folder, "s.csv", "t.csv", ["label-prior"], ", label: 'last:2'", f"repeats: 1, ties: {ties}")
        _, found = results(folder, task)
        losses[ties] = found["label-prior"]["metrics"]["ranking-loss"]["mean"]
    assert losses == {"worst": 1, "mean": 0.5, "index": 0.5}, losses
    _, found = results(folder, task_of(folder, "s.csv", "t.csv", ["label-prior"], ", label: 'last:2'"))
    assert found["label-prior"]["metrics"]["ranking-loss"]["mean"] == 1  # worst, as scikit-learn has it
    refused("run", folder + "/task.yaml", "--set", "evaluate.ties=best", says="worst", cwd=folder)


def test_mean_term_helps_under_a_nuisance_shift(folder):
    """The centred control and the mean term know nothing of the labels of the target."""
    write(folder, "s.csv", as_csv(instances(1, 200)))
    write(folder, "t.csv", as_csv(instances(2, 200, shift=3)))
    _, found = results(folder, task_of(folder, "s.csv", "t.csv", ["mmltl", "ranksvm: {center: per-domain}", "label-prior"],
                                       ", label: 'last:4'"))
    loss = {n: m["metrics"]["ranking-loss"]["mean"] for n, m in found.items()}
    assert max(loss["mmltl"], loss["ranksvm center=per-domain"]) < 0.1 < loss["label-prior"], loss


def test_does_not_fit(folder):
    write(folder, "s.csv", as_csv(instances(1, 20)))
    write(folder, "t.csv", as_csv(instances(2, 20)).replace("f", "g", 6))
    task = task_of(folder, "s.csv", "t.csv", ["mmltl"], ", label: 'last:4'")
    r = ferry("run", task, "-o", folder + "/out", code=2)
    assert r.out == "" and "mmltl" in r.err and "feature" in r.err, r
    refused("run", task, "--set", "methods.mmltl.rho=-1", says="rho", cwd=folder)
    refused("run", task, "--set", "methods.mmltl.rank_tol=2", says="rank_tol = 2 is outside", cwd=folder)


def test_scales(folder):
    """Mulan's emotions: features of very different sizes are brought to one scale unless told otherwise."""
    data = data_sets("multilabel/emotions.arff.gz") + "/multilabel"
    with gzip.open(data + "/emotions.arff.gz", "rt") as f:
        write(folder, "emotions.arff", f.read())
    with open(data + "/emotions.xml") as f:
        write(folder, "emotions.xml", f.read())
    task = write(folder, "task.yaml", """task: emotions
goal: multilabel
domains: [{name: t, role: target, x: emotions.arff, labelled: 0.5}]
methods: [ranksvm, ranksvm: {scale: none, as: plain}]
evaluate: {repeats: 3, controls: none, metrics: [ranking-loss]}
""")
    _, found = results(folder, task)
    loss = {name: m["metrics"]["ranking-loss"]["mean"] for name, m in found.items()}
    assert loss["ranksvm"] <= 0.18 < 0.3 < loss["plain"], loss


main(sys.modules[__name__])
