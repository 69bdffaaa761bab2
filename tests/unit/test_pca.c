/* Principal axes: orthonormal, in the order of variance, the same by either side and over ranks. */
#include "learn/pca.h"

#include "core/ranks.h"
#include "ferry_test.h"
#include "on_ranks.h"

static double value(int64_t i, int64_t j)
{
    return sin(1.3 * (double)i + (double)j) * (double)(j + 1) + 0.2 * cos((double)(i * j)) +
           3;
}

typedef struct shape {
    int64_t n, d, most;
    double share;
    bool csr;
    double z[2000]; /* of all rows */
    int64_t q;
} shape;

static matrix rows_of(scope *s, const shape *p)
{
    int64_t from = 0, to = 0;

    ferry_i_ranks_part(scope_ctx(s), p->n, &from, &to);
    const layout rows = {
        .n = p->n, .spread = ferry_i_ranks_split(scope_ctx(s)), .first = from};
    const matrix x = matrix_dense(s, rows, to - from, p->d);
    for (int64_t i = from; i < to; i++)
        for (int64_t j = 0; j < p->d; j++)
            x.m->dense[(i - from) * p->d + j] = value(i, j);
    return p->csr ? to_sparse(s, x) : x;
}

static void axes(scope *s, void *arg)
{
    shape *p = arg;
    const matrix x = rows_of(s, p);
    const pca a = pca_fit(s, x, p->most, p->share);
    const small vv = small_new(s, a.v.k, a.v.k), zz = small_new(s, a.z.k, a.z.k);

    gram(s, a.v, a.v, vv);
    gram(s, a.z, a.z, zz);
    for (int64_t i = 0; i < a.v.k; i++)
        for (int64_t j = 0; j < a.v.k; j++) {
            if (a.value[i] <= 1e-6 * a.value[0] || a.value[j] <= 1e-6 * a.value[0])
                continue; /* no variance, no direction */
            if (fabs(AT(vv, i, j) - (double)(i == j)) > 1e-10 ||
                fabs(AT(zz, i, j) - (i == j ? a.value[i] : 0)) > 1e-9 * a.value[0])
                scope_fail(s, FERRY_ENUMERIC, "axes %lld and %lld", (long long)i,
                           (long long)j);
        }
    p->q = a.v.k;
    const block all = replicate(s, a.z);
    for (int64_t i = 0; i < all.n; i++)
        for (int64_t k = 0; k < all.k; k++) /* signs may differ between the two sides */
            p->z[i * all.k + k] = ROW(all, i)[k] * (ROW(all, 0)[k] < 0 ? -1 : 1);
}

/* Tall and wide give the same rows on the axes: X' has no part in it. */
static void test_axes(void **state)
{
    static const struct {
        int64_t n, d, most, want;
        double share;
    } all[] = {{40, 6, 6, 6, 1.1}, {40, 6, 3, 3, 1.1}, {8, 30, 5, 5, 1.1},
               {40, 6, 6, 2, 0.5}, {1, 4, 4, 1, 0.9},  {5, 1, 9, 1, 0.9}};

    for (int64_t i = 0; i < FERRY_COUNT(all); i++)
        for (int csr = 0; csr < 2; csr++) {
            static shape p;
            p = (shape){all[i].n, all[i].d, all[i].most, all[i].share, csr, {0}, 0};
            assert_ok(*state, scope_run(*state, axes, &p));
            if (all[i].share > 1 || all[i].want == 1)
                assert_int_equal(p.q, all[i].want);
            else
                assert_in_range(p.q, 1, all[i].n);
        }
}

static int same_on_ranks(ferry_ctx *ctx, void *arg)
{
    const shape *want = arg;
    static shape p;

    p = (shape){want->n, want->d, want->most, want->share, want->csr, {0}, 0};
    if (scope_run(ctx, axes, &p) != FERRY_OK) return 1;
    if (p.q != want->q) return 2;
    for (int64_t i = 0; i < p.n * p.q; i++)
        if (!(fabs(p.z[i] - want->z[i]) <= 1e-9 * (1 + fabs(want->z[i])))) return 3;
    return 0;
}

static void test_over_ranks(void **state)
{
    int status[RANKS];

    for (int wide = 0; wide < 2; wide++) {
        static shape p;
        p = (shape){wide ? 9 : 50, wide ? 40 : 5, 4, 1.1, wide, {0}, 0};
        assert_ok(*state, scope_run(*state, axes, &p));
        on_ranks(same_on_ranks, &p, status);
        for (int r = 0; r < RANKS; r++)
            assert_int_equal(status[r], 0);
    }
}

/* Larger than what is solved whole, so by Lanczos: rows on two hidden directions are found again. */
static void hidden(scope *s, void *arg)
{
    enum { N = 2100, D = 2050 };
    const matrix x = matrix_dense(s, HERE(N), N, D);
    double off = 0;

    (void)arg;
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = 0; j < D; j++)
            x.m->dense[i * D + j] = 5 * sin((double)i) * cos(0.1 * (double)j) +
                                    2 * cos(0.3 * (double)i) * sin(0.2 * (double)j) + 1;
    const pca a = pca_fit(s, x, 4, 0.9999);
    assert_int_equal(a.v.k, 2);
    for (int64_t i = 0; i < N; i += 97) /* what the axes leave of a row is nothing */
        for (int64_t j = 0; j < D; j += 31) {
            double back = a.mean[j];
            for (int64_t k = 0; k < 2; k++)
                back += ROW(a.z, i)[k] * ROW(a.v, j)[k];
            off = fmax(off, fabs(back - x.m->dense[i * D + j]));
        }
    assert_true(off < 1e-6);
}

static void test_lanczos(void **state)
{
    assert_ok(*state, scope_run(*state, hidden, NULL));
}

static ferry_status run_axes(ferry_ctx *ctx, void *arg)
{
    return scope_run(ctx, axes, arg);
}

static void test_every_allocation_fails(void **state)
{
    static shape p;

    p = (shape){12, 5, 3, 0.9, true, {0}, 0};
    each_allocation_fails(*state, run_axes, &p);
    p = (shape){5, 12, 3, 0.9, false, {0}, 0};
    each_allocation_fails(*state, run_axes, &p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_axes, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_over_ranks, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_lanczos, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_every_allocation_fails, ctx_setup,
                                        ctx_teardown),
    };
    return cmocka_run_group_tests_name("pca", tests, NULL, NULL);
}
