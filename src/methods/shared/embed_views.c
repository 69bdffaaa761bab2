/* Views over the instances of a domain: centred, scaled, compressed (embedding.h). */
#include <float.h>
#include <math.h>
#include <string.h>

#include "learn/rows.h"
#include "methods/shared/embedding.h"

enum { COMPRESS_MOST = 2000 }; /* instances: the m x m eigenproblem takes seconds there */

void ferry_i_embed_view_free(embed_view *v)
{
    if (!v) return;
    ferry_i_centred_clear(&v->c);
    ferry_i_free(v->mean);
    ferry_i_free(v->scale);
    ferry_i_block_free(v->q);
    ferry_i_free(v);
}

ferry_status ferry_i_embed_view_new(ferry_ctx *ctx, const ferry_matrix *x, int64_t m,
                                    const int64_t *row_of, embed_view **out)
{
    ferry_status st = FERRY_OK;
    int64_t *rows = NULL;
    embed_view *v = NULL;

    *out = NULL;
    FERRY_NEW(ctx, v, 1);
    FERRY_NEW(ctx, rows, m);
    v->cols = v->features = x->cols;
    for (int64_t i = 0; i < m; i++) {
        rows[i] = row_of ? row_of[i] : i;
        v->rows += rows[i] >= 0;
    }
    if (v->rows < m) FERRY_NEW(ctx, v->c.present, m);
    for (int64_t i = 0; v->c.present && i < m; i++)
        v->c.present[i] = rows[i] >= 0;
    FERRY_TRY(ferry_i_matrix_take(ctx, x, m, rows, x->cols, NULL, &v->c.x));
    FERRY_NEW(ctx, v->mean, x->cols);
    FERRY_NEW(ctx, v->scale, x->cols);
    if (!x->dense) FERRY_NEW(ctx, v->c.shift, x->cols);
    *out = v;
    v = NULL;
done:
    ferry_i_free(rows);
    ferry_i_embed_view_free(v);
    return st;
}

/* ---- centring and scaling ---- */

