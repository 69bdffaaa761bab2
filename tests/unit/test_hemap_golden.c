/* HeMap's formulas against cases worked out by an independent program: some numbers here,
 * the whole of the files in golden/hemap beside the data where they are present. */
#include <jansson.h>
#include <stdio.h>

#include "golden.h"
#include "methods/hemap/hemap.h"

/* ---- the files ---- */

static double number(const json_t *j, const char *key)
{
    return json_number_value(json_object_get(j, key));
}

static ferry_matrix *matrix(ferry_ctx *ctx, const json_t *j, const char *key)
{
    const json_t *rows = json_object_get(j, key);
    const int64_t n = (int64_t)json_array_size(rows);
    const int64_t d = (int64_t)json_array_size(json_array_get(rows, 0));
    ferry_matrix *x = NULL;

    assert_true(n > 0 && d > 0);
    assert_ok(ctx, ferry_i_matrix_dense(ctx, n, d, &x));
    for (int64_t i = 0; i < n * d; i++)
        x->dense[i] = json_number_value(
            json_array_get(json_array_get(rows, (size_t)(i / d)), (size_t)(i % d)));
    return x;
}

static double at(const json_t *j, const char *key, int64_t i)
{
    return json_number_value(json_array_get(json_object_get(j, key), (size_t)i));
}

/* The matrix as a block that shares its bytes. */
static ferry_block as_block(const ferry_matrix *x)
{
    return (ferry_block){.rows = x->rows, .k = x->cols, .data = x->dense};
}

static void fill_ints(const json_t *j, const char *key, int32_t *out)
{
    const json_t *a = json_object_get(j, key);

    for (size_t i = 0; i < json_array_size(a); i++)
        out[i] = (int32_t)json_integer_value(json_array_get(a, i));
}

/* Column j of the two halves has the sign of the wanted ones. */
static void check_halves(const ferry_block *bt, const ferry_block *bs,
                         const ferry_matrix *wt, const ferry_matrix *ws)
{
    for (int64_t j = 0; j < bt->k; j++) {
        double dot = 0;
        for (int64_t i = 0; i < bt->rows; i++)
            dot += FERRY_ROW(bt, i)[j] * wt->dense[i * wt->cols + j] +
                   FERRY_ROW(bs, i)[j] * ws->dense[i * ws->cols + j];
        for (int64_t i = 0; i < bt->rows; i++) {
            const double sign = dot < 0 ? -1 : 1;
            assert_close(sign * FERRY_ROW(bt, i)[j], wt->dense[i * wt->cols + j], 1e-8);
            assert_close(sign * FERRY_ROW(bs, i)[j], ws->dense[i * ws->cols + j], 1e-8);
        }
    }
}

/* ---- (5.8) and (5.15) ---- */

/* A is the file's, and F F' of the file's F, which the library never forms. */
static void check_factors(ferry_ctx *ctx, const hemap_problem *p, const json_t *j)
{
    ferry_small *a = NULL;
    ferry_matrix *f = matrix(ctx, j, "F"), *wa = matrix(ctx, j, "A");

    assert_ok(ctx, ferry_i_hemap_matrix(ctx, p, &a));
    assert_int_equal(a->rows, f->rows);
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t c = 0; c < a->cols; c++) {
            double ff = 0;
            for (int64_t e = 0; e < f->cols; e++)
                ff += f->dense[i * f->cols + e] * f->dense[c * f->cols + e];
            assert_close(FERRY_AT(a, i, c), wa->dense[i * a->cols + c], 1e-12);
            assert_close(FERRY_AT(a, i, c), ff, 1e-12);
        }
    ferry_i_matrix_free(wa);
    ferry_i_matrix_free(f);
    ferry_i_free(a);
}

