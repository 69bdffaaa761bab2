/* CoCA: views over the instances of a domain, centred, scaled, compressed. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "learn/rows.h"
#include "methods/coca/coca.h"

enum { PANEL = 64 }; /* columns whose shift is taken out at once */

void ferry_i_coca_view_free(coca_view *v)
{
    if (!v) return;
    ferry_i_matrix_free(v->x);
    ferry_i_matrix_free(v->xt);
    ferry_i_free(v->shift);
    ferry_i_free(v->present);
    ferry_i_free(v->mean);
    ferry_i_free(v->scale);
    ferry_i_block_free(v->q);
    ferry_i_free(v);
}

static ferry_status take_rows(ferry_ctx *ctx, const ferry_matrix *x, int64_t m,
                              const int64_t *row_of, coca_view *v)
{
    ferry_status st = FERRY_OK;
    int64_t *rows = ferry_i_calloc(m, sizeof *rows);

    FERRY_HAVE(ctx, rows);
    for (int64_t i = 0; i < m; i++) {
        rows[i] = row_of ? row_of[i] : i;
        v->rows += rows[i] >= 0;
    }
    if (v->rows < m) {
        FERRY_NEW(ctx, v->present, m);
        for (int64_t i = 0; i < m; i++)
            v->present[i] = rows[i] >= 0;
    }
    /* A copy: its cells are changed below. */
    FERRY_TRY(ferry_i_matrix_take(ctx, x, m, rows, x->cols, NULL, &v->x));
done:
    ferry_i_free(rows);
    return st;
}

ferry_status ferry_i_coca_view_new(ferry_ctx *ctx, const ferry_matrix *x, int64_t m,
                                   const int64_t *row_of, coca_view **out)
{
    ferry_status st = FERRY_OK;
    coca_view *v = ferry_i_calloc(1, sizeof *v);

    *out = NULL;
    FERRY_HAVE(ctx, v);
    v->cols = v->features = x->cols;
    FERRY_TRY(take_rows(ctx, x, m, row_of, v));
    v->mean = ferry_i_calloc(x->cols, sizeof *v->mean);
    v->scale = ferry_i_calloc(x->cols, sizeof *v->scale);
    if (!x->dense) v->shift = ferry_i_calloc(x->cols, sizeof *v->shift);
    FERRY_HAVE(ctx, v->mean && v->scale && (x->dense || v->shift));
    *out = v;
    v = NULL;
done:
    ferry_i_coca_view_free(v);
    return st;
}

/* ---- centring and scaling ---- */

static bool has_row(const coca_view *v, int64_t i)
{
    return !v->present || v->present[i] > 0;
}

/* mean_j over the cells that are there; a cell that CSR does not store is 0. */
static ferry_status fit_means(ferry_ctx *ctx, coca_view *v)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix *x = v->x;
    const double *value = row_values(x);
    int64_t *missing = ferry_i_calloc(x->cols, sizeof *missing);

    FERRY_HAVE(ctx, missing);
    for (int64_t i = 0; i < x->rows; i++) {
        if (!has_row(v, i)) continue;
        for (int64_t e = row_begin(x, i); e < row_end(x, i); e++) {
            const int64_t j = row_column(x, i, e);
            if (isnan(value[e]))
                missing[j]++;
            else
                v->mean[j] += value[e];
        }
    }
    for (int64_t j = 0; j < x->cols; j++) {
        const int64_t there = v->rows - missing[j];
        v->mean[j] = there > 0 ? v->mean[j] / (double)there : 0;
        FERRY_NEED(ctx, isfinite(v->mean[j]), FERRY_ENUMERIC,
                   "feature %lld: the values are too large to add up", (long long)(j + 1));
    }
done:
    ferry_i_free(missing);
    return st;
}

