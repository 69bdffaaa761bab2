/* GBC, gradient boosting consensus: the parts of the method. */
#ifndef FERRY_GBC_INTERNAL_H
#define FERRY_GBC_INTERNAL_H

#include "learn/trees.h"
#include "methods/gbc/formulas.h"
#include "methods/method.h"

/* ---- the graphs' means, fast ---- */

/* Neighbour means of all sources in all graphs and the graphs' losses in one pass over the
 * edges, in threads; the same numbers as the plain ones of tests/oracle. */
typedef struct gbc_pass gbc_pass;
ferry_status ferry_i_gbc_pass_new(ferry_ctx *ctx, const gbc_problem *g, gbc_pass **out);
/* wg (q) <- root weights of the losses, which go to `loss` (q); et[i] (n x k) and has[i]
 * (n)
 * <- Et_i with those, where the source has the instance and it is not labelled. */
ferry_status ferry_i_gbc_pass_run(ferry_ctx *ctx, gbc_pass *s, const gbc_problem *g,
                                  double *const *f, const double *w, double *loss,
                                  double *wg, double *const *et, uint8_t *const *has);
void ferry_i_gbc_pass_free(gbc_pass *s);

/* ---- trees learned so far ---- */

#define GBC_MOST_SCORE 12.0 /* logistic scores stay within +- this */

/* f_i = f0 + sum_t trees of view i, the steps multiplied in. additive: one f = f0 + sum_i
 * sum_t instead. */
typedef struct gbc_forest {
    int64_t p, k, n; /* views, scores, iterations */
    int64_t room;
    bool logistic, additive;
    double *f0;        /* k */
    uint8_t *sparse;   /* p: zeros are missing cells */
    int64_t *cols;     /* p */
    ferry_tree **tree; /* (t * p + i) * k + j */
} gbc_forest;

ferry_status ferry_i_gbc_forest_new(ferry_ctx *ctx, int64_t p, int64_t k, gbc_forest **out);
/* Room for one more iteration; its trees are NULL (as if of one leaf with 0). */
ferry_status ferry_i_gbc_forest_grow(ferry_ctx *ctx, gbc_forest *f);
void ferry_i_gbc_forest_cut(gbc_forest *f, int64_t n); /* forget all but n iterations */
void ferry_i_gbc_forest_free(gbc_forest *f);
static inline ferry_tree **gbc_tree(const gbc_forest *f, int64_t t, int64_t i, int64_t j)
{
    return &f->tree[(t * f->p + i) * f->k + j];
}
/* Scores of the views (n x k each; additive: all in f[0]) for the n instances; those that
 * a view lacks keep f0. mask (p x n) <- what views have. */
ferry_status ferry_i_gbc_forest_scores(ferry_ctx *ctx, const gbc_forest *forest, int64_t n,
                                       ferry_view *const *views, double *const *f,
                                       uint8_t *mask);

ferry_status ferry_i_gbc_forest_save(ferry_ctx *ctx, const gbc_forest *f, ferry_dict *dict);
ferry_status ferry_i_gbc_forest_load(ferry_ctx *ctx, const ferry_dict *dict,
                                     gbc_forest **out);

/* ---- what is to be predicted, as scores ---- */

/* Two classes are one score (the second against the first), more are one each against the
 * rest; a number is (number - mean) / sd. */
typedef struct gbc_goal {
    ferry_goal goal;
    int64_t classes, k;
    double mean, sd;
} gbc_goal;

/* For the n instances with class cls[i] (-1: unknown) or number num[i] (NaN). y (n x k) and
 * labelled (n) are new. */
ferry_status ferry_i_gbc_goal_new(ferry_ctx *ctx, ferry_goal goal, int64_t classes,
                                  int64_t n, const int32_t *cls, const double *num,
                                  gbc_goal *out, double **y, uint8_t **labelled);
/* out (classes, or 1) <- probabilities, or the number as it was scaled, of the k scores
 * f. */
void ferry_i_gbc_goal_answer(const gbc_goal *g, const double *f, double *out);
/* The same of a label y (k): certainty. */
void ferry_i_gbc_goal_truth(const gbc_goal *g, const double *y, double *out);
/* Answers (classes, or 1) into the prediction of instance i: the largest wins. */
void ferry_i_gbc_goal_decide(const gbc_goal *g, const double *answer, int64_t i,
                             ferry_prediction *p);
ferry_status ferry_i_gbc_goal_check(ferry_ctx *ctx, const gbc_goal *g,
                                    const ferry_prediction *p);
ferry_status ferry_i_gbc_goal_save(ferry_ctx *ctx, const gbc_goal *g, ferry_dict *dict);
ferry_status ferry_i_gbc_goal_load(ferry_ctx *ctx, const ferry_dict *dict, gbc_goal *g);

/* ---- boosting, one iteration after the other ---- */

typedef enum gbc_weighing { GBC_FIXED, GBC_ROOT, GBC_SOFTMAX } gbc_weighing;

typedef struct gbc_settings {
    bool additive;
    bool all;             /* rows without a term count for thresholds (line: in leaves) */
    bool line;            /* plain trees and a line search, else Newton leaves */
    double rate;          /* nu */
    gbc_weighing weights; /* FIXED: as given; else from training loss */
    ferry_tree_options tree;
    ferry_growing how;
} gbc_settings;

