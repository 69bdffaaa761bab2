"""The gallery: worked examples that are run while the site is built, with their reports, and pictures of these by Chromium."""
import base64
import glob
import html
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "cli"))
import chrome  # noqa: E402

class Example:
    """A page of the gallery: `setup` makes the task in the folder `name`, by a shell, as the page shows it. `needs` is a public data set."""

    def __init__(self, name, title, goal, shape, setup, words, needs=None):
        self.name, self.title, self.goal, self.shape, self.setup, self.words, self.needs = name, title, goal, shape, setup, words, needs


def gen(what, name, methods=""):
    return "ferry gen %s -o %s" % (what, name) + ("\necho 'methods: [%s]' >>%s/task.yaml" % (methods, name) if methods else "")


# One for every goal and shape of data.
EXAMPLES = [
    Example("bridge", "Classes over a bridge", "classify", "two feature sets, and instances seen in both",
            gen("bridge", "bridge", "ttl, hop, latentmap, cotransfer, clusters, semi-svm, svm, logreg"),
            "The source is described by features that the target does not have. A third set of instances, without labels, was seen in both. Methods "
            "that cross this bridge carry the source's classes to the target, which has three labels per class."),
    Example("digits", "The same digits, measured twice", "classify", "two feature sets, and pairs of rows",
            """ferry fetch mfeat -o data
mkdir -p digits
awk 'NR > 1 {print "z" NR - 1 "," $0}' data/mfeat/mfeat-zer.csv >digits/zer.csv
awk 'NR > 1 && (NR - 2) % 200 < 100 {print "f" NR - 1 "," $0}' data/mfeat/mfeat-fac.csv >digits/fac.csv
awk 'BEGIN {print "fac,zer"; for (i = 0; i < 2000; i++) if (i % 200 < 100) print "f" i + 1 ",z" i + 1}' >digits/pairs.csv
cat >digits/task.yaml <<END
task: digits
goal: classify
domains:
  - {name: fac, role: source, x: fac.csv, id: first, label: last}
  - {name: zer, role: target, x: zer.csv, id: first, label: last, labelled: 0.02, pairs: pairs.csv}
methods: [hemap, cdspp, semi-svm, svm, logreg, knn]
evaluate: {repeats: 5, seed: 1}
END""",
            "Real data: 2,000 handwritten digits of the UCI set *Multiple Features* (R. P. W. Duin, CC BY 4.0). The target is described by 47 Zernike moments and has 40 labels. "
            "The source has 216 profile correlations and a label for half of the same digits; `pairs.csv` says which row is which. The pairs tie the two "
            "feature sets together, and that is what transfers.", "mfeat"),
    Example("classes", "Classes that have no label yet", "classify", "two feature sets that share only the names of the classes",
            gen("classes", "classes"),
            "The source has labels for ten classes, the target for seven of them, and no column is in both. A usual learner can never name the other "
            "three. `place` infers where they lie from the source, after it has tested on the seven known classes whether that works here."),
    Example("views", "Classes from a table and graphs", "classify", "a table with missing cells and three graphs of the same people", gen("social", "views"),
            "There is no source here. The instances are the same people throughout; what differs are the views. A table lacks two fifths of its cells, and "
            "three graphs say who knows whom. `gbc` combines everything; it has to beat boosted trees on the table alone and label propagation on the "
            "graphs alone."),
    Example("regress", "Numbers, with a source that follows another rule", "regress", "tables with the same columns", gen("regress", "regress"),
            "Source and target have the same columns, but a slightly different rule leads from them to the number. Pooling both tables is what anybody "
            "would try first. It runs by default where features are shared, and a transfer method has to beat it."),
    Example("multilabel", "Sets of labels", "multilabel", "tables with the same columns and several labels per row", gen("multilabel", "multilabel"),
            "Each row has a set of labels. The methods are ranked by metrics for sets, such as average precision and ranking loss."),
    Example("rate", "Other people's ratings of other things", "rate", "user, item, rating", gen("rate", "rate", "mindtl, cbt, stack, mf, bias, rating-mean"),
            "Books are to be recommended to people who rated few of them; other people rated films. No user and no item is shared. What may be "
            "carried over is the pattern of the ratings."),
    Example("embed", "One space for several views", "embed", "a table and a graph of the same people, no labels", gen("embed", "embed"),
            "Nothing is predicted: each person gets coordinates in a space of few dimensions. Labels only serve to score how well clusters in that space "
            "agree with them."),
    Example("stream", "Rows that arrive one by one", "stream", "labelled sources, then a stream", gen("stream", "stream"),
            "A model starts from sources and two labels per class. It answers each row as it comes and learns from the label afterwards. The verdict "
            "tells whether the sources, which have fewer columns, play any part in that."),
]
C_TAB = """ferry_task *task = NULL;
ferry_results *results = NULL;
char *table = NULL;

if (ferry_task_load(ctx, "%s/task.yaml", NULL, &task) == FERRY_OK &&
    ferry_evaluate(ctx, task, NULL, &results) == FERRY_OK &&
    ferry_results_table(ctx, results, NULL, &table) == FERRY_OK)
    puts(table);
else
    fprintf(stderr, "%%s\\n", ferry_message(ctx));"""
