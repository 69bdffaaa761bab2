"""mpirun -n N ferry ...: the cells go to all ranks, the outcome is that of one process, and a rank that dies loses only what it
was at. Skipped where there is no mpirun or where Ferry was built without MPI."""
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from harness import FERRY, TOP, Skip, ferry, main, parses, read, refused, small_task, tree, write
from mpi import ENV, Machines, differ, finish, mpirun, pids, ranks, start

LONG = ["--set", "evaluate.controls=none", "--set", "evaluate.repeats=8", "--threads", "1"]
TIMES = ("fit_seconds", "seconds", "needed_seconds")


def without_times(value):
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in TIMES}
    return [without_times(v) for v in value] if isinstance(value, list) else value


def outcome(out):
    return without_times(parses(read(out, "results.json"))), tree(out + "/predictions")


def long_task(folder, methods="[ttl, svm]"):
    ferry("gen", "bridge", "--out", folder + "/task", "--set", "source=2000", "--set", "bridge=3000")
    return write(folder, "task/task.yaml", read(folder, "task/task.yaml") + f"methods: {methods}\n")


def cells(folder):
    return [n for n in os.listdir(folder) if n.endswith(".cell")] if os.path.isdir(folder) else []


def run_until_cells(n, task, out, hit, long=LONG):
    """A run of n ranks; hit(process, pids by rank) once something is kept. A machine that is busy elsewhere may come too late
    for that: then again. Returns the outcome."""
    for _ in range(5):
        for old in (out, out + ".part"):
            shutil.rmtree(old, ignore_errors=True)
        p = start(n, "run", task, "-q", "-o", out, *long)
        found = pids(p, n)
        until = time.time() + 120
        while not cells(out + ".part") and p.poll() is None and time.time() < until:
            time.sleep(0.005)
        late = p.poll() is not None or len(found) < n
        if not late:
            try:
                hit(p, found)
            except ProcessLookupError:
                late = True
        r = finish(p)
        if not late and (r.code == 0 or cells(out + ".part")):
            return r
    raise AssertionError(f"the run was over before anything could happen to it: {r}")


def test_same_results(folder):
    """Controls and the answer too; what is said is said once, by rank 0."""
    task = small_task(folder)
    one = ferry("run", task, "-o", folder + "/one", "--threads", 1)
    for n in (2, 4):
        many = ranks(n, "run", task, "-o", f"{folder}/r{n}", "--threads", 1)
        assert outcome(f"{folder}/r{n}") == outcome(folder + "/one")
        assert many.err.replace(f"/r{n}", "/one") == one.err, (many.err, one.err)
        assert many.out.count("\n") == one.out.count("\n"), many
    assert len(tree(folder + "/one/predictions")) > 5


