"""ferry serve over loopback: predicting, learning, limits, who may, versions, stopping."""
import contextlib
import gzip
import hashlib
import http.client
import json
import os
import random
import resource
import shutil
import signal
import socket
import ssl
import statistics
import struct
import subprocess
import sys
import threading
import time
import warnings

import harness
from harness import FERRY, Skip, can_preload, ferry, read, refused, write
from serve_client import JSON, LINES, ROW, SERVE, Server, fit

rows = lambda n: "".join(json.dumps({"x": [round(random.Random(i * 8 + j).uniform(-2, 2), 3) for j in range(8)]}) + "\n" for i in range(n))


def predicted(folder, model, lines):
    """What ferry predict says to the same rows."""
    text = "id," + ",".join(f"b{j}" for j in range(1, 9)) + "\n"
    for i, line in enumerate(lines.splitlines()):
        text += f"{i}," + ",".join("" if v is None else str(v) for v in json.loads(line)["x"]) + "\n"
    head, *out = ferry("predict", model, write(folder, "rows.csv", text), "-q").out.splitlines()
    return [r.split(",") for r in out]


def test_predict_is_ferry_predict(folder):
    model, lines = fit(folder, "logreg"), rows(70)
    want = predicted(folder, model, lines)
    with Server(model) as s:
        got = s.post("/predict?scores=1", lines, kind=LINES)
        assert got.headers["Content-Type"] == LINES
        assert [a["prediction"] for a in got.lines] == [w[1] for w in want]
        for a, w in zip(got.lines, want):
            assert list(map(repr, a["scores"].values())) == list(map(repr, map(float, w[2:]))), (a, w)
            assert a["score"] == max(a["scores"].values())
        listed = s.post("/predict", "[" + ",".join(lines.split("\n")[:-1]) + "]").json
        assert [a["prediction"] for a in listed] == [w[1] for w in want] and "scores" not in listed[0]
        one = s.post("/predict", " \n" + lines.split("\n")[0].replace(",", ",\n") + "\n").json
        assert one == {k: got.lines[0][k] for k in ("prediction", "score")}
        assert s.post("/models/logreg/predict", lines.split("\n")[0]).json == one
        assert s.post("/models/logreg/versions/1/predict", lines.split("\n")[0]).json == one
        assert s.post("/predict", "[]").json == [] and s.post("/predict", "", kind=LINES).body == b""
        assert s.metric("ferry_rows_total", model="logreg") == 143


def test_rows_that_are_wrong(folder):
    with Server(fit(folder, "logreg")) as s:
        good, bad = {"id": 7, "x": ROW}, {"x": ROW[1:]}
        a = s.post("/predict", [good, bad, {"id": "é\"", "x": {"i": [3, 1], "v": [1, 2]}}, {"x": ROW[:7] + [None]}]).json
        assert a[0]["id"] == 7 and a[2]["id"] == "é\"" and a[1]["line"] == 2 and "7 numbers" in a[1]["error"]
        assert "prediction" in a[3]
        for body, says in ((bad, "7 numbers"), ({"x": ROW, "y": "c1"}, "/learn"), ({"y": 1, "id": 2}, "/learn"), ("{", "ends too early"),
                           ("[{}", "no end"), ("[1] 2", "behind"), ("nonsense", "object"), ("", "empty"), ({"x": ROW, "z": 1}, "unknown key"),
                           ({"x": [1e101] * 8}, "1e+100"), ({"x": "text"}, "list"), ('{"x":[1e999,0,0,0,0,0,0,0]}', "finite"),
                           ({"x": {"i": [8], "v": [1]}}, "index 8"), ({"x": {"i": [1, 1], "v": [1, 2]}}, "twice"), ('{"x":[01]}', "zeros")):
            e = s.post("/predict", body, expect=400).json
            assert set(e) == {"error", "code", "status", "request_id"} and e["status"] == 400 and says in e["error"], (body, e)
        s.get("/%ff%1b[31m%0d%0aX:1", expect=400)  # no line of a log can be made of a path
        assert any("the path has an escape that is" in e for e in s.get("/stats").json["last_errors"]), s.get("/stats").json["last_errors"]
        e = s.post("/predict", "x=1", kind="text/plain", expect=415).json
        assert e["code"] == "unsupported_media_type"
        assert s.get("/predict", expect=405).headers["Allow"] == "POST"
        assert s.get("/models/none", expect=404).json["code"] == "not_found"
        assert "no model 'none'" in s.post("/models/none/predict", good, expect=404).json["error"]
        assert s.post("/models/logreg/versions/2/predict", good, expect=404).json["status"] == 404
        assert s.post("/models/logreg/versions/x/predict", good, expect=404).json["status"] == 404
        a = s.post("/predict", good, headers={"X-Request-Id": "mine-1"})
        assert a.headers["X-Request-Id"] == "mine-1"
        a = s.post("/predict", bad, headers={"X-Request-Id": "mine 2<>"}, expect=400)
        assert a.headers["X-Request-Id"] == a.json["request_id"] != "mine 2<>"
        assert "Access-Control-Allow-Origin" not in a.headers
        s.post("/learn", {"x": ROW, "y": "c1"}, expect=409)
        s.post("/recommend", {"users": ["a"]}, expect=409)
        s.post("/admin/snapshot", expect=409)
        log = s.stop()
        assert "mine-1" not in log and a.json["request_id"] in log


