"""Pipelines whose steps see the sources too."""
import pickle
import unittest
import warnings

import support
import numpy as np
import scipy.sparse as sp
import sklearn
import ferryml
from ferryml import Bridge, Domain, FerryWarning, Source, TransferPipeline, make_transfer_pipeline, per_domain, shared, target_only
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler

X, Y = load_breast_cancer(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(len(Y))
S, T = ORDER[:300], ORDER[300:]
FEW = np.where(np.arange(len(T)) < 10, Y[T], np.nan)
RAW = Source(X[S], Y[S], name="old")
XS, YS, XT, YT = support.two_domains()  # 6 and 8 columns of their own
OTHER = Source(XS, YS, name="other")


def same(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


class Steps(unittest.TestCase):
    def setUp(self):
        """What the steps do is nothing to warn of, but for columns that each have a unit of their own."""
        held = warnings.catch_warnings()
        held.__enter__()
        self.addCleanup(held.__exit__, None, None, None)
        warnings.simplefilter("error", FerryWarning)
        warnings.filterwarnings("ignore", ".*another unit or zero", FerryWarning)

    def test_shared_is_both_scaled(self):
        together = StandardScaler().fit(np.vstack([X[S], X[T]]))
        for kind in (ferryml.TTL, ferryml.CDSPP, ferryml.Hop):
            model = make_transfer_pipeline(shared(StandardScaler()), kind(sources=[RAW])).fit(X[T], FEW)
            hand = kind(sources=[Source(together.transform(X[S]), Y[S], name="old", columns="shared")]).fit(together.transform(X[T]), FEW)
            same(model.decision_function(X[T]), hand.decision_function(together.transform(X[T])))
            self.assertEqual(model.estimator_.links_, hand.links_)
            self.assertGreater(model.score(X[T][10:], Y[T][10:]), hand.score(together.transform(X[T][10:]), Y[T][10:]) - 0.01)
            given = make_transfer_pipeline(shared(StandardScaler()), kind()).fit(X[T], FEW, sources=[RAW])
            same(given.decision_function(X[T]), model.decision_function(X[T]))

    def test_per_domain(self):
        model = make_transfer_pipeline(per_domain(StandardScaler()), per_domain(PCA(3)), ferryml.CDSPP(sources=[OTHER])).fit(XT, YT)
        old, new = (make_pipeline(StandardScaler(), PCA(3)).fit(x) for x in (XS, XT))
        hand = ferryml.CDSPP(sources=[Source(old.transform(XS), YS, columns="own")]).fit(new.transform(XT), YT)
        same(model.decision_function(XT), hand.decision_function(new.transform(XT)))
        self.assertEqual(model.estimator_.links_, [])  # three columns each, and nothing in common
        self.assertEqual([sorted(t) for t in model.transformers_], [["other.x", "target.x"]] * 2)

    def test_columns_that_are_kept_stay_linked(self):
        linked = Source(X[S], Y[S], name="old", columns="shared")
        for step, links in ((per_domain(StandardScaler()), 1), (per_domain(FunctionTransformer(np.log1p)), 1), (per_domain(PCA(5)), 0),
                            (per_domain(make_pipeline(SimpleImputer(), MinMaxScaler())), 1), (shared(PCA(5)), 1), (per_domain(SelectKBest(k=5)), 0)):
            model = make_transfer_pipeline(step, ferryml.CDSPP(sources=[linked])).fit(X[T], FEW)
            self.assertEqual(len(model.estimator_.links_), links, step)
        model = make_transfer_pipeline(per_domain(StandardScaler()), ferryml.CDSPP(sources=[Source(X[S], Y[S], columns="own")])).fit(X[T], FEW)
        self.assertEqual(model.estimator_.links_, [])

    def test_target_only(self):
        model = make_transfer_pipeline(target_only(StandardScaler()), ferryml.CDSPP(sources=[OTHER])).fit(XT, YT)
        hand = make_pipeline(StandardScaler(), ferryml.CDSPP(sources=[OTHER])).fit(XT, YT)
        same(model.decision_function(XT), hand.decision_function(XT))
        with self.assertRaisesRegex(FerryWarning, "look transformed"):  # the trap is one still, where columns are linked
            make_transfer_pipeline(target_only(StandardScaler()), ferryml.CDSPP(sources=[Source(X[S], Y[S], columns="shared")])).fit(X[T], FEW)

    def test_steps_that_need_labels(self):
        best = SelectKBest(k=5).fit(np.vstack([X[S], X[T][:10]]), np.concatenate([Y[S], Y[T][:10]]))
        model = make_transfer_pipeline(shared(SelectKBest(k=5)), ferryml.Hop(sources=[RAW])).fit(X[T], FEW)
        np.testing.assert_array_equal(model.transformers_[0]["target.x"].get_support(), best.get_support())
        bare = Source(X[S], name="old")
        with self.assertRaisesRegex(ValueError, "SelectKBest needs labels, and none are known|requires y"):
            make_transfer_pipeline(per_domain(SelectKBest(k=5)), ferryml.CDSPP(sources=[bare])).fit(X[T], FEW)

    def test_without_sources(self):
        warnings.simplefilter("ignore")
        model = make_transfer_pipeline(shared(StandardScaler()), ferryml.SVM()).fit(XT, YT)
        same(model.decision_function(XT), make_pipeline(StandardScaler(), ferryml.SVM()).fit(XT, YT).decision_function(XT))

    def test_bridge(self):
        rng = np.random.default_rng(3)
        hidden = rng.normal(size=(400, 3))
        words, pixels = (np.maximum(hidden @ rng.normal(size=(3, k)), 0) * 100 for k in (12, 9))
        y = (hidden[:, 0] > hidden[:, 1]).astype(int)
        sources = [Source(views={"words": words[:150]}, y=y[:150], name="s"),
                   Bridge(views={"words": words[150:300], "pixels": pixels[150:300]}, name="between")]
        target = Domain(views={"pixels": pixels[300:]}, name="pictures")
        model = make_transfer_pipeline(shared(MinMaxScaler()), shared(PCA(5), views=["words"]), ferryml.Hop(sources=sources)).fit(target, None)
        self.assertEqual(sorted(k[:3] for k in model.estimator_.links_), [("between", "words", "s.words"), ("pictures", "pixels", "between.pixels")])
        self.assertGreater(model.score(target, y[300:]), 0.8)
        self.assertEqual(sorted(model.transformers_[1]), ["between.words", "s.words"])
        self.assertIs(model.transformers_[0]["s.words"], model.transformers_[0]["between.words"])

    def test_graphs(self):
        n = len(XT)
        near = sp.csr_matrix((np.ones(n - 1), (np.arange(n - 1), np.arange(1, n))), shape=(n, n))
        target, y = Domain(views={"x": XT}, graphs={"g": near}), np.where(np.arange(n) % 2, YT, np.nan)
        model = make_transfer_pipeline(target_only(StandardScaler()), ferryml.GBC()).fit(target, y)
        hand = Domain(views={"x": StandardScaler().fit_transform(XT)}, graphs={"g": near})
        np.testing.assert_array_equal(model.predict(target), ferryml.GBC().fit(hand, y).predict(hand))

    def test_sparse_and_views_by_id(self):
        counts = sp.csr_matrix(np.round(np.abs(X) * 1000))
        ids = [f"r{i}" for i in S]
        source = Source(views={"x": (ids, counts[S])}, y=Y[S][::-1], ids=ids[::-1], name="old")
        model = make_transfer_pipeline(shared(StandardScaler(with_mean=False)), shared(SelectKBest(k=20)), ferryml.Hop(sources=[source])).fit(counts[T], FEW)
        want = make_transfer_pipeline(shared(StandardScaler(with_mean=False)), shared(SelectKBest(k=20)), ferryml.Hop(sources=[
            Source(counts[S], Y[S], name="old")])).fit(counts[T], FEW)
        np.testing.assert_array_equal(model.predict(counts[T]), want.predict(counts[T]))

    def test_what_cannot_be_meant(self):
        cdspp = ferryml.CDSPP(sources=[OTHER])
        for make, kind, words in (
                (lambda: make_transfer_pipeline(StandardScaler(), cdspp), TypeError, r"say what StandardScaler sees: shared\(...\)"),
                (lambda: make_transfer_pipeline(shared(StandardScaler())), TypeError, "an estimator comes last"),
                (lambda: make_transfer_pipeline(shared(StandardScaler()), cdspp).fit(XT, YT), ValueError, "none of those of 'other' is linked.*per_domain"),
                (lambda: make_transfer_pipeline(per_domain(StandardScaler(), views=["q"]), cdspp).fit(XT, YT), ValueError, "no domain has a view 'q'"),
                (lambda: TransferPipeline([("a", StandardScaler(), "all"), ("b", cdspp)]).fit(XT, YT), ValueError, "step 'a': expected .* where one of shared"),
                (lambda: TransferPipeline([("a", StandardScaler()), ("b", cdspp)]).fit(XT, YT), ValueError, "step 'a': expected"),
                (lambda: make_transfer_pipeline(per_domain(PCA(2)), PCA(1)).fit(XT, YT), TypeError, "learns from sources"),
                (lambda: make_transfer_pipeline(per_domain(PCA(2)), cdspp).predict(XT), NotFittedError, "not fitted")):
            with self.assertRaisesRegex(kind, words):
                make()


class Family(unittest.TestCase):
    """What scikit-learn's tools do with them."""

    def test_grid_search(self):
        model = make_transfer_pipeline(per_domain(StandardScaler()), per_domain(PCA(2)), ferryml.CDSPP(sources=[OTHER]))
        names = model.get_params()
        for name in ("standardscaler", "standardscaler__with_mean", "pca__n_components", "cdspp__alpha", "cdspp__sources", "steps"):
            self.assertIn(name, names)
        search = GridSearchCV(model, {"pca__n_components": [1, 3], "cdspp__alpha": [0.1, 10], "standardscaler": [MinMaxScaler(), "passthrough"]}, cv=3)
        search.fit(XT, YT)
        self.assertEqual(len(search.cv_results_["mean_test_score"]), 8)
        self.assertGreater(search.best_score_, 0.6)
        best = search.best_estimator_
        self.assertEqual(best.transformers_[1]["target.x"].n_components_, search.best_params_["pca__n_components"])
        self.assertEqual(best.estimator_.alpha, search.best_params_["cdspp__alpha"])
        self.assertEqual(model.get_params()["pca__n_components"], 2)  # copies were searched
        self.assertTrue((cross_val_score(model, XT, YT, cv=3) > 0.5).all())

    def test_routing(self):
        if not hasattr(TransferPipeline, "set_fit_request"):
            self.skipTest("scikit-learn before 1.3 has no metadata routing")
        with sklearn.config_context(enable_metadata_routing=True):
            model = make_transfer_pipeline(per_domain(StandardScaler()), ferryml.CDSPP()).set_fit_request(sources=True)
            search = GridSearchCV(model, {"cdspp__alpha": [0.1, 1]}, cv=3).fit(XT, YT, sources=[OTHER])
            self.assertEqual(search.best_estimator_.estimator_.model_.method, "cdspp")
            whole = make_pipeline(FunctionTransformer(), model).fit(XT, YT, sources=[OTHER])
            self.assertEqual(whole[-1].estimator_.model_.method, "cdspp")

    def test_clone_and_pickle(self):
        model = make_transfer_pipeline(per_domain(PCA(2), views=["x"]), ferryml.CDSPP(sources=[OTHER], alpha=3))
        again = clone(model)
        self.assertEqual(again.get_params()["cdspp__alpha"], 3)
        self.assertEqual(again.steps[0][2], ("per_domain", "x"))
        self.assertIs(again.get_params()["cdspp__sources"][0], OTHER)
        self.assertFalse(hasattr(again.fit(XT, YT) and model, "estimator_"))
        same(pickle.loads(pickle.dumps(again)).decision_function(XT), again.decision_function(XT))
        self.assertIn("PCA", repr(model))
        self.assertIn("PCA", model._repr_html_())

    def test_kinds(self):
        model = make_transfer_pipeline(per_domain(PCA(2)), ferryml.CDSPP(sources=[OTHER]))
        self.assertTrue(is_classifier(model) and not is_regressor(model))
        self.assertFalse(hasattr(model, "transform") or hasattr(model, "predict_proba"))
        self.assertEqual(model.fit(XT, YT).classes_.tolist(), [0, 1])
        self.assertEqual(model.n_features_in_, 8)
        ridge = make_transfer_pipeline(per_domain(PCA(2)), ferryml.RidgeRegressor())
        self.assertTrue(is_regressor(ridge))
        self.assertGreater(ridge.fit(XT, XT[:, 0]).score(XT, XT[:, 0]), 0.5)
        joined = make_transfer_pipeline(per_domain(StandardScaler()), ferryml.PCAJoined(d=2))
        self.assertEqual(joined.fit_transform(XT).shape, (len(XT), 2))
        self.assertEqual(list(joined.get_feature_names_out()), ["pcajoined0", "pcajoined1"])
        ttl = make_transfer_pipeline(shared(StandardScaler()), ferryml.TTL(sources=[RAW])).fit(X[T], FEW)
        self.assertTrue(np.allclose(ttl.predict_proba(X[T]).sum(axis=1), 1))

    def test_partial_fit(self):
        model = make_transfer_pipeline(per_domain(StandardScaler()), ferryml.HetOMTL(sources=[OTHER]))
        model.partial_fit(XT[:30], YT[:30], classes=[0, 1, 2])
        self.assertEqual(model.classes_.tolist(), [0, 1, 2])
        scaler = StandardScaler().fit(XT[:30])
        hand = ferryml.HetOMTL(sources=[Source(StandardScaler().fit_transform(XS), YS)]).partial_fit(scaler.transform(XT[:30]), YT[:30], classes=[0, 1, 2])
        for m, x in ((model, XT), (hand, scaler.transform(XT))):
            m.partial_fit(x[30:], YT[30:])
        same(model.decision_function(XT), hand.decision_function(scaler.transform(XT)))

    @support.with_pandas
    def test_frames(self):
        import pandas as pd
        names = [f"f{j}" for j in range(X.shape[1])]
        frame = pd.DataFrame(X, columns=names)
        frame["ward"] = np.where(X[:, 0] > 14, "north", "south")  # text: for the steps to deal with
        source = Source(frame.iloc[S, ::-1], Y[S], name="old")
        columns = ColumnTransformer([("n", StandardScaler(), names), ("w", OneHotEncoder(), ["ward"])], sparse_threshold=0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = make_transfer_pipeline(shared(columns), ferryml.Hop(sources=[source])).fit(frame.iloc[T], FEW)
            got = model.decision_function(frame.iloc[T])
        together = clone(columns).fit(pd.concat([frame.iloc[S], frame.iloc[T]]))
        hand = ferryml.Hop(sources=[Source(together.transform(frame.iloc[S]), Y[S], columns="shared")])
        same(got, hand.fit(together.transform(frame.iloc[T]), FEW).decision_function(together.transform(frame.iloc[T])))
        self.assertEqual(list(model.feature_names_in_), list(frame.columns))
        self.assertEqual(model.estimator_.feature_names_in_[-1], "w__ward_south")
        out = make_transfer_pipeline(shared(StandardScaler()), ferryml.PCAJoined(d=2, sources=[Source(frame[names].iloc[S], Y[S])]))
        out = out.set_output(transform="pandas").fit_transform(frame[names].iloc[T])
        self.assertEqual((list(out.columns), list(out.index[:3])), (["pcajoined0", "pcajoined1"], list(T[:3])))

    @support.with_pandas
    def test_names_through_the_steps(self):
        """Columns that only some domains have: what is common stays linked by name, without set_output()."""
        import pandas as pd
        frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
        source = Source(frame.iloc[S, :25], Y[S], name="old")
        model = make_transfer_pipeline(per_domain(StandardScaler()), ferryml.Hop(sources=[source])).fit(frame.iloc[T, 5:], FEW)
        self.assertEqual(model.estimator_.links_, [("target", "x", "old.x", "same_as", 20)])
        with self.assertRaisesRegex(ValueError, r"needs the same columns in all domains, but 'f0' is not in both 'old' and 'target'"):
            make_transfer_pipeline(shared(StandardScaler()), ferryml.Hop(sources=[source])).fit(frame.iloc[T, 5:], FEW)


if __name__ == "__main__":
    support.main()
