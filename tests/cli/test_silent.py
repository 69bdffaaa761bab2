"""Wrong data that would give wrong answers without a word: each is an error or a warning."""
import random
import resource
import sys

from harness import ferry, main, parses, predictions, read, refused, write


def rows(n, seed=1, classes="ab"):
    r = random.Random(seed)
    return [(f"r{i}", [round(r.gauss(1.5 * (i % len(classes)), 1), 3) for _ in range(4)], classes[i % len(classes)])
            for i in range(n)]


def table(folder, name, data, head="id,f1,f2,f3,f4,kind", sep=",", end="\n", number=str):
    lines = [head.replace(",", sep)] + [sep.join([i, *map(number, x), c]) for i, x, c in data]
    with open(f"{folder}/{name}", "w", newline="") as f:
        f.write(end.join(lines) + end)
    return name


def task(folder, target, more="", source="s.csv", goal="classify", methods="[svm]"):
    return write(folder, "task.yaml", f"""task: t
goal: {goal}
domains:
  - {{name: s, role: source, x: {source}, label: kind}}
  - {{name: t, role: target, x: {target}, label: kind, labelled: 10{more}}}
methods: {methods}
evaluate: {{repeats: 2, controls: none}}
""")


def start(folder):
    table(folder, "s.csv", rows(40, 1))
    table(folder, "t.csv", rows(60, 2))


def run(folder, file, **more):
    return ferry("run", file, "-o", folder + "/out", **more)


def test_line_ends_commas_and_junk(folder):
    start(folder)
    table(folder, "cr.csv", rows(60), end="\r")
    refused("run", task(folder, "cr.csv"), says="cr.csv: its lines end in CR alone")
    table(folder, "comma.csv", rows(60), sep=";", number=lambda v: str(v).replace(".", ","))
    refused("run", task(folder, "comma.csv"), says="expected a decimal point, found a comma")
    refused("run", task(folder, "comma.csv"), says="(decimal: comma reads such numbers)")
    write(folder, "head.csv", "id,f1,f2,f3,f4,kind\n")
    refused("run", task(folder, "head.csv"), says="head.csv: no instances, only a header")
    r = random.Random(1)
    with open(folder + "/junk.csv", "wb") as f:
        f.write(bytes(r.randrange(1, 256) for _ in range(5000)))
    refused("run", task(folder, "junk.csv"), says="expected text, found binary data")


def test_decimal_commas(folder):
    """decimal: comma gives the numbers that points give: features, a label, ratings a line or a user, quoted between commas; at predict too."""
    comma = lambda v: str(v).replace(".", ",")
    data = [(i, x[:3], str(x[3])) for i, x, _ in rows(60)]
    table(folder, "point.csv", data, "id,f1,f2,f3,y")
    with open(f"{folder}/comma.csv", "w", encoding="utf-8-sig", newline="") as f:  # as a spreadsheet writes it
        f.write("".join(";".join(cells) + "\r\n" for cells in [["id", "f1", "f2", "f3", "y"]] + [[i, *map(comma, x), comma(y)] for i, x, y in data]))
    table(folder, "quoted.csv", [(i, x, f'"{comma(y)}"') for i, x, y in data], "id,f1,f2,f3,y", number=lambda v: f'"{comma(v)}"')
    out = {}
    for name, more in (("point", ""), ("comma", ", decimal: comma"), ("quoted", ", decimal: comma")):
        t = write(folder, name + ".yaml", f"task: t\ngoal: regress\ndomains:\n  - {{name: t, role: target, x: {name}.csv, label: y, labelled: 30{more}}}\n")
        ferry("fit", t, "-m", "ridge", "-o", folder + "/m.ferry")
        out[name] = ferry("predict", folder + "/m.ferry", f"{folder}/{name}.csv").out
    assert out["point"] == out["comma"] == out["quoted"] and len(predictions(out["point"])) == 60
    t = write(folder, "no.yaml", read(folder, "point.yaml").replace("point.csv", "price.csv"))
    write(folder, "price.csv", "id,f1,y\n" + "".join(f'{i},{x[0]},"$1,{100 + k}"\n' for k, (i, x, _) in enumerate(data)))
    refused("run", t, says="is not a number; units and currency signs have to go")
    for name, text in (("long.csv", "user;item;rating\n" + "".join(f"u{k % 7};i{k % 5};{k % 4},5\n" for k in range(35))),
                       ("wide.csv", "user;x;y;z\n" + "".join(f"u{k};{k % 4},5;;{k % 3},0\n" for k in range(9)))):
        path = write(folder, name, text)
        refused("inspect", path, "--format", "ratings", says='(decimal: comma reads such numbers)')
        ferry("convert", path, folder + "/r.tsv", "--format", "ratings", "--set", "decimal=comma")
        assert "u1\ti1\t1.5" in read(folder, "r.tsv") or "u1\tx\t1.5" in read(folder, "r.tsv")


