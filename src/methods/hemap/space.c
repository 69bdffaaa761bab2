/* Mode ferry: both data sets in one space, tied by row pairs, classes or quantiles. A place
 * depends on the instance's own features only, so new instances have one. */
#include <math.h>
#include <string.h>

#include "methods/hemap/thesis.h"

void ferry_i_hemap_space_clear(hemap_space *s)
{
    ferry_i_free(s->w);
    ferry_i_matrix_free(s->rows);
    ferry_i_matrix_free(s->z);
    *s = (hemap_space){0};
}

void ferry_i_hemap_embedding_clear(hemap_embedding *e)
{
    ferry_i_hemap_space_clear(&e->space);
    ferry_i_block_free(e->zt);
    ferry_i_block_free(e->zs);
    ferry_i_free(e->strength);
    *e = (hemap_embedding){0};
}

/* ---- what ties the sets ---- */

/* Group of every row by class or quantile; target rows that are not known belong to
 * none. */
static ferry_status groups(ferry_ctx *ctx, const hemap_data *d, const uint8_t *known,
                           int32_t *gt, int32_t *gs, int64_t *n)
{
    ferry_status st = FERRY_OK;
    double *y = NULL;
    int64_t seen = 0;

    *n = d->k;
    if (d->yc) {
        for (int64_t i = 0; i < d->t->rows; i++)
            gt[i] = !known || known[i] ? d->yc[i] : -1;
        memcpy(gs, d->vc, (size_t)d->s->rows * sizeof *gs);
        goto done;
    }
    FERRY_NEW(ctx, y, d->t->rows);
    for (int64_t i = 0; i < d->t->rows; i++) {
        y[i] = !known || known[i] ? d->yn[i] : NAN;
        seen += !isnan(y[i]);
    }
    *n = d->o->bins;
    if (*n > seen) *n = seen;
    if (*n > d->n_taught) *n = d->n_taught;
    FERRY_TRY(ferry_i_hemap_quantiles(ctx, d->t->rows, y, *n, gt));
    FERRY_TRY(ferry_i_hemap_quantiles(ctx, d->s->rows, d->vn, *n, gs));
done:
    ferry_i_free(y);
    return st;
}

/* C in the principal axes; *ties: pairs or groups it comes from. */
static ferry_status cross(ferry_ctx *ctx, const hemap_data *d, const uint8_t *known,
                          ferry_small *c, int64_t *ties)
{
    ferry_status st = FERRY_OK;
    const ferry_block *yt = d->side_t.y, *ys = d->side_s.y;
    int32_t *gt = NULL, *gs = NULL;
    int64_t n = 0;

    *ties = d->n_pairs;
    if (d->n_pairs > 0)
        return ferry_i_hemap_cross_rows(ctx, yt, ys, d->n_pairs, d->pt, d->ps, c);
    if (d->yc && d->differ) goto done; /* class names that mean different things */
    FERRY_NEW(ctx, gt, yt->rows);
    FERRY_NEW(ctx, gs, ys->rows);
    FERRY_TRY(groups(ctx, d, known, gt, gs, &n));
    FERRY_TRY(ferry_i_hemap_cross_groups(ctx, yt, gt, ys, gs, n, c, ties));
    if (*ties < 2) *ties = 0; /* one group has no direction */
done:
    ferry_i_free(gt);
    ferry_i_free(gs);
    return st;
}

/* ---- solve ---- */

/* The thesis-like problem with C for T'S / N; both sets scaled to largest eigenvalue 1. */
static ferry_status solve_eig(ferry_ctx *ctx, const hemap_data *d, ferry_small *c,
                              int64_t k, double *strength, ferry_small *wt, ferry_small *ws)
{
    ferry_status st = FERRY_OK;
    const int64_t m = c->rows, n = c->cols;
    const double *lt = d->side_t.l, *ls = d->side_s.l;
    ferry_small *kt = NULL, *ks = NULL, *v = NULL;

    FERRY_TRY(ferry_i_small_new(ctx, m, m, &kt));
    FERRY_TRY(ferry_i_small_new(ctx, n, n, &ks));
    FERRY_TRY(ferry_i_small_new(ctx, m + n, k, &v));
    for (int64_t i = 0; i < m; i++)
        FERRY_AT(kt, i, i) = lt[i] / lt[0];
    for (int64_t i = 0; i < n; i++)
        FERRY_AT(ks, i, i) = ls[i] / ls[0];
    for (int64_t i = 0; i < m * n; i++)
        c->data[i] /= sqrt(lt[0] * ls[0]);
    FERRY_TRY(ferry_i_hemap_paired(ctx, kt, ks, c, d->o->beta, k, strength, v));
    for (int64_t j = 0; j < k; j++) {
        for (int64_t i = 0; i < m; i++)
            FERRY_AT(wt, i, j) = FERRY_AT(v, i, j);
        for (int64_t i = 0; i < n; i++)
            FERRY_AT(ws, i, j) = FERRY_AT(v, m + i, j);
    }
done:
    ferry_i_small_free(v);
    ferry_i_small_free(ks);
    ferry_i_small_free(kt);
    return st;
}

/* z <- Y W, columns to deviation `want` (0 where there is none); f: what each column was
 * multiplied by. */
static void project(ferry_ctx *ctx, const ferry_block *y, const ferry_small *w,
                    const double *want, ferry_block *z, double *f)
{
    ferry_e(ctx)->bmul(ctx, 1, y, w, false, 0, z);
    ferry_e(ctx)->bsums(ctx, z, FERRY_COLS, 2, f);
    for (int64_t j = 0; j < z->k; j++)
        f[j] = f[j] > 0 ? want[j] / sqrt(f[j] / (double)z->rows) : 0;
    ferry_e(ctx)->bscale(ctx, z, FERRY_COLS, f);
}

