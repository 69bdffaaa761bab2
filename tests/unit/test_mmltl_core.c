/* M-MLTL's formulas: steps, objective, the exact solution, delta, kernel; against the
 * golden cases, against each other, and by hand. */
#include <float.h>
#include <stdio.h>

#include "golden.h"
#include "in_scope.h"
#include "learn/kernel.h"
#include "oracle.h"

/* The data of the golden cases, so that the tests check something without the files. */
enum { D = 6, NS = 12, NT = 9, M = 3 };
static const double xs_small[D][NS] = {
    {0, 0, 4, 2, 3, 3, 4, 0, 2, 0, 2, 5}, {3, 0, 3, 0, 4, 5, 5, 3, 5, 2, 0, 3},
    {2, 3, 5, 1, 5, 0, 2, 4, 1, 4, 2, 3}, {5, 4, 5, 3, 5, 5, 0, 1, 1, 3, 4, 2},
    {5, 2, 5, 3, 4, 1, 3, 4, 5, 5, 5, 0}, {4, 2, 4, 1, 0, 0, 5, 5, 1, 2, 1, 0}};
static const uint8_t ys_small[M][NS] = {{1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1},
                                        {0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 1, 0},
                                        {1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
static const double xt_small[D][NT] = {
    {6, 5, 0, 1, 4, 7, 7, 1, 4}, {0, 1, 1, 3, 2, 5, 3, 2, 7}, {5, 5, 5, 2, 7, 0, 2, 1, 0},
    {7, 0, 3, 6, 5, 6, 0, 3, 0}, {1, 6, 0, 4, 0, 2, 7, 2, 2}, {0, 6, 1, 3, 0, 0, 6, 0, 3}};

typedef struct fixture {
    matrix xs, xt, both; /* instances x features */
    uint8_t *on;         /* NS x M */
    mmd_problem p;       /* weights 0 */
} fixture;

static matrix from_columns(scope *s, int64_t d, int64_t n, const double *data)
{
    const matrix x = matrix_dense(s, HERE(n), n, d);

    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++)
            x.m->dense[i * d + j] = data[j * n + i];
    return x;
}

static fixture small_data(scope *s, bool centre)
{
    fixture f = {.xs = from_columns(s, D, NS, &xs_small[0][0]),
                 .xt = from_columns(s, D, NT, &xt_small[0][0]),
                 .on = NEW(s, uint8_t, NS * M)};

    f.both = stack(s, 2, (matrix[]){f.xs, f.xt});
    for (int64_t i = 0; i < NS * M; i++)
        f.on[i] = ys_small[i % M][i / M];
    f.p = mmd_relation(s, f.xs, &(mmd_labels){NS, M, f.on, centre}, f.xt);
    return f;
}

static mmd_problem weighed(mmd_problem p, double mu, double g1, double g2)
{
    return (mmd_problem){p.g, p.delta, mu, g1, g2};
}

static block block_of(scope *s, int64_t rows, int64_t k, const double *data)
{
    const block b = block_new(s, HERE(rows), rows, k);

    if (data) memcpy(b.at, data, (size_t)(rows * k) * sizeof *data);
    return b;
}

static block random_block(scope *s, ferry_rng *rng, int64_t rows, int64_t k)
{
    const block b = block_of(s, rows, k, NULL);

    fill_normal(s, rng, b);
    return b;
}

static mmd_found solve(scope *s, const mmd_problem *p, double tol, int64_t max_iter,
                       block u, block v)
{
    return mmd_solve(s, p, &(mmd_solver){.tol = tol, .max_iter = max_iter, .what = "test"},
                     u, v);
}

/* The paper's algorithm from the U given; the objective. */
static double sweep(scope *s, const mmd_problem *p, bool sylvester, int64_t sweeps, block u,
                    block v)
{
    const mmd_work w = mmd_work_new(s, p, u.k);

    for (int64_t i = 0; i < sweeps; i++) {
        mmd_v_step(s, p, &w, u, v);
        if (sylvester)
            mmd_u_step_sylvester(s, p, v, u);
        else
            mmd_u_step(s, p, &w, v, u);
    }
    return mmd_objective(s, p, &w, u, v);
}

/* Relative to the largest wanted entry. */
static void all_close(int64_t n, const double *a, const double *want, double tol)
{
    double scale = 0;

    for (int64_t i = 0; i < n; i++)
        scale = fmax(scale, fabs(want[i]));
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(a[i] - want[i]) <= tol * scale))
            fail_msg("entry %lld is %.17g, not %.17g", (long long)i, a[i], want[i]);
}

