/* Answers that were held out: what graphs make of them, their powers, and mixtures of several (stacking.c). */
#ifndef FERRY_STACKING_H
#define FERRY_STACKING_H

#include "learn/graphs.h"

enum { MOST_PARTS = 16 };

/* What is known of labelled rows. */
typedef struct held_out {
    bool numbers;            /* else probabilities */
    block truth;             /* n x m, of labelled rows */
    const uint8_t *labelled; /* n */
    double n_labelled;       /* of all processes */
    int q;
    const graph *g;
    int folds;
    const int32_t *fold; /* n; -1: no label */
} held_out;
#define LEAST 1e-6 /* probability: one sure error must not decide */

/* Probabilities to a power, each row to sum 1. */
void raise_to(double power, block answers);
/* held <- the answers p of the folds to labelled rows without their labels. */
void take_held(const held_out *j, const block *p, block held);
/* The power of the held-out answers with the least loss, -log p or squares; that loss. */
double best_power(scope *s, const held_out *j, block held, double *power);
/* By how much the likelihood of the labels is greater, in units of log. */
double likelihood_gain(const held_out *j, double before, double after);

enum { CORRECT_AUTO, CORRECT_NO, RESIDUAL, SMOOTH };
/* One correction; everything is borrowed. NO still propagates to instances without features. */
typedef struct correction {
    int64_t how;
    double strength;
    int q;
    const graph *g;
    const double *wg;
    bool classes;
    const uint8_t *known;    /* n: its label may be used */
    block truth, residual;   /* n x m, of these */
    const uint8_t *viewless; /* n: no view counts */
    bool unitless;           /* weights of edges are in the unit of their mean */
} correction;
/* answers (n x m) corrected in place. */
void correct(scope *s, const correction *c, block answers);
/* wg <- weights of the graphs, by p: what each fold answers of all rows. */
void graphs_by_agreement(scope *s, const held_out *j, const block *p, double *wg);

/* share <- of the parts with answers p: for classes by the held-out likelihood, with what is believed of each
 * beforehand and its loss; for numbers by least squares on the simplex. share begins equal. */
void mix_classes(scope *s, const held_out *j, int parts, const block *p,
                 const double *before, const double *loss, double *share);
void mix_numbers(scope *s, const held_out *j, int parts, const block *p, double *share);

#endif
