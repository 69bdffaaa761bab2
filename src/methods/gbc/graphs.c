/* GBC: all neighbour means and the graphs' losses in one pass over the edges.
 *
 * The weights of the graphs depend on losses that the same pass adds up, so the means of
 * every graph are kept until the weights are known. Where that would take too much memory,
 * a second pass computes them again. Rows are independent, losses are added up row by row in
 * order: the same bits with any number of threads and ranks. A rank passes over the edges of its
 * own instances; what neighbours on other ranks show comes by lists (learn/crossing.h).
 *
 * What is computed (3.3, renormalised) and the loss behind the weights of the graphs:
 *
 *   Et_i(x) = sum_g wg_g [sum_z A_g(x,z) f_i(z) / sum_z A_g(x,z)] / sum_g wg_g
 *   l_g     = sum_(a<b) A_ab sum_i w_i D(f_i(a), f_i(b)) / sum_(a<b) A_ab sum_i w_i
 * over the z that source i has and the g in which x has such a neighbour. D is the squared
 * difference of scores, or of probabilities: log(1 + exp(-f_a f_b)) would reward large
 * scores, not agreement. The text leaves the constant c of (3.11) open; here it is the
 * weighted number of edges. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/ranks.h"
#include "learn/crossing.h"
#include "methods/gbc/gbc.h"
#include "methods/gbc/packed.h"

#define RUN FERRY_RUN    /* rows */
#define KEEP (2LL << 30) /* bytes of means to keep */

struct gbc_pass {
    int64_t width; /* p (1 + k): of each source whether it counts, then its values */
    double *seen;  /* n x width: as neighbours count (clamped) */
    double *plain; /* n x width: as losses count; may be `seen` */
    double *mean;  /* q x n x (p k), or n x (p k) when they are not kept; NaN: none */
    bool keep;
    gbc_packed *packed;    /* instead of seen, plain and mean, with ... */
    int32_t *steps;        /* ... q x RUN means a run that is kept, or a thread */
    int64_t begin, end;    /* instances of this rank; without ranks all */
    ferry_crossing *cross; /* NULL: no ranks */
    int64_t runs;          /* of those instances; packed: of all */
    double *loss;          /* n x 2: of each row, what it adds to the loss and its weight */
    double *top, *sum;     /* packed: runs x q, of the loss */
    double *sums;          /* threads x (width + 8): scratch */
    int threads;
};

void ferry_i_gbc_pass_free(gbc_pass *s)
{
    if (!s) return;
    ferry_i_gbc_packed_free(s->packed);
    if (s->plain != s->seen) ferry_i_free(s->plain);
    ferry_i_crossing_free(s->cross);
    FERRY_FREE(s->seen, s->mean, s->steps, s->loss, s->top, s->sum, s->sums, s);
}

/* Room of the way for any number of sources and scores. `plain` is a second array only
 * where what neighbours show differs from what losses compare: shown labels, or scores
 * shown while probabilities are compared (margin loss). */
static ferry_status make_room(ferry_ctx *ctx, const gbc_problem *g, gbc_pass *s)
{
    ferry_status st = FERRY_OK;
    const int64_t cells = g->n * g->p * g->k;

    s->width = g->p * (1 + g->k);
    s->seen = ferry_i_calloc(g->n * s->width, sizeof *s->seen);
    s->plain = g->clamp || (g->logistic && !g->soft)
                   ? ferry_i_calloc(g->n * s->width, sizeof *s->plain)
                   : s->seen;
    FERRY_NEW(ctx, s->mean, cells * (s->keep ? g->q : 1));
    FERRY_NEW(ctx, s->loss, 2 * g->n);
    FERRY_NEW(ctx, s->sums, s->threads * (s->width + 8));
    FERRY_HAVE(ctx, s->seen && s->plain);
    ferry_i_ranks_part(ctx, g->n, &s->begin, &s->end);
    s->runs = (s->end - s->begin + RUN - 1) / RUN;
    FERRY_TRY(ferry_i_crossing_new(ctx, g->n, g->q, g->graph, &s->cross));
done:
    return st;
}

