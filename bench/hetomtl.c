/* CDSPP's solver and the stream of hetomtl (bench/hetomtl.sh).
 *
 * usage: bench_hetomtl cdspp DATA ds dt ns nt K
 *          DATA: doubles, Xs (ns x ds) then Xt (nt x dt); classes are i mod K. Prints the
 *          seconds (best of 3), the solver's operations, the seconds those take at the rate
 *          of a 1500 x 1500 product, and the eigenvalues.
 *        bench_hetomtl stream METHOD K dt sources rows
 *          Prints microseconds for seeing and learning a row (the best 50 in a row: the
 * rest is the machine's other work), the resident memory in KiB after a tenth of the
 * rows and after all, and the microseconds of the products alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cdspp_dense.h"
#include "ferry/ferry.h"

static void check(ferry_ctx *ctx, ferry_status st)
{
    if (st == FERRY_OK) return;
    (void)fprintf(stderr, "bench_hetomtl: %s\n", ferry_message(ctx));
    exit(1);
}

/* ---- cdspp ---- */

static ferry_matrix *read_matrix(ferry_ctx *ctx, FILE *f, int64_t rows, int64_t cols)
{
    ferry_matrix *x = NULL;

    check(ctx, ferry_i_matrix_dense(ctx, rows, cols, &x));
    if (fread(x->dense, sizeof *x->dense, (size_t)(rows * cols), f) !=
        (size_t)(rows * cols)) {
        (void)fprintf(stderr, "bench_hetomtl: the data file is too short\n");
        exit(1);
    }
    return x;
}

/* Multiplications and additions in a second, by the best of five products. */
static double product_rate(ferry_ctx *ctx)
{
    const int64_t n = 1500;
    ferry_small *a = NULL, *b = NULL, *c = NULL;
    double best = 1e9;

    check(ctx, ferry_i_small_new(ctx, n, n, &a));
    check(ctx, ferry_i_small_new(ctx, n, n, &b));
    check(ctx, ferry_i_small_new(ctx, n, n, &c));
    for (int64_t i = 0; i < n * n; i++)
        a->data[i] = b->data[i] = (double)(i % 17) - 8;
    for (int i = 0; i < 5; i++) {
        const double begin = ferry_i_clock();
        ferry_e(ctx)->gemm(ctx, false, false, 1, a, b, 0, c);
        const double took = ferry_i_clock() - begin;
        if (took < best) best = took;
    }
    FERRY_FREE(a, b, c);
    return 2.0 * (double)(n * n * n) / best;
}

/* n <= d: Gram n^2 d, Cholesky n^3 / 3, solve 2 n^2 K, X'E and P 2 n d K + 2 d K^2. */
static double operations(double n, double d, double k)
{
    return n * n * d + n * n * n / 3 + 2 * n * n * k + 2 * n * d * k + 2 * d * k * k;
}

static int bench_cdspp(ferry_ctx *ctx, char **arg)
{
    const int64_t ds = atoll(arg[1]), dt = atoll(arg[2]), ns = atoll(arg[3]),
                  nt = atoll(arg[4]), k = atoll(arg[5]);
    FILE *f = fopen(arg[0], "rb");
    int32_t *y = calloc((size_t)(ns + nt), sizeof *y);
    double best = 1e9;
    cdspp c = {0};

    if (!f || !y) return 1;
    ferry_matrix *xs = read_matrix(ctx, f, ns, ds), *xt = read_matrix(ctx, f, nt, dt);
    for (int64_t i = 0; i < ns + nt; i++)
        y[i] = (int32_t)((i < ns ? i : i - ns) % k);
    const cdspp_problem p = {{xs, y}, {xt, y + ns}, k, 1};
    for (int i = 0; i < 3; i++) {
        plain_cdspp_clear(&c);
        const double begin = ferry_i_clock();
        check(ctx, plain_cdspp(ctx, &p, 0, &c));
        const double took = ferry_i_clock() - begin;
        if (took < best) best = took;
    }
    const double work = operations((double)ns, (double)ds, (double)k) +
                        operations((double)nt, (double)dt, (double)k) +
                        30.0 * (double)(k * k * k);
    printf("%.6g %.6g %.6g", best, work, work / product_rate(ctx));
    for (int64_t i = 0; i < c.rank; i++)
        printf(" %.15g", c.lambda[i]);
    printf("\n");
    plain_cdspp_clear(&c);
    ferry_i_matrix_free(xs);
    ferry_i_matrix_free(xt);
    free(y);
    (void)fclose(f);
    return 0;
}

/* ---- stream ---- */

static long resident(void)
{
    char line[128];
    long kib = 0;
    FILE *f = fopen("/proc/self/status", "r");

    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmRSS: %ld", &kib) == 1) break;
    if (f) (void)fclose(f);
    return kib;
}

