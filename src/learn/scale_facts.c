/* Scaling: what the rule looks at, in passes over the rows of all parts (scale.h has the rule).
 *
 * Each pass goes over the cells that are not 0 or are missing; what the zeros add is
 * worked out from counts afterwards. Hence the two steps everywhere: add_...() sees
 * cells, end_...() or find_...() corrects for those it has not seen. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "learn/folds.h"
#include "learn/scale_learning.h"

/* ---- passes over the rows of all parts ---- */

/* The rows of every part that are this process's: as a pass for dense parts of all columns,
 * where there is one, or fn row by row. CSR and dense show the same cells in the same
 * order. */
static void each_part(scope *s, learning *l, scale_row_fn fn,
                      void (*dense)(learning *l, const ferry_matrix *x, double *sum))
{
    for (int64_t p = 0; p < l->n_parts; p++) {
        ferry_matrix own = *l->part[p].x;
        int64_t n = 0;
        const int64_t from = rows_here(s, own.rows, &n).first;
        if (dense && own.dense && !l->part[p].weight &&
            ferry_i_part_plain(&l->part[p], l->f.d)) {
            own.rows = n;
            own.dense += from * own.cols;
            dense(l, &own, l->sum);
            continue;
        }
        for (int64_t i = from; i < from + n; i++) {
            l->w = l->part[p].weight ? l->part[p].weight[i] : 1;
            if (l->w > 0) fn(l, ferry_i_row_cells(&l->part[p], i, l->row), l->row);
        }
    }
}

void scale_each_row(scope *s, learning *l, scale_row_fn fn)
{
    each_part(s, l, fn, NULL);
}

/* ---- what all processes have found ---- */

typedef enum combine { LEAST = -1, SUM, MOST } combine;

/* A member of every column. */
static void over_all(scope *s, learning *l, size_t member, combine how)
{
    const double sign = how == LEAST ? -1 : 1;
    const int64_t mark = scope_mark(s);

    if (!l->all.spread) return;
    double *v = NEW(s, double, l->f.d);
    for (int64_t j = 0; j < l->f.d; j++)
        v[j] = sign * *(double *)(void *)((char *)&l->col[j] + member);
    (how == SUM ? sums : mosts)(s, l->all, l->f.d, v);
    for (int64_t j = 0; j < l->f.d; j++)
        *(double *)(void *)((char *)&l->col[j] + member) = sign * v[j];
    scope_release(s, mark);
}

void scale_over_all(scope *s, learning *l, size_t member)
{
    over_all(s, l, member, SUM);
}

static void sums_of_all(scope *s, learning *l)
{
    double sum_of[] = {l->cells, l->cell_mean, l->rows, l->sum_mean},
           any[] = {l->f.neg, l->f.frac};

    over_all(s, l, offsetof(column, there), SUM);
    over_all(s, l, offsetof(column, filled), SUM);
    over_all(s, l, offsetof(column, mean), SUM);
    over_all(s, l, offsetof(column, lo), LEAST);
    over_all(s, l, offsetof(column, hi), MOST);
    sums(s, l->all, 4, sum_of);
    mosts(s, l->all, 2, any);
    l->cells = sum_of[0];
    l->cell_mean = sum_of[1];
    l->rows = sum_of[2];
    l->sum_mean = sum_of[3];
    l->f.neg = any[0] != 0;
    l->f.frac = any[1] != 0;
}

static void squares_of_all(scope *s, learning *l)
{
    double sum_of[] = {l->sum_squares, l->below},
           most_of[] = {l->last_below, -l->first_above};

    for (int64_t j = 0; j < l->f.d; j++) /* `root` is free until roots are asked for */
        l->col[j].root = !l->col[j].two;
    over_all(s, l, offsetof(column, root), MOST);
    for (int64_t j = 0; j < l->f.d; j++) {
        l->col[j].two = l->col[j].root == 0;
        l->col[j].root = 0;
    }
    over_all(s, l, offsetof(column, squares), SUM);
    sums(s, l->all, 2, sum_of);
    mosts(s, l->all, 2, most_of);
    l->sum_squares = sum_of[0];
    l->below = sum_of[1];
    l->last_below = most_of[0];
    l->first_above = -most_of[1];
}

/* ---- what a pass does with a row ---- */

/* First pass: sums, ranges, signs.
 * there starts at the number of rows, and missing cells are taken off. Sums of rows are
 * over what is present. */
