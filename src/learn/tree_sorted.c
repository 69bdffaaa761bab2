/* The exact tree, fast: every feature is sorted once for all trees, and a level of
 * the tree is one pass over the sorted features, with sums for each of its nodes. Where rows are spread over ranks
 * (grow.c brings those that trees are grown on together) each rank has its own run of the features. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/ranks.h"
#include "learn/rows.h"
#include "learn/tree_level.h"

struct ferry_sorted {
    /* borrowed matrix and rows */
    ferry_tree_data d;
    int64_t first, last; /* features of this rank; without ranks all */
    int64_t *start;      /* cols + 1: entries of each feature that are not missing ... */
    int32_t *row;        /* ... of 0..n, by value, then by row */
    double *value;       /* ... ascending within a feature */
    double *middle;      /* ... threshold above the value */
};

/* A present cell while features are sorted: its value and which of the n rows it is of. */
typedef struct entry {
    double v;
    int32_t row;
} entry;

/* By value, then by row: one order whatever qsort does with equals. */
static int by_value(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    if (x->v != y->v) return x->v < y->v ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

void ferry_i_sorted_free(ferry_sorted *s)
{
    if (!s) return;
    FERRY_FREE(s->start, s->row, s->value, s->middle, s);
}

/* As ferry_i_tree_cell() has it. */
static bool missing(const ferry_tree_data *d, double v)
{
    return isnan(v) || (v == 0 && (d->sparse || !d->x->dense));
}

/* Count the entries of every feature (all NULL), or put them in their places.
 * Two calls, as in a counting sort: first start[j + 1] counts feature j, then, added up,
 * start[j] is where its next entry goes. */
static void collect(const ferry_sorted *s, int64_t *start, entry *all)
{
    const ferry_tree_data *d = &s->d;
    const ferry_matrix *x = d->x;
    const double *v = row_values(x);

    for (int64_t i = 0; i < d->n; i++) {
        const int64_t row = d->rows ? d->rows[i] : i;
        for (int64_t e = row_begin(x, row); e < row_end(x, row); e++) {
            const int64_t j = row_column(x, row, e);
            if (j < s->first || j >= s->last || missing(d, v[e])) continue;
            if (all)
                all[start[j]++] = (entry){v[e], (int32_t)i};
            else
                start[j + 1]++;
        }
    }
}

/* O(cells log n) once. Missing cells are not stored: they go left or right together. 20
 * bytes a cell stay, 16 more while it is made. */
ferry_status ferry_i_sorted_new(ferry_ctx *ctx, const ferry_tree_data *d,
                                ferry_sorted **out)
{
    ferry_status st = FERRY_OK;
    const int64_t cols = d->x->cols;
    ferry_sorted *s = ferry_i_calloc(1, sizeof *s);
    entry *all = NULL;

    *out = NULL;
    FERRY_HAVE(ctx, s);
    FERRY_NEED(ctx, d->n < INT32_MAX, FERRY_ENEEDS,
               "%lld rows are too many for exact trees", (long long)d->n);
    s->d = *d;
    ferry_i_ranks_part(ctx, cols, &s->first, &s->last);
    FERRY_NEW(ctx, s->start, cols + 1);
    collect(s, s->start, NULL);
    for (int64_t j = 0; j < cols; j++)
        s->start[j + 1] += s->start[j];
    const int64_t n = s->start[cols];
    FERRY_NEW(ctx, all, n);
    FERRY_NEW(ctx, s->row, n);
    FERRY_NEW(ctx, s->value, n);
    FERRY_NEW(ctx, s->middle, n);
    collect(s, s->start, all); /* leaves start[j] at the end of feature j */
    memmove(s->start + 1, s->start, (size_t)cols * sizeof *s->start);
    s->start[0] = 0;
    for (int64_t j = 0; j < cols; j++)
        qsort(all + s->start[j], (size_t)(s->start[j + 1] - s->start[j]), sizeof *all,
              by_value);
    for (int64_t e = 0; e < n; e++) {
        s->row[e] = all[e].row;
        s->value[e] = all[e].v;
    }
    /* the threshold above an entry is the middle to the next larger value; equal values
     * share it, from the last of them on */
    for (int64_t j = 0; j < cols; j++)
        for (int64_t e = s->start[j + 1] - 2; e >= s->start[j]; e--)
            s->middle[e] = s->value[e] == s->value[e + 1]
                               ? s->middle[e + 1]
                               : ferry_i_tree_middle(s->value[e], s->value[e + 1]);
    FERRY_MOVE(*out, s);
done:
    ferry_i_free(all);
    ferry_i_sorted_free(s);
    return st;
}

/* ---- growing ---- */

/* Of one feature and one node. */
typedef struct scan {
    tree_sums present, left;
    double last; /* value of the last row that went left ... */
    bool any;    /* ... if one did */
    double middle;
} scan;

static tree_sums one_row(const tree_level *l, int32_t r)
{
    return (tree_sums){l->z[r], l->c[r], l->c[r] > 0};
}

/* The best split of every open node by one feature. scans, b: m each.
 * One walk up the sorted entries serves all nodes of the level: each row adds to the
 * left side of its own node. Where the value of a node's rows rises, the split between
 * the two is considered, with the node's missing rows on either side. O(entries + m). */
static void scan_feature(const tree_level *l, const ferry_sorted *s, int64_t feature,
                         scan *scans, tree_best *b)
{
    const int64_t begin = s->start[feature], end = s->start[feature + 1];

    memset(scans, 0, (size_t)l->m * sizeof *scans);
    for (int64_t j = 0; j < l->m; j++)
        scans[j].present = l->open[j].all;
    /* `present` is what the node has of this feature; `gone`, below, what is missing */
    if (end - begin < s->d.n) { /* some cells are missing: add up the others */
        for (int64_t j = 0; j < l->m; j++)
            scans[j].present = (tree_sums){0};
        for (int64_t e = begin; e < end; e++) {
            const int32_t r = s->row[e], j = l->place[r];
            if (j < 0) continue;
            scans[j].present = tree_plus(scans[j].present, one_row(l, r));
        }
    }
    for (int64_t e = begin; e < end; e++) {
        const int32_t r = s->row[e], j = l->place[r];
        const double v = s->value[e];
        if (j < 0) continue;
        scan *at = &scans[j];
        if (at->any && v > at->last)
            tree_consider_both(l, j, at->left, tree_minus(at->present, at->left),
                               tree_minus(l->open[j].all, at->present), feature, at->middle,
                               &b[j]);
        at->left = tree_plus(at->left, one_row(l, r));
        at->last = v;
        at->any = true;
        at->middle = s->middle[e];
    }
    /* one more split: all present rows left, the missing ones right */
    for (int64_t j = 0; j < l->m; j++) {
        const tree_sums gone = tree_minus(l->open[j].all, scans[j].present);
        if (gone.n > 0)
            tree_consider(l, j, scans[j].left, gone, feature, DBL_MAX, false, &b[j]);
    }
}

/* l->found <- the best of `sets` lists of the m open nodes, `apart` each from the next, the features of one after those of
 * the one before: of equals the first feature wins. */
static void take_best(tree_level *l, int64_t sets, int64_t apart, const tree_best *all)
{
    memcpy(l->found, all, (size_t)l->m * sizeof *all);
    for (int64_t t = 1; t < sets; t++)
        for (int64_t j = 0; j < l->m; j++)
            if (tree_better(l, all[t * apart + j].score, l->found[j].score))
                l->found[j] = all[t * apart + j];
}

/* Each thread takes a run of neighbouring features, so that the result does not depend on their number. scans, b:
 * threads x most. */
static void scan_level(tree_level *l, const ferry_sorted *s, int threads, scan *scans,
                       tree_best *b)
{
    const int64_t cols = s->last - s->first, most = l->most;

#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; t++) {
        for (int64_t j = 0; j < l->m; j++)
            b[t * most + j] = (tree_best){.feature = -1};
        for (int64_t f = cols * t / threads; f < cols * (t + 1) / threads; f++)
            scan_feature(l, s, s->first + f, scans + t * most, b + t * most);
    }
    take_best(l, threads, most, b);
}

