/* Scoring an embedding by the classes of its instances: by groups that k-means finds in it,
 * and by the classes of the nearest neighbours. */
#include <math.h>
#include <string.h>

#include "learn/kmeans.h"
#include "learn/learn.h"
#include "run/run.h"

enum { RESTARTS = 10, ROUNDS = 300, NEIGHBOURS = 5 };

static bool is_finite_row(int64_t n, const double *x)
{
    for (int64_t j = 0; j < n; j++)
        if (!isfinite(x[j])) return false;
    return true;
}

/* The rows of p that are finite, and where they stand. */
static ferry_status finite_rows(ferry_ctx *ctx, const ferry_prediction *p, int64_t *place,
                                ferry_block **out)
{
    ferry_status st = FERRY_OK;
    int64_t n = 0;

    FERRY_TRY(ferry_i_block_new(ctx, p->n, p->k, out));
    for (int64_t i = 0; i < p->n; i++) {
        const double *row = p->score + i * p->k;
        if (!is_finite_row(p->k, row)) continue;
        place[n] = i;
        memcpy(FERRY_ROW(*out, n++), row, (size_t)p->k * sizeof *row);
    }
    (*out)->rows = n;
done:
    return st;
}

typedef struct grouping {
    const ferry_block *x;
    int64_t k;
    int32_t *group;
} grouping;

static void group_rows(scope *s, void *arg)
{
    const grouping *z = arg;
    const block x = {HERE(z->x->rows), z->x->rows, z->x->k, z->x->data};
    const kmeans_options how = {
        .k = z->k < x.n ? z->k : x.n, .restarts = RESTARTS, .max_iter = ROUNDS};

    (void)kmeans(s, matrix_of(s, x), &how, scope_rng(s, "k-means"), z->group, NULL);
}

ferry_status ferry_i_embedding_groups(ferry_ctx *ctx, const ferry_prediction *p, int64_t k,
                                      int32_t *group)
{
    ferry_status st = FERRY_OK;
    int64_t *place = ferry_i_calloc(p->n, sizeof *place);
    int32_t *found = ferry_i_calloc(p->n, sizeof *found);
    ferry_block *x = NULL;

    FERRY_HAVE(ctx, place && found);
    FERRY_TRY(finite_rows(ctx, p, place, &x));
    for (int64_t i = 0; i < p->n; i++)
        group[i] = -1;
    if (x->rows == 0) goto done;
    FERRY_TRY(scope_run(ctx, group_rows, &(grouping){x, k, found}));
    for (int64_t i = 0; i < x->rows; i++)
        group[place[i]] = found[i];
done:
    ferry_i_block_free(x);
    FERRY_FREE(place, found);
    return st;
}

/* The class that most of the nearest others have; of equals the one whose nearest is
 * nearest. near: NEIGHBOURS + 1 places, -1 where there are no more; `self` is one of them
 * unless there are as many at distance 0. */
static int32_t vote(const int32_t *truth, const int64_t *near, int64_t self, int64_t *count)
{
    int32_t best = -1;
    int64_t taken = 0;

    for (int64_t e = 0; e <= NEIGHBOURS && near[e] >= 0; e++)
        if (near[e] != self && taken++ < NEIGHBOURS) count[truth[near[e]]]++;
    taken = 0;
    for (int64_t e = 0; e <= NEIGHBOURS && near[e] >= 0; e++) {
        if (near[e] == self || taken++ >= NEIGHBOURS) continue;
        const int32_t c = truth[near[e]];
        if (best < 0 || count[c] > count[best]) best = c;
    }
    for (int64_t e = 0; e <= NEIGHBOURS && near[e] >= 0; e++)
        count[truth[near[e]]] = 0;
    return best;
}

ferry_status ferry_i_knn_accuracy(ferry_ctx *ctx, const ferry_scored *s, double *out)
{
    ferry_status st = FERRY_OK;
    const int64_t cells = s->n * (NEIGHBOURS + 1);
    const ferry_matrix x = {.rows = s->n,
                            .cols = s->dims,
                            .nnz = s->n * s->dims,
                            .dense = (double *)s->score,
                            .refs = 1};
    int64_t *near = NULL, *count = NULL;
    double *dist = NULL;

    for (int64_t i = 0; i < s->n; i++)
        out[i] = NAN;
    if (s->n < 2 || !is_finite_row(s->n * s->dims, s->score)) return FERRY_OK;
    FERRY_NEW(ctx, near, cells);
    FERRY_NEW(ctx, dist, cells);
    FERRY_NEW(ctx, count, s->k);
    FERRY_TRY(ferry_i_knn(ctx, &x, &x, NEIGHBOURS + 1, FERRY_EUCLIDEAN, near, dist));
    for (int64_t i = 0; i < s->n; i++)
        out[i] =
            vote(s->truth_cls, near + i * (NEIGHBOURS + 1), i, count) == s->truth_cls[i];
done:
    FERRY_FREE(near, dist, count);
    return st;
}