def test_select(folder):
    task = small_task(folder)
    for more in ([], ["--set", "splits=2"]):
        one = ferry("select", task, "--json", "-q", "--threads", 1, *more)
        many = ranks(3, "select", task, "--json", "-q", "--threads", 1, *more)
        assert many.out == one.out and parses(one.out), (many, one)
    # half of the bridge is the target's own, under the same ids: counted wherever it was found
    head, *rows = read(folder, "task/target.csv").splitlines()
    last = [h == "label" for h in head.split(",")].index(True)
    cut = lambda line: ",".join(c for j, c in enumerate(line.split(",")) if j != last)
    a = read(folder, "task/bridge_a.csv").splitlines()
    b = read(folder, "task/bridge_b.csv").splitlines()
    ids = [line.split(",")[0] for line in rows[:len(a) // 2]]
    write(folder, "task/bridge_a.csv", "\n".join([a[0]] + [i + line[line.index(","):] for i, line in zip(ids, a[1:])] + a[1 + len(ids):]) + "\n")
    write(folder, "task/bridge_b.csv", "\n".join([cut(head)] + [cut(line) for line in rows[:len(ids)]] + b[1 + len(ids):]) + "\n")
    one, many = ferry("select", task, "--json", "-q", "--threads", 1), ranks(3, "select", task, "--json", "-q", "--threads", 1)
    assert many.out == one.out and any(w["leaks"] > 0 for w in parses(one.out)["ways"]), (many, one)


def test_several_tasks_and_rerun(folder):
    """Ranks wait between evaluations; a rerun compares with one process's numbers."""
    a = small_task(folder)
    b = write(folder, "task/other.yaml", read(a).replace("task: bridge", "task: other") + "methods: [svm, knn]\n")
    ranks(2, "run", a, b, "-q", "-o", folder + "/both", "--set", "evaluate.controls=none", "--threads", 1)
    ferry("run", b, "-q", "-o", folder + "/one", "--set", "evaluate.controls=none", "--threads", 1)
    assert outcome(folder + "/both/other") == outcome(folder + "/one")
    assert "the same numbers" in ranks(2, "rerun", folder + "/one").err


def test_rank_killed_and_resumed(folder):
    """Whichever rank dies, the job ends, and what was finished is there: for ranks or one process to go on."""
    task = long_task(folder)
    ferry("run", task, "-q", "-o", folder + "/whole", *LONG)
    for victim in (1, 0):
        out = f"{folder}/o{victim}"
        r = run_until_cells(2, task, out, lambda p, found: os.kill(found[victim], signal.SIGKILL))
        assert r.code != 0 and cells(out + ".part"), r
        if victim == 1:
            ranks(2, "run", task, "-q", "-o", out, "--resume", *LONG)
        else:
            ferry("run", task, "-q", "-o", out, "--resume", *LONG)
        assert outcome(out) == outcome(folder + "/whole") and not os.path.exists(out + ".part")


def test_terminated(folder):
    """SIGTERM to mpirun (Ctrl-C is the same to the ranks): no rank is left, and what is done is kept."""
    task, out, found = long_task(folder), folder + "/o", {}

    def terminate(p, pid):
        found.update(pid)
        p.send_signal(signal.SIGTERM)
    r = run_until_cells(3, task, out, terminate, [*LONG, "--set", "evaluate.repeats=1000"])
    assert r.code != 0 and cells(out + ".part"), r
    until = time.time() + 30
    while any(os.path.exists(f"/proc/{pid}") for pid in found.values()) and time.time() < until:
        time.sleep(0.05)
    assert not any(os.path.exists(f"/proc/{pid}") for pid in found.values())


def test_slow_rank(folder):
    """A rank that stands still for a while delays the end and changes nothing."""
    task, out = long_task(folder), folder + "/o"

    def pause(p, found):
        os.kill(found[1], signal.SIGSTOP)
        time.sleep(1)
        os.kill(found[1], signal.SIGCONT)
    assert run_until_cells(2, task, out, pause).code == 0
    ferry("run", task, "-q", "-o", folder + "/one", *LONG)
    assert outcome(out) == outcome(folder + "/one")


# ---- rows over ranks: --engine mpi ----

def rows_task(folder, name, **sets):
    ferry("gen", name, "--out", f"{folder}/{name}", *(w for k, v in sets.items() for w in ("--set", f"{k}={v}")))
    return f"{folder}/{name}/task.yaml", f"{folder}/{name}/target.csv"


def check_rows(folder, task, data, method, counts, *more):
    """A model of several ranks says what one of a process says; it was written by rank 0 and is loaded by a process alone."""
    ferry("fit", task, "-m", method, "-o", folder + "/one.ferry", "-q", "--threads", 1, *more)
    ferry("predict", folder + "/one.ferry", data, "-o", folder + "/one.csv", "-q")
    for n in counts:
        ranks(n, "fit", task, "-m", method, "-o", f"{folder}/r{n}.ferry", "-q", "--threads", 1, "--engine", "mpi", *more)
        ferry("predict", f"{folder}/r{n}.ferry", data, "-o", f"{folder}/r{n}.csv", "-q")
        assert differ(folder + "/one.csv", f"{folder}/r{n}.csv") < 1e-9, (method, n)
        assert ferry("inspect", f"{folder}/r{n}.ferry").out.count("bytes_sent") == 1


def test_rows_same_models(folder):
    """Classes, numbers and label sets; settings that are chosen by folds; ranks of different row counts."""
    mpirun()
    task, data = rows_task(folder, "bridge", labelled=7, target=101)
    check_rows(folder, task, data, "ridge", (2, 4))
    check_rows(folder, task, data, "svm", (4,), "--set", "C=1")
    check_rows(folder, task, data, "logreg", (2,), "--set", "C=1")
    task, data = rows_task(folder, "regress", labelled=31)
    check_rows(folder, task, data, "ridge", (3,))
    task, data = rows_task(folder, "multilabel")
    check_rows(folder, task, data, "ridge", (2,))


def test_rows_scales(folder):
    """Every way of scaling is learned from all ranks' rows."""
    mpirun()
    task, data = rows_task(folder, "bridge", labelled=6)
    for scale in ("words", "roots", "common"):
        check_rows(folder, task, data, "ridge", (2,), "--set", "scale=" + scale, "--set", "lambda=1")


def test_rows_rank_without_rows(folder):
    mpirun()
    task, data = rows_task(folder, "bridge", labelled=1)  # of each of three classes
    check_rows(folder, task, data, "ridge", (4,))


def test_rows_mapped(folder):
    """From a file that is mapped, of which every rank looks at its own rows."""
    mpirun()
    task, data = rows_task(folder, "bridge", labelled=8)
    for name in ("target", "source", "bridge_a", "bridge_b"):
        ferry("convert", f"{folder}/bridge/{name}.csv", f"{folder}/bridge/{name}.fdata", "--set", "id=id",
              *(["--set", "label=label"] if name in ("target", "source") else []))
    text = read(task).replace(".csv", ".fdata")
    lines = [line for line in text.splitlines() if not line.strip().startswith(("id:", "label:"))]
    check_rows(folder, write(folder, "bridge/mapped.yaml", "\n".join(lines) + "\n"), data, "ridge", (2,))


def test_rows_evaluated(folder):
    """A whole evaluation: all ranks draw the same splits, and what cannot run says so."""
    mpirun()
    task, _ = rows_task(folder, "bridge", labelled=6, repeats=2)
    task = write(folder, "bridge/some.yaml", read(task) + "methods: [ridge, knn]\n")
    ferry("run", task, "-q", "-o", folder + "/one", "--threads", 1, "--set", "evaluate.controls=none")
    many = ranks(3, "run", task, "-q", "-o", folder + "/many", "--threads", 1, "--set", "evaluate.controls=none",
                 "--engine", "mpi")
    assert "knn does not run with --engine mpi; " in many.out, many
    assert differ(folder + "/one/predictions/ridge.csv", folder + "/many/predictions/ridge.csv") < 1e-9
    told = {m["name"]: m for m in parses(read(folder, "many/results.json"))["results"]}
    assert told["ridge"]["diagnostics"]["mpi_ranks"] == 3 and told["ridge"]["diagnostics"]["bytes_sent"] > 0


def test_rows_refused(folder):
    """One line, exit 2 (1 where numbers fail in the middle of a fit), and no rank is left waiting."""
    mpirun()
    task, _ = rows_task(folder, "bridge")
    for words, says in ((["fit", task, "-m", "knn", "-o", folder + "/m.ferry"], "knn does not run with --engine mpi; "),
                        (["select", task], "select does not run with --engine mpi"),
                        (["fit", task, "-m", "ridge", "-o", folder + "/m.ferry", "--set", "lambda=-1"], "lambda = -1"),
                        (["fit", task, "-m", "ridge", "-o", folder + "/m.ferry", "--set", "lambda=1e-300", "--set", "scale=none",
                          "--set", "train=target"], "too small for these features")):
        r = finish(start(2, *words, "-q", "--engine", "mpi", "--threads", 1))
        assert r.code == (1 if "too small" in says else 2) and r.err.count("ferry: ") == 1 and says in r.err, r
    assert not os.path.exists(folder + "/m.ferry")


def test_own_addresses(folder):
    """Ranks on two machines, which talk over the network alone; one is killed where mpirun is not."""
    mpirun()
    if b"__asan_init" in open(FERRY, "rb").read():
        raise Skip("minutes under ASan; the same code runs on one machine above")
    with Machines(folder) as m:
        task, out = long_task(folder), folder + "/killed"
        ferry("run", task, "-q", "-o", folder + "/one", *LONG)
        for n in (2, 4):
            p = m.start(n, "run", task, "-q", "-o", f"{folder}/r{n}", *LONG)
            found = m.ranks(p, n, f"{folder}/r{n}")
            r = finish(p)
            assert r.code == 0, r
            assert outcome(f"{folder}/r{n}") == outcome(folder + "/one")
            if len(found) == n:  # else it was over too soon to be seen
                assert len({network for _, network in found.values()}) == 2, found
        for _ in range(5):
            p = m.start(2, "run", task, "-q", "-o", out, *LONG)
            found, until = m.ranks(p, 2, out), time.time() + 120
            while not cells(out + ".part") and p.poll() is None and time.time() < until:
                time.sleep(0.005)
            late = p.poll() is not None or len(found) < 2
            try:
                if not late:
                    os.kill(found[1][0], signal.SIGKILL)
            except ProcessLookupError:
                late = True
            r = finish(p)
            if not late and r.code != 0:
                break
            for old in (out, out + ".part"):
                shutil.rmtree(old, ignore_errors=True)
        assert r.code != 0 and cells(out + ".part"), r
        ferry("run", task, "-q", "-o", out, "--resume", *LONG)
        assert outcome(out) == outcome(folder + "/one")


def test_interrupted_while_another_works(folder):
    """Rank 0 has nothing left to do itself: Ctrl-C is no success, and what is done stays."""
    task, out = long_task(folder), folder + "/o"

    def interrupt(p, found):
        os.kill(found[1], signal.SIGSTOP)
        time.sleep(2)
        os.kill(found[0], signal.SIGINT)
        time.sleep(1)
        os.kill(found[1], signal.SIGCONT)
    for _ in range(5):  # rank 1 may have been stopped before it took a cell: then rank 0 was done
        r = run_until_cells(2, task, out, interrupt)
        if r.code != 0:
            break
    assert r.code != 0 and cells(out + ".part"), r


def copy_of_ferry(folder, plugin=True):
    """The command with its libraries; returns its path, and that of the library."""
    os.makedirs(folder)
    here = os.path.dirname(FERRY)
    library = [n for n in os.listdir(here) if n.startswith("libferry.so.") and not os.path.islink(os.path.join(here, n))]
    for name in ("ferry", *library, *(["libferry_mpi.so"] if plugin else [])):
        shutil.copy(os.path.join(here, name), folder)
    for name in os.listdir(here):
        if name.startswith("libferry.so") and os.path.islink(os.path.join(here, name)):
            os.symlink(os.readlink(os.path.join(here, name)), os.path.join(folder, name))
    return os.path.join(folder, "ferry"), os.path.join(folder, library[0])


def test_another_version(folder):
    mpirun()  # or skip
    task = small_task(folder)
    own = ferry("version").out.split()[1].encode()
    other = own[:-1] + (b"8" if own[-1:] == b"9" else b"9")
    program, library = copy_of_ferry(folder + "/other")
    for path in (library, os.path.join(folder, "other/libferry_mpi.so")):
        with open(path, "rb") as f:  # a linker may keep the version as the end of another string, "ferry/0.2.0"
            data, found = re.subn(rb"(?<![\w.])" + re.escape(own) + b"\0", other + b"\0", f.read())
        assert found, path
        with open(path, "wb") as f:
            f.write(data)
    words = ["run", task, "-q", "-o", folder + "/o"]
    p = subprocess.run([mpirun(), "-n", "1", FERRY, *words, ":", "-n", "1", program, *words], text=True,
                       env={**os.environ, **ENV}, capture_output=True, timeout=300)
    assert p.returncode != 0 and not os.path.exists(folder + "/o"), p
    assert p.stderr.count("ferry: ") == 1 and "all ranks must run the same version" in p.stderr, p.stderr
    assert f"runs Ferry {other.decode()}" in p.stderr and f"runs {own.decode()}" in p.stderr, p.stderr


def test_other_data(folder):
    """Ranks that read other bytes than rank 0 are refused before anything is computed."""
    task = small_task(folder)
    text = read(task)
    assert "x: target.csv" in text
    task = write(folder, "task/moved.yaml", text.replace("x: target.csv", "x: /proc/self/cwd/target.csv"))
    for name in "ab":
        write(folder, f"{name}/target.csv", read(folder, "task/target.csv"))
    words = [FERRY, "run", task, "-q", "-o", folder + "/o", "--set", "evaluate.controls=none"]
    call = [mpirun(), "-n", "1", "-wdir", folder + "/a", *words, ":", "-n", "1", "-wdir", folder + "/b", *words]
    p = subprocess.run(call, text=True, env={**os.environ, **ENV}, capture_output=True, timeout=300)
    assert p.returncode == 0, p.stderr
    shutil.rmtree(folder + "/o")
    lines = read(folder, "b/target.csv").splitlines(True)
    write(folder, "b/target.csv", "".join(lines[:-1]))
    p = subprocess.run(call, text=True, env={**os.environ, **ENV}, capture_output=True, timeout=300)
    assert p.returncode != 0 and not os.path.exists(folder + "/o"), p.stderr
    assert p.stderr.count("ferry: ") == 1 and "ferry: rank 1 (" in p.stderr, p.stderr
    assert "is not what rank 0 has read" in p.stderr, p.stderr


def test_mistakes_are_told_once(folder):
    r = finish(start(3, "run", folder + "/nothing.yaml"))
    assert r.code == 2 and r.err.count("ferry: ") == 1 and "nothing.yaml" in r.err, r


def test_another_mpi(folder):
    """A launcher whose ranks do not find each other would run everything N times."""
    mpirun()
    task = small_task(folder)
    refused("run", task, "-o", folder + "/o", says="the launcher started 2 ranks, but Open MPI",
            env={**ENV, "PMI_SIZE": "2", "PMI_RANK": "0"})
    assert not os.path.exists(folder + "/o")


def test_batch_system_alone(folder):
    """A batch job's variables do not make a run one of several; --mpi of one rank is a run as any."""
    task, sets = small_task(folder), ["--set", "evaluate.controls=none", "--threads", 1]
    ferry("run", task, "-q", "-o", folder + "/s", *sets, env={"SLURM_NTASKS": "4", "SLURM_PROCID": "1"})
    mpirun()
    ferry("run", task, "-q", "-o", folder + "/m", "--mpi", *sets, env=ENV)
    assert outcome(folder + "/s") == outcome(folder + "/m")


def test_without_plugin(folder):
    """Whoever has one process needs none of it; several say what is missing."""
    program, _ = copy_of_ferry(folder + "/bare", plugin=False)
    task = small_task(folder)
    p = subprocess.run([program, "run", task, "-q", "-o", folder + "/o", "--set", "evaluate.repeats=1"],
                       capture_output=True, text=True, timeout=300)
    assert p.returncode == 0, p
    env = {**os.environ, **ENV, "PMI_SIZE": "2", "LD_LIBRARY_PATH": ""}
    p = subprocess.run([program, "run", task, "-o", folder + "/p"], env=env, capture_output=True, text=True, timeout=300)
    assert p.returncode == 2 and "several ranks need libferry_mpi.so" in p.stderr and p.stderr.count("\n") == 1, p


def test_job_script(folder):
    """packaging/mpi/ferry.slurm is a script that the shell takes, and calls what the command has."""
    path = os.path.join(TOP, "packaging/mpi/ferry.slurm")
    subprocess.run(["bash", "-n", path], check=True)
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", path], check=True)
    text = read(path)
    assert text.startswith("#!/bin/bash\n#SBATCH ")
    write(folder, "bin/mpirun", '#!/bin/sh\nprintf "%s\\n" "$@"\n')
    os.chmod(folder + "/bin/mpirun", 0o755)
    env = {**os.environ, "PATH": folder + "/bin:" + os.environ["PATH"], "SLURM_CPUS_PER_TASK": "3", "SLURM_NTASKS_PER_NODE": "2"}
    words = subprocess.run(["bash", path, "a b/task.yaml"], env=env, check=True, capture_output=True, text=True).stdout.splitlines()
    called = words[words.index("ferry") + 1:]
    assert called == ["run", "a b/task.yaml", "-o", "results/task", "--resume", "--threads", "3"], words
    assert "ppr:2:node:PE=3" in words
    help_text = ferry("help", "run").out
    assert all(word in help_text for word in ("--resume", "--threads", "--mpi"))


main(sys.modules[__name__])
