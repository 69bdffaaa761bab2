"""ferry serve against FastAPI and river, over loopback with wrk: requests a second in turns, latency at half load, durable labels.

usage: serve.py FERRY PEER-PYTHON|-    (- : without the peer)
"""
import atexit
import json
import os
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

FERRY, PEER = os.path.abspath(sys.argv[1]), sys.argv[2]
HERE = os.path.dirname(os.path.abspath(__file__))
D, ROUNDS, SECONDS = 20, int(os.environ.get("BENCH_ROUNDS", "3")), int(os.environ.get("BENCH_SECONDS", "4"))
rng = random.Random(1)


def row(k):
    return [round(rng.gauss(1 if j % 3 == k else 0, 1), 4) for j in range(D)]


def make_models(folder):
    with open(folder + "/d.csv", "w") as f:
        f.write("class," + ",".join(f"f{j}" for j in range(D)) + "\n")
        for i in range(300):
            f.write(f"c{i % 3 + 1}," + ",".join(map(str, row(i % 3))) + "\n")
    with open(folder + "/t.yaml", "w") as f:
        f.write("task: t\ngoal: classify\ndomains:\n  - {name: d, role: target, x: d.csv, label: class, labelled: 1.0}\n")
    for m in ("logreg", "mpa"):
        subprocess.run([FERRY, "fit", folder + "/t.yaml", "-m", m, "-o", f"{folder}/{m}.ferry", "-q"], check=True)


def script(folder, name, path, kind, body, delay=None):
    """A request for wrk."""
    file = f"{folder}/{name}.lua"
    with open(file, "w") as f:
        f.write(f'wrk.method = "POST"\nwrk.path = "{path}"\nwrk.headers["Content-Type"] = "{kind}"\nwrk.body = [==[{body}]==]\n')
        if delay is not None:
            f.write(f"function delay() return math.random(0, {2 * delay}) end\n")
        f.write("""done = function(summary, latency, requests)
  local bad = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout
  print(string.format("WRK %f %f %f %d", summary.requests / summary.duration * 1e6, latency:percentile(50), latency:percentile(99), bad))
end
""")
    return file


def wrk(port, file, connections=64):
    out = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{SECONDS}s", "--timeout", "30s", "-s", file, f"http://127.0.0.1:{port}"], check=True, capture_output=True, text=True).stdout
    rate, p50, p99, bad = map(float, re.search(r"WRK (\S+) (\S+) (\S+) (\S+)", out).groups())
    assert bad == 0, out
    return rate, p50, p99


def serve(*args):
    p = subprocess.Popen([FERRY, "serve", *args, "--open", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
    while True:
        line = p.stderr.readline()
        assert line, "the server does not start"
        if "serving" in line:
            return p, int(line.rsplit(":", 1)[1])


def peer():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    p = subprocess.Popen([PEER, HERE + "/serve_peer.py", str(port)])
    for _ in range(900):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return p, port
        except OSError:
            time.sleep(0.2)
    raise SystemExit("the peer does not start")


def learning(folder, rows=25600):
    """Lines a second into ferry stream --sync batch, and in batches of 64 by 64 and by 4 connections into a server, in turns: with few
    connections it is the disk that is waited for."""
    lines = "".join(json.dumps({"x": row(i % 3), "y": f"c{i % 3 + 1}"}) + "\n" for i in range(64))
    with open(folder + "/in", "w") as f:
        f.write(lines * (rows // 64))
    file = script(folder, "learn", "/learn", "application/x-ndjson", lines)
    stream, served, few = [], [], []
    for r in range(ROUNDS):
        shutil.rmtree(folder + "/a", ignore_errors=True)
        with open(folder + "/in") as f:
            begin = time.monotonic()
            subprocess.run([FERRY, "stream", folder + "/mpa.ferry", "--state", folder + "/a", "-q"], stdin=f, stdout=subprocess.DEVNULL, check=True)
            stream.append(rows / (time.monotonic() - begin))
        p, port = serve(folder + "/mpa.ferry", "--state", f"{folder}/b{r}")
        served.append(64 * wrk(port, file, 64)[0])
        few.append(64 * wrk(port, file, 4)[0])
        p.terminate()
        p.wait()
    return statistics.median(stream), statistics.median(served), statistics.median(few)


def main():
    if not shutil.which("wrk"):
        raise SystemExit("bench/serve needs wrk (Debian: wrk)")
    folder = tempfile.mkdtemp(prefix="ferry-bench-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    make_models(folder)
    one, lines = json.dumps({"x": row(0)}), "".join(json.dumps({"x": row(i % 3)}) + "\n" for i in range(64))
    p, port = serve(folder + "/logreg.ferry")
    both = [("ferry", port, "/predict")]
    if PEER != "-":
        q, other = peer()
        both.append(("fastapi + river", other, "/lines"))
    rates = {}
    for _ in range(ROUNDS):
        for name, at, path in both:
            rates.setdefault((name, "one row"), []).append(wrk(at, script(folder, "one", "/predict", "application/json", one)))
            rates.setdefault((name, "64 lines"), []).append(wrk(at, script(folder, "lines", path, "application/x-ndjson", lines)))
    print(f"{'':20}{'requests a second':>20}{'p50 ms':>10}{'p99 ms':>10}   64 connections, {D} features, median of {ROUNDS} rounds")
    mid = {}
    for (name, what), got in rates.items():
        mid[name, what] = statistics.median(g[0] for g in got)
        print(f"{name + ', ' + what:27}{mid[name, what]:13.0f}{statistics.median(g[1] for g in got) / 1e3:10.2f}{statistics.median(g[2] for g in got) / 1e3:10.2f}")
    delay = max(1, round(2 * 64 / mid["ferry", "one row"] * 1e3))
    half = [wrk(port, script(folder, "half", "/predict", "application/json", one, delay)) for _ in range(ROUNDS)]
    rate, p50, p99 = (statistics.median(h[i] for h in half) for i in range(3))
    print(f"ferry, paced (64 connections that pause {delay} ms on average): {rate:.0f} requests a second, p50 {p50 / 1e3:.3f} ms, p99 {p99 / 1e3:.3f} ms")
    p.terminate()
    p.wait()
    stream, served, few = learning(folder)
    print(f"labels a second: ferry stream --sync batch {stream:.0f}, ferry serve, batches of 64 on 64 connections {served:.0f}, on 4 {few:.0f}")
    if PEER != "-":
        q.terminate()
        q.wait()
        print(f"row serve.one {mid['ferry', 'one row'] / mid['fastapi + river', 'one row']:.2f} >= 10 requests of one row, against FastAPI and river")
        print(f"row serve.lines {mid['ferry', '64 lines'] / mid['fastapi + river', '64 lines']:.2f} >= 20 requests of 64 lines, against FastAPI and river")
    print(f"row serve.tail {p99 / p50:.2f} <= 5 p99 over p50 at half load")
    print(f"row serve.learn {served / stream:.2f} >= 0.8 durable labels, against ferry stream --sync batch")


if __name__ == "__main__":
    main()
