/* place: classes that have no label in the target.
 *
 * The source has all K classes, the target has labelled rows of m < K of them, and the two
 * have no feature in common. Which class lies between which others is much the same in other
 * features: so the means of the missing classes are predicted from the means of the seen ones
 * by the geometry of the source's classes, as one predicts a field between stations (kriging).
 *
 *   B = 0.9 G + 0.1 I          G: Gram of the source's class means, within-class scatter half
 *                              whitened, trace K - 1
 *   M = m0 + B_:s (B_ss + N^-1)^-1 Y     Y: seen means less the mean m0 of all target rows,
 *                              N: labels of each seen class
 *
 * Whether that holds here is tested without the hidden classes: each seen class is predicted
 * from the others (R2), and the names of the seen classes are permuted in B_ss (p). Only where
 * p <= .05 and R2 > 0 are missing classes named; else their rows are set apart without a name.
 * Two Lloyd steps, a few sure rows of each missing class as seeds, and labels spread over the
 * graph of nearest neighbours give every row its class.
 *
 * With a label for every class no source in other features was found to beat the best learner
 * without it; there place says that it does not apply.
 *
 * place.c has options and fit, solve.c steps 1 to 5, spread.c step 6, model.c predictions and
 * the file. Rows are dense blocks on at most 50 principal axes. */
#ifndef FERRY_PLACE_H
#define FERRY_PLACE_H

#include "linalg/centred.h"
#include "methods/method.h"
#include "prepare/prepare.h"

enum {
    PLACE_AXES = 50,  /* principal axes kept */
    PLACE_SEEN = 4,   /* seen classes that a test needs: with fewer p cannot reach .05 */
    PLACE_SEEDS = 5,  /* sure rows of a missing class */
    PLACE_STEPS = 2,  /* of Lloyd */
    PLACE_DRAWS = 999 /* permutations where all of them are more than 5040 */
};

/* Rows of a target: z (n x q) with class y[i], -1 where it has none; k classes. */
typedef struct place_rows {
    const ferry_block *z;
    const int32_t *y;
    int64_t k;
} place_rows;

/* What kriging needs and leaves. Of k classes; those of index[0 .. m) are both labelled here
 * and known to the source. */
typedef struct place_fit {
    int64_t k, m;
    int64_t *index;     /* k, of which m are used */
    double *count;      /* k: labelled rows */
    uint8_t *source;    /* k: whether the source has the class */
    double *m0;         /* q: mean of all rows */
    ferry_block *y;     /* m x q: seen means less m0 */
    ferry_block *means; /* k x q; a class that neither side knows has no mean (known 0) */
    uint8_t *known;     /* k */
    double r2, p;
    int64_t permutations;
} place_fit;
void ferry_i_placing_fit_clear(place_fit *f);

/* ---- solve.c ---- */

/* B (k x k) of source rows; rows and columns of classes without rows are those of I. */
ferry_status ferry_i_placing_gram(ferry_ctx *ctx, const place_rows *s, ferry_small **b);
/* Means of all classes that the source (has: k) or the labels know. f starts zeroed. */
ferry_status ferry_i_placing_krige(ferry_ctx *ctx, const place_rows *t,
                                   const ferry_small *b, const uint8_t *has, place_fit *f);
/* f->r2, f->p: leave-one-class-out, and how often permuted names do as well. */
ferry_status ferry_i_placing_test(ferry_ctx *ctx, const ferry_small *b, ferry_rng *rng,
                                  place_fit *f);
/* f->means moved by two Lloyd steps over all rows, labelled ones fixed. */
ferry_status ferry_i_placing_lloyd(ferry_ctx *ctx, const place_rows *t, place_fit *f);
/* seed[i] (n) <- the missing class that row i is a seed of, as a bit each would be too many:
 * seeds are pairs (row, class), *n of them, new. */
ferry_status ferry_i_placing_seeds(ferry_ctx *ctx, const place_rows *t, const place_fit *f,
                                   int64_t **row, int32_t **cls, int64_t *n);
/* The known class with the nearest mean to row x of q numbers. */
int32_t ferry_i_placing_nearest(const place_fit *f, int64_t q, const double *x);

/* ---- spread.c ---- */

/* f (n x k) <- (I - alpha S)^-1 Y, columns divided by their sums: S the normalised graph of
 * nearest neighbours with weights exp(-D^2 / width), Y the labels and seeds. Rows that
 * nothing reaches are 0. *width: the median of D^2. */
ferry_status ferry_i_placing_spread(ferry_ctx *ctx, const place_rows *t, int64_t neighbours,
                                    int64_t n_seeds, const int64_t *row, const int32_t *cls,
                                    double *width, ferry_block *f);

/* ---- model.c ---- */

/* From prepared views to rows on the axes. */
typedef struct place_axes {
    int64_t cols, q;
    double *shift;  /* cols: column means */
    double factor;  /* 1 / root mean square length of the projected rows */
    ferry_block *u; /* cols x q */
} place_axes;
void ferry_i_placing_axes_clear(place_axes *a);
/* Principal axes of r, whose columns are all its views' side by side. */
ferry_status ferry_i_placing_axes(ferry_ctx *ctx, const ferry_rows *r, place_axes *a);
/* z (new, r->n x q) <- rows on the axes. */
ferry_status ferry_i_placing_project(ferry_ctx *ctx, const ferry_rows *r,
                                     const place_axes *a, ferry_block **z);

/* What is kept: the target's rows on their axes with their answers; a new row asks its
 * nearest among them. */
typedef struct place_model {
    int64_t k, neighbours;
    double width;
    ferry_prepared *prepared;
    place_axes axes;
    ferry_block *z, *answer; /* n x q, n x k */
    int32_t *group; /* k: 0, or the number of the group that a class without a name is */
} place_model;

/* As the members of ferry_method of these names. */
void ferry_i_placing_free(void *state);
ferry_status ferry_i_placing_predict(ferry_ctx *ctx, const void *state,
                                     const ferry_domain *d, ferry_prediction *p);
void ferry_i_placing_file(ferry_io *io, void *state);

#endif
