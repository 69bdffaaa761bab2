/* MINDTL's formulas against cases worked out by an independent program: some numbers here,
 * the whole of the files in golden/mindtl beside the data where they are present. */
#include <jansson.h>
#include <stdio.h>

#include "golden.h"
#include "methods/mindtl/mindtl.h"

/* ---- the files ---- */

static int64_t rows(const json_t *a)
{
    return (int64_t)json_array_size(a);
}

static int64_t cols(const json_t *a)
{
    return (int64_t)json_array_size(json_array_get(a, 0));
}

static double cell(const json_t *a, int64_t i, int64_t j)
{
    return json_number_value(json_array_get(json_array_get(a, (size_t)i), (size_t)j));
}

static double at(const json_t *a, int64_t i)
{
    return json_number_value(json_array_get(a, (size_t)i));
}

static const json_t *get(const json_t *j, const char *key)
{
    const json_t *v = json_object_get(j, key);

    if (!v) fail_msg("no %s", key);
    return v;
}

/* Observed cells of X where M (NULL: everywhere) is 1. */
static observed cells(ferry_ctx *ctx, const json_t *x, const json_t *m)
{
    const int64_t n = rows(x), w = cols(x);
    ferry_matrix *csr = NULL;
    observed o = {0};

    assert_ok(ctx, ferry_i_matrix_csr(ctx, n, w, n * w, &csr));
    csr->nnz = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < w; j++) {
            if (m && cell(m, i, j) == 0) continue;
            csr->index[csr->nnz] = (int32_t)j;
            csr->value[csr->nnz++] = cell(x, i, j);
        }
        csr->start[i + 1] = csr->nnz;
    }
    o.x = csr;
    assert_ok(ctx, ferry_i_matrix_transpose(ctx, csr, &o.xt));
    return o;
}

static observed triples(ferry_ctx *ctx, int64_t n, const int *u, const int *i,
                        const double *v, int64_t p, int64_t q)
{
    ferry_ids *a = ferry_i_ids_numbers(p), *b = ferry_i_ids_numbers(q);
    ferry_ratings *r = NULL;
    observed o = {0};

    assert_ok(ctx, ferry_i_ratings_new(ctx, n, a, b, &r));
    for (int64_t e = 0; e < n; e++) {
        r->user[e] = u[e];
        r->item[e] = i[e];
        r->value[e] = v[e];
    }
    assert_ok(ctx, ferry_i_observed_new(ctx, r, 1, 0, &o));
    ferry_i_ratings_free(r);
    ferry_i_ids_free(a);
    ferry_i_ids_free(b);
    return o;
}

static void load_factors(ferry_ctx *ctx, const json_t *j, mindtl_factors *f)
{
    const json_t *u = get(j, "U0"), *v = get(j, "V0"), *b = get(j, "B0");

    assert_ok(ctx, ferry_i_mindtl_factors_new(ctx, rows(u), rows(v), cols(u), cols(v), f));
    for (int64_t i = 0; i < rows(u) * cols(u); i++)
        f->u->data[i] = cell(u, i / cols(u), i % cols(u));
    for (int64_t i = 0; i < rows(v) * cols(v); i++)
        f->v->data[i] = cell(v, i / cols(v), i % cols(v));
    for (int64_t c = 0; c < rows(b); c++)
        for (int64_t d = 0; d < cols(b); d++)
            FERRY_AT(f->b, c, d) = cell(b, c, d);
}

static void check_block(const ferry_block *b, const json_t *want, double tol)
{
    for (int64_t i = 0; i < b->rows * b->k; i++)
        assert_close(b->data[i], cell(want, i / b->k, i % b->k), tol);
}

static void check_factors(const mindtl_factors *f, const json_t *want, double tol)
{
    check_block(f->u, get(want, "U"), tol);
    check_block(f->v, get(want, "V"), tol);
    for (int64_t c = 0; c < f->b->rows; c++)
        for (int64_t d = 0; d < f->b->cols; d++)
            assert_close(FERRY_AT(f->b, c, d), cell(get(want, "B"), c, d), tol);
}

/* ---- sweeps ---- */

