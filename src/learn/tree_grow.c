/* Growing a tree level by level, exactly or from histograms (tree.h).
 *
 * Features stand column by column. Exact: each sorted by value once for all trees; a level is one walk up every feature,
 * with sums for each open node. Histograms: the values of a feature are put into at most `bins` bins, about as many rows
 * in each; a level adds up z and c by open node and bin, of the smaller of two children (the other is what the parent
 * has beyond it), over the rows of all processes. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "learn/rows.h"
#include "learn/tree.h"

#define TIE 1e-10 /* scores that are nearer than this, relatively, are equal */
/* Values that are looked at together; numbers in histograms; cells that are brought together; cells from which on
 * threads pay; sets of features that are searched side by side. */
enum { BATCH = 1 << 20, MOST_SUMS = 1 << 24, MOST_CELLS = 1 << 27, GRAIN = 1 << 16 };
enum { CHUNKS = 64 };

/* What a set of rows says: G = sum z, H = sum c without reg, and how many rows count. */
typedef struct row_sums {
    double g, h, n;
} row_sums;

/* A node of the level that grows. */
typedef struct open_node {
    int32_t node;
    row_sums all;
    double whole; /* G^2 / (H + reg) */
    double least; /* gain: less may be rounding alone */
} open_node;

/* The best split of a node so far; score is G_L^2/H_L + G_R^2/H_R, 0 before there is one. */
typedef struct best_split {
    int32_t feature; /* -1: none */
    bool missing_left;
    double threshold, score;
} best_split;

/* Of one feature and one node, on the way up its values. */
typedef struct scan {
    row_sums present, left;
    double last; /* value of the last row that went left ... */
    bool any;    /* ... if one did */
} scan;

struct grower {
    tree_options o;
    layout rows;                   /* of the caller's */
    bool together, spread, sparse; /* spread: histograms are added up */
    matrix x;                      /* rows to grow on: all of them, or those here */
    const double *weight;          /* of these; NULL: 1 */
    const uint64_t *key;           /* likewise */
    int64_t *start; /* cols + 1: cells of each feature that are not missing ... */
    int32_t *row;   /* ... their rows; NULL: all rows in order */
    double *value;  /* exact: ascending within a feature */
    uint16_t *bin;  /* else: of each cell */
    int64_t *bins;  /* cols + 1: bins of each feature ... */
    double *end;    /* ... and the threshold above each; the last of a feature: DBL_MAX */
    int32_t *order; /* features as they are tried */
    /* of the tree that grows; per row */
    double *z, *c, *n;
    int32_t *place;  /* which open node, -1: its leaf is final */
    int32_t *leaf;   /* node */
    int64_t m, most; /* open nodes; of a level, at most */
    open_node *open, *next;
    best_split *found;   /* what to split each open node by */
    int32_t (*child)[2]; /* places of the two children in `next`, -1: it stays a leaf */
    double *sums;        /* 4 each of the nodes in `next` */
    best_split *chunk;   /* CHUNKS x most */
    scan *scans;         /* threads x most */
    row_sums *now,
        *before; /* histograms: fit x bins of this level, and of the one before */
    int64_t fit;
    int32_t *listed, *slot; /* rows of nodes whose histograms are added up */
    int32_t *parent;        /* most: of an open node, in the level before */
    tree tree;
};

/* ---- sums and splits ---- */

static row_sums minus(row_sums a, row_sums b)
{
    return (row_sums){a.g - b.g, a.h - b.h, a.n - b.n};
}

static row_sums plus(row_sums a, row_sums b)
{
    return (row_sums){a.g + b.g, a.h + b.h, a.n + b.n};
}

static row_sums one_row(const grower *g, int64_t i)
{
    return (row_sums){g->z[i], g->c[i], g->n[i]};
}

/* G^2 / H, the part of a node in the gain; h has reg in it. */
static double term(double g, double h)
{
    return h > 0 ? g * g / h : 0;
}

