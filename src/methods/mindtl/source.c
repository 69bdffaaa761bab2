/* From a source's ratings to its codebook: sorted, mapped to the target's range, cut to
 * the densest part, and (mode soft) without biases; then the extraction.
 *
 * Linear maps of the range keep order and spacing of the ratings. Sorting makes the
 * codebook independent of the order of the file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "methods/mindtl/mindtl.h"

/* ---- the densest part ---- */

/* A row or column and how many ratings it has. */
typedef struct counted {
    int64_t place, count;
} counted;

/* More ratings first; of equals the one with the smaller id. */
static int by_count(const void *a, const void *b)
{
    const counted *x = a, *y = b;

    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* keep[i] = 1 for the `most` rows with the most entries: a pattern needs cells, and a few
 * hundred full rows have more of it than many thousand empty ones. most 0: all that have an
 * entry. Empty rows never stay. */
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

/* The part of x with the fullest rows and columns. Columns are counted in the whole of x,
 * not in the rows that stay: one pass, and enough for a cut. Some rows may end without
 * entries. */
static ferry_status densest(ferry_ctx *ctx, const observed *x, int64_t most, observed *out)
{
    ferry_status st = FERRY_OK;
    int32_t *row = ferry_i_calloc(x->x->rows, sizeof *row);
    int32_t *col = ferry_i_calloc(x->x->cols, sizeof *col);
    int64_t *rows = ferry_i_calloc(x->x->rows, sizeof *rows), n = 0;
    int32_t m = 0;

    *out = (observed){0};
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
    FERRY_FREE(row, col, rows);
    if (st != FERRY_OK) ferry_i_observed_clear(out);
    return st;
}

/* ---- the codebook ---- */

/* x less its biases, in place. Both orientations get the residuals; mu, a and b of a source
 * are of no use afterwards. */
static ferry_status take_bias(ferry_ctx *ctx, double lambda, observed *x)
{
    ferry_status st = FERRY_OK;
    double *a = NULL, *b = NULL, mu = 0;
    ferry_matrix *t = NULL;

    FERRY_NEW(ctx, a, x->x->rows + x->x->cols);
    b = a + x->x->rows;
    FERRY_TRY(ferry_i_bias(ctx, x, lambda, 10, &mu, a, b));
    ferry_i_bias_residuals(ctx, x, mu, a, b, x->x->value);
    FERRY_TRY(ferry_i_matrix_transpose(ctx, x->x, &t));
    ferry_i_matrix_free(x->xt);
    x->xt = t;
done:
    ferry_i_free(a);
    return st;
}

/* The cells that the extraction looks at, on the target's range less `below`. f maps the
 * range; a source with one value only is shifted. `x` is new; the intermediate matrices are
 * freed here. */
static ferry_status cells(ferry_ctx *ctx, const ferry_ratings *r,
                          const ferry_ratings *target, const codebook_options *o,
                          double below, observed *x)
{
    ferry_status st = FERRY_OK;
    const double f = r->hi > r->lo ? (target->hi - target->lo) / (r->hi - r->lo) : 1;
    ferry_ratings *sorted = NULL;
    observed all = {0}, part = {0};

    FERRY_TRY(ferry_i_ratings_sorted(ctx, r, &sorted));
    FERRY_TRY(ferry_i_observed_new(ctx, sorted, f, target->lo - f * r->lo - below, &all));
    FERRY_TRY(densest(ctx, &all, o->most, &part));
    if (o->mode == MODE_PAPER && o->extract == EXTRACT_ONMTF)
        FERRY_TRY(ferry_i_mindtl_full_block(ctx, &part, x));
    else if (o->mode == MODE_PAPER && o->extract == EXTRACT_DC)
        FERRY_TRY(ferry_i_mindtl_fill(ctx, &part, x));
    else {
        *x = part;
        part = (observed){0};
    }
    if (o->mode == MODE_SOFT) FERRY_TRY(take_bias(ctx, o->bias, x));
done:
    ferry_i_ratings_free(sorted);
    ferry_i_observed_clear(&part);
    ferry_i_observed_clear(&all);
    return st;
}

/* Copies of a codebook differ in their random numbers alone.
 *
 * k and l never exceed the rows and columns that there are. In mode ferry residuals are
 * signed: `below` matters only to the multiplicative updates, and is put back for mode
 * paper. */
ferry_status ferry_i_mindtl_codebook(ferry_ctx *ctx, const ferry_domain *source,
                                     const ferry_ratings *target, const codebook_options *o,
                                     int64_t copy, mindtl_run *run, codebook *out)
{
    ferry_status st = FERRY_OK;
    const double below = fmin(target->lo, 0); /* (3)-(5) want ratings >= 0 */
    const bool factors = o->mode == MODE_PAPER && o->extract != EXTRACT_KMEANS;
    observed x = {0};
    char use[64];
    ferry_rng rng;

    *out = (codebook){0, 0, NULL};
    FERRY_NEED(ctx, isfinite(source->ratings->lo), FERRY_ENEEDS,
               "mindtl needs ratings in every source; source '%s' has none with a value",
               source->name);
    FERRY_TRY(cells(ctx, source->ratings, target, o, below, &x));
    out->k = o->k < x.x->rows ? o->k : x.x->rows;
    out->l = o->l < x.x->cols ? o->l : x.x->cols;
    FERRY_NEW(ctx, out->r, out->k * out->l);
    (void)snprintf(use, sizeof use, "mindtl/source/%lld", (long long)copy);
    ferry_i_rng_for(ctx, &rng, use);
    FERRY_TRY(ferry_i_mindtl_extract(ctx, &x, o, factors, &rng, run, out));
    for (int64_t i = 0; o->mode == MODE_PAPER && i < out->k * out->l; i++)
        out->r[i] += below;
done:
    ferry_i_observed_clear(&x);
    return st;
}
