"""Estimators as users of scikit-learn use them: with sources, in pipelines and searches, saved, on all kinds of input."""
import copy
import inspect
import io
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

import support
import numpy as np
import scipy.sparse as sp
import ferryml
from ferryml import Bridge, Domain, FerryWarning, Source, _base, _data
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

XS, YS, XT, YT = support.two_domains()
SOURCES = [Source(XS, YS, name="old")]


def few(y, n=12):
    """The first n labels are known."""
    out = y.astype(float)
    out[n:] = np.nan
    return out


class Transfer(unittest.TestCase):
    def test_hidden_labels_are_not_seen(self):
        shown = few(YT)
        other = shown.copy()
        model = ferryml.CDSPP().fit(XT, shown, sources=SOURCES)
        np.testing.assert_array_equal(model.predict(XT), ferryml.CDSPP().fit(XT, other, sources=SOURCES).predict(XT))
        self.assertGreater(model.score(XT[12:], YT[12:]), 0.7)
        self.assertEqual(model.model_.method, "cdspp")

    def test_none_nan_and_unlabelled_are_the_same(self):
        nan = few(YT)
        none = np.array([None if np.isnan(v) else int(v) for v in nan], dtype=object)
        minus = np.where(np.isnan(nan), -1, nan).astype(int)
        a = ferryml.CDSPP().fit(XT, nan, sources=SOURCES).decision_function(XT)
        b = ferryml.CDSPP().fit(XT, none, sources=SOURCES).decision_function(XT)
        c = ferryml.CDSPP(unlabelled=-1).fit(XT, minus, sources=SOURCES).decision_function(XT)
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)
        self.assertIn(-1, ferryml.SVM().fit(XT, minus).classes_)  # else it is a class

    def test_without_sources_the_target_alone_with_a_warning(self):
        with self.assertWarnsRegex(FerryWarning, "TTL has no sources"):
            model = ferryml.TTL().fit(XT, YT)
        self.assertEqual(model.model_.method, "logreg")
        np.testing.assert_array_equal(model.predict(XT), ferryml.LogReg().fit(XT, YT).predict(XT))

    def test_bridge_of_two_views(self):
        rng = np.random.default_rng(3)
        hidden = rng.random((400, 3))
        a, b = np.abs(hidden @ rng.random((3, 12))), np.abs(hidden @ rng.random((3, 9)))
        y = (hidden[:, 0] > hidden[:, 1]).astype(int)
        names = [[f"{k}{j}" for j in range(n)] for k, n in (("a", 12), ("b", 9))]
        try:
            import pandas as pd
        except ImportError:
            self.skipTest("no pandas")
        frame = [pd.DataFrame(x, columns=n) for x, n in zip((a, b), names)]
        sources = [Source(frame[0][:150], y[:150], name="s"),
                   Bridge(views={"a": frame[0][150:300], "b": frame[1][150:300]}, name="between")]
        model = ferryml.TTL().fit(frame[1][300:], None, sources=sources)
        self.assertEqual(model.model_.method, "ttl")
        self.assertGreater(model.score(frame[1][300:], y[300:]), 0.8)
        self.assertEqual(list(model.feature_names_in_), names[1])

    def test_needs_are_a_value_error(self):
        with self.assertRaisesRegex(ValueError, "htlic needs an intermediate domain"):
            ferryml.HTLIC().fit(XT, YT, sources=SOURCES)

    def test_graph_and_views(self):
        n = len(XT)
        near = sp.csr_matrix((np.ones(n - 1), (np.arange(n - 1), np.arange(1, n))), shape=(n, n))
        order = np.argsort(YT, kind="stable")
        target = Domain(views={"x": XT[order], "z": XT[order] ** 2}, graphs={"next": near})
        y = YT[order].astype(float)
        y[::2] = np.nan
        model = ferryml.GBC().fit(target, y)
        self.assertGreater(np.mean(model.predict(target)[::2] == YT[order][::2]), 0.8)
        spread = ferryml.LabelPropagation().fit(Domain(graphs={"next": near}), y)
        self.assertGreater(np.mean(spread.predict(Domain(graphs={"next": near}))[::2] == YT[order][::2]), 0.8)

    def test_multilabel(self):
        on = np.column_stack([YT, 1 - YT, XT[:, 0] > 0]).astype(int)
        for kind in (ferryml.RankSVM, ferryml.KNN, ferryml.MMLTL):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = kind().fit(XT, on)
            got = model.predict(XT)
            self.assertEqual(got.shape, on.shape)
            self.assertGreater(np.mean(got == on), 0.8)
            self.assertEqual(model.decision_function(XT).shape, on.shape)

    def test_probabilities_add_up(self):
        for name in ferryml._estimators:
            kind = getattr(ferryml, name)
            if not issubclass(kind, _base._Proba) or name in ("GBC", "GBDTAverage"):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    model = kind().fit(XT, few(YT, 40), sources=SOURCES)
                except ferryml.FerryNeedsError:
                    continue
            p = model.predict_proba(XT)
            self.assertTrue((p >= 0).all() and np.allclose(p.sum(axis=1), 1), name)
            np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(XT), name)


