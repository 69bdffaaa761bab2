/* Rows of doubles rounded to floats: products that need only be near, at half the bytes. How near is known: with the
 * lengths |a| and |x| before rounding
 *
 *   |product - <a, x>| <= FERRY_ROUNDED (|a| + FERRY_ROUNDED_LEAST) (|x| + FERRY_ROUNDED_LEAST),
 *
 * whatever the CPU, at most 2^31 numbers long. With u = 2^-24, two roundings of the factors, one of their product and 33
 * of a sum (at most 32 numbers are added up as floats, and two of these; the rest as doubles) are 36 u sum |a_j x_j|, at
 * most 2.15e-6 |a| |x|. What is left of 2.5e-6 has room for the roundings of sums of doubles; LEAST is for numbers below
 * the floats. Beyond these the product is infinite or NaN, so that a comparison must not hold for either.
 * Nothing can fail, so that no context is needed. */
#ifndef FERRY_LINALG_ROUNDED_H
#define FERRY_LINALG_ROUNDED_H

#include <stdint.h>

#define FERRY_ROUNDED 2.5e-6
#define FERRY_ROUNDED_LEAST 1e-9

/* to (n) <- v; v'v, which may differ between CPUs in its last bits. */
double ferry_i_round_row(int64_t n, const double *v, float *to);
/* out[i] <- about <a_i, x> for the rows of a (rows x d). O(rows d). */
void ferry_i_rounded_dots(int64_t rows, int64_t d, const float *a, const float *x,
                          double *out);

#endif
