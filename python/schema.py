"""docs/task.schema.json: what a task file may hold, as JSON Schema, from the library's tables of options, formats and methods."""
import json
import math

from ferryml import _abi
from ferryml._lib import lib, listed, text

GOALS = ["classify", "regress", "multilabel", "rate", "embed", "stream"]
SCALAR = {"type": ["string", "number", "boolean", "null"]}
WORDS = {"type": ["string", "number", "boolean", "null", "array"], "items": SCALAR}  # a list is its parts with commas between
NAME = {"type": ["string", "number"]}
OF_TREES = {"files", "sample"}  # CLASS: NAME as a mapping, too
# Keys of a task that are no options.
FILE = {"type": "string", "description": "file, relative to the folder of the task file; FILE#NAME: a part of it"}


def said(words):
    """YAML's readers differ in what yes and no are."""
    return words + [v for w, v in (("yes", True), ("no", False)) if w in words] + [None]


def value_of(o):
    """What may stand behind an option's name; null counts as absent."""
    out = {"description": text(o.help)}
    default = text(getattr(o, "def"))
    if o.type in (_abi.FERRY_OPT_INT, _abi.FERRY_OPT_REAL):
        whole = o.type == _abi.FERRY_OPT_INT
        out["type"] = ["integer" if whole else "number", "null"]
        if math.isfinite(o.min) and abs(o.min) < 2 ** 53:
            out["minimum"] = int(o.min) if o.min == int(o.min) else o.min
        if math.isfinite(o.max) and abs(o.max) < 2 ** 53:
            out["maximum"] = int(o.max) if o.max == int(o.max) else o.max
        if math.isfinite(float(default)):
            out["default"] = int(float(default)) if whole else float(default)
        return out
    if o.type == _abi.FERRY_OPT_BOOL:
        out["enum"] = said(["yes", "no"])
    elif o.type == _abi.FERRY_OPT_CHOICE:
        out["enum"] = said([w for choice in text(o.choices).split("|") for w in choice.split(",")])
    else:
        out.update(WORDS)
        if text(o.name) in OF_TREES:
            out = {**out, "type": out["type"] + ["object"]}
        return out if not default else {**out, "default": default}
    return {**out, "default": default}


def options(table):
    return {text(at.contents.name): value_of(at.contents) for at in listed(lib.ferry_opt_at, table)}


def mapping(properties, required=(), **more):
    out = {"type": "object", "properties": properties, "additionalProperties": False, **more}
    return {**out, "required": list(required)} if required else out


def methods():
    """name: {what its options are}, for every method, and for baselines that learn from the sources, too."""
    found = {text(at.contents.name): at.contents for at in listed(lib.ferry_method_at)}
    out = {}
    for name, m in found.items():
        of = options(m.options)
        of.setdefault("as", NAME)
        if name + "-paper" in found and "mode" not in of:
            of["mode"] = {"enum": ["ferry", "paper"], "description": f"paper: {name}-paper"}
        rule = mapping(of, description=text(m.summary))
        rule["type"] = ["object", "null"] + ["string"] * ("file" in of)
        out[name] = rule
        if m.kind == _abi.FERRY_KIND_BASELINE and "train" in of:
            for pooled in (f"{name}+source", f"{name}-source"):
                out[pooled] = {"$ref": f"#/$defs/methods/properties/{name}"}
    return out


def schema():
    read = options(lib.ferry_options(b"read"))
    at = list(read).index("documents")  # from there on they are for text
    of_text = {name: read[name] for name in list(read)[at:]}
    all_methods = methods()
    view = mapping({"name": NAME, "x": FILE, "same_as": {"type": "string"}, "text": {"$ref": "#/$defs/text"},
                    **{name: {"$ref": f"#/$defs/read/properties/{name}"} for name in read}}, ["name", "x"])
    files = mapping({"name": NAME, "edges": FILE, "text": {"$ref": "#/$defs/text"},
                     **{name: {"$ref": f"#/$defs/read/properties/{name}"} for name in read}}, ["name", "edges"])
    near = mapping({"name": NAME, "knn": {"anyOf": [{"type": "integer", "minimum": 1, "maximum": 1000}, {"enum": ["auto"]}]}}, ["name", "knn"])
    count = {"type": ["integer", "null"], "minimum": 1}
    labelled = {"anyOf": [{"enum": ["all", "none", None]}, {"type": "number", "minimum": 0}, {"type": "string", "pattern": "^(ids|per_class):"},
                          mapping({"per_class": count, "classes": count}, ["per_class"]), mapping({"ids": FILE}, ["ids"])],
                "description": "of targets: the labels that a method may see"}
    domain = mapping({
        "name": {**NAME, "description": "unique in the task"},
        "role": {"enum": ["source", "intermediate", "target"]},
        "x": {**FILE, "type": ["string", "null"]},
        "views": {"type": ["array", "null"], "items": view},
        "same_as": {"type": ["string", "null"], "description": "DOMAIN.VIEW, the view that has the same features, or none"},
        "same": {"type": ["object", "null"], "additionalProperties": NAME, "description": "COLUMN: COLUMN of the target"},
        "y": {"anyOf": [{"type": ["string", "null"]},
                        mapping({"file": FILE, **{n: {"$ref": f"#/$defs/read/properties/{n}"} for n in read}}, ["file"])],
              "description": "a file with labels"},
        "labelled": labelled,
        "ratings": {**FILE, "type": ["string", "null"]},
        "graphs": {"type": ["array", "null"], "items": {"anyOf": [files, near]}},
        "pairs": {**FILE, "type": ["string", "null"]},
        "text": {"$ref": "#/$defs/text"},
        **{name: {"$ref": f"#/$defs/read/properties/{name}"} for name in read}}, ["name", "role"])
    evaluate = options(lib.ferry_options(b"evaluate"))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Task file of Ferry",
        "description": "Written by python/generate.py from the library's tables: do not edit.",
        **mapping({
            "task": {**NAME, "description": "name of the task, for the results"},
            "goal": {"enum": GOALS, "description": "what is to be predicted"},
            "text": {"$ref": "#/$defs/text"},
            "bridge": {"enum": ["all", "auto", None]},
            "domains": {"type": "array", "items": domain, "minItems": 1},
            "methods": {"type": ["array", "null"], "items": {"anyOf": [{"enum": sorted(all_methods)}, {"$ref": "#/$defs/methods"}]}},
            "evaluate": {**mapping(evaluate), "type": ["object", "null"]}}, ["task", "goal", "domains"]),
        "$defs": {"read": mapping(read), "text": {**mapping(of_text), "type": ["object", "null"]},
                  "methods": mapping({**all_methods, "as": {"type": ["string", "number", "null"], "description": "its name in the results"}}, minProperties=1)}}


def lines(value, indent=""):
    """JSON with a line for each option: what holds no mapping of its own stands on one line."""
    if not isinstance(value, dict) or not any(isinstance(v, dict) for v in value.values()):
        return json.dumps(value)
    more = indent + " "
    return "{\n" + ",\n".join(f"{more}{json.dumps(k)}: {lines(v, more)}" for k, v in value.items()) + "\n" + indent + "}"


def source():
    return lines(schema()) + "\n"
