"""The metamorphic contract: data that says the same gets the same answer, or one warning says why not.

A world is a task as Python objects: a target with views, labels and graphs, its sources and bridges, or ratings. A change makes
another world of it that says the same in other words: units and offsets, names and types of classes, types of numbers, orders of
rows, columns and classes, rows asked about twice, columns that say nothing, file formats. Every method is fitted on both and
asked about the same rows; what it says of the changed world is brought back and compared.

    python3 -B python/tests/same.py --cases 100000 [--seed N] [--only METHOD] [--change CHANGE] [--all]

runs random cases and prints each pair of method and change that differs and is not in same_known.txt; --all prints every case
that differs. test_same.py runs a slice in CI. Both fail as well when a known failure no longer is one.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
import zlib

os.environ.setdefault("OMP_NUM_THREADS", "1")  # many tiny fits
import support
import numpy as np
import scipy.io
import scipy.sparse as sp
import ferryml
from ferryml import Bridge, Domain, Source, _base, _lib, _methods

# ---- worlds ----


class World:
    """goal; domains: dicts with name, role, views {name: matrix}, y (objects, None: hidden), target last; graphs of the target;
    shared: all domains have the columns of the target. Or ratings: (users, items, values) by domain; those of the target that are
    known and those that predict is asked about. twice: about every row twice."""

    def __init__(self, goal, domains, graphs=None, ratings=None, shared=False):
        self.goal, self.domains, self.graphs, self.ratings, self.shared = goal, domains, graphs or {}, ratings, shared
        self.twice, self.known, self.asked = False, None, None

    @property
    def target(self):
        return self.domains[-1]


def _rows(rng, n, k, d, centre, spread=1.0):
    y = np.arange(n) % k
    rng.shuffle(y)
    return centre[y] + spread * rng.normal(size=(n, d)), y


def _hide(y, visible, rng):
    out = y.astype(object)
    hidden = rng.permutation(len(y))[visible:]
    out[hidden] = None
    for c in np.unique(y):  # one label of every class is seen
        if not any(v == c for v in out):
            out[np.flatnonzero(y == c)[0]] = c
    return out


def _labels(goal, rng, x, y):
    if goal == "regress":
        return x @ np.linspace(1, 2, x.shape[1]) + 0.1 * rng.normal(size=len(x))
    if goal == "multilabel":
        return np.stack([y == 0, x[:, 0] > np.median(x[:, 0]), x[:, 1] + x[:, 2] > 0], axis=1).astype(np.float64)
    return y


def table(goal, seed, k=3):
    """A target of 5 columns and a source with the same."""
    rng = np.random.default_rng(seed)
    centre = 2 * rng.normal(size=(k, 5))
    xs, ys = _rows(rng, 40, k, 5, centre, 1.2)
    xt, yt = _rows(rng, 48, k, 5, centre)
    ys, yt = _labels(goal, rng, xs, ys), _labels(goal, rng, xt, yt)
    if goal == "multilabel":
        yt[rng.permutation(48)[24:]] = np.nan
    else:
        yt = _hide(yt, 24, rng) if goal != "regress" else np.where(np.arange(48) < 24, yt, np.nan)
    return World(goal, [{"name": "s", "role": Source, "views": {"x": xs}, "y": ys}, {"name": "target", "views": {"x": xt}, "y": yt}],
                 shared=True)


def own(goal, seed, k=3):
    """A source with columns of its own."""
    w = table(goal, seed, k)
    rng = np.random.default_rng(seed + 1000)
    s = w.domains[0]
    s["views"] = {"s": s["views"]["x"] @ rng.normal(size=(5, 6)) + 0.1 * rng.normal(size=(40, 6))}
    w.shared = False
    return w


def unseen(goal, seed):
    """The same, and a class that has no label in the target."""
    w = own(goal, seed, 4)
    w.target["y"][w.target["y"] == 3] = None
    return w


def bridge(goal, seed, k=2):
    """A source and a target of different views, and a bridge that has both."""
    rng = np.random.default_rng(seed)
    hidden = 1.5 * rng.normal(size=(k, 3))
    a, b = rng.normal(size=(3, 6)), rng.normal(size=(3, 5))
    zs, ys = _rows(rng, 50, k, 3, hidden)
    zb, _ = _rows(rng, 60, k, 3, hidden)
    zt, yt = _rows(rng, 40, k, 3, hidden)
    noise = lambda *s: 0.1 * rng.normal(size=s)
    return World(goal, [{"name": "s", "role": Source, "views": {"a": zs @ a + noise(50, 6)}, "y": ys},
                        {"name": "b", "role": Bridge, "views": {"a": zb @ a + noise(60, 6), "b": zb @ b + noise(60, 5)}, "y": None},
                        {"name": "target", "views": {"b": zt @ b + noise(40, 5)}, "y": _hide(yt, 10, rng)}])


def counts(goal, seed, k=2):
    """The same with counts, for methods that factorise amounts."""
    w = bridge(goal, seed, k)
    for d in w.domains:
        d["views"] = {v: np.floor(np.exp(0.5 * x / x.std() + 1)) for v, x in d["views"].items()}
    return w


def graph(goal, seed, k=3):
    """A target of two views with a graph that mostly joins what is alike."""
    w = table(goal, seed, k)
    rng = np.random.default_rng(seed + 2000)
    x = w.target["views"]["x"]
    w.domains = w.domains[-1:]
    w.target["views"] = {"x": x, "z": x[:, :3] ** 2 + 0.1 * rng.normal(size=(48, 3))}
    far = ((x[:, None] - x[None]) ** 2).sum(2)
    np.fill_diagonal(far, np.inf)
    near = np.zeros((48, 48))
    near[np.repeat(np.arange(48), 3), np.argsort(far, axis=1)[:, :3].ravel()] = 1
    w.graphs = {"g": sp.csr_matrix(np.maximum(near, near.T))}
    return w


def ratings(goal, seed):
    """Ratings of 1 to 5 from three hidden tastes, in a source and in the target."""
    rng = np.random.default_rng(seed)
    found = []
    for n, m, e in ((30, 20, 300), (25, 20, 160)):
        p, q = rng.normal(size=(n, 3)), rng.normal(size=(m, 3))
        at = rng.permutation(n * m)[:e]
        users, items = 1000 + at // m, 1000 + at % m  # as texts in the same order as numbers
        value = np.clip(np.round(3 + (p[at // m] * q[at % m]).sum(1)), 1, 5)
        found.append((users, items, value))
    w = World("rate", [{"name": "s", "role": Source}, {"name": "target"}], ratings=found)
    return w


WORLDS = {"table": table, "own": own, "unseen": unseen, "bridge": bridge, "counts": counts, "graph": graph, "ratings": ratings}


def _world_of(kind):
    name = kind.__name__
    if issubclass(kind, _base.FerryRater):
        return "ratings"
    if name in ("HTLIC", "Triplex", "TTLPaper"):
        return "counts"
    name = name.replace("Paper", "")
    if name in ("CCA", "KCCA", "TTL", "Hop", "KernelBridge", "KMeansHop", "LatentMap", "CoTransfer"):
        return "bridge"
    if name in ("GBC", "GBCRegressor", "GBDTAverage", "GBDTAverageRegressor", "Gibbs", "ICA", "LabelPropagation", "LabelPropagationRegressor",
                "CorrectSmooth", "SGC", "CoCA"):
        return "graph"
    if name == "Place":
        return "unseen"
    if name.startswith(("CDSPP", "HeMap")) or name in ("CDLS", "COOT", "FGW", "MMDT"):
        return "own"
    return "table"


def methods():
    """{name: (estimator class, goal, world)}, one for each goal."""
    out = {}
    for name in _methods.__all__:
        kind = getattr(_methods, name)
        for goal in kind._goals:
            out[name if len(kind._goals) == 1 else f"{name}/{goal}"] = (kind, goal, _world_of(kind))
    return out


# ---- answers ----

def _domain(w, d, role):
    views = d["views"]
    more = {} if not (w.shared and role is Source) else {"columns": "shared"}
    if len(views) == 1 and not w.graphs and role is not Bridge and w.shared:
        return role(next(iter(views.values())), d["y"], name=d["name"], **more)
    if role is Domain:
        return Domain(views=views, graphs=w.graphs or None, name=d["name"])
    return role(views=views, y=d["y"], name=d["name"])


def answer(kind, w):
    """(what the method says of the rows of the target, how decided it is about each), and what was warned of."""
    _lib._local.context = None  # a context of its own, which warns once
    model = kind()
    if isinstance(model, _base.FerryTransformer) and "d" in model.get_params():
        model.set_params(d=2)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        if w.ratings:
            (us, js, vs), (u, j, v) = w.ratings
            model.fit(_pairs(u[w.known], j[w.known]), v[w.known], sources=[Source(ratings=(us, js, vs), name="s")])
            got = model.predict(_pairs(u[w.asked], j[w.asked]))
            return (got, None), said
        sources = [_domain(w, d, d["role"]) for d in w.domains[:-1]]
        target = w.target
        whole = len(target["views"]) == 1 and not w.graphs and w.shared
        x = next(iter(target["views"].values())) if whole else _domain(w, target, Domain)
        y = target["y"]
        if w.goal == "embed":
            model.fit(x, y, sources=sources)
            got = model.transform(x)
            return (got @ got.T, None), said
        model.fit(x, y, sources=sources)
        if w.twice:
            x = _stack(x)
        got = model.predict(x)
        if w.goal != "classify":
            return (got, None), said
        score = model.decision_function(x) if hasattr(model, "decision_function") else None
        return (got, _margin(score)), said


def _pairs(u, j):
    return np.stack([u, j], axis=1).astype(object)


def _stack(x):
    if isinstance(x, Domain):
        return Domain(views={k: np.vstack([v, v]) for k, v in x.views.items()}, name=x.name,
                      graphs={g: sp.block_diag([a, a]).tocsr() for g, a in (x.graphs or {}).items()} or None)
    return np.vstack([x, x])


def _margin(score):
    """How far the first class is ahead of the second, of each row's spread of scores."""
    if score is None:
        return None
    if score.ndim == 1:
        score = np.stack([-score / 2, score / 2], axis=1)
    score = np.where(np.isfinite(score), score, np.nan)
    top = np.sort(np.nan_to_num(score, nan=-np.inf), axis=1)
    size = np.nanmax(np.abs(score)) or 1.0
    return (top[:, -1] - top[:, -2]) / size


