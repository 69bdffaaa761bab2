"""The command `ferry` that lies in the package."""
import os
import sys
from typing import NoReturn

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "ferry")


def main() -> NoReturn:
    """Become the command, with the same arguments, input, output and signals."""
    try:
        os.execv(PROGRAM, ["ferry", *sys.argv[1:]])
    except OSError as e:
        sys.exit(f"ferry: {PROGRAM}: {e.strerror} (a clone's package has no command: build/release/ferry)")
