/* ttl: the parts of the method (ttl.c has its options and its model). */
#ifndef FERRY_TTL_H
#define FERRY_TTL_H

#include "learn/nmtf.h"
#include "methods/shared/carry.h"
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

/* A named matrix of the model. */
typedef struct ttl_tensor {
    char name[24];
    int64_t rows, cols;
    double *data;
} ttl_tensor;

typedef struct ttl_state {
    int mode;
    int64_t c;
    ttl_frame *frame;
    /* mode ferry: one of the two */
    bool lengths; /* rows to length 1 */
    ttl_mixture mixture;
    ttl_carried carried;
    /* mode paper */
    ferry_nmtf_loss loss;
    ferry_nmtf_norm norm;
    ferry_block *h;     /* frame's columns x c */
    ferry_ids *ids;     /* instances of the target that were seen in fit ... */
    int64_t *hash;      /* ... what they looked like ... */
    ferry_block *g;     /* ... and their classes */
    ttl_tensor *tensor; /* all factors, to start another fit with */
    int64_t n_tensors;
} ttl_state;

extern const ferry_method ferry_i_method_ttl;

/* Carry, settle, weigh (ferry.c). */
ferry_status ferry_i_ttl_ferry(ferry_ctx *ctx, const ttl_options *o, const ferry_task *task,
                               const ttl_bridge *b, ttl_state *s, ferry_report *rep);
/* The coupled factorisation (paper.c). init: the tensors to start from, or NULL. */
ferry_status ferry_i_ttl_paper(ferry_ctx *ctx, const ttl_options *o, const ferry_task *task,
                               const ttl_bridge *b, const ttl_state *init, ttl_state *s,
                               ferry_report *rep);
/* The weights in the option: "equal", "norm" or numbers with commas, one for each of n
 * views. */
ferry_status ferry_i_ttl_weights(ferry_ctx *ctx, const char *text, int64_t n,
                                 const ferry_nmtf_place *place, double *w);
/* g <- classes of the rows of x (CSR) with the factors H fixed. */
ferry_status ferry_i_ttl_fold(ferry_ctx *ctx, const ttl_state *s, const ferry_matrix *x,
                              ferry_block *g);

#endif
