"""mf beside cmfrec, LIBMF and a numpy ALS: seconds of the processor for the fit, one thread, and the error on ratings held out.

    mf_peer.py BENCH_MF [--ratings N] [--ml FILE]

Data: MovieLens-100k (80 % to learn from) where it is, and a made-up set of N ratings (default 10 million) of a tenth as many
users: levels of users and items, six common tastes, noise, rounded to 1..5. The options of the peers were chosen by a small grid on
these same held-out ratings, as were those of mf on the made-up set; mf's defaults come from MovieLens-100k (docs/methods/mf.md).
"""
import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
import numpy as np

TRIPLE = np.dtype([("user", "<i4"), ("item", "<i4"), ("value", "<f8")])


def made_up(n, seed=1):
    rng = np.random.default_rng(seed)
    users, items, k = n // 100, 10000, 6
    user = np.repeat(np.arange(users, dtype=np.int32), n // users)
    item = (items * rng.random(len(user)) ** 2).astype(np.int32)
    _, first = np.unique(user.astype(np.int64) * items + item, return_index=True)  # a pair once
    user, item = user[first], item[first]
    p, q = rng.normal(0, 0.45, (users, k)), rng.normal(0, 0.6, (items, k))
    value = 3.5 + rng.normal(0, 0.4, users)[user] + rng.normal(0, 0.4, items)[item]
    for c in range(k):
        value += p[user, c] * q[item, c]
    value += rng.normal(0, 0.7, len(user))
    out = np.empty(len(user), TRIPLE)
    out["user"], out["item"], out["value"] = user, item, np.clip(np.round(value), 1, 5)
    return out


def halves(t, share, seed=1):
    at = np.random.default_rng(seed).permutation(len(t))
    n = int(share * len(t))
    return t[at[:n]], t[at[n:]]


def rmse(fitted, test):
    return float(np.sqrt(np.mean((np.clip(fitted, 1, 5) - test["value"]) ** 2)))


def ferry(program, train, test, method, *options):
    with tempfile.TemporaryDirectory() as d:
        train.tofile(d + "/train")
        test.tofile(d + "/test")
        out = subprocess.run([program, d + "/train", d + "/test", "1", method, *options], check=True, capture_output=True, text=True)
    seconds, error, sweeps = out.stdout.split()
    return float(seconds), float(error), f"{sweeps} sweeps"


def cmfrec(train, test, k, lam, niter, use_cg):
    import cmfrec as c
    import scipy.sparse as sp
    shape = (max(train["user"].max(), test["user"].max()) + 1, max(train["item"].max(), test["item"].max()) + 1)
    x = sp.coo_matrix((train["value"], (train["user"], train["item"])), shape)
    m = c.CMF(k=k, lambda_=lam, niter=niter, use_cg=use_cg, nthreads=1, verbose=False, precompute_for_predictions=False)
    start = time.process_time()
    m.fit(x)
    seconds = time.process_time() - start
    return seconds, rmse(m.predict(test["user"], test["item"]), test), f"{niter} iterations, float32{', cg' if use_cg else ''}"


def libmf(train, test, k, lam, iters, eta):
    sys.stdout.flush()
    quiet, kept = os.open(os.devnull, os.O_WRONLY), os.dup(1)  # it prints
    os.dup2(quiet, 1)
    try:
        from libmf import mf
        m = mf.MF(k=k, lambda_p2=lam, lambda_q2=lam, lambda_p1=0.0, lambda_q1=0.0, nr_iters=iters, eta=eta, nr_threads=1, quiet=True)
        data = np.column_stack([train["user"], train["item"], train["value"]])
        start = time.process_time()
        m.fit(data)
        seconds = time.process_time() - start
        p, q = m.p_factors(), m.q_factors()
    finally:
        sys.stdout.flush()
        ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
    u, i = np.minimum(test["user"], len(p) - 1), np.minimum(test["item"], len(q) - 1)
    fitted = np.einsum("ec,ec->e", p[u], q[i])
    fitted = np.where(np.isnan(fitted), train["value"].mean(), fitted)  # of users and items without ratings
    return seconds, rmse(fitted, test), f"{iters} iterations, float32"


def numpy_als(train, test, k, lam, sweeps):
    """The same model and steps as mf, in numpy."""
    import scipy.sparse as sp
    shape = (max(train["user"].max(), test["user"].max()) + 1, max(train["item"].max(), test["item"].max()) + 1)
    start = time.process_time()
    u, i, v = train["user"], train["item"], train["value"]
    mu, a, b = v.mean(), np.zeros(shape[0]), np.zeros(shape[1])
    nu, ni = np.bincount(u, minlength=shape[0]), np.bincount(i, minlength=shape[1])
    for _ in range(10):
        b = np.bincount(i, v - mu - a[u], shape[1]) / (ni + 5)
        a = np.bincount(u, v - mu - b[i], shape[0]) / (nu + 5)
    x = sp.csr_matrix((v - mu - a[u] - b[i], (u, i)), shape)
    xt = x.T.tocsr()

    def half(x, q):
        p = np.zeros((x.shape[0], k))
        for r in range(x.shape[0]):
            at = slice(x.indptr[r], x.indptr[r + 1])
            rows = q[x.indices[at]]
            p[r] = np.linalg.solve(rows.T @ rows + lam * np.eye(k), rows.T @ x.data[at])
        return p

    q = np.random.default_rng(1).standard_normal((shape[1], k))
    for _ in range(sweeps):
        p = half(x, q)
        q = half(xt, p)
    seconds = time.process_time() - start
    u, i = test["user"], test["item"]
    return seconds, rmse(mu + a[u] + b[i] + np.einsum("ec,ec->e", p[u], q[i]), test), f"{sweeps} sweeps"


def table(name, train, test, runs):
    print(f"{name}: {len(train)} ratings to learn from, {len(test)} held out\n  {'':22}{'seconds':>9}{'rmse':>9}")
    for what, run in runs:
        try:
            seconds, error, note = run()
        except ImportError as e:
            print(f"  {what:22} not here: {e}")
            continue
        print(f"  {what:22}{seconds:9.2f}{error:9.4f}   {note}", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("--ratings", type=int, default=10_000_000)
    p.add_argument("--ml")
    a = p.parse_args()
    if a.ml and os.path.exists(a.ml):
        rows = np.loadtxt(a.ml, dtype=np.int64)
        t = np.empty(len(rows), TRIPLE)
        t["user"], t["item"], t["value"] = rows[:, 0] - 1, rows[:, 1] - 1, rows[:, 2]
        train, test = halves(t, 0.8)
        table("ml-100k, rank 20", train, test, [
            ("ferry mf", lambda: ferry(a.program, train, test, "mf")),
            ("ferry mf-als", lambda: ferry(a.program, train, test, "mf-als")),
            ("cmfrec", lambda: cmfrec(train, test, 20, 10.0, 10, False)),
            ("cmfrec, cg", lambda: cmfrec(train, test, 20, 10.0, 10, True)),
            ("LIBMF", lambda: libmf(train, test, 20, 0.1, 20, 0.1)),
            ("numpy als", lambda: numpy_als(train, test, 20, 16, 5))])
    train, test = halves(made_up(a.ratings), 0.9)
    rating = ("ridge=rating", "tol=0.003")
    table("made up, rank 20", train, test, [
        ("ferry vb-diagonal", lambda: ferry(a.program, train, test, "mf", "solver=vb-diagonal")),
        ("ferry mf-als", lambda: ferry(a.program, train, test, "mf-als", "lambda=0.1", *rating)),
        ("cmfrec", lambda: cmfrec(train, test, 20, 10.0, 5, False)),
        ("cmfrec, cg", lambda: cmfrec(train, test, 20, 10.0, 5, True)),
        ("LIBMF, 10 iterations", lambda: libmf(train, test, 20, 0.08, 10, 0.1)),
        ("LIBMF", lambda: libmf(train, test, 20, 0.08, 20, 0.1))])


main()
