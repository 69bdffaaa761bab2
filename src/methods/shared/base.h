/* What methods share that learn from labelled instances with features side by side, as all
 * baselines do: which labels they learn from, and what is predicted for an instance without
 * features. The features come from src/prepare. */
#ifndef FERRY_BASE_INTERNAL_H
#define FERRY_BASE_INTERNAL_H

#include "learn/learn.h"
#include "methods/method.h"
#include "prepare/prepare.h"

typedef enum ferry_train { TRAIN_AUTO, TRAIN_SOURCE, TRAIN_TARGET, TRAIN_BOTH } ferry_train;

#define BASE_TRAIN_CHOICES "auto|source|target|both"
#define BASE_TRAIN_HELP "learn from these labels; auto: the target's if it has some"
#define BASE_OPT_TRAIN(T)                                                                  \
    FERRY_OPT_ONE_OF(T, train, BASE_TRAIN_CHOICES, "auto", BASE_TRAIN_HELP)

/* What a method asks for. */
typedef struct base_wants {
    const char *method; /* for messages */
    int train;          /* ferry_train */
    bool no_features;   /* labels are all it uses */
    int scale;          /* ferry_scale */
    bool missing;       /* missing cells stay (trees) */
    bool keeps;         /* the examples become part of the model */
    bool
        lend; /* as in ferry_wants: factor and shift of the examples say what is left to do */
} base_wants;

/* The part of the model that all have. */
typedef struct base {
    ferry_goal goal;
    int64_t k;                /* classes or labels; 1 for numbers */
    double *prior;            /* k: shares of the classes or labels, or the mean */
    ferry_prepared *prepared; /* NULL: no features */
} base;

/* Labelled instances to learn from; cls, num or on by goal. */
typedef struct examples {
    int64_t n;
    ferry_matrix *x; /* prepared; NULL: no features */
    int32_t *cls;
    double *num;
    uint8_t *on;     /* n x k */
    int64_t sources; /* the first so many are of sources */
    double *factor,
        *shift; /* with `lend`: the prepared values are x_ij factor_j - shift_j; NULL: x itself */
} examples;

/* Collect the examples (sources first, then the target), count the priors; logs and records
 * what was used. `out` and `e` are cleared by the caller in any case. */
ferry_status ferry_i_base_fit(ferry_ctx *ctx, const ferry_task *task, const base_wants *w,
                              base *out, examples *e);
/* The check that fit begins with: FERRY_ENEEDS with one sentence about what is missing. */
ferry_status ferry_i_base_fits(ferry_ctx *ctx, const ferry_task *task, const base_wants *w);
void ferry_i_base_clear(base *b);
void ferry_i_examples_clear(examples *e);

/* Columns of x. */
int64_t ferry_i_base_width(const base *b);
/* Prepared features of the instances of d that have some: `instance` (new) tells which, in
 * the order of the rows of x. */
ferry_status ferry_i_base_query(ferry_ctx *ctx, const base *b, const ferry_domain *d,
                                ferry_matrix **x, int64_t **instance);
/* Predict the prior for all instances. */
ferry_status ferry_i_base_predict_prior(ferry_ctx *ctx, const base *b, ferry_prediction *p);
/* Replace it by the scores (one row for each of instance[]): the largest wins (classify,
 * the first of equals), labels above `least` are on (multilabel), the number (regress). */
void ferry_i_base_predict_scores(const base *b, const ferry_block *scores,
                                 const int64_t *instance, double least,
                                 ferry_prediction *p);

/* `features`: a model without them is refused. */
void ferry_i_base_file(ferry_io *io, bool features, base *b);

#endif
