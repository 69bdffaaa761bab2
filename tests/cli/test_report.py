"""report.html: made by run and by report, one file, safe whatever the names are; in Chromium where there is one."""
import json
import os
import random
import re
import sys

from chrome import Page
from harness import ferry, main, parses, read, refused, small_task, write

HOSTILE = ['<img src=x onerror=alert(1)>', '</script><script>alert(2)</script>', '"\'&amp;<b>bold</b>', '${7*7}{{x}}', 'a"b, c']


def folder_of(goal, folder):
    """A small task of each goal, run; returns the folder of the results."""
    rng = random.Random(goal)
    domains = []
    for name, role, n in (("far", "source", 80), ("near", "source", 70), ("here", "target", 60)):
        if goal == "rate":
            rows = [f"u{u},i{i},{1 + (u * i + rng.randrange(2)) % 5}" for u in range(20) for i in range(16) if rng.random() < 0.6]
            write(folder, f"{name}.csv", "user,item,rating\n" + "\n".join(rows) + "\n")
            domains.append(f"  - {{name: {name}, role: {role}, ratings: {name}.csv" + (", labelled: 0.6}" if role == "target" else "}"))
            continue
        lines, labels = ["id,a,b,c,d"], ["id,label"]
        for i in range(n):
            x = [rng.gauss(0, 1) for _ in range(4)]
            lines.append(f"{name}{i}," + ",".join(f"{v:.3f}" for v in x))
            kind = "hot" if x[0] + x[1] > 0 else "cold" if x[2] > 0 else "mild"
            labels.append(f"{name}{i}," + {"regress": f"{x[0] * 2 + x[1]:.3f}", "multilabel": kind + ("|wet" if x[3] > 0 else "")}.get(goal, kind))
        write(folder, f"{name}.csv", "\n".join(lines) + "\n")
        write(folder, f"{name}.labels.csv", "\n".join(labels) + "\n")
        if goal == "embed" and role != "target":
            continue
        views = f"views: [{{name: one, x: {name}.csv, id: id}}" + (f", {{name: two, x: {name}.csv, id: id}}]" if goal == "embed" else "]")
        domains.append(f"  - {{name: {name}, role: {role}, {views}, y: {name}.labels.csv" + (", labelled: 12}" if role == "target" else "}"))
    text = f"task: small {goal}\ngoal: {goal}\ndomains:\n" + "\n".join(domains) + "\nevaluate: {repeats: 3}\n"
    text += "methods: [coca: {d: 3}, pca-joined: {d: 3}]\n" if goal == "embed" else ""
    ferry("run", write(folder, f"{goal}.yaml", text), "-q", "-o", f"{folder}/{goal}", "--threads", "1")
    return f"{folder}/{goal}"


def check(page):
    """Drawn, no complaint in the console, nothing wider than the window."""
    page.wait("[...document.querySelectorAll('.plot')].filter(b => b.offsetParent).every(b => b.dataset.drawn)")
    assert page.console == [], page.console
    assert page.eval("document.documentElement.scrollWidth <= window.innerWidth"), "wider than the window"
    return page.eval("document.querySelectorAll('.plot svg').length")


def test_one_file(folder):
    ferry("run", small_task(folder), "-q", "-o", folder + "/o")
    html = read(folder, "o/report.html")
    assert not re.search(r"<(?:script|img|link|iframe)[^>]*\s(?:src|href)=", html)
    assert "default-src 'none'" in html and "unsafe-eval" not in html
    again = ferry("report", folder + "/o", "-o", folder + "/again.html")
    assert again.err.endswith("again.html\n") and read(folder, "again.html") == html
    os.remove(folder + "/o/report.html")
    ferry("report", folder + "/o", "-q")
    assert read(folder, "o/report.html") == html
    assert folder in read(folder, "o/run.json") and folder not in html, "a page that is sent around does not say where it was made"
    at = os.path.join(os.path.basename(os.path.dirname(os.path.join(folder, "task/task.yaml"))), "task.yaml")
    assert '"command":"ferry run %s ' % at in html, at
    os.remove(folder + "/o/run.json")  # an older folder
    ferry("report", folder + "/o", "-q")


def test_refusals(folder):
    refused("report", folder + "/none", says="expected the folder of a run")
    write(folder, "bad/results.json", "{")
    refused("report", folder + "/bad", says="results.json:1")
    write(folder, "bad/results.json", "{}")
    refused("report", folder + "/bad", says="no results of ferry run")
    assert sorted(os.listdir(folder + "/bad")) == ["results.json"]


