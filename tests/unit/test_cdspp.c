/* CDSPP: the exact solver against numbers of an independent program (golden/hetomtl where
 * present, two cases here), against the dense eigenproblem, and the method. */
#include <stdio.h>

#include "cdspp_dense.h"
#include "golden.h"
#include "methods/method.h"
#include "small_task.h"
#include "state/dict_private.h"

/* ---- the solver ---- */

typedef struct given {
    ferry_matrix *xs, *xt;
    int32_t *ys, *yt;
    cdspp_problem p;
} given;

static void set(given *g, int64_t k, double alpha)
{
    g->p = (cdspp_problem){{g->xs, g->ys}, {g->xt, g->yt}, k, alpha};
}

static void given_free(given *g)
{
    ferry_i_matrix_free(g->xs);
    ferry_i_matrix_free(g->xt);
    free(g->ys);
    free(g->yt);
}

static ferry_matrix *samples(ferry_ctx *ctx, const json_t *j, const char *key)
{
    int64_t d = 0, n = 0;
    double *v = golden_transposed(j, key, &d, &n);
    const ferry_array a = {n, d, d, v};
    ferry_matrix *x = NULL;

    assert_ok(ctx, ferry_i_matrix_from_array(ctx, &a, &x));
    free(v);
    return x;
}

static int32_t *classes(const json_t *j, const char *key)
{
    int64_t n = 0;
    double *v = golden_array(j, key, &n, NULL);
    int32_t *y = calloc((size_t)n, sizeof *y);

    for (int64_t i = 0; i < n; i++)
        y[i] = (int32_t)v[i];
    free(v);
    return y;
}

static void check_small(const ferry_small *have, const json_t *j, const char *key)
{
    double *want = golden_transposed(j, key, NULL, NULL);

    for (int64_t e = 0; e < have->rows * have->cols; e++)
        assert_close(have->data[e], want[e], 1e-10);
    free(want);
}

static void check_block(const ferry_block *have, const json_t *j, const char *key)
{
    int64_t rows = 0, cols = 0;
    double *want = golden_array(j, key, &rows, &cols);

    assert_int_equal(have->rows, rows);
    assert_int_equal(have->k, cols);
    for (int64_t e = 0; e < rows * cols; e++)
        assert_close(have->data[e], want[e], 1e-8);
    free(want);
}

/* a b' x for all test samples. */
static void check_invariant(const ferry_block *a, const ferry_block *b, const json_t *j,
                            const char *key)
{
    int64_t d = 0, n = 0, rows = 0;
    double *x = golden_array(j, "x_test", &d, &n);
    double *want = golden_array(j, key, &rows, NULL);

    for (int64_t t = 0; t < n; t++)
        for (int64_t i = 0; i < rows; i++) {
            double sum = 0;
            for (int64_t c = 0; c < a->k; c++)
                for (int64_t l = 0; l < d; l++)
                    sum += FERRY_ROW(a, i)[c] * FERRY_ROW(b, l)[c] * x[l * n + t];
            assert_close(sum, want[i * n + t], 1e-9);
        }
    free(want);
    free(x);
}

static void check_golden(ferry_ctx *ctx, const char *name)
{
    json_t *j = golden(name);
    given g = {0};
    cdspp c = {0}, e = {0};
    double *lambda;

    if (!j) return;
    g.xs = samples(ctx, j, "Xs_rows_are_features");
    g.xt = samples(ctx, j, "Xt_rows_are_features");
    g.ys = classes(j, "ys");
    g.yt = classes(j, "yt");
    set(&g, (int64_t)golden_real(j, "K"), golden_real(j, "alpha"));
    lambda = golden_array(j, "lam", NULL, NULL);
    assert_ok(ctx, plain_cdspp(ctx, &g.p, 0, &c));
    assert_ok(ctx, oracle_cdspp(ctx, &g.p, 0, &e));
    assert_int_equal(c.rank, (int64_t)golden_real(j, "rank"));
    assert_int_equal(e.rank, c.rank);
    for (int64_t i = 0; i < c.rank; i++) {
        assert_close(c.lambda[i], lambda[i], 1e-10);
        assert_close(e.lambda[i], lambda[i], 1e-10);
    }
    check_small(c.gs, j, "Gs");
    check_small(c.gt, j, "Gt");
    check_block(c.ps, j, "Ps");
    check_block(c.pt, j, "Pt");
    check_block(e.ps, j, "Ps");
    check_block(e.pt, j, "Pt");
    check_invariant(c.pt, c.pt, j, "invariant_PtPtT_x");
    check_invariant(c.ps, c.pt, j, "invariant_PsPtT_x");
    free(lambda);
    plain_cdspp_clear(&c);
    plain_cdspp_clear(&e);
    given_free(&g);
    json_decref(j);
}