static void golden_close(const json_t *o, const char *key, const double *a, double tol)
{
    int64_t rows, cols;
    double *want = golden_array(o, key, &rows, &cols);

    all_close(rows * cols, a, want, tol);
    free(want);
}

/* A B' of two blocks. */
static double *outer_product(scope *s, block a, block b)
{
    double *c = NEW(s, double, a.n *b.n);

    for (int64_t i = 0; i < a.n; i++)
        for (int64_t j = 0; j < b.n; j++)
            for (int64_t k = 0; k < a.k; k++)
                c[i * b.n + j] += ROW(a, i)[k] * ROW(b, j)[k];
    return c;
}

/* ---- golden ---- */

static void check_sweeps(scope *s, const mmd_problem *p, const json_t *c)
{
    const int64_t g = (int64_t)golden_real(c, "g");
    const char *key;
    json_t *want;

    json_object_foreach(golden_at(c, "iters"), key, want)
    {
        for (int sylvester = 0; sylvester < 2; sylvester++) {
            double *u0 = golden_array(c, "U0", NULL, NULL);
            const block u = block_of(s, p->g.n, g, u0), v = block_of(s, p->g.k, g, NULL);
            const double f = sweep(s, p, sylvester, strtol(key, NULL, 10), u, v);
            golden_close(want, "U", u.at, 1e-8);
            golden_close(want, "V", v.at, 1e-8);
            assert_close(f, golden_real(want, "F"), 1e-10);
            free(u0);
        }
    }
}

static void check_exact(scope *s, const mmd_problem *p, int64_t g, const json_t *want,
                        double last)
{
    const block u = block_of(s, p->g.n, g, NULL), v = block_of(s, p->g.k, g, NULL);
    const mmd_found found = solve(s, p, 1e-13, 1000, u, v);

    assert_true(found.converged);
    golden_close(want, "U", u.at, 1e-8); /* the gauge is the golden one */
    golden_close(want, "V", v.at, 1e-8);
    if (last < 0) return;
    assert_close(found.objective, golden_real(want, "F"), 1e-12);
    golden_close(want, "UUt", outer_product(s, u, u), 1e-8);
    golden_close(want, "UVt", outer_product(s, u, v), 1e-8);
    assert_close(oracle_mmltl_gap(s, p, u, v), last, 1e-8);
}

static void run_golden(scope *s)
{
    json_t *root = golden("mmltl/mmltl_small.json"), *c;
    const fixture f = small_data(s, false);
    size_t i;

    if (!root) return;
    golden_close(root, "G", f.p.g.at, 1e-14);
    golden_close(root, "delta", f.p.delta.at, 1e-14);
    json_array_foreach(golden_at(root, "cases"), i, c)
    {
        const mmd_problem p = weighed(f.p, golden_real(c, "mu"), golden_real(c, "gamma1"),
                                      golden_real(c, "gamma2"));
        const json_t *exact = golden_at(c, "exact");
        double *kkt = golden_array(exact, "kkt", NULL, NULL);
        check_sweeps(s, &p, c);
        check_exact(s, &p, (int64_t)golden_real(c, "g"), exact, kkt[2]);
        free(kkt);
    }
    const mmd_problem inf = weighed(f.p, INFINITY, 1, 1);
    check_exact(s, &inf, M, golden_at(root, "mu_inf"), -1);
    for (int how = SHRINK_JS; how <= SHRINK_SOFT; how++) {
        const block d = block_copy(s, f.p.delta);
        mmd_shrink(s, (mmd_shrinking)how, f.xs, f.xt, d);
        golden_close(root, how == SHRINK_JS ? "delta_js" : "delta_soft", d.at, 1e-12);
    }
    json_decref(root);
}

IN_SCOPE(test_golden)
{
    run_golden(s);
}

IN_SCOPE(test_golden_ref)
{
    assert_ok(scope_ctx(s), ferry_i_ctx_set_engine(scope_ctx(s), "ref"));
    run_golden(s);
}

