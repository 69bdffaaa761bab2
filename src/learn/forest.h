/* Trees of several views, one after the other, whose values add up to scores. */
#ifndef FERRY_FOREST_H
#define FERRY_FOREST_H

#include "data/data.h"
#include "learn/trees.h"

/* Logistic scores stay within +- this: beyond it the curvature s(f) s(-f) is 6e-6 and a
 * Newton step says nothing any more. */
#define FERRY_MOST_SCORE 12.0

/* f_i(x) = f0 + sum_t tree_ti(x) for every view i, the steps multiplied into the leaves.
 * additive: one score of all views instead, f(x) = f0 + sum_i sum_t tree_ti(x). */
typedef struct ferry_forest {
    int64_t p, k, n; /* views, scores, iterations */
    int64_t room;    /* for iterations */
    bool logistic, additive;
    double *f0;        /* k */
    uint8_t *sparse;   /* p: zeros are missing cells */
    int64_t *cols;     /* p: features of the view */
    ferry_tree **tree; /* (t * p + i) * k + j; NULL: adds nothing */
} ferry_forest;

/* Of p views and k scores, without iterations. The forest owns its trees. */
ferry_status ferry_i_forest_new(ferry_ctx *ctx, int64_t p, int64_t k, ferry_forest **out);
/* Room for one more iteration; its trees are NULL. */
ferry_status ferry_i_forest_grow(ferry_ctx *ctx, ferry_forest *f);
void ferry_i_forest_cut(ferry_forest *f, int64_t n); /* forget all but n iterations */
void ferry_i_forest_free(ferry_forest *f);
static inline ferry_tree **ferry_i_forest_tree(const ferry_forest *f, int64_t t, int64_t i,
                                               int64_t j)
{
    return &f->tree[(t * f->p + i) * f->k + j];
}
/* Scores of the n instances into f[i] (n x k) for each view; additive: all into f[0]. What
 * a view lacks keeps f0. mask (p x n) <- what views have. Cost: n k trees depth. */
ferry_status ferry_i_forest_scores(ferry_ctx *ctx, const ferry_forest *forest, int64_t n,
                                   ferry_view *const *views, double *const *f,
                                   uint8_t *mask);

#endif