def differs(goal, a, b, tol, spread=None):
    """Why the answers are not the same, or None. Rows that were all but undecided do not count. spread: of numbers."""
    (said, margin), (other, _) = a, b
    if goal == "classify":
        sure = np.ones(len(said), bool) if margin is None else margin > max(1e-6, tol)
        bad = sure & np.array([x != y for x, y in zip(said, other)])
        return f"{bad.sum()} of {len(said)} classes" if bad.any() else None
    if goal == "multilabel":
        bad = (np.asarray(said) != np.asarray(other)).sum()
        return f"{bad} of {np.size(said)} labels" if bad > tol * np.size(said) else None
    said, other = np.asarray(said, float), np.asarray(other, float)
    if spread is None:
        spread = np.abs(said).max() if goal == "embed" else np.std(said)
    off = np.abs(said - other).max() / max(spread, 1e-300)
    return f"by {off:.1e} of their spread" if not off <= max(1e-6, tol) else None


# ---- changes ----
# Each takes a world (a copy, its own) and a random generator; it gives what brings answers back (None: nothing) and how much they
# may differ. NotHere: the change makes no sense in this world.

class NotHere(Exception):
    pass


CHANGES = {}


def change(f=None, *, of=None, itself=False, varied=False):
    """of: what makes the worlds such that the change makes sense; both sides have it. itself: the answers come in two halves, which are
    compared with each other. varied: of the ways that it has, methods see different ones with the same seed."""
    def kept(f):
        f.of, f.itself, f.varied = of, itself, varied
        CHANGES[f.__name__.replace("_", " ")] = f
        return f
    return kept(f) if f else kept


