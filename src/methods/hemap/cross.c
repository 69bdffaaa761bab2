/* Spaces tied by what is known: classes, quantiles of a number, or rows that are the same
 * thing. (5.4) ties row i of T to row i of S, whatever they are, through T'S; here C stands
 * for T'S / N with
 *
 *   rows known:    C = T_P'S_P / |P|
 *   groups known:  C = sum_c pi_c mu_T,c mu_S,c'
 *
 * the second being what the first is expected to be when rows are paired at random within
 * matching groups. Neither depends on the order of the rows, N_T and N_S may differ, and
 * the embedding uses an instance's own features only.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "methods/hemap/hemap.h"

/* mean (g x k) of the rows of each group, count (g). */
static void group_means(const ferry_block *x, const int32_t *group, ferry_block *mean,
                        int64_t *count)
{
    for (int64_t i = 0; i < x->rows; i++) {
        if (group[i] < 0 || group[i] >= mean->rows) continue;
        count[group[i]]++;
        for (int64_t j = 0; j < x->k; j++)
            FERRY_ROW(mean, group[i])[j] += FERRY_ROW(x, i)[j];
    }
    for (int64_t c = 0; c < mean->rows; c++)
        for (int64_t j = 0; j < x->k && count[c] > 0; j++)
            FERRY_ROW(mean, c)[j] /= (double)count[c];
}

ferry_status ferry_i_hemap_cross_groups(ferry_ctx *ctx, const ferry_block *t,
                                        const int32_t *gt, const ferry_block *s,
                                        const int32_t *gs, int64_t g, ferry_small *c,
                                        int64_t *used)
{
    ferry_status st = FERRY_OK;
    ferry_block *mt = NULL, *ms = NULL;
    int64_t *nt = ferry_i_calloc(g, sizeof *nt), *ns = ferry_i_calloc(g, sizeof *ns);
    int64_t all = 0;

    *used = 0;
    FERRY_HAVE(ctx, nt && ns);
    FERRY_TRY(ferry_i_block_new(ctx, g, t->k, &mt));
    FERRY_TRY(ferry_i_block_new(ctx, g, s->k, &ms));
    group_means(t, gt, mt, nt);
    group_means(s, gs, ms, ns);
    for (int64_t i = 0; i < g; i++)
        if (nt[i] > 0 && ns[i] > 0) {
            all += nt[i];
            (*used)++;
        }
    for (int64_t i = 0; i < g; i++) { /* pi_c into the target's mean; 0 for the others */
        const double pi = nt[i] > 0 && ns[i] > 0 ? (double)nt[i] / (double)all : 0;
        for (int64_t j = 0; j < t->k; j++)
            FERRY_ROW(mt, i)[j] *= pi;
    }
    ferry_e(ctx)->gram(ctx, mt, ms, c);
done:
    ferry_i_block_free(ms);
    ferry_i_block_free(mt);
    ferry_i_free(ns);
    ferry_i_free(nt);
    return st;
}

ferry_status ferry_i_hemap_cross_rows(ferry_ctx *ctx, const ferry_block *t,
                                      const ferry_block *s, int64_t n, const int64_t *pt,
                                      const int64_t *ps, ferry_small *c)
{
    ferry_status st = FERRY_OK;
    ferry_block *tp = NULL, *sp = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, n, t->k, &tp));
    FERRY_TRY(ferry_i_block_new(ctx, n, s->k, &sp));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < t->k; j++)
            FERRY_ROW(tp, i)[j] = FERRY_ROW(t, pt[i])[j] / (double)n;
        memcpy(FERRY_ROW(sp, i), FERRY_ROW(s, ps[i]), (size_t)s->k * sizeof *s->data);
    }
    ferry_e(ctx)->gram(ctx, tp, sp, c);
done:
    ferry_i_block_free(sp);
    ferry_i_block_free(tp);
    return st;
}

/* ---- quantiles ---- */

typedef struct ranked {
    double y;
    int64_t i;
} ranked;