/* Every number of sweeps that the file has, in turn; f ends after the last. */
static void check_sweeps(ferry_ctx *ctx, const json_t *file, const json_t *runs,
                         mindtl_rule rule, const observed *x, mindtl_factors *f)
{
    mindtl_work w;
    int64_t done = 0;

    load_factors(ctx, file, f);
    assert_ok(ctx, ferry_i_mindtl_work_new(ctx, x, f->b->rows, f->b->cols, &w));
    if (json_object_get(runs, "objective0"))
        assert_close(ferry_i_mindtl_objective(ctx, x, f, &w),
                     json_number_value(get(runs, "objective0")), 1e-12);
    for (int64_t sweep = 1; sweep <= 200; sweep++) {
        char key[32];
        const json_t *want;
        ferry_i_mindtl_sweep(ctx, x, rule, f, &w);
        (void)snprintf(key, sizeof key, "%d", (int)sweep);
        want = json_object_get(runs, key);
        if (!want) continue;
        check_factors(f, want, 1e-8);
        assert_close(ferry_i_mindtl_objective(ctx, x, f, &w),
                     json_number_value(get(want, "objective")), 1e-8);
        if (++done == 3) break;
    }
    assert_int_equal(done, 3);
    ferry_i_mindtl_work_clear(&w);
}

static void check_labels(int64_t n, const int32_t *got, const json_t *want)
{
    assert_int_equal(n, rows(want));
    for (int64_t i = 0; i < n; i++)
        assert_int_equal(got[i], (int)at(want, i));
}

static void check_codebook(const double *r, const json_t *want, double tol)
{
    for (int64_t c = 0; c < rows(want); c++)
        for (int64_t d = 0; d < cols(want); d++)
            assert_close(r[c * cols(want) + d], cell(want, c, d), tol);
}

/* Labels, codebooks and polish of the paper's sweeps. */
static void check_extraction(ferry_ctx *ctx, const json_t *j, const observed *x,
                             const mindtl_factors *f)
{
    const int64_t k = f->b->rows, l = f->b->cols;
    int32_t u[64], v[64];
    double r[64], n[64], dist = 0;

    assert_ok(ctx, ferry_i_mindtl_harden(ctx, f->u, u));
    assert_ok(ctx, ferry_i_mindtl_harden(ctx, f->v, v));
    check_labels(x->x->rows, u, get(get(j, "harden_paper_50"), "u"));
    check_labels(x->x->cols, v, get(get(j, "harden_paper_50"), "v"));
    assert_ok(ctx, ferry_i_mindtl_block_means(ctx, x->x, k, l, u, v, 0, r, n));
    check_codebook(r, get(get(j, "codebook_beta0"), "R"), 1e-8);
    check_codebook(n, get(get(j, "codebook_beta0"), "N"), 0);
    assert_ok(ctx, ferry_i_mindtl_block_means(ctx, x->x, k, l, u, v, 5, r, NULL));
    check_codebook(r, get(get(j, "codebook_beta5"), "R"), 1e-8);
    assert_ok(ctx, ferry_i_mindtl_polish(ctx, x, k, l, 20, u, v, &dist));
    check_labels(x->x->rows, u, get(get(j, "polish_beta0"), "u"));
    check_labels(x->x->cols, v, get(get(j, "polish_beta0"), "v"));
    assert_ok(ctx, ferry_i_mindtl_block_means(ctx, x->x, k, l, u, v, 0, r, NULL));
    check_codebook(r, get(get(j, "polish_beta0"), "R"), 1e-8);
}

static void test_ionmtf(void **state)
{
    ferry_ctx *ctx = *state;
    const char *const rule[] = {"paper", "orth", "ding"};
    json_t *j = golden("mindtl/ionmtf_small.json");

    for (int engine = 0; j && engine < 2; engine++) {
        observed x = cells(ctx, get(j, "X"), get(j, "M"));
        assert_ok(ctx, ferry_ctx_set_engine(ctx, engine ? "ref" : "host"));
        for (int i = 0; i < 3; i++) {
            mindtl_factors f;
            check_sweeps(ctx, j, get(get(j, "modes"), rule[i]), (mindtl_rule)i, &x, &f);
            if (i == RULE_PAPER) check_extraction(ctx, j, &x, &f);
            ferry_i_mindtl_factors_clear(&f);
        }
        ferry_i_observed_clear(&x);
    }
    json_decref(j);
}

static void test_onmtf(void **state)
{
    ferry_ctx *ctx = *state;
    json_t *j = golden("mindtl/onmtf_full.json");
    mindtl_factors f;

    if (!j) skip();
    observed x = cells(ctx, get(j, "X"), NULL);
    check_sweeps(ctx, j, get(j, "ding"), RULE_DING, &x, &f);
    ferry_i_mindtl_factors_clear(&f);
    ferry_i_observed_clear(&x);
    json_decref(j);
}

/* ---- target ---- */

enum { N = 33, P = 10, Q = 9 };
static const int user[N] = {0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 5,
                            5, 5, 5, 5, 6, 6, 7, 7, 7, 7, 7, 8, 9, 9, 9, 9};
