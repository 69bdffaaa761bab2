"""ferry answer: from tables to a model, without a task file; what it guesses, formats, and what it refuses."""
import os
import random
import signal
import subprocess
import sys
import time

from harness import FERRY, ferry, main, parses, predictions, read, refused, tree, write


def rows(n, seed, label=lambda x: "ab"[x[0] + x[1] > 0]):
    """Rows of four numbers and a label."""
    rng = random.Random(seed)
    out = []
    for i in range(n):
        x = [round(rng.gauss(0, 1), 3) for _ in range(4)]
        out.append((f"r{seed}-{i}", x, label(x)))
    return out


def table(folder, name, data, known=None, columns=(0, 1, 2, 3), head="id", label="kind"):
    """A CSV file of some columns; labels after the first `known` rows are blank."""
    text = ",".join([head, *(f"f{k}" for k in columns)]) + ("," + label if label else "") + "\n"
    for k, (i, x, y) in enumerate(data):
        text += ",".join([i, *(str(x[c]) for c in columns)])
        text += ("," + (str(y) if known is None or k < known else "") if label else "") + "\n"
    return write(folder, name, text)


def tables(folder, known=24):
    table(folder, "theirs.csv", rows(60, 1))
    table(folder, "mine.csv", rows(50, 2), known)
    return ["answer", "mine.csv", "--source", "theirs.csv", "--label", "kind", "-o", "out"]


def test_answer(folder):
    """The task that it writes is a task; the model and the predictions are there; guesses are said with what overrules them."""
    call = tables(folder)
    r = ferry(*call, cwd=folder)
    for guess in ("goal: classify, 2 classes (--goal", "ids: r2-0, r2-1, ... in mine.csv (--id", "links: mine.x = theirs.x by 4 feature names (--apart",
                  "metric: accuracy (--metric"):
        assert guess in r.err, (guess, r)
    assert {"task.yaml", "model.ferry", "predictions.csv", "results"} == set(os.listdir(folder + "/out"))
    assert os.path.exists(folder + "/out/results/report.html") and os.path.exists(folder + "/out/results/results.json")
    found = predictions(read(folder, "out/predictions.csv"))
    truth = {i: y for i, _, y in rows(50, 2)}
    assert set(found) == {i for i, _, _ in rows(50, 2)[24:]}, "the rows without a label, and no others"
    assert sum(found[i] == truth[i] for i in found) >= 20, found  # the same rule holds in both tables
    assert "the 26 rows without a label" in r.out
    same = predictions(ferry("predict", "out/model.ferry", "mine.csv", cwd=folder).out)
    assert all(same[i] == found[i] for i in found), "the model that is kept made the predictions"
    assert "x: ../mine.csv" in read(folder, "out/task.yaml")
    ferry("advise", "out/task.yaml", cwd=folder)
    refused(*call, says="out: is there and is not empty; --force", cwd=folder)


def test_other_forms(folder):
    """A source in svmlight, a bridge, a target in another folder, labels that are numbers, blanks nowhere."""
    number = lambda x: round(2 * x[0] - x[1], 2)
    table(folder, "here/mine table.csv", rows(40, 2, number), columns=(0, 1), label="the price")
    table(folder, "both.csv", rows(40, 3, number), label=None)
    write(folder, "there/theirs.svm", "".join(f"{y} 1:{x[2]} 2:{x[3]}\n" for _, x, y in rows(40, 4, number)))
    r = ferry("answer", "here/mine table.csv", "--source", "there/theirs.svm", "--bridge", "both.csv", "--label", "the price",
              "-o", "a/b/out", "--metric", "mae", cwd=folder)
    assert "goal: regress" in r.err and "metric: mae" in r.err, r
    assert "Every row has a label" in r.out and "predictions.csv" not in os.listdir(folder + "/a/b/out")
    text = read(folder, "a/b/out/task.yaml")
    assert "x: '../../../here/mine table.csv'" in text and "label: 'the price'" in text and "role: intermediate" in text, text
    assert text.count("label:") == 1, "svmlight has its own"


def test_columns_that_are_named(folder):
    """--id, --drop and --apart go into the task; a table that lacks a column is read without it."""
    table(folder, "theirs.csv", rows(40, 1))
    data = [(i, x, y) for i, x, y in rows(40, 2)]
    text = read(table(folder, "mine.csv", data, 20, head="person")).splitlines()
    write(folder, "mine.csv", "\n".join([text[0] + ",note", *(f"{line},n{k}" for k, line in enumerate(text[1:]))]) + "\n")
    call = ["answer", "mine.csv", "--source", "theirs.csv", "--label", "kind", "-o", "out"]
    refused(*call, says="mine.csv: too many different texts in 2 columns", cwd=folder)
    assert "leave out with --drop person,note, or name one" in ferry(*call, cwd=folder, code=2).err
    r = ferry(*call, "--id", "person", "--drop", "note", "--apart", "-q", cwd=folder)
    text = read(folder, "out/task.yaml")
    assert text.count("id: person") == 1 and text.count("drop: note") == 1 and text.count("same_as: none") == 2, text
    assert set(predictions(read(folder, "out/predictions.csv"))) == {i for i, _, _ in data[20:]}, r