HOME = """import ferryml
from ferryml import Source

model = ferryml.CDSPP().fit(X, y, sources=[Source(Xs, ys)])          # NaN in y: a label that is not known
print(ferryml.compare(X, y, sources=[Source(Xs, ys)], labelled=20))  # did transfer help?"""
VERDICTS = {
    "best": "helps, and is better than the best way without transfer, chosen in hindsight",
    "helps": "better than what the labels would choose without the source, and it is the source's doing",
    "good learner": "better, but made-up sources do as well",
    "source open": "better; whether by the source is not shown",
    "ignores source": "no control changes a prediction: the source plays no part",
    "weak learner": "worse, not shown to be the source's doing",
    "harms": "worse, and it is the source's doing",
    "same": "no difference that would matter",
    "open": "nothing is shown either way; `ferry explain` tells how much data would settle it",
}


def photograph(page, picture, height=880):
    """Pictures of the top of a report by Chromium, PICTURE.png and PICTURE-dark.png, when its plots are drawn."""
    drawn = "!window.before && document.readyState === 'complete' && [...document.querySelectorAll('.plot')].filter(b => b.offsetParent).every(b => b.dataset.drawn)"
    painted = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
    with chrome.Page("file://" + page, width=1100, height=height) as shown:
        shown.call("Emulation.setScrollbarsHidden", hidden=True)
        for name, scheme in ((picture + ".png", "light"), (picture + "-dark.png", "dark")):
            shown.call("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": scheme}])
            shown.eval("window.before = true")
            shown.call("Page.reload")
            shown.wait(drawn, 120)
            shown.eval(painted)
            got = shown.call("Page.captureScreenshot", clip={"x": 0, "y": 0, "width": 1100, "height": height, "scale": 1})
            with open(name, "wb") as f:
                f.write(base64.b64decode(got["data"]))


def figure(name, said, to=None):
    """A report's picture in the reader's colours; a link where `to` is given."""
    images = " ".join("![%s](%s%s.png#only-%s)" % (said, name, end, mode) for end, mode in (("", "light"), ("-dark", "dark")))
    return '<figure class="report" markdown="span">%s</figure>' % ("[%s](%s)" % (images, to) if to else images)


def indent(text):
    return "\n".join("    " + line if line else "" for line in text.split("\n"))


def tab(title, language, text):
    return '=== "%s"\n\n%s\n' % (title, indent("```%s\n%s\n```" % (language, text)))


def script(name):
    """The Python tab of an example: site/examples/NAME.py."""
    with open(os.path.join(HERE, "examples", name + ".py")) as f:
        return f.read().rstrip()


def present(site):
    """The examples whose data is here; one line for each that is left out."""
    out = []
    for e in EXAMPLES:
        found = e.needs is None or where(e.needs)
        if found:
            out.append(e)
        else:
            print("site: the gallery goes without '%s': ferry fetch %s -o data gets its data" % (e.title, e.needs), file=sys.stderr)
    return out


def where(name):
    """Folder of public data sets that has this one (as repro/where.py)."""
    top = os.path.dirname(HERE)
    folders = [os.environ.get("FERRY_DATA"), os.path.join(top, "data"), os.path.join(top, "..", "shared", "data")]
    return next((os.path.abspath(f) for f in folders if f and os.path.isdir(os.path.join(f, name))), None)


