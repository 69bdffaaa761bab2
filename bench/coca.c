/* CoCA's eigenproblem at the size that its issue names: n = 50 000 instances, D = 20 000
 * sparse features in six views, two graphs of 1M edges, d = 20.
 *
 * bench_coca write DIR     make the problem and write it for the peer, as plain arrays
 * bench_coca run DIR       solve it with one and with all threads; DIR/peer.txt, if there,
 *                          has the peer's seconds, products and eigenvalues
 *
 * Instances have one of 30 kinds; most of their features and edges follow the kind, so that
 * the spectrum is that of data, not of noise. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ferry/ferry.h"
#include "learn/consensus.h"
#include "linalg/packed.h"

enum {
    N = 50000,
    VIEWS = 6,
    PER_ROW = 16,
    KINDS = 30,
    GRAPHS = 2,
    EDGES = 1000000,
    DIMS = 20
};
static const int64_t width[VIEWS] = {3000, 3000, 3000, 3000, 4000, 4000};

static void check(ferry_ctx *ctx, ferry_status st)
{
    if (st == FERRY_OK) return;
    fprintf(stderr, "bench_coca: %s\n", ferry_message(ctx));
    exit(1);
}

static int by_value(const void *a, const void *b)
{
    const int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;

    return (i > j) - (i < j);
}

static ferry_matrix *make_view(ferry_ctx *ctx, int64_t cols, ferry_rng *rng)
{
    ferry_matrix *x = NULL;
    int64_t n = 0;

    check(ctx, ferry_i_matrix_csr(ctx, N, cols, (int64_t)N * PER_ROW, &x));
    for (int64_t i = 0; i < N; i++) {
        int32_t row[PER_ROW];
        const int64_t kind = i % KINDS, own = cols / KINDS;
        for (int e = 0; e < PER_ROW; e++) {
            const double u = ferry_i_rng_real(rng);
            /* kinds differ in how typical their features are, so that eigenvalues do too */
            const bool typical = u < 0.2 + 0.6 * (double)kind / KINDS;
            row[e] = (int32_t)(typical ? kind * own +
                                             (int64_t)ferry_i_rng_below(rng, (uint64_t)own)
                                       : (int64_t)ferry_i_rng_below(rng, (uint64_t)cols));
        }
        qsort(row, PER_ROW, sizeof row[0], by_value);
        for (int e = 0; e < PER_ROW; e++) {
            if (e > 0 && row[e] == row[e - 1]) continue;
            x->index[n] = row[e];
            x->value[n++] = 1;
        }
        x->start[i + 1] = n;
    }
    x->nnz = n;
    return x;
}

static ferry_matrix *make_graph(ferry_ctx *ctx, double within, ferry_rng *rng)
{
    int32_t *from = malloc(sizeof *from * EDGES), *to = malloc(sizeof *to * EDGES);
    int64_t *next = calloc(N + 1, sizeof *next), n = 0;
    ferry_matrix *a = NULL;

    if (!from || !to || !next) exit(1);
    check(ctx, ferry_i_matrix_csr(ctx, N, N, 2 * (int64_t)EDGES, &a));
    for (int64_t e = 0; e < EDGES; e++) {
        do {
            from[e] = (int32_t)ferry_i_rng_below(rng, N);
            to[e] = (int32_t)ferry_i_rng_below(rng, N);
            if (ferry_i_rng_real(rng) < within)
                to[e] = to[e] / KINDS * KINDS + from[e] % KINDS;
        } while (to[e] == from[e] || to[e] >= N);
        a->start[from[e] + 1]++;
        a->start[to[e] + 1]++;
    }
    for (int64_t i = 0; i < N; i++)
        a->start[i + 1] += a->start[i];
    memcpy(next, a->start, sizeof *next * N);
    for (int64_t e = 0; e < EDGES; e++) {
        a->index[next[from[e]]++] = to[e];
        a->index[next[to[e]]++] = from[e];
    }
    for (int64_t i = 0, e = 0; i < N; i++) { /* sorted, repeated edges once */
        const int64_t end = a->start[i + 1], first = n;
        qsort(a->index + e, (size_t)(end - e), sizeof *a->index, by_value);
        for (; e < end; e++) {
            if (n > first && a->index[n - 1] == a->index[e]) continue;
            a->index[n] = a->index[e];
            a->value[n++] = 1;
        }
        a->start[i + 1] = n;
    }
    a->nnz = n;
    free(from);
    free(to);
    free(next);
    return a;
}

/* The problem as CoCA solves it: views scaled, W with equal weights. */
typedef struct bench {
    const char *how, *dir;
    scaled_view x[VIEWS];
    matrix w;
    double a[VIEWS];
    graph graph[GRAPHS];
    double wt[GRAPHS];
    consensus c;
} bench;

