/* The exact tree again, fast: every feature is sorted once for all trees, and a level of
 * the tree is one pass over the sorted features, with sums for each of its nodes. The
 * splits are those of ferry_i_tree_fit up to rounding. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/rows.h"
#include "learn/trees.h"

struct ferry_sorted {
    /* borrowed matrix and rows */
    ferry_tree_data d;
    int64_t *start; /* cols + 1: entries of each feature that are not missing ... */
    int32_t *row;   /* ... of 0..n, by value, then by row */
    double *value;  /* ... ascending within a feature */
    double *middle; /* ... threshold above the value */
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
static void collect(const ferry_tree_data *d, int64_t *start, entry *all)
{
    const ferry_matrix *x = d->x;
    const double *v = row_values(x);

    for (int64_t i = 0; i < d->n; i++) {
        const int64_t row = d->rows ? d->rows[i] : i;
        for (int64_t e = row_begin(x, row); e < row_end(x, row); e++) {
            const int64_t j = row_column(x, row, e);
            if (missing(d, v[e])) continue;
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
    FERRY_NEW(ctx, s->start, cols + 1);
    collect(d, s->start, NULL);
    for (int64_t j = 0; j < cols; j++)
        s->start[j + 1] += s->start[j];
    const int64_t n = s->start[cols];
    FERRY_NEW(ctx, all, n);
    FERRY_NEW(ctx, s->row, n);
    FERRY_NEW(ctx, s->value, n);
    FERRY_NEW(ctx, s->middle, n);
    collect(d, s->start, all); /* leaves start[j] at the end of feature j */
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

/* What a set of rows says: G = sum z, H = sum c, and how many rows count. */
typedef struct sums {
    double g, h; /* h without reg */
    int64_t n;   /* rows with c > 0 */
} sums;

/* A node of the level that grows. */
typedef struct open {
    int32_t node;
    sums all;
    double whole; /* G^2 / (H + reg) */
} open;

/* Of one feature and one node. */
typedef struct scan {
    sums present, left;
    double last; /* value of the last row that went left ... */
    bool any;    /* ... if one did */
    double middle;
} scan;

/* The best split of a node so far; score is G_L^2/H_L + G_R^2/H_R, 0 before there is
 * one. */
typedef struct best {
    int32_t feature; /* -1: none */
    double threshold, score;
    bool missing_left;
} best;

/* All that a scan reads of the level that grows, m open nodes of it. */
typedef struct level {
    const ferry_tree_options *o;
    const ferry_sorted *s;
    const double *z, *c;
    const int32_t *place; /* n: which open node each row is in, -1: none */
    const open *open;
    int64_t m;
} level;

/* G^2 / H, the part of a node in the gain; h has reg in it. */
static double term(double g, double h)
{
    return h > 0 ? g * g / h : 0;
}

/* b <- this split, if it is allowed (rows and curvature on both sides), better than the
 * best so far (first of equals wins) and a gain beyond rounding: scores are sums in
 * another order than `whole`, so a gain of 1e-12 of it may be none. */
static void consider(const level *l, const open *o, sums left, sums right, int32_t feature,
                     double threshold, bool missing_left, best *b)
{
    const ferry_tree_options *t = l->o;

    if (left.n < t->min_leaf || right.n < t->min_leaf || left.n == 0 || right.n == 0 ||
        left.h < t->min_child || right.h < t->min_child)
        return;
    const double score = term(left.g, left.h + t->reg) + term(right.g, right.h + t->reg);
    if (score <= b->score || score - o->whole <= 1e-12 * o->whole) return;
    *b = (best){feature, threshold, score, missing_left};
}

static sums minus(sums a, sums b)
{
    return (sums){a.g - b.g, a.h - b.h, a.n - b.n};
}

static sums plus(sums a, sums b)
{
    return (sums){a.g + b.g, a.h + b.h, a.n + b.n};
}

/* The best split of every open node by one feature. scans, b: m each.
 * One walk up the sorted entries serves all nodes of the level: each row adds to the
 * left side of its own node. Where the value of a node's rows rises, the split between
 * the two is considered, with the node's missing rows on either side. O(entries + m). */
static void scan_feature(const level *l, int64_t feature, scan *scans, best *b)
{
    const ferry_sorted *s = l->s;
    const int64_t begin = s->start[feature], end = s->start[feature + 1];

    memset(scans, 0, (size_t)l->m * sizeof *scans);
    for (int64_t j = 0; j < l->m; j++)
        scans[j].present = l->open[j].all;
    /* `present` is what the node has of this feature; `gone`, below, what is missing */
    if (end - begin < s->d.n) { /* some cells are missing: add up the others */
        for (int64_t j = 0; j < l->m; j++)
            scans[j].present = (sums){0};
        for (int64_t e = begin; e < end; e++) {
            const int32_t r = s->row[e], j = l->place[r];
            if (j < 0) continue;
            scans[j].present =
                plus(scans[j].present, (sums){l->z[r], l->c[r], l->c[r] > 0});
        }
    }
    for (int64_t e = begin; e < end; e++) {
        const int32_t r = s->row[e], j = l->place[r];
        const double v = s->value[e];
        if (j < 0) continue;
        scan *at = &scans[j];
        if (at->any && v > at->last) {
            const open *o = &l->open[j];
            const sums right = minus(at->present, at->left);
            const sums gone = minus(o->all, at->present);
            const double middle = at->middle;
            /* no missing row to learn from: new ones go with the heavier side */
            if (gone.n == 0) {
                consider(l, o, at->left, right, (int32_t)feature, middle,
                         at->left.h > right.h, &b[j]);
            } else {
                consider(l, o, at->left, plus(right, gone), (int32_t)feature, middle, false,
                         &b[j]);
                consider(l, o, plus(at->left, gone), right, (int32_t)feature, middle, true,
                         &b[j]);
            }
        }
        at->left = plus(at->left, (sums){l->z[r], l->c[r], l->c[r] > 0});
        at->last = v;
        at->any = true;
        at->middle = s->middle[e];
    }
    /* one more split: all present rows left, the missing ones right */
    for (int64_t j = 0; j < l->m; j++) {
        const sums gone = minus(l->open[j].all, scans[j].present);
        if (gone.n > 0)
            consider(l, &l->open[j], scans[j].left, gone, (int32_t)feature, DBL_MAX, false,
                     &b[j]);
    }
}

/* What one tree needs while it grows. */
typedef struct room {
    /* n: which open node a row is in, -1: its leaf is final */
    int32_t *place;
    /* most each: this level's nodes and the next one's */
    open *open, *next;
    scan *scans; /* threads x most */
    best *found; /* threads x most */
    /* most: places of the two children in `next`, -1: the node stays a leaf */
    int32_t (*child)[2];
    int threads;
    /* nodes of a level, at most */
    int64_t most;
} room;

static void clear(room *r)
{
    FERRY_FREE(r->place, r->open, r->next, r->scans, r->found, r->child);
}

/* A level has at most half of all nodes, rounded up. Rows start in place 0, the root. */
static ferry_status make_room(ferry_ctx *ctx, int64_t n, int64_t nodes, int threads,
                              room *r)
{
    ferry_status st = FERRY_OK;

    r->most = nodes / 2 + 1;
    r->threads = threads;
    FERRY_NEW(ctx, r->place, n);
    FERRY_NEW(ctx, r->open, r->most);
    FERRY_NEW(ctx, r->next, r->most);
    FERRY_NEW(ctx, r->scans, r->most * threads);
    FERRY_NEW(ctx, r->found, r->most * threads);
    FERRY_NEW(ctx, r->child, r->most);
done:
    return st;
}

/* Each thread takes a run of neighbouring features; of equals the first feature wins, so
 * the result does not depend on their number. */
static void scan_level(const level *l, room *r)
{
    const int64_t cols = l->s->d.x->cols;
    const int threads = r->threads;

#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; t++) {
        best *b = r->found + t * r->most;
        for (int64_t j = 0; j < l->m; j++)
            b[j] = (best){.feature = -1};
        for (int64_t f = cols * t / threads; f < cols * (t + 1) / threads; f++)
            scan_feature(l, f, r->scans + t * r->most, b);
    }
    for (int t = 1; t < threads; t++)
        for (int64_t j = 0; j < l->m; j++) {
            const best *b = &r->found[t * r->most + j];
            if (b->score > r->found[j].score) r->found[j] = *b;
        }
}

/* A node about to be split, with its own part of the gain. */
static open opened(const ferry_tree_options *o, int32_t node, sums all)
{
    return (open){node, all, term(all.g, all.h + o->reg)};
}

/* The leaf's value G / (H + reg), which inner nodes get too: they were leaves once. */
static void set_value(const ferry_tree_options *o, sums all, ferry_tree_node *node)
{
    node->value = all.h + o->reg > 0 ? all.g / (all.h + o->reg) : 0;
}

/* Split the open nodes as found; rows move on to the new ones. How many are open now.
 * Sums of the children are added up anew from their rows rather than taken from the
 * scan, so that rounding does not build up from level to level. */
static int64_t next_level(const level *l, room *r, ferry_tree *t)
{
    const ferry_tree_data *d = &l->s->d;
    int64_t m = 0;

    for (int64_t j = 0; j < l->m; j++) {
        const best *b = &r->found[j];
        ferry_tree_node *node = &t->node[l->open[j].node];
        r->child[j][0] = r->child[j][1] = -1;
        if (b->feature < 0) continue;
        node->feature = b->feature;
        node->threshold = b->threshold;
        node->missing_left = b->missing_left;
        node->gain = b->score - l->open[j].whole;
        node->left = (int32_t)t->n++;
        node->right = (int32_t)t->n++;
        for (int side = 0; side < 2; side++) {
            r->child[j][side] = (int32_t)m;
            r->next[m++] = opened(l->o, side ? node->right : node->left, (sums){0});
        }
    }
    for (int64_t i = 0; i < d->n; i++) {
        const int32_t j = r->place[i];
        if (j < 0) continue;
        if (r->child[j][0] < 0) {
            r->place[i] = -1;
            continue;
        }
        const best *b = &r->found[j];
        const double v = ferry_i_tree_cell(d, d->rows ? d->rows[i] : i, b->feature);
        const bool left = isnan(v) ? b->missing_left : v <= b->threshold;
        r->place[i] = r->child[j][left ? 0 : 1];
        r->next[r->place[i]].all =
            plus(r->next[r->place[i]].all, (sums){l->z[i], l->c[i], l->c[i] > 0});
    }
    for (int64_t j = 0; j < m; j++) {
        r->next[j] = opened(l->o, r->next[j].node, r->next[j].all);
        set_value(l->o, r->next[j].all, &t->node[r->next[j].node]);
    }
    return m;
}

/* Level by level from the root: scan all features, split, move the rows on. z and c (n)
 * belong to the rows of s. 2^16 cells are about where threads begin to pay. */
ferry_status ferry_i_sorted_tree(ferry_ctx *ctx, const ferry_tree_options *o,
                                 const ferry_sorted *s, const double *z, const double *c,
                                 ferry_tree **out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = s->d.n, most = ferry_i_tree_most(o, n);
    const int threads = s->start[s->d.x->cols] < 1 << 16 ? 1 : ctx->threads;
    ferry_tree *t = NULL;
    room r = {0};
    sums all = {0};

    *out = NULL;
    FERRY_TRY(ferry_i_tree_new(ctx, most, &t));
    FERRY_TRY(make_room(ctx, n, most, threads, &r));
    for (int64_t i = 0; i < n; i++)
        all = plus(all, (sums){z[i], c[i], c[i] > 0});
    t->n = 1;
    set_value(o, all, &t->node[0]);
    r.open[0] = opened(o, 0, all);
    for (int64_t depth = 0, m = 1; depth < o->depth && m > 0; depth++) {
        const level l = {o, s, z, c, r.place, r.open, m};
        scan_level(&l, &r);
        m = next_level(&l, &r, t);
        memcpy(r.open, r.next, (size_t)m * sizeof *r.open);
    }
    FERRY_MOVE(*out, t);
done:
    clear(&r);
    ferry_i_tree_free(t);
    return st;
}
