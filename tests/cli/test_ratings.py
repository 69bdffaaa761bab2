"""Ratings by the real command: every file format, odd data, all methods on one task."""
import json
import os
import random
import re
import sys

from harness import csv_rows, ferry, main, read, refused, write

USERS, ITEMS = 30, 20


def value(u, i):
    return 1 + (u * u + 3 * i + u * i) % 5


def rated(u, i):
    return (u * 31 + i * 17) % 7 < 4


def rows():
    return [(u, i, value(u, i)) for u in range(1, USERS + 1) for i in range(1, ITEMS + 1) if rated(u, i)]


def lines(form, head=""):
    return head + "".join(form.format(u=u, i=i, v=v) + "\n" for u, i, v in rows())


FORMATS = {
    "u.data": (lines("{u}\t{i}\t{v}\t881250949"), ""),
    "ratings.dat": (lines("{u}::{i}::{v}::978300760"), ""),
    "ratings.csv": (lines("{u},{i},{v}.0,964982703", "userId,movieId,rating,timestamp\n"), ""),
    "BX-Book-Ratings.csv": (lines('"{u}";"{i}";"{v}"', '"User-ID";"ISBN";"Book-Rating"\n')
                            + '"1";"999";"0"\n', ", missing: 0"),
    "films.inter": (lines("{u}\t{i}\t{v}", "user_id:token\titem_id:token\trating:float\n"), ""),
    "wide.csv": ("user," + ",".join(str(i) for i in range(1, ITEMS + 1)) + "\n" + "".join(
        f"{u}," + ",".join(str(value(u, i)) if rated(u, i) else "" for i in range(1, ITEMS + 1)) + "\n"
        for u in range(1, USERS + 1)), ""),
}


def task(folder, target, methods, more="", sources=""):
    return write(folder, "rate.yaml", f"""task: films
goal: rate
domains:
{sources}  - {{name: films, role: target, ratings: {target}, labelled: 0.8{more}}}
methods: [{methods}]
evaluate: {{repeats: 2, seed: 3}}
""")


def results(folder, *args):
    r = ferry("run", *args, "-q", "--json", "-o", folder + "/out")
    return {x["name"]: x for x in json.loads(r.out)["results"]}


def test_formats(folder):
    """The same ratings give the same model, whatever file they come from."""
    seen = set()
    for name, (text, more) in FORMATS.items():
        path = write(folder, name, text)
        sets = ["--set", "missing=0"] if more else []
        about = json.loads(ferry("inspect", "--json", "--format", "ratings", path, *sets).out)
        assert about["ratings"] == len(rows()) and about["users"] == USERS, (name, about)
        ferry("fit", task(folder, name, "bias", more), "-m", "bias", "-o", folder + "/m.ferry", "-q",
              "--set", "domains.films.labelled=1.0")
        pairs = write(folder, "pairs.csv", "user,item\n1,2\n7,19\n30,20\n")
        seen.add(ferry("predict", folder + "/m.ferry", pairs).out)
    assert len(seen) == 1 and len(csv_rows(seen.pop())) == 4


