/* HeMap's published formulas against cases worked out by an independent program (golden/hemap beside the data, where
 * they are present), and its eigenpairs against A written out. */
#include <jansson.h>
#include <stdlib.h>

#include "golden.h"
#include "methods/hemap_paper.c" /* its insides */

/* ---- the files ---- */

static block golden_block(scope *s, const json_t *j, const char *key)
{
    int64_t n = 0, k = 0;
    double *v = golden_array(j, key, &n, &k);
    const block b = block_new(s, HERE(n), n, k);

    memcpy(b.at, v, (size_t)(n * k) * sizeof *v);
    free(v);
    return b;
}

static matrix golden_matrix(scope *s, const json_t *j, const char *key)
{
    return matrix_of(s, golden_block(s, j, key));
}

static int32_t *golden_ints(scope *s, const json_t *j, const char *key)
{
    const block b = golden_block(s, j, key);
    int32_t *to = NEW(s, int32_t, b.n);

    for (int64_t i = 0; i < b.n; i++)
        to[i] = (int32_t)b.at[i];
    return to;
}

/* Column j of the two halves has the sign of the wanted ones. */
static void check_halves(block bt, block bs, block wt, block ws)
{
    for (int64_t j = 0; j < wt.k; j++) {
        double dot = 0;
        for (int64_t i = 0; i < bt.n; i++)
            dot += ROW(bt, i)[j] * ROW(wt, i)[j] + ROW(bs, i)[j] * ROW(ws, i)[j];
        for (int64_t i = 0; i < bt.n; i++) {
            const double sign = dot < 0 ? -1 : 1;
            assert_close(sign * ROW(bt, i)[j], ROW(wt, i)[j], 1e-8);
            assert_close(sign * ROW(bs, i)[j], ROW(ws, i)[j], 1e-8);
        }
    }
}

/* Each check in a run of its own, on both engines. */
static void check_file(ferry_ctx *ctx, const char *name, void (*body)(scope *, void *))
{
    json_t *j = golden(name);

    if (!j) skip();
    for (int engine = 0; engine < 2; engine++) {
        assert_ok(ctx, ferry_i_ctx_set_engine(ctx, engine ? "ref" : "host"));
        assert_ok(ctx, scope_run(ctx, body, j));
    }
    json_decref(j);
}

/* ---- (5.8) and (5.15) ---- */

static hemap_problem problem_of(scope *s, const json_t *j)
{
    hemap_problem p = {.t = golden_matrix(s, j, "T"),
                       .s = golden_matrix(s, j, "S"),
                       .beta = golden_real(j, "beta"),
                       .theta = 1,
                       .ft = 1,
                       .fs = 1};

    if (json_object_get(j, "C_T")) {
        p.ct = golden_matrix(s, j, "C_T");
        p.cs = golden_matrix(s, j, "C_S");
        p.theta = golden_real(j, "theta");
    }
    return p;
}

/* A is the file's, and F F' of the file's F, which the library never forms. */
static void check_factors(scope *s, const hemap_problem *p, const json_t *j)
{
    const small a = matrix_a(s, p);
    const block f = golden_block(s, j, "F"), wa = golden_block(s, j, "A");

    assert_int_equal(a.rows, f.n);
    for (int64_t i = 0; i < a.rows; i++)
        for (int64_t c = 0; c < a.cols; c++) {
            double ff = 0;
            for (int64_t e = 0; e < f.k; e++)
                ff += ROW(f, i)[e] * ROW(f, c)[e];
            assert_close(AT(a, i, c), ROW(wa, i)[c], 1e-12);
            assert_close(AT(a, i, c), ff, 1e-12);
        }
}

static void check_exact(scope *s, const hemap_problem *p, const json_t *j)
{
    if (!json_object_get(j, "trace_exact_constraint_k2")) return;
    const projections b = spectral(s, p, 2);
    const double trace = exactly(s, p, 2000, 1e-14, b.bt, b.bs);
    assert_close(trace, golden_real(j, "trace_exact_constraint_k2"), 1e-6);
    assert_close(objective(s, p, trace), golden_real(j, "G_exact_constraint_k2"), 1e-6);
}

static void check_spectral(scope *s, void *arg)
{
    const json_t *j = arg;
    const hemap_problem p = problem_of(s, j);
    const int64_t n = p.t.n, k = (int64_t)golden_real(j, "k");
    const block values = golden_block(s, j, "eigenvalues");
    const projections b = spectral(s, &p, k), all = spectral(s, &p, 2 * n);

    assert_int_equal(b.rank, k);
    check_halves(b.bt, b.bs, golden_block(s, j, "B_T"), golden_block(s, j, "B_S"));
    check_factors(s, &p, j);
    assert_true(all.rank <= columns_of(&p));
    for (int64_t i = 0; i < 2 * n; i++) /* those beyond the rank are 0 */
        assert_close(all.value[i], values.at[i], 1e-8);
    check_exact(s, &p, j);
}

