/* M-MLTL's formulas: steps, objective, the exact solution, delta, kernel; against the
 * golden cases, against each other, and by hand. */
#include <float.h>
#include <stdio.h>

#include "golden.h"
#include "learn/kernel.h"
#include "methods/mmltl/mmltl.h"
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
    ferry_matrix *xs, *xt, *both; /* instances x features */
    uint8_t on[NS * M];
    ferry_block *g, *delta;
} fixture;

static ferry_matrix *from_columns(ferry_ctx *ctx, int64_t d, int64_t n, const double *data)
{
    ferry_matrix *x = NULL;

    assert_ok(ctx, ferry_i_matrix_dense(ctx, n, d, &x));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++)
            x->dense[i * d + j] = data[j * n + i];
    return x;
}

static fixture small_data(ferry_ctx *ctx, bool centre)
{
    fixture f;

    f.xs = from_columns(ctx, D, NS, &xs_small[0][0]);
    f.xt = from_columns(ctx, D, NT, &xt_small[0][0]);
    const ferry_matrix *parts[] = {f.xs, f.xt};
    assert_ok(ctx, ferry_i_matrix_stack(ctx, 2, parts, &f.both));
    for (int64_t i = 0; i < NS * M; i++)
        f.on[i] = ys_small[i % M][i / M];
    assert_ok(ctx, ferry_i_mmltl_relation(
                       ctx, f.xs, &(ferry_mmltl_labels){f.xs->rows, M, f.on, centre}, f.xt,
                       &f.g, &f.delta));
    return f;
}

static void clear(fixture *f)
{
    ferry_i_matrix_free(f->xs);
    ferry_i_matrix_free(f->xt);
    ferry_i_matrix_free(f->both);
    FERRY_FREE(f->g, f->delta);
}

static ferry_block *block_of(ferry_ctx *ctx, int64_t rows, int64_t k, const double *data)
{
    ferry_block *b = NULL;

    assert_ok(ctx, ferry_i_block_new(ctx, rows, k, &b));
    if (data) memcpy(b->data, data, (size_t)(rows * k) * sizeof *data);
    return b;
}

static ferry_block *random_block(ferry_ctx *ctx, ferry_rng *rng, int64_t rows, int64_t k)
{
    ferry_block *b = block_of(ctx, rows, k, NULL);

    ferry_i_fill_normal(b, rng);
    return b;
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

/* A B' of two blocks, for free(). */
static double *outer(const ferry_block *a, const ferry_block *b)
{
    double *s = calloc((size_t)(a->rows * b->rows), sizeof *s);

    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t j = 0; j < b->rows; j++)
            for (int64_t k = 0; k < a->k; k++)
                s[i * b->rows + j] += FERRY_ROW(a, i)[k] * FERRY_ROW(b, j)[k];
    return s;
}

/* ---- golden ---- */

static void check_sweeps(ferry_ctx *ctx, const ferry_mmltl *p, const json_t *c)
{
    const int64_t g = (int64_t)golden_real(c, "g");
    const char *key;
    json_t *want;

    json_object_foreach(golden_at(c, "iters"), key, want)
    {
        for (int sylvester = 0; sylvester < 2; sylvester++) {
            double *u0 = golden_array(c, "U0", NULL, NULL);
            ferry_block *u = block_of(ctx, p->g->rows, g, u0),
                        *v = block_of(ctx, p->g->k, g, NULL);
            ferry_mmltl_found found;
            assert_ok(ctx, ferry_i_mmltl_sweeps(ctx, p, sylvester, strtol(key, NULL, 10), u,
                                                v, &found));
            assert_int_equal(found.sweeps, strtol(key, NULL, 10));
            assert_false(found.finish);
            golden_close(want, "U", u->data, 1e-8);
            golden_close(want, "V", v->data, 1e-8);
            assert_close(found.objective, golden_real(want, "F"), 1e-10);
            free(u0);
            FERRY_FREE(u, v);
        }
    }
}