def test_all_methods(folder):
    write(folder, "films.csv", FORMATS["ratings.csv"][0])
    write(folder, "books.csv", lines("{u},b{i},{v}"))
    write(folder, "songs.csv", "".join(f"{u},s{i},{20 * v}\n" for u, i, v in rows()))
    sources = ("  - {name: books, role: source, ratings: books.csv}\n"
               "  - {name: songs, role: source, ratings: songs.csv}\n")
    names = ("rating-mean, bias, mf, mf-als, stack, mindtl, mindtl: {mode: paper}, mindtl: {mode: paper, lambda: sgd}, "
             "mindtl-paper: {lambda: ls}, mindtl: {mode: paper, order: nearest}, cbt, talmud, random-codebook, shuffled-codebook, "
             "random-codebook: {mode: paper}, shuffled-codebook: {mode: paper}, additive-grid")
    path = task(folder, "films.csv", names, "", sources)
    r = ferry("run", path, "-o", folder + "/out")
    assert len(re.findall("mapped to the target's 1 to 5", r.err)) == 1, r.err  # said once
    assert "'songs': ratings from 20 to 100" in r.err, r.err
    assert "rmse" in r.out and "mae" in read(folder, "out/results.json"), r.out
    assert "'books' 0." in ferry("explain", folder + "/out").out
    found = {x["name"]: x for x in json.loads(read(folder, "out/results.json"))["results"]}
    assert len(found) == 17, list(found)
    for name, x in found.items():
        assert 0 < x["metrics"]["mae"]["mean"] <= x["mean"] < 3, (name, x)
        if name.startswith(("mindtl", "talmud", "random-codebook", "shuffled-codebook")):
            assert set(x["diagnostics"]["weights"]) == {"books", "songs"}, (name, x)
    assert set(found["cbt"]["diagnostics"]["weights"]) == {"books"}
    assert set(found["mindtl-paper order=nearest"]["diagnostics"]["distance"]) == {"books", "songs"}
    w = found["mindtl-paper"]["diagnostics"]["weights"]
    assert abs(sum(w.values()) - 1) < 1e-9, w


def test_repeated_pairs(folder):
    """The last rating of a pair counts."""
    assert rated(1, 2)
    all_seen = ["--set", "domains.films.labelled=1.0"]
    once, pairs = FORMATS["ratings.csv"][0], write(folder, "pairs.csv", "user,item\n1,2\n2,4\n9,9\n")
    write(folder, "films.csv", once.replace("\n", "\n1,2,1.0,5\n", 1))
    r = ferry("fit", task(folder, "films.csv", "bias"), "-m", "bias", "-o", folder + "/a.ferry", *all_seen)
    assert "1 ratings of a user for an item that is rated again later were left out" in r.err, r.err
    write(folder, "films.csv", once)
    ferry("fit", task(folder, "films.csv", "bias"), "-m", "bias", "-o", folder + "/b.ferry", "-q", *all_seen)
    a, b = ([float(r[2]) for r in csv_rows(ferry("predict", f"{folder}/{m}.ferry", pairs).out)[1:]] for m in "ab")
    assert all(abs(x - y) < 1e-9 for x, y in zip(a, b)), (a, b)


def test_asked_twice(folder):
    """Every line that asks is answered, in order, with and without ratings beside the pairs."""
    sources = "  - {name: books, role: source, ratings: films.csv}\n"
    write(folder, "films.csv", FORMATS["ratings.csv"][0])
    for method in ("bias", "rating-mean", "mf", "stack", "mindtl", "cbt", "talmud"):
        ferry("fit", task(folder, "films.csv", method, "", sources), "-m", method, "-o", folder + "/m.ferry", "-q")
        said = {}
        for head, end in (("user,item", ""), ("user,item,rating", ",3")):
            asked = ["2,4", "1,2", "2,4", "9,9", "1,2", "1,2"]
            r = ferry("predict", folder + "/m.ferry", write(folder, "pairs.csv", "\n".join([head] + [a + end for a in asked]) + "\n"))
            got = csv_rows(r.out)[1:]
            assert [",".join(g[:2]) for g in got] == asked and r.err == "", (method, r)
            assert all(said.setdefault(tuple(g[:2]), g[2]) == g[2] for g in got), (method, got)
    known = write(folder, "known.csv", "user,item,rating\nnew,2,1\nnew,2,5\nnew,4,5\n")
    r = ferry("predict", folder + "/m.ferry", folder + "/pairs.csv", "--known", known)
    assert "1 ratings of a user for an item that is rated again later were left out" in r.err and len(csv_rows(r.out)) == 7, r