def _matrices(w):
    """(domain, view, key of the features) of every matrix; views of one key have the same columns."""
    if w.ratings:
        raise NotHere
    for d in w.domains:
        for v in d["views"]:
            yield d, v, v if w.shared or len(w.domains) != 2 else (d["name"], v)


def _each(w, f):
    """views <- f(matrix, key, memory of the key)"""
    kept = {}
    for d, v, key in _matrices(w):
        d["views"][v] = f(np.asarray(d["views"][v], float), kept.setdefault(key, {}))


@change
def unit_of_all(w, rng):
    """All columns of a view in another unit."""
    def f(x, kept):
        return x * kept.setdefault("by", 2.0 ** rng.integers(-40, 41))
    _each(w, f)
    return None, 1e-6


@change
def units(w, rng):
    """Every column in a unit of its own."""
    def f(x, kept):
        return x * kept.setdefault("by", 2.0 ** rng.integers(-40, 41, x.shape[1]))
    _each(w, f)
    return None, 1e-6


@change
def offset_of_all(w, rng):
    """All columns from another zero on, 100 to 1e12 away."""
    by = {}

    def f(x, kept):
        by["most"] = kept.setdefault("by", 2.0 ** rng.integers(7, 41))
        return x + kept["by"]
    _each(w, f)
    return None, 1e-5 + 1e-13 * by["most"]


@change
def offset(w, rng):
    """One column from another zero on: a time stamp."""
    by = {}

    def f(x, kept):
        kept.setdefault("j", rng.integers(x.shape[1]))
        by["most"] = kept.setdefault("by", 2.0 ** rng.integers(7, 41))
        x = x.copy()
        x[:, kept["j"]] += kept["by"]
        return x
    _each(w, f)
    return None, 1e-5 + 1e-13 * by["most"]


