"""ferry select: ways tried, a bridge recommended; by the paper's model bridges ranked, selectors kept and used again."""
import json
import random
import sys

from harness import ferry, main, refused, tree, write


def far_task(folder, domains=6):
    """Domains in a row; each shares words only with those near it."""
    rng = random.Random(3)
    lines = ["task: far", "goal: classify", "text: {norm: l2}", "domains:"]
    for k in range(domains):
        docs = []
        for i in range(40):
            words = [("high", "low")[(i % 2) ^ (rng.random() < 0.1)] + "abcdefghijklmnopqrstuvwxyz"[3 * k + rng.randrange(10)]
                     for _ in range(6)]
            docs.append(("up", "down")[i % 2] + "\t" + " ".join(words))
        write(folder, f"d{k}.txt", "\n".join(docs) + "\n")
        role = "source" if k == 0 else "target" if k == domains - 1 else "intermediate"
        lines.append(f"  - {{name: d{k}, role: {role}, x: d{k}.txt, label: first}}")
    return write(folder, "far.yaml", "\n".join(lines) + "\n")


SETS = ["--by", "paper", "--set", "sample=20", "--set", "neighbours=4", "--set", "t=1.0"]


def test_ranks_and_keeps(folder):
    task = far_task(folder)
    r = ferry("select", task, "-o", folder + "/s.ferry", *SETS)
    assert "bridges to 'd5', 4 candidates" in r.out and "How far to trust it" in r.out, r
    assert "chains of 2" in r.out and "chains of 3" in r.out and "evidence" in r.out or "proof" in r.out, r
    assert "the selector is in" in r.err
    first = json.loads(ferry("select", task, "--json", *SETS).out)
    again = json.loads(ferry("select", task, "--json", "--by", "paper", "--selector", folder + "/s.ferry").out)
    assert first == again
    bridges = [w for w in first["ways"] if len(w["via"]) == 1]
    assert sorted(w["via"][0] for w in bridges) == ["d1", "d2", "d3", "d4"]
    assert [w["probability"] for w in bridges] == sorted((w["probability"] for w in bridges), reverse=True)
    assert all(0 <= w["features"]["distance_source_bridge"] <= 2 for w in bridges)
    assert first["trust"]["triples"] == 60 and first["trust"]["weak"] in (True, False)


def test_only_bridges(folder):
    r = ferry("select", far_task(folder), "--set", "longest=1", *SETS)
    assert "chains of" not in r.out, r


def test_seed_and_threads(folder):
    task = far_task(folder)
    one = ferry("select", task, "--json", "--seed", "7", "--threads", "1", *SETS).out
    assert one == ferry("select", task, "--json", "--seed", "7", "--threads", "3", *SETS).out
    assert one != ferry("select", task, "--json", "--seed", "8", "--threads", "1", *SETS).out


def test_trial(folder):
    """The made-up task: the clear bridge is recommended, with its line; its answer holds when the task is cut to it."""
    ferry("gen", "select", "--out", folder + "/t", "-q")
    task = folder + "/t/task.yaml"
    table = ferry("select", task).out
    line = "  - {name: clear, role: intermediate, x: clear.csv, id: id}\n"
    assert "ways to 'target' by trial, 4 candidates, 200 rows, 4 labels shown" in table, table
    assert "Recommended: clear.\n" in table and "\n\n" + line + "\n" in table, table
    assert "swapped names repeat too" in table and table.count("not reached") == 3, table
    d = json.loads(ferry("select", task, "--json").out)
    ways = {" > ".join(w["via"]): w for w in d["ways"]}
    assert d["recommended"] == ["clear"] and d["lines"] == line and d["told"], d
    assert ways["clear"]["q"] > 0.5 > d["floor"] > ways["blurred"]["q"], ways
    assert not ways["near"]["reached"] and not ways[""]["reached"] and ways["near"]["q"] == 0
    one = json.loads(ferry("select", task, "--json", "--one", "--jobs", "1").out)
    assert one["ways"][0]["recommended"] and sum(w["recommended"] for w in one["ways"]) == 1
    assert [w["q"] for w in one["ways"]] == [w["q"] for w in d["ways"]]
    blind = json.loads(ferry("select", task, "--json", "--set", "domains.target.labelled=none").out)
    assert {" > ".join(w["via"]): w["q"] for w in blind["ways"]} == {v: w["q"] for v, w in ways.items()}
    assert blind["labels"] == 0 and d["labels"] == 4


