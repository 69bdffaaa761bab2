/* Scaling: learning how (scale.h has the rule).
 *
 * Each pass goes over the cells that are not 0 or are missing; what the zeros add is
 * worked out from counts afterwards. Hence the two steps everywhere: add_...() sees
 * cells, end_...() or find_...() corrects for those it has not seen. */
#include "learn/scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/ranks.h"
#include "learn/learn.h"
#include "learn/scale_learning.h"

/* The rule's thresholds, see scale.h. */
#define FILL 0.1    /* words, and CSR, fill at most this share of the cells */
#define UNIT 20.0   /* words: no frequent column is typically so many times the median */
#define OFTEN 0.02  /* a frequent column is not 0 in this share of the rows */
#define SMALL 20    /* fewer varying columns are a table */
#define SPREAD 20.0 /* so are columns whose deviations differ by more */
#define EQUAL 0.01  /* roots: sums of rows that differ by no more */
#define FULL 0.9    /* roots: or some cells are 0 */

const char *ferry_i_scale_name(ferry_scale scale)
{
    static const char *const names[] = {"auto",  "none",   "words", "standard",
                                        "roots", "common", "l2"};

    return names[scale];
}

ferry_status ferry_i_scaler_new(ferry_ctx *ctx, ferry_scale kind, int64_t d,
                                ferry_scaler **out)
{
    ferry_status st = FERRY_OK;
    ferry_scaler *s = NULL;

    *out = NULL;
    FERRY_NEW(ctx, s, 1);
    s->kind = kind;
    s->d = d;
    FERRY_NEW(ctx, s->fill, d);
    FERRY_MOVE(*out, s);
done:
    ferry_i_scaler_free(s);
    return st;
}

void ferry_i_scaler_free(ferry_scaler *s)
{
    if (!s) return;
    FERRY_FREE(s->fill, s->shift, s->factor, s);
}

/* ---- passes over the rows of all parts ---- */

typedef void (*row_fn)(learning *l, int64_t m, const ferry_cell *row);

/* The rows of every part that are this rank's (core/ranks.h): as a pass for dense parts of
 * all columns, where there is one, or fn row by row. CSR and dense show the same cells in
 * the same order. */
static void each_part(const ferry_ctx *ctx, learning *l, row_fn fn,
                      void (*dense)(learning *l, const ferry_matrix *x, double *sum))
{
    for (int64_t p = 0; p < l->n_parts; p++) {
        ferry_matrix own = *l->part[p].x;
        int64_t from = 0, to = 0;
        ferry_i_ranks_part(ctx, own.rows, &from, &to);
        if (dense && own.dense && ferry_i_part_plain(&l->part[p], l->f.d)) {
            own.rows = to - from;
            own.dense += from * own.cols;
            dense(l, &own, l->sum);
            continue;
        }
        for (int64_t i = from; i < to; i++)
            fn(l, ferry_i_row_cells(&l->part[p], i, l->row), l->row);
    }
}

static void each_row(const ferry_ctx *ctx, learning *l, row_fn fn)
{
    each_part(ctx, l, fn, NULL);
}

/* ---- what the ranks have found, together ---- */

typedef enum meeting { LEAST = -1, SUM, MOST } meeting;

/* A member of every column. */
static ferry_status meet(ferry_ctx *ctx, learning *l, size_t member, meeting how)
{
    ferry_status st = FERRY_OK;
    const double sign = how == LEAST ? -1 : 1;
    double *v = NULL;

    if (!ferry_i_ranks_split(ctx)) return st;
    FERRY_NEW(ctx, v, l->f.d);
    for (int64_t j = 0; j < l->f.d; j++)
        v[j] = sign * *(double *)(void *)((char *)&l->col[j] + member);
    FERRY_TRY((how == SUM ? ferry_i_ranks_sum : ferry_i_ranks_most)(ctx, l->f.d, v));
    for (int64_t j = 0; j < l->f.d; j++)
        *(double *)(void *)((char *)&l->col[j] + member) = sign * v[j];
done:
    ferry_i_free(v);
    return st;
}

static ferry_status meet_sums(ferry_ctx *ctx, learning *l)
{
    ferry_status st = FERRY_OK;
    double sum[] = {l->cells, l->cell_mean, l->rows, l->sum_mean},
           any[] = {l->f.neg, l->f.frac};

    FERRY_TRY(meet(ctx, l, offsetof(column, there), SUM));
    FERRY_TRY(meet(ctx, l, offsetof(column, filled), SUM));
    FERRY_TRY(meet(ctx, l, offsetof(column, mean), SUM));
    FERRY_TRY(meet(ctx, l, offsetof(column, lo), LEAST));
    FERRY_TRY(meet(ctx, l, offsetof(column, hi), MOST));
    FERRY_TRY(ferry_i_ranks_sum(ctx, 4, sum));
    FERRY_TRY(ferry_i_ranks_most(ctx, 2, any));
    l->cells = sum[0];
    l->cell_mean = sum[1];
    l->rows = sum[2];
    l->sum_mean = sum[3];
    l->f.neg = any[0] != 0;
    l->f.frac = any[1] != 0;
done:
    return st;
}

