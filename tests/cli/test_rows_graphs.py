"""--engine mpi where edges cross ranks (label-propagation), and from arrays that stay in their file."""
import os
import random
import subprocess
import sys

from harness import FERRY, can_preload, ferry, main, read, write
from mpi import ENV, differ, finish, mpirun, ranks


def check(folder, task, name, counts):
    words = ["run", task, "-q", "--threads", 1, "--set", "evaluate.controls=none", "--set", "evaluate.repeats=2"]
    ferry(*words, "-o", folder + "/one")
    one = read(folder, f"one/predictions/{name}.csv")
    for n in counts:
        ranks(n, *words, "-o", f"{folder}/r{n}", "--engine", "mpi")
        assert read(folder, f"r{n}/predictions/{name}.csv") == one, n


def test_label_propagation(folder):
    """The same bytes: a row is a sum over its neighbours in their order, whoever has them."""
    mpirun()
    ferry("gen", "social", "--out", folder + "/social", "--set", "people=301", "--set", "edges=900")
    task = write(folder, "social/spread.yaml", read(folder, "social/task.yaml").replace("[gbc, gbdt, label-propagation]", "[label-propagation]"))
    check(folder, task, "label-propagation", (2, 3, 5))


def test_features_and_graphs(folder):
    """Features smoothed over edges that cross ranks, errors and answers that spread over them."""
    mpirun()
    ferry("gen", "social", "--out", folder + "/social", "--set", "people=301", "--set", "edges=900")
    task = write(folder, "social/spread.yaml", read(folder, "social/task.yaml").replace("[gbc, gbdt, label-propagation]", "[sgc: {eps: 1e-10, as: sgc}, correct-smooth: {eps: 1e-10, as: correct-smooth}]"))
    words = ["run", task, "-q", "--threads", 1, "--set", "evaluate.controls=none", "--set", "evaluate.repeats=2"]
    ferry(*words, "-o", folder + "/one")
    ranks(3, *words, "-o", folder + "/three", "--engine", "mpi")
    for name in ("sgc", "correct-smooth"):
        assert differ(f"{folder}/one/predictions/{name}.csv", f"{folder}/three/predictions/{name}.csv") < 1e-8, name


def test_fewer_instances_than_ranks(folder):
    mpirun()
    write(folder, "y.csv", "id,y\na,x\nb,z\nc,x\n")
    write(folder, "edges.csv", "a,b\nb,c\n")
    task = write(folder, "few.yaml", "task: few\ngoal: classify\nmethods: [label-propagation]\ndomains:\n"
                 "  - {name: t, role: target, y: y.csv, graphs: [{name: links, edges: edges.csv}], labelled: 2}\n")
    check(folder, task, "label-propagation", (5,))


def test_one_fails_while_neighbours_are_chosen(folder):
    """knn: auto, and one rank's N-th allocation fails: the fit ends with that on all, wherever it was; nobody takes it for Ctrl-C."""
    can_preload()
    r = random.Random(1)
    write(folder, "x.csv", "id,a,b,label\n" + "".join(f"i{i},{r.gauss(2 * (i % 2), 1):.4f},{r.gauss(0, 1):.4f},{'uv'[i % 2]}\n" for i in range(60)))
    task = write(folder, "near.yaml", "task: near\ngoal: classify\ndomains:\n  - {name: t, role: target, x: x.csv, label: label, "
                 "labelled: {per_class: 10}, graphs: [{name: near, knn: auto}]}\n")
    codes = []
    for n in (150, 250, 350, 450, 550, 1000000):  # the choice is most of the about 700 there are
        line = (f"[ $OMPI_COMM_WORLD_RANK = 0 ] || export LD_PRELOAD=$FERRY_PRELOAD FERRY_TEST_MALLOC='libferry.so {n}'; "
                f"exec {FERRY} fit {task} -m label-propagation -q -o {folder}/m.ferry --threads 1 --engine mpi")
        p = subprocess.Popen([mpirun(), "-n", "2", "sh", "-c", line], env={**os.environ, **ENV, "OPENBLAS_CORETYPE": "Haswell"},
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        q = finish(p)
        codes.append(q.code)
        assert q.code == 0 or "ferry: rank 1 (" in q.err and "out of memory\n" in q.err and q.err.count("ferry: ") == 1, (n, q)
        assert os.path.exists(folder + "/m.ferry") == (q.code == 0), (n, q)
    assert codes == [1] * 5 + [0], codes


def test_npy(folder):
    """Doubles in C order are mapped, others copied; both give what one process gives."""
    mpirun()
    try:
        import numpy
    except ImportError:
        from harness import Skip
        raise Skip("there is no numpy")
    g = numpy.random.default_rng(3)
    x = g.normal(size=(301, 7))
    numpy.save(folder + "/y.npy", (x @ g.normal(size=7) > 0).astype(int))
    for order, kind in (("C", "f8"), ("F", "f8"), ("C", "f4")):
        numpy.save(folder + "/x.npy", numpy.asarray(x, dtype=kind, order=order))
        task = write(folder, "npy.yaml", "task: npy\ngoal: classify\ndomains:\n  - {name: t, role: target, x: x.npy, y: y.npy, labelled: 100}\n")
        ferry("fit", task, "-m", "ridge", "-o", folder + "/one.ferry", "-q")
        ranks(3, "fit", task, "-m", "ridge", "-o", folder + "/three.ferry", "-q", "--engine", "mpi")
        for name in ("one", "three"):
            ferry("predict", f"{folder}/{name}.ferry", folder + "/x.npy", "-o", f"{folder}/{name}.csv", "-q")
        assert differ(folder + "/one.csv", folder + "/three.csv") < 1e-9, (order, kind)


main(sys.modules[__name__])
