"""The methods' pages, from `ferry methods --json` and docs/methods/NAME.md, and the table that leads from data to methods."""
import html
import os
import re
import sys

import evidence
import gallery
import pictures

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOALS = {"classify": "a class for each row", "regress": "a number for each row", "multilabel": "a set of labels for each row",
         "rate": "ratings of items by users", "embed": "coordinates for each row", "stream": "classes while rows arrive"}
KINDS = {"transfer": "Transfer methods", "baseline": "Baselines", "control": "Controls"}
SAME = "the same columns, other distribution"
# Words of `needs` that tell what source and target share, and what a reader would call it. The first that is found counts.
SHARES = [("features that lead from a source to the target", "features, through a chain of domains",
           "Features are shared pairwise: the source's with a bridge, the bridge's with the target."),
          ("ratings of every domain", "nothing but the kind of data: ratings",
           "Users and items may differ; the pattern of the ratings is what is carried over."),
          ("source labels, some target labels that may be seen", "classes",
           "The features may have nothing in common; the classes have the same names."),
          ("a source, one view", "row pairs, or classes",
           "Some rows of both domains are the same thing, or the classes have the same names."),
          ("source labels, a view of the target", SAME, "Views with the same features in both domains."),
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


def shape(m):
    """Which of pictures.SHAPES shows what the method takes."""
    needs, goals = SPECIAL.get(m["name"], m["needs"]), m["goals"]
    if "stream" in goals and m["kind"] == "transfer":
        return "stream"
    if "ratings" in needs:
        return "ratings" if "source" in needs else "own ratings"
    if "features that lead" in needs:
        return "chain"
    if "a source, one view" in needs:
        return "pairs"
    if "source labels, some target labels" in needs:
        return "classes"
    if "source labels" in needs:
        return "features"
    if m["kind"] == "transfer":
        return "views"
    if "graph" in needs:
        return "graph" if "view" in needs else "graph only"
    return "labels" if "view" not in needs else "no labels" if goals == ["embed"] else "rows"


def facts(site, m):
    rows = [("Kind", m["kind"]), ("Goals", ", ".join(m["goals"])), ("Needs", html.escape(m["needs"]))]
    if m["kind"] == "transfer":
        rows.append(("Shared", "%s. %s" % shares(m)))
    held, total = evidence.tally(m["name"])
    if total:
        rows.append(("Reproduced", '%d of %d claims held: <a href="#reproduction">which</a>' % (held, total)))
    return '<div class="facts"><dl>%s</dl></div>' % "".join("<dt>%s</dt><dd>%s</dd>" % r for r in rows)


# The parts of every card, in this order, and the words in bold that a paragraph of a part begins with on the method's page.
PARTS = [("problem", "The problem", r"Problem"),
         ("when", "When it helps, and when not", r"When |The wrong tool|What is transferred|Does it hold|With `center|Nothing to undo"),
         ("how", "The method", r""),
         ("options", "Options", r"Defaults|Options"),
         ("cost", "Cost", r"Cost|Speed"),
         ("numbers", "Numbers", r"Measured|Numbers|The thesis|Beside the prototype"),
         ("reference", "Reference", r"Source\.")]


def part_of(line):
    """The part that a line of a method's page begins, None: it goes on with the one before."""
    if line.startswith("| option |"):
        return "options"
    m = re.match(r"\*\*([^*]+)\*\*|## (.*)", line)
    if not m:
        return None
    lead = m.group(1) or m.group(2)
    for name, _, words in PARTS:
        if words and re.match(words, lead):
            return name
    return "how"


def split(text):
    """A method's page by part: {part: text}, and the task file at its end."""
    example = re.search(r"```yaml\n.*?```\n(.*)\Z", text, re.S)
    rest, parts, at, fence = text, {}, "problem", False
    if example:
        rest = text[:example.start()] + example.group(1)
    for line in rest.split("\n"):
        if line.startswith("```"):
            fence = not fence
        found = None if fence else part_of(line)
        if found:
            at = found
            parts.setdefault(at, []).append("")
            line = re.sub(r"^## (.*)", r"**\1.**", line)
            if at in ("problem", "reference", "cost", "numbers"):  # the part's head says it
                line = re.sub(r"^\*\*(Problem|Source|Cost|Measured|Numbers)\.?\*\*\.? ?", "", line)
        parts.setdefault(at, []).append(line)
    out = {name: "\n".join(lines).strip() for name, lines in parts.items()}
    return out, example.group(0)[:example.group(0).rindex("```") + 3] if example else ""


def divide(problem):
    """The problem's words, and what begins with its first formula: (problem, method)."""
    first, blank, rest = problem.partition("\n\n")
    goals = r"(?:and )?(?:classify|regress|multilabel|rate|embed|streams?)"
    first = re.sub(r"^(?i:%s(?:, %s)*)\.\s+" % (goals, goals), "", first)
    if re.search(r"[.)]$", first):
        return first, rest
    sentences = re.split(r"(?<=[.?!])\s+(?=[A-Z`*])", first)
    return " ".join(sentences[:-1]), sentences[-1] + blank + rest


def reproduction(m):
    """What the paper says and what came out."""
    claims = [(s["study"], c) for _, s in evidence.studies() if s["study"].split("-")[0] == m["name"] for c in s["claims"]]
    if not claims:
        return "No table of its paper is among the [studies](../evidence.md)." if m["reference"] else "There is no paper to reproduce."
    rows = ["| [%s](../reproduction.md#%s) | %s | %s |" % (study, study, evidence.word(c), evidence.plain(c["claim"])) for study, c in claims]
    return "\n".join(["%d of %d claims held. The [atlas](../evidence.md) has protocols, data and numbers." % evidence.tally(m["name"]), "",
                      '<div class="sortable" markdown>', "", "| study | held? | claim |", "| --- | --- | --- |"] + rows + ["", "</div>"])


def options(m):
    if not m["options"]:
        return "None."
    rows = ["| option | default | range | meaning |", "| --- | --- | --- | --- |"]
    return "\n".join(rows + ["| %s | %s | %s | %s |" % (o["name"], o["default"], o["range"].replace("|", "\\|"), o["help"]) for o in m["options"]])


def beside(site, m):
    """A method without a page of its own is described on that of another: the published form on that of ours."""
    names = [o["name"] for o in site.methods if page_of(site, o)]
    home = next((n for n in names if m["name"] == n + "-paper"), "mindtl" if "codebook" in m["name"] else None)
    if not home:
        return ""
    return "To compare with the paper; it runs only where a task names it. [%s](%s.md) is the one to use, and its page describes both." % (home, home)


def fold(text):
    """Numbers: the first paragraph or table is shown, what is long below it is opened by the reader."""
    first, blank, rest = text.partition("\n\n")
    if first.startswith("|") or len(rest.split()) < 100:
        return text
    head, blank, more = rest.partition("\n\n") if rest.startswith("|") else ("", "", rest)
    if len(more.split()) < 100:
        return text
    return "\n\n".join(filter(None, [first, head, '<details markdown="1"><summary>More numbers, and how they were measured</summary>', more, "</details>"]))


def card(site, m):
    """One page: the parts in their order, from the method table and the method's own page."""
    path, parts, example = page_of(site, m), {}, ""
    if path:
        with open(os.path.join(TOP, path)) as f:
            _, _, text = f.read().partition("\n")
        parts, example = split(site.tidy(text, "methods/%s.md" % m["name"], path))
    problem, method = divide(parts.get("problem", ""))
    if not method and not parts.get("how"):
        problem, method = "", problem
    said = m["summary"][0].upper() + m["summary"][1:]
    parts["problem"] = "\n\n".join(filter(None, [said + ".", pictures.draw(shape(m), html.escape("What it takes: " + m["needs"])), facts(site, m), problem]))
    parts["how"] = "\n\n".join(filter(None, [method, parts.get("how")]))
    parts["when"] = "\n\n".join(filter(None, [parts.get("when"), gallery.seen(site, m["name"])]))
    own = re.sub(r"^\*\*Options\.\*\* ", "", parts.get("options", ""))
    parts["options"] = "\n\n".join(filter(None, [example, own, "" if "| option |" in own else options(m), "[Ranges of all options](../options.md#%s)." % m["name"] if m["options"] else ""]))
    parts["numbers"] = "\n\n".join(filter(None, [fold(parts.get("numbers", "")), gallery.measured(site, m["name"])])) or "None were measured."
    parts["reference"] = parts.get("reference") or m["reference"] or "There is no paper; this page describes the method."
    out = ["# " + m["name"]]
    for name, title, _ in PARTS:
        parts[name] = parts.get(name) or beside(site, m)
        if not parts[name]:
            sys.exit("site: docs/methods/%s.md says nothing for '%s'" % (m["name"], title))
        out += ["## %s { #%s }" % (title, name), parts[name]]
    return "\n\n".join(out + ["## Reproduction { #reproduction }", reproduction(m)]) + "\n"


def decision(site):
    """From what is wanted and what is shared to the methods: where to look first."""
    def those(goal, test):
        return ", ".join(link(m) for m in site.methods if goal in m["goals"] and test(m))
    out = ["| you want | source and target share | methods |", "| --- | --- | --- |"]
    for goal, what in GOALS.items():
        said = "**%s** (`%s`)" % (what, goal)
        for kind in dict.fromkeys(s[1] for s in SHARES):
            found = those(goal, lambda m: m["kind"] == "transfer" and shares(m)[0] == kind)
            if found and kind == SAME and goal in ("classify", "regress", "multilabel"):
                found += "; or an ordinary learner that sees the source's rows too (`svm+source`)"
            if found:
                out.append("| %s | %s | %s |" % (said, kind, found))
                said = ""
        out.append("| %s | no source needed | %s |" % (said, those(goal, lambda m: m["kind"] == "baseline")))
    return "\n".join(out) + "\n"


def choose(site):
    """Which method for my data: the decision table, then a table for each goal."""
    out = ["# Which method for my data", "",
           "Leave that to Ferry. `ferry answer mine.csv --source theirs.csv --label COLUMN -o out` (or `ferry run task.yaml`, if you have a task file) tries all that fit "
           "your data, tells which to use, how good it will be and what the source is worth, and `out/model.ferry` is what it recommends. With 20 labels of your "
           "own that is a better guide than any table. What follows says which methods it has to choose from.", "",
           "The tables are made from what each method needs. `ferry advise task.yaml` answers the same question for your own task file, and tells how long "
           "each method takes and what your data lacks. Always run the baselines beside a transfer method: `ferry run` does so when the task file names no "
           "methods.", "", "## At a glance { #glance }", "", decision(site)]
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