def test_files_of_other_programs(folder):
    start(folder)
    for name, what in (("t.parquet", "Parquet"), ("t.xlsx", "Excel"), ("t.RDS", "R")):
        with open(f"{folder}/{name}", "wb") as f:
            f.write(b"PAR1" + bytes(range(256)) * 4)
        refused("run", task(folder, name), says=f"{name}: {what} files are not read; save it as CSV")


def test_options_of_other_formats(folder):
    start(folder)
    refused("run", task(folder, "t.csv", ", min_df: 3"), says="read as csv, to which the option min_df means nothing; it is for text")
    refused("inspect", folder + "/t.csv", "--set", "min_df=3", says="min_df means nothing")
    write(folder, "v.svm", "".join(f"{c} 1:{x[0]} 2:{x[1]}\n" for _, x, c in rows(60)))
    refused("inspect", folder + "/v.svm", "--set", "drop=1", says="read as svmlight, to which the option drop means nothing")
    # label: none is understood by every format
    assert parses(ferry("inspect", folder + "/v.svm", "--json").out).get("labels")
    assert not parses(ferry("inspect", folder + "/v.svm", "--json", "--set", "label=none").out).get("labels")
    # of a domain with several views an option need only suit one of them
    table(folder, "w.csv", rows(60, 3), head="id,g1,g2,g3,g4,kind")
    write(folder, "ids.svm", "".join(f"{x[0]:.0f} 1:{x[0]} # id:{i}\n" for i, x, _ in rows(60)))
    two = write(folder, "two.yaml", """task: t
goal: classify
domains:
  - name: t
    role: target
    label: kind
    labelled: 10
    views: [{name: a, x: t.csv}, {name: b, x: w.csv}]
methods: [svm]
evaluate: {repeats: 1}
""")
    run(folder, two)
    write(folder, "two.yaml", read(two).replace("x: w.csv}", "x: w.csv, index_base: one}"))
    refused("run", two, says="index_base means nothing; it is for svmlight")


def test_names_of_classes(folder):
    start(folder)
    table(folder, "upper.csv", [(i, x, c.upper()) for i, x, c in rows(40)])
    refused("run", task(folder, "t.csv", source="upper.csv"),
            says="class 'A' of 's' and class 'a' of 't' differ only in case: write them alike")
    table(folder, "other.csv", [(i, x, {"a": "x", "b": "y"}[c]) for i, x, c in rows(40)])
    r = run(folder, task(folder, "t.csv", source="other.csv"))
    assert "source 's' and target 't' have no class in common" in r.err, r
    assert "no class in common" not in run(folder, task(folder, "t.csv")).err
    table(folder, "one.csv", [(i, x, {"a": "a", "b": "c"}[c]) for i, x, c in rows(40)])
    r = run(folder, task(folder, "t.csv", source="one.csv"))
    assert "have 1 of their 2 and 2 classes in common: 'c' is only in the source, 'b' only in the target" in r.err, r
    table(folder, "mixed.csv", [(i, x, "B" if k == 7 else c) for k, (i, x, c) in enumerate(rows(60, 2))])
    r = run(folder, task(folder, "mixed.csv"))
    assert "'B' and 'b' of 't' count as two classes, though they differ only in case" in r.err, r


