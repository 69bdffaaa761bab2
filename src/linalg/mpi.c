/* The engine mpi: host, on rows that are spread over ranks (core/ranks.h).
 *
 * Rank r has its own rows of every data matrix (`whole`) and of blocks that go with these; everything else, features x
 * k and smaller, every rank has. So what works row by row is host's, and what adds up over the rows of a matrix is
 * host's on each rank and then the sum of all: X'B, X'X, sums of columns. That is the same bits on every rank, hence so
 * is all that follows from it. Blocks do not know whose rows they are: ferry_i_sum_rows().
 *
 * Without ranks, and for whatever is not spread, it is host. */
#include <assert.h>

#include "core/ranks.h"
#include "linalg/host/host.h"

ferry_status ferry_i_sum_rows(ferry_ctx *ctx, const ferry_matrix *x, int64_t n, double *v)
{
    return x->whole ? ferry_i_ranks_sum(ctx, n, v) : FERRY_OK;
}

ferry_status ferry_i_rows_like(ferry_ctx *ctx, const ferry_matrix *of, ferry_matrix *x)
{
    int64_t n = x->rows;

    if (!of->whole) return FERRY_OK;
    const ferry_status st = ferry_i_ranks_count(ctx, &n);
    x->whole = n;
    return st;
}

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

const ferry_engine ferry_i_engine_mpi = {
    .name = "mpi",
    .summary = "host, with rows spread over the ranks of an MPI job",
    FERRY_HOST_ROW_BY_ROW,
    .tmul = mpi_tmul,
    .xtx = mpi_xtx,
    .xxt = mpi_xxt,
    .sums = mpi_sums,
    .consensus_mul = ferry_i_host_consensus_mul,
};
