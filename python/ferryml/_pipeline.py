"""Pipelines whose steps see the sources too.

A pipeline of scikit-learn transforms the target alone; sources whose columns are linked with its own would stay as they were.
Here every step says what it sees: all domains together, each domain alone, or the target only. Which views are the same features
is followed through the steps and told to the estimator at the end (same_as).
"""
from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Dict, NamedTuple, Optional, Sequence

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import _name_estimators
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.metaestimators import _BaseComposition, available_if
from sklearn.utils.validation import check_is_fitted

from ._base import new_task
from ._data import LEFT_OUT, Domain, Named, _from_protocol, as_domains, hidden, labels_of, plain
from ._lib import context
from ._links import _alone, _names, _width
from ._types import Array, Labels, Reals, Sources, Target

if TYPE_CHECKING:
    from typing_extensions import Self

try:  # scikit-learn 1.6
    from sklearn.utils import get_tags
except ImportError:
    get_tags = None

WHERE = ("shared", "per_domain", "target_only")


class Step(NamedTuple):
    """A transformer of make_transfer_pipeline(), and what it sees. Made by shared(), per_domain() and target_only().

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> import ferryml
    >>> ferryml.shared(StandardScaler(), views=["words"])
    Step(transformer=StandardScaler(), where='shared', views=['words'])
    """

    transformer: Any
    where: str
    views: Optional[Sequence[str]]


def shared(transformer: Any, views: Optional[Sequence[str]] = None) -> Step:
    """A step that learns from all domains together and transforms each of them.

    The columns of the domains have to be the same: data frames with the same names, in any order, views that are linked (see
    Domain), or arrays of one width. They are linked afterwards, whatever they are then. Where there are several views, each group of
    linked ones has a transformer of its own.

    Parameters
    ----------
    transformer : estimator with transform()
        Of scikit-learn, or any other. One that needs labels gets the rows whose labels are known.
    views : list of str, optional
        Names of the views that are transformed; default: all. A view of its own array or frame is called "x".

    Returns
    -------
    Step
        For make_transfer_pipeline().

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import StandardScaler
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2], y[::2], columns="shared")
    >>> model = ferryml.make_transfer_pipeline(ferryml.shared(StandardScaler()), ferryml.Hop(sources=[old])).fit(X[1::4], y[1::4])
    >>> bool(model.transformers_[0]["source1.x"] is model.transformers_[0]["target.x"])
    True
    """
    return Step(transformer, "shared", views)


def per_domain(transformer: Any, views: Optional[Sequence[str]] = None) -> Step:
    """A step that learns from each domain alone, and transforms that.

    Columns that the transformer keeps (scalers do, PCA does not) stay linked as they were; new ones belong to their domain.

    Parameters
    ----------
    transformer : estimator with transform()
        A copy of it for each domain and view.
    views : list of str, optional
        Names of the views that are transformed; default: all.

    Returns
    -------
    Step
        For make_transfer_pipeline().

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import StandardScaler
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2], y[::2], columns="shared")
    >>> model = ferryml.make_transfer_pipeline(ferryml.per_domain(StandardScaler()), ferryml.Hop(sources=[old])).fit(X[1::4], y[1::4])
    >>> bool(model.transformers_[0]["source1.x"] is model.transformers_[0]["target.x"])
    False
    """
    return Step(transformer, "per_domain", views)


def target_only(transformer: Any, views: Optional[Sequence[str]] = None) -> Step:
    """A step that learns from the target and transforms nothing else, as a step of scikit-learn's pipelines does.

    Parameters
    ----------
    transformer : estimator with transform()
        What it makes of the target's columns is linked with sources only where it keeps them.
    views : list of str, optional
        Names of the views that are transformed; default: all.

    Returns
    -------
    Step
        For make_transfer_pipeline().

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import StandardScaler
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2], y[::2], columns="shared")
    >>> model = ferryml.make_transfer_pipeline(ferryml.target_only(StandardScaler()), ferryml.Hop(sources=[old])).fit(X[1::4], y[1::4])
    >>> list(model.transformers_[0])
    ['target.x']
    """
    return Step(transformer, "target_only", views)


