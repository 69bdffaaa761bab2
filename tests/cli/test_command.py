"""A program of the user's own as a method: what it gets, what becomes of its answers, how it is judged, and what is said of one that fails."""
import csv
import os
import stat
import sys

from harness import FERRY, ferry, main, parses, read, refused, write


def script(folder, name, text):
    path = write(folder, name, f"#!{sys.executable} -B\n" + text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return path


def results(folder, name):
    return parses(read(folder, name + "/results.json"))


# What ferry itself makes of the folder: the folder is a task like any other.
SVM = f"""import subprocess, sys
folder = sys.argv[-1]
def ferry(*words):
    subprocess.run(["{FERRY}", *words], check=True, cwd=folder, stdout=subprocess.DEVNULL)
ferry("fit", "task.yaml", "-m", sys.argv[1], "-o", "m.ferry")
x = [line.split("x: ")[1].split(",")[0] for line in open(folder + "/task.yaml") if "x: " in line][-1]
ferry("predict", "m.ferry", x, "-o", "predictions.csv")
"""


def test_folder(folder):
    """A program that lets ferry work on its folder gets what ferry gets: labels that are hidden are not in it, views that are the same still are."""
    ferry("gen", "bridge", "-q", cwd=folder)
    script(folder, "bridge/mine.py", SVM)
    text = read(folder, "bridge/task.yaml").split("# No ")[0]
    write(folder, "bridge/mine.yaml", text + "methods: [svm, ttl, majority, {command: {file: mine.py, arguments: svm}, as: mine}, "
          "{command: {file: mine.py, arguments: ttl}, as: ours}]\nevaluate: {repeats: 1, controls: none}\n")
    ferry("run", "bridge/mine.yaml", "-o", "out", cwd=folder)
    runs = {m["name"]: m["metrics"]["accuracy"]["runs"] for m in results(folder, "out")["results"]}
    assert runs["mine"] == runs["svm"], runs
    assert runs["ours"] == runs["ttl"], runs


POOLED = """import csv, sys, re
folder = sys.argv[1] + "/"
def table(name):
    with open(folder + name, newline="") as f:
        return list(csv.DictReader(f))
task = open(folder + "task.yaml").read()
names = re.findall(r"x: (\\S+\\.csv)", task), re.findall(r"    y: (\\S+)", task)
rows, asked = [], [r["id"] for r in table("predict.csv")]
for x, y in zip(*names):
    label = {r["id"]: r["label"] for r in table(y)}
    for r in table(x):
        rows.append((r["id"], x, [float(r[k]) for k in ("a", "b")], label.get(r["id"], "")))
known = [r for r in rows if r[3]]
if len(sys.argv) > 2: known = [r for r in known if r[1] == names[0][-1]]
with open(folder + "predictions.csv", "w") as f:
    print("id,prediction", file=f)
    for i, x, v, _ in rows:
        if i in asked and x == names[0][-1]:
            near = min(known, key=lambda r: (r[2][0] - v[0]) ** 2 + (r[2][1] - v[1]) ** 2)
            print(f"{i},{near[3]}", file=f)
"""


def test_judged(folder):
    """One that learns from the source is run on control tasks and gets a verdict; one that looks at the target alone does not use it."""
    import random
    rng = random.Random(4)
    for name, n in (("old", 80), ("new", 60)):
        with open(os.path.join(folder, name + ".csv"), "w", newline="", encoding="utf-8") as f:
            out = csv.writer(f)
            out.writerow(["id", "a", "b", "label"])
            for i in range(n):
                a, b = rng.gauss(0, 1), rng.gauss(0, 1)
                out.writerow([f"{name}{i}", a, b, "yes" if a * b > 0 else "no"])
    script(folder, "mine.py", POOLED)
    script(folder, "alone.py", POOLED.replace("if len(sys.argv) > 2", "if True"))
    write(folder, "task.yaml", """task: t
goal: classify
domains:
  - {name: old, role: source, x: old.csv, label: label}
  - {name: new, role: target, x: new.csv, label: label, labelled: {per_class: 2}}
methods: [logreg, majority, {command: mine.py, as: pooled}, {command: ./alone.py, as: alone}]
evaluate: {repeats: 3}
""")
    ferry("run", "task.yaml", "-o", "out", cwd=folder)
    by = {m["name"]: m for m in results(folder, "out")["results"]}
    assert by["pooled"]["verdict"]["verdict"] == "best", by["pooled"]
    assert "shuffled-labels" in str(by["pooled"]), by["pooled"]
    assert by["alone"]["verdict"]["verdict"] == "ignores source", by["alone"]


def test_fails(folder):
    """The others run; what it said is said."""
    ferry("gen", "bridge", "-q", cwd=folder)
    script(folder, "bridge/bad.py", "import sys; sys.exit('no luck today')\n")
    script(folder, "bridge/silent.py", "pass\n")
    write(folder, "bridge/plain.py", "pass\n")
    script(folder, "bridge/wrong.py", "import sys; open(sys.argv[-1] + '/predictions.csv', 'w').write('id,prediction\\nnobody,7\\n')\n")
    text = read(folder, "bridge/task.yaml").split("# No ")[0]
    write(folder, "bridge/mine.yaml", text + "methods: [svm, {command: bad.py, as: bad}, {command: silent.py, as: silent}, {command: plain.py, as: plain}, "
          "{command: wrong.py, as: wrong}]\nevaluate: {repeats: 2, controls: none}\n")
    out = ferry("run", "bridge/mine.yaml", "-o", "out", cwd=folder)
    why = {m["name"]: m["reason"] for m in results(folder, "out")["skipped"]}
    assert "bad.py ended with 1: no luck today" in why["bad"], why
    assert "wrote no predictions.csv" in why["silent"], why
    assert "cannot start" in why["plain"] and "ermission denied" in why["plain"], why
    assert "'7' is none of the task's classes" in why["wrong"], why
    assert set(why) == {"bad", "silent", "plain", "wrong"} and out.code == 0, why
    write(folder, "bridge/none.yaml", text + "methods: [{command: nothing.sh}]\n")
    refused("run", "bridge/none.yaml", cwd=folder, says="nothing.sh: no such file")


if __name__ == "__main__":
    main(sys.modules[__name__])
