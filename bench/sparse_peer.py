"""Sparse products beside scipy's, the bare accesses and the memory bandwidth, all in turns: usage sparse_peer.py BENCH_SPARSE [K ...].

One thread and CPU time throughout, least of the rounds, so that what else the machine does hardly counts; then all
cores, by the wall. Prints a table and the rows that `bench/run --check` reads (bench/check.py).
"""

import os
import subprocess
import sys
import time

import numpy as np
import scipy.sparse as sp

ROWS, COLS, PER_ROW = 100_000, 50_000, 100
ENTRIES = ROWS * PER_ROW
WHAT = ("mul", "tmul", "tmul_index", "mul_words")


class Ours:
    def __init__(self, program):
        self.child = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, what, k):
        print(what, k, file=self.child.stdin, flush=True)
        return float(self.child.stdout.readline())


def timed(f):
    start = time.process_time()
    f()
    return time.process_time() - start


def measure(ours, scipy, k, rounds):
    """{name: least seconds} of k columns."""
    rng = np.random.default_rng(1)
    b, c = rng.standard_normal((COLS, k)), rng.standard_normal((ROWS, k))
    best = {}
    for _ in range(rounds):
        now = {what: ours(what, k) for what in (*WHAT, "gather", "tgather", "triad")}
        if scipy is not None:
            now["scipy"], now["scipy_t"] = timed(lambda: scipy @ b), timed(lambda: scipy.T @ c)
        best = {name: min(s, best.get(name, s)) for name, s in now.items()}
    return best


def moved(what, k):
    """Bytes that the product must move: the matrix, B once and Y twice."""
    into, out = (ROWS, COLS) if what.startswith("t") else (COLS, ROWS)
    return 12 * ENTRIES + 8 * ROWS + 8 * (into + 2 * out) * k


def main():
    ours = Ours(sys.argv[1])
    ks = [int(k) for k in sys.argv[2:]] or [1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 24, 32, 48, 64]
    rng = np.random.default_rng(1)
    index = np.sort(rng.integers(0, COLS, (ROWS, PER_ROW), dtype=np.int32), axis=1).ravel()
    start = np.arange(ROWS + 1, dtype=np.int32) * PER_ROW
    scipy = sp.csr_matrix((rng.standard_normal(ENTRIES), index, start), shape=(ROWS, COLS))
    bound, faster, slowest = {}, {}, {}
    print(f"sparse products, {ROWS} x {COLS}, {ENTRIES} entries, one thread, CPU time (load {os.getloadavg()[0]:.1f})")
    print(f"{'':12} {'k':>3} {'ms':>8} {'of triad':>9} {'of gather':>9} {'scipy ms':>9} {'faster':>7}")
    for k in ks:
        t = measure(ours, scipy, k, 3 if k > 8 else 6)
        for what in WHAT:
            trans = what.startswith("t")
            triad = moved(what, k) * t["triad"] / 24 / 20e6
            gather = t["tgather" if trans else "gather"] if k <= 8 else 0
            peer = t["scipy_t" if trans else "scipy"]
            line = f"{what:12} {k:3} {1e3 * t[what]:8.1f} {100 * triad / t[what]:7.0f} % "
            line += f"{100 * gather / t[what]:7.0f} %" if gather else " " * 9
            if what != "mul_words":
                line += f" {1e3 * peer:9.1f} {peer / t[what]:6.1f}x"
                faster[what, k] = peer / t[what]
                slowest[what] = min(slowest.get(what, 1e9), peer / t[what])
            if k <= 8 and what in ("mul", "tmul_index"):
                bound[what] = min(bound.get(what, 1e9), max(triad, gather) / t[what])
            print(line, flush=True)
    for what, title in (("mul", "X B"), ("tmul_index", "X'B with index"), ("tmul", "X'B without index")):
        if what in bound:
            print(f"row sparse.{what}.bound {bound[what]:.2f} >= 0.7 {title}, k <= 8: share of the triad or the gather bound")
        if (what, 32) in faster:
            print(f"row sparse.{what}.k32 {faster[what, 32]:.2f} >= 4 {title}, k = 32: times as fast as scipy")
        print(f"row sparse.{what}.never {slowest[what]:.2f} >= 1 {title}, k = 1 .. 64: the least such ratio")
    cores = os.cpu_count()
    if cores > 1 and not sys.argv[2:]:
        ours("threads", cores)
        print(f"{cores} threads, by the wall")
        for k in (8, 32):
            t = measure(ours, None, k, 5)
            for what in WHAT:
                triad = moved(what, k) * t["triad"] / 24 / 20e6
                print(f"{what:12} {k:3} {1e3 * t[what]:8.1f} {100 * triad / t[what]:7.0f} %")


main()