def test_many_classes(folder):
    """Names of classes are compared in a time that grows with their number, not with its square."""
    n = 60000
    for name in ("s.csv", "t.csv"):
        table(folder, name, [(f"r{i}", [i % 7, i % 11, i % 13, i % 17], f"class-{i}" if name == "s.csv" or i else "CLASS-0") for i in range(n)])
    cpu = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    before = cpu()
    refused("run", task(folder, "t.csv"), says="class 'class-0' of 's' and class 'CLASS-0' of 't' differ only in case: write them alike")
    assert cpu() - before < 20, cpu() - before


def test_the_target_as_its_own_source(folder):
    """Rows of the target with their labels in a source: whoever finds them there knows what is hidden."""
    start(folder)
    leak = lambda r: "(may be a leak): what is hidden can be looked up there; leave them out of 's'" in r.err
    r = run(folder, task(folder, "t.csv", source="t.csv"))
    assert "'s' holds 60 of the 60 labelled instances of target 't', with their labels" in r.err and leak(r), r
    # some rows of it, columns in another order, other ids
    some = [(f"n{k}", [x[2], x[0], x[3], x[1]], c) for k, (i, x, c) in enumerate(rows(60, 2)[:12])]
    table(folder, "some.csv", rows(40, 1) + some, head="id,f1,f2,f3,f4,kind")
    assert not leak(run(folder, task(folder, "t.csv", source="some.csv")))  # the names say other columns
    table(folder, "some.csv", [(i, [x[2], x[0], x[3], x[1]], c) for i, x, c in rows(40, 1)] + some, head="id,f3,f1,f4,f2,kind")
    r = run(folder, task(folder, "t.csv", source="some.csv"))
    assert "'s' holds 12 of the 60 labelled instances" in r.err and leak(r), r
    # the same rows with other labels, and rows that say so little that they repeat
    table(folder, "other.csv", [(i, x, {"a": "b", "b": "a"}[c]) for i, x, c in rows(60, 2)])
    assert not leak(run(folder, task(folder, "t.csv", source="other.csv")))
    for name, seed in (("few.csv", 2), ("fews.csv", 3)):
        table(folder, name, [(i, [int(v > 1) for v in x], c) for i, x, c in rows(60, seed)])
    assert not leak(run(folder, task(folder, "few.csv", source="fews.csv")))
    # four questions with answers 1 to 5: a small target finds most of its rows in a large source, by chance
    r = random.Random(7)
    for name, n in (("small.csv", 40), ("large.csv", 5000)):
        table(folder, name, [(f"{name}{i}", [r.randint(1, 5) for _ in range(4)], r.choice("ab")) for i in range(n)])
    assert "labelled instances of target 't', with their labels" not in run(folder, task(folder, "small.csv", source="large.csv")).err


def test_sets_as_classes(folder):
    start(folder)
    data = [(i, x, "a|b" if k % 3 == 0 else c) for k, (i, x, c) in enumerate(rows(60))]
    table(folder, "sets.csv", data)
    r = run(folder, task(folder, "sets.csv"))
    assert "class 'a|b' looks like a set of labels" in r.err and "goal: multilabel" in r.err, r
    ferry("run", task(folder, "sets.csv", goal="multilabel", methods="[label-prior]"), "-o", folder + "/ml")
    assert "a|b" not in read(folder, "ml/predictions/label-prior.csv").splitlines()[0]


def test_nothing_to_learn_from(folder):
    start(folder)
    alone = write(folder, "alone.yaml", "task: t\ngoal: classify\ndomains:\n"
                  "  - {name: t, role: target, x: t.csv, label: kind, labelled: none}\n")
    refused("run", alone, says="nothing to learn from: target 't' shows no labels (labelled: none) and no source has any")


