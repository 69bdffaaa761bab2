"""Estimators and functions of others as methods of a task: the library hands out what they may see, as a folder, also in its
control runs, and takes their answers (docs/task-file.md, command)."""
from __future__ import annotations

import copy
import csv
import inspect
import os
import re
import types
import warnings
from typing import Any, List

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

from . import _lib
from ._data import Domain, hidden, id_texts, matrix, plain
from ._pipeline import TransferPipeline
from ._types import Array, Goal


class Task:
    """What a method of compare() that is a function gets: all that it may learn from in one split.

    Attributes
    ----------
    X : as it was given to compare()
        The target.
    y : numpy.ndarray
        Its labels, as far as they are visible: None or NaN where they are not.
    sources : list of Source and Bridge
        What else there is. In a control run it is not what compare() was given.
    goal : str
        classify, regress or multilabel.
    classes : numpy.ndarray or None
        Those that occur among what is visible.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> def first(task: ferryml.Task) -> object:  # the first class for every row
    ...     return [task.classes[0]] * len(task.X)
    >>> result = ferryml.compare(X, y, methods=["majority", first], labelled=15, repeats=2, controls="none")
    >>> float(result.runs["first"].mean().round(1))
    0.3
    """

    def __init__(self, X: Any, y: Array, sources: List[Domain], goal: Goal, classes: Any) -> None:
        self.X, self.y, self.sources, self.goal, self.classes = X, y, sources, goal, classes

    def __repr__(self):
        return f"Task({self.goal}, {int((~hidden(self.y)).sum())} visible labels, sources {self.sources})"


def is_foreign(m):
    """Whether it is none of ferryml's methods."""
    from ._base import FerryEstimator
    m = m[1] if isinstance(m, tuple) and len(m) == 2 else m
    if isinstance(m, type):
        return issubclass(m, BaseEstimator) and not issubclass(m, FerryEstimator) or hasattr(m, "fit") and not issubclass(m, FerryEstimator)
    if isinstance(m, FerryEstimator):
        return False
    return isinstance(m, TransferPipeline) or hasattr(m, "fit") or isinstance(m, (types.FunctionType, types.MethodType)) or (
        callable(m) and not isinstance(m, str))


class Foreign:
    """One of them: its name, whether it takes sources, and its answers to a folder."""

    def __init__(self, m):
        self.name, self.of = m if isinstance(m, tuple) else (None, m)
        self.of = self.of() if isinstance(self.of, type) else self.of
        self.function = not hasattr(self.of, "fit")
        if self.name is None:
            self.name = getattr(self.of, "__name__", type(self.of).__name__) if self.function else type(self.of).__name__
        self.places = [] if self.function else _places(self.of)
        self.transfers = self.function or bool(self.places) or _takes_sources(self.of)

    def answer(self, task):
        """(answers, scores or None, their classes or None) for all rows of the target."""
        if self.function:
            found = self.of(task)
            found = found if isinstance(found, tuple) else (found, None, None)
            return (np.asarray(found[0]), *found[1:])
        model = clone(self.of)
        if self.transfers:
            for place in self.places:
                model.set_params(**{place: task.sources})
            more = {} if self.places else {"sources": task.sources}
            model.fit(task.X, task.y, **more)
            x = task.X
        else:
            x = _only_view(task.X)
            rows = np.flatnonzero(~hidden(task.y).reshape(len(task.y), -1).any(axis=1))
            known = plain(task.y[rows])
            model.fit(x.iloc[rows] if hasattr(x, "iloc") else x[rows], known.astype(int) if task.goal == "multilabel" else known)
        answers = np.asarray(model.predict(x))
        if task.goal == "classify" and hasattr(model, "predict_proba"):
            return answers, np.asarray(model.predict_proba(x)), model.classes_
        return answers, None, None


def _takes_sources(estimator):
    try:
        return "sources" in inspect.signature(estimator.fit).parameters
    except (TypeError, ValueError):
        return False


def _places(estimator):
    """Parameters called sources, its own or a step's, where fit() does not take them."""
    if _takes_sources(estimator) or not hasattr(estimator, "get_params"):
        return []
    return [p for p in estimator.get_params() if p == "sources" or p.endswith("__sources")]


