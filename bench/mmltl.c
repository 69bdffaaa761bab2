/* M-MLTL: the U step against scipy's Sylvester solver, the fit of the subspace against the
 * one product that forms G, RankSVM against numpy and over growing n.
 *
 * usage: bench_mmltl [file with the lines of mmltl_peer.py]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ferry/ferry.h"
#include "learn/learn.h"
#include "methods/mmltl/mmltl.h"

/* CPU time of this one thread: what else the machine does hardly counts. */
static double cpu_seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

static void need(ferry_ctx *ctx, ferry_status st)
{
    if (st == FERRY_OK) return;
    fprintf(stderr, "%s\n", ferry_message(ctx));
    exit(1);
}

/* Seconds that the peer took for `what`, 0 without. */
static double peer(const char *path, const char *what)
{
    FILE *f = path ? fopen(path, "r") : NULL;
    char name[64];
    double seconds, found = 0;

    while (f && fscanf(f, "%63s %lf", name, &seconds) == 2)
        if (strcmp(name, what) == 0) found = seconds;
    if (f) fclose(f);
    return found;
}

static void print_peer(const char *what, double ours, const char *who, double theirs,
                       double want)
{
    printf("%-52s %10.5f s", what, ours);
    if (theirs > 0)
        printf("   %s %8.3f s   %7.0f x (wanted %g)", who, theirs, theirs / ours, want);
    printf("\n");
}

static ferry_block *random_block(ferry_ctx *ctx, int64_t rows, int64_t k, ferry_rng *rng)
{
    ferry_block *b = NULL;

    need(ctx, ferry_i_block_new(ctx, rows, k, &b));
    ferry_i_fill_normal(b, rng);
    return b;
}

static void bench_u_step(ferry_ctx *ctx, const char *peers)
{
    enum { D = 2048, M = 10, G = 50, TIMES = 50 };
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 1, 1);
    ferry_block *g = random_block(ctx, D, M, &rng), *delta = random_block(ctx, D, 1, &rng);
    ferry_block *v = random_block(ctx, M, G, &rng), *u = random_block(ctx, D, G, &rng);
    const ferry_mmltl p = {g, delta, 30, 1, 1};
    ferry_mmltl_work *w = NULL;
    double best = 1e9;
    need(ctx, ferry_i_mmltl_work_new(ctx, &p, G, &w));
    for (int t = 0; t < TIMES; t++) {
        const double start = cpu_seconds();
        for (int again = 0; again < 20; again++)
            need(ctx, ferry_i_mmltl_u_step(ctx, &p, w, v, u));
        const double took = (cpu_seconds() - start) / 20;
        if (took < best) best = took;
    }
    print_peer("U step, d=2048 m=10 g=50", best, "scipy", peer(peers, "sylvester"), 1000);
    ferry_i_mmltl_work_free(w);
    FERRY_FREE(g, delta, v, u);
}

/* Features 0 .. 1, labels that the first features tell. */
static ferry_matrix *random_data(ferry_ctx *ctx, int64_t n, int64_t d, int64_t m,
                                 ferry_rng *rng, uint8_t *on)
{
    ferry_matrix *x = NULL;

    need(ctx, ferry_i_matrix_dense(ctx, n, d, &x));
    for (int64_t e = 0; e < n * d; e++)
        x->dense[e] = ferry_i_rng_real(rng);
    for (int64_t e = 0; e < n * m; e++)
        on[e] = x->dense[e / m * d + e % m] + 0.3 * ferry_i_rng_real(rng) > 1.05;
    return x;
}

/* The whole of ferry_fit(): from two dense domains to a model; epochs NULL: the default. */
static double whole_seconds(ferry_ctx *ctx, const ferry_task *task, const char *epochs)
{
    double best = 1e9;

    for (int t = 0; t < 3; t++) {
        ferry_opts *opts = NULL;
        ferry_model *model = NULL;
        need(ctx, ferry_opts_new(ctx, &opts));
        if (epochs) need(ctx, ferry_opts_set(ctx, opts, "epochs", epochs));
        const double start = cpu_seconds();
        need(ctx, ferry_fit(ctx, task, "mmltl", opts, &model, NULL));
        const double took = cpu_seconds() - start;
        if (took < best) best = took;
        ferry_model_free(model);
        ferry_opts_free(opts);
    }
    return best;
}

static ferry_task *whole_task(ferry_ctx *ctx, const ferry_matrix *xs,
                              const ferry_matrix *xt, int64_t m, const uint8_t *on)
{
    const ferry_matrix *x[] = {xs, xt};
    const char *names[64];
    static char text[64][8];
    ferry_task *task = NULL;

    for (int64_t k = 0; k < m; k++) {
        snprintf(text[k], sizeof text[k], "l%d", (int)k);
        names[k] = text[k];
    }
    need(ctx, ferry_task_new(ctx, "bench", FERRY_MULTILABEL, &task));
    for (int i = 0; i < 2; i++) {
        const ferry_array a = {x[i]->rows, x[i]->cols, x[i]->cols, x[i]->dense};
        ferry_domain *d = NULL;
        need(ctx, ferry_domain_new(ctx, i ? "target" : "source",
                                   i ? FERRY_TARGET : FERRY_SOURCE, &d));
        need(ctx, ferry_domain_add_dense(ctx, d, "x", &a, NULL, NULL));
        if (i == 0)
            need(ctx, ferry_domain_set_labelsets(ctx, d, xs->rows, NULL, m, names, on));
        need(ctx, ferry_task_add_domain(ctx, task, d));
    }
    return task;
}

