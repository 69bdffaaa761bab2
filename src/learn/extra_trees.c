/* extra-trees: extremely randomised trees for sets of labels (Geurts, Ernst, Wehenkel: Extremely Randomized Trees,
 * Machine Learning 2006), one tree for all labels at once.
 *
 * A node draws some features and for each one threshold between its least and largest value there; the split with the
 * largest sum over labels of s_l^2/n_l + s_r^2/n_r is taken (n: rows, s: rows with the label, as weights count them),
 * which is the least squared error of the label vectors. A label's score is its share among the training rows in a row's
 * leaf, the mean over trees. A leaf keeps which rows came there, not their mean label vector: with hundreds of labels
 * that would be most of the memory.
 *
 * trees = 300 and min_leaf = 2 were chosen on other random halves of emotions than those of docs/methods/extra-trees.md
 * (1 or 2 rows, 100 or 300 trees). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/learner.h"
#include "learn/tree.h"

typedef struct extra_options {
    int64_t trees, features, min_leaf;
} extra_options;

static const ferry_opt extra_opts[] = {
    FERRY_OPT(extra_options, INT, trees, 300, 1, 1e5, "trees"),
    FERRY_OPT(extra_options, INT, features, 0, 0, 1e9,
              "features that a split chooses from; 0: the root of their number"),
    FERRY_OPT(extra_options, INT, min_leaf, 2, 1, 1e9, "instances in a leaf, at least"),
};

/* Nodes of all trees one after the other; children are neighbours and come after their parent, numbered within the
 * tree. */
typedef struct extra_state {
    int64_t trees, rows, labels, nodes, ones, cols;
    int64_t *first;    /* trees: their first nodes */
    int32_t *feature;  /* nodes; -1: a leaf */
    double *threshold; /* x <= threshold goes left */
    int32_t
        *from; /* the left child; of a leaf: its rows are order[from .. to) of the tree */
    int32_t *to;
    int32_t *order; /* trees x rows */
    int32_t *start; /* rows + 1: where a row's labels begin ... */
    int32_t *label; /* ... in this list */
    double *weight; /* rows */
} extra_state;
static const field extra_fields[] = {
    VALUE(extra_state, INT, labels),
    VALUE(extra_state, INT, cols),
    ARRAY(extra_state, REALS, weight, .rows = SIZE(extra_state, rows)),
    ARRAY(extra_state, INTS, first, .rows = SIZE(extra_state, trees)),
    ARRAY(extra_state, PLACES, feature, .rows = SIZE(extra_state, nodes)),
    ARRAY(extra_state, REALS, threshold, .rows = SIZE(extra_state, nodes)),
    ARRAY(extra_state, PLACES, from, .rows = SIZE(extra_state, nodes)),
    ARRAY(extra_state, PLACES, to, .rows = SIZE(extra_state, nodes)),
    ARRAY(extra_state, PLACES, order, .rows = SIZE(extra_state, trees),
          .cols = SIZE(extra_state, rows), .below = SIZE(extra_state, rows)),
    ARRAY(extra_state, PLACES, start, .rows = SIZE_PLUS(extra_state, rows, 1)),
    ARRAY(extra_state, PLACES, label, .rows = SIZE(extra_state, ones),
          .below = SIZE(extra_state, labels)),
};

/* Every tree's nodes are within it, children after their parents, and leaves have rows. */
static bool is_tree(const extra_state *f, int64_t t)
{
    const int64_t first = f->first[t], end = t + 1 < f->trees ? f->first[t + 1] : f->nodes;

    if (first < 0 || first >= end || end > f->nodes || (t == 0 && first != 0)) return false;
    for (int64_t at = first; at < end; at++) {
        const int64_t from = f->from[at], n = end - first;
        if (f->feature[at] >= f->cols) return false;
        if (f->feature[at] < 0 && (from < 0 || from >= f->to[at] || f->to[at] > f->rows))
            return false;
        if (f->feature[at] >= 0 && (from <= at - first || from + 1 >= n)) return false;
    }
    return true;
}

static void check_forest(scope *s, const void *state)
{
    const extra_state *f = state;
    bool good = f->trees >= 1 && f->rows >= 1 && f->labels >= 1 && f->start[0] == 0 &&
                f->start[f->rows] == f->ones;

    for (int64_t i = 0; good && i < f->rows; i++)
        good = f->start[i] <= f->start[i + 1] && f->weight[i] > 0;
    for (int64_t t = 0; good && t < f->trees; t++)
        good = is_tree(f, t);
    if (!good) scope_fail(s, FERRY_EDATA, "tensors from, to: not of trees");
}

