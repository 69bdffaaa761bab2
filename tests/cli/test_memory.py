"""More data than memory: files that are mapped, and large arrays kept in files. The bound is the kernel's (RLIMIT_DATA: what a
process has for itself), a fifth of the matrix, and the numbers are those of a run that has all the memory it likes."""
import array
import filecmp
import json
import os
import random
import resource
import shutil
import struct
import subprocess
import sys

from harness import FERRY, Result, Skip, csv_rows, ferry, main, predictions, read, refused, small_task, tree, write

MIB = 1 << 20


def fdata(path, tensors):
    """A file in the safetensors layout; tensors: name, type, shape, pieces of bytes."""
    head, at = {}, 0
    for name, dtype, shape, pieces in tensors:
        n = sum(map(len, pieces))
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + n]}
        at += n
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _, _, _, pieces in tensors:
            f.writelines(pieces)


def large_view(path, size, cols=64):
    """Dense, of two classes that the first columns tell apart: one block of rows, again and again."""
    rng = random.Random(5)
    rows = 2048
    classes = [rng.randrange(2) for _ in range(rows)]
    block = array.array("d", (rng.random() + (c if j < 4 else 0) for c in classes for j in range(cols)))
    times = size // (rows * cols * 8) + 1
    fdata(path, [("x", "F64", [rows * times, cols], [block.tobytes()] * times),
                 ("labels.class", "I32", [rows * times], [array.array("i", classes).tobytes()] * times),
                 ("labels.names", "U8", [4], [b"a\0b\0"])])


def limited(limit, *args, code=0, kind=resource.RLIMIT_DATA, env={}):
    """The command with so much memory of its own and no more."""
    def bound():
        resource.setrlimit(kind, (limit, limit))
    # threads of BLAS would take 128 MiB each, whether they are used or not, and all have a stack
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_THREAD_LIMIT": "1", **env}
    p = subprocess.run([FERRY, *map(str, args)], env=env, capture_output=True, text=True, timeout=300, preexec_fn=bound)
    r = Result(p.returncode, p.stdout, p.stderr)
    assert code is None or r.code == code, r
    return r


def needs_disk():
    """A folder for files that does not lie in memory itself."""
    kinds = [subprocess.run(["stat", "-f", "-c", "%T", d], capture_output=True, text=True).stdout.strip()
             for d in (os.environ["TMPDIR"], "/var/tmp")]
    if all(kind in ("", "tmpfs", "ramfs") for kind in kinds):
        raise Skip("TMPDIR and /var/tmp lie in memory")


def needs_limits():
    needs_disk()
    if b"__asan_init" in open(FERRY, "rb").read():
        raise Skip("ASan takes more than any limit")
    if shutil.disk_usage(os.environ["TMPDIR"]).free < 6 << 30:
        raise Skip("needs 6 GB of disk")


def test_five_times_the_limit(folder):
    """Two classes that four of 64 features tell apart; that the bits are the same is what test_same_numbers says."""
    needs_limits()
    task = write(folder, "task.yaml", "task: big\ngoal: classify\ndomains:\n"
                 "  - {name: t, role: target, x: x.fdata, labelled: 1.0}\n")
    fit = ["fit", task, "-m", "ridge", "--set", "lambda=1", "--threads", 1, "-q", "-o", folder + "/m.ferry"]
    large_view(folder + "/x.fdata", 1)
    os.rename(folder + "/x.fdata", folder + "/few.fdata")
    os.symlink("few.fdata", folder + "/x.fdata")
    # what the libraries take, whatever the data: the buffers of BLAS, 128 MiB each
    base = next((n for n in (168, 296, 424) if limited(n * MIB, *fit, code=None).code == 0), None)
    if not base:
        raise Skip("the libraries alone take more than 424 MiB")
    limit = (base + 48) * MIB
    os.unlink(folder + "/x.fdata")
    large_view(folder + "/x.fdata", 5 * limit)
    r = limited(limit, *fit, code=1)
    assert "out of memory" in r.err and r.err.count("\n") == 1, r
    limited(limit, *fit, "--memory", "32M")
    ferry("convert", folder + "/few.fdata", folder + "/few.csv")
    head, *rows = csv_rows(read(folder, "few.csv"))
    truth = [row[head.index("label")] for row in rows]
    found = list(predictions(limited(limit, "predict", folder + "/m.ferry", folder + "/few.fdata", "-q").out).values())
    assert len(found) == len(truth) == 2048 and sum(map(str.__eq__, found, truth)) > 2000


