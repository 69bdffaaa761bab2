"""The types: all examples (docs/python.md, notebooks, docstrings) pass mypy --strict and pyright, and what is wrong does not."""
import doctest
import glob
import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

import support
import ferryml

# A line that each checker has to refuse.
WRONG = ['ferryml.CDSPP(learner="bayes")', 'ferryml.CDSPP(alpha="high")', 'ferryml.compare(X, y, controls="some")', 'ferryml.compare(X, y, goal="guess")',
         'ferryml.Source(X, y, columns="same")', "ferryml.SVM().fit(X, y, sources=3)", "ferryml.SVM().save(7)", "ferryml.HiddenLabelSplit(shuffle=[])",
         "len(ferryml.Ferry().fit(X, y).score(X, y))"]


def programs():
    """{file: its text} of every example."""
    def page(path):
        with open(path, encoding="utf-8") as f:
            return f.read()

    out = {"page.py": "\n".join(re.findall(r"```python\n(.*?)```", page(os.path.join(support.TOP, "docs", "python.md")), flags=re.S))}
    for path in glob.glob(os.path.join(support.HERE, "..", "notebooks", "*.ipynb")):
        cells = json.loads(page(path))["cells"]
        out[os.path.basename(path)[:-6] + ".py"] = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code") + "\n"
    lines = []
    for name in ferryml.__all__:
        thing = getattr(ferryml, name)
        shown = doctest.script_from_examples(inspect.getdoc(thing) or "") if callable(thing) else ""
        if "import ferryml" in shown or "from ferryml" in shown:
            code = "\n".join(line for line in shown.split("\n") if not line.startswith("#"))
            lines += [f"def of_{name}() -> None:", textwrap.indent(code.strip("\n"), "    "), ""]
    out["docstrings.py"] = "\n".join(lines)
    out["wrong.py"] = "import numpy as np\nimport ferryml\nX, y = np.eye(4), np.arange(4) % 2\n" + "\n".join(WRONG) + "\n"
    return out


@unittest.skipIf(sys.version_info < (3, 10), "the newest stubs of numpy are for newer Pythons")
class Types(unittest.TestCase):
    def check(self, command, config=None):
        """Errors of a checker by file, as (line, words)."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in programs().items():
                with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                    f.write(text)
            if config:
                with open(os.path.join(folder, "pyrightconfig.json"), "w", encoding="utf-8") as f:
                    json.dump(config, f)
            where = os.path.join(support.TOP, "python")
            more = {} if os.environ.get("FERRY_INSTALLED") else {"MYPYPATH": where}
            ran = subprocess.run([sys.executable, "-m", *command, *sorted(programs())], cwd=folder, env={**os.environ, **more}, capture_output=True, text=True)
        found = re.findall(r"(\w+\.py):(\d+)(?::\d+)?(?: -|:) error: ?(.*)", ran.stdout.replace(folder + "/", ""))
        found += re.findall(r"(\w+\.py):(\d+):\d+ - error:? (.*)", ran.stdout) if not found else []
        self.assertTrue(found, ran.stdout + ran.stderr)  # some of what is wrong at least
        wrong = {int(line) for name, line, _ in found if name == "wrong.py"}
        self.assertEqual([text for k, text in enumerate(WRONG) if k + 4 not in wrong], [])
        self.assertEqual([e for e in found if e[0] != "wrong.py"], [])

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "no mypy")
    def test_mypy(self):
        self.check(["mypy", "--strict", "--ignore-missing-imports", "--follow-imports=silent", "--cache-dir", os.devnull])

    @unittest.skipUnless(importlib.util.find_spec("pyright"), "no pyright")
    def test_pyright(self):
        inside = [] if os.environ.get("FERRY_INSTALLED") else [os.path.abspath(os.path.join(support.TOP, "python"))]
        self.check(["pyright", "--pythonpath", sys.executable], {"extraPaths": inside})


if __name__ == "__main__":
    support.main()
