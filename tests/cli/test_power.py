"""The power goes while ferry stream or ferry serve works: a stand-in for the disk (disk.c) loses what was not synced, or keeps any part of
it, names of files included. With --sync always and batch whatever was acknowledged is there and nothing is refused."""
import http.client
import json
import os
import random
import shutil
import subprocess
import sys

from harness import FERRY, Skip, ferry, main
from serve_client import JSON, Server
from stream_lines import FEATURES, lines, model

N = 14
ARGS = ["--set", "waiting=50", "--set", "snapshot=6"]
SECTOR = 512


def content(path):
    if not os.path.exists(path):
        return b""
    with open(path, "rb") as f:
        return f.read()


def on_disk(cut, torn, root, disk):
    """The environment of a program on the disk until event number `cut`."""
    shutil.rmtree(disk, ignore_errors=True)
    os.makedirs(disk)
    env = {**os.environ, "LD_PRELOAD": os.environ["FERRY_DISK"], "FERRY_TEST_ROOT": root, "FERRY_TEST_DISK": disk,
           "FERRY_TEST_CUT": str(cut)}
    env["ASAN_OPTIONS"] = "verify_asan_link_order=0:" + env.get("ASAN_OPTIONS", "")
    if torn:
        env["FERRY_TEST_TORN"] = "1"
    if os.path.exists(root):  # what is there when it starts is on the disk
        with open(disk + "/names", "w") as f:
            for name in os.listdir(root):
                inode = os.stat(f"{root}/{name}").st_ino
                f.write(f"{inode} {name}\n")
                os.link(f"{root}/{name}", f"{disk}/keep.{inode}")
                shutil.copy(f"{root}/{name}", f"{disk}/inode.{inode}")
        open(disk + "/parent", "w").close()
    return env


def run_until(cut, torn, root, disk, args, text):
    """Run on the disk until event number `cut`; all that it said, and whether it got to its end."""
    p = subprocess.run([FERRY, *args], input=text, env=on_disk(cut, torn, root, disk), capture_output=True)
    assert p.returncode in (0, -9), p
    return p.stdout, p.returncode == 0


def after_the_cut(rng, root, disk):
    """Put into root what the disk may hold: of every file what was synced, or any mixture of that and what was written
    later, by sectors; of the names those that were synced, or those after any change since."""
    names = [content(disk + "/names")] + [content(f"{disk}/later.{i}") for i in range(1, 50)
                                          if os.path.exists(f"{disk}/later.{i}")]
    way = rng.choice(["synced", "names", "any", "any"])
    listing = {"synced": names[0], "names": names[-1]}.get(way) or rng.choice(names)
    there = os.path.exists(disk + "/parent") or way == "names"
    files = {}
    for line in listing.decode().splitlines():
        inode, name = line.split(" ", 1)
        synced = content(f"{disk}/inode.{inode}")
        live = content(f"{disk}/keep.{inode}") or content(f"{root}/{name}")
        if way == "any":
            n = rng.choice([len(synced), len(live), rng.randint(min(len(synced), len(live)), max(len(synced), len(live)))])
            parts = [rng.choice([synced, live])[at:at + SECTOR] for at in range(0, n, SECTOR)]
            files[name] = b"".join(part.ljust(SECTOR, b"\0") for part in parts)[:n]
        else:
            files[name] = synced
    shutil.rmtree(root)
    if there:
        os.makedirs(root)
        for name, data in files.items():
            with open(f"{root}/{name}", "wb") as f:
                f.write(data)


def acknowledged(out):
    """The last number of the complete answers."""
    said = [json.loads(line) for line in out[:out.rfind(b"\n") + 1].splitlines()]
    assert all("error" not in a for a in said), said
    return max([a["seq"] for a in said], default=0)