def test_limits(folder):
    with Server(fit(folder, "logreg"), "--set", "body=4096", "--set", "memory=8192", "--set", "timeout=1", "--set", "idle=2") as s:
        s.post("/predict", "[" + " " * 5000 + "]", expect=413)
        packed = gzip.compress(json.dumps({"x": ROW}).encode())
        assert "prediction" in s.post("/predict", packed, headers={"Content-Encoding": "gzip"}).json
        s.post("/predict", gzip.compress(b" " * 10**6), headers={"Content-Encoding": "gzip"}, expect=413)
        s.post("/predict", packed[:-4], headers={"Content-Encoding": "gzip"}, expect=400)
        s.post("/predict", packed + b"x", headers={"Content-Encoding": "gzip"}, expect=400)
        s.post("/predict", b"{}", headers={"Content-Encoding": "br"}, expect=415)
        assert "Content-Encoding" not in s.get("/openapi.json", headers={"Accept-Encoding": "br, gzip; q=0"}).headers
        a = s.get("/openapi.json", headers={"Accept-Encoding": "br;q=1, gzip;q=0.5"})
        assert a.headers["Content-Encoding"] == "gzip" and json.loads(gzip.decompress(a.body))["openapi"] == "3.1.0"
        # in pieces, without a length, and too much of it
        c = s.connection()
        c.request("POST", "/predict", iter([b" " * 1000] * 10), {"Content-Type": JSON}, encode_chunked=True)
        assert c.getresponse().status == 413
        # two lengths: what follows is no second request
        for lengths, rest in ((b"Content-Length: 4\r\nTransfer-Encoding: chunked", b"0\r\n\r\n"), (b"Content-Length: 4\r\nContent-Length: 40", b"1234")):
            c = socket.create_connection(("127.0.0.1", s.port), timeout=20)
            c.sendall(b"POST /predict HTTP/1.1\r\nHost: localhost\r\n" + lengths + b"\r\n\r\n" + rest + b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n")
            said = b""
            try:
                while more := c.recv(65536):
                    said += more
            except ConnectionError:
                pass
            assert said.startswith(b"HTTP/1.1 400 ") and said.count(b"HTTP/1.1 ") == 1, said
        # bytes that drip in, and nothing at all: both are shut, others are served meanwhile
        slow, silent = socket.create_connection(("127.0.0.1", s.port)), socket.create_connection(("127.0.0.1", s.port))
        slow.settimeout(20), silent.settimeout(20)
        slow.sendall(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n")
        closed, end = False, time.monotonic() + 20
        while not closed and time.monotonic() < end:
            assert s.get("/ping").status == 200
            try:
                slow.sendall(b" ")
                slow.settimeout(0.2)
                closed = slow.recv(1) == b""
            except (socket.timeout, BlockingIOError):
                pass
            except ConnectionError:
                closed = True
        assert closed, "a request that never ends was not shut"
        assert silent.recv(1) == b""


def raw(s, request, seconds=20):
    """All that comes back for these bytes, until the server closes."""
    c, said = socket.create_connection(("127.0.0.1", s.port), timeout=seconds), b""
    try:
        c.sendall(request)
        while more := c.recv(65536):
            said += more
    except ConnectionError:
        pass
    c.close()
    return said


def test_what_two_could_read_differently(folder):
    """One answer, 400 as JSON, and the connection is closed: what stands behind such a request never runs."""
    head = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    get = b"GET /ping HTTP/1.1\r\nHost: localhost\r\n"
    behind = b"POST /admin/snapshot HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    body = b'{"x": [1, 2, 3, 4, 5, 6, 7, 8]}'
    n, chunk = b"%d" % len(body), b"%x" % len(body)
    refused = {
        "a blank before the colon": head + b"Content-Length : " + n + b"\r\n\r\n" + body,
        "in a request without a body": get + b"Content-Length : %d\r\n\r\n" % len(behind),
        "chunks, a blank before the colon": head + b"Transfer-Encoding : chunked\r\n\r\n" + chunk + b"\r\n" + body + b"\r\n0\r\n\r\n",
        "two hosts": get + b"Host: evil.example\r\n\r\n",
        "no host": b"GET /ping HTTP/1.1\r\n\r\n",
        "NUL": get + b"X: a\0b\r\n\r\n",
        "lines that end in LF": get.replace(b"\r\n", b"\n") + b"\n",
        "CR in a line": get + b"X: a\rContent-Length: 0\r\n\r\n",
        "a line that goes on": get + b"X: a\r\n Transfer-Encoding: chunked\r\n\r\n",
        "two lengths": head + b"Content-Length: 0\r\nContent-Length: " + n + b"\r\n\r\n" + body,
        "the same length twice": head + b"Content-Length: " + n + b"\r\nContent-Length: " + n + b"\r\n\r\n" + body,
        "a list of lengths": head + b"Content-Length: 4, 4\r\n\r\n" + body,
        "a length with a sign": head + b"Content-Length: +4\r\n\r\n" + body,
        "length and chunks": head + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "an encoding that is not known": head + b"Transfer-Encoding: xchunked\r\n\r\n" + body,
        "chunks that end in LF": head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk + b"\n" + body + b"\n0\n\n",
        "LF in what stands behind a chunk's size": head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk + b";a\n" + body + b"\r\n0\r\n\r\n",
        "a chunk's size with 0x": head + b"Transfer-Encoding: chunked\r\n\r\n0x" + chunk + b"\r\n" + body + b"\r\n0\r\n\r\n",
        "a negative chunk": head + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n" + body,
        "lines behind the last chunk": head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk + b"\r\n" + body + b"\r\n0\r\nContent-Length: 50\r\n\r\n",
        "another's address": b"GET http://evil.example/ping HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "an escaped slash": b"GET /%2fping HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "an escaped NUL": b"POST /admin/snapshot%00 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
        "two tokens": get + b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n",
        "two empty lines": b"\r\n\r\n" + get + b"\r\n",
        "no HTTP": b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
    }
    with Server(fit(folder, "mpa"), "--state", os.path.join(folder, "st")) as s:
        ids = set()
        for what, request in refused.items():
            said = raw(s, request + behind)
            first, _, rest = said.partition(b"\r\n\r\n")
            assert first.startswith(b"HTTP/1.1 400 ") and said.count(b"HTTP/1.1 ") == 1, (what, said)
            assert b"Connection: close" in first and b"Content-Type: application/json" in first, (what, said)
            error = json.loads(rest)
            assert error["status"] == 400 and error["code"] == "bad_request", (what, error)
            ids.add(error["request_id"])
        assert len(ids) == len(refused)
        # and what is only unusual is taken, with what stands behind it
        for what, request in {
                "a tab before the length": head + b"Content-Length:\t" + n + b" \r\n\r\n" + body,
                "chunks of one byte": head + b"Transfer-Encoding: Chunked\r\n\r\n" + b"".join(b"1\r\n%c\r\n" % c for c in body) + b"000\r\n\r\n",
                "something behind a chunk's size": head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk + b";a=b\r\n" + body + b"\r\n0\r\n\r\n",
                "an empty line before it": b"\r\n" + head + b"Content-Length: " + n + b"\r\n\r\n" + body,
                "100 of them": (head + b"Content-Length: " + n + b"\r\n\r\n" + body) * 100}.items():
            said = raw(s, request + behind)
            assert said.count(b"HTTP/1.1 200 ") == said.count(b"HTTP/1.1 ") == (101 if what == "100 of them" else 2), (what, said)
            assert b'"snapshot"' in said
        assert raw(s, head + b"Expect: 100-continue\r\nConnection: close\r\nContent-Length: " + n + b"\r\n\r\n" + body).endswith(b"}\n")
        assert raw(s, get + b"Expect: coffee\r\n\r\n").startswith(b"HTTP/1.1 417 ")
        assert raw(s, b"GET /ping HTTP/2.0\r\nHost: localhost\r\n\r\n").startswith(b"HTTP/1.1 505 ")
        assert raw(s, get + b"X: " + b"a" * 40000 + b"\r\n\r\n").startswith(b"HTTP/1.1 431 ")
        assert raw(s, get + b"X: 1\r\n" * 200 + b"\r\n").startswith(b"HTTP/1.1 431 ")
        assert raw(s, b"GET /ping HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200 ")
        s.stop()


def most_memory(s):
    return 1024 * int(next(line for line in read(f"/proc/{s.p.pid}/status").splitlines() if line.startswith("VmHWM")).split()[1])


def test_little_that_stands_for_much(folder):
    """A few bytes that would unpack to many, or make many wide rows, are refused before there is memory for them."""
    wide = 2000
    write(folder, "w.csv", ",".join(f"f{j}" for j in range(wide)) + ",label\n" +
          "".join(",".join(str((i * j) % 7) for j in range(wide)) + f",{'ab'[i % 2]}\n" for i in range(8)))
    write(folder, "w.yaml", "task: t\ngoal: classify\ndomains:\n  - {name: d, role: target, x: w.csv, labelled: 1.0}\n")
    ferry("fit", folder + "/w.yaml", "-m", "logreg", "-o", folder + "/w.ferry", "-q")
    with Server(folder + "/w.ferry", "--set", "body=2000000", "--set", "memory=8000000", "--set", "threads=1") as s:
        x = {"name": "x", "shape": [1, wide], "datatype": "FP64"}
        s.post("/v2/models/w/infer", {"inputs": [{**x, "data": [0] * wide}]})
        before = most_memory(s)
        for bad in ({**x, "shape": [2**24, wide], "data": []}, {**x, "shape": [2**18, wide], "data": [[]] * 2**18}, {**x, "shape": [wide, 0], "data": [0] * wide},
                    {"name": "x", "shape": [2**24], "datatype": "BYTES", "data": ["a"]}):
            assert s.post("/v2/models/w/infer", {"inputs": [bad]}, expect=None).status in (400, 413)
        head = json.dumps({"inputs": [{"name": "x", "shape": [2**24], "datatype": "BYTES", "parameters": {"binary_data_size": 5}}]})
        s.post("/v2/models/w/infer", head + "\1\0\0\0a", headers={"Inference-Header-Content-Length": str(len(head))}, expect=400)
        many = 100000  # rows of 2000 numbers: 1.6 GB
        for body, kind in (({"dataframe_records": [{"f0": 1}] + [{}] * many}, JSON), ({"dataframe_split": {"columns": ["f0"], "data": [[1]] * many}}, JSON),
                           ("f0\n" + "1\n" * many, "text/csv")):
            a = s.post("/invocations", body, kind=kind, expect=None)
            assert a.status in (400, 413) and "at once" in a.json["error"], a
        assert len(s.post("/invocations", {"dataframe_records": [{"f0": 1}] * 100}).json["predictions"]) == 100
        lines = ['{"x":{"i":[],"v":[]}}\n'] * 40000  # this model makes rows dense: 640 MB at once
        lines[30000] = '{"x":3}\n'
        got = s.post("/predict", "".join(lines), kind=LINES).lines
        assert len(got) == 40000 and got[30000]["line"] == 30001
        assert all(a["prediction"] == got[0]["prediction"] and abs(a["score"] - got[0]["score"]) < 1e-12 for i, a in enumerate(got) if i != 30000)
        if b"__asan_init" not in open(FERRY, "rb").read():  # which keeps what was freed for a while
            assert most_memory(s) - before < 300e6, (before, most_memory(s))
    with Server(folder + "/w.ferry", "--set", "body=2000000", "--set", "memory=10000") as s:  # bodies count unpacked
        s.post("/predict", gzip.compress(b" " * 9000 + json.dumps({"x": {"i": [], "v": []}}).encode()), headers={"Content-Encoding": "gzip"})
        a = s.post("/predict", gzip.compress(b" " * 20000 + b"{}"), headers={"Content-Encoding": "gzip"}, expect=413)
        assert "Retry-After" not in a.headers and s.metric("ferry_body_bytes") == 0


def test_learning_and_its_log(folder):
    model, state = fit(folder, "mpa"), os.path.join(folder, "state")
    with Server(model, "--state", state, "--set", "waiting=3") as s:
        a = s.post("/predict", {"id": "a", "x": ROW}).json
        assert a["id"] == "a" and a["seq"] == 1 and a["sync"] == "batch" and "prediction" in a
        assert s.metric("ferry_waiting") == 1
        assert s.post("/learn", {"id": "a", "y": "c1"}).json == {"id": "a", "learned": "c1", "seq": 2, "sync": "batch"}
        assert s.post("/learn", {"id": "a", "y": "c1"}).json["repeated"] is True
        b = s.post("/learn", [{"id": "b", "x": ROW, "y": "c1"}, {"id": "b", "x": ROW, "y": "c1"}, {"x": ROW}]).json
        assert b[0]["learned"] == "c1" and b[1]["repeated"] and b[2]["line"] == 3 and "expected y" in b[2]["error"]
        assert "no instance" in s.post("/learn", {"id": "z", "y": "c1"}, expect=400).json["error"]
        lines = s.post("/learn", '{"id":"q","x":[1],"y":"c"}\n\n{}\n', kind=LINES).lines
        assert lines[0]["line"] == 1 and lines[1]["seq"] == 3
        for i in range(5):  # the oldest go
            a = s.post("/predict", {"id": f"w{i}", "x": ROW}).json
        assert a["forgot"] == "w1" and s.metric("ferry_waiting") == 3
        # what is read does not change anything, and goes by what was learned
        before = s.metric("ferry_labels_total")
        seen = s.post("/predict", {"x": ROW}).json
        assert s.metric("ferry_labels_total") == before == 2
        assert s.metric("ferry_scored_total") == 2
        snap = s.post("/admin/snapshot").json
        assert snap["seq"] == 8
        assert predicted(folder, snap["snapshot"], json.dumps({"x": ROW}))[0][1] == seen["prediction"]
        assert s.post("/learn", {"id": "w3", "y": "new one"}).json["new_class"] is True
        s.p.kill()
        s.p.wait()
    with Server(model, "--state", state, "--set", "waiting=3") as s:
        for i in ("a", "b", "w3"):  # also what only the log or only the snapshot knew
            assert s.post("/learn", {"id": i, "y": "c1"}).json["repeated"] is True, i
        assert s.post("/learn", {"id": "w4", "y": "c2"}).json["seq"] == 10
        s.stop()
    assert sorted(os.listdir(state + "/mpa")) == ["1.ferry", "head", "lock", "log", "log.0", "log.8"], os.listdir(state + "/mpa")
    # ferry stream goes on with the same folder
    r = ferry("stream", model, "--state", state + "/mpa", stdin='{"id":"s","x":%s,"y":"c1"}\n{}\n' % ROW)
    assert json.loads(r.out.splitlines()[1])["seq"] == 11, r
    with Server(model, "--state", state, "--set", "waiting=3") as s:
        assert s.post("/learn", {"id": "s", "y": "c1"}).json["repeated"] is True
        assert [(a["id"], a["y"]) for a in s.get("/admin/labels").lines] == \
            [("a", "c1"), ("b", "c1"), ("w3", "new one"), ("w4", "c2"), ("s", "c1")]
    refused("stream", fit(folder, "mpa", "other.ferry", seed="2"), "--state", state + "/mpa", says="version 1 serves there, which is another model")


def test_old_folders(folder):
    """One that an earlier version wrote, with a log for each version, is refused in one sentence."""
    models, state = os.path.join(folder, "models"), os.path.join(folder, "state")
    fit(folder, "mpa", "models/m/1.ferry")
    ferry("stream", models + "/m/1.ferry", "--state", state + "/m/1", stdin=json.dumps({"x": ROW, "y": "c1"}) + "\n")
    write(state, "m/labels.ndjson", "")
    before = harness.tree(state)
    refused("serve", models, "--state", state, "--open", "--listen", "127.0.0.1:0", says="m/1/log: is of an earlier ferry, which kept a log for each version")
    assert harness.tree(state) == before


def test_restart_in_the_middle(folder):
    """Versions that came, went and changed while the server was down: the one that served does until the highest has caught up."""
    models, state = os.path.join(folder, "models"), os.path.join(folder, "state")
    fit(folder, "mpa", "models/m/1.ferry")
    args = [models, "--state", state, "--replay", "--set", "poll=1"]
    current = lambda s: [v["version"] for v in s.get("/stats").json["versions"] if v["current"]]
    with Server(*args) as s:
        s.post("/learn", [{"id": f"a{i}", "x": ROW, "y": "c1"} for i in range(20)])
        s.post("/predict", [{"id": "w", "x": ROW}])
        s.p.kill()
        s.p.wait()
    os.rename(models + "/m/1.ferry", models + "/m/2.ferry")  # the file of the one that serves is no more
    with Server(*args) as s:
        assert s.post("/learn", {"id": "a3", "y": "c1"}).json["repeated"] is True
        s.wait_for(lambda: current(s) == [2])
        assert s.post("/learn", {"id": "w", "y": "c2"}).json["learned"] == "c2"
        assert s.post("/learn", {"id": "a3", "y": "c1"}).json["repeated"] is True
        shutil.copy(models + "/m/2.ferry", models + "/m/1.ferry")  # and comes back
        s.post("/admin/reload")
        assert current(s) == [2] and s.post("/models/m/versions/1/predict", {"x": ROW}).json
        os.remove(models + "/m/2.ferry")
        s.post("/admin/reload")
        assert current(s) == [1] and s.post("/learn", {"id": "w", "y": "c2"}).json["repeated"] is True
        s.stop()
    shutil.copy(fit(folder, "mpa", seed="3", sets=("C=0.1",)), models + "/m/1.ferry")  # another model under its number
    refused("serve", models, "--state", state, "--open", "--listen", "127.0.0.1:0", says="1.ferry: has changed, but version 1 has learned since")


def test_labels(folder):
    """The labels come out of the log as they went in, dense and sparse, and those that were taken back are told; a new version does not learn them."""
    models, state = os.path.join(folder, "models"), os.path.join(folder, "state")
    fit(folder, "mpa", "models/m/1.ferry")
    rows = {"a": ROW, "b": {"i": [1, 7], "v": [0.1, -2.5e-9]}, "é\"": ROW[:7] + [None], "c": {"i": [], "v": []}}
    with Server(models, "--state", state, "--replay", "--set", "poll=60", "--set", "snapshot=3") as s:
        s.post("/predict", [{"id": i, "x": x} for i, x in rows.items()])
        s.post("/learn", [{"id": i, "y": "c2"} for i in rows] + [{"x": ROW, "y": "c1"}])
        want = [{"id": i, "x": x, "y": "c2"} for i, x in rows.items()] + [{"x": ROW, "y": "c1"}]
        got = s.get("/admin/labels")
        assert got.lines == want and got.headers["Content-Type"] == LINES, got
        a = s.post("/learn", {"id": "b", "retract": True}).json
        assert a == {"id": "b", "retracted": True, "seq": 10, "sync": "batch"}, a
        assert "nothing is known of 'b'" in s.post("/learn", {"id": "b", "retract": True}, expect=400).json["error"]
        for bad in ({"retract": True}, {"id": "a", "retract": False}, {"id": "a", "y": "c1", "retract": True}):
            s.post("/learn", bad, expect=400)
        s.post("/predict", {"id": "a", "retract": True}, expect=400)
        s.post("/predict", {"id": "w", "x": ROW})
        assert s.post("/learn", {"id": "w", "retract": True}).json["retracted"] is True  # one that waits
        assert "no instance" in s.post("/learn", {"id": "w", "y": "c1"}, expect=400).json["error"]
        assert s.get("/models/m/admin/labels").lines == want + [{"id": "b", "retract": True}, {"id": "w", "retract": True}]
        shutil.copy(models + "/m/1.ferry", models + "/m/2.ferry")
        s.post("/admin/reload")
        assert [v["version"] for v in s.get("/stats").json["versions"] if v["current"]] == [2]
        seen = s.post("/predict?scores=1", {"x": ROW}).json["scores"]
        assert s.post("/learn", {"id": "b", "x": rows["b"], "y": "c3"}).json["learned"] == "c3"  # it may be said again
        assert s.post("/learn", {"id": "a", "y": "c3"}).json["repeated"] is True
        s.post("/models/m/versions/1/learn", {"x": ROW, "y": "c1"}, expect=409)
        assert "seq" not in s.post("/models/m/versions/1/predict", {"id": "q", "x": ROW}).json  # waits nowhere
        s.stop()
    # what the new version learned, told to the model anew
    lines = "".join(json.dumps(a) + "\n" for a in want if a.get("id") != "b")
    ferry("stream", models + "/m/1.ferry", "--state", folder + "/again", stdin=lines)
    with Server(folder + "/again/snapshot.ferry") as s:
        assert s.post("/predict?scores=1", {"x": ROW}).json["scores"] == seen


def test_blank_rows(folder):
    """A blank row in a list has an answer of its own, so that nobody waits for it and takes another client's."""
    known, label = {"x": ROW}, {"x": ROW, "y": "c1"}
    with Server(fit(folder, "mpa"), "--state", os.path.join(folder, "state")) as s:
        for n, (path, row, form) in enumerate((("/learn", label, "[R,]"), ("/learn", label, "[,R]"), ("/learn", label, "[ , ]"), ("/learn", label, "[,\t\r\n,R ,\n]"),
                                               ("/predict", known, "[R,]"), ("/predict", known, "[,R]"))):
            first, second = s.connection(), s.connection()
            first.request("POST", path, form.replace("R", json.dumps({"id": f"a{n}", **row})), {"Content-Type": JSON})
            second.timeout = 20  # it waited for ever
            second.request("POST", "/learn", json.dumps({"id": f"secret{n}", **label}), {"Content-Type": JSON})
            other = json.loads(second.getresponse().read())
            assert other["id"] == f"secret{n}" and other["learned"] == "c1", other
            answers = json.loads(first.getresponse().read())
            parts = form[1:-1].split(",")
            assert len(answers) == len(parts), answers
            for i, (part, a) in enumerate(zip(parts, answers)):
                assert a["id"] == f"a{n}" if part.strip() else "error" in a and a["line"] == i + 1, (form, answers)
            first.close(), second.close()
        assert s.post("/learn", "\n \n\t\r\n", kind=LINES).body == b""  # lines may be blank
        s.stop()


def test_same_bits_as_stream(folder):
    model, lines = fit(folder, "mpa"), ""
    rng = random.Random(3)
    for i in range(300):
        lines += json.dumps({"id": str(i), "x": [rng.uniform(-1, 1) for _ in range(8)], "y": rng.choice(["c1", "c2", "c3"])}) + "\n"
    ferry("stream", model, "--state", os.path.join(folder, "a"), stdin=lines)
    with Server(model, "--state", os.path.join(folder, "b")) as s:
        one = lines.splitlines(keepends=True)
        for i in range(0, 300, 50):
            assert len(s.post("/learn", "".join(one[i:i + 50]), kind=LINES).lines) == 50
        s.stop()
    out = [ferry("predict", os.path.join(folder, f), os.path.join(folder, "task", "target.csv"), "-q").out for f in ("a/snapshot.ferry", "b/mpa/1.ferry")]
    assert out[0] == out[1]


def test_kill_loses_nothing(folder, kills=6):
    """kill -9 under load, again and again: every acknowledged id is answered as repeated."""
    model, state = fit(folder, "mpa"), os.path.join(folder, "state")
    known, n = [], 0
    for round_ in range(kills + 1):
        with Server(model, "--state", state, "--set", "snapshot=50") as s:
            if known:
                body = "".join(json.dumps({"id": i, "x": ROW, "y": "c1"}) + "\n" for i in known[-2000:])
                for i, a in zip(known[-2000:], s.post("/learn", body, kind=LINES).lines):
                    assert a.get("repeated") is True, (i, a)
            if round_ == kills:
                s.stop()
                break
            acks, lock, names = [], threading.Lock(), iter(range(n, n + 10**6))

            def load():
                c = s.connection()
                try:
                    while True:
                        ids = [f"k{next(names)}" for _ in range(5)]
                        c.request("POST", "/learn", json.dumps([{"id": i, "x": ROW, "y": "c2"} for i in ids]), {"Content-Type": JSON})
                        r = c.getresponse()
                        if r.status == 200:
                            done = [a["id"] for a in json.loads(r.read()) if "learned" in a]
                            with lock:
                                acks.extend(done)
                except (ConnectionError, http.client.HTTPException, OSError, ValueError):
                    return

            threads = [threading.Thread(target=load) for _ in range(3)]
            for t in threads:
                t.start()
            end = time.monotonic() + 60
            while len(acks) < 40 + 37 * (round_ % 10) and time.monotonic() < end:
                time.sleep(0.002)
            s.p.kill()
            s.p.wait()
            for t in threads:
                t.join()
            n = next(names)
            known += acks
            assert acks


def test_full_disk(folder):
    """A limit on files stands for a full disk: not acknowledged, predictions go on, and it learns again."""
    model, state = fit(folder, "mpa"), os.path.join(folder, "state")
    small = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (60000, 200000000))
    with Server(model, "--state", state, preexec=small) as s:
        body = [{"x": ROW, "y": "c1"} for _ in range(50)]
        for _ in range(100):
            a = s.post("/learn", body, expect=None)
            if a.status != 200:
                break
        assert a.status in (503, 507) and "not acknowledged" in a.json["error"] and a.headers["Retry-After"] == "1", a
        assert "prediction" in s.post("/predict", {"x": ROW}).json
        resource.prlimit(s.p.pid, resource.RLIMIT_FSIZE, (200000000, 200000000))
        s.wait_for(lambda: s.post("/learn", body, expect=None).status == 200)
        s.stop()


def test_read_only_disk(folder):
    """A disk that turns read-only: nothing is acknowledged, predictions go on; it learns when it may write again, and starts when it may."""
    if "FERRY_FAULTS" not in os.environ:
        raise Skip("FERRY_FAULTS is not set (ctest sets it)")
    model, state, faults = fit(folder, "mpa"), folder + "/state", folder + "/faults"
    env = {"LD_PRELOAD": os.environ["FERRY_FAULTS"], "FERRY_TEST_ROOT": state, "FERRY_TEST_FAULTS": faults,
           "ASAN_OPTIONS": "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")}
    label = lambda i: {"id": i, "x": ROW, "y": "c1"}
    with Server(model, "--state", state, env=env) as s:
        s.post("/learn", label("a"))
        write(folder, "faults", "ro")
        a = s.post("/learn", label("b"), expect=None)
        assert a.status in (503, 507) and "not acknowledged" in a.json["error"], a
        assert s.post("/admin/snapshot", expect=None).status in (503, 507)
        assert "prediction" in s.post("/predict", {"x": ROW}).json
        os.remove(faults)
        s.wait_for(lambda: s.post("/learn", label("b"), expect=None).status == 200)
        s.p.kill()
    write(folder, "faults", "ro")
    r = ferry("serve", model, "--state", state, "--listen", "127.0.0.1:0", "--open", env=env, code=1)
    assert "Read-only file system" in r.err and r.err.count("\n") == 1, r
    os.remove(faults)
    with Server(model, "--state", state, env=env) as s:
        assert [a.get("repeated") for a in s.post("/learn", [label("a"), label("b")]).json] == [True, True]
        s.stop()