static const table extra_table = {sizeof(extra_state), extra_fields,
                                  FERRY_COUNT(extra_fields), check_forest, NULL};

/* ---- growing ---- */

/* One forest under way. */
typedef struct growing {
    const extra_options *o;
    matrix x;
    extra_state *f;
    int64_t capacity;       /* of nodes */
    int64_t draws;          /* features a node */
    int64_t varied;         /* features that are not the same in all rows ... */
    const int32_t *ordered; /* ... in an order that no file decides */
    int32_t *list;          /* likewise, in an order that draws change */
    double *value, *weight; /* of the rows of a node: in one feature, and as they count */
    int32_t *order;         /* of the tree under way */
    int32_t *right;         /* rows that go right */
    int32_t *here;          /* labels of the node's rows; n_here of them */
    int64_t n_here;
    double *all,
        *left; /* labels: rows with it in the node, of these on the left; 0 between nodes */
    bool alike; /* every weight is 1 */
    ferry_rng rng;
} growing;

static double cell(matrix x, int64_t i, int64_t j)
{
    if (x.m->dense) return x.m->dense[i * x.cols + j];
    const int64_t e = ferry_i_matrix_seek(x.m, i, j);
    return e < x.m->start[i + 1] && x.m->index[e] == j ? x.m->value[e] : 0;
}

/* One more node with rows from .. to. */
static void add_node(scope *s, growing *g, int64_t from, int64_t to)
{
    extra_state *f = g->f;

    if (f->nodes == g->capacity) {
        g->capacity = g->capacity ? 2 * g->capacity : 1024;
        f->feature = scope_grow(s, f->feature, g->capacity, sizeof *f->feature);
        f->threshold = scope_grow(s, f->threshold, g->capacity, sizeof *f->threshold);
        f->from = scope_grow(s, f->from, g->capacity, sizeof *f->from);
        f->to = scope_grow(s, f->to, g->capacity, sizeof *f->to);
    }
    f->feature[f->nodes] = -1;
    f->threshold[f->nodes] = 0;
    f->from[f->nodes] = (int32_t)from;
    f->to[f->nodes++] = (int32_t)to;
}

static double weigh(growing *g, int64_t from, int64_t to)
{
    double all = 0;

    if (g->alike) return (double)(to - from);
    for (int64_t i = from; i < to; i++)
        all += g->weight[i - from] = g->f->weight[g->order[i]];
    return all;
}

/* Count the labels of the node's rows; whether any is on for some and off for others. */
static bool count(growing *g, int64_t from, int64_t to, double rows)
{
    const extra_state *f = g->f;
    bool mixed = false;

    g->n_here = 0;
    for (int64_t i = from; i < to; i++)
        for (int32_t e = f->start[g->order[i]]; e < f->start[g->order[i] + 1]; e++) {
            if (g->all[f->label[e]] == 0) g->here[g->n_here++] = f->label[e];
            g->all[f->label[e]] += g->weight[i - from];
        }
    for (int64_t e = 0; e < g->n_here; e++)
        mixed = mixed || g->all[g->here[e]] < rows * (1 - 1e-12);
    return mixed;
}

/* The gain of a split of the node's values at t; -1: a side would be too small. */
static double gain(growing *g, int64_t from, int64_t to, double rows, double t)
{
    const extra_state *f = g->f;
    const double least = (double)g->o->min_leaf * (1 - 1e-12);
    double n = 0, all = 0;
    int64_t ones = 0;

    if (g->alike) /* whole numbers add up faster */
        for (int64_t i = 0; i < to - from; i++)
            ones += g->value[i] <= t;
    else
        for (int64_t i = 0; i < to - from; i++)
            n += g->value[i] <= t ? g->weight[i] : 0;
    n += (double)ones;
    if (n < least || rows - n < least) return -1;
    for (int64_t i = from; i < to; i++) {
        const int32_t row = g->order[i];
        if (g->value[i - from] > t) continue;
        for (int32_t e = f->start[row]; e < f->start[row + 1]; e++)
            g->left[f->label[e]] += g->weight[i - from];
    }
    for (int64_t e = 0; e < g->n_here; e++) {
        const double l = g->left[g->here[e]], r = g->all[g->here[e]] - l;
        all += l * l / n + r * r / (rows - n);
        g->left[g->here[e]] = 0;
    }
    return all;
}

