"""The command in the package: ferryml's entry point becomes it."""
import os
import subprocess
import sys
import tempfile
import unittest

import support
from ferryml import _command

INSTALLED = bool(os.environ.get("FERRY_INSTALLED"))


def call(*words, program=None, stdin=""):
    """What the entry point prints and ends with."""
    code = "import sys; sys.path[:0] = %r; from ferryml import _command; _command.PROGRAM = %r or _command.PROGRAM; sys.argv[1:] = %r; _command.main()" % (
        [] if INSTALLED else [os.path.join(support.HERE, "..")], program, list(words))
    return subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, input=stdin)


class Command(unittest.TestCase):
    @unittest.skipUnless(os.path.exists(support.FERRY), "no command")
    def test_is_the_command(self):
        """Arguments, standard input, output and exit code go through."""
        program = None if INSTALLED else os.path.abspath(support.FERRY)
        self.assertRegex(call("version", program=program).stdout, r"^ferry \d+\.\d+")
        wrong = call("no-such", program=program)
        self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))
        self.assertTrue(wrong.stderr.startswith("ferry: "))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a b.csv")
            with open(path, "w", encoding="utf-8") as f:
                f.write("x,y\n1,2\n3,4\n")
            self.assertIn("2", call("inspect", path, program=program).stdout)

    @unittest.skipIf(INSTALLED, "of a clone")
    def test_without_one(self):
        got = call("version", program="/nowhere/ferry")
        self.assertEqual(got.returncode, 1)
        self.assertEqual(got.stderr, "ferry: /nowhere/ferry: No such file or directory (a clone's package has no command: build/release/ferry)\n")
        self.assertTrue(_command.PROGRAM.endswith(os.path.join("ferryml", "bin", "ferry")))


if __name__ == "__main__":
    support.main()
