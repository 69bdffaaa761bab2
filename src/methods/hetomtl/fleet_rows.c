/* Rows of the fleet (fleet.h): their maps and products.
 *
 * What is kept of a row is u as floats and |x|; s and q follow from them, in the same way
 * when the row is seen, learned and loaded, so that a stream comes back with the same bits.
 * Products are sums of floats over short pieces, added up as doubles: the distance of two
 * rows of unit length is right to 1e-7. */
#include <math.h>
#include <string.h>

#include "methods/hetomtl/fleet.h"

enum { PIECE = 256, LANES = 16 };

static double dot(int64_t n, const float *a, const float *b)
{
    double sum = 0;
    int64_t i = 0;

    while (i + LANES <= n) {
        float lane[LANES] = {0};
        const int64_t end = i + PIECE < n ? i + PIECE : n;
        for (; i + LANES <= end; i += LANES)
            for (int j = 0; j < LANES; j++)
                lane[j] += a[i + j] * b[i + j];
        for (int j = 0; j < LANES; j++)
            sum += (double)lane[j];
    }
    for (; i < n; i++)
        sum += (double)(a[i] * b[i]);
    return sum;
}

double ferry_i_fleet_with(const fleet_room *room, const fleet_row *r, int map)
{
    const float *v = r->map[map];
    double sum = 0;

    if (!r->index) return dot(r->n, room->row.map[map], v);
    for (int64_t e = 0; e < r->n; e++)
        sum += (double)(v[e] * room->wide[map][r->index[e]]);
    return sum;
}

double ferry_i_fleet_between(const fleet_row *a, const fleet_row *b, int map)
{
    double sum = 0;

    if (!a->index) return dot(a->n, a->map[map], b->map[map]);
    for (int64_t i = 0, j = 0; i < a->n && j < b->n;) {
        if (a->index[i] == b->index[j])
            sum += (double)(a->map[map][i++] * b->map[map][j++]);
        else if (a->index[i] < b->index[j])
            i++;
        else
            j++;
    }
    return sum;
}

static double root(double v)
{
    return v < 0 ? -sqrt(-v) : sqrt(v);
}

/* Twice through the row: lengths, then the maps. q is (r - mean) / sd before it is scaled to
 * unit length; sparse rows are not centred. */
void ferry_i_fleet_maps(const fleet *f, fleet_row *r)
{
    const double size = sqrt(r->norm);
    double s = 0, q = 0;

    for (int64_t e = 0; e < r->n; e++) {
        const int64_t j = r->index ? r->index[e] : e;
        const double u = (double)r->map[0][e], v = root(u);
        const double z = (v * size - (r->index ? 0 : f->mean[j])) / f->sd[j];
        s += fabs(u); /* |r|^2 = |x| times this */
        q += z * z;
    }
    r->one[0] = r->one[1] = s > 0;
    r->one[2] = q > 0;
    s = s > 0 ? 1 / sqrt(s) : 0;
    q = q > 0 ? 1 / sqrt(q) : 0;
    for (int64_t e = 0; e < r->n; e++) {
        const int64_t j = r->index ? r->index[e] : e;
        const double v = root((double)r->map[0][e]);
        r->map[1][e] = (float)(v * s);
        r->map[2][e] = (float)((v * size - (r->index ? 0 : f->mean[j])) / f->sd[j] * q);
    }
}

/* Sparse: forget the row before, entry by entry. */
static void unfold(fleet_room *room, bool set)
{
    const fleet_row *r = &room->row;

    for (int i = 0; i < FLEET_MAPS; i++)
        for (int64_t e = 0; e < r->n; e++)
            room->wide[i][r->index[e]] = set ? r->map[i][e] : 0;
}

