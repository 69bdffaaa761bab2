"""Ratings of one user, graphs without an edge and the like, for every method: finite answers, or a sentence why there are none.
And processes that are forked while others fit."""
import os
import threading
import unittest
import warnings

import same
import numpy as np
import scipy.sparse as sp
import ferryml


def ratings(which=(0, 1), users=None, items=None, n=None, value=None):
    """What is left of a world's ratings: those of one user or item, the first n, all with one value."""
    def change(w):
        for i in which:
            u, j, v = w.ratings[i]
            u = np.full_like(u, users) if users else u
            j = np.full_like(j, items) if items else j
            at = np.sort(np.unique(np.stack([u, j]), axis=1, return_index=True)[1])[:n]
            w.ratings[i] = u[at], j[at], np.full(len(at), value) if value else v[at]
        n_target = len(w.ratings[1][0])
        w.known, w.asked = np.arange(n_target) < max(1, int(0.75 * n_target)), np.arange(n_target)
    return change


RATINGS = {"one user": ratings(users=1000), "one item": ratings(items=1000), "one user in the target": ratings((1,), users=1000),
           "one user in the source": ratings((0,), users=1000), "one rating": ratings(n=1), "one rating in the target": ratings((1,), n=1),
           "one rating in the source": ratings((0,), n=1), "all the same": ratings(value=3.0)}


def graph(make):
    def change(w):
        n = len(w.target["y"])
        w.graphs = {g: sp.csr_matrix(make(n, a), dtype=float) for g, a in w.graphs.items()}
    return change


GRAPHS = {"no edge": graph(lambda n, a: (n, n)), "self-loops alone": graph(lambda n, a: sp.eye(n)), "self-loops too": graph(lambda n, a: a + sp.eye(n)),
          "one edge": graph(lambda n, a: sp.coo_matrix(([1.0, 1.0], ([0, 1], [1, 0])), shape=(n, n))), "one way": graph(lambda n, a: sp.triu(a)),
          "everybody": graph(lambda n, a: np.ones((n, n)) - np.eye(n)), "a star": graph(lambda n, a: [[float((x == 0) != (y == 0)) for y in range(n)] for x in range(n)]),
          "tiny weights": graph(lambda n, a: a * 1e-300), "huge weights": graph(lambda n, a: a * 1e300),
          "zeros that are stored": graph(lambda n, a: sp.csr_matrix((np.zeros(a.nnz), a.indices, a.indptr), shape=a.shape))}


class Degenerate(unittest.TestCase):
    def check(self, world, changes):
        ran = 0
        for method, (kind, goal, of) in same.methods().items():
            for name, change in changes.items() if of == world else ():
                with self.subTest(method=method, case=name):
                    w = same.made(method, 1)
                    change(w)
                    try:
                        got = np.asarray(same.answer(kind, w)[0][0])
                    except ferryml.FerryError as e:
                        self.assertNotIn("\n", str(e))
                        continue
                    ran += 1
                    self.assertEqual(len(got), len(w.asked) if w.ratings else len(w.target["y"]))
                    if got.dtype.kind == "f":
                        self.assertTrue(np.isfinite(got).all())
        self.assertGreater(ran, 50)

    def test_ratings(self):
        self.check("ratings", RATINGS)

    def test_graphs(self):
        self.check("graph", GRAPHS)


class Fork(unittest.TestCase):
    def test_during_a_fit(self):
        """A child of a process whose other threads fit, with as many threads as they like, fits as well."""
        rng = np.random.default_rng(0)
        y = np.arange(300) % 3
        x = rng.normal(size=(300, 20))
        x[np.arange(300), y] += 2
        over, wrong = threading.Event(), []

        def fit(kind):
            try:
                while not over.is_set():
                    kind().fit(x, y)
            except Exception as e:  # noqa: BLE001
                wrong.append(e)

        threads = [threading.Thread(target=fit, args=(k,)) for k in (ferryml.GBDT, ferryml.LogReg, ferryml.MPA)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            [t.start() for t in threads]
            try:
                for _ in range(8):
                    pid = os.fork()
                    if pid == 0:
                        right = [k().fit(x[:60], y[:60]).score(x[:60], y[:60]) > 0.5 for k in (ferryml.LogReg, ferryml.GBDT)]
                        os._exit(0 if all(right) else 1)
                    self.assertEqual(os.waitpid(pid, 0)[1], 0)
            finally:
                over.set()
                [t.join() for t in threads]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    same.support.main()