/* All eigenvalues: those beyond the rank are 0. */
static void check_values(ferry_ctx *ctx, const hemap_problem *p, const json_t *j)
{
    const int64_t n = p->t->rows;
    int64_t q = p->t->cols + p->s->cols + (p->ct ? p->ct->cols + p->cs->cols : 0);
    double values[64] = {0};
    int64_t rank = 0;
    ferry_block *bt = NULL, *bs = NULL;

    assert_ok(ctx, ferry_i_block_new(ctx, n, 2 * n, &bt));
    assert_ok(ctx, ferry_i_block_new(ctx, n, 2 * n, &bs));
    assert_ok(ctx, ferry_i_hemap_spectral(ctx, p, 2 * n, values, bt, bs, &rank));
    assert_true(rank <= q);
    for (int64_t i = 0; i < 2 * n; i++)
        assert_close(values[i], at(j, "eigenvalues", i), 1e-8);
    FERRY_FREE(bs, bt);
}

static void check_exact(ferry_ctx *ctx, const hemap_problem *p, const json_t *j)
{
    double values[2] = {0}, trace = 0;
    int64_t rank = 0;
    ferry_block *bt = NULL, *bs = NULL;

    if (!json_object_get(j, "trace_exact_constraint_k2")) return;
    assert_ok(ctx, ferry_i_block_new(ctx, p->t->rows, 2, &bt));
    assert_ok(ctx, ferry_i_block_new(ctx, p->t->rows, 2, &bs));
    assert_ok(ctx, ferry_i_hemap_spectral(ctx, p, 2, values, bt, bs, &rank));
    assert_ok(ctx, ferry_i_hemap_exact(ctx, p, 2000, 1e-14, bt, bs, &trace));
    assert_close(trace, number(j, "trace_exact_constraint_k2"), 1e-6);
    assert_close(ferry_i_hemap_objective(p, trace), number(j, "G_exact_constraint_k2"),
                 1e-6);
    FERRY_FREE(bs, bt);
}

static void check_spectral(ferry_ctx *ctx, const char *name)
{
    json_t *j = golden(name);
    ferry_matrix *t, *s, *ct = NULL, *cs = NULL, *wt, *ws;
    ferry_block *bt = NULL, *bs = NULL;
    double values[16] = {0};
    int64_t rank = 0;

    if (!j) return;
    t = matrix(ctx, j, "T");
    s = matrix(ctx, j, "S");
    if (json_object_get(j, "C_T")) {
        ct = matrix(ctx, j, "C_T");
        cs = matrix(ctx, j, "C_S");
    }
    const hemap_problem p = {t, s, ct, cs, number(j, "beta"), ct ? number(j, "theta") : 1};
    const int64_t k = (int64_t)number(j, "k");
    assert_ok(ctx, ferry_i_block_new(ctx, t->rows, k, &bt));
    assert_ok(ctx, ferry_i_block_new(ctx, t->rows, k, &bs));
    assert_ok(ctx, ferry_i_hemap_spectral(ctx, &p, k, values, bt, bs, &rank));
    assert_int_equal(rank, k);
    wt = matrix(ctx, j, "B_T");
    ws = matrix(ctx, j, "B_S");
    check_halves(bt, bs, wt, ws);
    check_factors(ctx, &p, j);
    check_values(ctx, &p, j);
    check_exact(ctx, &p, j);
    ferry_i_matrix_free(ws);
    ferry_i_matrix_free(wt);
    FERRY_FREE(bs, bt);
    ferry_i_matrix_free(cs);
    ferry_i_matrix_free(ct);
    ferry_i_matrix_free(s);
    ferry_i_matrix_free(t);
    json_decref(j);
}

static void test_golden_spectral(void **state)
{
    static const char *const names[] = {
        "hemap/linear_beta1.json", "hemap/linear_beta0.5.json", "hemap/linear_beta2.json",
        "hemap/nonlinear_theta0.5.json", "hemap/nonlinear_theta0.8.json"};
    ferry_ctx *ctx = *state;

    for (int64_t i = 0; i < FERRY_COUNT(names); i++)
        for (int engine = 0; engine < 2; engine++) {
            assert_ok(ctx, ferry_ctx_set_engine(ctx, engine ? "ref" : "host"));
            check_spectral(ctx, names[i]);
        }
}

