/* Operations on matrices and blocks: against plain loops, and the same where rows are spread over ranks. */
#include "linalg/ops.h"

#include <stdio.h>

#include "core/ranks.h"
#include "ferry_test.h"
#include "on_ranks.h"

enum { N = 23, D = 7, K = 3, MOST = 2048 };

/* ---- data: the same on every rank, of which each takes its part ---- */

static double cell(int64_t i, int64_t j)
{
    const int64_t v = (i * 31 + j * 17 + i * j * 5) % 11 - 4;

    return v <= 0 ? 0 : (double)v + 0.25 * (double)((i + j) % 4);
}

static matrix data(scope *s, bool csr)
{
    int64_t from = 0, to = N;
    ferry_matrix *m = NULL, *part = NULL;

    ferry_i_ranks_part(scope_ctx(s), N, &from, &to);
    scope_check(s, ferry_i_matrix_dense(scope_ctx(s), to - from, D, &m));
    for (int64_t i = from; i < to; i++)
        for (int64_t j = 0; j < D; j++)
            m->dense[(i - from) * D + j] = j == 5 ? 0 : cell(i, j); /* an empty column */
    m->whole = ferry_i_ranks_split(scope_ctx(s)) ? N : 0;
    const matrix x = matrix_own(s, m);
    if (!csr) return x;
    scope_check(s, ferry_i_matrix_sparsify(scope_ctx(s), m, &part));
    return matrix_own(s, part);
}

static block numbers(scope *s, layout rows, int64_t n, int64_t k, double by)
{
    const block b = block_new(s, rows, n, k);

    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < k; j++)
            ROW(b, i)[j] = sin(by + (double)((rows.first + i) * k + j));
    return b;
}

/* ---- all operations, their results one after the other ---- */

typedef struct results {
    bool csr;
    double at[MOST];
    int64_t n;
} results;

static void put(results *r, int64_t n, const double *v)
{
    assert_true(r->n + n <= MOST);
    for (int64_t i = 0; i < n; i++)
        r->at[r->n++] = v[i];
}

static void put_block(scope *s, results *r, block b)
{
    const block all = replicate(s, b);

    put(r, all.n * all.k, all.at);
}

static void all_of_them(scope *s, void *arg)
{
    results *r = arg;
    const matrix x = data(s, r->csr);
    const block b = numbers(s, HERE(D), D, K, 1), g = numbers(s, x.rows, x.n, K, 2);
    const block xb = block_new(s, x.rows, x.n, K), xg = block_like(s, b);
    const small gg = small_new(s, K, K);
    double sum_of[K], mean[D], *weight = NEW(s, double, x.n);

    for (int64_t i = 0; i < x.n; i++)
        weight[i] = (double)((x.rows.first + i) % 3);
    for (int64_t j = 0; j < D; j++)
        mean[j] = 0.5 * (double)j;
    mul(s, x, b, xb);
    put_block(s, r, xb);
    tmul(s, x, g, xg);
    put_block(s, r, xg);
    gram(s, g, xb, gg);
    put(r, K * K, gg.at);
    bmul(s, g, gg, xb);
    put_block(s, r, xb);
    bmul_t(s, g, gg, xb);
    put_block(s, r, xb);
    axpby(s, 2, g, -1, xb);
    put_block(s, r, xb);
    put(r, D * D, cross(s, x, mean, weight).at);
    put(r, D * D, cross(s, x, NULL, NULL).at);
    column_sums(s, g, sum_of);
    put(r, K, sum_of);
    put(r, D, mass(s, x, NULL));
    put(r, D, mass(s, x, weight));
    const double one[] = {square_sum(s, g),
                          inner(s, g, xb),
                          norm2(s, x),
                          (double)entries(s, x),
                          largest_change(s, g, xb),
                          sum(s, x.rows, (double)x.n),
                          most(s, x.rows, (double)(x.rows.first + x.n))};
    put(r, FERRY_COUNT(one), one);
    const uint8_t *used = columns_used(s, x);
    for (int64_t j = 0; j < D; j++)
        put(r, 1, &(double){used[j]});
    fill_normal(s, scope_rng(s, "fill"), g);
    put_block(s, r, g);
    fill_uniform(s, scope_rng(s, "fill"), -1, 2, g);
    put_block(s, r, g);
}

