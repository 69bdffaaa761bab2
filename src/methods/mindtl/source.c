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

    FERRY_NEED(ctx, c, FERRY_ENOMEM, "no memory for %lld rows", (long long)x->rows);
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
    FERRY_NEED(ctx, row && col && rows, FERRY_ENOMEM, "no memory for a source");
    FERRY_TRY(fullest(ctx, x->x, most, row));
    FERRY_TRY(fullest(ctx, x->xt, most, col));
    for (int64_t i = 0; i < x->x->rows; i++)
        if (row[i]) rows[n++] = i;
    for (int64_t j = 0; j < x->x->cols; j++)
        col[j] = col[j] ? m++ : -1;
    FERRY_TRY(ferry_i_matrix_take(ctx, x->x, n, rows, m, col, &out->x));
    FERRY_TRY(ferry_i_transpose(ctx, out->x, &out->xt));
done:
    ferry_i_free(row);
    ferry_i_free(col);
    ferry_i_free(rows);
    if (st != FERRY_OK) ferry_i_observed_clear(out);
    return st;
}

/* ---- extraction ---- */

/* Random U, V in [0.1, 1.1), B in [0.5, 1.5) scaled so that the mean of Xh is that of X;
 * then the sweeps; then labels. */
static ferry_status ionmtf(ferry_ctx *ctx, const observed *x, int64_t sweeps,
                           mindtl_factors *f, mindtl_work *w, ferry_rng *rng, int32_t *u,
                           int32_t *v)
{
    ferry_status st = FERRY_OK;
    double mean = 0, fitted = 0;

    ferry_i_fill_uniform(f->u, rng, 0.1, 1.1);
    ferry_i_fill_uniform(f->v, rng, 0.1, 1.1);
    for (int64_t i = 0; i < f->b->rows * f->b->cols; i++)
        f->b->data[i] = 0.5 + ferry_i_rng_real(rng);
    (void)ferry_i_mindtl_objective(ctx, x, f, w);
    for (int64_t e = 0; e < x->x->nnz; e++) {
        mean += x->x->value[e];
        fitted += w->h->value[e];
    }
    for (int64_t i = 0; fitted > 0 && i < f->b->rows * f->b->cols; i++)
        f->b->data[i] *= mean / fitted;
    for (int64_t t = 0; t < sweeps; t++)
        ferry_i_mindtl_sweep(ctx, x, RULE_PAPER, f, w);
    FERRY_TRY(ferry_i_mindtl_harden(ctx, f->u, u));
    FERRY_TRY(ferry_i_mindtl_harden(ctx, f->v, v));
done:
    return st;
}

static void random_labels(ferry_rng *rng, int64_t n, int64_t k, int32_t *label)
{
    for (int64_t i = 0; i < n; i++)
        label[i] = (int32_t)ferry_i_rng_below(rng, (uint64_t)k);
}

/* The best of the restarts by F after the polish; R with beta. */
static ferry_status extract(ferry_ctx *ctx, const observed *x, const mindtl_options *o,
                            bool factors, ferry_rng *rng, mindtl_codebook *b)
{
    ferry_status st = FERRY_OK;
    const int64_t n = x->x->rows, m = x->x->cols;
    int32_t *u = ferry_i_calloc(n + m, sizeof *u), *v = u + n;
    double least = INFINITY, f = 0;
    mindtl_factors uv = {NULL, NULL, NULL};
    mindtl_work w = {.h = NULL};

    FERRY_NEED(ctx, u, FERRY_ENOMEM, "no memory for labels");
    if (factors) {
        FERRY_TRY(ferry_i_mindtl_factors_new(ctx, n, m, b->k, b->l, &uv));
        FERRY_TRY(ferry_i_mindtl_work_new(ctx, x, b->k, b->l, &w));
    }
    for (int64_t q = 0; q < o->restarts; q++) {
        if (factors) {
            FERRY_TRY(ionmtf(ctx, x, o->sweeps, &uv, &w, rng, u, v));
        } else {
            random_labels(rng, n, b->k, u);
            random_labels(rng, m, b->l, v);
        }
        FERRY_TRY(ferry_i_mindtl_polish(ctx, x, b->k, b->l, o->polish, u, v, &f));
        if (f >= least) continue;
        least = f;
        FERRY_TRY(
            ferry_i_mindtl_block_means(ctx, x->x, b->k, b->l, u, v, o->beta, b->r, NULL));
    }
done:
    ferry_i_mindtl_work_clear(&w);
    ferry_i_mindtl_factors_clear(&uv);
    ferry_i_free(u);
    return st;
}

/* x less its biases, in place. */
static ferry_status take_bias(ferry_ctx *ctx, double lambda, observed *x)
{
    ferry_status st = FERRY_OK;
    double *a = ferry_i_calloc(x->x->rows + x->x->cols, sizeof *a), mu = 0;
    ferry_matrix *t = NULL;

    FERRY_NEED(ctx, a, FERRY_ENOMEM, "no memory for biases");
    FERRY_TRY(ferry_i_bias(ctx, x, lambda, 10, &mu, a, a + x->x->rows));
    ferry_i_bias_residuals(x->x, mu, a, a + x->x->rows, x->x->value);
    FERRY_TRY(ferry_i_transpose(ctx, x->x, &t));
    ferry_i_matrix_free(x->xt);
    x->xt = t;
done:
    ferry_i_free(a);
    return st;
}

ferry_status ferry_i_mindtl_codebook(ferry_ctx *ctx, const ferry_domain *source,
                                     const ferry_ratings *target, const mindtl_options *o,
                                     mindtl_mode mode, int64_t copy, mindtl_codebook *out)
{
    ferry_status st = FERRY_OK;
    const ferry_ratings *s = source->ratings;
    const double f = s->hi > s->lo ? (target->hi - target->lo) / (s->hi - s->lo) : 1;
    const double below = fmin(target->lo, 0); /* (3)-(5) want ratings >= 0 */
    observed all = {NULL, NULL}, x = {NULL, NULL};
    char use[64];
    ferry_rng rng;

    *out = (mindtl_codebook){0, 0, NULL};
    FERRY_NEED(ctx, isfinite(s->lo), FERRY_ENEEDS,
               "mindtl needs ratings in every source; source '%s' has none with a value",
               source->name);
    FERRY_TRY(ferry_i_observed_new(ctx, s, f, target->lo - f * s->lo - below, &all));
    FERRY_TRY(densest(ctx, &all, o->most, &x));
    if (mode == MODE_FERRY) FERRY_TRY(take_bias(ctx, o->bias, &x));
    out->k = o->k < x.x->rows ? o->k : x.x->rows;
    out->l = o->l < x.x->cols ? o->l : x.x->cols;
    out->r = ferry_i_calloc(out->k * out->l, sizeof *out->r);
    FERRY_NEED(ctx, out->r, FERRY_ENOMEM, "no memory for a codebook");
    (void)snprintf(use, sizeof use, "mindtl/source/%lld", (long long)copy);
    ferry_i_rng_for(ctx, &rng, use);
    FERRY_TRY(
        extract(ctx, &x, o, mode == MODE_PAPER && o->extract == EXTRACT_IONMTF, &rng, out));
    for (int64_t i = 0; mode == MODE_PAPER && i < out->k * out->l; i++)
        out->r[i] += below;
done:
    ferry_i_observed_clear(&x);
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