@change
def order_of_columns(w, rng):
    def f(x, kept):
        return x[:, kept.setdefault("order", rng.permutation(x.shape[1]))]
    _each(w, f)
    return None, 1e-6


@change
def constant_column(w, rng):
    """One more column, which says nothing."""
    def f(x, kept):
        kept.setdefault("value", rng.choice([0.0, 1.0, 3.7, 1e8]))
        kept.setdefault("at", rng.integers(x.shape[1] + 1))
        return np.insert(x, kept["at"], kept["value"], axis=1)
    _each(w, f)
    return None, 1e-6


@change
def empty_column(w, rng):
    """One more column, of which no cell is known."""
    def f(x, kept):
        return np.insert(x, kept.setdefault("at", rng.integers(x.shape[1] + 1)), np.nan, axis=1)
    _each(w, f)
    return None, 1e-6


@change
def order_of_rows(w, rng):
    """The rows of every domain."""
    back = None
    if w.ratings:
        for i, (u, j, v) in enumerate(w.ratings):
            order = rng.permutation(len(u))
            w.ratings[i] = (u[order], j[order], v[order])
            if i:
                w.known, back = w.known[order], np.argsort(order)
        return (lambda a: a[back]), 1e-6
    for d in w.domains:
        n = len(next(iter(d["views"].values())))
        order = rng.permutation(n)
        d["views"] = {k: x[order] for k, x in d["views"].items()}
        if d["y"] is not None:
            d["y"] = d["y"][order]
        if d is w.target:
            w.graphs = {g: a[order][:, order] for g, a in w.graphs.items()}
            back = np.argsort(order)
    if w.goal == "embed":
        return (lambda a: a[back][:, back]), 1e-6
    return (lambda a: a[back]), 1e-6


@change
def rows_twice(w, rng):
    """Every row is asked about twice, after a fit on the rows as they are."""
    if w.ratings:
        w.asked = np.concatenate([w.asked, w.asked])
    elif w.goal == "embed" or w.graphs:
        raise NotHere  # graphs of other rows are other graphs
    else:
        w.twice = True

    def back(a):
        n = len(a) // 2
        first, second = np.asarray(a[:n]), np.asarray(a[n:])
        if not all(np.array_equal(x, y) for x, y in zip(first, second)):
            return second[::-1]  # not even the same as each other
        return first
    return back, 1e-9


def _classes(w):
    if w.goal not in ("classify", "embed") or w.ratings:
        raise NotHere
    return sorted({v for d in w.domains if d["y"] is not None for v in d["y"] if v is not None})


def _rename(w, names):
    """Classes <- names[class], and answers back."""
    back = {v: k for k, v in names.items()}
    for d in w.domains:
        if d["y"] is not None:
            out = np.empty(len(d["y"]), object)
            out[:] = [None if v is None else names[v] for v in d["y"]]
            d["y"] = out
    return (None if w.goal == "embed" else lambda a: np.array([back.get(v, v) for v in a.tolist()], dtype=object)), 1e-6


SPELLINGS = (["a", "b", "c", "d"], ["1", "1.0", "01", "2"], ["0", "1", "10", "9"], ["-1", "+1", "1", "2"], ["x", "x ", "y", "X"],
             ["gr\u00fcn", "gru\u0308n", "z", "y"], ["9007199254740992", "9007199254740993", "x", "y"], ["1e400", "1e401", "2", "3"],
             ["a\0", "a\0b", "b", "a\\0"], ["nan", "none", "null", "true"])


@change
def names_of_classes(w, rng):
    """Texts, which keep the order of the classes."""
    texts = sorted(SPELLINGS[rng.integers(len(SPELLINGS))][:len(_classes(w))])
    if all(t.replace(".", "").lstrip("+-").isdigit() for t in texts):  # the library has numbers by value
        texts = sorted(texts, key=lambda t: (float(t), len(t), t))
    return _rename(w, dict(zip(_classes(w), texts)))


@change
def types_of_classes(w, rng):
    """int64, beyond 2^53 too, float, bool."""
    found = _classes(w)
    choices = [[0, 1, 2, 3], [-5, 0, 7, 8], [2**53 + i for i in range(4)], [2**60 + i for i in range(1, 5)], [0.0, 1.0, 2.0, 3.0],
               [-1.5e3, 0.0, 2.0**60, 2.0**61]]
    if len(found) == 2:
        choices.append([False, True])
    return _rename(w, dict(zip(found, choices[rng.integers(len(choices))])))


