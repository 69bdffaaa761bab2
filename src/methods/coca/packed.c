/* CoCA: H packed for the engine's consensus_mul (linalg/packed.h), with as few bytes as the
 * views allow, since the eigensolver multiplies H by one vector at a time and that is nothing
 * but memory:
 *   - columns are kept in 16 bits where they fit;
 *   - values are left out where all of a column are equal, as those of 0/1 features are
 *     however they are scaled: the factor goes into u and y;
 *   - of an unweighted graph only the edges are kept, G M G with G = diag(sqrt(wt / degree)),
 *     so that a row of W T is a sum of rows of G T.
 *
 * It is used only where the eigensolver works with products (H is too large to be written
 * out), and gives the same as forward() and backward() of solve.c up to rounding. */
#include <math.h>
#include <string.h>

#include "methods/coca/coca.h"

enum { VIEWS = FERRY_CONSENSUS_VIEWS };

static void clear_pattern(ferry_pattern *x)
{
    FERRY_FREE(x->narrow, x->wide, x->value);
}

/* The columns of x; values too when asked. `start` is borrowed from x, so x must outlive
 * the pattern. The room ahead lets the engine read a little past the end of a row. */
static ferry_status copy_pattern(ferry_ctx *ctx, const ferry_matrix *x, bool values,
                                 ferry_pattern *to)
{
    ferry_status st = FERRY_OK;
    const bool narrow = x->cols <= UINT16_MAX;
    const int64_t room = x->nnz + FERRY_PATTERN_AHEAD;

    to->start = x->start;
    if (narrow)
        to->narrow = ferry_i_calloc(room, sizeof *to->narrow);
    else
        to->wide = ferry_i_calloc(room, sizeof *to->wide);
    if (values) to->value = ferry_i_calloc(x->nnz, sizeof *to->value);
    FERRY_HAVE(ctx, (to->narrow || to->wide) && (!values || to->value));
    for (int64_t e = 0; narrow && e < x->nnz; e++)
        to->narrow[e] = (uint16_t)x->index[e];
    if (!narrow) memcpy(to->wide, x->index, (size_t)x->nnz * sizeof *to->wide);
    if (values) memcpy(to->value, x->value, (size_t)x->nnz * sizeof *to->value);
done:
    return st;
}

/* Whether every column has one value; factor_j <- it, or 1 for an empty column. An
 * explicit zero would break the pattern, so it counts as different. */
static bool even_columns(const ferry_matrix *x, double *factor)
{
    memset(factor, 0, (size_t)x->cols * sizeof *factor);
    for (int64_t e = 0; e < x->nnz; e++) {
        double *f = &factor[x->index[e]];
        if (x->value[e] == 0 || (*f != 0 && *f != x->value[e])) return false;
        *f = x->value[e];
    }
    for (int64_t j = 0; j < x->cols; j++)
        if (factor[j] == 0) factor[j] = 1;
    return true;
}

/* at: the view's first place in u and y. shift and present (centring, missing rows) are
 * borrowed from the view. factor_j is what the column is multiplied by, f_j of the view
 * included. */
static ferry_status pack_view(ferry_ctx *ctx, const coca_problem *c, int64_t j, int64_t at,
                              ferry_consensus_view *v)
{
    ferry_status st = FERRY_OK;
    const embed_view *x = c->x[j];

    v->cols = x->cols;
    v->at = at;
    v->shift = x->c.shift;
    v->present = x->c.present;
    v->f = c->f ? c->f[j] : 1;
    FERRY_NEW(ctx, v->factor, x->cols);
    const bool even = even_columns(x->c.x, v->factor);
    FERRY_TRY(copy_pattern(ctx, x->c.x, !even, &v->x));
    for (int64_t i = 0; i < x->cols; i++)
        v->factor[i] = even ? v->f * v->factor[i] : v->f;
done:
    return st;
}

/* The graphs one by one when each has one value for all edges, else W. node_i =
 * sqrt(wt_t value / deg_i), without sym sqrt(wt_t value), so that node_i M_ij node_j is the
 * entry of W. The merged W is one pattern, but with values: eight bytes more an edge. */
