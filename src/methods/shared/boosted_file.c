/* Boosted trees as tensors of a model. All nodes of all trees stand one after the other in
 * columns; a tree without nodes adds nothing to any score. A file is a stranger's: every
 * count and index is checked before it is used. */
#include <string.h>

#include "methods/shared/boosted.h"

/* The nodes of all trees as columns. Trees stand iteration by iteration, then by view, then
 * by score: e = (t p + i) k + j. */
typedef struct columns {
    int64_t trees, n;
    int64_t *count; /* nodes of a tree */
    int64_t *feature, *left, *right;
    uint8_t *missing_left;
    double *real; /* n x 3: threshold, value, gain */
} columns;

static void clear(columns *c)
{
    FERRY_FREE(c->count, c->feature, c->left, c->right, c->missing_left, c->real);
}

/* Saving: the forest's nodes. */
static ferry_status columns_of(ferry_ctx *ctx, const ferry_forest *f, columns *c)
{
    ferry_status st = FERRY_OK;

    c->n = 0;
    FERRY_NEW(ctx, c->count, c->trees);
    for (int64_t e = 0; e < c->trees; e++)
        c->n += c->count[e] = f->tree[e] ? f->tree[e]->n : 0;
    FERRY_NEW(ctx, c->feature, c->n);
    FERRY_NEW(ctx, c->left, c->n);
    FERRY_NEW(ctx, c->right, c->n);
    FERRY_NEW(ctx, c->missing_left, c->n);
    FERRY_NEW(ctx, c->real, c->n * 3);
    for (int64_t e = 0, at = 0; e < c->trees; e++)
        for (int64_t i = 0; i < c->count[e]; i++, at++) {
            const ferry_tree_node *node = &f->tree[e]->node[i];
            c->feature[at] = node->feature;
            c->left[at] = node->left;
            c->right[at] = node->right;
            c->missing_left[at] = node->missing_left;
            c->real[3 * at] = node->threshold;
            c->real[3 * at + 1] = node->value;
            c->real[3 * at + 2] = node->gain;
        }
done:
    return st;
}

/* One tree: children come after their parent, so every walk down it ends. */
static ferry_status load_tree(ferry_ctx *ctx, const columns *c, int64_t at, int64_t n,
                              int64_t cols, ferry_tree **out)
{
    FERRY_PASS(ferry_i_tree_new(ctx, n, out));
    for (int64_t i = 0; i < n; i++) {
        const int64_t e = at + i;
        ferry_tree_node *node = &(*out)->node[i];
        node->threshold = c->real[3 * e];
        node->value = c->real[3 * e + 1];
        node->gain = c->real[3 * e + 2];
        /* A leaf: ferry_i_tree_new has made it one, and its children in the file mean
         * nothing. */
        if (c->feature[e] == -1) continue;
        if (!(c->feature[e] >= 0 && c->feature[e] < cols && c->left[e] > i &&
              c->left[e] < n && c->right[e] > i && c->right[e] < n))
            return ferry_i_fail(ctx, FERRY_EDATA,
                                "tensor forest.feature: node %lld is not of a tree",
                                (long long)e);
        node->feature = (int32_t)c->feature[e];
        node->left = (int32_t)c->left[e];
        node->right = (int32_t)c->right[e];
        node->missing_left = c->missing_left[e] != 0;
    }
    return FERRY_OK;
}

/* Loading: n iterations of trees, whose counts of nodes add up to no more than there are. */
static ferry_status plant(ferry_ctx *ctx, const columns *c, int64_t n, ferry_forest *f)
{
    ferry_status st = FERRY_OK;

    for (int64_t t = 0, at = 0, e = 0; t < n; t++) {
        FERRY_TRY(ferry_i_forest_grow(ctx, f));
        for (int64_t i = 0; i < f->p; i++)
            for (int64_t j = 0; j < f->k; j++, e++) {
                FERRY_NEED(ctx, c->count[e] >= 0 && c->count[e] <= c->n - at, FERRY_EDATA,
                           "tensor forest.nodes: tree %lld has %lld of %lld nodes",
                           (long long)e, (long long)c->count[e], (long long)c->n);
                if (c->count[e] > 0)
                    FERRY_TRY(load_tree(ctx, c, at, c->count[e], f->cols[i],
                                        ferry_i_forest_tree(f, t, i, j)));
                at += c->count[e];
            }
    }
done:
    return st;
}

