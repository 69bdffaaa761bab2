/* GBC: graphs packed for the pass over their edges when there is one source that has every
 * instance, and one score an instance.
 *
 * The pass itself is the engine's (`neighbours`, linalg/packed.h). For it
 *   - scores are whole numbers, 2^32 steps from the least to the largest, which is 2.4e-10
 *     of their range. What an instance shows to its neighbours is its score, but for
 *     labelled ones when labels are shown (clamp): those have two numbers (shown, score)
 *     behind the scores of all;
 *   - in runs of rows, rows with as many neighbours (labelled ones apart) stand together;
 *   - weights that are all equal are not stored.
 * Losses are added up run by run: the same bits with any number of threads.
 *
 * Why: the pass is bound by memory. Four bytes a score instead of eight, groups of rows of
 * equal length without a loop counter per row, and no weights where all are 1 are what is
 * read less, at an error far below that of the trees. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "methods/gbc/packed.h"

/* Numbers of labelled and of other neighbours that are told apart when rows are sorted.
 * More neighbours than that share the last place and are told apart by find_groups(). */
enum { KINDS = 16, COUNTS = 64 };

typedef ferry_run_group group;
typedef ferry_run_graph graph;

struct gbc_packed {
    ferry_neighbours nb;
    int32_t *place;      /* n: of a labelled one that shows its label in `show`, or -1 */
    double *score;       /* n: as numbers */
    double middle, step; /* of the whole numbers: middle + step times one */
};

/* n must leave room for the two extra numbers of each labelled one in 32 bits. In margin
 * mode neighbours show scores and losses compare probabilities: two numbers, so it does not
 * pack. */
bool ferry_i_gbc_packs(const gbc_problem *g)
{
    bool all = g->p == 1 && g->k == 1 && (!g->logistic || g->soft) && g->n < INT_MAX / 4;

    for (int64_t x = 0; all && x < g->n; x++)
        all = g->mask[x] != 0;
    return all;
}

void ferry_i_gbc_packed_free(gbc_packed *s)
{
    if (!s) return;
    for (int64_t t = 0; s->nb.graph && t < s->nb.q; t++) {
        FERRY_FREE(s->nb.graph[t].edge, s->nb.graph[t].group, s->nb.graph[t].groups,
                   s->nb.graph[t].row, s->nb.graph[t].index, s->nb.graph[t].value);
    }
    FERRY_FREE(s->nb.graph, s->place, s->score, s->nb.show, s);
}

/* ---- packing ---- */

/* A graph of ones, or of any one weight above 0: the mean does not see the weight. */
static bool all_equal(const ferry_matrix *a)
{
    for (int64_t e = 1; e < a->nnz; e++)
        if (a->value[e] != a->value[0]) return false;
    return a->nnz == 0 || a->value[0] > 0;
}

/* Place in the counting sort: number of labelled neighbours first, then of others. */
static int32_t kind(int32_t plain, int32_t fixed)
{
    return (fixed < KINDS ? fixed : KINDS - 1) * COUNTS +
           (plain < COUNTS ? plain : COUNTS - 1);
}

/* The rows of a run by their numbers of neighbours: row <- in that order. plain, fixed
 * (RUN): of each. A counting sort, stable, so rows of equal counts stay in order. Row
 * numbers are within the run and fit 16 bits. */
static void sort_rows(const gbc_packed *s, const ferry_matrix *a, int64_t begin,
                      int64_t end, int32_t *plain, int32_t *fixed, uint16_t *row)
{
    int32_t place[KINDS * COUNTS + 1] = {0};

    for (int64_t x = begin; x < end; x++) {
        int32_t labels = 0;
        for (int64_t e = a->start[x]; e < a->start[x + 1]; e++)
            labels += s->place[a->index[e]] >= 0;
        fixed[x - begin] = labels;
        plain[x - begin] = (int32_t)(a->start[x + 1] - a->start[x]) - labels;
    }
    for (int64_t i = 0; i < end - begin; i++)
        place[kind(plain[i], fixed[i]) + 1]++;
    for (int32_t b = 0; b < KINDS * COUNTS; b++)
        place[b + 1] += place[b];
    for (int64_t i = 0; i < end - begin; i++)
        row[place[kind(plain[i], fixed[i])]++] = (uint16_t)i;
}

