/* GBC: graphs packed for the pass over their edges when there is one source that has every
 * instance, and one score an instance.
 *
 * A pass reads every edge once; what it costs is looking up neighbours, of which there are
 * more than a cache holds. So:
 *   - four bytes are looked up for an edge: scores are whole numbers here, 2^32 steps from
 *     the least to the largest, which is 2.4e-10 of their range. What an instance shows to
 *     its neighbours is its score, but for labelled ones when labels are shown (clamp):
 *     those have two numbers (shown, score) behind the scores of all;
 *   - in runs of rows, rows with as many neighbours (labelled ones apart) stand together,
 *     so that the processor foresees the end of every short loop;
 *   - numbers of neighbours are known ahead and fetched early; weights that are all equal
 *     are not stored;
 *   - the loss sum_ab A_ab (f_a - f_b)^2 is 2 sum_a f_a (d_a f_a - sum_b A_ab f_b), A being
 *     symmetric: with whole numbers nothing is lost in the difference, and where all scores
 *     are the same it is exactly 0.
 * Losses are added up run by run: the same bits with any number of threads. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "methods/gbc/packed.h"

/* Edges to fetch ahead, enough to hide a look into memory (32 to 128 were alike), when
 * there are more numbers than the near caches hold. */
enum { AHEAD = 64, NEAR = 1 << 17 };
/* Numbers of labelled and of other neighbours that are told apart when rows are sorted. */
enum { KINDS = 16, COUNTS = 64 };

/* Consecutive rows (as listed) with as many neighbours. */
typedef struct group {
    int32_t rows, plain, fixed;
} group;

typedef struct graph {
    int64_t *edge;  /* runs + 1: where a run's edges begin */
    int64_t *group; /* runs + 1: where its groups do */
    group *groups;
    uint16_t *row;  /* n: in its run, in the order of the groups */
    int32_t *index; /* edges and AHEAD more: into `show`; labelled ones behind the others */
    double *value;  /* edges; NULL: all equal */
} graph;

struct gbc_packed {
    int64_t n, q, runs;
    graph *graph;
    int32_t *place;      /* n: of a labelled one that shows its label in `show`, or -1 */
    int64_t shown;       /* numbers in `show` */
    double *score;       /* n: as numbers */
    int32_t *show;       /* n scores; then shown and score of labelled ones */
    double middle, step; /* of the whole numbers: middle + step times one */
};

#define INLINE static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

static inline void fetch(const int32_t *p)
{
#if defined(__GNUC__)
    __builtin_prefetch(p);
#else
    (void)p;
#endif
}

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
    for (int64_t t = 0; s->graph && t < s->q; t++) {
        ferry_i_free(s->graph[t].edge);
        ferry_i_free(s->graph[t].group);
        ferry_i_free(s->graph[t].groups);
        ferry_i_free(s->graph[t].row);
        ferry_i_free(s->graph[t].index);
        ferry_i_free(s->graph[t].value);
    }
    ferry_i_free(s->graph);
    ferry_i_free(s->place);
    ferry_i_free(s->score);
    ferry_i_free(s->show);
    ferry_i_free(s);
}

/* ---- packing ---- */

static bool all_equal(const ferry_matrix *a)
{
    for (int64_t e = 1; e < a->nnz; e++)
        if (a->value[e] != a->value[0]) return false;
    return a->nnz == 0 || a->value[0] > 0;
}

static int32_t kind(int32_t plain, int32_t fixed)
{
    return (fixed < KINDS ? fixed : KINDS - 1) * COUNTS +
           (plain < COUNTS ? plain : COUNTS - 1);
}

/* The rows of a run by their numbers of neighbours: row <- in that order. plain, fixed
 * (RUN): of each. */
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

/* Groups of the sorted rows of a run, appended when `to` is not NULL; how many. */
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

/* The edges of the sorted rows, those to labelled ones last in each row. */
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

