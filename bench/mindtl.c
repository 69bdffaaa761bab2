/* mindtl's masked sweep, its assignment, and the sweep of mf.
 *
 * One masked sweep U, V, B goes over the ratings three times. Each time it must read, for
 * every rating, the index (4 bytes), in two of them the value (8), and the row of the
 * factor that the index names (8 k): 28 + 24 k bytes a rating, 508 for k = l = 20; besides,
 * the factors and their sums once. Two bounds are measured in the same run with as many
 * threads: triad   those bytes at the bandwidth of a STREAM triad reads   a loop that reads
 * the same bytes in the same order and only adds them up Rows of a factor come from the
 * caches more often than not, so that the first one can be beaten; the second cannot.
 *
 * Times are of the processor, shared out over the threads, so that a busy machine changes
 * them little.
 *
 * usage: bench_mindtl [THREADS] */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ferry/ferry.h"
#include "methods/mindtl/mindtl.h"

enum { TRIAD = 20000000, TIMES = 5, K = 20 };

static int threads = 1;

static double seconds_now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return ((double)t.tv_sec + 1e-9 * (double)t.tv_nsec) / threads;
}

static int by_value(const void *a, const void *b)
{
    const int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;

    return (i > j) - (i < j);
}

/* n users x m items, `each` ratings 1..5 a user; popular items are drawn more often. */
static observed ratings(ferry_ctx *ctx, int64_t n, int64_t m, int64_t each)
{
    int64_t *taken = calloc((size_t)m, sizeof *taken);
    observed o = {NULL, NULL};
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 1, 1);
    if (!taken || ferry_i_matrix_csr(ctx, n, m, n * each, &o.x) != FERRY_OK) exit(1);
    for (int64_t i = 0; i < n; i++) {
        int32_t *row = o.x->index + i * each;
        o.x->start[i + 1] = (i + 1) * each;
        for (int64_t e = 0; e < each;) {
            const double z = ferry_i_rng_real(&rng);
            const int32_t c = (int32_t)((double)m * z * z);
            if (taken[c] == i + 1) continue;
            taken[c] = i + 1;
            row[e++] = c;
        }
        qsort(row, (size_t)each, sizeof *row, by_value);
        for (int64_t e = 0; e < each; e++)
            o.x->value[i * each + e] = 1 + (double)ferry_i_rng_below(&rng, 5);
    }
    if (ferry_i_matrix_transpose(ctx, o.x, &o.xt) != FERRY_OK) exit(1);
    free(taken);
    return o;
}

/* Bytes a second of a = b + s c, counted as STREAM does: three arrays. */
static double triad(void)
{
    double *a = malloc(sizeof *a * TRIAD), *b = malloc(sizeof *b * TRIAD),
           *c = malloc(sizeof *c * TRIAD), best = 1e9;

    if (!a || !b || !c) exit(1);
#pragma omp parallel for num_threads(threads)
    for (int64_t i = 0; i < TRIAD; i++) {
        a[i] = 0;
        b[i] = (double)i;
        c[i] = 1;
    }
    for (int t = 0; t < 2 * TIMES; t++) {
        const double start = seconds_now();
#pragma omp parallel for num_threads(threads)
        for (int64_t i = 0; i < TRIAD; i++)
            a[i] = b[i] + 3.0 * c[i];
        const double seconds = seconds_now() - start;
        if (seconds < best) best = seconds;
    }
    if (a[TRIAD - 1] != b[TRIAD - 1] + 3) exit(1);
    free(a);
    free(b);
    free(c);
    return 24.0 * TRIAD / best;
}

