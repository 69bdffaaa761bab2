"""fit and predict: a model through a file gives what ferry run gives."""
import os
import re
import sys

from harness import csv_rows, ferry, main, predictions, read, refused, small_task, tree, write


def test_round_trip_equals_run(folder):
    task = small_task(folder)
    ferry("run", task, "-q", "-o", folder + "/run", "--seed", "4")
    for method in ("svm", "logreg", "knn", "majority"):
        model = f"{folder}/{method}.ferry"
        r = ferry("fit", task, "-m", method, "-o", model, "--seed", "4")
        assert r.out == "" and "9 of the 60 labels of target" in r.err and model in r.err, r
        ferry("predict", model, folder + "/task/target.csv", "-o", folder + "/p.csv")
        by_run = predictions(read(folder, f"run/predictions/{method}.csv"))
        by_file = predictions(read(folder, "p.csv"))
        assert by_run == by_file, method


def test_predict_to_stdout(folder):
    task = small_task(folder)
    ferry("fit", task, "-m", "svm", "-o", folder + "/m.ferry", "-q")
    r = ferry("predict", folder + "/m.ferry", folder + "/task/target.csv", env={"TMPDIR": folder + "/task"})
    ferry("predict", folder + "/m.ferry", folder + "/task/target.csv", "-o", folder + "/p.csv")
    assert r.out == read(folder, "p.csv") and r.err == ""
    r = ferry("predict", "-q", folder + "/m.ferry", folder + "/task/target.csv", "-o", "/dev/stdout")
    assert r.out == read(folder, "p.csv")
    assert not [n for n in os.listdir(folder + "/task") if n.startswith("ferry.")]


def test_predict_by_view_name(folder):
    task = small_task(folder)
    ferry("fit", task, "-m", "svm", "-o", folder + "/m.ferry", "-q")
    plain = ferry("predict", folder + "/m.ferry", folder + "/task/target.csv").out
    named = ferry("predict", folder + "/m.ferry", f"b={folder}/task/target.csv").out
    assert plain == named


def test_pairs_to_rate(folder):
    rows = [(u, i, 1 + (u * i + u) % 5) for u in range(6) for i in range(5)]
    write(folder, "films.csv", "user,item,rating\n" + "".join(f"u{u},i{i},{v}\n" for u, i, v in rows))
    task = write(folder, "rate.yaml", """task: films
goal: rate
domains:
  - {name: films, role: target, ratings: films.csv, labelled: 0.8}
methods: [bias]
""")
    model = folder + "/m.ferry"
    ferry("run", task, "-q", "-o", folder + "/run")
    ferry("fit", task, "-m", "bias", "-o", model, "-q")
    by_run = {tuple(r[:2]): r[-1] for r in csv_rows(read(folder, "run/predictions/bias.csv"))[1:]}
    pairs = write(folder, "pairs.csv", "user,item\nu1,i2\nnobody,i3\nu5,i0\n")
    got = csv_rows(ferry("predict", model, pairs).out)
    assert got[0] == ["user", "item", "value"], got
    assert [r[:2] for r in got[1:]] == [["u1", "i2"], ["nobody", "i3"], ["u5", "i0"]]
    assert got[1][2] == by_run["u1", "i2"] and got[3][2] == by_run["u5", "i0"]
    assert 1 <= float(got[2][2]) <= 5
    refused("predict", model, pairs, pairs, says="give one file of pairs to rate")
    refused("predict", model, folder + "/none.csv", says="none.csv")


def films(folder):
    """A model of ratings by 6 users of 5 items, of which user u has not rated item u."""
    rows = [(u, i, 1 + (u * i + u) % 5) for u in range(6) for i in range(5) if u != i]
    write(folder, "films.csv", "user,item,rating\n" + "".join(f"u{u},i{i},{v}\n" for u, i, v in rows))
    task = write(folder, "rate.yaml", """task: films
goal: rate
domains:
  - {name: films, role: target, ratings: films.csv, labelled: 1.0}
methods: [bias]
""")
    ferry("fit", task, "-m", "bias", "-o", folder + "/m.ferry", "-q")
    return folder + "/m.ferry"


