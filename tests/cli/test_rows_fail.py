"""Rows over ranks (--engine mpi) when something goes wrong: a rank that dies, stands still, has other data or none; what is done
is kept for --resume; ranks on two machines. Skipped where there is no mpirun or where Ferry was built without MPI."""
import os
import shutil
import signal
import subprocess
import sys
import time

from harness import FERRY, Skip, ferry, main, parses, read, tree, write
from mpi import ENV, Machines, differ, finish, mpirun, pids, ranks, start

FIT = ["-m", "mf-als", "--set", "tol=0", "-q", "--threads", 1]


def rate(folder):
    ferry("gen", "rate", "--out", folder + "/rate")
    return folder + "/rate/task.yaml", folder + "/rate/target.csv"


def hit_in_the_middle(n, words, hit):
    """Start n ranks of a fit that takes some seconds; hit(pids by rank) when all of them are well into it."""
    for _ in range(5):
        p = start(n, *words)
        found = pids(p, n)
        before = {r: ticks(pid) for r, pid in found.items()}
        until = time.time() + 120
        while len(found) == n and p.poll() is None and time.time() < until:
            if all(ticks(pid) > before[r] + 50 for r, pid in found.items()):  # half a second of work
                break
            time.sleep(0.02)
        try:
            if p.poll() is None and len(found) == n:
                hit(found)
                return p, found
        except ProcessLookupError:
            pass
        finish(p)
    raise AssertionError("the fit was over before anything could happen to it")


def ticks(pid):
    try:
        words = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return int(words[11]) + int(words[12])


def gone(found):
    until = time.time() + 30
    while any(os.path.exists(f"/proc/{pid}") for pid in found.values()) and time.time() < until:
        time.sleep(0.05)
    return not any(os.path.exists(f"/proc/{pid}") for pid in found.values())


def test_rank_killed(folder):
    """Whichever it is: the job ends, mpirun says which rank it was, and there is no model, not even half of one."""
    mpirun()
    task, _ = rate(folder)
    for victim in (1, 0):
        before = sorted(tree(folder))
        p, found = hit_in_the_middle(2, ["fit", task, *FIT, "--set", "sweeps=1000000", "-o", folder + "/m.ferry", "--engine", "mpi"],
                                     lambda found: os.kill(found[victim], signal.SIGKILL))
        r = finish(p)
        assert r.code != 0 and f"process rank {victim} " in r.err and r.err.count("ferry: ") <= 1, r
        assert gone(found) and sorted(tree(folder)) == before, tree(folder).keys()


def test_slow_rank(folder):
    """A rank that stands still for a second delays the others, and that is all."""
    mpirun()
    task, data = rate(folder)
    more = ["--set", "sweeps=20000"]
    ferry("fit", task, *FIT, *more, "-o", folder + "/one.ferry")

    def pause(found):
        os.kill(found[1], signal.SIGSTOP)
        time.sleep(1)
        os.kill(found[1], signal.SIGCONT)
    p, _ = hit_in_the_middle(3, ["fit", task, *FIT, *more, "-o", folder + "/three.ferry", "--engine", "mpi"], pause)
    r = finish(p)
    assert r.code == 0, r
    for name in ("one", "three"):
        ferry("predict", f"{folder}/{name}.ferry", data, "-o", f"{folder}/{name}.csv", "-q")
    assert differ(folder + "/one.csv", folder + "/three.csv") < 1e-9


def test_few_rows(folder):
    """An evaluation with fewer labelled instances than ranks: some have none of them."""
    mpirun()
    ferry("gen", "bridge", "--out", folder + "/bridge", "--set", "labelled=1", "--set", "repeats=2", "--set", "target=50")
    task = write(folder, "bridge/few.yaml", read(folder, "bridge/task.yaml") + "methods: [{ridge: {lambda: 1, train: target}}]\n")
    words = [task, "-q", "--threads", 1, "--set", "evaluate.controls=none"]
    ferry("run", *words, "-o", folder + "/one")
    ranks(5, "run", *words, "-o", folder + "/many", "--engine", "mpi")
    names = os.listdir(folder + "/one/predictions")
    assert names and all(differ(f"{folder}/one/predictions/{n}", f"{folder}/many/predictions/{n}") < 1e-9 for n in names)


