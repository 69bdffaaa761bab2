"""inspect, convert and gen: data files through the command."""
import bz2
import gzip
import json
import lzma
import os
import re
import sys
import zipfile

from harness import ferry, main, parses, read, refused, small_task, tree, write

CSV = "id,height,label,weight\np,1.5,cat,2\nq,2.5,dog,\nr,3.5,cat,4\n"
SVM = "1 1:0.5 4:2\n-1 2:1\n1 1:3 3:4\n"


def test_inspect_of_many_empty_columns(folder):
    """A short file may have columns without end: what is told of it takes no memory for each of them."""
    out = ferry("inspect", write(folder, "wide.svm", "214483647:1\n")).out
    assert "214483647 features" in out and "scale" not in out, out


def test_inspect_model(folder):
    task = small_task(folder)
    ferry("fit", task, "-m", "logreg", "-o", folder + "/m.ferry", "-q")
    r = ferry("inspect", folder + "/m.ferry")
    assert "logreg: " in r.out and "classify" in r.out and "c1, c2, c3" in r.out and "ferry predict" in r.out, r
    d = parses(ferry("inspect", folder + "/m.ferry", "--json").out)
    assert d["kind"] == "model" and d["method"] == "logreg" and d["goal"] == "classify"
    write(folder, "bad.ferry", "nothing")
    refused("inspect", folder + "/bad.ferry", says="bad.ferry")


def test_a_task_for_every_goal(folder):
    goals = {"regress": "ridge", "multilabel": "mmltl", "rate": "mindtl", "embed": "coca", "stream": "hetomtl"}
    for goal, method in goals.items():
        ferry("gen", goal, "-q", "--out", f"{folder}/{goal}", "--set", "repeats=2")
        first = tree(f"{folder}/{goal}")
        out = ferry("run", f"{folder}/{goal}/task.yaml", "-q", "-o", f"{folder}/{goal}/r", "--controls", "none").out
        assert f": {goal} " in out and re.search(rf"^{method} ", out, re.M), (goal, out)
        ferry("gen", goal, "-q", "--out", f"{folder}/{goal}2", "--set", "repeats=2")
        assert tree(f"{folder}/{goal}2") == first  # the same seed
    ferry("gen", "select", "-q", "--out", f"{folder}/select")
    assert "ways to 'target' by trial, 4 candidates" in ferry("select", f"{folder}/select/task.yaml").out
    ferry("gen", "classes", "-q", "--out", f"{folder}/classes", "--set", "repeats=2")
    out = json.loads(ferry("run", f"{folder}/classes/task.yaml", "-q", "--json", "-o", f"{folder}/classes/r", "--controls", "none").out)
    accuracy = {r["name"]: r["metrics"]["accuracy"]["mean"] for r in out["results"]}
    assert accuracy["place"] > 0.85 and max(a for m, a in accuracy.items() if m != "place") < 0.71, accuracy  # 7 of 10 classes have labels


def test_inspect_csv(folder):
    write(folder, "a.csv", CSV)
    args = ["inspect", "a.csv", "--set", "id=id", "--set", "label=label"]
    d = parses(ferry(*args, "--json", cwd=folder).out)
    assert d["rows"] == 3 and d["columns"] == 2 and d["missing"] == 1, d
    out = ferry(*args, cwd=folder).out
    assert out.startswith("a.csv\n")
    assert re.search(r"^ +cat +2$", out, re.M) and re.search(r"^ +dog +1$", out, re.M), out