static void test_golden(void **state)
{
    check_golden(*state, "hetomtl/proj_small.json");
    check_golden(*state, "hetomtl/proj_wide.json");
    check_golden(*state, "hetomtl/proj_missing_class.json");
    check_golden(*state, "hetomtl/proj_rank_deficient.json");
}

/* One class and one feature each. Source 1, 2: Bs = 2.5 * 5 - 9 + 1 = 4.5, Ms = 3; target
 * -3: Bt = 2 * 9 - 9 + 1 = 10, Mt = -3. lambda = 9 / sqrt(45). */
static void test_by_hand(void **state)
{
    ferry_ctx *ctx = *state;
    double s[] = {1, 2}, t[] = {-3};
    const int32_t y[] = {0, 0};
    const ferry_matrix xs = {.rows = 2, .cols = 1, .nnz = 2, .dense = s},
                       xt = {.rows = 1, .cols = 1, .nnz = 1, .dense = t};
    const cdspp_problem p = {{&xs, y}, {&xt, y}, 1, 1};
    cdspp c = {0};

    assert_ok(ctx, plain_cdspp(ctx, &p, 0, &c));
    assert_int_equal(c.rank, 1);
    assert_close(c.lambda[0], 9 / sqrt(45), 1e-14);
    assert_close(c.gs->data[0], 2, 1e-14);
    assert_close(c.gt->data[0], 0.9, 1e-14);
    assert_close(c.ps->data[0], -1 / 3., 1e-14);
    assert_close(c.pt->data[0], 1 / sqrt(20), 1e-14);
    plain_cdspp_clear(&c);
}

/* ns x ds and nt x dt random samples with random classes; sparse leaves out small ones. */
static given make(ferry_ctx *ctx, uint64_t seed, int64_t ns, int64_t ds, int64_t nt,
                  int64_t dt, int64_t k, bool sparse, double alpha)
{
    const int64_t n[] = {ns, nt}, d[] = {ds, dt};
    given g = {0};
    ferry_rng rng;

    ferry_i_rng_seed(&rng, seed, 0);
    for (int h = 0; h < 2; h++) {
        ferry_matrix *x = NULL;
        int32_t *y = calloc((size_t)n[h] + 1, sizeof *y);
        assert_ok(ctx, ferry_i_matrix_dense(ctx, n[h], d[h], &x));
        for (int64_t i = 0; i < n[h]; i++) {
            y[i] = (int32_t)ferry_i_rng_below(&rng, (uint64_t)k);
            for (int64_t j = 0; j < d[h]; j++) {
                const double v = ferry_i_rng_normal(&rng) + (j % k == y[i] ? 1.5 : 0);
                x->dense[i * d[h] + j] = sparse && fabs(v) < 1 ? 0 : v;
            }
        }
        if (sparse) { /* CSR of the same */
            ferry_matrix *s = NULL;
            int64_t nnz = 0;
            assert_ok(ctx, ferry_i_matrix_csr(ctx, n[h], d[h], n[h] * d[h], &s));
            for (int64_t e = 0; e < n[h] * d[h]; e++) {
                if (x->dense[e] != 0) {
                    s->index[nnz] = (int32_t)(e % d[h]);
                    s->value[nnz++] = x->dense[e];
                }
                s->start[e / d[h] + 1] = nnz;
            }
            s->nnz = nnz;
            ferry_i_matrix_free(x);
            x = s;
        }
        if (h == 0) {
            g.xs = x;
            g.ys = y;
        } else {
            g.xt = x;
            g.yt = y;
        }
    }
    set(&g, k, alpha);
    return g;
}

