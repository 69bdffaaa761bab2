/* GBC, gradient boosting consensus (Shi, thesis 2013, chapter 3): the problem and the parts
 * of the method. Letters as in the thesis:
 *
 *   n instances, p vector sources (views), q graphs, k scores an instance (classes one
 *   against the rest; 1 for two classes and for numbers)
 *   f_i(x)   n x k   scores of source i
 *   w, wg            weights of the sources and of the graphs, each adding up to one
 *   E(x)             consensus of the sources                                       (3.2)
 *   Et_i(x)          mean of the neighbours' scores in source i                     (3.3)
 *   z, c             -dL_i/df and d2L_i/df2 with E and Et_i held fixed
 *
 * Source i minimises, by boosted trees (learn/boosting.h),
 *
 *   L_i = sum over labelled x  L(f_i(x), y_x)
 *       + lambda0 sum over unlabelled x in two views or more  L(f_i(x), E(x))
 *       + lambda1 sum over unlabelled x with neighbours  L(f_i(x), Et_i(x))
 *
 * with E and Et_i computed anew in every iteration, and the answer is
 * sum_i w_i f_i / sum_i w_i over the views that have x. */
#ifndef FERRY_GBC_INTERNAL_H
#define FERRY_GBC_INTERNAL_H

#include "learn/learn.h"
#include "methods/shared/boosted.h"
#include "methods/shared/known.h"

/* One problem, as the formulas see it. Everything is borrowed: the job or the trial owns
 * the arrays. Cross-validation makes copies of the struct that differ in `labelled` and
 * lambdas. */
typedef struct gbc_problem {
    int64_t n, p, q, k;
    const uint8_t *mask;     /* p x n: whether the source has the instance */
    const uint8_t *labelled; /* n */
    const double *y;         /* n x k: the number, or 1 and -1; of labelled instances */
    ferry_matrix *const *graph;
    bool logistic;           /* else squared loss */
    bool soft;               /* cross-entropy with s(E); else log(1 + exp(-E f)) */
    bool clamp;              /* a labelled neighbour counts with its label */
    double lambda0, lambda1; /* of the consensus and of the graphs */
} gbc_problem;

/* E and Et of one iteration. Frozen during an iteration, for gradient, curvature and line
 * search alike, so that a step minimises one convex surrogate. All sources see the same E:
 * their order does not matter and they may run side by side. */
typedef struct gbc_targets {
    double *e;        /* n x k; NULL: lambda0 is 0 */
    int32_t *sources; /* n: how many have x */
    double **et;      /* p, n x k each; NULL: lambda1 is 0 */
    uint8_t **has;    /* p, n each: whether x has a neighbour that counts */
} gbc_targets;

/* Formulas: formulas.c. */

/* e <- E; sources[x] <- how many have x. */
void ferry_i_gbc_consensus(const gbc_problem *g, double *const *f, const double *w,
                           double *e, int32_t *sources);
/* Whether unlabelled x has a term in source i. */
bool ferry_i_gbc_counts(const gbc_problem *g, const gbc_targets *t, int64_t i, int64_t x);
/* z and c of its terms for score j when that is f. */
void ferry_i_gbc_term(const gbc_problem *g, const gbc_targets *t, int64_t i, int64_t x,
                      int64_t j, double f, double *z, double *c);
/* Weights from losses; a NaN counts as the mean of the others. root: exp(-l/z) with the z
 * that makes them add up to one (3.10); softmax: exp(-8 (l - min)/mean); skill: max(0, 1 -
 * l / l0), equal when none is better than l0. */
void ferry_i_gbc_root(int64_t n, const double *loss, double *w);
void ferry_i_gbc_softmax(int64_t n, const double *loss, double *w);
void ferry_i_gbc_skill(int64_t n, const double *loss, double l0, double *w);

/* The graphs' means, fast: graphs.c. */

/* Neighbour means of all sources in all graphs and the graphs' losses in one pass over the
 * edges, in threads; the same numbers as the plain ones of tests/oracle. A pass owns its
 * buffers (up to 2 GB of means) and lasts as long as the problem's graphs; it is made once
 * for all iterations. */
typedef struct gbc_pass gbc_pass;
ferry_status ferry_i_gbc_pass_new(ferry_ctx *ctx, const gbc_problem *g, gbc_pass **out);
/* wg (q) <- root weights of the losses, which go to `loss` (q); et[i] (n x k) and has[i]
 * (n) <- Et_i with those, where the source has the instance and it is not labelled. */
ferry_status ferry_i_gbc_pass_run(ferry_ctx *ctx, gbc_pass *s, const gbc_problem *g,
                                  double *const *f, const double *w, double *loss,
                                  double *wg, double *const *et, uint8_t *const *has);
