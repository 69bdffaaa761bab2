"""Which method to take, and does transfer help here: compare, advise, select."""
from __future__ import annotations

import contextlib
import html
import json
import os
import re
import tempfile
import warnings
from ctypes import POINTER, byref, c_void_p
from typing import Any, Dict, Sequence

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import type_of_target

from . import _abi, _foreign
from ._base import FerryEstimator, _labels, _real, new_task
from ._data import GOALS, Classes, Domain, as_domains, hidden, labels_of, plain, ratings_of, view_name
from ._lib import FerryError, Handle, context, in_python, lib, listed, new_text, numbers, text, there
from ._types import Controls, Goal, Labelled, Labels, Path, Setting, Sources, Target

VERDICTS = {v: text(lib.ferry_verdict_name(v)) for v in range(10)}
KINDS = {_abi.FERRY_KIND_BASELINE: "baseline", _abi.FERRY_KIND_TRANSFER: "transfer", _abi.FERRY_KIND_CONTROL: "control"}


NEXT = {"classify": "Ferry", "multilabel": "Ferry", "regress": "FerryNumbers"}  # what fits that which the answer recommends


def _next(goal):
    return f"ferryml.{NEXT[goal]}().fit(X, y, sources=...)" if goal in NEXT else None


_EVERYTHING = object()  # all labels of the target are visible


def _frame(rows, index=None):
    """A data frame where pandas is there, else the list of dicts itself."""
    try:
        import pandas
    except ImportError:
        return rows
    frame = pandas.DataFrame(rows)
    return frame.set_index(index) if index and len(frame) else frame


def _goal_of(y, given):
    if given is not None:
        if given not in GOALS:
            raise ValueError(f"goal: expected one of {', '.join(GOALS)}, got {given!r}")
        return given
    if hasattr(y, "toarray") or np.ndim(y) == 2:
        return "multilabel"
    y = labels_of(y)
    known = plain(y[~hidden(y)])
    return "regress" if type_of_target(known) in ("continuous",) else "classify"


def _spec(labelled):
    """`labelled` as the task file has it."""
    if isinstance(labelled, dict):
        return ",".join(f"{k}:{v}" for k, v in labelled.items())
    return "all" if labelled is None else str(labelled)


class _Task:
    """A task that is compared on: domains, goal, labels, and the library's own."""

    def __init__(self, ctx, X, y, sources, goal, labelled, folder):
        domains = as_domains(sources)
        if isinstance(X, Domain):
            target = X
            y = X.y if y is None else y
        elif goal == "rate":
            users, items, values = ratings_of(X)
            target = Domain(ratings=(users, items, values if y is None else _real(y)))
        else:
            target = Domain(X)
        self.goal = "rate" if target.ratings is not None and goal is None else _goal_of(y, goal) if y is not None else goal
        if self.goal is None:
            raise ValueError("compare needs the labels of the target, to score methods by: y is None")
        self.target, self.y, self.classes, self.domains = target, y, None, domains
        if self.goal in ("classify", "stream", "embed"):
            self.y = _labels(y, "classify", "the target") if y is not None else None
            found = []
            for values in [self.y] + [d.y for _, d in domains]:
                if values is not None:
                    values = _labels(values, "classify", "a domain")
                    found.append(plain(values[~hidden(values)]))
            self.classes = Classes.of(found)
        elif self.goal == "multilabel":
            self.y = _labels(y, "multilabel", "the target").astype(np.float64)
            self.classes = Classes(np.arange(self.y.shape[1]))
        elif self.goal == "regress":
            self.y = _real(_labels(y, "regress", "the target"))
        self.handle, self.links = new_task(ctx, self.goal, target, None if self.goal == "rate" else self.y, domains, None, self.classes,
                                           labelled=self._labelled(labelled, folder))

    def _labelled(self, labelled, folder):
        """The library's word for it, None: everything; one pre-made split becomes a file of ids."""
        if labelled is _EVERYTHING:
            return None
        if isinstance(labelled, (str, int, float, dict, np.integer, np.floating)) or labelled is None:
            return _spec(labelled)
        rows = np.asarray(labelled)
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        ids = _foreign.target_ids(self)
        path = os.path.join(folder, "visible.txt")
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(f"{ids[i]}\n" for i in rows.tolist())
        return "ids:" + path