def test_columns_that_are_labels_or_ids(folder):
    start(folder)
    data = [(i, x, f"{c},{k % 3}") for k, (i, x, c) in enumerate(rows(60))]
    table(folder, "extra.csv", data, head="id,f1,f2,f3,f4,kind,class")
    r = run(folder, task(folder, "extra.csv"))
    assert "'class': a feature, though it looks like a label or an id" in r.err and "drop: class" in r.err, r
    table(folder, "more.csv", [(i, x, f"{c},{k + 1000}") for k, (i, x, c) in enumerate(data)], head="id,f1,f2,f3,f4,kind,class,visit_id")
    r = run(folder, task(folder, "more.csv"))
    assert "'class', 'visit_id': features, though they look like labels or ids" in r.err and "drop: [class, visit_id] leaves them out" in r.err, r
    assert "looks like" not in run(folder, task(folder, "more.csv", ", drop: [class, visit_id]")).err
    # names that YAML would take otherwise are quoted, and no more than 8 are named
    ids = ["a: id", "- id"] + [f"k{k}_id" for k in range(9)]
    table(folder, "many.csv", [(i, x, c + "".join(f",{(7 * k + j) % 50}" for j in range(11))) for k, (i, x, c) in enumerate(rows(60))],
          head="id,f1,f2,f3,f4,kind," + ",".join(ids))
    r = run(folder, task(folder, "many.csv"))
    assert "'k5_id' and 3 more: features" in r.err and "'k6_id'" not in r.err, r
    advice = 'drop: ["a: id", "- id", k0_id, k1_id, k2_id, k3_id, k4_id, k5_id]'
    assert advice + " leaves these out" in r.err, r
    r = run(folder, task(folder, "many.csv", ", " + advice))
    assert "'k6_id', 'k7_id', 'k8_id': features" in r.err and "drop: [k6_id, k7_id, k8_id] leaves them out" in r.err, r
    r = run(folder, task(folder, "extra.csv", ", drop: class"))
    assert "though it looks" not in r.err, r
    write(folder, "count.csv", "no,f1,f2,f3,f4,kind\n" + "".join(
        f"{k},{','.join(map(str, x))},{c}\n" for k, (_, x, c) in enumerate(rows(60), 1)))
    write(folder, "odd.csv", read(folder, "count.csv").replace("no,", "%no,", 1))
    assert 'say label: "%no", id: "%no" or drop: "%no"' in run(folder, task(folder, "odd.csv")).err
    assert 'looks like' not in run(folder, task(folder, "odd.csv", ', drop: "%no"')).err
    assert "count.csv: 'no': a feature, though it looks like a label or an id" in run(folder, task(folder, "count.csv")).err
    # the label column of y: is a feature of x:
    twice = write(folder, "twice.yaml", "task: t\ngoal: classify\ndomains:\n"
                  "  - {name: t, role: target, x: t.csv, y: {file: t.csv, id: id, label: kind}, labelled: 10}\n"
                  "methods: [svm]\nevaluate: {repeats: 1}\n")
    r = run(folder, twice)
    assert "feature 5 (kind=a) is the label itself; leave its column out (drop: kind)" in r.err, r
    write(folder, "twice.yaml", read(twice).replace("x: t.csv,", "x: t.csv, drop: kind,"))
    assert "the label itself" not in run(folder, twice).err


def test_linqs_folder(folder):
    words = "\t".join("01" * 8)
    for name in ("one", "two"):
        write(folder, f"net/{name}.content", "".join(f"{name}{i}\t{words}\t{'ab'[i % 2]}\n" for i in range(6)))
    refused("inspect", folder + "/net", says="several such files, one.content and two.content among them; pick one, such as")


