"""run and demo: the table, results.json, predictions; seeds, threads and engines."""
import os
import re
import subprocess
import sys

from harness import FERRY, csv_rows, data_sets, ferry, main, parses, predictions, read, refused, small_task, tree, write

FAST = ["--set", "source=60", "--set", "bridge=60", "--set", "target=60", "--set", "repeats=3"]


def without_times(results):
    """results.json but for what depends on the clock."""
    for r in results["results"]:
        r.pop("fit_seconds", None)
        needed = (r["verdict"] or {}).get("needed")
        if needed and "seconds" in needed:  # how long more draws would take, also in words
            needed.pop("seconds")
            r["verdict"].pop("sentence")
    return results


def test_run(folder):
    task = small_task(folder)
    r = ferry("run", task, cwd=folder)
    names = [m["name"] for m in parses(read(folder, "results/bridge/results.json"))["results"]]
    assert {"svm", "majority"} <= set(names)
    for n in names:
        assert n in ferry("table", folder + "/results/bridge", "--all").out, n
    assert "accuracy" in r.out and len(re.findall(r"  (?:target only|transfer) +0", r.out)) <= 12
    assert r.err.endswith("ferry: results.json, predictions and report.html are in results/bridge\n"), r.err
    assert "svm.csv" in os.listdir(folder + "/results/bridge/predictions")


def test_run_json_is_the_file(folder):
    task = small_task(folder)
    out = os.path.join(folder, "out")
    r = ferry("run", task, "--json", "-o", out, "--quiet")
    assert parses(r.out) == parses(read(out, "results.json")) and r.err == ""
    d = parses(r.out)
    assert d["task"] == "bridge" and d["seed"] == 1 and d["ferry"]
    svm = next(m for m in d["results"] if m["name"] == "svm")
    assert len(svm["runs"]) == 3 and svm["metric"] == "accuracy" and 0 < svm["mean"] <= 1


def test_few_labels_leave_room_for_transfer(folder):
    r = ferry("demo", "bridge", "--json", "--set", "repeats=5")
    best = max(m["mean"] for m in parses(r.out)["results"] if m.get("runs") and m["method"] in ("svm", "logreg"))
    assert 0.5 < best < 0.85, best


def test_set_changes_the_task(folder):
    task = small_task(folder)
    d = parses(ferry("run", task, "--json", "-q", "-o", folder + "/o", "--set", "evaluate.repeats=2").out)
    assert all(len(m["runs"]) == 2 for m in d["results"] if m.get("runs"))
    refused("run", task, "--set", "evaluate.repeat=2", says="repeats", cwd=folder)
    write(folder, "mine.csv", "a,kind\n1,x\n2,y\n")
    write(folder, "column.yaml", "task: t\ngoal: classify\ndomains: [{name: mine, role: target, x: mine.csv, y: kind}]\n")
    refused("run", folder + "/column.yaml", says="domains[0].y: kind: no such file (y is a file; a column of x is said so: label: kind)")
    refused("run", task, "--set", "repeats=2", says="repeats", cwd=folder)
    refused("run", task, "--set", "domains.target.labelled=5000", says="5000", cwd=folder)
    assert not os.path.exists(folder + "/results")


def test_controls(folder):
    task = small_task(folder)
    both = ["shuffled-labels", "noise-source", "shuffled-bridge"]
    kinds = {"none": [], "quick": both, "full": both}
    for level, expected in kinds.items():
        r = ferry("run", task, "--json", "-q", "-o", folder + "/o", "--controls", level)
        d = parses(r.out)
        hemap = next(m for m in d["results"] if m["name"] == "hemap")
        assert d["verdict"]["controls"] == level
        assert [c["control"] for c in hemap["verdict"]["controls"]] == expected, hemap
        assert d["schema"] == 3
        assert hemap["verdict"]["verdict"] in ("open", "ignores source", "weak learner"), hemap
        assert all(m["verdict"] is None for m in d["results"] if m["kind"] == "baseline")
    refused("run", task, "--controls", "some", says="none | quick | full", cwd=folder)
    assert " verdict\n" in ferry("demo", "bridge", *FAST, "--controls=none").out