def blocks(seed=0, n=120):
    """A graph that joins rows of a class, weak features, a quarter of the labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    x = rng.normal(size=(n, 6)) + 0.35 * rng.normal(size=(3, 6))[y]
    near = np.triu(rng.random((n, n)) < np.where(y[:, None] == y[None], 0.1, 0.006), 1).astype(float)
    return x, sp.csr_matrix(near + near.T), y, np.where(rng.random(n) < 0.25, y, np.nan)


class Graphs(unittest.TestCase):
    """Rows without ids are recognised, and answered in the caller's order."""

    KINDS = ("LabelPropagation", "CorrectSmooth", "ICA", "SGC", "GBC")

    def same(self, got, want, *what):
        np.testing.assert_array_equal(got, want, " ".join(what))

    def test_rows_of_the_fit_need_no_ids(self):
        x, near, _, y = blocks()
        named = Domain(views={"x": x}, graphs={"g": near}, ids=[f"r{i}" for i in range(len(x))])
        plain = Domain(views={"x": x}, graphs={"g": near})
        alike = Domain(views={"x": np.asfortranarray(x)}, graphs={"g": near.tocoo()})
        for name in self.KINDS:
            kind = getattr(ferryml, name)
            fixed = {"C": 1.0} if "C" in kind().get_params() else {}  # folds that choose it go by ids, or by what rows hold
            want = kind(**fixed).fit(named, y).predict(named)
            model = kind(**fixed).fit(plain, y)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                for d in (plain, alike):
                    self.same(model.predict(d), want, name)
                    self.same(pickle.loads(pickle.dumps(model)).predict(d), want, name, "pickled")

    def test_other_rows_are_new(self):
        x, near, _, y = blocks()
        model = ferryml.LabelPropagation().fit(Domain(views={"x": x}, graphs={"g": near}), y)
        with self.assertWarnsRegex(FerryWarning, "as many rows as that of fit and no ids.*give ids"):
            got = model.predict(Domain(views={"x": x + 1}, graphs={"g": near}))
        self.assertEqual(len(set(got)), 1)  # no label reaches them
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.predict(Domain(views={"x": x[:50]}, graphs={"g": near[:50, :50]}))

    def test_graphs_alone_answer_by_row(self):
        near = np.zeros((7, 7))
        for a, b in [(0, 2), (0, 4), (2, 4), (1, 3), (1, 5), (3, 5)]:  # two cliques; row 6 is alone
            near[a, b] = near[b, a] = 1
        near = sp.csr_matrix(near)
        for ids in (None, list("abcdefg"), [3.0, 2.0, 1.0, 0.0, 7.0, 8.0, 9.0]):
            for known in ((0, 1), (0, 3), (1, 2)):
                y = np.full(7, np.nan)
                y[list(known)] = np.array(known) % 2
                d = Domain(graphs={"g": near}, ids=ids)
                model = ferryml.LabelPropagation().fit(d, y)
                for asked in (d, Domain(graphs={"g": near.copy()}, ids=ids)):
                    self.assertEqual(model.predict(asked)[:6].tolist(), [0, 1, 0, 1, 0, 1])
                self.assertEqual(model.score(d, [0, 1, 0, 1, 0, 1, 0]) >= 6 / 7, True)
            z = ferryml.CoCA(d=1).fit_transform(d).ravel()
            self.assertEqual(len(z), 7)
            self.assertTrue(np.allclose(z[[0, 2, 4]], z[0]) and np.allclose(z[[1, 3, 5]], z[1]) and abs(z[0] - z[1]) > 0.1)
        model = ferryml.LabelPropagation().fit(Domain(graphs={"g": near}), y)
        more = near.tolil()
        more[6, 0] = 1
        with self.assertWarnsRegex(FerryWarning, "row i is taken for row i of fit"):
            self.assertEqual(model.predict(Domain(graphs={"g": more.tocsr()})).tolist(), [0, 1, 0, 1, 0, 1, 0])

    def test_answers_in_the_order_of_ids(self):
        x, near, _, y = blocks()
        order = np.random.default_rng(1).permutation(len(x))
        ids = np.array([f"r{i}" for i in range(len(x))])
        start, end = sp.triu(near).nonzero()
        edges = (ids[start], ids[end])
        whole = Domain(views={"x": (ids, x)}, graphs={"g": edges})
        turned = Domain(views={"x": (ids[order], x[order])}, graphs={"g": edges}, ids=ids)
        for name in self.KINDS:
            kind = getattr(ferryml, name)
            want = kind().fit(whole, y).predict(whole)
            self.same(kind().fit(whole, y).predict(turned), want, name)
        with self.assertRaisesRegex(ValueError, "in which order .* give ids"):
            ferryml.LabelPropagation().fit(Domain(graphs={"g": edges}), y)
        with self.assertRaisesRegex(ValueError, "120 rows for 119 instances"):
            ferryml.LabelPropagation().fit(Domain(graphs={"g": near}, ids=ids[1:]), y[1:])


