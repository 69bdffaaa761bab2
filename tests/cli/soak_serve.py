"""ferry serve is killed (kill -9) over and over while clients send labels and versions of the model come, take over, go and come
back; in a third of the courses the disk is full or fails meanwhile. Nothing that was acknowledged is lost, nothing is learned
twice, everybody gets the answers to their own rows, and the version that serves in the end has the same bits as the model
that is taught the exported labels by ferry stream.

usage: [FERRY_FAULTS=libferry_faults.so] python3 -B soak_serve.py FERRY [--kills N] [--changes N] [--seed N] [--jobs N]

Until there were N kills (10000 unless given) and N changes of versions (1000). test_serve_crash.py runs a slice of it."""
import argparse
import atexit
import hashlib
import http.client
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from harness import FERRY, ferry
from serve_client import JSON, Server
from stream_lines import FEATURES, model

GONE = (ConnectionError, http.client.HTTPException, OSError, ValueError)


class Count:
    """What a soak has done."""

    def __init__(self):
        self.kills = self.changes = self.labels = self.waited = self.courses = self.unkept = self.hurt = 0

    def add(self, other):
        for k, v in vars(other).items():
            setattr(self, k, getattr(self, k) + v)

    def __str__(self):
        return (f"{self.kills} kills and {self.changes} changes of versions in {self.courses} courses ({self.hurt} with a full or failing disk): "
                f"{self.labels} labels acknowledged, {self.waited} of them late; {self.unkept} requests not acknowledged")


def row(name):
    """An instance and its label, which depend on nothing but its name."""
    rng = random.Random(name)
    return [round(rng.gauss(0, 1), 3) for _ in range(FEATURES)], rng.choice("abc")


class Client(threading.Thread):
    """Sends new instances with their labels, instances that wait, and labels for those; again, if it had no answer."""

    def __init__(self, name, seed):
        super().__init__(daemon=True)
        self.prefix, self.rng = name, random.Random(f"{seed} {name}")
        self.n = 0
        self.labelled, self.waiting, self.open = {}, [], []  # labelled: acknowledged; open: (kind, ids) that may have arrived
        self.late = self.unkept = 0
        self.server, self.wrong = None, None

    def names(self):
        k = self.rng.choice([1, 1, 3, 10, 40])
        self.n += k
        return [f"{self.prefix}-{i}" for i in range(self.n - k, self.n)]

    def next(self):
        if self.open:
            return self.open.pop(0)
        what = self.rng.random()
        if what < 0.3 and self.waiting:
            some = self.rng.sample(self.waiting, min(len(self.waiting), self.rng.choice([1, 2, 20])))
            self.waiting = [w for w in self.waiting if w not in some]
            return "late", some
        return ("see" if what < 0.55 and len(self.waiting) < 60 else "both"), self.names()

    def body(self, kind, ids):
        rows = [(i, *row(i)) for i in ids]
        return [{"id": i, "y": y} if kind == "late" else {"id": i, "x": x} if kind == "see" else {"id": i, "x": x, "y": y} for i, x, y in rows]

    def take(self, kind, ids, answers):
        assert len(answers) == len(ids), f"{len(answers)} answers to {len(ids)} rows"
        for i, a in zip(ids, answers):
            assert a.get("id") == i, f"{i}: {a}"
            if kind == "see":
                assert "prediction" in a, a
                self.waiting.append(i)
            else:
                assert a.get("learned") == row(i)[1] or a.get("repeated") is True, f"{kind} {i}: {a}"
                self.labelled[i] = True
                self.late += kind == "late"

    def run(self):
        c = None
        while not self.server.over:
            kind, ids = self.next()
            try:
                c = c or self.server.connection()
                c.request("POST", "/predict" if kind == "see" else "/learn", json.dumps(self.body(kind, ids)), {"Content-Type": JSON})
                r = c.getresponse()
                status, got = r.status, json.loads(r.read())
            except GONE:  # it was killed: whether it arrived is not known
                self.open.append((kind, ids))
                return
            if status == 200:
                try:
                    self.take(kind, ids, got)
                except AssertionError as e:
                    self.wrong = e
                    return
            else:
                assert status in (429, 503, 507), (status, got)
                self.unkept += 1
                self.open.append((kind, ids))
                time.sleep(0.02)

    def again(self):
        """The same client for the next process."""
        other = Client(self.prefix, 0)
        for k in ("rng", "n", "labelled", "waiting", "open", "late", "unkept"):
            setattr(other, k, getattr(self, k))
        return other


