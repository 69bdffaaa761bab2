/* The coupled tri-factorisation: cases worked out by an independent program, the plain
 * version beside the fast one, and what must always hold. */
#include <stdio.h>

#include "golden.h"
#include "in_scope.h"
#include "learn/nmtf.h"
#include "linalg/host/isa.h"
#include "oracle.h"

/* ---- the files ---- */

static double cell(const json_t *a, int64_t i, int64_t j)
{
    return json_number_value(json_array_get(json_array_get(a, (size_t)i), (size_t)j));
}

static const json_t *nth(const json_t *a, int64_t i)
{
    const json_t *v = json_array_get(a, (size_t)i);

    assert_non_null(v);
    return v;
}

static void load_block(const json_t *a, block b)
{
    for (int64_t e = 0; e < b.n * b.k; e++)
        b.at[e] = cell(a, e / b.k, e % b.k);
}

static void load_small(const json_t *a, small to)
{
    for (int64_t i = 0; i < to.rows; i++)
        for (int64_t j = 0; j < to.cols; j++)
            AT(to, i, j) = cell(a, i, j);
}

static void load_state(const json_t *j, nmtf *n)
{
    int64_t in_group[8] = {0};

    for (int64_t g = 0; g < n->n_groups; g++) {
        load_block(nth(golden_at(j, "F1"), g), n->group[g].f1);
        load_small(nth(golden_at(j, "A1"), g), n->group[g].a1);
    }
    for (int64_t v = 0; v < n->n_views; v++) {
        const int64_t g = n->view[v].group, at = in_group[g]++;
        load_block(nth(nth(golden_at(j, "F2"), g), at), n->view[v].f2);
        load_small(nth(nth(golden_at(j, "A2"), g), at), n->view[v].a2);
    }
    for (int64_t d = 0; d < n->n_domains; d++)
        load_block(nth(golden_at(j, "G"), d), n->domain[d].g);
}

static void same_block(block b, const json_t *want)
{
    for (int64_t e = 0; e < b.n * b.k; e++)
        assert_close(b.at[e], cell(want, e / b.k, e % b.k), 1e-8);
}

static void same_small(small a, const json_t *want)
{
    for (int64_t i = 0; i < a.rows; i++)
        for (int64_t j = 0; j < a.cols; j++)
            assert_close(AT(a, i, j), cell(want, i, j), 1e-8);
}

static void same_state(const nmtf *n, const json_t *j)
{
    int64_t in_group[8] = {0};

    for (int64_t g = 0; g < n->n_groups; g++) {
        same_block(n->group[g].f1, nth(golden_at(j, "F1"), g));
        same_small(n->group[g].a1, nth(golden_at(j, "A1"), g));
    }
    for (int64_t v = 0; v < n->n_views; v++) {
        const int64_t g = n->view[v].group, at = in_group[g]++;
        same_block(n->view[v].f2, nth(nth(golden_at(j, "F2"), g), at));
        same_small(n->view[v].a2, nth(nth(golden_at(j, "A2"), g), at));
    }
    for (int64_t d = 0; d < n->n_domains; d++)
        same_block(n->domain[d].g, nth(golden_at(j, "G"), d));
}

/* The transpose of what the file has, without its zeros when sparse. */
static matrix matrix_from(scope *s, const json_t *x, bool sparse)
{
    const int64_t m = (int64_t)json_array_size(x), n = (int64_t)json_array_size(nth(x, 0));
    ferry_matrix *out = NULL;
    ferry_ctx *ctx = scope_ctx(s);
    int64_t nnz = 0;

    if (sparse)
        scope_check(s, ferry_i_matrix_csr(ctx, n, m, n * m, &out));
    else
        scope_check(s, ferry_i_matrix_dense(ctx, n, m, &out));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < m; j++) {
            if (!sparse)
                out->dense[i * m + j] = cell(x, j, i);
            else if (cell(x, j, i) != 0) {
                out->index[nnz] = (int32_t)j;
                out->value[nnz++] = cell(x, j, i);
            }
        }
        if (sparse) out->start[i + 1] = nnz;
    }
    if (sparse) out->nnz = nnz;
    return matrix_own(s, out);
}

