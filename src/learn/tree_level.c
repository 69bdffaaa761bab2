/* A level of a tree that grows (tree_level.h). */
#include "learn/tree_level.h"

#include <math.h>
#include <string.h>

#include "core/ranks.h"

void ferry_i_level_clear(tree_level *l)
{
    FERRY_FREE(l->place, l->open, l->next, l->found, l->child, l->sums);
    ferry_i_tree_free(l->tree);
}

static void add_row(const tree_level *l, int64_t i, int64_t node)
{
    double *s = l->sums + 4 * node;

    s[0] += l->z[i];
    s[1] += l->c[i];
    s[2] += l->c[i] > 0;
    s[3] += l->z[i] * l->z[i];
}

/* The m nodes of `next` are open, with what their rows say. Sums are added up anew from the rows rather than taken from the
 * search, so that rounding does not build up from level to level. A leaf's value is G / (H + reg), which inner
 * nodes get too: they were leaves once. Where sums of z cancel, 1e-12 of their squares tells a gain from rounding, which
 * is another on other ranks. */
static ferry_status open_next(ferry_ctx *ctx, tree_level *l, int64_t m)
{
    if (l->spread) FERRY_PASS(ferry_i_ranks_sum(ctx, 4 * m, l->sums));
    for (int64_t j = 0; j < m; j++) {
        const double *s = l->sums + 4 * j, h = s[1] + l->o->reg;
        tree_open *o = &l->next[j];
        o->all = (tree_sums){s[0], s[1], s[2]};
        o->whole = tree_term(s[0], h);
        o->least = 1e-12 * (o->whole + (l->tie > 0 && h > 0 ? s[3] / h : 0));
        l->tree->node[o->node].value = h > 0 ? s[0] / h : 0;
    }
    memcpy(l->open, l->next, (size_t)m * sizeof *l->open);
    l->m = m;
    return FERRY_OK;
}

/* A level has at most half of all nodes, rounded up. Rows start in place 0, the root. */
ferry_status ferry_i_level_new(ferry_ctx *ctx, int64_t rows, tree_level *l)
{
    ferry_status st = FERRY_OK;
    const int64_t nodes = ferry_i_tree_most(l->o, rows), most = nodes / 2 + 1;

    l->most = most;
    FERRY_TRY(ferry_i_tree_new(ctx, nodes, &l->tree));
    FERRY_NEW(ctx, l->place, l->d->n);
    FERRY_NEW(ctx, l->open, most);
    FERRY_NEW(ctx, l->next, most);
    FERRY_NEW(ctx, l->found, most);
    FERRY_NEW(ctx, l->child, most);
    FERRY_NEW(ctx, l->sums, 4 * most);
    for (int64_t i = 0; i < l->d->n; i++)
        add_row(l, i, 0);
    l->tree->n = 1;
    FERRY_TRY(open_next(ctx, l, 1));
done:
    return st;
}

ferry_status ferry_i_level_split(ferry_ctx *ctx, tree_level *l)
{
    const ferry_tree_data *d = l->d;
    ferry_tree *t = l->tree;
    int64_t m = 0;

    for (int64_t j = 0; j < l->m; j++) {
        const tree_best *b = &l->found[j];
        ferry_tree_node *node = &t->node[l->open[j].node];
        l->child[j][0] = l->child[j][1] = -1;
        if (b->feature < 0) continue;
        node->feature = b->feature;
        node->threshold = b->threshold;
        node->missing_left = b->missing_left;
        node->gain = b->score - l->open[j].whole;
        node->left = (int32_t)t->n++;
        node->right = (int32_t)t->n++;
        for (int side = 0; side < 2; side++) {
            l->child[j][side] = (int32_t)m;
            l->next[m++].node = side ? node->right : node->left;
        }
    }
    memset(l->sums, 0, (size_t)(4 * m) * sizeof *l->sums);
    for (int64_t i = 0; i < d->n; i++) {
        const int32_t j = l->place[i];
        if (j < 0) continue;
        if (l->child[j][0] < 0) {
            l->place[i] = -1;
            continue;
        }
        const tree_best *b = &l->found[j];
        const double v = ferry_i_tree_cell(d, d->rows ? d->rows[i] : i, b->feature);
        const bool left = isnan(v) ? b->missing_left : v <= b->threshold;
        l->place[i] = l->child[j][left ? 0 : 1];
        add_row(l, i, l->place[i]);
    }
    return open_next(ctx, l, m);
}
