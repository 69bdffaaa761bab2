"""The reproduction atlas: tables that sort, from repro/results/*.json (written by `ferry reproduce`)."""
import glob
import json
import os
import re

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def studies():
    for path in sorted(glob.glob(os.path.join(TOP, "repro/results/*.json"))):
        with open(path) as f:
            yield os.path.relpath(path, TOP), json.load(f)


def plain(text):
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("\n", " ")


def word(claim):
    return '<span class="held">held</span>' if claim["held"] else '<span class="not-held">not held</span>'


def tally(prefix):
    """(held, all) over the claims of the studies of a paper, called PREFIX-..."""
    claims = [c["held"] for _, s in studies() if s["study"].split("-")[0] == prefix for c in s["claims"]]
    return sum(claims), len(claims)


def pages(site):
    rows, claims = [], []
    for path, s in studies():
        name, held = s["study"], sum(c["held"] for c in s["claims"])
        full = "[%s](reproduction.md#%s)" % (name, name)
        method = name.split("-")[0]
        sets = dict.fromkeys(re.split(r"[/|]", d)[0] for d in s["data"])
        rows.append("| %s | [%s](methods/%s.md) | %s | %d of %d | %s | %s | %d | [JSON](%s) |" % (
            full, method, method, plain(s["shows"]), held, len(s["claims"]), s["verdict"].split(":")[0], ", ".join(sets) or "generated",
            round(s["seconds"]), site.download(path)))
        for c in s["claims"]:
            claims.append("| %s | %s | %s | %s | [protocol](#protocol-%s) |" % (full, word(c), plain(c["claim"]), ", ".join(sets) or "generated", name))
    protocols = []
    for _, s in studies():
        protocols += ["### %s { #protocol-%s }" % (s["study"], s["study"]), "", plain(s["paper"]) + ".", "", plain(s["protocol"]), "",
                      "Files: %s." % (", ".join("`%s`" % d for d in s["data"]) or "generated"), ""]
    held, total = sum("class=\"held\"" in c for c in claims), len(claims)
    files = ["- [%s](%s)" % (p, site.download(p)) for p in sorted(os.path.relpath(f, TOP) for f in glob.glob(os.path.join(TOP, "repro/studies/*.yaml")))]
    more = ["- [%s](%s)" % (p, site.download(p)) for p in sorted(os.path.relpath(f, TOP) for f in glob.glob(os.path.join(TOP, "repro/**/*.json"), recursive=True))
            if not p.startswith("repro/results/")]
    site.add("evidence.md", "\n".join(
        ["---", "hide: [navigation]", "---", "# Evidence", "", "Tables and figures of the papers, run again with Ferry. **%d of %d claims held.**" % (held, total),
         "Each claim is a comparison that can fail, written down before the first run (a protocol says where that was not so); the verdict depends on the claims alone.",
         "Click the head of a column to sort.", "", "## Studies", "", '<div class="sortable" markdown>', "",
         "| study | method | shows | held | verdict | data | seconds | numbers |", "| --- | --- | --- | --- | --- | --- | --- | --- |"]
        + rows + ["", "</div>", "", "## Every claim", "", '<div class="sortable" markdown>', "", "| study | held? | claim | data | protocol |",
         "| --- | --- | --- | --- | --- |"] + claims + ["", "</div>", "", "## Files", "",
                    "The JSON of each study holds every number with its spread, the command of every run, the machine and the version. The studies "
                    "themselves are data too:", ""] + files
        + ["", "Results of other measurements, which method pages and guides quote:", ""] + more
        + ["", "`ferry reproduce NAME --data DIR` runs one again; [public data sets](data.md) says how to get the data, and "
           "[Adding a study](adding-a-study.md) how to write another.", "", "## Protocols", ""] + protocols))
