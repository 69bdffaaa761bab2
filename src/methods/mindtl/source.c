/* From a source's ratings to its codebook, and what the controls put in its place. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/mindtl/method.h"

/* ---- the densest part ---- */

typedef struct counted {
    int64_t place, count;
} counted;

static int by_count(const void *a, const void *b)
{
    const counted *x = a, *y = b;

    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* keep[i] = 1 for the `most` rows with the most entries. */
static ferry_status fullest(ferry_ctx *ctx, const ferry_matrix *x, int64_t most,
                            int32_t *keep)
{
    ferry_status st = FERRY_OK;
    counted *c = ferry_i_calloc(x->rows, sizeof *c);

    FERRY_HAVE(ctx, c);
    for (int64_t i = 0; i < x->rows; i++)
        c[i] = (counted){i, x->start[i + 1] - x->start[i]};
    qsort(c, (size_t)x->rows, sizeof *c, by_count);
    for (int64_t i = 0; i < x->rows; i++)
        keep[c[i].place] = (most == 0 || i < most) && c[i].count > 0;
done:
    ferry_i_free(c);
    return st;
}

/* The part of x with the fullest rows and columns. */
static ferry_status densest(ferry_ctx *ctx, const observed *x, int64_t most, observed *out)
{
    ferry_status st = FERRY_OK;
    int32_t *row = ferry_i_calloc(x->x->rows, sizeof *row);
    int32_t *col = ferry_i_calloc(x->x->cols, sizeof *col);
    int64_t *rows = ferry_i_calloc(x->x->rows, sizeof *rows), n = 0;
    int32_t m = 0;

    *out = (observed){NULL, NULL};
    FERRY_HAVE(ctx, row && col && rows);
    FERRY_TRY(fullest(ctx, x->x, most, row));
    FERRY_TRY(fullest(ctx, x->xt, most, col));
    for (int64_t i = 0; i < x->x->rows; i++)
        if (row[i]) rows[n++] = i;
    for (int64_t j = 0; j < x->x->cols; j++)
        col[j] = col[j] ? m++ : -1;
    FERRY_TRY(ferry_i_matrix_take(ctx, x->x, n, rows, m, col, &out->x));
    FERRY_TRY(ferry_i_matrix_transpose(ctx, out->x, &out->xt));
done:
    ferry_i_free(row);
    ferry_i_free(col);
    ferry_i_free(rows);
    if (st != FERRY_OK) ferry_i_observed_clear(out);
    return st;
}

/* ---- the codebook ---- */

/* x less its biases, in place. */
static ferry_status take_bias(ferry_ctx *ctx, double lambda, observed *x)
{
    ferry_status st = FERRY_OK;
    double *a = ferry_i_calloc(x->x->rows + x->x->cols, sizeof *a), mu = 0;
    ferry_matrix *t = NULL;

    FERRY_HAVE(ctx, a);
    FERRY_TRY(ferry_i_bias(ctx, x, lambda, 10, &mu, a, a + x->x->rows));
    ferry_i_bias_residuals(x->x, mu, a, a + x->x->rows, x->x->value);
    FERRY_TRY(ferry_i_matrix_transpose(ctx, x->x, &t));
    ferry_i_matrix_free(x->xt);
    x->xt = t;
done:
    ferry_i_free(a);
    return st;
}

ferry_status ferry_i_mindtl_codebook(ferry_ctx *ctx, const ferry_domain *source,
                                     const ferry_ratings *target, const mindtl_options *o,
                                     mindtl_mode mode, int64_t copy, mindtl_run *run,
                                     mindtl_codebook *out)
{
    ferry_status st = FERRY_OK;
    const ferry_ratings *s = source->ratings;
    const double f = s->hi > s->lo ? (target->hi - target->lo) / (s->hi - s->lo) : 1;
    const double below = fmin(target->lo, 0); /* (3)-(5) want ratings >= 0 */
    const bool factors = mode == MODE_PAPER && o->extract != EXTRACT_KMEANS;
    observed all = {NULL, NULL}, part = {NULL, NULL}, x = {NULL, NULL};
    char use[64];
    ferry_rng rng;

    *out = (mindtl_codebook){0, 0, NULL};
    FERRY_NEED(ctx, isfinite(s->lo), FERRY_ENEEDS,
               "mindtl needs ratings in every source; source '%s' has none with a value",
               source->name);
    FERRY_TRY(ferry_i_observed_new(ctx, s, f, target->lo - f * s->lo - below, &all));
    FERRY_TRY(densest(ctx, &all, o->most, &part));
    if (factors && o->extract == EXTRACT_ONMTF)
        FERRY_TRY(ferry_i_mindtl_full_block(ctx, &part, &x));
    else if (factors && o->extract == EXTRACT_DC)
        FERRY_TRY(ferry_i_mindtl_fill(ctx, &part, &x));
    else {
        x = part;
        part = (observed){NULL, NULL};
    }
    if (mode == MODE_FERRY) FERRY_TRY(take_bias(ctx, o->bias, &x));
    out->k = o->k < x.x->rows ? o->k : x.x->rows;
    out->l = o->l < x.x->cols ? o->l : x.x->cols;
    FERRY_NEW(ctx, out->r, out->k * out->l);
    (void)snprintf(use, sizeof use, "mindtl/source/%lld", (long long)copy);
    ferry_i_rng_for(ctx, &rng, use);
    FERRY_TRY(ferry_i_mindtl_extract(ctx, &x, o, factors, &rng, run, out));
    for (int64_t i = 0; mode == MODE_PAPER && i < out->k * out->l; i++)
        out->r[i] += below;
done:
    ferry_i_observed_clear(&x);
    ferry_i_observed_clear(&part);
    ferry_i_observed_clear(&all);
    return st;
}

/* ---- controls ---- */

static void shuffle(ferry_rng *rng, int64_t n, double *a)
{
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = (int64_t)ferry_i_rng_below(rng, (uint64_t)i + 1);
        const double t = a[i];
        a[i] = a[j];
        a[j] = t;
    }
}

static double deviation(int64_t n, const double *a)
{
    double mean = 0, sum = 0;

    for (int64_t i = 0; i < n; i++)
        mean += a[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        sum += (a[i] - mean) * (a[i] - mean);
    return sqrt(sum / (double)n);
}

/* -1.2 .. 1.2 on a scale of 4 */
static double tick(int64_t i, int64_t n)
{
    return n > 1 ? -1.2 + 2.4 * (double)i / (double)(n - 1) : 0;
}

void ferry_i_mindtl_control(ferry_ctx *ctx, mindtl_book book, mindtl_mode mode,
                            const ferry_ratings *target, int64_t number, mindtl_codebook *b)
{
    const double range = target->hi - target->lo;
    const double sd = deviation(b->k * b->l, b->r);
    char use[64];
    ferry_rng rng;

    (void)snprintf(use, sizeof use, "mindtl/control/%lld", (long long)number);
    ferry_i_rng_for(ctx, &rng, use);
    if (book == BOOK_SHUFFLED) shuffle(&rng, b->k * b->l, b->r);
    for (int64_t i = 0; i < b->k * b->l; i++) {
        const double grid =
            target->lo +
            range * (0.625 + (tick(i / b->l, b->k) + tick(i % b->l, b->l)) / 4);
        if (book == BOOK_RANDOM)
            b->r[i] = mode == MODE_PAPER ? target->lo + range * ferry_i_rng_real(&rng)
                                         : sd * ferry_i_rng_normal(&rng);
        if (book == BOOK_GRID) b->r[i] = fmin(fmax(grid, target->lo), target->hi);
    }
}
