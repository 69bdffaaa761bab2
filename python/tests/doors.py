"""One contract for every door: the same task, sent through Python, C, the command, the server and MPI, has the same answers.

A task is plain data: domains with views, labels, graphs or ratings, by id. Shapes make one for a method (those of same.py), turns
put into it what real data has: rows that a view lacks, missing cells, negative values, classes that nobody has labelled, ids that
come twice, other orders, other names. Every door writes the task in its own way (Python objects; files and a task file), fits,
and answers the same questions. Answers are compared by id with those of Python: all equal, or all refuse with one sentence.

    python3 -B python/tests/doors.py [--seeds N] [--only METHOD] [--turn TURN] [--mpi SHARE]

runs all cases of N seeds; test_doors.py runs a slice in CI. A case is one method on one task through one door beside Python.
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import warnings
from ctypes import POINTER, byref, c_void_p

os.environ.setdefault("OMP_NUM_THREADS", "1")  # many tiny fits
import support
import numpy as np
import same
from ferryml import Bridge, Domain, Source, _abi, _base, _data, _lib
from ferryml._lib import lib

ROLES = {Source: "source", Bridge: "intermediate", None: "target"}


# ---- tasks ----

class View:
    """Rows by id (None: they have none) and columns, which may have names."""

    def __init__(self, x, ids=None, names=None):
        self.x, self.ids, self.names = np.ascontiguousarray(x, dtype=np.float64), ids, names

    def rows(self, at):
        return View(self.x[at], None if self.ids is None else [self.ids[i] for i in at], self.names)


class Part:
    """A domain: y by instance, None where hidden; ids of the instances, None: rows of the views."""

    def __init__(self, name, role, views, y, ids, graphs=None, ratings=None):
        self.name, self.role, self.views, self.y, self.ids = name, role, views, y, ids
        self.graphs, self.ratings = graphs or {}, ratings

    @property
    def n(self):
        return len(self.ids) if self.ids is not None else len(next(iter(self.views.values())).x)


class Case:
    """parts: sources and bridges, then the target; shared: the first source has the target's columns; asked: what to answer."""

    def __init__(self, method, seed):
        self.method = method
        self.kind, self.goal, shape = same.methods()[method]
        w = same.made(method, seed)
        self.rng = np.random.default_rng([seed, 5])
        self.shared, self.parts, self.asked, self.used = w.shared, [], None, None
        if w.ratings:
            (us, js, vs), (u, j, v) = w.ratings
            texts = lambda a: [str(i) for i in a.tolist()]
            self.parts = [Part("s", Source, {}, None, None, ratings=(texts(us), texts(js), vs.tolist())),
                          Part("target", None, {}, None, None, ratings=(texts(u[w.known]), texts(j[w.known]), v[w.known].tolist()))]
            self.asked = Part("new", None, {}, None, None, ratings=(texts(u), texts(j), [None] * len(u)))
            return
        for d in w.domains:
            n = len(next(iter(d["views"].values())))
            ids = [f"{d['name']}{i}" for i in range(n)]
            y = d["y"]
            if y is not None:
                y = [None if v is None or np.ndim(v) == 0 and v != v or np.ndim(v) and np.isnan(v).any() else v for v in y]
                if self.goal in ("classify", "embed", "stream"):
                    y = [None if v is None else f"c{v}" for v in y]
            role = d.get("role")
            self.parts.append(Part(d["name"], role, {v: View(x, ids) for v, x in d["views"].items()}, y, ids,
                                   {g: [(ids[i], ids[j]) for i, j in zip(*a.nonzero()) if i < j] for g, a in w.graphs.items()} if role is None else None))
        t = self.target
        self.asked = Part("new", None, dict(t.views), None, t.ids, dict(t.graphs))

    @property
    def target(self):
        return self.parts[-1]


class NotHere(Exception):
    """The turn makes no sense in this task."""


TURNS = {}


def turn(f):
    TURNS[f.__name__.replace("_", " ")] = f
    return f


