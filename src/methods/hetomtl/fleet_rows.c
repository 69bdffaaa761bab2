/* Rows of the fleet (fleet.h): what is kept of them, and their products.
 *
 * One array of floats gives all three products: with b the s of a row that is kept and a the
 * row that is asked for,
 *
 *   s_a's_b = b's_a,   u_a'u_b = (S_b / |x_b|) (b |b|)'u_a,
 *   q_a'q_b = q_a q_b (R_b b'w - mean'w),   w = (R_a s_a - mean) / sd^2,
 *
 * so that a stream reads a third of what three arrays would take: reading is what a row costs.
 * w is brought to unit length before it becomes floats. The distance of two rows of unit length
 * is right to 1e-7; that of q where deviations are not far below the means. */
#include <math.h>
#include <string.h>

#include "methods/hetomtl/fleet.h"

static double root(double v)
{
    return v < 0 ? -sqrt(-v) : sqrt(v);
}

static double mean_of(const fleet *f, int64_t j)
{
    return f->sparse ? 0 : f->mean[j]; /* sparse rows are not centred */
}

void ferry_i_fleet_lengths(const fleet *f, fleet_row *r)
{
    double q = 0;

    for (int64_t e = 0; e < r->n; e++) {
        const int64_t j = r->index ? r->index[e] : e;
        const double z = (double)r->s[e] * r->size - mean_of(f, j);
        q += z * z * f->by[j];
    }
    r->one[0] = r->one[1] = r->size > 0;
    r->one[2] = q > 0;
    r->q = q > 0 ? 1 / sqrt(q) : 0;
}

/* A row whose squares are too small to be added up counts as one of zeros. */
void ferry_i_fleet_map(const fleet *f, const ferry_row *x, fleet_room *room)
{
    fleet_row *r = &room->row;
    double norm = 0, sum = 0;

    for (int64_t e = 0; e < x->n; e++) {
        norm += x->value[e] * x->value[e];
        sum += fabs(x->value[e]);
    }
    norm = sqrt(norm);
    r->size = norm > 0 ? sqrt(sum) : 0;
    r->u = norm > 0 ? sum / norm : 0;
    const double by = norm > 0 ? 1 / r->size : 0;
    r->n = f->sparse ? 0 : f->d;
    if (!f->sparse && x->index) memset(r->s, 0, (size_t)f->d * sizeof *r->s);
    for (int64_t e = 0; e < x->n; e++) {
        const float s = (float)(root(x->value[e]) * by);
        if (!f->sparse) {
            r->s[x->index ? x->index[e] : e] = s;
        } else if (s != 0) {
            r->index[r->n] = (int32_t)(x->index ? x->index[e] : e);
            r->s[r->n++] = s;
        }
    }
    ferry_i_fleet_lengths(f, r);
}

void ferry_i_fleet_watch(fleet *f, const fleet_row *r, double *value)
{
    for (int64_t e = 0; e < r->n; e++)
        value[e] = (double)r->s[e] * r->size;
    const ferry_row row = {r->n, r->index, value};
    ferry_i_moments_add(&f->z, &row);
}

/* ---- products ---- */

void ferry_i_fleet_ask_for(const fleet *f, const fleet_row *r, fleet_room *room)
{
    double size = 0, mean = 0, *w = room->value;

    for (int64_t e = 0; e < r->n; e++) {
        const int64_t j = r->index ? r->index[e] : e;
        w[e] = ((double)r->s[e] * r->size - mean_of(f, j)) * f->by[j];
        size += w[e] * w[e];
        mean += w[e] * mean_of(f, j);
    }
    room->w_size = sqrt(size);
    room->w_mean = mean;
    const double by = size > 0 ? 1 / room->w_size : 0;
    for (int64_t e = 0; e < r->n; e++) {
        const int64_t j = r->index ? r->index[e] : e;
        const double s = (double)r->s[e];
        room->asked[0][j] = (float)(r->u * s * fabs(s));
        room->asked[1][j] = r->s[e];
        room->asked[2][j] = (float)(w[e] * by);
    }
}

/* Sparse: forget the row, entry by entry. */
void ferry_i_fleet_asked(const fleet *f, const fleet_row *r, fleet_room *room)
{
    for (int i = 0; f->sparse && i < FLEET_MAPS; i++)
        for (int64_t e = 0; e < r->n; e++)
            room->asked[i][r->index[e]] = 0;
}

