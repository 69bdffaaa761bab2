/* Trees: by hand, the fast exact one against the plain one, XGBoost's against both. */
#include "ferry_test.h"
#include "learn/trees.h"
#include "oracle.h"

static ferry_matrix *dense(ferry_ctx *ctx, int64_t rows, int64_t cols, const double *v)
{
    ferry_matrix *x = NULL;

    assert_ok(ctx, ferry_i_matrix_dense(ctx, rows, cols, &x));
    if (v) memcpy(x->dense, v, (size_t)(rows * cols) * sizeof *v);
    return x;
}

static const ferry_tree_options plain = {.depth = 2, .min_leaf = 1, .reg = 1, .bins = 64};

/* z = 1, 1, -1 at x = 0, 1, 3: the split at 2 has (2^2/3 + 1/2) - 1/4. */
static void test_by_hand(void **state)
{
    ferry_ctx *ctx = *state;
    const double v[] = {0, 1, 3}, z[] = {1, 1, -1}, c[] = {1, 1, 1};
    ferry_matrix *x = dense(ctx, 3, 1, v);
    const ferry_tree_data d = {x, false, 3, NULL};
    ferry_tree *t = NULL;
    int32_t leaf[3];

    assert_ok(ctx, oracle_tree(ctx, &plain, &d, z, c, &t));
    assert_int_equal(t->n, 3); /* splitting the two equal ones gains nothing */
    assert_int_equal(t->node[0].feature, 0);
    assert_close(t->node[0].threshold, 2, 0);
    assert_close(t->node[0].gain, 4.0 / 3 + 0.5 - 0.25, 1e-15);
    assert_close(t->node[0].value, 0.25, 1e-15);
    assert_close(t->node[1].value, 2.0 / 3, 1e-15);
    assert_close(t->node[2].value, -0.5, 1e-15);
    ferry_i_tree_leaves(ctx, t, &d, leaf);
    assert_int_equal(leaf[1], 1);
    assert_int_equal(leaf[2], 2);
    ferry_i_tree_free(t);
    ferry_i_matrix_free(x);
}

/* Only the missing cell differs: it goes to its own side, in a tree and out of it. */
static void test_missing(void **state)
{
    ferry_ctx *ctx = *state;
    const double v[] = {1, NAN, 1, NAN, 2}, z[] = {1, -1, 1, -1, 1}, c[] = {1, 1, 1, 1, 1};
    ferry_matrix *x = dense(ctx, 5, 1, v), *empty = dense(ctx, 1, 1, NULL);
    const ferry_tree_data d = {x, false, 5, NULL};
    ferry_sorted *s = NULL;

    for (int way = 0; way < 2; way++) {
        ferry_tree *t = NULL;
        int32_t leaf[5];
        if (way == 0) assert_ok(ctx, oracle_tree(ctx, &plain, &d, z, c, &t));
        if (way == 1) assert_ok(ctx, ferry_i_sorted_new(ctx, &d, &s));
        if (way == 1) assert_ok(ctx, ferry_i_sorted_tree(ctx, &plain, s, z, c, &t));
        assert_int_equal(t->n, 3);
        ferry_i_tree_leaves(ctx, t, &d, leaf);
        assert_int_equal(leaf[0], 1);
        assert_int_equal(leaf[1], 2);
        assert_int_equal(leaf[3], 2);
        assert_int_equal(leaf[4], 1);
        /* 0 is a missing cell where the view says so */
        const ferry_tree_data yes = {empty, true, 1, NULL}, no = {empty, false, 1, NULL};
        ferry_i_tree_leaves(ctx, t, &yes, leaf);
        assert_int_equal(leaf[0], 2);
        ferry_i_tree_leaves(ctx, t, &no, leaf);
        assert_int_equal(leaf[0], 1);
        ferry_i_tree_free(t);
    }
    ferry_i_sorted_free(s);
    ferry_i_matrix_free(empty);
    ferry_i_matrix_free(x);
}

/* Neighbouring doubles: the threshold still lies between them. */
static void test_close_values(void **state)
{
    ferry_ctx *ctx = *state;
    const double a = 1, b = nextafter(1, 2);
    const double v[] = {a, b}, z[] = {1, -1}, c[] = {1, 1};
    ferry_matrix *x = dense(ctx, 2, 1, v);
    const ferry_tree_data d = {x, false, 2, NULL};
    ferry_tree *t = NULL;
    int32_t leaf[2];

    assert_ok(ctx, oracle_tree(ctx, &plain, &d, z, c, &t));
    ferry_i_tree_leaves(ctx, t, &d, leaf);
    assert_int_not_equal(leaf[0], leaf[1]);
    assert_close(ferry_i_tree_middle(1, 2), 1.5, 0);
    assert_close(ferry_i_tree_middle(a, b), a, 0);
    ferry_i_tree_free(t);
    ferry_i_matrix_free(x);
}

