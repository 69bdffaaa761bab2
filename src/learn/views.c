/* Several views of the same instances and linear embeddings of them (views.h). */
#include "learn/views.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "learn/eigs.h"

enum { COMPRESS_MOST = 2000 }; /* instances: the m x m eigenproblem takes seconds there */

/* ---- products ---- */

/* X u = x u - present (shift'u) */
void centred_mul(scope *s, const scaled_view *v, block u, block t)
{
    const int64_t mark = scope_mark(s);
    double *off = NEW(s, double, u.k);

    mul(s, v->x, u, t);
    for (int64_t j = 0; v->shift && j < u.n; j++)
        for (int64_t l = 0; l < u.k; l++)
            off[l] += v->shift[j] * ROW(u, j)[l];
    for (int64_t i = 0; v->shift && i < t.n; i++)
        for (int64_t l = 0; centred_has(v, i) && l < u.k; l++)
            ROW(t, i)[l] -= off[l];
    scope_release(s, mark);
}

/* X't = x't - shift (present't) */
void centred_tmul(scope *s, const scaled_view *v, block t, block y)
{
    const int64_t mark = scope_mark(s);
    double *off = NEW(s, double, t.k);

    tmul(s, v->x, t, y);
    for (int64_t i = 0; v->shift && i < t.n; i++)
        for (int64_t l = 0; centred_has(v, i) && l < t.k; l++)
            off[l] += ROW(t, i)[l];
    if (v->shift) sums(s, t.rows, t.k, off);
    for (int64_t j = 0; v->shift && j < y.n; j++)
        for (int64_t l = 0; l < t.k; l++)
            ROW(y, j)[l] -= v->shift[j] * off[l];
    scope_release(s, mark);
}

/* ---- centring and balancing ---- */

static double *values_of(matrix x)
{
    return x.m->dense ? x.m->dense : x.m->value;
}

/* A matrix whose cells may be changed: x itself where preparation made it for this problem alone. */
static matrix own(scope *s, matrix x)
{
    int64_t *rows = NULL;

    if (x.m->refs == 1 && !x.m->borrowed) return x;
    rows = NEW(s, int64_t, x.n);
    for (int64_t i = 0; i < x.n; i++)
        rows[i] = i;
    const layout same = x.rows;
    x = take_rows(s, x, x.n, rows, false);
    x.rows = same;
    return x;
}

/* Means over the rows that are there; a row that is not there is 0. A sum that overflows is reported by its feature,
 * before it turns every product to NaN. */
static void fit_means(scope *s, const char *name, scaled_view *v)
{
    v->mean = mass(s, v->x, NULL);
    for (int64_t j = 0; j < v->features; j++) {
        v->mean[j] = v->rows > 0 ? v->mean[j] / (double)v->rows : 0;
        if (!isfinite(v->mean[j]))
            scope_fail(s, FERRY_ENUMERIC,
                       "view '%s': feature %lld: the values are too large to add up", name,
                       (long long)(j + 1));
    }
}

/* x <- x - mean where it is dense and there; else the mean becomes the shift. */
static void centre(scope *s, scaled_view *v)
{
    const matrix x = v->x;

    if (!x.m->dense) v->shift = COPY(s, v->mean, v->features);
    for (int64_t i = 0; x.m->dense && i < x.n; i++)
        for (int64_t j = 0; centred_has(v, i) && j < x.cols; j++)
            x.m->dense[i * x.cols + j] -= v->mean[j];
}

/* |X|_F^2, where a cell that is not stored is mean_j^2: = sum (x - mean)^2 over those that are, and the rest counted by
 * column. */
static double centred_norm2(scope *s, const scaled_view *v)
{
    const matrix x = v->x;
    const double *value = values_of(x);
    double all = 0, *count = NEW(s, double, x.cols);

    for (int64_t e = 0; e < stored(x); e++) {
        const double c = x.m->dense ? value[e] : value[e] - v->mean[x.m->index[e]];
        all += c * c;
        if (!x.m->dense) count[x.m->index[e]]++;
    }
    all = sum(s, x.rows, all);
    if (!x.m->dense) sums(s, x.rows, x.cols, count);
    for (int64_t j = 0; !x.m->dense && j < x.cols; j++)
        all += ((double)v->rows - count[j]) * v->mean[j] * v->mean[j];
    return all;
}

