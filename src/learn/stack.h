/* mf and what users and items that were rated together add to it, with weights found out of fold; for stack, and for
 * mindtl, which begins with the weights that its sources have learnt.
 *
 * With F the features (corated.h) of ratings that were held out and t what mf leaves of them,
 *
 *   c >= 0:  min |t - sum_s c_s F w_s|^2 + 3 |c - 1/n|^2,   w0 = sum_s c_s w_s
 *   w = w0 + (A + (N / ratings) diag A + 1e-3 I)^-1 F'(t - F w0),   A = F'F
 *
 * and N = 10000; without sources w0 = 0 and N = 3000. A feature that is 0 throughout keeps its w0. In the end w is
 * multiplied by what weights of four fifths of the ratings are worth on the last, less a standard error, between 0 and
 * 1. */
#ifndef FERRY_STACK_H
#define FERRY_STACK_H

#include "learn/corated.h"
#include "learn/mf.h"

enum { STACK_MOST_SOURCES = 12 };

/* The weights of n sources (w: n x CORATED), and how much each of them counts. */
typedef struct stack_sources {
    int64_t n;
    double w[STACK_MOST_SOURCES * CORATED], c[STACK_MOST_SOURCES];
} stack_sources;

typedef struct stack_state {
    rating_factors mf;
    corated neighbours;
} stack_state;
extern const table stack_table;

/* *finish: it was asked to. */
void stack_learn(scope *s, scope *keep, const ratings *r, stack_sources *from,
                 stack_state *to, bool *finish);
/* w <- the weights that are best in r, whose ratings are all here: eight blocks of up to 300 users and 300 of the 900
 * most rated items are played, with `each` ratings a user to learn from and up to 30 to be asked, ridge 1e-4 on the
 * averages over pairs. */
void stack_replay(scope *s, const ratings *r, int64_t each, ferry_rng *rng, double *w);

/* Hooks of a method whose state it is (model/seam.h). */
void stack_scores(scope *s, const void *state, const domain *d, block out);
void stack_fold_in(scope *s, scope *keep, const void *state, const ratings *r, void *to);

#endif
