/* Rating triples and wide matrices. */
#include "ferry_test.h"

#include <stdio.h>

#include "data/data.h"

static ferry_data *read_text(ferry_ctx *ctx, const char *text, const char *option)
{
    ferry_opts *opts = option ? opts_of(ctx, "format=ratings", option, NULL)
                              : opts_of(ctx, "format=ratings", NULL);
    ferry_data *d = NULL;

    assert_ok(ctx, ferry_read(ctx, tmp_file("r.txt", text, -1), opts, &d));
    assert_int_equal(d->kind, FERRY_DATA_RATINGS);
    ferry_opts_free(opts);
    return d;
}

static void check(const ferry_data *d, int64_t i, const char *user, const char *item,
                  double v)
{
    const ferry_ratings *r = d->ratings;

    assert_true(i < r->n);
    assert_string_equal(ferry_i_ids_at(r->users, r->user[i]), user);
    assert_string_equal(ferry_i_ids_at(r->items, r->item[i]), item);
    assert_close(r->value[i], v, 0);
}

static void test_separators(void **state)
{
    static const char *const texts[] = {
        "1\t7\t3\t881250949\n2\t8\t4.5\t1\n",
        "userId,movieId,rating,timestamp\n1,7,3,1\n2,8,4.5,2\n",
        "1::7::3::978300760\n2::8::4.5::5\n",
        "\"User-ID\";\"ISBN\";\"Book-Rating\"\n\"1\";\"7\";\"3\"\n\"2\";\"8\";\"4.5\"\r\n",
        "user_id:token\titem_id:token\trating:float\n1\t7\t3\n2\t8\t4.5",
        "1 7 3\n\n  2   8\t4.5\n",
        "# comment\n1|7|3\n2|8|4.5\n",
        "a,b,c\n1,7,3\n2,8,4.5\n",
        "rating,item,user\n3,7,1\n4.5,8,2\n",
    };

    for (int64_t i = 0; i < FERRY_COUNT(texts); i++) {
        ferry_data *d = read_text(*state, texts[i], NULL);
        assert_int_equal(d->ratings->n, 2);
        check(d, 0, "1", "7", 3);
        check(d, 1, "2", "8", 4.5);
        assert_close(d->ratings->lo, 3, 0);
        assert_close(d->ratings->hi, 4.5, 0);
        ferry_data_free(d);
    }
}

static void test_options(void **state)
{
    ferry_data *d = read_text(*state, "1 7 3\n2 8 4\n", "header=yes");
    assert_int_equal(d->ratings->n, 1);
    ferry_data_free(d);
    d = read_text(*state, "1;7,5;3\n", "sep=semicolon");
    check(d, 0, "1", "7,5", 3);
    ferry_data_free(d);
    d = read_text(*state, "1 7 ?\n1 8 x\n2 9 5\n", "missing=x");
    assert_int_equal(d->ratings->n, 3);
    check(d, 0, "1", "7", NAN);
    check(d, 1, "1", "8", NAN);
    assert_close(d->ratings->lo, 5, 0);
    ferry_data_free(d);
    d = read_text(*state, "1 7\n2 8\n", NULL); /* pairs to be predicted */
    check(d, 1, "2", "8", NAN);
    assert_true(isnan(d->ratings->lo) && isnan(d->ratings->hi));
    ferry_data_free(d);
    /* A header of pairs, with a time or without, is no pair. */
    static const char *const headers[] = {"user,item\n1,7\n2,8\n",
                                          "item_id,User-ID\n7,1\n8,2\n",
                                          "userId,movieId,timestamp\n1,7,5\n2,8,6\n",
                                          "user_id:token\titem_id:token\n1\t7\n2\t8\n"};
    for (int64_t i = 0; i < FERRY_COUNT(headers); i++) {
        d = read_text(*state, headers[i], NULL);
        assert_int_equal(d->ratings->n, 2);
        check(d, 0, "1", "7", NAN);
        check(d, 1, "2", "8", NAN);
        ferry_data_free(d);
    }
    d = read_text(*state, "user1,item7\nuser2,item8\n", NULL);
    check(d, 0, "user1", "item7", NAN);
    ferry_data_free(d);
    d = read_text(*state, "user,item\nuser2,item8\n", "header=no");
    check(d, 0, "user", "item", NAN);
    ferry_data_free(d);
    d = read_text(*state, "\"a \"\"b\"\"\",\"c,d\",2\n\xe9,z,1\n", NULL); /* Latin-1 */
    check(d, 0, "a \"b\"", "c,d", 2);
    check(d, 1, "\xc3\xa9", "z", 1);
    ferry_data_free(d);
}

