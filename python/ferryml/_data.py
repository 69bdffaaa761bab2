"""Domains: what a method learns from, as Python objects, and how they become the library's.

Numbers are lent to the library, not copied, when they are C-ordered float64 arrays or CSR matrices with float64 values
and int32 indices in order; anything else is copied once, to that.
"""
from __future__ import annotations

import datetime
import hashlib
import itertools
import weakref
from ctypes import byref, c_void_p
from typing import Any, Dict, Literal, Mapping, Optional, Sequence

import numpy as np
import scipy.sparse as sp

from . import _abi
from ._lib import lib, warn, words
from ._types import Labels, Table

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
        Graphs by name: a sparse adjacency matrix over the instances, in the order of ids or rows, or pairs ``(from, to)``
        or triples ``(from, to, weight)`` of sequences, by id.
    ratings : triple of sequences or data frame, optional
        Users, items, values; NaN is a rating to be predicted.
    ids : sequence, optional
        Names of the instances, in the order of the labels and of what predict answers. Without them they are the rows
        of the views and graphs, numbered from 1.
    name : str, optional
        For messages and results.
    columns : {"shared", "own"}, optional
        Of a source or bridge with one view: whether its columns are those of the target. Without it names decide: of data
        frames, those of the columns; arrays have none, so their columns are not those of any other domain.
    same_as : str or dict, optional
        The same for any two domains: "DOMAIN.VIEW" (or "DOMAIN", where that has one view) whose features this one has, or
        "none"; a dict by view where there are several. Overrules all names. The target is called "target".

    Notes
    -----
    A domain has no length and no shape, so that cross-validation passes it on whole.

    An instance that predict is asked about is one of fit when its id is. Without ids it is when the same Domain was
    fitted, or one with equal views and graphs; else rows are new ones. Graphs alone go by position: row i is row i of fit.

    Examples
    --------
    >>> from ferryml import Domain
    >>> Domain(views={"words": [[1, 0], [0, 2]], "pixels": [[3, 4, 5], [6, 7, 8]]}, ids=["a", "b"], name="pages").n
    2
    """

    X: Any
    y: Any
    role: Optional[str] = None
    columns = same_as = None  # of those that were pickled before there was such a thing

    def __init__(self, X: Table | None = None, y: Labels | None = None, *, views: Mapping[str, Any] | None = None,
                 graphs: Mapping[str, Any] | None = None, ratings: Any = None, ids: Labels | None = None, name: str | None = None,
                 columns: Literal["shared", "own"] | None = None, same_as: str | Mapping[str, str] | None = None) -> None:
        if X is not None and views is not None:
            raise ValueError("give X, which is the only view, or views, not both")
        if columns not in (None, "shared", "own"):
            raise ValueError(f"columns: expected 'shared' or 'own', got {columns!r}")
        if columns is not None and same_as is not None:
            raise ValueError("give columns or same_as, not both")
        self.X, self.y, self.views, self.graphs, self.ratings = X, y, views, graphs, ratings
        self.ids, self.name, self.columns, self.same_as = ids, name, columns, same_as

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
    def n(self) -> Optional[int]:
        """Instances that the labels are for, where that can be told."""
        return self._rows()[1]

    def _rows(self):
        """(names of the instances in the order of labels and answers, None: numbers from 1; how many, None: not known)."""
        if self.ids is not None:
            return self.ids, len(self.ids)
        views = [x for _, x in self._views()]
        for x in views + [g for g in (self.graphs or {}).values() if sp.issparse(g)]:
            if not isinstance(x, tuple):
                return None, _rows(x)
        ids = list(dict.fromkeys(i for x in views for i in x[0]))
        return (ids, len(ids)) if views else (None, None)


class Source(Domain):
    """A domain with labels to learn from. See Domain for the parameters.

    Examples
    --------
    >>> from ferryml import Source
    >>> Source([[0.5, 1.0], [2.0, 0.0]], ["spam", "ham"], name="old", columns="shared").y
    ['spam', 'ham']
    """

    role = "source"


class Bridge(Domain):
    """An intermediate domain: it lies between the sources and the target. See Domain for the parameters.

    Examples
    --------
    >>> from ferryml import Bridge
    >>> Bridge(views={"words": [[1, 0], [0, 2]], "pixels": [[3, 4, 5], [6, 7, 8]]}, name="captions").n
    2
    """

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
        values = categories(x)
        x = coded(x, values, what)
        sparse = len(x.columns) and all(hasattr(t, "fill_value") for t in x.dtypes)
        strange = any(not isinstance(t, np.dtype) for t in x.dtypes)
        x = x.sparse.to_coo() if sparse else x.to_numpy(np.float64, na_value=np.nan) if strange else x.to_numpy()
        if values:
            return expanded(np.asarray(x, dtype=np.float64), features, values)
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


def categories(frame):
    """{column: its values} of the columns of a data frame that are categories; what else is text is refused as ever."""
    return {c: list(t.categories) for c, t in zip(frame.columns, frame.dtypes) if hasattr(t, "categories")}


def coded(frame, values, what="X"):
    """A data frame with numbers for its categories, the places of their values; NaN where missing or none of them."""
    if not values:
        return frame
    if not all(isinstance(c, str) for c in frame.columns):
        raise ValueError(f"{what}: a data frame with categories needs text as names of its columns")
    frame = frame.copy(deep=False)
    for column, known in values.items():
        place = {v: float(i) for i, v in enumerate(known)}
        old = frame[column].astype(object)
        frame[column] = new = old.map(place).astype(np.float64)
        strange = old[new.isna() & old.notna()]
        if len(strange):
            warn(f"{what}: column {column!r} has a value that was not there at the fit, {strange.iloc[0]!r}: it counts as missing")
    return frame


def expanded(x, names, values):
    """(array, names) of coded columns, one for each value of a category, called column=value as in files; a missing one is 0
    in all of them."""
    out, called = [], []
    for j, name in enumerate(names):
        known = values.get(name)
        if known is None:
            out.append(x[:, j:j + 1])
            called.append(name)
        else:
            out.append((x[:, j:j + 1] == np.arange(len(known))).astype(np.float64))
            called += [f"{name}={class_text(v)}" for v in known]
    return np.ascontiguousarray(np.hstack(out)), called


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
        few = len(x.data) < 2**31  # row starts fit 32 bits, whatever they came in
        x = type(x)((x.data, x.indices.astype(np.int32), x.indptr.astype(np.int32)), shape=x.shape, copy=False) if few else _Csr(x)
    return x


class _Csr:
    """int32 indices beside int64 row starts, which scipy would make alike again."""

    def __init__(self, x):
        self.shape, self.data, self.indptr = x.shape, x.data, x.indptr
        self.indices = x.indices.astype(np.int32)

    def __getitem__(self, rows):
        """Some rows, as scipy has them."""
        first, last, _ = rows.indices(self.shape[0])
        part = slice(self.indptr[first], self.indptr[last])
        return sp.csr_matrix((self.data[part], self.indices[part], self.indptr[first:last + 1] - self.indptr[first]),
                             shape=(last - first, self.shape[1]))


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
        call, held = lib.ferry_domain_add_dense, x
    else:
        wide = x.indptr.dtype == np.int64
        held = (x.data, x.indices, x.indptr)
        start = x.indptr.ctypes.data
        view = _abi.ferry_sparse(x.shape[0], x.shape[1], start if wide else None, x.indices.ctypes.data, x.data.ctypes.data,
                                 None if wide else start)
        call = lib.ferry_domain_add_sparse
    _lent[key] = held
    borrow = _abi.ferry_borrow(_release, key)
    try:
        ctx.call(call, domain, name.encode(), byref(view), ids, features, byref(borrow))
    except Exception:
        del _lent[key]
        raise


# ---- labels ----

TIMES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)  # of pandas, too, but its NaT

def labels_of(y):
    """y as an array whose labels keep their types: what is missing in a column of pandas, polars or Arrow is None."""
    if hasattr(y, "toarray"):
        return y.toarray()
    if not isinstance(y, np.ndarray):
        if getattr(y, "ndim", 1) == 1 and hasattr(y, "dtype") and not isinstance(y.dtype, np.dtype):
            y = y.astype(object) if hasattr(y, "astype") else y.to_list()  # np.asarray() would make floats of whole numbers
        elif hasattr(y, "to_pylist"):
            y = y.to_pylist()
        if isinstance(y, list) and any(v is None for v in y):
            y = np.array(y, dtype=object)
    y = np.asarray(y)
    if y.dtype.kind in "Mm" or (y.dtype.kind == "O" and any(isinstance(v, TIMES) for v in y.flat)):
        raise ValueError("y: dates and times are neither classes nor numbers: make numbers of them, such as days since the first, or text")
    if y.dtype.kind == "O" and any(type(v).__name__ == "NAType" for v in y.flat):
        y = np.array([None if type(v).__name__ == "NAType" else v for v in y.flat], dtype=object).reshape(y.shape)
    return y


def hidden(y, unlabelled=None):
    """Where a label is not known: None, NaN, or the value `unlabelled`."""
    y = np.asarray(y)
    if y.dtype.kind == "f":
        out = np.isnan(y)
    elif y.dtype.kind == "O":
        out = np.array([v is None or type(v).__name__ == "NAType" or v != v for v in y.ravel()], dtype=bool).reshape(y.shape)
    else:
        out = np.zeros(y.shape, dtype=bool)
    return out if unlabelled is None else out | (y == unlabelled)


def plain(y):
    """Known labels of an object array as the type that they have; as they are where none can hold them all exactly."""
    if y.dtype.kind != "O" or not len(y):
        return y
    values = y.tolist()
    out = np.array(values)
    same = out.ndim == 1 and out.dtype.kind != "O" and all(a == b for a, b in zip(out.tolist(), values))
    return out if same else y


def class_text(value):
    """A class as tables would have it: the number 1.0 is 1, texts are what they are."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer() and abs(value) < 2**64:
        return str(int(value))
    return str(value)


