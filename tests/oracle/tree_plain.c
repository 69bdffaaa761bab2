/* A tree grown exactly and plainly: at every node each feature is sorted anew and every split
 * is tried. O(depth * cols * n log n) a tree. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "tree_plain.h"

/* Sums over some rows. */
typedef struct row_sums {
    double g, h; /* h without reg */
    int64_t n;   /* rows with c > 0 */
} row_sums;

typedef struct entry {
    double v;
    int64_t at; /* row of the data */
} entry;

typedef struct split {
    int32_t feature; /* -1: none */
    double threshold, score;
    bool missing_left;
} split;

typedef struct plain {
    const tree_options *o;
    matrix x;
    bool sparse;
    block zc;
    int64_t *at;   /* rows of the data, those of a node side by side */
    entry *sorted; /* n */
    tree *tree;
} plain;

static int by_value(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    if (x->v != y->v) return x->v < y->v ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static double term(const plain *w, row_sums s)
{
    const double h = s.h + w->o->reg;

    return h > 0 ? s.g * s.g / h : 0;
}

static row_sums add(row_sums a, row_sums b)
{
    return (row_sums){a.g + b.g, a.h + b.h, a.n + b.n};
}

static row_sums one(const plain *w, int64_t at)
{
    return (row_sums){ROW(w->zc, at)[0], ROW(w->zc, at)[1], ROW(w->zc, at)[1] > 0};
}

static bool allowed(const plain *w, row_sums s)
{
    return s.n >= w->o->min_leaf && s.n > 0 && s.h >= w->o->min_child;
}

/* Take the split if it is better than the best and, by more than rounding, than none. */
static void consider(const plain *w, row_sums left, row_sums right, double whole,
                     int32_t feature, double threshold, bool missing_left, split *best)
{
    const double score = term(w, left) + term(w, right);

    if (!allowed(w, left) || !allowed(w, right)) return;
    if (score <= best->score || score - whole <= 1e-12 * whole) return;
    *best = (split){feature, threshold, score, missing_left};
}

/* All splits of one feature, each in the middle of two neighbouring values of the node. Without
 * missing cells in the node, new ones go where more of the curvature is. */
static void scan_feature(plain *w, int64_t begin, int64_t end, row_sums all,
                         int32_t feature, split *best)
{
    const double whole = term(w, all);
    row_sums present = {0}, left = {0}, missing = {0};
    int64_t n = 0;

    for (int64_t i = begin; i < end; i++) {
        const int64_t at = w->at[i];
        const double v = tree_cell(w->x, w->sparse, at, feature);
        if (isnan(v))
            missing = add(missing, one(w, at));
        else
            w->sorted[n++] = (entry){v, at};
    }
    qsort(w->sorted, (size_t)n, sizeof *w->sorted, by_value);
    for (int64_t i = 0; i < n; i++)
        present = add(present, one(w, w->sorted[i].at));
    for (int64_t i = 0; i < n; i++) {
        const double v = w->sorted[i].v;
        left = add(left, one(w, w->sorted[i].at));
        if (i + 1 < n && w->sorted[i + 1].v == v) continue;
        const row_sums right = {present.g - left.g, present.h - left.h, present.n - left.n};
        if (i + 1 == n) { /* what is there against what is missing */
            if (missing.n > 0)
                consider(w, left, missing, whole, feature, DBL_MAX, false, best);
            continue;
        }
        double middle = v + (w->sorted[i + 1].v - v) / 2;
        if (!(middle < w->sorted[i + 1].v)) middle = v;
        if (missing.n == 0) {
            consider(w, left, right, whole, feature, middle, left.h > right.h, best);
        } else {
            consider(w, left, add(right, missing), whole, feature, middle, false, best);
            consider(w, add(left, missing), right, whole, feature, middle, true, best);
        }
    }
}

/* Rows that go left first, each side in its old order; how many. */
static int64_t part(plain *w, int64_t begin, int64_t end, const split *s)
{
    int64_t left = begin, right = 0;

    for (int64_t i = begin; i < end; i++) {
        const int64_t at = w->at[i];
        const double v = tree_cell(w->x, w->sparse, at, s->feature);
        if (isnan(v) ? s->missing_left : v <= s->threshold)
            w->at[left++] = at;
        else
            w->sorted[right++].at = at;
    }
    for (int64_t i = 0; i < right; i++)
        w->at[left + i] = w->sorted[i].at;
    return left - begin;
}

/* Grow node `self` over rows [begin, end); new nodes are counted in tree->n, for which
 * there is room. */
static void grow_node(plain *w, int64_t self, int64_t begin, int64_t end, int64_t depth)
{
    tree_node *node = &w->tree->node[self];
    split best = {.feature = -1};
    row_sums all = {0};

    for (int64_t i = begin; i < end; i++)
        all = add(all, one(w, w->at[i]));
    node->value = all.h + w->o->reg > 0 ? all.g / (all.h + w->o->reg) : 0;
    if (depth == 0) return;
    for (int64_t j = 0; j < w->x.cols; j++)
        scan_feature(w, begin, end, all, (int32_t)j, &best);
    if (best.feature < 0) return;
    const int64_t middle = begin + part(w, begin, end, &best);
    node->feature = best.feature;
    node->threshold = best.threshold;
    node->missing_left = best.missing_left;
    node->gain = best.score - term(w, all);
    node->left = (int32_t)w->tree->n++;
    node->right = (int32_t)w->tree->n++;
    grow_node(w, node->left, begin, middle, depth - 1);
    grow_node(w, node->right, middle, end, depth - 1);
}

void oracle_tree(scope *s, const tree_options *o, matrix x, bool sparse, block zc,
                 tree *out)
{
    plain w = {.o = o, .x = x, .sparse = sparse, .zc = zc, .tree = out};

    out->node = NEW(s, tree_node, 2 * x.n + 1);
    for (int64_t i = 0; i < 2 * x.n + 1; i++)
        out->node[i].feature = -1;
    w.at = NEW(s, int64_t, x.n);
    w.sorted = NEW(s, entry, x.n);
    for (int64_t i = 0; i < x.n; i++)
        w.at[i] = i;
    out->n = 1;
    grow_node(&w, 0, 0, x.n, o->depth);
}
