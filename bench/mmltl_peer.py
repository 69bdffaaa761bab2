"""scipy's Sylvester solver on the U step, and RankSVM in numpy: the same dual coordinate descent. CPU seconds,
one line each."""
import time

import numpy as np
from scipy.linalg import solve_sylvester

rng = np.random.default_rng(1)

d, m, g = 2048, 10, 50
G, delta, V = rng.normal(size=(d, m)), rng.normal(size=d), rng.normal(size=(m, g))
start = time.process_time()
solve_sylvester(30 * np.outer(delta, delta) + np.eye(d), V.T @ V, G @ V)
print("sylvester", time.process_time() - start)

n, d, m, C, epochs = 1200, 1000, 10, 1.0, 100
X = rng.random((n, d))
Y = X[:, :m] + 0.3 * rng.random((n, m)) > 1.05
start = time.process_time()
X = np.hstack([X / np.sqrt((X ** 2).sum(1).mean()), np.ones((n, 1))])
norm2 = (X ** 2).sum(1)
W = np.zeros((m, d + 1))
yes = [np.flatnonzero(y) for y in Y]
no = [np.flatnonzero(~y) for y in Y]
a = [np.zeros((len(p), len(q))) for p, q in zip(yes, no)]
for epoch in range(epochs):
    for i in range(n):
        if a[i].size == 0:
            continue
        x, s, add, most = X[i], (W @ X[i]).tolist(), [0.0] * m, C / a[i].size
        old = a[i].ravel().tolist()
        at, moved = 0, False
        for k in yes[i].tolist():
            for l in no[i].tolist():
                want = old[at] - (s[k] - s[l] - 1) / (2 * norm2[i])
                da = min(max(want, 0.0), most) - old[at]
                if da != 0.0:
                    old[at] += da
                    s[k] += da * norm2[i]
                    s[l] -= da * norm2[i]
                    add[k] += da
                    add[l] -= da
                    moved = True
                at += 1
        if moved:
            a[i] = np.array(old).reshape(a[i].shape)
            W += np.outer(add, x)
print("ranksvm", time.process_time() - start)