/* Latent features of all 21 instances (n x g) through a kernel. */
static block kernel_latent(scope *s, const fixture *f, double gamma, double mu, bool centre)
{
    mmd_kernel k = mmd_kernel_new(s, gamma, f->both, &(mmd_labels){NS, M, f->on, centre});
    const block u = block_of(s, k.p.g.n, M, NULL), v = block_of(s, M, M, NULL);
    const block z = block_of(s, NS + NT, M, NULL), again = block_like(s, z),
                b = block_like(s, z);
    const small ut = {M, u.n, u.at};

    k.p = weighed(k.p, mu, 1, 1);
    (void)solve(s, &k.p, 1e-13, 5000, u, v);
    bmul_t(s, k.kmap, ut, z);
    bmul_t(s, k.map, ut, b);
    /* new instances: K(X, x) times the coefficients */
    kernel_mul(s, gamma, f->both, f->both, b, again);
    all_close((NS + NT) * M, again.at, z.at, 1e-9);
    return z;
}

IN_SCOPE(test_kernel_golden)
{
    json_t *root = golden("mmltl/kernel_small.json");
    const fixture f = small_data(s, false);

    if (!root) return;
    const block z =
        kernel_latent(s, &f, golden_real(root, "gamma"), golden_real(root, "mu"), false);
    const block of_target = {HERE(NT), NT, M, ROW(z, NS)};
    golden_close(root, "gram_target", outer_product(s, of_target, of_target), 1e-8);
    json_decref(root);
}

/* ---- the formulas against each other ---- */

/* The linear kernel is the linear method. */
IN_SCOPE(test_linear_kernel)
{
    for (int centre = 0; centre < 2; centre++) {
        const fixture f = small_data(s, centre);
        const mmd_problem p = weighed(f.p, 3, 1, 1);
        const block u = block_of(s, D, M, NULL), v = block_of(s, M, M, NULL);
        const block z = block_of(s, NS + NT, M, NULL);
        (void)solve(s, &p, 1e-13, 1000, u, v);
        mul(s, f.both, u, z);
        all_close((NS + NT) * M, kernel_latent(s, &f, 0, 3, centre).at, z.at, 1e-8);
    }
}

IN_SCOPE(test_numbers_without_files)
{
    const double u0[] = {1.095, .022, .919, -.42, .328, -2.138,
                         -1.45, .796, -.59, .58,  .542, 1.322};
    const double uvt[] = {17.45562971192088,  10.018823581904513, 4.041227698661531,
                          23.63074546083845,  13.631937010640485, 6.249493549665447,
                          23.24273265099169,  8.958450235703484,  7.234732697730137,
                          23.889388714438848, 17.148913964362997, 9.873264388461418,
                          34.76392691322443,  18.2844111850326,   8.178514450105217,
                          22.15692231096787,  3.811207238924281,  5.672420580910757};
    const fixture f = small_data(s, false);
    const mmd_problem p = weighed(f.p, 5, 1, 1), q = weighed(f.p, 2, 0.5, 4);
    const block u = block_of(s, D, 2, u0), v = block_of(s, M, 2, NULL);
    const block u3 = block_of(s, D, 3, NULL), v3 = block_of(s, M, 3, NULL);

    assert_close(sweep(s, &p, false, 5, u, v), 502.5675477587587, 1e-12);
    assert_close(solve(s, &q, 1e-13, 1000, u3, v3).objective, 264.83606726746103, 1e-12);
    all_close(D * M, outer_product(s, u3, v3), uvt, 1e-9);
}

/* The exact U step is the Sylvester equation's solution for all shapes. */
IN_SCOPE(test_u_step)
{
    const int64_t shapes[][3] = {{1, 1, 1}, {1, 3, 2}, {5, 1, 4}, {30, 4, 9}, {40, 10, 50}};
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 3, 1);
    for (int64_t c = 0; c < FERRY_COUNT(shapes); c++)
        for (int64_t no_delta = 0; no_delta < 2; no_delta++) {
            const int64_t d = shapes[c][0], m = shapes[c][1], g = shapes[c][2];
            const mmd_problem p = {random_block(s, &rng, d, m), random_block(s, &rng, d, 1),
                                   7.5, 0.3, 2};
            const block v = random_block(s, &rng, m, g), u = block_of(s, d, g, NULL),
                        want = block_like(s, u);
            if (no_delta) memset(p.delta.at, 0, (size_t)d * sizeof(double));
            const mmd_work w = mmd_work_new(s, &p, g);
            mmd_u_step(s, &p, &w, v, u);
            mmd_u_step_sylvester(s, &p, v, want);
            all_close(d * g, u.at, want.at, 1e-11);
        }
}

static ferry_answer falls(void *user, const ferry_progress *p)
{
    double *last = user;

    assert_true(p->objective <= *last * (1 + 1e-12));
    *last = p->objective;
    return FERRY_GO;
}

/* The minimum: the objective never grows, both tests of a minimum hold, no rank above m
 * helps, and it does not depend on the engine. */
