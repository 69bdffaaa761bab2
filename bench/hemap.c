/* The thesis's linear problem at N = 5000, m = 1000, n = 2000 (bench/hemap.sh): the k top
 * eigenvectors of the 10000 x 10000 matrix A without forming it. The data come from a file
 * of doubles, T then S, so that the peer solves the same problem.
 *
 * usage: bench_hemap DATA N m n k THREADS
 */
#include <stdio.h>
#include <stdlib.h>

#include "ferry/ferry.h"
#include "methods/hemap/hemap.h"

static ferry_matrix *read_matrix(ferry_ctx *ctx, FILE *f, int64_t rows, int64_t cols)
{
    ferry_matrix *x = NULL;

    if (ferry_i_matrix_dense(ctx, rows, cols, &x) != FERRY_OK) exit(1);
    if (fread(x->dense, sizeof *x->dense, (size_t)(rows * cols), f) !=
        (size_t)(rows * cols)) {
        (void)fprintf(stderr, "bench_hemap: the data file is too short\n");
        exit(1);
    }
    return x;
}

int main(int argc, char **argv)
{
    ferry_ctx *ctx = NULL;
    FILE *f = argc == 7 ? fopen(argv[1], "rb") : NULL;
    ferry_block *bt = NULL, *bs = NULL;
    double best = 1e9, values[64];
    int64_t rank = 0;

    if (!f || ferry_ctx_new(&ctx) != FERRY_OK) {
        (void)fprintf(stderr, "usage: bench_hemap DATA N m n k THREADS\n");
        return 2;
    }
    const int64_t n = atoll(argv[2]), k = atoll(argv[5]);
    ferry_matrix *t = read_matrix(ctx, f, n, atoll(argv[3]));
    ferry_matrix *s = read_matrix(ctx, f, n, atoll(argv[4]));
    const hemap_problem p = {t, s, NULL, NULL, 1, 1};
    if (k > 64 || ferry_ctx_set_threads(ctx, atoi(argv[6])) != FERRY_OK ||
        ferry_i_block_new(ctx, n, k, &bt) != FERRY_OK ||
        ferry_i_block_new(ctx, n, k, &bs) != FERRY_OK)
        return 1;
    for (int i = 0; i < 3; i++) {
        const double begin = ferry_i_clock();
        if (ferry_i_hemap_spectral(ctx, &p, k, values, bt, bs, &rank) != FERRY_OK) {
            (void)fprintf(stderr, "bench_hemap: %s\n", ferry_message(ctx));
            return 1;
        }
        const double took = ferry_i_clock() - begin;
        if (took < best) best = took;
    }
    printf("%.6g", best);
    for (int64_t j = 0; j < k; j++)
        printf(" %.15g", values[j]);
    printf("\n");
    FERRY_FREE(bs, bt);
    ferry_i_matrix_free(s);
    ferry_i_matrix_free(t);
    ferry_ctx_free(ctx);
    (void)fclose(f);
    return 0;
}
