"""Book-Crossing's dense part as books.csv: explicit ratings (not 0) of users with at least 8 for books with at least 3 of those that are
kept, mapped from 1..10 to 1..5."""
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


def main():
    args = arguments()
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
