"""The Python API's pages, from the signatures and docstrings of python/ferryml, which are read and not run."""
import ast
import os
import re
import textwrap

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILES = ["_data", "_base", "_methods", "_compare", "_io", "_model", "_lib", "_links", "_pipeline"]
# Pages: file, title, what it says at its head, and the public names on it (None: every estimator).
PAGES = [("estimators", "Estimators", "One class for each method and goal, made from the method table. All have the methods of "
          "[their kind](base.md), such as `fit` and `predict`.", None),
         ("base", "What estimators have in common", "Every estimator is one of these kinds, and each option of its method is a parameter.",
          ["FerryEstimator", "FerryClassifier", "FerryRegressor", "FerryTransformer", "FerryRater", "_Stream", "_Proba"]),
         ("domains", "Sources, bridges, domains", "What goes into `sources=` and, for several views or graphs, into `fit`.", ["Source", "Bridge", "Domain", "Link"]),
         ("pipelines", "Pipelines that transform the sources", "Each step says what it sees: all domains together, each alone, or the target only.",
          ["make_transfer_pipeline", "shared", "per_domain", "target_only", "TransferPipeline", "Step"]),
         ("compare", "Does transfer help?", "Comparisons, advice before them, and the choice of a bridge.",
          ["compare", "Comparison", "load_results", "advise", "Advice", "select"]),
         ("files", "Files, data sets, models", "", ["read", "load", "datasets", "fetch", "doctor", "Model"]),
         ("errors", "Errors and warnings", "Every error is also one of Python's own.",
          ["FerryError", "FerryValueError", "FerryNeedsError", "FerryMemoryError", "FerryIOError", "FerryFileNotFoundError", "FerryNumericError", "FerryCancelled", "FerryWarning"])]
KINDS = {"_Stream": "Estimators that learn from streams", "_Proba": "Estimators with probabilities"}


def trees():
    """Public definitions by name, in the order of the files."""
    found = {}
    for name in FILES:
        with open(os.path.join(TOP, "python/ferryml", name + ".py")) as f:
            for node in ast.parse(f.read()).body:
                if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                    found.setdefault(node.name, node)
                    node.file = name
    return found


def signature(node, name=None):
    args = ast.unparse(node.args)
    args = re.sub(r"^(self|cls)(, )?", "", args)
    return "%s(%s)" % (name or node.name, args)


def code(node, name=None):
    """A signature as a block, on several lines where it is long."""
    text = "ferryml." + signature(node, name)
    start = text.index("(") + 1
    lines = textwrap.wrap(text, 76, subsequent_indent=" " * start, break_long_words=False, break_on_hyphens=False)
    return ["```python"] + lines + ["```", ""]


def escape(text):
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def inline(text):
    """A docstring's words as Markdown: ``code`` and 'docs/x.md'."""
    parts = re.split(r"(``?[^`]+``?)", text)
    out = "".join("`%s`" % p.strip("`") if p.startswith("`") else escape(p) for p in parts)
    return re.sub(r"docs/(\w+)\.md", r"[\1](../\1.md)", out)


def table(block):
    """A numpy-style list of names as rows: (name, type, words)."""
    rows = []
    for line in block.split("\n"):
        m = re.match(r"(\S.*?)(?: : (.*))?$", line)
        if m and not line.startswith(" "):
            rows.append([m.group(1), m.group(2) or "", ""])
        elif rows:
            rows[-1][2] = (rows[-1][2] + " " + line.strip()).strip()
    return rows


def prose(doc):
    """A numpy-style docstring as Markdown."""
    out, parts = [], re.split(r"\n*^(\w+)\n-+\n", doc or "", flags=re.M)
    out.append(inline(parts[0]))
    for head, block in zip(parts[1::2], parts[2::2]):
        rows = table(block.strip("\n"))
        if head in ("Parameters", "Attributes"):
            out += ["**%s**" % head, "\n".join(["| name | type | |", "| --- | --- | --- |"]
                    + ["| `%s` | %s | %s |" % (n, inline(t), inline(w)) for n, t, w in rows])]
        elif head == "Returns":
            out.append("**Returns** " + "; ".join("`%s`%s" % (n, ": " + inline(w) if w else "") for n, _, w in rows))
        else:
            out += ["**%s**" % head, inline(block.strip())]
    return "\n\n".join(filter(None, out))


def members(node):
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and not part.name.startswith("_") and ast.get_docstring(part):
            marks = [ast.unparse(d) for d in part.decorator_list]
            plain = "property" in marks or any(m.endswith(".setter") for m in marks)
            yield part, plain


def entry(node, where):
    """The lines of one class or function."""
    name = KINDS.get(node.name, node.name)
    out = ["## %s { #%s }" % (name if node.name in KINDS else "`%s`" % name, node.name), ""]
    if isinstance(node, ast.FunctionDef):
        out += code(node)
    else:
        start = next((p for p in node.body if isinstance(p, ast.FunctionDef) and p.name == "__init__"), None)
        bases = ["[`%s`](%s#%s)" % (b.id, "" if where.get(b.id) == where.get(node.name) else where[b.id] + ".md", b.id)
                 for b in node.bases if isinstance(b, ast.Name) and b.id in where and b.id not in KINDS]
        if start and node.file == "_data":
            out += code(start, node.name)
        if bases:
            out += ["A " + ", ".join(bases) + ".", ""]
    out += [prose(ast.get_docstring(node)), ""]
    if isinstance(node, ast.ClassDef) and node.file != "_methods":
        for part, plain in members(node):
            out += ["### `%s` { #%s.%s }" % (part.name if plain else signature(part), node.name, part.name), "", prose(ast.get_docstring(part)), ""]
    return out


def pages(site):
    found, where = trees(), {}
    methods = {n: d for n, d in found.items() if d.file == "_methods"}
    for page, _, _, listed in PAGES:
        where.update(dict.fromkeys(methods if listed is None else listed, page))
    index = ["# Python API", "", "Made from the signatures and docstrings of `ferryml`. [Ferry for Python](../python.md) shows how they are used.", ""]
    for page, title, words, listed in PAGES:
        listed = list(methods) if listed is None else listed
        out = ["# " + title, "", words, ""]
        index += ["## [%s](%s.md) { #%s }" % (title, page, page), "", "| name | |", "| --- | --- |"]
        for name in listed:
            doc = inline((ast.get_docstring(found[name]) or "").split("\n\n")[0].replace("\n", " "))
            index.append("| [`%s`](%s.md#%s) | %s |" % (KINDS.get(name, name), page, name, doc))
            out += entry(found[name], where)
        index.append("")
        site.add("pyapi/%s.md" % page, "\n".join(out))
    site.add("pyapi/index.md", "\n".join(index))


def navigation(site):
    return [{"Overview": "pyapi/index.md"}] + [{title: "pyapi/%s.md" % page} for page, title, _, _ in PAGES]
