"""The preparation scripts of the studies (repro/prepare), on small files that look like the distributed ones."""
import csv
import io
import lzma
import math
import os
import struct
import subprocess
import sys
import tarfile

from harness import FERRY, TOP, main, read, tree, write

SCRIPTS = os.path.join(TOP, "repro", "prepare")
sys.path.insert(0, SCRIPTS)
sys.dont_write_bytecode = True

import ferry_prepare  # noqa: E402
import hemap  # noqa: E402
import mindtl  # noqa: E402
import mmltl  # noqa: E402
import sources  # noqa: E402
import ttl  # noqa: E402


def script(name, folder, data, *words, seed=1, says=None):
    """Run one as ferry reproduce does; says: what it must refuse the data with, in one line."""
    os.makedirs(folder, exist_ok=True)
    p = subprocess.run([sys.executable, "-B", os.path.join(SCRIPTS, name + ".py"), "--data=" + data, "--seed=%d" % seed, *words],
                       cwd=folder, env=dict(os.environ, FERRY=FERRY), capture_output=True, text=True)
    if says is None:
        assert p.returncode == 0, p.stderr
    else:
        assert p.returncode != 0 and p.stderr.count("\n") == 1 and says in p.stderr, p.stderr
    return p


def refuses(call, says):
    try:
        call()
    except SystemExit as e:
        assert says in str(e), e
    else:
        raise AssertionError("expected: " + says)


def table(*path):
    with open(os.path.join(*path), newline="") as f:
        return list(csv.reader(f))


def write_bytes(folder, name, data):
    write(folder, name, "")
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


# ---- numbers ----

def test_random(folder):
    """The program's generator, by the reference program's numbers and by what the program draws."""
    r = ferry_prepare.Random(42, 54)
    assert [r.bits() for _ in range(3)] == [0x86b1da1d72062b68, 0x1304aa46c9853d39, 0xa3670e9e0dd50358]
    assert ferry_prepare.Random(1, "split").bits() != ferry_prepare.Random(1, "start").bits()
    r, seen = ferry_prepare.Random(3, "x"), [0] * 5
    for _ in range(5000):
        seen[r.below(5)] += 1
    assert min(seen) > 900 and max(seen) < 1100, seen
    x = [r.normal() for _ in range(4000)]
    assert abs(sum(x) / 4000) < 0.06 and abs(sum(v * v for v in x) / 4000 - 1) < 0.1
    a = list(range(50))
    r.shuffle(a)
    assert sorted(a) == list(range(50)) != a


def test_texts(folder):
    for x in (0.1, 1 / 3, 1e-7, 123456789.25, 5e300):
        assert float(ferry_prepare.real(x)) == x
    assert ferry_prepare.real(3.0) == "3" and ferry_prepare.real(0.1) == "0.1"
    for text in ("plain", 'a "b", c', " blank ", "NA", ""):
        assert list(csv.reader([ferry_prepare.quoted(text)]))[0] == [text]
    assert ferry_prepare.quoted("plain") == "plain" and ferry_prepare.quoted("NA") == '"NA"'


# ---- hemap ----

def test_hemap(folder):
    write(folder, "d/statlog/german.data-numeric", "".join(" ".join(["7"] * 24 + [c]) + "\n" for c in "121"))
    write(folder, "d/statlog/australian.dat", " ".join(["3"] * 14 + ["0"]) + "\n\n")
    write(folder, "d/concrete/Concrete_Data.csv", "a,b,c,d,e,f,g,h,i\n" + ",".join("123456789") + "\n")
    write(folder, "d/concrete/slump_test.data", "No,...\n" + ",".join(map(str, range(11))) + "\n")
    script("hemap", folder + "/o", folder + "/d")
    german = table(folder, "o", "german.csv")
    assert german[0][0] == "g1" and german[0][24] == "class" and [r[-1] for r in german[1:]] == ["good", "bad", "good"]
    assert table(folder, "o", "australian.csv")[1][-1] == "good"
    assert table(folder, "o", "flow.csv")[1] == list("1234567") + ["9"]
    assert hemap.FILES[0][1] == "german.csv"
    write(folder, "d/statlog/australian.dat", " ".join(["3"] * 14 + ["0"]) + "\n" + " ".join(["x"] * 15) + "\n")
    script("hemap", folder + "/o", folder + "/d", says="australian.dat:2: expected numbers")


# ---- mindtl ----