/* Rows and columns that are taken, and rows on top of each other. */
static void reshaped(scope *s, void *arg)
{
    results *r = arg;
    const matrix x = data(s, r->csr);
    int64_t *rows = NEW(s, int64_t, x.n), n = 0;
    const uint8_t keep[D] = {1, 0, 1, 1, 0, 1, 1};

    for (int64_t i = 0; i < x.n; i++)
        if ((x.rows.first + i) % 3 != 1) rows[n++] = i;
    const matrix some = take_rows(s, x, n, rows, false),
                 unit = take_rows(s, x, -1, NULL, true),
                 cut = take_columns(s, x, keep, true),
                 pile = stack(s, 2, (matrix[]){some, x}),
                 pair = beside(s, 2, (matrix[]){x, cut});
    const matrix none = take_rows(s, x, 0, rows, false); /* of any process */
    const matrix all[] = {some,           unit, cut,
                          pile,           pair, to_sparse(s, x),
                          to_dense(s, x), none, stack(s, 2, (matrix[]){none, some})};
    for (int64_t i = 0; i < FERRY_COUNT(all); i++) {
        const block one = numbers(s, HERE(all[i].cols), all[i].cols, 1, 3);
        const block y = block_new(s, all[i].rows, all[i].n, 1);
        mul(s, all[i], one, y);
        put(r, 1, &(double){(double)all[i].rows.n});
        put_block(s, r, y);
    }
    const matrix together = replicate_rows(s, x);
    const small xx = outer(s, together, NULL);
    put(r, 3, xx.at);
}

/* X', whose rows are spread by a layout of their own, and rows that each process works out for all. */
static void turned(scope *s, void *arg)
{
    results *r = arg;
    const matrix x = to_sparse(s, data(s, r->csr));
    int64_t from = 0, to = D;

    ferry_i_ranks_part(scope_ctx(s), D, &from, &to);
    const layout rows = {.n = D, .spread = x.rows.spread, .first = from};
    const matrix xt = transpose(s, x, rows, to - from);
    const block all = block_new(s, HERE(D), D, 1), part = block_part(all, rows, xt.n);
    const block want = block_new(s, HERE(D), D, 1);
    assert_int_equal(entries(s, xt), entries(s, x));
    mul(s, xt, numbers(s, HERE(N), N, 1, 4), part);
    share_rows(s, part, all);
    tmul(s, x, numbers(s, x.rows, x.n, 1, 4), want);
    for (int64_t j = 0; j < D; j++)
        assert_close(all.at[j], want.at[j], 1e-12);
    put(r, D, all.at);
}

static void both(scope *s, void *arg)
{
    all_of_them(s, arg);
    reshaped(s, arg);
    turned(s, arg);
}

/* ---- against plain loops ---- */

static void test_against_plain_loops(void **state)
{
    static results r;

    for (int csr = 0; csr < 2; csr++) {
        r = (results){.csr = csr};
        assert_ok(*state, scope_run(*state, all_of_them, &r));
        int64_t at = 0;
        for (int64_t i = 0; i < N; i++) /* X B */
            for (int64_t k = 0; k < K; k++, at++) {
                double want = 0;
                for (int64_t j = 0; j < D; j++)
                    want += (j == 5 ? 0 : cell(i, j)) * sin(1 + (double)(j * K + k));
                assert_close(r.at[at], want, 1e-12);
            }
        for (int64_t j = 0; j < D; j++) /* X'G */
            for (int64_t k = 0; k < K; k++, at++) {
                double want = 0;
                for (int64_t i = 0; i < N; i++)
                    want += (j == 5 ? 0 : cell(i, j)) * sin(2 + (double)(i * K + k));
                assert_close(r.at[at], want, 1e-12);
            }
        at += K * K + 3 * N * K;
        for (int64_t j = 0; j < D; j++) /* (X - m)'D(X - m) */
            for (int64_t l = 0; l < D; l++, at++) {
                double want = 0;
                for (int64_t i = 0; i < N; i++)
                    want += (double)(i % 3) *
                            ((j == 5 ? 0 : cell(i, j)) - 0.5 * (double)j) *
                            ((l == 5 ? 0 : cell(i, l)) - 0.5 * (double)l);
                assert_close(r.at[at], want, 1e-12);
            }
    }
}