class Family(unittest.TestCase):
    """What scikit-learn's tools do with them."""

    def test_cross_val_score_with_sources(self):
        scores = cross_val_score(ferryml.CDSPP(sources=SOURCES), XT, YT, cv=3)
        self.assertTrue((scores > 0.6).all(), scores)

    def test_grid_search_in_a_pipeline(self):
        search = GridSearchCV(make_pipeline(StandardScaler(), ferryml.CDSPP(sources=SOURCES)), {"cdspp__alpha": [0.1, 1, 10]}, cv=3)
        search.fit(XT, YT)
        self.assertIn(search.best_params_["cdspp__alpha"], (0.1, 1, 10))
        self.assertGreater(search.best_score_, 0.6)

    def test_sources_by_routing(self):
        import sklearn
        if not hasattr(ferryml.CDSPP, "set_fit_request"):
            self.skipTest("scikit-learn before 1.3 has no metadata routing")
        with sklearn.config_context(enable_metadata_routing=True):
            model = make_pipeline(StandardScaler(), ferryml.CDSPP().set_fit_request(sources=True))
            model.fit(XT, YT, sources=SOURCES)
            self.assertEqual(model[-1].model_.method, "cdspp")

    def test_clone_shares_the_data(self):
        copy = clone(ferryml.TTL(sources=SOURCES, random_state=3))
        self.assertIs(copy.sources[0].X, XS)
        self.assertEqual(copy.random_state, 3)

    def test_domains_have_no_length(self):
        for d in SOURCES + [Domain(XT)]:
            self.assertFalse(hasattr(d, "__len__") or hasattr(d, "shape"))
        self.assertIn("120 x 6", repr(SOURCES[0]))

    def test_set_output(self):
        try:
            import pandas  # noqa: F401
        except ImportError:
            self.skipTest("no pandas")
        out = ferryml.PCAJoined(d=2).set_output(transform="pandas").fit_transform(XT)
        self.assertEqual(list(out.columns), ["pcajoined0", "pcajoined1"])

    def test_html(self):
        self.assertIn("alpha=3", ferryml.CDSPP(alpha=3)._repr_html_())

    def test_joblib(self):
        from joblib import Parallel, delayed
        alone = cross_val_score(ferryml.CDSPP(sources=SOURCES, n_jobs=1), XT, YT, cv=3)
        for backend in ("loky", "threading", "multiprocessing"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                got = Parallel(n_jobs=2, backend=backend)(
                    delayed(cross_val_score)(ferryml.CDSPP(sources=SOURCES, n_jobs=1), XT, YT, cv=3) for _ in range(2))
            for scores in got:
                np.testing.assert_allclose(scores, alone, err_msg=backend)

    def test_threads(self):
        want = ferryml.HeMap(n_jobs=1).fit(XT, YT, sources=SOURCES).decision_function(XT)
        got = [None] * 4

        def work(k):
            got[k] = ferryml.HeMap(n_jobs=1).fit(XT, YT, sources=SOURCES).decision_function(XT)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for g in got:
            np.testing.assert_array_equal(g, want)

    def test_threadpoolctl(self):
        """A fit leaves the limits of other libraries as they were, and gives the same under them. A wheel's OpenBLAS is ferryml's own."""
        from threadpoolctl import threadpool_info, threadpool_limits
        limits = lambda: {p["filepath"]: p["num_threads"] for p in threadpool_info() if "ferryml.libs" not in p["filepath"]}
        want = ferryml.HeMap(n_jobs=1).fit(XT, YT, sources=SOURCES).decision_function(XT)
        for most in (1, 2):
            with threadpool_limits(limits=most):
                before = limits()
                got = ferryml.HeMap(n_jobs=1).fit(XT, YT, sources=SOURCES).decision_function(XT)
                self.assertEqual(before, {k: v for k, v in limits().items() if k in before})
            np.testing.assert_allclose(got, want, atol=1e-8)

    def test_fork(self):
        ferryml.SVM().fit(XT, YT)  # with threads, which a child does not have
        pid = os.fork()
        if pid == 0:
            os._exit(0 if ferryml.SVM().fit(XT, YT).score(XT, YT) > 0.5 else 1)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)


