/* online-logreg against an independent program; online-kernel against the regression that it stands for. */
#include <jansson.h>

#include "ferry_test.h"
#include "golden.h"
/* their insides */
#include "methods/relatives/online_kernel.c"
#include "methods/relatives/online_logreg.c"

/* A problem of n labelled rows in the order that the method goes through them. */
static problem problem_of(scope *s, int64_t n, int64_t d, int64_t k, const double *x,
                          const double *y)
{
    domain *t = NEW(s, domain, 1);
    int32_t *cls = NEW(s, int32_t, n);
    uint64_t *key = NEW(s, uint64_t, n);

    *t =
        (domain){.name = "t", .rows = HERE(n), .n = n, .x = matrix_dense(s, HERE(n), n, d)};
    for (int64_t i = 0; i < n; i++) {
        cls[i] = (int32_t)y[i];
        key[i] = (uint64_t)i;
        for (int64_t j = 0; j < d; j++)
            t->x.m->dense[i * d + j] = x[i * d + j];
    }
    t->y.cls = t->known = cls;
    t->key = key;
    return (problem){.goal = FERRY_STREAM, .classes = k, .width = d, .n = 1, .d = t};
}

/* Nothing is learned at fit; then every row is answered before its label comes. */
static void follow_golden(scope *s, void *arg)
{
    enum { K = 3 };
    const json_t *j = arg;
    const online_logreg_options o = {0.3};
    int64_t n = 0, d = 0;
    double *x = golden_array(j, "x", &n, &d), *y = golden_array(j, "y", NULL, NULL);
    double *want = golden_array(j, "before", NULL, NULL),
           *w = golden_array(j, "weights", NULL, NULL);
    const problem p = problem_of(s, 0, d, K, x, y);
    online_logreg m;
    double score[K];

    online_logreg_fit(s, s, &p, &o, &m);
    void *work = logreg_work_new(s, &m, m.w.n, true, true);
    for (int64_t i = 0; i < n; i++) {
        const stream_label l = {{d, NULL, x + i * d}, (int32_t)y[i], NULL, false};
        online_logreg_look(&m, work, l.x, score);
        for (int64_t k = 0; k < K; k++)
            assert_close(score[k], want[i * K + k], 1e-12);
        online_logreg_learn(&m, work, l.x, l.cls);
    }
    for (int64_t e = 0; e < K * (d + 1); e++)
        assert_close(m.w.at[e], w[e], 1e-12);
    /* the same rows at fit */
    const problem all = problem_of(s, n, d, K, x, y);
    online_logreg fitted;
    online_logreg_fit(s, s, &all, &o, &fitted);
    assert_memory_equal(fitted.w.at, m.w.at, (size_t)(K * (d + 1)) * sizeof(double));
    for (double **v = (double *[]){x, y, want, w, NULL}; *v; v++)
        free(*v);
}

static void test_logreg(void **state)
{
    json_t *all = own_golden("online_logreg.json");

    assert_non_null(all);
    assert_ok(*state, scope_run(*state, follow_golden, all));
    json_decref(all);
}

/* After every row B is the ridge regression on all features so far, each row f times the next one's weight. */
static void follow_kernel(scope *s, void *arg)
{
    enum { N = 40, D = 2, K = 2 };
    const online_kernel_options o = {12, 0.95};
    double x[N * D], y[N];
    online_kernel m;

    (void)arg;
    for (int64_t i = 0; i < N * D; i++)
        x[i] = sin((double)(7 * i + 1)) * (i % D ? 30 : 1);
    for (int64_t i = 0; i < N; i++)
        y[i] = x[i * D] * x[i * D + 1] > 0;
    const problem p = problem_of(s, 0, D, K, x, y);
    online_kernel_fit(s, s, &p, &o, &m);
    void *work = kernel_work_new(s, &m, m.beta.n, true, true);
    const small a = small_new(s, m.wide, m.wide);
    const block r = block_new(s, HERE(m.wide), m.wide, K);
    double scale = 1;
    for (int64_t i = 0; i < m.wide; i++)
        AT(a, i, i) = 1;
    for (int64_t i = 0; i < N; i++) {
        const stream_label l = {{D, NULL, x + i * D}, (int32_t)y[i], NULL, false};
        online_kernel_learn(&m, work, l.x, l.cls);
        const double *phi = ((kernel_scratch *)work)->phi;
        for (int64_t u = 0; u < m.wide; u++) {
            for (int64_t v = 0; v < m.wide; v++)
                AT(a, u, v) = 0.95 * AT(a, u, v) + phi[u] * phi[v];
            for (int64_t k = 0; k < K; k++)
                ROW(r, u)[k] = 0.95 * ROW(r, u)[k] + phi[u] * ((k == l.cls) - 0.5);
        }
        scale *= 0.95;
    }
    assert_true(scale < 0.2);
    assert_true(cholesky(s, a));
    cholesky_solve(s, a, r);
    for (int64_t k = 0; k < K; k++)
        for (int64_t u = 0; u < m.wide; u++)
            assert_close(ROW(m.beta, k)[u], ROW(r, u)[k], 1e-9);
}

