"""gbc from a task file: tables that lack rows, with categories and missing cells, text, 0/1 words and edge lists."""
import json
import os
import random
import sys

from harness import ferry, main, predictions, read, write

N = 90


def make(folder, goal="classify"):
    rng = random.Random(4)
    tables = {"plain": ["id,size,colour"], "words": ["id,w1,w2,w3,w4,w5"], "marks": ["id,a,b,c"]}
    texts, labels, edges, chain = [], [], ["ghost,i001", "i001,i002"], []
    kinds = [rng.randrange(3) for _ in range(N)]
    for i, k in enumerate(kinds):
        id = "i%03d" % i
        size = "" if rng.random() < 0.2 else "%.2f" % (k + rng.gauss(0, 0.4))
        colour = rng.choice(["red", "green", "blue"]) if rng.random() < 0.2 else ["red", "green", "blue"][k]
        if i % 5 != 0:
            tables["plain"].append(f"{id},{size},{colour}")
        if i % 5 != 1:
            tables["words"].append(id + "," + ",".join(str(int(rng.random() < (0.8 if j == k else 0.1))) for j in range(5)))
        if i % 5 != 2:
            tables["marks"].append(id + "," + ",".join("%.3f" % rng.gauss(0, 1) for _ in range(3)))
        if i % 5 != 3:
            topic = ["ship sail sea", "road wheel car", "cloud wing air"][k].split()
            texts.append(id + "\t" + " ".join(rng.choice(topic) if rng.random() < 0.6 else rng.choice(["and", "with", "so"])
                                               for _ in range(12)))
        labels.append(f"{id},{'abc'[k] if goal == 'classify' else '%.2f' % (k * 2 + rng.gauss(0, .1))}")
        friends = [j for j in range(i) if kinds[j] == k]
        if friends:
            edges.append("%s,i%03d" % (id, rng.choice(friends)))
        chain.append("%s,i%03d" % (id, (i + 1) % N))
    for name, lines in tables.items():
        write(folder, name + ".csv", "\n".join(lines) + "\n")
    write(folder, "about.txt", "\n".join(texts) + "\n")
    write(folder, "labels.csv", "\n".join(labels) + "\n")
    write(folder, "friends.csv", "\n".join(edges) + "\n")
    write(folder, "chain.csv", "\n".join(chain) + "\n")
    return write(folder, "task.yaml", f"""
task: mixed
goal: {goal}
domains:
  - name: things
    role: target
    views:
      - {{name: plain, x: plain.csv, id: id}}
      - {{name: words, x: words.csv, id: id}}
      - {{name: marks, x: marks.csv, id: id}}
      - {{name: about, x: about.txt}}
    graphs:
      - {{name: friends, edges: friends.csv}}
      - {{name: chain, edges: chain.csv}}
    y: labels.csv
    labelled: 0.4
methods: [gbc: {{trees: 20, learner: tree}}, gbdt: {{trees: 20}}, gbdt-average: {{trees: 20}}, label-propagation, {"ica, semi-svm, semi-gbdt: {trees: 10}, " if goal == "classify" else ""}svm]
evaluate: {{repeats: 2}}
""")


def only_gbc(folder, task):
    lines = ["methods: [gbc]" if line.startswith("methods:") else line for line in read(task).split("\n")]
    return write(folder, "task.yaml", "\n".join(lines))


def test_run_explains(folder):
    task = make(folder)
    r = ferry("run", task, "-o", folder + "/out", "--threads", "1")
    told = ferry("explain", folder + "/out").out
    assert "gbc" in told and "weights of views" in told or "views add up" in told, told
    # an edge with an id that is no instance is left out, and counted once
    assert r.err.count("friends") == 1 and "1 of" in r.err, r
    results = {x["name"].split()[0]: x for x in json.loads(read(folder, "out/results.json"))["results"]}
    assert set(results) == {"gbc", "gbdt", "gbdt-average", "label-propagation", "ica", "semi-svm", "semi-gbdt", "svm"}, results.keys()
    d = results["gbc"]["diagnostics"]
    assert set(d["weights"]) == set(d["held_out_loss"]) == {"plain", "words", "marks", "about"}, d
    assert set(d["graph_weights"]) == {"friends", "chain"}, d
    assert d["graph_weights"]["friends"] > d["graph_weights"]["chain"], d
    assert d["held_out_loss"]["marks"] > d["held_out_loss"]["words"], d
    assert any(n.startswith("colour") for n in d["importance"]), d
    assert results["gbc"]["mean"] > 0.7, results["gbc"]["mean"]


def test_numbers(folder):
    task = make(folder, "regress")
    ferry("run", task, "-q", "-o", folder + "/out", "--threads", "1")
    results = {x["name"].split()[0]: x for x in json.loads(read(folder, "out/results.json"))["results"]}
    assert results["gbc"]["mean"] < 1.2, results["gbc"]


def test_predict_with_some_views(folder):
    task = make(folder)
    model = folder + "/m.ferry"
    ferry("fit", task, "-m", "gbc", "-o", model, "-q", "--threads", "1")
    write(folder, "new_words.csv", "id,w1,w2,w3,w4,w5\nn1,1,0,0,0,0\nn2,0,0,1,0,0\n")
    write(folder, "new.txt", "n2\tcloud wing air air wing\nn3\tship sea sail sail\n")
    r = ferry("predict", model, f"words={folder}/new_words.csv", f"about={folder}/new.txt")
    rows = predictions(r.out)
    assert set(rows) == {"n1", "n2", "n3"}, r
    assert r.out.splitlines()[0].endswith(",basis") and r.out.count(",views\n") == 3, r
    assert ",c," in r.out.splitlines()[2], r  # n2, whose two views agree