enum { ROWS = 60, COLS = 4 };

typedef struct sample {
    ferry_matrix *x;
    ferry_tree_data d;
    int64_t rows[ROWS];
    double z[ROWS], c[ROWS];
} sample;

/* integers: few values and ties; missing: share of cells; csr: as CSR. */
static void make_sample(ferry_ctx *ctx, uint64_t seed, bool integers, double missing,
                        bool csr, sample *s)
{
    ferry_rng rng;

    ferry_i_rng_seed(&rng, seed, 7);
    s->x = dense(ctx, ROWS, COLS, NULL);
    for (int64_t e = 0; e < ROWS * COLS; e++) {
        const double u = ferry_i_rng_normal(&rng);
        s->x->dense[e] = integers ? floor(3 * u) : u;
        if (ferry_i_rng_real(&rng) < missing) s->x->dense[e] = csr ? 0 : NAN;
    }
    s->d = (ferry_tree_data){s->x, csr, 50, s->rows};
    for (int64_t i = 0; i < ROWS; i++) {
        s->rows[i] = (i * 7) % ROWS;
        s->z[i] = integers ? floor(4 * ferry_i_rng_normal(&rng)) : ferry_i_rng_normal(&rng);
        s->c[i] = integers ? 2 : i % 9 == 0 ? 0 : 0.1 + ferry_i_rng_real(&rng);
    }
    if (!csr) return;
    ferry_matrix *sparse = NULL;
    assert_ok(ctx, ferry_i_matrix_csr(ctx, ROWS, COLS, ROWS * COLS, &sparse));
    sparse->nnz = 0;
    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t j = 0; j < COLS; j++) {
            if (s->x->dense[i * COLS + j] == 0) continue;
            sparse->index[sparse->nnz] = (int32_t)j;
            sparse->value[sparse->nnz++] = s->x->dense[i * COLS + j];
        }
        sparse->start[i + 1] = sparse->nnz;
    }
    ferry_i_matrix_free(s->x);
    s->d.x = s->x = sparse;
}

static void same_trees(const ferry_tree *a, const ferry_tree *b, int32_t i, int32_t j)
{
    const ferry_tree_node *x = &a->node[i], *y = &b->node[j];

    assert_int_equal(x->feature, y->feature);
    assert_close(x->value, y->value, 1e-12);
    if (x->feature < 0) return;
    assert_close(x->threshold, y->threshold, 0);
    assert_close(x->gain, y->gain, 1e-10);
    same_trees(a, b, x->left, y->left);
    same_trees(a, b, x->right, y->right);
}

/* The fast tree is the plain one, with one thread and with several. */
static void test_sorted_is_plain(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_tree_options o = {.depth = 4, .min_leaf = 3, .min_child = 0.5, .reg = 0.25};

    for (uint64_t seed = 1; seed <= 40; seed++) {
        sample s;
        make_sample(ctx, seed, false, seed % 3 ? 0.2 : 0, seed % 5 == 0, &s);
        ferry_tree *a = NULL, *b = NULL;
        ferry_sorted *sorted = NULL;
        assert_ok(ctx, oracle_tree(ctx, &o, &s.d, s.z, s.c, &a));
        assert_ok(ctx, ferry_i_sorted_new(ctx, &s.d, &sorted));
        assert_ok(ctx, ferry_i_sorted_tree(ctx, &o, sorted, s.z, s.c, &b));
        assert_true(a->n > 3);
        same_trees(a, b, 0, 0);
        ferry_i_tree_free(a);
        ferry_i_tree_free(b);
        ferry_i_sorted_free(sorted);
        ferry_i_matrix_free(s.x);
    }
}

static ferry_tree *from_bins(ferry_ctx *ctx, const ferry_tree_options *o,
                             const ferry_tree_data *d, const double *z, const double *c)
{
    ferry_bins *b = NULL;
    ferry_tree *t = NULL;

    assert_ok(ctx, ferry_i_bins_new(ctx, o->bins, d, &b));
    assert_ok(ctx, ferry_i_bins_tree(ctx, o, b, z, c, &t));
    ferry_i_bins_free(b);
    return t;
}