def test_several(folder):
    """Wins, ties and losses add up, mean ranks too, and the critical difference is that of Demsar's table 5."""
    for name in ("one", "two", "three"):
        os.makedirs(folder + "/" + name)
        task = small_task(folder + "/" + name)
        with open(task) as f:
            text = f.read()
        with open(task, "w") as f:
            f.write(text.replace("task: bridge", "task: " + name))
    tasks = sorted(folder + "/" + n + "/" + os.path.relpath(task, folder + "/three") for n in ("one", "two", "three"))
    d = parses(ferry("run", *tasks, "--json", "-q", "--controls=none", "-o", folder + "/out").out)
    assert sorted(d["tasks"]) == ["one", "three", "two"]
    assert sorted(os.listdir(folder + "/out")) == ["one", "three", "two"]
    ranked = [m for m in d["methods"] if m["mean_rank"] is not None]
    k = len(ranked)
    assert k == d["ranked"] >= 2
    for m in d["methods"]:
        assert m["wins"] + m["ties"] + m["losses"] == m["tasks"] <= 3, m
    assert abs(sum(m["mean_rank"] for m in ranked) - k * (k + 1) / 2) < 1e-9
    q = {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 6: 2.850, 7: 2.949, 8: 3.031, 9: 3.102, 10: 3.164}
    if k in q:
        assert abs(d["critical_difference"] - q[k] * (k * (k + 1) / 18) ** 0.5) < 2e-3, d
    assert 0 <= d["friedman_p"] <= 1
    table = ferry("run", folder + "/one", folder + "/two", "-q", "--controls=none", "-o", folder + "/again").out
    assert table.startswith("2 tasks; ") and "mean rank" in table, table
    assert not [line for line in table.splitlines() if line != line.rstrip()], table
    refused("run", folder + "/out/one/predictions", says="no task file (*.yaml) in " + folder + "/out/one/predictions", cwd=folder)


def test_no_task(folder):
    """What is no task file is named, and what it is instead."""
    os.makedirs(folder + "/empty")
    refused("run", folder + "/empty", says=f"no task file (*.yaml) in {folder}/empty\n")
    refused("run", write(folder, "m.ferry", "\x08\0\0\0\0\0\0\0{}\n\x80"), says="m.ferry:1: a zero byte: expected a task (YAML)")
    refused("run", write(folder, "x.csv", "a,b\n1,2\n"), says="x.csv:1: expected a task (task, goal, domains, ...), found a text")


def test_same_seed_same_bytes(folder):
    task = small_task(folder)
    runs = []
    for name, seed in (("a", "7"), ("b", "7"), ("c", "8")):
        ferry("run", task, "-q", "-o", os.path.join(folder, name), "--seed", seed)
        runs.append(without_times(parses(read(folder, name, "results.json"))))
    assert runs[0] == runs[1] != runs[2]
    assert runs[0]["seed"] == 7  # over the task's own seed
    assert tree(folder + "/a/predictions") == tree(folder + "/b/predictions") != tree(folder + "/c/predictions")


def close(a, b, tolerance=1e-9):
    for x, y in zip(a["results"], b["results"]):
        assert x["name"] == y["name"]
        for p, q in zip(x.get("runs", []), y.get("runs", [])):
            assert abs(p - q) <= tolerance, (x["name"], p, q)


def test_threads_and_engines_agree(folder):
    task = small_task(folder)
    base = parses(ferry("run", task, "--json", "-q", "-o", folder + "/o").out)
    for more in (["--threads", "1"], ["--threads=2"], ["--engine", "ref"], ["--engine=host", "--threads=1"]):
        close(base, parses(ferry("run", task, "--json", "-q", "-o", folder + "/o", *more).out))


def test_predictions(folder):
    task = small_task(folder)
    ferry("run", task, "-q", "-o", folder + "/o")
    p = predictions(read(folder, "o/predictions/svm.csv"))
    assert set(p) == {f"t{i}" for i in range(1, 61)} and set(p.values()) <= {"c1", "c2", "c3"}


def test_folder_named_after_the_task(folder):
    text = read(small_task(folder)).replace("task: bridge", "task: ../up and away")
    write(folder, "task/odd.yaml", text)
    r = ferry("run", folder + "/task/odd.yaml", cwd=folder)
    (name,) = os.listdir(folder + "/results")
    assert "/" not in name and " " not in name and not name.startswith("."), name
    assert f"results/{name}" in r.err
    assert sorted(os.listdir(folder)) == ["results", "task"]


def test_results_cannot_be_written(folder):
    task = small_task(folder)
    write(folder, "file", "in the way")
    refused("run", task, "-o", folder + "/file", says="file: is there and is not a folder")
    refused("run", task, "-o", folder + "/file/below", says="cannot make this folder")  # before the work, not after
    write(folder, "out.part", "in the way")
    refused("run", "-q", task, "-o", folder + "/out", says="out.part: is there and was not left by a run")
    assert read(folder, "file") == "in the way"


