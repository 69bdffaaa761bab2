/* Features of neighbours (near.h). */
#include "methods/shared/near.h"

#include <math.h>
#include <string.h>

#include "core/ranks.h"
#include "methods/shared/vb.h"

void ferry_i_near_free(rating_near *m)
{
    if (!m) return;
    ferry_i_observed_clear(&m->e);
    FERRY_FREE(m->a, m->b, m->z, m->slope_z, m->slope_b, m);
}

static double *copied(int64_t n, const double *from)
{
    double *to = ferry_i_calloc(n, sizeof *to);

    if (to && n > 0) memcpy(to, from, (size_t)n * sizeof *to);
    return to;
}

/* Ratings of row i. */
static int64_t count(const ferry_matrix *x, int64_t i)
{
    return x->start[i + 1] - x->start[i];
}

/* ---- what follows from the residuals ---- */

/* The slope of each user's residuals on t_j: sum e t / (sum t^2 + ridge). */
static void slopes(const ferry_matrix *e, const double *t, double ridge, double *out)
{
    for (int64_t i = 0; i < e->rows; i++) {
        double et = 0, tt = ridge;
        for (int64_t at = e->start[i]; at < e->start[i + 1]; at++) {
            et += e->value[at] * t[e->index[at]];
            tt += t[e->index[at]] * t[e->index[at]];
        }
        out[i] = et / tt;
    }
}

static ferry_status derive(ferry_ctx *ctx, rating_near *m)
{
    ferry_status st = FERRY_OK;
    const ferry_matrix *t = m->e.xt;

    FERRY_NEW(ctx, m->z, t->rows);
    FERRY_NEW(ctx, m->slope_z, t->cols);
    FERRY_NEW(ctx, m->slope_b, t->cols);
    m->zbar = 0;
    for (int64_t j = 0; j < t->rows; j++)
        m->zbar += (double)count(t, j) * log1p((double)count(t, j)) / (double)t->nnz;
    for (int64_t j = 0; j < t->rows; j++)
        m->z[j] = log1p((double)count(t, j)) - m->zbar;
    slopes(m->e.x, m->z, m->s2 / 0.05, m->slope_z);
    slopes(m->e.x, m->b, m->s2 / 0.2, m->slope_b);
done:
    return st;
}

ferry_status ferry_i_near_new(ferry_ctx *ctx, const observed *x, rating_near **out,
                              double *mu)
{
    ferry_status st = FERRY_OK;
    vb_fit f = {0};
    double *e = NULL;
    rating_near *m = NULL;

    *out = NULL;
    FERRY_NEW(ctx, m, 1);
    FERRY_NEW(ctx, e, x->x->nnz);
    FERRY_TRY(ferry_i_vb(ctx, x, &(vb_how){.sweeps = 10}, NULL, &f));
    m->unit = f.sd;
    m->s2 = f.s2;
    m->vb = f.vb;
    if (mu) *mu = f.mu;
    FERRY_HAVE(ctx, m->a = copied(f.zu->rows, f.zu->data)); /* rank 0: biases alone */
    FERRY_HAVE(ctx, m->b = copied(f.zi->rows, f.zi->data));
    for (int64_t i = 0; i < x->x->rows; i++)
        for (int64_t at = x->x->start[i]; at < x->x->start[i + 1] && f.sd > 0; at++)
            e[at] = (x->x->value[at] - f.mu) / f.sd - m->a[i] - m->b[x->x->index[at]];
    FERRY_TRY(ferry_i_observed_with(ctx, x, e, &m->e));
    FERRY_TRY(derive(ctx, m));
    FERRY_MOVE(*out, m);
done:
    ferry_i_free(e);
    ferry_i_vb_clear(&f);
    ferry_i_near_free(m);
    return st;
}

/* ---- features of pairs ---- */

/* order <- the pairs with place[e] = k, for k = 0, 1, ..., begin at start[k]. */
static void sort_pairs(int64_t n, const int64_t *place, int64_t rows, int64_t *start,
                       int64_t *order)
{
    memset(start, 0, (size_t)(rows + 1) * sizeof *start);
    for (int64_t e = 0; e < n; e++)
        if (place[e] >= 0 && place[e] < rows) start[place[e] + 1]++;
    for (int64_t k = 0; k < rows; k++)
        start[k + 1] += start[k];
    for (int64_t e = 0; e < n; e++)
        if (place[e] >= 0 && place[e] < rows) order[start[place[e]]++] = e;
    memmove(start + 1, start, (size_t)rows * sizeof *start); /* back to the beginnings */
    start[0] = 0;
}

