"""A slice of soak_serve.py: ferry serve is killed while clients send labels and versions change, on a disk that is fine, full, or fails."""
import os
import sys

import soak_serve
from harness import Skip, main
from stream_lines import model


def some(folder, seeds, kills):
    total = soak_serve.Count()
    for seed in seeds:
        total.add(soak_serve.course(model(folder), seed, kills))
    print(f"# {total}")


def test_kills(folder):
    some(folder, (3, 4), 8)


def test_full_disk(folder):
    some(folder, (5,), 8)


def test_failing_disk(folder):
    if "FERRY_FAULTS" not in os.environ:
        raise Skip("FERRY_FAULTS is not set (ctest sets it)")
    some(folder, (2, 8), 8)


main(sys.modules[__name__])
