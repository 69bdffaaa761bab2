/* Softmax regression on standardised rows, a step for each label that comes. It follows a rule that drifts, since
 * AdaGrad's steps are large where gradients are new.
 *
 *   z = ((x - mean) / sd of the rows learned so far, 1),  p = softmax(W z)
 *   g = (p - e_y) z',  G += g^2,  W -= eta g / sqrt(G + 0.01)
 *
 * An answer uses what was learned before its row; learning a row counts it into mean and sd first.
 * Duchi, Hazan and Singer, Adaptive Subgradient Methods, JMLR 2011. */
#ifndef FERRY_ONLINE_LOGREG_H
#define FERRY_ONLINE_LOGREG_H

#include "learn/online.h"

typedef struct online_logreg {
    double eta;
    moments z;
    block w,
        g; /* classes x (columns + 1): weights, the constant last; sums of squared gradients */
} online_logreg;
extern const table online_logreg_table;

/* A row with its constant; probabilities. */
typedef struct logreg_scratch {
    double *z, *p;
} logreg_scratch;

online_logreg online_logreg_new(scope *keep, double eta, int64_t k, int64_t d);
logreg_scratch logreg_scratch_new(scope *s, const online_logreg *m, int64_t k);
/* Nothing is learned yet. */
void online_logreg_clear(online_logreg *m);
/* p (classes) <- softmax(W z). */
void online_logreg_scores(const online_logreg *m, const logreg_scratch *c, ferry_row x,
                          double *p);
void online_logreg_learn(online_logreg *m, const logreg_scratch *c, ferry_row x, int32_t y);

#endif