def test_inspect_scale(folder):
    """Which clause of docs/scaling.md applies, in words and as JSON."""
    write(folder, "table.csv", "a,b\n" + "".join(f"{i},{i * i}\n" for i in range(9)))
    words = [[1 + (i % 7 == 0 and j == 0) if (i * 3 + j * j) % (2 + j) == 0 or j == i else 0 for j in range(24)] for i in range(40)]
    write(folder, "words.csv", ",".join(f"w{j}" for j in range(24)) + "\n" + "".join(",".join(map(str, r)) + "\n" for r in words))
    assert re.search(r"^ +scale +auto: standard \(a table: 2 columns vary\)$", ferry("inspect", "table.csv", cwd=folder).out, re.M)
    d = parses(ferry("inspect", "words.csv", "--json", cwd=folder).out)
    assert d["scale"] == "words" and d["scale_reason"].startswith("counts of frequent words: "), d
    assert 0.1 < d["density"] < 0.6, d


def test_repeated_names(folder):
    """A column is found by the name that the warning gives it, wherever columns are named; also when a model is asked later."""
    rows = "".join(f"{i % 5},{i % 3},{i * 7 % 11},{'uv'[i % 2]}\n" for i in range(40))
    write(folder, "x.csv", "a,b,c,a\n" + rows)
    write(folder, "plain.csv", "a,b,c,y\n" + rows)
    write(folder, "new.csv", "a,b,c\n" + "".join(r[:-2] + "\n" for r in rows.splitlines()))
    said = "x.csv:1: the name a is there twice; the later one is called a (2)"
    assert said in ferry("inspect", folder + "/x.csv").err
    lines = "task: t\ngoal: classify\ndomains:\n  - {name: t, role: target, x: %s, label: %s, labelled: 10}\nevaluate: {repeats: 1}\nmethods: [svm]\n"
    named = write(folder, "named.yaml", lines % ("x.csv", '"a (2)"'))
    last = write(folder, "last.yaml", lines % ("x.csv", "last"))
    plain = write(folder, "plain.yaml", lines % ("plain.csv", "y"))
    got = []
    for task, more in ((named, []), (last, ["--set", "domains.t.label=a (2)"]), (last, []), (plain, [])):
        r = ferry("fit", task, "-m", "svm", "-o", folder + "/m.ferry", *more)
        assert (said in r.err) == (task != plain), r
        for data in ("x.csv", "new.csv") if task != plain else ("plain.csv", "new.csv"):
            r = ferry("predict", folder + "/m.ferry", f"{folder}/{data}")
            assert "new to the model" not in r.err and "are not there" not in r.err, (task, data, r)
            got.append(r.out)
    assert len(set(got)) == 1, got
    for option in ("label", "drop"):
        assert parses(ferry("inspect", folder + "/x.csv", "--json", "--set", option + "=a (2)").out)["features"] == ["a", "b", "c"]
    r = ferry("inspect", folder + "/x.csv", "--set", "label=a (3)", code=2)
    assert "no column a (3) (label=) among its 4: a, b, c, a (2)" in r.err, r
    write(folder, "twice.csv", "id,x,class,class\na,1,A,B\nb,2,B,A\nc,3,A,B\n")  # a second label is still one that leaks
    r = ferry("inspect", folder + "/twice.csv", "--set", "label=class")
    assert "'class (2)': a feature, though it looks like a label or an id" in r.err, r


def test_header_of_labels(folder):
    """A header of texts over texts looks like a label: who sees its id alone among strangers is told what to say."""
    write(folder, "x.csv", "who,a,b\n" + "".join(f"p{i},{i % 7},{i % 2}\n" for i in range(20)))
    write(folder, "y.csv", "who,likes\n" + "".join(f"p{i},{'tea' if i % 2 else 'beer'}\n" for i in range(20)))
    lines = "task: t\ngoal: classify\ndomains: [{name: t, role: target, id: who, x: x.csv, y: %s, labelled: 8}]\n"
    for more in ("", ", graphs: [{name: g, knn: 3}]"):  # with a graph an id may be all that is known of an instance
        r = ferry("advise", write(folder, "t.yaml", (lines % "y.csv").replace(", labelled", more + ", labelled")))
        assert "1 of 21 labels are for ids that " in r.err and "is it a header? then say y: {file: FILE, header: yes})" in r.err, r
    r = ferry("advise", write(folder, "t.yaml", lines % "{file: y.csv, header: yes}"))
    assert "did not have" not in r.err, r