/* square_j <- sum over instances of (x_ij - mean_j)^2; stored is scratch. */
static void column_squares(const coca_view *v, int64_t *stored, double *square)
{
    const ferry_matrix *x = v->x;
    const double *value = row_values(x);

    for (int64_t i = 0; i < x->rows; i++) {
        if (!has_row(v, i)) continue;
        for (int64_t e = row_begin(x, i); e < row_end(x, i); e++) {
            const int64_t j = row_column(x, i, e);
            const double c = isnan(value[e]) ? 0 : value[e] - v->mean[j];
            square[j] += c * c;
            stored[j]++;
        }
    }
    for (int64_t j = 0; j < x->cols; j++)
        square[j] += (double)(v->rows - stored[j]) * v->mean[j] * v->mean[j];
}

/* scale_j: the standard deviation (1 for a constant feature) or 1, then |X_j|_F / sqrt(m)
 * over all (1 for a view that is all constant). */
static ferry_status fit_scales(ferry_ctx *ctx, coca_view *v, bool feature, bool frob)
{
    ferry_status st = FERRY_OK;
    const int64_t d = v->x->cols;
    const double n = v->rows > 0 ? (double)v->rows : 1;
    int64_t *stored = ferry_i_calloc(d, sizeof *stored);
    double *square = ferry_i_calloc(d, sizeof *square), sum = 0;

    FERRY_HAVE(ctx, stored && square);
    column_squares(v, stored, square);
    for (int64_t j = 0; j < d; j++) {
        double sd = sqrt(square[j] / n);
        /* A constant column has a deviation of rounding size, not of 0. */
        const bool constant = !(sd > 1e-13 * fabs(v->mean[j]) && sd > DBL_MIN);
        if (constant) sd = 0;
        v->scale[j] = feature && !constant ? sd : 1;
        sum += sd / v->scale[j] * (sd / v->scale[j]);
    }
    const double whole = frob && sum > 0 ? sqrt(sum) : 1;
    FERRY_NEED(ctx, isfinite(sum), FERRY_ENUMERIC,
               "a view's values are too large to scale");
    for (int64_t j = 0; j < d; j++)
        v->scale[j] *= whole;
done:
    ferry_i_free(stored);
    ferry_i_free(square);
    return st;
}

/* Cells become (x - mean) / scale, in a sparse view x / scale. */
static void rewrite(coca_view *v)
{
    const ferry_matrix *x = v->x;
    double *value = row_values(x);

    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t e = row_begin(x, i); e < row_end(x, i); e++) {
            const int64_t j = row_column(x, i, e);
            const double cell = isnan(value[e]) || !has_row(v, i) ? v->mean[j] : value[e];
            value[e] = (cell - (v->shift ? 0 : v->mean[j])) / v->scale[j];
        }
    }
    for (int64_t j = 0; v->shift && j < x->cols; j++)
        v->shift[j] = v->mean[j] / v->scale[j];
}

/* y <- X'X u or X X'u, whichever is smaller. */
typedef struct squared {
    const coca_view *v;
    ferry_block *t;
    bool wide;
} squared;

static ferry_status apply_squared(ferry_ctx *ctx, void *arg, const ferry_block *u,
                                  ferry_block *y)
{
    ferry_status st = FERRY_OK;
    const squared *s = arg;
    ferry_block *t = s->t;

    if (t->k != u->k) { /* the solver may ask for all unit vectors at once */
        FERRY_TRY(ferry_i_block_new(ctx, s->t->rows, u->k, &t));
    }
    if (s->wide) {
        FERRY_TRY(ferry_i_coca_tmul(ctx, s->v, u, t));
        ferry_i_coca_mul(ctx, s->v, t, y);
    } else {
        ferry_i_coca_mul(ctx, s->v, u, t);
        FERRY_TRY(ferry_i_coca_tmul(ctx, s->v, t, y));
    }
done:
    if (t != s->t) ferry_i_block_free(t);
    return st;
}