@change
def order_of_classes(w, rng):
    """Names that bring the classes into another order."""
    found = _classes(w)
    turned = list(found)
    while turned == found:
        turned = [found[i] for i in rng.permutation(len(found))]
    return _rename(w, {c: f"c{turned.index(c)}" for c in found})


@change
def names_of_users_and_items(w, rng):
    """Texts, or larger numbers, in the same order."""
    if not w.ratings:
        raise NotHere
    name = [lambda v: v + 1000, lambda v: np.char.add("id", v.astype(str)), lambda v: v.astype(float), lambda v: v + 2**60][rng.integers(4)]
    w.ratings = [(name(u), name(j), v) for u, j, v in w.ratings]
    return None, 0


@change
def order_of_users_and_items(w, rng):
    """Names that bring them into another order."""
    if not w.ratings:
        raise NotHere
    users, items = 1000 + rng.permutation(100), 1000 + rng.permutation(100)
    w.ratings = [(users[u - 1000], items[j - 1000], v) for u, j, v in w.ratings]
    return None, 1e-6


def _numbers(w):
    if w.goal != "regress":
        raise NotHere


@change
def unit_of_the_numbers(w, rng):
    """What is to be predicted in another unit."""
    _numbers(w)
    by = 2.0 ** rng.integers(-40, 41)
    for d in w.domains:
        d["y"] = d["y"] * by
    return (lambda a: a / by), 1e-6


@change
def offset_of_the_numbers(w, rng):
    """What is to be predicted from another zero on."""
    _numbers(w)
    by = 2.0 ** rng.integers(0, 31)
    for d in w.domains:
        d["y"] = d["y"] + by
    return (lambda a: a - by), 1e-6 + 1e-13 * by


@change
def types_of_numbers(w, rng):
    """float32, Fortran order, lists, columns of a wider array: of numbers that all types have."""
    how = rng.integers(5)

    def f(x, kept):
        if how == 0:
            return x.astype(np.float32)
        if how == 1:
            return np.asfortranarray(x)
        if how == 2:
            return x.tolist()
        if how == 3:
            return np.repeat(x, 2, axis=1)[:, ::2]
        return x.astype(object)
    _each(w, f)
    return None, 0


@change
def sparse(w, rng):
    """CSR, CSC or COO instead of an array."""
    how = (sp.csr_matrix, sp.csc_matrix, sp.coo_matrix)[rng.integers(3)]
    _each(w, lambda x, kept: how(x))
    return None, 0


@change
def data_frame(w, rng):
    """Columns with names."""
    if not w.shared:
        raise NotHere  # names would join what has the same
    import pandas
    _each(w, lambda x, kept: pandas.DataFrame(x, columns=[f"c{j}" for j in range(x.shape[1])]))
    return None, 0


FORMS = ("csv", "tsv", "svm", "npz", "npy", "mat", "arff", "fdata")


def _arff(path, x, y):
    with open(path, "w") as f:
        f.write("@relation r\n" + "".join(f"@attribute f{j} numeric\n" for j in range(x.shape[1])) + "@attribute class {k0,k1,k2,k3}\n@data\n")
        for row, c in zip(x, y):
            f.write(",".join(map(repr, row.tolist())) + f",{'?' if c is None else c}\n")


def _write(folder, form, x, y):
    """A file of the form, and what read() needs to be told."""
    path = os.path.join(folder, f"x.{form}")
    text = ["" if c is None else str(c) for c in y]
    if form in ("csv", "tsv", "fdata"):
        sep = "\t" if form == "tsv" else ","
        plain = path if form != "fdata" else os.path.join(folder, "plain.csv")
        with open(plain, "w") as f:
            f.write(sep.join([f"f{j}" for j in range(x.shape[1])] + ["label"]) + "\n")
            f.writelines(sep.join([*map(repr, row.tolist()), c]) + "\n" for row, c in zip(x, text))
        if form == "fdata":
            subprocess.run([support.FERRY, "convert", plain, path, "--set", "label=label"], check=True, capture_output=True)
        return path, {"label": "label"} if form != "fdata" else {}
    if form == "svm":
        with open(path, "w") as f:
            f.writelines(f"{c or '?'} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row.tolist())) + "\n" for row, c in zip(x, text))
    if form == "npz":
        np.savez(path, x=x, labels=np.array(text))
    if form == "npy":
        np.save(path, x)
    if form == "mat":
        scipy.io.savemat(path, {"x": x, "labels": np.array(text, dtype=object).reshape(-1, 1)})
    if form == "arff":
        _arff(path, x, y)
    return path, {}


@change
def storage(w, rng):
    """Through a file and back."""
    form = FORMS[rng.integers(len(FORMS))]
    named = w.goal == "classify"
    if named:
        back, _ = _rename(w, {c: f"k{c}" for c in _classes(w)})
    for d, v, _ in _matrices(w):
        x = np.asarray(d["views"][v], float)
        first = v == next(iter(d["views"]))
        y = d["y"] if named and first and d["y"] is not None else [None] * len(x)
        with tempfile.TemporaryDirectory(prefix="ferryml-") as folder:
            path, told = _write(folder, form, x, y)
            got = ferryml.read(path, **told)
        d["views"][v] = got.X
        if named and first and d["y"] is not None and form != "npy":
            d["y"] = np.array([None if c == "" else c for c in got.y.tolist()], dtype=object)
    return (back if named else None), 0


# ---- changes of worlds that are made for them ----

def _whole(w):
    """Whole numbers from 0 to 200 in every cell."""
    _each(w, lambda x, kept: np.clip(np.floor(4 * x) - kept.setdefault("least", np.floor(4 * x).min()), 0, 200))


@change(of=_whole, varied=True)
def types_of_whole_numbers(w, rng):
    """Integers of every width, halves, the other byte order, Python's integers; zeros with a sign."""
    how = rng.integers(14)
    types = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16, ">f8", ">i4", np.longdouble]

    def f(x, kept):
        if how < len(types):
            return x.astype(types[how] if how or x.max() < 128 else np.int16)
        if how == len(types):
            return np.array([[int(v) for v in row] for row in x], dtype=object)
        return np.where(x == 0, -0.0, x)
    _each(w, f)
    return None, 0


