"""The methods' pages, from `ferry methods --json` and docs/methods/NAME.md, and the table that leads from data to methods."""
import html
import os

import evidence

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOALS = {"classify": "one class of each row", "regress": "a number for each row", "multilabel": "a set of labels for each row",
         "rate": "ratings of users for items", "embed": "a place in a space for each row, without labels",
         "stream": "classes while rows arrive"}
KINDS = {"transfer": "Transfer methods", "baseline": "Baselines", "control": "Controls"}
# Words of `needs` that tell what source and target share, and what a reader would call it. The first that is found counts.
SHARES = [("features that lead from a source to the target", "features, through a chain of domains",
           "Features are shared pairwise: the source's with a bridge, the bridge's with the target."),
          ("ratings of every domain", "nothing but the kind of data: ratings",
           "Users and items may differ; the pattern of the ratings is what crosses."),
          ("source labels, some target labels that may be seen", "classes",
           "The features may have nothing in common; the classes have the same names."),
          ("a source, one view", "row pairs, or classes",
           "Some rows of both domains are the same thing, or the classes have the same names."),
          ("source labels, a view of the target", "features and labels", "Views with the same features in both domains."),
          ("a graph", "ids: rows that are linked", "Views and graphs of the same instances, joined by id."),
          ("a view", "ids: several views of the same rows", "Views and graphs of the same instances, joined by id.")]


# It needs no source, so its needs do not tell.
SPECIAL = {"hetomtl": "source labels, some target labels that may be seen"}


def shares(m):
    """What source and target of a transfer method share: (short, sentence)."""
    needs = SPECIAL.get(m["name"], m["needs"])
    for words, short, sentence in SHARES:
        if words in needs:
            return short, sentence
    return "nothing", ""


def page_of(site, m):
    return "docs/methods/%s.md" % m["name"] if site.has("docs/methods/%s.md" % m["name"]) else None


def link(m, start="methods/"):
    return "[%s](%s%s.md)" % (m["name"], start, m["name"])


def box(x, label, sub, strong):
    return ('<rect x="%d" y="14" width="150" height="62" rx="8" fill="none" stroke="currentColor" stroke-width="%s"/>'
            '<text x="%d" y="42" text-anchor="middle" font-size="15" font-weight="700" fill="currentColor">%s</text>'
            '<text x="%d" y="62" text-anchor="middle" font-size="12" fill="currentColor">%s</text>'
            % (x, 3 if strong else 1.5, x + 75, label, x + 75, sub))


def picture(m):
    """The problem in one picture: the domains that the method takes, and what ties them."""
    needs = m["needs"]
    labels = "some labels" if "target labels" in needs else "labels to predict"
    if "ratings" in needs:
        boxes = [("source", "ratings"), ("target", "few ratings")]
    elif "features that lead" in needs:
        boxes = [("source", "labels"), ("bridge", "features of both"), ("target", labels)]
    elif "source" in needs:
        boxes = [("source", "labels" if "source labels" in needs else "rows"), ("target", labels)]
    elif m["name"] in SPECIAL:
        boxes = [("sources", "labels"), ("target", "rows that arrive")]
    else:
        boxes = [("views, graphs", "of the same rows"), ("target", labels)]
    width, out = 220 * len(boxes) - 70 + 20, []
    for i, (name, sub) in enumerate(boxes):
        out.append(box(10 + 220 * i, name, sub, i == len(boxes) - 1))
        if i:
            x = 10 + 220 * i
            out.append('<path d="M%d 45h60m-9-6l9 6-9 6" fill="none" stroke="currentColor" stroke-width="2"/>' % (x - 65))
    said = "From %s to %s" % (" over ".join(b[0] for b in boxes[:-1]), boxes[-1][0])
    return '<svg class="domains" role="img" aria-label="%s" viewBox="0 0 %d 90">%s</svg>' % (said, width, "".join(out))


