/* Mode ferry: both data sets in one space, tied by what is known. (5.4) ties row i of T to
 * row i of S, whatever they are, through T'S; here C stands for T'S / N with
 *
 *   rows known:    C = T_P'S_P / |P|
 *   groups known:  C = sum_c pi_c mu_T,c mu_S,c'        c: classes, or quantiles of a number
 *
 * the second being what the first is expected to be when rows are paired at random within
 * matching groups. Neither depends on the order of the rows, N_T and N_S may differ, and a
 * place depends on the instance's own features only, so new instances have one:
 *
 *   U diag(corr) W' = svd((K_T + r_T)^-1/2 C (K_S + r_S)^-1/2),   K_T = T'T/N_T   (cca)
 *   eigenvectors of 1/2 [(4+b^2) K_T, 4b C; 4b C', (4+b^2) K_S]                   (eig)
 *
 * all in the principal axes of the two sets, where K_T and K_S are diagonal.
 *
 * Why CCA: with the true pairs of the digits' views the source's labels carry over at an
 * error of .20 by CCA and .63 by the published matrix (Zernike moments, 15 dimensions),
 * since CCA divides by each set's own variance and so does not follow its large
 * components. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/ranks.h"
#include "methods/hemap/hemap.h"

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
    FERRY_FREE(e->zt, e->zs, e->strength);
    *e = (hemap_embedding){0};
}

/* mean (g x k) of the rows of each group, count (g). mean and count must be zero on entry.
 * Groups outside 0..g-1 count nowhere. */
static ferry_status group_means(ferry_ctx *ctx, const ferry_block *x, const int32_t *group,
                                ferry_block *mean, double *count)
{
    for (int64_t i = 0; i < x->rows; i++) {
        if (group[i] < 0 || group[i] >= mean->rows) continue;
        count[group[i]]++;
        for (int64_t j = 0; j < x->k; j++)
            FERRY_ROW(mean, group[i])[j] += FERRY_ROW(x, i)[j];
    }
    FERRY_PASS(ferry_i_ranks_sum(ctx, mean->rows, count));
    FERRY_PASS(ferry_i_ranks_sum(ctx, mean->rows * mean->k, mean->data));
    for (int64_t c = 0; c < mean->rows; c++)
        for (int64_t j = 0; j < x->k && count[c] > 0; j++)
            FERRY_ROW(mean, c)[j] /= count[c];
    return FERRY_OK;
}

/* C = M_T' diag(pi) M_S with the group means as rows, one product. Cost N k_T + N k_S + g
 * k_T k_S. */
ferry_status ferry_i_hemap_cross_groups(ferry_ctx *ctx, const ferry_block *t,
                                        const int32_t *gt, const ferry_block *s,
                                        const int32_t *gs, int64_t g, ferry_small *c,
                                        int64_t *used)
{
    ferry_status st = FERRY_OK;
    ferry_block *mt = NULL, *ms = NULL;
    double *nt = ferry_i_calloc(g, sizeof *nt), *ns = ferry_i_calloc(g, sizeof *ns);
    double all = 0;

    *used = 0;
    FERRY_HAVE(ctx, nt && ns);
    FERRY_TRY(ferry_i_block_new(ctx, g, t->k, &mt));
    FERRY_TRY(ferry_i_block_new(ctx, g, s->k, &ms));
    FERRY_TRY(group_means(ctx, t, gt, mt, nt));
    FERRY_TRY(group_means(ctx, s, gs, ms, ns));
    for (int64_t i = 0; i < g; i++)
        if (nt[i] > 0 && ns[i] > 0) {
            all += nt[i];
            (*used)++;
        }
    for (int64_t i = 0; i < g; i++) { /* pi_c into the target's mean; 0 for the others */
        const double pi = nt[i] > 0 && ns[i] > 0 ? nt[i] / all : 0;
        for (int64_t j = 0; j < t->k; j++)
            FERRY_ROW(mt, i)[j] *= pi;
    }
    ferry_e(ctx)->gram(ctx, mt, ms, c);
done:
    FERRY_FREE(ms, mt, ns, nt);
    return st;
}

