"""Linear models and boosted trees as ONNX, without a package for it: the few messages of its format are written here."""
from __future__ import annotations

import json
import struct
from typing import Any, Dict, List

import numpy as np
from sklearn.utils.validation import check_is_fitted

DOUBLE, INT64, STRING = 11, 7, 8
LINEAR = {"logreg", "svm", "ridge"}
COMMON, STANDARD, NONE = 5, 3, 1  # scales that are a shift and a factor for each column
LAYOUT, MISSING, HEAD = 0, 1, 4
WIDTH, COLS, KIND, DENSE, COUNTS, SHIFTED, FACTORED, MAPPED, FACTS = range(9)


# ---- messages of protocol buffers ----

def _varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


def _number(field, n):
    return _varint(field << 3) + _varint(int(n))


def _part(field, value):
    value = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _numbers(field, values):
    return _part(field, b"".join(_varint(int(v)) for v in values))


def _tensor(name, values):
    values = np.asarray(values)
    out = _numbers(1, values.shape)
    if values.dtype.kind in "OU":
        out += _number(2, STRING) + b"".join(_part(6, str(v)) for v in values.ravel())
    else:
        kind = DOUBLE if values.dtype.kind == "f" else INT64
        out += _number(2, kind) + _part(9, np.ascontiguousarray(values, dtype="<f8" if kind == DOUBLE else "<i8").tobytes())
    return out + _part(8, name)


def _attribute(name, value):
    out = _part(1, name)
    if isinstance(value, int):
        return out + _number(3, value) + _number(20, 2)
    if isinstance(value, str):
        return out + _part(4, value) + _number(20, 3)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return out + _part(5, _tensor(name, value)) + _number(20, 4)
    if isinstance(value, np.ndarray):
        return out + _numbers(8, value) + _number(20, 7)
    return out + b"".join(_part(9, v) for v in value) + _number(20, 8)


def _value(name, kind, *shape):
    dims = b"".join(_part(1, _part(2, n) if isinstance(n, str) else _number(1, n)) for n in shape)
    return _part(1, name) + _part(2, _part(1, _number(1, kind) + _part(2, dims)))


class _Graph:
    """Nodes and constants, in order."""

    def __init__(self):
        self.nodes: List[bytes] = []
        self.constants: List[bytes] = []

    def constant(self, values):
        name = f"c{len(self.constants)}"
        self.constants.append(_tensor(name, values))
        return name

    def node(self, op, *inputs, name=None, domain="", **attributes):
        name = name or f"v{len(self.nodes)}"
        self.nodes.append(b"".join(_part(1, i) for i in inputs) + _part(2, name) + _part(4, op) +
                          b"".join(_part(5, _attribute(k, v)) for k, v in attributes.items()) + (_part(7, domain) if domain else b""))
        return name

    def model(self, inputs, outputs):
        graph = b"".join(_part(1, n) for n in self.nodes) + _part(2, "ferry") + b"".join(_part(5, c) for c in self.constants)
        graph += b"".join(_part(11, v) for v in inputs) + b"".join(_part(12, v) for v in outputs)
        sets = [_part(1, domain) + _number(2, version) for domain, version in (("", 13), ("ai.onnx.ml", 3))]
        return _number(1, 8) + _part(2, "ferryml") + _part(7, graph) + b"".join(_part(8, s) for s in sets)


# ---- what a model's file holds ----

def _tensors(model) -> Dict[str, Any]:
    """The tensors of a .ferry file (docs/model-file.md)."""
    data = model.to_bytes()
    n = struct.unpack("<Q", data[:8])[0]
    kinds = {"F64": "<f8", "I64": "<i8", "I32": "<i4", "U8": "u1"}
    return {name: np.frombuffer(data[8 + n + t["data_offsets"][0]:8 + n + t["data_offsets"][1]], dtype=kinds[t["dtype"]]).reshape(t["shape"])
            for name, t in json.loads(data[8:8 + n]).items() if name != "__metadata__"}


def _linear(g, t, facts, x, logistic):
    """Scores of a linear model of the scaled columns."""
    if facts[KIND] not in (NONE, STANDARD, COMMON):
        raise ValueError("to_onnx: this model's scale looks at whole rows; scale='standard', 'common' or 'none' does not")
    width = int(facts[WIDTH])
    off = t.get("prepare.shift.0" if facts[DENSE] else "prepare.base.0", np.zeros((1, width)))
    weight = t["w"] * t.get("prepare.factor.0", np.ones((1, width))).T
    filled = g.node("Where", g.node("IsNaN", x), g.constant(t["prepare.fill.0"]), x)
    bias = np.where(t["seen"] != 0, t["b"], -np.inf) if "seen" in t else t["b"]
    out = g.node("Add", g.node("MatMul", g.node("Sub", filled, g.constant(off)), g.constant(weight)), g.constant(bias))
    return _shares(g, out) if logistic else out


