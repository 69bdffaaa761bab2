/* mf and what neighbours add to it, with weights found out of fold; for stack, and for
 * mindtl, which begins with the weights that its sources have learnt. */
#ifndef FERRY_RATINGS_STACK_H
#define FERRY_RATINGS_STACK_H

#include "methods/shared/mf_vb.h"
#include "methods/shared/near.h"

enum { STACK_MOST_SOURCES = 12 };

/* The weights of n sources (w: n x NEAR_FEATURES), and how much each of them counts. */
typedef struct stack_sources {
    int64_t n;
    double w[STACK_MOST_SOURCES * NEAR_FEATURES], c[STACK_MOST_SOURCES];
} stack_sources;

/* With F the features of ratings that were held out and t what mf leaves of them,
 *
 *   c >= 0:  min |t - sum_s c_s F w_s|^2 + 3 |c - 1/n|^2,   w0 = sum_s c_s w_s
 *   w = w0 + (A + (N / ratings) diag A + 1e-3 I)^-1 F'(t - F w0),   A = F'F
 *
 * and N = 10000; without sources w0 = 0 and N = 3000. A feature that is 0 throughout keeps
 * its w0. In the end w is multiplied by what weights of four fifths of the ratings are worth
 * on the last, less a standard error, between 0 and 1. Of d only who rated what is left. */
ferry_status ferry_i_stack(ferry_ctx *ctx, rating_data *d, stack_sources *s,
                           rating_model **out, ferry_fit_info *rep);
/* w <- the weights that are best in x: eight blocks of up to 300 users and 300 of the 900
 * most rated items are played, with `each` ratings a user to learn from and up to 30 to be
 * asked, ridge 1e-4 on the averages over pairs. */
ferry_status ferry_i_stack_replay(ferry_ctx *ctx, const observed *x, int64_t each,
                                  ferry_rng *rng, double *w);

#endif