/* X'X u, or (of all rows here) X X'u, which has the same largest eigenvalue. */
typedef struct squared {
    const scaled_view *v;
    bool wide;
} squared;

static void multiply_squared(scope *s, void *arg, block u, block y)
{
    const squared *z = arg;
    const scaled_view *v = z->v;
    const block t = block_new(s, z->wide ? HERE(v->x.cols) : v->x.rows,
                              z->wide ? v->x.cols : v->x.n, u.k);

    if (z->wide) {
        centred_tmul(s, v, u, t);
        centred_mul(s, v, t, y);
    } else {
        centred_mul(s, v, u, t);
        centred_tmul(s, v, t, y);
    }
}

/* The squared largest singular value. */
static double spectral2(scope *s, const scaled_view *v)
{
    squared z = {v, v->x.cols > v->x.n && !v->x.rows.spread};
    const int64_t size = z.wide ? v->x.n : v->x.cols;
    double value = 0;

    if (size > 0 && v->rows > 0)
        (void)largest_eigen(s, size, multiply_squared, &z, 1, &value);
    return value;
}

/* Divide by sqrt(|X|^2 / m) in the norm asked for; a view that is all constant stays. */
static void balance_view(scope *s, const char *name, balance how, scaled_view *v)
{
    double most = 0, size2 = v->norm2;

    v->factor = 1;
    if (how == BALANCE_NONE) return;
    if (!isfinite(size2))
        scope_fail(s, FERRY_ENUMERIC, "view '%s': a view's values are too large to scale",
                   name);
    if (how == BALANCE_SPECTRAL) size2 = spectral2(s, v);
    for (int64_t j = 0; j < v->features; j++)
        most = fmax(most, fabs(v->mean[j]));
    const double norm = sqrt(fmax(size2, 0) / (v->rows > 0 ? (double)v->rows : 1));
    /* a constant view has a deviation of rounding size, not of 0 */
    if (!(norm > DBL_MIN && norm > 1e-13 * most)) return;
    v->factor = 1 / norm;
    v->norm2 /= norm * norm;
    for (int64_t e = 0; e < stored(v->x); e++)
        values_of(v->x)[e] *= v->factor;
    for (int64_t j = 0; v->shift && j < v->features; j++)
        v->shift[j] *= v->factor;
}

/* ---- compression ---- */

/* X X' of all rows of all processes, which are few:
 *   x x' - (x shift) present' - present (x shift)' + |shift|^2 present present' */
static small centred_outer(scope *s, const scaled_view *v)
{
    const matrix all = replicate_rows(s, v->x);
    const small g = outer(s, all, NULL);
    double *here = NEW(s, double, v->x.n), square = 0;

    for (int64_t i = 0; i < v->x.n; i++)
        here[i] = centred_has(v, i);
    const double *has = replicate_items(s, v->x.rows, v->x.n, sizeof *here, here);
    if (!v->shift) return g;
    const block shift = {HERE(all.cols), all.cols, 1, v->shift},
                xs = block_new(s, HERE(all.n), all.n, 1);
    mul(s, all, shift, xs);
    for (int64_t j = 0; j < all.cols; j++)
        square += v->shift[j] * v->shift[j];
    for (int64_t j = 0; j < g.cols; j++)
        for (int64_t i = 0; i < g.rows; i++)
            AT(g, i, j) += has[i] * has[j] * square - has[j] * xs.at[i] - has[i] * xs.at[j];
    return g;
}

/* With X X' = V diag(l) V' and l > 0 kept: R = V sqrt(l), Q = X'V / sqrt(l), R Q' = X. Below 1e-13 of the largest l is
 * rounding; centring alone makes one of them 0. R has the centring in it; mean and factor stay: they are of the
 * features, and new instances are embedded through them. */
