"""scipy.sparse.linalg.eigsh on the operator that bench/coca.c wrote to a folder: prints seconds, CPU seconds, products, eigenvalues."""

import os
import sys
import time

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh

DIMS = 20


def load(folder, name, dtype):
    return np.fromfile(os.path.join(folder, name), dtype)


def csr(folder, name, cols=None):
    start, index = load(folder, name + ".start", np.int64), load(folder, name + ".index", np.int32)
    rows = len(start) - 1
    # 32-bit row starts: what scipy would choose by itself
    return sp.csr_matrix((load(folder, name + ".value", np.float64), index, start.astype(np.int32)), (rows, cols or rows))


def main():
    folder = sys.argv[1]
    shift = [load(folder, f"x{j}.shift", np.float64) for j in range(6)]
    x = [csr(folder, f"x{j}", len(s)) for j, s in enumerate(shift)]
    xt = [v.T.tocsr() for v in x]  # the faster way to multiply by the transpose
    w, a, b = csr(folder, "w"), load(folder, "a", np.float64), load(folder, "b", np.float64)[0]
    ends = np.cumsum([len(s) for s in shift])[:-1]
    products = 0

    def apply(u):
        """(H u)_j = X_j' ((a_j - b) t_j + b s + W t_j), t_j = X_j u_j, all views through W at once."""
        nonlocal products
        products += 1
        parts = np.split(u.ravel(), ends)
        t = np.stack([v @ p - s @ p for v, p, s in zip(x, parts, shift)], axis=1)
        r = t * (a - b) + b * t.sum(axis=1, keepdims=True) + w @ t
        return np.concatenate([v @ np.ascontiguousarray(r[:, j]) - s * r[:, j].sum() for j, (v, s) in enumerate(zip(xt, shift))])

    size = sum(len(s) for s in shift)
    op = LinearOperator((size, size), matvec=apply, dtype=np.float64)
    start, cpu = time.perf_counter(), time.process_time()
    values, _ = eigsh(op, k=DIMS, which="LA", tol=1e-10, v0=np.random.default_rng(1).standard_normal(size))
    print(time.perf_counter() - start, time.process_time() - cpu, products, *values[::-1])


main()
