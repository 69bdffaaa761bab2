/* Boosted trees as tensors of a model. All nodes of all trees stand one after the other in
 * columns; a tree without nodes adds nothing to any score. A file is a stranger's: every
 * count and index is checked before it is used. */
#include <string.h>

#include "methods/shared/boosted.h"

/* The columns of a table of nodes. */
typedef struct columns {
    int64_t *feature, *left, *right;
    uint8_t *missing_left;
    double *real; /* n x 3: threshold, value, gain */
} columns;

static void clear(columns *c)
{
    FERRY_FREE(c->feature, c->left, c->right, c->missing_left, c->real);
}

/* All nodes as columns, a tensor each. */
static ferry_status save_forest(ferry_ctx *ctx, const ferry_forest *f, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    /* Trees stand iteration by iteration, then by view, then by score: e = (t p + i) k +
     * j. */
    const int64_t sizes[] = {f->p, f->k, f->n, f->logistic, f->additive};
    const int64_t trees = f->n * f->p * f->k;
    int64_t *count = ferry_i_calloc(trees, sizeof *count), n = 0;
    columns c = {0};

    FERRY_HAVE(ctx, count);
    for (int64_t e = 0; e < trees; e++) {
        count[e] = f->tree[e] ? f->tree[e]->n : 0;
        n += count[e];
    }
    FERRY_NEW(ctx, c.feature, n);
    FERRY_NEW(ctx, c.left, n);
    FERRY_NEW(ctx, c.right, n);
    FERRY_NEW(ctx, c.missing_left, n);
    FERRY_NEW(ctx, c.real, n * 3);
    for (int64_t e = 0, at = 0; e < trees; e++)
        for (int64_t i = 0; i < count[e]; i++, at++) {
            const ferry_tree_node *node = &f->tree[e]->node[i];
            c.feature[at] = node->feature;
            c.left[at] = node->left;
            c.right[at] = node->right;
            c.missing_left[at] = node->missing_left;
            c.real[3 * at] = node->threshold;
            c.real[3 * at + 1] = node->value;
            c.real[3 * at + 2] = node->gain;
        }
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "forest.sizes", FERRY_COUNT(sizes), sizes));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "forest.base", 1, f->k, f->f0));
    FERRY_TRY(ferry_i_dict_put_bytes(ctx, dict, "forest.sparse", f->p, f->sparse));
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "forest.columns", f->p, f->cols));
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "forest.nodes", trees, count));
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "forest.feature", n, c.feature));
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "forest.left", n, c.left));
    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "forest.right", n, c.right));
    FERRY_TRY(ferry_i_dict_put_bytes(ctx, dict, "forest.missing_left", n, c.missing_left));
    FERRY_TRY(
        ferry_i_dict_put_reals(ctx, dict, "forest.threshold_value_gain", n, 3, c.real));
done:
    clear(&c);
    ferry_i_free(count);
    return st;
}

/* The tensors, lent. */
typedef struct lent {
    const int64_t *count, *feature, *left, *right, *cols;
    const uint8_t *missing_left, *sparse;
    const double *f0, *real;
    int64_t nodes;
} lent;

/* All columns of one length, and counts of nodes that add up to no more than it. */
static ferry_status borrow(ferry_ctx *ctx, const ferry_dict *dict, int64_t p, int64_t k,
                           int64_t trees, lent *l)
{
    ferry_status st = FERRY_OK;
    int64_t one = 1, three = 3, n = -1, sum = 0;

    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "forest.base", &one, &k, &l->f0));
    FERRY_TRY(ferry_i_dict_bytes(ctx, dict, "forest.sparse", &p, &l->sparse));
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "forest.columns", &p, &l->cols));
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "forest.nodes", &trees, &l->count));
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "forest.feature", &n, &l->feature));
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "forest.left", &n, &l->left));
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "forest.right", &n, &l->right));
    FERRY_TRY(ferry_i_dict_bytes(ctx, dict, "forest.missing_left", &n, &l->missing_left));
    FERRY_TRY(
        ferry_i_dict_reals(ctx, dict, "forest.threshold_value_gain", &n, &three, &l->real));
    l->nodes = n;
    for (int64_t e = 0; e < trees; e++) {
        FERRY_NEED(ctx, l->count[e] >= 0 && l->count[e] <= n - sum, FERRY_EDATA,
                   "tensor forest.nodes: tree %lld has %lld of %lld nodes", (long long)e,
                   (long long)l->count[e], (long long)n);
        sum += l->count[e];
    }
