"""What the preparation scripts share: arguments, random numbers, numbers as text, files.

A script is called by `ferry reproduce` as

    python3 SCRIPT.py --data DIR --seed N --threads N WORD...

in the study's folder, where it writes its files. What is wrong with the data it says in one line, `FILE:LINE: what was
expected`, and leaves with a code that is not 0. The program itself is in $FERRY. Standard library only.
"""
import argparse
import gzip
import json
import math
import os
import subprocess
import sys


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", default="1")
    parser.add_argument("words", nargs="*")
    return parser.parse_args()


def bad(path, line, text):
    """End with one sentence about a file."""
    sys.exit("%s:%d: %s" % (path, line, text) if line else "%s: %s" % (path, text))


def ferry(*words):
    """Run the program that called us; its own sentence when it fails."""
    p = subprocess.run([os.environ.get("FERRY", "ferry"), *map(str, words)], stderr=subprocess.PIPE, text=True, check=False)
    if p.returncode != 0:
        sys.exit(p.stderr.strip().split("\n")[-1].replace("ferry: ", "", 1))


def content(path):
    """The bytes of a file, unpacked if it is gzip's."""
    try:
        with open(path, "rb") as f:
            data = f.read()
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError) as e:
        bad(path, 0, getattr(e, "strerror", None) or str(e))


def found(values):
    """Leave {name: text} for the study's templates."""
    with open("prepared.json", "w") as f:
        json.dump(values, f, indent=1)


# ---- random numbers: the program's own generator, so that a seed draws the same rows everywhere ----

MASK64, MASK128 = (1 << 64) - 1, (1 << 128) - 1
MULTIPLIER = 2549297995355413924 << 64 | 4865540595714422341


class Random:
    """PCG64 (O'Neill's XSL-RR 128/64) with numbered streams. A use has a name, and the name is the stream."""

    def __init__(self, seed, stream):
        if isinstance(stream, str):  # FNV-1a of the name and of repeat number 0
            h = 14695981039346656037
            for byte in stream.encode() + bytes(8):
                h = (h ^ byte) * 1099511628211 & MASK64
            stream = h
        self.increment = (stream << 1 | 1) & MASK128
        self.state = self.increment
        self.state = ((self.state + seed) * MULTIPLIER + self.increment) & MASK128
        self.spare = None

    def bits(self):
        self.state = s = (self.state * MULTIPLIER + self.increment) & MASK128
        x, r = (s >> 64 ^ s) & MASK64, s >> 122
        return (x >> r | x << (-r & 63)) & MASK64

    def below(self, n):
        """A whole number from 0 to n - 1: Lemire's multiply and reject."""
        m = self.bits() * n
        if m & MASK64 < n:
            least = (1 << 64) % n
            while m & MASK64 < least:
                m = self.bits() * n
        return m >> 64

    def real(self):
        return (self.bits() >> 11) * 2.0 ** -53

    def normal(self):
        """Marsaglia's polar method."""
        if self.spare is not None:
            x, self.spare = self.spare, None
            return x
        while True:
            a, b = 2 * self.real() - 1, 2 * self.real() - 1
            s = a * a + b * b
            if 0 < s < 1:
                f = math.sqrt(-2 * math.log(s) / s)
                self.spare = b * f
                return a * f

    def shuffle(self, a):
        for i in range(len(a) - 1, 0, -1):
            j = self.below(i + 1)
            a[i], a[j] = a[j], a[i]


# ---- numbers and texts as the program writes them ----

def real(x):
    """The shortest text that reads back as x; whole numbers without a point."""
    if abs(x) < 1e15 and x == math.floor(x) and not (x == 0 and math.copysign(1, x) < 0):
        return "%d" % x
    for digits in (15, 16, 17):
        text = "%.*g" % (digits, x)
        if float(text) == x:
            break
    return text


MISSING = {"", "?", "na", "nan", "null", "none", "n/a"}


def quoted(text):
    """A cell of a CSV file."""
    if text and text == text.strip(" \t") and not set(text) & set('",\n\r') and text.lower() not in MISSING:
        return text
    return '"%s"' % text.replace('"', '""')
