/* latentmap: one latent space for two domains with few features in common (after Xie, Fan,
 * Peng, Fan and Ren, Latent Space Domain Transfer between High Dimensional Overlapping
 * Distributions, WWW 2009; rebuilt from its idea, not from its code).
 *
 * A teaches B. Features that only one of them has are filled in for the other by ridge
 * regression on the shared ones (A0, B0: shared columns; A1, B1: own ones),
 *
 *   Z_A = A + M_A B1,  M_A = A0 B0' (B0 B0' + lambda I)^-1,      Z_B = B + M_B A1 likewise,
 *
 * the filled rows [Z_A; Z_B] = U S V' are mapped to Z V, r columns, and a logistic
 * regression on the mapped rows of A labels those of B. All of it is linear, so what is
 * kept are weights on the features of B:
 *
 *   w = V beta + A0' (A0 A0' + lambda I)^-1 A1 V beta,   V beta = Z' U S^-1 beta.
 *
 * path st: the sources teach the target. path sit: they teach the first intermediate
 * domain, whose labels then teach the next, until the target. */
#include <math.h>
#include <string.h>

#include "methods/shared/linear_state.h"

enum { SIT, ST, MOST = 8000 };

typedef struct latentmap_options {
    int path, scale, leaks, bridge_labels;
    int64_t rank;
    double lambda, C;
} latentmap_options;

static const ferry_opt latentmap_opts[] = {
    FERRY_OPT_ONE_OF(latentmap_options, path, "sit|st", "sit",
                     "by way of the intermediate domains, or straight to the target"),
    FERRY_OPT(latentmap_options, INT, rank, 50, 1, 10000, "columns of the latent space"),
    FERRY_OPT(latentmap_options, REAL, lambda, 1, 1e-9, 1e9,
              "ridge of the regression that fills in features"),
    TTL_OPT_COST(latentmap_options),
    FERRY_OPT_SCALE(latentmap_options),
    TTL_OPT_LEAKS(latentmap_options),
    TTL_OPT_LABELS(latentmap_options),
};

/* Two domains on their way into one space. Rows of A come first. */
typedef struct pair {
    int64_t na, nb, cols, r;
    ferry_matrix *x[2];                  /* A, B */
    ferry_matrix *own[2];                /* A1, B1, on all columns */
    ferry_matrix *shared;                /* A0 on top of B0, on all columns */
    ferry_small *m[2];                   /* M_A' (nb x na), M_B' (na x nb) */
    ferry_small *chol;                   /* of A0 A0' + lambda I */
    ferry_block *u;                      /* (na + nb) x r */
    double *s2;                          /* r: squared singular values */
    ferry_block *half[2], *other[2], *z; /* work of the operator */
} pair;

static void pair_clear(pair *p)
{
    for (int i = 0; i < 2; i++) {
        ferry_i_matrix_free(p->x[i]);
        ferry_i_matrix_free(p->own[i]);
        FERRY_FREE(p->m[i], p->half[i], p->other[i]);
    }
    ferry_i_matrix_free(p->shared);
    FERRY_FREE(p->chol, p->u, p->z, p->s2);
}

/* x with only the columns where keep says `which`, all columns numbered as before. */
static ferry_status only(ferry_ctx *ctx, const ferry_matrix *x, const uint8_t *keep,
                         bool which, ferry_matrix **out)
{
    int64_t nnz = 0;

    for (int64_t e = 0; e < x->nnz; e++)
        nnz += (keep[x->index[e]] != 0) == which;
    FERRY_PASS(ferry_i_matrix_csr(ctx, x->rows, x->cols, nnz, out));
    nnz = 0;
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            if ((keep[x->index[e]] != 0) != which) continue;
            (*out)->index[nnz] = x->index[e];
            (*out)->value[nnz++] = x->value[e];
        }
        (*out)->start[i + 1] = nnz;
    }
    return FERRY_OK;
}

