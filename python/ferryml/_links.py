"""Which columns of which domains are the same: what the caller says, what the library made of it, and what is doubtful.

Views are linked by the library (src/prepare/links.h): by same_as, by equal names of views, by names of features. Arrays without
names are linked only if the caller says so.
"""
import json
from ctypes import byref, c_void_p
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ._data import Named, matrix, view_name
from ._lib import lib, new_text, warn


class Link(NamedTuple):
    """Two views that are taken for the same features; `links_` of an estimator is a list of these.

    Attributes
    ----------
    domain, view : str
        One of the two; the only view of an array or data frame is called "x".
    same_as : str
        The other, "DOMAIN.VIEW".
    by : str
        "same_as" (the caller said so), "name" (of the views) or "features" (names of columns).
    columns : int
        How many columns they share.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> old = ferryml.Source(X[::2], y[::2], name="old", columns="shared")
    >>> ferryml.Hop().fit(X[1::2], y[1::2], sources=[old]).links_
    [Link(domain='target', view='x', same_as='old.x', by='same_as', columns=4)]
    """

    domain: str
    view: str
    same_as: str
    by: str
    columns: int


# Share of linked columns that may be on another scale. Of 115 pairs of domains that nobody had transformed (random, shifted and class-wise
# halves of tables, Office-Caltech, newsgroups) at most .08 were; after StandardScaler, MinMaxScaler or tf-idf on one side, .3 or more of nearly all.
SHARE = 0.3
ROWS = 1000  # of a source are looked at; of the target so many at a time


# ---- what the caller says ----

def say(ctx, task, everybody):
    """Tell the library's task what `columns` and `same_as` of the domains say. everybody: (name, domain, role), the target last."""
    for name, d, role in everybody:
        for view, other in _said(name, d, role, everybody[-1]).items():
            if view not in dict(d._views()):
                raise ValueError(f"{name}: same_as is of view {view!r}, which it does not have")
            other = _called(other, everybody, name, d, view)
            ctx.call(lib.ferry_task_set_same_as, task.pointer, name.encode(), view_name(d, role, name, view).encode(), other.encode())


def _said(name, d, role, target):
    """{view: "DOMAIN", "DOMAIN.VIEW" or "none"} of a domain."""
    views = [v for v, _ in d._views()]
    if d.columns is None:
        if d.same_as is None or isinstance(d.same_as, dict):
            return d.same_as or {}
        if len(views) != 1:
            raise ValueError(f"{name}: it has several views: say same_as={{view: 'DOMAIN.VIEW'}}")
        return {views[0]: d.same_as}
    if role == "target":
        raise ValueError("columns is of sources: it says whether theirs are those of the target")
    if d.columns == "own":
        return {v: "none" for v in views}
    if len(views) != 1 or len(target[1]._views()) != 1:
        raise ValueError(f"{name}: columns='shared' is for domains with one view: say same_as={{view: 'DOMAIN.VIEW'}}")
    return {views[0]: target[0]}


def _called(text, everybody, name, d, view):
    """A view as the library calls it: "DOMAIN.VIEW", or "DOMAIN" where that has one view."""
    if text == "none":
        return text
    for other, e, role in everybody:
        views = dict(e._views())
        for v, x in views.items():
            if text == f"{other}.{v}" or (text == other and len(views) == 1):
                _check_widths(name, dict(d._views())[view], other, x)
                return f"{other}.{view_name(e, role, other, v)}"
    raise ValueError(f"{name}: same_as={text!r}: expected 'none', a domain with one view, or DOMAIN.VIEW; there are "
                     + ", ".join(f"{o}.{v}" for o, e, _ in everybody for v, _ in e._views() if o != name))


def _check_widths(name, x, other, z):
    x, z = _alone(x), _alone(z)
    if _width(x) != _width(z) and (_names(x) is None or _names(z) is None) and not (sp.issparse(x) or sp.issparse(z)):
        raise ValueError(f"{name} and {other} are said to have the same columns, but {name} has {_width(x)} and {other} {_width(z)}. If a "
                         "pipeline has changed those of the target alone, use make_transfer_pipeline()")


# ---- what was linked ----

def links_of(ctx, task, everybody):
    """A list of Link."""
    out = c_void_p()
    ctx.call(lib.ferry_task_links, task.pointer, b"json", byref(out))
    mine = {(name, view_name(d, role, name, v)): v for name, d, role in everybody for v, _ in d._views()}
    found = []
    for k in json.loads(new_text(out)):
        (a, b), (c, d) = ((e["domain"], mine[e["domain"], e["view"]]) for e in (k, k["same_as"]))
        found.append(Link(a, b, f"{c}.{d}", k["by"], k["columns"]))
    return found


# ---- what is doubtful ----

def doubts(everybody, links):
    """Warn of columns that look the same and are not linked, and of linked ones that look as if those of the target alone had
    been transformed."""
    target, t, _ = everybody[-1]
    views = {f"{target}.{v}": x for v, x in t._views()}
    linked = {e for k in links for e in (f"{k.domain}.{k.view}", k.same_as)}
    for name, d, _ in everybody[:-1]:
        for view, x in d._views():
            here = f"{name}.{view}"
            if here not in linked and len(views) == 1 and d.views is None and d.columns is None and d.same_as is None:
                _as_wide(type(d).__name__, name, _alone(x), _alone(*views.values()))
            for k in links:
                ends = (f"{k.domain}.{k.view}", k.same_as)
                other = ends[1 - ends.index(here)] if here in ends else None
                if other in views:
                    _alike(name, _alone(x), _alone(views[other]))