/* mean_j over the cells that are there; a cell that CSR does not store is 0. */
static ferry_status fit_means(ferry_ctx *ctx, embed_view *v)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix *x = v->c.x;
    const double *value = row_values(x);
    int64_t *missing = NULL;

    FERRY_NEW(ctx, missing, x->cols);
    for (int64_t i = 0; i < x->rows; i++) {
        if (!ferry_i_centred_has(&v->c, i)) continue;
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

/* square_j <- sum over instances of (x_ij - mean_j)^2; a cell that is not stored gives
 * mean_j^2. `stored` is scratch. */
static void column_squares(const embed_view *v, int64_t *stored, double *square)
{
    const ferry_matrix *x = v->c.x;
    const double *value = row_values(x);

    for (int64_t i = 0; i < x->rows; i++) {
        if (!ferry_i_centred_has(&v->c, i)) continue;
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
static ferry_status fit_scales(ferry_ctx *ctx, embed_view *v, bool feature, bool frob)
{
    ferry_status st = FERRY_OK;
    const int64_t d = v->c.x->cols;
    const double n = v->rows > 0 ? (double)v->rows : 1;
    int64_t *stored = NULL;
    double *square = NULL, sum = 0;

    FERRY_NEW(ctx, stored, d);
    FERRY_NEW(ctx, square, d);
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

/* Cells become (x - mean) / scale, in a sparse view x / scale with shift = mean / scale. */
static void rewrite(embed_view *v)
{
    const ferry_matrix *x = v->c.x;
    double *value = row_values(x);

    for (int64_t i = 0; i < x->rows; i++) {
        const bool there = ferry_i_centred_has(&v->c, i);
        for (int64_t e = row_begin(x, i); e < row_end(x, i); e++) {
            const int64_t j = row_column(x, i, e);
            const double cell = isnan(value[e]) || !there ? v->mean[j] : value[e];
            value[e] = (cell - (v->c.shift ? 0 : v->mean[j])) / v->scale[j];
        }
    }
    for (int64_t j = 0; v->c.shift && j < x->cols; j++)
        v->c.shift[j] = v->mean[j] / v->scale[j];
}

/* X'X u, or X X'u, which has the same largest eigenvalue; t is what is in between. */
typedef struct squared {
    const ferry_centred *c;
    bool wide;
} squared;

static ferry_status apply_squared(ferry_ctx *ctx, void *arg, const ferry_block *u,
                                  ferry_block *y)
{
    ferry_status st = FERRY_OK;
    const squared *s = arg;
    ferry_block *t = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, s->wide ? s->c->x->cols : s->c->x->rows, u->k, &t));
    if (s->wide) {
        FERRY_TRY(ferry_i_centred_tmul(ctx, s->c, u, t));
        ferry_i_centred_mul(ctx, s->c, t, y);
    } else {
        ferry_i_centred_mul(ctx, s->c, u, t);
        FERRY_TRY(ferry_i_centred_tmul(ctx, s->c, t, y));
    }
done:
    ferry_i_block_free(t);
    return st;
}

/* Divide by the spectral norm / sqrt(m), on top of what scale holds. */
static ferry_status scale_spectral(ferry_ctx *ctx, embed_view *v)
{
    ferry_status st = FERRY_OK;
    squared s = {.c = &v->c, .wide = v->cols > v->c.x->rows};
    const int64_t size = s.wide ? v->c.x->rows : v->cols;
    ferry_block *vector = NULL;
    double largest = 0;

    if (size == 0 || v->rows == 0) goto done;
    FERRY_TRY(ferry_i_block_new(ctx, size, 1, &vector));
    FERRY_TRY(ferry_e(ctx)->eigs(ctx, size, apply_squared, &s, 1, 0, &largest, vector));
    const double norm = sqrt(fmax(largest, 0) / (double)v->rows);
    if (!(norm > DBL_MIN)) goto done;
    for (int64_t e = 0; e < v->c.x->nnz; e++)
        row_values(v->c.x)[e] /= norm;
    for (int64_t j = 0; j < v->cols; j++) {
        v->scale[j] *= norm;
        if (v->c.shift) v->c.shift[j] /= norm;
    }
done:
    ferry_i_block_free(vector);
    return st;
}

ferry_status ferry_i_embed_view_fit(ferry_ctx *ctx, embed_view *v, embed_scaling scaling)
{
    ferry_status st = FERRY_OK;

    if (scaling == EMBED_AUTO) scaling = v->c.shift ? EMBED_FROB : EMBED_FEATURE_FROB;
    const bool feature = scaling == EMBED_FEATURE || scaling == EMBED_FEATURE_FROB ||
                         scaling == EMBED_FEATURE_SPECTRAL;
    FERRY_TRY(fit_means(ctx, v));
    FERRY_TRY(fit_scales(ctx, v, feature,
                         scaling == EMBED_FROB || scaling == EMBED_FEATURE_FROB));
    rewrite(v);
    if (scaling == EMBED_SPECTRAL || scaling == EMBED_FEATURE_SPECTRAL)
        FERRY_TRY(scale_spectral(ctx, v));
done:
    return st;
}

void ferry_i_embed_view_apply(embed_view *v, const double *mean, const double *scale)
{
    memcpy(v->mean, mean, (size_t)v->features * sizeof *mean);
    memcpy(v->scale, scale, (size_t)v->features * sizeof *scale);
    rewrite(v);
}

/* ---- compression ---- */

/* With X X' = V diag(l) V' and l > 0 kept: R = V sqrt(l), Q = X'V / sqrt(l), R Q' = X. */
ferry_status ferry_i_embed_view_compress(ferry_ctx *ctx, embed_view *v)
{
    ferry_status st = FERRY_OK;
    const int64_t m = v->c.x->rows;
    ferry_small *g = NULL;
    ferry_block *left = NULL;
    ferry_matrix *r = NULL;
    double *l = NULL;
    int64_t rank = 0;

    FERRY_NEW(ctx, l, m);
    FERRY_TRY(ferry_i_small_new(ctx, m, m, &g));
    FERRY_TRY(ferry_i_centred_gram(ctx, &v->c, g));
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
    FERRY_TRY(ferry_i_centred_tmul(ctx, &v->c, left, v->q));
    ferry_i_matrix_free(v->c.x);
    v->c.x = r;
    r = NULL;
    ferry_i_free(v->c.shift);
    v->c.shift = NULL;
    v->cols = rank;
done:
    ferry_i_matrix_free(r);
    ferry_i_block_free(left);
    ferry_i_small_free(g);
    ferry_i_free(l);
    return st;
}

/* ---- the views of a domain ---- */

void ferry_i_embed_views_free(int64_t n, embed_view **views)
{
    for (int64_t j = 0; views && j < n; j++)
        ferry_i_embed_view_free(views[j]);
    ferry_i_free(views);
}

ferry_status ferry_i_embed_views(ferry_ctx *ctx, const ferry_domain *d,
                                 embed_scaling scaling, embed_view ***views)
{
    ferry_status st = FERRY_OK;
    const int64_t m = ferry_i_ids_count(d->ids);
    embed_view **x = NULL;

    *views = NULL;
    FERRY_NEW(ctx, x, d->n_views);
    for (int64_t j = 0; j < d->n_views; j++) {
        const ferry_view *v = d->views[j];
        FERRY_TRY(ferry_i_embed_view_new(ctx, v->x, m, v->row_of, &x[j]));
        st = ferry_i_embed_view_fit(ctx, x[j], scaling);
        if (st == FERRY_ENUMERIC) ferry_i_prefix(ctx, st, "view '%s'", v->name);
        FERRY_TRY(st);
        if (x[j]->cols > m && m <= COMPRESS_MOST)
            FERRY_TRY(ferry_i_embed_view_compress(ctx, x[j]));
        else if (!x[j]->c.x->dense) /* the solver multiplies by X_j' many times */
            FERRY_TRY(ferry_i_matrix_index(ctx, x[j]->c.x));
    }
    *views = x;
    x = NULL;
done:
    ferry_i_embed_views_free(d->n_views, x);
    return st;
}

/* Whether view j has two instances in common with another one. */
static bool shares(const ferry_domain *t, int64_t j)
{
    const ferry_view *v = t->views[j];

    for (int64_t h = 0; h < t->n_views; h++) {
        int64_t both = 0;
        for (int64_t i = 0; h != j && i < v->n_instances; i++)
            both += v->row_of[i] >= 0 && t->views[h]->row_of[i] >= 0;
        if (both >= 2) return true;
    }
    return false;
}

ferry_status ferry_i_embed_fits(ferry_ctx *ctx, const char *method, const ferry_domain *t,
                                int64_t d)
{
    ferry_status st = FERRY_OK;
    const int64_t m = ferry_i_ids_count(t->ids);
    int64_t size = 0;

    for (int64_t j = 0; j < t->n_views; j++) {
        const ferry_matrix *x = t->views[j]->x;
        size += x->cols < x->rows ? x->cols : x->rows;
        FERRY_NEED(ctx, t->n_views == 1 || shares(t, j), FERRY_ENEEDS,
                   "%s needs views with common ids; view '%s' of target '%s' shares fewer "
                   "than two instances with every other",
                   method, t->views[j]->name, t->name);
    }
    FERRY_NEED(ctx, t->n_views == 0 || d <= size, FERRY_ENEEDS,
               "%s: d = %lld, but the views of target '%s' have only %lld dimensions "
               "(features, or instances where those are fewer)",
               method, (long long)d, t->name, (long long)size);
    FERRY_NEED(ctx, t->n_views > 0 || d < m, FERRY_ENEEDS,
               "%s: d = %lld, but target '%s' has only %lld instances", method,
               (long long)d, t->name, (long long)m);
done:
    return st;
}
