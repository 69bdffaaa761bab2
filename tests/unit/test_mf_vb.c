/* mf by variational Bayes: the formulas against an independent program, no unit, and nothing
 * lost where there is nothing to find. */
#include <math.h>
#include <stdlib.h>

#include "ferry_test.h"
#include "golden.h"
#include "learn/nnls.h"
#include "learn/stack.h"
#include "linalg/vb_rows.h"
#include "methods/frame.h"
#include "model/model.h"
#include "small_task.h"

/* The golden ratings as a task's target: f r + g. */
static ferry_task *golden_task(ferry_ctx *ctx, const json_t *j, double f, double g)
{
    int64_t n = 0;
    double *u = golden_array(j, "u", &n, NULL), *i = golden_array(j, "i", NULL, NULL),
           *r = golden_array(j, "r", NULL, NULL);
    int who[64], what[64];
    ferry_domain *d = small_domain(ctx, "films", FERRY_TARGET, 0, 0, NULL);

    assert_true(n <= 64);
    for (int64_t e = 0; e < n; e++) {
        who[e] = (int)u[e];
        what[e] = (int)i[e];
        r[e] = f * r[e] + g;
    }
    small_ratings(ctx, d, n, who, what, r);
    free(u);
    free(i);
    free(r);
    return small_task(ctx, FERRY_RATE, NULL, d);
}

static void close_all(const json_t *want, const char *key, int64_t n, const double *got,
                      int64_t step)
{
    int64_t rows = 0, cols = 0;
    double *w = golden_array(want, key, &rows, &cols);

    assert_int_equal(rows * cols, n);
    for (int64_t e = 0; e < n; e++)
        assert_close(got[e * step], w[e], 1e-8);
    free(w);
}

typedef struct golden_case {
    const json_t *j;
    const ferry_ratings *r;
} golden_case;

/* s2, the variances, biases and factors after so many sweeps. */
static void compare(scope *s, const ratings *r, const json_t *j, const char *key,
                    int64_t rank, int64_t sweeps, double n0)
{
    const json_t *want = golden_at(j, key);
    const vb_how how = {.rank = rank, .sweeps = sweeps, .burn = 2, .n0 = n0};
    int64_t rows = 0, cols = 0;
    double *q0 = golden_array(j, "Q0", &rows, &cols);
    const vb_fit f = vb_learn(s, r, &how, (block){HERE(rows), rows, cols, q0});

    assert_close(f.mu, golden_real(want, "mu"), 1e-12);
    assert_close(f.sd, golden_real(want, "sd"), 1e-12);
    assert_close(f.s2, golden_real(want, "s2"), 1e-8);
    assert_close(f.va, golden_real(want, "va"), 1e-8);
    assert_close(f.vb, golden_real(want, "vb"), 1e-8);
    close_all(want, "a", f.zu.n, f.zu.at, rank + 1);
    close_all(want, "b", f.zi.n, f.zi.at, rank + 1);
    if (rank) {
        close_all(want, "v", rank, f.v, 1);
        close_all(want, "vq", rank, f.vq, 1);
    }
    double *p = golden_array(want, "prediction", &rows, &cols);
    for (int64_t u = 0; u < rows; u++)
        for (int64_t i = 0; i < cols; i++)
            assert_close(f.mu + f.sd * vb_at(&f, u, i), p[u * cols + i], 1e-8);
    free(p);
    free(q0);
}

static void check_golden(scope *s, void *arg)
{
    const golden_case *c = arg;
    const ratings r = ratings_sorted(s, c->r);

    compare(s, &r, c->j, "eb_bias_sweeps10", 0, 10, 0);
    compare(s, &r, c->j, "eb_bias_sweeps10_n0_300", 0, 10, 300);
    compare(s, &r, c->j, "sweep1", 2, 1, 0);
    compare(s, &r, c->j, "sweep5", 2, 5, 0);
    compare(s, &r, c->j, "sweep5_n0_300", 2, 5, 300);
}

static void test_golden(void **state)
{
    ferry_ctx *ctx = *state;
    json_t *j = json_load_file("tests/golden/mf.json", 0, NULL);
    ferry_task *task = golden_task(ctx, j, 1, 0);
    golden_case c = {j, task->domains[0]->ratings};

    assert_ok(ctx, scope_run(ctx, check_golden, &c));
    /* Rows do not meet: as many threads as you like. */
    assert_ok(ctx, ferry_i_ctx_set_threads(ctx, 3));
    assert_ok(ctx, scope_run(ctx, check_golden, &c));
    ferry_task_free(task);
    json_decref(j);
}

