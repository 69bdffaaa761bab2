/* The method around MINDTL's formulas: options, codebooks of the sources, the two modes. */
#ifndef FERRY_MINDTL_METHOD_H
#define FERRY_MINDTL_METHOD_H

#include "methods/mindtl/mindtl.h"

typedef enum mindtl_mode { MODE_FERRY, MODE_PAPER } mindtl_mode;
typedef enum mindtl_extract {
    EXTRACT_IONMTF,
    EXTRACT_ONMTF,
    EXTRACT_DC,
    EXTRACT_KMEANS
} mindtl_extract;
/* What stands in the codebook: the source's, or what a control puts there. */
typedef enum mindtl_book { BOOK_SOURCE, BOOK_RANDOM, BOOK_SHUFFLED, BOOK_GRID } mindtl_book;

typedef struct mindtl_options {
    int mode, extract, update, lambda, order;
    int64_t k, l, sweeps, restarts, polish, most, use, starts, iters, copies;
    double beta, bias, hold;
} mindtl_options;

/* A codebook: k x l numbers, in ratings of the target (paper) or residuals (ferry). */
typedef struct mindtl_codebook {
    int64_t k, l;
    double *r;
} mindtl_codebook;

/* Pattern of one source, mapped linearly to the target's scale. copy 0, 1, ... start from
 * other random numbers. */
ferry_status ferry_i_mindtl_codebook(ferry_ctx *ctx, const ferry_domain *source,
                                     const ferry_ratings *target, const mindtl_options *o,
                                     mindtl_mode mode, int64_t copy, mindtl_run *run,
                                     mindtl_codebook *out);
/* The fullest part of x without a hole: the emptiest row or column (the share of its cells
 * that is missing; of equals rows first, then the lowest) goes until all are full. */
ferry_status ferry_i_mindtl_full_block(ferry_ctx *ctx, const observed *x, observed *out);
/* x with the mean of the user's ratings in every hole. */
ferry_status ferry_i_mindtl_fill(ferry_ctx *ctx, const observed *x, observed *out);
/* Labels of x (with biases off where `factors` is false) by the extraction that o names:
 * the best of the restarts by F after the polish; R with beta. */
ferry_status ferry_i_mindtl_extract(ferry_ctx *ctx, const observed *x,
                                    const mindtl_options *o, bool factors, ferry_rng *rng,
                                    mindtl_run *run, mindtl_codebook *b);
/* Keep everything but the knowledge. */
void ferry_i_mindtl_control(ferry_ctx *ctx, mindtl_book book, mindtl_mode mode,
                            const ferry_ratings *target, int64_t number,
                            mindtl_codebook *b);

/* The two modes: from codebooks (copies of a source after one another) to a model. w (one
 * per source) gets the weights. */
ferry_status ferry_i_mindtl_fit_hard(ferry_ctx *ctx, const ferry_ratings *r,
                                     const mindtl_options *o, mindtl_solver solver,
                                     int64_t n, const mindtl_codebook *book,
                                     mindtl_run *run, double *w, rating_model **out,
                                     ferry_report *rep);
ferry_status ferry_i_mindtl_fit_soft(ferry_ctx *ctx, const ferry_ratings *r,
                                     const mindtl_options *o, int64_t sources,
                                     const mindtl_codebook *book, mindtl_run *run,
                                     double *w, double *rmse, rating_model **out,
                                     ferry_report *rep);
/* rmse[s]: error of source s alone (its copies; weight 1) on the ratings held out, after a
 * fit to the others. NaN when none can be held out. */
ferry_status ferry_i_mindtl_distances(ferry_ctx *ctx, const ferry_ratings *r,
                                      const mindtl_options *o, int64_t sources,
                                      const mindtl_codebook *book, mindtl_run *run,
                                      double *rmse);
/* min over 0 <= w <= most of w'Hw - 2 c'w by coordinate descent, to machine precision. */
void ferry_i_mindtl_box(const ferry_small *h, const double *c, double most, double *w);

#endif
