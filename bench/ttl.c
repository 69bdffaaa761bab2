/* One iteration of ttl mode=paper (bench/ttl.sh).
 *
 * Small: the size of comp-vs-talk from 20 Newsgroups (4894 words, 433k non-zeros over four
 * views, p = 30, 2 classes), beside the two passes over every view that it is measured by
 * (X'G and X H by the engine's sparse products), and beside scipy (PEER holds its seconds).
 * Large (a size is given): documents x words with 100 words a document, 50 iterations at a
 * quarter, a half and all of it, with the memory taken.
 *
 * usage: bench_ttl PEER THREADS [DOCUMENTS WORDS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ferry/ferry.h"
#include "learn/nmtf.h"
#include "linalg/host/isa.h"

static int64_t held, most; /* bytes */

static void *count_calloc(size_t n, size_t each)
{
    const size_t size = n * each;
    size_t *p = calloc(1, size + 16);

    if (!p) return NULL;
    p[0] = size;
    held += (int64_t)size;
    if (held > most) most = held;
    return p + 2;
}

static void count_free(void *p)
{
    if (!p) return;
    held -= (int64_t)((size_t *)p)[-2];
    free((size_t *)p - 2);
}

static void *count_realloc(void *p, size_t size)
{
    void *q = count_calloc(1, size);

    if (p && q) {
        const size_t old = ((size_t *)p)[-2];
        memcpy(q, p, old < size ? old : size);
        count_free(p);
    }
    return q;
}

static void check(ferry_ctx *ctx, ferry_status st)
{
    if (st == FERRY_OK) return;
    (void)fprintf(stderr, "bench_ttl: %s\n", ferry_message(ctx));
    exit(1);
}

static int by_number(const void *a, const void *b)
{
    return *(const int32_t *)a - *(const int32_t *)b;
}

/* n documents of about `length` different words among [from, to) of m, frequent ones
 * first. */
static ferry_matrix *documents(ferry_ctx *ctx, ferry_rng *rng, int64_t n, int64_t m,
                               int64_t from, int64_t to, int64_t length)
{
    ferry_matrix *x = NULL;
    int64_t nnz = 0;

    check(ctx, ferry_i_matrix_csr(ctx, n, m, n * length, &x));
    for (int64_t i = 0; i < n; i++) {
        int32_t *row = x->index + nnz;
        int64_t kept = 0;
        for (int64_t e = 0; e < length; e++) {
            const double u = ferry_i_rng_real(rng);
            row[e] = (int32_t)(from + (int64_t)(u * u * (double)(to - from)));
        }
        qsort(row, (size_t)length, sizeof *row, by_number);
        for (int64_t e = 0; e < length; e++)
            if (e == 0 || row[e] != row[kept - 1]) row[kept++] = row[e];
        for (int64_t e = 0; e < kept; e++)
            x->value[nnz + e] = 0.05 + 0.1 * ferry_i_rng_real(rng);
        nnz += kept;
        x->start[i + 1] = nnz;
    }
    x->nnz = nnz;
    return x;
}

/* S -> I -> T, the labels of S known. */
static ferry_nmtf *journey(ferry_ctx *ctx, int64_t n, int64_t m, int64_t length)
{
    ferry_rng rng;
    ferry_matrix *x[3];
    ferry_nmtf *f = NULL;
    int32_t *y = malloc((size_t)n * sizeof *y);

    ferry_i_rng_seed(&rng, 1, 1);
    for (int64_t i = 0; i < n; i++)
        y[i] = (int32_t)ferry_i_rng_below(&rng, 2);
    x[0] = documents(ctx, &rng, n, m, 0, m / 2, length / 2);
    x[1] = documents(ctx, &rng, n, m, 0, m, length);
    x[2] = documents(ctx, &rng, n, m, m / 2, m, length / 2);
    {
        const ferry_nmtf_place place[] = {
            {x[0], 0, 0, 1}, {x[1], 0, 1, 1}, {x[1], 1, 1, 1}, {x[2], 1, 2, 1}};
        check(ctx, ferry_i_nmtf_new(ctx, 2, 20, 0, 10, 4, place, &f));
    }
    for (int v = 0; v < 3; v++)
        ferry_i_matrix_free(x[v]);
    check(ctx, ferry_i_nmtf_know(ctx, f, 0, y));
    check(ctx, ferry_i_nmtf_random(ctx, f, &rng, NULL));
    for (int64_t d = 1; d < 3; d++) {
        ferry_i_fill_uniform(f->domain[d].above, &rng, 0, 1);
        ferry_i_nmtf_start(f, d, f->domain[d].above, 0.02);
    }
    free(y);
    return f;
}

static void iterate(ferry_ctx *ctx, ferry_nmtf *f)
{
    const ferry_nmtf_options o = {.exponent = 0.5};
    double objective;

    check(ctx, ferry_i_nmtf_factors(ctx, f, &o, &objective));
    check(ctx, ferry_i_nmtf_members(ctx, f, &o));
    ferry_i_nmtf_normalise_late(ctx, f, &o); /* as ferry_i_nmtf_run does */
}

