"""to_onnx(): the file says what the model says, to onnxruntime where it is installed, and to a reader of the format written here."""
import importlib.util
import unittest
import warnings

import support
import numpy as np
import scipy.sparse as sp
import ferryml


# ---- the format, as onnx.proto has it ----

def fields(data):
    """(number, value) of a message: whole numbers, or bytes."""
    at = 0

    def varint():
        nonlocal at
        n = shift = 0
        while True:
            byte = data[at]
            at += 1
            n |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return n
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2, key
            size = varint()
            yield key >> 3, data[at:at + size]
            at += size


def whole(data):
    """Packed numbers, which may be below 0."""
    out, n, shift = [], 0, 0
    for byte in data:
        n |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            out.append(n - (1 << 64) if n >> 63 else n)
            n = shift = 0
    return out


def tensor(data):
    got, strings = {}, []
    for number, value in fields(data):
        if number == 6:
            strings.append(value.decode())
        else:
            got[number] = value
    shape = whole(got.get(1, b""))
    if got[2] == 8:
        return got[8].decode(), np.array(strings, dtype=object).reshape(shape)
    return got[8].decode(), np.frombuffer(got[9], dtype={11: "<f8", 7: "<i8"}[got[2]]).reshape(shape)


def attribute(data):
    name, value, strings = "", None, []
    for number, part in fields(data):
        if number == 1:
            name = part.decode()
        elif number in (3, 4):
            value = part
        elif number == 5:
            value = tensor(part)[1]
        elif number == 8:
            value = np.array(whole(part), dtype=np.int64)
        elif number == 9:
            strings.append(part.decode())
    return name, strings or value


def regress(x, a):
    out = np.zeros((len(x), a["n_targets"]))
    place = {(t, n): i for i, (t, n) in enumerate(zip(a["nodes_treeids"], a["nodes_nodeids"]))}
    leaves = {}
    for t, n, k, w in zip(a["target_treeids"], a["target_nodeids"], a["target_ids"], a["target_weights_as_tensor"]):
        leaves[t, n] = k, w
    for i, row in enumerate(x):
        for t in np.unique(a["nodes_treeids"]):
            n = 0
            while a["nodes_modes"][place[t, n]] != "LEAF":
                e = place[t, n]
                cell = row[a["nodes_featureids"][e]]
                true = a["nodes_missing_value_tracks_true"][e] == 1 if np.isnan(cell) else cell <= a["nodes_values_as_tensor"][e]
                n = a["nodes_truenodeids" if true else "nodes_falsenodeids"][e]
            k, w = leaves[t, n]
            out[i, k] += w
    return out


def run(data, x):
    """{output: values} of a file on rows x."""
    graph = dict(fields(data))[7]
    values, outputs = {"X": x}, []
    for number, part in fields(graph):
        if number == 5:
            name, value = tensor(part)
            values[name] = value
    for number, part in fields(graph):
        if number == 12:
            outputs.append(dict(fields(part))[1].decode())
        if number != 1:
            continue
        got = list(fields(part))
        v = [values[p.decode()] for n, p in got if n == 1]
        name, op = (next(p.decode() for n, p in got if n == k) for k in (2, 4))
        a = dict(attribute(p) for n, p in got if n == 5)
        with np.errstate(over="ignore", invalid="ignore"):
            values[name] = {
                "IsNaN": lambda: np.isnan(v[0]), "Where": lambda: np.where(*v), "Sub": lambda: v[0] - v[1], "Add": lambda: v[0] + v[1], "Mul": lambda: v[0] * v[1],
                "Div": lambda: v[0] / v[1], "MatMul": lambda: v[0] @ v[1], "Sigmoid": lambda: 1 / (1 + np.exp(-v[0])), "Equal": lambda: v[0] == v[1],
                "ReduceSum": lambda: v[0].sum(axis=tuple(v[1]), keepdims=bool(a["keepdims"])), "Concat": lambda: np.concatenate(v, axis=a["axis"]),
                "Cast": lambda: v[0].astype(np.float64), "Gather": lambda: np.take(v[0], v[1], axis=a["axis"]), "Reshape": lambda: v[0].reshape(v[1]),
                "ArgMax": lambda: np.argmax(v[0], axis=a["axis"]), "TreeEnsembleRegressor": lambda: regress(v[0], a)}[op]()
    return {name: values[name] for name in outputs}


