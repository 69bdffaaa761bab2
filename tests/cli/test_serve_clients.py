"""kserve, tritonclient and mlflow, unchanged, against ferry serve. FERRY_CLIENTS names a Python that has them: they are no Debian packages."""
import json
import os
import subprocess
import sys

import harness
from harness import Skip
from serve_client import ROW, Server, fit


def with_client(folder, name, module):
    python = os.environ.get("FERRY_CLIENTS")
    if not python:
        raise Skip("FERRY_CLIENTS names no Python with kserve, tritonclient and mlflow")
    if subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode != 0:
        raise Skip(f"{python} has no {module}")
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


if __name__ == "__main__":
    harness.main(sys.modules[__name__])
