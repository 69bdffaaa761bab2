"""Reading together (--engine mpi): ranks that parse a part of a file each have the same data, bit by bit, as one process; a mistake in
any part is told once, with its line; a file that is another on one rank is refused. Files are long enough to be cut into pieces for
four ranks (256 KB each, data/lines.c). Skipped where there is no mpirun or where Ferry was built without MPI."""
import os
import random
import subprocess
import sys

from harness import FERRY, Skip, ferry, main, parses, read, write
from mpi import ENV, differ, finish, mpirun, start

LONG = 1 << 20  # bytes; four pieces and more
RUN = ["-q", "--threads", 1, "--set", "evaluate.controls=none", "--set", "evaluate.repeats=1"]


def task(folder, goal, domain, methods):
    return write(folder, "task.yaml", f"task: long\ngoal: {goal}\nmethods: [{methods}]\ndomains:\n  - {{name: all, role: target, {domain}}}\n")


def data_of(folder):
    """What run.json says of the data: counts, and hashes over all of it."""
    return parses(read(folder, "run.json"))["domains"]


def check(folder, path, counts=(2, 3, 4)):
    """The same data and the same answers as in one process."""
    assert os.path.getsize(path) > LONG, os.path.getsize(path)
    words = ["run", folder + "/task.yaml", *RUN]
    ferry(*words, "-o", folder + "/one")
    for n in counts:
        r = finish(start(n, *words, "-o", f"{folder}/r{n}", "--engine", "mpi"))
        assert r.code == 0, r
        one, many = data_of(folder + "/one"), data_of(f"{folder}/r{n}")
        assert one == many and one[0]["hash"], (n, one, many)
        names = os.listdir(folder + "/one/predictions")
        assert names
        for name in names:
            assert differ(f"{folder}/one/predictions/{name}", f"{folder}/r{n}/predictions/{name}") < 1e-9, (n, name)


def refused(folder, says, n=3):
    """By one process and by several ranks, in the same words."""
    words = ["run", folder + "/task.yaml", *RUN, "-o", folder + "/bad"]
    one = ferry(*words, code=2)
    many = finish(start(n, *words, "--engine", "mpi"))
    assert says in one.err and one.err.count("\n") == 1, one
    assert many.code == 2 and one.err in many.err and many.err.count("ferry: ") == 1, many
    assert not os.path.exists(folder + "/bad")


def lines_of(text):
    return text.count("\n")


def table(rows, late="red"):
    """Columns of numbers, of words in quotes that hold commas and newlines, with missing cells; one that is a number until the last
    tenth, where it turns out to hold words; blank lines between."""
    draw = random.Random(1)
    out = ["id,size,note,code,weight,label"]
    for i in range(rows):
        code = late if i > 0.9 * rows and i % 3 == 0 else str(draw.randrange(5))
        note = draw.choice(['"plain"', '"two\nlines"', '"a ""word"", quoted"', "bare"])
        size = "" if i % 17 == 0 else f"{draw.gauss(0, 1):.6f}"
        out.append(f"row{i},{size},{note},{code},{draw.gauss(2, 3):.17g},{'xyz'[i % 3]}")
        if i % 1000 == 999:
            out.append("")
    return "\n".join(out) + "\n"


def test_table(folder):
    mpirun()
    path = write(folder, "x.csv", table(22000))
    task(folder, "classify", "x: x.csv, id: id, label: label, labelled: {per_class: 40}", "{ridge: {lambda: 1}}")
    check(folder, path)
    views = data_of(folder + "/one")[0]["views"]
    assert views[0]["features"] == 2 + 4 + 6, views  # two numbers, four notes, five codes and red


def test_table_without_quotes(folder):
    """Numbers alone, the last line without its end; categories that only the last rank meets."""
    mpirun()
    draw = random.Random(2)
    rows = [f"{draw.random()},{'' if i % 11 == 0 else draw.random()},{'b' if i == 27999 else i % 4},{i % 2}" for i in range(28000)]
    path = write(folder, "x.csv", "p,q,r,label\n" + "\n".join(rows))
    task(folder, "classify", "x: x.csv, label: label, labelled: {per_class: 40}", "{ridge: {lambda: 1}}")
    check(folder, path, (2, 4))


