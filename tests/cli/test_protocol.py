"""The log of a model name and the versions that share it (docs/serve.md, src/stream/version.c, server/join.c) as a small
machine, of which every course is tried: clients that send again what was not acknowledged, versions that come, go and come back, snapshots
and new segments, writes that fail, and a kill or a power cut before and after every write, two of them in one course.

Whatever happens: the folder opens; every label that was acknowledged is learned once by the version that serves, and no label
twice by any; an instance that waits still does. Each step that the rules ask for is left out in turn, which must be found.

This is a model: the program itself is killed by soak_serve.py and test_power.py."""
import sys
from collections import namedtuple

import harness

FOLLOWS, REPLAYS, LEFT = "follows", "replays", "left"

# ---- a version: a position in the log, and what it made of the records up to there ----

Worker = namedtuple("Worker", "version seq mode learned queue ring")


def apply(w, record, serves):
    """What a version makes of the next record (ferry_i_worker_follow)."""
    kind, name = record
    if w.mode == LEFT:
        return w
    w = w._replace(seq=w.seq + 1)
    if kind == "serve":
        return w._replace(mode=LEFT) if serves == w.version and name != w.version else w
    if w.mode == REPLAYS and kind == "see":
        return w
    if kind == "see":
        return w._replace(queue=w.queue + (name,))
    return w._replace(learned=w.learned + (name,), ring=w.ring | {name}, queue=tuple(q for q in w.queue if q != name))


# ---- the disk ----

# segments: (after, serves, records), oldest first. synced: records of the newest that a power cut leaves. head: what was
# acknowledged; head_new: written, not synced. files: per version (what is durable, what was renamed over it and may not be).
Disk = namedtuple("Disk", "segments synced head head_new files")


def last_of(d):
    after, _, records = d.segments[-1]
    return after + len(records)


def record_at(d, seq):
    for after, serves, records in d.segments:
        if after < seq <= after + len(records):
            for r in records[:seq - after - 1]:
                serves = r[1] if r[0] == "serve" else serves
            return records[seq - after - 1], serves
    return None, None


def follow(d, w, until):
    """ferry_i_version_follow; None: the log no longer reaches back so far."""
    while w.seq < until and w.mode != LEFT:
        record, serves = record_at(d, w.seq + 1)
        if record is None:
            return None
        w = apply(w, record, serves)
    return w


def serving(d):
    _, serves, records = d.segments[-1]
    for kind, version in records:
        serves = version if kind == "serve" else serves
    return serves


def file_of(d, version):
    durable, renamed = d.files[version]
    return renamed or durable


def with_file(d, version, durable, renamed):
    files = list(d.files)
    files[version] = (durable, renamed)
    return d._replace(files=tuple(files))


def after_power_cut(d):
    """Every disk that a power cut may leave: unsynced records cut anywhere, unsynced renames there or not."""
    after, serves, records = d.segments[-1]
    disks = [d._replace(segments=d.segments[:-1] + ((after, serves, records[:n]),), synced=n) for n in range(d.synced, len(records) + 1)]
    disks = [e._replace(head=h, head_new=h) for e in disks for h in {d.head, d.head_new}]
    for v, (durable, renamed) in enumerate(d.files):
        if renamed:
            disks = [with_file(e, v, keep, None) for e in disks for keep in (durable, renamed)]
    return disks


# ---- the process ----

# worker: of the version that serves. buffer: records taken since `durable`. flush: how far the last batch is. acks: operations
# that the batch answers. rotate: how far a snapshot is. join: what the loading thread does.
Process = namedtuple("Process", "worker durable buffer flush acks rotate join")
Join = namedtuple("Join", "version stage worker until")
# events: how many have happened; crashes, failures, snapshots: how many may still
State = namedtuple("State", "disk process acked events crashes failures snapshots")


class Refused(Exception):
    pass