/* The order of the rows decides: the same data, S's rows permuted. */
static void test_golden_permutation(void **state)
{
    ferry_ctx *ctx = *state;
    json_t *j = golden("hemap/permutation.json");
    int64_t perm[16], rank = 0;
    int32_t order[16];
    double values[3];
    ferry_block *bt = NULL, *bs = NULL;
    ferry_matrix *ps = NULL;

    if (!j) skip();
    ferry_matrix *t = matrix(ctx, j, "T"), *s = matrix(ctx, j, "S");
    ferry_matrix *wt = matrix(ctx, j, "B_T_after"), *ws = matrix(ctx, j, "B_S_after");
    fill_ints(j, "perm", order);
    for (int64_t i = 0; i < t->rows; i++)
        perm[i] = order[i];
    assert_ok(ctx, ferry_i_matrix_take(ctx, s, s->rows, perm, s->cols, NULL, &ps));
    assert_ok(ctx, ferry_i_block_new(ctx, t->rows, 3, &bt));
    assert_ok(ctx, ferry_i_block_new(ctx, t->rows, 3, &bs));
    const hemap_problem before = {t, s, NULL, NULL, number(j, "beta"), 1};
    assert_ok(ctx, ferry_i_hemap_spectral(ctx, &before, 3, values, bt, bs, &rank));
    for (int64_t i = 0; i < 3; i++)
        assert_close(values[i], at(j, "eigenvalues_before", i), 1e-8);
    const hemap_problem after = {t, ps, NULL, NULL, number(j, "beta"), 1};
    assert_ok(ctx, ferry_i_hemap_spectral(ctx, &after, 3, values, bt, bs, &rank));
    for (int64_t i = 0; i < 3; i++)
        assert_close(values[i], at(j, "eigenvalues_after", i), 1e-8);
    check_halves(bt, bs, wt, ws);
    FERRY_FREE(bs, bt);
    ferry_i_matrix_free(ps);
    ferry_i_matrix_free(ws);
    ferry_i_matrix_free(wt);
    ferry_i_matrix_free(s);
    ferry_i_matrix_free(t);
    json_decref(j);
}

/* ---- paired ---- */

static ferry_small *covariance(ferry_ctx *ctx, const ferry_matrix *x)
{
    ferry_small *k = NULL;

    assert_ok(ctx, ferry_i_small_new(ctx, x->cols, x->cols, &k));
    assert_ok(ctx, ferry_e(ctx)->xtx(ctx, x, k));
    for (int64_t i = 0; i < x->cols * x->cols; i++)
        k->data[i] /= (double)x->rows;
    return k;
}