/* Any shape, both engines: eigenvalues, and P P' of the stacked P, as the dense problem. */
static void check_shape(ferry_ctx *ctx, uint64_t seed, const int64_t *s, bool sparse,
                        double alpha)
{
    given g = make(ctx, seed, s[0], s[1], s[2], s[3], s[4], sparse, alpha);
    cdspp c = {0}, e = {0};

    assert_ok(ctx, plain_cdspp(ctx, &g.p, 0, &c));
    assert_ok(ctx, oracle_cdspp(ctx, &g.p, 0, &e));
    assert_int_equal(c.rank, e.rank);
    assert_true(c.rank <= c.shared);
    for (int64_t i = 0; i < c.rank; i++) {
        assert_close(c.lambda[i], e.lambda[i], 1e-9);
        assert_true(c.lambda[i] > 0 && c.lambda[i] <= 2 + 1e-12);
    }
    for (int64_t a = 0; a < s[3]; a++)
        for (int64_t b = 0; b < s[1]; b++) {
            double x = 0, y = 0;
            for (int64_t i = 0; i < c.rank; i++) {
                x += FERRY_ROW(c.pt, a)[i] * FERRY_ROW(c.ps, b)[i];
                y += FERRY_ROW(e.pt, a)[i] * FERRY_ROW(e.ps, b)[i];
            }
            assert_close(x, y, 1e-8);
        }
    for (int64_t a = 0; a < s[3]; a++) /* pt = q r */
        for (int64_t i = 0; i < c.rank; i++) {
            double x = 0;
            for (int64_t q = 0; q < c.shared; q++)
                x += FERRY_ROW(c.q, a)[q] * FERRY_AT(c.r, q, i);
            assert_close(x, FERRY_ROW(c.pt, a)[i], 1e-12);
        }
    plain_cdspp_clear(&c);
    plain_cdspp_clear(&e);
    given_free(&g);
}

static void test_shapes(void **state)
{
    ferry_ctx *ctx = *state;
    static const int64_t shapes[][5] = {
        {20, 5, 12, 7, 3},  {8, 15, 5, 20, 3},  {20, 5, 6, 12, 4}, {4, 9, 20, 6, 3},
        {12, 12, 9, 9, 5},  {3, 4, 2, 3, 6},    {1, 3, 1, 2, 1},   {30, 2, 10, 8, 5},
        {10, 10, 40, 3, 4}, {40, 20, 15, 30, 9}};

    for (int engine = 0; engine < 2; engine++) {
        assert_ok(ctx, ferry_i_ctx_set_engine(ctx, engine ? "ref" : "host"));
        for (int64_t i = 0; i < FERRY_COUNT(shapes); i++)
            for (int sparse = 0; sparse < 2; sparse++) {
                check_shape(ctx, (uint64_t)i, shapes[i], sparse, 1);
                check_shape(ctx, (uint64_t)i + 50, shapes[i], sparse, 0.1);
                check_shape(ctx, (uint64_t)i + 99, shapes[i], sparse, 1000);
            }
    }
}

/* alpha to 0 and fewer samples than features: every eigenvalue is 2 and all samples of a
 * class, of both domains, fall on one point; the points are orthogonal. */
static void test_small_alpha(void **state)
{
    ferry_ctx *ctx = *state;
    given g = make(ctx, 7, 12, 30, 6, 25, 3, false, 1e-9);
    cdspp c = {0};
    double z[18][3];

    for (int64_t i = 0; i < 18; i++) /* balanced */
        (i < 12 ? g.ys : g.yt - 12)[i] = (int32_t)(i % 3);
    assert_ok(ctx, plain_cdspp(ctx, &g.p, 0, &c));
    assert_int_equal(c.rank, 3);
    for (int64_t i = 0; i < 18; i++) {
        const ferry_matrix *x = i < 12 ? g.xs : g.xt;
        const ferry_block *p = i < 12 ? c.ps : c.pt;
        for (int64_t k = 0; k < 3; k++) {
            z[i][k] = 0;
            for (int64_t j = 0; j < x->cols; j++)
                z[i][k] += x->dense[i % 12 * x->cols + j] * FERRY_ROW(p, j)[k];
        }
    }
    for (int64_t k = 0; k < 3; k++)
        assert_close(c.lambda[k], 2, 1e-6);
    for (int64_t i = 0; i < 18; i++)
        for (int64_t j = 0; j < 18; j++) {
            const double dot = z[i][0] * z[j][0] + z[i][1] * z[j][1] + z[i][2] * z[j][2];
            assert_close(dot, i % 3 == j % 3 ? 1 / (4. * 2) : 0, 1e-6);
        }
    plain_cdspp_clear(&c);
    given_free(&g);
}

