"""The source text of ferryml/_methods.py: a class for each method of the library and each kind of estimator that it is."""
import keyword
import textwrap

from ferryml import _abi
from ferryml._lib import lib, listed, new_text, text

# Names as the papers write them; others are the method's words in capitals.
NAMES = {"cbt": "CBT", "cca": "CCA", "cdls": "CDLS", "cdspp": "CDSPP", "coca": "CoCA", "coot": "COOT", "cotransfer": "CoTransfer", "fgw": "FGW", "gbc": "GBC", "gbdt": "GBDT",
         "gbdt-average": "GBDTAverage", "hemap": "HeMap", "hetomtl": "HetOMTL", "htlic": "HTLIC", "ica": "ICA",
         "kcca": "KCCA", "kmeans-hop": "KMeansHop", "knn": "KNN", "latentmap": "LatentMap", "lift": "LIFT", "logreg": "LogReg", "mf": "MF",
         "mindtl": "MINDTL", "mmdt": "MMDT", "mmltl": "MMLTL", "mpa": "MPA", "omtlmc": "OMTLMC", "pca-joined": "PCAJoined",
         "ranksvm": "RankSVM", "semi-gbdt": "SemiGBDT", "semi-svm": "SemiSVM", "sgc": "SGC", "smltl": "SMLTL", "svm": "SVM",
         "online-logreg": "OnlineLogReg", "talmud": "TALMUD", "ttl": "TTL"}
LEFT_OUT = {"command", "predictions"}  # what others answer: compare() uses it for their estimators
# What is fitted when there is no source, by goal.
ALONE = {"classify": "logreg", "regress": "ridge", "multilabel": "ranksvm", "rate": "mf", "embed": "pca-joined"}
OF_STREAMS = "mpa"
# Scores are probabilities (tests/test_estimators.py checks that they add up).
PROBABILITIES = {"cca", "coot", "extra-trees", "fgw", "gbc", "gbc-paper", "gbdt", "gbdt-average", "gibbs", "hemap", "hemap-paper", "hop", "htlic", "ica",
                 "kcca", "kernel-bridge", "knn", "label-propagation", "latentmap", "logreg", "majority", "place", "semi-gbdt", "sgc",
                 "triplex", "ttl", "ttl-paper"}
WEIGHTED = {"chains", "extra-trees", "gbdt", "knn", "logreg", "ridge", "svm"}  # rows may have weights (likewise)
CONSTANT = {"majority", "label-prior", "mean", "kmeans-hop"}  # do not look at the features, or at no label: poor scores
BITS = {"classify": _abi.FERRY_CLASSIFY, "regress": _abi.FERRY_REGRESS, "multilabel": _abi.FERRY_MULTILABEL,
        "rate": _abi.FERRY_RATE, "embed": _abi.FERRY_EMBED, "stream": _abi.FERRY_STREAM}
COMMON = [("sources", "Sources | None", "None", "what to learn from beside the target, where fit() is not given it"),
          ("unlabelled", "object", "None", "a value of y that means: not known, beside NaN and None"),
          ("random_state", "Seed", "None", "seed; None: 1, as the command"),
          ("n_jobs", "int | None", "None", "threads; None: OMP_NUM_THREADS or all cores"),
          ("verbose", "bool", "False", "show a progress bar, if tqdm is there")]


DOCUMENTED = {"Sources | None": "list of Source and Bridge, or None", "Seed": "int or None", "int | None": "int or None"}


def value_of(option):
    """(Python type, default) of an option."""
    default, kind = text(getattr(option, "def")), option.type
    if kind == _abi.FERRY_OPT_INT:
        return "int", repr(int(float(default)))
    if kind == _abi.FERRY_OPT_REAL:
        return "float", repr(float(default))
    if kind == _abi.FERRY_OPT_BOOL:
        return "bool", repr(default == "yes")
    if kind == _abi.FERRY_OPT_CHOICE:
        return "Literal[" + ", ".join(map(repr, new_text(lib.ferry_opt_range(option)).split(" | "))) + "]", repr(default)
    return "str", repr(default)


