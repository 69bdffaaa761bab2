/* MINDTL's formulas against cases worked out by an independent program: some numbers here,
 * the whole of the files in golden/mindtl beside the data where they are present. */
#include <jansson.h>
#include <stdio.h>

#include "golden.h"
#include "learn/onmtf.h"
#include "methods/codebook.h"

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

/* Users, items and a matrix of them, whose rows ascend. */
static ratings ratings_in(scope *s, ferry_matrix *m)
{
    ratings r = {.users = m->rows, .items = m->cols, .x = matrix_own(s, m)};

    r.xt = transpose(s, r.x, HERE(m->cols), m->cols);
    return r;
}

/* Cells of X where M (NULL: everywhere) is 1. */
static ratings cells(scope *s, const json_t *x, const json_t *m)
{
    const int64_t n = rows(x), w = cols(x);
    ferry_matrix *csr = NULL;

    scope_check(s, ferry_i_matrix_csr(scope_ctx(s), n, w, n * w, &csr));
    csr->nnz = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < w; j++) {
            if (m && cell(m, i, j) == 0) continue;
            csr->index[csr->nnz] = (int32_t)j;
            csr->value[csr->nnz++] = cell(x, i, j);
        }
        csr->start[i + 1] = csr->nnz;
    }
    return ratings_in(s, csr);
}

/* By user, then item. */
static ratings triples(scope *s, int64_t n, const int *u, const int *i, const double *v,
                       int64_t p, int64_t q)
{
    ferry_matrix *csr = NULL;

    scope_check(s, ferry_i_matrix_csr(scope_ctx(s), p, q, n, &csr));
    for (int64_t e = 0; e < n; e++) {
        assert_true(e == 0 || u[e] > u[e - 1] || (u[e] == u[e - 1] && i[e] > i[e - 1]));
        csr->index[e] = i[e];
        csr->value[e] = v[e];
        for (int64_t k = u[e]; k < p; k++)
            csr->start[k + 1] = e + 1;
    }
    return ratings_in(s, csr);
}

static onmtf load_factors(scope *s, const json_t *j, const ratings *x)
{
    const json_t *u = get(j, "U0"), *v = get(j, "V0"), *b = get(j, "B0");
    const onmtf f = onmtf_new(s, x, cols(u), cols(v));

    for (int64_t i = 0; i < rows(u) * cols(u); i++)
        f.u.at[i] = cell(u, i / cols(u), i % cols(u));
    for (int64_t i = 0; i < rows(v) * cols(v); i++)
        f.v.at[i] = cell(v, i / cols(v), i % cols(v));
    for (int64_t c = 0; c < rows(b); c++)
        for (int64_t d = 0; d < cols(b); d++)
            AT(f.b, c, d) = cell(b, c, d);
    return f;
}

static void check_block(block b, const json_t *want, double tol)
{
    for (int64_t i = 0; i < b.n * b.k; i++)
        assert_close(b.at[i], cell(want, i / b.k, i % b.k), tol);
}

static void check_factors(const onmtf *f, const json_t *want, double tol)
{
    check_block(f->u, get(want, "U"), tol);
    check_block(f->v, get(want, "V"), tol);
    for (int64_t c = 0; c < f->b.rows; c++)
        for (int64_t d = 0; d < f->b.cols; d++)
            assert_close(AT(f->b, c, d), cell(get(want, "B"), c, d), tol);
}

/* ---- sweeps ---- */

