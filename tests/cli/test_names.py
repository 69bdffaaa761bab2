"""Names of classes are texts: '1', '1.0' and '01' are three, whichever file or stream they come through; numbers of arrays are named
as tables name them."""
import json
import random
import struct
import sys

from harness import ferry, main, predictions, read, refused, write

SETS = (["1", "1.0", "01"], ["+1", "1", "2"], ["9007199254740992", "9007199254740993", "9007199254740994"],
        ["1152921504606846977", "1152921504606846978", "0"], ["1.50", "1.5", "x"], ["1.0", "2.0", "3.50"], ["1e400", "1e401", "2"],
        ["-0", "0", "1"])


def rows(n=60, seed=1):
    """Three classes that nothing mistakes."""
    r = random.Random(seed)
    return [[round(r.gauss(4 if j == i % 3 else 0, .3), 3) for j in range(3)] for i in range(n)]


def table(folder, name, names, seed=1):
    body = "".join(f"r{i},{x[0]},{x[1]},{x[2]},{names[i % 3]}\n" for i, x in enumerate(rows(seed=seed)))
    return write(folder, name, "id,a,b,c,label\n" + body)


def svmlight(folder, name, names, seed=1):
    return write(folder, name, "".join(f"{names[i % 3]} 1:{x[0]} 2:{x[1]} 3:{x[2]}\n" for i, x in enumerate(rows(seed=seed))))


def counts(path, *more):
    """{class: how many}"""
    labels = json.loads(ferry("inspect", path, "--json", *more).out)["labels"]
    assert labels["kind"] == "class", labels
    return {c["name"]: c["count"] for c in labels["counts"]}


def answers(folder, x, y="", more="", new=None):
    """Predictions of svm, fitted on all rows of x; nothing warns."""
    write(folder, "task.yaml", f"""task: t
goal: classify
domains:
  - {{name: t, role: target, x: {x}, labelled: 1.0{y}{more}}}
""")
    r = ferry("fit", folder + "/task.yaml", "-m", "svm", "-o", folder + "/m.ferry")
    r = r.err + ferry("predict", folder + "/m.ferry", f"{folder}/{new or x}", "-o", folder + "/p.csv").err
    return list(predictions(read(folder, "p.csv")).values()), r


