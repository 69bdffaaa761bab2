/* Trees: by hand, the exact one and the one from histograms against the plain one. */
#include "ferry_test.h"

#include "core/ranks.h"
#include "learn/learner.h"
#include "on_ranks.h"
#include "tree_plain.h"
#include <float.h>

static matrix dense(scope *s, int64_t rows, int64_t cols, const double *v)
{
    const matrix x = matrix_dense(s, HERE(rows), rows, cols);

    if (v) memcpy(x.m->dense, v, (size_t)(rows * cols) * sizeof *v);
    return x;
}

static block pairs(scope *s, int64_t n, const double *z, const double *c)
{
    const block zc = block_new(s, HERE(n), n, 2);

    for (int64_t i = 0; i < n; i++) {
        ROW(zc, i)[0] = z[i];
        ROW(zc, i)[1] = c ? c[i] : 1;
    }
    return zc;
}

static const tree_options plain = {.depth = 2, .min_leaf = 1, .reg = 1},
                          binned = {.depth = 2, .min_leaf = 1, .reg = 1, .bins = 64};

/* z = 1, 1, -1 at x = 0, 1, 3: the split at 2 has (2^2/3 + 1/2) - 1/4. */
static void by_hand(scope *s, void *arg)
{
    const double v[] = {0, 1, 3}, z[] = {1, 1, -1};
    const matrix x = dense(s, 3, 1, v);

    (void)arg;
    for (int way = 0; way < 3; way++) {
        tree own;
        int32_t leaf[3] = {0, 1, 2};
        const tree *t = &own;
        if (way == 0)
            oracle_tree(s, &plain, x, false, pairs(s, 3, z, NULL), &own);
        else
            t = grow(s, grower_new(s, way == 1 ? &plain : &binned, x, false, NULL, NULL),
                     pairs(s, 3, z, NULL), leaf);
        assert_int_equal(t->n, 3); /* splitting the two equal ones gains nothing */
        assert_int_equal(t->node[0].feature, 0);
        assert_close(t->node[0].threshold, 2, 0);
        assert_close(t->node[0].gain, 4.0 / 3 + 0.5 - 0.25, 1e-15);
        assert_close(t->node[0].value, 0.25, 1e-15);
        assert_close(t->node[1].value, 2.0 / 3, 1e-15);
        assert_close(t->node[2].value, -0.5, 1e-15);
        assert_int_equal(leaf[1], 1);
        assert_int_equal(leaf[2], 2);
    }
}

/* Where the rows of x end, as a forest sends them. */
static int64_t leaf_of(scope *s, const tree *t, matrix x, bool sparse, int64_t i)
{
    forest f;
    const view v = {.x = x};

    forest_new(s, 1, 1, &f);
    forest_add(s, &f, t, 1);
    return forest_leaf(&f, 0, &v, sparse, i);
}

/* Only the missing cell differs: it goes to its own side, in a tree and out of it. */
static void missing(scope *s, void *arg)
{
    const double v[] = {1, NAN, 1, NAN, 2}, z[] = {1, -1, 1, -1, 1};
    const matrix x = dense(s, 5, 1, v), empty = dense(s, 1, 1, NULL);
    const int64_t want[] = {1, 2, 1, 2, 1};

    (void)arg;
    for (int way = 0; way < 2; way++) {
        int32_t leaf[5];
        grower *g = grower_new(s, way ? &binned : &plain, x, false, NULL, NULL);
        const tree *t = grow(s, g, pairs(s, 5, z, NULL), leaf);
        assert_int_equal(t->n, 3);
        for (int64_t i = 0; i < 5; i++) {
            assert_int_equal(leaf[i], want[i]);
            assert_int_equal(leaf_of(s, t, x, false, i), want[i]);
        }
        /* 0 is a missing cell where the view says so */
        assert_int_equal(leaf_of(s, t, empty, true, 0), 2);
        assert_int_equal(leaf_of(s, t, empty, false, 0), 1);
    }
}

