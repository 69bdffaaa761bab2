/* PCG64: O'Neill's permuted congruential generator, XSL-RR 128/64, with numbered streams
 * ("PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms", 2014).
 *
 *   state <- state * multiplier + inc  (mod 2^128)
 *   output = (hi ^ lo) turned right by the upper 6 bits of the state
 *
 * Every use has a stream of its own, named by a text (ferry_i_rng_for), so that one part of
 * a program that draws more numbers does not change what another draws. The C library's
 * rand would differ from machine to machine. */
#include <math.h>

#include "core/core.h"

__extension__ typedef unsigned __int128 u128;

/* C has no 128-bit literals: such numbers are put together from two halves. */
static u128 make(uint64_t hi, uint64_t lo)
{
    return (u128)hi << 64 | lo;
}

static u128 multiplier(void)
{
    return make(2549297995355413924ULL, 4865540595714422341ULL);
}

/* One step of the congruential generator. */
static void advance(ferry_rng *rng)
{
    const u128 s =
        make(rng->state_hi, rng->state_lo) * multiplier() + make(rng->inc_hi, rng->inc_lo);

    rng->state_hi = (uint64_t)(s >> 64);
    rng->state_lo = (uint64_t)s;
}

/* Two steps with the seed added between: seeds that differ in one bit begin far apart. */
void ferry_i_rng_seed(ferry_rng *rng, uint64_t seed, uint64_t stream)
{
    /* pcg_setseq_128_srandom: the increment must be odd. */
    const u128 inc = make(0, stream) << 1 | 1;
    *rng = (ferry_rng){.inc_hi = (uint64_t)(inc >> 64), .inc_lo = (uint64_t)inc};
    advance(rng);
    const u128 s = make(rng->state_hi, rng->state_lo) + seed;
    rng->state_hi = (uint64_t)(s >> 64);
    rng->state_lo = (uint64_t)s;
    advance(rng);
}

/* FNV-1a: spreads names over stream numbers. */
void ferry_i_rng_for(const ferry_ctx *ctx, ferry_rng *rng, const char *use)
{
    uint64_t h = 14695981039346656037ULL;

    for (const char *c = use; *c; c++)
        h = (h ^ (unsigned char)*c) * 1099511628211ULL;
    for (int i = 0; i < 8; i++)
        h = (h ^ (ctx->repeat >> (8 * i) & 255)) * 1099511628211ULL;
    ferry_i_rng_seed(rng, ctx->seed, h);
}

/* XSL-RR: fold the halves, then turn by an amount that the best bits of the state choose.
 * -r & 63 keeps the shift below 64 when r is 0. */
uint64_t ferry_i_rng_u64(ferry_rng *rng)
{
    advance(rng);
    const uint64_t x = rng->state_hi ^ rng->state_lo;
    const unsigned r = (unsigned)(rng->state_hi >> 58);
    return x >> r | x << (-r & 63);
}

/* x * n / 2^64 for x of 64 bits; the 2^64 mod n lowest remainders are rejected, which is
 * what makes all values equally likely. The division is needed only in the rare first
 * case. */
uint64_t ferry_i_rng_below(ferry_rng *rng, uint64_t n)
{
    /* Lemire's multiply and reject: no bias. */
    u128 m = (u128)ferry_i_rng_u64(rng) * n;
    if ((uint64_t)m < n) {
        const uint64_t least = -n % n;
        while ((uint64_t)m < least)
            m = (u128)ferry_i_rng_u64(rng) * n;
    }
    return (uint64_t)(m >> 64);
}

/* The upper 53 bits, so that every multiple of 2^-53 below 1 is equally likely. */
double ferry_i_rng_real(ferry_rng *rng)
{
    return (double)(ferry_i_rng_u64(rng) >> 11) * 0x1p-53;
}

/* Normals come in pairs; the second is kept for the next call. */
double ferry_i_rng_normal(ferry_rng *rng)
{
    if (rng->has_spare) {
        rng->has_spare = false;
        return rng->spare;
    }
    for (;;) { /* Marsaglia's polar method */
        const double a = 2 * ferry_i_rng_real(rng) - 1, b = 2 * ferry_i_rng_real(rng) - 1;
        const double s = a * a + b * b;
        if (s >= 1 || s == 0) continue;
        const double f = sqrt(-2 * log(s) / s);
        rng->spare = b * f;
        rng->has_spare = true;
        return a * f;
    }
}

/* Every order is equally likely: a[i] is drawn among those not yet placed. */
void ferry_i_rng_shuffle(ferry_rng *rng, int64_t n, int64_t *a)
{
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = (int64_t)ferry_i_rng_below(rng, (uint64_t)i + 1);
        const int64_t t = a[i];
        a[i] = a[j];
        a[j] = t;
    }
}
