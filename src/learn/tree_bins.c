/* Trees from histograms: the values of a feature are put into at most `bins` bins, about as many rows in each, and only the
 * borders between them are tried. A level adds up z and c by open node and bin: over this rank's rows, then over the ranks.
 * The rows stay where they are, and 24 bytes for each bin and node travel.
 *
 * The borders are found from the values of all ranks, exactly, so that any number of ranks grows the tree of one
 * process up to rounding. Scores within 1e-10 of each other are equal, and the first feature wins: two features that part the
 * rows alike add up the same numbers in different orders, and rounding, which is another on other ranks, must not choose.
 * With as many bins as values it is the exact tree (tree_sorted.c) but for such ties. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/ranks.h"
#include "learn/rows.h"
#include "learn/tree_level.h"

/* Values that are looked at together; numbers in the histograms of some nodes. */
enum { BATCH = 1 << 20, MOST_SUMS = 1 << 24 };
#define TIE 1e-10

struct ferry_bins {
    ferry_tree_data d; /* borrowed: this rank's rows */
    int64_t rows;      /* of all ranks */
    int64_t *start;    /* cols + 1: bins of each feature ... */
    double *end;   /* ... and the threshold above each; the last of a feature: DBL_MAX */
    int64_t *cell; /* n + 1: cells of each row that are not missing ... */
    int32_t *bin;  /* ... and their bins, numbered over all features */
};

/* A value of a feature, and how often it occurs. */
typedef struct entry {
    double v;
    int32_t feature, n;
} entry;

void ferry_i_bins_free(ferry_bins *b)
{
    if (!b) return;
    FERRY_FREE(b->start, b->end, b->cell, b->bin, b);
}

/* ---- bins ---- */

/* As ferry_i_tree_cell() has it. */
static bool missing(const ferry_tree_data *d, double v)
{
    return isnan(v) || (v == 0 && (d->sparse || !d->x->dense));
}

static int by_value(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    if (x->feature != y->feature) return x->feature < y->feature ? -1 : 1;
    return x->v < y->v ? -1 : x->v > y->v;
}

/* By feature and value, equal ones as one; how many are left. */
static int64_t merge(int64_t n, entry *e)
{
    int64_t m = 0;

    if (n > 1) qsort(e, (size_t)n, sizeof *e, by_value);
    for (int64_t i = 0; i < n; i++)
        if (m > 0 && by_value(&e[m - 1], &e[i]) == 0)
            e[m - 1].n += e[i].n;
        else
            e[m++] = e[i];
    return m;
}

/* All present cells of this rank, by feature: start (cols + 1), *all (new). */
static ferry_status by_features(ferry_ctx *ctx, const ferry_bins *b, int64_t *start,
                                entry **all)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix *x = b->d.x;
    const double *v = row_values(x);

    FERRY_NEW(ctx, *all, b->cell[b->d.n]);
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < b->d.n; i++) {
            const int64_t row = b->d.rows ? b->d.rows[i] : i;
            for (int64_t e = row_begin(x, row); e < row_end(x, row); e++) {
                const int64_t j = row_column(x, row, e);
                if (missing(&b->d, v[e])) continue;
                if (pass)
                    (*all)[start[j]++] = (entry){v[e], (int32_t)j, 1};
                else
                    start[j + 1]++;
            }
        }
        for (int64_t j = 0; !pass && j < x->cols; j++)
            start[j + 1] += start[j];
    }
    /* start[j] is now where feature j ends */
    memmove(start + 1, start, (size_t)x->cols * sizeof *start);
    start[0] = 0;
done:
    return st;
}

/* to <- the thresholds above the bins of one feature with n values; how many bins. A bin ends with the value that fills
 * its share of the rows; a value of many rows may fill several. */
static int64_t find_ends(int64_t bins, int64_t n, const entry *e, double *to)
{
    int64_t rows = 0, seen = 0, full = 0, m = 0;

    for (int64_t i = 0; i < n; i++)
        rows += e[i].n;
    for (int64_t i = 0; i + 1 < n; i++) {
        seen += e[i].n;
        if (n > bins && seen * bins / rows == full) continue;
        full = seen * bins / rows;
        to[m++] = ferry_i_tree_middle(e[i].v, e[i + 1].v);
    }
    if (n > 0) to[m++] = DBL_MAX;
    return m;
}