static void test_nnls(void **state)
{
    json_t *j = json_load_file("tests/golden/mf.json", 0, NULL);
    const json_t *c = golden_at(j, "nnls");
    int64_t n = 0, k = 0;
    double *p = golden_array(c, "P", &n, &k), *t = golden_array(c, "t", NULL, NULL);
    double a[9] = {0}, b[3] = {0}, w[3];

    (void)state;
    assert_int_equal(k, 3);
    for (int64_t e = 0; e < n; e++)
        for (int x = 0; x < 3; x++) {
            b[x] += p[e * 3 + x] * t[e];
            for (int y = 0; y < 3; y++)
                a[x * 3 + y] += p[e * 3 + x] * p[e * 3 + y];
        }
    for (int x = 0; x < 3; x++)
        a[x * 3 + x] += golden_real(c, "tau");
    ferry_i_nnls(3, a, b, w);
    close_all(c, "w", 3, w, 1);
    free(p);
    free(t);
    json_decref(j);
}

/* Random problems: the slope is 0 where a weight is above 0, and uphill where it is 0. */
static void test_nnls_is_optimal(void **state)
{
    ferry_rng rng;

    (void)state;
    ferry_i_rng_seed(&rng, 3, 1);
    for (int round = 0; round < 200; round++) {
        const int n = 1 + round % 6;
        double x[6 * 9], a[36] = {0}, c[6], w[6];
        for (int e = 0; e < 6 * 9; e++)
            x[e] = ferry_i_rng_normal(&rng);
        for (int i = 0; i < n; i++) {
            c[i] = 3 * ferry_i_rng_normal(&rng);
            for (int j = 0; j < n; j++)
                for (int e = 0; e < 9; e++)
                    a[i * n + j] += x[i * 9 + e] * x[j * 9 + e];
        }
        ferry_i_nnls(n, a, c, w);
        for (int i = 0; i < n; i++) {
            double slope = -c[i];
            for (int j = 0; j < n; j++)
                slope += a[i * n + j] * w[j];
            assert_true(w[i] >= 0 && slope > -1e-8 && w[i] * fabs(slope) < 1e-8);
        }
    }
}

/* Users' and items' levels, noise, and `strength` times two tastes. */
static ferry_task *made(ferry_ctx *ctx, int users, int items, int each, double strength,
                        double f, double g)
{
    const int n = users * each;
    int *who = calloc((size_t)n, sizeof *who), *what = calloc((size_t)n, sizeof *what);
    double *r = calloc((size_t)n, sizeof *r), level[200], taste[400], mine[2];
    ferry_domain *d = small_domain(ctx, "films", FERRY_TARGET, 0, 0, NULL);
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 17, 4);
    for (int i = 0; i < items; i++) {
        level[i] = 0.5 * ferry_i_rng_normal(&rng);
        taste[2 * i] = ferry_i_rng_normal(&rng);
        taste[2 * i + 1] = ferry_i_rng_normal(&rng);
    }
    for (int u = 0; u < users; u++) {
        const double own = 3 + 0.5 * ferry_i_rng_normal(&rng);
        const int first = (int)ferry_i_rng_below(&rng, (uint64_t)items);
        mine[0] = strength * ferry_i_rng_normal(&rng);
        mine[1] = strength * ferry_i_rng_normal(&rng);
        for (int k = 0; k < each; k++) {
            const int e = u * each + k, i = (first + 7 * k) % items;
            who[e] = u;
            what[e] = i;
            r[e] = f * (own + level[i] + mine[0] * taste[2 * i] +
                        mine[1] * taste[2 * i + 1] + 0.6 * ferry_i_rng_normal(&rng)) +
                   g;
        }
    }
    small_ratings(ctx, d, n, who, what, r);
    free(who);
    free(what);
    free(r);
    return small_task(ctx, FERRY_RATE, NULL, d);
}

