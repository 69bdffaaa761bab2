/* GBC's formulas, each a function of plain arrays. Letters as in the thesis:
 *
 *   n instances, p vector sources (views), q graphs, k scores an instance (classes one
 *   against the rest; 1 for two classes and for numbers)
 *   f_i(x)   n x k   scores of source i
 *   w, wg            weights of the sources and of the graphs, each adding up to one
 *   E(x)             consensus of the sources                                       (3.2)
 *   Et_i(x)          mean of the neighbours' scores in source i                     (3.3)
 *   z, c             -dL_i/df and d2L_i/df2 with E and Et_i held fixed
 */
#ifndef FERRY_GBC_FORMULAS_H
#define FERRY_GBC_FORMULAS_H

#include "linalg/linalg.h"

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

double ferry_i_gbc_sigmoid(double f);
/* L(f, y) of one score. */
double ferry_i_gbc_loss(bool logistic, double f, double y);
/* e <- E; sources[x] <- how many have x. */
void ferry_i_gbc_consensus(const gbc_problem *g, double *const *f, const double *w,
                           double *e, int32_t *sources);
/* z and c of score j of instance x when it is f. */
void ferry_i_gbc_gradient_at(const gbc_problem *g, int64_t x, int64_t j, double f,
                             const double *e, const int32_t *sources, const double *et,
                             const uint8_t *has, double *z, double *c);
/* The step along direction d (n x k) with E and Et fixed: closed for squared loss, in
 * [0, 50] for the logistic. */
double ferry_i_gbc_line(const gbc_problem *g, int64_t i, const double *f, const double *e,
                        const int32_t *sources, const double *et, const uint8_t *has,
                        const double *d);
/* Mean loss over the labelled instances that source i has; NaN without. */
double ferry_i_gbc_source_loss(const gbc_problem *g, int64_t i, const double *f);
/* score <- sum_i w_i f_i / sum_i w_i over the sources that have x; known[x]: whether any of
 * positive weight has it, else f0 (k). */
void ferry_i_gbc_average(const gbc_problem *g, double *const *f, const double *w,
                         const double *f0, double *score, uint8_t *known);

/* Weights from losses; a NaN counts as the mean of the others. root: exp(-l/z) with the z
 * that makes them add up to one (3.10); softmax: exp(-8 (l - min)/mean); skill: max(0, 1 -
 * l / l0), equal when none is better than l0. */
void ferry_i_gbc_root(int64_t n, const double *loss, double *w);
void ferry_i_gbc_softmax(int64_t n, const double *loss, double *w);
void ferry_i_gbc_skill(int64_t n, const double *loss, double l0, double *w);

#endif