static void test_golden_paired(void **state)
{
    ferry_ctx *ctx = *state;
    json_t *j = golden("hemap/paired.json");
    int32_t gt[16], gs[16];
    int64_t used = 0;
    double values[2];
    ferry_small *c = NULL, *v = NULL;

    if (!j) skip();
    ferry_matrix *t = matrix(ctx, j, "T"), *s = matrix(ctx, j, "S");
    ferry_matrix *cross = matrix(ctx, j, "cross"), *wv = matrix(ctx, j, "V");
    ferry_small *kt = covariance(ctx, t), *ks = covariance(ctx, s);
    const ferry_block bt = as_block(t), bs = as_block(s);
    fill_ints(j, "y_T", gt);
    fill_ints(j, "v_S", gs);
    assert_ok(ctx, ferry_i_small_new(ctx, t->cols, s->cols, &c));
    assert_ok(ctx, ferry_i_hemap_cross_groups(ctx, &bt, gt, &bs, gs, 2, c, &used));
    assert_int_equal(used, 2);
    for (int64_t i = 0; i < c->rows; i++)
        for (int64_t k = 0; k < c->cols; k++)
            assert_close(FERRY_AT(c, i, k), cross->dense[i * c->cols + k], 1e-10);
    assert_ok(ctx, ferry_i_small_new(ctx, t->cols + s->cols, 2, &v));
    assert_ok(ctx, ferry_i_hemap_paired(ctx, kt, ks, c, number(j, "beta"), 2, values, v));
    for (int64_t k = 0; k < 2; k++) {
        double dot = 0;
        assert_close(values[k], at(j, "eigenvalues", k), 1e-8);
        for (int64_t i = 0; i < v->rows; i++)
            dot += FERRY_AT(v, i, k) * wv->dense[i * 2 + k];
        assert_close(fabs(dot), 1, 1e-10); /* then b_T = T v_T and b_S = S v_S agree too */
    }
    FERRY_FREE(v, c, ks, kt);
    ferry_i_matrix_free(wv);
    ferry_i_matrix_free(cross);
    ferry_i_matrix_free(s);
    ferry_i_matrix_free(t);
    json_decref(j);
}

/* ---- selection ---- */

static void test_golden_select(void **state)
{
    ferry_ctx *ctx = *state;
    json_t *j = golden("hemap/select.json");
    int32_t want[64];
    hemap_sample sel;

    if (!j) skip();
    ferry_matrix *t = matrix(ctx, j, "B_T"), *s = matrix(ctx, j, "B_S");
    const ferry_block bt = as_block(t), bs = as_block(s);
    const hemap_sampling o = {.kappa = number(j, "kappa"),
                              .min_size = (int64_t)number(j, "min_size"),
                              .tau = number(j, "tau"),
                              .min_clusters = 8,
                              .risk = 0.5};
    assert_ok(ctx, ferry_i_hemap_choose_rows(ctx, &bt, &bs, &o, &sel));
    fill_ints(j, "cluster_T", want);
    assert_memory_equal(sel.cluster_t, want, sizeof *want * 30);
    fill_ints(j, "cluster_S", want);
    assert_memory_equal(sel.cluster_s, want, sizeof *want * 40);
    fill_ints(j, "keep", want);
    for (int64_t i = 0; i < s->rows; i++)
        assert_int_equal(sel.keep[i], want[i]);
    assert_close(sel.kl_printed, number(j, "kl_c_smooth0_5"), 1e-8);
    assert_close(sel.kl, number(j, "kl_plain_smooth0_5"), 1e-8);
    assert_int_equal(sel.risky, (int)number(j, "risky"));
    ferry_i_hemap_sample_clear(&sel);
    ferry_i_matrix_free(s);
    ferry_i_matrix_free(t);
    json_decref(j);
}

static void check_kl(int64_t g, const int64_t *a, const int64_t *b, const double *want)
{
    assert_close(ferry_i_hemap_kl_printed(g, a, b, 0), want[0], 1e-10);
    assert_close(ferry_i_hemap_kl(g, a, b, 0), want[1], 1e-10);
    assert_close(ferry_i_hemap_kl_printed(g, a, b, 0.5), want[2], 1e-10);
    assert_close(ferry_i_hemap_kl(g, a, b, 0.5), want[3], 1e-10);
}

static void test_golden_kl(void **state)
{
    static const char *const keys[] = {"kl_c", "kl_plain", "kl_c_smooth",
                                       "kl_plain_smooth"};
    json_t *j = golden("hemap/kl_cases.json"), *one;
    size_t i;

    (void)state;
    if (!j) skip();
    json_array_foreach(json_object_get(j, "cases"), i, one)
    {
        int64_t a[16], b[16];
        double want[4];
        const int64_t g = (int64_t)json_array_size(json_object_get(one, "nT"));
        for (int64_t c = 0; c < g; c++) {
            a[c] = (int64_t)at(one, "nT", c);
            b[c] = (int64_t)at(one, "nS", c);
        }
        for (int k = 0; k < 4; k++)
            want[k] = number(one, keys[k]);
        check_kl(g, a, b, want);
    }
    json_decref(j);
}

