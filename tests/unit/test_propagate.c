/* Label propagation. */
#include "ferry_test.h"

#include "learn/learn.h"

/* A path 0 - 1 - ... - n-1 with these weights. */
static ferry_matrix *path(ferry_ctx *ctx, int64_t n, const double *w)
{
    ferry_matrix *g = NULL;
    int64_t m = 0;

    assert_ok(ctx, ferry_i_matrix_csr(ctx, n, n, 2 * (n - 1), &g));
    for (int64_t i = 0; i < n; i++) {
        if (i > 0) {
            g->index[m] = (int32_t)i - 1;
            g->value[m++] = w[i - 1];
        }
        if (i < n - 1) {
            g->index[m] = (int32_t)i + 1;
            g->value[m++] = w[i];
        }
        g->start[i + 1] = m;
    }
    return g;
}

/* On a path between a 0 and a 1 the harmonic function is linear in the resistance. */
static void test_path(void **state)
{
    ferry_ctx *ctx = *state;
    const double w[] = {1, 0.5, 1, 2}; /* resistances 1, 2, 1, 0.5 */
    const int32_t cls[] = {0, -1, -1, -1, 1};
    const double want[] = {0, 1 / 4.5, 3 / 4.5, 4 / 4.5, 1};
    ferry_matrix *g = path(ctx, 5, w);
    ferry_block *f = NULL;

    assert_ok(ctx, ferry_i_block_new(ctx, 5, 2, &f));
    const int64_t sweeps = ferry_i_propagate(g, 2, cls, 10000, 1e-13, NULL, f);
    assert_true(sweeps > 1 && sweeps < 10000);
    for (int64_t i = 0; i < 5; i++) {
        assert_close(FERRY_ROW(f, i)[1], want[i], 1e-11);
        assert_close(FERRY_ROW(f, i)[0], 1 - want[i], 1e-11);
    }
    /* class mass: the three without a label share 1/2 each way */
    const double mass[] = {0.5, 0.5};
    double sum[2] = {0, 0};
    (void)ferry_i_propagate(g, 2, cls, 10000, 1e-13, mass, f);
    for (int64_t i = 1; i < 4; i++)
        for (int k = 0; k < 2; k++)
            sum[k] += FERRY_ROW(f, i)[k];
    assert_close(sum[0], 0.5, 1e-12);
    assert_close(sum[1], 0.5, 1e-12);
    assert_close(FERRY_ROW(f, 0)[0], 1, 0); /* what is known stays */
    assert_int_equal(ferry_i_propagate(g, 2, cls, 1, 0, NULL, f), 1);
    ferry_i_free(f);
    ferry_i_matrix_free(g);
}

/* What no label reaches keeps the shares of the labels, or is even without any. */
static void test_unreached(void **state)
{
    ferry_ctx *ctx = *state;
    const double w[] = {1, 0};
    const int32_t cls[] = {1, -1, -1}, none[] = {-1, -1, -1};
    ferry_matrix *g = path(ctx, 3, w);
    ferry_block *f = NULL;

    assert_ok(ctx, ferry_i_block_new(ctx, 3, 3, &f));
    (void)ferry_i_propagate(g, 3, cls, 100, 1e-12, NULL, f);
    assert_close(FERRY_ROW(f, 1)[1], 1, 1e-12);
    assert_close(FERRY_ROW(f, 2)[1], 1, 1e-12);
    (void)ferry_i_propagate(g, 3, none, 100, 1e-12, NULL, f);
    assert_close(FERRY_ROW(f, 2)[0], 1.0 / 3, 1e-12);
    ferry_i_free(f);
    ferry_i_matrix_free(g);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)
    const struct CMUnitTest tests[] = {T(test_path), T(test_unreached)};
    return cmocka_run_group_tests_name("propagate", tests, NULL, NULL);
}
