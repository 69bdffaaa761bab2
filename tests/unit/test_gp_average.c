/* Averaged Gaussian processes: golden cases of an independent program; rows left out as if fitted without them. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "ferry_test.h"
#include "golden.h"
#include "learn/gp_average.h"

/* An array of the file, for as long as s: a failing allocation may leave before it could be freed. */
static double *numbers(scope *s, const json_t *j, const char *key, int64_t *rows,
                       int64_t *cols)
{
    double *v = golden_array(j, key, rows, cols);

    scope_defer(s, free, v);
    return v;
}

/* Standardised by all rows, as the golden cases are. */
static block rows_of(scope *s, const json_t *j)
{
    int64_t n = 0, d = 0;
    double *x = numbers(s, j, "X", &n, &d);
    const block z = block_new(s, HERE(n), n, d);

    for (int64_t k = 0; k < d; k++) {
        double mean = 0, square = 0;
        for (int64_t i = 0; i < n; i++)
            mean += x[i * d + k] / (double)n;
        for (int64_t i = 0; i < n; i++)
            square += (x[i * d + k] - mean) * (x[i * d + k] - mean) / (double)n;
        for (int64_t i = 0; i < n; i++)
            ROW(z, i)[k] = fmin(fmax((x[i * d + k] - mean) / sqrt(square), -5), 5);
    }
    return z;
}

static block take(scope *s, block x, int64_t n, const double *rows)
{
    const block out = block_new(s, HERE(n), n, x.k);

    for (int64_t i = 0; x.at && i < n; i++)
        memcpy(ROW(out, i), ROW(x, (int64_t)rows[i]), (size_t)x.k * sizeof(double));
    return out;
}

/* A column of numbers as it is, or as the probability of the second of two classes. */
static block column(scope *s, const json_t *j, const char *key, bool classes)
{
    int64_t n = 0;
    double *v = numbers(s, j, key, &n, NULL);
    const block out = block_new(s, HERE(n), n, classes ? 2 : 1);

    for (int64_t i = 0; i < n; i++) {
        ROW(out, i)[0] = classes ? 1 - v[i] : v[i];
        ROW(out, i)[out.k - 1] = v[i];
    }
    return out;
}

static void near(scope *s, const json_t *j, const char *key, block f)
{
    int64_t n = 0;
    double *want = numbers(s, j, key, &n, NULL);

    assert_int_equal(n, f.n);
    for (int64_t i = 0; i < n; i++)
        assert_close(ROW(f, i)[f.k - 1], want[i], 1e-9);
}

static void check_expert(scope *s, const json_t *j, bool classes, char name, bool offset,
                         double slope)
{
    const block z = rows_of(s, j), y = column(s, j, classes ? "classes" : "y", classes);
    const block p = column(s, j, classes ? "source_probability_of_1" : "p0", classes);
    int64_t n = 0;
    double *at = numbers(s, j, "visible_from_0", &n, NULL);
    const gp_rows seen = {take(s, z, n, at), take(s, p, n, at)};
    const block left = block_new(s, HERE(n), n, y.k);
    char key[16];

    (void)snprintf(key, sizeof key, classes ? "classify_%c" : "%c", name);
    const gp_average m = gp_fit(s, seen, take(s, y, n, at), p, offset, slope, left);
    near(s, golden_at(j, key), classes ? "leave_one_out_of_1" : "leave_one_out", left);
    near(s, golden_at(j, key), classes ? "all_rows_of_1" : "all_rows",
         gp_scores(s, &m, (gp_rows){z, p}));
}

static void check_golden(scope *s, void *arg)
{
    for (int classes = 0; classes < 2; classes++) {
        check_expert(s, arg, classes, 'T', false, 0);
        check_expert(s, arg, classes, 'R', true, .1);
        check_expert(s, arg, classes, 'F', false, 1);
    }
}

static ferry_status run_golden(ferry_ctx *ctx, void *arg)
{
    return scope_run(ctx, check_golden, arg);
}

static void test_golden(void **state)
{
    json_t *all = own_golden("residual.json");

    assert_non_null(all);
    assert_ok(*state, run_golden(*state, all));
    each_allocation_fails(*state, run_golden, all);
    json_decref(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_golden, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("gp_average", tests, NULL, NULL);
}
