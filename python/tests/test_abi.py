"""The binding itself: what is generated is current and laid out as the compiler has it; errors, log, warnings."""
import ctypes
import io
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings

import support
import ferryml
from ferryml import _abi, _data, _lib, _methods

GENERATE = os.path.join(support.HERE, "..", "generate.py")


def generated(what):
    return subprocess.run([sys.executable, "-B", GENERATE, what], check=True, capture_output=True, text=True).stdout


class Generated(unittest.TestCase):
    @unittest.skipIf(os.environ.get("FERRY_INSTALLED"), "of the source tree")
    def test_committed_files_are_current(self):
        for module, what in ((_abi, "abi"), (_methods, "estimators")):
            with open(module.__file__, encoding="utf-8") as f:
                self.assertEqual(f.read() == generated(what), True,
                                 f"{os.path.basename(module.__file__)} is old: run python3 python/generate.py update "
                                 "with FERRY_LIBRARY=build/release/libferry.so")

    @unittest.skipUnless(shutil.which("cc") and not os.environ.get("FERRY_INSTALLED"), "no C compiler, or no source tree")
    def test_layout_is_the_compilers(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "sizes.c")
            with open(path, "w", encoding="utf-8") as f:
                f.write(generated("sizes"))
            program = os.path.join(folder, "sizes")
            subprocess.run(["cc", "-I", os.path.join(support.TOP, "include"), "-o", program, path], check=True)
            lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split("\n")
        checked = 0
        for name, value in (line.split() for line in lines if line):
            if name.startswith("FERRY_"):
                have = getattr(_abi, name)
            elif "." in name:
                have = getattr(getattr(_abi, name.split(".")[0]), name.split(".")[1]).offset
            else:
                have = ctypes.sizeof(getattr(_abi, name))
            self.assertEqual(have, int(value), name)
            checked += 1
        self.assertGreater(checked, 300)

    def test_every_function_is_there(self):
        self.assertGreater(len(_abi.FUNCTIONS), 100)
        for name in _abi.FUNCTIONS:
            self.assertTrue(getattr(_lib.lib, name).argtypes is not None, name)


class Errors(unittest.TestCase):
    def raises(self, status, kind):
        with self.assertRaises(kind) as caught:
            _lib.context().check(status)
        self.assertIsInstance(caught.exception, ferryml.FerryError)

    def test_statuses(self):
        for status, kind in ((_abi.FERRY_EINVAL, ValueError), (_abi.FERRY_EDATA, ValueError),
                             (_abi.FERRY_ENOMEM, MemoryError), (_abi.FERRY_EIO, OSError),
                             (_abi.FERRY_ENUMERIC, ArithmeticError), (_abi.FERRY_ENEEDS, ValueError)):
            self.raises(status, kind)

    def test_sentence_of_the_library(self):
        with self.assertRaisesRegex(ValueError, "C = -1 is outside"):
            ferryml.SVM(C=-1).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])

    def test_out_of_address_space_is_a_memory_error(self):
        # a row that says it has 2^60 features: no memory for them
        with self.assertRaises((MemoryError, ValueError)):
            ferryml.Model.from_bytes(b"\xff" * 100)


class Messages(unittest.TestCase):
    def test_warnings_are_pythons(self):
        ctx = _lib.context()
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            ctx._on_log(None, _abi.FERRY_WARN, b"said twice")
            ctx._on_log(None, _abi.FERRY_WARN, b"said twice")
            ctx.check(_abi.FERRY_OK)
        self.assertEqual([(str(w.message), w.category) for w in seen], [("said twice", ferryml.FerryWarning)])
        self.assertEqual(seen[0].filename, __file__)  # where the caller is, not inside of ferryml

    def test_log_goes_to_logging(self):
        stream = io.StringIO()
        handler = logging.StreamHandler(stream)
        log = logging.getLogger("ferryml")
        log.addHandler(handler)
        log.setLevel(logging.DEBUG)
        try:
            xs, ys, xt, yt = support.two_domains()
            ferryml.CDSPP().fit(xt[:20], yt[:20], sources=[ferryml.Source(xs, ys)])
            _lib.context()._on_log(None, _abi.FERRY_INFO, b"a line")
        finally:
            log.removeHandler(handler)
            log.setLevel(logging.NOTSET)
        self.assertIn("a line", stream.getvalue())

    def test_nothing_stays_lent(self):
        xs, ys, xt, yt = support.two_domains()
        model = ferryml.KNN().fit(xt, yt)
        model.predict(xt)
        self.assertEqual(_data._lent, {})


if __name__ == "__main__":
    support.main()
