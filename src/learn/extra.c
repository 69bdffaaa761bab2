/* Extremely randomised trees for sets of labels (extra.h). */
#include "learn/extra.h"

#include <limits.h>
#include <math.h>
#include <string.h>

void ferry_i_extra_free(ferry_extra *f)
{
    if (!f) return;
    FERRY_FREE(f->first, f->feature, f->threshold, f->from, f->to, f->order, f->start,
               f->label, f);
}

/* Cell (i, j); what CSR does not hold is 0. */
static double cell(const ferry_matrix *x, int64_t i, int64_t j)
{
    if (x->dense) return x->dense[i * x->cols + j];
    const int64_t e = ferry_i_matrix_seek(x, i, j);
    return e < x->start[i + 1] && x->index[e] == j ? x->value[e] : 0;
}

/* ---- growing ---- */

/* One forest under way. */
typedef struct grow {
    const ferry_extra_options *o;
    const ferry_matrix *x;
    ferry_extra *f;
    int64_t room;   /* for nodes */
    int64_t draws;  /* features a node */
    int32_t *list;  /* features, in an order that draws change */
    double *value;  /* of the rows of a node in one feature */
    int32_t *order; /* of the tree under way */
    int32_t *right; /* rows that go right */
    int32_t *here;  /* labels of the node's rows; n_here of them */
    int64_t n_here;
    int64_t *all,
        *left; /* labels: rows with it in the node, and of these on the left; 0 between nodes */
    ferry_rng rng;
} grow;

/* One more node with rows from .. to. */
static ferry_status add_node(ferry_ctx *ctx, grow *g, int64_t from, int64_t to)
{
    ferry_status st = FERRY_OK;
    ferry_extra *f = g->f;

    if (f->nodes == g->room) {
        const int64_t room = g->room ? 2 * g->room : 1024;
        void *at = NULL;
        FERRY_HAVE(ctx, at = ferry_i_realloc(f->feature, room, sizeof *f->feature));
        f->feature = at;
        FERRY_HAVE(ctx, at = ferry_i_realloc(f->threshold, room, sizeof *f->threshold));
        f->threshold = at;
        FERRY_HAVE(ctx, at = ferry_i_realloc(f->from, room, sizeof *f->from));
        f->from = at;
        FERRY_HAVE(ctx, at = ferry_i_realloc(f->to, room, sizeof *f->to));
        f->to = at;
        g->room = room;
    }
    f->feature[f->nodes] = -1;
    f->threshold[f->nodes] = 0;
    f->from[f->nodes] = (int32_t)from;
    f->to[f->nodes++] = (int32_t)to;
done:
    return st;
}

/* Count the labels of the node's rows; whether any is on for some and off for others. */
static bool count(grow *g, int64_t from, int64_t to)
{
    const ferry_extra *f = g->f;
    bool mixed = false;

    g->n_here = 0;
    for (int64_t i = from; i < to; i++)
        for (int32_t e = f->start[g->order[i]]; e < f->start[g->order[i] + 1]; e++)
            if (g->all[f->label[e]]++ == 0) g->here[g->n_here++] = f->label[e];
    for (int64_t e = 0; e < g->n_here; e++)
        mixed = mixed || g->all[g->here[e]] < to - from;
    return mixed;
}

/* The gain of a split of the node's values at t; -1: a side would be too small. */
static double gain(grow *g, int64_t from, int64_t to, double t)
{
    const ferry_extra *f = g->f;
    const int64_t m = to - from;
    int64_t n = 0;
    double sum = 0;

    for (int64_t i = 0; i < m; i++)
        n += g->value[i] <= t;
    if (n < g->o->min_leaf || m - n < g->o->min_leaf) return -1;
    for (int64_t i = 0; i < m; i++) {
        if (g->value[i] > t) continue;
        const int32_t row = g->order[from + i];
        for (int32_t e = f->start[row]; e < f->start[row + 1]; e++)
            g->left[f->label[e]]++;
    }
    for (int64_t e = 0; e < g->n_here; e++) {
        const double l = (double)g->left[g->here[e]];
        const double r = (double)g->all[g->here[e]] - l;
        sum += l * l / (double)n + r * r / (double)(m - n);
        g->left[g->here[e]] = 0;
    }
    return sum;
}

/* The values of feature j in the node, and a threshold among them; false: they are all equal. */
static bool threshold(grow *g, int64_t from, int64_t to, int64_t j, double *t)
{
    double least = INFINITY, most = -INFINITY;

    for (int64_t i = from; i < to; i++) {
        const double v = g->value[i - from] = cell(g->x, g->order[i], j);
        least = fmin(least, v);
        most = fmax(most, v);
    }
    if (!(least < most)) return false;
    *t = least + ferry_i_rng_real(&g->rng) * (most - least);
    if (!(*t < most)) *t = least; /* rounding, or the range is beyond all numbers */
    return true;
}

/* Draw features that differ within the node and keep the best split. -1: there is none. */
static int32_t draw_split(grow *g, int64_t from, int64_t to, double *best_t)
{
    double best = -1, t = 0;
    int32_t feature = -1;

    for (int64_t j = 0, seen = 0; j < g->x->cols && seen < g->draws; j++) {
        const int64_t at =
            j + (int64_t)ferry_i_rng_below(&g->rng, (uint64_t)(g->x->cols - j));
        const int32_t drawn = g->list[at];
        g->list[at] = g->list[j];
        g->list[j] = drawn;
        if (!threshold(g, from, to, drawn, &t)) continue;
        seen++;
        const double now = gain(g, from, to, t);
        if (now <= best) continue;
        best = now;
        feature = drawn;
        *best_t = t;
    }
    return feature;
}

