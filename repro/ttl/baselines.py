#!/usr/bin/env python3
"""The baselines of transitive transfer on the paper's data: 20 Newsgroups, Amazon reviews, NUS-WIDE.

usage: repro/ttl/baselines.py [--ferry PATH] [--data DIR] [--out DIR] news|amazon|images [--seeds 100,101] [--methods a,b]

Every run is one task file that a user could have written, from the files as they are distributed, and one call of
`ferry run`. Prints one line a run and the table of means (accuracy in %). Files go to --out (default build/repro/ttl).
"""
import argparse
import json
import os
import statistics
import subprocess

# Source, intermediate and target of the paper's Table 4: (class, folder) twice each.
NEWS = {
    "rec-vs-comp": (("rec.autos", "comp.os.ms-windows.misc"), ("rec.sport.baseball", "comp.sys.mac.hardware"),
                    ("rec.sport.hockey", "comp.windows.x")),
    "rec-vs-talk": (("rec.autos", "talk.politics.guns"), ("rec.motorcycles", "talk.politics.mideast"),
                    ("rec.sport.hockey", "talk.politics.misc")),
    "rec-vs-sci": (("rec.autos", "sci.electronics"), ("rec.motorcycles", "sci.med"), ("rec.sport.hockey", "sci.space")),
    "sci-vs-comp": (("sci.electronics", "comp.graphics"), ("sci.med", "comp.os.ms-windows.misc"),
                    ("sci.space", "comp.windows.x")),
    "sci-vs-talk": (("sci.crypt", "talk.politics.guns"), ("sci.electronics", "talk.politics.mideast"),
                    ("sci.med", "talk.politics.misc")),
    "comp-vs-talk": (("comp.graphics", "talk.politics.guns"), ("comp.os.ms-windows.misc", "talk.politics.mideast"),
                     ("comp.windows.x", "talk.politics.misc")),
}
# Table 6.
AMAZON = [("music", "video", "apparel"), ("health_personal_care", "baby", "books"), ("dvd", "toys_games", "apparel"),
          ("music", "toys_games", "baby"), ("books", "camera_photo", "apparel"), ("sports_outdoors", "video", "books"),
          ("video", "baby", "camera_photo"), ("dvd", "kitchen_housewares", "baby"),
          ("electronics", "baby", "toys_games"), ("electronics", "baby", "kitchen_housewares")]
ROLES = ("source", "intermediate", "target")
METHODS = {
    "news": "[hop, kmeans-hop, latentmap, {latentmap: {mode: st}}, triplex, {triplex: {mode: st}}]",
    "amazon": "[{svm: {train: source}}, {hop: {bridge_labels: hide}, as: hop}, {kmeans-hop: {bridge_labels: hide}, as: kmeans-hop}, "
              "{triplex: {bridge_labels: hide}, as: triplex}, {triplex: {mode: st}}]",
    "images": "[{svm: {train: target}}, hop, htlic, cotransfer, {cotransfer: {mass: no}}]",
}


def news(data):
    """The six tasks; source and target keep different halves of the words, the bridge has no labels."""
    for name, triple in NEWS.items():
        one, other = name.split("-vs-")
        lines = [f"task: {name}", "goal: classify",
                 "text: {mail_headers: strip, min_len: 3, min_df: 20, stop_words: english, weight: tfidf, norm: l2}",
                 "domains:"]
        for role, (a, b), part in zip(ROLES, triple, (", part: 2/2", "", ", part: 1/2")):
            lines += [f"  - name: {role}", f"    role: {role}",
                      f"    x: {data}/20newsgroups/20news-bydate.tar.xz",
                      f"    text: {{files: {{{one}: {a}, {other}: {b}}}{part}}}" if part else
                      f"    text: {{files: [{a}, {b}]}}\n    label: none"]
        yield name, lines, "{repeats: 1"


def amazon(data):
    """Ten triples, 1500 reviews a domain, words and pairs of words; methods are not shown the bridge's labels."""
    for triple in AMAZON:
        lines = ["task: " + "-".join(triple), "goal: classify",
                 "text: {documents: lines, tokens: bigrams, min_df: 10, weight: tfidf, norm: l2, duplicates: drop}",
                 "domains:"]
        for role, domain in zip(ROLES, triple):
            lines += [f"  - name: {domain}", f"    role: {role}",
                      f"    x: {data}/amazon_sentiment/fdu-mtl.tar.xz", "    label: first",
                      f"    text: {{files: [{domain}.task.train, {domain}.task.test], sample: 1500}}"]
        yield "-".join(triple), lines, "{repeats: 1"


def images(data):
    """Text to images: every pair of classes that is there, 25 labelled images."""
    folder = f"{data}/nuswide_text_image/pairs"
    for file in sorted(os.listdir(folder)):
        at = f"{folder}/{file}"
        yield file[:-4], [
            f"task: {file[:-4]}", "goal: classify", "domains:",
            f"  - {{name: text, role: source, views: [{{name: tags, x: {at}#text_fea}}], y: {at}#text_gnd}}",
            "  - name: pairs", "    role: intermediate",
            f"    views: [{{name: tags, x: {at}#co_text_fea}}, {{name: image, x: {at}#co_image_fea}}]",
            f"  - {{name: images, role: target, views: [{{name: image, x: {at}#image_fea}}], y: {at}#image_gnd, "
            "labelled: 25}"], "{repeats: 1"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("what", choices=METHODS)
    p.add_argument("--ferry", default="build/release/ferry")
    p.add_argument("--data", default="../shared/data")
    p.add_argument("--out", default="build/repro/ttl")
    p.add_argument("--seeds", default="100,101,102,103,104,105")
    p.add_argument("--methods", help="as in a task file")
    p.add_argument("--tasks", help="only these, with commas between")
    p.add_argument("--labelled", help="images: how many labels")
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    data, got = os.path.abspath(a.data), {}
    for seed in a.seeds.split(","):
        for name, lines, evaluate in globals()[a.what](data):
            if a.tasks and name not in a.tasks.split(","):
                continue
            path = f"{a.out}/{name}.yaml"
            with open(path, "w") as f:
                f.write("\n".join([*lines, "methods: " + (a.methods or METHODS[a.what]),
                                   f"evaluate: {evaluate}, seed: {seed}}}", ""]))
            call = [a.ferry, "run", path, "-q", "--json", "--threads", "1", "--out", f"{a.out}/{name}"]
            if a.labelled:
                call += ["--set", "domains.images.labelled=" + a.labelled]
            results = json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout)
            row = {r["name"]: 100 * r["mean"] for r in results["results"] if r.get("mean") is not None}
            for method, value in row.items():
                got.setdefault(method, {}).setdefault(name, []).append(value)
            print(seed, name, " ".join(f"{m}={v:.1f}" for m, v in row.items()), flush=True)
    print()
    for method, tasks in got.items():
        means = [statistics.mean(v) for v in tasks.values()]
        cells = "  ".join(f"{t} {statistics.mean(v):.1f}±{statistics.pstdev(v):.1f}" for t, v in tasks.items()
                          if a.what == "news")
        worst = min(min(v) for v in tasks.values())
        print(f"{method}: mean {statistics.mean(means):.1f} over {len(means)} tasks, worst run {worst:.1f}  {cells}")


main()
