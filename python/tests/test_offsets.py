"""Columns far from 0 and values of any size: what is learned does not depend on where 0 is, nor on the unit."""
import os
import tempfile
import threading
import unittest
import warnings

import support
import numpy as np
import scipy.sparse as sp
import ferryml

RNG = np.random.default_rng(0)
N = 400
Y = np.arange(N) % 2
X = RNG.normal(size=(N, 6))
X[:, 0] += 3 * (Y == 0)
KINDS = ("SVM", "LogReg", "Ridge", "KNN", "MPA", "HetOMTL", "GBDT", "ExtraTrees")
OFFSETS = (1e4, 3e7, 1e10, 1e12)


def right(kind, x, **more):
    model = getattr(ferryml, kind)(**more).fit(x[:200], Y[:200])
    return np.mean(model.predict(x[200:]) == Y[200:])


def kinds():
    return [k for k in KINDS if hasattr(ferryml, k) and "classify" in getattr(ferryml, k)._goals]


class Far(unittest.TestCase):
    def test_all_columns(self):
        for kind in kinds():
            for offset in OFFSETS:
                self.assertGreater(right(kind, X + offset), 0.85, (kind, offset))

    def test_one_column(self):
        """A time stamp beside the others, in a column that says the class and in one that does not."""
        for kind in kinds():
            for column in (0, 3):
                for offset in OFFSETS:
                    x = X.copy()
                    x[:, column] += offset
                    self.assertGreater(right(kind, x), min(0.85, right(kind, X) - 0.05), (kind, column, offset))

    def test_the_same_scores(self):
        """As far as the digits that the offset leaves go."""
        for kind in ("SVM", "LogReg", "KNN"):
            near = getattr(ferryml, kind)().fit(X[:200], Y[:200]).decision_function(X[200:])
            for offset in OFFSETS:
                far = getattr(ferryml, kind)().fit(X[:200] + offset, Y[:200]).decision_function(X[200:] + offset)
                np.testing.assert_allclose(far, near, atol=1e-6 + offset * 1e-14, err_msg=f"{kind} {offset}")

    def test_numbers(self):
        target = X @ np.arange(1.0, 7)
        for kind in ("Ridge", "KNN", "GBDT"):
            kind = getattr(ferryml, kind + "Regressor", None) or getattr(ferryml, kind)
            if "regress" not in kind._goals:
                continue
            near = kind().fit(X[:200], target[:200]).predict(X[200:])
            for offset in OFFSETS:
                far = kind().fit(X[:200] + offset, target[:200]).predict(X[200:] + offset)
                self.assertLess(np.abs(far - near).mean(), 0.05 * np.abs(near).mean(), (kind.__name__, offset))

    def test_sparse(self):
        """A column that all rows have in a matrix of few cells, which is not centred as a whole."""
        x = sp.random(N, 80, 0.05, random_state=1, format="lil")
        x[:, 0] = X[:, :1]
        near = {k: right(k, x.tocsr()) for k in kinds()}
        for offset in (1e4, 1e8, 1e12):
            x[:, 0] = X[:, :1] + offset
            for kind in kinds():
                self.assertGreater(right(kind, x.tocsr()), near[kind] - 0.05, (kind, offset))

    def test_units(self):
        for kind in kinds():
            near = right(kind, X)
            for unit in (1e-290, 1e-200, 1e-12, 1e12, 1e200):
                self.assertGreater(right(kind, X * unit), near - 0.05, (kind, unit))

    def test_saved(self):
        for kind in ("SVM", "MPA", "HetOMTL"):
            for x in (X + 1e9, sp.csr_matrix(np.hstack([X[:, :1] + 1e9, np.zeros((N, 80)), X[:, 1:3]]))):
                model = getattr(ferryml, kind)().fit(x[:200], Y[:200])
                with tempfile.TemporaryDirectory() as folder:
                    path = os.path.join(folder, "m.ferry")
                    model.save(path)
                    np.testing.assert_array_equal(ferryml.load(path).decision_function(x), model.decision_function(x))

    def test_too_far(self):
        """Where no digit is left one warning names the column, and it counts as constant."""
        x = X.copy()
        x[:, 3] += 1e16
        said = []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit = threading.Thread(target=lambda: said.append(right("SVM", x)))
            fit.start()  # a thread has a context of its own, which warns once
            fit.join()
        lines = [str(w.message) for w in caught if "rounding of such numbers" in str(w.message)]
        self.assertEqual(len(lines), 1)
        self.assertIn("feature '4', around 1e+16", lines[0])
        self.assertGreater(said[0], 0.85)


if __name__ == "__main__":
    support.main()
