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
    """With which program, and where."""
    known = sorted({d["ferry"] + " on " + d.get("cpu", "a machine that was not kept") for d in parts if d["rows"]})
    return "Measured with %s." % ", ".join(known)


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


BETTER = ("best", "helps")  # what is said of a gain that is the source's


def has(row, *words):
    return any(w in row["verdicts"].values() for w in words)


def shown(row):
    """The primary comparison alone says that transfer is better."""
    p = row["primary"]
    return bool(p and p["decided"] and p["difference"] > 0)


def worth_it(row):
    return bool(row["answer"] and row["answer"]["verdict"] == "worth it")


def useless_part(d):
    rows = d["rows"]
    goals = list(dict.fromkeys(r["goal"] for r in rows))
    out = ["## Useless sources", "",
           "%d made-up tasks of at most 400 rows, %d repeats, run with `ferry run` at its defaults. A source is *useless* (its labels, or ratings, are noise) or" % (len(rows), d["repeats"]),
           "*unrelated* (it has structure of its own, which has nothing to do with the target). Nothing should be said to help; an unrelated source may really",
           "do harm. Each row has four questions: does the *table* call any method `best` or `helps`; does the *primary* comparison say that transfer is better; does the line",
           "*Source* say that it is worth it; does the table call any method `harms`. In brackets: the exact 95 % upper bound.", ""]
    table = []
    for goal in goals + ["all"]:
        some = [r for r in rows if goal in (r["goal"], "all")]
        table.append([goal, ", ".join(sorted({m for r in some for m in r["verdicts"]})) if goal != "all" else "",
                      share(sum(has(r, *BETTER) for r in some), len(some)), share(sum(map(shown, some)), len(some)),
                      share(sum(map(worth_it, some)), len(some)), share(sum(has(r, "harms") for r in some), len(some))])
    out += rows_of(["goal", "methods", "table: helps", "primary: better", "Source: worth it", "table: harms"], table)
    words = ["best", "helps", "good learner", "source open", "ignores source", "weak learner", "harms", "same", "open"]
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
        sure = [r for r in rows if r["low"] is not None and (r["low"] > 0 or r["high"] < 0)]
        wide = statistics.mean(r["high"] - r["low"] for r in rows if r["low"] is not None) / (2 * 1.96 * statistics.stdev(r["mean"] for r in rows))
        table.append([metric, len(rows), "%.4f" % truth, wilson(hit, len(rows)),
                      "%.2f" % wide, "%d of %d" % (sum(r["mean"] * truth < 0 for r in sure), len(sure))])
    return rows_of(["metric", "pools", "true difference", "population", "width", "wrong sign"], table) + [""]


def begun(d, key):
    """Of designs that a longer simulation has only begun with."""
    few = [name for name, n in collections.Counter(r[key] for r in d["rows"]).items() if n < 100]
    return ["The designs with fewer than 100 pools are the beginning of a longer simulation: their shares are rough, as the brackets say.", ""] if few else []


def coverage_part(d):
    return ["## Does the interval contain the truth?", "",
            "Two learners, compared directly (`--no-answer`), on pools that are all drawn from one population, %d repeats. *Population*: the share of pools whose 95 %% interval contains the mean difference over all pools," % d["repeats"],
            "which is what new data of this kind would show. *Width*: the mean width of the intervals, divided by the width that the differences between pools ask for (3.92 standard deviations). *Wrong",
            "sign*: how many of the intervals without 0 lie on the other side of it than the truth. The 95 % intervals of the shares are in brackets.", "",
            "First what a verdict compares: one learner has the visible labels of the target (120 of 480 rows; numbers and label sets: 100 of 400), the other has a source that",
            "resembles the target. With streams and ratings, both learn from the target.", ""] + coverage_rows(d, "source") + \
        ["Then harder ones, with few rows and few labels (15 of 120 unless stated; numbers 20 of 100, label sets 25 of 100). Both learners have the same labels, except where a source is named and with 25 rows.", ""] + coverage_rows(d, "few") + \
        begun(d, "metric") + [measured(d), "",
         "If the share is above .95, the verdict needs more data than necessary to decide. " + too_narrow(d), ""]


def power_part(d, images):
    table = []
    for repeats in (6, 10):
        rows = [r for r in d["rows"] if r["repeats"] == repeats]
        for name, some in (("less than 5", [r for r in rows if r["gain"] < 0.05]), ("5 to 10 points", [r for r in rows if 0.05 <= r["gain"] < 0.1]),
                           ("10 points or more", [r for r in rows if r["gain"] >= 0.1])):
            c = collections.Counter(r["verdicts"]["hop"] for r in some)
            table.append([repeats, name, len(some), c["best"] + c["helps"], sum(map(shown, some)), sum(map(worth_it, some)),
                          ", ".join("%d %s" % (n, v) for v, n in c.most_common() if v not in BETTER)])
    return ["## Are gains found?", "",
            "`ferry gen bridge` with 150 target rows, 9 of them labelled, %d tasks; svm, semi-svm, knn, hop, cdspp and hemap. The gain is what hop has more than what the labels" % d["tasks"],
            "choose without the source, as it was observed. *Table*: hop is `best` or `helps`. *Primary*: the primary comparison says so. *Source*: the line says that it is worth it.", ""] + \
        rows_of(["repeats", "gain of hop", "tasks", "table", "primary", "Source", "other verdicts"], table) + ["", measured(d), "",
         "The line Source asks another question than the table: whether the *choice* that nine labels make with the source is better than the one that they make without. Nine",
         "labels often do not choose hop, and then the line says open; where the table has found what they could not, the line says that, too.", ""] + images_part(images)


