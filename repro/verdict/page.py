#!/usr/bin/env python3
"""docs/trust.md from repro/verdict/results/*.json (simulate.py makes them).

    page.py [--check]      write the page, or fail when it is not what the results say
"""
import collections
import json
import math
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "..", "docs", "trust.md")


def load(name):
    with open(os.path.join(HERE, "results", name + ".json")) as f:
        return json.load(f)


def below(k, n, p):
    """P(at most k of n)."""
    return sum(math.comb(n, i) * p ** i * (1 - p) ** (n - i) for i in range(k + 1))


def upper(k, n):
    """Exact one-sided 95 % bound of a share."""
    lo, hi = k / n, 1.0
    for _ in range(60):
        p = (lo + hi) / 2
        lo, hi = (p, hi) if below(k, n, p) > 0.05 else (lo, p)
    return hi


def share(k, n):
    return "%d of %d (at most %.1f %%)" % (k, n, 100 * upper(k, n))


def wilson(k, n):
    z, p = 1.96, k / n
    mid, half = (p + z * z / 2 / n) / (1 + z * z / n), z * math.sqrt(p * (1 - p) / n + z * z / 4 / n / n) / (1 + z * z / n)
    return "%.3f (%.3f to %.3f)" % (p, mid - half, mid + half)


def rows_of(head, rows):
    return ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"] + ["| " + " | ".join(str(c) for c in r) + " |" for r in rows]


def has(row, word):
    return word in row["verdicts"].values()


def useless_part(d):
    rows = d["rows"]
    goals = list(dict.fromkeys(r["goal"] for r in rows))
    out = ["## Sources that tell nothing", "",
           "%d made-up tasks of at most 400 rows, %d repeats, run with `ferry run` at its defaults. A source is *useless* (its labels, or ratings, are noise) or"
           % (len(rows), d["repeats"]),
           "*unrelated* (it has structure of its own, which has nothing to do with the target). No method should be said to help; an unrelated source may really",
           "do harm. A task counts when any of its methods gets the verdict. In brackets the exact 95 % upper bound.", ""]
    table = []
    for goal in goals + ["all"]:
        some = [r for r in rows if goal in (r["goal"], "all")]
        table.append([goal, ", ".join(sorted({m for r in some for m in r["verdicts"]})) if goal != "all" else "",
                      share(sum(has(r, "helps") for r in some), len(some)), share(sum(has(r, "harms") for r in some), len(some))])
    out += rows_of(["goal", "methods", "said to help", "said to harm"], table)
    words = ["helps", "any source", "not shown", "unused", "weaker", "harms", "equal", "undecided"]
    count = collections.Counter((r["goal"], m, v) for r in rows for m, v in r["verdicts"].items())
    pairs = sorted({(r["goal"], m) for r in rows for m in r["verdicts"]}, key=lambda p: (goals.index(p[0]), p[1]))
    return out + ["", "By method:", ""] + rows_of(["goal", "method"] + words, [[g, m] + [count[(g, m, w)] or "" for w in words] for g, m in pairs]) + [""]


def coverage_part(d):
    by = collections.defaultdict(list)
    for r in d["rows"]:
        by[r["metric"]].append(r)
    table = []
    for metric, rows in by.items():
        truth = statistics.mean(r["mean"] for r in rows)
        hit = sum(r["low"] is not None and r["low"] <= truth <= r["high"] for r in rows)
        own = [r for r in rows if r["own"] is not None]
        table.append([metric, "%.4f" % truth, wilson(hit, len(rows)),
                      wilson(sum(r["low"] <= r["own"] <= r["high"] for r in own), len(own)) if own else ""])
    return ["## Does the interval hold the truth?", "",
            "Two learners on %d pools of 100 to 350 rows, each drawn from one population, %d repeats. *Population*: the share of pools whose 95 %% interval holds the" % (d["tasks"], d["repeats"]),
            "mean difference over all pools, which is what new data of this kind would show. *Pool*: it holds the pool's own difference (80 other draws of the visible",
            "labels), which the interval does not aim at and holds more often. In brackets 95 % intervals of the shares.", ""] + \
        rows_of(["metric", "true difference", "population", "pool"], table) + ["",
            "Where the share is above .95 the verdict is slower to decide than it could be; where it is below, it is a little too sure: k-means of an embedding is no smooth",
            "function of its rows, and ratings of thirty users and items have few clusters.", ""]