static bool better(double score, double than)
{
    return score > than * (1 + TIE);
}

static bool allowed(const grower *g, row_sums s)
{
    return s.n >= (double)g->o.min_leaf * (1 - TIE) && s.h >= g->o.min_child * (1 - TIE);
}

/* b <- this split of open node j, if it is allowed, better than the best so far and a gain beyond rounding. */
static inline void consider(const grower *g, int64_t j, row_sums left, row_sums right,
                            best_split split, best_split *b)
{
    const double reg = g->o.reg;

    if (!allowed(g, left) || !allowed(g, right)) return;
    split.score = term(left.g, left.h + reg) + term(right.g, right.h + reg);
    if (!better(split.score, b->score) ||
        split.score - g->open[j].whole <= g->open[j].least)
        return;
    *b = split;
}

/* The split between two values, with the missing rows on either side. Without any in the node new ones go with the
 * heavier side. */
static inline void consider_both(const grower *g, int64_t j, row_sums left, row_sums right,
                                 row_sums gone, int64_t feature, double threshold,
                                 best_split *b)
{
    best_split to = {(int32_t)feature, better(left.h, right.h), threshold, 0};

    if (gone.n == 0) {
        consider(g, j, left, right, to, b);
        return;
    }
    to.missing_left = false;
    consider(g, j, left, plus(right, gone), to, b);
    to.missing_left = true;
    consider(g, j, plus(left, gone), right, to, b);
}

/* What of a node is missing; differences of sums are 0 only up to rounding. */
static row_sums missing_of(const grower *g, int64_t j, row_sums present)
{
    const row_sums gone = minus(g->open[j].all, present);

    return gone.n > 1e-9 * g->open[j].all.n ? gone : (row_sums){0, 0, 0};
}

/* The middle between a < b, below b whatever the rounding: a + (b - a) / 2 may round up to b when the two are
 * neighbours; a itself separates them. */
static inline double middle(double a, double b)
{
    const double m = a + (b - a) / 2;

    return m < b ? m : a;
}

/* ---- features column by column ---- */

static bool missing(const grower *g, double v)
{
    return isnan(v) || (v == 0 && (g->sparse || !g->x.m->dense));
}

/* start, row and value (or neither), of present cells, rows in order. A counting sort in two passes. */
static void collect(scope *s, grower *g)
{
    const ferry_matrix *x = g->x.m;
    const double *v = row_values(x);
    int64_t *start = g->start = NEW(s, int64_t, x->cols + 2);

    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < g->x.n; i++)
            for (int64_t e = row_begin(x, i); e < row_end(x, i); e++) {
                const int64_t j = row_column(x, i, e);
                if (missing(g, v[e])) continue;
                if (pass) {
                    g->row[start[j + 1]] = (int32_t)i;
                    g->value[start[j + 1]] = v[e];
                }
                start[j + (pass ? 1 : 2)]++;
            }
        if (pass) break;
        for (int64_t j = 1; j < x->cols + 1; j++)
            start[j + 1] += start[j];
        g->row = NEW(s, int32_t, start[x->cols + 1]);
        g->value = NEW(s, double, start[x->cols + 1]);
    }
}

/* A value of a feature: of which row, or how often it occurs. */
typedef struct cell {
    double v, n;
    uint64_t key;
    int32_t feature, row;
} cell;

