"""comp-vs-talk of 20 Newsgroups as small files that several settings share, from the task file in the first word, read under each seed:
SEED-source.svm, SEED-bridge.svm and SEED-target.svm, with names of words. Then bridges of which few documents keep their class, drawn
under the seed, and that lose a share of their words.

Words: the text of the task file; seeds=N; bridges=LABELS:REMOVED,... for SEED-bridge-LABELS-REMOVED.svm."""
from ferry_prepare import Random, arguments, ferry


def read(path):
    """Words, and (label, [(column, value)]) of each document; values stay texts."""
    features, rows = [], []
    with open(path) as f:
        for line in f:
            if line.startswith("# ferry features:"):
                features = line.split()[3:]
            elif not line.startswith("#"):
                cells = line.split(" #")[0].split()
                pairs = [tuple(c.split(":")) for c in cells[1:]]
                rows.append((cells[0], [(j, x) for j, x in pairs if x != "0"]))  # 1:0 stands for an empty document
    return features, rows


def write(path, features, rows, keep=None, gone=()):
    """keep: documents that keep their label (None: all); gone: columns that are left out."""
    place, n = {}, 0
    for j in range(len(features)):
        if j not in gone:
            n += 1
            place[str(j + 1)] = n
    with open(path, "w") as out:
        out.write("# ferry features: " + " ".join(w for j, w in enumerate(features) if j not in gone) + "\n")
        for i, (label, cells) in enumerate(rows):
            label = label if keep is None or i in keep else "?"
            out.write(" ".join([label] + ["%d:%s" % (place[j], x) for j, x in cells if j in place]) + "\n")


def draw(seed, use, n, of):
    order = list(range(of))
    Random(seed, use).shuffle(order)
    return set(order[:n])


def main():
    args = arguments()
    word = dict(w.split("=", 1) for w in args.words[1:])
    with open("raw.yaml", "w") as f:
        f.write(args.words[0])
    for seed in range(args.seed, args.seed + int(word["seeds"])):
        for domain in ("source", "bridge", "target"):
            path = "%d-%s.svm" % (seed, domain)
            ferry("convert", "raw.yaml#" + domain, path, "--seed", seed)
            features, rows = read(path)
            write(path, features, rows)
        features, rows = read("%d-bridge.svm" % seed)
        for labels, removed in (b.split(":") for b in word["bridges"].split(",")):
            keep = draw(seed, "bridge labels", int(labels), len(rows))
            gone = draw(seed, "bridge words", int(float(removed) * len(features) + 0.5), len(features))
            write("%d-bridge-%s-%s.svm" % (seed, labels, removed), features, rows, keep, gone)


if __name__ == "__main__":
    main()
