/* The coupled tri-factorisation: cases worked out by an independent program, the plain
 * version beside the fast one, and what must always hold. */
#include <stdio.h>

#include "golden.h"
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

static void load_block(const json_t *a, ferry_block *b)
{
    for (int64_t e = 0; e < b->rows * b->k; e++)
        b->data[e] = cell(a, e / b->k, e % b->k);
}

static void load_small(const json_t *a, ferry_small *s)
{
    for (int64_t i = 0; i < s->rows; i++)
        for (int64_t j = 0; j < s->cols; j++)
            FERRY_AT(s, i, j) = cell(a, i, j);
}

static void load_state(const json_t *j, ferry_nmtf *n)
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

static void same_block(const ferry_block *b, const json_t *want)
{
    for (int64_t e = 0; e < b->rows * b->k; e++)
        assert_close(b->data[e], cell(want, e / b->k, e % b->k), 1e-8);
}

static void same_small(const ferry_small *s, const json_t *want)
{
    for (int64_t i = 0; i < s->rows; i++)
        for (int64_t j = 0; j < s->cols; j++)
            assert_close(FERRY_AT(s, i, j), cell(want, i, j), 1e-8);
}

static void same_state(const ferry_nmtf *n, const json_t *j)
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
static ferry_matrix *matrix_from(ferry_ctx *ctx, const json_t *x, bool sparse)
{
    const int64_t m = (int64_t)json_array_size(x), n = (int64_t)json_array_size(nth(x, 0));
    ferry_matrix *out = NULL;
    int64_t nnz = 0;

    if (sparse)
        assert_ok(ctx, ferry_i_matrix_csr(ctx, n, m, n * m, &out));
    else
        assert_ok(ctx, ferry_i_matrix_dense(ctx, n, m, &out));
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
    return out;
}

/* A file as a factorisation, matrices that are equal shared. */
static ferry_nmtf *load(ferry_ctx *ctx, const json_t *file, bool sparse)
{
    const json_t *groups = golden_at(file, "groups"), *labels = golden_at(file, "labels");
    ferry_nmtf_place place[8];
    const json_t *from[8];
    ferry_nmtf *n = NULL;
    int32_t known[64];
    int64_t views = 0;

    for (int64_t g = 0; g < (int64_t)json_array_size(groups); g++)
        for (int64_t v = 0; v < (int64_t)json_array_size(nth(groups, g)); v++) {
            const json_t *view = nth(nth(groups, g), v), *x = golden_at(view, "X");
            ferry_matrix *m = NULL;
            for (int64_t u = 0; u < views; u++)
                if (json_equal(from[u], x)) m = ferry_i_matrix_ref(place[u].x);
            from[views] = x;
            place[views++] = (ferry_nmtf_place){m ? m : matrix_from(ctx, x, sparse), g,
                                                (int64_t)golden_real(view, "domain"),
                                                golden_real(view, "w")};
        }
    assert_ok(ctx, ferry_i_nmtf_new(ctx, (int64_t)golden_real(file, "c"),
                                    (int64_t)golden_real(file, "p1"), 0,
                                    (int64_t)golden_real(file, "p2"), views, place, &n));
    for (int64_t v = 0; v < views; v++)
        ferry_i_matrix_free(place[v].x);
    for (int64_t d = 0; d < n->n_domains; d++) {
        for (int64_t i = 0; i < n->domain[d].n; i++)
            known[i] = (int32_t)json_number_value(nth(nth(labels, d), i));
        assert_ok(ctx, ferry_i_nmtf_know(ctx, n, d, known));
    }
    load_state(golden_at(file, "init"), n);
    return n;
}

static ferry_nmtf_options options_of(const json_t *file)
{
    const char *norm = json_string_value(golden_at(file, "norm"));
    const char *const names[] = {"paper", "absorb", "none", "simplex"};
    ferry_nmtf_options o = {.exponent = 0.5};

    for (int i = 0; i < 4; i++)
        if (strcmp(norm, names[i]) == 0) o.norm = (ferry_nmtf_norm)i;
    return o;
}

