/* Collective classification: a local model that sees an instance's features and the classes among its neighbours. */
#ifndef FERRY_COLLECTIVE_H
#define FERRY_COLLECTIVE_H

#include "learn/learner.h"

/* Into to (graphs k): the share of each class among one instance's neighbours in each graph, by the classes as they
 * stand (-1: none). */
void neighbour_share(const domain *d, int64_t i, int64_t k, const int32_t *cls, double *to);
/* [features, shares]. */
matrix with_neighbours(scope *s, const domain *d, int64_t k, const int32_t *cls);
/* Logistic regression on the labelled rows of x; C and eps are its options. */
learned local_model(scope *s, scope *keep, const domain *d, matrix x, double C, double eps);
/* The best classes of the instances that have features and no known class; how many changed. */
int64_t assign_classes(scope *s, const domain *d, block scores, int32_t *cls);
/* Instances without features: the prior. */
void prior_where_nothing(const domain *d, block out);

#endif
