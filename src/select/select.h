/* Choosing the bridge (Tan et al., Transitive Transfer Learning, KDD 2015, Section 3).
 *
 * Of a triple (S, I, T) six things are measured: the complexity of each domain and the A-distance of each pair. A
 * logistic model of them says how likely I is to help:
 *
 *   f = 1 / (1 + exp(-b_0 - sum_i b_i c_i))                                        (3)
 *
 * with b by maximum likelihood (4) from triples whose label is whether propagating the labels of S gets more of T
 * right when I is there, too: acc_sit > t acc_st. */
#ifndef FERRY_SELECT_INTERNAL_H
#define FERRY_SELECT_INTERNAL_H

#include "ferry/select.h"
#include "linalg/ops.h"
#include "task/task.h"

enum { SELECT_FEATURES = 6, SELECT_LONGEST = 3 };

/* Weights of the neighbour graph: exp(-distance / mean distance), or 1 for every edge. */
typedef enum select_graph { SELECT_RBF, SELECT_KNN } select_graph;

/* As the table in select.c has them. Saved with a selector, since domains must be measured for ranking as they were
 * for training. */
typedef struct select_options {
    int64_t sample, neighbours;
    double t, tail, C;
    int propagation;
    const char *view;
} select_options;

/* ---- the domains: domains.c ---- */

/* Instances of one domain, drawn: x in the columns that all domains share, scaled. */
typedef struct select_domain {
    const char *name; /* the task's */
    ferry_role role;
    double complexity;
    matrix x[2];     /* two samples without common instances, of equal size */
    int32_t *cls[2]; /* their classes, -1 unknown */
    bool labelled;
} select_domain;

typedef struct select_set {
    int64_t n, classes;
    select_domain *d;
    double *distance; /* n x n A-distances */
} select_set;

/* All domains of the task, or all but the target. */
select_set measured_domains(scope *s, const ferry_task *task, const select_options *o,
                            bool target);
/* The share of features that occur in less than `tail` of the instances, among those that occur; of features that may
 * be below 0, how far from even their values lie (1 minus the entropy of ten bins by its largest value, the mean over
 * features). */
double complexity(scope *s, matrix x, double tail);
/* 2 (1 - 2 error), at least 0: error of a logistic regression that tells rows of a from rows of b, on the half that it
 * was not trained on, both ways. Equally many of both. */
double a_distance(scope *s, matrix a, matrix b, double C);
/* The m matrices x, exchanged for ones that are scaled as the n matrices `from` (of the same columns) ask for
 * together, by the rule of every method (learn/scale.h). */
void scale_together(scope *s, int64_t n, const matrix *from, int64_t m, matrix *x);
/* c[0 .. 6) <- complexity of S, I, T; A-distance S-I, S-T, I-T. The arguments are numbers in the set. */
void triple_features(const select_set *s, int64_t source, int64_t bridge, int64_t target,
                     double *c);

/* ---- measures of a task: measures.c ---- */

/* Two domains; NaN where it cannot be measured. */
typedef struct select_measure {
    double complexity; /* of the first */
    double a_distance;
    int64_t shared_features;
    double feature_overlap, id_overlap, label_overlap; /* shared by all that both have */
} select_measure;
ferry_status ferry_i_measure(ferry_ctx *ctx, const ferry_domain *d, const ferry_domain *to,
                             select_measure *out);
struct json_t;
/* {from, to, complexity, ...}, null for NaN; NULL: no memory. */
struct json_t *ferry_i_measure_json(const char *from, const char *to,
                                    const select_measure *m);
/* That of every domain but the target, as a list. */
ferry_status ferry_i_measures(ferry_ctx *ctx, const ferry_task *task, struct json_t **out);

/* ---- triples: triples.c ---- */

typedef struct select_triple {
    int64_t s, i, t;
    double st, sit; /* accuracies of the target */
} select_triple;
/* Every triple of different domains with labels in s and t, on sample 0 or 1. */
select_triple *labelled_triples(scope *s, const select_set *set, int64_t sample,
                                const select_options *o, int64_t *n);

/* ---- the model: logistic.c ---- */

/* Equation (3) on standardised features (c - mean) / sd; sd is above 0. */
typedef struct select_model {
    double beta[SELECT_FEATURES + 1]; /* [0]: the constant */
    double mean[SELECT_FEATURES], sd[SELECT_FEATURES];
} select_model;
/* n rows of features c, labels y. */
select_model select_fit(scope *s, int64_t n, const double *c, const uint8_t *y);
double select_f(const select_model *m, const double *c);

/* How far the ranking can be trusted. NaN: could not be measured. */
typedef struct select_trust {
    double domains, triples, positive;
    double direct;        /* mean acc_st */
    double gain, gain_sd; /* of acc_sit / acc_st */
    double accuracy,
        accuracy_sd;     /* balanced, 10-fold, over ten draws of the larger class */
    double auc;          /* for targets that training did not see */
    double again;        /* positive triples in the second sample */
    double both, chance; /* in both; expected in both by chance */
    double correlation;  /* of acc_sit / acc_st in the two samples */
} select_trust;
/* Fill in accuracy, accuracy_sd and auc of *trust. target[i] is the number of triple i's target: triples of one target
 * are not independent, so one test leaves whole targets out. */
