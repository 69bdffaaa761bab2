"""The JSON Schema of task files: it is what the library's tables say, takes every task in the repository, and refuses what the library refuses."""
import copy
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from ctypes import byref, c_void_p

import support
from ferryml._lib import context, lib
try:
    import yaml
except ImportError:
    print("skipped: no yaml; this test needs Debian's python3-yaml (packages.txt)")
    sys.exit(support.SKIPPED)

PATH = os.path.join(support.TOP, "docs", "task.schema.json")
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def _load(path):
    """Read a task as the command does, without running it."""
    ctx, task = context(1, 1), c_void_p()
    ctx.call(lib.ferry_task_load, os.fsencode(path), None, byref(task))
    lib.ferry_task_free(task)


def is_a(value, kind):
    if kind in ("integer", "number"):
        return isinstance(value, (int, float) if kind == "number" else int) and not isinstance(value, bool)
    return isinstance(value, TYPES[kind])


def wrong(value, rule, root, at="task"):
    """What of JSON Schema the file uses: the first thing that is wrong, or None."""
    if ref := rule.get("$ref"):
        rule = root
        for part in ref.split("/")[1:]:
            rule = rule[part]
        return wrong(value, rule, root, at)
    unknown = set(rule) - {"type", "enum", "anyOf", "properties", "additionalProperties", "required", "items", "minItems", "minProperties",
                           "minimum", "maximum", "pattern", "description", "default", "title", "$schema", "$defs"}
    assert not unknown, unknown
    if "anyOf" in rule:
        tried = [wrong(value, r, root, at) for r in rule["anyOf"]]
        if all(tried):
            return tried[-1]
    if "type" in rule:
        kinds = rule["type"] if isinstance(rule["type"], list) else [rule["type"]]
        if not any(is_a(value, k) for k in kinds):
            return f"{at}: {value!r} is no {' or '.join(kinds)}"
    if "enum" in rule and not any(v == value and type(v) is type(value) for v in rule["enum"]):
        return f"{at}: {value!r} is none of {rule['enum']}"
    if isinstance(value, str) and not re.search(rule.get("pattern", ""), value):
        return f"{at}: {value!r} does not match {rule['pattern']}"
    if is_a(value, "number") and not rule.get("minimum", value) <= value <= rule.get("maximum", value):
        return f"{at}: {value} is out of range"
    if isinstance(value, list):
        if len(value) < rule.get("minItems", 0):
            return f"{at}: too short"
        for i, v in enumerate(value):
            if why := wrong(v, rule.get("items", {}), root, f"{at}[{i}]"):
                return why
    if isinstance(value, dict):
        if missing := [k for k in rule.get("required", ()) if k not in value]:
            return f"{at}: no {missing[0]}"
        if len(value) < rule.get("minProperties", 0):
            return f"{at}: empty"
        for k, v in value.items():
            if k in rule.get("properties", {}):
                why = wrong(v, rule["properties"][k], root, f"{at}.{k}")
            else:
                more = rule.get("additionalProperties", True)
                why = f"{at}: unknown key {k}" if more is False else wrong(v, more, root, f"{at}.{k}") if isinstance(more, dict) else None
            if why:
                return why
    return None


