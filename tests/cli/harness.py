"""What the tests of the command share: running it, temporary folders, and a small runner that prints TAP.

usage of a test file: python3 test_NAME.py PATH-OF-FERRY [TEST...]
"""
import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

FERRY = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "ferry"
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Skip(Exception):
    """Raised by a test that cannot run here; says why."""


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


def ferry(*args, cwd=None, env=None, code=0, text=True, stdin=None):
    """Run the command; its exit code must be `code` (None: any)."""
    full = {**os.environ, "LC_ALL": "C.UTF-8", **(env or {})}
    p = subprocess.run([FERRY, *map(str, args)], cwd=cwd, env=full, capture_output=True, text=text, input=stdin,
                       timeout=300)
    r = Result(p.returncode, p.stdout, p.stderr)
    assert code is None or r.code == code, f"ferry {' '.join(map(str, args))}: expected exit {code}, got {r}"
    return r


def refused(*args, says, cwd=None, env=None):
    """The command must refuse: exit code 2, nothing on stdout, one line "ferry: ..." that holds `says`."""
    r = ferry(*args, cwd=cwd, env=env, code=2)
    assert r.out == "", r
    assert r.err.startswith("ferry: ") and r.err.endswith("\n") and r.err.count("\n") == 1, r
    assert says in r.err, f"expected {says!r} in {r}"
    return r


def built_with(*names):
    """Whether the command has one of these symbols: b"__asan_init" (sanitizers), b"__gcov_exit" (coverage)."""
    with open(FERRY, "rb") as f:
        text = f.read()
    return any(name in text for name in names)


def can_preload():
    if "FERRY_PRELOAD" not in os.environ:
        raise Skip("FERRY_PRELOAD is not set (ctest sets it)")
    if built_with(b"__asan_init"):
        raise Skip("dlsym cannot be replaced before ASan has begun")


def data_sets(name):
    """The folder of data sets that has this one (a folder or file in it): FERRY_DATA if set, else data, else ../shared/data."""
    folders = [os.environ["FERRY_DATA"]] if os.environ.get("FERRY_DATA") else [TOP + "/data", TOP + "/../shared/data"]
    for folder in folders:
        if os.path.exists(os.path.join(folder, name)):
            return folder
    raise Skip(f"no {name} in {' or '.join(folders)}")


def write(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    return path


def read(*parts):
    with open(os.path.join(*parts)) as f:
        return f.read()


def tree(folder):
    """Every file below a folder, with its bytes."""
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            with open(path, "rb") as f:
                found[os.path.relpath(path, folder)] = f.read()
    return found


SMALL = ["source=60", "bridge=60", "target=60", "source_features=12", "target_features=8", "repeats=3"]


def small_task(folder, *more):
    """A bridge task that runs in a moment; returns its task file."""
    sets = [word for s in [*SMALL, *more] for word in ("--set", s)]
    ferry("gen", "bridge", "--out", os.path.join(folder, "task"), *sets)
    return os.path.join(folder, "task", "task.yaml")


def csv_rows(text):
    """Rows of a simple CSV (no quoting needed) as lists."""
    return [line.split(",") for line in text.splitlines()]


def predictions(text):
    """{id: prediction} of a CSV of predictions."""
    head, *rows = csv_rows(text)
    return {r[head.index("id")]: r[head.index("prediction")] for r in rows}


def main(module):
    """Run every test_* function of a module, each in a fresh temporary folder; what else it or the command leaves among the
    temporary files fails it."""
    wanted = sys.argv[2:]
    tests = [(n, f) for n, f in vars(module).items() if n.startswith("test_") and (not wanted or n in wanted)]
    failed = 0
    print(f"1..{len(tests)}")
    sys.stdout.flush()
    top = tempfile.mkdtemp(prefix="ferry-cli-")
    atexit.register(shutil.rmtree, top, ignore_errors=True)
    os.environ["TMPDIR"] = tempfile.tempdir = top
    for i, (name, test) in enumerate(tests, 1):
        folder = tempfile.mkdtemp(prefix="test-")
        try:
            test(folder)
            left = [os.path.join(top, n) for n in os.listdir(top) if os.path.join(top, n) != folder]
            assert not left, f"left behind: {left}"
            print(f"ok {i} - {name}")
        except Skip as why:
            print(f"ok {i} - {name} # SKIP {why}")
        except Exception:  # any failure of one test; the others still run
            failed += 1
            print(f"not ok {i} - {name}")
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
        finally:
            shutil.rmtree(top, ignore_errors=True)
            os.mkdir(top)
        sys.stdout.flush()
    sys.exit(1 if failed else 0)


def parses(text):
    return json.loads(text)