def made(site, name):
    """Whether the example was run by an earlier build, with this Ferry and this list."""
    newest = max(os.path.getmtime(p) for p in [__file__, *glob.glob(os.path.join(os.path.dirname(site.ferry), "*ferry*"))] if os.path.isfile(p))
    picture = os.path.join(site.work, name + "-dark.png")
    return os.path.exists(picture) and os.path.getmtime(picture) > newest


def shell(site, text):
    """Run what a page shows, where the examples are made."""
    path = os.path.dirname(site.ferry) + os.pathsep + os.environ["PATH"]
    got = subprocess.run(["sh", "-eu", "-c", text], cwd=site.work, env=dict(os.environ, PATH=path), capture_output=True, text=True)
    if got.returncode:
        sys.exit("site: %s: %s" % (text, got.stderr.strip()))
    return got.stdout


def try_python(site, e):
    """The example's Python code, with one repeat and no controls, where Python has what it needs."""
    text = re.sub(r"repeats=\d+", 'repeats=1, controls="none"', script(e))
    env = dict(os.environ, FERRY_LIBRARY=os.path.join(os.path.dirname(site.ferry), "libferry.so"), PYTHONPATH=os.path.join(os.path.dirname(HERE), "python"))
    got = subprocess.run([site.python, "-B", "-W", "ignore", "-c", text], cwd=site.work, env=env, capture_output=True, text=True)
    if got.returncode:
        sys.exit("site: examples/%s.py: %s" % (e, got.stderr.strip().split("\n")[-1]))


def python_for_examples():
    """A Python with what ferryml needs (the site's own has none of it); None, and a line, where there is none."""
    for name in ("/usr/bin/python3", "python3"):
        found = shutil.which(name)
        if found and subprocess.run([found, "-c", "import numpy, scipy, sklearn, pandas"], capture_output=True).returncode == 0:
            return found
    print("site: no Python with numpy, scipy, scikit-learn and pandas here: the gallery's Python code is not tried", file=sys.stderr)
    return None


def setup_of(site, e):
    """The setup as it is run here: quietly, with data sets that are there already."""
    if e.needs:
        data = os.path.join(site.work, "data")
        if os.path.islink(data):
            os.remove(data)
        os.symlink(where(e.needs), data)
    return re.sub(r"^ferry fetch .*\n", "", e.setup).replace("ferry gen", "ferry gen -q")


def run_of(e):
    return "ferry run %s/task.yaml --set evaluate.repeats=5 -o results/%s" % (e.name, e.name)


def perform(site, e):
    """Run an example in site.work: its table, its report and a picture of that."""
    folder = os.path.join(site.work, e.name)
    shutil.rmtree(folder, ignore_errors=True)
    shell(site, setup_of(site, e))
    table = shell(site, run_of(e) + " -q --force")
    with open(os.path.join(folder, "table.txt"), "w") as f:
        f.write(table)
    site.run("report", "results/" + e.name, cwd=site.work)
    if site.python:
        try_python(site, e.name)
    photograph(os.path.join(site.work, "results", e.name, "report.html"), os.path.join(site.work, e.name))


def results(site, name, key="results"):
    with open(os.path.join(site.work, "results", name, "results.json")) as f:
        return json.load(f)[key]


def measured(site, method):
    """The numbers of a method in the gallery, beside the best baseline's, for its card."""
    rows = []
    for e in site.examples:
        best = results(site, e.name, "verdict")["best_baseline"]
        found = {r["name"]: r for r in results(site, e.name)}
        for r in found.values():
            if r["method"] == method and r["mean"] is not None:
                beside = "is the best" if r["name"] == best else "%s %.3f" % (best, found[best]["mean"]) if best in found else ""
                rows.append("| [%s](../gallery/%s.md) | %s | %s | %.3f ± %.3f | %s |" % (e.title, e.name, r["name"], r["metric"], r["mean"], r["std"] or 0, beside))
    if not rows:
        return ""
    return "\n".join(["In the gallery (mean ± standard deviation over 5 repeats):", "",
                      "| example | as | metric | result | best baseline |", "| --- | --- | --- | --- | --- |"] + rows)