IN_SCOPE(test_minimum)
{
    ferry_ctx *ctx = scope_ctx(s);
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 4, 1);
    for (int64_t m = 1; m < 7; m++) {
        const int64_t d = 3 * m;
        const mmd_problem p = {random_block(s, &rng, d, m), random_block(s, &rng, d, 1), 2,
                               0.1, 0.2};
        block u[3], v[3];
        double first = 0;
        for (int c = 0; c < 3; c++) {
            double last = DBL_MAX;
            assert_ok(ctx, ferry_i_ctx_set_engine(ctx, c == 2 ? "ref" : "host"));
            u[c] = block_of(s, d, c == 1 ? m + 3 : m, NULL);
            v[c] = block_of(s, m, c == 1 ? m + 3 : m, NULL);
            ferry_ctx_set_progress(ctx, falls, &last);
            const mmd_found found = solve(s, &p, 1e-12, 5000, u[c], v[c]);
            ferry_ctx_set_progress(ctx, NULL, NULL);
            if (c == 0) first = found.objective;
            assert_true(found.converged);
            assert_close(found.objective, first, 1e-12);
            assert_true(oracle_mmltl_gap(s, &p, u[c], v[c]) < 1e-9);
        }
        all_close(d * m, u[2].at, u[0].at, 1e-8);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < m + 3; j++)
                assert_close(ROW(v[1], i)[j], j < m ? ROW(v[0], i)[j] : 0, 1e-8);
    }
}

/* d below m + 1, delta = 0, G = 0, labels that never occur (zero columns), mu huge against
 * mu = inf. */
IN_SCOPE(test_degenerate)
{
    const double mus[] = {0, 1, 1e12, INFINITY};
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 5, 1);
    for (int c = 0; c < 6; c++)
        for (int64_t k = 0; k < FERRY_COUNT(mus); k++) {
            const int64_t d = c == 0 ? 1 : c == 1 ? 3 : 9, m = c == 0 ? 1 : 4;
            const block G = random_block(s, &rng, d, m),
                        delta = random_block(s, &rng, d, 1);
            const block u = block_of(s, d, m, NULL), v = block_of(s, m, m, NULL);
            const mmd_problem p = {G, delta, mus[k], 0.01, 0.01};
            if (c == 2) memset(delta.at, 0, (size_t)d * sizeof(double));
            if (c == 3) memset(G.at, 0, (size_t)(d * m) * sizeof(double));
            for (int64_t i = 0; c == 4 && i < d; i++)
                ROW(G, i)[2] = ROW(G, i)[0] = 0;
            for (int64_t i = 0; c == 5 && i < d; i++) /* delta in the span of G */
                delta.at[i] = ROW(G, i)[1];
            const mmd_found found = solve(s, &p, 1e-10, 2000, u, v);
            assert_true(found.converged || mus[k] == 1e12);
            for (int64_t j = 0; j < m; j++) {
                double along = 0, size = 0;
                for (int64_t i = 0; i < d; i++) {
                    assert_true(isfinite(ROW(u, i)[j]));
                    along += ROW(u, i)[j] * delta.at[i];
                    size += fabs(ROW(u, i)[j] * delta.at[i]);
                }
                if (mus[k] > 1 && d > 1) assert_true(fabs(along) <= 1e-8 * (1 + size));
                if (c == 3) assert_true(size == 0);
                if (c == 4) assert_true(fabs(ROW(v, 0)[j]) + fabs(ROW(v, 2)[j]) < 1e-12);
            }
        }
}

/* ---- from data ---- */

/* Sparse data gives what dense data gives; centring takes the mean off. */
IN_SCOPE(test_relation)
{
    const fixture f = small_data(s, true);
    double mean[D] = {0};

    for (int64_t j = 0; j < D; j++) {
        for (int64_t i = 0; i < NS; i++)
            mean[j] += xs_small[j][i] / NS;
        for (int64_t k = 0; k < M; k++) {
            double want = 0;
            for (int64_t i = 0; i < NS; i++)
                want += (xs_small[j][i] - mean[j]) * ys_small[k][i];
            assert_close(ROW(f.p.g, j)[k], want, 1e-13);
        }
    }
    const mmd_problem p =
        mmd_relation(s, to_sparse(s, f.xs), &(mmd_labels){NS, M, f.on, true}, f.xt);
    all_close(D * M, p.g.at, f.p.g.at, 1e-13);
    all_close(D, p.delta.at, f.p.delta.at, 1e-13);
}