void select_check(scope *s, int64_t n, const double *c, const uint8_t *y,
                  const int64_t *target, select_trust *trust);

/* ---- by trial: repeat.c (numbers), trial.c (fits), lines.c ---- */

/* Labellings of the target's n rows with classes 0 .. c - 1 that one way gave: propagated through either half of the
 * features, refined from there; then of each split the refined ones of both halves of the instances, and the
 * propagated ones. y NULL: not reached. */
typedef struct select_labels {
    int64_t n, c, splits;
    const int32_t *y; /* (4 + 4 splits) x n */
} select_labels;
/* q: the mean of four kappas, or means of kappas over splits; sd: of the splits' part. */
typedef struct select_repeat {
    double q, sd;
} select_repeat;
select_repeat repeat_of(scope *s, const select_labels *l);
/* ways x SELECT_BOOTSTRAPS: q of n drawn rows, the same ones for every way. */
enum { SELECT_BOOTSTRAPS = 200 };
double *repeat_bootstrap(scope *s, int64_t n, int64_t n_ways, const select_labels *l);
/* The standard error of q_i - q_j. */
double repeat_error(const double *q, int64_t i, int64_t j, double sd_i, double sd_j);
/* What ways are ranked by when m of the target's labels are known, of which a label-free fit hits some. */
double repeat_score(double q, int64_t m, int64_t hits);
/* Whether so few of m labels of c classes are hit that they speak against a way; fewer than SELECT_FEW labels speak
 * against none. */
enum { SELECT_FEW = 5 };
bool labels_deny(int64_t c, int64_t m, int64_t hits);
/* Whether chance, which hits each label with probability `share`, hits as many of m in the best of n ways in less than
 * one case of twenty. */
bool labels_confirm(int64_t n, int64_t m, int64_t hits, double share);
/* The lines of a task file's text that describe the domain `name`; "" when they cannot be told from others'. */
const char *domain_lines(scope *s, const char *text, const char *name);

/* ---- what is made ---- */

typedef struct ferry_selector {
    scope *keep; /* of all of it */
    select_options o;
    select_model m;
    select_trust trust;
} ferry_selector;
/* Ways by fitting each of them (trial.c). */
ferry_status ferry_i_select_trial(ferry_ctx *ctx, const ferry_task *task,
                                  const ferry_opts *opts, ferry_selection **out);
/* Likewise of a split, whose labels are what it shows; origin has the methods. */
ferry_status ferry_i_select_shown(ferry_ctx *ctx, const ferry_task *origin,
                                  const ferry_task *split, ferry_selection **out);
/* The paper's model: learned from the task's domains but the target, kept in a file, and what it says of the ways of up
 * to `longest` intermediate domains. */
ferry_status ferry_i_selector_train(ferry_ctx *ctx, const ferry_task *task,
                                    const ferry_opts *opts, ferry_selector **out);
ferry_status ferry_i_selector_save(ferry_ctx *ctx, const ferry_selector *selector,
                                   const char *path);
ferry_status ferry_i_selector_load(ferry_ctx *ctx, const char *path, ferry_selector **out);
void ferry_i_selector_free(ferry_selector *selector);
ferry_status ferry_i_select(ferry_ctx *ctx, const ferry_selector *selector,
                            const ferry_task *task, int64_t longest, ferry_selection **out);

extern const ferry_opt_table ferry_i_select_options;
extern const ferry_opt_table ferry_i_trial_options;

/* A ranking with all that is needed to show it: the selector may be gone by then. */
struct ferry_selection {
    scope *keep; /* of all of it */
    const char *task, *target;
    int64_t n, cap;
    ferry_way *way;
    select_trust trust;
    select_model m;
    double t;
    int64_t candidates;
    /* by trial */
    bool trial, told; /* told: there is a way to recommend */
    bool confirmed;   /* by the labels; q alone could not tell */
    int64_t rows, labels, classes;
    double floor, best; /* best: of the q of ways that no labels deny */
    int64_t against; /* number of a way that repeats, too, and gives opposite classes; -1 */
    double opposite; /* its kappa with the first */
    const char *lines; /* of the recommended bridges, from the task's file; "": none */
};
/* As a table and as JSON (trial_table.c). */
void ferry_i_select_trial_table(const ferry_selection *s, ferry_text *o);
struct json_t *ferry_i_select_trial_json(const ferry_selection *s);

/* A public call that makes one or the other: body makes it in keep, which goes when body fails. */
typedef struct select_making {
    const ferry_task *task;
    const ferry_task *origin; /* task is a split of it; NULL: it is a task as it was read */
    const ferry_opts *opts;
    const ferry_selector *by;
    int64_t longest;
    const char *path;
    scope *keep;
    ferry_selector *selector;
    ferry_selection *selection;
} select_making;
ferry_status select_make(ferry_ctx *ctx, void (*body)(scope *s, void *arg),
                         select_making *a);
/* A resolved copy of a task whose goal is to classify; s frees it. */
const ferry_task *select_task(scope *s, const ferry_task *task);
/* A task that s frees. */
ferry_task *own_task(scope *s, ferry_task *task);
/* The selection, with the task's and the target's names; FERRY_ENEEDS where there is nothing to choose. */
ferry_selection *new_selection(scope *keep, const ferry_task *task);

#endif
