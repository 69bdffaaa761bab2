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
    path = os.path.join(HERE, "results", name + ".json")
    if not os.path.exists(path):
        return {"rows": []}
    with open(path) as f:
        return json.load(f)


def measured(*parts):
    """With which program; the first results did not say, and what has changed since is told."""
    known = sorted({d["ferry"] for d in parts if "ferry" in d})
    if known and all("ferry" in d for d in parts if d["rows"]):
        return "Measured with %s." % ", ".join(known)
    return "**%s before two fixes (the guard's gate, the order of a stream); to be measured again.**" % ("In part measured" if known else "Measured")


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


def bounds(k, n):
    """Wilson's 95 % interval of a share."""
    z, p = 1.96, k / n
    mid, half = (p + z * z / 2 / n) / (1 + z * z / n), z * math.sqrt(p * (1 - p) / n + z * z / 4 / n / n) / (1 + z * z / n)
    return mid - half, mid + half


def wilson(k, n):
    return "%.3f (%.3f to %.3f)" % (k / n, *bounds(k, n))


def rows_of(head, rows):
    return ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"] + ["| " + " | ".join(str(c) for c in r) + " |" for r in rows]


def has(row, word):
    return word in row["verdicts"].values()


def useless_part(d):
    rows = d["rows"]
    goals = list(dict.fromkeys(r["goal"] for r in rows))
    out = ["## Useless sources", "",
           "%d made-up tasks of at most 400 rows, %d repeats, run with `ferry run` at its defaults. A source is *useless* (its labels, or ratings, are noise) or"
           % (len(rows), d["repeats"]),
           "*unrelated* (it has structure of its own, which has nothing to do with the target). No method should be said to help; an unrelated source may really",
           "do harm. A task counts if any of its methods gets the verdict. The exact 95 % upper bound is in brackets.", ""]
    table = []
    for goal in goals + ["all"]:
        some = [r for r in rows if goal in (r["goal"], "all")]
        table.append([goal, ", ".join(sorted({m for r in some for m in r["verdicts"]})) if goal != "all" else "",
                      share(sum(has(r, "helps") for r in some), len(some)), share(sum(has(r, "harms") for r in some), len(some))])
    out += rows_of(["goal", "methods", "said to help", "said to harm"], table)
    words = ["helps", "any source", "not shown", "unused", "weaker", "harms", "equal", "undecided"]
    count = collections.Counter((r["goal"], m, v) for r in rows for m, v in r["verdicts"].items())
    pairs = sorted({(r["goal"], m) for r in rows for m in r["verdicts"]}, key=lambda p: (goals.index(p[0]), p[1]))
    return out + ["", measured(d), "", "By method:", ""] + rows_of(["goal", "method"] + words, [[g, m] + [count[(g, m, w)] or "" for w in words] for g, m in pairs]) + [""]


def held(rows):
    """The truth, and how many intervals contain it."""
    truth = statistics.mean(r["mean"] for r in rows)
    return truth, sum(r["low"] is not None and r["low"] <= truth <= r["high"] for r in rows)


def designs_of(d, key, part=None):
    by = collections.defaultdict(list)
    for r in d["rows"]:
        if part in (None, r.get("part")):
            by[r[key]].append(r)
    return by


def too_narrow(d):
    """Designs whose share is below .95 by more than chance."""
    few = [name for name, rows in designs_of(d, "metric").items() if bounds(held(rows)[1], len(rows))[1] < 0.95]
    return "If the share is below .95 by more than chance, the interval is too narrow: here %s." % ("; ".join(few) if few else "of no design")


def coverage_rows(d, part):
    table = []
    for metric, rows in designs_of(d, "metric", part).items():
        truth, hit = held(rows)
        own = [r for r in rows if r["own"] is not None]
        sure = [r for r in rows if r["low"] is not None and (r["low"] > 0 or r["high"] < 0)]
        wide = statistics.mean(r["high"] - r["low"] for r in rows if r["low"] is not None) / (2 * 1.96 * statistics.stdev(r["mean"] for r in rows))
        table.append([metric, len(rows), "%.4f" % truth, wilson(hit, len(rows)), wilson(sum(r["low"] <= r["own"] <= r["high"] for r in own), len(own)) if own else "",
                      "%.2f" % wide, "%d of %d" % (sum(r["mean"] * truth < 0 for r in sure), len(sure))])
    return rows_of(["metric", "pools", "true difference", "population", "pool", "width", "wrong sign"], table) + [""]


def begun(d, key):
    """Of designs that a longer simulation has only begun with."""
    few = [name for name, n in collections.Counter(r[key] for r in d["rows"]).items() if n < 100]
    return ["The designs with fewer than 100 pools are the beginning of a longer simulation: their shares are rough, as the brackets say.", ""] if few else []