def images_part(d):
    if not d["rows"]:
        return []
    rows = d["rows"]
    found = [r for r in rows if r["verdicts"]["hop"] in BETTER]
    others = collections.Counter(r["verdicts"]["hop"] for r in rows if r not in found)
    missed = ", ".join("%s %+.1f (%s)" % (r["task"], 100 * r["gain"], r["verdicts"]["hop"]) for r in rows if r not in found)
    return ["An older measurement, whose words are those of then (it takes a quarter of an hour of a processor; the tests run one of its tasks with today's program: hop is `best`).",
            "Real data (NUS-WIDE): the labels of 1200 texts for pictures that have no words, over 1600 unlabelled pairs of text and picture; 600 pictures, 25 of them labelled, %d repeats;" % d["repeats"],
            "hop against svm, knn and semi-svm on the %d pairs of classes that the data set has. hop is said to help in **%d of %d** tasks%s. Its gain is %.1f points on average (%.1f to %.1f)%s" %
            (len(rows), len(found), len(rows), ", ".join([""] + ["%s in %d" % (v, n) for v, n in others.most_common()]), 100 * statistics.mean(r["gain"] for r in rows),
             100 * min(r["gain"] for r in rows), 100 * max(r["gain"] for r in rows), "; not found: %s." % missed if missed else "."), "", measured(d), ""]


def promise_part(d):
    """What a model of all labels was expected to get, and what 1000 fresh rows said."""
    if not d["rows"]:
        return []
    table = []
    for goal in dict.fromkeys(r["goal"] for r in d["rows"]):
        for kind in ("related", "useless"):
            rows = [r for r in d["rows"] if (r["goal"], r["source"]) == (goal, kind) and r["value"] is not None]
            if len(rows) < 2:
                continue
            unit = 1 if rows[0]["metric"] == "rmse" else 100
            apart = [unit * (r["value"] - r["true"]) / (r["true"] / 100 if unit == 1 else 1) for r in rows]
            held = sum(r["low"] <= r["true"] <= r["high"] for r in rows)
            table.append([goal, kind, len(rows), rows[0]["metric"], "%.3f" % statistics.mean(r["true"] for r in rows),
                          "%+.1f ± %.1f%s" % (statistics.mean(apart), statistics.stdev(apart) / len(apart) ** 0.5, " %" if unit == 1 else ""),
                          wilson(held, len(rows)) if rows[0]["calibrated"] else "", sum(r["answer"] == "worth it" for r in rows)])
    return ["## Does the promise hold?", "",
            "Made-up tasks where all labels are visible (30 rows; 40 sets of labels; 250 ratings; 100 blank rows), so that what is expected comes from cross-fitting on these labels",
            "alone. `ferry fit` makes the recommended model, which predicts 1000 fresh rows (ratings: all other pairs of the same users and items). The source resembles the target",
            "(*related*) or its labels are shuffled (*useless*). *Expected - true*: in points (± one standard error), of rmse in percent of it. *Held*: the 95 % interval contains what the",
            "fresh rows say; sets of labels and ratings are printed without one, as not calibrated.", ""] + \
        rows_of(["goal", "source", "models", "metric", "true", "expected - true", "held", "said: worth it"], table) + ["", measured(d), ""]


def worth_part(d):
    if not d["rows"]:
        return []
    table = []
    for goal in dict.fromkeys(r["goal"] for r in d["rows"]):
        rows = [r for r in d["rows"] if r["goal"] == goal and r["worth_low"] is not None]
        line = [goal, len(rows), rows[0]["metric"]]
        for what, low, high in (("worth", "worth_low", "worth_high"), ("value", "low", "high")):
            truth = statistics.mean(r[what] for r in rows)
            line += ["%.3f" % truth, wilson(sum(r[low] <= truth <= r[high] for r in rows), len(rows))]
        said = collections.Counter(r["verdict"] for r in rows)
        table.append(line + [", ".join("%d %s" % (n, v) for v, n in said.most_common())])
    return ["## Is the source worth what is said?", "",
            "Pools of one population a goal, %d repeats, hidden labels (15 of 150 rows labelled; numbers 20 of 120; sets of labels 25 of 120) and a source that resembles the target." % d["repeats"],
            "The truth is the mean over all pools: of *worth* (the choice with the source less the choice without) and of the expected score. *Held*: the 95 % interval contains it.", ""] + \
        rows_of(["goal", "pools", "metric", "worth", "held", "expected", "held", "said"], table) + ["", measured(d), ""]


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
            "Nearest class means on ten views with the same distribution, given as predictions. Six are baselines, four are held against the best of them in hindsight (Holm's rule;",
            "*worse* also pays for the number of baselines). The table has the pools in which any of the four is wrongly said to be better or worse. With one split, wrong means that",
            "it is not so on fresh rows.", ""] + \
        rows_of(["design", "better", "worse"], table) + ["", measured(d), "",
         "`tests/unit/test_crossed.c` tests the same for the second question: if no source tells anything, one of 1, 2 or 8 methods passes in at most one of twenty families.", ""]


