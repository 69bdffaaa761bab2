"""The guard, for each goal: no hidden label enters, fit takes what run says, and all labels may be visible."""
import os
import random
import sys

from harness import TOP, csv_rows, ferry, main, parses, read, write

sys.path.insert(0, os.path.join(TOP, "repro", "verdict"))
sys.dont_write_bytecode = True
import simulate  # noqa: E402 (made-up tasks of every goal)

METHODS = {"classify": ["svm", "knn", "hop", "cdspp"], "regress": ["ridge", "knn", "hemap"], "multilabel": ["ridge", "knn", "mmltl"],
           "rate": ["bias", "rating-mean", "cbt"]}
LABELS = {"classify": 1, "regress": 1, "multilabel": 5, "rate": 1}  # the last columns of the target's file
SEEN = {"classify": "ids:seen.txt", "regress": "15", "multilabel": "20", "rate": "0.5"}  # classes would be drawn by class, hidden ones too


def task_of(folder, goal, seed):
    where = os.path.join(folder, f"{goal}{seed}")
    os.makedirs(where)
    return simulate.write_task(where, random.Random(seed), goal, "unrelated", METHODS[goal], f"repeats: 1, seed: {seed}, controls: none")


def run(task, out, *more):
    return parses(ferry("run", task, "--guard", "--json", "-q", "-o", out, *more).out)