def _own(methods):
    """(name or None, method, options) of names, (name, options) pairs and estimators of ferryml. Others are passed over."""
    for m in methods or ():
        if _foreign.is_foreign(m):
            continue
        name = None
        if isinstance(m, tuple) and len(m) == 2 and not isinstance(m[1], dict):
            name, m = m
        if isinstance(m, type) and issubclass(m, BaseEstimator):
            m = m()
        if isinstance(m, FerryEstimator):
            yield name, m._method, m._settings()
        elif not hasattr(m, "fit"):
            yield (name, m, {}) if isinstance(m, str) else (name, *m)


def _add_methods(ctx, task, methods):
    """Methods as _own() gives them; none: all that serve the goal."""
    for name, method, options in methods:
        with ctx.options(options) as opts:
            ctx.call(lib.ferry_task_add_method, task.pointer, method.encode(), name and name.encode(), opts)


def answer(X: Target, y: Labels, *, sources: Sources | None = None, **settings: Any) -> Dict[str, Any]:
    """What to use, how good it will be, and what the sources are worth, from all labels that are known.

    Nothing is hidden: the numbers come from cross-validation on the labels that y has; NaN or None in y is what is to be
    predicted. `ferry answer` says the same of files.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or Domain
        The target.
    y : array-like
        Its labels, as far as they are known.
    sources : list of Source and Bridge
        What to learn from.
    **settings
        As those of compare(): methods, goal, metrics, controls, random_state, n_jobs, verbose.

    Returns
    -------
    dict
        `answer` of results.json: ``use``, ``expect`` and ``source`` are its three lines, ``members`` the methods with their
        weights, ``value``, ``low`` and ``high`` what to expect, ``worth`` with ``worth_low`` and ``worth_high`` the source.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2, 2:], y[::2], name="old")
    >>> found = ferryml.answer(X[1::4, :2], y[1::4], sources=[old], methods=["svm", "majority", "cdspp"])
    >>> found["low"] <= found["value"] <= found["high"]
    True
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*labels are visible to the methods.*")  # of one label a class
        return compare(X, y, sources=sources, **settings).answer or {}


def compare(X: Target, y: Labels | None = None, *, sources: Sources | None = None, methods: Sequence[Any] | None = None, repeats: int = 10,
            labelled: Labelled = None, goal: Goal | None = None, metrics: Sequence[str] | str | None = None, controls: Controls = "quick",
            answer: bool = True, guard: bool = False, random_state: int | None = None, n_jobs: int | None = None,
            verbose: bool = False) -> Comparison:
    """Compare methods on the same splits, and say whether transfer helps.

    In each repeat some labels of the target are shown and the others hidden; every method learns from what is visible and
    is scored on what is not. Each transfer method gets a verdict (docs/evaluation.md).

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or Domain
        The target; with goal="rate" pairs of users and items.
    y : array-like
        All that is known of its labels.
    sources : list of Source and Bridge
        What to learn from.
    methods : list, optional
        Names of methods, pairs (name, options), estimators of ferryml, and what others have made, with a name or without:

        - An estimator learns from the visible rows of the target alone and counts as a baseline, which transfer has to beat:
          ``("forest", RandomForestClassifier())``.
        - An estimator that takes sources (``fit(X, y, sources=...)``, or a parameter `sources` of its own or of a step)
          gets the whole target, y with None or NaN where hidden, and is judged as ferryml's own are, with its own control runs.
        - So is a function: ``f(task) -> predictions`` for all rows of the target, or ``(predictions, probabilities,
          classes)``; `task` has X, y, sources, goal and classes.

        None: all methods that serve the goal. One that fails is skipped (Comparison.skipped says why); where all fail,
        FerryNeedsError has the reasons.
    repeats : int
        How many splits.
    labelled : float, int, str, dict, or array
        What is visible: a share, a number, ``{"per_class": 3}``, ``"none"``; or the rows of a split that was made before,
        as numbers or a mask, which is then the only one. None: all labels, and methods are scored by repeated
        cross-validation on them.
    goal : str, optional
        classify, regress, multilabel, rate, embed or stream; by default what y is like.
    metrics : list of str, optional
        The first decides.
    controls : {"quick", "full", "none"}
        How thoroughly it is checked that it is the source that helps.
    answer : bool
        Also say what to use, what to expect of it and what the source is worth: ``Comparison.answer``.
    guard : bool
        Does nothing; older programs set it.
    random_state : int, optional
        Seed of every random choice; None: 1, as the command.
    n_jobs : int, optional
        Fits side by side in the library's own threads; of ferry's methods through joblib where a backend for other machines
        is set there (Dask, Ray, Spark).
    verbose : bool
        Show a progress bar, if tqdm is there.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2, 2:], y[::2], name="old")
    >>> result = ferryml.compare(X[1::2, :2], y[1::2], sources=[old], methods=["svm", "cdspp"], labelled=12, repeats=3)
    >>> sorted(result.runs), list(result.verdicts)
    (['cdspp', 'svm'], ['cdspp'])
    """
    ctx = context(random_state)
    premade = not (isinstance(labelled, (str, int, float, dict, np.integer, np.floating)) or labelled is None)
    settings: Dict[str, Any] = {"repeats": 1 if premade else repeats, "controls": controls, "answer": "yes" if answer else "no", "predictions": "all"}
    if metrics is not None:
        settings["metrics"] = list(metrics) if not isinstance(metrics, str) else metrics
    with tempfile.TemporaryDirectory(prefix="ferryml-") as folder:
        task = _Task(ctx, X, y, sources, goal, labelled, folder)
        others = [_foreign.Foreign(m) for m in methods or () if _foreign.is_foreign(m)]
        if others and task.goal not in ("classify", "regress", "multilabel"):
            raise ValueError(f"estimators and functions of others cannot be compared on goal {task.goal}")
        for k, m in enumerate(others):
            with ctx.options({"file": f"python:{k}", "baseline": not m.transfers}) as opts:
                ctx.call(lib.ferry_task_add_method, task.handle.pointer, b"command", m.name.encode(), opts)
        own, kept = list(_own(methods)), None
        if _elsewhere():
            if methods is None:
                own = _defaults(ctx, task)
            kept = os.path.join(folder, "kept")
            _spread((X, y, sources, goal, labelled), settings, own, len(others), random_state, n_jobs, kept)
        _add_methods(ctx, task.handle, own)
        run = _foreign.runner(others, task, X, task.domains, lambda d, name, view: view_name(d, d.role, name, view)) if others else None
        with _running(ctx, run):
            return Comparison(_evaluate(ctx, task.handle, settings, n_jobs, verbose, kept))


@contextlib.contextmanager
def _running(ctx, run):
    """While the library calls `run` for methods that are Python's."""
    fn = _abi.ferry_run_fn(run) if run else _abi.ferry_run_fn()
    lib.ferry_ctx_set_run(ctx.handle, fn, None)
    try:
        yield
    finally:
        lib.ferry_ctx_set_run(ctx.handle, _abi.ferry_run_fn(), None)


