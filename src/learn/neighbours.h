/* A graph made of features: who is near whom (neighbours.c). */
#ifndef FERRY_NEIGHBOURS_H
#define FERRY_NEIGHBOURS_H

#include "linalg/ops.h"

/* The k nearest of each row of x without itself, ascending: index and dist, x.n x k; k < x.n. */
void find_near(scope *s, matrix x, int64_t k, int64_t *index, double *dist);

typedef struct near_edges { /* each pair once */
    int64_t n, *from, *to;
    double *weight; /* in (0, 1] */
} near_edges;
/* Edges between every row of n and the first `use` of its k nearest. */
near_edges join_near(scope *s, int64_t n, int64_t k, int64_t use, const int64_t *index,
                     const double *dist);
/* Of an edge of length d between rows whose last nearest are own and `other` away. */
double near_weight(double d, double own, double other);

#endif
