/* What methods for goal rate share: observed ratings as a sparse matrix, and one form of
 * model that all of them end in,
 *
 *     x_ij = mu + a_i + b_j + <p_i, q_j>,   clipped to the range,
 *
 * with a row of its own (a 0, p0, q0) for users and items that were not there at fit. */
#ifndef FERRY_RATINGS_INTERNAL_H
#define FERRY_RATINGS_INTERNAL_H

#include "methods/method.h"

/* ---- ratings as numbers (observed.c) ---- */

/* The ratings of r that have a value, in an order that the file does not decide: users
 * and items by id (bytes), entries by user, then item. Every method begins with this, so
 * that shuffled rows of a file give the same model to the bit: sums run in the order of
 * entries and random numbers are dealt out in that of users and items. Users and items
 * whose values are all hidden keep their place. O(n + u log u). New. */
ferry_status ferry_i_ratings_sorted(ferry_ctx *ctx, const ferry_ratings *r,
                                    ferry_ratings **out);

/* Observed ratings, users x items.
 *
 * With --engine mpi rank r has users [users[r], users[r + 1]) and items [items[r], items[r + 1]): their rows of x and
 * xt, each of them whole, so that every user and every item is one rank's to work out, with the bits of one process. What
 * comes out of it all ranks get (ferry_i_observed_share). */
typedef struct observed {
    ferry_matrix *x;        /* CSR users x items; an entry may be 0 */
    ferry_matrix *xt;       /* its transpose, items x users */
    int64_t *users, *items; /* NULL: all are here */
    int64_t n;              /* ... else: ratings of all ranks */
} observed;

/* From the values that are there, in the order of users and items; `f` and `g` map them
 * linearly: f * value + g. */
ferry_status ferry_i_observed_new(ferry_ctx *ctx, const ferry_ratings *r, double f,
                                  double g, observed *out);
/* The same pattern with other values, given in the order of o->x's entries. */
ferry_status ferry_i_observed_with(ferry_ctx *ctx, const observed *o, const double *value,
                                   observed *out);
/* The ratings whose fold of[e] is another than `without`. */
ferry_status ferry_i_observed_part(ferry_ctx *ctx, const observed *o, const uint8_t *of,
                                   uint8_t without, observed *out);
/* All ratings in one place, on every rank; without ranks those of o, shared. */
ferry_status ferry_i_observed_whole(ferry_ctx *ctx, const observed *o, observed *out);
/* Who rated what is left, in o->x; values and xt go. o has its matrices alone. */
void ferry_i_observed_forget(observed *o);
void ferry_i_observed_clear(observed *o);
/* Ratings of all ranks. */
int64_t ferry_i_observed_count(const observed *o);
/* Those of the ranks before this one: where its ratings begin in the order of all. */
ferry_status ferry_i_observed_before(ferry_ctx *ctx, const observed *o, int64_t *before);
/* The first user, item of this rank; 0 where all are here. */
int64_t ferry_i_observed_user(ferry_ctx *ctx, const observed *o);
int64_t ferry_i_observed_item(ferry_ctx *ctx, const observed *o);
/* Rows of `size` bytes, one for each user (item), of which every rank has set its own: all get all. */
ferry_status ferry_i_observed_share(ferry_ctx *ctx, const observed *o, bool items,
                                    size_t size, void *rows);
/* v <- the sum of all ranks' v, which each has of its own part. */
ferry_status ferry_i_observed_sum(ferry_ctx *ctx, const observed *o, int64_t n, double *v);

/* A task's target, ready: as a matrix, with users and items in the order of their ids. */
typedef struct rating_data {
    ferry_ratings *r; /* users, items and range; the ratings are in x alone */
    observed x;
} rating_data;
/* FERRY_ENEEDS unless the target has a rating that may be seen. */
ferry_status ferry_i_rating_fits(ferry_ctx *ctx, const char *method,
                                 const ferry_task *task);
/* The ratings of a task that is made for this fit alone are gone after that. */
ferry_status ferry_i_rating_data(ferry_ctx *ctx, const ferry_task *task, rating_data *out);
void ferry_i_rating_data_clear(rating_data *d);

/* ---- the model (rating_model.c, rating_file.c, rating_fold.c, rating_top.c) ---- */

/* One codebook behind columns [from, from + l) of p and q: p = weight Pu R, q = Pv. */
typedef struct rating_part {
    int64_t k, l;
    double *r;             /* k x l */
    double *pi_u, *pi_v;   /* k, l: shares of the groups; those of hard groups are unused */
    double weight, sigma2; /* sigma2 0: groups are hard */
} rating_part;

typedef struct rating_near rating_near; /* near.h */

/* The state of every method of goal rate. Which of the ways to fold in applies is in its
 * numbers, not in the method: ridge above 0, or parts, or neither (biases alone). */