/* The span of Pt does not depend on the source's features, only on its class counts. */
static void test_source_counts(void **state)
{
    ferry_ctx *ctx = *state;
    given g = make(ctx, 8, 20, 9, 10, 14, 3, false, 1),
          h = make(ctx, 9, 20, 31, 10, 14, 3, false, 1);
    cdspp c = {0}, e = {0};

    h.p.t = g.p.t;
    h.p.s.y = g.p.s.y;
    assert_ok(ctx, plain_cdspp(ctx, &g.p, 0, &c));
    assert_ok(ctx, plain_cdspp(ctx, &h.p, 0, &e));
    assert_int_equal(c.rank, 3);
    for (int64_t i = 0; i < 14 * 3; i++)
        assert_close(c.q->data[i], e.q->data[i], 1e-14);
    plain_cdspp_clear(&c);
    plain_cdspp_clear(&e);
    given_free(&g);
    given_free(&h);
}

static void test_dims_and_nothing(void **state)
{
    ferry_ctx *ctx = *state;
    given g = make(ctx, 10, 20, 9, 10, 14, 4, false, 1);
    cdspp c = {0}, e = {0};

    assert_ok(ctx, plain_cdspp(ctx, &g.p, 0, &c));
    assert_ok(ctx, plain_cdspp(ctx, &g.p, 2, &e));
    assert_int_equal(e.rank, 2);
    for (int64_t i = 0; i < 14; i++)
        for (int64_t k = 0; k < 2; k++)
            assert_close(FERRY_ROW(e.pt, i)[k], FERRY_ROW(c.pt, i)[k], 1e-14);
    plain_cdspp_clear(&e);
    assert_ok(ctx, oracle_cdspp(ctx, &g.p, 1, &e));
    assert_int_equal(e.rank, 1);
    plain_cdspp_clear(&c);
    plain_cdspp_clear(&e);
    for (int64_t i = 0; i < 20; i++)
        g.ys[i] = 0;
    for (int64_t i = 0; i < 10; i++)
        g.yt[i] = 1;
    assert_ok(ctx, plain_cdspp(ctx, &g.p, 0, &c)); /* no class in common */
    assert_int_equal(c.rank, 0);
    plain_cdspp_clear(&c);
    given_free(&g);
    g = make(ctx, 10, 6, 3, 6, 3, 2, false, 1);
    memset(g.xs->dense, 0, 18 * sizeof(double)); /* nothing to go by */
    assert_ok(ctx, plain_cdspp(ctx, &g.p, 0, &c));
    assert_int_equal(c.rank, 0);
    plain_cdspp_clear(&c);
    given_free(&g);
}

static ferry_status solve_body(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    const given *g = arg;
    cdspp c = {0};

    FERRY_TRY(plain_cdspp(ctx, &g->p, 0, &c));
    plain_cdspp_clear(&c);
    FERRY_TRY(oracle_cdspp(ctx, &g->p, 0, &c));
done:
    plain_cdspp_clear(&c);
    return st;
}

static void test_solver_memory(void **state)
{
    ferry_ctx *ctx = *state;
    given g = make(ctx, 11, 9, 4, 4, 8, 3, true, 1);

    each_allocation_fails(ctx, solve_body, &g);
    given_free(&g);
}

/* ---- the method ---- */

/* Three classes in two spaces. */
static ferry_task *task_of(ferry_ctx *ctx, ferry_goal goal)
{
    double xs[18 * 4], xt[12 * 5];
    ferry_domain *s, *t;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 21, 0);
    for (int64_t e = 0; e < 18 * 4; e++)
        xs[e] = 0.2 * ferry_i_rng_normal(&rng) + (e % 4 == e / 4 % 3);
    for (int64_t e = 0; e < 12 * 5; e++)
        xt[e] = 0.2 * ferry_i_rng_normal(&rng) + (e % 5 == 4 - e / 5 % 3);
    s = small_domain(ctx, "s", FERRY_SOURCE, 18, 4, xs);
    small_classes(ctx, s, "abcabcabcabcabcabc");
    t = small_domain(ctx, "t", FERRY_TARGET, 12, 5, xt);
    small_classes(ctx, t, "abcabc??????");
    return small_task(ctx, goal, s, t);
}