def _views(c):
    if not c.target.views:
        raise NotHere
    return [(p, v) for p in c.parts + [c.asked] for v in p.views]


@turn
def plain(c):
    """As it is."""


@turn
def without_ids(c):
    """Rows have no ids; the questions are new rows."""
    if c.target.ratings or c.target.graphs:
        raise NotHere
    for p in c.parts + [c.asked]:
        p.ids = None
        p.views = {k: View(v.x, None, v.names) for k, v in p.views.items()}
    c.asked.views = {k: View(v.x[::-1] + 0.25, None, v.names) for k, v in c.asked.views.items()}


@turn
def new_rows(c):
    """The questions are about instances that the fit has not seen."""
    _views(c)
    if c.target.graphs:
        raise NotHere
    ids = [f"q{i}" for i in range(c.target.n)]
    c.asked.views, c.asked.ids = {k: View(v.x[::-1] + 0.25, ids) for k, v in c.asked.views.items()}, ids


@turn
def graph_only(c):
    if not c.target.graphs:
        raise NotHere
    c.target.views, c.asked.views = {}, {}


@turn
def view_and_graph(c):
    """One view beside the graph."""
    if not c.target.graphs:
        raise NotHere
    first = next(iter(c.target.views))
    for p in (c.target, c.asked):
        p.views = {first: p.views[first]}


