#!/usr/bin/env python3
"""hetomtl on streams that change, have rare classes, learn labels late or go on for long: the numbers of docs/methods/hetomtl.md.

  repro/hetomtl/drift.py [--data DIR] [--ferry PROGRAM] [--seeds N] [--first N] [--settings LIST] [--only PART,...] [--targets NAME,...]

3 rows a class offline, the others in a random order through `ferry stream`. Mistakes in %, means over the seeds, and how often the sentinel began again. Parts:

  change   Office-Caltech; at half time every class takes the name of the next one: mistakes after it
  late     the same, a label comes after 50 more rows
  gradual  the same, but rows of the middle third take the new name with a probability that grows from 0 to 1: mistakes in the last two thirds
  rare     class k keeps a share of 0.65^k of its rows, no change: mistakes, and the mean over classes of the error of each
  long     two views of mfeat, 12 newsgroups as embeddings, NUS-WIDE's images, no change: mistakes in all and in the last quarter, also with a basis of 2000

Standard library only.
"""
import argparse, csv, glob, json, os, random, statistics, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import where

TARGETS = {"SURF Amazon": "surf/amazon_SURF_L10.mat", "SURF Caltech": "surf/Caltech10_SURF_L10.mat", "GoogLeNet Amazon": "googlenet1024/amazon.mat"}
DRIFT = ["SURF Amazon", "GoogLeNet Amazon"]
LONG = ["mfeat fou", "mfeat zer", "embeddings", "NUS-WIDE images"]
DELAY = 50