def cut_everywhere(folder, sync, step=1, before=0):
    """Cut at every event of a stream, or every so many; `before` lines were taken by a run before."""
    if "FERRY_DISK" not in os.environ:
        raise Skip("FERRY_DISK is not set (ctest sets it)")
    rng = random.Random(4)
    m, root, disk = model(folder), folder + "/s", folder + "/disk"
    text = [line.encode() + b"\n" for line in lines(N)]
    args = ["stream", m, "--state", root, "--sync", sync, *ARGS]
    ferry("stream", m, "--state", folder + "/whole", *ARGS, stdin=b"".join(text), text=False)
    cut, done, cuts, refused = rng.randint(1, step), False, 0, 0
    while not done:
        shutil.rmtree(root, ignore_errors=True)
        if before:  # killed, not ended: the log has records
            p = subprocess.Popen([FERRY, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            p.stdin.write(b"".join(text[:before]))
            p.stdin.flush()
            for _ in range(before):
                p.stdout.readline()
            p.kill()
            p.communicate()
        out, done = run_until(cut, rng.random() < 0.5, root, disk, args, b"".join(text[before:]))
        got = max(acknowledged(out), before)
        after_the_cut(rng, root, disk)
        r = ferry(*args, stdin=b"{}\n", text=False, code=0 if sync != "off" else None)
        if r.code == 2:  # sync off promises nothing here, but says how to go on
            assert b"ferry stream --repair" in r.err, r
            ferry(*args, "--repair")
            refused += 1
            r = ferry(*args, stdin=b"{}\n", text=False)
        kept = json.loads(r.out)["seq"]
        if sync != "off":
            assert kept >= got, f"cut {cut}: record {got} was acknowledged, {kept} is the last"
        ferry(*args, stdin=b"".join(text[kept:]), text=False)
        if not refused or sync != "off":
            assert content(root + "/snapshot.ferry") == content(folder + "/whole/snapshot.ferry"), f"cut {cut}"
        assert sorted(set(os.listdir(root)) - {"log.damaged"}) == ["head", "lock", "log", "snapshot.ferry"], os.listdir(root)
        cut += rng.randint(1, 2 * step - 1)
        cuts += 1
    assert cuts > 5, cuts
    print(f"# {cuts} cuts, {refused} refused and repaired")


def test_always(folder):
    cut_everywhere(folder, "always", 2)


def test_batch(folder):
    cut_everywhere(folder, "batch")


def test_going_on(folder):
    cut_everywhere(folder, "always", 2, before=4)


def test_off(folder):
    cut_everywhere(folder, "off")


def instance(i):
    return {"id": i, "x": [round(random.Random(i).gauss(0, 1), 3) for _ in range(FEATURES)]}


def serve_until_cut(s, models, known, waiting):
    """Labels, an instance that waits, two new versions, one that goes again; true when it got to its end."""
    def learn(names, late=False):
        s.post("/learn", [{"id": i, "y": "a"} if late else {**instance(i), "y": "a"} for i in names])
        known.extend(names)

    def see(name):
        s.post("/predict", [instance(name)])
        waiting.append(name)

    def version(n):
        shutil.copy(models + "/m/1.ferry", models + "/m/.new")
        os.rename(models + "/m/.new", f"{models}/m/{n}.ferry")
        s.post("/admin/reload")

    learn(["l1", "l2"])
    see("w1")
    learn(["l3"])
    version(2)
    learn(["l4"])
    see("w2")
    learn(["w1"], late=True)
    version(3)
    learn(["l5", "l6"])
    os.remove(models + "/m/3.ferry")
    s.post("/admin/reload")
    learn(["l7"])


def test_serve(folder, step=7):
    """What was acknowledged is known and what waits still does, whatever the disk kept: also while versions change."""
    if "FERRY_DISK" not in os.environ:
        raise Skip("FERRY_DISK is not set (ctest sets it)")
    rng = random.Random(8)
    m, root, disk, models = model(folder), folder + "/state/m", folder + "/disk", folder + "/models"
    args = ["--state", folder + "/state", "--replay", "--sync", "always", "--set", "poll=60", "--set", "snapshot=3"]
    cut, done, cuts = 1, False, 0
    while not done:
        shutil.rmtree(folder + "/state", ignore_errors=True)
        shutil.rmtree(models, ignore_errors=True)
        os.makedirs(models + "/m")
        shutil.copy(m, models + "/m/1.ferry")
        known, waiting, s = [], [], None
        try:
            with Server(models, *args, env=on_disk(cut, rng.random() < 0.5, root, disk)) as s:
                serve_until_cut(s, models, known, waiting)
                done = True
                s.stop()
        except (AssertionError, ConnectionError, http.client.HTTPException):
            assert s is None or s.p.wait() == -9, s.read_log()  # None: it was cut before it served
        after_the_cut(rng, root, disk)
        with Server(models, *args) as s:
            said = s.post("/learn", [{**instance(i), "y": "a"} for i in known]).json
            assert all(a.get("repeated") is True for a in said), f"cut {cut}: {said}"
            late = [i for i in waiting if i not in known]
            said = s.post("/learn", [{"id": i, "y": "a"} for i in late]).json
            assert all(a.get("learned") == "a" or a.get("repeated") for a in said), f"cut {cut}: {said}"
            names = [a["id"] for a in s.get("/admin/labels").lines]
            assert len(set(names)) == len(names) and set(known) <= set(names), names
            s.stop()
        cut += rng.randint(1, 2 * step - 1)
        cuts += 1
    assert cuts > 20, cuts
    print(f"# {cuts} cuts")


def test_repair(folder):
    """The power goes while a damaged log is repaired: what can be salvaged still can."""
    if "FERRY_DISK" not in os.environ:
        raise Skip("FERRY_DISK is not set (ctest sets it)")
    rng = random.Random(6)
    m, root, disk = model(folder), folder + "/s", folder + "/disk"
    p = subprocess.Popen([FERRY, "stream", m, "--state", root], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True)
    p.stdin.write("\n".join(lines(N)) + "\n")
    p.stdin.flush()
    for _ in range(N):
        p.stdout.readline()
    p.kill()
    p.communicate()
    log = bytearray(content(root + "/log"))
    log[500] ^= 1
    with open(root + "/log", "wb") as f:
        f.write(log)
    shutil.copytree(root, folder + "/damaged")
    args = ["stream", m, "--state", root, "--repair"]
    assert "the last one is record 14" in ferry(*args).err
    want = content(root + "/snapshot.ferry")
    done, cut = False, 1
    while not done:
        shutil.rmtree(root)
        shutil.copytree(folder + "/damaged", root)
        _, done = run_until(cut, rng.random() < 0.5, root, disk, args, b"")
        after_the_cut(rng, root, disk)
        ferry(*args)
        assert content(root + "/snapshot.ferry") == want, cut
        assert '"seq":14' in ferry(*args[:-1], stdin="{}\n").out
        cut += 1
    assert cut > 10


main(sys.modules[__name__])
