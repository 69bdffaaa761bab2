/* Groups of a source's users and items: which cells the four extractions see, and the
 * best of some starts.
 *
 *   ionmtf    the masked updates on what was observed
 *   onmtf     ONMTF on the largest part without a hole
 *   dc-onmtf  ONMTF after every hole got the mean of the user's ratings
 *   kmeans    random labels; the two-way k-means does the work
 *
 * All end in the two-way k-means (polish).
 *
 * Only ionmtf is the paper's own; the others are what it is compared with, on the same
 * source and with the same end, so that they differ in nothing else. */
#include <math.h>
#include <string.h>

#include "methods/mindtl/mindtl.h"

/* ---- full matrices ---- */

/* Twelve bytes a cell and its transpose: about 2.4 GB at most. */
enum { MOST_CELLS = 100000000 };

/* Rows and columns that are still there, and how many of their cells are not missing. */
typedef struct shrinking {
    int64_t rows, cols;
    int64_t *row, *col;   /* counts */
    int32_t *keep, *stay; /* 1: row, column is there */
} shrinking;

/* The emptiest row (below x->rows) or column (behind them); -1: all are full. O(n + m).
 * Strictly more missing wins, so of equals the first: rows before columns. */
static int64_t emptiest(const observed *x, const shrinking *s)
{
    const int64_t n = x->x->rows, m = x->x->cols;
    double most = 0;
    int64_t at = -1;

    for (int64_t i = 0; i < n + m; i++) {
        if (!(i < n ? s->keep[i] : s->stay[i - n])) continue;
        const double of = (double)(i < n ? s->cols : s->rows);
        const double missing = (of - (double)(i < n ? s->row[i] : s->col[i - n])) / of;
        if (missing <= most) continue;
        most = missing;
        at = i;
    }
    return at;
}

/* Take row or column `at` out, and its cells off the counts of the lines that cross it.
 * O(cells of the line). */
static void remove_line(const observed *x, int64_t at, shrinking *s)
{
    const int64_t n = x->x->rows;
    const bool row = at < n;
    const ferry_matrix *a = row ? x->x : x->xt;
    const int64_t i = row ? at : at - n;

    (row ? s->keep : s->stay)[i] = 0;
    --*(row ? &s->rows : &s->cols);
    for (int64_t e = a->start[i]; e < a->start[i + 1]; e++)
        (row ? s->col : s->row)[a->index[e]]--;
}

/* Greedy: the largest full block is an NP-hard problem. O((n + m) lines removed), which
 * is fine for the few hundred that option `most` leaves. A new pair of matrices. */
ferry_status ferry_i_mindtl_full_block(ferry_ctx *ctx, const observed *x, observed *out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = x->x->rows, m = x->x->cols;
    int64_t *count = ferry_i_calloc(2 * n + m, sizeof *count), *rows = count + n + m, k = 0;
    int32_t *keep = ferry_i_calloc(n + m, sizeof *keep), l = 0;
    shrinking s = {n, m, count, count + n, keep, keep + n};

    *out = (observed){0};
    FERRY_HAVE(ctx, count && keep);
    for (int64_t i = 0; i < n; i++)
        s.row[i] = x->x->start[i + 1] - x->x->start[i];
    for (int64_t j = 0; j < m; j++)
        s.col[j] = x->xt->start[j + 1] - x->xt->start[j];
    for (int64_t i = 0; i < n + m; i++)
        keep[i] = 1;
    for (int64_t at = emptiest(x, &s); at >= 0; at = emptiest(x, &s))
        remove_line(x, at, &s);
    for (int64_t i = 0; i < n; i++)
        if (s.keep[i]) rows[k++] = i;
    for (int64_t j = 0; j < m; j++)
        s.stay[j] = s.stay[j] ? l++ : -1;
    FERRY_TRY(ferry_i_matrix_take(ctx, x->x, k, rows, l, s.stay, &out->x));
    FERRY_TRY(ferry_i_matrix_transpose(ctx, out->x, &out->xt));
done:
    FERRY_FREE(count, keep);
    if (st != FERRY_OK) ferry_i_observed_clear(out);
    return st;
}

/* The one place where users x items cells are made; a limit guards it. Ratings stay, holes
 * get the user's mean; a user without any gets 0. */
ferry_status ferry_i_mindtl_fill(ferry_ctx *ctx, const observed *x, observed *out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = x->x->rows, m = x->x->cols;
    ferry_matrix *t = NULL;

    *out = (observed){0};
    FERRY_NEED(ctx, n <= MOST_CELLS / (m > 0 ? m : 1), FERRY_ENEEDS,
               "dc-onmtf fills all %lld x %lld cells of a source, which are more than %d: "
               "use fewer by `most`",
               (long long)n, (long long)m, MOST_CELLS);
    FERRY_TRY(ferry_i_matrix_csr(ctx, n, m, n * m, &t));
    for (int64_t i = 0; i < n; i++) {
        const int64_t from = x->x->start[i], to = x->x->start[i + 1];
        double mean = 0;
        for (int64_t e = from; e < to; e++)
            mean += x->x->value[e] / (double)(to - from);
        for (int64_t j = 0; j < m; j++) {
            t->index[i * m + j] = (int32_t)j;
            t->value[i * m + j] = mean;
        }
        for (int64_t e = from; e < to; e++)
            t->value[i * m + x->x->index[e]] = x->x->value[e];
        t->start[i + 1] = (i + 1) * m;
    }
    FERRY_TRY(ferry_i_matrix_transpose(ctx, t, &out->xt));
    FERRY_MOVE(out->x, t);
done:
    ferry_i_matrix_free(t);
    return st;
}

