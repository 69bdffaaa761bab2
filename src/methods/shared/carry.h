/* Carrying labels from labelled places to the next one by a linear classifier on the
 * features that both have. */
#ifndef FERRY_TTL_CARRY_H
#define FERRY_TTL_CARRY_H

#include "methods/shared/bridge.h"

/* Somebody to learn from: instances with soft labels, all counted w times. */
typedef struct ttl_teacher {
    const ferry_matrix *x; /* n x cols, CSR */
    const ferry_block *g;  /* n x c */
    double w;              /* 0: not asked */
} ttl_teacher;

typedef struct ttl_carry_options {
    double C; /* 0: by cross-validation on the teachers' labels; svm: 1 */
    bool svm; /* support vector machine on the likeliest labels */
    bool l2;  /* rows to length 1 once the columns are cut */
} ttl_carry_options;

/* What was learned: keep says which columns count, w (c x (cols + 1)) their weights, 0 for
 * others; both NULL when nothing is shared. */
typedef struct ttl_carried {
    int64_t c, cols, shared;
    bool svm, l2;
    double C; /* what it was learned with; not in the model */
    uint8_t *keep;
    double *w;
} ttl_carried;
void ferry_i_carried_clear(ttl_carried *m);

/* Columns that count are used by a teacher and by x, and are in `within` (NULL: all).
 * Instances of teachers that have none of them are left out, and so is what an instance
 * says about a class with a weight of at most 1e-3. */
ferry_status ferry_i_carry(ferry_ctx *ctx, const ttl_carry_options *o, int64_t n,
                           const ttl_teacher *teacher, const ferry_matrix *x, int64_t c,
                           const uint8_t *within, ttl_carried *out);
/* g (n x c) <- probabilities (svm: margins; nothing shared: 1 / c). */
ferry_status ferry_i_carried_apply(ferry_ctx *ctx, const ttl_carried *m,
                                   const ferry_matrix *x, ferry_block *g);
/* The chain: g[i] (new) for the places up to and with `upto`: one-hot labels of sources,
 * then each place from the one before (the first from all sources), hard: likeliest classes
 * alone; known rows one-hot. shared[i] (may be NULL): features that a hop goes by. C = 0:
 * each hop by itself. g has room for all places and is cleared by the caller in any case. */
ferry_status ferry_i_chain(ferry_ctx *ctx, const ttl_bridge *b, double C, bool svm,
                           bool hard, int64_t upto, ferry_block **g, double *shared);
/* One hop of it, to place i. */
ferry_status ferry_i_chain_hop(ferry_ctx *ctx, const ttl_bridge *b, double C, bool svm,
                               int64_t i, ferry_block *const *g, ttl_carried *out);
/* The same on the target's columns. */
ferry_status ferry_i_carried_on_target(ferry_ctx *ctx, const ttl_carried *m,
                                       const ttl_bridge *b, ttl_carried *out);
/* c classes on cols columns. */
void ferry_i_carried_file(ferry_io *io, int64_t c, int64_t cols, ttl_carried *m);
/* Each row of g to 1 at its largest entry (the first of equals) and 0 elsewhere. */
void ferry_i_harden(ferry_block *g);
/* Rows of g with a known class to one-hot. */
void ferry_i_clamp(ferry_block *g, const int32_t *known);
/* The place of the largest entry of each row, the first of equals; *ties (may be NULL)
 * counts rows with equals. */
void ferry_i_winners(const ferry_block *g, int32_t *out, int64_t *ties);

#endif