static void test_golden_spectral(void **state)
{
    static const char *const names[] = {
        "hemap/linear_beta1.json", "hemap/linear_beta0.5.json", "hemap/linear_beta2.json",
        "hemap/nonlinear_theta0.5.json", "hemap/nonlinear_theta0.8.json"};

    for (int64_t i = 0; i < FERRY_COUNT(names); i++)
        check_file(*state, names[i], check_spectral);
}

/* The order of the rows decides: the same data, S's rows permuted. */
static void check_permutation(scope *s, void *arg)
{
    const json_t *j = arg;
    hemap_problem p = problem_of(s, j);
    const int32_t *perm = golden_ints(s, j, "perm");
    const block before = golden_block(s, j, "eigenvalues_before"),
                after = golden_block(s, j, "eigenvalues_after");
    int64_t *rows = NEW(s, int64_t, p.s.n);

    for (int64_t i = 0; i < p.s.n; i++)
        rows[i] = perm[i];
    projections b = spectral(s, &p, 3);
    for (int64_t i = 0; i < 3; i++)
        assert_close(b.value[i], before.at[i], 1e-8);
    p.s = take_rows(s, p.s, p.s.n, rows, false);
    b = spectral(s, &p, 3);
    for (int64_t i = 0; i < 3; i++)
        assert_close(b.value[i], after.at[i], 1e-8);
    check_halves(b.bt, b.bs, golden_block(s, j, "B_T_after"),
                 golden_block(s, j, "B_S_after"));
}

static void test_golden_permutation(void **state)
{
    check_file(*state, "hemap/permutation.json", check_permutation);
}

/* ---- eigenpairs of A written out ---- */

static matrix normal_matrix(scope *s, ferry_rng *rng, int64_t n, int64_t d, double large)
{
    const block b = block_new(s, HERE(n), n, d);

    fill_normal(s, rng, b);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d && j < 2; j++)
            ROW(b, i)[j] *= large;
    return matrix_of(s, b);
}

/* A b = l b and b'b = 1, on whichever side they were found (few rows: A itself; many columns: Lanczos); and factors of
 * the sets count as if they had been multiplied. */
static void check_sides(scope *s, int64_t n, int64_t m, int64_t d, double ft)
{
    ferry_rng *rng = scope_rng(s, "sides");
    const hemap_problem p = {.t = normal_matrix(s, rng, n, m, 5),
                             .s = normal_matrix(s, rng, n, d, 1),
                             .beta = 0.7,
                             .theta = 1,
                             .ft = ft,
                             .fs = 1};
    const small a = matrix_a(s, &p);
    const projections b = spectral(s, &p, 2);

    assert_int_equal(b.rank, 2);
    for (int j = 0; j < 2; j++) {
        double norm = 0;
        for (int64_t i = 0; i < 2 * n; i++) {
            double ab = 0;
            for (int64_t c = 0; c < 2 * n; c++)
                ab += AT(a, i, c) * ROW(c < n ? b.bt : b.bs, c % n)[j];
            const double bi = ROW(i < n ? b.bt : b.bs, i % n)[j];
            norm += bi * bi;
            if (fabs(ab - b.value[j] * bi) > 1e-8 * b.value[j])
                fail_msg("residual %g", fabs(ab - b.value[j] * bi));
        }
        assert_close(norm, 1, 1e-10);
    }
}

static void sides_body(scope *s, void *arg)
{
    (void)arg;
    check_sides(s, 6, 9, 11, 1);
    check_sides(s, 20, 4, 5, 3);
    check_sides(s, 330, 300, 320, 1);
}

static void test_sides(void **state)
{
    assert_ok(*state, scope_run(*state, sides_body, NULL));
}

/* beta = 2 makes the halves of F equal, and so those of B. */
static void beta_2_body(scope *s, void *arg)
{
    ferry_rng *rng = scope_rng(s, "beta");
    const hemap_problem p = {.t = normal_matrix(s, rng, 40, 5, 2),
                             .s = normal_matrix(s, rng, 40, 6, 1),
                             .beta = 2,
                             .theta = 1,
                             .ft = 1,
                             .fs = 1};
    const projections b = spectral(s, &p, 3);

    (void)arg;
    for (int64_t i = 0; i < 3 * 40; i++)
        assert_close(b.bt.at[i], b.bs.at[i], 1e-10);
}

static void test_beta_2(void **state)
{
    assert_ok(*state, scope_run(*state, beta_2_body, NULL));
}

/* ---- selection ---- */

