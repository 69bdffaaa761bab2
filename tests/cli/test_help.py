"""Help, version, manual page and completions, all from one table."""
import os
import re
import shutil
import subprocess
import sys

from harness import FERRY, TOP, Skip, can_preload, ferry, main, parses, read, write

COMMANDS = ["answer", "run", "advise", "rerun", "explain", "table", "report", "fit", "predict", "select", "stream", "serve", "methods", "inspect", "convert", "gen", "demo", "fetch", "reproduce", "doctor", "help",
            "version"]


def options_of(command):
    return set(re.findall(r"--[a-z][a-z-]*", ferry("help", command).out.split("Options:")[1].split("\n\n")[0]))


def test_version(folder):
    r = ferry("--version")
    assert re.fullmatch(r"ferry \d+\.\d+\.\d+\n", r.out) and r.err == "", r
    assert ferry("version").out == r.out


def test_overview(folder):
    out = ferry("help").out
    assert ferry("--help").out == out == ferry("-h").out
    assert re.findall(r"^  ferry (\w+)", out.split("To begin")[0], re.M) == COMMANDS


def test_help_of_every_command(folder):
    for c in COMMANDS:
        r = ferry("help", c)
        assert r.out.startswith(f"ferry {c}") and "Options:" in r.out and r.err == "", r
        assert ferry(c, "--help").out == r.out == ferry(c, "-h").out
        assert max(map(len, r.out.split("Options:")[0].splitlines())) <= 80


def test_help_lists_what_set_takes(folder):
    assert "evaluate.KEY" in ferry("help", "run").out and "repeats" in ferry("help", "run").out
    assert "source_features" in ferry("help", "gen").out
    assert re.search(r"^  header +auto", ferry("help", "inspect").out, re.M)


def test_help_needs_no_arguments(folder):
    ferry("predict", "--help")
    ferry("convert", "a", "b", "c", "--help")


def test_man_page(folder):
    out = ferry("help", "--man").out
    assert out.startswith(".TH FERRY 1")
    for c in COMMANDS:
        assert f".SS ferry {c}" in out
        for o in options_of(c):
            assert "\\-\\-" + o[2:].replace("-", "\\-") in out, o
    for part in ("NAME", "SYNOPSIS", "EXIT STATUS", "ENVIRONMENT", "EXAMPLES"):
        assert f".SH {part}\n" in out


def test_man_page_formats(folder):
    if not shutil.which("groff"):
        raise Skip("groff is not here")
    page = ferry("help", "--man").out
    p = subprocess.run(["groff", "-man", "-ww", "-Tutf8"], input=page, capture_output=True, text=True)
    assert p.returncode == 0 and p.stderr == "" and "FERRY(1)" in p.stdout, p


def test_man_finds_it(folder):
    if not shutil.which("man"):
        raise Skip("man is not here")
    path = write(folder, "ferry.1", ferry("help", "--man").out)
    p = subprocess.run(["man", "-l", path], capture_output=True, text=True, env=dict(os.environ, MANPAGER="cat"))
    assert p.returncode == 0 and "ferry run TASK" in p.stdout, p


