/* Ridge regression, several targets at once.
 *
 *   min over W (k x d), b (k)   |Y - X W' - 1 b'|^2 + lambda |W|^2
 *
 * With m the column means of X and A = X - 1 m', C = Y - 1 (column means of Y)':
 *
 *   d <= n:  (A'A + lambda I) W' = A'C          A'A = X'X - n m m',   A'C = X'C
 *   n <  d:  (AA' + lambda I) V  = C,  W' = A'V AA' = XX' - s 1' - 1 s' + m'm,  s = X m
 *
 * and b = mean of Y - W m. A sparse X is centred only in these formulas, never in memory; a
 * dense one is centred first, since the differences lose digits when means are large. Of a large one that is done
 * piece by piece, A'A and A'C being sums over rows: no copy of it is made.
 *
 * With a weight v_i for each row, means are weighted and the rows of A and C multiplied by
 * sqrt(v_i): sum_i v_i |y_i - W x_i - b|^2 is then the same problem. Only for a dense X.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "learn/learn.h"

/* The largest system: 2 GiB. Cells of a piece: 8 MiB. */
enum { MOST = 16384, PIECE = 1 << 20 };

/* Everything the steps below share. */
typedef struct work {
    const ferry_matrix *x; /* centred when dense, unless in pieces */
    ferry_matrix *own;     /* the centred copy */
    ferry_block *c;        /* n x k, centred targets */
    double *mx, *my;       /* means that were or are to be taken off */
    double *left;          /* means of x itself: 0 when dense */
    const double *weight;  /* of each row; NULL: 1 */
    ferry_small *a;        /* the system */
    double lambda;
} work;

static void work_clear(work *w)
{
    FERRY_FREE(w->a, w->left, w->my, w->mx, w->c);
    ferry_i_matrix_free(w->own);
}

/* mean (k) <- weighted means of the rows of `from` (n x k), in place of plain ones.
 * Does nothing without weights. Not all weights may be 0. */
static void weigh_means(const work *w, int64_t n, int64_t k, const double *from,
                        double *mean)
{
    double all = 0;

    if (!w->weight) return;
    memset(mean, 0, (size_t)k * sizeof *mean);
    for (int64_t i = 0; i < n; i++) {
        all += w->weight[i];
        for (int64_t j = 0; j < k; j++)
            mean[j] += w->weight[i] * from[i * k + j];
    }
    for (int64_t j = 0; j < k; j++)
        mean[j] /= all;
}

/* to (n x k) <- sqrt(v_i) (from_i - mean); weight (n) may be NULL. */
static void take_off(const double *weight, int64_t n, int64_t k, const double *from,
                     const double *mean, double *to)
{
    for (int64_t i = 0; i < n; i++) {
        const double root = weight ? sqrt(weight[i]) : 1;
        for (int64_t j = 0; j < k; j++)
            to[i * k + j] = root * (from[i * k + j] - mean[j]);
    }
}

/* Rows of a piece: at least twice the columns, so that adding up is little beside the products. */
static int64_t piece_rows(const ferry_matrix *x)
{
    const int64_t few = PIECE / (x->cols > 0 ? x->cols : 1);

    return few > 2 * x->cols ? few : 2 * x->cols;
}

static bool in_pieces(const ferry_matrix *x)
{
    return x->dense && x->cols <= ferry_i_all_rows(x) && x->rows > piece_rows(x);
}

/* Dense: a centred (and weighted) copy, left = 0. CSR: x itself, the means in `left`,
 * for the formulas to take off. In pieces: x itself, add_pieces() does the rest. */
static ferry_status centre_x(ferry_ctx *ctx, const ferry_matrix *x, work *w)
{
    ferry_status st = FERRY_OK;
    const double n = (double)ferry_i_all_rows(x);

    FERRY_NEW(ctx, w->mx, x->cols);
    FERRY_NEW(ctx, w->left, x->cols);
    FERRY_TRY(ferry_e(ctx)->sums(ctx, x, FERRY_COLS, 1, w->mx));
    for (int64_t j = 0; j < x->cols; j++)
        w->mx[j] /= n;
    w->x = x;
    if (!x->dense) {
        memcpy(w->left, w->mx, (size_t)x->cols * sizeof *w->left);
        goto done;
    }
    weigh_means(w, x->rows, x->cols, x->dense, w->mx);
    if (in_pieces(x)) goto done;
    FERRY_TRY(ferry_i_matrix_dense(ctx, x->rows, x->cols, &w->own));
    take_off(w->weight, x->rows, x->cols, x->dense, w->mx, w->own->dense);
    w->own->whole = x->whole;
    w->x = w->own;
done:
    return st;
}

