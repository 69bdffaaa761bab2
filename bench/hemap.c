/* The thesis's linear problem at N = 5000, m = 1000, n = 2000 (bench/hemap.sh): the k top
 * eigenvectors of the 10000 x 10000 matrix A without forming it. The data come from a file
 * of doubles, T then S, so that the peer solves the same problem.
 *
 * usage: bench_hemap DATA N m n k THREADS
 */
#include <stdio.h>
#include <stdlib.h>

#include "ferry/ferry.h"
#include "methods/hemap_paper.c" /* its insides */

typedef struct job {
    FILE *f;
    int64_t n, m, d, k;
} job;

static matrix read_matrix(scope *s, FILE *f, int64_t rows, int64_t cols)
{
    const matrix x = matrix_dense(s, HERE(rows), rows, cols);

    if (fread(x.m->dense, sizeof(double), (size_t)(rows * cols), f) !=
        (size_t)(rows * cols))
        scope_fail(s, FERRY_EDATA, "the data file is too short");
    return x;
}

static void solve(scope *s, void *arg)
{
    const job *j = arg;
    const hemap_problem p = {.t = read_matrix(s, j->f, j->n, j->m),
                             .s = read_matrix(s, j->f, j->n, j->d),
                             .beta = 1,
                             .theta = 1,
                             .ft = 1,
                             .fs = 1};
    double best = 1e9;
    projections b = {0};

    for (int i = 0; i < 3; i++) {
        const double begin = ferry_i_clock();
        b = spectral(s, &p, j->k);
        best = fmin(best, ferry_i_clock() - begin);
    }
    printf("%.6g", best);
    for (int64_t i = 0; i < j->k; i++)
        printf(" %.15g", b.value[i]);
    printf("\n");
}

int main(int argc, char **argv)
{
    ferry_ctx *ctx = NULL;
    FILE *f = argc == 7 ? fopen(argv[1], "rb") : NULL;

    if (!f || ferry_ctx_new(&ctx) != FERRY_OK) {
        (void)fprintf(stderr, "usage: bench_hemap DATA N m n k THREADS\n");
        return 2;
    }
    job j = {f, atoll(argv[2]), atoll(argv[3]), atoll(argv[4]), atoll(argv[5])};
    ferry_status st = ferry_ctx_set(ctx, "threads", argv[6]);
    if (st == FERRY_OK) st = scope_run(ctx, solve, &j);
    if (st != FERRY_OK) (void)fprintf(stderr, "bench_hemap: %s\n", ferry_message(ctx));
    ferry_ctx_free(ctx);
    (void)fclose(f);
    return st != FERRY_OK;
}