def _as_wide(kind, name, x, z):
    """An array or frame that nothing links, as wide as the target."""
    mine, theirs, width = _names(x), _names(z), _width(x)
    if width != _width(z) or (mine is not None and theirs is not None):
        return
    if mine is None and theirs is None:
        warn(f"{name!r} has {width} columns without names, as many as the target: they are taken for other features. Write "
             f"{kind}(..., columns='shared') if they are the same, columns='own' if they are not")
        return
    named, bare = (repr(name), "the target") if mine else ("the target", repr(name))
    warn(f"the {width} columns of {named} have names, those of {bare} have none: they are taken for other features. Write "
         f"{kind}(..., columns='shared') if they are the same, columns='own' if they are not. If a pipeline has dropped the names of the "
         "target's, and transformed it alone, use make_transfer_pipeline()")


def _alike(name, x, z):
    """Warn where linked columns, of a source and the target, are on such different scales that one must have been transformed."""
    rows = x.shape[0] if hasattr(x, "shape") else len(x)
    step = max(1, rows // ROWS)
    (x, mine), (z, theirs) = _matrix(x, slice(None, None, step)), _matrix(z)
    place = {n: j for j, n in enumerate(mine or ())}
    pairs = [(place[n], j, n) for j, n in enumerate(theirs or ()) if n in place]
    pairs = pairs or [(j, j, j) for j in range(min(x.shape[1], z.shape[1]))]
    if not pairs or min(x.shape[0], z.shape[0]) < 2:
        return
    a, b = _Columns(x).take([p[0] for p in pairs]), _Columns(z).take([p[1] for p in pairs])
    use = (a.std > 0) & (b.std > 0)
    apart = use & (_apart(a, b) | (b.scaled(use) & ~a.plain()))
    if apart.sum() <= SHARE * use.sum():
        return
    with np.errstate(divide="ignore", invalid="ignore"):
        j = int(np.argmax(np.where(apart, np.abs(np.log(a.std / b.std)), -1)))
    near = round(float(b.mean[j]), 6) + 0.0
    warn(f"the columns of the target look transformed and those of {name!r} do not: {apart.sum()} of {use.sum()} that they share are on another "
         f"scale (such as {pairs[j][2]!r}: mean {a.mean[j]:.3g} and spread {a.std[j]:.3g} in {name!r}, {near:.3g} and {b.std[j]:.3g} in the target). "
         "A pipeline transforms the target alone: write make_transfer_pipeline(shared(StandardScaler()), ...), whose steps see the "
         "sources too, or transform the sources likewise")


class _Columns:
    """Mean and spread of the columns of an array or CSR matrix, the share of cells that are not 0, and their mean size."""

    def __init__(self, x):
        n, sums, squares, sizes, filled = np.zeros((5, x.shape[1]))
        for i in range(0, x.shape[0], ROWS):
            part = x[i:i + ROWS]
            known = ~np.isnan(part) if isinstance(part, np.ndarray) else None
            part = part if known is None else np.where(known, part, 0.0)
            n += part.shape[0] if known is None else known.sum(axis=0)
            squared = part.multiply(part) if known is None else part * part
            for total, cells in ((sums, part), (squares, squared), (sizes, abs(part)), (filled, part != 0)):
                total += np.asarray(cells.sum(axis=0)).ravel()
        n = np.maximum(n, 1)
        self.mean = sums / n
        var = squares / n - self.mean**2
        self.std = np.sqrt(np.where(var > 1e-12 * squares / n, var, 0))
        self.size, self.filled = sizes / np.maximum(filled, 1), filled / n

    def take(self, columns):
        for key, value in self.__dict__.items():
            setattr(self, key, value[columns])
        return self

    def plain(self):
        """Columns that a scaler would leave about as they are."""
        return (np.abs(self.mean) < 0.5 * self.std) & (self.std > 0.5) & (self.std < 2)

    def scaled(self, use):
        """Whether nearly all have mean 0 and spread 1: chance does not do that."""
        exact = (np.abs(self.mean) < 1e-4) & (np.abs(self.std - 1) < 1e-4)
        return bool(use.any()) and exact[use].mean() > 0.9


def _apart(a, b):
    """Where columns differ by more than those of two domains do: by their spread and mean, or, where most cells are 0, by the size of
    the others."""
    with np.errstate(divide="ignore", invalid="ignore"):
        size, scale = (np.maximum(p, q) / np.minimum(p, q) > 4 for p, q in ((a.size, b.size), (a.std, b.std)))
    shift = np.abs(a.mean - b.mean) > 3 * np.maximum(a.std, b.std)
    return np.where((a.filled < 0.5) & (b.filled < 0.5), size, scale | shift)


def _alone(x):
    """The matrix of a view, without ids."""
    return x[1] if isinstance(x, tuple) else x


def _width(x):
    return x.shape[1] if hasattr(x, "shape") else np.shape(x)[1]


def _names(x):
    columns = x.names if isinstance(x, Named) else getattr(x, "columns", None)
    return [str(c) for c in columns] if columns is not None and len(columns) and all(isinstance(c, str) for c in columns) else None


def _matrix(x, rows=slice(None)):
    """(array or CSR matrix, names or None) of some rows."""
    if isinstance(x, Named):
        return x.x[rows], x.names
    if hasattr(x, "iloc"):
        return matrix(x.iloc[rows])
    x, names = matrix(x)
    return (x if rows == slice(None) or not hasattr(x, "__getitem__") else x[rows]), names