/* The values of feature j in the node, and a threshold among them; false: they are all equal. */
static bool threshold(growing *g, int64_t from, int64_t to, int64_t j, double *t)
{
    double least = INFINITY, largest = -INFINITY;

    for (int64_t i = from; i < to; i++) {
        const double v = g->value[i - from] = cell(g->x, g->order[i], j);
        least = fmin(least, v);
        largest = fmax(largest, v);
    }
    if (!(least < largest)) return false;
    *t = least + ferry_i_rng_real(&g->rng) * (largest - least);
    if (!(*t < largest)) *t = least; /* rounding, or the range is beyond all numbers */
    return true;
}

/* Draw features that differ within the node and keep the best split. -1: there is none. */
static int32_t draw_split(growing *g, int64_t from, int64_t to, double rows, double *best_t)
{
    double best = 0, t = 0;
    int32_t feature = -1;

    for (int64_t j = 0, seen = 0; j < g->varied && seen < g->draws; j++) {
        const int64_t at =
            j + (int64_t)ferry_i_rng_below(&g->rng, (uint64_t)(g->varied - j));
        const int32_t drawn = g->list[at];
        g->list[at] = g->list[j];
        g->list[j] = drawn;
        if (!threshold(g, from, to, drawn, &t)) continue;
        seen++;
        const double now = gain(g, from, to, rows, t);
        if (now <= best * (1 + 1e-12)) continue;
        best = now;
        feature = drawn;
        *best_t = t;
    }
    return feature;
}

/* Rows at or below t first, each side in the order they had; how many. */
static int64_t part(growing *g, int64_t from, int64_t to, int32_t feature, double t)
{
    int64_t n = 0, m = 0;

    for (int64_t i = from; i < to; i++) {
        const int32_t row = g->order[i];
        if (cell(g->x, row, feature) <= t)
            g->order[from + n++] = row;
        else
            g->right[m++] = row;
    }
    memcpy(g->order + from + n, g->right, (size_t)m * sizeof *g->right);
    return n;
}

static void grow_tree(scope *s, growing *g, int64_t tree_at, uint64_t seed)
{
    extra_state *f = g->f;

    g->order = f->order + tree_at * f->rows;
    f->first[tree_at] = f->nodes;
    ferry_i_rng_seed(&g->rng, seed, (uint64_t)tree_at);
    /* so that a tree depends on its number alone */
    memcpy(g->list, g->ordered, (size_t)g->varied * sizeof *g->list);
    for (int64_t i = 0; i < f->rows; i++)
        g->order[i] = (int32_t)i;
    add_node(s, g, 0, f->rows);
    for (int64_t at = f->first[tree_at]; at < f->nodes; at++) {
        const int64_t from = f->from[at], to = f->to[at];
        const double rows = weigh(g, from, to);
        double t = 0;
        const bool mixed = count(g, from, to, rows);
        const int32_t j = mixed && rows >= 2 * (double)g->o->min_leaf * (1 - 1e-12)
                              ? draw_split(g, from, to, rows, &t)
                              : -1;
        for (int64_t e = 0; e < g->n_here; e++)
            g->all[g->here[e]] = 0;
        if (j < 0) continue;
        const int64_t n = part(g, from, to, j, t);
        f->feature[at] = j;
        f->threshold[at] = t;
        f->from[at] = (int32_t)(f->nodes - f->first[tree_at]);
        add_node(s, g, from, from + n);
        add_node(s, g, from + n, to);
    }
}

