/* Growing the k trees of a boosting step in one of two ways, as the user says (trees.h).
 * Both ways share one face, so that boosting does not care which one it has: z and c (n
 * x k) go in, k trees come out. The exact grower takes one score at a time, so its
 * column of z and c is copied out first; XGBoost takes all k at once, in the layout that
 * they have. */
#include <string.h>

#include "learn/trees.h"

struct ferry_grower {
    /* depth, leaf sizes and reg of every tree */
    ferry_tree_options o;
    /* rows to learn from; trees of a step */
    int64_t n, k;
    /* a copy of the caller's list, which may be gone when trees are grown; NULL: all
     * rows */
    int64_t *rows;
    ferry_sorted *sorted; /* one of these two */
    ferry_booster *booster;
    double *z, *c; /* n each, of one of the k */
};

void ferry_i_grower_free(ferry_grower *g)
{
    if (!g) return;
    ferry_i_sorted_free(g->sorted);
    ferry_i_booster_free(g->booster);
    FERRY_FREE(g->rows, g->z, g->c, g);
}

/* What both need of the data is made once here (sorted features, or XGBoost's matrix)
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
    g->k = k;
    if (d->rows) {
        FERRY_NEW(ctx, g->rows, d->n);
        memcpy(g->rows, d->rows, (size_t)d->n * sizeof *g->rows);
        own.rows = g->rows;
    }
    if (how == FERRY_GROW_EXACT) {
        FERRY_NEW(ctx, g->z, d->n);
        FERRY_NEW(ctx, g->c, d->n);
        FERRY_TRY(ferry_i_sorted_new(ctx, &own, &g->sorted));
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
    for (int64_t j = 0; j < g->k; j++) {
        for (int64_t i = 0; i < g->n; i++) {
            g->z[i] = z[i * g->k + j];
            g->c[i] = c[i * g->k + j];
        }
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
