#!/usr/bin/env python3
"""HetOMTL-CDSPP's streams on Office-Caltech, NUS-WIDE and Reuters beside our own prototype (shared/methods/hetomtl.md).

  repro/hetomtl/run.py [--data DIR] [--ferry PROGRAM] [--out DIR] [--repeats 20] [--part tasks|few|controls] [TASK ...]

The protocol is the paper's: 20 labelled rows a class from each source (DSLR has fewer of some), 3 a class of the target offline,
the rest of the target in a random order, all drawn anew in each repeat.
  tasks     all labels arrive: mpa, omtlmc, hetomtl mode=paper and mode=ferry, and the experts that mpa can be
  few       10 % of the labels arrive
  controls  sources of noise, and sources with shuffled labels (4 draws on the first 3 repeats)
Reuters is read from a cell array, which needs scipy.
"""
import argparse, json, os, statistics, subprocess, sys

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
# The page's columns: mean (std) of 20 seeds for mpa, omtlmc and mode paper; of 6 seeds for mode ferry.
PAGE = {
    "S>dW": {"mpa": (4.68, .62), "omtlmc": (9.02, 2.54), "paper": (3.68, .82), "ferry": (2.52, None)},
    "S>dD": {"mpa": (6.30, 1.08), "omtlmc": (6.30, 1.96), "paper": (4.65, 1.08), "ferry": (3.81, None)},
    "D>sA": {"mpa": (37.62, .97), "omtlmc": (57.10, 2.33), "paper": (36.91, 1.11), "ferry": (30.91, None)},
    "D>sW": {"mpa": (30.81, 2.04), "omtlmc": (41.32, 3.82), "paper": (28.13, 2.06), "ferry": (20.00, None)},
    "D>sD": {"mpa": (41.61, 2.36), "omtlmc": (43.35, 2.92), "paper": (38.23, 2.38), "ferry": (32.28, None)},
    "D>sC": {"mpa": (54.78, 1.48), "omtlmc": (67.41, 1.96), "paper": (54.28, 1.29), "ferry": (47.48, None)},
    "S>gA": {"mpa": (5.51, .50), "omtlmc": (6.05, .71), "paper": (5.10, .38), "ferry": (4.01, None)},
    "S>gW": {"mpa": (4.13, .82), "omtlmc": (3.70, 1.74), "paper": (2.62, .90), "ferry": (1.32, None)},
    "NUS": {"mpa": (75.90, .67), "omtlmc": (83.39, 1.10), "paper": (75.78, .70), "ferry": (68.15, None)},
    "Reuters": {"mpa": (32.72, 1.08), "omtlmc": (56.56, 3.64), "paper": (32.46, 1.00), "ferry": (30.89, None)},
}
# The page does not name its five tasks with few labels; these are the ones whose numbers with all labels are the page's.
FEW = ["S>dW", "D>sA", "D>sW", "S>gA", "Reuters"]


def domain(data, work, name, role, what):
    if what == "cdls":
        x, y = [data + "/office_caltech10/decaf6/cdls_amazon_DeCAF_dslr_SURF.mat#" + v for v in ("S", "S_Label")]
    elif what in ("text", "image"):
        x, y = [data + "/nuswide_text_image/multiclass_all_data.mat#" + what + v for v in ("_fea", "_gnd")]
    elif what.startswith("view"):
        x, y = work + "/reuters-%s.mtx" % what, work + "/reuters.labels.npy"
    else:
        x = data + "/office_caltech10/" + what
        y = x.split("#")[0] + "#labels"
    few = ", labelled: {per_class: 3}" if role == "target" else ""
    return "  - {name: %s, role: %s, x: '%s', y: '%s'%s}\n" % (name, role, x, y, few)


def reuters(data, work):
    """The five views as Matrix Market files."""
    import numpy, scipy.io, scipy.sparse
    m = scipy.io.loadmat(data + "/reuters_1200_5view/Reuters.mat")
    for i, x in enumerate(m["fea"].ravel()):
        scipy.io.mmwrite(work + "/reuters-view%d.mtx" % (i + 1), scipy.sparse.coo_matrix(x))
    numpy.save(work + "/reuters.labels.npy", m["gt"].ravel().astype("int64"))


