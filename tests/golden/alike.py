#!/usr/bin/env python3
"""Golden pairs of columns for src/prepare/alike.c: python3 tests/golden/alike.py > tests/golden/alike.json

Needs numpy. Matrices where the library loops: written apart from it, after the same text."""
import json

import numpy as np

LEVELS = np.linspace(.025, .975, 20)


def ranks(x):
    _, place, count = np.unique(x, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - count / 2)[place]


def correlations(x):
    z = np.stack([ranks(c) for c in x.T], 1)
    z = z - z.mean(0)
    length = np.sqrt((z * z).sum(0))
    return (z / np.where(length < 1e-12, 1, length)).T @ (z / np.where(length < 1e-12, 1, length))


def shapes(x):
    out = []
    for c in x.T:
        z, count = np.clip((c - c.mean()) / c.std(), -4, 4), np.unique(c, return_counts=True)[1]
        out.append(np.r_[np.quantile(z, LEVELS), 2 * count.max() / len(c), np.log10(min(len(count), 1000))])
    return np.array(out)


def match(a, b, common):
    """common: the first columns of both are the same. Pairs (column of a, column of b, cost)."""
    a, b = (np.where(np.isnan(x), np.nanmean(x, 0), x) for x in (a, b))
    own_a, own_b = range(common, a.shape[1]), range(common, b.shape[1])
    ra, rb = correlations(a), correlations(b)
    base = np.abs(shapes(a)[own_a][:, None] - shapes(b)[own_b][None]).mean(2)
    base = base + np.abs(ra[own_a][:, :common][:, None] - rb[own_b][:, :common][None]).mean(2)
    cost, qa, qb = base.copy(), ra[np.ix_(own_a, own_a)], rb[np.ix_(own_b, own_b)]
    for _ in range(8):
        t = np.exp(-cost / .1)
        for _ in range(30):
            t = t / np.maximum(t.sum(1, keepdims=True), 1)
            t = t / np.maximum(t.sum(0, keepdims=True), 1)
        w, m = t.sum(1), t @ qb
        gap = np.abs(qa[:, :, None] - m[None])  # i k j
        gap[np.arange(len(qa)), np.arange(len(qa))] = 0
        cost = base + np.einsum("ikj,k->ij", gap, w) / max(w.sum(), 1e-12)
    out = []
    for i in range(len(cost)):
        j = int(cost[i].argmin())
        rest = np.r_[np.delete(cost[i], j), np.delete(cost[:, j], i)]
        if cost[:, j].argmin() == i and cost[i, j] < .3 and cost[i, j] < .5 * rest.min():
            out.append([common + i, common + j, float(cost[i, j])])
    return out


def table(rng, n, order):
    """Rows of one rule; `order` says which columns there are. 999999 in the file is a missing cell."""
    low = rng.normal(size=(n, 3))
    x = np.stack([low[:, 0], np.exp(low[:, 1]), low[:, 2] + low[:, 0],
                  np.exp(low[:, 0] + .3 * rng.normal(size=n)), (low[:, 1] > .5).astype(float), rng.poisson(2, n),
                  low[:, 2] ** 3 + .1 * rng.normal(size=n), np.round(low[:, 0] - low[:, 1]), rng.uniform(size=n)], 1)
    return x[:, order]


def main():
    rng, cases = np.random.default_rng(35), []
    for na, nb, gaps in ((60, 45, False), (40, 70, True)):
        a, b = table(rng, na, [0, 1, 2, 3, 4, 5, 6]), table(rng, nb, [0, 1, 2, 7, 6, 4, 3, 8])
        a[:, 3:] *= [10, 1, 1, 1000]
        b[:, 3:] += [5, -3, 100, 7, 0]
        if gaps:
            a[rng.integers(na, size=9), rng.integers(7, size=9)] = np.nan
            b[rng.integers(nb, size=9), rng.integers(8, size=9)] = np.nan
        a, b = a.round(3), b.round(3)
        said = match(a, b, 3)
        cases.append({"common": 3, "a": [[999999 if np.isnan(v) else v for v in r] for r in a.tolist()],
                      "b": [[999999 if np.isnan(v) else v for v in r] for r in b.tolist()], "pairs": said})
    print(json.dumps({"cases": cases}))


main()