void ferry_i_gbc_pass_free(gbc_pass *s);

/* Boosting with E and Et, one iteration after the other: solve.c. */

/* How w follows from the training losses of an iteration, if at all. */
typedef enum gbc_weighing { GBC_FIXED, GBC_ROOT, GBC_SOFTMAX } gbc_weighing;

/* Settings of one run. */
typedef struct gbc_settings {
    ferry_boosting_options grow;
    gbc_weighing weights; /* FIXED: as given; else from training loss */
} gbc_settings;

/* A run: the state between two iterations. Owned by whoever made it. */
typedef struct gbc_run {
    gbc_weighing weights;
    gbc_problem g;     /* as it is solved: additive has one source and no consensus */
    ferry_boosting *b; /* scores, trees and training losses */
    double *w;         /* of the views */
    double *wg;        /* q */
    double *graph_loss;
    gbc_targets now;
    uint8_t *any; /* n: additive, whether any view has it */
    gbc_pass *pass;
} gbc_run;

/* The problem's arrays and the views are borrowed. follow (n, NULL: all): instances whose
 * scores are kept up; all that have a gradient must be among them. w (p) may be NULL:
 * equal. */
ferry_status ferry_i_gbc_run_new(ferry_ctx *ctx, const gbc_settings *o,
                                 const gbc_problem *g, ferry_view *const *views,
                                 const uint8_t *follow, const double *w, gbc_run **out);
/* One iteration: E and Et, a tree a view and score, weights. Cost: the edges once or twice,
 * and the trees. */
ferry_status ferry_i_gbc_run_step(ferry_ctx *ctx, gbc_run *r);
void ferry_i_gbc_run_free(gbc_run *r);

/* What graphs do to answers: correct.c. */

/* AUTO is a wish, never the state of a model. */
typedef enum gbc_correct {
    GBC_CORRECT_AUTO,
    GBC_CORRECT_NO,
    GBC_CORRECT_RESIDUAL, /* add the shrunken mean residual of labelled neighbours */
    GBC_CORRECT_SMOOTH    /* mix with the neighbours' mean, labels standing fast */
} gbc_correct;
#define GBC_CORRECTS "auto|no|residual|smooth"

/* All of one correction; everything is borrowed. NO with viewless instances still diffuses
 * to those. */
typedef struct gbc_correction {
    gbc_correct how; /* not auto */
    double strength; /* kappa, or alpha of the smoothing */
    int64_t q;
    ferry_matrix *const *graph;
    const double *wg;
    int64_t n, m;                   /* instances, entries of an answer */
    bool classes;                   /* answers are probabilities */
    const int64_t *at;              /* n: place of the label in truth and residual, or -1 */
    const double *truth, *residual; /* labels; and minus what was answered without them */
    const uint8_t *viewless;        /* n: no view counts */
} gbc_correction;

/* answers (n x m) corrected in place; basis (n, may be NULL) <- FERRY_BASIS_. */
ferry_status ferry_i_gbc_correct(ferry_ctx *ctx, const gbc_correction *c, double *answers,
                                 uint8_t *basis);

/* What cross-validation decides: tune.c. */

/* Which learners are tried. */
typedef enum gbc_learner { GBC_LEARNER_AUTO, GBC_TREE, GBC_LINEAR } gbc_learner;

/* The parts whose answers are mixed. Lines (linear.c): one linear score over all views side
 * by side. */
typedef enum gbc_kind {
    GBC_TREES,
    GBC_LINE,     /* on the features as they are */
    GBC_SMOOTHED, /* on features smoothed over the graphs */
    GBC_SELF,     /* the better of the two, taught also by what it is sure of */
    GBC_LABELS,   /* no features: labels spread over the graphs */
    GBC_NEAR,     /* labels spread over each instance's nearest rows */
    GBC_KINDS
} gbc_kind;

/* One part: answer = power(correct(what the learner says)), times its share. */
typedef struct gbc_part {
    double share;        /* in the mixture; 0: not in it */
    gbc_correct correct; /* not auto */
    double strength;
    double power;      /* of the corrected probabilities, which it spreads; then to sum 1 */
    double C, stretch; /* lines: cost of errors; power of the probabilities as they come */
    bool smoothed;     /* lines: on smoothed features */
    double loss;       /* held out; NaN: not known */
} gbc_part;