done:
    return st;
}

/* One tree: children come after their parent, so every walk down it ends. */
static ferry_status load_tree(ferry_ctx *ctx, const lent *l, int64_t at, int64_t n,
                              int64_t cols, ferry_tree **out)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_tree_new(ctx, n, out));
    for (int64_t i = 0; i < n; i++) {
        const int64_t e = at + i;
        ferry_tree_node *node = &(*out)->node[i];
        node->threshold = l->real[3 * e];
        node->value = l->real[3 * e + 1];
        node->gain = l->real[3 * e + 2];
        /* A leaf: ferry_i_tree_new has made it one, and its children in the file mean
         * nothing. */
        if (l->feature[e] == -1) continue;
        FERRY_NEED(ctx,
                   l->feature[e] >= 0 && l->feature[e] < cols && l->left[e] > i &&
                       l->left[e] < n && l->right[e] > i && l->right[e] < n,
                   FERRY_EDATA, "tensor forest.feature: node %lld is not of a tree",
                   (long long)e);
        node->feature = (int32_t)l->feature[e];
        node->left = (int32_t)l->left[e];
        node->right = (int32_t)l->right[e];
        node->missing_left = l->missing_left[e] != 0;
    }
done:
    return st;
}

/* Sizes first, then tensors of these sizes, then trees: nothing is allocated from a number
 * that the file could make up. */
static ferry_status load_forest(ferry_ctx *ctx, const ferry_dict *dict, ferry_forest **out)
{
    ferry_status st = FERRY_OK;
    const int64_t *sizes = NULL;
    int64_t five = 5;
    ferry_forest *f = NULL;
    lent l = {0};

    *out = NULL;
    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "forest.sizes", &five, &sizes));
    /* Views and scores at least 1, iterations 0 or more; below 2^20 each, so that the
     * product of the three stays within 64 bits. */
    for (int i = 0; i < 3; i++)
        FERRY_NEED(ctx, sizes[i] >= (i < 2) && sizes[i] < 1 << 20, FERRY_EDATA,
                   "tensor forest.sizes: entry %d is %lld", i, (long long)sizes[i]);
    const int64_t p = sizes[0], k = sizes[1], n = sizes[2];
    FERRY_TRY(borrow(ctx, dict, p, k, n * p * k, &l));
    FERRY_TRY(ferry_i_forest_new(ctx, p, k, &f));
    f->logistic = sizes[3] != 0;
    f->additive = sizes[4] != 0;
    memcpy(f->f0, l.f0, (size_t)k * sizeof *f->f0);
    memcpy(f->cols, l.cols, (size_t)p * sizeof *f->cols);
    for (int64_t i = 0; i < p; i++)
        f->sparse[i] = l.sparse[i] != 0;
    for (int64_t t = 0, at = 0, e = 0; t < n; t++) {
        FERRY_TRY(ferry_i_forest_grow(ctx, f));
        for (int64_t i = 0; i < p; i++)
            for (int64_t j = 0; j < k; j++, e++) {
                if (l.count[e] > 0)
                    FERRY_TRY(load_tree(ctx, &l, at, l.count[e], f->cols[i],
                                        ferry_i_forest_tree(f, t, i, j)));
                at += l.count[e];
            }
    }
    FERRY_MOVE(*out, f);
done:
    ferry_i_forest_free(f);
    return st;
}

/* "target.sizes" is goal and classes; "target.scale" the mean and sd of number labels
 * (what they are for classes does not matter). Everything else of the outputs follows
 * from these. */
ferry_status ferry_i_outputs_save(ferry_ctx *ctx, const ferry_outputs *o, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;
    const int64_t sizes[] = {o->numbers ? FERRY_REGRESS : FERRY_CLASSIFY, o->classes};
    const double scale[] = {o->mean, o->sd};

    FERRY_TRY(ferry_i_dict_put_ints(ctx, dict, "target.sizes", 2, sizes));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "target.scale", 1, 2, scale));