/* Sizes first, then tensors of these sizes, then trees. */
static void forest_file(ferry_io *io, ferry_forest **forest)
{
    int64_t sizes[5] = {0}, three = 3;
    columns c = {.n = -1};

    if (io->to)
        memcpy(sizes,
               (int64_t[]){(*forest)->p, (*forest)->k, (*forest)->n, (*forest)->logistic,
                           (*forest)->additive},
               sizeof sizes);
    ferry_i_io_ints(io, "forest.sizes", 5, sizes);
    /* Views and scores at least 1, iterations 0 or more; below 2^20 each, so that the
     * product of the three stays within 64 bits. */
    for (int i = 0; i < 3; i++)
        FERRY_IO_NEED(io, sizes[i] >= (i < 2) && sizes[i] < 1 << 20,
                      "tensor forest.sizes: entry %d is %lld", i, (long long)sizes[i]);
    if (ferry_i_io_loading(io))
        ferry_i_io_fail(io, ferry_i_forest_new(io->ctx, sizes[0], sizes[1], forest));
    if (io->st != FERRY_OK) return;
    ferry_forest *f = *forest;
    c.trees = sizes[0] * sizes[1] * sizes[2];
    if (io->to) ferry_i_io_fail(io, columns_of(io->ctx, f, &c));
    ferry_i_io_numbers(io, "forest.base", f->k, f->f0);
    ferry_i_io_flags(io, "forest.sparse", f->p, &f->sparse);
    ferry_i_io_ints(io, "forest.columns", f->p, f->cols);
    ferry_i_io_int_list(io, "forest.nodes", &c.trees, &c.count);
    ferry_i_io_int_list(io, "forest.feature", &c.n, &c.feature);
    ferry_i_io_int_list(io, "forest.left", &c.n, &c.left);
    ferry_i_io_int_list(io, "forest.right", &c.n, &c.right);
    ferry_i_io_flags(io, "forest.missing_left", c.n, &c.missing_left);
    ferry_i_io_grid(io, "forest.threshold_value_gain", &c.n, &three, &c.real);
    if (ferry_i_io_loading(io)) {
        f->logistic = sizes[3] != 0;
        f->additive = sizes[4] != 0;
        ferry_i_io_fail(io, plant(io->ctx, &c, sizes[2], f));
    }
    clear(&c);
}

/* "target.sizes" is goal and classes; "target.scale" the mean and sd of number labels
 * (what they are for classes does not matter). Everything else of the outputs follows
 * from these. A class count is bounded so that classes x instances cannot overflow. */
void ferry_i_outputs_file(ferry_io *io, ferry_outputs *o)
{
    int64_t sizes[] = {o->numbers ? FERRY_REGRESS : FERRY_CLASSIFY, o->classes};
    double scale[] = {o->mean, o->sd};

    ferry_i_io_ints(io, "target.sizes", 2, sizes);
    ferry_i_io_numbers(io, "target.scale", 2, scale);
    const bool numbers = sizes[0] == FERRY_REGRESS;
    FERRY_IO_NEED(io,
                  (numbers || sizes[0] == FERRY_CLASSIFY) && sizes[1] > 0 &&
                      sizes[1] < 1 << 24 && (!numbers || sizes[1] == 1),
                  "tensor target.sizes: goal %lld, %lld classes", (long long)sizes[0],
                  (long long)sizes[1]);
    if (ferry_i_io_loading(io))
        *o = (ferry_outputs){numbers, sizes[1], ferry_i_outputs_scores(numbers, sizes[1]),
                             scale[0], scale[1]};
}

/* The forest has as many scores as the outputs, and as many views as the preparation, of
 * the same widths: prediction relies on it. Without weights the method has the preparation
 * itself, and stretch is 1. */
void ferry_i_boosted_file(ferry_io *io, bool weighted, boosted *m)
{
    if (io->from) m->stretch = 1;
    ferry_i_outputs_file(io, &m->outputs);
    forest_file(io, &m->forest);
    FERRY_IO_NEED(io, m->forest->k == m->outputs.k,
                  "tensor forest.sizes: %lld scores, not %lld", (long long)m->forest->k,
                  (long long)m->outputs.k);
    if (!weighted || io->st != FERRY_OK) return;
    const int64_t p = m->forest->p;
    ferry_i_prepared_file(io, &m->prepared);
    ferry_i_io_reals(io, "weights", 1, p, &m->w);
    ferry_i_io_numbers(io, "stretch", 1, &m->stretch);
    FERRY_IO_NEED(io, m->prepared->n_frames == p, "tensor prepare: %lld views, not %lld",
                  (long long)m->prepared->n_frames, (long long)p);
    for (int64_t i = 0; i < p && ferry_i_io_loading(io); i++) {
        /* Below 0 the weighted mean could divide by a sum of 0. */
        FERRY_IO_NEED(io, m->w[i] >= 0, "tensor weights: entry %lld is %g", (long long)i,
                      m->w[i]);
        FERRY_IO_NEED(io, m->prepared->frame[i].cols == m->forest->cols[i],
                      "tensor prepare: view %lld has %lld features, not %lld", (long long)i,
                      (long long)m->prepared->frame[i].cols, (long long)m->forest->cols[i]);
    }
}