static void add_sums(learning *l, int64_t m, const ferry_cell *row)
{
    column *col = l->col;
    const double w = l->w;
    bool neg = l->f.neg, frac = l->f.frac; /* locals: stores to l would be reloaded */
    double sum = 0;
    int64_t found = 0;

    for (int64_t e = 0; e < m; e++) {
        const double v = row[e].v;
        column *c = &col[row[e].j];
        if (isnan(v)) {
            c->there -= w;
            continue;
        }
        c->filled += w;
        c->mean += w * v;
        if (v < c->lo) c->lo = v;
        if (v > c->hi) c->hi = v;
        neg = neg || v < 0;
        frac = frac || v != floor(v);
        sum += v;
        found++;
    }
    l->f.neg = neg;
    l->f.frac = frac;
    l->cells += w * (double)found;
    l->cell_mean += w * sum;
    l->rows += found > 0 ? w : 0;
    l->sum_mean += w * sum;
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
    l->below += l->w * (double)below;
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
        c->squares += l->w * ((v - c->mean) * (v - c->mean));
        if (c->two) c->two = v == c->lo || v == c->hi;
        sum += v;
        found++;
    }
    if (l->f.neg || !l->rule) return; /* what follows the rule asks of amounts alone */
    const double off = (sum - l->sum_mean) * l->sum_by;
    if (found > 0) l->sum_squares += l->w * (off * off);
    add_ranks(l, m, row);
}

/* Third pass, for columns whose mean is large beside what they vary by, or whose squares are no
 * numbers: what the mean was wrong by, and the squares in a unit that fits. */
static void add_again(learning *l, int64_t m, const ferry_cell *row)
{
    for (int64_t e = 0; e < m; e++) {
        column *c = &l->col[row[e].j];
        if (!c->careful || isnan(row[e].v)) continue;
        const double z = (row[e].v - c->mean) * c->unit;
        c->rest += l->w * z;
        c->again += l->w * (z * z);
    }
}

/* For the typical (geometric mean) size of a column. */
static void add_logs(learning *l, int64_t m, const ferry_cell *row)
{
    for (int64_t e = 0; e < m; e++)
        if (!isnan(row[e].v)) l->col[row[e].j].logs += l->w * log(fabs(row[e].v));
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
        l->col[row[e].j].root += l->w * sqrt(filled(l, &row[e]) / sum);
}

/* sum over all cells of (r - mean)^2: each row adds its cells, less the mean^2 that
 * centred_roots() counts for every row. */
static void add_root_squares(learning *l, int64_t m, const ferry_cell *row)
{
    const double sum = row_sum(l, m, row);

    for (int64_t e = 0; sum > 0 && e < m; e++) {
        const double r = sqrt(filled(l, &row[e]) / sum), mean = l->col[row[e].j].root;
        l->roots += l->w * (r * r - 2 * r * mean);
    }
}

/* ---- facts ---- */

double scale_quantile(const double *sorted, int64_t m, double p)
{
    return sorted[(int64_t)floor(p * (double)(m - 1))];
}

static void need_finite(scope *s, int64_t j, double x)
{
    if (!isfinite(x))
        scope_fail(s, FERRY_ENUMERIC, "feature %lld: the values are too large to add up",
                   (long long)(j + 1));
}

/* After the first pass: sums become means, and 0 joins the ranges where it occurs.
 * A column that is 0 somewhere has 0 as one of its values: beside one other value it is
 * still `two`. */
