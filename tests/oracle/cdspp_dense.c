/* CDSPP the slow and obvious way (cdspp_dense.h): A and B + alpha I are filled in from the
 * definition of their entries and handed to a general solver. */
#include "cdspp_dense.h"

#include "learn/rows.h"

/* X (rows x cols), whatever its storage, as a plain array. */
static double *plain(const ferry_matrix *x)
{
    double *out = ferry_i_calloc(x->rows * x->cols, sizeof *out);

    for (int64_t i = 0; out && i < x->rows; i++)
        for (int64_t e = row_begin(x, i); e < row_end(x, i); e++)
            out[i * x->cols + row_column(x, i, e)] = row_values(x)[e];
    return out;
}

/* x <- L^-1 x, or L^-T x. */
static void solve(const ferry_small *l, bool turned, double *x)
{
    for (int64_t step = 0; step < l->rows; step++) {
        const int64_t i = turned ? l->rows - 1 - step : step;
        for (int64_t j = turned ? i + 1 : 0; j < (turned ? l->rows : i); j++)
            x[i] -= (turned ? FERRY_AT(l, j, i) : FERRY_AT(l, i, j)) * x[j];
        x[i] /= FERRY_AT(l, i, i);
    }
}

/* A x = w B x, B positive definite; A <- X with X'BX = I, w ascending; B is destroyed.
 * With B = L L': C = L^-1 A L^-T, C = Q diag(w) Q', X = L^-T Q. */
static ferry_status eigh2(ferry_ctx *ctx, ferry_small *a, ferry_small *b, double *w)
{
    ferry_status st = FERRY_OK;
    const int64_t n = a->rows;

    FERRY_TRY(ferry_e(ctx)->chol(ctx, b));
    for (int pass = 0; pass < 2; pass++) { /* L^-1 on the left of A, then of (L^-1 A)' */
        for (int64_t j = 0; j < n; j++)
            solve(b, false, a->data + j * n);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < i; j++) {
                const double t = FERRY_AT(a, i, j);
                FERRY_AT(a, i, j) = pass == 0 ? FERRY_AT(a, j, i) : t;
                FERRY_AT(a, j, i) = t; /* the last rounding must not break symmetry */
            }
    }
    FERRY_TRY(ferry_e(ctx)->eigh(ctx, a, w));
    for (int64_t j = 0; j < n; j++) {
        solve(b, true, a->data + j * n);
        ferry_i_fix_sign(n, a->data + j * n, 1);
    }
done:
    return st;
}

static int64_t count(int64_t n, const int32_t *y, int32_t k)
{
    int64_t c = 0;

    for (int64_t i = 0; i < n; i++)
        c += y[i] == k;
    return c;
}

/* b <- X' L X at [from, from + d), L_ij = [i = j] (own + other / 2) - [y_i = y_j]. */
static void within(const cdspp_side *s, const cdspp_side *o, const double *x, int64_t from,
                   ferry_small *b)
{
    const int64_t n = s->x->rows, d = s->x->cols;

    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double l = s->y[i] == s->y[j] ? -1 : 0;
            if (i == j)
                l += (double)count(n, s->y, s->y[i]) +
                     0.5 * (double)count(o->x->rows, o->y, s->y[i]);
            for (int64_t r = 0; l != 0 && r < d; r++)
                for (int64_t c = 0; c < d; c++)
                    FERRY_AT(b, from + r, from + c) += l * x[i * d + r] * x[j * d + c];
        }
}

/* The eigenvectors of the largest eigenvalues, cut into Ps and Pt, signs as agreed. */
static ferry_status leading(ferry_ctx *ctx, const ferry_small *a, const double *w,
                            int64_t ds, cdspp *out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = a->rows;

    FERRY_TRY(ferry_i_block_new(ctx, ds, out->rank, &out->ps));
    FERRY_TRY(ferry_i_block_new(ctx, n - ds, out->rank, &out->pt));
    for (int64_t c = 0; c < out->rank; c++) {
        out->lambda[c] = w[n - 1 - c];
        for (int64_t i = 0; i < n; i++)
            (i < ds ? FERRY_ROW(out->ps, i) : FERRY_ROW(out->pt, i - ds))[c] =
                FERRY_AT(a, i, n - 1 - c);
        if (!ferry_i_fix_sign(n - ds, out->pt->data + c, out->rank)) continue;
        for (int64_t i = 0; i < ds; i++)
            FERRY_ROW(out->ps, i)[c] *= -1;
    }
done:
    return st;
}

ferry_status oracle_cdspp(ferry_ctx *ctx, const cdspp_problem *p, int64_t dims, cdspp *out)
{
    ferry_status st = FERRY_OK;
    const int64_t ds = p->s.x->cols, dt = p->t.x->cols, n = ds + dt;
    double *xs = plain(p->s.x), *xt = plain(p->t.x), *w = ferry_i_calloc(n, sizeof *w);
    ferry_small *a = NULL, *b = NULL;

    *out = (cdspp){0};
    FERRY_NEW(ctx, out->lambda, p->k);
    FERRY_HAVE(ctx, xs && xt && w);
    FERRY_TRY(ferry_i_small_new(ctx, n, n, &a));
    FERRY_TRY(ferry_i_small_new(ctx, n, n, &b));
    for (int64_t i = 0; i < p->s.x->rows; i++) /* Ms Mt': pairs of the same class */
        for (int64_t j = 0; j < p->t.x->rows; j++)
            for (int64_t r = 0; p->s.y[i] == p->t.y[j] && r < ds; r++)
                for (int64_t c = 0; c < dt; c++) {
                    FERRY_AT(a, r, ds + c) += xs[i * ds + r] * xt[j * dt + c];
                    FERRY_AT(a, ds + c, r) = FERRY_AT(a, r, ds + c);
                }
    within(&p->s, &p->t, xs, 0, b);
    within(&p->t, &p->s, xt, ds, b);
    for (int64_t i = 0; i < n; i++)
        FERRY_AT(b, i, i) += p->alpha;
    for (int32_t k = 0; k < p->k; k++)
        out->shared +=
            count(p->s.x->rows, p->s.y, k) > 0 && count(p->t.x->rows, p->t.y, k) > 0;
    FERRY_TRY(eigh2(ctx, a, b, w));
    while (out->rank < out->shared && out->rank < n &&
           w[n - 1 - out->rank] > 1e-10 * w[n - 1])
        out->rank++;
    if (dims > 0 && out->rank > dims) out->rank = dims;
    FERRY_TRY(leading(ctx, a, w, ds, out));
done:
    FERRY_FREE(xs, xt, w, a, b);
    if (st != FERRY_OK) plain_cdspp_clear(out);
    return st;
}
