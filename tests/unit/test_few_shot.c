/* The learner for few labels: golden cases of an independent program, rows in another order, what is too little. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "ferry_test.h"
#include "golden.h"
#include "learn/few_shot.h"

/* An array of the file, for as long as s: a failing allocation may leave before it could be freed. */
static double *numbers(scope *s, const json_t *j, const char *key, int64_t *rows,
                       int64_t *cols)
{
    double *v = golden_array(j, key, rows, cols);

    scope_defer(s, free, v);
    return v;
}

static json_t *cases(void)
{
    json_t *all = own_golden("few_shot.json");

    assert_non_null(all);
    return all;
}

static matrix matrix_at(scope *s, const json_t *j, const char *key)
{
    int64_t n = 0, d = 0;
    double *v = numbers(s, j, key, &n, &d);
    const matrix x = matrix_dense(s, HERE(n), n, d);

    memcpy(x.m->dense, v, (size_t)(n * d) * sizeof *v);
    return x;
}

static int32_t *classes_at(scope *s, const json_t *j, int64_t n, int64_t *c)
{
    int32_t *cls = NEW(s, int32_t, n);
    int64_t count = 0;
    double *at = numbers(s, j, "visible", &count, NULL);
    double *of = numbers(s, j, "classes", NULL, NULL);

    memset(cls, 0xff, (size_t)n * sizeof *cls);
    *c = 0;
    for (int64_t i = 0; i < count; i++) {
        cls[(int64_t)at[i]] = (int32_t)of[i];
        *c = (int64_t)of[i] + 1 > *c ? (int64_t)of[i] + 1 : *c;
    }
    return cls;
}

static void near_block(scope *s, const json_t *j, const char *key, block p, double tol)
{
    int64_t n = 0, k = 0;
    double *want = numbers(s, j, key, &n, &k);

    assert_true(n <= p.n && k == p.k);
    for (int64_t i = 0; i < n * k; i++)
        assert_close(p.at[i], want[i], tol);
}

static void check_graph(scope *s, const json_t *j, matrix w)
{
    int64_t n = 0, three = 0;
    double *want = numbers(s, j, "graph_first25", &n, &three);

    assert_int_equal(stored(w), golden_real(j, "edges"));
    for (int64_t e = 0; e < n; e++) {
        const ferry_row row = row_at(w, (int64_t)want[3 * e]);
        bool found = false;
        for (int64_t k = 0; k < row.n; k++)
            if (row.index[k] == (int64_t)want[3 * e + 1]) {
                assert_close(row.value[k], want[3 * e + 2], 1e-8);
                found = true;
            }
        assert_true(found);
    }
}

static void check_case(scope *s, void *arg)
{
    const json_t *j = arg;
    const matrix x = matrix_at(s, j, "Z");
    int64_t c = 0;
    const int32_t *cls = classes_at(s, j, x.n, &c);
    const few_rows r = few_rows_of(s, x);
    const block p = block_new(s, HERE(x.n), x.n, c);
    double *want = numbers(s, j, "weights", NULL, NULL);

    assert_int_equal(r.k, golden_real(j, "k"));
    assert_close(r.d, golden_real(j, "d_eff"), 1e-8);
    check_graph(s, j, r.w);
    const few_shot m = few_shot_fit(s, &r, cls, c, p);
    near_block(s, j, "spread_first3", m.spread, 1e-6);
    assert_close(m.concentration, golden_real(j, "proto_concentration"), 1e-7);
    for (int i = 0; i < FEW_LEARNERS; i++)
        assert_close(m.weight[i], want[i], 2e-4);
    assert_close(m.sharpness, golden_real(j, "tau"), 2e-4);
    near_block(s, j, "P", p, 2e-4);
    near_block(s, j, "Pnew", few_shot_scores(s, &r, &m, matrix_at(s, j, "Znew")), 2e-4);
}

static void test_golden(void **state)
{
    json_t *all = cases(), *one;
    size_t i;

    assert_int_equal(json_array_size(golden_at(all, "cases")), 4);
    json_array_foreach(golden_at(all, "cases"), i, one)
        assert_ok(*state, scope_run(*state, check_case, one));
    json_decref(all);
}

static ferry_status run_case(ferry_ctx *ctx, void *arg)
{
    return scope_run(ctx, check_case, arg);
}

static void test_every_allocation_fails(void **state)
{
    json_t *all = cases();

    each_allocation_fails(*state, run_case, json_array_get(golden_at(all, "cases"), 3));
    json_decref(all);
}

/* Ten rows, some of them equal, and columns that are constant: no number is lost. */
static void degenerate(scope *s, void *arg)
{
    const matrix x = matrix_dense(s, HERE(10), 10, 3);
    int32_t cls[10] = {0, -1, -1, 1, -1, -1, -1, -1, -1, -1};
    const block p = block_new(s, HERE(10), 10, 2);

    for (int64_t i = 0; i < 10; i++)
        x.m->dense[3 * i] = (double)(i / 3) * (arg ? 1 : 0);
    const few_rows r = few_rows_of(s, x);
    const few_shot m = few_shot_fit(s, &r, cls, 2, p);
    const block again = few_shot_scores(s, &r, &m, x);
    for (int64_t i = 0; i < 10; i++) {
        assert_close(ROW(p, i)[0] + ROW(p, i)[1], 1, 1e-12);
        assert_true(isfinite(ROW(again, i)[0]));
    }
    if (arg) assert_true(ROW(p, 0)[0] > 0.5 && ROW(p, 3)[1] > 0.5);
}

static void test_degenerate(void **state)
{
    int some = 1;

    assert_ok(*state, scope_run(*state, degenerate, &some));
    assert_ok(*state, scope_run(*state, degenerate, NULL));
}

#define WITH_CTX(test) cmocka_unit_test_setup_teardown(test, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_CTX(test_golden),
        WITH_CTX(test_every_allocation_fails),
        WITH_CTX(test_degenerate),
    };
    return cmocka_run_group_tests_name("few_shot", tests, NULL, NULL);
}