def test_table_wrong(folder):
    """In a late piece: a cell too many, a quote that is not closed."""
    mpirun()
    task(folder, "classify", "x: x.csv, id: id, label: label, labelled: {per_class: 40}", "{ridge: {lambda: 1}}")
    good = table(22000)
    write(folder, "x.csv", good + "row,1,a,2,3,x,7\n" + good.split("\n", 1)[1].replace("row", "again"))
    refused(folder, f"x.csv:{lines_of(good) + 1}: expected 6 fields, found 7")
    write(folder, "x.csv", good + 'row,1,"a,2,3,x\n')
    refused(folder, f"x.csv:{lines_of(good) + 1}: a quote is not closed", 2)


def rows_of_pairs(n, first, label, ids=True):
    draw = random.Random(3)
    out = []
    for i in range(n):
        at = sorted(draw.sample(range(200), 8))
        pairs = " ".join(f"{first + j}:{draw.gauss(0, 1):.9g}" for j in at)
        out.append(f"{label(i, draw)} {pairs}{f' # id:n{i}' if ids else ''}")
    return out


def test_svmlight(folder):
    """Sets of labels and ids; indices from 0, the only 0 near the end; comments and blank lines."""
    mpirun()
    lines = rows_of_pairs(10000, 1, lambda i, draw: ",".join(sorted(draw.sample("abcd", 1 + i % 2))))
    lines[9000] = lines[9000].split(" ", 1)[0] + " 0:1.5 # id:n9000"
    lines[500] = "\n# a comment: of 2 words\n" + lines[500]
    path = write(folder, "x.svm", "\n".join(lines) + "\n")
    task(folder, "multilabel", "x: x.svm, labelled: 300", "{logreg: {C: 1}}")
    check(folder, path)


def test_svmlight_wrong(folder):
    mpirun()
    lines = rows_of_pairs(10000, 1, lambda i, draw: i % 3, ids=False)
    task(folder, "classify", "x: x.svm, labelled: {per_class: 40}", "{ridge: {lambda: 1}}")
    lines[8999] = "1 3:1 2:5"
    lines[9500] = "1 3:x"
    write(folder, "x.svm", "\n".join(lines) + "\n")
    refused(folder, "x.svm:9000: index 2 after 3: indices must ascend")
    lines[8999] = lines[9500] = "1 3:1 4:5"
    lines[9998] = "1 3:1"
    write(folder, "x.svm", "\n".join(lines[:9000]) + "\n" + "\n".join(line + " # id:a" for line in lines[9000:]) + "\n")
    refused(folder, "instance 1 has no # id: as others have", 4)


def test_ratings(folder):
    """Users and items are numbered as the file names them, whoever has parsed that line; quotes, blank lines, pairs without a value."""
    mpirun()
    draw = random.Random(4)
    out = ["user;item;rating;time"]
    for i in range(60000):
        user = f'"the ""{draw.randrange(700)}""; th"' if i % 5 == 0 else f"u{draw.randrange(700 + i // 100)}"
        out.append(f"{user};i{draw.randrange(300 + i // 1000)};{'' if i % 501 == 500 else draw.randrange(1, 6)};{i}")
        if i % 1000 == 0:
            out.append("\n# a comment")
    good = "\n".join(out) + "\n"
    path = write(folder, "r.csv", good)
    task(folder, "rate", "ratings: r.csv, labelled: 40000", "bias, {mf-als: {rank: 3, sweeps: 3}}")
    check(folder, path)
    write(folder, "r.csv", good + "u1;i1;many;0\n" + good.split("\n", 1)[1] + "u1;i1\n")
    refused(folder, f'r.csv:{lines_of(good) + 1}: expected a finite number as rating, found "many"')


def test_matrix_market(folder):
    """Entries in any order; too many and too few of them, of which no rank knows alone."""
    mpirun()
    draw = random.Random(5)
    rows, cols, places = 4000, 150, set()
    while len(places) < 70000:
        places.add((draw.randrange(rows), draw.randrange(cols)))
    entries = [f"{i + 1} {j + 1} {draw.gauss(0, 1):.9g}" for i, j in sorted(places, key=lambda p: hash(p) % 10007)]
    write(folder, "y.csv", "".join(f"{'xyz'[i % 3]}\n" for i in range(rows)))
    task(folder, "classify", "x: x.mtx, y: y.csv, labelled: {per_class: 40}", "{ridge: {lambda: 1}}")

    def matrix(entries, promised):
        head = f"%%MatrixMarket matrix coordinate real general\n% made for a test\n{rows} {cols} {promised}\n"
        return write(folder, "x.mtx", head + "\n".join(entries) + "\n")
    check(folder, matrix(entries, 70000))
    matrix(entries, 69000)
    refused(folder, "x.mtx:69004: more than the 69000 entries promised")
    matrix(entries, 70001)
    refused(folder, "x.mtx: 70001 entries promised, 70000 there", 2)
    matrix(entries[:60000] + ["1 151 2"] + entries[60001:], 70000)
    refused(folder, 'x.mtx:60004: column "151", expected 1 .. 150', 4)