/* A file as a factorisation, matrices that are equal shared. */
static nmtf *load(scope *s, const json_t *file, bool sparse)
{
    const json_t *groups = golden_at(file, "groups"), *labels = golden_at(file, "labels");
    nmtf_input input[8];
    const json_t *from[8];
    int32_t known[64];
    int64_t views = 0;

    for (int64_t g = 0; g < (int64_t)json_array_size(groups); g++)
        for (int64_t v = 0; v < (int64_t)json_array_size(nth(groups, g)); v++) {
            const json_t *view = nth(nth(groups, g), v), *x = golden_at(view, "X");
            matrix m = {.m = NULL};
            for (int64_t u = 0; u < views; u++)
                if (json_equal(from[u], x)) m = input[u].x;
            from[views] = x;
            input[views++] =
                (nmtf_input){m.m ? m : matrix_from(s, x, sparse), g,
                             (int64_t)golden_real(view, "domain"), golden_real(view, "w")};
        }
    nmtf *n = nmtf_new(s, (int64_t)golden_real(file, "c"), (int64_t)golden_real(file, "p1"),
                       0, (int64_t)golden_real(file, "p2"), views, input);
    for (int64_t d = 0; d < n->n_domains; d++) {
        for (int64_t i = 0; i < n->domain[d].n; i++)
            known[i] = (int32_t)json_number_value(nth(nth(labels, d), i));
        nmtf_know(s, n, d, known);
    }
    load_state(golden_at(file, "init"), n);
    return n;
}

static nmtf_options options_of(const json_t *file)
{
    const char *norm = json_string_value(golden_at(file, "norm"));
    const char *const names[] = {"paper", "absorb", "none", "simplex"};
    nmtf_options o = {.exponent = 0.5};

    for (int i = 0; i < 4; i++)
        if (strcmp(norm, names[i]) == 0) o.norm = (nmtf_norm)i;
    return o;
}

static void step(scope *s, nmtf *n, const nmtf_options *o)
{
    (void)nmtf_factors(s, n, o);
    nmtf_members(s, n, o);
    nmtf_normalise(s, n, o);
}

/* One file through the fast steps (dense, sparse) or the plain ones. */
static void check_file(scope *s, const char *name, bool sparse, bool plain)
{
    json_t *file = golden(name);

    if (!file) return;
    const nmtf_options o = options_of(file);
    nmtf *n = load(s, file, sparse);
    assert_close(nmtf_objective(s, n, o.loss), golden_real(file, "objective0"), 1e-10);
    for (int it = 1; it <= 50; it++) {
        char key[16];
        const json_t *want;
        if (plain)
            oracle_nmtf_step(s, n, &o);
        else
            step(s, n, &o);
        (void)snprintf(key, sizeof key, "%d", it);
        want = json_object_get(golden_at(file, "after"), key);
        if (!want) continue;
        same_state(n, want);
        const double objective =
            plain ? oracle_nmtf_objective(s, n, o.loss) : nmtf_objective(s, n, o.loss);
        assert_close(objective, golden_real(want, "objective"), 1e-8);
    }
    json_decref(file);
}

IN_SCOPE(test_golden)
{
    static const char *const names[] = {
        "binary_paper", "binary_absorb",     "binary_none", "three_class_clamped",
        "chain_k2",     "two_view_weighted", "shared_only", "simplex"};
    char path[64];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "ttl/%s.json", names[i]);
        check_file(s, path, false, false);
        check_file(s, path, true, false);
        check_file(s, path, false, true);
    }
}

/* Two iterations of a small problem, worked out with NumPy from the formulas. */
IN_SCOPE(test_numbers)
{
    double xs[] = {1, 0, 0, 2, 0.5, 1}, xi[] = {0.5, 1, 1, 0.25};
    const double f1[] = {0.4, 0.6}, f2[][2] = {{0.3, 0.7}, {0.8, 0.2}};
    const double a1[] = {0.5, 0.7}, a2[][2] = {{0.2, 0.9}, {0.6, 0.3}};
    const double gi[] = {0.6, 0.4, 0.3, 0.7};
    const int32_t ys[] = {0, 1, 1};
    const nmtf_options o = {.exponent = 0.5};
    const nmtf_input input[] = {{matrix_of(s, (block){HERE(3), 3, 2, xs}), 0, 0, 1},
                                {matrix_of(s, (block){HERE(2), 2, 2, xi}), 0, 1, 2}};
    nmtf *n = nmtf_new(s, 2, 1, 0, 1, 2, input);

    nmtf_know(s, n, 0, ys);
    memcpy(n->domain[1].g.at, gi, sizeof gi);
    memcpy(n->group[0].f1.at, f1, sizeof f1);
    memcpy(n->group[0].a1.at, a1, sizeof a1);
    for (int v = 0; v < 2; v++) {
        memcpy(n->view[v].f2.at, f2[v], sizeof f2[v]);
        memcpy(n->view[v].a2.at, a2[v], sizeof a2[v]);
    }
    assert_close(nmtf_objective(s, n, o.loss), 3.05952, 1e-14);
    step(s, n, &o);
    step(s, n, &o);
    assert_close(nmtf_objective(s, n, o.loss), 2.516369984191072, 1e-13);
    assert_close(n->group[0].f1.at[0], 0.3898729458082568, 1e-13);
    assert_close(n->group[0].a1.at[1], 0.7515535174966975, 1e-13);
    assert_close(n->view[0].f2.at[0], 0.17150965563432571, 1e-13);
    assert_close(n->view[1].a2.at[0], 0.6486894812311951, 1e-13);
    assert_close(n->domain[1].g.at[3], 0.6828698699160586, 1e-13);
}

