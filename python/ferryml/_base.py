"""What all estimators share. The classes themselves are in _methods.py, which generate.py writes."""
from __future__ import annotations

import copy
import sys
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any, Dict, Optional

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, RegressorMixin, TransformerMixin
from sklearn.base import clone as _clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from . import _data
from ._data import GOALS, LEFT_OUT, Classes, Domain, Known, as_domains, hidden, labels_of, matrix, new_domain, plain, ratings_of, recognised
from ._lib import Handle, context, lib, text, warn
from ._links import doubts, links_of, say
from ._model import Model, Rows
from ._types import Array, Labels, Path, Reals, Sources, Table, Target

if TYPE_CHECKING:
    from typing_extensions import Self

try:  # scikit-learn 1.6
    from sklearn.utils.validation import validate_data as _validate_data
except ImportError:
    _validate_data = None


def new_task(ctx, goal, target, y, domains, unlabelled, classes, labelled=None, doubtful=True, weight=None):
    """A task of the library, the sources in their order, then the target; and which columns are the same in it."""
    pointer = c_void_p()
    ctx.call(lib.ferry_task_new, b"python", GOALS[goal], byref(pointer))
    task = Handle(pointer, lib.ferry_task_free)
    for name, d in domains:
        ys = None if d.y is None else _labels(d.y, goal, name)
        ctx.call(lib.ferry_task_add_domain, pointer, new_domain(ctx, d, d.role, name, goal, ys, unlabelled, classes))
    domain = new_domain(ctx, target, "target", target.name or "target", goal, y, unlabelled, classes)
    try:
        if labelled is not None:
            ctx.call(lib.ferry_domain_set_labelled, domain, labelled.encode())
        if weight is not None:
            ctx.call(lib.ferry_domain_set_weights, domain, len(weight), None, weight.ctypes.data)
    except BaseException:
        lib.ferry_domain_free(domain)
        raise
    ctx.call(lib.ferry_task_add_domain, pointer, domain)
    if not domains or goal == "rate":
        return task, []
    everybody = [(name, d, d.role) for name, d in domains] + [(target.name or "target", target, "target")]
    say(ctx, task, everybody)
    links = links_of(ctx, task, everybody)
    if doubtful:
        doubts(everybody, links)
    return task, links


def _labels(y, goal, name):
    """Labels of a source, of the shape that the goal has."""
    y = labels_of(y)
    wanted = 2 if goal == "multilabel" else 1
    if y.ndim != wanted:
        raise ValueError(f"labels of {name}: expected {wanted} dimension{'s' * (wanted > 1)}, got {y.ndim}")
    return y


def _shown(y, weight, unlabelled):
    """(known labels, their weights or None, where they are) of what a score is asked about."""
    y = labels_of(y)
    known = ~hidden(y, unlabelled)
    known = known.all(axis=1) if known.ndim == 2 else known
    if not known.any():
        raise ValueError("score: none of the labels in y is known")
    return plain(y[known]), None if weight is None else np.asarray(weight)[known], known


def _weights(weight, target):
    """Weights of rows as the library takes them; None: none are given."""
    if weight is None:
        return None
    weight = np.array(weight, dtype=np.float64, order="C")
    if weight.ndim == 0 and target.n is not None:
        weight = np.full(target.n, float(weight))
    if weight.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if target.n is not None and len(weight) != target.n:
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected {(target.n,)}!")
    return weight