def seen(site, method):
    """What the verdict said about a method in the gallery, for its card."""
    rows = []
    for e in site.examples:
        for r in results(site, e.name):
            if r["method"] == method and r["verdict"]:
                said = r["verdict"]["sentence"].partition(": ")[2]
                rows.append("| [%s](../gallery/%s.md) | %s | %s |" % (e.title, e.name, r["verdict"]["verdict"], said.partition(": ")[2] or said))
    if not rows:
        return ""
    return "\n".join(["What [the verdict](../evaluation.md#did-transfer-help), with its controls, said in the gallery:", "",
                      "| example | verdict | why |", "| --- | --- | --- |"] + rows)


def example(site, e):
    folder, target = os.path.join(site.work, e.name), os.path.join(site.out, "pages", "gallery")
    if not made(site, e.name):
        perform(site, e)
    with open(os.path.join(folder, "table.txt")) as f:
        table = f.read()
    os.makedirs(target, exist_ok=True)
    shutil.copyfile(os.path.join(site.work, "results", e.name, "report.html"), os.path.join(target, e.name + "-report.html"))
    for end in (".png", "-dark.png"):
        shutil.copyfile(os.path.join(site.work, e.name + end), os.path.join(target, e.name + end))
    with open(os.path.join(folder, "task.yaml")) as f:
        task = f.read().rstrip()
    judged = [r for r in results(site, e.name) if r["verdict"]]
    origin = "real" if e.needs else "generated, so the truth is known"
    out = ["# " + e.title, "", e.words, "", "Goal: `%s`. Data: %s; %s." % (e.goal, e.shape, origin), "", "## Run it { #run }", "",
           tab("Command", "sh", e.setup + "\n" + run_of(e)), tab("Python", "python", script(e.name)), tab("C", "c", C_TAB % e.name),
           tab("Task file", "yaml", task), "## What comes out { #output }", "", "```console", table.rstrip(), "```", "", "## The verdict { #verdict }", ""]
    if judged:
        said = dict.fromkeys(r["verdict"]["verdict"] for r in judged)
        out += ["| method | verdict | why |", "| --- | --- | --- |"]
        out += ["| %s | %s | %s |" % (r["name"], r["verdict"]["verdict"], r["verdict"]["sentence"].split(": ", 2)[-1]) for r in judged]
        out += [""] + ["- **%s**: %s." % (v, VERDICTS[v]) for v in VERDICTS if v in said]
        first = judged[0]["name"]
        out += ["", "`ferry explain results/%s %s` tells how it was found:" % (e.name, first), "", "```console",
                site.run("explain", "results/" + e.name, first, cwd=site.work).rstrip(), "```"]
    else:
        out += ["There is no source, so there is no transfer to judge. The table compares the methods with the best baseline."]
    out += ["", "## The report { #report }", "", figure(e.name, "The report of this run: " + html.escape(e.title)), "",
            "[Open the report](%s-report.html): plots, tables that sort, and the command behind every number. `ferry run` writes it to the folder of the "
            "results; it needs no network." % e.name, "",
            '<details><summary>The report on this page</summary><iframe class="report" src="%s-report.html" title="The report of this run" '
            'loading="lazy"></iframe></details>' % e.name, ""]
    site.add("gallery/%s.md" % e.name, "\n".join(out))


def select(site):
    shutil.rmtree(os.path.join(site.work, "select"), ignore_errors=True)
    shell(site, "ferry gen select -o select -q")
    out = shell(site, "ferry select select/task.yaml -q")
    if site.python:
        try_python(site, "select")
    site.add("gallery/select.md", "\n".join(
        ["# Which bridge?", "", "Source and target have no column in common, and four domains without labels could lead from one to the other. `ferry select` "
         "tries every way, measures how well the labels that arrive repeat, and prints the lines of the task file for the bridges it recommends.", "",
         "## Run it { #run }", "", tab("Command", "sh", "ferry gen select -o select\nferry select select/task.yaml"), tab("Python", "python", script("select")),
         "## What comes out { #output }", "", "```console", out.rstrip(), "```", "", "[Choosing the bridge](../select.md) explains the numbers.", ""]))


def said_of(r):
    """What the Source line said, short, for the list of real data sets."""
    return r["verdict"] if r and "failed" not in r else "did not run" if r else "not run yet"


