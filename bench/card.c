/* Times of operations with the engines host and cuda in one run, copies included (scripts/gpu runs it on a card).
 *
 * X lasts, so that cuda has it on the card from the second call on; blocks come and go with every call. Medians of
 * five, after one call that nobody counts. The largest difference of the two results, relative to the largest number,
 * stands beside. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learn/nearest.h"
#include "linalg/blas.h"
#include "linalg/ops.h"

typedef struct bench {
    ferry_ctx *host, *card;
    double scale;
    ferry_rng rng;
} bench;

/* What is timed: it fills out (n numbers, lent). */
typedef const double *(*step)(ferry_ctx *ctx, void *arg, int64_t *n);

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double time_of(ferry_ctx *ctx, step f, void *arg, int64_t *n, const double **out)
{
    double t[5];

    const double first = ferry_i_clock();
    *out = f(ctx, arg, n);
    if (ferry_i_clock() - first > 5) return ferry_i_clock() - first; /* long ones once */
    for (int i = 0; i < 5; i++) {
        const double begin = ferry_i_clock();
        *out = f(ctx, arg, n);
        t[i] = ferry_i_clock() - begin;
    }
    qsort(t, 5, sizeof *t, by_size);
    return t[2];
}

static void compare(bench *b, const char *what, step f, void *arg)
{
    int64_t n = 0;
    const double *out = NULL;
    const double host = time_of(b->host, f, arg, &n, &out);
    double *keep = malloc((size_t)n * sizeof *keep), off = 0, most = 0;
    const int64_t calls = ferry_i_card_calls();

    memcpy(keep, out, (size_t)n * sizeof *keep);
    const double card = time_of(b->card, f, arg, &n, &out);
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(out[i]) && !isfinite(keep[i])) continue;
        off = fmax(off, fabs(out[i] - keep[i]));
        most = fmax(most, fabs(keep[i]));
    }
    printf("%-52s host %9.2f ms  cuda %9.2f ms  %6.1fx  off by %.1e%s\n", what, 1000 * host,
           1000 * card, host / card, off / (most > 0 ? most : 1),
           ferry_i_card_calls() == calls ? "  (all on the host)" : "");
    (void)fflush(stdout);
    free(keep);
}

typedef struct product {
    ferry_matrix *x;
    ferry_block *b, *y;
    ferry_small *s, *t, *u;
    double *v;
    int64_t *index;
    const double *mean;
} product;

static const double *do_mul(ferry_ctx *ctx, void *arg, int64_t *n)
{
    product *p = arg;
    ferry_e(ctx)->mul(ctx, 1, p->x, p->b, 0, p->y);
    *n = p->y->rows * p->y->k;
    return p->y->data;
}

static const double *do_tmul(ferry_ctx *ctx, void *arg, int64_t *n)
{
    product *p = arg;
    (void)ferry_e(ctx)->tmul(ctx, 1, p->x, p->b, 0, p->y);
    *n = p->y->rows * p->y->k;
    return p->y->data;
}

static void cross_it(scope *s, void *arg)
{
    product *p = arg;
    const small c = cross(s, matrix_borrow(s, p->x), p->mean, NULL);
    memcpy(p->s->data, c.at, (size_t)(c.rows * c.cols) * sizeof(double));
}

static const double *do_cross(ferry_ctx *ctx, void *arg, int64_t *n)
{
    product *p = arg;
    (void)scope_run(ctx, cross_it, p);
    *n = p->s->rows * p->s->cols;
    return p->s->data;
}

static const double *do_eigh(ferry_ctx *ctx, void *arg, int64_t *n)
{
    product *p = arg;
    memcpy(p->t->data, p->s->data, (size_t)(p->s->rows * p->s->cols) * sizeof(double));
    (void)ferry_e(ctx)->eigh(ctx, p->t, p->v);
    *n = p->s->rows;
    return p->v;
}

static const double *do_chol(ferry_ctx *ctx, void *arg, int64_t *n)
{
    product *p = arg;
    memcpy(p->t->data, p->s->data, (size_t)(p->s->rows * p->s->cols) * sizeof(double));
    (void)ferry_e(ctx)->chol(ctx, p->t);
    *n = p->s->rows * p->s->cols;
    return p->t->data;
}

static const double *do_ridge_rows(ferry_ctx *ctx, void *arg, int64_t *n)
{
    product *p = arg;
    (void)ferry_e(ctx)->ridge_rows(ctx, p->x, p->b, 1, false, p->y, NULL);
    *n = p->y->rows * p->y->k;
    return p->y->data;
}

static const double *do_near(ferry_ctx *ctx, void *arg, int64_t *n)
{
    product *p = arg;
    (void)ferry_i_knn(ctx, p->x, p->x, 10, FERRY_EUCLIDEAN, p->index, p->v);
    *n = p->x->rows * 10;
    return p->v;
}

static ferry_matrix *dense(bench *b, int64_t rows, int64_t cols)
{
    ferry_matrix *x = NULL;

    if (ferry_i_matrix_dense(b->host, rows, cols, &x)) exit(1);
    for (int64_t e = 0; e < rows * cols; e++)
        x->dense[e] = ferry_i_rng_real(&b->rng) - 0.5;
    x->lasting = true;
    return x;
}