def test_edges(folder):
    """Nodes are numbered as the file names them; weights other than 1 that the last rank alone has."""
    mpirun()
    draw = random.Random(6)
    edges = [f"person{draw.randrange(900 + i // 50)}\tperson{draw.randrange(2000)}\t{2 if i > 54000 else 1}" for i in range(55000)]
    write(folder, "y.csv", "id,y\n" + "".join(f"person{i},{'xyz'[i % 3]}\n" for i in range(2000)))
    task(folder, "classify", "y: y.csv, graphs: [{name: links, edges: e.tsv}], labelled: {per_class: 40}", "label-propagation")
    check(folder, write(folder, "e.tsv", "\n".join(edges)))
    edges[54999] = "a\tb"
    write(folder, "e.tsv", "\n".join(edges) + "\n")
    refused(folder, "e.tsv:55000: expected 3 columns, found 2")


def test_memory(folder):
    """The kernel's bound on a rank's own memory lets two ranks read a table that one process cannot, nor could ranks that have all of it
    to themselves: 96 MB of numbers and half of them prepared, where there is room for about 90 beside the libraries."""
    mpirun()
    if b"__asan_init" in open(FERRY, "rb").read():
        raise Skip("ASan maps more than any bound")
    draw = random.Random(7)
    rows = [",".join(draw.choices("0123456789", k=200)) for _ in range(500)]
    write(folder, "x.csv", "".join(f"{draw.choice(rows)},{'xy'[i % 2]}\n" for i in range(60000)))
    path = task(folder, "classify", "x: x.csv, label: last, labelled: 1000", "{ridge: {lambda: 1}}")
    line = f"ulimit -d 220000; exec {FERRY} fit {path} -m ridge -q --threads 1 -o {folder}/m.ferry"
    env = {**os.environ, **ENV, "OPENBLAS_NUM_THREADS": "1", "OMP_THREAD_LIMIT": "1", "TMPDIR": "/var/tmp"}
    one = subprocess.run(["sh", "-c", line], env=env, capture_output=True, text=True)
    assert one.returncode == 1 and "ferry: out of memory" in one.stderr, one
    r = finish(subprocess.Popen([mpirun(), "-n", "2", "sh", "-c", line + " --engine mpi"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    assert r.code == 0 and os.path.exists(folder + "/m.ferry"), r


def test_other_file(folder):
    """Every rank has a folder of its own. On rank 1 the file has another number, one line less or is not there: never a rank that
    waits for one that has gone."""
    mpirun()
    text = "\n".join(rows_of_pairs(10000, 1, lambda i, draw: i % 3, ids=False)) + "\n"
    path = task(folder, "classify", "x: /proc/self/cwd/x.svm, labelled: {per_class: 40}", "{ridge: {lambda: 1}}")
    for i, other in enumerate((text[:-10] + text[-10:].replace("1", "2").replace("3", "4"), text[:text.rindex("\n", 0, -1) + 1], None, "a,b\n1,2\n")):
        assert other != text
        for rank in range(3):
            os.makedirs(f"{folder}/{i}/{rank}")
            if rank != 1 or other:
                write(folder, f"{i}/{rank}/x.svm", other if rank == 1 else text)
        line = f"cd {folder}/{i}/$OMPI_COMM_WORLD_RANK && exec {FERRY} fit {path} -m ridge -q -o ../m.ferry --threads 1 --engine mpi"
        r = finish(subprocess.Popen([mpirun(), "-n", "3", "sh", "-c", line], env={**os.environ, **ENV}, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True))
        says = "x.svm: it is not what rank 0 has read" if other else "x.svm: "
        assert r.code == 2 and r.err.count("ferry: ") == 1 and "ferry: rank 1 (" in r.err and says in r.err, r
        assert not os.path.exists(f"{folder}/{i}/m.ferry")


main(sys.modules[__name__])
