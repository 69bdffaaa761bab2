/* The masked sweep of mindtl-paper, its assignment, and the sweep of mf-als.
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
#include "learn/groups.h"
#include "learn/onmtf.h"

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
static ratings drawn(scope *s, int64_t n, int64_t m, int64_t each)
{
    int64_t *taken = NEW(s, int64_t, m);
    ferry_matrix *x = NULL;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 1, 1);
    scope_check(s, ferry_i_matrix_csr(scope_ctx(s), n, m, n * each, &x));
    ratings r = {.users = n, .items = m, .x = matrix_own(s, x)};
    for (int64_t i = 0; i < n; i++) {
        int32_t *row = x->index + i * each;
        x->start[i + 1] = (i + 1) * each;
        for (int64_t e = 0; e < each;) {
            const double z = ferry_i_rng_real(&rng);
            const int32_t c = (int32_t)((double)m * z * z);
            if (taken[c] == i + 1) continue;
            taken[c] = i + 1;
            row[e++] = c;
        }
        qsort(row, (size_t)each, sizeof *row, by_value);
        for (int64_t e = 0; e < each; e++)
            x->value[i * each + e] = 1 + (double)ferry_i_rng_below(&rng, 5);
    }
    r.xt = transpose(s, r.x, HERE(m), m);
    return r;
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
static double reads(const ferry_matrix *x, block c, bool values)
{
    double total = 0;

#pragma omp parallel for num_threads(threads) schedule(dynamic, 64) reduction(+ : total)
    for (int64_t i = 0; i < x->rows; i++) {
        double all[K] = {0}, value = 0;
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            const double *row = c.at + (int64_t)x->index[e] * K;
            if (e + 16 < x->nnz) {
                const double *next = c.at + (int64_t)x->index[e + 16] * K;
                __builtin_prefetch(next);
                __builtin_prefetch(next + 8);
                __builtin_prefetch(next + 16);
            }
            for (int q = 0; q < K; q++)
                all[q] += row[q];
            if (values) value += x->value[e];
        }
        for (int q = 0; q < K; q++)
            value += all[q];
        total += value;
    }
    return total;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static void sweep(scope *s, const ratings *x)
{
    const double bandwidth = triad();
    const double bytes = (28.0 + 24 * K) * (double)stored(x->x) +
                         8.0 * K * 10 * (double)(x->users + x->items);
    double best = 1e9, bound = 1e9, all = 0;
    onmtf f = onmtf_new(s, x, K, K);
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 2, 1);
    fill_uniform(s, &rng, 0.1, 1.1, f.u);
    fill_uniform(s, &rng, 0.1, 1.1, f.v);
    for (int64_t i = 0; i < (int64_t)K * K; i++)
        f.b.at[i] = 0.5 + ferry_i_rng_real(&rng);
    for (int t = 0; t < 2 * TIMES; t++) {
        double start = seconds_now();
        onmtf_sweep(s, x, RULE_PLAIN, &f);
        best = least(best, seconds_now() - start);
        start = seconds_now();
        all += reads(x->x.m, f.v, true) + reads(x->xt.m, f.u, true) +
               reads(x->x.m, f.v, false);
        bound = least(bound, seconds_now() - start);
    }
    if (!(all > 0)) exit(1);
    printf("masked sweep, %lld ratings, k = l = %d, threads %d: %.0f ms\n",
           (long long)stored(x->x), K, threads, 1e3 * best);
    printf("    triad %.1f GB/s, %.2f GB at it %.0f ms: %.0f %% of that bound\n",
           1e-9 * bandwidth, 1e-9 * bytes, 1e3 * bytes / bandwidth,
           100 * bytes / bandwidth / best);
    printf("    the same reads alone %.0f ms: %.0f %% of that bound\n", 1e3 * bound,
           100 * bound / best);
}

/* Users to groups: time over ratings + users k l stays the same when both double. */
static void assignment(scope *s, int64_t n, int64_t m, int64_t each)
{
    const int64_t mark = scope_mark(s);
    const ratings x = drawn(s, n, m, each);
    double r[K * K], best = 1e9;
    const double one = 1, work = (double)stored(x.x) + (double)n * K * K;
    const grouping g = {K, K, r, NEW(s, int32_t, n), NEW(s, int32_t, m)};
    const assigning a = {.n = 1, .g = &g, .lambda = &one};
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 3, 1);
    for (int i = 0; i < K * K; i++)
        r[i] = 1 + 4 * ferry_i_rng_real(&rng);
    for (int64_t j = 0; j < m; j++)
        g.v[j] = (int32_t)ferry_i_rng_below(&rng, K);
    for (int t = 0; t < TIMES; t++) {
        const double start = seconds_now();
        assign_groups(s, &x, &a);
        best = least(best, seconds_now() - start);
    }
    printf("assignment, %8lld ratings of %6lld users: %7.2f ms, %.2f ns for each of "
           "ratings + users k l\n",
           (long long)stored(x.x), (long long)n, 1e3 * best, 1e9 * best / work);
    scope_release(s, mark);
}

static void als(scope *s, const ratings *x)
{
    const block p = block_new(s, HERE(x->users), x->users, K),
                q = block_new(s, HERE(x->items), x->items, K);
    double best = 1e9;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 4, 1);
    fill_normal(s, &rng, q);
    for (int t = 0; t < 2; t++) {
        const double start = seconds_now();
        ridge_rows(s, x->x, q, 16, false, p, NULL);
        ridge_rows(s, x->xt, p, 16, false, q, NULL);
        best = least(best, seconds_now() - start);
    }
    printf("mf-als sweep, %lld ratings, rank %d: %.2f s\n", (long long)stored(x->x), K,
           best);
}

static void measure(scope *s, void *arg)
{
    (void)arg;
    for (int64_t n = 10000; n <= 40000; n *= 2)
        assignment(s, n, 10000, 100);
    const ratings x = drawn(s, 100000, 10000, 100);
    sweep(s, &x);
    als(s, &x);
}

int main(int argc, char **argv)
{
    ferry_ctx *ctx = NULL;

    if (argc > 1) threads = atoi(argv[1]);
    if (ferry_ctx_new(&ctx) != FERRY_OK ||
        ferry_i_ctx_set_threads(ctx, threads) != FERRY_OK)
        return 1;
    const ferry_status st = scope_run(ctx, measure, NULL);
    ferry_ctx_free(ctx);
    return st != FERRY_OK;
}