def options_of(method):
    out = []
    for at in listed(lib.ferry_opt_at, method.options):
        o = at.contents
        name = text(o.name).replace("-", "_")
        kind, default = value_of(o)
        address = lib.ferry_opt_range(o)
        out.append((name + "_" * keyword.iskeyword(name), text(o.name), kind, default, new_text(address), text(o.help)))
    return out


def class_name(name):
    if name.endswith("-paper"):
        return class_name(name.removesuffix("-paper")) + "Paper"
    return NAMES.get(name) or "".join(w.capitalize() for w in name.split("-"))


def kinds_of(goals):
    """(suffix, base class, goals) of the estimators that a method is."""
    out = []
    if goals & {"classify", "multilabel"}:
        out.append(("", "FerryClassifier", sorted(goals & {"classify", "multilabel"})))
    for goal, suffix, base in (("regress", "Regressor", "FerryRegressor"), ("rate", "Rater", "FerryRater"),
                               ("embed", "Transformer", "FerryTransformer")):
        if goal in goals:
            out.append((suffix if out else "", base, [goal]))
    return out


def docs(method, options, called, base):
    lines = [text(method.summary)[0].upper() + text(method.summary)[1:] + ".", ""]
    needs = text(method.needs)
    if needs:
        lines += textwrap.wrap(f"Needs {needs}.", 115) + [""]
    lines += ["Parameters", "----------"]
    for name, _, kind, default, span, help_text in options:
        lines.append(f"{name} : {'str' if kind.startswith('Literal') else kind}, default {default}")
        lines += textwrap.wrap(f"{help_text[0].upper()}{help_text[1:]}." + (f" Values: {span}." if span else ""), 111,
                               initial_indent="    ", subsequent_indent="    ")
    for name, kind, default, help_text in COMMON:
        lines += [f"{name} : {DOCUMENTED.get(kind, kind)}, default {default}", f"    {help_text[0].upper()}{help_text[1:]}."]
    if text(method.reference):
        lines += ["", "References", "----------"] + textwrap.wrap(text(method.reference) + ".", 115)
    return lines + ["", "Examples", "--------"] + example(method, called, base)


# ---- examples ----

IRIS = ["from sklearn.datasets import load_iris", "import ferryml", "X, y = load_iris(return_X_y=True)"]
OTHER = "old = ferryml.Source(X[::2, 2:], y[::2], name=\"old\")  # the same classes, other features"
SAME = "old = ferryml.Source(X[::2], y[::2], name=\"old\", columns=\"shared\")  # the same features"
BRIDGE = ["old = ferryml.Source(views={\"petal\": X[::3, 2:]}, y=y[::3], name=\"old\")",
          "both = ferryml.Bridge(views={\"petal\": X[1::3, 2:], \"sepal\": X[1::3, :2]}, name=\"both\")",
          "new = ferryml.Domain(views={\"sepal\": X[2::3, :2]})"]
VIEWS = {"gbc", "gbc-paper", "gbdt-average"}  # several views, where the target has no graph
FEW = ["import numpy as np", "few = np.where(np.arange(150) % 5 == 0, y, np.nan)  # of the others the label is not known"]
PARTLY = "few = np.where(np.arange(50) % 5 == 0, y[2::3], np.nan)  # of the others the label is not known"
PLACE = "few = np.where(y[2::3] < 2, y[2::3], np.nan)  # no label of the third class is known"
RATINGS = ["import numpy as np", "import ferryml", "pairs = np.array([(user, item) for user in range(20) for item in range(15)])",
           "stars = 3.0 + (pairs[:, 0] % 2) - (pairs[:, 1] % 3)"]


def checked(call, words):
    """The last line of an example: something that has to be so."""
    return [f"{call} {words}", None, "True"]


