"""Which columns are taken for the same: what the caller says, what is warned of."""
import re
import unittest
import warnings

import support
import numpy as np
import scipy.sparse as sp
import ferryml
from ferryml import Bridge, Domain, FerryNeedsError, FerryWarning, Source
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

X, Y = load_breast_cancer(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(len(Y))
S, T = ORDER[:300], ORDER[300:]
FEW = np.where(np.arange(len(T)) < 10, Y[T], np.nan)
UNITS = "another unit or zero gives another answer"


def said(call):
    """FerryWarnings of a call, but for that about the units of columns: these tables have many."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call()
    return [str(w.message) for w in seen if issubclass(w.category, FerryWarning) and UNITS not in str(w.message)]


def unrelated(seed=0, n=200, width=6):
    """Two tables that have nothing in common but their width."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n, width))
    return a, (a[:, 0] > 0).astype(int), b, (b[:, 3] > 0).astype(int)


class Explicit(unittest.TestCase):
    def test_arrays_are_linked_when_somebody_says_so(self):
        a, ya, b, yb = unrelated()
        silent, own = Source(a, ya, name="old"), Source(a, ya, name="old", columns="own")
        with self.assertRaisesRegex(FerryNeedsError, r"if 'old' has the 6 columns of 'target', say so: Source\(..., columns='shared'\)"):
            ferryml.Hop(sources=[own]).fit(b, yb)
        heard = said(lambda: ferryml.CDSPP(sources=[silent]).fit(b, yb))
        self.assertEqual(len(heard), 1)
        self.assertRegex(heard[0], r"'old' has 6 columns without names, as many as the target: they are taken for other features. Write Source\(...")
        self.assertEqual(said(lambda: ferryml.CDSPP(sources=[own]).fit(b, yb)), [])
        models = [ferryml.CDSPP(sources=[s]).fit(b, yb) for s in (silent, own)]
        np.testing.assert_array_equal(*(m.decision_function(b) for m in models))
        self.assertEqual([m.links_ for m in models], [[], []])
        shared = ferryml.Hop(sources=[Source(a, ya, name="old", columns="shared")]).fit(b, yb)
        self.assertEqual(shared.links_, [("target", "x", "old.x", "same_as", 6)])
        self.assertEqual(said(lambda: ferryml.CDSPP(sources=[Source(a[:, :5], ya)]).fit(b, yb)), [])  # not as wide

    @support.with_pandas
    def test_names_are_enough(self):
        import pandas as pd
        names = [f"f{j}" for j in range(X.shape[1])]
        frame = pd.DataFrame(X, columns=names)
        by_name = ferryml.Hop(sources=[Source(frame.iloc[S], Y[S], name="old")])
        self.assertEqual(said(lambda: by_name.fit(frame.iloc[T], FEW)), [])
        self.assertEqual(by_name.links_, [("target", "x", "old.x", "features", 30)])
        shared = ferryml.Hop(sources=[Source(X[S], Y[S], name="old", columns="shared")]).fit(X[T], FEW)
        np.testing.assert_array_equal(by_name.decision_function(frame.iloc[T]), shared.decision_function(X[T]))
        apart = ferryml.CDSPP(sources=[Source(frame.iloc[S].add_prefix("g"), Y[S])])
        self.assertEqual(said(lambda: apart.fit(frame.iloc[T], FEW)), [])
        self.assertEqual(apart.links_, [])
        heard = said(lambda: ferryml.CDSPP(sources=[Source(frame.iloc[S], Y[S], name="old")]).fit(X[T], FEW))
        self.assertRegex(heard[0], "the 30 columns of 'old' have names, those of the target have none.*make_transfer_pipeline")
        heard = said(lambda: ferryml.CDSPP(sources=[Source(X[S], Y[S], name="old")]).fit(frame.iloc[T], FEW))
        self.assertRegex(heard[0], "of the target have names, those of 'old' have none")

    def test_same_as(self):
        a, ya, b, yb = unrelated()
        views = {"p": b, "q": b[:, :4]}
        for other in ("target.p", {"x": "target.p"}):
            model = ferryml.Hop(sources=[Source(a, ya, name="old", same_as=other)]).fit(Domain(views=views), yb)
            self.assertEqual(model.links_, [("target", "p", "old.x", "same_as", 6)])
        bridge = Bridge(views={"p": a, "q": a[:, :4]}, name="between", same_as={"p": "old", "q": "target"})
        model = ferryml.TTL(sources=[Source(a, ya, name="old"), bridge], random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(b[:, :4], yb)
        self.assertEqual(sorted(k[:3] for k in model.links_), [("between", "p", "old.x"), ("target", "x", "between.q")])
        none = Source(views={"x": a}, y=ya, same_as="none")
        self.assertEqual(ferryml.CDSPP(sources=[none]).fit(b, yb).links_, [])
        self.assertEqual(len(ferryml.CDSPP(sources=[Source(views={"x": a}, y=ya)]).fit(b, yb).links_), 1)  # views of one name

    def test_what_cannot_be_meant(self):
        a, ya, b, yb = unrelated()
        for make, words in ((lambda: Source(a, ya, columns="same"), "columns: expected 'shared' or 'own', got 'same'"),
                            (lambda: Source(a, ya, columns="own", same_as="none"), "columns or same_as, not both"),
                            (lambda: Source(a[:, :4], ya, name="old", columns="shared"), "old has 4 and target 6.*make_transfer_pipeline"),
                            (lambda: Source(a, ya, name="old", same_as="q"), "same_as='q': expected 'none', .*there are target.x"),
                            (lambda: Source(a, ya, name="old", same_as={"q": "target"}), "view 'q', which it does not have"),
                            (lambda: Source(views={"p": a, "q": a}, y=ya, columns="shared"), "domains with one view"),
                            (lambda: Source(views={"p": a, "q": a}, y=ya, same_as="target"), "several views")):
            with self.assertRaisesRegex(ValueError, words):
                ferryml.CDSPP().fit(b, yb, sources=[make()])
        with self.assertRaisesRegex(ValueError, "columns is of sources"):
            ferryml.CDSPP().fit(Domain(b, columns="shared"), yb, sources=[Source(a, ya)])

    def test_risks_are_warned_of(self):
        a, ya, b, yb = unrelated()
        few = np.where(np.arange(len(yb)) < 10, yb, np.nan)
        heard = said(lambda: ferryml.TTL(sources=[Source(a, ya, columns="shared")]).fit(b, few))
        self.assertEqual(len(heard), 1)
        self.assertRegex(heard[0], "^TTL: reliability 0.00 of 'target' is no more than chance")
        self.assertEqual(said(lambda: ferryml.TTL(sources=[Source(X[S], Y[S], columns="shared")]).fit(X[T], FEW)), [])

    def test_compare(self):
        a, ya, b, yb = unrelated()
        run = lambda **more: ferryml.compare(b, yb, sources=[Source(a, ya, name="old", **more)], methods=["svm", "hop"], repeats=1, controls="none")
        self.assertEqual(len(said(run)), 1)
        self.assertEqual(said(lambda: run(columns="own")), [])
        self.assertIn("say so: Source(..., columns='shared')", run(columns="own").skipped["hop"])
        self.assertIn("hop", run(columns="shared").runs)


class Transformed(unittest.TestCase):
    """A pipeline transforms the target and never the sources."""

    WORDS = "columns of the target look transformed and those of 'old' do not: .*make_transfer_pipeline"

    def warned(self, model, x=X[T]):
        heard = said(lambda: model.fit(x, FEW))  # a method may hold more against such a result
        return len(re.findall(self.WORDS, "\n".join(heard))) == 1

    def test_pipelines(self):
        raw = Source(X[S], Y[S], name="old", columns="shared")
        for scaler in (StandardScaler(), MinMaxScaler()):
            for kind in (ferryml.TTL, ferryml.CDSPP, ferryml.Hop):
                self.assertTrue(self.warned(make_pipeline(scaler, kind(sources=[raw]))), (scaler, kind))
                scaled = Source(scaler.fit(X[T]).transform(X[S]), Y[S], columns="shared")
                self.assertEqual(said(lambda: kind(sources=[raw]).fit(X[T], FEW)), [])
                self.assertEqual(said(lambda: make_pipeline(scaler, kind(sources=[scaled])).fit(X[T], FEW)), [])
                own = Source(X[S, 1:], Y[S], columns="own")
                if kind is ferryml.CDSPP:  # the only one that needs no link
                    self.assertEqual(said(lambda: make_pipeline(scaler, kind(sources=[own])).fit(X[T], FEW)), [])
        search = GridSearchCV(make_pipeline(StandardScaler(), ferryml.CDSPP(sources=[raw])), {"cdspp__alpha": [1, 10]}, cv=3)
        heard = said(lambda: search.fit(X[T], Y[T]))
        self.assertTrue(heard)
        for line in heard:
            self.assertRegex(line, self.WORDS)

    @support.with_pandas
    def test_frames(self):
        import pandas as pd
        frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
        raw = Source(frame.iloc[S, ::-1], Y[S], name="old")  # other order: names tell
        scaler = StandardScaler().set_output(transform="pandas")
        self.assertTrue(self.warned(make_pipeline(scaler, ferryml.CDSPP(sources=[raw])), frame.iloc[T]))
        self.assertEqual(said(lambda: ferryml.CDSPP(sources=[raw]).fit(frame.iloc[T], FEW)), [])
        holes = frame.mask(np.random.default_rng(0).random(frame.shape) < 0.05)
        self.assertEqual(said(lambda: ferryml.CDSPP(sources=[raw]).fit(holes.iloc[T], FEW)), [])

    def test_counts(self):
        rng = np.random.default_rng(0)
        often = rng.gamma(0.3, size=200) * 0.3
        old, new = (sp.csr_matrix(rng.poisson(often * rng.lognormal(0, 0.5, 200), size=(n, 200)).astype(float)) for n in (400, len(T)))
        y = np.arange(400) % 2
        raw = Source(old, y, name="old", columns="shared")
        self.assertEqual(said(lambda: ferryml.CDSPP(sources=[raw]).fit(new, FEW)), [])
        short = new.multiply(1 / np.maximum(np.sqrt(new.multiply(new).sum(axis=1)), 1) / 3).tocsr()
        self.assertTrue(self.warned(ferryml.CDSPP(sources=[raw]), short))

    def test_shifted_domains_are_no_transformation(self):
        """Halves of a table by one of its columns, and by class, differ; nobody has transformed them."""
        for j in range(0, 30, 3):
            low = X[:, j] <= np.median(X[:, j])
            for a, b in ((low, ~low), (~low, low)):
                source = Source(X[a], Y[a], columns="shared")
                self.assertEqual(said(lambda: ferryml.CDSPP(sources=[source]).fit(X[b], Y[b])), [], j)


if __name__ == "__main__":
    support.main()
