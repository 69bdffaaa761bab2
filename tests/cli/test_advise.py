"""advise."""
import random
import re
import sys

from harness import csv_rows, ferry, main, parses, read, refused, small_task, write


def test_advise(folder):
    task = small_task(folder)
    r = ferry("advise", task)
    for words in ("bridge: classify 'target'", "A-distance", "hemap", "transfer", "serve other goals", "ferry run"):
        assert words in r.out, (words, r)
    assert len(r.out.splitlines()) < 58, "a screen and a bit"
    d = parses(ferry("advise", task, "--json").out)
    by = {m["name"]: m for m in d["methods"]}
    assert by["svm"]["fits"] and by["svm"]["measured"] and by["svm"]["seconds"] > 0
    assert d["visible"] == 9 and len(d["domains"]) == 3
    far = {m["from"]: m for m in d["measures"]}
    assert far["source"]["shared_features"] == 0 and far["source"]["a_distance"] is None
    assert far["source"]["label_overlap"] == 1 and far["source"]["id_overlap"] == 0
    assert far["bridge"]["shared_features"] == 8 and far["bridge"]["feature_overlap"] == 1
    assert 0 <= far["bridge"]["a_distance"] < 1  # the same space, the same distribution


def test_what_each_method_would_use(folder):
    """Views, what is linked, labels; the command to type next has the real path, quoted where it must be."""
    task = small_task(folder)
    out = ferry("advise", task).out
    uses = {m["name"]: m["uses"] for m in parses(ferry("advise", task, "--json").out)["methods"] if m["fits"]}
    assert uses["svm"] == uses["semi-svm"] == "target.b; labels: target 9"
    assert uses["hop"] == "bridge.b = target.b, source.a = bridge.a; labels: source 60, target 9"
    assert uses["hemap"] == "target.b, source.a; labels: source 60, target 9"
    assert f"ttl: {uses['hop']}" in out and f"Next: ferry run {task};" in out
    odd = folder + "/my task's"
    ferry("gen", "rate", "-q", "-o", odd)
    r = ferry("advise", odd + "/task.yaml")
    assert f"Next: ferry run '{folder}/my task'\\''s/task.yaml';" in r.out, r
    assert re.search(r"\n- .*mindtl.*: ratings: films \d+, books \d+\n", r.out) and re.search(r"\n- .*bias.*: ratings: books \d+\n", r.out), r
    ferry("gen", "embed", "-q", "-o", folder + "/e")
    assert "coca: people.table; graphs: people.friends" in ferry("advise", folder + "/e/task.yaml").out
    write(folder, "task/all.yaml", read(task).replace("labelled: {per_class: 3}", "labelled: 1.0"))
    assert f"Next: ferry run {folder}/task/all.yaml; no label is hidden" in ferry("advise", folder + "/task/all.yaml").out


def test_what_does_not_fit(folder):
    task = small_task(folder, "labelled=0")
    r = ferry("advise", task)
    assert "do not fit:" in r.out and "hemap needs" in r.out and "No target label is visible" in r.out
    text = read(task) + "methods: [svm, mindtl]\n"
    write(folder, "task/odd.yaml", text)
    assert "mindtl does not serve the goal classify" in ferry("advise", folder + "/task/odd.yaml").out
    refused("advise", folder + "/none.yaml", says="none.yaml")


def test_what_it_can_show(folder):
    """More with more rows, for a larger gain and with fewer methods that share the level; of errors in hundredths of them, for an embedding nothing."""
    task = small_task(folder)
    def shown(path, *more):
        text = " ".join(ferry("advise", path, *more).out.split())
        return text, parses(ferry("advise", path, "--json", *more).out)["power"]
    one = write(folder, "task/one.yaml", read(task) + "methods: [svm, hemap]\n")
    four = write(folder, "task/four.yaml", read(task) + "methods: [svm, hemap, hop, cdspp, omtlmc]\n")
    (words, few), (_, many), (_, hidden) = shown(one), shown(four), shown(one, "--set", "domains.target.labelled=0.9")
    assert "where two methods differ on a fifth of the rows, a gain of 2 points is found in" in words, words
    assert 0 < few[0] < few[1] < few[2] < 1 and all(a < b for a, b in zip(many, few)) and hidden[2] < few[2], (few, many, hidden)
    write(folder, "x.csv", "".join(["a,y\n"] + [f"{i % 17},{i % 13}\n" for i in range(60)]))
    numbers = write(folder, "n.yaml", "task: n\ngoal: regress\ndomains:\n  - {name: t, role: target, x: x.csv, label: y, labelled: 20}\nmethods: [ridge, mean]\n")
    words, power = shown(numbers)
    assert "errors correlate by 0.9, a gain of 2 % of the error is found in" in words and 0 < power[0] < power[2] < 1, (words, power)


def test_measures_are_recorded(folder):
    ferry("run", small_task(folder), "-q", "-o", folder + "/o")
    assert [m["from"] for m in parses(read(folder, "o/run.json"))["measures"]] == ["source", "bridge"]


def test_advice_on_ratings(folder):
    ratings = "\n".join(f"u{u},i{i},{1 + (u + i) % 5}" for u in range(12) for i in range(10) if (u * i) % 3)
    write(folder, "r.csv", "user,item,rating\n" + ratings + "\n")
    task = write(folder, "r.yaml", "task: r\ngoal: rate\ndomains:\n  - {name: t, role: target, ratings: r.csv, labelled: 0.7}\n"
                 "methods: [rating-mean, bias]\nevaluate: {repeats: 2}\n")
    said = " ".join(ferry("advise", task).out.split())
    assert " scored ratings and 2 repeats, " in said and " % at best." in said, said


main(sys.modules[__name__])