/* With a bin for every value rows get what they get from the plain tree; of splits that part them alike it may be another. */
static void test_bins_of_all_values(void **state)
{
    ferry_ctx *ctx = *state;
    const ferry_tree_options o = {
        .depth = 4, .min_leaf = 3, .min_child = 0.5, .reg = 0.25, .bins = ROWS};

    for (uint64_t seed = 1; seed <= 40; seed++) {
        sample s;
        ferry_tree *a = NULL, *b = NULL;
        int32_t leaf[2][ROWS];
        make_sample(ctx, seed, seed % 2, seed % 3 ? 0.2 : 0, seed % 5 == 0, &s);
        assert_ok(ctx, oracle_tree(ctx, &o, &s.d, s.z, s.c, &a));
        b = from_bins(ctx, &o, &s.d, s.z, s.c);
        ferry_i_tree_leaves(ctx, a, &s.d, leaf[0]);
        ferry_i_tree_leaves(ctx, b, &s.d, leaf[1]);
        assert_close(a->node[0].gain, b->node[0].gain, 1e-12);
        for (int64_t i = 0; seed % 2 == 0 && i < s.d.n; i++)
            assert_close(a->node[leaf[0][i]].value, b->node[leaf[1][i]].value, 1e-12);
        ferry_i_tree_free(a);
        ferry_i_tree_free(b);
        ferry_i_matrix_free(s.x);
    }
}

/* The best split is at 1.5; two bins of eight values part in the middle, three after the third and the sixth. A value of
 * many rows fills a bin by itself. */
static void test_bins_by_hand(void **state)
{
    ferry_ctx *ctx = *state;
    const double v[] = {3, 1, 2, 5, 4, 8, 7, 6}, many[] = {0, 0, 0, 0, 0, 0, 1, 2};
    const double z[] = {-1, 9, -1, -1, -1, -1, -1, -1}, last[] = {0, 0, 0, 0, 0, 0, 0, 5};
    const double c[] = {1, 1, 1, 1, 1, 1, 1, 1}, want[] = {1.5, 4.5, 3.5, 0.5};

    for (int i = 0; i < 4; i++) {
        const ferry_tree_options o = {.depth = 1,
                                      .min_leaf = 1,
                                      .reg = 1,
                                      .bins = i == 0   ? 8
                                              : i == 2 ? 3
                                                       : 2};
        ferry_matrix *x = dense(ctx, 8, 1, i == 3 ? many : v);
        const ferry_tree_data d = {x, false, 8, NULL};
        ferry_tree *t = from_bins(ctx, &o, &d, i == 3 ? last : z, c);
        assert_int_equal(t->node[0].feature, 0);
        assert_close(t->node[0].threshold, want[i], 0);
        ferry_i_tree_free(t);
        ferry_i_matrix_free(x);
    }
}

/* Columns that order the rows alike part them alike, whatever rounding says: the first wins. Sums of z that cancel are no
 * gain. */
static void test_bins_ties(void **state)
{
    ferry_ctx *ctx = *state;
    enum { D = 12 };
    const ferry_tree_options o = {.depth = 3, .min_leaf = 2, .reg = 0.25, .bins = ROWS};
    ferry_matrix *x = dense(ctx, ROWS, D, NULL);
    const ferry_tree_data d = {x, false, ROWS, NULL};
    double z[ROWS], c[ROWS];
    ferry_rng rng;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        ferry_i_rng_seed(&rng, seed, 9);
        for (int64_t i = 0; i < ROWS; i++) {
            const double u = ferry_i_rng_normal(&rng);
            for (int64_t j = 0; j < D; j++)
                x->dense[i * D + j] = j % 2 ? -u * (double)(j + 1) : u / (double)(j + 1);
            z[i] = ferry_i_rng_normal(&rng) / 3;
            c[i] = ferry_i_rng_real(&rng);
        }
        ferry_tree *t = from_bins(ctx, &o, &d, z, c);
        assert_true(t->n > 1);
        for (int64_t e = 0; e < t->n; e++)
            assert_true(t->node[e].feature <= 0);
        ferry_i_tree_free(t);
    }
    for (int64_t i = 0; i < ROWS; i++) { /* exclusive or: no column says anything */
        x->dense[i * D] = (double)(i % 2);
        for (int64_t j = 1; j < D; j++)
            x->dense[i * D + j] = (double)(i / 2 % 2);
        z[i] = i % 2 == i / 2 % 2 ? 0.1 + (double)(i / 4) / 3 : -0.1 - (double)(i / 4) / 3;
        c[i] = 1;
    }
    ferry_tree *t = from_bins(ctx, &o, &d, z, c);
    assert_int_equal(t->n, 1);
    ferry_i_tree_free(t);
    ferry_i_matrix_free(x);
}

