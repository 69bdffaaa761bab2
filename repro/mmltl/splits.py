"""Two-domain multi-label tasks from real data, as files that `ferry run` reads. Python's standard library only.

corel5k   DenseHue histograms (100 bins, square roots), split by their 50 photo-CDs; of the 260 labels the 10 that are most
          frequent on both sides (by the smaller count), and pictures with at least one of them:
  random     25 CDs against 25
  sorted     the CDs in the order of their mean along the first principal component: features and labels both shift
  contam0.6  as random, and every target histogram is 0.4 of its own and 0.6 of one random one: features shift, labels do not
scene     drawn with probability 1 / (1 + exp(-1.5 z)), z the coordinate along the first principal component
ARFF      emotions, yeast, scene, corel5k of Mulan in two random halves
"""
import array, gzip, math, os, random, re

N = 1200  # instances a domain at most
M = 10


def hvecs(path):
    """Rows of little-endian uint16, each led by its length."""
    values = array.array("H")
    with open(path, "rb") as f:
        values.frombytes(f.read())
    width = values[0] + 1
    return [values[i + 1:i + width] for i in range(0, len(values), width)]


def corel5k(data):
    """(cd, histogram, labels) of every picture, the names of the labels, and the CDs along the first component."""
    folder = os.path.join(data, "corel5k")
    x, y, cd = [], [], []
    for part in ("train", "test"):
        x += hvecs(f"{folder}/corel5k_{part}_DenseHue.hvecs")
        y += hvecs(f"{folder}/corel5k_{part}_annot.hvecs")
        with open(f"{folder}/corel5k_{part}_list.txt") as f:
            cd += [line.split("/")[0].strip() for line in f if line.strip()]
    assert len(x) == len(y) == len(cd), (len(x), len(y), len(cd))
    with open(f"{folder}/corel5k_dictionary.txt") as f:
        words = f.read().split()
    place = {}
    for c, z in zip(cd, first_component([[math.sqrt(v) for v in h] for h in x])):
        place.setdefault(c, []).append(z)
    return list(zip(cd, x, y)), words, sorted(place, key=lambda c: sum(place[c]) / len(place[c]))


def mix(histogram, background, share):
    total, other = sum(histogram) or 1, sum(background) or 1
    return [(1 - share) * a + share * b * total / other for a, b in zip(histogram, background)]


def write_csv(path, rows, names):
    with open(path, "w") as f:
        d = len(rows[0][0])
        f.write(",".join([f"f{j + 1}" for j in range(d)] + names) + "\n")
        for x, y in rows:
            f.write(",".join([repr(v) if v else "0" for v in x] + [str(v) for v in y]) + "\n")


def shared_labels(sides):
    """The M labels that are most frequent on both sides."""
    count = [[sum(column) for column in zip(*(y for _, _, y in side))] for side in sides]
    least = [min(pair) for pair in zip(*count)]
    return sorted(range(len(least)), key=lambda k: (-least[k], k))[:M]