/* What `mode=ferry` does before the RankSVM: G, delta, mu, U and V. The dgemm is the same
 * product without anything else. */
static void bench_fit(ferry_ctx *ctx)
{
    enum { D = 4096, N = 10000, M = 50, TIMES = 3 };
    uint8_t *on = calloc((size_t)N * M, 1);
    ferry_rng rng;
    double fit = 1e9, gemm = 1e9;
    int64_t sweeps = 0;

    ferry_i_rng_seed(&rng, 2, 1);
    ferry_matrix *xt = random_data(ctx, N, D, M, &rng, on),
                 *xs = random_data(ctx, N, D, M, &rng, on);
    ferry_block *y = random_block(ctx, N, M, &rng), *out = random_block(ctx, D, M, &rng);
    ferry_block *u = random_block(ctx, D, M, &rng), *v = random_block(ctx, M, M, &rng);
    for (int64_t i = 0; i < N; i++) /* a shift */
        for (int64_t j = 0; j < D; j += 3)
            xt->dense[i * D + j] += 0.1;
    for (int t = 0; t < TIMES; t++) {
        ferry_block *g = NULL, *delta = NULL;
        ferry_mmltl_found found;
        double start = cpu_seconds(), sigma, took;
        need(ctx, ferry_e(ctx)->tmul(ctx, 1, xs, y, 0, out));
        took = cpu_seconds() - start;
        if (took < gemm) gemm = took;
        start = cpu_seconds();
        need(ctx,
             ferry_i_mmltl_relation(ctx, xs, &(ferry_mmltl_labels){xs->rows, M, on, true},
                                    xt, &g, &delta));
        need(ctx, ferry_i_mmltl_sigma(ctx, g, &sigma));
        const ferry_mmltl p = {g, delta, 30 * sigma / ferry_e(ctx)->dot(ctx, delta, delta),
                               1, 1};
        need(ctx, ferry_i_mmltl_solve(ctx, &p, 1e-10, 10000, u, v, &found));
        took = cpu_seconds() - start;
        if (took < fit) fit = took;
        sweeps = found.sweeps;
        FERRY_FREE(g, delta);
    }
    printf("%-52s %10.5f s   dgemm %8.3f s   %7.2f of it (wanted at most 3; %lld sweeps)\n",
           "subspace of mode=ferry, d=4096 n=10000 m=50", fit, gemm, fit / gemm,
           (long long)sweeps);
    {
        ferry_task *task = whole_task(ctx, xs, xt, M, on);
        const double one = whole_seconds(ctx, task, "1"),
                     all = whole_seconds(ctx, task, NULL);
        printf("%-52s %10.5f s   %26.2f of it (1 epoch of the RankSVM)\n",
               "whole fit of mode=ferry, from data to model", one, one / gemm);
        printf("%-52s %10.5f s   %26.2f of it\n", "... with the defaults", all, all / gemm);
        printf(
            "row mmltl.dgemm %.2f <= 4 M-MLTL, whole fit with the defaults: times a dgemm\n",
            all / gemm);
        ferry_task_free(task);
    }
    ferry_i_matrix_free(xs);
    ferry_i_matrix_free(xt);
    FERRY_FREE(y, out, u, v);
    free(on);
}

static double rank_seconds(ferry_ctx *ctx, int64_t n, int64_t d, int64_t epochs)
{
    enum { M = 10 };
    const ferry_ranksvm_options o = {.C = 1, .epochs = epochs, .scale = true};
    uint8_t *on = calloc((size_t)n * M, 1);
    ferry_ranksvm *r = NULL;
    ferry_rng rng;
    bool finish;

    ferry_i_rng_seed(&rng, 3, 1);
    ferry_matrix *x = random_data(ctx, n, d, M, &rng, on);
    double best = 1e9;
    for (int t = 0; t < (n > 10000 ? 1 : 3); t++) {
        const double start = cpu_seconds();
        need(ctx, ferry_i_ranksvm_fit(ctx, &o, x, NULL, M, on, &r, &finish));
        const double took = cpu_seconds() - start;
        if (took < best) best = took;
        ferry_i_ranksvm_free(r);
    }
    ferry_i_matrix_free(x);
    free(on);
    return best;
}

int main(int argc, char **argv)
{
    const char *peers = argc > 1 ? argv[1] : NULL;
    const int64_t sizes[] = {1000, 10000, 100000};
    ferry_ctx *ctx = NULL;
    double first = 0;

    if (ferry_ctx_new(&ctx) != FERRY_OK || ferry_ctx_set_threads(ctx, 1) != FERRY_OK)
        return 1;
    printf("M-MLTL, CPU seconds of one thread, BLAS core %s\n", ferry_blas_core());
    bench_u_step(ctx, peers);
    bench_fit(ctx);
    print_peer("RankSVM, n=1200 d=1000 m=10, 100 epochs",
               rank_seconds(ctx, 1200, 1000, 100), "numpy", peer(peers, "ranksvm"), 5);
    for (int64_t i = 0; i < FERRY_COUNT(sizes); i++) {
        const double each = rank_seconds(ctx, sizes[i], 100, 10) / (double)sizes[i];
        if (i == 0) first = each;
        printf("RankSVM, n=%-6lld d=100 m=10, 10 epochs %23.5f s   %.2f of the time an "
               "instance at n=1000\n",
               (long long)sizes[i], each * (double)sizes[i], each / first);
    }
    ferry_ctx_free(ctx);
    return 0;
}
