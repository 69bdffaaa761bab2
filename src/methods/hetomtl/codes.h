/* Class codes: what CDSPP's projection of the target comes to, solved again as labels
 * accumulate.
 *
 * With unit rows X (n x d) of classes y, counts c_k and o_k (of the sources), b_k = c_k +
 * o_k / 2, L^-1 = diag(1 / b) + Y diag(2 / (b_k o_k)) Y' and M = X X' + alpha L^-1:
 *
 *   f(x) = Y' M^-1 X x,
 *
 * ridge-regressed class codes (Pt of CDSPP spans the same space). alpha is chosen by
 * leaving each row out, exactly, from one inverse: with H = X X' M^-1
 *
 *   f_-i = (H Y)_i - H_ii (M^-1 Y)_i / (M^-1)_ii.
 *
 * (The textbook residual (M^-1 Y)_i / (M^-1)_ii would leak the label: L^-1 couples a
 * class.)
 */
#ifndef FERRY_CODES_H
#define FERRY_CODES_H

#include "methods/shared/online.h"

/* Rows that may be kept of each kind. */
enum { CODES_MOST = 100000 };

typedef struct codes_row {
    ferry_row x; /* owns its arrays */
    int32_t cls;
} codes_row;

typedef struct codes {
    int64_t k, d;
    bool sparse;          /* rows are kept sparse, or dense */
    double *o;            /* k: counts of the sources; 0: as many as here */
    double *v;            /* k x d: f(x) = V x */
    double alpha;         /* of v */
    double grow;          /* solve again when labels have grown by this factor */
    int64_t labels, next; /* labels so far; solve at so many */
    codes_row *offline;   /* kept for good */
    int64_t n_offline;
    codes_row *ring; /* the newest `keep` of the stream; the oldest at `first` */
    int64_t keep, n_ring, first;
} codes;

ferry_status ferry_i_codes_new(ferry_ctx *ctx, int64_t k, int64_t d, bool sparse,
                               int64_t keep, double grow, codes *out);
void ferry_i_codes_clear(codes *c);
ferry_status ferry_i_codes_classes(ferry_ctx *ctx, codes *c, int64_t k);
/* Add a row of the offline part; x has unit length. */
ferry_status ferry_i_codes_offline(ferry_ctx *ctx, codes *c, const ferry_row *x,
                                   int32_t cls);
/* Solve with this alpha (0: leave one out decides). */
ferry_status ferry_i_codes_solve(ferry_ctx *ctx, codes *c, double alpha);

/* Learn in two steps: prepare may fail and changes nothing; commit cannot. */
typedef struct codes_step {
    codes_row row;
    double *v; /* NULL: not solved again */
    double alpha;
} codes_step;
ferry_status ferry_i_codes_prepare(ferry_ctx *ctx, codes *c, const ferry_row *x,
                                   int32_t cls, codes_step *step);
void ferry_i_codes_commit(codes *c, codes_step *step);
void ferry_i_codes_drop(codes_step *step);

ferry_status ferry_i_codes_save(ferry_ctx *ctx, const codes *c, ferry_dict *dict);
ferry_status ferry_i_codes_load(ferry_ctx *ctx, const ferry_dict *dict, int64_t k,
                                int64_t d, codes *c);

#endif