def _evaluate(ctx, task, settings, n_jobs, verbose, kept=None):
    with ctx.options(settings) as opts:
        ctx.call(lib.ferry_task_set_evaluate, task.pointer, opts)
    ctx.call(lib.ferry_ctx_set, b"jobs", b"%d" % (0 if n_jobs is None or n_jobs < 0 else n_jobs))
    out = c_void_p()
    try:
        ctx.long(lib.ferry_evaluate, task.pointer, None if kept is None else os.fsencode(kept), byref(out), verbose=verbose)
    except BaseException:
        lib.ferry_results_free(out)  # of a cancelled evaluation there are some
        raise
    finally:
        lib.ferry_ctx_set(ctx.handle, b"jobs", b"0")
    return Handle(out, lib.ferry_results_free)


# ---- fits on other machines ----

def _elsewhere():
    """Whether joblib's work goes to other machines: its own backends stay on this one."""
    from joblib.parallel import get_active_backend
    return type(get_active_backend()[0]).__name__ not in (
        "LokyBackend", "ThreadingBackend", "MultiprocessingBackend", "SequentialBackend")


def _defaults(ctx, task):
    """What an evaluation without names would run, as _own() gives it."""
    out = []
    for m in _advice(ctx, task, False)["methods"]:
        train = "both" if m["name"].endswith("+source") else "source" if m["name"].endswith("-source") else None
        out.append((m["name"], m["name"][:-7] if train else m["name"], {"train": train} if train else {}))
    return out


