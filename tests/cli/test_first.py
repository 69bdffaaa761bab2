"""The first try with one's own table: what spreadsheets, R and pandas write is read as it is meant, or the message says what to change."""
import sys

from harness import ferry, main, parses, read, refused, write
from test_silent import rows, table, task


def run(folder, file, **more):
    return ferry("run", file, "-o", folder + "/out", "--force", **more)


def same_answers(folder, name, more=""):
    """The target in another form gives the predictions that the plain one gives."""
    run(folder, task(folder, "t.csv"))
    plain = read(folder, "out/predictions/svm.csv")
    r = run(folder, task(folder, name, more))
    assert read(folder, "out/predictions/svm.csv") == plain, name
    return r


def test_forms_of_a_table(folder):
    data = rows(60, 2)
    table(folder, "s.csv", rows(40, 1))
    table(folder, "t.csv", data)
    head = "id,f1,f2,f3,f4,kind"
    table(folder, "tab.tsv", data, sep="\t")
    table(folder, "semi.csv", data, sep=";")
    table(folder, "crlf.csv", data, end="\r\n")
    text = read(folder, "t.csv")
    write(folder, "bom.csv", "\ufeff" + text)
    write(folder, "blank.csv", text.replace("r30,", "\n  \nr30,"))
    write(folder, "quoted.csv", "\n".join(",".join(f'"{c}"' for c in line.split(",")) for line in text.splitlines()) + "\n")
    write(folder, "note.csv", head + ",note\n" + "".join(f'{line},"one\nline, ""two"""\n' for line in text.splitlines()[1:]))
    write(folder, "pandas.csv", text.replace("id,", ",", 1))  # names of rows in a first column without a name
    write(folder, "index.csv", "," + head + "\n" + "".join(f"{k},{line}\n" for k, line in enumerate(text.splitlines()[1:])))
    write(folder, "again.csv", text.replace("id,", "Unnamed: 0,", 1))  # the same, read and written once more
    for name in ("tab.tsv", "semi.csv", "crlf.csv", "bom.csv", "blank.csv", "quoted.csv", "pandas.csv", "index.csv", "again.csv"):
        assert "looks like" not in same_answers(folder, name).err, name
    same_answers(folder, "note.csv", ", drop: note")


def test_what_excel_and_r_write(folder):
    """Excel's first line sep=; and its cleared lines at the end, R's header without a name over the row names, numbered columns."""
    data = rows(60, 2)
    table(folder, "s.csv", rows(40, 1))
    table(folder, "t.csv", data)
    lines = read(folder, "t.csv").splitlines()
    semicolons = [line.replace(",", ";") for line in lines]
    for name, first in (("excel.csv", "sep=;"), ("quoted.csv", '"sep=;"'), ("upper.csv", "\ufeffSEP=;")):
        write(folder, name, "\r\n".join([first, *semicolons]) + "\r\n")
        same_answers(folder, name)
    write(folder, "comma.csv", "sep=;\n" + "\n".join(semicolons).replace(".", ",") + "\n")
    same_answers(folder, "comma.csv", ", decimal: comma")
    refused("run", task(folder, "comma.csv"), says="comma.csv:3: column 2: '")  # the line as an editor counts it
    write(folder, "cleared.csv", "\n".join(lines + [",,,,,", ",,,,,"]) + "\n")
    assert "cleared.csv: its last 2 lines hold nothing but separators: left out" in same_answers(folder, "cleared.csv").err
    write(folder, "r.txt", '"f1" "f2" "f3" "f4" "kind"\n' + "".join(f'"{i}" {" ".join(map(str, x))} "{c}"\n' for i, x, c in data))
    same_answers(folder, "r.txt")
    # a separator too many at the end of every line is no name of a row
    write(folder, "trail.csv", "f1,f2,kind\n1,2,a,\n3,4,b,\n")
    refused("inspect", folder + "/trail.csv", says="trail.csv:2: expected 3 fields, found 4")
    # nor is a line of numbers, or one that the lines below do not bear out, a header over names of rows
    for name, text, says in (("cut.csv", "1,2,3\n4,5,6,7\n8,9,1,2\n3,4,5,6\n", "cut.csv:2: expected 3 fields, found 4"),
                             ("na.csv", "NA,NA,NA\n4,5,6,7\n8,9,1,2\n3,4,5,6\n", "na.csv:2: expected 3 fields, found 4"),
                             ("odd.csv", "a,b,c\n4,5,6,7\n8,9,1\n3,4,5\n", "odd.csv:2: expected 3 fields, found 4")):
        refused("inspect", write(folder, name, text), says=says)
    counted = write(folder, "count.txt", "150 2\n5.1 3.5 0\n4.9 3.0 0\n4.7 3.2 1\n4.6 3.1 1\n")
    for more in ([], ["--format", "csv"], ["--format", "csv", "--set", "sep=space"]):
        refused("inspect", counted, *more, says="count.txt:2: expected 2 fields, found 3")
    assert parses(ferry("inspect", folder + "/cut.csv", "--json", "--set", "header=yes").out)["rows"] == 3
    # 0,1,2 over numbers and a name over classes is a header; numbers are no names of features
    for name, n, seed in (("s.csv", 40, 1), ("t.csv", 60, 2)):
        table(folder, "n" + name, rows(n, seed), head="id,0,1,2,3,kind")
        write(folder, "n" + name, "\n".join(line.split(",", 1)[1] for line in read(folder, "n" + name).splitlines()) + "\n")
    r = run(folder, task(folder, "nt.csv", source="ns.csv"))
    assert "s.x and t.x are taken for the same 4 features" in r.err, r


