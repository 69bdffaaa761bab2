"""Domains: what a method learns from, as Python objects, and how they become the library's.

Numbers are lent to the library, not copied, when they are C-ordered float64 arrays or CSR matrices with float64 values
and int32 indices in order; anything else is copied once, to that.
"""
import itertools
from ctypes import byref, c_void_p
from typing import Any, Dict, Optional

import numpy as np
import scipy.sparse as sp

from . import _abi
from ._lib import lib, words

ROLES = {"source": _abi.FERRY_SOURCE, "intermediate": _abi.FERRY_INTERMEDIATE, "target": _abi.FERRY_TARGET}
GOALS = {"classify": _abi.FERRY_CLASSIFY, "regress": _abi.FERRY_REGRESS, "multilabel": _abi.FERRY_MULTILABEL,
         "rate": _abi.FERRY_RATE, "embed": _abi.FERRY_EMBED, "stream": _abi.FERRY_STREAM}


class Domain:
    """Instances with views, graphs or ratings, and perhaps labels.

    Parameters
    ----------
    X : array, sparse matrix or data frame, optional
        The only view, instances x features. NaN is a missing cell. Column names of data frames are feature names:
        features with the same name in two domains are the same.
    y : array-like, optional
        Labels of the instances: classes, numbers, or a 0/1 matrix of label sets. NaN or None where they are not known.
    views : dict, optional
        Several views by name. A view that does not have all instances, or has them in another order, is a pair
        ``(ids, X)``.
    graphs : dict, optional
        Graphs by name: a sparse adjacency matrix over the instances, or pairs ``(from, to)`` or triples
        ``(from, to, weight)`` of sequences, by id.
    ratings : triple of sequences or data frame, optional
        Users, items, values; NaN is a rating to be predicted.
    ids : sequence, optional
        Names of the instances; without them they are numbered from 1.
    name : str, optional
        For messages and results.

    Notes
    -----
    A domain has no length and no shape, so that cross-validation passes it on whole.
    """

    role: Optional[str] = None

    def __init__(self, X=None, y=None, *, views=None, graphs=None, ratings=None, ids=None, name=None):
        if X is not None and views is not None:
            raise ValueError("give X, which is the only view, or views, not both")
        self.X, self.y, self.views, self.graphs, self.ratings = X, y, views, graphs, ratings
        self.ids, self.name = ids, name

    def __repr__(self):
        parts = [repr(self.name)] if self.name else []
        for name, x in self._views():
            x = x[1] if isinstance(x, tuple) else x
            shape = getattr(x, "shape", None)
            parts.append(f"{name}: {shape[0]} x {shape[1]}" if shape and len(shape) == 2 else name)
        parts += [f"graph {g}" for g in self.graphs or ()]
        parts += ["ratings"] if self.ratings is not None else []
        return f"{type(self).__name__}({', '.join(parts)})"

    def __deepcopy__(self, memo):
        return self  # clone() of an estimator with sources shares the data

    def _views(self):
        if self.views is not None:
            return list(self.views.items())
        return [("x", self.X)] if self.X is not None else []

    @property
    def n(self):
        """Instances that the labels are for, where that can be told."""
        if self.ids is not None:
            return len(self.ids)
        for _, x in self._views():
            return len(x[0]) if isinstance(x, tuple) else _rows(x)
        for g in (self.graphs or {}).values():
            if sp.issparse(g):
                return g.shape[0]
        return None


class Source(Domain):
    """A domain with labels to learn from. See Domain for the parameters."""

    role = "source"


class Bridge(Domain):
    """An intermediate domain: it lies between the sources and the target. See Domain for the parameters."""

    role = "intermediate"


def _rows(x):
    return x.shape[0] if hasattr(x, "shape") else len(x)


# ---- matrices ----

class Named:
    """A matrix as matrix() makes it, with names of its features."""

    def __init__(self, x, names):
        self.x, self.names, self.shape = x, list(names), x.shape


def matrix(x, what="X"):
    """(float64 C-ordered array or CSR matrix, names of features or None)."""
    if isinstance(x, Named):
        return x.x, x.names
    if isinstance(x, _Csr):
        return x, None
    features = None
    if hasattr(x, "__dataframe__") and not hasattr(x, "iloc"):  # polars and others, by the data frame protocol
        x = _from_protocol(x)
    if hasattr(x, "columns") and hasattr(x, "iloc"):
        if all(isinstance(c, str) for c in x.columns):
            features = [str(c) for c in x.columns]
        sparse = len(x.columns) and all(hasattr(t, "fill_value") for t in x.dtypes)
        x = x.sparse.to_coo() if sparse else x.to_numpy()
    if sp.issparse(x):
        return csr(x), features
    if isinstance(x, np.ndarray) and x.dtype == np.float64 and x.ndim == 2 and x.flags.c_contiguous:
        return x, features
    try:
        x = np.array(x, dtype=np.float64, order="C", ndmin=1)
    except (TypeError, ValueError) as e:
        raise ValueError(f"{what}: expected numbers: {e}") from None
    if x.ndim != 2:
        raise ValueError(f"{what}: expected a 2D array, got {x.ndim} dimension{'s' if x.ndim != 1 else ''}")
    return x, features