def real_part(d):
    if not d["rows"]:
        return []
    table = []
    for kind, words in (("real", "right labels"), ("useless", "shuffled labels"), ("unrelated", "classes renamed")):
        rows = [r for r in d["rows"] if r["source"] == kind]
        if rows:
            table.append([words, len(rows), share(sum(has(r, *BETTER) for r in rows), len(rows)), share(sum(map(worth_it, rows)), len(rows)),
                          share(sum(has(r, "harms") for r in rows), len(rows)), "%.1f" % (100 * statistics.mean(max(r["gains"].values()) for r in rows))])
    return ["## Handwritten digits", "",
            "Real data (mfeat, ten classes, four descriptions of the same digits): 100 digits are the source in one description, 100 the bridge in both, 100 the target in the",
            "other, 20 of them labelled. The source's labels are right, shuffled, or those of other classes. The last column is the mean gain, in points, of the best",
            "transfer method over what the labels choose without the source.", ""] + rows_of(["source", "tasks", "table: helps", "Source: worth it", "table: harms", "best gain"], table) + ["", measured(d), ""]


def cost_part(parts):
    """Control fits a method: few where nothing can come of it."""
    early, late = [], []
    for r in (r for d in parts for r in d["rows"] if "fits" in r and r["fits"]):
        (late if max(r["fits"].values(), default=0) > 12 else early).append(list(r["fits"].values()))
    table = [[name, len(some), "%.1f" % statistics.mean(x for f in some for x in f), max(x for f in some for x in f)]
             for name, some in (("two draws of each control settle it", early), ("something may help or harm: 19 draws", late)) if some]
    return ["## What the controls cost", "",
            "Fits per method that the default controls took, over the tasks above whose results include them.", ""] + \
        rows_of(["", "tasks", "mean", "most"], table) + ["", measured(*parts), ""]


def in_short(useless, power, coverage, promise):
    """The page in four lines."""
    rows = useless["rows"]
    wrong = sum(has(r, *BETTER) or shown(r) or worth_it(r) for r in rows)
    big = [r for r in power["rows"] if r["repeats"] == 10 and r["gain"] >= 0.1]
    held_by = [held(some)[1] / len(some) for some in designs_of(coverage, "metric").values()]
    out = ["In short:", "", "- Of %d useless or unrelated sources, %s said to help, by any of three questions (at most %s %% of such sources)." %
           (len(rows), "none was" if wrong == 0 else "%d were" % wrong, "%.1f" % (100 * upper(wrong, len(rows)))),
           "- A gain of 10 points or more was found in %d of %d tasks with 9 labels and 10 repeats." % (sum(has({"verdicts": {"hop": r["verdicts"]["hop"]}}, *BETTER) for r in big), len(big)),
           "- 95 %% intervals of differences held the truth in %.0f %% of pools on average, in the worst of %d designs in %.0f %%." %
           (100 * statistics.mean(held_by), len(held_by), 100 * min(held_by))]
    for goal, words in (("classify", "- With all labels visible, what a model was expected to get was %+.1f points (± %.1f) from what fresh rows gave, for classes"),
                        ("regress", "; for numbers the rmse was %+.1f %% (± %.1f) from it")):
        apart = [100 * (r["value"] - r["true"]) / (1 if goal == "classify" else r["true"]) for r in promise["rows"] if r["goal"] == goal]
        line = words % (statistics.mean(apart), statistics.stdev(apart) / len(apart) ** 0.5)
        out = out + [line] if line[0] == "-" else out[:-1] + [out[-1] + line + "."]
    return out + [""]


def page():
    useless, coverage, power, size, real = map(load, ("useless", "coverage", "power", "size", "real"))
    family, images, promise, worth = map(load, ("family", "images", "promise", "worth"))
    return "\n".join(["# How far to trust the answer", "",
                      "What Ferry says of a source may be wrong. Here is how often, on made-up tasks whose truth is known and on real ones. The page is made by `repro/verdict/page.py`",
                      "from what `repro/verdict/simulate.py` found by running the real command; [evaluation.md](evaluation.md) explains the words. All of it can be measured again:",
                      "`python3 repro/verdict/simulate.py useless FERRY --out repro/verdict/results/useless.json`, likewise `promise`, `worth`, `coverage`, `size`, `family`, `power`, `real`",
                      "and `images`; the tests run a part of it.", ""] + in_short(useless, power, coverage, promise)
                     + useless_part(useless) + promise_part(promise) + worth_part(worth) + real_part(real) + coverage_part(coverage) + size_part(size) + family_part(family)
                     + power_part(power, images) + answer_part() + cost_part([useless, power, real]))


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
