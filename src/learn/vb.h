/* Ratings by variational Bayes with learnt variances: nothing to tune, no unit.
 *
 *   x = (r - mu) / sd,   x_ij = a_i + b_j + <p_i, q_j> + noise of variance s2,
 *   a ~ N(0, va), b ~ N(0, vb), p_c ~ N(0, v_c), q_c ~ N(0, vq_c)
 *
 * Every user has z_i = (a_i, p_i) with a mean and a full covariance S_i, every item likewise
 * y_j = (b_j, q_j). With phi_j = (1, q_j), S'_j = S_j with row and column 0 zeroed:
 *
 *   A = sum_j (phi phi' + S'_j),   c = sum_j [phi_j (x - b_j) - (0, S_j[1:, 0])]
 *   S_i = (A / s2 + diag(1/va, 1/v))^-1,   z_i = S_i c / s2
 *
 * and the items the same. After the items' half
 *   s2 = sum_j [sum((x - a)^2 + S_a) - 2 y.c + tr A (y y' + S)] / ratings,
 * from sweep 2 on va = (sum (a^2 + S00) + n0 s2 / 5) / (users with ratings + n0), vb
 * likewise, and from sweep `burn` + 1 on v_c = mean (p_c^2 + S_cc), vq_c likewise.
 *
 * Lim and Teh, Variational Bayesian Approach to Movie Rating Prediction, KDD Cup 2007. */
#ifndef FERRY_VB_H
#define FERRY_VB_H

#include "learn/ratings.h"

/* A pair of rows takes (rank + 1)^2 numbers each. */
enum { VB_MOST_RANK = 100 };

typedef struct vb_how {
    int64_t rank, sweeps, burn;
    double n0; /* users and items that have been seen before, with a fifth of the noise */
    bool diagonal; /* covariances are diagonal: a tenth of the time and of the memory */
} vb_how;

typedef struct vb_fit {
    double mu, sd;     /* sd 0: all ratings are mu, and the rest is 0 */
    double s2, va, vb; /* of x */
    double *v, *vq;    /* rank */
    block zu, zi;      /* users and items x (rank + 1): bias, factors */
} vb_fit;

/* q0 (items x rank): the start of q in units of its deviation. */
vb_fit vb_learn(scope *s, const ratings *r, const vb_how *how, block q0);
/* Of x, not of r. */
double vb_at(const vb_fit *f, int64_t user, int64_t item);

#endif
