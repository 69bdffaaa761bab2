"""ferry reproduce: the list, what it refuses, studies made up here (every form of a claim, broken files), real ones, and the page made
of the committed results."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

from harness import FERRY, TOP, data_sets, ferry, main, read, refused, tree, write


def test_list(folder):
    r = ferry("reproduce", cwd=folder, env={"FERRY_DATA": ""})
    lines = r.out.splitlines()
    assert any(line.startswith("hemap-figure19  ") and "no data/statlog/german.data-numeric" in line for line in lines), r
    names = [line.split()[0] for line in lines]
    assert len(set(names)) == len(names), names
    assert "looked for in data, then in ../shared/data" in r.err, r
    for name in ("german.data-numeric", "australian.dat"):
        write(folder, "d/statlog/" + name, "")
    for name in ("Concrete_Data.csv", "slump_test.data"):
        write(folder, "d/concrete/" + name, "")

    def ready(*args, **env):
        return {line.split()[0] for line in ferry("reproduce", *args, cwd=folder, env=env).out.splitlines() if line.endswith("ready")}
    always = {s["study"] for s in json.loads(ferry("reproduce", "--json", cwd=folder).out) if not s["data"]}
    assert ready("--data", "d") == always | {"hemap-figure19"}
    assert ready("-q", FERRY_DATA="d") == always | {"hemap-figure19"}


def test_where_data_sets_are(folder):
    """The scripts of repro: FERRY_DATA, else what ferry fetch put into data, else beside the project; a set that is nowhere is told."""
    def where(name, **env):
        full = {k: v for k, v in os.environ.items() if k != "FERRY_DATA"}
        p = subprocess.run([sys.executable, "-B", folder + "/top/repro/where.py", name], env={**full, **env}, capture_output=True, text=True)
        return p.stdout.strip() or p.stderr
    write(folder, "top/repro/where.py", read(TOP, "repro/where.py"))
    write(folder, "shared/data/mfeat/a.csv", "")
    write(folder, "mine/mfeat/a.csv", "")
    assert where("mfeat") == folder + "/shared/data"
    write(folder, "top/data/linqs/cora", "")  # fetched, but another set
    assert where("mfeat") == folder + "/shared/data" and where("linqs") == folder + "/top/data"
    assert where("mfeat", FERRY_DATA=folder + "/mine") == folder + "/mine"
    assert "no imdb in" in where("imdb") and "ferry fetch" in where("imdb")


def test_refuses(folder):
    out = folder + "/out"
    refused("reproduce", "hemap-figure18", "--out", out, says="did you mean hemap-figure19?")
    refused("reproduce", "hemap-figure19", "--out", out, "--data", folder, says="statlog/german.data-numeric: not there")
    refused("reproduce", "hemap-figure19", "--out", out, "--data", folder + "/no", says="/no: cannot use this folder")
    refused("reproduce", "--quick", says="which study?")
    refused("reproduce", "hemap-figure19", "--out", write(folder, "file", ""), "--data", folder, says="is not a folder")
    assert not os.path.exists(out)


# ---- a study made up here ----

TOY = """paper: "Nobody: A toy, 2026"
let:
  what: Forty
studies:
  toy-table1:
    shows: "table 1: a toy"
    needs: [there.txt, {other: sub/no.txt|sub/also.txt}]
    protocol: ${what} points.
    prepare: [toy.py, "rows=40", "${other}"]
    runs:
      - over: {labels: [{name: 20 labels, n: 20}, {name: 4 labels, n: 4}]}
        seed: 6
        set: {domains.t.labelled: "${labels.n}"}
        file: toy.yaml
        task: |
          task: toy
          goal: classify
          domains:
            - {name: t, role: target, x: t.csv, label: y, labelled: 10}
          methods: [majority, knn: {k: 1}, ttl]
          evaluate: {repeats: 3, metrics: [accuracy, macro-f1]}
    tables:
      - id: one
        units: accuracy, %
        digits: 1
        cells:
          - {each: {m: [majority, knn k=1, ttl]}, row: "${m}", column: "${labels}", method: "${m}", times: 100}
        paper: {majority: {20 labels: 50, 4 labels: 50}, knn k=1: {20 labels: 97.5}}
      - title: by metric
        mean: column
        cells:
          - {when: {labels: 20 labels}, each: {metric: [accuracy, macro-f1]}, row: 1-NN, column: "${metric}", method: knn k=1,
             metric: "${metric}"}
    notes:
      - note: this is a toy