static void end_sums(scope *s, learning *l)
{
    double there = 0;

    for (int64_t j = 0; j < l->f.d; j++) {
        column *c = &l->col[j];
        c->mean /= fmax(c->there, 1);
        need_finite(s, j, c->mean);
        /* weights that are no whole numbers add up to rounding: what is left of a column without a 0 is none */
        if (l->weighted && fabs(c->there - c->filled) <= 1e-12 * c->rows)
            c->filled = c->there;
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
    l->sum_by = l->sum_mean > 1e-120 && l->sum_mean < 1e120 ? 1 : 1 / l->sum_mean;
}

/* A power of 2 that brings half the range to about 1, where its square might not be a number. */
static double unit_of(const column *c)
{
    const double half = 0.5 * c->hi - 0.5 * c->lo;

    return half > 1e-120 && half < 1e120 ? 1 : ldexp(1, -ilogb(fmax(half, DBL_MIN)));
}

/* mean and squares of columns that a plain sum does not do justice to:
 *   mean += rest / n,  squares = again - rest^2 / n   (zeros, which no row shows, included). */
static void look_again(scope *s, learning *l)
{
    int64_t n = 0;

    for (int64_t j = 0; j < l->f.d; j++) {
        column *c = &l->col[j];
        if (!(c->lo < c->hi)) continue;
        c->unit = unit_of(c);
        c->careful = c->unit != 1 || is_far(c, SCALE_FAR);
        n += c->careful;
    }
    if (n == 0) return;
    scale_each_row(s, l, add_again);
    over_all(s, l, offsetof(column, rest), SUM);
    over_all(s, l, offsetof(column, again), SUM);
    for (int64_t j = 0; j < l->f.d; j++) {
        column *c = &l->col[j];
        if (!c->careful) continue;
        const double zeros = c->there - c->filled, zero = c->mean * c->unit;
        const double rest = c->rest - zeros * zero;
        c->mean += rest / c->there / c->unit;
        c->squares = fmax(c->again + zeros * zero * zero - rest * rest / c->there, 0);
    }
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
static void find_unit(scope *s, learning *l, double *list)
{
    double most = 0;
    int64_t m = 0;

    scale_each_row(s, l, add_logs);
    over_all(s, l, offsetof(column, logs), SUM);
    for (int64_t j = 0; j < l->f.d; j++) {
        const column *c = &l->col[j];
        if (!varies(c)) continue;
        list[m] = exp(c->logs / fmax(c->filled, 1));
        if (c->filled >= SCALE_OFTEN * l->n) most = fmax(most, list[m]);
        m++;
    }
    qsort(list, (size_t)m, sizeof *list, ascending);
    if (most > 0) l->f.unit = most / scale_quantile(list, m, 0.5);
}

/* How far the columns' deviations differ: the largest against the median, or the 0.9
 * quantile against the 0.1 quantile, whichever is more. */
static double find_spread(const learning *l, double *list)
{
    int64_t m = 0;

    for (int64_t j = 0; j < l->f.d; j++)
        if (varies(&l->col[j])) list[m++] = deviation(&l->col[j]);
    if (m == 0) return 1;
    qsort(list, (size_t)m, sizeof *list, ascending);
    return fmax(list[m - 1] / scale_quantile(list, m, 0.5),
                scale_quantile(list, m, 0.9) / scale_quantile(list, m, 0.1));
}

/* How many columns lie further from 0 than so many times their range or, if they do not vary, the
 * largest of all. By ranges: a column of ones and a rare 2 is no offset. */
int64_t scale_count_far(const learning *l, double by)
{
    double widest = 0;
    int64_t far = 0;

    for (int64_t j = 0; j < l->f.d; j++)
        if (varies(&l->col[j])) widest = fmax(widest, l->col[j].hi - l->col[j].lo);
    for (int64_t j = 0; j < l->f.d && widest > 0; j++) {
        const column *c = &l->col[j];
        const double away =
            fmax(c->lo, -c->hi); /* of the value next to 0; below 0: on both sides */
        if (c->there > 0) far += away > by * (varies(c) ? c->hi - c->lo : widest);
    }
    return far;
}

/* What the units of columns show in. */
static void find_units(learning *l, double *list)
{
    const double n = fmax(l->n, 1);
    double least = INFINITY, largest = 0, square = 0;

    for (int64_t j = 0; j < l->f.d; j++) {
        const column *c = &l->col[j];
        const double sd = deviation(c);
        square += c->there / n * (sd * sd + c->mean * c->mean);
        if (!varies(c)) {
            l->f.still += c->there > 0 && c->mean != 0;
            continue;
        }
        least = fmin(least, sd);
        largest = fmax(largest, sd);
    }
    l->f.length = sqrt(square);
    l->f.spread = find_spread(l, list);
    l->f.units = l->f.vary >= SCALE_SMALL ? l->f.spread : largest > 0 ? largest / least : 1;
}

/* The passes in order, each resting on the one before: sums, squares around the means,
 * and logs only where words are still possible. */
void scale_find_facts(scope *s, learning *l)
{
    each_part(s, l, add_sums, ferry_i_scale_dense_sums);
    sums_of_all(s, l);
    end_sums(s, l);
    l->last_below = -INFINITY;
    l->first_above = INFINITY;
    each_part(s, l, add_squares, ferry_i_scale_dense_squares);
    squares_of_all(s, l);
    double *list = NEW(s, double, l->f.d);
    for (int64_t j = 0; j < l->f.d; j++) {
        column *c = &l->col[j];
        /* cells that are there and 0 were not visited; all terms are positive, so that a
         * column far from 0 keeps its digits */
        c->squares += (c->there - c->filled) * c->mean * c->mean;
    }
    look_again(s, l);
    for (int64_t j = 0; j < l->f.d; j++) {
        const column *c = &l->col[j];
        need_finite(s, j, c->squares);
        l->f.vary += varies(c);
        if (!(c->lo < c->hi) || varies(c)) continue;
        if (l->f.lost++ > 0) continue;
        l->f.lost_at = j;
        l->f.lost_mean = c->mean;
    }
    l->f.far = scale_count_far(l, SCALE_ASIDE);
    l->f.unit = 1;
    find_units(l, list);
    if (!l->rule) return;
    l->f.skew = is_skewed(l);
    l->f.cvsum = l->f.neg || !(l->sum_mean > 0)
                     ? INFINITY
                     : sqrt(l->sum_squares / l->rows) / (l->sum_mean * l->sum_by);
    if (sparse_enough(&l->f)) find_unit(s, l, list);
    if (!scale_are_words(&l->f)) scale_find_counts(s, l, list);
}

/* ---- roots ---- */

void scale_centre_roots(scope *s, learning *l, ferry_scaler *to)
{
    scale_each_row(s, l, add_roots);
    over_all(s, l, offsetof(column, root), SUM);
    for (int64_t j = 0; j < to->d; j++)
        to->shift[j] = l->col[j].root /= fmax(l->col[j].rows, 1);
    scale_each_row(s, l, add_root_squares);
    sums(s, l->all, 1, &l->roots);
    for (int64_t j = 0; j < to->d; j++)
        l->roots += l->col[j].rows * to->shift[j] * to->shift[j];
    const double length = sqrt(fmax(l->roots, 0) / fmax(l->n, 1));
    for (int64_t j = 0; j < to->d; j++)
        to->factor[j] = length > 1e-7 ? 1 / length : 1;
}
