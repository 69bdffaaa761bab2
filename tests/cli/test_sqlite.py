"""Tables out of SQLite databases: what a statement gives reads as the CSV file that it would be."""
import csv
import os
import random
import sqlite3
import sys

from harness import ferry, main, parses, read, refused, write

HEAD = ["id", "f1", "f2", "colour", "kind"]


def people(n=60):
    """Missing cells, texts with commas, quotes and line ends, whole numbers, and numbers with all digits."""
    r = random.Random(1)
    out = []
    for i in range(n):
        x = r.gauss(2 * (i % 2), 1)
        out.append([f"p,{i}" if i % 5 else f'p"{i}', x, None if i % 7 == 0 else r.randrange(9), ["red", "deep\nred", "a;b"][i % 3], "ab"[i % 2]])
    return out


def database(folder, name="shop.db"):
    db = sqlite3.connect(f"{folder}/{name}")
    db.execute("CREATE TABLE people (id TEXT, f1 REAL, f2 INTEGER, colour TEXT, kind TEXT)")
    db.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?)", people())
    db.execute("CREATE TABLE knows (a TEXT, b TEXT)")
    db.executemany("INSERT INTO knows VALUES (?, ?)", [(people()[i][0], people()[i + 2][0]) for i in range(58)])
    db.execute("CREATE TABLE stars (who TEXT, what TEXT, n REAL)")
    db.executemany("INSERT INTO stars VALUES (?, ?, ?)", [(f"u{k % 9}", f"i{k % 7}", k % 5 + 0.5) for k in range(63)])
    db.execute("CREATE TABLE pictures (id TEXT, x BLOB)")
    db.execute("INSERT INTO pictures VALUES ('a', x'0001')")
    db.commit()
    db.close()


def as_csv(folder):
    with open(folder + "/people.csv", "w", newline="", encoding="utf-8") as f:
        out = csv.writer(f, quoting=csv.QUOTE_NONNUMERIC)
        out.writerow(HEAD)
        out.writerows([["" if v is None else v for v in row] for row in people()])


def task(folder, x, more=""):
    return write(folder, "task.yaml", f"""task: t
goal: classify
domains:
  - name: t
    role: target
    x: {x}
    id: id
    label: kind
    labelled: 20
{more}methods: [logreg]
""")


def test_as_csv(folder):
    """A statement, a table and the CSV file of it: the same model, the same predictions; also of the model on other rows."""
    database(folder)
    as_csv(folder)
    out = []
    for x in ("people.csv", "shop.db#people", "shop.db#SELECT * FROM people", "shop.db#SELECT id, f1, f2, colour, kind FROM people ORDER BY rowid;"):
        ferry("fit", task(folder, x), "-m", "logreg", "-o", folder + "/m.ferry")
        new = x.replace("shop.db", folder + "/shop.db") if "#" in x else folder + "/people.csv"
        out.append(ferry("predict", folder + "/m.ferry", new).out)
    assert out[0].count("\n") == 61 and all(o == out[0] for o in out), [a for a in zip(*(o.splitlines() for o in out)) if len(set(a)) > 1][:3]
    found = parses(ferry("inspect", folder + "/shop.db#SELECT id, f1, kind FROM people WHERE f2 > 3", "--json", "--set", "id=id", "--set", "label=kind").out)
    assert found["rows"] == sum(1 for p in people() if (p[2] or 0) > 3) and found["columns"] == 1, found
    ferry("convert", folder + "/shop.db#people", folder + "/again.csv", "--set", "id=id", "--set", "label=kind")
    assert read(folder, "again.csv").startswith("id,")


def test_header_of_texts(folder):
    """The first line has the names, also where all cells are texts or all are numbers."""
    db = sqlite3.connect(folder + "/t.db")
    db.execute('CREATE TABLE n ("1" REAL, "2" REAL)')
    db.executemany("INSERT INTO n VALUES (?, ?)", [(k, -k) for k in range(20)])
    db.execute('CREATE TABLE "odd ""name" (a TEXT)')
    db.commit()
    db.close()
    found = parses(ferry("inspect", folder + "/t.db#n", "--json").out)
    assert found["rows"] == 20 and found["columns"] == 2, found
    refused("inspect", folder + "/t.db#SELECT * FROM \"odd \"\"name\"", says="no instances, only a header")


def test_graphs_and_ratings(folder):
    database(folder)
    ferry("run", task(folder, "shop.db#people", "    graphs: [{name: knows, edges: 'shop.db#SELECT a, b FROM knows'}]\n"), "--set", "evaluate.repeats=1",
          "-o", folder + "/out")
    t = write(folder, "stars.yaml", "task: t\ngoal: rate\ndomains:\n  - {name: t, role: target, ratings: 'shop.db#SELECT who, what, n FROM stars', labelled: 0.5}\nmethods: [mf]\n")
    ferry("run", t, "--set", "evaluate.repeats=1", "-o", folder + "/rated")


def test_refused(folder):
    database(folder)
    db = folder + "/shop.db"
    refused("inspect", db, says="a SQLite database: say which rows to read, as in")
    refused("inspect", db + "#nobody", says="no such table: nobody")
    refused("inspect", db + "#SELECT pay FROM people", says="no such column: pay")
    refused("inspect", db + "#SELEC * FROM people", says="syntax error")
    refused("inspect", db + "#SELECT * FROM people; DROP TABLE people", says="expected one statement")
    refused("inspect", db + "#-- nothing", says="expected one statement")
    for change in ("DELETE FROM people", "DROP TABLE people", "CREATE TABLE t (a)", "ATTACH 'other.db' AS o", "PRAGMA user_version = 3", "DELETE FROM people RETURNING id"):
        refused("inspect", f"{db}#{change}", says="shop.db#")
    assert not os.path.exists(folder + "/other.db")
    assert sqlite3.connect(db).execute("SELECT count(*) FROM people").fetchone() == (60,)
    refused("inspect", db + "#pictures", says="column 'x' has a BLOB")
    with open(db, "rb") as f:
        whole = f.read()
    with open(folder + "/cut.db", "wb") as f:
        f.write(whole[:200])
    refused("inspect", folder + "/cut.db#people", says="cut.db#people: ")
    with open(folder + "/bad.db", "wb") as f:
        f.write(whole[:100] + bytes(len(whole) - 100))
    refused("inspect", folder + "/bad.db#people", says="bad.db#people: ")


if __name__ == "__main__":
    main(sys.modules[__name__])