/* Divide by the spectral norm / sqrt(m), on top of what scale holds. */
static ferry_status scale_spectral(ferry_ctx *ctx, coca_view *v)
{
    ferry_status st = FERRY_OK;
    const bool wide = v->cols > v->x->rows;
    const int64_t size = wide ? v->x->rows : v->cols;
    squared s = {.v = v, .wide = wide};
    ferry_block *vector = NULL;
    double largest = 0;

    if (size == 0 || v->rows == 0) goto done;
    FERRY_TRY(ferry_i_block_new(ctx, wide ? v->cols : v->x->rows, 1, &s.t));
    FERRY_TRY(ferry_i_block_new(ctx, size, 1, &vector));
    FERRY_TRY(ferry_e(ctx)->eigs(ctx, size, apply_squared, &s, 1, 0, &largest, vector));
    const double norm = sqrt(fmax(largest, 0) / (double)v->rows);
    if (!(norm > DBL_MIN)) goto done;
    for (int64_t e = 0; e < v->x->nnz; e++)
        row_values(v->x)[e] /= norm;
    for (int64_t j = 0; j < v->cols; j++) {
        v->scale[j] *= norm;
        if (v->shift) v->shift[j] /= norm;
    }
done:
    ferry_i_block_free(s.t);
    ferry_i_block_free(vector);
    return st;
}

ferry_status ferry_i_coca_view_fit(ferry_ctx *ctx, coca_view *v, coca_scaling scaling)
{
    ferry_status st = FERRY_OK;

    if (scaling == COCA_AUTO) scaling = v->shift ? COCA_FROB : COCA_FEATURE_FROB;
    const bool feature = scaling == COCA_FEATURE || scaling == COCA_FEATURE_FROB ||
                         scaling == COCA_FEATURE_SPECTRAL;
    FERRY_TRY(fit_means(ctx, v));
    FERRY_TRY(
        fit_scales(ctx, v, feature, scaling == COCA_FROB || scaling == COCA_FEATURE_FROB));
    rewrite(v);
    if (scaling == COCA_SPECTRAL || scaling == COCA_FEATURE_SPECTRAL)
        FERRY_TRY(scale_spectral(ctx, v));
done:
    return st;
}

void ferry_i_coca_view_apply(coca_view *v, const double *mean, const double *scale)
{
    memcpy(v->mean, mean, (size_t)v->features * sizeof *mean);
    memcpy(v->scale, scale, (size_t)v->features * sizeof *scale);
    rewrite(v);
}

ferry_status ferry_i_coca_view_transpose(ferry_ctx *ctx, coca_view *v)
{
    return ferry_i_matrix_transpose(ctx, v->x, &v->xt);
}

/* ---- products ---- */

/* c <- shift'u of the n columns from `at` on. */
static void shift_of(const coca_view *v, const ferry_block *u, int64_t at, int64_t n,
                     double *c)
{
    memset(c, 0, (size_t)n * sizeof *c);
    for (int64_t j = 0; j < u->rows; j++)
        for (int64_t l = 0; l < n; l++)
            c[l] += v->shift[j] * FERRY_ROW(u, j)[at + l];
}

/* t <- x u - present (shift'u). */
void ferry_i_coca_mul(ferry_ctx *ctx, const coca_view *v, const ferry_block *u,
                      ferry_block *t)
{
    double c[PANEL];

    ferry_e(ctx)->mul(ctx, 1, v->x, u, 0, t);
    for (int64_t at = 0; v->shift && at < u->k; at += PANEL) {
        const int64_t n = u->k - at < PANEL ? u->k - at : PANEL;
        shift_of(v, u, at, n, c);
        for (int64_t i = 0; i < t->rows; i++) {
            if (!has_row(v, i)) continue;
            for (int64_t l = 0; l < n; l++)
                FERRY_ROW(t, i)[at + l] -= c[l];
        }
    }
}

