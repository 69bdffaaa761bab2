/* What methods for goal rate share: observed ratings as a sparse matrix, and one form of
 * model that all of them end in,
 *
 *     x_ij = mu + a_i + b_j + <p_i, q_j>,   clipped to the scale,
 *
 * with a row of its own (a 0, p0, q0) for users and items that were not there at fit. */
#ifndef FERRY_RATINGS_INTERNAL_H
#define FERRY_RATINGS_INTERNAL_H

#include "methods/method.h"

/* Observed ratings of a task's target, or of any domain: users x items. */
typedef struct observed {
    ferry_matrix *x;  /* CSR users x items; an entry may be 0 */
    ferry_matrix *xt; /* its transpose, items x users */
} observed;

/* From the values that are there, in the order of users and items; `f` and `g` map them
 * linearly: f * value + g. */
ferry_status ferry_i_observed_new(ferry_ctx *ctx, const ferry_ratings *r, double f,
                                  double g, observed *out);
/* The same pattern with other values, given in the order of o->x's entries. */
ferry_status ferry_i_observed_with(ferry_ctx *ctx, const observed *o, const double *value,
                                   observed *out);
void ferry_i_observed_clear(observed *o);
/* CSR of the transpose. */
ferry_status ferry_i_transpose(ferry_ctx *ctx, const ferry_matrix *x, ferry_matrix **out);

typedef struct rating_model {
    ferry_ids *users, *items;
    double mu, lo, hi;
    double *a, *b;      /* one per user, one per item */
    int64_t rank;       /* columns of p and q; may be 0 */
    ferry_block *p, *q; /* users x rank, items x rank */
    double *p0, *q0;    /* rank: for users and items never seen */
} rating_model;

/* Zeroed; ids copied, scale from r. */
ferry_status ferry_i_rating_model_new(ferry_ctx *ctx, const ferry_ratings *r, int64_t rank,
                                      rating_model **out);
void ferry_i_rating_model_free(void *state);
/* Clipped; user, item -1: never seen. */
double ferry_i_rating_at(const rating_model *m, int64_t user, int64_t item);
ferry_status ferry_i_rating_predict(ferry_ctx *ctx, const void *state,
                                    const ferry_domain *d, ferry_prediction *p);
ferry_status ferry_i_rating_save(ferry_ctx *ctx, const void *state, ferry_bag *bag);
ferry_status ferry_i_rating_load(ferry_ctx *ctx, const ferry_bag *bag, void **state);

/* The target's ratings; FERRY_ENEEDS unless there is one that may be seen. */
ferry_status ferry_i_rating_target(ferry_ctx *ctx, const char *method,
                                   const ferry_task *task, const ferry_ratings **out);

/* Regularised biases: min sum (x_ij - mu - a_i - b_j)^2 + lambda (|a|^2 + |b|^2) with mu
 * the mean, by `sweeps` alternating exact steps from 0, items first. */
ferry_status ferry_i_bias(ferry_ctx *ctx, const observed *o, double lambda, int64_t sweeps,
                          double *mu, double *a, double *b);
/* out[e] <- x_ij - mu - a_i - b_j for every entry of x; out may be x's values. */
void ferry_i_bias_residuals(const ferry_matrix *x, double mu, const double *a,
                            const double *b, double *out);

/* One half of alternating least squares: every row of p solves
 *   (sum_j q_j q_j' + lambda I) p_i = sum_j x_ij q_j   over the entries of row i.
 * Rows without entries become 0. lambda > 0. */
ferry_status ferry_i_als_half(ferry_ctx *ctx, const ferry_matrix *x, const ferry_block *q,
                              double lambda, ferry_block *p);

#endif