/* The affine map from prepared features: row j of w is f_j basis W_j, last - that .
 * mean. */
static ferry_status set_map(ferry_ctx *ctx, const hemap_side *s, const ferry_small *w,
                            const double *f, hemap_space *out)
{
    ferry_status st = FERRY_OK;
    const int64_t d = s->basis->rows, k = w->cols;
    ferry_block *b = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, d, k, &b));
    ferry_e(ctx)->bmul(ctx, 1, s->basis, w, false, 0, b);
    out->k = k;
    FERRY_NEW(ctx, out->w, k * (d + 1));
    for (int64_t j = 0; j < k; j++) {
        double *row = out->w + j * (d + 1);
        for (int64_t i = 0; i < d; i++) {
            row[i] = f[j] * FERRY_ROW(b, i)[j];
            row[d] -= row[i] * s->mean[i];
        }
    }
done:
    ferry_i_block_free(b);
    return st;
}

/* Dimensions whose correlation is not rounding error. */
static int64_t real_dimensions(int64_t k, const double *corr)
{
    int64_t n = 0;

    while (n < k && corr[n] > 0 && corr[n] >= 1e-10 * corr[0])
        n++;
    return n;
}

/* Everything that follows once C is there. */
static ferry_status embed_with(ferry_ctx *ctx, const hemap_data *d, ferry_small *c,
                               hemap_embedding *e)
{
    ferry_status st = FERRY_OK;
    const hemap_side *t = &d->side_t, *s = &d->side_s;
    const bool cca = d->o->solver == 0;
    const int64_t m = c->rows, n = c->cols, most = cca ? (m < n ? m : n) : m + n;
    int64_t k = d->o->k > 0 ? d->o->k : 15;
    ferry_small *wt = NULL, *ws = NULL;
    double *want = NULL, *f = NULL;

    if (k > most) k = most;
    FERRY_NEW(ctx, e->strength, k);
    FERRY_NEW(ctx, want, k);
    FERRY_NEW(ctx, f, k);
    FERRY_TRY(ferry_i_small_new(ctx, m, k, &wt));
    FERRY_TRY(ferry_i_small_new(ctx, n, k, &ws));
    if (cca)
        FERRY_TRY(ferry_i_hemap_cca(ctx, t->l, s->l, d->o->ridge * t->average,
                                    d->o->ridge * s->average, c, k, e->strength, wt, ws));
    else
        FERRY_TRY(solve_eig(ctx, d, c, k, e->strength, wt, ws));
    k = wt->cols = ws->cols = real_dimensions(k, e->strength);
    if (k == 0) { /* C is zero: nothing ties the sets */
        e->ties = 0;
        goto done;
    }
    for (int64_t j = 0; j < k; j++)
        want[j] = cca ? e->strength[j] : 1;
    FERRY_TRY(ferry_i_block_new(ctx, d->t->rows, k, &e->zt));
    FERRY_TRY(ferry_i_block_new(ctx, d->s->rows, k, &e->zs));
    project(ctx, s->y, ws, want, e->zs, f);
    project(ctx, t->y, wt, want, e->zt, f);
    FERRY_TRY(set_map(ctx, t, wt, f, &e->space));
done:
    ferry_i_free(f);
    ferry_i_free(want);
    ferry_i_small_free(ws);
    ferry_i_small_free(wt);
    return st;
}

static ferry_status embed_ferry(ferry_ctx *ctx, const hemap_data *d, const uint8_t *known,
                                hemap_embedding *e)
{
    ferry_status st = FERRY_OK;
    ferry_small *c = NULL;

    FERRY_TRY(ferry_i_small_new(ctx, d->side_t.y->k, d->side_s.y->k, &c));
    FERRY_TRY(cross(ctx, d, known, c, &e->ties));
    if (e->ties > 0) FERRY_TRY(embed_with(ctx, d, c, e));
done:
    ferry_i_small_free(c);
    return st;
}

ferry_status ferry_i_hemap_embed(ferry_ctx *ctx, const hemap_data *d, const uint8_t *known,
                                 hemap_embedding *e)
{
    *e = (hemap_embedding){.objective = NAN};
    if (d->o->mode == MODE_FERRY) return embed_ferry(ctx, d, known, e);
    return ferry_i_hemap_embed_thesis(ctx, d, e);
}

/* ---- places of new rows ---- */

static ferry_status place_nearest(ferry_ctx *ctx, const hemap_space *s,
                                  const ferry_matrix *x, ferry_matrix **z)
{
    ferry_status st = FERRY_OK;
    int64_t *index = ferry_i_calloc(x->rows, sizeof *index);
    double *dist = ferry_i_calloc(x->rows, sizeof *dist);

    FERRY_HAVE(ctx, index && dist);
    FERRY_TRY(ferry_i_knn(ctx, s->rows, x, 1, FERRY_EUCLIDEAN, index, dist));
    FERRY_TRY(ferry_i_matrix_take(ctx, s->z, x->rows, index, s->k, NULL, z));
done:
    ferry_i_free(dist);
    ferry_i_free(index);
    return st;
}

ferry_status ferry_i_hemap_place(ferry_ctx *ctx, const hemap_space *s,
                                 const ferry_matrix *x, ferry_matrix **z)
{
    ferry_status st = FERRY_OK;

    *z = NULL;
    if (!s->w) return place_nearest(ctx, s, x, z);
    FERRY_TRY(ferry_i_matrix_dense(ctx, x->rows, s->k, z));
    ferry_block b = {.rows = x->rows, .k = s->k, .data = (*z)->dense};
    FERRY_TRY(ferry_i_linear_apply(ctx, x, s->k, s->w, &b));
done:
    return st;
}
