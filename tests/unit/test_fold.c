/* Models of ratings: users and items that come later, and the best items of a user. */
#include "ferry_test.h"
#include "learn/ratings.h"
#include "methods/frame.h"
#include "small_task.h"

/* 30 users x 24 items; about half of the pairs are rated, by two tastes and two kinds. */
enum { U = 30, I = 24 };

static bool rated(int u, int i)
{
    return ((unsigned)(u * I + i + 1) * 2654435761u >> 16) % 9 < 5;
}

static double rating(int u, int i)
{
    const double x = 3 + (u % 3 == i % 2 ? 1.3 : -0.9) + 0.2 * (u % 5) - 0.15 * (i % 4) +
                     0.05 * ((u * i) % 7);

    return x < 1 ? 1 : x > 5 ? 5 : x;
}

/* Ratings of all that are rated, without user `no_user` and item `no_item`; those two get
 * names of their own (1000 more) where `only` asks for theirs alone. */
static ferry_domain *films(ferry_ctx *ctx, ferry_role role, int no_user, int no_item,
                           bool only)
{
    int u[U * I], i[U * I];
    double v[U * I];
    int64_t n = 0;
    ferry_domain *d =
        small_domain(ctx, role == FERRY_SOURCE ? "books" : "films", role, 0, 0, NULL);

    for (int a = 0; a < U; a++) {
        for (int b = 0; b < I; b++) {
            const bool mine = a == no_user || b == no_item;
            if (!rated(a, b) || mine != only) continue;
            u[n] = a == no_user ? a + 1000 : a;
            i[n] = b == no_item ? b + 1000 : b;
            v[n++] = rating(a, b);
        }
    }
    small_ratings(ctx, d, n, u, i, v);
    return d;
}

static ferry_task *make_task(ferry_ctx *ctx)
{
    return small_task(ctx, FERRY_RATE, films(ctx, FERRY_SOURCE, -1, -1, false),
                      films(ctx, FERRY_TARGET, -1, -1, false));
}

/* The rating that a model gives user u and item i, by number. */
static double of(ferry_ctx *ctx, const ferry_model *m, int u, int i)
{
    const double none = NAN;
    ferry_domain *d = small_domain(ctx, "asked", FERRY_TARGET, 0, 0, NULL);
    ferry_prediction *p = NULL;
    double x;

    small_ratings(ctx, d, 1, &u, &i, &none);
    assert_ok(ctx, ferry_predict(ctx, m, d, &p));
    x = p->value[0];
    ferry_prediction_free(p);
    ferry_domain_free(d);
    return x;
}

static ferry_model *fold(ferry_ctx *ctx, const ferry_model *m, ferry_domain *d)
{
    ferry_model *more = NULL;

    assert_ok(ctx, ferry_model_fold_in(ctx, m, d, &more));
    ferry_domain_free(d);
    return more;
}

/* ---- folding in ---- */

static const struct {
    const char *method, *settings;
    double tol;
} all[] = {
    {"rating-mean", "by=user", 1e-12},
    {"rating-mean", "by=item", 1e-12},
    {"rating-mean", "", 1e-12},
    {"bias", "sweeps=200", 1e-12},
    {"mf-als", "rank=2 lambda=1 sweeps=2000 tol=0", 1e-3},
    {"mindtl", "mode=paper k=4 l=3 iters=100", 1e-12},
    {"cbt", "k=4 l=3 iters=100", 1e-12},
};

/* A twin: a new user with the ratings of one who was there at fit gets the same answers;
 * and so does a new item. Nobody else's change. */
static void test_twins(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx);

    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        ferry_model *m = fit_model(ctx, task, all[k].method, all[k].settings);
        ferry_model *users = fold(ctx, m, films(ctx, FERRY_TARGET, 4, -1, true));
        ferry_model *items = fold(ctx, m, films(ctx, FERRY_TARGET, -1, 7, true));
        for (int i = 0; i < I; i++) {
            assert_close(of(ctx, users, 1004, i), of(ctx, m, 4, i), all[k].tol);
            assert_close(of(ctx, users, 3, i), of(ctx, m, 3, i), 0);
        }
        for (int u = 0; u < U; u++) {
            assert_close(of(ctx, items, u, 1007), of(ctx, m, u, 7), all[k].tol);
            assert_close(of(ctx, items, u, 2), of(ctx, m, u, 2), 0);
        }
        ferry_model_free(items);
        ferry_model_free(users);
        ferry_model_free(m);
    }
    ferry_task_free(task);
}

