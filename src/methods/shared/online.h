/* What the methods for streams share: rows as their learners want them, the labelled rows
 * of a task, running means and deviations. */
#ifndef FERRY_ONLINE_INTERNAL_H
#define FERRY_ONLINE_INTERNAL_H

#include "learn/pa.h"
#include "methods/method.h"

/* Means and deviations of the features of all rows so far (Welford). */
typedef struct moments {
    int64_t n, d;
    double *mean, *m2; /* d: mean, and sum of squared differences from it */
} moments;
ferry_status ferry_i_moments_new(ferry_ctx *ctx, int64_t d, moments *m);
void ferry_i_moments_clear(moments *m);
/* x has no missing cell. */
void ferry_i_moments_add(moments *m, const ferry_row *x);
/* z (d) <- (x - mean) / sd to unit length, where sd is at least a tenth of the features'
 * mean sd. Zero when nothing varies. */
void ferry_i_moments_z(const moments *m, const ferry_row *x, double *z);
ferry_status ferry_i_moments_save(ferry_ctx *ctx, const moments *m, ferry_dict *dict);
ferry_status ferry_i_moments_load(ferry_ctx *ctx, const ferry_dict *dict, int64_t d,
                                  moments *m);

/* `value` (x->n numbers of room) <- x's with missing ones from fill (d); *out is x with
 * these. */
void ferry_i_row_filled(const ferry_row *x, const double *fill, double *value,
                        ferry_row *out);
/* Scale the n values to unit length; zeros stay. */
void ferry_i_row_unit(int64_t n, double *value);

/* Labelled rows of a domain's only view, in the order of its instances. */
typedef struct online_rows {
    int64_t n, d;
    const ferry_matrix *x; /* the domain's */
    int64_t *row;          /* n, rows of x */
    int32_t *cls;          /* n */
} online_rows;
/* n is 0 when d has no labels. */
ferry_status ferry_i_online_rows(ferry_ctx *ctx, const ferry_domain *d, online_rows *out);
void ferry_i_online_rows_clear(online_rows *r);
ferry_row ferry_i_matrix_row(const ferry_matrix *x, int64_t i);
/* Means of the columns over these rows, without missing cells; 0 for columns without any.
 * New. */
ferry_status ferry_i_online_fill(ferry_ctx *ctx, const online_rows *r, double **out);

/* A row from outside against a state that may come from a file: d features, weights for
 * `have` classes and names for k. */
ferry_status ferry_i_online_check(ferry_ctx *ctx, const ferry_row *x, int64_t d, int64_t k,
                                  int64_t have);
/* The target has a single view. */
ferry_status ferry_i_online_fits(ferry_ctx *ctx, const char *method,
                                 const ferry_task *task);
/* 0..n-1 in a random order. New. */
ferry_status ferry_i_online_order(ferry_ctx *ctx, ferry_rng *rng, int64_t n, int64_t **out);

/* How a state scores one row: `look` fills score (k numbers) and changes nothing but room. */
typedef struct online_looker {
    const char *method; /* for messages */
    int64_t k, d;       /* classes, features */
    void (*look)(const void *state, const ferry_row *x, void *room, double *score);
    const void *state;
    void *room;
} online_looker;
/* Scores and classes of every instance of d, one after the other. */
ferry_status ferry_i_online_predict(ferry_ctx *ctx, const online_looker *how,
                                    const ferry_domain *d, ferry_prediction *p);

/* Tensors NAME, NAME.C, NAME.w and NAME.u. */
ferry_status ferry_i_pa_save(ferry_ctx *ctx, const ferry_pa *p, const char *name,
                             ferry_dict *dict);
/* k (-1: any) classes and d features. */
ferry_status ferry_i_pa_load(ferry_ctx *ctx, const ferry_dict *dict, const char *name,
                             int64_t k, int64_t d, ferry_pa **out);

#endif