/* Ratings 10 r - 7 give 10 prediction - 7. */
static void test_units(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *a = made(ctx, 60, 40, 20, 0.5, 1, 0),
               *b = made(ctx, 60, 40, 20, 0.5, 10, -7);
    ferry_prediction *p = fit_predict(ctx, a, "mf", "", a->domains[0]);
    ferry_prediction *q = fit_predict(ctx, b, "mf", "", b->domains[0]);
    ferry_model *m = fit_model(ctx, a, "mf", "");
    json_t *j = json_loads(m->diagnostics, 0, NULL);

    assert_true(
        json_real_value(json_object_get(json_object_get(j, "ranks"), "rank 5")) +
            json_real_value(json_object_get(json_object_get(j, "ranks"), "rank 10")) +
            json_real_value(json_object_get(json_object_get(j, "ranks"), "rank 20")) >
        0.5);
    for (int64_t e = 0; e < p->n; e++)
        assert_close(q->value[e], 10 * p->value[e] - 7, 1e-9);
    json_decref(j);
    ferry_model_free(m);
    ferry_prediction_free(p);
    ferry_prediction_free(q);
    ferry_task_free(a);
    ferry_task_free(b);
}

/* ---- diagonal covariances ---- */

/* The engine's half against the formulas of linalg/vb_rows.h, by Gauss and Jordan. */
static void test_half(void **state)
{
    enum { D = 3, ROWS = 2, COLS = 4 };
    ferry_ctx *ctx = *state;
    ferry_matrix *x = NULL;
    static const double y[COLS * D] = {.1, .5, -.3, -.2, .4, .8, .3, -.7, .2, 0, .9, .6},
                                 var[COLS * D] = {.1, .2, .3, .2, .1, .05,
                                                  .3, .1, .2, .1, .1, .4},
                                 ridge[D] = {2, .5, 3};
    double z[ROWS * D], cov[ROWS * D], sse[ROWS];

    assert_ok(ctx, ferry_i_matrix_csr(ctx, ROWS, COLS, 3, &x)); /* the last row is empty */
    x->start[1] = x->start[2] = 3;
    for (int e = 0; e < 3; e++) {
        x->index[e] = e + (e > 1);
        x->value[e] = 2 + e;
    }
    assert_ok(ctx, ferry_i_vb_half(ctx, &(ferry_vb_half){.x = x,
                                                         .d = D,
                                                         .mu = 3,
                                                         .sd = 2,
                                                         .s2 = .7,
                                                         .y = y,
                                                         .var = var,
                                                         .ridge = ridge,
                                                         .z = z,
                                                         .cov = cov,
                                                         .sse = sse}));
    for (int i = 0; i < ROWS; i++) {
        double m[D][2 * D] = {{0}}, c[D] = {0}, left = 0;
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            const double *q = y + x->index[e] * D, *v = var + x->index[e] * D;
            const double phi[D] = {1, q[1], q[2]}, t = (x->value[e] - 3) / 2 - q[0];
            left += t * t + v[0];
            for (int a = 0; a < D; a++) {
                c[a] += t * phi[a];
                for (int b = 0; b < D; b++)
                    m[a][b] += phi[a] * phi[b] + (a == b && a > 0 ? v[a] : 0);
            }
        }
        for (int a = 0; a < D; a++) {
            m[a][a] += ridge[a];
            m[a][D + a] = 1;
        }
        for (int a = 0; a < D; a++) {
            const double pivot = m[a][a];
            for (int b = 0; b < 2 * D; b++)
                m[a][b] /= pivot;
            for (int r = 0; r < D; r++) {
                const double by = m[r][a];
                for (int b = 0; b < 2 * D && r != a; b++)
                    m[r][b] -= by * m[a][b];
            }
        }
        left += .7 * D;
        for (int a = 0; a < D; a++) {
            double want = 0;
            for (int b = 0; b < D; b++)
                want += m[a][D + b] * c[b];
            assert_close(z[i * D + a], want, 1e-12);
            assert_close(cov[i * D + a], .7 * m[a][D + a], 1e-12);
            left -= want * c[a] + ridge[a] * (want * want + .7 * m[a][D + a]);
        }
        assert_close(sse[i], left, 1e-12);
    }
    ferry_i_matrix_free(x);
}