class FerryEstimator(BaseEstimator):
    """An estimator whose work the C library does. See the subclasses."""

    _method: Optional[str] = None
    _goal: Optional[str] = None
    _fallback: Optional[Dict[str, str]] = None
    _options: tuple = ()

    def __getstate__(self):
        state = dict(super().__getstate__())
        state.pop("_rows", None)
        if "model_" in state and state.get("sources") is not None:
            state["sources"] = LEFT_OUT
        return state

    # Copies have the sources: only what is pickled has not.

    def __copy__(self):
        out = type(self).__new__(type(self))
        out.__dict__.update({k: v for k, v in self.__dict__.items() if k != "_rows"})
        return out

    def __deepcopy__(self, memo):
        out = copy.copy(self)
        out.__dict__.update(copy.deepcopy(out.__dict__, memo))
        return out

    def __sklearn_is_fitted__(self):
        return "model_" in self.__dict__

    def _more_tags(self):  # scikit-learn before 1.6
        return {"poor_score": self._poor, "allow_nan": True, "multilabel": self._multilabel, "requires_y": self._needs_y, "X_types": self._x_types}

    _multilabel = _needs_y = _poor = False
    _x_types = ["2darray", "sparse"]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = "sparse" in self._x_types
        tags.input_tags.two_d_array = "2darray" in self._x_types
        tags.target_tags.required = self._needs_y
        return tags

    # ---- input ----

    def _check(self, X, reset):
        """(matrix for the library, names of features or None)."""
        kw = {"accept_sparse": "csr", "dtype": np.float64, "order": "C", "reset": reset}
        if hasattr(X, "__dataframe__") and not hasattr(X, "iloc"):
            X = _data._from_protocol(X)
        if reset:
            self._categories = _data.categories(X) if hasattr(X, "iloc") else {}
        values = self.__dict__.get("_categories")
        if values and hasattr(X, "iloc") and set(values) <= set(X.columns):  # else the names are wrong: scikit-learn says so
            X = _data.coded(X, values)
        if _validate_data is not None:
            X = _validate_data(self, X, ensure_all_finite="allow-nan", **kw)
        else:
            X = self._validate_data(X, force_all_finite="allow-nan", **kw)
        if values:
            return _data.expanded(X, self.feature_names_in_, values)
        return matrix(X)[0], getattr(self, "feature_names_in_", None)

    def _seed(self):
        r = self.random_state
        if r is None:
            return 1
        if isinstance(r, (int, np.integer)):
            if r < 0:
                raise ValueError(f"random_state: expected a number from 0 on, got {r}")
            return int(r)
        return int(check_random_state(r).randint(2**31 - 1))

    def _threads(self):
        n = self.n_jobs
        return None if n is None else 0 if n < 0 else n

    def _settings(self):
        """Options that are not as they are by default."""
        out = {}
        for name, option, default in self._options:
            value = getattr(self, name)
            if value is not None and value != default:
                out[option] = value
        return out

    def _target(self, X):
        """The target as a Domain, whatever it came as."""
        if isinstance(X, _Lent):
            return X
        if isinstance(X, Domain):
            views = X._views()
            if len(views) == 1 and not isinstance(views[0][1], tuple):
                self._check(views[0][1], reset=True)
            else:
                self.__dict__.pop("n_features_in_", None)
            return X
        x, names = self._check(X, reset=True)
        return _Lent(x, names)

    def _domains(self, sources):
        """Pairs of name and domain: what fit() was given as sources, else the parameter."""
        return as_domains(self.sources if sources is None else sources)

    def _learn(self, goal, target, y, domains, classes, weight=None):
        """The fit itself."""
        method, options = self._method, self._settings()
        if self._fallback and not any(d.role == "source" for _, d in domains):
            warn(f"{type(self).__name__} has no sources to learn from: fitting {self._fallback[goal]} on the target alone")
            method, domains = self._fallback[goal], []
            options = {"d": max(1, min(10, self.n_features_in_, target.n - 1))} if method == "pca-joined" else {}
        ctx = context(self._seed(), self._threads())
        task, self.links_ = new_task(ctx, goal, target, y, domains, self.unlabelled, classes, weight=_weights(weight, target))
        self.model_, info = Model.fit(ctx, task, method, options, self.verbose)
        risk = self.model_.diagnostics.get("risk")
        if risk:
            warn(f"{type(self).__name__}: {risk}")
        self.n_iter_ = max(1, int(info.iters))
        self.objective_ = float(info.objective)
        self._known = None if isinstance(target, _Lent) or target.ratings is not None or target._rows()[0] is not None else Known(target)
        return self

    def _is_plain(self, X):
        """Nothing of it has to be checked but what the library checks: infinity."""
        return type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.flags.c_contiguous and len(X) > 0 and (
            X.shape[1] == getattr(self, "n_features_in_", -1)) and "feature_names_in_" not in self.__dict__

    def _predict(self, X):
        if "model_" not in self.__dict__:
            check_is_fitted(self, "model_")
        if self._is_plain(X):
            return self.model_.predict(X, None, self._threads())
        if isinstance(X, Domain):
            known, doubt = recognised(self.__dict__.get("_known"), X)
            if doubt:
                warn(doubt)
            return self.model_.predict(X, threads=self._threads(), known=known)
        x, names = self._check(X, reset=False)
        return self.model_.predict(x, names, self._threads())

    @property
    def diagnostics_(self) -> Dict[str, Any]:
        """What the fit recorded: weights, traces, chosen settings."""
        check_is_fitted(self, "model_")
        return self.model_.diagnostics

    def save(self, path: Path) -> None:
        """Write the model as a .ferry file, which ``ferry predict``, C programs and ferryml.load() read."""
        check_is_fitted(self, "model_")
        self.model_.save(path)

    def _known_labels(self, y, domains, name):
        found = []
        for label, values in [(name, y)] + [(n, d.y) for n, d in domains]:
            if values is None:
                continue
            values = _labels(values, "classify", label)
            values = plain(values[~hidden(values, self.unlabelled)])
            if len(values):
                check_classification_targets(values.astype(str) if values.dtype.kind == "S" else values)  # bytes: not from 1.9 on
            found.append(values)
        return found


