"""A model for streams and lines for it, as the tests of ferry stream and its benchmark use them."""
import json
import random

from harness import ferry, write

FEATURES = 8


def rows(rng, features, each):
    """A CSV of some rows of each of three classes."""
    head = "class," + ",".join(f"f{i}" for i in range(features)) + "\n"
    return head + "".join(f"{c}," + ",".join(f"{rng.gauss(k == i % 3, 1):.3f}" for i in range(features)) + "\n"
                          for k, c in enumerate("abc") for _ in range(each))


def model(folder, *sets, method="mpa", name="m.ferry"):
    """Fit a method on a few rows of the target and some of two sources; returns the model's path."""
    rng = random.Random(5)
    write(folder, "few.csv", rows(rng, FEATURES, 4))
    write(folder, "one.csv", rows(rng, 5, 10))
    write(folder, "two.csv", rows(rng, 11, 7))
    task = write(folder, "few.yaml", """task: few
goal: classify
domains:
  - {name: one, role: source, x: one.csv, label: class}
  - {name: two, role: source, x: two.csv, label: class}
  - {name: t, role: target, x: few.csv, label: class, labelled: 1.0}
""")
    path = f"{folder}/{name}"
    ferry("fit", task, "-m", method, "-o", path, "-q", *[w for s in sets for w in ("--set", s)])
    return path


def lines(n, seed=1, waiting=50):
    """n lines that all fit: instances with labels, instances whose label comes later or never, dense and sparse,
    and now and then a class that is new. Each names the number that its record gets."""
    rng = random.Random(seed)
    queue, out = [], []
    classes = ["a", "b", "c"]
    for seq in range(1, n + 1):
        if rng.random() < 0.001:
            classes.append(f"new{len(classes)}")
        y = rng.randrange(len(classes))
        line = {"seq": seq}
        if queue and rng.random() < 0.25:
            line["id"] = queue.pop(rng.randrange(len(queue)))
            line["y"] = classes[y]
            out.append(json.dumps(line))
            continue
        x = [round(rng.gauss(i % len(classes) == y, 1), 3) for i in range(FEATURES)]
        line["x"] = {"i": [1, 4, 6], "v": x[:3]} if rng.random() < 0.2 else x
        if rng.random() < 0.5:
            line["y"] = classes[y]
        elif rng.random() < 0.9:
            line["id"] = f"i{seq}"
            queue.append(f"i{seq}")
            del queue[:-waiting]  # the oldest is forgotten
        out.append(json.dumps(line))
    return out