/* Room where one source with one score allows packed graphs (packed.h): less memory to
 * read, which is what the pass costs. `keep` decides whether means are stored per run or
 * per thread. */
static ferry_status make_packed(ferry_ctx *ctx, const gbc_problem *g, gbc_pass *s)
{
    ferry_status st = FERRY_OK;

    FERRY_NEW(ctx, s->steps, (s->keep ? s->runs : s->threads) * g->q * RUN);
    FERRY_NEW(ctx, s->top, s->runs * g->q);
    FERRY_NEW(ctx, s->sum, s->runs * g->q);
    FERRY_TRY(ferry_i_gbc_packed_new(ctx, g, &s->packed));
done:
    return st;
}

/* Means are kept up to KEEP bytes; beyond it the edges are read twice. The packed way needs
 * a problem of its kind (packed.h) and gives the same numbers within the step of its whole
 * numbers. */
ferry_status ferry_i_gbc_pass_new(ferry_ctx *ctx, const gbc_problem *g, gbc_pass **out)
{
    ferry_status st = FERRY_OK;
    gbc_pass *s = ferry_i_calloc(1, sizeof *s);

    *out = NULL;
    FERRY_HAVE(ctx, s);
    s->keep = g->n * g->p * g->k <= KEEP / 8 / (g->q > 0 ? g->q : 1);
    s->runs = (g->n + RUN - 1) / RUN;
    s->threads = g->n < RUN ? 1 : ctx->threads;
    if (ferry_i_gbc_packs(g))
        FERRY_TRY(make_packed(ctx, g, s));
    else
        FERRY_TRY(make_room(ctx, g, s));
    FERRY_MOVE(*out, s);
done:
    ferry_i_gbc_pass_free(s);
    return st;
}

/* What each instance shows to its neighbours.
 *
 * A row is p groups of 1 + k numbers: 1 or 0 whether it counts, then its values. The
 * leading 1 makes the degree come out of the same sum as the values, and an instance that a
 * source lacks adds nothing to either. With clamp a labelled one shows its label in every
 * source, also in one that lacks it. */
static ferry_status fill(ferry_ctx *ctx, const gbc_problem *g, double *const *f,
                         gbc_pass *s)
{
    const int64_t n = g->n, p = g->p, k = g->k, width = s->width;
    const int threads = s->threads;
    const bool odds = g->logistic && g->soft;

#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t x = s->begin; x < s->end; x++) {
        const bool fixed = g->clamp && g->labelled[x];
        for (int64_t i = 0; i < p; i++) {
            double *seen = s->seen + x * width + i * (1 + k);
            double *plain = s->plain + x * width + i * (1 + k);
            const bool here = g->mask[i * n + x] != 0;
            plain[0] = here;
            seen[0] = here || fixed;
            for (int64_t j = 0; j < k; j++) {
                const double v = f[i][x * k + j], y = g->y[x * k + j];
                const double probability = g->logistic ? ferry_i_sigmoid(v) : v;
                plain[1 + j] = here ? probability : 0;
                if (fixed)
                    seen[1 + j] = odds ? (y + 1) / 2 : y;
                else
                    seen[1 + j] = !here ? 0 : odds ? probability : v;
            }
        }
    }
    FERRY_PASS(ferry_i_cross(ctx, s->cross, width, s->seen));
    return s->plain != s->seen ? ferry_i_cross(ctx, s->cross, width, s->plain) : FERRY_OK;
}

/* sums (width) <- sum over the neighbours of x of weight times what they show. width is
 * small and the loop over it vectorises; the edges are read in order, the neighbours at
 * random: the cost is memory. */
static inline void add_neighbours(const ferry_matrix *a, int64_t x, const double *seen,
                                  int64_t width, double *sums)
{
    memset(sums, 0, (size_t)width * sizeof *sums);
    for (int64_t e = a->start[x]; e < a->start[x + 1]; e++) {
        const double *v = seen + (int64_t)a->index[e] * width;
        for (int64_t c = 0; c < width; c++)
            sums[c] += a->value[e] * v[c];
    }
}