def table(o, work, what):
    """The rows of a file that ferry reads, as text."""
    subprocess.run([o.ferry, "convert", what, work + "/rows.csv", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    with open(work + "/rows.csv") as f:
        return list(csv.reader(f))[1:]


def load(o, work, name):
    """[(class, [feature as text, ...]), ...]"""
    if name.startswith("mfeat"):
        with open("%s/mfeat/mfeat-%s.csv" % (o.data, name.split()[1])) as f:
            return [("c" + row[-1], row[:-1]) for row in list(csv.reader(f))[1:]]
    if name == "embeddings":
        files = sorted(glob.glob(o.data + "/minilm_20ng/*.npy"))
        return [("c%d" % c, row) for c, path in enumerate(files) for row in table(o, work, path)]
    path, x, y = "%s/nuswide_text_image/multiclass_all_data.mat" % o.data, "#image_fea", "#image_gnd"
    if name in TARGETS:
        path, x, y = "%s/office_caltech10/%s" % (o.data, TARGETS[name]), "#fts", "#labels"
    rows = table(o, work, path + x)
    labels = [cell for line in table(o, work, path + y) for cell in line]  # a row or a column
    assert len(rows) == len(labels), (len(rows), len(labels))
    return [("c%d" % float(y), x) for y, x in zip(labels, rows)]


def lines_of(stream, delay):
    """The stream as lines, labels `delay` rows late."""
    if delay == 0:
        return "".join('{"x": [%s], "y": "%s"}\n' % (",".join(x), y) for y, x in stream)
    lines = []
    for i in range(len(stream) + delay):
        if i < len(stream):
            lines.append('{"id": "%d", "x": [%s]}\n' % (i, ",".join(stream[i][1])))
        if i >= delay:
            lines.append('{"id": "%d", "y": "%s"}\n' % (i - delay, stream[i - delay][0]))
    return "".join(lines)


def play(o, work, mode, few, stream, delay=0, method="hetomtl"):
    """Fit on `few`, send `stream`: [(said, truth), ...], how often it began again. mode: settings, as `basis=2000`."""
    with open(work + "/few.csv", "w") as f:
        f.write("class,%s\n" % ",".join("x%d" % j for j in range(len(few[0][1]))))
        f.writelines("%s,%s\n" % (y, ",".join(x)) for y, x in few)
    with open(work + "/task.yaml", "w") as f:
        f.write("task: drift\ngoal: stream\ndomains:\n  - {name: target, role: target, x: few.csv, label: class, labelled: 1.0}\nmethods: [%s]\n" % method)
    settings = [part for option in mode.split() for part in ("--set", option)]
    subprocess.run([o.ferry, "fit", work + "/task.yaml", "-m", method, *settings, "-o", work + "/m.ferry", "--quiet", "--threads", "1"],
                   check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory(dir=work) as state:
        done = subprocess.run([o.ferry, "stream", work + "/m.ferry", "--state", state + "/s", "--sync", "off"], input=lines_of(stream, delay), check=True,
                              capture_output=True, text=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    said = [a["prediction"] for a in answers if "prediction" in a]
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


def change(o, work, mode, classes, few, stream, rng, delay=0):
    turned, half = dict(zip(classes, classes[1:] + classes[:1])), len(stream) // 2
    said, again = play(o, work, mode, few, stream[:half] + [(turned[y], x) for y, x in stream[half:]], delay)
    return {"after the change": wrong(said[half:])}, again


def late(*a):
    return change(*a, delay=DELAY)


def gradual(o, work, mode, classes, few, stream, rng):
    turned, third = dict(zip(classes, classes[1:] + classes[:1])), len(stream) // 3
    moved = [(turned[y] if rng.random() < (i - third) / third else y, x) for i, (y, x) in enumerate(stream)]
    said, again = play(o, work, mode, few, moved)
    return {"last two thirds": wrong(said[third:]), "last third": wrong(said[2 * third:])}, again


def rare(o, work, mode, classes, few, stream, rng):
    said, again = play(o, work, mode, few, [(y, x) for y, x in stream if rng.random() < 0.65 ** classes.index(y)])
    each = [wrong([s for s in said if s[1] == c]) for c in classes if any(s[1] == c for s in said)]
    return {"rare classes": wrong(said), "mean of classes": statistics.mean(each)}, again


def long(o, work, mode, classes, few, stream, rng):
    said, again = play(o, work, mode, few, stream)
    return {"%d rows" % len(stream): wrong(said), "last quarter": wrong(said[-(len(said) // 4):])}, again


PARTS = {"change": (change, DRIFT), "late": (late, DRIFT), "gradual": (gradual, DRIFT), "rare": (rare, list(TARGETS)), "long": (long, LONG)}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", help="else FERRY_DATA, else data, else ../shared/data")
    p.add_argument("--ferry", default="build/release/ferry")
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--first", type=int, default=1)
    p.add_argument("--settings", default="", help="of hetomtl, as basis=2000; several, by comma, are runs of their own")
    p.add_argument("--only", default=",".join(PARTS))
    p.add_argument("--targets", help="else those of a part")
    o = p.parse_args()
    o.data = os.path.abspath(o.data or where.data("office_caltech10"))
    for part in o.only.split(","):
        play_it, targets = PARTS[part]
        for name in o.targets.split(",") if o.targets else targets:
            with tempfile.TemporaryDirectory() as work:
                rows = load(o, work, name)
                classes = sorted({y for y, _ in rows}, key=lambda y: (len(y), y))
                for mode in o.settings.split(",") + (["basis=2000"] if part == "long" else []):
                    found, again = {}, 0
                    for seed in range(o.first, o.first + o.seeds):
                        rng = random.Random("%s %d" % (name, seed))
                        few, stream = draw(rows, rng)
                        numbers, n = play_it(o, work, mode, classes, few, stream, rng)
                        again += n
                        for what, value in numbers.items():
                            found.setdefault(what, []).append(value)
                    print("%-8s %-17s %-16s " % (part, name, mode) + ", ".join("%s %.2f" % (k, statistics.mean(v)) for k, v in found.items()) +
                          "; began again %d times in %d runs" % (again, o.seeds), flush=True)


if __name__ == "__main__":
    main()
