"""A slice of soak_stream.py: ferry stream is killed while it works, starts up, makes snapshots and repairs."""
import sys

from harness import main
from soak_stream import SYNCS, Count, one
from stream_lines import model


def some(folder, kills, phase, syncs=SYNCS, method="mpa", seed=1, **more):
    count = Count()
    for sync in syncs:
        one(model(folder, method=method), sync, phase, kills, seed, count, **more)
    assert count.kills >= len(syncs) * kills // 2
    print(f"# {count}")


def test_work(folder):
    some(folder, 60, "work", ["batch"])
    some(folder, 8, "work", ["always", "off"])


def test_start(folder):
    some(folder, 15, "start")


def test_snapshot(folder):
    some(folder, 15, "snapshot", lines_a_kill=15)


def test_repair(folder):
    for seed in range(3):
        some(folder, 3, "repair", seed=seed)


def test_hetomtl(folder):
    some(folder, 8, "work", ["batch"], "hetomtl")


def test_omtlmc(folder):
    some(folder, 8, "work", ["off"], "omtlmc")


main(sys.modules[__name__])