static void compress(scope *s, scaled_view *v)
{
    const int64_t m = v->x.rows.n, n = v->x.n, first = v->x.rows.first;
    const small g = centred_outer(s, v);
    const double *l = eigh(s, g);
    int64_t rank = 0;

    while (rank < m && l[m - 1 - rank] > 1e-13 * l[m - 1])
        rank++;
    const block left = block_new(s, v->x.rows, n, rank);
    const matrix r = matrix_dense(s, v->x.rows, n, rank);
    v->q = block_new(s, HERE(v->x.cols), v->x.cols, rank);
    for (int64_t c = 0; c < rank; c++) {
        const double root = sqrt(l[m - 1 - c]);
        for (int64_t i = 0; i < n; i++) {
            ROW(left, i)[c] = AT(g, first + i, m - 1 - c) / root;
            r.m->dense[i * rank + c] = AT(g, first + i, m - 1 - c) * root;
        }
    }
    centred_tmul(s, v, left, v->q);
    v->x = r;
    v->shift = NULL;
}

/* ---- the views of a domain ---- */

static scaled_view centred_view(scope *s, const view *from, balance how)
{
    const matrix x = own(s, from->x);
    scaled_view v = {.x = x, .features = x.cols};
    double here = 0;

    if (from->there) v.present = NEW(s, double, x.n);
    for (int64_t i = 0; i < x.n; i++) {
        const bool there = !from->there || from->there[i];
        if (v.present) v.present[i] = there;
        here += there;
    }
    v.rows = (int64_t)sum(s, x.rows, here);
    fit_means(s, from->name, &v);
    centre(s, &v);
    v.norm2 = centred_norm2(s, &v);
    balance_view(s, from->name, how, &v);
    return v;
}

scaled_view *centred_views(scope *s, const domain *d, balance how)
{
    scaled_view *v = NEW(s, scaled_view, d->n_views);

    for (int j = 0; j < d->n_views; j++) {
        v[j] = centred_view(s, &d->view[j], how);
        const int64_t all = v[j].x.rows.n;
        if (v[j].x.cols > all && all <= COMPRESS_MOST)
            compress(s, &v[j]);
        else if (!v[j].x.m->dense) /* the solver multiplies by X_j' many times */
            index_columns(s, v[j].x);
    }
    return v;
}

/* ---- views side by side ---- */

typedef struct joined {
    const char *name;
    int64_t p, done;
    const scaled_view *x;
} joined;

/* y <- Z'Z u, where Z u = sum_j X_j u_j =: t and (Z'Z u)_j = X_j't. There is nothing to keep before the end, so that
 * only cancelling stops it. */
static void multiply_joined(scope *s, void *arg, block u, block y)
{
    joined *z = arg;
    const block t = block_new(s, z->x[0].x.rows, z->x[0].x.n, u.k), all = block_like(s, t);

    z->done += u.k;
    if (z->name) (void)progress(s, z->name, z->done, 0, NAN);
    for (int64_t j = 0, at = 0; j < z->p; at += z->x[j++].x.cols) {
        const int64_t cols = z->x[j].x.cols;
        centred_mul(s, &z->x[j], (block){HERE(cols), cols, u.k, u.at + at * u.k}, t);
        axpby(s, 1, t, 1, all);
    }
    for (int64_t j = 0, at = 0; j < z->p; at += z->x[j++].x.cols) {
        const int64_t cols = z->x[j].x.cols;
        centred_tmul(s, &z->x[j], all, (block){HERE(cols), cols, u.k, y.at + at * u.k});
    }
}

int64_t joined_columns(int64_t p, const scaled_view *x)
{
    int64_t cols = 0;

    for (int64_t j = 0; j < p; j++)
        cols += x[j].x.cols;
    return cols;
}

block joined_axes(scope *s, const char *name, int64_t p, const scaled_view *x, int64_t d,
                  double *values)
{
    joined z = {.name = name, .p = p, .x = x};

    return largest_eigen(s, joined_columns(p, x), multiply_joined, &z, d, values);
}

