"""Credit (Statlog) and concrete as CSV: features under names of their own, the last column to be predicted.

Which class of Australian credit means approval is not known: the larger classes of both sets go together."""
import os
import re

from ferry_prepare import arguments, bad, content

# from, to, letter of the features' names, a header line?, first column, features, label's column and name, the class "good"
FILES = [
    ("statlog/german.data-numeric", "german.csv", "g", False, 0, 24, 24, "class", "1"),
    ("statlog/australian.dat", "australian.csv", "a", False, 0, 14, 14, "class", "0"),
    ("concrete/Concrete_Data.csv", "strength.csv", "c", True, 0, 8, 8, "strength", None),
    ("concrete/slump_test.data", "flow.csv", "s", True, 1, 7, 9, "flow", None),
]
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$")


def rows(path, header):
    """Cells between blanks and commas, with the line's number."""
    for number, line in enumerate(content(path).decode("utf-8", "replace").split("\n"), 1):
        cells = [c for c in re.split("[ \t\r,]+", line) if c]
        if cells and not (number == 1 and header):
            yield number, cells


def main():
    args = arguments()
    for name, to, letter, header, first, features, label, label_name, good in FILES:
        path = os.path.join(args.data, name)
        with open(to, "w") as out:
            out.write(",".join(["%s%d" % (letter, j + 1) for j in range(features)] + [label_name]) + "\n")
            for number, cells in rows(path, header):
                if not all(NUMBER.match(c) for c in cells[first:]):
                    bad(path, number, "expected numbers")
                if len(cells) <= label:
                    bad(path, number, "expected %d columns, found %d" % (label + 1, len(cells)))
                y = cells[label] if good is None else "good" if cells[label] == good else "bad"
                out.write(",".join(cells[first:first + features] + [y]) + "\n")


if __name__ == "__main__":
    main()
