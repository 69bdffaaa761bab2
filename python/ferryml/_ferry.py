"""The answer as an estimator: what ``ferry fit`` without -m does."""
from __future__ import annotations

from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any, Dict, Sequence

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from . import _methods
from ._base import FerryClassifier, FerryRegressor, _Stream, new_task
from ._compare import _add_methods, _frame, _own
from ._data import Known
from ._lib import context, lib
from ._model import Model
from ._types import Labels, Reals, Seed, Sources, Table, Target

if TYPE_CHECKING:
    from typing_extensions import Self


class _Choice:
    """Fits what is recommended from the labels that are known, and keeps why."""

    _options: Any = ()
    _goals: Any
    sources: Any
    unlabelled: Any
    random_state: Any
    n_jobs: Any

    def _learn(self, goal, target, y, domains, classes, weight=None):
        ctx = context(self._seed(), self._threads())
        task, self.links_ = new_task(ctx, goal, target, y, domains, self.unlabelled, classes, labelled="1.0")
        _add_methods(ctx, task, _own(self.methods))
        out = c_void_p()
        ctx.long(lib.ferry_fit_answer, task.pointer, int(bool(self.single)), byref(out), verbose=self.verbose)
        self.model_ = Model(out)
        self._known = Known(target) if target.graphs and target._rows()[0] is None else None
        return self

    @property
    def answer_(self) -> Dict[str, Any]:
        """What was chosen and why: ``use``, ``expect`` and ``source`` are its three lines, ``members`` the methods with their
        weights, ``value`` (with its interval) what to expect, ``worth`` (with its interval) and ``verdict`` the source."""
        check_is_fitted(self, "model_")
        found = dict(self.model_.diagnostics["answer"])
        found.pop("candidates")
        return found

    @property
    def leaderboard_(self) -> Any:
        """Every method that was considered, the heaviest first: its weight in the choice, the mean of its errors on known labels
        that its fits did not see (of numbers squared and over their variance; NaN: none could be hidden), and whether it sees a source. A data frame
        where pandas is there, else a list of dicts."""
        check_is_fitted(self, "model_")
        rows = [{"method": name, "weight": c[0], "error": np.nan if c[1] is None else c[1], "sees_source": c[2]}
                for name, c in self.model_.diagnostics["answer"]["candidates"].items()]
        rows.sort(key=lambda row: (-row["weight"], row["error"] if row["error"] == row["error"] else np.inf, row["method"]))
        return _frame(rows, "method")

    @property
    def best_estimator_(self) -> Any:
        """The method with the largest weight, as an estimator that is not fitted; its sources and settings are those of this one."""
        name = next(iter(self.answer_["members"]))
        train = "both" if name.endswith("+source") else "source" if name.endswith("-source") else None
        method, goal = name[:-7] if train else name, self._goals[-1] if getattr(self, "multilabel_", False) else self._goals[0]
        kind: Any = next(k for k in (_methods.__dict__[name] for name in _methods.__all__) if k._method == method and goal in k._goals)
        more = {"train": train} if train else {}
        return kind(sources=self.sources, unlabelled=self.unlabelled, random_state=self.random_state, n_jobs=self.n_jobs, **more)