/* Adds up what a pass must read: index, value and row of c of every rating. */
static double reads(const ferry_matrix *x, const ferry_block *c, bool values)
{
    double total = 0;

#pragma omp parallel for num_threads(threads) schedule(dynamic, 64) reduction(+ : total)
    for (int64_t i = 0; i < x->rows; i++) {
        double sum[K] = {0}, value = 0;
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            const double *row = c->data + (int64_t)x->index[e] * K;
            if (e + 16 < x->nnz) {
                const double *next = c->data + (int64_t)x->index[e + 16] * K;
                __builtin_prefetch(next);
                __builtin_prefetch(next + 8);
                __builtin_prefetch(next + 16);
            }
            for (int q = 0; q < K; q++)
                sum[q] += row[q];
            if (values) value += x->value[e];
        }
        for (int q = 0; q < K; q++)
            value += sum[q];
        total += value;
    }
    return total;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static void sweep(ferry_ctx *ctx, const observed *x)
{
    const double bandwidth = triad();
    const double bytes = (28.0 + 24 * K) * (double)x->x->nnz +
                         8.0 * K * 10 * (double)(x->x->rows + x->x->cols);
    double best = 1e9, bound = 1e9, sum = 0;
    mindtl_factors f;
    mindtl_work w;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 2, 1);
    if (ferry_i_mindtl_factors_new(ctx, x->x->rows, x->x->cols, K, K, &f)) exit(1);
    if (ferry_i_mindtl_work_new(ctx, x, K, K, &w)) exit(1);
    ferry_i_fill_uniform(f.u, &rng, 0.1, 1.1);
    ferry_i_fill_uniform(f.v, &rng, 0.1, 1.1);
    for (int64_t i = 0; i < (int64_t)K * K; i++)
        f.b->data[i] = 0.5 + ferry_i_rng_real(&rng);
    for (int t = 0; t < 2 * TIMES; t++) {
        double start = seconds_now();
        ferry_i_mindtl_sweep(ctx, x, RULE_PAPER, &f, &w);
        best = least(best, seconds_now() - start);
        start = seconds_now();
        sum += reads(x->x, f.v, true) + reads(x->xt, f.u, true) + reads(x->x, f.v, false);
        bound = least(bound, seconds_now() - start);
    }
    if (!(sum > 0)) exit(1);
    printf("masked sweep, %lld ratings, k = l = %d, threads %d: %.0f ms\n",
           (long long)x->x->nnz, K, threads, 1e3 * best);
    printf("    triad %.1f GB/s, %.2f GB at it %.0f ms: %.0f %% of that bound\n",
           1e-9 * bandwidth, 1e-9 * bytes, 1e3 * bytes / bandwidth,
           100 * bytes / bandwidth / best);
    printf("    the same reads alone %.0f ms: %.0f %% of that bound\n", 1e3 * bound,
           100 * bound / best);
    ferry_i_mindtl_work_clear(&w);
    ferry_i_mindtl_factors_clear(&f);
}

/* Users to groups: time over ratings + users k l stays the same when both double. */
static void assignment(ferry_ctx *ctx, int64_t n, int64_t m, int64_t each)
{
    observed x = ratings(ctx, n, m, each);
    int32_t *u = calloc((size_t)n, sizeof *u), *v = calloc((size_t)m, sizeof *v);
    double r[K * K], best = 1e9;
    const double one = 1, work = (double)x.x->nnz + (double)n * K * K;
    mindtl_part part = {K, K, r, u, v};
    ferry_rng rng;

    if (!u || !v) exit(1);
    ferry_i_rng_seed(&rng, 3, 1);
    for (int i = 0; i < K * K; i++)
        r[i] = 1 + 4 * ferry_i_rng_real(&rng);
    for (int64_t j = 0; j < m; j++)
        v[j] = (int32_t)ferry_i_rng_below(&rng, K);
    for (int t = 0; t < TIMES; t++) {
        const double start = seconds_now();
        if (ferry_i_mindtl_assign(ctx, x.x, false, 1, &part, 0, &one, false, false))
            exit(1);
        const double seconds = seconds_now() - start;
        if (seconds < best) best = seconds;
    }
    printf("assignment, %8lld ratings of %6lld users: %7.2f ms, %.2f ns for each of "
           "ratings + users k l\n",
           (long long)x.x->nnz, (long long)n, 1e3 * best, 1e9 * best / work);
    free(v);
    free(u);
    ferry_i_observed_clear(&x);
}

static void als(ferry_ctx *ctx, const observed *x)
{
    ferry_block *p = NULL, *q = NULL;
    double best = 1e9;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 4, 1);
    if (ferry_i_block_new(ctx, x->x->rows, K, &p) ||
        ferry_i_block_new(ctx, x->x->cols, K, &q))
        exit(1);
    ferry_i_fill_normal(q, &rng);
    for (int t = 0; t < 2; t++) {
        const double start = seconds_now();
        if (ferry_e(ctx)->ridge_rows(ctx, x->x, q, 16, false, p, NULL) ||
            ferry_e(ctx)->ridge_rows(ctx, x->xt, p, 16, false, q, NULL))
            exit(1);
        const double seconds = seconds_now() - start;
        if (seconds < best) best = seconds;
    }
    printf("mf sweep, %lld ratings, rank %d: %.2f s\n", (long long)x->x->nnz, K, best);
    FERRY_FREE(p, q);
}

int main(int argc, char **argv)
{
    ferry_ctx *ctx = NULL;

    if (argc > 1) threads = atoi(argv[1]);
    if (ferry_ctx_new(&ctx) != FERRY_OK || ferry_ctx_set_threads(ctx, threads) != FERRY_OK)
        return 1;
    for (int64_t n = 10000; n <= 40000; n *= 2)
        assignment(ctx, n, 10000, 100);
    observed x = ratings(ctx, 100000, 10000, 100);
    sweep(ctx, &x);
    als(ctx, &x);
    ferry_i_observed_clear(&x);
    ferry_ctx_free(ctx);
    return 0;
}