IN_SCOPE(test_shrink)
{
    /* Means 2 and 5, variances 2 / 2 and 8 / 2; the second feature is constant. */
    double a[] = {1, 7, 3, 7}, b[] = {3, 4, 7, 4};
    const matrix xs = matrix_of(s, block_of(s, 2, 2, a)),
                 xt = matrix_of(s, block_of(s, 2, 2, b));
    const block delta = block_of(s, 2, 1, (const double[]){-3, 3});

    mmd_shrink(s, SHRINK_NONE, xs, xt, delta);
    assert_close(delta.at[0], -3, 0);
    mmd_shrink(s, SHRINK_SOFT, xs, xt, delta);
    assert_close(delta.at[0], -3 * (1 - 5.0 / 9), 1e-14);
    assert_close(delta.at[1], 3, 0);
    delta.at[0] = -3;
    mmd_shrink(s, SHRINK_JS, xs, xt, delta);
    assert_close(delta.at[0], -3 * (1 - 5.0 / 18), 1e-14);
    assert_close(delta.at[1], 3 * (1 - 5.0 / 18), 1e-14);
    delta.at[0] = delta.at[1] = 0;
    for (int how = SHRINK_JS; how <= SHRINK_SOFT; how++) {
        mmd_shrink(s, (mmd_shrinking)how, xs, xt, delta);
        assert_true(delta.at[0] == 0 && delta.at[1] == 0);
    }
}

IN_SCOPE(test_gamma)
{
    double data[] = {0, 1, 3, 3}; /* squared distances 1 9 9 4 4 0: the median is 4 */
    const struct {
        int64_t n;
        double *x, want;
    } cases[] = {{4, data, 0.25}, {1, data, 1}, {2, data + 2, 1}};

    for (int64_t c = 0; c < FERRY_COUNT(cases); c++)
        assert_close(
            kernel_gamma_of(s, matrix_of(s, block_of(s, cases[c].n, 1, cases[c].x))),
            cases[c].want, 0);
}

/* ---- stopping and memory ---- */

static ferry_answer stop_at_two(void *user, const ferry_progress *p)
{
    return p->done < 2 ? FERRY_GO : *(ferry_answer *)user;
}

static ferry_answer answer;

static void two_steps(scope *s, void *arg)
{
    const fixture f = small_data(s, false);
    const mmd_problem p = weighed(f.p, 30, 1, 1);
    const block u = block_of(s, D, M, NULL), v = block_of(s, M, M, NULL);

    (void)arg;
    ferry_ctx_set_progress(scope_ctx(s), stop_at_two, &answer);
    const mmd_found found = solve(s, &p, 1e-13, 1000, u, v);
    assert_int_equal(found.sweeps, 2);
    assert_true(found.finish && !found.converged);
}

static void test_finish_and_cancel(void **state)
{
    answer = FERRY_FINISH;
    assert_ok(*state, scope_run(*state, two_steps, NULL));
    answer = FERRY_CANCEL;
    assert_int_equal(scope_run(*state, two_steps, NULL), FERRY_ECANCELLED);
}

static void everything(scope *s, void *arg)
{
    const fixture f = small_data(s, true);
    const block u = block_of(s, D, 2, NULL), v = block_of(s, M, 2, NULL);
    const mmd_problem p = weighed(f.p, 30, 1, 1);

    (void)arg;
    mmd_shrink(s, SHRINK_SOFT, f.xs, f.xt, p.delta);
    (void)solve(s, &p, 1e-2, 3, u, v);
    (void)oracle_mmltl_gap(s, &p, u, v);
    (void)sweep(s, &p, true, 1, u, v);
    (void)mmd_kernel_new(s, kernel_gamma_of(s, f.both), f.both,
                         &(mmd_labels){NS, M, f.on, true});
}

static ferry_status run_everything(ferry_ctx *ctx, void *arg)
{
    return scope_run(ctx, everything, arg);
}

static void test_allocations_fail(void **state)
{
    each_allocation_fails(*state, run_everything, NULL);
}

#define T(name) cmocka_unit_test_setup_teardown(name, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_golden),
        T(test_golden_ref),
        T(test_kernel_golden),
        T(test_linear_kernel),
        T(test_numbers_without_files),
        T(test_u_step),
        T(test_minimum),
        T(test_degenerate),
        T(test_relation),
        T(test_shrink),
        T(test_gamma),
        T(test_finish_and_cancel),
        T(test_allocations_fail),
    };
    return cmocka_run_group_tests_name("mmltl core", tests, NULL, NULL);
}
