"""The answer, for each goal: its lines come first, fit makes what they recommend, and all labels may be visible."""
import os
import random
import re
import subprocess
import sys

from harness import TOP, csv_rows, ferry, main, parses, read, small_task, write

sys.path.insert(0, os.path.join(TOP, "repro", "verdict"))
sys.dont_write_bytecode = True
import simulate  # noqa: E402 (made-up tasks of every goal)

METHODS = {"classify": ["svm", "knn", "hop", "cdspp"], "regress": ["ridge", "knn", "hemap"], "multilabel": ["ridge", "knn", "mmltl"],
           "rate": ["bias", "rating-mean", "cbt"]}
LINES = ("Use", "Expect", "Source", "Next")


def task_of(folder, goal, seed):
    where = os.path.join(folder, f"{goal}{seed}")
    os.makedirs(where)
    return simulate.write_task(where, random.Random(seed), goal, "unrelated", METHODS[goal], f"repeats: 2, seed: {seed}, controls: none")


def test_lines_come_first(folder):
    task = small_task(folder)
    r = ferry("run", task, "-o", folder + "/o")
    d = parses(read(folder, "o/results.json"))
    a = d["answer"]
    lines = r.out.splitlines()
    assert lines[0] == a["head"] and "of your own" in lines[0] and lines[1] == "", lines[:3]
    assert lines[2].startswith("  Use      ") and [w for w in LINES if f"\n  {w:<9}" in r.out] == list(LINES), r.out
    assert abs(sum(m["weight"] for m in a["members"]) - 1) < 1e-9 and all(m["uses"] == "target only" for m in a["without"]), a
    assert len(a["runs"]) == d["repeats"] and abs(a["worth"] - (a["value"] - a["value_without"])) < 1e-9
    assert a["low"] <= a["value"] <= a["high"] and a["level"] == 0.95
    assert "control" not in {m["uses"] for m in a["members"]}
    shown = ferry("table", folder + "/o").out
    assert shown.startswith(a["head"]) and ferry("explain", folder + "/o").out.startswith(a["head"])
    assert "kmeans-hop" in ferry("table", folder + "/o", "--all").out
    ferry("rerun", folder + "/o")
    assert parses(ferry("run", task, "--no-answer", "--json", "-q", "-o", folder + "/p").out)["answer"] is None
    assert "--guard does nothing" in ferry("run", task, "--guard", "-o", folder + "/g", "--controls", "none").err
    one = parses(ferry("run", task, "--single", "--controls", "none", "--json", "-q", "-o", folder + "/s").out)["answer"]
    assert len(one["members"]) == len(one["without"]) == 1, one


def test_pasted(folder):
    """Next is a command that works when it is pasted, with names that a shell would split, and from a folder of results, too."""
    small_task(folder)
    os.rename(folder + "/task", folder + "/my task")
    os.rename(folder + "/my task/task.yaml", folder + "/my task/it's a task.yaml")
    r = ferry("run", "my task/it's a task.yaml", "--set", "domains.target.label=my label", "-o", "my out", cwd=folder, code=2)
    assert "my label" in r.err, r.err  # such a value gets so far
    head, *rows = read(folder, "my task/target.csv").splitlines()
    write(folder, "my task/target.csv", "\n".join([head.replace("label", "my label"), *rows]) + "\n")
    r = ferry("run", "my task/it's a task.yaml", "--set", "domains.target.label=my label", "--controls", "none", "-o", "my out", cwd=folder)
    assert "Why: " in r.out and " explain 'my out'." in r.out, r.out
    for out in (r.out, ferry("explain", "my out", cwd=folder).out, ferry("table", "my out", cwd=folder).out):
        line = re.search(r"^  Next     (.*)$", out, re.M).group(1)
        p = subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True)
        assert p.returncode == 0 and os.path.exists(folder + "/model.ferry"), (line, p)
        os.remove(folder + "/model.ferry")


def test_fit(folder):
    """All labels visible: numbers by cross-validation; the model is the blend, predicts and tells its evidence."""
    task, model = small_task(folder), folder + "/m.ferry"
    visible = ["--set", "domains.target.labelled=1.0"]
    a = parses(ferry("run", task, *visible, "--json", "-q", "-o", folder + "/o").out)["answer"]
    assert a["validated"] and a["calibrated"] and a["runs"] == [] and a["low"] < a["value"] < a["high"], a
    assert a["next"].endswith("--set domains.target.labelled=1.0 -o model.ferry"), a["next"]
    r = ferry("fit", task, *visible, "-o", model)
    assert "Use      " + a["use"] in r.err and "Expect   " + a["expect"] in r.err, (a, r)
    head, *rows = csv_rows(ferry("predict", model, os.path.join(folder, "task/target.csv"), "-q").out)
    assert head[:2] == ["id", "prediction"] and len(rows) == len(csv_rows(read(folder, "task/target.csv"))) - 1
    one = ferry("fit", task, *visible, "--single", "-o", model)
    assert "a blend" not in one.err, one
    bad = ferry("fit", task, "--set", "C=1", "-o", model, code=2)
    assert "needs -m METHOD" in bad.err, bad