static int by_value(const void *a, const void *b)
{
    const cell *x = a, *y = b;

    if (x->feature != y->feature) return x->feature < y->feature ? -1 : 1;
    if (x->v != y->v) return x->v < y->v ? -1 : 1;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static uint64_t key_of(const grower *g, int64_t i)
{
    const int64_t number = g->together      ? i
                           : g->rows.number ? g->rows.number[i]
                                            : g->rows.first + i;

    return g->key ? g->key[i] : XXH3_64bits(&number, sizeof number);
}

/* Where a feature stands: by how it orders the rows; of two that do it alike by their values. */
typedef struct place_of {
    uint64_t rows, values;
    int32_t feature;
    bool varies;
} place_of;

static int by_place(const void *a, const void *b)
{
    const place_of *x = a, *y = b;

    if (x->rows != y->rows) return x->rows < y->rows ? -1 : 1;
    if (x->values != y->values) return x->values < y->values ? -1 : 1;
    return x->feature < y->feature ? -1 : x->feature > y->feature;
}

static uint64_t mix(uint64_t hash, uint64_t with)
{
    const uint64_t both[] = {hash, with};

    return XXH3_64bits(both, sizeof both);
}

/* Of the n sorted cells of a feature. A row counts once, however often it is there. */
static place_of find_place(int64_t n, const cell *e, int64_t feature)
{
    place_of p = {.feature = (int32_t)feature};

    for (int64_t i = 0; i < n; i++) {
        const bool rises = i == 0 || e[i].v > e[i - 1].v;
        const float v = (float)e[i].v;
        if (!rises && e[i].key == e[i - 1].key) continue;
        p.rows = mix(p.rows + rises, e[i].key);
        if (rises) p.values = mix(p.values, XXH3_64bits(&v, sizeof v));
        p.varies = p.varies || (rises && i > 0);
    }
    return p;
}

static void order_features(scope *s, grower *g, place_of *all)
{
    if (g->x.cols > 1) qsort(all, (size_t)g->x.cols, sizeof *all, by_place);
    g->order = NEW(s, int32_t, g->x.cols);
    for (int64_t j = 0; j < g->x.cols; j++)
        g->order[j] = all[j].feature;
}

/* Exact: O(cells log n). 12 bytes a cell stay. */
static place_of *sort_features(scope *s, grower *g)
{
    place_of *place = NEW(s, place_of, g->x.cols);
    const int64_t mark = scope_mark(s);
    cell *one = NEW(s, cell, g->x.n);

    for (int64_t j = 0; j < g->x.cols; j++) {
        const int64_t first = g->start[j], n = g->start[j + 1] - first;
        for (int64_t e = 0; e < n; e++) {
            const int32_t row = g->row[first + e];
            one[e] = (cell){g->value[first + e], 0, key_of(g, row), 0, row};
        }
        if (n > 1) qsort(one, (size_t)n, sizeof *one, by_value);
        place[j] = find_place(n, one, j);
        for (int64_t e = 0; e < n; e++) {
            g->value[first + e] = one[e].v;
            g->row[first + e] = one[e].row;
        }
    }
    scope_release(s, mark);
    return place;
}

const int32_t *feature_order(scope *s, matrix x, const uint64_t *key, int64_t *n)
{
    grower *g = NEW(s, grower, 1);
    int32_t *order = NEW(s, int32_t, x.cols);
    const int64_t mark = scope_mark(s);

    *g = (grower){.rows = x.rows, .x = to_dense(s, x), .key = key};
    collect(s, g);
    place_of *all = sort_features(s, g);
    if (x.cols > 1) qsort(all, (size_t)x.cols, sizeof *all, by_place);
    *n = 0;
    for (int64_t j = 0; j < x.cols; j++)
        if (all[j].varies) order[(*n)++] = all[j].feature;
    scope_release(s, mark);
    return order;
}

/* ---- bins ---- */

/* Equal values of the n sorted cells of a feature as one; how many are left. */
static int64_t merge(int64_t n, cell *e)
{
    int64_t m = 0;

    for (int64_t i = 0; i < n; i++)
        if (m > 0 && e[m - 1].v == e[i].v)
            e[m - 1].n += e[i].n;
        else
            e[m++] = e[i];
    return m;
}

/* to <- the thresholds above the bins of one feature with n values; how many bins. A bin ends with the value that fills
 * its share of the rows; a value of many rows may fill several. */
static int64_t find_ends(int64_t bins, int64_t n, const cell *e, double *to)
{
    double rows = 0, seen = 0, full = 0;
    int64_t m = 0;

    for (int64_t i = 0; i < n; i++)
        rows += e[i].n;
    for (int64_t i = 0; i + 1 < n; i++) {
        seen += e[i].n;
        const double share = floor(seen * (double)bins / rows * (1 + 1e-12));
        if (n > bins && share == full) continue;
        full = share;
        to[m++] = middle(e[i].v, e[i + 1].v);
    }
    if (n > 0) to[m++] = DBL_MAX;
    return m;
}

/* Bins of the features [from, to), by the cells of all processes. */
static void bin_features(scope *s, grower *g, int64_t from, int64_t to, place_of *place)
{
    const int64_t mark = scope_mark(s), first = g->start[from];
    int64_t n = g->start[to] - first, at = 0;
    cell *e = NEW(s, cell, n);

    for (int64_t j = from; j < to; j++)
        for (int64_t i = g->start[j] - first; i < g->start[j + 1] - first; i++) {
            const int32_t row = g->row[first + i];
            e[i] = (cell){g->value[first + i], g->weight ? g->weight[row] : 1,
                          key_of(g, row), (int32_t)j, 0};
        }
    if (g->spread) {
        const layout cells = {.n = (int64_t)sum(s, g->rows, (double)n), .spread = true};
        e = replicate_items(s, cells, n, sizeof *e, e);
        n = cells.n;
        if (n > 1) qsort(e, (size_t)n, sizeof *e, by_value);
    }
    for (int64_t j = from; j < to; j++) {
        cell *own = e + at;
        int64_t m = 0;
        while (at < n && e[at].feature == j)
            at++;
        m = e + at - own;
        if (m > 1 && !g->spread) qsort(own, (size_t)m, sizeof *own, by_value);
        place[j] = find_place(m, own, j);
        g->bins[j + 1] =
            g->bins[j] + find_ends(g->o.bins, merge(m, own), own, g->end + g->bins[j]);
    }
    scope_release(s, mark);
}

/* The bin of v: the first whose end is not below it. */
static uint16_t bin_of(const grower *g, int64_t feature, double v)
{
    const int64_t first = g->bins[feature];
    int64_t lo = first, hi = g->bins[feature + 1] - 1;

    while (lo < hi) {
        const int64_t half = lo + (hi - lo) / 2;
        if (v <= g->end[half])
            hi = half;
        else
            lo = half + 1;
    }
    return (uint16_t)(lo - first);
}

/* Features in batches of about as many cells, so that no process has all at a time. */
static void make_bins(scope *s, grower *g)
{
    const int64_t cols = g->x.cols, cells = g->start[cols];
    place_of *place = NEW(s, place_of, cols);
    double *count = NEW(s, double, cols), most_bins = 0;

    for (int64_t j = 0; j < cols; j++)
        count[j] = (double)(g->start[j + 1] - g->start[j]);
    sums(s, g->rows, cols, count);
    for (int64_t j = 0; j < cols; j++)
        most_bins += fmin(count[j], (double)g->o.bins);
    if (most_bins >= INT_MAX)
        scope_fail(s, FERRY_ENEEDS, "bins of %lld features are too many; set bins",
                   (long long)cols);
    g->bins = NEW(s, int64_t, cols + 1);
    g->end = NEW(s, double, (int64_t)most_bins);
    for (int64_t from = 0, to = 0; from < cols; from = to) {
        for (double n = 0; to < cols && (to == from || n + count[to] <= BATCH); to++)
            n += count[to];
        bin_features(s, g, from, to, place);
    }
    order_features(s, g, place);
    g->bin = NEW(s, uint16_t, cells);
    for (int64_t j = 0; j < cols; j++)
        for (int64_t e = g->start[j]; e < g->start[j + 1]; e++)
            g->bin[e] = bin_of(g, j, g->value[e]);
    scope_drop(s, g->value);
    g->value = NULL;
    if (cells == g->x.n * cols) { /* nothing is missing */
        scope_drop(s, g->row);
        g->row = NULL;
    }
}

/* ---- a grower ---- */

/* 2^(depth + 1) - 1 nodes of a full tree, or 2 n + 1, whichever is less. */
static int64_t most_nodes(const tree_options *o, int64_t n)
{
    const int64_t most = 2 * n + 1; /* every leaf has a row */

    return o->depth < 30 && ((int64_t)2 << o->depth) - 1 < most
               ? ((int64_t)2 << o->depth) - 1
               : most;
}

/* A level has at most half of all nodes, rounded up. */
static void make_scratch(scope *s, grower *g)
{
    const int64_t n = g->x.n, nodes = most_nodes(&g->o, g->rows.n), most = nodes / 2 + 1;

    g->most = most;
    g->tree.node = NEW(s, tree_node, nodes);
    g->z = NEW(s, double, n);
    g->c = NEW(s, double, n);
    g->n = NEW(s, double, n);
    g->place = NEW(s, int32_t, n);
    g->leaf = NEW(s, int32_t, n);
    g->open = NEW(s, open_node, most);
    g->next = NEW(s, open_node, most);
    g->found = NEW(s, best_split, most);
    g->child = scope_new(s, most, sizeof *g->child);
    g->sums = NEW(s, double, 4 * most);
    g->chunk = NEW(s, best_split, CHUNKS * most);
    if (g->o.bins == 0) {
        g->scans = NEW(s, scan, scope_ctx(s)->threads * most);
        return;
    }
    const int64_t bins = g->bins[g->x.cols], fit = MOST_SUMS / (3 * (bins + 1)) + 1;
    g->fit = most < fit ? most : fit;
    g->now = NEW(s, row_sums, g->fit * bins);
    g->before = NEW(s, row_sums, g->fit * bins);
    g->listed = NEW(s, int32_t, n);
    g->slot = NEW(s, int32_t, most);
    g->parent = NEW(s, int32_t, most);
}

/* Exact trees over processes: all have all rows, in their order. So every sum has the order that it has in one process,
 * and the trees are the same, also where splits are equal but for rounding. */
static void bring_together(scope *s, grower *g)
{
    const int64_t all = g->rows.n;

    if (g->x.cols > 0 && all > MOST_CELLS / g->x.cols)
        scope_fail(s, FERRY_ENEEDS,
                   "exact trees bring the rows that they learn from together, and %lld x "
                   "%lld cells are too many; bins=64 leaves them where they are",
                   (long long)all, (long long)g->x.cols);
    if (g->weight)
        g->weight = replicate_items(s, g->rows, g->x.n, sizeof *g->weight, g->weight);
    if (g->key) g->key = replicate_items(s, g->rows, g->x.n, sizeof *g->key, g->key);
    g->together = true;
    g->x = replicate_rows(s, g->x);
}

grower *grower_new(scope *s, const tree_options *o, matrix x, bool sparse,
                   const double *weight, const uint64_t *key)
{
    grower *g = NEW(s, grower, 1);

    *g = (grower){
        .o = *o, .rows = x.rows, .sparse = sparse, .x = x, .weight = weight, .key = key};
    if (x.rows.n >= INT_MAX)
        scope_fail(s, FERRY_ENEEDS, "%lld rows are too many for trees",
                   (long long)x.rows.n);
    g->spread = x.rows.spread && o->bins > 0;
    if (x.rows.spread && o->bins == 0) bring_together(s, g);
    collect(s, g);
    if (o->bins > 0)
        make_bins(s, g);
    else
        order_features(s, g, sort_features(s, g));
    make_scratch(s, g);
    return g;
}

/* ---- exact splits ---- */

/* The best split of every open node by one feature: one walk up the sorted entries serves all nodes of the level, each
 * row adds to the left side of its own. Where the value of a node's rows rises, the split in the middle of the two is
 * considered. O(entries + m). */
static void scan_sorted(const grower *g, int64_t feature, scan *scans, best_split *b)
{
    const int64_t begin = g->start[feature], end = g->start[feature + 1];

    memset(scans, 0, (size_t)g->m * sizeof *scans);
    for (int64_t j = 0; j < g->m; j++)
        scans[j].present = g->open[j].all;
    if (end - begin < g->x.n) { /* some cells are missing: add up the others */
        for (int64_t j = 0; j < g->m; j++)
            scans[j].present = (row_sums){0, 0, 0};
        for (int64_t e = begin; e < end; e++) {
            const int32_t j = g->place[g->row[e]];
            if (j >= 0) scans[j].present = plus(scans[j].present, one_row(g, g->row[e]));
        }
    }
    for (int64_t e = begin; e < end; e++) {
        const int32_t r = g->row[e], j = g->place[r];
        const double v = g->value[e];
        if (j < 0) continue;
        scan *at = &scans[j];
        if (at->any && v > at->last)
            consider_both(g, j, at->left, minus(at->present, at->left),
                          missing_of(g, j, at->present), feature, middle(at->last, v),
                          &b[j]);
        at->left = plus(at->left, one_row(g, r));
        at->last = v;
        at->any = true;
    }
    /* one more split: all present rows left, the missing ones right */
    for (int64_t j = 0; j < g->m; j++) {
        const row_sums gone = missing_of(g, j, scans[j].present);
        if (gone.n > 0)
            consider(g, j, scans[j].left, gone,
                     (best_split){(int32_t)feature, false, DBL_MAX, 0}, &b[j]);
    }
}

/* ---- splits by histograms ---- */

/* The best split of open node j by one feature; of: its bins of all features. */
static void scan_bins(const grower *g, int64_t feature, int64_t j, const row_sums *of,
                      best_split *b)
{
    row_sums present = {0, 0, 0}, left = {0, 0, 0};

    for (int64_t e = g->bins[feature]; e < g->bins[feature + 1]; e++)
        present = plus(present, of[e]);
    const row_sums gone = missing_of(g, j, present);
    for (int64_t e = g->bins[feature]; e + 1 < g->bins[feature + 1]; e++) {
        left = plus(left, of[e]);
        consider_both(g, j, left, minus(present, left), gone, feature, g->end[e], b);
    }
    if (gone.n > 0)
        consider(g, j, present, gone, (best_split){(int32_t)feature, false, DBL_MAX, 0}, b);
}

/* to <- sums of the rows in nodes with a slot, by slot and bin of one feature; n_listed rows are in such. */
static void add_feature(const grower *g, int64_t feature, int64_t n_listed, row_sums *to)
{
    const int64_t width = g->bins[g->x.cols], first = g->bins[feature];
    const uint16_t *bin = g->bin + g->start[feature];

    for (int64_t l = 0; !g->row && l < n_listed; l++) {
        const int32_t i = g->listed[l];
        row_sums *at = &to[g->slot[g->place[i]] * width + first + bin[i]];
        *at = plus(*at, one_row(g, i));
    }
    for (int64_t e = g->start[feature]; g->row && e < g->start[feature + 1]; e++) {
        const int32_t i = g->row[e], j = g->place[i];
        if (j < 0 || g->slot[j] < 0) continue;
        row_sums *at = &to[g->slot[j] * width + first + g->bin[e]];
        *at = plus(*at, one_row(g, i));
    }
}

/* now <- histograms of the open nodes with a slot, over all rows. */
static void add_rows(scope *s, grower *g, int64_t slots)
{
    const int64_t width = g->bins[g->x.cols], cols = g->x.cols;
    const int threads = g->start[cols] < GRAIN ? 1 : scope_ctx(s)->threads;
    int64_t n = 0;

    memset(g->now, 0, (size_t)(slots * width) * sizeof *g->now);
    for (int64_t i = 0; i < g->x.n; i++)
        if (g->place[i] >= 0 && g->slot[g->place[i]] >= 0) g->listed[n++] = (int32_t)i;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t j = 0; j < cols; j++)
        add_feature(g, j, n, g->now);
    if (g->spread) sums(s, g->rows, 3 * slots * width, (double *)g->now);
}