def by_onnxruntime(data, x):
    import onnxruntime
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, {"X": np.ascontiguousarray(x)})))


READERS = [run] + [by_onnxruntime] * (importlib.util.find_spec("onnxruntime") is not None)


class Onnx(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        rng = np.random.default_rng(0)
        cls.y = np.arange(90) % 3
        x = rng.normal(size=(90, 5)) + cls.y[:, None] * rng.normal(size=5)
        cls.numbers = x @ rng.normal(size=5) + rng.normal(size=90)
        cls.worlds = [("table", x), ("missing", np.where(rng.random(x.shape) < 0.1, np.nan, x)), ("far", x + [1e6, 0, 0, 0, 0]),
                      ("zeros", np.where(rng.random((90, 25)) < 0.2, rng.random((90, 25)), 0))]

    def test_equal(self):
        """To 1e-5, on rows that were seen, new ones, and rows with cells that are missing."""
        for world, x in self.worlds:
            new = np.vstack([x[:30], x[:5] + 0.3, np.full((1, x.shape[1]), np.nan)])
            for name in ("LogReg", "SVM", "Ridge", "GBDT", "RidgeRegressor", "SVMRegressor", "GBDTRegressor"):
                kind, trees = getattr(ferryml, name), name.startswith("GBDT")
                for y in [self.numbers] if name.endswith("Regressor") else [self.y, self.y % 2, np.array(["b", "a", "c"])[self.y]]:
                    model = kind(**({"trees": 10} if trees else {"scale": "common" if world == "missing" else "standard"})).fit(x, y)
                    for reader in READERS:
                        got = reader(ferryml.to_onnx(model), new)
                        if name.endswith("Regressor"):
                            np.testing.assert_allclose(got["value"], model.predict(new), atol=1e-5, rtol=1e-6, err_msg=name)
                            continue
                        self.assertEqual(got["label"].tolist(), model.predict(new).tolist(), (name, world))
                        want = model.predict_proba(new) if hasattr(model, "predict_proba") else model._scores(new)[1]
                        np.testing.assert_allclose(got["scores"], want, atol=1e-5, err_msg=name)

    def test_sparse(self):
        """A scale without centring: the file takes the same rows dense."""
        x = self.worlds[3][1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for scale in ("standard", "common", "none"):
                model = ferryml.LogReg(scale=scale).fit(sp.csr_matrix(np.where(np.arange(25) % 5, 0, x)), self.y)
                for reader in READERS:
                    got = reader(ferryml.to_onnx(model), np.where(np.arange(25) % 5, 0, x))
                    np.testing.assert_allclose(got["scores"], model.predict_proba(np.where(np.arange(25) % 5, 0, x)), atol=1e-5)

    def test_refused(self):
        x = self.worlds[0][1]
        for model, says in ((ferryml.KNN(), "KNN is neither a linear model nor"), (ferryml.LogReg(scale="l2"), "scale looks at whole rows")):
            with self.assertRaisesRegex(ValueError, says):
                ferryml.to_onnx(model.fit(x, self.y))
        with self.assertRaisesRegex(ValueError, "label sets"):
            ferryml.to_onnx(ferryml.SVM().fit(x, np.eye(3)[self.y]))
        views = ferryml.Domain(views={"a": x[:, :2], "b": x[:, 2:]})
        with self.assertRaisesRegex(ValueError, "several views"):
            ferryml.to_onnx(ferryml.SVM().fit(views, self.y))
        with self.assertRaisesRegex(ValueError, "not fitted"):
            ferryml.to_onnx(ferryml.SVM())


if __name__ == "__main__":
    support.main()