typedef struct gbc_run {
    gbc_settings o;
    gbc_problem g;
    gbc_forest *forest;
    double **f;                /* p (additive: 1), n x k each */
    double *w;                 /* p */
    double *wg;                /* q */
    double *loss, *graph_loss; /* p: training loss; q */
    struct run_view *view;
    gbc_problem joint; /* additive: the one score of all */
    uint8_t *any;
    double *e;
    int32_t *sources;
    double **et;
    uint8_t **has;
    gbc_pass *pass;
    double *direction; /* n x k, line search */
} gbc_run;

/* The problem's arrays and the views are borrowed. follow (n, NULL: all): instances whose
 * scores are kept up; all that have a gradient must be among them. w (p) may be NULL:
 * equal. */
ferry_status ferry_i_gbc_run_new(ferry_ctx *ctx, const gbc_settings *o,
                                 const gbc_problem *g, ferry_view *const *views,
                                 const uint8_t *follow, const double *w, gbc_run **out);
ferry_status ferry_i_gbc_run_step(ferry_ctx *ctx, gbc_run *r);
void ferry_i_gbc_run_free(gbc_run *r);

/* ---- the model ---- */

/* What graphs do to answers when they are given. residual: add the shrunken mean residual
 * of labelled neighbours, sum A r / (sum A + kappa). smooth: mix with the mean of the
 * neighbours, again and again, labels standing fast. */
typedef enum gbc_correct {
    GBC_CORRECT_AUTO,
    GBC_CORRECT_NO,
    GBC_CORRECT_RESIDUAL,
    GBC_CORRECT_SMOOTH
} gbc_correct;
#define GBC_CORRECTS "auto|no|residual|smooth"

/* Answers are `classes` probabilities or one scaled number an instance. */
typedef struct gbc_model {
    gbc_goal goal;
    gbc_forest *forest;
    double *w; /* p */
    double stretch;
    gbc_correct correct; /* not auto */
    double strength;     /* kappa, or alpha of the smoothing */
    ferry_ids *graphs;   /* by name */
    double *wg;
    ferry_ids *known; /* labelled instances ... */
    double *truth;    /* ... their answers, as they should be */
    double *residual; /* ... minus what was answered without them */
} gbc_model;

ferry_status ferry_i_gbc_model_new(ferry_ctx *ctx, gbc_model **out);
void ferry_i_gbc_model_free(void *model);
/* Answers of the trees alone for the n instances: f0 + stretch (average - f0); viewless[x]:
 * none of its views counts. */
ferry_status ferry_i_gbc_answers(ferry_ctx *ctx, const gbc_goal *goal,
                                 const gbc_forest *forest, const double *w, double stretch,
                                 int64_t n, ferry_view *const *views, double *answers,
                                 uint8_t *viewless);
/* at[x]: the place of x in truth and residual, or -1. basis[x] <- 0 views, 1 neighbours, 2
 * the base score. */
typedef struct gbc_labels {
    const int64_t *at;
    const double *truth, *residual;
} gbc_labels;
ferry_status ferry_i_gbc_correct(ferry_ctx *ctx, gbc_correct correct, double strength,
                                 int64_t q, ferry_matrix *const *graph, const double *wg,
                                 int64_t n, int64_t m, bool classes, const gbc_labels *l,
                                 const uint8_t *viewless, double *answers, uint8_t *basis);
ferry_status ferry_i_gbc_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                 ferry_prediction *p);
ferry_status ferry_i_gbc_save(ferry_ctx *ctx, const void *state, ferry_dict *dict);
ferry_status ferry_i_gbc_load(ferry_ctx *ctx, const ferry_dict *dict, void **state);

/* ---- what cross-validation decides ---- */

typedef struct gbc_plan {
    gbc_settings o; /* additive: as asked or chosen */
    double lambda0, lambda1;
    int64_t trees;
    double *w;         /* p */
    double stretch;    /* of the average */
    double *view_loss; /* p: held-out loss of each view; NaN: not known */
    double constant_loss, average_loss, additive_loss; /* held out; NaN: not known */
    gbc_correct correct;
    double strength;
    double plain_loss, corrected_loss; /* held out, of the answers */
    double *wg;                        /* q: by how well neighbours agree */
    double *held; /* n x m: answers of labelled instances without their labels, or NULL */
} gbc_plan;

typedef enum gbc_rule {
    GBC_RULE_AUTO,
    GBC_RULE_SKILL,
    GBC_RULE_ROOT,
    GBC_RULE_SOFTMAX,
    GBC_RULE_EQUAL
} gbc_rule;
#define GBC_RULES "auto|skill|root|softmax|equal"

typedef enum gbc_combine { GBC_COMBINE_AUTO, GBC_AVERAGE, GBC_ADDITIVE } gbc_combine;

typedef struct gbc_select {
    int64_t folds, trees, patience;
    gbc_rule rule; /* skill or equal */
    gbc_combine combine;
    gbc_correct correct;
    double strength; /* < 0: chosen */
    bool tune;       /* lambda0 and lambda1 too, from a grid times `unit` */
    double unit;
} gbc_select;

/* Fill the plan, whose settings and lambdas are set; p->w etc. are new. */
ferry_status ferry_i_gbc_choose(ferry_ctx *ctx, const gbc_select *s, const gbc_goal *goal,
                                const gbc_problem *g, ferry_view *const *views,
                                gbc_plan *p);
void ferry_i_gbc_plan_clear(gbc_plan *p);

#endif
