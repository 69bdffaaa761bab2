/* place, steps 1 to 5 (place.h): the source's geometry, the means of the missing classes,
 * the test of both, and the rows that are surely of a missing class. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "methods/place/place.h"

void ferry_i_placing_fit_clear(place_fit *f)
{
    ferry_i_block_free(f->y);
    ferry_i_block_free(f->means);
    FERRY_FREE(f->index, f->count, f->source, f->m0, f->known);
    *f = (place_fit){0};
}

/* mean (k x q) and count (k) of the labelled rows of each class. */
static void class_means(const place_rows *t, double *count, ferry_block *mean)
{
    memset(count, 0, (size_t)t->k * sizeof *count);
    memset(mean->data, 0, (size_t)(mean->rows * mean->k) * sizeof *mean->data);
    for (int64_t i = 0; i < t->z->rows; i++) {
        if (t->y[i] < 0) continue;
        count[t->y[i]]++;
        for (int64_t j = 0; j < mean->k; j++)
            FERRY_ROW(mean, t->y[i])[j] += FERRY_ROW(t->z, i)[j];
    }
    for (int64_t c = 0; c < t->k; c++)
        for (int64_t j = 0; count[c] > 0 && j < mean->k; j++)
            FERRY_ROW(mean, c)[j] /= count[c];
}

/* ---- 1: the geometry of the source's classes ---- */

/* w <- V L^(-1/4) of the pooled within-class covariance C = V L V', L kept away from 0: half
 * whitening, since whole whitening lets small noisy axes count as much as the wide ones. */
static ferry_status half_whiten(ferry_ctx *ctx, const place_rows *s,
                                const ferry_block *mean, ferry_small **w)
{
    ferry_status st = FERRY_OK;
    const int64_t q = s->z->k;
    ferry_block *r = NULL;
    double *l = NULL, n = 0, sum = 0;

    FERRY_TRY(ferry_i_block_new(ctx, s->z->rows, q, &r));
    for (int64_t i = 0; i < s->z->rows; i++) {
        if (s->y[i] < 0) continue;
        n++;
        for (int64_t j = 0; j < q; j++)
            FERRY_ROW(r, i)[j] = FERRY_ROW(s->z, i)[j] - FERRY_ROW(mean, s->y[i])[j];
    }
    FERRY_NEW(ctx, l, q);
    FERRY_TRY(ferry_i_small_new(ctx, q, q, w));
    ferry_e(ctx)->gram(ctx, r, r, *w);
    for (int64_t e = 0; e < q * q; e++)
        (*w)->data[e] /= n;
    FERRY_TRY(ferry_e(ctx)->eigh(ctx, *w, l));
    for (int64_t j = 0; j < q; j++)
        sum += l[j] = fmax(l[j], 1e-12);
    for (int64_t j = 0; j < q; j++)
        for (int64_t i = 0; i < q; i++)
            FERRY_AT(*w, i, j) *= pow(l[j] + 0.01 * sum / (double)q, -0.25);
done:
    ferry_i_block_free(r);
    ferry_i_free(l);
    return st;
}