static ferry_status pack(ferry_ctx *ctx, const gbc_packed *s, const ferry_matrix *a,
                         graph *g)
{
    ferry_status st = FERRY_OK;
    int32_t *plain = ferry_i_calloc(GBC_RUN, sizeof *plain);
    int32_t *fixed = ferry_i_calloc(GBC_RUN, sizeof *fixed);

    FERRY_NEW(ctx, g->edge, s->runs + 1);
    FERRY_NEW(ctx, g->group, s->runs + 1);
    FERRY_NEW(ctx, g->row, s->n);
    FERRY_NEW(ctx, g->index, a->nnz + AHEAD);
    FERRY_HAVE(ctx, plain && fixed);
    if (!all_equal(a)) {
        FERRY_NEW(ctx, g->value, a->nnz);
    }
    for (int64_t run = 0; run < s->runs; run++) {
        const int64_t begin = run * GBC_RUN;
        const int64_t end = begin + GBC_RUN < s->n ? begin + GBC_RUN : s->n;
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
    ferry_i_free(plain);
    ferry_i_free(fixed);
    return st;
}

ferry_status ferry_i_gbc_packed_new(ferry_ctx *ctx, const gbc_problem *g, gbc_packed **out)
{
    ferry_status st = FERRY_OK;
    gbc_packed *s = ferry_i_calloc(1, sizeof *s);
    int32_t next = (int32_t)g->n;

    *out = NULL;
    FERRY_HAVE(ctx, s);
    s->n = g->n;
    s->q = g->q;
    s->runs = (g->n + GBC_RUN - 1) / GBC_RUN;
    FERRY_NEW(ctx, s->graph, g->q);
    FERRY_NEW(ctx, s->place, g->n);
    for (int64_t x = 0; x < g->n; x++) {
        s->place[x] = g->clamp && g->labelled[x] ? next : -1;
        next += s->place[x] >= 0 ? 2 : 0;
    }
    s->shown = next;
    FERRY_NEW(ctx, s->score, g->n);
    FERRY_NEW(ctx, s->show, next);
    for (int64_t t = 0; t < g->q; t++)
        FERRY_TRY(pack(ctx, s, g->graph[t], &s->graph[t]));
    *out = s;
    s = NULL;
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

static int32_t whole(const gbc_packed *s, double v)
{
    const double at = s->step > 0 ? (v - s->middle) / s->step : 0;

    return (int32_t)(at < 0 ? at - 0.5 : at + 0.5);
}

void ferry_i_gbc_packed_show(const ferry_ctx *ctx, gbc_packed *s, const gbc_problem *g,
                             const double *f)
{
    const int64_t n = s->n;
    const int threads = n < GBC_RUN ? 1 : ctx->threads;
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
        s->show[x] = whole(s, s->score[x]);
        if (place < 0) continue;
        s->show[place] = whole(s, label_of(g, x));
        s->show[place + 1] = s->show[x];
    }
}

/* Weights are equal: a row's sums are those of whole numbers. Returns the part of these
 * rows in the loss, in steps. plain is g->plain, and ahead whether to fetch, as constants
 * wherever the compiler can make something of it. */
INLINE double equal_rows(const group *g, const int32_t plain, const bool ahead,
                         const int32_t *show, const uint16_t *row, const int32_t *index,
                         const int32_t *here, int32_t *mean)
{
    const int64_t degree = (int64_t)plain + g->fixed;
    const double part = 1 / (double)degree;
    double top = 0;

    for (int32_t i = 0; i < g->rows; i++) {
        int64_t shown = 0, score = 0;
        UNROLL for (int32_t e = 0; e < plain; e++)
        {
            score += show[index[e]];
            if (ahead) fetch(show + index[e + AHEAD]);
        }
        index += plain;
        shown = score;
        for (int32_t e = 0; e < g->fixed; e++, index++) {
            shown += show[*index];
            score += show[*index + 1];
            if (ahead) fetch(show + index[AHEAD]);
        }
        const int64_t mine = here[row[i]];
        mean[row[i]] = (int32_t)((double)shown * part);
        top += (double)mine * (double)(degree * mine - score);
    }
    return top;
}

#define ROWS(plain, ahead) equal_rows(g, plain, ahead, show, row, index, here, mean)
#define UP_TO_8(ahead)                                                                     \
    switch (g->plain) {                                                                    \
    case 0: return ROWS(0, ahead);                                                         \
    case 1: return ROWS(1, ahead);                                                         \
    case 2: return ROWS(2, ahead);                                                         \
    case 3: return ROWS(3, ahead);                                                         \
    case 4: return ROWS(4, ahead);                                                         \
    case 5: return ROWS(5, ahead);                                                         \
    case 6: return ROWS(6, ahead);                                                         \
    case 7: return ROWS(7, ahead);                                                         \
    case 8: return ROWS(8, ahead);                                                         \
    default: return ROWS(g->plain, ahead);                                                 \
    }

static double near_rows(const group *g, const int32_t *show, const uint16_t *row,
                        const int32_t *index, const int32_t *here, int32_t *mean)
{
    UP_TO_8(false)
}

static double far_rows(const group *g, const int32_t *show, const uint16_t *row,
                       const int32_t *index, const int32_t *here, int32_t *mean)
{
    UP_TO_8(true)
}

/* The same with weights; *sum: all of them. */
static inline double weighted_rows(const group *g, const int32_t *show, const uint16_t *row,
                                   const int32_t *index, const double *value,
                                   const int32_t *here, int32_t *mean, double *sum)
{
    double top = 0;

    for (int32_t i = 0; i < g->rows; i++) {
        const double mine = here[row[i]];
        double degree = 0, shown = 0, apart = 0;
        for (int32_t e = 0; e < g->plain + g->fixed; e++, index++, value++) {
            const double score = show[e < g->plain ? *index : *index + 1];
            fetch(show + index[AHEAD]);
            degree += *value;
            shown += *value * show[*index];
            apart += *value * (score - mine) * (score - mine);
        }
        mean[row[i]] = degree > 0 ? (int32_t)(shown / degree) : INT32_MIN;
        top += apart;
        *sum += degree;
    }
    return top / 2; /* as equal_rows counts it */
}

void ferry_i_gbc_packed_run(const gbc_packed *s, int64_t run, int32_t *mean, double *top,
                            double *sum)
{
    const int64_t begin = run * GBC_RUN;
    const int32_t *here = s->show + begin;

    for (int64_t t = 0; t < s->q; t++) {
        const graph *g = &s->graph[t];
        const uint16_t *row = g->row + begin;
        int32_t *to = mean + t * GBC_RUN;
        int64_t at = g->edge[run];
        double apart = 0;
        sum[t] = 0;
        for (int64_t b = g->group[run]; b < g->group[run + 1]; b++) {
            const group *one = &g->groups[b];
            const int64_t degree = (int64_t)one->plain + one->fixed;
            if (degree == 0) {
                for (int32_t i = 0; i < one->rows; i++)
                    to[row[i]] = INT32_MIN;
            } else if (g->value) {
                apart += weighted_rows(one, s->show, row, g->index + at, g->value + at,
                                       here, to, &sum[t]);
            } else {
                apart += (s->shown > NEAR ? far_rows : near_rows)(one, s->show, row,
                                                                  g->index + at, here, to);
                sum[t] += (double)(one->rows * degree);
            }
            row += one->rows;
            at += one->rows * degree;
        }
        top[t] = 2 * apart * s->step * s->step;
    }
}

void ferry_i_gbc_packed_combine(const gbc_packed *s, const gbc_problem *g, int64_t run,
                                const int32_t *mean, const double *wg, double *et,
                                uint8_t *has)
{
    const int64_t begin = run * GBC_RUN;
    const int64_t rows = begin + GBC_RUN < s->n ? GBC_RUN : s->n - begin;
    double total[GBC_RUN] = {0}, *to = et + begin;

    memset(to, 0, (size_t)rows * sizeof *to);
    for (int64_t t = 0; t < s->q; t++) {
        const int32_t *m = mean + t * GBC_RUN;
        for (int64_t i = 0; i < rows; i++) {
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
