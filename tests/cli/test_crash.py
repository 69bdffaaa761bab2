"""ferry stream is killed over and over while it works: nothing that it acknowledged is lost, and its state ends with the
same bits as that of a run that nobody disturbed."""
import json
import os
import random
import signal
import subprocess
import sys
import time

from harness import FERRY, ferry, main
from stream_lines import lines, model



def answers_of(data):
    """{seq: answer} of the complete lines; none may be an error."""
    found = {}
    for line in data[:data.rfind(b"\n") + 1].splitlines():
        answer = json.loads(line)
        assert "error" not in answer, answer
        found[answer["seq"]] = line
    return found


def run_and_kill(args, text, rng):
    """Give it some lines, kill it at some point, and return all that it said."""
    p = subprocess.Popen([FERRY, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = b""
    p.stdin.write(text)
    p.stdin.flush()
    if rng.random() < 0.2:
        time.sleep(rng.random() * 0.03)  # perhaps while it still starts
    else:
        said = os.read(p.stdout.fileno(), rng.choice([1, 500, 5000, 50000]))
        if rng.random() < 0.5:
            time.sleep(rng.random() * 0.003)
    p.send_signal(signal.SIGKILL)
    said += p.stdout.read()
    err = p.stderr.read().decode()
    p.stdin.close()
    p.wait()
    return said, err


def kill_many_times(folder, model_path, n, least, args, seed=1):
    """n lines, a kill every 80 of them or so, at least `least` in all."""
    rng = random.Random(seed)
    text = [line.encode() + b"\n" for line in lines(n)]
    whole = ferry("stream", model_path, "--state", folder + "/whole", *args, text=False, stdin=b"".join(text))
    want = answers_of(whole.out)
    assert sorted(want) == list(range(1, n + 1))
    acknowledged, kills, repeated, torn = 0, 0, 0, 0
    while acknowledged < n and kills < 100 * least:
        some = text[acknowledged:acknowledged + rng.randint(1, 160)]
        said, err = run_and_kill(["stream", model_path, "--state", folder + "/s", *args], b"".join(some), rng)
        kills += 1
        if "goes on after record" in err:
            resumed = int(err.split("goes on after record ")[1].split()[0])
            assert resumed >= acknowledged, f"record {acknowledged} was acknowledged, but it goes on after {resumed}"
        torn += "dropped" in err
        assert "corrupt" not in err, err
        for seq, answer in answers_of(said).items():
            if b'"repeated":true' in answer:
                repeated += 1
            else:
                assert answer == want[seq], f"{answer} is not {want[seq]}"
            assert seq == acknowledged + 1, f"{seq} after {acknowledged}"
            acknowledged = seq
    assert acknowledged == n
    assert kills >= least, kills
    ferry("stream", model_path, "--state", folder + "/s", *args, stdin="")
    for name in ("snapshot.ferry", "log"):
        with open(f"{folder}/whole/{name}", "rb") as a, open(f"{folder}/s/{name}", "rb") as b:
            assert a.read() == b.read(), f"{name} is not the same"
    assert sorted(os.listdir(folder + "/s")) == ["lock", "log", "snapshot.ferry"]
    print(f"# {kills} kills, {repeated} lines had been kept but not acknowledged, {torn} torn records")


SMALL = ["--set", "waiting=50", "--set", "snapshot=700"]


def test_200_kills(folder):
    kill_many_times(folder, model(folder, "scale=causal", "average=yes"), 20000, 200, SMALL)


def test_experts(folder):
    kill_many_times(folder, model(folder, method="hetomtl"), 800, 8, SMALL)


def test_paper(folder):
    kill_many_times(folder, model(folder, "mode=paper", method="hetomtl"), 800, 8, SMALL)


def test_always(folder):
    kill_many_times(folder, model(folder), 200, 2, ["--sync", "always", *SMALL])


def test_off(folder):
    kill_many_times(folder, model(folder, method="omtlmc"), 800, 8, ["--sync", "off", *SMALL])


main(sys.modules[__name__])
