"""rerun: the record of a run, and the same numbers again."""
import json
import os
import sys

from harness import ferry, main, parses, read, refused, small_task, write


def run(folder, *more):
    task = small_task(folder)
    ferry("run", task, "-q", "-o", folder + "/o", *more)
    return task


def test_record(folder):
    task = run(folder, "--set", "domains.target.labelled=9", "--threads", "1", "--seed", "5")
    r = parses(read(folder, "o/run.json"))
    assert r["task"]["file"] == os.path.realpath(task) and r["task"]["text"] == read(task)
    assert r["task"]["sets"] == {"domains.target.labelled": "9", "evaluate.seed": "5"}
    assert r["seed"] == "5" and r["threads"] == 1 and r["engine"] == "host" and r["blas_core"]
    assert [d["role"] for d in r["domains"]] == ["source", "intermediate", "target"]
    assert all(len(d["hash"]) == 16 for d in r["domains"]) and r["domains"][2]["views"][0]["features"] == 8
    assert {"svm", "hemap"} <= {m["method"] for m in r["methods"]}
    assert r["seconds"] > 0 and r["peak_memory"] > 1e6 and r["started"].endswith("Z") and r["libraries"]["OpenBLAS"]
    assert r["evaluate"]["controls"] == "quick"
    assert r["command"] == (f"ferry run {os.path.realpath(task)} --set domains.target.labelled=9 --set evaluate.seed=5 "
                            "--threads 1"), r["command"]


def test_same_numbers(folder):
    run(folder, "--seed", "3", "--set", "evaluate.repeats=2", "--controls", "full")
    r = ferry("rerun", folder + "/o", "-o", folder + "/again")
    assert r.err.endswith(f"ferry: the same numbers as in {folder}/o/results.json\n"), r
    a, b = (parses(read(folder, d, "results.json")) for d in ("o", "again"))
    assert a["seed"] == b["seed"] == 3
    for x, y in zip(a["results"], b["results"]):
        assert x["metrics"] == y["metrics"] and x["verdict"] == y["verdict"]
    # and the rerun of a rerun
    ferry("rerun", folder + "/again", "-q", "--threads", "1")


def test_without_the_task_file(folder):
    """The record holds the task: a file changed since makes no difference."""
    task = run(folder)
    write(folder, "task/task.yaml", read(task) + "# changed\nmethods: [svm]\n")
    ferry("rerun", folder + "/o")


def test_other_numbers(folder):
    run(folder)
    d = parses(read(folder, "o/results.json"))
    d["results"][0]["metrics"]["accuracy"]["runs"][0] += 0.125
    write(folder, "o/results.json", json.dumps(d))
    r = ferry("rerun", folder + "/o", code=1)
    assert d["results"][0]["name"] + " gave other numbers" in r.err


def test_first_schema(folder):
    """A folder of the first version, which had three verdicts and other intervals: its numbers are compared, its verdicts are not; report and explain read it."""
    run(folder)
    d = parses(read(folder, "o/results.json"))
    del d["schema"], d["verdict"]["least"]
    for m in d["results"]:
        v = m["verdict"]
        if v:
            m["verdict"] = {"verdict": "no evidence", **{k: v[k] for k in ("gain", "low", "high", "p", "p_holm", "repeats")}, "level": 0.95,
                            "controls": [], "sources": [], "sentence": m["name"] + ": no evidence: as it was said then."}
    write(folder, "o/results.json", json.dumps(d))
    assert ": no evidence: as it was said then." in ferry("explain", folder + "/o").out
    ferry("report", folder + "/o", "-q")
    assert "as it was said then" in read(folder, "o/report.html")
    assert "the same numbers as in" in ferry("rerun", folder + "/o", "-o", folder + "/again").err
    assert parses(read(folder, "again/results.json"))["schema"] == 3
    d["results"][0]["metrics"]["accuracy"]["runs"][0] += 0.125
    write(folder, "o/results.json", json.dumps(d))
    assert "gave other numbers" in ferry("rerun", folder + "/o", code=1).err


def test_changed_data(folder):
    run(folder)
    lines = read(folder, "task/source.csv").splitlines(True)
    write(folder, "task/source.csv", lines[0] + "".join(lines[2:]))
    refused("rerun", folder + "/o", says="the data of domain 'source' changed since the run")
    write(folder, "task/source.csv", "".join([lines[0], lines[1].replace("c1", "c2"), *lines[2:]]))
    refused("rerun", folder + "/o", says="the labels of domain 'source' changed since the run")


def test_damaged_records(folder):
    run(folder)
    refused("rerun", folder + "/absent", says="expected the folder of a run")
    good = parses(read(folder, "o/run.json"))
    for key, value in (("seed", 3), ("seed", "x"), ("threads", 0), ("engine", "warp"), ("methods", {}), ("domains", []),
                       ("task", None), ("task", dict(good["task"], file=None)), ("task", dict(good["task"], sets={"a": 1}))):
        write(folder, "o/run.json", json.dumps(dict(good, **{key: value})))
        refused("rerun", folder + "/o", says="")
    write(folder, "o/run.json", "{")
    refused("rerun", folder + "/o", says="run.json:1")


main(sys.modules[__name__])
