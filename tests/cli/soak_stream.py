"""ferry stream is killed (kill -9) over and over, in every sync mode, while it works, starts up, makes snapshots and repairs:
nothing that it acknowledged is lost, and its state ends with the same bits as that of a run that nobody disturbed.

usage: python3 -B soak_stream.py FERRY [--kills N] [--seed N] [--jobs N]     N kills in all: 10000 unless given

Needs the command and the files beside this one, nothing else. test_crash.py runs a slice of it.
"""
import argparse
import atexit
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from harness import FERRY, ferry
from stream_lines import lines, model

SYNCS = ("batch", "always", "off")
PHASES = ("work", "start", "snapshot", "repair")
FILES = ["head", "lock", "log", "snapshot.ferry"]


class Count:
    """What a soak has done."""

    def __init__(self):
        self.kills = self.acknowledged = self.repeated = self.torn = self.streams = 0

    def __str__(self):
        return (f"{self.kills} kills of {self.streams} streams, {self.acknowledged} records acknowledged, {self.repeated} had been "
                f"kept before their answer came, {self.torn} torn ends")


def content(path):
    with open(path, "rb") as f:
        return f.read()


def answers_of(data):
    """{seq: answer} of the complete lines; none may be an error."""
    found = {}
    for line in data[:data.rfind(b"\n") + 1].splitlines():
        answer = json.loads(line)
        assert "error" not in answer, answer
        found[answer["seq"]] = line
    return found


