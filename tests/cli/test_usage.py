"""Bad usage: exit code 2, one line, nothing written. And what options mean to the parser."""
import json
import os
import sys

from harness import FERRY, ferry, main, read, refused, small_task, tree, write

import subprocess


def test_no_command(folder):
    r = ferry(code=2)
    assert r.out == "" and "ferry demo" in r.err


def test_unknown_command(folder):
    refused("rnu", says="unknown command rnu (did you mean run?)")
    refused("xyzzyplugh", says="ferry help lists them")
    refused("help", "predct", says="did you mean predict?")


def test_unknown_option(folder):
    refused("run", "--thread", "1", "x", says="unknown option --thread (did you mean --threads?)")
    refused("run", "--thread=1", "x", says="did you mean --threads?")
    refused("run", "--completely-else", says="see ferry help run")
    refused("run", "-z", says="unknown option -z")
    refused("methods", "--seed", "1", says="unknown option --seed")
    refused("--nonsense", says="unknown command --nonsense")


def test_values(folder):
    refused("run", "--seed", says="--seed needs a value: N")
    refused("run", "x", "--quiet=yes", says="--quiet takes no value")
    refused("run", "x", "--seed", "1", "--seed=2", says="--seed is given twice")
    refused("run", "x", "--set", "repeats", says="--set repeats: expected KEY=VALUE")
    refused("run", "x", "--set", "=3", says="expected KEY=VALUE")
    for bad in ("-1", "1.5", "x", "", "99999999999999999999", "9007199254740993"):
        refused("gen", "bridge", f"--seed={bad}", says="expected a whole number", cwd=folder)
    for bad in ("-1", "two", "1025"):
        refused("demo", f"--threads={bad}", says="expected a whole number, 0 .. 1024")
    refused("demo", "--engine", "warp", says="unknown engine warp")
    refused("demo", "--gpu-memory", "lots", says="--gpu-memory lots: expected a number of bytes")
    doctor = json.loads(ferry("doctor", "--json", code=None).out)
    if not next(e["works"] for e in doctor["engines"] if e["name"] == "cuda"):
        refused("demo", "--engine", "cuda", says="engine cuda needs an NVIDIA card: ")
        refused("demo", says="engine cuda needs an NVIDIA card: ", env={"FERRY_ENGINE": "cuda"})
    refused("demo", says="unknown engine warp", env={"FERRY_ENGINE": "warp"})
    assert tree(folder) == {}


def test_arguments(folder):
    refused("run", says="something is missing: ferry run TASK")
    refused("fit", "a", "b", says="unexpected argument b")
    refused("predict", "model", says="ferry predict MODEL DATA...")
    refused("convert", "a", says="ferry convert IN OUT")
    refused("inspect", says="ferry inspect FILE...")
    refused("doctor", "please", says="unexpected argument please")
    refused("fit", "task.yaml", "-o", "m", says="task.yaml: no such file")  # without -m what is recommended
    refused("fit", "task.yaml", "-m", "svm", says="-o MODEL")
    refused("methods", "smv", says="unknown method smv (did you mean svm?)")
    refused("methods", "thingamajig", says="ferry methods lists them")
    refused("methods", "--json", "--markdown", says="one of --json and --markdown")
    refused("help", "--man", "--completion", "bash", says="at a time")
    refused("help", "--completion", "fish", says="expected bash or zsh")
    refused("gen", "--out", "x", says="which generator?", cwd=folder)
    refused("gen", "brigde", says="did you mean bridge?", cwd=folder)
    assert tree(folder) == {}


def test_missing_and_bad_files(folder):
    for args in (["run", "no.yaml"], ["fit", "no.yaml", "-m", "svm", "-o", "m.ferry"], ["inspect", "no.csv"],
                 ["convert", "no.csv", "out.svm"], ["predict", "no.ferry", "no.csv"]):
        refused(*args, says=args[1], cwd=folder)
    write(folder, "bad.yaml", "task: x\ngoal: fly\n")
    refused("run", "bad.yaml", says="bad.yaml:2", cwd=folder)
    write(folder, "bad.ferry", "not a model")
    write(folder, "data.csv", "a,b\n1,2\n")
    refused("predict", "bad.ferry", "data.csv", says="bad.ferry", cwd=folder)
    write(folder, "empty.csv", "")
    refused("inspect", "empty.csv", says="empty", cwd=folder)
    refused("convert", "data.csv", "out.svm", "--format", "nosuch", says="nosuch", cwd=folder)
    refused("convert", "data.csv", "no/out.svm", says="cannot write in no", cwd=folder)
    refused("gen", "bridge", "--out", "data.csv/x", says="cannot make this folder", cwd=folder)
    refused("demo", "--out", "data.csv", says="is there and is not a folder", cwd=folder)
    refused("convert", "data.csv", "out.svm", "--set", "heder=no", says="did you mean header?", cwd=folder)
    assert sorted(tree(folder)) == ["bad.ferry", "bad.yaml", "data.csv", "empty.csv"]


