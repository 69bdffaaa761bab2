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
CONSTANT = {"majority", "label-prior", "mean", "kmeans-hop"}  # do not look at the features, or at no label: poor scores
BITS = {"classify": _abi.FERRY_CLASSIFY, "regress": _abi.FERRY_REGRESS, "multilabel": _abi.FERRY_MULTILABEL,
        "rate": _abi.FERRY_RATE, "embed": _abi.FERRY_EMBED, "stream": _abi.FERRY_STREAM}
COMMON = [("sources", "list | None", "None", "what to learn from beside the target, where fit() is not given it"),
          ("unlabelled", "object", "None", "a value of y that means: not known, beside NaN and None"),
          ("random_state", "int | None", "None", "seed; None: 1, as the command"),
          ("n_jobs", "int | None", "None", "threads; None: OMP_NUM_THREADS or all cores"),
          ("verbose", "bool", "False", "show a progress bar, if tqdm is there")]


def value_of(option):
    """(Python type, default) of an option."""
    default, kind = text(getattr(option, "def")), option.type
    if kind == _abi.FERRY_OPT_INT:
        return "int", repr(int(float(default)))
    if kind == _abi.FERRY_OPT_REAL:
        return "float", repr(float(default))
    if kind == _abi.FERRY_OPT_BOOL:
        return "bool", repr(default == "yes")
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


def docs(method, options):
    lines = [text(method.summary)[0].upper() + text(method.summary)[1:] + ".", ""]
    needs = text(method.needs)
    if needs:
        lines += textwrap.wrap(f"Needs {needs}.", 115) + [""]
    lines += ["Parameters", "----------"]
    for name, _, kind, default, span, help_text in options:
        lines.append(f"{name} : {kind}, default {default}")
        lines += textwrap.wrap(f"{help_text[0].upper()}{help_text[1:]}." + (f" Values: {span}." if span else ""), 111,
                               initial_indent="    ", subsequent_indent="    ")
    for name, kind, default, help_text in COMMON:
        lines += [f"{name} : {kind}, default {default}", f"    {help_text[0].upper()}{help_text[1:]}."]
    if text(method.reference):
        lines += ["", "References", "----------"] + textwrap.wrap(text(method.reference) + ".", 115)
    return lines


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
    out = [f"class {name}{suffix}({', '.join(bases)}):"]
    lines = docs(method, options)
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
    head += ("from ._base import FerryClassifier, FerryRater, FerryRegressor, FerryTransformer, _Proba, _Stream\n\n")
    head += "__all__ = [\n" + "\n".join(packed([f'"{n}"' for n in names], 4)) + "\n]\n"
    return head + "\n\n" + "\n\n".join(classes)
