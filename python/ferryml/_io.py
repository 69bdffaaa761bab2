"""Files: data of all formats as arrays, models, public data sets."""
from __future__ import annotations

import csv
import importlib
import json
import os
import re
import tempfile
from ctypes import POINTER, byref, c_void_p
from typing import Any, Dict

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch

from . import _abi, _methods
from ._base import FerryClassifier, FerryRegressor, _Proba
from ._lib import Handle, context, lib, listed, new_text, text, there
from ._model import Model
from ._types import Path, Setting


def read(path: Path, **options: Setting) -> Any:
    """Read a file of any format that Ferry knows (docs/formats.md).

    Parameters
    ----------
    path : str or path
        A file, or a folder of texts; "file#name" picks a variable or member, "shop.db#SELECT ..." what SQLite gives.
        Parquet (``.parquet``, ``.pq``) is read as the CSV file that polars, pyarrow or duckdb makes of it.
    **options
        Of the reader: format, header, id, label and so on.

    Returns
    -------
    sklearn.utils.Bunch
        X (an array, or CSR where the data is sparse), y, ids, feature_names; of graphs `edges`, of ratings `ratings`, as
        Domain takes them. None where the file has none. The numbers pass through a temporary file on the way.

    Examples
    --------
    >>> import os, tempfile, ferryml
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "mine.csv")
    ...     with open(path, "w") as f:
    ...         _ = f.write("height,colour,class\\n1.5,red,a\\n2.5,blue,b\\n")
    ...     found = ferryml.read(path, label="class")
    >>> [str(name) for name in found.feature_names], [str(v) for v in found.y]
    (['height', 'colour=blue', 'colour=red'], ['a', 'b'])
    """
    ctx, out = context(), c_void_p()
    there(path)
    if os.fsdecode(path).lower().endswith((".parquet", ".pq")):
        with tempfile.TemporaryDirectory(prefix="ferryml-") as folder:
            as_csv = os.path.join(folder, "x.csv")
            _write_parquet(os.fsdecode(path), as_csv)
            return read(as_csv, **options)
    with ctx.options(options) as opts:
        ctx.long(lib.ferry_read, os.fsencode(path), opts, byref(out))
    data = Handle(out, lib.ferry_data_free)
    kind = _kind(ctx, data)
    found = Bunch(X=None, y=None, ids=None, feature_names=None, edges=None, ratings=None)
    with tempfile.TemporaryDirectory(prefix="ferryml-") as folder:
        if kind in ("graph", "ratings"):
            columns = _table(ctx, data, os.path.join(folder, "x.csv"), "edges" if kind == "graph" else "ratings")
            found["edges" if kind == "graph" else "ratings"] = columns
            return found
        if kind == "listing":
            raise ValueError(f"{path} holds several arrays: name one with '#'")
        where = os.path.join(folder, "x.npz")
        ctx.call(lib.ferry_write, data.pointer, os.fsencode(where), None)
        with np.load(where, allow_pickle=False) as z:
            if "x" in z:
                found.X = z["x"]
            elif "data" in z:
                found.X = sp.csr_matrix((z["data"], z["indices"], z["indptr"]), shape=tuple(z["shape"]))
            for key, name in (("ids", "ids"), ("features", "feature_names"), ("labels", "y")):
                if key in z:
                    found[name] = z[key]
    return found


