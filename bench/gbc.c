/* gbc: an iteration on people with a table full of gaps and many graphs (the recipe of
 * ferry gen social, in memory), against the raw XGBoost tree and one pass over the edges at
 * the bandwidth that a plain sum over them reaches; at three sizes. Then trees alone, for
 * the comparison with scikit-learn's.
 *
 * usage: bench_gbc [people] [features] [graphs] [edges]      (the largest of the sizes) */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "methods/gbc/gbc.h"

static double cpu(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(ferry_ctx *ctx, ferry_status st)
{
    if (st == FERRY_OK) return;
    fprintf(stderr, "bench_gbc: %s\n", ferry_message(ctx));
    exit(1);
}

static bool yes(int64_t i)
{
    return ((uint64_t)i * 2654435761u >> 16) % 2 != 0;
}

static ferry_matrix *table_of(ferry_ctx *ctx, int64_t n, int64_t d, double missing)
{
    ferry_matrix *x = NULL;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 1, 1);
    must(ctx, ferry_i_matrix_dense(ctx, n, d, &x));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < d; j++)
            x->dense[i * d + j] = ferry_i_rng_real(&rng) < missing
                                      ? NAN
                                      : ferry_i_rng_normal(&rng) + (yes(i) ? 0.05 : -0.05);
    return x;
}

/* edges random edges, both directions stored. */
static ferry_matrix *graph_of(ferry_ctx *ctx, int64_t n, int64_t edges, uint64_t seed)
{
    ferry_matrix *a = NULL;
    ferry_rng rng;
    int32_t *from = malloc((size_t)edges * sizeof *from),
            *to = malloc((size_t)edges * sizeof *to);
    int64_t *next = calloc((size_t)n + 1, sizeof *next);

    ferry_i_rng_seed(&rng, seed, 2);
    must(ctx, ferry_i_matrix_csr(ctx, n, n, 2 * edges, &a));
    for (int64_t e = 0; e < edges; e++) {
        from[e] = (int32_t)ferry_i_rng_below(&rng, (uint64_t)n);
        to[e] = (int32_t)ferry_i_rng_below(&rng, (uint64_t)n);
        a->start[from[e] + 1]++;
        a->start[to[e] + 1]++;
    }
    for (int64_t i = 0; i < n; i++)
        a->start[i + 1] += a->start[i];
    memcpy(next, a->start, (size_t)n * sizeof *next);
    for (int64_t e = 0; e < edges; e++) {
        a->index[next[from[e]]++] = to[e];
        a->index[next[to[e]]++] = from[e];
    }
    for (int64_t e = 0; e < 2 * edges; e++)
        a->value[e] = 1;
    free(from);
    free(to);
    free(next);
    return a;
}

/* Seconds to read every index and weight once. */
static double edge_pass(ferry_matrix *const *graph, int64_t q, int threads)
{
    double best = INFINITY, sum = 0;

    for (int repeat = 0; repeat < 3; repeat++) {
        const double begin = cpu();
        for (int64_t g = 0; g < q; g++) {
            const ferry_matrix *a = graph[g];
            const int64_t n = a->nnz;
#pragma omp parallel for num_threads(threads) reduction(+ : sum) schedule(static)
            for (int64_t e = 0; e < n; e++)
                sum += a->value[e] * a->index[e];
        }
        best = fmin(best, cpu() - begin);
    }
    if (sum < 0) printf("%g", sum); /* keep it */
    return best;
}

