"""The peer of bench/hemap.sh: makes the data, forms A as the thesis has it (5.8) and takes its top vectors.

    hemap_peer.py data FILE N m n        hemap_peer.py solve FILE N m n k
"""
import sys
import time

import numpy as np


def make(path, n, m, d):
    """Centred data with a few strong directions, as real data have."""
    rng = np.random.default_rng(1)
    with open(path, "wb") as f:
        for cols in (m, d):
            low = rng.normal(size=(n, 20)) @ (rng.normal(size=(20, cols)) * np.linspace(2, 0.2, 20)[:, None])
            x = low + rng.normal(size=(n, cols))
            (x - x.mean(0)).tofile(f)


def solve(path, n, m, d, k):
    from scipy.linalg import eigh
    x = np.fromfile(path)
    t, s = x[:n * m].reshape(n, m), x[n * m:].reshape(n, d)
    begin = time.perf_counter()
    tt, ss, b = t @ t.T, s @ s.T, 1.0
    a = np.empty((2 * n, 2 * n))
    a[:n, :n] = 2 * tt + b * b / 2 * ss
    a[n:, n:] = b * b / 2 * tt + 2 * ss
    a[:n, n:] = a[n:, :n] = b * (tt + ss)
    del tt, ss
    w, _ = eigh(a, subset_by_index=[2 * n - k, 2 * n - 1], overwrite_a=True, check_finite=False)
    print(time.perf_counter() - begin, *w[::-1])


args = [int(x) for x in sys.argv[3:]]
make(sys.argv[2], *args) if sys.argv[1] == "data" else solve(sys.argv[2], *args)