class Ferry(_Choice, _Stream, FerryClassifier):
    """Whatever the known labels recommend, with or without the sources: mostly a blend of several methods.

    All methods that fit the task are tried by cross-validation on the labels that are known; `answer_` has what was chosen,
    how good it will be on new rows and what the sources are worth. ``ferry fit`` without -m does the same.

    Parameters
    ----------
    single : bool, default False
        One method, that with the largest weight, and no blend.
    methods : list or None, default None
        Names of methods, pairs (name, options) or estimators of ferryml to choose from; None: all.
    sources : list or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    Examples
    --------
    >>> import numpy as np, ferryml
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = ferryml.Ferry(methods=["logreg", "majority"]).fit(X, y)
    >>> max(model.answer_["members"], key=model.answer_["members"].get)
    'logreg'
    """

    _goals = ("classify", "multilabel")
    _multilabel = True
    _poor = _of_river = False

    def __init__(self, *, single: bool = False, methods: Sequence[Any] | None = None, sources: Sources | None = None,
                 unlabelled: object = None, random_state: Seed = None, n_jobs: int | None = None, verbose: bool = False) -> None:
        self.single, self.methods, self.sources, self.unlabelled = single, methods, sources, unlabelled
        self.random_state, self.n_jobs, self.verbose = random_state, n_jobs, verbose

    @available_if(lambda self: not getattr(self, "multilabel_", False))
    def predict_proba(self, X: Target) -> Reals:
        """Probabilities, one column per class in the order of classes_. Where one method was chosen whose scores are none, they
        are what they would be in a blend."""
        check_is_fitted(self, "model_")
        _, score = self._scores(X)
        there = np.isfinite(score)
        answer = self.model_.diagnostics["answer"]
        scale = answer["candidates"][next(iter(answer["members"]))][3] if len(answer["members"]) == 1 else 0
        if not scale:
            return np.where(there, score, 0.0)
        k = there.sum(axis=1, keepdims=True)
        z = np.where(there, score, 0.0)
        z = np.where(there, 2 * (z - z.sum(axis=1, keepdims=True) / np.maximum(k, 1)) / scale, -np.inf)
        p = np.exp(z - z.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)

    @available_if(lambda self: "model_" in self.__dict__ and self.model_.streams)
    def partial_fit(self, X: Table, y: Labels, classes: Labels | None = None) -> Self:
        """Keep learning, where the one method that was chosen can (``single=True``); see HetOMTL.partial_fit()."""
        return _Stream.partial_fit(self, X, y, classes)

    @available_if(lambda self: "model_" in self.__dict__ and self.model_.streams)
    def learn_one(self, x: Dict[Any, Any] | Labels, y: Any) -> Self:
        """Learn one row and its class, as in river, where the one method that was chosen can."""
        return _Stream.learn_one(self, x, y)

    @available_if(lambda self: "model_" in self.__dict__ and self.model_.streams)
    def predict_one(self, x: Dict[Any, Any] | Labels) -> Any:
        """The class of one row; None when none is known yet."""
        return _Stream.predict_one(self, x)

    @available_if(lambda self: "model_" in self.__dict__ and self.model_.streams)
    def predict_proba_one(self, x: Dict[Any, Any] | Labels) -> Dict[Any, float]:
        """Classes of one row by how likely they are; none when none is known yet."""
        return _Stream.predict_proba_one(self, x)


class FerryNumbers(_Choice, FerryRegressor):
    """As Ferry, for numbers: whatever the known ones recommend, with or without the sources.

    Parameters
    ----------
    single : bool, default False
        One method, that with the largest weight, and no blend.
    methods : list or None, default None
        Names of methods, pairs (name, options) or estimators of ferryml to choose from; None: all.
    sources : list or None, default None
        What to learn from beside the target, where fit() is not given it.
    unlabelled : object, default None
        A value of y that means: not known, beside NaN and None.
    random_state : int or None, default None
        Seed; None: 1, as the command.
    n_jobs : int or None, default None
        Threads; None: OMP_NUM_THREADS or all cores.
    verbose : bool, default False
        Show a progress bar, if tqdm is there.

    Examples
    --------
    >>> import numpy as np, ferryml
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> ferryml.FerryNumbers().fit(X, X[:, 0] + X[:, 1]).score(X, X[:, 0] + X[:, 1]) > 0.9
    True
    """

    _goals = ("regress",)

    def __init__(self, *, single: bool = False, methods: Sequence[Any] | None = None, sources: Sources | None = None,
                 unlabelled: object = None, random_state: Seed = None, n_jobs: int | None = None, verbose: bool = False) -> None:
        self.single, self.methods, self.sources, self.unlabelled = single, methods, sources, unlabelled
        self.random_state, self.n_jobs, self.verbose = random_state, n_jobs, verbose


AutoTransfer = Ferry
