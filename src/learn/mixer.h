/* Scores of several experts, mixed by a logistic regression that learns with each label and forgets.
 *
 * F_e = an expert's scores, centred and of unit length; p = softmax(sum_e w_e F_e). With a label y
 *
 *   g = F p - F_y,  H <- 0.99 H + 0.01 I + sum_c p_c (F_c - F p)(F_c - F p)',  w <- max(0, w - H^-1 g):
 *
 * a Newton step on the log loss. Nothing here fails, and it gives the same bits on every CPU. */
#ifndef FERRY_MIXER_H
#define FERRY_MIXER_H

#include <stdint.h>

enum { MIXER_MOST = 8 }; /* experts */

/* n experts begin with weight w each; hess has n x n numbers. */
void mixer_begin(int n, double each, double *w, double *hess);
/* k scores: centred, of unit length; zero stays. */
void mixer_centre(int64_t k, double *f);
/* total (k) <- what n experts say together; scores: n x k. */
void mixer_scores(int n, int64_t k, const double *w, const double *scores, double *total);
/* A step; p (k) is scratch. */
void mixer_learn(int n, int64_t k, double *w, double *hess, const double *scores, int32_t y,
                 double *p);

#endif
