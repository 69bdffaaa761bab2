/* Settling of views that are not words: a mixture of round Gaussians with one variance.
 *
 *   z        = the rows less their mean, on the q principal axes that hold 90 % of the
 *              variance, 1 <= q <= min(n / 4, d)
 *   pi_k     = mean_i G_ik,  mu_k = sum_i G_ik z_i / sum_i G_ik
 *   v        = (sum |z_i|^2 - sum_k n_k |mu_k|^2) / (n q)
 *   G_ik     = softmax_k( log pi_k + (z_i'mu_k - |mu_k|^2 / 2) / v )
 *
 * EM from the carried labels, known ones stay. With one variance the classes are linear in x:
 * what is learned is kept as the mixture of words is (settle.h), l = V mu / v.
 *
 * The axes come from the smaller of X X' and X'X, centred there, so that a sparse X stays
 * sparse; where both have more than MOST_DENSE rows the first MOST_AXES by Lanczos. Ranks that have their own rows each
 * bring the few that X X' is made of together. */
#include <math.h>
#include <string.h>

#include "methods/ttl/settle.h"

enum { MOST_DENSE = 2000, MOST_AXES = 200, STEPS = 50 };
static const double SHARE = 0.9, MOVED = 1e-3;

void ferry_i_axes_clear(ttl_axes *a)
{
    FERRY_FREE(a->v, a->z, a->mean);
    *a = (ttl_axes){0};
}

/* S less the means of its columns, then of its rows: X X' of centred rows; or X'X - n m m'. */
static void centre_gram(bool by_rows, int64_t n, const double *mean, ferry_small *s)
{
    const int64_t m = s->rows;

    for (int64_t j = 0; !by_rows && j < m; j++)
        for (int64_t i = 0; i < m; i++)
            FERRY_AT(s, i, j) -= (double)n * mean[i] * mean[j];
    for (int64_t pass = 0; by_rows && pass < 2; pass++)
        for (int64_t j = 0; j < m; j++) {
            const int64_t at = pass ? j : j * m, step = pass ? m : 1;
            double sum = 0;
            for (int64_t i = 0; i < m; i++)
                sum += s->data[at + i * step];
            for (int64_t i = 0; i < m; i++)
                s->data[at + i * step] -= sum / (double)m;
        }
}

/* How many of the m eigenvalues (descending) hold SHARE of `total`. */
static int64_t enough(int64_t m, const double *value, double total)
{
    double sum = 0;

    for (int64_t k = 0; k < m; k++)
        if ((sum += fmax(value[k], 0)) >= SHARE * total) return k + 1;
    return m;
}

static bool is_wide(const ferry_matrix *x)
{
    return ferry_i_all_rows(x) <= x->cols;
}

/* S <- X X', which takes the rows of all ranks. */
static ferry_status rows_gram(ferry_ctx *ctx, const ferry_matrix *x, ferry_small *s)
{
    ferry_matrix *all = NULL;
    ferry_status st = FERRY_OK;

    if (x->whole) FERRY_TRY(ferry_i_matrix_collect(ctx, x, &all));
    ferry_e(ctx)->xxt(ctx, all ? all : x, s);
done:
    ferry_i_matrix_free(all);
    return st;
}

/* All eigenvectors of the smaller product; the first of them to u, of X X' the part that belongs to the rows here. */
static ferry_status by_gram(ferry_ctx *ctx, const ferry_matrix *x, const double *mean,
                            int64_t most, ferry_block **u, double *value)
{
    ferry_status st = FERRY_OK;
    const bool by_rows = is_wide(x);
    const int64_t m = by_rows ? ferry_i_all_rows(x) : x->cols;
    ferry_small *s = NULL;
    double *w = NULL, total = 0;
    int64_t first = 0;

    FERRY_NEW(ctx, w, m);
    FERRY_TRY(ferry_i_small_new(ctx, m, m, &s));
    if (by_rows) FERRY_TRY(ferry_i_first_row(ctx, x, &first));
    FERRY_TRY((by_rows ? rows_gram : ferry_e(ctx)->xtx)(ctx, x, s));
    centre_gram(by_rows, ferry_i_all_rows(x), mean, s);
    FERRY_TRY(ferry_e(ctx)->eigh(ctx, s, w));
    for (int64_t k = 0; k < m; k++)
        total += fmax(w[k], 0);
    for (int64_t k = 0; k < most; k++)
        value[k] = w[m - 1 - k];
    FERRY_TRY(ferry_i_block_new(ctx, by_rows ? x->rows : m, enough(most, value, total), u));
    for (int64_t i = 0; i < (*u)->rows; i++)
        for (int64_t k = 0; k < (*u)->k; k++)
            FERRY_ROW(*u, i)[k] = FERRY_AT(s, first + i, m - 1 - k);
done:
    FERRY_FREE(s, w);
    return st;
}

typedef struct centred {
    const ferry_matrix *x;
    const double *mean;
} centred;

