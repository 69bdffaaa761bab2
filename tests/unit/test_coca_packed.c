/* CoCA's product with one vector, packed, against H written out by hand. */
#include <math.h>

#include "ferry_test.h"
#include "linalg/host/isa.h"
#include "methods/coca/coca.h"

enum { MOST = 4 };

/* A problem of sparse views and graphs over m instances, and how it is varied. */
typedef struct setting {
    int64_t m, p, q;
    int64_t cols;   /* of every view */
    bool counts;    /* values that differ within a column */
    bool weighted;  /* edges too */
    bool sym, lack; /* graphs normalised; the first view lacks some instances */
    bool factors;   /* f_j other than 1 */
} setting;

typedef struct fixture {
    embed_view *x[MOST];
    ferry_matrix *g[MOST], *w;
    double f[MOST], a[MOST], wt[MOST];
    coca_problem c;
} fixture;

static ferry_matrix *make_sparse(ferry_ctx *ctx, int64_t rows, int64_t cols, bool counts,
                                 ferry_rng *rng)
{
    ferry_matrix *x = NULL;
    int64_t n = 0;

    assert_ok(ctx, ferry_i_matrix_csr(ctx, rows, cols, rows * 8, &x));
    for (int64_t i = 0; i < rows; i++) {
        int64_t j = (int64_t)ferry_i_rng_below(rng, (uint64_t)(cols / 3 + 1));
        for (int e = 0; e < 8 && j < cols; e++) {
            x->index[n] = (int32_t)j;
            x->value[n++] = counts ? 1 + (double)ferry_i_rng_below(rng, 3) : 1;
            j += 1 + (int64_t)ferry_i_rng_below(rng, (uint64_t)(cols / 5 + 1));
        }
        x->start[i + 1] = n;
    }
    x->nnz = n;
    return x;
}

static ferry_matrix *make_graph(ferry_ctx *ctx, int64_t m, bool weighted, ferry_rng *rng)
{
    ferry_matrix *a = NULL;
    double *full = calloc((size_t)(m * m), sizeof *full);
    int64_t n = 0;

    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < i; j++)
            if (ferry_i_rng_below(rng, 4) == 0 && i != 2)
                full[i * m + j] = full[j * m + i] =
                    weighted ? 1 + (double)ferry_i_rng_below(rng, 3) : 2;
    assert_ok(ctx, ferry_i_matrix_csr(ctx, m, m, m * m, &a));
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < m; j++)
            if (full[i * m + j] != 0) {
                a->index[n] = (int32_t)j;
                a->value[n++] = full[i * m + j];
            }
        a->start[i + 1] = n;
    }
    a->nnz = n;
    free(full);
    return a;
}

static fixture make(ferry_ctx *ctx, setting s)
{
    fixture z = {.c = {.m = s.m, .p = s.p, .b = 0.7, .sym = s.sym, .q = s.q}};
    int64_t *rows = calloc((size_t)s.m, sizeof *rows);
    uint8_t *there = calloc((size_t)s.m, 1);
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 3, 1);
    for (int64_t i = 0; i < s.m; i++) {
        there[i] = !(s.lack && i % 5 == 1);
        rows[i] = there[i] ? i : -1;
    }
    for (int64_t j = 0; j < s.p; j++) {
        ferry_matrix *raw = make_sparse(ctx, s.m, s.cols, s.counts, &rng), *x = NULL;
        for (int64_t e = 0; e < raw->nnz; e++) /* columns of different scales */
            raw->value[e] *= 0.5 + (double)(raw->index[e] % 3);
        if (j == 0)
            assert_ok(ctx, ferry_i_matrix_take(ctx, raw, s.m, rows, s.cols, NULL, &x));
        assert_ok(ctx, ferry_i_embed_view_new(ctx, x ? x : ferry_i_matrix_ref(raw),
                                              j == 0 && s.lack ? there : NULL, BALANCE_FROB,
                                              &z.x[j]));
        ferry_i_matrix_free(raw);
        z.f[j] = 1 + 0.3 * (double)j;
        z.a[j] = 0.5 + 0.1 * (double)j;
    }
    for (int64_t t = 0; t < s.q; t++) {
        z.g[t] = make_graph(ctx, s.m, s.weighted, &rng);
        z.wt[t] = 0.4 + (double)t;
    }
    if (s.q > 0)
        assert_ok(ctx, ferry_i_coca_graphs(ctx, s.q, (const ferry_matrix *const *)z.g, z.wt,
                                           s.sym, &z.w));
    free(rows);
    free(there);
    return z;
}

/* Pointers into the fixture, once it has its place. */
static const coca_problem *problem(fixture *z, setting s)
{
    z->c.x = z->x;
    z->c.a = z->a;
    z->c.f = s.factors ? z->f : NULL;
    z->c.w = z->w;
    z->c.graph = (const ferry_matrix *const *)z->g;
    z->c.wt = z->wt;
    return &z->c;
}