def test_nothing_that_is_read_is_written_over(folder):
    """-o that is the task, its data, the model or the new data is refused before any work, and all of it is still there."""
    small_task(folder)
    task = os.path.join(folder, "task")
    data = sorted(f for f in os.listdir(task) if f.endswith((".csv", ".svm")))[-1]
    ferry("fit", "task.yaml", "-m", "svm", "-o", "m.ferry", "-q", cwd=task)
    open(task + "/empty", "w").close()
    before = tree(task)
    for to in ("task.yaml", data):
        refused("fit", "task.yaml", "-m", "svm", "-o", to, says=f"{to}: is there and is no Ferry model", cwd=task)
        refused("select", "task.yaml", "--by", "paper", "-o", to, says=f"{to}: is there and is no Ferry model", cwd=task)
    new = next(f for f in before if "target" in f)
    for to in ("m.ferry", "./" + new):
        refused("predict", "m.ferry", new, "-o", to, says=f"{to}: is what this reads", cwd=task)
        refused("predict", "m.ferry", "b=" + new, "-o", to, says=f"{to}: is what this reads", cwd=task)
    for args in (["fit", "task.yaml", "-m", "svm"], ["predict", "m.ferry", new], ["run", "task.yaml"]):
        refused(*args, "-o", "", says="found nothing", cwd=task)
    refused("fit", "task.yaml", "-m", "svm", "-o", new + "/m.ferry", says=f"{new} is a file, expected a folder", cwd=task)
    assert tree(task) == before
    ferry("fit", "task.yaml", "-m", "svm", "-o", "m.ferry", "-q", cwd=task)  # a model may take a model's place, or that of nothing
    ferry("fit", "task.yaml", "-m", "svm", "-o", "empty", "-q", cwd=task)


def test_option_forms_are_the_same(folder):
    ferry("gen", "bridge", "--out", os.path.join(folder, "a"), "--seed", "3", "--set", "source=20")
    ferry("gen", f"--out={folder}/b", "--seed=3", "--set=source=20", "bridge")
    ferry("gen", "-o", os.path.join(folder, "c"), "--seed", "3", "--set", "source=9", "--set", "source=20", "--",
          "bridge")
    assert tree(folder + "/a") == tree(folder + "/b") == tree(folder + "/c")


def test_dashes_end_the_options(folder):
    write(folder, "--json", "a,b\n1,2\n")
    r = ferry("inspect", "--format", "csv", "--", "--json", cwd=folder, code=None)
    assert "unknown option" not in r.err, r


def test_output_that_cannot_be_written(folder):
    if not os.path.exists("/dev/full"):
        return
    with open("/dev/full", "w") as full:
        p = subprocess.run([FERRY, "help"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert p.returncode == 1 and p.stderr == "ferry: cannot write the output: No space left on device\n", p


def test_closed_streams(folder):
    # Files that the command opens must not take the place of a closed stream: what it says would go into them.
    p = subprocess.run([FERRY, "help"], preexec_fn=lambda: os.close(1), stderr=subprocess.PIPE, text=True)
    assert p.returncode == 1 and p.stderr == "ferry: cannot write the output: Bad file descriptor\n", p
    data, out = write(folder, "bad.csv", "a,b\n1\n"), os.path.join(folder, "out.npy")
    p = subprocess.run([FERRY, "convert", data, out], preexec_fn=lambda: os.closerange(0, 3))
    assert p.returncode == 2 and tree(folder) == {"bad.csv": b"a,b\n1\n"}, (p, tree(folder))


def test_reader_that_goes_away(folder):
    p = subprocess.Popen([FERRY, "help", "--man"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdout.close()
    err = p.stderr.read()
    assert p.wait() == 0 and err == b"", (p.returncode, err)
    p.stderr.close()


def test_gen_overwrites_nothing(folder):
    small_task(folder)
    before = tree(folder)
    refused("gen", "bridge", "--out", os.path.join(folder, "task"), "--seed", "9", says="is there already")
    assert tree(folder) == before
    refused("gen", "bridge", "--out", os.path.join(folder, "other"), "--set", "classes=1",
            says="classes = 1 is outside [2, 1000]")
    assert tree(folder) == before


main(sys.modules[__name__])