def facts(site, m):
    rows = [("What", html.escape(m["summary"])), ("Kind", m["kind"]), ("Goals", ", ".join(m["goals"])), ("Needs", html.escape(m["needs"]))]
    if m["kind"] == "transfer":
        rows.append(("Shared", "%s. %s" % shares(m)))
    if m["reference"]:
        rows.append(("Paper", html.escape(m["reference"])))
    held, total = evidence.tally(m["name"])
    if total:
        rows.append(("Reproduced", '%d of %d claims held: <a href="../evidence.html">the studies</a>' % (held, total)))
    rows.append(("Options", '<a href="../options.html#%s">%d, with ranges</a>' % (m["name"], len(m["options"]))))
    return '<div class="facts"><dl>%s</dl></div>' % "".join("<dt>%s</dt><dd>%s</dd>" % r for r in rows)


def card(site, m):
    """One page: the picture and the facts, then the method's own text, which has the same order everywhere."""
    path = page_of(site, m)
    head = "\n\n".join(["# " + m["name"], picture(m) if m["kind"] == "transfer" else "", facts(site, m)])
    if not path:
        rows = ["| option | default | range | meaning |", "| --- | --- | --- | --- |"]
        rows += ["| %s | %s | %s | %s |" % (o["name"], o["default"], o["range"].replace("|", "\\|"), o["help"]) for o in m["options"]]
        near = "\nIt is described with [mindtl](mindtl.md), whose table it stands in.\n" if m["goals"] == ["rate"] else ""
        return head + "\n" + near + "\n" + ("\n".join(rows) if m["options"] else "") + "\n"
    with open(os.path.join(TOP, path)) as f:
        title, _, text = f.read().partition("\n")
    body = site.tidy(text, "methods/%s.md" % m["name"], path)
    return "%s\n%s" % (head, body)


def choose(site):
    """Which method for my data: a table for each goal."""
    out = ["# Which method for my data", "",
           "Made from what each method needs. `ferry advise task.yaml` answers the same question about your own task file, with times and "
           "with what is missing. Always run the baselines beside a transfer method: `ferry run` does it when the task names no methods.", ""]
    for goal, what in GOALS.items():
        out += ["## %s" % goal, "", "You want %s." % what, "", '<div class="sortable" markdown>', "",
                "| what your domains share | method | it needs | in a sentence |", "| --- | --- | --- | --- |"]
        for m in site.methods:
            if goal in m["goals"] and m["kind"] == "transfer":
                out.append("| %s | %s | %s | %s |" % (shares(m)[0], link(m), m["needs"], m["summary"]))
        plain = ", ".join(link(m) for m in site.methods if goal in m["goals"] and m["kind"] == "baseline")
        out += ["", "</div>", "", "Without a source: %s." % plain, ""]
    return "\n".join(out)


def overview(site):
    out = ["# Methods", "", "[Which method for my data](../choose.md) goes from goals and needs to methods.", "", "## By goal", "",
           "| goal | transfer | baselines |", "| --- | --- | --- |"]
    def names(test):
        return ", ".join(link(m, "") for m in site.methods if test(m))
    for goal in GOALS:
        out.append("| %s | %s | %s |" % (goal, names(lambda m: goal in m["goals"] and m["kind"] == "transfer"),
                                         names(lambda m: goal in m["goals"] and m["kind"] == "baseline")))
    out += ["", "## By what is shared", "", "| source and target share | methods |", "| --- | --- |"]
    for short in dict.fromkeys(s[1] for s in SHARES):
        found = names(lambda m: m["kind"] == "transfer" and shares(m)[0] == short)
        if found:
            out.append("| %s | %s |" % (short, found))
    for kind, title in KINDS.items():
        out += ["", "## " + title, "", '<div class="cards">']
        out += ['<a class="card" href="%s.html"><strong>%s</strong>%s</a>' % (m["name"], m["name"], html.escape(m["summary"]))
                for m in site.methods if m["kind"] == kind]
        out.append("</div>")
    return "\n".join(out) + "\n"


def pages(site):
    for m in site.methods:
        site.add("methods/%s.md" % m["name"], card(site, m))
    site.add("methods/index.md", overview(site))
    site.add("choose.md", choose(site))


def navigation(site):
    out = [{"Overview": "methods/index.md"}]
    for kind, title in KINDS.items():
        out.append({title: [{m["name"]: "methods/%s.md" % m["name"]} for m in site.methods if m["kind"] == kind]})
    return out