def example(method, name, base):
    """Lines of a short program that runs, by what the method needs: those that are asked for first."""
    needs, kind = text(method.needs) or "", text(method.name)
    new, more = f"ferryml.{name}()", ", sources=[old]" if needs.startswith(("source labels", "a source")) else ""
    stream = bool(method.goals & _abi.FERRY_STREAM)
    if base == "FerryRater":
        old = ["rows = np.arange(300) % 4 != 0"]
        if more:
            old.append("old = ferryml.Source(ratings=(pairs[:, 0], pairs[:, 1], stars), name=\"old\")  # their users, their items")
        out = RATINGS + old + [f"model = {new}.fit(pairs[rows], stars[rows]{more})", "bool(abs(model.predict(pairs[~rows]) - stars[~rows]).mean() < 1)", None, "True",
                               "[len(best) for best in model.recommend([3], n=2).values()]", None, "[2]"]
    elif base == "FerryTransformer":
        old = [OTHER] if "source" in needs else []
        more = ", sources=[old]" if old else ""
        out = IRIS + old + [f"{new[:-1]}{'d=2' if any(o[1] == 'd' for o in options_of(method)) else ''})"
                            f".fit(X[:, :2], y{more}).transform(X[:5, :2]).shape[0]", None, "5"]
    elif kind in CONSTANT:
        y = "y" if base != "FerryRegressor" else "X[:, 3]"
        out = IRIS + ([SAME] if more else []) + (["import numpy as np", "sets = np.eye(3)[y]"] if kind == "label-prior" else [])
        out += [f"{new}.fit(X, {'sets' if kind == 'label-prior' else y}{more}).predict(X).shape[0]", None, "150"]
    elif base == "FerryRegressor":
        if "graph" in needs or kind in VIEWS:
            out = near(kind) + [f"model = {new}.fit(flowers, np.where(np.arange(150) % 3 > 0, X[:, 3], np.nan))", *checked("model.score(flowers, X[:, 3])", "> 0.5")]
        else:
            of = "X[::2, :2], width[::2], name=\"old\"" if "one view" in needs else "X[::2], width[::2], name=\"old\", columns=\"shared\""
            out = IRIS + ["X, width = X[:, :3], X[:, 3]"] + [f"old = ferryml.Source({of})"] * bool(more)
            out += [f"model = {new}.fit(X[1::4], width[1::4]{more})", *checked("model.score(X[3::4], width[3::4])", "> 0.5")]
    elif stream:
        old = [OTHER.replace("[::2, 2:]", "[::2]")] if "source" in needs or kind == "hetomtl" else []
        out = IRIS + old + [f"model = {new}.fit(X[1::4], y[1::4]{', sources=[old]' if old else ''})", "model = model.partial_fit(X[3::4], y[3::4])",
                            *checked("model.score(X, y)", "> 0.6"), "model.learn_one(X[0], y[0]).predict_one(X[0]) in model.classes_", None, "True"]
    elif not method.goals & _abi.FERRY_CLASSIFY:
        old = [SAME.replace("y[::2]", "sets[::2]")] if more else []
        out = IRIS + ["import numpy as np", "sets = np.eye(3)[y]  # label sets as a 0/1 matrix"] + old
        out += [f"model = {new}.fit(X[1::4], sets[1::4]{more})", *checked("bool((model.predict(X[3::4]) == sets[3::4]).mean()", "> 0.6)")]
    elif "graph" in needs or kind in VIEWS:
        out = near(kind) + FEW[1:] + [f"model = {new}.fit(flowers, few)", *checked("model.score(flowers, y)", "> 0.6")]
    elif "an intermediate domain" in needs or kind in ("cca", "kcca", "place"):
        out = IRIS + ["import numpy as np"] + BRIDGE + [PLACE if kind == "place" else PARTLY, f"model = {new}.fit(new, few, sources=[old, both])",
                                 *checked("model.score(new, y[2::3])", "> 0.5")]
    elif more and ("one view" in needs):
        out = IRIS + [OTHER, f"model = {new}.fit(X[1::4, :2], y[1::4], sources=[old])", *checked("model.score(X[3::4, :2], y[3::4])", "> 0.5")]
    elif more:
        out = IRIS + [SAME, f"model = {new}.fit(X[1::4], y[1::4], sources=[old])", *checked("model.score(X[3::4], y[3::4])", "> 0.6")]
    elif needs.startswith("some target labels"):
        out = IRIS + FEW + [f"model = {new}.fit(X, few)", *checked("model.score(X, y)", "> 0.6")]
    else:
        out = IRIS + [f"model = {new}.fit(X[::2], y[::2])", *checked("model.score(X[1::2], y[1::2])", "> 0.8")]
    lines, plain = [], False
    for line in out:
        if line is not None:
            lines.append(line if plain else ">>> " + line)
        plain = line is None
    return lines


