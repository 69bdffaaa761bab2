/* coot and fgw at full size (bench/transport.sh): data from a file of doubles,
 * X then Y, so that the peer solves the same.
 *
 * usage: bench_transport coot|fgw DATA N M D E THREADS      prints seconds and
 * the objective
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ferry/ferry.h"
/* their insides */
#define MOST COOT_MOST
#define solve coot_solve
#include "methods/relatives/coot.c"
#undef MOST
#undef solve
#include "methods/relatives/fgw.c"

typedef struct job {
    FILE *f;
    bool coot;
    int64_t n, m, d, e;
} job;

static block read_block(scope *s, FILE *f, int64_t n, int64_t k)
{
    const block x = block_new(s, HERE(n), n, k);

    if (fread(x.at, sizeof(double), (size_t)(n * k), f) != (size_t)(n * k))
        scope_fail(s, FERRY_EDATA, "the data file is too short");
    return x;
}

static view view_of(scope *s, block x)
{
    return (view){.name = "x", .x = matrix_of(s, x)};
}

static void run(scope *s, void *arg)
{
    const job *j = arg;
    const block x = read_block(s, j->f, j->n, j->d), y = read_block(s, j->f, j->m, j->e);
    int64_t *rows = NEW(s, int64_t, j->n + j->m);
    double now = 0;

    for (int64_t i = 0; i < j->n + j->m; i++)
        rows[i] = i;
    const double begin = ferry_i_clock();
    if (j->coot) {
        const coot_options o = {.labels = 1, .tol = 1e-9, .iterations = 100};
        coot c = {.x = x, .y = y};
        now = coot_solve(s, &o, &c);
    } else {
        const fgw_options o = {.alpha = 1, .tol = 1e-9, .iterations = 10000};
        const view vx = view_of(s, x), vy = view_of(s, y);
        fgw f = {.c = distances(s, &vx, j->n, rows),
                 .d = distances(s, &vy, j->m, rows),
                 .other = NEW(s, uint8_t, j->n * j->m),
                 .alpha = o.alpha};
        now = solve(s, &o, &f);
    }
    printf("%.6g %.17g\n", ferry_i_clock() - begin, now);
}

int main(int argc, char **argv)
{
    ferry_ctx *ctx = NULL;
    FILE *f = argc == 8 ? fopen(argv[2], "rb") : NULL;

    if (!f || ferry_ctx_new(&ctx) != FERRY_OK) {
        (void)fprintf(stderr, "usage: bench_transport coot|fgw DATA N M D E THREADS\n");
        return 2;
    }
    job j = {f,
             argv[1][0] == 'c',
             atoll(argv[3]),
             atoll(argv[4]),
             atoll(argv[5]),
             atoll(argv[6])};
    ferry_status st = ferry_ctx_set(ctx, "threads", argv[7]);
    if (st == FERRY_OK) st = scope_run(ctx, run, &j);
    if (st != FERRY_OK) (void)fprintf(stderr, "bench_transport: %s\n", ferry_message(ctx));
    ferry_ctx_free(ctx);
    (void)fclose(f);
    return st != FERRY_OK;
}
