#!/usr/bin/env python3
"""Golden numbers for cdls: python3 tests/golden/cdls.py > tests/golden/cdls.json

Needs numpy and scipy. The objective is a sum over pairs of rows as the paper has it; the map is its minimum by finite differences of
a quadratic, the weights are those of scipy's SLSQP, and the support vector machines are solved by L-BFGS."""
import json
import sys

import numpy as np
from scipy.optimize import minimize

K, LAMBDA, DELTA, C, TURNS = 2, 0.5, 0.5, 1.0, 2


def axes(x):
    return x - x.mean(0)  # all axes: a rotation, which changes nothing


def objective(a_map, a, b, s, ys, xl, yl, xu, yu, delta):
    """E(A, weights); yu None: without rows of unknown class."""
    p, q = (s @ a_map) * a[:, None], xu * b[:, None]
    if yu is None:
        q, yu = q[:0], np.zeros(0, int)
    total = LAMBDA * (a_map ** 2).sum()
    total += ((p.sum(0) / (delta * len(p)) - (xl.sum(0) + q.sum(0)) / (len(xl) + delta * len(q))) ** 2).sum()
    for c in range(K):
        pc, lc, qc = p[ys == c], xl[yl == c], q[yu == c]
        total += ((pc.sum(0) / (delta * len(pc)) - (lc.sum(0) + qc.sum(0)) / (len(lc) + delta * len(qc))) ** 2).sum()
        far = lambda x, y: ((x[:, None] - y[None]) ** 2).sum()
        e = delta * len(pc) * len(lc) + delta * len(lc) * len(qc) + delta ** 2 * len(qc) * len(pc)
        total += (far(pc, lc) + far(lc, qc) + far(qc, pc)) / e
    return total


def quadratic(f, n):
    """The minimum of a quadratic function of n numbers, from its values."""
    e, zero = np.eye(n), f(np.zeros(n))
    one = np.array([f(e[i]) for i in range(n)])
    h = np.array([[f(e[i] + e[j]) - one[i] - one[j] + zero for j in range(n)] for i in range(n)])
    return np.linalg.solve(h, -(one - zero - np.diag(h) / 2))


def svm(x, y, weight, new):
    """Two classes: one machine with a constant 1, whose weight is held small, too."""
    z, sign = np.c_[x, np.ones(len(x))], np.where(y == 1, 1, -1)

    def f(w):
        r = np.maximum(0, 1 - sign * (z @ w))
        return w @ w / 2 + C * weight @ r ** 2, w - 2 * C * z.T @ (weight * sign * r)
    w = np.zeros(z.shape[1])
    for _ in range(5):
        w = minimize(f, w, jac=True, method="L-BFGS-B", options={"maxiter": 20000, "ftol": 1e-16, "gtol": 1e-12, "maxcor": 50}).x
    m = np.c_[new, np.ones(len(new))] @ w
    return np.c_[-m, m]


def run(xs, ys, xt, yt):
    s, t = axes(xs), axes(xt)
    xl, yl, xu = t[yt >= 0], yt[yt >= 0], t[yt < 0]
    shape = (s.shape[1], t.shape[1])
    a, b = np.ones(len(s)), np.ones(len(xu))

    def best_map(a, b, yu, delta):
        return quadratic(lambda v: objective(v.reshape(shape), a, b, s, ys, xl, yl, xu, yu, delta), shape[0] * shape[1]).reshape(shape)

    def classes(new):
        return svm(np.vstack([s @ m, xl]), np.r_[ys, yl], np.r_[a, np.ones(len(xl))], new)

    m = best_map(a, b, None, 1)
    yu = classes(xu).argmax(1)
    a, b = a * DELTA, b * DELTA
    for _ in range(TURNS):
        m = best_map(a, b, yu, DELTA)
        of = [(np.arange(len(a)), ys), (len(a) + np.arange(len(b)), yu)]
        sums = [{"type": "eq", "fun": lambda v, i=i[y == c]: v[i].sum() - DELTA * len(i)} for i, y in of for c in range(K) if (y == c).any()]
        f = lambda v: objective(m, v[:len(a)], v[len(a):], s, ys, xl, yl, xu, yu, DELTA)
        n = len(a) + len(b)
        zero, e = f(np.zeros(n)), np.eye(n)
        one = np.array([f(e[i]) for i in range(n)])
        h = np.array([[f(e[i] + e[j]) - one[i] - one[j] + zero for j in range(n)] for i in range(n)])
        g = one - zero - np.diag(h) / 2
        v = minimize(lambda v: v @ h @ v / 2 + g @ v, np.r_[a, b], jac=lambda v: h @ v + g, method="SLSQP", bounds=[(0, 1)] * n, constraints=sums,
                     options={"maxiter": 1000, "ftol": 1e-16}).x
        a, b = v[:len(a)], v[len(a):]
        yu = classes(xu).argmax(1)
    return classes(t)


cases = []
for seed in range(3):
    rng = np.random.default_rng(30 + seed)
    means = 1.5 * rng.normal(size=(K, 2))
    ys, y = np.arange(9) % K, np.arange(11) % K
    xs = np.round((means[ys] + rng.normal(size=(9, 2))) @ rng.normal(size=(2, 4)) + 0.3 * rng.normal(size=(9, 4)), 3)
    xt = np.round((means[y] + rng.normal(size=(11, 2))) @ rng.normal(size=(2, 3)) + 0.3 * rng.normal(size=(11, 3)), 3)
    yt = np.where(np.arange(11) < 3 + seed, y, -1)
    cases.append({"xs": xs.tolist(), "ys": ys.tolist(), "xt": xt.tolist(), "yt": yt.tolist(), "cdls": {"scores": run(xs, ys, xt, yt).tolist()}})
json.dump({"options": "scale=none lambda=%g delta=%g C=%g iterations=%d" % (LAMBDA, DELTA, C, TURNS), "cases": cases}, sys.stdout)
print()