/* What is fitted in the end, and the losses that decided it. */
typedef struct gbc_plan {
    gbc_part part[GBC_KINDS];
    gbc_settings o; /* additive: as asked or chosen */
    double lambda0, lambda1;
    int64_t trees, near; /* iterations; GBC_NEAR: neighbours of a row */
    double *w;           /* p */
    double stretch;      /* of the average */
    double *view_loss;   /* p: held-out loss of each view; NaN: not known */
    double constant_loss, average_loss, additive_loss; /* held out; NaN: not known */
    double loss;                                       /* held out, of the mixture */
    double *wg;                                        /* q: by how well neighbours agree */
    /* n x m, of parts that were tried: answers to labelled instances without their labels,
     * as the learner gives them and as they are mixed */
    double *held[GBC_KINDS], *mixed[GBC_KINDS];
} gbc_plan;

/* The user's choice of weights: by held-out skill, by training loss (root, softmax), equal. */
typedef enum gbc_rule {
    GBC_RULE_AUTO,
    GBC_RULE_SKILL,
    GBC_RULE_ROOT,
    GBC_RULE_SOFTMAX,
    GBC_RULE_EQUAL
} gbc_rule;
#define GBC_RULES "auto|skill|root|softmax|equal"

/* Views averaged, or added up to one score: the first is right where each view tells the
 * whole, the second where they complement each other. */
typedef enum gbc_combine { GBC_COMBINE_AUTO, GBC_AVERAGE, GBC_ADDITIVE } gbc_combine;

/* The target's views side by side and scaled, a row for every instance; and smoothed (may
 * be NULL), which was multiplied by factor. Over ranks each has the rows of its own instances. */
typedef struct gbc_side {
    ferry_prepared *prepared;
    ferry_matrix *plain, *smoothed;
    double factor;
} gbc_side;

/* Who is near whom among the instances that have features: near.c. */
typedef struct gbc_nearest {
    int64_t n, *instance; /* those, by their rows here */
    int64_t k, *index;    /* n x (k + 1): the k nearest of each; 0: not looked for */
    double *dist;         /* likewise: how far they are */
    ferry_matrix *x;      /* their rows, of all ranks */
} gbc_nearest;

/* What to decide, and how. */
typedef struct gbc_tuning {
    gbc_learner learner;
    gbc_side *side;    /* NULL: trees only */
    gbc_nearest *near; /* to be filled */
    int64_t folds, trees, patience;
    gbc_rule rule; /* skill or equal */
    gbc_combine combine;
    gbc_correct correct;
    double strength; /* of that; -1: chosen */
    bool lambdas;    /* lambda0 and lambda1 too, from a grid times `unit` */
    double unit;     /* |T| / |U| */
    const ferry_outputs *outputs;
    const gbc_problem *g;
    ferry_view *const *views;
} gbc_tuning;

/* Fill the plan, whose settings and lambdas are set; p->w etc. are new. Costs `folds` fits
 * of the average and as many of the additive score. */
ferry_status ferry_i_gbc_tune(ferry_ctx *ctx, const gbc_tuning *s, gbc_plan *p);
void ferry_i_gbc_plan_clear(gbc_plan *p);

/* What each fold's learner answers for all instances, and what graphs make of it:
 * answers.c. All instances, since neighbours are asked too. */
typedef struct gbc_answers {
    const gbc_tuning *s;
    const int32_t *fold;
    int64_t n, m;
    double **p;        /* folds: n x m */
    uint8_t *viewless; /* n */
    double *truth;     /* n x m, of labelled instances ... */
    double *residual;  /* ... minus the answer that has not seen it */
} gbc_answers;
/* Truth and viewless are set, the answers are to be filled in. Cleared by the caller. */
ferry_status ferry_i_gbc_answers_new(ferry_ctx *ctx, const gbc_tuning *s,
                                     const int32_t *fold, gbc_answers *a);
void ferry_i_gbc_answers_clear(gbc_answers *a);
/* held (n x m) <- the answers to labelled instances without their labels. */
void ferry_i_gbc_held(const gbc_answers *a, double *held);
ferry_status ferry_i_gbc_weigh_graphs(ferry_ctx *ctx, const gbc_answers *a, double *wg);
/* The power of the held-out answers (n x m) with the least loss; that loss. */
double ferry_i_gbc_best_power(const gbc_answers *a, const double *held, double *power);
/* By how much the likelihood of the labels is greater, in units of log; losses are means. */
double ferry_i_gbc_gain(const gbc_answers *a, double before, double after);
/* Part `kind` of the plan becomes `part`, with its best correction and power. */
ferry_status ferry_i_gbc_consider(ferry_ctx *ctx, gbc_answers *a, gbc_kind kind,
                                  gbc_part part, gbc_plan *p);
/* The labels of the other folds alone, spread from their mean over the graphs of s, as part
 * `kind` of the plan. */
ferry_status ferry_i_gbc_try_labels(ferry_ctx *ctx, const gbc_tuning *s,
                                    const int32_t *fold, gbc_kind kind, gbc_plan *p);
