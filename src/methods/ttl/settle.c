/* Settling: EM of a mixture of multinomials, started by carried labels.
 *
 *   q_j      = sum_i x_ij / sum x                        words of the domain
 *   theta_jk = (sum_i x_ij G_ik + s q_j) / its sum over j,   s = eta sum(x) / c
 *   pi_k     = mean_i G_ik
 *   G_ik     = softmax_k( log pi_k + beta sum_j x_ij log(theta_jk / q_j) )
 *
 * This is MAP estimation with Dirichlet pseudo-counts beta s q_j on the counts beta x, so
 *
 *   J = sum_i log sum_k pi_k exp(beta sum_j x_ij log(theta_jk / q_j))
 *       + beta s sum_k sum_j q_j log(theta_jk / q_j)
 *
 * never falls (an instance with a known class counts with that class alone). An instance
 * without words gets pi. */
#include "methods/ttl/settle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/ranks.h"

void ferry_i_mixture_clear(ttl_mixture *m)
{
    FERRY_FREE(m->l, m->log_pi);
    *m = (ttl_mixture){0};
}

/* The word distributions and class shares of G; *prior <- sum_k sum_j q_j log(theta /
 * q). */
static ferry_status m_step(ferry_ctx *ctx, const ttl_settle_options *o,
                           const ferry_matrix *x, const double *q, double s,
                           const ferry_block *g, ttl_mixture *m, double *sums,
                           double *prior)
{
    const int64_t c = g->k;

    FERRY_PASS(ferry_e(ctx)->tmul(ctx, 1, x, g, 0, m->l));
    for (int64_t j = 0; j < m->l->rows; j++)
        for (int64_t k = 0; k < c; k++)
            FERRY_ROW(m->l, j)[k] += s * q[j];
    ferry_e(ctx)->bsums(ctx, m->l, FERRY_COLS, 1, sums);
    *prior = 0;
    for (int64_t j = 0; j < m->l->rows; j++)
        for (int64_t k = 0; k < c; k++) {
            double *l = &FERRY_ROW(m->l, j)[k];
            *l = q[j] > 0 ? log(*l / sums[k] / q[j]) : 0;
            *prior += q[j] * *l;
            *l *= o->beta;
        }
    ferry_e(ctx)->bsums(ctx, g, FERRY_COLS, 1, m->log_pi);
    FERRY_PASS(ferry_i_sum_rows(ctx, x, c, m->log_pi));
    for (int64_t k = 0; k < c; k++)
        m->log_pi[k] = log(m->log_pi[k] / (double)ferry_i_all_rows(x));
    return FERRY_OK;
}

double ferry_i_soften(int64_t c, const double *log_pi, double *z)
{
    double most = -INFINITY, sum = 0;

    for (int64_t k = 0; k < c; k++) {
        z[k] += log_pi[k];
        most = fmax(most, z[k]);
    }
    for (int64_t k = 0; k < c; k++)
        sum += z[k] = exp(z[k] - most);
    for (int64_t k = 0; k < c; k++)
        z[k] /= sum;
    return most + log(sum);
}

void ferry_i_mixture_apply(ferry_ctx *ctx, const ttl_mixture *m, const ferry_matrix *x,
                           ferry_block *g)
{
    ferry_e(ctx)->mul(ctx, 1, x, m->l, 0, g);
    for (int64_t i = 0; i < g->rows; i++)
        (void)ferry_i_soften(g->k, m->log_pi, FERRY_ROW(g, i));
}

/* next <- G of the mixture; *moved: the largest change from g; *sum: the data's part of J. */
static ferry_status e_step(ferry_ctx *ctx, const ttl_mixture *m, const ferry_matrix *x,
                           const int32_t *known, const ferry_block *g, ferry_block *next,
                           double *moved, double *sum)
{
    const int64_t c = g->k;

    *moved = *sum = 0;
    ferry_e(ctx)->mul(ctx, 1, x, m->l, 0, next);
    for (int64_t i = 0; i < g->rows; i++) {
        double *z = FERRY_ROW(next, i);
        const int32_t cls = known ? known[i] : -1;
        if (cls >= 0) {
            *sum += z[cls] + m->log_pi[cls];
            for (int64_t k = 0; k < c; k++)
                z[k] = (double)(k == cls);
        } else {
            *sum += ferry_i_soften(c, m->log_pi, z);
        }
        for (int64_t k = 0; k < c; k++)
            *moved = fmax(*moved, fabs(z[k] - FERRY_ROW(g, i)[k]));
    }
    FERRY_PASS(ferry_i_most_rows(ctx, x, 1, moved));
    return ferry_i_sum_rows(ctx, x, 1, sum);
}

/* q and the sum of x. */
static ferry_status word_shares(ferry_ctx *ctx, const ferry_matrix *x, double *q,
                                double *total)
{
    *total = 0;
    for (int64_t e = 0; e < x->nnz; e++) {
        q[x->index[e]] += x->value[e];
        *total += x->value[e];
    }
    FERRY_PASS(ferry_i_sum_rows(ctx, x, x->cols, q));
    FERRY_PASS(ferry_i_sum_rows(ctx, x, 1, total));
    for (int64_t j = 0; *total > 0 && j < x->cols; j++)
        q[j] /= *total;
    return FERRY_OK;
}

