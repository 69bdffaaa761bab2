"""ferry select: bridges ranked, selectors kept and used again."""
import json
import random
import sys

from harness import ferry, main, refused, tree, write


def far_task(folder, domains=6):
    """Domains in a row; each shares words only with those near it."""
    rng = random.Random(3)
    lines = ["task: far", "goal: classify", "text: {norm: l2}", "domains:"]
    for k in range(domains):
        docs = []
        for i in range(40):
            words = [("high", "low")[(i % 2) ^ (rng.random() < 0.1)] + "abcdefghijklmnopqrstuvwxyz"[3 * k + rng.randrange(10)]
                     for _ in range(6)]
            docs.append(("up", "down")[i % 2] + "\t" + " ".join(words))
        write(folder, f"d{k}.txt", "\n".join(docs) + "\n")
        role = "source" if k == 0 else "target" if k == domains - 1 else "intermediate"
        lines.append(f"  - {{name: d{k}, role: {role}, x: d{k}.txt, label: first}}")
    return write(folder, "far.yaml", "\n".join(lines) + "\n")


SETS = ["--set", "sample=20", "--set", "neighbours=4", "--set", "t=1.0"]


def test_ranks_and_keeps(folder):
    task = far_task(folder)
    r = ferry("select", task, "-o", folder + "/s.ferry", *SETS)
    assert "bridges to 'd5', 4 candidates" in r.out and "How far to trust it" in r.out, r
    assert "chains of 2" in r.out and "chains of 3" in r.out and "evidence" in r.out or "proof" in r.out, r
    assert "the selector is in" in r.err
    first = json.loads(ferry("select", task, "--json", *SETS).out)
    again = json.loads(ferry("select", task, "--json", "--selector", folder + "/s.ferry").out)
    assert first == again
    bridges = [w for w in first["ways"] if len(w["via"]) == 1]
    assert sorted(w["via"][0] for w in bridges) == ["d1", "d2", "d3", "d4"]
    assert [w["probability"] for w in bridges] == sorted((w["probability"] for w in bridges), reverse=True)
    assert all(0 <= w["features"]["distance_source_bridge"] <= 2 for w in bridges)
    assert first["trust"]["triples"] == 60 and first["trust"]["weak"] in (True, False)


def test_only_bridges(folder):
    r = ferry("select", far_task(folder), "--set", "longest=1", *SETS)
    assert "chains of" not in r.out, r


def test_seed_and_threads(folder):
    task = far_task(folder)
    one = ferry("select", task, "--json", "--seed", "7", "--threads", "1", *SETS).out
    assert one == ferry("select", task, "--json", "--seed", "7", "--threads", "3", *SETS).out
    assert one != ferry("select", task, "--json", "--seed", "8", "--threads", "1", *SETS).out


def test_refuses(folder):
    task = far_task(folder)
    before = tree(folder)
    out = folder + "/new.ferry"
    refused("select", task, "-o", out, "--set", "longest=4", says="longest = 4: expected 1, 2 or 3")
    refused("select", task, "-o", out, "--set", "neighbors=4", says="did you mean neighbours?")
    refused("select", task, "-o", out, "--set", "t=1000", says="none of the 60 triples")
    refused("select", task, "--selector", task, says="far.yaml")
    refused("select", task, "-o", out, "--set", "domains.d3.role=source", "--set", "domains.d9.role=source", says="d9")
    ferry("select", task, "-q", "-o", folder + "/s.ferry", *SETS)
    refused("select", task, "--selector", folder + "/s.ferry", "--set", "t=1", says="are those of")
    refused("predict", folder + "/s.ferry", folder + "/d0.txt", says="is no model but a selector")
    ferry("fit", task, "-m", "majority", "-o", folder + "/m.ferry", "-q")
    refused("select", task, "--selector", folder + "/m.ferry", says="is no selector")
    after = tree(folder)
    assert set(after) - set(before) == {"s.ferry", "m.ferry"}, set(after) - set(before)


if __name__ == "__main__":
    main(sys.modules[__name__])