def test_clock_jumps(folder):
    """A clock that jumps by a year with every look at it closes no connection, refills no token's rate and loses no label."""
    can_preload()
    model = fit(folder, "mpa")
    tokens = write(folder, "tokens", token_line("all", "admin", "t") + token_line("slow", "read", "s", "0.001"))
    with Server(model, "--tokens", tokens, "--state", os.path.join(folder, "st"), "--set", "idle=30", open_=False,
                env={"LD_PRELOAD": os.environ["FERRY_PRELOAD"], "FERRY_TEST_CLOCK": "1"}) as s:
        s.token = "s"
        s.post("/predict", {"x": ROW})
        for _ in range(5):
            assert 500 < int(s.post("/predict", {"x": ROW}, expect=429).headers["Retry-After"]) <= 1000
        s.token = "t"
        for i in range(20):
            assert s.post("/learn", {"id": f"i{i}", "x": ROW, "y": "c1"}).json["seq"] == i + 1
            first = s.c.sock if i == 0 else first
        s.wait_for(lambda: len(s.get("/stats").json["seconds"]) >= 3)
        at = [x["at"] for x in s.get("/stats").json["seconds"]]
        assert at == sorted(at) and at[-1] - at[0] < 100, at
        assert s.c.sock is first, "the connection was closed"
        s.stop()


