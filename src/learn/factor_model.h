/* What a tri-factorisation (nmtf.h) leaves for new rows (factor_model.c). */
#ifndef FERRY_FACTOR_MODEL_H
#define FERRY_FACTOR_MODEL_H

#include "learn/nmtf.h"
#include "learn/problem.h"
#include "state/table.h"

/* X ~ G H', H = F A of the target, and the rows of the target at fit with their G. */
typedef struct factor_state {
    int loss, norm; /* nmtf_loss, nmtf_norm */
    block h;        /* width x classes */
    int64_t rows;
    bool named; /* these rows have ids; else they are known by what they hold alone */
    int64_t *key,
        *content; /* of each row, in order: of its id (0: none), of what it holds */
    block g;      /* rows x classes */
} factor_state;
extern const table factor_table;

/* h has a row for each column of the problem that keep[] marks, g one for each row of the target. */
void factor_model(scope *s, scope *to, const problem *p, const uint8_t *keep,
                  const nmtf_options *o, block h, block g, factor_state *m);
/* out (n x classes) <- G of the rows of d. */
void factor_scores(scope *s, const void *state, const domain *d, block out);

/* The keys of the columns that keep[] marks. */
const uint64_t *keys_of(scope *s, const problem *p, const uint8_t *keep);
/* Where and why the iterations stopped. */
ferry_stop why_stopped(const nmtf_found *found);

#endif
