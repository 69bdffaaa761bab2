#!/usr/bin/env python3
"""hetomtl on streams that change and on streams with rare classes: the numbers of docs/methods/hetomtl.md.

  repro/hetomtl/drift.py [--data DIR] [--ferry PROGRAM] [--seeds N] [--first N] [--modes LIST]

Office-Caltech targets, 3 rows a class offline, the others in a random order through `ferry stream`, each with its label. Drift: at half time
every class takes the name of the next one; mistakes in % after it, and how often the sentinel began again. Imbalance: class k keeps a share of 0.65^k of its rows; mistakes in %, and
the mean over classes of the error of each. Standard library only.
"""
import argparse, csv, json, os, random, statistics, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import where

TARGETS = {"SURF Amazon": "surf/amazon_SURF_L10.mat", "SURF Caltech": "surf/Caltech10_SURF_L10.mat", "GoogLeNet Amazon": "googlenet1024/amazon.mat"}
DRIFT = ["SURF Amazon", "GoogLeNet Amazon"]


def load(o, work, path):
    """[(class, [feature as text, ...]), ...]"""
    for variable in ("fts", "labels"):
        subprocess.run([o.ferry, "convert", "%s/office_caltech10/%s#%s" % (o.data, path, variable), "%s/%s.csv" % (work, variable), "--quiet"],
                       check=True, stdout=subprocess.DEVNULL)
    with open(work + "/fts.csv") as f:
        rows = list(csv.reader(f))[1:]
    with open(work + "/labels.csv") as f:
        labels = [cell for line in list(csv.reader(f))[1:] for cell in line]  # a row or a column
    assert len(rows) == len(labels), (len(rows), len(labels))
    return [("c%d" % float(y), x) for y, x in zip(labels, rows)]


def play(o, work, mode, few, stream):
    """Fit on `few`, send `stream`: [(said, truth), ...], how often it began again."""
    with open(work + "/few.csv", "w") as f:
        f.write("class,%s\n" % ",".join("x%d" % j for j in range(len(few[0][1]))))
        f.writelines("%s,%s\n" % (y, ",".join(x)) for y, x in few)
    with open(work + "/task.yaml", "w") as f:
        f.write("task: drift\ngoal: stream\ndomains:\n  - {name: target, role: target, x: few.csv, label: class, labelled: 1.0}\nmethods: [hetomtl]\n")
    subprocess.run([o.ferry, "fit", work + "/task.yaml", "-m", "hetomtl", "--set", "mode=" + mode, "-o", work + "/m.ferry", "--quiet", "--threads", "1"],
                   check=True, stdout=subprocess.DEVNULL)
    lines = "".join('{"x": [%s], "y": "%s"}\n' % (",".join(x), y) for y, x in stream)
    with tempfile.TemporaryDirectory(dir=work) as state:
        done = subprocess.run([o.ferry, "stream", work + "/m.ferry", "--state", state + "/s", "--sync", "off"], input=lines, check=True,
                              capture_output=True, text=True)
    said = [json.loads(line)["prediction"] for line in done.stdout.splitlines()]
    assert len(said) == len(stream), done.stderr
    return [(a, y) for a, (y, _) in zip(said, stream)], done.stderr.count("the stream has changed")


def draw(rows, rng):
    """3 rows a class, and the others in a random order."""
    rows, few, stream = rng.sample(rows, len(rows)), [], []
    for y, x in rows:
        (few if sum(c == y for c, _ in few) < 3 else stream).append((y, x))
    return few, stream


def wrong(pairs):
    return 100 * statistics.mean(a != y for a, y in pairs)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", help="else FERRY_DATA, else data, else ../shared/data")
    p.add_argument("--ferry", default="build/release/ferry")
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--first", type=int, default=1)
    p.add_argument("--modes", default="experts ferry")
    o = p.parse_args()
    o.data = os.path.abspath(o.data or where.data("office_caltech10"))
    for name, path in TARGETS.items():
        with tempfile.TemporaryDirectory() as work:
            rows = load(o, work, path)
            classes = sorted({y for y, _ in rows}, key=lambda y: int(y[1:]))
            turned = dict(zip(classes, classes[1:] + classes[:1]))
            for mode in o.modes.split():
                after, alarms, rare, each, false = [], 0, [], [], 0
                for seed in range(o.first, o.first + o.seeds):
                    rng = random.Random("%s %d" % (name, seed))
                    few, stream = draw(rows, rng)
                    half = len(stream) // 2
                    if name in DRIFT:
                        said, n = play(o, work, mode, few, stream[:half] + [(turned[y], x) for y, x in stream[half:]])
                        after.append(wrong(said[half:]))
                        alarms += n
                    kept = [(y, x) for y, x in stream if rng.random() < 0.65 ** classes.index(y)]
                    said, n = play(o, work, mode, few, kept)
                    false += n
                    rare.append(wrong(said))
                    each.append(statistics.mean(wrong([s for s in said if s[1] == c]) for c in classes if any(s[1] == c for s in said)))
                print("%-17s %-8s" % (name, mode) + ("after the change %.1f, began again %d times in %d runs; " % (statistics.mean(after), alarms, o.seeds)
                      if after else "") + "rare classes %.2f, mean of classes %.2f, began again %d times" % (statistics.mean(rare), statistics.mean(each), false),
                      flush=True)


main()