def test_open_inference_protocol(folder):
    model = fit(folder, "logreg")
    with Server(model) as s:
        assert s.get("/v2/health/live").json == {"live": True} and s.get("/v2/health/ready").json == {"ready": True}
        assert "binary_tensor_data" in s.get("/v2").json["extensions"]
        meta = s.get("/v2/models/logreg/versions/1").json
        assert meta["inputs"] == [{"name": "x", "datatype": "FP64", "shape": [-1, 8]}] and meta["versions"] == ["1"]
        assert [o["name"] for o in meta["outputs"]] == ["label", "score"]
        assert s.get("/v2/models/logreg/config").json["input"][0]["data_type"] == "TYPE_FP64"
        assert s.get("/v2/models/logreg/ready").json["ready"] is True
        s.get("/v2/models/none/ready", expect=404)
        assert s.post("/v2/repository/index").json[0]["state"] == "READY"
        want = s.post("/predict?scores=1", [{"x": ROW}, {"x": ROW[::-1]}]).json
        flat = ROW + ROW[::-1]
        x = {"name": "x", "shape": [2, 8], "datatype": "FP64"}
        for data in (flat, [ROW, ROW[::-1]]):
            a = s.post("/v2/models/logreg/infer", {"id": "q", "inputs": [{**x, "data": data}]}).json
            assert a["id"] == "q" and a["model_version"] == "1"
            label, score = a["outputs"]
            assert label["data"] == [w["prediction"] for w in want] and label["datatype"] == "BYTES"
            assert score["shape"] == [2, 3] and score["data"] == [v for w in want for v in w["scores"].values()]
        for kind, code in (("FP64", "d"), ("FP32", "f"), ("FP16", "e")):
            head = json.dumps({"inputs": [{**x, "datatype": kind, "parameters": {"binary_data_size": 16 * struct.calcsize(code)}}],
                               "outputs": [{"name": "score", "parameters": {"binary_data": True}}, {"name": "label", "parameters": {"binary_data": True}}]}).encode()
            a = s.post("/v2/models/logreg/infer", head + struct.pack(f"<16{code}", *flat), kind="application/octet-stream",
                       headers={"Inference-Header-Content-Length": str(len(head))})
            n = int(a.headers["Inference-Header-Content-Length"])
            sizes = {o["name"]: o["parameters"]["binary_data_size"] for o in json.loads(a.body[:n])["outputs"]}
            assert sizes["score"] == 48 and len(a.body) == n + sum(sizes.values())
            at = n
            for name in [o["name"] for o in json.loads(a.body[:n])["outputs"]]:
                part = a.body[at:at + sizes[name]]
                at += sizes[name]
                if name == "score":
                    got = struct.unpack("<6d", part)
                    assert all(abs(g - v) < 1e-12 for g, v in zip(got, [v for w in want for v in w["scores"].values()])), kind
                else:
                    assert part == b"".join(struct.pack("<I", len(w["prediction"])) + w["prediction"].encode() for w in want)
        for bad in ({}, {"inputs": []}, {"inputs": [{**x, "data": flat[1:]}]}, {"inputs": [{**x, "data": flat + [1]}]}, {"inputs": [{**x, "shape": [2, 7], "data": flat}]},
                    {"inputs": [{**x, "shape": [-1, 8], "data": []}]}, {"inputs": [{**x, "name": "y", "data": flat}]}, {"inputs": [{**x, "datatype": "FP8", "data": flat}]},
                    {"inputs": [{**x, "data": ["a"] * 16}]}, {"inputs": [{**x, "parameters": {"binary_data_size": 128}}]}, {"inputs": [{**x, "shape": [2**60, 8], "data": flat}]},
                    {"inputs": [{**x, "data": flat}], "outputs": [{"name": "nothing"}]}, {"inputs": [{**x, "data": [1e200] * 16}]}, [1], {"inputs": 3}):
            assert isinstance(s.post("/v2/models/logreg/infer", bad, expect=400).json["error"], str), bad
        s.post("/v2/models/logreg/infer", b"{}", headers={"Inference-Header-Content-Length": "99"}, expect=400)