def coverage_part(d):
    return ["## Does the interval contain the truth?", "",
            "Two learners on pools that are all drawn from one population, %d repeats. *Population*: the share of pools whose 95 %% interval contains the mean difference over all pools," % d["repeats"],
            "which is what new data of this kind would show. *Pool*: it contains the pool's own difference (80 other draws of the visible labels). The interval is not made for that",
            "and contains it more often. *Width*: the mean width of the intervals, divided by the width that the differences between pools ask for (3.92 standard deviations). *Wrong",
            "sign*: how many of the intervals without 0 lie on the other side of it than the truth. The 95 % intervals of the shares are in brackets.", "",
            "First what a verdict compares: one learner has the visible labels of the target (120 of 480 rows; numbers and label sets: 100 of 400), the other has a source that",
            "resembles the target. With streams and ratings, both learn from the target.", ""] + coverage_rows(d, "source") + \
        ["Then harder ones, with few rows and few labels (15 of 120 unless stated; numbers 20 of 100, label sets 25 of 100). Both learners have the same labels, except where a source is named and with 25 rows.", ""] + coverage_rows(d, "few") + \
        begun(d, "metric") + [measured(d), "",
         "If the share is above .95, the verdict needs more data than necessary to decide. The formula treats the effect of the visible labels as a sum over these labels, so that repeats",
         "that draw from one pool have a part of it in common. With two learners of fifteen labels there is hardly such a common part, and the interval is wider than it need be.",
         too_narrow(d), "k-means on an embedding is not a smooth function of its rows; ratings by thirty users of thirty items form few clusters.", ""]


def power_part(d, images):
    table, big = [], []
    for repeats in (6, 10):
        rows = [r for r in d["rows"] if r["repeats"] == repeats]
        for name, some in (("5 to 10 points", [r for r in rows if 0.05 <= r["gain"] < 0.1]), ("10 points or more", [r for r in rows if r["gain"] >= 0.1]),
                           ("less than 5", [r for r in rows if r["gain"] < 0.05])):
            c = collections.Counter(r["verdicts"]["hop"] for r in some)
            big += ["%d of %d with %d repeats" % (c["helps"], len(some), repeats)] if "more" in name else []
            table.append([repeats, name, len(some), sum(r["gain"] > 0 and r["p"] < 0.05 for r in some), c["helps"], ", ".join("%d %s" % (n, v) for v, n in c.most_common() if v != "helps")])
    return ["## Are gains found?", "",
            "`ferry gen bridge` with 150 target rows, 9 of them labelled, %d tasks: hop against svm, knn and semi-svm, by the observed gain. *p < .05*: the tasks" % d["tasks"],
            "in which hop's own one-sided p-value is that small. It is judged beside cdspp and hemap, so Holm's rule asks for a third of .05, or for half where one of the two does not use its source.", ""] + \
        rows_of(["repeats", "gain of hop", "tasks", "p < .05", "helps", "other verdicts"], table) + ["", "Gains of 10 points or more are found in %s." % " and ".join(big), ""] + images_part(images)


def images_part(d):
    if not d["rows"]:
        return []
    rows = d["rows"]
    found = [r for r in rows if r["verdicts"]["hop"] == "helps"]
    others = collections.Counter(r["verdicts"]["hop"] for r in rows if r not in found)
    missed = ", ".join("%s %+.1f (%s)" % (r["task"], 100 * r["gain"], r["verdicts"]["hop"]) for r in rows if r not in found)
    return ["Real data (NUS-WIDE): the labels of 1200 texts for pictures that have no words, over 1600 unlabelled pairs of text and picture; 600 pictures, 25 of them labelled, %d repeats;" % d["repeats"],
            "hop against svm, knn and semi-svm on the %d pairs of classes that the data set has. hop is said to help in **%d of %d** tasks%s. Its gain is %.1f points on average (%.1f to %.1f)%s" %
            (len(rows), len(found), len(rows), ", ".join([""] + ["%s in %d" % (v, n) for v, n in others.most_common()]), 100 * statistics.mean(r["gain"] for r in rows),
             100 * min(r["gain"] for r in rows), 100 * max(r["gain"] for r in rows), "; not found: %s." % missed if missed else "."), "", measured(d), ""]


def answer_part():
    """What repro/answer/measure.py found, as it was written down."""
    with open(os.path.join(HERE, "..", "answer", "measured.md"), encoding="utf-8") as f:
        return f.read().split("\n")


def size_part(d):
    if not d["rows"]:
        return []
    table, narrow = [], []
    for design, rows in designs_of(d, "design").items():
        some = [r for r in rows if r["low"] is not None and r["low"] != r["high"]]
        wrong = sum(not r["low"] <= r["truth"] <= r["high"] for r in some)
        narrow += [design] if bounds(wrong, len(rows))[0] > 0.05 else []
        tested = [r for r in rows if r["p"] is not None or r["low"] == r["high"]]  # the first results did not keep p
        sided = [sum(r["low"] != r["high"] and r["p"] / 2 < 0.05 and sign * r["mean"] > 0 and sign * r["truth"] <= 0 for r in tested) for sign in (1, -1)]
        table.append([design, wilson(wrong, len(rows)), len(rows), *("%.3f" % (k / len(tested)) if tested else "" for k in sided), len(tested) or ""])
    return ["## Two equal learners", "",
            "The same learner on two views with the same distribution, so the true difference is zero; each pool comes from a new population. *Missed*: the 95 % interval does not contain",
            "the truth. *Better*, *worse*: the one-sided p is below .05, which is what the verdict asks of one method against one baseline. Each should happen at most once in twenty pools.",
            "With one split, the interval is about the two models that these labels give, so the truth is their difference on 3000 fresh rows; *better* and *worse* then count if",
            "that has the other sign.", ""] + \
        rows_of(["design", "missed", "pools", "better", "worse", "pools"], table) + ["",
         "More than one in twenty is missed, by more than chance: %s." % ("; ".join(narrow) + ". Most of these are pools whose repeats happen to differ so little that the part\n"
                                                                          "of the visible labels is estimated as zero" if narrow else "in no design"), ""] + begun(d, "design") + [measured(d), ""]