/* Neighbouring doubles: the threshold still lies between them. */
static void close_values(scope *s, void *arg)
{
    const double v[] = {1, nextafter(1, 2)}, z[] = {1, -1};
    int32_t leaf[2];

    (void)arg;
    for (int way = 0; way < 2; way++) {
        grower *g =
            grower_new(s, way ? &binned : &plain, dense(s, 2, 1, v), false, NULL, NULL);
        const tree *t = grow(s, g, pairs(s, 2, z, NULL), leaf);
        assert_int_not_equal(leaf[0], leaf[1]);
        assert_close(t->node[0].threshold, 1, 0);
    }
}

enum { ROWS = 60, COLS = 4 };

typedef struct sample {
    matrix x;
    bool csr;
    block zc;
} sample;

/* integers: few values and ties; gone: share of missing cells; csr: as CSR. */
static sample make_sample(scope *s, uint64_t seed, bool integers, double gone, bool csr)
{
    sample to = {dense(s, ROWS, COLS, NULL), csr, block_new(s, HERE(ROWS), ROWS, 2)};
    ferry_rng rng;

    ferry_i_rng_seed(&rng, seed, 7);
    for (int64_t e = 0; e < ROWS * COLS; e++) {
        const double u = ferry_i_rng_normal(&rng);
        to.x.m->dense[e] = integers ? floor(3 * u) : u;
        if (ferry_i_rng_real(&rng) < gone) to.x.m->dense[e] = csr ? 0 : NAN;
    }
    for (int64_t i = 0; i < ROWS; i++) {
        const double u = ferry_i_rng_normal(&rng);
        ROW(to.zc, i)[0] = integers ? floor(4 * u) : u;
        ROW(to.zc, i)[1] = integers ? 2 : i % 9 == 0 ? 0 : 0.1 + ferry_i_rng_real(&rng);
    }
    if (csr) to.x = to_sparse(s, to.x);
    return to;
}

static const tree_options deep = {.depth = 4, .min_leaf = 3, .min_child = 0.5, .reg = 0.25};

/* Rows get what they get from the plain tree; of features that part them alike it may be another. */
static void same_leaves(scope *s, const sample *x, const tree *a, const tree *b,
                        const int32_t *leaf)
{
    assert_close(a->node[0].gain, b->node[0].gain, 1e-12);
    for (int64_t i = 0; i < ROWS; i++)
        assert_close(a->node[leaf_of(s, a, x->x, x->csr, i)].value, b->node[leaf[i]].value,
                     1e-12);
}

static void exact_is_plain(scope *s, void *arg)
{
    (void)arg;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        const sample x = make_sample(s, seed, false, seed % 3 ? 0.2 : 0, seed % 5 == 0);
        tree a;
        int32_t leaf[ROWS];
        oracle_tree(s, &deep, x.x, x.csr, x.zc, &a);
        assert_true(a.n > 3);
        const tree *b = grow(s, grower_new(s, &deep, x.x, x.csr, NULL, NULL), x.zc, leaf);
        assert_int_equal(a.n, b->n);
        same_leaves(s, &x, &a, b, leaf);
    }
}

/* With a bin for every value. */
static void bins_of_all_values(scope *s, void *arg)
{
    tree_options o = deep;

    (void)arg;
    o.bins = ROWS;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        const sample x = make_sample(s, seed, seed % 2, seed % 3 ? 0.2 : 0, seed % 5 == 0);
        tree a;
        int32_t leaf[ROWS];
        oracle_tree(s, &o, x.x, x.csr, x.zc, &a);
        const tree *b = grow(s, grower_new(s, &o, x.x, x.csr, NULL, NULL), x.zc, leaf);
        if (seed % 2 == 0) same_leaves(s, &x, &a, b, leaf);
    }
}

