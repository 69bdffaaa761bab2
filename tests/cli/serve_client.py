"""A server of the command and a client for it: the standard library alone."""
import ctypes
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time

from harness import FERRY, ferry

JSON, LINES = "application/json", "application/x-ndjson"
SERVE = os.environ.get("FERRY_SERVE", FERRY)  # a command of its own for the servers (scripts/tsan)


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, r):
        self.status, self.headers, self.body = r.status, r.headers, r.read()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def lines(self):
        return [json.loads(line) for line in self.body.splitlines()]

    def __repr__(self):
        return f"{self.status} {self.body[:400]!r}"


class Server:
    """ferry serve on a free port, or where `listen` says; stopped at the end."""

    def __init__(self, models, *args, listen="127.0.0.1:0", open_=True, env=None, preexec=None):
        words = [SERVE, "serve", str(models), "--listen", listen, *(["--open"] if open_ else []), *map(str, args)]
        self.p = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, preexec_fn=preexec,
                                  env={**os.environ, "LC_ALL": "C.UTF-8", **(env or {})})
        self.log, self.where, self.token, self.c = "", None, None, None
        while True:
            line = self.p.stderr.readline()
            assert line, f"the server does not start: {self.log}"
            self.log += line
            found = re.search(r"serving .* on (\S+)$", line)
            if found:
                self.where = found.group(1)
                break
        os.set_blocking(self.p.stderr.fileno(), False)

    @property
    def port(self):
        return int(self.where.rsplit(":", 1)[1])

    def connection(self):
        return Unix(self.where[5:]) if self.where.startswith("unix:") else \
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, method, path, body=None, kind=JSON, headers=None, expect=200):
        if self.c is None:
            self.c = self.connection()
        full = {**({"Authorization": "Bearer " + self.token} if self.token else {}), **(headers or {})}
        if body is not None:
            full.setdefault("Content-Type", kind)
            if not isinstance(body, (bytes, str)):
                body = json.dumps(body)
        try:
            self.c.request(method, path, body, full)
            a = Answer(self.c.getresponse())
        except (ConnectionError, http.client.HTTPException):
            self.c = None
            raise
        if a.headers.get("Connection") == "close":
            self.c.close()
        assert expect is None or a.status == expect, f"{method} {path}: expected {expect}, got {a!r}"
        return a

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def post(self, path, body=b"", **more):
        return self.ask("POST", path, body, **more)

    def metric(self, name, **labels):
        for line in self.get("/metrics").body.decode().splitlines():
            if line.startswith(name) and all(f'{k}="{v}"' in line for k, v in labels.items()):
                return float(line.split()[-1])
        raise AssertionError(f"no metric {name}")

    def answers(self, *classes):
        """How many requests were answered with a status of these classes, such as 5xx."""
        return sum(int(line.split()[-1]) for line in self.get("/metrics").body.decode().splitlines()
                   if line.startswith("ferry_requests_total") and any(f'"{c}"' in line for c in classes))

    def wait_for(self, true, seconds=60):
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, self.read_log()
            time.sleep(0.05)

    def read_log(self):
        try:
            self.log += self.p.stderr.read() or ""
        except TypeError:  # nothing is there yet
            pass
        return self.log

    def send(self, how):
        if SERVE == FERRY:
            self.p.send_signal(how)
        else:  # to its first thread: ThreadSanitizer keeps a signal that another one gets until that does something
            ctypes.CDLL(None).syscall(234, self.p.pid, self.p.pid, int(how))  # tgkill

    def stop(self, how=signal.SIGTERM, code=0):
        self.send(how)
        got = self.p.wait(120)
        os.set_blocking(self.p.stderr.fileno(), True)
        self.read_log()
        self.p.stderr.close()
        assert code is None or got == code, f"exit {got}: {self.log}"
        return self.log

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.c:
            self.c.close()
        if self.p.poll() is None:
            self.p.kill()
            self.p.wait()
        if not self.p.stderr.closed:
            self.p.stderr.close()


def fit(folder, method, name=None, sets=(), seed="1"):
    """A model of a small made-up task: 8 features, classes c1 to c3."""
    task = os.path.join(folder, "task", "task.yaml")
    if not os.path.exists(task):
        ferry("gen", "bridge", "--out", os.path.join(folder, "task"), "-q", *[w for s in (
            "source=60", "bridge=60", "target=60", "source_features=12", "target_features=8") for w in ("--set", s)])
    out = os.path.join(folder, name or method + ".ferry")
    os.makedirs(os.path.dirname(out), exist_ok=True)
    ferry("fit", task, "-m", method, "-o", out, "-q", "--seed", seed, *[w for s in sets for w in ("--set", s)])
    return out


ROW = [0.5, 1, 0, 2, -1, 0.25, 3, 0]