class _Lent(Domain):
    """The target as it comes out of scikit-learn's checks."""

    def __init__(self, x, names):
        super().__init__(x)
        self._names = names

    def _views(self):
        if self._names is None:
            return [("x", self.X)]
        return [("x", _data.Named(self.X, self._names))]

    @property
    def n(self):
        return self.X.shape[0]


class FerryClassifier(ClassifierMixin, FerryEstimator):
    """A method that predicts classes, or sets of labels if y is a 0/1 matrix and the method supports them."""

    _needs_y = True

    def __sklearn_tags__(self):  # the mixin makes classifier_tags, after FerryEstimator had its turn
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self._multilabel
        tags.classifier_tags.poor_score = self._poor
        return tags

    def fit(self, X: Target, y: Labels | None = None, *, sources: Sources | None = None) -> Self:
        """Learn from the target and its sources.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Domain
            The target. NaN is a missing cell.
        y : array-like
            Its classes, or a 0/1 matrix of label sets; NaN or None (or the value of the parameter `unlabelled`) where
            hidden. None: all are.
        sources : list of Source and Bridge, optional
            What else to learn from; default: the parameter `sources`.

        Returns
        -------
        self
        """
        return self._fit(X, y, sources)

    def _fit(self, X, y, sources, announced=None, weight=None):
        """fit(), and that there are further classes, or weights of rows."""
        domains = self._domains(sources)
        if y is None and not domains:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        target = self._target(X)
        if y is not None:
            y, goal = self._targets(y)
        else:
            goal = "classify" if "classify" in self._goals else "multilabel"
            if any(d.y is not None and np.ndim(d.y) == 2 for _, d in domains):
                goal = "multilabel"
        if y is not None and target.n is not None and len(y) != target.n:
            raise ValueError(f"Found input variables with inconsistent numbers of samples: [{target.n}, {len(y)}]")
        self._single = False
        if goal == "multilabel":
            m = y.shape[1] if y is not None else max(np.shape(d.y)[1] for _, d in domains if d.y is not None)
            classes = Classes(np.arange(m))
        else:
            found = self._known_labels(y, domains, "the target")
            classes = Classes.of(found + ([] if announced is None else [plain(labels_of(announced))]))
            if len(classes.values) < 2 and not domains and not isinstance(X, _Lent):
                raise ValueError(f"{type(self).__name__} needs at least 2 classes in y, got {len(classes.values)} class")
            if "classify" not in self._goals:  # one of several labels is a set of one label
                self._single, goal = True, "multilabel"
                y, domains = self._as_sets(y, domains, classes)
        self._learn(goal, target, y, domains, classes, weight)
        self.classes_, self._kept = classes.values, classes
        self.multilabel_ = goal == "multilabel" and not self._single
        return self

    def _as_sets(self, y, domains, classes):
        def sets(values):
            values = _labels(values, "classify", "y")
            known = ~hidden(values, self.unlabelled)
            on = np.full((len(values), len(classes.values)), np.nan)
            on[known] = classes.find(plain(values[known]))[:, None] == np.arange(len(classes.values))
            return on

        out = []
        for name, d in domains:
            d2 = copy.copy(d)
            d2.y = None if d.y is None else sets(d.y)
            out.append((name, d2))
        return (None if y is None else sets(y)), out

    def _targets(self, y):
        """y as an array, and the goal that it means."""
        y = labels_of(y)
        shape = y.shape
        if len(shape) == 2 and shape[1] > 1:
            y = np.asarray(y, dtype=np.float64)
            known = y[~np.isnan(y).any(axis=1)]
            if "multilabel" not in self._goals or (len(known) and not type_of_target(known).startswith("multilabel")):
                raise ValueError(f"{type(self).__name__}: y should be a 1d array{self._or_sets()}, "
                                 f"got an array of shape {shape} instead.")
            return y, "multilabel"
        return column_or_1d(y, warn=True), "classify"

    def _or_sets(self):
        return " or a 0/1 matrix of label sets" if "multilabel" in self._goals else ""

    def _columns(self, p):
        """For each class of classes_, its place in the prediction's names (-1: nowhere)."""
        at = {name: j for j, name in enumerate(p.names)}
        return np.array([at.get(t.decode(), -1) for t in self._table().texts], dtype=np.intp)

    def _table(self):
        """The Classes of classes_, made once for each value of it."""
        kept = self.__dict__.get("_kept")
        if kept is not None and kept.values is self.classes_:
            return kept
        return Classes(self.classes_)

    def _scores(self, X):
        p = self._predict(X)
        columns = self._columns(p)
        if p.score is None:
            raise ValueError(f"{type(self).__name__} gives no scores")
        if len(columns) == p.k and (columns == np.arange(p.k)).all():
            return p, p.score
        out = np.full((p.n, len(columns)), -np.inf)
        out[:, columns >= 0] = p.score[:, columns[columns >= 0]]
        return p, out

    def predict(self, X: Target) -> Array:
        """Classes of rows, or a 0/1 matrix where label sets were learned."""
        if getattr(self, "multilabel_", False):
            p = self._predict(X)
            return p.set.astype(np.int64)
        if getattr(self, "_single", False):
            return self.classes_[np.argmax(self._scores(X)[1], axis=1)]
        p = self._predict(X)
        place = self._table().place
        names = np.array([place.get(t, -1) for t in p.names], dtype=np.intp)
        out = names[p.cls] if len(names) else np.full(p.n, -1)
        if (p.cls >= 0).all():
            return self.classes_[out]
        answer = self.classes_.astype(object)[out]  # set apart without a class
        answer[p.cls < 0] = None
        return answer

    def score(self, X: Target, y: Labels, sample_weight: Labels | None = None) -> float:
        """Share of the rows that are predicted right, of those whose class is known."""
        y, weight, known = _shown(y, sample_weight, getattr(self, "unlabelled", None))
        return float(accuracy_score(y, self.predict(X)[known], sample_weight=weight))

    def decision_function(self, X: Target) -> Reals:
        """Scores, larger is likelier: one column per class in the order of classes_; with two classes, how much more likely
        the second is; with label sets, one column per label."""
        check_is_fitted(self, "model_")
        _, score = self._scores(X)
        if not self.multilabel_ and score.shape[1] == 2:
            return score[:, 1] - score[:, 0]
        return score