/* ---- a problem made here ---- */

typedef struct shape {
    int64_t c, p1, pa, p2;
    bool sparse, weighted;
    uint64_t seed;
} shape;

/* S, I (two matrices: 7 and 9 features), T; a few labels known in I and T; an instance
 * without features in each. */
static nmtf *problem(scope *s, const shape *z)
{
    const int64_t rows[] = {10, 12, 12, 8}, cols[] = {7, 7, 9, 9}, domain[] = {0, 1, 1, 2};
    nmtf_input input[4];
    ferry_rng rng;
    int32_t known[12];

    ferry_i_rng_seed(&rng, z->seed, 0);
    for (int v = 0; v < 4; v++) {
        matrix x = matrix_dense(s, HERE(rows[v]), rows[v], cols[v]);
        for (int64_t i = 0; i < rows[v]; i++)
            for (int64_t j = 0; j < cols[v]; j++)
                x.m->dense[i * cols[v] + j] =
                    ferry_i_rng_real(&rng) < 0.4 || i == 5 ? 0 : ferry_i_rng_real(&rng);
        if (z->sparse) x = to_sparse(s, x);
        input[v] = (nmtf_input){x, v / 2, domain[v], z->weighted ? 1 + 0.5 * v : 1};
    }
    nmtf *n = nmtf_new(s, z->c, z->p1, z->pa, z->p2, 4, input);
    for (int64_t d = 0; d < 3; d++) {
        for (int64_t i = 0; i < n->domain[d].n; i++)
            known[i] = d == 0 || i < 2 ? (int32_t)(i % z->c) : -1;
        nmtf_know(s, n, d, known);
    }
    nmtf_random(s, n, &rng, NULL);
    for (int64_t d = 1; d < 3; d++) {
        fill_uniform(s, &rng, 0, 1, n->domain[d].above);
        nmtf_start(n, d, n->domain[d].above, 0.02);
    }
    return n;
}

static void same_blocks(block a, block b)
{
    for (int64_t e = 0; e < a.n * a.k; e++)
        assert_close(a.at[e], b.at[e], 1e-11);
}

static void same_smalls(small a, small b)
{
    for (int64_t e = 0; e < a.rows * a.cols; e++)
        assert_close(a.at[e], b.at[e], 1e-11);
}

static void same_factors(const nmtf *a, const nmtf *b)
{
    for (int64_t g = 0; g < a->n_groups; g++) {
        same_blocks(a->group[g].f1, b->group[g].f1);
        same_smalls(a->group[g].a1, b->group[g].a1);
        same_smalls(a->group[g].aa, b->group[g].aa);
    }
    for (int64_t v = 0; v < a->n_views; v++) {
        same_blocks(a->view[v].fa, b->view[v].fa);
        same_blocks(a->view[v].f2, b->view[v].f2);
        same_smalls(a->view[v].a2, b->view[v].a2);
    }
    for (int64_t d = 0; d < a->n_domains; d++)
        same_blocks(a->domain[d].g, b->domain[d].g);
}

/* Every loss, normalisation, exponent, shape: the fast step is the plain one. */
IN_SCOPE(test_plain)
{
    static const int64_t sizes[][4] = {{2, 3, 0, 2}, {3, 2, 3, 1}, {2, 0, 2, 0},
                                       {4, 4, 0, 0}, {2, 0, 0, 3}, {3, 1, 2, 4}};

    for (int t = 0; t < 6 * 2 * 2 * 4 * 2; t++) {
        const int64_t *of = sizes[t % 6];
        const shape z = {of[0],          of[1],      of[2],           of[3],
                         t / 6 % 2 == 0, t % 3 == 0, 40 + (uint64_t)t};
        const nmtf_options o = {
            .loss = (nmtf_loss)(t / 12 % 2),
            .norm = (nmtf_norm)(t / 24 % 4),
            .exponent = t / 96 ? 1 : 0.5,
        };
        nmtf *a = NULL, *b = NULL;
        double fast, plain;
        if (o.loss == NMTF_KL && o.norm == NMTF_SIMPLEX) continue;
        a = problem(s, &z);
        b = problem(s, &z);
        for (int it = 0; it < 3; it++) {
            fast = nmtf_objective(s, a, o.loss);
            plain = oracle_nmtf_objective(s, b, o.loss);
            assert_close(fast, plain, 1e-11);
            step(s, a, &o);
            oracle_nmtf_step(s, b, &o);
            same_factors(a, b);
        }
    }
}