def _only_view(X):
    """The rows of a target that has one view, in the order of its labels; NaN where the view lacks one."""
    if not isinstance(X, Domain):
        return X if hasattr(X, "iloc") else matrix(X)[0]
    views = X._views()
    if len(views) != 1:
        raise ValueError(f"the target has {len(views)} views: an estimator that takes a matrix needs one")
    x = views[0][1]
    if not isinstance(x, tuple):
        return x if hasattr(x, "iloc") else matrix(x)[0]
    ids, x = x
    place = {i: k for k, i in enumerate(id_texts(ids))}
    at = np.array([place.get(i, -1) for i in id_texts(X._rows()[0])], dtype=np.intp)
    if hasattr(x, "iloc"):
        return x.reset_index(drop=True).reindex(at)
    x = matrix(x)[0]
    if sp.issparse(x) or (at >= 0).all():
        if (at < 0).any():
            raise ValueError("the target's view lacks rows: an estimator that takes a sparse matrix needs all")
        return x[at]
    out = np.full((len(at), x.shape[1]), np.nan)
    out[at >= 0] = x[at[at >= 0]]
    return out


# ---- the folder ----

_NAME = re.compile(r'name: "((?:[^"\\]|\\.)*)"')
_FILE = re.compile(r"(?:x|edges): ([^,}\s]+)")


def _unquoted(text):
    return re.sub(r"\\(x(..)|.)", lambda m: chr(int(m.group(2), 16)) if m.group(2) else m.group(1), text)


def _parts(folder):
    """{domain: {"views": {name: file}, "graphs": {name: file}, "y": file}} of the task.yaml that the library wrote."""
    found, domain, under = {}, None, None
    with open(os.path.join(folder, "task.yaml"), encoding="utf-8") as f:
        for line in f:
            if line.startswith("  - name: "):
                domain = found[_unquoted(_NAME.search(line).group(1))] = {"views": {}, "graphs": {}}
            elif line.startswith("      - "):
                domain[under][_unquoted(_NAME.search(line).group(1))] = _FILE.search(line).group(1)
            elif domain is not None:
                under, _, value = line.strip().partition(": ")
                under = under.rstrip(":")
                if value:
                    domain[under] = value
    return found


def _labels(path, goal, classes):
    """(ids, labels with None, NaN or rows of NaN where hidden) of a file of labels."""
    with open(path, encoding="utf-8", newline="") as f:
        heading, *rows = csv.reader(f)
    ids = [r[0] for r in rows]
    if goal == "regress":
        return ids, np.array([float(r[1]) if r[1] else np.nan for r in rows])
    if goal == "multilabel":
        y = np.full((len(rows), len(classes.texts)), np.nan)
        at = [classes.place[name[6:]] for name in heading[1:]]
        for i, r in enumerate(rows):
            if r[1] != "":
                y[i] = 0
                y[i, at] = [float(v) for v in r[1:]]
        return ids, y
    y = np.full(len(rows), None, dtype=object)
    for i, r in enumerate(rows):
        if r[1] != "":
            y[i] = classes.values[classes.place[r[1]]]
    return ids, y


def _matrix(path):
    with np.load(path, allow_pickle=False) as z:
        x = z["x"] if "x" in z else sp.csr_matrix((z["data"], z["indices"], z["indptr"]), shape=tuple(z["shape"]))
        return x, [str(i) for i in z["ids"]] if "ids" in z else None, z["features"].tolist() if "features" in z else None


def _as_given(x, features, given):
    """A matrix as what it was made of: a data frame where that was one."""
    given = given[1] if isinstance(given, tuple) else given
    if features is not None and hasattr(given, "iloc"):
        import pandas
        return pandas.DataFrame.sparse.from_spmatrix(x, columns=features) if sp.issparse(x) else pandas.DataFrame(x, columns=features)
    return x


def _domain(folder, name, d, parts, goal, classes, called):
    """A Source or Bridge like d with what the folder has."""
    out = copy.copy(d)
    out.name = name
    views = {}
    for view, x in d._views():
        matrix_, ids, features = _matrix(os.path.join(folder, parts["views"][called(d, name, view)]))
        matrix_ = _as_given(matrix_, features, x)
        views[view] = (ids, matrix_) if isinstance(x, tuple) else matrix_
    if d.views is None:
        out.X = views.get("x")
    else:
        out.views = views
    if d.graphs:
        out.graphs = {g: _edges(os.path.join(folder, parts["graphs"][g]), d) for g in d.graphs if g in parts["graphs"]}
    if "y" in parts and d.y is not None:
        out.y = _labels(os.path.join(folder, parts["y"]), goal, classes)[1]
    return out


