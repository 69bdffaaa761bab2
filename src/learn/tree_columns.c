/* Walking down trees with the features column by column.
 *
 * A row of a wide table is many cache lines, of which a walk needs a cell each: every level
 * waits for memory. Column by column all rows go down a level after the other, and what a
 * level reads is as many runs of neighbouring cells as it has nodes. Cells are in single
 * precision, as the trees of the booster are: the same leaves (booster.c tells why). */
#include <math.h>

#include "learn/trees.h"

struct ferry_columns {
    /* rows of the list, features */
    int64_t n, cols;
    float *v; /* cols x n; NaN: missing */
};

void ferry_i_columns_free(ferry_columns *c)
{
    if (!c) return;
    FERRY_FREE(c->v, c);
}

/* Rows that are transposed together: a column's 64 floats are four lines of the cache. */
enum { TILE = 64 };

/* Copies the n rows of d, 4 bytes a cell, and borrows nothing. Tiles of rows, or every
 * write would go to another line. */
ferry_status ferry_i_columns_new(ferry_ctx *ctx, const ferry_tree_data *d,
                                 ferry_columns **out)
{
    ferry_status st = FERRY_OK;
    ferry_columns *c = ferry_i_calloc(1, sizeof *c);
    const int64_t n = d->n, cols = d->x->cols;

    *out = NULL;
    FERRY_HAVE(ctx, c);
    c->n = n;
    c->cols = cols;
    FERRY_NEW(ctx, c->v, n * cols);
    for (int64_t begin = 0; begin < n; begin += TILE) {
        const int64_t end = begin + TILE < n ? begin + TILE : n;
        for (int64_t j = 0; j < cols; j++)
            for (int64_t i = begin; i < end; i++)
                c->v[j * n + i] =
                    ferry_i_tree_float(ferry_i_tree_cell(d, d->rows ? d->rows[i] : i, j));
    }
    FERRY_MOVE(*out, c);
done:
    ferry_i_columns_free(c);
    return st;
}

/* Rows [begin, end) down to their leaves; a run of them stays in the near cache.
 * A row that has reached its leaf stays there (the feature read is then 0, any would
 * do), so that the loop has no branch to guess. */
static void walk(const ferry_columns *c, const ferry_tree *t, int64_t begin, int64_t end,
                 int32_t *leaf)
{
    bool deeper = t->n > 1;

    for (int64_t i = begin; i < end; i++)
        leaf[i] = 0;
    while (deeper) {
        int32_t splits = 0;
        for (int64_t i = begin; i < end; i++) {
            const ferry_tree_node *node = &t->node[leaf[i]];
            const int32_t split = node->feature >= 0;
            const float v = c->v[(split ? node->feature : 0) * c->n + i];
            const bool left = isnan(v) ? node->missing_left : v <= node->threshold;
            const int32_t next = left ? node->left : node->right;
            leaf[i] = split ? next : leaf[i];
            splits |= split;
        }
        deeper = splits != 0;
    }
}

/* Rows that go down together: their leaves are 4 KB. */
enum { RUN = 1024 };

/* leaf[i] of all n rows; the tree must come from the booster, whose thresholds decide
 * floats as they decide doubles. */
void ferry_i_columns_leaves(const ferry_ctx *ctx, const ferry_columns *c,
                            const ferry_tree *t, int32_t *leaf)
{
    const int64_t runs = (c->n + RUN - 1) / RUN;
    const int threads = c->n < 4096 ? 1 : ctx->threads;

#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t r = 0; r < runs; r++)
        walk(c, t, r * RUN, (r + 1) * RUN < c->n ? (r + 1) * RUN : c->n, leaf);
}