def _spread(what, settings, own, before, seed, n_jobs, kept):
    """Let joblib's workers do the fits of an evaluation: first each method's, then those of each transfer method with made-up
    sources. What they did comes back as the files that ferry_evaluate() takes up; a fit that is not among them (it was
    shorter than a file is worth) it does itself. Methods count from `before`."""
    from joblib import Parallel, delayed
    os.makedirs(kept)
    first = {**settings, "controls": "none", "answer": "no"}
    files = Parallel(n_jobs=n_jobs)(delayed(_fits)(what, first, [m], {}, seed) for m in own)
    kinds = [lib.ferry_method_find(m[1].encode()) for m in own]
    bases = [i for i, k in enumerate(kinds) if k and k.contents.kind != _abi.FERRY_KIND_TRANSFER]
    tested = [i for i, k in enumerate(kinds) if k and k.contents.kind == _abi.FERRY_KIND_TRANSFER and settings["controls"] != "none"]
    # the method itself comes last, behind those that it is compared with
    known = ({f"{at}{tail}": data for at, j in enumerate(bases + [i]) for tail, data in files[j].items()} for i in tested)
    more = Parallel(n_jobs=n_jobs)(delayed(_fits)(what, {**settings, "answer": "no"}, [own[j] for j in bases + [i]], k, seed)
                                   for i, k in zip(tested, known))
    for i, found in list(enumerate(files)) + list(zip(tested, more)):
        for tail, data in found.items():
            with open(os.path.join(kept, f"{before + i}{tail}"), "wb") as f:
                f.write(data)