static void step(ferry_ctx *ctx, ferry_nmtf *n, const ferry_nmtf_options *o)
{
    double before;

    assert_ok(ctx, ferry_i_nmtf_factors(ctx, n, o, &before));
    assert_ok(ctx, ferry_i_nmtf_members(ctx, n, o));
    ferry_i_nmtf_normalise(ctx, n, o);
}

/* One file through the fast steps (dense, sparse) or the plain ones. */
static void check_file(ferry_ctx *ctx, const char *name, bool sparse, bool plain)
{
    json_t *file = golden(name);
    ferry_nmtf_options o;
    ferry_nmtf *n;
    double objective;

    if (!file) return;
    o = options_of(file);
    n = load(ctx, file, sparse);
    assert_ok(ctx, ferry_i_nmtf_objective(ctx, n, o.loss, &objective));
    assert_close(objective, golden_real(file, "objective0"), 1e-10);
    for (int it = 1; it <= 50; it++) {
        char key[16];
        const json_t *want;
        if (plain)
            assert_ok(ctx, oracle_nmtf_step(ctx, n, &o));
        else
            step(ctx, n, &o);
        (void)snprintf(key, sizeof key, "%d", it);
        want = json_object_get(golden_at(file, "after"), key);
        if (!want) continue;
        same_state(n, want);
        if (plain)
            assert_ok(ctx, oracle_nmtf_objective(ctx, n, o.loss, &objective));
        else
            assert_ok(ctx, ferry_i_nmtf_objective(ctx, n, o.loss, &objective));
        assert_close(objective, golden_real(want, "objective"), 1e-8);
    }
    ferry_i_nmtf_free(n);
    json_decref(file);
}

static void test_golden(void **state)
{
    static const char *const names[] = {
        "binary_paper", "binary_absorb",     "binary_none", "three_class_clamped",
        "chain_k2",     "two_view_weighted", "shared_only", "simplex"};
    char path[64];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "ttl/%s.json", names[i]);
        check_file(*state, path, false, false);
        check_file(*state, path, true, false);
        check_file(*state, path, false, true);
    }
}

/* Two iterations of a small problem, worked out with NumPy from the formulas. */
static void test_numbers(void **state)
{
    ferry_ctx *ctx = *state;
    const double xs[] = {1, 0, 0, 2, 0.5, 1}, xi[] = {0.5, 1, 1, 0.25};
    const double f1[] = {0.4, 0.6}, f2[][2] = {{0.3, 0.7}, {0.8, 0.2}};
    const double a1[] = {0.5, 0.7}, a2[][2] = {{0.2, 0.9}, {0.6, 0.3}};
    const double gi[] = {0.6, 0.4, 0.3, 0.7};
    const int32_t ys[] = {0, 1, 1};
    const ferry_nmtf_options o = {.exponent = 0.5};
    ferry_matrix *x[2] = {NULL};
    ferry_nmtf *n = NULL;
    double objective;

    assert_ok(ctx, ferry_i_matrix_dense(ctx, 3, 2, &x[0]));
    assert_ok(ctx, ferry_i_matrix_dense(ctx, 2, 2, &x[1]));
    memcpy(x[0]->dense, xs, sizeof xs);
    memcpy(x[1]->dense, xi, sizeof xi);
    {
        const ferry_nmtf_place place[] = {{x[0], 0, 0, 1}, {x[1], 0, 1, 2}};
        assert_ok(ctx, ferry_i_nmtf_new(ctx, 2, 1, 0, 1, 2, place, &n));
    }
    assert_ok(ctx, ferry_i_nmtf_know(ctx, n, 0, ys));
    memcpy(n->domain[1].g->data, gi, sizeof gi);
    memcpy(n->group[0].f1->data, f1, sizeof f1);
    memcpy(n->group[0].a1->data, a1, sizeof a1);
    for (int v = 0; v < 2; v++) {
        memcpy(n->view[v].f2->data, f2[v], sizeof f2[v]);
        memcpy(n->view[v].a2->data, a2[v], sizeof a2[v]);
    }
    assert_ok(ctx, ferry_i_nmtf_objective(ctx, n, o.loss, &objective));
    assert_close(objective, 3.05952, 1e-14);
    step(ctx, n, &o);
    step(ctx, n, &o);
    assert_ok(ctx, ferry_i_nmtf_objective(ctx, n, o.loss, &objective));
    assert_close(objective, 2.516369984191072, 1e-13);
    assert_close(n->group[0].f1->data[0], 0.3898729458082568, 1e-13);
    assert_close(n->group[0].a1->data[1], 0.7515535174966975, 1e-13);
    assert_close(n->view[0].f2->data[0], 0.17150965563432571, 1e-13);
    assert_close(n->view[1].a2->data[0], 0.6486894812311951, 1e-13);
    assert_close(n->domain[1].g->data[3], 0.6828698699160586, 1e-13);
    ferry_i_nmtf_free(n);
    ferry_i_matrix_free(x[0]);
    ferry_i_matrix_free(x[1]);
}

