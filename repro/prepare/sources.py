"""Things that several sources describe (views, which may lack things, and graphs), as the studies of GBC and CoCA use them: made from
the distributed data sets, a folder each, instances called 1, 2, ...

    digits=N          UCI mfeat, the first N of each class: five views and two graphs of the ten nearest in morphology, in the second
                      of which each standardised feature of it got N(0, 1) noise
    views=N           the same digits as six views
    papers=N          Citeseer, stand-in for the terror attacks: the 106 commonest words; the same with N(0, 1) noise; citations;
                      papers that cite one another's company (that have a neighbour of at most 20 citations in common). N at random
    words=1           Citeseer with noise: words in at least 5 papers in five views by descending mutual information with the class, a
                      view of 400 random 0/1 columns; citations and as many random edges. words=columns: also the graphs as views
    attacks=N         the papers above in the shape of the terror attacks: N at random, their 106 commonest words in five views by
                      descending mutual information, a view of 20 random 0/1 columns, citations, company, as many random edges. Also
                      the graphs as views
    best=1            with views: the two columns of each view that tell most of the class (ten bins), as folders NAME-best
    films=N           N films of the IMDB table at random: six views, three graphs, the score to predict
    lacking=0.3       of this share of the instances, drawn at random, half of the (dense) views are left out
    draws=N           N draws of 2 and of 4 sources of the films, at least one of them a view, as texts for the task files
    embed=TEXT        digits in three dimensions by the task in TEXT: a folder of one view for each way
"""
import csv
import heapq
import math
import os
import tarfile

from ferry_prepare import Random, arguments, bad, content, ferry, found, quoted, real


