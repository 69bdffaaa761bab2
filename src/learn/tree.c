/* Regression trees for boosting: making and freeing them, and walking down to the leaves.
 * tree_sorted.c grows them exactly, tree_bins.c from histograms, booster.c by XGBoost; tests/oracle/tree_plain.c is the
 * slow way that both are compared with.
 *
 * With z = -dL/df and c = d2L/df2 of every row, a node has G = sum z, H = sum c + reg. The
 * split of a node has the largest G_L^2/H_L + G_R^2/H_R, and a leaf the Newton step G/H. */
#include <math.h>

#include "core/ranks.h"
#include "learn/trees.h"

ferry_status ferry_i_tree_new(ferry_ctx *ctx, int64_t n, ferry_tree **out)
{
    ferry_status st = FERRY_OK;
    ferry_tree *t = ferry_i_calloc(1, sizeof *t);

    *out = NULL;
    FERRY_HAVE(ctx, t);
    t->n = n;
    FERRY_NEW(ctx, t->node, n);
    for (int64_t i = 0; i < n; i++)
        t->node[i].feature = -1;
    FERRY_MOVE(*out, t);
done:
    ferry_i_tree_free(t);
    return st;
}

void ferry_i_tree_free(ferry_tree *t)
{
    if (!t) return;
    FERRY_FREE(t->node, t);
}

/* *zeros <- how many cells are 0; false: one is below 0 or missing (the test is written so that NaN fails). */
static bool count_zeros(const ferry_matrix *x, int64_t *zeros)
{
    *zeros = 0;
    for (int64_t e = 0; e < x->rows * x->cols; e++) {
        if (!(x->dense[e] >= 0)) return false;
        *zeros += x->dense[e] == 0;
    }
    return true;
}

/* By the values alone: a table means the same whether it is stored dense or as CSR. */
bool ferry_i_tree_sparse(const ferry_matrix *x)
{
    int64_t zeros = 0;

    if (!x->dense) return true;
    return count_zeros(x, &zeros) && x->rows > 0 && 2 * zeros >= x->rows * x->cols;
}

ferry_status ferry_i_trees_sparse(ferry_ctx *ctx, const ferry_matrix *x, bool *sparse)
{
    int64_t zeros = 0;

    if (!x->dense || !ferry_i_ranks_split(ctx)) {
        *sparse = ferry_i_tree_sparse(x);
        return FERRY_OK;
    }
    const bool fine = count_zeros(x, &zeros);
    double v[] = {(double)x->rows, (double)zeros, !fine};
    FERRY_PASS(ferry_i_ranks_sum(ctx, 3, v));
    *sparse = v[2] == 0 && v[0] > 0 && 2 * v[1] >= v[0] * (double)x->cols;
    return FERRY_OK;
}

/* ---- walking down ---- */

/* Dense: a look. CSR: bisection among the row's columns, O(log entries). */
double ferry_i_tree_cell(const ferry_tree_data *d, int64_t i, int64_t j)
{
    const ferry_matrix *x = d->x;
    double v = 0;

    if (x->dense) {
        v = x->dense[i * x->cols + j];
    } else {
        const int64_t e = ferry_i_matrix_seek(x, i, j);
        if (e < x->start[i + 1] && x->index[e] == j) v = x->value[e];
    }
    return v == 0 && (d->sparse || !x->dense) ? NAN : v;
}

/* From the root down; children come after their parent, so this ends. Row is of the
 * matrix. */
static int32_t leaf_of(const ferry_tree *t, const ferry_tree_data *d, int64_t row)
{
    int32_t at = 0;

    while (t->node[at].feature >= 0) {
        const ferry_tree_node *node = &t->node[at];
        const double v = ferry_i_tree_cell(d, row, node->feature);
        const bool left = isnan(v) ? node->missing_left : v <= node->threshold;
        at = left ? node->left : node->right;
    }
    return at;
}

/* Rows do not meet, so threads do not change the result; few rows are not worth a team. */
void ferry_i_tree_leaves(const ferry_ctx *ctx, const ferry_tree *t,
                         const ferry_tree_data *d, int32_t *leaf)
{
    const int64_t n = d->n;
    const int threads = n < 4096 ? 1 : ctx->threads;

#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n; i++)
        leaf[i] = leaf_of(t, d, d->rows ? d->rows[i] : i);
}

/* ---- what growers share ---- */

/* a + (b - a) / 2 may round up to b when the two are neighbours. Then x <= threshold
 * would take b to the left as well; a itself separates them. */
double ferry_i_tree_middle(double a, double b)
{
    const double middle = a + (b - a) / 2;

    return middle < b ? middle : a;
}

/* 2^(depth + 1) - 1 nodes of a full tree, or 2 n + 1, whichever is less. The first is
 * only computed where it cannot overflow. */
int64_t ferry_i_tree_most(const ferry_tree_options *o, int64_t n)
{
    const int64_t most = 2 * n + 1; /* every leaf has a row */

    return o->depth < 30 && ((int64_t)2 << o->depth) - 1 < most
               ? ((int64_t)2 << o->depth) - 1
               : most;
}
