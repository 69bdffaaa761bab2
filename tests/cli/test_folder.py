"""The folder of results is written as one: nothing stale, no mixture, and a run that was stopped goes on."""
import os
import signal
import subprocess
import sys
import time

from harness import FERRY, ferry, main, parses, read, refused, small_task, tree, write

LONG = ["--set", "evaluate.controls=none", "--set", "evaluate.repeats=6"]


def long_task(folder):
    """A fit of ttl takes several times the 0.05 s from which on a piece is kept, also where machines are fast."""
    ferry("gen", "bridge", "--out", folder + "/task", "--set", "source=4000", "--set", "bridge=6000")
    text = read(folder, "task/task.yaml")
    assert "\nmethods:" not in text
    return write(folder, "task/task.yaml", text + "methods: [ttl, svm]\n")


def cells(folder):
    return [n for n in os.listdir(folder) if n.endswith(".cell")] if os.path.isdir(folder) else []


def stop(task, out, sig, *more):
    """Start a run, and send a signal when the first piece of it is kept; returns exit code and stderr."""
    p = subprocess.Popen([FERRY, "run", task, "-q", "-o", out, *LONG, *more], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True)
    until = time.time() + 120
    while not cells(out + ".part") and p.poll() is None and time.time() < until:
        time.sleep(0.01)
    p.send_signal(sig)
    err = p.communicate(timeout=120)[1]
    return p.returncode, err


def numbers(folder):
    d = parses(read(folder, "results.json"))
    for r in d["results"]:
        r.pop("fit_seconds", None)
    return d


def test_nothing_stale(folder):
    task, out = small_task(folder), folder + "/o"
    both = write(folder, "task/both.yaml", read(task) + "methods: [svm, knn]\n")
    one = write(folder, "task/one.yaml", read(task) + "methods: [svm]\n")
    ferry("run", both, "-q", "-o", out)
    write(folder, "o/notes.txt", "mine")
    write(folder, "o/predictions/extra.csv", "stale")
    ferry("run", one, "-q", "-o", out + "/")
    assert sorted(tree(out)) == ["notes.txt", "predictions/svm.csv", "report.html", "results.json", "run.json"]
    assert sorted(os.listdir(folder)) == ["o", "task"]


def test_another_task(folder):
    task, out = small_task(folder), folder + "/o"
    other = write(folder, "task/other.yaml", read(task).replace("task: bridge", "task: other") + "methods: [svm]\n")
    ferry("run", other, "-q", "-o", out)
    before = tree(out)
    refused("run", task, "-o", out, says="has the results of task 'other', not 'bridge'; --force replaces them")
    assert tree(out) == before
    ferry("run", task, "-q", "-o", out, "--force", "--set", "evaluate.controls=none")
    assert numbers(out)["task"] == "bridge"


def test_asked_before(folder):
    """What cannot be written is said before anything is computed."""
    task = small_task(folder)
    write(folder, "file", "")
    refused("run", task, "-o", folder + "/file", says="is there and is not a folder")
    refused("run", task, "-o", ".", says="is the folder you are in", cwd=folder)
    refused("run", task, "-o", folder, says="is the folder you are in", cwd=folder + "/task")
    write(folder, "o.part/own.txt", "")
    r = ferry("run", task, "-o", folder + "/o", code=2)
    assert "o.part: is there and was not left by a run" in r.err and os.path.exists(folder + "/o.part/own.txt")
    write(folder, "r/results.json", "{}")
    refused("run", task, "-o", folder + "/r", says="--force")


def test_killed_and_resumed(folder):
    task, out = long_task(folder), folder + "/o"
    ferry("run", task, "-q", "-o", folder + "/whole", *LONG)
    assert stop(task, out, signal.SIGKILL)[0] == -signal.SIGKILL
    assert not os.path.exists(out) and cells(out + ".part")
    old = {n: os.stat(f"{out}.part/{n}").st_mtime_ns for n in cells(out + ".part")}
    # other settings are another run
    r = ferry("run", task, "-q", "-o", out, "--resume", *LONG, "--seed", "9", code=2)
    assert "cannot be resumed" in r.err and cells(out + ".part"), r
    # a damaged piece is done again
    first = sorted(old)[0]
    data = open(f"{out}.part/{first}", "rb").read()
    open(f"{out}.part/{first}", "wb").write(data[:-9] + b"123456789")
    r = ferry("run", task, "-o", out, "--resume", *LONG)
    assert "nothing to resume" not in r.err
    assert not os.path.exists(out + ".part")
    a, b = numbers(folder + "/whole"), numbers(out)
    assert a == b
    assert read(folder, "whole/predictions/ttl.csv") == read(out, "predictions/ttl.csv")


def test_terminated_and_resumed(folder):
    task, out = long_task(folder), folder + "/o"
    code, err = stop(task, out, signal.SIGTERM)
    assert code == 143 and err.startswith("ferry: interrupted") and err.count("\n") == 1, (code, err)
    assert err.endswith("; --resume goes on\n") and cells(out + ".part"), err
    if os.path.exists(out):
        assert 1 <= len(numbers(out)["results"][0]["runs"]) < 6
        assert ("complete repeat" in err) == all("reason" not in m for m in numbers(out)["results"]), err
    ferry("run", task, "-q", "-o", out, "--resume", *LONG)
    assert all(len(m["runs"]) == 6 for m in numbers(out)["results"]) and not os.path.exists(out + ".part")


def test_started_anew(folder):
    task, out = long_task(folder), folder + "/o"
    stop(task, out, signal.SIGKILL)
    r = ferry("run", task, "-o", out, "--set", "evaluate.repeats=1", "--set", "evaluate.controls=none")
    assert "o.part: dropped what a stopped run left" in r.err and not os.path.exists(out + ".part"), r
    r = ferry("run", task, "-o", out, "--resume", "--set", "evaluate.repeats=1", "--set", "evaluate.controls=none")
    assert "nothing to resume, the run starts anew" in r.err


main(sys.modules[__name__])
