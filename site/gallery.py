"""The gallery: worked examples that are run while the site is built, with their reports, and pictures of these by Chromium."""
import glob
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile

# One for every goal and shape of data: name, title, goal, shape, words of `ferry gen`, a line to add to
# its task, and what to see.
EXAMPLES = [
    ("bridge", "Classes over a bridge", "classify", "two feature sets and instances seen in both", ["bridge"],
     "methods: [ttl, hop, latentmap, cotransfer, clusters, semi-svm, svm, logreg]",
     "The source is described by features that the target does not have. A third set of instances, without labels, was seen in both. Methods that "
     "go over this bridge carry the source's classes to the target, which has three labels a class."),
    ("views", "Classes from tables and graphs", "classify", "a table with missing cells and three graphs of the same people", ["social"], "",
     "No source at all: the instances are the same, and what is heterogeneous are the views. A table lacks two fifths of its cells, and graphs say who "
     "knows whom. Here a plain method on the graphs, label propagation, beats the method that combines everything. The report says so."),
    ("regress", "Numbers with a source that measures differently", "regress", "tables with the same columns", ["regress"], "",
     "Source and target have the same columns and another relation to the number. Pooling both is the baseline that anybody would try: it is run by "
     "default where features are shared, and a transfer method has to beat it."),
    ("multilabel", "Sets of labels", "multilabel", "tables with the same columns and several labels a row", ["multilabel"], "",
     "Each row has a set of labels. Metrics for sets (average precision, ranking loss) rank the methods."),
    ("rate", "Ratings of other people for other things", "rate", "user, item, rating", ["rate"],
     "methods: [mindtl, cbt, stack, mf, bias, rating-mean]",
     "Books are to be recommended to people who rated few of them; other people rated films. No user and no item is shared: what may cross is the "
     "pattern of the ratings."),
    ("embed", "A space for several views", "embed", "several views of the same people, no labels", ["embed"], "",
     "Nothing is predicted: each person gets a place in a space of few dimensions. Labels are used only to score how well clusters there agree with "
     "them."),
    ("stream", "Rows that arrive one by one", "stream", "labelled sources, then a stream", ["stream"], "",
     "A model begins with sources and two labels a class, answers each row as it comes and learns from its label afterwards. The verdict *unused* says "
     "that the sources play no part in the gain."),
]
C_TAB = """ferry_task *task = NULL;
ferry_results *results = NULL;
char *table = NULL;

if (ferry_task_load(ctx, "%s/task.yaml", NULL, &task) == FERRY_OK &&
    ferry_evaluate(ctx, task, &results) == FERRY_OK &&
    ferry_results_table(ctx, results, &table) == FERRY_OK)
    puts(table);
else
    fprintf(stderr, "%%s\\n", ferry_message(ctx));"""
PYTHON = {
    "any": """import ferryml

result = ferryml.load_results("results/%(name)s")   # what ferry run left
print(result)                                       # the table; in a notebook the report
print(result.explain())""",
    "regress": """import ferryml
from ferryml import Source

source = ferryml.read("%(name)s/source.csv", label="y", id="id")
target = ferryml.read("%(name)s/target.csv", label="y", id="id")
result = ferryml.compare(target.X, target.y, sources=[Source(source.X, source.y)], labelled=15, repeats=5)
print(result)""",
    "home": """import ferryml
from ferryml import Source

model = ferryml.CDSPP().fit(X, y, sources=[Source(Xs, ys)])          # NaN in y: a label that is not known
print(ferryml.compare(X, y, sources=[Source(Xs, ys)], labelled=20))  # did transfer help?""",
}
VERDICTS = {
    "helps": "better than the best method without transfer, and it is the source's doing",
    "any source": "better, but made-up sources do as well",
    "not shown": "better, but that it is the source is not shown",
    "unused": "no control changes a prediction: the source plays no part",
    "weaker": "worse than the best method without transfer, whatever the source",
    "harms": "worse, and it is the source's doing",
    "equal": "no difference that would matter",
    "undecided": "nothing is shown either way; `ferry explain` tells how much data would settle it",
}


def photograph(page, picture, height=900):
    """A picture of a page, by Chromium."""
    chrome = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not chrome:
        sys.exit("site: no Chromium here, which takes the pictures (Debian: chromium)")
    with tempfile.TemporaryDirectory() as home:
        subprocess.run([chrome, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir=" + home,
                        "--window-size=1100,%d" % height, "--force-device-scale-factor=1", "--virtual-time-budget=8000",
                        "--screenshot=" + picture, "file://" + page], check=True, capture_output=True, timeout=120)
    if not os.path.exists(picture):
        sys.exit("site: Chromium made no picture of " + page)


def indent(text):
    return "\n".join("    " + line if line else "" for line in text.split("\n"))


def tab(title, language, text):
    return '=== "%s"\n\n%s\n' % (title, indent("```%s\n%s\n```" % (language, text)))


def python_tab(site, name):
    """Only where the Python package is documented."""
    if "python.md" not in site.pages:
        return ""
    return tab("Python", "python", PYTHON.get(name, PYTHON["any"]) % {"name": name})


def made(site, name):
    """Whether the example was run by an earlier build, with this Ferry and this list."""
    newest = max(os.path.getmtime(p) for p in [__file__, *glob.glob(os.path.join(os.path.dirname(site.ferry), "*ferry*"))] if os.path.isfile(p))
    picture = os.path.join(site.work, name + ".png")
    return os.path.exists(picture) and os.path.getmtime(picture) > newest


