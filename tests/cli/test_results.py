"""What a run leaves: one screen, explain, tables for papers, splits and predictions of all repeats, own predictions."""
import os
import random
import re
import sys

from harness import FERRY, csv_rows, ferry, main, parses, read, refused, small_task, write


def with_methods(folder, task, text, name="mine.yaml"):
    return write(folder, "task/" + name, read(task) + "methods:\n" + text)


def results(out):
    return {m["name"]: m for m in parses(read(out, "results.json"))["results"]}


def test_one_screen(folder):
    task = small_task(folder)
    r = ferry("run", task, "-q", "-o", folder + "/o")
    lines = r.out.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("method "))
    assert lines[head].endswith("verdict"), lines[head]
    [after] = [line for line in lines[:head] if line.startswith("  Next  ")]
    # a command to copy is as long as its paths
    wide = max(len(line.replace(FERRY, "ferry").replace(folder, "")) for line in lines if line != after)
    assert len(lines) <= 36 and wide <= 100, (len(lines), wide)
    assert f" fit {task} -o model.ferry" in after and lines[-1] == f"Why: {FERRY} explain {folder}/o.", (after, lines[-1])
    mine, rows = results(folder + "/o"), lines[head + 1:lines.index("", head)]
    words = {m["verdict"]["verdict"] for m in mine.values() if m["verdict"]}
    assert len(rows) == 12 and words, rows
    for row in rows:
        verdict = mine[row.split()[0]]["verdict"]
        assert not verdict or row.split(" (at most +")[0].endswith("  " + verdict["verdict"]), (row, verdict)
    # the same again, and the table of all
    again = ferry("table", folder + "/o").out.splitlines()
    assert [line for line in again if not line.startswith("  Next  ")] == [line for line in lines[:-1] if line != after]
    everything = ferry("table", folder + "/o", "--all").out
    assert all(f"\n{name} " in everything for name in mine) and all("  " + w in everything for w in words), everything


def test_explain(folder):
    task = small_task(folder)
    ferry("run", task, "-q", "-o", folder + "/o")
    all_of_it = ferry("explain", folder + "/o").out
    d = parses(read(folder, "o/results.json"))
    words = " ".join(all_of_it.split())
    for m in d["results"]:
        if m["verdict"]:
            assert " ".join(m["verdict"]["sentence"].split()) in words, m["verdict"]["sentence"]
    for m in d["skipped"]:
        assert " ".join(m["reason"].split()) in words, m["reason"]
    hop = ferry("explain", folder + "/o", "hop").out
    assert "shuffled-labels" in hop and "accuracy" in hop and "\nsettings\n" in hop, hop
    r = refused("explain", folder + "/o", "hip", says="no method 'hip' in these results; there are ")
    assert "svm" in r.err
    refused("explain", folder, says="results.json")


def test_an_interval_in_its_own_direction(folder):
    """Where smaller is better, a learner that is 1 worse than the baseline has an interval around +1."""
    ferry("gen", "regress", "--out", folder + "/r", "-q")
    task = write(folder, "r/few.yaml", read(folder, "r/task.yaml").replace("evaluate:", "methods: [hemap, gbdt: {train: both}]\nevaluate:"))
    ferry("run", task, "-o", folder + "/out", "--set", "evaluate.repeats=3", "-q")
    said = " ".join(ferry("explain", folder + "/out", "hemap").out.split())
    found = re.search(r"the learner itself has (-\S+) of rmse \((\S+) to (\S+?)\) against .*?, positive is better", said)
    assert found, said
    at, low, high = map(float, found.groups())
    assert low <= at <= high, said