@change(of=_whole, varied=True)
def sparse_as_people_have_it(w, rng):
    """Indices without order, zeros that are stored, entries in two parts, long indices, other types of numbers."""
    how = rng.integers(5)

    def f(x, kept):
        a = sp.csr_matrix(x)
        if how == 0:  # each row backwards
            for i in range(a.shape[0]):
                part = slice(a.indptr[i], a.indptr[i + 1])
                a.indices[part], a.data[part] = a.indices[part][::-1].copy(), a.data[part][::-1].copy()
            a.has_sorted_indices = False
            return a
        if how == 1:
            full = np.arange(x.shape[1])
            return sp.csr_matrix((x.ravel(), np.tile(full, x.shape[0]), np.arange(0, x.size + 1, x.shape[1])), shape=x.shape)
        if how == 2:
            c = a.tocoo()
            return sp.coo_matrix((np.concatenate([c.data - 1, np.ones(c.nnz)]), (np.tile(c.row, 2), np.tile(c.col, 2))), shape=x.shape)
        if how == 3:
            a.indices, a.indptr = a.indices.astype(np.int64), a.indptr.astype(np.int64)
            return a
        return a.astype([np.float32, np.int32, np.uint8][rng.integers(3)])
    _each(w, f)
    return None, 0


def _holes(w):
    """One cell in twenty is not known."""
    def f(x, kept):
        x = x.copy()
        x[np.random.default_rng(x.size).random(x.shape) < 0.05] = np.nan
        return x
    _each(w, f)


@change(of=_holes, varied=True)
def missing_cells(w, rng):
    """None, or pandas' nullable numbers."""
    import pandas
    nullable = w.shared and rng.integers(2)  # else names would join what has the same

    def f(x, kept):
        if not nullable:
            return np.where(np.isnan(x), None, x)
        return pandas.DataFrame(x, columns=[f"c{j}" for j in range(x.shape[1])]).astype("Float64")
    _each(w, f)
    return None, 0


@change(itself=True)
def rows_doubled(w, rng):
    """Every row of every domain is there twice: both get the same answer."""
    if w.ratings or w.goal == "embed":
        raise NotHere
    for d in w.domains:
        d["views"] = {v: np.vstack([x, x]) for v, x in d["views"].items()}
        d["y"] = d["y"] if d["y"] is None else np.concatenate([d["y"], d["y"]])
    w.graphs = {g: sp.block_diag([a, a]).tocsr() for g, a in w.graphs.items()}
    return None, 1e-6


def _two_sources(w):
    """The source in two parts."""
    if w.ratings or w.domains[0].get("role") is not Source or len(w.domains) < 2:
        raise NotHere
    s = w.domains.pop(0)
    for k in (1, 0):
        w.domains.insert(0, {"name": f"s{k}", "role": Source, "views": {v: x[k::2] for v, x in s["views"].items()}, "y": s["y"][k::2]})


@change(of=_two_sources, varied=True)
def names_of_domains(w, rng):
    """Sources and bridges by other names, in the same order."""
    for i, d in enumerate(w.domains[:-1]):
        d["name"] = ["zz", "a b", "s\u00e9", "1"][(i + rng.integers(4)) % 4] + str(i)
    return None, 0