/* Columns of F that wait for the next step to be divided by their sums: the same, on every
 * instruction set that the CPU has. */
IN_SCOPE(test_late)
{
    ferry_ctx *ctx = scope_ctx(s);

    for (int t = 0; t < 96; t++) {
        const shape z = {2 + t % 3, 3,          t % 2 ? 2 : 0,    2,
                         t % 4 < 2, t % 3 == 0, 200 + (uint64_t)t};
        const int best = ctx->isa, isa = t / 24;
        const nmtf_options o = {.norm = (nmtf_norm)(t % 4),
                                .exponent = t / 12 % 2 ? 1 : 0.5};
        nmtf *a = NULL, *b = NULL;
        double fast, plain;
        if (isa < FERRY_ISAS && !ferry_i_isa_runs((ferry_isa)isa)) continue;
        ctx->isa = isa < FERRY_ISAS ? isa : best;
        if (isa == FERRY_ISAS) assert_ok(ctx, ferry_i_ctx_set_engine(ctx, "ref"));
        a = problem(s, &z);
        b = problem(s, &z);
        for (int it = 0; it < 4; it++) {
            plain = oracle_nmtf_objective(s, b, o.loss);
            fast = nmtf_factors(s, a, &o);
            assert_close(fast, plain, 1e-11);
            nmtf_members(s, a, &o);
            nmtf_normalise_late(s, a, &o);
            oracle_nmtf_step(s, b, &o);
        }
        nmtf_catch_up(s, a);
        same_factors(a, b);
        ctx->isa = best;
        assert_ok(ctx, ferry_i_ctx_set_engine(ctx, "host"));
    }
}

/* No part of a step raises the objective before normalisation. */
IN_SCOPE(test_never_rises)
{

    for (int t = 0; t < 48; t++) {
        const shape z = {2 + t % 3, 3,          t % 2 ? 2 : 0,    2,
                         t % 4 < 2, t % 3 == 0, 100 + (uint64_t)t};
        const nmtf_options o = {.loss = (nmtf_loss)(t / 4 % 2),
                                .norm = (nmtf_norm)(t / 8 % 4),
                                .exponent = t / 12 % 2 ? 1 : 0.5};
        nmtf *n = NULL;
        double before, between, after;
        if (o.loss == NMTF_KL && o.norm == NMTF_SIMPLEX) continue;
        n = problem(s, &z);
        for (int it = 0; it < 30; it++) {
            before = nmtf_factors(s, n, &o);
            between = nmtf_objective(s, n, o.loss);
            assert_true(between <= before * (1 + 1e-12));
            nmtf_members(s, n, &o);
            after = nmtf_objective(s, n, o.loss);
            assert_true(after <= between * (1 + 1e-12));
            nmtf_normalise(s, n, &o);
        }
    }
}

/* The empty instance has no opinion, known rows stay, rows and columns sum to 1. */
IN_SCOPE(test_edges)
{
    const shape z = {3, 2, 0, 2, true, false, 7};
    const nmtf_options o = {.exponent = 0.5, .iterations = 20};
    nmtf_found found;
    nmtf *n = NULL;
    double all = 0;

    n = problem(s, &z);
    found = nmtf_run(s, n, &o, "ttl");
    assert_int_equal(found.iterations, 20);
    assert_false(found.converged);
    assert_int_equal(n->empty, 2);
    for (int64_t k = 0; k < 3; k++) {
        assert_close(ROW(n->domain[2].g, 5)[k], 1.0 / 3, 1e-15);
        assert_close(ROW(n->domain[2].g, 1)[k], k == 1, 0);
    }
    for (int64_t j = 0; j < 7; j++)
        all += ROW(n->group[0].f1, j)[0];
    assert_close(all, 1, 1e-12);
}

static ferry_answer finish_at_3(void *user, const ferry_progress *p)
{
    (void)user;
    return p->done == 3 ? FERRY_FINISH : FERRY_GO;
}

typedef struct running {
    nmtf *n;
    const nmtf_options *o;
} running;

