"""A model for streams and lines for it, as the tests of ferry stream and its benchmark use them."""
import json
import random

from harness import ferry, write

FEATURES = 8


def model(folder, *sets, name="m.ferry"):
    """Fit mpa on a few rows of three classes; returns the model's path."""
    rng = random.Random(5)
    rows = [f"{c}," + ",".join(f"{rng.gauss(k == i % FEATURES, 1):.3f}" for i in range(FEATURES)) + "\n"
            for k, c in enumerate("abc") for _ in range(4)]
    head = "class," + ",".join(f"f{i}" for i in range(FEATURES)) + "\n"
    write(folder, "few.csv", head + "".join(rows))
    task = write(folder, "few.yaml", """task: few
goal: classify
domains:
  - {name: t, role: target, x: few.csv, label: class, labelled: 1.0}
methods: [mpa]
""")
    path = f"{folder}/{name}"
    ferry("fit", task, "-m", "mpa", "-o", path, "-q", *[w for s in sets for w in ("--set", s)])
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
