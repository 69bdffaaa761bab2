/* Variational Bayes for ratings (vb.h). */
#include "methods/shared/vb.h"

#include <math.h>
#include <string.h>

#include "learn/nnls.h"
#include "linalg/vb_rows.h"

/* One side, users or items: means, covariances (d x d each), and what the other side adds up
 * of them, made once a half sweep: phi phi' + S' as the lower triangle, row after row. All ranks have all rows;
 * those from `first` on, as many as the matrix has, are this one's to work out. */
typedef struct side {
    int64_t n, d, first;
    ferry_block *z;
    double *s; /* n x d x d, or n x d: step is the distance of variances */
    int64_t step;
    double *packed; /* n x d (d + 1) / 2, or none */
    double *sse;    /* n */
    double *v;      /* d: variances, that of the bias first */
} side;

static void side_clear(side *s)
{
    FERRY_FREE(s->z, s->s, s->packed, s->sse, s->v);
}

static ferry_status side_new(ferry_ctx *ctx, int64_t n, int64_t first, int64_t rank,
                             bool diagonal, side *s)
{
    ferry_status st = FERRY_OK;
    const int64_t d = rank + 1;

    s->n = n;
    s->first = first;
    s->d = d;
    FERRY_TRY(ferry_i_block_new(ctx, n, d, &s->z));
    s->step = diagonal ? 1 : d + 1;
    FERRY_NEW(ctx, s->s, diagonal ? n * d : n * d * d);
    if (!diagonal) FERRY_NEW(ctx, s->packed, n * d * (d + 1) / 2);
    FERRY_NEW(ctx, s->sse, n);
    FERRY_NEW(ctx, s->v, d);
    s->v[0] = 0.2; /* a fifth of the variance each for users, items and the factors */
    for (int64_t c = 1; c < d; c++)
        s->v[c] = sqrt(0.2 / (double)rank);
done:
    return st;
}

/* packed <- phi phi' + S' of every row. */
static void pack(side *s)
{
    const int64_t d = s->d;

    for (int64_t j = 0; j < s->n; j++) {
        const double *y = FERRY_ROW(s->z, j), *cov = s->s + j * d * d;
        double *to = s->packed + j * d * (d + 1) / 2;
        *to++ = 1;
        for (int64_t a = 1; a < d; a++) {
            *to++ = y[a];
            for (int64_t b = 1; b <= a; b++)
                *to++ = y[a] * y[b] + cov[a * d + b];
        }
    }
}

/* Scratch of a thread. */
typedef struct room {
    double *a, *full, *c; /* d (d + 1) / 2, d x d, d */
} room;

/* S <- (A / s2 + diag(1 / v))^-1, both triangles; r->full keeps A. */
static void invert(const side *s, const room *r, double s2, double *cov)
{
    const int64_t d = s->d;
    const double *a = r->a;

    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j <= i; j++)
            r->full[i * d + j] = *a++ / s2 + (i == j ? 1 / fmax(s->v[i], 1e-9) : 0);
    (void)ferry_i_factor(d, r->full); /* a sum of squares and a positive diagonal */
    memset(cov, 0, (size_t)(d * d) * sizeof *cov);
    for (int64_t i = 0; i < d; i++) {
        cov[i * d + i] = 1;
        ferry_i_factor_solve(d, r->full, cov + i * d);
    }
}

/* Row i given the other side: A and c summed over its ratings, then S_i, z_i and what it
 * leaves of the squares. */
static void solve_row(const ferry_matrix *x, int64_t i, const vb_fit *f, const side *other,
                      const room *r, side *s)
{
    const int64_t d = s->d, cells = d * (d + 1) / 2;
    double *z = FERRY_ROW(s->z, s->first + i), *cov = s->s + (s->first + i) * d * d, t2 = 0,
           zc = 0, quad = 0;
    const double *a = r->a;

    memset(r->a, 0, (size_t)cells * sizeof *r->a);
    memset(r->c, 0, (size_t)d * sizeof *r->c);
    for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
        const int64_t j = x->index[e];
        const double *y = FERRY_ROW(other->z, j), *sj = other->s + j * d * d,
                     *add = other->packed + j * cells;
        const double t = (x->value[e] - f->mu) / f->sd - y[0];
        t2 += t * t + sj[0];
        r->c[0] += t;
        for (int64_t c = 1; c < d; c++)
            r->c[c] += y[c] * t - sj[c];
#pragma omp simd
        for (int64_t c = 0; c < cells; c++)
            r->a[c] += add[c];
    }
    invert(s, r, f->s2, cov);
    for (int64_t p = 0; p < d; p++) {
        z[p] = 0;
        for (int64_t q = 0; q < d; q++)
            z[p] += cov[p * d + q] * r->c[q] / f->s2;
        zc += z[p] * r->c[p];
    }
    for (int64_t p = 0; p < d; p++)
        for (int64_t q = 0; q <= p; q++)
            quad += (p == q ? 1 : 2) * *a++ * (z[p] * z[q] + cov[p * d + q]);
    s->sse[s->first + i] = t2 - 2 * zc + quad;
}

