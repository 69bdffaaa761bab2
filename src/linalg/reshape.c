/* New matrices from parts of others: rows taken, columns mapped, stacked, joined,
 * densified.
 *
 * Copies throughout: a matrix never changes once it is made, so a part of one is a
 * matrix of its own. Sparse stays sparse, with ascending columns, as everything that
 * walks CSR relies on. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "linalg/linalg.h"

/* memcpy with a count of 0 wants valid pointers, which an empty matrix may not have. */
static void copy_reals(double *to, const double *from, int64_t n)
{
    if (n > 0) memcpy(to, from, (size_t)n * sizeof *to);
}

/* y is zeroed: row -1 and columns that nothing maps to stay so. */
static void take_dense(const ferry_matrix *x, const int64_t *rows, const int32_t *map,
                       ferry_matrix *y)
{
    for (int64_t i = 0; i < y->rows; i++) {
        double *to = y->dense + i * y->cols;
        if (rows[i] < 0) continue;
        const double *from = x->dense + rows[i] * x->cols;
        if (!map) copy_reals(to, from, x->cols);
        for (int64_t j = 0; map && j < x->cols; j++)
            if (map[j] >= 0) to[map[j]] = from[j];
    }
}

/* An entry of a row while it is put in order. */
typedef struct entry {
    int32_t index;
    double value;
} entry;

static int by_index(const void *a, const void *b)
{
    const int32_t i = ((const entry *)a)->index, j = ((const entry *)b)->index;

    return (i > j) - (i < j);
}

/* Entries of row r of x that the map keeps; writes them when `to` is given. */
static int64_t mapped_row(const ferry_matrix *x, int64_t r, const int32_t *map, entry *to)
{
    int64_t n = 0;

    if (r < 0) return 0;
    for (int64_t e = x->start[r]; e < x->start[r + 1]; e++) {
        const int32_t j = map ? map[x->index[e]] : x->index[e];
        if (j < 0) continue;
        if (to) to[n] = (entry){j, x->value[e]};
        n++;
    }
    return n;
}

/* Two walks over the rows taken, one to count and one to copy. Where the map changes the order
 * of columns, a row is sorted again: CSR promises ascending columns.
 * O(entries taken), and a sort only where the order has changed. */
static ferry_status take_sparse(ferry_ctx *ctx, const ferry_matrix *x, int64_t n,
                                const int64_t *rows, int64_t new_cols, const int32_t *map,
                                ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    ferry_matrix *y = NULL;
    entry *row = NULL;
    int64_t nnz = 0, longest = 0;

    for (int64_t i = 0; i < n; i++) {
        const int64_t m = mapped_row(x, rows[i], map, NULL);
        nnz += m;
        if (m > longest) longest = m;
    }
    FERRY_TRY(ferry_i_matrix_csr(ctx, n, new_cols, nnz, &y));
    FERRY_NEW(ctx, row, longest);
    for (int64_t i = 0, at = 0; i < n; i++) {
        const int64_t m = mapped_row(x, rows[i], map, row);
        bool sorted = true;
        for (int64_t e = 1; e < m; e++)
            sorted = sorted && row[e - 1].index < row[e].index;
        if (!sorted) qsort(row, (size_t)m, sizeof *row, by_index);
        for (int64_t e = 0; e < m; e++, at++) {
            y->index[at] = row[e].index;
            y->value[at] = row[e].value;
        }
        y->start[i + 1] = at;
    }
    FERRY_MOVE(*out, y);
done:
    ferry_i_free(row);
    ferry_i_matrix_free(y);
    return st;
}

/* The result is stored as x is. The caller owns it. */
ferry_status ferry_i_matrix_take(ferry_ctx *ctx, const ferry_matrix *x, int64_t n,
                                 const int64_t *rows, int64_t new_cols, const int32_t *map,
                                 ferry_matrix **out)
{
    ferry_status st = FERRY_OK;

    *out = NULL;
    assert(map || new_cols == x->cols);
    if (!x->dense) return take_sparse(ctx, x, n, rows, new_cols, map, out);
    FERRY_TRY(ferry_i_matrix_dense(ctx, n, new_cols, out));
    take_dense(x, rows, map, *out);
done:
    return st;
}

/* Add x to the dense y with its corner at (row, col).
 * y is zeroed there, so a sparse x writes its entries alone. */
static void put_dense(const ferry_matrix *x, ferry_matrix *y, int64_t row, int64_t col)
{
    for (int64_t i = 0; i < x->rows; i++) {
        double *to = y->dense + (row + i) * y->cols + col;
        if (x->dense) copy_reals(to, x->dense + i * x->cols, x->cols);
        for (int64_t e = x->dense ? 0 : x->start[i]; !x->dense && e < x->start[i + 1]; e++)
            to[x->index[e]] = x->value[e];
    }
}