/* n rows of d features around the means of k classes. */
static ferry_domain *domain(ferry_ctx *ctx, const char *name, ferry_role role, int64_t n,
                            int64_t d, int64_t k, ferry_rng *rng)
{
    double *x = calloc((size_t)(n * d), sizeof *x);
    char(*text)[32] = calloc((size_t)k, sizeof *text);
    const char **y = calloc((size_t)n, sizeof *y);
    const ferry_array a = {n, d, d, x};
    ferry_domain *out = NULL;

    if (!x || !text || !y) exit(1);
    for (int64_t c = 0; c < k; c++)
        (void)snprintf(text[c], sizeof text[c], "%lld", (long long)c);
    for (int64_t i = 0; i < n; i++) {
        y[i] = text[i % k];
        for (int64_t j = 0; j < d; j++)
            x[i * d + j] = ferry_i_rng_normal(rng) + (j % k == i % k ? 0.3 : 0);
    }
    check(ctx, ferry_domain_new(ctx, name, role, &out));
    check(ctx, ferry_domain_add_dense(ctx, out, "x", &a, NULL, NULL, NULL));
    check(ctx, ferry_domain_set_classes(ctx, out, n, NULL, y));
    free(x);
    free(text);
    free(y);
    return out;
}

/* Seconds a row for the exact products with 2 k vectors alone: the codes of one set of class counts and W_T. Whoever
 * does better reads fewer bytes (learn/hedge_screen.c). */
static double products_alone(int64_t k, int64_t d, int64_t pool, const double *x)
{
    double *a = calloc((size_t)(2 * k * d), sizeof *a),
           *out = calloc((size_t)k, sizeof *out);
    double best = 1e9;

    if (!a || !out) exit(1);
    for (int64_t e = 0; e < 2 * k * d; e++)
        a[e] = (double)(e % 7);
    for (int64_t part = 0, t = 0; part < 400; part++) {
        const double begin = ferry_i_clock();
        for (int64_t i = 0; i < 50; i++, t++)
            for (int64_t half = 0; half < 2; half++)
                ferry_i_rows_dot(k, d, a + half * k * d, x + t * 7 % pool * d, out);
        const double took = (ferry_i_clock() - begin) / 50;
        if (took < best) best = took;
    }
    free(a);
    free(out);
    return best;
}

static int bench_stream(ferry_ctx *ctx, char **arg)
{
    const int64_t k = atoll(arg[1]), d = atoll(arg[2]), sources = atoll(arg[3]),
                  rows = atoll(arg[4]), pool = 500;
    ferry_task *task = NULL;
    ferry_model *m = NULL;
    ferry_rng rng;
    double best = 1e9, *x = calloc((size_t)(pool * d), sizeof *x);
    int32_t cls, note[256];
    long early = 0;
    char name[32];

    if (!x) return 1;
    ferry_i_rng_seed(&rng, 1, 0);
    check(ctx, ferry_task_new(ctx, "bench", FERRY_STREAM, &task));
    for (int64_t s = 0; s < sources; s++) {
        (void)snprintf(name, sizeof name, "s%lld", (long long)s);
        check(ctx, ferry_task_add_domain(
                       ctx, task, domain(ctx, name, FERRY_SOURCE, 20 * k, 800, k, &rng)));
    }
    check(ctx, ferry_task_add_domain(ctx, task,
                                     domain(ctx, "t", FERRY_TARGET, 3 * k, d, k, &rng)));
    check(ctx, ferry_fit(ctx, task, arg[0], NULL, &m, NULL));
    for (int64_t i = 0; i < pool; i++)
        for (int64_t j = 0; j < d; j++)
            x[i * d + j] = ferry_i_rng_normal(&rng) + (j % k == i % k ? 0.3 : 0);
    for (int64_t t = 0, part = 50; t < rows;) {
        const double begin = ferry_i_clock();
        const int64_t to = t + part < rows ? t + part : rows;
        for (const int64_t from = t; t < to; t++) {
            const int64_t i = (t * 7 + from) % pool;
            const ferry_row row = {d, NULL, x + i * d};
            (void)snprintf(name, sizeof name, "%lld", (long long)(i % k));
            check(ctx, ferry_model_see(ctx, m, &row, &cls, NULL, note));
            check(ctx, ferry_model_learn(ctx, m, &row, name, note));
            if (t == rows / 10) early = resident();
        }
        const double took = (ferry_i_clock() - begin) / (double)part;
        if (took < best) best = took;
    }
    const long late = resident();
    printf("%.4g %ld %ld %.4g\n", 1e6 * best, early, late,
           1e6 * products_alone(k, d, pool, x));
    ferry_model_free(m);
    ferry_task_free(task);
    free(x);
    return 0;
}

int main(int argc, char **argv)
{
    ferry_ctx *ctx = NULL;
    int code = 2;

    if (ferry_ctx_new(&ctx) != FERRY_OK) return 1;
    check(ctx, ferry_ctx_set(ctx, "threads", "1"));
    if (argc == 8 && strcmp(argv[1], "cdspp") == 0) code = bench_cdspp(ctx, argv + 2);
    if (argc == 7 && strcmp(argv[1], "stream") == 0) code = bench_stream(ctx, argv + 2);
    if (code == 2) (void)fprintf(stderr, "usage: see bench/hetomtl.sh\n");
    ferry_ctx_free(ctx);
    return code;
}