/* Disagreement of x with its neighbours of larger number. Columns of a row ascend, so the
 * loop runs from the end while the neighbour's number is larger than x: every undirected
 * edge counts once. here[at] and there[at] are 1 or 0, hence the weight is 0 where source i
 * lacks either end. */
static inline void add_loss(const gbc_problem *g, const ferry_matrix *a, int64_t x,
                            const double *plain, int64_t width, const double *w,
                            double *top, double *sum)
{
    const double *here = plain + x * width;
    int64_t e = a->start[x + 1];

    while (e > a->start[x] && a->index[e - 1] > x) {
        const double *there = plain + (int64_t)a->index[--e] * width;
        for (int64_t i = 0; i < g->p; i++) {
            const int64_t at = i * (1 + g->k);
            const double weight = a->value[e] * w[i] * here[at] * there[at];
            double apart = 0;
            for (int64_t j = 1; j <= g->k; j++) {
                const double d = here[at + j] - there[at + j];
                apart += d * d;
            }
            *top += weight * apart / (double)g->k;
            *sum += weight;
        }
    }
}

/* Means of graph t into `mean`; with w also its loss. Rows add to the loss one by one, in
 * their order, so any number of threads and ranks gives the same bits. A labelled x needs no
 * mean, but its edges count in the loss. */
static ferry_status pass(ferry_ctx *ctx, gbc_pass *s, const gbc_problem *g, int64_t t,
                         const double *w, double *mean, double *loss)
{
    const ferry_matrix *a = g->graph[t];
    const int64_t p = g->p, k = g->k, width = s->width, runs = s->runs;
    const int threads = s->threads;
    double top = 0, sum = 0;

#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t run = 0; run < runs; run++) {
        const int64_t begin = s->begin + run * RUN;
        const int64_t end = begin + RUN < s->end ? begin + RUN : s->end;
        double *sums = s->sums + omp_get_thread_num() * (width + 8);
        for (int64_t x = begin; x < end; x++) {
            double *m = mean + x * p * k, *own = s->loss + 2 * x;
            own[0] = own[1] = 0;
            if (w) add_loss(g, a, x, s->plain, width, w, &own[0], &own[1]);
            if (g->labelled[x]) continue; /* its own label counts */
            add_neighbours(a, x, s->seen, width, sums);
            for (int64_t i = 0; i < p; i++)
                for (int64_t j = 0; j < k; j++) {
                    const double degree = sums[i * (1 + k)];
                    m[i * k + j] = degree > 0 ? sums[i * (1 + k) + 1 + j] / degree : NAN;
                }
        }
    }
    if (!w) return FERRY_OK;
    FERRY_PASS(ferry_i_ranks_gather(ctx, g->n, 2 * sizeof *s->loss, s->loss));
    for (int64_t x = 0; x < g->n; x++) {
        top += s->loss[2 * x];
        sum += s->loss[2 * x + 1];
    }
    *loss = sum > 0 ? top / sum : NAN;
    return FERRY_OK;
}

/* et += wg mean, and total += wg where there is one; the totals stand in et's place until
 * all graphs are in: weight[i] (n) per source. NaN marks an instance without neighbours in
 * that graph. `first` starts the sums anew, for callers that bring one graph at a time. */
static void combine(const gbc_pass *s, const gbc_problem *g, const double *const *mean,
                    int64_t graphs, const double *wg, bool first, double *const *et,
                    double *total)
{
    const int64_t n = g->n, p = g->p, k = g->k;
    const int threads = s->threads;

#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t x = s->begin; x < s->end; x++) {
        for (int64_t i = 0; i < p; i++) {
            double *to = et[i] + x * k, sum = first ? 0 : total[i * n + x];
            if (first) memset(to, 0, (size_t)k * sizeof *to);
            if (!g->labelled[x] && g->mask[i * n + x])
                for (int64_t t = 0; t < graphs; t++) {
                    const double *m = mean[t] + x * p * k + i * k;
                    if (isnan(m[0])) continue;
                    sum += wg[t];
                    for (int64_t j = 0; j < k; j++)
                        to[j] += wg[t] * m[j];
                }
            total[i * n + x] = sum;
        }
    }
}