def test_arff_without_its_xml(folder):
    attributes = "".join(f"@attribute {n} {t}\n" for n, t in
                         [("p", "numeric"), ("q", "numeric"), ("red", "{0,1}"), ("round", "{0,1}")])
    data = "".join(f"{i},{i % 7},{i % 2},{i % 3 // 2}\n" for i in range(40))
    write(folder, "m.arff", f"@relation m\n{attributes}@data\n{data}")
    text = "task: t\ngoal: multilabel\ndomains:\n  - {name: t, role: target, x: m.arff, labelled: 20%s}\n" \
        "methods: [label-prior]\nevaluate: {repeats: 1}\n"
    refused("run", write(folder, "m.yaml", text % ""), says="goal multilabel, but only its last attribute is taken for a label")
    run(folder, write(folder, "m.yaml", text % ", label: last:2"))


def test_missing_columns_at_predict(folder):
    start(folder)
    ferry("fit", task(folder, "t.csv"), "-m", "svm", "-o", folder + "/m.ferry")
    lines = [line.split(",") for line in read(folder, "t.csv").splitlines()]
    write(folder, "few.csv", "\n".join(",".join(c[:4]) for c in lines) + "\n")
    r = ferry("predict", folder + "/m.ferry", folder + "/few.csv")
    assert "1 of the 4 features that the model learned from are not there, such as 'f4'" in r.err, r


RATINGS = [(u, i, (7 * u + 3 * i) % 5 + 1) for u in range(12) for i in range(10) if (u * i) % 3 != 1]


def rate_task(folder, file, more=""):
    return write(folder, "rate.yaml", f"task: r\ngoal: rate\ndomains:\n  - {{name: t, role: target, ratings: {file}, "
                 f"labelled: 0.5{more}}}\nmethods: [bias]\nevaluate: {{repeats: 1}}\n")


def test_ratings(folder):
    write(folder, "r.tsv", "user\titem\trating\n" + "".join(f"{u}\t{i}\t{v}\n" for u, i, v in RATINGS))
    ferry("fit", rate_task(folder, "r.tsv"), "-m", "bias", "-o", folder + "/r.ferry")
    write(folder, "pairs.csv", "member,dish\n1,2\n3,4\n")  # words over numbers are a header
    assert len(ferry("predict", folder + "/r.ferry", folder + "/pairs.csv").out.splitlines()) == 3
    write(folder, "named.tsv", "user\titem\trating\n" + "".join(f"u{u}\ti{i}\t{v}\n" for u, i, v in RATINGS))
    ferry("fit", rate_task(folder, "named.tsv"), "-m", "bias", "-o", folder + "/n.ferry")
    write(folder, "pairs.csv", "member,dish\nu1,i2\nu3,i4\n")
    r = ferry("predict", folder + "/n.ferry", folder + "/pairs.csv")
    assert "1 of 3 pairs have neither a user nor an item that the model knows, such as member, dish" in r.err, r
    assert "is it a header? then say header=yes" in r.err, r
    assert len(ferry("predict", folder + "/n.ferry", folder + "/pairs.csv", "--set", "header=yes").out.splitlines()) == 3
    # read as features
    r = run(folder, write(folder, "x.yaml", read(rate_task(folder, "r.tsv")).replace("ratings:", "x:")), code=2)
    assert "goal rate needs ratings: FILE" in r.err, r
    assert "looks like ratings (user, item, value), but is read as a table" in ferry(
        "run", write(folder, "y.yaml", "task: t\ngoal: regress\ndomains:\n  - {name: t, role: target, x: r.tsv, "
                     "label: rating, labelled: 20}\nmethods: [mean]\nevaluate: {repeats: 1}\n"), "-o", folder + "/o").err


def test_wide_ratings_drop(folder):
    head = "user,age," + ",".join(f"film{i}" for i in range(6))
    body = "".join(f"u{u},{20 + u}," + ",".join(str((u + i) % 5 + 1) if (u + i) % 3 else "" for i in range(6)) + "\n"
                   for u in range(20))
    write(folder, "wide.csv", head + "\n" + body)
    def items(*more):
        r = ferry("convert", folder + "/wide.csv", folder + "/long.tsv", "--format", "ratings", *more)
        return {line.split("\t")[1] for line in read(folder, "long.tsv").splitlines()[1:]}
    assert "age" in items() and items("--set", "drop=age") == {f"film{i}" for i in range(6)}
    assert "column age has values from 20 to 39, all others from 1 to 5: if it is no item, say drop: age" in ferry(
        "inspect", folder + "/wide.csv", "--format", "ratings").err
    refused("inspect", folder + "/wide.csv", "--format", "ratings", "--set", "drop=wage", says="no column wage (drop=)")


