/* Growing the k trees of a boosting step in one of three ways, as the user says (trees.h).
 * They share one face, so that boosting does not care which one it has: z and c (n
 * x k) go in, k trees come out. Our own growers take one score at a time, so its
 * column of z and c is copied out first; XGBoost takes all k at once, in the layout that
 * they have. */
#include <string.h>

#include "core/ranks.h"
#include "learn/trees.h"

/* Cells that exact trees may bring together on every rank. */
enum { MOST_CELLS = 1 << 27 };

struct ferry_grower {
    /* depth, leaf sizes and reg of every tree */
    ferry_tree_options o;
    /* rows to learn from; trees of a step */
    int64_t n, k;
    /* a copy of the caller's list, which may be gone when trees are grown; NULL: all
     * rows */
    int64_t *rows;
    ferry_sorted *sorted; /* one of these three */
    ferry_bins *bins;
    ferry_booster *booster;
    double *z, *c; /* one of the k: n each, or `all` where rows were brought together */
    ferry_matrix
        *together; /* the rows of all ranks, of which [cut[i], cut[i + 1]) are rank i's */
    int64_t *cut, all;
};

void ferry_i_grower_free(ferry_grower *g)
{
    if (!g) return;
    ferry_i_sorted_free(g->sorted);
    ferry_i_bins_free(g->bins);
    ferry_i_booster_free(g->booster);
    ferry_i_matrix_free(g->together);
    FERRY_FREE(g->rows, g->z, g->c, g->cut, g);
}

/* Exact trees over ranks: d becomes the rows of all ranks, in their order. So every sum has the order that it has in one
 * process, and the trees are the same, also where splits are equal but for rounding. */
static ferry_status bring_together(ferry_ctx *ctx, ferry_grower *g, ferry_tree_data *d)
{
    ferry_status st = FERRY_OK;
    const int ranks = ctx->ranks->size;
    ferry_matrix *mine = NULL;
    int64_t *n = NULL, from = 0, all = 0;

    FERRY_NEED(ctx, d->x->cols == 0 || g->all <= MOST_CELLS / d->x->cols, FERRY_ENEEDS,
               "exact trees bring the rows that they learn from together, and %lld x %lld "
               "cells are too many; learner=histogram leaves them on their ranks",
               (long long)g->all, (long long)d->x->cols);
    FERRY_TRY(ferry_i_ranks_collect(ctx, 1, sizeof *n, &g->n, &from, &all, (void **)&n));
    FERRY_NEW(ctx, g->cut, ranks + 1);
    for (int i = 0; i < ranks; i++)
        g->cut[i + 1] = g->cut[i] + n[i];
    FERRY_TRY(ferry_i_matrix_take(ctx, d->x, d->n, d->rows, d->x->cols, NULL, &mine));
    mine->whole = g->all;
    FERRY_TRY(ferry_i_matrix_collect(ctx, mine, &g->together));
    d->x = g->together;
    d->n = g->all;
    d->rows = NULL;
done:
    ferry_i_matrix_free(mine);
    ferry_i_free(n);
    return st;
}

/* What they need of the data is made once here (sorted features, bins, or XGBoost's matrix)
 * and serves all iterations: only z and c change between them. */
ferry_status ferry_i_grower_new(ferry_ctx *ctx, ferry_growing how,
                                const ferry_tree_options *o, const ferry_tree_data *d,
                                int64_t k, ferry_grower **out)
{
    ferry_status st = FERRY_OK;
    ferry_grower *g = ferry_i_calloc(1, sizeof *g);
    ferry_tree_data own = *d;

    *out = NULL;
    FERRY_HAVE(ctx, g);
    g->o = *o;
    g->n = d->n;
    g->all = d->n;
    g->k = k;
    FERRY_TRY(ferry_i_ranks_count(ctx, &g->all));
    if (d->rows) {
        FERRY_NEW(ctx, g->rows, d->n);
        memcpy(g->rows, d->rows, (size_t)d->n * sizeof *g->rows);
        own.rows = g->rows;
    }
    if (how == FERRY_GROW_EXACT) {
        FERRY_NEW(ctx, g->z, g->all);
        FERRY_NEW(ctx, g->c, g->all);
        if (ferry_i_ranks_split(ctx)) FERRY_TRY(bring_together(ctx, g, &own));
        FERRY_TRY(ferry_i_sorted_new(ctx, &own, &g->sorted));
    } else if (how == FERRY_GROW_HISTOGRAM) {
        FERRY_NEW(ctx, g->z, d->n);
        FERRY_NEW(ctx, g->c, d->n);
        FERRY_TRY(ferry_i_bins_new(ctx, o->bins, &own, &g->bins));
    } else {
        FERRY_TRY(ferry_i_booster_new(ctx, o, &own, k, &g->booster));
    }
    FERRY_MOVE(*out, g);
done:
    ferry_i_grower_free(g);
    return st;
}

/* All k trees or none: after a failure those that were grown are freed and the places
 * NULL. */
ferry_status ferry_i_grower_grow(ferry_ctx *ctx, ferry_grower *g, const double *z,
                                 const double *c, ferry_tree **trees)
{
    ferry_status st = FERRY_OK;

    if (g->booster) return ferry_i_booster_grow(ctx, g->booster, z, c, trees);
    memset(trees, 0, (size_t)g->k * sizeof(ferry_tree *));
    const int64_t from = g->cut ? g->cut[ctx->ranks->rank] : 0;
    for (int64_t j = 0; j < g->k; j++) {
        for (int64_t i = 0; i < g->n; i++) {
            g->z[from + i] = z[i * g->k + j];
            g->c[from + i] = c[i * g->k + j];
        }
        if (g->cut) FERRY_TRY(ferry_i_ranks_share(ctx, g->cut, sizeof *g->z, g->z));
        if (g->cut) FERRY_TRY(ferry_i_ranks_share(ctx, g->cut, sizeof *g->c, g->c));
        if (g->bins)
            FERRY_TRY(ferry_i_bins_tree(ctx, &g->o, g->bins, g->z, g->c, &trees[j]));
        else
            FERRY_TRY(ferry_i_sorted_tree(ctx, &g->o, g->sorted, g->z, g->c, &trees[j]));
    }
done:
    for (int64_t j = 0; st != FERRY_OK && j < g->k; j++) {
        ferry_i_tree_free(trees[j]);
        trees[j] = NULL;
    }
    return st;
}

bool ferry_i_grower_boosts(const ferry_grower *g)
{
    return g->booster != NULL;
}
