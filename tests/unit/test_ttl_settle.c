/* Settling and agreement: worked cases, an objective that never falls, edges. */
#include <stdio.h>

#include "golden.h"
#include "methods/shared/bridge.h"
#include "methods/shared/carry.h"
#include "methods/ttl/settle.h"

/* CSR of n x m numbers, zeros left out. */
static ferry_matrix *csr_of(ferry_ctx *ctx, int64_t n, int64_t m, const double *data)
{
    const ferry_array a = {n, m, m, data};
    ferry_matrix *dense = NULL, *x = NULL;

    assert_ok(ctx, ferry_i_matrix_from_array(ctx, &a, &dense));
    assert_ok(ctx, ferry_i_matrix_sparsify(ctx, dense, &x));
    ferry_i_matrix_free(dense);
    return x;
}

/* One run from G0; compares G and the objectives. */
static void check_run(ferry_ctx *ctx, const json_t *file, const json_t *want, double tol,
                      int64_t steps)
{
    int64_t m, n, c, done = 0;
    double *data = golden_transposed(file, "X", &m, &n);
    double *start = golden_array(file, "G0", NULL, &c),
           *g = golden_array(want, "G", NULL, NULL);
    const json_t *known = golden_at(file, "known");
    const ttl_settle_options o = {.beta = golden_real(file, "beta"),
                                  .eta = golden_real(file, "eta"),
                                  .iterations = steps,
                                  .tol = tol};
    ferry_block b = {n, c, start};
    ferry_matrix *x = csr_of(ctx, n, m, data);
    double objective[30];
    int32_t y[64];

    for (int64_t i = 0; json_is_array(known) && i < n; i++)
        y[i] = (int32_t)json_number_value(json_array_get(known, (size_t)i));
    assert_ok(ctx, ferry_i_settle(ctx, &o, x, json_is_array(known) ? y : NULL, &b, NULL,
                                  &done, objective));
    assert_int_equal(done, (int64_t)golden_real(want, "iters"));
    for (int64_t e = 0; e < n * c; e++)
        assert_close(b.data[e], g[e], 1e-8);
    if (json_object_get(want, "objective_before_each_step")) {
        double *j = golden_array(want, "objective_before_each_step", NULL, NULL);
        for (int64_t i = 0; i < done; i++) {
            assert_close(objective[i], j[i], 1e-8);
            if (i > 0) assert_true(objective[i] >= objective[i - 1] - 1e-10);
        }
        free(j);
    }
    ferry_i_matrix_free(x);
    free(data);
    free(start);
    free(g);
}

static void test_golden_settle(void **state)
{
    json_t *file = golden("ttl/ferry_mode.json"), *list;

    if (!file) skip();
    list = golden_at(file, "settle");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i), *after = golden_at(one, "after");
        check_run(*state, one, golden_at(after, "1"), 0, 1);
        check_run(*state, one, golden_at(after, "5"), 0, 5);
        check_run(*state, one, golden_at(after, "30"), 0, 30);
        check_run(*state, one, golden_at(one, "with_tol_1e_3"), 1e-3, 30);
    }
    json_decref(file);
}

static void test_golden_agreement(void **state)
{
    ferry_ctx *ctx = *state;
    json_t *file = golden("ttl/ferry_mode.json"), *list, *halves;

    if (!file) skip();
    list = golden_at(file, "kappa");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        int64_t n;
        double *a = golden_array(one, "a", &n, NULL),
               *b = golden_array(one, "b", NULL, NULL);
        double kappa = NAN;
        int32_t ya[64], yb[64];
        for (int64_t e = 0; e < n; e++) {
            ya[e] = (int32_t)a[e];
            yb[e] = (int32_t)b[e];
        }
        assert_ok(ctx,
                  ferry_i_kappa(ctx, n, ya, yb, (int64_t)golden_real(one, "c"), &kappa));
        assert_close(kappa, golden_real(one, "kappa"), 1e-12);
        free(a);
        free(b);
    }
    halves = golden_at(file, "odd_even");
    {
        const json_t *xs = golden_at(halves, "X"), *odd = golden_at(halves, "odd");
        ferry_matrix *x[2];
        uint8_t half[16];
        for (size_t v = 0; v < 2; v++) {
            json_t *wrap = json_pack("{sO}", "X", json_array_get(xs, v));
            int64_t m, n;
            double *data = golden_transposed(wrap, "X", &m, &n);
            x[v] = csr_of(ctx, n, m, data);
            free(data);
            json_decref(wrap);
        }
        assert_ok(ctx,
                  ferry_i_halves(ctx, 2, (const ferry_matrix *const *)x, x[0]->cols, half));
        for (size_t j = 0; j < json_array_size(odd); j++)
            assert_int_equal(half[j], json_is_true(json_array_get(odd, j)) ? 1 : 2);
        ferry_i_matrix_free(x[0]);
        ferry_i_matrix_free(x[1]);
    }
    json_decref(file);
}