def test_no_method_fits(folder):
    text = read(small_task(folder, "labelled=0")) + "methods: [ridge: {train: target}]\n"
    write(folder, "task/none.yaml", text)
    refused("run", folder + "/task/none.yaml", "-q", says="label", cwd=folder)
    assert not os.path.exists(folder + "/results")


def test_demo(folder):
    r = ferry("demo", "bridge", *FAST, cwd=folder, env={"TMPDIR": folder})
    assert "svm" in r.out and "accuracy" in r.out and "ferry gen bridge" in r.out and r.out.count("\n") < 40
    assert os.listdir(folder) == [], "the temporary folder is removed"
    assert " DIR " not in r.out and "task.yaml -o" not in r.out and "ferry explain" not in r.out, "nothing is proposed for files that are gone"
    one, two = [ferry("demo", "bridge", *FAST, "--json", cwd=folder) for _ in range(2)]
    assert without_times(parses(one.out)) == without_times(parses(two.out))


def test_first_demo(folder):
    """Halves of digits: a picture, the table, and commands that work when they are pasted, also where ferry is not on PATH."""
    r = ferry("demo", "--set", "repeats=2", "--set", "source=40", "--set", "bridge=40", cwd=folder)
    assert "left.csv" in r.out and re.search(r"^[.:=+*#%@-]{8} {14}[.:=+*#%@-]{16} {6}[.:=+*#%@-]{8}$", r.out, re.M), r
    assert not re.search(r"[ \t]$", r.out, re.M), "no blanks at the ends of lines"
    kept = folder + "/ferry-demo"
    assert {"task.yaml", "left.csv", "both.csv", "right.csv", "mine.csv", "results"} == set(os.listdir(kept))
    assert "The report is ferry-demo/results/report.html" in r.out and os.path.exists(kept + "/results/report.html")
    fit = re.search(r"^  Next     (.*)$", r.out, re.M).group(1)
    p = subprocess.run(["sh", "-c", fit], cwd=folder, capture_output=True, text=True)
    assert fit.startswith(FERRY + " fit ferry-demo/task.yaml ") and p.returncode == 0 and os.path.exists(folder + "/model.ferry"), (fit, p)
    commands = re.findall(r"^Next: (.*)$", r.out, re.M)
    assert len(commands) == 2 and all(line.startswith(FERRY + " ") for line in commands), commands
    for line, more, code in zip(commands, ("", " --goal guess"), (0, 2)):  # the whole answer takes long: up to its last check
        p = subprocess.run(["sh", "-c", line + more], cwd=folder, capture_output=True, text=True)
        assert p.returncode == code and (p.stdout or "--goal guess: expected classify" in p.stderr), p
    path = {"PATH": os.path.dirname(FERRY) + os.pathsep + os.environ["PATH"]}
    p = subprocess.run(["ferry", "demo"], cwd=folder, env={**os.environ, **path}, capture_output=True, text=True)
    assert "is run as it stands" in p.stderr and "Next: ferry explain ferry-demo/results\n" in p.stdout, p
    refused("demo", "--set", "repeats=2", says="is there already", cwd=folder)


def test_digits_are_those_of_the_file(folder):
    """What is packed into the library is the file, cell by cell."""
    whole = csv_rows(read(data_sets("optdigits"), "optdigits/optdigits.csv"))
    ferry("gen", "digits", "-o", folder + "/d", "-q")
    names, cells = whole[0], {r[0]: dict(zip(whole[0], r)) for r in whole[1:]}
    seen = 0
    for file, columns in (("left", 34), ("both", 65), ("right", 34)):
        head, *rows = csv_rows(read(folder, f"d/{file}.csv"))
        assert len(head) == columns and set(head) <= set(names)
        assert all(cells[r[0]][n] == v for r in rows for n, v in zip(head, r))
        seen += len(rows)
    assert seen == len(cells) == 1797


def test_demo_keeps(folder):
    ferry("demo", "bridge", *FAST, "--out", folder + "/kept")
    assert {"task.yaml", "target.csv", "results"} <= set(os.listdir(folder + "/kept"))
    d = parses(read(folder, "kept/results/results.json"))
    again = parses(ferry("run", folder + "/kept/task.yaml", "--json", "-o", folder + "/o").out)
    assert without_times(d) == without_times(again)
    refused("demo", "bridge", "--out", folder + "/kept", says="is there already")
    refused("demo", "nosuchthing", says="unknown generator", env={"TMPDIR": folder})
    assert sorted(os.listdir(folder)) == ["kept", "o"]


def test_temporary_folder_cannot_be_made(folder):
    r = ferry("demo", "bridge", env={"TMPDIR": folder + "/absent"}, code=1)
    assert r.err.count("\n") == 1 and "temporary folder" in r.err


main(sys.modules[__name__])
