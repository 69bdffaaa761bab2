/* Statistics of the verdict, on plain numbers.
 *
 * Repeats share the pool of target rows, so they are no independent trials of the question that a
 * user asks: is the method better on new data of this kind? What a difference between two methods
 * varies by is crossed: by the labels that were visible (a repeat) and by the rows that were scored
 * (an instance). Both are estimated from the differences of all instances in all repeats. */
#ifndef FERRY_EVAL_STATISTICS_H
#define FERRY_EVAL_STATISTICS_H

#include "core/core.h"

double ferry_i_mean(int64_t n, const double *x); /* NaN for n = 0 */
double ferry_i_std(int64_t n, const double *x);  /* n - 1; 0 for n = 1 */

/* Two-sided p-value of Student's t with df degrees of freedom (INFINITY: normal), the t that
 * leaves p, and the upper tail alone. */
double ferry_i_student_p(double t, double df);
double ferry_i_student_t(double p, double df);
double ferry_i_student_above(double t, double df);
/* The point that a Beta(a, b) is below with probability p. */
double ferry_i_beta_quantile(double p, double a, double b);
/* p[i] corrected for n tests by Holm's step-down rule, in place; NaN stays. */
void ferry_i_holm(int64_t n, double *p);

/* What is crossed: repeats x n differences, larger is better, NaN where not scored. */
typedef struct ferry_differences {
    int64_t repeats, n;
    const double *diff;
    const int32_t
        *cluster[2];     /* what instances belong to: user and item of ratings; or NULL */
    const uint8_t *seen; /* repeats x n: labels that the methods saw; NULL: none */
    int64_t
        hands;    /* repeats of a deck, which share no label (task/split.c); 0: not dealt */
    bool folds;   /* ... that hide them, and see all others */
    bool fixed;   /* the same labels in every repeat */
    bool ordered; /* a repeat draws an order of the rows, too: goal stream */
    double *effect,
        *mean; /* to be filled unless NULL: b_i of n, d_r of repeats; NaN: not scored */
} ferry_differences;

/* The components of a gain's variance and what follows from them. */
typedef struct ferry_crossed {
    int64_t repeats, n; /* n: instances scored in any repeat */
    double scored;      /* mean instances scored in a repeat */
    double labels;      /* of a hand: visible ones, or hidden ones of folds */
    bool folds;
    double mu;        /* the gain: mean over repeats of their means */
    double s2;        /* variance of the repeats' means */
    double vb;        /* ... of the instances' effects, as it counts */
    double se2, sb2;  /* of the rest, of instances: without each other's share */
    double sl2;       /* of what labels do, apart from what they leave to be scored */
    double c;         /* ... its covariance with the instances' part in new data */
    double k;         /* phi o / (1 - phi o), with o the overlap; 0 for a fixed split */
    double va, vr, v; /* of the mean: what labels bring, what rows do, both */
    double se, df;    /* standard error and degrees of freedom; df is NaN when se is 0 */
    double low, high; /* 95 % interval */
    double bound;     /* 95 % one-sided, towards 0 */
    double most; /* no difference larger than this either way: two one-sided tests at .05 */
    double p_better, p_worse; /* one-sided */
} ferry_crossed;
/* Repeats whose instances are all NaN are left out. FERRY_OK with n = 0 when nothing is left. */
ferry_status ferry_i_crossed(ferry_ctx *ctx, const ferry_differences *in,
                             ferry_crossed *out);
/* Mean share of the labels of a repeat that another one saw as well; seen: repeats x n. */
double ferry_i_overlap(int64_t repeats, int64_t n, const uint8_t *seen);
/* How much of what labels do is a sum over labels, and so common to repeats that share them: of the repeats' parts a, dealt
 * in decks of so many hands, with so many labels of n in a hand. 1 unless two complete decks say less. */
double ferry_i_linear_share(int64_t repeats, const double *a, int64_t hands, double labels,
                            double n);
/* Repeats, or else rows, with which a gain of this size is shown at this level, one-sided, in 8 of 10 cases; both 0: no
 * sensible number would. */
void ferry_i_crossed_needed(const ferry_crossed *c, double level, int64_t *repeats,
                            int64_t *rows);

/* A test with what rows and repeats brought to it (ferry_differences: effect and mean). */
typedef struct ferry_tested {
    ferry_crossed c;
    double *effect, *mean;
} ferry_tested;
/* correlation <- tests x tests, of tests on the same n rows and repeats; a 0 in the diagonal: nothing differs. */
void ferry_i_together(int64_t tests, int64_t n, int64_t repeats, const ferry_tested *t,
                      double *correlation);
/* One-sided p[m] corrected for the number of tests, in place: step-down max-T. The other side has the same law. _by: from
 * draws x tests of normal numbers that go together as the tests do. */
ferry_status ferry_i_step_down(ferry_ctx *ctx, int64_t tests, const double *correlation,
                               double *p);
ferry_status ferry_i_step_down_by(ferry_ctx *ctx, int64_t tests, int64_t draws,
                                  const double *z, double *p);

/* The method that is primary for instance i in repeat r: best by what the labels of other repeats say of it, those in which
 * label i was not visible, so that neither the row nor the labels that it is scored with have a say. cv: repeats x methods,
 * larger is better, NaN: cannot; seen: repeats x n; cell <- repeats x n, -1 where no repeat is left; the first among equals. */
ferry_status ferry_i_primary_cells(ferry_ctx *ctx, int64_t repeats, int64_t n,
                                   int64_t methods, const double *cv, const uint8_t *seen,
                                   int32_t *cell);

/* What a source is worth: the method itself less the mean of its draws with made-up ones, and half of a 95 % prediction
 * interval; NaN for fewer than two draws. */
double ferry_i_worth(double own, int64_t draws, const double *drawn, double *half);

/* The randomisation test of a family of `methods`: own scores, and draws x methods under the same
 * control tasks, larger is better on side +1 and smaller on side -1. Each method is standardised
 * over its draws + 1 control tasks; p counts the control tasks whose best is as good. */
ferry_status ferry_i_max_t(ferry_ctx *ctx, int64_t methods, int64_t draws,
                           const double *own, const double *drawn, double side, double *p);

#endif