static void make(scope *s, bench *z)
{
    view v[VIEWS] = {{.name = ""}};
    const domain d = {.rows = HERE(N), .n = N, .n_views = VIEWS, .view = v};
    ferry_rng rng;

    ferry_i_rng_seed(&rng, 1, 1);
    for (int j = 0; j < VIEWS; j++) {
        v[j].x = matrix_own(s, make_view(scope_ctx(s), width[j], &rng));
        z->a[j] = 1.0 / VIEWS;
    }
    memcpy(z->x, centred_views(s, &d, BALANCE_FROB), sizeof z->x);
    for (int t = 0; t < GRAPHS; t++) {
        z->graph[t].a = matrix_own(s, make_graph(scope_ctx(s), 0.7, &rng));
        z->wt[t] = 1.0 / GRAPHS;
    }
    z->w = merge_graphs(s, GRAPHS, z->graph, z->wt, true);
    z->c = (consensus){.p = VIEWS,
                       .x = z->x,
                       .a = z->a,
                       .b = 1,
                       .w = z->w,
                       .q = GRAPHS,
                       .g = z->graph,
                       .wt = z->wt,
                       .sym = true,
                       .products_only = true};
}

static void dump(const char *dir, const char *name, const void *bytes, size_t n)
{
    char path[4096];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, n, f) != n) exit(1);
    fclose(f);
}

static void dump_csr(const char *dir, const char *name, const ferry_matrix *x)
{
    char file[64];

    snprintf(file, sizeof file, "%s.start", name);
    dump(dir, file, x->start, (size_t)(x->rows + 1) * sizeof *x->start);
    snprintf(file, sizeof file, "%s.index", name);
    dump(dir, file, x->index, (size_t)x->nnz * sizeof *x->index);
    snprintf(file, sizeof file, "%s.value", name);
    dump(dir, file, x->value, (size_t)x->nnz * sizeof *x->value);
}

static void write_problem(const bench *z, const char *dir)
{
    for (int j = 0; j < VIEWS; j++) {
        char name[32];
        snprintf(name, sizeof name, "x%d", j);
        dump_csr(dir, name, z->x[j].x.m);
        snprintf(name, sizeof name, "x%d.shift", j);
        dump(dir, name, z->x[j].shift, (size_t)width[j] * sizeof(double));
    }
    dump_csr(dir, "w", z->w.m);
    dump(dir, "a", z->a, sizeof z->a);
    dump(dir, "b", &z->c.b, sizeof z->c.b);
}

/* Columns as 16-bit numbers, what the packed product reads. */
static uint16_t *narrow(const ferry_matrix *x)
{
    uint16_t *to = malloc(sizeof *to * (size_t)(x->nnz + 1));

    if (!to) exit(1);
    for (int64_t e = 0; e < x->nnz; e++)
        to[e] = (uint16_t)x->index[e];
    return to;
}

/* Seconds for the accesses that no product with H can do without, and nothing else: of each
 * entry of a view one number read, and one added to; of each edge one line of 64 bytes. One
 * thread, everything else left out (rows, sums, values). */
static double bare(const bench *z)
{
    typedef double part __attribute__((vector_size(16))); /* what every x86-64 holds */
    typedef struct line {
        part part[4];
    } line;
    line *t = aligned_alloc(64, sizeof *t * N);
    double *u = calloc(4000, sizeof *u), *y = calloc(4000, sizeof *y), best = 1e9;
    uint16_t *x[VIEWS], *g[GRAPHS];

    if (!t || !u || !y) exit(1);
    memset(t, 0, sizeof *t * N);
    for (int j = 0; j < VIEWS; j++)
        x[j] = narrow(z->x[j].x.m);
    for (int k = 0; k < GRAPHS; k++)
        g[k] = narrow(z->graph[k].a.m);
    for (int again = 0; again < 20; again++) {
        double s[4] = {0};
        part w[2][4] = {{{0}}};
        const clock_t start = clock();
        for (int j = 0; j < VIEWS; j++)
            for (int64_t e = 0; e + 4 <= z->x[j].x.m->nnz; e += 4)
                for (int k = 0; k < 4; k++)
                    s[k] += u[x[j][e + k]];
        for (int k = 0; k < GRAPHS; k++)
            for (int64_t e = 0; e + 34 <= z->graph[k].a.m->nnz; e += 2) {
                __builtin_prefetch(&t[g[k][e + 32]]);
                __builtin_prefetch(&t[g[k][e + 33]]);
                for (int i = 0; i < 4; i++) {
                    w[0][i] += t[g[k][e]].part[i];
                    w[1][i] += t[g[k][e + 1]].part[i];
                }
            }
        for (int j = 0; j < VIEWS; j++)
            for (int64_t e = 0; e < z->x[j].x.m->nnz; e++)
                y[x[j][e]] += 1;
        const double took = (double)(clock() - start) / CLOCKS_PER_SEC;
        for (int i = 0; i < 4; i++)
            s[0] += w[0][i][0] + w[1][i][1];
        if (s[0] + s[1] + s[2] + s[3] == 0) best = fmin(best, took);
    }
    for (int j = 0; j < VIEWS; j++)
        free(x[j]);
    for (int k = 0; k < GRAPHS; k++)
        free(g[k]);
    free(t);
    free(u);
    free(y);
    return best;
}

