/* How the fleet begins, and begins again (fleet.h). Nothing here fails but for making room:
 * a label may make it begin again, and must not be half learned. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "methods/hetomtl/fleet.h"

enum { MEDIAN_ROWS = 200 };
static const double lambda = 0.1;
static const int map_of[FLEET_RIDGES] = {0, 1, 2, 1};

ferry_status ferry_i_fleet_new(ferry_ctx *ctx, int64_t k, int64_t m, fleet *f)
{
    ferry_status st = FERRY_OK;
    const int64_t side = m > FLEET_NEW ? m : FLEET_NEW;

    f->m = m;
    f->votes = 3 + FLEET * (k + FLEET_MORE);
    for (int i = 0; i < FLEET_MAPS; i++)
        f->h[i] = 1;
    for (int i = 1; i <= FLEET_NEW; i++)
        f->nlogn[i] = i * log(i);
    FERRY_NEW(ctx, f->mean, f->d);
    FERRY_NEW(ctx, f->sd, f->d);
    FERRY_NEW(ctx, f->by, f->d);
    FERRY_NEW(ctx, f->basis, m);
    FERRY_NEW(ctx, f->work, side * side);
    FERRY_NEW(ctx, f->young, FLEET_NEW * FLEET_NEW);
    FERRY_TRY(ferry_i_moments_new(ctx, f->d, &f->z));
    FERRY_TRY(ferry_i_pa_new(ctx, FERRY_PA1, 1, 0, f->d, true, &f->pa));
    for (int e = 0; e < FLEET_RIDGES; e++)
        FERRY_TRY(ferry_i_kridge_new(ctx, m, 0, lambda, f->work, &f->ridge[e]));
    FERRY_TRY(ferry_i_fleet_room(ctx, f, &f->room));
    FERRY_TRY(ferry_i_fleet_classes(ctx, f, k));
done:
    return st;
}

void ferry_i_fleet_clear(fleet *f)
{
    for (int64_t i = 0; f->basis && i < f->n; i++)
        ferry_i_fleet_drop(f->basis[i]);
    for (int64_t i = 0; i < f->n_ring; i++)
        ferry_i_fleet_drop(f->ring[i]);
    for (int e = 0; e < FLEET_RIDGES; e++)
        ferry_i_kridge_clear(&f->ridge[e]);
    ferry_i_online_clear(&f->in);
    ferry_i_moments_clear(&f->z);
    ferry_i_pa_free(f->pa);
    ferry_i_fleet_room_clear(&f->room);
    FERRY_FREE(f->mean, f->sd, f->by, f->basis, f->work, f->warm, f->sum, f->length,
               f->young, f->alpha);
    *f = (fleet){.k = 0};
}

/* *a <- room for k rows of `row` numbers, those after `had` zero. */
static ferry_status grow(ferry_ctx *ctx, int64_t had, int64_t k, int64_t row, double **a)
{
    double *more = ferry_i_realloc(*a, k * row > 0 ? k * row : 1, sizeof *more);

    if (!more) return ferry_i_nomem(ctx);
    memset(more + had * row, 0, (size_t)((k - had) * row) * sizeof *more);
    *a = more;
    return FERRY_OK;
}

/* A new class has zero columns everywhere. When one part cannot grow all stay as they
 * were. */
ferry_status ferry_i_fleet_classes(ferry_ctx *ctx, fleet *f, int64_t k)
{
    ferry_status st = FERRY_OK;

    if (k <= f->k) return FERRY_OK;
    FERRY_TRY(grow(ctx, f->k, k, FLEET, &f->room.f));
    FERRY_TRY(grow(ctx, f->k, k, FLEET_RIDGES * f->m + FLEET + 1, &f->warm));
    FERRY_TRY(grow(ctx, f->k, k, f->d, &f->sum));
    FERRY_TRY(grow(ctx, f->k, k, 1, &f->length));
    FERRY_TRY(grow(ctx, f->k, k, FLEET_NEW, &f->alpha));
    FERRY_TRY(ferry_i_pa_classes(ctx, f->pa, k));
    for (int e = 0; e < FLEET_RIDGES; e++)
        FERRY_TRY(ferry_i_kridge_classes(ctx, &f->ridge[e], k));
    f->k = k;
done:
    f->pa->k = f->k;
    for (int e = 0; e < FLEET_RIDGES; e++)
        if (f->ridge[e].k > f->k) f->ridge[e].k = f->k;
    return st;
}

/* ---- the ridges ---- */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median squared distance of the first rows, from products (rows f->m apart); 1 when they
 * are all the same. */
static double bandwidth(fleet *f, const double *product)
{
    int64_t rows = f->n0 < f->n ? f->n0 : f->n, n = 0;
    double *d2 = f->work;

    if (rows > MEDIAN_ROWS) rows = MEDIAN_ROWS;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < i; j++)
            d2[n++] = fmax(2 - 2 * product[i * f->m + j], 0);
    if (n == 0) return 1;
    qsort(d2, (size_t)n, sizeof *d2, by_size);
    const double middle = (d2[(n - 1) / 2] + d2[n / 2]) / 2;
    return middle > 1e-9 ? middle : 1;
}