/* Histograms of all open nodes, where those of the level before are there: of the smaller child by its rows, of the
 * other by what is left of their parent. */
static void add_children(scope *s, grower *g)
{
    const int64_t width = g->bins[g->x.cols];

    for (int64_t j = 0; j + 1 < g->m; j += 2) {
        const bool left = !(g->open[j].all.n > g->open[j + 1].all.n);
        g->slot[j] = left ? (int32_t)j : -1;
        g->slot[j + 1] = left ? -1 : (int32_t)j + 1;
    }
    add_rows(s, g, g->m);
    for (int64_t j = 0; j < g->m; j++) {
        if (g->slot[j] >= 0) continue;
        const row_sums *all = g->before + g->parent[j] * width,
                       *other = g->now + (j ^ 1) * width;
        row_sums *to = g->now + j * width;
        for (int64_t e = 0; e < width; e++)
            to[e] = minus(all[e], other[e]);
    }
}

/* ---- the best of all features ---- */

/* Features of chunk t, tried in their order, for the open nodes [from, to). */
static void search_chunk(const grower *g, int64_t t, int64_t chunks, int64_t from,
                         int64_t to, scan *scans)
{
    best_split *b = g->chunk + t * g->most;
    const int64_t cols = g->x.cols, width = g->o.bins > 0 ? g->bins[cols] : 0;

    for (int64_t j = from; j < to; j++)
        b[j] = (best_split){.feature = -1};
    for (int64_t f = cols * t / chunks; f < cols * (t + 1) / chunks; f++) {
        const int64_t feature = g->order[f];
        if (g->o.bins == 0) scan_sorted(g, feature, scans, b);
        for (int64_t j = from; g->o.bins > 0 && j < to; j++)
            scan_bins(g, feature, j, g->now + (j - from) * width, &b[j]);
    }
}

