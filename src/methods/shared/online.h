/* What the methods for streams share: rows as their learners want them (through the one
 * preparation, a row at a time), running means and deviations, predictions, and the file
 * of a passive-aggressive learner. */
#ifndef FERRY_ONLINE_INTERNAL_H
#define FERRY_ONLINE_INTERNAL_H

#include "learn/pa.h"
#include "methods/method.h"
#include "prepare/prepare.h"

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
void ferry_i_moments_file(ferry_io *io, int64_t d, moments *m);

/* Scale the n values to unit length; zeros stay. */
void ferry_i_row_unit(int64_t n, double *value);
/* Row i without a copy: it points into x, whatever its storage. */
ferry_row ferry_i_matrix_row(const ferry_matrix *x, int64_t i);

/* ---- rows of a task and of a stream ---- */

/* How rows become input, and room for one of them. */
typedef struct online_input {
    ferry_prepared *prepared; /* of the target's only view */
    int64_t d;                /* its columns */
    ferry_scale_room room;
} online_input;
/* The labelled rows of these domains (FERRY_SOURCES | ...), scaled; all of them stand in
 * prepared->rows until ferry_i_prepared_forget(). */
ferry_status ferry_i_online_prepare(ferry_ctx *ctx, const char *method,
                                    const ferry_task *task, unsigned domains, int scale,
                                    online_input *in);
void ferry_i_online_clear(online_input *in);
/* A row as it comes, with its missing cells, as input; it stands in room (NULL:
 * in->room). */
ferry_row ferry_i_online_row(const online_input *in, const ferry_row *x,
                             const ferry_scale_room *room);
void ferry_i_online_file(ferry_io *io, online_input *in);

/* A row from outside against a state that may come from a file: d features, weights for
 * `have` classes and names for k. */
ferry_status ferry_i_online_check(ferry_ctx *ctx, const ferry_row *x, int64_t d, int64_t k,
                                  int64_t have);
/* The target has a single view. */
ferry_status ferry_i_online_fits(ferry_ctx *ctx, const char *method,
                                 const ferry_task *task);
/* 0..n-1 in a random order. New. */
ferry_status ferry_i_online_order(ferry_ctx *ctx, ferry_rng *rng, int64_t n, int64_t **out);

/* How a state scores one row: `look` fills score (k numbers) and changes nothing but
 * room. */
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

/* Tensors NAME, NAME.C, NAME.w and NAME.u: k (-1: any) classes and d features. */
void ferry_i_pa_file(ferry_io *io, const char *name, int64_t k, int64_t d, ferry_pa **pa);

#endif