ferry_status ferry_i_placing_gram(ferry_ctx *ctx, const place_rows *s, ferry_small **b)
{
    ferry_status st = FERRY_OK;
    const int64_t k = s->k, q = s->z->k;
    ferry_block *mean = NULL, *m = NULL;
    ferry_small *w = NULL;
    double *count = NULL, trace = 0, classes = 0;

    *b = NULL;
    FERRY_NEW(ctx, count, k);
    FERRY_TRY(ferry_i_block_new(ctx, k, q, &mean));
    FERRY_TRY(ferry_i_block_new(ctx, k, q, &m));
    class_means(s, count, mean);
    FERRY_TRY(half_whiten(ctx, s, mean, &w));
    ferry_e(ctx)->bmul(ctx, 1, mean, w, false, 0, m);
    for (int64_t c = 0; c < k; c++)
        classes += count[c] > 0;
    for (int64_t j = 0; j < q; j++) { /* centred over the classes that occur */
        double sum = 0;
        for (int64_t c = 0; c < k; c++)
            sum += count[c] > 0 ? FERRY_ROW(m, c)[j] : 0;
        for (int64_t c = 0; c < k; c++)
            FERRY_ROW(m, c)[j] = count[c] > 0 ? FERRY_ROW(m, c)[j] - sum / classes : 0;
    }
    trace = ferry_e(ctx)->dot(ctx, m, m);
    FERRY_TRY(ferry_i_small_new(ctx, k, k, b));
    for (int64_t c = 0; c < k; c++)
        for (int64_t e = 0; e < k; e++) {
            double g = 0;
            for (int64_t j = 0; j < q; j++)
                g += FERRY_ROW(m, c)[j] * FERRY_ROW(m, e)[j];
            g *= trace > 0 ? (classes - 1) / trace : 0;
            FERRY_AT(*b, c, e) = count[c] > 0 ? 0.9 * g + 0.1 * (c == e) : c == e;
        }
done:
    ferry_i_block_free(mean);
    ferry_i_block_free(m);
    ferry_i_small_free(w);
    ferry_i_free(count);
    return st;
}

/* ---- 2: kriging ---- */

/* a <- (B[order, order] + N^-1)^-1 over the m seen classes, order being places in index. */
static ferry_status inverse(ferry_ctx *ctx, const ferry_small *b, const place_fit *f,
                            const int64_t *order, ferry_small *l, ferry_small *a)
{
    ferry_status st = FERRY_OK;
    const int64_t m = f->m;

    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < m; j++) {
            FERRY_AT(l, i, j) = FERRY_AT(b, f->index[order[i]], f->index[order[j]]) +
                                (i == j ? 1 / f->count[f->index[i]] : 0);
            FERRY_AT(a, i, j) = i == j;
        }
    FERRY_TRY(ferry_e(ctx)->chol(ctx, l));
    ferry_e(ctx)->chol_solve(ctx, l, a);
done:
    return st;
}

/* means[c] <- m0 + B[c, s] A Y for the classes of the source that have no label here. */
static void predict_means(const ferry_small *b, const ferry_small *a, place_fit *f)
{
    const int64_t q = f->y->k;

    for (int64_t c = 0; c < f->k; c++) {
        if (f->count[c] > 0 || !f->source[c]) continue;
        double *to = FERRY_ROW(f->means, c);
        memcpy(to, f->m0, (size_t)q * sizeof *to);
        for (int64_t i = 0; i < f->m; i++) {
            double w = 0;
            for (int64_t j = 0; j < f->m; j++)
                w += FERRY_AT(b, c, f->index[j]) * FERRY_AT(a, j, i);
            for (int64_t j = 0; j < q; j++)
                to[j] += w * FERRY_ROW(f->y, i)[j];
        }
    }
}

/* Seen classes keep their own means: a few labels say more than a prediction. */
ferry_status ferry_i_placing_krige(ferry_ctx *ctx, const place_rows *t,
                                   const ferry_small *b, const uint8_t *has, place_fit *f)
{
    ferry_status st = FERRY_OK;
    const int64_t k = t->k, q = t->z->k;
    ferry_small *l = NULL, *a = NULL;
    int64_t *order = NULL;

    f->k = k;
    FERRY_NEW(ctx, f->index, k);
    FERRY_NEW(ctx, f->count, k);
    FERRY_NEW(ctx, f->source, k);
    FERRY_NEW(ctx, f->known, k);
    FERRY_NEW(ctx, f->m0, q);
    FERRY_NEW(ctx, order, k);
    FERRY_TRY(ferry_i_block_new(ctx, k, q, &f->means));
    class_means(t, f->count, f->means);
    for (int64_t i = 0; i < t->z->rows; i++)
        for (int64_t j = 0; j < q; j++)
            f->m0[j] += FERRY_ROW(t->z, i)[j] / (double)t->z->rows;
    for (int64_t c = 0; c < k; c++) {
        order[c] = c;
        f->source[c] = has[c];
        f->known[c] = has[c] || f->count[c] > 0;
        if (has[c] && f->count[c] > 0) f->index[f->m++] = c;
    }
    FERRY_TRY(ferry_i_block_new(ctx, f->m, q, &f->y));
    for (int64_t i = 0; i < f->m; i++)
        for (int64_t j = 0; j < q; j++)
            FERRY_ROW(f->y, i)[j] = FERRY_ROW(f->means, f->index[i])[j] - f->m0[j];
    FERRY_TRY(ferry_i_small_new(ctx, f->m, f->m, &l));
    FERRY_TRY(ferry_i_small_new(ctx, f->m, f->m, &a));
    FERRY_TRY(inverse(ctx, b, f, order, l, a));
    predict_means(b, a, f);
done:
    ferry_i_small_free(l);
    ferry_i_small_free(a);
    ferry_i_free(order);
    return st;
}