def test_mlflow(folder):
    write(folder, "d.csv", "size,colour,label\n" + "".join(f"{i % 7},{'red' if i % 3 else 'blue'},{'a' if i % 3 and i % 7 > 2 else 'b'}\n" for i in range(60)))
    write(folder, "t.yaml", "task: t\ngoal: classify\ndomains:\n  - {name: d, role: target, x: d.csv, labelled: 1.0}\n")
    ferry("fit", os.path.join(folder, "t.yaml"), "-m", "logreg", "-o", folder + "/m.ferry", "-q")
    for model, named in ((folder + "/m.ferry", True), (fit(folder, "logreg"), False)):
        with Server(model) as s:
            assert s.get("/ping").status == 200 and s.get("/health").status == 200
            if named:
                split = {"dataframe_split": {"columns": ["colour", "size", "extra"], "data": [["red", 5, 0], ["blue", 5, 0], ["red", None, 0]]}}
                a = s.post("/invocations", split).json["predictions"]
                assert len(a) == 3 and a[0] == "a" and a[1] == "b", a
                assert s.post("/invocations", {"dataframe_records": [{"size": 5, "colour": "red"}, {"colour": "blue", "size": 5}]}).json["predictions"] == a[:2]
                assert s.post("/invocations", "colour,size\nred,5\n\"blue\",5\n", kind="text/csv").json["predictions"] == a[:2]
                assert s.post("/invocations", "\ufeffcolour,note,size\r\nred,\"a, b\",5\r\n\r\nblue,,5".encode(), kind="text/csv; charset=utf-8").json["predictions"] == a[:2]
                assert "line 3: expected 2 cells, got 1" in s.post("/invocations", "colour,size\nred,5\nblue\n", kind="text/csv", expect=400).json["error"]
                s.post("/invocations", {"dataframe_split": {"columns": ["no", "such"], "data": [[1, 2]]}}, expect=400)
            else:
                want = s.post("/predict", [{"x": ROW}]).json[0]["prediction"]
                for body in ({"instances": [ROW]}, {"inputs": [ROW]}, {"dataframe_split": {"data": [ROW]}}):
                    assert s.post("/invocations", body).json["predictions"] == [want]
            for bad in ({}, {"instances": [[1]]}, {"instances": [["a"] * 8]}, {"instances": 3}, [], {"inputs": [[1]], "instances": [[1]]}):
                s.post("/invocations", bad, expect=400)


def test_recommend(folder):
    write(folder, "r.csv", "user,item,rating\n" + "".join(f"u{u},i{i},{1 + (u * i) % 5}\n" for u in range(12) for i in range(9) if (u + i) % 4))
    write(folder, "t.yaml", "task: t\ngoal: rate\ndomains:\n  - {name: d, role: target, ratings: r.csv, labelled: 1.0}\n")
    model = os.path.join(folder, "m.ferry")
    ferry("fit", os.path.join(folder, "t.yaml"), "-m", "mf", "-o", model, "-q")
    with Server(model) as s:
        a = s.post("/recommend", {"users": ["u1", "u3"], "top": 2}).json["recommendations"]
        assert [x["user"] for x in a] == ["u1", "u3"] and all(len(x["items"]) == 2 for x in a)
        assert a[0]["items"][0]["value"] >= a[0]["items"][1]["value"]
        want = ferry("predict", model, "--top", "2", "--user", "u1,u3", "-q").out.splitlines()[1:]
        assert [(x["user"], i["item"]) for x in a for i in x["items"]] == [tuple(w.split(",")[:2]) for w in want]
        item = a[0]["items"][0]
        assert s.post("/predict", {"user": "u1", "item": item["item"]}).json["prediction"] == item["value"]
        b = s.post("/v2/models/m/infer", {"inputs": [{"name": "user", "shape": [1], "datatype": "BYTES", "data": ["u1"]},
                                                     {"name": "item", "shape": [1], "datatype": "BYTES", "data": [item["item"]]}]}).json
        assert b["outputs"][0]["data"] == [item["value"]]
        for bad in ({}, {"users": []}, {"users": [1]}, {"users": ["u1", "u1"]}, {"users": ["u1"], "top": 0}, "["):
            s.post("/recommend", bad, expect=400)
        pair = {"user": "u1", "item": item["item"]}
        assert [x["prediction"] for x in s.post("/predict", [pair, pair]).json] == [item["value"]] * 2
        for bad in ({"user": "u1"}, {"x": [1]}, "{"):
            s.post("/predict", bad, expect=400)


def token_line(name, role, token, rate=""):
    return f"{name} {role} {hashlib.sha256(token.encode()).hexdigest()} {rate}\n"


def test_tokens(folder):
    model, tokens = fit(folder, "mpa"), write(folder, "tokens", "# who may\n" + token_line("ann", "read", "r-secret") + token_line("bob", "learn", "l-secret") +
                                               token_line("eve", "admin", "a-secret") + token_line("slow", "read", "s-secret", "0.001"))
    with Server(model, "--tokens", tokens, "--state", os.path.join(folder, "st"), "--set", "log=all", open_=False) as s:
        assert s.get("/ping").status == 200 and s.get("/v2/health/ready").status == 200
        for path in ("/metrics", "/stats", "/openapi.json", "/v2"):
            a = s.get(path, expect=401)
            assert "Bearer" in a.headers.get_all("WWW-Authenticate")[0]
        for wrong in ("r-secre", "r-secret2", "", "R-SECRET"):
            s.token = wrong
            s.post("/predict", {"x": ROW}, expect=401)
        may = {"r-secret": (200, 403, 403), "l-secret": (200, 200, 403), "a-secret": (200, 200, 200)}
        for token, codes in may.items():
            s.token = token
            got = [s.post(p, b, expect=None).status for p, b in (("/predict", {"x": ROW}), ("/learn", {"x": ROW, "y": "c1"}), ("/admin/reload", b""))]
            assert tuple(got) == codes, (token, got)
        s.token = "s-secret"
        s.post("/predict", {"x": ROW})
        assert int(s.post("/predict", {"x": ROW}, expect=429).headers["Retry-After"]) > 500
        # a browser's way, for reading alone
        basic = {"Authorization": "Basic " + __import__("base64").b64encode(b"me:a-secret").decode()}
        s.token = None
        s.get("/stats", headers=basic)
        s.post("/learn", {"x": ROW, "y": "c1"}, headers=basic, expect=401)
        s.get("/stats", headers={"Authorization": "Basic ????"}, expect=401)
        # another file, without a restart
        write(folder, "tokens", token_line("new", "admin", "n-secret"))
        s.p.send_signal(signal.SIGHUP)
        s.token = "n-secret"
        s.wait_for(lambda: s.get("/stats", expect=None).status == 200)
        s.token = "a-secret"
        s.get("/stats", expect=401)
        log = s.stop()
        assert "secret" not in log and " ann" in log and "/predict 200" in log, log
    write(folder, "bad", "ann king 00\n")
    for args, says in (((), "Give a file of tokens"), (("--open", "--tokens", tokens), "exclude"), (("--tokens", folder + "/bad"), "bad:1: role 'king'"),
                       (("--open", "--listen", "0.0.0.0:0"), "needs tls_cert"), (("--open", "--listen", "nonsense"), "HOST:PORT"),
                       (("--open", "--tls-cert", tokens), "go together"), (("--open", "--set", "sync=never"), "sync")):
        refused("serve", model, *args, says=says)
    refused("serve", folder + "/none.ferry", "--open", says="none.ferry")
    refused("serve", tokens, "--open", "--listen", "127.0.0.1:0", says="tokens")


def test_revocation(folder):
    """Who is not in the file any more may nothing a second later, whatever happened to the file, and without being told."""
    model, tokens = fit(folder, "logreg"), os.path.join(folder, "tokens")
    both = token_line("a", "admin", "a-secret") + token_line("b", "read", "b-secret")
    for how in ("a line less", "empty", "gone", "unreadable", "a folder", "half a line"):
        write(folder, "tokens", both)
        with Server(model, "--tokens", tokens, open_=False) as s:  # MODELS is a file: nobody looks at it
            may = lambda token: s.get("/stats", headers={"Authorization": "Bearer " + token}, expect=None).status == 200
            assert may("a-secret") and may("b-secret")
            if how == "half a line":
                with open(tokens, "r+") as f:
                    f.truncate(len(both) - 30)
            else:
                os.remove(tokens)
                if how == "a folder":
                    os.mkdir(tokens)
                elif how == "unreadable":
                    os.symlink("tokens", tokens)
                elif how != "gone":
                    write(folder, "tokens", token_line("a", "admin", "a-secret") if how == "a line less" else "# nobody\n")
            s.wait_for(lambda: not may("b-secret"), 10)
            assert may("a-secret") == (how in ("a line less", "half a line")), how
            assert s.get("/health").status == 200
            if how == "a folder":
                os.rmdir(tokens)
            elif how in ("unreadable", "gone"):
                with contextlib.suppress(FileNotFoundError):
                    os.remove(tokens)
            write(folder, "tokens", both)
            s.wait_for(lambda: may("b-secret") and may("a-secret"), 10)
            log = s.stop()
            assert ("nobody may now" in log) == (how not in ("a line less", "half a line")), (how, log)
            assert ("the other tokens count" in log) == (how == "half a line"), log


