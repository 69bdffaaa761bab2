"""ferry serve for long and by many: a slice of what FERRY_STRESS=full does in hours.

usage: [FERRY_STRESS=full] test_serve_stress.py FERRY [test...]     1e5 malformed requests want a FERRY with sanitizers (build/asan/ferry)
"""
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import threading

import harness
import hostile_serve
import test_serve as short
from harness import Skip
from serve_client import JSON, LINES, ROW, Server, fit

FULL = os.environ.get("FERRY_STRESS") == "full"


def resident(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) / 1024


def sanitized():
    with open(harness.FERRY, "rb") as f:
        return b"__asan_init" in f.read()


def settings(snapshot):
    """All that is kept is full and turned over many times."""
    return [w for s in ("log=none", f"snapshot={snapshot}", f"keep={snapshot}", "remember=100", "waiting=50", "sync=off") for w in ("--set", s)]


V2 = json.dumps({"inputs": [{"name": "x", "shape": [1, 8], "datatype": "FP64", "data": ROW}]})
KINDS = (("/predict", JSON, json.dumps({"x": ROW})), ("/predict?scores=1", LINES, (json.dumps({"x": ROW}) + "\n") * 8),
         ("/v2/models/mpa/infer", JSON, V2), ("/invocations", JSON, json.dumps({"instances": [ROW]})))


def test_soak(folder, n=4000):
    """Predictions, batches and labels on four connections: the second half takes no more memory than the first."""
    with Server(fit(folder, "mpa"), "--state", os.path.join(folder, "state"), *settings(200)) as s:
        def load(k, count, wrong):
            c = s.connection()
            for i in range(count):
                path, kind, body = KINDS[i % 4]
                if i % 8 == 5:
                    path, kind, body = "/learn", JSON, json.dumps({"id": f"{k}-{wrong['from'] + i}", "x": ROW, "y": f"c{i % 3 + 1}"})
                c.request("POST", path, body, {"Content-Type": kind})
                r = c.getresponse()
                r.read()
                if r.status != 200:
                    wrong[k] = r.status
            c.close()

        sizes, done = [], 0
        for part in range(4):
            wrong = {"from": done}
            threads = [threading.Thread(target=load, args=(k, n // 16, wrong)) for k in range(4)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            done += n // 16
            assert len(wrong) == 1, wrong
            sizes.append(resident(s.p.pid))
        assert s.metric("ferry_requests_total", route="learn", status="2xx") >= n // 8 - 16
        if not sanitized():  # which keep what was freed for a while
            assert sizes[3] < 1.05 * sizes[1] + 4, f"resident MB after each quarter: {sizes}"
        s.stop()


LUA = """local at = 0
local id = tostring({{}}):sub(8)
local kinds = {{ {kinds} }}
function request()
  at = at + 1
  if at % 8 == 5 then
    return wrk.format("POST", "/learn", {{["Content-Type"] = "{json}"}}, string.format('{{"id":"%s-%d-{part}","x":{row},"y":"c%d"}}', id, at, at % 3 + 1))
  end
  local k = kinds[at % 4 + 1]
  return wrk.format("POST", k[1], {{["Content-Type"] = k[2]}}, k[3])
end
"""


def test_soak_for_long(folder, n=10_000_000, seconds=20):
    """The same by wrk, in slices until n requests were answered: memory, files and threads do not grow."""
    if not FULL:
        raise Skip("4,000 requests are in test_soak; 1e7 with FERRY_STRESS=full")
    if not shutil.which("wrk"):
        raise Skip("no wrk")
    with Server(fit(folder, "mpa"), "--state", os.path.join(folder, "state"), *settings(20000)) as s:
        sizes, done = [], 0
        while done < n:
            kinds = ", ".join("{" + ", ".join(f"[==[{w}]==]" for w in k) + "}" for k in KINDS)
            script = harness.write(folder, "soak.lua", LUA.format(kinds=kinds, json=JSON, row=json.dumps(ROW), part=len(sizes)))
            subprocess.run(["wrk", "-t1", "-c16", f"-d{seconds}s", "-s", script, f"http://127.0.0.1:{s.port}"], check=True, capture_output=True)
            s.wait_for(lambda: s.metric("ferry_connections") <= 1)  # wrk's are gone
            done = s.answers("2xx")
            sizes.append((done, round(resident(s.p.pid), 1), len(os.listdir(f"/proc/{s.p.pid}/fd")), len(os.listdir(f"/proc/{s.p.pid}/task"))))
            print(f"# {sizes[-1][0]} requests, {sizes[-1][1]} MB resident, {sizes[-1][2]} files, {sizes[-1][3]} threads", flush=True)
        assert s.answers("4xx", "5xx") == 0
        first, last = sizes[len(sizes) // 4], sizes[-1]
        assert sanitized() or last[1] < 1.05 * first[1] + 4, sizes
        assert last[2] <= first[2] + 4 and last[3] <= first[3], sizes
        assert sum(os.path.getsize(os.path.join(a, f)) for a, _, fs in os.walk(os.path.join(folder, "state")) for f in fs) < 20e6
        s.stop()


def test_idle_connections(folder, n=10_000 if FULL else 1000):
    """Connections that say nothing are held, cost little, and others are answered."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < n + 200:
        raise Skip(f"at most {hard} files may be open")
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, n + 200), hard))
    idle = []
    try:
        with Server(fit(folder, "logreg"), "--set", "timeout=600", "--set", "idle=600") as s:
            s.get("/ping")
            before = resident(s.p.pid)
            for i in range(n):
                idle.append(socket.create_connection(("127.0.0.1", s.port), timeout=60))
                if i % 10 == 0:  # the head of a request, and no more of it
                    idle[-1].sendall(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Le")
                if i % 100 == 0:
                    assert "prediction" in s.post("/predict", {"x": ROW}).json
            s.wait_for(lambda: s.metric("ferry_connections") >= n)
            assert "prediction" in s.post("/predict", {"x": ROW}).json
            if not sanitized():
                assert resident(s.p.pid) - before < 20 + 0.05 * n, "more than 50 KB for each"
            # one that was idle is as good as any other
            idle[1].sendall(b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert idle[1].recv(12) == b"HTTP/1.1 200"
            s.stop()
    finally:
        for c in idle:
            c.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_malformed_for_long(folder):
    if not FULL:
        raise Skip("400 of them are in cli.serve; 1e5 with FERRY_STRESS=full")
    short.test_malformed(folder, n=100_000)


def test_hostile(folder):
    """Attackers beside honest clients; scripts/nightly sends a million requests, to a build with sanitizers."""
    print("# " + hostile_serve.attack(folder, 3000, 1))


def test_kills_for_long(folder):
    if not FULL:
        raise Skip("6 of them are in cli.serve; 1,000 with FERRY_STRESS=full")
    short.test_kill_loses_nothing(folder, kills=1000)


if __name__ == "__main__":
    harness.main(sys.modules[__name__])