/* ---- a problem made here ---- */

typedef struct shape {
    int64_t c, p1, pa, p2;
    bool sparse, weighted;
    uint64_t seed;
} shape;

/* S, I (two matrices: 7 and 9 features), T; a few labels known in I and T; an instance
 * without features in each. */
static ferry_status problem(ferry_ctx *ctx, const shape *s, ferry_nmtf **out)
{
    ferry_status st = FERRY_OK;
    const int64_t rows[] = {10, 12, 12, 8}, cols[] = {7, 7, 9, 9}, domain[] = {0, 1, 1, 2};
    ferry_matrix *x[4] = {NULL};
    ferry_nmtf_place place[4];
    ferry_rng rng;
    int32_t known[12];

    ferry_i_rng_seed(&rng, s->seed, 0);
    *out = NULL;
    for (int v = 0; v < 4; v++) {
        int64_t nnz = 0;
        if (s->sparse)
            FERRY_TRY(ferry_i_matrix_csr(ctx, rows[v], cols[v], rows[v] * cols[v], &x[v]));
        else
            FERRY_TRY(ferry_i_matrix_dense(ctx, rows[v], cols[v], &x[v]));
        for (int64_t i = 0; i < rows[v]; i++) {
            for (int64_t j = 0; j < cols[v]; j++) {
                const double value =
                    ferry_i_rng_real(&rng) < 0.4 || i == 5 ? 0 : ferry_i_rng_real(&rng);
                if (!s->sparse)
                    x[v]->dense[i * cols[v] + j] = value;
                else if (value > 0) {
                    x[v]->index[nnz] = (int32_t)j;
                    x[v]->value[nnz++] = value;
                }
            }
            if (s->sparse) x[v]->start[i + 1] = nnz;
        }
        if (s->sparse) x[v]->nnz = nnz;
        place[v] =
            (ferry_nmtf_place){x[v], v / 2, domain[v], s->weighted ? 1 + 0.5 * v : 1};
    }
    FERRY_TRY(ferry_i_nmtf_new(ctx, s->c, s->p1, s->pa, s->p2, 4, place, out));
    for (int64_t d = 0; d < 3; d++) {
        for (int64_t i = 0; i < (*out)->domain[d].n; i++)
            known[i] = d == 0 || i < 2 ? (int32_t)(i % s->c) : -1;
        FERRY_TRY(ferry_i_nmtf_know(ctx, *out, d, known));
    }
    FERRY_TRY(ferry_i_nmtf_random(ctx, *out, &rng, NULL));
    for (int64_t d = 1; d < 3; d++) {
        ferry_block start = {(*out)->domain[d].n, s->c, (*out)->domain[d].above->data};
        ferry_i_fill_uniform(&start, &rng, 0, 1);
        ferry_i_nmtf_start(*out, d, &start, 0.02);
    }
done:
    for (int v = 0; v < 4; v++)
        ferry_i_matrix_free(x[v]);
    return st;
}