/* The best split is at 1.5; two bins of eight values part in the middle, three after the third and the sixth. A value of
 * many rows fills a bin by itself. A weight of 6 does what 6 rows do. */
static void bins_by_hand(scope *s, void *arg)
{
    const double v[] = {3, 1, 2, 5, 4, 8, 7, 6}, many[] = {0, 0, 0, 0, 0, 0, 1, 2},
                 few[] = {0, 1, 2}, six[] = {6, 1, 1};
    const double z[] = {-1, 9, -1, -1, -1, -1, -1, -1}, last[] = {0, 0, 0, 0, 0, 0, 0, 5},
                 end[] = {0, 0, 5};
    const double want[] = {1.5, 4.5, 3.5, 0.5, 0.5};
    const int64_t bins[] = {8, 2, 3, 2, 2};

    (void)arg;
    for (int i = 0; i < 5; i++) {
        const tree_options o = {.depth = 1, .min_leaf = 1, .reg = 1, .bins = bins[i]};
        const int64_t n = i == 4 ? 3 : 8;
        const matrix x = dense(s, n, 1, i == 4 ? few : i == 3 ? many : v);
        grower *g = grower_new(s, &o, x, false, i == 4 ? six : NULL, NULL);
        const tree *t = grow(s, g,
                             pairs(s, n,
                                   i == 4   ? end
                                   : i == 3 ? last
                                            : z,
                                   NULL),
                             NULL);
        assert_int_equal(t->node[0].feature, 0);
        assert_close(t->node[0].threshold, want[i], 0);
    }
}

/* Columns that order the rows alike part them alike, whatever rounding says: one of them wins, wherever it stands. Sums
 * of z that cancel are no gain. */
static void ties(scope *s, void *arg)
{
    enum { D = 12 };
    const tree_options *o = arg;
    const matrix x = dense(s, ROWS, D, NULL), moved = dense(s, ROWS, D, NULL);
    double z[ROWS], c[ROWS];
    ferry_rng rng;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        ferry_i_rng_seed(&rng, seed, 9);
        for (int64_t i = 0; i < ROWS; i++) {
            const double u = ferry_i_rng_normal(&rng);
            for (int64_t j = 0; j < D; j++) {
                x.m->dense[i * D + j] = j % 2 ? -u * (double)(j + 1) : u / (double)(j + 1);
                moved.m->dense[i * D + (j + 5) % D] = x.m->dense[i * D + j];
            }
            z[i] = ferry_i_rng_normal(&rng) / 3;
            c[i] = ferry_i_rng_real(&rng);
        }
        const block zc = pairs(s, ROWS, z, c);
        const tree *a = grow(s, grower_new(s, o, x, false, NULL, NULL), zc, NULL),
                   *b = grow(s, grower_new(s, o, moved, false, NULL, NULL), zc, NULL);
        assert_true(a->n > 1);
        assert_int_equal(a->n, b->n);
        for (int64_t e = 0; e < a->n; e++) {
            if (a->node[e].feature < 0) continue;
            assert_int_equal(a->node[e].feature, a->node[0].feature);
            assert_int_equal((a->node[e].feature + 5) % D, b->node[e].feature);
        }
    }
    for (int64_t i = 0; i < ROWS; i++) { /* exclusive or: no column says anything */
        x.m->dense[i * D] = (double)(i % 2);
        for (int64_t j = 1; j < D; j++)
            x.m->dense[i * D + j] = (double)(i / 2 % 2);
        z[i] = i % 2 == i / 2 % 2 ? 0.1 + (double)(i / 4) / 3 : -0.1 - (double)(i / 4) / 3;
    }
    const tree *t =
        grow(s, grower_new(s, o, x, false, NULL, NULL), pairs(s, ROWS, z, NULL), NULL);
    assert_int_equal(t->n, 1);
}

typedef struct wide {
    tree_options o;
    int64_t n;
    double value[1 << 6];
} wide;