/* y <- X'X u - n m m'u. */
static ferry_status centred_mul(ferry_ctx *ctx, void *arg, const ferry_block *u,
                                ferry_block *y)
{
    ferry_status st = FERRY_OK;
    const centred *c = arg;
    ferry_block *t = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, c->x->rows, u->k, &t));
    ferry_e(ctx)->mul(ctx, 1, c->x, u, 0, t);
    for (int64_t k = 0; k < u->k; k++) {
        double dot = 0;
        for (int64_t j = 0; j < u->rows; j++)
            dot += c->mean[j] * FERRY_ROW(u, j)[k];
        for (int64_t i = 0; i < t->rows; i++)
            FERRY_ROW(t, i)[k] -= dot;
    }
    FERRY_TRY(ferry_e(ctx)->tmul(ctx, 1, c->x, t, 0, y));
done:
    ferry_i_free(t);
    return st;
}

/* The first of the axes of a space that is large both ways. */
static ferry_status by_lanczos(ferry_ctx *ctx, const ferry_matrix *x, const double *mean,
                               int64_t most, ferry_block **u, double *value)
{
    ferry_status st = FERRY_OK;
    centred c = {x, mean};
    ferry_block *all = NULL;
    double total = ferry_i_matrix_norm2(x);

    FERRY_TRY(ferry_i_sum_rows(ctx, x, 1, &total));
    for (int64_t j = 0; j < x->cols; j++)
        total -= (double)ferry_i_all_rows(x) * mean[j] * mean[j];
    FERRY_TRY(ferry_i_block_new(ctx, x->cols, most, &all));
    FERRY_TRY(ferry_e(ctx)->eigs(ctx, x->cols, centred_mul, &c, most, 1e-8, value, all));
    FERRY_TRY(ferry_i_block_new(ctx, x->cols, enough(most, value, total), u));
    for (int64_t j = 0; j < x->cols; j++)
        memcpy(FERRY_ROW(*u, j), FERRY_ROW(all, j), (size_t)(*u)->k * sizeof(double));
done:
    ferry_i_free(all);
    return st;
}

/* V and Z of eigenvectors u of X'X (d rows) or X X' (n rows, V = X'U / s, Z = U s). */
static ferry_status place_rows(ferry_ctx *ctx, const ferry_matrix *x, bool by_rows,
                               ferry_block *u, const double *value, ttl_axes *a)
{
    ferry_block **fill = by_rows ? &a->v : &a->z;

    if (by_rows)
        a->z = u;
    else
        a->v = u;
    FERRY_PASS(ferry_i_block_new(ctx, by_rows ? x->cols : x->rows, u->k, fill));
    if (by_rows)
        FERRY_PASS(ferry_e(ctx)->tmul(ctx, 1, x, u, 0, a->v));
    else
        ferry_e(ctx)->mul(ctx, 1, x, u, 0, a->z);
    for (int64_t k = 0; k < u->k; k++) {
        const double s = sqrt(fmax(value[k], 0));
        double dot = 0;
        for (int64_t j = 0; by_rows && j < x->cols; j++)
            FERRY_ROW(a->v, j)[k] = s > 0 ? FERRY_ROW(a->v, j)[k] / s : 0;
        for (int64_t j = 0; !by_rows && j < x->cols; j++)
            dot += a->mean[j] * FERRY_ROW(u, j)[k];
        for (int64_t i = 0; i < x->rows; i++)
            FERRY_ROW(a->z, i)[k] = FERRY_ROW(a->z, i)[k] * (by_rows ? s : 1) - dot;
    }
    return FERRY_OK;
}

ferry_status ferry_i_axes(ferry_ctx *ctx, const ferry_matrix *given, ttl_axes *out)
{
    ferry_status st = FERRY_OK;
    const int64_t n = ferry_i_all_rows(given), d = given->cols, side = n < d ? n : d;
    const bool gram = side <= MOST_DENSE;
    int64_t most = n / 4 < d ? n / 4 : d;
    double nnz = (double)given->nnz;
    ferry_matrix *full = NULL;
    ferry_block *u = NULL;
    double *value = NULL;

    *out = (ttl_axes){.x = given};
    if (most < 1) most = 1;
    if (!gram && most > MOST_AXES) most = MOST_AXES;
    FERRY_NEW(ctx, value, most);
    FERRY_NEW(ctx, out->mean, d);
    /* CSR that is full costs many times a dense product */
    FERRY_TRY(ferry_i_sum_rows(ctx, given, 1, &nnz));
    if (!given->dense && nnz > (double)(n * d / 10))
        FERRY_TRY(ferry_i_matrix_densify(ctx, given, &full));
    const ferry_matrix *x = full ? full : given;
    FERRY_TRY(ferry_e(ctx)->sums(ctx, x, FERRY_COLS, 1, out->mean));
    for (int64_t j = 0; j < d; j++)
        out->mean[j] /= (double)n;
    FERRY_TRY((gram ? by_gram : by_lanczos)(ctx, x, out->mean, most, &u, value));
    FERRY_TRY(place_rows(ctx, x, gram && n <= d, u, value, out));
    u = NULL;
done:
    if (out->v != u && out->z != u) ferry_i_free(u);
    ferry_i_matrix_free(full);
    ferry_i_free(value);
    if (st != FERRY_OK) ferry_i_axes_clear(out);
    return st;
}