def real(site):
    """The public data sets of real.yaml with what came out (real.py kept it): a page, and the rows of its list. Those whose source is worth it come first."""
    import real as run  # needs PyYAML, which mkdocs brings

    kept = run.kept()
    listed = [(e, kept.get(e["name"], {})) for e in run.listed()]
    order = ["worth it", "open", "not worth it", "unknown", "did not run", "not run yet"]
    listed.sort(key=lambda pair: order.index(said_of(pair[1])))
    rows = ["| data | goal | is the source worth it? |", "| --- | --- | --- |"]
    rows += ["| [%s](real.md#%s) | %s | %s |" % (e["title"], e["name"], e["goal"], said_of(r) + (": " + r["source"].removeprefix(said_of(r) + ": ").split(": without it")[0]
                                                                                             .split("; 8 in 10")[0] if "source" in r else "")) for e, r in listed]
    out = ["# Real data", "", "Which data sets are here, and with which methods, was written down before any of them was run (`site/real.yaml`); what came out is shown, whatever it is. "
           "`python3 site/real.py ferry` runs the list again.", "", *rows, ""]
    for e, r in listed:
        setup = "\n".join(["ferry fetch %s -o data" % n for n in e.get("sets", [])] + (["mkdir -p %s" % e["name"]] if e.get("task") else []) + [e.get("prepare", "").rstrip()]).strip()
        if e.get("task"):
            setup += "\ncat >%s/task.yaml <<END\n%s\nEND" % (e["name"], e["task"].rstrip())
        out += ["## %s { #%s }" % (e["title"], e["name"]), "", e["words"], "", "Goal: `%s`. Data: %s." % (e["goal"], e["data"]), "",
                "```console", (r.get("printed") or r.get("failed") or "not run yet").rstrip(), "```", "", "<details markdown><summary>The commands</summary>", "",
                "```sh", setup + "\nferry run %s/task.yaml" % e["name"], "```", "", "</details>", ""]
    site.add("gallery/real.md", "\n".join(out))
    return rows


def pages(site):
    if not any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))):
        sys.exit("site: no Chromium here, which takes the pictures (Debian: chromium)")
    site.examples, site.python, cards = present(site), python_for_examples(), []
    for e in site.examples:
        example(site, e)
        cards.append('<a class="card" href="%s.html"><strong>%s</strong>%s: %s<img src="%s.png#only-light" alt="" loading="lazy">'
                     '<img src="%s-dark.png#only-dark" alt="" loading="lazy"></a>' % (e.name, e.title, e.goal, e.shape, e.name, e.name))
    select(site)
    cards.append('<a class="card" href="select.html"><strong>Which bridge?</strong>classify: a source, a target and several candidates between them</a>')
    site.add("gallery/index.md", "\n".join(
        ["# Gallery", "", "## Real data", "", "Chosen before they were run; all that were chosen are here.", "", *real(site), "", "## Every goal and shape of data", "",
         "One example for every goal and every shape of data. Each was run when this site was built, with the commands on its page. The "
         "data comes from `ferry gen`, or from a public data set where its licence allows. The output is shown as it is, also where transfer does not "
         "help.", "", '<div class="cards">'] + cards + ["</div>", ""]))


def home(site, text):
    """The same story as in README.md: its picture, and the output that it shows."""
    with open(os.path.join(os.path.dirname(HERE), "README.md"), encoding="utf-8") as f:
        demo = re.search(r"^```console\n.*?^```$", f.read(), re.M | re.S).group(0)
    for name in ("halves.svg", "halves-narrow.svg"):
        site.files["docs/" + name] = name
    picture = ('<picture><source media="(max-width: 600px)" srcset="halves-narrow.svg"><img src="halves.svg" alt="Left halves of digits that others have '
               'labelled, whole digits without labels and 20 labelled right halves"></picture>')
    return text.replace("PICTURE", picture).replace("DEMO", demo).replace("PYTHON", "```python\n%s\n```" % HOME)


def navigation(site):
    return [{"Overview": "gallery/index.md"}, {"Real data": "gallery/real.md"}] + [{e.title: "gallery/%s.md" % e.name} for e in site.examples] + [{"Which bridge?": "gallery/select.md"}]