def _is_text(y):
    return y.dtype.kind in "US" or (y.dtype.kind == "O" and isinstance(y[0], str))


def _joined(a, b):
    """Two arrays of labels in one, which is of objects where numbers would not stay exact."""
    out = np.concatenate([a, b])
    wide = out.dtype.kind == "f" and any(v.dtype.kind in "iu" and (np.abs(v.astype(float)) >= 2**53).any() for v in (a, b))
    return np.concatenate([a.astype(object), b.astype(object)]) if wide else out


class Classes:
    """The classes of a task, in order, and their texts in the library.

    A class is a value: what is equal in Python is one class, and nothing else is. In the library it is a text of its own;
    `before`, classes that some of these have been, keep the texts that they had.
    """

    _at = None  # places by value, once they are asked for

    def __init__(self, values, before=None):
        self.values = values
        had = dict(zip(before.values.tolist(), before.texts)) if before is not None else {}
        taken = set(had.values())
        self.texts = []
        for v in values.tolist():
            text = had.get(v) or _own_text(v, taken)
            taken.add(text)
            self.texts.append(text)
        self.place = {t.decode(): i for i, t in enumerate(self.texts)}

    @classmethod
    def of(cls, labels):
        """Of arrays of known labels."""
        labels = [v for v in labels if len(v)]
        if not labels:
            return cls(np.empty(0, dtype=object))
        if len({_is_text(v) for v in labels}) > 1:
            raise ValueError("the labels of some domains are text and those of others numbers: give all the same type")
        found = np.unique(labels[0])
        for v in labels[1:]:
            found = np.unique(_joined(found, v))
        return cls(found)

    def find(self, y):
        """Where labels are among the classes, -1: nowhere."""
        known, n = self.values, len(self.values)
        if y.dtype.kind != known.dtype.kind or y.dtype.kind == "O":  # one by one: as doubles they might not stay exact
            if self._at is None:
                self._at = {v: i for i, v in enumerate(known.tolist())}
            return np.array([self._at.get(v, -1) for v in y.tolist()], dtype=np.intp)
        if n <= 8 and y.dtype.kind in "iuf":  # a few numbers: comparing with each of them has no branches
            at = np.zeros(len(y), dtype=np.int32)
            for c in known:
                at += y > c
        else:
            at = np.searchsorted(known, y)
        missing = known[np.minimum(at, n - 1)] != y if n else np.ones(len(y), dtype=bool)
        if missing.any():
            at[missing] = -1
        return at

    def with_more(self, y):
        """These classes and those of y."""
        if len(self.values) and len(y) and _is_text(self.values) != _is_text(y):
            raise ValueError("the labels are text and the classes so far numbers, or the other way round")
        return Classes(np.unique(_joined(self.values, y)) if len(self.values) else np.unique(y), self)

    def encode(self, y, known):
        """Texts of labels, None where not known."""
        out = [None] * len(y)
        at = self.find(plain(y[known])) if known.any() else ()
        for i, c in zip(np.flatnonzero(known).tolist(), at):
            out[i] = self.texts[c]
        return out


