/* Labelled rows of a stream that are kept as floats, and their products under three maps.
 *
 * Maps of a row x: r = sign(x) sqrt|x|; u = x / |x|; s = r / |r|; q = unit((r - mean) / sd) by means and deviations that
 * the owner sets. Sparse rows are not centred, to stay sparse. Only s is kept; with S = |r|^2 = sum |x_j| and R = |r|,
 *
 *   u = (S / |x|) s |s|,   q = ((R s - mean) / sd) / |(R s - mean) / sd|,
 *
 * and one array of floats gives all three products: with b the s of a row that is kept and a the row that is asked for,
 *
 *   s_a's_b = b's_a,   u_a'u_b = (S_b / |x_b|) (b |b|)'u_a,
 *   q_a'q_b = q_a q_b (R_b b'w - mean'w),   w = (R_a s_a - mean) / sd^2,
 *
 * so that a stream reads a third of what three arrays would take: reading is what a row costs. w is brought to unit
 * length before it becomes floats. The distance of two rows of unit length is right to 1e-7; that of q where deviations
 * are not far below the means. */
#ifndef FERRY_KEPT_ROWS_H
#define FERRY_KEPT_ROWS_H

#include "state/table.h"

enum { MAPS = 3 }; /* u, s, q */

typedef struct row_maps {
    int64_t sparse, d;
    double *mean, *sd, *by; /* of q; 1 / sd^2; d each */
} row_maps;

/* Shared by all who keep it. Dense rows have no index. */
typedef struct kept_row {
    int64_t users, n;
    int32_t cls;
    int32_t *index;
    float *s;
    double size, u, q; /* R, S / |x|, 1 / |(R s - mean) / sd| */
    double one[MAPS];  /* squared lengths of u, s, q: 1, or 0 of a row of zeros */
} kept_row;

/* The row at work, and scratch for its products. */
typedef struct row_asked {
    kept_row row;
    float *asked[MAPS];    /* d each: what the products are made with */
    double w_size, w_mean; /* of the last: the sum behind q is w_size R b'w - w_mean */
    const float **rows;
    double *dots;  /* as many x 3 */
    double *value; /* 2 d */
} row_asked;
/* For products with at most so many rows. */
row_asked row_asked_new(scope *s, const row_maps *f, int64_t most);

/* The row at work <- x, without missing cells. */
void map_row(const row_maps *f, ferry_row x, row_asked *c);
/* q and `one` of a row from its s, size and u: after the means and deviations have changed. */
void find_lengths(const row_maps *f, kept_row *r);
/* A copy for one user; one user less. */
kept_row *keep_row(scope *keep, const row_maps *f, const kept_row *from, int32_t cls);
void drop_row(scope *keep, kept_row *r);
/* u (or s) as doubles. */
ferry_row wide_row(const kept_row *r, bool u, double *value);
/* The row as it came, to floats. */
ferry_row given_row(const kept_row *r, double *value);

/* Products of row r: ask for it, then for its u, s and q (ld apart) with n others, or its s alone, and forget it. */
void ask_for(const row_maps *f, const kept_row *r, row_asked *c);
void products(const row_maps *f, const kept_row *r, row_asked *c, int64_t n,
              kept_row *const *others, int64_t ld, double *out);
void near_rows(const row_maps *f, row_asked *c, int64_t n, kept_row *const *others,
               double *out);
void forget(const row_maps *f, const kept_row *r, row_asked *c);

/* Rows as a file has them, and back: `most` places. */
typedef struct filed_rows {
    int64_t n, d;
    matrix x;     /* s */
    block sizes;  /* n x 2: size, u */
    int32_t *cls; /* n */
} filed_rows;
extern const table kept_rows_table;
void pack_rows(scope *s, const row_maps *f, int64_t n, kept_row *const *rows,
               filed_rows *to);
kept_row **unpack_rows(scope *keep, const row_maps *f, filed_rows *from, int64_t most);

#endif