def hostile(folder):
    """A run whose task, domains, methods, classes, ids and features are all written by an enemy."""
    rng = random.Random(7)
    for name in ("s", "t"):
        rows = ["id,label," + ",".join('"' + h.replace('"', '""') + '"' for h in HOSTILE)]
        for i in range(60):
            label = HOSTILE[i % 3]
            rows.append(f'"{HOSTILE[0]}{i}","' + label.replace('"', '""') + '",' + ",".join(f"{rng.gauss(i % 3, 1):.3f}" for _ in HOSTILE))
        write(folder, name + ".csv", "\n".join(rows) + "\n")
    y = json.dumps  # a JSON string is a YAML string
    text = (f"task: {y(HOSTILE[1])}\ngoal: classify\ndomains:\n"
            f"  - {{name: {y(HOSTILE[0])}, role: source, id: id, label: label, x: s.csv}}\n"
            f"  - {{name: {y(HOSTILE[1])}, role: target, id: id, label: label, x: t.csv, labelled: 12}}\n"
            f"methods: [svm: {{as: {y(HOSTILE[0])}}}, hemap: {{as: {y(HOSTILE[1])}}}, majority: {{as: {y(HOSTILE[2])}}}]\n"
            "evaluate: {repeats: 3}\n")
    ferry("run", write(folder, "task.yaml", text), "-q", "-o", folder + "/o")
    return folder + "/o"


def test_no_markup_from_names(folder):
    html = read(hostile(folder), "report.html")
    block = html.split('id="ferry-data">')[1].split("</script>")[0]
    assert "<" not in block and ">" not in block and "&" not in block
    assert html.count("<script") == 2 and "<img" not in html and "alert(2)</script>" not in html
    assert parses(block)["runs"][0]["results"]["task"] == HOSTILE[1]


def test_hostile_names_in_a_browser(folder):
    out = hostile(folder)
    with Page("file://" + out + "/report.html") as page:
        assert check(page) > 3
        assert page.eval("document.querySelectorAll('main img, main b, main script, main iframe').length") == 0
        assert page.eval("document.querySelector('h1').textContent") == HOSTILE[1]


def test_each_goal(folder):
    least = {"classify": 3, "regress": 3, "multilabel": 2, "rate": 3, "embed": 1, "stream": 3}
    for goal, plots in least.items():
        out = folder_of(goal, folder)
        with Page("file://" + out + "/report.html") as page:
            assert check(page) >= plots, goal
            d = parses(read(out, "results.json"))
            runs = sum(len(r["runs"]) for r in d["results"])
            means = sum(len(c["runs"]) for r in d["results"] for c in (r["verdict"] or {"controls": []})["controls"])
            first = "[...document.querySelectorAll('figure')][0]"
            if runs:
                assert page.eval(first + ".querySelectorAll('.run path').length") == runs, goal
                assert page.eval(first + ".querySelectorAll('.mean path').length") == len(d["results"]), goal
                assert page.eval(first + ".querySelectorAll('.control path').length") == means, goal


def test_sorting_and_data(folder):
    ferry("run", small_task(folder), "-q", "-o", folder + "/o")
    with Page("file://" + folder + "/o/report.html") as page:
        check(page)
        column = "[...document.querySelector('table').querySelectorAll('tbody tr')].map(r => r.cells[%d].textContent)"
        click = "document.querySelector('table').querySelectorAll('th button')[%d].click()"
        page.eval(click % 0)
        names = page.eval(column % 0)
        assert names == sorted(names, key=str.lower) and len(names) > 4, names
        page.eval(click % 0)
        assert page.eval(column % 0) == names[::-1]
        page.eval(click % 3)  # numbers: the largest first
        values = [float(v.split()[0]) for v in page.eval(column % 3)]
        assert values == sorted(values, reverse=True) and len(set(values)) > 1
        assert page.eval("document.querySelectorAll('table')[0].querySelectorAll('th[aria-sort]').length") == 1
        # the data behind the first plot, as it would be saved
        page.eval("window.saved = []; URL.createObjectURL = b => { b.text().then(t => window.saved.push(t)); return 'data:,'; }")
        page.eval("document.querySelector('.under button').click()")
        page.wait("window.saved.length === 1")
        text = page.eval("window.saved[0]")
        assert text.startswith("name,kind,mean,low,high") and "svm,baseline," in text
        assert page.console == [], page.console