def test_labelled_not_given(folder):
    """The case of real life: few labels and many blank cells. All labels are visible, methods have scores all the same, and a
    model learns from all."""
    def table(name, n, known, shift):
        draw = random.Random(name)
        rows = []
        for i in range(n):
            k = draw.randrange(3)
            rows.append(f"{name}{i},{'abc'[k] if i < known else ''}," + ",".join(f"{draw.gauss(2 * (k == j) + shift, 1):.3f}" for j in range(3)))
        write(folder, name + ".csv", "id,kind,u,v,w\n" + "\n".join(rows) + "\n")
    table("theirs", 90, 90, .3)
    table("mine", 150, 30, 0)
    task = write(folder, "t.yaml", "task: mine\ngoal: classify\ndomains:\n  - {name: theirs, role: source, id: id, label: kind, x: theirs.csv}\n"
                 "  - {name: mine, role: target, id: id, label: kind, x: mine.csv}\nmethods: [svm, knn, majority, cdspp]\n")
    r = ferry("run", task, "-o", folder + "/o")
    assert "30 labels of your own, 120 rows to predict" in r.out and "2 x 5-fold cross-validation" in r.out, r
    d = parses(read(folder, "o/results.json"))
    a = d["answer"]
    assert d["folds"] == 5 and d["visible"] == 30 and a["labels"] == 30 and a["validated"] and a["low"] < a["value"] < a["high"], a
    scores = {m["name"]: m["mean"] for m in d["results"]}
    assert scores["majority"] < 0.5 < scores["svm"], scores
    assert all(0 <= x * 6 <= 6 and abs(x * 6 - round(x * 6)) < 1e-9 for m in d["results"] for x in m["runs"]), d["results"]  # folds of 6
    r = ferry("fit", task, "-m", "svm", "-o", folder + "/m.ferry")
    assert "it could see" in r.err and "30" in r.err, r
    none = parses(ferry("run", task, "--set", "domains.mine.labelled=none", "--json", "-q", "-o", folder + "/none").out)
    assert none["folds"] == 0 and none["visible"] == 0, none["visible"]


def test_every_goal(folder):
    for goal in METHODS:
        task = task_of(folder, goal, 1)
        a = parses(ferry("run", task, "--json", "-q", "-o", f"{folder}/{goal}").out)["answer"]
        assert a["members"] and a["without"] and a["verdict"] in ("worth it", "not worth it", "open"), (goal, a)
        assert bool(a["calibrated"]) == (goal in ("classify", "regress")), a
        assert a["calibrated"] or "not calibrated for this goal" in a["expect"], a
        if goal == "multilabel":  # what the labels choose ranks labels as its members do: no worse than the worst of them by much
            d = parses(read(folder, "multilabel/results.json"))
            own = [m["mean"] for m in d["results"] if m["uses"] == "target only"]
            assert min(own) - .02 < a["value_without"] < max(own) + .05, (own, a["value_without"])
            seen = parses(ferry("run", task, "--set", "domains.t.labelled=all", "--json", "-q", "-o", folder + "/seen").out)["answer"]
            assert seen["metric"] == "hamming" and 0 < seen["value"] < .6 and "of the labels of new rows wrong" in seen["expect"], seen
        ferry("fit", task, "-q", "-o", f"{folder}/{goal}.ferry")
    for goal in ("stream", "embed"):
        ferry("gen", goal, "-q", "-o", f"{folder}/{goal}")
        a = parses(ferry("run", f"{folder}/{goal}/task.yaml", "--controls", "none", "--set", "evaluate.repeats=2", "--json", "-q", "-o", f"{folder}/o{goal}").out)["answer"]
        assert len(a["members"]) == 1 and "not calibrated for this goal" in a["expect"], a
        bad = ferry("fit", f"{folder}/{goal}/task.yaml", "-o", folder + "/x", code=2)
        assert f"goal {goal} has no labels to choose a method by" in bad.err, bad


def test_no_labels(folder):
    """Without a label of the target learners see the source alone, which their names and the answer say."""
    for name in "st":
        rows = [f"{name}{i},{'ab'[i % 2]},{i % 2 * 3 + (i * 7 % 5) / 5},{(i * 3 % 7) / 7}" for i in range(60)]
        write(folder, name + ".csv", "id,label,u,v\n" + "\n".join(rows) + "\n")
    task = write(folder, "t.yaml", "task: blind\ngoal: classify\ndomains:\n"
                 "  - {name: s, role: source, id: id, label: label, x: s.csv}\n"
                 "  - {name: t, role: target, id: id, label: label, x: t.csv, labelled: none}\n"
                 "methods: [svm: {train: source}, knn: {train: source}]\nevaluate: {repeats: 2}\n")
    d = parses(ferry("run", task, "--json", "-q", "-o", folder + "/o").out)
    assert {r["uses"] for r in d["results"]} == {"source only"}, d["results"]
    a = d["answer"]
    assert a["members"] and not a["without"] and "all there is" in a["source"], a
    text = read(task).replace("methods: [svm: {train: source}, knn: {train: source}]\n", "")
    every = write(folder, "every.yaml", text)
    a = parses(ferry("run", every, "--json", "-q", "-o", folder + "/every").out)["answer"]
    assert all(m["uses"] != "target only" for m in a["members"]), a  # it is the source that knows something
    assert 0.9 < a["value"] <= 1 and a["high"] <= 1, a


main(sys.modules[__name__])