def near(kind):
    """Flowers with a graph, or with two views."""
    if kind in VIEWS:
        return IRIS + ["import numpy as np", "flowers = ferryml.Domain(views={\"sepal\": X[:, :2], \"petal\": X[:, 2:]})"]
    return IRIS + ["import numpy as np", "from sklearn.neighbors import kneighbors_graph",
                   "flowers = ferryml.Domain(X, graphs={\"near\": kneighbors_graph(X, 5)})"]


def packed(words, indent):
    """Lines of words with commas, none broken."""
    lines, line = [], ""
    for word in words:
        if line and indent + len(line) + len(word) > 113:
            lines.append(" " * indent + line.rstrip())
            line = ""
        line += word + ", "
    return lines + [" " * indent + line.rstrip()]


def write_class(method, name, suffix, base, goals):
    options = options_of(method)
    has = {g for g, b in BITS.items() if method.goals & b}
    bases = [base]
    if base == "FerryClassifier" and text(method.name) in PROBABILITIES:
        bases.insert(0, "_Proba")
    if base == "FerryClassifier" and "stream" in has:
        bases.insert(0, "_Stream")
    if text(method.name) in WEIGHTED:
        bases.insert(0, "_Weighted")
    out = [f"class {name}{suffix}({', '.join(bases)}):"]
    lines = docs(method, options, name + suffix, base)
    out += ['    """' + lines[0]] + [("    " + line).rstrip() for line in lines[1:]] + ['    """', ""]
    out += [f"    _method = {text(method.name)!r}", f"    _goals = {tuple(goals)!r}"]
    if base == "FerryClassifier":
        out.append(f"    _multilabel = {'multilabel' in goals}")
    if text(method.name) in CONSTANT:
        out.append("    _poor = True")
    if (text(method.needs) or "").startswith(("source labels", "a source")):
        alone = {g: OF_STREAMS if "stream" in has else ALONE[g] for g in goals}
        out.append(f"    _fallback = {alone!r}")
    out.append("    _options = (")
    out += [f"        ({n!r}, {o!r}, {d})," for n, o, _, d, _, _ in options] + ["    )", ""]
    out.append("    def __init__(self, *,")
    parameters = [f"{n}: {k} = {d}" for n, _, k, d, _, _ in options] + [f"{n}: {k} = {d}" for n, k, d, _ in COMMON]
    out += packed(parameters[:-1], 17) + [" " * 17 + parameters[-1] + ") -> None:"]
    out += [f"        self.{n} = {n}" for n in [o[0] for o in options] + [c[0] for c in COMMON]]
    return "\n".join(out) + "\n"


def source():
    names, classes = [], []
    for at in listed(lib.ferry_method_at):
        method = at.contents
        if text(method.name) in LEFT_OUT:
            continue
        has = {g for g, b in BITS.items() if method.goals & b}
        for suffix, base, goals in kinds_of(has):
            name = class_name(text(method.name))
            classes.append(write_class(method, name, suffix, base, goals))
            names.append(name + suffix)
    head = '"""The methods as estimators. Written by generate.py from the library\'s method table: do not edit."""\n'
    head += "from __future__ import annotations\n\n"
    head += "from typing import Literal\n\n"
    head += "from ._base import FerryClassifier, FerryRater, FerryRegressor, FerryTransformer, _Proba, _Stream, _Weighted\n"
    head += "from ._types import Seed, Sources\n\n"
    head += "__all__ = [\n" + "\n".join(packed([f'"{n}"' for n in names], 4)) + "\n]\n"
    return head + "\n\n" + "\n\n".join(classes)
