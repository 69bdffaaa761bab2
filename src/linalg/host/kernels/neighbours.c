/* Means of neighbours and the disagreement along edges, for a run of rows of every graph
 * (linalg/packed.h).
 *
 * A pass reads every edge once; what it costs is looking up neighbours, of which there are
 * more than a cache holds. Rows of a group have as many neighbours, so that the processor
 * foresees the end of every short loop, and neighbours are known ahead and fetched early.
 * The loss sum_ab A_ab (f_a - f_b)^2 is 2 sum_a f_a (d_a f_a - sum_b A_ab f_b), A being
 * symmetric: with whole numbers nothing is lost in the difference, and where all scores are
 * the same it is exactly 0. */
#include "linalg/host/kernels/kernel.h"

/* Edges to fetch ahead, enough to hide a look into memory (32 to 128 were alike), when
 * there are more numbers than the near caches hold. */
enum { AHEAD = FERRY_NEIGHBOURS_AHEAD, NEAR = 1 << 17 };

/* Weights are equal: a row's sums are those of whole numbers. Returns the part of these
 * rows in the loss, in steps. plain is g->plain, and ahead whether to fetch, as constants
 * wherever the compiler can make something of it.
 * degree > 0. Sums of whole numbers are exact in 64 bits, in any order. A fixed
 * neighbour has two numbers: what it shows goes into the mean, its score (the next) into
 * the loss. */
INLINE double equal_rows(const ferry_run_group *g, const int32_t plain, const bool ahead,
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
            if (ahead) __builtin_prefetch(show + index[e + AHEAD]);
        }
        index += plain;
        shown = score;
        for (int32_t e = 0; e < g->fixed; e++, index++) {
            shown += show[*index];
            score += show[*index + 1];
            if (ahead) __builtin_prefetch(show + index[AHEAD]);
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

INLINE double near_rows(const ferry_run_group *g, const int32_t *show, const uint16_t *row,
                        const int32_t *index, const int32_t *here,
                        int32_t *mean){UP_TO_8(false)}

INLINE
    double far_rows(const ferry_run_group *g, const int32_t *show, const uint16_t *row,
                    const int32_t *index, const int32_t *here, int32_t *mean){UP_TO_8(true)}

/* The same with weights; *sum: all of them.
 * Here the difference is taken edge by edge: with weights the sums are no longer exact,
 * and the formula of the head would lose digits. */
INLINE double weighted_rows(const ferry_run_group *g, const int32_t *show,
                            const uint16_t *row, const int32_t *index, const double *value,
                            const int32_t *here, int32_t *mean, double *sum)
{
    double top = 0;

    for (int32_t i = 0; i < g->rows; i++) {
        const double mine = here[row[i]];
        double degree = 0, shown = 0, apart = 0;
        for (int32_t e = 0; e < g->plain + g->fixed; e++, index++, value++) {
            const double score = show[e < g->plain ? *index : *index + 1];
            __builtin_prefetch(show + index[AHEAD]);
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

/* A run is FERRY_RUN rows, so that `mean` of a graph and the run's own scores stay in
 * the near cache. Rows without neighbours say INT32_MIN. */
void KERNEL(neighbours)(const ferry_neighbours *s, int64_t run, int32_t *mean, double *top,
                        double *sum)
{
    const int32_t *here = s->show + run * FERRY_RUN;

    for (int64_t t = 0; t < s->q; t++) {
        const ferry_run_graph *g = &s->graph[t];
        const uint16_t *row = g->row + run * FERRY_RUN;
        int32_t *to = mean + t * FERRY_RUN;
        int64_t at = g->edge[run];
        top[t] = sum[t] = 0;
        for (int64_t b = g->group[run]; b < g->group[run + 1]; b++) {
            const ferry_run_group *one = &g->groups[b];
            const int64_t degree = (int64_t)one->plain + one->fixed;
            if (degree == 0) {
                for (int32_t i = 0; i < one->rows; i++)
                    to[row[i]] = INT32_MIN;
            } else if (g->value) {
                top[t] += weighted_rows(one, s->show, row, g->index + at, g->value + at,
                                        here, to, &sum[t]);
            } else {
                top[t] += s->shown > NEAR
                              ? far_rows(one, s->show, row, g->index + at, here, to)
                              : near_rows(one, s->show, row, g->index + at, here, to);
                sum[t] += (double)(one->rows * degree);
            }
            row += one->rows;
            at += one->rows * degree;
        }
    }
}
