"""Sequences of requests to ferry serve, made at random and long enough to come back to the same ids: every answer is what a few lines of Python
say it must be, across snapshots, new versions, stops and kills. And a version that takes over what waits leaves other models alone."""
import os
import random
import shutil
import sys
import threading

import harness
from serve_client import ROW, Server, fit


def put(models, name, version):
    """A new version of a model: its first one again."""
    shutil.copy(f"{models}/{name}/1.ferry", f"{models}/{name}/.new")
    os.rename(f"{models}/{name}/.new", f"{models}/{name}/{version}.ferry")


class Story:
    """What a client knows: the rows that wait, and the ids whose labels were learned."""

    def __init__(self, seed):
        self.rng, self.waiting, self.learned, self.n = random.Random(seed), {}, {}, 0

    def row(self):
        return [round(self.rng.gauss(0, 1), 3) for _ in ROW]

    def fresh(self):
        self.n += 1
        return f"i{self.n}"

    def one(self):
        """The path, a line, and what must be in its answer; None: an error."""
        kinds = ["see", "both", "unknown"] + ["again", "other", "late", "take back"] * bool(self.waiting) + ["repeat", "forget"] * bool(self.learned)
        kind = self.rng.choice(kinds)
        some = lambda ids: self.rng.choice(sorted(ids))
        y = self.rng.choice(["c1", "c2", "c3"])
        if kind == "see":
            i = self.fresh()
            self.waiting[i] = self.row()
            return "/predict", {"id": i, "x": self.waiting[i]}, {"id": i, "repeated": None}
        if kind == "again":
            i = some(self.waiting)
            return "/predict", {"id": i, "x": self.waiting[i]}, {"id": i, "repeated": True}
        if kind == "other":
            i = some(self.waiting)
            return "/predict", {"id": i, "x": [v + 1 for v in self.waiting[i]]}, None
        if kind == "both":
            i = self.fresh()
            self.learned[i] = y
            return "/learn", {"id": i, "x": self.row(), "y": y}, {"id": i, "learned": y, "repeated": None}
        if kind == "late":
            i = some(self.waiting)
            del self.waiting[i]
            self.learned[i] = y
            return "/learn", {"id": i, "y": y}, {"id": i, "learned": y, "repeated": None}
        if kind == "repeat":
            i = some(self.learned)
            return "/learn", {"id": i, "y": y}, {"id": i, "repeated": True, "learned": None}
        if kind == "unknown":
            return "/learn", {"id": "never" + self.fresh(), "y": y}, None
        i = some(self.waiting if kind == "take back" else self.learned)
        (self.waiting if kind == "take back" else self.learned).pop(i)
        return "/learn", {"id": i, "retract": True}, {"id": i, "error": None}

    def request(self):
        """Some lines to one path, which depend on one another."""
        path, line, want = self.one()
        lines, wants = [line], [want]
        for _ in range(self.rng.choice([0, 0, 1, 5])):
            before = dict(self.waiting), dict(self.learned), self.n
            other, line, want = self.one()
            if other != path:
                self.waiting, self.learned, self.n = before
                break
            lines.append(line)
            wants.append(want)
        return path, lines, wants


def agrees(answer, want):
    if want is None:
        return "error" in answer
    return "error" not in answer and all(answer.get(k) == v for k, v in want.items())


def play(s, story, requests):
    for _ in range(requests):
        path, lines, wants = story.request()
        got = s.post("/models/m" + path, lines).json
        assert len(got) == len(wants), (lines, got)
        for line, a, want in zip(lines, got, wants):
            assert agrees(a, want), f"{path} {line}: got {a}, expected {want or 'an error'}"


def test_sequences(folder, seeds=(1, 2), rounds=6):
    for seed in seeds:
        story, models, args = Story(seed), f"{folder}/models{seed}", ["--state", f"{folder}/state{seed}", "--replay", "--set", "poll=60", "--set", "snapshot=40"]
        fit(folder, "mpa", f"models{seed}/m/1.ferry")
        for k in range(rounds):
            with Server(models, *args) as s:
                play(s, story, 15)
                what = story.rng.choice(["snapshot", "version", "nothing"])
                if what == "snapshot":
                    s.post("/models/m/admin/snapshot")
                elif what == "version":
                    put(models, "m", k + 2)
                    s.post("/admin/reload")
                    if story.rng.random() < 0.5:  # half of them take over before the next request
                        s.wait_for(lambda: [v["version"] for v in s.get("/stats").json["versions"] if v["current"]] == [k + 2])
                play(s, story, 15)
                if story.rng.random() < 0.5:
                    s.stop()  # else it is killed
        with Server(models, *args) as s:
            labels = {}
            for a in s.get("/models/m/admin/labels").lines:
                if "retract" in a:
                    labels.pop(a["id"], None)
                else:
                    assert a["id"] not in labels, f"learned twice: {a}"
                    labels[a["id"]] = a["y"]
            assert labels == story.learned, (labels, story.learned)
            s.stop()


def test_a_switch_leaves_other_models_alone(folder, n=10_000):
    """A version takes over 10,000 instances that wait; requests to another model are all answered meanwhile, and its labels find them."""
    models = folder + "/models"
    fit(folder, "mpa", "models/m/1.ferry")
    fit(folder, "logreg", "models/other/1.ferry")
    with Server(models, "--state", folder + "/state", "--set", "poll=60") as s:
        got = s.post("/models/m/predict", [{"id": f"w{i}", "x": ROW} for i in range(n)]).json
        assert all("prediction" in a for a in got)
        over, wrong, asked = threading.Event(), [], []

        def ask():
            c = s.connection()
            try:
                while not over.is_set():
                    c.request("POST", "/models/other/predict", '{"x": %s}' % ROW, {"Content-Type": "application/json"})
                    r = c.getresponse()
                    r.read()
                    asked.append(r.status)
                    over.wait(0.005)
            except Exception as e:  # noqa: BLE001
                wrong.append(f"{type(e).__name__}: {e}")

        others = [threading.Thread(target=ask, daemon=True) for _ in range(2)]
        [t.start() for t in others]
        put(models, "m", 2)
        s.post("/admin/reload")
        s.wait_for(lambda: s.metric("ferry_waiting", model="m", version="2") == n)
        over.set()
        [t.join() for t in others]
        assert not wrong and set(asked) == {200}, (wrong, set(asked))
        said = s.post("/models/m/learn", [{"id": f"w{i}", "y": "c1"} for i in (0, n // 2, n - 1)]).json
        assert all(a.get("learned") == "c1" for a in said), said
        s.stop()


if __name__ == "__main__":
    harness.main(sys.modules[__name__])