/* Groups of the sorted rows of a run, appended when `to` is not NULL; how many. Called
 * twice: once to count, once to write. Rows of the last place of kind() may differ in their
 * counts; they then make several groups of few rows. */
static int64_t find_groups(int64_t rows, const int32_t *plain, const int32_t *fixed,
                           const uint16_t *row, group *to)
{
    int64_t n = 0;

    for (int64_t i = 0; i < rows; n++) {
        const group g = {0, plain[row[i]], fixed[row[i]]};
        const int64_t first = i;
        while (i < rows && plain[row[i]] == g.plain && fixed[row[i]] == g.fixed)
            i++;
        if (to) to[n] = (group){(int32_t)(i - first), g.plain, g.fixed};
    }
    return n;
}

/* The edges of the sorted rows, those to labelled ones last in each row. `at` is where the
 * run's edges begin, the same place as in `a`, since a run keeps all its edges. A labelled
 * neighbour is named by its place behind the scores. */
static void copy_edges(const gbc_packed *s, const ferry_matrix *a, int64_t begin,
                       int64_t rows, const uint16_t *row, graph *g, int64_t at)
{
    for (int64_t i = 0; i < rows; i++) {
        const int64_t x = begin + row[i];
        for (int labels = 0; labels < 2; labels++)
            for (int64_t e = a->start[x]; e < a->start[x + 1]; e++) {
                const int32_t place = s->place[a->index[e]];
                if ((place >= 0) != labels) continue;
                if (g->value) g->value[at] = a->value[e];
                g->index[at++] = labels ? place : a->index[e];
            }
    }
}

/* One graph. The spare entries at the end of index are for the engine's look ahead. Cost: a
 * few passes over the edges, once a fit. */
static ferry_status pack(ferry_ctx *ctx, const gbc_packed *s, const ferry_matrix *a,
                         graph *g)
{
    ferry_status st = FERRY_OK;
    int32_t *plain = ferry_i_calloc(FERRY_RUN, sizeof *plain);
    int32_t *fixed = ferry_i_calloc(FERRY_RUN, sizeof *fixed);

    FERRY_NEW(ctx, g->edge, s->nb.runs + 1);
    FERRY_NEW(ctx, g->group, s->nb.runs + 1);
    FERRY_NEW(ctx, g->row, s->nb.n);
    FERRY_NEW(ctx, g->index, a->nnz + FERRY_NEIGHBOURS_AHEAD);
    FERRY_HAVE(ctx, plain && fixed);
    if (!all_equal(a)) {
        FERRY_NEW(ctx, g->value, a->nnz);
    }
    for (int64_t run = 0; run < s->nb.runs; run++) {
        const int64_t begin = run * FERRY_RUN;
        const int64_t end = begin + FERRY_RUN < s->nb.n ? begin + FERRY_RUN : s->nb.n;
        sort_rows(s, a, begin, end, plain, fixed, g->row + begin);
        const int64_t more = find_groups(end - begin, plain, fixed, g->row + begin, NULL);
        group *to = ferry_i_realloc(g->groups, g->group[run] + more, sizeof *to);
        FERRY_HAVE(ctx, to);
        g->groups = to;
        (void)find_groups(end - begin, plain, fixed, g->row + begin, to + g->group[run]);
        copy_edges(s, a, begin, end - begin, g->row + begin, g, g->edge[run]);
        g->group[run + 1] = g->group[run] + more;
        g->edge[run + 1] = a->start[end];
    }
done:
    FERRY_FREE(plain, fixed);
    return st;
}

/* place: labelled instances get two numbers each behind the n scores, when labels are
 * shown. On failure all that was made is freed. */
ferry_status ferry_i_gbc_packed_new(ferry_ctx *ctx, const gbc_problem *g, gbc_packed **out)
{
    ferry_status st = FERRY_OK;
    gbc_packed *s = ferry_i_calloc(1, sizeof *s);
    int32_t next = (int32_t)g->n;

    *out = NULL;
    FERRY_HAVE(ctx, s);
    s->nb.n = g->n;
    s->nb.q = g->q;
    s->nb.runs = (g->n + FERRY_RUN - 1) / FERRY_RUN;
    FERRY_NEW(ctx, s->nb.graph, g->q);
    FERRY_NEW(ctx, s->place, g->n);
    for (int64_t x = 0; x < g->n; x++) {
        s->place[x] = g->clamp && g->labelled[x] ? next : -1;
        next += s->place[x] >= 0 ? 2 : 0;
    }
    s->nb.shown = next;
    FERRY_NEW(ctx, s->score, g->n);
    FERRY_NEW(ctx, s->nb.show, next);
    for (int64_t t = 0; t < g->q; t++)
        FERRY_TRY(pack(ctx, s, g->graph[t], &s->nb.graph[t]));
    FERRY_MOVE(*out, s);
done:
    ferry_i_gbc_packed_free(s);
    return st;
}