/* ---- EM ---- */

/* S (q x c) <- mu / v and constant_k <- log pi_k - |mu_k|^2 / (2 v); `length`: sum |z|^2. */
static ferry_status m_step(ferry_ctx *ctx, const ttl_axes *a, const ferry_block *g,
                           double length, ferry_small *s, double *constant)
{
    const int64_t n = ferry_i_all_rows(a->x), q = a->z->k, c = g->k;
    double v = length;

    ferry_e(ctx)->gram(ctx, a->z, g, s);
    FERRY_PASS(ferry_i_sum_rows(ctx, a->x, q * c, s->data));
    ferry_e(ctx)->bsums(ctx, g, FERRY_COLS, 1, constant);
    FERRY_PASS(ferry_i_sum_rows(ctx, a->x, c, constant));
    for (int64_t k = 0; k < c; k++) {
        constant[k] = fmax(constant[k], 1e-9);
        for (int64_t j = 0; j < q; j++) {
            double *mu = &FERRY_AT(s, j, k);
            *mu /= constant[k];
            v -= constant[k] * *mu * *mu;
        }
    }
    v = fmax(v / (double)n / (double)q, 1e-12);
    for (int64_t k = 0; k < c; k++) {
        constant[k] = log(constant[k] / (double)n);
        for (int64_t j = 0; j < q; j++) {
            double *mu = &FERRY_AT(s, j, k);
            constant[k] -= 0.5 * *mu * *mu / v;
            *mu /= v;
        }
    }
    return FERRY_OK;
}

/* next <- the classes of all rows, known ones as they are; *moved: the largest change. */
static ferry_status e_step(ferry_ctx *ctx, const ttl_axes *a, const int32_t *known,
                           const ferry_small *s, const double *constant,
                           const ferry_block *g, ferry_block *next, double *moved)
{
    *moved = 0;
    ferry_e(ctx)->bmul(ctx, 1, a->z, s, false, 0, next);
    for (int64_t i = 0; i < g->rows; i++) {
        double *z = FERRY_ROW(next, i);
        (void)ferry_i_soften(g->k, constant, z);
        for (int64_t k = 0; k < g->k; k++) {
            if (known && known[i] >= 0) z[k] = (double)(k == known[i]);
            *moved = fmax(*moved, fabs(z[k] - FERRY_ROW(g, i)[k]));
        }
    }
    return ferry_i_most_rows(ctx, a->x, 1, moved);
}

/* The mixture on the columns of x: l = V S, constants less mean'l. */
static ferry_status as_mixture(ferry_ctx *ctx, const ttl_axes *a, const ferry_small *s,
                               const double *constant, ttl_mixture *out)
{
    ferry_status st = FERRY_OK;

    FERRY_TRY(ferry_i_block_new(ctx, a->v->rows, s->cols, &out->l));
    FERRY_NEW(ctx, out->log_pi, s->cols);
    ferry_e(ctx)->bmul(ctx, 1, a->v, s, false, 0, out->l);
    for (int64_t k = 0; k < s->cols; k++) {
        out->log_pi[k] = constant[k];
        for (int64_t j = 0; j < a->v->rows; j++)
            out->log_pi[k] -= a->mean[j] * FERRY_ROW(out->l, j)[k];
    }
done:
    return st;
}

ferry_status ferry_i_settle_dense(ferry_ctx *ctx, const ttl_axes *a, const int32_t *known,
                                  ferry_block *g, ttl_mixture *out)
{
    ferry_status st = FERRY_OK;
    double length = ferry_e(ctx)->dot(ctx, a->z, a->z);
    ferry_block *next = NULL;
    ferry_small *s = NULL;
    double *constant = NULL, moved = INFINITY;
    bool finish = false;

    FERRY_TRY(ferry_i_sum_rows(ctx, a->x, 1, &length));
    FERRY_TRY(ferry_i_block_new(ctx, g->rows, g->k, &next));
    FERRY_TRY(ferry_i_small_new(ctx, a->z->k, g->k, &s));
    FERRY_NEW(ctx, constant, g->k);
    for (int64_t i = 0; known && i < g->rows; i++)
        for (int64_t k = 0; known[i] >= 0 && k < g->k; k++)
            FERRY_ROW(g, i)[k] = (double)(k == known[i]);
    for (int64_t t = 0;
         ferry_i_all_rows(a->x) > 0 && t < STEPS && moved >= MOVED && !finish; t++) {
        FERRY_TRY(m_step(ctx, a, g, length, s, constant));
        FERRY_TRY(e_step(ctx, a, known, s, constant, g, next, &moved));
        ferry_i_block_copy(next, g);
        FERRY_TRY(ferry_i_progress(ctx, "settling", t + 1, STEPS, NAN, &finish));
    }
    if (out) FERRY_TRY(as_mixture(ctx, a, s, constant, out));
done:
    FERRY_FREE(next, s, constant);
    return st;
}
