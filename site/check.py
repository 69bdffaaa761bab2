"""Look at the built site as a reader's browser would, from the file system.

    check.py FOLDER    exit code 1 with one line for each fault

- every link, picture, script and style leads to a file of the site, and every #anchor to an id there; nothing is fetched
- for readers who do not see: a language, a title, one h1, no skipped heading, alternatives of pictures, names of links, buttons,
  fields and frames, heads of tables, no id twice
- old addresses lead on, there is a 404 page, and the search has an index that works without a server
"""
import os
import sys
from html.parser import HTMLParser
from urllib.parse import unquote

VOID = {"img", "input", "br", "hr", "meta", "link", "source", "path", "rect", "circle", "use", "area", "col", "wbr"}


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.path, self.ids, self.links, self.faults, self.headings = path, set(), [], [], []
        self.open, self.named, self.title, self.lang, self.inside = [], [], "", None, 0
        with open(path, encoding="utf-8") as f:
            self.feed(f.read())
        self.own()

    def fault(self, text):
        self.faults.append("%d: %s" % (self.getpos()[0], text))

    def handle_starttag(self, tag, attrs):
        a = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        if "id" in a:
            if a["id"] in self.ids:
                self.fault("the id %s stands twice" % a["id"])
            self.ids.add(a["id"])
        if tag == "html":
            self.lang = a.get("lang")
        for key in ("href", "src"):
            if a.get(key) and tag != "base" and not (tag == "link" and a.get("rel") in ("canonical", "next", "prev")):
                self.links.append((self.getpos()[0], tag, a[key]))
        if tag == "img" and "alt" not in a:
            self.fault("a picture without alt: " + a.get("src", "?"))
        if tag == "iframe" and not a.get("title"):
            self.fault("a frame without title")
        if tag == "svg" and a.get("role") == "img" and not a.get("aria-label"):
            self.fault("a drawing without aria-label")
        if tag == "input" and a.get("type") not in ("hidden", "submit", "radio", "checkbox") and not (a.get("aria-label") or a.get("title")):
            self.fault("a field without a name")
        if tag in ("a", "button"):
            name = a.get("aria-label") or a.get("title") or ""
            self.named.append([tag, a.get("href"), name, a.get("aria-hidden") == "true" or "hidden" in a])
        if tag == "img" and self.named:
            self.named[-1][2] += a.get("alt") or ""
        if tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self.headings.append((int(tag[1]), self.getpos()[0]))

    def handle_endtag(self, tag):
        if tag in ("a", "button") and self.named:
            kind, href, name, hidden = self.named.pop()
            if not name.strip() and not hidden and (href is not None or kind == "button"):
                self.fault("a %s without a name (%s)" % ("link" if kind == "a" else kind, href or ""))
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data):
        if self.open and self.open[-1] == "title" and "svg" not in self.open:
            self.title += data
        if self.named:
            self.named[-1][2] += data

    def own(self):
        if not self.lang:
            self.faults.append("1: no language")
        if not self.title.strip():
            self.faults.append("1: no title")
        if "moved" in self.title.lower() or self.path.endswith("-report.html"):
            return
        if sum(level == 1 for level, _ in self.headings) != 1:
            self.faults.append("1: %d headings of the first level, expected one" % sum(level == 1 for level, _ in self.headings))
        before = 0
        for level, line in self.headings:
            if level > before + 1:
                self.faults.append("%d: a heading of level %d after one of level %d" % (line, level, before))
            before = level


def follow(pages, root, page):
    """What is wrong with the links of a page."""
    for line, tag, to in page.links:
        if to.startswith(("http:", "https:", "//")):
            if tag not in ("a",):
                yield "%d: %s is fetched from elsewhere" % (line, to)
            continue
        if to.startswith(("data:", "mailto:", "javascript:")):
            continue
        path, _, anchor = to.partition("#")
        path = unquote(path.split("?")[0])
        full = os.path.normpath(os.path.join(os.path.dirname(page.path), path)) if path else page.path
        if os.path.basename(page.path) == "404.html" and path.startswith("/"):
            full = root + path
        if os.path.isdir(full):
            full = os.path.join(full, "index.html")
        if not os.path.exists(full):
            yield "%d: %s leads nowhere" % (line, to)
        elif anchor and full in pages and not full.endswith("-report.html") and unquote(anchor) not in pages[full].ids:
            yield "%d: %s: there is no such place on that page" % (line, to)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = sys.argv[1].rstrip("/")
    paths = sorted(os.path.join(d, n) for d, _, names in os.walk(root) for n in names if n.endswith(".html"))
    pages = {p: Page(p) for p in paths}
    faults = ["%s:%s" % (p, f) for p, page in pages.items() if not p.endswith("-report.html") for f in page.faults + list(follow(pages, root, page))]
    for needed in ("index.html", "404.html", "search/search_index.js", "assets/iframe-worker.js"):
        if not os.path.exists(os.path.join(root, needed)):
            faults.append("%s/%s is missing" % (root, needed))
    for fault in faults[:60]:
        print(fault, file=sys.stderr)
    if faults:
        sys.exit("site: %d faults" % len(faults))
    print("site: %d pages, %d links, no fault" % (len(pages), sum(len(p.links) for p in pages.values())))


main()