def test_lines_of_separators_that_are_rows(folder):
    """In labels, in a table without ids and in new data for a model rows are counted: none is left out."""
    data = rows(60, 2)
    write(folder, "x.csv", "f1,f2,f3,f4\n" + "".join(",".join(map(str, x)) + "\n" for _, x, _ in data))
    write(folder, "y.csv", "".join(f"{k % 2},{int(k % 3 == 0)}\n" if k < 40 else ",\n" for k in range(60)))
    file = write(folder, "m.yaml", """task: t
goal: multilabel
domains:
  - {name: t, role: target, x: x.csv, y: {file: y.csv, id: none, label: "first:2"}, labelled: 20}
methods: [svm]
evaluate: {repeats: 1}
""")
    assert "separators" not in run(folder, file).err
    assert len(read(folder, "out/predictions/svm.csv").splitlines()) == 61
    ferry("fit", file, "-m", "svm", "-o", folder + "/m.ferry")
    new = write(folder, "new.csv", "f1,f2,f3,f4\n1,2,3,4\n2,3,4,5\n,,,\n")
    r = ferry("predict", folder + "/m.ferry", new)
    assert len(r.out.splitlines()) == 4 and "separators" not in r.err, r
    assert parses(ferry("inspect", new, "--json").out)["rows"] == 3
    # a view joined by row number
    write(folder, "w.csv", "g1,g2\n" + "".join(f"{x[0]},{x[1]}\n" if k < 57 else ",\n" for k, (_, x, _) in enumerate(data)))
    two = write(folder, "two.yaml", read(file).replace("x: x.csv", "views: [{name: x, x: x.csv}, {name: w, x: w.csv}]"))
    assert "separators" not in run(folder, two).err


def test_first_lines_that_count(folder):
    """1,2,3 and a text or a gap may be the first instance: names beside the numbers are all texts, over classes or known words."""
    def count(text, *more):
        return parses(ferry("inspect", write(folder, "n.csv", text), "--json", *more).out)["rows"]
    body = "4,5,6,7\n8,9,1,2\n3,4,5,6\n"
    for cell in ("", "NA", "?"):
        assert count(f"1,2,3,{cell}\n" + body) == 4, cell
    ids = "4,5,6,bob\n7,8,9,carol\n2,4,6,dora\n"
    assert count("1,2,3,alice\n" + ids) == count("1,2,3,alice\n" + ids, "--set", "id=4") == 4
    assert count("1,2,3,a,\n4,5,6,b,1\n7,8,9,b,2\n") == 3
    for word in ("id", "Label", "class", "y", "target"):
        assert count(f"1,2,3,{word}\n" + ids) == 3, word
    assert count("0,1,2,kind\n4,5,6,b\n7,8,9,c\n7,2,9,b\n") == 3