/* Column by column the booster's trees have the same leaves. */
static void same_leaves(ferry_ctx *ctx, const ferry_tree *t, const ferry_tree_data *d)
{
    ferry_columns *columns = NULL;
    int32_t *rows = calloc((size_t)d->n, sizeof *rows);
    int32_t *cols = calloc((size_t)d->n, sizeof *cols);

    assert_ok(ctx, ferry_i_columns_new(ctx, d, &columns));
    ferry_i_tree_leaves(ctx, t, d, rows);
    ferry_i_columns_leaves(ctx, columns, t, cols);
    assert_memory_equal(rows, cols, (size_t)d->n * sizeof *rows);
    ferry_i_columns_free(columns);
    free(rows);
    free(cols);
}

/* The same bits with any number of threads. */
static void test_threads(void **state)
{
    ferry_ctx *ctx = *state;
    enum { N = 3000, D = 30 };
    ferry_matrix *x = dense(ctx, N, D, NULL);
    const ferry_tree_options o = {.depth = 5, .min_leaf = 3, .reg = 1, .bins = 32};
    const ferry_tree_data d = {x, false, N, NULL};
    double *z = calloc(N, sizeof *z), *c = calloc(N, sizeof *c);
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 3, 3);
    for (int64_t e = 0; e < N * D; e++)
        x->dense[e] = ferry_i_rng_real(&rng) < 0.1 ? NAN : ferry_i_rng_normal(&rng);
    for (int64_t i = 0; i < N; i++) {
        z[i] = ferry_i_rng_normal(&rng) + (x->dense[i * D] > 0);
        c[i] = 1;
    }
    for (int how = FERRY_GROW_EXACT; how <= FERRY_GROW_HISTOGRAM; how++) {
        ferry_tree *t[3] = {NULL, NULL, NULL};
        for (int threads = 1; threads <= 3; threads++) {
            ferry_grower *g = NULL;
            assert_ok(ctx, ferry_ctx_set_threads(ctx, threads));
            assert_ok(ctx, ferry_i_grower_new(ctx, (ferry_growing)how, &o, &d, 1, &g));
            assert_ok(ctx, ferry_i_grower_grow(ctx, g, z, c, &t[threads - 1]));
            ferry_i_grower_free(g);
        }
        for (int i = 1; i < 3; i++) {
            assert_int_equal(t[0]->n, t[i]->n);
            for (int64_t e = 0; e < t[0]->n; e++) {
                assert_int_equal(t[0]->node[e].feature, t[i]->node[e].feature);
                assert_true(t[0]->node[e].threshold == t[i]->node[e].threshold);
                assert_true(t[0]->node[e].value == t[i]->node[e].value);
            }
            ferry_i_tree_free(t[i]);
        }
        if (how == FERRY_GROW_XGBOOST) same_leaves(ctx, t[0], &d);
        ferry_i_tree_free(t[0]);
    }
    free(z);
    free(c);
    ferry_i_matrix_free(x);
}

/* Small integer data: XGBoost parts the rows exactly as the exact tree does, level by level
 * (thresholds lie elsewhere in the same gaps), with and without missing cells. */
static void test_xgboost_splits(void **state)
{
    ferry_ctx *ctx = *state;
    int compared = 0;

    for (uint64_t seed = 1; seed <= 30; seed++) {
        const ferry_tree_options o = {
            .depth = 1 + (int64_t)(seed % 3), .min_child = 4, .reg = 1, .bins = 256};
        sample s;
        make_sample(ctx, seed, true, seed % 2 ? 0.2 : 0, seed % 4 == 1, &s);
        ferry_tree *a = NULL, *b = NULL;
        ferry_booster *booster = NULL;
        int32_t at[ROWS], bt[ROWS], twin[ROWS * 2];
        memset(twin, 0xff, sizeof twin);
        assert_ok(ctx, oracle_tree(ctx, &o, &s.d, s.z, s.c, &a));
        assert_ok(ctx, ferry_i_booster_new(ctx, &o, &s.d, 1, &booster));
        assert_ok(ctx, ferry_i_booster_grow(ctx, booster, s.z, s.c, &b));
        ferry_i_tree_leaves(ctx, a, &s.d, at);
        ferry_i_tree_leaves(ctx, b, &s.d, bt);
        same_leaves(ctx, b, &s.d);
        assert_int_equal(a->node[0].feature, b->node[0].feature);
        assert_close(a->node[0].gain, b->node[0].gain, 1e-4);
        for (int64_t i = 0; i < s.d.n; i++) { /* leaves stand for each other */
            if (twin[at[i]] < 0) twin[at[i]] = bt[i];
            assert_int_equal(twin[at[i]], bt[i]);
            assert_close(a->node[at[i]].value, b->node[bt[i]].value, 1e-5);
            compared++;
        }
        ferry_i_tree_free(a);
        ferry_i_tree_free(b);
        ferry_i_booster_free(booster);
        ferry_i_matrix_free(s.x);
    }
    assert_true(compared == 30 * 50);
}