class _Proba:
    """Methods whose scores are probabilities: not negative, with sum 1. Not for label sets."""

    _scores: Any

    @available_if(lambda self: not getattr(self, "multilabel_", False))
    def predict_proba(self, X: Target) -> Reals:
        """Probabilities, one column per class in the order of classes_."""
        check_is_fitted(self, "model_")
        _, score = self._scores(X)
        score = np.where(np.isfinite(score), score, 0.0)
        if (score < 0).any() or not np.allclose(score.sum(axis=1), 1):
            raise ValueError(f"{type(self).__name__}: with these settings its scores are no probabilities; "
                             "decision_function() has them")
        return score


class _Weighted:
    """Methods that take weights of rows."""

    _fit: Any

    def fit(self, X: Target, y: Labels | None = None, sample_weight: Labels | None = None, *, sources: Sources | None = None) -> Self:
        """Learn from the target and its sources.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Domain
            The target. NaN is a missing cell.
        y : array-like
            Its classes or numbers, or a 0/1 matrix of label sets; NaN or None (or the value of the parameter `unlabelled`)
            where hidden. None: all are.
        sample_weight : array-like, optional
            How much each row of the target counts, 0 or more: 2 is the row twice, 0 no row.
        sources : list of Source and Bridge, optional
            What else to learn from; default: the parameter `sources`.

        Returns
        -------
        self
        """
        return self._fit(X, y, sources, weight=sample_weight)


