"""The peers of bench/hetomtl.sh: scipy's dense eigenproblem, and the stream as a numpy loop.

usage: hetomtl_peer.py data FILE ds dt ns nt K     make the rows
       hetomtl_peer.py eigh FILE ds dt ns nt K     seconds and eigenvalues
       hetomtl_peer.py stream K dt sources rows    microseconds a row
"""
import sys, time
import numpy as np


def data(path, ds, dt, ns, nt, k):
    rng = np.random.default_rng(1)
    with open(path, "wb") as f:
        for n, d in ((ns, ds), (nt, dt)):
            y = np.arange(n) % k
            x = rng.normal(size=(n, d)) + 0.3 * (np.arange(d)[None, :] % k == y[:, None])
            (x / np.linalg.norm(x, axis=1, keepdims=True)).tofile(f)


def eigh(path, ds, dt, ns, nt, k):
    import scipy.linalg
    both = np.fromfile(path)
    xs, xt = both[:ns * ds].reshape(ns, ds).T, both[ns * ds:].reshape(nt, dt).T
    ys, yt = np.eye(k)[np.arange(ns) % k], np.eye(k)[np.arange(nt) % k]
    cs, ct = ys.sum(0), yt.sum(0)
    begin = time.perf_counter()
    a = np.zeros((ds + dt, ds + dt))
    b = np.zeros((ds + dt, ds + dt))
    a[:ds, ds:] = (xs @ ys) @ (xt @ yt).T
    a[ds:, :ds] = a[:ds, ds:].T
    b[:ds, :ds] = (xs * (cs + ct / 2)[np.arange(ns) % k]) @ xs.T - (xs @ ys) @ (xs @ ys).T
    b[ds:, ds:] = (xt * (ct + cs / 2)[np.arange(nt) % k]) @ xt.T - (xt @ yt) @ (xt @ yt).T
    b += np.eye(ds + dt)
    w = scipy.linalg.eigh(a, b)[0]
    took = time.perf_counter() - begin
    print(took, *w[::-1][:k])


def stream(k, d, n, rows):
    """Mode paper as one would write it: mistakes, weights, scores and the step of a sample."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(500, d)) + 0.3 * (np.arange(d)[None, :] % k == (np.arange(500) % k)[:, None])
    pt = [rng.normal(size=(d, k)) / np.sqrt(d) for _ in range(n)]
    ws = [rng.normal(size=(k, k)) for _ in range(n)]
    wt = np.zeros((k, d))
    u, v, alpha = np.full(n, .5), np.full(n, .5), np.full(n, 1 / n)
    beta, best, t = .9, 1e9, 0
    for part in range(rows // 50):  # the best 50 in a row
        begin = time.perf_counter()
        for _ in range(50):
            raw, y = x[t * 7 % 500], t * 7 % 500 % k
            t += 1
            z = raw / np.linalg.norm(raw)
            ft = wt @ z
            fs = [w @ (z @ p) for w, p in zip(ws, pt)]
            f = [a * s + b * ft for a, b, s in zip(u, v, fs)]
            answer = np.argmax(sum(a * g for a, g in zip(alpha, f)))
            for i in range(n):
                u[i] *= beta ** (fs[i].argmax() != y)
                v[i] *= beta ** (ft.argmax() != y)
                alpha[i] *= beta ** (f[i].argmax() != y)
            total = u + v
            u, v, alpha = u / total, v / total, alpha / alpha.sum()
            other = ft.copy()
            other[y] = -np.inf
            r = other.argmax()
            loss = 1 - ft[y] + ft[r]
            if loss > 0:
                tau = min(1, loss / (2 * (z @ z)))
                wt[y] += tau * z
                wt[r] -= tau * z
        best = min(best, (time.perf_counter() - begin) / 50)
    print(1e6 * best, int(answer))


what, rest = sys.argv[1], sys.argv[2:]
if what == "stream":
    stream(*map(int, rest[:4]))
else:
    {"data": data, "eigh": eigh}[what](rest[0], *map(int, rest[1:6]))