def test_auto(folder):
    """bridge: auto: each repeat chooses on what it shows; the table, the results and the answer say what. Other goals, and tasks
    without candidates, are refused with their line."""
    ferry("gen", "select", "--out", folder + "/t", "-q")
    with open(folder + "/t/task.yaml") as f:
        text = f.read()
    auto = text.replace("goal: classify\n", "goal: classify\nbridge: auto\nmethods: [hop, logreg]\n")
    task = write(folder, "t/auto.yaml", auto)
    run = ferry("run", task, "--set", "evaluate.repeats=2", "--set", "evaluate.controls=none", "-q", "--out", folder + "/o")
    assert "bridge: auto took clear in 2 of 2 repeats: the labels that arrive that way repeat best (q 0." in run.out, run
    with open(folder + "/o/results.json") as f:
        d = json.load(f)
    assert d["bridge"].startswith("bridge: auto took clear") and d["results"][0]["diagnostics"]["bridge"]["chosen"] == ["clear"], d
    clear = [line for line in text.split("\n") if "intermediate" not in line or "clear" in line]
    alone = write(folder, "t/alone.yaml", "\n".join(clear).replace("goal: classify\n", "goal: classify\nmethods: [hop, logreg]\n"))
    ferry("run", alone, "--set", "evaluate.repeats=2", "--set", "evaluate.controls=none", "-q", "--out", folder + "/a")
    with open(folder + "/a/results.json") as f:
        same = json.load(f)
    assert [r["mean"] for r in same["results"]] == [r["mean"] for r in d["results"]] and same["bridge"] is None
    assert "took clear" in ferry("table", folder + "/o").out
    refused("run", write(folder, "t/goal.yaml", auto.replace("goal: classify", "goal: embed")), says="bridge: auto works for goal classify")
    none = "\n".join(line for line in auto.split("\n") if "intermediate" not in line)
    refused("run", write(folder, "t/none.yaml", none), says="bridge: auto chooses among domains of role: intermediate")
    refused("run", write(folder, "t/word.yaml", auto.replace("bridge: auto", "bridge: best")), says="bridge")


def test_no_way_is_reached(folder):
    for name, head in (("s", "a,b,label"), ("i", "c,d,label"), ("t", "e,f,label")):
        write(folder, name + ".csv", head + "\n" + "".join(f"{i},{i % 3},{'xy'[i % 2]}\n" for i in range(20)))
    task = write(folder, "t.yaml", "task: t\ngoal: classify\ndomains:\n" + "".join(
        f"  - {{name: {n}, role: {r}, x: {n}.csv, label: label}}\n" for n, r in (("s", "source"), ("i", "intermediate"), ("t", "target"))))
    out = ferry("select", task).out
    assert "No way is reached" in out and "same_as:" in out and "Recommended" not in out, out


def test_a_bridge_that_is_a_leak(folder):
    """A bridge whose rows are the target's own is left out, and that is what is said."""
    r = random.Random(1)
    z = [[r.gauss(2 * (i % 2), 1) for _ in range(6)] for i in range(40)]
    line = lambda head, cells: head + "\n" + "".join(f"r{i},{','.join(f'{v:.4f}' for v in c)}\n" for i, c in enumerate(cells))
    write(folder, "a.csv", line("id,a,b,c", [[v + r.gauss(0, .3) for v in x[:3]] for x in z]))
    write(folder, "b.csv", line("id,d,e,f", [x[3:] for x in z]))
    write(folder, "y.csv", "id,label\n" + "".join(f"r{i},{'xy'[i % 2]}\n" for i in range(40)))
    task = write(folder, "t.yaml", """task: t
goal: classify
domains:
  - {name: s, role: source, x: a.csv, y: y.csv}
  - {name: both, role: intermediate, views: [{name: a, x: a.csv}, {name: b, x: b.csv}]}
  - {name: t, role: target, x: b.csv, y: y.csv, labelled: 4}
methods: [ttl, svm]
evaluate: {repeats: 1, controls: none}
""")
    for words in (("select", task), ("run", task, "-o", folder + "/out")):
        r = ferry(*words)
        assert r.err.count("'both' is no bridge: all its 40 instances are the target's own (a leak) and are left out") == 1, r
    out = ferry("select", task).out
    assert "dropped: its rows are the target's own (a leak)" in out and "all its rows are the target's own" in out, out


def test_refuses(folder):
    task = far_task(folder)
    before = tree(folder)
    out = folder + "/new.ferry"
    paper = ("select", "--by", "paper", task)
    refused(*paper, "-o", out, "--set", "longest=4", says="longest = 4: expected 1, 2 or 3")
    refused(*paper, "-o", out, "--set", "neighbors=4", says="did you mean neighbours?")
    refused(*paper, "-o", out, "--set", "t=1000", says="none of the 60 triples")
    refused(*paper, "--selector", task, says="far.yaml")
    refused(*paper, "--one", says="--one goes with --by trial")
    refused("select", task, "--by", "luck", says="--by luck: expected trial or paper")
    refused("select", task, "-o", out, says="-o goes with --by paper")
    refused("select", task, "--selector", out, says="--selector goes with --by paper")
    refused("select", task, "--set", "t=1", says="select")
    refused("select", task, "--set", "longest=4", says="longest")
    refused(*paper, "-o", out, "--set", "domains.d3.role=source", "--set", "domains.d9.role=source", says="d9")
    ferry("select", task, "-q", "-o", folder + "/s.ferry", *SETS)
    refused(*paper, "--selector", folder + "/s.ferry", "--set", "t=1", says="are those of")
    refused("predict", folder + "/s.ferry", folder + "/d0.txt", says="is no model but a selector")
    ferry("fit", task, "-m", "majority", "-o", folder + "/m.ferry", "-q")
    refused(*paper, "--selector", folder + "/m.ferry", says="is no selector")
    after = tree(folder)
    assert set(after) - set(before) == {"s.ferry", "m.ferry"}, set(after) - set(before)


if __name__ == "__main__":
    main(sys.modules[__name__])