/* films() with its rows in another order: users and items are met in another one too. */
static ferry_domain *shuffled_films(ferry_ctx *ctx, ferry_role role)
{
    ferry_domain *d = films(ctx, role, -1, -1, false);
    const ferry_ratings *r = d->ratings;
    int u[U * I], i[U * I];
    double v[U * I];

    for (int64_t e = 0; e < r->n; e++) { /* 389: prime, and no divisor of n */
        const int64_t at = (e * 389 + 7) % r->n;
        u[e] = atoi(ferry_i_ids_at(r->users, r->user[at]) + 1);
        i[e] = atoi(ferry_i_ids_at(r->items, r->item[at]) + 1);
        v[e] = r->value[at];
    }
    const int64_t n = r->n;
    ferry_domain_free(d);
    d = small_domain(ctx, role == FERRY_SOURCE ? "books" : "films", role, 0, 0, NULL);
    small_ratings(ctx, d, n, u, i, v);
    return d;
}

/* The order of a file's rows decides nothing, to the bit: neither at fit nor later. */
static void test_row_order(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx);
    ferry_task *other = small_task(ctx, FERRY_RATE, shuffled_films(ctx, FERRY_SOURCE),
                                   shuffled_films(ctx, FERRY_TARGET));
    static const char *const more[][2] = {
        {"mf", "rank=3"},
        {"talmud", "k=4 l=3"},
        {"random-codebook", ""},
        {"shuffled-codebook", "k=2 l=2 mode=paper"},
        {"additive-grid", "k=3 l=3"},
        {"mindtl", "mode=paper extract=onmtf k=2 l=2"},
        {"mindtl", "use=1"},
        {"stack", ""},
        {"mindtl-paper", "order=nearest use=1"},
    };
    const size_t count = sizeof all / sizeof *all, n = count + sizeof more / sizeof *more;

    for (size_t k = 0; k < n; k++) {
        const char *name = k < count ? all[k].method : more[k - count][0];
        const char *settings = k < count ? all[k].settings : more[k - count][1];
        ferry_model *a = fit_model(ctx, task, name, settings);
        ferry_model *b = fit_model(ctx, other, name, settings);
        ferry_model *fa = fold(ctx, a, films(ctx, FERRY_TARGET, 4, 7, true));
        ferry_model *fb = fold(ctx, b, films(ctx, FERRY_TARGET, 4, 7, true));
        for (int i = 0; i < I; i++) {
            assert_close(of(ctx, a, 3, i), of(ctx, b, 3, i), 0);
            assert_close(of(ctx, a, i, 5), of(ctx, b, i, 5), 0);
            assert_close(of(ctx, fa, 1004, i), of(ctx, fb, 1004, i), 0);
        }
        ferry_model_free(fb);
        ferry_model_free(fa);
        ferry_model_free(b);
        ferry_model_free(a);
    }
    ferry_task_free(other);
    ferry_task_free(task);
}

/* Errors of model `m` at user 4 and at item `item`, under the numbers that they have there. */
static void error_at(ferry_ctx *ctx, const ferry_model *m, int item, double *user,
                     double *film)
{
    for (int i = 0; i < I; i++)
        if (i != item) *user += fabs(of(ctx, m, 1004, i) - rating(4, i));
    for (int u = 0; u < U; u++)
        *film += fabs(of(ctx, m, u, 1000 + item) - rating(u, item));
}

/* Someone who was not there at fit is rated better than a stranger; so are an even and an odd
 * item together (one of the two may be like most items, which a stranger is taken for). */
static void test_helps(void **state)
{
    ferry_ctx *ctx = *state;

    for (size_t k = 4; k < sizeof all / sizeof *all; k++) {
        double before[2] = {0}, now[2] = {0};
        for (int item = 8; item < 10; item++) {
            ferry_task *task =
                small_task(ctx, FERRY_RATE, films(ctx, FERRY_SOURCE, -1, -1, false),
                           films(ctx, FERRY_TARGET, 4, item, false));
            ferry_model *m = fit_model(ctx, task, all[k].method, all[k].settings);
            ferry_model *more = fold(ctx, m, films(ctx, FERRY_TARGET, 4, item, true));
            const double both = of(ctx, more, 1004, 1000 + item);
            error_at(ctx, m, item, &before[0], &before[1]);
            error_at(ctx, more, item, &now[0], &now[1]);
            assert_true(both >= 1 && both <= 5);
            ferry_model_free(more);
            ferry_model_free(m);
            ferry_task_free(task);
        }
        assert_true(now[0] < before[0]);
        assert_true(now[1] < before[1]);
    }
}