def test_best_items(folder):
    model = films(folder)
    pairs = write(folder, "pairs.csv", "user,item,rating\n" + "".join(f"u3,i{i},\n" for i in range(5)))
    by_pair = {r[1]: float(r[2]) for r in csv_rows(ferry("predict", model, pairs).out)[1:]}
    got = csv_rows(ferry("predict", model, "--top", "9", "--user", "u3").out)
    assert got[0] == ["user", "item", "value"] and [r[:2] for r in got[1:]] == [["u3", "i3"]], got
    got = csv_rows(ferry("predict", model, "--top", "3", "--user", "u3", "--rated").out)[1:]
    assert [float(r[2]) for r in got] == sorted(by_pair.values(), reverse=True)[:3]
    assert all(float(r[2]) == by_pair[r[1]] for r in got)
    users = write(folder, "users.txt", "u5\r\n\nu0\nnobody")
    r = ferry("predict", model, users, "--top", "2", "--rated")
    got = csv_rows(r.out)[1:]
    assert [row[0] for row in got] == ["u5", "u5", "u0", "u0", "nobody", "nobody"], got
    assert "1 of 3 users are new to the model" in r.err, r.err
    assert {row[0] for row in csv_rows(ferry("predict", model, "--top", "1").out)[1:]} == {f"u{u}" for u in range(5)}
    refused("predict", model, "--top", "0", says="--top 0: expected a number from 1")
    refused("predict", model, "--top", "x", says="--top x: expected a number from 1")
    refused("predict", model, users, users, "--top", "1", says="give one file of users")
    refused("predict", model, write(folder, "none.txt", "\n"), "--top", "1", says="expected users, one a line")
    refused("predict", model, folder + "/absent.txt", "--top", "1", says="absent.txt: cannot read")
    refused("predict", model, "--top", "1", "--user", "u1,u1", says="'u1' is asked about twice")
    refused("predict", model, pairs, "--user", "u1", says="--user and --rated go with --top N")
    refused("predict", model, says="which data?")


def test_fold_in(folder):
    model = films(folder)
    twin = [1 + (2 * i + 2) % 5 for i in range(5)]
    known = write(folder, "new.csv", "user,item,rating\n" + "".join(
        f"new,i{i},{v}\n" for i, v in enumerate(twin) if i != 2) + "u1,film,5\nnew,film,5\nu1,i2,3\n")
    pairs = write(folder, "pairs.csv", "user,item,rating\nnew,i2,\nu2,i2,\nu3,film,\nu3,unseen,\n")
    before = [float(r[2]) for r in csv_rows(ferry("predict", model, pairs).out)[1:]]
    r = ferry("predict", model, pairs, "--known", known)
    now = [float(r[2]) for r in csv_rows(r.out)[1:]]
    assert abs(now[0] - now[1]) < 1e-9 and now[1] == before[1] and now[0] != before[0], (before, now)
    assert now[2] > before[2] and now[3] == before[3], (before, now)
    assert "1 ratings are of users and items that were there at fit" in r.err, r.err
    got = csv_rows(ferry("predict", model, "--known", known, "--top", "9", "--user", "new,u4").out)[1:]
    assert [row[:2] for row in got] == [["new", "i2"], ["u4", "film"], ["u4", "i4"]], got
    refused("predict", model, pairs, "--known", folder + "/absent.csv", says="absent.csv")
    small = small_task(folder)
    ferry("fit", small, "-m", "svm", "-o", folder + "/svm.ferry", "-q")
    refused("predict", folder + "/svm.ferry", folder + "/task/target.csv", "--known", known, says="--known is for models of ratings")
    refused("predict", folder + "/svm.ferry", "--top", "2", says="svm is no model of ratings")


def test_several_views(folder):
    small_task(folder)
    a, b = folder + "/task/bridge_a.csv", folder + "/task/bridge_b.csv"
    write(folder, "y.csv", "id,label\n" + "".join(f"b{i},c{i % 3}\n" for i in range(1, 61)))
    task = write(folder, "two.yaml", f"""task: two
goal: classify
domains:
  - {{name: t, role: target, id: id, y: y.csv, labelled: 30, views: [{{name: a, x: {a}}}, {{name: b, x: {b}}}]}}
""")
    model = folder + "/m.ferry"
    ferry("fit", task, "-m", "svm", "-o", model, "-q")
    ferry("run", task, "-q", "-o", folder + "/run")
    r = ferry("predict", model, f"b={b}", f"a={a}")
    assert predictions(r.out) == predictions(read(folder, "run/predictions/svm.csv"))
    assert len(predictions(ferry("predict", model, f"a={a}").out)) == 60  # a view may be absent
    refused("predict", model, a, says="this model has 2 views: give a=FILE b=FILE")
    refused("predict", model, f"c={a}", says="give a=FILE b=FILE")
    refused("predict", model, f"a={a}", f"a={a}", says="'a' already")


