/* Passive-aggressive steps: the whole of golden/hetomtl/pa_steps.json where it is present,
 * some steps worked out by hand, and properties. */
#include "golden.h"
#include "learn/online.h"

static void check_weights(const pa *p, const double *want, double tol)
{
    for (int64_t e = 0; e < p->w.n * p->w.k; e++)
        assert_close(p->w.at[e], want[e], tol);
}

static pa_kind kind_of(const char *name)
{
    static const char *const names[] = {"PA", "PA1", "PA2", "printed"};
    int i = 0;

    while (strcmp(names[i], name) != 0)
        assert_true(++i < 4);
    return (pa_kind)i;
}

static void test_golden(void **state)
{
    scope *keep = scope_open(*state);
    json_t *j = golden("hetomtl/pa_steps.json");
    const json_t *step;
    size_t i;
    pa p = {0};

    if (!j) scope_close(keep);
    if (!j) skip();
    json_array_foreach(golden_at(j, "steps"), i, step)
    {
        double *x = golden_array(step, "x", NULL, NULL), f[4];
        double *w = golden_array(step, "W_after", NULL, NULL);
        const ferry_row row = {5, NULL, x};
        if (json_is_true(golden_at(step, "reset"))) {
            p = pa_new(keep, kind_of(json_string_value(golden_at(step, "variant"))),
                       golden_real(step, "C"), 4, 5, false);
        }
        pa_scores(&p, row, f);
        const pa_step s =
            pa_learn(&p, row, row_norm2(row), (int32_t)golden_real(step, "y"), f);
        assert_int_equal(s.r, (int32_t)golden_real(step, "r"));
        assert_close(s.loss, golden_real(step, "loss"), 1e-12);
        assert_close(s.tau, golden_real(step, "tau"), 1e-12);
        check_weights(&p, w, 1e-12);
        free(w);
        free(x);
    }
    json_decref(j);
    scope_close(keep);
}

/* Two steps by hand. x = (1, 2), y = 1, W = 0: r = 0, l = 1, x'x = 5. Then x = (2, 0),
 * y = 0. */
static void check_hand(ferry_ctx *ctx, pa_kind kind, double C, double tau1, double tau2)
{
    scope *keep = scope_open(ctx);
    const double a[] = {1, 2}, b[] = {2, 0};
    const ferry_row xa = {2, NULL, a}, xb = {2, NULL, b};
    double f[3];
    pa p = {0};
    pa_step s;

    p = pa_new(keep, kind, C, 3, 2, false);
    pa_scores(&p, xa, f);
    s = pa_learn(&p, xa, 5, 1, f);
    assert_int_equal(s.r, 0);
    assert_close(s.tau, tau1, 1e-15);
    /* W = [-tau1 x; tau1 x; 0]: f = (-2 tau1, 2 tau1, 0), so r = 1, l = 1 + 4 tau1 */
    pa_scores(&p, xb, f);
    s = pa_learn(&p, xb, 4, 0, f);
    assert_int_equal(s.r, 1);
    assert_close(s.loss, 1 + 4 * tau1, 1e-15);
    assert_close(s.tau, tau2, 1e-15);
    assert_close(p.w.at[0], -tau1 + 2 * tau2, 1e-15);
    assert_close(p.w.at[3], 2 * tau1, 1e-15);
    assert_int_equal(p.steps, 2);
    scope_close(keep);
}

static void test_by_hand(void **state)
{
    ferry_ctx *ctx = *state;

    check_hand(ctx, PA, 1, 0.1, 1.4 / 8);
    check_hand(ctx, PA1, 0.15, 0.1, 0.15);
    check_hand(ctx, PA2, 0.5, 1.0 / 11, (1 + 4.0 / 11) / 9);
    check_hand(ctx, PA_PRINTED, 1, 1, 5.0 / 16);
}

/* After a PA step the margin is 1; a second step on the same sample changes nothing unless
 * a third class is in the way. */
static void test_margin(void **state)
{
    scope *keep = scope_open(*state);
    ferry_rng rng;
    pa p = {0};

    ferry_i_rng_seed(&rng, 3, 0);
    p = pa_new(keep, PA, 1, 5, 13, false);
    for (int i = 0; i < 200; i++) {
        double v[13], f[5];
        const ferry_row x = {13, NULL, v};
        const int32_t y = (int32_t)ferry_i_rng_below(&rng, 5);
        for (int c = 0; c < 13; c++)
            v[c] = ferry_i_rng_normal(&rng);
        pa_scores(&p, x, f);
        const pa_step s = pa_learn(&p, x, row_norm2(x), y, f);
        pa_scores(&p, x, f);
        if (s.loss > 0) assert_close(f[y] - f[s.r], 1, 1e-12);
        assert_true(s.tau >= 0);
    }
    scope_close(keep);
}

