/* Soft memberships: mean-field posteriors of the groups given a codebook.
 *
 *   p(c | i) prop pi_c exp(-cost_ic / (2 sigma2)),
 *   cost_ic = sum_j E (x_ij - R[c, v(j)])^2
 *           = const + sum_j ((R o R) Pv')_cj - 2 x_ij (R Pv')_cj
 *
 * so a half step is two products of CSR and block. pi_c is the mean of p(c | i), sigma2
 * the expected squared error.
 *
 * Why soft: with a few ratings a user the best group is a guess, and a hard guess costs
 * more than an average over the groups that are likely. An unknown user has p = pi. */
#include <math.h>
#include <string.h>

#include "methods/mindtl/mindtl.h"

/* Zeros; soft_fit() sets them. On failure everything is cleared. */
ferry_status ferry_i_mindtl_soft_new(ferry_ctx *ctx, int64_t p, int64_t q, int64_t k,
                                     int64_t l, mindtl_soft *s)
{
    ferry_status st = FERRY_OK;

    *s = (mindtl_soft){.pu = NULL};
    FERRY_TRY(ferry_i_block_new(ctx, p, k, &s->pu));
    FERRY_TRY(ferry_i_block_new(ctx, q, l, &s->pv));
    FERRY_NEW(ctx, s->pi_u, k);
    FERRY_NEW(ctx, s->pi_v, l);
done:
    if (st != FERRY_OK) ferry_i_mindtl_soft_clear(s);
    return st;
}

void ferry_i_mindtl_soft_clear(mindtl_soft *s)
{
    ferry_i_block_free(s->pu);
    ferry_i_block_free(s->pv);
    FERRY_FREE(s->pi_u, s->pi_v);
    *s = (mindtl_soft){.pu = NULL};
}

/* One side: rows are users (transposed: items). m1 and m2 are cols x k, cost is rows x
 * k. */
typedef struct side {
    const ferry_matrix *x; /* X or X' */
    ferry_matrix *ones;    /* its mask */
    ferry_block *m1, *m2;  /* of the other side: P R', P (R o R)' */
    ferry_block *cost;
} side;

static void side_clear(side *s)
{
    ferry_i_matrix_free(s->ones);
    ferry_i_block_free(s->m1);
    ferry_i_block_free(s->m2);
    ferry_i_block_free(s->cost);
}

/* The mask is X with ones for values: it shares the pattern, so 8 bytes a rating. */
static ferry_status side_new(ferry_ctx *ctx, ferry_matrix *x, int64_t k, side *s)
{
    ferry_status st = FERRY_OK;

    s->x = x;
    FERRY_TRY(ferry_i_matrix_like(ctx, x, &s->ones));
    for (int64_t e = 0; e < x->nnz; e++)
        s->ones->value[e] = 1;
    FERRY_TRY(ferry_i_block_new(ctx, x->cols, k, &s->m1));
    FERRY_TRY(ferry_i_block_new(ctx, x->cols, k, &s->m2));
    FERRY_TRY(ferry_i_block_new(ctx, x->rows, k, &s->cost));
done:
    return st;
}

/* p(c | i) prop pi_c exp(-cost_ic / (2 sigma2)) for every row i; then pi_c <- mean of
 * them. A row without ratings has cost 0 everywhere and gets pi. */
static ferry_status posterior(ferry_ctx *ctx, const observed *o, bool items,
                              const ferry_block *cost, double sigma2, double *pi,
                              ferry_block *p)
{
    const int64_t first =
        items ? ferry_i_observed_item(ctx, o) : ferry_i_observed_user(ctx, o);

    for (int64_t i = 0; i < cost->rows; i++)
        ferry_i_rating_posterior(p->k, FERRY_ROW(cost, i), pi, sigma2,
                                 FERRY_ROW(p, first + i));
    FERRY_PASS(
        ferry_i_observed_share(ctx, o, items, (size_t)p->k * sizeof *p->data, p->data));
    for (int64_t c = 0; c < p->k; c++) {
        double sum = 0;
        for (int64_t i = 0; i < p->rows; i++)
            sum += FERRY_ROW(p, i)[c];
        pi[c] = sum / (double)p->rows + 1e-9; /* a group may come back */
    }
    return FERRY_OK;
}