/* Values that single precision cannot tell apart, or cannot hold, and several scores at
 * once. */
static void test_xgboost_precision(void **state)
{
    ferry_ctx *ctx = *state;
    const double v[] = {1e300, -1e300, 16777217, 16777216, 0.1, 0.2};
    const double z[] = {1, 2, -1, 0.5, 1, 3, -1, 1, 2, 0, 1, 1};
    const double c[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const ferry_tree_options o = {.depth = 3, .reg = 0, .bins = 16};
    ferry_matrix *x = dense(ctx, 6, 1, v);
    const ferry_tree_data d = {x, false, 6, NULL};
    ferry_booster *b = NULL;
    ferry_tree *t[2];

    assert_ok(ctx, ferry_i_booster_new(ctx, &o, &d, 2, &b));
    assert_ok(ctx, ferry_i_booster_grow(ctx, b, z, c, t));
    for (int j = 0; j < 2; j++) { /* mean of z in the leaf is the leaf's value */
        int32_t leaf[6];
        double sum[16] = {0}, n[16] = {0};
        ferry_i_tree_leaves(ctx, t[j], &d, leaf);
        for (int i = 0; i < 6; i++) {
            sum[leaf[i]] += z[2 * i + j];
            n[leaf[i]]++;
        }
        for (int i = 0; i < 6; i++)
            assert_close(t[j]->node[leaf[i]].value, sum[leaf[i]] / n[leaf[i]], 1e-6);
        assert_int_equal(leaf[2], leaf[3]);
        ferry_i_tree_free(t[j]);
    }
    ferry_i_booster_free(b);
    ferry_i_matrix_free(x);
}

static void test_like_csr(void **state)
{
    ferry_ctx *ctx = *state;
    const double words[] = {0, 1, 0, 0}, signs[] = {0, -1, 0, 0}, gaps[] = {0, NAN, 0, 0};
    const double *const all[] = {words, signs, gaps};

    for (int i = 0; i < 3; i++) {
        ferry_matrix *x = dense(ctx, 2, 2, all[i]);
        assert_int_equal(ferry_i_tree_sparse(x), i == 0);
        ferry_i_matrix_free(x);
    }
}

static ferry_status grow_once(ferry_ctx *ctx, void *arg)
{
    const sample *s = arg;
    ferry_status st = FERRY_OK;
    double z[2 * ROWS], c[2 * ROWS];

    for (int i = 0; i < 2 * ROWS; i++) {
        z[i] = s->z[i / 2];
        c[i] = 1;
    }
    for (int how = FERRY_GROW_EXACT; st == FERRY_OK && how <= FERRY_GROW_HISTOGRAM; how++) {
        ferry_grower *g = NULL;
        ferry_tree *t[2] = {NULL, NULL};
        st = ferry_i_grower_new(ctx, (ferry_growing)how, &plain, &s->d, 2, &g);
        if (st == FERRY_OK) st = ferry_i_grower_grow(ctx, g, z, c, t);
        for (int j = 0; j < 2; j++)
            ferry_i_tree_free(t[j]);
        ferry_i_grower_free(g);
    }
    ferry_tree *t = NULL;
    if (st == FERRY_OK) st = oracle_tree(ctx, &plain, &s->d, s->z, s->c, &t);
    ferry_i_tree_free(t);
    return st;
}

static void test_memory(void **state)
{
    ferry_ctx *ctx = *state;
    sample s;

    for (int csr = 0; csr < 2; csr++) {
        make_sample(ctx, 5, false, 0.2, csr, &s);
        each_allocation_fails(ctx, grow_once, &s);
        ferry_i_matrix_free(s.x);
    }
}

static void test_too_much(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_matrix *x = dense(ctx, 1, 1, NULL);
    const ferry_tree_data none = {x, false, 0, NULL};
    ferry_booster *b = NULL;

    assert_fails(ctx, ferry_i_booster_new(ctx, &plain, &none, 1, &b), FERRY_ENEEDS,
                 "0 instances");
    ferry_i_matrix_free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_by_hand, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_missing, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_close_values, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_sorted_is_plain, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_bins_of_all_values, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_bins_by_hand, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_bins_ties, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_threads, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_xgboost_splits, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_xgboost_precision, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_like_csr, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_memory, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_too_much, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