def _edges(path, d):
    with open(path, encoding="utf-8", newline="") as f:
        rows = list(csv.reader(f))[1:]
    start, end, weight = [r[0] for r in rows], [r[1] for r in rows], np.array([float(r[2]) for r in rows])
    ids, n = d._rows()
    if n is None:
        return start, end, weight
    place = {i: k for k, i in enumerate(id_texts(np.arange(1, n + 1) if ids is None else ids))}
    a = sp.coo_matrix((weight, ([place[i] for i in start], [place[i] for i in end])), shape=(n, n)).tocsr()
    return a.maximum(a.T)


def read(folder, task, X, domains, called):
    """The Task of a folder; task: of compare(), X: its target as it was given, domains: (name, Source or Bridge)."""
    parts = _parts(folder)
    mine = parts[task.target.name or "target"]
    y = np.array(task.y, dtype=object if task.goal == "classify" else np.float64)
    shown = np.zeros(len(y), dtype=bool)
    if "y" in mine:
        ids, seen = _labels(os.path.join(folder, mine["y"]), task.goal, task.classes)
        here = ~hidden(seen).reshape(len(seen), -1).any(axis=1)
        place = {i: k for k, i in enumerate(target_ids(task))}
        shown[[place[i] for i, h in zip(ids, here) if h]] = True
    y[~shown] = None if y.dtype == object else np.nan
    sources = [_domain(folder, n, d, parts[n], task.goal, task.classes, called) for n, d in domains]
    found = [y] + [s.y for s in sources if s.y is not None]
    classes = None
    if task.goal == "classify":
        there = {v for values in found for v in np.asarray(values, dtype=object)[~hidden(values)].tolist()}
        classes = np.array([v for v in task.classes.values.tolist() if v in there], dtype=task.classes.values.dtype)
    return Task(X, y, sources, task.goal, classes)


def target_ids(task):
    """Names of the target's instances as the library has them, in the order of its labels."""
    ids, n = task.target._rows()
    return [str(i + 1) for i in range(len(task.y) if n is None else n)] if ids is None else id_texts(ids)


def write(folder, task, seen, found):
    """predictions.csv from what answer() gave."""
    answers, scores, classes = found
    ids = target_ids(task)
    if len(answers) != len(ids):
        raise ValueError(f"it answered for {len(answers)} rows, expected {len(ids)}, those of the target")
    names = [] if scores is None else [_text(c, task) for c in np.asarray(classes).tolist()]
    with open(os.path.join(folder, "predictions.csv"), "w", encoding="utf-8", newline="") as f:
        out = csv.writer(f)
        more = [_text(c, task) for c in seen.classes.tolist()] if names else []
        more = [c for c in more if c not in names]  # what it does not know is not likely
        out.writerow(["id", "prediction"] + [f"score.{c}" for c in names + more])
        for i, row in enumerate(ids):
            tail = [repr(float(v)) for v in scores[i]] + ["0"] * len(more) if names else []
            out.writerow([row, _answer(answers[i], task)] + tail)


def _answer(value, task):
    if task.goal == "multilabel":
        return "|".join(task.classes.texts[k].decode() for k in np.flatnonzero(value))
    if task.goal == "regress":
        return "" if value != value else repr(float(value))
    return "" if value is None else _text(value, task)


def _text(value, task):
    """What a class that it gave is called in the library."""
    at = int(task.classes.find(plain(np.array([value], dtype=object)))[0])
    if at < 0:
        raise ValueError(f"it answered {value!r}, which is none of the classes")
    return task.classes.texts[at].decode()


def runner(others, task, X, domains, called):
    """A function for ferry_ctx_set_run()."""
    def run(_user, file, folder):
        file, folder = file.decode(), os.fsdecode(folder)
        if not file.startswith("python:"):
            return -1
        outer = _lib._local.__dict__.pop("context", None)  # whose call this is: a method that uses the library needs another
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of control tasks, and once for every repeat
                seen = read(folder, task, X, domains, called)
                write(folder, task, seen, others[int(file[7:])].answer(seen))
            return 0
        except BaseException as e:  # nothing gets through a callback
            with open(os.path.join(folder, "error.txt"), "w", encoding="utf-8") as f:
                f.write(f"{type(e).__name__}: {e}".replace("\n", " ") + "\n")
            return 1
        finally:
            _lib._local.__dict__.pop("context", None)
            if outer is not None:
                _lib._local.context = outer
    return run