/* Every number of sweeps that the file has, in turn; the factors after the last. */
static onmtf check_sweeps(scope *s, const json_t *file, const json_t *runs, onmtf_rule rule,
                          const ratings *x)
{
    onmtf f = load_factors(s, file, x);
    int64_t done = 0;

    if (json_object_get(runs, "objective0"))
        assert_close(onmtf_error(s, x, &f), json_number_value(get(runs, "objective0")),
                     1e-12);
    for (int64_t sweep = 1; sweep <= 200; sweep++) {
        char key[32];
        const json_t *want;
        onmtf_sweep(s, x, rule, &f);
        (void)snprintf(key, sizeof key, "%d", (int)sweep);
        want = json_object_get(runs, key);
        if (!want) continue;
        check_factors(&f, want, 1e-8);
        assert_close(onmtf_error(s, x, &f), json_number_value(get(want, "objective")),
                     1e-8);
        if (++done == 3) break;
    }
    assert_int_equal(done, 3);
    return f;
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

/* Groups, codebooks and the two-way k-means of the paper's sweeps. */
static void check_extraction(scope *s, const json_t *j, const ratings *x, const onmtf *f)
{
    int32_t u[64], v[64];
    double r[64];
    const grouping g = {f->b.rows, f->b.cols, r, u, v};

    onmtf_groups(s, f->u, u);
    onmtf_groups(s, f->v, v);
    check_labels(x->users, u, get(get(j, "harden_paper_50"), "u"));
    check_labels(x->items, v, get(get(j, "harden_paper_50"), "v"));
    block_means(s, x->x, &g, 0);
    check_codebook(r, get(get(j, "codebook_beta0"), "R"), 1e-8);
    block_means(s, x->x, &g, 5);
    check_codebook(r, get(get(j, "codebook_beta5"), "R"), 1e-8);
    (void)two_way_kmeans(s, x, &g, 20);
    check_labels(x->users, u, get(get(j, "polish_beta0"), "u"));
    check_labels(x->items, v, get(get(j, "polish_beta0"), "v"));
    check_codebook(r, get(get(j, "polish_beta0"), "R"), 1e-8);
}

static void check_ionmtf(scope *s, void *arg)
{
    const char *const rule[] = {"paper", "orth", "ding"};
    const json_t *j = arg;
    const ratings x = cells(s, get(j, "X"), get(j, "M"));

    for (int i = 0; i < 3; i++) {
        const onmtf f =
            check_sweeps(s, j, get(get(j, "modes"), rule[i]), (onmtf_rule)i, &x);
        if (i == RULE_PLAIN) check_extraction(s, j, &x, &f);
    }
}

static void test_ionmtf(void **state)
{
    ferry_ctx *ctx = *state;
    json_t *j = golden("mindtl/ionmtf_small.json");

    for (int engine = 0; j && engine < 2; engine++) {
        assert_ok(ctx, ferry_i_ctx_set_engine(ctx, engine ? "ref" : "host"));
        assert_ok(ctx, scope_run(ctx, check_ionmtf, j));
    }
    json_decref(j);
}

static void check_onmtf(scope *s, void *arg)
{
    const json_t *j = arg;
    const ratings x = cells(s, get(j, "X"), NULL);

    (void)check_sweeps(s, j, get(j, "ding"), RULE_DING, &x);
}

static void test_onmtf(void **state)
{
    ferry_ctx *ctx = *state;
    json_t *j = golden("mindtl/onmtf_full.json");

    if (!j) skip();
    assert_ok(ctx, scope_run(ctx, check_onmtf, j));
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
static double r_first[] = {1.5, 4.5, 3.0, 4.8, 1.2, 2.5, 3.3, 3.1, 4.9};
static double r_second[] = {2, 4, 5, 1};

/* At most `iters` iterations of algorithm 2. */
static double solve(scope *s, const ratings *x, codebook_weights solver, int64_t iters,
                    int64_t parts, const grouping *g, double *lambda, int64_t *done)
{
    const codebook_options o = {.iters = iters, .theta = 0.05};
    codebook_run r = {&o, 0, 0, false};

    return codebook_reconstruct(s, x, solver, &r, parts, g, lambda, done);
}

static void check_numbers(scope *s, void *arg)
{
    static const int32_t want_u[2][P] = {{0, 2, 0, 0, 0, 1, 0, 1, 1, 0},
                                         {0, 0, 0, 1, 0, 1, 0, 1, 0, 0}};
    static const int32_t want_v[2][Q] = {{1, 0, 1, 1, 0, 2, 2, 2, 0},
                                         {1, 1, 0, 0, 0, 0, 1, 0, 0}};
    int32_t u[2][P] = {{0}},
            v[2][Q] = {{1, 2, 1, 1, 0, 1, 2, 1, 0}, {1, 1, 0, 0, 1, 0, 1, 0, 0}};
    const grouping g[] = {{3, 3, r_first, u[0], v[0]}, {2, 2, r_second, u[1], v[1]}};
    const ratings x = triples(s, N, user, item, value, P, Q);
    double lambda[2];
    int64_t iters = 0;

    (void)arg;
    assert_close(solve(s, &x, LAMBDA_SIMPLEX, 50, 2, g, lambda, &iters), 25.54317053741038,
                 1e-12);
    assert_int_equal(iters, 2);
    assert_close(lambda[0], 0.4320117654432384, 1e-9);
    assert_memory_equal(u, want_u, sizeof want_u);
    assert_memory_equal(v, want_v, sizeof want_v);
}

static void test_target_numbers(void **state)
{
    assert_ok(*state, scope_run(*state, check_numbers, NULL));
}

/* One source. By least squares its weight is the best there is; on the simplex, and of sgd, 1. The numbers of an independent
 * program, which tries all groups and lets numpy.linalg.lstsq() find lambda. A pattern of 0 says nothing. */
static void check_one_source(scope *s, void *arg)
{
    static const int32_t want_u[P] = {0, 2, 2, 0, 0, 1, 2, 1, 0, 1},
                         want_v[Q] = {2, 2, 1, 2, 0, 0, 2, 1, 0};
    static double nothing[9] = {0};
    const ratings x = triples(s, N, user, item, value, P, Q);
    double lambda = 0, least = 0;
    int64_t iters = 0;

    (void)arg;
    for (int solver = LAMBDA_SIMPLEX; solver <= LAMBDA_LS; solver++) {
        int32_t u[P] = {0}, v[Q] = {1, 2, 1, 1, 0, 1, 2, 1, 0};
        grouping g = {3, 3, r_first, u, v};
        const double f = solve(s, &x, (codebook_weights)solver, 50, 1, &g, &lambda, &iters);
        if (solver != LAMBDA_LS) {
            assert_true(lambda == 1);
            least = f;
            continue;
        }
        assert_int_equal(iters, 3);
        assert_close(lambda, 0.9176731575055459, 1e-7); /* a ridge of 1e-8 */
        assert_close(f, 58.35028346068523, 1e-12);
        assert_true(f < least);
        assert_memory_equal(u, want_u, sizeof want_u);
        assert_memory_equal(v, want_v, sizeof want_v);
        g.r = nothing;
        (void)solve(s, &x, LAMBDA_LS, 50, 1, &g, &lambda, &iters);
        assert_true(lambda == 1);
    }
}

static void test_one_source(void **state)
{
    assert_ok(*state, scope_run(*state, check_one_source, NULL));
}

static void check_run(scope *s, const json_t *j, const ratings *x, int64_t sweeps,
                      const char *name, int64_t parts, codebook_weights solver)
{
    char key[32];
    int32_t u[2][64], v[2][64];
    double r[2][64], lambda[2];
    grouping g[2];
    int64_t iters = 0;
    const json_t *want;

    (void)snprintf(key, sizeof key, "%d", (int)sweeps);
    want = get(get(get(j, "runs"), name), key);
    for (int64_t n = 0; n < parts; n++) {
        const json_t *book = json_array_get(get(j, "R"), (size_t)n);
        g[n] = (grouping){rows(book), cols(book), r[n], u[n], v[n]};
        for (int64_t i = 0; i < rows(book) * cols(book); i++)
            r[n][i] = cell(book, i / cols(book), i % cols(book));
        for (int64_t i = 0; i < x->items; i++)
            v[n][i] = (int32_t)cell(get(j, "v0"), n, i);
    }
    assert_close(solve(s, x, solver, sweeps, parts, g, lambda, &iters),
                 json_number_value(get(want, "objective")), 1e-8);
    assert_int_equal(iters, rows(get(want, "trace")));
    for (int64_t n = 0; n < parts; n++) {
        assert_close(lambda[n], at(get(want, "lam"), n), 1e-8);
        check_labels(x->users, u[n], json_array_get(get(want, "u"), (size_t)n));
        check_labels(x->items, v[n], json_array_get(get(want, "v"), (size_t)n));
    }
    for (int64_t i = 0; i < x->users; i++)
        for (int64_t c = 0; c < x->items; c++)
            assert_close(grouped_rating(parts, g, lambda, -1, i, c),
                         cell(get(want, "reconstruction"), i, c), 1e-8);
}

static void check_target(scope *s, void *arg)
{
    static const int64_t sweeps[] = {1, 5, 50};
    const json_t *j = arg;
    int u[64], i[64];
    double v[64];

    for (int64_t e = 0; e < rows(get(j, "rows")); e++) {
        u[e] = (int)at(get(j, "rows"), e);
        i[e] = (int)at(get(j, "cols"), e);
        v[e] = at(get(j, "vals"), e);
    }
    const ratings x =
        triples(s, rows(get(j, "rows")), u, i, v, (int64_t)at(get(j, "shape"), 0),
                (int64_t)at(get(j, "shape"), 1));
    for (int k = 0; k < 3; k++) {
        check_run(s, j, &x, sweeps[k], "cbt_first_source", 1, LAMBDA_SIMPLEX);
        check_run(s, j, &x, sweeps[k], "simplex_joint", 2, LAMBDA_SIMPLEX);
        check_run(s, j, &x, sweeps[k], "ls_joint", 2, LAMBDA_LS);
        check_run(s, j, &x, sweeps[k], "sgd_joint", 2, LAMBDA_SGD);
    }
}

static void test_target(void **state)
{
    json_t *j = golden("mindtl/target_small.json");

    if (!j) skip();
    assert_ok(*state, scope_run(*state, check_target, j));
    json_decref(j);
}

static void check_match(scope *s, void *arg)
{
    static const int32_t want_v[Q] = {1, 1, 1, 2, 0, 0, 0, 0, 0};
    const ratings x = triples(s, N, user, item, value, P, Q);
    int32_t v[Q];

    (void)arg;
    codebook_match(s, &x, &(grouping){3, 3, r_first, NULL, v});
    assert_memory_equal(v, want_v, sizeof want_v);
}

static void test_match(void **state)
{
    assert_ok(*state, scope_run(*state, check_match, NULL));
}

/* ---- lambda ---- */

static void check_lambda(scope *s, void *arg)
{
    static const char *const key[] = {"simplex", "sgd_theta05_steps100_from_third",
                                      "ls_ridge1e8"};
    const json_t *one;
    size_t i;

    json_array_foreach((json_t *)arg, i, one)
    {
        const int64_t p = rows(get(one, "H"));
        const small h = small_new(s, p, p);
        double c[16], lambda[16];
        for (int64_t a = 0; a < p; a++) {
            c[a] = at(get(one, "c"), a);
            for (int64_t b = 0; b < p; b++)
                AT(h, a, b) = cell(get(one, "H"), a, b);
        }
        for (int k = 0; k < 3; k++) {
            for (int64_t a = 0; a < p; a++)
                lambda[a] = 1 / (double)p;
            codebook_lambda(s, (codebook_weights)k, h, c, json_number_value(get(one, "n")),
                            0.05, lambda);
            for (int64_t a = 0; a < p; a++)
                assert_close(lambda[a], at(get(one, key[k]), a), 1e-8);
        }
    }
}

static void test_lambda(void **state)
{
    json_t *j = golden("mindtl/lambda.json");

    assert_ok(*state, scope_run(*state, check_lambda, j));
    json_decref(j);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ionmtf),     TEST(test_onmtf),  TEST(test_target_numbers),
        TEST(test_one_source), TEST(test_target), TEST(test_lambda),
        TEST(test_match),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
