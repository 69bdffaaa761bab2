"""Models: what ferry_fit() learned, and predictions as arrays."""
from __future__ import annotations

import ctypes
import json
import os
from ctypes import POINTER, byref, c_int32, c_void_p
from typing import Any, Dict, List

import numpy as np

from . import _abi
from ._data import GOALS, Domain, add_view, new_domain
from ._lib import Handle, context, lib, listed, numbers, text, texts, there, words
from ._types import Goal, Path

GOAL_NAMES: Dict[int, Any] = {v: k for k, v in GOALS.items()}


class Prediction:
    """What a model answers, as arrays: cls (places in names), score, value, set, ids, items."""

    def __init__(self, pointer):
        p = pointer.contents
        self.goal, self.n, self.k = GOAL_NAMES[p.goal], p.n, p.k
        self.names = texts(p.names, p.k)
        self.cls = numbers(p.cls, p.n, c_int32)
        self.value = numbers(p.value, p.n)
        score = numbers(p.score, p.n * p.k)
        self.score = None if score is None else score.reshape(p.n, p.k)
        on = numbers(p.set, p.n * p.k, ctypes.c_uint8)
        self.set = None if on is None else on.reshape(p.n, p.k)
        self.users = self.items = self.ids = None
        if p.items:
            self.users, self.items = texts(p.ids, p.n), texts(p.items, p.n)


class Model:
    """A fitted model of the library. Pickles as the bytes of its .ferry file.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ferryml.SVM().fit(X, y).model_
    >>> model.method, model.goal, ferryml.Model.from_bytes(model.to_bytes()).names
    ('svm', 'classify', ['0', '1', '2'])
    """

    def __init__(self, pointer):
        self._handle = Handle(pointer, lib.ferry_model_free)

    @property
    def pointer(self):
        return self._handle.pointer

    @classmethod
    def fit(cls, ctx, task, method, options=None, verbose=False):
        """Learn; gives the model and where and why the fit stopped."""
        out = c_void_p()
        info = _abi.ferry_fit_info(size=ctypes.sizeof(_abi.ferry_fit_info))
        with ctx.options(options) as opts:
            ctx.long(lib.ferry_fit, task.pointer, method.encode(), opts, byref(out), byref(info), verbose=verbose)
        return cls(out), info

    @classmethod
    def load(cls, path: Path, method: str | None = None) -> Model:
        """From a .ferry file, whoever wrote it."""
        ctx, out = context(), c_void_p()
        there(path)
        ctx.call(lib.ferry_model_load, os.fsencode(path), method and method.encode(), byref(out))
        return cls(out)

    def save(self, path: Path) -> None:
        """As a .ferry file, which the command and C read."""
        context().call(lib.ferry_model_save, self.pointer, os.fsencode(path))

    def to_bytes(self) -> bytes:
        """What save() would write."""
        ctx, out, n = context(), c_void_p(), ctypes.c_int64()
        ctx.call(lib.ferry_model_to_memory, self.pointer, byref(out), ctypes.addressof(n))
        try:
            return ctypes.string_at(out, n.value)
        finally:
            lib.ferry_string_free(out)

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        ctx, out = context(), c_void_p()
        ctx.call(lib.ferry_model_from_memory, data, len(data), None, byref(out))
        return cls(out)

    def __getstate__(self):
        return {"bytes": self.to_bytes()}

    def __setstate__(self, state):
        self._handle = type(self).from_bytes(state["bytes"])._handle

    def _info(self):
        info = _abi.ferry_model_info(size=ctypes.sizeof(_abi.ferry_model_info))
        lib.ferry_model_get_info(self.pointer, byref(info))
        return info

    @property
    def method(self) -> str:
        return text(self._info().method)

    @property
    def goal(self) -> Goal:
        return GOAL_NAMES[self._info().goal]

    @property
    def diagnostics(self) -> Dict[str, Any]:
        """What the fit recorded, as a dict."""
        return json.loads(text(self._info().diagnostics) or "{}")

    @property
    def streams(self) -> bool:
        return bool(self._info().streams)

    @property
    def names(self) -> List[str]:
        """Classes, in the model's order."""
        return [text(name) for name in listed(lib.ferry_model_class_at, self.pointer)]

    def predict_domain(self, ctx, domain, long=True):
        """For a domain of the library, which is freed. Where it takes no time, Ctrl-C need not be looked for."""
        out = POINTER(_abi.ferry_prediction)()
        try:
            (ctx.long if long else ctx.call)(lib.ferry_predict, self.pointer, domain, byref(out))
            return Prediction(out)
        finally:
            lib.ferry_domain_free(domain)
            lib.ferry_prediction_free(out)

    def predict(self, x, features=None, threads=None, known=False):
        """For a matrix as the data module makes it, or a Domain. known: its rows, which have no ids, are those of the fit."""
        ctx = context(threads=threads)
        if isinstance(x, Domain):
            return self.predict_domain(ctx, new_domain(ctx, x, "target", "new", known=known))
        domain = c_void_p()
        ctx.call(lib.ferry_domain_new, b"new", _abi.FERRY_TARGET, byref(domain))
        try:
            add_view(ctx, domain, "x", x, None, features)
        except BaseException:
            lib.ferry_domain_free(domain)
            raise
        return self.predict_domain(ctx, domain, x.shape[0] > 1000)

    def recommend(self, users: List[str] | None = None, top: int = 10, rated: bool = False) -> Prediction:
        """Goal rate: the items that users would rate highest."""
        ctx, out = context(), POINTER(_abi.ferry_prediction)()
        n = 0 if users is None else len(users)
        try:
            ctx.long(lib.ferry_recommend, self.pointer, n, None if users is None else words(users), top, int(rated), byref(out))
            return Prediction(out)
        finally:
            lib.ferry_prediction_free(out)

    def fold_in(self, domain):
        """Goal rate: a model that knows further users and items, from their ratings."""
        ctx, out = context(), c_void_p()
        new = new_domain(ctx, domain, "target", "new")
        try:
            ctx.long(lib.ferry_model_fold_in, self.pointer, new, byref(out))
        finally:
            lib.ferry_domain_free(new)
        return Model(out)