static const int item[N] = {2, 6, 2, 6, 7, 0, 3, 4, 5, 7, 0, 3, 4, 5, 6, 7, 0,
                            1, 3, 4, 7, 1, 3, 0, 1, 3, 4, 5, 0, 1, 5, 6, 7};
static const double value[N] = {4, 4, 1, 5, 4, 5, 5, 2, 1, 1, 1, 4, 2, 5, 1, 5, 1,
                                3, 3, 5, 4, 4, 4, 1, 2, 3, 5, 5, 3, 2, 3, 4, 2};
static const double r_first[] = {1.5, 4.5, 3.0, 4.8, 1.2, 2.5, 3.3, 3.1, 4.9};
static const double r_second[] = {2, 4, 5, 1};

static void test_target_numbers(void **state)
{
    ferry_ctx *ctx = *state;
    static const int32_t want_u[2][P] = {{0, 2, 0, 0, 0, 1, 0, 1, 1, 0},
                                         {0, 0, 0, 1, 0, 1, 0, 1, 0, 0}};
    static const int32_t want_v[2][Q] = {{1, 0, 1, 1, 0, 2, 2, 2, 0},
                                         {1, 1, 0, 0, 0, 0, 1, 0, 0}};
    int32_t u[2][P] = {{0}},
            v[2][Q] = {{1, 2, 1, 1, 0, 1, 2, 1, 0}, {1, 1, 0, 0, 1, 0, 1, 0, 0}};
    mindtl_part part[] = {{3, 3, r_first, u[0], v[0]}, {2, 2, r_second, u[1], v[1]}};
    const mindtl_target how = {LAMBDA_SIMPLEX, true, 50, 1e-9, NULL};
    observed x = triples(ctx, N, user, item, value, P, Q);
    double lambda[2], trace[50], f = 0;
    int64_t iters = 0;

    assert_ok(
        ctx, ferry_i_mindtl_reconstruct(ctx, &x, &how, 2, part, lambda, trace, &iters, &f));
    assert_int_equal(iters, 2);
    assert_close(f, 25.54317053741038, 1e-12);
    assert_close(lambda[0], 0.4320117654432384, 1e-9);
    assert_memory_equal(u, want_u, sizeof want_u);
    assert_memory_equal(v, want_v, sizeof want_v);
    ferry_i_observed_clear(&x);
}

static void check_run(ferry_ctx *ctx, const json_t *j, const observed *x, int64_t sweeps,
                      const char *name, int64_t parts, codebook_weights solver, bool joint)
{
    const mindtl_target how = {solver, joint, sweeps, 1e-9, NULL};
    char key[32];
    int32_t u[2][64], v[2][64];
    double r[2][64], lambda[2], trace[64], f = 0;
    mindtl_part part[2];
    int64_t iters = 0;
    const json_t *want;

    (void)snprintf(key, sizeof key, "%d", (int)sweeps);
    want = get(get(get(j, "runs"), name), key);
    for (int64_t n = 0; n < parts; n++) {
        const json_t *book = json_array_get(get(j, "R"), (size_t)n);
        part[n] = (mindtl_part){rows(book), cols(book), r[n], u[n], v[n]};
        for (int64_t i = 0; i < rows(book) * cols(book); i++)
            r[n][i] = cell(book, i / cols(book), i % cols(book));
        for (int64_t i = 0; i < x->x->cols; i++)
            v[n][i] = (int32_t)cell(get(j, "v0"), n, i);
    }
    assert_ok(ctx, ferry_i_mindtl_reconstruct(ctx, x, &how, parts, part, lambda, trace,
                                              &iters, &f));
    assert_close(f, json_number_value(get(want, "objective")), 1e-8);
    assert_int_equal(iters, rows(get(want, "trace")));
    for (int64_t t = 0; t < iters; t++)
        assert_close(trace[t], at(get(want, "trace"), t), 1e-8);
    for (int64_t n = 0; n < parts; n++) {
        assert_close(lambda[n], at(get(want, "lam"), n), 1e-8);
        check_labels(x->x->rows, u[n], json_array_get(get(want, "u"), (size_t)n));
        check_labels(x->x->cols, v[n], json_array_get(get(want, "v"), (size_t)n));
    }
    for (int64_t i = 0; i < x->x->rows; i++) {
        for (int64_t c = 0; c < x->x->cols; c++) {
            double sum = 0;
            for (int64_t n = 0; n < parts; n++)
                sum += lambda[n] * r[n][u[n][i] * part[n].l + v[n][c]];
            assert_close(sum, cell(get(want, "reconstruction"), i, c), 1e-8);
        }
    }
}