/* The best of all ranks' features. */
static ferry_status meet(ferry_ctx *ctx, tree_level *l)
{
    ferry_status st = FERRY_OK;
    tree_best *all = NULL;

    if (!ferry_i_ranks_split(ctx)) goto done;
    const int64_t ranks = ctx->ranks->size, m = l->m;
    FERRY_NEW(ctx, all, ranks * m);
    memcpy(all + ctx->ranks->rank * m, l->found, (size_t)m * sizeof *all);
    FERRY_TRY(ferry_i_ranks_gather(ctx, ranks * m, sizeof *all, all));
    take_best(l, ranks, m, all);
done:
    ferry_i_free(all);
    return st;
}

/* Level by level from the root: scan all features, split, move the rows on. z and c (n)
 * belong to the rows of s. 2^16 cells are about where threads begin to pay. */
ferry_status ferry_i_sorted_tree(ferry_ctx *ctx, const ferry_tree_options *o,
                                 const ferry_sorted *s, const double *z, const double *c,
                                 ferry_tree **out)
{
    ferry_status st = FERRY_OK;
    const int threads = s->start[s->d.x->cols] < 1 << 16 ? 1 : ctx->threads;
    tree_level l = {.o = o, .d = &s->d, .z = z, .c = c};
    scan *scans = NULL;
    tree_best *b = NULL;

    *out = NULL;
    FERRY_TRY(ferry_i_level_new(ctx, s->d.n, &l));
    FERRY_NEW(ctx, scans, l.most * threads);
    FERRY_NEW(ctx, b, l.most * threads);
    for (int64_t depth = 0; depth < o->depth && l.m > 0; depth++) {
        scan_level(&l, s, threads, scans, b);
        FERRY_TRY(meet(ctx, &l));
        FERRY_TRY(ferry_i_level_split(ctx, &l));
    }
    FERRY_MOVE(*out, l.tree);
done:
    ferry_i_level_clear(&l);
    FERRY_FREE(scans, b);
    return st;
}
