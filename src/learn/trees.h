/* Regression trees for boosting.
 *
 * The file is in three layers: a tree and how rows fall through it; three ways to grow one
 * (exact, from histograms, XGBoost); and a grower that is one of them. Boosting (boosting.c) sees the
 * last alone. */
#ifndef FERRY_TREES_H
#define FERRY_TREES_H

#include "linalg/linalg.h"

/* A tree over features of which some may be missing (NaN; and 0 where a view is `sparse`,
 * however it is stored). Node 0 is the root, children come after their parent. */
typedef struct ferry_tree_node {
    int32_t feature;     /* -1: a leaf */
    int32_t left, right; /* nodes */
    bool missing_left;   /* where a missing cell goes */
    double threshold;    /* x <= threshold goes left */
    double value;        /* G / (H + reg) of the rows that come here */
    double gain;         /* G_L^2/(H_L + reg) + G_R^2/(H_R + reg) - G^2/(H + reg) */
} ferry_tree_node;
/* Nodes in the order in which they were made, the root first; owns them. */
typedef struct ferry_tree {
    int64_t n;
    ferry_tree_node *node;
} ferry_tree;

/* What a tree may look like, and how its values are held small. */
typedef struct ferry_tree_options {
    /* splits between root and leaf, at most */
    int64_t depth;
    int64_t min_leaf; /* rows in a leaf, at least; the booster does not count them */
    double min_child; /* sum of c in a leaf, at least */
    double reg;       /* added to every sum of c */
    int64_t bins;     /* of histograms: thresholds to try a feature */
} ferry_tree_options;

/* Rows of a view to grow trees on. */
typedef struct ferry_tree_data {
    const ferry_matrix *x;
    bool sparse;         /* 0 is a missing cell, as it always is in CSR */
    int64_t n;           /* rows to learn from ... */
    const int64_t *rows; /* ... in x; NULL: the first n */
} ferry_tree_data;

/* Whether zeros should count as missing: the matrix is CSR, or is like one (nothing below 0
 * or missing, at least half of the cells 0). */
bool ferry_i_tree_sparse(const ferry_matrix *x);
/* The same of the rows of all ranks. */
ferry_status ferry_i_trees_sparse(ferry_ctx *ctx, const ferry_matrix *x, bool *sparse);
/* leaf[i] <- the node in which row i of d ends. */
void ferry_i_tree_leaves(const ferry_ctx *ctx, const ferry_tree *t,
                         const ferry_tree_data *d, int32_t *leaf);
/* The same for trees of the booster, from a copy of the data column by column, which is
 * what wide tables want. */
typedef struct ferry_columns ferry_columns;
ferry_status ferry_i_columns_new(ferry_ctx *ctx, const ferry_tree_data *d,
                                 ferry_columns **out);
void ferry_i_columns_leaves(const ferry_ctx *ctx, const ferry_columns *c,
                            const ferry_tree *t, int32_t *leaf);
void ferry_i_columns_free(ferry_columns *c);
/* A cell as the booster sees it. */
float ferry_i_tree_float(double v);
/* Cell (i, j) of the matrix, NaN where it is missing. */
double ferry_i_tree_cell(const ferry_tree_data *d, int64_t i, int64_t j);
/* The middle between a < b, below b whatever the rounding. */
double ferry_i_tree_middle(double a, double b);
/* Nodes that a tree over n rows may have. */
int64_t ferry_i_tree_most(const ferry_tree_options *o, int64_t n);
/* Room for n nodes, all leaves of value 0. */
ferry_status ferry_i_tree_new(ferry_ctx *ctx, int64_t n, ferry_tree **out);
void ferry_i_tree_free(ferry_tree *t);

/* The tree that at every node takes the split of largest gain among all thresholds in the
 * middle between two values of the data, the first of equals, in double precision. z (the
 * negative gradient) and c (the curvature) are of the n rows; one with c = 0 counts for nothing
 * but the thresholds. Features are sorted once for all trees: O(cols n log n), then
 * O(depth cols n) a tree. The data's rows and matrix are borrowed for as long as it lives. Where rows are spread over
 * ranks, all have all of these rows, and each its part of the features. */
typedef struct ferry_sorted ferry_sorted;
ferry_status ferry_i_sorted_new(ferry_ctx *ctx, const ferry_tree_data *d,
                                ferry_sorted **out);
ferry_status ferry_i_sorted_tree(ferry_ctx *ctx, const ferry_tree_options *o,
                                 const ferry_sorted *s, const double *z, const double *c,
                                 ferry_tree **out);
void ferry_i_sorted_free(ferry_sorted *s);

/* The same from histograms: of each feature `bins` thresholds at most are tried, those that part the rows of all ranks
 * into equal shares. Splits within 1e-10 of each other are equal: the first wins. The rows may be spread over ranks; all get
 * the same tree, which is that of one process up to rounding. O(cells log n) once, O(depth cells) a tree. */
typedef struct ferry_bins ferry_bins;
ferry_status ferry_i_bins_new(ferry_ctx *ctx, int64_t bins, const ferry_tree_data *d,
                              ferry_bins **out);
ferry_status ferry_i_bins_tree(ferry_ctx *ctx, const ferry_tree_options *o,
                               const ferry_bins *b, const double *z, const double *c,
                               ferry_tree **out);
void ferry_i_bins_free(ferry_bins *b);

/* XGBoost (Chen and Guestrin, XGBoost: a scalable tree boosting system, KDD 2016) grows the
 * same trees from histograms, in float precision. One for each set of rows; the library is
 * loaded when the first is made. */
typedef struct ferry_booster ferry_booster;
ferry_status ferry_i_booster_new(ferry_ctx *ctx, const ferry_tree_options *o,
                                 const ferry_tree_data *d, int64_t k, ferry_booster **out);
/* k trees (trees[0..k), new) for z and c, both n x k. Values of nodes that are no leaves
 * are not set; those of the leaves are in single precision. */
ferry_status ferry_i_booster_grow(ferry_ctx *ctx, ferry_booster *b, const double *z,
                                  const double *c, ferry_tree **trees);
void ferry_i_booster_free(ferry_booster *b);

/* One of the three, by the user's choice alone: no size of the data changes the learner.
 * Exact trees are the default. On tables of 300 and 400 labelled rows (German and Australian
 * credit, concrete) both score the same within 0.2 deviations of the repeats; a tree takes
 * 0.08 (200 x 100 cells) to 5 times (100000 x 50) as long as XGBoost's. */
typedef enum ferry_growing {
    FERRY_GROW_EXACT,
    FERRY_GROW_XGBOOST,
    FERRY_GROW_HISTOGRAM
} ferry_growing;
#define FERRY_GROWINGS "exact,auto|xgboost|histogram"
typedef struct ferry_grower ferry_grower;
/* x is borrowed, the list of rows copied. */
ferry_status ferry_i_grower_new(ferry_ctx *ctx, ferry_growing how,
                                const ferry_tree_options *o, const ferry_tree_data *d,
                                int64_t k, ferry_grower **out);
/* trees[0..k), new, for z and c (both n x k). */
ferry_status ferry_i_grower_grow(ferry_ctx *ctx, ferry_grower *g, const double *z,
                                 const double *c, ferry_tree **trees);
/* Whether it is XGBoost that grows. */
bool ferry_i_grower_boosts(const ferry_grower *g);
void ferry_i_grower_free(ferry_grower *g);

#endif