static void same_blocks(const ferry_block *a, const ferry_block *b)
{
    for (int64_t e = 0; e < a->rows * a->k; e++)
        assert_close(a->data[e], b->data[e], 1e-11);
}

static void same_smalls(const ferry_small *a, const ferry_small *b)
{
    for (int64_t e = 0; e < a->rows * a->cols; e++)
        assert_close(a->data[e], b->data[e], 1e-11);
}

static void same_factors(const ferry_nmtf *a, const ferry_nmtf *b)
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
static void test_plain(void **state)
{
    ferry_ctx *ctx = *state;
    static const int64_t sizes[][4] = {{2, 3, 0, 2}, {3, 2, 3, 1}, {2, 0, 2, 0},
                                       {4, 4, 0, 0}, {2, 0, 0, 3}, {3, 1, 2, 4}};

    for (int t = 0; t < 6 * 2 * 2 * 4 * 2; t++) {
        const int64_t *z = sizes[t % 6];
        const shape s = {
            z[0], z[1], z[2], z[3], t / 6 % 2 == 0, t % 3 == 0, 40 + (uint64_t)t};
        const ferry_nmtf_options o = {
            .loss = (ferry_nmtf_loss)(t / 12 % 2),
            .norm = (ferry_nmtf_norm)(t / 24 % 4),
            .exponent = t / 96 ? 1 : 0.5,
        };
        ferry_nmtf *a = NULL, *b = NULL;
        double fast, plain;
        if (o.loss == FERRY_NMTF_KL && o.norm == FERRY_NMTF_SIMPLEX) continue;
        assert_ok(ctx, problem(ctx, &s, &a));
        assert_ok(ctx, problem(ctx, &s, &b));
        for (int it = 0; it < 3; it++) {
            assert_ok(ctx, ferry_i_nmtf_objective(ctx, a, o.loss, &fast));
            assert_ok(ctx, oracle_nmtf_objective(ctx, b, o.loss, &plain));
            assert_close(fast, plain, 1e-11);
            step(ctx, a, &o);
            assert_ok(ctx, oracle_nmtf_step(ctx, b, &o));
            same_factors(a, b);
        }
        ferry_i_nmtf_free(a);
        ferry_i_nmtf_free(b);
    }
}

/* Columns of F that wait for the next step to be divided by their sums: the same, on every
 * instruction set that the CPU has. */
static void test_late(void **state)
{
    ferry_ctx *ctx = *state;

    for (int t = 0; t < 96; t++) {
        const shape s = {2 + t % 3, 3,          t % 2 ? 2 : 0,    2,
                         t % 4 < 2, t % 3 == 0, 200 + (uint64_t)t};
        const int best = ctx->isa, isa = t / 24;
        const ferry_nmtf_options o = {.norm = (ferry_nmtf_norm)(t % 4),
                                      .exponent = t / 12 % 2 ? 1 : 0.5};
        ferry_nmtf *a = NULL, *b = NULL;
        double fast, plain;
        if (isa < FERRY_ISAS && !ferry_i_isa_runs((ferry_isa)isa)) continue;
        ctx->isa = isa < FERRY_ISAS ? isa : best;
        if (isa == FERRY_ISAS) assert_ok(ctx, ferry_i_ctx_set_engine(ctx, "ref"));
        assert_ok(ctx, problem(ctx, &s, &a));
        assert_ok(ctx, problem(ctx, &s, &b));
        for (int it = 0; it < 4; it++) {
            assert_ok(ctx, oracle_nmtf_objective(ctx, b, o.loss, &plain));
            assert_ok(ctx, ferry_i_nmtf_factors(ctx, a, &o, &fast));
            assert_close(fast, plain, 1e-11);
            assert_ok(ctx, ferry_i_nmtf_members(ctx, a, &o));
            ferry_i_nmtf_normalise_late(ctx, a, &o);
            assert_ok(ctx, oracle_nmtf_step(ctx, b, &o));
        }
        ferry_i_nmtf_catch_up(ctx, a);
        same_factors(a, b);
        ferry_i_nmtf_free(a);
        ferry_i_nmtf_free(b);
        ctx->isa = best;
        assert_ok(ctx, ferry_i_ctx_set_engine(ctx, "host"));
    }
}

