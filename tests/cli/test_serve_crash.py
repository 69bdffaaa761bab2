"""A slice of soak_serve.py: ferry serve is killed while clients send labels and versions change, on a disk that is fine, full, or fails."""
import http.client
import os
import random
import shutil
import sys

import soak_serve
from harness import Skip, ferry, main
from serve_client import Server
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


def harm(state, rng):
    """A file of the folder is cut, changed, emptied, removed, or longer than it was; its name."""
    name = rng.choice(sorted(n for n in os.listdir(state) if n != "lock"))
    path = state + "/" + name
    with open(path, "rb") as f:
        data = bytearray(f.read())
    how = rng.randrange(5)
    if how == 0:
        os.remove(path)
        return name + " removed"
    if how == 1:
        data = data[:rng.randrange(len(data))]
    elif how == 2:
        for _ in range(rng.choice([1, 1, 30])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif how == 3:
        data += rng.randbytes(rng.choice([1, 40, 700]))
    else:
        at = rng.randrange(len(data))
        data[at:at + 512] = bytes(len(data[at:at + 512]))
    with open(path, "wb") as f:
        f.write(data)
    return f"{name}, {('', 'cut', 'bits', 'longer', 'zeros')[how]}"


def test_damage(folder, n=14):
    """What a damaged folder leads to: everything that was acknowledged is there, or one line says what is wrong; after a repair, which may be
    refused likewise, what is left was sent, nothing twice, and it learns on."""
    m, args = model(folder), ["--state", folder + "/state", "--sync", "always", "--set", "snapshot=25", "--set", "poll=60"]
    os.makedirs(folder + "/models/m")
    shutil.copy(m, folder + "/models/m/1.ferry")
    label = lambda i: dict(zip(("x", "y"), soak_serve.row(f"i{i}")), id=f"i{i}")
    with Server(folder + "/models", *args) as s:
        for version in (1, 2):
            if version == 2:
                shutil.copy(m, folder + "/models/m/2.ferry")
                s.post("/admin/reload")
                s.wait_for(lambda: [v["version"] for v in s.get("/stats").json["versions"] if v["current"]] == [2])
            for i in range(10 * version, 10 * version + 10):
                s.post("/learn", [label(4 * i + k) for k in range(4)])
        s.p.kill()
    sent, counts = {f"i{i}" for i in range(40, 120)}, {"whole": 0, "repaired": 0, "refused": 0}
    os.rename(folder + "/state", folder + "/before")
    for seed in range(n):
        shutil.rmtree(folder + "/state", ignore_errors=True)
        shutil.copytree(folder + "/before", folder + "/state")
        what = harm(folder + "/state/m", random.Random(seed))
        state = "whole"
        try:
            s = Server(folder + "/models", *args)
        except AssertionError as e:
            said = str(e).removeprefix("the server does not start: ")
            assert said.count("\n") == 1 and "please report" not in said, (seed, what, said)
            state = "repaired"
            r = ferry("stream", m, "--state", folder + "/state/m", "--repair", code=None)
            try:
                s = Server(folder + "/models", *args)
            except AssertionError as again:
                said = str(again).removeprefix("the server does not start: ")
                assert said.count("\n") == 1, (seed, what, r, said)
                counts["refused"] += 1
                continue
        with s:
            if state == "whole":
                got = s.post("/learn", [label(i) for i in range(40, 120)]).json
                assert all(a.get("repeated") is True for a in got), (seed, what, [a for a in got if not a.get("repeated")][:3])
            try:
                labels = [a["id"] for a in s.get("/models/m/admin/labels").lines if "y" in a]
            except http.client.HTTPException:  # an older segment, which only this reads: the answer breaks off, and the log says why
                labels = []
                assert "ferry: labels: " in s.read_log(), (seed, what)
            assert set(labels) <= sent and len(set(labels)) == len(labels), (seed, what)
            assert s.post("/learn", label(1000)).json.get("learned"), (seed, what)
            s.stop()
        counts[state] += 1
    print(f"# {counts}")
    assert counts["whole"] and counts["repaired"] + counts["refused"], counts


main(sys.modules[__name__])
