/* What the framework does for a method (model/seam.h): its problem, its model, its answers. */
#ifndef FERRY_FRAME_H
#define FERRY_FRAME_H

#include "methods/method.h"
#include "prepare/problem.h"

/* Rows of a stream at work, in a scope of their own. */
typedef struct arrivals {
    scope *of;
    void *scratch;           /* the method's */
    ferry_scale_room scaled; /* memory of `row` */
    ferry_row row;           /* the last one that was seen, as the method got it */
    int64_t
        last; /* its entries as it came; -1: there is none, or something was learned since */
    bool sparse;
    double *value;
    int32_t *index;
} arrivals;

/* Of a model of ratings: who and what there is, and who rated what. */
typedef struct catalogue {
    int64_t n_users, n_items, n_rated;
    ferry_ids *users,
        *items;     /* those of the fit as the problem had them, then who came later */
    double lo, hi;  /* range */
    int64_t *start; /* n_users + 1: item[start[i] .. start[i + 1]) are what user i rated */
    int32_t *item;
} catalogue;

/* The state of a model of such a method. */
typedef struct fitted {
    const method *m; /* first: loading sets it before anything is read */
    scope *keep;
    ferry_prepared *prepared; /* how new data is read; NULL: no features */
    known_labels *known;      /* NULL: no graphs */
    state_sizes of;
    double *
        prior; /* classes: shares of the labels that were learned from, or their mean; for instances without features */
    catalogue *rated; /* wants RATINGS; else NULL */
    void *state;
    arrivals *rows; /* STREAM: NULL until a row comes */
} fitted;
void frame_free(void *state);

/* The descriptor that the rest of the library sees. Its options are the method's own and then the common ones, in
 * `options`, which has room for 4 more than the method has; how many there are. */
int64_t frame_describe(const method *m, ferry_opt *options, ferry_method *to);
const problem *frame_problem(scope *s, const method *m, ferry_split *split,
                             const void *options);
/* Checks beyond `needs`; the fit itself, into a zeroed f, which is the caller's to free. */
void frame_fits(scope *s, const method *m, ferry_split *split, const void *options);
void frame_fit(scope *s, const method *m, ferry_split *split, const void *options,
               fitted *f);

/* ---- streams (frame_stream.c) ---- */

ferry_status stream_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                            ferry_prediction *p);
/* How rows are read, and how many classes the state has. */
void stream_load_head(scope *s, fitted *f, const ferry_dict *from);
/* The memory of rows goes: their classes are more, or the model is freed. */
void stream_close(fitted *f);

/* ---- goal rate (frame_rate.c) ---- */

extern const table catalogue_table;
catalogue *catalogue_new(scope *s, scope *keep, const ratings *r);
/* Every pair of d. */
void rate_predict(scope *s, const fitted *f, const ferry_domain *d, ferry_prediction *p);
ferry_status frame_fold_in(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                           void **out);
ferry_status frame_top(ferry_ctx *ctx, const void *state, const ferry_ids *users, int64_t n,
                       bool rated, ferry_ratings **out);

#endif