def perform(site, name, gen, line, run):
    """Run an example in site.work: its table, its explanation, its report and a picture of that."""
    folder = os.path.join(site.work, name)
    shutil.rmtree(folder, ignore_errors=True)
    site.run("gen", *gen, "-o", name, "-q", cwd=site.work)
    if line:
        with open(os.path.join(folder, "task.yaml"), "a") as f:
            f.write("\n%s\n" % line)
    table = site.run(*run, "-q", "--force", cwd=site.work)
    with open(os.path.join(folder, "table.txt"), "w") as f:
        f.write(table)
    report = os.path.join(site.work, "results", name, "report.html")
    site.run("report", "results/" + name, cwd=site.work)
    photograph(report, os.path.join(site.work, name + ".png"))


def example(site, name, title, goal, shape, gen, line, words):
    folder, target = os.path.join(site.work, name), os.path.join(site.out, "pages", "gallery")
    run = ["run", name + "/task.yaml", "--set", "evaluate.repeats=5", "-o", "results/" + name]
    if not made(site, name):
        perform(site, name, gen, line, run)
    with open(os.path.join(folder, "table.txt")) as f:
        table = f.read()
    os.makedirs(target, exist_ok=True)
    shutil.copyfile(os.path.join(site.work, "results", name, "report.html"), os.path.join(target, name + "-report.html"))
    shutil.copyfile(os.path.join(site.work, name + ".png"), os.path.join(target, name + ".png"))
    with open(os.path.join(folder, "task.yaml")) as f:
        task = f.read().rstrip()
    said = [v for v in VERDICTS if re.search(r"  %s$" % v, table, re.M)]
    first = next((line.split()[0] for v in said for line in table.split("\n") if line.endswith("  " + v)), None)
    adding = "echo '%s' >>%s/task.yaml\n" % (line, name) if line else ""
    out = ["# " + title, "", words, "", "Goal: `%s`. Data: %s; generated, so the truth is known." % (goal, shape), "", "## Run it", "",
           tab("Command", "sh", "ferry gen %s -o %s\n%sferry %s" % (" ".join(gen), name, adding, " ".join(run))), tab("C", "c", C_TAB % name), python_tab(site, name),
           tab("Task file", "yaml", task), "## What comes out", "", "```console", table.rstrip(), "```", "", "## The verdict", ""]
    out += ["- **%s**: %s." % (v, VERDICTS[v]) for v in said] or ["No method was judged against a source."]
    if first:
        out += ["", "`ferry explain results/%s %s` tells how it was found:" % (name, first), "", "```console",
                site.run("explain", "results/" + name, first, cwd=site.work).rstrip(), "```"]
    out += ["", "## The report", "", '<figure class="report" markdown="span">![The report of this run: %s](%s.png)</figure>' % (html.escape(title), name), "",
            "[Open the report](%s-report.html): plots, tables that sort and the command behind every number. `ferry run` leaves it in the folder of the "
            "results; it needs no network." % name, "",
            '<details><summary>The report on this page</summary><iframe class="report" src="%s-report.html" title="The report of this run" '
            'loading="lazy"></iframe></details>' % name, ""]
    site.add("gallery/%s.md" % name, "\n".join(out))


def pages(site):
    cards = []
    for entry in EXAMPLES:
        example(site, *entry)
        name, title, goal, shape = entry[:4]
        cards.append('<a class="card" href="%s.html"><strong>%s</strong>%s: %s<img src="%s.png" alt="" loading="lazy"></a>' % (name, title, goal, shape, name))
    shutil.rmtree(os.path.join(site.work, "select"), ignore_errors=True)
    site.run("gen", "select", "-o", "select", "-q", cwd=site.work)
    select = site.run("select", "select/task.yaml", "-q", cwd=site.work)
    site.add("gallery/select.md", "\n".join(
        ["# Which bridge?", "", "Source and target have no column in common, and four domains without labels could lead from one to the other. `ferry select` "
         "tries every way, looks at how well the labels that arrive repeat, and prints the lines of the task file for the bridges it recommends.", "",
         "```sh", "ferry gen select -o select", "ferry select select/task.yaml", "```", "", "```console", select.rstrip(), "```", "",
         "[Choosing the bridge](../select.md) explains the numbers.", ""]))
    cards.append('<a class="card" href="select.html"><strong>Which bridge?</strong>classify: a source, a target and several candidates between them</a>')
    site.add("gallery/index.md", "\n".join(
        ["# Gallery", "", "One example for every goal and shape of data. Each was run when this site was built, with the commands on its page; the data "
         "comes from `ferry gen`. What came out is shown as it is, also where transfer does not help.", "", '<div class="cards">'] + cards + ["</div>", ""]))


def home(site, text):
    table_page = "gallery/bridge.md"
    picture = '<figure class="report" markdown="span">[![The report of a run: methods with their accuracy, the difference from the best baseline and a verdict](gallery/bridge.png)](%s)</figure>' % "gallery/bridge.html"
    assert table_page in site.pages
    return text.replace("PICTURE", picture).replace("PYTHON\n", python_tab(site, "home"))


def navigation(site):
    return [{"Overview": "gallery/index.md"}] + [{e[1]: "gallery/%s.md" % e[0]} for e in EXAMPLES] + [{"Which bridge?": "gallery/select.md"}]
