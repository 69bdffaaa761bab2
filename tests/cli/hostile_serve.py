"""Hostile requests to ferry serve beside honest clients: no byte of one client reaches another, honest clients get every answer, memory stays
within the limit and the server lives; versions that are no good come and go meanwhile.

usage: [FERRY_SERVE=a build with sanitizers] python3 -B hostile_serve.py FERRY [--requests N] [--seed N]

N requests (1000000 unless given) by attackers with no token, with one that may read and with one that may learn. test_serve_stress.py runs a
slice of it. Ends with its counts, and the honest clients' p50 and p99 before and during the attack."""
import argparse
import atexit
import gzip
import json
import os
import random
import secrets
import shutil
import socket
import sys
import tempfile
import threading
import time

from harness import write
from serve_client import JSON, LINES, ROW, SERVE, Server, fit

MEMORY = 64 << 20


def token_line(name, role, more=""):
    import hashlib
    return f"{name} {role} {hashlib.sha256(name.encode()).hexdigest()} {more}\n"


class Honest(threading.Thread):
    """Sends rows that wait, their labels, and questions; every answer is to its own ids. Its ids are a secret."""

    def __init__(self, server, secret, k):
        super().__init__(daemon=True)
        self.server, self.prefix, self.rng = server, f"{secret}-{k}-", random.Random(k)
        self.times, self.wrong, self.labels, self.put_off, self.over = [], None, 0, 0, False

    def ask(self, c, path, body):
        begin = time.monotonic()
        c.request("POST", path, json.dumps(body), {"Content-Type": JSON, "Authorization": "Bearer honest"})
        r = c.getresponse()
        answer = r.read()
        self.times.append(time.monotonic() - begin)
        return r.status, json.loads(answer)

    def run(self):
        try:
            c, n = self.server.connection(), 0
            while not self.over:
                ids = [f"{self.prefix}{n + i}" for i in range(self.rng.choice([1, 3, 10]))]
                rows = [[round(self.rng.gauss(0, 1), 3) for _ in ROW] for _ in ids]
                for path, body in (("/models/m/predict", [{"id": i, "x": x} for i, x in zip(ids, rows)]), ("/models/m/learn", [{"id": i, "y": "c1"} for i in ids]),
                                   ("/models/m/predict", [{"x": x} for x in rows])):
                    status, got = self.ask(c, path, body)
                    while status == 429:
                        self.put_off += 1
                        time.sleep(0.02)
                        status, got = self.ask(c, path, body)
                    assert status == 200 and len(got) == len(ids), (path, status, got)
                    if "id" in body[0]:
                        assert [a["id"] for a in got] == ids, (ids, got)
                    if path.endswith("learn"):
                        assert all(a.get("learned") == "c1" for a in got), got
                        self.labels += len(ids)
                    else:
                        assert all("prediction" in a for a in got), got
                n += len(ids)
                time.sleep(0.002)
        except Exception as e:  # noqa: BLE001
            self.wrong = f"{type(e).__name__}: {e}"


def heads(rng):
    """A head that is wrong, or nearly right, and what it would smuggle."""
    hidden = b"POST /models/m/admin/snapshot HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer learner\r\nContent-Length: 0\r\n\r\n"
    line = rng.choice([b"POST /models/m/predict HTTP/1.1", b"GET /ping HTTP/1.1", b"GET /stats HTTP/1.1", b"POST /models/m/learn HTTP/1.0", b"GET /%2e%2e/etc HTTP/1.1", b"TRACE / HTTP/1.1"])
    fields = [b"Host: localhost"] + rng.sample([
        b"Content-Length : %d" % len(hidden), b"Content-Length: %d" % len(hidden), b"Content-Length: 0", b"Transfer-Encoding: chunked", b"Transfer-Encoding : chunked",
        b"Transfer-Encoding: xchunked", b"Host: evil.example", b"X: a\0b", b"X: a\rb", b" folded", b"Authorization: Bearer reader", b"Authorization: Bearer honest ", b"Expect: 100-continue",
        b"Connection: close", b"Content-Type: application/json", b"Origin: http://evil.example", b"X: " + b"a" * rng.choice([10, 5000, 40000]), b"Content-Encoding: gzip",
        b"Content-Length: 18446744073709551617", b"Inference-Header-Content-Length: -1", b"X-Request-Id: a\tb"], rng.randrange(5))
    end = rng.choice([b"\r\n"] * 8 + [b"\n"])
    raw = bytearray(end.join([line] + fields) + end + end + hidden * rng.randrange(2))
    for _ in range(rng.choice([0, 0, 1, 3])):
        raw[rng.randrange(len(raw))] = rng.randrange(256)
    return bytes(raw)


