/* Which columns of two tables may be the same thing under other names and units (alike.h). */
#include "prepare/alike.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_ROWS = 20,
    MOST_ROWS = 5000,
    MOST_COLUMNS = 300, /* to match; a third power of them is computed */
    MOST_COMMON = 1000,
    QUANTILES = 20,
    SHAPE = QUANTILES + 2,
    TURNS = 8,
    BALANCES = 30
};
static const double MOST_COST = 0.3, CLEAR = 0.5, SOFTNESS = 0.1, CLIP = 4,
                    CONSTANT_BELOW = 1e-12;

/* A table: the columns that both have first, in one order on both sides; then those to match. */
typedef struct side {
    const ferry_view *v;
    int64_t rows, common, own; /* own: how many are to match */
    int64_t *column;           /* common + own: of the view */
    double *shape;             /* own x SHAPE */
    double *rank; /* (common + own) x rows: ranks, their mean 0, their length 1 or 0 */
} side;

typedef struct value {
    double x;
    int64_t row;
} value;

static int by_value(const void *p, const void *q)
{
    const value *a = p, *b = q;

    return (a->x > b->x) - (a->x < b->x);
}

/* Cells of a column, rows evenly taken; missing ones are the mean of all that are there. */
static void cells(const side *d, int64_t column, value *out)
{
    const ferry_matrix *x = d->v->x;
    double sum = 0;
    int64_t n = 0;

    for (int64_t i = 0; i < x->rows; i++) {
        const double v = x->dense[i * x->cols + column];
        if (isnan(v)) continue;
        sum += v;
        n++;
    }
    for (int64_t i = 0; i < d->rows; i++) {
        const double v = x->dense[i * x->rows / d->rows * x->cols + column];
        out[i] = (value){isnan(v) ? sum / (double)(n > 0 ? n : 1) : v, i};
    }
}

static void mean_and_deviation(int64_t n, const value *v, double *mean, double *deviation)
{
    double square = 0;

    *mean = 0;
    for (int64_t i = 0; i < n; i++)
        *mean += v[i].x / (double)n;
    for (int64_t i = 0; i < n; i++)
        square += (v[i].x - *mean) * (v[i].x - *mean);
    *deviation = sqrt(square / (double)n);
}

static bool varies(scope *s, const side *d, int64_t column)
{
    const int64_t mark = scope_mark(s);
    value *v = NEW(s, value, d->rows);
    double mean = 0, deviation = 0;

    cells(d, column, v);
    mean_and_deviation(d->rows, v, &mean, &deviation);
    scope_release(s, mark);
    return deviation > CONSTANT_BELOW * fmax(1, fabs(mean));
}

/* v: in order. Ranks of the rows, those of equal values the same. */
static void ranks(int64_t n, const value *v, double *out)
{
    const double middle = (double)n / 2;
    double length = 0;

    for (int64_t i = 0; i < n;) {
        int64_t end = i + 1;
        while (end < n && v[end].x == v[i].x)
            end++;
        for (int64_t k = i; k < end; k++)
            out[v[k].row] = (double)(i + end) / 2 - middle;
        i = end;
    }
    for (int64_t i = 0; i < n; i++)
        length += out[i] * out[i];
    length = sqrt(length);
    for (int64_t i = 0; i < n; i++)
        out[i] /= length < CONSTANT_BELOW ? 1 : length;
}

/* v: in order. */
static void shape(int64_t n, const value *v, double *out)
{
    double mean = 0, deviation = 0;
    int64_t most = 0, distinct = 0;

    mean_and_deviation(n, v, &mean, &deviation);
    for (int64_t i = 0; i < n; distinct++) {
        int64_t end = i + 1;
        while (end < n && v[end].x == v[i].x)
            end++;
        most = end - i > most ? end - i : most;
        i = end;
    }
    for (int q = 0; q < QUANTILES; q++) {
        const double at = (.025 + .95 * q / (QUANTILES - 1)) * (double)(n - 1);
        const int64_t low = (int64_t)at < n - 1 ? (int64_t)at : n - 2;
        const double a = fmin(fmax((v[low].x - mean) / deviation, -CLIP), CLIP),
                     b = fmin(fmax((v[low + 1].x - mean) / deviation, -CLIP), CLIP);
        out[q] = a + (at - (double)low) * (b - a);
    }
    out[QUANTILES] = 2 * (double)most / (double)n;
    out[QUANTILES + 1] = log10(fmin((double)distinct, 1000));
}

static void describe(scope *s, side *d)
{
    const int64_t all = d->common + d->own;
    value *v = NEW(s, value, d->rows);

    d->shape = NEW(s, double, d->own *SHAPE);
    d->rank = NEW(s, double, all * d->rows);
    for (int64_t j = 0; j < all; j++) {
        cells(d, d->column[j], v);
        qsort(v, (size_t)d->rows, sizeof *v, by_value);
        ranks(d->rows, v, d->rank + j * d->rows);
        if (j >= d->common) shape(d->rows, v, d->shape + (j - d->common) * SHAPE);
    }
}

/* Rank correlations of the columns to match with columns first .. first + n: own x n. */
static double *correlations(scope *s, const side *d, int64_t first, int64_t n)
{
    double *out = NEW(s, double, d->own *n);

    for (int64_t i = 0; i < d->own; i++)
        for (int64_t j = 0; j < n; j++) {
            const double *a = d->rank + (d->common + i) * d->rows,
                         *b = d->rank + (first + j) * d->rows;
            for (int64_t r = 0; r < d->rows; r++)
                out[i * n + j] += a[r] * b[r];
        }
    return out;
}