ferry_status ferry_i_settle(ferry_ctx *ctx, const ttl_settle_options *o, ferry_matrix *x,
                            const int32_t *known, ferry_block *g, ttl_mixture *out,
                            int64_t *steps, double *objective)
{
    ferry_status st = FERRY_OK;
    const int64_t m = x->cols, c = g->k;
    ttl_mixture own = {0};
    ferry_block *next = NULL;
    double *q = ferry_i_calloc(m, sizeof *q), *sums = ferry_i_calloc(c, sizeof *sums);
    double total = 0, moved = INFINITY;
    int64_t done = 0;
    bool finish = false;

    if (steps) *steps = 0;
    if (!q || !sums) FERRY_TRY(ferry_i_nomem(ctx));
    FERRY_TRY(ferry_i_matrix_index(ctx, x));
    FERRY_TRY(ferry_i_block_new(ctx, m, c, &own.l));
    FERRY_TRY(ferry_i_block_new(ctx, x->rows, c, &next));
    own.log_pi = ferry_i_calloc(c, sizeof *own.log_pi);
    if (!own.log_pi) FERRY_TRY(ferry_i_nomem(ctx));
    FERRY_TRY(word_shares(ctx, x, q, &total));
    for (int64_t i = 0; known && i < g->rows; i++)
        for (int64_t k = 0; known[i] >= 0 && k < c; k++)
            FERRY_ROW(g, i)[k] = (double)(k == known[i]);
    while (ferry_i_all_rows(x) > 0 && done < o->iterations && !(moved < o->tol) &&
           !finish) {
        const double s = o->eta * total / (double)c;
        double prior = 0, data = 0;
        FERRY_TRY(m_step(ctx, o, x, q, s, g, &own, sums, &prior));
        FERRY_TRY(e_step(ctx, &own, x, known, g, next, &moved, &data));
        if (objective) objective[done] = data + o->beta * s * prior;
        ferry_i_block_copy(next, g);
        done++;
        FERRY_TRY(ferry_i_progress(ctx, "settling", done, o->iterations, NAN, &finish));
    }
    if (steps) *steps = done;
    if (out) {
        *out = own;
        own = (ttl_mixture){0};
    }
done:
    ferry_i_mixture_clear(&own);
    FERRY_FREE(next, q, sums);
    return st;
}

/* ---- agreement ---- */

ferry_status ferry_i_kappa(ferry_ctx *ctx, int64_t n, const int32_t *a, const int32_t *b,
                           int64_t c, double *kappa)
{
    ferry_status st = FERRY_OK;
    double *of_a = NULL; /* counts: of a's classes, of b's, of rows that agree, of rows */

    *kappa = 0;
    FERRY_NEW(ctx, of_a, 2 * c + 2);
    double *of_b = of_a + c, *same = of_b + c, *rows = same + 1, chance = 0;
    for (int64_t i = 0; i < n; i++) {
        of_a[a[i]]++;
        of_b[b[i]]++;
        *same += a[i] == b[i];
    }
    *rows = (double)n;
    FERRY_TRY(ferry_i_ranks_sum(ctx, 2 * c + 2, of_a));
    bool constant = *rows == 0;
    for (int64_t k = 0; k < c; k++) {
        chance += of_a[k] / *rows * (of_b[k] / *rows);
        constant = constant || of_a[k] == *rows || of_b[k] == *rows;
    }
    if (!constant) *kappa = (*same / *rows - chance) / (1 - chance);
done:
    ferry_i_free(of_a);
    return st;
}

typedef struct mass {
    double sum;
    int64_t column;
} mass;

static int heavier_first(const void *a, const void *b)
{
    const mass *x = a, *y = b;

    if (x->sum != y->sum) return x->sum < y->sum ? 1 : -1;
    return x->column < y->column ? -1 : 1;
}

ferry_status ferry_i_halves(ferry_ctx *ctx, int64_t n, const ferry_matrix *const *x,
                            int64_t m, uint8_t *half)
{
    ferry_status st = FERRY_OK;
    mass *all = NULL;
    double most = 0, *sum = NULL;

    FERRY_NEW(ctx, all, m);
    FERRY_NEW(ctx, sum, m);
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = 0; e < x[i]->nnz; e++)
            sum[x[i]->index[e]] += x[i]->value[e];
    FERRY_TRY(ferry_i_ranks_sum(ctx, m, sum));
    /* Sums that differ by rounding alone are equal: the order of rows must not matter. */
    for (int64_t j = 0; j < m; j++)
        most = fmax(most, sum[j]);
    for (int64_t j = 0; j < m; j++)
        all[j] = (mass){most > 0 ? floor(sum[j] / most * 1e11 + 0.5) : 0, j};
    qsort(all, (size_t)m, sizeof *all, heavier_first);
    for (int64_t j = 0; j < m; j++)
        half[all[j].column] = j % 2 == 0 ? 1 : 2;
done:
    FERRY_FREE(all, sum);
    return st;
}