/* No part of a step raises the objective before normalisation. */
static void test_never_rises(void **state)
{
    ferry_ctx *ctx = *state;

    for (int t = 0; t < 48; t++) {
        const shape s = {2 + t % 3, 3,          t % 2 ? 2 : 0,    2,
                         t % 4 < 2, t % 3 == 0, 100 + (uint64_t)t};
        const ferry_nmtf_options o = {.loss = (ferry_nmtf_loss)(t / 4 % 2),
                                      .norm = (ferry_nmtf_norm)(t / 8 % 4),
                                      .exponent = t / 12 % 2 ? 1 : 0.5};
        ferry_nmtf *n = NULL;
        double before, between, after;
        if (o.loss == FERRY_NMTF_KL && o.norm == FERRY_NMTF_SIMPLEX) continue;
        assert_ok(ctx, problem(ctx, &s, &n));
        for (int it = 0; it < 30; it++) {
            assert_ok(ctx, ferry_i_nmtf_factors(ctx, n, &o, &before));
            assert_ok(ctx, ferry_i_nmtf_objective(ctx, n, o.loss, &between));
            assert_true(between <= before * (1 + 1e-12));
            assert_ok(ctx, ferry_i_nmtf_members(ctx, n, &o));
            assert_ok(ctx, ferry_i_nmtf_objective(ctx, n, o.loss, &after));
            assert_true(after <= between * (1 + 1e-12));
            ferry_i_nmtf_normalise(ctx, n, &o);
        }
        ferry_i_nmtf_free(n);
    }
}

/* The empty instance has no opinion, known rows stay, rows and columns sum to 1. */
static void test_edges(void **state)
{
    ferry_ctx *ctx = *state;
    const shape s = {3, 2, 0, 2, true, false, 7};
    const ferry_nmtf_options o = {.exponent = 0.5, .iterations = 20};
    ferry_nmtf_found found;
    ferry_nmtf *n = NULL;
    double sum = 0;

    assert_ok(ctx, problem(ctx, &s, &n));
    assert_ok(ctx, ferry_i_nmtf_run(ctx, n, &o, "ttl", &found));
    assert_int_equal(found.iterations, 20);
    assert_false(found.converged);
    assert_int_equal(n->empty, 2);
    for (int64_t k = 0; k < 3; k++) {
        assert_close(FERRY_ROW(n->domain[2].g, 5)[k], 1.0 / 3, 1e-15);
        assert_close(FERRY_ROW(n->domain[2].g, 1)[k], k == 1, 0);
    }
    for (int64_t j = 0; j < 7; j++)
        sum += FERRY_ROW(n->group[0].f1, j)[0];
    assert_close(sum, 1, 1e-12);
    ferry_i_nmtf_free(n);
}

static ferry_answer finish_at_3(void *user, const ferry_progress *p)
{
    (void)user;
    return p->done == 3 ? FERRY_FINISH : FERRY_GO;
}

static void test_stops(void **state)
{
    ferry_ctx *ctx = *state;
    const shape s = {2, 2, 0, 2, true, false, 9};
    ferry_nmtf_options o = {.exponent = 1, .iterations = 5000, .tol = 1e-6};
    ferry_nmtf_found found;
    double before, falls;
    ferry_nmtf *n = NULL;

    assert_ok(ctx, problem(ctx, &s, &n));
    assert_ok(ctx, ferry_i_nmtf_run(ctx, n, &o, "ttl", &found));
    assert_true(found.converged && found.iterations < 5000);
    o.tol = 0;
    o.iterations = 0;
    o.warm = 4; /* F and A alone: the labels stay as they are */
    before = FERRY_ROW(n->domain[2].g, 4)[0];
    falls = found.objective;
    assert_ok(ctx, ferry_i_nmtf_run(ctx, n, &o, "ttl", &found));
    assert_int_equal(found.iterations, 4);
    assert_close(FERRY_ROW(n->domain[2].g, 4)[0], before, 1e-15);
    assert_true(found.objective < falls * (1 + 1e-9));
    o.iterations = 5000;
    ferry_ctx_set_progress(ctx, finish_at_3, NULL);
    assert_ok(ctx, ferry_i_nmtf_run(ctx, n, &o, "ttl", &found));
    assert_true(found.finish && found.iterations == 3);
    ferry_ctx_set_progress(ctx, cancel_at_once, NULL);
    assert_fails(ctx, ferry_i_nmtf_run(ctx, n, &o, "ttl", &found), FERRY_ECANCELLED, "");
    ferry_i_nmtf_free(n);
}