/* The average of all weights after each sample, kept in two rows a step. A sparse row is
 * the dense one. */
static void test_average(void **state)
{
    scope *keep = scope_open(*state);
    ferry_rng rng;
    pa p = {0}, q = {0};
    double sum[3 * 9] = {0};

    ferry_i_rng_seed(&rng, 4, 0);
    p = pa_new(keep, PA1, 0.7, 3, 9, true);
    q = pa_new(keep, PA1, 0.7, 3, 9, true);
    for (int i = 0; i < 100; i++) {
        double v[9] = {0}, few[9], f[3], g[3], h[3] = {0};
        int32_t index[9];
        ferry_row x = {9, NULL, v}, s = {0, index, few};
        const int32_t y = (int32_t)ferry_i_rng_below(&rng, 3);
        for (int c = 0; c < 9; c++) {
            if (ferry_i_rng_below(&rng, 2)) continue;
            index[s.n] = c;
            few[s.n++] = v[c] = ferry_i_rng_normal(&rng);
        }
        pa_scores(&p, x, f);
        pa_scores(&q, s, g);
        for (int c = 0; c < 3; c++) {
            assert_close(g[c], f[c], 1e-12);
            for (int e = 0; e < 9 && i > 0; e++)
                h[c] += sum[c * 9 + e] / i * v[e];
        }
        (void)pa_learn(&p, x, row_norm2(x), y, f);
        (void)pa_learn(&q, s, row_norm2(s), y, g);
        pa_scores(&p, x, f);
        pa_average(&p, x, f);
        for (int e = 0; e < 27; e++)
            sum[e] += p.w.at[e];
        for (int c = 0; c < 3; c++) {
            h[c] = 0;
            for (int e = 0; e < 9; e++)
                h[c] += sum[c * 9 + e] / (i + 1) * v[e];
            assert_close(f[c], h[c], 1e-11);
        }
    }
    scope_close(keep);
}

/* Zero and tiny rows, one class, none: no step, no NaN. */
static void test_nothing(void **state)
{
    scope *keep = scope_open(*state);
    const double zero[3] = {0}, tiny[3] = {1e-200, 0, 0};
    const ferry_row x = {3, NULL, zero}, t = {3, NULL, tiny};
    double f[2] = {0};
    pa p = {0};
    pa_step s;

    p = pa_new(keep, PA, 1, 2, 3, false);
    s = pa_learn(&p, x, 0, 0, f);
    assert_true(s.r == 1 && s.loss == 1 && s.tau == 0);
    s = pa_learn(&p, t, 1e-320, 0, f);
    assert_true(s.tau == 0);
    for (int e = 0; e < 6; e++)
        assert_true(p.w.at[e] == 0);
    p = pa_new(keep, PA1, 1, 1, 3, false);
    s = pa_learn(&p, x, 1, 0, f);
    assert_true(s.r == -1 && s.loss == 0 && s.tau == 0);
    assert_int_equal(row_argmax(0, f), -1);
    f[0] = f[1] = 2;
    assert_int_equal(row_argmax(2, f), 0);
    scope_close(keep);
}

/* Rows in groups of four, two and one, odd lengths. */
static void test_dot(void **state)
{
    double a[11 * 29], x[29], out[11];
    ferry_rng rng;

    (void)state;
    ferry_i_rng_seed(&rng, 9, 0);
    for (int e = 0; e < 11 * 29; e++)
        a[e] = ferry_i_rng_normal(&rng);
    for (int e = 0; e < 29; e++)
        x[e] = ferry_i_rng_normal(&rng);
    for (int64_t d = 0; d <= 29; d++) {
        const ferry_row row = {d, NULL, x};
        for (int64_t n = 0; n <= 11; n++) {
            row_scores(n, d, a, row, out);
            for (int64_t i = 0; i < n; i++) {
                double sum = 0;
                for (int64_t j = 0; j < d; j++)
                    sum += a[i * d + j] * x[j];
                assert_close(out[i], sum, 1e-13);
            }
        }
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_golden),  TEST(test_by_hand), TEST(test_margin),
        TEST(test_average), TEST(test_nothing), TEST(test_dot),
    };
    return cmocka_run_group_tests_name("online", tests, NULL, NULL);
}