static void check_exact(ferry_ctx *ctx, const ferry_mmltl *p, int64_t g, const json_t *want,
                        double last)
{
    ferry_block *u = block_of(ctx, p->g->rows, g, NULL),
                *v = block_of(ctx, p->g->k, g, NULL);
    ferry_mmltl_found found;
    double gap = 0, *s;

    assert_ok(ctx, ferry_i_mmltl_solve(ctx, p, 1e-13, 1000, u, v, &found));
    assert_true(found.converged);
    golden_close(want, "U", u->data, 1e-8); /* the gauge is the golden one */
    golden_close(want, "V", v->data, 1e-8);
    if (last < 0) goto done;
    assert_close(found.objective, golden_real(want, "F"), 1e-12);
    s = outer(u, u);
    golden_close(want, "UUt", s, 1e-8);
    free(s);
    s = outer(u, v);
    golden_close(want, "UVt", s, 1e-8);
    free(s);
    assert_ok(ctx, oracle_mmltl_gap(ctx, p, u, v, &gap));
    assert_close(gap, last, 1e-8);
done:
    FERRY_FREE(u, v);
}

static void run_golden(ferry_ctx *ctx)
{
    json_t *root = golden("mmltl/mmltl_small.json"), *c;
    fixture f = small_data(ctx, false);
    size_t i;

    if (!root) goto done;
    golden_close(root, "G", f.g->data, 1e-14);
    golden_close(root, "delta", f.delta->data, 1e-14);
    json_array_foreach(golden_at(root, "cases"), i, c)
    {
        const ferry_mmltl p = {f.g, f.delta, golden_real(c, "mu"), golden_real(c, "gamma1"),
                               golden_real(c, "gamma2")};
        const json_t *exact = golden_at(c, "exact");
        double *kkt = golden_array(exact, "kkt", NULL, NULL);
        check_sweeps(ctx, &p, c);
        check_exact(ctx, &p, (int64_t)golden_real(c, "g"), exact, kkt[2]);
        free(kkt);
    }
    const ferry_mmltl inf = {f.g, f.delta, INFINITY, 1, 1};
    check_exact(ctx, &inf, M, golden_at(root, "mu_inf"), -1);
    for (int how = FERRY_SHRINK_JS; how <= FERRY_SHRINK_SOFT; how++) {
        ferry_block *d = block_of(ctx, D, 1, f.delta->data);
        const char *key = how == FERRY_SHRINK_JS ? "delta_js" : "delta_soft";
        assert_ok(ctx, ferry_i_mmltl_shrink(ctx, (ferry_mmltl_shrink)how, f.xs, f.xt, d));
        golden_close(root, key, d->data, 1e-12);
        ferry_i_free(d);
    }
done:
    json_decref(root);
    clear(&f);
}

static void test_golden(void **state)
{
    run_golden(*state);
}

static void test_golden_ref(void **state)
{
    assert_ok(*state, ferry_ctx_set_engine(*state, "ref"));
    run_golden(*state);
}

/* Latent features of all 21 instances (n x g) through a kernel. */
static ferry_block *kernel_latent(ferry_ctx *ctx, const fixture *f, double gamma, double mu,
                                  bool centre)
{
    const ferry_mmltl_labels y = {NS, M, f->on, centre};
    ferry_mmltl_kernel k = {0};
    ferry_block *u = NULL, *v = block_of(ctx, M, M, NULL);
    ferry_block *z = block_of(ctx, NS + NT, M, NULL),
                *again = block_of(ctx, NS + NT, M, NULL);
    ferry_block *b = block_of(ctx, NS + NT, M, NULL);
    ferry_mmltl_found found;

    assert_ok(ctx, ferry_i_mmltl_kernel_new(ctx, gamma, f->both, &y, &k));
    const ferry_mmltl p = {k.g, k.delta, mu, 1, 1};
    u = block_of(ctx, k.g->rows, M, NULL);
    assert_ok(ctx, ferry_i_mmltl_solve(ctx, &p, 1e-13, 5000, u, v, &found));
    const ferry_small ut = {M, u->rows, u->data};
    ferry_e(ctx)->bmul(ctx, 1, k.kmap, &ut, true, 0, z);
    ferry_e(ctx)->bmul(ctx, 1, k.map, &ut, true, 0, b);
    /* new instances: K(X, x) times the coefficients */
    assert_ok(ctx, ferry_i_kernel_mul(ctx, gamma, f->both, f->both, b, again));
    all_close((NS + NT) * M, again->data, z->data, 1e-9);
    ferry_i_mmltl_kernel_clear(&k);
    FERRY_FREE(u, v, b, again);
    return z;
}