def test_books(folder):
    """Users u0..u7 rate books b0..b7 (8 each); of u8, who has 8 ratings too, six are of books that nobody else rated: they go, and
    then u8's others. Zeros are no ratings."""
    lines = ["User-ID;ISBN;Book-Rating"]
    for u in range(9):
        for b in range(8):
            lines.append("u%d;b%d;%d" % (u, 100 + b if u == 8 and b > 1 else b, 10 if u == 0 else 1 + (u + b) % 9))
    lines.append("u9;b1;0")
    name = "d/bookcrossing/BX-Book-Ratings_first100k.csv.gz"
    write(folder, name, "\n".join(lines) + "\n")
    script("mindtl", folder + "/o", folder + "/d")
    rows = table(folder, "o", "books.csv")
    assert rows[0] == ["user", "item", "rating"] and len(rows) == 65 and not [r for r in rows if r[0] in ("u8", "u9")]
    assert rows[1] == ["u0", "b0", "5"] and float(rows[9][2]) == 1 + 4 / 9
    assert mindtl.core([("u", "b", 5)]) == []
    write(folder, name, "User-ID;ISBN;Book-Rating\nu1;b1;5\n")
    script("mindtl", folder + "/o", folder + "/d", says="no user has 8 ratings of books that 3 users rated")


# ---- mmltl ----

PICTURES, BINS, LABELS, CDS = 40, 3, 4, 10


def hvecs(rows):
    return b"".join(struct.pack("<%dH" % (len(r) + 1), len(r), *r) for r in rows)


def write_corel(folder, names=PICTURES):
    """Counts beyond 255; every picture has label 0, none has label 3."""
    write_bytes(folder, "d/corel5k/corel5k_test_DenseHue.hvecs", hvecs([[100 * i + 7 * j for j in range(BINS)] for i in range(PICTURES)]))
    write_bytes(folder, "d/corel5k/corel5k_test_annot.hvecs",
                hvecs([[1, int(i % 2 == 0), int(i % 4 == 0), 0] for i in range(PICTURES)]))
    write(folder, "d/corel5k/corel5k_test_list.txt", "".join("%d000/%d\n" % (1 + i % CDS, i) for i in range(names)))
    write(folder, "d/corel5k/corel5k_dictionary.txt", "sky\nse\"a\ntree\nnever")
    return folder + "/d"


def test_corel(folder):
    p = mmltl.corel(write_corel(folder), "DenseHue", ["test"])
    assert len(p.x) == PICTURES and p.x[39][2] == 3914 and p.y[4][2] == 1 and p.y[5][2] == 0
    assert p.cds[23] == "4000" and p.labels[3] == "never"
    z = p.places()
    assert abs(sum(z)) < 1e-9 and abs(sum(v * v for v in z) / PICTURES - 1) < 1e-9
    assert all((b - a) * (z[1] - z[0]) > 0 for a, b in zip(z, z[1:])), "counts grow with i, so the component does up to its sign"


def test_broken_corel(folder):
    data, words = write_corel(folder, PICTURES - 1), ["features=DenseHue", "parts=test", "kinds=random", "cuts=1", "from=a", "rows=0"]
    hue = "d/corel5k/corel5k_test_DenseHue.hvecs"
    script("mmltl", folder + "/o", data, *words, says="corel5k_test_list.txt: 39 names for 40 pictures and 40 label sets")
    write_corel(folder)
    for content, says in ((b"\3\0abcdef\3\0ab", "12 bytes are not rows of 3 16-bit numbers"),
                          (b"\3\0abcdef\2\0abcdef", "row 2 has 2 numbers, expected 3"), (b"", "expected rows of 16-bit numbers")):
        write_bytes(folder, hue, content)
        script("mmltl", folder + "/o", data, *words, says=says)
    write_corel(folder)
    write(folder, "d/corel5k/corel5k_dictionary.txt", "sky\n")
    script("mmltl", folder + "/o", data, *words, says="corel5k_dictionary.txt: 1 words for 4 labels")