static void test_classify(void **state)
{
    ferry_ctx *ctx = *state;
    static const char *const settings[] = {"", "learner=knn neighbours=3", "learner=logreg",
                                           "scale=none alpha=0.01", "scale=standard"};
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY);

    for (int64_t i = 0; i < FERRY_COUNT(settings); i++) {
        ferry_model *m = fit_model(ctx, task, "cdspp", settings[i]), *c = NULL;
        ferry_prediction *p = NULL, *q = NULL;
        assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("c.ferry")));
        assert_ok(ctx, ferry_model_load(ctx, tmp_path("c.ferry"), NULL, &c));
        assert_ok(ctx, ferry_predict(ctx, m, task->domains[1], &p));
        assert_ok(ctx, ferry_predict(ctx, c, task->domains[1], &q));
        for (int64_t r = 0; r < 12; r++)
            assert_int_equal(p->cls[r], r % 3);
        assert_memory_equal(p->score, q->score, 36 * sizeof(double));
        ferry_prediction_free(p);
        ferry_prediction_free(q);
        ferry_model_free(c);
        ferry_model_free(m);
    }
    ferry_task_free(task);
}

/* Rows of the target, of the source, and of neither. */
static void test_embed(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, FERRY_EMBED);
    ferry_model *m = fit_model(ctx, task, "cdspp", "alpha=1e-6 scale=none"), *c = NULL;
    const double xs[] = {1, 0, 0, 0, 0, 1, 0, 0}, xt[] = {0, 0, 0, 0, 1};
    const char *const ids[] = {"s1", "s2", "t1"};
    ferry_domain *d = NULL;
    ferry_prediction *p = NULL, *q = NULL;

    assert_ok(ctx, ferry_model_save(ctx, m, tmp_path("e.ferry")));
    assert_ok(ctx, ferry_model_load(ctx, tmp_path("e.ferry"), NULL, &c));
    assert_int_equal(c->n_views, 2);
    assert_string_equal(ferry_model_view_at(c, 1), "s.x");
    assert_ok(ctx, ferry_predict(ctx, c, task->domains[1], &p));
    assert_true(p->n == 12 && p->k == 3);
    assert_ok(ctx, ferry_domain_new(ctx, "new", FERRY_TARGET, &d));
    small_view(ctx, d, "s.x", 2, 4, xs, ids, NULL, false);
    small_view(ctx, d, "x", 1, 5, xt, ids + 2, NULL, false);
    assert_ok(ctx, ferry_predict(ctx, c, d, &q));
    assert_true(q->n == 3 && q->k == 3);
    /* the source's a falls near the target's a, its b does not */
    double near = 0, far = 0;
    for (int64_t k = 0; k < 3; k++) {
        near += pow(q->score[k] - q->score[6 + k], 2);
        far += pow(q->score[3 + k] - q->score[6 + k], 2);
    }
    assert_true(near < 0.3 * far);
    ferry_prediction_free(p);
    ferry_prediction_free(q);
    ferry_domain_free(d);
    ferry_model_free(c);
    ferry_model_free(m);
    ferry_task_free(task);
}

static char said[512];

static void hear(void *user, ferry_level level, const char *text)
{
    (void)user;
    if (level == FERRY_WARN) (void)snprintf(said, sizeof said, "%s", text);
}

static void test_messages(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY);
    const double x[] = {1, 2, 3, 4};
    ferry_domain *more = small_domain(ctx, "u", FERRY_SOURCE, 2, 2, x), *d;
    ferry_opts *opts = NULL;
    ferry_model *m;
    ferry_prediction p = {.n = 0, .k = 3};

    ferry_ctx_set_log(ctx, hear, FERRY_WARN, NULL);
    m = fit_model(ctx, task, "cdspp", "dims=7");
    assert_string_equal(said, "cdspp: there are 3 dimensions, not 7: 3 classes are in both "
                              "domains");
    d = small_domain(ctx, "w", FERRY_TARGET, 2, 2, x);
    assert_fails(ctx, m->method->predict(ctx, m->state, d, &p), FERRY_EDATA,
                 "view 'x' has 2 features, the model's 5");
    ferry_domain_free(d);
    d = small_domain(ctx, "w", FERRY_TARGET, 0, 5, x);
    p.k = 0;
    assert_fails(ctx, m->method->predict(ctx, m->state, d, &p), FERRY_EDATA,
                 "the model has 3 classes, not 0");
    ferry_domain_free(d);
    ferry_model_free(m);
    small_classes(ctx, more, "pq");
    assert_ok(ctx, ferry_task_add_domain(ctx, task, more));
    assert_fails(ctx, method_fits(ctx, "cdspp", task, NULL), FERRY_ENEEDS,
                 "cdspp projects one source; this task has 2");
    ferry_task_free(task);
    more = small_domain(ctx, "u", FERRY_SOURCE, 2, 2, x);
    small_classes(ctx, more, "pq");
    d = small_domain(ctx, "t", FERRY_TARGET, 2, 2, x);
    small_classes(ctx, d, "rs");
    task = small_task(ctx, FERRY_CLASSIFY, more, d);
    assert_fails(ctx, ferry_fit(ctx, task, "cdspp", opts, &m, NULL), FERRY_ENEEDS,
                 "cdspp: source 'u' and target 't' have no class in common");
    ferry_task_free(task);
}