def test_who_reads_leaves_no_trace(folder):
    """Instances of a token that may only read do not wait: they take nobody's place and nobody's id."""
    tokens = write(folder, "tokens", token_line("r", "read", "r") + token_line("l", "learn", "l"))
    state = os.path.join(folder, "state")
    with Server(fit(folder, "mpa"), "--tokens", tokens, "--state", state, "--set", "waiting=10", open_=False) as s:
        s.token = "l"
        first = s.post("/predict", {"id": "victim", "x": ROW}).json
        assert first["seq"] == 1
        s.token = "r"
        got = s.post("/predict", [{"id": f"f{i}", "x": ROW} for i in range(50)] + [{"id": "victim", "x": ROW[::-1]}]).json
        assert all(a["id"] and "prediction" in a and "seq" not in a for a in got), got
        s.token = "l"
        # the same again is no mistake of a client that had no answer; another row under the id is one
        again = s.post("/predict", {"id": "victim", "x": ROW}).json
        assert again["repeated"] is True and again["prediction"] == first["prediction"] and s.metric("ferry_waiting") == 1
        assert "is taken" in s.post("/predict", {"id": "victim", "x": ROW[::-1]}, expect=400).json["error"]
        assert s.post("/learn", {"id": "victim", "y": "c1"}).json["learned"] == "c1"
        s.stop()
    # the state holds what clients sent: it is its owner's alone
    modes = {os.path.join(d, f): os.stat(os.path.join(d, f)).st_mode & 0o777 for d, ds, fs in os.walk(state) for f in ds + fs}
    assert os.stat(state).st_mode & 0o777 == 0o700 and len(modes) > 3
    assert all(mode == (0o700 if os.path.isdir(path) else 0o600) for path, mode in modes.items()), modes


def test_quotas(folder):
    tokens = write(folder, "tokens", token_line("rows", "read", "rows", "rows=10") + token_line("in", "read", "in", "5 in=100") +
                   token_line("out", "read", "out", "out=200 rate=100") + token_line("w", "learn", "w", "waiting=3") + token_line("v", "learn", "v") +
                   token_line("c", "learn", "c", "classes=2"))
    with Server(fit(folder, "mpa"), "--tokens", tokens, "--state", os.path.join(folder, "state"), "--set", "classes=6", open_=False) as s:
        for name, body in (("rows", [{"x": ROW}] * 5000), ("in", json.dumps({"x": ROW}) + " " * 50000), ("out", [{"x": ROW}] * 100)):
            s.token = name
            s.post("/predict", body)  # once; then it has to wait for as long as this was worth
            assert int(s.post("/predict", {"x": ROW}, expect=429).headers["Retry-After"]) > 10
        s.token = "w"
        got = s.post("/predict", [{"id": i, "x": ROW} for i in range(5)]).json
        assert ["prediction" in a for a in got] == [True] * 3 + [False] * 2 and "may wait" in got[3]["error"], got
        s.token = "v"
        assert all("prediction" in a for a in s.post("/predict", [{"id": f"v{i}", "x": ROW} for i in range(5)]).json)
        s.token = "w"
        s.post("/learn", {"id": 0, "y": "c1"})  # room for another
        assert ["prediction" in a for a in s.post("/predict", [{"id": i, "x": ROW} for i in (7, 8)]).json] == [True, False]
        # 3 classes from the start: 2 more by this token, 6 in all
        s.token = "c"
        got = s.post("/learn", [{"x": ROW, "y": y} for y in ("c1", "n1", "n1", "n2", "n3", "c2")]).json
        assert [a.get("learned") for a in got] == ["c1", "n1", "n1", "n2", None, "c2"] and "new class" in got[4]["error"], got
        s.token = "v"
        assert [a.get("learned") for a in s.post("/learn", [{"x": ROW, "y": y} for y in ("m1", "m2", "n1")]).json] == ["m1", None, "n1"]
        s.stop()


def test_answers_count_as_memory(folder):
    """An answer that is many times its request is made while it is sent, or takes no more memory than all requests may have together."""
    model = fit(folder, "mpa")
    with Server(model, "--state", os.path.join(folder, "st"), "--set", "memory=60000000", "--set", "threads=2") as s:
        row, before = '{"x":{"i":[],"v":[]}}\n', most_memory(s)
        got = []

        def ask(rows, kind=LINES, body=None):
            c = s.connection()
            c.request("POST", "/predict?scores=1", body or row * rows, {"Content-Type": kind})
            r = c.getresponse()
            got.append((r.status, r.read()))

        ask(1)
        one = got.pop()[1]
        ask(600000)
        assert got[0][0] == 200 and got[0][1] == one * 600000
        many = [threading.Thread(target=ask, args=(300000,)) for _ in range(8)]
        [t.start() for t in many]
        [t.join() for t in many]
        assert len(got) == 9 and {a for a, _ in got} <= {200, 429} and all(b == one * 300000 for a, b in got[1:] if a == 200)
        assert 200 in [a for a, _ in got[1:]]
        ask(0, JSON, "[" + ",".join([row] * 200000 + ['{"x":3}'] + [row] * 7) + "]")
        answers = json.loads(got[-1][1])
        assert len(answers) == 200008 and answers[200000]["line"] == 200001 and answers[200007] == answers[0] == json.loads(one)
        if b"__asan_init" not in open(SERVE, "rb").read():  # which keeps what was freed for a while
            assert most_memory(s) - before < 100e6, (before, most_memory(s))  # the bound, and what threads and allocators keep
        # rows that wait cannot be answered on the way: their answers count
        a = s.post("/predict?scores=1", "".join(f'{{"id":{i},"x":{ROW}}}\n' for i in range(150000)), kind=LINES, expect=None)
        assert a.status in (200, 413), a
        s.stop()


def test_a_huge_file_is_no_model(folder):
    """10 GB that are no model: one line, at once, and the server stops as fast as ever."""
    models = os.path.join(folder, "models")
    fit(folder, "mpa", "models/m/1.ferry")
    with Server(models, "--set", "poll=1") as s:
        with open(models + "/m/new", "wb") as f:
            f.truncate(10 << 30)
        os.rename(models + "/m/new", models + "/m/2.ferry")
        s.wait_for(lambda: "2.ferry" in s.read_log())
        assert most_memory(s) < 1e9
        s.stop()


def test_other_sites_are_refused(folder):
    with Server(fit(folder, "logreg")) as s:
        s.post("/predict", {"x": ROW}, headers={"Origin": "http://evil.example"}, expect=403)
        s.post("/predict", {"x": ROW}, headers={"Origin": f"http://127.0.0.1:{s.port}"})
        for host in ("evil.example", "127.evil.example", "127.0.0.1.evil.example:80", "localhost.evil.example"):  # names that may lead here
            s.get("/stats", headers={"Host": host}, expect=403)
        for host in ("localhost", f"127.0.0.1:{s.port}", "127.1.2.3", "[::1]:80"):
            s.get("/stats", headers={"Host": host})


def test_unix_socket(folder):
    path = os.path.join(folder, "s")
    for _ in range(2):  # the second finds what a killed one left
        with Server(fit(folder, "logreg"), listen="unix:" + path) as s:
            assert oct(os.stat(path).st_mode & 0o777) == "0o600"
            assert "prediction" in s.post("/predict", {"x": ROW}).json
            r = ferry("serve", os.path.join(folder, "logreg.ferry"), "--open", "--listen", "unix:" + path, code=1)
            assert "another server" in r.err, r
            s.p.kill()
            s.p.wait()


