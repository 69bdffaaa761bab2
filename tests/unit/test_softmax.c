/* Logistic regression on soft labels: the conditions of a minimum, a worked case,
 * shapes. */
#include "golden.h"
#include "learn/learn.h"
#include "learn/softmax.h"

/* The regression on plain arrays: w c x (d + 1), new, the constant last. */
typedef struct asked {
    double C, tol, *w;
    const ferry_matrix *x;
    const ferry_block *a;
    ferry_block *p;
    int64_t c;
} asked;

static void fit_body(scope *s, void *arg)
{
    asked *q = arg;
    const int64_t d = q->x->cols, c = q->a->k;
    const block a = {HERE(q->a->rows), q->a->rows, c, q->a->data};
    const linear m = softmax_regression(s, matrix_borrow(s, (ferry_matrix *)q->x), a, NULL,
                                        q->C, q->tol);

    q->w = ferry_i_calloc(c * (d + 1), sizeof *q->w);
    if (!q->w) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    for (int64_t k = 0; k < c; k++) {
        for (int64_t j = 0; j < d; j++)
            q->w[k * (d + 1) + j] = ROW(m.w, j)[k];
        q->w[k * (d + 1) + d] = m.b[k];
    }
}

static ferry_status softmax_weights(ferry_ctx *ctx, double C, double tol,
                                    const ferry_matrix *x, const ferry_block *a, double **w)
{
    asked q = {.C = C, .tol = tol, .x = x, .a = a};
    const ferry_status st = scope_run(ctx, fit_body, &q);

    *w = st == FERRY_OK ? q.w : NULL;
    return st;
}

static void scores_body(scope *s, void *arg)
{
    const asked *q = arg;
    const int64_t d = q->x->cols, c = q->c;
    const linear m = {1, block_new(s, HERE(d), d, c), NEW(s, double, c)};

    for (int64_t k = 0; k < c; k++) {
        for (int64_t j = 0; j < d; j++)
            ROW(m.w, j)[k] = q->w[k * (d + 1) + j];
        m.b[k] = q->w[k * (d + 1) + d];
    }
    softmax_scores(s, &m, matrix_borrow(s, (ferry_matrix *)q->x),
                   (block){HERE(q->p->rows), q->p->rows, c, q->p->data});
}

static ferry_status softmax_answers(ferry_ctx *ctx, const ferry_matrix *x, int64_t c,
                                    double *w, ferry_block *p)
{
    return scope_run(ctx, scores_body, &(asked){.x = x, .c = c, .w = w, .p = p});
}

/* Keys of what rows hold, so that their order plays no part. */
static void cost_body(scope *s, void *arg)
{
    asked *q = arg;
    const block a = {HERE(q->a->rows), q->a->rows, q->a->k, q->a->data};
    uint64_t *key = NEW(s, uint64_t, a.n);

    for (int64_t i = 0; i < a.n; i++)
        memcpy(&key[i], q->x->dense + i * q->x->cols + 1, sizeof *key);
    q->C = softmax_cost(s, matrix_borrow(s, (ferry_matrix *)q->x), a, key);
}

static ferry_status cost_by_folds(ferry_ctx *ctx, const ferry_matrix *x,
                                  const ferry_block *a, double *C)
{
    asked q = {.x = x, .a = a};
    const ferry_status st = scope_run(ctx, cost_body, &q);

    *C = q.C;
    return st;
}

/* Gradient of the objective at w, written out; two classes have their one vector in row
 * 1. */
static double steepest(const ferry_matrix *x, double C, const ferry_block *a,
                       const double *w)
{
    const int64_t d = x->cols, c = a->k;
    double most = 0;

    for (int64_t k = c == 2 ? 1 : 0; k < c; k++)
        for (int64_t j = 0; j <= d; j++) {
            double g = j < d ? w[k * (d + 1) + j] : 0;
            for (int64_t i = 0; i < x->rows; i++) {
                double z[8], sum = 0, s = 0;
                for (int64_t l = 0; l < c; l++) {
                    z[l] = w[l * (d + 1) + d];
                    for (int64_t e = 0; e < d; e++)
                        z[l] += w[l * (d + 1) + e] * x->dense[i * d + e];
                    sum += exp(z[l]);
                    s += FERRY_ROW(a, i)[l];
                }
                g += C * (s * exp(z[k]) / sum - FERRY_ROW(a, i)[k]) *
                     (j < d ? x->dense[i * d + j] : 1);
            }
            most = fmax(most, fabs(g));
        }
    return most;
}

