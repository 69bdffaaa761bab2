/* Regression trees for boosting: one tree, two ways to grow it, and many of them as a forest.
 *
 * With z = -dL/df and c = d2L/df2 of every row, a node has G = sum z, H = sum c + reg. The split of a node has the
 * largest G_L^2/H_L + G_R^2/H_R, and a leaf the Newton step G/H. Cells may be missing (NaN; and 0 where a view is
 * `sparse`): a split sends them to one side. Of splits that are equal to 1e-10 the first wins, features in the order of a
 * hash of how they order the rows (by their keys): neither units nor the order of rows and columns decide. */
#ifndef FERRY_TREE_H
#define FERRY_TREE_H

#include "learn/problem.h"
#include "state/table.h"

typedef struct tree_node {
    int32_t feature;     /* -1: a leaf */
    int32_t left, right; /* nodes, after this one */
    bool missing_left;   /* where a missing cell goes */
    double threshold;    /* x <= threshold goes left */
    double value;        /* G / (H + reg) of the rows that come here */
    double gain;         /* G_L^2/(H_L + reg) + G_R^2/(H_R + reg) - G^2/(H + reg) */
} tree_node;
typedef struct tree {
    int64_t n; /* the root first */
    tree_node *node;
} tree;

typedef struct tree_options {
    int64_t depth;    /* splits between root and leaf, at most */
    int64_t min_leaf; /* rows in a leaf, at least, as weights count them */
    double min_child; /* sum of c in a leaf, at least */
    double reg;       /* added to every sum of c */
    int64_t bins;     /* thresholds to try a feature; 0: all */
} tree_options;

/* Whether zeros should count as missing: x is CSR, or is like one (nothing below 0 or missing, at least half of the
 * cells 0). Over all rows. weight may be NULL. */
bool tree_sparse(scope *s, matrix x, const double *weight);

/* ---- growing ---- */

/* Trees on rows x, which are kept: what all of them need is made once. weight (NULL: 1) counts rows, key (NULL: by
 * number) tells which they are.
 *
 * bins 0: every threshold in the middle between two neighbouring values of a node's rows, features sorted once; rows
 * that are spread are brought together. Else histograms: thresholds that part the rows of all processes into equal
 * shares; the rows stay where they are. */
typedef struct grower grower;
grower *grower_new(scope *s, const tree_options *o, matrix x, bool sparse,
                   const double *weight, const uint64_t *key);
/* The tree for z and c (n x 2) and the leaf in which each row ends (n, may be NULL); it is there until the next. A row
 * with c = 0 counts for nothing but the thresholds. */
const tree *grow(scope *s, grower *g, block zc, int32_t *leaf);

/* The *n features of x that are not the same in all rows, in that order. */
const int32_t *feature_order(scope *s, matrix x, const uint64_t *key, int64_t *n);

/* ---- forests ---- */

/* Logistic scores stay within +- this: beyond it the curvature s(f) s(-f) is 6e-6 and a Newton step says nothing any
 * more. */
#define MOST_SCORE 12.0

/* f_i(x) = f0 + sum_t tree_ti(x) for every view i, the steps multiplied into the leaves. additive: one score of all
 * views instead. The nodes of all trees stand one after the other, children numbered within their tree. */
typedef struct forest {
    int64_t views, k, n; /* n: iterations */
    bool logistic, additive;
    double *f0;      /* k */
    uint8_t *sparse; /* views: zeros are missing cells */
    int64_t *cols;   /* views */
    int64_t trees;   /* n x views x k, by view and score within an iteration ... */
    int64_t
        *first; /* ... trees + 1: the first node of each; without nodes it adds nothing */
    int64_t nodes;
    int32_t *feature, *left, *right;
    uint8_t *missing_left;
    double *threshold, *value, *gain;
    int64_t capacity, most_trees; /* while it grows */
} forest;
extern const table forest_table;

/* Without trees. */
void forest_new(scope *s, int64_t views, int64_t k, forest *f);
/* One more tree (NULL: none), its leaves times step. */
void forest_add(scope *s, forest *f, const tree *t, double step);
/* A copy of the first n iterations. */
void forest_copy(scope *keep, const forest *f, int64_t n, forest *to);
/* Scores of rows whose views are x (those that are `there`; NULL: all): out[i] (n x k) of view i, additive: all in
 * out[0]. What a view lacks keeps f0. Tree by tree as they were learned: the same bits. */
void forest_scores(scope *s, const forest *f, const view *x, const block *out);
/* FERRY_EDATA: the trees, of a file, are not of the views of d. */
void forest_serves(scope *s, const forest *f, const domain *d);
/* The leaf of row i, numbered in the whole forest, of tree e of view v. */
int64_t forest_leaf(const forest *f, int64_t e, const view *v, bool sparse, int64_t i);

/* Cell (i, j), NaN where it is missing. Dense: a look. CSR: bisection among the row's columns. */
double tree_cell(matrix x, bool sparse, int64_t i, int64_t j);

#endif