def complete(folder, line):
    """What bash would offer at the end of a line."""
    write(folder, "ferry.bash", ferry("help", "--completion", "bash").out)
    words = line.split(" ")
    script = (f"source {folder}/ferry.bash; COMP_WORDS=({' '.join(repr(w) for w in words)}); "
              f"COMP_CWORD={len(words) - 1}; _ferry; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    p = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=folder)
    assert p.returncode == 0 and p.stderr == "", p
    return p.stdout.split()


def test_bash_completion(folder):
    if not shutil.which("bash"):
        raise Skip("bash is not here")
    os.mkdir(os.path.join(folder, "somewhere"))
    assert set(complete(folder, "ferry ")) == set(COMMANDS) | {"--help", "--version"}
    assert complete(folder, "ferry pre") == ["predict"]
    for c in COMMANDS:
        assert set(o for o in complete(folder, f"ferry {c} -") if o.startswith("--")) == options_of(c)
    assert "svm" in complete(folder, "ferry fit task.yaml -m s")
    assert complete(folder, "ferry gen b") == ["bridge"]
    assert "hemap-figure19" in complete(folder, "ferry reproduce hemap")
    assert complete(folder, "ferry help --completion z") == ["zsh"]
    assert set(complete(folder, "ferry run x --engine ")) == {"host", "ref", "mpi", "cuda", "auto"}
    assert "svmlight" in complete(folder, "ferry convert a b --to s")
    assert complete(folder, "ferry run --out some") == ["somewhere"]
    assert complete(folder, "ferry run ") == []  # file names
    path = os.path.join(folder, "ferry.bash")
    p = subprocess.run(["bash", "-n", path], capture_output=True, text=True)
    assert p.returncode == 0 and p.stderr == "", p


def test_zsh_completion(folder):
    out = ferry("help", "--completion", "zsh").out
    assert out.startswith("#compdef ferry\n")
    for c in COMMANDS:
        assert f"    {c})\n" in out and f"'{c}:" in out
    if not shutil.which("zsh"):
        raise Skip("zsh is not here to check the syntax")
    path = write(folder, "_ferry", out)
    p = subprocess.run(["zsh", "-n", path], capture_output=True, text=True)
    assert p.returncode == 0 and p.stderr == "", p


def test_methods(folder):
    listing = ferry("methods").out
    names = [line.split()[0] for line in listing.splitlines()]
    assert {"majority", "svm", "logreg", "ridge", "knn"} <= set(names)
    assert names == sorted(names)
    every = parses(ferry("methods", "--json").out)
    assert [m["name"] for m in every] == names
    for m in every:
        text = ferry("methods", m["name"]).out
        assert text.startswith(f"{m['name']}: {m['summary']}\n")
        for o in m["options"]:
            assert re.search(rf"^  {re.escape(o['name'])} .*{re.escape(o['help'])}$", text, re.M), (o, text)
        assert parses(ferry("methods", m["name"], "--json").out) == m


def test_methods_markdown(folder):
    out = ferry("methods", "--markdown").out
    every = parses(ferry("methods", "--json").out)
    assert out.startswith("# ")
    for m in every:
        assert f"\n## {m['name']}\n" in out
        assert ferry("methods", m["name"], "--markdown").out in out
    rows = [line for line in out.splitlines() if line.startswith("| `")]
    assert len(rows) == sum(len(m["options"]) for m in every)
    assert all(len(re.findall(r"(?<!\\)\|", r)) == 5 for r in rows)


def test_docs_are_up_to_date(folder):
    for name, args in (("command.md", ["help", "--markdown"]), ("options.md", ["methods", "--markdown"])):
        assert read(TOP, "docs", name) == ferry(*args).out, f"docs/{name} is old: run make docs"


def test_doctor(folder):
    r = ferry("doctor", code=None)
    j = ferry("doctor", "--json", code=None)
    d = parses(j.out)
    assert r.code == j.code == (1 if d["problems"] else 0)
    for lib in ("OpenBLAS", "LAPACK", "matio", "HDF5", "libyaml", "jansson", "zlib", "libarchive", "utf8proc",
                "xxHash"):
        assert re.search(r"\d", d["libraries"][lib]), (lib, d["libraries"])
        assert d["libraries"][lib] in r.out
    works = {e["name"]: e["works"] for e in d["engines"]}
    card = works.pop("cuda")
    assert works == {"host": True, "ref": True, "mpi": True, "auto": True}
    about = next(e["summary"] for e in d["engines"] if e["name"] == "cuda")
    assert "GB" in about if card else about.startswith("needs an NVIDIA card: "), about
    assert d["memory"]["total"] > 0 and "threads" in r.out
    assert ("No problems found." in r.out) == (not d["problems"])


def test_doctor_finds_problems(folder):
    r = ferry("doctor", "--threads", "1024", code=1)
    assert "Problem: 1024 threads on" in r.out
    # kernels that the user named are left alone and reported
    if parses(ferry("doctor", "--json", code=None).out)["blas"]["wanted"] in ("?", "Prescott"):
        raise Skip("the kernels that fit this CPU are not known")
    r = ferry("doctor", code=1, env={"OPENBLAS_CORETYPE": "Prescott"})
    assert "Problem: OpenBLAS runs kernels for Prescott, this CPU wants" in r.out


def starts(folder, *args, **env):
    """Run with an OpenBLAS that picks the wrong kernels; gives the result and how often the program started."""
    path = os.path.join(folder, "starts")
    write(folder, "starts", "")
    env = {"OMP_WAIT_POLICY": "passive", "OPENBLAS_THREAD_TIMEOUT": "10", "FERRY_TEST_STARTS": path, "LD_PRELOAD": os.environ["FERRY_PRELOAD"], **env}
    env = {**{k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}, **env}
    env["ASAN_OPTIONS"] = "verify_asan_link_order=0:" + env.get("ASAN_OPTIONS", "")
    p = subprocess.run([FERRY, *args], env=env, capture_output=True, text=True)
    return p, read(path).count("started")


def test_the_command_chooses_the_kernels(folder):
    can_preload()
    p, n = starts(folder, "doctor", "--json")
    blas = parses(p.stdout)["blas"]
    if blas["wanted"] == "?":
        raise Skip("the kernels that fit this CPU are not known")
    assert n == 2 and blas["core"] == blas["wanted"] != "Prescott", (n, blas, p)
    p, n = starts(folder, "doctor", "--json", OPENBLAS_CORETYPE="Prescott")  # the user's choice is left alone
    assert n == 1 and parses(p.stdout)["blas"]["core"] == "Prescott", (n, p)
    for args in (["--version"], ["help"], ["demo", "--help"], ["demo", "--wrong"], ["methods"]):
        p, n = starts(folder, *args)
        assert n == 1, args
    p, n = starts(folder, "demo", "bridge", "--set", "repeats=1", "--set", "source=20", "--set", "bridge=20", "-q")
    assert n == 2 and p.returncode == 0 and p.stderr == "" and "svm" in p.stdout, p
    # threads that spin take the cores of others: a second start, unless the user has said how they wait
    p, n = starts(folder, "doctor", OPENBLAS_CORETYPE="Prescott", OMP_WAIT_POLICY="active", OPENBLAS_THREAD_TIMEOUT="26")
    assert n == 1, (n, p)


def test_without_blas(folder):
    """Whatever computes says what is missing; the rest works."""
    can_preload()
    need = "computing needs the library OpenBLAS (Debian: libopenblas0): libopenblas.so.0 has no openblas_get_corename"
    for args, code in ((["--version"], 0), (["methods"], 0), (["demo", "bridge", "--set", "repeats=1"], 2), (["doctor"], 2)):
        p, _ = starts(folder, *args, FERRY_TEST_NO_BLAS="1")
        assert p.returncode == code and (need in p.stderr) == (code != 0), (args, p)


main(sys.modules[__name__])
