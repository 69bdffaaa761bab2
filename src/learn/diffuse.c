/* Propagation over graphs: every instance becomes a mixture of what it was and of the mean
 * of its neighbours (Zhu, Ghahramani and Lafferty, ICML 2003, where alpha is 1 for
 * instances without labels and 0 for those with).
 * Repeated substitution is Jacobi's method: every row of the next P is computed from the
 * present one, so rows can go to threads in any order. Where all alpha_x < 1 a step
 * multiplies the error by max alpha_x at most: a mean is a convex combination. */
#include <math.h>
#include <string.h>

#include "core/ranks.h"
#include "learn/diffuse.h"

/* mean (m) <- neighbours' mean of x; whether there is one. sums: m, scratch.
 * Each graph's mean is taken by itself first, so that a graph with many edges has no
 * more say than its weight w_g gives it. Edges of weight 0 make no neighbours. */
static bool neighbour_mean(const ferry_diffusion *d, int64_t x, const double *p,
                           double *sums, double *mean)
{
    const int64_t m = d->m;
    double weight = 0;

    memset(mean, 0, (size_t)m * sizeof *mean);
    for (int64_t g = 0; g < d->q; g++) {
        const ferry_matrix *a = d->graph[g];
        double degree = 0;
        if (!(d->w[g] > 0) || a->start[x] == a->start[x + 1]) continue;
        memset(sums, 0, (size_t)m * sizeof *sums);
        for (int64_t e = a->start[x]; e < a->start[x + 1]; e++) {
            const double *from = p + (int64_t)a->index[e] * m;
            degree += a->value[e];
            for (int64_t j = 0; j < m; j++)
                sums[j] += a->value[e] * from[j];
        }
        if (!(degree > 0)) continue;
        weight += d->w[g];
        for (int64_t j = 0; j < m; j++)
            mean[j] += d->w[g] * sums[j] / degree;
    }
    for (int64_t j = 0; weight > 0 && j < m; j++)
        mean[j] /= weight;
    return weight > 0;
}

/* next <- one substitution, for rows [begin, end); the largest change. scratch: 2 m.
 * P(x) <- (1 - a) P0(x) + a mean; a is 0 without neighbours, and then mean is not read. */
static double substitute(const ferry_diffusion *d, int64_t begin, int64_t end,
                         const double *p, double *scratch, double *next, uint8_t *reached)
{
    const int64_t m = d->m;
    double most = 0, *mean = scratch + m;

    for (int64_t x = begin; x < end; x++) {
        const bool any = neighbour_mean(d, x, p, scratch, mean);
        const double a = any ? d->alpha[x] : 0;
        if (reached) reached[x] = any;
        for (int64_t j = 0; j < m; j++) {
            double *to = &next[x * m + j];
            *to = (1 - a) * d->p0[x * m + j] + (a > 0 ? a * mean[j] : 0);
            most = fmax(most, fabs(*to - p[x * m + j]));
        }
    }
    return most;
}

/* ---- rows over ranks ---- */

/* Edges cross ranks: whose values go to which rank after a step, and whose come from there. */
typedef struct crossing {
    int64_t ranks;
    int64_t *give, *take;   /* how many to, from each rank */
    int64_t *gives, *takes; /* which instances, rank after rank */
    double *sent, *got;     /* their values */
    const void **out;
    void **in;
    int64_t *n_out, *n_in; /* bytes */
} crossing;

static void crossing_clear(crossing *c)
{
    FERRY_FREE(c->give, c->take, c->gives, c->takes, c->sent, c->got, c->out, c->in,
               c->n_out, c->n_in);
}

/* `each` bytes of every instance on the two lists. */
static ferry_status trade_lists(ferry_ctx *ctx, crossing *c, const int64_t *n_out,
                                const void *out, const int64_t *n_in, void *in,
                                int64_t each)
{
    const char *from = out;
    char *to = in;

    for (int64_t r = 0; r < c->ranks; r++) {
        c->out[r] = from;
        c->in[r] = to;
        from += c->n_out[r] = n_out[r] * each;
        to += c->n_in[r] = n_in[r] * each;
    }
    return ferry_i_ranks_trade(ctx, c->out, c->n_out, c->in, c->n_in);
}

/* The neighbours of this rank's rows [begin, end) that are other ranks', in their order, and so rank after rank. */
static ferry_status list_neighbours(ferry_ctx *ctx, const ferry_diffusion *d, int64_t begin,
                                    int64_t end, const int64_t *cut, crossing *c)
{
    ferry_status st = FERRY_OK;
    uint8_t *wanted = NULL;
    int64_t n = 0;

    FERRY_NEW(ctx, wanted, d->n);
    for (int64_t g = 0; g < d->q; g++)
        for (int64_t e = d->graph[g]->start[begin]; e < d->graph[g]->start[end]; e++)
            wanted[d->graph[g]->index[e]] = 1;
    memset(wanted + begin, 0, (size_t)(end - begin));
    for (int64_t r = 0; r < c->ranks; r++)
        for (int64_t x = cut[r]; x < cut[r + 1]; x++)
            c->take[r] += wanted[x];
    for (int64_t r = 0; r < c->ranks; r++)
        n += c->take[r];
    FERRY_NEW(ctx, c->takes, n);
    FERRY_NEW(ctx, c->got, n * d->m);
    n = 0;
    for (int64_t x = 0; x < d->n; x++)
        if (wanted[x]) c->takes[n++] = x;
done:
    ferry_i_free(wanted);
    return st;
}

