/* What a tri-factorisation (learn/nmtf.h) leaves for prediction: ttl in mode paper and triplex
 * end in the same model.
 *
 *   X ~ G H',  H = F A (columns x classes) of the target, G (instances x classes)
 *
 * Instances that were there at fit keep the G they were given, found again by id and by what
 * they looked like. For others G is found with H fixed (ferry_i_factors_predict). */
#ifndef FERRY_FACTORS_H
#define FERRY_FACTORS_H

#include "learn/nmtf.h"
#include "methods/shared/bridge.h"

/* A factor by name, to start another fit with. */
typedef struct factor_tensor {
    char name[24];
    int64_t rows, cols;
    double *data; /* rows x cols, one row after the other */
} factor_tensor;

typedef struct factors {
    int64_t c;                /* classes */
    ferry_prepared *prepared; /* how new data gets its columns */
    ferry_nmtf_loss loss;
    ferry_nmtf_norm norm;
    ferry_block *h;        /* the target's columns x c */
    ferry_ids *ids;        /* instances of the target that were seen in fit ... */
    int64_t *hash;         /* ... what they looked like ... */
    ferry_block *g;        /* ... and their classes, n x c */
    factor_tensor *tensor; /* all factors; NULL: not kept */
    int64_t n_tensors;
} factors;
void ferry_i_factors_clear(factors *f);

/* Keep h (a row for each column of the bridge that keep[] marks) on the target's columns, and
 * the target's instances with their classes g. f->c is set; f->prepared is
 * still the bridge's. */
ferry_status ferry_i_factors_keep(ferry_ctx *ctx, const ttl_bridge *b, const uint8_t *keep,
                                  const ferry_block *h, const ferry_block *g, factors *f);
/* g <- the classes of d's instances. */
ferry_status ferry_i_factors_predict(ferry_ctx *ctx, const factors *f,
                                     const ferry_domain *d, ferry_block *g);
/* f->c and f->prepared are there before it. */
void ferry_i_factors_file(ferry_io *io, factors *f);

#endif
