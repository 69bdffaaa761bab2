"""Data of the same shape as sets that were never published: so many rows, classes and columns, and as related as the paper says.
They show how a method behaves on such shapes, not what it did on the paper's data. Classes are called as the paper calls them.

    drugs=1       HeMap, figure 20: eight sets of two feature spaces, 32 and 28 columns (table VIII), 65 to 93 rows: four with
                  numbers (drug1 .. drug4), four with classes in equal parts (drug5 .. drug8)
    pictures=1    figures 22, 25, tables IX and X: four sets of about 200 rows, of 60 wavelet-like and 40 colour-like columns (the
                  paper: 995 and 499); homer-cactus is related to cartman-bonsai, the others partly
    texts=1       figure 23: two sets of 200 pictures, two of 300 texts (400 sparse words; the paper: 28196 and 24043)
    streams=1     HetOMTL, tables 4 and 5: four domains of 65 classes in two feature spaces, 48 and 64 columns (the paper: 4096 and
                  2048), 15 rows of a class (the paper: 34 to 68); nus: 8 classes, 110 tags to 64 columns of pictures, 100 rows of a
                  class and 824 pictures
    social=N      GBC, figures 6 and 7: N people by `ferry gen social`: a table with gaps and 90 graphs, the later the less alike;
                  also with ten of the graphs as columns (equation 3.20)

In all but the last, a row is a point in a hidden space, seen through the random weights of its feature space. Two sets are related where
classes lie along the same, widest, direction of that space, partly related where the second's lie along a narrow one.
"""
import csv
import math
import os

from ferry_prepare import Random, arguments, ferry, found, quoted, real

HIDDEN = 8
WIDTH = [2.0, 1.5, 1.0, 1.0, 0.7, 0.7, 0.5, 0.5]  # deviations of the hidden space


def space(rng, columns, kind):
    """How a hidden point is seen: random weights, then as they are, above 0, or whether above 1."""
    weights = [[rng.normal() / math.sqrt(HIDDEN) for _ in range(HIDDEN)] for _ in range(columns)]

    def see(z, noise, rng):
        out = []
        for w in weights:
            x = sum(a * b for a, b in zip(w, z)) + noise * rng.normal()
            out.append(x if kind == "plain" else max(x, 0.0) if kind == "above" else 1.0 if x > 1 else 0.0)
        return out
    return see


def write(path, rows, letter):
    """(features, what is to be predicted): as CSV, in the order that they come."""
    with open(path, "w") as out:
        out.write(",".join(["%s%d" % (letter, j + 1) for j in range(len(rows[0][0]))] + ["label"]) + "\n")
        for x, y in rows:
            out.write(",".join(["%.4g" % v for v in x] + [quoted(y) if isinstance(y, str) else real(round(y, 4))]) + "\n")


def two_classes(rng, n, see, names, along, noise=0.5, numbers=False):
    """n rows; classes (numbers) lie along hidden direction `along`, a fifth of it chance."""
    rows = []
    for i in range(n):
        z = [w * rng.normal() for w in WIDTH]
        if not numbers:
            sign = 1 if i % 2 else -1
            z[along] += 0.5 * sign * WIDTH[along]  # about as hard as the paper's: an error of .3 to .5 with few labels
        y = z[along] / WIDTH[along] + 0.3 * rng.normal() if numbers else names[i % 2]
        rows.append((see(z, noise, rng), y))
    rng.shuffle(rows)  # files sorted by class would leak them through pairs of rows
    return rows


def drugs(seed):
    rng = Random(seed, "drugs")
    general, index = space(rng, 32, "plain"), space(rng, 28, "above")
    for i, n in enumerate([93, 74, 65, 83, 76, 88, 83, 90]):
        see = index if i % 2 else general
        write("drug%d.csv" % (i + 1), two_classes(rng, n, see, ("weak", "strong"), 0, 0.8, numbers=i < 4), "g" if see is general else "i")


def pictures(seed):
    rng = Random(seed, "pictures")
    wavelet, colour = space(rng, 60, "plain"), space(rng, 40, "above")
    for name, n, see, along in (("cartman-bonsai", 223, wavelet, 0), ("homer-cactus", 211, colour, 0), ("homer-coin", 189, wavelet, 4),
                                ("superman-cd", 220, colour, 4)):
        write(name + ".csv", two_classes(rng, n, see, name.split("-"), along, 1.0), "w" if see is wavelet else "c")


def texts(seed):
    rng = Random(seed, "texts")
    picture, words = space(rng, 60, "plain"), space(rng, 400, "whether")
    for name, n, see, along in (("baseball-keyboard", 212, picture, 0), ("comp-rec", 300, words, 0), ("ak47-bat", 195, picture, 1),
                                ("rec-talk", 300, words, 1)):
        write(name + ".csv", two_classes(rng, n, see, name.split("-"), along, 1.0), "p" if see is picture else "t")


def streams(seed):
    rng = Random(seed, "streams")
    vgg, resnet = space(rng, 48, "above"), space(rng, 64, "above")
    means = [[3 * rng.normal() for _ in range(HIDDEN)] for _ in range(65)]
    for domain, noise in (("art", 1.6), ("clipart", 1.8), ("product", 1.0), ("world", 1.2)):
        shift = [0.5 * rng.normal() for _ in range(HIDDEN)]
        points = [([m + d + noise * rng.normal() for m, d in zip(means[i % 65], shift)], "c%d" % (i % 65 + 1)) for i in range(15 * 65)]
        for name, see in (("vgg", vgg), ("resnet", resnet)):
            write("%s-%s.csv" % (name, domain), [(see(z, 0.5, rng), y) for z, y in points], name[0])
    tags, image = space(rng, 110, "whether"), space(rng, 64, "above")
    for name, n, see, noise in (("tags", 800, tags, 1.2), ("images", 824, image, 1.4)):
        write(name + ".csv", [(see([m / 2 + noise * rng.normal() for m in means[i % 8]], 0.5, rng), "c%d" % (i % 8 + 1)) for i in range(n)], name[0])


def social(people, seed):
    ferry("gen", "social", "--out", "social", "--set", "people=%d" % people, "--set", "graphs=90", "--set", "edges=%d" % (2 * people),
          "--set", "missing=0.6", "--seed", seed, "--quiet")
    with open("social/table.csv", newline="") as f:
        rows = list(csv.reader(f))
    ids = {row[0]: i for i, row in enumerate(rows[1:])}
    edges = []
    for g in range(1, 11):
        with open("social/graph%d.csv" % g, newline="") as f:
            for row in csv.reader(f):
                if row[0] in ids and row[1] in ids:
                    edges += [(ids[row[0]], (g - 1) * len(ids) + ids[row[1]]), (ids[row[1]], (g - 1) * len(ids) + ids[row[0]])]
    with open("social/columns.svm", "w") as out:
        of = [set() for _ in ids]
        for i, j in edges:
            of[i].add(j)
        for name, i in ids.items():
            out.write(" ".join([rows[i + 1][1]] + ["%d:1" % (j + 1) for j in sorted(of[i])] + ["# id:" + name]) + "\n")
    found({"graphs": ", ".join("{name: graph%d, edges: social/graph%d.csv}" % (g, g) for g in range(1, 91))})


def main():
    args = arguments()
    for word in args.words:
        name, value = word.split("=", 1)
        if name == "social":
            social(int(value), args.seed)
        else:
            {"drugs": drugs, "pictures": pictures, "texts": texts, "streams": streams}[name](args.seed)


if __name__ == "__main__":
    main()