static void test_range(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const bad[] = {"range=1-5", "range=5..1", "range=1..",
                                      "range=..5", "range=3..3", "range=a..b"};
    ferry_data *d = NULL, *e = NULL;
    ferry_domain *domain = NULL;

    d = read_text(ctx, "1 7 3\n2 8 9\n2 9 -1\n2 7 ?\n", "range=0.5..5");
    check(d, 0, "1", "7", 3);
    check(d, 1, "2", "8", 5);
    check(d, 2, "2", "9", 0.5);
    check(d, 3, "2", "7", NAN);
    ferry_data_free(d);
    /* Wider than the data; and by its old name. */
    d = read_text(ctx, "1 7 3\n2 8 4\n1 7 2\n", "scale=-10..10");
    assert_ok(ctx, ferry_domain_new(ctx, "t", FERRY_TARGET, &domain));
    assert_ok(ctx, ferry_domain_add_data(ctx, domain, "r", d));
    assert_int_equal(domain->ratings->n, 2);
    assert_close(domain->ratings->lo, -10, 0);
    assert_close(domain->ratings->hi, 10, 0);
    ferry_domain_free(domain);
    ferry_data_free(d);
    for (int64_t i = 0; i < FERRY_COUNT(bad); i++) {
        ferry_opts *opts = opts_of(ctx, "format=ratings", bad[i], NULL);
        assert_fails(ctx, ferry_read(ctx, tmp_file("r.txt", "1 2 3\n", -1), opts, &e),
                     FERRY_EINVAL, "expected LEAST..GREATEST, as 1..5");
        assert_null(e);
        ferry_opts_free(opts);
    }
}

static void test_wide(void **state)
{
    ferry_data *d = read_text(*state, "1 0 2 0 5\n0.0 0 3 4 0e1\n", "missing=0");
    assert_int_equal(d->ratings->n, 5);
    assert_int_equal(ferry_i_ids_count(d->ratings->users), 2);
    assert_int_equal(ferry_i_ids_count(d->ratings->items), 5);
    check(d, 2, "1", "5", 5);
    check(d, 3, "2", "3", 3);
    ferry_data_free(d);

    d = read_text(*state, ",a,b,c,d\nu1,1,,2,\nu2,,,,4\n", NULL);
    assert_int_equal(d->ratings->n, 3);
    check(d, 0, "u1", "a", 1);
    check(d, 2, "u2", "d", 4);
    ferry_data_free(d);

    d = read_text(*state, "user,a,b\nu1,1,\nu2,,4\n", NULL); /* few items */
    assert_int_equal(d->ratings->n, 2);
    check(d, 0, "u1", "a", 1);
    check(d, 1, "u2", "b", 4);
    ferry_data_free(d);
    d = read_text(*state, "user,101,102,103,104\n7,1,,2,5\n8,,,3,\n", NULL);
    assert_int_equal(d->ratings->n, 4); /* items by number */
    check(d, 0, "7", "101", 1);
    check(d, 3, "8", "103", 3);
    ferry_data_free(d);
    d = read_text(*state, ",a,b,c\n7,1,,2\n", NULL);
    check(d, 1, "7", "c", 2);
    ferry_data_free(d);

    d = read_text(*state, "1,2,3,4,5,6\n7,8,9,1,2,3\n", "id=first");
    check(d, 0, "1", "1", 2);
    check(d, 9, "7", "5", 3);
    ferry_data_free(d);

    d = read_text(*state, "a,b,c,d,e\n1,2,,4,5\n", NULL);
    check(d, 2, "1", "d", 4);
    ferry_data_free(d);
    d = read_text(*state, "ann,1,2,3,4\nbob,1,2,3,4\n", NULL);
    check(d, 7, "bob", "4", 4);
    ferry_data_free(d);
}

static void test_broken(void **state)
{
    static const char *const cases[][2] = {
        {"1 2 3\n1 2\n", ":2: expected 3 columns, found 2"},
        {"1 2 3\n1 3 x\n", ":2: expected a finite number as rating, found \"x\""},
        {"1 2 3\n1 3 1e999\n", ":2: expected a finite number"},
        {"1 2 3\n1 3 inf\n", ":2: expected a finite number"},
        {"1,2,3\n,3,4\n", ":2: expected a user and an item"},
        {"one\n", "found one column"},
        {"# nothing\n\n", "is empty"},
        {"user,item,rating\n", "holds no rating"},
        {"1 2 3 4 5\n1 2 3 4\n", ":2: expected 5 columns, found 4"},
        {"1 2 3 4 5\n1 2 x 4 5\n", ":2: column 3: expected a finite number or a blank"},
        {"user,a,b,c,d\nu,1,x,3,4\n", ":2: column 3: expected a finite number or a blank"},
        {",a,,b,c\nu,1,2,3,4\n", ":1: column 3: expected an item's name"},
        {"user,a,b,c,d\n,1,2,3,4\n", ":2: column 1: expected a user"},
        {",a,a,b,c\nu,1,2,3,4\n", ":1: item \"a\" has two columns"},
        {"u,1,2,3,4\nu,1,2,3,4\n", ":2: user \"u\" has two rows"},
    };
    ferry_ctx *ctx = *state;
    ferry_opts *opts = opts_of(ctx, "format=ratings", NULL);
    ferry_data *d = NULL;

    for (int64_t i = 0; i < FERRY_COUNT(cases); i++) {
        const char *path = tmp_file("bad.txt", cases[i][0], -1);
        assert_fails(ctx, ferry_read(ctx, path, opts, &d), FERRY_EDATA, cases[i][1]);
        assert_null(d);
    }
    assert_fails(ctx, ferry_read(ctx, tmp_file("none.txt", "", 0), opts, &d), FERRY_EDATA,
                 "empty");
    ferry_opts_free(opts);
}

