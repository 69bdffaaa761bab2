/* Boosted trees of several views, averaged or added up, by cross-validation (boost_views.c). */
#ifndef FERRY_BOOST_VIEWS_H
#define FERRY_BOOST_VIEWS_H

#include "learn/boost.h"

typedef struct view_folds {
    boost_options o; /* with all labels; scores of labelled rows are followed */
    int folds;
    const int32_t *fold; /* of each row; -1: no label */
    double labelled;     /* rows of all processes */
    int64_t trees, patience;
} view_folds;

/* One way to combine views, on all folds; and what it reached the least held-out loss with. */
typedef struct view_trees {
    bool additive;
    boost **run;           /* each has not seen the labels of its fold */
    double *w, *view_loss; /* average: skill of each view on held-out labels */
    double loss, constant, stretch;
    int64_t trees;
} view_trees;
/* Runs on all folds step together until more trees do not help. */
view_trees boost_folds(scope *s, const view_folds *j, bool additive);

/* The `most` features (of all views side by side) with the largest share of the gain of all splits; how many. */
int top_features(scope *s, const forest *f, int most, int64_t *feature, double *share);

#endif
