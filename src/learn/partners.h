/* Two learners of standardised rows beside the scores of somebody else: softmax regression and ridge regression in random
 * features. They see what rows of unit length hide, and forget. A mixer joins the three; it begins with nearly all
 * weight on the somebody else, so that he loses little where he is the best. Nothing here fails once it is made. */
#ifndef FERRY_PARTNERS_H
#define FERRY_PARTNERS_H

#include "learn/mixer.h"
#include "learn/online_kernel.h"
#include "learn/online_logreg.h"

enum { OTHERS, LOGREG, KERNEL, PARTS };

typedef struct partners {
    double w[PARTS], hess[PARTS * PARTS];
    online_logreg logreg;
    online_kernel kernel;
} partners;
extern const table partners_table;

typedef struct partners_scratch {
    logreg_scratch logreg;
    kernel_scratch kernel;
} partners_scratch;

partners *partners_new(scope *s, scope *keep, int64_t k, matrix x);
partners_scratch partners_scratch_new(scope *s, const partners *p, int64_t k, bool learns);
/* Nothing is learned yet. */
void partners_clear(partners *p);
/* parts (PARTS x k), of which the others' scores are there: all three, centred and of unit length. */
void partners_ask(const partners *p, const partners_scratch *c, int64_t k, ferry_row x,
                  double *parts);
void partners_join(const partners *p, int64_t k, const double *parts, double *total);
/* A step of the mixer; work: k numbers. */
void partners_mix(partners *p, int64_t k, const double *parts, int32_t y, double *work);
void partners_learn(partners *p, const partners_scratch *c, ferry_row x, int32_t y);
/* How much each part counts, in shares. */
void partners_shares(const partners *p, double *share);
/* Whether what was loaded can be: of so many columns. */
bool partners_fit(const partners *p, int64_t d);

#endif