def test_other_data(folder):
    """Every rank has a folder of its own, and one of them another file: more rows, another number, none at all."""
    mpirun()
    rate(folder)
    ferry("gen", "bridge", "--out", folder + "/bridge")
    changes = (("rate", lambda s: s + "tu1,ti3,4\n", "bias"), ("bridge", lambda s: s.replace("1", "2", 1), "ridge"),
               ("bridge", lambda s: s[:s.rstrip().rindex("\n") + 1], "ridge"), ("rate", None, "bias"))
    for i, (name, change, method) in enumerate(changes):
        text = read(folder, name, "target.csv")
        task = write(folder, f"{name}/own.yaml", read(folder, name, "task.yaml").replace("target.csv", "/proc/self/cwd/target.csv"))
        write(folder, f"{i}/0/target.csv", text)
        os.makedirs(f"{folder}/{i}/1")
        if change:
            assert change(text) != text
            write(folder, f"{i}/1/target.csv", change(text))
        line = f"cd {folder}/{i}/$OMPI_COMM_WORLD_RANK && exec {FERRY} fit {task} -m {method} -q -o ../m.ferry --threads 1 --engine mpi"
        p = subprocess.Popen([mpirun(), "-n", "2", "sh", "-c", line], env={**os.environ, **ENV}, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        r = finish(p)
        says = "target.csv: it is not what rank 0 has read" if change else "target.csv: "
        assert r.code != 0 and r.err.count("ferry: ") == 1 and "ferry: rank 1 (" in r.err and says in r.err, (name, r)
        assert not os.path.exists(f"{folder}/{i}/m.ferry")


def test_resumed(folder):
    """Fits that were finished when a rank died are not run again: their files are not written again, either."""
    mpirun()
    task, _ = rate(folder)
    task = write(folder, "rate/long.yaml", read(task) + "methods: [bias, {mf-als: {tol: 0, sweeps: 3000}}]\n")
    words = ["run", task, "-q", "--threads", 1, "--set", "evaluate.controls=none", "--set", "evaluate.repeats=6", "--no-answer"]
    out = folder + "/out"

    def cells():
        if not os.path.isdir(out + ".part"):
            return {}
        return {e.name: (e.stat().st_ino, e.stat().st_mtime_ns) for e in os.scandir(out + ".part") if e.name.endswith(".cell")}

    def until_more(p, n):
        seen, until = cells(), time.time() + 120
        while len(seen) < n and p.poll() is None and time.time() < until:
            time.sleep(0.002)
            try:
                seen = cells() or seen
            except FileNotFoundError:  # it is complete, and the folder goes
                break
        return seen
    kept, now = {}, {}
    for _ in range(5):
        for old in (out, out + ".part"):
            shutil.rmtree(old, ignore_errors=True)
        p = start(2, *words, "-o", out, "--engine", "mpi")
        found = pids(p, 2)
        until_more(p, 2)
        try:
            os.kill(found[1], signal.SIGKILL)
        except (KeyError, ProcessLookupError):
            pass
        r = finish(p)
        kept = cells()
        if r.code == 0 or not 2 <= len(kept) < 6:
            continue  # too late, or too soon
        assert not os.path.exists(out), r
        p = start(2, *words, "-o", out, "--engine", "mpi", "--resume")
        now = until_more(p, len(kept) + 1)
        r = finish(p)
        assert r.code == 0, r
        if len(now) > len(kept):
            break
    assert now, "in five tries no rank died with some fits finished and some not"
    assert len(now) > len(kept) and all(now[n] == kept[n] for n in kept), (kept, now)
    assert not os.path.exists(out + ".part")
    ferry(*words, "-o", folder + "/one")
    names = os.listdir(folder + "/one/predictions")
    assert names and all(differ(f"{folder}/one/predictions/{n}", f"{out}/predictions/{n}") < 1e-9 for n in names)
    one, many = ({m["name"]: m for m in parses(read(d, "results.json"))["results"]} for d in (folder + "/one", out))
    for name in one:
        a, b = one[name]["metrics"], many[name]["metrics"]
        assert sorted(a) == sorted(b) and all(abs(x - y) < 1e-9 for k in a for x, y in zip(a[k]["runs"], b[k]["runs"])), (a, b)


def test_two_machines(folder):
    """Ranks that reach each other over the network alone."""
    mpirun()
    if b"__asan_init" in open(FERRY, "rb").read():
        raise Skip("minutes under ASan; the same code runs on one machine above")
    with Machines(folder) as m:
        task, data = rate(folder)
        ferry("gen", "bridge", "--out", folder + "/bridge")
        for method, task, data in (("mf", task, data), ("ridge", folder + "/bridge/task.yaml", folder + "/bridge/target.csv")):
            words = ["fit", task, "-m", method, "-q", "--threads", 1]
            ferry(*words, "-o", folder + "/one.ferry")
            r = finish(m.start(2, *words, "-o", folder + "/two.ferry", "--engine", "mpi"))
            assert r.code == 0, r
            for name in ("one", "two"):
                ferry("predict", f"{folder}/{name}.ferry", data, "-o", f"{folder}/{name}.csv", "-q")
            assert differ(folder + "/one.csv", folder + "/two.csv") < 1e-9


def test_fit_without_the_engine(folder):
    """Several ranks of fit would fit the same model several times: nobody means that."""
    mpirun()
    task, _ = rate(folder)
    for more in ([], ["--mpi"]):
        r = finish(start(3, "fit", task, "-m", "bias", "-o", folder + "/m.ferry", *more))
        assert r.code == 2 and r.err.count("ferry: ") == 1 and "--engine mpi spreads the rows" in r.err, r
        assert not os.path.exists(folder + "/m.ferry")


def test_fit_of_one(folder):
    """A process that was told of no others fits; inside a program of an MPI job it is refused on every rank, never left out."""
    task, _ = rate(folder)
    out = folder + "/m.ferry"
    for told, more, code in (({"PMIX_RANK": "0"}, [], 0), ({"OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_RANK": "0"}, [], 0), ({}, ["--mpi"], 0),
                             ({"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}, [], 2),
                             ({"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1"}, [], 2)):
        p = subprocess.run([FERRY, "fit", task, "-m", "bias", "-o", out, "-q", *more], env={**os.environ, **told}, capture_output=True, text=True)
        assert p.returncode == code and os.path.exists(out) == (code == 0), (told, more, p)
        if code == 0:
            os.remove(out)


main(sys.modules[__name__])
