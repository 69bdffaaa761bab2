/* Gradient boosting of trees over one or several views (Friedman 2001), for an objective
 * that may have more terms than the labels.
 *
 *   min over f_i    sum over labelled x that i has  L(f_i(x), y_x)  +  further terms
 *
 * L is (f - y)^2 or log(1 + exp(-y f)) with y = 1 or -1. In every iteration each view gets a
 * tree for every score on z = -dL/df and c = d2L/df2 at the scores so far:
 *   Newton leaves   f_i += nu sum z / (sum c + reg) of the leaf
 *   line search     a plain tree (leaves are means of z), f_i += nu rho tree
 * Views step together: their order does not matter.
 *
 * Where rows are spread over ranks the views have this rank's rows and all other arrays are of all
 * instances; of f its own instances are kept up, and those with labels. */
#ifndef FERRY_BOOSTING_H
#define FERRY_BOOSTING_H

#include "learn/forest.h"

/* Scores f_i, i < p, of n instances, k each. Arrays are borrowed. */
typedef struct ferry_objective {
    /* instances; scores' owners (views, or 1 when additive); scores of each */
    int64_t n, p, k;
    const uint8_t *mask;     /* p x n: whether i has the instance */
    const uint8_t *labelled; /* n */
    const double *y;         /* n x k, of labelled instances */
    bool logistic;           /* else squared loss */
    /* Further terms of instances without a label; NULL: none. `counts` tells whether x has
     * one in i, which may not change, `term` sets its z and c (0 where it has none) at f. */
    bool (*counts)(const void *arg, int64_t i, int64_t x);
    void (*term)(const void *arg, int64_t i, int64_t x, int64_t j, double f, double *z,
                 double *c);
    /* handed to counts and term */
    const void *arg;
} ferry_objective;

/* L(f, y) of one score. */
double ferry_i_loss(bool logistic, double f, double y);
/* Mean of L over the labelled instances that i has, with scores f (n x k); NaN without. */
double ferry_i_objective_loss(const ferry_objective *g, int64_t i, const double *f);
/* z and c of score j of instance x when it is f. */
void ferry_i_objective_gradient(const ferry_objective *g, int64_t i, int64_t x, int64_t j,
                                double f, double *z, double *c);
/* *best <- rho >= 0 that is best for f + rho d (n x k both): closed for squared loss, else by
 * Newton's steps in [0, 50]. */
ferry_status ferry_i_objective_line(ferry_ctx *ctx, const ferry_objective *g, int64_t i,
                                    const double *f, const double *d, double *best);

/* How an iteration is made; copied. */
typedef struct ferry_boosting_options {
    bool additive; /* one score of all views: the objective has p = 1 */
    bool all;      /* rows without a term count for thresholds too */
    bool line;     /* plain trees and a line search, else Newton leaves */
    double rate;   /* nu */
    /* of every tree */
    ferry_tree_options tree;
    /* exact trees, or from histograms */
    ferry_growing how;
} ferry_boosting_options;

/* The state between iterations. Reading f, loss and forest is free; nothing else is for
 * callers. */
typedef struct ferry_boosting {
    ferry_boosting_options o;
    ferry_objective g;
    /* how many, and (borrowed) the views themselves */
    int64_t views;
    ferry_view *const *view;
    /* n, or NULL: instances whose scores are kept up; borrowed */
    const uint8_t *follow;
    /* over ranks: n, or NULL: instances (borrowed) whose scores all ranks are told, beside
     * their own; those with labels */
    const uint8_t *told;
    /* the trees so far; freed with it unless the caller takes it and leaves NULL */
    ferry_forest *forest;
    double **f;   /* p, n x k each: the scores so far */
    double *loss; /* p: training loss */
    /* views: rows, scratch and grower of each; NULL before the first step */
    struct boosted_view *row;
    double *direction; /* n x k, of the line search */
} ferry_boosting;

/* Before the first tree: all scores are f0, the mean of y or log((n+ + 1/2)/(n- + 1/2)).
 * Views are borrowed for its life; there are g->p of them, or any number when additive.
 * follow (n, NULL: all): instances whose scores are kept up; all that have a gradient must
 * be among them. */
ferry_status ferry_i_boosting_new(ferry_ctx *ctx, const ferry_boosting_options *o,
                                  const ferry_objective *g, int64_t views,
                                  ferry_view *const *view, const uint8_t *follow,
                                  ferry_boosting **out);
/* One more iteration. */
ferry_status ferry_i_boosting_step(ferry_ctx *ctx, ferry_boosting *b);
void ferry_i_boosting_free(ferry_boosting *b);

#endif