/* ---- cholesky and what it solves ---- */

static void solving(scope *s, void *arg)
{
    const small a = small_new(s, 3, 3), bad = small_new(s, 2, 2);
    const block b = block_new(s, HERE(3), 3, 2);
    const double of[3][3] = {{4, 1, 0.5}, {1, 3, -1}, {0.5, -1, 5}};

    (void)arg;
    for (int64_t i = 0; i < 3; i++)
        for (int64_t j = 0; j < 3; j++)
            AT(a, i, j) = of[i][j];
    for (int64_t i = 0; i < 6; i++)
        b.at[i] = (double)(i + 1);
    assert_true(cholesky(s, a));
    cholesky_solve(s, a, b);
    for (int64_t i = 0; i < 3; i++)
        for (int64_t k = 0; k < 2; k++) {
            double back = 0;
            for (int64_t j = 0; j < 3; j++)
                back += of[i][j] * ROW(b, j)[k];
            assert_close(back, (double)(i * 2 + k + 1), 1e-14);
        }
    AT(bad, 0, 0) = AT(bad, 0, 1) = AT(bad, 1, 0) = AT(bad, 1, 1) = 1; /* singular */
    assert_false(cholesky(s, bad));
    const small e = small_new(s, 2, 2);
    AT(e, 0, 0) = AT(e, 1, 1) = 2;
    AT(e, 0, 1) = AT(e, 1, 0) = 1;
    const double *w = eigh(s, e);
    assert_close(w[0], 1, 1e-14);
    assert_close(w[1], 3, 1e-14);
}

static void test_small_systems(void **state)
{
    assert_ok(*state, scope_run(*state, solving, NULL));
}

/* (X - m)(X - m)', dense and sparse alike. */
static void products_of_rows(scope *s, void *arg)
{
    const matrix x = data(s, *(bool *)arg);
    double mean[D];

    for (int64_t j = 0; j < D; j++)
        mean[j] = 0.5 * (double)j;
    const small a = outer(s, x, mean);
    for (int64_t i = 0; i < N; i++)
        for (int64_t k = 0; k < N; k++) {
            double want = 0;
            for (int64_t j = 0; j < D; j++)
                want += ((j == 5 ? 0 : cell(i, j)) - mean[j]) *
                        ((j == 5 ? 0 : cell(k, j)) - mean[j]);
            assert_close(AT(a, i, k), want, 1e-12);
        }
}

static void test_products_of_rows(void **state)
{
    for (int csr = 0; csr < 2; csr++)
        assert_ok(*state, scope_run(*state, products_of_rows, &(bool){csr}));
}

/* ---- over ranks ---- */

static int same_on_ranks(ferry_ctx *ctx, void *arg)
{
    const results *want = arg;
    static results r;

    r = (results){.csr = want->csr};
    if (scope_run(ctx, both, &r) != FERRY_OK) return 1;
    if (r.n != want->n) return 2;
    for (int64_t i = 0; i < r.n; i++)
        if (!(fabs(r.at[i] - want->at[i]) <= 1e-12 * (1 + fabs(want->at[i])))) {
            (void)fprintf(stderr, "number %lld: %.17g, one process %.17g\n", (long long)i,
                          r.at[i], want->at[i]);
            return 3;
        }
    return 0;
}

static void test_rows_over_ranks(void **state)
{
    static results want;
    int status[RANKS];

    for (int csr = 0; csr < 2; csr++) {
        want = (results){.csr = csr};
        assert_ok(*state, scope_run(*state, both, &want));
        on_ranks(same_on_ranks, &want, status);
        for (int i = 0; i < RANKS; i++)
            assert_int_equal(status[i], 0);
    }
}

static ferry_status run_both(ferry_ctx *ctx, void *arg)
{
    static results r;

    r = (results){.csr = *(bool *)arg};
    return scope_run(ctx, both, &r);
}

static void test_every_allocation_fails(void **state)
{
    for (int csr = 0; csr < 2; csr++)
        each_allocation_fails(*state, run_both, &(bool){csr});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_against_plain_loops, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_small_systems, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_products_of_rows, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_rows_over_ranks, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_every_allocation_fails, ctx_setup,
                                        ctx_teardown),
    };
    return cmocka_run_group_tests_name("ops", tests, NULL, NULL);
}
