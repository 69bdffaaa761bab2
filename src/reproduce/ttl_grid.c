/* Grids of accuracies: methods by tasks by runs. */
#include <math.h>

#include "reproduce/ttl.h"

ferry_status ferry_i_ttl_grid_new(ferry_ctx *ctx, ttl_grid *g)
{
    ferry_status st = FERRY_OK;
    const int64_t n = g->rows * g->columns * g->runs;

    g->x = ferry_i_calloc(n, sizeof *g->x);
    FERRY_NEED(ctx, g->x, FERRY_ENOMEM, "no memory for a study's table");
    for (int64_t i = 0; i < n; i++)
        g->x[i] = NAN;
done:
    return st;
}

void ferry_i_ttl_grid_free(ttl_grid *g)
{
    ferry_i_free(g->x);
    g->x = NULL;
}

static double *at(const ttl_grid *g, int64_t row, int64_t column)
{
    return g->x + (row * g->columns + column) * g->runs;
}

ferry_status ferry_i_ttl_take(ferry_ctx *ctx, ferry_lab *lab, ttl_grid *g, int64_t first,
                              int64_t n, int64_t column, int64_t run)
{
    ferry_status st = FERRY_OK;
    ferry_score s;

    for (int64_t i = first; i < first + n; i++) {
        FERRY_TRY(ferry_i_lab_score(ctx, lab, g->row[i], "accuracy", &s));
        at(g, i, column)[run] = 100 * s.mean;
    }
done:
    return st;
}

double ferry_i_ttl_mean(const ttl_grid *g, int64_t row, int64_t column)
{
    if (column >= 0) return ferry_i_score_of(g->runs, at(g, row, column)).mean;
    return ferry_i_score_of(g->columns * g->runs, at(g, row, 0)).mean;
}

/* Mean over columns of each run, and over the runs; the paper's mean over columns. */
static ferry_status fill_mean(ferry_ctx *ctx, ferry_lab *lab, const ttl_grid *g,
                              int64_t row, const double *paper)
{
    ferry_status st = FERRY_OK;
    double *x = ferry_i_calloc(g->runs, sizeof *x), papers = NAN;

    FERRY_NEED(ctx, x, FERRY_ENOMEM, "no memory for a study's table");
    for (int64_t r = 0; r < g->runs; r++)
        for (int64_t j = 0; j < g->columns; j++)
            x[r] += at(g, row, j)[r] / (double)g->columns;
    if (paper) {
        papers = 0;
        for (int64_t j = 0; j < g->columns; j++)
            papers += paper[row * g->columns + j] / (double)g->columns;
    }
    FERRY_TRY(ferry_i_lab_cell(ctx, lab, g->row[row], "mean", ferry_i_score_of(g->runs, x),
                               papers));
done:
    ferry_i_free(x);
    return st;
}

ferry_status ferry_i_ttl_fill(ferry_ctx *ctx, ferry_lab *lab, const ttl_grid *g,
                              const double *paper, bool mean)
{
    ferry_status st = FERRY_OK;

    for (int64_t i = 0; i < g->rows; i++) {
        for (int64_t j = 0; j < g->columns; j++)
            FERRY_TRY(ferry_i_lab_cell(ctx, lab, g->row[i], g->column[j],
                                       ferry_i_score_of(g->runs, at(g, i, j)),
                                       paper ? paper[i * g->columns + j] : NAN));
        if (mean) FERRY_TRY(fill_mean(ctx, lab, g, i, paper));
    }
done:
    return st;
}