/* y <- x'r - shift (present'r). */
ferry_status ferry_i_coca_tmul(ferry_ctx *ctx, const coca_view *v, const ferry_block *r,
                               ferry_block *y)
{
    ferry_status st = FERRY_OK;
    double c[PANEL];

    if (v->xt)
        ferry_e(ctx)->mul(ctx, 1, v->xt, r, 0, y);
    else
        FERRY_TRY(ferry_e(ctx)->tmul(ctx, 1, v->x, r, 0, y));
    for (int64_t at = 0; v->shift && at < r->k; at += PANEL) {
        const int64_t n = r->k - at < PANEL ? r->k - at : PANEL;
        memset(c, 0, sizeof c);
        for (int64_t i = 0; i < r->rows; i++) {
            if (!has_row(v, i)) continue;
            for (int64_t l = 0; l < n; l++)
                c[l] += FERRY_ROW(r, i)[at + l];
        }
        for (int64_t j = 0; j < y->rows; j++)
            for (int64_t l = 0; l < n; l++)
                FERRY_ROW(y, j)[at + l] -= v->shift[j] * c[l];
    }
done:
    return st;
}

/* ---- compression ---- */

/* g <- X X', of a sparse view from x x' with the shift taken out of rows and columns. */
static ferry_status gram(ferry_ctx *ctx, const coca_view *v, ferry_small *g)
{
    ferry_status st = FERRY_OK;
    const int64_t m = g->rows;
    ferry_block *xs = NULL;
    double ss = 0;

    ferry_e(ctx)->xxt(ctx, v->x, g);
    if (!v->shift) goto done;
    const ferry_block shift = {v->cols, 1, v->shift};
    FERRY_TRY(ferry_i_block_new(ctx, m, 1, &xs));
    ferry_e(ctx)->mul(ctx, 1, v->x, &shift, 0, xs);
    for (int64_t j = 0; j < v->cols; j++)
        ss += v->shift[j] * v->shift[j];
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < m; i++) {
            const double pi = has_row(v, i), pj = has_row(v, j);
            FERRY_AT(g, i, j) += pi * pj * ss - pj * xs->data[i] - pi * xs->data[j];
        }
done:
    ferry_i_block_free(xs);
    return st;
}

/* From G = V diag(l) V' keep l > 0: R = V sqrt(l), Q = X'V / sqrt(l). */
ferry_status ferry_i_coca_view_compress(ferry_ctx *ctx, coca_view *v)
{
    ferry_status st = FERRY_OK;
    const int64_t m = v->x->rows;
    ferry_small *g = NULL;
    ferry_block *left = NULL;
    ferry_matrix *r = NULL;
    double *l = ferry_i_calloc(m, sizeof *l);
    int64_t rank = 0;

    FERRY_HAVE(ctx, l);
    FERRY_TRY(ferry_i_small_new(ctx, m, m, &g));
    FERRY_TRY(gram(ctx, v, g));
    FERRY_TRY(ferry_e(ctx)->eigh(ctx, g, l));
    while (rank < m && l[m - 1 - rank] > 1e-13 * l[m - 1])
        rank++;
    FERRY_TRY(ferry_i_block_new(ctx, m, rank, &left));
    FERRY_TRY(ferry_i_matrix_dense(ctx, m, rank, &r));
    FERRY_TRY(ferry_i_block_new(ctx, v->cols, rank, &v->q));
    for (int64_t c = 0; c < rank; c++) {
        const double root = sqrt(l[m - 1 - c]);
        for (int64_t i = 0; i < m; i++) {
            FERRY_ROW(left, i)[c] = FERRY_AT(g, i, m - 1 - c) / root;
            r->dense[i * rank + c] = FERRY_AT(g, i, m - 1 - c) * root;
        }
    }
    FERRY_TRY(ferry_i_coca_tmul(ctx, v, left, v->q));
    ferry_i_matrix_free(v->x);
    v->x = r;
    r = NULL;
    ferry_i_free(v->shift);
    v->shift = NULL;
    v->cols = rank;
done:
    ferry_i_matrix_free(r);
    ferry_i_block_free(left);
    ferry_i_small_free(g);
    ferry_i_free(l);
    return st;
}