def test_classes_written_otherwise(folder):
    """Blanks around a name, Latin-1 and UTF-8 are the same class; 1 and 1.0 are two, with a warning."""
    table(folder, "s.csv", [(i, x, "gr\u00fcn" if c == "a" else "1") for i, x, c in rows(40, 1)])
    table(folder, "t.csv", [(i, x, "gr\u00fcn" if c == "a" else "1") for i, x, c in rows(60, 2)])
    same_answers(folder, "t.csv")
    with open(folder + "/latin.csv", "w", encoding="latin-1") as f:
        f.write(read(folder, "t.csv"))
    same_answers(folder, "latin.csv")
    write(folder, "wide.csv", read(folder, "t.csv").replace(",gr", ", gr").replace(",1\n", ",1  \n"))
    same_answers(folder, "wide.csv")
    for name, one in (("s.csv", "1"), ("t.csv", "1.0")):
        table(folder, name, [(i, x, "0" if c == "a" else one) for i, x, c in rows(60, 2)])
    r = run(folder, task(folder, "t.csv"))
    says = "class '1' of 's' and class '1.0' of 't' count as two classes, though they are the same number: if they are one, write '1' in both"
    assert r.err.count(says) == 1 and "in common" not in r.err, r.err


def test_words_for_missing(folder):
    data = rows(60, 2)
    table(folder, "s.csv", rows(40, 1))
    def gaps(name, words):
        table(folder, name, [(i, [words[k // 3 % len(words)] if k % 3 == 0 else x[0], *x[1:]], c) for k, (i, x, c) in enumerate(data)])
        return name
    gaps("t.csv", [""])
    same_answers(folder, gaps("na.csv", ["NA", "?", "", "N/A", "NaN", "nan", "null", "NULL", "#N/A"]))
    refused("run", task(folder, gaps("none.csv", ["None", "-"])),
            says="none.csv:2: column 2: expected a number, found 'None' (if it stands for a missing cell say missing: 'None')")
    same_answers(folder, "none.csv", ", missing: [None, '-']")
    r = run(folder, task(folder, gaps("far.csv", ["-999"])))
    assert "far.csv: column 2 (f1) is -999 in 20 rows, and at most " in r.err and "if it means missing, say missing: -999" in r.err, r
    assert "-999" not in same_answers(folder, "far.csv", ", missing: -999").err


def test_what_to_change(folder):
    data = rows(60, 2)
    table(folder, "s.csv", rows(40, 1))
    table(folder, "t.csv", data)
    text = read(folder, "t.csv")
    bad = lambda says, name="bad.csv": refused("run", task(folder, name), says=says)
    write(folder, "bad.csv", text.replace("kind", "species"))
    bad("bad.csv: no column kind (label=) among its 6: id, f1, f2, f3, f4, species")
    write(folder, "bad.csv", "# made by lab 3\n" + text)
    bad("its first line, '# made by lab 3', is no header")
    with open(folder + "/bad.csv", "w", encoding="utf-16") as f:
        f.write(text)
    bad("UTF-16, as some programs export: save it as UTF-8")
    table(folder, "bad.csv", data, number=lambda v: f"{v}%")
    bad("' (units have to go): leave out with drop=f1,f2,f3,f4")
    table(folder, "bad.csv", data, number=lambda v: f'"{1 + abs(int(1000 * v)) // 1000},{abs(int(1000 * v)) % 1000:03}"')
    bad("if it separates thousands, take it out")
    write(folder, "bad.csv", "id,f1,f2,when,kind\n" + "".join(f"{i},{x[0]},{x[1]},2024-{k % 12 + 1:02}-{k % 28 + 1:02},{c}\n" for k, (i, x, c) in enumerate(data)))
    r = run(folder, task(folder, "bad.csv"))
    assert "bad.csv: column when holds dates, such as '2024-07-" in r.err and "left out" in r.err, r
    write(folder, "bare.yaml", "task: t\ngoal: classify\ndomains:\n  - {name: t, role: target, x: t.csv, labelled: 10}\n")
    refused("run", folder + "/bare.yaml", says="it has no labels (label: COLUMN says which column of its table holds them")
    refused("run", task(folder, "t.csv", goal="regress", methods="[ridge]"), says="is not a number; goal: classify predicts classes")


def test_dates_are_left_out(folder):
    """A column of dates is named and left out, whatever their form; new data may have it too. Other texts are not dates."""
    data = rows(60, 2)
    table(folder, "s.csv", rows(40, 1))
    table(folder, "t.csv", data)
    days = [f"2024-{k % 12 + 1:02}-{k % 28 + 1:02}" for k in range(60)]
    for form in (lambda d: d, lambda d: d + "T10:30:00Z", lambda d: ".".join(reversed(d.split("-"))), lambda d: d.replace("-", "/") + " 7:05"):
        write(folder, "dated.csv", "id,f1,f2,f3,f4,when,kind\n" + "".join(f"{i},{','.join(map(str, x))},{form(days[k])},{c}\n" for k, (i, x, c) in enumerate(data)))
        assert "dated.csv: column when holds dates, such as '" in same_answers(folder, "dated.csv").err
    d = ferry("inspect", folder + "/dated.csv", "--json", "--set", "label=kind")
    assert parses(d.out)["columns"] == 4 and "left out" in d.err, d
    ferry("fit", task(folder, "dated.csv"), "-m", "svm", "-o", folder + "/m.ferry")
    new = [ferry("predict", folder + "/m.ferry", folder + "/" + name) for name in ("dated.csv", "t.csv")]
    assert new[0].out == new[1].out and "dates" not in new[0].err, new
    write(folder, "version.csv", "f1,of\n" + "".join(f"{k},1.2.{k % 3}\n" for k in range(20)))
    assert parses(ferry("inspect", folder + "/version.csv", "--json").out)["columns"] == 4
    write(folder, "only.csv", "id,from,to\n" + "".join(f"r{k},{d},{d}\n" for k, d in enumerate(days)))
    assert "only.csv: no column is left for features" in ferry("inspect", folder + "/only.csv", code=2).err


def test_label_in_one_of_several_views(folder):
    """label: of a domain is a column of one of its views; the others need not have it. In none of them it is missed."""
    data = rows(60, 2)
    table(folder, "one.csv", data)
    write(folder, "two.csv", "id,g1\n" + "".join(f"{i},{x[0]}\n" for i, x, _ in data))
    text = ("task: t\ngoal: classify\ndomains:\n  - name: t\n    role: target\n    label: %s\n    labelled: 20\n    views:\n"
            "      - {name: a, x: %s}\n      - {name: b, x: %s}\nmethods: [svm]\nevaluate: {repeats: 1}\n")
    for files in (("one.csv", "two.csv"), ("two.csv", "one.csv")):
        run(folder, write(folder, "v.yaml", text % ("kind", *files)))
        assert len(read(folder, "out/predictions/svm.csv").splitlines()) == 61
    refused("run", write(folder, "v.yaml", text % ("sort", "one.csv", "two.csv")), says="views: none of them has a column sort (label=)")
    own = (text % ("none", "one.csv", "two.csv")).replace("x: two.csv", "x: two.csv, label: kind")
    refused("run", write(folder, "v.yaml", own), says="two.csv: no column kind (label=)")


def test_labels_of_other_forms(folder):
    """Sets of labels as True and False; one label column where several are meant; a header over labels in a file of their own."""
    data = rows(60, 2)
    def sets(name, on, off):
        return write(folder, name, "id,f1,f2,red,round\n" + "".join(
            f"{i},{x[0]},{x[1]},{on if x[2] > 0 else off},{on if x[3] > 0 else off}\n" for i, x, _ in data))
    sets("one.csv", "1", "0")
    sets("true.csv", "True", "False")
    text = "task: t\ngoal: multilabel\ndomains:\n  - {name: t, role: target, x: %s, label: %s, labelled: 20}\nmethods: [svm]\nevaluate: {repeats: 1}\n"
    found = {}
    for name in ("one.csv", "true.csv"):
        r = run(folder, write(folder, "m.yaml", text % (name, "[red, round]")))
        found[name] = read(folder, "out/predictions/svm.csv")
        assert "exactly one label" not in r.err, r
    assert found["one.csv"] == found["true.csv"]
    r = run(folder, write(folder, "m.yaml", text % ("one.csv", "red")))
    assert "goal multilabel, but every instance of 't' has exactly one label: goal: classify is for classes" in r.err, r
    write(folder, "x.csv", "id,f1,f2\n" + "".join(f"{i},{x[0]},{x[1]}\n" for i, x, _ in data))
    write(folder, "y.csv", "kind\n" + "".join(c + "\n" for _, _, c in data))
    alone = write(folder, "y.yaml", "task: t\ngoal: classify\ndomains:\n  - {name: t, role: target, x: x.csv, y: y.csv, labelled: 20}\nmethods: [svm]\n")
    refused("run", alone, says="61 labels without ids for the 60 rows of view 'x' (if the first line is a header: y: {file: FILE, header: yes})")
    run(folder, write(folder, "y.yaml", read(alone).replace("y: y.csv", "y: {file: y.csv, header: yes}")))


def test_new_data_in_another_format(folder):
    """A model of a CSV file predicts for the same rows as ARFF, and the other way round: the extension says which it is."""
    data = rows(60, 2)
    table(folder, "s.csv", rows(40, 1))
    table(folder, "t.csv", data)
    write(folder, "t.arff", "@relation t\n@attribute id string\n" + "".join(f"@attribute f{k} numeric\n" for k in range(1, 5)) +
          "@attribute kind {a,b}\n@data\n" + "".join(f"{i},{','.join(map(str, x))},{c}\n" for i, x, c in data))
    found = set()
    for name in ("t.csv", "t.arff"):
        file = write(folder, "task.yaml", read(task(folder, name)).replace("role: target", "role: target, id: id"))
        ferry("fit", file, "-m", "svm", "-o", folder + "/m.ferry")
        found |= {ferry("predict", folder + "/m.ferry", folder + "/" + new).out for new in ("t.csv", "t.arff")}
    assert len(found) == 1 and len(found.pop().splitlines()) == 61


def test_format_that_the_task_says(folder):
    """A table called x.svm, read by format: csv, is one at predict too; so is a new one, and svmlight called x.csv stays svmlight."""
    table(folder, "s.csv", rows(40, 1))
    table(folder, "t.csv", rows(60, 2))
    table(folder, "x.svm", rows(60, 2))
    ferry("fit", task(folder, "t.csv"), "-m", "svm", "-o", folder + "/m.ferry")
    plain = ferry("predict", folder + "/m.ferry", folder + "/t.csv").out
    assert ferry("predict", folder + "/m.ferry", folder + "/x.svm").out == plain
    ferry("fit", task(folder, "x.svm", ", format: csv"), "-m", "svm", "-o", folder + "/m.ferry")
    for name in ("x.svm", "t.csv"):
        assert ferry("predict", folder + "/m.ferry", folder + "/" + name).out == plain, name
    for name in ("v.csv", "v.svm"):
        write(folder, name, "".join(f"{c} 1:{x[0]} 2:{x[1]}\n" for _, x, c in rows(60)))
    file = "task: t\ngoal: classify\ndomains:\n  - {name: t, role: target, x: v.csv, format: svmlight, labelled: 20}\n"
    ferry("fit", write(folder, "v.yaml", file), "-m", "svm", "-o", folder + "/v.ferry")
    out = {ferry("predict", folder + "/v.ferry", folder + "/" + name).out for name in ("v.csv", "v.svm")}
    assert len(out) == 1 and len(out.pop().splitlines()) == 61


def test_targets_that_tell_nothing(folder):
    table(folder, "s.csv", rows(40, 1))
    table(folder, "t.csv", [(i, x, "a") for i, x, _ in rows(60, 2)])
    assert "target 't': all 60 labels are 'a', so there is nothing to tell apart" in run(folder, task(folder, "t.csv")).err
    table(folder, "t.csv", [(i, x[:3] + [1.5], str(x[3])) for i, x, _ in rows(60, 2)])
    r = run(folder, task(folder, "t.csv"))
    assert "classes, all of them numbers; goal: regress predicts numbers" in r.err, r


if __name__ == "__main__":
    main(sys.modules[__name__])