/* Whether view j has two instances in common with another one. */
static bool shares(const domain *t, int j)
{
    for (int h = 0; h < t->n_views; h++) {
        int64_t both = 0;
        for (int64_t i = 0; h != j && i < t->n; i++)
            both += t->view[j].there[i] && t->view[h].there[i];
        if (both >= 2) return true;
    }
    return false;
}

/* A view that shares fewer than two instances with every other has no correlation with them, and its directions would
 * be noise. d is at most the sum of the views' ranks; of graphs (no views) it is below the number of instances. */
void views_fit(scope *s, const char *method, const problem *shape, int64_t d)
{
    const domain *t = target(shape);
    int64_t size = 0;

    for (int j = 0; j < t->n_views; j++) {
        const matrix x = t->view[j].x;
        size += x.cols < x.n ? x.cols : x.n;
        if (t->n_views > 1 && !shares(t, j))
            scope_fail(s, FERRY_ENEEDS,
                       "%s needs views with common ids; view '%s' of target '%s' shares "
                       "fewer than two instances with every other",
                       method, t->view[j].name, t->name);
    }
    if (t->n_views > 0 && d > size)
        scope_fail(s, FERRY_ENEEDS,
                   "%s: d = %lld, but the views of target '%s' have only %lld dimensions "
                   "(features, or instances where those are fewer)",
                   method, (long long)d, t->name, (long long)size);
    if (t->n_views == 0 && d >= t->n)
        scope_fail(s, FERRY_ENEEDS, "%s: d = %lld, but target '%s' has only %lld instances",
                   method, (long long)d, t->name, (long long)t->n);
}

/* ---- from eigenvectors to an embedding ---- */

static const field part_fields[] = {
    ARRAY(embed_part, REALS, mean, .rows = OF_VIEW(0)),
    ARRAY(embed_part, BLOCK, u, .rows = OF_VIEW(0), .cols = SIZE(embed_part, d)),
    ARRAY(embed_part, REALS, slope, .rows = SIZE(embed_part, d)),
    ARRAY(embed_part, REALS, r2, .rows = SIZE(embed_part, d)),
};
static const table part_table = TABLE(embed_part, part_fields);
static const field embedding_fields[] = {
    ARRAY(embedding, INT, d, .lo = 1, .hi = 1 << 30),
    ARRAY(embedding, REAL, share, .lo = 1e-9, .hi = 1.5),
    ARRAY(embedding, CHOICE, missing, .lo = 0, .hi = LACKING_REGRESS + 1),
    ARRAY(embedding, INT, views, .lo = 0, .hi = 1 << 20),
    ARRAY(embedding, LIST, part, .rows = SIZE(embedding, views), .of = &part_table,
          .optional = true),
};

static void embedding_check(scope *s, const void *state)
{
    const embedding *e = state;

    if (e->views > 0 && !e->part)
        scope_fail(s, FERRY_EDATA, "its %lld views are missing", (long long)e->views);
    for (int64_t j = 0; e->part && j < e->views; j++)
        if (e->part[j].d != e->d)
            scope_fail(s, FERRY_EDATA, "view %lld has %lld dimensions, not %lld",
                       (long long)j, (long long)e->part[j].d, (long long)e->d);
}
const table embedding_table = {sizeof(embedding), embedding_fields,
                               FERRY_COUNT(embedding_fields), embedding_check, NULL};

/* Of each component c over the instances that the view has:
 *   slope_c = t_c'phi_c / |t_c|^2,   r2_c = (t_c'phi_c)^2 / (|t_c|^2 |phi_c|^2). */
static void regress(scope *s, const scaled_view *v, block t, block phi, embed_part *part)
{
    double *all = NEW(s, double, 3 * t.k);

    for (int64_t i = 0; i < t.n; i++)
        for (int64_t c = 0; centred_has(v, i) && c < t.k; c++) {
            const double a = ROW(t, i)[c], b = ROW(phi, i)[c];
            all[3 * c] += a * a;
            all[3 * c + 1] += a * b;
            all[3 * c + 2] += b * b;
        }
    sums(s, t.rows, 3 * t.k, all);
    for (int64_t c = 0; c < t.k; c++) {
        const double tt = all[3 * c], tp = all[3 * c + 1], pp = all[3 * c + 2];
        part->slope[c] = tt > 0 ? tp / tt : 0;
        part->r2[c] = tt > 0 && pp > 0 ? tp * tp / (tt * pp) : 0;
    }
}