/* dots (n x 3) <- b's, (b |b|)'u, b'w. */
static void dots(const fleet *f, fleet_room *room, bool all, int64_t n,
                 fleet_row *const *others)
{
    const ferry_asked a = {f->d, room->asked[1], all ? room->asked[0] : NULL,
                           room->asked[2]};

    for (int64_t j = 0; j < n; j++)
        room->rows[j] = others[j]->s;
    if (!f->sparse) {
        ferry_i_asked_dots(&a, n, room->rows, room->dots);
        return;
    }
    for (int64_t j = 0; j < n; j++) {
        const fleet_row *b = others[j];
        double *sum = room->dots + 3 * j;
        sum[0] = sum[1] = sum[2] = 0;
        for (int64_t e = 0; e < b->n; e++) {
            const int64_t at = b->index[e];
            sum[0] += (double)(b->s[e] * a.s[at]);
            sum[1] += (double)(b->s[e] * fabsf(b->s[e]) * room->asked[0][at]);
            sum[2] += (double)(b->s[e] * a.w[at]);
        }
    }
}

void ferry_i_fleet_products(const fleet *f, const fleet_row *r, fleet_room *room, int64_t n,
                            fleet_row *const *others, int64_t ld, double *out)
{
    dots(f, room, true, n, others);
    for (int64_t j = 0; j < n; j++) {
        const fleet_row *b = others[j];
        const double *sum = room->dots + 3 * j;
        out[j] = b->u * sum[1];
        out[ld + j] = sum[0];
        out[2 * ld + j] = r->q * b->q * (room->w_size * b->size * sum[2] - room->w_mean);
    }
}

void ferry_i_fleet_near(const fleet *f, fleet_room *room, int64_t n,
                        fleet_row *const *others, double *out)
{
    dots(f, room, false, n, others);
    for (int64_t j = 0; j < n; j++)
        out[j] = room->dots[3 * j];
}

/* ---- memory ---- */

ferry_status ferry_i_fleet_row_new(ferry_ctx *ctx, const fleet *f, int64_t n,
                                   const fleet_row *from, fleet_row **out)
{
    ferry_status st = FERRY_OK;
    fleet_row *r = NULL;
    float *s = NULL;
    int32_t *index = NULL;

    *out = NULL;
    FERRY_NEW(ctx, r, 1);
    FERRY_NEW(ctx, s, n);
    if (f->sparse) FERRY_NEW(ctx, index, n);
    if (from) {
        *r = *from;
        memcpy(s, from->s, (size_t)n * sizeof *s);
        if (f->sparse) memcpy(index, from->index, (size_t)n * sizeof *index);
    }
    r->refs = 1;
    r->n = n;
    FERRY_MOVE(r->s, s);
    FERRY_MOVE(r->index, index);
    FERRY_MOVE(*out, r);
done:
    FERRY_FREE(s, index, r);
    return st;
}

void ferry_i_fleet_drop(fleet_row *r)
{
    if (!r || --r->refs > 0) return;
    FERRY_FREE(r->s, r->index, r);
}

ferry_status ferry_i_fleet_room(ferry_ctx *ctx, const fleet *f, fleet_room *room)
{
    ferry_status st = FERRY_OK;
    const int64_t most = f->m > FLEET_NEW ? f->m : FLEET_NEW;

    *room = (fleet_room){.k = f->k};
    FERRY_NEW(ctx, room->row.s, f->d);
    FERRY_NEW(ctx, room->asked[0], FLEET_MAPS * f->d);
    for (int i = 1; i < FLEET_MAPS; i++)
        room->asked[i] = room->asked[0] + i * f->d;
    if (f->sparse) FERRY_NEW(ctx, room->row.index, f->d);
    FERRY_NEW(ctx, room->last, f->d);
    FERRY_NEW(ctx, room->rows, most);
    FERRY_NEW(ctx, room->dots, 3 * most);
    FERRY_NEW(ctx, room->value, 2 * f->d);
    FERRY_NEW(ctx, room->gram, FLEET_MAPS * f->m);
    FERRY_NEW(ctx, room->near, FLEET_NEW);
    FERRY_NEW(ctx, room->l, FLEET_RIDGES * f->m);
    FERRY_NEW(ctx, room->f, FLEET * f->k);
    FERRY_TRY(ferry_i_scale_room_new(ctx, f->d, &room->raw));
done:
    return st;
}

void ferry_i_fleet_room_clear(fleet_room *room)
{
    FERRY_FREE(room->row.s, room->row.index, room->asked[0], room->last, room->rows,
               room->dots, room->value, room->gram, room->near, room->l, room->f);
    ferry_i_scale_room_clear(&room->raw);
    *room = (fleet_room){.k = 0};
}