done:
    return st;
}

/* A class count is bounded so that classes x instances cannot overflow. */
ferry_status ferry_i_outputs_load(ferry_ctx *ctx, const ferry_dict *dict, ferry_outputs *o)
{
    ferry_status st = FERRY_OK;
    const int64_t *sizes = NULL;
    const double *scale = NULL;
    int64_t one = 1, two = 2;

    FERRY_TRY(ferry_i_dict_ints(ctx, dict, "target.sizes", &two, &sizes));
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "target.scale", &one, &two, &scale));
    const bool numbers = sizes[0] == FERRY_REGRESS;
    FERRY_NEED(ctx,
               (numbers || sizes[0] == FERRY_CLASSIFY) && sizes[1] > 0 &&
                   sizes[1] < 1 << 24 && (!numbers || sizes[1] == 1),
               FERRY_EDATA, "tensor target.sizes: goal %lld, %lld classes",
               (long long)sizes[0], (long long)sizes[1]);
    *o = (ferry_outputs){numbers, sizes[1], ferry_i_outputs_scores(numbers, sizes[1]),
                         scale[0], scale[1]};
done:
    return st;
}

/* Without weights the method saves its preparation itself; stretch is 1 then and not
 * saved. */
ferry_status ferry_i_boosted_save(ferry_ctx *ctx, const boosted *m, ferry_dict *dict)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_outputs_save(ctx, &m->outputs, dict));
    FERRY_TRY(save_forest(ctx, m->forest, dict));
    if (!m->w) goto done;
    FERRY_TRY(ferry_i_prepared_save(ctx, m->prepared, dict));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "weights", 1, m->forest->p, m->w));
    FERRY_TRY(ferry_i_dict_put_reals(ctx, dict, "stretch", 1, 1, &m->stretch));
done:
    return st;
}

/* The forest has as many scores as the outputs, and as many views as the preparation, of
 * the same widths: prediction relies on it. */
ferry_status ferry_i_boosted_load(ferry_ctx *ctx, const ferry_dict *dict, bool weighted,
                                  boosted *m)
{
    ferry_status st = FERRY_OK;
    const double *stretch = NULL;
    int64_t one = 1;

    m->stretch = 1;
    FERRY_TRY(ferry_i_outputs_load(ctx, dict, &m->outputs));
    FERRY_TRY(load_forest(ctx, dict, &m->forest));
    FERRY_NEED(ctx, m->forest->k == m->outputs.k, FERRY_EDATA,
               "tensor forest.sizes: %lld scores, not %lld", (long long)m->forest->k,
               (long long)m->outputs.k);
    /* Methods without weights load their preparation themselves. */
    if (!weighted) goto done;
    FERRY_TRY(ferry_i_dict_reals_copy(ctx, dict, "weights", 1, m->forest->p, &m->w));
    for (int64_t i = 0; i < m->forest->p; i++)
        /* Below 0 the weighted mean could divide by a sum of 0. */
        FERRY_NEED(ctx, m->w[i] >= 0, FERRY_EDATA, "tensor weights: entry %lld is %g",
                   (long long)i, m->w[i]);
    FERRY_TRY(ferry_i_dict_reals(ctx, dict, "stretch", &one, &one, &stretch));
    m->stretch = stretch[0];
    FERRY_TRY(ferry_i_prepared_load(ctx, dict, &m->prepared));
    FERRY_NEED(ctx, m->prepared->n_frames == m->forest->p, FERRY_EDATA,
               "tensor prepare: %lld views, not %lld", (long long)m->prepared->n_frames,
               (long long)m->forest->p);
    for (int64_t i = 0; i < m->forest->p; i++)
        FERRY_NEED(ctx, m->prepared->frame[i].cols == m->forest->cols[i], FERRY_EDATA,
                   "tensor prepare: view %lld has %lld features, not %lld", (long long)i,
                   (long long)m->prepared->frame[i].cols, (long long)m->forest->cols[i]);
done:
    return st;
}