static void test_kernel_golden(void **state)
{
    ferry_ctx *ctx = *state;
    json_t *root = golden("mmltl/kernel_small.json");
    fixture f = small_data(ctx, false);

    if (root) {
        ferry_block *z = kernel_latent(ctx, &f, golden_real(root, "gamma"),
                                       golden_real(root, "mu"), false);
        const ferry_block target = {NT, M, FERRY_ROW(z, NS)};
        double *s = outer(&target, &target);
        golden_close(root, "gram_target", s, 1e-8);
        free(s);
        ferry_i_free(z);
    }
    json_decref(root);
    clear(&f);
}

/* ---- the formulas against each other ---- */

/* The linear kernel is the linear method. */
static void test_linear_kernel(void **state)
{
    ferry_ctx *ctx = *state;

    for (int centre = 0; centre < 2; centre++) {
        fixture f = small_data(ctx, centre);
        const ferry_mmltl p = {f.g, f.delta, 3, 1, 1};
        ferry_block *u = block_of(ctx, D, M, NULL), *v = block_of(ctx, M, M, NULL);
        ferry_block *z = block_of(ctx, NS + NT, M, NULL), *k;
        ferry_mmltl_found found;
        assert_ok(ctx, ferry_i_mmltl_solve(ctx, &p, 1e-13, 1000, u, v, &found));
        ferry_e(ctx)->mul(ctx, 1, f.both, u, 0, z);
        k = kernel_latent(ctx, &f, 0, 3, centre);
        all_close((NS + NT) * M, k->data, z->data, 1e-8);
        FERRY_FREE(u, v, z, k);
        clear(&f);
    }
}

static void test_numbers_without_files(void **state)
{
    ferry_ctx *ctx = *state;
    const double u0[] = {1.095, .022, .919, -.42, .328, -2.138,
                         -1.45, .796, -.59, .58,  .542, 1.322};
    const double uvt[] = {17.45562971192088,  10.018823581904513, 4.041227698661531,
                          23.63074546083845,  13.631937010640485, 6.249493549665447,
                          23.24273265099169,  8.958450235703484,  7.234732697730137,
                          23.889388714438848, 17.148913964362997, 9.873264388461418,
                          34.76392691322443,  18.2844111850326,   8.178514450105217,
                          22.15692231096787,  3.811207238924281,  5.672420580910757};
    fixture f = small_data(ctx, false);
    const ferry_mmltl p = {f.g, f.delta, 5, 1, 1}, q = {f.g, f.delta, 2, 0.5, 4};
    ferry_block *u = block_of(ctx, D, 2, u0), *v = block_of(ctx, M, 2, NULL);
    ferry_block *u3 = block_of(ctx, D, 3, NULL), *v3 = block_of(ctx, M, 3, NULL);
    ferry_mmltl_found found;
    double *s;

    assert_ok(ctx, ferry_i_mmltl_sweeps(ctx, &p, false, 5, u, v, &found));
    assert_close(found.objective, 502.5675477587587, 1e-12);
    assert_ok(ctx, ferry_i_mmltl_solve(ctx, &q, 1e-13, 1000, u3, v3, &found));
    assert_close(found.objective, 264.83606726746103, 1e-12);
    s = outer(u3, v3);
    all_close(D * M, s, uvt, 1e-9);
    free(s);
    FERRY_FREE(u, v, u3, v3);
    clear(&f);
}