/* Chunks do not depend on the number of threads, so the result does not. */
static void search(scope *s, grower *g, int64_t from, int64_t to)
{
    const int64_t cols = g->x.cols, chunks = cols < CHUNKS ? cols : CHUNKS;
    const int threads = g->start[cols] < GRAIN ? 1 : scope_ctx(s)->threads;

#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; t++)
        for (int64_t c = chunks * t / threads; c < chunks * (t + 1) / threads; c++)
            search_chunk(g, c, chunks, from, to, g->scans ? g->scans + t * g->most : NULL);
    for (int64_t j = from; j < to; j++) {
        g->found[j] = (best_split){.feature = -1};
        for (int64_t c = 0; c < chunks; c++)
            if (better(g->chunk[c * g->most + j].score, g->found[j].score))
                g->found[j] = g->chunk[c * g->most + j];
    }
}

/* found <- the best splits of the open nodes. */
static void find_splits(scope *s, grower *g, bool kept)
{
    if (g->o.bins == 0) {
        search(s, g, 0, g->m);
        return;
    }
    if (kept && g->m > 1 && g->m <= g->fit) {
        add_children(s, g);
        search(s, g, 0, g->m);
        return;
    }
    for (int64_t from = 0; from < g->m; from += g->fit) {
        const int64_t to = from + g->fit < g->m ? from + g->fit : g->m;
        for (int64_t j = 0; j < g->m; j++)
            g->slot[j] = j >= from && j < to ? (int32_t)(j - from) : -1;
        add_rows(s, g, to - from);
        search(s, g, from, to);
    }
}

