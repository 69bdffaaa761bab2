"""docs/python.md and the notebooks run, from top to bottom; docstrings describe every parameter."""
import contextlib
import doctest
import glob
import inspect
import io
import json
import os
import re
import unittest
import warnings

import support
import ferryml


def run(blocks, name):
    space = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()) as out, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k, block in enumerate(blocks):
            try:
                exec(compile(block, f"{name}, block {k + 1}", "exec"), space)
            except Exception as e:
                raise AssertionError(f"{name}, block {k + 1}: {e!r}\n{block}") from e
    return out.getvalue()


class Docs(unittest.TestCase):
    def test_page(self):
        with open(os.path.join(support.TOP, "docs", "python.md"), encoding="utf-8") as f:
            blocks = re.findall(r"```python\n(.*?)```", f.read(), flags=re.S)
        self.assertGreater(len(blocks), 10)
        out = run(blocks, "docs/python.md")
        better, alone = map(float, out.split("\n")[0].split())
        self.assertGreater(better, alone)  # what the first example is there to show

    def test_notebooks(self):
        paths = sorted(glob.glob(os.path.join(support.HERE, "..", "notebooks", "*.ipynb")))
        self.assertEqual(len(paths), 2)
        for path in paths:
            with open(path, encoding="utf-8") as f:
                book = json.load(f)
            self.assertEqual(book["nbformat"], 4)
            run(["".join(c["source"]) for c in book["cells"] if c["cell_type"] == "code"], os.path.basename(path))

    @unittest.skipIf(os.environ.get("FERRY_INSTALLED"), "of the source tree")
    def test_what_is_required_will_do(self):
        """ClassNamePrefixFeaturesOutMixin came with scikit-learn 1.2, so no older one can be promised."""
        with open(os.path.join(support.TOP, "pyproject.toml"), encoding="utf-8") as f:
            floor = re.search(r"scikit-learn>=(\d+)\.(\d+)", f.read())
        self.assertGreaterEqual(tuple(map(int, floor.groups())), (1, 2))

    def test_docstrings(self):
        for name in ferryml.__all__:
            thing = getattr(ferryml, name)
            if not callable(thing) or not inspect.getmodule(thing).__name__.startswith("ferryml"):
                continue
            doc = inspect.getdoc(thing) or ""
            self.assertTrue(doc, name)
            if name in ferryml._estimators:
                for p in inspect.signature(thing).parameters:
                    self.assertRegex(doc, rf"(?m)^{p} : ", name)
                for method in ("fit", "predict", "transform"):
                    self.assertTrue(not hasattr(thing, method) or inspect.getdoc(getattr(thing, method)), (name, method))

    def test_examples(self):
        """Every public thing but exceptions has an example, and what it shows is so."""
        for name in ferryml.__all__:
            thing = getattr(ferryml, name)
            if not callable(thing) or isinstance(thing, type) and issubclass(thing, (Exception, Warning)):
                continue
            tests = doctest.DocTestFinder(recurse=False).find(thing, name, globs={})
            self.assertTrue(any(t.examples for t in tests), f"{name} has no example")
            self.assertEqual(["".join(said) for said in map(failures, tests) if said], [])


def failures(test):
    said = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    return said


if __name__ == "__main__":
    support.main()
