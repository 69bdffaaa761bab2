/* M-MLTL: the two steps of the alternation, the objective, and the test of a minimum.
 *
 * Each step is the exact minimum of (7) in one factor with the other fixed. Nothing larger
 * than d x g is ever made: X M X' of the paper is delta delta', a matrix of rank one, which
 * turns its d x d Sylvester equation into two g x g systems (O(d m g + d g^2 + g^3) a step;
 * at d = 2048, m = 10, g = 50 the U step is thousands of times faster than Bartels and
 * Stewart). */
#include <math.h>
#include <string.h>

#include "methods/mmltl/mmltl.h"

/* A block's bytes are those of its transpose as a small. */
static ferry_small transposed(const ferry_block *b)
{
    return (ferry_small){b->k, b->rows, b->data};
}

static void add_diagonal(ferry_small *a, double x)
{
    for (int64_t i = 0; i < a->rows; i++)
        FERRY_AT(a, i, i) += x;
}

static void copy_small(const ferry_small *from, ferry_small *to)
{
    if (from->rows * from->cols > 0)
        memcpy(to->data, from->data,
               (size_t)(from->rows * from->cols) * sizeof *from->data);
}

/* G'delta and |delta|^2 do not change in a problem: they are made here, once. */
ferry_status ferry_i_mmltl_work_new(ferry_ctx *ctx, const ferry_mmltl *p, int64_t rank,
                                    ferry_mmltl_work **out)
{
    ferry_status st = FERRY_OK;
    const int64_t d = p->g->rows, m = p->g->k;
    ferry_mmltl_work *w = ferry_i_calloc(1, sizeof *w);

    *out = NULL;
    FERRY_HAVE(ctx, w);
    FERRY_TRY(ferry_i_small_new(ctx, rank, rank, &w->k));
    FERRY_TRY(ferry_i_small_new(ctx, rank, rank, &w->shifted));
    FERRY_TRY(ferry_i_small_new(ctx, m, 1, &w->gd));
    FERRY_TRY(ferry_i_small_new(ctx, rank, 1, &w->z));
    FERRY_TRY(ferry_i_small_new(ctx, rank, 1, &w->kz));
    FERRY_TRY(ferry_i_small_new(ctx, rank, m, &w->vt));
    FERRY_TRY(ferry_i_block_new(ctx, m, rank, &w->vk));
    FERRY_TRY(ferry_i_block_new(ctx, d, m, &w->e));
    FERRY_TRY(ferry_i_block_new(ctx, d, rank, &w->t));
    ferry_e(ctx)->gram(ctx, p->g, p->delta, w->gd);
    w->delta2 = ferry_e(ctx)->dot(ctx, p->delta, p->delta);
    FERRY_MOVE(*out, w);
done:
    ferry_i_mmltl_work_free(w);
    return st;
}

void ferry_i_mmltl_work_free(ferry_mmltl_work *w)
{
    if (!w) return;
    FERRY_FREE(w->k, w->shifted, w->gd, w->z, w->kz, w->vt, w->vk, w->e, w->t, w);
}

/* (U'U + g2 I) V' = U'G                                                              (9)
 * U'U + g2 I is positive definite for g2 > 0, so Cholesky never fails but for numbers that
 * are not finite. */
ferry_status ferry_i_mmltl_v_step(ferry_ctx *ctx, const ferry_mmltl *p, ferry_mmltl_work *w,
                                  const ferry_block *u, ferry_block *v)
{
    ferry_small vt = transposed(v);

    ferry_e(ctx)->gram(ctx, u, u, w->k);
    add_diagonal(w->k, p->g2);
    FERRY_PASS(ferry_e(ctx)->chol(ctx, w->k));
    ferry_e(ctx)->gram(ctx, u, p->g, &vt);
    ferry_e(ctx)->chol_solve(ctx, w->k, &vt);
    return FERRY_OK;
}

/* (mu delta delta' + g1 I) U + U V'V = G V                                          (11)
 * Multiplied by delta' from the left it is an equation in z = U'delta alone:
 *   K = V'V + g1 I,   z = (K + mu |delta|^2 I)^-1 V'(G'delta)
 * and then U = (G V - mu delta z') K^-1 = G (V K^-1) - delta (mu K^-1 z)'. */
ferry_status ferry_i_mmltl_u_step(ferry_ctx *ctx, const ferry_mmltl *p, ferry_mmltl_work *w,
                                  const ferry_block *v, ferry_block *u)
{
    const ferry_small vt = transposed(v), vkt = transposed(w->vk);

    /* K = V'V + g1 I, and K + mu |delta|^2 I. */
    ferry_e(ctx)->gram(ctx, v, v, w->k);
    add_diagonal(w->k, p->g1);
    copy_small(w->k, w->shifted);
    add_diagonal(w->shifted, p->mu * w->delta2);
    FERRY_PASS(ferry_e(ctx)->chol(ctx, w->k));
    FERRY_PASS(ferry_e(ctx)->chol(ctx, w->shifted));

    /* z = U'delta, then K^-1 z and V K^-1; v itself is left alone. */
    ferry_e(ctx)->gemm(ctx, false, false, 1, &vt, w->gd, 0, w->z);
    ferry_e(ctx)->chol_solve(ctx, w->shifted, w->z);
    copy_small(w->z, w->kz);
    ferry_e(ctx)->chol_solve(ctx, w->k, w->kz);
    ferry_i_block_copy(v, w->vk);
    ferry_e(ctx)->chol_solve_block(ctx, w->k, w->vk);

    /* U = G (V K^-1) - delta (mu K^-1 z)'. */
    ferry_e(ctx)->bmul(ctx, 1, p->g, &vkt, true, 0, u);
    ferry_e(ctx)->bmul(ctx, -p->mu, p->delta, w->kz, true, 1, u);
    return FERRY_OK;
}