def npy(folder, name, kind, pack, values):
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({len(values)},), }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    with open(f"{folder}/{name}", "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        f.write(b"".join(v if pack is None else struct.pack(pack, v) for v in values))
    return name


def test_every_text_format(folder):
    """A model of three classes tells them apart and calls them as the file does, also after every conversion that keeps texts."""
    for names in SETS:
        table(folder, "t.csv", names)
        got, said = answers(folder, "t.csv", more=", label: label")
        assert got == [names[i % 3] for i in range(60)], (names, got)
        one_number = {"1", "1.0", "01", "+1"} & set(names) and len({"1", "1.0", "01", "+1"} & set(names)) > 1
        spellings = bool(one_number) or names[0] in ("1.50", "-0")
        assert said.count("though they are the same number") == spellings, (names, said)
        svmlight(folder, "t.svm", names)
        assert answers(folder, "t.svm")[0] == got, names
        for form in ("fdata", "csv", "svm", "arff"):
            ferry("convert", folder + "/t.csv", f"{folder}/again.{form}", "--set", "label=label")
            more = "" if form in ("svm", "fdata", "arff") else ", label: label"
            assert answers(folder, f"again.{form}", more=more)[0] == got, (form, names)
        write(folder, "y.txt", "".join(f"r{i},{names[i % 3]}\n" for i in range(60)))
        write(folder, "x.csv", "".join(",".join(line.split(",")[:4]) + "\n" for line in read(folder, "t.csv").splitlines()))
        assert answers(folder, "x.csv", y=", y: y.txt")[0] == got, names


def test_a_converted_container_tells_them_apart(folder):
    for names in SETS:
        table(folder, "t.csv", names)
        for form in ("npz", "mat"):
            ferry("convert", folder + "/t.csv", f"{folder}/again.{form}", "--set", "label=label")
            got = answers(folder, f"again.{form}")[0]
            want = [n if names[0] != "1.0" or "01" in names else {"1.0": "1", "2.0": "2", "3.50": "3.5"}[n] for n in names]
            assert got == [want[i % 3] for i in range(60)], (form, names, got)  # numbers are numbers there


def test_arrays_of_integers(folder):
    """int64 and uint64 beyond 2^53, which doubles do not tell apart."""
    table(folder, "t.csv", ["a", "b", "c"])
    write(folder, "x.csv", "".join(",".join(line.split(",")[:4]) + "\n" for line in read(folder, "t.csv").splitlines()))
    for kind, pack, names in (("<i8", "<q", [2**53, 2**53 + 1, -2**60 - 1]), ("<u8", "<Q", [2**63 + 1, 2**63 + 2, 2**64 - 1]),
                              ("<i8", "<q", [3, 1, 2]), (">f8", ">d", [2.0**60, 1.0, 2.0])):
        npy(folder, "y.npy", kind, pack, [names[i % 3] for i in range(60)])
        got = answers(folder, "x.csv", y=", y: y.npy")[0]
        assert got == [str(int(names[i % 3])) for i in range(60)], (names, got)
    npy(folder, "y.npy", "|S3", None, [(b"a\0b", b"a\0c", b"a\0\0")[i % 3] for i in range(60)])
    refused("inspect", folder + "/y.npy", says='text 1, "a", goes on behind a zero')
    write(folder, "y.mtx", "%%MatrixMarket matrix array integer general\n3 1\n1\n2\n9007199254740993\n")
    write(folder, "three.csv", "a,b\n1,2\n3,4\n5,6\n")
    write(folder, "task.yaml", "task: t\ngoal: classify\ndomains:\n  - {name: t, role: target, x: three.csv, y: y.mtx, labelled: 1.0}\n")
    refused("fit", folder + "/task.yaml", "-m", "svm", "-o", folder + "/m.ferry", says="is beyond 2^53")


def test_arrays_and_tables_agree(folder):
    """The double 1.0 of an array is the class 1 of a table, of JSON and of svmlight; 1.0 in a table is another, and one warning says it."""
    table(folder, "s.csv", ["1", "2", "3"], seed=1)
    table(folder, "t.csv", ["1", "2", "3"], seed=2)
    write(folder, "x.csv", "".join(",".join(line.split(",")[:4]) + "\n" for line in read(folder, "t.csv").splitlines()))
    npy(folder, "y.npy", "<f8", "<d", [float(i % 3 + 1) for i in range(60)])
    table(folder, "floats.csv", ["1.0", "2.0", "3.0"], seed=2)
    outs = []
    for x, y in (("t.csv", ", label: label"), ("x.csv", ", y: y.npy"), ("floats.csv", ", label: label")):
        write(folder, "task.yaml", f"""task: t
goal: classify
domains:
  - {{name: s, role: source, x: s.csv, label: label}}
  - {{name: t, role: target, x: {x}, labelled: 6{y}}}
methods: [svm]
evaluate: {{repeats: 2, controls: none}}
""")
        r = ferry("run", folder + "/task.yaml", "-o", folder + "/out", "--force")
        outs.append((r.err, predictions(read(folder, "out/predictions/svm.csv"))))
    assert outs[0] == outs[1]
    said = outs[2][0]
    assert said.count("class") == 3, said  # one warning, and no other about classes
    assert ("class '1' of 's' and class '1.0' of 't' count as two classes, though they are the same number: "
            "if they are one, write '1' in both") in said, said


def test_numbers_to_predict_are_numbers(folder):
    """Goal regress: the spelling does not matter, and a conversion changes nothing."""
    outs = []
    for name, text in (("plain.csv", str), ("points.csv", lambda v: f"{v:.3f}"), ("signs.csv", lambda v: f"+{v}")):
        write(folder, name, "a,b,c,label\n" + "".join(f"{x[0]},{x[1]},{x[2]},{text(i % 7)}\n" for i, x in enumerate(rows())))
        for form in ("csv", "arff", "npz", "fdata", "svm"):
            ferry("convert", f"{folder}/{name}", f"{folder}/t.{form}", "--set", "label=label")
            more = ", label: label" if form == "csv" else ""
            write(folder, "task.yaml", f"task: t\ngoal: regress\ndomains:\n  - {{name: t, role: target, x: t.{form}, labelled: 1.0{more}}}\n")
            ferry("fit", folder + "/task.yaml", "-m", "ridge", "-o", folder + "/m.ferry")
            ferry("predict", folder + "/m.ferry", f"{folder}/t.{form}", "-o", folder + "/p.csv")
            outs.append([float(v) for v in predictions(read(folder, "p.csv")).values()])
    assert all(o == outs[0] for o in outs)


def test_streams(folder):
    """A label of a stream is the class that is written so; a number of JSON is one of an array."""
    table(folder, "t.csv", ["1", "2", "01"])
    write(folder, "task.yaml", "task: t\ngoal: stream\ndomains:\n  - {name: t, role: target, x: t.csv, label: label, labelled: 1.0}\n")
    ferry("fit", folder + "/task.yaml", "-m", "mpa", "-o", folder + "/m.ferry")
    x = [4.0, 0.0, 0.0]
    said = [("1", '"1"'), ("1", "1"), ("1", "1.0"), ("01", '"01"'), ("1.0", '"1.0"'), ("1000000000000000000", "1e18"),
            ("9007199254740993", "9007199254740993")]
    r = ferry("stream", folder + "/m.ferry", "--state", folder + "/s", stdin="".join(f'{{"x":{x},"y":{y}}}\n' for _, y in said))
    got = [json.loads(line)["learned"] for line in r.out.splitlines()]
    assert got == [name for name, _ in said], got
    assert "label '1.0' is a new class, though class '1' is the same number: if they are one, write '1'" in r.err, r.err
    svm = "".join(f"{y} 1:4 2:0 3:0\n" for y in ("+1", "1", "01"))
    r = ferry("stream", folder + "/m.ferry", "--state", folder + "/v", "--format", "svmlight", stdin=svm)
    assert [json.loads(line)["learned"] for line in r.out.splitlines()] == ["+1", "1", "01"], r.out


if __name__ == "__main__":
    main(sys.modules[__name__])