/* Two words, two documents, one step from G = (0.6, 0.4), (0.4, 0.6), beta 1, eta 0.1. x =
 * e_1, e_2: q = 1/2, s = 0.1, theta_11 = (0.6 + 0.05) / (1 + 0.1); G_11 = theta_11 /
 * (theta_11 + theta_12). */
static void test_by_hand(void **state)
{
    ferry_ctx *ctx = *state;
    const double data[] = {1, 0, 0, 1, 0, 0};
    double g[] = {0.6, 0.4, 0.4, 0.6, 0.5, 0.5};
    const ttl_settle_options o = {.beta = 1, .eta = 0.1, .iterations = 1};
    ferry_block b = {3, 2, g};
    ferry_matrix *x = csr_of(ctx, 3, 2, data);
    ttl_mixture m = {0};
    const int32_t one[] = {0, 0, 0}, two[] = {0, 1, 0}, six[] = {1, 1, 0, 0, 1, 0},
                  other[] = {1, 0, 0, 0, 1, 1};
    double kappa = NAN;

    assert_ok(ctx, ferry_i_settle(ctx, &o, x, NULL, &b, &m, NULL, NULL));
    assert_close(g[0], 0.65 / (0.65 + 0.45), 1e-12);
    assert_close(g[4], 0.5, 1e-12); /* no words: the shares of the classes */
    assert_close(exp(FERRY_ROW(m.l, 0)[0]), 0.65 / 1.1 / 0.5, 1e-12);
    ferry_i_mixture_apply(ctx, &m, x, &b);
    assert_close(g[0], 0.65 / (0.65 + 0.45), 1e-12);
    assert_ok(ctx, ferry_i_kappa(ctx, 3, one, two, 2, &kappa));
    assert_close(kappa, 0, 0);
    assert_ok(ctx, ferry_i_kappa(ctx, 3, two, two, 2, &kappa));
    assert_close(kappa, 1, 1e-15);
    assert_ok(ctx, ferry_i_kappa(ctx, 6, six, other, 2, &kappa));
    assert_close(kappa, 1.0 / 3, 1e-14); /* 4 of 6 agree, half by chance */
    ferry_i_mixture_clear(&m);
    ferry_i_matrix_free(x);
}

/* J never falls, with known rows and without. */
static void test_never_falls(void **state)
{
    ferry_ctx *ctx = *state;

    for (uint64_t seed = 0; seed < 12; seed++) {
        const ttl_settle_options o = {
            .beta = 1 + (double)(seed % 4), .eta = 0.05, .iterations = 30};
        const int64_t c = 2 + (int64_t)(seed % 3);
        double data[20 * 9], objective[30];
        ferry_block *g = NULL;
        ferry_matrix *x;
        int32_t known[20];
        ferry_rng rng;
        ferry_i_rng_seed(&rng, seed, 3);
        for (int e = 0; e < 20 * 9; e++)
            data[e] = ferry_i_rng_real(&rng) < 0.6 ? 0 : ferry_i_rng_real(&rng);
        x = csr_of(ctx, 20, 9, data);
        for (int i = 0; i < 20; i++)
            known[i] = seed % 2 && i < 4 ? (int32_t)(i % c) : -1;
        assert_ok(ctx, ferry_i_block_new(ctx, 20, c, &g));
        ferry_i_fill_uniform(g, &rng, 0.1, 1);
        for (int64_t i = 0; i < 20; i++) {
            double sum = 0;
            for (int64_t k = 0; k < c; k++)
                sum += FERRY_ROW(g, i)[k];
            for (int64_t k = 0; k < c; k++)
                FERRY_ROW(g, i)[k] /= sum;
        }
        assert_ok(ctx, ferry_i_settle(ctx, &o, x, known, g, NULL, NULL, objective));
        for (int i = 1; i < 30; i++)
            assert_true(objective[i] >= objective[i - 1] - 1e-11);
        ferry_i_free(g);
        ferry_i_matrix_free(x);
    }
}

/* Nothing to settle: no instances, no words. */
static void test_empty(void **state)
{
    ferry_ctx *ctx = *state;
    const ttl_settle_options o = {.beta = 6, .eta = 0.1, .iterations = 5, .tol = 1e-3};
    const double zeros[4] = {0};
    double g[] = {0.9, 0.1, 0.7, 0.3};
    ferry_block none = {0, 2, g}, two = {2, 2, g};
    ferry_matrix *x = NULL;
    int64_t steps = -1;

    assert_ok(ctx, ferry_i_matrix_csr(ctx, 0, 3, 0, &x));
    assert_ok(ctx, ferry_i_settle(ctx, &o, x, NULL, &none, NULL, &steps, NULL));
    assert_int_equal(steps, 0);
    ferry_i_matrix_free(x);
    x = csr_of(ctx, 2, 2, zeros);
    assert_ok(ctx, ferry_i_settle(ctx, &o, x, NULL, &two, NULL, &steps, NULL));
    assert_close(g[0], 0.8, 1e-12);
    assert_close(g[2], 0.8, 1e-12);
    ferry_i_matrix_free(x);
}