/* Bins of the features [from, to), whose values here are `mine` (n of them). */
static ferry_status bin_features(ferry_ctx *ctx, ferry_bins *b, int64_t bins, int64_t from,
                                 int64_t to, int64_t n, entry *mine)
{
    ferry_status st = FERRY_OK;
    int64_t first = 0, all = 0, at = 0;
    void *found = NULL;

    n = merge(n, mine);
    FERRY_TRY(ferry_i_ranks_collect(ctx, n, sizeof *mine, mine, &first, &all, &found));
    entry *e = found;
    all = merge(all, e);
    double *end = ferry_i_realloc(b->end, b->start[from] + all, sizeof *end);
    FERRY_HAVE(ctx, end || b->start[from] + all == 0);
    if (end) b->end = end;
    for (int64_t j = from; j < to; j++) {
        const int64_t begin = at;
        while (at < all && e[at].feature == j)
            at++;
        b->start[j + 1] =
            b->start[j] + find_ends(bins, at - begin, e + begin, b->end + b->start[j]);
    }
done:
    ferry_i_free(found);
    return st;
}

/* Features in batches of about as many values, so that no rank has all at a time. */
static ferry_status find_bins(ferry_ctx *ctx, int64_t bins, ferry_bins *b)
{
    ferry_status st = FERRY_OK;
    const int64_t cols = b->d.x->cols;
    int64_t *start = NULL;
    double *count = NULL;
    entry *all = NULL;

    FERRY_NEW(ctx, start, cols + 1);
    FERRY_NEW(ctx, count, cols);
    FERRY_TRY(by_features(ctx, b, start, &all));
    for (int64_t j = 0; j < cols; j++)
        count[j] = (double)(start[j + 1] - start[j]);
    FERRY_TRY(ferry_i_ranks_sum(ctx, cols, count));
    for (int64_t from = 0, to = 0; from < cols; from = to) {
        for (double n = 0; to < cols && (to == from || n + count[to] <= BATCH); to++)
            n += count[to];
        FERRY_TRY(bin_features(ctx, b, bins, from, to, start[to] - start[from],
                               all + start[from]));
    }
    FERRY_NEED(ctx, b->start[cols] < INT_MAX, FERRY_ENEEDS,
               "%lld bins of %lld features are too many; set bins",
               (long long)b->start[cols], (long long)cols);
done:
    FERRY_FREE(start, count, all);
    return st;
}

/* The first bin whose end is not below v. */
static int32_t bin_of(const ferry_bins *b, int64_t feature, double v)
{
    int64_t lo = b->start[feature], hi = b->start[feature + 1] - 1;

    while (lo < hi) {
        const int64_t middle = lo + (hi - lo) / 2;
        if (v <= b->end[middle])
            hi = middle;
        else
            lo = middle + 1;
    }
    return (int32_t)lo;
}

/* Where the cells of each row stand (bin NULL), or their bins. */
static void list_cells(ferry_bins *b)
{
    const ferry_matrix *x = b->d.x;
    const double *v = row_values(x);

    for (int64_t i = 0; i < b->d.n; i++) {
        const int64_t row = b->d.rows ? b->d.rows[i] : i;
        int64_t at = b->cell[i];
        for (int64_t e = row_begin(x, row); e < row_end(x, row); e++) {
            if (missing(&b->d, v[e])) continue;
            if (b->bin) b->bin[at] = bin_of(b, row_column(x, row, e), v[e]);
            at++;
        }
        b->cell[i + 1] = at;
    }
}

