"""What keeping a stream costs: the same lines under --sync off, batch and always, in turns; and a million lines.

usage: stream_sync.py FERRY [METHOD [KEY=VALUE ...]]     METHOD: mpa unless given
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

FERRY = os.path.abspath(sys.argv[1])
METHOD = sys.argv[2] if len(sys.argv) > 2 else "mpa"
SETS = [word for s in sys.argv[3:] for word in ("--set", s)]
K, ROUNDS = 10, int(os.environ.get("BENCH_ROUNDS", "7"))


def row(rng, d, k):
    return [round(rng.gauss(1 if j % K == k else 0, 1), 4) for j in range(d)]


def make_model(folder, d, sources):
    """Fit on a few rows of each of K classes: a target of d features and, for a transfer method, sources of 64."""
    rng = random.Random(1)
    names = [("target", d)] + [(f"source{i}", 64) for i in range(sources)]
    domains = ""
    for name, cols in names:
        with open(f"{folder}/{name}.csv", "w") as f:
            f.write("class," + ",".join(f"{name}{j}" for j in range(cols)) + "\n")
            for i in range(3 * K if name == "target" else 20 * K):
                f.write(f"c{i % K}," + ",".join(map(str, row(rng, cols, i % K))) + "\n")
        role = "role: target, labelled: 1.0" if name == "target" else "role: source"
        domains += f"  - {{name: {name}, {role}, x: {name}.csv, label: class}}\n"
    with open(f"{folder}/task.yaml", "w") as f:
        f.write(f"task: t\ngoal: classify\ndomains:\n{domains}methods: [{METHOD}]\n")
    subprocess.run([FERRY, "fit", f"{folder}/task.yaml", "-m", METHOD, "-o", f"{folder}/m.ferry", "-q", *SETS], check=True)


def make_lines(path, d, n):
    rng = random.Random(2)
    some = [(k, json.dumps(row(rng, d, k))) for k in (rng.randrange(K) for _ in range(100))]
    with open(path, "w") as f:
        for i in range(n):
            k, x = some[i % 100]
            f.write(f'{{"id": {i}, "x": {x}, "y": "c{k}"}}\n')


def run(folder, sync):
    """Seconds; always takes a tenth of the lines, and counts ten times."""
    shutil.rmtree(folder + "/s", ignore_errors=True)
    some = sync == "always"
    with open(folder + ("/some" if some else "/in")) as f, open(folder + "/out", "w") as out:
        begin = time.monotonic()
        subprocess.run([FERRY, "stream", folder + "/m.ferry", "--state", folder + "/s", "--sync", sync, "-q"], stdin=f,
                       stdout=out, check=True)
        return (time.monotonic() - begin) * (10 if some else 1)


def compare(d, n, sources):
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as folder:
        make_model(folder, d, sources)
        make_lines(folder + "/in", d, n)
        make_lines(folder + "/some", d, n // 10)
        times = {"off": [], "batch": [], "always": []}
        for _ in range(ROUNDS):
            for sync, seconds in times.items():
                seconds.append(run(folder, sync))
        middle = {s: sorted(t)[ROUNDS // 2] for s, t in times.items()}
        best = {s: min(t) for s, t in times.items()}
        print(f"{METHOD}, {d} features, {K} classes, {n} lines with labels; {ROUNDS} rounds in turns")
        for sync in times:
            print(f"  --sync {sync:6} {n / best[sync]:9.0f} lines/s at best, {n / middle[sync]:9.0f} in the middle; "
                  f"throughput {100 * (1 - best['off'] / best[sync]):+5.1f} % below off "
                  f"({100 * (1 - middle['off'] / middle[sync]):+5.1f} %)", flush=True)


def million():
    """Peak memory and folder after 50 000 and after 1 000 000 lines, a tenth of them waiting for labels for ever."""
    d = 16
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as folder:
        make_model(folder, d, 0)
        rng = random.Random(3)
        block = []
        for i in range(10000):
            k = rng.randrange(K)
            line = {"x": row(rng, d, k), "y": f"c{k}"}
            block.append(json.dumps(line)[1:-1])
        for n in (50000, 1000000):
            shutil.rmtree(folder + "/s", ignore_errors=True)
            begin = time.monotonic()
            p = subprocess.Popen([FERRY, "stream", folder + "/m.ferry", "--state", folder + "/s", "-q"],
                                 stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
            for b in range(n // 10000):
                text = "".join(f'{{"id":"{b}.{i}",{x if i % 10 else x.split(", " + chr(34) + "y")[0]}}}\n'
                               for i, x in enumerate(block))
                p.stdin.write(text)
            p.stdin.flush()
            with open(f"/proc/{p.pid}/status") as f:
                peak = int(f.read().split("VmHWM:")[1].split()[0])
            p.stdin.close()
            assert p.wait() == 0
            size = sum(os.path.getsize(f"{folder}/s/{f}") for f in os.listdir(folder + "/s"))
            print(f"{METHOD}, {d} features, {n:7} lines in {time.monotonic() - begin:5.1f} s: at most {peak / 1024:.1f} "
                  f"MB of memory, folder {size / 1e6:.2f} MB", flush=True)


if __name__ == "__main__":
    many = 0 if METHOD == "mpa" else 4
    compare(4096, 2000, many)
    compare(64, 30000, many)
    if METHOD == "mpa":
        million()
