/* RankSVM: labels of an instance come before the others (ranksvm.c). */
#ifndef FERRY_RANKSVM_H
#define FERRY_RANKSVM_H

#include "linalg/ops.h"

typedef struct ranker_options {
    /* weight of the losses against 1/2 |W|^2; > 0 */
    double C;
    /* passes over all instances, at most */
    int64_t epochs;
    /* stop after an epoch whose steps found a duality gap of at most this, relative to that of
     * W = 0; 0: not before no pair moves */
    double tol;
    bool scale;   /* features times 1 / sqrt(mean squared length) first */
    bool shuffle; /* a new order of the instances for each epoch, else always the same */
    const int64_t *order; /* of the instances to begin with; NULL: as they stand */
    const int32_t
        *label; /* order in which pairs of labels are taken; NULL: as they stand */
} ranker_options;

/* Scores f = W [scale (x - mean); 1]; label k is on when f_k > threshold [f; 1]. */
typedef struct ranker {
    double scale;
    block w;           /* m x (d + 1), last the bias */
    double *threshold; /* m + 1 */
    int64_t epochs;    /* passes made */
    double gap;        /* that the last one found, relative as in the options */
    double objective;  /* of the primal problem */
    bool finish;       /* progress said so: the model is as far as it got */
} ranker;

/* Labels on[i * m + k] 0 or 1; all rows are here. mean (d, or NULL) is taken off every instance, without making a
 * sparse x dense. Instances with no or all labels have no order to learn, only a threshold. w and threshold are
 * keep's. */
ranker ranker_fit(scope *s, scope *keep, const ranker_options *o, matrix x,
                  const double *mean, int64_t m, const uint8_t *on);
/* The same where label k has features of its own, z[k] (n x d_k): f_k = w_k'z_k + b_k. w[k] (d_k) and b (m), all 0, are
 * filled; features are taken as they are. */
void ranker_fit_own(scope *s, const ranker_options *o, int64_t m, const block *z,
                    const uint8_t *on, double *const *w, double *b);
/* n x m. */
void ranker_scores(scope *s, const ranker *r, matrix x, const double *mean, block out);
/* set[k] <- whether label k is on, given the m scores of one instance. */
void ranker_decide(int64_t m, const double *threshold, const double *f, uint8_t *set);
/* The threshold with the fewest errors: the middle between two scores, or 1 past the ends; the lowest of equals.
 * scratch: 2 m. */
double best_threshold(int64_t m, const double *f, const uint8_t *y, double *scratch);
/* threshold (m + 1) <- least squares of the best thresholds on [scores, 1]. */
void fit_threshold(scope *s, block scores, const uint8_t *on, double *threshold);

#endif