def write(data, work, name, part, repeats):
    sources, target, rounds = TASKS[name]
    text = "task: '%s'\ngoal: stream\ndomains:\n" % name
    for i, s in enumerate(sources):
        text += domain(data, work, "source%d" % (i + 1), "source", s)
    text += domain(data, work, "target", "target", target) + "methods:\n"
    text += "  - mpa\n"
    if part != "controls":
        text += "  - omtlmc: {per_class: 20, horizon: %d}\n    as: omtlmc\n" % rounds
        text += "  - mpa: {average: yes}\n    as: average\n  - mpa: {scale: causal}\n    as: causal\n"
    text += "  - hetomtl: {mode: paper, per_class: 20, horizon: %d}\n    as: paper\n" % rounds
    text += "  - hetomtl: {per_class: 20}\n    as: ferry\n"
    text += "evaluate: {repeats: %d, seed: 1, controls: %s, arriving: %s}\n" % (
        repeats, "quick" if part == "controls" else "none", "0.1" if part == "few" else "1")
    path = "%s/%s-%s.yaml" % (work, name.replace(">", "-"), part)
    with open(path, "w") as f:
        f.write(text)
    return path


def results(path, ferry):
    out = path[:-5]
    subprocess.run([ferry, "run", path, "--out", out, "--threads", os.environ.get("FERRY_THREADS", "1"), "--quiet"],
                   check=True, stdout=open(path[:-5] + ".txt", "w"))
    return {r["name"]: r for r in json.load(open(out + "/results.json"))["results"]}


def show(part, all_results):
    names = ["mpa", "omtlmc", "paper", "ferry", "average", "causal"]
    print("%-9s" % "task" + "".join("%24s" % n for n in names) + "     mistake %: ours (std), page (std)")
    for task, r in all_results.items():
        line = "%-9s" % task
        for n in names:
            page = PAGE[task].get(n) if part == "tasks" else None
            line += "%8.2f (%4.2f)" % (100 * r[n]["mean"], 100 * r[n]["std"])
            line += "%6.2f%-4s" % (page[0], "" if page[1] is None else "") if page else " " * 10
        print(line)
    for label, tasks in (("mean", list(all_results)), ("mean of 5", FEW)):
        if all(t in all_results for t in tasks) and (label == "mean" or part == "few"):
            print("%-9s" % label + "".join(
                "%8.2f%16s" % (100 * statistics.mean(all_results[t][n]["mean"] for t in tasks), "") for n in names))
    if part != "tasks":
        return
    for n in ("mpa", "omtlmc", "paper"):
        off = [t for t, r in all_results.items() if abs(100 * r[n]["mean"] - PAGE[t][n][0]) > PAGE[t][n][1]]
        print("%s: within one standard deviation of the page on %d of %d%s" % (
            n, len(all_results) - len(off), len(all_results), ", not on " + ", ".join(off) if off else ""))
    worse = [t for t, r in all_results.items() if r["ferry"]["mean"] >= r["paper"]["mean"]]
    print("mode ferry better than mode paper on %d of %d" % (len(all_results) - len(worse), len(all_results)))


def controls(all_results):
    kinds = {}
    print("%-9s %-6s %10s" % ("task", "mode", "real") + "   under a control, the same repeats: mistake %")
    for task, r in all_results.items():
        for n in ("paper", "ferry"):
            line = "%-9s %-6s" % (task, n)
            runs = r[n]["runs"][:3]
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
    p.add_argument("--data", default=os.environ.get("FERRY_DATA", "../shared/data"))
    p.add_argument("--ferry", default="build/release/ferry")
    p.add_argument("--out", default="build/repro/hetomtl")
    p.add_argument("--repeats", type=int, default=20)
    p.add_argument("--part", choices=["tasks", "few", "controls"], default="tasks")
    p.add_argument("tasks", nargs="*", metavar="TASK")
    a = p.parse_args()
    data, work = os.path.abspath(a.data), os.path.abspath(a.out)
    os.makedirs(work, exist_ok=True)
    chosen = a.tasks or list(TASKS)
    if "Reuters" in chosen:
        reuters(data, work)
    done = {}
    for task in chosen:
        done[task] = results(write(data, work, task, a.part, a.repeats), a.ferry)
        print("done: " + task, file=sys.stderr)
    (controls(done) if a.part == "controls" else show(a.part, done))


main()
