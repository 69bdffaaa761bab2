"""README.md, docs/tutorial.md, docs/stream.md and docs/evaluation.md: every command runs, and prints what the page shows.

In a block ```console, "$ " begins a command, "> " carries it on, "[exit code N]" gives an exit code other than 0, and the
rest is output: stdout, then stderr. Each line shown must occur; numbers may differ (times, digits), rows of a table may
change places with them, and there may be lines that are not shown, so that a method added later does not make the page
wrong.

`python3 tests/cli/test_tutorial.py FERRY --update` writes the output that is printed now into the pages.
"""
import os
import re
import subprocess
import sys
import tempfile

from harness import FERRY, TOP, main

PAGES = [os.path.join(TOP, "README.md"), os.path.join(TOP, "docs", "tutorial.md"),
         os.path.join(TOP, "docs", "stream.md"), os.path.join(TOP, "docs", "evaluation.md")]


def steps(block):
    """[command, shown lines, exit code] of a block."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], [], 0])
        elif line.startswith("> "):
            found[-1][0] += "\n" + line[2:]
        elif line.startswith("[exit code "):
            found[-1][2] = int(line[11:-1])
        else:
            found[-1][1].append(line)
    return found


def execute(command, folder):
    env = dict(os.environ, PATH=os.path.dirname(FERRY) + os.pathsep + os.environ["PATH"], LC_ALL="C.UTF-8")
    p = subprocess.run(["sh", "-c", command], cwd=folder, env=env, capture_output=True, text=True, timeout=900)
    return p.returncode, p.stdout + p.stderr


def pattern(line):
    """The line with any number for a number and any blanks for blanks."""
    words = re.split(r"(<?[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?|\s+)", line.strip())
    return "".join(r"\s+" if w.isspace() else r"<?[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?" if i % 2 else re.escape(w)
                   for i, w in enumerate(words) if w)


def check(command, shown, code, folder):
    got_code, got = execute(command, folder)
    assert got_code == code, f"$ {command}\nexit code {got_code}, the page says {code}:\n{got}"
    left = got.splitlines()
    for line in shown:
        at = next((i for i, have in enumerate(left) if re.fullmatch(pattern(line), have.strip())), None)
        assert at is not None, f"$ {command}\nshown but not printed:\n{line}\n--- printed:\n{got}"
        left.pop(at)


def check_page(path, least, folder):
    with open(path) as f:
        page = f.read()
    blocks = re.findall(r"^```console\n(.*?)^```$", page, re.M | re.S)
    assert len(blocks) >= least
    for block in blocks:
        for command, shown, code in steps(block):
            check(command, shown, code, folder)


def test_readme(folder):
    check_page(PAGES[0], 1, folder)


def test_tutorial(folder):
    check_page(PAGES[1], 6, folder)


def test_stream(folder):
    check_page(PAGES[2], 3, folder)


def test_evaluation(folder):
    check_page(PAGES[3], 2, folder)


def steady(text):
    """The text without times, which are never the same."""
    return re.sub(r"\d+\.\d+ s\b|(<0\.01|\b0\.0\d)(?=  )", "TIME", text)


def update(path):
    with open(path) as f:
        page = f.read()
    with tempfile.TemporaryDirectory() as folder:

        def rewrite(match):
            text = ""
            for command, shown, _ in steps(match.group(1)):
                code, got = execute(command, folder)
                old = "".join(line + "\n" for line in shown)
                got = old if steady(old) == steady(got) else got
                text += "$ " + command.replace("\n", "\n> ") + "\n" + got
                text += f"[exit code {code}]\n" if code else ""
            return "```console\n" + text + "```"

        page = re.sub(r"^```console\n(.*?)^```$", rewrite, page, flags=re.M | re.S)
    with open(path, "w") as f:
        f.write(page)


if "--update" in sys.argv:
    for each in PAGES:
        update(each)
else:
    main(sys.modules[__name__])