/* (K_ii + lambda I)^-1 K_ij: what rows of i say about each row of j. */
static ferry_status regress(ferry_ctx *ctx, const ferry_small *k, int64_t i0, int64_t ni,
                            int64_t j0, int64_t nj, double lambda, ferry_small **chol,
                            ferry_small **m)
{
    FERRY_PASS(ferry_i_small_new(ctx, ni, ni, chol));
    FERRY_PASS(ferry_i_small_new(ctx, ni, nj, m));
    for (int64_t b = 0; b < ni; b++)
        for (int64_t a = 0; a < ni; a++)
            FERRY_AT(*chol, a, b) = FERRY_AT(k, i0 + a, i0 + b) + (a == b ? lambda : 0);
    for (int64_t b = 0; b < nj; b++)
        for (int64_t a = 0; a < ni; a++)
            FERRY_AT(*m, a, b) = FERRY_AT(k, i0 + a, j0 + b);
    FERRY_PASS(ferry_e(ctx)->chol(ctx, *chol));
    ferry_e(ctx)->chol_solve(ctx, *chol, *m);
    return FERRY_OK;
}

static ferry_status fill_in(ferry_ctx *ctx, double lambda, pair *p)
{
    ferry_status st = FERRY_OK;
    ferry_small *k = NULL, *chol_b = NULL;

    FERRY_TRY(ferry_i_small_new(ctx, p->na + p->nb, p->na + p->nb, &k));
    ferry_e(ctx)->xxt(ctx, p->shared, k);
    FERRY_TRY(regress(ctx, k, p->na, p->nb, 0, p->na, lambda, &chol_b, &p->m[0]));
    FERRY_TRY(regress(ctx, k, 0, p->na, p->na, p->nb, lambda, &p->chol, &p->m[1]));
done:
    FERRY_FREE(k, chol_b);
    return st;
}

/* y (rows of both) cut into those of A and of B. */
static void cut(const pair *p, const ferry_block *y, ferry_block *a, ferry_block *b)
{
    memcpy(a->data, y->data, (size_t)(p->na * y->k) * sizeof(double));
    memcpy(b->data, y->data + p->na * y->k, (size_t)(p->nb * y->k) * sizeof(double));
}

/* to <- M' from, or (turned) M from; m is n_from x n_to. A block is k x rows to LAPACK. */
static void spread(ferry_ctx *ctx, const ferry_small *m, bool turned,
                   const ferry_block *from, double beta, ferry_block *to)
{
    const ferry_small f = {from->k, from->rows, from->data};
    ferry_small t = {to->k, to->rows, to->data};

    ferry_e(ctx)->gemm(ctx, false, turned, 1, &f, m, beta, &t);
}

/* z <- Z' y: A'y_A + B1' M_A' y_A + B'y_B + A1' M_B' y_B. */
static ferry_status times_z(ferry_ctx *ctx, pair *p, const ferry_block *y, ferry_block *z)
{
    cut(p, y, p->half[0], p->half[1]);
    for (int i = 0; i < 2; i++) {
        ferry_block *to = p->other[1 - i]; /* M_A' y_A are rows of B, M_B' y_B of A */
        spread(ctx, p->m[i], true, p->half[i], 0, to);
    }
    FERRY_PASS(ferry_e(ctx)->tmul(ctx, 1, p->x[0], p->half[0], 0, z));
    FERRY_PASS(ferry_e(ctx)->tmul(ctx, 1, p->x[1], p->half[1], 1, z));
    FERRY_PASS(ferry_e(ctx)->tmul(ctx, 1, p->own[1], p->other[1], 1, z));
    return ferry_e(ctx)->tmul(ctx, 1, p->own[0], p->other[0], 1, z);
}

/* y <- Z z. */
static void z_times(ferry_ctx *ctx, pair *p, const ferry_block *z, ferry_block *y)
{
    ferry_e(ctx)->mul(ctx, 1, p->x[0], z, 0, p->half[0]);
    ferry_e(ctx)->mul(ctx, 1, p->x[1], z, 0, p->half[1]);
    for (int i = 0; i < 2; i++) {
        ferry_block *from = p->other[1 - i];
        ferry_e(ctx)->mul(ctx, 1, p->own[1 - i], z, 0, from);
        spread(ctx, p->m[i], false, from, 1, p->half[i]);
    }
    memcpy(y->data, p->half[0]->data, (size_t)(p->na * y->k) * sizeof(double));
    memcpy(y->data + p->na * y->k, p->half[1]->data,
           (size_t)(p->nb * y->k) * sizeof(double));
}