static void one_size(ferry_ctx *ctx, int64_t n, int64_t d, int64_t q, int64_t edges,
                     int64_t rounds, double bound)
{
    ferry_matrix *x = table_of(ctx, n, d, 0.4), **graph = calloc((size_t)q, sizeof *graph);
    int64_t *instance = malloc((size_t)n * sizeof *instance);
    uint8_t *mask = malloc((size_t)n), *labelled = malloc((size_t)n);
    double *y = malloc((size_t)n * sizeof *y), *z = malloc((size_t)n * sizeof *z);
    const ferry_tree_options tree = {.depth = 4, .min_child = 0.5, .reg = 0.25, .bins = 64};
    const gbc_settings s = {.grow = {.rate = 0.1, .how = FERRY_GROW_XGBOOST, .tree = tree},
                            .weights = GBC_FIXED};
    ferry_view view = {.x = x, .instance = instance}, *views = &view;
    ferry_booster *b = NULL;
    gbc_run *r = NULL;

    for (int64_t g = 0; g < q; g++)
        graph[g] = graph_of(ctx, n, edges, (uint64_t)g);
    for (int64_t i = 0; i < n; i++) {
        instance[i] = i;
        mask[i] = 1;
        labelled[i] = i % 10 == 0;
        y[i] = yes(i) ? 1 : -1;
    }
    const gbc_problem g = {.n = n,
                           .p = 1,
                           .q = q,
                           .k = 1,
                           .mask = mask,
                           .labelled = labelled,
                           .y = y,
                           .graph = graph,
                           .logistic = true,
                           .soft = true,
                           .clamp = true,
                           .lambda1 = 0.03};
    must(ctx, ferry_i_gbc_run_new(ctx, &s, &g, &views, NULL, NULL, &r));
    must(ctx, ferry_i_gbc_run_step(ctx, r)); /* makes the histograms */
    double begin = 0, whole = INFINITY; /* the least of all, as of what it is compared to */
    for (int64_t t = 0; t < rounds; t++) {
        begin = cpu();
        must(ctx, ferry_i_gbc_run_step(ctx, r));
        whole = fmin(whole, cpu() - begin);
    }

    /* The trees alone, on the last gradients. */
    const ferry_tree_data data = {x, false, n, NULL};
    double *c = malloc((size_t)n * sizeof *c);
    for (int64_t i = 0; i < n; i++)
        ferry_i_objective_gradient(&r->b->g, 0, i, 0, r->b->f[0][i], &z[i], &c[i]);
    must(ctx, ferry_i_booster_new(ctx, &tree, &data, 1, &b));
    double raw = INFINITY;
    for (int64_t t = 0; t < 4; t++) {
        ferry_tree *grown = NULL;
        begin = cpu();
        must(ctx, ferry_i_booster_grow(ctx, b, z, c, &grown));
        if (t > 0) raw = fmin(raw, cpu() - begin); /* the first bins the data */
        ferry_i_tree_free(grown);
    }
    const double pass = edge_pass(graph, q, ctx->threads);
    printf("%8lld %5lld %4lld x %7lld   %8.3f   %8.3f   %8.3f   %6.2f\n", (long long)n,
           (long long)d, (long long)q, (long long)edges, whole, raw, pass,
           whole / (raw + pass));
    if (bound > 0)
        printf("row gbc.%lldk %.2f <= %g GBC of %lldk people: times tree and edge pass\n",
               (long long)n / 1000, whole / (raw + pass), bound, (long long)n / 1000);
    (void)fflush(stdout);
    ferry_i_booster_free(b);
    ferry_i_gbc_run_free(r);
    for (int64_t i = 0; i < q; i++)
        ferry_i_matrix_free(graph[i]);
    ferry_i_matrix_free(x);
    free(graph);
    free(instance);
    free(mask);
    free(labelled);
    free(y);
    free(z);
    free(c);
}

/* n x 100 features without gaps, as the peer grows them. */
static void trees_alone(ferry_ctx *ctx, int64_t n, int64_t rounds)
{
    ferry_matrix *x = table_of(ctx, n, 100, 0);
    const ferry_tree_data d = {x, false, n, NULL};
    const ferry_tree_options o = {.depth = 5, .min_child = 1, .reg = 1, .bins = 64};
    double *z = malloc((size_t)n * sizeof *z), *c = malloc((size_t)n * sizeof *c);
    ferry_booster *b = NULL;
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 3, 3);
    for (int64_t i = 0; i < n; i++) {
        z[i] = ferry_i_rng_normal(&rng) + (yes(i) ? 0.5 : -0.5);
        c[i] = 1;
    }
    const double begin = cpu();
    must(ctx, ferry_i_booster_new(ctx, &o, &d, 1, &b));
    for (int64_t t = 0; t < rounds; t++) {
        ferry_tree *grown = NULL;
        must(ctx, ferry_i_booster_grow(ctx, b, z, c, &grown));
        ferry_i_tree_free(grown);
    }
    printf("trees %lld x 100, depth 5, one thread, with binning: %.1f ms a tree\n",
           (long long)n, 1e3 * (cpu() - begin) / (double)rounds);
    ferry_i_booster_free(b);
    ferry_i_matrix_free(x);
    free(z);
    free(c);
}

int main(int argc, char **argv)
{
    const int64_t n = argc > 1 ? atoll(argv[1]) : 500000,
                  d = argc > 2 ? atoll(argv[2]) : 196;
    const int64_t q = argc > 3 ? atoll(argv[3]) : 90,
                  e = argc > 4 ? atoll(argv[4]) : 1000000;
    const char *rounds = getenv("FERRY_ROUNDS");
    ferry_ctx *ctx = NULL;

    if (ferry_ctx_new(&ctx) != FERRY_OK) return 1;
    must(ctx, ferry_ctx_set_threads(ctx, 1));
    printf("gbc, one iteration (s)               whole    XGBoost  edges read    ratio\n");
    one_size(ctx, n / 4, d, q, e / 4, rounds ? atoll(rounds) : 39, 1.4);
    one_size(ctx, n / 2, d, q, e / 2, rounds ? atoll(rounds) : 39, 0);
    one_size(ctx, n, d, q, e, rounds ? atoll(rounds) : 39, 1.6);
    printf("more edges between as many people\n");
    one_size(ctx, n / 4, d, q, e / 2, rounds ? atoll(rounds) : 39, 0);
    one_size(ctx, n / 4, d, q, e, rounds ? atoll(rounds) : 39, 0);
    trees_alone(ctx, 20000, 30);
    ferry_ctx_free(ctx);
    return 0;
}