/* Rows that are the same thing: their products. t_i s_i' summed over the pairs, divided by
 * their number; both blocks are centred. */
ferry_status ferry_i_hemap_cross_rows(ferry_ctx *ctx, const ferry_block *t,
                                      const ferry_block *s, int64_t n, const int64_t *pt,
                                      const int64_t *ps, ferry_small *c)
{
    ferry_status st = FERRY_OK;
    ferry_block *tp = NULL, *sp = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, n, t->k, &tp));
    FERRY_TRY(ferry_i_block_new(ctx, n, s->k, &sp));
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < t->k; j++)
            FERRY_ROW(tp, i)[j] = FERRY_ROW(t, pt[i])[j] / (double)n;
        memcpy(FERRY_ROW(sp, i), FERRY_ROW(s, ps[i]), (size_t)s->k * sizeof *s->data);
    }
    ferry_e(ctx)->gram(ctx, tp, sp, c);
done:
    FERRY_FREE(sp, tp);
    return st;
}

/* Quantiles: a number and its row. */
typedef struct ranked {
    double y;
    int64_t i;
} ranked;

/* Equal numbers by row, so that groups do not depend on qsort. */
static int by_number(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->y != y->y) return x->y < y->y ? -1 : 1;
    return x->i < y->i ? -1 : x->i > y->i;
}

/* Group of rank r among n is floor(r g / n): sizes differ by one at most. */
ferry_status ferry_i_hemap_quantiles(ferry_ctx *ctx, int64_t n, const double *y, int64_t g,
                                     int32_t *group)
{
    ferry_status st = FERRY_OK;
    ranked *r = ferry_i_calloc(n, sizeof *r);
    int64_t known = 0;

    FERRY_HAVE(ctx, r);
    for (int64_t i = 0; i < n; i++) {
        group[i] = -1;
        if (!isnan(y[i])) r[known++] = (ranked){y[i], i};
    }
    qsort(r, (size_t)known, sizeof *r, by_number);
    for (int64_t i = 0; i < known; i++)
        group[r[i].i] = (int32_t)(i * g / known);
done:
    ferry_i_free(r);
    return st;
}

/* Dense, (m + n)^3: in the principal axes the sizes are the numbers of axes. */
ferry_status ferry_i_hemap_paired(ferry_ctx *ctx, const ferry_small *kt,
                                  const ferry_small *ks, const ferry_small *c, double beta,
                                  int64_t k, double *values, ferry_small *v)
{
    ferry_status st = FERRY_OK;
    const int64_t m = kt->rows, n = ks->rows, q = m + n;
    const double own = (4 + beta * beta) / 2, cross = 2 * beta;
    ferry_small *a = NULL;
    double *w = ferry_i_calloc(q, sizeof *w);

    FERRY_HAVE(ctx, w);
    FERRY_TRY(ferry_i_small_new(ctx, q, q, &a));
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < m; i++)
            FERRY_AT(a, i, j) = own * FERRY_AT(kt, i, j);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < n; i++)
            FERRY_AT(a, m + i, m + j) = own * FERRY_AT(ks, i, j);
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            FERRY_AT(a, i, m + j) = FERRY_AT(a, m + j, i) = cross * FERRY_AT(c, i, j);
    FERRY_TRY(ferry_e(ctx)->eigh(ctx, a, w));
    for (int64_t j = 0; j < k; j++) {
        values[j] = w[q - 1 - j];
        for (int64_t i = 0; i < q; i++)
            FERRY_AT(v, i, j) = FERRY_AT(a, i, q - 1 - j);
    }
done:
    FERRY_FREE(a, w);
    return st;
}

/* K_T and K_S are diagonal here, so their inverse roots are numbers and the only matrix
 * work is one SVD of m x n. r_T, r_S > 0 keep small axes from deciding. */
