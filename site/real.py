"""The real data sets of the gallery: real.yaml's list is run as it is, and what comes out is kept in real.json, whatever it is.

    python3 site/real.py FERRY [NAME...]      run all, or these (the others keep what they had)

gallery.py makes a page of it. The list was written before any of it was run; a task that fails is kept as failed. Public data sets are
looked for as everywhere (FERRY_DATA, data, ../shared/data).
"""
import json
import os
import resource
import subprocess
import sys
import tempfile

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "repro"))
import where  # noqa: E402

KEPT = os.path.join(HERE, "real.json")


def listed():
    with open(os.path.join(HERE, "real.yaml"), encoding="utf-8") as f:
        return yaml.safe_load(f)


def kept():
    """{name: what came out}."""
    if not os.path.exists(KEPT):
        return {}
    with open(KEPT, encoding="utf-8") as f:
        return json.load(f)


def prepare(e, folder, env):
    """The folder of a task, as the list says; data sets are linked under `data`."""
    os.makedirs(os.path.join(folder, "data"))
    for name in e.get("sets", []):
        os.symlink(os.path.join(where.data(name), name), os.path.join(folder, "data", name))
    if not e.get("prepare", "").startswith("ferry gen"):
        os.mkdir(os.path.join(folder, e["name"]))
    if e.get("prepare"):
        subprocess.run(["sh", "-eu", "-c", e["prepare"]], cwd=folder, env=env, check=True, capture_output=True, text=True)
    if e.get("task"):
        with open(os.path.join(folder, e["name"], "task.yaml"), "w", encoding="utf-8") as f:
            f.write(e["task"])


def run(ferry, e):
    """What `ferry run` prints of an entry of the list, the answer's fields and the processor's seconds."""
    env = dict(os.environ, PATH=os.path.dirname(os.path.abspath(ferry)) + os.pathsep + os.environ["PATH"])
    version = subprocess.run([ferry, "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]
    with tempfile.TemporaryDirectory() as folder:
        prepare(e, folder, env)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        got = subprocess.run(["ferry", "run", e["name"] + "/task.yaml", "-q", "-o", "results"], cwd=folder, env=env, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if got.returncode:
            return {"ferry": version, "failed": got.stderr.strip().replace(folder + "/", "")}
        with open(os.path.join(folder, "results", "results.json"), encoding="utf-8") as f:
            d = json.load(f)
    a = d["answer"]
    return {"ferry": version, "seconds": round(seconds, 1), "printed": got.stdout.rstrip(),
            **{k: a[k] for k in ("verdict", "use", "expect", "source", "value", "value_without", "worth", "worth_low", "worth_high")},
            "verdicts": {r["name"]: r["verdict"]["verdict"] for r in d["results"] if r["verdict"]}}


def main():
    names = sys.argv[2:]
    found = kept()
    for e in listed():
        if names and e["name"] not in names:
            continue
        found[e["name"]] = run(sys.argv[1], e)
        r = found[e["name"]]
        print("%s: %s" % (e["name"], r.get("failed") or r["verdict"] + ": " + r["source"]), flush=True)
        text = json.dumps({x["name"]: found[x["name"]] for x in listed() if x["name"] in found}, indent=1, ensure_ascii=False)
        with open(KEPT + ".new", "w", encoding="utf-8") as f:
            f.write(text + "\n")
        os.replace(KEPT + ".new", KEPT)


if __name__ == "__main__":
    main()
