/* What growing trees level by level has in common, whichever way splits are found: the nodes that are open, the rows in
 * them, which split is better, and splitting them. For tree_sorted.c and tree_bins.c. */
#ifndef FERRY_TREE_LEVEL_H
#define FERRY_TREE_LEVEL_H

#include "learn/trees.h"

/* What a set of rows says: G = sum z, H = sum c, and how many rows count. */
typedef struct tree_sums {
    double g, h; /* h without reg */
    double n;    /* rows with c > 0 */
} tree_sums;

/* A node of the level that grows. */
typedef struct tree_open {
    int32_t node;
    tree_sums all;
    double whole; /* G^2 / (H + reg) */
    double least; /* gain: less may be rounding alone */
} tree_open;

/* The best split of a node so far; score is G_L^2/H_L + G_R^2/H_R, 0 before there is
 * one. */
typedef struct tree_best {
    int32_t feature; /* -1: none */
    double threshold, score;
    bool missing_left;
} tree_best;

typedef struct tree_level {
    const ferry_tree_options *o;
    const ferry_tree_data *d; /* rows; where they are spread, this rank's */
    bool spread;
    double
        tie; /* scores that are nearer than this, relatively, are equal: the first wins */
    const double *z, *c; /* of the rows */
    int32_t *place;      /* which open node each row is in, -1: its leaf is final */
    int64_t m, most;     /* open nodes; of a level, at most */
    tree_open *open, *next;
    tree_best *found;    /* what to split each open node by; set by whoever searches */
    int32_t (*child)[2]; /* places of the two children in `next`, -1: it stays a leaf */
    double *sums;        /* 4 each of the nodes in `next` */
    ferry_tree *tree;
} tree_level;

/* A tree of one node, which is open; o, d, spread, tie, z and c are set. rows: of all ranks. */
ferry_status ferry_i_level_new(ferry_ctx *ctx, int64_t rows, tree_level *l);
/* Split the open nodes as found; rows move on to the new ones, which are open then. */
ferry_status ferry_i_level_split(ferry_ctx *ctx, tree_level *l);
void ferry_i_level_clear(tree_level *l);

static inline tree_sums tree_minus(tree_sums a, tree_sums b)
{
    return (tree_sums){a.g - b.g, a.h - b.h, a.n - b.n};
}

static inline tree_sums tree_plus(tree_sums a, tree_sums b)
{
    return (tree_sums){a.g + b.g, a.h + b.h, a.n + b.n};
}

/* G^2 / H, the part of a node in the gain; h has reg in it. */
static inline double tree_term(double g, double h)
{
    return h > 0 ? g * g / h : 0;
}

static inline bool tree_better(const tree_level *l, double score, double than)
{
    return score > than * (1 + l->tie);
}

static inline bool tree_allowed(const tree_level *l, tree_sums s)
{
    return s.n > 0 && s.n >= (double)l->o->min_leaf &&
           s.h >= l->o->min_child * (1 - l->tie);
}

/* b <- this split of open node j, if it is allowed (rows and curvature on both sides), better
 * than the best so far (first of equals wins) and a gain beyond rounding: scores are sums in
 * another order than `whole`, so a gain of 1e-12 of it may be none. */
static inline void tree_consider(const tree_level *l, int64_t j, tree_sums left,
                                 tree_sums right, int64_t feature, double threshold,
                                 bool missing_left, tree_best *b)
{
    const double reg = l->o->reg;

    if (!tree_allowed(l, left) || !tree_allowed(l, right)) return;
    const double score =
        tree_term(left.g, left.h + reg) + tree_term(right.g, right.h + reg);
    if (!tree_better(l, score, b->score) || score - l->open[j].whole <= l->open[j].least)
        return;
    *b = (tree_best){(int32_t)feature, threshold, score, missing_left};
}

/* The split between two values, with the missing rows on either side. Without any in the node new ones go with the
 * heavier side. */
static inline void tree_consider_both(const tree_level *l, int64_t j, tree_sums left,
                                      tree_sums right, tree_sums gone, int64_t feature,
                                      double threshold, tree_best *b)
{
    if (gone.n == 0) {
        tree_consider(l, j, left, right, feature, threshold,
                      tree_better(l, left.h, right.h), b);
        return;
    }
    tree_consider(l, j, left, tree_plus(right, gone), feature, threshold, false, b);
    tree_consider(l, j, tree_plus(left, gone), right, feature, threshold, true, b);
}

#endif