def _own_text(value, taken):
    """A text that no other class has: such as 1 and "1" differ. The library's texts end at a zero."""
    text = class_text(value).replace("\0", "\\0")
    own = text.encode()
    while own in taken:
        text += f" ({type(value).__name__})"
        own = text.encode()
    return own


def set_labels(ctx, domain, d, goal, y, unlabelled, classes):
    """Give a domain of the library its labels."""
    n, by_id = len(y), d._rows()[0]
    ids = None if by_id is None else words(id_texts(by_id))
    if goal in ("classify", "stream", "embed"):
        known = ~hidden(y, unlabelled)
        ctx.call(lib.ferry_domain_set_classes, domain, n, ids, words(classes.encode(y, known)))
    elif goal == "regress":
        values = np.array(y, dtype=np.float64)
        values[hidden(y, unlabelled)] = np.nan
        ctx.call(lib.ferry_domain_set_numbers, domain, n, ids, values.ctypes.data)
    else:
        known = ~hidden(y, unlabelled).any(axis=1)
        rows = np.flatnonzero(known)
        on = np.ascontiguousarray(y[rows] != 0, dtype=np.uint8)
        names = (rows + 1).tolist() if by_id is None else id_texts([by_id[i] for i in rows])
        ctx.call(lib.ferry_domain_set_labelsets, domain, len(rows), words(names), on.shape[1], words(classes.texts),
                 on.ctypes.data)