static void test_target(void **state)
{
    ferry_ctx *ctx = *state;
    static const int64_t sweeps[] = {1, 5, 50};
    json_t *j = golden("mindtl/target_small.json");
    int u[64], i[64];
    double v[64];

    if (!j) skip();
    for (int64_t e = 0; e < rows(get(j, "rows")); e++) {
        u[e] = (int)at(get(j, "rows"), e);
        i[e] = (int)at(get(j, "cols"), e);
        v[e] = at(get(j, "vals"), e);
    }
    observed x = triples(ctx, rows(get(j, "rows")), u, i, v,
                         (int64_t)at(get(j, "shape"), 0), (int64_t)at(get(j, "shape"), 1));
    for (int s = 0; s < 3; s++) {
        check_run(ctx, j, &x, sweeps[s], "cbt_first_source", 1, LAMBDA_SIMPLEX, true);
        check_run(ctx, j, &x, sweeps[s], "simplex_joint", 2, LAMBDA_SIMPLEX, true);
        check_run(ctx, j, &x, sweeps[s], "ls_joint", 2, LAMBDA_LS, true);
        check_run(ctx, j, &x, sweeps[s], "simplex_separate", 2, LAMBDA_SIMPLEX, false);
        check_run(ctx, j, &x, sweeps[s], "sgd_joint", 2, LAMBDA_SGD, true);
    }
    ferry_i_observed_clear(&x);
    json_decref(j);
}

/* ---- lambda ---- */

static void test_lambda(void **state)
{
    ferry_ctx *ctx = *state;
    json_t *j = golden("mindtl/lambda.json"), *one;
    size_t i;
    const char *const key[] = {"simplex", "sgd_theta05_steps100_from_third", "ls_ridge1e8"};

    json_array_foreach(j, i, one)
    {
        const int64_t p = rows(get(one, "H"));
        ferry_small *h = NULL;
        double c[16], lambda[16];
        assert_ok(ctx, ferry_i_small_new(ctx, p, p, &h));
        for (int64_t a = 0; a < p; a++) {
            c[a] = at(get(one, "c"), a);
            for (int64_t b = 0; b < p; b++)
                FERRY_AT(h, a, b) = cell(get(one, "H"), a, b);
        }
        for (int s = 0; s < 3; s++) {
            for (int64_t a = 0; a < p; a++)
                lambda[a] = 1 / (double)p;
            assert_ok(ctx, ferry_i_mindtl_lambda(ctx, (codebook_weights)s, h, c,
                                                 (int64_t)json_number_value(get(one, "n")),
                                                 0.05, 100, lambda));
            for (int64_t a = 0; a < p; a++)
                assert_close(lambda[a], at(get(one, key[s]), a), 1e-8);
        }
        ferry_i_free(h);
    }
    json_decref(j);
}

/* ---- soft ---- */

static void test_soft(void **state)
{
    ferry_ctx *ctx = *state;
    static const int32_t want_v[Q] = {1, 1, 1, 2, 0, 0, 0, 0, 0};
    /* of the first user, and of the one without ratings */
    static const double first[] = {0.03295910672740741, 0.030477411866817544,
                                   0.936563481405775};
    static const double cold[] = {0.16045215023756587, 0.3040544277133155,
                                  0.5354934220491187};
    observed x = triples(ctx, N, user, item, value, P, Q);
    json_t *j = golden("mindtl/soft_bias.json");
    int32_t v[Q];
    mindtl_soft s;
    const codebook b = {3, 3, (double *)(uintptr_t)r_first};

    assert_ok(ctx, ferry_i_mindtl_match(ctx, &x, 3, 3, r_first, v));
    assert_memory_equal(v, want_v, sizeof want_v);
    assert_ok(ctx, ferry_i_mindtl_soft_new(ctx, P, Q, 3, 3, &s));
    assert_ok(ctx, ferry_i_mindtl_soft_fit(ctx, &x, &b, v, 5, 1, NULL, &s));
    assert_close(s.sigma2, 1.2252400240358512, 1e-12);
    for (int64_t c = 0; c < 3; c++) {
        assert_close(FERRY_ROW(s.pu, 0)[c], first[c], 1e-12);
        assert_close(FERRY_ROW(s.pu, 4)[c], cold[c], 1e-12);
    }
    if (j) {
        check_block(s.pu, get(j, "Pu"), 1e-8);
        check_block(s.pv, get(j, "Pv"), 1e-8);
        check_labels(Q, v, get(j, "init_v"));
    }
    json_decref(j);
    ferry_i_mindtl_soft_clear(&s);
    ferry_i_observed_clear(&x);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ionmtf), TEST(test_onmtf),  TEST(test_target_numbers),
        TEST(test_target), TEST(test_lambda), TEST(test_soft),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