/* ---- extraction ---- */

/* One extraction: what it looks at and the start at hand. u and v are one piece of memory.
 * f and w are there only where there are factors. */
typedef struct search {
    const observed *x;
    const codebook_options *o;
    ferry_rng *rng;
    mindtl_run *run;
    mindtl_factors f;
    mindtl_work w;
    int32_t *u, *v; /* labels of users and items */
} search;

/* The rule of the updates: ding is right for full matrices, and only for them. update 0 is
 * as published, without the Lagrange terms that eq. (1) asks for; F never
 * grows by it. orth has them and reaches the same error. */
static mindtl_rule rule_of(const codebook_options *o)
{
    if (o->extract != EXTRACT_IONMTF) return RULE_DING;
    return o->update == 0 ? RULE_PAPER : RULE_ORTH;
}

/* Random U, V in [0.1, 1.1), B in [0.5, 1.5) scaled so that the mean of Xh is that of X;
 * then the sweeps; then labels.
 *
 * The scale of the start matters: multiplicative updates from far too small or large a
 * product waste their first sweeps on it. An early FINISH still gets labels. */
static ferry_status factorise(ferry_ctx *ctx, search *s)
{
    ferry_status st = FERRY_OK;
    const mindtl_factors *f = &s->f;
    const int64_t size = f->b->rows * f->b->cols;
    double mean = 0, fitted = 0;

    ferry_i_fill_uniform(f->u, s->rng, 0.1, 1.1);
    ferry_i_fill_uniform(f->v, s->rng, 0.1, 1.1);
    for (int64_t i = 0; i < size; i++)
        f->b->data[i] = 0.5 + ferry_i_rng_real(s->rng);
    (void)ferry_i_mindtl_objective(ctx, s->x, f, &s->w);
    for (int64_t e = 0; e < s->x->x->nnz; e++) {
        mean += s->x->x->value[e];
        fitted += s->w.h->value[e];
    }
    for (int64_t i = 0; fitted > 0 && i < size; i++)
        f->b->data[i] *= mean / fitted;
    for (int64_t t = 0; t < s->o->sweeps && !s->run->finish; t++) {
        ferry_i_mindtl_sweep(ctx, s->x, rule_of(s->o), &s->f, &s->w);
        FERRY_TRY(ferry_i_mindtl_step(ctx, s->run, NAN));
    }
    FERRY_TRY(ferry_i_mindtl_harden(ctx, f->u, s->u));
    FERRY_TRY(ferry_i_mindtl_harden(ctx, f->v, s->v));
done:
    return st;
}

/* Every group may stay empty: block means then give it P. */
static void random_labels(ferry_rng *rng, int64_t n, int64_t k, int32_t *label)
{
    for (int64_t i = 0; i < n; i++)
        label[i] = (int32_t)ferry_i_rng_below(rng, (uint64_t)k);
}

/* Algorithm 1: restarts differ in their random numbers, the least F after the polish
 * wins.
 *
 * The first start is always completed, so that there is a codebook also after FINISH. `f`
 * is the objective in ratings (or residuals); R of the winner is made with beta, which the
 * polish does not use. */
ferry_status ferry_i_mindtl_extract(ferry_ctx *ctx, const observed *x,
                                    const codebook_options *o, bool factors, ferry_rng *rng,
                                    mindtl_run *run, codebook *b)
{
    ferry_status st = FERRY_OK;
    const int64_t n = x->x->rows, m = x->x->cols;
    search s = {.x = x, .o = o, .rng = rng, .run = run};
    double least = INFINITY, f = 0;

    FERRY_NEW(ctx, s.u, n + m);
    s.v = s.u + n;
    if (factors) {
        FERRY_TRY(ferry_i_mindtl_factors_new(ctx, n, m, b->k, b->l, &s.f));
        FERRY_TRY(ferry_i_mindtl_work_new(ctx, x, b->k, b->l, &s.w));
    }
    for (int64_t q = 0; q < o->restarts && (q == 0 || !run->finish); q++) {
        if (factors) {
            FERRY_TRY(factorise(ctx, &s));
        } else {
            random_labels(rng, n, b->k, s.u);
            random_labels(rng, m, b->l, s.v);
        }
        FERRY_TRY(ferry_i_mindtl_polish(ctx, x, b->k, b->l, o->polish, s.u, s.v, &f));
        FERRY_TRY(ferry_i_mindtl_step(ctx, run, NAN));
        if (f >= least) continue;
        least = f;
        FERRY_TRY(ferry_i_mindtl_block_means(ctx, x->x, b->k, b->l, s.u, s.v, o->beta, b->r,
                                             NULL));
    }
done:
    ferry_i_mindtl_work_clear(&s.w);
    ferry_i_mindtl_factors_clear(&s.f);
    ferry_i_free(s.u);
    return st;
}