/* Mean difference of rows of x and y, added to cost. */
static void add_differences(const side *a, const side *b, int64_t width, const double *x,
                            const double *y, double *cost)
{
    for (int64_t i = 0; i < a->own; i++)
        for (int64_t j = 0; j < b->own; j++) {
            double sum = 0;
            for (int64_t k = 0; k < width; k++)
                sum += fabs(x[i * width + k] - y[j * width + k]);
            cost[i * b->own + j] += sum / (double)width;
        }
}

/* Rows and columns of t that add up to more than 1 add up to 1. */
static void balance(int64_t n, int64_t m, double *t)
{
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t j = 0; j < m; j++)
            sum += t[i * m + j];
        for (int64_t j = 0; sum > 1 && j < m; j++)
            t[i * m + j] /= sum;
    }
    for (int64_t j = 0; j < m; j++) {
        double sum = 0;
        for (int64_t i = 0; i < n; i++)
            sum += t[i * m + j];
        for (int64_t i = 0; sum > 1 && i < n; i++)
            t[i * m + j] /= sum;
    }
}

/* cost <- base + how differently a's column i and b's column j go with the other columns to match, b's brought to a's
 * by the soft matching of the costs so far. ra, rb: own x own correlations. */
static void turn(scope *s, const side *a, const side *b, const double *ra, const double *rb,
                 const double *base, double *cost)
{
    const int64_t mark = scope_mark(s), n = a->own, m = b->own;
    double *t = NEW(s, double, n *m), *w = NEW(s, double, n),
           *expected = NEW(s, double, n *m), total = 0;

    for (int64_t e = 0; e < n * m; e++)
        t[e] = exp(-cost[e] / SOFTNESS);
    for (int k = 0; k < BALANCES; k++)
        balance(n, m, t);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < m; k++) {
            w[i] += t[i * m + k];
            for (int64_t j = 0; j < m; j++)
                expected[i * m + j] += t[i * m + k] * rb[k * m + j];
        }
    for (int64_t i = 0; i < n; i++)
        total += w[i];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            double sum = 0;
            for (int64_t k = 0; k < n; k++)
                if (k != i) sum += w[k] * fabs(ra[i * n + k] - expected[k * m + j]);
            cost[i * m + j] = base[i * m + j] + sum / fmax(total, 1e-12);
        }
    scope_release(s, mark);
}

static double *costs(scope *s, const side *a, const side *b)
{
    double *base = NEW(s, double, a->own * b->own);

    add_differences(a, b, SHAPE, a->shape, b->shape, base);
    add_differences(a, b, a->common, correlations(s, a, 0, a->common),
                    correlations(s, b, 0, b->common), base);
    double *cost = COPY(s, base, a->own * b->own);
    const double *ra = correlations(s, a, a->common, a->own),
                 *rb = correlations(s, b, b->common, b->own);
    for (int k = 0; k < TURNS; k++)
        turn(s, a, b, ra, rb, base, cost);
    return cost;
}

/* Whether (i, j) is the least of its row and column, and clearly so. */
static bool stands_out(const double *cost, int64_t n, int64_t m, int64_t i, int64_t j)
{
    const double own = cost[i * m + j];
    double next = INFINITY;

    for (int64_t k = 0; k < m; k++)
        if (k != j) next = fmin(next, cost[i * m + k]);
    for (int64_t k = 0; k < n; k++)
        if (k != i) next = fmin(next, cost[k * m + j]);
    return own < MOST_COST && own < CLEAR * next;
}

static bool is_table(const ferry_view *v)
{
    return v->x->dense && v->x->rows >= LEAST_ROWS && ferry_i_view_has_names(v);
}

/* The columns of d that `other` lacks, behind the common ones. */
static void own_columns(scope *s, side *d, const ferry_view *other)
{
    for (int64_t j = 0; j < d->v->x->cols; j++) {
        const char *name = ferry_i_ids_at(d->v->features, j);
        if (ferry_i_ids_find(other->features, name) >= 0 || strchr(name, '=') ||
            !varies(s, d, j))
            continue;
        d->column[d->common + d->own++] = j;
    }
}

static side side_of(scope *s, const ferry_view *v)
{
    return (side){.v = v,
                  .rows = v->x->rows < MOST_ROWS ? v->x->rows : MOST_ROWS,
                  .column = NEW(s, int64_t, v->x->cols)};
}

alike *alike_columns(scope *s, const ferry_view *a, const ferry_view *b, int64_t *n)
{
    *n = 0;
    if (!is_table(a) || !is_table(b)) return NULL;
    side x = side_of(s, a), y = side_of(s, b);
    for (int64_t j = 0; j < a->x->cols && x.common < MOST_COMMON; j++) {
        const int64_t to = ferry_i_ids_find(b->features, ferry_i_ids_at(a->features, j));
        if (to < 0) continue;
        x.column[x.common++] = j;
        y.column[y.common++] = to;
    }
    if (x.common == 0) return NULL;
    own_columns(s, &x, b);
    own_columns(s, &y, a);
    if (x.own == 0 || y.own == 0 || x.own > MOST_COLUMNS || y.own > MOST_COLUMNS)
        return NULL;
    describe(s, &x);
    describe(s, &y);
    const double *cost = costs(s, &x, &y);
    alike *out = NEW(s, alike, x.own);
    for (int64_t i = 0; i < x.own; i++)
        for (int64_t j = 0; j < y.own; j++)
            if (stands_out(cost, x.own, y.own, i, j))
                out[(*n)++] = (alike){x.column[x.common + i], y.column[y.common + j],
                                      cost[i * y.own + j]};
    return out;
}