def bodies(rng, k, n):
    """A request that is one, with a body that is wrong, large, or of somebody who may not."""
    x, who = json.dumps(ROW), rng.choice(["reader"] * 4 + ["learner"] * 4 + ["", "nobody"])
    body = rng.choice([
        b"[" * rng.randrange(1, 3000), b'[{"x":%s},]' % x.encode(), b'{"x":[1e999]}', b'{"x":', b"\xff\xfe", b"", b"null", b'{"id":"\\ud800","x":1}',
        json.dumps([{"id": f"evil{k}-{rng.randrange(50)}", "x": ROW[::rng.choice([1, -1])]} for _ in range(rng.randrange(1, 30))]).encode(),
        json.dumps([{"id": f"evil{k}-{rng.randrange(50)}", "y": rng.choice(["c1", "c2", f"new{n}"])} for _ in range(5)]).encode(),
        json.dumps({"id": f"evil{k}-{rng.randrange(50)}", "retract": True}).encode(),
        json.dumps({"inputs": [{"name": "x", "shape": [rng.choice([1, 2**40, -1]), 8], "datatype": rng.choice(["FP64", "BYTES", "FP16"]), "data": ROW}]}).encode(),
        b'{"x":{"i":[],"v":[]}}\n' * rng.choice([1, 100, 5000]), b"[" + b"{}," * 3000 + b"{}]"])
    kind = rng.choice([JSON, JSON, LINES, "text/csv", "text/plain"])
    path = rng.choice(["/models/m/predict", "/models/m/predict?scores=1", "/models/m/learn", "/models/m/versions/1/learn", "/models/m/versions/9/predict", "/models/m/invocations",
                       "/v2/models/m/infer", "/models/none/predict", "/admin/reload", "/models/m/admin/snapshot", "/stats", "/models/m/recommend"])
    more = ""
    if rng.randrange(12) == 0:
        body, more = gzip.compress(body * rng.choice([1, 50]), 1), "Content-Encoding: gzip\r\n"
    if rng.randrange(8) == 0:
        cut = rng.randrange(len(body) + 1)
        body = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in (body[:cut], body[cut:]) if p) + b"0\r\n\r\n"
        more += "Transfer-Encoding: chunked\r\n"
    else:
        more += f"Content-Length: {len(body)}\r\n"
    auth = f"Authorization: Bearer {who}\r\n" if who else ""
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n{auth}{more}\r\n".encode() + body


class Attacker(threading.Thread):
    def __init__(self, server, secret, k, seed, share):
        super().__init__(daemon=True)
        self.server, self.secret, self.k, self.rng, self.share = server, secret.encode(), k, random.Random(f"{seed} {k}"), share
        self.sent, self.statuses, self.wrong = 0, {}, None

    def look(self, said):
        if self.secret in said:
            self.wrong = f"bytes of somebody else: {said[:300]!r}"
        for part in said.split(b"HTTP/1.1 ")[1:]:
            status = part[:3].decode(errors="replace")
            self.statuses[status] = self.statuses.get(status, 0) + 1

    def run(self):
        while self.sent < self.share and not self.wrong:
            n = 1 if self.rng.randrange(3) == 0 else self.rng.choice([5, 20, 50])
            raw = heads(self.rng) if n == 1 else b"".join(bodies(self.rng, self.k, self.sent + i) for i in range(n))
            if self.rng.randrange(20) == 0:
                raw = raw[:self.rng.randrange(len(raw))]
            self.sent += n
            try:
                with socket.create_connection(("127.0.0.1", self.server.port), timeout=10) as c:
                    c.settimeout(10 if n > 1 else 0.3)
                    c.sendall(raw)
                    if self.rng.randrange(15) == 0:
                        continue  # gone before the answer
                    c.shutdown(socket.SHUT_WR)
                    said = b""
                    while more := c.recv(1 << 16):
                        said += more
                    self.look(said)
            except OSError:
                pass