static const catalogue *rated_in(const ferry_model *m)
{
    return ((const fitted *)m->state)->rated;
}

/* A user who rated only what is new stays a stranger; pairs without a value add nobody. */
static void test_strangers(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx);
    ferry_model *m = fit_model(ctx, task, "mf", "rank=2"), *more = NULL;
    const int u[] = {500, 501, 1, 2}, i[] = {600, 3, 601, 5};
    const double v[] = {5, NAN, NAN, 4};
    ferry_domain *d = small_domain(ctx, "new", FERRY_TARGET, 0, 0, NULL);

    small_ratings(ctx, d, 4, u, i, v);
    more = fold(ctx, m, d);
    assert_int_equal(ferry_i_ids_count(rated_in(more)->users), U + 1);
    assert_int_equal(ferry_i_ids_count(rated_in(more)->items), I + 1);
    assert_close(of(ctx, more, 500, 3), of(ctx, m, 500, 3), 1e-12);
    assert_close(of(ctx, more, 501, 3), of(ctx, m, 501, 3), 0);
    assert_close(of(ctx, more, 2, 5), of(ctx, m, 2, 5), 0);  /* both were there */
    assert_true(of(ctx, more, 1, 600) > of(ctx, m, 1, 600)); /* it got a 5 */
    ferry_model_free(more);
    ferry_model_free(m);
    ferry_task_free(task);
}

/* Worked out by hand: one item rated 5 and 1 by two users; a third rates it 4. */
static void test_by_hand(void **state)
{
    ferry_ctx *ctx = *state;
    const int u[] = {0, 1}, i[] = {0, 0}, w[] = {2, 2}, j[] = {0, 9};
    const double v[] = {5, 1}, x[] = {4, 2};
    ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 0, 0, NULL);
    ferry_domain *d = small_domain(ctx, "d", FERRY_TARGET, 0, 0, NULL);
    ferry_task *task = NULL;
    ferry_model *m = NULL, *more = NULL;

    small_ratings(ctx, t, 2, u, i, v);
    small_ratings(ctx, d, 2, w, j, x);
    task = small_task(ctx, FERRY_RATE, NULL, t);
    m = fit_model(ctx, task, "bias", "lambda=1");
    more = fold(ctx, m, d);
    assert_close(of(ctx, more, 2, 0), 3.5, 1e-12);        /* mu 3, b 0, a (4 - 3) / 2 */
    assert_close(of(ctx, more, 2, 9), 3.5 - 0.75, 1e-12); /* b (2 - 3 - 0.5) / 2 */
    ferry_model_free(more);
    ferry_model_free(m);
    ferry_task_free(task);
}

/* A rating of 100 is taken for a 5. */
static void test_beyond(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx);
    ferry_model *m = fit_model(ctx, task, "mf", ""), *more[2];

    for (int k = 0; k < 2; k++) {
        const int u[] = {700, 700}, i[] = {1, 2};
        const double v[] = {k ? 100 : 5, k ? -3 : 1};
        ferry_domain *d = small_domain(ctx, "new", FERRY_TARGET, 0, 0, NULL);
        small_ratings(ctx, d, 2, u, i, v);
        more[k] = fold(ctx, m, d);
    }
    for (int i = 0; i < I; i++)
        assert_close(of(ctx, more[0], 700, i), of(ctx, more[1], 700, i), 0);
    ferry_model_free(more[0]);
    ferry_model_free(more[1]);
    ferry_model_free(m);
    ferry_task_free(task);
}

/* ---- the best ---- */

static void test_top(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx);
    ferry_model *m = fit_model(ctx, task, "mf-als", "rank=3 lambda=1");
    const char *users[] = {"u3", "nobody", "u8"};

    for (int with = 0; with < 2; with++) {
        ferry_prediction *p = NULL;
        int64_t at = 0;
        assert_ok(ctx, ferry_recommend(ctx, m, 3, users, 5, with, &p));
        assert_int_equal(p->n, 15);
        for (int k = 0; k < 3; k++) {
            const int u = k == 0 ? 3 : k == 1 ? 900 : 8;
            double last = 1e9;
            bool named[I] = {false};
            for (int n = 0; n < 5; n++, at++) {
                const int i = atoi(p->items[at] + 1);
                assert_string_equal(p->ids[at], users[k]);
                assert_close(p->value[at], of(ctx, m, u, i), 1e-12);
                assert_true(p->value[at] <= last);
                assert_true(with || u == 900 || !rated(u, i));
                last = p->value[at];
                named[i] = true;
            }
            for (int i = 0; i < I; i++)
                if (!named[i] && (with || u == 900 || !rated(u, i)))
                    assert_true(of(ctx, m, u, i) <= last + 1e-12);
        }
        ferry_prediction_free(p);
    }
    ferry_model_free(m);
    ferry_task_free(task);
}

