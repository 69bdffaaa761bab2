/* What the neighbours of a user and an item say of a rating: seven features of a pair (i, j)
 * that mean the same in every domain, made of the residuals e of the biases M0 (vb.h, rank 0,
 * n0 = 0; C, D: how often two items, two users were rated together, over
 * sqrt((n + 1)(n' + 1)), 0 on the diagonal; B: 1 where there is a rating):
 *
 *   1  z_j (1 - n_j / (n_j + s2 / vb)),  z = log(1 + n_j) less its mean over the ratings
 *   2  slope of user i on z, ridge s2 / .05, times z_j
 *   3  slope of user i on b, ridge s2 / .2, times b_j
 *   4  a_i b_j
 *   5  (E C) / (B C + .3)
 *   6  (D E) / (D B + .3)
 *   7  (E S) / (B |S| + .3),  S: correlation of the residuals of two items times
 *      n / (n + 10), n how often they were rated together
 *
 * A rating then is what the model says and unit * <w, features>. C, D and S are never made
 * whole: a row of them stands for a moment, for an item or a user that is asked about.
 *
 * With --engine mpi every rank has all residuals, since a neighbour may be anybody's, and all ask for the same pairs: the
 * items and users asked about are dealt to ranks. */
#ifndef FERRY_RATINGS_NEAR_H
#define FERRY_RATINGS_NEAR_H

#include "methods/shared/ratings.h"

enum { NEAR_FEATURES = 7 };

struct rating_near {
    double w[NEAR_FEATURES], unit;
    observed e; /* residuals in units of the ratings' deviation */
    double s2, vb, zbar;
    double *a, *b;             /* of M0 */
    double *z;                 /* items */
    double *slope_z, *slope_b; /* users */
};

/* M0 and what follows from it; the weights are 0 and the unit is the ratings' deviation.
 * `mu` (may be NULL): M0 is mu + unit (a + b). */
ferry_status ferry_i_near_new(ferry_ctx *ctx, const observed *x, rating_near **out,
                              double *mu);
void ferry_i_near_free(rating_near *m);
ferry_status ferry_i_near_copy(ferry_ctx *ctx, const rating_near *from, rating_near **out);
/* f (n x NEAR_FEATURES) <- those of the pairs; user or item -1, or beyond
 * the residuals: never seen. */
ferry_status ferry_i_near_features(ferry_ctx *ctx, const rating_near *m, int64_t n,
                                   const int64_t *user, const int64_t *item, double *f);
/* value[e] += unit <w, features> for all pairs. */
ferry_status ferry_i_near_add(ferry_ctx *ctx, const rating_near *m, int64_t n,
                              const int64_t *user, const int64_t *item, double *value);
/* For `users` and `items` of the model. */
void ferry_i_near_file(ferry_io *io, int64_t users, int64_t items, rating_near **m);

#endif