typedef struct rating_model {
    ferry_ids *users, *items;
    double mu, lo, hi;
    double *a, *b;      /* one per user, one per item */
    int64_t rank;       /* columns of p and q; may be 0 */
    ferry_block *p, *q; /* users x rank, items x rank */
    double *p0, *q0;    /* rank: for users and items never seen */
    int64_t *start;     /* users + 1: item[start[i] .. start[i + 1]) are what i rated */
    int64_t *item;
    /* How a user or item that was not there at fit gets a row from some ratings: */
    double shrink_a, shrink_b; /* ratings of size 0 that shrink a bias; below 0: bias 0 */
    double ridge;              /* above 0: p and q by ridge regression, */
    bool weighted;             /* ... with `ridge` for each rating */
    int64_t parts;             /* above 0: by groups, hard or soft */
    rating_part *part;
    ferry_block *pu;   /* users x sum of k, where groups are soft; else NULL */
    rating_near *near; /* what neighbours add to x_ij; NULL: nothing */
} rating_model;

/* Zeroes, without parts and without `item`; m has the ids also when it fails (NULL: no
 * memory). */
ferry_status ferry_i_rating_model_fill(ferry_ctx *ctx, ferry_ids *users, ferry_ids *items,
                                       int64_t rank, rating_model *m);
/* Zeroed; ids copied and range from r. */
ferry_status ferry_i_rating_model_new(ferry_ctx *ctx, const ferry_ratings *r, int64_t rank,
                                      rating_model **out);
/* What was rated, from o, of which only that is left; of several ranks only rank 0 is told. It is as long as the ratings:
 * the last step of a fit. */
ferry_status ferry_i_rating_model_rated(ferry_ctx *ctx, observed *o, rating_model *m);
void ferry_i_rating_model_free(void *state);
/* Room for the parts: shapes are given, all else is zero; pu when `soft`. */
ferry_status ferry_i_rating_model_parts(ferry_ctx *ctx, rating_model *m, int64_t parts,
                                        const int64_t *k, const int64_t *l, bool soft);
/* Where each of `ids` stands in `known`, -1: not. New array; NULL: no memory. */
int64_t *ferry_i_rating_places(const ferry_ids *ids, const ferry_ids *known);
/* Without neighbours; user, item -1: never seen. */
double ferry_i_rating_raw(const rating_model *m, int64_t user, int64_t item);
/* The same, clipped to the range. */
double ferry_i_rating_at(const rating_model *m, int64_t user, int64_t item);
/* The ratings of n pairs, with neighbours, not clipped. */
ferry_status ferry_i_rating_pairs(ferry_ctx *ctx, const rating_model *m, int64_t n,
                                  const int64_t *user, const int64_t *item, double *value);
ferry_status ferry_i_rating_predict(ferry_ctx *ctx, const void *state,
                                    const ferry_domain *d, ferry_prediction *p);
void ferry_i_rating_file(ferry_io *io, void *state);
/* A model that also knows the users and items of d's ratings: a new user by the ratings
 * of items that were there at fit, then a new item by all its ratings. Who was there at
 * fit stays as he is. */
ferry_status ferry_i_rating_fold_in(ferry_ctx *ctx, const void *state,
                                    const ferry_domain *d, void **out);
/* p(c) prop pi_c exp(-cost_c / (2 sigma2)) over n groups: how far someone belongs to
 * each, by what his ratings would cost there. */
void ferry_i_rating_posterior(int64_t n, const double *cost, const double *pi,
                              double sigma2, double *p);
/* The n items that each of the users (NULL: all that the model knows) would rate
 * highest, best first, the earlier item of equals; without those that the user rated
 * unless `rated`.
 */
ferry_status ferry_i_rating_top(ferry_ctx *ctx, const void *state, const ferry_ids *users,
                                int64_t n, bool rated, ferry_ratings **out);
/* What all methods of this kind do with a model. */
#define FERRY_RATING_MODEL                                                                 \
    .predict = ferry_i_rating_predict, .file = ferry_i_rating_file,                        \
    .state_size = sizeof(rating_model), .free = ferry_i_rating_model_free,                 \
    .fold_in = ferry_i_rating_fold_in, .top = ferry_i_rating_top

/* ---- biases (bias.c) ---- */

/* Regularised biases: min sum (x_ij - mu - a_i - b_j)^2 + lambda (|a|^2 + |b|^2) with mu
 * the mean, by `sweeps` alternating exact steps from 0, items first. */
ferry_status ferry_i_bias(ferry_ctx *ctx, const observed *o, double lambda, int64_t sweeps,
                          double *mu, double *a, double *b);
/* out[e] <- x_ij - mu - a_i - b_j for every entry of o->x; out may be its values. */
void ferry_i_bias_residuals(ferry_ctx *ctx, const observed *o, double mu, const double *a,
                            const double *b, double *out);

#endif