ferry_status ferry_i_hemap_cca(ferry_ctx *ctx, const double *lt, const double *ls,
                               double rt, double rs, const ferry_small *c, int64_t k,
                               double *corr, ferry_small *wt, ferry_small *ws)
{
    ferry_status st = FERRY_OK;
    const int64_t m = c->rows, n = c->cols, r = m < n ? m : n;
    ferry_small *a = NULL, *u = NULL, *v = NULL;
    double *s = ferry_i_calloc(r, sizeof *s);

    FERRY_HAVE(ctx, s);
    FERRY_TRY(ferry_i_small_new(ctx, m, n, &a));
    FERRY_TRY(ferry_i_small_new(ctx, m, r, &u));
    FERRY_TRY(ferry_i_small_new(ctx, n, r, &v));
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < m; i++)
            FERRY_AT(a, i, j) = FERRY_AT(c, i, j) / sqrt((lt[i] + rt) * (ls[j] + rs));
    FERRY_TRY(ferry_e(ctx)->svd(ctx, a, u, s, v));
    for (int64_t j = 0; j < k; j++) {
        corr[j] = s[j];
        for (int64_t i = 0; i < m; i++)
            FERRY_AT(wt, i, j) = FERRY_AT(u, i, j) / sqrt(lt[i] + rt);
        for (int64_t i = 0; i < n; i++)
            FERRY_AT(ws, i, j) = FERRY_AT(v, i, j) / sqrt(ls[i] + rs);
    }
done:
    FERRY_FREE(v, u, a, s);
    return st;
}

/* Group of every row by class or quantile; target rows that are not known belong to
 * none. Both sides get the same number of quantiles, so that group c means the same rank in
 * both; never more than there are labels on either side. */
static ferry_status groups(ferry_ctx *ctx, const hemap_data *d, const uint8_t *known,
                           int32_t *gt, int32_t *gs, int64_t *n)
{
    ferry_status st = FERRY_OK;
    double *y = NULL;
    int64_t seen = 0;

    *n = d->k;
    if (d->yc) {
        for (int64_t i = 0; i < d->nt; i++)
            gt[i] = !known || known[i] ? d->yc[i] : -1;
        memcpy(gs, d->vc, (size_t)d->ns * sizeof *gs);
        goto done;
    }
    FERRY_NEW(ctx, y, d->nt);
    for (int64_t i = 0; i < d->nt; i++) {
        y[i] = !known || known[i] ? d->yn[i] : NAN;
        seen += !isnan(y[i]);
    }
    *n = d->o->bins;
    if (*n > seen) *n = seen;
    if (*n > d->n_taught) *n = d->n_taught;
    FERRY_TRY(ferry_i_hemap_quantiles(ctx, d->nt, y, *n, gt));
    FERRY_TRY(ferry_i_hemap_quantiles(ctx, d->ns, d->vn, *n, gs));
done:
    ferry_i_free(y);
    return st;
}

/* C in the principal axes; *ties: pairs or groups it comes from. Pairs win over groups:
 * they say more. One common group has no direction after centring. */
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
    FERRY_NEW(ctx, gt, d->nt);
    FERRY_NEW(ctx, gs, d->ns);
    FERRY_TRY(groups(ctx, d, known, gt, gs, &n));
    FERRY_TRY(ferry_i_hemap_cross_groups(ctx, yt, gt + d->first_t, ys, gs + d->first_s, n,
                                         c, ties));
    if (*ties < 2) *ties = 0; /* one group has no direction */
done:
    FERRY_FREE(gt, gs);
    return st;
}

/* The published problem with C for T'S / N; both sets scaled to largest eigenvalue 1. C is
 * scaled with them and overwritten. */
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
    FERRY_FREE(v, ks, kt);
    return st;
}

/* z (of all rows, new) <- Y W, where y has the rows of x that are here, columns to deviation
 * `want` (0 where there is none); f: what each column was multiplied by. Columns of y have
 * mean 0, so those of z have, and the root mean square is the deviation. */