def test_new_instances_in_another_order(folder):
    """Columns are matched by name, so their order does not matter."""
    task = small_task(folder)
    ferry("fit", task, "-m", "svm", "-o", folder + "/m.ferry", "-q")
    rows = csv_rows(read(folder, "task/target.csv"))
    order = [0, 1] + list(range(len(rows[0]) - 1, 1, -1))
    write(folder, "swapped.csv", "".join(",".join(r[j] for j in order) + "\n" for r in rows))
    assert ferry("predict", folder + "/m.ferry", folder + "/swapped.csv").out == \
        ferry("predict", folder + "/m.ferry", folder + "/task/target.csv").out


def test_options_of_the_method(folder):
    task = small_task(folder)
    text = read(task) + "methods:\n  - knn: {k: 1}\n    as: nearest\n  - knn: {k: 9}\n"
    write(folder, "task/two.yaml", text)
    two = folder + "/task/two.yaml"

    def predict(*args):
        ferry("fit", *args, "-q", "-o", folder + "/m.ferry")
        return ferry("predict", folder + "/m.ferry", folder + "/task/target.csv").out

    one, nine = predict(task, "-m", "knn", "--set", "k=1"), predict(task, "-m", "knn", "--set", "k=9")
    assert one != nine
    assert predict(two, "-m", "nearest") == one
    assert predict(two, "-m", "nearest", "--set", "k=9") == nine
    refused("fit", task, "-m", "knn", "--set", "q=1", "-o", folder + "/n.ferry", says="unknown option q")
    refused("fit", task, "-m", "knm", "-o", folder + "/n.ferry", says="did you mean knn?")
    assert not os.path.exists(folder + "/n.ferry")


def test_settings_of_the_task(folder):
    task = small_task(folder)
    r = ferry("fit", task, "-m", "svm", "-o", folder + "/m.ferry", "--set", "domains.target.labelled=1.0")
    assert re.search(r"60 of the 60 labels of target", r.err), r


def test_a_task_that_does_not_fit(folder):
    task = small_task(folder, "labelled=0")
    refused("fit", task, "-m", "svm", "-o", folder + "/m.ferry", says="share")
    assert not os.path.exists(folder + "/m.ferry")


def test_bad_data_and_models(folder):
    task = small_task(folder)
    model = folder + "/m.ferry"
    ferry("fit", task, "-m", "svm", "-o", model, "-q")
    before = sorted(tree(folder))
    refused("predict", model, folder + "/no.csv", "-o", folder + "/p.csv", says="no.csv")
    refused("predict", model, folder + "/task/target.csv", folder + "/task/target.csv", says="1 view: give b=FILE")
    refused("predict", model, folder + "/task/source.csv", "-o", folder + "/p.csv", says="")
    assert sorted(tree(folder)) == before
    with open(model, "rb") as f:
        data = f.read()
    with open(model, "wb") as f:
        f.write(data[:-9])
    refused("predict", model, folder + "/task/target.csv", "-o", folder + "/p.csv", says="m.ferry")
    assert not os.path.exists(folder + "/p.csv")


def test_nowhere_to_write(folder):
    task = small_task(folder)
    refused("fit", task, "-m", "svm", "-o", folder, says="is a folder")
    refused("fit", task, "-m", "svm", "-o", folder + "/no/m.ferry", says="cannot write in")
    refused("predict", folder + "/m.ferry", task, "-o", folder + "/no/p.csv", says="cannot write in")


def test_same_seed_same_model(folder):
    task = small_task(folder)
    for name in ("a", "b"):
        ferry("fit", task, "-m", "svm", "-o", f"{folder}/{name}.ferry", "-q")
    with open(folder + "/a.ferry", "rb") as a, open(folder + "/b.ferry", "rb") as b:
        assert a.read() == b.read()


main(sys.modules[__name__])