class _Stream:
    """Methods that keep learning from a stream: in batches, or a row at a time as classifiers of river, which they are to river, too:
    they work in its pipelines and in progressive_val_score(). There, no fit is needed: the first row says which features there are."""

    _poor = True  # one pass over the rows, as they come
    _of_river = _supervised = _multiclass = True  # but for the first what river asks of its classifiers
    _is_stochastic = False
    _tags: Any = property(lambda self: set())
    _mutable_attributes: Any = frozenset()
    _fit: Any
    _check: Any
    _is_plain: Any
    _table: Any
    model_: Any
    unlabelled: Any
    get_params: Any

    def __new__(cls, *args, **more):
        if cls._of_river and "river.base" in sys.modules:
            sys.modules["river.base"].Classifier.register(cls)
        return super().__new__(cls)

    def _stream(self):
        check_is_fitted(self, "model_")
        if not self.model_.streams:
            raise ValueError(f"{type(self).__name__}: this model cannot learn from a stream")
        if getattr(self, "_rows", None) is None or self._rows.model is not self.model_:
            self._rows = Rows(self.model_)
        return self._rows

    def partial_fit(self, X: Table, y: Labels, classes: Labels | None = None, *, sources: Sources | None = None) -> Self:
        """Keep learning, row by row. The first call is a fit; new classes may appear later.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame
            Rows of the target.
        y : array-like
            Their classes; NaN or None where not known.
        classes : array-like, optional
            Classes that there will be: classes_ has them from this call on, whether a row has shown them or not.
        sources : list of Source and Bridge, optional
            Of the first call: what else to learn from; default: the parameter `sources`.

        Returns
        -------
        self
        """
        if not hasattr(self, "model_"):
            return self._fit(X, y, sources, classes)
        if classes is not None:
            self._places(plain(labels_of(classes)))
        x: Any = X if self._is_plain(X) else self._check(X, reset=False)[0]
        labels: Any = y if type(y) is np.ndarray and y.ndim == 1 else column_or_1d(labels_of(y), warn=True)
        if len(labels) != x.shape[0]:
            raise ValueError(f"Found input variables with inconsistent numbers of samples: [{x.shape[0]}, {len(labels)}]")
        known = ~hidden(labels, self.unlabelled)
        rows = self._stream()
        if known.all():
            at = self._places(plain(labels)).astype(np.int32, copy=False)
        else:
            at = np.full(len(labels), -1, dtype=np.int32)
            at[known] = self._places(plain(labels[known]))
        names = self._table().texts
        if isinstance(x, np.ndarray):
            rows.learn_many(x, at, names)
        else:  # a few dense rows at a time
            for i in range(0, len(labels), 256):
                part = sp.csr_matrix((x.data, x.indices, x.indptr), shape=x.shape)[i:i + 256].toarray()
                rows.learn_many(part, at[i:i + 256], names)
        return self

    def _places(self, y):
        """Where labels stand in classes_, which gets those that are new."""
        table = self._table()
        at = table.find(y)
        if (at < 0).any():
            self._kept = table.with_more(y[at < 0])
            self.classes_ = self._kept.values
            at = self._kept.find(y)
        return at

    def _row(self, x):
        if isinstance(x, dict):
            names, values = getattr(self, "feature_names_in_", None), self.__dict__.get("_categories") or {}
            if values:
                names = _data.expanded(np.empty((0, len(names))), names, values)[1]
            place = {n: j for j, n in enumerate(names)} if names is not None else None
            row = np.zeros(self._stream().columns)
            for key, value in x.items():
                if key in values:
                    if value not in values[key]:
                        continue  # as a missing one
                    key, value = f"{key}={_data.class_text(value)}", 1.0
                j = place.get(key) if place is not None else key
                if j is None or not 0 <= j < len(row):
                    if "_passed" not in self.__dict__:
                        raise ValueError(f"there is no feature {key!r}")
                    if key not in self._passed:
                        self._passed.add(key)
                        warn(f"{type(self).__name__}: feature {key!r} is passed over: it was not in the first row")
                    continue
                row[j] = value
            return row
        row = np.ascontiguousarray(x, dtype=np.float64).ravel()
        if len(row) != self._stream().columns:
            raise ValueError(f"X has {len(row)} features, but {type(self).__name__} is expecting {self._stream().columns} "
                             "features as input")
        return row

    def learn_one(self, x: Dict[Any, Any] | Labels, y: Any) -> Self:
        """Learn one row, an array or a dict of values by feature, and its class; as in river. The first row of all is a fit, with the
        parameter `sources`: its features are those of the model."""
        if "model_" not in self.__dict__:
            return self._begin(x, y)
        rows, row = self._stream(), self._row(x)
        table = self._table()
        at = table.place.get(_data.class_text(y))
        if at is not None and table.values[at] == y:
            label = table.texts[at]
        else:
            at = self._places(plain(np.array([y], dtype=object)))[0]
            label = self._table().texts[at]
        rows.learn(row, label)
        return self

    def predict_one(self, x: Dict[Any, Any] | Labels) -> Any:
        """The class of one row; None when none is known yet."""
        if "model_" not in self.__dict__:
            return None
        rows, row = self._stream(), self._row(x)
        at = rows.see(row)
        if at < 0:
            return None
        return self.classes_[self._table().place[text(lib.ferry_model_class_at(self.model_.pointer, at))]]

    def predict_proba_one(self, x: Dict[Any, Any] | Labels) -> Dict[Any, float]:
        """Classes of one row by how likely they are; none when none is known yet. They are the softmax of the scores: the order is
        that of the scores, the numbers are not calibrated."""
        if "model_" not in self.__dict__:
            return {}
        rows, row = self._stream(), self._row(x)
        names = self.model_.names
        score = np.zeros(len(names))
        if rows.see(row, score) < 0:
            return {}
        p = np.exp(score - score.max())
        classes, place = self.classes_.tolist(), self._table().place
        return {classes[place[name]]: float(v) for name, v in zip(names, p / p.sum())}

    def _begin(self, x, y):
        """The first row of a stream, without a fit before it."""
        names = sorted(x, key=str) if isinstance(x, dict) else None  # the order in which a row names its features says nothing
        row = np.array([x[n] for n in names] if names is not None else x, dtype=np.float64).reshape(1, -1)
        self.n_features_in_ = row.shape[1]
        if names is not None:
            self.feature_names_in_, self._passed = np.array(names, dtype=object), set()
        return self._fit(_Lent(row, names), plain(np.array([y], dtype=object)), None)

    # ---- what river asks of an estimator ----

    def clone(self, new_params: Dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """A fresh estimator with the same parameters, as of river; with include_attributes one that has learned as much."""
        out: Any = copy.deepcopy(self) if include_attributes else _clone(self)
        out.set_params(**(new_params or {}))
        return out

    def _get_params(self):
        return self.get_params(deep=False)

    @property
    def _raw_memory_usage(self):
        return len(self.model_.to_bytes()) if "model_" in self.__dict__ else 0


class FerryRegressor(RegressorMixin, FerryEstimator):
    """A method that predicts numbers."""

    _needs_y = True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = self._poor
        return tags

    def fit(self, X: Target, y: Labels | None = None, *, sources: Sources | None = None) -> Self:
        """Learn from the target and its sources.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Domain
            The target. NaN is a missing cell.
        y : array-like
            Its numbers, NaN where hidden.
        sources : list of Source and Bridge, optional
            What else to learn from; default: the parameter `sources`.

        Returns
        -------
        self
        """
        return self._fit(X, y, sources)

    def _fit(self, X, y, sources, weight=None):
        domains = self._domains(sources)
        if y is None and not domains:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        target, values = self._target(X), None
        if y is not None:
            values = _real(column_or_1d(labels_of(y), warn=True))
            if target.n is not None and len(values) != target.n:
                raise ValueError(f"Found input variables with inconsistent numbers of samples: [{target.n}, {len(values)}]")
        return self._learn("regress", target, values, domains, None, weight)

    def predict(self, X: Target) -> Reals:
        """Numbers for rows."""
        return self._predict(X).value

    def score(self, X: Target, y: Labels, sample_weight: Labels | None = None) -> float:
        """R squared on the rows whose number is known."""
        y, weight, known = _shown(y, sample_weight, getattr(self, "unlabelled", None))
        return float(r2_score(y, self.predict(X)[known], sample_weight=weight))


def _real(y):
    try:
        y = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as e:
        raise ValueError(f"y: expected numbers: {e}") from None
    if np.isinf(y).any():
        raise ValueError("Input y contains infinity or a value too large for dtype('float64').")
    return y


class FerryTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, FerryEstimator):
    """A method that embeds instances in a space of few dimensions."""

    def fit(self, X: Target, y: Labels | None = None, *, sources: Sources | None = None) -> Self:
        """Learn from the target and its sources.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Domain
            The target. NaN is a missing cell.
        y : array-like, optional
            Its classes where the method uses them; NaN or None where hidden.
        sources : list of Source and Bridge, optional
            What else to learn from; default: the parameter `sources`.

        Returns
        -------
        self
        """
        target = self._target(X)
        if target.n == 1:
            raise ValueError("Found array with 1 sample(s) while a minimum of 2 is required")
        domains = self._domains(sources)
        classes = labels = None
        if y is not None:
            labels = column_or_1d(labels_of(y), warn=False)
            if target.n is not None and len(labels) != target.n:
                raise ValueError(f"Found input variables with inconsistent numbers of samples: [{target.n}, {len(labels)}]")
            if labels.dtype.kind == "f" and type_of_target(plain(labels[~hidden(labels)])) == "continuous":
                labels = None  # numbers are no classes: they do not help an embedding
        if labels is not None or any(d.y is not None for _, d in domains):
            classes = Classes.of(self._known_labels(labels, domains, "the target"))
        self._learn("embed", target, labels, domains, classes)
        self._n_features_out = self._predict(X).k
        return self

    def transform(self, X: Target) -> Reals:
        """Rows in the space that was learned."""
        return self._predict(X).score