def turn_hidden(task, goal, hidden):
    """Labels of the hidden rows change places among themselves."""
    path = os.path.join(os.path.dirname(task), "t.csv")
    head, *rows = csv_rows(read(path))
    k = LABELS[goal]
    labels = [rows[i][-k:] for i in hidden]
    for j, i in enumerate(hidden):
        rows[i][-k:] = labels[(j + len(hidden) // 2) % len(hidden)]
    write("", path, "\n".join(map(",".join, [head] + rows)) + "\n")


def hidden_rows(out, name):
    head, *rows = csv_rows(read(out, "predictions", name + ".csv"))
    return [i for i, r in enumerate(rows) if r[head.index("scored")] == "1"]


def hidden_do_not_matter(folder, goal):
    chosen = []
    for seed in (1, 2):
        task, out = task_of(folder, goal, seed), os.path.join(folder, f"out{seed}")
        seen = ["--set", "domains.t.labelled=" + SEEN[goal]]
        write(os.path.dirname(task), "seen.txt", "".join(f"t{i}\n" for i in range(18)))
        one = run(task, out, *seen)
        hidden = hidden_rows(out, METHODS[goal][0])
        assert len(hidden) > 20
        fitted = ferry("fit", task, "--guard", *seen, "-o", os.path.join(folder, f"model{seed}"))
        assert f"guard: takes {one['guard']['chosen'][0]}:" in fitted.err, (one["guard"], fitted)
        turn_hidden(task, goal, hidden)
        two = run(task, out + "b", *seen)
        assert hidden_rows(out + "b", METHODS[goal][0]) == hidden
        means = [{r["name"]: r["mean"] for r in d["results"]} for d in (one, two)]
        assert all(means[0][m] != means[1][m] for m in METHODS[goal][:1]), means  # the truth is another
        same = [{k: d["guard"][k] for k in ("chosen", "baseline", "transfer", "gate", "scores")} for d in (one, two)]
        assert same[0] == same[1], same
        chosen += one["guard"]["chosen"]
    assert all(chosen), chosen


def test_hidden_classes(folder):
    hidden_do_not_matter(folder, "classify")


def test_seen_classes_are_the_visible_ones(folder):
    """Metrics of seen classes: what only hidden labels hold is not seen, in no fold of the guard either."""
    task = task_of(folder, "classify", 1)
    path = os.path.join(os.path.dirname(task), "t.csv")
    head, *rows = csv_rows(read(path))
    write(os.path.dirname(task), "seen.txt", "".join(f"t{i}\n" for i in range(18)))  # every class twice and more
    none = run(task, folder + "/none", "--set", "domains.t.labelled=ids:seen.txt", "--set", "evaluate.metrics=missing-accuracy")["guard"]
    assert none["sentence"] == "guard: no method could be taken: missing-accuracy has no value on the visible labels.", none
    some = [next(i for i, r in enumerate(rows) if r[-1] == c) for c in "aabc"]
    some[1] = next(i for i, r in enumerate(rows) if r[-1] == "a" and i != some[0])
    write(os.path.dirname(task), "seen.txt", "".join(rows[i][0] + "\n" for i in some))
    more = ["--set", "domains.t.labelled=ids:seen.txt", "--set", "evaluate.metrics=seen-accuracy"]
    one = run(task, folder + "/one", *more)["guard"]
    for i, r in enumerate(rows):
        r[-1] = r[-1] if i in some else "a"
    write("", path, "\n".join(map(",".join, [head] + rows)) + "\n")
    two = run(task, folder + "/two", *more)["guard"]
    assert [one[k] for k in ("chosen", "scores")] == [two[k] for k in ("chosen", "scores")], (one, two)


def test_hidden_numbers(folder):
    hidden_do_not_matter(folder, "regress")


def test_hidden_sets(folder):
    hidden_do_not_matter(folder, "multilabel")


def test_hidden_ratings(folder):
    hidden_do_not_matter(folder, "rate")


def test_all_visible(folder):
    """Nothing is scored; run says what fit then takes, with the score that it has by cross-validation."""
    for goal in METHODS:
        task, out, all_of = task_of(folder, goal, 1), os.path.join(folder, goal + "-out"), ["--set", "domains.t.labelled=1.0"]
        d = run(task, out, *all_of)
        g = d["guard"]
        assert g["by"] == "cross-validation" and g["runs"] == [None] and len(g["chosen"]) == 1, g
        assert all(r["mean"] is None and not r["metrics"] for r in d["results"]), d["results"]
        fitted = ferry("fit", task, "--guard", *all_of, "-o", os.path.join(folder, goal + ".ferry"))
        assert g["sentence"].rstrip(".") in fitted.err, (g["sentence"], fitted)
        assert "cross-validated " in g["sentence"] and " labels" in g["sentence"] and "n/a" not in g["sentence"], g
        assert os.path.exists(os.path.join(out, "predictions", "_guard.csv")), goal
    said = " ".join(ferry("run", task, *all_of, "-o", out, "--force").out.split())
    assert "no label is hidden, so there is nothing to score" in said and f"Next: ferry fit {task} --guard" in said, said


def test_path_over_the_gate(folder):
    """A bridge whose source tells much: the method that goes over it is taken, with all labels visible too."""
    ferry("gen", "bridge", "-q", "--seed", "3", "-o", folder + "/b", *[w for s in ("source=150", "bridge=200", "target=100", "source_features=30", "target_features=20")
                                                             for w in ("--set", s)])
    task = write(folder, "b/two.yaml", read(folder, "b/task.yaml") + "methods: [svm, knn, hop]\n")
    some = run(task, folder + "/some", "--set", "evaluate.repeats=3", "--controls", "none")
    assert some["guard"]["gate"] and some["guard"]["chosen"].count("hop") >= 2, some["guard"]
    assert some["guard"]["mean"] > max(r["mean"] for r in some["results"] if r["kind"] == "baseline"), some["guard"]
    every = run(task, folder + "/every", "--set", "domains.target.labelled=1.0")["guard"]
    assert every["gate"] and every["chosen"] == ["hop"] and "9 shuffled ones" in every["sentence"], every


def test_names_what_there_is(folder):
    """Without a source, or where no source is asked about, the sentence names none."""
    ferry("gen", "social", "-q", "-o", folder + "/social", "--set", "people=90", "--set", "edges=250")
    every = ["--set", "domains.people.labelled=1.0"]
    says = "no transfer method is taken: the task has a graph, but no source to shuffle (gbc: "
    g = run(folder + "/social/task.yaml", folder + "/out", *every)["guard"]
    fitted = ferry("fit", folder + "/social/task.yaml", "--guard", *every, "-o", folder + "/m.ferry")
    assert says in g["sentence"] and says in fitted.err and g["chosen"] != ["gbc"], (g, fitted)
    text = read(folder, "social/task.yaml").replace("methods: [gbc, gbdt, label-propagation]", "methods: [hetomtl, gbdt]")
    bare = write(folder, "social/bare.yaml", "".join(line + "\n" for line in text.splitlines() if "graph" not in line))
    said = run(bare, folder + "/bare", *every)["guard"]["sentence"]
    assert "the task has no source to shuffle (hetomtl: " in said, said
    for goal in ("regress", "multilabel", "rate"):  # the lead alone decides
        said = run(task_of(folder, goal, 1), folder + "/" + goal, "--set", "domains.t.labelled=1.0")["guard"]["sentence"]
        assert "no transfer method leads by enough (" in said, said


main(sys.modules[__name__])
