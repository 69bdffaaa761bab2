"""Baselines that anyone would try: pooled ones where a source shares features, clusters, and C, lambda and k by folds."""
import random
import sys

from harness import ferry, main, parses, predictions, read, write


def table(folder, name, n, seed, shift=0.0, names="pqrs"):
    r = random.Random(seed)
    lines = ["id," + ",".join(names) + ",kind"]
    for i in range(n):
        c = i % 2
        x = [r.gauss(2.5 * c + shift, 1) for _ in names]
        lines.append(f"{name[0]}{i}," + ",".join(f"{v:.3f}" for v in x) + f",{'ab'[c]}")
    return write(folder, name, "\n".join(lines) + "\n")


def task(folder, more="", labelled="6", source=True):
    src = "  - {name: s, role: source, x: s.csv, label: kind}\n" if source else ""
    return write(folder, "task.yaml", f"task: t\ngoal: classify\ndomains:\n{src}"
                 f"  - {{name: t, role: target, x: t.csv, label: kind, labelled: {labelled}}}\n{more}"
                 "evaluate: {repeats: 2, controls: none}\n")


def results(folder, file, *more):
    r = ferry("run", file, "-o", folder + "/out", "-q", *more)
    d = parses(read(folder, "out/results.json"))
    return {m["name"]: m for m in d["results"]}, r


POOLED = {m + t for m in ("svm", "logreg", "ridge", "gbdt") for t in ("-source", "+source")}


def test_pooled(folder):
    table(folder, "s.csv", 60, 1)
    table(folder, "t.csv", 60, 2)
    found, _ = results(folder, task(folder))
    assert POOLED <= set(found), set(found)
    for name in POOLED:
        assert found[name]["kind"] == "baseline" and found[name]["options"]["train"] == ("both" if "+" in name else "source")
        assert found[name]["uses"] == ("pooled" if "+" in name else "source only")
    assert found["svm-source"]["diagnostics"]["instances"] == 60
    assert found["svm+source"]["diagnostics"]["instances"] == 66
    # advise lists the same
    listed = {m["name"] for m in parses(ferry("advise", folder + "/task.yaml", "--json").out)["methods"]}
    assert POOLED <= listed
    # not where nothing is shared, nor when methods are named; where no label of the target shows there is only the source
    table(folder, "s.csv", 60, 1, names=["u", "v", "w"])
    assert not POOLED & set(results(folder, task(folder))[0])
    table(folder, "s.csv", 60, 1)
    blind = set(results(folder, task(folder, labelled="none"))[0])
    assert {"svm-source", "knn-source"} <= blind and not blind & {"svm", "svm+source", "knn"}, blind
    assert set(results(folder, task(folder, "methods: [svm+source, svm-source: {C: 3}, svm: {train: both, C: 3}]\n"))[0]) == \
        {"svm+source", "svm-source C=3", "svm+source C=3"}
    assert set(results(folder, task(folder, "methods: [svm]\n"))[0]) == {"svm"}


def test_clusters(folder):
    table(folder, "t.csv", 80, 3)
    file = task(folder, "methods: [clusters, majority]\n", labelled="{per_class: 1}", source=False)
    found, _ = results(folder, file)
    assert found["clusters"]["mean"] > 0.9 and found["clusters"]["kind"] == "baseline", found
    ferry("fit", file, "-m", "clusters", "-o", folder + "/m.ferry")
    told = predictions(ferry("predict", folder + "/m.ferry", folder + "/t.csv").out)
    truth = {line.split(",")[0]: line.split(",")[-1] for line in read(folder, "t.csv").splitlines()[1:]}
    assert sum(told[i] == truth[i] for i in truth) > 72


