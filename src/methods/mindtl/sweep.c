/* The masked multiplicative updates (3)-(5) of a source, sparse throughout: three passes
 * over the ratings a sweep, each of which makes Xh at the observed entries and multiplies
 * with it (and with Xm) at once.
 *
 * What (3)-(5) must read, with Xm = M o X and Xh = M o (U B V') of the newest factors:
 *
 *   U <- U o sqrt(Xm V B' / Xh V B')
 *   V <- V o sqrt(Xm'U B / Xh'U B)
 *   B <- B o sqrt(U'Xm V / U'Xh V)
 * The printed ones do not multiply. The mask does not commute with the trace, and the term
 * of orthogonality is lost on the way: F then never grows, but U is not orthogonal. */
#include <math.h>
#include <string.h>

#include "methods/mindtl/mindtl.h"

/* A denominator of 0 means an entry that no rating asks for. */
#define FLOOR 1e-12

/* ---- workspace ---- */

ferry_status ferry_i_mindtl_factors_new(ferry_ctx *ctx, int64_t n, int64_t m, int64_t k,
                                        int64_t l, mindtl_factors *f)
{
    ferry_status st = FERRY_OK;

    *f = (mindtl_factors){NULL, NULL, NULL};
    FERRY_TRY(ferry_i_block_new(ctx, n, k, &f->u));
    FERRY_TRY(ferry_i_block_new(ctx, m, l, &f->v));
    FERRY_TRY(ferry_i_small_new(ctx, k, l, &f->b));
done:
    if (st != FERRY_OK) ferry_i_mindtl_factors_clear(f);
    return st;
}

void ferry_i_mindtl_factors_clear(mindtl_factors *f)
{
    ferry_i_block_free(f->u);
    ferry_i_block_free(f->v);
    ferry_i_small_free(f->b);
    *f = (mindtl_factors){NULL, NULL, NULL};
}

/* The blocks of a workspace and their shapes. One list for making and for freeing them: a
 * block cannot be forgotten in one of the two. */
enum { BLOCKS = 11 };
typedef struct shape {
    ferry_block **to;
    int64_t rows, k;
} shape;

/* For freeing the sizes do not matter. */
static void shapes_of(mindtl_work *w, int64_t n, int64_t m, int64_t k, int64_t l,
                      shape s[BLOCKS])
{
    const shape all[BLOCKS] = {{&w->vb, m, k}, {&w->ub, n, l}, {&w->nu, n, k},
                               {&w->du, n, k}, {&w->cu, n, k}, {&w->nv, m, l},
                               {&w->dv, m, l}, {&w->cv, m, l}, {&w->xu, m, k},
                               {&w->hu, m, k}, {&w->hv, n, l}};

    memcpy(s, all, sizeof all);
}

ferry_status ferry_i_mindtl_work_new(ferry_ctx *ctx, const observed *x, int64_t k,
                                     int64_t l, mindtl_work *w)
{
    ferry_status st = FERRY_OK;
    shape s[BLOCKS];

    *w = (mindtl_work){.h = NULL};
    shapes_of(w, x->x->rows, x->x->cols, k, l, s);
    FERRY_TRY(ferry_i_matrix_like(ctx, x->x, &w->h));
    for (int i = 0; i < BLOCKS; i++)
        FERRY_TRY(ferry_i_block_new(ctx, s[i].rows, s[i].k, s[i].to));
    FERRY_TRY(ferry_i_small_new(ctx, k, k, &w->kk));
    FERRY_TRY(ferry_i_small_new(ctx, l, l, &w->ll));
    FERRY_TRY(ferry_i_small_new(ctx, k, l, &w->nb));
    FERRY_TRY(ferry_i_small_new(ctx, k, l, &w->db));
    FERRY_NEW(ctx, w->norms, k > l ? k : l);
done:
    if (st != FERRY_OK) ferry_i_mindtl_work_clear(w);
    return st;
}

void ferry_i_mindtl_work_clear(mindtl_work *w)
{
    shape s[BLOCKS];

    shapes_of(w, 0, 0, 0, 0, s);
    for (int i = 0; i < BLOCKS; i++)
        ferry_i_block_free(*s[i].to);
    ferry_i_matrix_free(w->h);
    ferry_i_small_free(w->kk);
    ferry_i_small_free(w->ll);
    ferry_i_small_free(w->nb);
    ferry_i_small_free(w->db);
    ferry_i_free(w->norms);
    *w = (mindtl_work){.h = NULL};
}

/* ---- one factor ---- */

/* A <- A o sqrt(N / D) where A is U or V, N = Xm C and H = Xh C for C = V B' or U B:
 *   paper  D = H
 *   ding   D = A A' N
 *   orth   N + A A' H over H + A A' N
 * n, h and more are overwritten; s is k x k or l x l scratch. ding is ONMTF where M is all
 * ones: U'U = I then makes U B V'V B' = U U'X V B'. With a mask that is false. orth splits
 * Lambda = U'(Xm - Xh) V B' in its two non-negative parts. */
static void update(ferry_ctx *ctx, mindtl_rule rule, ferry_block *a, ferry_block *n,
                   ferry_block *h, ferry_block *more, ferry_small *s)
{
    const ferry_engine *e = ferry_e(ctx);

    if (rule != RULE_PAPER) {
        e->gram(ctx, a, n, s);
        e->bmul(ctx, 1, a, s, false, 0, rule == RULE_DING ? h : more); /* A A' N */
    }
    if (rule == RULE_ORTH) {
        e->gram(ctx, a, h, s);
        e->bmul(ctx, 1, a, s, false, 1, n);
        e->axpby(ctx, 1, more, 1, h);
    }
    e->mulup(ctx, a, n, h, 0.5, FLOOR, 0);
}