/* ---- the pass ---- */

/* What a labelled instance shows. */
static double label_of(const gbc_problem *g, int64_t x)
{
    return g->logistic ? (g->y[x] + 1) / 2 : g->y[x];
}

/* Rounds half away from zero. step 0: all scores are equal, and the middle is exact. */
static int32_t whole(const gbc_packed *s, double v)
{
    const double at = s->step > 0 ? (v - s->middle) / s->step : 0;

    return (int32_t)(at < 0 ? at - 0.5 : at + 0.5);
}

/* New scores, the range of shown numbers, then all of them in whole steps. Minimum and
 * maximum do not depend on the order, so bits do not depend on threads. */
void ferry_i_gbc_packed_show(const ferry_ctx *ctx, gbc_packed *s, const gbc_problem *g,
                             const double *f)
{
    const int64_t n = s->nb.n;
    const int threads = n < FERRY_RUN ? 1 : ctx->threads;
    double least = INFINITY, most = -INFINITY;

#pragma omp parallel for num_threads(threads) schedule(static) reduction(min               \
                                                                         : least)          \
    reduction(max                                                                          \
              : most)
    for (int64_t x = 0; x < n; x++) {
        const double v = g->logistic ? ferry_i_sigmoid(f[x]) : f[x];
        const double y = s->place[x] < 0 ? v : label_of(g, x);
        s->score[x] = v;
        least = fmin(least, fmin(v, y));
        most = fmax(most, fmax(v, y));
    }
    s->middle = least + (most - least) / 2;
    s->step = (most - least) / (2.0 * (INT32_MAX - 2)); /* INT32_MIN means none */
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t x = 0; x < n; x++) {
        const int32_t place = s->place[x];
        s->nb.show[x] = whole(s, s->score[x]);
        if (place < 0) continue;
        s->nb.show[place] = whole(s, label_of(g, x));
        /* The loss compares scores also where the label is shown. */
        s->nb.show[place + 1] = s->nb.show[x];
    }
}

/* Safe in threads: it writes only what it is given. The engine adds half the squares, in
 * steps: the factor restores them. Each edge counts from both ends in top and in sum, which
 * cancels in their ratio. */
void ferry_i_gbc_packed_run(const ferry_ctx *ctx, const gbc_packed *s, int64_t run,
                            int32_t *mean, double *top, double *sum)
{
    ferry_e(ctx)->neighbours(ctx, &s->nb, run, mean, top, sum);
    for (int64_t t = 0; t < s->nb.q; t++)
        top[t] *= 2 * s->step * s->step;
}

/* Weighted mean of the graphs' means, still in steps; back to a score only at the end. */
void ferry_i_gbc_packed_combine(const gbc_packed *s, const gbc_problem *g, int64_t run,
                                const int32_t *mean, const double *wg, double *et,
                                uint8_t *has)
{
    const int64_t begin = run * FERRY_RUN;
    const int64_t rows = begin + FERRY_RUN < s->nb.n ? FERRY_RUN : s->nb.n - begin;
    double total[FERRY_RUN] = {0}, *to = et + begin;

    memset(to, 0, (size_t)rows * sizeof *to);
    for (int64_t t = 0; t < s->nb.q; t++) {
        const int32_t *m = mean + t * FERRY_RUN;
        for (int64_t i = 0; i < rows; i++) {
            /* A graph in which the row has no neighbour says INT32_MIN. */
            const double w = m[i] == INT32_MIN ? 0 : wg[t];
            total[i] += w;
            to[i] += w * m[i];
        }
    }
    for (int64_t i = 0; i < rows; i++) {
        const bool known = total[i] > 0 && !g->labelled[begin + i];
        has[begin + i] = known;
        to[i] = known ? s->middle + s->step * (to[i] / total[i]) : 0;
    }
}
