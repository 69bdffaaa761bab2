/* CSR times block at the size the issue names: n = 100k, d = 50k, 10M entries.
 *
 * A server of measurements: reads lines `WHAT K` and answers each with the seconds of one
 * run, so that bench/sparse_peer.py can take turns with scipy. WHAT: mul, tmul (X'B without
 * index), tmul_index, mul_words; gather, tgather (the bare accesses of X B and X'B); triad;
 * threads (K of them from here on). The columns of the matrix are uniformly random, the hard
 * case: neighbouring entries never share a row of B. words: half of the entries in an eighth
 * of the columns. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ferry/ferry.h"
#include "linalg/linalg.h"

enum { ROWS = 100000, COLS = 50000, PER_ROW = 100, TRIAD = 20000000 };

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

/* Seconds of this process: with one thread what others do on the machine hardly counts. */
static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds for 24 bytes a number of a = b + s c, counted as STREAM does: three arrays. */
static double triad(int threads)
{
    static double *a, *b, *c;

    if (!a) {
        a = malloc(sizeof *a * TRIAD);
        b = malloc(sizeof *b * TRIAD);
        c = malloc(sizeof *c * TRIAD);
        if (!a || !b || !c) exit(1);
#pragma omp parallel for num_threads(threads) schedule(static)
        for (int64_t i = 0; i < TRIAD; i++) {
            a[i] = 0;
            b[i] = (double)i;
            c[i] = 1;
        }
    }
    const double start = threads == 1 ? seconds() : ferry_i_clock();
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < TRIAD; i++)
        a[i] = b[i] + 3.0 * c[i];
    const double took = (threads == 1 ? seconds() : ferry_i_clock()) - start;
    if (a[TRIAD - 1] != b[TRIAD - 1] + 3) exit(1);
    return took;
}

static ferry_block *block(ferry_ctx *ctx, int64_t rows, int64_t k)
{
    ferry_block *b = NULL;
    ferry_rng rng;

    if (ferry_i_block_new(ctx, rows, k, &b)) exit(1);
    ferry_i_rng_seed(&rng, 2, 1);
    ferry_i_fill_normal(b, &rng);
    return b;
}

/* The bare accesses of X B: every entry, index and value, and the first and the last number of
 * the row of B that it names, which are on the one or two lines of a row of up to eight. */
static double gather(const ferry_matrix *x, bool trans, const ferry_block *b)
{
    const int32_t *index = trans ? x->t_index : x->index;
    const double *value = trans ? x->t_value : x->value;
    double s[8] = {0}, sum = 0;

    for (int64_t e = 0; e + 4 <= x->nnz; e += 4)
        for (int u = 0; u < 4; u++) {
            const double *row = b->data + index[e + u] * b->k;
            s[u] += row[0] + value[e + u];
            if (b->k % 8 != 0) s[4 + u] += row[b->k - 1];
        }
    for (int u = 0; u < 8; u++)
        sum += s[u];
    return sum;
}

typedef struct bench {
    ferry_ctx *ctx;
    ferry_matrix *x, *indexed, *words;
    ferry_block *b, *y; /* of the last shape */
} bench;

/* Blocks of the shape that the product wants, kept while it stays the same. */
static void shape(bench *z, int64_t in, int64_t out, int64_t k)
{
    if (z->b && z->b->rows == in && z->b->k == k) return;
    FERRY_FREE(z->b, z->y);
    z->b = block(z->ctx, in, k);
    z->y = block(z->ctx, out, k);
}

/* Seconds of one run of what `name` says; the process's with one thread, else by the wall. */
static double once(bench *z, const char *name, int64_t k)
{
    const bool trans = name[0] == 't', one = z->ctx->threads == 1;
    const ferry_matrix *x = strstr(name, "index") || strstr(name, "gather") ? z->indexed
                            : strstr(name, "words")                         ? z->words
                                                                            : z->x;
    static volatile double sink;

    if (strcmp(name, "triad") == 0) return triad(z->ctx->threads);
    shape(z, trans ? ROWS : COLS, trans ? COLS : ROWS, k);
    const double start = one ? seconds() : ferry_i_clock();
    if (strstr(name, "gather"))
        sink = gather(x, trans, z->b);
    else if (trans)
        (void)ferry_e(z->ctx)->tmul(z->ctx, 1, x, z->b, 0, z->y);
    else
        ferry_e(z->ctx)->mul(z->ctx, 1, x, z->b, 0, z->y);
    (void)sink;
    return (one ? seconds() : ferry_i_clock()) - start;
}

int main(void)
{
    bench z = {0};
    char name[64];
    long long k;

    if (ferry_ctx_new(&z.ctx) != FERRY_OK || ferry_i_ctx_set_threads(z.ctx, 1)) return 1;
    z.x = random_csr(z.ctx, 1);
    z.indexed = random_csr(z.ctx, 1);
    z.words = random_csr(z.ctx, 3);
    if (ferry_i_matrix_index(z.ctx, z.indexed) != FERRY_OK) return 1;
    while (scanf("%63s %lld", name, &k) == 2) {
        if (strcmp(name, "threads") == 0) {
            if (ferry_i_ctx_set_threads(z.ctx, (int)k)) return 1;
            printf("%d\n", z.ctx->threads);
        } else
            printf("%.9f\n", once(&z, name, k));
        (void)fflush(stdout);
    }
    FERRY_FREE(z.b, z.y);
    ferry_i_matrix_free(z.x);
    ferry_i_matrix_free(z.indexed);
    ferry_i_matrix_free(z.words);
    ferry_ctx_free(z.ctx);
    return 0;
}