/* Unit columns; norms[j] tells the lengths (1 for a column of zeros), for B to take over:
 * U B V' stays what it was. inverse is scratch of the same length. */
static void unit_columns(ferry_ctx *ctx, ferry_block *a, double *norms, double *inverse)
{
    ferry_e(ctx)->bsums(ctx, a, FERRY_COLS, 2, norms);
    for (int64_t j = 0; j < a->k; j++) {
        norms[j] = norms[j] > 0 ? sqrt(norms[j]) : 1;
        inverse[j] = 1 / norms[j];
    }
    ferry_e(ctx)->bscale(ctx, a, FERRY_COLS, inverse);
}

/* (5): B <- B o sqrt(U' Xm V / U' Xh V), where xu = Xm'U is known. xu comes from the V
 * step, before V has changed, but Xm'U does not depend on V. */
static void update_b(ferry_ctx *ctx, const observed *x, mindtl_factors *f, mindtl_work *w)
{
    const ferry_engine *e = ferry_e(ctx);

    e->gram(ctx, w->xu, f->v, w->nb); /* U' Xm V */
    e->bmul(ctx, 1, f->u, f->b, false, 0, w->ub);
    e->masked(ctx, x->x, w->ub, f->v, NULL, w->hv);
    e->gram(ctx, f->u, w->hv, w->db); /* U' (Xh V) */
    for (int64_t i = 0; i < f->b->rows * f->b->cols; i++)
        f->b->data[i] *= sqrt(w->nb->data[i] / fmax(w->db->data[i], FLOOR));
}

/* U, V and B in turn, each with Xh of the newest factors. `masked` gives Xm C and Xh C
 * in one pass over the ratings; for orth columns get unit length after each step and B
 * takes their lengths over, without which it diverges. Column-major B: entry i belongs to
 * row i % k and column i / k. */
void ferry_i_mindtl_sweep(ferry_ctx *ctx, const observed *x, mindtl_rule rule,
                          mindtl_factors *f, mindtl_work *w)
{
    const ferry_engine *e = ferry_e(ctx);
    const int64_t k = f->b->rows, l = f->b->cols;

    e->bmul(ctx, 1, f->v, f->b, true, 0, w->vb); /* (3): Xm (V B'), Xh (V B') */
    e->masked(ctx, x->x, f->u, w->vb, w->nu, w->du);
    update(ctx, rule, f->u, w->nu, w->du, w->cu, w->kk);
    if (rule == RULE_ORTH) {
        unit_columns(ctx, f->u, w->norms, w->kk->data);
        for (int64_t i = 0; i < k * l; i++)
            f->b->data[i] *= w->norms[i % k];
        e->bmul(ctx, 1, f->v, f->b, true, 0, w->vb);
    }
    e->masked(ctx, x->xt, w->vb, f->u, w->xu, w->hu); /* (4): (Xm'U) B, (Xh'U) B */
    e->bmul(ctx, 1, w->xu, f->b, false, 0, w->nv);
    e->bmul(ctx, 1, w->hu, f->b, false, 0, w->dv);
    update(ctx, rule, f->v, w->nv, w->dv, w->cv, w->ll);
    if (rule == RULE_ORTH) {
        unit_columns(ctx, f->v, w->norms, w->ll->data);
        for (int64_t i = 0; i < k * l; i++)
            f->b->data[i] *= w->norms[i / k];
    }
    update_b(ctx, x, f, w);
}

/* Only the observed entries of U B V' are ever made. U B first (n x l), then a dot product
 * of length l for each rating. */
double ferry_i_mindtl_objective(ferry_ctx *ctx, const observed *x, const mindtl_factors *f,
                                mindtl_work *w)
{
    double sum = 0;

    ferry_e(ctx)->bmul(ctx, 1, f->u, f->b, false, 0, w->ub);
    ferry_e(ctx)->sddmm(ctx, w->h, w->ub, f->v, w->h->value);
    for (int64_t e = 0; e < x->x->nnz; e++) {
        const double d = x->x->value[e] - w->h->value[e];
        sum += d * d;
    }
    return sum;
}

/* Without the norms a column that is large everywhere would take all rows. */
ferry_status ferry_i_mindtl_harden(ferry_ctx *ctx, const ferry_block *u, int32_t *label)
{
    ferry_status st = FERRY_OK;
    double *norm = ferry_i_calloc(u->k, sizeof *norm);

    FERRY_HAVE(ctx, norm);
    ferry_e(ctx)->bsums(ctx, u, FERRY_COLS, 2, norm);
    for (int64_t c = 0; c < u->k; c++)
        norm[c] = norm[c] > 0 ? sqrt(norm[c]) : 1;
    for (int64_t i = 0; i < u->rows; i++) {
        const double *row = FERRY_ROW(u, i);
        label[i] = 0;
        for (int32_t c = 1; c < u->k; c++)
            if (row[c] / norm[c] > row[label[i]] / norm[label[i]]) label[i] = c;
    }
done:
    ferry_i_free(norm);
    return st;
}