def _from_protocol(x):
    try:
        from pandas.api.interchange import from_dataframe
    except ImportError:
        return x.to_numpy() if hasattr(x, "to_numpy") else np.asarray(x)
    return from_dataframe(x)


def csr(x):
    """As CSR with float64 values and indices in order that fit 32 bits; x itself where it is that."""
    x = x.tocsr()
    if x.dtype != np.float64:
        x = x.astype(np.float64)
    if not x.has_canonical_format:
        x = x.copy()
        x.sum_duplicates()
    if x.indices.dtype != np.int32:
        if x.shape[1] > 2**31 - 1:
            raise ValueError(f"a sparse matrix of {x.shape[1]} columns: at most {2**31 - 1} are possible")
        x = type(x)((x.data, x.indices.astype(np.int32), x.indptr), shape=x.shape, copy=False) if (
            x.indptr.dtype == np.int32) else _Csr(x)
    return x


class _Csr:
    """int32 indices beside int64 row starts, which scipy would make alike again."""

    def __init__(self, x):
        self.shape, self.data, self.indptr = x.shape, x.data, x.indptr
        self.indices = x.indices.astype(np.int32)


# What is lent to the library, until it says that it is done with it.
_lent: Dict[int, Any] = {}
_numbers = itertools.count(1)


@_abi.ferry_release_fn
def _release(user):
    _lent.pop(user, None)


def add_view(ctx, domain, name, x, ids=None, features=None):
    """Lend a matrix to a domain as a view."""
    ids = None if ids is None else words(ids)
    features = None if features is None else words(features)
    key = next(_numbers)
    if isinstance(x, np.ndarray):
        rows, cols = x.shape
        view = _abi.ferry_array(rows, cols, cols, x.__array_interface__["data"][0])
        call, held = lib.ferry_domain_borrow_dense, x
    else:
        wide = x.indptr.dtype == np.int64
        held = (x.data, x.indices, x.indptr)
        view = (_abi.ferry_sparse if wide else _abi.ferry_sparse32)(
            x.shape[0], x.shape[1], x.indptr.ctypes.data, x.indices.ctypes.data, x.data.ctypes.data)
        call = lib.ferry_domain_borrow_sparse if wide else lib.ferry_domain_borrow_sparse32
    _lent[key] = held
    try:
        ctx.call(call, domain, name.encode(), byref(view), ids, features, _release, c_void_p(key))
    except Exception:
        del _lent[key]
        raise


# ---- labels ----

def hidden(y, unlabelled=None):
    """Where a label is not known: None, NaN, or the value `unlabelled`."""
    y = np.asarray(y)
    if y.dtype.kind == "f":
        out = np.isnan(y)
    elif y.dtype.kind == "O":
        out = np.array([v is None or v != v for v in y.ravel()], dtype=bool).reshape(y.shape)
    else:
        out = np.zeros(y.shape, dtype=bool)
    return out if unlabelled is None else out | (y == unlabelled)


def plain(y):
    """Known labels of an object array as the type that they have."""
    return np.array(y.tolist()) if y.dtype.kind == "O" and len(y) else y