def test_predict_with_graphs(folder):
    """New instances that are joined with each other and with labelled ones from the fit."""
    task = make(folder)
    model = folder + "/m.ferry"
    ferry("fit", task, "-m", "gbc", "--set", "methods.gbc.correct=smooth", "--set", "methods.gbc.strength=0.9", "-o", model, "-q",
          "--threads", "1", "--set", "domains.things.labelled=1.0")
    kind = dict(line.split(",") for line in read(folder, "labels.csv").split())
    of = lambda k: [i for i in kind if kind[i] == k][:6]
    write(folder, "new_words.csv", "id,w1,w2,w3,w4,w5\nn1,0,0,0,0,0\nn2,0,0,0,0,0\nn3,1,0,0,0,0\n")
    write(folder, "new_edges.csv", "".join(f"n1,{i}\n" for i in of("b")) + "".join(f"{i},n2\n" for i in of("c")) + "n1,stranger\n")
    plain = predictions(ferry("predict", model, f"words={folder}/new_words.csv").out)
    r = ferry("predict", model, f"friends={folder}/new_edges.csv", f"words={folder}/new_words.csv")
    joined = predictions(r.out)
    assert list(joined) == ["n1", "n2", "n3"], r  # not the labelled ones, which the model knows
    assert joined["n1"][0] == "b" and joined["n2"][0] == "c", r
    assert plain["n1"] == plain["n2"] and joined["n3"] == plain["n3"], r
    assert "1 of 13 edges" in r.err and "stranger" in r.err, r
    assert r.out.count(",views\n") == 3 and "in no view" not in r.err, r
    # bad input: one line that names what was expected, nothing written
    r = ferry("predict", model, f"friends={folder}/new_edges.csv", "-o", folder + "/no.csv", code=2)
    assert "words=FILE" in r.err and "[friends=EDGES]" in r.err, r
    write(folder, "none.csv", "u,v\nv,w\n")
    r = ferry("predict", model, f"words={folder}/new_words.csv", f"friends={folder}/none.csv", "-o", folder + "/no.csv", code=2)
    assert "none.csv" in r.err and "none of its 2 edges" in r.err, r
    r = ferry("predict", model, f"words={folder}/new_words.csv", f"enemies={folder}/none.csv", "-o", folder + "/no.csv", code=2)
    assert "[friends=EDGES]" in r.err, r
    assert not os.path.exists(folder + "/no.csv")


def test_row_numbers_are_no_ids(folder):
    """Rows of another file are not the rows of the fit that have their numbers."""
    rows = [(i % 2, "ab"[i % 2]) for i in range(40)]
    write(folder, "x.csv", "u,v,label\n" + "".join(f"{k + i % 3 / 9},{i % 7},{c}\n" for i, (k, c) in enumerate(rows)))
    write(folder, "e.csv", "".join(f"{i + 1},{(i + 2) % 40 + 1}\n" for i in range(40)))
    task = write(folder, "task.yaml", """
task: rows
goal: classify
domains:
  - {name: things, role: target, views: [{name: x, x: x.csv, label: label}], graphs: [{name: near, edges: e.csv}], labelled: 0.9}
methods: [gbc]
""")
    write(folder, "new.csv", "u,v\n" + "1,3\n" * 40)
    sets = ["methods.gbc.correct=smooth", "methods.gbc.strength=0.9"]
    ferry("fit", task, "-m", "gbc", "-o", folder + "/m.ferry", "-q", "--threads", "1", *(w for s in sets for w in ("--set", s)))
    answers = predictions(ferry("predict", folder + "/m.ferry", folder + "/new.csv").out)
    assert len(answers) == 40 and len(set(map(tuple, answers.values()))) == 1, answers
    ferry("fit", task, "-m", "ica", "-o", folder + "/m.ferry", "-q", "--threads", "1")
    r = ferry("predict", folder + "/m.ferry", folder + "/new.csv", code=2)
    assert "ica learned from graph 'near', and predicting needs it, too" in r.err, r
    ferry("fit", task, "-m", "gbc", "-o", folder + "/m.ferry", "-q", "--threads", "1")
    r = ferry("predict", folder + "/m.ferry", f"x={folder}/new.csv", f"near={folder}/e.csv", "-o", folder + "/no.csv", code=2)
    assert "graph 'near': the instances to predict for have no ids" in r.err and not os.path.exists(folder + "/no.csv"), r


def test_ablations(folder):
    """Both principles off and equal weights."""
    task = only_gbc(folder, make(folder))
    write(folder, task[len(folder) + 1:], read(task).replace("methods: [gbc]", "methods: [gbc-paper]"))
    ferry("run", task, "-q", "-o", folder + "/out", "--threads", "1", "--set", "evaluate.repeats=1", "--set", "methods.gbc-paper.trees=6",
          "--set", "methods.gbc-paper.lambda0=0", "--set", "methods.gbc-paper.lambda1=0", "--set", "methods.gbc-paper.weights=equal")
    d = json.loads(read(folder, "out/results.json"))["results"][0]["diagnostics"]
    assert d["lambda0"] == d["lambda1"] == 0, d
    assert all(abs(w - 0.25) < 1e-12 for w in d["weights"].values()), d["weights"]


main(sys.modules[__name__])