/* U_j for the features as prepared: the view's factor and f_j times u_j, and Q_j in front where it was compressed. */
static embed_part new_part(scope *s, scope *keep, const scaled_view *v, double f, block uj)
{
    embed_part p = {.d = uj.k,
                    .mean = COPY(keep, v->mean, v->features),
                    .u = block_new(keep, HERE(v->features), v->features, uj.k),
                    .slope = NEW(keep, double, uj.k),
                    .r2 = NEW(keep, double, uj.k)};

    if (v->q.at)
        mul(s, matrix_of(s, v->q), uj, p.u);
    else
        copy(uj, p.u);
    for (int64_t e = 0; e < p.u.n * p.u.k; e++)
        p.u.at[e] *= f * v->factor;
    return p;
}

/* An eigenvector is one up to its sign. The entry of the whole U that is largest in size is made positive: compression
 * must not decide. */
static void fix_signs(const embedding *e, block phi)
{
    for (int64_t c = 0; c < e->d; c++) {
        double most = 0, sign = 1;
        for (int64_t j = 0; j < e->views; j++)
            for (int64_t i = 0; i < e->part[j].u.n; i++) {
                const double x = ROW(e->part[j].u, i)[c];
                if (fabs(x) <= most) continue;
                most = fabs(x);
                sign = x < 0 ? -1 : 1;
            }
        for (int64_t j = 0; sign < 0 && j < e->views; j++)
            for (int64_t i = 0; i < e->part[j].u.n; i++)
                ROW(e->part[j].u, i)[c] *= -1;
        for (int64_t i = 0; sign < 0 && i < phi.n; i++)
            ROW(phi, i)[c] *= -1;
    }
}

/* Two passes over the views, each with the products t_j again: only one m x d block beside Phi whatever p is. */
embedding embedding_of(scope *s, scope *keep, const embed_solution *from, int missing,
                       block *phi)
{
    const matrix x = from->x[0].x;
    const int64_t d = from->u.k;
    const block t = block_new(s, x.rows, x.n, d), z = block_like(s, t);
    embedding e = {from->p, d, from->share, missing, NEW(keep, embed_part, from->p)};

    for (int pass = 0; pass < 2; pass++) /* the regressions need the whole of Phi */
        for (int64_t j = 0, at = 0; j < from->p; at += from->x[j++].x.cols) {
            const int64_t mark = scope_mark(s), cols = from->x[j].x.cols;
            const double f = from->f ? from->f[j] : 1;
            const block uj = {HERE(cols), cols, d, from->u.at + at * d};
            centred_mul(s, &from->x[j], uj, t);
            for (int64_t i = 0; i < t.n * d; i++)
                t.at[i] *= f;
            if (pass == 0) axpby(s, from->share, t, 1, z);
            if (pass == 1) {
                e.part[j] = new_part(s, keep, &from->x[j], f, uj);
                regress(s, &from->x[j], t, z, &e.part[j]);
            }
            if (keep != s) scope_release(s, mark); /* else its parts would go, too */
        }
    fix_signs(&e, z);
    if (from->values) report_reals(s, "eigenvalues", d, from->values);
    if (phi) *phi = z;
    return e;
}

/* 1e-10 of the largest is rounding: an eigenvalue below it is 0 in exact numbers. */
int64_t positive_values(int64_t d, const double *values)
{
    int64_t positive = 0;

    while (positive < d && values[positive] > 1e-10 * values[0] && values[positive] > 0)
        positive++;
    return positive;
}

void warn_of_values(scope *s, const char *method, int64_t positive, int64_t d)
{
    if (positive < d)
        ferry_i_log(scope_ctx(s), FERRY_WARN,
                    "%s: only %lld of d = %lld eigenvalues are positive: the other "
                    "components say nothing",
                    method, (long long)positive, (long long)d);
}

/* ---- new instances ---- */