/* Append row i of the sparse x, its columns shifted by col, to the CSR y at entry at. */
static int64_t put_sparse_row(const ferry_matrix *x, int64_t i, int64_t col,
                              ferry_matrix *y, int64_t at)
{
    for (int64_t e = x->start[i]; e < x->start[i + 1]; e++, at++) {
        y->index[at] = (int32_t)(x->index[e] + col);
        y->value[at] = x->value[e];
    }
    return at;
}

/* Whether all parts are sparse (no part: dense), and how many entries they have. */
static bool all_sparse(int64_t n, const ferry_matrix *const *parts, int64_t *nnz)
{
    bool sparse = n > 0;

    *nnz = 0;
    for (int64_t p = 0; p < n; p++) {
        sparse = sparse && !parts[p]->dense;
        *nnz += parts[p]->nnz;
    }
    return sparse;
}

/* Parts keep their order; entries of CSR follow each other as they are. */
ferry_status ferry_i_matrix_stack(ferry_ctx *ctx, int64_t n,
                                  const ferry_matrix *const *parts, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    int64_t rows = 0, nnz = 0;
    const int64_t cols = n > 0 ? parts[0]->cols : 0;
    const bool sparse = all_sparse(n, parts, &nnz);

    *out = NULL;
    for (int64_t p = 0; p < n; p++) {
        assert(parts[p]->cols == cols);
        rows += parts[p]->rows;
    }
    FERRY_TRY(sparse ? ferry_i_matrix_csr(ctx, rows, cols, nnz, out)
                     : ferry_i_matrix_dense(ctx, rows, cols, out));
    for (int64_t p = 0; p < n; p++)
        (*out)->whole += parts[p]->whole;
    for (int64_t p = 0, row = 0, at = 0; p < n; row += parts[p++]->rows) {
        if (!sparse) put_dense(parts[p], *out, row, 0);
        for (int64_t i = 0; sparse && i < parts[p]->rows; i++)
            (*out)->start[row + i + 1] = at = put_sparse_row(parts[p], i, 0, *out, at);
    }
done:
    return st;
}

/* CSR: row by row, each part's entries with its columns shifted, so that they ascend. */
ferry_status ferry_i_matrix_join(ferry_ctx *ctx, int64_t n,
                                 const ferry_matrix *const *parts, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    int64_t cols = 0, nnz = 0;
    const int64_t rows = n > 0 ? parts[0]->rows : 0;
    const bool sparse = all_sparse(n, parts, &nnz);

    *out = NULL;
    for (int64_t p = 0; p < n; p++) {
        assert(parts[p]->rows == rows);
        cols += parts[p]->cols;
    }
    FERRY_TRY(sparse ? ferry_i_matrix_csr(ctx, rows, cols, nnz, out)
                     : ferry_i_matrix_dense(ctx, rows, cols, out));
    if (n > 0) (*out)->whole = parts[0]->whole;
    for (int64_t p = 0, col = 0; !sparse && p < n; col += parts[p++]->cols)
        put_dense(parts[p], *out, 0, col);
    for (int64_t i = 0, at = 0; sparse && i < rows; i++) {
        for (int64_t p = 0, col = 0; p < n; col += parts[p++]->cols)
            at = put_sparse_row(parts[p], i, col, *out, at);
        (*out)->start[i + 1] = at;
    }
done:
    return st;
}

ferry_status ferry_i_matrix_densify(ferry_ctx *ctx, const ferry_matrix *x,
                                    ferry_matrix **out)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_matrix_dense(ctx, x->rows, x->cols, out));
    put_dense(x, *out, 0, 0);
    (*out)->whole = x->whole;
done:
    return st;
}

/* Counts first, so that the result has just the room it needs. x is dense. NaN is an
 * entry. */
ferry_status ferry_i_matrix_sparsify(ferry_ctx *ctx, const ferry_matrix *x,
                                     ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    int64_t nnz = 0;

    *out = NULL;
    for (int64_t e = 0; e < x->nnz; e++)
        nnz += x->dense[e] != 0;
    FERRY_TRY(ferry_i_matrix_csr(ctx, x->rows, x->cols, nnz, out));
    (*out)->whole = x->whole;
    nnz = 0;
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t j = 0; j < x->cols; j++) {
            if (x->dense[i * x->cols + j] == 0) continue;
            (*out)->index[nnz] = (int32_t)j;
            (*out)->value[nnz++] = x->dense[i * x->cols + j];
        }
        (*out)->start[i + 1] = nnz;
    }
done:
    return st;
}

ferry_status ferry_i_matrix_beside(ferry_ctx *ctx, bool dense, int64_t n,
                                   ferry_matrix **part, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;

    *out = NULL;
    for (int64_t p = 0; !dense && p < n; p++) {
        ferry_matrix *csr = NULL;
        if (!part[p]->dense) continue;
        FERRY_TRY(ferry_i_matrix_sparsify(ctx, part[p], &csr));
        ferry_i_matrix_free(part[p]);
        part[p] = csr;
    }
    if (n == 1) {
        *out = part[0];
        part[0] = NULL;
    } else {
        FERRY_TRY(ferry_i_matrix_join(ctx, n, (const ferry_matrix *const *)part, out));
    }
done:
    return st;
}
