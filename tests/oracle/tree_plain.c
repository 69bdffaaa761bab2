/* A tree grown exactly and plainly: at every node each feature is sorted anew and every split
 * is tried. O(depth * cols * n log n) a tree, and again n for each threshold kept. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "oracle.h"

/* Sums over some rows. */
typedef struct sums {
    double g, h; /* h without reg */
    int64_t n;   /* rows with c > 0 */
} sums;

typedef struct entry {
    double v;
    int64_t at; /* row of the data */
} entry;

typedef struct split {
    int32_t feature; /* -1: none */
    double threshold, score;
    bool missing_left;
} split;

typedef struct grower {
    const ferry_tree_options *o;
    const ferry_tree_data *d;
    const double *z, *c;
    int64_t *at;   /* rows of the data, those of a node side by side */
    entry *sorted; /* n */
    ferry_tree *tree;
} grower;

static int by_value(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    if (x->v != y->v) return x->v < y->v ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static double term(const grower *w, sums s)
{
    const double h = s.h + w->o->reg;

    return h > 0 ? s.g * s.g / h : 0;
}

static sums add(sums a, sums b)
{
    return (sums){a.g + b.g, a.h + b.h, a.n + b.n};
}

static sums one(const grower *w, int64_t at)
{
    return (sums){w->z[at], w->c[at], w->c[at] > 0};
}

static bool allowed(const grower *w, sums s)
{
    return s.n >= w->o->min_leaf && s.n > 0 && s.h >= w->o->min_child;
}

/* Take the split if it is better than the best and, by more than rounding, than none. */
static void consider(const grower *w, sums left, sums right, double whole, int32_t feature,
                     double threshold, bool missing_left, split *best)
{
    const double score = term(w, left) + term(w, right);

    if (!allowed(w, left) || !allowed(w, right)) return;
    if (score <= best->score || score - whole <= 1e-12 * whole) return;
    *best = (split){feature, threshold, score, missing_left};
}

/* The middle between v and the next larger value of the feature in all the data. */
static double middle_above(const grower *w, int32_t feature, double v)
{
    double next = INFINITY;

    for (int64_t i = 0; i < w->d->n; i++) {
        const double u = ferry_i_tree_cell(w->d, w->d->rows ? w->d->rows[i] : i, feature);
        if (u > v && u < next) next = u;
    }
    return ferry_i_tree_middle(v, next);
}

/* All splits of one feature; thresholds are left at the largest value to the left. Without
 * missing cells in the node, new ones go where more of the curvature is. */
static void scan_feature(grower *w, int64_t begin, int64_t end, sums all, int32_t feature,
                         split *best)
{
    const double whole = term(w, all);
    sums present = {0}, left = {0}, missing = {0};
    int64_t n = 0;

    for (int64_t i = begin; i < end; i++) {
        const int64_t at = w->at[i];
        const double v = ferry_i_tree_cell(w->d, w->d->rows ? w->d->rows[at] : at, feature);
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
        const sums right = {present.g - left.g, present.h - left.h, present.n - left.n};
        if (i + 1 == n) { /* what is there against what is missing */
            if (missing.n > 0)
                consider(w, left, missing, whole, feature, DBL_MAX, false, best);
            continue;
        }
        if (missing.n == 0) {
            consider(w, left, right, whole, feature, v, left.h > right.h, best);
        } else {
            consider(w, left, add(right, missing), whole, feature, v, false, best);
            consider(w, add(left, missing), right, whole, feature, v, true, best);
        }
    }
}

/* Rows that go left first, each side in its old order; how many. */
static int64_t part(grower *w, int64_t begin, int64_t end, const split *s)
{
    int64_t left = begin, right = 0;

    for (int64_t i = begin; i < end; i++) {
        const int64_t at = w->at[i];
        const double v =
            ferry_i_tree_cell(w->d, w->d->rows ? w->d->rows[at] : at, s->feature);
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
static void grow(grower *w, int64_t self, int64_t begin, int64_t end, int64_t depth)
{
    ferry_tree_node *node = &w->tree->node[self];
    split best = {.feature = -1};
    sums all = {0};

    for (int64_t i = begin; i < end; i++)
        all = add(all, one(w, w->at[i]));
    node->value = all.h + w->o->reg > 0 ? all.g / (all.h + w->o->reg) : 0;
    if (depth == 0) return;
    for (int64_t j = 0; j < w->d->x->cols; j++)
        scan_feature(w, begin, end, all, (int32_t)j, &best);
    if (best.feature < 0) return;
    if (best.threshold < DBL_MAX)
        best.threshold = middle_above(w, best.feature, best.threshold);
    const int64_t middle = begin + part(w, begin, end, &best);
    node->feature = best.feature;
    node->threshold = best.threshold;
    node->missing_left = best.missing_left;
    node->gain = best.score - term(w, all);
    node->left = (int32_t)w->tree->n++;
    node->right = (int32_t)w->tree->n++;
    grow(w, node->left, begin, middle, depth - 1);
    grow(w, node->right, middle, end, depth - 1);
}

ferry_status oracle_tree(ferry_ctx *ctx, const ferry_tree_options *o,
                         const ferry_tree_data *d, const double *z, const double *c,
                         ferry_tree **out)
{
    ferry_status st = FERRY_OK;
    grower w = {.o = o, .d = d, .z = z, .c = c};

    *out = NULL;
    FERRY_TRY(ferry_i_tree_new(ctx, ferry_i_tree_most(o, d->n), &w.tree));
    FERRY_NEW(ctx, w.at, d->n);
    FERRY_NEW(ctx, w.sorted, d->n);
    for (int64_t i = 0; i < d->n; i++)
        w.at[i] = i;
    w.tree->n = 1;
    grow(&w, 0, 0, d->n, o->depth);
    *out = w.tree;
    w.tree = NULL;
done:
    ferry_i_tree_free(w.tree);
    ferry_i_free(w.sorted);
    ferry_i_free(w.at);
    return st;
}