def test_inspect_of_a_name_with_commands(folder):
    """A file's name reaches a terminal through a pipe, too."""
    write(folder, "red\x1b[31m.csv", "a,b\n1,2\n")
    out = ferry("inspect", "red\x1b[31m.csv", cwd=folder).out
    assert out.startswith("red?[31m.csv\n") and "\x1b" not in out, out


def test_inspect_several(folder):
    write(folder, "a.csv", CSV)
    write(folder, "b.svm", SVM)
    write(folder, "bad.svm", "1 1:0.5 1:2\n")
    r = ferry("inspect", "a.csv", "b.svm", cwd=folder)
    assert "a.csv\n" in r.out and "\n\nb.svm\n" in r.out and "svmlight" in r.out
    # one bad file: the others are shown, the exit code tells
    r = ferry("inspect", "bad.svm", "b.svm", cwd=folder, code=2)
    assert r.err.startswith("ferry: bad.svm:1:") and r.err.count("\n") == 1 and "b.svm\n" in r.out
    lines = ferry("inspect", "--json", "a.csv", "b.svm", cwd=folder).out
    assert lines.count('"format"') == 2


def test_inspect_two_tables(folder):
    """Columns that may be the same under other names: the line for the task file; nothing is said of one file, or of three."""
    rows = [(i, i * i, i * 11 % 29) for i in range(30)]
    for name, head in (("old.csv", "key,lunch,income"), ("new.csv", "key,meals,pay")):
        write(folder, name, head + "\n" + "".join("%d,%d,%d\n" % r for r in rows))
    r = ferry("inspect", "old.csv", "new.csv", cwd=folder)
    assert r.out.endswith("\n\ncolumns that may be the same; if they are, and in the same units, say at the source of a task\n"
                          '  same: {"lunch": "meals", "income": "pay"}\n'), r
    lines = ferry("inspect", "--json", "old.csv", "new.csv", cwd=folder).out.splitlines()
    assert parses(lines[-1]) == {"same": {"lunch": "meals", "income": "pay"}}, lines
    for files in (["old.csv"], ["old.csv", "old.csv"], ["old.csv", "new.csv", "new.csv"]):
        assert "same" not in ferry("inspect", *files, cwd=folder).out, files
    # the line is one of a task file
    write(folder, "task.yaml", """task: meals
goal: regress
domains:
  - {name: old, role: source, x: old.csv, label: key, same: {"lunch": "meals", "income": "pay"}}
  - {name: new, role: target, x: new.csv, label: key, labelled: 15}
methods: [residual]
""")
    assert "new.x = old.x by 2 feature names" in ferry("advise", "task.yaml", cwd=folder).out