static void test_minimum(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 5, 5);
    for (int64_t c = 1; c <= 5; c++) {
        ferry_matrix *x = NULL;
        ferry_block *a = NULL, *p = NULL;
        double *w = NULL;
        assert_ok(ctx, ferry_i_matrix_dense(ctx, 25, 6, &x));
        assert_ok(ctx, ferry_i_block_new(ctx, 25, c, &a));
        assert_ok(ctx, ferry_i_block_new(ctx, 25, c, &p));
        for (int64_t e = 0; e < 25 * 6; e++)
            x->dense[e] = ferry_i_rng_normal(&rng);
        ferry_i_fill_uniform(a, &rng, 0, 1);
        assert_ok(ctx, softmax_weights(ctx, 10, 1e-12, x, a, &w));
        assert_true(steepest(x, 10, a, w) < 1e-9);
        assert_ok(ctx, softmax_answers(ctx, x, c, w, p));
        for (int64_t i = 0; i < 25; i++) {
            double sum = 0;
            for (int64_t k = 0; k < c; k++)
                sum += FERRY_ROW(p, i)[k];
            assert_close(sum, 1, 1e-14);
        }
        FERRY_FREE(w, a, p);
        ferry_i_matrix_free(x);
    }
}

/* One instance of each class at x = -1 and 1 (C = 1): v is where v = 2 / (1 + e^v), and b =
 * 0. */
static void test_by_hand(void **state)
{
    ferry_ctx *ctx = *state;
    const double xs[] = {-1, 1}, as[] = {1, 0, 0, 1};
    const ferry_array from = {2, 1, 1, xs};
    ferry_block a = {2, 2, (double *)as};
    ferry_matrix *x = NULL;
    double *w = NULL;

    assert_ok(ctx, ferry_i_matrix_from_array(ctx, &from, &x));
    assert_ok(ctx, softmax_weights(ctx, 1, 1e-13, x, &a, &w));
    assert_close(w[2], 2 / (1 + exp(w[2])), 1e-12);
    assert_close(w[2], 0.67483161434, 1e-10);
    assert_close(w[3], 0, 1e-12);
    ferry_i_free(w);
    ferry_i_matrix_free(x);
}

static void test_golden(void **state)
{
    ferry_ctx *ctx = *state;
    json_t *file = golden("ttl/ferry_mode.json"), *c;
    double *x, *xt, *g, *w, *p1, *fit = NULL;
    int64_t d, n, m;
    ferry_matrix *mx = NULL, *mt = NULL;
    ferry_block *a = NULL, *p = NULL;

    if (!file) skip();
    c = golden_at(file, "carry");
    x = golden_transposed(c, "X", &d, &n);
    xt = golden_transposed(c, "X_target", NULL, &m);
    g = golden_array(c, "G", NULL, NULL);
    w = golden_array(c, "w", NULL, NULL);
    p1 = golden_array(c, "P1", NULL, NULL);
    {
        const ferry_array ax = {n, d, d, x}, at = {m, d, d, xt};
        assert_ok(ctx, ferry_i_matrix_from_array(ctx, &ax, &mx));
        assert_ok(ctx, ferry_i_matrix_from_array(ctx, &at, &mt));
    }
    assert_ok(ctx, ferry_i_block_new(ctx, n, 2, &a));
    assert_ok(ctx, ferry_i_block_new(ctx, m, 2, &p));
    for (int64_t e = 0; e < 2 * n; e++)
        a->data[e] = g[e] * w[e / 2];
    assert_ok(ctx, softmax_weights(ctx, golden_real(c, "C"), 1e-10, mx, a, &fit));
    assert_ok(ctx, softmax_answers(ctx, mt, 2, fit, p));
    for (int64_t i = 0; i < m; i++)
        assert_close(FERRY_ROW(p, i)[1], p1[i], 1e-6);
    assert_close(fit[2 * d + 1], golden_real(c, "b"), 1e-6);
    FERRY_FREE(fit, a, p);
    ferry_i_matrix_free(mx);
    ferry_i_matrix_free(mt);
    free(x);
    free(xt);
    free(g);
    free(w);
    free(p1);
    json_decref(file);
}