static void test_sniffed(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d = NULL;

    assert_ok(ctx, ferry_read(ctx,
                              tmp_file("u.data",
                                       "196\t242\t3\t881250949\n1\t2\t3\t881250950\n", -1),
                              NULL, &d));
    assert_string_equal(d->format, "ratings");
    ferry_data_free(d);
    assert_ok(ctx,
              ferry_read(ctx, tmp_file("ratings.csv", "userId,movieId,rating\n1,2,3\n", -1),
                         NULL, &d));
    assert_string_equal(d->format, "ratings");
    ferry_data_free(d);
}

static void test_round_trip(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_data *d =
        read_text(ctx, "user;item;rating\n\"a\tb\";x y;0.1\nc;#d;\nc;e;-3e-7\n", NULL);
    ferry_data *back = NULL;
    const char *path = tmp_path("out.ratings");

    assert_ok(ctx, ferry_write(ctx, d, path, NULL));
    assert_ok(ctx, ferry_read(ctx, path, NULL, &back));
    assert_int_equal(back->ratings->n, 3);
    check(back, 0, "a\tb", "x y", 0.1);
    check(back, 1, "c", "#d", NAN);
    check(back, 2, "c", "e", -3e-7);
    back->kind = FERRY_DATA_GRAPH;
    assert_fails(ctx, ferry_write(ctx, back, path, NULL), FERRY_EINVAL, "");
    ferry_opts *opts = opts_of(ctx, "format=ratings", NULL);
    assert_fails(ctx, ferry_write(ctx, back, path, opts), FERRY_EINVAL, "ratings only");
    ferry_opts_free(opts);
    ferry_data_free(d);
    ferry_data_free(back);
}

static ferry_status body(ferry_ctx *ctx, void *arg)
{
    ferry_data *d = NULL;
    const ferry_status st = ferry_read(ctx, arg, NULL, &d);

    if (st != FERRY_OK) assert_null(d);
    ferry_data_free(d);
    return st;
}

static void test_memory(void **state)
{
    char path[256];

    strcpy(path, tmp_file("m.ratings", "user,item,rating\na,\"b\"\"c\",2\n\xe9,d,1\n", -1));
    each_allocation_fails(*state, body, path);
    strcpy(path, tmp_file("w.ratings", ",a,b,c,d\nu1,1,,2,\nu2,,,,4\n", -1));
    each_allocation_fails(*state, body, path);
}

/* Counts as in the data sets' SOURCE.md. */
static void test_real_data(void **state)
{
    static const struct {
        const char *path, *option;
        int64_t n, users, items;
    } sets[] = {
        {"movielens/ml-100k/u.data", NULL, 100000, 943, 1682},
        {"movielens/ml-latest-small/ratings.csv", NULL, 100836, 610, 9724},
        {"bookcrossing/BX-Book-Ratings_first100k.csv.gz", NULL, 99998, 9424, 63773},
        {"netflix_sample/netflix_incomplete.txt.gz", "missing=0", 816714, 1000, 1000},
        {"netflix_sample/netflix_incomplete_new.txt.gz", "missing=0", 1111768, 1200, 1200},
    };
    ferry_ctx *ctx = *state;

    for (int64_t i = 0; i < FERRY_COUNT(sets); i++) {
        const char *dir = data_dir(sets[i].path);
        if (!dir) continue;
        ferry_opts *opts =
            sets[i].option ? opts_of(ctx, "format=ratings", sets[i].option, NULL) : NULL;
        char path[4096];
        ferry_data *d = NULL;
        snprintf(path, sizeof path, "%s/%s", dir, sets[i].path);
        assert_ok(ctx, ferry_read(ctx, path, opts, &d));
        assert_string_equal(d->format, "ratings");
        assert_int_equal(d->ratings->n, sets[i].n);
        assert_int_equal(ferry_i_ids_count(d->ratings->users), sets[i].users);
        assert_int_equal(ferry_i_ids_count(d->ratings->items), sets[i].items);
        ferry_data_free(d);
        ferry_opts_free(opts);
    }
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {
        T(test_separators), T(test_options), T(test_range),
        T(test_wide),       T(test_broken),  T(test_sniffed),
        T(test_round_trip), T(test_memory),  T(test_real_data)};
    return cmocka_run_group_tests_name("ratings_file", tests, NULL, NULL);
}
