"""Classes are values: what is not equal in Python is told apart, and comes back as it was."""
import os
import pickle
import tempfile
import threading
import unittest
import warnings

import support
import numpy as np
import ferryml
from ferryml import FerryWarning, Source, _data

RNG = np.random.default_rng(0)
N = 90
K = np.arange(N) % 3
X = RNG.normal(size=(N, 3)) * 0.1
X[np.arange(N), K] += 3

NAMES = [["a", "b", "c"], ["1", "1.0", "01"], ["+1", "1", "2"], [2**53, 2**53 + 1, 2**53 + 2], [2**60 + 1, 2**60 + 2, -2**60 - 1],
         ["9007199254740992", "9007199254740993", "x"], ["a\0b", "a\0c", "a"], ["a\\0b", "a\0b", "a"], ["1e400", "1e401", "2"],
         ["0x10", "16", "3"], ["-0", "0", "1"], [1.0, 2.0, 3.0], [0.0, 2.0**60, 5.0], ["nan", "NaN", "x"], ["a", "a ", "a\t"],
         ["\u00e9", "e\u0301", "x"]]


def labels(names, k=K):
    text = isinstance(names[0], str)
    return np.array(names, dtype=object if text else None)[k]


def quiet(f, *args, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FerryWarning)
        return f(*args, **more)