def _shares(g, score):
    """s(f_j) / sum_i s(f_i)"""
    each = g.node("Sigmoid", score)
    return g.node("Div", each, g.node("ReduceSum", each, g.constant(np.array([1])), keepdims=1))


def _trees(g, t, x):
    """Scores of boosted trees; zeros are missing cells where the view is sparse."""
    first, k = t["trees.first"], t["trees.base"].shape[1]
    if t["trees.sparse"][0]:
        x = g.node("Where", g.node("Equal", x, g.constant(np.zeros((1, 1)))), g.constant(np.full((1, 1), np.nan)), x)
    size = np.diff(first)
    tree, node = np.repeat(np.arange(len(size)), size), np.concatenate([np.arange(n) for n in size] or [np.zeros(0, dtype=np.int64)])
    feature = t["trees.feature"]
    leaf = feature < 0
    out = g.node("TreeEnsembleRegressor", x, domain="ai.onnx.ml", n_targets=int(k), aggregate_function="SUM", post_transform="NONE",
                 nodes_treeids=tree, nodes_nodeids=node, nodes_featureids=np.where(leaf, 0, feature),
                 nodes_modes=["LEAF" if end else "BRANCH_LEQ" for end in leaf], nodes_values_as_tensor=t["trees.threshold"].ravel(),
                 nodes_truenodeids=np.where(leaf, 0, t["trees.left"]), nodes_falsenodeids=np.where(leaf, 0, t["trees.right"]),
                 nodes_missing_value_tracks_true=t["trees.missing_left"].astype(np.int64),
                 target_treeids=tree[leaf], target_nodeids=node[leaf], target_ids=tree[leaf] % k, target_weights_as_tensor=t["trees.value"].ravel()[leaf])
    return g.node("Add", g.node("Cast", out, to=DOUBLE), g.constant(t["trees.base"]))


def to_onnx(model: Any) -> bytes:
    """A fitted linear model or boosted trees as an ONNX file, for onnxruntime and others.

    Parameters
    ----------
    model : LogReg, SVM, Ridge, GBDT, or those of them that predict numbers
        Fitted on an array, matrix or data frame; not on label sets. Linear models need a scale that looks at columns alone: standard, common or
        none (``scale='auto'`` mostly chooses one of the first two).

    Returns
    -------
    bytes
        The file. Its input is ``X``, 64-bit numbers with NaN for missing cells; its outputs are ``label`` and ``scores`` (probabilities, or what
        decision_function works with, a column for each of classes_), or ``value``. They equal those of the model to 1e-5.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import ferryml
    >>> X, y = load_iris(return_X_y=True)
    >>> file = ferryml.to_onnx(ferryml.LogReg().fit(X, y))  # open("iris.onnx", "wb").write(file)
    >>> b"ferryml" in file and len(file) < 2000
    True
    """
    check_is_fitted(model, "model_")
    name, method = type(model).__name__, model.model_.method
    if method not in LINEAR and method != "gbdt":
        raise ValueError(f"to_onnx: {name} is neither a linear model nor boosted trees")
    if getattr(model, "multilabel_", False):
        raise ValueError(f"to_onnx: {name} has learned label sets")
    t, g = _tensors(model.model_), _Graph()
    facts = t["prepare"][HEAD:]
    if len(facts) != FACTS or facts[MAPPED] or facts[COLS] != facts[WIDTH]:
        raise ValueError(f"to_onnx: {name} has several views or leaves columns out")
    inputs = [_value("X", DOUBLE, "N", int(facts[WIDTH]))]
    numbers = not hasattr(model, "classes_")
    if method != "gbdt":
        out = _linear(g, t, facts, "X", method == "logreg" and not numbers)
    else:
        out = _trees(g, t, "X")
        if numbers:
            out = g.node("Add", g.node("Mul", out, g.constant(t["to.sd"])), g.constant(t["to.mean"]))
        elif t["trees.base"].shape[1] > 1:
            out = _shares(g, out)
        else:  # p(second)
            second = g.node("Sigmoid", out)
            out = g.node("Concat", g.node("Sub", g.constant(np.ones((1, 1))), second), second, axis=1)
    if numbers:
        g.node("Reshape", out, g.constant(np.array([-1])), name="value")
        return g.model(inputs, [_value("value", DOUBLE, "N")])
    known = model.model_.names
    order = [known.index(text.decode()) for text in model._table().texts]
    g.node("Gather", out, g.constant(np.array(order)), name="scores", axis=1)
    classes = model.classes_ if model.classes_.dtype.kind in "iu" else np.array([str(c) for c in model.classes_], dtype=object)
    g.node("Gather", g.constant(classes), g.node("ArgMax", "scores", axis=1, keepdims=0), name="label", axis=0)
    return g.model(inputs, [_value("label", INT64 if classes.dtype.kind in "iu" else STRING, "N"), _value("scores", DOUBLE, "N", len(order))])