def test_tls(folder):
    if not shutil.which("openssl"):
        raise Skip("no openssl to make a certificate")
    cert, key = os.path.join(folder, "c.pem"), os.path.join(folder, "k.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert, "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
    tokens = write(folder, "tokens", token_line("a", "read", "t"))
    with Server(fit(folder, "logreg"), "--tls-cert", cert, "--tls-key", key, "--tokens", tokens, listen="0.0.0.0:0", open_=False) as s:
        assert s.where.startswith("https://")
        s.c = http.client.HTTPSConnection("127.0.0.1", s.port, context=ssl.create_default_context(cafile=cert), timeout=60)
        s.token = "t"
        assert "prediction" in s.post("/predict", {"x": ROW}).json
        assert len(s.post("/predict", [{"x": ROW}] * 20000).json) == 20000  # more than a record of TLS, both ways
        for version, ok in ((ssl.TLSVersion.TLSv1, False), (ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True), (ssl.TLSVersion.TLSv1_3, True)):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.set_ciphers("ALL:@SECLEVEL=0")  # the client takes anything
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                context.minimum_version = context.maximum_version = version
            try:
                with socket.create_connection(("127.0.0.1", s.port), timeout=20) as c, context.wrap_socket(c):
                    taken = True
            except (ssl.SSLError, ConnectionError):
                taken = False
            assert taken == ok, version
    wrong = write(folder, "wrong.pem", "nonsense")
    assert "PEM" in ferry("serve", fit(folder, "logreg"), "--open", "--tls-cert", wrong, "--tls-key", key, "--listen", "127.0.0.1:0", code=2).err


def test_back_while_it_learns(folder):
    """The version below is asked for by its number while it becomes the current one again: everybody gets their own answers."""
    models = os.path.join(folder, "models")
    fit(folder, "mpa", "models/m/1.ferry")
    with Server(models, "--state", os.path.join(folder, "state"), "--set", "poll=60", "--set", "waiting=2000") as s:
        wrong, codes, stop = [], set(), threading.Event()

        def load(k):
            c, i = s.connection(), 0
            while not stop.is_set() and not wrong:
                ids = [f"{k}-{i}-{j}" for j in range(20)]
                i += 1
                c.request("POST", "/models/m/versions/1/learn", json.dumps([{"id": n, "x": ROW, "y": f"c{i % 2 + 1}"} for n in ids]), {"Content-Type": JSON})
                r = c.getresponse()
                got = json.loads(r.read())
                if r.status != 409 and (r.status != 200 or [a.get("id") for a in got] != ids):
                    wrong.append((r.status, got))
                codes.add(r.status)

        threads = [threading.Thread(target=load, args=(k,)) for k in range(2)]
        for t in threads:
            t.start()
        for turn in range(4):
            shutil.copy(models + "/m/1.ferry", models + "/m/.2")
            os.rename(models + "/m/.2", models + "/m/2.ferry")
            s.post("/admin/reload")
            s.post("/models/m/predict", [{"id": f"w{turn}-{j}", "x": ROW} for j in range(100)])
            s.wait_for(lambda: 409 in codes)  # while the other serves
            os.remove(models + "/m/2.ferry")
            s.post("/admin/reload")
            codes.clear()
            s.wait_for(lambda: 200 in codes)
        stop.set()
        for t in threads:
            t.join()
        assert not wrong, wrong
        assert s.metric("ferry_waiting", version="1") == 400
        s.stop()


def test_versions(folder):
    """New ones are taken over under load without a lost request, bad ones refused."""
    models, state = os.path.join(folder, "models"), os.path.join(folder, "state")
    fit(folder, "mpa", "models/m/1.ferry")
    shutil.copy(fit(folder, "logreg"), models + "/other.ferry")
    with Server(models, "--state", state, "--replay", "--set", "poll=1") as s:
        s.post("/predict", {"x": ROW}, expect=404)
        learn = lambda i, y: {"id": i, "x": [len(i) % 3 - 1] * 8, "y": y}
        for i in range(30):
            body = learn("a" * (i + 1), f"c{i % 3 + 1}")
            s.post("/models/m/learn", json.dumps(body, indent=i % 2 or None))  # on one line or several: the file has one of each
        waiting = s.post("/models/m/predict", {"id": "late", "x": ROW}).json
        codes, stop = [], threading.Event()

        def load():
            c = s.connection()
            while not stop.is_set():
                c.request("POST", "/models/m/predict", json.dumps({"x": ROW}), {"Content-Type": JSON})
                r = c.getresponse()
                codes.append((r.status, r.read()))

        t = threading.Thread(target=load)
        t.start()
        write(models, "m/3.ferry", "this is no model")
        shutil.copy(models + "/m/1.ferry", models + "/m/.2")
        os.rename(models + "/m/.2", models + "/m/2.ferry")
        now = lambda: [v["version"] for v in s.get("/stats").json["versions"] if v["model"] == "m" and v["current"]]
        s.wait_for(lambda: now() == [2])
        stop.set()
        t.join()
        assert codes and all(code == 200 for code, _ in codes)
        # the labels that were kept were learned, and what waited still waits, with its answer
        assert [v["labels"] for v in s.get("/stats").json["versions"] if v["version"] == 2] == [0]
        a = s.post("/models/m/learn", {"id": "late", "y": "c1"}).json
        assert a["learned"] == "c1" and a["seq"] == 33, a
        v2 = [v for v in s.get("/stats").json["versions"] if v["version"] == 2][0]
        assert v2["labels"] == 1 and v2["mistakes"] == (waiting["prediction"] != "c1")
        for i in ("a", "aa", "late"):  # with their ids, so that none is learned again
            assert s.post("/models/m/learn", learn(i, "c1")).json["repeated"] is True, i
        assert s.get("/v2/models/m").json["versions"] == ["1", "2"]
        s.post("/models/m/versions/1/predict", {"x": ROW})
        # a version that learns does not change under its number; one that does not may
        shutil.copy(models + "/other.ferry", models + "/m/2.ferry")
        before = s.post("/models/other/predict", {"x": ROW}).json
        shutil.copy(fit(folder, "svm"), models + "/other.ferry")
        s.wait_for(lambda: s.post("/models/other/predict", {"x": ROW}).json != before)
        # one number twice: the one that is there stays
        shutil.copy(fit(folder, "logreg"), models + "/.o")
        os.makedirs(models + "/other")
        os.rename(models + "/.o", models + "/other/1.ferry")
        s.post("/admin/reload")
        assert s.post("/models/other/predict", {"x": ROW}).json != before
        os.remove(models + "/other.ferry")  # and takes its place when that one goes
        s.post("/admin/reload")
        assert s.post("/models/other/predict", {"x": ROW}).json == before
        # the highest goes, and the one below serves again, with what waits; the last one stays
        s.post("/models/m/predict", {"id": "once more", "x": ROW})
        os.remove(models + "/m/2.ferry")
        s.wait_for(lambda: s.get("/v2/models/m").json["versions"] == ["1"])
        assert s.post("/models/m/learn", {"id": "once more", "y": "c1"}).json["learned"] == "c1"
        os.rename(models + "/m/1.ferry", models + "/m/.4")
        s.post("/admin/reload")
        assert s.get("/v2/models/m").json["versions"] == ["1"]
        os.rename(models + "/m/.4", models + "/m/4.ferry")
        s.wait_for(lambda: s.get("/v2/models/m").json["versions"] == ["4"])
        log = s.stop()
        assert log.count("/3.ferry") == 1 and "give the new one a higher number" in log and "version 1 of model other is" in log, log


def test_learning_while_versions_change(folder):
    """Labels come while new versions replay those before and take over: the last version knows every one that was acknowledged."""
    models, state = os.path.join(folder, "models"), os.path.join(folder, "state")
    fit(folder, "mpa", "models/m/1.ferry")
    with Server(models, "--state", state, "--replay", "--set", "poll=1", "--set", "log=none") as s:
        acks, wrong, names, stop = [], [], iter(range(10**9)), threading.Event()

        def load():
            c = s.connection()
            while not stop.is_set():
                ids = [f"k{next(names)}" for _ in range(4)]
                c.request("POST", "/learn", json.dumps([{"id": i, "x": ROW, "y": "c2"} for i in ids]), {"Content-Type": JSON})
                r = c.getresponse()
                got = json.loads(r.read())
                (acks if r.status == 200 else wrong).extend(got if r.status == 200 else [got])

        threads = [threading.Thread(target=load) for _ in range(2)]
        for t in threads:
            t.start()
        for n in (2, 3, 4):
            shutil.copy(models + "/m/1.ferry", models + "/m/.new")
            os.rename(models + "/m/.new", models + f"/m/{n}.ferry")
            s.wait_for(lambda: [v["version"] for v in s.get("/stats").json["versions"] if v["current"]] == [n])
        stop.set()
        for t in threads:
            t.join()
        assert not wrong and all("learned" in a for a in acks), (wrong, [a for a in acks if "learned" not in a][:3])
        last = [a["id"] for a in acks][-300:]
        for i, a in zip(last, s.post("/learn", [{"id": i, "x": ROW, "y": "c2"} for i in last]).json):
            assert a.get("repeated") is True, (i, a)
        s.stop()


def test_replay_of_an_id_used_again(folder):
    """A sensor that predicts and learns under one id: each of its labels is replayed, and one that is sent again after that is not learned twice."""
    models, state = os.path.join(folder, "models"), os.path.join(folder, "state")
    fit(folder, "mpa", "models/m/1.ferry")
    with Server(models, "--state", state, "--replay", "--set", "poll=1") as s:
        for i in range(10):
            s.post("/predict", {"id": "sensor", "x": ROW})
            assert s.post("/learn", {"id": "sensor", "y": "c1"}).json["learned"] == "c1"
        shutil.copy(models + "/m/1.ferry", models + "/m/.2")
        os.rename(models + "/m/.2", models + "/m/2.ferry")
        s.wait_for(lambda: [v["version"] for v in s.get("/stats").json["versions"] if v["current"]] == [2])
        assert s.post("/learn", {"id": "sensor", "x": ROW, "y": "c1"}).json["repeated"] is True
        new = {"id": "new", "x": ROW, "y": "c1"}
        assert s.post("/learn", new).json["seq"] == 22  # 20 records, and the one that says who serves
        assert s.post("/learn", new).json["repeated"] is True


def test_replay_after_a_full_disk(folder):
    """Labels that were not acknowledged and are sent again are kept once."""
    models, state = os.path.join(folder, "models"), os.path.join(folder, "state")
    fit(folder, "mpa", "models/m/1.ferry")
    small = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (60000, 200000000))
    with Server(models, "--state", state, "--replay", "--set", "poll=1", preexec=small) as s:
        status, sent = 200, 0
        while status == 200:
            body = [{"id": f"{sent + i}", "x": {"i": [0], "v": [1]}, "y": "c1"} for i in range(50)]
            status, sent = s.post("/learn", body, expect=None).status, sent + 50
        resource.prlimit(s.p.pid, resource.RLIMIT_FSIZE, (200000000, 200000000))
        s.wait_for(lambda: s.post("/learn", body, expect=None).status == 200)
        kept = s.get("/admin/labels").lines
        assert [a["id"] for a in kept] == [str(i) for i in range(sent)], (len(kept), sent)
        shutil.copy(models + "/m/1.ferry", models + "/m/.2")
        os.rename(models + "/m/.2", models + "/m/2.ferry")
        s.wait_for(lambda: [v["version"] for v in s.get("/stats").json["versions"] if v["current"]] == [2])
        assert s.post("/learn", {"x": ROW, "y": "c1"}).json["seq"] == sent + 2
        assert all(a["repeated"] for a in s.post("/learn", kept[-100:]).json)