static ferry_status pack_graphs(ferry_ctx *ctx, const coca_problem *c, ferry_consensus *z)
{
    ferry_status st = FERRY_OK;
    bool even = c->q > 0;

    for (int64_t t = 0; even && t < c->q; t++)
        for (int64_t e = 0; even && e < c->graph[t]->nnz; e++)
            even = c->graph[t]->value[e] == c->graph[t]->value[0];
    z->q = !c->w ? 0 : even ? c->q : 1;
    z->graph = ferry_i_calloc(z->q, sizeof *z->graph);
    z->node = ferry_i_calloc(z->q, sizeof *z->node);
    z->gt = ferry_i_calloc(z->q, sizeof(ferry_block *));
    FERRY_HAVE(ctx, z->graph && z->node && z->gt);
    if (z->q > 0 && !even) FERRY_TRY(copy_pattern(ctx, c->w, true, &z->graph[0]));
    for (int64_t t = 0; even && t < z->q; t++) {
        const ferry_matrix *a = c->graph[t];
        FERRY_TRY(copy_pattern(ctx, a, false, &z->graph[t]));
        FERRY_HAVE(ctx, z->node[t] = ferry_i_calloc(c->m, sizeof **z->node));
        ferry_i_coca_node_factors(a, c->sym, z->node[t]);
        for (int64_t i = 0; i < c->m; i++)
            z->node[t][i] *= sqrt(c->wt[t] * (a->nnz > 0 ? a->value[0] : 0));
        FERRY_TRY(ferry_i_block_new(ctx, c->m, VIEWS, &z->gt[t]));
    }
done:
    return st;
}

/* Negative weights have no real root. Edges to instances of other ranks go another way. */
static bool packs(const coca_problem *c)
{
    if (c->w && c->x[0]->c.x->whole) return false;
    if (c->p > VIEWS) return false;
    for (int64_t j = 0; j < c->p; j++)
        if (c->x[j]->c.x->dense) return false;
    for (int64_t t = 0; t < c->q; t++)
        if (!(c->wt[t] >= 0)) return false;
    return true;
}

/* own_j = a_j - b: what view j's own projection gets beside b s. */
ferry_status ferry_i_coca_pack(ferry_ctx *ctx, const coca_problem *c, ferry_consensus **out)
{
    ferry_status st = FERRY_OK;
    ferry_consensus *z = NULL;

    *out = NULL;
    if (!packs(c)) return FERRY_OK;
    FERRY_NEW(ctx, z, 1);
    z->m = c->m;
    z->whole = c->x[0]->c.x->whole;
    z->p = c->p;
    z->b = c->b;
    for (int64_t j = 0; j < c->p; j++) {
        FERRY_TRY(pack_view(ctx, c, j, z->size, &z->view[j]));
        z->own[j] = c->a[j] - c->b;
        z->size += c->x[j]->cols;
    }
    FERRY_TRY(pack_graphs(ctx, c, z));
    FERRY_TRY(ferry_i_block_new(ctx, c->m, VIEWS, &z->t));
    FERRY_TRY(ferry_i_block_new(ctx, c->m, VIEWS, &z->r));
    FERRY_NEW(ctx, z->scaled, z->size);
    FERRY_NEW(ctx, z->y, FERRY_CONSENSUS_PIECES * z->size);
    FERRY_MOVE(*out, z);
done:
    ferry_i_coca_packed_free(z);
    return st;
}

void ferry_i_coca_packed_free(ferry_consensus *z)
{
    if (!z) return;
    for (int64_t j = 0; j < VIEWS; j++) {
        clear_pattern(&z->view[j].x);
        ferry_i_free(z->view[j].factor);
    }
    for (int64_t t = 0; t < z->q; t++) {
        if (z->graph) clear_pattern(&z->graph[t]);
        if (z->node) ferry_i_free(z->node[t]);
        if (z->gt) ferry_i_block_free(z->gt[t]);
    }
    FERRY_FREE(z->graph, z->node, z->gt);
    ferry_i_block_free(z->t);
    ferry_i_block_free(z->r);
    FERRY_FREE(z->scaled, z->y, z);
}
