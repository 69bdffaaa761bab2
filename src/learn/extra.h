/* Extremely randomised trees for sets of labels (Geurts, Ernst, Wehenkel: Extremely Randomized
 * Trees, Machine Learning 2006), one tree for all labels at once.
 *
 * A node draws some features and for each one threshold between its least and largest value there; the
 * split with the largest sum over labels of s_l^2/n_l + s_r^2/n_r is taken (s: rows with the label),
 * which is the least squared error of the label vectors. A leaf keeps which rows came there, not
 * their mean label vector: with hundreds of labels that would be most of the memory. */
#ifndef FERRY_EXTRA_H
#define FERRY_EXTRA_H

#include "linalg/linalg.h"

/* What a forest may look like. */
typedef struct ferry_extra_options {
    int64_t trees;
    int64_t features; /* drawn at a node; 0: the root of their number */
    int64_t min_leaf; /* rows */
    uint64_t seed;
} ferry_extra_options;

/* Nodes of all trees one after the other; children are neighbours and come after their parent, numbered
 * within the tree. */
typedef struct ferry_extra {
    int64_t trees, rows, labels, nodes;
    int64_t *first;    /* trees: their first nodes */
    int32_t *feature;  /* nodes; -1: a leaf */
    double *threshold; /* x <= threshold goes left */
    int32_t
        *from; /* the left child; of a leaf: its rows are order[from .. to) of the tree */
    int32_t *to;
    int32_t *order; /* trees x rows */
    int32_t *start; /* rows + 1: where a row's labels begin ... */
    int32_t *label; /* ... in this list */
} ferry_extra;

/* on: x->rows x k. O(trees rows log(rows) features) when trees are balanced. */
ferry_status ferry_i_extra_fit(ferry_ctx *ctx, const ferry_extra_options *o,
                               const ferry_matrix *x, int64_t k, const uint8_t *on,
                               ferry_extra **out);
/* scores (x->rows x labels) <- share of the label in a row's leaf, the mean over trees. */
void ferry_i_extra_scores(const ferry_extra *f, const ferry_matrix *x, ferry_block *scores);
void ferry_i_extra_free(ferry_extra *f);

#endif