def test_convert(folder):
    """Text that parses to five times the limit; what is written is what is written without one."""
    needs_limits()
    limit = 48 * MIB
    rng = random.Random(7)
    block = "".join(f"{rng.randrange(3)} " + " ".join(f"{j}:{rng.randrange(1, 9)}" for j in sorted(rng.sample(range(1, 3000), 50)))
                    + "\n" for _ in range(1000))
    write(folder, "big.svm", block * (5 * limit // (12 * 50 * 1000) + 1))
    convert = ["convert", folder + "/big.svm"]
    assert "out of memory" in limited(limit, *convert, folder + "/without.fdata", code=1).err
    limited(limit, *convert, folder + "/with.fdata", "--memory", "16M")
    assert os.path.getsize(folder + "/with.fdata") > 5 * limit
    ferry(*convert, folder + "/free.fdata")
    assert filecmp.cmp(folder + "/with.fdata", folder + "/free.fdata", shallow=False)


def test_same_numbers(folder):
    """Methods of all kinds, most of their arrays in files."""
    needs_disk()
    task = small_task(folder, "source=3000", "bridge=3000", "target=2000", "source_features=60", "target_features=60", "repeats=1")
    write(folder, "task/task.yaml", read(folder, "task/task.yaml") + "methods: [ttl, hop, ridge, knn, svm]\n")
    for name, more in (("free", []), ("limited", ["--memory", "2M"])):
        ferry("run", task, "-q", "-o", f"{folder}/{name}", "--threads", 1, "--set", "evaluate.controls=none", *more)
    assert tree(folder + "/free/predictions") == tree(folder + "/limited/predictions")


def test_ratings(folder):
    """Ratings from a text, from arrays, and with most of what is made of them in files."""
    needs_disk()
    ferry("gen", "rate", "-o", folder + "/task", *(w for s in ("source=50", "target=1200", "repeats=1") for w in ("--set", s)))
    text = read(folder, "task/task.yaml").replace("evaluate: {", "evaluate: {controls: none, ") + "methods: [bias, mf-als: {rank: 4, sweeps: 2}]\n"
    write(folder, "task/csv.yaml", text)
    write(folder, "task/fdata.yaml", text.replace(".csv", ".fdata"))
    for name in ("source", "target"):
        ferry("convert", f"{folder}/task/{name}.csv", f"{folder}/task/{name}.fdata", "--format", "ratings")
    for name, kind, more in (("text", "csv", []), ("arrays", "fdata", []), ("limited", "fdata", ["--memory", "2M"])):
        ferry("run", f"{folder}/task/{kind}.yaml", "-q", "-o", f"{folder}/{name}", "--threads", 1, *more)
    want = tree(folder + "/text/predictions")
    assert len(want) == 2 and want == tree(folder + "/arrays/predictions") == tree(folder + "/limited/predictions")


def test_no_room(folder):
    """Neither memory nor disk: one line. (A limit on the size of files stands for a full disk.)"""
    needs_disk()
    task = small_task(folder, "source=3000", "bridge=3000", "target=2000", "source_features=60", "target_features=60", "repeats=1")
    r = limited(MIB, "fit", task, "-m", "hop", "-q", "-o", folder + "/m.ferry", "--memory", "2M", "--threads", 1, code=1,
                kind=resource.RLIMIT_FSIZE)
    assert r.err.count("\n") == 1 and "beyond the limit that was set" in r.err and "TMPDIR" in r.err, r


def test_little_for_blas(folder):
    """So little that BLAS's threads would find no room for their buffers: a line and an end, not a wait for them."""
    if b"__asan_init" in open(FERRY, "rb").read():
        raise Skip("ASan takes more than any limit")
    task = small_task(folder)
    for size in (60, 120):
        r = limited(size * MIB, "fit", task, "-m", "ridge", "-q", "-o", folder + "/m.ferry", code=None,
                    env={"OPENBLAS_NUM_THREADS": ""})
        assert r.code in (0, 1) and r.err.count("\n") == r.code, r


def test_broken_files(folder):
    """One line each; the reader's own test has the rest."""
    fdata(folder + "/a.fdata", [("x", "F64", [2, 3], [bytes(48)])])
    whole = open(folder + "/a.fdata", "rb").read()
    assert "2 instances" in ferry("inspect", folder + "/a.fdata").out
    for name, data, says in (("cut", whole[:-8], "is truncated"), ("head", whole[:40], "is truncated"),
                             ("type", whole.replace(b"F64", b"F16"), "type F16, expected F64"),
                             ("none", whole.replace(b'"x"', b'"y"'), "has no view")):
        with open(f"{folder}/{name}.fdata", "wb") as f:
            f.write(data)
        refused("inspect", f"{folder}/{name}.fdata", says=f"{name}.fdata: ")
        refused("inspect", f"{folder}/{name}.fdata", says=says)


main(sys.modules[__name__])