@turn
def missing_rows(c):
    """Each view lacks some instances; where there are several, of each instance one view is there."""
    _views(c)
    p = c.target
    if len(p.views) == 1 and not p.graphs:
        raise NotHere
    gone = c.rng.permutation(p.n)[:p.n // 4]
    for k, name in enumerate(list(p.views)):
        keep = [i for i in range(p.n) if i not in set(gone[k::len(p.views) if len(p.views) > 1 else 2].tolist())]
        for d in (c.target, c.asked):
            d.views[name] = d.views[name].rows(keep)


@turn
def missing_cells(c):
    for p, v in _views(c):
        x = p.views[v].x.copy()
        x[np.random.default_rng([len(p.name), len(x)]).random(x.shape) < 0.1] = np.nan
        p.views[v] = View(x, p.views[v].ids, p.views[v].names)


@turn
def negative_values(c):
    for p, v in _views(c):
        p.views[v] = View(p.views[v].x - 3, p.views[v].ids, p.views[v].names)


@turn
def positive_values(c):
    for p, v in _views(c):
        p.views[v] = View(np.abs(p.views[v].x), p.views[v].ids, p.views[v].names)


@turn
def unseen_class(c):
    """No row of the target shows one of the source's classes."""
    y = c.target.y
    if c.goal != "classify" or len({v for v in y if v is not None}) < 3 or len(c.parts) < 2:
        raise NotHere
    last = max(v for v in y if v is not None)
    c.target.y = [None if v == last else v for v in y]


@turn
def ids_twice(c):
    """An id that stands twice: nobody may guess which row it is."""
    _views(c)
    p = c.target
    p.ids = p.ids[:-1] + p.ids[:1]
    for v in p.views.values():
        v.ids = p.ids
    p.graphs = {}


@turn
def orders(c):
    """Rows of every view in an order of their own, and the questions in another."""
    _views(c)
    for p in c.parts + [c.asked]:
        if p.ratings:
            continue
        p.views = {k: v.rows(c.rng.permutation(len(v.x)).tolist()) for k, v in p.views.items()}
        if issubclass(c.kind, _base._Stream) and p.y is not None:  # rows are learned as they come: a file's order is the stream's
            label = dict(zip(p.ids, p.y))
            p.ids = next(iter(p.views.values())).ids
            p.y = [label[i] for i in p.ids]


@turn
def named_columns(c):
    """Columns have names, and the questions have them in another order."""
    for p, v in _views(c):
        p.views[v].names = [f"{'t' if c.shared else v}{j}" for j in range(p.views[v].x.shape[1])]
    for k, v in c.asked.views.items():
        at = c.rng.permutation(v.x.shape[1])
        c.asked.views[k] = View(v.x[:, at], v.ids, [v.names[j] for j in at])


@turn
def renamed_classes(c):
    """Names that are numbers to some and texts to others."""
    if c.goal not in ("classify", "embed"):
        raise NotHere
    found = sorted({v for p in c.parts for v in p.y or () if v is not None})
    names = dict(zip(found, ["10", "9", "1.0", "x y"]))
    for p in c.parts:
        p.y = None if p.y is None else [None if v is None else names[v] for v in p.y]


@turn
def strange_ids(c):
    """Ids with commas, quotes, blanks and signs of other alphabets."""
    if c.target.ratings:
        raise NotHere
    odd = lambda i: None if i is None else [f'{k}, "gr\u00fcn" #{k[-1]}' for k in i]
    for p in c.parts + [c.asked]:
        p.ids = odd(p.ids)
        for v in p.views.values():
            v.ids = odd(v.ids)
        p.graphs = {g: [(odd([a])[0], odd([b])[0]) for a, b in e] for g, e in p.graphs.items()}


@turn
def no_labels_here(c):
    """The target shows no label at all."""
    if c.target.y is None:
        raise NotHere
    c.target.y = [None] * len(c.target.y)


def made(method, what, seed):
    c = Case(method, seed)
    for p in c.parts + [c.asked]:  # views are changed in place
        p.views = {k: View(v.x, v.ids, v.names) for k, v in p.views.items()}
    TURNS[what](c)
    return c


# ---- answers: {id: class, number, tuple of 0 and 1, or place} ----

class Refused(Exception):
    pass


def _say(e):
    text = str(e)
    if "\n" in text or not text:
        raise AssertionError(f"not one sentence: {text!r}")
    return Refused(text)


def _python_domain(c, p, role):
    if p.ratings:
        u, j, v = p.ratings
        return role(ratings=(u, j, [np.nan if x is None else x for x in v]), name=p.name)
    views = {}
    for k, v in p.views.items():
        x = _data.Named(v.x, v.names) if v.names else v.x
        views[k] = x if v.ids is None or p.ids is None else (v.ids, x)
    graphs = {g: ([a for a, _ in e], [b for _, b in e]) for g, e in p.graphs.items()}
    more = {"same_as": {next(iter(views)): f"target.{next(iter(c.target.views))}"}} if role is Source and c.shared and views and c.target.views else {}
    return role(views=views or None, graphs=graphs or None, ids=p.ids, name=p.name, **more)


def _python_labels(c, p):
    if p.y is None:
        return None
    if c.goal == "regress":
        return np.array([np.nan if v is None else v for v in p.y])
    if c.goal == "multilabel":
        m = next((len(v) for q in c.parts for v in q.y or () if v is not None), 1)
        return np.array([np.full(m, np.nan) if v is None else v for v in p.y])
    y = np.empty(len(p.y), object)
    y[:] = p.y
    return y


def by_python(c):
    model = c.kind()
    if isinstance(model, _base.FerryTransformer) and "d" in model.get_params():
        model.set_params(d=2)
    _lib._local.context = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sources = []
            for p in c.parts[:-1]:
                d = _python_domain(c, p, p.role)
                d.y = _python_labels(c, p)
                sources.append(d)
            if c.target.ratings:
                u, j, v = c.target.ratings
                model.fit(list(zip(u, j)), v, sources=sources)
                au, aj, _ = c.asked.ratings
                return dict(zip(zip(au, aj), model.predict(list(zip(au, aj)))))
            model.fit(_python_domain(c, c.target, Domain), _python_labels(c, c.target), sources=sources)
            asked = _python_domain(c, c.asked, Domain)
            got = model.transform(asked) if c.goal == "embed" else model.predict(asked)
            ids = c.asked.ids or [str(i + 1) for i in range(c.asked.n)]
            if "server" in doors(c):
                k, v = next(iter(c.asked.views.items()))
                new = [f"?{i}" for i in range(len(v.x))]
                fresh = _python_domain(c, Part("new", None, {k: View(v.x, new, v.names)}, None, new), Domain)
                c.fresh = dict(zip(v.ids or ids, model.predict(fresh)))
    except (ValueError, _lib.FerryError) as e:
        raise _say(e) from None
    return {i: tuple(v) if np.ndim(v) else v for i, v in zip(ids, got)}


# ---- as files ----

def _write_view(folder, name, v):
    """(file, reader options) of a view: CSV where its columns have names, else arrays."""
    if v.names:
        path = os.path.join(folder, name + ".csv")
        with open(path, "w", encoding="utf-8", newline="") as f:
            out = csv.writer(f)
            out.writerow(([] if v.ids is None else ["id"]) + v.names)
            for i, row in enumerate(v.x.tolist()):
                out.writerow(([] if v.ids is None else [v.ids[i]]) + ["" if x != x else repr(x) for x in row])
        return path, ", label: none, id: " + ("none" if v.ids is None else "id")
    if v.ids is None:
        path = os.path.join(folder, name + ".npy")
        np.save(path, v.x)
    else:
        path = os.path.join(folder, name + ".npz")
        np.savez(path, x=v.x, ids=np.array(v.ids))
    return path, ""


def _write_edges(path, edges):
    with open(path, "w", encoding="utf-8", newline="") as f:
        csv.writer(f).writerows([("from", "to"), *edges])
    return path


def _write_labels(path, c, p):
    with open(path, "w", encoding="utf-8", newline="") as f:
        out = csv.writer(f, quoting=csv.QUOTE_MINIMAL)
        first = [] if p.ids is None else ["id"]
        m = next((len(v) for q in c.parts for v in q.y or () if v is not None), 1) if c.goal == "multilabel" else 0
        out.writerow(first + ([f"label:{k}" for k in range(m)] if m else ["label"]))
        for i, v in enumerate(p.y):
            cells = [""] * (m or 1) if v is None else [str(int(k)) for k in v] if m else [repr(float(v))] if c.goal == "regress" else [v]
            out.writerow(([] if p.ids is None else [p.ids[i]]) + cells)


def _write_ratings(path, r):
    with open(path, "w", encoding="utf-8", newline="") as f:
        csv.writer(f).writerows([("user", "item") + (() if r[2][0] is None else ("rating",)),
                                 *((u, i) + (() if v is None else (repr(v),)) for u, i, v in zip(*r))])


def as_files(c, folder):
    """The path of a task file."""
    lines = ["task: doors", f"goal: {c.goal}", "domains:"]
    for p in c.parts:
        lines += [f"  - name: {p.name}", f"    role: {ROLES[p.role]}"]
        if p.ratings:
            _write_ratings(os.path.join(folder, p.name + ".csv"), p.ratings)
            lines.append(f"    ratings: {p.name}.csv")
        if p.views:
            lines.append("    views:")
        for k, v in p.views.items():
            path, how = _write_view(folder, f"{p.name}-{k}", v)
            link = f", same_as: target.{next(iter(c.target.views))}" if p.role is Source and c.shared and c.target.views else ""
            lines.append(f"      - {{name: {k}, x: {os.path.basename(path)}{how}{link}}}")
        if p.graphs:
            lines.append("    graphs:")
            lines += [f"      - {{name: {g}, edges: {os.path.basename(_write_edges(os.path.join(folder, f'{p.name}-{g}.csv'), e))}}}"
                      for g, e in p.graphs.items()]
        if p.y is not None and (any(v is not None for v in p.y) or p.role is None and p.graphs):
            _write_labels(os.path.join(folder, f"{p.name}-labels.csv"), c, p)
            lines.append(f"    y: {p.name}-labels.csv")
        if p.role is None and (p.ratings or p.y is not None and any(v is not None for v in p.y)):
            lines.append("    labelled: 1.0")
    method, options = _method(c)
    if options:
        lines.append(f"methods: [{{{method}: {{{', '.join(f'{k}: {v}' for k, v in options)}}}}}]")
    path = os.path.join(folder, "task.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    return path


def _graphs(c):
    """Those that the model uses: Python passes others over, elsewhere they are refused by name."""
    return {g: e for g, e in c.asked.graphs.items() if c.used is None or g in c.used}


def _asked_files(c, folder):
    """Arguments of ferry predict."""
    if c.asked.ratings:
        _write_ratings(os.path.join(folder, "asked.csv"), c.asked.ratings)
        return ["asked.csv"], []
    out, more = [], []
    for k, v in c.asked.views.items():
        path, how = _write_view(folder, f"asked-{k}", v)
        out.append(f"{k}=" + os.path.basename(path))
        if how and not more:
            more = ["--set", "label=none"]
    for g, e in _graphs(c).items():
        out.append(f"{g}=" + os.path.basename(_write_edges(os.path.join(folder, f"asked-{g}.csv"), e)))
    return out, more


def _read_answers(c, path):
    with open(path, encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f))
    if c.goal == "rate":
        return {(r["user"], r["item"]): float(r["value"]) for r in rows}
    if c.goal == "embed":
        names = [k for k in rows[0] if k != "id"]
        return {r["id"]: tuple(float(r[k]) for k in names) for r in rows}
    if c.goal == "multilabel":
        names = [k for k in rows[0] if k != "id" and not k.startswith("score.")]
        return {r["id"]: {k for k in names if r[k] == "1"} for r in rows}
    return {r["id"]: float(r["prediction"]) if c.goal == "regress" and r["prediction"] else r["prediction"] for r in rows}


def _method(c):
    return c.kind._method, [("d", "2")] if issubclass(c.kind, _base.FerryTransformer) and any(o == "d" for _, o, _ in c.kind._options) else []


# ---- the command ----

def _run(words, folder):
    """Standard output; a refusal is one line "ferry: ..."."""
    r = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
    if r.returncode == 0:
        return r.stdout
    lines = list(dict.fromkeys(s for s in r.stderr.splitlines() if s.startswith("ferry: ")))  # ranks say the same
    lines = [s for s in lines if not s.startswith(("ferry: warning", "ferry: note"))]
    if r.returncode != 2 or len(lines) != 1 or "Traceback" in r.stderr:
        raise AssertionError(f"exit {r.returncode}: {r.stderr[-300:]}")
    raise Refused(lines[0][7:])


def by_command(c, folder, before=()):
    task = as_files(c, folder)
    _run([*before, support.FERRY, "fit", task, "-m", _method(c)[0], "-o", "model.ferry", "-q", "--threads", "1",
          *(["--engine", "mpi"] if before else [])], folder)
    files, more = _asked_files(c, folder)
    _run([support.FERRY, "predict", "model.ferry", *files, "-o", "answers.csv", "-q", "--threads", "1", *more], folder)
    return _read_answers(c, os.path.join(folder, "answers.csv"))


# ---- C ----

def by_c(c, folder):
    """As a C program would: load the task, fit, save, load, read the new data, predict, write."""
    task_path = as_files(c, folder)
    method, options = _method(c)
    _lib._local.context = None
    ctx = _lib.context(1, 1)
    task, model, again, domain, found = c_void_p(), c_void_p(), c_void_p(), c_void_p(), POINTER(_abi.ferry_prediction)()
    path = os.path.join(folder, "c.ferry").encode()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ctx.call(lib.ferry_task_load, task_path.encode(), None, byref(task))
            with ctx.options(dict(options)) as opts:
                ctx.call(lib.ferry_fit, task, method.encode(), opts, byref(model), None)
            ctx.call(lib.ferry_model_save, model, path)
            ctx.call(lib.ferry_model_load, path, None, byref(again))
            ctx.call(lib.ferry_domain_new, b"new", _abi.FERRY_TARGET, byref(domain))
            c.used = []
            while lib.ferry_model_graph_at(again, len(c.used)):
                c.used.append(lib.ferry_model_graph_at(again, len(c.used)).decode())
            files, more = _asked_files(c, folder)
            views, graphs = list(c.asked.views), list(_graphs(c))
            for k, name in enumerate(views + graphs if not c.asked.ratings else ["ratings"]):
                at = os.path.join(folder, files[k].split("=", 1)[-1]).encode()
                if name in graphs:
                    ctx.call(lib.ferry_model_read_graph, again, name.encode(), at, None, domain)
                    continue
                data = c_void_p()
                with ctx.options({"label": "none"} if more else {} if not c.asked.ratings else {"format": "ratings"}) as opts:
                    if c.asked.ratings:
                        ctx.call(lib.ferry_read, at, opts, byref(data))
                    else:
                        ctx.call(lib.ferry_model_read_view, again, name.encode(), at, opts, byref(data))
                try:
                    ctx.call(lib.ferry_domain_add_data, domain, name.encode(), data)
                finally:
                    lib.ferry_data_free(data)
            ctx.call(lib.ferry_predict, again, domain, byref(found))
            out = os.path.join(folder, "c-answers.csv")
            ctx.call(lib.ferry_prediction_write, found, out.encode())
        return _read_answers(c, out)
    except (ValueError, _lib.FerryError) as e:
        raise _say(e) from None
    finally:
        lib.ferry_prediction_free(found)
        lib.ferry_domain_free(domain)
        lib.ferry_model_free(again)
        lib.ferry_model_free(model)
        lib.ferry_task_free(task)


# ---- the server ----

def by_server(c, model):
    """A server of this one model, in this process, and a request with all rows."""
    ctx = _lib.context(1, 1)
    handle = c_void_p()
    with ctx.options({"listen": "127.0.0.1:0", "open": True}) as opts:
        ctx.call(lib.ferry_server_start, model.encode(), opts, byref(handle))
    try:
        where = lib.ferry_server_address(handle).decode()
        v = next(iter(c.asked.views.values()))
        ids = v.ids or [str(i + 1) for i in range(len(v.x))]
        rows = [[None if x != x else x for x in row] for row in v.x.tolist()]
        if v.names:  # by name, and as rows that nobody knows
            path, kind, body = "/invocations", "application/json", json.dumps({"dataframe_split": {"columns": v.names, "data": rows}})
        else:
            path, kind = "/predict", "application/x-ndjson"
            body = "\n".join(json.dumps({"id": i, "x": row} if v.ids else {"x": row}) for i, row in zip(ids, rows))
        r = urllib.request.Request(where + path, body.encode(), {"Content-Type": kind})
        try:
            with urllib.request.urlopen(r, timeout=60) as got:
                text = got.read().decode()
        except urllib.error.HTTPError as e:
            raise Refused(json.loads(e.read())["error"]) from None
        found = json.loads(text)["predictions"] if v.names else [json.loads(line) for line in text.splitlines()]
        bad = [a for a in found if isinstance(a, dict) and "error" in a]
        if bad:
            raise Refused(bad[0]["error"])
        found = [a["prediction"] if isinstance(a, dict) else a for a in found]
        return {i: set(y) if c.goal == "multilabel" else y for i, y in zip(ids, found)}
    finally:
        ctx.call(lib.ferry_server_stop, handle)


# ---- comparing ----

def _same_value(c, a, b, scale):
    if c.goal == "multilabel":
        return {str(k) for k, on in enumerate(a) if on} == {str(v) for v in b}
    if c.goal in ("regress", "rate"):
        return abs(float(a) - float(b)) <= 1e-6 * scale if a == a else b is None or b != b or b == ""
    return ("" if a is None else str(a)) == ("" if b is None else str(b))


def differs(c, a, b):
    """Why two doors' answers are not the same, or None."""
    if set(a) != set(b):
        odd = sorted(set(a) ^ set(b), key=str)
        return f"answers for other ids: {len(a)} and {len(b)}, such as {odd[0]!r}"
    if c.goal == "embed":
        x, y = (np.array([m[i] for i in a], dtype=float) for m in (a, b))
        off = np.abs(x @ x.T - y @ y.T).max() / max(np.abs(x @ x.T).max(), 1e-300)
        return f"places differ by {off:.1e}" if not off < 1e-6 else None
    scale = max(1e-300, np.nanmax([abs(float(v)) for v in a.values()])) if c.goal in ("regress", "rate") else 0
    bad = [i for i in a if not _same_value(c, a[i], b[i], scale)]
    return f"{len(bad)} of {len(a)} answers, such as {bad[0]!r}: {a[bad[0]]!r} and {b[bad[0]]!r}" if bad else None


def _try(f, *arguments):
    """(answers, None) or (None, the sentence)."""
    try:
        return f(*arguments), None
    except Refused as e:
        return None, str(e)


def doors(c):
    """Those that the task can go through beside Python."""
    out = ["c", "command"]
    if len(c.asked.views) == 1 and not c.asked.graphs and c.goal != "embed":
        out.append("server")
    return out


def case(method, what, seed, mpi=False):
    """{door: None (the same) or how it differs}; {}: there is no such case."""
    try:
        c = made(method, what, seed)
    except NotHere:
        return {}
    out = {}
    try:
        want, why = _try(by_python, c)
    except Exception as e:  # noqa: BLE001: whatever it is, it is no refusal
        return {"python": f"{type(e).__name__}: {str(e)[:200]}"}
    with tempfile.TemporaryDirectory(prefix="doors-") as folder:
        for door in doors(c) + (["mpi"] if mpi else []):
            try:
                if door == "c":
                    got, refused = _try(by_c, c, folder)
                elif door == "command":
                    got, refused = _try(by_command, c, folder)
                elif door == "mpi":
                    got, refused = _try(by_command, c, folder, mpi)
                elif os.path.exists(os.path.join(folder, "c.ferry")):
                    got, refused = _try(by_server, c, os.path.join(folder, "c.ferry"))
                else:
                    continue  # there is no model to serve
            except Exception as e:  # noqa: BLE001
                out[door] = f"{type(e).__name__}: {str(e)[:200]}"
                continue
            if door == "mpi" and refused and "engine mpi" in refused:
                continue  # a method that does not spread its rows
            if (why is None) != (refused is None):
                out[door] = f"python: {why or 'answers'}; {door}: {refused or 'answers'}"
            else:
                # a server takes every row for a new one, whatever its id: some methods know the rows of their fit
                out[door] = differs(c, c.fresh if door == "server" else want, got) if why is None else None
    return out


def launcher():
    """How two ranks are started; None: they cannot be."""
    import shutil
    if not shutil.which("mpirun") or not os.path.exists(os.path.join(os.path.dirname(support.FERRY), "libferry_mpi.so")):
        return None
    os.environ.update({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                       "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_MCA_btl": "self,vader,tcp",
                       "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_orte_tmpdir_base": "/tmp", "OMPI_MCA_plm_rsh_agent": "sh"})
    return ["mpirun", "-n", "2"]


def slice_of(seed, share):
    """(method, turn, how two ranks are started or False) of all cases; share of them that are sent to ranks."""
    ranks = launcher() if share else None
    for m in same.methods():
        for t in TURNS:
            yield m, t, ranks if ranks and np.random.default_rng([seed, *map(ord, m + t)]).random() < share else False


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seeds", type=int, default=1)
    p.add_argument("--first", type=int, default=1)
    p.add_argument("--only", default="")
    p.add_argument("--turn", default="")
    p.add_argument("--mpi", type=float, default=0, help="share of the cases that are sent to two ranks, too")
    o = p.parse_args()
    ran, bad, by = 0, 0, {}
    for seed in range(o.first, o.first + o.seeds):
        for m, t, ranks in slice_of(seed, o.mpi):
            if o.only not in ("", m, m.split("/")[0]) or o.turn not in ("", t):
                continue
            for door, why in case(m, t, seed, ranks).items():
                ran += 1
                by[door] = by.get(door, 0) + 1
                if why:
                    bad += 1
                    print(f"{m}: {t}: {door}: {seed}: {why}", flush=True)
    print(f"{ran} cases ({', '.join(f'{k} {n}' for k, n in by.items())}), {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