def test_choice_by_folds(folder):
    table(folder, "t.csv", 120, 4)
    entries = "methods: [svm, logreg, ridge, knn, {svm: {C: 3}}, {knn: {k: 2}}]\n"
    few, _ = results(folder, task(folder, entries, labelled="{per_class: 4}", source=False))
    assert few["svm"]["diagnostics"]["C"] == 1 and few["logreg"]["diagnostics"]["C"] == 10
    assert few["ridge"]["diagnostics"]["lambda"] == 1 and few["knn"]["diagnostics"]["k"] == 5
    many, _ = results(folder, task(folder, entries, labelled="{per_class: 20}", source=False))
    assert many["svm"]["diagnostics"]["C"] in (0.1, 1, 10) and many["logreg"]["diagnostics"]["C"] in (1, 10, 100)
    assert many["ridge"]["diagnostics"]["lambda"] in (0.1, 1, 10) and many["knn"]["diagnostics"]["k"] in (1, 5, 15)
    # what was said stays
    assert many["svm C=3"]["diagnostics"]["C"] == 3 and many["knn k=2"]["diagnostics"]["k"] == 2
    # where one neighbour is plainly worse than many, it is not taken: labels with noise
    r = random.Random(5)
    lines = read(folder, "t.csv").splitlines()
    noisy = [lines[0]] + [line[:-1] + ("ab"[line[-1] == "a"] if r.random() < 0.25 else line[-1]) for line in lines[1:]]
    write(folder, "t.csv", "\n".join(noisy) + "\n")
    assert results(folder, task(folder, entries, labelled="{per_class: 40}", source=False))[0]["knn"]["diagnostics"]["k"] > 1


def test_choice_of_numbers(folder):
    """Lambda leaves its usual value only where the folds tell by more than a standard error."""
    def chosen(noise, seed):
        r = random.Random(seed)
        w = [r.gauss(0, 1) for _ in range(6)]
        rows = [[r.gauss(0, 1) for _ in w] for _ in range(60)]
        lines = ["a,b,c,d,e,f,y"] + [",".join("%.6g" % v for v in x + [sum(map(lambda p, q: p * q, x, w)) + r.gauss(0, noise)]) for x in rows]
        write(folder, "t.csv", "\n".join(lines) + "\n")
        file = write(folder, "task.yaml", "task: t\ngoal: regress\ndomains:\n  - {name: t, role: target, x: t.csv, label: y, labelled: 15}\n"
                     "methods: [ridge]\nevaluate: {repeats: 1, controls: none}\n")
        return results(folder, file)[0]["ridge"]["diagnostics"]["lambda"]
    assert [chosen(0.01, seed) for seed in range(3)] == [0.1] * 3  # plain to see
    assert sum(chosen(1, seed) == 1 for seed in range(12)) >= 6  # 1 is about right, and the best of three by chance is mostly another


def test_graphs_at_predict(folder):
    ferry("gen", "social", "--out", folder + "/s", "--set", "people=120", "--set", "edges=400")
    file = folder + "/s/task.yaml"
    graphs = [f"graph{i}={folder}/s/graph{i}.csv" for i in (1, 2, 3)]
    rows = read(folder, "s/table.csv").splitlines()
    write(folder, "new.csv", "\n".join(rows[:30]) + "\n")
    for m in ("ica", "label-propagation"):
        ferry("fit", file, "-m", m, "-o", folder + "/m.ferry")
        r = ferry("predict", folder + "/m.ferry", folder + "/new.csv", code=2)
        assert f"{m} learned from graph 'graph1', and predicting needs it, too" in r.err and r.out == "", r
        r = ferry("predict", folder + "/m.ferry", f"table={folder}/new.csv", graphs[0], code=2)
        assert "graph 'graph2'" in r.err, r
        told = ferry("predict", folder + "/m.ferry", f"table={folder}/new.csv", *graphs).out
        assert len(predictions(told)) == 29
        # the neighbours matter: the whole table gives everyone's
        whole = ferry("predict", folder + "/m.ferry", f"table={folder}/s/table.csv", *graphs).out
        assert len(predictions(whole)) == 120


main(sys.modules[__name__])