/* Who needs whom is told once, before the first step. */
static ferry_status crossing_new(ferry_ctx *ctx, const ferry_diffusion *d, int64_t begin,
                                 int64_t end, crossing *c)
{
    ferry_status st = FERRY_OK;
    const int64_t ranks = ctx->ranks->size;
    int64_t *cut = NULL, *one = NULL, *begins = NULL, n = 0;

    c->ranks = ranks;
    FERRY_NEW(ctx, cut, ranks + 1);
    FERRY_NEW(ctx, one, ranks);
    FERRY_NEW(ctx, begins, ranks);
    FERRY_NEW(ctx, c->give, ranks);
    FERRY_NEW(ctx, c->take, ranks);
    FERRY_NEW(ctx, c->out, ranks);
    FERRY_NEW(ctx, c->in, ranks);
    FERRY_NEW(ctx, c->n_out, ranks);
    FERRY_NEW(ctx, c->n_in, ranks);
    for (int64_t r = 0; r < ranks; r++) {
        one[r] = 1;
        begins[r] = begin;
    }
    FERRY_TRY(trade_lists(ctx, c, one, begins, one, cut, (int64_t)sizeof *cut));
    cut[ranks] = d->n;
    FERRY_TRY(list_neighbours(ctx, d, begin, end, cut, c));
    FERRY_TRY(trade_lists(ctx, c, one, c->take, one, c->give, (int64_t)sizeof *c->give));
    for (int64_t r = 0; r < ranks; r++)
        n += c->give[r];
    FERRY_NEW(ctx, c->gives, n);
    FERRY_NEW(ctx, c->sent, n * d->m);
    FERRY_TRY(trade_lists(ctx, c, c->take, c->takes, c->give, c->gives,
                          (int64_t)sizeof *c->gives));
done:
    FERRY_FREE(cut, one, begins);
    return st;
}

/* The present values of other ranks' instances that this one's have as neighbours. */
static ferry_status cross(ferry_ctx *ctx, int64_t m, crossing *c, double *p)
{
    int64_t give = 0, take = 0;

    for (int64_t r = 0; r < c->ranks; r++) {
        give += c->give[r];
        take += c->take[r];
    }
    for (int64_t i = 0; i < give; i++)
        memcpy(c->sent + i * m, p + c->gives[i] * m, (size_t)m * sizeof *p);
    FERRY_PASS(
        trade_lists(ctx, c, c->give, c->sent, c->take, c->got, m * (int64_t)sizeof *p));
    for (int64_t i = 0; i < take; i++)
        memcpy(p + c->takes[i] * m, c->got + i * m, (size_t)m * sizeof *p);
    return FERRY_OK;
}

/* ---- all of it ---- */

/* p (n x m) and reached are the caller's. Threads and ranks take fixed runs of rows, and the
 * largest change is a maximum, which has no order: the same bits for any number of
 * them. */
ferry_status ferry_i_diffuse(ferry_ctx *ctx, const ferry_diffusion *d, double *p,
                             uint8_t *reached)
{
    ferry_status st = FERRY_OK;
    const int64_t m = d->m, room = 2 * m + 8; /* no false sharing */
    const bool split = ferry_i_ranks_split(ctx);
    int64_t begin = 0, end = 0;
    double *next = NULL, *scratch = NULL, *change = NULL, most = INFINITY;
    crossing c = {0};

    ferry_i_ranks_part(ctx, d->n, &begin, &end);
    const int64_t n = end - begin;
    const int threads = n < 4096 ? 1 : ctx->threads;
    FERRY_NEW(ctx, next, d->n * m);
    FERRY_NEW(ctx, scratch, threads * room);
    FERRY_NEW(ctx, change, threads);
    memcpy(p, d->p0, (size_t)(d->n * m) * sizeof *p); /* also what others begin with */
    if (split) FERRY_TRY(crossing_new(ctx, d, begin, end, &c));
    for (int64_t t = 0; t < d->max_iter && most > d->tol; t++) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
        for (int i = 0; i < threads; i++)
            change[i] =
                substitute(d, begin + n * i / threads, begin + n * (i + 1) / threads, p,
                           scratch + i * room, next, reached);
        most = 0;
        for (int i = 0; i < threads; i++)
            most = fmax(most, change[i]);
        /* copied, not swapped: p is the caller's memory and has to hold the result */
        memcpy(p + begin * m, next + begin * m, (size_t)(n * m) * sizeof *p);
        FERRY_TRY(ferry_i_ranks_most(ctx, 1, &most));
        if (split) FERRY_TRY(cross(ctx, m, &c, p));
        FERRY_TRY(ferry_i_progress(ctx, "propagate", t + 1, d->max_iter, NAN, NULL));
    }
    FERRY_TRY(ferry_i_ranks_gather(ctx, d->n, (size_t)m * sizeof *p, p));
    if (reached) FERRY_TRY(ferry_i_ranks_gather(ctx, d->n, sizeof *reached, reached));
done:
    crossing_clear(&c);
    FERRY_FREE(change, scratch, next);
    return st;
}