static void check_select(scope *s, void *arg)
{
    const json_t *j = arg;
    const block bt = golden_block(s, j, "B_T"), bs = golden_block(s, j, "B_S");
    const mixing o = {.kappa = golden_real(j, "kappa"),
                      .min_size = (int64_t)golden_real(j, "min_size"),
                      .tau = golden_real(j, "tau"),
                      .min_clusters = 8,
                      .risk = 0.5};
    const mixed m = mixed_rows(s, bt, bs, &o);
    const json_t *keep = json_object_get(j, "keep");

    assert_memory_equal(m.cluster_t, golden_ints(s, j, "cluster_T"),
                        sizeof *m.cluster_t * (size_t)bt.n);
    assert_memory_equal(m.cluster_s, golden_ints(s, j, "cluster_S"),
                        sizeof *m.cluster_s * (size_t)bs.n);
    for (int64_t i = 0; i < bs.n; i++)
        assert_int_equal(m.keep[i],
                         json_number_value(json_array_get(keep, (size_t)i)) != 0);
    assert_close(m.kl_printed, golden_real(j, "kl_c_smooth0_5"), 1e-8);
    assert_close(m.kl, golden_real(j, "kl_plain_smooth0_5"), 1e-8);
    assert_int_equal(m.risky, json_number_value(json_object_get(j, "risky")) != 0);
}

static void test_golden_select(void **state)
{
    check_file(*state, "hemap/select.json", check_select);
}

static void check_kl(int64_t g, const int64_t *a, const int64_t *b, const double *want)
{
    assert_close(kl_printed(g, a, b, 0), want[0], 1e-10);
    assert_close(kl_corrected(g, a, b, 0), want[1], 1e-10);
    assert_close(kl_printed(g, a, b, 0.5), want[2], 1e-10);
    assert_close(kl_corrected(g, a, b, 0.5), want[3], 1e-10);
}

static void check_kl_cases(scope *s, void *arg)
{
    static const char *const keys[] = {"kl_c", "kl_plain", "kl_c_smooth",
                                       "kl_plain_smooth"};
    json_t *one;
    size_t at;

    json_array_foreach(json_object_get(arg, "cases"), at, one)
    {
        int64_t a[16], b[16];
        double want[4];
        const block nt = golden_block(s, one, "nT"), ns = golden_block(s, one, "nS");
        for (int64_t c = 0; c < nt.n; c++) {
            a[c] = (int64_t)nt.at[c];
            b[c] = (int64_t)ns.at[c];
        }
        for (int k = 0; k < 4; k++)
            want[k] = json_number_value(json_object_get(one, keys[k]));
        check_kl(nt.n, a, b, want);
    }
}

static void test_golden_kl(void **state)
{
    check_file(*state, "hemap/kl_cases.json", check_kl_cases);
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

static void check_bridge(scope *s, void *arg)
{
    const json_t *j = arg;
    const block pys = golden_block(s, j, "p_y_given_s"),
                wyv = golden_block(s, j, "p_y_given_v"),
                pvx = golden_block(s, j, "p_v_given_x"),
                wyx = golden_block(s, j, "p_y_given_x"), pyv = block_like(s, wyv),
                pyx = block_like(s, wyx);

    label_meanings(pys, golden_ints(s, j, "v"), pyv);
    translate_labels(pvx, pyv, pyx);
    for (int64_t i = 0; i < wyv.n * wyv.k; i++)
        assert_close(pyv.at[i], wyv.at[i], 1e-12);
    for (int64_t i = 0; i < wyx.n * wyx.k; i++)
        assert_close(pyx.at[i], wyx.at[i], 1e-12);
}

static void test_golden_bridge(void **state)
{
    check_file(*state, "hemap/bridge.json", check_bridge);
}

static void check_ridge(scope *s, void *arg)
{
    const json_t *j = arg;
    const learner *by = learner_find("ridge");
    void *with = learner_defaults(s, by);
    const matrix x = golden_matrix(s, j, "X");
    const block y = golden_block(s, j, "y"), w = golden_block(s, j, "w"),
                want = golden_block(s, j, "pred");
    const examples e = {
        .x = x, .y = {.goal = FERRY_REGRESS, .k = 1, .num = y.at}, .weight = w.at};

    learner_set(by, with, "lambda", golden_real(j, "lam"));
    const learned m = learn(s, s, by, with, &e);
    const block out = answer(s, &m, golden_matrix(s, j, "query"));
    for (int64_t i = 0; i < out.n; i++)
        assert_close(out.at[i], want.at[i], 1e-10);
}

static void test_golden_ridge(void **state)
{
    check_file(*state, "hemap/ridge.json", check_ridge);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_golden_spectral),
        TEST(test_golden_permutation),
        TEST(test_sides),
        TEST(test_beta_2),
        TEST(test_golden_select),
        TEST(test_golden_kl),
        TEST(test_kl),
        TEST(test_golden_bridge),
        TEST(test_golden_ridge),
    };
    return cmocka_run_group_tests_name("hemap golden", tests, NULL, NULL);
}