/* The shares of the parts that were considered. */
ferry_status ferry_i_gbc_mix(ferry_ctx *ctx, const gbc_answers *a, gbc_plan *p);

/* Lines: linear.c. */

ferry_status ferry_i_gbc_side_new(ferry_ctx *ctx, const ferry_task *task, gbc_side *s);
void ferry_i_gbc_side_clear(gbc_side *s);
/* x (a row an instance) smoothed two steps over the graphs; *factor 0: chosen. */
ferry_status ferry_i_gbc_smooth(ferry_ctx *ctx, int64_t q, ferry_matrix *const *graph,
                                const double *wg, const ferry_matrix *x, double *factor,
                                ferry_matrix **out);
/* A line on x (a row an instance). Taught by all labels but those of fold out_of (fold
 * NULL: by all); GBC_SELF: then five times by the tenth of the other instances that it is
 * surest of, in the classes' proportions, and itself again. Numbers know no such thing. */
typedef struct gbc_line {
    const ferry_outputs *o;
    const gbc_problem *g;
    const int32_t *fold;
    int64_t out_of;
    const ferry_matrix *x;
    double C;
    bool self;
} gbc_line;
ferry_status ferry_i_gbc_line_fit(ferry_ctx *ctx, const gbc_line *l, ferry_linear **out);
/* answers (rows of x, of all ranks, by classes). */
ferry_status ferry_i_gbc_line_answers(ferry_ctx *ctx, const ferry_linear *m, double stretch,
                                      const ferry_matrix *x, double *answers);
/* Probabilities (n x m) to a power, each row to sum 1. */
void ferry_i_gbc_power(int64_t n, int64_t m, double power, double *answers);
/* Offer them to the plan. */
ferry_status ferry_i_gbc_try_lines(ferry_ctx *ctx, const gbc_tuning *s, const int32_t *fold,
                                   gbc_plan *p);

/* Nearest rows: near.c. */

/* What is kept of them: the rows of the fit and what they were answered. A new row gets the
 * mean of its k nearest ones, weighted as edges are. */
typedef struct gbc_near {
    int64_t k;       /* 0: there is no such part */
    ferry_matrix *x; /* rows with features, side by side and scaled */
    ferry_ids *ids;  /* of their instances */
    double *answers; /* rows x m: labels, or what has reached them */
    double *scale;   /* rows: how far the k-th nearest is */
    double *prior;   /* m */
} gbc_near;
void ferry_i_gbc_nearest_clear(gbc_nearest *n);
void ferry_i_gbc_near_clear(gbc_near *n);
/* Offer them to the plan; not with too many rows. */
ferry_status ferry_i_gbc_try_near(ferry_ctx *ctx, const gbc_tuning *s, const int32_t *fold,
                                  gbc_plan *p);
ferry_status ferry_i_gbc_near_fit(ferry_ctx *ctx, const gbc_tuning *s,
                                  const ferry_domain *t, const gbc_plan *p, gbc_near *out);
/* answers (instances of d by m) from their rows x (over ranks: this one's); viewless ones get the
 * prior. */
ferry_status ferry_i_gbc_near_answers(ferry_ctx *ctx, const gbc_near *near, int64_t m,
                                      const ferry_domain *d, const ferry_matrix *x,
                                      const uint8_t *viewless, double *answers);
void ferry_i_gbc_near_file(ferry_io *io, int64_t m, int64_t width, gbc_near *near);

/* The model: model.c. */

/* What is saved. Owns all its parts. */
typedef struct gbc_model {
    gbc_part part[GBC_KINDS];      /* C and loss are not saved */
    boosted trees;                 /* forest NULL: there are none */
    ferry_prepared *side;          /* lines: views side by side; NULL: there are none */
    double factor;                 /* of features that are smoothed */
    ferry_linear *line[GBC_KINDS]; /* of the parts that are lines */
    gbc_near near;
    known_labels k;              /* graphs and labels */
    double *wg;                  /* of the graphs */
    double *residual[GBC_KINDS]; /* known x m, where correct says so: truth minus what was
                                      answered without it */
} gbc_model;

/* The functions of the descriptor. predict needs the graphs of the new data, as far as it
 * has them under the names of the model's; load checks what it reads, for a file is a
 * stranger's. */
void ferry_i_gbc_model_free(void *model);
ferry_status ferry_i_gbc_predict(ferry_ctx *ctx, const void *state, const ferry_domain *d,
                                 ferry_prediction *p);
void ferry_i_gbc_file(ferry_io *io, void *state);

/* What the user is told of it: explain.c. `tuned`: the plan's losses are known. */
ferry_status ferry_i_gbc_explain(ferry_ctx *ctx, const ferry_domain *t, const gbc_model *m,
                                 const gbc_plan *p, bool tuned);

#endif