/* The same from packed graphs. Means that are not kept are computed again. Two rounds over
 * the runs, because the weights need the losses of all of them. The scratch of a thread may
 * be overwritten when means are not kept. */
static void packed_run(gbc_pass *s, const gbc_problem *g, const ferry_ctx *ctx,
                       const double *f, double *loss, double *wg, double *et, uint8_t *has)
{
    const int64_t q = g->q, runs = s->runs;
    const int threads = s->threads;

    ferry_i_gbc_packed_show(ctx, s->packed, g, f);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t run = 0; run < runs; run++)
        ferry_i_gbc_packed_run(ctx, s->packed, run,
                               s->steps + (s->keep ? run : omp_get_thread_num()) * q * RUN,
                               s->top + run * q, s->sum + run * q);
    for (int64_t t = 0; t < q; t++) {
        double top = 0, sum = 0;
        for (int64_t run = 0; run < runs; run++) {
            top += s->top[run * q + t];
            sum += s->sum[run * q + t];
        }
        loss[t] = sum > 0 ? top / sum : NAN;
    }
    ferry_i_gbc_root(q, loss, wg);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t run = 0; run < runs; run++) {
        int32_t *mean = s->steps + (s->keep ? run : omp_get_thread_num()) * q * RUN;
        if (!s->keep)
            ferry_i_gbc_packed_run(ctx, s->packed, run, mean, s->top + run * q,
                                   s->sum + run * q);
        ferry_i_gbc_packed_combine(s->packed, g, run, mean, wg, et, has);
    }
}

/* Pass over the edges (losses, means), weights of the graphs, then Et = weighted means.
 *
 * et and has are written for all instances: 0 and false where there is no mean. Cost: nnz
 * (p (1 + k)) multiply-adds per graph, twice where means are not kept, plus n p k q. */
ferry_status ferry_i_gbc_pass_run(ferry_ctx *ctx, gbc_pass *s, const gbc_problem *g,
                                  double *const *f, const double *w, double *loss,
                                  double *wg, double *const *et, uint8_t *const *has)
{
    ferry_status st = FERRY_OK;
    const int64_t cells = g->n * g->p * g->k;
    const double **mean = NULL;
    double *total = NULL;

    if (s->packed) { /* one number an instance: all go to all ranks, and each makes the whole pass */
        FERRY_TRY(ferry_i_ranks_gather(ctx, g->n, sizeof *f[0], f[0]));
        packed_run(s, g, ctx, f[0], loss, wg, et[0], has[0]);
        goto done;
    }
    FERRY_NEW(ctx, mean, g->q);
    FERRY_NEW(ctx, total, g->p * g->n);
    FERRY_TRY(fill(ctx, g, f, s));
    for (int64_t t = 0; t < g->q; t++) {
        double *to = s->mean + (s->keep ? t * cells : 0);
        mean[t] = to;
        FERRY_TRY(pass(ctx, s, g, t, w, to, &loss[t]));
    }
    ferry_i_gbc_root(g->q, loss, wg);
    if (s->keep) combine(s, g, mean, g->q, wg, true, et, total);
    for (int64_t t = 0; !s->keep && t < g->q; t++) {
        FERRY_TRY(pass(ctx, s, g, t, NULL, s->mean, NULL));
        combine(s, g, mean + t, 1, wg + t, t == 0, et, total);
    }
    /* Et is renormalised by the weights of the graphs that had something to say. */
    for (int64_t i = 0; i < g->p; i++)
        for (int64_t x = s->begin; x < s->end; x++) {
            const double sum = total[i * g->n + x];
            has[i][x] = sum > 0;
            for (int64_t j = 0; sum > 0 && j < g->k; j++)
                et[i][x * g->k + j] /= sum;
        }
done:
    FERRY_FREE(mean, total);
    return st;
}
