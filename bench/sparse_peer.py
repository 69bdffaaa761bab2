"""Times of scipy.sparse's products, the matrix made like bench/sparse.c's: prints `name k seconds`."""

import time

import numpy as np
import scipy
import scipy.sparse as sp

ROWS, COLS, PER_ROW = 100_000, 50_000, 100


def best(f, times=15):
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        f()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def main():
    rng = np.random.default_rng(1)
    index = np.sort(rng.integers(0, COLS, (ROWS, PER_ROW), dtype=np.int32), axis=1).ravel()
    start = np.arange(ROWS + 1, dtype=np.int32) * PER_ROW
    x = sp.csr_matrix((rng.standard_normal(ROWS * PER_ROW), index, start), shape=(ROWS, COLS))
    print("scipy", scipy.__version__)
    for k in (2, 8, 32):
        b = np.ascontiguousarray(rng.standard_normal((COLS, k)))
        c = np.ascontiguousarray(rng.standard_normal((ROWS, k)))
        print("mul", k, best(lambda: x @ b))
        print("tmul", k, best(lambda: x.T @ c))


main()
