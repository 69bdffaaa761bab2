#!/usr/bin/env python3
"""Golden numbers for cca and kcca: python3 tests/golden/cca.py > tests/golden/cca.json

Needs numpy and scipy. Nothing goes over principal axes here: cca is the generalised eigenproblem of the whole covariances, kcca the
one of the kernels (Hardoon et al., with r K as the regulariser), and the learner is least squares by the normal equations."""
import json
import sys

import numpy as np
from scipy.linalg import eigh

K, RIDGE, LAMBDA, DIMS = 3, 0.2, 0.5, 2


def solve(cross, covx, covy, penx, peny):
    """Directions of x and y that maximise a'cross b with a'(covx + penx) a = b'(covy + peny) b = 1; the correlations."""
    p, q = cross.shape
    left = np.block([[np.zeros((p, p)), cross], [cross.T, np.zeros((q, q))]])
    right = np.block([[covx + penx, np.zeros((p, q))], [np.zeros((q, p)), covy + peny]])
    w, v = eigh(left, right)
    v = v[:, ::-1][:, :DIMS]
    return w[::-1][:DIMS], v[:p], v[p:]


def linear(px, py, xs, xt):
    mx, my, n = px.mean(0), py.mean(0), len(px)
    cx, cy = (px - mx).T @ (px - mx) / n, (py - my).T @ (py - my) / n
    c, a, b = solve((px - mx).T @ (py - my) / n, cx, cy, RIDGE * np.trace(cx) / len(cx) * np.eye(len(cx)), RIDGE * np.trace(cy) / len(cy) * np.eye(len(cy)))
    a, b = a * c / np.sqrt(np.sum(a * (cx @ a), 0)), b * c / np.sqrt(np.sum(b * (cy @ b), 0))
    return c, (xs - mx) @ a, (xt - my) @ b


def kernel(px, py, xs, xt):
    n, z, h = len(px), [], np.eye(len(px)) - 1 / len(px)
    made = []
    for p, x in ((px, xs), (py, xt)):
        d = ((p[:, None] - p[None]) ** 2).sum(-1)
        gamma = 1 / np.median(d[np.triu_indices(n, 1)])
        k, kx = np.exp(-gamma * d), np.exp(-gamma * ((x[:, None] - p[None]) ** 2).sum(-1))
        made.append((h @ k @ h, (kx - k.mean(0)) @ h))
    (k1, x1), (k2, x2) = made
    # without the constant direction, in which both kernels are 0
    u = np.linalg.svd(h)[0][:, :n - 1]
    j1, j2 = u.T @ k1 @ u, u.T @ k2 @ u
    c, a, b = solve(j1 @ j2 / n, j1 @ j1 / n, j2 @ j2 / n, RIDGE * np.trace(k1) / n / n * j1, RIDGE * np.trace(k2) / n / n * j2)
    z1, z2 = k1 @ u @ a, k2 @ u @ b
    return c, x1 @ u @ a * c / np.sqrt((z1 ** 2).mean(0)), x2 @ u @ b * c / np.sqrt((z2 ** 2).mean(0))


def learn(zs, ys, zt, yt):
    x, y = np.vstack([zs, zt[yt >= 0]]), np.eye(K)[np.concatenate([ys, yt[yt >= 0]])]
    m, t = x.mean(0), y.mean(0)
    w = np.linalg.solve((x - m).T @ (x - m) + LAMBDA * np.eye(x.shape[1]), (x - m).T @ (y - t))
    return (zt - m) @ w + t


cases = []
for seed in range(3):
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=90)
    latent = rng.normal(size=(90, 2)) + 2 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    a = np.round(np.tanh(latent @ rng.normal(size=(2, 4))) + 0.1 * rng.normal(size=(90, 4)), 4)
    b = np.round(latent @ rng.normal(size=(2, 3)) + 0.1 * rng.normal(size=(90, 3)), 4)
    ys, yt = y[:30], np.where(np.arange(25) < 3 * seed, y[30:55], -1)
    case = {"xs": a[:30].tolist(), "ys": ys.tolist(), "xt": b[30:55].tolist(), "yt": yt.tolist(), "pairs_s": a[55:75].tolist(),
            "pairs_t": b[55:75].tolist()}
    for name, f in (("cca", linear), ("kcca", kernel)):
        c, zs, zt = f(a[55:75], b[55:75], a[:30], b[30:55])
        case[name] = {"correlations": c.tolist(), "scores": learn(zs, ys, zt, yt).tolist()}
    cases.append(case)
json.dump({"options": "scale=none learner=ridge lambda=%g ridge=%g k=%d" % (LAMBDA, RIDGE, DIMS), "cases": cases}, sys.stdout)
print()