/* C = sqrt(v) (Y - 1 my'). */
static ferry_status centre_y(ferry_ctx *ctx, const ferry_block *y, work *w)
{
    ferry_status st = FERRY_OK;

    FERRY_NEW(ctx, w->my, y->k);
    FERRY_TRY(ferry_i_block_new(ctx, y->rows, y->k, &w->c));
    ferry_e(ctx)->bsums(ctx, y, FERRY_COLS, 1, w->my);
    FERRY_TRY(ferry_i_sum_rows(ctx, w->x, y->k, w->my));
    for (int64_t j = 0; j < y->k; j++)
        w->my[j] /= (double)ferry_i_all_rows(w->x);
    weigh_means(w, y->rows, y->k, y->data, w->my);
    take_off(w->weight, y->rows, y->k, y->data, w->my, w->c->data);
done:
    return st;
}

/* A <- the Cholesky factor of A + lambda I. A pivot that is nothing but the rounding of its
 * diagonal entry would give weights that mean nothing, so it is refused like a negative
 * one. */
static ferry_status factor(ferry_ctx *ctx, ferry_small *a, double lambda)
{
    ferry_status st = FERRY_OK;
    double *diag = ferry_i_calloc(a->rows, sizeof *diag);
    bool sound = true;

    FERRY_HAVE(ctx, diag);
    for (int64_t i = 0; i < a->rows; i++)
        diag[i] = FERRY_AT(a, i, i) += lambda;
    st = ferry_e(ctx)->chol(ctx, a);
    for (int64_t i = 0; st == FERRY_OK && i < a->rows; i++) {
        const double l = FERRY_AT(a, i, i);
        sound = sound && l * l > (double)a->rows * DBL_EPSILON * diag[i];
    }
    if (st == FERRY_ENUMERIC || !sound)
        st = ferry_i_fail(ctx, FERRY_ENUMERIC,
                          "ridge: lambda = %g is too small for these features", lambda);
done:
    ferry_i_free(diag);
    return st;
}

/* B (rows x k) <- (A + lambda I)^-1 B; A is destroyed.
 * Blocks are row by row and LAPACK wants columns: copied there and back, O(rows k). */
static ferry_status solve(ferry_ctx *ctx, work *w, ferry_block *b)
{
    ferry_status st = FERRY_OK;
    ferry_small *t = NULL;

    FERRY_TRY(factor(ctx, w->a, w->lambda));
    FERRY_TRY(ferry_i_small_new(ctx, b->rows, b->k, &t));
    for (int64_t i = 0; i < b->rows; i++)
        for (int64_t j = 0; j < b->k; j++)
            FERRY_AT(t, i, j) = FERRY_ROW(b, i)[j];
    ferry_e(ctx)->chol_solve(ctx, w->a, t);
    for (int64_t i = 0; i < b->rows; i++)
        for (int64_t j = 0; j < b->k; j++)
            FERRY_ROW(b, i)[j] = FERRY_AT(t, i, j);
done:
    ferry_i_free(t);
    return st;
}

/* A <- A'A and wt <- A'C, a piece of rows after the other. */
static ferry_status add_pieces(ferry_ctx *ctx, work *w, ferry_block *wt)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix *x = w->x;
    const int64_t d = x->cols, k = w->c->k, most = piece_rows(x);
    ferry_matrix *piece = NULL;
    ferry_small *part = NULL;

    FERRY_TRY(ferry_i_matrix_dense(ctx, most, d, &piece));
    FERRY_TRY(ferry_i_small_new(ctx, d, d, &part));
    for (int64_t i = 0; i < x->rows; i += most) {
        piece->rows = x->rows - i < most ? x->rows - i : most;
        piece->nnz = piece->rows * d;
        take_off(w->weight ? w->weight + i : NULL, piece->rows, d, x->dense + i * d, w->mx,
                 piece->dense);
        FERRY_TRY(ferry_e(ctx)->xtx(ctx, piece, part));
        for (int64_t e = 0; e < d * d; e++)
            w->a->data[e] += part->data[e];
        const ferry_block c = {piece->rows, k, w->c->data + i * k};
        FERRY_TRY(ferry_e(ctx)->tmul(ctx, 1, piece, &c, i > 0, wt));
    }
    FERRY_TRY(ferry_i_sum_rows(ctx, x, d * d, w->a->data));
    FERRY_TRY(ferry_i_sum_rows(ctx, x, d * k, wt->data));