/* Seconds of CPU time for one product with H. */
static double product_seconds(scope *s, const bench *z)
{
    ferry_ctx *ctx = scope_ctx(s);
    const int64_t size = consensus_size(&z->c);
    double *u = calloc((size_t)size, sizeof *u), *y = calloc((size_t)size, sizeof *y),
           best = 1e9;
    ferry_consensus *packed = consensus_pack(s, &z->c);

    for (int64_t i = 0; i < size; i++)
        u[i] = 1 / (double)(i + 1);
    for (int again = 0; again < 20; again++) {
        const clock_t start = clock();
        ferry_e(ctx)->consensus_mul(ctx, packed, u, y);
        best = fmin(best, (double)(clock() - start) / CLOCKS_PER_SEC);
    }
    free(u);
    free(y);
    return best;
}

static void run(scope *s, const bench *z, const char *dir)
{
    ferry_ctx *ctx = scope_ctx(s);
    char path[4096];
    double values[DIMS], peer[DIMS], seconds = 0, cpu = 0, worst = 0, faster = 0;
    int products = 0, have = 0;
    int64_t own_products = 0;
    FILE *f;

    snprintf(path, sizeof path, "%s/peer.txt", dir);
    f = fopen(path, "r");
    if (f && fscanf(f, "%lf %lf %d", &seconds, &cpu, &products) == 3)
        while (have < DIMS && fscanf(f, "%lf", &peer[have]) == 1)
            have++;
    if (f) fclose(f);
    int64_t nnz = 0;
    for (int j = 0; j < VIEWS; j++)
        nnz += z->x[j].x.m->nnz;
    printf("coca, n = %d, D = %lld in %d views (%lld entries), %d graphs (%lld entries), d "
           "= %d\n",
           N, (long long)consensus_size(&z->c), VIEWS, (long long)nnz, GRAPHS,
           (long long)z->w.m->nnz, DIMS);
    if (have == DIMS)
        printf("scipy.sparse.linalg.eigsh: %.2f s (CPU %.2f s), %d products\n", seconds,
               cpu, products);
    const int cores = ctx->threads;
    for (int threads = 1; threads <= cores; threads += cores > 1 ? cores - 1 : 1) {
        check(ctx, ferry_i_ctx_set_threads(ctx, threads));
        const double start = ferry_i_clock();
        const clock_t own_cpu = clock();
        (void)consensus_solve(s, &z->c, DIMS, values, &own_products);
        const double own = ferry_i_clock() - start;
        const double used = (double)(clock() - own_cpu) / CLOCKS_PER_SEC;
        for (int i = 0; i < have; i++)
            worst = fmax(worst, fabs(values[i] - peer[i]) / fabs(values[0]));
        printf("ferry, %d thread%s: %.2f s (CPU %.2f s), %lld products\n", threads,
               threads > 1 ? "s" : "", own, used, (long long)own_products);
        if (have == DIMS && threads == 1) faster = cpu / used;
        if (have == DIMS)
            printf("    eigsh takes %.1f times as long (CPU time %.1f), %.1f times for a "
                   "product; eigenvalues agree to %.0e\n",
                   seconds / own, cpu / used,
                   seconds / products * (double)own_products / own, worst);
    }
    check(ctx, ferry_i_ctx_set_threads(ctx, 1));
    const double least = bare(z), ours = product_seconds(s, z);
    printf("a product, one thread, CPU time: bare accesses %.1f ms; ferry %.1f ms, %.2f "
           "times those",
           1e3 * least, 1e3 * ours, ours / least);
    if (have == DIMS)
        printf("; eigsh %.1f ms, %.2f times", 1e3 * cpu / products, cpu / products / least);
    printf("\nrow coca.bare %.2f <= 1.3 CoCA product: times the bare accesses\n",
           ours / least);
    if (have == DIMS)
        printf("row coca.eigsh %.2f >= 2 CoCA: times as fast as scipy's eigsh, CPU time\n",
               faster);
}

static void bench_body(scope *s, void *arg)
{
    bench *z = arg;

    make(s, z);
    if (strcmp(z->how, "write") == 0)
        write_problem(z, z->dir);
    else
        run(s, z, z->dir);
}

int main(int argc, char **argv)
{
    ferry_ctx *ctx = NULL;

    if (argc != 3 || ferry_ctx_new(&ctx) != FERRY_OK) return 2;
    check(ctx, scope_run(ctx, bench_body, &(bench){.how = argv[1], .dir = argv[2]}));
    ferry_ctx_free(ctx);
    return 0;
}
