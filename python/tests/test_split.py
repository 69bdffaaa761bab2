"""HiddenLabelSplit: scikit-learn's cross-validation where some labels are not known."""
import unittest
import warnings

import support
import numpy as np
from sklearn.model_selection import GridSearchCV, cross_val_score
import ferryml

RNG = np.random.default_rng(3)
N = 120
K = np.arange(N) % 3
X = RNG.normal(size=(N, 4))
X[np.arange(N), K] += 2
KINDS = {"numbers": np.where(np.arange(N) < 60, K.astype(float), np.nan),
         "text": np.where(np.arange(N) < 60, np.array(["a", "b", "c"], dtype=object)[K], None),
         "marked": np.where(np.arange(N) < 60, K, -1)}


class Folds(unittest.TestCase):
    def test_each_known_row_is_tested_once(self):
        for name, y in KINDS.items():
            split = ferryml.HiddenLabelSplit(4, unlabelled=-1 if name == "marked" else None)
            tested = []
            for train, test in split.split(X, y):
                self.assertFalse(set(train) & set(test))
                self.assertTrue(set(range(60, N)) <= set(train), "rows without a label are trained on")
                self.assertEqual([list(K[test]).count(c) for c in range(3)], [5, 5, 5])
                tested += list(test)
            self.assertEqual(sorted(tested), list(range(60)))

    def test_numbers_and_sets(self):
        value = np.where(np.arange(N) < 60, X[:, 0] * 1.5, np.nan)
        sets = np.stack([K == 0, K == 1], 1).astype(float)
        sets[60:] = np.nan
        for y in (value, sets):
            tested = np.concatenate([test for _, test in ferryml.HiddenLabelSplit(3).split(X, y)])
            self.assertEqual(sorted(tested), list(range(60)))

    def test_with_scikit_learn(self):
        for name, y in KINDS.items():
            more = {"unlabelled": -1} if name == "marked" else {}
            split = ferryml.HiddenLabelSplit(3, **more)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                score = cross_val_score(ferryml.SemiSVM(**more), X, y, cv=split)
                found = GridSearchCV(ferryml.SVM(**more), {"C": [0.1, 1]}, cv=split).fit(X, y)
            self.assertTrue((score > 0.5).all(), (name, score))
            self.assertGreater(found.best_score_, 0.5)
            self.assertEqual(set(found.predict(X)), set(y[:60]))

    def test_scores_are_of_known_labels(self):
        """Whatever dealt the folds: score() passes over the rows whose label is not known."""
        model = ferryml.SVM().fit(X, K)
        for name, y in KINDS.items():
            model.set_params(unlabelled=-1 if name == "marked" else None)
            wrong = model.predict(X[:60]) != K[:60]
            y = K.astype(object) if name == "text" else y
            y = np.where(np.arange(N) < 60, y, None) if name == "text" else y
            self.assertAlmostEqual(model.score(X, y), 1 - wrong.mean(), msg=name)
        weight = np.where(np.arange(N) == 7, 5.0, 1.0)
        self.assertAlmostEqual(model.score(X, KINDS["marked"], weight), 1 - (wrong @ weight[:60]) / weight[:60].sum())
        value = np.where(np.arange(N) < 60, X[:, 0] * 1.5, np.nan)
        self.assertGreater(ferryml.RidgeRegressor().fit(X, value).score(X, value), 0.99)
        with self.assertRaisesRegex(ValueError, "none of the labels in y is known"):
            model.score(X[60:], KINDS["numbers"][60:])

    @support.with_pandas
    def test_columns_with_missing_labels(self):
        import pandas
        for dtype, values in (("Int64", K), ("boolean", K == 0), ("string", np.array(["a", "b", "c"])[K]), ("category", np.array(["a", "b", "c"])[K])):
            y = pandas.Series(values, dtype=object)
            y[60:] = None
            found = cross_val_score(ferryml.LogReg(), X, y.astype(dtype), cv=ferryml.HiddenLabelSplit(3), error_score="raise")
            self.assertTrue((found > 0.5).all(), (dtype, found))

    def test_what_is_wrong(self):
        with self.assertRaisesRegex(ValueError, "needs y"):
            next(ferryml.HiddenLabelSplit().split(X))
        with self.assertRaisesRegex(ValueError, "2 rows have a label, fewer than the 5 folds"):
            next(ferryml.HiddenLabelSplit().split(X[:3], np.array([1.0, np.nan, 0.0])))


if __name__ == "__main__":
    support.main()