/* The same where covariances are diagonal: linalg/vb_rows.h has the formulas. */
static ferry_status half_diagonal(ferry_ctx *ctx, const ferry_matrix *x, const vb_fit *f,
                                  const side *other, side *s)
{
    ferry_status st = FERRY_OK;
    double *ridge = NULL;

    FERRY_NEW(ctx, ridge, s->d);
    for (int64_t c = 0; c < s->d; c++)
        ridge[c] = f->s2 / fmax(s->v[c], 1e-9);
    const ferry_vb_half v = {.x = x,
                             .d = s->d,
                             .mu = f->mu,
                             .sd = f->sd,
                             .s2 = f->s2,
                             .y = other->z->data,
                             .var = other->s,
                             .ridge = ridge,
                             .z = s->z->data + s->first * s->d,
                             .cov = s->s + s->first * s->d,
                             .sse = s->sse + s->first};
    FERRY_TRY(ferry_i_vb_half(ctx, &v));
done:
    ferry_i_free(ridge);
    return st;
}

/* All rows of one side; they do not depend on each other. */
static ferry_status half(ferry_ctx *ctx, const ferry_matrix *x, const vb_fit *f,
                         side *other, side *s)
{
    ferry_status st = FERRY_OK;
    const int64_t d = s->d, each = d * (d + 1) / 2 + d * d + d;
    const int threads = x->nnz * d * d < 1000000 ? 1 : ctx->threads;
    double *space = NULL;

    if (!s->packed) return half_diagonal(ctx, x, f, other, s);
    FERRY_NEW(ctx, space, threads * each);
    pack(other);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        double *own = space + t * each;
        const room r = {own, own + d * (d + 1) / 2, own + d * (d + 1) / 2 + d * d};
        for (int64_t i = t; i < x->rows; i += threads)
            solve_row(x, i, f, other, &r, s);
    }
done:
    ferry_i_free(space);
    return st;
}

/* What this rank has worked out, for all. */
static ferry_status share(ferry_ctx *ctx, const observed *o, bool items, side *s)
{
    const size_t row = (size_t)s->d * sizeof *s->s;

    FERRY_PASS(ferry_i_observed_share(ctx, o, items, row, s->z->data));
    return ferry_i_observed_share(ctx, o, items, s->step == 1 ? row : (size_t)s->d * row,
                                  s->s);
}

/* The variances of a side: of the bias with the prior of n0, of the factors as they are. */
static ferry_status learn(ferry_ctx *ctx, const observed *o, bool items, double n0,
                          double s2, bool factors, side *s)
{
    const ferry_matrix *x = items ? o->xt : o->x;
    const int64_t d = s->d;
    double rows = 0;

    for (int64_t c = 0; c < (factors ? d : 1); c++)
        s->v[c] = 0;
    for (int64_t i = 0; i < x->rows; i++) {
        const double *z = FERRY_ROW(s->z, s->first + i),
                     *cov = s->s + (s->first + i) * d * (s->step == 1 ? 1 : d);
        if (x->start[i] == x->start[i + 1]) continue; /* nothing was learnt of it */
        rows++;
        for (int64_t c = 0; c < (factors ? d : 1); c++)
            s->v[c] += z[c] * z[c] + cov[c * s->step];
    }
    FERRY_PASS(ferry_i_observed_sum(ctx, o, 1, &rows));
    FERRY_PASS(ferry_i_observed_sum(ctx, o, factors ? d : 1, s->v));
    s->v[0] = (s->v[0] + n0 * s2 / 5) / (rows + n0);
    for (int64_t c = 1; c < (factors ? d : 1); c++)
        s->v[c] /= rows;
    return FERRY_OK;
}

