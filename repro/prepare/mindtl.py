"""Book-Crossing's dense part as books.csv: explicit ratings (not 0) of users with at least 8 for books with at least 3 of those that are
kept, mapped from 1..10 to 1..5.

    halves=1    also MovieLens-100k as half1.csv and half2.csv: users with odd and with even numbers"""
import csv
import io
import os

from ferry_prepare import arguments, bad, content, quoted, real

LEAST_OF_USER, LEAST_OF_ITEM = 8, 3


def read(path):
    """[(user, book, rating)] without the zeros, which are no ratings."""
    text = content(path).decode("utf-8", "replace")
    ratings = []
    for row in csv.reader(io.StringIO(text), delimiter=";"):
        if len(row) == 3 and row[2].strip().isdigit() and int(row[2]) != 0:
            ratings.append((row[0], row[1], int(row[2])))
    return ratings


def core(ratings):
    """What is left when users and books with too few ratings go, again and again."""
    while True:
        users, items = {}, {}
        for user, item, _ in ratings:
            users[user] = users.get(user, 0) + 1
            items[item] = items.get(item, 0) + 1
        kept = [r for r in ratings if users[r[0]] >= LEAST_OF_USER and items[r[1]] >= LEAST_OF_ITEM]
        if len(kept) == len(ratings):
            return kept
        ratings = kept


def halves(data):
    path = os.path.join(data, "movielens/ml-100k/u.data")
    out = [["user,item,rating"], ["user,item,rating"]]
    for number, line in enumerate(content(path).decode().splitlines(), 1):
        cells = line.split()
        if len(cells) != 4 or not cells[0].isdigit():
            bad(path, number, "expected user, item, rating and time")
        out[1 - int(cells[0]) % 2].append(",".join(cells[:3]))
    for i, lines in enumerate(out):
        with open("half%d.csv" % (i + 1), "w") as f:
            f.write("\n".join(lines) + "\n")


def main():
    args = arguments()
    if "halves=1" in args.words:
        halves(args.data)
    path = os.path.join(args.data, "bookcrossing/BX-Book-Ratings_first100k.csv.gz")
    kept = core(read(path))
    if not kept:
        bad(path, 0, "no user has %d ratings of books that %d users rated" % (LEAST_OF_USER, LEAST_OF_ITEM))
    with open("books.csv", "w") as out:
        out.write("user,item,rating\n")
        for user, item, value in kept:
            out.write("%s,%s,%s\n" % (quoted(user), quoted(item), real(1 + (value - 1) * 4 / 9)))


if __name__ == "__main__":
    main()