static ferry_status meet_squares(ferry_ctx *ctx, learning *l)
{
    ferry_status st = FERRY_OK;
    double sum[] = {l->sum_squares, l->below}, most[] = {l->last_below, -l->first_above};

    for (int64_t j = 0; j < l->f.d; j++) /* `root` is free until roots are asked for */
        l->col[j].root = !l->col[j].two;
    FERRY_TRY(meet(ctx, l, offsetof(column, root), MOST));
    for (int64_t j = 0; j < l->f.d; j++) {
        l->col[j].two = l->col[j].root == 0;
        l->col[j].root = 0;
    }
    FERRY_TRY(meet(ctx, l, offsetof(column, squares), SUM));
    FERRY_TRY(ferry_i_ranks_sum(ctx, 2, sum));
    FERRY_TRY(ferry_i_ranks_most(ctx, 2, most));
    l->sum_squares = sum[0];
    l->below = sum[1];
    l->last_below = most[0];
    l->first_above = -most[1];
done:
    return st;
}

/* ---- what a pass does with a row ---- */

/* First pass: sums, ranges, signs.
 * there starts at the number of rows, and missing cells are taken off. Sums of rows are
 * over what is present. */
static void add_sums(learning *l, int64_t m, const ferry_cell *row)
{
    column *col = l->col;
    bool neg = l->f.neg, frac = l->f.frac; /* locals: stores to l would be reloaded */
    double sum = 0;
    int64_t found = 0;

    for (int64_t e = 0; e < m; e++) {
        const double v = row[e].v;
        column *c = &col[row[e].j];
        if (isnan(v)) {
            c->there--;
            continue;
        }
        c->filled++;
        c->mean += v;
        if (v < c->lo) c->lo = v;
        if (v > c->hi) c->hi = v;
        neg = neg || v < 0;
        frac = frac || v != floor(v);
        sum += v;
        found++;
    }
    l->f.neg = neg;
    l->f.frac = frac;
    l->cells += (double)found;
    l->cell_mean += sum;
    l->rows += found > 0;
    l->sum_mean += sum;
}

/* Where the mean lies among the cells; without branches, which nobody could foretell. */
static void add_ranks(learning *l, int64_t m, const ferry_cell *row)
{
    const double mean = l->cell_mean;
    double last = l->last_below, first = l->first_above;
    int64_t below = 0;

    for (int64_t e = 0; e < m; e++) {
        const double v = row[e].v; /* NaN fails all comparisons */
        const double under = v < mean ? v : -INFINITY, over = v >= mean ? v : INFINITY;
        below += v < mean;
        last = under > last ? under : last;
        first = over < first ? over : first;
    }
    l->below += (double)below;
    l->last_below = last;
    l->first_above = first;
}

/* Second pass, around the means of the first.
 * Cells that are 0 are left to find_facts(). `two` falls when a value is neither lo nor
 * hi. */
static void add_squares(learning *l, int64_t m, const ferry_cell *row)
{
    column *col = l->col;
    double sum = 0;
    int64_t found = 0;

    for (int64_t e = 0; e < m; e++) {
        const double v = row[e].v;
        column *c = &col[row[e].j];
        if (isnan(v)) continue;
        c->squares += (v - c->mean) * (v - c->mean);
        if (c->two) c->two = v == c->lo || v == c->hi;
        sum += v;
        found++;
    }
    if (l->f.neg || !l->rule) return; /* what follows the rule asks of amounts alone */
    if (found > 0) l->sum_squares += (sum - l->sum_mean) * (sum - l->sum_mean);
    add_ranks(l, m, row);
}

/* For the typical (geometric mean) size of a column. */
static void add_logs(learning *l, int64_t m, const ferry_cell *row)
{
    for (int64_t e = 0; e < m; e++)
        if (!isnan(row[e].v)) l->col[row[e].j].logs += log(fabs(row[e].v));
}

/* What a missing cell takes; then what a row of a histogram adds up to. */
static double filled(const learning *l, const ferry_cell *c)
{
    return fmax(isnan(c->v) ? l->col[c->j].mean : c->v, 0);
}

