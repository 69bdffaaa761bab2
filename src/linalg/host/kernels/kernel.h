/* For the kernels, and for nothing else: names and vectors of the instruction set that the
 * file is compiled for.
 *
 * LANES is the number of doubles in a vector that the CPU holds in one register. A wider
 * type would compile as well, but the compiler then sends it through the stack, ten times
 * slower: so every kernel is written over LANES, or over the quads below. */
#ifndef FERRY_LINALG_KERNEL_H
#define FERRY_LINALG_KERNEL_H

#include "linalg/host/kernels.h"

/* Sanitizers: the plainest code. */
#if defined(__SANITIZE_ADDRESS__)
#define FERRY_CHECKED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define FERRY_CHECKED
#endif
#endif

/* KERNEL(name): name_avx2 and so on, FERRY_ISA_SUFFIX being what the build says. */
#if !defined(FERRY_ISA_SUFFIX)
#define FERRY_ISA_SUFFIX baseline
#endif
#define KERNEL_PASTE(name, suffix) ferry_i_##name##_##suffix
#define KERNEL_NAME(name, suffix) KERNEL_PASTE(name, suffix)
#define KERNEL(name) KERNEL_NAME(name, FERRY_ISA_SUFFIX)

#define KERNEL_DECLARE(name, type) type KERNEL(name);
FERRY_KERNELS(KERNEL_DECLARE)
#undef KERNEL_DECLARE

/* Parts of a kernel become one function with it, and short loops are written out: only so
 * do their arrays of vectors stay in registers. Sanitizers would take minutes over that. */
#define INLINE static inline __attribute__((always_inline))
#if defined(FERRY_CHECKED)
#define UNROLL
#elif defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#if defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX__)
#define LANES 4
#else
#define LANES 2
#endif
/* Registers for vectors: tiles are cut so that their sums fit. */
#if defined(__AVX512F__) || defined(__aarch64__)
#define REGISTERS 32
#else
#define REGISTERS 16
#endif

/* Vectors in memory, wherever they begin. */
typedef double v1;
typedef double v2 __attribute__((vector_size(16), aligned(8), may_alias));
typedef double v4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef double v8 __attribute__((vector_size(64), aligned(8), may_alias));
typedef double vec __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef int64_t ivec __attribute__((vector_size(8 * LANES), may_alias));

#define VEC_LOAD(x) (*(const vec *)(const void *)(x))
#define VEC_STORE(to, x) (*(vec *)(void *)(to) = (x))
/* Per lane: yes where the test holds. */
#define VEC_CHOOSE(test, yes, no) ((vec)(((test) & (ivec)(yes)) | (~(test) & (ivec)(no))))

/* ((s0 + s1) + (s2 + s3)) + ...: always in this order.
 * The order differs between widths, so a kernel that promises the same bits on every CPU
 * uses quads instead. */
INLINE double vec_sum(vec s)
{
    double sum[LANES];

    VEC_STORE(sum, s);
#if LANES == 8
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) +
           ((sum[1] + sum[5]) + (sum[3] + sum[7]));
#elif LANES == 4
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
#else
    return sum[0] + sum[1];
#endif
}

/* A quad is four doubles whatever the instruction set, in as many registers as it takes: for
 * kernels that promise the same bits on every CPU and so must add in the same order. */
#if LANES >= 4
typedef v4 quad;
INLINE quad quad_load(const double *x)
{
    return *(const v4 *)(const void *)x;
}
INLINE void quad_store(double *to, quad x)
{
    *(v4 *)(void *)to = x;
}
INLINE quad quad_add(quad a, quad b)
{
    return a + b;
}
INLINE quad quad_mul(quad a, quad b)
{
    return a * b;
}
INLINE quad quad_times(double f, quad a)
{
    return f * a;
}
INLINE double quad_sum(quad a)
{
    return (a[0] + a[1]) + (a[2] + a[3]);
}
INLINE double quad_at(quad a, int i)
{
    return a[i];
}
#else
typedef struct quad {
    v2 lo, hi;
} quad;
INLINE quad quad_load(const double *x)
{
    return (quad){*(const v2 *)(const void *)x, *(const v2 *)(const void *)(x + 2)};
}
INLINE void quad_store(double *to, quad x)
{
    *(v2 *)(void *)to = x.lo;
    *(v2 *)(void *)(to + 2) = x.hi;
}
INLINE quad quad_add(quad a, quad b)
{
    return (quad){a.lo + b.lo, a.hi + b.hi};
}
INLINE quad quad_mul(quad a, quad b)
{
    return (quad){a.lo * b.lo, a.hi * b.hi};
}
INLINE quad quad_times(double f, quad a)
{
    return (quad){f * a.lo, f * a.hi};
}
INLINE double quad_sum(quad a)
{
    return (a.lo[0] + a.lo[1]) + (a.hi[0] + a.hi[1]);
}
INLINE double quad_at(quad a, int i)
{
    return i < 2 ? a.lo[i] : a.hi[i - 2];
}
#endif
#define QUAD_ZERO ((quad){0})

#endif