def test_users_without_ratings(folder):
    """Pairs without a value are users and items that nobody knows anything about."""
    write(folder, "films.csv", FORMATS["ratings.csv"][0] + "new,1,,5\n3,unseen,,5\n")
    for method in ("bias", "mf", "stack", "mindtl", "cbt"):
        sources = "  - {name: books, role: source, ratings: films.csv}\n"
        ferry("fit", task(folder, "films.csv", method, "", sources), "-m", method, "-o", folder + "/m.ferry", "-q")
        pairs = write(folder, "pairs.csv", "user,item\nnew,1\n3,unseen\nnew,unseen\nstranger,1\n")
        got = csv_rows(ferry("predict", folder + "/m.ferry", pairs).out)[1:]
        assert all(1 <= float(r[2]) <= 5 for r in got), (method, got)
        top = csv_rows(ferry("predict", folder + "/m.ferry", "--top", "3", "--user", "new").out)[1:]
        assert len(top) == 3, (method, top)


def test_ratings_beyond_the_scale(folder):
    write(folder, "films.csv", FORMATS["ratings.csv"][0] + "1,55,99,5\n2,55,-1,5\n")
    r = ferry("fit", task(folder, "films.csv", "bias", ", range: 1..5"), "-m", "bias", "-o", folder + "/m.ferry")
    assert "2 of " in r.err and "beyond the range 1..5 were moved to its ends" in r.err, r.err
    pairs = write(folder, "pairs.csv", "user,item\n" + "".join(f"{u},55\n" for u in range(1, USERS)))
    got = [float(r[2]) for r in csv_rows(ferry("predict", folder + "/m.ferry", pairs).out)[1:]]
    assert all(1 <= x <= 5 for x in got), got
    known = write(folder, "new.csv", "user,item,rating\nme,1,77\n")
    r = ferry("predict", folder + "/m.ferry", pairs, "--known", known)
    assert "1 of 1 ratings are beyond the model's range from 1 to 5" in r.err, r.err
    refused("run", task(folder, "films.csv", "bias", ", scale: 5"), "-o", folder + "/o", says="as 1..5")
    assert not os.path.exists(folder + "/o")


def test_order_of_rows(folder):
    """No method of ratings depends on where a rating stands in its file."""
    ferry("gen", "rate", "--out", folder + "/a")
    methods = [m["name"] for m in json.loads(ferry("methods", "--json").out) if "rate" in m["goals"] and m["name"] not in ("predictions", "command")]
    assert {"mindtl", "cbt", "talmud"} <= set(methods), methods
    for name in ("source.csv", "target.csv"):
        head, *body = read(folder, "a", name).splitlines(True)
        random.Random(5).shuffle(body)
        write(folder, "b/" + name, head + "".join(body))
    write(folder, "b/task.yaml", read(folder, "a", "task.yaml"))
    for method in methods:
        said = []
        for side in "ab":
            model = f"{folder}/{side}.ferry"
            ferry("fit", "-q", "-m", method, f"{folder}/{side}/task.yaml", "-o", model)
            said.append(sorted(ferry("predict", "-q", model, folder + "/a/target.csv").out.splitlines()))
        assert len(said[0]) > 100 and said[0] == said[1], method


def test_equal_ratings(folder):
    """Ratings that do not differ: every solver's model is loaded again and answers with the one value."""
    data = write(folder, "r.csv", "user,item,rating\na,x,3\na,y,3\nb,x,3\n")
    task = write(folder, "t.yaml", "task: same\ngoal: rate\ndomains: [{name: t, role: target, ratings: r.csv, labelled: 1.0}]\n")
    for solver in (("mf", "--set", "solver=vb"), ("mf", "--set", "solver=vb-diagonal"), ("mf-als",)):
        ferry("fit", task, "-m", *solver, "-o", folder + "/m.ferry", "-q")
        ferry("predict", folder + "/m.ferry", data, "-o", folder + "/p.csv", "-q")
        assert all(abs(float(r[-1]) - 3) < 1e-6 for r in csv_rows(read(folder, "p.csv"))[1:]), (solver, read(folder, "p.csv"))


main(sys.modules[__name__])
