"""The live page of ferry serve in Chromium: the numbers on it after a load that is known, dark and narrow, keyboard, no network."""
import json
import os
import random
import sys

import chrome
import harness
from serve_client import LINES, ROW, Server, fit

OUT = os.environ.get("FERRY_SCREENSHOTS")  # a folder that keeps pictures of the page


def load(s, n=120, seed=7):
    """Labels in batches, some requests that are wrong, two rows that wait; returns the mistakes."""
    rng, wrong = random.Random(seed), 0
    lines = [{"id": f"i{k}", "x": [rng.uniform(-1, 1) for _ in range(7)] + [9], "y": rng.choice(["c1", "c2", "c3"])} for k in range(n)]
    for at in range(0, n, 20):
        answers = s.post("/learn", "".join(json.dumps(r) + "\n" for r in lines[at:at + 20]), kind=LINES).lines
        wrong += sum(a["prediction"] != r["y"] for a, r in zip(answers, lines[at:at + 20]))
    for k in range(2):
        s.post("/predict", {"id": f"w{k}", "x": ROW})
    for _ in range(30):
        s.post("/predict", {"x": ROW[:7] + [9]})
    s.post("/predict", {"x": [1], "why": "<b>no markup</b>"}, expect=400)
    return wrong


def text(page, name):
    return page.eval(f"document.getElementById('{name}').textContent")


def test_page(folder):
    chrome.find()
    models = os.path.join(folder, "models")
    os.makedirs(os.path.join(models, "m"))
    fit(folder, "hetomtl", "models/m/1.ferry")
    fit(folder, "logreg", "models/m/2.shadow.ferry")
    with Server(models, "--state", os.path.join(folder, "state")) as s:
        wrong = load(s)
        s.wait_for(lambda: len(s.get("/stats").json["seconds"]) >= 2 and s.get("/stats").json["seconds"][-1]["labels"] == 120)
        for name, how in (("wide", {}), ("dark", {"dark": True}), ("narrow", {"width": 380, "dark": True})):
            with chrome.Page(f"http://127.0.0.1:{s.port}/", **how) as page:
                page.wait("document.querySelectorAll('[data-drawn]').length >= 4")
                assert text(page, "tile-labels") == "120" and text(page, "tile-waiting") == "2"
                shown = float(text(page, "tile-mistakes").split()[0])
                assert abs(shown - 100 * wrong / 120) < 0.06, (shown, wrong)
                assert int(text(page, "tile-requests").replace(",", "")) >= 39 and int(text(page, "tile-errors")) >= 1
                assert text(page, "tile-p50") != "none" and text(page, "tile-p99") != "none"
                table = page.eval("document.querySelector('[aria-label=Models]').textContent")
                assert "shadow" in table and "fewer mistakes by" in table and "hetomtl" in table, table
                moved = page.eval("document.querySelector('[aria-label=\"Drift of the inputs\"] tbody th').textContent")
                assert moved == "b8", moved  # the feature that was 9 in most rows
                errors = page.eval("document.querySelector('.errors').textContent")
                assert "POST /predict" in errors and page.eval("document.querySelectorAll('.errors b').length") == 0
                assert page.eval("document.querySelectorAll('#weights svg').length") == 1
                # nothing wider than the window, one h1, named plots, the button by keyboard
                assert page.eval("document.documentElement.scrollWidth <= window.innerWidth")
                assert page.eval("document.querySelectorAll('h1').length") == 1
                assert page.eval("[...document.querySelectorAll('[role=img]')].every(e => document.getElementById(e.getAttribute('aria-labelledby')).textContent)")
                page.eval("document.querySelector('button').focus()")
                for kind in ("keyDown", "keyUp"):
                    page.call("Input.dispatchKeyEvent", type=kind, key=" ", code="Space", text=" " if kind == "keyDown" else "", windowsVirtualKeyCode=32)
                page.wait("document.querySelector('button').getAttribute('aria-pressed') === 'true'")
                page.eval("document.querySelector('button').click()")
                dark = page.eval("getComputedStyle(document.body).backgroundColor") == "rgb(20, 25, 31)"
                assert dark == bool(how.get("dark"))
                assert not page.console, page.console
                if OUT:
                    os.makedirs(OUT, exist_ok=True)
                    page.screenshot(os.path.join(OUT, f"serve-{name}.png"))
                if name == "narrow":  # it follows
                    s.post("/learn", {"id": "w0", "y": "c1"})
                    page.wait("document.getElementById('tile-waiting').textContent === '1'")


def test_page_needs_a_token(folder):
    tokens = harness.write(folder, "tokens", "a read " + __import__("hashlib").sha256(b"t").hexdigest() + "\n")
    with Server(fit(folder, "logreg"), "--tokens", tokens, open_=False) as s:
        for path in ("/", "/serve.js", "/serve.css", "/stats"):
            a = s.get(path, expect=401)
            assert any("Basic" in h for h in a.headers.get_all("WWW-Authenticate")), a.headers
        s.token = "t"
        page = s.get("/")
        assert "default-src 'none'" in page.headers["Content-Security-Policy"] and b"logreg" not in page.body
        assert b"const vega" in s.get("/serve.js").body


if __name__ == "__main__":
    harness.main(sys.modules[__name__])
