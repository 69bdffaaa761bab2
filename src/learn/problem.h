/* The task as numbers, as a method sees it: domains with matrices, labels and keys. The framework makes it
 * (src/prepare) by what the method wants; parts that it does not want are zero. */
#ifndef FERRY_PROBLEM_H
#define FERRY_PROBLEM_H

#include "ferry/task.h"
#include "linalg/ops.h"

typedef struct labels { /* by goal; rows of the domain's layout */
    ferry_goal goal;
    int64_t k;          /* classes or labels; 1: a number */
    const int32_t *cls; /* -1: hidden */
    const uint8_t *on;  /* n x k of 0, 1; 255: hidden */
    const double *num;  /* NaN: hidden */
    block soft;         /* n x k: how much a row speaks for each class; at NULL: not soft */
} labels;

typedef struct view {
    const char *name;
    matrix x;             /* rows as the domain; absent ones are 0 (wants.missing: NaN) */
    const uint8_t *there; /* of each row; NULL: all are */
    const double *
        shift; /* still to be taken off the columns of rows that are there; NULL: nothing */
    bool words;   /* 0 or more, mostly 0 */
    bool centred; /* at fit: columns have mean 0 (less shift), rows mean squared length 1 */
} view;

typedef struct graph {
    const char *name;
    matrix
        a; /* CSR, rows as the domain, a column for each of its rows of all processes; symmetric, 0 or more; m NULL: new data lacks it */
} graph;

typedef struct ratings {
    int64_t users,
        items;    /* in an order by what their ratings are: no file, name or unit decides */
    matrix x, xt; /* CSR, an entry may be 0; spread each by its own layout */
    double lo, hi;                      /* range */
    const ferry_ids *user_id, *item_id; /* the framework's */
    int64_t n;                          /* pairs that are asked for: new data alone */
    const int64_t *user, *item;         /* n: numbers as at fit, -1: never seen */
} ratings;

typedef struct domain {
    const char *name;
    layout rows;
    int64_t n; /* rows here: instances with a feature (wants.every: all) */
    matrix x;  /* joined views in the columns of the problem */
    int n_views, n_graphs;
    const view *
        view; /* VIEWS_APART: its own, each in its own columns; new data: those of the model */
    const graph *graph; /* wants.graphs: the target's; new data: those of the model */
    const ratings *r;
    labels
        y; /* of new data: all hidden, but for those that a model of graphs knows by id */
    const int32_t *known; /* y.cls */
    int64_t labelled;     /* rows with a label, of all processes */
    const double *weight; /* of each row, 0 or more; NULL: 1 */
    const uint64_t
        *key;   /* of each row, a hash of its id: orders and folds that no file decides */
    bool named; /* it is of an id; else of its rank by what rows hold */
    const int64_t *instance; /* of each row: its place in the domain */
    const ferry_ids *ids;    /* of all instances of the domain */
    const uint8_t *
        there; /* wants.every, .graphs: of each row, whether it has features; NULL: all have */
    const int64_t
        *at; /* wants.graphs: number of each row among the labelled ones at fit, -1: none */
    /* wants.raw: of the columns of x, whose values x_ij factor_j - shift_j are meant; NULL: x itself */
    const double *factor, *shift;
    const double *prior; /* shares of the classes among the labels at fit, or their mean */
    bool words;          /* all its views are */
} domain;

typedef struct problem {
    ferry_goal goal;
    int64_t classes, cols;
    int n_sources, n; /* domains: sources, intermediate ones in order, the target */
    const domain *d;
    const ferry_ids *names; /* of classes or labels */
    bool unit;              /* rows may be brought to length 1 */
    bool unscaled;          /* the user left features as they are (scale: none) */
    /* wants CHAIN */
    int64_t width;                /* columns of new data */
    const int64_t *target_column; /* width: their numbers among cols */
    const uint64_t *column_key;   /* cols: a hash of each one's name, or of its rank */
    const uint8_t *const
        *has;             /* of each domain: whether it has a view with that column; cols */
    const uint8_t *words; /* cols: whether the column's view is */
    bool dense;           /* wants STREAM: rows come without indices */
    int64_t leaks;        /* rows of bridges that were left out: the target's own */
    /* wants.pairs: whether the task has any; by row, those that are the same thing in the only source and the target */
    bool paired;
    int64_t n_pairs;
    const int64_t *in_source, *in_target;
    const void *
        prepared; /* for column_name(), and how a model reads new data; NULL: no features */
    const void *task; /* wants RATINGS: for source_ratings() */
} problem;
static inline const domain *target(const problem *p)
{
    return &p->d[p->n - 1];
}

#endif