/* Two of those cases, for when the files are absent. */
static void test_kl(void **state)
{
    const int64_t a1[] = {1, 9, 5}, b1[] = {4, 4, 2}, a2[] = {3, 0, 7}, b2[] = {2, 5, 3};
    const double w1[] = {0.6675918341356111, 0.29410364150502505, 0.5614571839099509,
                         0.23244183386685097};
    const double w2[] = {0.9763193420983989, 0.7147480347034918, 0.8680272561895954,
                         0.6344397074191915};

    (void)state;
    check_kl(3, a1, b1, w1);
    check_kl(3, a2, b2, w2);
}

/* ---- outputs, ridge ---- */

static void test_golden_bridge(void **state)
{
    ferry_ctx *ctx = *state;
    json_t *j = golden("hemap/bridge.json");
    int32_t v[16];
    ferry_block *pyv = NULL, *pyx = NULL;

    if (!j) skip();
    ferry_matrix *pys = matrix(ctx, j, "p_y_given_s"), *wyv = matrix(ctx, j, "p_y_given_v");
    ferry_matrix *pvx = matrix(ctx, j, "p_v_given_x"), *wyx = matrix(ctx, j, "p_y_given_x");
    const ferry_block bys = as_block(pys), bvx = as_block(pvx);
    fill_ints(j, "v", v);
    assert_ok(ctx, ferry_i_block_new(ctx, wyv->rows, wyv->cols, &pyv));
    assert_ok(ctx, ferry_i_block_new(ctx, wyx->rows, wyx->cols, &pyx));
    ferry_i_hemap_outputs(&bys, v, pyv);
    ferry_i_hemap_translate(&bvx, pyv, pyx);
    for (int64_t i = 0; i < wyv->rows * wyv->cols; i++)
        assert_close(pyv->data[i], wyv->dense[i], 1e-12);
    for (int64_t i = 0; i < wyx->rows * wyx->cols; i++)
        assert_close(pyx->data[i], wyx->dense[i], 1e-12);
    FERRY_FREE(pyx, pyv);
    ferry_i_matrix_free(wyx);
    ferry_i_matrix_free(pvx);
    ferry_i_matrix_free(wyv);
    ferry_i_matrix_free(pys);
    json_decref(j);
}

static void test_golden_ridge(void **state)
{
    ferry_ctx *ctx = *state;
    json_t *j = golden("hemap/ridge.json");
    double y[16], weight[16], *w = NULL;
    ferry_block *out = NULL;

    if (!j) skip();
    ferry_matrix *x = matrix(ctx, j, "X"), *q = matrix(ctx, j, "query");
    const ferry_block by = {.rows = x->rows, .k = 1, .data = y};
    for (int64_t i = 0; i < x->rows; i++) {
        y[i] = at(j, "y", i);
        weight[i] = at(j, "w", i);
    }
    assert_ok(ctx, ferry_i_ridge_fit_weighted(ctx, x, &by, weight, number(j, "lam"), &w));
    assert_ok(ctx, ferry_i_block_new(ctx, q->rows, 1, &out));
    assert_ok(ctx, ferry_i_linear_apply(ctx, q, 1, w, out));
    for (int64_t i = 0; i < q->rows; i++)
        assert_close(out->data[i], at(j, "pred", i), 1e-10);
    FERRY_FREE(out, w);
    ferry_i_matrix_free(q);
    ferry_i_matrix_free(x);
    json_decref(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_golden_spectral, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_golden_permutation, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_golden_paired, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_golden_select, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_golden_kl, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_kl, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_golden_bridge, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_golden_ridge, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("hemap golden", tests, NULL, NULL);
}
