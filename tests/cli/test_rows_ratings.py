"""--engine mpi for ratings: every user and every item is one rank's, and the model is the one of a process alone."""
import os
import sys

from harness import ferry, main, parses, read, write
from mpi import differ, models_differ, mpirun, ranks

SETTINGS = (("bias",), ("rating-mean", "by=item"), ("mf", "solver=vb", "rank=3"), ("mf", "solver=vb-diagonal"), ("mf-als",),
            ("mf-als", "ridge=rating"), ("mindtl-paper", "order=nearest"),
            ("mindtl", "mode=paper", "starts=2"), ("mindtl",), ("stack",), ("shuffled-codebook",), ("random-codebook",), ("talmud",))


def ratings_task(folder, **sets):
    ferry("gen", "rate", "--out", folder + "/rate", *(w for k, v in sets.items() for w in ("--set", f"{k}={v}")))
    return folder + "/rate/task.yaml", folder + "/rate/target.csv"


def check(folder, task, data, counts, method, *settings):
    words = [task, "-m", method, "-q", "--threads", 1, *(w for s in settings for w in ("--set", s))]
    ferry("fit", *words, "-o", folder + "/one.ferry")
    ferry("predict", folder + "/one.ferry", data, "-o", folder + "/one.csv", "-q")
    for n in counts:
        ranks(n, "fit", *words, "-o", f"{folder}/r{n}.ferry", "--engine", "mpi")
        ferry("predict", f"{folder}/r{n}.ferry", data, "-o", f"{folder}/r{n}.csv", "-q")
        p, (m, where) = differ(folder + "/one.csv", f"{folder}/r{n}.csv"), models_differ(folder + "/one.ferry", f"{folder}/r{n}.ferry")
        print(f"    {method} {' '.join(settings)} on {n} ranks: predictions {p:.1e}, model {m:.1e}")
        assert p < 1e-9 and m < 1e-9, (method, settings, n, p, m, where)
        # what was rated is in the model, of all ranks' users
        top = [ferry("predict", f"{folder}/{m}.ferry", "--top", 3, "-q").out for m in ("one", f"r{n}")]
        assert [line.split(",")[:2] for line in top[0].splitlines()] == [line.split(",")[:2] for line in top[1].splitlines()]
        assert ferry("inspect", f"{folder}/r{n}.ferry").out.count("bytes_sent") == 1


def test_same_models(folder):
    mpirun()
    task, data = ratings_task(folder)
    for i, words in enumerate(SETTINGS):
        check(folder, task, data, (2, 3, 4) if words == ("mindtl",) else (2, 4) if i % 3 == 0 else (3,), *words)


def test_rank_without_users(folder):
    """Three users and five items for four ranks."""
    mpirun()
    ratings_task(folder)
    lines = [f"u{u},i{i},{1 + (u * 7 + i * 3) % 5}" for u in range(3) for i in range(5) if (u + i) % 4]
    data = write(folder, "few.csv", "user,item,rating\n" + "\n".join(lines) + "\n")
    task = write(folder, "few.yaml", "task: few\ngoal: rate\ndomains:\n"
                 "  - {name: films, role: source, ratings: rate/source.csv}\n"
                 f"  - {{name: books, role: target, ratings: few.csv, labelled: {len(lines)}}}\n")
    for words in (("bias",), ("mf-als", "rank=2"), ("mf", "solver=vb", "rank=2"), ("mindtl-paper",), ("mindtl",)):
        check(folder, task, data, (4,), *words)


def test_many_ratings(folder):
    """More than ranks send each other at a time."""
    mpirun()
    lines = [f"u{u},i{i},{1 + (u * 7 + i * 3 + u * i % 11) % 5}" for u in range(1500) for i in range(500) if (u * 3 + i) % 5]
    data = write(folder, "many.csv", "user,item,rating\n" + "\n".join(lines) + "\n")
    task = write(folder, "many.yaml", "task: many\ngoal: rate\ndomains:\n"
                 "  - {name: books, role: target, ratings: many.csv, labelled: 0.99}\n")
    check(folder, task, data, (2, 3), "bias")


def test_evaluated(folder):
    mpirun()
    task, _ = ratings_task(folder, repeats=2)
    task = write(folder, "rate/some.yaml", read(task) + "methods: [bias, mf-als, stack, mindtl]\n")
    words = [task, "-q", "--threads", 1, "--set", "evaluate.controls=quick"]
    ferry("run", *words, "-o", folder + "/one")
    ranks(3, "run", *words, "-o", folder + "/many", "--engine", "mpi")
    one, many = ({m["name"]: m for m in parses(read(folder, f"{d}/results.json"))["results"]} for d in ("one", "many"))
    assert sorted(one) == sorted(many) and one
    for name in os.listdir(folder + "/one/predictions"):
        assert differ(f"{folder}/one/predictions/{name}", f"{folder}/many/predictions/{name}") < 1e-9


main(sys.modules[__name__])
