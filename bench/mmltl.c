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
#include "learn/mmd.h"
#include "learn/ranksvm.h"
#include "linalg/host/host.h"

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

static block random_block(scope *s, int64_t rows, int64_t k, ferry_rng *rng)
{
    const block b = block_new(s, HERE(rows), rows, k);

    fill_normal(s, rng, b);
    return b;
}

static void bench_u_step(scope *s, void *arg)
{
    enum { D = 2048, M = 10, G = 50, TIMES = 50 };
    const char *peers = arg;
    ferry_rng rng;
    double best = 1e9;

    ferry_i_rng_seed(&rng, 1, 1);
    const mmd_problem p = {random_block(s, D, M, &rng), random_block(s, D, 1, &rng), 30, 1,
                           1};
    const block v = random_block(s, M, G, &rng), u = random_block(s, D, G, &rng);
    const mmd_work w = mmd_work_new(s, &p, G);
    for (int t = 0; t < TIMES; t++) {
        const double start = cpu_seconds();
        for (int again = 0; again < 20; again++)
            mmd_u_step(s, &p, &w, v, u);
        const double took = (cpu_seconds() - start) / 20;
        if (took < best) best = took;
    }
    print_peer("U step, d=2048 m=10 g=50", best, "scipy", peer(peers, "sylvester"), 1000);
}

/* Features 0 .. 1, labels that the first features tell. */
static matrix random_data(scope *s, int64_t n, int64_t d, int64_t m, ferry_rng *rng,
                          uint8_t *on)
{
    const matrix x = matrix_dense(s, HERE(n), n, d);
    double *at = x.m->dense;

    for (int64_t e = 0; e < n * d; e++)
        at[e] = ferry_i_rng_real(rng);
    for (int64_t e = 0; e < n * m; e++)
        on[e] = at[e / m * d + e % m] + 0.3 * ferry_i_rng_real(rng) > 1.05;
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
        need(ctx, ferry_domain_add_dense(ctx, d, "x", &a, NULL, NULL, NULL));
        if (i == 0)
            need(ctx, ferry_domain_set_labelsets(ctx, d, xs->rows, NULL, m, names, on));
        need(ctx, ferry_task_add_domain(ctx, task, d));
    }
    return task;
}

/* What mmltl does before the RankSVM: G, delta, mu, U and V. The dgemm is the same product without anything else, in one
 * call as the data lie (tmul, which turns it round where that is faster, would be another yardstick on every CPU). */
static void bench_fit(scope *s, void *arg)
{
    enum { D = 4096, N = 10000, M = 50, TIMES = 3 };
    ferry_ctx *ctx = scope_ctx(s);
    uint8_t *on = NEW(s, uint8_t, (int64_t)N * M);
    ferry_rng rng;
    double fit = 1e9, product = 1e9;
    int64_t sweeps = 0;

    (void)arg;
    ferry_i_rng_seed(&rng, 2, 1);
    const matrix xt = random_data(s, N, D, M, &rng, on),
                 xs = random_data(s, N, D, M, &rng, on);
    const block y = random_block(s, N, M, &rng), out = random_block(s, D, M, &rng);
    const block u = random_block(s, D, M, &rng), v = random_block(s, M, M, &rng);
    const ferry_block g = block_ref(y);
    ferry_block straight = block_ref(out);
    for (int64_t i = 0; i < N; i++) /* a shift */
        for (int64_t j = 0; j < D; j += 3)
            xt.m->dense[i * D + j] += 0.1;
    for (int t = 0; t < TIMES; t++) {
        const int64_t mark = scope_mark(s);
        double start = cpu_seconds(), took;
        ferry_i_blas_begin(ctx);
        ferry_i_dense_product(true, false, 1, xs.m, &g, 0, &straight);
        took = cpu_seconds() - start;
        if (took < product) product = took;
        start = cpu_seconds();
        mmd_problem p = mmd_relation(s, xs, &(mmd_labels){N, M, on, true}, xt);
        p.mu = 30 * mmd_sigma(s, p.g) / square_sum(s, p.delta);
        p.g1 = p.g2 = 1;
        sweeps = mmd_solve(s, &p, &(mmd_solver){1e-10, 10000, false, "bench"}, u, v).sweeps;
        took = cpu_seconds() - start;
        if (took < fit) fit = took;
        scope_release(s, mark);
    }
    printf("%-52s %10.5f s   dgemm %8.3f s   %7.2f of it (wanted at most 3; %lld sweeps)\n",
           "subspace of mmltl, d=4096 n=10000 m=50", fit, product, fit / product,
           (long long)sweeps);
    ferry_task *task = whole_task(ctx, xs.m, xt.m, M, on);
    const double one = whole_seconds(ctx, task, "1"), all = whole_seconds(ctx, task, NULL);
    printf("%-52s %10.5f s   %26.2f of it (1 epoch of the RankSVM)\n",
           "whole fit of mmltl, from data to model", one, one / product);
    printf("%-52s %10.5f s   %26.2f of it\n", "... with the defaults", all, all / product);
    printf(
        "row mmltl.dgemm %.2f <= 4.1 M-MLTL, whole fit with the defaults: times a dgemm\n",
        all / product);
    ferry_task_free(task);
}

typedef struct ranking {
    int64_t n, d, epochs;
    double seconds;
} ranking;

static void bench_rank(scope *s, void *arg)
{
    enum { M = 10 };
    ranking *z = arg;
    const ranker_options o = {.C = 1, .epochs = z->epochs, .scale = true};
    uint8_t *on = NEW(s, uint8_t, z->n * M);
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 3, 1);
    const matrix x = random_data(s, z->n, z->d, M, &rng, on);
    z->seconds = 1e9;
    for (int t = 0; t < (z->n > 10000 ? 1 : 3); t++) {
        const int64_t mark = scope_mark(s);
        const double start = cpu_seconds();
        (void)ranker_fit(s, s, &o, x, NULL, M, on);
        const double took = cpu_seconds() - start;
        if (took < z->seconds) z->seconds = took;
        scope_release(s, mark);
    }
}

static double rank_seconds(ferry_ctx *ctx, int64_t n, int64_t d, int64_t epochs)
{
    ranking z = {n, d, epochs, 0};

    need(ctx, scope_run(ctx, bench_rank, &z));
    return z.seconds;
}

int main(int argc, char **argv)
{
    char *peers = argc > 1 ? argv[1] : NULL;
    const int64_t sizes[] = {1000, 10000, 100000};
    ferry_ctx *ctx = NULL;
    double first = 0;

    if (ferry_ctx_new(&ctx) != FERRY_OK || ferry_ctx_set(ctx, "threads", "1") != FERRY_OK)
        return 1;
    printf("M-MLTL, CPU seconds of one thread, BLAS core %s\n", ferry_blas_core(NULL));
    need(ctx, scope_run(ctx, bench_u_step, peers));
    need(ctx, scope_run(ctx, bench_fit, NULL));
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