def power_part(d):
    table = []
    for repeats in (6, 10):
        rows = [r for r in d["rows"] if r["repeats"] == repeats]
        for name, some in (("5 to 10 points", [r for r in rows if 0.05 <= r["gain"] < 0.1]), ("10 points or more", [r for r in rows if r["gain"] >= 0.1]),
                           ("less than 5", [r for r in rows if r["gain"] < 0.05])):
            c = collections.Counter(r["verdicts"]["hop"] for r in some)
            table.append([repeats, name, len(some), c["helps"], ", ".join("%d %s" % (n, v) for v, n in c.most_common() if v != "helps")])
    return ["## Are gains found?", "",
            "`ferry gen bridge` with 150 target rows, 9 of them labelled, %d tasks: hop against svm, knn and semi-svm, by the gain that was observed." % d["tasks"], ""] + \
        rows_of(["repeats", "gain of hop", "tasks", "helps", "else"], table) + [""]


def guard_part(useless, power):
    out = ["## The guard", "",
           "What the guard took in each (task, repeat), against the best baseline and the best transfer method by the same cross-validation. *Regret*: how far the taken method is",
           "below the better of these two on the hidden rows, on average, as a share of its value. *Below*: pairs in which it is more than a point (a hundredth) below the baseline.", ""]
    table = []
    groups = [("generated bridges", "classify", [r for r in power["rows"] if r["guard"]])]
    for source in ("useless", "unrelated"):
        for goal in ("classify", "regress", "multilabel", "rate"):
            groups.append((source, goal, [r for r in useless["rows"] if r["source"] == source and r["goal"] == goal and r["guard"]]))
    total = []
    for source, goal, rows in groups:
        regret, low, n, took = [], 0, 0, 0
        for r in rows:
            sign = 1 if r["larger"] else -1
            for got, base, transfer in r["guard"]:
                if base is None or transfer is None:
                    continue
                better = max(sign * base, sign * transfer)
                scale = max(abs(better), 1e-9)
                regret.append((better - sign * got) / scale)
                least = 0.01 if r["larger"] else 0.01 * abs(base)
                low += sign * got < sign * base - least
                took += got != base
                n += 1
        if n:
            table.append([source, goal, n, "%.2f %%" % (100 * statistics.mean(regret)), "%.1f %%" % (100 * low / n), "%.0f %%" % (100 * took / n)])
            total.append((source, n, low, regret))
    out += rows_of(["source", "goal", "pairs", "regret", "below", "other than the baseline"], table) + [""]
    for source in ("useless", "unrelated"):
        some = [t for t in total if t[0] == source]
        if some:
            n, low = sum(t[1] for t in some), sum(t[2] for t in some)
            out.append("- %s sources: below in %d of %d pairs (%.1f %%)" % (source, low, n, 100 * low / n))
    every = [x for t in total for x in t[3]]
    if every:
        out.append("- all: mean regret %.2f %% over %d pairs; no setting was chosen on any of them" % (100 * statistics.mean(every), len(every)))
    return out + [""]


def page():
    useless, coverage, power = load("useless"), load("coverage"), load("power")
    return "\n".join(["# How far to trust the verdict", "",
                      "Made by `repro/verdict/page.py` from `repro/verdict/results/`, which `repro/verdict/simulate.py` writes by running the real command on made-up tasks whose truth is",
                      "known. [evaluation.md](evaluation.md) has what the verdicts mean. Everything here can be had again: `python3 repro/verdict/simulate.py useless FERRY --guard --out",
                      "repro/verdict/results/useless.json`, likewise `coverage` and `power --guard`; a slice runs with the tests.", ""]
                     + useless_part(useless) + coverage_part(coverage) + power_part(power) + guard_part(useless, power))


def main():
    text = page()
    if "--check" in sys.argv[1:]:
        with open(PAGE) as f:
            if f.read() != text:
                raise SystemExit("docs/trust.md is not what repro/verdict/results say: run repro/verdict/page.py")
        return
    with open(PAGE, "w") as f:
        f.write(text)


if __name__ == "__main__":
    main()