/* What the roots of a row are divided by; missing cells count with their fill. */
static double row_sum(const learning *l, int64_t m, const ferry_cell *row)
{
    double sum = 0;

    for (int64_t e = 0; e < m; e++)
        sum += filled(l, &row[e]);
    return sum;
}

/* sums of sqrt(x / row sum); an empty row has none and adds 0 */
static void add_roots(learning *l, int64_t m, const ferry_cell *row)
{
    const double sum = row_sum(l, m, row);

    for (int64_t e = 0; sum > 0 && e < m; e++)
        l->col[row[e].j].root += sqrt(filled(l, &row[e]) / sum);
}

/* sum over all cells of (r - mean)^2: each row adds its cells, less the mean^2 that
 * centred_roots() counts for every row. */
static void add_root_squares(learning *l, int64_t m, const ferry_cell *row)
{
    const double sum = row_sum(l, m, row);

    for (int64_t e = 0; sum > 0 && e < m; e++) {
        const double r = sqrt(filled(l, &row[e]) / sum), mean = l->col[row[e].j].root;
        l->roots += r * r - 2 * r * mean;
    }
}

/* ---- facts ---- */

/* sorted[floor(p (m - 1))] */
static double quantile(const double *sorted, int64_t m, double p)
{
    return sorted[(int64_t)floor(p * (double)(m - 1))];
}

/* Population deviation of what is there. */
static double deviation(const column *c)
{
    return sqrt(c->squares / fmax(c->there, 1));
}

/* Not a plain sd > 0: a constant column far from 0 has an sd of rounding size. */
static bool varies(const column *c)
{
    return deviation(c) > 1e-7 * fabs(c->mean);
}

/* After the first pass: sums become means, and 0 joins the ranges where it occurs.
 * A column that is 0 somewhere has 0 as one of its values: beside one other value it is
 * still `two`. */
static ferry_status end_sums(ferry_ctx *ctx, learning *l)
{
    ferry_status st = FERRY_OK;
    double there = 0;

    for (int64_t j = 0; j < l->f.d; j++) {
        column *c = &l->col[j];
        c->mean /= fmax(c->there, 1);
        FERRY_NEED(ctx, isfinite(c->mean), FERRY_ENUMERIC,
                   "feature %lld: the values are too large to add up", (long long)(j + 1));
        there += c->there;
        c->two = true;
        if (c->filled == c->there) continue;
        c->two = !(c->lo < 0 && c->hi > 0); /* 0 would be a third value */
        c->lo = fmin(c->lo, 0);
        c->hi = fmax(c->hi, 0);
    }
    l->f.fill = l->cells / fmax(there, 1);
    l->cell_mean /= fmax(l->cells, 1);
    l->sum_mean /= fmax(l->rows, 1);
done:
    return st;
}

/* The median of the cells that are not 0 is below their mean, rounding aside. */
static bool is_skewed(const learning *l)
{
    const double above = l->cells - l->below;
    double median = l->below > above ? l->last_below : l->first_above;

    if (l->cells == 0 || l->f.neg) return false;
    if (l->below == above) median = 0.5 * (l->last_below + l->first_above);
    return median < l->cell_mean - 1e-12 * fabs(l->cell_mean);
}

/* The typical size of the largest frequent column, compared with that of the median one. */
static ferry_status find_unit(ferry_ctx *ctx, learning *l, double *list)
{
    ferry_status st = FERRY_OK;
    double most = 0;
    int64_t m = 0;

    each_row(ctx, l, add_logs);
    FERRY_TRY(meet(ctx, l, offsetof(column, logs), SUM));
    for (int64_t j = 0; j < l->f.d; j++) {
        const column *c = &l->col[j];
        if (!varies(c)) continue;
        list[m] = exp(c->logs / fmax(c->filled, 1));
        if (c->filled >= OFTEN * (double)l->f.n) most = fmax(most, list[m]);
        m++;
    }
    qsort(list, (size_t)m, sizeof *list, ferry_i_ascending);
    if (most > 0) l->f.unit = most / quantile(list, m, 0.5);
done:
    return st;
}

/* How far the columns' deviations differ: the largest against the median, or the 0.9
 * quantile against the 0.1 quantile, whichever is more. */
static double find_spread(const learning *l, double *list)
{
    int64_t m = 0;

    for (int64_t j = 0; j < l->f.d; j++)
        if (varies(&l->col[j])) list[m++] = deviation(&l->col[j]);
    if (m == 0) return 1;
    qsort(list, (size_t)m, sizeof *list, ferry_i_ascending);
    return fmax(list[m - 1] / quantile(list, m, 0.5),
                quantile(list, m, 0.9) / quantile(list, m, 0.1));
}