class Rows:
    """A streaming model, a row at a time, with memory that is there."""

    def __init__(self, model):
        self.model = model
        self.cls = c_int32()
        self.columns = model._info().columns
        self.votes = np.zeros(max(1, model._info().votes), dtype=np.int32)
        self.row = _abi.ferry_row(self.columns, None, None)

    def see(self, x, scores=None):
        """Place of the class that the model takes x for; x is a float64 array of all columns."""
        ctx = context()
        self.row.n = len(x)
        self.row.value = x.__array_interface__["data"][0]
        ctx.call(lib.ferry_model_see, self.model.pointer, byref(self.row), ctypes.addressof(self.cls),
                 None if scores is None else scores.ctypes.data, self.votes.ctypes.data)
        return self.cls.value

    def learn(self, x, label):
        """See x and learn its label (bytes)."""
        self.see(x)
        context().call(lib.ferry_model_learn, self.model.pointer, byref(self.row), label, self.votes.ctypes.data)

    def learn_many(self, x, at, names):
        """See the rows of a C-ordered float64 matrix and learn names[at[i]], bytes each, of row i; -1: not known.
        Some rows at a time, so that Ctrl-C comes through between them."""
        names, count, ctx = words(names), len(names), context()
        step = max(1000, 2 ** 18 // max(1, x.shape[1]))
        for i in range(0, len(x), step):
            some = x[i:i + step]
            view = _abi.ferry_array(some.shape[0], some.shape[1], some.shape[1], some.ctypes.data)
            ctx.call(lib.ferry_model_learn_rows, self.model.pointer, byref(view), count, names, at[i:].ctypes.data, None)