def family_part(d):
    if not d["rows"]:
        return []
    table = []
    for design in dict.fromkeys(r["design"] for r in d["rows"]):
        rows = [r for r in d["rows"] if r["design"] == design]
        table.append([design, share(sum(r["false_better"] for r in rows), len(rows)), share(sum(r["false_worse"] for r in rows), len(rows))])
    return ["## Four methods, six baselines", "",
            "Nearest class means on ten views with the same distribution. Six are baselines, four are judged like transfer methods (Holm's rule; *worse* also pays for the number of",
            "baselines). The table has the pools in which any of the four is wrongly said to be better or worse than the best baseline. With one split, wrong means that it is not so on",
            "fresh rows.", ""] + \
        rows_of(["design", "better", "worse"], table) + ["", measured(d), "",
         "`tests/unit/test_crossed.c` tests the same for the second question: if no source tells anything, one of 1, 2 or 8 methods passes in at most one of twenty families.", ""]


def real_part(d):
    if not d["rows"]:
        return []
    table = []
    for kind, words in (("real", "right labels"), ("useless", "shuffled labels"), ("unrelated", "classes renamed")):
        rows = [r for r in d["rows"] if r["source"] == kind]
        if rows:
            table.append([words, len(rows), share(sum(has(r, "helps") for r in rows), len(rows)), share(sum(has(r, "harms") for r in rows), len(rows)),
                          "%.1f" % (100 * statistics.mean(max(r["gains"].values()) for r in rows))])
    return ["## Handwritten digits", "",
            "Real data (mfeat, ten classes, four descriptions of the same digits): 100 digits are the source in one description, 100 the bridge in both, 100 the target in the",
            "other, 20 of them labelled. The source's labels are right, shuffled, or those of other classes. The last column is the mean gain, in points, of the best",
            "transfer method over the best baseline.", ""] + rows_of(["source", "tasks", "said to help", "said to harm", "best gain"], table) + [""]


def cost_part(parts, cost):
    """Control fits a method: few where nothing can come of it, 24 at most; and the processor's time."""
    early, late = [], []
    for r in (r for d in parts for r in d["rows"] if "fits" in r):
        (late if max(r["fits"].values(), default=0) > 12 else early).append(list(r["fits"].values()))
    table = [[name, len(some), "%.1f" % statistics.mean(x for f in some for x in f), max(x for f in some for x in f)]
             for name, some in (("two draws of each control settle it", early), ("something may help or harm: 19 draws", late)) if some]
    out = ["## What the controls cost", "",
           "Fits per method that the default controls took, over the tasks whose results include them. The first version took 12 for every method of every task.", ""] + \
        rows_of(["", "tasks", "mean", "most"], table) + [""] if table else []
    if cost["rows"]:
        out += ["Processor time of `ferry run` on one core, without controls (`--controls none`) and with the default ones. The last column weighs each fit by its time: it is",
                "the cost of the controls as a multiple of 12 fits of every transfer method.", ""]
        out += rows_of(["task", "without", "with controls", "fits per method", "of 12 fits each"],
                       [[r["task"], "%.2f s" % r["cpu"]["none"], "%.2f s" % r["cpu"]["quick"],
                         "%d to %d" % (min(r["fits"].values()), max(r["fits"].values())), "%.2f" % r["of_first"]] for r in cost["rows"]]) + ["", measured(cost), ""]
    return out


def page():
    useless, coverage, power, size, real = map(load, ("useless", "coverage", "power", "size", "real"))
    cost, family, images = load("cost"), load("family"), load("images")
    return "\n".join(["# How far to trust the verdict", "",
                      "Made by `repro/verdict/page.py` from `repro/verdict/results/`, which `repro/verdict/simulate.py` writes by running the real command on made-up tasks whose truth is",
                      "known. [evaluation.md](evaluation.md) explains the verdicts. You can measure it all again: `python3 repro/verdict/simulate.py useless FERRY --out",
                      "repro/verdict/results/useless.json`, likewise `coverage`, `size`, `family`, `images`, `cost`, `power` and `real`; the tests run a part of it.", ""]
                     + useless_part(useless) + real_part(real) + coverage_part(coverage) + size_part(size) + family_part(family) + power_part(power, images) + answer_part()
                     + cost_part([useless, power, real], cost))


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
