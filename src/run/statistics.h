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
typedef struct ferry_crossing {
    int64_t repeats, n;
    const double *diff;
    const int32_t
        *cluster[2]; /* what instances belong to: user and item of ratings; or NULL */
    double visible;  /* labels that the methods saw */
    bool fixed;      /* the same labels in every repeat */
    bool ordered;    /* a repeat draws an order of the rows, too: goal stream */
} ferry_crossing;

/* The components of a gain's variance and what follows from them. */
typedef struct ferry_crossed {
    int64_t repeats, n; /* n: instances scored in any repeat */
    double scored;      /* mean instances scored in a repeat */
    double mu;          /* the gain: mean over repeats of their means */
    double s2;          /* variance of the repeats' means */
    double vb;          /* ... of the instances' effects, as observed */
    double se2, sb2,
        sa2;       /* of the rest, of instances, of repeats: without each other's share */
    double sl2;    /* of what labels do, apart from what they leave to be scored */
    double rho;    /* ... its correlation with the instances' part in new data, 0 to 1 */
    double k;      /* visible labels for each scored one; 0 for a fixed split */
    double se, df; /* standard error and degrees of freedom; df is NaN when se is 0 */
    double low, high;         /* 95 % interval */
    double bound;             /* 95 % one-sided, towards 0 */
    double p_better, p_worse; /* one-sided */
} ferry_crossed;
/* Repeats whose instances are all NaN are left out. FERRY_OK with n = 0 when nothing is left. */
ferry_status ferry_i_crossed(ferry_ctx *ctx, const ferry_crossing *in, ferry_crossed *out);
/* Repeats, or else rows, that would show a gain of this size at this level, one-sided; both 0: no
 * sensible number would. */
void ferry_i_crossed_needed(const ferry_crossed *c, double level, int64_t *repeats,
                            int64_t *rows);

/* The randomisation test of a family of `methods`: own scores, and draws x methods under the same
 * made-up worlds, larger is better on side +1 and smaller on side -1. Each method is standardised
 * over its draws + 1 worlds; p counts the worlds whose best is as good. */
ferry_status ferry_i_max_t(ferry_ctx *ctx, int64_t methods, int64_t draws,
                           const double *own, const double *drawn, double side, double *p);

#endif