/* ---- levels ---- */

static void add_row(grower *g, int64_t i, int64_t node)
{
    double *to = g->sums + 4 * node;

    to[0] += g->z[i];
    to[1] += g->c[i];
    to[2] += g->n[i];
    if (g->n[i] > 0) to[3] += g->z[i] * g->z[i] / g->n[i];
}

/* The m nodes of `next` are open, with what their rows say. Sums are added up anew from the rows rather than taken from
 * the search, so that rounding does not build up from level to level. A leaf's value is G / (H + reg), which inner
 * nodes get too: they were leaves once. Where sums of z cancel, 1e-12 of their squares tells a gain from rounding. */
static void open_next(scope *s, grower *g, int64_t m)
{
    if (g->spread) sums(s, g->rows, 4 * m, g->sums);
    for (int64_t j = 0; j < m; j++) {
        const double *of = g->sums + 4 * j, h = of[1] + g->o.reg;
        open_node *o = &g->next[j];
        o->all = (row_sums){of[0], of[1], of[2]};
        o->whole = term(of[0], h);
        o->least = 1e-12 * (o->whole + (h > 0 ? of[3] / h : 0));
        g->tree.node[o->node] = (tree_node){.feature = -1, .value = h > 0 ? of[0] / h : 0};
    }
    memcpy(g->open, g->next, (size_t)m * sizeof *g->open);
    g->m = m;
}