@change(varied=True)
def order_of_views(w, rng):
    """Views of a domain in another order."""
    if w.ratings or max(len(d["views"]) for d in w.domains) < 2:
        raise NotHere
    for d in w.domains:
        d["views"] = dict(reversed(d["views"].items()))
    return None, 1e-6


@change(varied=True)
def order_of_labels(w, rng):
    """Columns of label sets."""
    if w.goal != "multilabel":
        raise NotHere
    order = rng.permutation(3)
    for d in w.domains:
        d["y"] = d["y"][:, order]
    return (lambda a: np.asarray(a)[:, np.argsort(order)]), 1e-6


@change(varied=True)
def types_of_labels(w, rng):
    """Label sets as numbers of any type, in Fortran order, as a data frame; numbers to predict likewise."""
    how = rng.integers(4)
    if w.goal not in ("multilabel", "regress"):
        raise NotHere
    import pandas
    for d in w.domains:
        y = d["y"]
        if how == 0:
            d["y"] = y.astype(np.float32)
        elif how == 1:
            d["y"] = np.asfortranarray(y)[:] if y.ndim == 2 else np.repeat(y, 2)[::2]
        elif how == 2:
            d["y"] = np.where(np.isnan(y), None, y)
        else:
            d["y"] = pandas.DataFrame(y, index=np.arange(len(y))[::-1]) if y.ndim == 2 else pandas.Series(y, index=np.arange(len(y))[::-1])
    return None, 0


@change(varied=True)
def containers_of_classes(w, rng):
    """A list, a Series whose index says something else, a Categorical with more categories, pandas' texts."""
    import pandas
    how = rng.integers(4)
    if w.goal == "embed":
        raise NotHere
    back, _ = _rename(w, {c: f"k{c}" for c in _classes(w)})
    for d in w.domains:
        y = d["y"]
        if y is None:
            continue
        if how == 0:
            d["y"] = y.tolist()
        elif how == 1:
            d["y"] = pandas.Series(y, index=np.random.default_rng(len(y)).permutation(len(y)))
        elif how == 2:
            d["y"] = pandas.Series(pandas.Categorical(y, categories=["none of them"] + [f"k{c}" for c in range(5)]))
        else:
            d["y"] = pandas.Series(y, dtype="string")
    return back, 0


@change(varied=True)
def types_of_graphs(w, rng):
    """CSC or COO, integers, truth values, float32, pairs of ids."""
    if not w.graphs:
        raise NotHere
    how = rng.integers(6)
    w.graphs = {g: [a.tocsc(), a.tocoo(), a.astype(np.int64), a.astype(bool), a.astype(np.float32), sp.csr_array(a)][how] for g, a in w.graphs.items()}
    return None, 0


@change(varied=True)
def unit_of_the_graph(w, rng):
    """Weights of edges in another unit."""
    if not w.graphs:
        raise NotHere
    by = 2.0 ** rng.integers(-30, 31)
    w.graphs = {g: a * by for g, a in w.graphs.items()}
    return None, 1e-6


@change(varied=True)
def what_graphs_leave_out(w, rng):
    """Edges of nodes with themselves, one direction of what goes both ways, zeros that are stored."""
    if not w.graphs:
        raise NotHere
    how = rng.integers(3)

    def f(a):
        if how == 0:
            return sp.csr_matrix(a + sp.eye(a.shape[0]))
        if how == 1:
            return sp.csr_matrix(sp.triu(a))
        c, more = a.tocoo(), rng.integers(0, a.shape[0], (2, 40))
        return sp.csr_matrix((np.append(c.data, np.zeros(40)), (np.append(c.row, more[0]), np.append(c.col, more[1]))), shape=a.shape)
    w.graphs = {g: f(a) for g, a in w.graphs.items()}
    return None, 1e-6


@change(varied=True)
def storage_of_ratings(w, rng):
    """Through a file and back."""
    if not w.ratings:
        raise NotHere
    form = ("csv", "tsv", "dat", "fdata")[rng.integers(4)]
    for i, (u, j, v) in enumerate(w.ratings):
        with tempfile.TemporaryDirectory(prefix="ferryml-") as folder:
            path, sep = f"{folder}/r.{form}", {"tsv": "\t", "dat": "::"}.get(form, ",")
            plain = path if form != "fdata" else f"{folder}/plain.csv"
            with open(plain, "w") as f:
                f.writelines(f"{a}{sep}{b}{sep}{c!r}\n" for a, b, c in zip(u.tolist(), j.tolist(), v.tolist()))
            if form == "fdata":
                subprocess.run([support.FERRY, "convert", plain, path, "--set", "format=ratings"], check=True, capture_output=True)
            got = ferryml.read(path, **({} if form == "fdata" else {"format": "ratings"}))
        w.ratings[i] = tuple(np.asarray(part) for part in got.ratings)
    return None, 0