/* One of the things that were rated together with item (user) i. */
typedef struct together {
    double n, products, squares, others; /* sums over those who rated both */
} together;

/* Row i of `rows` (an item with its users) against all other items, through `back`. */
static void meet(const ferry_matrix *rows, const ferry_matrix *back, int64_t i, together *t)
{
    memset(t, 0, (size_t)rows->rows * sizeof *t);
    for (int64_t a = rows->start[i]; a < rows->start[i + 1]; a++) {
        const int64_t v = rows->index[a];
        const double own = rows->value[a];
        for (int64_t b = back->start[v]; b < back->start[v + 1]; b++) {
            together *to = &t[back->index[b]];
            to->n++;
            to->products += own * back->value[b];
            to->squares += own * own;
            to->others += back->value[b] * back->value[b];
        }
    }
    t[i] = (together){0};
}

/* Features 5 and 7 of user u for the item whose neighbours are t. */
static void by_items(const rating_near *m, int64_t u, int64_t i, const together *t,
                     double *f)
{
    const ferry_matrix *x = m->e.x, *xt = m->e.xt;
    double sum = 0, all = 0.3, sum_r = 0, all_r = 0.3;

    for (int64_t at = x->start[u]; at < x->start[u + 1]; at++) {
        const together *o = &t[x->index[at]];
        if (o->n == 0) continue;
        const double c =
            o->n / sqrt((double)(count(xt, i) + 1) * (double)(count(xt, x->index[at]) + 1));
        const double s =
            o->products / (sqrt(o->squares * o->others) + 1e-9) * o->n / (o->n + 10);
        sum += c * x->value[at];
        all += c;
        sum_r += s * x->value[at];
        all_r += fabs(s);
    }
    f[4] = sum / all;
    f[6] = sum_r / all_r;
}

/* Feature 6 of item i for the user whose neighbours are t. */
static void by_users(const rating_near *m, int64_t u, int64_t i, const together *t,
                     double *f)
{
    const ferry_matrix *x = m->e.x, *xt = m->e.xt;
    double sum = 0, all = 0.3;

    for (int64_t at = xt->start[i]; at < xt->start[i + 1]; at++) {
        const int64_t v = xt->index[at];
        const double d =
            t[v].n / sqrt((double)(count(x, u) + 1) * (double)(count(x, v) + 1));
        sum += d * xt->value[at];
        all += d;
    }
    f[5] = sum / all;
}

/* Features 1 to 4. Who was never seen has no rating, no slope and no bias. */
static void plain(const rating_near *m, int64_t u, int64_t j, double *f)
{
    const double n = j < 0 ? 0 : (double)count(m->e.xt, j);
    const double z = j < 0 ? -m->zbar : m->z[j], b = j < 0 ? 0 : m->b[j];

    f[0] = z * (1 - n / (n + m->s2 / m->vb));
    f[1] = u < 0 ? 0 : m->slope_z[u] * z;
    f[2] = u < 0 ? 0 : m->slope_b[u] * b;
    f[3] = u < 0 ? 0 : m->a[u] * b;
}

typedef void (*neighbours_fn)(const rating_near *, int64_t, int64_t, const together *,
                              double *);

/* Pairs by their row, so that a row's neighbours are found once. Rows are dealt to ranks, if there are some; nothing is
 * added to the others. */
static ferry_status ask_rows(ferry_ctx *ctx, const rating_near *m, const ferry_matrix *rows,
                             const ferry_matrix *back, int64_t n, const int64_t *row,
                             const int64_t *user, const int64_t *item, neighbours_fn fn,
                             double *f)
{
    ferry_status st = FERRY_OK;
    const bool split = ferry_i_ranks_split(ctx);
    const int64_t ranks = split ? ctx->ranks->size : 1, rank = split ? ctx->ranks->rank : 0;
    int64_t *start = NULL, *order = NULL;
    together *t = NULL;

    FERRY_NEW(ctx, start, rows->rows + 1);
    FERRY_NEW(ctx, order, n);
    FERRY_NEW(ctx, t, rows->rows);
    sort_pairs(n, row, rows->rows, start, order);
    for (int64_t r = rank; r < rows->rows; r += ranks) {
        if (start[r] == start[r + 1]) continue;
        meet(rows, back, r, t);
        for (int64_t e = start[r]; e < start[r + 1]; e++)
            if (user[order[e]] >= 0 && user[order[e]] < m->e.x->rows &&
                item[order[e]] >= 0 && item[order[e]] < m->e.x->cols)
                fn(m, user[order[e]], item[order[e]], t, f + order[e] * NEAR_FEATURES);
    }
done:
    FERRY_FREE(start, order, t);
    return st;
}

