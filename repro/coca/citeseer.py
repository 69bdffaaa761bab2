"""Citeseer with noise sources, as the method page builds it: words in at least 5 papers, sorted by mutual information with the
class, in 5 views of equal size; a view of 400 random 0/1 columns; the citations; a random graph with as many edges.

usage: citeseer.py DATA OUT [SEED]
"""

import math
import os
import random
import sys
import tarfile


def mutual_information(members, labels, counts, n):
    """Of "the word occurs" and the class, in nats."""
    total = 0.0
    inside = {}
    for i in members:
        inside[labels[i]] = inside.get(labels[i], 0) + 1
    share = len(members) / n
    for c, count in counts.items():
        for k, p in ((inside.get(c, 0), share), (count - inside.get(c, 0), 1 - share)):
            if k:
                total += k / n * math.log(k / n / (count / n * p))
    return total


def main():
    data, out = sys.argv[1], sys.argv[2]
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    os.makedirs(out, exist_ok=True)
    with tarfile.open(os.path.join(data, "linqs", "citeseer.tgz")) as tar:
        content = tar.extractfile("citeseer/citeseer.content").read().decode().splitlines()
        cites = tar.extractfile("citeseer/citeseer.cites").read().decode().splitlines()
    place, labels, papers = {}, [], {}
    for line in content:
        cells = line.split("\t")
        i = place[cells[0]] = len(labels)
        labels.append(cells[-1])
        for w, cell in enumerate(cells[1:-1]):
            if cell != "0":
                papers.setdefault(w, []).append(i)
    n = len(labels)
    counts = {c: labels.count(c) for c in set(labels)}
    words = [w for w in papers if len(papers[w]) >= 5]
    words.sort(key=lambda w: (-mutual_information(papers[w], labels, counts, n), w))
    views = []
    for g in range(5):
        part = words[g * len(words) // 5 : (g + 1) * len(words) // 5]
        rows = [[] for _ in range(n)]
        for j, w in enumerate(part):
            for i in papers[w]:
                rows[i].append(j)
        views.append((f"words{g + 1}", len(part), rows))
    views.append(("noise", 400, [[j for j in range(400) if rng.random() < 0.5] for _ in range(n)]))
    for name, cols, rows in views:
        with open(os.path.join(out, name + ".mtx"), "w") as f:
            f.write(f"%%MatrixMarket matrix coordinate pattern general\n{n} {cols} {sum(map(len, rows))}\n")
            for i, row in enumerate(rows):
                f.writelines(f"{i + 1} {j + 1}\n" for j in row)
    with open(os.path.join(out, "labels.txt"), "w") as f:
        f.writelines(c + "\n" for c in labels)
    edges = set()
    for line in cites:
        a, b = (place.get(x) for x in line.split("\t"))
        if a is not None and b is not None and a != b:
            edges.add((min(a, b), max(a, b)))
    noise = set()
    while len(noise) < len(edges):
        a, b = rng.randrange(n), rng.randrange(n)
        if a != b:
            noise.add((min(a, b), max(a, b)))
    for name, pairs in (("cites", edges), ("random", noise)):
        with open(os.path.join(out, name + ".tsv"), "w") as f:
            f.writelines(f"{a + 1}\t{b + 1}\n" for a, b in sorted(pairs))
    print(f"citeseer: {n} papers, {len(words)} words, {len(edges)} edges", file=sys.stderr)


main()
