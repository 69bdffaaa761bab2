/* Gradient boosting of trees over one or several views (Friedman, Greedy Function Approximation: A Gradient Boosting
 * Machine, Annals of Statistics 2001), for an objective that may have more terms than the labels.
 *
 *   min over f_i    sum over labelled x that i has  v_x L(f_i(x), y_x)  +  further terms
 *
 * L is (f - y)^2, or -y log s(f) - (1 - y) log(1 - s(f)) with y in [0, 1] and s the logistic function; v are the weights
 * of rows. In every iteration each view gets a tree for every score on z = -dL/df and c = d2L/df2 at the scores so far:
 *   Newton leaves   f_i += nu sum z / (sum c + reg) of the leaf
 *   line search     a plain tree (leaves are means of z), f_i += nu rho tree
 * Views step together: their order does not matter. */
#ifndef FERRY_BOOST_H
#define FERRY_BOOST_H

#include "learn/tree.h"

typedef struct boost_options {
    /* the rows, and what they should say */
    layout rows;
    int64_t n, k;
    bool logistic;           /* else squared loss */
    block y;                 /* n x k, of labelled rows */
    const uint8_t *labelled; /* n; NULL: all */
    const double *weight;    /* n; NULL: 1 */
    const uint64_t *key;     /* n; NULL: rows by number */
    int64_t views;
    const view *view;
    const uint8_t *
        follow; /* n; NULL: all. Rows whose scores are kept up; all with a gradient must be among them */
    /* Further terms of rows without a label; NULL: none. `counts` tells whether row x has one in i, which may not
     * change, `term` sets its z and c (0 where it has none) at f. */
    bool (*counts)(const void *arg, int64_t i, int64_t x);
    void (*term)(const void *arg, int64_t i, int64_t x, int64_t j, double f, double *z,
                 double *c);
    void *arg;
    /* Before the trees of view i, where views are to see each other within an iteration; NULL: they do not. */
    void (*before)(scope *s, void *arg, const block *f, int64_t i);
    /* how an iteration is made */
    bool additive; /* one score of all views */
    bool every;    /* followed rows without a term count for thresholds too */
    bool line;     /* plain trees and a line search, else Newton leaves */
    double rate;   /* nu */
    tree_options tree;
} boost_options;

/* The state between iterations; reading it is free. */
typedef struct boost {
    boost_options o;
    int64_t owners; /* of scores: views, or 1 when additive */
    block *f;       /* owners, n x k each: the scores so far */
    double *loss;   /* owners: mean training loss over all rows; NaN: no labels */
    forest trees;
    struct boost_view *of; /* views; NULL before the first step */
    double *direction;     /* n x k, of the line search */
} boost;

/* Before the first tree: all scores are f0, the mean of y, or log((n+ + 1/2)/(n- + 1/2)). */
boost *boost_new(scope *s, const boost_options *o);
/* One more iteration. */
void boost_step(scope *s, boost *b);

/* L(f, y) of one score; s(f) = 1 / (1 + exp(-f)), without overflow. */
double boost_loss(bool logistic, double f, double y);
double sigmoid(double f);

/* ---- options of methods that boost, and labels as scores ---- */

typedef struct boost_settings {
    int64_t trees, depth;
    double rate;
    int64_t min_leaf;
    double reg;
    int64_t bins;
} boost_settings;
/* Options of a struct T with a member `at` of that type. */
#define BOOST_OPTS(T, at)                                                                  \
    FERRY_OPT_AS(T, "trees", INT, at.trees, 100, 1, 1e6, "iterations, at most"),           \
        FERRY_OPT_AS(T, "depth", INT, at.depth, 3, 1, 30, "splits from root to leaf"),     \
        FERRY_OPT_AS(T, "rate", REAL, at.rate, 0.1, 1e-6, 1,                               \
                     "nu: how much of each step is taken"),                                \
        FERRY_OPT_AS(T, "min_leaf", INT, at.min_leaf, 3, 1, 1e9,                           \
                     "instances in a leaf, at least"),                                     \
        FERRY_OPT_AS(T, "reg", REAL, at.reg, -1, -1, 1e9,                                  \
                     "added to a leaf's curvature; -1: 0.25 for classes, 1 for numbers"),  \
        FERRY_OPT_AS(T, "bins", INT, at.bins, 0, 0, 65536,                                 \
                     "thresholds per feature, by histograms: for large data; 0: all")
/* rate and tree of a boosting run. */
void boost_set(const boost_settings *o, bool logistic, boost_options *to);

/* Two classes are one score, the second against the first; more one each, against the rest; a number (y - mean) / sd.
 * An answer is what is said of a row: `classes` probabilities, or one scaled number. */
typedef struct outcome {
    bool numbers;
    int64_t classes, k; /* entries of an answer, scores */
    double mean, sd;
} outcome;
extern const table outcome_table;

/* Of rows of labels; y (n x k) is new, 0 where there is no label, and so are *labelled (n) and, where labels are soft,
 * *weight (n), which is NULL or those of the rows before. */
outcome outcome_of(scope *s, layout rows, int64_t n, const labels *l, const double **weight,
                   block *y, const uint8_t **labelled);
int64_t outcome_scores(bool numbers, int64_t classes);
/* answer (classes) <- of the k scores f; of a label y, what should have been answered. */
void outcome_answer(const outcome *o, const double *f, double *answer);
void outcome_truth(const outcome *o, const double *y, double *answer);
/* Answers (n x classes), in place: numbers back to their scale. */
void outcome_rescale(const outcome *o, block answers);

/* What the views say together: f0 + stretch (sum_i w_i f_i / sum_i w_i - f0) over those that have the row, as answers
 * (n x classes, numbers still scaled). The mean of several views is drawn to the base score, and stretch undoes that;
 * one view alone, or the one score of additive trees, needs neither. w NULL: 1 each. viewless (n, may be NULL): no view
 * that counts has the row. */
void boost_answers(scope *s, const forest *f, const outcome *o, const double *w,
                   double stretch, const view *v, block answers, uint8_t *viewless);

#endif