class Sources:
    def __init__(self, name, labels):
        self.name, self.labels = name, labels
        self.views, self.graphs = {}, {}  # rows of numbers, or ("sparse", columns, rows of columns); [(a, b)]

    def write(self, folder=None, lacking=0, seed=1):
        folder = folder or self.name
        os.makedirs(folder, exist_ok=True)
        lacks = self.draw_lacks(lacking, seed)
        for name, x in self.views.items():
            if x[0] == "sparse":
                write_sparse(os.path.join(folder, name + ".mtx"), *x[1:])
            else:
                write_dense(os.path.join(folder, name + ".csv"), x, lacks[name])
        for name, edges in self.graphs.items():
            with open(os.path.join(folder, name + ".tsv"), "w") as out:
                out.writelines("%d\t%d\n" % (a + 1, b + 1) for a, b in edges)
        with open(os.path.join(folder, "labels.csv"), "w") as out:
            out.write("id,label\n")
            out.writelines("%d,%s\n" % (i + 1, label_text(y)) for i, y in enumerate(self.labels))

    def draw_lacks(self, lacking, seed):
        """Which instances each view lacks."""
        lacks, views = {v: set() for v in self.views}, list(self.views)
        order = list(range(len(self.labels)))
        rng = Random(seed, "incomplete")
        if lacking > 0:
            rng.shuffle(order)
        for i in order[:int(lacking * len(order))]:
            drawn = list(views)
            rng.shuffle(drawn)
            for v in drawn[:len(views) // 2]:
                lacks[v].add(i)
        return lacks


def label_text(y):
    """A class, or a number, which a point tells from a class."""
    if isinstance(y, str):
        return quoted(y)
    text = real(y)
    return text if set(text) & set(".e") else text + ".0"


def write_dense(path, rows, lacks=()):
    with open(path, "w") as out:
        out.write(",".join(["id"] + ["f%d" % (j + 1) for j in range(len(rows[0]))]) + "\n")
        for i, row in enumerate(rows):
            if i not in lacks:
                out.write(",".join([str(i + 1)] + ["" if x != x else real(x) for x in row]) + "\n")


def write_sparse(path, columns, rows):
    """0/1: the columns of each row that are 1."""
    with open(path, "w") as out:
        out.write("%%MatrixMarket matrix coordinate real general\n")
        out.write("%d %d %d\n" % (len(rows), columns, sum(map(len, rows))))
        for i, row in enumerate(rows):
            out.writelines("%d %d 1\n" % (i + 1, j + 1) for j in sorted(row))


def clique(edges, members):
    """Join all of a group by an edge each."""
    for i, a in enumerate(members):
        edges += [(a, b) for b in members[:i]]


# ---- digits ----

def read_digits(data, name):
    """200 digits of each class one after the other: numbers, then the class."""
    path = os.path.join(data, "mfeat/mfeat-%s.csv" % name)
    rows, labels = [], []
    for number, line in enumerate(content(path).decode().splitlines()[1:], 2):
        cells = line.strip().split(",")
        try:
            rows.append([float(c) for c in cells[:-1]])
        except ValueError:
            bad(path, number, "expected numbers and a class")
        if not cells[-1]:
            bad(path, number, "expected a class in the last column")
        labels.append(cells[-1])
    return path, rows, labels


def nearest(rows, k=10):
    """An edge from every row to each of its nearest; of equals the first."""
    edges = []
    for i, q in enumerate(rows):
        far = []
        for j, x in enumerate(rows):
            sums = [0.0, 0.0, 0.0, 0.0]
            for f, (a, b) in enumerate(zip(x, q)):
                sums[f & 3] += (a - b) * (a - b)
            far.append((math.sqrt((sums[0] + sums[1]) + (sums[2] + sums[3])), j))
        edges += [(i, j) for _, j in heapq.nsmallest(k + 1, far) if j != i][:k]
    return edges


def standardise(rows, noise, rng):
    """Columns to mean 0 and deviation 1, then noise."""
    n, out = len(rows), [list(row) for row in rows]
    for j in range(len(rows[0])):
        mean = square = 0.0
        for row in rows:
            mean += row[j] / n
        for row in rows:
            square += (row[j] - mean) ** 2 / n
        sd = math.sqrt(square) if square > 0 else 1
        for row in out:
            row[j] = (row[j] - mean) / sd + (rng.normal() if noise else 0)
    return out


def digits(data, per_class, graphs, seed):
    s = chosen = None
    for name in ("fac", "fou", "kar", "pix", "zer", "mor"):
        path, rows, labels = read_digits(data, name)
        if s is None:
            seen, chosen = {}, []
            for i, y in enumerate(labels):
                seen[y] = seen.get(y, 0) + 1
                if seen[y] <= per_class:
                    chosen.append(i)
            if not chosen:
                bad(path, 0, "expected a class in the last column")
            s = Sources("digits", [labels[i] for i in chosen])
        if chosen[-1] >= len(rows):
            bad(path, 0, "expected as many digits as in the other files")
        s.views[name] = [rows[i] for i in chosen]
    if graphs:
        rng, morphology = Random(seed, "noisy morphology"), s.views.pop("mor")
        s.graphs["morphology"] = nearest(standardise(morphology, False, rng))
        s.graphs["noisy"] = nearest(standardise(morphology, True, rng))
    return s


# ---- papers ----

def citeseer(data):
    """Words (columns that are 1) and class of each paper, how many words there are, citations between papers that are there, each pair
    once. As distributed, or as ferry fetch unpacks it."""
    archive, files = os.path.join(data, "linqs/citeseer.tgz"), {}
    if os.path.exists(archive):
        try:
            with tarfile.open(archive) as tar:
                for member in tar:
                    if member.isfile():
                        files[os.path.basename(member.name)] = tar.extractfile(member).read()
        except (tarfile.TarError, EOFError, OSError):
            bad(archive, 0, "not an archive that can be read")
    else:
        archive = os.path.join(data, "linqs/citeseer")
        files = {name: content(os.path.join(archive, name)) for name in ("citeseer.content", "citeseer.cites")}
    if not {"citeseer.content", "citeseer.cites"} <= set(files):
        bad(archive, 0, "expected citeseer.content and citeseer.cites")
    ids, words, classes, width = {}, [], [], 0
    for line in files["citeseer.content"].decode().splitlines():
        cells = line.split()
        width = len(cells) - 2
        if cells[0] not in ids:
            ids[cells[0]] = len(ids)
            words.append([j for j, c in enumerate(cells[1:-1]) if c != "0"])
            classes.append(cells[-1])
    if not ids or width < 1:
        bad(archive, 0, "expected papers with words and classes")
    cites = set()
    for line in files["citeseer.cites"].decode().splitlines():
        ends = [ids.get(c, -1) for c in line.split()]
        if len(ends) == 2 and min(ends) >= 0 and ends[0] != ends[1]:
            cites.add((min(ends), max(ends)))
    return words, classes, width, sorted(cites)


def count_papers(words, width):
    papers = [0] * width
    for row in words:
        for w in row:
            papers[w] += 1
    return papers


def papers(data, n, seed, common=106, company=20):
    words, classes, width, cites = citeseer(data)
    n = n if 0 < n < len(words) else len(words)
    order = list(range(len(words)))
    Random(seed, "papers").shuffle(order)
    rows = sorted(order[:n])
    place = {row: i for i, row in enumerate(rows)}
    count = count_papers(words, width)
    column = {w: k for k, w in enumerate(sorted(range(width), key=lambda w: (-count[w], w))[:common])}
    s = Sources("papers", [classes[row] for row in rows])
    s.views["words"] = [[0.0] * common for _ in rows]
    for x, row in zip(s.views["words"], rows):
        for w in words[row]:
            if w in column:
                x[column[w]] = 1.0
    rng = Random(seed, "noisy words")
    s.views["noisy"] = [[x + rng.normal() for x in row] for row in s.views["words"]]
    s.graphs["cites"] = [(place[a], place[b]) for a, b in cites if a in place and b in place]
    near, s.graphs["company"] = [[] for _ in rows], []
    for a, b in s.graphs["cites"]:
        near[a].append(b)
        near[b].append(a)
    for members in near:
        if len(members) <= company:
            clique(s.graphs["company"], members)
    return s


def mutual_information(inside, count, n):
    """Of "the word occurs" and the class, in nats: inside[c] papers of class c have the word, count[c] are of the class, of n."""
    total, all_papers = 0.0, float(sum(inside))
    for k, whole in enumerate(count):
        there = float(inside[k])
        rest = whole - there
        if there > 0:
            total += there / n * math.log(there * n / (whole * all_papers))
        if rest > 0:
            total += rest / n * math.log(rest * n / (whole * (n - all_papers)))
    return total


def rank_words(words, classes, width, least=5):
    """The words in `least` papers or more by descending mutual information."""
    names = list(dict.fromkeys(classes))
    inside, count = [[0] * len(names) for _ in range(width)], [0] * len(names)
    for row, y in zip(words, classes):
        k = names.index(y)
        count[k] += 1
        for w in row:
            inside[w][k] += 1
    ranked = [(-mutual_information(inside[w], count, float(len(words))), w) for w in range(width) if sum(inside[w]) >= least]
    return [w for _, w in sorted(ranked)]


def citeseer_words(data, columns, seed, groups=5, noise=400):
    words, classes, width, cites = citeseer(data)
    ranked, n = rank_words(words, classes, width), len(words)
    s = Sources("papers", classes)
    for g in range(groups):
        of = {w: k for k, w in enumerate(ranked[g * len(ranked) // groups:(g + 1) * len(ranked) // groups])}
        s.views["words%d" % (g + 1)] = ("sparse", len(of), [[of[w] for w in row if w in of] for row in words])
    rng = Random(seed, "random columns")
    s.views["noise"] = ("sparse", noise, [[j for j in range(noise) if rng.real() < 0.5] for _ in range(n)])
    s.graphs["cites"], s.graphs["random"], rng = cites, [], Random(seed, "random edges")
    while len(s.graphs["random"]) < len(cites):
        a, b = rng.below(n), rng.below(n)
        if a != b:
            s.graphs["random"].append((a, b))
    for name, edges in list(s.graphs.items()) if columns else []:
        near = [set() for _ in range(n)]
        for a, b in edges:
            near[a].add(b)
            near[b].add(a)
        s.views[name + "-columns"] = ("sparse", n, near)
    return s


def attacks(data, n, seed, groups=5, noise=20):
    """Nine sources: six of columns, three of edges; each graph also as a view of adjacency columns."""
    plain = papers(data, n, seed)
    rows = [[j for j, x in enumerate(row) if x] for row in plain.views["words"]]
    ranked, count = rank_words(rows, plain.labels, 106, 0), len(rows)
    s = Sources("attacks", plain.labels)
    for g in range(groups):
        of = {w: j for j, w in enumerate(ranked[g * len(ranked) // groups:(g + 1) * len(ranked) // groups])}
        s.views["words%d" % (g + 1)] = ("sparse", len(of), [[of[w] for w in row if w in of] for row in rows])
    rng = Random(seed, "attacks")
    s.views["noise"] = ("sparse", noise, [[j for j in range(noise) if rng.below(10) == 0] for _ in rows])
    s.graphs = dict(plain.graphs)
    s.graphs["random"] = [(i, j) for i, j in ((rng.below(count), rng.below(count)) for _ in plain.graphs["cites"]) if i != j]
    for name, edges in list(s.graphs.items()):
        near = [set() for _ in rows]
        for a, b in edges:
            near[a].add(b)
            near[b].add(a)
        s.views[name + "-columns"] = ("sparse", count, near)
    return s


def write_best(s):
    """Of each view the two columns whose ten bins (of equal size) tell most of the class."""
    names = list(dict.fromkeys(s.labels))
    count = [s.labels.count(c) for c in names]
    for view, rows in s.views.items():
        gains = []
        for j in range(len(rows[0])):
            edges = sorted(row[j] for row in rows)[len(rows) // 10::len(rows) // 10][:9]
            inside = {}
            for row, y in zip(rows, s.labels):
                inside.setdefault(sum(row[j] > e for e in edges), [0] * len(names))[names.index(y)] += 1
            n = float(len(rows))
            gains.append((-sum(k / n * math.log(k * n / (sum(cell) * count[c])) for cell in inside.values() for c, k in enumerate(cell) if k), j))
        best = [j for _, j in sorted(gains)[:2]]
        one = Sources("digits", s.labels)
        one.views["best"] = [[row[j] for j in best] for row in rows]
        one.write(view + "-best")


# ---- films ----

PEOPLE = ["actor_1_name", "actor_2_name", "actor_3_name", "director_name"]
COLUMNS = PEOPLE + ["genres", "plot_keywords", "movie_title", "movie_imdb_link", "duration", "color", "aspect_ratio", "budget",
                    "content_rating", "title_year", "language", "country", "imdb_score"]
MOST_TOGETHER = 40


def number(text):
    try:
        return float(text) if math.isfinite(float(text)) else math.nan
    except ValueError:
        return math.nan


def read_films(path):
    """The films with a score, each link once. Bytes as they are: words are of ASCII letters."""
    lines = [line for line in content(path).decode("latin-1").split("\n") if line.strip()]
    rows = csv.reader(lines)
    head = [h.strip().lower() for h in next(rows, [])]
    films, seen = [], set()
    for name in COLUMNS:
        if name not in head:
            bad(path, 1, "expected a column %s" % name)
    for row in rows:
        if len(row) != len(head):
            bad(path, rows.line_num, "expected %d columns" % len(head))
        film = {h: c.strip(" \t\r") for h, c in zip(head, row)}
        if math.isfinite(number(film["imdb_score"])) and film["movie_imdb_link"] not in seen:
            seen.add(film["movie_imdb_link"])
            films.append(film)
    if not films:
        bad(path, 0, "expected films with a score")
    return films


def pieces(film, columns, letters=False):
    """What stands between bars, or runs of letters without regard to case."""
    out = []
    for c in columns:
        cell = film[c]
        if letters:
            cell = "".join(x.lower() if x.isascii() and x.isalpha() else "|" for x in cell)
        out += [p for p in cell.split("|") if p]
    return out


def piece_view(films, columns, least, letters=False):
    """One 0/1 column for each piece in `least` films or more."""
    count = {}
    for film in films:
        for p in dict.fromkeys(pieces(film, columns, letters)):
            count[p] = count.get(p, 0) + 1
    column = {p: j for j, p in enumerate(p for p in count if count[p] >= least)}
    rows = [[0.0] * len(column) for _ in films]
    for row, film in zip(rows, films):
        for p in pieces(film, columns, letters):
            if p in column:
                row[column[p]] = 1.0
    return rows


def column_view(films, numbers, named):
    """Numbers (NaN where missing) and, one 0/1 column for each value in three films or more, names."""
    parts = [[[number(film[c]) for c in numbers] for film in films]] + [piece_view(films, [c], 3) for c in named]
    return [sum(rows, []) for rows in zip(*parts)]


def join_people(films, columns):
    """Join the films that have a person in common, unless more than MOST_TOGETHER have."""
    groups, edges = {}, []
    for i, film in enumerate(films):
        for p in dict.fromkeys(pieces(film, columns)):
            groups.setdefault(p, []).append(i)
    for members in groups.values():
        if len(members) <= MOST_TOGETHER:
            clique(edges, members)
    return edges


def films_of(data, n, seed):
    films = read_films(os.path.join(data, "imdb/movie_metadata.csv"))
    order = list(range(len(films)))
    Random(seed, "films").shuffle(order)
    films = [films[i] for i in order[:n]]
    s = Sources("films", [number(film["imdb_score"]) for film in films])
    s.views = {
        "genres": piece_view(films, ["genres"], 3),
        "keywords": piece_view(films, ["plot_keywords"], 5),
        "technical": column_view(films, ["duration", "aspect_ratio", "budget"], ["color"]),
        "title": piece_view(films, ["movie_title"], 8, letters=True),
        "release": column_view(films, ["title_year"], ["content_rating", "language", "country"]),
        "cast": piece_view(films, PEOPLE, 6),
    }
    s.graphs = {"director": join_people(films, ["director_name"]), "lead": join_people(films, ["actor_1_name"]),
                "actors": join_people(films, ["actor_1_name", "actor_2_name", "actor_3_name"])}
    return s


# ---- parts of task files, embeddings ----

def named(s, chosen):
    """The views and graphs of a task file."""
    views = ["{name: %s, x: %s/%s.csv}" % (v, s.name, v) for v in s.views if v in chosen]
    graphs = ["{name: %s, edges: %s/%s.tsv}" % (g, s.name, g) for g in s.graphs if g in chosen]
    text = "views: [%s]" % ", ".join(views)
    return text + (", graphs: [%s]" % ", ".join(graphs) if graphs else "")


def draw_sources(s, draws, seed):
    """SOURCES-DRAW for the table: each view alone, draws of two and four among all with a view among them, all."""
    everything, rng, out = list(s.views) + list(s.graphs), Random(seed, "sources"), {}
    for i, view in enumerate(s.views):
        out["1-%d" % i] = named(s, [view])
    for n in (2, 4):
        for i in range(draws):
            chosen = []
            while not set(chosen) & set(s.views):
                order = list(everything)
                rng.shuffle(order)
                chosen = order[:n]
            out["%d-%d" % (n, i)] = named(s, chosen)
    out["0-0"] = named(s, everything)
    return out


def embed(s, task, args, d):
    """d coordinates of the digits by CoCA and joined PCA, as described and scaled."""
    with open("embed.yaml", "w") as f:
        f.write(task)
    for method in ("pca-joined", "coca"):
        for described in (True, False):
            sets = ["d=%d" % d] + (["scale=none"] if described else [])
            if method == "coca":
                sets += ["weights=equal", "alpha=60" if described else "alpha=1"]
            common = ["--threads", args.threads, "--quiet"]
            ferry("fit", "embed.yaml", "-m", method, "-o", "embed.ferry", "--seed", args.seed, *common,
                  *[w for x in sets for w in ("--set", x)])
            ferry("predict", "embed.ferry", *["%s=digits/%s.csv" % (v, v) for v in s.views], "-o", "embed.csv", "--quiet")
            with open("embed.csv", newline="") as f:
                rows = [[float(x) for x in row[-d:]] for row in list(csv.reader(f))[1:]]
            one = Sources("digits", s.labels)
            one.views["embedding"] = rows
            one.write(("coca" if method == "coca" else "pca") + ("-raw" if described else "-scaled"))
    os.remove("embed.ferry")
    os.remove("embed.csv")


def main():
    args = arguments()
    word = dict(w.split("=", 1) for w in args.words)
    lacking = float(word.get("lacking", 0))
    if "films" in word:
        s = films_of(args.data, int(word["films"]), args.seed)
        s.write(lacking=lacking, seed=args.seed)
        if "draws" in word:
            found(draw_sources(s, int(word["draws"]), args.seed))
    for name in ("digits", "views"):
        if name in word:
            s = digits(args.data, int(word[name]), name == "digits", args.seed)
            s.write(lacking=lacking, seed=args.seed)
            if "embed" in word:
                embed(s, word["embed"], args, int(word.get("d", 3)))
            if "best" in word:
                write_best(s)
    if "papers" in word:
        papers(args.data, int(word["papers"]), args.seed).write(lacking=lacking, seed=args.seed)
    if "attacks" in word:
        attacks(args.data, int(word["attacks"]), args.seed).write()
    if "words" in word:
        citeseer_words(args.data, word["words"] == "columns", args.seed).write()


if __name__ == "__main__":
    main()
