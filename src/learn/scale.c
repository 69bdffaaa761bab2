/* Scaling: learning how (scale.h has the rule, scale_facts.c what it looks at). */
#include "learn/scale.h"

#include <math.h>
#include <stdio.h>

#include "learn/scale_learning.h"

/* The rule's thresholds, see scale.h. */
#define EQUAL 0.01 /* roots: sums of rows that differ by no more */
#define FULL 0.9   /* roots: or some cells are 0 */
#define AWAY 160.0 /* near: as SCALE_ASIDE */

const char *ferry_i_scale_name(ferry_scale scale)
{
    static const char *const names[] = {"auto",  "none",   "words", "standard",
                                        "roots", "common", "l2"};

    return names[scale];
}

ferry_scaler *scaler_new(scope *s, ferry_scale kind, int64_t d)
{
    ferry_scaler *to = NEW(s, ferry_scaler, 1);

    to->kind = kind;
    to->d = d;
    to->fill = NEW(s, double, d);
    return to;
}

void scaler_list_far(scope *s, ferry_scaler *to)
{
    to->n_far = 0;
    for (int64_t j = 0; to->base && j < to->d; j++)
        to->n_far += to->base[j] != 0;
    to->far = NEW(s, int32_t, to->n_far);
    for (int64_t j = 0, k = 0; to->base && j < to->d; j++)
        if (to->base[j] != 0) to->far[k++] = (int32_t)j;
}

ferry_scaler *scaler_take(scope *s, const ferry_scaler *from, int64_t width,
                          const int32_t *map)
{
    ferry_scaler *to = scaler_new(s, from->kind, width);

    to->dense = from->dense;
    to->counts = from->counts;
    to->rows = from->rows;
    to->complete = from->complete;
    if (from->shift) to->shift = NEW(s, double, width);
    if (from->factor) to->factor = NEW(s, double, width);
    if (from->base) to->base = NEW(s, double, width);
    for (int64_t j = 0; j < width; j++) {
        const int64_t at = map ? map[j] : j;
        to->fill[j] = from->fill[at];
        if (from->shift) to->shift[j] = from->shift[at];
        if (from->factor) to->factor[j] = from->factor[at];
        if (from->base) to->base[j] = from->base[at];
    }
    scaler_list_far(s, to);
    return to;
}

/* The order is the rule of scale.h: the first that applies. */
static ferry_scale by_rule(const ferry_scale_facts *f)
{
    if (scale_are_words(f) || scale_frequent_words(f)) return FERRY_SCALE_WORDS;
    if (f->vary < SCALE_SMALL || f->spread > SCALE_SPREAD) return FERRY_SCALE_STANDARD;
    if (!f->neg && f->far == 0 && (f->cvsum <= EQUAL || (f->fill <= FULL && f->skew)))
        return FERRY_SCALE_ROOTS;
    return FERRY_SCALE_COMMON;
}

void scale_why(ferry_scale kind, const ferry_scale_facts *f, size_t size, char *out)
{
    if (kind == FERRY_SCALE_WORDS && scale_are_words(f))
        snprintf(out, size, "amounts of which %.3g %% of the cells are not 0",
                 100 * f->fill);
    else if (kind == FERRY_SCALE_WORDS)
        snprintf(out, size,
                 "counts of frequent words: %.3g %% of the cells are not 0, %.3g %% of "
                 "these are 1",
                 100 * f->fill, 100 * f->ones);
    else if (kind == FERRY_SCALE_STANDARD && f->vary < SCALE_SMALL)
        snprintf(out, size, "a table: %lld columns vary", (long long)f->vary);
    else if (kind == FERRY_SCALE_STANDARD)
        snprintf(out, size, "a table: deviations of columns differ by a factor of %.3g",
                 f->spread);
    else if (kind == FERRY_SCALE_ROOTS && f->cvsum <= EQUAL)
        snprintf(out, size, "histograms: the sums of the rows are nearly equal");
    else if (kind == FERRY_SCALE_ROOTS)
        snprintf(out, size,
                 "histograms: %.3g %% of the cells are not 0, small ones prevail",
                 100 * f->fill);
    else
        snprintf(out, size, "columns of one kind");
}

