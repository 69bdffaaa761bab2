#!/usr/bin/env python3
"""Golden numbers for exact transport, coot and fgw: python3 tests/golden/transport.py > tests/golden/transport.json

Needs numpy and scipy. Every plan here is a linear program of scipy (HiGHS); costs and objectives are sums over all four indices."""
import json
import sys

import numpy as np
from scipy.optimize import linprog

K = 3


def emd(c):
    n, m = c.shape
    rows, columns = np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))
    r = linprog(c.ravel(), A_eq=np.vstack([rows, columns[:-1]]), b_eq=np.concatenate([np.full(n, 1 / n), np.full(m - 1, 1 / m)]), method="highs-ds",
                options={"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-10})
    return r.fun, r.x.reshape(n, m)


def shares(t, ys, yt):
    s = t.T @ np.eye(K)[ys] * t.shape[1]
    s[yt >= 0] = np.eye(K)[yt[yt >= 0]]
    return s


def coot(x, y, other):
    square = (x[:, :, None, None] - y.T[None, None]) ** 2  # i k l j
    tv, last, w = np.full((x.shape[1], y.shape[1]), 1 / x.shape[1] / y.shape[1]), np.inf, None
    while True:
        c = np.einsum("iklj,kl->ij", square, tv)
        w = c.mean() if w is None else w
        ts = emd(c + w * other)[1]
        cost, tv = emd(np.einsum("iklj,ij->kl", square, ts))
        now = cost + w * (other * ts).sum()
        if last - now <= 1e-9 * now:
            return now, ts
        last = now


def fgw(x, y, other, alpha):
    far = lambda a: np.sqrt(((a[:, None] - a[None]) ** 2).sum(-1))
    c, d = far(x), far(y)
    c, d = c / c.mean(), d / d.mean()
    square = (c[:, None, :, None] - d[None, :, None, :]) ** 2  # i j k l
    f = lambda t: (1 - alpha) * (other * t).sum() + alpha * np.einsum("ijkl,ij,kl", square, t, t)
    t = np.full((len(x), len(y)), 1 / len(x) / len(y))
    while True:
        v = emd((1 - alpha) * other + 2 * alpha * np.einsum("ijkl,kl->ij", square, t))[1]
        f0, f1, half = f(t), f(v), f((t + v) / 2)
        bend = 2 * (f0 + f1 - 2 * half)
        slope = f1 - f0 - bend
        step = min(max(-slope / (2 * bend), 0), 1) if bend > 1e-14 else float(slope + bend < 0)
        t = t + step * (v - t)
        if f0 - f(t) <= 1e-9 * f(t):
            return f(t), t


plans, cases = [], []
for seed, (n, m) in enumerate([(6, 6), (5, 8), (9, 4), (1, 3), (12, 12)]):
    c = np.round(np.random.default_rng(seed).normal(size=(n, m)), 3)
    if seed == 4:
        c = np.round(c)  # many plans are best, one cost is
    plans.append({"c": c.tolist(), "cost": emd(c)[0]})
for seed in range(3):
    rng = np.random.default_rng(10 + seed)
    n, m = (14, 12, 12)[seed], (11, 12, 15)[seed]
    means = 3 * rng.normal(size=(K, 2))
    ys, y = np.arange(n) % K, np.arange(m) % K
    a, b = rng.normal(size=(2, 4)), rng.normal(size=(2, 3))
    xs = np.round((means[ys] + rng.normal(size=(n, 2))) @ a, 3)
    xt = np.round((means[y] + rng.normal(size=(m, 2))) @ b, 3)
    yt = np.where(np.arange(m) < 3 * seed, y, -1)
    other = ((yt[None] >= 0) & (yt[None] != ys[:, None])).astype(float)
    case = {"xs": xs.tolist(), "ys": ys.tolist(), "xt": xt.tolist(), "yt": yt.tolist()}
    for name, (now, t) in (("coot", coot(xs, xt, other)), ("fgw", fgw(xs, xt, other, 0.5))):
        case[name] = {"objective": now, "scores": shares(t, ys, yt).tolist()}
    cases.append(case)
json.dump({"options": "scale=none", "plans": plans, "cases": cases}, sys.stdout)
print()
