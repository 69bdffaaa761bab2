/* What the baselines share: which labelled instances they learn from, their features side
 * by side, and what is predicted for an instance without features. */
#ifndef FERRY_BASE_INTERNAL_H
#define FERRY_BASE_INTERNAL_H

#include "learn/learn.h"
#include "methods/method.h"

/* ---- options ---- */

typedef enum ferry_train { TRAIN_AUTO, TRAIN_SOURCE, TRAIN_TARGET, TRAIN_BOTH } ferry_train;
typedef enum ferry_scaling {
    SCALE_AUTO,
    SCALE_NONE,
    SCALE_STANDARD,
    SCALE_L2,
    SCALE_KEEP /* not for users to choose: missing cells stay */
} ferry_scaling;

#define BASE_OPT_TRAIN(T)                                                                  \
    FERRY_OPT_ONE_OF(T, train, "auto|source|target|both", "auto",                          \
                     "learn from these labels; auto: the target's if it has some")
#define BASE_OPT_SCALE(T)                                                                  \
    FERRY_OPT_ONE_OF(                                                                      \
        T, scale, "auto|none|standard|l2", "auto",                                         \
        "scale features; auto: l2 for counts (0 or more, mostly 0), else standard")

/* ---- where the labels and features come from ---- */

/* One domain to learn from: for every view of the target, the view that stands for it
 * (NULL: none) and how its columns line up (map[v][j]: the target's column or -1; NULL:
 * equal). */
typedef struct plan_part {
    const ferry_domain *domain;
    const ferry_view **view;
    int32_t **map;
} plan_part;

typedef struct plan {
    const char *method; /* for messages */
    const ferry_task *task;
    const ferry_domain *target;
    ferry_train train; /* never auto */
    bool features;     /* the method uses features */
    plan_part *part;
    int64_t n_parts;
} plan;

/* Decide, or FERRY_ENEEDS with one sentence about what is missing. */
ferry_status ferry_i_plan_make(ferry_ctx *ctx, const char *method, const ferry_task *task,
                               ferry_train train, bool features, plan *p);
void ferry_i_plan_clear(plan *p);
const char *ferry_i_train_name(ferry_train train);

/* Rows of several views side by side, NaN where a dense view lacks one; CSR when any view
 * is (a dense view is then stored in full). instance[0..n) are places in the domain.
 * `used[v]` columns remain of view v, local[v][j] tells where column j of the target's view
 * goes (-1: left out; local[v] NULL: all stay). */
typedef struct space {
    int64_t n_views;
    int64_t *width;  /* columns of the target's views */
    int64_t *used;   /* ... that the method uses */
    uint8_t *sparse; /* whether a missing row is all zero (or else missing cells) */
    int32_t **local;
} space;
ferry_status ferry_i_space_new(ferry_ctx *ctx, int64_t n_views, space **out);
void ferry_i_space_free(space *s);
int64_t ferry_i_space_width(const space *s); /* sum of used */
/* The columns that the plan's domains share with the target. */
ferry_status ferry_i_space_from_plan(ferry_ctx *ctx, const plan *p, space **out);
ferry_status ferry_i_space_rows(ferry_ctx *ctx, const space *s, const plan_part *part,
                                int64_t n, const int64_t *instance, ferry_matrix **out);
/* Put n matrices on top of each other (stack) or side by side; takes the only one out of
 * `part`. CSR when any of them is: a sparse one is never made dense. */
ferry_status ferry_i_space_combine(ferry_ctx *ctx, bool stack, int64_t n,
                                   ferry_matrix **part, ferry_matrix **out);
/* Whether any view has a row for the instance. */
bool ferry_i_part_covers(const space *s, const plan_part *part, int64_t instance);

/* ---- the part of the model that all baselines have ---- */

typedef struct base {
    ferry_goal goal;
    int64_t k;        /* classes or labels; 1 for numbers */
    double *prior;    /* k: shares of the classes or labels, or the mean */
    space *space;     /* NULL: no features */
    ferry_prep *prep; /* NULL: no features */
} base;

/* Labelled instances to learn from; cls, num or on by goal. */
typedef struct examples {
    int64_t n;
    ferry_matrix *x; /* prepared; NULL: no features */
    int32_t *cls;
    double *num;
    uint8_t *on; /* n x k */
} examples;

/* Collect the examples, prepare their features, count the priors; logs and records what was
 * used. `out` and `e` are cleared by the caller in any case. */
ferry_status ferry_i_base_fit(ferry_ctx *ctx, const char *method, const ferry_task *task,
                              ferry_train train, bool features, ferry_scaling scale,
                              base *out, examples *e);
/* The same with e->x as it is, not prepared: for methods that work the scaling into their
 * products. */
ferry_status ferry_i_base_fit_raw(ferry_ctx *ctx, const char *method,
                                  const ferry_task *task, ferry_train train,
                                  ferry_scaling scale, base *out, examples *e);
/* The check that fit begins with. */
ferry_status ferry_i_base_fits(ferry_ctx *ctx, const char *method, const ferry_task *task,
                               ferry_train train, bool features);
void ferry_i_base_clear(base *b);
void ferry_i_examples_clear(examples *e);

/* Prepared features of the instances of d that have some: `instance` (new) tells which, in
 * the order of the rows of x. */
ferry_status ferry_i_base_query(ferry_ctx *ctx, const base *b, const ferry_domain *d,
                                ferry_matrix **x, int64_t **instance);
ferry_status ferry_i_base_query_raw(ferry_ctx *ctx, const base *b, const ferry_domain *d,
                                    ferry_matrix **x, int64_t **instance);
/* Predict the prior for all instances. */
ferry_status ferry_i_base_predict_prior(ferry_ctx *ctx, const base *b, ferry_prediction *p);
/* Replace it by the scores (one row for each of instance[]): the largest wins (classify,
 * the first of equals), labels above `least` are on (multilabel), the number (regress). */
void ferry_i_base_predict_scores(const base *b, const ferry_block *scores,
                                 const int64_t *instance, double least,
                                 ferry_prediction *p);

ferry_status ferry_i_base_save(ferry_ctx *ctx, const base *b, ferry_dict *dict);
ferry_status ferry_i_base_load(ferry_ctx *ctx, const ferry_dict *dict, base *b);

#endif