/* A column that stops varying lets P grow while it is forgotten: it stops in time. */
static void forget_in_bounds(scope *s, void *arg)
{
    const online_kernel_options o = {5, 0.5};
    const double x[] = {1, 2}, y[] = {0};
    const problem p = problem_of(s, 0, 2, 2, x, y);
    const stream_label l = {{2, NULL, x}, 1, NULL, false};
    online_kernel m;
    double score[2];

    (void)arg;
    online_kernel_fit(s, s, &p, &o, &m);
    void *work = kernel_work_new(s, &m, m.beta.n, true, true);
    for (int64_t i = 0; i < 3000; i++)
        online_kernel_learn(&m, work, l.x, l.cls);
    for (int64_t i = 0; i < m.wide; i++)
        assert_true(ROW(m.p, i)[i] < 1e8);
    online_kernel_look(&m, work, l.x, score);
    assert_true(isfinite(score[0]) && score[1] > score[0]);
}

static void test_kernel(void **state)
{
    assert_ok(*state, scope_run(*state, follow_kernel, NULL));
    assert_ok(*state, scope_run(*state, forget_in_bounds, NULL));
}

/* Columns in another order, unit and zero: the same random weights, the same scores. */
static void other_columns(scope *s, void *arg)
{
    enum { N = 30, D = 7, K = 3 };
    static const int64_t from[D] = {4, 0, 6, 2, 5, 1, 3};
    const online_kernel_options o = {50, 0.998};
    double x[N * D], other[N * D], y[N], one[K], two[K];
    online_kernel a, b;

    (void)arg;
    for (int64_t i = 0; i < N; i++) {
        y[i] = (double)(i % K);
        for (int64_t j = 0; j < D; j++)
            x[i * D + j] = exp(sin((double)(5 * i + 11 * j + 1)) * (double)(j + 1) / 3);
        for (int64_t j = 0; j < D; j++)
            other[i * D + j] = x[i * D + from[j]] * (j % 2 ? 8 : 0.25) + (double)(j % 3);
    }
    const problem p = problem_of(s, N, D, K, x, y), q = problem_of(s, N, D, K, other, y);
    const int64_t *order = columns_by_shape(s, target(&p)->x),
                  *turned = columns_by_shape(s, target(&q)->x);
    for (int64_t j = 0; j < D; j++)
        assert_int_equal(order[j], from[turned[j]]);
    online_kernel_fit(s, s, &p, &o, &a);
    online_kernel_fit(s, s, &q, &o, &b);
    for (int64_t j = 0; j < D; j++)
        assert_true(ROW(b.w, 7)[j] == ROW(a.w, 7)[from[j]]);
    void *work = kernel_work_new(s, &a, K, false, true);
    for (int64_t i = 0; i < N; i++) {
        online_kernel_look(&a, work, (ferry_row){D, NULL, x + i * D}, one);
        online_kernel_look(&b, work, (ferry_row){D, NULL, other + i * D}, two);
        for (int64_t k = 0; k < K; k++)
            assert_close(one[k], two[k], 1e-8);
    }
}

static void test_columns(void **state)
{
    assert_ok(*state, scope_run(*state, other_columns, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_logreg, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_kernel, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_columns, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("online_baselines", tests, NULL, NULL);
}
