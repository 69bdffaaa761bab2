/* Which candidates to deploy, by visible labels alone, and what to expect of them.
 *
 * Two policies: T averages candidates that see no source, W all of them. A candidate weighs as much as it is likely to
 * be the best, by its errors on visible labels that its fit did not see (folds), and by what its family did on other
 * tasks. W is T unless candidates with a source have enough of the weight and make fewer of these errors. The numbers
 * that are promised come from weights that are made without the label that is scored. */
#ifndef FERRY_POLICY_H
#define FERRY_POLICY_H

#include "core/scope.h"
#include "model/method.h"

/* What a fit on a part of the visible labels predicts for the others. */
typedef struct held_out {
    int64_t candidates, n, k; /* k: classes; numbers: how many a label has */
    bool classes, sets; /* neither: numbers; sets of labels are numbers 0 and 1 */
    bool flat;          /* more labels are not expected to help: how much they do was not learned for this goal */
    const ferry_family *family;
    const double *error; /* candidates x n: 0 or 1; numbers: squared, over their variance */
    const double *p;     /* candidates x n x k: probabilities; numbers: the number */
    const int32_t *cls;  /* n: the labels, or */
    const double *y;     /* ... numbers, n x k; a label set is k of them, 0 or 1 */
    double variance;     /* of the visible numbers */
    double share;        /* of the visible labels that such a fit sees */
} held_out;

/* Why W is T. */
typedef enum policy_reason {
    POLICY_USES_SOURCE, /* it is not */
    POLICY_NO_SOURCE,   /* no candidate sees one */
    POLICY_SHARE,       /* such candidates have too little of the weight, */
    POLICY_NO_LEAD      /* ... or make no fewer errors */
} policy_reason;

/* All arrays: candidates. */
typedef struct policies {
    double *w, *t;  /* weights, which add up to 1; t is 0 where a source is seen */
    double omega;   /* the weight of those with a source, had it been enough or not */
    double *mu;     /* posterior means of the errors; NaN: none */
    double *growth; /* exponents of the learning curves */
    policy_reason why;
} policies;
/* The weights; label `without` (-1: none) has no say. */
policies policy_weights(scope *s, const held_out *e, int64_t without);

/* Weights of those that may be taken (may: NULL: all) by what is known of their families alone. */
void policy_prior(scope *s, int64_t n, const ferry_family *family, const bool *may,
                  bool classes, double *w);
bool policy_sees_source(ferry_family f);

/* An expectation with its interval. */
typedef struct expected {
    double at, low, high;
} expected;
typedef struct promise {
    expected w, t;         /* errors of the policies on new data like this */
    expected difference;   /* w less t: what the source is worth, turned round */
    double *w_row, *t_row; /* n: errors, each by weights without that label */
} promise;
/* level: of the intervals, such as .95. */
promise policy_promise(scope *s, const held_out *e, const policies *p, double level);

/* Whether the classes of the source are called otherwise. */
typedef struct names_found {
    int64_t given, exchanged; /* right with the given names, and with exchanged ones */
    double p;                 /* that this is chance */
    int32_t *exchange;        /* k: the class that each one is called in the target */
} names_found;
/* fold: of each label; false: no candidate goes by names of the source. */
bool policy_names(scope *s, const held_out *e, const int32_t *fold, names_found *out);

/* Folds of visible labels that hide as many of every class, at most `most`; a class with one label is never hidden
 * (fold -1). Numbers are dealt in their order, so that every fold spans their range. Within a class, or among neighbours,
 * they go by key. How many folds; 0: nothing can be hidden. */
int64_t balanced_folds(scope *s, int64_t n, const int32_t *cls, const uint64_t *key,
                       int64_t most, int32_t *fold);
int64_t ordered_folds(scope *s, int64_t n, const double *y, const uint64_t *key,
                      int64_t most, int32_t *fold);

#endif