/* mu and the population's deviation. */
static ferry_status moments_of(ferry_ctx *ctx, const observed *o, vb_fit *f)
{
    const ferry_matrix *x = o->x;
    const double n = (double)ferry_i_observed_count(o);
    double sum = 0, squares = 0;

    for (int64_t e = 0; e < x->nnz; e++)
        sum += x->value[e];
    FERRY_PASS(ferry_i_observed_sum(ctx, o, 1, &sum));
    f->mu = sum / n;
    for (int64_t e = 0; e < x->nnz; e++)
        squares += (x->value[e] - f->mu) * (x->value[e] - f->mu);
    FERRY_PASS(ferry_i_observed_sum(ctx, o, 1, &squares));
    f->sd = sqrt(squares / n);
    return FERRY_OK;
}

void ferry_i_vb_clear(vb_fit *f)
{
    FERRY_FREE(f->v, f->vq, f->zu, f->zi);
    *f = (vb_fit){0};
}

double ferry_i_vb_at(const vb_fit *f, int64_t user, int64_t item)
{
    const double *z = FERRY_ROW(f->zu, user), *y = FERRY_ROW(f->zi, item);
    double x = z[0] + y[0];

    for (int64_t c = 1; c < f->zu->k; c++)
        x += z[c] * y[c];
    return x;
}

static ferry_status sweeps(ferry_ctx *ctx, const observed *o, const vb_how *how, side *u,
                           side *i, vb_fit *f)
{
    f->s2 = 0.8;
    for (int64_t t = 0; t < how->sweeps && f->sd > 0; t++) {
        double sum = 0;
        FERRY_PASS(half(ctx, o->x, f, i, u));
        FERRY_PASS(share(ctx, o, false, u));
        FERRY_PASS(half(ctx, o->xt, f, u, i));
        FERRY_PASS(share(ctx, o, true, i));
        for (int64_t j = 0; j < o->xt->rows; j++)
            sum += i->sse[i->first + j];
        FERRY_PASS(ferry_i_observed_sum(ctx, o, 1, &sum));
        f->s2 = fmax(sum / (double)ferry_i_observed_count(o),
                     1e-9); /* ratings without any noise */
        if (t >= 1) {
            FERRY_PASS(learn(ctx, o, false, how->n0, f->s2, t >= how->burn, u));
            FERRY_PASS(learn(ctx, o, true, how->n0, f->s2, t >= how->burn, i));
        }
    }
    return FERRY_OK;
}

ferry_status ferry_i_vb(ferry_ctx *ctx, const observed *o, const vb_how *how,
                        const ferry_block *q0, vb_fit *out)
{
    ferry_status st = FERRY_OK;
    const int64_t k = how->rank;
    side u = {0}, i = {0};

    *out = (vb_fit){0};
    FERRY_TRY(moments_of(ctx, o, out));
    FERRY_NEED(ctx, isfinite(out->sd), FERRY_EDATA, "the ratings are too large to add up");
    FERRY_TRY(
        side_new(ctx, o->xt->cols, ferry_i_observed_user(ctx, o), k, how->diagonal, &u));
    FERRY_TRY(
        side_new(ctx, o->x->cols, ferry_i_observed_item(ctx, o), k, how->diagonal, &i));
    for (int64_t j = 0; j < i.n; j++)
        for (int64_t c = 0; c < k; c++)
            FERRY_ROW(i.z, j)[1 + c] = FERRY_ROW(q0, j)[c] * sqrt(i.v[1 + c]);
    FERRY_TRY(sweeps(ctx, o, how, &u, &i, out));
    FERRY_NEW(ctx, out->v, k);
    FERRY_NEW(ctx, out->vq, k);
    out->va = u.v[0];
    out->vb = i.v[0];
    memcpy(out->v, u.v + 1, (size_t)k * sizeof *out->v);
    memcpy(out->vq, i.v + 1, (size_t)k * sizeof *out->vq);
    FERRY_MOVE(out->zu, u.z);
    FERRY_MOVE(out->zi, i.z);
done:
    side_clear(&u);
    side_clear(&i);
    return st;
}