static void test_bad_shapes(void **state)
{
    ferry_ctx *ctx = *state;
    ferry_matrix *x[3] = {NULL};
    ferry_nmtf *n = NULL;

    assert_ok(ctx, ferry_i_matrix_dense(ctx, 3, 4, &x[0]));
    assert_ok(ctx, ferry_i_matrix_dense(ctx, 3, 5, &x[1]));
    assert_ok(ctx, ferry_i_matrix_dense(ctx, 2, 4, &x[2]));
    {
        const ferry_nmtf_place wide[] = {{x[0], 0, 0, 1}, {x[1], 0, 1, 1}};
        const ferry_nmtf_place tall[] = {{x[0], 0, 0, 1}, {x[2], 0, 0, 1}};
        const ferry_nmtf_place one[] = {{x[0], 0, 0, 1}};
        assert_fails(ctx, ferry_i_nmtf_new(ctx, 2, 1, 0, 1, 2, wide, &n), FERRY_EINVAL,
                     "one group have 4 and 5 features");
        assert_fails(ctx, ferry_i_nmtf_new(ctx, 2, 1, 0, 1, 2, tall, &n), FERRY_EINVAL,
                     "one domain have 3 and 2 instances");
        x[0]->dense[3] = -1;
        assert_fails(ctx, ferry_i_nmtf_new(ctx, 2, 1, 0, 1, 1, one, &n), FERRY_EDATA,
                     "features of 0 or more");
        x[0]->dense[3] = 1e200;
        assert_ok(ctx, ferry_i_nmtf_new(ctx, 2, 1, 0, 1, 1, one, &n));
    }
    {
        const ferry_nmtf_options o = {.exponent = 1, .iterations = 2};
        ferry_nmtf_found found;
        ferry_rng rng;
        ferry_i_rng_seed(&rng, 1, 1);
        assert_ok(ctx, ferry_i_nmtf_random(ctx, n, &rng, NULL));
        assert_fails(ctx, ferry_i_nmtf_run(ctx, n, &o, "ttl", &found), FERRY_ENUMERIC,
                     "ttl: the factors grew");
    }
    ferry_i_nmtf_free(n);
    for (int i = 0; i < 3; i++)
        ferry_i_matrix_free(x[i]);
}

static ferry_status short_run(ferry_ctx *ctx, void *arg)
{
    ferry_status st = FERRY_OK;
    const ferry_nmtf_options o = {
        .loss = *(ferry_nmtf_loss *)arg, .exponent = 1, .iterations = 1};
    const shape s = {3, 2, 2, 2, true, false, 3};
    ferry_nmtf_found found;
    ferry_nmtf *n = NULL;
    double objective;

    FERRY_TRY(problem(ctx, &s, &n));
    FERRY_TRY(ferry_i_nmtf_run(ctx, n, &o, "ttl", &found));
    FERRY_TRY(oracle_nmtf_step(ctx, n, &o));
    FERRY_TRY(oracle_nmtf_objective(ctx, n, o.loss, &objective));
done:
    ferry_i_nmtf_free(n);
    return st;
}

static void test_allocations(void **state)
{
    ferry_nmtf_loss loss = FERRY_NMTF_SQUARED;

    each_allocation_fails(*state, short_run, &loss);
    loss = FERRY_NMTF_KL;
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