/* The exact U step is the Sylvester equation's solution for all shapes. */
static void test_u_step(void **state)
{
    ferry_ctx *ctx = *state;
    const int64_t shapes[][3] = {{1, 1, 1}, {1, 3, 2}, {5, 1, 4}, {30, 4, 9}, {40, 10, 50}};
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 3, 1);
    for (int64_t c = 0; c < FERRY_COUNT(shapes); c++)
        for (int64_t no_delta = 0; no_delta < 2; no_delta++) {
            const int64_t d = shapes[c][0], m = shapes[c][1], g = shapes[c][2];
            ferry_block *G = random_block(ctx, &rng, d, m),
                        *delta = random_block(ctx, &rng, d, 1);
            ferry_block *v = random_block(ctx, &rng, m, g), *u = block_of(ctx, d, g, NULL);
            ferry_block *want = block_of(ctx, d, g, NULL);
            const ferry_mmltl p = {G, delta, 7.5, 0.3, 2};
            ferry_mmltl_work *w = NULL;
            if (no_delta) memset(delta->data, 0, (size_t)d * sizeof(double));
            assert_ok(ctx, ferry_i_mmltl_work_new(ctx, &p, g, &w));
            assert_ok(ctx, ferry_i_mmltl_u_step(ctx, &p, w, v, u));
            assert_ok(ctx, ferry_i_mmltl_u_step_sylvester(ctx, &p, v, want));
            all_close(d * g, u->data, want->data, 1e-11);
            ferry_i_mmltl_work_free(w);
            FERRY_FREE(G, delta, v, u, want);
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
static void test_minimum(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 4, 1);
    for (int64_t m = 1; m < 7; m++) {
        const int64_t d = 3 * m;
        ferry_block *G = random_block(ctx, &rng, d, m),
                    *delta = random_block(ctx, &rng, d, 1);
        ferry_block *u[3], *v[3];
        const ferry_mmltl p = {G, delta, 2, 0.1, 0.2};
        ferry_mmltl_found found[3];
        for (int c = 0; c < 3; c++) {
            double last = DBL_MAX, gap = 1;
            assert_ok(ctx, ferry_ctx_set_engine(ctx, c == 2 ? "ref" : "host"));
            u[c] = block_of(ctx, d, c == 1 ? m + 3 : m, NULL);
            v[c] = block_of(ctx, m, c == 1 ? m + 3 : m, NULL);
            ferry_ctx_set_progress(ctx, falls, &last);
            assert_ok(ctx,
                      ferry_i_mmltl_solve(ctx, &p, 1e-12, 5000, u[c], v[c], &found[c]));
            ferry_ctx_set_progress(ctx, NULL, NULL);
            assert_true(found[c].converged);
            assert_close(found[c].objective, found[0].objective, 1e-12);
            assert_ok(ctx, oracle_mmltl_gap(ctx, &p, u[c], v[c], &gap));
            assert_true(gap < 1e-9);
        }
        all_close(d * m, u[2]->data, u[0]->data, 1e-8);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < m + 3; j++)
                assert_close(FERRY_ROW(v[1], i)[j], j < m ? FERRY_ROW(v[0], i)[j] : 0,
                             1e-8);
        for (int c = 0; c < 3; c++) {
            FERRY_FREE(u[c], v[c]);
        }
        FERRY_FREE(G, delta);
    }
}

/* d below m + 1, delta = 0, G = 0, labels that never occur (zero columns), mu huge against
 * mu = inf. */
static void test_degenerate(void **state)
{
    ferry_ctx *ctx = *state;
    const double mus[] = {0, 1, 1e12, INFINITY};
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 5, 1);
    for (int c = 0; c < 6; c++)
        for (int64_t k = 0; k < FERRY_COUNT(mus); k++) {
            const int64_t d = c == 0 ? 1 : c == 1 ? 3 : 9, m = c == 0 ? 1 : 4;
            ferry_block *G = random_block(ctx, &rng, d, m),
                        *delta = random_block(ctx, &rng, d, 1);
            ferry_block *u = block_of(ctx, d, m, NULL), *v = block_of(ctx, m, m, NULL);
            const ferry_mmltl p = {G, delta, mus[k], 0.01, 0.01};
            ferry_mmltl_found found;
            if (c == 2) memset(delta->data, 0, (size_t)d * sizeof(double));
            if (c == 3) memset(G->data, 0, (size_t)(d * m) * sizeof(double));
            for (int64_t i = 0; c == 4 && i < d; i++)
                FERRY_ROW(G, i)[2] = FERRY_ROW(G, i)[0] = 0;
            for (int64_t i = 0; c == 5 && i < d; i++) /* delta in the span of G */
                delta->data[i] = FERRY_ROW(G, i)[1];
            assert_ok(ctx, ferry_i_mmltl_solve(ctx, &p, 1e-10, 2000, u, v, &found));
            assert_true(found.converged || mus[k] == 1e12);
            for (int64_t j = 0; j < m; j++) {
                double along = 0, size = 0;
                for (int64_t i = 0; i < d; i++) {
                    assert_true(isfinite(FERRY_ROW(u, i)[j]));
                    along += FERRY_ROW(u, i)[j] * delta->data[i];
                    size += fabs(FERRY_ROW(u, i)[j] * delta->data[i]);
                }
                if (mus[k] > 1 && d > 1) assert_true(fabs(along) <= 1e-8 * (1 + size));
                if (c == 3) assert_true(size == 0);
                if (c == 4)
                    assert_true(fabs(FERRY_ROW(v, 0)[j]) + fabs(FERRY_ROW(v, 2)[j]) <
                                1e-12);
            }
            FERRY_FREE(G, delta, u, v);
        }
}

