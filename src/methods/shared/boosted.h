/* Boosted trees as methods use them: options, fitting on labels alone, the model with its
 * answers and its file. For gbdt, gbdt-average, semi-gbdt and gbc. */
#ifndef FERRY_BOOSTED_H
#define FERRY_BOOSTED_H

#include "learn/boosting.h"
#include "learn/outputs.h"
#include "methods/method.h"
#include "prepare/prepare.h"

/* How trees are grown; -1: by the loss, see ferry_i_boosted_options.
 * The numbers of one boosting run as the user gave them. A method embeds this struct in
 * its own options and lists BOOSTED_OPTS, so that all of them grow trees by the same
 * words. */
typedef struct boosted_growing {
    int64_t trees, depth;
    double rate;
    int64_t min_leaf;
    double min_child, reg;
    int64_t bins;
    int learner;
} boosted_growing;

/* Options of a struct T with a member `at` of that type; TREE_OPTS: without the learner. */
#define BOOSTED_OPTS(T, at)                                                                \
    BOOSTED_TREE_OPTS(T, at),                                                              \
    {                                                                                      \
        "learner", FERRY_OPT_CHOICE, offsetof(T, at.learner), "exact", 0, 0,               \
            FERRY_GROWINGS,                                                                \
            "trees: exact, or from histograms for large data: XGBoost's, or our own"       \
    }
#define BOOSTED_TREE_OPTS(T, at)                                                           \
    FERRY_OPT_AS(T, "trees", INT, at.trees, 100, 1, 1e6, "iterations, at most"),           \
        FERRY_OPT_AS(T, "depth", INT, at.depth, 3, 1, 30, "splits from root to leaf"),     \
        FERRY_OPT_AS(T, "rate", REAL, at.rate, 0.1, 1e-6, 1,                               \
                     "nu: how much of each step is taken"),                                \
        FERRY_OPT_AS(T, "min_leaf", INT, at.min_leaf, 3, 1, 1e9,                           \
                     "instances in a leaf, at least (not XGBoost)"),                       \
        FERRY_OPT_AS(T, "min_child", REAL, at.min_child, -1, -1, 1e9,                      \
                     "curvature in a leaf, at least; -1: 0.5 for classes, 4 for numbers"), \
        FERRY_OPT_AS(T, "reg", REAL, at.reg, -1, -1, 1e9,                                  \
                     "added to a leaf's curvature; -1: 0.25 for classes, 1 for numbers"),  \
        FERRY_OPT_AS(T, "bins", INT, at.bins, 64, 2, 65536,                                \
                     "thresholds per feature (histograms)")

/* Options of the learner, with -1 replaced by the default of the loss (logistic: of
 * classes, else the squared loss of numbers). */
ferry_boosting_options ferry_i_boosted_options(const boosted_growing *o, bool logistic);

/* A domain's views as trees take them: values and missing cells as they are, dense or CSR by
 * how many are not 0, each with the rows that it has. */
typedef struct boosted_views {
    int64_t n;
    ferry_view *view; /* x, instance; the rest is not set */
    ferry_view **at;  /* pointers to them */
} boosted_views;

/* Prepare the target; *prepared (new) then knows new data, too. */
ferry_status ferry_i_boosted_prepare(ferry_ctx *ctx, const char *method,
                                     const ferry_task *task, ferry_prepared **prepared,
                                     boosted_views *out);
/* The views of new data (over ranks: this one's rows of it), in the columns and order of the model. A view that d
 * lacks has no rows. *out is the caller's to clear, also after a failure. */
ferry_status ferry_i_boosted_new_data(ferry_ctx *ctx, const ferry_prepared *prepared,
                                      const ferry_domain *d, boosted_views *out);
void ferry_i_boosted_views_clear(boosted_views *v);
/* mask (views x n) <- which of the domain's n instances each view has. */
void ferry_i_boosted_mask(const boosted_views *v, int64_t n, uint8_t *mask);

/* The answer to x is that of f0 + stretch (sum_i w_i f_i / sum_i w_i - f0) over the views
 * that have x; additive: of the one score. */
typedef struct boosted {
    ferry_outputs outputs;
    ferry_forest *forest;
    double *w; /* p; NULL: 1 each */
    double stretch;
    ferry_prepared *prepared; /* NULL: the method has its own */
} boosted;

void ferry_i_boosted_clear(boosted *m);
/* Outputs, and y and labelled of the target's instances (new), for a task. */
ferry_status ferry_i_boosted_labels(ferry_ctx *ctx, const ferry_task *task,
                                    const ferry_domain *t, ferry_outputs *out, double **y,
                                    uint8_t **labelled);
/* o->trees iterations on the labels of g, told to the user as `name`; the scores' training
 * losses go to `loss` (g->p; NaN: no labels). Fills m->forest. */
ferry_status ferry_i_boosted_grow(ferry_ctx *ctx, const char *name,
                                  const boosted_growing *o, const ferry_objective *g,
                                  ferry_view *const *views, boosted *m, double *loss,
                                  ferry_fit_info *rep);
/* answers (n x classes); viewless[x] (n): none of the views that count has x. Over ranks each has its own rows in the
 * views, and all get all answers. */
ferry_status ferry_i_boosted_answers(ferry_ctx *ctx, const boosted *m, int64_t n,
                                     ferry_view *const *views, double *answers,
                                     uint8_t *viewless);

/* Warn of the instances that stand on no view (p->basis). */
void ferry_i_boosted_tell(ferry_ctx *ctx, const char *method, const ferry_domain *d,
                          const ferry_prediction *p);

/* weighted: the views must have weights and their preparation. */
void ferry_i_boosted_file(ferry_io *io, bool weighted, boosted *m);

/* Outputs: an answer into the prediction of instance i (the largest wins), and the file.
 * Numbers go back to the label's scale, mean + sd answer; of equal classes the first
 * wins. */
void ferry_i_outputs_decide(const ferry_outputs *o, const double *answer, int64_t i,
                            ferry_prediction *p);
ferry_status ferry_i_outputs_check(ferry_ctx *ctx, const ferry_outputs *o,
                                   const ferry_prediction *p);
void ferry_i_outputs_file(ferry_io *io, ferry_outputs *o);

#endif