class FerryRater(RegressorMixin, FerryEstimator):
    """A method that predicts ratings. X are pairs (user, item), y the ratings."""

    _needs_y = True
    _x_types = ["string"]

    def fit(self, X: Target, y: Labels | None = None, *, sources: Sources | None = None) -> Self:
        """Learn from the target's ratings and those of the sources.

        Parameters
        ----------
        X : array-like or data frame of two columns
            Users and items.
        y : array-like
            The ratings.
        sources : list of Source, optional
            ``Source(ratings=(users, items, values))`` each; default: the parameter `sources`.

        Returns
        -------
        self
        """
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        users, items, _ = ratings_of(X)
        values = _real(column_or_1d(labels_of(y), warn=True))
        if len(values) != len(users):
            raise ValueError(f"Found input variables with inconsistent numbers of samples: [{len(users)}, {len(values)}]")
        self._id_types = _data.id_types(X)
        return self._learn("rate", Domain(ratings=(users, items, values)), None, self._domains(sources), None)

    def predict(self, X: Table) -> Reals:
        """Ratings of pairs. New users and items get average ratings."""
        check_is_fitted(self, "model_")
        users, items, _ = ratings_of(X)
        if not users:
            return np.empty(0)
        return self.model_.predict(Domain(ratings=(users, items, np.full(len(users), np.nan))), threads=self._threads()).value

    def recommend(self, users: Labels | None = None, n: int = 10, rated: bool = False) -> Dict[Any, Any]:
        """The items that users would rate highest, best first.

        Parameters
        ----------
        users : sequence, optional
            Whom to recommend for; None: everybody.
        n : int
            Items per user.
        rated : bool
            Also items that the user has rated.

        Returns
        -------
        dict
            For each user the list of (item, rating). Users are called as they were asked for, items (and users, where all
            are asked for) as at the fit; text in a model that was loaded from a file.
        """
        check_is_fitted(self, "model_")
        named: Any = users
        asked = {_data.class_text(u): u for u in ([] if users is None else named.tolist() if hasattr(users, "tolist") else named)}
        p = self.model_.recommend(None if users is None else list(asked), n, rated)
        user_type, item_type = self.__dict__.get("_id_types", (str, str))
        out: Dict[Any, Any] = {u: [] for u in asked.values()}
        for user, item, value in zip(p.users, p.items, p.value.tolist()):
            user = asked[user] if user in asked else _data.as_id(user_type, user)
            out.setdefault(user, []).append((_data.as_id(item_type, item), value))
        return out

    def fold_in(self, X: Table, y: Labels) -> Self:
        """Learn about new users and items from their ratings, without fitting again."""
        check_is_fitted(self, "model_")
        users, items, _ = ratings_of(X)
        self.model_ = self.model_.fold_in(Domain(ratings=(users, items, _real(column_or_1d(y)))))
        return self