/* c <- B as a column-major matrix; sizes agree. */
static void transpose_block(const ferry_block *b, ferry_small *c)
{
    for (int64_t i = 0; i < b->rows; i++)
        for (int64_t j = 0; j < b->k; j++)
            FERRY_AT(c, i, j) = FERRY_ROW(b, i)[j];
}

/* A U + U B = C with A = mu delta delta' + g1 I (d x d), B = V'V, C = G V            (11)
 * O(d^3) by the Schur form of A: the oracle that u_step is compared with, and the option
 * bartels-stewart. */
ferry_status ferry_i_mmltl_u_step_sylvester(ferry_ctx *ctx, const ferry_mmltl *p,
                                            const ferry_block *v, ferry_block *u)
{
    ferry_status st = FERRY_OK;
    const int64_t d = p->g->rows, g = v->k;
    const ferry_small vt = transposed(v);
    ferry_small *a = NULL, *b = NULL, *x = NULL;

    FERRY_TRY(ferry_i_small_new(ctx, d, d, &a));
    FERRY_TRY(ferry_i_small_new(ctx, g, g, &b));
    FERRY_TRY(ferry_i_small_new(ctx, d, g, &x));
    for (int64_t j = 0; j < d; j++)
        for (int64_t i = 0; i < d; i++)
            FERRY_AT(a, i, j) = p->mu * p->delta->data[i] * p->delta->data[j];
    add_diagonal(a, p->g1);
    ferry_e(ctx)->gram(ctx, v, v, b);
    ferry_e(ctx)->bmul(ctx, 1, p->g, &vt, true, 0, u);
    transpose_block(u, x);
    FERRY_TRY(ferry_e(ctx)->sylvester(ctx, a, b, x));
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < g; j++)
            FERRY_ROW(u, i)[j] = FERRY_AT(x, i, j);
done:
    FERRY_FREE(x, b, a);
    return st;
}

/* E <- G - U V'. */
static void residual(ferry_ctx *ctx, const ferry_mmltl *p, const ferry_block *u,
                     const ferry_block *v, ferry_block *e)
{
    const ferry_small vt = transposed(v);

    ferry_i_block_copy(p->g, e);
    ferry_e(ctx)->bmul(ctx, -1, u, &vt, false, 1, e);
}

/* |G - UV'|^2 + mu |U'delta|^2 + g1 |U|^2 + g2 |V|^2                                 (7)
 * w->e and w->z are overwritten. */
double ferry_i_mmltl_objective(ferry_ctx *ctx, const ferry_mmltl *p, ferry_mmltl_work *w,
                               const ferry_block *u, const ferry_block *v)
{
    const ferry_engine *e = ferry_e(ctx);
    double z2 = 0;

    residual(ctx, p, u, v, w->e);
    e->gram(ctx, u, p->delta, w->z);
    for (int64_t i = 0; i < w->z->rows; i++)
        z2 += w->z->data[i] * w->z->data[i];
    return e->dot(ctx, w->e, w->e) + p->mu * z2 + p->g1 * e->dot(ctx, u, u) +
           p->g2 * e->dot(ctx, v, v);
}

/* The two partial gradients of (7), halved. Zero at a stationary point; with g >= m that is
 * the minimum when no direction is stuck at zero. */
void ferry_i_mmltl_kkt(ferry_ctx *ctx, const ferry_mmltl *p, ferry_mmltl_work *w,
                       const ferry_block *u, const ferry_block *v, double kkt[2])
{
    const ferry_engine *e = ferry_e(ctx);
    const ferry_small vt = transposed(v);
    double sum = 0;

    residual(ctx, p, u, v, w->e);
    e->bmul(ctx, -1, w->e, &vt, true, 0, w->t);
    e->axpby(ctx, p->g1, u, 1, w->t);
    e->gram(ctx, u, p->delta, w->z);
    e->bmul(ctx, p->mu, p->delta, w->z, true, 1, w->t);
    kkt[0] = sqrt(e->dot(ctx, w->t, w->t));
    e->gram(ctx, u, w->e, w->vt);
    for (int64_t i = 0; i < vt.rows * vt.cols; i++) {
        const double r = p->g2 * vt.data[i] - w->vt->data[i];
        sum += r * r;
    }
    kkt[1] = sqrt(sum);
}