/* Split the open nodes as found; rows move on to the new ones, which are open then. */
static void split(scope *s, grower *g)
{
    tree *t = &g->tree;
    int64_t m = 0;

    for (int64_t j = 0; j < g->m; j++) {
        const best_split *b = &g->found[j];
        tree_node *node = &t->node[g->open[j].node];
        g->child[j][0] = g->child[j][1] = -1;
        if (b->feature < 0) continue;
        node->feature = b->feature;
        node->threshold = b->threshold;
        node->missing_left = b->missing_left;
        node->gain = b->score - g->open[j].whole;
        node->left = (int32_t)t->n++;
        node->right = (int32_t)t->n++;
        for (int side = 0; side < 2; side++) {
            if (g->parent) g->parent[m] = (int32_t)j;
            g->child[j][side] = (int32_t)m;
            g->next[m++].node = side ? node->right : node->left;
        }
    }
    memset(g->sums, 0, (size_t)(4 * m) * sizeof *g->sums);
    for (int64_t i = 0; i < g->x.n; i++) {
        const int32_t j = g->place[i];
        if (j < 0) continue;
        g->place[i] = -1;
        if (g->child[j][0] < 0) continue;
        const best_split *b = &g->found[j];
        const double v = tree_cell(g->x, g->sparse, i, b->feature);
        const bool left = isnan(v) ? b->missing_left : v <= b->threshold;
        g->place[i] = g->child[j][left ? 0 : 1];
        g->leaf[i] = g->next[g->place[i]].node;
        add_row(g, i, g->place[i]);
    }
    open_next(s, g, m);
}