def tasks():
    """(where, text) of every task file in the repository that is meant to be right, and of the manual."""
    for path in glob.glob(os.path.join(support.TOP, "**", "*.yaml"), recursive=True):
        if os.sep + "build" + os.sep in path or os.path.join("tests", "fuzz") in path:
            continue
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if re.search(r"^task:", text, flags=re.M):
            yield path, text
    for path in [os.path.join(support.TOP, "README.md")] + glob.glob(os.path.join(support.TOP, "docs", "**", "*.md"), recursive=True):
        with open(path, encoding="utf-8") as f:
            for block in re.findall(r"^```yaml\n(.*?)^```", f.read(), flags=re.M | re.S):
                if re.match(r"(#.*\n)*task:", block) and "domains:\n" in block:
                    yield path, block


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(PATH, encoding="utf-8") as f:
            cls.schema = json.load(f)

    def says(self, task):
        return wrong(task, self.schema, self.schema)

    def test_committed_file_is_current(self):
        made = subprocess.run([sys.executable, "-B", os.path.join(support.TOP, "python", "generate.py"), "schema"], check=True, capture_output=True, text=True).stdout
        with open(PATH, encoding="utf-8") as f:
            self.assertTrue(f.read() == made, "docs/task.schema.json is old: run python3 python/generate.py update with FERRY_LIBRARY=build/release/libferry.so")

    def test_it_is_a_schema(self):
        """Of draft 2020-12, where there is a program that can tell."""
        try:
            import jsonschema
        except ImportError:
            self.skipTest("no jsonschema")
        jsonschema.Draft202012Validator.check_schema(self.schema)
        check = jsonschema.Draft202012Validator(self.schema)
        for where, text in tasks():
            self.assertEqual([e.message for e in check.iter_errors(yaml.safe_load(text))], [], where)

    def test_tasks_of_the_repository(self):
        n = 0
        for where, text in tasks():
            self.assertIsNone(self.says(yaml.safe_load(text)), where)
            n += 1
        self.assertGreater(n, 4)

    @unittest.skipUnless(os.path.exists(support.FERRY), "no command")
    def test_tasks_that_gen_writes(self):
        names = [line.split()[0] for line in subprocess.run([support.FERRY, "gen"], check=True, capture_output=True, text=True).stdout.splitlines() if line[:1].isalpha()]
        self.assertGreater(len(names), 7)
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                subprocess.run([support.FERRY, "gen", name, "--out", os.path.join(folder, name)], check=True, capture_output=True)
                with open(os.path.join(folder, name, "task.yaml"), encoding="utf-8") as f:
                    self.assertIsNone(self.says(yaml.safe_load(f)), name)

    @unittest.skipUnless(os.path.exists(support.FERRY), "no command")
    def test_refuses_what_the_library_refuses(self):
        """A right task, and changes of it one at a time: the library and the schema agree about each."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([support.FERRY, "gen", "bridge", "--out", folder], check=True, capture_output=True)
            with open(os.path.join(folder, "task.yaml"), encoding="utf-8") as f:
                right = yaml.safe_load(f)
            changes = {
                "as it is": lambda t: None, "another goal": lambda t: t.update(goal="classfy"), "unknown key": lambda t: t.update(domain=1),
                "no name": lambda t: t["domains"][0].pop("name"), "another role": lambda t: t["domains"][0].update(role="sources"),
                "unknown key of a domain": lambda t: t["domains"][0].update(labeled=3), "unknown method": lambda t: t.update(methods=["svmm"]),
                "unknown option": lambda t: t.update(methods=[{"svm": {"c": 1}}]), "out of range": lambda t: t.update(methods=[{"svm": {"C": -1}}]),
                "no number": lambda t: t.update(methods=[{"svm": {"C": "much"}}]), "another choice": lambda t: t.update(methods=[{"svm": {"scale": "minmax"}}]),
                "an old name of a choice": lambda t: t.update(methods=[{"svm": {"scale": "tfidf"}}]), "as": lambda t: t.update(methods=[{"svm": {"C": 3}, "as": "mine"}]),
                "as among them": lambda t: t.update(methods=[{"svm": {"as": "mine"}}]), "nothing behind a key": lambda t: t.update(methods=[{"svm": None}], evaluate=None),
                "pooled": lambda t: t.update(methods=["svm", "logreg"]), "mode": lambda t: t.update(methods=[{"ttl": {"mode": "paper"}}]),
                "no mode": lambda t: t.update(methods=[{"ttl": {"mode": "book"}}]), "repeats": lambda t: t.update(evaluate={"repeats": 0}),
                "half a repeat": lambda t: t.update(evaluate={"repeats": 2.5}), "answer": lambda t: t.update(evaluate={"answer": "single"}),
                "no answer": lambda t: t.update(evaluate={"answer": "maybe"}), "metrics": lambda t: t.update(evaluate={"metrics": ["accuracy", "macro-f1"]}),
                "a count": lambda t: t["domains"][-1].update(labelled=4), "per class": lambda t: t["domains"][-1].update(labelled={"per_class": 2}),
                "both": lambda t: t["domains"][-1].update(labelled={"per_clas": 2}), "no text": lambda t: t.update(text={"sep": ","}),
                "views that are none": lambda t: t["domains"][0].update(views={"name": "a"}), "no domains": lambda t: t.update(domains=[]),
            }
            agreed = set()
            for name, change in changes.items():
                task = copy.deepcopy(right)
                change(task)
                path = os.path.join(folder, "changed.yaml")
                with open(path, "w", encoding="utf-8") as f:
                    yaml.safe_dump(task, f, sort_keys=False)
                says, read = self.says(task), None
                try:
                    read = _load(path)
                except ValueError as e:
                    read = str(e)
                self.assertEqual(read is None, says is None, f"{name}: the library says {read!r}, the schema {says!r}")
                agreed.add(says is None)
            self.assertEqual(agreed, {True, False})


if __name__ == "__main__":
    support.main()