/* `each` entries a row, one in each of as many ranges of columns. */
static ferry_matrix *sparse(bench *b, int64_t rows, int64_t cols, int64_t each)
{
    const int64_t range = cols / each;
    ferry_matrix *x = NULL;

    if (ferry_i_matrix_csr(b->host, rows, cols, rows * each, &x)) exit(1);
    for (int64_t e = 0; e < rows * each; e++) {
        x->start[e / each + 1] = e + 1;
        x->index[e] = (int32_t)(e % each * range +
                                (int64_t)ferry_i_rng_below(&b->rng, (uint64_t)range));
        x->value[e] = ferry_i_rng_real(&b->rng);
    }
    if (ferry_i_matrix_index(b->host, x)) exit(1);
    return x;
}

static ferry_block *random_block(bench *b, int64_t rows, int64_t k)
{
    ferry_block *y = NULL;

    if (ferry_i_block_new(b->host, rows, k, &y)) exit(1);
    ferry_i_fill_uniform(y, &b->rng, -1, 1);
    return y;
}

static ferry_small *new_small(bench *b, int64_t n)
{
    ferry_small *s = NULL;

    if (ferry_i_small_new(b->host, n, n, &s)) exit(1);
    return s;
}

static void products(bench *b, ferry_matrix *x, const char *name, int64_t k)
{
    char what[128];
    product p = {
        .x = x, .b = random_block(b, x->cols, k), .y = random_block(b, x->rows, k)};
    product q = {.x = x, .b = p.y, .y = p.b};

    (void)snprintf(what, sizeof what, "%s: X B, k = %lld", name, (long long)k);
    compare(b, what, do_mul, &p);
    (void)snprintf(what, sizeof what, "%s: X'B, k = %lld", name, (long long)k);
    compare(b, what, do_tmul, &q);
    FERRY_FREE(p.b, p.y);
}

int main(void)
{
    bench b = {.scale = getenv("FERRY_GPU_SCALE") ? atof(getenv("FERRY_GPU_SCALE")) : 1};
    const double scale = b.scale;

    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (ferry_ctx_new(&b.host) || ferry_ctx_new(&b.card)) return 1;
    if (ferry_ctx_set(b.card, "engine", "cuda")) {
        printf("%s\n", ferry_message(b.card));
        return 1;
    }
    if (ferry_i_blas_ready(b.host)) {
        printf("%s\n", ferry_message(b.host));
        return 1;
    }
    printf("%d threads, OpenBLAS %s\n", b.host->threads, ferry_i_blas_core());
    ferry_i_rng_seed(&b.rng, 1, 1);
    const int64_t n = (int64_t)(100000 * scale), d = (int64_t)(4096 * scale);
    ferry_matrix *x = dense(&b, n, d);
    ferry_block *mean = random_block(&b, d, 1);
    product p = {.x = x, .s = new_small(&b, d), .t = new_small(&b, d), .v = mean->data};
    compare(&b, "X'X, 100,000 x 4,096", do_cross, &p);
    p.mean = mean->data;
    compare(&b, "centred X'X, 100,000 x 4,096", do_cross, &p);
    p.v = malloc((size_t)d * sizeof(double));
    compare(&b, "Cholesky, 4,096", do_chol, &p);
    compare(&b, "eigenvalues and vectors, 4,096", do_eigh, &p);
    products(&b, x, "dense 100,000 x 4,096", 1);
    products(&b, x, "dense 100,000 x 4,096", 10);
    products(&b, x, "dense 100,000 x 4,096", 32);
    ferry_i_matrix_free(x);

    const int64_t big = (int64_t)(20000 * scale);
    p.s = new_small(&b, big), p.t = new_small(&b, big);
    for (int64_t e = 0; e < big * big; e++)
        p.s->data[e] = e % (big + 1) == 0 ? (double)big : 1.0 / (double)(1 + e % 97);
    compare(&b, "Cholesky, 20,000", do_chol, &p);
    FERRY_FREE(p.s, p.t);

    x = dense(&b, n, 256);
    p.x = x;
    p.v = malloc((size_t)n * 10 * sizeof(double));
    p.index = malloc((size_t)n * 10 * sizeof(int64_t));
    compare(&b, "10 nearest of 100,000 x 256", do_near, &p);
    ferry_i_matrix_free(x);

    x = sparse(&b, n, (int64_t)(50000 * scale), 100);
    products(&b, x, "1e7 entries, 100,000 x 50,000", 1);
    products(&b, x, "1e7 entries, 100,000 x 50,000", 8);
    products(&b, x, "1e7 entries, 100,000 x 50,000", 32);
    product r = {
        .x = x, .b = random_block(&b, x->cols, 32), .y = random_block(&b, x->rows, 32)};
    compare(&b, "regressions of 100,000 rows, 1e7 ratings, rank 32", do_ridge_rows, &r);
    ferry_i_matrix_free(x);
    x = sparse(&b, (int64_t)(1000000 * scale), (int64_t)(200000 * scale), 100);
    products(&b, x, "1e8 entries, 1,000,000 x 200,000", 8);
    products(&b, x, "1e8 entries, 1,000,000 x 200,000", 32);
    r = (product){
        .x = x, .b = random_block(&b, x->cols, 32), .y = random_block(&b, x->rows, 32)};
    compare(&b, "regressions of 1,000,000 rows, 1e8 ratings, rank 32", do_ridge_rows, &r);
    ferry_i_matrix_free(x);
    return 0;
}