/* X'G and X H of the views that `distinct` and `learned` leave. */
static void passes(ferry_ctx *ctx, ferry_nmtf *f, bool only_needed)
{
    for (int64_t v = 0; v < f->n_views; v++) {
        ferry_nmtf_view *w = &f->view[v];
        ferry_nmtf_domain *d = &f->domain[w->domain];
        if (only_needed && (d->fixed || w->twin != v)) continue;
        check(ctx, ferry_e(ctx)->tmul(ctx, 1, w->x, d->g, 0, w->p));
        ferry_e(ctx)->mul(ctx, 1, w->x, w->h, 0, d->above);
    }
}

static double entries(const ferry_nmtf *f, bool distinct)
{
    double sum = 0;

    for (int64_t v = 0; v < f->n_views; v++)
        if (!distinct || f->view[v].twin == v) sum += (double)f->view[v].x->nnz;
    return sum;
}

enum { ROUNDS = 100, TIMES = 4 };

/* Seconds of this process: with one thread what others do on the machine hardly counts. */
static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void small(ferry_ctx *ctx, const char *peer)
{
    ferry_nmtf *f = journey(ctx, 1857, 4894, 80);
    double step = 1e9, all = 1e9, needed = 1e9, theirs = 0;
    FILE *in = fopen(peer, "r");

    for (int round = 0; round < ROUNDS; round++) {
        double t = seconds();
        for (int i = 0; i < TIMES; i++)
            iterate(ctx, f);
        t = (seconds() - t) / TIMES;
        if (t < step) step = t;
        t = seconds();
        for (int i = 0; i < TIMES; i++)
            passes(ctx, f, false);
        t = (seconds() - t) / TIMES;
        if (t < all) all = t;
        t = seconds();
        for (int i = 0; i < TIMES; i++)
            passes(ctx, f, true);
        t = (seconds() - t) / TIMES;
        if (t < needed) needed = t;
    }
    printf(
        "ttl mode=paper, one iteration: %.0fk non-zeros over four views, m = 4894, p = 30, "
        "%d thread(s)\n",
        entries(f, false) / 1e3, ctx->threads);
    printf("  iteration                                   %8.3f ms\n", 1e3 * step);
    printf(
        "  two passes over the four views              %8.3f ms   ratio %.2f (bound 1.3)\n",
        1e3 * all, step / all);
    printf("  the passes that an iteration makes          %8.3f ms   ratio %.2f\n",
           1e3 * needed, step / needed);
    if (in && fscanf(in, "%lf", &theirs) == 1)
        printf(
            "  scipy, the same updates written plainly     %8.3f ms   %.1f times as long "
            "(wanted: 20)\n",
            1e3 * theirs, theirs / step);
    const bool wide = ctx->isa == FERRY_ISA_AVX512;
    printf("row ttl.passes %.2f <= %g TTL iteration: times its two passes\n", step / all,
           wide ? 1.3 : 1.5);
    if (theirs > 0)
        printf("row ttl.scipy %.2f >= %d TTL iteration: times as fast as scipy\n",
               theirs / step, wide ? 10 : 7);
    if (in) (void)fclose(in);
    ferry_i_nmtf_free(f);
}

static void large(ferry_ctx *ctx, int64_t documents_all, int64_t words)
{
    double first = 0;

    printf("50 iterations, documents x %lld words, %d thread(s)\n", (long long)words,
           ctx->threads);
    for (int64_t part = 4; part >= 1; part /= 2) {
        const int64_t n = documents_all / part / 3;
        ferry_nmtf *f = journey(ctx, n, words, 150);
        const double nnz = entries(f, true), matrix = 12 * nnz;
        double wall = ferry_i_clock(), t = seconds();
        for (int i = 0; i < 50; i++)
            iterate(ctx, f);
        t = seconds() - t;
        wall = ferry_i_clock() - wall;
        if (first == 0) first = t / nnz;
        printf(
            "  %8lld documents %6.1fM non-zeros: %7.2f s (%.2f s of processors), %.3f ns a "
            "non-zero and iteration (%.2f of the smallest's), most memory %.2f GB = %.2f x "
            "the matrix\n",
            (long long)(3 * n), nnz / 1e6, wall, t, 1e9 * t / nnz / 50, t / nnz / first,
            (double)most / 1e9, (double)most / matrix);
        (void)fflush(stdout);
        ferry_i_nmtf_free(f);
        most = held;
    }
}

int main(int argc, char **argv)
{
    ferry_ctx *ctx = NULL;

    if (argc != 3 && argc != 5) {
        (void)fprintf(stderr, "usage: bench_ttl PEER THREADS [DOCUMENTS WORDS]\n");
        return 2;
    }
    ferry_set_allocator(count_calloc, count_realloc, count_free);
    if (ferry_ctx_new(&ctx) != FERRY_OK ||
        ferry_ctx_set(ctx, "threads", argv[2]) != FERRY_OK)
        return 1;
    if (argc == 3)
        small(ctx, argv[1]);
    else
        large(ctx, atoll(argv[3]), atoll(argv[4]));
    ferry_ctx_free(ctx);
    return 0;
}