/* A tree of 5 levels, whose histograms come from those of the parents. */
static void grow_wide(scope *s, void *arg)
{
    enum { N = 3000, D = 30 };
    wide *to = arg;
    int64_t from = 0, end = N;
    ferry_rng rng;

    ferry_i_ranks_part(scope_ctx(s), N, &from, &end);
    const layout rows = {
        .n = N, .spread = ferry_i_ranks_split(scope_ctx(s)), .first = from};
    const matrix all = dense(s, N, D, NULL), x = matrix_dense(s, rows, end - from, D);
    const block zc = block_new(s, rows, end - from, 2);
    ferry_i_rng_seed(&rng, 3, 3);
    for (int64_t e = 0; e < N * D; e++)
        all.m->dense[e] = ferry_i_rng_real(&rng) < 0.1 ? NAN : ferry_i_rng_normal(&rng);
    for (int64_t i = 0; i < N; i++) {
        const double z = ferry_i_rng_normal(&rng) + (all.m->dense[i * D] > 0);
        if (i < from || i >= end) continue;
        memcpy(x.m->dense + (i - from) * D, all.m->dense + i * D, D * sizeof(double));
        ROW(zc, i - from)[0] = z;
        ROW(zc, i - from)[1] = 1;
    }
    const tree *t = grow(s, grower_new(s, &to->o, x, false, NULL, NULL), zc, NULL);
    to->n = t->n;
    for (int64_t e = 0; e < t->n; e++)
        to->value[e] = t->node[e].value;
}

static int same_on_ranks(ferry_ctx *ctx, void *arg)
{
    const wide *want = arg;
    wide mine = {.o = want->o};

    if (scope_run(ctx, grow_wide, &mine) != FERRY_OK) return 1;
    if (mine.n != want->n) return 2;
    for (int64_t e = 0; e < mine.n; e++)
        if (!(fabs(mine.value[e] - want->value[e]) <= 1e-12)) return 3;
    return 0;
}

/* The same bits with any number of threads, the same tree on ranks. */
static void test_threads_and_ranks(void **state)
{
    ferry_ctx *ctx = *state;
    int status[RANKS];

    for (int way = 0; way < 2; way++) {
        wide t[3];
        for (int i = 0; i < 3; i++) {
            t[i] = (wide){.o = {.depth = 5, .min_leaf = 3, .reg = 1, .bins = way ? 32 : 0}};
            assert_ok(ctx, ferry_i_ctx_set_threads(ctx, i + 1));
            assert_ok(ctx, scope_run(ctx, grow_wide, &t[i]));
            assert_int_equal(t[i].n, t[0].n);
            assert_memory_equal(t[i].value, t[0].value, sizeof t[0].value);
        }
        assert_true(t[0].n > 30);
        on_ranks(same_on_ranks, &t[0], status);
        for (int r = 0; r < RANKS; r++)
            assert_int_equal(status[r], 0);
    }
}

static void like_csr(scope *s, void *arg)
{
    const double words[] = {0, 1, 0, 0}, signs[] = {0, -1, 0, 0}, gaps[] = {0, NAN, 0, 0},
                 no_first[] = {0, 1};

    (void)arg;
    assert_true(tree_sparse(s, dense(s, 2, 2, words), NULL));
    assert_false(tree_sparse(s, dense(s, 2, 2, signs), NULL));
    assert_false(tree_sparse(s, dense(s, 2, 2, gaps), NULL));
    assert_true(
        tree_sparse(s, dense(s, 2, 2, signs), no_first)); /* a row that is not there */
}

static void grow_once(scope *s, void *arg)
{
    const sample x = make_sample(s, 5, false, 0.2, *(int *)arg);

    (void)grow(s, grower_new(s, &plain, x.x, x.csr, NULL, NULL), x.zc, NULL);
    (void)grow(s, grower_new(s, &binned, x.x, x.csr, NULL, NULL), x.zc, NULL);
}

