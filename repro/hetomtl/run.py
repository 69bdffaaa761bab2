#!/usr/bin/env python3
"""hetomtl's streams with few labels arriving, and under controls: what the studies (`ferry reproduce hetomtl-table2` ...) do not have,
since no table of the paper has it.

  repro/hetomtl/run.py [--data DIR] [--ferry PROGRAM] [--out DIR] [--repeats 20] [--part few|controls] [--arriving 0.1] [TASK ...]

20 labelled rows a class from each source (DSLR has fewer of some), 3 a class of the target offline, the rest of the target in a
random order, all drawn anew in each repeat.
  few       a share of the labels arrives (--arriving): mpa, omtlmc, hetomtl, hetomtl-paper, and what mpa can be
  controls  sources of noise, and sources with shuffled labels (3 draws on the first 2 repeats)
"""
import argparse, json, os, statistics, subprocess, sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import where

SURF = ["amazon", "webcam", "dslr", "Caltech10"]
# name: sources, target, rows of the stream
TASKS = {
    "S>dW": (["surf/%s_SURF_L10.mat#fts" % s for s in SURF], "decaf6/webcam_decaf.mat#feas", 265),
    "S>dD": (["surf/%s_SURF_L10.mat#fts" % s for s in SURF], "decaf6/dslr_decaf.mat#feas", 127),
    "D>sA": (["cdls", "decaf6/webcam_decaf.mat#feas", "decaf6/dslr_decaf.mat#feas"], "surf/amazon_SURF_L10.mat#fts", 928),
    "D>sW": (["cdls", "decaf6/webcam_decaf.mat#feas", "decaf6/dslr_decaf.mat#feas"], "surf/webcam_SURF_L10.mat#fts", 265),
    "D>sD": (["cdls", "decaf6/webcam_decaf.mat#feas", "decaf6/dslr_decaf.mat#feas"], "surf/dslr_SURF_L10.mat#fts", 127),
    "D>sC": (["cdls", "decaf6/webcam_decaf.mat#feas", "decaf6/dslr_decaf.mat#feas"], "surf/Caltech10_SURF_L10.mat#fts", 1093),
    "S>gA": (["surf/%s_SURF_L10.mat#fts" % s for s in SURF], "googlenet1024/amazon.mat#fts", 928),
    "S>gW": (["surf/%s_SURF_L10.mat#fts" % s for s in SURF], "googlenet1024/webcam.mat#fts", 265),
    "NUS": (["text"], "image", 2970),
    "Reuters": (["view1", "view2", "view3", "view4"], "view5", 1182),
}
# The five tasks whose mean docs/methods/hetomtl.md gives.
FEW = ["S>dW", "D>sA", "D>sW", "S>gA", "Reuters"]


def domain(data, name, role, what):
    if what == "cdls":
        x, y = [data + "/office_caltech10/decaf6/cdls_amazon_DeCAF_dslr_SURF.mat#" + v for v in ("S", "S_Label")]
    elif what in ("text", "image"):
        x, y = [data + "/nuswide_text_image/multiclass_all_data.mat#" + what + v for v in ("_fea", "_gnd")]
    elif what.startswith("view"):
        x, y = [data + "/reuters_1200_5view/Reuters.mat#" + v for v in ("fea{%s}" % what[4:], "gt")]
    else:
        x = data + "/office_caltech10/" + what
        y = x.split("#")[0] + "#labels"
    few = ", labelled: {per_class: 3}" if role == "target" else ""
    return "  - {name: %s, role: %s, x: '%s', y: '%s'%s}\n" % (name, role, x, y, few)


def write(data, work, name, part, repeats, arriving):
    sources, target, rounds = TASKS[name]
    text = "task: '%s'\ngoal: stream\ndomains:\n" % name
    for i, s in enumerate(sources):
        text += domain(data, "source%d" % (i + 1), "source", s)
    text += domain(data, "target", "target", target) + "methods:\n"
    text += "  - mpa\n"
    if part != "controls":
        text += "  - omtlmc: {per_class: 20, horizon: %d}\n    as: omtlmc\n" % rounds
        text += "  - mpa: {average: yes}\n    as: average\n  - mpa: {scale: causal}\n    as: causal\n"
    text += "  - hetomtl-paper: {per_class: 20, horizon: %d}\n    as: paper\n  - hetomtl\n" % rounds
    text += "evaluate: {repeats: %d, seed: 1, controls: %s, arriving: %s}\n" % (
        repeats, "quick" if part == "controls" else "none", arriving if part == "few" else "1")
    path = "%s/%s-%s.yaml" % (work, name.replace(">", "-"), part)
    with open(path, "w") as f:
        f.write(text)
    return path


def results(path, ferry):
    out = path[:-5]
    subprocess.run([ferry, "run", path, "--out", out, "--threads", os.environ.get("FERRY_THREADS", "1"), "--quiet"],
                   check=True, stdout=open(path[:-5] + ".txt", "w"))
    return {r["name"]: r for r in json.load(open(out + "/results.json"))["results"]}


def show(all_results, arriving):
    names = ["mpa", "omtlmc", "paper", "hetomtl", "average", "causal"]
    print("%-9s" % "task" + "".join("%16s" % n for n in names) + "     mistake %% (std), labels arriving: %s" % arriving)
    for task, r in all_results.items():
        print("%-9s" % task + "".join("%9.2f (%4.2f)" % (100 * r[n]["mean"], 100 * r[n]["std"]) for n in names))
    for label, tasks in (("mean", list(all_results)), ("mean of 5", FEW)):
        if all(t in all_results for t in tasks):
            print("%-9s" % label + "".join(
                "%9.2f%7s" % (100 * statistics.mean(all_results[t][n]["mean"] for t in tasks), "") for n in names))


def controls(all_results):
    kinds = {}
    print("%-9s %-6s %10s" % ("task", "mode", "real") + "   under a control, the same repeats: mistake %")
    for task, r in all_results.items():
        for n in ("paper", "hetomtl"):
            line = "%-9s %-6s" % (task, n)
            runs = r[n]["runs"][:r[n]["verdict"]["controls"][0]["repeats"]]
            kinds.setdefault((n, "real"), []).append(statistics.mean(runs))
            line += "%10.2f" % (100 * statistics.mean(runs))
            for c in r[n]["verdict"]["controls"]:
                kinds.setdefault((n, c["control"]), []).append(c["mean"])
                line += "   %s %.2f" % (c["control"], 100 * c["mean"])
            print(line)
    for (n, c), v in kinds.items():
        print("mean of %d: %-6s %-16s %.2f" % (len(v), n, c, 100 * statistics.mean(v)))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", help="else FERRY_DATA, else data, else ../shared/data")
    p.add_argument("--ferry", default="build/release/ferry")
    p.add_argument("--out", default="build/repro/hetomtl")
    p.add_argument("--repeats", type=int, default=20)
    p.add_argument("--part", choices=["few", "controls"], default="few")
    p.add_argument("--arriving", default="0.1")
    p.add_argument("tasks", nargs="*", metavar="TASK")
    a = p.parse_args()
    data, work = os.path.abspath(a.data or where.data("office_caltech10")), os.path.abspath(a.out)
    os.makedirs(work, exist_ok=True)
    chosen = a.tasks or list(TASKS)
    done = {}
    for task in chosen:
        done[task] = results(write(data, work, task, a.part, a.repeats, a.arriving), a.ferry)
        print("done: " + task, file=sys.stderr)
    (controls(done) if a.part == "controls" else show(done, a.arriving))


main()