static void fit_ridge(fleet *f, int e)
{
    ferry_kridge *r = &f->ridge[e];
    const int map = map_of[e];

    if (e < FLEET_MAPS) f->h[e] = bandwidth(f, r->l);
    for (int64_t i = 0; i < f->n; i++) {
        const fleet_row *a = f->basis[i];
        r->cls[i] = a->cls;
        for (int64_t j = 0; j <= i; j++)
            r->l[i * f->m + j] =
                ferry_i_fleet_kernel(f, e, i == j ? a->one[map] : r->l[i * f->m + j],
                                     a->one[map], f->basis[j]->one[map]);
    }
    ferry_i_kridge_fit(r, f->n);
}

/* Ridges `from` to `to`: the products of all pairs of rows first. */
static void fit_ridges(fleet *f, int from, int to)
{
    fleet_room *room = &f->room;

    for (int64_t i = 0; i < f->n; i++) {
        ferry_i_fleet_ask_for(f, f->basis[i], room);
        ferry_i_fleet_products(f, f->basis[i], room, i, f->basis, f->m, room->gram);
        ferry_i_fleet_asked(f, f->basis[i], room);
        for (int e = from; e < to; e++)
            memcpy(f->ridge[e].l + i * f->m, room->gram + map_of[e] * f->m,
                   (size_t)i * sizeof *room->gram);
    }
    for (int e = from; e < to; e++)
        fit_ridge(f, e);
}

/* Rows by means and deviations that are new. */
void ferry_i_fleet_scaled(fleet *f)
{
    for (int64_t j = 0; j < f->d; j++)
        f->by[j] = 1 / (f->sd[j] * f->sd[j]);
    for (int64_t i = 0; i < f->n; i++)
        ferry_i_fleet_lengths(f, f->basis[i]);
}

/* q's means and deviations as they are now. */
static void freeze(fleet *f)
{
    const double n = f->z.n > 0 ? (double)f->z.n : 1;
    double least = 0;

    memcpy(f->mean, f->z.mean, (size_t)f->d * sizeof *f->mean);
    for (int64_t j = 0; j < f->d; j++) {
        f->sd[j] = sqrt(f->z.m2[j] / n);
        least += 0.1 * f->sd[j] / (double)f->d;
    }
    for (int64_t j = 0; j < f->d; j++)
        f->sd[j] = fmax(f->sd[j], least > 0 ? least : 1);
    f->next = 2 * f->z.n;
    ferry_i_fleet_scaled(f);
}

void ferry_i_fleet_refresh(fleet *f)
{
    freeze(f);
    fit_ridges(f, FLEET_QR, FLEET_QR + 1);
}

/* ---- the mixer's first weights ---- */

/* ncm's scores of a row without that row. */
static void ncm_left_out(const fleet *f, const fleet_row *r, double *value, double *out)
{
    double *v = value + f->d;

    for (int64_t c = 0; c < f->k; c++) {
        double product = 0, norm = 0;
        memcpy(v, f->sum + c * f->d, (size_t)f->d * sizeof *v);
        for (int64_t e = 0; e < r->n && c == r->cls; e++)
            v[r->index ? r->index[e] : e] -= (double)r->s[e];
        for (int64_t e = 0; e < r->n; e++)
            product += (double)r->s[e] * v[r->index ? r->index[e] : e];
        for (int64_t j = 0; j < f->d; j++)
            norm += v[j] * v[j];
        norm = sqrt(norm);
        out[c] = norm > 1e-9 ? product / norm : 0;
    }
}

/* Over the rows' scores, each row left out; pavg has no cheap way to do that and takes no
 * part. */
static void warm_up(fleet *f)
{
    const int64_t k = f->k;
    double *scores = f->warm, *out = f->warm + (FLEET + 1) * k;

    for (int e = 0; e < FLEET_RIDGES; e++)
        ferry_i_kridge_leave_out(&f->ridge[e], out + e * f->n * k);
    for (int64_t i = 0; i < f->n; i++) {
        for (int e = 0; e < FLEET_RIDGES; e++)
            memcpy(scores + e * k, out + (e * f->n + i) * k, (size_t)k * sizeof *scores);
        ncm_left_out(f, f->basis[i], f->room.value, scores + FLEET_NCM * k);
        memset(scores + FLEET_PAVG * k, 0, (size_t)k * sizeof *scores);
        for (int e = 0; e < FLEET; e++)
            ferry_i_fleet_unit(k, scores + e * k);
        ferry_i_fleet_mix(f, scores, f->basis[i]->cls);
    }
}

/* ---- the sentinel ---- */