/* ---- 3: the test ---- */

/* R2 of each seen class predicted from the others: the error of class k is [A Y]_k / A_kk. */
static ferry_status left_out(ferry_ctx *ctx, const ferry_small *b, const place_fit *f,
                             const int64_t *order, ferry_small *l, ferry_small *a,
                             double *r2)
{
    ferry_status st = FERRY_OK;
    double wrong = 0, all = 0;

    FERRY_TRY(inverse(ctx, b, f, order, l, a));
    for (int64_t i = 0; i < f->m; i++)
        for (int64_t j = 0; j < f->y->k; j++) {
            double e = 0;
            for (int64_t h = 0; h < f->m; h++)
                e += FERRY_AT(a, i, h) * FERRY_ROW(f->y, h)[j];
            e /= FERRY_AT(a, i, i);
            wrong += e * e;
            all += FERRY_ROW(f->y, i)[j] * FERRY_ROW(f->y, i)[j];
        }
    *r2 = all > 0 ? 1 - wrong / all : 0;
done:
    return st;
}

/* The next permutation in the order of words; false after the last. */
static bool next_permutation(int64_t m, int64_t *a)
{
    int64_t i = m - 2, j = m - 1;

    while (i >= 0 && a[i] > a[i + 1])
        i--;
    if (i < 0) return false;
    while (a[j] < a[i])
        j--;
    const int64_t x = a[i];
    a[i] = a[j];
    a[j] = x;
    for (i++, j = m - 1; i < j; i++, j--) {
        const int64_t y = a[i];
        a[i] = a[j];
        a[j] = y;
    }
    return true;
}

/* All permutations up to 7 classes, which count the names as they are among themselves; else
 * 999 draws. O(permutations m^2 (m + q)). */
ferry_status ferry_i_placing_test(ferry_ctx *ctx, const ferry_small *b, ferry_rng *rng,
                                  place_fit *f)
{
    ferry_status st = FERRY_OK;
    const bool all = f->m <= 7;
    ferry_small *l = NULL, *a = NULL;
    int64_t *order = NULL, as_good = 0, n = 0;
    double r2 = 0;

    f->p = 1;
    f->r2 = 0;
    if (f->m < 2) return FERRY_OK;
    FERRY_NEW(ctx, order, f->m);
    FERRY_TRY(ferry_i_small_new(ctx, f->m, f->m, &l));
    FERRY_TRY(ferry_i_small_new(ctx, f->m, f->m, &a));
    for (int64_t i = 0; i < f->m; i++)
        order[i] = i;
    FERRY_TRY(left_out(ctx, b, f, order, l, a, &f->r2));
    do {
        if (!all) ferry_i_rng_shuffle(rng, f->m, order);
        FERRY_TRY(left_out(ctx, b, f, order, l, a, &r2));
        as_good += r2 >= f->r2 - 1e-12;
        n++;
    } while (all ? next_permutation(f->m, order) : n < PLACE_DRAWS);
    f->permutations = n;
    f->p = all ? (double)as_good / (double)n : (double)(as_good + 1) / (double)(n + 1);
done:
    ferry_i_small_free(l);
    ferry_i_small_free(a);
    ferry_i_free(order);
    return st;
}

/* ---- 4 and 5: means among the rows, and sure rows ---- */