def test_shadow(folder):
    models, state = os.path.join(folder, "models"), os.path.join(folder, "state")
    fit(folder, "mpa", "models/m/1.ferry")
    fit(folder, "logreg", "models/m/2.shadow.ferry")
    with Server(models, "--state", state, "--set", "poll=1") as s:
        wrong = {"1": 0, "2": 0}
        lines = []
        rng = random.Random(5)
        for i in range(60):
            lines.append({"id": f"r{i}", "x": [rng.uniform(-2, 2) for _ in range(8)], "y": rng.choice(["c1", "c2", "c3"])})
        with Server(folder + "/models/m/2.shadow.ferry") as other:
            said = [a["prediction"] for a in other.post("/predict", [{"x": r["x"]} for r in lines]).json]
        diff = []
        for r, p in zip(lines, said):
            a = s.post("/learn", r).json
            wrong["1"] += a["prediction"] != r["y"]
            diff.append((a["prediction"] != r["y"]) - (p != r["y"]))
        wrong["2"] = sum(p != r["y"] for p, r in zip(said, lines))
        v = {x["version"]: x for x in s.get("/stats").json["versions"]}
        assert v[1]["mistakes"] == wrong["1"] and v[2]["mistakes"] == wrong["2"] and v[2]["shadow"]
        g = v[2]["against"]
        assert g["labels"] == 60 and abs(g["fewer_mistakes"] - (wrong["1"] - wrong["2"]) / 60) < 1e-12
        # the verdict's rule for one set of rows: Student's t with 59 degrees of freedom, one row's worth of variance at least
        half = 2.0009954 * (max(statistics.variance(diff), max(map(abs, diff)) / 60) / 60) ** 0.5
        assert abs(g["high"] - g["fewer_mistakes"] - half) < 1e-6 and abs(g["fewer_mistakes"] - g["low"] - half) < 1e-6, (g, half)
        assert s.get("/v2/models/m").json["versions"] == ["1"]
        s.post("/models/m/versions/2/predict", {"x": ROW}, expect=404)
        # one that learns as well, then shown
        fit(folder, "mpa", "models/m/3.shadow.ferry")
        s.wait_for(lambda: any(x["version"] == 3 for x in s.get("/stats").json["versions"]))
        for i in range(20):
            s.post("/learn", {"id": f"s{i}", "x": [i % 3] * 8, "y": "c1"})
        v = {x["version"]: x for x in s.get("/stats").json["versions"]}
        assert v[3]["labels"] == 20 and v[3]["against"]["labels"] == 20
        os.rename(models + "/m/3.shadow.ferry", models + "/m/3.ferry")
        s.wait_for(lambda: s.get("/v2/models/m").json["versions"] == ["1", "3"])
        assert s.post("/learn", {"id": "after", "x": ROW, "y": "c1"}).json["seq"] == 82  # the 80 of both, and who serves
        v = {x["version"]: x for x in s.get("/stats").json["versions"]}
        assert v[3]["current"] and v[3]["labels"] == 1
        s.stop()


def test_backpressure_and_graceful_stop(folder):
    model = fit(folder, "mpa")
    with Server(model, "--state", os.path.join(folder, "st"), "--sync", "always", "--set", "queue=1") as s:
        body = json.dumps([{"x": ROW, "y": "c1"} for _ in range(400)])
        codes, lock = [], threading.Lock()

        def load():
            c = s.connection()
            try:
                c.request("POST", "/learn", body, {"Content-Type": JSON})
                r = c.getresponse()
                with lock:
                    codes.append((r.status, r.headers.get("Retry-After"), len(r.read())))
            except (ConnectionError, http.client.HTTPException):
                with lock:
                    codes.append((0, None, 0))

        threads = [threading.Thread(target=load) for _ in range(12)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert {c for c, _, _ in codes} <= {200, 429} and any(c == 429 for c, _, _ in codes), codes
        assert all(after == "1" for c, after, _ in codes if c == 429)
        learned = sum(c == 200 for c, _, _ in codes) * 400
        assert s.metric("ferry_labels_total") == learned
        # a request that is there when the signal comes is finished
        codes.clear()
        t = threading.Thread(target=load)
        t.start()
        s.wait_for(lambda: s.metric("ferry_queue") + s.metric("ferry_body_bytes") > 0 or codes)
        s.stop()
        t.join()
        assert codes[0][0] == 200, codes
    r = ferry("stream", model, "--state", os.path.join(folder, "st", "mpa"), stdin="{}\n")
    assert json.loads(r.out)["seq"] == learned + 400


def broken(rng):
    """A request that is nearly right, its body, its head or its coding changed in a few places; whether its head still fits the bytes that follow."""
    bodies = ({"id": "a", "x": ROW, "y": "c1"}, [{"x": ROW}], {"inputs": [{"name": "x", "shape": [1, 8], "datatype": "FP64", "data": ROW}]},
              {"inputs": [{"name": "x", "shape": [1, 8], "datatype": "FP64", "parameters": {"binary_data_size": 64}}]},
              {"dataframe_split": {"columns": list("abcdefgh"), "data": [ROW]}}, {"users": ["a"]})
    paths = (b"/predict", b"/learn", b"/v2/models/mpa/infer", b"/invocations", b"/recommend", b"/models/%2e%2e/predict", b"/v2/models/mpa/versions/1/infer")
    body, head = bytearray(json.dumps(rng.choice(bodies)).encode()), b"Content-Type: application/json\r\n"
    form = rng.randrange(8)
    if form == 0:
        head += b"Inference-Header-Content-Length: %d\r\n" % (len(body) + rng.choice((0, 0, 0, -1, 9, 10**12)))
        body += struct.pack("<8d", *ROW)
    elif form == 1:
        head = b"Content-Type: application/x-ndjson\r\n"
        body += b"\n" + body
    for _ in range(rng.randrange(4)):
        what, at = rng.randrange(3), rng.randrange(len(body) + 1)
        if what == 0 and at < len(body):
            body[at] = rng.randrange(256)
        elif what == 1:
            body[at:at] = rng.choice([b"{", b"[", b'"', b"\\u12", b"\xff", b"1e999", b"null", b"-", b"\0", b"[" * 50])
        else:
            del body[at:at + rng.randrange(1, 9)]
    if form == 2:
        head += b"Content-Encoding: gzip\r\n"
        body = bytearray(gzip.compress(bytes(body)))
        if rng.randrange(2):
            body[rng.randrange(len(body))] ^= 1 << rng.randrange(8)
    if form == 3:
        head += b"Transfer-Encoding: chunked\r\n"
        body = b"%x\r\n" % rng.choice((len(body), len(body), 1, 2**40)) + body + b"\r\n0\r\n\r\n"
    else:
        head += b"Content-Length: %d\r\n" % len(body)
    raw = bytearray(b"POST %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n%s" % (rng.choice(paths), head, body))
    whole = form != 3
    if rng.randrange(4) == 0:
        raw[rng.randrange(len(raw))] = rng.randrange(256)
        whole = False
    return raw, whole


def test_malformed(folder, n=400):
    """Bytes that are no request, requests that are no JSON: always an answer or a closed connection, and it lives."""
    model, rng = fit(folder, "mpa"), random.Random(11)
    with Server(model, "--state", os.path.join(folder, "st"), "--set", "timeout=2", "--set", "log=none") as s:
        complete = answered = 0
        for i in range(0, n, 50):
            open_ = [(socket.create_connection(("127.0.0.1", s.port), timeout=20), *broken(rng)) for _ in range(50)]
            for c, raw, _ in open_:
                c.sendall(raw)
            for c, _, whole in sorted(open_, key=lambda o: not o[2]):
                if not whole:  # may get an answer or wait for more: it is left alone
                    c.settimeout(0.01)
                try:
                    said = c.recv(65536).startswith(b"HTTP/1.1 ")
                except OSError:
                    said = False
                complete += whole
                answered += whole and said
                c.close()
        assert answered == complete > n / 2, f"{answered} of {complete} were answered"
        assert s.get("/ping").status == 200
        assert s.answers("5xx") == 0
        log = s.stop()
        assert "runtime error" not in log and "Sanitizer" not in log, log


def test_openapi_is_true(folder):
    """Every path of the page is there, and no other answer has another error schema."""
    with Server(fit(folder, "logreg")) as s:
        api = s.get("/openapi.json").json
        for path, methods in api["paths"].items():
            for method in methods:
                where = path.replace("{model}", "logreg").replace("{version}", "1")
                a = s.ask(method.upper(), where, b"" if method == "post" else None, expect=None)
                assert a.status not in (404, 405), (method, path, a)
                assert str(a.status) in methods[method]["responses"], (method, path, a)
                if a.status >= 400:
                    assert set(a.json) == set(api["components"]["schemas"]["Error"]["required"])


if __name__ == "__main__":
    harness.main(sys.modules[__name__])