def test_compressed_and_archives(folder):
    for name, module in (("a.csv.bz2", bz2), ("a.csv.xz", lzma), ("a.csv.gz", gzip)):
        with module.open(os.path.join(folder, name), "wt") as f:
            f.write(CSV)
        d = parses(ferry("inspect", name, "--json", cwd=folder).out)
        assert d["format"] == "csv" and d["rows"] == 3, d
    refused("convert", "a.csv.xz", "b.csv.bz2", says="compressed files are read but not written", cwd=folder)
    # names outside ASCII, also in the C locale
    with zipfile.ZipFile(os.path.join(folder, "a.zip"), "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("\u03a9/\u0436.csv", CSV)
        z.writestr("b.csv", "x,y\n1,2\n")
    r = ferry("inspect", "a.zip#\u03a9/\u0436.csv", "--json", cwd=folder, env={"LC_ALL": "C"})
    assert parses(r.out)["rows"] == 3


def test_without_libarchive(folder):
    """Plain files, gzip and NPZ writing work; the rest is one sentence that names the package."""
    os.mkdir(os.path.join(folder, "lib"))
    write(folder, "lib/libarchive.so.13", "no library")
    write(folder, "a.csv", CSV)
    with gzip.open(os.path.join(folder, "b.csv.gz"), "wt") as f:
        f.write(CSV)
    with lzma.open(os.path.join(folder, "c.csv.xz"), "wt") as f:
        f.write(CSV)
    env = {"LD_LIBRARY_PATH": os.path.join(folder, "lib")}
    for name in ("a.csv", "b.csv.gz"):
        assert parses(ferry("inspect", name, "--json", cwd=folder, env=env).out)["rows"] == 3
    ferry("convert", "a.csv", "d.npz", cwd=folder, env=env)
    assert zipfile.ZipFile(os.path.join(folder, "d.npz")).testzip() is None
    for name, what in (("c.csv.xz", "xz"), ("d.npz", "an archive")):
        refused("inspect", name, says=f"{name}: reading {what} needs the library libarchive (Debian: libarchive13)",
                cwd=folder, env=env)


def test_format_by_content_and_by_option(folder):
    write(folder, "data.txt", SVM)
    assert parses(ferry("inspect", "data.txt", "--format", "svmlight", "--json", cwd=folder).out)["format"] == "svmlight"
    refused("inspect", "data.txt", "--format=svmlihgt", says="svmlihgt", cwd=folder)


def test_convert_round_trip(folder):
    write(folder, "a.svm", SVM)
    ferry("convert", "a.svm", "b.npz", cwd=folder)
    ferry("convert", "b.npz", "c.svm", cwd=folder)
    a, c = (parses(ferry("inspect", "--json", f, cwd=folder).out) for f in ("a.svm", "c.svm"))
    for key in ("rows", "columns", "nonzeros", "labels"):
        assert a.get(key) == c.get(key), (key, a, c)
    write(folder, "t.csv", CSV)
    ferry("convert", "t.csv", "t2.csv", "--set", "id=id", "--set", "label=label", cwd=folder)
    text = read(folder, "t2.csv")
    assert "cat" in text and "height" in text and "q" in text


def test_convert_a_domain(folder):
    """A domain as the task reads it: here two files joined by id, and text that is weighed under a seed."""
    write(folder, "a.csv", "id,x,label\nr1,1,no\nr2,2,yes\n")
    write(folder, "b.csv", "id,y,z\nr2,5,6\nr1,7,8\n")
    write(folder, "t.yaml", "task: t\ngoal: classify\ndomains:\n  - name: d\n    role: target\n"
                            "    views: [{name: a, x: a.csv}, {name: b, x: b.csv}]\n")
    ferry("convert", "t.yaml#d.b", "out.csv", cwd=folder)
    assert read(folder, "out.csv") == "id,y,z,label\nr2,5,6,yes\nr1,7,8,no\n", read(folder, "out.csv")
    refused("convert", "t.yaml#d", "out.csv", cwd=folder, says="domain 'd' has 2 views: which?")
    refused("convert", "t.yaml#d.c", "out.csv", cwd=folder, says="domain 'd' has 2 views and none called c")
    refused("convert", "t.yaml#e", "out.csv", cwd=folder, says="t.yaml: no domain e")
    write(folder, "words.txt", "".join("a\tone two three four\n" if i % 2 else "b\tfive six seven eight\n" for i in range(8)))
    write(folder, "w.yaml", "task: w\ngoal: classify\ntext: {documents: lines, min_len: 1, min_df: 1}\ndomains:\n"
                            "  - {name: s, role: source, x: words.txt, label: first, text: {part: 1/2}}\n"
                            "  - {name: t, role: target, x: words.txt, label: first, text: {part: 2/2}}\n")
    for seed in (1, 1, 2):
        for d in "st":
            ferry("convert", "w.yaml#" + d, "%s%d.svm" % (d, seed), "--seed", seed, cwd=folder)
    words = {n: set(read(folder, n + ".svm").split("\n")[0].split()[3:]) for n in ("s1", "t1", "s2", "t2")}
    assert not words["s1"] & words["t1"] and len(words["s1"] | words["t1"]) == 8 and words["s1"] != words["s2"], words


def test_convert_to_a_named_format(folder):
    write(folder, "a.csv", "x,y\n1,0\n0,2\n")
    ferry("convert", "a.csv", "plain", "--to", "svmlight", cwd=folder)
    assert "1:1" in read(folder, "plain")
    refused("convert", "a.csv", "other", "--to", "nosuch", says="nosuch", cwd=folder)
    assert sorted(tree(folder)) == ["a.csv", "plain"]


def test_gen_lists_and_makes(folder):
    names = [line.split()[0] for line in ferry("gen").out.splitlines()]
    assert names[:2] == ["digits", "bridge"] and len(set(names)) == len(names) >= 10, names
    ferry("gen", "digits", "-q", cwd=folder)
    assert sorted(os.listdir(folder + "/digits")) == ["both.csv", "left.csv", "mine.csv", "right.csv", "task.yaml"]
    r = ferry("gen", "bridge", "--set", "source=30", cwd=folder)
    assert r.out == "" and "ferry run bridge/task.yaml" in r.err
    assert sorted(os.listdir(folder + "/bridge")) == ["bridge_a.csv", "bridge_b.csv", "source.csv", "target.csv",
                                                      "task.yaml"]
    assert read(folder, "bridge", "source.csv").count("\n") == 31
    r = ferry("gen", "bridge", "-q", "-o", "quiet", cwd=folder)
    assert r.out == r.err == ""


def test_gen_same_seed_same_bytes(folder):
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        ferry("gen", "bridge", "-q", "-o", os.path.join(folder, name), "--seed", seed)
    assert tree(folder + "/a") == tree(folder + "/b") != tree(folder + "/c")


def test_generated_files_inspect(folder):
    task = os.path.dirname(small_task(folder))
    d = parses(ferry("inspect", "--json", "--set", "id=id", "--set", "label=label", task + "/target.csv").out)
    assert d["rows"] == 60 and d["columns"] == 8, d


def test_odd_names_come_back(folder):
    """Names that look like numbers or like damage: a format holds them as they are, or says that it does not."""
    table = 'id,inf,"1",label\n"a\x01\x02\x03",1,2,"p\x05"\n"\x7f\x7f",3,4,q\nnan,5,6,q\n'
    a = write(folder, "a.csv", table)
    pairs = write(folder, "r.csv", 'user,item,rating\n"a\x01\x02\x03\x04",i,3\nb,"j\x06\x06\x06",4\n')
    edges = write(folder, "e.csv", 'from,to\n"x\x01\x02\x03\x04",y\ny,z\n')
    for name in ("b.tsv", "b.arff", "b.svm", "b.npz", "b.mat"):
        ferry("convert", a, name, cwd=folder)
        ferry("convert", name, "c.csv", cwd=folder)
        assert read(folder, "c.csv").replace('"', "") == table.replace('"', ""), name
    for path, kind in ((pairs, "ratings"), (edges, "edges")):
        ferry("convert", path, "b." + kind, "--set", "format=" + kind, cwd=folder)
        said = [ferry("inspect", p, "--set", "format=" + kind, "--json", cwd=folder).out for p in (path, "b." + kind)]
        one, two = ({k: v for k, v in parses(t).items() if k != "path"} for t in said)
        assert one == two, said
    split = write(folder, "n.csv", 'id,x\n"a\nb",1\nc,2\n')
    ferry("convert", split, "n.npz", cwd=folder)
    refused("convert", split, "n.arff", says="has a line end, which this format cannot hold", cwd=folder)
    assert not os.path.exists(os.path.join(folder, "n.arff"))


main(sys.modules[__name__])