def class_text(value):
    """A class as files would have it: 1.0 is 1."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


class Classes:
    """The classes of a task, in order, and their texts in the library."""

    def __init__(self, values):
        self.values = values
        texts = [class_text(v) for v in values.tolist()]
        if len(set(texts)) < len(texts):  # such as 1 and "1": then their places
            texts = [str(i) for i in range(len(texts))]
        self.texts = [t.encode() for t in texts]
        self.place = {t: i for i, t in enumerate(texts)}

    @classmethod
    def of(cls, labels):
        """Of arrays of known labels."""
        labels = [v for v in labels if len(v)]
        if not labels:
            return cls(np.empty(0, dtype=object))
        kinds = {"text" if v.dtype.kind in "US" else "number" for v in labels}
        if len(kinds) > 1:
            raise ValueError("the labels of some domains are text and those of others numbers: give all the same type")
        return cls(np.unique(np.concatenate(labels)))

    def encode(self, y, known):
        """Texts of labels, None where not known."""
        at = np.searchsorted(self.values, plain(y[known])) if known.any() else ()
        out = [None] * len(y)
        for i, c in zip(np.flatnonzero(known).tolist(), at):
            out[i] = self.texts[c]
        return out


def set_labels(ctx, domain, d, goal, y, unlabelled, classes):
    """Give a domain of the library its labels."""
    n = len(y)
    by_id = None if d.ids is None else d.ids
    if by_id is None and len(d._views()) == 1 and isinstance(d._views()[0][1], tuple):
        by_id = d._views()[0][1][0]
    if goal in ("classify", "stream", "embed"):
        known = ~hidden(y, unlabelled)
        ids = None if by_id is None else words(by_id)
        ctx.call(lib.ferry_domain_set_classes, domain, n, ids, words(classes.encode(y, known)))
    elif goal == "regress":
        values = np.array(y, dtype=np.float64)
        values[hidden(y, unlabelled)] = np.nan
        ids = None if by_id is None else words(by_id)
        ctx.call(lib.ferry_domain_set_numbers, domain, n, ids, values.ctypes.data)
    else:
        known = ~hidden(y, unlabelled).any(axis=1)
        rows = np.flatnonzero(known)
        on = np.ascontiguousarray(y[rows] != 0, dtype=np.uint8)
        names = [by_id[i] for i in rows] if by_id is not None else (rows + 1).tolist()
        ctx.call(lib.ferry_domain_set_labelsets, domain, len(rows), words(names), on.shape[1], words(classes.texts),
                 on.ctypes.data)


# ---- domains and tasks of the library ----

def ratings_of(r):
    """(users, items, values or None) of what may be ratings: a triple or pair, a data frame, or an n x 2 array of pairs."""
    if isinstance(r, tuple):
        parts = r
    elif hasattr(r, "iloc"):
        parts = tuple(r.iloc[:, j].to_numpy() for j in range(r.shape[1]))
    elif hasattr(r, "__dataframe__"):
        return ratings_of(_from_protocol(r))
    else:
        r = np.asarray(r)
        if r.ndim != 2:
            raise ValueError(f"ratings: Expected 2D array of users and items, got {r.ndim}D array instead. "
                             "Reshape your data")
        parts = tuple(r[:, j] for j in range(r.shape[1]))
    if len(parts) not in (2, 3):
        raise ValueError(f"ratings: expected users and items, or users, items and values, got {len(parts)} columns")
    users, items = ([class_text(v) for v in np.asarray(p).tolist()] for p in parts[:2])
    return users, items, (np.asarray(parts[2], dtype=np.float64) if len(parts) == 3 else None)


def new_domain(ctx, d, role, name, goal=None, y=None, unlabelled=None, classes=None):
    """A domain of the library, the caller's to free or to give to a task."""
    domain = c_void_p()
    ctx.call(lib.ferry_domain_new, name.encode(), ROLES[role], byref(domain))
    try:
        for view, x in d._views():
            ids, x = x if isinstance(x, tuple) else (d.ids, x)
            x, features = matrix(x, f"view {view!r} of {name}")
            if ids is not None and len(ids) != x.shape[0]:
                raise ValueError(f"view {view!r} of {name} has {x.shape[0]} rows and {len(ids)} ids")
            if features is not None and d.views is None and role != "target":
                view = f"x of {name}"  # nobody chose the name: names of features tell what is the same
            add_view(ctx, domain, view, x, ids, features)
        for graph, edges in (d.graphs or {}).items():
            _add_graph(ctx, domain, graph, edges, d.ids)
        if d.ratings is not None:
            users, items, values = ratings_of(d.ratings)
            if values is None:
                values = np.full(len(users), np.nan)
            values = np.ascontiguousarray(values)
            ctx.call(lib.ferry_domain_set_ratings, domain, len(users), words(users), words(items), values.ctypes.data)
        if y is not None and goal is not None and goal != "rate":
            if d.n is not None and len(y) != d.n:
                raise ValueError(f"{name} has {d.n} instances and {len(y)} labels")
            set_labels(ctx, domain, d, goal, y, unlabelled, classes)
    except BaseException:
        lib.ferry_domain_free(domain)
        raise
    return domain


def _add_graph(ctx, domain, name, edges, ids):
    if sp.issparse(edges):
        if edges.shape[0] != edges.shape[1]:
            raise ValueError(f"graph {name!r}: an adjacency matrix is square, this one is {edges.shape[0]} x {edges.shape[1]}")
        upper = sp.triu(edges.maximum(edges.T), format="coo")
        label = np.arange(1, edges.shape[0] + 1) if ids is None else np.asarray(ids)
        edges = (label[upper.row], label[upper.col], upper.data)
    start, end, *weight = (np.asarray(e) for e in edges)
    start, end = ([class_text(v) for v in e.tolist()] for e in (start, end))
    weight = np.ascontiguousarray(weight[0], dtype=np.float64) if weight else None
    if len(start) != len(end) or (weight is not None and len(weight) != len(start)):
        raise ValueError(f"graph {name!r}: its columns differ in length")
    ctx.call(lib.ferry_domain_add_graph, domain, name.encode(), len(start), words(start), words(end),
             None if weight is None else weight.ctypes.data)


def as_domains(sources, default=Source):
    """A list of Source and Bridge, with names, of what was given as sources."""
    if sources is None:
        return []
    if isinstance(sources, Domain):
        sources = [sources]
    if isinstance(sources, dict):
        sources = list(sources.values())
    out, names = [], set()
    for i, d in enumerate(sources):
        if isinstance(d, tuple) and len(d) == 2:
            d = default(*d)
        if not isinstance(d, (Source, Bridge)):
            raise TypeError(f"sources: expected Source or Bridge objects, got {type(d).__name__}")
        name = d.name or f"{'source' if d.role == 'source' else 'bridge'}{i + 1}"
        if name in names or name == "target":
            raise ValueError(f"sources: two domains are named {name!r}")
        names.add(name)
        out.append((name, d))
    return out