static ferry_status room(ferry_ctx *ctx, int64_t k, pair *p)
{
    for (int i = 0; i < 2; i++) {
        FERRY_FREE(p->half[i], p->other[i]);
        p->half[i] = p->other[i] = NULL;
        FERRY_PASS(ferry_i_block_new(ctx, i ? p->nb : p->na, k, &p->half[i]));
        FERRY_PASS(ferry_i_block_new(ctx, i ? p->nb : p->na, k, &p->other[i]));
    }
    ferry_i_free(p->z);
    p->z = NULL;
    return ferry_i_block_new(ctx, p->cols, k, &p->z);
}

/* y <- Z Z' x. */
static ferry_status gram(ferry_ctx *ctx, void *arg, const ferry_block *x, ferry_block *y)
{
    pair *p = arg;

    if (!p->z || p->z->k != x->k) FERRY_PASS(room(ctx, x->k, p));
    FERRY_PASS(times_z(ctx, p, x, p->z));
    z_times(ctx, p, p->z, y);
    return FERRY_OK;
}

/* The r largest singular values and left singular vectors; those near 0 are left out. */
static ferry_status decompose(ferry_ctx *ctx, int64_t rank, pair *p)
{
    const int64_t n = p->na + p->nb;

    p->r = rank < n ? rank : n;
    p->s2 = ferry_i_calloc(p->r, sizeof *p->s2);
    if (!p->s2) return ferry_i_nomem(ctx);
    FERRY_PASS(ferry_i_block_new(ctx, n, p->r, &p->u));
    FERRY_PASS(ferry_e(ctx)->eigs(ctx, n, gram, p, p->r, 1e-6, p->s2, p->u));
    while (p->r > 1 && !(p->s2[p->r - 1] > 1e-10 * p->s2[0]))
        p->r--;
    return FERRY_OK;
}

/* beta (c x (r + 1)) of a logistic regression on the rows of A, U S. */
static ferry_status classify(ferry_ctx *ctx, const pair *p, double C, const ferry_block *g,
                             double **beta)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *x = NULL;

    FERRY_TRY(ferry_i_matrix_dense(ctx, p->na, p->r, &x));
    for (int64_t i = 0; i < p->na; i++)
        for (int64_t q = 0; q < p->r; q++)
            x->dense[i * p->r + q] = FERRY_ROW(p->u, i)[q] * sqrt(p->s2[q]);
    if (C == 0) FERRY_TRY(ferry_i_softmax_cost(ctx, x, g, NULL, &C));
    FERRY_TRY(ferry_i_softmax_fit(ctx, C, 1e-6, x, g, beta));
done:
    ferry_i_matrix_free(x);
    return st;
}

/* Weights on the features of B (see above). */
static ferry_status weights(ferry_ctx *ctx, pair *p, const double *beta, int64_t c,
                            ttl_carried *out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = p->na + p->nb, wide = p->cols + 1;
    ferry_block *y = NULL, *a0 = NULL;
    ferry_small *t = NULL;

    FERRY_TRY(room(ctx, c, p));
    FERRY_TRY(ferry_i_block_new(ctx, n, c, &y));
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < c; k++)
            for (int64_t q = 0; q < p->r; q++)
                FERRY_ROW(y, i)
    [k] += FERRY_ROW(p->u, i)[q] / sqrt(p->s2[q]) * beta[k * (p->r + 1) + q];
    FERRY_TRY(times_z(ctx, p, y, p->z)); /* V beta */
    ferry_e(ctx)->mul(ctx, 1, p->own[0], p->z, 0, p->other[0]);
    FERRY_TRY(ferry_i_small_new(ctx, p->na, c, &t));
    for (int64_t i = 0; i < p->na; i++)
        for (int64_t k = 0; k < c; k++)
            FERRY_AT(t, i, k) = FERRY_ROW(p->other[0], i)[k];
    ferry_e(ctx)->chol_solve(ctx, p->chol, t);
    memset(y->data, 0, (size_t)(n * c) * sizeof(double));
    for (int64_t i = 0; i < p->na; i++)
        for (int64_t k = 0; k < c; k++)
            FERRY_ROW(y, i)[k] = FERRY_AT(t, i, k);
    FERRY_TRY(ferry_i_block_new(ctx, p->cols, c, &a0));
    FERRY_TRY(ferry_e(ctx)->tmul(ctx, 1, p->shared, y, 0, a0)); /* rows of B are 0 in y */
    out->w = ferry_i_calloc(c * wide, sizeof *out->w);
    if (!out->w) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t k = 0; k < c; k++) {
        for (int64_t j = 0; j < p->cols; j++)
            out->w[k * wide + j] = FERRY_ROW(p->z, j)[k] + FERRY_ROW(a0, j)[k];
        out->w[k * wide + p->cols] = beta[k * (p->r + 1) + p->r];
    }