/* cost (but for a constant of the row) given the other side's posteriors; r1, r2 are R
 * and R o R. cost = -2 X M1 + mask M2; two passes over the ratings for all groups at
 * once. */
static void costs(ferry_ctx *ctx, side *s, const ferry_block *other, const ferry_small *r1,
                  const ferry_small *r2, bool trans)
{
    const ferry_engine *e = ferry_e(ctx);

    e->bmul(ctx, 1, other, r1, trans, 0, s->m1);
    e->bmul(ctx, 1, other, r2, trans, 0, s->m2);
    e->mul(ctx, -2, s->x, s->m1, 0, s->cost);
    e->mul(ctx, 1, s->ones, s->m2, 1, s->cost);
}

/* Nearly hard items at v, users anywhere: a start from which the first half step can tell
 * user groups apart, which even shares of all groups would not let it. sigma2 starts at the
 * variance of the residuals, so that the first posteriors are soft. */
static void start(const int32_t *v, double s2, mindtl_soft *s)
{
    const int64_t k = s->pu->k, l = s->pv->k;

    for (int64_t j = 0; j < s->pv->rows; j++)
        for (int64_t d = 0; d < l; d++)
            FERRY_ROW(s->pv, j)[d] = (d == v[j] ? 0.9 : 0) + 0.1 / (double)l;
    for (int64_t c = 0; c < k; c++)
        s->pi_u[c] = 1 / (double)k;
    for (int64_t d = 0; d < l; d++)
        s->pi_v[d] = 1 / (double)l;
    s->sigma2 = s2;
}

/* Users given items, items given users, then the variance; `iters` times. Each is the
 * mean-field optimum given the others.
 *
 * x: residuals, with their transpose. O(iters nnz (k + l)). Progress is told no
 * objective. */
ferry_status ferry_i_mindtl_soft_fit(ferry_ctx *ctx, const observed *x, const codebook *b,
                                     const int32_t *v, int64_t iters, double s2,
                                     mindtl_run *run, mindtl_soft *s)
{
    ferry_status st = FERRY_OK;
    const int64_t k = b->k, l = b->l;
    ferry_small *r1 = NULL, *r2 = NULL;
    side users = {NULL}, items = {NULL};
    const int64_t n = ferry_i_observed_count(x);

    FERRY_TRY(ferry_i_small_new(ctx, k, l, &r1));
    FERRY_TRY(ferry_i_small_new(ctx, k, l, &r2));
    for (int64_t i = 0; i < k * l; i++) {
        FERRY_AT(r1, i / l, i % l) = b->r[i];
        FERRY_AT(r2, i / l, i % l) = b->r[i] * b->r[i];
    }
    FERRY_TRY(side_new(ctx, x->x, k, &users));
    FERRY_TRY(side_new(ctx, x->xt, l, &items));
    start(v, s2, s);
    for (int64_t t = 0; t < iters; t++) {
        costs(ctx, &users, s->pv, r1, r2, true);
        FERRY_TRY(posterior(ctx, x, false, users.cost, s->sigma2, s->pi_u, s->pu));
        costs(ctx, &items, s->pu, r1, r2, false);
        FERRY_TRY(posterior(ctx, x, true, items.cost, s->sigma2, s->pi_v, s->pv));
        /* sigma2 = E |x - R|^2 / n; cost left out |x|^2 */
        const ferry_block own = {items.cost->rows, l,
                                 s->pv->data + ferry_i_observed_item(ctx, x) * l};
        s->sigma2 = ferry_i_matrix_norm2(x->x) + ferry_e(ctx)->dot(ctx, &own, items.cost);
        FERRY_TRY(ferry_i_observed_sum(ctx, x, 1, &s->sigma2));
        s->sigma2 = fmax(s->sigma2 / (double)(n > 0 ? n : 1), 1e-12);
        FERRY_TRY(ferry_i_mindtl_step(ctx, run, NAN));
        if (run && run->finish) break;
    }
done:
    side_clear(&users);
    side_clear(&items);
    ferry_i_small_free(r1);
    ferry_i_small_free(r2);
    return st;
}