def test_pictures_and_rounding(folder):
    """Plots as files of their own; numbers as on the terminal, and each beside its interval."""
    ferry("run", small_task(folder), "-q", "-o", folder + "/o")
    with Page("file://" + folder + "/o/report.html") as page:
        check(page)
        page.eval("window.saved = []; URL.createObjectURL = b => { window.saved.push(b); return 'data:,'; }")
        buttons = "[...document.querySelectorAll('figure')].map(f => [...f.querySelectorAll('.under button')].map(b => b.textContent))"
        assert all(b[-2:] == ["SVG", "PNG"] for b in page.eval(buttons))
        for k in (2, 3):
            page.eval(f"document.querySelectorAll('figure .under')[0].querySelectorAll('button')[{k}].click()")
            page.wait(f"window.saved.length === {k - 1}")
        assert page.eval("window.saved.map(b => b.type)") == ["image/svg+xml", "image/png"]
        svg = page.eval("window.saved[0].text()")
        assert svg.startswith("<svg") and "currentColor" not in svg and "latentmap" in svg
        assert page.eval("window.saved[1].size") > 5000
        shown = page.eval("document.querySelector('table').textContent") + page.eval("document.querySelector('figure').textContent")
        for line in ferry("table", folder + "/o").out.splitlines():
            for number in re.findall(r"\d\.\d+ ± \d\.\d+|[-+]?\d\.\d+ \(-?\d\.\d+ to -?\d\.\d+\)", line):
                assert number in shown, number
        difference = page.eval("document.querySelectorAll('figure')[1].textContent")
        assert "Difference to" in difference and re.search(r"[-+]\d\.\d+ \(-?\d\.\d+ to -?\d", difference), difference
        assert page.console == [], page.console


def test_dark_phone_print(folder):
    ferry("run", small_task(folder), "-q", "-o", folder + "/o")
    ink = "getComputedStyle(document.body).color"
    with Page("file://" + folder + "/o/report.html") as page:
        light = page.eval(ink)
    with Page("file://" + folder + "/o/report.html", width=390, height=800, dark=True) as page:
        check(page)
        assert page.eval(ink) != light
    with Page("file://" + folder + "/o/report.html", dark=True, media="print") as page:
        check(page)
        assert page.eval(ink) == "rgb(0, 0, 0)"
        assert page.eval("getComputedStyle(document.querySelector('.under button')).display") == "none"
        assert page.eval("getComputedStyle(document.querySelector('thead')).display") == "table-header-group"


def test_several_runs(folder):
    task = small_task(folder)
    for labels in (6, 12, 24):
        ferry("run", task, "-q", "-o", f"{folder}/l{labels}", "--set", f"domains.target.labelled={labels}")
    ferry("report", *(f"{folder}/l{n}" for n in (6, 12, 24)), "-o", folder + "/all.html")
    with Page(f"file://{folder}/all.html") as page:
        assert check(page) >= 2  # the methods in each run, and the learning curve
        first = "[...document.querySelectorAll('figure')][0]"
        n = sum(len(parses(read(folder, f"l{k}", "results.json"))["results"]) for k in (6, 12, 24))
        assert page.eval(first + ".querySelectorAll('.mean path').length") == n  # a dot and a bar for every method of every run
        assert page.eval(first + ".querySelectorAll('.interval line').length") == n
        assert page.eval(f"new Set([...{first}.querySelectorAll('.mean path')].map(p => p.getAttribute('fill'))).size") == 3
        heads = page.eval("[...document.querySelector('table').querySelectorAll('th')].map(h => h.textContent)")
        assert heads[0] == "method" and len(heads) == 4, heads
        assert page.eval("document.querySelector('h1').textContent") == "3 runs"
        assert "Learning curve" in page.eval("document.body.textContent")
        page.eval("document.querySelectorAll('main > details').forEach(d => { d.open = true; })")
        page.wait("document.querySelectorAll('.plot svg').length > 8")
        assert page.console == [], page.console
    assert os.path.basename(ferry("report", folder + "/l6", folder + "/l12", cwd=folder).err.strip()) == "ferry: the report is report.html"


main(sys.modules[__name__])