/* z and c of all rows, weighted; every row in the root. */
static void begin(scope *s, grower *g, block zc)
{
    const int64_t mark = scope_mark(s);
    const block all = g->spread ? zc : replicate(s, zc);

    memset(g->sums, 0, 4 * sizeof *g->sums);
    for (int64_t i = 0; i < g->x.n; i++) {
        const double w = g->weight ? g->weight[i] : 1;
        g->z[i] = w * ROW(all, i)[0];
        g->c[i] = w * ROW(all, i)[1];
        g->n[i] = ROW(all, i)[1] > 0 ? w : 0;
        g->place[i] = g->leaf[i] = 0;
        add_row(g, i, 0);
    }
    scope_release(s, mark);
    g->tree.n = 1;
    g->next[0].node = 0;
    open_next(s, g, 1);
}

const tree *grow(scope *s, grower *g, block zc, int32_t *leaf)
{
    bool kept = false;

    begin(s, g, zc);
    for (int64_t depth = 0; depth < g->o.depth && g->m > 0; depth++) {
        find_splits(s, g, kept);
        kept = g->m <= g->fit; /* its histograms are all there */
        row_sums *now = g->now;
        g->now = g->before;
        g->before = now;
        split(s, g);
    }
    for (int64_t i = 0; leaf && i < zc.n; i++)
        leaf[i] = g->leaf[g->spread        ? i
                          : zc.rows.number ? zc.rows.number[i]
                                           : zc.rows.first + i];
    return &g->tree;
}
