/* Labels over each row's nearest rows (near_labels.c). */
#ifndef FERRY_NEAR_LABELS_H
#define FERRY_NEAR_LABELS_H

#include "learn/neighbours.h"
#include "learn/problem.h"
#include "state/table.h"

typedef struct near_model { /* rows of the fit */
    int64_t k, n, cols;
    matrix x;
    block answers; /* n x classes */
    double *scale; /* n: the distance to the k-th nearest */
} near_model;
extern const table near_table;

/* The graph of the `use` nearest of n rows, which are row[i] of all; its rows `rows`, of which `here` are here. */
graph near_graph(scope *s, int64_t n, const int64_t *row, layout rows, int64_t here,
                 int64_t k, int64_t use, const int64_t *index, const double *dist);
/* answers <- of rows with features (there; NULL: all), by their nearest rows of the fit; the others are left. */
void near_answers(scope *s, const near_model *near, const uint8_t *there, matrix x,
                  block answers);

#endif
