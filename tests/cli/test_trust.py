"""A slice of repro/verdict through the real command, and docs/trust.md is what its results say."""
import json
import os
import subprocess
import sys

from harness import FERRY, TOP, data_sets, main

SCRIPTS = os.path.join(TOP, "repro", "verdict")


def simulate(folder, *words):
    out = os.path.join(folder, "out.json")
    subprocess.run([sys.executable, "-B", os.path.join(SCRIPTS, "simulate.py"), *words, "--quiet", "--out", out], check=True)
    with open(out) as f:
        return json.load(f)["rows"]


def test_page_is_current(folder):
    subprocess.run([sys.executable, "-B", os.path.join(SCRIPTS, "page.py"), "--check"], check=True)


def test_useless_sources(folder):
    """Two tasks of each goal: the first twelve of the page's, so what they gave there they give here."""
    rows = simulate(folder, "useless", FERRY, "--tasks", "12")
    assert sorted({r["goal"] for r in rows}) == ["classify", "embed", "multilabel", "rate", "regress", "stream"]
    verdicts = [v for r in rows for v in r["verdicts"].values()]
    assert len(verdicts) >= 24 and not {"best", "helps"} & set(verdicts), verdicts
    assert not any(r["answer"]["verdict"] == "worth it" for r in rows), rows
    assert verdicts.count("harms") <= 2, verdicts
    # controls cost at most twice the 12 fits a method that the first version took, and no more than these where nothing can come of them
    for r in rows:
        fits = r["fits"].values()
        assert fits and (max(fits) <= 12 or 19 <= max(fits) <= 24) and min(fits) > 0, r
    assert sum(max(r["fits"].values()) <= 12 for r in rows) >= 4, [r["fits"] for r in rows]


def test_coverage(folder):
    """Two pools of each design: an interval that is there and holds its own mean."""
    rows = simulate(folder, "coverage", FERRY, "--tasks", "2")
    assert len(rows) == 36 and all(r["low"] <= r["mean"] <= r["high"] for r in rows), rows


def test_promise(folder):
    """One task of each goal: what is expected of a model of all labels is near what fresh rows say; a source that resembles the target is worth something."""
    rows = simulate(folder, "promise", FERRY, "--tasks", "4")
    assert [r["goal"] for r in rows] == ["classify", "regress", "multilabel", "rate"], rows
    for r in rows:
        assert r["true"] > 0 and abs(r["value"] - r["true"]) < (0.25 if r["goal"] in ("classify", "multilabel") else 0.5 * r["true"]), r
    rows = simulate(folder, "worth", FERRY, "--tasks", "1", "--repeats", "4")
    assert [r["goal"] for r in rows] == ["classify", "regress", "multilabel"] and all(r["worth_low"] <= r["worth"] <= r["worth_high"] for r in rows), rows


def test_equal_learners(folder):
    """One pool of each design, and of ten equal learners: nothing is far from the truth, nothing is better or worse."""
    rows = simulate(folder, "size", FERRY, "--tasks", "1")
    assert len(rows) == 6 and all(r["low"] <= r["mean"] <= r["high"] and abs(r["mean"] - r["truth"]) < 0.4 for r in rows), rows
    assert [r["truth"] != 0 for r in rows] == [False] * 5 + [True], rows
    rows = simulate(folder, "family", FERRY, "--tasks", "1")
    assert len(rows) == 2 and not any(r["false_better"] or r["false_worse"] for r in rows), rows


def test_texts_for_pictures(folder):
    """One of the 23 real tasks, with fewer repeats: the gain is there, and found."""
    data_sets("nuswide_text_image")
    row, = simulate(folder, "images", FERRY, "--tasks", "1", "--repeats", "3")
    assert row["task"] == "birds-food" and row["low"] > 0 and row["verdicts"] == {"hop": "best"} and row["fits"]["hop"] <= 24, row


main(sys.modules[__name__])
