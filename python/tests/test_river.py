"""The estimators that learn from streams are classifiers of river: without a fit, in its pipelines, ensembles and evaluations."""
import pickle
import sys
import unittest
import warnings

import support
import numpy as np
import ferryml

try:
    from river import base, checks, datasets, ensemble, evaluate, metrics, multiclass, preprocessing
except ImportError:
    print("skipped: no river")
    sys.exit(support.SKIPPED)

warnings.filterwarnings("ignore", message=".*has no sources to learn from", category=ferryml.FerryWarning)
KINDS = [getattr(ferryml, name) for name in ferryml._estimators if issubclass(getattr(ferryml, name), ferryml._base._Stream)]


def right(model, rows=600, metric=None):
    return evaluate.progressive_val_score(datasets.Phishing().take(rows), model, metric or metrics.Accuracy()).get()


class River(unittest.TestCase):
    def test_its_checks(self):
        self.assertEqual(len(KINDS), 4)
        for kind in KINDS:
            # for its own tests of its own classes alone: parameters to test with, and attributes that change in place
            left_out = {"check_init_has_default_params_for_tests", "check_mutate_can_be_idempotent"}
            done = [check(kind()) for check in checks.yield_checks(kind()) if check.__name__ not in left_out]
            self.assertGreater(len(done), 40)

    def test_learns_from_the_first_row_on(self):
        for kind in KINDS:
            self.assertIsInstance(kind(), base.Classifier)
            model = kind()
            self.assertIsNone(model.predict_one({"a": 1.0}))
            self.assertEqual(model.predict_proba_one({"a": 1.0}), {})
            scaled = preprocessing.StandardScaler() | model
            self.assertGreater(right(scaled), 0.75)
            again = pickle.loads(pickle.dumps(scaled))
            for x, y in datasets.Phishing().take(20):
                p = scaled.predict_proba_one(x)
                self.assertAlmostEqual(sum(p.values()), 1)
                self.assertEqual(max(p, key=p.get), scaled.predict_one(x))
                self.assertEqual(again.predict_proba_one(x), p)
                self.assertIn(y, p)
            self.assertLess(right(scaled.clone(), metric=metrics.LogLoss()), np.log(2))  # the clone begins again
        self.assertNotIsInstance(ferryml.Ferry(), base.Classifier)

    def test_what_other_models_are_made_of(self):
        bag = ensemble.BaggingClassifier(preprocessing.StandardScaler() | ferryml.MPA(), n_models=2, seed=1)
        self.assertGreater(right(bag, 300), 0.7)
        segments = datasets.ImageSegments().take(300)
        each = preprocessing.StandardScaler() | multiclass.OneVsRestClassifier(ferryml.MPA())
        self.assertGreater(evaluate.progressive_val_score(segments, each, metrics.Accuracy()).get(), 0.5)
        steps = list(evaluate.iter_progressive_val_score(datasets.Phishing().take(200), ferryml.MPA(), metrics.Accuracy(), step=100, measure_memory=True))
        self.assertGreater(steps[-1]["Memory"], 0)

    def test_sources(self):
        """A source with the same classes and other features, from the first row on."""
        rows = list(datasets.Phishing().take(900))
        x = np.array([list(x.values()) for x, _ in rows[:600]]) @ np.random.default_rng(0).normal(size=(9, 7))
        old = ferryml.Source(x, np.array([y for _, y in rows[:600]]), name="old")
        self.assertGreater(evaluate.progressive_val_score(rows[600:], ferryml.HetOMTL(sources=[old]), metrics.Accuracy()).get(), 0.75)
        model = ferryml.HetOMTL(sources=[old]).learn_one(*rows[600])
        self.assertEqual(model.classes_.tolist(), [False, True])  # those of the source
        self.assertEqual(model.model_.method, "hetomtl")

    def test_features_that_come_and_go(self):
        model = ferryml.MPA()
        model.learn_one({"a": 1.0, "b": 0.0}, "x")
        model.learn_one({"b": 1.0}, "y")
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            model.learn_one({"c": 5.0, "a": 1.0}, "x")
            model.predict_one({"c": 5.0, "a": 1.0})
        self.assertEqual([str(w.message) for w in seen], ["MPA: feature 'c' is passed over: it was not in the first row"])
        self.assertEqual([model.predict_one(x) for x in ({"b": 0.0, "a": 1.0}, {"b": 1.0}, {"a": 1.0, "c": -9.0})], ["x", "y", "x"])
        numbered = ferryml.MPA().learn_one({0: 1.0, 1: 0.0}, 0).learn_one({1: 1.0}, 1)  # features may be numbers
        self.assertEqual([numbered.predict_one({0: 1.0}), numbered.predict_one({1: 1.0})], [0, 1])

    def test_copies(self):
        model = ferryml.MPA().learn_one({"a": 1.0}, 0).learn_one({"a": -1.0}, 1)
        fresh, other = model.clone({"C": 0.5}), model.clone(include_attributes=True)
        self.assertIsNone(fresh.predict_one({"a": 1.0}))
        self.assertEqual((fresh.C, model.C), (0.5, 1.0))
        self.assertEqual([other.predict_one({"a": v}) for v in (1.0, -1.0)], [0, 1])


if __name__ == "__main__":
    unittest.main(verbosity=1, warnings=False)  # the filter above stays