void ferry_i_fleet_map(const fleet *f, const ferry_row *x, fleet_room *room)
{
    fleet_row *r = &room->row;
    double norm = 0;

    if (f->sparse) unfold(room, false);
    for (int64_t e = 0; e < x->n; e++)
        norm += x->value[e] * x->value[e];
    r->norm = sqrt(norm);
    const double by = r->norm > 0 ? 1 / r->norm : 0;
    if (f->sparse) {
        r->n = 0;
        for (int64_t e = 0; e < x->n; e++) {
            const float u = (float)(x->value[e] * by);
            if (u == 0) continue;
            r->index[r->n] = (int32_t)(x->index ? x->index[e] : e);
            r->map[0][r->n++] = u;
        }
    } else {
        r->n = f->d;
        if (x->index) memset(r->map[0], 0, (size_t)f->d * sizeof(float));
        for (int64_t e = 0; e < x->n; e++)
            r->map[0][x->index ? x->index[e] : e] = (float)(x->value[e] * by);
    }
    ferry_i_fleet_maps(f, r);
    if (f->sparse) unfold(room, true);
}

void ferry_i_fleet_watch(fleet *f, const fleet_row *r, double *value)
{
    for (int64_t e = 0; e < r->n; e++)
        value[e] = root((double)r->map[0][e]) * sqrt(r->norm);
    const ferry_row row = {r->n, r->index, value};
    ferry_i_moments_add(&f->z, &row);
}

ferry_status ferry_i_fleet_row_new(ferry_ctx *ctx, const fleet *f, int64_t n,
                                   const int32_t *index, const float *u, fleet_row **out)
{
    ferry_status st = FERRY_OK;
    fleet_row *r = NULL;
    float *map = NULL;

    *out = NULL;
    FERRY_NEW(ctx, r, 1);
    r->refs = 1;
    r->n = n;
    FERRY_NEW(ctx, map, FLEET_MAPS * n);
    for (int i = 0; i < FLEET_MAPS; i++)
        r->map[i] = map + i * n;
    if (f->sparse) FERRY_NEW(ctx, r->index, n);
    if (u) memcpy(r->map[0], u, (size_t)n * sizeof *u);
    if (u && f->sparse) memcpy(r->index, index, (size_t)n * sizeof *index);
    FERRY_MOVE(*out, r);
done:
    ferry_i_fleet_drop(r);
    return st;
}

void ferry_i_fleet_drop(fleet_row *r)
{
    if (!r || --r->refs > 0) return;
    FERRY_FREE(r->map[0], r->index, r);
}

ferry_status ferry_i_fleet_room(ferry_ctx *ctx, const fleet *f, fleet_room *room)
{
    ferry_status st = FERRY_OK;
    float *map = NULL;

    *room = (fleet_room){.k = f->k};
    FERRY_NEW(ctx, map, FLEET_MAPS * f->d);
    for (int i = 0; i < FLEET_MAPS; i++)
        room->row.map[i] = map + i * f->d;
    if (f->sparse) {
        FERRY_NEW(ctx, room->wide[0], FLEET_MAPS * f->d);
        for (int i = 1; i < FLEET_MAPS; i++)
            room->wide[i] = room->wide[0] + i * f->d;
        FERRY_NEW(ctx, room->row.index, f->d);
    }
    FERRY_NEW(ctx, room->last, f->d);
    FERRY_NEW(ctx, room->value, 2 * f->d);
    FERRY_NEW(ctx, room->gram, FLEET_MAPS * f->m);
    FERRY_NEW(ctx, room->l, FLEET_RIDGES * f->m);
    FERRY_NEW(ctx, room->f, FLEET * f->k);
    FERRY_TRY(ferry_i_scale_room_new(ctx, f->d, &room->raw));
done:
    return st;
}

void ferry_i_fleet_room_clear(fleet_room *room)
{
    FERRY_FREE(room->row.map[0], room->row.index, room->wide[0], room->last, room->value,
               room->gram, room->l, room->f);
    ferry_i_scale_room_clear(&room->raw);
    *room = (fleet_room){.k = 0};
}
