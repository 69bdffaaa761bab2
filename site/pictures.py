"""The problem that a method solves, in one picture: domains as tables, what they share in one colour, labels beside them.

A drawing is a list of domains; a domain is (title, columns of features, labels, more). Columns of one letter are the same
features wherever they stand: A in one colour, B in another. Labels are "all", "few" or "none". The colours are the site's
(class names), so that the picture follows light and dark.
"""

CELL, ROWS, GAP = 13, 6, 74


def cells(x, y, columns, rows, kind):
    """A table of cells; `kind(row, column)` gives the class of each, None: no cell."""
    out = []
    for i in range(rows):
        for j in range(columns):
            name = kind(i, j)
            if name:
                out.append('<rect class="%s" x="%d" y="%d" width="%d" height="%d"/>' % (name, x + CELL * j, y + CELL * i, CELL - 2, CELL - 2))
    return out


def text(x, y, words, anchor="middle", strong=False):
    return '<text x="%d" y="%d" text-anchor="%s"%s>%s</text>' % (x, y, anchor, ' class="strong"' if strong else "", words)


def arrow(x, y, words):
    return ['<path d="M%d %dh56m-8-5l8 5-8 5" class="arrow"/>' % (x, y), text(x + 28, y - 9, words)]


def known(labels, row):
    return labels == "all" or labels == "few" and row < 2


def domain(x, title, features, labels, gaps=False):
    """(drawing, width) of a table: a block of columns for each letter of `features`, and labels."""
    out, at, top = [], x, 26
    for letter in features:
        out += cells(at, top, 4, ROWS, lambda i, j: "gap" if gaps and (3 * i + 5 * j + ord(letter)) % 7 < 2 else "f" + letter)
        at += 4 * CELL + 5
    if labels is not None:
        out += cells(at, top, 1, ROWS, lambda i, j: "label" if known(labels, i) else "asked")
        at += CELL + 5
    width = at - x - 5
    said = {"all": "labels", "few": "few labels", "none": "no labels", None: ""}[labels]
    return out + [text(x + width / 2, 16, title, strong=True), text(x + width / 2, top + CELL * ROWS + 14, said)], width


def graph(x, title):
    points = [(8, 38), (40, 32), (66, 52), (20, 68), (54, 80), (30, 102), (70, 104)]
    edges = [(0, 1), (1, 2), (0, 3), (3, 4), (2, 4), (3, 5), (4, 6), (5, 6)]
    out = ['<path class="edge" d="M%d %dL%d %d"/>' % (x + points[a][0], points[a][1], x + points[b][0], points[b][1]) for a, b in edges]
    out += ['<circle class="%s" cx="%d" cy="%d" r="6"/>' % ("label" if i in (1, 5) else "asked", x + px, py) for i, (px, py) in enumerate(points)]
    return out + [text(x + 38, 16, title, strong=True)], 78


def ratings(x, title, share):
    out = cells(x, 26, 8, ROWS, lambda i, j: "fA" if (5 * i + 3 * j + i * j) % 10 < share else "asked")
    return out + [text(x + 52, 16, title, strong=True), text(x + 52, 26 + CELL * ROWS + 14, "users x items")], 8 * CELL


def links(x):
    """Lines from rows on the left to the same things on the right."""
    return ['<path class="edge" d="M%d %dh56"/>' % (x, 32 + CELL * i) for i in (0, 1, 3, 4)] + [text(x + 28, 26 + CELL * ROWS + 14, "pairs")]


# What is drawn for each of methods.shape(): parts, left to right. A text is an arrow with these words; "=" are pairs.
SHAPES = {
    "chain": [("source", "A", "all"), "features", ("bridge", "AB", "none"), "features", ("target", "B", "few")],
    "pairs": [("source", "A", "all"), "=", ("target", "B", "few")],
    "classes": [("source", "A", "all"), "classes", ("target", "B", "few")],
    "features": [("source", "A", "all"), "features", ("target", "A", "few")],
    "ratings": [("source", 7), "patterns", ("target", 3)],
    "own ratings": [("target", 4)],
    "views": [("views of the target", "AB", "few", True), "ids", "graph"],
    "graph": [("target", "A", "few"), "ids", "graph"],
    "graph only": ["graph"],
    "stream": [("sources", "A", "all"), "classes", ("rows that arrive", "B", "few")],
    "rows": [("target", "A", "few")],
    "no labels": [("views of the target", "AB", "none")],
    "labels": [("target", "", "few")],
}


KEY = {"fA": "features", "fB": "other features", "label": "a known label", "asked": "to predict"}


def key(drawing):
    """What the colours of a drawing mean."""
    return '<p class="key">%s</p>' % " ".join('<span class="%s">%s</span>' % k for k in KEY.items() if 'class="%s"' % k[0] in drawing)


def draw(shape, said):
    out, x = [], 8
    for part in SHAPES[shape]:
        if part == "=":
            out += links(x - 2)
            x += GAP - 18
        elif part == "graph":
            drawn, width = graph(x + 6, "graphs")
            out += drawn
            x += width + 18
        elif isinstance(part, str):
            out += arrow(x + 2, 68, part)
            x += GAP - 8
        else:
            drawn, width = ratings(x + 4, *part) if isinstance(part[1], int) else domain(x + 4, *part)
            out += drawn
            x += width + 12
    drawing = "".join(out)
    return '<svg class="domains" role="img" aria-label="%s" viewBox="-30 0 %d 124" style="max-width: %dpx">%s</svg>%s' % (
        said, x + 60, 1.3 * (x + 60), drawing, "" if "ratings" in shape else "\n\n" + key(drawing))