/* Round Gaussians: numbers worked out elsewhere (10 digits), from CSR and from dense; the mixture
 * says the same of the rows as they stand, and rows that are known stay. */
static void test_golden_dense(void **state)
{
    ferry_ctx *ctx = *state;
    json_t *file = golden("../next/features/golden_anyfeat.json"), *list;

    if (!file) skip();
    list = golden_at(file, "settle");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i), *known = golden_at(one, "known");
        int64_t n, d, c;
        double *data = golden_array(one, "x", &n, &d),
               *start = golden_array(one, "g", &n, &c),
               *want = golden_array(one, "result", NULL, NULL);
        const ferry_array a = {n, d, d, data};
        ferry_matrix *x[2] = {csr_of(ctx, n, d, data), NULL};
        int32_t y[64];
        for (int64_t r = 0; r < n; r++)
            y[r] = json_is_array(known)
                       ? (int32_t)json_number_value(json_array_get(known, (size_t)r))
                       : -1;
        assert_ok(ctx, ferry_i_matrix_from_array(ctx, &a, &x[1]));
        for (int v = 0; v < 2; v++) {
            ttl_axes axes;
            ttl_mixture m = {0};
            ferry_block *g = NULL, *again = NULL;
            const ferry_block from = {n, c, start};
            assert_ok(ctx, ferry_i_block_new(ctx, n, c, &g));
            assert_ok(ctx, ferry_i_block_new(ctx, n, c, &again));
            ferry_i_block_copy(&from, g);
            assert_ok(ctx, ferry_i_axes(ctx, x[v], &axes));
            assert_int_equal(axes.z->k, (int64_t)golden_real(one, "pca_dims"));
            assert_ok(ctx, ferry_i_settle_dense(ctx, &axes, y, g, &m));
            ferry_i_mixture_apply(ctx, &m, x[v], again);
            for (int64_t r = 0; r < n; r++)
                for (int64_t k = 0; k < c; k++) {
                    assert_close(FERRY_ROW(g, r)[k], want[r * c + k], 1e-10);
                    if (y[r] < 0)
                        assert_close(FERRY_ROW(again, r)[k], want[r * c + k], 1e-10);
                }
            ferry_i_axes_clear(&axes);
            ferry_i_mixture_clear(&m);
            FERRY_FREE(g, again);
            ferry_i_matrix_free(x[v]);
        }
        free(data);
        free(start);
        free(want);
    }
    json_decref(file);
}

/* Two heaps, far apart, on a wide space and a long one: both ways to the axes find them from
 * labels of which a third is wrong. Rows that are all alike settle on the shares. */
static void test_heaps(void **state)
{
    ferry_ctx *ctx = *state;

    for (int wide = 0; wide < 2; wide++) {
        const int64_t n = 40, d = wide ? 60 : 6;
        double *data = calloc((size_t)(n * d), sizeof *data), g[80];
        ferry_block b = {n, 2, g};
        ferry_matrix *x;
        ttl_axes axes;
        ferry_rng rng;
        ferry_i_rng_seed(&rng, 5, (uint64_t)wide);
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < d; j++)
                data[i * d + j] = ferry_i_rng_real(&rng) - 0.5 + (i % 2 ? 3 : -1);
            g[2 * i] = (i % 2 == 0) != (i % 3 == 0) ? 0.8 : 0.2;
            g[2 * i + 1] = 1 - g[2 * i];
        }
        x = csr_of(ctx, n, d, data);
        assert_ok(ctx, ferry_i_axes(ctx, x, &axes));
        assert_ok(ctx, ferry_i_settle_dense(ctx, &axes, NULL, &b, NULL));
        for (int64_t i = 0; i < n; i++)
            assert_true(g[2 * i] > 0.99 ? i % 2 == 0 : g[2 * i] < 0.01 && i % 2 == 1);
        ferry_i_axes_clear(&axes);
        ferry_i_matrix_free(x);
        for (int64_t e = 0; e < n * d; e++)
            data[e] = 1;
        x = csr_of(ctx, n, d, data);
        for (int64_t i = 0; i < n; i++)
            g[2 * i] = 0.75, g[2 * i + 1] = 0.25;
        assert_ok(ctx, ferry_i_axes(ctx, x, &axes));
        assert_ok(ctx, ferry_i_settle_dense(ctx, &axes, NULL, &b, NULL));
        assert_close(g[0], 0.75, 1e-9);
        ferry_i_axes_clear(&axes);
        ferry_i_matrix_free(x);
        free(data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_golden_settle, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_golden_agreement, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_by_hand, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_never_falls, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_empty, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_golden_dense, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_heaps, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("ttl_settle", tests, NULL, NULL);
}