/* What words and CSR have in common. */
static bool sparse_enough(const ferry_scale_facts *f)
{
    return !f->neg && f->fill <= FILL;
}

/* The passes in order, each resting on the one before: sums, squares around the means,
 * and logs only where words are still possible. */
static ferry_status find_facts(ferry_ctx *ctx, learning *l)
{
    ferry_status st = FERRY_OK;
    double *list = NULL;

    each_part(ctx, l, add_sums, ferry_i_scale_dense_sums);
    FERRY_TRY(meet_sums(ctx, l));
    FERRY_TRY(end_sums(ctx, l));
    l->last_below = -INFINITY;
    l->first_above = INFINITY;
    each_part(ctx, l, add_squares, ferry_i_scale_dense_squares);
    FERRY_TRY(meet_squares(ctx, l));
    FERRY_NEW(ctx, list, l->f.d);
    for (int64_t j = 0; j < l->f.d; j++) {
        column *c = &l->col[j];
        /* cells that are there and 0 were not visited; all terms are positive, so that a
         * column far from 0 keeps its digits */
        c->squares += (c->there - c->filled) * c->mean * c->mean;
        FERRY_NEED(ctx, isfinite(c->squares), FERRY_ENUMERIC,
                   "feature %lld: the values are too large to add up", (long long)(j + 1));
        l->f.vary += varies(c);
    }
    l->f.unit = 1;
    if (!l->rule) goto done;
    l->f.skew = is_skewed(l);
    l->f.cvsum = l->f.neg || !(l->sum_mean > 0)
                     ? INFINITY
                     : sqrt(l->sum_squares / l->rows) / l->sum_mean;
    l->f.spread = find_spread(l, list);
    if (sparse_enough(&l->f)) FERRY_TRY(find_unit(ctx, l, list));
done:
    ferry_i_free(list);
    return st;
}

/* The order is the rule of scale.h: the first that applies. */
static ferry_scale by_rule(const ferry_scale_facts *f)
{
    if (sparse_enough(f) && f->unit <= UNIT) return FERRY_SCALE_WORDS;
    if (f->vary < SMALL || f->spread > SPREAD) return FERRY_SCALE_STANDARD;
    if (!f->neg && (f->cvsum <= EQUAL || (f->fill <= FULL && f->skew)))
        return FERRY_SCALE_ROOTS;
    return FERRY_SCALE_COMMON;
}

/* ---- what is done about them ---- */

/* factor_j <- ln((1 + n) / (1 + df_j)) + 1, df: rows where the word occurs. A word that a
 * part does not have occurs in none of its rows. */
static void inverse_frequencies(const learning *l, ferry_scaler *s)
{
    for (int64_t j = 0; j < s->d; j++)
        s->factor[j] = log((1 + (double)l->f.n) / (1 + l->col[j].filled)) + 1;
}

/* standard and common: centred, with factors that differ or do not. */
static void spreads(const learning *l, ferry_scaler *s)
{
    double square = 0;

    for (int64_t j = 0; j < s->d; j++) {
        const column *c = &l->col[j];
        /* Half the range for a column of two values: 0/1 flags that are rarely on would
         * otherwise become as large as 1 / sqrt(share). */
        const double width = c->two ? 0.5 * (c->hi - c->lo) : deviation(c);
        s->shift[j] = c->mean;
        if (!varies(c)) continue; /* 0: a constant says nothing */
        s->factor[j] = s->kind == FERRY_SCALE_COMMON ? 1 : 1 / width;
        /* filled cells are at the mean and add nothing */
        square += c->squares * s->factor[j] * s->factor[j];
    }
    /* mean squared length of a row to 1 */
    const double length = sqrt(square / fmax((double)l->f.n, 1));
    for (int64_t j = 0; length > 0 && j < s->d; j++)
        s->factor[j] /= length;
}

/* Two more passes: the mean root of each column, then the mean squared length around it.
 * sum (r - m)^2 = sum (r^2 - 2 r m) + rows m^2, so zeros need no visit. */
static ferry_status centred_roots(ferry_ctx *ctx, learning *l, ferry_scaler *s)
{
    ferry_status st = FERRY_OK;

    each_row(ctx, l, add_roots);
    FERRY_TRY(meet(ctx, l, offsetof(column, root), SUM));
    for (int64_t j = 0; j < s->d; j++)
        s->shift[j] = l->col[j].root /= fmax(l->col[j].rows, 1);
    each_row(ctx, l, add_root_squares);
    FERRY_TRY(ferry_i_ranks_sum(ctx, 1, &l->roots));
    for (int64_t j = 0; j < s->d; j++)
        l->roots += l->col[j].rows * s->shift[j] * s->shift[j];
    const double length = sqrt(fmax(l->roots, 0) / fmax((double)l->f.n, 1));
    for (int64_t j = 0; j < s->d; j++)
        s->factor[j] = length > 1e-7 ? 1 / length : 1;
done:
    return st;
}

