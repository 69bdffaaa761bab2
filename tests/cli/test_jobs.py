"""--jobs and --memory: fits side by side give the same results as one after the other."""
import os
import signal
import subprocess
import sys
import time

from harness import FERRY, ferry, main, parses, read, refused, small_task, tree, write

TIMES = ("fit_seconds", "seconds", "needed_seconds")


def without_times(value):
    """Results but for what depends on the clock."""
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in TIMES}
    return [without_times(v) for v in value] if isinstance(value, list) else value


def same_everywhere(folder, task, *more):
    """results.json, predictions and log of 1, 2 and 4 jobs; returns the first's results."""
    seen = []
    for jobs in (1, 2, 4):
        out = f"{folder}/o{jobs}"
        r = ferry("run", task, "-o", out, "--jobs", jobs, *more)
        results = without_times(parses(read(out, "results.json")))
        seen.append((results, tree(out + "/predictions"), r.err.replace(out, "OUT"), r.out))
    for other in seen[1:]:
        assert other[0] == seen[0][0]
        assert other[1] == seen[0][1]
        assert other[2] == seen[0][2], (seen[0][2], other[2])
    return seen[0][0]


def test_same_results(folder):
    d = same_everywhere(folder, small_task(folder))
    assert len([r for r in d["results"] if r.get("runs")]) > 5


def test_threads_do_not_count_for_small_tasks(folder):
    """With many cells each has one thread, however many there are."""
    task = small_task(folder)
    for n in (1, 8):
        ferry("run", task, "-q", "-o", f"{folder}/t{n}", "--threads", n)
    a, b = (without_times(parses(read(folder, f"t{n}/results.json"))) for n in (1, 8))
    assert a.pop("threads") == 1 and b.pop("threads") == 8
    assert a == b


def test_methods_that_do_not_fit(folder):
    """What could not run says why, in the same words."""
    rows = "".join(f"r{i},{i % 3},{(i * 7) % 5},{'ab'[i % 2]}\n" for i in range(40))
    write(folder, "d.csv", "id,x,y,class\n" + rows)
    task = write(folder, "task.yaml", "task: odd\ngoal: classify\ndomains:\n"
                 "  - {name: t, role: target, id: id, label: class, labelled: 4, views: [{name: v, x: d.csv}]}\n"
                 "methods: [majority, knn, svm, hemap]\nevaluate: {repeats: 4}\n")
    d = same_everywhere(folder, task)
    assert "hemap needs" in str(d), d


def test_interrupt(folder):
    """Ctrl-C with several jobs: asked for once, the run ends in order."""
    task = small_task(folder, "source=400", "target=400", "repeats=200")
    p = subprocess.Popen([FERRY, "run", task, "-q", "-o", folder + "/o", "--jobs", "3"], stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 120
    while not os.path.isdir(folder + "/o.part") and p.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=120)
    assert p.returncode == 130, (p.returncode, err)
    assert "interrupted" in err and err.count("\n") == 1, err


def test_memory(folder):
    task = small_task(folder)
    for size in ("1", "300M", "1.5G", "0"):
        ferry("run", task, "-q", "-o", folder + "/m", "--memory", size)
    for size in ("x", "-1", "5Q", "5GB", ""):
        refused("run", task, f"--memory={size}", says="--memory", cwd=folder)
    for jobs in ("x", "-1", "2000"):
        refused("run", task, "--jobs", jobs, says="--jobs", cwd=folder)
    assert not os.path.exists(folder + "/results")


main(sys.modules[__name__])