/* ---- from data ---- */

/* Sparse data gives what dense data gives; centring takes the mean off. */
static void test_relation(void **state)
{
    ferry_ctx *ctx = *state;
    fixture f = small_data(ctx, true);
    double mean[D] = {0};
    ferry_matrix *s = NULL, *t = NULL;
    ferry_block *g = NULL, *delta = NULL;
    int64_t at = 0;

    for (int64_t j = 0; j < D; j++) {
        for (int64_t i = 0; i < NS; i++)
            mean[j] += xs_small[j][i] / NS;
        for (int64_t k = 0; k < M; k++) {
            double want = 0;
            for (int64_t i = 0; i < NS; i++)
                want += (xs_small[j][i] - mean[j]) * ys_small[k][i];
            assert_close(FERRY_ROW(f.g, j)[k], want, 1e-13);
        }
    }
    assert_ok(ctx, ferry_i_matrix_csr(ctx, NS, D, NS * D, &s));
    for (int64_t i = 0; i < NS; i++) {
        for (int64_t j = 0; j < D; j++) {
            if (xs_small[j][i] == 0) continue;
            s->index[at] = (int32_t)j;
            s->value[at++] = xs_small[j][i];
        }
        s->start[i + 1] = at;
    }
    s->nnz = at;
    t = ferry_i_matrix_ref(f.xt);
    assert_ok(ctx,
              ferry_i_mmltl_relation(ctx, s, &(ferry_mmltl_labels){s->rows, M, f.on, true},
                                     t, &g, &delta));
    all_close(D * M, g->data, f.g->data, 1e-13);
    all_close(D, delta->data, f.delta->data, 1e-13);
    ferry_i_matrix_free(s);
    ferry_i_matrix_free(t);
    FERRY_FREE(g, delta);
    clear(&f);
}

static void test_shrink(void **state)
{
    ferry_ctx *ctx = *state;
    /* Means 2 and 5, variances 2 / 2 and 8 / 2; the second feature is constant. */
    const double a[] = {1, 7, 3, 7}, b[] = {3, 4, 7, 4};
    const ferry_array xa = {2, 2, 2, a}, xb = {2, 2, 2, b};
    ferry_matrix *s = NULL, *t = NULL;
    ferry_block *delta = block_of(ctx, 2, 1, (const double[]){-3, 3});

    assert_ok(ctx, ferry_i_matrix_from_array(ctx, &xa, &s));
    assert_ok(ctx, ferry_i_matrix_from_array(ctx, &xb, &t));
    assert_ok(ctx, ferry_i_mmltl_shrink(ctx, FERRY_SHRINK_NONE, s, t, delta));
    assert_close(delta->data[0], -3, 0);
    assert_ok(ctx, ferry_i_mmltl_shrink(ctx, FERRY_SHRINK_SOFT, s, t, delta));
    assert_close(delta->data[0], -3 * (1 - 5.0 / 9), 1e-14);
    assert_close(delta->data[1], 3, 0);
    delta->data[0] = -3;
    assert_ok(ctx, ferry_i_mmltl_shrink(ctx, FERRY_SHRINK_JS, s, t, delta));
    assert_close(delta->data[0], -3 * (1 - 5.0 / 18), 1e-14);
    assert_close(delta->data[1], 3 * (1 - 5.0 / 18), 1e-14);
    delta->data[0] = delta->data[1] = 0;
    for (int how = FERRY_SHRINK_JS; how <= FERRY_SHRINK_SOFT; how++) {
        assert_ok(ctx, ferry_i_mmltl_shrink(ctx, (ferry_mmltl_shrink)how, s, t, delta));
        assert_true(delta->data[0] == 0 && delta->data[1] == 0);
    }
    ferry_i_free(delta);
    ferry_i_matrix_free(s);
    ferry_i_matrix_free(t);
}