class Machine:
    """events: files of versions that come (2) and go (-2), in this order and at any time."""

    def __init__(self, events, replay, crashes, failures, snapshots, script=None, without=None, step=2):
        self.script, self.events, self.replay, self.without, self.step = script or SCRIPT, events, replay, without, step
        empty = Worker(1, 0, FOLLOWS, (), (), frozenset())
        files = [(None, None)] * (max((1, *events)) + 1)
        files[1] = (empty, None)
        disk = Disk(((0, 1, ()),), 0, 0, 0, tuple(files))
        self.start = State(disk, self.open(disk), frozenset(), 0, crashes, failures, snapshots)

    def open(self, d):
        """ferry_i_shared_open: refuses a log that is shorter than what was acknowledged, or a version that is ahead of it."""
        if last_of(d) < d.head:
            raise Refused(f"the log ends with record {last_of(d)}, {d.head} was acknowledged")
        serves = serving(d)
        w = file_of(d, serves)
        if w is None or w.mode != FOLLOWS or w.seq > last_of(d):
            raise Refused(f"version {serves} serves, and its file is {w}")
        w = follow(d, w, last_of(d))
        if w is None:
            raise Refused(f"version {serves} serves, and the log does not reach back to its file")
        return Process(w, last_of(d), (), None, (), None, None)

    def resume(self, d):
        """What open leaves on the disk: all of the log and the names are synced, and the head says so (resume_shared)."""
        n = last_of(d)
        if self.without != "names":
            d = d._replace(files=tuple((file_of(d, v), None) for v in range(len(d.files))))
        return d._replace(synced=len(d.segments[-1][2]), head=n, head_new=n)

    # each of these yields (what happened, the state after it)

    def client(self, s):
        """The next operation of the script is sent; one that was not acknowledged again."""
        p = s.process
        done = [i for i in range(len(self.script)) if i in s.acked]
        if p.flush or p.rotate or len(p.acks) > 1 or len(done) + len(p.acks) >= len(self.script):
            return
        i = next(i for i in range(len(self.script)) if i not in s.acked and i not in p.acks)
        kind, name = self.script[i]
        w = p.worker
        if kind == "late" and name not in w.queue and name not in w.ring:
            raise AssertionError(f"{name} was seen, and does not wait")
        known = kind != "see" and name in w.ring and name not in w.queue
        if known or (kind == "see" and (name in w.queue or name in w.ring)):
            if not p.buffer:  # an answer that something was here before promises as much as one that it is kept
                yield f"{kind} {name} again", s._replace(acked=s.acked | {i})
            return
        record = ("see" if kind == "see" else "label", name)
        yield f"{kind} {name}", s._replace(process=p._replace(worker=apply(w, record, w.version), buffer=p.buffer + (record,), acks=p.acks + (i,)))

    def flush(self, s):
        """Write, sync, head, answer (ferry_i_wal_flush)."""
        p, d = s.process, s.disk
        after, serves, records = d.segments[-1]
        if p.rotate:
            return
        if p.buffer and not p.flush:
            d = d._replace(segments=d.segments[:-1] + ((after, serves, records + p.buffer),))
            yield "write", s._replace(disk=d, process=p._replace(flush="written"))
        elif p.flush == "written":
            synced = d if self.without == "sync" else d._replace(synced=len(records))
            yield "sync", s._replace(disk=synced, process=p._replace(flush="synced"))
        elif p.flush == "synced":
            yield "write head", s._replace(disk=d._replace(head_new=last_of(d)), process=p._replace(flush="head"))
        elif p.flush == "head":
            p = p._replace(flush=None, buffer=(), acks=(), durable=last_of(d))
            yield "sync head, answer", s._replace(disk=d._replace(head=d.head_new), process=p, acked=s.acked | set(s.process.acks))

    def fail(self, s):
        """A write fails: what was not durable is cut off, the folder is opened again, the loading thread's work goes on
        from files. When only the head fails, it and what it names may be there."""
        p, d = s.process, s.disk
        if s.failures == 0 or not p.flush:
            return
        after, serves, records = d.segments[-1]
        outcomes = {"cut": d._replace(segments=d.segments[:-1] + ((after, serves, records[:p.durable - after]),), synced=min(d.synced, p.durable - after))}
        if p.flush == "written":
            outcomes["torn"] = outcomes["cut"]._replace(segments=d.segments[:-1] + ((after, serves, records[:p.durable - after + len(p.buffer) // 2]),))
        if p.flush == "head":
            outcomes = {"head": d, "head on disk": d._replace(head=d.head_new)}
        for how, e in outcomes.items():
            e = e._replace(head_new=e.head_new if p.flush == "head" else e.head)
            e = self.resume(e)
            yield f"fails: {how}", s._replace(disk=e, process=self.open(e)._replace(join=self.still(p.join)), failures=s.failures - 1)

    def still(self, join):
        """A version that took over while the disk failed begins again from its file."""
        return join if join and join.stage not in ("serving", "left") else None

    def snapshot(self, s):
        """The serving version's file, its name durable, then a new segment; old ones go (ferry_i_stream_snapshot)."""
        p, d = s.process, s.disk
        v = p.worker.version
        if p.buffer or p.flush:
            return
        if p.rotate is None and s.snapshots > 0 and last_of(d) > d.segments[-1][0]:
            e = d if self.without == "own file" else with_file(d, v, d.files[v][0], p.worker)
            yield "snapshot", s._replace(disk=e, process=p._replace(rotate="file"), snapshots=s.snapshots - 1)
        elif p.rotate == "file":
            e = d if self.without == "folder sync" else with_file(d, v, file_of(d, v), None)
            yield "sync folder", s._replace(disk=e, process=p._replace(rotate="segment"))
        elif p.rotate == "segment":
            e = d._replace(segments=d.segments + ((last_of(d), v, ()),), synced=0)
            yield "new segment", s._replace(disk=e, process=p._replace(rotate="drop"))
        elif p.rotate == "drop":
            e = d
            if (not p.join or self.without == "pin") and not self.replay:  # nobody reads, and no version to come learns from them
                e = d._replace(segments=d.segments[-1:])
            yield "drop segments", s._replace(disk=e, process=p._replace(rotate=None))

    def arrive(self, s):
        """Files of versions come and go; the highest should serve (models.c)."""
        p = s.process
        if s.events < len(self.events):
            yield "version {}".format(self.events[s.events]), s._replace(events=s.events + 1)
        there = {1}
        for v in self.events[:s.events]:
            there = there | {v} if v > 0 else there - {-v}
        target = max(there)
        if not p.join and target != p.worker.version:
            yield f"version {target} joins", s._replace(process=p._replace(join=Join(target, "load", None, 0)))

    def join(self, s):
        """The steps of join.c, each from files and what is durable."""
        p, d = s.process, s.disk
        j = p.join
        if not j:
            return
        first, durable = d.segments[0][0], p.durable
        to = lambda **new: s._replace(process=p._replace(join=j._replace(**new)))
        if j.stage == "load":
            w = file_of(d, j.version)
            if w is None or (w.mode == FOLLOWS and not first <= w.seq <= durable):
                w = Worker(j.version, 0, LEFT, (), (), frozenset())
            if w.mode == FOLLOWS:
                w = follow(d, w, durable)
            if w.mode == FOLLOWS:
                yield "follows already", to(stage="ready", worker=w)
            elif self.replay:
                yield "begins to replay", to(stage="replay", worker=w._replace(mode=REPLAYS, seq=max(w.seq, first)), until=durable)
            else:
                yield "does not replay", to(stage="inherit", worker=w)
        elif j.stage == "replay":
            w = follow(d, j.worker, min(j.until, j.worker.seq + self.step))
            kept = w._replace(seq=0) if self.without == "position" else w
            e = with_file(d, j.version, d.files[j.version][0], kept)
            yield "replays, file", s._replace(disk=e, process=p._replace(join=j._replace(worker=w, stage="replay sync")))
        elif j.stage == "replay sync":
            e = with_file(d, j.version, file_of(d, j.version), None)
            stage = "replay" if j.worker.seq < j.until else "inherit"
            yield "sync folder", s._replace(disk=e, process=p._replace(join=j._replace(stage=stage)))
        elif j.stage == "inherit":
            c = file_of(d, serving(d))
            last = max(durable, c.seq)
            if self.without == "durable":  # reads what was written and may be cut off
                last = last_of(d)
            c = follow(d, c, last)
            w = j.worker
            if c is None:
                raise AssertionError("the log does not reach back to the file of the version that serves")
            if self.replay:
                w = follow(d, w, last)
            if self.without == "inherit":
                w = w._replace(ring=c.ring, seq=last, mode=FOLLOWS)
            else:
                w = w._replace(queue=c.queue, ring=c.ring, seq=last, mode=FOLLOWS)
            e = d if self.without == "file before" else with_file(d, j.version, d.files[j.version][0], w)
            yield "inherits, file", s._replace(disk=e, process=p._replace(join=j._replace(worker=w, stage="inherit sync")))
        elif j.stage == "inherit sync":
            e = with_file(d, j.version, file_of(d, j.version), None)
            yield "sync folder", s._replace(disk=e, process=p._replace(join=j._replace(stage="ready")))
        elif j.stage == "ready" and not (p.buffer or p.flush or p.rotate):  # in the writer, between jobs
            w = follow(d, j.worker, durable)
            if w is None:
                raise AssertionError("the log does not reach back to a version that follows")
            record = ("serve", j.version)
            yield "serve", s._replace(process=p._replace(buffer=(record,), join=j._replace(stage="serving", worker=w)))
        elif j.stage == "serving" and not p.buffer:
            record = ("serve", j.version)
            old, w = apply(p.worker, record, p.worker.version), apply(j.worker, record, p.worker.version)
            yield "serves", s._replace(process=p._replace(worker=w, join=j._replace(stage="left", worker=old)))
        elif j.stage == "left":
            old = j.worker._replace(queue=())
            yield "file of the old one", s._replace(disk=with_file(d, old.version, d.files[old.version][0], old), process=p._replace(join=None))

    def crash(self, s):
        if s.crashes == 0:
            return
        disks = [("kill -9", s.disk)] + [("power cut", d) for d in after_power_cut(s.disk)]
        for how, d in disks:
            opened = self.open(d)
            yield how, s._replace(disk=self.resume(d), process=opened, crashes=s.crashes - 1)

    def steps(self, s):
        p = s.process
        serving_now = p.join and p.join.stage == "serving"
        if not serving_now:  # the writer is in a call
            yield from self.client(s)
            yield from self.snapshot(s)
        yield from self.flush(s)
        yield from self.fail(s)
        yield from self.arrive(s)
        yield from self.join(s)
        yield from self.crash(s)

    def check(self, s):
        p, d = s.process, s.disk
        workers = [p.worker] + [w for pair in d.files for w in pair if w] + ([p.join.worker] if p.join and p.join.worker else [])
        for w in workers:
            assert len(set(w.learned)) == len(w.learned), f"learned twice: {w}"
            assert len(set(w.queue)) == len(w.queue), f"waits twice: {w}"
        labelled = {self.script[i][1] for i in s.acked if self.script[i][0] != "see"}
        for i in s.acked:
            kind, name = self.script[i]
            if kind == "see":
                assert name in p.worker.queue or name in p.worker.ring, f"{name} was seen, and neither waits nor was learned: {p.worker}"
            else:
                assert name in p.worker.ring, f"{name} was acknowledged, and would be learned again: {p.worker}"
                assert not self.replay or name in p.worker.learned, f"{name} was acknowledged, and is not learned: {p.worker}"
            assert not (name in labelled and name in p.worker.queue), f"{name} has its label, and waits: {p.worker}"

    def explore(self):
        """Every state that can be reached; (how many, the course to the first one that is wrong and why)."""
        came, todo = {self.start: None}, [self.start]
        while todo:
            s = todo.pop()
            try:
                self.check(s)
                for what, t in self.steps(s):
                    if t not in came:
                        came[t] = (s, what)
                        todo.append(t)
            except (AssertionError, Refused) as e:
                course = []
                while came[s]:
                    s, what = came[s]
                    course.append(what)
                return len(came), course[::-1] + [str(e)]
        ends = sum(1 for s in came if len(s.acked) == len(self.script))
        assert ends, "no course gets to its end"
        return len(came), None


SCRIPT = (("see", "a"), ("both", "b"), ("late", "a"))


def fine(**what):
    n, wrong = Machine(**what).explore()
    assert wrong is None, "\n".join(wrong)
    print(f"# {n} states")


def test_one_version(folder):
    fine(events=(), replay=True, crashes=3, failures=2, snapshots=2)


def test_take_over(folder):
    for replay in (True, False):
        fine(events=(2,), replay=replay, crashes=2, failures=1, snapshots=1)


def test_there_and_back(folder):
    """The second version goes and the first serves again; a third comes; the second comes back."""
    for events in ((2, -2), (2, 3), (2, -2, 2)):
        for replay in (True, False):
            fine(events=events, replay=replay, crashes=1, failures=0, snapshots=1)


def test_what_is_left_out_is_found(folder):
    """Without one of its rules the protocol loses a label, learns one twice or does not open: the checks see it."""
    for without, replay in (("sync", True), ("own file", False), ("folder sync", False), ("pin", False), ("position", True), ("durable", True),
                            ("inherit", True), ("file before", True), ("names", True)):
        n, wrong = Machine(events=(2,), replay=replay, crashes=2, failures=1, snapshots=1, without=without).explore()
        assert wrong, f"without {without} nothing is wrong in {n} states"
        print(f"# without {without}: {wrong[-1]}")


if __name__ == "__main__":
    harness.main(sys.modules[__name__])
