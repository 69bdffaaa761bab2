/* The journey of ttl's mode ferry, as its three parts see it: solve.c goes from domain to
 * domain, checks.c decides whether labels settle there, trust.c tells how far to trust it. */
#ifndef FERRY_TTL_TRIP_H
#define FERRY_TTL_TRIP_H

#include "methods/ttl/ttl.h"

/* kappa of the labels from two halves of the features: both carried, both settled, and one
 * of each. */
typedef struct halves {
    double carried, settled, crossed;
    int32_t *y; /* the labels themselves, owned: both carried, both settled */
} halves;

/* One domain on the way. */
typedef struct stop {
    ferry_matrix *x; /* all columns, rows to length 1 */
    ferry_block *g;
    double w;
    /* known instances as teachers of their own domain */
    ferry_matrix *known_x;
    ferry_block *known_g;
    double C; /* cost of errors of what taught it; 0: not chosen yet */
    double beta;
    bool words; /* all its views are: it settles among words, else where rows crowd */
    bool settled;
    double stable, names, fid; /* checks of views that are not words; NaN: not asked */
    halves half;
    int64_t shared;
    int32_t *carried; /* its labels before settling, where somebody watches */
} stop;

typedef struct trip {
    const ttl_options *o;
    const ttl_bridge *b;
    stop *at; /* one per place */
    ttl_teacher *pool;
    int64_t n_pool;
    bool watched; /* the target's labels are asked for */
} trip;

/* Carry to place i through the columns of `within` (NULL: all); g gets the labels. */
ferry_status ferry_i_trip_carry(ferry_ctx *ctx, const trip *t, int64_t i,
                                const uint8_t *within, ttl_carried *m, ferry_block *g);
/* Rows of x as a copy; lengths: brought to 1. */
ferry_status ferry_i_trip_rows(ferry_ctx *ctx, const ferry_matrix *x, int64_t n,
                               const int64_t *rows, bool lengths, ferry_matrix **out);

/* Settles place i's carried labels where that is wanted and the checks speak for it; fills
 * m then (checks.c). */
ferry_status ferry_i_trip_settle(ferry_ctx *ctx, const trip *t, int64_t i, ttl_mixture *m);

/* g (n x c) <- labels of place i by five-fold cross-validation on y (n; -1: none, their rows of
 * g stay), through the columns of `within`, at cost C (trust.c). Folds by class and by what
 * the instances are called: the order of rows does not matter. */
ferry_status ferry_i_trip_folds(ferry_ctx *ctx, const trip *t, int64_t i, const int32_t *y,
                                const uint8_t *within, double C, ferry_block *g);
/* Of each instance of place i, by its id. */
uint64_t ferry_i_trip_hash(const trip *t, int64_t i, int64_t row);
/* kappa of five-fold cross-validation inside source i, on the features that the next domain
 * has; *n: of how many rows. */
ferry_status ferry_i_trip_boarding(ferry_ctx *ctx, const trip *t, int64_t i, double *kappa,
                                   int64_t *n);
ferry_status ferry_i_trip_trust(ferry_ctx *ctx, const trip *t);

#endif