/* Free of units as well. */
static void test_diagonal(void **state)
{
    ferry_ctx *ctx = *state;

    for (int taste = 0; taste < 2; taste++) {
        ferry_task *a = made(ctx, 60, 40, 20, 0.5 * taste, 1, 0),
                   *b = made(ctx, 60, 40, 20, 0.5 * taste, 10, -7);
        ferry_prediction *p =
            fit_predict(ctx, a, "mf", "solver=vb-diagonal", a->domains[0]);
        ferry_prediction *q =
            fit_predict(ctx, b, "mf", "solver=vb-diagonal", b->domains[0]);
        for (int64_t e = 0; e < p->n; e++)
            assert_close(q->value[e], 10 * p->value[e] - 7, 1e-8);
        ferry_prediction_free(p);
        ferry_prediction_free(q);
        ferry_task_free(a);
        ferry_task_free(b);
    }
}

/* Without any taste the factors weigh nothing: what is predicted are the biases. */
static void test_nothing_to_find(void **state)
{
    ferry_ctx *ctx = *state;

    for (int each = 4; each <= 36; each *= 3) {
        ferry_task *task = made(ctx, 80, 60, each, 0, 1, 0);
        ferry_model *m = fit_model(ctx, task, "mf", "");
        const rating_factors *s = ((const fitted *)m->state)->state;
        assert_int_equal(s->rank, 0);
        assert_true(s->shrink_a > 0 && s->shrink_b > 0);
        ferry_model_free(m);
        ferry_task_free(task);
    }
}

/* ---- stack ---- */

/* All seven features of all pairs. */
static void check_features(scope *s, void *arg)
{
    static const char *const names[] = {"zi*sh",  "slope_pop", "slope_b", "ab",
                                        "iknn_c", "uknn_c",    "iknn_r"};
    const golden_case *c = arg;
    const ratings r = ratings_sorted(s, c->r);
    const corated near = corated_new(s, s, &r, NULL);
    int64_t u[48], i[48];
    double f[48 * CORATED];

    for (int e = 0; e < 48; e++) {
        u[e] = e / 6;
        i[e] = e % 6;
    }
    corated_features(s, &near, NULL, 48, u, i, f);
    for (int k = 0; k < CORATED; k++)
        close_all(golden_at(c->j, "features"), names[k], 48, f + k, CORATED);
}

static void test_features(void **state)
{
    ferry_ctx *ctx = *state;
    json_t *j = json_load_file("tests/golden/mf.json", 0, NULL);
    ferry_task *task = golden_task(ctx, j, 1, 0);

    assert_ok(ctx,
              scope_run(ctx, check_features, &(golden_case){j, task->domains[0]->ratings}));
    ferry_task_free(task);
    json_decref(j);
}

/* Groups of users who rate groups of items high: neighbours find them from few ratings; and
 * what is best by `top` is what predict says. */
static void test_stack(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = made(ctx, 150, 60, 12, 0.6, 1, 0);
    ferry_model *m = fit_model(ctx, task, "stack", "");
    const stack_state *s = ((const fitted *)m->state)->state;
    ferry_prediction *top = NULL, *p = NULL;
    double all = 0;

    for (int c = 0; c < CORATED; c++)
        all += fabs(s->neighbours.w[c]);
    assert_true(all > 0.1);
    assert_ok(ctx, ferry_recommend(ctx, m, 0, NULL, 3, 1, &top));
    ferry_domain *d = small_domain(ctx, "pairs", FERRY_TARGET, 0, 0, NULL);
    int *u = calloc((size_t)top->n, sizeof *u), *i = calloc((size_t)top->n, sizeof *i);
    double *v = calloc((size_t)top->n, sizeof *v);
    for (int64_t e = 0; e < top->n; e++) {
        u[e] = atoi(top->ids[e] + 1);
        i[e] = atoi(top->items[e] + 1);
        v[e] = NAN;
    }
    small_ratings(ctx, d, top->n, u, i, v);
    assert_ok(ctx, ferry_predict(ctx, m, d, &p));
    for (int64_t e = 0; e < top->n; e++)
        assert_close(p->value[e], top->value[e], 1e-12);
    free(u);
    free(i);
    free(v);
    ferry_domain_free(d);
    ferry_prediction_free(p);
    ferry_prediction_free(top);
    ferry_model_free(m);
    ferry_task_free(task);
}

/* Levels of the size that mf expects, and noise: neighbours know nothing, and mostly they are
 * not asked at all. */