def test_drop_what_a_table_has(folder):
    """A source lacks one of the columns to leave out: the other one goes all the same, and the table on the screen names a folder."""
    data, theirs = rows(40, 2), rows(40, 1)
    def with_texts(name, data, known, *columns):
        lines = read(table(folder, name, data, known)).splitlines()
        more = lambda k: "".join(f",{c}{k}" for c in columns)
        write(folder, name, "\n".join([lines[0] + more(""), *(line + more(k) for k, line in enumerate(lines[1:]))]) + "\n")
    with_texts("mine.csv", data, 20, "note", "remark")
    with_texts("theirs.csv", theirs, None, "remark")
    r = ferry("answer", "mine.csv", "--source", "theirs.csv", "--label", "kind", "--drop", "note,remark", "-o", "my out", cwd=folder)
    text = read(folder, "my out/task.yaml")
    assert "drop: 'note,remark'" in text and "drop: remark\n" in text, text
    assert "more methods: " in r.out and " table 'my out/results' --all." in r.out and " DIR " not in r.out, r.out
    refused("answer", "mine.csv", "--source", "theirs.csv", "--label", "kind", "--drop", "note,remark,age", "-o", "o", cwd=folder,
            says="mine.csv: no column age (drop=)")


def test_no_label(folder):
    """All labels of your own are blank: the source alone says what is learned, nothing is promised, and the rows are predicted."""
    call = tables(folder)
    table(folder, "blank.csv", rows(20, 6), 0)
    call[1] = "blank.csv"
    r = ferry(*call, cwd=folder)
    assert "all 20 labels are blank: what is learned comes from the source alone" in r.err and "goal: classify, 2 classes" in r.err, r.err
    assert "no labels of your own, 20 rows to predict" in r.out and "Expect   unknown" in r.out and "Source   all there is" in r.out, r.out
    assert len(read(folder, "out/predictions.csv").splitlines()) == 21, r.out


def test_refused(folder):
    """One line, exit code 2, and nothing is written."""
    call = tables(folder)
    table(folder, "one.csv", [(i, x, "a") for i, x, _ in rows(20, 5)])
    table(folder, "blank.csv", rows(20, 6), 0)
    table(folder, "plain.csv", rows(20, 7), label=None)
    write(folder, "empty.csv", "")
    write(folder, "out-file", "")
    before = tree(folder)
    other = lambda at, word: [word if k == at else w for k, w in enumerate(call)]
    for args, says in ((call[:2] + call[4:], "answer: what to learn from besides mine.csv? --source FILE"),
                       (call[:4] + call[6:], "theirs.csv: which column is to be predicted? --label COLUMN"),
                       (call[:6], "answer: where to put the answer? -o"),
                       (other(5, "kin"), "theirs.csv: no column kin (label=) among its 6"),
                       (other(1, "absent.csv"), "absent.csv"),
                       (other(3, "absent.csv"), "absent.csv"),
                       (other(1, "empty.csv"), "empty.csv: "),
                       (other(3, "empty.csv"), "empty.csv: "),
                       (other(1, "one.csv"), "one.csv: all 20 labels are 'a', so there is nothing to tell apart"),
                       (other(3, "blank.csv"), "blank.csv: all 20 labels are blank; a source"),
                       (other(3, "plain.csv"), "plain.csv: no column kind"),
                       (other(7, "out-file"), "out-file: is there and is not a folder"),
                       (call + ["--goal", "guess"], "--goal guess: expected classify, regress, multilabel or rate"),
                       (call + ["--metric", "luck"], "luck"),
                       (call + ["--bridge", "absent.csv"], "absent.csv")):
        refused(*args, says=says, cwd=folder)
        assert tree(folder) == before and not os.path.exists(folder + "/out"), args


def test_interrupt(folder):
    """Ctrl-C: what is kept is said, and there is no model that was not finished."""
    call = tables(folder)
    p = subprocess.Popen([FERRY, *call], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not os.path.exists(folder + "/out/results.part") and p.poll() is None:
        time.sleep(0.01)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=120)
    if p.returncode == 0:
        return  # it was faster
    assert p.returncode == 130 and "ferry: interrupted" in err, (p.returncode, err)
    assert not os.path.exists(folder + "/out/model.ferry") and not os.path.exists(folder + "/out/predictions.csv")
    if os.path.exists(folder + "/out"):
        assert "--resume goes on" in err
        ferry("run", "out/task.yaml", "-o", "out/results", "--resume", cwd=folder)


def test_json(folder):
    """--json prints what results.json has, and nothing else."""
    r = ferry(*tables(folder), "--json", "-q", cwd=folder)
    assert parses(r.out) == parses(read(folder, "out/results/results.json")), r


if __name__ == "__main__":
    main(sys.modules[__name__])