# ---- domains and tasks of the library ----

def _columns_of(r):
    """Users, items and perhaps values of what may be ratings: a triple or pair, a data frame, or an n x 2 array of pairs."""
    if isinstance(r, tuple):
        parts = r
    elif hasattr(r, "iloc"):
        parts = tuple(r.iloc[:, j].to_numpy() for j in range(r.shape[1]))
    elif hasattr(r, "__dataframe__"):
        return _columns_of(_from_protocol(r))
    else:
        r = np.asarray(r)
        if r.ndim != 2:
            raise ValueError(f"ratings: Expected 2D array of users and items, got {r.ndim}D array instead. "
                             "Reshape your data")
        parts = tuple(r[:, j] for j in range(r.shape[1]))
    if len(parts) not in (2, 3):
        raise ValueError(f"ratings: expected users and items, or users, items and values, got {len(parts)} columns")
    return parts


def id_types(r):
    """What users and what items are called by: int, float or str."""
    out = []
    for part in _columns_of(r)[:2]:
        part = np.asarray(part)
        kinds = {type(v) for v in part.tolist()} if part.dtype.kind in "iufO" else {str}
        out.append(kinds.pop() if len(kinds) == 1 and kinds <= {int, float} else str)
    return out


def as_id(kind, text):
    """An id of the library as the caller has it; one that is not of that type stays text."""
    try:
        return kind(text)
    except ValueError:
        return text


def ratings_of(r):
    """(users, items, values or None) of what may be ratings, ids as text."""
    parts = _columns_of(r)
    users, items = ([class_text(v) for v in np.asarray(p).tolist()] for p in parts[:2])
    return users, items, (np.asarray(parts[2], dtype=np.float64) if len(parts) == 3 else None)


def view_name(d, role, name, view):
    """A view as the library calls it: one that nobody gave a name must not be the target's because of it."""
    return f"x of {name}" if d.views is None and role != "target" else view


def id_texts(ids):
    """Names of instances as the library has them."""
    return [class_text(i) for i in (ids.tolist() if hasattr(ids, "tolist") else ids)]


def new_domain(ctx, d, role, name, goal=None, y=None, unlabelled=None, classes=None, known=False):
    """A domain of the library, the caller's to free or to give to a task. known: its rows, which have no ids, are those of
    the fit, so that their numbers are names."""
    domain = c_void_p()
    ctx.call(lib.ferry_domain_new, name.encode(), ROLES[role], byref(domain))
    try:
        rows, n = d._rows()
        rows = np.arange(1, n + 1) if known and rows is None else rows
        if n is None and d.graphs:
            raise ValueError(f"{name}: its graphs name instances, but in which order answers and labels come is not said: give ids")
        views = d._views()
        if n is not None and (not views or isinstance(views[0][1], tuple)):  # else the first view says it
            ctx.call(lib.ferry_domain_add_instances, domain, n, None if rows is None else words(id_texts(rows)))
        for view, x in views:
            ids, x = x if isinstance(x, tuple) else (rows, x)
            x, features = matrix(x, f"view {view!r} of {name}")
            if ids is not None and len(ids) != x.shape[0]:
                raise ValueError(f"view {view!r} of {name} has {x.shape[0]} rows and {len(ids)} ids")
            add_view(ctx, domain, view_name(d, role, name, view), x, None if ids is None else id_texts(ids), features)
        for graph, edges in (d.graphs or {}).items():
            _add_graph(ctx, domain, graph, edges, rows)
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


