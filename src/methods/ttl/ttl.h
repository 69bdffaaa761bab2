/* TTL: transitive transfer learning. Sources and target share nothing; intermediate domains
 * share features with both, or have views of both kinds.
 *
 *   mode ferry   carry labels by regression, let them settle in each domain, weigh the
 *                domain by how far its halves agree: solve.c, settle.c
 *   mode paper   the coupled tri-factorisation as published, with its formulas put right:
 *                paper.c over learn/nmtf.h
 *
 * ttl.c has the options, model.c what is kept, saved and asked.
 *
 * Tan, Song, Zhong, Yang: Transitive Transfer Learning, KDD 2015. */
#ifndef FERRY_TTL_H
#define FERRY_TTL_H

#include "methods/shared/carry.h"
#include "methods/shared/factors.h"
#include "methods/ttl/settle.h"

enum { TTL_MODE_FERRY, TTL_MODE_PAPER };
enum { TTL_SETTLE_AUTO, TTL_SETTLE_YES, TTL_SETTLE_NO };
enum { TTL_START_HOP, TTL_START_UNIFORM, TTL_START_RANDOM };

typedef struct ttl_options {
    int mode, scale, leaks, bridge_labels;
    double C;
    /* mode ferry */
    int settle, trust;
    double beta, eta, settle_tol, w_min;
    int64_t settle_steps;
    /* mode paper */
    int64_t p1, p2, warm, iterations;
    int loss, norm, exponent, start;
    const char *init, *weights;
    double floor, tol;
} ttl_options;

/* The model: what predicts for new rows of the target. */
typedef struct ttl_state {
    int mode;
    factors f; /* mode paper; in both modes its classes c and how data is prepared */
    /* mode ferry: one of the two */
    bool lengths; /* rows to length 1 */
    ttl_mixture mixture;
    ttl_carried carried;
} ttl_state;
/* The parts of its descriptor (model.c). */
void ferry_i_ttl_free(void *model);
ferry_status ferry_i_ttl_predict(ferry_ctx *ctx, const void *model, const ferry_domain *d,
                                 ferry_prediction *p);
void ferry_i_ttl_file(ferry_io *io, void *model);

/* Carry, settle, weigh (solve.c). */
ferry_status ferry_i_ttl_ferry(ferry_ctx *ctx, const ttl_options *o, const ferry_task *task,
                               const ttl_bridge *b, ttl_state *s, ferry_fit_info *rep);
/* The target's labels on the way, for somebody who asks whether they repeat (select). The
 * arrays are the caller's, n each for the n rows of the target. */
typedef struct ttl_watch {
    int32_t *carried, *label; /* as carried to the target, and at last */
    int32_t *half; /* 4 n: carried through either half of its features, settled from there;
                    * NULL: not asked for, then the rest is not told */
    double boarding, crossing,
        landing; /* the least of a source, of a bridge; the target's */
} ttl_watch;
ferry_status ferry_i_ttl_watch(ferry_ctx *ctx, const ttl_options *o, const ttl_bridge *b,
                               ttl_watch *w);
/* The coupled factorisation (paper.c). init: the tensors to start from, or NULL. */
ferry_status ferry_i_ttl_paper(ferry_ctx *ctx, const ttl_options *o, const ferry_task *task,
                               const ttl_bridge *b, const factors *init, factors *s,
                               ferry_fit_info *rep);
/* The weights in the option: "equal", "norm" or numbers with commas, one for each of n
 * views. */
ferry_status ferry_i_ttl_weights(ferry_ctx *ctx, const char *text, int64_t n,
                                 const ferry_nmtf_place *place, double *w);

#endif