static int by_number(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->y != y->y) return x->y < y->y ? -1 : 1;
    return x->i < y->i ? -1 : x->i > y->i;
}

ferry_status ferry_i_hemap_quantiles(ferry_ctx *ctx, int64_t n, const double *y, int64_t g,
                                     int32_t *group)
{
    ferry_status st = FERRY_OK;
    ranked *r = ferry_i_calloc(n, sizeof *r);
    int64_t known = 0;

    FERRY_HAVE(ctx, r);
    for (int64_t i = 0; i < n; i++) {
        group[i] = -1;
        if (!isnan(y[i])) r[known++] = (ranked){y[i], i};
    }
    qsort(r, (size_t)known, sizeof *r, by_number);
    for (int64_t i = 0; i < known; i++)
        group[r[i].i] = (int32_t)(i * g / known);
done:
    ferry_i_free(r);
    return st;
}

/* ---- the two embeddings ---- */

ferry_status ferry_i_hemap_paired(ferry_ctx *ctx, const ferry_small *kt,
                                  const ferry_small *ks, const ferry_small *c, double beta,
                                  int64_t k, double *values, ferry_small *v)
{
    ferry_status st = FERRY_OK;
    const int64_t m = kt->rows, n = ks->rows, q = m + n;
    const double own = (4 + beta * beta) / 2, cross = 2 * beta;
    ferry_small *a = NULL;
    double *w = ferry_i_calloc(q, sizeof *w);

    FERRY_HAVE(ctx, w);
    FERRY_TRY(ferry_i_small_new(ctx, q, q, &a));
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < m; i++)
            FERRY_AT(a, i, j) = own * FERRY_AT(kt, i, j);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            FERRY_AT(a, m + i, m + j) = own * FERRY_AT(ks, i, j);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            FERRY_AT(a, i, m + j) = FERRY_AT(a, m + j, i) = cross * FERRY_AT(c, i, j);
    FERRY_TRY(ferry_e(ctx)->eigh(ctx, a, w));
    for (int64_t j = 0; j < k; j++) {
        values[j] = w[q - 1 - j];
        for (int64_t i = 0; i < q; i++)
            FERRY_AT(v, i, j) = FERRY_AT(a, i, q - 1 - j);
    }
done:
    ferry_i_small_free(a);
    ferry_i_free(w);
    return st;
}

ferry_status ferry_i_hemap_cca(ferry_ctx *ctx, const double *lt, const double *ls,
                               double rt, double rs, const ferry_small *c, int64_t k,
                               double *corr, ferry_small *wt, ferry_small *ws)
{
    ferry_status st = FERRY_OK;
    const int64_t m = c->rows, n = c->cols, r = m < n ? m : n;
    ferry_small *a = NULL, *u = NULL, *v = NULL;
    double *s = ferry_i_calloc(r, sizeof *s);

    FERRY_HAVE(ctx, s);
    FERRY_TRY(ferry_i_small_new(ctx, m, n, &a));
    FERRY_TRY(ferry_i_small_new(ctx, m, r, &u));
    FERRY_TRY(ferry_i_small_new(ctx, n, r, &v));
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            FERRY_AT(a, i, j) = FERRY_AT(c, i, j) / sqrt((lt[i] + rt) * (ls[j] + rs));
    FERRY_TRY(ferry_e(ctx)->svd(ctx, a, u, s, v));
    for (int64_t j = 0; j < k; j++) {
        corr[j] = s[j];
        for (int64_t i = 0; i < m; i++)
            FERRY_AT(wt, i, j) = FERRY_AT(u, i, j) / sqrt(lt[i] + rt);
        for (int64_t i = 0; i < n; i++)
            FERRY_AT(ws, i, j) = FERRY_AT(v, i, j) / sqrt(ls[i] + rs);
    }
done:
    ferry_i_small_free(v);
    ferry_i_small_free(u);
    ferry_i_small_free(a);
    ferry_i_free(s);
    return st;
}