done:
    FERRY_FREE(y, a0, t);
    return st;
}

/* What A (labels g) teaches B, as weights; none when they share nothing. */
static ferry_status teach(ferry_ctx *ctx, const latentmap_options *o, ferry_matrix *a,
                          const ferry_block *g, ferry_matrix *b, ttl_carried *out)
{
    ferry_status st = FERRY_OK;
    pair p = {.na = a->rows, .nb = b->rows, .cols = a->cols};
    ferry_matrix *shared[2] = {NULL, NULL};
    uint8_t *keep = ferry_i_calloc(a->cols, sizeof *keep);
    double *beta = NULL;
    int64_t common = 0;

    *out = (ttl_carried){.c = g->k, .cols = a->cols};
    if (!keep) FERRY_TRY(ferry_i_nomem(ctx));
    FERRY_NEED(ctx, p.na + p.nb <= MOST, FERRY_ENEEDS,
               "latentmap compares all pairs of instances: %lld are more than %d",
               (long long)(p.na + p.nb), (int)MOST);
    for (int64_t e = 0; e < a->nnz; e++)
        keep[a->index[e]] |= 1;
    for (int64_t e = 0; e < b->nnz; e++)
        keep[b->index[e]] |= 2;
    for (int64_t j = 0; j < a->cols; j++) {
        keep[j] = keep[j] == 3;
        common += keep[j];
    }
    if (common == 0) goto done;
    p.x[0] = ferry_i_matrix_ref(a);
    p.x[1] = ferry_i_matrix_ref(b);
    for (int i = 0; i < 2; i++) {
        FERRY_TRY(only(ctx, p.x[i], keep, false, &p.own[i]));
        FERRY_TRY(only(ctx, p.x[i], keep, true, &shared[i]));
        FERRY_TRY(ferry_i_matrix_index(ctx, p.x[i]));
        FERRY_TRY(ferry_i_matrix_index(ctx, p.own[i]));
    }
    FERRY_TRY(ferry_i_matrix_stack(ctx, 2, (const ferry_matrix *const *)shared, &p.shared));
    FERRY_TRY(ferry_i_matrix_index(ctx, p.shared));
    FERRY_TRY(fill_in(ctx, o->lambda, &p));
    FERRY_TRY(decompose(ctx, o->rank, &p));
    FERRY_TRY(classify(ctx, &p, o->C, g, &beta));
    FERRY_TRY(weights(ctx, &p, beta, g->k, out));
    out->keep = ferry_i_calloc(a->cols, sizeof *out->keep);
    if (!out->keep) FERRY_TRY(ferry_i_nomem(ctx));
    memset(out->keep, 1, (size_t)a->cols);
    out->shared = a->cols;
done:
    if (st != FERRY_OK) ferry_i_carried_clear(out);
    pair_clear(&p);
    ferry_i_matrix_free(shared[0]);
    ferry_i_matrix_free(shared[1]);
    FERRY_FREE(keep, beta);
    return st;
}