def _edges(name, edges, ids):
    """(from, to, weights or None) of a graph, ends by id."""
    if sp.issparse(edges):
        if edges.shape[0] != edges.shape[1]:
            raise ValueError(f"graph {name!r}: an adjacency matrix is square, this one is {edges.shape[0]} x {edges.shape[1]}")
        if ids is not None and len(ids) != edges.shape[0]:
            raise ValueError(f"graph {name!r}: an adjacency matrix of {edges.shape[0]} rows for {len(ids)} instances")
        upper = sp.triu(edges.maximum(edges.T), format="coo")
        label = id_texts(np.arange(1, edges.shape[0] + 1) if ids is None else ids)
        return [label[i] for i in upper.row.tolist()], [label[i] for i in upper.col.tolist()], np.array(upper.data, dtype=np.float64)
    start, end, *weight = edges
    start, end = id_texts(np.asarray(start)), id_texts(np.asarray(end))
    weight = np.ascontiguousarray(weight[0], dtype=np.float64) if weight else None
    if len(start) != len(end) or (weight is not None and len(weight) != len(start)):
        raise ValueError(f"graph {name!r}: its columns differ in length")
    return start, end, weight


def _add_graph(ctx, domain, name, edges, ids):
    start, end, weight = _edges(name, edges, ids)
    ctx.call(lib.ferry_domain_add_graph, domain, name.encode(), len(start), words(start), words(end),
             None if weight is None else weight.ctypes.data)


# ---- whether rows are those of the fit ----

def _content(d):
    """A hash of the views and graphs of a domain, by name, whatever they are stored as."""
    h = hashlib.blake2b(digest_size=16)
    for name, x in sorted(d._views(), key=lambda v: v[0]):
        ids, x = x if isinstance(x, tuple) else (None, x)
        x, features = matrix(x)
        h.update(repr((name, x.shape, features, None if ids is None else id_texts(ids))).encode())
        for part in (x,) if isinstance(x, np.ndarray) else (x.data, x.indices, x.indptr.astype(np.int64)):
            h.update(part)
    for name, edges in sorted((d.graphs or {}).items()):
        start, end, weight = _edges(name, edges, d._rows()[0])
        h.update(repr((name, start, end)).encode())
        h.update(b"" if weight is None else weight)
    return h.digest()


class Known:
    """The rows of a fit that have no ids, to be recognised when they are asked about: those of the same Domain, or of one
    with equal views and graphs."""

    def __init__(self, d):
        self.of, self.n, self.content = weakref.ref(d), d.n, _content(d)

    def __getstate__(self):
        return {"n": self.n, "content": self.content}

    def __setstate__(self, state):
        self.__dict__.update(state, of=lambda: None)

    def has(self, d):
        return self.of() is d or (d.n == self.n and _content(d) == self.content)


def recognised(known, d):
    """(whether the rows of d, which is asked about, are those of the fit though they have no ids; a warning, or None)."""
    if d._rows()[0] is not None or not d.graphs and not known:
        return False, None
    if known and known.has(d):
        return True, None
    if not d._views():
        return True, known and ("the graphs are not those of fit, and the rows have no ids: row i is taken for row i of fit; "
                                "give ids to both domains to say which rows are the same")
    if d.graphs and known and d.n == known.n:
        return False, ("this domain has as many rows as that of fit and no ids, but other views or graphs: its rows are taken for "
                       "new ones; give ids to both domains where they are the same")
    return False, None


class _LeftOut:
    """In the place of the sources of a model that was pickled after its fit: it predicts without them."""

    def __repr__(self):
        return "<left out of the pickle>"

    def __reduce__(self):
        return "LEFT_OUT"

    def __deepcopy__(self, memo):
        return self


LEFT_OUT = _LeftOut()


def as_domains(sources, default=Source):
    """Pairs of name and Source or Bridge of what was given as sources: one, a list, or a dict of them by name."""
    if sources is None:
        return []
    if sources is LEFT_OUT:
        raise ValueError("a fitted model is pickled without its sources: to fit it again, give them, fit(X, y, sources=...), or set_params(sources=None)")
    if isinstance(sources, Domain):
        sources = [sources]
    keys = [str(k) for k in sources] if isinstance(sources, dict) else itertools.repeat(None)
    out, names = [], set()
    for i, (key, d) in enumerate(zip(keys, sources.values() if isinstance(sources, dict) else sources)):
        if isinstance(d, tuple) and len(d) == 2:
            d = default(*d)
        if not isinstance(d, (Source, Bridge)):
            raise TypeError(f"sources: expected Source or Bridge objects, got {type(d).__name__}")
        name = key or d.name or f"{'source' if d.role == 'source' else 'bridge'}{i + 1}"
        if name in names or name == "target":
            raise ValueError(f"sources: two domains are named {name!r}")
        names.add(name)
        out.append((name, d))
    return out
