/* Graphs: symmetric weighted edges between a domain's instances, as CSR with both
 * directions.
 *
 * Methods want A = A', so direction is dropped, and they want each row sorted, without
 * loops. Edges come in any order and may repeat; all is done by counting, in O(instances +
 * edges) and without a sort. */
#include <math.h>
#include <string.h>

#include "data/parts.h"

void ferry_i_graph_free(ferry_graph *g)
{
    if (!g) return;
    ferry_i_matrix_free(g->a);
    FERRY_FREE(g->name, g);
}

/* Negative weights have no meaning to Laplacians and random walks, which most methods
 * use. */
static ferry_status check_weights(ferry_ctx *ctx, int64_t edges, const double *weight)
{
    for (int64_t e = 0; weight && e < edges; e++)
        if (!isfinite(weight[e]) || weight[e] < 0)
            return ferry_i_fail(ctx, FERRY_EDATA,
                                "edge %lld has weight %g, expected a finite number >= 0",
                                (long long)e + 1, weight[e]);
    return FERRY_OK;
}

/* Put entry (row, col, w) behind those that its row already has. */
static void put(ferry_matrix *a, int64_t *next, int64_t row, int64_t col, double w)
{
    const int64_t at = next[row]++;

    a->index[at] = (int32_t)col;
    a->value[at] = w;
}

/* Start of each row from the counts that start[1..rows] holds; next gets a copy. Counts to
 * starts (prefix sums), as in a counting sort. */
static void add_up(ferry_matrix *a, int64_t *next)
{
    for (int64_t i = 0; i < a->rows; i++)
        a->start[i + 1] += a->start[i];
    memcpy(next, a->start, (size_t)a->rows * sizeof *next);
}

/* Add up repeated entries of sorted rows, in place. */
static void merge(ferry_matrix *a)
{
    int64_t n = 0;

    for (int64_t i = 0, e = 0; i < a->rows; i++) {
        /* read from e, write to n <= e: the matrix shrinks in place */
        const int64_t end = a->start[i + 1], first = n;
        for (; e < end; e++) {
            if (n > first && a->index[n - 1] == a->index[e]) {
                a->value[n - 1] += a->value[e];
            } else {
                a->index[n] = a->index[e];
                a->value[n++] = a->value[e];
            }
        }
        a->start[i + 1] = n;
    }
    a->nnz = n;
}

/* Rows in the order of the file first; the transpose of that, which is the same matrix, has
 * its columns in ascending order, repeated edges still in the order of the file. So both
 * directions of an edge add up in the same order, to the same bits. b and a have the same
 * counts, as the matrix is symmetric. Memory: twice 2 * edges entries until b is freed. */
static ferry_status adjacency(ferry_ctx *ctx, int64_t n, int64_t edges, const int64_t *from,
                              const int64_t *to, const double *weight, int64_t *loops,
                              ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *b = NULL, *a = NULL;
    int64_t *next = ferry_i_calloc(n, sizeof *next), kept = 0;

    FERRY_HAVE(ctx, next);
    for (int64_t e = 0; e < edges; e++) {
        if (from[e] < 0 || to[e] < 0) continue;
        /* loops are counted for a warning and left out, edges to unknown nodes were counted
         * before */
        *loops += from[e] == to[e];
        kept += from[e] != to[e];
    }
    /* b: rows as the file has them; a: the same with columns in order */
    FERRY_TRY(ferry_i_matrix_csr(ctx, n, n, 2 * kept, &b));
    FERRY_TRY(ferry_i_matrix_csr(ctx, n, n, 2 * kept, &a));
    for (int64_t e = 0; e < edges; e++) {
        if (from[e] < 0 || to[e] < 0 || from[e] == to[e]) continue;
        /* count each row's entries, both directions of the edge */
        b->start[from[e] + 1]++;
        b->start[to[e] + 1]++;
    }
    memcpy(a->start, b->start, (size_t)(n + 1) * sizeof *a->start);
    add_up(b, next);
    for (int64_t e = 0; e < edges; e++) {
        if (from[e] < 0 || to[e] < 0 || from[e] == to[e]) continue;
        const double w = weight ? weight[e] : 1;
        put(b, next, from[e], to[e], w);
        put(b, next, to[e], from[e], w);
    }
    add_up(a, next);
    /* a <- b': row i of b is scattered to column i, and i ascends */
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = b->start[i]; e < b->start[i + 1]; e++)
            put(a, next, b->index[e], i, b->value[e]);
    merge(a);
    FERRY_MOVE(*out, a);
done:
    ferry_i_matrix_free(a);
    ferry_i_matrix_free(b);
    ferry_i_free(next);
    return st;
}

/* Columns are int32, hence the limit on instances. */
ferry_status ferry_i_graph_new(ferry_ctx *ctx, const char *name, int64_t n, int64_t edges,
                               const int64_t *from, const int64_t *to, const double *weight,
                               int64_t *loops, ferry_graph **out)
{
    ferry_status st = FERRY_OK;
    ferry_graph *g = NULL;

    *out = NULL;
    *loops = 0;
    FERRY_NEED(ctx, n < INT32_MAX && edges <= INT64_MAX / 64, FERRY_EDATA,
               "a graph of %lld instances and %lld edges is too large", (long long)n,
               (long long)edges);
    FERRY_TRY(check_weights(ctx, edges, weight));
    FERRY_NEW(ctx, g, 1);
    FERRY_HAVE(ctx, g->name = ferry_i_strdup(name));
    FERRY_TRY(adjacency(ctx, n, edges, from, to, weight, loops, &g->a));
    FERRY_MOVE(*out, g);
done:
    ferry_i_graph_free(g);
    return st;
}

/* New instances have no edges: their rows are empty, start stays at the end. */
ferry_status ferry_i_graph_widen(ferry_ctx *ctx, const ferry_matrix *a, int64_t n,
                                 ferry_matrix **out)
{
    ferry_matrix *w = NULL;

    *out = NULL;
    FERRY_PASS(ferry_i_matrix_csr(ctx, n, n, a->nnz, &w));
    for (int64_t i = 0; i <= n; i++)
        w->start[i] = a->start[i < a->rows ? i : a->rows];
    memcpy(w->index, a->index, (size_t)a->nnz * sizeof *a->index);
    memcpy(w->value, a->value, (size_t)a->nnz * sizeof *a->value);
    *out = w;
    return FERRY_OK;
}
