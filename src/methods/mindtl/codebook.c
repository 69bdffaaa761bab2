/* Codebooks: mean ratings of blocks, and the hard two-way k-means that finds the blocks.
 *
 * Why means of blocks and not the factor B: with orthonormal U and V its entries are scaled
 * by the roots of the groups' sizes, otherwise by any diagonal. Hard groups of the target
 * need numbers in rating units, and given the groups the block mean is the best such
 * number. */
#include <math.h>
#include <string.h>

#include "methods/mindtl/mindtl.h"

/* S and N (both k x l): sums and counts of the blocks. Cells of one rating each; O(nnz). s
 * and n must be zero on entry. */
static void block_sums(const ferry_matrix *x, int64_t l, const int32_t *u, const int32_t *v,
                       double *s, double *n)
{
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            const int64_t at = u[i] * l + v[x->index[e]];
            s[at] += x->value[e];
            n[at]++;
        }
    }
}

/* The shrunken mean of `count` entries `stride` apart. beta ratings of `mean` are added to
 * it; nothing at all gives `mean`. */
static double line_mean(int64_t count, int64_t stride, const double *s, const double *n,
                        double beta, double mean)
{
    double sum = beta * mean, weight = beta;

    for (int64_t i = 0; i < count; i++) {
        sum += s[i * stride];
        weight += n[i * stride];
    }
    return weight > 0 ? sum / weight : mean;
}

/* Given the groups, the block means are the R of least squares. With k = l = 20 many
 * blocks have few ratings or none: beta ratings of P stand in for what is not known.
 *
 * One piece of memory for all sums. Where beta is 0 a block without ratings takes P, never
 * 0 or NaN, which would be read as a rating. */
ferry_status ferry_i_mindtl_block_means(ferry_ctx *ctx, const ferry_matrix *x, int64_t k,
                                        int64_t l, const int32_t *u, const int32_t *v,
                                        double beta, double *r, double *counts)
{
    ferry_status st = FERRY_OK;
    double *s = ferry_i_calloc(2 * k * l + k + l, sizeof *s), *n = s + k * l;
    double *row = n + k * l, *col = row + k, mean = 0;

    FERRY_HAVE(ctx, s);
    block_sums(x, l, u, v, s, n);
    /* The mean of all ratings, not shrunken. */
    mean = line_mean(k * l, 1, s, n, 0, 0);
    for (int64_t c = 0; c < k; c++)
        row[c] = line_mean(l, 1, s + c * l, n + c * l, beta, mean);
    for (int64_t d = 0; d < l; d++)
        col[d] = line_mean(k, l, s + d, n + d, beta, mean);
    for (int64_t i = 0; i < k * l; i++) {
        const double p = row[i / l] + col[i % l] - mean;
        r[i] = n[i] + beta > 0 ? (s[i] + beta * p) / (n[i] + beta) : p;
        if (counts) counts[i] = n[i];
    }
done:
    ferry_i_free(s);
    return st;
}

/* F = sum over the ratings of (x_ij - R[u(i), v(j)])^2. O(nnz), for hard groups. */
static double distance(const ferry_matrix *x, int64_t l, const double *r, const int32_t *u,
                       const int32_t *v)
{
    double f = 0;

    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            const double d = x->value[e] - r[u[i] * l + v[x->index[e]]];
            f += d * d;
        }
    }
    return f;
}

/* Each of the four half steps can only lower F, and there are finitely many labels: it
 * ends. The means are taken again before the columns move, which saves sweeps.
 *
 * u, v: the start and the result. O(sweeps (nnz + (n + m) k l)). */
ferry_status ferry_i_mindtl_polish(ferry_ctx *ctx, const observed *x, int64_t k, int64_t l,
                                   int64_t sweeps, int32_t *u, int32_t *v, double *f)
{
    ferry_status st = FERRY_OK;
    const int64_t n = x->x->rows, m = x->x->cols;
    double *r = ferry_i_calloc(k * l, sizeof *r);
    int32_t *before = ferry_i_calloc(n + m, sizeof *before);
    mindtl_part part = {k, l, r, u, v};
    const double one = 1;

    FERRY_HAVE(ctx, r && before);
    for (int64_t t = 0; t < sweeps; t++) {
        memcpy(before, u, (size_t)n * sizeof *u);
        memcpy(before + n, v, (size_t)m * sizeof *v);
        FERRY_TRY(ferry_i_mindtl_block_means(ctx, x->x, k, l, u, v, 0, r, NULL));
        FERRY_TRY(ferry_i_mindtl_assign(ctx, x, false, 1, &part, 0, &one, false, false));
        FERRY_TRY(ferry_i_mindtl_block_means(ctx, x->x, k, l, u, v, 0, r, NULL));
        FERRY_TRY(ferry_i_mindtl_assign(ctx, x, true, 1, &part, 0, &one, false, false));
        if (memcmp(before, u, (size_t)n * sizeof *u) == 0 &&
            memcmp(before + n, v, (size_t)m * sizeof *v) == 0)
            break; /* nothing moved */
    }
    FERRY_TRY(ferry_i_mindtl_block_means(ctx, x->x, k, l, u, v, 0, r, NULL));
    *f = distance(x->x, l, r, u, v);
done:
    FERRY_FREE(before, r);
    return st;
}