class Course:
    """One state folder, from its first version to its last."""

    def __init__(self, folder, model_path, seed, disk):
        self.folder, self.seed, self.disk = folder, seed, disk
        self.rng = random.Random(f"course {seed}")
        self.models, self.state, self.faults = folder + "/models", folder + "/state", folder + "/faults"
        os.makedirs(self.models + "/m")
        self.original = model_path
        self.there, self.highest = [], 0
        self.count = Count()
        self.put()
        self.clients = [Client(f"{k}", seed) for k in "pqr"[:self.rng.choice([1, 2, 3])]]
        self.args = ["--state", self.state, "--replay", "--sync", self.rng.choice(["batch", "batch", "always", "off"])]
        for s in ("poll=1", "log=none", "keep=1000000", "remember=1000000", f"snapshot={self.rng.choice([7, 40, 300, 10000])}", "timeout=5"):
            self.args += ["--set", s]

    def put(self):
        self.highest += 1
        shutil.copy(self.original, self.models + "/m/.new")
        os.rename(self.models + "/m/.new", f"{self.models}/m/{self.highest}.ferry")
        self.there.append(self.highest)

    def change(self):
        """A new version, or the highest goes and the one below serves again."""
        if len(self.there) > 1 and self.rng.random() < 0.35:
            os.remove(f"{self.models}/m/{self.there.pop()}.ferry")
        else:
            self.put()
        while len(self.there) > 3:
            os.remove(f"{self.models}/m/{self.there.pop(0)}.ferry")

    def start(self):
        env = {}
        if "FERRY_FAULTS" in os.environ and self.disk == "fails":
            env = {"LD_PRELOAD": os.environ["FERRY_FAULTS"], "FERRY_TEST_ROOT": self.state, "FERRY_TEST_FAULTS": self.faults,
                   "ASAN_OPTIONS": "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")}
        s = Server(self.models, *self.args, env=env)
        s.over = False
        return s

    def hurt(self, s):
        """The disk is full or fails from now on; what makes it good again."""
        if self.disk == "fails":
            with open(self.faults, "w") as f:
                f.write(str(self.rng.choice([2, 4, 10])))
            return lambda: os.remove(self.faults)
        size = os.path.getsize(self.state + "/m/1.ferry")
        soft, hard = resource.prlimit(s.p.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(s.p.pid, resource.RLIMIT_FSIZE, (max(1000, int(size * self.rng.choice([0.3, 1, 1.1]))), hard))
        return lambda: s.p.poll() is None and resource.prlimit(s.p.pid, resource.RLIMIT_FSIZE, (soft, hard))

    def known(self, s):
        """Some of what was acknowledged: it is known."""
        all_ = [i for c in self.clients for i in c.labelled]
        some = self.rng.sample(all_, min(len(all_), 300))
        if some:
            got = s.post("/learn", [{"id": i, "x": row(i)[0], "y": row(i)[1]} for i in some]).json
            lost = [i for i, a in zip(some, got) if a.get("repeated") is not True]
            assert not lost, f"{len(lost)} of {len(some)} labels are not known any more: {lost[:5]}"

    def round(self):
        """One process, until it is killed."""
        with self.start() as s:
            self.known(s)
            for c in self.clients:
                c.server = s
                c.start()
            heal, changes = None, self.rng.choice([0, 1, 1, 2])
            for _ in range(changes):
                time.sleep(self.rng.random() * 0.15)
                if self.disk and not heal and self.rng.random() < 0.5:
                    heal = self.hurt(s)
                self.change()
                self.count.changes += 1
                s.p.send_signal(signal.SIGHUP)
                if self.rng.random() < 0.6:  # the take-over itself
                    try:
                        c = s.connection()
                        c.request("POST", "/admin/reload", b"")
                        if self.rng.random() < 0.5:
                            c.getresponse().read()
                    except GONE:
                        pass
                if heal and self.rng.random() < 0.5:
                    heal()
                    heal = None
            time.sleep(self.rng.random() * self.rng.choice([0.02, 0.2, 0.6]))
            if s.p.poll() is not None:
                raise AssertionError(f"it ended by itself: {s.read_log()[-2000:]}")
            s.p.kill()
            s.p.wait()
            s.over = True
            if heal and self.disk == "fails":
                heal()
            for c in self.clients:
                c.join()
                if c.wrong:
                    raise c.wrong
            self.count.kills += 1
        self.clients = [c.again() for c in self.clients]

    def end(self):
        """Everything arrives; then what is in the log, and what the version that serves made of it."""
        with self.start() as s:
            self.known(s)
            s.wait_for(lambda: [v["version"] for v in s.get("/stats").json["versions"] if v["current"]] == [self.there[-1]])
            for c in self.clients:
                todo = c.open + [("late", [w]) for w in c.waiting]
                c.open, c.waiting = [], []
                while todo:
                    kind, ids = todo.pop(0)
                    got = s.post("/predict" if kind == "see" else "/learn", c.body(kind, ids))
                    c.take(kind, ids, got.json)
                    todo += [("late", [w]) for w in c.waiting]
                    c.waiting = []
            log = s.get("/admin/labels").lines
            rng = random.Random(9)
            probe = [{"x": [round(rng.gauss(0, 1), 2) for _ in range(FEATURES)]} for _ in range(50)]
            served = s.post("/predict?scores=1", probe).json
            assert s.metric("ferry_waiting", version=str(self.there[-1])) == 0
            s.stop()
        ids = [a["id"] for a in log]
        assert len(set(ids)) == len(ids), f"learned twice: {[i for i in ids if ids.count(i) > 1][:5]}"
        labelled = {i for c in self.clients for i in c.labelled}
        assert labelled == set(ids), f"lost {list(labelled - set(ids))[:5]}, never sent {list(set(ids) - labelled)[:5]}"
        assert all((a["x"], a["y"]) == row(a["id"]) for a in log)
        ferry("stream", self.original, "--state", self.folder + "/again", stdin="".join(json.dumps(a) + "\n" for a in log))
        with Server(self.folder + "/again/snapshot.ferry") as s:
            assert s.post("/predict?scores=1", probe).json == served, "not the same bits as the labels once, in their order"
            s.stop()
        for c in self.clients:
            self.count.waited += c.late
            self.count.unkept += c.unkept
        self.count.labels += len(ids)
        self.count.courses += 1
        self.count.hurt += self.disk is not None


def course(model_path, seed, kills):
    """One course of some kills in a folder of its own; what it did."""
    folder = tempfile.mkdtemp(prefix="ferry-soak-")
    disk = [None, None, "full" if seed % 2 or "FERRY_FAULTS" not in os.environ else "fails"][seed % 3]
    try:
        c = Course(folder, model_path, seed, disk)
        for _ in range(kills):
            c.round()
        c.end()
    except BaseException as e:
        raise AssertionError(f"seed {seed}, disk {disk} ({folder} is kept): {type(e).__name__}: {e}") from e
    shutil.rmtree(folder)
    return c.count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ferry")
    parser.add_argument("--kills", type=int, default=10000)
    parser.add_argument("--changes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    a = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="ferry-soak-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    m = model(folder)
    total, begin, seed = Count(), time.monotonic(), a.seed * 1000003
    with ThreadPoolExecutor(a.jobs) as pool:
        while total.kills < a.kills or total.changes < a.changes:
            for done in pool.map(lambda k: course(m, k, 20), range(seed, seed + 3 * a.jobs)):
                total.add(done)
            seed += 3 * a.jobs
            print(f"{total}, {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    print(f"{total}; nothing lost, nothing learned twice, no answer to another's request, {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
