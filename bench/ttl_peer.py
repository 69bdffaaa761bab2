"""One iteration of the coupled tri-factorisation with scipy, written as the formulas stand: seconds, best of several."""
import time

import numpy as np
import scipy.sparse as sp

rng = np.random.default_rng(1)
m, n, c, p1, p2 = 4894, 1857, 2, 20, 10


def documents(first, last, length):
    rows = [np.unique(first + (rng.random(length) ** 2 * (last - first)).astype(int)) for _ in range(n)]
    start = np.concatenate([[0], np.cumsum([len(r) for r in rows])])
    index = np.concatenate(rows)
    return sp.csr_matrix((0.05 + 0.1 * rng.random(len(index)), index, start), shape=(n, m)).T.tocsr()


x = [documents(0, m // 2, 40), documents(0, m, 80), documents(m // 2, m, 40)]
g = [np.eye(c)[rng.integers(0, c, n)], rng.random((n, c)), rng.random((n, c))]
for each in g[1:]:
    each /= each.sum(1, keepdims=True)
groups = [[(0, 0), (1, 1)], [(1, 1), (2, 2)]]  # (matrix, domain)
f1 = [rng.random((m, p1)) for _ in groups]
a1 = [rng.random((p1, c)) for _ in groups]
f2 = [[rng.random((m, p2)) for _ in views] for views in groups]
a2 = [[rng.random((p2, c)) for _ in views] for views in groups]
norm2 = [each.multiply(each).sum() for each in x]
eps = 1e-16


def update(z, up, down):
    z = z * np.sqrt(up / np.maximum(down, eps))
    z[z < 1e-100] = 0
    return z


def iteration():
    objective = 0
    h = {}
    for k, views in enumerate(groups):
        p = [x[i] @ g[d] for i, d in views]
        gram = [g[d].T @ g[d] for _, d in views]
        model = [f1[k] @ a1[k] + f2[k][v] @ a2[k][v] for v in range(len(views))]
        q = [each @ b for each, b in zip(model, gram)]
        for v, (i, _) in enumerate(views):
            objective += norm2[i] - 2 * (p[v] * model[v]).sum() + (model[v] * q[v]).sum()
        f1[k] = update(f1[k], sum(p) @ a1[k].T, sum(q) @ a1[k].T)
        for v in range(len(views)):
            f2[k][v] = update(f2[k][v], p[v] @ a2[k][v].T, q[v] @ a2[k][v].T)
        model = [f1[k] @ a1[k] + f2[k][v] @ a2[k][v] for v in range(len(views))]
        q = [each @ b for each, b in zip(model, gram)]
        a1[k] = update(a1[k], f1[k].T @ sum(p), f1[k].T @ sum(q))
        for v in range(len(views)):
            a2[k][v] = update(a2[k][v], f2[k][v].T @ p[v], f2[k][v].T @ q[v])
            h[k, v] = f1[k] @ a1[k] + f2[k][v] @ a2[k][v]
    for d in (1, 2):
        mine = [(k, v, i) for k, views in enumerate(groups) for v, (i, e) in enumerate(views) if e == d]
        up = sum(x[i].T @ h[k, v] for k, v, i in mine)
        down = g[d] @ sum(h[k, v].T @ h[k, v] for k, v, _ in mine)
        g[d] = update(g[d], up, down)
        g[d] /= g[d].sum(1, keepdims=True)
    for k, views in enumerate(groups):
        f1[k] /= f1[k].sum(0)
        for v in range(len(views)):
            f2[k][v] /= f2[k][v].sum(0)
    return objective


best = 1e9
for _ in range(8):
    begin = time.process_time()
    for _ in range(10):
        iteration()
    best = min(best, (time.process_time() - begin) / 10)
print(best)