ferry_status ferry_i_bins_new(ferry_ctx *ctx, int64_t bins, const ferry_tree_data *d,
                              ferry_bins **out)
{
    ferry_status st = FERRY_OK;
    ferry_bins *b = NULL;

    *out = NULL;
    FERRY_NEW(ctx, b, 1);
    b->d = *d;
    b->rows = d->n;
    FERRY_TRY(ferry_i_ranks_count(ctx, &b->rows));
    FERRY_NEED(ctx, b->rows < INT_MAX, FERRY_ENEEDS,
               "%lld rows are too many for trees from histograms", (long long)b->rows);
    FERRY_NEW(ctx, b->start, d->x->cols + 1);
    FERRY_NEW(ctx, b->cell, d->n + 1);
    list_cells(b);
    FERRY_TRY(find_bins(ctx, bins, b));
    FERRY_NEW(ctx, b->bin, b->cell[d->n]);
    list_cells(b);
    FERRY_MOVE(*out, b);
done:
    ferry_i_bins_free(b);
    return st;
}

/* ---- growing ---- */

/* sums (nodes x bins) <- of the rows in open nodes [from, to). */
static void add_rows(const tree_level *l, const ferry_bins *b, int64_t from, int64_t to,
                     tree_sums *sums)
{
    const int64_t bins = b->start[b->d.x->cols];

    memset(sums, 0, (size_t)((to - from) * bins) * sizeof *sums);
    for (int64_t i = 0; i < b->d.n; i++) {
        const int64_t j = l->place[i];
        if (j < from || j >= to) continue;
        const tree_sums one = {l->z[i], l->c[i], l->c[i] > 0};
        for (int64_t e = b->cell[i]; e < b->cell[i + 1]; e++) {
            tree_sums *s = &sums[(j - from) * bins + b->bin[e]];
            *s = tree_plus(*s, one);
        }
    }
}

/* The best split of open node j; sums: of its bins. */
static void scan_node(tree_level *l, const ferry_bins *b, int64_t j, const tree_sums *sums)
{
    tree_best *best = &l->found[j];

    *best = (tree_best){.feature = -1};
    for (int64_t f = 0; f < b->d.x->cols; f++) {
        tree_sums present = {0}, left = {0};
        for (int64_t e = b->start[f]; e < b->start[f + 1]; e++)
            present = tree_plus(present, sums[e]);
        const tree_sums gone = tree_minus(l->open[j].all, present);
        for (int64_t e = b->start[f]; e + 1 < b->start[f + 1]; e++) {
            left = tree_plus(left, sums[e]);
            tree_consider_both(l, j, left, tree_minus(present, left), gone, f, b->end[e],
                               best);
        }
        /* one more split: all present rows left, the missing ones right */
        if (gone.n > 0) tree_consider(l, j, present, gone, f, DBL_MAX, false, best);
    }
}

ferry_status ferry_i_bins_tree(ferry_ctx *ctx, const ferry_tree_options *o,
                               const ferry_bins *b, const double *z, const double *c,
                               ferry_tree **out)
{
    ferry_status st = FERRY_OK;
    const int64_t bins = b->start[b->d.x->cols], fit = MOST_SUMS / (3 * (bins + 1)) + 1;
    tree_level l = {.o = o, .d = &b->d, .spread = true, .tie = TIE, .z = z, .c = c};
    tree_sums *sums = NULL;

    *out = NULL;
    FERRY_TRY(ferry_i_level_new(ctx, b->rows, &l));
    FERRY_NEW(ctx, sums, (l.most < fit ? l.most : fit) * bins);
    for (int64_t depth = 0; depth < o->depth && l.m > 0; depth++) {
        for (int64_t from = 0; from < l.m; from += fit) {
            const int64_t to = from + fit < l.m ? from + fit : l.m;
            add_rows(&l, b, from, to, sums);
            FERRY_TRY(ferry_i_ranks_sum(ctx, 3 * (to - from) * bins, (double *)sums));
            for (int64_t j = from; j < to; j++)
                scan_node(&l, b, j, sums + (j - from) * bins);
        }
        FERRY_TRY(ferry_i_level_split(ctx, &l));
    }
    FERRY_MOVE(*out, l.tree);
done:
    ferry_i_level_clear(&l);
    ferry_i_free(sums);
    return st;
}