done:
    ferry_i_free(part);
    ferry_i_matrix_free(piece);
    return st;
}

/* d <= n. */
static ferry_status primal(ferry_ctx *ctx, work *w, ferry_block *wt)
{
    ferry_status st = FERRY_OK;
    const int64_t d = w->x->cols;
    const double n = (double)ferry_i_all_rows(w->x);

    FERRY_TRY(ferry_i_small_new(ctx, d, d, &w->a));
    if (in_pieces(w->x)) {
        FERRY_TRY(add_pieces(ctx, w, wt));
    } else {
        FERRY_TRY(ferry_e(ctx)->xtx(ctx, w->x, w->a));
        for (int64_t j = 0; j < d; j++)
            for (int64_t i = 0; i < d; i++)
                FERRY_AT(w->a, i, j) -= n * w->left[i] * w->left[j];
        FERRY_TRY(ferry_e(ctx)->tmul(ctx, 1, w->x, w->c, 0, wt));
    }
    FERRY_TRY(solve(ctx, w, wt));
done:
    return st;
}

/* n < d. C becomes V on the way. */
static ferry_status dual(ferry_ctx *ctx, work *w, ferry_block *wt)
{
    ferry_status st = FERRY_OK;
    const int64_t n = w->x->rows, d = w->x->cols;
    ferry_block m = {d, 1, w->left};
    ferry_block *s = NULL;
    double mm = 0;

    FERRY_TRY(ferry_i_small_new(ctx, n, n, &w->a));
    FERRY_TRY(ferry_i_block_new(ctx, n, 1, &s));
    ferry_e(ctx)->xxt(ctx, w->x, w->a);
    ferry_e(ctx)->mul(ctx, 1, w->x, &m, 0, s);
    mm = ferry_e(ctx)->dot(ctx, &m, &m);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            FERRY_AT(w->a, i, j) += mm - s->data[i] - s->data[j];
    FERRY_TRY(solve(ctx, w, w->c));
    /* A'V = X'V - m (1'V), and 1'V = 0: lambda 1'V = 1'C - (1'A) A'V = 0. */
    FERRY_TRY(ferry_e(ctx)->tmul(ctx, 1, w->x, w->c, 0, wt));
done:
    ferry_i_free(s);
    return st;
}

ferry_status ferry_i_ridge_fit(ferry_ctx *ctx, const ferry_matrix *x, const ferry_block *y,
                               double lambda, double **w)
{
    return ferry_i_ridge_fit_weighted(ctx, x, y, NULL, lambda, w);
}

/* O(n d min(n, d) + min(n, d)^3). lambda may be 0 where A'A is well conditioned; else
 * factor() says so. */
ferry_status ferry_i_ridge_fit_weighted(ferry_ctx *ctx, const ferry_matrix *x,
                                        const ferry_block *y, const double *weight,
                                        double lambda, double **w)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_all_rows(x), d = x->cols, k = y->k;
    /* rows of one rank do not meet those of another */
    const bool by_features = d <= n || x->whole;
    work job = {.lambda = lambda, .weight = weight};
    ferry_block *wt = NULL;
    double *result = NULL;

    *w = NULL;
    FERRY_NEED(ctx, n > 0, FERRY_ENEEDS, "no labelled instances to learn from");
    FERRY_NEED(ctx, (n <= MOST && !x->whole) || d <= MOST, FERRY_ENEEDS,
               "ridge needs at most %d instances%s or %d features; there are %lld and %lld",
               MOST, x->whole ? " (not with --engine mpi)" : "", MOST, (long long)n,
               (long long)d);
    FERRY_NEED(ctx, !weight || x->dense, FERRY_EINVAL, "ridge weighs dense rows only");
    FERRY_TRY(ferry_i_block_new(ctx, d, k, &wt));
    FERRY_NEW(ctx, result, k * (d + 1));
    FERRY_TRY(centre_x(ctx, x, &job));
    FERRY_TRY(centre_y(ctx, y, &job));
    FERRY_TRY(by_features ? primal(ctx, &job, wt) : dual(ctx, &job, wt));
    for (int64_t c = 0; c < k; c++) {
        double *row = result + c * (d + 1);
        /* b_c = mean of y_c - W_c m */
        row[d] = job.my[c];
        for (int64_t f = 0; f < d; f++) {
            row[f] = FERRY_ROW(wt, f)[c];
            row[d] -= row[f] * job.mx[f];
        }
    }
    FERRY_MOVE(*w, result);
done:
    FERRY_FREE(result, wt);
    work_clear(&job);
    return st;
}