def _fits(what, settings, methods, files, seed):
    """In a worker: the files that an evaluation leaves for the last of these methods, by their names without its number."""
    ctx, number = context(seed), str(len(methods) - 1)
    with tempfile.TemporaryDirectory(prefix="ferryml-") as folder:
        kept = os.path.join(folder, "kept")
        os.makedirs(kept)
        for name, data in files.items():
            with open(os.path.join(kept, name), "wb") as f:
                f.write(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # whoever evaluates all of them will tell
            task = _Task(ctx, *what, folder)
            _add_methods(ctx, task.handle, methods)
            try:
                _evaluate(ctx, task.handle, settings, None, False, kept)
            except FerryError:
                pass
        out = {}
        for name in os.listdir(kept):
            if name.startswith(number + "-") and name.endswith(".cell") and name not in files:
                with open(os.path.join(kept, name), "rb") as f:
                    out[name[len(number):]] = f.read()
        return out


class Comparison:
    """What compare() found. Shows itself as a table, in notebooks as the whole report.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per method, best first: metrics, gain over what the labels choose without a source with its
        interval (positive is better, whatever the metric), verdict, seconds.
    verdict : str
        The outcome in plain words.
    verdicts : dict
        The decision on each transfer method, with all numbers.
    runs : dict
        The deciding metric of each method, one number per repeat.
    skipped : dict
        Methods without numbers, and why.
    answer : dict
        What to use, what to expect of it, what the source is worth: `answer` of results.json; None without.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> result = ferryml.compare(X, y, methods=["svm", "majority"], labelled=15, repeats=2, controls="none")
    >>> result.best, len(result.runs["svm"])
    ('svm', 2)
    """

    def __init__(self, handle):
        self._handle = handle
        p = handle.pointer
        info = lib.ferry_results_info(p).contents
        self.goal = text(lib.ferry_goal_name(info.goal))
        self.seed, self.repeats, self.visible = info.seed, info.repeats, info.visible
        self.verdict: str = in_python(text(info.sentence))
        self.runs: Dict[str, Any] = {}
        self.seconds: Dict[str, Any] = {}
        self.verdicts: Dict[str, Dict[str, Any]] = {}
        self.skipped: Dict[str, str] = {}
        self.metrics: Dict[str, Dict[str, Any]] = {}
        rows: list[Dict[str, Any]] = []
        for r in listed(lib.ferry_results_at, p):
            c = r.contents
            name = text(c.name)
            if c.reason:
                self.skipped[name] = in_python(text(c.reason))
                continue
            self.runs[name] = numbers(c.runs, c.repeats)
            self.seconds[name] = numbers(c.seconds, c.repeats)
            row = {"method": name, "kind": KINDS[c.kind], "rank": c.rank}
            self.metrics[name] = {}
            for at in listed(lib.ferry_result_metric_at, r):
                m = at.contents
                row[text(m.name)], row[text(m.name) + " std"] = m.mean, m.std
                self.metrics[name][text(m.name)] = numbers(m.runs, m.repeats)
            row.update({"gain": c.gain if c.baseline else np.nan, "low": c.low if c.baseline else np.nan,
                        "high": c.high if c.baseline else np.nan, "verdict": VERDICTS.get(c.verdict, "?"),
                        "seconds": float(np.mean(self.seconds[name])) if c.repeats else np.nan})
            if c.kind == _abi.FERRY_KIND_TRANSFER:
                self.verdicts[name] = {"verdict": VERDICTS.get(c.verdict, "?"), "sentence": in_python(text(c.sentence)), "gain": c.gain,
                                       "low": c.low, "high": c.high, "p": c.p, "p_holm": c.p_holm, "p_source": c.p_high,
                                       "baseline": text(c.baseline), "at_most": c.most}
            rows.append(row)
        rows.sort(key=lambda row: row["rank"] or len(rows) + 1)
        self.rows = rows
        self.table: Any = _frame(rows, "method")

    @property
    def answer(self) -> Dict[str, Any] | None:
        """What to use, what to expect of it, what the source is worth; None when it was not asked for."""
        found = self.to_dict()["answer"]
        if found:
            found = {key: in_python(value) if isinstance(value, str) else value for key, value in found.items()}
            if (found.get("next") or "").startswith("ferry fit TASK "):
                found["next"] = _next(self.goal)
        return found

    @property
    def best(self) -> str | None:
        """Name of the best method by the deciding metric."""
        at = lib.ferry_results_info(self._handle.pointer).contents.best
        return text(lib.ferry_results_at(self._handle.pointer, at).contents.name) if at >= 0 else None

    def __str__(self) -> str:
        out = c_void_p()
        context().call(lib.ferry_results_table, self._handle.pointer, None, byref(out))
        return self._in_python(new_text(out))

    __repr__ = __str__

    def _in_python(self, words):
        """Words of the library, with what to call next in place of its command."""
        return re.sub("  Next +ferry fit TASK .*\n", f"  Next     {_next(self.goal)}\n" if self.goal in NEXT else "", in_python(words))

    def explain(self, method: str | None = None) -> str:
        """What the table leaves out, as text; or all about one method."""
        out = c_void_p()
        context().call(lib.ferry_results_explain, self._handle.pointer, method and method.encode(), byref(out))
        return self._in_python(new_text(out))

    def to_dict(self) -> Dict[str, Any]:
        """What results.json has."""
        out = c_void_p()
        context().call(lib.ferry_results_table, self._handle.pointer, b"json", byref(out))
        return json.loads(new_text(out))

    def save(self, folder: Path) -> None:
        """results.json, run.json, predictions and report.html, as ``ferry run`` writes them."""
        context().call(lib.ferry_results_save, self._handle.pointer, os.fsencode(folder))

    def report(self) -> str:
        """The report as one HTML page."""
        with tempfile.TemporaryDirectory(prefix="ferryml-") as folder:
            self.save(os.path.join(folder, "run"))
            with open(os.path.join(folder, "run", "report.html"), encoding="utf-8") as f:
                return f.read()

    def _repr_html_(self) -> str:
        """What a notebook shows: the outcome and the table. The whole page is report()."""
        columns = [c for c in self.rows[0] if not c.endswith(" std")] if self.rows else []
        head = "".join(f"<th>{html.escape(str(c))}</th>" for c in columns)
        body = "".join("<tr>" + "".join(f"<td>{_cell_html(row[c])}</td>" for c in columns) + "</tr>" for row in self.rows[:100])
        skipped = "".join(f"<li><b>{html.escape(n)}</b>: {html.escape(str(w))}</li>" for n, w in list(self.skipped.items())[:50])
        answer = self.answer or {}
        lines = "<br>".join(f"<b>{word}</b> {html.escape(str(answer[key]))}" for key, word in (("use", "Use"), ("expect", "Expect"), ("source", "Source"))
                            if answer.get(key))
        return (f"<div><p>{lines}</p><p>{html.escape(self.verdict or '')}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
                + (f"<details><summary>without numbers</summary><ul>{skipped}</ul></details>" if skipped else "")
                + "<p><small><code>.explain()</code>: the evidence; <code>.report()</code>: the whole report as a page; "
                "<code>.save(folder)</code>: with all files</small></p></div>")

    def plot(self, ax: Any = None) -> Any:
        """Each method's deciding metric with its repeats, by matplotlib, or an Altair chart where only that is there."""
        names = sorted(self.runs, key=lambda n: -np.nanmean(self.runs[n]))
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            import altair
            rows = [{"method": n, "value": float(v)} for n in names for v in self.runs[n]]
            return altair.Chart(altair.Data(values=rows)).mark_boxplot().encode(x="value:Q", y=altair.Y("method:N", sort=names))
        ax = plt.subplots()[1] if ax is None else ax
        for at, n in enumerate(names):
            v = self.runs[n]
            ax.plot(v, np.full(len(v), at), "o", color="0.7", markersize=3)
            ax.errorbar(np.nanmean(v), at, xerr=np.nanstd(v), fmt="o", color="C0" if n in self.verdicts else "0.3")
        ax.set_yticks(range(len(names)))
        ax.set_yticklabels(names)
        ax.invert_yaxis()
        ax.set_xlabel(next(iter(self.metrics[names[0]]), "") if names else "")
        return ax


def _cell_html(value):
    if isinstance(value, float):
        return "" if value != value else f"{value:.4g}"
    return html.escape(str(value))


def load_results(folder: Path) -> Comparison:
    """A Comparison from a folder that save() or ``ferry run`` wrote: everything but predictions.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> result = ferryml.compare(X, y, methods=["svm", "majority"], labelled=15, repeats=2, controls="none")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result.save(folder + "/run")
    ...     ferryml.load_results(folder + "/run").best
    'svm'
    """
    out = c_void_p()
    there(folder)
    context().call(lib.ferry_results_load, os.fsencode(folder), byref(out))
    return Comparison(Handle(out, lib.ferry_results_free))


class Advice:
    """What advise() found: methods (what a fit costs, or why one does not fit), domains (how far from the target), as data
    frames; everything under `details`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> advice = ferryml.advise(X, y, methods=["svm", "cdspp"], labelled=15)
    >>> [m["name"] for m in advice.details["methods"] if not m.get("reason")]
    ['svm']
    """

    def __init__(self, details):
        self.details: Dict[str, Any] = details
        self.methods: Any = _frame(details.get("methods", []), "name")
        self.domains: Any = _frame(details.get("domains", []), "name")

    def __repr__(self):
        fits = [m["name"] for m in self.details.get("methods", []) if not m.get("reason")]
        return f"Advice({len(fits)} methods fit: {', '.join(fits)})"


def advise(X: Target, y: Labels | None = None, *, sources: Sources | None = None, methods: Sequence[Any] | None = None,
           labelled: Labelled = None, goal: Goal | None = None, random_state: int | None = None, verbose: bool = False) -> Advice:
    """Look at a task before anything is compared: which methods fit and what they cost, how far the domains are from the
    target, and how small a gain could be shown. The parameters are those of compare().

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2, 2:], y[::2], name="old")
    >>> ferryml.advise(X[1::2, :2], y[1::2], sources=[old], methods=["svm", "cdspp"], labelled=15)
    Advice(2 methods fit: svm, cdspp)
    """
    ctx = context(random_state)
    with tempfile.TemporaryDirectory(prefix="ferryml-") as folder:
        task = _Task(ctx, X, y, sources, goal, labelled, folder)
        _add_methods(ctx, task.handle, _own(methods))
        return Advice(_advice(ctx, task, verbose))


def _advice(ctx, task, verbose):
    found = POINTER(_abi.ferry_advice)()
    ctx.long(lib.ferry_advise, task.handle.pointer, byref(found), verbose=verbose)
    try:
        return json.loads(text(found.contents.json))
    finally:
        lib.ferry_advice_free(found)


def select(X: Target, sources: Sources, *, y: Labels | None = None, random_state: int | None = None, n_jobs: int | None = None,
           verbose: bool = False, **options: Setting) -> Any:
    """Try every way from the sources to the target (each bridge, none, chains of the best) and rank them.

    Parameters
    ----------
    X : array-like or Domain
        The target.
    sources : list of Source and Bridge
        The candidates are the bridges among them.
    y : array-like, optional
        What is known of the target's classes; used only to rank; not required.
    random_state : int, optional
        Seed; None: 1, as the command.
    n_jobs : int, optional
        Ways that are tried in parallel.
    verbose : bool
        Show a progress bar, if tqdm is there.
    **options
        Of a trial (``ferry help select``).

    Returns
    -------
    pandas.DataFrame
        One row per way, the best first: bridges (in travel order, empty for none), q (how well the target's labels repeat, 0
        is chance and 1 always) and its spread, whether it differs clearly from the first, whether it is recommended, and the
        reason why it could not be tried (None: it could).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(views={"petal": X[::3, 2:]}, y=y[::3], name="old")
    >>> both = ferryml.Bridge(views={"petal": X[1::3, 2:], "sepal": X[1::3, :2]}, name="both")
    >>> ways = ferryml.select(ferryml.Domain(views={"sepal": X[2::3, :2]}), [old, both])
    >>> len(ways)
    2
    """
    ctx = context(random_state)
    with tempfile.TemporaryDirectory(prefix="ferryml-") as folder:
        known = np.full(_count(X), None, dtype=object) if y is None else y
        task = _Task(ctx, X, known, sources, "classify", _EVERYTHING, folder)
        out = c_void_p()
        ctx.call(lib.ferry_ctx_set, b"jobs", b"%d" % (0 if n_jobs is None or n_jobs < 0 else n_jobs))
        try:
            with ctx.options(options) as opts:
                ctx.long(lib.ferry_select, task.handle.pointer, opts, byref(out), verbose=verbose)
        finally:
            lib.ferry_ctx_set(ctx.handle, b"jobs", b"0")
    found = Handle(out, lib.ferry_selection_free)
    rows = []
    for at in listed(lib.ferry_selection_at, found.pointer):
        w = at.contents
        rows.append({"bridges": " ".join(text(w.domain[k]) for k in range(w.n)), "q": w.q, "q_sd": w.q_sd, "leaks": w.leaks,
                     "below_chance": bool(w.below), "tied": bool(w.tied), "recommended": bool(w.recommended), "reason": text(w.reason)})
    return _frame(rows)


def _count(X):
    return X.n if isinstance(X, Domain) else X.shape[0] if hasattr(X, "shape") else len(X)