static void run_body(scope *s, void *arg)
{
    const running *r = arg;

    (void)nmtf_run(s, r->n, r->o, "ttl");
}

IN_SCOPE(test_stops)
{
    ferry_ctx *ctx = scope_ctx(s);
    const shape z = {2, 2, 0, 2, true, false, 9};
    nmtf_options o = {.exponent = 1, .iterations = 5000, .tol = 1e-6};
    nmtf_found found;
    double before, falls;
    nmtf *n = NULL;

    n = problem(s, &z);
    found = nmtf_run(s, n, &o, "ttl");
    assert_true(found.converged && found.iterations < 5000);
    o.tol = 0;
    o.iterations = 0;
    o.warm = 4; /* F and A alone: the labels stay as they are */
    before = ROW(n->domain[2].g, 4)[0];
    falls = found.objective;
    found = nmtf_run(s, n, &o, "ttl");
    assert_int_equal(found.iterations, 4);
    assert_close(ROW(n->domain[2].g, 4)[0], before, 1e-15);
    assert_true(found.objective < falls * (1 + 1e-9));
    o.iterations = 5000;
    ferry_ctx_set_progress(ctx, finish_at_3, NULL);
    found = nmtf_run(s, n, &o, "ttl");
    assert_true(found.finish && found.iterations == 3);
    ferry_ctx_set_progress(ctx, cancel_at_once, NULL);
    assert_fails(ctx, scope_try(s, NULL, run_body, &(running){n, &o}), FERRY_ECANCELLED,
                 "");
}

typedef struct making {
    int64_t views;
    const nmtf_input *input;
} making;

static void new_body(scope *s, void *arg)
{
    const making *m = arg;

    (void)nmtf_new(s, 2, 1, 0, 1, m->views, m->input);
}

IN_SCOPE(test_bad_shapes)
{
    ferry_ctx *ctx = scope_ctx(s);
    const matrix x[] = {matrix_dense(s, HERE(3), 3, 4), matrix_dense(s, HERE(3), 3, 5),
                        matrix_dense(s, HERE(2), 2, 4)};
    const nmtf_input wide[] = {{x[0], 0, 0, 1}, {x[1], 0, 1, 1}};
    const nmtf_input tall[] = {{x[0], 0, 0, 1}, {x[2], 0, 0, 1}};
    const nmtf_input one[] = {{x[0], 0, 0, 1}};
    const nmtf_options o = {.exponent = 1, .iterations = 2};
    ferry_rng rng;

    assert_fails(ctx, scope_try(s, NULL, new_body, &(making){2, wide}), FERRY_EINVAL,
                 "one group have 4 and 5 features");
    assert_fails(ctx, scope_try(s, NULL, new_body, &(making){2, tall}), FERRY_EINVAL,
                 "one domain have 3 and 2 instances");
    x[0].m->dense[3] = -1;
    assert_fails(ctx, scope_try(s, NULL, new_body, &(making){1, one}), FERRY_EDATA,
                 "features of 0 or more");
    x[0].m->dense[3] = 1e200;
    nmtf *n = nmtf_new(s, 2, 1, 0, 1, 1, one);
    ferry_i_rng_seed(&rng, 1, 1);
    nmtf_random(s, n, &rng, NULL);
    assert_fails(ctx, scope_try(s, NULL, run_body, &(running){n, &o}), FERRY_ENUMERIC,
                 "ttl: the factors grew");
}

static void short_body(scope *s, void *arg)
{
    const nmtf_options o = {.loss = *(nmtf_loss *)arg, .exponent = 1, .iterations = 1};
    const shape z = {3, 2, 2, 2, true, false, 3};
    nmtf *n = problem(s, &z);

    (void)nmtf_run(s, n, &o, "ttl");
    oracle_nmtf_step(s, n, &o);
    (void)oracle_nmtf_objective(s, n, o.loss);
}

static ferry_status short_run(ferry_ctx *ctx, void *arg)
{
    return scope_run(ctx, short_body, arg);
}

static void test_allocations(void **state)
{
    nmtf_loss loss = NMTF_SQUARED;

    each_allocation_fails(*state, short_run, &loss);
    loss = NMTF_KL;
    each_allocation_fails(*state, short_run, &loss);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_golden, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_numbers, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_plain, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_late, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_never_rises, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_edges, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_stops, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_bad_shapes, ctx_setup, ctx_teardown),
        cmocka_unit_test_setup_teardown(test_allocations, ctx_setup, ctx_teardown),
    };
    return cmocka_run_group_tests_name("ttl_nmtf", tests, NULL, NULL);
}
