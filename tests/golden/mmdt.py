#!/usr/bin/env python3
"""Golden numbers for mmdt: python3 tests/golden/mmdt.py > tests/golden/mmdt.json

Needs numpy and scipy. W is written out here and found, as the classifiers are, by L-BFGS on the primal."""
import json
import sys

import numpy as np
from scipy.optimize import minimize

K, CS, CT, TURNS = 3, 0.5, 2.0, 3


def least(f, start):
    for _ in range(5):
        start = minimize(f, start, jac=True, method="L-BFGS-B", options={"maxiter": 20000, "maxfun": 40000, "ftol": 1e-16, "gtol": 1e-12, "maxcor": 50}).x
    return start


def hinge(x, y, c):
    def f(w):
        r = np.maximum(0, 1 - y * (x @ w))
        return w @ w / 2 + c @ r ** 2, w - 2 * x.T @ (c * y * r)
    return f


def run(xs, ys, xt, yt):
    x, z = np.c_[xs, np.ones(len(xs))], np.c_[xt, np.ones(len(xt))]
    seen = yt >= 0
    zl, yl = z[seen], yt[seen]
    cost = np.full(len(x), CS)
    theta = np.array([least(hinge(x, np.where(ys == k, 1, -1), cost), np.zeros(x.shape[1])) for k in range(K)])
    sign = np.where(yl[:, None] == np.arange(K), 1, -1)

    def transform(theta):
        features = np.einsum("kd,je->jkde", theta, zl).reshape(len(zl) * K, -1)
        return least(hinge(features, sign.ravel(), np.full(len(zl) * K, CT)), np.zeros(features.shape[1])).reshape(x.shape[1], z.shape[1])

    w = transform(theta)
    for _ in range(TURNS):
        both, costs = np.vstack([x, zl @ w.T]), np.r_[cost, np.full(len(zl), CT)]
        y = np.r_[ys, yl]
        theta = np.array([least(hinge(both, np.where(y == k, 1, -1), costs), np.zeros(x.shape[1])) for k in range(K)])
        w = transform(theta)
    m = zl @ w.T @ theta.T
    objective = (w ** 2).sum() / 2 + (theta ** 2).sum() / 2 + CT * (np.maximum(0, 1 - sign * m) ** 2).sum() \
        + CS * (np.maximum(0, 1 - np.where(ys[:, None] == np.arange(K), 1, -1) * (x @ theta.T)) ** 2).sum()
    return objective, z @ w.T @ theta.T


cases = []
for seed in range(3):
    rng = np.random.default_rng(20 + seed)
    means = 2 * rng.normal(size=(K, 2))
    ys, y = np.arange(15) % K, np.arange(12) % K
    xs = np.round((means[ys] + rng.normal(size=(15, 2))) @ rng.normal(size=(2, 4)), 3)
    xt = np.round((means[y] + rng.normal(size=(12, 2))) @ rng.normal(size=(2, 3)), 3)
    yt = np.where(np.arange(12) < 3 + 2 * seed, y, -1)
    objective, scores = run(xs, ys, xt, yt)
    cases.append({"xs": xs.tolist(), "ys": ys.tolist(), "xt": xt.tolist(), "yt": yt.tolist(), "mmdt": {"objective": objective, "scores": scores.tolist()}})
json.dump({"options": "scale=none source_C=%g target_C=%g iterations=%d tol=0" % (CS, CT, TURNS), "cases": cases}, sys.stdout)
print()