def _write_parquet(path, to):
    """A Parquet file as CSV, by whoever is there: numbers keep all their digits."""
    for name in ("polars", "pyarrow", "duckdb"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if name == "pyarrow":
            importlib.import_module("pyarrow.csv").write_csv(importlib.import_module("pyarrow.parquet").read_table(path), to)
        else:  # polars and duckdb call it the same
            module.read_parquet(path).write_csv(to)
        return
    raise ImportError(f"{path}: reading Parquet needs polars, pyarrow or duckdb (pip install polars)")


def _kind(ctx, data):
    d = POINTER(_abi.ferry_description)()
    ctx.call(lib.ferry_data_describe, data.pointer, byref(d))
    try:
        return text(d.contents.kind)
    finally:
        lib.ferry_description_free(d)


def _table(ctx, data, where, kind):
    with ctx.options({"format": kind}) as opts:
        ctx.call(lib.ferry_write, data.pointer, os.fsencode(where), opts)
    with open(where, encoding="utf-8", newline="") as f:
        first = f.readline()
        f.seek(0)
        rows = list(csv.reader(f, delimiter="," if "," in first else "\t" if "\t" in first else " "))
    try:
        float(rows[0][2])
    except (ValueError, IndexError):
        rows = rows[1:]
    columns = [np.array([r[j] for r in rows]) for j in range(len(rows[0]) if rows else 0)]
    return tuple(columns[:2]) + tuple(c.astype(np.float64) for c in columns[2:3])


_WHOLE = re.compile("0|-?[1-9][0-9]*")  # as Python prints it: "01" and "+1" are other classes than 1


class Blend(_Proba, FerryClassifier):
    """What ``ferry fit`` without -m made: a weighted mean of several models. It is loaded, not fitted."""
    _method, _goals, _options = "blend", ("classify", "multilabel"), ()

    def __init__(self, *, n_jobs: int | None = None, verbose: bool = False) -> None:
        self.n_jobs, self.verbose = n_jobs, verbose


class BlendRegressor(FerryRegressor):
    """What ``ferry fit`` without -m made: a weighted mean of several models. It is loaded, not fitted."""
    _method, _goals, _options = "blend", ("regress",), ()

    def __init__(self, *, n_jobs: int | None = None, verbose: bool = False) -> None:
        self.n_jobs, self.verbose = n_jobs, verbose


def load(path: Path) -> Any:
    """A fitted estimator from a .ferry file, whether Python, C or the command wrote it. Classes are numbers where all their
    names are whole numbers, else text.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.ferry")
    ...     ferryml.SVM().fit(X, y).save(path)
    ...     model = ferryml.load(path)
    >>> model
    SVM()
    """
    model = Model.load(path)
    goal = "classify" if model.goal == "stream" else model.goal  # the same estimators do both
    kinds = [getattr(_methods, name) for name in _methods.__all__] + [Blend, BlendRegressor]
    for kind in kinds:
        if kind._method == model.method and goal in kind._goals:
            break
    else:
        raise ValueError(f"{path}: there is no estimator for models of {model.method} with goal {model.goal}")
    out = kind()
    out.model_ = model
    if goal in ("classify", "multilabel"):
        names = model.names
        numbers = all(_WHOLE.fullmatch(n) for n in names)
        out.classes_ = np.sort(np.array([int(n) for n in names])) if numbers and names else np.array(sorted(names))
        out.multilabel_, out._single = goal == "multilabel", False
        if goal == "multilabel":
            out.classes_ = np.array([int(n) for n in names] if numbers else names)
    if goal != "rate" and model._info().views == 1:
        columns = model._info().columns
        if columns > 0:
            out.n_features_in_ = columns
    return out


def datasets() -> Dict[str, str]:
    """Names of the public data sets that fetch() gets, with what they are.

    Examples
    --------
    >>> import ferryml
    >>> "movielens" in ferryml.datasets()
    True
    """
    ctx, out = context(), c_void_p()
    ctx.call(lib.ferry_catalog_load, None, byref(out))
    catalog = Handle(out, lib.ferry_catalog_free)
    found = {}
    for at in listed(lib.ferry_catalog_at, catalog.pointer):
        d = at.contents
        found[text(d.name)] = text(d.summary)
    return found


def fetch(name: str, data_home: Path = "data", **options: Setting) -> Any:
    """Get a public data set, as ``ferry fetch`` does: checked, resumed, unpacked; what is there is kept.

    Parameters
    ----------
    name : str
        One of datasets().
    data_home : str or path
        Where data sets are; each has a folder there.
    **options
        mirror, patience, tries (``ferry help fetch``).

    Returns
    -------
    sklearn.utils.Bunch
        folder, filenames (all files in it, for read()) and DESCR, what it is and what is known about its licence.

    Examples
    --------
    >>> import ferryml
    >>> ferryml.fetch("movielens").filenames  # doctest: +SKIP
    """
    ctx, out = context(), c_void_p()
    ctx.call(lib.ferry_catalog_load, None, byref(out))
    catalog = Handle(out, lib.ferry_catalog_free)
    with ctx.options(options) as opts:
        ctx.long(lib.ferry_fetch, catalog.pointer, name.encode(), os.fsencode(data_home), opts)
    all_of_it = (at.contents for at in listed(lib.ferry_catalog_at, catalog.pointer))
    d = next(d for d in all_of_it if text(d.name) == name)
    folder = os.path.join(data_home, name)
    names = sorted(os.path.join(where, n) for where, _, files in os.walk(folder) for n in files)
    return Bunch(folder=folder, filenames=names, DESCR=f"{text(d.summary)}\n\n{text(d.terms) or ''}".strip())


def fetcher(attribute):
    """fetch_NAME of a data set, for ferryml.__getattr__."""
    for name in datasets():
        if attribute == "fetch_" + name.replace("-", "_").replace(".", "_"):
            def get(data_home="data", **options):
                return fetch(name, data_home, **options)

            get.__name__, get.__doc__ = attribute, f"Get the data set {name}; see fetch()."
            return get
    return None


def doctor() -> Dict[str, Any]:
    """What this installation is made of and what is wrong with it, as a dict.

    Examples
    --------
    >>> import ferryml
    >>> "libraries" in ferryml.doctor()
    True
    """
    ctx, found = context(), POINTER(_abi.ferry_installation)()
    ctx.call(lib.ferry_doctor, byref(found))
    try:
        return json.loads(text(found.contents.json))
    finally:
        lib.ferry_installation_free(found)