ferry_status ferry_i_near_features(ferry_ctx *ctx, const rating_near *m, int64_t n,
                                   const int64_t *user, const int64_t *item, double *f)
{
    memset(f, 0, (size_t)(n * NEAR_FEATURES) * sizeof *f);
    FERRY_PASS(ask_rows(ctx, m, m->e.xt, m->e.x, n, item, user, item, by_items, f));
    FERRY_PASS(ask_rows(ctx, m, m->e.x, m->e.xt, n, user, user, item, by_users, f));
    FERRY_PASS(ferry_i_ranks_sum(ctx, n * NEAR_FEATURES, f)); /* each is one rank's */
    for (int64_t e = 0; e < n; e++)
        plain(m, user[e] < m->e.x->rows ? user[e] : -1,
              item[e] < m->e.x->cols ? item[e] : -1, f + e * NEAR_FEATURES);
    return FERRY_OK;
}

ferry_status ferry_i_near_add(ferry_ctx *ctx, const rating_near *m, int64_t n,
                              const int64_t *user, const int64_t *item, double *value)
{
    ferry_status st = FERRY_OK;
    double *f = NULL;

    FERRY_NEW(ctx, f, n * NEAR_FEATURES);
    FERRY_TRY(ferry_i_near_features(ctx, m, n, user, item, f));
    for (int64_t e = 0; e < n; e++)
        for (int c = 0; c < NEAR_FEATURES; c++)
            value[e] += m->unit * m->w[c] * f[e * NEAR_FEATURES + c];
done:
    ferry_i_free(f);
    return st;
}

/* ---- the file ---- */

/* The rest follows from the residuals, which say who rated what as well. Users and items
 * that were folded in stand behind those of the residuals. */
void ferry_i_near_file(ferry_io *io, int64_t users, int64_t items, rating_near **near)
{
    if (ferry_i_io_loading(io)) FERRY_IO_NEW(io, *near, 1);
    if (io->st != FERRY_OK) return;
    rating_near *m = *near;
    double facts[] = {m->unit, m->s2, m->vb};
    ferry_i_io_numbers(io, "near", 3, facts);
    FERRY_IO_NEED(io, facts[0] >= 0 && facts[1] > 0 && facts[2] > 0,
                  "tensor near: a unit of %g, variances %g and %g", facts[0], facts[1],
                  facts[2]);
    ferry_i_io_numbers(io, "near.w", NEAR_FEATURES, m->w);
    ferry_i_io_matrix(io, "near.e", &m->e.x);
    FERRY_IO_NEED(io,
                  !m->e.x->dense && m->e.x->rows <= users && m->e.x->cols <= items &&
                      m->e.x->nnz > 0,
                  "tensor near.e: expected residuals of %lld users and %lld items",
                  (long long)users, (long long)items);
    for (int64_t e = 0; ferry_i_io_loading(io) && e < m->e.x->nnz; e++)
        FERRY_IO_NEED(io, isfinite(m->e.x->value[e]), "tensor near.e: not finite");
    if (io->st != FERRY_OK) return;
    ferry_i_io_reals(io, "near.a", 1, m->e.x->rows, &m->a);
    ferry_i_io_reals(io, "near.b", 1, m->e.x->cols, &m->b);
    if (!ferry_i_io_loading(io)) return;
    m->unit = facts[0];
    m->s2 = facts[1];
    m->vb = facts[2];
    ferry_i_io_fail(io, ferry_i_matrix_transpose(io->ctx, m->e.x, &m->e.xt));
    if (ferry_i_io_loading(io)) ferry_i_io_fail(io, derive(io->ctx, m));
}

ferry_status ferry_i_near_copy(ferry_ctx *ctx, const rating_near *from, rating_near **out)
{
    ferry_status st = FERRY_OK;
    rating_near *m = NULL;

    *out = NULL;
    FERRY_NEW(ctx, m, 1);
    *m = *from;
    m->a = m->b = m->z = m->slope_z = m->slope_b = NULL;
    m->e.x = ferry_i_matrix_ref(from->e.x);
    m->e.xt = ferry_i_matrix_ref(from->e.xt);
    FERRY_HAVE(ctx, m->a = copied(m->e.x->rows, from->a));
    FERRY_HAVE(ctx, m->b = copied(m->e.x->cols, from->b));
    FERRY_TRY(derive(ctx, m));
    FERRY_MOVE(*out, m);
done:
    ferry_i_near_free(m);
    return st;
}
