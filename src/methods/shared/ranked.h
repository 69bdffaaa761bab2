/* What methods share that end in a RankSVM: predicting with it, saving and loading it. */
#ifndef FERRY_RANKED_H
#define FERRY_RANKED_H

#include "methods/baselines/base.h"

/* The options of the learner in a method's table. */
#define RANKED_OPTS(T)                                                                     \
    FERRY_OPT(T, REAL, C, 1, DBL_MIN, 1e9,                                                 \
              "cost of a label that comes after one it should precede"),                   \
        FERRY_OPT(T, INT, epochs, 100, 1, 1e9, "passes over the instances")
/* Features are taken as they are unless told otherwise. */
#define RANKED_OPT_SCALE(T)                                                                \
    FERRY_OPT_ONE_OF(T, scale, "auto|none|standard|l2", "none",                            \
                     "scale features first; auto: l2 for counts, else standard")

/* A dense matrix over the block's numbers, which it does not own. */
ferry_matrix ferry_i_block_matrix(const ferry_block *b);
/* means (d) <- means of the columns of x; 0 without rows. */
ferry_status ferry_i_column_means(ferry_ctx *ctx, const ferry_matrix *x, double *means);

/* Scores and sets for rows x, which are the instances instance[]. */
ferry_status ferry_i_ranked_predict(ferry_ctx *ctx, const ferry_ranksvm *r,
                                    const ferry_matrix *x, const double *mean,
                                    const int64_t *instance, ferry_prediction *p);
ferry_status ferry_i_ranked_save(ferry_ctx *ctx, const ferry_ranksvm *r, ferry_dict *dict);
/* ferry_i_base_load, of a model with features and sets of labels; d: how many features. */
ferry_status ferry_i_ranked_base_load(ferry_ctx *ctx, const ferry_dict *dict, base *b,
                                      int64_t *d);
/* m labels and d features as the rest of the model says. */
ferry_status ferry_i_ranked_load(ferry_ctx *ctx, const ferry_dict *dict, int64_t m,
                                 int64_t d, ferry_ranksvm **out);
/* A copy of the rows x cols tensor (-1: any, and told). */
ferry_status ferry_i_ranked_reals(ferry_ctx *ctx, const ferry_dict *dict, const char *name,
                                  int64_t *rows, int64_t *cols, double **out);
/* Where the fit ended, for the report. */
void ferry_i_ranked_report(ferry_ctx *ctx, const ferry_ranksvm *r, bool finish,
                           ferry_report *rep);

#endif