def test_the_last_sentence_says_what_the_numbers_say(folder):
    """The best method against the best without transfer, whatever its verdict; better by a one-sided test alone is told so."""
    r = random.Random(1)
    for name, n in (("s.csv", 80), ("t.csv", 60)):
        write(folder, name, "a,b,c,label\n" + "".join(
            f"{r.gauss(2 * (i % 2), 1):.3f},{r.gauss(-1.5 * (i % 2), 1):.3f},{r.gauss(0, 1):.3f},{'no' if i % 2 else 'yes'}\n" for i in range(n)))
    task = write(folder, "t.yaml", """task: t
goal: classify
domains:
  - {name: s, role: source, x: s.csv, label: label}
  - {name: t, role: target, x: t.csv, label: label, labelled: {per_class: 2}}
methods: [knn: {k: 1}, cotransfer]
evaluate: {repeats: 1, controls: none}
""")
    better = 0
    for seed in range(1, 13):
        done = parses(ferry("run", task, "--json", "--seed", seed, "-o", folder + "/out", "--force").out)
        by = {m["name"]: m for m in done["results"]}
        v, outcome = by["cotransfer"]["verdict"], done["verdict"]
        assert outcome["best_baseline"] == "knn k=1" and outcome["reference"] == "target only", outcome
        gain = f"{100 * v['over_best']:+.1f} points ({100 * v['over_best_low']:.1f} to {100 * v['over_best_high']:.1f})"
        assert gain.replace("(-0.0 ", "(0.0 ").replace("+0.0 ", "0.0 ") in outcome["sentence"] or "equals knn" in outcome["sentence"], (seed, gain, outcome)
        assert abs(v["gain"] - (by["cotransfer"]["mean"] - outcome["reference_mean"])) < 1e-9
        if v["p_holm"] < 0.05 and v["gain"] > 0:
            better += 1
            assert v["verdict"] == "source open" and ("one-sided p" in v["sentence"]) == (v["low"] <= 0), (seed, v)
        else:
            assert v["verdict"] in ("open", "same", "weak learner") and v["at_most"] > 0, v
    assert better > 0


def test_controls_are_quiet(folder):
    """What a method says of a shuffled source is no word about the task: place finds no order there, and said so each time."""
    ferry("gen", "classes", "-q", "--out", folder + "/classes")
    r = ferry("run", folder + "/classes/task.yaml", "--set", "evaluate.repeats=1", "-o", folder + "/out")
    assert "geometry does not hold" not in r.err, r


def test_tables(folder):
    task = small_task(folder)
    ferry("run", task, "-q", "-o", folder + "/o", "--set", "evaluate.controls=none")
    head, *rows = csv_rows(ferry("table", folder + "/o", "--format", "csv").out)
    mine = results(folder + "/o")
    assert head[:4] == ["method", "kind", "accuracy", "accuracy std"] and len(rows) == len(mine)
    for row in rows:
        assert abs(float(row[2]) - mine[row[0]]["mean"]) < 1e-12, row
    text = ferry("table", folder + "/o", "--format", "markdown").out.splitlines()
    assert text[0].startswith("| method | uses | accuracy |") and len(text) == len(mine) + 2
    assert len({line.count("|") for line in text}) == 1
    assert ferry("table", folder + "/o", "--all", "--format", "markdown").out.splitlines() == text
    text = ferry("table", folder + "/o", "--format", "latex").out
    assert text.startswith("\\begin{tabular}{llr") and text.count("\\\\\n") == len(mine) + 1 and "±" not in text
    refused("table", folder + "/o", "--format", "word", says="expected text, csv, markdown, latex or json")


def test_save_and_import(folder):
    """Predictions that were saved, imported under another name, are the method again."""
    task, out = small_task(folder, "repeats=4"), folder + "/o"
    both = with_methods(folder, task, "  - svm\n  - logreg\n")
    ferry("run", both, "-q", "-o", out, "--save", "splits,predictions")
    head, *rows = csv_rows(read(out, "splits.csv"))
    assert head == ["repeat", "id", "role"] and {r[0] for r in rows} == set("1234")
    assert len(rows) == 4 * 60 and len({tuple(r[1] for r in rows if r[0] == k and r[2] == "visible") for k in "1234"}) > 1
    head, *given = csv_rows(read(out, "predictions/logreg.csv"))
    assert head[:5] == ["repeat", "id", "truth", "scored", "prediction"] and head[5].startswith("score.")
    scored = {(r[0], r[1]) for r in rows if r[2] == "scored"}
    assert {(g[0], g[1]) for g in given if g[3] == "1"} == scored and len(given) == 4 * 60
    text = """  - svm
  - logreg
  - predictions: {file: ../o/predictions/logreg.csv}
    as: mine
  - predictions: {file: ../o/predictions/svm.csv, baseline: yes}
    as: theirs
"""
    ferry("run", with_methods(folder, task, text), "-q", "-o", folder + "/p", "--set",
          "evaluate.metrics=accuracy,log-loss,auc")
    r = results(folder + "/p")
    for own, imported in (("logreg", "mine"), ("svm", "theirs")):
        for metric in ("accuracy", "log-loss", "auc"):
            assert r[own]["metrics"][metric]["runs"] == r[imported]["metrics"][metric]["runs"], (own, metric)
    assert r["theirs"]["kind"] == "baseline" and r["mine"]["versus"]["pairs"] == 4
    assert "mine" in ferry("table", folder + "/p").out


