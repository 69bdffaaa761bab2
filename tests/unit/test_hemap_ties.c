/* hemap's ties against a case worked out by an independent program: C of classes, and the published matrix with it. */
#include <jansson.h>

#include "golden.h"
#include "methods/hemap.c" /* its insides */

static block golden_block(scope *s, const json_t *j, const char *key)
{
    int64_t n = 0, k = 0;
    double *v = golden_array(j, key, &n, &k);
    const block b = block_new(s, HERE(n), n, k);

    memcpy(b.at, v, (size_t)(n * k) * sizeof *v);
    free(v);
    return b;
}

static const int32_t *golden_groups(scope *s, const json_t *j, const char *key)
{
    int64_t n = 0;
    double *v = golden_array(j, key, &n, NULL);
    int32_t *group = NEW(s, int32_t, n);

    for (int64_t i = 0; i < n; i++)
        group[i] = (int32_t)v[i];
    free(v);
    return group;
}

static small covariance(scope *s, block x)
{
    const small k = small_new(s, x.k, x.k);

    gram(s, x, x, k);
    for (int64_t i = 0; i < x.k * x.k; i++)
        k.at[i] /= (double)x.n;
    return k;
}

static void check_paired(scope *s, void *arg)
{
    const json_t *j = arg;
    const block t = golden_block(s, j, "T"), x = golden_block(s, j, "S"),
                want = golden_block(s, j, "cross"), v = golden_block(s, j, "V"),
                values = golden_block(s, j, "eigenvalues");
    const small c = small_new(s, t.k, x.k), wt = small_new(s, t.k, 2),
                ws = small_new(s, x.k, 2);
    double value[2];

    assert_int_equal(
        cross_groups(s, t, golden_groups(s, j, "y_T"), x, golden_groups(s, j, "v_S"), 2, c),
        2);
    for (int64_t i = 0; i < c.rows; i++)
        for (int64_t k = 0; k < c.cols; k++)
            assert_close(AT(c, i, k), ROW(want, i)[k], 1e-10);
    solve_eig(s, covariance(s, t), covariance(s, x), c, golden_real(j, "beta"), 2, value,
              wt, ws);
    for (int64_t k = 0; k < 2; k++) {
        double dot = 0;
        assert_close(value[k], values.at[k], 1e-8);
        for (int64_t i = 0; i < v.n; i++)
            dot += (i < t.k ? AT(wt, i, k) : AT(ws, i - t.k, k)) * ROW(v, i)[k];
        assert_close(fabs(dot), 1, 1e-10); /* then b_T = T v_T and b_S = S v_S agree, too */
    }
}

static void test_golden_paired(void **state)
{
    ferry_ctx *ctx = *state;
    json_t *j = golden("hemap/paired.json");

    if (!j) skip();
    assert_ok(ctx, scope_run(ctx, check_paired, j));
    json_decref(j);
}

/* CCA of two sets that are turned versions of each other, with all rows paired: correlations l / (l + r). */
static void check_cca(scope *s, void *arg)
{
    const double l[] = {4, 1}, r[] = {0.5, 0.5};
    const small c = small_new(s, 2, 2), wt = small_new(s, 2, 2), ws = small_new(s, 2, 2);
    double corr[2];

    (void)arg;
    AT(c, 0, 0) = l[0]; /* S = T */
    AT(c, 1, 1) = l[1];
    cca_solve(s, l, l, r, c, 2, corr, wt, ws);
    for (int j = 0; j < 2; j++) {
        assert_close(corr[j], l[j] / (l[j] + 0.5), 1e-12);
        assert_close(fabs(AT(wt, j, j)), 1 / sqrt(l[j] + 0.5), 1e-12);
        assert_close(AT(wt, j, j), AT(ws, j, j), 1e-12);
    }
}

static void test_cca(void **state)
{
    assert_ok(*state, scope_run(*state, check_cca, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_golden_paired, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_cca, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("hemap ties", tests, NULL, NULL);
}