class Saving(unittest.TestCase):
    def test_pickle_every_estimator(self):
        n = 0
        for name in ferryml._estimators:
            model = getattr(ferryml, name)()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    if isinstance(model, _base.FerryRater):
                        model.fit(PAIRS, STARS, sources=[Source(ratings=(*PAIRS.T, STARS))])
                        x = PAIRS
                    elif isinstance(model, _base.FerryRegressor):
                        model.fit(XT, XT[:, 0], sources=[Source(XT, XT[:, 0], columns="shared")])
                        x = XT
                    else:
                        model.fit(XT, YT, sources=SOURCES)
                        x = XT
                except ferryml.FerryNeedsError:
                    continue
            back = pickle.loads(pickle.dumps(model))
            call = "transform" if hasattr(model, "transform") else "predict"
            np.testing.assert_array_equal(getattr(model, call)(x), getattr(back, call)(x), name)
            n += 1
        self.assertGreater(n, 35)

    def test_pickled_without_sources(self):
        """A fitted model predicts without its sources, so its pickle has none; a copy has, and so has one that is not fitted."""
        wide = Source(np.tile(XS, (200, 1)), np.tile(YS, 200), name="wide")
        model = ferryml.CDSPP(sources=[wide])
        self.assertEqual(pickle.loads(pickle.dumps(model)).sources[0].X.shape, wide.X.shape)
        model.fit(XT, YT)
        pipe = ferryml.make_transfer_pipeline(ferryml.CDSPP(sources=[wide])).fit(XT, YT)
        for fitted, inside in ((model, model), (pipe, pipe.steps[-1][1])):
            data = pickle.dumps(fitted)
            self.assertLess(len(data), 50_000)
            back = pickle.loads(data)
            np.testing.assert_array_equal(back.predict(XT), fitted.predict(XT))
            self.assertIn("left out of the pickle", repr(back))
            for again in (back, clone(back)):
                with self.assertRaisesRegex(ValueError, "pickled without its sources: .* give them"):
                    again.fit(XT, YT)
            np.testing.assert_array_equal(clone(back).fit(XT, YT, sources=[wide]).predict(XT), fitted.predict(XT))
            self.assertIs(inside.sources[0], wide)  # that which was pickled keeps them
            for twin in (copy.copy(fitted), copy.deepcopy(fitted)):
                np.testing.assert_array_equal(twin.fit(XT, YT).predict(XT), fitted.predict(XT))
        streams = ferryml.HetOMTL(sources=[SOURCES[0]]).fit(XT[:20], YT[:20])
        other = copy.deepcopy(streams).partial_fit(XT[20:], 1 - YT[20:])
        self.assertFalse((other.decision_function(XT) == streams.decision_function(XT)).all())  # the copy alone learned

    def test_a_file_of_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.ferry")
            model = ferryml.SVM().fit(XT, np.where(YT, "yes", "no"))
            model.save(path)
            back = ferryml.load(path)
            self.assertEqual(list(back.classes_), ["no", "yes"])
            np.testing.assert_array_equal(back.predict(XT), model.predict(XT))
            table = os.path.join(folder, "x.npy")
            np.save(table, XT)
            out = os.path.join(folder, "p.csv")
            done = subprocess.run([support.FERRY, "predict", path, table, "-o", out], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(out, encoding="utf-8") as f:
                said = [line.split(",")[1] for line in f.read().split("\n")[1:] if line]
            self.assertEqual(said, list(model.predict(XT)))

    def test_a_stream_of_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            path = lambda name: os.path.join(folder, name)
            names = [f"f{j}" for j in range(XT.shape[1])] + ["class"]
            np.savetxt(path("x.csv"), np.c_[XT, YT], fmt=["%.17g"] * XT.shape[1] + ["%d"], delimiter=",", header=",".join(names), comments="")
            with open(path("t.yaml"), "w", encoding="utf-8") as f:
                f.write("task: t\ngoal: stream\ndomains:\n- {name: t, role: target, x: x.csv, label: class, labelled: 30}\n")
            done = subprocess.run([support.FERRY, "fit", path("t.yaml"), "-m", "mpa", "-o", path("m.ferry")], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            model = ferryml.load(path("m.ferry"))
        self.assertEqual((type(model), model.model_.goal, model.classes_.tolist()), (ferryml.MPA, "stream", [0, 1]))
        self.assertGreater(model.partial_fit(XT, YT).score(XT, YT), 0.7)
        self.assertEqual(model.predict_one(XT[0]), model.predict(XT[:1])[0])

    def test_no_such_file(self):
        for call in (ferryml.read, ferryml.load, ferryml.load_results):
            with self.assertRaises(FileNotFoundError) as caught:
                call(os.path.join("no", "such.file"))
            self.assertIsInstance(caught.exception, ferryml.FerryError)
            self.assertEqual(caught.exception.filename, os.path.join("no", "such.file"))

    def test_damage_is_told(self):
        data = bytearray(ferryml.SVM().fit(XT, YT).model_.to_bytes())
        data[-1] ^= 1
        with self.assertRaisesRegex(ValueError, "corrupt"):
            ferryml.Model.from_bytes(bytes(data))


class Inputs(unittest.TestCase):
    def test_same_numbers_whatever_the_storage(self):
        want = ferryml.SVM().fit(XT, YT).decision_function(XT)
        wide = np.zeros((len(XT), 2 * XT.shape[1]))
        wide[:, ::2] = XT
        kinds = [np.asfortranarray(XT), wide[:, ::2], XT.tolist(), XT.astype(object), sp.csr_matrix(XT), sp.csc_matrix(XT),
                 sp.coo_matrix(XT)]
        big = sp.csr_matrix(XT)
        big.indices, big.indptr = big.indices.astype(np.int64), big.indptr.astype(np.int64)
        for x in kinds + [big]:
            np.testing.assert_allclose(ferryml.SVM().fit(x, YT).decision_function(x), want, rtol=1e-9, atol=1e-9)
        single = ferryml.SVM().fit(XT.astype(np.float32), YT).decision_function(XT.astype(np.float32))
        np.testing.assert_allclose(single, want, atol=1e-3)

    def test_arrays_are_lent(self):
        x = np.random.default_rng(0).random((1000, 50))
        self.assertIs(_data.matrix(x)[0], x)
        s = sp.random(1000, 500, 0.1, format="csr", random_state=0)
        self.assertIs(_data.matrix(s)[0], s)
        scaled = s.copy()
        scaled.data = s.data * 2
        self.assertIs(_data.matrix(scaled)[0].indices, scaled.indices)

    def test_a_large_csr_is_not_copied(self):
        """240 MB go in without a copy, and a fit that scales them takes their values (160 MB) anew, not their index. Peaks of resident
        memory, in a process of its own."""
        with open("/proc/meminfo", encoding="ascii") as f:
            free = next(int(line.split()[1]) * 1024 for line in f if line.startswith("MemAvailable"))
        if free < 1.5e9:
            self.skipTest(f"{free / 1e9:.1f} GB of memory are free, of 1.5 that this takes")
        code = """import sys; sys.path.insert(0, sys.argv[1])
import numpy as np, scipy.sparse as sp, ferryml
from ferryml import _data, _lib
from ctypes import byref, c_void_p
def held(name):
    with open('/proc/self/status') as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith(name))
def peak(call):
    with open('/proc/self/clear_refs', 'w') as f: f.write('5')  # the peak begins anew
    before = held('VmRSS'); out = call(); print(held('VmHWM') - before); return out
n, k = 200000, 100
x = sp.csr_matrix((np.arange(1., n * k + 1) % 7 + 1, np.tile(np.arange(0, 10 * k, 10, dtype=np.int32), n), np.arange(0, n * k + 1, k)), shape=(n, 10 * k + 10))
x.has_canonical_format
y = np.arange(n) % 2 + x.data[::k]
for a in (x.data, x.indices, x.indptr): a.flags.writeable = False  # what is lent is read alone
ctx = _lib.context(); d = c_void_p(); ctx.call(_lib.lib.ferry_domain_new, b't', 2, byref(d))
peak(lambda: _data.add_view(ctx, d, 'x', _data.matrix(x)[0]))
_lib.lib.ferry_domain_free(d); assert not _data._lent
few = x[:1000]; ferryml.RidgeRegressor(lambda_=1, scale='l2', n_jobs=1).fit(few, y[:1000])  # what a first fit loads
model = peak(lambda: ferryml.RidgeRegressor(lambda_=1, scale='l2', n_jobs=1).fit(x, y))
assert not _data._lent
print(model.predict(x[:5])[0])
"""
        here = os.path.dirname(os.path.dirname(ferryml.__file__))
        done = subprocess.run([sys.executable, "-B", "-c", code, here], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        entered, fitted = map(int, done.stdout.split()[:2])
        self.assertLess(entered, 40e6)  # row starts and ids are the library's
        self.assertLess(fitted, 160e6 + 70e6)  # an index would be 80 MB more; beside the values: starts, ids, labels, X'X

    def test_models_keep_nothing_that_was_lent(self):
        """Whoever changes his array after the fit changes no model, however the features are scaled."""
        rng = np.random.default_rng(5)
        dense = np.abs(XT)
        sparse = sp.random(len(YT), 80, 0.08, format="csr", random_state=rng)
        for x in (dense, sparse):
            source = Source(x.copy(), YT, columns="shared")
            for name in ferryml._estimators:
                kind = getattr(ferryml, name)
                if issubclass(kind, _base.FerryRater):
                    continue
                options = [o for o, _, _ in kind._options]
                for settings in ({}, {"scale": "none"}, {"mode": "paper", "scale": "none"}):
                    if not set(settings) <= set(options):
                        continue
                    mine, y = x.copy(), YT if issubclass(kind, _base.FerryClassifier) else YT.astype(float)
                    if "d" in options and issubclass(kind, _base.FerryTransformer):
                        settings = {**settings, "d": 2}
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        try:
                            model = kind(n_jobs=1, **settings).fit(mine, y, sources=[source])
                        except ValueError:
                            continue  # needs more, or values of another kind
                        self.assertEqual(_data._lent, {}, (name, settings))
                        answer = model.transform if hasattr(model, "transform") else model.predict
                        before = answer(x)
                        if sp.issparse(mine):
                            mine.data[:], mine.indices[:] = 9, 0
                        else:
                            mine[:] = 9
                        np.testing.assert_array_equal(answer(x), before, f"{name} {settings}")

    def test_errors_are_those_of_scikit_learn(self):
        model = ferryml.SVM().fit(XT, YT)
        for call, kind, words in (
                (lambda: ferryml.SVM().predict(XT), NotFittedError, "not fitted"),
                (lambda: model.predict(XT[:, :3]), ValueError, "features"),
                (lambda: model.predict(XT[0]), ValueError, "Reshape"),
                (lambda: ferryml.SVM().fit(XT, YT[:5]), ValueError, "inconsistent"),
                (lambda: ferryml.SVM().fit(np.empty((0, 3)), []), ValueError, "0 sample"),
                (lambda: ferryml.SVM().fit([["a", "b"]] * 4, [0, 1, 0, 1]), ValueError, "could not convert"),
                (lambda: ferryml.SVM().fit(np.full((4, 2), np.inf), [0, 1, 0, 1]), ValueError, "infinity"),
                (lambda: ferryml.SVM().fit(XT, XT[:, 0]), ValueError, "Unknown label type"),
                (lambda: ferryml.SVM().fit(XT, None), ValueError, "requires y"),
                (lambda: ferryml.TTL().fit(XT, YT, sources=[XS]), TypeError, "expected Source or Bridge"),
                (lambda: ferryml.CDSPP().fit(XT, YT, sources=[Source(XS, YS[:3])]), ValueError, "120 instances and 3 labels"),
                (lambda: ferryml.CDSPP().fit(XT, YT, sources=[Source(XS, YS.astype(str))]), ValueError, "text"),
                (lambda: ferryml.GBDT(depth=0).fit(XT, YT), ValueError, "depth = 0")):
            with self.assertRaisesRegex(kind, words):
                call()

    def test_missing_cells(self):
        x = XT.copy()
        x[::7, 2] = np.nan
        self.assertGreater(ferryml.GBDT().fit(x, YT).score(x, YT), 0.8)

    def test_frames(self):
        try:
            import pandas as pd
        except ImportError:
            self.skipTest("no pandas")
        names = [f"f{j}" for j in range(XT.shape[1])]
        frame = pd.DataFrame(XT, columns=names)
        model = ferryml.SVM().fit(frame, pd.Series(YT))
        np.testing.assert_array_equal(model.predict(frame), ferryml.SVM().fit(XT, YT).predict(XT))
        with self.assertRaises((ValueError, FutureWarning)), warnings.catch_warnings():
            warnings.simplefilter("error")
            model.predict(frame[names[::-1]])

    def test_polars(self):
        """By the data frame protocol: names and numbers arrive, a missing cell as NaN."""
        try:
            import polars as pl
        except ImportError:
            self.skipTest("no polars")
        frame = pl.DataFrame({f"f{j}": XT[:, j] for j in range(XT.shape[1])})
        model = ferryml.SVM().fit(frame, YT)
        np.testing.assert_array_equal(model.predict(frame), ferryml.SVM().fit(XT, YT).predict(XT))
        self.assertEqual(list(model.feature_names_in_), frame.columns)
        x = XT.copy()
        x[::7, 2] = np.nan
        holes = frame.with_columns(pl.Series("f2", [None if np.isnan(v) else v for v in x[:, 2]]))
        np.testing.assert_array_equal(ferryml.GBDT().fit(holes, YT).predict(holes), ferryml.GBDT().fit(x, YT).predict(x))

    @support.with_pandas
    def test_labels_keep_their_types(self):
        """Columns of pandas in which labels are missing: whole numbers stay whole numbers, truth values truth values."""
        import pandas as pd
        words, shown = np.where(YT, "good", "bad"), np.arange(len(YT)) < 12
        want = ferryml.CDSPP().fit(XT, few(YT), sources=SOURCES).predict(XT)
        for values, old, kind in ((YT, YS, "Int64"), (YT, YS, "category"), (YT.astype(bool), YS.astype(bool), "boolean"),
                                  (words, np.where(YS, "good", "bad"), "string"), (words, np.where(YS, "good", "bad"), "category")):
            y = pd.Series(values, dtype=kind).where(shown)
            self.assertEqual(str(y.dtype), kind)
            source = Source(XS, pd.Series(old, dtype=kind))
            for given in (y, y.array, y.astype(object)):
                model = ferryml.CDSPP().fit(XT, given, sources=[source])
                self.assertEqual(model.classes_.dtype.kind, values.dtype.kind, kind)
                np.testing.assert_array_equal(model.predict(XT), np.unique(values)[want.astype(int)], kind)
        numbers = pd.Series(XT[:, 0], dtype="Float64").where(shown)
        self.assertTrue(np.isfinite(ferryml.RidgeRegressor().fit(XT, numbers).predict(XT)).all())
        holes = pd.DataFrame(XS).astype("Float64").mask(XS > 2)
        np.testing.assert_array_equal(_data.matrix(holes)[0], np.where(XS > 2, np.nan, XS))

    @support.with_pandas
    def test_categories(self):
        """One column for each value, as of a file."""
        import pandas as pd
        frame = pd.DataFrame(XT[:, 1:], columns=[f"f{j}" for j in range(1, XT.shape[1])])
        frame.insert(0, "sign", pd.Categorical(np.where(XT[:, 0] > 0, "plus", "minus")))
        frame.loc[3, "sign"] = None
        with tempfile.TemporaryDirectory() as folder:
            frame.to_csv(os.path.join(folder, "x.csv"), index=False)
            file = ferryml.read(os.path.join(folder, "x.csv"))
        x, names = _data.matrix(frame)
        np.testing.assert_array_equal(x[:, [names.index(n) for n in file.feature_names]], file.X)
        self.assertEqual(sorted(names), sorted(file.feature_names))
        model = ferryml.SVM().fit(frame, YT)
        self.assertEqual((model.n_features_in_, list(model.feature_names_in_)), (XT.shape[1], list(frame.columns)))
        want = ferryml.SVM().fit(x, YT).decision_function(x)
        np.testing.assert_allclose(model.decision_function(frame), want)
        for some in (frame[5:9].assign(sign=frame.sign[5:9].cat.remove_unused_categories()), frame[5:9].astype({"sign": object})):
            np.testing.assert_allclose(model.decision_function(some), want[5:9])
        with self.assertWarnsRegex(FerryWarning, "'sign' has a value that was not there at the fit, 'none'"):
            model.predict(frame.assign(sign="none"))
        stream = ferryml.MPA().fit(frame, YT)
        self.assertEqual(stream.predict_one(frame.iloc[7].to_dict()), stream.predict(frame[7:8])[0])
        source = Source(frame[:40].rename(columns={"f1": "other"}), YT[:40])
        self.assertGreater(ferryml.Hop().fit(frame[40:], few(YT[40:]), sources=[source]).score(frame[40:], YT[40:]), 0.6)

    def test_sources_by_name(self):
        with self.assertRaisesRegex(ValueError, "view 'x' of new has 120 rows and 3 ids"):
            ferryml.CDSPP(sources={"new": Source(XS, YS, ids=[1, 2, 3])}).fit(XT, YT)
        self.assertEqual([n for n, _ in _data.as_domains({"a": Source(XS), "b": Bridge(XS, name="c")})], ["a", "b"])
        advice = ferryml.advise(XT, YT, sources={"old": Source(XS, YS)}, methods=["svm", "cdspp"])
        self.assertIn("old", [d["name"] for d in advice.details["domains"]])

    def test_balanced_classes(self):
        """Of two classes that overlap, one of them rare, the rare one is found more often: about as often as the other."""
        rng = np.random.default_rng(2)
        y = (np.arange(600) % 12 == 0).astype(int)
        x = rng.normal(size=(600, 3)) + y[:, None]
        for kind in (ferryml.SVM, ferryml.LogReg):
            plain, even = (kind(balanced=b).fit(x, y).predict(x) for b in (False, True))
            self.assertGreater(even[y == 1].mean(), plain[y == 1].mean() + 0.2, kind)
            self.assertLess(abs(even[y == 1].mean() - (1 - even[y == 0]).mean()), 0.15, kind)



class Weights(unittest.TestCase):
    WEIGHTED = [name for name in ferryml._estimators if "sample_weight" in inspect.signature(getattr(ferryml, name).fit).parameters]

    @staticmethod
    def worlds():
        """(name, X) as the scaling rule takes them apart; and y as classes, sets and numbers."""
        rng = np.random.default_rng(3)
        y = np.arange(90) % 3
        x = rng.normal(size=(90, 6)) + y[:, None] * rng.normal(size=6)
        words = np.where(rng.random((90, 40)) < 0.08, 1.0 + rng.poisson(1, (90, 40)), 0) + np.eye(40)[y]
        parts = rng.poisson(3, (90, 30)) * (rng.random((90, 30)) < 0.7) + 3.0 * np.eye(30)[7 * y]
        return [("table", x), ("words", sp.csr_matrix(words)), ("parts", parts), ("far", x + [1e5, 0, 0, 0, 0, 0]),
                ("missing", np.where(rng.random(x.shape) < 0.1, np.nan, x))], y, np.eye(3)[y], x @ rng.normal(size=6)

    def test_weight_is_repetition(self):
        """Weight 2 is the row twice, 0 no row, 1 nothing new, to 1e-8; on data of every scale, with chosen settings."""
        worlds, classes, sets, numbers = self.worlds()
        weight = np.random.default_rng(4).integers(0, 4, 90)
        again = np.repeat(np.arange(90), weight)
        self.assertGreaterEqual(len(self.WEIGHTED), 11)
        for name in self.WEIGHTED:
            kind = getattr(ferryml, name)
            goals = [numbers] if name.endswith("Regressor") else ([classes] if "classify" in kind._goals else []) + [sets] * kind._multilabel
            for world, x in worlds:
                for y in goals:
                    model = kind()
                    ask = model.predict if y is numbers else model.decision_function
                    heavy = (model.fit(x, y, weight), ask(x))[1]
                    twice = (model.fit(x[again], y[again]), ask(x))[1]
                    np.testing.assert_allclose(heavy, twice, atol=1e-8, rtol=1e-8, err_msg=f"{name}, {world}")
                    ones, plain = ((model.fit(x, y, w), ask(x))[1] for w in (np.ones(90), None))
                    np.testing.assert_array_equal(ones, plain, f"{name}, {world}")

    def test_parts_of_rows(self):
        """All weights times a number is another penalty, the same ratios; a heavy class is chosen more often; ids and several views."""
        y = (np.arange(200) % 8 == 0).astype(int)
        x = np.random.default_rng(5).normal(size=(200, 3)) + y[:, None]
        plain = ferryml.LogReg().fit(x, y).predict(x).mean()
        heavy = ferryml.LogReg().fit(x, y, np.where(y == 1, 6.5, 0.75)).predict(x).mean()
        self.assertGreater(heavy, plain + 0.1)
        views = Domain(views={"a": x[:, :2], "b": x[:, 2:]})
        with self.assertRaisesRegex(ValueError, "200 weights without ids need one view"):
            ferryml.LogReg().fit(views, y, np.ones(200))
        by_id = Domain(x, ids=[f"r{i}" for i in range(200)])
        weight = np.where(y == 1, 6.5, 0.75)
        np.testing.assert_allclose(ferryml.LogReg().fit(by_id, y, weight).decision_function(by_id),
                                   ferryml.LogReg().fit(x, y, weight).decision_function(x), rtol=1e-8)

    def test_hidden_labels(self):
        """A row of weight 0 has no label; beside hidden labels weights go with their rows."""
        y = few(YT, 40)
        weight = np.ones(len(YT))
        weight[::3] = 0
        a = ferryml.LogReg().fit(XT[weight > 0], y[weight > 0]).decision_function(XT)
        np.testing.assert_allclose(ferryml.LogReg().fit(XT, y, weight).decision_function(XT), a, atol=1e-10)

    def test_refused(self):
        for wrong, sentence in ((np.full(len(YT), -1.0), "weight 1 is -1"), (np.full(len(YT), np.nan), "weight 1 is nan"),
                                (np.zeros(len(YT)), "all weights are zero"), (np.ones(3), "sample_weight.shape"), (np.ones((len(YT), 2)), "1D")):
            with self.assertRaisesRegex(ValueError, sentence):
                ferryml.SVM().fit(XT, YT, wrong)
        with self.assertRaises(TypeError):
            ferryml.CDSPP().fit(XT, YT, sample_weight=np.ones(len(YT)))

    def test_others_that_weigh(self):
        """AdaBoost and bagging of scikit-learn give their weights on."""
        from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
        self.assertGreater(BaggingClassifier(ferryml.LogReg(), n_estimators=3, random_state=0).fit(XT, YT).score(XT, YT), 0.7)
        pipe = make_pipeline(StandardScaler(), ferryml.Ridge()).fit(XT, YT, ridge__sample_weight=np.ones(len(YT)))
        self.assertGreater(pipe.score(XT, YT), 0.7)
        self.assertGreater(AdaBoostClassifier(ferryml.LogReg(), n_estimators=3, random_state=0).fit(XT, YT).score(XT, YT), 0.7)


class Streams(unittest.TestCase):
    def test_partial_fit_is_learn_one(self):
        a = ferryml.MPA().partial_fit(XT[:20], YT[:20]).partial_fit(XT[20:], YT[20:])
        b = ferryml.MPA().fit(XT[:20], YT[:20])
        for x, y in zip(XT[20:], YT[20:]):
            b.learn_one(x, y)
        np.testing.assert_array_equal(a.decision_function(XT), b.decision_function(XT))
        self.assertGreater(a.score(XT, YT), 0.7)
        self.assertIn(b.predict_one(dict(enumerate(XT[0]))), (0, 1))

    def test_places(self):
        """Few numbers are found as searchsorted finds them; what is below, between and above the classes is none."""
        rng = np.random.default_rng(3)
        for k in (1, 2, 5, 8, 9, 20):
            known = np.unique(rng.integers(-30, 30, k))
            asked = rng.integers(-35, 35, 200)
            for a, b in ((known, asked), (known.astype(float), asked.astype(float)), (known.astype(float), asked),
                         (known.astype(str), asked.astype(str))):
                a = np.unique(a)
                at = np.minimum(np.searchsorted(a, b), len(a) - 1)
                np.testing.assert_array_equal(_data.Classes(a).find(b), np.where(a[at] == b, at, -1))

    def test_batches_of_all_kinds(self):
        """Sparse, with labels that are not known and a class that is new: as one row after the other."""
        y = np.array([None if i % 4 == 1 else 5 if i % 9 == 8 else v for i, v in enumerate(YT)], dtype=object)
        one = ferryml.MPA().fit(XT[:20], YT[:20])
        for x, label in zip(XT[20:], y[20:]):
            one.predict_one(x) if label is None else one.learn_one(x, label)
        for x in (XT, sp.csr_matrix(XT), XT.tolist()):
            many = ferryml.MPA().fit(XT[:20], YT[:20]).partial_fit(x[20:], y[20:])
            self.assertEqual(list(many.classes_), [0, 1, 5])
            np.testing.assert_array_equal(many.decision_function(XT), one.decision_function(XT))
        before = many.decision_function(XT)
        bad = XT.copy()
        bad[-1, 2] = np.inf
        with self.assertRaisesRegex(ValueError, "infinite"):
            many.partial_fit(bad, YT)
        np.testing.assert_array_equal(many.decision_function(XT), before)  # no row of it was learned

    def test_classes_that_are_announced(self):
        ones = XT[YT == 1]
        for sources in (None, SOURCES):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = ferryml.HetOMTL().partial_fit(ones[:20], np.ones(20, dtype=int), classes=[0, 1, 5], sources=sources)
            self.assertEqual(model.classes_.tolist(), [0, 1, 5])
            self.assertEqual(model.decision_function(XT).shape, (len(XT), 3))
            self.assertGreater(model.partial_fit(XT, YT).score(XT, YT), 0.7)
            self.assertEqual(model.partial_fit(XT[:2], YT[:2], classes=[0, 1, 7]).classes_.tolist(), [0, 1, 5, 7])
            self.assertLessEqual(set(model.predict(XT)), {0, 1})

    def test_a_class_that_comes_later(self):
        model = ferryml.HetOMTL().fit(XT[:40], YT[:40], sources=SOURCES)
        for x in XT[40:60]:
            model.learn_one(x + 50, 7)
        self.assertEqual(list(model.classes_), [0, 1, 7])
        self.assertEqual(model.predict_one(XT[60] + 50), 7)

    def test_state_travels(self):
        model = ferryml.MPA().fit(XT[:40], YT[:40])
        model.learn_one(XT[41], YT[41])
        back = pickle.loads(pickle.dumps(model))
        model.learn_one(XT[42], YT[42])
        back.learn_one(XT[42], YT[42])
        np.testing.assert_array_equal(model.decision_function(XT), back.decision_function(XT))


def ratings(seed=0, users=40, items=30, n=600):
    rng = np.random.default_rng(seed)
    u, v = rng.normal(size=(users, 2)), rng.normal(size=(items, 2))
    at = rng.choice(users * items, n, replace=False)
    pairs = np.column_stack([at // items, at % items])
    stars = np.clip(3 + np.sum(u[pairs[:, 0]] * v[pairs[:, 1]], axis=1), 1, 5)
    return pairs, stars


PAIRS, STARS = ratings()


class Ratings(unittest.TestCase):
    def test_fit_predict_recommend(self):
        model = ferryml.MF().fit(PAIRS[:500], STARS[:500])
        error = np.sqrt(np.mean((model.predict(PAIRS[500:]) - STARS[500:]) ** 2))
        self.assertLess(error, np.std(STARS[500:]))
        best = model.recommend([0, 1], n=3)
        self.assertEqual([len(v) for v in best.values()], [3, 3])
        rated = {int(i) for u, i in PAIRS[:500] if u == 0}
        self.assertFalse(rated & {i for i, _ in best[0]})
        values = [v for _, v in best[0]]
        self.assertEqual(values, sorted(values, reverse=True))
        asked = model.predict(PAIRS[[3, 1, 3]])  # twice: answered twice
        self.assertEqual(asked.tolist(), [asked[0], model.predict(PAIRS[[1]])[0], asked[0]])

    def test_ids_keep_their_types(self):
        names = np.array([f"user {u}" for u in PAIRS[:, 0]], dtype=object)
        for users, who, kinds in ((PAIRS[:, 0], 3, (int, int)), (names, "user 3", (str, int)), (PAIRS[:, 0] + 0.5, 3.5, (float, int))):
            model = pickle.loads(pickle.dumps(ferryml.MF().fit((users, PAIRS[:, 1]), STARS)))
            best = model.recommend([who], n=2)
            self.assertEqual(list(best), [who])
            self.assertEqual({type(i) for i, _ in best[who]}, {kinds[1]})
            everybody = model.recommend(n=2)
            self.assertEqual({type(u) for u in everybody}, {kinds[0]})
            self.assertEqual(everybody[who], best[who])
        model = ferryml.MF().fit(PAIRS, STARS).fold_in([["new", 1], ["new", 2]], [5, 1])
        self.assertEqual(list(model.recommend(np.array(["new", 3], dtype=object), n=1)), ["new", 3])

    def test_fold_in(self):
        model = ferryml.MF().fit(PAIRS, STARS)
        loved = [i for i in range(30)][:5]
        before = model.predict([["new", 7]])[0]
        model.fold_in([["new", i] for i in loved], [5.0] * 5)
        self.assertNotEqual(model.predict([["new", 7]])[0], before)

    def test_sources(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = ferryml.MINDTL().fit(PAIRS[:200], STARS[:200], sources=[Source(ratings=(*PAIRS.T, STARS))])
        self.assertEqual(model.model_.method, "mindtl")
        self.assertEqual(len(model.predict(PAIRS)), len(PAIRS))

    def test_wrong_input(self):
        with self.assertRaisesRegex(ValueError, "2D"):
            ferryml.MF().fit([1, 2, 3], [1, 2, 3])
        with self.assertRaisesRegex(ValueError, "inconsistent"):
            ferryml.MF().fit(PAIRS, STARS[:3])


class Interrupted(unittest.TestCase):
    def test_ctrl_c(self):
        code = ("import sys; sys.path.insert(0, sys.argv[1]); import numpy as np, ferryml\n"
                "rng = np.random.default_rng(0); x = rng.random((3000, 40)); u = (x[:, 0] > .5).astype(int)\n"
                "print('ready', flush=True)\n"
                "try:\n"
                "    while True: ferryml.compare(x, u, sources=[ferryml.Source(x, u, columns='shared')], repeats=500)\n"
                "except KeyboardInterrupt:\n"
                "    print('interrupted', ferryml.SVM().fit(x[:50], u[:50]).score(x, u) > 0.5)\n")
        p = subprocess.Popen([sys.executable, "-B", "-W", "ignore", "-c", code, os.path.dirname(os.path.dirname(ferryml.__file__))],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(p.stdout.readline().strip(), "ready")
        time.sleep(2)
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=50)
        self.assertEqual((out.strip(), p.returncode), ("interrupted True", 0), err)


class Progress(unittest.TestCase):
    def test_bar(self):
        try:
            import tqdm  # noqa: F401
        except ImportError:
            self.skipTest("no tqdm")
        held, sys.stderr = sys.stderr, io.StringIO()
        try:
            ferryml.HeMap(verbose=True).fit(XT, YT, sources=SOURCES)
            said = sys.stderr.getvalue()
        finally:
            sys.stderr = held
        self.assertIn("it", said)


if __name__ == "__main__":
    support.main()