/* All users; more than there are; equal ratings in the order of the items. */
static void test_top_all(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx);
    ferry_model *m = fit_model(ctx, task, "rating-mean", ""), *more = NULL;
    ferry_prediction *p = NULL;
    int64_t n = 0, last = -1;

    assert_ok(ctx, ferry_recommend(ctx, m, 0, NULL, 1000, 0, &p));
    for (int64_t e = 0; e < p->n; e++) {
        const int u = atoi(p->ids[e] + 1), i = atoi(p->items[e] + 1);
        const int64_t place = ferry_i_ids_find(rated_in(m)->items, p->items[e]);
        assert_false(rated(u, i));
        if (e > 0 && strcmp(p->ids[e], p->ids[e - 1]) == 0) assert_true(place > last);
        last = place;
    }
    for (int u = 0; u < U; u++)
        for (int i = 0; i < I; i++)
            n += !rated(u, i);
    assert_int_equal(p->n, n);
    ferry_prediction_free(p);
    /* What a user who was folded in has rated is left out too, and items can be new. */
    more = fold(ctx, m, films(ctx, FERRY_TARGET, 4, 7, true));
    assert_ok(ctx, ferry_recommend(ctx, more, 1, &(const char *){"u1004"}, 1000, 0, &p));
    n = 0;
    for (int64_t e = 0; e < p->n; e++) {
        const int i = atoi(p->items[e] + 1);
        assert_false(rated(4, i == 1007 ? 7 : i) && i != 7);
        n += i == 1007;
    }
    assert_int_equal(n, !rated(4, 7));
    ferry_prediction_free(p);
    ferry_model_free(more);
    ferry_model_free(m);
    ferry_task_free(task);
}

/* ---- files, needs, stops ---- */

static void test_files(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx);

    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        ferry_model *m = fit_model(ctx, task, all[k].method, all[k].settings), *l = NULL;
        ferry_model *a = NULL, *b = NULL, *c = NULL;
        const char *path = tmp_path("fold.ferry");
        assert_ok(ctx, ferry_model_save(ctx, m, path));
        assert_ok(ctx, ferry_model_load(ctx, path, NULL, &l));
        a = fold(ctx, m, films(ctx, FERRY_TARGET, 4, 7, true));
        b = fold(ctx, l, films(ctx, FERRY_TARGET, 4, 7, true));
        assert_ok(ctx, ferry_model_save(ctx, a, path));
        assert_ok(ctx, ferry_model_load(ctx, path, NULL, &c));
        for (int i = 0; i < I; i++) {
            assert_close(of(ctx, b, 1004, i), of(ctx, a, 1004, i), 0);
            assert_close(of(ctx, c, 1004, i), of(ctx, a, 1004, i), 0);
            assert_close(of(ctx, b, i, 1007), of(ctx, a, i, 1007), 0);
        }
        ferry_model_free(c);
        ferry_model_free(b);
        ferry_model_free(a);
        ferry_model_free(l);
        ferry_model_free(m);
    }
    ferry_task_free(task);
}

/* A saved model in which one thing is wrong is refused by the tensor's name. */
static void test_broken(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx);
    ferry_model *m = fit_model(ctx, task, "mf-als", "rank=2");
    catalogue *c = ((fitted *)m->state)->rated;
    rating_factors *f = ((fitted *)m->state)->state;
    static const char *const want[] = {"rated.start", "rated.item", "rated.item", "range",
                                       "'b'"};

    for (int step = 0; step < 5; step++) {
        const catalogue was = *c;
        const rating_factors model = *f;
        const int64_t first = c->start[1];
        const int32_t item = c->item[0];
        ferry_dict *dict = NULL;
        void *out = NULL;
        if (step == 0) c->start[1] = c->start[2] + 1;
        if (step == 1) c->item[0] = I;
        if (step == 2) c->item[0] = -1;
        if (step == 3) c->lo = 9;
        if (step == 4) f->b[0] = NAN;
        assert_ok(ctx, ferry_i_dict_new(ctx, &dict));
        assert_ok(ctx, ferry_i_method_save(ctx, m->method, m->state, dict));
        assert_fails(ctx, ferry_i_method_load(ctx, m->method, dict, &out), FERRY_EDATA,
                     want[step]);
        assert_null(out);
        ferry_i_dict_free(dict);
        *c = was;
        *f = model;
        c->start[1] = first;
        c->item[0] = item;
        f->b[0] = 0;
    }
    ferry_model_free(m);
    ferry_task_free(task);
}

