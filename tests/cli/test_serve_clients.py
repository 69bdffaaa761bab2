"""kserve, tritonclient and mlflow, unchanged, and schemathesis against ferry serve. FERRY_CLIENTS names a Python that has them (scripts/serve-clients makes
one): they are no Debian packages. What they sent when they were last recorded is sent everywhere.

usage: FERRY_CLIENTS=PYTHON test_serve_clients.py FERRY --record     record it again, in serve_recorded.json"""
import base64
import gzip
import hashlib
import http.client
import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading

import harness
from harness import Skip
from serve_client import ROW, Answer, Server, fit


RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "serve_recorded.json")


def record():
    """Every connection of the three clients, as bytes; they talk to the server through this."""
    seen, folder = [], tempfile.TemporaryDirectory()
    with folder, Server(fit(folder.name, "logreg")) as s, socket.create_server(("127.0.0.1", 0)) as here:
        mine, its = (b"127.0.0.1:%d" % p for p in (here.getsockname()[1], s.port))

        def pass_on(a, b, keep):
            while data := a.recv(65536):
                keep.extend(data)
                b.sendall(data.replace(mine, its))
            b.shutdown(socket.SHUT_WR)

        def accept():
            while True:
                a, b = here.accept()[0], socket.create_connection(("127.0.0.1", s.port))
                seen.append((name, bytearray()))
                for from_, to, keep in ((a, b, seen[-1][1]), (b, a, bytearray())):
                    threading.Thread(target=pass_on, args=(from_, to, keep), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        for client, package in (("triton", "tritonclient"), ("kserve", "kserve"), ("mlflow", "mlflow-skinny")):
            python, script = os.environ["FERRY_CLIENTS"], os.path.join(os.path.dirname(RECORDED), "serve_clients.py")
            version = subprocess.run([python, "-c", f"import importlib.metadata as m; print(m.version('{package}'))"], capture_output=True, text=True, check=True)
            name = f"{package} {version.stdout.strip()}"
            subprocess.run([python, "-B", script, client, mine.decode().split(":")[1]], check=True)
    with open(RECORDED, "w") as f:
        json.dump([[n, base64.b64encode(bytes(b).replace(mine, b"127.0.0.1")).decode()] for n, b in seen], f, indent=0)
        f.write("\n")


def tensors(a):
    """Outputs of an infer answer, by name, whether they came as JSON or as bytes."""
    body = gzip.decompress(a.body) if a.headers.get("Content-Encoding") == "gzip" else a.body
    n = int(a.headers.get("Inference-Header-Content-Length", len(body)))
    out, at = {}, n
    for o in json.loads(body[:n])["outputs"]:
        part = body[at:at + o.get("parameters", {}).get("binary_data_size", 0)]
        at += len(part)
        if "data" in o:
            out[o["name"]] = o["data"]
        elif o["datatype"] == "FP64":
            out[o["name"]] = list(struct.unpack(f"<{len(part) // 8}d", part))
        else:
            out[o["name"]] = [w.decode() for w in re.findall(rb"(?s).\0\0\0(..)", part)]  # names of two letters
    return out


def test_recorded(folder):
    """What tritonclient, kserve and mlflow sent, byte by byte: headers, binary tensors, gzip."""
    count = {}
    with Server(fit(folder, "logreg")) as s, open(RECORDED) as f:
        want = s.post("/predict?scores=1", [{"x": ROW}, {"x": ROW[::-1]}]).json
        labels, scores = [w["prediction"] for w in want], [v for w in want for v in w["scores"].values()]
        for client, text in json.load(f):
            rest = base64.b64decode(text)
            with socket.create_connection(("127.0.0.1", s.port), timeout=60) as c:
                while rest:  # one connection, as the client had it
                    head, _, rest = rest.partition(b"\r\n\r\n")
                    length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
                    body, rest = (rest[:int(length.group(1))], rest[int(length.group(1)):]) if length else (b"", rest)
                    c.sendall(head + b"\r\n\r\n" + body)
                    r = http.client.HTTPResponse(c)
                    r.begin()
                    a = Answer(r)
                    path = head.split()[1].decode()
                    wrong = 404 if "/none/" in path else 400 if b'"name":"y"' in body else 200
                    assert a.status == wrong, (client, head, a)
                    if path.endswith("/infer") and wrong == 200:
                        got = tensors(a)
                        assert got["label"] == labels and all(abs(x - y) < 1e-12 for x, y in zip(got["score"], scores)), (client, head, got)
                    elif path == "/invocations":
                        assert a.json == {"predictions": labels}, (client, a)
                    key = client.split()[0], path
                    count[key] = count.get(key, 0) + 1
    assert count["tritonclient", "/v2/models/logreg/infer"] == 9 and count["kserve", "/v2/models/logreg/infer"] == count["mlflow-skinny", "/invocations"] == 1, count


def python_with(module):
    python = os.environ.get("FERRY_CLIENTS")
    if not python:
        raise Skip("FERRY_CLIENTS names no Python with kserve, tritonclient and mlflow (scripts/serve-clients)")
    r = subprocess.run([python, "-c", f"import {module}"], capture_output=True, text=True)
    assert r.returncode == 0, r.stderr[-2000:]
    return python


def with_client(folder, name, module):
    python = python_with(module)
    with Server(fit(folder, "logreg")) as s:
        r = subprocess.run([python, "-B", os.path.join(os.path.dirname(os.path.abspath(__file__)), "serve_clients.py"), name, str(s.port)],
                           capture_output=True, text=True, timeout=240)
        assert r.returncode == 0, r.stderr[-3000:]
        want = s.post("/predict?scores=1", [{"x": ROW}, {"x": ROW[::-1]}]).json
        return json.loads(r.stdout.splitlines()[-1]), [w["prediction"] for w in want], [[round(v, 6) for v in w["scores"].values()] for w in want]


def test_tritonclient(folder):
    got, labels, scores = with_client(folder, "triton", "tritonclient.http")
    assert got[0] == labels and all(abs(a - b) < 2e-6 for r, w in zip(got[1], scores) for a, b in zip(r, w)), (got, labels, scores)


def test_kserve(folder):
    got, labels, scores = with_client(folder, "kserve", "kserve")
    assert got[0] == labels and all(abs(a - b) < 2e-6 for a, b in zip(got[1], [v for w in scores for v in w])), (got, labels, scores)


def test_mlflow(folder):
    got, labels, _ = with_client(folder, "mlflow", "mlflow.pyfunc.scoring_server.client")
    assert got == labels, (got, labels)


def test_schemathesis(folder, examples=8):
    """Requests made from /openapi.json, right and wrong, for a model that learns: no 5xx, and no answer that the page does not announce."""
    python = python_with("schemathesis")
    models, tokens = os.path.join(folder, "models"), os.path.join(folder, "tokens")
    fit(folder, "mpa", "models/mpa.ferry")
    harness.write(folder, "tokens", "all admin " + hashlib.sha256(b"t").hexdigest() + "\n")
    harness.write(folder, "schemathesis.toml", '[parameters]\n"path.model" = "mpa"\n"path.version" = 1\n')
    with Server(models, "--state", folder + "/state", "--tokens", tokens, "--set", "log=none", open_=False) as s:
        checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance," \
                 "unsupported_method,ignored_auth,missing_required_header"
        s.token = "t"
        harness.write(folder, "openapi.json", s.get("/openapi.json").body.decode())
        r = subprocess.run([python, "-m", "schemathesis.cli", "run", "openapi.json", "--url", f"http://127.0.0.1:{s.port}", "-H", "Authorization: Bearer t",
                            "-n", str(examples), "--seed", "1", "--phases", "examples,coverage,fuzzing", "--suppress-health-check", "all",
                            "--checks", checks, "--output-truncate", "false"], cwd=folder, capture_output=True, text=True, timeout=900,
                           env={**os.environ, "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"})
        assert r.returncode == 0, r.stdout[-6000:] + r.stderr[-2000:]
        s.c.close()  # idle for long, so the server may have done so as well
        s.c = None
        assert s.get("/ping").status == 200 and s.metric("ferry_requests_total", route="predict", status="4xx") > 0
        s.stop()


if __name__ == "__main__" and "--record" in sys.argv:
    record()
elif __name__ == "__main__":
    harness.main(sys.modules[__name__])