static double distance2(int64_t q, const double *a, const double *b)
{
    double sum = 0;

    for (int64_t j = 0; j < q; j++)
        sum += (a[j] - b[j]) * (a[j] - b[j]);
    return sum;
}

int32_t ferry_i_placing_nearest(const place_fit *f, int64_t q, const double *x)
{
    double least = INFINITY;
    int32_t at = -1;

    for (int64_t c = 0; c < f->k; c++) {
        if (!f->known[c]) continue;
        const double d = distance2(q, x, FERRY_ROW(f->means, c));
        if (d < least) {
            least = d;
            at = (int32_t)c;
        }
    }
    return at;
}

/* A class that no row is nearest to keeps its mean. O(n k q) a step. */
ferry_status ferry_i_placing_lloyd(ferry_ctx *ctx, const place_rows *t, place_fit *f)
{
    ferry_status st = FERRY_OK;
    const int64_t n = t->z->rows, q = t->z->k;
    int32_t *cls = NULL;
    double *count = NULL;
    ferry_block *mean = NULL;

    FERRY_NEW(ctx, cls, n);
    FERRY_NEW(ctx, count, t->k);
    FERRY_TRY(ferry_i_block_new(ctx, t->k, q, &mean));
    const place_rows now = {t->z, cls, t->k};
    for (int step = 0; step < PLACE_STEPS; step++) {
        for (int64_t i = 0; i < n; i++)
            cls[i] =
                t->y[i] >= 0 ? t->y[i] : ferry_i_placing_nearest(f, q, FERRY_ROW(t->z, i));
        class_means(&now, count, mean);
        for (int64_t c = 0; c < t->k; c++)
            if (count[c] > 0)
                memcpy(FERRY_ROW(f->means, c), FERRY_ROW(mean, c),
                       (size_t)q * sizeof *mean->data);
    }
done:
    FERRY_FREE(cls, count);
    ferry_i_block_free(mean);
    return st;
}

/* A row and how far it is from a mean. */
typedef struct candidate {
    double d;
    int64_t row;
} candidate;

static int by_distance(const void *a, const void *b)
{
    const candidate *x = a, *y = b;

    if (x->d != y->d) return x->d < y->d ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* The nearest rows without a label that are nearest to this mean among all; where there is
 * none, those of the nearest five rows that have no label. */
ferry_status ferry_i_placing_seeds(ferry_ctx *ctx, const place_rows *t, const place_fit *f,
                                   int64_t **row, int32_t **cls, int64_t *n)
{
    ferry_status st = FERRY_OK;
    const int64_t rows = t->z->rows, q = t->z->k;
    candidate *own = NULL;
    int32_t *near = NULL;

    *n = 0;
    FERRY_NEW(ctx, *row, t->k * PLACE_SEEDS);
    FERRY_NEW(ctx, *cls, t->k * PLACE_SEEDS);
    FERRY_NEW(ctx, own, rows);
    FERRY_NEW(ctx, near, rows);
    for (int64_t i = 0; i < rows; i++)
        near[i] = ferry_i_placing_nearest(f, q, FERRY_ROW(t->z, i));
    for (int64_t c = 0; c < t->k; c++) {
        int64_t m = 0;
        if (!f->known[c] || f->count[c] > 0) continue;
        for (int64_t i = 0; i < rows; i++)
            if (t->y[i] < 0 && near[i] == c)
                own[m++] = (candidate){
                    distance2(q, FERRY_ROW(t->z, i), FERRY_ROW(f->means, c)), i};
        for (int64_t i = 0; m == 0 && i < rows; i++)
            own[i] =
                (candidate){distance2(q, FERRY_ROW(t->z, i), FERRY_ROW(f->means, c)), i};
        qsort(own, (size_t)(m > 0 ? m : rows), sizeof *own, by_distance);
        for (int64_t i = 0; i < PLACE_SEEDS && i < (m > 0 ? m : rows); i++) {
            if (t->y[own[i].row] >= 0) continue;
            (*row)[*n] = own[i].row;
            (*cls)[(*n)++] = (int32_t)c;
        }
    }
done:
    FERRY_FREE(own, near);
    return st;
}