/* The labels and weights of every row that counts; its rows. */
static matrix list_labels(scope *s, scope *keep, const examples *e, extra_state *f,
                          const uint64_t **key)
{
    const int64_t k = e->y.k;
    int64_t *rows = NEW(s, int64_t, e->x.n), n = 0;

    for (int64_t i = 0; i < e->x.n; i++) {
        if (e->weight && e->weight[i] == 0) continue;
        rows[n++] = i;
        for (int64_t c = 0; c < k; c++)
            f->ones += e->y.on[i * k + c] != 0;
    }
    if (f->ones >= INT32_MAX || n >= INT32_MAX / 4)
        scope_fail(s, FERRY_ENEEDS,
                   "extra-trees: %lld instances with %lld labels are too many",
                   (long long)n, (long long)f->ones);
    f->rows = n;
    f->labels = k;
    f->cols = e->x.cols;
    f->start = NEW(keep, int32_t, n + 1);
    f->label = NEW(keep, int32_t, f->ones);
    f->weight = NEW(keep, double, n);
    uint64_t *keys = e->key ? NEW(s, uint64_t, n) : NULL;
    *key = keys;
    for (int64_t i = 0, at = 0; i < n; i++) {
        for (int64_t c = 0; c < k; c++)
            if (e->y.on[rows[i] * k + c]) f->label[at++] = (int32_t)c;
        f->start[i + 1] = (int32_t)at;
        f->weight[i] = e->weight ? e->weight[rows[i]] : 1;
        if (keys) keys[i] = e->key[rows[i]];
    }
    return n == e->x.n ? e->x : take_rows(s, e->x, n, rows, false);
}

static void extra_fit(scope *s, scope *keep, const examples *e, const void *options,
                      void *state)
{
    const extra_options *o = options;
    extra_state *f = state;
    growing g = {.o = o, .f = f, .alike = !e->weight};
    bool finish = false;
    const uint64_t *key = NULL;

    g.x = list_labels(s, keep, e, f, &key);
    g.ordered = feature_order(s, g.x, key, &g.varied);
    g.draws = o->features > 0 ? o->features : (int64_t)ceil(sqrt((double)g.varied));
    f->first = NEW(keep, int64_t, o->trees);
    f->order = NEW(keep, int32_t, o->trees * f->rows);
    g.list = NEW(s, int32_t, g.x.cols);
    g.value = NEW(s, double, f->rows);
    g.weight = COPY(s, f->weight, f->rows);
    g.right = NEW(s, int32_t, f->rows);
    g.here = NEW(s, int32_t, f->labels);
    g.all = NEW(s, double, f->labels);
    g.left = NEW(s, double, f->labels);
    const uint64_t seed = ferry_i_rng_u64(scope_rng(s, "extra-trees"));
    for (; f->trees < o->trees && !finish; f->trees++) {
        grow_tree(keep, &g, f->trees, seed);
        finish = progress(s, "extra-trees", f->trees + 1, o->trees, NAN);
    }
    report_real(s, "trees", (double)f->trees);
    report_real(s, "nodes", (double)f->nodes);
    report_fit(s, f->trees, NAN, finish ? FERRY_STOP_FINISH : FERRY_STOP_DONE);
}

/* ---- asking ---- */

static void extra_scores(scope *s, const void *state, matrix x, block out)
{
    const extra_state *f = state;

    (void)s;
    for (int64_t t = 0; t < f->trees; t++)
        for (int64_t i = 0; i < x.n; i++) {
            const int32_t *order = f->order + t * f->rows;
            int64_t at = f->first[t];
            double rows = 0;
            while (f->feature[at] >= 0) {
                const bool right = cell(x, i, f->feature[at]) > f->threshold[at];
                at = f->first[t] + f->from[at] + right;
            }
            for (int32_t r = f->from[at]; r < f->to[at]; r++)
                rows += f->weight[order[r]];
            for (int32_t r = f->from[at]; r < f->to[at]; r++) {
                const double w = f->weight[order[r]] / ((double)f->trees * rows);
                for (int32_t e = f->start[order[r]]; e < f->start[order[r] + 1]; e++)
                    ROW(out, i)[f->label[e]] += w;
            }
        }
}

static bool extra_serves(const void *state, int64_t width, int64_t k)
{
    const extra_state *f = state;

    return f->cols == width && f->labels == k;
}

const learner learner_extra_trees = {
    .name = "extra-trees",
    .summary = "extremely randomised trees for all labels at once",
    .reference = "Geurts, Ernst and Wehenkel, Extremely Randomized Trees, Machine Learning "
                 "2006",
    .takes = LEARN_SETS | LEARN_WEIGHTS,
    LEARNER_OPTIONS(extra_opts, extra_options),
    .state = &extra_table,
    .fit = extra_fit,
    .scores = extra_scores,
    .serves = extra_serves,
    .least = 0.5,
};