static ferry_status project(ferry_ctx *ctx, const ferry_matrix *x, const ferry_block *y,
                            const ferry_small *w, const double *want, ferry_block **z,
                            double *f)
{
    ferry_status st = FERRY_OK;
    ferry_block *here = NULL;

    FERRY_TRY(ferry_i_block_new(ctx, y->rows, w->cols, &here));
    ferry_e(ctx)->bmul(ctx, 1, y, w, false, 0, here);
    ferry_e(ctx)->bsums(ctx, here, FERRY_COLS, 2, f);
    FERRY_TRY(ferry_i_sum_rows(ctx, x, here->k, f));
    for (int64_t j = 0; j < here->k; j++)
        f[j] = f[j] > 0 ? want[j] / sqrt(f[j] / (double)ferry_i_all_rows(x)) : 0;
    ferry_e(ctx)->bscale(ctx, here, FERRY_COLS, f);
    if (x->whole)
        FERRY_TRY(ferry_i_block_collect(ctx, x, here, z));
    else
        FERRY_MOVE(*z, here);
done:
    ferry_i_free(here);
    return st;
}

/* The affine map from prepared features: row j of w is f_j basis W_j, last - that .
 * mean. w is k x (d + 1), the constant last, as ferry_i_linear_apply() wants it. */
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
    ferry_i_free(b);
    return st;
}

/* Dimensions whose correlation is not rounding error. strength descends, so the first that
 * fails ends the list. */
static int64_t real_dimensions(int64_t k, const double *corr)
{
    int64_t n = 0;

    while (n < k && corr[n] > 0 && corr[n] >= 1e-10 * corr[0])
        n++;
    return n;
}

/* Everything that follows once C is there.
 *
 * In CCA a column's deviation is its correlation: a dimension on which the sets hardly
 * agree then counts little in distances. The target is projected last, since f, what its
 * columns were multiplied by, goes into the map for new rows. */
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
    FERRY_TRY(project(ctx, d->s, s->y, ws, want, &e->zs, f));
    FERRY_TRY(project(ctx, d->t, t->y, wt, want, &e->zt, f));
    FERRY_TRY(set_map(ctx, t, wt, f, &e->space));
done:
    FERRY_FREE(f, want, ws, wt);
    return st;
}

/* Arguments, C, and the rest if something ties the sets. The embedding stays empty when
 * ties is 0. */
static ferry_status embed_ferry(ferry_ctx *ctx, const hemap_data *d, const uint8_t *known,
                                hemap_embedding *e)
{
    ferry_status st = FERRY_OK;
    ferry_small *c = NULL;

    FERRY_TRY(ferry_i_small_new(ctx, d->side_t.y->k, d->side_s.y->k, &c));
    FERRY_TRY(cross(ctx, d, known, c, &e->ties));
    if (e->ties > 0) FERRY_TRY(embed_with(ctx, d, c, e));
done:
    ferry_i_free(c);
    return st;
}

/* In mode paper `known` is not looked at: labels do not tie the sets there. */
ferry_status ferry_i_hemap_embed(ferry_ctx *ctx, const hemap_data *d, const uint8_t *known,
                                 hemap_embedding *e)
{
    *e = (hemap_embedding){.objective = NAN};
    if (d->o->mode == MODE_FERRY) return embed_ferry(ctx, d, known, e);
    return ferry_i_hemap_embed_paper(ctx, d, e);
}

/* Mode paper has no map for new rows: each gets the place of the nearest that was there.
 * O(n_new n d). */
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
    FERRY_FREE(dist, index);
    return st;
}

/* With a map: one product. The result is dense whatever x is. */
ferry_status ferry_i_hemap_place(ferry_ctx *ctx, const hemap_space *s,
                                 const ferry_matrix *x, ferry_matrix **z)
{
    *z = NULL;
    if (!s->w) return place_nearest(ctx, s, x, z);
    FERRY_PASS(ferry_i_matrix_dense(ctx, x->rows, s->k, z));
    ferry_block b = {.rows = x->rows, .k = s->k, .data = (*z)->dense};
    return ferry_i_linear_apply(ctx, x, s->k, s->w, &b);
}
