/* Products with a matrix less its column means (centred.h).
 *
 * All three rest on one product of the engine and a correction of rank one, so that a
 * sparse x is never filled. */
#include "linalg/centred.h"

#include <string.h>

enum { PANEL = 64 }; /* vectors whose shift is worked out at once, on the stack */

void ferry_i_centred_clear(ferry_centred *c)
{
    ferry_i_matrix_free(c->x);
    FERRY_FREE(c->shift, c->present);
    *c = (ferry_centred){0};
}

/* X u = x u - present (shift'u) */
void ferry_i_centred_mul(ferry_ctx *ctx, const ferry_centred *c, const ferry_block *u,
                         ferry_block *t)
{
    double su[PANEL];

    ferry_e(ctx)->mul(ctx, 1, c->x, u, 0, t);
    for (int64_t at = 0; c->shift && at < u->k; at += PANEL) {
        const int64_t n = u->k - at < PANEL ? u->k - at : PANEL;
        /* su <- shift'u of these columns */
        memset(su, 0, sizeof su);
        for (int64_t j = 0; j < u->rows; j++)
            for (int64_t l = 0; l < n; l++)
                su[l] += c->shift[j] * FERRY_ROW(u, j)[at + l];
        for (int64_t i = 0; i < t->rows; i++)
            for (int64_t l = 0; ferry_i_centred_has(c, i) && l < n; l++)
                FERRY_ROW(t, i)[at + l] -= su[l];
    }
}

/* X'r = x'r - shift (present'r) */
ferry_status ferry_i_centred_tmul(ferry_ctx *ctx, const ferry_centred *c,
                                  const ferry_block *r, ferry_block *y)
{
    ferry_status st = FERRY_OK;
    double pr[PANEL];

    FERRY_TRY(ferry_e(ctx)->tmul(ctx, 1, c->x, r, 0, y));
    for (int64_t at = 0; c->shift && at < r->k; at += PANEL) {
        const int64_t n = r->k - at < PANEL ? r->k - at : PANEL;
        /* pr <- present'r of these columns */
        memset(pr, 0, sizeof pr);
        for (int64_t i = 0; i < r->rows; i++)
            for (int64_t l = 0; ferry_i_centred_has(c, i) && l < n; l++)
                pr[l] += FERRY_ROW(r, i)[at + l];
        FERRY_TRY(ferry_i_sum_rows(ctx, c->x, n, pr));
        for (int64_t j = 0; j < y->rows; j++)
            for (int64_t l = 0; l < n; l++)
                FERRY_ROW(y, j)[at + l] -= c->shift[j] * pr[l];
    }
done:
    return st;
}

/* X X' = x x' - (x shift) present' - present (x shift)' + |shift|^2 present present' */
ferry_status ferry_i_centred_gram(ferry_ctx *ctx, const ferry_centred *c, ferry_small *g)
{
    ferry_status st = FERRY_OK;
    const ferry_block shift = {c->x->cols, 1, c->shift};
    ferry_block *xs = NULL;

    ferry_e(ctx)->xxt(ctx, c->x, g);
    if (!c->shift) goto done;
    FERRY_TRY(ferry_i_block_new(ctx, c->x->rows, 1, &xs));
    ferry_e(ctx)->mul(ctx, 1, c->x, &shift, 0, xs);
    const double ss = ferry_e(ctx)->dot(ctx, &shift, &shift);
    for (int64_t j = 0; j < g->cols; j++)
        for (int64_t i = 0; i < g->rows; i++) {
            const double pi = ferry_i_centred_has(c, i), pj = ferry_i_centred_has(c, j);
            FERRY_AT(g, i, j) += pi * pj * ss - pj * xs->data[i] - pi * xs->data[j];
        }
done:
    ferry_i_block_free(xs);
    return st;
}

/* Z u = sum_j X_j u_j */
ferry_status ferry_i_sides_mul(ferry_ctx *ctx, const ferry_side_by_side *z,
                               const ferry_block *u, ferry_block *t)
{
    ferry_status st = FERRY_OK;
    ferry_block *part = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, z->m, u->k, &part));
    memset(t->data, 0, (size_t)(t->rows * t->k) * sizeof *t->data);
    for (int64_t j = 0, at = 0; j < z->p; at += z->x[j++]->x->cols) {
        const ferry_block uj = {z->x[j]->x->cols, u->k, u->data + at * u->k};
        ferry_i_centred_mul(ctx, z->x[j], &uj, part);
        ferry_e(ctx)->axpby(ctx, 1, part, 1, t);
    }
done:
    ferry_i_block_free(part);
    return st;
}

/* (Z'r)_j = X_j'r */
ferry_status ferry_i_sides_tmul(ferry_ctx *ctx, const ferry_side_by_side *z,
                                const ferry_block *r, ferry_block *y)
{
    ferry_status st = FERRY_OK;

    for (int64_t j = 0, at = 0; j < z->p; at += z->x[j++]->x->cols) {
        ferry_block yj = {z->x[j]->x->cols, r->k, y->data + at * r->k};
        FERRY_TRY(ferry_i_centred_tmul(ctx, z->x[j], r, &yj));
    }
done:
    return st;
}

ferry_status ferry_i_sides_apply(ferry_ctx *ctx, void *arg, const ferry_block *u,
                                 ferry_block *y)
{
    ferry_status st = FERRY_OK;
    const ferry_side_by_side *z = arg;
    ferry_block *s = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, z->m, u->k, &s));
    FERRY_TRY(ferry_i_sides_mul(ctx, z, u, s));
    FERRY_TRY(ferry_i_sides_tmul(ctx, z, s, y));
done:
    ferry_i_block_free(s);
    return st;
}