static ferry_status run_once(ferry_ctx *ctx, void *arg)
{
    return scope_run(ctx, grow_once, arg);
}

static void test_memory(void **state)
{
    for (int csr = 0; csr < 2; csr++)
        each_allocation_fails(*state, run_once, &csr);
}

static void test_by_hand(void **state)
{
    assert_ok(*state, scope_run(*state, by_hand, NULL));
    assert_ok(*state, scope_run(*state, missing, NULL));
    assert_ok(*state, scope_run(*state, close_values, NULL));
    assert_ok(*state, scope_run(*state, bins_by_hand, NULL));
    assert_ok(*state, scope_run(*state, like_csr, NULL));
}

static void test_against_plain(void **state)
{
    assert_ok(*state, scope_run(*state, exact_is_plain, NULL));
    assert_ok(*state, scope_run(*state, bins_of_all_values, NULL));
}

static void test_ties(void **state)
{
    tree_options o = {.depth = 3, .min_leaf = 2, .reg = 0.25};

    assert_ok(*state, scope_run(*state, ties, &o));
    o.bins = ROWS;
    assert_ok(*state, scope_run(*state, ties, &o));
}

/* Extremely randomised ones: a split on the only column that differs, worked out by hand; one leaf is the prior; units
 * and storage do not matter; no NaN where a column is as wide as numbers go. */
static void randomised(scope *s, void *arg)
{
    const uint8_t on[] = {1, 0, 1, 0, 1, 1, 0, 1};
    const learner *l = learner_find("extra-trees");
    int64_t *o = learner_defaults(s, l); /* trees, features, min_leaf */
    const matrix x = dense(s, 4, 2, NULL), far = dense(s, 4, 2, NULL);
    examples e = {.x = x, .y = {.goal = FERRY_MULTILABEL, .k = 2, .on = on}};

    (void)arg;
    o[0] = 20;
    for (int i = 0; i < 4; i++) {
        x.m->dense[2 * i + 1] = i; /* rows 0 and 1, 2 and 3 with min_leaf 2, or no split */
        far.m->dense[2 * i + 1] = i < 2 ? -DBL_MAX : DBL_MAX;
    }
    const learned m = learn(s, s, l, o, &e);
    const block first = answer(s, &m, x), csr = answer(s, &m, to_sparse(s, x));
    /* label 0: 2 of 2 and 1 of 2 rows; label 1: 0 and 2 of 2; or 3 of 4, 2 of 4 */
    for (int i = 0; i < 4; i++) {
        const double cut = (0.75 - first.at[2 * i]) / (i < 2 ? -0.25 : 0.25);
        assert_true(cut > 0.05 && cut < 0.95); /* the share of trees that have the split */
        assert_close(first.at[2 * i + 1], 0.5 + cut * (i < 2 ? -0.5 : 0.5), 1e-12);
    }
    assert_memory_equal(first.at, csr.at, 8 * sizeof(double));
    for (int i = 0; i < 8; i++)
        x.m->dense[i] *= 1024;
    const learned again = learn(s, s, l, o, &e);
    assert_memory_equal(first.at, answer(s, &again, x).at, 8 * sizeof(double));
    e.x = far;
    const learned wide_one = learn(s, s, l, o, &e);
    assert_close(answer(s, &wide_one, far).at[0], 1, 1e-12);
    assert_close(answer(s, &wide_one, far).at[6], 0.5, 1e-12);
    e.x = x;
    o[2] = 3;
    const learned leaf = learn(s, s, l, o, &e);
    assert_close(answer(s, &leaf, x).at[0], 0.75, 1e-12);
}

static void test_randomised(void **state)
{
    assert_ok(*state, scope_run(*state, randomised, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_by_hand, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_against_plain, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_ties, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_threads_and_ranks, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_randomised, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_memory, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
