/* Scaling: whether counts are those of words of which only the frequent ones were kept (scale.h has
 * the rule). More than a tenth of the cells are then not 0, so that they look like a histogram or,
 * with a word in all headers, like a table.
 *
 * Three things tell them from other counts: most cells are 1; no frequent column is hardly ever
 * small, as a column of ages or months is; and some words occur in far more rows than the usual one,
 * as Zipf's law has it (visual words do not). */
#include <math.h>
#include <stdlib.h>

#include "learn/folds.h"
#include "learn/scale_learning.h"

#define DENSE 0.6 /* words fill at most this share of the cells */
#define ROWS 0.2 /* and rows are of different lengths; one-hot columns add up to the same */
#define ONES 0.4 /* share of the cells that are 1 */
#define LOW 10.0 /* the small values of a frequent column against those of the usual one */
#define TAIL 1.75    /* rows with a frequent word against those with the usual one */
#define WIDER 1.3    /* the same where deviations differ as they do in tables */
#define LARGE 1e6    /* a column whose small values are larger is not told from others */
#define SMALL_OF 0.1 /* the quantile that is meant by small values */

/* What needs no look at the cells. */
static bool may_be(const ferry_scale_facts *f)
{
    return !f->neg && !f->frac && f->vary >= SCALE_SMALL && f->fill <= DENSE &&
           f->cvsum >= ROWS;
}

bool scale_frequent_words(const ferry_scale_facts *f)
{
    const double tail = f->spread > SCALE_SPREAD ? WIDER : TAIL;

    return may_be(f) && f->dfr >= tail && f->ones >= ONES && f->low <= LOW;
}

/* The 0.9 quantile of the rows that a column is used in, against the median. */
static double find_tail(const learning *l, double *list)
{
    int64_t m = 0;

    for (int64_t j = 0; j < l->f.d; j++)
        if (l->col[j].filled > 0) list[m++] = l->col[j].filled;
    if (m == 0) return 1;
    qsort(list, (size_t)m, sizeof *list, ascending);
    return scale_quantile(list, m, 0.9) / scale_quantile(list, m, 0.5);
}

static void add_ones(learning *l, int64_t m, const ferry_cell *row)
{
    int64_t ones = 0;

    for (int64_t e = 0; e < m; e++)
        ones += row[e].v == 1;
    l->ones += l->w * (double)ones;
}

/* ---- the small values of every column ---- */

/* Cells that are not 0 and at most `middle`; the column's `root` is free until roots are asked for. */
static void add_below(learning *l, int64_t m, const ferry_cell *row)
{
    for (int64_t e = 0; e < m; e++) {
        column *c = &l->col[row[e].j];
        if (row[e].v > 0 && row[e].v <= c->middle) c->root += l->w;
    }
}

/* sorted[floor(.1 (m - 1))] of the cells of every column that are not 0, by halving: they are whole
 * numbers, so that some passes find it without keeping or sorting them, also where the rows are
 * spread. Up to LARGE. */
static void find_small(scope *s, learning *l, double *least)
{
    double *most = NEW(s, double, l->f.d);
    bool open = true;

    for (int64_t j = 0; j < l->f.d; j++) {
        least[j] = 1;
        most[j] = fmin(fmax(l->col[j].hi, 1), LARGE);
    }
    while (open) {
        open = false;
        for (int64_t j = 0; j < l->f.d; j++) {
            l->col[j].root = 0;
            l->col[j].middle = floor((least[j] + most[j]) / 2);
        }
        scale_each_row(s, l, add_below);
        scale_over_all(s, l, offsetof(column, root));
        for (int64_t j = 0; j < l->f.d; j++) {
            const column *c = &l->col[j];
            if (!(least[j] < most[j])) continue;
            if (c->root > floor(SMALL_OF * (c->filled - 1)))
                most[j] = c->middle;
            else
                least[j] = c->middle + 1;
            open = open || least[j] < most[j];
        }
    }
    for (int64_t j = 0; j < l->f.d; j++)
        l->col[j].root = 0;
}

/* The largest of the frequent columns against the usual one. */
static double find_low(scope *s, learning *l, double *list)
{
    double *low = NEW(s, double, l->f.d), most = 0;
    int64_t m = 0;

    find_small(s, l, low);
    for (int64_t j = 0; j < l->f.d; j++) {
        const column *c = &l->col[j];
        if (c->filled == 0) continue;
        list[m++] = low[j];
        if (c->filled >= SCALE_OFTEN * l->n) most = fmax(most, low[j]);
    }
    qsort(list, (size_t)m, sizeof *list, ascending);
    return most > 0 ? most / scale_quantile(list, m, 0.5) : 1;
}

/* Each look only where the ones before leave it open: most views are settled by the first. */
void scale_find_counts(scope *s, learning *l, double *list)
{
    l->f.dfr = 1;
    l->f.low = INFINITY;
    if (!may_be(&l->f)) return;
    l->f.dfr = find_tail(l, list);
    if (l->f.dfr < WIDER) return;
    scale_each_row(s, l, add_ones);
    sums(s, l->all, 1, &l->ones);
    l->f.ones = l->ones / fmax(l->cells, 1);
    if (l->f.ones >= ONES) l->f.low = find_low(s, l, list);
}