def meddle(models, stop, rng):
    """Files of versions appear, vanish, are half written, are links and folders."""
    good = open(models + "/m/1.ferry", "rb").read()
    while not stop.wait(0.3):
        path = f"{models}/m/{rng.choice([2, 3, 4])}{rng.choice(['', '.shadow'])}.ferry"
        try:
            what = rng.randrange(7)
            if what == 0:
                with open(path, "wb") as f:
                    f.write(good[:rng.randrange(len(good))])
            elif what == 1:
                os.symlink(rng.choice(["1.ferry", "none", os.path.basename(path), "/dev/zero"]), path)
            elif what == 2:
                os.mkdir(path)
            elif what == 3:
                bad = bytearray(good)
                bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
                with open(path + ".part", "wb") as f:
                    f.write(bad)
                os.rename(path + ".part", path)
            elif os.path.isdir(path) and not os.path.islink(path):
                os.rmdir(path)
            else:
                os.remove(path)
        except OSError:
            pass


def percentile(times, q):
    return 1e3 * sorted(times)[min(len(times) - 1, int(q * len(times)))] if times else 0


def memory(s):
    with open(f"/proc/{s.p.pid}/status") as f:
        return 1024 * int(next(line for line in f if line.startswith("VmHWM")).split()[1])


def attack(folder, requests, seed, calm=1.0):
    """Attack a server of its own; a sentence with the counts, or an AssertionError."""
    models, secret = folder + "/models", "honest" + secrets.token_hex(8)
    fit(folder, "mpa", "models/m/1.ferry")
    tokens = write(folder, "tokens", token_line("honest", "admin") + token_line("reader", "read") + token_line("learner", "learn", "waiting=100 classes=5"))
    with Server(models, "--tokens", tokens, "--state", folder + "/state", "--sync", "off", open_=False,
                *[w for v in ("poll=1", "log=none", "timeout=3", "idle=30", f"memory={MEMORY}", "threads=4", "waiting=1000") for w in ("--set", v)]) as s:
        honest = [Honest(s, secret, k) for k in range(2)]
        [h.start() for h in honest]
        time.sleep(calm)
        before, base = [t for h in honest for t in h.times], memory(s)
        attackers = [Attacker(s, secret, k, seed, requests // 4) for k in range(4)]
        stop = threading.Event()
        meddler = threading.Thread(target=meddle, args=(models, stop, random.Random(seed)), daemon=True)
        meddler.start()
        [a.start() for a in attackers]
        [a.join() for a in attackers]
        stop.set()
        meddler.join()
        for h in honest:
            h.over = True
            h.join()
        during, most = [t for h in honest for t in h.times[len(before) // 2:]], memory(s)
        for x in honest + attackers:
            assert not x.wrong, f"{x.wrong}; the server: {s.p.poll()}, {s.read_log()[-3000:]}"
        s.token = "honest"
        labels = s.get("/models/m/admin/labels").body.decode()
        for h in honest:
            assert labels.count('"' + h.prefix) == h.labels, f"{labels.count(h.prefix)} labels in the log, {h.labels} were acknowledged"
        statuses = {}
        for a in attackers:
            for k, n in a.statuses.items():
                statuses[k] = statuses.get(k, 0) + n
        assert not set(statuses) & {"500", "502"} and sum(statuses.values()) > requests / 10, statuses
        log = s.stop()
        assert "runtime error" not in log and "Sanitizer" not in log and "please report" not in log, log[-3000:]
    if b"__asan_init" not in open(SERVE, "rb").read():  # which keeps what was freed for a while
        assert most - base < 1.2 * MEMORY + (16 << 20), f"{most - base} bytes more than before, memory is {MEMORY}"
    sent = sum(a.sent for a in attackers)
    return (f"{sent} hostile requests, answers {dict(sorted(statuses.items()))}; {sum(h.labels for h in honest)} honest labels kept, {sum(h.put_off for h in honest)} times put off; "
            f"honest p50 {percentile(before, .5):.1f} and p99 {percentile(before, .99):.1f} ms before, {percentile(during, .5):.1f} and {percentile(during, .99):.1f} ms during; "
            f"memory {base >> 20} MiB before, at most {most >> 20} MiB; no foreign byte")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ferry")
    parser.add_argument("--requests", type=int, default=1000000)
    parser.add_argument("--seed", type=int, default=1)
    a = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="ferry-hostile-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    begin = time.monotonic()
    print(attack(folder, a.requests, a.seed, 10.0), f"{time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