static void test_not_finite(void **state)
{
    ferry_ctx *ctx = *state;
    const double xs[] = {-1e200, 1e200}, as[] = {1, 0, 0, 1};
    const ferry_array from = {2, 1, 1, xs};
    ferry_block a = {2, 2, (double *)as};
    ferry_matrix *x = NULL;
    double *w = NULL;

    assert_ok(ctx, ferry_i_matrix_from_array(ctx, &from, &x));
    assert_fails(ctx, softmax_weights(ctx, 1, 1e-13, x, &a, &w), FERRY_ENUMERIC,
                 "scale the features");
    ferry_i_matrix_free(x);
}

static ferry_status small_fit(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *x = NULL;
    ferry_block *a = NULL;
    double *w = NULL;

    (void)arg;
    FERRY_TRY(ferry_i_matrix_dense(ctx, 4, 2, &x));
    FERRY_TRY(ferry_i_block_new(ctx, 4, 3, &a));
    for (int64_t i = 0; i < 4; i++) {
        x->dense[2 * i] = (double)i;
        FERRY_ROW(a, i)[i % 3] = 1;
    }
    FERRY_TRY(softmax_weights(ctx, 1, 1e-8, x, a, &w));
    FERRY_TRY(softmax_answers(ctx, x, 3, w, a));
done:
    FERRY_FREE(w, a);
    ferry_i_matrix_free(x);
    return st;
}

static void test_allocations(void **state)
{
    each_allocation_fails(*state, small_fit, NULL);
}

/* ---- the cost by cross-validation ---- */

/* n rows of two columns; the first tells the class but for `noise` of its deviation, the
 * second nothing. turned: the other way round. */
static void rows_of(ferry_ctx *ctx, int64_t n, double noise, bool turned, ferry_matrix **x,
                    ferry_block **a)
{
    assert_ok(ctx, ferry_i_matrix_dense(ctx, n, 2, x));
    assert_ok(ctx, ferry_i_block_new(ctx, n, 2, a));
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = turned ? n - 1 - i : i;
        ferry_rng rng;
        ferry_i_rng_seed(&rng, 11, (uint64_t)i);
        (*x)->dense[2 * at] = (i % 2 ? 0.5 : -0.5) + noise * ferry_i_rng_normal(&rng);
        (*x)->dense[2 * at + 1] = ferry_i_rng_normal(&rng);
        FERRY_ROW(*a, at)[i % 2] = 1;
    }
}

static double cost_of(ferry_ctx *ctx, int64_t n, double noise, bool turned)
{
    ferry_matrix *x = NULL;
    ferry_block *a = NULL;
    double C = 0;

    rows_of(ctx, n, noise, turned, &x, &a);
    assert_ok(ctx, cost_by_folds(ctx, x, a, &C));
    ferry_i_matrix_free(x);
    ferry_i_free(a);
    return C;
}

/* Ties go to the smallest; few rows are not asked; the order of rows plays no part. */
static void test_cost(void **state)
{
    ferry_ctx *ctx = *state;

    assert_close(cost_of(ctx, 60, 0, false), 0.3, 0); /* all costs make no error */
    assert_close(cost_of(ctx, 29, 0, false), 1, 0);
    for (double noise = 0.2; noise < 2; noise += 0.3)
        assert_close(cost_of(ctx, 90, noise, false), cost_of(ctx, 90, noise, true), 0);
    assert_true(cost_of(ctx, 1200, 0.4, false) > 0); /* more rows than are asked */
}

static ferry_status choose_cost(ferry_ctx *ctx, void *arg)
{
    void **both = arg;
    double C;

    return cost_by_folds(ctx, both[0], both[1], &C);
}

static void test_cost_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_matrix *x = NULL;
    ferry_block *a = NULL;

    rows_of(ctx, 30, 0.1, false, &x, &a);
    void *both[] = {x, a};
    each_allocation_fails(ctx, choose_cost, both);
    ferry_i_matrix_free(x);
    ferry_i_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_minimum, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_by_hand, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_golden, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_not_finite, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_allocations, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_cost, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_cost_memory, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("softmax", tests, NULL, NULL);
}