static void test_needs(void **state)
{
    ferry_ctx *ctx = *state;
    const double x[] = {0, 1, 2, 3};
    ferry_domain *t = small_domain(ctx, "t", FERRY_TARGET, 4, 1, x);
    ferry_domain *empty = small_domain(ctx, "empty", FERRY_TARGET, 0, 0, NULL);
    ferry_task *classes = NULL, *task = make_task(ctx);
    ferry_model *m = fit_model(ctx, task, "bias", ""), *other = NULL, *out = NULL;
    const char *twice[] = {"u1", "u1"};
    ferry_prediction *p = NULL;

    small_classes(ctx, t, "abab");
    classes = small_task(ctx, FERRY_CLASSIFY, NULL, t);
    other = fit_model(ctx, classes, "majority", "");
    assert_fails(ctx, ferry_model_fold_in(ctx, other, empty, &out), FERRY_ENEEDS,
                 "majority is no model of ratings");
    assert_fails(ctx, ferry_model_fold_in(ctx, m, empty, &out), FERRY_ENEEDS,
                 "domain 'empty' has no ratings");
    assert_fails(ctx, ferry_recommend(ctx, other, 0, NULL, 3, 0, &p), FERRY_ENEEDS,
                 "majority is no model of ratings");
    assert_fails(ctx, ferry_recommend(ctx, m, 0, NULL, 0, 0, &p), FERRY_EINVAL,
                 "top = 0: expected at least 1");
    assert_fails(ctx, ferry_recommend(ctx, m, 2, twice, 1, 0, &p), FERRY_EINVAL,
                 "user 'u1' is asked about twice");
    assert_null(p);
    assert_null(out);
    ferry_model_free(other);
    ferry_model_free(m);
    ferry_domain_free(empty);
    ferry_task_free(classes);
    ferry_task_free(task);
}

static void test_cancel(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx);
    ferry_model *m = fit_model(ctx, task, "mf", ""), *out = NULL;
    ferry_domain *d = films(ctx, FERRY_TARGET, 4, 7, true);
    ferry_prediction *p = NULL;

    ferry_ctx_set_progress(ctx, cancel_at_once, NULL);
    assert_int_equal(ferry_model_fold_in(ctx, m, d, &out), FERRY_ECANCELLED);
    assert_int_equal(ferry_recommend(ctx, m, 0, NULL, 3, 0, &p), FERRY_ECANCELLED);
    assert_null(out);
    assert_null(p);
    ferry_domain_free(d);
    ferry_model_free(m);
    ferry_task_free(task);
}

typedef struct job {
    const ferry_model *m;
    const ferry_domain *d;
} job;

static ferry_status fold_and_top(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    const job *j = arg;
    const char *users[] = {"u1004", "u2"};
    ferry_model *more = NULL, *l = NULL;
    ferry_prediction *p = NULL;
    ferry_dict *dict = NULL;

    FERRY_TRY(ferry_model_fold_in(ctx, j->m, j->d, &more));
    FERRY_TRY(ferry_recommend(ctx, more, 2, users, 3, 0, &p));
    FERRY_TRY(ferry_i_dict_new(ctx, &dict));
    FERRY_TRY(ferry_i_model_pack(ctx, more, dict));
    FERRY_TRY(ferry_i_model_unpack(ctx, "bag", dict, NULL, &l));
done:
    ferry_i_dict_free(dict);
    ferry_model_free(l);
    ferry_prediction_free(p);
    ferry_model_free(more);
    return st;
}

static void test_no_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = make_task(ctx);
    ferry_domain *d = films(ctx, FERRY_TARGET, 4, 7, true);

    for (size_t k = 3; k < sizeof all / sizeof *all; k++) {
        ferry_model *m = fit_model(ctx, task, all[k].method, all[k].settings);
        each_allocation_fails(ctx, fold_and_top, &(job){m, d});
        ferry_model_free(m);
    }
    ferry_domain_free(d);
    ferry_task_free(task);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_twins),     TEST(test_row_order), TEST(test_helps), TEST(test_strangers),
        TEST(test_by_hand),   TEST(test_beyond),    TEST(test_top),   TEST(test_top_all),
        TEST(test_files),     TEST(test_broken),    TEST(test_needs), TEST(test_cancel),
        TEST(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
