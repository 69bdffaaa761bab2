/* What a tri-factorisation (nmtf.h) leaves for new rows (factor_model.c). */
#ifndef FERRY_FACTOR_MODEL_H
#define FERRY_FACTOR_MODEL_H

#include "learn/nmtf.h"
#include "learn/problem.h"
#include "state/table.h"

/* X ~ G H', H = F A of the target, and the rows of the target at fit with their G. */
typedef struct factor_state {
    int loss, norm; /* ferry_nmtf_loss, ferry_nmtf_norm */
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
                  const ferry_nmtf_options *o, block h, block g, factor_state *m);
/* out (n x classes) <- G of the rows of d. */
void factor_scores(scope *s, const void *state, const domain *d, block out);

/* A factorisation that is gone with s. */
ferry_nmtf *factorisation(scope *s, int64_t c, int64_t p1, int64_t pa, int64_t p2,
                          int64_t n_views, const ferry_nmtf_place *views);
/* The keys of the columns that keep[] marks. */
const uint64_t *keys_of(scope *s, const problem *p, const uint8_t *keep);
/* Where and why the iterations stopped. */
ferry_stop why_stopped(const ferry_nmtf_found *found);
static inline block block_of(layout rows, const ferry_block *b)
{
    return (block){rows, b->rows, b->k, b->data};
}

#endif