def test_wide_ratings_as_people_have_them(folder):
    """Names of users under a header of any kind, and zeros for what was not rated."""
    head = "guest," + ",".join(f"dish{i}" for i in range(6))
    body = "".join(f"guest {u}," + ",".join(str((u + i) % 5 + 1) if (u + i) % 3 else "0" for i in range(6)) + "\n" for u in range(20))
    write(folder, "wide.csv", head + "\n" + body)
    r = run(folder, rate_task(folder, "wide.csv"))
    assert "wide.csv: 40 of 120 ratings are 0, the others 1 to 5: if 0 stands for no rating, say missing: 0" in r.err, r
    r = run(folder, rate_task(folder, "wide.csv", ", missing: 0"))
    assert "ratings are 0" not in r.err and "guest 3,dish1" in read(folder, "out/predictions/bias.csv"), r


def test_an_odd_cell_makes_no_users(folder):
    odd = write(folder, "odd.csv", "d1,d2,d3,d4,d5,d6\n-,3,4,5,1,2\n4,5,1,2,3,4\n")
    refused("inspect", odd, "--format", "ratings", says='odd.csv:2: column 1: expected a finite number or a blank, found "-"')
    words = write(folder, "words.csv", read(odd).replace("\n4,", "\nx,"))
    assert parses(ferry("inspect", words, "--format", "ratings", "--json").out)["users"] == 2


def test_scale_from_what_is_visible(folder):
    """A rating of 1000 is hidden but for one seed in many: no prediction knows of it, and predictions are kept within
    what is visible."""
    write(folder, "r.tsv", "user\titem\trating\n" + "".join(f"{u}\t{i}\t{v}\n" for u, i, v in RATINGS + [(99, 0, 1000)]))
    t = write(folder, "s.yaml", read(rate_task(folder, "r.tsv")).replace("0.5", "20"))
    for seed in range(1, 4):
        ferry("fit", t, "-m", "bias", "-o", folder + "/m.ferry", "--seed", seed)
        asked = ferry("predict", folder + "/m.ferry", folder + "/r.tsv").out.splitlines()[1:]
        assert max(float(line.split(",")[-1]) for line in asked) <= 5, seed


def test_messages(folder):
    start(folder)
    refused("run", write(folder, "tab.yaml", "task: t\ngoal: classify\ndomains:\n\t- {name: t}\n"),
            says="tab.yaml:4: a tab: YAML takes only blanks")
    text = read(task(folder, "t.csv")).replace("controls: none", "metrics: [accuracy]").replace("classify", "stream")
    refused("run", write(folder, "stream.yaml", text.replace("[svm]", "[mpa]")),
            says="metric accuracy does not belong to goal stream, which has ")
    write(folder, "list.yaml", read(task(folder, "t.csv", ", drop: f1,f2")))
    refused("run", folder + "/list.yaml", says="unknown key f2 (a list is written [a, b])")
    write(folder, "said.csv", "id,said,kind\n" + "".join(f"{i},the {x[0]} is more than {x[1]},{c}\n" for i, x, c in rows(60)))
    refused("run", task(folder, "said.csv"), says="documents to learn from are lines of class<TAB>text, read by format: text)")
    write(folder, "gap.csv", "id,p,colour\n1,2,red\n2,,blue\n3,4,red\n")
    refused("convert", folder + "/gap.csv", folder + "/gap.svm", says="instance 2 has no value for feature 1, p")


