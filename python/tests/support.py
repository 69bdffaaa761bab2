"""What the tests of ferryml share. They run as plain programs: python3 -B python/tests/test_NAME.py."""
import importlib.util
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..")
if not os.environ.get("FERRY_INSTALLED"):  # set where an installed package is tested
    sys.path.insert(0, os.path.join(HERE, ".."))
SKIPPED = 77
try:
    import numpy  # noqa: F401
    import scipy.sparse  # noqa: F401
    import sklearn  # noqa: F401
except ImportError as e:
    print(f"skipped: {e}; the Python tests need Debian's python3-numpy, python3-scipy and python3-sklearn (packages.txt)")
    sys.exit(SKIPPED)

FERRY = os.environ.get("FERRY_COMMAND", os.path.join(TOP, "build", "release", "ferry"))


def two_domains(seed=0, n=120, target=90, d=6):
    """A source and a target over the same classes with features of their own, as arrays."""
    rng = numpy.random.default_rng(seed)
    hidden = rng.normal(size=(n + target, 3))
    classes = (hidden[:, 0] + 0.5 * hidden[:, 1] > 0).astype(int)
    xs = hidden[:n] @ rng.normal(size=(3, d)) + 0.1 * rng.normal(size=(n, d))
    xt = hidden[n:] @ rng.normal(size=(3, d + 2)) + 0.1 * rng.normal(size=(target, d + 2))
    return xs, classes[:n], xt, classes[n:]


def with_pandas(test):
    """Skip a test where pandas is not installed."""
    return unittest.skipUnless(importlib.util.find_spec("pandas"), "no pandas")(test)


def main():
    unittest.main(verbosity=1)