static void test_gamma(void **state)
{
    ferry_ctx *ctx = *state;
    const double data[] = {0, 1, 3, 3}; /* squared distances 1 9 9 4 4 0: the median is 4 */
    const ferry_array a = {4, 1, 1, data}, one = {1, 1, 1, data},
                      same = {2, 1, 1, data + 2};
    const struct {
        const ferry_array *x;
        double want;
    } cases[] = {{&a, 0.25}, {&one, 1}, {&same, 1}};

    for (int64_t c = 0; c < FERRY_COUNT(cases); c++) {
        ferry_matrix *x = NULL;
        double gamma = 0;
        assert_ok(ctx, ferry_i_matrix_from_array(ctx, cases[c].x, &x));
        assert_ok(ctx, ferry_i_kernel_gamma_of(ctx, x, &gamma));
        assert_close(gamma, cases[c].want, 0);
        ferry_i_matrix_free(x);
    }
}

/* ---- stopping and memory ---- */

static ferry_answer stop_at_two(void *user, const ferry_progress *p)
{
    return p->done < 2 ? FERRY_GO : *(ferry_answer *)user;
}

static void test_finish_and_cancel(void **state)
{
    ferry_ctx *ctx = *state;
    fixture f = small_data(ctx, false);
    const ferry_mmltl p = {f.g, f.delta, 30, 1, 1};
    ferry_block *u = block_of(ctx, D, M, NULL), *v = block_of(ctx, M, M, NULL);
    ferry_mmltl_found found;
    ferry_answer answer = FERRY_FINISH;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 1, 1);
    ferry_ctx_set_progress(ctx, stop_at_two, &answer);
    assert_ok(ctx, ferry_i_mmltl_solve(ctx, &p, 1e-13, 1000, u, v, &found));
    assert_int_equal(found.sweeps, 2);
    assert_true(found.finish && !found.converged);
    ferry_i_fill_normal(u, &rng);
    assert_ok(ctx, ferry_i_mmltl_sweeps(ctx, &p, false, 50, u, v, &found));
    assert_true(found.finish && found.sweeps == 2);
    answer = FERRY_CANCEL;
    assert_int_equal(ferry_i_mmltl_solve(ctx, &p, 1e-13, 1000, u, v, &found),
                     FERRY_ECANCELLED);
    assert_int_equal(ferry_i_mmltl_sweeps(ctx, &p, true, 50, u, v, &found),
                     FERRY_ECANCELLED);
    FERRY_FREE(u, v);
    clear(&f);
}

static ferry_status everything(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    const fixture *f = arg;
    const ferry_mmltl_labels y = {NS, M, f->on, true};
    ferry_mmltl_kernel k = {0};
    ferry_block *g = NULL, *delta = NULL, *u = NULL, *v = NULL;
    ferry_mmltl_found found;
    double x;

    FERRY_TRY(ferry_i_block_new(ctx, D, 2, &u));
    FERRY_TRY(ferry_i_block_new(ctx, M, 2, &v));
    FERRY_TRY(ferry_i_mmltl_relation(ctx, f->xs, &y, f->xt, &g, &delta));
    FERRY_TRY(ferry_i_mmltl_shrink(ctx, FERRY_SHRINK_SOFT, f->xs, f->xt, delta));
    const ferry_mmltl p = {g, delta, 30, 1, 1};
    FERRY_TRY(ferry_i_mmltl_solve(ctx, &p, 1e-2, 3, u, v, &found));
    FERRY_TRY(oracle_mmltl_gap(ctx, &p, u, v, &x));
    FERRY_TRY(ferry_i_mmltl_sweeps(ctx, &p, true, 1, u, v, &found));
    FERRY_TRY(ferry_i_kernel_gamma_of(ctx, f->both, &x));
    FERRY_TRY(ferry_i_mmltl_kernel_new(ctx, x, f->both, &y, &k));
done:
    FERRY_FREE(u, v, g, delta);
    ferry_i_mmltl_kernel_clear(&k);
    return st;
}

static void test_allocations_fail(void **state)
{
    fixture f = small_data(*state, false);

    each_allocation_fails(*state, everything, &f);
    clear(&f);
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