/* Rows at or below t first, each side in the order they had; how many. */
static int64_t part(grow *g, int64_t from, int64_t to, int32_t feature, double t)
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

static ferry_status grow_tree(ferry_ctx *ctx, grow *g, int64_t tree)
{
    ferry_extra *f = g->f;

    g->order = f->order + tree * f->rows;
    f->first[tree] = f->nodes;
    ferry_i_rng_seed(&g->rng, g->o->seed, (uint64_t)tree);
    for (int64_t i = 0; i < f->rows; i++)
        g->order[i] = (int32_t)i;
    FERRY_PASS(add_node(ctx, g, 0, f->rows));
    for (int64_t at = f->first[tree]; at < f->nodes; at++) {
        const int64_t from = f->from[at], to = f->to[at];
        double t = 0;
        const bool mixed = count(g, from, to);
        const int32_t j =
            mixed && to - from >= 2 * g->o->min_leaf ? draw_split(g, from, to, &t) : -1;
        for (int64_t e = 0; e < g->n_here; e++)
            g->all[g->here[e]] = 0;
        if (j < 0) continue;
        const int64_t n = part(g, from, to, j, t);
        f->feature[at] = j;
        f->threshold[at] = t;
        f->from[at] = (int32_t)(f->nodes - f->first[tree]);
        FERRY_PASS(add_node(ctx, g, from, from + n));
        FERRY_PASS(add_node(ctx, g, from + n, to));
    }
    return FERRY_OK;
}

/* The labels of every row as lists. */
static ferry_status list_labels(ferry_ctx *ctx, const uint8_t *on, ferry_extra *f)
{
    ferry_status st = FERRY_OK;
    int64_t n = 0;

    for (int64_t e = 0; e < f->rows * f->labels; e++)
        n += on[e] != 0;
    FERRY_NEED(ctx, n < INT32_MAX && f->rows < INT32_MAX / 4, FERRY_ENEEDS,
               "extra-trees: %lld instances with %lld labels are too many",
               (long long)f->rows, (long long)n);
    FERRY_NEW(ctx, f->start, f->rows + 1);
    FERRY_NEW(ctx, f->label, n);
    n = 0;
    for (int64_t i = 0; i < f->rows; i++) {
        for (int64_t k = 0; k < f->labels; k++)
            if (on[i * f->labels + k]) f->label[n++] = (int32_t)k;
        f->start[i + 1] = (int32_t)n;
    }
done:
    return st;
}

ferry_status ferry_i_extra_fit(ferry_ctx *ctx, const ferry_extra_options *o,
                               const ferry_matrix *x, int64_t k, const uint8_t *on,
                               ferry_extra **out)
{
    ferry_status st = FERRY_OK;
    ferry_extra *f = NULL;
    grow g = {.o = o, .x = x};
    bool finish = false;

    *out = NULL;
    FERRY_NEW(ctx, f, 1);
    *f = (ferry_extra){.rows = x->rows, .labels = k};
    g.f = f;
    g.draws = o->features > 0 ? o->features : (int64_t)ceil(sqrt((double)x->cols));
    FERRY_TRY(list_labels(ctx, on, f));
    FERRY_NEW(ctx, f->first, o->trees);
    FERRY_NEW(ctx, f->order, o->trees * x->rows);
    FERRY_NEW(ctx, g.list, x->cols);
    FERRY_NEW(ctx, g.value, x->rows);
    FERRY_NEW(ctx, g.right, x->rows);
    FERRY_NEW(ctx, g.here, k);
    FERRY_NEW(ctx, g.all, k);
    FERRY_NEW(ctx, g.left, k);
    for (; f->trees < o->trees && !finish; f->trees++) {
        for (int64_t j = 0; j < x->cols;
             j++) /* so that a tree depends on its number alone */
            g.list[j] = (int32_t)j;
        FERRY_TRY(grow_tree(ctx, &g, f->trees));
        FERRY_TRY(
            ferry_i_progress(ctx, "extra-trees", f->trees + 1, o->trees, NAN, &finish));
    }
    FERRY_MOVE(*out, f);
done:
    FERRY_FREE(g.list, g.value, g.right, g.here, g.all, g.left);
    ferry_i_extra_free(f);
    return st;
}

/* ---- asking ---- */

void ferry_i_extra_scores(const ferry_extra *f, const ferry_matrix *x, ferry_block *scores)
{
    memset(scores->data, 0, (size_t)(scores->rows * scores->k) * sizeof *scores->data);
    for (int64_t t = 0; t < f->trees; t++)
        for (int64_t i = 0; i < x->rows; i++) {
            int64_t at = f->first[t];
            while (f->feature[at] >= 0) {
                const bool right = cell(x, i, f->feature[at]) > f->threshold[at];
                at = f->first[t] + f->from[at] + right;
            }
            const double w = 1 / ((double)f->trees * (double)(f->to[at] - f->from[at]));
            for (int32_t r = f->from[at]; r < f->to[at]; r++) {
                const int32_t row = f->order[t * f->rows + r];
                for (int32_t e = f->start[row]; e < f->start[row + 1]; e++)
                    FERRY_ROW(scores, i)[f->label[e]] += w;
            }
        }
}