class Values(unittest.TestCase):
    def test_each_comes_back(self):
        for names in NAMES:
            y = labels(names)
            for kind in (ferryml.SVM, ferryml.GBDT, ferryml.KNN, ferryml.MPA):
                model = quiet(kind().fit, X, y)
                got = model.predict(X)
                self.assertEqual(got.tolist(), y.tolist(), (names, kind.__name__))
                self.assertEqual([type(v) for v in got.tolist()], [type(v) for v in y.tolist()])
                self.assertEqual(len(model.classes_), 3)
                back = pickle.loads(pickle.dumps(model))
                self.assertEqual(back.predict(X).tolist(), y.tolist())

    def test_types(self):
        for dtype in (np.int8, np.int32, np.int64, np.uint64, np.float32, np.float64, "U3", "S3", bool, object):
            y = (K == 0).astype(dtype) if dtype is bool else K.astype(dtype)
            got = ferryml.SVM().fit(X, y).predict(X)
            self.assertEqual(got.tolist(), y.tolist(), dtype)
            if dtype is not object:
                self.assertEqual(got.dtype, y.dtype)

    def test_integers_beside_floats(self):
        """A union of int64 and float64, or of int64 and uint64, would be of doubles."""
        big = np.array([2**53, 2**53 + 1, 2**53 + 2])[K]
        for other in (K.astype(float), np.array([2**63 + 1, 2**63 + 2, 2**63 + 3], dtype=np.uint64)[K]):
            model = quiet(ferryml.SVM().fit, X, big, sources=[Source(X, other)])
            self.assertEqual(len(model.classes_), 6)
            self.assertEqual(len(set(model.predict(X).tolist())), len(set(model.predict(X).tolist()) & set(model.classes_.tolist())))
        model = ferryml.MPA().fit(X, K.astype(float))
        model.partial_fit(X[:3] + 9, np.array([2**53, 2**53 + 1, 2]))
        self.assertEqual(sorted(map(int, model.classes_.tolist())), [0, 1, 2, 2**53, 2**53 + 1])

    def test_whole_floats_are_integers(self):
        """The classes of a float array and of an integer array are the same in the library."""
        one, two = ferryml.SVM().fit(X, K), ferryml.SVM().fit(X, K.astype(float))
        self.assertEqual(one.model_.names, two.model_.names)
        np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
        self.assertEqual(ferryml.SVM().fit(X, np.array([2.0**60, 0.0, 1.0])[K]).model_.names, ["0", "1", str(2**60)])

    def test_missing_values_of_pandas(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("there is no pandas")
        y = pandas.Series(K, dtype="Int64")
        y[::4] = pandas.NA
        model = ferryml.SVM().fit(X, y)
        self.assertEqual(model.classes_.tolist(), [0, 1, 2])

    def test_texts_and_numbers_do_not_mix(self):
        model = ferryml.MPA().fit(X, K)
        with self.assertRaisesRegex(ValueError, "text"):
            model.partial_fit(X, K.astype(str))
        with self.assertRaisesRegex(ValueError, "text"):
            ferryml.SVM().fit(X, K, sources=[Source(X, K.astype(str))])

    def test_a_name_that_came_later_keeps_its_text(self):
        model = quiet(ferryml.MPA().fit, X, labels(["b", "d", "d"]))
        for name in ("a", "c", "a\0", "a\\0", "1", "1.0"):
            quiet(model.learn_one, X[0] + 50, name)
        texts = dict(zip(model.classes_.tolist(), model._table().texts))
        self.assertEqual(len(set(texts.values())), 8)
        self.assertEqual(set(model.model_.names), {t.decode() for t in texts.values()})
        self.assertEqual(texts["a\0"], b"a\\0")
        self.assertNotEqual(texts["a\\0"], b"a\\0")

    def test_one_number_in_two_spellings(self):
        for sources, y in ((None, ["1", "1.0", "01"]), ([Source(X, labels(["1", "2", "3"]))], ["1.0", "2.0", "3.0"])):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                fit = threading.Thread(target=ferryml.SVM().fit, args=(X, labels(y)), kwargs={"sources": sources})
                fit.start()  # a thread has a context of its own, which warns once
                fit.join()
            self.assertEqual(len([w for w in said if "though they are the same number" in str(w.message)]), 1, y)

    def test_ids_hold_no_zero(self):
        with self.assertRaisesRegex(ValueError, "zero character"):
            ferryml.SVM().fit(ferryml.Domain(X, ids=[f"a\0{i}" for i in range(N)]), K)


    def test_dates_are_refused(self):
        days = np.arange("2020-01", "2020-04", dtype="datetime64[D]")[:N]
        for y in (days, days - days[0], days.astype(object), list(days.astype(object))):
            for kind in (ferryml.SVM, ferryml.RidgeRegressor, ferryml.FerryNumbers):
                with self.assertRaisesRegex(ValueError, "dates and times are neither classes nor numbers"):
                    kind().fit(X, y)
            with self.assertRaisesRegex(ValueError, "dates and times are neither classes nor numbers"):
                ferryml.compare(X, y, methods=["svm"])


class Files(unittest.TestCase):
    def test_load(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.ferry")
            for names, want in ((["1", "01", "2"], str), (["1", "2", "3"], int), (["-1", "0", "1"], int), (["+1", "-1", "0"], str),
                                (["\u00b2", "1", "2"], str), (["-0", "0", "1"], str)):
                quiet(ferryml.SVM().fit, X, labels(names)).save(path)
                back = ferryml.load(path)
                self.assertEqual(back.predict(X).tolist(), [want(names[k]) for k in K], names)

    def test_compare_with_others(self):
        from sklearn.tree import DecisionTreeClassifier
        for names in (["1", "1.0", "01"], [2**53, 2**53 + 1, 2**53 + 2]):
            r = quiet(ferryml.compare, X, labels(names), methods=["svm", ("tree", DecisionTreeClassifier(random_state=0))],
                      labelled={"per_class": 8}, repeats=2, controls="none")
            self.assertGreater(r.table["accuracy"].min(), 0.9, names)


class Texts(unittest.TestCase):
    def test_numbers_as_the_library_names_them(self):
        for value, text in ((1.0, "1"), (-0.0, "0"), (0.1, "0.1"), (2.0**60, str(2**60)), (1e300, "1e+300"), (True, "True"),
                            (np.float32(1), "1"), (10**30, str(10**30))):
            self.assertEqual(_data.class_text(value), text)


if __name__ == "__main__":
    support.main()