def test_cuts(folder):
    p = mmltl.corel(write_corel(folder), "DenseHue", ["test"])
    for kind in ("nuisance", "random", "sorted"):
        cut = mmltl.Cut(p, kind, 1, 1)
        assert [len(rows) for rows in cut.rows] == [PICTURES // 2] * 2  # each has label 0
        assert cut.label[0] == 0 and cut.label[-1] == 3, "most frequent first"
        sides = [{p.cds[i] for i in rows} for rows in cut.rows]
        assert not sides[0] & sides[1], "a CD is on one side"
        if kind == "sorted":
            low, high = sorted(sides, key=lambda s: min(int(cd) for cd in s))
            assert max(map(int, low)) < min(map(int, high)), "pictures 0..9 are one of each CD in rising order"
    assert mmltl.Cut(p, "random", 0, 1).rows == mmltl.Cut(p, "random", 0, 1).rows != mmltl.Cut(p, "random", 0, 2).rows


def test_cut_files(folder):
    """A target's histogram keeps its total when it is mixed; the source is as it was."""
    data = write_corel(folder)
    script("mmltl", folder + "/o", data, "features=DenseHue", "parts=test", "kinds=nuisance", "cuts=1", "from=a", "rows=5,0")
    assert ferry_prepare.json.loads(read(folder, "o", "prepared.json")) == {"nuisance-0-a": "20"}
    p = mmltl.corel(data, "DenseHue", ["test"])
    cut = mmltl.Cut(p, "nuisance", 0, 1)
    for name, side, mixed in (("nuisance-0-a-5-source.csv", 0, False), ("nuisance-0-b-target.csv", 1, True)):
        head, *rows = table(folder, "o", name)
        assert head == ["f1", "f2", "f3", "sky", "se\"a", "tree", "never"] and len(rows) == (20 if mixed else 5)
        for i, row in zip(cut.rows[side], rows):
            x, was = [float(c) for c in row[:BINS]], [math.sqrt(v) for v in p.x[i]]
            assert abs(sum(v * v for v in x) - sum(p.x[i])) < 1e-2 + 1e-5 * sum(p.x[i])
            apart = max(abs(a - b) for a, b in zip(x, was))
            assert apart > 1e-3 if mixed else apart < 1e-5, (name, apart)
            assert [int(c) for c in row[BINS:]] == [p.y[i][k] for k in cut.label]


# ---- ttl ----

GROUPS = {"comp.graphics": "chip", "talk.politics.guns": "vote", "comp.os.ms-windows.misc": "chip", "talk.politics.mideast": "vote",
          "comp.windows.x": "chip", "talk.politics.misc": "vote"}
NEWS = """task: news
goal: classify
text: {min_len: 3, min_df: 2, weight: tfidf, norm: l2, max_empty: 1}
domains:
  - {name: source, role: source, x: '%(x)s', text: {files: {comp: comp.graphics, talk: talk.politics.guns}, part: 2/2}}
  - {name: bridge, role: intermediate, x: '%(x)s', text: {files: {comp: comp.os.ms-windows.misc, talk: talk.politics.mideast}}}
  - {name: target, role: target, x: '%(x)s', text: {files: {comp: comp.windows.x, talk: talk.politics.misc}, part: 1/2}}
methods: [majority]
"""


def test_news(folder):
    """From an archive of messages to small files: halves of the words, bridges with few labels and few words."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for group, word in GROUPS.items():
            for i in range(30):
                text = ("Subject: message\n\n" + " ".join(word + a for a in "abcdefgh") + "\n").encode()
                member = tarfile.TarInfo("20news-bydate-train/%s/%d" % (group, 1000 + i))
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text))
    write_bytes(folder, "news.tar.xz", lzma.compress(out.getvalue()))
    words = [NEWS % {"x": folder + "/news.tar.xz"}, "seeds=1", "bridges=9:0.25,0:0"]
    for to in ("o", "again"):
        script("ttl", folder + "/" + to, folder, *words, seed=7)
    assert tree(folder + "/o") == tree(folder + "/again"), "the same draws again"
    parts = {d: ttl.read(folder + "/o/7-%s.svm" % d) for d in ("source", "bridge", "target")}
    names = {d: set(features) for d, (features, _) in parts.items()}
    assert names["source"] and names["target"] and not names["source"] & names["target"], "different halves of the words"
    assert names["source"] | names["target"] <= names["bridge"]
    assert all(len(rows) == 60 and {y for y, _ in rows} == {"comp", "talk"} for _, rows in parts.values())
    features, rows = ttl.read(folder + "/o/7-bridge-9-0.25.svm")
    assert sum(y != "?" for y, _ in rows) == 9 and len(features) == len(names["bridge"]) - int(0.25 * len(names["bridge"]) + 0.5)
    columns = {j for _, row in rows for j, _ in row}
    assert columns <= {str(j + 1) for j in range(len(features))}
    assert all(y == "?" for y, _ in ttl.read(folder + "/o/7-bridge-0-0.svm")[1])


# ---- sources ----

def write_digits(folder):
    """24 digits of two classes; view v has v + 1 features, the first is 100 v + the row."""
    for v, name in enumerate(("fac", "fou", "kar", "pix", "zer", "mor")):
        rows = [[100 * v + i] + [i * j % 7 for j in range(1, v + 1)] + [i // 12] for i in range(24)]
        write(folder, "mfeat/mfeat-%s.csv" % name, "\n".join(",".join(map(str, r)) for r in [range(v + 2)] + rows) + "\n")


def test_digits(folder):
    write_digits(folder)
    s = sources.digits(folder, 11, False, 1)
    assert len(s.labels) == 22 and len(s.views) == 6 and not s.graphs
    assert s.views["kar"][11][0] == 212 and s.labels[10:12] == ["0", "1"]  # row 11 is left out
    s = sources.digits(folder, 12, True, 1)
    assert list(s.views) == ["fac", "fou", "kar", "pix", "zer"] and list(s.graphs) == ["morphology", "noisy"]
    assert all(len(edges) == 240 and all(a != b for a, b in edges) for edges in s.graphs.values())
    assert s.graphs["morphology"] != s.graphs["noisy"]
    assert sources.nearest([[0.0], [3.0], [1.0]], 1) == [(0, 2), (1, 2), (2, 0)]
    write(folder, "mfeat/mfeat-zer.csv", "0,1\n1,0\n2,1\n")
    refuses(lambda: sources.digits(folder, 12, True, 1), "mfeat-zer.csv: expected as many digits as in the other files")
    write(folder, "mfeat/mfeat-fac.csv", "f1,class\n0,\n1,\n")
    refuses(lambda: sources.digits(folder, 12, True, 1), "mfeat-fac.csv:2: expected a class in the last column")


def test_incomplete(folder):
    """Of half of the instances two of five views are left out; the id tells what the row holds."""
    write_digits(folder)
    script("sources", folder + "/o", folder, "digits=12", "lacking=0.5")
    rows = 0
    for v, name in enumerate(("fac", "fou", "kar", "pix", "zer")):
        lines = table(folder, "o/digits", name + ".csv")[1:]
        rows += len(lines)
        assert all(float(x[1]) == 100 * v + int(x[0]) - 1 for x in lines)
    assert rows == 5 * 24 - 12 * 2


def write_papers(folder, packed):
    """12 papers of two classes. Word 0 tells the class, word 1 is in every second paper, word 2 in all but one, word 3 in four papers
    only. Each cites the next; 0 cites itself and one that is not there; a citation stands twice."""
    lines = ["p%d\t%d\t%d\t%d\t%d\t%s" % (i, i < 6, i % 2, i != 3, i < 4, "AI" if i < 6 else "DB") for i in range(12)]
    cites = ["p%d\tp%d" % (i, i - 1) for i in range(1, 12)] + ["p0\tp0", "p0\tnowhere", "p0\tp1"]
    write(folder, "linqs/citeseer/citeseer.content", "\n".join(lines) + "\n")
    write(folder, "linqs/citeseer/citeseer.cites", "\n".join(cites) + "\n")
    if packed:
        with tarfile.open(folder + "/linqs/citeseer.tgz", "w:gz") as tar:
            tar.add(folder + "/linqs/citeseer", "citeseer")


def test_words(folder):
    write_papers(folder, True)
    s = sources.citeseer_words(folder, True, 1)
    groups = [s.views["words%d" % g] for g in range(1, 6)]
    assert len(s.labels) == 12 and len(s.views) == 8 and sum(g[1] for g in groups) == 3  # the word of four papers is left out
    first = next(g for g in groups if g[1])
    assert [len(row) for row in first[2]] == [1] * 6 + [0] * 6, "the first is the word that tells most"
    assert s.views["noise"][1] == 400 and abs(sum(map(len, s.views["noise"][2])) - 2400) < 200
    assert len(s.graphs["cites"]) == len(s.graphs["random"]) == 11  # each pair once, no loops, none to nowhere
    chain = s.views["cites-columns"][2]
    assert chain[0] == {1} and chain[5] == {4, 6}
    s.write(os.path.join(folder, "o"))
    assert read(folder, "o", "cites-columns.mtx").split("\n")[1:3] == ["12 12 22", "1 2 1"]


def test_papers(folder):
    write_papers(folder, True)
    s = sources.papers(folder, 0, 1)
    assert len(s.labels) == 12 and len(s.views["words"][0]) == 106
    assert s.views["words"][0][0] == 1 and s.views["words"][3][0] == 0  # word 2 is the commonest
    apart = [a - b for x, y in zip(s.views["words"], s.views["noisy"]) for a, b in zip(x, y)]
    assert abs(sum(v * v for v in apart) / len(apart) - 1) < 0.1
    assert len(s.graphs["cites"]) == 11 and len(s.graphs["company"]) == 10  # of a chain: two steps apart
    assert all(abs(a - b) == 2 for a, b in s.graphs["company"])
    os.remove(folder + "/linqs/citeseer.tgz")  # as ferry fetch leaves them
    s = sources.papers(folder, 5, 1)
    assert len(s.labels) == 5 and all(0 <= a < 5 and 0 <= b < 5 for a, b in s.graphs["cites"])
    write(folder, "linqs/citeseer/citeseer.content", "")
    refuses(lambda: sources.papers(folder, 5, 1), "expected papers with words and classes")


def write_films(folder):
    """13 lines: twelve films, of which one has no score and one stands twice."""
    lines = ["imdb_score,director_name,actor_1_name,actor_2_name,actor_3_name,genres,plot_keywords,movie_title,movie_imdb_link,duration,"
             "color,aspect_ratio,budget,content_rating,title_year,language,country"]
    for i in list(range(12)) + [0]:
        lines.append("%s,Dir %d,Lead %d,Second,,%s,%s,The Film No %s,tt%d,%s,Color,1.85,,PG,%d,English,%s" % (
            "" if i == 5 else "%g" % (5 + 0.1 * i), i // 4, i, "Drama|Comedy" if i % 2 else "Drama", "rare" if i < 3 else "",
            "abcdefghijkl"[i], i, "" if i == 7 else "90", 1990 + i, "Chad" if i < 2 else "USA"))
    write(folder, "imdb/movie_metadata.csv", "\n".join(lines) + "\n")


def test_films(folder):
    write_films(folder)
    s = sources.films_of(folder, 100, 1)
    width = {name: len(rows[0]) for name, rows in s.views.items()}
    # keywords in fewer than five films; the, film, no; Second; numbers and Color; year, PG, English, USA
    assert len(s.labels) == 11 and width == {"genres": 2, "keywords": 0, "title": 3, "cast": 1, "technical": 4, "release": 4}, width
    for i, score in enumerate(s.labels):
        film = round(10 * (score - 5))
        assert sum(s.views["genres"][i]) == (2 if film % 2 else 1) and s.views["release"][i][0] == 1990 + film
        assert math.isnan(s.views["technical"][i][2]) and math.isnan(s.views["technical"][i][0]) == (film == 7)
    # Directors of 4, 3 and 4 films; leads of one each; "Second" of all eleven.
    assert {g: len(e) for g, e in s.graphs.items()} == {"director": 6 + 3 + 6, "lead": 0, "actors": 55}
    draws = sources.draw_sources(s, 3, 1)
    assert sorted(draws) == ["0-0"] + ["1-%d" % i for i in range(6)] + ["2-%d" % i for i in range(3)] + ["4-%d" % i for i in range(3)]
    assert all("views: [{name: " in text for text in draws.values()) and draws["1-0"] == "views: [{name: genres, x: films/genres.csv}]"
    script("sources", folder + "/o", folder, "films=4", "draws=2")
    assert len(table(folder, "o/films", "labels.csv")) == 5 and "4-1" in read(folder, "o", "prepared.json")
    write(folder, "imdb/movie_metadata.csv", "genres,imdb_score\nDrama,7\n")
    script("sources", folder + "/o", folder, "films=4", says="movie_metadata.csv:1: expected a column actor_1_name")


def test_embedding(folder):
    """Digits in three dimensions, by the program itself."""
    write_digits(folder)
    task = "task: digits\ngoal: embed\ndomains:\n  - {name: digits, role: target, views: [%s], y: digits/labels.csv, labelled: none}\n" % (
        ", ".join("{name: %s, x: digits/%s.csv}" % (v, v) for v in ("fac", "fou", "kar", "pix", "zer", "mor")))
    script("sources", folder + "/o", folder, "views=12", "embed=" + task)
    for name in ("pca-raw", "pca-scaled", "coca-raw", "coca-scaled"):
        rows = table(folder, "o", name, "embedding.csv")
        assert rows[0] == ["id", "f1", "f2", "f3"] and len(rows) == 25, name
    assert read(folder, "o/pca-raw/embedding.csv") != read(folder, "o/pca-scaled/embedding.csv")


if __name__ == "__main__":
    main(sys.modules[__name__])
