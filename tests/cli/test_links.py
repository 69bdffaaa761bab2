"""Which views are the same thing, as a newcomer meets it: x: instead of views:, the sentence with the line to add,
and where it is said what was taken for the same."""
import sys

from harness import ferry, main, parses, read, small_task, write

BRIDGE = ["hop", "latentmap", "cotransfer", "ttl", "triplex"]
SET = ["--set", "evaluate.repeats=1", "--set", "evaluate.controls=none"]


def x_instead_of_views(task):
    """The same task with `x: FILE` for the domains that have one view."""
    text = read(task)
    for view, file in (("a", "source.csv"), ("b", "target.csv")):
        text = text.replace(f"    views:\n      - {{name: {view}, x: {file}}}\n", f"    x: {file}\n")
    assert text.count("    x: ") == 2
    return text


def scores(folder, task, name):
    r = ferry("run", task, "-o", f"{folder}/{name}", *SET)
    d = parses(read(folder, name, "results.json"))
    return {m["name"]: m["mean"] for m in d["results"]}, r


def test_x_links_as_views_do(folder):
    task = small_task(folder)
    short = write(folder, "task/short.yaml", x_instead_of_views(task))
    was, _ = scores(folder, task, "was")
    now, r = scores(folder, short, "now")
    assert set(BRIDGE) <= set(was) and was == now, (was, now)
    links = "target.x = bridge.b by 8 feature names; bridge.a = source.x by 12 feature names"
    assert f"ferry: the same features: {links}\n" in r.err, r
    assert f"\nthe same features: {links}\n" in ferry("advise", short).out
    assert parses(ferry("advise", short, "--json").out)["links"] == links


def test_the_line_to_add(folder):
    task = small_task(folder)
    text = x_instead_of_views(task)
    lines = read(folder, "task/bridge_a.csv").split("\n")
    lines[0] = lines[0].replace("a", "z")  # other names for the same columns
    write(folder, "task/bridge_a.csv", "\n".join(lines))
    write(folder, "task/off.yaml", text)
    ferry("run", folder + "/task/off.yaml", "-o", folder + "/off", *SET)
    r = ferry("explain", folder + "/off")
    words = " ".join(r.out.split())
    for m in BRIDGE:
        assert f"{m} needs features that lead from a source to target 'target'; 'source' shares none with 'bridge': if " \
            "view 'a' of 'bridge' has the 12 features of view 'x' of 'source', add same_as: source.x to it" in words, r
    write(folder, "task/on.yaml", text.replace("{name: a, x: bridge_a.csv}", "{name: a, x: bridge_a.csv, same_as: source.x}"))
    was, _ = scores(folder, folder + "/task/on.yaml", "on")
    assert set(BRIDGE) <= set(was), was
    # a baseline that wants the source's features says the same
    write(folder, "task/pool.yaml", text + "methods: [{svm: {train: both}}, majority]\n")
    ferry("run", folder + "/task/pool.yaml", "-o", folder + "/pool", *SET)
    r = ferry("explain", folder + "/pool")
    assert "svm needs features that source 'source' (12) and target 'target' (8) share; if a view of 'target' has features " \
        "of 'source', give both the same names of features, or add same_as: source.x to it" in " ".join(r.out.split()), r


def test_by_width_is_a_warning(folder):
    rows = [",".join(str((7 * i + 3 * j) % 5 + i % 2) for j in range(4)) + f",{'pq'[i % 2]}" for i in range(20)]
    write(folder, "s.csv", "\n".join(rows) + "\n")
    write(folder, "t.csv", "\n".join(reversed(rows)) + "\n")
    task = write(folder, "t.yaml", """task: t
goal: classify
domains:
  - {name: s, role: source, x: s.csv, label: last}
  - {name: t, role: target, x: t.csv, label: last, labelled: 6}
methods: [{svm: {train: both}}]
evaluate: {repeats: 1}
""")
    r = ferry("run", task, "-o", folder + "/o")
    assert "s.x and t.x are taken for the same 4 features" in r.err and "same_as: none" in r.err, r
    assert "the same features: t.x = s.x by 4 columns without names" in r.err, r
    write(folder, "t.yaml", read(task).replace("label: last, labelled", "label: last, same_as: none, labelled"))
    r = ferry("run", task, "-o", folder + "/o", code=2)
    assert "taken for the same" not in r.err and "add same_as: s.x to it" in r.err, r


main(sys.modules[__name__])
