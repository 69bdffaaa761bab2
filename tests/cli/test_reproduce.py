"""ferry reproduce: the list, what it refuses, one real study, and the page made of the committed results."""
import json
import os
import subprocess
import sys

from harness import TOP, Skip, ferry, main, read, refused, tree, write

DATA = os.environ.get("FERRY_DATA", os.path.join(TOP, "../shared/data"))


def test_list(folder):
    r = ferry("reproduce", cwd=folder, env={"FERRY_DATA": ""})
    lines = r.out.splitlines()
    assert any(line.startswith("hemap-figure19  ") and "no data/statlog/german.data-numeric" in line for line in lines), r
    names = [line.split()[0] for line in lines]
    assert len(set(names)) == len(names), names
    assert "looked for in data" in r.err, r
    for name in ("german.data-numeric", "australian.dat"):
        write(folder, "d/statlog/" + name, "")
    for name in ("Concrete_Data.csv", "slump_test.data"):
        write(folder, "d/concrete/" + name, "")
    ready = [line for line in ferry("reproduce", "--data", "d", cwd=folder).out.splitlines() if line.endswith("ready")]
    assert len(ready) == 1 and ready[0].startswith("hemap-figure19"), ready
    assert ferry("reproduce", "-q", cwd=folder, env={"FERRY_DATA": "d"}).out.count("ready") == 1


def test_refuses(folder):
    out = folder + "/out"
    refused("reproduce", "hemap-figure20", "--out", out, says="did you mean hemap-figure19?")
    refused("reproduce", "hemap-figure19", "--out", out, "--data", folder, says="statlog/german.data-numeric: not there")
    refused("reproduce", "hemap-figure19", "--out", out, "--data", folder + "/no", says="/no: cannot use this folder")
    refused("reproduce", "--quick", says="which study?")
    refused("reproduce", "hemap-figure19", "--out", write(folder, "file", ""), "--data", folder, says="is not a folder")
    assert not os.path.exists(out)


def test_bad_data(folder):
    write(folder, "d/statlog/german.data-numeric", "1 2 3\n")
    write(folder, "d/statlog/australian.dat", "")
    write(folder, "d/concrete/Concrete_Data.csv", "")
    write(folder, "d/concrete/slump_test.data", "")
    refused("reproduce", "hemap-figure19", "--data", folder + "/d", "--out", folder + "/o",
            says="german.data-numeric:1: expected 25 columns, found 3")
    assert "study.json" not in tree(folder + "/o")


def test_real(folder):
    """A quick study from the data to study.json; one of its commands gives the same number."""
    if not os.path.isdir(os.path.join(DATA, "statlog")):
        raise Skip("no data in " + DATA)
    out = folder + "/h"
    r = ferry("reproduce", "hemap-figure19", "--quick", "--data", DATA, "--out", out, "--threads", "1", "--seed", "5")
    for text in ("What the paper says:", "quick run, seed 5", "Verdict: ", "German credit"):
        assert text in r.out, r
    study = json.loads(read(out, "study.json"))
    assert study["quick"] and study["verdict"] in " ".join(r.out.split()), study["verdict"]
    first = study["runs"][0]
    again = ferry(*first["command"].split()[1:], "--json", "--threads", "1", "--out", folder + "/again", cwd=out)
    for result in json.loads(again.out)["results"]:
        theirs = first["scores"][result["name"]]["error"]
        assert abs(result["metrics"]["error"]["mean"] - theirs) < 1e-5, (result["name"], theirs)
    cell = study["tables"][0]["cells"][0]
    assert cell["ours"] == first["scores"][cell["row"]]["error"] and cell["n"] == 3, cell


def test_prepared(folder):
    """A study that cuts its own domains and times fits: every cell is there, and its task file runs by itself."""
    if not os.path.isdir(os.path.join(DATA, "corel5k")):
        raise Skip("no data in " + DATA)
    out = folder + "/m"
    ferry("reproduce", "mmltl-figure4", "--quick", "--data", DATA, "--out", out, "--threads", "1")
    cells = json.loads(read(out, "study.json"))["tables"][0]["cells"]
    assert len(cells) == 5 * 4 and all(c["ours"] > 0 for c in cells), cells
    again = ferry("run", "nuisance-0-a-300.yaml", "--json", "--threads", "1", "--out", folder + "/again", cwd=out)
    assert len(json.loads(again.out)["results"]) == 4, again


def test_page(folder):
    """docs/reproduction.md is what the committed results make, and each result belongs to a study."""
    p = subprocess.run([os.path.join(TOP, "scripts", "reproduction"), "--check"], capture_output=True, text=True)
    assert p.returncode == 0, p.stderr
    known = [line.split()[0] for line in ferry("reproduce", "-q", cwd=folder).out.splitlines()]
    for name in sorted(os.listdir(os.path.join(TOP, "repro", "results"))):
        study = json.loads(read(TOP, "repro", "results", name))
        assert study["study"] in known and not study["quick"], name


if __name__ == "__main__":
    main(sys.modules[__name__])
