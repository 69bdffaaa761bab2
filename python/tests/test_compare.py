"""compare, advise, select, read: the same numbers as the command has, and any estimator beside them."""
import csv
import importlib.util
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
import warnings
from unittest import mock

import support
import numpy as np
import scipy.sparse as sp
import ferryml
from ferryml import Bridge, Domain, Source, _compare, _lib
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

XS, YS, XT, YT = support.two_domains(seed=4)
SOURCES = [Source(XS, YS, name="old")]
TASK = """task: python
goal: {goal}
domains:
  - {{name: old, role: source, x: xs.npy, y: ys.npy}}
  - {{name: target, role: target, x: xt.npy, y: yt.npy, labelled: {{per_class: 4}}}}
methods: [{methods}]
evaluate: {{repeats: 3, seed: 7}}
"""


def command(*arguments):
    done = subprocess.run([support.FERRY, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"ferry {' '.join(arguments)}: {done.stderr}")
    return done.stdout


# The same libferry.so gives the same bits. A wheel has another BLAS.
CLOSE = 1e-8 if os.environ.get("FERRY_INSTALLED") else 1e-14  # files have 15 or 17 digits


@unittest.skipUnless(os.path.exists(support.FERRY), "no command to compare with")
class SameNumbers(unittest.TestCase):
    """The same task and seed give the same numbers from Python and from the command."""

    def setUp(self):
        self.temp = tempfile.TemporaryDirectory()
        self.addCleanup(self.temp.cleanup)
        self.folder = self.temp.name
        for name, x in (("xs", XS), ("ys", YS), ("xt", XT), ("yt", YT)):
            np.save(os.path.join(self.folder, name + ".npy"), x)
        self.task = os.path.join(self.folder, "task.yaml")

    def write(self, methods, goal="classify"):
        with open(self.task, "w", encoding="utf-8") as f:
            f.write(TASK.format(goal=goal, methods=methods))

    def test_compare(self):
        methods = ["svm", "cdspp", "hemap", "gbdt", "knn"]
        self.write(", ".join(methods))
        out = os.path.join(self.folder, "results")
        command("run", self.task, "-o", out, "--threads", "1")
        with open(os.path.join(out, "results.json"), encoding="utf-8") as f:
            want = {r["name"]: r for r in json.load(f)["results"]}
        os.environ["OMP_NUM_THREADS"] = "1"
        try:
            got = ferryml.compare(XT, YT, sources=SOURCES, methods=methods, repeats=3, labelled={"per_class": 4}, random_state=7)
        finally:
            del os.environ["OMP_NUM_THREADS"]
        self.assertEqual(set(want), set(got.runs))
        mine = {r["name"]: r for r in got.to_dict()["results"]}
        for name, r in want.items():
            np.testing.assert_allclose(got.runs[name], r["runs"], rtol=CLOSE, err_msg=name)
            if CLOSE == 1e-14:
                self.assertEqual(r["metrics"], mine[name]["metrics"], name)
                self.assertEqual((r["verdict"] or {}).get("sentence"), got.verdicts.get(name, {}).get("sentence"))
        self.assertEqual(got.best, max(want.values(), key=lambda r: r["mean"])["name"])

    def test_fit(self):
        self.write("cdspp")
        with open(self.task, encoding="utf-8") as f:
            text = f.read().replace("{per_class: 4}", "{ids: all.txt}")
        with open(os.path.join(self.folder, "all.txt"), "w", encoding="utf-8") as f:
            f.writelines(f"{i + 1}\n" for i in range(len(YT)))
        with open(self.task, "w", encoding="utf-8") as f:
            f.write(text)
        for kind in (ferryml.CDSPP, ferryml.SVM, ferryml.HeMap, ferryml.HetOMTL):
            path = os.path.join(self.folder, "m.ferry")
            command("fit", self.task, "-m", kind._method, "-o", path, "--threads", "1")
            model = kind(random_state=7, n_jobs=1).fit(XT, YT, sources=SOURCES)
            table = os.path.join(self.folder, "p.csv")
            command("predict", path, os.path.join(self.folder, "xt.npy"), "-o", table, "--threads", "1")
            with open(table, encoding="utf-8", newline="") as f:
                rows = list(csv.DictReader(f))
            self.assertEqual([int(r["prediction"]) for r in rows], model.predict(XT).tolist(), kind)
            score = np.array([[float(r[k]) for k in r if k.startswith("score")] for r in rows])
            mine = model._predict(XT).score
            np.testing.assert_allclose(score, mine, rtol=CLOSE, atol=CLOSE, err_msg=str(kind))
            back = ferryml.load(path)._predict(XT).score
            np.testing.assert_array_equal(back, mine) if CLOSE == 1e-14 else np.testing.assert_allclose(back, mine, CLOSE, CLOSE)


class Compare(unittest.TestCase):
    def test_estimators_of_others_on_the_same_splits(self):
        got = ferryml.compare(XT, YT, sources=SOURCES, repeats=3, labelled={"per_class": 4}, controls="none",
                              methods=["majority", ("mine", LogisticRegression()), ferryml.CDSPP(),
                                       ("constant", DummyClassifier(strategy="most_frequent"))])
        self.assertEqual(set(got.runs), {"majority", "mine", "cdspp", "constant"})
        self.assertGreater(got.runs["mine"].mean(), got.runs["majority"].mean())
        # shown 4 of each class, the most frequent is the first; half of what is scored is of either
        np.testing.assert_allclose(got.runs["constant"], np.mean(YT == 0) * len(YT) / (len(YT) - 8) - 4 / (len(YT) - 8))
        self.assertEqual(set(got.metrics["mine"]), {"accuracy", "macro-f1"})
        self.assertIn("cdspp", got.verdicts)

    def test_split_that_was_made_before(self):
        rows = np.arange(0, len(YT), 5)
        got = ferryml.compare(XT, YT, methods=["majority", LogisticRegression()], labelled=rows, controls="none")
        rest = np.setdiff1d(np.arange(len(YT)), rows)
        want = LogisticRegression().fit(XT[rows], YT[rows]).score(XT[rest], YT[rest])
        np.testing.assert_allclose(got.runs["LogisticRegression"], [want])

    def test_one_that_fails_is_skipped(self):
        class Broken(LogisticRegression):
            def fit(self, X, y):
                raise RuntimeError("no luck")

        half = len(XT) // 2
        target = Domain(views={"a": np.abs(XT[half:]), "own": XT[half:] - 5})  # a view of the target alone, with numbers below 0
        source = Source(views={"a": np.abs(XT[:half])}, y=YT[:half], name="s")
        got = ferryml.compare(target, YT[half:], sources=[source], repeats=2, controls="none")
        self.assertIn("triplex", got.runs)
        self.assertIn("hemap needs just one view", got.skipped["hemap"])
        constant = dict(sources=[Source(np.ones((40, 3)), y=np.arange(40) % 2, name="s")], repeats=2, controls="none")
        still = np.ones((60, 4)), np.arange(60) % 2
        got = ferryml.compare(*still, methods=["majority", "hemap", ("mine", Broken()), LogisticRegression()], **constant)
        self.assertEqual(set(got.runs), {"majority", "LogisticRegression"})
        self.assertIn("it failed: RuntimeError: no luck", got.skipped["mine"])
        self.assertIn("constant", got.skipped["hemap"])
        for methods in (["hemap"], [Broken()]):
            with self.assertRaisesRegex(ferryml.FerryNeedsError, "no method could run: .*(constant|no luck)"):
                ferryml.compare(*still, methods=methods, **constant)

    def test_scores_of_classes_that_a_repeat_does_not_show(self):
        """They were taken for those of the first repeat's classes, by place: the area fell to .67 in two of six repeats."""
        from sklearn.neighbors import KNeighborsClassifier
        y = np.array(list("abc") * 12)
        x = np.random.default_rng(0).normal(size=(36, 2)) + 6 * np.arange(3)[np.searchsorted(["a", "b", "c"], y)][:, None]
        got = ferryml.compare(x, y, sources=[Source(x, y=y, name="s")], methods=["majority", ("nn", KNeighborsClassifier(1))],
                              labelled={"per_class": 2, "classes": 2}, repeats=6, controls="none", metrics=["auc"])
        self.assertGreater(got.runs["nn"].min(), 0.7)

    def test_classes_that_are_hidden(self):
        """Of classes that a repeat does not show an estimator has no scores, which are no mistake."""
        rng = np.random.default_rng(0)
        y = rng.choice(5, 200, p=[.3, .3, .2, .1, .1])
        x = rng.normal(size=(200, 3)) + rng.normal(size=(5, 3))[y]
        got = ferryml.compare(x, y, methods=["majority", LogisticRegression()], labelled={"per_class": 2, "classes": 3}, repeats=4, controls="none")
        self.assertEqual(got.skipped, {})

    def test_time_of_others(self):
        """The seconds are those of the estimator."""
        class Slow(LogisticRegression):
            def fit(self, X, y):
                time.sleep(0.2)
                return super().fit(X, y)

        got = ferryml.compare(XT, YT, methods=["majority", ("slow", Slow()), LogisticRegression()], repeats=2, labelled=0.3, controls="none")
        self.assertGreater(got.seconds["slow"].min(), 0.2)

    def test_one_view(self):
        """A target as a Domain with one view, in whatever order its rows stand; with two an estimator of a matrix is skipped."""
        ids = [f"r{i}" for i in range(len(YT))]
        turn = np.random.default_rng(0).permutation(len(YT))
        how = dict(methods=["majority", LogisticRegression()], labelled=0.3, repeats=2, controls="none")
        want = ferryml.compare(Domain(views={"a": XT}, ids=ids), YT, **how)
        got = ferryml.compare(Domain(views={"a": ([ids[i] for i in turn], XT[turn])}, ids=ids), YT, **how)
        np.testing.assert_array_equal(want.runs["LogisticRegression"], got.runs["LogisticRegression"])
        with self.assertRaisesRegex(ValueError, "2 views"):
            ferryml.compare(Domain(views={"a": XT, "b": XT}, ids=ids), YT, methods=[LogisticRegression()], labelled=0.3, repeats=2)

    def judged(self):
        rng = np.random.default_rng(0)
        h = rng.normal(size=(400, 3))
        y = np.where(h[:, 0] + h[:, 1] / 2 > 0, "yes", "no")
        x = h @ rng.normal(size=(3, 6)) + 0.3 * rng.normal(size=(400, 6))
        return x[250:], y[250:], [Source(x[:250], y[:250], name="old", columns="shared")]

    def test_others_are_judged(self):
        """Estimators that take sources and functions get control runs and a verdict of their own; labels that are hidden are not shown."""
        from sklearn.neighbors import KNeighborsClassifier
        x, y, sources = self.judged()
        truth, shown = dict(zip(map(tuple, x), y)), []

        class Pooled(LogisticRegression):
            def fit(self, X, y, sources=None):
                shown.append(sum(v is not None for v in y))
                known = [i for i, v in enumerate(y) if v is not None]
                assert all(truth[tuple(X[i])] == y[i] for i in known)
                return super().fit(np.vstack([X[known]] + [s.X for s in sources]), np.concatenate([y[known]] + [s.y for s in sources]).astype(str))

        def near(task):
            s = task.sources[0]
            self.assertEqual((task.goal, task.classes.tolist(), s.name), ("classify", ["no", "yes"], "old"))
            return KNeighborsClassifier(5).fit(s.X, s.y.astype(str)).predict(task.X)

        def alone(task):
            known = np.array([v is not None for v in task.y])
            m = KNeighborsClassifier(1).fit(task.X[known], task.y[known].astype(str))
            return m.predict(task.X), m.predict_proba(task.X), m.classes_

        got = ferryml.compare(x, y, sources=sources, methods=["logreg", Pooled(), near, ("alone", alone)], labelled={"per_class": 3}, repeats=4,
                              metrics=["accuracy", "auc"], n_jobs=2)
        self.assertEqual(got.skipped, {})
        self.assertEqual({k: v["verdict"] for k, v in got.verdicts.items()}, {"Pooled": "best", "near": "best", "alone": "ignores source"})
        self.assertEqual(set(shown), {6})
        self.assertGreater(len(shown), 4 + 19)
        np.testing.assert_array_equal(got.runs["alone"], ferryml.compare(
            x, y, sources=sources, methods=["logreg", ("alone", KNeighborsClassifier(1))], labelled={"per_class": 3}, repeats=4, controls="none").runs["alone"])

    def test_ours_as_others(self):
        """A method of ours behind a function has the numbers that it has itself: what the function gets is the task."""
        x, y, sources = self.judged()
        how = dict(sources=sources, labelled={"per_class": 3}, repeats=1, controls="none")
        got = ferryml.compare(x, y, methods=["majority", "cotransfer", ("same", lambda task: ferryml.CoTransfer().fit(task.X, task.y, sources=task.sources).predict(task.X)),
                                             ("step", make_pipeline(FunctionTransformer(), ferryml.CoTransfer(sources=[Source(x, y)])))], **how)
        self.assertEqual(got.skipped, {})
        np.testing.assert_array_equal(got.runs["same"], got.runs["cotransfer"])
        np.testing.assert_array_equal(got.runs["step"], got.runs["cotransfer"])
        rng = np.random.default_rng(2)  # views, ids, a bridge and a graph
        a = sp.random(len(x), len(x), 0.05, random_state=0)
        target = Domain(views={"b": x}, graphs={"g": a + a.T})
        bridge = Bridge(views={"a": rng.normal(size=(60, 5)), "b": rng.normal(size=(60, 6))}, name="both", ids=[f"i{i}" for i in range(60)])
        old = Source(views={"a": (list(range(50)), rng.normal(size=(50, 5)))}, y=y[:50], ids=range(50), name="o")
        seen = []

        def look(task):
            seen.append(task)
            return y
        ferryml.compare(target, y, methods=["majority", look], **{**how, "sources": [old, bridge]})
        o, b = seen[0].sources
        np.testing.assert_array_equal(o.views["a"][1], old.views["a"][1])
        self.assertEqual((list(o.y), list(o.views["a"][0])), (list(y[:50]), [str(i) for i in range(50)]))
        np.testing.assert_array_equal(b.views["b"], bridge.views["b"])
        self.assertIs(seen[0].X, target)

    def test_numbers_and_joblib(self):
        z = XT[:, 0] + 0.1 * XT[:, 1]
        one = ferryml.compare(XT, z, methods=["ridge", "mean", Ridge()], repeats=2, labelled=0.3)
        two = ferryml.compare(XT, z, methods=["ridge", "mean", Ridge()], repeats=2, labelled=0.3, n_jobs=2)
        for name in one.runs:
            np.testing.assert_array_equal(one.runs[name], two.runs[name])
        self.assertLess(one.runs["Ridge"].mean(), one.runs["mean"].mean())

    def spread(self, backend, **more):
        """compare() here and by a backend of joblib that is not this machine's: the same numbers, and fits that came from there."""
        import joblib
        rng = np.random.default_rng(6)
        truth = rng.normal(size=(3000, 4))
        y = (truth[:, 0] > truth[:, 1]).astype(int)
        x = truth @ rng.normal(size=(4, 40)) + rng.normal(size=(3000, 40))
        how = dict(sources=[Source(x[:1500], y[:1500], name="old", columns="shared")], repeats=2, labelled={"per_class": 5}, random_state=3, **more)
        came, evaluate = [], _compare._evaluate

        def watched(ctx, task, settings, n_jobs, verbose, kept=None):
            if kept is not None and threading.current_thread() is threading.main_thread():
                came.extend(os.listdir(kept))
            return evaluate(ctx, task, settings, n_jobs, verbose, kept)

        os.environ["OMP_NUM_THREADS"] = "1"
        try:
            one = ferryml.compare(x[1500:], y[1500:], **how)
            with joblib.parallel_backend(backend, n_jobs=2), mock.patch.object(_compare, "_evaluate", watched):
                two = ferryml.compare(x[1500:], y[1500:], n_jobs=2, **how)
        finally:
            del os.environ["OMP_NUM_THREADS"]
        self.assertEqual(list(one.runs), list(two.runs))
        self.assertEqual(one.skipped, two.skipped)
        for name in one.runs:
            np.testing.assert_array_equal(one.runs[name], two.runs[name], name)
        self.assertEqual({k: v["sentence"] for k, v in one.verdicts.items()}, {k: v["sentence"] for k, v in two.verdicts.items()})
        self.quickest = {name: seconds.min() for name, seconds in one.seconds.items()}
        return came

    def test_elsewhere(self):
        """A backend of joblib that is none of its own stands for other machines: each method's fits and those with made-up sources go there."""
        import joblib
        from joblib._parallel_backends import ThreadingBackend

        class Elsewhere(ThreadingBackend):
            pass

        joblib.register_parallel_backend("elsewhere", Elsewhere)
        methods = ["majority", ("mine", LogisticRegression()), "svm", ferryml.CoTransfer(), "htlic"]
        came = self.spread("elsewhere", methods=methods)
        # cotransfer is number 3: estimators of others come first. A fit below 0.05 s is not worth a file, so a fast machine may keep none
        if self.quickest["cotransfer"] > 0.15:
            self.assertTrue(any(c.startswith("3-") for c in came), came)
        self.assertFalse(any(c.startswith("0-") for c in came), came)

    def test_dask(self):
        """The cells on a local Dask cluster, by joblib: the same numbers."""
        try:
            import dask.distributed as dd
        except ImportError:
            self.skipTest("no dask.distributed")
        import joblib
        how = dict(methods=["svm", LogisticRegression()], repeats=2, labelled=0.3, controls="none")
        one = ferryml.compare(XT, YT, **how)
        with dd.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, dd.Client(cluster) as client:
            with joblib.parallel_backend("dask"):
                two = ferryml.compare(XT, YT, n_jobs=2, **how)
            self.assertEqual(len(client.scheduler_info()["workers"]), 2)
            came = self.spread("dask", methods=["svm", "cotransfer"], controls="none")
            self.assertTrue(came or self.quickest["cotransfer"] < 0.15)
        for name in one.runs:
            np.testing.assert_array_equal(one.runs[name], two.runs[name])

    def test_sets_of_labels(self):
        from sklearn.neighbors import KNeighborsClassifier
        on = np.column_stack([YT, 1 - YT, XT[:, 0] > 0]).astype(int)
        got = ferryml.compare(XT, on, methods=["knn", "majority", ("mine", KNeighborsClassifier())], repeats=2, labelled=0.5)
        self.assertEqual(got.goal, "multilabel")
        self.assertGreater(got.metrics["mine"]["hamming"].mean(), -1)

    def test_shows_itself(self):
        got = ferryml.compare(XT, YT, sources=SOURCES, methods=["svm", "cdspp"], repeats=2, labelled={"per_class": 4})
        self.assertIn("best:", str(got))
        self.assertIn("cdspp", got.explain("cdspp"))
        self.assertIn("<table", got._repr_html_())
        self.assertIn("cdspp", got._repr_html_())
        self.assertLess(len(got._repr_html_()), 60_000)
        self.assertTrue(got.report().startswith("<!DOCTYPE html>"))
        try:
            self.assertEqual(list(got.table.index), sorted(got.table.index, key=lambda n: got.table.loc[n, "rank"]))
        except AttributeError:
            pass  # no pandas
        with tempfile.TemporaryDirectory() as folder:
            got.save(os.path.join(folder, "run"))
            back = ferryml.load_results(os.path.join(folder, "run"))
        for name in got.runs:
            np.testing.assert_allclose(back.runs[name], got.runs[name], rtol=1e-14)
        try:
            import matplotlib
        except ImportError:
            return
        matplotlib.use("Agg")
        self.assertEqual(len(got.plot().get_yticklabels()), 2)

    def test_advise(self):
        got = ferryml.advise(XT, YT, sources=SOURCES, methods=["svm", "cdspp", "ttl"], labelled={"per_class": 4})
        by = {m["name"]: m for m in got.details["methods"]}
        self.assertIn("ttl needs", by["ttl"]["reason"] or "")
        self.assertIn("svm", repr(got))

    def test_wrong(self):
        for call, words in ((lambda: ferryml.compare(XT, YT, methods=["nosuch"]), "nosuch"),
                            (lambda: ferryml.compare(XT, YT, methods=["svm"], metrics=["nosuch"]), "nosuch"),
                            (lambda: ferryml.compare(XT, None), "labels"),
                            (lambda: ferryml.compare(XT, YT, goal="guess"), "goal")):
            with self.assertRaisesRegex(ValueError, words):
                call()

    def test_select(self):
        rng = np.random.default_rng(3)
        hidden = rng.random((300, 3))
        y = (hidden[:, 0] > hidden[:, 1]).astype(int)
        a, b = hidden @ rng.random((3, 12)), hidden @ rng.random((3, 9))
        sources = [Source(views={"a": a[:100]}, y=y[:100], name="s"),
                   Bridge(views={"a": a[100:200], "b": b[100:200]}, name="true"),
                   Bridge(views={"a": a[100:200], "b": rng.permutation(b[100:200])}, name="shuffled")]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = ferryml.select(Domain(views={"b": b[200:]}), sources)
        rows = got.to_dict("records") if hasattr(got, "to_dict") else got
        ways = {r["bridges"]: r for r in rows}
        self.assertTrue({"true", "shuffled"} <= set(ways), ways)
        self.assertGreater(ways["true"]["q"], ways["shuffled"]["q"])


class Files(unittest.TestCase):
    def test_formats(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.csv")
            with open(path, "w", encoding="utf-8") as f:
                f.write("id,a,b,class\nu,1,2,yes\nv,3,,no\n")
            got = ferryml.read(path, label="class", id="id")
            np.testing.assert_array_equal(got.X, [[1, 2], [3, np.nan]])
            self.assertEqual(list(got.y), ["yes", "no"])
            self.assertEqual(list(got.ids), ["u", "v"])
            self.assertEqual(list(got.feature_names), ["a", "b"])
            path = os.path.join(folder, "x.svm")
            with open(path, "w", encoding="utf-8") as f:
                f.write("1 1:2 900:3\n-1 2:1\n")
            got = ferryml.read(path)
            self.assertTrue(sp.issparse(got.X))
            self.assertEqual(got.X[0, 899], 3)
            path = os.path.join(folder, "r.ratings")
            with open(path, "w", encoding="utf-8") as f:
                f.write("ann,film,4\nbob,film,2.5\n")
            got = ferryml.read(path)
            self.assertEqual(list(got.ratings[0]), ["ann", "bob"])
            self.assertEqual(list(got.ratings[2]), [4, 2.5])
            with self.assertRaisesRegex(FileNotFoundError, "x.nosuch"):
                ferryml.read(os.path.join(folder, "x.nosuch"))

    def test_sqlite(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.db")
            db = sqlite3.connect(path)
            db.execute("CREATE TABLE t (id TEXT, a REAL, b REAL, class TEXT)")
            db.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", [("u", 1 / 3, 2, "yes"), ("v", 3, None, "no")])
            db.commit()
            db.close()
            got = ferryml.read(path + "#t", label="class", id="id")
            np.testing.assert_array_equal(got.X, [[1 / 3, 2], [3, np.nan]])
            self.assertEqual((list(got.ids), list(got.y), list(got.feature_names)), (["u", "v"], ["yes", "no"], ["a", "b"]))
            self.assertEqual(ferryml.read(path + "#SELECT a FROM t WHERE a > 1").X.tolist(), [[3]])
            with self.assertRaisesRegex(ValueError, "no such table"):
                ferryml.read(path + "#u")

    def test_parquet(self):
        """Read as the CSV file that one of three packages makes of it; without any, a sentence."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.parquet")
            with open(path, "w", encoding="utf-8") as f:
                f.write("id,a,class\nu,0.1,yes\nv,,no\n")  # what the packages below make of it is itself

            class Frame:
                def write_csv(self, to):
                    shutil.copy(path, to)

            def there(only):
                table = types.SimpleNamespace(read_parquet=lambda p: Frame(), read_table=lambda p: Frame(), write_csv=lambda frame, to: frame.write_csv(to))
                got = {name: table if name.partition(".")[0] == only else None for name in ("polars", "pyarrow", "pyarrow.csv", "pyarrow.parquet", "duckdb")}
                return mock.patch.dict(sys.modules, got)  # None: it cannot be imported

            for only in ("polars", "pyarrow", "duckdb"):
                with there(only):
                    got = ferryml.read(path, label="class", id="id")
                    np.testing.assert_array_equal(got.X, [[0.1], [np.nan]])
                    self.assertEqual((list(got.ids), list(got.y)), (["u", "v"], ["yes", "no"]))
            with there(None), self.assertRaisesRegex(ImportError, "reading Parquet needs polars, pyarrow or duckdb"):
                ferryml.read(path)

    @unittest.skipUnless(importlib.util.find_spec("polars"), "no polars")
    def test_parquet_of_polars(self):
        import polars
        x = np.random.default_rng(0).normal(size=(50, 3))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.parquet")
            polars.DataFrame({"id": [f"r{i}" for i in range(50)], "a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "class": ["u", "v"] * 25}).write_parquet(path)
            got = ferryml.read(path, label="class", id="id")
            np.testing.assert_array_equal(got.X, x)
            self.assertEqual((list(got.y), list(got.ids)[49], list(got.feature_names)), (["u", "v"] * 25, "r49", ["a", "b", "c"]))

    def test_catalog(self):
        names = ferryml.datasets()
        self.assertGreater(len(names), 3)
        name = next(iter(names))
        self.assertTrue(callable(getattr(ferryml, "fetch_" + name.replace("-", "_").replace(".", "_"))))
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(_lib.Context, "long"):  # as if all files had been there
            os.makedirs(os.path.join(folder, name, "part"))
            path = os.path.join(folder, name, "part", "x.csv")
            open(path, "w", encoding="utf-8").close()
            got = getattr(ferryml, "fetch_" + name.replace("-", "_").replace(".", "_"))(data_home=folder)
            self.assertEqual((got.folder, got.filenames), (os.path.join(folder, name), [path]))
            self.assertIn(names[name], got.DESCR)
        with self.assertRaises(AttributeError):
            ferryml.fetch_nosuch
        with self.assertRaisesRegex(ValueError, "nosuch"):
            ferryml.fetch("nosuch")

    def test_answer(self):
        """All labels that are known are seen; what they say is what a comparison with all of them says, without its warning."""
        y = YT.astype(object)
        y[20:] = None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = ferryml.answer(XT, y, sources=SOURCES, methods=["svm", "knn", "cdspp"])
        self.assertEqual(found["labels"], 20)
        self.assertTrue(found["validated"] and found["low"] <= found["value"] <= found["high"])
        self.assertTrue({m["name"] for m in found["members"]} <= {"svm", "knn", "cdspp"})
        self.assertTrue(all(found[line] for line in ("use", "expect", "source")))

    def test_speaks_python(self):
        """What the library advises to write in a task file or to call is told as what to write here."""
        r = ferryml.compare(XT, YT, sources=SOURCES, methods=["svm", "knn", "cdspp"], labelled=30, repeats=1, controls="none")
        said = " ".join((str(r) + r.explain() + str(r.answer) + r.verdict).split())
        self.assertIn("write repeats=10", said)
        self.assertIn("ferryml.Ferry().fit(X, y, sources=...)", said)
        self.assertNotRegex(said, r"ferry fit|--set|evaluate\.repeats|task file")
        self.assertEqual(r.answer["next"], "ferryml.Ferry().fit(X, y, sources=...)")
        for theirs, ours in (("about 40 repeats would decide: --set evaluate.repeats=40", "about 40 repeats would decide: repeats=40"),
                             ("3 methods have no result (ferry explain says why).", "3 methods have no result (.skipped says why)."),
                             ("5 more methods: ferry table DIR --all.", "5 more methods (.table has them)."),
                             ("all of them numbers; goal: regress predicts numbers", "all of them numbers; goal='regress' predicts numbers"),
                             ("visible to the methods (labelled: 20), none", "visible to the methods (labelled=20), none"),
                             ("visible (labelled: {per_class: 5}), none", "visible (labelled={'per_class': 5}), none")):
            self.assertEqual(_lib.in_python(theirs), ours)

    def test_doctor(self):
        self.assertIn("libraries", ferryml.doctor())


if __name__ == "__main__":
    support.main()