/* The labelled rows of the sources on top of each other, one-hot. */
static ferry_status sources(ferry_ctx *ctx, const ttl_bridge *b, ferry_matrix **x,
                            ferry_block **g)
{
    ferry_status st = FERRY_OK;
    ferry_matrix **part = ferry_i_calloc(b->n_sources, sizeof(ferry_matrix *));
    int64_t n = 0, *rows = NULL;

    if (!part) FERRY_TRY(ferry_i_nomem(ctx));
    for (int64_t i = 0; i < b->n_sources; i++) {
        const ttl_place *p = &b->place[i];
        int64_t k = 0;
        ferry_i_free(rows);
        rows = ferry_i_calloc(p->n, sizeof *rows);
        if (!rows) FERRY_TRY(ferry_i_nomem(ctx));
        for (int64_t r = 0; r < p->n; r++)
            if (p->known[r] >= 0) rows[k++] = r;
        FERRY_TRY(ferry_i_matrix_take(ctx, p->x, k, rows, b->cols, NULL, &part[i]));
        n += k;
    }
    FERRY_TRY(
        ferry_i_matrix_stack(ctx, b->n_sources, (const ferry_matrix *const *)part, x));
    FERRY_TRY(ferry_i_block_new(ctx, n, b->c, g));
    n = 0;
    for (int64_t i = 0; i < b->n_sources; i++)
        for (int64_t r = 0; r < b->place[i].n; r++)
            if (b->place[i].known[r] >= 0) FERRY_ROW(*g, n++)[b->place[i].known[r]] = 1;
done:
    for (int64_t i = 0; part && i < b->n_sources; i++)
        ferry_i_matrix_free(part[i]);
    FERRY_FREE(part, rows);
    return st;
}

static ferry_status latentmap_fit(ferry_ctx *ctx, const ferry_task *task,
                                  const void *options, void **out, ferry_fit_info *rep)
{
    ferry_status st = FERRY_OK;
    const latentmap_options *o = options;
    ttl_bridge *b = NULL;
    ttl_carried carried = {0};
    ferry_matrix *x = NULL;
    ferry_block *g = NULL;
    bool finish = false;

    *out = NULL;
    FERRY_TRY(ferry_i_bridge_new(ctx, "latentmap", task,
                                 (ttl_reading){.scale = o->scale,
                                               .leaks = o->leaks,
                                               .bridge_labels = o->bridge_labels},
                                 &b));
    FERRY_TRY(sources(ctx, b, &x, &g));
    const int64_t last = b->n_places - 1;
    for (int64_t i = o->path == ST ? last : b->n_sources; i <= last; i++) {
        const ttl_place *p = &b->place[i];
        ferry_i_carried_clear(&carried);
        FERRY_TRY(teach(ctx, o, x, g, p->x, &carried));
        if (!carried.w)
            ferry_i_log(
                ctx, FERRY_WARN,
                "latentmap: '%s' shares no feature with what teaches it: its labels "
                "are a guess",
                p->domain->name);
        FERRY_TRY(ferry_i_progress(ctx, "latentmap", i, last, NAN, &finish));
        if (i == last) break;
        ferry_i_matrix_free(x);
        ferry_i_free(g);
        g = NULL;
        x = ferry_i_matrix_ref(p->x);
        FERRY_TRY(ferry_i_block_new(ctx, p->n, b->c, &g));
        FERRY_TRY(ferry_i_carried_apply(ctx, &carried, p->x, g));
        ferry_i_clamp(g, p->known);
    }
    rep->objective = NAN;
    FERRY_TRY(ferry_i_ttl_linear_new(ctx, b, &carried, out));
done:
    ferry_i_matrix_free(x);
    ferry_i_free(g);
    ferry_i_carried_clear(&carried);
    ferry_i_bridge_free(b);
    return st;
}

const ferry_method ferry_i_method_latentmap = {
    .name = "latentmap",
    .summary = "fills in features that one domain lacks and maps both to a latent space",
    .reference = "Xie, Fan, Peng, Fan, Ren, Latent Space Domain Transfer between High "
                 "Dimensional Overlapping Distributions, WWW 2009",
    .kind = FERRY_KIND_TRANSFER,
    .goals = FERRY_CLASSIFY,
    .needs = FERRY_NEED_SOURCE_LABELS | FERRY_NEED_TARGET_VIEW | FERRY_NEED_PATH,
    FERRY_OPTIONS(latentmap_opts, latentmap_options),
    .fit = latentmap_fit,
    .predict = ferry_i_ttl_linear_predict,
    FERRY_STATE(ttl_linear, ferry_i_ttl_linear_file, ferry_i_ttl_linear_free),
};
