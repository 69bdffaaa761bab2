/* The trees of all views, and what they add up to (forest.h).
 * Leaves hold the steps that boosting took, rate and line search included, so a
 * prediction is nothing but a sum in the order of the iterations. */
#include <math.h>
#include <string.h>

#include "learn/forest.h"

/* No iterations yet. The caller sets logistic, additive, f0, sparse and cols. */
ferry_status ferry_i_forest_new(ferry_ctx *ctx, int64_t p, int64_t k, ferry_forest **out)
{
    ferry_status st = FERRY_OK;
    ferry_forest *f = ferry_i_calloc(1, sizeof *f);

    *out = NULL;
    FERRY_HAVE(ctx, f);
    f->p = p;
    f->k = k;
    FERRY_NEW(ctx, f->f0, k);
    FERRY_NEW(ctx, f->sparse, p);
    FERRY_NEW(ctx, f->cols, p);
    FERRY_MOVE(*out, f);
done:
    ferry_i_forest_free(f);
    return st;
}

/* Room grows by doubling. */
ferry_status ferry_i_forest_grow(ferry_ctx *ctx, ferry_forest *f)
{
    const int64_t step = f->p * f->k;

    if (f->n == f->room) {
        const int64_t room = f->room ? 2 * f->room : 16;
        ferry_tree **tree = ferry_i_realloc(f->tree, room * step, sizeof(ferry_tree *));
        if (!tree) return ferry_i_nomem(ctx);
        f->tree = tree;
        f->room = room;
    }
    memset(f->tree + f->n * step, 0, (size_t)step * sizeof(ferry_tree *));
    f->n++;
    return FERRY_OK;
}

/* Early stopping keeps the best prefix; n beyond what there is changes nothing. */
void ferry_i_forest_cut(ferry_forest *f, int64_t n)
{
    for (int64_t e = n * f->p * f->k; e < f->n * f->p * f->k; e++)
        ferry_i_tree_free(f->tree[e]);
    if (n < f->n) f->n = n;
}

void ferry_i_forest_free(ferry_forest *f)
{
    if (!f) return;
    ferry_i_forest_cut(f, 0);
    FERRY_FREE(f->tree, f->f0, f->sparse, f->cols, f);
}

/* Add view i's trees of iteration t to its rows' scores.
 * f is n x k over instances; the view's rows say which instance they are of. Scores are
 * clamped after every tree, not once at the end: clamping does not commute with adding. */
static void add_trees(const ferry_ctx *ctx, const ferry_forest *forest, int64_t t,
                      int64_t i, const ferry_view *v, int32_t *leaf, double *f)
{
    const int64_t k = forest->k;
    const ferry_tree_data d = {v->x, forest->sparse[i], v->x->rows, NULL};

    for (int64_t j = 0; j < k; j++) {
        const ferry_tree *tree = *ferry_i_forest_tree(forest, t, i, j);
        if (!tree) continue;
        ferry_i_tree_leaves(ctx, tree, &d, leaf);
        for (int64_t r = 0; r < d.n; r++) {
            double *to = &f[v->instance[r] * k + j];
            *to += tree->node[leaf[r]].value;
            if (forest->logistic)
                *to = fmin(fmax(*to, -FERRY_MOST_SCORE), FERRY_MOST_SCORE);
        }
    }
}

/* Tree by tree in the order in which they were learned, clamped as then: the same bits. */
ferry_status ferry_i_forest_scores(ferry_ctx *ctx, const ferry_forest *forest, int64_t n,
                                   ferry_view *const *views, double *const *f,
                                   uint8_t *mask)
{
    ferry_status st = FERRY_OK;
    const int64_t k = forest->k;
    int64_t most = 0;
    int32_t *leaf = NULL;

    /* one list of leaves serves all views */
    for (int64_t i = 0; i < forest->p; i++)
        most = views[i]->x->rows > most ? views[i]->x->rows : most;
    FERRY_NEW(ctx, leaf, most);
    memset(mask, 0, (size_t)(forest->p * n));
    for (int64_t i = 0; i < forest->p; i++) {
        for (int64_t r = 0; r < views[i]->x->rows; r++)
            mask[i * n + views[i]->instance[r]] = 1;
        for (int64_t x = 0; x < n && (i == 0 || !forest->additive); x++)
            memcpy(f[i] + x * k, forest->f0, (size_t)k * sizeof(double));
    }
    for (int64_t t = 0; t < forest->n; t++)
        for (int64_t i = 0; i < forest->p; i++)
            add_trees(ctx, forest, t, i, views[i], leaf, f[forest->additive ? 0 : i]);
done:
    ferry_i_free(leaf);
    return st;
}