CLAIMS"""
SCRIPT = """import sys
words = dict(w.split("=", 1) for w in sys.argv[1:] if "=" in w)
assert words["--seed"] == "1" and sys.argv[-1].endswith("/sub/also.txt"), sys.argv
n = int(words["rows"])
with open("t.csv", "w") as f:
    f.write("x,y\\n" + "".join("%g,%s\\n" % (i + 0.5, "no" if i < 0 else "yes") for i in range(-n // 2, n // 2)))
"""


def toy(folder, claims=(), text=None, script=SCRIPT):
    """Write the toy with such claims (a text, or (text, holds)); the words that run it."""
    lines = "".join("      - {claim: %s, holds: %s}\n" % (json.dumps(t), json.dumps(h)) for t, h in claims)
    write(folder, "s/studies/toy.yaml", (text or TOY).replace("CLAIMS", "    claims:\n" + lines if claims else ""))
    write(folder, "s/prepare/toy.py", script)
    write(folder, "d/there.txt", "")
    write(folder, "d/sub/also.txt", "")
    return {"args": ["reproduce", "toy-table1", "--data", folder + "/d", "--out", folder + "/o", "--threads", "1"],
            "env": {"FERRY_STUDIES": folder + "/s"}}


def run_toy(folder, claims):
    words = toy(folder, claims)
    r = ferry(*words["args"], env=words["env"])
    return r, json.loads(read(folder, "o", "study.json"))


def refused_toy(folder, says, **change):
    words = toy(folder, **{"claims": [("fine", "one[knn k=1 | 20 labels] > 0")], **change})
    return refused(*words["args"], env=words["env"], says=says)


def test_a_place_for_each_set(folder):
    """What was fetched into data, the others beside the project: every study whose sets are somewhere is ready and runs."""
    words = toy(folder, [("fine", "one[knn k=1 | 20 labels] > 0")])
    top = folder + "/top"
    write(top, "data/fetched/x.csv", "")  # another set: data is there, but has none of these
    def there():
        return ferry("reproduce", cwd=top, env={**words["env"], "FERRY_DATA": ""}).out
    assert "no data/there.txt" in there()
    os.makedirs(folder + "/shared/data")
    os.rename(folder + "/d/there.txt", folder + "/shared/data/there.txt")
    assert "no data/sub/no.txt" in there()
    os.rename(folder + "/d/sub", folder + "/shared/data/sub")
    assert "ready" in there()
    go = [w for w in words["args"] if w not in ("--data", folder + "/d")]
    ferry(*go, cwd=top, env={**words["env"], "FERRY_DATA": ""})
    os.rename(folder + "/shared/data/sub", top + "/data/sub")  # one here, one there
    assert "ready" in there()
    shutil.rmtree(folder + "/o")
    ferry(*go, cwd=top, env={**words["env"], "FERRY_DATA": ""})
    assert os.path.realpath(folder + "/o/data/sub") == os.path.realpath(top + "/data/sub")
    refused(*go, cwd=top, env={**words["env"], "FERRY_DATA": "data"}, says="data/there.txt: not there")


HELD = [  # of majority (about 50 %) and 1-NN (about 97 %) with 20 and with 4 labels
    "one[knn k=1 | 20 labels] > one[majority | 20 labels]", "all(one[knn k=1 | *] > one[majority | *])",
    "all(one[knn k=1 | 20 labels; 4 labels] >= one[majority | 20 labels .. 4 labels])", "mean(one[knn k=1 | *]) > mean(one[majority | *])",
    "count(one[knn k=1 | *] > one[majority | *]) == 2", "size(one[knn k=1 | *]) == 2", "count(one[knn k=1 | *] > 0, one[majority | *] > 0) == 4",
    "min(one[majority; knn k=1 | *]) == min(one[majority | *])", "max(one[majority; knn k=1 | *], 1000) == 1000",
    "abs(one[majority | 20 labels] - one[knn k=1 | 20 labels]) > 10", "within(one[majority | 20 labels], one[majority | 20 labels], 0)",
    "all(within(one[majority | *], 50, 30))", "count(rows(one[knn k=1; majority | *] > one[majority | *])) == 1",
    "all(columns(one[knn k=1 | *] > one[majority | *]))", "rises(one[majority; knn k=1 | 20 labels])",
    "falls(one[knn k=1; majority | 20 labels])", "lowest(one[majority; knn k=1 | 20 labels]) == \"majority\"",
    "highest(one[majority; knn k=1 | 20 labels]) != \"majority\"", "sd(one[knn k=1 | 20 labels]) >= 0",
    "2 * one[knn k=1 | 4 labels] - one[knn k=1 | 4 labels] / 1 == -(0 - one[knn k=1 | 4 labels])",
    "one[majority | *] > 1000 or one[knn k=1 | 20 labels] > 60 and one[majority | 20 labels] < 60", "one[ttl | *] > 0 or one[knn k=1 | *] > 0",
]
FAILED = [
    "one[knn k=1 | 20 labels] < one[majority | 20 labels]", "all(one[majority | *] > one[knn k=1 | *])", "count(one[majority | *] > 1000) == 1",
    "within(one[knn k=1 | 20 labels], one[majority | 20 labels], 1)", "falls(one[majority; knn k=1 | 20 labels])",
    "rises(one[knn k=1 | 20 labels])", "lowest(one[majority; knn k=1 | 20 labels]) == \"knn k=1\"", "one[knn k=1 | *] > one[majority | *] and one[majority | *] > 1000",
    # a number that is missing: ttl needs an intermediate domain
    "one[ttl | 20 labels] < 1000", "one[ttl | 20 labels] > 0 - 1000", "one[ttl | 20 labels] != 5", "one[ttl | 20 labels] == one[ttl | 20 labels]",
    "all(one[ttl; knn k=1 | 20 labels] > 0)", "max(one[ttl; knn k=1 | 20 labels]) > 0", "min(one[ttl; knn k=1 | 20 labels]) < 1000",
    "mean(one[ttl; knn k=1 | *]) > 0", "within(one[ttl | 20 labels], 50, 1000)", "abs(one[ttl | 20 labels]) >= 0",
    "lowest(one[ttl; knn k=1 | 20 labels]) != \"x\"", "lowest(one[ttl; knn k=1 | 20 labels]) == \"knn k=1\"", "sd(one[ttl | 20 labels]) >= 0",
    "one[ttl | *] and one[knn k=1 | *]", "count(one[ttl | *] > 0) == 2", "rises(one[ttl; knn k=1 | 20 labels])",
    # rows and columns that are not there
    "one[nobody | 20 labels] > 0", "all(one[knn k=1 | 20 labels; 50 labels] > 0)", "one[knn k=1 | 4 labels .. 20 labels] > 0",
]


def test_claims(folder):
    """Every form of a claim, true ones and false ones; where a number is missing none holds."""
    r, study = run_toy(folder, [(h, h) for h in HELD + FAILED])
    for claim in study["claims"]:
        assert claim["held"] == (claim["claim"] in HELD), claim
    assert study["verdict"].startswith("partly reproduced: %d of %d claims; not: %s; " % (len(HELD), len(HELD + FAILED), FAILED[0]))
    assert "one[nobody | 20 labels] > 0: the table has no nobody" in r.err, r


def test_verdicts(folder):
    yes, no = "all(one[knn k=1 | *] > 0)", "all(one[knn k=1 | *] < 0)"
    for claims, verdict in (([yes, yes], "order reproduced"), ([no, yes], "partly reproduced: 1 of 2 claims; not: claim 1"),
                            ([no, no], "not reproduced: claim 1; claim 2")):
        r, study = run_toy(folder, [("claim %d" % (i + 1), holds) for i, holds in enumerate(claims)])
        assert study["verdict"] == verdict and "Verdict: %s." % verdict in " ".join(r.out.split()), study["verdict"]


def test_toy(folder):
    """From the study's file to text and JSON: cells, the paper's numbers, notes, numbers in texts, the command of each run."""
    r, study = run_toy(folder, [("1-NN has {one[knn k=1 | 20 labels]:%.1f} %, best is {highest(one[majority; knn k=1 | 20 labels])} of "
                                 "{size(one[* | *])}", "one[knn k=1 | 20 labels] > 90")])
    cells = {(c["row"], c["column"]): c for c in study["tables"][0]["cells"]}
    knn = cells["knn k=1", "20 labels"]
    assert knn["n"] == 3 and 80 < knn["ours"] <= 100 and knn["paper"] == 97.5 and cells["majority", "4 labels"]["paper"] == 50
    assert cells["ttl", "4 labels"]["ours"] is None and "ttl needs" in cells["ttl", "4 labels"]["reason"]
    assert study["claims"][0]["claim"] == "1-NN has %.1f %%, best is knn k=1 of 6" % knn["ours"]
    second = {c["column"]: c for c in study["tables"][1]["cells"]}
    assert abs(second["mean"]["ours"] - (second["accuracy"]["ours"] + second["macro-f1"]["ours"]) / 2) < 1e-5, second
    assert study["protocol"] == "Forty points." and study["notes"] == ["this is a toy"]
    assert study["data"] == ["there.txt", "sub/no.txt|sub/also.txt"] and study["machine"]["memory"] > 0
    for text in ("toy-table1: table 1: a toy\nNobody: A toy, 2026\n", "table 1: a toy; accuracy, %\n", " (97.5)", "ttl, 20 labels: ttl needs",
                 "- held: 1-NN has", "this is a toy\n", "full run, seed 1,"):
        assert text in r.out, (text, r)
    first = study["runs"][0]
    assert first["command"] == "ferry run toy.yaml --set domains.t.labelled=20 --seed 7 --controls none", first
    assert abs(100 * first["scores"]["knn k=1"]["accuracy"] - knn["ours"]) < 1e-3 and "ttl needs" in first["scores"]["ttl"]
    again = ferry(*first["command"].split()[1:], "--json", "--threads", "1", "--out", folder + "/again", cwd=folder + "/o")
    result = next(x for x in json.loads(again.out)["results"] if x["name"] == "knn k=1")
    assert abs(result["mean"] - first["scores"]["knn k=1"]["accuracy"]) < 1e-5
    json_too = ferry(*toy(folder, [("c", "one[knn k=1 | *] > 0")])["args"], "--json", env={"FERRY_STUDIES": folder + "/s"})
    assert json.loads(json_too.out)["tables"] == study["tables"]


def test_broken_studies(folder):
    """A mistake in a study's file is one line with its place, before anything is written."""
    file = "toy.yaml:"
    for claim, says in (("1 < 2", "1 < 2: reads no cell: a constant proves nothing"), ("one[a | b", "expected [row | column]"),
                        ("one[a]", "expected [row | column]"), ("two[a | b] > 0", "which table?"), ("[a | b] > 0", "which table?"),
                        ("best(one[a | b])", "unknown function best"), ("one[a | b] > ", "expected a number, [row | column] or a function"),
                        ("(one[a | b]", "expected )"), ("one[a | b] 5", "expected nothing more at 5"), ("nobody", "nobody is no function and no table"),
                        ("within(one[a | b], 1)", "within(): wrong arguments"), ("sd(5 * one[a | b])", "sd() is of cells"),
                        ("one[a | b] < \"x\"", "a name can only be compared"), ("one[a; b | c; d] > one[a; b; c | d]", "2 x 2 cells do not go with 3 x 1"),
                        ("${nobody} > 0", "nothing here is called nobody"), ("${what > 0", "a ${ without its }")):
        refused_toy(folder, says, claims=[("c", claim)], text=TOY.replace('    prepare: [toy.py, "rows=40", "${other}"]\n', ""))
    for text, says in (("{one[a | b]", "a { without its }"), ("{one[a | b]:%s}", "expected a format such as %.1f"),
                       ("{one[a; b | c]}", "expected one number")):
        refused_toy(folder, says, claims=[(text, "one[a | b] > 0")])
    for old, new, says in ((" units:", " unit:", "unknown key unit (did you mean units?)"), ("shows:", "show:", "unknown key show"),
                           ("    needs:", "    notes:", "is there twice"), ("cells:", "digits:", "is there twice"),
                           ("{m: [majority, knn k=1, ttl]}", "{m: {a: b}}", "expected a list"), ("  what: Forty", "  what: ${what}", "without end"),
                           ("    runs:", "    runs: &a [*a]\n    let:", "too deep"), ("protocol: ${what}", "protocol: ${that}", "nothing here is called that"),
                           ("mean: column", "mean: middle", "mean: expected row or column"), ("{20 labels: 50, 4 labels: 50}", "50", "paper: expected"),
                           ("mean: column", "only: slow", "only: expected full or quick"), ("paper: \"Nobody", "papers: \"Nobody", "unknown key papers"),
                           ("studies:", "studies: [", "expected"), ("file: toy.yaml", "files: toy.yaml", "unknown key files"),
                           ("    tables:", "    table:", "unknown key table"), ("column: \"${labels}\"", "column: [x]", "expected a text for 'column'"),
                           ("when: {labels: 20 labels}", "when: {labels: 9}", "no run has anything for this table"),
                           ("prepare: [toy.py", "prepare: [[toy.py]", "prepare: expected words")):
        assert old in TOY, old
        r = refused_toy(folder, says, text=TOY.replace(old, new, 1))
        assert file in r.err, r
    assert not os.path.exists(folder + "/o/study.json")
    refused_toy(folder, "gave no claim", claims=[])
    write(folder, "s/studies/again.yaml", TOY.replace("CLAIMS", ""))
    refused_toy(folder, "toy-table1 is in ")
    write(folder, "s/studies/again.yaml", "")
    refused_toy(folder, "again.yaml:1: the file is empty")
    write(folder, "s/studies/again.yaml", "a: [\n")
    refused_toy(folder, "again.yaml:2: ")
    refused("reproduce", env={"FERRY_STUDIES": folder + "/none"}, says="none/studies: no folder of studies there")


def test_preparation(folder):
    """A script that fails says why in one line; without python3 that is said."""
    refused_toy(folder, "t.csv:3: expected more", script="import sys\nprint('noise', file=sys.stderr)\nsys.exit('t.csv:3: expected more')\n")
    refused_toy(folder, "the preparation of the data failed", script="raise SystemExit(3)\n")
    refused_toy(folder, "AssertionError", script="assert False\n")
    words = toy(folder, [("c", "one[knn k=1 | *] > 0")])
    refused(*words["args"], env={**words["env"], "PATH": folder}, says="toy-table1 prepares its data with python3, which is not here")
    os.remove(folder + "/d/sub/also.txt")
    refused(*words["args"], env=words["env"], says="d/sub/no.txt: not there, and toy-table1 needs it")
    assert "study.json" not in tree(folder + "/o")


# ---- the papers' studies ----

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
    data = data_sets("statlog")
    out = folder + "/h"
    r = ferry("reproduce", "hemap-figure19", "--quick", "--data", data, "--out", out, "--threads", "1", "--seed", "5")
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
    data = data_sets("corel5k")
    out = folder + "/m"
    ferry("reproduce", "mmltl-figure4", "--quick", "--data", data, "--out", out, "--threads", "1")
    cells = json.loads(read(out, "study.json"))["tables"][0]["cells"]
    assert len(cells) == 5 * 4 and all(c["ours"] > 0 for c in cells), cells
    again = ferry("run", "nuisance-0-a-300.yaml", "--json", "--threads", "1", "--out", folder + "/again", cwd=out)
    assert len(json.loads(again.out)["results"]) == 4, again


def test_page(folder):
    """docs/reproduction.md is what the committed results make, and each result belongs to a study."""
    p = subprocess.run([os.path.join(TOP, "scripts", "reproduction"), "--check"], capture_output=True, text=True)
    assert p.returncode == 0, p.stderr
    known = {s["study"]: s for s in json.loads(ferry("reproduce", "--json", cwd=folder).out)}
    names = sorted(os.listdir(os.path.join(TOP, "repro", "results")))
    assert [n + ".json" for n in sorted(known)] == names
    for name in names:
        study = json.loads(read(TOP, "repro", "results", name))
        now = known[study["study"]]
        assert not study["quick"], name
        assert study["protocol"] == now["protocol"], "%s: made with another protocol; run ferry reproduce %s again" % (name, study["study"])


def test_modes_exist(folder):
    """A study that speaks of a method's mode means one that there is."""
    names = {m["name"] for m in json.loads(ferry("methods", "--json").out)}
    modes = {"ferry"} | {n[len(m) + 1:] for n in names for m in names if n.startswith(m + "-")}  # mode: paper is NAME-paper
    assert "paper" in modes, modes
    for path in glob.glob(os.path.join(TOP, "repro", "studies", "*.yaml")) + [os.path.join(TOP, "docs", "reproduction.md")]:
        told = set(re.findall(r"\bmode ([a-z-]+)", read(path))) - {"gains"}  # "what our own mode gains"
        assert told <= modes, (path, told - modes)


def test_studies_are_right(folder):
    """Every study of the papers gets past the check of its file, in a quick run and in a full one: what stops it is the empty data. One that
    needs none runs quickly to its end, also where there is no folder of data."""
    for s in json.loads(ferry("reproduce", "--json", cwd=folder).out):
        for name in s["data"]:
            write(folder, "d/" + name.split("|")[0], "")
        for more in ([], ["--quick"]):
            if not s["data"] and not more:
                continue  # nothing would stop the full run
            r = ferry("reproduce", s["study"], *(["--data", folder + "/d"] if s["data"] else []), "--out", folder + "/o", *more, code=None)
            if not s["data"]:
                assert r.code == 0 and os.path.exists(folder + "/o/study.json"), (s["study"], r)
                os.remove(folder + "/o/study.json")
                continue
            assert r.code in (1, 2) and "/studies/" not in r.err and (folder + "/d/" in r.err or folder + "/o/" in r.err), (s["study"], r)


def test_installed(folder):
    """From an installed copy: studies and scripts are found beside the program."""
    os.makedirs(folder + "/bin")
    os.makedirs(folder + "/share/ferry")
    os.symlink(os.path.join(TOP, "repro", "studies"), folder + "/share/ferry/studies")
    shutil.copy(FERRY, folder + "/bin/ferry")
    lib = os.path.dirname(FERRY)
    p = subprocess.run([folder + "/bin/ferry", "reproduce", "-q"], cwd=folder, env=dict(os.environ, LD_LIBRARY_PATH=lib),
                       capture_output=True, text=True)
    assert p.returncode == 0 and "hemap-figure19" in p.stdout, p
    os.remove(folder + "/share/ferry/studies")
    p = subprocess.run([folder + "/bin/ferry", "reproduce"], cwd=folder, env=dict(os.environ, LD_LIBRARY_PATH=lib), capture_output=True,
                       text=True)
    assert p.returncode == 2 and "no folder of studies there" in p.stderr, p


if __name__ == "__main__":
    main(sys.modules[__name__])
