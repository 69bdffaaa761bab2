/* The engine mpi: host, on rows that are spread over ranks (core/ranks.h).
 *
 * Rank r has its own rows of every data matrix (`whole`) and of blocks that go with these; everything else, features x
 * k and smaller, every rank has. So what works row by row is host's, and what adds up over the rows of a matrix is
 * host's on each rank and then the sum of all: X'B, X'X, sums of columns, coca's products. That is the same bits on
 * every rank, hence so is all that follows from it. Blocks do not know whose rows they are: ferry_i_sum_rows().
 *
 * Without ranks, and for whatever is not spread, it is host. */
#include <assert.h>
#include <string.h>

#include "core/ranks.h"
#include "linalg/host/host.h"

ferry_status ferry_i_sum_rows(ferry_ctx *ctx, const ferry_matrix *x, int64_t n, double *v)
{
    return x->whole ? ferry_i_ranks_sum(ctx, n, v) : FERRY_OK;
}

/* Flags are sent as numbers, some at a time. */
ferry_status ferry_i_any_rows(ferry_ctx *ctx, const ferry_matrix *x, int64_t n,
                              uint8_t *flag)
{
    enum { SOME = 1024 };
    ferry_status st = FERRY_OK;
    double v[SOME];

    for (int64_t at = 0; x->whole && at < n; at += SOME) {
        const int64_t m = n - at < SOME ? n - at : SOME;
        for (int64_t j = 0; j < m; j++)
            v[j] = flag[at + j] != 0;
        FERRY_TRY(ferry_i_ranks_most(ctx, m, v));
        for (int64_t j = 0; j < m; j++)
            flag[at + j] = v[j] > 0;
    }
done:
    return st;
}

/* ---- rows of all ranks in one place ---- */

/* What is not spread is there already: a copy. */
static ferry_status collect(ferry_ctx *ctx, const ferry_matrix *x, int64_t n, size_t size,
                            const void *mine, int64_t *from, int64_t *all, void **out)
{
    if (x->whole) return ferry_i_ranks_collect(ctx, n, size, mine, from, all, out);
    *from = 0;
    *all = n;
    *out = ferry_i_calloc(n, size);
    if (!*out) return ferry_i_nomem(ctx);
    if (n > 0) memcpy(*out, mine, (size_t)n * size);
    return FERRY_OK;
}

ferry_status ferry_i_first_row(ferry_ctx *ctx, const ferry_matrix *x, int64_t *from)
{
    *from = 0;
    return x->whole ? ferry_i_ranks_before(ctx, x->rows, from) : FERRY_OK;
}

ferry_status ferry_i_rows_collect(ferry_ctx *ctx, const ferry_matrix *x, size_t size,
                                  const void *mine, void **out)
{
    int64_t from = 0, all = 0;

    return collect(ctx, x, x->rows, size, mine, &from, &all, out);
}

/* Lengths of rows, then their entries. */
static ferry_status collect_csr(ferry_ctx *ctx, const ferry_matrix *x, ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    int64_t *length = NULL, from = 0, rows = 0, nnz = 0;
    void *lengths = NULL, *index = NULL, *value = NULL;

    FERRY_NEW(ctx, length, x->rows);
    for (int64_t i = 0; i < x->rows; i++)
        length[i] = x->start[i + 1] - x->start[i];
    FERRY_TRY(collect(ctx, x, x->rows, sizeof *length, length, &from, &rows, &lengths));
    FERRY_TRY(collect(ctx, x, x->nnz, sizeof *x->index, x->index, &from, &nnz, &index));
    FERRY_TRY(collect(ctx, x, x->nnz, sizeof *x->value, x->value, &from, &nnz, &value));
    FERRY_TRY(ferry_i_matrix_csr(ctx, rows, x->cols, nnz, out));
    for (int64_t i = 0; i < rows; i++)
        (*out)->start[i + 1] = (*out)->start[i] + ((const int64_t *)lengths)[i];
    if (nnz > 0) {
        memcpy((*out)->index, index, (size_t)nnz * sizeof *x->index);
        memcpy((*out)->value, value, (size_t)nnz * sizeof *x->value);
    }
done:
    FERRY_FREE(length, lengths, index, value);
    return st;
}

ferry_status ferry_i_matrix_collect(ferry_ctx *ctx, const ferry_matrix *x,
                                    ferry_matrix **out)
{
    ferry_status st = FERRY_OK;
    const size_t row = (size_t)x->cols * sizeof *x->dense;
    void *all = NULL;

    *out = NULL;
    if (!x->dense) return collect_csr(ctx, x, out);
    FERRY_TRY(ferry_i_rows_collect(ctx, x, row, x->dense, &all));
    FERRY_TRY(ferry_i_matrix_dense(ctx, ferry_i_all_rows(x), x->cols, out));
    if ((*out)->nnz > 0) memcpy((*out)->dense, all, (size_t)(*out)->nnz * sizeof(double));
done:
    ferry_i_free(all);
    return st;
}

/* ---- the engine ---- */

/* Y's own numbers are every rank's: they are counted once. */
static ferry_status mpi_tmul(ferry_ctx *ctx, double alpha, const ferry_matrix *x,
                             const ferry_block *b, double beta, ferry_block *y)
{
    const bool once = x->whole && ctx->ranks->rank > 0;
    ferry_status st = ferry_i_host_tmul(ctx, alpha, x, b, once ? 0 : beta, y);

    if (st == FERRY_OK) st = ferry_i_sum_rows(ctx, x, y->rows * y->k, y->data);
    return st;
}

static ferry_status mpi_xtx(ferry_ctx *ctx, const ferry_matrix *x, ferry_small *s)
{
    const ferry_status st = ferry_i_host_xtx(ctx, x, s);

    return st == FERRY_OK ? ferry_i_sum_rows(ctx, x, s->rows * s->cols, s->data) : st;
}

/* Rows meet rows of other ranks: who calls this has all of them. */
static void mpi_xxt(ferry_ctx *ctx, const ferry_matrix *x, ferry_small *s)
{
    assert(!x->whole);
    ferry_i_host_xxt(ctx, x, s);
}

static ferry_status mpi_sums(ferry_ctx *ctx, const ferry_matrix *x, ferry_axis axis,
                             int power, double *out)
{
    const ferry_status st = ferry_i_host_sums(ctx, x, axis, power, out);

    return st == FERRY_OK && axis == FERRY_COLS ? ferry_i_sum_rows(ctx, x, x->cols, out)
                                                : st;
}

/* X_j'r of every view, which all stand in y. */
static void mpi_consensus_mul(ferry_ctx *ctx, ferry_consensus *z, const double *u,
                              double *y)
{
    ferry_i_host_consensus_mul(ctx, z, u, y);
    if (z->whole)
        (void)ferry_i_ranks_sum(ctx, z->size, y); /* a failure shows in the next */
}

const ferry_engine ferry_i_engine_mpi = {
    .name = "mpi",
    .summary = "host, with rows spread over the ranks of an MPI job",
    FERRY_HOST_ROW_BY_ROW,
    .tmul = mpi_tmul,
    .xtx = mpi_xtx,
    .xxt = mpi_xxt,
    .sums = mpi_sums,
    .consensus_mul = mpi_consensus_mul,
};
