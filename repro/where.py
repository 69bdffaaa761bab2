"""Where the data sets are: FERRY_DATA, else `data` (where `ferry fetch` puts them) if it has the set, else ../shared/data.

    python3 repro/where.py [SET]     prints the folder; SET is a folder or file in it
"""
import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def data(name=""):
    fetched, beside = os.path.join(TOP, "data"), os.path.normpath(os.path.join(TOP, "..", "shared", "data"))
    folder = os.environ.get("FERRY_DATA") or (fetched if os.path.exists(os.path.join(fetched, name)) else beside)
    if not os.path.exists(os.path.join(folder, name)):
        sys.exit("no %s in %s: ferry fetch gets data sets, FERRY_DATA names another folder" % (name or "data sets", folder))
    return os.path.abspath(folder)


if __name__ == "__main__":
    print(data(*sys.argv[1:2]))
