"""Pictures with label sets, and pairs of domains cut from them, as CSV files. ESPGame and the SIFT features of Corel5k's training pictures
are not available, so pairs of domains are cut from what is:

    nuisance  25 CDs of Corel5k against 25 at random; every histogram of the target is 0.4 its own and 0.6 one random background:
              features shift, labels do not
    random    the same without the background
    sorted    the CDs in the order of their mean along the first principal component: features and labels both shift
    biased    pictures of Mulan's scene drawn with probability 1 / (1 + exp(-1.5 z)), z their place along that component: mostly labels
              shift

Words: features=DenseHue parts=train,test kinds=nuisance cuts=5 from=a,b rows=0. `rows` are the first rows of the source that are
written, 0 for all; how many that are is left as KIND-CUT-SIDE for the task files.
"""
import math
import operator
import os
import re
import struct

from ferry_prepare import Random, arguments, bad, content, found, quoted, real

KINDS = ["nuisance", "random", "sorted", "biased"]
MOST_ROWS, MOST_LABELS = 1200, 10


# ---- reading ----

def hvecs(path):
    """Rows of little-endian 16-bit numbers, each led by its length."""
    data = content(path)
    if len(data) < 4:
        bad(path, 0, "expected rows of 16-bit numbers")
    width = struct.unpack_from("<H", data)[0]
    size = 2 * (width + 1)
    if width == 0 or len(data) % size:
        bad(path, 0, "%d bytes are not rows of %d 16-bit numbers" % (len(data), width))
    rows = []
    for i in range(len(data) // size):
        row = struct.unpack_from("<%dH" % (width + 1), data, i * size)
        if row[0] != width:
            bad(path, 0, "row %d has %d numbers, expected %d" % (i + 1, row[0], width))
        rows.append(row[1:])
    return rows


def words(path):
    """The part before a slash or blank of every line."""
    lines = (re.split("[/ \t\r]", line)[0] for line in content(path).decode("utf-8", "replace").split("\n"))
    return [word for word in lines if word]


class Pictures:
    def __init__(self, x, y, labels, cds=None):
        self.x, self.y, self.labels, self.cds = x, y, labels, cds
        self.groups = list(dict.fromkeys(cds)) if cds else []
        self.z = None

    def feature(self, value):
        """Counts of a histogram are worked with as square roots; scene's features are no counts."""
        return math.sqrt(value) if self.cds else value

    def places(self):
        """Places along the first principal component, in deviations, by 30 steps of the power method."""
        if self.z:
            return self.z
        n, d = len(self.x), len(self.x[0])
        rows = [[self.feature(v) for v in row] for row in self.x]
        mean = [0.0] * d
        for row in rows:
            mean = [m + v / n for m, v in zip(mean, row)]
        rows = [list(map(operator.sub, row, mean)) for row in rows]
        w = [1 + j % 7 / 7 for j in range(d)]
        for step in range(31):  # the last one for z alone
            z = [sum(map(operator.mul, row, w)) for row in rows]
            if step == 30:
                break
            w = [0.0] * d
            for at, row in zip(z, rows):
                w = [a + at * b for a, b in zip(w, row)]
            size = math.sqrt(sum(v * v for v in w)) + 1e-300
            w = [v / size for v in w]
        size = math.sqrt(sum(v * v for v in z) / n) + 1e-300
        self.z = [v / size for v in z]
        return self.z


def corel(data, features, parts):
    x, y, cds = [], [], []

    def path(part, kind):
        return os.path.join(data, "corel5k", "corel5k_" + part + kind)

    for part in parts:
        x += hvecs(path(part, "_%s.hvecs" % features))
        y += hvecs(path(part, "_annot.hvecs"))
        cds += words(path(part, "_list.txt"))
        if not len(x) == len(y) == len(cds):
            bad(path(part, "_list.txt"), 0, "%d names for %d pictures and %d label sets" % (len(cds), len(x), len(y)))
    labels = words(path("", "dictionary.txt"))
    if len(labels) != len(y[0]):
        bad(path("", "dictionary.txt"), 0, "%d words for %d labels" % (len(labels), len(y[0])))
    return Pictures(x, [[int(v != 0) for v in row] for row in y], labels, cds)


def scene(data):
    path = os.path.join(data, "multilabel", "scene.arff.gz")
    labels = re.findall('<label name="([^"]*)"', content(path.replace(".arff.gz", ".xml")).decode())
    names, x, y = [], [], []
    for number, line in enumerate(content(path).decode().splitlines(), 1):
        if line.lower().startswith("@attribute"):
            names.append(line.split()[1])
        elif line and line[0] not in "@%":
            cells = line.split(",")
            if len(cells) != len(names):
                bad(path, number, "expected %d cells" % len(names))
            x.append([float(c) for c, name in zip(cells, names) if name not in labels])
            y.append([int(c) for c, name in zip(cells, names) if name in labels])
    return Pictures(x, y, [name for name in names if name in labels])


# ---- cutting ----

class Cut:
    """The rows of both sides, and the labels that count: at most 10, the most frequent on both sides."""

    def __init__(self, p, kind, repeat, seed):
        rng = Random(seed, repeat * len(KINDS) + KINDS.index(kind))
        n, m = len(p.x), len(p.labels)
        self.kind, self.repeat = kind, repeat
        self.background = [-math.log(1 - rng.real()) for _ in p.x[0]]
        if p.cds:
            side = self.divide(p, rng)
        else:
            side = [int(rng.real() >= 1 / (1 + math.exp(-1.5 * z))) for z in p.places()]
        count = [[0] * m, [0] * m]
        for i in range(n):
            count[side[i]] = list(map(operator.add, count[side[i]], p.y[i]))
        self.label = sorted(range(m), key=lambda k: (-min(count[0][k], count[1][k]), k))[:MOST_LABELS]
        self.rows = [[], []]
        for i in range(n):
            if any(p.y[i][k] for k in self.label):
                self.rows[side[i]].append(i)
        for s in range(2):
            rng.shuffle(self.rows[s])
            if p.cds:
                del self.rows[s][MOST_ROWS:]
            if not self.rows[s]:
                bad("the pictures", 0, "none is left on side %d" % (s + 1))

    def divide(self, p, rng):
        """The side of each picture, by its CD."""
        at = {g: 0.0 for g in p.groups}
        if self.kind == "sorted":
            for cd, z in zip(p.cds, p.places()):
                at[cd] += z
            at = {g: at[g] / p.cds.count(g) for g in p.groups}
        else:
            at = {g: rng.real() for g in p.groups}
        order = sorted(range(len(p.groups)), key=lambda g: (at[p.groups[g]], g))
        of = {p.groups[g]: int(place >= len(order) // 2) for place, g in enumerate(order)}
        return [of[cd] for cd in p.cds]

    def write(self, p, side, target, n, name):
        """Rows of one side, as a target of `nuisance` after mixing; the labels that count are the last columns."""
        share = 0.6 if target and self.kind == "nuisance" else 0
        other = sum(self.background)
        with open(name, "w") as out:
            out.write("".join("f%d," % (j + 1) for j in range(len(p.x[0]))) + ",".join(quoted(p.labels[k]) for k in self.label) + "\n")
            for i in self.rows[side][:n]:
                total = sum(p.x[i])
                row = [(1 - share) * v + share * b * total / other for v, b in zip(p.x[i], self.background)]
                row = [real(math.floor(p.feature(v) * 1e6 + 0.5) / 1e6) for v in row]
                out.write(",".join(row + [str(p.y[i][k]) for k in self.label]) + "\n")


def main():
    args = arguments()
    word = dict(w.split("=", 1) for w in args.words)
    pictures, sizes = {}, {}
    for kind in word["kinds"].split(","):
        which = "scene" if kind == "biased" else "corel"
        if which not in pictures:
            pictures[which] = scene(args.data) if kind == "biased" else corel(args.data, word["features"], word["parts"].split(","))
        p = pictures[which]
        for repeat in range(int(word["cuts"])):
            cut = Cut(p, kind, repeat, args.seed)
            stem = "%s-%d-" % (kind, repeat)
            for side in word["from"].split(","):
                source, target = (0, "b") if side == "a" else (1, "a")
                for rows in map(int, word["rows"].split(",")):
                    n = min(rows or MOST_ROWS ** 2, len(cut.rows[source]))
                    cut.write(p, source, False, n, "%s%s-%d-source.csv" % (stem, side, n))
                    sizes[stem + side] = str(n)
                cut.write(p, 1 - source, True, None, stem + target + "-target.csv")
    found(sizes)


if __name__ == "__main__":
    main()
