"""ttl and hop on ordinary tables, pictures and embeddings: the table of docs/methods/ttl.md.

    python3 repro/ttl/features.py FERRY FOLDER...

Every FOLDER holds one folder for each case, with a task file task.yaml that compares ttl and hop. Prints the accuracy of each case, whether
ttl let its labels settle, and the means of the families (the name up to the first '-') and of all cases. Standard library only."""
import json, os, subprocess, sys


def run(ferry, folder):
    out = subprocess.run([ferry, "run", "task.yaml", "--json", "--quiet", "--controls", "none", "--jobs", "1", "--threads", "1",
                          "--force", "--out", os.path.join(folder, "out")], cwd=folder, stdout=subprocess.PIPE, check=True).stdout
    return {m["name"]: m for m in json.loads(out)["results"]}


def main(ferry, folders):
    families = {}
    for top in folders:
        for name in sorted(os.listdir(top)):
            if not os.path.isfile(os.path.join(top, name, "task.yaml")):
                continue
            ran = run(os.path.realpath(ferry), os.path.join(top, name))
            score = [100 * ran[m]["metrics"]["accuracy"]["mean"] for m in ("ttl", "hop")]
            told = ran["ttl"]["diagnostics"]
            told = told[0] if isinstance(told, list) else told
            facts = " ".join("%s %.2f" % (k, told[k]) for k in ("stable", "names", "clusters", "agreement_before", "C") if isinstance(told.get(k), (int, float)))
            print("%-14s %-20s ttl %5.1f hop %5.1f settled %-3s %s %s" % (top, name, *score, told["refined"], told.get("scale", ""), facts), flush=True)
            for key in (name.split("-")[0], "all"):
                families.setdefault(key, []).append(score)
    for key, scores in families.items():
        print("%-20s %3d cases  ttl %5.1f  hop %5.1f" % (key, len(scores), *(sum(s[i] for s in scores) / len(scores) for i in (0, 1))))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