/* ---- what is done about them ---- */

/* factor_j <- ln((1 + n) / (1 + df_j)) + 1, df: rows where the word occurs. A word that a
 * part does not have occurs in none of its rows. */
static void inverse_frequencies(const learning *l, ferry_scaler *to)
{
    for (int64_t j = 0; j < to->d; j++)
        to->factor[j] = log((1 + l->n) / (1 + l->col[j].filled)) + 1;
}

/* Root of the mean squared length of a row, once the factors are there; filled cells are at the
 * mean and add nothing. */
static double row_length(const learning *l, const ferry_scaler *to)
{
    const double n = fmax(l->n, 1);
    double square = 0, largest = 0, all = 0;
    bool plain = true;

    for (int64_t j = 0; j < to->d; j++) {
        const column *c = &l->col[j];
        if (to->factor[j] == 0) continue;
        square += c->squares * to->factor[j] * to->factor[j];
        largest = fmax(largest, deviation(c) * to->factor[j]);
        plain = plain && c->unit == 1;
    }
    if (plain || largest == 0) return sqrt(square / n);
    for (int64_t j = 0; j < to->d; j++) { /* where squares would over- or underflow */
        const double z = deviation(&l->col[j]) * to->factor[j] / largest;
        all += l->col[j].there * z * z;
    }
    return largest * sqrt(all / n);
}

/* standard and common: centred, with factors that differ or do not. */
static void set_factors(const learning *l, ferry_scaler *to)
{
    for (int64_t j = 0; j < to->d; j++) {
        const column *c = &l->col[j];
        /* Half the range for a column of two values: 0/1 flags that are rarely on would
         * otherwise become as large as 1 / sqrt(share). */
        const double width = c->two ? 0.5 * (c->hi - c->lo) : deviation(c);
        to->shift[j] = c->mean;
        if (!varies(c)) continue; /* 0: a constant says nothing */
        to->factor[j] = to->kind == FERRY_SCALE_COMMON ? 1 : 1 / width;
    }
    /* mean squared length of a row to 1 */
    const double length = row_length(l, to);
    for (int64_t j = 0; length > 0 && j < to->d; j++)
        to->factor[j] /= length;
}

/* What always comes off. standard, common: the means that products would lose digits by. l2 and
 * those who make lengths themselves: if one has to come off all do, or the next would be all that is
 * left of a row; in CSR those of columns that are filled. */
static void set_base(scope *s, const learning *l, ferry_scaler *to)
{
    const ferry_scale k = to->kind;
    const bool centred = k == FERRY_SCALE_STANDARD || k == FERRY_SCALE_COMMON;

    if (!centred && !l->near && k != FERRY_SCALE_L2) return;
    if (!centred && scale_count_far(l, l->near ? AWAY : SCALE_ASIDE) == 0) return;
    to->base = NEW(s, double, to->d);
    for (int64_t j = 0; j < to->d; j++) {
        const column *c = &l->col[j];
        if (is_far(c, centred ? SCALE_FAR : 1) && (!centred || varies(c)))
            to->base[j] = c->mean;
    }
    scaler_list_far(s, to);
    if (to->n_far == 0) to->base = NULL;
}

/* near: values that a method could not square are brought to its size, all by one power of 2. */
static void set_size(scope *s, const learning *l, ferry_scaler *to)
{
    double largest = 0;

    for (int64_t j = 0; j < to->d; j++)
        if (l->col[j].there > 0)
            largest = fmax(largest, fmax(fabs(l->col[j].lo), fabs(l->col[j].hi)));
    if (largest == 0 || (largest > 1e-100 && largest < 1e100)) return;
    to->factor = NEW(s, double, to->d);
    for (int64_t j = 0; j < to->d; j++)
        to->factor[j] = ldexp(1, -ilogb(largest));
}

/* Facts and kind are known: shift and factor. words of fractions are only brought to
 * length 1, as they are weighted already. */