def test_features_that_say_nothing(folder):
    """Rows that are all the same, known or not: one warning. A column that another table has in other letters: likewise."""
    start(folder)
    for name, cell in (("blank.csv", ""), ("same.csv", "7")):
        table(folder, name, rows(60), number=lambda v: cell)
        r = run(folder, task(folder, name), code=None)
        assert r.code == 0 and "'t': every feature is blank or the same in all rows" in r.err, r
    for last, says in ((1, True), (2, False)):  # the rows of a sparse file, of which the last differs or not
        write(folder, "t.svm", "".join(f"{i % 2} 1:3 4:{1 if i < 59 else last}\n" for i in range(60)))
        file = write(folder, "sparse.yaml", "task: t\ngoal: classify\ndomains: [{name: t, role: target, x: t.svm, labelled: 10}]\n"
                     "methods: [svm]\nevaluate: {repeats: 2, controls: none}\n")
        assert ("every feature is blank" in run(folder, file).err) == says
    table(folder, "half.csv", [(i, x if int(i[1:]) > 50 else [""] * 4, c) for i, x, c in rows(60)])
    assert "every feature" not in run(folder, task(folder, "half.csv")).err
    table(folder, "case.csv", rows(60), head="id,F1,f2,f3,f4,kind")
    r = run(folder, task(folder, "case.csv"))
    assert r.err.count("'F1' of t.x and 'f1' of s.x count as two features") == 1, r
    assert "count as two features" not in run(folder, task(folder, "t.csv")).err


def test_units_are_warned_of_once(folder):
    """Whatever a method does to rows that add up columns of other units: one line a run."""
    r = random.Random(1)
    for name, n, seen in (("s", 60, 60), ("t", 60, 12)):
        lines = [f"{name}{i},{r.randrange(3) + i % 2},{r.randrange(300)},{r.randrange(40) + 10 * (i % 2)},{r.randrange(9)},{'ab'[i % 2] if i < seen else ''}"
                 for i in range(n)]
        write(folder, name + ".csv", "\n".join(["id,f1,f2,f3,f4,kind", *lines]) + "\n")
    said = run(folder, task(folder, "t.csv", methods="[cdspp, triplex]")).err
    assert said.count("another unit or zero gives another answer") == 1, said


def test_nothing_hidden(folder):
    """A target whose labels are all visible, or that has none: methods are fitted, predictions kept."""
    data = rows(60, 2)
    table(folder, "part.csv", [(i, x, c if k < 30 else "") for k, (i, x, c) in enumerate(data)])
    part = write(folder, "part.yaml", "task: t\ngoal: classify\ndomains:\n"
                 "  - {name: t, role: target, x: part.csv, label: kind, labelled: 1.0}\nmethods: [svm, knn, majority]\n")
    r = run(folder, part)
    assert "all 30 labels are visible to the methods (labelled: 1.0), none is left to score" in r.err, r
    assert "nothing is scored" in r.err and "  Use      " in r.out, r
    found = predictions(read(folder, "out/predictions/svm.csv"))
    right = sum(found[i] == c for i, _, c in data[30:])
    assert right > 20, right
    d = parses(read(folder, "out/results.json"))
    assert d["answer"]["validated"] and d["repeats"] == 1
    table(folder, "s.csv", rows(40, 1))
    write(folder, "bare.csv", "\n".join(",".join([i, *map(str, x)]) for i, x, _ in [("id", ["f1", "f2", "f3", "f4"], "")] + data)
          + "\n")
    bare = write(folder, "bare.yaml", "task: t\ngoal: classify\ndomains:\n"
                 "  - {name: s, role: source, x: s.csv, label: kind}\n  - {name: t, role: target, x: bare.csv}\n"
                 "methods: [svm, majority]\n")
    r = ferry("run", bare, "-o", folder + "/bare")
    assert "target 't' has no labels, so there is nothing to score by" in r.err, r
    found = predictions(read(folder, "bare/predictions/svm.csv"))
    assert sum(found[i] == c for i, _, c in data) > 40


if __name__ == "__main__":
    main(sys.modules[__name__])
