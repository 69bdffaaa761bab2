"""The peer of bench/transport.sh: makes the data, and solves by POT, exactly, as we do.

    transport_peer.py data FILE N M D E        transport_peer.py coot|fgw FILE N M D E
"""
import sys
import time

import numpy as np


def make(path, n, m, d, e):
    """Two views of ten classes, other rows in each."""
    rng = np.random.default_rng(1)
    means = 2 * rng.normal(size=(10, 12))
    with open(path, "wb") as f:
        for rows, cols in ((n, d), (m, e)):
            low = means[rng.integers(10, size=rows)] + rng.normal(size=(rows, 12))
            (np.tanh(low @ rng.normal(size=(12, cols)) / 3) + 0.1 * rng.normal(size=(rows, cols))).tofile(f)


def solve(what, path, n, m, d, e):
    import ot
    from ot.coot import co_optimal_transport
    v = np.fromfile(path)
    x, y = v[:n * d].reshape(n, d), v[n * d:].reshape(m, e)
    begin = time.perf_counter()
    if what == "coot":
        now = co_optimal_transport(x, y, nits_ot=10 ** 7, early_stopping_tol=1e-12, log=True)[-1]["distances"][-1]
    else:
        c, d = ot.dist(x, x, metric="euclidean"), ot.dist(y, y, metric="euclidean")
        c, d = c / c.mean(), d / d.mean()
        log = ot.fused_gromov_wasserstein(np.zeros((n, m)), c, d, alpha=1, symmetric=True, numItermaxEmd=10 ** 7, log=True)[1]
        now = log["fgw_dist"]
    print(time.perf_counter() - begin, repr(float(now)))


args = [int(x) for x in sys.argv[3:]]
make(sys.argv[2], *args) if sys.argv[1] == "data" else solve(sys.argv[1], sys.argv[2], *args)
