/* Ratings: parts of them, biases, and the model that most methods of goal rate end in,
 *
 *     x_ij = mu + a_i + b_j + <p_i, q_j>
 *
 * where users and items that were not there at fit have bias 0 and factors 0 until they are folded in. */
#ifndef FERRY_LEARN_RATINGS_H
#define FERRY_LEARN_RATINGS_H

#include "learn/problem.h"
#include "state/table.h"

/* ---- parts of ratings ---- */

/* The same pairs with other values, in the order of x's entries. */
ratings with_ratings(scope *s, const ratings *r, const double *value);
/* Those whose fold (of each entry of x) is another than `without`. */
ratings ratings_without(scope *s, const ratings *r, const uint8_t *fold, uint8_t without);
/* All of them on every process. */
ratings ratings_whole(scope *s, const ratings *r);
/* x_ij - mu - a_i - b_j; a and b of all users and items. */
ratings residuals(scope *s, const ratings *r, double mu, const double *a, const double *b);
/* The values go: for a method that does not read its problem's ratings again. Who rated what stays. */
void drop_ratings(const ratings *r);
/* Ratings of the processes before this one: where those here begin in the order of all. */
int64_t ratings_before(scope *s, const ratings *r);
/* Their mean; fails where they are too large to add up. */
double mean_rating(scope *s, const ratings *r);

/* ---- biases ---- */

/* to (a number for each row of x, of all processes) <- sum over the row of (x - mu - other) / (n + lambda); 0 for rows
 * without ratings. */
void shrunken_means(scope *s, matrix x, double mu, const double *other, double lambda,
                    double *to);
/* min sum (x_ij - mu - a_i - b_j)^2 + lambda (|a|^2 + |b|^2), mu the mean, by `sweeps` alternating exact steps from 0,
 * items first. a and b are zeroed before. */
void fit_biases(scope *s, const ratings *r, double mu, double lambda, int64_t sweeps,
                double *a, double *b);

/* ---- the model ---- */

typedef struct rating_factors {
    int64_t rank; /* may be 0 */
    double mu;
    double *a, *b; /* users, items */
    block p, q;    /* users x rank, items x rank */
    /* who comes later: ratings of size 0 that shrink a bias (below 0: it is 0), and the ridge of the factors (0: they
     * are 0), for each rating where `weighted` */
    double shrink_a, shrink_b, ridge;
    bool weighted;
} rating_factors;
extern const table rating_factors_table;

/* Zeroes, for the users and items of r. */
rating_factors factors_new(scope *keep, const ratings *r, int64_t rank);
/* user, item -1: never seen. */
double factor_rating(const rating_factors *m, int64_t user, int64_t item);
/* Hooks of a method whose state it is (model/seam.h). */
void factors_scores(scope *s, const void *state, const domain *d, block out);
/* New users by the items that were there, then new items by all users:
 *   a_i = sum_j (x_ij - mu - b_j) / (n_i + shrink),   p_i = (sum_j q_j q_j' + ridge I)^-1 sum_j e_ij q_j. */
void factors_fold_in(scope *s, scope *keep, const void *state, const ratings *r, void *to);

#endif