def run_and_kill(args, text, rng, wait):
    """Give it some lines, kill it at some point, and return all that it said. wait: kill it within this many seconds; None:
    after some of its answers."""
    p = subprocess.Popen([FERRY, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = b""
    try:
        p.stdin.write(text)
        p.stdin.flush()
    except BrokenPipeError:
        pass
    if wait is not None:
        time.sleep(rng.random() * wait)
    else:
        said = os.read(p.stdout.fileno(), rng.choice([1, 500, 5000, 50000]))
        if rng.random() < 0.5:
            time.sleep(rng.random() * 0.003)
    p.send_signal(signal.SIGKILL)
    said += p.stdout.read()
    err = p.stderr.read().decode()
    try:
        p.stdin.close()
    except BrokenPipeError:
        pass
    return said, err, p.wait()


def start_time(args):
    """How long it takes until the first answer."""
    begin = time.monotonic()
    ferry(*args, stdin="{}\n")
    return time.monotonic() - begin


def soak(folder, model_path, sync, phase, kills, n, seed, count):
    """One stream of n lines, killed at least `kills` times (unless repairing) before it has them all."""
    rng = random.Random(f"{sync} {phase} {seed}")
    args = ["--sync", sync, "--set", "waiting=50", "--set", f"snapshot={8 if phase == 'snapshot' else 700}"]
    text = [line.encode() + b"\n" for line in lines(n, seed)]
    whole = ferry("stream", model_path, "--state", folder + "/whole", *args, text=False, stdin=b"".join(text))
    want = answers_of(whole.out)
    assert sorted(want) == list(range(1, n + 1))
    here = ["stream", model_path, "--state", folder + "/s", *args]
    soon = 1.2 * start_time(here)
    acknowledged, killed, most = 0, 0, 2 * n // max(kills, 1) + 1
    while acknowledged < n:
        at_start = rng.random() < (0.7 if phase == "start" else 0.2)
        some = text[acknowledged:acknowledged + rng.randint(1, min(most, 160))]
        said, err, _ = run_and_kill(here, b"".join(some), rng, soon if at_start else None)
        killed += 1
        if "goes on after record" in err:
            resumed = int(err.split("goes on after record ")[1].split()[0])
            assert resumed >= acknowledged, f"record {acknowledged} was acknowledged, but it goes on after {resumed}"
        assert "damaged" not in err and "never reached" not in err, err
        count.torn += "dropped" in err
        for seq, answer in answers_of(said).items():
            if b'"repeated":true' in answer:
                count.repeated += 1
            else:
                assert answer == want[seq], f"{answer} is not {want[seq]}"
            assert seq == acknowledged + 1, f"{seq} after {acknowledged}"
            acknowledged = seq
    assert killed >= kills // 2, killed
    ferry(*here, stdin="")
    for name in ("snapshot.ferry", "log"):
        assert content(f"{folder}/whole/{name}") == content(f"{folder}/s/{name}"), f"{name} is not the same"
    assert sorted(os.listdir(folder + "/s")) == FILES, os.listdir(folder + "/s")
    count.kills += killed
    count.streams += 1
    count.acknowledged += n


def damage(rng, folder):
    """Harm the log, or the head; says how."""
    path = folder + "/log"
    log = bytearray(content(path))
    way = rng.choice(["flip", "flip", "flip", "zeros", "cut", "header", "head"])
    at = rng.randrange(56, len(log))
    if way == "flip":
        log[at] ^= 1 << rng.randrange(8)
    elif way == "zeros":
        log[at:at + 64] = bytes(len(log[at:at + 64]))
    elif way == "cut":
        del log[at:]
    elif way == "header":
        log[rng.randrange(56)] ^= 1 << rng.randrange(8)
    else:
        os.unlink(folder + "/head")
    with open(path, "wb") as f:
        f.write(log)
    return way


def soak_repair(folder, model_path, sync, kills, n, seed, count):
    """A stream of n lines is killed and its log harmed; the repair is killed until it gets to its end. What comes out is what
    a repair that nobody disturbed makes of a copy, and the stream goes on from there."""
    rng = random.Random(f"{sync} repair {seed}")
    text = b"".join(line.encode() + b"\n" for line in lines(n, seed))
    here = ["stream", model_path, "--state", folder + "/s", "--sync", sync, "--set", "waiting=50"]
    p = subprocess.Popen([FERRY, *here], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    p.stdin.write(text)
    p.stdin.flush()
    for _ in range(n):
        p.stdout.readline()
    p.kill()
    p.communicate()
    count.kills += 1
    how = damage(rng, folder + "/s")
    shutil.copytree(folder + "/s", folder + "/copy")
    begin = time.monotonic()
    calm = ferry("stream", model_path, "--state", folder + "/copy", "--repair")
    soon = 1.2 * (time.monotonic() - begin)
    refused = ferry(*here, stdin="", code=None) if rng.random() < 0.2 else None
    assert not refused or refused.code == 0 or refused.err.count("\n") == 1 and "ferry stream --repair" in refused.err, refused
    killed = 0
    while killed < kills:
        _, err, code = run_and_kill([*here, "--repair"], b"", rng, soon)
        killed += code == -9
        assert code == -9 or "repair" in err, err
    ferry(*here, "--repair")
    last = [int(json.loads(ferry(*here[:3], f"{folder}/{s}", stdin="{}\n").out)["seq"]) for s in ("copy", "s")]
    assert last[0] == last[1] and (last[0] == n or how in ("flip", "zeros", "cut")), (how, last, calm.err)
    if how == "flip":  # what was flipped, and at most labels that waited for it
        assert last[0] >= n - 1 and ("records lost" not in calm.err or int(calm.err.split("records lost: ")[1].split(",")[0]) <= 3), calm
    for s in ("copy", "s"):
        ferry(*here[:3], f"{folder}/{s}", "-q", stdin="")
    assert content(folder + "/copy/snapshot.ferry") == content(folder + "/s/snapshot.ferry"), how
    count.kills += killed
    count.streams += 1
    count.acknowledged += n


def one(model_path, sync, phase, kills, seed, count, lines_a_kill=40):
    """A soak of about so many kills in a folder of its own."""
    folder = tempfile.mkdtemp(prefix="ferry-soak-")
    try:
        if phase == "repair":
            soak_repair(folder, model_path, sync, kills, 60, seed, count)
        else:
            soak(folder, model_path, sync, phase, kills, lines_a_kill * kills, seed, count)
    except AssertionError as e:
        raise AssertionError(f"--sync {sync}, {phase}, seed {seed} ({folder} is kept): {e}") from e
    shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ferry")
    parser.add_argument("--kills", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    a = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="ferry-soak-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    # How often a kind of soak runs, and how many kills it has: all sync modes and phases in turn.
    models = [model(folder, "scale=causal", "average=yes"), model(folder, method="hetomtl", name="h.ferry"),
              model(folder, method="omtlmc", name="o.ferry")]
    counts = {(s, p): Count() for s in SYNCS for p in PHASES}
    begin = time.monotonic()

    def work(i):
        phase, sync = PHASES[i % 4], SYNCS[i // 4 % 3]
        done = counts[sync, phase]
        one(models[i // 12 % 3], sync, phase, 5 if phase == "repair" else 20, a.seed * 1000003 + i, done,
            lines_a_kill=10 if sync == "always" or phase == "snapshot" else 40)

    with ThreadPoolExecutor(a.jobs) as pool:
        i = 0
        while sum(c.kills for c in counts.values()) < a.kills:
            list(pool.map(work, range(i, i + 12)))  # a round; an assertion ends the whole
            i += 12
            print(f"{sum(c.kills for c in counts.values())} kills, {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    for (sync, phase), c in counts.items():
        print(f"--sync {sync:6} {phase:8} {c}")
    print(f"{sum(c.kills for c in counts.values())} kills, {sum(c.acknowledged for c in counts.values())} records acknowledged, "
          f"nothing lost, {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