# ---- cases ----

def made(method, seed):
    """The world of a method's case."""
    kind, goal, name = methods()[method]
    w = WORLDS[name](goal if goal != "embed" else "classify", seed)
    w.goal = goal
    for d in w.domains if not w.ratings else ():  # few digits: units of 2^k and offsets up to 2^40 are exact
        d["views"] = {v: np.round(x * 64) / 64 for v, x in d["views"].items()}
        if goal == "regress":
            d["y"] = np.round(d["y"] * 64) / 64
    if w.ratings:
        n = len(w.ratings[1][0])
        w.known, w.asked = np.arange(n) < 0.75 * n, np.arange(n)
    return w


_plain = {}


def _plain_answer(method, seed, of):
    key = (method, seed, of)
    if key not in _plain:
        if len(_plain) > 5000:
            _plain.clear()
        w = made(method, seed)
        if of:
            of(w)
        _plain[key] = answer(methods()[method][0], w)
    return _plain[key]


def _halves(a):
    n = len(a[0]) // 2
    return [(a[0][part], None if a[1] is None else a[1][part]) for part in (slice(n), slice(n, None))]


def case(method, what, seed):
    """None: the same, or a warning said why not; "-": there is no such case; else how they differ."""
    kind, goal, _ = methods()[method]
    f = CHANGES[what]
    w = made(method, seed)
    try:
        if f.of:
            f.of(w)
        back, tol = f(w, np.random.default_rng([seed, len(what)] + ([zlib.crc32(method.encode())] if f.varied else [])))
        a, warned = _plain_answer(method, seed, f.of) if not f.itself else (None, ())
    except (NotHere, ferryml.FerryNeedsError):
        return "-"
    try:
        b, said = answer(kind, w)
    except ferryml.FerryNeedsError:
        return None  # which says what it needs
    except ferryml.FerryNumericError as e:
        if "scale='standard'" not in str(e):
            return f"FerryNumericError: {str(e)[:150]}"
        return None  # which says what to do
    except Exception as e:
        return f"{type(e).__name__}: {str(e)[:150]}"
    if f.itself:
        a, b = _halves(b)
    if back:
        b = (back(b[0]), b[1])
    why = differs(goal, a, b, tol, np.nanstd(made(method, seed).target["y"]) if goal == "regress" else None)
    new = {str(x.message) for x in said} - {str(x.message) for x in warned}
    return None if why and new else why


# ---- what fails today ----

def known():
    """{(method, change): (seeds of which at least one fails, why)} of same_known.txt."""
    out = {}
    with open(os.path.join(support.HERE, "same_known.txt"), encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                method, what, seeds, why = (part.strip() for part in line.split(":", 3))
                out[method, what] = ([int(s) for s in seeds.split()], why)
    return out


def mended(pairs):
    """Those known failures whose cases are all the same now."""
    return [pair for pair, (seeds, _) in sorted(pairs.items()) if not any(case(*pair, s) for s in seeds)]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--cases", type=int, default=1000)
    p.add_argument("--seed", type=int, default=None)
    p.add_argument("--only", default="")
    p.add_argument("--change", default="")
    p.add_argument("--all", action="store_true")
    o = p.parse_args()
    seed = o.seed if o.seed is not None else int(time.time())
    rng = np.random.default_rng(seed)
    pairs = [(m, c) for m in methods() if o.only in ("", m) for c in CHANGES if o.change in ("", c)]
    ran, failed, expected = {}, {}, known()
    n = 0
    while n < o.cases:
        for m, c in pairs:
            s = int(rng.integers(1, 10**6))
            why = case(m, c, s)
            if why == "-":
                continue
            n += 1
            ran[m, c] = ran.get((m, c), 0) + 1
            if why:
                failed.setdefault((m, c), []).append((s, why))
                if o.all:
                    print(f"{m}: {c}: {s}: {why}", flush=True)
    bad = 0
    for pair, cases in sorted(failed.items()):
        bad += pair not in expected
        print(f"{'known ' if pair in expected else 'FAILED'} {': '.join(pair)}: {len(cases)} of {ran[pair]}, seed {cases[0][0]}: {cases[0][1]}")
    for pair in mended({k: v for k, v in expected.items() if k in ran}):
        bad += 1
        print(f"PASSES {': '.join(pair)}: take it off same_known.txt")
    print(f"{n} cases of {len(ran)} pairs, seed {seed}: {sum(map(len, failed.values()))} differ, {bad} pairs are not as known")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