static void clear(fixture *z)
{
    for (int64_t j = 0; j < MOST; j++) {
        ferry_i_embed_view_free(z->x[j]);
        ferry_i_matrix_free(z->g[j]);
    }
    ferry_i_matrix_free(z->w);
}

/* t (m) <- f_j X_j u; y += f_j X_j'r: the definitions. */
static void plain_mul(const embed_view *v, double f, const double *u, double *t)
{
    double shift = 0;

    for (int64_t j = 0; j < v->cols; j++)
        shift += v->c.shift[j] * u[j];
    for (int64_t i = 0; i < v->c.x->rows; i++) {
        t[i] = -f * (v->c.present ? v->c.present[i] : 1) * shift;
        for (int64_t e = v->c.x->start[i]; e < v->c.x->start[i + 1]; e++)
            t[i] += f * v->c.x->value[e] * u[v->c.x->index[e]];
    }
}

static void plain_tmul(const embed_view *v, double f, const double *r, double *y)
{
    for (int64_t i = 0; i < v->c.x->rows; i++) {
        for (int64_t e = v->c.x->start[i]; e < v->c.x->start[i + 1]; e++)
            y[v->c.x->index[e]] += f * v->c.x->value[e] * r[i];
        for (int64_t j = 0; j < v->cols; j++)
            y[j] -= f * (v->c.present ? v->c.present[i] : 1) * v->c.shift[j] * r[i];
    }
}

/* y <- H u; returns its length. */
static double plain_product(const coca_problem *c, const double *u, double *y)
{
    const int64_t m = c->m;
    double *t = calloc((size_t)(m * MOST), sizeof *t), *s = calloc((size_t)m, sizeof *s),
           *r = calloc((size_t)m, sizeof *r), sum = 0;

    for (int64_t j = 0, at = 0; j < c->p; at += c->x[j++]->cols) {
        plain_mul(c->x[j], c->f ? c->f[j] : 1, u + at, t + j * m);
        for (int64_t i = 0; i < m; i++)
            s[i] += t[j * m + i];
    }
    for (int64_t j = 0, at = 0; j < c->p; at += c->x[j++]->cols) {
        for (int64_t i = 0; i < m; i++) {
            r[i] = (c->a[j] - c->b) * t[j * m + i] + c->b * s[i];
            for (int64_t e = c->w ? c->w->start[i] : 0; c->w && e < c->w->start[i + 1]; e++)
                r[i] += c->w->value[e] * t[j * m + c->w->index[e]];
        }
        plain_tmul(c->x[j], c->f ? c->f[j] : 1, r, y + at);
    }
    for (int64_t i = 0; i < ferry_i_coca_size(c); i++)
        sum += y[i] * y[i];
    free(t);
    free(s);
    free(r);
    return sqrt(sum);
}

static void compare(ferry_ctx *ctx, setting s)
{
    fixture z = make(ctx, s);
    const coca_problem *c = problem(&z, s);
    const int64_t size = ferry_i_coca_size(c);
    double *u = calloc((size_t)size, sizeof *u), *want = calloc((size_t)size, sizeof *u),
           *y = calloc((size_t)size, sizeof *u), *again = calloc((size_t)size, sizeof *u);
    ferry_consensus *packed = NULL;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 4, 1);
    for (int64_t i = 0; i < size; i++)
        u[i] = ferry_i_rng_normal(&rng);
    const double length = plain_product(c, u, want);
    assert_ok(ctx, ferry_i_coca_pack(ctx, c, &packed));
    assert_non_null(packed);
    ferry_e(ctx)->consensus_mul(ctx, packed, u, y);
    for (int64_t i = 0; i < size; i++)
        assert_true(fabs(y[i] - want[i]) <= 1e-13 * (1 + length));
    assert_ok(ctx, ferry_ctx_set_threads(ctx, 3)); /* the same bits from any number */
    ferry_e(ctx)->consensus_mul(ctx, packed, u, again);
    assert_memory_equal(y, again, (size_t)size * sizeof *y);
    assert_ok(ctx, ferry_ctx_set_threads(ctx, 1));
    const int best = ctx->isa;
    for (int isa = 0; isa <= FERRY_ISAS; isa++) { /* every instruction set, and ref */
        if (isa < FERRY_ISAS && !ferry_i_isa_runs((ferry_isa)isa)) continue;
        ctx->isa = isa < FERRY_ISAS ? isa : best;
        assert_ok(ctx, ferry_ctx_set_engine(ctx, isa < FERRY_ISAS ? "host" : "ref"));
        ferry_e(ctx)->consensus_mul(ctx, packed, u, again);
        for (int64_t i = 0; i < size; i++)
            assert_true(fabs(again[i] - want[i]) <= 1e-13 * (1 + length));
    }
    assert_ok(ctx, ferry_ctx_set_engine(ctx, "host"));
    ferry_i_coca_packed_free(packed);
    free(u);
    free(want);
    free(y);
    free(again);
    clear(&z);
}