/* (K + lambda I) alpha = Y over the newest rows that hold, `n` of them. */
static void sentinel(fleet *f)
{
    const int64_t since = ferry_i_fleet_since(f);
    const int64_t n = f->n_ring < since ? f->n_ring : since, old = f->n_ring - n;

    for (int64_t i = 0; i < n; i++) {
        double *row = f->work + i * FLEET_NEW;
        memcpy(row, f->young + (old + i) * FLEET_NEW + old, (size_t)(i + 1) * sizeof *row);
        row[i] += lambda;
    }
    ferry_i_lower_cholesky(n, FLEET_NEW, f->work);
    if (f->k > 0) memset(f->alpha, 0, (size_t)(f->k * FLEET_NEW) * sizeof *f->alpha);
    for (int64_t i = old; i < f->n_ring; i++)
        f->alpha[f->ring[i]->cls * FLEET_NEW + i] = 1;
    ferry_i_lower_systems(n, FLEET_NEW, f->work, f->k, FLEET_NEW, f->alpha + old);
    for (int64_t c = 0; c < f->k; c++)
        ferry_i_lower_solve_t(n, FLEET_NEW, f->work, f->alpha + c * FLEET_NEW + old);
}

/* Row i of the ring's kernels from products with the rows before it. */
static void young_row(fleet *f, int64_t i, const double *near)
{
    double *row = f->young + i * FLEET_NEW;

    for (int64_t j = 0; j <= i; j++)
        row[j] =
            ferry_i_fleet_kernel(f, FLEET_SR, i == j ? f->ring[i]->one[1] : near[j], 1, 1);
}

static const double *near_of(fleet *f, const fleet_row *r, int64_t n)
{
    fleet_room *room = &f->room;

    ferry_i_fleet_ask_for(f, r, room);
    ferry_i_fleet_near(f, room, n, f->ring, room->near);
    ferry_i_fleet_asked(f, r, room);
    return room->near;
}

void ferry_i_fleet_ring(fleet *f)
{
    for (int64_t i = 0; i < f->n_ring; i++)
        young_row(f, i, near_of(f, f->ring[i], i));
    sentinel(f);
}

void ferry_i_fleet_newest(fleet *f, fleet_row *r, const double *near)
{
    if (!near) near = near_of(f, r, f->n_ring);
    if (f->n_ring == FLEET_NEW) {
        near++;
        ferry_i_fleet_drop(f->ring[0]);
        memmove(f->ring, f->ring + 1, (FLEET_NEW - 1) * sizeof *f->ring);
        for (int64_t i = 1; i < FLEET_NEW; i++)
            memmove(f->young + (i - 1) * FLEET_NEW, f->young + i * FLEET_NEW + 1,
                    (size_t)i * sizeof *f->young);
    } else {
        f->n_ring++;
    }
    f->ring[f->n_ring - 1] = r;
    r->refs++;
    young_row(f, f->n_ring - 1, near);
    sentinel(f);
}

/* ---- the whole ---- */

void ferry_i_fleet_start(fleet *f, bool count)
{
    for (int64_t i = 0; count && i < f->n; i++)
        ferry_i_fleet_watch(f, f->basis[i], f->room.value);
    freeze(f);
    fit_ridges(f, 0, FLEET_RIDGES);
    if (f->k > 0) {
        memset(f->sum, 0, (size_t)(f->k * f->d) * sizeof *f->sum);
        memset(f->length, 0, (size_t)f->k * sizeof *f->length);
        memset(f->pa->w, 0, (size_t)(f->k * f->d) * sizeof *f->pa->w);
        memset(f->pa->u, 0, (size_t)(f->k * f->d) * sizeof *f->pa->u);
    }
    for (int64_t i = 0; i < f->n; i++) {
        f->pa->steps = 1; /* the average begins with the stream */
        ferry_i_fleet_linear(f, f->basis[i], f->room.value, f->basis[i]->cls);
    }
    f->pa->steps = 1;
    memset(f->hess, 0, sizeof f->hess);
    for (int e = 0; e < FLEET; e++) {
        f->w[e] = 4. / FLEET;
        f->hess[e * (FLEET + 1)] = 1;
    }
    f->n_past = 0;
    if (f->n >= 2 * f->k && f->n < f->m && f->k > 0) warm_up(f);
    ferry_i_fleet_ring(f);
}

void ferry_i_fleet_again(fleet *f, int64_t since)
{
    const int64_t old = f->n_ring > since ? f->n_ring - since : 0;

    for (int64_t i = 0; i < old; i++)
        ferry_i_fleet_drop(f->ring[i]);
    f->n_ring -= old;
    memmove(f->ring, f->ring + old, (size_t)f->n_ring * sizeof *f->ring);
    const int64_t n = f->n_ring < f->m ? f->n_ring : f->m;
    for (int64_t i = 0; i < f->n; i++)
        ferry_i_fleet_drop(f->basis[i]);
    for (int64_t i = 0; i < n; i++) {
        f->basis[i] = f->ring[f->n_ring - n + i];
        f->basis[i]->refs++;
    }
    f->n = f->n0 = n;
    f->z.n = 0;
    memset(f->z.mean, 0, (size_t)f->d * sizeof *f->z.mean);
    memset(f->z.m2, 0, (size_t)f->d * sizeof *f->z.m2);
    ferry_i_fleet_start(f, true);
}