def corel_pair(corel, kind, repeat):
    """Domains A and B, with B's pictures (or A's) contaminated when they are the target, and the labels' names."""
    rows, words, cds = corel
    rng = random.Random(f"{kind} {repeat}")
    background = [rng.expovariate(1) for _ in rows[0][1]]
    if kind != "sorted":
        cds = sorted(cds, key=int)
        rng.shuffle(cds)
    half = set(cds[:len(cds) // 2])
    sides = [[r for r in rows if (r[0] in half) == first] for first in (True, False)]
    top = shared_labels(sides)
    sides = [[(h, [y[k] for k in top]) for _, h, y in side if any(y[k] for k in top)] for side in sides]
    sides = [rng.sample(side, min(N, len(side))) for side in sides]
    share = 0.6 if kind == "contam0.6" else 0
    root = lambda h: [round(math.sqrt(v), 6) for v in h]
    plain = [[(root(h), y) for h, y in side] for side in sides]
    target = [[(root(mix(h, background, share)), y) for h, y in side] for side in sides] if share else plain
    return plain, target, [words[k] for k in top]


def read_arff(data, name):
    """Header lines and data lines."""
    path = os.path.join(data, "multilabel", name + ".arff")
    opened = open(path) if os.path.exists(path) else gzip.open(path + ".gz", "rt")
    with opened as f:
        lines = f.read().splitlines()
    at = next(i for i, line in enumerate(lines) if line.strip().lower() == "@data")
    return lines[:at + 1], [line for line in lines[at + 1:] if line.strip() and line[0] != "%"]


def first_component(rows):
    """Coordinates along the first principal component, in standard deviations."""
    n, d = len(rows), len(rows[0])
    mean = [sum(r[j] for r in rows) / n for j in range(d)]
    rows = [[a - b for a, b in zip(r, mean)] for r in rows]
    w = [1.0 + (j % 7) / 7 for j in range(d)]
    for _ in range(30):
        z = [sum(a * b for a, b in zip(r, w)) for r in rows]
        w = [0.0] * d
        for r, s in zip(rows, z):
            w = [a + s * b for a, b in zip(w, r)]
        size = math.sqrt(sum(a * a for a in w))
        w = [a / size for a in w]
    z = [sum(a * b for a, b in zip(r, w)) for r in rows]
    sd = math.sqrt(sum(a * a for a in z) / n)
    return [a / sd for a in z]


def write_arff(data, name, out, sides):
    """The two sides as ARFF files with Mulan's XML beside them."""
    head, _ = read_arff(data, name)
    with open(os.path.join(data, "multilabel", name + ".xml")) as f:
        xml = f.read()
    for side, lines in zip("ab", sides):
        with open(f"{out}-{side}.arff", "w") as f:
            f.write("\n".join(head + lines) + "\n")
        with open(f"{out}-{side}.xml", "w") as f:
            f.write(xml)


def scene_sides(data, repeat):
    _, lines = read_arff(data, "scene")
    if not scene_sides.z:
        scene_sides.z = first_component([[float(v) for v in line.split(",")[:294]] for line in lines])
    rng = random.Random(f"scene {repeat}")
    first = [rng.random() < 1 / (1 + math.exp(-1.5 * z)) for z in scene_sides.z]
    return [[line for line, a in zip(lines, first) if a == side] for side in (True, False)]


scene_sides.z = None


def half_sides(data, name, repeat):
    _, lines = read_arff(data, name)
    rng = random.Random(f"{name} {repeat}")
    rng.shuffle(lines)
    return [lines[:len(lines) // 2], lines[len(lines) // 2:]]


TASK = """task: {name}
goal: multilabel
domains:
  - {{name: {source}, role: source, x: {xs}{label}}}
  - {{name: {target}, role: target, x: {xt}{label}}}
"""


def make(data, out, kinds, repeats):
    """Write the files of each kind; returns (kind, repeat, direction, task file)."""
    os.makedirs(out, exist_ok=True)
    tasks, corel = [], None
    for kind in kinds:
        for repeat in range(repeats):
            stem = f"{kind}-{repeat}"
            if kind in ("random", "sorted", "contam0.6"):
                corel = corel or corel5k(data)
                plain, target, names = corel_pair(corel, kind, repeat)
                for side in range(2):
                    write_csv(f"{out}/{stem}-{'ab'[side]}.csv", plain[side], names)
                    write_csv(f"{out}/{stem}-{'ab'[side]}-target.csv", target[side], names)
                files = [f"{stem}-a.csv", f"{stem}-b-target.csv", f"{stem}-b.csv", f"{stem}-a-target.csv"]
                label = f", label: 'last:{M}'"
            else:
                sides = scene_sides(data, repeat) if kind == "scene" else half_sides(data, kind.split("-")[0], repeat)
                write_arff(data, kind.split("-")[0], f"{out}/{stem}", sides)
                files = [f"{stem}-a.arff", f"{stem}-b.arff", f"{stem}-b.arff", f"{stem}-a.arff"]
                label = ""
            for direction, (xs, xt) in (("A->B", files[:2]), ("B->A", files[2:])):
                path = f"{out}/{stem}-{direction[0].lower()}.yaml"
                with open(path, "w") as f:
                    f.write(TASK.format(name=f"{stem} {direction}", source=direction[0], target=direction[-1], xs=xs,
                                        xt=xt, label=label))
                tasks.append((kind, repeat, direction, path))
    return tasks
