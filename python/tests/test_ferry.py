"""Ferry: the answer as an estimator."""
import doctest
import os
import pickle
import unittest
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # hundreds of tiny fits
import support
import ferryml
import numpy as np
from ferryml import Source, _ferry
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV
from test_checks import checks

FEW = ["svm", "logreg", "cdspp", "majority"]


def rows_of(board):
    return board if isinstance(board, list) else board.reset_index().to_dict("records")


class Answer(unittest.TestCase):
    def setUp(self):
        self.xs, self.ys, self.x, self.y = support.two_domains()
        self.few = self.y.astype(float)
        self.few[20:] = np.nan
        self.sources = [Source(self.xs, self.ys, name="old")]

    def test_says_what_answer_says(self):
        model = ferryml.Ferry().fit(self.x, self.few, sources=self.sources)
        told = ferryml.answer(self.x, self.few, sources=self.sources)
        for line in ("use", "expect", "source"):
            self.assertEqual(model.answer_[line], told[line])
        self.assertEqual(model.answer_["labels"], 20)
        self.assertGreater(model.score(self.x[20:], self.y[20:]), 0.7)

    def test_leaderboard(self):
        model = ferryml.Ferry(methods=FEW).fit(self.x, self.few, sources=self.sources)
        rows = rows_of(model.leaderboard_)
        self.assertEqual({r["method"] for r in rows}, set(FEW))
        self.assertAlmostEqual(sum(r["weight"] for r in rows), 1)
        self.assertEqual([r["weight"] for r in rows], sorted((r["weight"] for r in rows), reverse=True))
        self.assertEqual({r["method"] for r in rows if r["sees_source"]}, {"cdspp"})
        worst = next(r for r in rows if r["method"] == "majority")
        self.assertGreater(worst["error"], min(r["error"] for r in rows))
        self.assertEqual(rows[0]["method"], next(iter(model.answer_["members"])))

    def test_probabilities(self):
        for single in (False, True):
            for methods in (FEW, ["svm"], ["ridge"]):
                model = ferryml.Ferry(single=single, methods=methods).fit(self.x, self.few, sources=self.sources)
                p = model.predict_proba(self.x)
                self.assertEqual(p.shape, (len(self.x), 2))
                self.assertTrue((p >= 0).all())
                np.testing.assert_allclose(p.sum(axis=1), 1)
                np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(self.x))

    def test_best_estimator(self):
        model = ferryml.Ferry(single=True, methods=["svm"], sources=self.sources).fit(self.x, self.few)
        best = model.best_estimator_
        self.assertIsInstance(best, ferryml.SVM)
        np.testing.assert_array_equal(best.fit(self.x, self.few).predict(self.x), model.predict(self.x))

    def test_streams_where_the_choice_does(self):
        model = ferryml.Ferry(single=True, methods=["mpa"]).fit(self.x[:40], self.y[:40])
        model.partial_fit(self.x[40:], self.y[40:])
        self.assertEqual(len(model.predict(self.x)), len(self.x))
        self.assertFalse(hasattr(ferryml.Ferry(single=True, methods=["svm"]).fit(self.x, self.y), "partial_fit"))
        self.assertFalse(hasattr(ferryml.Ferry(), "partial_fit"))

    def test_is_an_estimator(self):
        model = ferryml.Ferry(methods=FEW, sources=self.sources).fit(self.x, self.few)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict_proba(self.x), model.predict_proba(self.x))
        self.assertEqual(again.answer_, model.answer_)
        fresh = clone(model)
        self.assertFalse(hasattr(fresh, "model_"))
        search = GridSearchCV(fresh, {"single": [False, True]}, cv=2).fit(self.x, self.y)
        self.assertGreater(search.best_score_, 0.7)
        self.assertIs(ferryml.AutoTransfer, ferryml.Ferry)
        self.assertTrue(is_classifier(model) and is_regressor(ferryml.FerryNumbers()))

    def test_label_sets_and_numbers(self):
        sets = np.c_[self.y, 1 - self.y, self.x[:, 0] > 0].astype(int)
        ranked = ferryml.Ferry(methods=["ranksvm", "label-prior"]).fit(self.x[:60], sets[:60])
        self.assertEqual(ranked.predict(self.x[60:]).shape, (len(self.x) - 60, 3))
        self.assertFalse(hasattr(ranked, "predict_proba"))
        numbers = ferryml.FerryNumbers(methods=["ridge", "mean"]).fit(self.x, self.x[:, 0] - self.x[:, 1])
        self.assertGreater(numbers.score(self.x, self.x[:, 0] - self.x[:, 1]), 0.9)
        self.assertEqual(rows_of(numbers.leaderboard_)[0]["method"], "ridge")

    def test_refusal(self):
        with self.assertRaisesRegex(ValueError, "no method called|unknown method|no method"):
            ferryml.Ferry(methods=["svn"]).fit(self.x, self.y)

    def test_checks_of_scikit_learn(self):
        ran, failed = 0, {}
        for estimator in (ferryml.Ferry(), ferryml.FerryNumbers()):
            for name, call in checks(estimator):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        call()
                        ran += 1
                    except unittest.SkipTest:
                        pass
                    except Exception as e:
                        failed[type(estimator).__name__, name] = repr(e)[:300]
        self.assertEqual(failed, {})
        self.assertGreater(ran, 60)

    def test_examples(self):
        found = doctest.testmod(_ferry)
        self.assertGreater(found.attempted, 5)
        self.assertEqual(found.failed, 0)


if __name__ == "__main__":
    support.main()