static ferry_status method_body(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    const ferry_task *task = arg;
    ferry_model *m = NULL, *c = NULL;
    ferry_prediction *p = NULL;

    FERRY_TRY(ferry_fit(ctx, task, "cdspp", NULL, &m, NULL));
    FERRY_TRY(ferry_model_save(ctx, m, tmp_path("m.ferry")));
    FERRY_TRY(ferry_model_load(ctx, tmp_path("m.ferry"), NULL, &c));
    FERRY_TRY(ferry_predict(ctx, c, task->domains[1], &p));
done:
    ferry_prediction_free(p);
    ferry_model_free(c);
    ferry_model_free(m);
    return st;
}

static void test_memory(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY), *embed = task_of(ctx, FERRY_EMBED);

    each_allocation_fails(ctx, method_body, task);
    each_allocation_fails(ctx, method_body, embed);
    ferry_task_free(task);
    ferry_task_free(embed);
}

/* Tensors left out or of another shape: they are not loaded, or (parts that do not go together) do not answer. */
static void test_strange(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_task *task = task_of(ctx, FERRY_CLASSIFY);
    ferry_model *m = fit_model(ctx, task, "cdspp", "");
    ferry_dict *good = NULL, *bad = NULL;
    void *s = NULL;

    assert_ok(ctx, ferry_i_dict_new(ctx, &good));
    assert_ok(ctx, ferry_i_method_save(ctx, m->method, m->state, good));
    for (int64_t i = 0; i < 3 * good->n; i++) {
        const char *name = ferry_i_ids_at(good->names, i / 3);
        const double two[] = {-1, -1};
        const int64_t numbers[] = {FERRY_CLASSIFY, 9};
        assert_ok(ctx, ferry_i_dict_new(ctx, &bad));
        for (int64_t t = 0; t < good->n; t++) {
            dict_tensor lent = good->tensor[t];
            lent.owned = NULL;
            if (t != i / 3)
                assert_ok(
                    ctx, ferry_i_dict_add(ctx, bad, ferry_i_ids_at(good->names, t), &lent));
        }
        if (i % 3 == 1) assert_ok(ctx, ferry_i_dict_put_reals(ctx, bad, name, 1, 2, two));
        if (i % 3 == 2) assert_ok(ctx, ferry_i_dict_put_ints(ctx, bad, name, 2, numbers));
        ferry_status st = ferry_i_method_load(ctx, m->method, bad, &s);
        ferry_prediction p = {.k = 3};
        if (st == FERRY_OK) {
            st = m->method->predict(ctx, s, task->domains[1], &p);
            m->method->free(s);
            s = NULL;
        }
        if (st != FERRY_EDATA) fail_msg("a broken %s is taken", name);
        assert_null(s);
        ferry_i_dict_free(bad);
    }
    ferry_i_dict_free(good);
    ferry_model_free(m);
    ferry_task_free(task);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_golden),        TEST(test_by_hand),       TEST(test_shapes),
        TEST(test_small_alpha),   TEST(test_source_counts), TEST(test_dims_and_nothing),
        TEST(test_solver_memory), TEST(test_classify),      TEST(test_embed),
        TEST(test_messages),      TEST(test_memory),        TEST(test_strange),
    };
    return cmocka_run_group_tests_name("cdspp", tests, NULL, NULL);
}