def make_transfer_pipeline(*steps: Any) -> TransferPipeline:
    """A TransferPipeline of steps and an estimator, with names made of their types, as of make_pipeline().

    Parameters
    ----------
    *steps : Step, and an estimator at the end
        ``shared(StandardScaler())``, ``per_domain(PCA(50))``, ``target_only(...)``; the estimator is one of ferryml.

    Returns
    -------
    TransferPipeline

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import StandardScaler
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2], y[::2], columns="shared")
    >>> model = ferryml.make_transfer_pipeline(ferryml.shared(StandardScaler()), ferryml.Hop(sources=[old])).fit(X[1::4], y[1::4])
    >>> model.score(X[3::4], y[3::4]) > 0.8
    True
    """
    for step in steps[:-1]:
        if not isinstance(step, Step):
            raise TypeError(f"make_transfer_pipeline: say what {type(step).__name__} sees: shared(...), per_domain(...) or target_only(...)")
    if not steps or isinstance(steps[-1], Step):
        raise TypeError("make_transfer_pipeline: an estimator comes last")
    made = _name_estimators([*(s.transformer for s in steps[:-1]), steps[-1]])
    triples = [(name, t, s.where if s.views is None else (s.where, *s.views)) for (name, t), s in zip(made, steps[:-1])]
    return TransferPipeline([*triples, made[-1]])


def _final_has(name):
    return available_if(lambda self: hasattr(self.__dict__.get("estimator_", self.steps[-1][1]), name))