def test_own_predictions(folder):
    task = small_task(folder, "repeats=2")
    ferry("run", with_methods(folder, task, "  - svm\n"), "-q", "-o", folder + "/o", "--save", "splits")
    truth = {r[0]: r[1] for r in csv_rows(read(folder, "o/predictions/svm.csv"))[1:]}
    rows = [r for r in csv_rows(read(folder, "o/splits.csv"))[1:] if r[2] == "scored"]
    rng = random.Random(1)
    write(folder, "task/mine.csv", "repeat,id,prediction\n" + "".join(
        f"{k},{i},{truth[i] if rng.random() < .9 else 'c1'}\n" for k, i, _ in rows))
    entry = "  - svm\n  - predictions: {file: mine.csv}\n    as: mine\n"
    ferry("run", with_methods(folder, task, entry), "-q", "-o", folder + "/p", "--set", "evaluate.metrics=accuracy,auc")
    r = results(folder + "/p")["mine"]
    assert 0.8 < r["mean"] < 1 and r["metrics"]["auc"]["mean"] is None and r["versus"]["baseline"] == "target only"

    def broken(text, says):
        write(folder, "task/mine.csv", text)
        t = with_methods(folder, task, entry)
        r = ferry("run", t, "-q", "-o", folder + "/q", "--force", code=None)
        told = r.err + (ferry("explain", folder + "/q").out if r.code == 0 else "")
        assert says in " ".join(told.split()), (says, told)

    lines = "".join(f"{i},c1\n" for i in truth)
    broken("id,prediction\n" + lines, "has no column 'repeat'")
    broken("repeat,id,prediction\n" + "".join(f"1,{i},c1\n" for i in truth), "has no answers for repeat 2")
    broken("repeat,id,prediction\n1,t1,c9\n", "mine.csv:2: 'c9' is none of the task's classes")
    broken("repeat,id,prediction\n1,t1,c1\n1,t1,c2\n", "mine.csv:3: a second answer for 't1' in repeat 1")
    broken("repeat,id,prediction\n1,x,c1\n", "are the ids those of the task?")
    broken("a,b\n1,2\n", "expected a heading with id and prediction")
    refused("run", "-q", with_methods(folder, task, "  - predictions\n"), says="predictions needs a file", cwd=folder)
    assert "predictions" not in ferry("run", task, "-q", "-o", folder + "/all", "--set", "evaluate.controls=none").out


def test_ratings(folder):
    rng = random.Random(2)
    write(folder, "task/r.csv", "user,item,rating\n" + "".join(
        f"u{u},i{i},{rng.randint(1, 5)}\n" for u in range(12) for i in range(10) if rng.random() < .8))
    task = write(folder, "task/task.yaml", "task: films\ngoal: rate\ndomains:\n"
                 "  - {name: films, role: target, ratings: r.csv, labelled: 0.5}\nevaluate: {repeats: 2}\n")
    ferry("run", with_methods(folder, task, "  - bias\n"), "-q", "-o", folder + "/o", "--save", "predictions,splits")
    assert read(folder, "o/splits.csv").startswith("repeat,user,item,role\n1,u0,i")
    ferry("run", with_methods(folder, task, "  - bias\n  - predictions: {file: ../o/predictions/bias.csv, as: mine}\n"), "-q",
          "-o", folder + "/p")
    r = results(folder + "/p")
    assert r["bias"]["runs"] == r["mine"]["runs"]
    refused("run", task, "--save", "models", says="expected splits, predictions or both", cwd=folder)


def test_stream_is_explained(folder):
    """What arrives is known from the folder too; of older folders, that tell nothing of it, all."""
    ferry("gen", "stream", "-q", "--set", "target=120", "-o", folder + "/s")
    ferry("run", folder + "/s/task.yaml", "-q", "-o", folder + "/o", *[w for s in ("arriving=0.5", "delay=3", "repeats=4") for w in ("--set", "evaluate." + s)])
    assert "(labels arriving: 0.5, 3 rows later)" in ferry("explain", folder + "/o").out
    text = read(folder, "o/results.json")
    old = write(folder, "o/results.json", text.replace('"arriving"', '"was-arriving"').replace('"delay"', '"was-delay"'))
    assert read(old) != text and "(labels arriving: 1)" in ferry("explain", folder + "/o").out
    # of a rate of mistakes the smaller is the better
    unused = [m["verdict"] for m in results(folder + "/o").values() if m["verdict"] and m["verdict"]["verdict"] == "ignores source"]
    best = {m["versus"]["baseline"] for m in parses(text)["results"] if m.get("versus")}
    assert len(best) == 1, best
    assert unused and all(f"{100 * v['gain']:+.1f} points" in v["sentence"] and f"against {min(best)}, positive is better" in v["sentence"] for v in unused), unused


main(sys.modules[__name__])