static void test_products(void **state)
{
    ferry_ctx *ctx = *state;

    compare(ctx, (setting){.m = 1, .p = 1, .cols = 3});
    compare(ctx, (setting){.m = 30, .p = 3, .cols = 20});
    compare(ctx, (setting){.m = 30, .p = 3, .cols = 20, .counts = true, .factors = true});
    compare(ctx, (setting){.m = 40, .p = 2, .q = 1, .cols = 20, .lack = true});
    compare(ctx, (setting){.m = 40, .p = 4, .q = 2, .cols = 25, .sym = true});
    compare(ctx, (setting){.m = 40,
                           .p = 2,
                           .q = 2,
                           .cols = 25,
                           .sym = true,
                           .counts = true,
                           .lack = true,
                           .factors = true});
    compare(ctx, (setting){.m = 40, .p = 2, .q = 2, .cols = 25, .weighted = true});
    compare(ctx,
            (setting){.m = 1300, .p = 2, .q = 1, .cols = 50, .sym = true, .lack = true});
    /* columns beyond 16 bits, with and without values */
    compare(ctx, (setting){.m = 20, .p = 2, .cols = 70000});
    compare(ctx, (setting){.m = 20, .p = 2, .cols = 70000, .counts = true});
}

/* Instances beyond 16 bits: a ring. */
static void test_many_instances(void **state)
{
    enum { M = 70000 };
    ferry_ctx *ctx = *state;

    for (int weighted = 0; weighted < 2; weighted++) {
        setting s = {.m = M, .p = 1, .cols = 40};
        fixture z = make(ctx, s);
        double *u = calloc(40, sizeof *u), *want = calloc(40, sizeof *u),
               *y = calloc(40, sizeof *u);
        ferry_consensus *packed = NULL;
        assert_ok(ctx, ferry_i_matrix_csr(ctx, M, M, 2 * M, &z.g[0]));
        for (int64_t i = 0; i < M; i++) {
            const int64_t a = (i + 1) % M, b = (i + M - 1) % M;
            z.g[0]->index[2 * i] = (int32_t)(a < b ? a : b);
            z.g[0]->index[2 * i + 1] = (int32_t)(a < b ? b : a);
            z.g[0]->value[2 * i] = weighted && z.g[0]->index[2 * i] % 2 ? 3 : 1;
            z.g[0]->value[2 * i + 1] = 1;
            z.g[0]->start[i + 1] = 2 * (i + 1);
        }
        z.wt[0] = 0.3;
        assert_ok(ctx, ferry_i_coca_graphs(ctx, 1, (const ferry_matrix *const *)z.g, z.wt,
                                           false, &z.w));
        z.c.q = 1;
        for (int64_t i = 0; i < 40; i++)
            u[i] = sin((double)i);
        const double length = plain_product(problem(&z, s), u, want);
        assert_ok(ctx, ferry_i_coca_pack(ctx, &z.c, &packed));
        ferry_e(ctx)->consensus_mul(ctx, packed, u, y);
        for (int64_t i = 0; i < 40; i++)
            assert_true(fabs(y[i] - want[i]) <= 1e-11 * length);
        ferry_i_coca_packed_free(packed);
        free(u);
        free(want);
        free(y);
        clear(&z);
    }
}

/* A dense view, and negative weights of graphs, are for the other way. */
static void test_not_packed(void **state)
{
    ferry_ctx *ctx = *state;
    setting s = {.m = 30, .p = 2, .q = 1, .cols = 10};
    fixture z = make(ctx, s);
    const coca_problem *c = problem(&z, s);
    ferry_consensus *packed = NULL;
    ferry_matrix *dense = NULL, *sparse = z.x[1]->c.x;

    z.wt[0] = -1;
    assert_ok(ctx, ferry_i_coca_pack(ctx, c, &packed));
    assert_null(packed);
    z.wt[0] = 1;
    assert_ok(ctx, ferry_i_matrix_densify(ctx, sparse, &dense));
    z.x[1]->c.x = dense;
    assert_ok(ctx, ferry_i_coca_pack(ctx, c, &packed));
    assert_null(packed);
    z.x[1]->c.x = sparse;
    z.c.p = 9;
    assert_ok(ctx, ferry_i_coca_pack(ctx, c, &packed));
    assert_null(packed);
    ferry_i_matrix_free(dense);
    clear(&z);
}

static ferry_status pack_once(ferry_ctx *ctx, void *arg)
{
    ferry_consensus *packed = NULL;
    const ferry_status st = ferry_i_coca_pack(ctx, arg, &packed);

    ferry_i_coca_packed_free(packed);
    return st;
}

static void test_no_memory(void **state)
{
    ferry_ctx *ctx = *state;
    setting s = {.m = 30, .p = 2, .q = 2, .cols = 10, .counts = true};
    fixture z = make(ctx, s);

    problem(&z, s);
    each_allocation_fails(ctx, pack_once, &z.c);
    clear(&z);
}

#define T(name) cmocka_unit_test_setup_teardown(name, ctx_setup, ctx_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_products),
        T(test_many_instances),
        T(test_not_packed),
        T(test_no_memory),
    };
    return cmocka_run_group_tests_name("coca packed", tests, NULL, NULL);
}
