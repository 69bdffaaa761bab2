/* CSR times block at the size the issue names: n = 100k, d = 50k, 10M entries, k = 2,
 * 8, 32.
 *
 * Every product moves at least the matrix (12 bytes an entry and the row starts), B once
 * and Y twice (read and written). That over the time, against a STREAM triad measured in
 * the same run with as many threads, is the share of the memory bandwidth. The columns of
 * the matrix are uniformly random, the hard case: neighbouring entries never share a row of
 * B.
 *
 * usage: bench_sparse [file with the lines of sparse_peer.py]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ferry/ferry.h"
#include "linalg/linalg.h"

enum { ROWS = 100000, COLS = 50000, PER_ROW = 100, TRIAD = 20000000, TIMES = 25 };

static int by_value(const void *a, const void *b)
{
    const int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;

    return (i > j) - (i < j);
}

/* Columns of a row: COLS u^skew for uniform u, all different. skew 1 is uniform; 3 puts
 * half of the entries into an eighth of the columns, as words of a text do. */
static ferry_matrix *random_csr(ferry_ctx *ctx, int skew)
{
    static int64_t taken[COLS]; /* row + 1 that took the column last */
    ferry_matrix *x = NULL;
    ferry_rng rng;

    if (ferry_i_matrix_csr(ctx, ROWS, COLS, (int64_t)ROWS * PER_ROW, &x) != FERRY_OK)
        exit(1);
    memset(taken, 0, sizeof taken);
    ferry_i_rng_seed(&rng, 1, 1);
    for (int64_t i = 0; i < ROWS; i++) {
        int32_t *row = x->index + i * PER_ROW;
        x->start[i + 1] = (i + 1) * PER_ROW;
        for (int e = 0; e < PER_ROW;) {
            const int32_t c = (int32_t)(COLS * pow(ferry_i_rng_real(&rng), skew));
            if (taken[c] == i + 1) continue;
            taken[c] = i + 1;
            row[e++] = c;
        }
        qsort(row, PER_ROW, sizeof *row, by_value);
        for (int e = 0; e < PER_ROW; e++)
            x->value[i * PER_ROW + e] = ferry_i_rng_normal(&rng);
    }
    return x;
}

/* Bytes a second of a = b + s c, counted as STREAM does: three arrays. */
static double triad(int threads)
{
    double *a = malloc(sizeof *a * TRIAD), *b = malloc(sizeof *b * TRIAD),
           *c = malloc(sizeof *c * TRIAD), best = 1e9;

    if (!a || !b || !c) exit(1);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < TRIAD; i++) {
        a[i] = 0;
        b[i] = (double)i;
        c[i] = 1;
    }
    for (int t = 0; t < TIMES; t++) {
        const double start = ferry_i_clock();
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t i = 0; i < TRIAD; i++)
            a[i] = b[i] + 3.0 * c[i];
        const double seconds = ferry_i_clock() - start;
        if (seconds < best) best = seconds;
    }
    if (a[TRIAD - 1] != b[TRIAD - 1] + 3) exit(1);
    free(a);
    free(b);
    free(c);
    return 24.0 * TRIAD / best;
}

static double time_product(ferry_ctx *ctx, bool trans, const ferry_matrix *x,
                           const ferry_block *b, ferry_block *y)
{
    double best = 1e9;

    for (int t = 0; t < TIMES; t++) {
        const double start = ferry_i_clock();
        if (trans)
            (void)ferry_e(ctx)->tmul(ctx, 1, x, b, 0, y);
        else
            ferry_e(ctx)->mul(ctx, 1, x, b, 0, y);
        const double seconds = ferry_i_clock() - start;
        if (seconds < best) best = seconds;
    }
    return best;
}

/* Seconds that the peer's file gives for a product, or 0. */
static double peer_seconds(const char *path, const char *name, int64_t k)
{
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[256], key[64];
    double seconds, found = 0;
    long long width;

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "%63s %lld %lf", key, &width, &seconds) == 3 &&
            strcmp(key, name) == 0 && width == k)
            found = seconds;
    if (file) fclose(file);
    return found;
}

static void run(ferry_ctx *ctx, const char *name, const ferry_matrix *x, bool trans,
                int64_t k, double bandwidth, const char *peer)
{
    ferry_block *b = NULL, *y = NULL;
    ferry_rng rng;
    const int64_t in = trans ? ROWS : COLS, out = trans ? COLS : ROWS;
    const double bytes =
        12.0 * (double)x->nnz + 8.0 * ROWS + 8.0 * (double)((in + 2 * out) * k);

    if (ferry_i_block_new(ctx, in, k, &b) || ferry_i_block_new(ctx, out, k, &y)) exit(1);
    ferry_i_rng_seed(&rng, 2, 1);
    ferry_i_fill_normal(b, &rng);
    const double seconds = time_product(ctx, trans, x, b, y);
    const double scipy = peer_seconds(peer, trans ? "tmul" : "mul", k);
    printf("%-16s %4lld %8d %8.1f %8.1f %7.0f %%", name, (long long)k,
           ferry_ctx_threads(ctx), 1e3 * seconds, 1e-9 * bytes / seconds,
           100 * bytes / seconds / bandwidth);
    if (scipy > 0 && ferry_ctx_threads(ctx) == 1)
        printf(" %9.1f %6.1fx", 1e3 * scipy, scipy / seconds);
    printf("\n");
    ferry_i_block_free(b);
    ferry_i_block_free(y);
}

int main(int argc, char **argv)
{
    static const int64_t ks[] = {2, 8, 32};
    const char *peer = argc > 1 ? argv[1] : NULL;
    ferry_ctx *ctx = NULL;
    ferry_matrix *x, *indexed, *words;

    if (ferry_ctx_new(&ctx) != FERRY_OK) return 1;
    const int cores = ferry_ctx_threads(ctx);
    x = random_csr(ctx, 1);
    indexed = random_csr(ctx, 1);
    words = random_csr(ctx, 3);
    if (ferry_i_matrix_index(ctx, indexed) != FERRY_OK) return 1;
    printf("sparse products, %d x %d, %lld entries (BLAS core %s)\n", ROWS, COLS,
           (long long)x->nnz, ferry_blas_core());
    for (int threads = 1; threads <= cores; threads += cores > 1 ? cores - 1 : 1) {
        if (ferry_ctx_set_threads(ctx, threads) != FERRY_OK) return 1;
        const double bandwidth = triad(threads);
        printf("triad with %d thread%s: %.1f GB/s\n", threads, threads > 1 ? "s" : "",
               1e-9 * bandwidth);
        printf("%-16s %4s %8s %8s %8s %9s %9s %7s\n", "", "k", "threads", "ms", "GB/s",
               "of triad", "scipy ms", "faster");
        for (int64_t i = 0; i < FERRY_COUNT(ks); i++)
            run(ctx, "XB", x, false, ks[i], bandwidth, peer);
        for (int64_t i = 0; i < FERRY_COUNT(ks); i++)
            run(ctx, "X'B", x, true, ks[i], bandwidth, peer);
        for (int64_t i = 0; i < FERRY_COUNT(ks); i++)
            run(ctx, "X'B, index", indexed, true, ks[i], bandwidth, peer);
        for (int64_t i = 0; i < FERRY_COUNT(ks); i++)
            run(ctx, "XB, like words", words, false, ks[i], bandwidth, NULL);
    }
    ferry_i_matrix_free(x);
    ferry_i_matrix_free(indexed);
    ferry_i_matrix_free(words);
    ferry_ctx_free(ctx);
    return 0;
}
