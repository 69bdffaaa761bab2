"""kserve, tritonclient and mlflow, unchanged, and schemathesis against ferry serve. FERRY_CLIENTS names a Python that has them (scripts/serve-clients makes
one): they are no Debian packages."""
import hashlib
import json
import os
import subprocess
import sys

import harness
from harness import Skip
from serve_client import ROW, Server, fit


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


if __name__ == "__main__":
    harness.main(sys.modules[__name__])