static void set_scaler(scope *s, scope *keep, learning *l, ferry_scaler *to)
{
    const ferry_scale k = to->kind;

    to->dense = l->f.fill > SCALE_FILL;
    to->rows = l->f.n;
    to->complete = true;
    for (int64_t j = 0; j < to->d; j++)
        to->complete = to->complete && l->col[j].there == l->col[j].rows;
    to->counts = k == FERRY_SCALE_WORDS && !l->f.neg && !l->f.frac;
    for (int64_t j = 0; k != FERRY_SCALE_WORDS && j < to->d; j++)
        to->fill[j] = l->col[j].mean;
    set_base(keep, l, to);
    if (l->near) set_size(keep, l, to);
    if (k == FERRY_SCALE_NONE || k == FERRY_SCALE_L2) return;
    if (k == FERRY_SCALE_WORDS && !to->counts) return;
    to->factor = NEW(keep, double, to->d);
    if (k != FERRY_SCALE_WORDS) to->shift = NEW(keep, double, to->d);
    if (k == FERRY_SCALE_WORDS)
        inverse_frequencies(l, to);
    else if (k == FERRY_SCALE_ROOTS)
        scale_centre_roots(s, l, to);
    else
        set_factors(l, to);
    for (int64_t j = 0; j < to->d; j++)
        if (!isfinite(to->factor[j]))
            scope_fail(s, FERRY_ENUMERIC, "feature %lld: the values are too small to scale",
                       (long long)(j + 1));
}

/* What n rows of a part count, from the first on. */
static double weight_of_rows(const ferry_scale_part *p, int64_t first, int64_t n)
{
    double all = 0;

    if (!p->weight) return (double)n;
    for (int64_t i = first; i < first + n; i++)
        all += p->weight[i];
    return all;
}

/* The rows that each column has. A column of the view belongs to as many rows as the parts
 * that have it; in the others it is missing as a whole and counts nowhere. */
static void begin(scope *s, learning *l)
{
    int64_t widest = 0, longest = 0;

    l->col = NEW(s, column, l->f.d);
    for (int64_t j = 0; j < l->f.d; j++) {
        l->col[j].unit = 1;
        l->col[j].lo = INFINITY;
        l->col[j].hi = -INFINITY;
    }
    for (int64_t p = 0; p < l->n_parts; p++) {
        const ferry_matrix *x = l->part[p].x;
        int64_t here = 0;
        l->all = rows_here(s, x->rows, &here);
        l->f.n += x->rows;
        l->weighted = l->weighted || l->part[p].weight;
        const double all = weight_of_rows(&l->part[p], 0, x->rows),
                     mine = weight_of_rows(&l->part[p], l->all.first, here);
        l->n += all;
        if (x->cols > widest) widest = x->cols;
        if (x->dense && x->rows > longest) longest = x->rows;
        for (int64_t j = 0; j < x->cols; j++) {
            const int64_t at = l->part[p].map ? l->part[p].map[j] : j;
            if (at < 0) continue;
            l->col[at].rows += all;
            l->col[at].there += mine;
        }
    }
    l->row = NEW(s, ferry_cell, widest);
    l->sum = NEW(s, double, longest);
}

/* Most facts are gathered whatever is wanted: fill values and the choice of dense or CSR come
 * from them too. */
ferry_scaler *scaler_fit(scope *s, scope *keep, ferry_scale wanted, int64_t d, int64_t n,
                         const ferry_scale_part *part, ferry_scale_facts *facts)
{
    const int64_t mark = scope_mark(s);
    ferry_scaler *to = NULL;
    learning l = {.n_parts = n,
                  .part = part,
                  .rule = wanted == FERRY_SCALE_AUTO,
                  .words = wanted == FERRY_SCALE_AUTO || wanted == FERRY_SCALE_WORDS,
                  .near = wanted == FERRY_SCALE_NEAR,
                  .f = {.d = d}};

    begin(s, &l);
    scale_find_facts(s, &l);
    if (l.rule) wanted = by_rule(&l.f);
    if (l.near) wanted = FERRY_SCALE_NONE;
    to = scaler_new(keep, wanted, d);
    set_scaler(s, keep, &l, to);
    if (facts) *facts = l.f;
    if (s != keep) scope_release(s, mark);
    return to;
}