static void test_doubt(void **state)
{
    enum { USERS = 100, EACH = 5, ITEMS = 40 };
    ferry_ctx *ctx = *state;
    static int who[USERS * EACH], what[USERS * EACH];
    static double r[USERS * EACH];
    double all = 0, level[ITEMS], own = 0;
    int none = 0;

    for (uint64_t seed = 0; seed < 12; seed++) {
        ferry_domain *d = small_domain(ctx, "films", FERRY_TARGET, 0, 0, NULL);
        ferry_rng rng;
        ferry_i_rng_seed(&rng, 23, seed);
        for (int i = 0; i < ITEMS; i++)
            level[i] = 0.45 * ferry_i_rng_normal(&rng);
        for (int e = 0; e < USERS * EACH; e++) {
            if (e % EACH == 0) own = 0.45 * ferry_i_rng_normal(&rng);
            who[e] = e / EACH;
            what[e] = (e % EACH * 8 + (int)ferry_i_rng_below(&rng, 8)) % ITEMS;
            r[e] = 3 + own + level[what[e]] + ferry_i_rng_normal(&rng);
        }
        small_ratings(ctx, d, USERS * EACH, who, what, r);
        ferry_task *task = small_task(ctx, FERRY_RATE, NULL, d);
        ferry_model *m = fit_model(ctx, task, "stack", "");
        json_t *told = json_loads(m->diagnostics, 0, NULL);
        const double trust = json_number_value(json_object_get(told, "trust"));
        none += trust == 0;
        all += trust;
        json_decref(told);
        ferry_model_free(m);
        ferry_task_free(task);
    }
    assert_true(none >= 6 && all < 0.4); /* .26; by weights of other folds .53 */
}

/* Ratings that are all the same, and a single one. */
static void test_small(void **state)
{
    ferry_ctx *ctx = *state;
    const int u[] = {0, 0, 1}, i[] = {0, 1, 0};
    const double same[] = {4, 4, 4};

    for (int n = 1; n <= 3; n += 2) {
        ferry_domain *d = small_domain(ctx, "films", FERRY_TARGET, 0, 0, NULL);
        small_ratings(ctx, d, n, u, i, same);
        ferry_task *task = small_task(ctx, FERRY_RATE, NULL, d);
        ferry_prediction *p = fit_predict(ctx, task, "mf", "", d);
        for (int64_t e = 0; e < p->n; e++)
            assert_close(p->value[e], 4, 0);
        ferry_prediction_free(p);
        ferry_task_free(task);
    }
}

static ferry_status fit_and_reload(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    const ferry_task *task = arg;
    ferry_model *m = NULL, *l = NULL;
    ferry_prediction *p = NULL, *q = NULL;
    ferry_dict *dict = NULL;

    FERRY_TRY(ferry_fit(ctx, task, "stack", NULL, &m, NULL));
    FERRY_TRY(ferry_predict(ctx, m, task->domains[0], &p));
    FERRY_TRY(ferry_i_dict_new(ctx, &dict));
    FERRY_TRY(ferry_i_model_pack(ctx, m, dict));
    FERRY_TRY(ferry_i_model_unpack(ctx, "bag", dict, NULL, &l));
    FERRY_TRY(ferry_predict(ctx, l, task->domains[0], &q));
    assert_memory_equal(p->value, q->value, (size_t)p->n * sizeof *p->value);
done:
    ferry_i_dict_free(dict);
    ferry_model_free(l);
    ferry_prediction_free(p);
    ferry_prediction_free(q);
    ferry_model_free(m);
    return st;
}

/* A saved model gives the same bits; every allocation fails once. */
static void test_no_memory(void **state)
{
    ferry_ctx *ctx = *state;
    const int u[] = {0, 0, 1, 1, 2}, i[] = {0, 1, 0, 2, 1};
    const double v[] = {4, 2, 5, 1, 3};
    ferry_domain *d = small_domain(ctx, "films", FERRY_TARGET, 0, 0, NULL);

    small_ratings(ctx, d, 5, u, i, v);
    ferry_task *task = small_task(ctx, FERRY_RATE, NULL, d);
    assert_ok(ctx, fit_and_reload(ctx, task));
    each_allocation_fails(ctx, fit_and_reload, task);
    ferry_task_free(task);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_golden),
        TEST(test_nnls),
        TEST(test_nnls_is_optimal),
        TEST(test_units),
        TEST(test_nothing_to_find),
        TEST(test_small),
        TEST(test_features),
        TEST(test_stack),
        TEST(test_doubt),
        TEST(test_no_memory),
        TEST(test_half),
        TEST(test_diagonal),
    };
    return cmocka_run_group_tests_name("mf_vb", tests, NULL, NULL);
}