class TransferPipeline(_BaseComposition):
    """Steps that transform target and sources, and an estimator of ferryml at the end. See make_transfer_pipeline().

    Parameters
    ----------
    steps : list of tuples
        (name, transformer, where) of each step, where is "shared", "per_domain" or "target_only", or a tuple of one of these and names
        of views; and (name, estimator) at the end. A transformer may be "passthrough". Parameters of a step have its name in front,
        as in pipelines of scikit-learn: ``pca__n_components``.

    Attributes
    ----------
    estimator_ : estimator
        The last step, fitted.
    transformers_ : list of dict
        For each step, the fitted transformers by "DOMAIN.VIEW": "target.x" is that of the target, unless its Domain has names.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> import ferryml
    >>> model = ferryml.TransferPipeline([("pca", PCA(2), "per_domain"), ("space", ferryml.CDSPP())])
    >>> model.set_params(pca__n_components=3).named_steps
    {'pca': PCA(n_components=3), 'space': CDSPP()}
    """

    def __init__(self, steps: Sequence[Any]) -> None:
        self.steps = steps

    # ---- parameters ----

    def __getstate__(self):
        state = dict(super().__getstate__())
        last = self.steps[-1][1]
        if "estimator_" in state and getattr(last, "sources", None) is not None:  # as the estimator itself does
            state["steps"] = [*self.steps[:-1], (self.steps[-1][0], clone(last).set_params(sources=LEFT_OUT))]
        return state

    def __copy__(self):
        out = type(self).__new__(type(self))
        out.__dict__.update(self.__dict__)
        return out

    def __deepcopy__(self, memo):
        out = type(self).__new__(type(self))
        out.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return out

    @property
    def _named(self):
        return [(s[0], s[1]) for s in self.steps]

    @_named.setter
    def _named(self, pairs):
        self.steps = [(name, e, *s[2:]) for (name, e), s in zip(pairs, self.steps)]

    def get_params(self, deep: bool = True) -> Dict[str, Any]:
        """Parameters of the steps, too, with the name of the step in front."""
        return self._get_params("_named", deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, or whole steps by their names."""
        self._set_params("_named", **params)
        return self

    def set_output(self, *, transform: Any = None) -> Self:
        """What the transformers give out: "pandas", "default"; as of any transformer of scikit-learn."""
        fitted = [t for step in self.__dict__.get("transformers_", ()) for t in step.values()]
        for t in [e for _, e in self._named] + fitted + [self.__dict__.get("estimator_")]:
            if hasattr(t, "set_output"):
                t.set_output(transform=transform)
        return self

    @property
    def _estimator_type(self):  # scikit-learn before 1.6
        return getattr(self.steps[-1][1], "_estimator_type", None)

    def __sklearn_tags__(self):
        tags, last = super().__sklearn_tags__(), get_tags(self.steps[-1][1])
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "transformer_tags", "target_tags", "input_tags"):
            setattr(tags, name, getattr(last, name))
        return tags

    def __sklearn_is_fitted__(self):
        return "estimator_" in self.__dict__

    @property
    def named_steps(self) -> Dict[str, Any]:
        """The steps by name, as they were given."""
        return dict(self._named)

    @property
    def classes_(self) -> Any:
        """Those of the estimator."""
        return self.estimator_.classes_

    # ---- fit ----

    def _checked(self):
        """(name, transformer, where, views or None) of the steps before the last."""
        names, out = [s[0] for s in self.steps], []
        self._validate_names(names)
        for step in self.steps[:-1]:
            where = step[2] if len(step) == 3 else None
            where, *views = (where,) if isinstance(where, str) or where is None else where
            if where not in WHERE:
                raise ValueError(f"step {step[0]!r}: expected (name, transformer, where) with where one of {', '.join(WHERE)}, got {step!r}")
            out.append((step[0], step[1], where, views or None))
        if not hasattr(self.steps[-1][1], "sources"):
            raise TypeError(f"the last step learns from sources, so it is an estimator of ferryml, not {self.steps[-1][1]!r}")
        return out

    def fit(self, X: Target, y: Labels | None = None, *, sources: Sources | None = None) -> Self:
        """Fit the steps one after the other, and the estimator to what they make of target and sources.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or Domain
            The target.
        y : array-like
            Its labels, as the estimator takes them.
        sources : list of Source and Bridge, optional
            What else to learn from; default: the parameter `sources` of the estimator.

        Returns
        -------
        self
        """
        return self._fit("fit", X, y, sources)

    def _fit(self, call, X, y, sources, *more):
        """fit() of the steps, and fit() or partial_fit() of the estimator."""
        steps, last = self._checked(), self.steps[-1][1]
        domains = as_domains(last.sources if sources is None else sources)
        self._name = (X.name if isinstance(X, Domain) else None) or "target"
        parts = [_Part(name, d, d.y) for name, d in domains] + [_Part(self._name, X if isinstance(X, Domain) else Domain(X), y)]
        _find_groups(parts)
        self.transformers_ = []
        for name, transformer, where, views in steps:
            fitted = {}
            if transformer not in (None, "passthrough"):
                for members in _members(name, where, views, parts):
                    t = _fitted(transformer, members, last.unlabelled)
                    for part, view in members:
                        part.transform(t, view, where)
                        fitted[f"{part.name}.{view}"] = t
            self.transformers_.append(fitted)
        self.__dict__.pop("feature_names_in_", None)
        if not isinstance(X, Domain):
            self.n_features_in_ = _width(X)
            if _names(X) is not None:
                self.feature_names_in_ = np.array(_names(X), dtype=object)
        self.estimator_ = clone(last)
        getattr(self.estimator_, call)(parts[-1].target(X), y, *more, sources=_sources(parts))
        return self

    def _transformed(self, X):
        """The target's rows after all steps."""
        check_is_fitted(self)
        part = _Part(self._name, X if isinstance(X, Domain) else Domain(X), None)
        for fitted in self.transformers_:
            for view in part.views:
                if f"{self._name}.{view}" in fitted:
                    part.views[view] = _apply(fitted[f"{self._name}.{view}"], part.views[view])
        return part.target(X)

    # ---- what the estimator does ----

    def _ask(self, call, X, *more):
        x = self._transformed(X)
        return getattr(self.estimator_, call)(x, *more)

    @_final_has("partial_fit")
    def partial_fit(self, X: Target, y: Labels, classes: Labels | None = None, *, sources: Sources | None = None) -> Self:
        """Keep learning from rows, which the steps transform as they have learned to; the first call is a fit of all."""
        if not self.__sklearn_is_fitted__():
            return self._fit("partial_fit", X, y, sources, classes)
        self._ask("partial_fit", X, y, classes)
        return self

    @_final_has("predict")
    def predict(self, X: Target) -> Array:
        """What the estimator predicts for transformed rows."""
        return self._ask("predict", X)

    @_final_has("predict_proba")
    def predict_proba(self, X: Target) -> Reals:
        """Probabilities of transformed rows, one column per class in the order of classes_."""
        return self._ask("predict_proba", X)

    @_final_has("decision_function")
    def decision_function(self, X: Target) -> Reals:
        """Scores of transformed rows."""
        return self._ask("decision_function", X)

    @_final_has("score")
    def score(self, X: Target, y: Labels | None = None) -> float:
        """The estimator's score on transformed rows."""
        return self._ask("score", X, y)

    @_final_has("transform")
    def transform(self, X: Target) -> Reals:
        """The estimator's embedding of transformed rows."""
        return self._ask("transform", X)

    @_final_has("transform")
    def fit_transform(self, X: Target, y: Labels | None = None, *, sources: Sources | None = None) -> Reals:
        """fit() and transform()."""
        return self.fit(X, y, sources=sources).transform(X)

    @_final_has("get_feature_names_out")
    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the estimator's columns."""
        return self.estimator_.get_feature_names_out()


# ---- domains on their way through the steps ----

class _Part:
    """A domain: its views, with rows by their ids where these have some, and the group of linked views that each belongs to."""

    def __init__(self, name, d, y):
        self.name, self.domain, self.y = name, d, y
        self.views = {v: _frame(_alone(x)) for v, x in d._views()}
        self.rows = {v: x[0] for v, x in d._views() if isinstance(x, tuple)}
        self.group = {}

    def transform(self, t, view, where):
        """The view after a fitted transformer; where it does not keep the columns, they are linked with no others."""
        before = self.views[view]
        self.views[view] = after = _apply(t, before)
        if where != "shared" and not _keeps(t, before, after):
            self.group[view] = object()

    def labels(self, view, unlabelled):
        """(labels of the view's rows, where they are known)."""
        if self.y is None:
            return None, np.zeros(_height(self.views[view]), dtype=bool)
        y = labels_of(self.y)
        if view in self.rows:
            of, at = self.domain._rows()[0], self.rows[view]
            place = {i: k for k, i in enumerate(of if of is not None else range(1, len(y) + 1))}
            y = y[[place[i] for i in at]]
        return y, ~hidden(y, unlabelled).reshape(len(y), -1).any(axis=1)

    def again(self, same_as=None):
        """The domain with what its views have become."""
        d = copy.copy(self.domain)
        views = {v: (self.rows[v], x) if v in self.rows else x for v, x in self.views.items()}
        if d.views is None and views:
            d.X = views["x"]
        elif views:
            d.views = views
        d.columns, d.same_as = None, same_as
        return d

    def target(self, X):
        return self.again(self.domain.same_as) if isinstance(X, Domain) else self.views["x"]


def _frame(x):
    """Frames of all kinds as those of pandas."""
    return _from_protocol(x) if hasattr(x, "__dataframe__") and not hasattr(x, "iloc") else x


def _apply(t, x):
    """transform(); where columns had names and numbers come back, with the names that the transformer gives them."""
    out = t.transform(x)
    if isinstance(out, np.ndarray) and out.ndim == 2 and hasattr(x, "iloc") and _names(x) is not None:
        names = _names_out(t)
        if names is not None and len(names) == out.shape[1]:
            return type(x)(out, columns=names, index=x.index)
    return out


def _names_out(t):
    try:
        return [str(n) for n in t.get_feature_names_out()]
    except (AttributeError, ValueError, TypeError, NotImplementedError):
        return None


def _height(x):
    return x.shape[0] if hasattr(x, "shape") else len(x)


def _find_groups(parts):
    """Numbers for the groups of views that the library takes for the same features. It sees names and widths, no rows."""
    def empty(x):
        bare = np.empty((0, _width(x)))
        return bare if _names(x) is None else Named(bare, _names(x))

    def outline(part):
        d = copy.copy(part.domain)
        d.y = d.graphs = d.ratings = d.ids = None
        d.X = None if d.X is None else empty(part.views["x"])
        d.views = None if d.views is None else {v: empty(x) for v, x in part.views.items()}
        return d

    for k, (p, v) in enumerate((p, v) for p in parts for v in p.views):
        p.group[v] = k
    if len(parts) < 2 or not all(p.views for p in parts):
        return
    at = {f"{p.name}.{v}": (p, v) for p in parts for v in p.views}
    rest = [(p.name, outline(p)) for p in parts[:-1]]
    for k in new_task(context(), "embed", outline(parts[-1]), None, rest, None, None, doubtful=False)[1]:
        (p, v), (q, w) = at[f"{k.domain}.{k.view}"], at[k.same_as]
        old, new = p.group[v], q.group[w]
        for r in parts:
            r.group.update({u: new for u, g in r.group.items() if g == old})


def _members(name, where, views, parts):
    """Lists of (part, view) for each transformer that a step needs."""
    chosen = [(p, v) for p in parts for v in p.views if views is None or v in views]
    if views is not None and not chosen:
        raise ValueError(f"step {name!r}: no domain has a view {', '.join(map(repr, views))}")
    if where == "target_only":
        return [[m] for m in chosen if m[0] is parts[-1]]
    if where == "per_domain" or len(parts) == 1:
        return [[m] for m in chosen]
    _join_arrays(parts)
    groups = {}
    for p, v in chosen:
        groups.setdefault(p.group[v], []).append((p, v))
    for members in groups.values():
        if len(members) == 1:
            p, v = members[0]
            raise ValueError(f"step {name!r}: shared(...) is for columns that several domains have, but none of those of {p.name!r}"
                             f"{'' if p.domain.views is None else f', view {v!r},'} is linked with another: use per_domain(...), "
                             "or say which they are: Source(..., columns='shared')")
        _line_up(name, members)
    return list(groups.values())


def _join_arrays(parts):
    """Arrays without names that are as wide as the target's: whoever shares a step among them says that they have its columns."""
    target = parts[-1]
    if target.domain.views is not None or not target.views or _names(target.views["x"]) is not None:
        return
    for p in parts[:-1]:
        if (p.domain.views is None and p.views and p.domain.columns is None and p.domain.same_as is None and _names(p.views["x"]) is None
                and _width(p.views["x"]) == _width(target.views["x"]) and sum(p.group["x"] == g for q in parts for g in q.group.values()) == 1):
            p.group["x"] = target.group["x"]


def _line_up(name, members):
    """Bring the columns of linked views into one order, that of the last, which is the target's where it is among them."""
    last, view = members[-1]
    want = _names(last.views[view])
    for p, v in members:
        have = _names(p.views[v])
        if want is not None and have is not None and set(have) != set(want) and set(have) & set(want):
            lacks = sorted(set(want) ^ set(have))[0]
            raise ValueError(f"step {name!r}: shared(...) needs the same columns in all domains, but {lacks!r} is not in both {p.name!r} and {last.name!r}")
        if _width(p.views[v]) != _width(last.views[view]):
            raise ValueError(f"step {name!r}: shared(...) needs the same columns in all domains, but {p.name!r} has {_width(p.views[v])} and "
                             f"{last.name!r} {_width(last.views[view])}")
        if want is not None and have is not None and have != want and set(have) == set(want):
            p.views[v] = p.views[v][want]


def _fitted(transformer, members, unlabelled):
    """A copy of the transformer, fitted to all rows of these views, or to those with labels if it needs labels."""
    t = clone(transformer)
    xs = [p.views[v] for p, v in members]
    ys, known = zip(*(p.labels(v, unlabelled) for p, v in members))
    some = any(k.any() for k in known)
    if not _wants_labels(t):
        try:
            return t.fit(_stack(xs))
        except (TypeError, ValueError):  # for want of labels, perhaps: not every transformer says that it needs them
            if not some:
                raise
    if not some:
        raise ValueError(f"{type(t).__name__} needs labels, and none are known")
    rows = [x.iloc[k] if hasattr(x, "iloc") else (x if hasattr(x, "shape") else np.asarray(x))[k] for x, k in zip(xs, known) if k.any()]
    return t.fit(_stack(rows), np.concatenate([plain(y[k]) for y, k in zip(ys, known) if k.any()]))


def _wants_labels(t):
    if get_tags is not None:
        return get_tags(t).target_tags.required
    return bool(t._get_tags().get("requires_y")) if hasattr(t, "_get_tags") else False


def _stack(xs):
    if len(xs) == 1:
        return xs[0]
    if all(hasattr(x, "iloc") for x in xs) and len({tuple(x.columns) for x in xs}) == 1:
        import pandas
        return pandas.concat(xs, ignore_index=True)
    if any(sp.issparse(x) for x in xs):
        return sp.vstack(xs, format="csr")
    return np.vstack([np.asarray(x) for x in xs])


def _keeps(t, before, after):
    """Whether the columns after a transformer are those before it, or some of them by name."""
    if isinstance(t, FunctionTransformer):
        return _width(after) == _width(before)
    names = _names_out(t)
    if names is None:
        return False
    have = _names(before) or [f"x{j}" for j in range(_width(before))]
    return names == have or (_names(after) is not None and _names(before) is not None and set(names) <= set(have))


def _sources(parts):
    """The sources after all steps, by name: what is linked is said, and so is what is not."""
    out, first = {}, {g: f"{parts[-1].name}.{v}" for v, g in parts[-1].group.items()}
    for p in parts[:-1]:
        said = {}
        for v, g in p.group.items():
            alone = sum(g == h for q in parts for h in q.group.values()) == 1
            if g in first or alone:
                said[v] = first.get(g, "none")
            else:
                first[g] = f"{p.name}.{v}"
        out[p.name] = p.again(said)
    return out