/* Every view that an instance has adds its t_j; how they combine is decided by instance, since each may lack other
 * views: with all of them, or put at the mean of those it lacks, it is share sum t_j; else the regressions decide. */
block embedding_apply(scope *s, const embedding *e, const domain *d)
{
    const block phi = block_new(s, d->rows, d->n, e->d), num = block_like(s, phi),
                den = block_like(s, phi), t = block_like(s, phi);
    int64_t *have = NEW(s, int64_t, d->n);

    if (d->n_views != e->views)
        scope_fail(s, FERRY_EDATA, "the model has %lld views, not %d", (long long)e->views,
                   d->n_views);
    for (int j = 0; j < d->n_views; j++) {
        const embed_part *part = &e->part[j];
        const scaled_view c = {.x = d->view[j].x, .shift = part->mean};
        centred_mul(s, &c, part->u, t);
        for (int64_t i = 0; i < d->n; i++) {
            if (d->view[j].there && !d->view[j].there[i]) continue;
            have[i]++;
            for (int64_t k = 0; k < e->d; k++) {
                ROW(phi, i)[k] += ROW(t, i)[k];
                ROW(num, i)[k] += part->r2[k] * part->slope[k] * ROW(t, i)[k];
                ROW(den, i)[k] += part->r2[k];
            }
        }
    }
    for (int64_t i = 0; i < d->n; i++) {
        const bool half = 2 * have[i] <= e->views;
        const bool by_regression =
            have[i] < e->views &&
            (e->missing == LACKING_REGRESS || (e->missing == LACKING_AUTO && half));
        for (int64_t k = 0; k < e->d; k++) {
            const double n = ROW(num, i)[k], below = ROW(den, i)[k];
            double *to = &ROW(phi, i)[k];
            *to = !by_regression ? e->share * *to : below > 0 ? n / below : 0;
        }
    }
    return phi;
}

/* ---- or the instances that it has seen ---- */

static const field placement_fields[] = {
    FIELD_AS(placement, STRUCT, e, "", .of = &embedding_table),
    ARRAY(placement, IDS, ids, .rows = SIZE(placement, n), .optional = true),
    ARRAY(placement, BLOCK, phi, .rows = SIZE(placement, n), .cols = SIZE(placement, e.d),
          .optional = true),
};

static void placement_check(scope *s, const void *state)
{
    const placement *p = state;

    if ((p->e.part != NULL) == (p->phi.at != NULL) ||
        (p->ids != NULL) != (p->phi.at != NULL))
        scope_fail(s, FERRY_EDATA, "neither views nor instances are embedded");
}
const table placement_table = {sizeof(placement), placement_fields,
                               FERRY_COUNT(placement_fields), placement_check, NULL};

static void free_ids(void *ids)
{
    ferry_i_ids_free(ids);
}

placement placement_of_rows(scope *s, scope *keep, const domain *d, block phi)
{
    placement p = {.e = {.d = phi.k, .share = 1}, .n = phi.rows.n};

    p.ids = ferry_i_ids_copy(d->ids);
    if (!p.ids) scope_check(s, ferry_i_nomem(scope_ctx(s)));
    scope_defer(keep, free_ids, p.ids);
    p.phi = block_copy(keep, replicate(s, phi));
    return p;
}

/* An unknown id is an error: it has no features, and the eigenvectors say nothing of it. */
block placement_embed(scope *s, const char *method, const placement *p, const domain *d)
{
    if (p->e.part) return embedding_apply(s, &p->e, d);
    const block phi = block_new(s, d->rows, d->n, p->phi.k);
    for (int64_t i = 0; i < d->n; i++) {
        const char *id = ferry_i_ids_at(d->ids, d->instance[i]);
        const int64_t at = ferry_i_ids_find(p->ids, id);
        if (at < 0)
            scope_fail(s, FERRY_ENEEDS,
                       "%s learned from graphs alone and embeds the instances it learned "
                       "from; '%s' of domain '%s' is not one of them",
                       method, id, d->name);
        memcpy(ROW(phi, i), ROW(p->phi, at), (size_t)phi.k * sizeof(double));
    }
    return phi;
}