/* Facts and kind are known: shift and factor. words of fractions are only brought to
 * length 1, as they are weighted already. */
static ferry_status settle_scaler(ferry_ctx *ctx, learning *l, ferry_scaler *s)
{
    ferry_status st = FERRY_OK;
    const ferry_scale k = s->kind;

    s->dense = l->f.fill > FILL;
    s->rows = l->f.n;
    s->complete = true;
    for (int64_t j = 0; j < s->d; j++)
        s->complete = s->complete && l->col[j].there == l->col[j].rows;
    s->counts = k == FERRY_SCALE_WORDS && !l->f.neg && !l->f.frac;
    for (int64_t j = 0; k != FERRY_SCALE_WORDS && j < s->d; j++)
        s->fill[j] = l->col[j].mean;
    if (k == FERRY_SCALE_NONE || k == FERRY_SCALE_L2) goto done;
    if (k == FERRY_SCALE_WORDS && !s->counts) goto done;
    FERRY_NEW(ctx, s->factor, s->d);
    if (k != FERRY_SCALE_WORDS) FERRY_NEW(ctx, s->shift, s->d);
    if (k == FERRY_SCALE_WORDS)
        inverse_frequencies(l, s);
    else if (k == FERRY_SCALE_ROOTS)
        FERRY_TRY(centred_roots(ctx, l, s));
    else
        spreads(l, s);
    for (int64_t j = 0; j < s->d; j++)
        FERRY_NEED(ctx, isfinite(s->factor[j]), FERRY_ENUMERIC,
                   "feature %lld: the values are too small to scale", (long long)(j + 1));
done:
    return st;
}

/* Room, and the rows that each column has.
 * A column of the view belongs to as many rows as the parts that have it; in the others
 * it is missing as a whole and counts nowhere. */
static ferry_status begin(ferry_ctx *ctx, learning *l)
{
    ferry_status st = FERRY_OK;
    int64_t widest = 0, longest = 0;

    FERRY_NEW(ctx, l->col, l->f.d);
    for (int64_t j = 0; j < l->f.d; j++) {
        l->col[j].lo = INFINITY;
        l->col[j].hi = -INFINITY;
    }
    for (int64_t p = 0; p < l->n_parts; p++) {
        const ferry_matrix *x = l->part[p].x;
        l->f.n += x->rows;
        if (x->cols > widest) widest = x->cols;
        if (x->dense && x->rows > longest) longest = x->rows;
        for (int64_t j = 0; j < x->cols; j++) {
            const int64_t at = l->part[p].map ? l->part[p].map[j] : j;
            if (at >= 0) l->col[at].rows += (double)x->rows;
        }
    }
    for (int64_t j = 0; j < l->f.d && (!ferry_i_ranks_split(ctx) || ctx->ranks->rank == 0);
         j++)
        l->col[j].there = l->col[j].rows; /* counted once */
    FERRY_NEW(ctx, l->row, widest);
    FERRY_NEW(ctx, l->sum, longest);
done:
    return st;
}

/* Most facts are gathered whatever is wanted: fill values and the choice of dense or CSR come
 * from them too. */
ferry_status ferry_i_scaler_fit(ferry_ctx *ctx, ferry_scale wanted, int64_t d, int64_t n,
                                const ferry_scale_part *part, ferry_scaler **out,
                                ferry_scale_facts *facts)
{
    ferry_status st = FERRY_OK;
    learning l = {.n_parts = n,
                  .part = part,
                  .rule = wanted == FERRY_SCALE_AUTO,
                  .words = wanted == FERRY_SCALE_AUTO || wanted == FERRY_SCALE_WORDS,
                  .f = {.d = d}};
    ferry_scaler *s = NULL;

    *out = NULL;
    FERRY_TRY(begin(ctx, &l));
    FERRY_TRY(find_facts(ctx, &l));
    FERRY_TRY(ferry_i_scaler_new(ctx, wanted == FERRY_SCALE_AUTO ? by_rule(&l.f) : wanted,
                                 d, &s));
    FERRY_TRY(settle_scaler(ctx, &l, s));
    if (facts) *facts = l.f;
    FERRY_MOVE(*out, s);
done:
    ferry_i_scaler_free(s);
    FERRY_FREE(l.col, l.row, l.sum);
    return st;
}
