/* Multi-class passive-aggressive learning (Crammer, Dekel, Keshet, Shalev-Shwartz, Singer,
 * Online Passive-Aggressive Algorithms, JMLR 2006): one weight row per class.
 *
 * A sample x of class y, with f = W x and r = argmax over k != y of f_k, has the loss
 * l = max(0, 1 - f_y + f_r). When l > 0
 *
 *   W_y += tau x,  W_r -= tau x,     tau = l / (2 x'x)                  PA
 *                                    tau = min(C, l / (2 x'x))          PA-I
 *                                    tau = l / (2 x'x + 1 / (2 C))      PA-II
 *
 * so that PA makes the margin f_y - f_r just 1. `printed` is min(C, l / (f_y - f_r)^2), as
 * the HetOMTL paper has it, kept to compare.
 */
#ifndef FERRY_PA_H
#define FERRY_PA_H

#include "core/core.h"
#include "ferry/stream.h"
#include "linalg/linalg.h"

typedef enum ferry_pa_kind {
    /* How the step tau follows from the loss; the formulas are above. */
    FERRY_PA,
    FERRY_PA1,
    FERRY_PA2,
    FERRY_PA_PRINTED
} ferry_pa_kind;

typedef struct ferry_pa {
    ferry_pa_kind kind;
    /* aggressiveness, > 0: the cap of PA-I, the damping of PA-II; PA does not look at it */
    double C;
    /* classes known so far, features */
    int64_t k, d;
    double *w; /* k x d, one row per class */
    /* The average of the weights after each of `steps` samples is W - U / steps, where U is
     * the sum of all changes of W, each times the number of samples before it. u NULL: not
     * kept. */
    double *u; /* k x d */
    /* samples seen by ferry_i_pa_learn(), with and without a loss */
    int64_t steps;
} ferry_pa;

typedef struct ferry_pa_step {
    int32_t r; /* the best of the other classes, -1: there is none */
    /* l before the step and the step's size; tau is 0 when W did not move */
    double loss, tau;
} ferry_pa_step;

/* All weights zero. */
ferry_status ferry_i_pa_new(ferry_ctx *ctx, ferry_pa_kind kind, double C, int64_t k,
                            int64_t d, bool average, ferry_pa **out);
void ferry_i_pa_free(ferry_pa *p);
/* Room for k classes, if there is less; new rows are zero. */
ferry_status ferry_i_pa_classes(ferry_ctx *ctx, ferry_pa *p, int64_t k);
/* f[0..k) <- W x. */
void ferry_i_pa_scores(const ferry_pa *p, const ferry_row *x, double *f);
/* f <- (W - U / steps) x, given W x in f. */
void ferry_i_pa_average(const ferry_pa *p, const ferry_row *x, double *f);
/* One step, from the scores f = W x; x'x = xx. A zero x changes nothing. */
ferry_pa_step ferry_i_pa_learn(ferry_pa *p, const ferry_row *x, double xx, int32_t y,
                               const double *f);

/* out[i] <- row i of a (rows x d, one after the other) times x, dense or sparse. The same
 * bits on every CPU. O(rows) times the entries of x. */
void ferry_i_row_scores(int64_t rows, int64_t d, const double *a, const ferry_row *x,
                        double *out);
/* x'x of a row, dense or sparse: what is not stored adds nothing. */
double ferry_i_row_norm2(const ferry_row *x);
/* Place of the largest, the first of equals; -1 for n = 0. */
int32_t ferry_i_argmax(int64_t n, const double *f);

#endif
