"""scikit-learn's own checks of every estimator that takes a matrix."""
import inspect
import os
import unittest
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # hundreds of tiny fits
import support
import ferryml
from ferryml import _base
from sklearn.utils import estimator_checks

# What cannot pass, and why.
NEEDS_MORE = {
    "GBC": "needs several views, or a view and a graph", "GBCRegressor": "likewise",
    "GBCPaper": "likewise", "GBCPaperRegressor": "likewise",
    "GBDTAverage": "needs several views", "GBDTAverageRegressor": "likewise",
    "Gibbs": "needs a graph of the target", "ICA": "likewise", "LabelPropagation": "likewise", "LabelPropagationRegressor": "likewise",
    "CorrectSmooth": "likewise", "SGC": "likewise",
}
EXPECTED = {
    ("Majority", "check_classifiers_classes"): "says one class for all, so it does not say them all",
    ("LabelPrior", "check_classifiers_classes"): "likewise",
}


def checks(estimator):
    """(name, call) of each check, under old and new scikit-learn."""
    if "generate_only" in inspect.signature(estimator_checks.check_estimator).parameters:
        found = estimator_checks.check_estimator(estimator, generate_only=True)
    else:
        found = estimator_checks.estimator_checks_generator(estimator, legacy=True)
    for instance, check in found:
        yield getattr(check, "func", check).__name__, (lambda i=instance, c=check: c(i))


def estimators():
    for name in ferryml._estimators:
        estimator = getattr(ferryml, name)()
        if isinstance(estimator, _base.FerryTransformer) and "d" in estimator.get_params():
            estimator.set_params(d=1)  # the checks have matrices of two columns
        yield name, estimator


class Checks(unittest.TestCase):
    def test_all(self):
        ran = 0
        for name, estimator in estimators():
            if isinstance(estimator, _base.FerryRater):
                continue  # X are pairs of ids, no matrix of numbers
            with self.subTest(name):
                ran += self.one(name, estimator)
        self.assertGreater(ran, 1000)

    def one(self, name, estimator):
        failed, ran = {}, 0
        for check, call in checks(estimator):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    call()
                    ran += 1
                except unittest.SkipTest:
                    pass
                except Exception as e:
                    failed[check] = e
        if name in NEEDS_MORE:
            self.assertTrue(failed, f"{name} passes: it {NEEDS_MORE[name]} no more")
            for check, e in failed.items():  # nothing but the one sentence, or what scikit-learn makes of it
                self.assertTrue("needs" in str(e) or "needs" in str(e.__cause__) or isinstance(e, AssertionError), (check, e))
            return 0
        for check in [c for c in failed if (name, c) in EXPECTED]:
            del failed[check]
        self.assertEqual({c: repr(e)[:300] for c, e in failed.items()}, {})
        return ran


if __name__ == "__main__":
    support.main()
